"""Messages: their blocks of content, and what Chat messages carry beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ._pictures import IMAGE_BLOCKS, image
from ._values import Item, is_text, named, texts
from .part_types import HOSTED, OtherPart, Part, ReasoningPart, TextPart, ToolCallPart, ToolOutputPart

__all__ = [
    "CALL_BLOCKS",
    "OUTPUT_ROLES",
    "blocks",
    "call_of_block",
    "chat_calls",
    "chat_reasoning",
    "chat_thought",
    "is_message",
    "output_of_block",
    "output_of_message",
    "part_of_block",
    "thought_in",
]

_TEXT_BLOCKS: Final = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
CALL_BLOCKS: Final = frozenset({"tool_use", "toolCall"})
_HOSTED_BLOCKS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_THINKING_BLOCKS: Final = frozenset({"thinking", "redacted_thinking"})
OUTPUT_ROLES: Final = {"tool": "tool_call_id", "toolResult": "toolCallId", "function": "tool_call_id"}
# pi writes the wire field that a chat completion's reasoning came in where a signature goes.
_WIRE_FIELDS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_text"})


def part_of_block(block: Any, place: int) -> Part | None:
    """The part that one block of a message's content is."""
    if type(block) is str:
        return TextPart(block, place)
    if type(block) is not dict:
        return None
    kind = block.get("type")
    if type(kind) is not str:
        plain = block.get("text")
        return TextPart(plain, place) if kind is None and type(plain) is str else None
    if kind in _TEXT_BLOCKS or kind == "refusal":
        said = block.get("refusal" if kind == "refusal" else "text")
        return TextPart(said, place) if type(said) is str else None
    if kind in IMAGE_BLOCKS:
        return image(block, place)
    if kind in _THINKING_BLOCKS:
        return _thinking(block, place)
    if kind in CALL_BLOCKS or kind in _HOSTED_BLOCKS:
        return call_of_block(block, kind, place)
    if kind == "tool_result" or kind.endswith("_tool_result"):
        return output_of_block(block, kind, place)
    return OtherPart(kind, place)


def call_of_block(block: Item, kind: str, place: int) -> ToolCallPart:
    """The call that a block of type ``kind`` is."""
    return ToolCallPart(
        named(block.get("id")),
        named(block.get("name")) or "",
        block.get("arguments" if kind == "toolCall" else "input"),
        HOSTED if kind in _HOSTED_BLOCKS else "function",
        place,
    )


def output_of_block(block: Item, kind: str, place: int) -> ToolOutputPart:
    """The output that a block of type ``kind`` is."""
    content = block.get("content")
    is_error = block.get("is_error") is True
    call_id = named(block.get("tool_use_id"))
    if kind == "tool_result":
        return ToolOutputPart(call_id, content, "function", is_error, place)
    if type(content) is dict:
        inner = content.get("type")
        is_error = is_error or (type(inner) is str and inner.endswith("_error"))
    return ToolOutputPart(call_id, content, HOSTED, is_error, place, kind.removesuffix("_tool_result"))


def thought_in(block: Item) -> str:
    """The text of a ``thinking`` block. Mistral has a list of text parts in it."""
    thought = block.get("thinking")
    return "".join(texts(thought)) if type(thought) in (str, list) else ""


def _thinking(block: Item, place: int) -> ReasoningPart:
    mark = block.get("thinkingSignature")
    opaque = (
        is_text(block.get("signature"))
        or is_text(block.get("data"))
        or (is_text(mark) and mark not in _WIRE_FIELDS)
        or block.get("redacted") is True
    )
    return ReasoningPart(thought_in(block), opaque, place)


def chat_reasoning(item: Item) -> ReasoningPart | None:
    """The reasoning that a Chat message carries beside its content."""
    plain = [value for key in ("reasoning_content", "reasoning") if is_text(value := item.get(key))]
    details = item.get("reasoning_details")
    entries = [part for part in details if type(part) is dict] if type(details) is list else []
    if not plain:
        plain = [
            "".join(
                value for part in entries for key in ("text", "summary") if is_text(value := part.get(key))
            )
        ]
    opaque = any(is_text(part.get(key)) for part in entries for key in ("data", "signature"))
    if not plain[0] and not opaque:
        return None
    return ReasoningPart(plain[0], opaque, 0)


def chat_thought(item: Item) -> str:
    """The readable text of the reasoning that a Chat message carries beside its content."""
    part = chat_reasoning(item)
    return "" if part is None else part.text


def chat_calls(item: Item) -> Iterator[ToolCallPart]:
    """The calls that a Chat message carries beside its content."""
    calls = item.get("tool_calls")
    for place, call in enumerate(calls if type(calls) is list else ()):
        if type(call) is not dict:
            continue
        kind = "custom" if call.get("type") == "custom" else "function"
        inner = call.get(kind)
        if type(inner) is not dict:
            inner = {}
        arguments = inner.get("input" if kind == "custom" else "arguments")
        yield ToolCallPart(named(call.get("id")), named(inner.get("name")) or "", arguments, kind, place)


def output_of_message(item: Item) -> ToolOutputPart | None:
    """The output that a message of a tool's own role is."""
    speaker = item.get("role")
    key = OUTPUT_ROLES.get(speaker) if type(speaker) is str else None
    if key is None:
        return None
    name = named(item.get("name")) or named(item.get("toolName"))
    return ToolOutputPart(
        named(item.get(key)), item.get("content"), "function", item.get("isError") is True, 0, name
    )


def is_message(item: Item) -> bool:
    """Whether an item has what only messages have."""
    return "role" in item or "content" in item or "tool_calls" in item


def blocks(item: Item) -> list[Any]:
    """The content of a message as a list; content that is no list is its only block."""
    content = item.get("content")
    if type(content) is list:
        return content
    return [] if content is None else [content]
