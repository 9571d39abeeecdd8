"""Messages of LangChain as items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from .. import _json
from ..entries import Json, RecordedUsage, ResponseRecord, ToolOutcome
from ..errors import TargetError
from ..families import Target
from ..response import normalize_finish_reason
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

__all__ = ["dumped", "items_of", "loaded", "target_of_message"]

_SPEAKERS: Final = frozenset({"assistant", "developer", "system", "user"})


def dumped(message: BaseMessage, where: str) -> Json:
    """A message as JSON, as LangChain writes it.

    Raises:
        EntryError: It holds what JSON does not give back.
    """
    form = _plain(message_to_dict(message))
    _json.encode(form, where)
    return form


def _plain(value: Any) -> Json:
    """A value with text as text: what LangChain calls the text of a message is of a class of its own."""
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) is dict:
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if type(value) is list else value


def loaded(form: Json) -> BaseMessage:
    """The message of such JSON. Raises ValueError, TypeError or LookupError for what is none."""
    return messages_from_dict([form])[0]


def target_of_message(message: AIMessage) -> Target | None:
    """Who made a message, by what its metadata say of the provider and the model.

    The two APIs of OpenAI are told apart by the ids that they give. Any other provider but
    Anthropic, Bedrock and Google is taken for one that speaks the Chat API.
    """
    told = message.response_metadata
    provider = told.get("model_provider")
    model = told.get("model_name") or told.get("model") or ""
    if type(provider) is not str or type(model) is not str or provider.startswith(("bedrock", "google")):
        return None
    api, platform = "openai-chat", "direct" if provider == "openai" else provider
    if provider == "anthropic":
        api, platform = "anthropic-messages", "direct"
    elif str(message.id or told.get("id") or "").startswith(("resp_", "msg_")):
        api = "openai-responses"
    try:
        return Target(api, model, platform)
    except TargetError:
        return None


# -------------------------------------------------------------------------------- items


def items_of(message: BaseMessage, target_of: Callable[[AIMessage], Target | None]) -> list[DraftItem]:
    """The items that say what a message says; an empty message where it says nothing."""
    match message:
        case AIMessage():
            return _answer(message, target_of(message))
        case ToolMessage():
            failed = message.status == "error"
            output = Output(message.tool_call_id, message.name or "", tuple(_given(message)), failed)
            return [DraftItem(said=output, outcome=ToolOutcome(status="failed" if failed else "success"))]
        case FunctionMessage():
            said = {"role": "function", "name": message.name, "content": _plain(message.text)}
            return [DraftItem(said=said)]
        case SystemMessage():
            speaker = "system"
        case ChatMessage():
            speaker = message.role if message.role in _SPEAKERS else "user"
        case _:
            speaker = "user"
    blocks = [*_blocks(message)]
    if speaker == "assistant":
        return [DraftItem(said=item) for item in answer_items(blocks, "openai-chat")]
    return [DraftItem(said=message_item(speaker, blocks))]


def _answer(message: AIMessage, target: Target | None) -> list[DraftItem]:
    api = "openai-chat" if target is None else target.api
    blocks = [*_blocks(message)]
    there = {block.id for block in blocks if isinstance(block, Call)}
    for place, call in enumerate((*message.tool_calls, *message.invalid_tool_calls)):
        if call["id"] is None or call["id"] not in there:
            name = call["id"] or f"call_{message.id or ''}_{place}"
            blocks.append(Call(name, call["name"] or "", call["args"] if call["args"] is not None else {}))
    record = _record(message)
    return [
        DraftItem(
            said=item,
            family=None if target is None else target.family,
            response=record if place == 0 else None,
        )
        for place, item in enumerate(answer_items(blocks, api))
    ]


def _given(message: BaseMessage) -> Iterator[Text | Image | File | Other]:
    for block in _blocks(message):
        if isinstance(block, Text | Image | File | Other):
            yield block


def _blocks(message: BaseMessage) -> Iterator[Block]:
    """What a message says, as LangChain's own standard blocks tell it of any provider's."""
    if isinstance(message.content, str) and not isinstance(message, AIMessage):
        yield Text(str.__str__(message.content))
        return
    for block in message.content_blocks:
        yield from _block(_plain(dict(block)))


def _block(block: Mapping[str, Any]) -> Iterator[Block]:
    extras = block.get("extras")
    more: Mapping[str, Any] = {**block, **(extras if isinstance(extras, Mapping) else {})}
    match block.get("type"):
        case "text":
            yield Text(block["text"], _text(block.get("id")))
        case "refusal":
            yield Text(_text(block.get("refusal")))
        case "reasoning":
            sealed = _text(more.get("signature")) or _text(more.get("encrypted_content"))
            yield Thought(_text(block.get("reasoning")), sealed, _text(block.get("id")))
        case "tool_call" | "invalid_tool_call":
            if block.get("id") is not None:
                item = _text(more.get("item_id"))
                yield Call(block["id"], block.get("name") or "", block.get("args") or {}, item)
        case "tool_call_chunk":
            pass  # the calls of the message have it
        case "server_tool_call":
            yield Hosted(block["id"], block["name"], block["args"])
        case "server_tool_result":
            name = _text(more.get("name")) or "server"
            yield Hosted(block["tool_call_id"], name, block.get("output"), is_result=True)
        case "image":
            yield from _media(Image, block, "image/png")
        case "file":
            yield from _media(File, block, "application/pdf")
        case "text-plain":
            yield File(name=block.get("title"), media_type="text/plain", text=_text(block.get("text")))
        case "non_standard":
            value = block["value"]
            if value.get("type") == "redacted_thinking":
                yield Thought("", _text(value.get("data")), redacted=True)
            else:
                yield Other(value)
        case _:
            yield Other(block)


def _media(kind: type[Image] | type[File], block: Mapping[str, Any], usual: str) -> Iterator[Block]:
    media_type = block.get("mime_type") or usual
    if type(url := block.get("url")) is str:
        yield kind(url=url, media_type=media_type)
    elif type(data := block.get("base64")) is str:
        yield kind(data=data, media_type=media_type)
    else:
        yield Other(block)


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _record(message: AIMessage) -> ResponseRecord:
    told = message.response_metadata
    word = told.get("finish_reason") or told.get("stop_reason")
    finish = normalize_finish_reason(word) if type(word) is str else None
    model = told.get("model_name") or told.get("model")
    provider = told.get("model_provider")
    return ResponseRecord(
        id=message.id,
        provider=provider if type(provider) is str else None,
        model=model if type(model) is str else None,
        finish_reason=None if finish is None else finish.value,
        usage=_usage(message),
    )


def _usage(message: AIMessage) -> RecordedUsage | None:
    """The tokens in disjoint buckets: the input of LangChain counts what a cache read and wrote."""
    usage = message.usage_metadata
    if usage is None:
        return None
    told = usage.get("input_token_details", {})
    read, wrote = told.get("cache_read") or 0, told.get("cache_creation") or 0
    return RecordedUsage(
        input=max(usage["input_tokens"] - read - wrote, 0),
        output=usage["output_tokens"],
        cache_read=read,
        cache_write=wrote,
        total_tokens=usage["total_tokens"],
    )
