"""What others added to a log, as messages of LangChain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ..apis import _neutral as neutral
from ..entries import RecordedUsage
from ..families import target_of
from ..findings import Change
from ._history import Kept, Spoken, provider_of, read_pieces, unsaid, why_unsaid
from ._speech import Call, File, Image, Output, Text, Thought

__all__ = ["messages_of"]

_Block = dict[str, Any]


def messages_of(
    pieces: Sequence[Kept[BaseMessage] | Spoken],
) -> tuple[list[BaseMessage], list[Change]]:
    """The messages of a history, and what of it none of them says."""
    return read_pieces(pieces, _Reading())


class _Reading:
    """Messages as they are read; the items of one response become one message."""

    def __init__(self) -> None:
        self.messages: Final[list[BaseMessage]] = []
        self.changes: Final[list[Change]] = []
        self._names: Final[dict[str, str]] = {}
        self._answered: list[_Block] = []
        self._response: Spoken | None = None

    def take(self, message: BaseMessage) -> None:
        """A message as it was added."""
        self.end()
        self.messages.append(message)
        if isinstance(message, AIMessage):
            self._names.update((call["id"] or "", call["name"]) for call in message.tool_calls)

    def ask(self, piece: Spoken) -> None:
        """What a user, a program or a tool said."""
        self.end()
        shown: list[_Block] = []
        for block in piece.speech.blocks:
            if isinstance(block, Output):
                given = [one for inner in block.blocks for one in self._shown(inner, piece)]
                self.messages.append(
                    ToolMessage(
                        content=_content(given),
                        tool_call_id=block.id,
                        name=block.name or self._names.get(block.id),
                        status="error" if block.is_error or piece.is_stand_in else "success",
                    )
                )
            else:
                shown += self._shown(block, piece)
        if shown and piece.speech.speaker in ("system", "developer"):
            self.messages.append(SystemMessage(content=_content(shown)))
        elif shown:
            self.messages.append(HumanMessage(content=_content(shown)))

    def answer(self, piece: Spoken) -> None:
        """What a model said."""
        if piece.response is not None or self._response is None:
            self.end()
            self._response = piece
        for block in piece.speech.blocks:
            self._answered += self._parts(block, piece)

    def end(self) -> None:
        """No more follows of a response."""
        if self._answered:
            self.messages.append(_message(self._answered, self._response))
            self._answered = []
        self._response = None

    def _parts(self, block: Any, piece: Spoken) -> Iterator[_Block]:
        match block:
            case Thought(redacted=True):
                yield {
                    "type": "non_standard",
                    "value": {"type": "redacted_thinking", "data": block.signature},
                }
            case Thought():
                word = "encrypted_content" if _api(piece) == "openai-responses" else "signature"
                sealed = {"extras": {word: block.signature}} if block.signature else {}
                named = {"id": block.id} if block.id else {}
                yield {"type": "reasoning", "reasoning": block.text, **named, **sealed}
            case Call():
                self._names[block.id] = block.name
                yield _call(block)
            case _:
                yield from self._shown(block, piece)

    def _shown(self, block: Any, piece: Spoken) -> Iterator[_Block]:
        match block:
            case Text(text=text):
                yield {"type": "text", "text": text}
            case Image(url=str(url)):
                yield {"type": "image", "url": url}
            case File(url=str(url)):
                yield {"type": "file", "url": url}
            case File(text=str(text)):
                yield {"type": "text", "text": text}
            case Image(data=str(data)):
                yield {"type": "image", "base64": data, "mime_type": block.media_type}
            case File(data=str(data)):
                yield {"type": "file", "base64": data, "mime_type": block.media_type}
            case _:
                self.changes.append(unsaid(piece, why_unsaid(block)))


def _call(call: Call) -> _Block:
    value, is_object = neutral.arguments_object(neutral.Call(call.id, call.name, call.arguments))
    if not is_object and type(call.arguments) is str:
        told = {"args": call.arguments, "error": "the arguments are no object"}
        return {"type": "invalid_tool_call", "id": call.id, "name": call.name, **told}
    return {"type": "tool_call", "id": call.id, "name": call.name, "args": value}


def _content(blocks: Sequence[_Block]) -> Any:
    """Text where there is nothing else, as LangChain's models give it."""
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return [*blocks]


def _api(piece: Spoken) -> str:
    return "" if piece.family is None else piece.family.partition("/")[0]


def _message(blocks: Sequence[_Block], piece: Spoken | None) -> AIMessage:
    record = None if piece is None else piece.response
    family = None if piece is None else piece.family
    target = None if family is None else target_of(family)
    told: dict[str, Any] = {}
    provider = provider_of(family) or (None if record is None else record.provider)
    if provider is not None:
        told["model_provider"] = provider
    model = record.model if record is not None and record.model is not None else None
    if model is None and target is not None:
        model = target.model
    if model is not None:
        told["model_name"] = model
    if record is not None and record.finish_reason is not None:
        told["finish_reason"] = record.finish_reason
    calls = [
        {k: block[k] for k in ("id", "name", "args")} for block in blocks if block["type"] == "tool_call"
    ]
    invalid = [{**block} for block in blocks if block["type"] == "invalid_tool_call"]
    spoken = [block for block in blocks if block["type"] not in ("tool_call", "invalid_tool_call")]
    content = _content(spoken)
    if not isinstance(content, str):
        told["output_version"] = "v1"
        content = [*blocks]
    return AIMessage(
        content=content,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        id=None if record is None else record.id,
        usage_metadata=_usage(None if record is None else record.usage),
        response_metadata=told,
    )


def _usage(recorded: RecordedUsage | None) -> Any:
    if recorded is None:
        return None
    given = recorded.input + recorded.cache_read + recorded.cache_write
    return {
        "input_tokens": given,
        "output_tokens": recorded.output,
        "total_tokens": recorded.total_tokens or given + recorded.output,
        "input_token_details": {"cache_read": recorded.cache_read, "cache_creation": recorded.cache_write},
    }
