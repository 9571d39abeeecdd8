"""Items of the Responses API as Codex stores them.

Codex reads fewer types than its API has, and wants the long form of messages
(https://github.com/openai/codex, ``codex-rs/protocol/src/models.rs``, 2026-03).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .. import items
from ..apis._neutral import Call, Output, arguments_text, read
from ..entries import Item, Json, RecordedUsage

__all__ = ["Running", "echo_of", "stored_item"]

Tell = Callable[[str, str, str], None]
"""Is told of what Codex does not store: the kind of change, a rule, and what is so."""

_STORED: Final = frozenset(
    {
        "compaction",
        "context_compaction",
        "custom_tool_call",
        "custom_tool_call_output",
        "function_call",
        "function_call_output",
        "image_generation_call",
        "local_shell_call",
        "reasoning",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
_PARTS: Final = frozenset({"input_image", "input_text", "output_text"})


def stored_item(item: Item, tell: Tell) -> dict[str, Any] | None:
    """An item as Codex stores it; None if it stores nothing like it."""
    kind = items.type_of(item)
    if kind is None or kind == "message":
        return _message(item, tell)
    if kind == "function_call_output" and type(item.get("output")) is list:
        return {**item, "output": _parts(item["output"], tell)}
    if kind in _STORED:
        return dict(item)
    for block in read(item).blocks:
        if isinstance(block, Call):
            tell("rewritten", "call-kind", f"the {kind} goes as a call of a function")
            text, _ = arguments_text(block)
            return {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": text}
        if isinstance(block, Output):
            if kind != "local_shell_call_output":
                tell("rewritten", "output-kind", f"the {kind} goes as the output of a function")
            return {"type": "function_call_output", "call_id": block.id, "output": _output(block)}
    tell("left-out", "item-type", f"Codex stores no {kind}")
    return None


def _output(block: Output) -> Json:
    return items.output_text([{"type": "text", "text": getattr(one, "text", "")} for one in block.blocks])


def _message(item: Item, tell: Tell) -> dict[str, Any] | None:
    content = item.get("content")
    word = "output_text" if item.get("role") == "assistant" else "input_text"
    parts = [{"type": word, "text": content}] if type(content) is str else _parts(content or [], tell)
    if not parts:
        return None
    return {**item, "type": "message", "content": parts}


def _parts(given: Any, tell: Tell) -> list[Any]:
    parts: list[Any] = []
    for part in given:
        kind = part.get("type")
        if kind in _PARTS:
            parts.append(part)
        elif kind == "refusal":
            parts.append({"type": "output_text", "text": str(part.get("refusal") or "")})
            tell("rewritten", "part-type", "a refusal goes as text")
        else:
            tell("left-out", "part-type", f"Codex stores no {kind} in a message")
    return parts


def echo_of(item: Item) -> dict[str, Json] | None:
    """The event that shows a person what a message says; None for what is no such message."""
    text = items.text(item)
    match items.role(item):
        case "user" if not items.tool_outputs(item):
            pictures = [part["image_url"] for part in item["content"] if part["type"] == "input_image"]
            links = [link for link in pictures if type(link) is str]
            return {"type": "user_message", "message": text, "images": links}
        case "assistant":
            return {"type": "agent_message", "message": text}
        case _:
            return None


class Running:
    """The tokens of a session so far, as Codex counts them: cached ones are part of the input."""

    def __init__(self) -> None:
        self._total = dict.fromkeys(
            ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"), 0
        )

    def add(self, usage: RecordedUsage) -> dict[str, Json]:
        """The event of one response's usage."""
        last = {
            "input_tokens": usage.input + usage.cache_read + usage.cache_write,
            "cached_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
            "reasoning_output_tokens": 0,
        }
        for key, number in last.items():
            self._total[key] += number
        more = {"cache_write_input_tokens": usage.cache_write} if usage.cache_write else {}
        info = {
            "total_token_usage": _whole(self._total),
            "last_token_usage": {**_whole(last), **more},
            "model_context_window": None,
        }
        return {"type": "token_count", "info": info, "rate_limits": None}


def _whole(tokens: dict[str, int]) -> dict[str, int]:
    return {**tokens, "total_tokens": tokens["input_tokens"] + tokens["output_tokens"]}
