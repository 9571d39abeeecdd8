"""What Codex carries over a compaction that has no replacement history.

The words and the measure are those of ``codex-rs/core/src/compact.rs`` and ``truncate.rs`` of
https://github.com/openai/codex (2026-03).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .. import items
from ..entries import Item

__all__ = ["NO_SUMMARY", "is_carried", "rebuilt", "size_of"]

NO_SUMMARY: Final = "(no summary available)"
"""Stands where a compaction has none."""

# User messages that Codex makes itself. It does not carry them over a compaction.
_MADE_MESSAGES: Final = (
    "# agents.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "another language model started to solve this problem",
)
_TOKENS: Final = 20_000
"""How much user text is carried over."""
_BYTES: Final = 4
"""What counts as a token."""


def is_carried(item: Item) -> bool:
    """Whether a user message is one that a person wrote."""
    text = items.text(item).lstrip().lower()
    return text != "" and not text.startswith(_MADE_MESSAGES)


def size_of(item: Item) -> int:
    """The bytes of a message's text."""
    return len(_bytes_of(item))


def rebuilt(users: Sequence[tuple[Item, int]], summary: str) -> tuple[Item, ...]:
    """The newest user messages that fit, the oldest of them cut, and the summary as one more.

    Args:
        users: Those before the compaction, each with its size.
        summary: What tells of the rest.
    """
    carried: list[Item] = []
    left = _TOKENS
    for item, size in reversed(users):
        tokens = _tokens(size)
        if tokens > left:
            if left:
                carried.append(_said(_cut(_bytes_of(item), left * _BYTES)))
            break
        carried.append(item)
        left -= tokens
    return (*reversed(carried), _said(summary or NO_SUMMARY))


def _cut(text: bytes, size: int) -> str:
    """The beginning and the end of a text, with a word between them on how much is gone."""
    head, tail = text[: size // 2], text[len(text) - (size - size // 2) :]
    gone = f"…{_tokens(len(text) - size)} tokens truncated…"
    return head.decode("utf-8", "ignore") + gone + tail.decode("utf-8", "ignore")


def _tokens(size: int) -> int:
    return -(-size // _BYTES)


def _bytes_of(item: Item) -> bytes:
    return items.text(item).encode("utf-8", "surrogatepass")


def _said(text: str) -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
