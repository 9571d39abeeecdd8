"""Items that are one thing each: a call, an output, or reasoning of the Responses API."""

from __future__ import annotations

from typing import Final

from ._values import Item, first, named, non_blank, texts
from .part_types import HOSTED, ReasoningPart, ToolCallPart, ToolOutputPart

__all__ = ["FLAT_CALLS", "WITHOUT_CALLS", "WITHOUT_OUTPUTS", "flat_call", "flat_output", "flat_reasoning"]

FLAT_CALLS: Final = {
    "function_call": "function",
    "custom_tool_call": "custom",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
    "tool_search_call": "tool_search",
}
_FLAT_OUTPUTS: Final = {
    "function_call_output": "function",
    "custom_tool_call_output": "custom",
    "local_shell_call_output": "local_shell",
    "shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
    "computer_call_output": "computer",
    "tool_search_output": "tool_search",
}
_FLAT_HOSTED: Final = frozenset(
    {"web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "mcp_call"}
)
_FLAT_REASONING: Final = frozenset({"reasoning", "reasoning_content"})
WITHOUT_CALLS: Final = _FLAT_HOSTED | _FLAT_REASONING | _FLAT_OUTPUTS.keys()
"""The types that are never a call for somebody else to answer."""

WITHOUT_OUTPUTS: Final = _FLAT_HOSTED | _FLAT_REASONING | FLAT_CALLS.keys()
"""The types that never answer one."""

_ARGUMENTS: Final = (
    "arguments",
    "input",
    "action",
    "operation",
    "actions",
    "queries",
    "code",
    "revised_prompt",
)
_OUTPUTS: Final = ("output", "tools", "content", "result")
_HOSTED_RESULTS: Final = ("output", "outputs", "results")


def flat_call(item: Item, kind: str) -> ToolCallPart | None:
    """The call that an item of type ``kind`` is, whoever runs it."""
    call_id = named(item.get("call_id"))
    word = FLAT_CALLS.get(kind)
    if kind in _FLAT_HOSTED or (word == "tool_search" and call_id is None):
        call_id = call_id or named(item.get("id"))
        word = HOSTED
    elif word is None:
        if not kind.endswith("_call") or call_id is None:
            return None
        word = kind.removesuffix("_call")
    elif call_id is None and word == "local_shell":
        call_id = named(item.get("id"))  # Codex answers it under the item's id then.
    name = named(item.get("name")) or kind.removesuffix("_call")
    return ToolCallPart(call_id, name, first(item, _ARGUMENTS), word, 0)


def flat_output(item: Item, kind: str) -> ToolOutputPart | None:
    """The output that an item of type ``kind`` is, or that a hosted call brings along."""
    call_id = named(item.get("call_id"))
    if kind in _FLAT_HOSTED:
        content = first(item, _HOSTED_RESULTS)
        error = item.get("error")
        if content is None and error is None:
            return None
        call_id = call_id or named(item.get("id"))
        return ToolOutputPart(call_id, error if content is None else content, HOSTED, error is not None, 0)
    word = _FLAT_OUTPUTS.get(kind)
    if word is None:
        if not kind.endswith("_output") or call_id is None:
            return None
        word = kind.removesuffix("_output").removesuffix("_call")
    if call_id is None and word == "local_shell":
        call_id = named(item.get("id"))  # OpenAI's own types name the call there.
    name = None
    if word == "tool_search":
        name = word
        if call_id is None:  # The server ran that search: no call waits for it.
            word = HOSTED
    is_error = word == "apply_patch" and item.get("status") == "failed"
    return ToolOutputPart(call_id, first(item, _OUTPUTS), word, is_error, 0, name)


def flat_reasoning(item: Item, kind: str) -> ReasoningPart | None:
    """The reasoning that an item of type ``kind`` is."""
    if kind == "reasoning":
        said = [*texts(item.get("summary")), *texts(item.get("content"))]
        return ReasoningPart("\n\n".join(said), non_blank(item.get("encrypted_content")), 0)
    if kind == "reasoning_content":
        said = [*texts(item.get("content")), *texts(item.get("text")), *texts(item.get(kind))]
        return ReasoningPart("\n\n".join(said), False, 0)
    return None
