"""Items of any shape as messages of pi."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from .. import items
from ..apis._neutral import (
    Block,
    Call,
    File,
    Image,
    Output,
    Text,
    Thought,
    arguments_object,
    read,
    read_block,
)
from ..entries import Item, Json, RecordedUsage, ResponseRecord
from ..families import BINDINGS
from ..items.gemini import in_camel
from ..items.shapes import is_thinking, shape_of

__all__ = ["Maker", "answer_blocks", "maker_of", "stop_reason", "usage_object", "user_messages"]

Tell = Callable[[str, str], None]
"""Is told of what cannot be said: a rule, and what is so."""

_APIS: Final = {
    "deepseek-chat": "openai-completions",
    "gemini": "google-generative-ai",
    "mistral-chat": "mistral-conversations",
    "openai-chat": "openai-completions",
}
_OF_GOOGLE: Final = {
    "google-antigravity": "google-gemini-cli",
    "google-gemini-cli": "google-gemini-cli",
    "google-vertex": "google-vertex",
}
"""What pi calls the API of Gemini on these platforms."""

_OWNERS: Final = {
    "anthropic-messages": "anthropic",
    "deepseek-chat": "deepseek",
    "gemini": "google",
    "mistral-chat": "mistral",
    "openai-chat": "openai",
    "openai-responses": "openai",
}
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Maker:
    """Who made an answer, in pi's words; ``account`` is what pi has no word for."""

    api: str
    provider: str
    model: str
    account: str = ""


def maker_of(family: str | None, response: ResponseRecord | None) -> Maker:
    """Who made an answer of a family."""
    named = (response.model if response is not None else None) or UNKNOWN
    if family is None:
        return Maker(UNKNOWN, (response.provider if response is not None else None) or UNKNOWN, named)
    api, _, rest = family.partition("/")
    platform, _, rest = rest.partition("/")
    names = rest.split("/") if rest else []
    binding = BINDINGS.get(api)
    if names and (binding is None or binding.to_model):
        named = unquote(names.pop())
    provider = _OWNERS.get(api, platform) if platform == "direct" else platform
    spoken = _OF_GOOGLE.get(provider) if api == "gemini" else None
    return Maker(spoken or _APIS.get(api, api), provider or UNKNOWN, named, "/".join(names))


_STOPPED: Final = {"stop": "stop", "tool_use": "toolUse", "max_tokens": "length"}


def stop_reason(finish: str | None, *, calls: bool) -> str:
    """Why a model stopped, in pi's words."""
    if finish in ("error", "aborted"):
        return finish
    return _STOPPED.get(finish or "", "toolUse" if calls else "stop")


def usage_object(usage: RecordedUsage | None) -> dict[str, Json]:
    """The tokens of an answer; zeros where nobody told them."""
    told = usage or RecordedUsage()
    cost = told.cost
    return {
        "input": told.input,
        "output": told.output,
        "cacheRead": told.cache_read,
        "cacheWrite": told.cache_write,
        "totalTokens": told.total_tokens,
        "cost": {
            "input": cost.input,
            "output": cost.output,
            "cacheRead": cost.cache_read,
            "cacheWrite": cost.cache_write,
            "total": cost.total,
        },
    }


# --------------------------------------------------------------------------------- answers


def answer_blocks(item: Item, ids: dict[str, str], tell: Tell) -> list[dict[str, Any]]:
    """What a model said, as blocks of one message.

    Args:
        item: An item of a model, of any shape.
        ids: What the calls of the log are called; those of the item are added.
        tell: Is told of what cannot be said.
    """
    if items.type_of(item) == "reasoning":
        return [_reasoning(item)]
    if shape_of(item) == "gemini":
        return list(_content_blocks(item, ids, tell))
    content = item.get("content")
    made: list[dict[str, Any]] = []
    if type(content) is list and items.role(item) is not None:
        calls = {part.place: part for part in items.tool_calls({"content": content})}
        for place, block in enumerate(content):
            if is_thinking(block):
                made.append(_thinking(block))
            elif (call := calls.get(place)) is not None:
                given = Call(call.id or "", call.name, call.arguments, call.kind)
                made.append(_call(given, block, ids, tell))
            else:
                made += _said(read_block(block), item, tell)
        rest = {key: value for key, value in item.items() if key != "content"}
    else:
        rest = dict(item)
    made = [*_chat_thoughts(item, tell), *made]
    for block in read(rest).blocks if rest.keys() - {"role", "type"} else ():
        if isinstance(block, Call):
            made.append(_call(block, item, ids, tell))
        else:
            made += _said(block, item, tell)
    return made


def _content_blocks(item: Item, ids: dict[str, str], tell: Tell) -> Iterator[dict[str, Any]]:
    """What a model of Gemini said, each thing with its signature."""
    parts = item.get("parts") or ()
    for block, part in zip(read(item).blocks, parts, strict=True):
        mark = in_camel(part).get("thoughtSignature") if type(part) is dict else None
        mark = mark if type(mark) is str else None
        match block:
            case Thought(text=text):
                made: dict[str, Any] = {"type": "thinking", "thinking": text}
                yield made if mark is None else {**made, "thinkingSignature": mark}
            case Text(text=text):
                yield {"type": "text", "text": text} | ({} if mark is None else {"textSignature": mark})
            case Call():
                yield _call(block, {} if mark is None else {"thoughtSignature": mark}, ids, tell)
            case _:
                yield from _said(block, item, tell)


