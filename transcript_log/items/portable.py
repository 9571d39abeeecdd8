"""What of an item anybody can read.

Private are reasoning, thinking, native checkpoints, the calls that a provider ran itself with
their results, and the signatures on anything else. Only what a model said is looked at: a tool
may well have an argument of the name ``signature``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .gemini import is_content, portable_content
from .shapes import is_thinking

__all__ = ["is_private", "portable_part", "without_thinking"]

_PRIVATE_TYPES: Final = frozenset(
    {"reasoning", "reasoning_content", "web_search_call", "tool_search_call", "tool_search_output"}
)
_CHECKPOINTS: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
_PRIVATE_KEYS: Final = frozenset({"reasoning_content", "reasoning_details", "reasoning", "encrypted_content"})
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_PRIVATE_BLOCKS: Final = frozenset({*_THINKING, "server_tool_use", "mcp_tool_use", "compaction"})
_SIGNATURES: Final = frozenset(
    {
        "encrypted_content",
        "extra_content",
        "provider_specific_fields",
        "signature",
        "textSignature",
        "thinkingSignature",
        "thoughtSignature",
        "thought_signature",
    }
)


def is_private(item: Mapping[str, Any]) -> bool:
    """Whether something in an item can be read by its producer alone."""
    return portable_part(item) is not item


def portable_part(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """An item without what is private in it.

    The item itself if nothing is; None if nothing is left. What is left is shared.
    """
    kind = item.get("type")
    if type(kind) is str and kind != "message":
        if kind in _PRIVATE_TYPES or (kind in _CHECKPOINTS and item.get("encrypted_content")):
            return None
        return item if _SIGNATURES.isdisjoint(item) else _without(item, _SIGNATURES)
    if "parts" in item and is_content(item):
        return portable_content(item)
    new = item
    if not _PRIVATE_KEYS.isdisjoint(item):
        new = _without(new, _PRIVATE_KEYS)
    if item.get("role") == "user":
        return new
    if item.get("role") != "assistant":
        return _without_thinking(new)
    if not _SIGNATURES.isdisjoint(new):
        new = _without(new, _SIGNATURES)
    content = item.get("content")
    if type(content) is list:
        kept = _portable_blocks(content)
        if kept is not content:
            new = {**new, "content": kept}
    calls = item.get("tool_calls")
    if type(calls) is list:
        kept = [_portable_call(call) for call in calls]
        if any(a is not b for a, b in zip(kept, calls, strict=True)):
            new = {**new, "tool_calls": kept}
    if new is item or new.get("tool_calls") or new.get("refusal") or new.get("content"):
        return new
    return None


def without_thinking(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A message without its thinking; the item itself if it has none, None if it has nothing else."""
    return _without_thinking(item) if item.get("role") == "assistant" else item


def _without_thinking(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    content = item.get("content")
    if type(content) is not list:
        return item
    kept = [block for block in content if not is_thinking(block)]
    if len(kept) == len(content):
        return item
    return {**item, "content": kept} if kept else None


def _without(item: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in keys}


def _portable_blocks(content: list[Any]) -> list[Any]:
    """Blocks without the private ones, and without signatures; the same list if there are none."""
    kept = []
    changed = False
    for block in content:
        if type(block) is not dict:
            kept.append(block)
            continue
        kind = block.get("type")
        if type(kind) is str and (kind in _PRIVATE_BLOCKS or (kind.endswith("_tool_result"))):
            changed = True
            continue
        citations = block.get("citations")
        if not _SIGNATURES.isdisjoint(block) or (citations and _has_index(citations)):
            block = _without(block, _SIGNATURES)  # noqa: PLW2901 - the block from here on
            if citations and _has_index(citations):
                del block["citations"]
            changed = True
        kept.append(block)
    return kept if changed else content


def _has_index(citations: Any) -> bool:
    """Whether citations point into results that only the provider can read."""
    return type(citations) is list and any(
        type(one) is dict and "encrypted_index" in one for one in citations
    )


def _portable_call(call: Any) -> Any:
    if type(call) is not dict:
        return call
    body = call.get("function")
    if type(body) is dict and not _SIGNATURES.isdisjoint(body):
        call = {**call, "function": _without(body, _SIGNATURES)}
    return call if _SIGNATURES.isdisjoint(call) else _without(call, _SIGNATURES)
