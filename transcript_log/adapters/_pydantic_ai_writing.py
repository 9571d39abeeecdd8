"""Messages of pydantic-ai as items: what a model was asked, and what it answered."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse

from .. import _json
from ..entries import Json, RecordedCost, RecordedUsage, ResponseRecord, ToolOutcome
from ..errors import TargetError
from ..families import Target
from ._history import DraftItem
from ._speech import (
    Block,
    Call,
    File,
    Hosted,
    Image,
    Other,
    Output,
    Text,
    Thought,
    answer_items,
    message_item,
)

__all__ = ["dumped", "loaded", "request_items", "response_items", "target_of_response"]

_GOOGLE: Final = ("google", "gemini", "vertex")
_OUTCOMES: Final = {
    "success": ToolOutcome(status="success"),
    "failed": ToolOutcome(status="failed"),
    "retried": ToolOutcome(status="failed", error_code="retried"),
    "denied": ToolOutcome(status="cancelled", error_code="denied"),
    "interrupted": ToolOutcome(status="cancelled", error_code="interrupted"),
}
_ERRORS: Final = frozenset({"failed", "retried"})
_FINISHES: Final = {"length": "max_tokens", "tool_call": "tool_use"}
_UNSAID: Final = frozenset(
    {
        "capability-load-delta",
        "instruction-baseline",
        "model-settings-delta",
        "tool-availability-delta",
    }
)
"""Parts that no model reads: what a program noted between two requests."""


def dumped(message: ModelMessage) -> Json:
    """A message as JSON, as its own type adapter writes it. Raises ValueError for what it cannot write."""
    text = ModelMessagesTypeAdapter.dump_json([message])
    return (_json.decode_exact(text) if _json.has_long_digits(text) else _json.decode(text))[0]


def loaded(form: Json) -> ModelMessage:
    """The message of such JSON. Raises ValueError for what is none."""
    return ModelMessagesTypeAdapter.validate_json(b"[" + _json.encode(form) + b"]")[0]


def target_of_response(response: ModelResponse) -> Target | None:
    """Who made a response, by the name of its provider.

    The two APIs of OpenAI are told apart by the ids that they give. Any other provider but
    Anthropic, Bedrock and Google is taken for one that speaks the Chat API.
    """
    provider = response.provider_name or ""
    _, _, requested = (getattr(response, "model_id", None) or "").partition(":")
    model = requested or response.model_name or ""
    platform = "direct" if provider in ("anthropic", "openai") else provider
    api = "openai-chat"
    if provider == "anthropic" or (provider == "bedrock" and "claude" in model):
        api = "anthropic-messages"
    elif provider in ("openai", "azure") and _is_of_responses(response):
        api = "openai-responses"
    elif provider == "bedrock" or provider.startswith(_GOOGLE):
        return None  # their signatures are of APIs that no item is written in here
    try:
        return Target(api, model, platform)
    except TargetError:
        return None


def _is_of_responses(response: ModelResponse) -> bool:
    ids = [response.provider_response_id, *(getattr(part, "id", None) for part in response.parts)]
    return any(name is not None and name.startswith(("resp_", "rs_", "msg_", "fc_")) for name in ids)


# ----------------------------------------------------------------------------- requests


def request_items(request: ModelRequest) -> list[DraftItem]:
    """The items of what a model was asked; an empty message where nothing was said."""
    found = [one for part in request.parts for one in _asked(part)]
    return found or [DraftItem(said=message_item("user", ()))]


def _asked(part: Any) -> Iterator[DraftItem]:
    """The items of one part. Parts are told by their word: there are more in later versions."""
    kind = part.part_kind
    if kind == "system-prompt":
        yield _message("system", [Text(part.content)])
    elif kind == "user-prompt":
        content = [part.content] if isinstance(part.content, str) else part.content
        yield _message("user", [block for one in content for block in _shown(one)])
    elif kind == "tool-return":
        blocks = [
            block for one in part.content_items(mode="str", wrap_if_error=False) for block in _shown(one)
        ]
        yield _output(part, blocks, part.outcome)
    elif kind == "retry-prompt" and part.tool_name is not None:
        yield _output(part, [Text(part.model_response())], "retried")
    elif kind in ("retry-prompt", "retry-feedback"):
        yield _message("user", [Text(part.model_response())])
    elif kind == "speech":
        yield _message("user", [*_spoken(part)])
    elif kind in ("compaction", "instruction-delta"):
        speaker = "user" if kind == "compaction" else "system"
        yield _message(speaker, [Text(part.content or "")])
    elif kind not in _UNSAID:
        yield _message("user", [Other({"type": kind})])


def _message(speaker: str, blocks: Sequence[Block]) -> DraftItem:
    return DraftItem(said=message_item(speaker, blocks))


def _output(part: Any, blocks: Sequence[Any], outcome: str) -> DraftItem:
    output = Output(part.tool_call_id, part.tool_name, tuple(blocks), outcome in _ERRORS)
    return DraftItem(said=output, outcome=_OUTCOMES.get(outcome))


def _shown(content: Any) -> Iterator[Text | Image | File | Other]:
    """What is shown in a prompt, or in what a tool gave back."""
    if isinstance(content, str):
        yield Text(content)
        return
    kind = content.kind
    if kind in ("text-content", "structured-content"):
        yield Text(content.content)
    elif kind == "image-url":
        yield Image(url=content.url, detail=_detail(content))
    elif kind == "document-url":
        yield File(url=content.url)
    elif kind == "binary":
        yield _binary(content)
    elif kind == "uploaded-file":
        yield Other({"type": "file", "file": {"file_id": content.file_id}})
    elif kind in ("audio-url", "video-url"):
        word = kind.replace("-", "_")
        yield Other({"type": word, word: {"url": content.url}})
    elif kind != "cache-point":
        yield Other({"type": kind})


def _binary(content: Any) -> Text | Image | File | Other:
    data = base64.b64encode(content.data).decode("ascii")
    if content.is_image:
        return Image(data=data, media_type=content.media_type, detail=_detail(content))
    if content.is_audio:
        word = content.media_type.removeprefix("audio/")
        return Other({"type": "input_audio", "input_audio": {"data": data, "format": word}})
    return File(media_type=content.media_type, data=data)


def _detail(content: Any) -> str | None:
    detail = (content.vendor_metadata or {}).get("detail")
    return detail if type(detail) is str else None


def _spoken(part: Any) -> Iterator[Text | Image | File | Other]:
    if part.transcript:
        yield Text(part.transcript)
    if part.audio is not None:
        yield _binary(part.audio)


# ---------------------------------------------------------------------------- responses


def response_items(
    response: ModelResponse, target: Target | None, instructions: str | None
) -> list[DraftItem]:
    """The items of what a model answered; the first of them bears what is known of the response.

    Args:
        response: The answer.
        target: Who made it.
        instructions: What the model was told beside the messages.
    """
    api = "openai-chat" if target is None else target.api
    blocks = [block for part in response.parts for block in _answered(part, response)]
    cut_off = response.state in ("interrupted", "incomplete")
    record = _record(response)
    request = None if instructions is None else _request(api, record.model, instructions)
    return [
        DraftItem(
            said=item,
            family=None if target is None else target.family,
            response=record if place == 0 else None,
            request=request if place == 0 else None,
            interrupted=cut_off,
        )
        for place, item in enumerate(answer_items(blocks, api))
    ]


def _answered(part: Any, response: ModelResponse) -> Iterator[Block]:
    kind = part.part_kind
    is_own = getattr(part, "provider_name", None) in (None, response.provider_name)
    name = (getattr(part, "id", None) or "") if is_own else ""
    if kind == "text":
        yield Text(part.content, name)
    elif kind == "thinking":
        signature = (part.signature or "") if is_own else ""
        is_redacted = part.id == "redacted_thinking" and not part.content
        # Where a Chat server had it stands in the id there: that is no item of the Responses API.
        yield Thought(part.content, signature, name if name.startswith("rs_") else "", is_redacted)
    elif kind == "tool-call":
        yield Call(part.tool_call_id, part.tool_name, {} if part.args is None else part.args, name)
    elif kind == "builtin-tool-call":
        yield Hosted(part.tool_call_id, part.tool_name, _plain(part, "args") or {})
    elif kind == "builtin-tool-return":
        yield Hosted(part.tool_call_id, part.tool_name, _plain(part, "content"), is_result=True)
    elif kind == "file":
        yield _binary(part.content)
    elif kind == "speech":
        yield from _spoken(part)
    elif kind == "compaction":
        details = part.provider_details if is_own else None
        sealed = {key: value for key, value in (details or {}).items() if key == "encrypted_content"}
        text = {} if part.content is None else {"content": part.content}
        yield Other({"type": "compaction", **({"id": name} if name else {}), **text, **sealed})
    else:
        yield Other({"type": kind})


def _plain(part: Any, key: str) -> Json:
    """A member of a part as JSON, as the type adapter writes it."""
    return dumped(ModelResponse(parts=[part]))["parts"][0].get(key)


def _record(response: ModelResponse) -> ResponseRecord:
    finish: str | None = response.finish_reason
    if response.state == "suspended":
        finish = "pause"
    return ResponseRecord(
        id=response.provider_response_id,
        provider=response.provider_name,
        model=response.model_name,
        finish_reason=None if finish is None else _FINISHES.get(finish, finish),
        usage=_usage(response),
    )


def _usage(response: ModelResponse) -> RecordedUsage | None:
    """The tokens in disjoint buckets: the input of pydantic-ai counts what a cache read and wrote."""
    usage = response.usage
    if not usage.has_values():
        return None
    read, wrote = usage.cache_read_tokens, usage.cache_write_tokens
    cost = getattr(usage, "cost", None)
    return RecordedUsage(
        input=max(usage.input_tokens - read - wrote, 0),
        output=usage.output_tokens,
        cache_read=read,
        cache_write=wrote,
        total_tokens=usage.input_tokens + usage.output_tokens,
        cost=RecordedCost() if cost is None else RecordedCost(total=float(cost)),
    )


def _request(api: str, model: str | None, instructions: str) -> Json:
    """What is known of a request beside its items, as the API has it."""
    named = {} if model is None else {"model": model}
    if api == "openai-responses":
        return {**named, "instructions": instructions}
    if api == "anthropic-messages":
        return {**named, "system": instructions}
    return {**named, "messages": [{"role": "system", "content": instructions}]}