def _said(block: Block, item: Item, tell: Tell) -> Iterator[dict[str, Any]]:
    match block:
        case Text(text=text) | File(text=str(text)):
            made: dict[str, Any] = {"type": "text", "text": text}
            name = item.get("id")
            if shape_of(item) == "responses" and type(name) is str:
                told = {"v": 1, "id": name, "phase": item.get("phase")}
                kept = {key: value for key, value in told.items() if value is not None}
                made["textSignature"] = json.dumps(kept, separators=(",", ":"))
            elif block_mark := getattr(block, "signature", ""):
                made["textSignature"] = block_mark
            yield made
        case _ if type(block).__name__ == "Thought":
            pass  # it is said in its own words
        case _:
            tell("part-type", f"pi has no {type(block).__name__.lower()} in an answer")


def _reasoning(item: Item) -> dict[str, Any]:
    """A reasoning item: what can be read of it, and the whole of it as its signature."""
    text = "\n\n".join(part.text for part in items.reasoning(item) if part.text)
    made: dict[str, Any] = {"type": "thinking", "thinking": text}
    if items.has_opaque(item):
        made["thinkingSignature"] = json.dumps(item, separators=(",", ":"))
    return made


def _thinking(block: Mapping[str, Any]) -> dict[str, Any]:
    if "thinkingSignature" in block or "redacted" in block:
        return dict(block)
    if block.get("type") == "redacted_thinking":
        return {
            "type": "thinking",
            "thinking": "",
            "thinkingSignature": block.get("data") or "",
            "redacted": True,
        }
    return {
        "type": "thinking",
        "thinking": items.thought_in(block),
        "thinkingSignature": block.get("signature") or "",
    }


def _chat_thoughts(item: Item, tell: Tell) -> Iterator[dict[str, Any]]:
    for key in ("reasoning_content", "reasoning"):
        said = item.get(key)
        if type(said) is str and said:
            yield {"type": "thinking", "thinking": said, "thinkingSignature": key}
            return
    if item.get("reasoning_details"):
        tell("private", "pi keeps reasoning_details with calls alone: what they hold is left out")


def _call(call: Call, block: Mapping[str, Any], ids: dict[str, str], tell: Tell) -> dict[str, Any]:
    value, is_object = arguments_object(call)
    if not is_object or call.kind != "function":
        tell("arguments", f"the call of {call.name!r} goes as one of a function")
    name = block.get("id") if items.type_of(block) not in ("toolCall", "tool_use") else None
    made_id = call.id
    if type(name) is str and name.startswith("fc") and "tool_calls" not in block:
        made_id = f"{call.id}|{name}"
    ids[call.id] = made_id
    made = {"type": "toolCall", "id": made_id, "name": call.name, "arguments": value}
    mark = block.get("thoughtSignature")
    return made if mark is None else {**made, "thoughtSignature": mark}


# ------------------------------------------------------------------------- everybody else


@dataclass(slots=True)
class _Heard:
    """What the user, or a tool, gave: outputs first, then what was said."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    content: list[dict[str, Any]] = field(default_factory=list)


def user_messages(item: Item, tell: Tell) -> list[dict[str, Any]]:
    """An item of no model as messages: one for each output, and one of the user for the rest."""
    neutral = read(item)
    heard = _Heard()
    for block in neutral.blocks:
        if isinstance(block, Output):
            if block.kind != "function":
                tell("output-kind", "the output goes as one of a function")
            result = {"role": "toolResult", "toolCallId": block.id, "isError": block.is_error}
            result["content"] = list(_shown(block.blocks, tell))
            heard.outputs.append(result if block.name is None else {**result, "toolName": block.name})
        else:
            heard.content += _shown([block], tell)
    if neutral.speaker in ("system", "developer"):
        tell("role", f"the {neutral.speaker} message goes as the user's")
    elif neutral.speaker == "assistant" and heard.content:
        tell("role", "what the model said with an output goes as the user's")
    elif items.role(item) == "function":
        tell("role", "the function message goes as the user's")
    elif items.role(item) is None and not heard.outputs:
        tell("role", "the item names no role: it goes as the user's")
    if heard.content or not heard.outputs:
        heard.outputs.append({"role": "user", "content": heard.content})
    return heard.outputs


def _shown(blocks: Iterator[Block] | list[Any], tell: Tell) -> Iterator[dict[str, Any]]:
    for block in blocks:
        match block:
            case Text(text=text):
                yield {"type": "text", "text": text}
            case File(text=str(text)):
                tell("part-type", "the document goes as a text")
                yield {"type": "text", "text": text}
            case Image(data=str(data), media_type=media_type):
                yield {"type": "image", "data": data, "mimeType": media_type}
            case _:
                tell("part-type", f"pi has no {type(block).__name__.lower()} that stands elsewhere")
