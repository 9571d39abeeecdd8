"""What others added to a log, as messages of pydantic-ai."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from ..entries import RecordedUsage
from ..families import target_of
from ..findings import Change
from ._history import Kept, Spoken, provider_of, read_pieces, unsaid, why_unsaid
from ._speech import Call, File, Image, Output, Text, Thought

__all__ = ["messages_of"]

_UNKNOWN_TIME: Final = datetime.fromtimestamp(0, UTC)
_FINISHES: Final = {
    "stop": "stop",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "tool_use": "tool_call",
    "error": "error",
}


def messages_of(
    pieces: Sequence[Kept[ModelMessage] | Spoken],
) -> tuple[list[ModelMessage], list[Change]]:
    """The messages of a history, and what of it none of them says."""
    return read_pieces(pieces, _Reading())


class _Reading:
    """Messages as they are read; what follows one another on one side becomes one message."""

    def __init__(self) -> None:
        self.messages: Final[list[ModelMessage]] = []
        self.changes: Final[list[Change]] = []
        self._names: Final[dict[str, str]] = {}
        self._asked: list[ModelRequestPart] = []
        self._asked_at: datetime | None = None
        self._answered: list[ModelResponsePart] = []
        self._response: Spoken | None = None

    def take(self, message: ModelMessage) -> None:
        """A message as it was added."""
        self.end()
        self.messages.append(message)
        if isinstance(message, ModelResponse):
            self._names.update((call.tool_call_id, call.tool_name) for call in message.tool_calls)

    def ask(self, piece: Spoken) -> None:
        """What a user, a program or a tool said."""
        self._end_answer()
        moment = piece.timestamp or _UNKNOWN_TIME
        shown: list[UserContent] = []
        for block in piece.speech.blocks:
            if isinstance(block, Output):
                self._asked.append(self._returned(block, piece, moment))
            else:
                shown += self._shown(block, piece)
        if shown and piece.speech.speaker in ("system", "developer"):
            text = "\n\n".join(one for one in shown if isinstance(one, str))
            self._asked.append(SystemPromptPart(text, timestamp=moment))
        elif shown:
            content = shown[0] if len(shown) == 1 and isinstance(shown[0], str) else shown
            self._asked.append(UserPromptPart(content, timestamp=moment))
        self._asked_at = moment

    def answer(self, piece: Spoken) -> None:
        """What a model said."""
        if piece.response is not None or self._response is None:
            self._end_answer()
            self._response = piece
        provider = provider_of(piece.family)
        parts = [part for block in piece.speech.blocks for part in self._parts(block, piece, provider)]
        if parts:
            self._end_request()
            self._answered += parts

    def end(self) -> None:
        """No more follows on either side."""
        self._end_request()
        self._end_answer()

    def _end_request(self) -> None:
        if self._asked:
            self.messages.append(ModelRequest(parts=self._asked, timestamp=self._asked_at))
            self._asked = []

    def _end_answer(self) -> None:
        if self._answered:
            self.messages.append(_response(self._answered, self._response))
            self._answered = []
        self._response = None

    def _parts(self, block: Any, piece: Spoken, provider: str | None) -> Iterator[ModelResponsePart]:
        match block:
            case Text(text=text):
                yield TextPart(text)
            case Thought():
                sealed = block.signature if provider is not None else ""
                name = "redacted_thinking" if block.redacted else block.id
                yield ThinkingPart(
                    block.text,
                    id=(name or None) if sealed else None,
                    signature=sealed or None,
                    provider_name=provider if sealed else None,
                )
            case Call():
                self._names[block.id] = block.name
                yield ToolCallPart(block.name, block.arguments, block.id)
            case Image(data=str(data)) | File(data=str(data)):
                content = _binary(data, block.media_type)
                if content is None:
                    self._tell(piece, "its picture is no base64")
                else:
                    yield FilePart(content)
            case _:
                self._tell(piece, why_unsaid(block))

    def _returned(self, output: Output, piece: Spoken, moment: datetime) -> ToolReturnPart:
        content: list[Any] = []
        for block in output.blocks:
            content += self._shown(block, piece)
        texts = all(isinstance(one, str) for one in content)
        return ToolReturnPart(
            output.name or self._names.get(output.id, "unknown"),
            "\n".join(content) if texts else content,
            output.id,
            timestamp=moment,
            outcome="interrupted" if piece.is_stand_in else "failed" if output.is_error else "success",
        )

    def _shown(self, block: Any, piece: Spoken) -> Iterator[UserContent]:
        match block:
            case Text(text=text):
                yield text
            case Image(url=str(url)):
                detail = {} if block.detail is None else {"detail": block.detail}
                yield ImageUrl(url, vendor_metadata=detail or None)
            case File(url=str(url)):
                yield DocumentUrl(url)
            case File(text=str(text)):
                yield text
            case Image(data=str(data)) | File(data=str(data)):
                content = _binary(data, block.media_type)
                if content is None:
                    self._tell(piece, "what it shows is no base64")
                else:
                    yield content
            case _:
                self._tell(piece, why_unsaid(block))

    def _tell(self, piece: Spoken, what: str) -> None:
        self.changes.append(unsaid(piece, what))


def _binary(data: str, media_type: str) -> BinaryContent | None:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return BinaryContent.narrow_type(BinaryContent(raw, media_type=media_type))


def _response(parts: list[ModelResponsePart], piece: Spoken | None) -> ModelResponse:
    record = None if piece is None else piece.response
    family = None if piece is None else piece.family
    finish: Any = (
        None if record is None or record.finish_reason is None else _FINISHES.get(record.finish_reason)
    )
    target = None if family is None else target_of(family)
    model = None if target is None else target.model
    if record is not None and record.model is not None:
        model = record.model
    return ModelResponse(
        parts=parts,
        usage=_usage(None if record is None else record.usage),
        model_name=model,
        timestamp=(piece and piece.timestamp) or _UNKNOWN_TIME,
        provider_name=provider_of(family) or (None if record is None else record.provider),
        provider_response_id=None if record is None else record.id,
        finish_reason=finish,
    )


def _usage(recorded: RecordedUsage | None) -> RequestUsage:
    if recorded is None:
        return RequestUsage()
    return RequestUsage(
        input_tokens=recorded.input + recorded.cache_read + recorded.cache_write,
        output_tokens=recorded.output,
        cache_read_tokens=recorded.cache_read,
        cache_write_tokens=recorded.cache_write,
    )
