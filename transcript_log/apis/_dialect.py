"""What the APIs of the shape of Chat Completions do not have in common, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..entries import Item
from ._base import Terms, word

__all__ = ["FOREIGN_KEYS", "ChatDialect"]

FOREIGN_KEYS: Final = frozenset(
    {
        "api",
        "container",
        "errorMessage",
        "id",
        "isError",
        "model",
        "phase",
        "provider",
        "responseId",
        "status",
        "stopReason",
        "stop_details",
        "stop_reason",
        "stop_sequence",
        "timestamp",
        "toolCallId",
        "toolName",
        "type",
        "usage",
    }
)
"""Keys that the messages of other APIs bear, and that no Chat message has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDialect(Terms):
    """One way to speak Chat Completions.

    Attributes:
        parts: The roles that a message may have, each with the types of its parts.
        keys: Of each role, the keys that its messages may bear; without it any but
            :data:`FOREIGN_KEYS`.
        part_keys: Of the types of parts whose keys are counted, those keys.
        part_values: Of a type of part that other APIs have as well, the key that tells it apart,
            and the types that its value may have.
        call_keys: The keys of a call; None where they are not counted.
        kinds: The kinds of calls.
        speakers: What another role goes as.
        nothing: The content of a message that only calls.
        documents: Whether a user's documents are of type ``"file"`` or ``"document_url"``; ``""``
            where there are none.
        thoughts: The key that reasoning stands under; ``"any"`` for the one it came under,
            ``"thinking"`` for parts of that type.
    """

    parts: Mapping[Any, frozenset[str]]
    keys: Mapping[Any, frozenset[str]] | None = None
    part_keys: Mapping[str, frozenset[str]] = field(default_factory=dict)
    part_values: Mapping[str, tuple[str, tuple[type, ...]]] = field(default_factory=dict)
    call_keys: frozenset[str] | None = None
    kinds: tuple[str, ...] = ("function", "custom")
    speakers: Mapping[str, str] = field(default_factory=dict)
    nothing: str | None = None
    documents: Literal["file", "document_url", ""] = "file"
    thoughts: Literal["any", "reasoning_content", "thinking"] = "any"

    def foreign(self, message: Item, speaker: Any) -> set[str]:
        """The keys that a message of a role may not bear."""
        if self.keys is None:
            return message.keys() & FOREIGN_KEYS
        return message.keys() - self.keys.get(speaker, frozenset())

    def takes(self, part: Any, speaker: Any) -> bool:
        """Whether a part may stand in a message of a role."""
        if type(part) is not dict:
            return False
        kind = word(part.get("type"))
        allowed = self.parts.get(speaker) if type(speaker) is str else None
        if allowed is None or kind not in allowed:
            return False
        told = self.part_values.get(kind)
        return told is None or type(part.get(told[0])) in told[1]

    def spare(self, part: Mapping[str, Any]) -> set[str]:
        """The keys that a part of this API may not bear."""
        known = self.part_keys.get(word(part.get("type")))
        return set() if known is None else part.keys() - known
