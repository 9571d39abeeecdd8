"""What a context is put together from: items, each with where it comes from.

A piece is made for each message of the log, and passed down the steps of a context. A step
gives a new piece where it changes something and the very same one where it does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from .entries import Item

__all__ = ["Joint", "Piece", "Why"]

Why = Literal[
    "kept",
    "summary",
    "replacement",
    "attachment",
    "opening",
    "bridge",
    "stand-in",
    "moved",
    "split",
    "rendered",
    "mended",
    "merged",
]
"""Why an item is in a context.

``kept``: as it was stored, where it stood. ``summary``, ``replacement``: in place of what was
compacted. ``attachment``: a text that stands beside the conversation. ``opening``: put first where an API
wants the user to begin. ``bridge``: put where an API wants the assistant to speak before the
user. ``stand-in``: made up for an output that nobody recorded. ``moved``: as it was stored, but
not where it stood. ``split``: a part of a stored item. ``rendered``: from the shape of another
API. ``mended``: brought under a rule of the API. ``merged``: put together from several.
"""


@dataclass(slots=True, eq=False)
class Piece:
    """One item on its way into a context.

    Attributes:
        item: The item; never changed, and only replaced by a new piece.
        sources: The ids of the entries that it was made from, in order.
        why: See :data:`Why`.
        family: Who can read what is private in it.
        stand_in: It is a stand-in that a model was already sent.
        begins: It is the first item of a model response.
        finish: Why that response ended, in the words of its record.
        orphaned: The reasoning that it came with is not in the context.
        interrupted: It was broken off, or left aside: history, and no context.
        old: It was said before the newest compaction.
    """

    item: Item
    sources: tuple[str, ...] = ()
    why: Why = "kept"
    family: str | None = None
    stand_in: bool = False
    begins: bool = False
    finish: str | None = None
    orphaned: bool = False
    interrupted: bool = False
    old: bool = False

    @property
    def entry(self) -> str | None:
        """The first entry that it was made from."""
        return self.sources[0] if self.sources else None

    def now(self, item: Item, why: Why) -> Piece:
        """The same with another item. What was made up or rendered stays so when it is mended."""
        made_up = self.why in ("stand-in", "summary", "attachment") and why != "merged"
        if made_up or (self.why in ("rendered", "merged") and why == "mended"):
            why = self.why
        return Piece(
            item,
            self.sources,
            why,
            self.family,
            self.stand_in,
            self.begins,
            self.finish,
            self.orphaned,
            self.interrupted,
            self.old,
        )

    def alone(self) -> Piece:
        """The same, with the reasoning that it came with gone from the context."""
        piece = self.now(self.item, self.why)
        piece.orphaned = True
        return piece


class Joint:
    """Several pieces on their way to be one.

    It holds the parts of all in one list of its own, so that a long run is put together in
    linear time.
    """

    __slots__ = ("_first", "_old", "_parts", "_sources")

    def __init__(self, first: Piece, parts: Iterable[Any]) -> None:
        self._first: Final = first
        self._parts: Final = list(parts)
        self._sources: Final = dict.fromkeys(first.sources)
        self._old = first.old

    def add(self, piece: Piece, parts: Iterable[Any]) -> None:
        """Another piece, and the parts of it."""
        self._parts.extend(parts)
        self._sources.update(dict.fromkeys(piece.sources))
        self._old = self._old or piece.old

    def piece(self, key: str, beside: Item) -> Piece:
        """All of it as one piece: ``beside`` with the parts under ``key``."""
        made = self._first.now({**beside, key: self._parts}, "merged")
        made.sources = tuple(self._sources)
        made.old = self._old
        return made
