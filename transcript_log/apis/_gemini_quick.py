"""The commonest items of other shapes as parts of Gemini's, without a look for what they do not hold.

Nothing is said here that the rendering of any item would not say too. It is only said sooner;
None sends an item the long way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from .._json import read_text
from ._gemini_rules import NAME

__all__ = ["CALLS", "OUTPUTS", "TEXT", "Quick", "quick_parts"]

TEXT: Final = 0
CALLS: Final = 1
OUTPUTS: Final = 2


Quick: TypeAlias = tuple[str, list[dict[str, Any]], int]
"""One content: its role, its parts, and whether they hold calls, outputs or neither."""

_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_MORE: Final = frozenset(
    {"reasoning", "reasoning_content", "reasoning_details", "refusal", "parts", "function_call"}
)
"""Where a message has more than content and calls."""


def quick_parts(item: Mapping[str, Any]) -> Quick | None:
    """The content that an item is, if it is one of the commonest; its outputs lack their names."""
    kind = item.get("type")
    if kind == "function_call":
        if "role" in item:
            return None
        part = _call(item.get("call_id"), item.get("name"), item.get("arguments"))
        return None if part is None else ("model", [part], CALLS)
    if kind == "function_call_output":
        answer = None if "role" in item else _answer(item.get("call_id"), item.get("output"))
        return None if answer is None else ("user", [answer], OUTPUTS)
    if (kind is not None and kind != "message") or not _MORE.isdisjoint(item):
        return None
    role = item.get("role")
    content = item.get("content")
    if role == "tool":
        answer = _answer(item.get("tool_call_id"), content) if "name" not in item else None
        return None if answer is None else ("user", [answer], OUTPUTS)
    if role not in ("user", "assistant"):
        return None
    parts: list[dict[str, Any]] = []
    holds = TEXT
    if type(content) is str:
        if not content or content.isspace():
            return None
        parts.append({"text": content})
    elif type(content) is list:
        for block in content:
            made = _block(block, role)
            if made is None:
                return None
            part, what = made
            if what != holds:
                if (holds and what) or (what == OUTPUTS and parts) or holds == OUTPUTS:
                    return None
                holds = what or holds
            parts.append(part)
    elif content is not None:
        return None
    listed = item.get("tool_calls")
    if listed is not None:
        if role != "assistant" or type(listed) is not list or holds:
            return None
        for entry in listed:
            body = entry.get("function") if type(entry) is dict else None
            if type(body) is not dict or entry.get("type") == "custom":
                return None
            called = _call(entry.get("id"), body.get("name"), body.get("arguments"))
            if called is None:
                return None
            parts.append(called)
            holds = CALLS
    if not parts:
        return None
    return ("model" if role == "assistant" else "user"), parts, holds


def _block(block: Any, role: str) -> tuple[dict[str, Any], int] | None:
    """The part that a block of a message is, and what sort of it."""
    if type(block) is not dict:
        return None
    kind = block.get("type")
    if type(kind) is not str:
        return None
    if kind in _TEXTS:
        said = block.get("text")
        if type(said) is not str or not said or said.isspace() or "textSignature" in block:
            return None
        return {"text": said}, TEXT
    if kind == "tool_use" and role == "assistant":
        given = block.get("input")
        call_id, name = block.get("id"), block.get("name")
        if type(given) is not dict or type(call_id) is not str or not call_id or type(name) is not str:
            return None
        if NAME.fullmatch(name) is None or "thoughtSignature" in block:
            return None
        return {"functionCall": {"id": call_id, "name": name, "args": given}}, CALLS
    if kind == "tool_result" and role == "user":
        answer = _answer(
            block.get("tool_use_id"), block.get("content"), is_error=block.get("is_error") is True
        )
        return None if answer is None else (answer, OUTPUTS)
    return None


def _call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any] | None:
    """A call whose arguments are the text of an object."""
    if type(call_id) is not str or not call_id or type(name) is not str or type(arguments) is not str:
        return None
    if NAME.fullmatch(name) is None:
        return None
    try:
        args = read_text(arguments)
    except ValueError:
        return None
    return {"functionCall": {"id": call_id, "name": name, "args": args}} if type(args) is dict else None


def _answer(call_id: Any, content: Any, *, is_error: bool = False) -> dict[str, Any] | None:
    """An output that is text."""
    if type(call_id) is not str or not call_id:
        return None
    if type(content) is list and len(content) == 1:
        (block,) = content
        if type(block) is not dict or block.get("type") not in ("text", "input_text", "output_text"):
            return None
        content = block.get("text")
    if type(content) is not str:
        return None
    response = {"error": content} if is_error else {"output": content}
    return {"functionResponse": {"id": call_id, "name": "", "response": response}}
