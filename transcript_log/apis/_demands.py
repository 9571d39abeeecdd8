"""Rules that are written down as data, each with what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._pieces import Piece
from ..entries import Item
from ..findings import Finding
from ._base import Notes, Rule

__all__ = ["ItemDemand"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDemand:
    """What each item of a sort has to be, by its own keys.

    Attributes:
        rule: The rule.
        where: The keys and values of the items that it is about; all items, if there are none.
        forbid: Keys that such an item may not bear.
        require: Keys that it must bear, each with the value that it is given otherwise.
        max_text: The most characters that a text of its content or output may have; None for any.
    """

    rule: Rule
    where: Mapping[str, Any] = field(default_factory=dict)
    forbid: frozenset[str] = frozenset()
    require: Mapping[str, Any] = field(default_factory=dict)
    max_text: int | None = None

    __hash__ = None  # type: ignore[assignment]  # values may be lists

    def is_about(self, item: Item) -> bool:
        """Whether an item is of the sort."""
        return all(key in item and item[key] == value for key, value in self.where.items())

    def check(self, items: Sequence[Item]) -> Iterator[Finding]:
        """See :meth:`Demand.check`."""
        for place, item in enumerate(items):
            if not self.is_about(item):
                continue
            bears = sorted(self.forbid & item.keys())
            if bears:
                yield self.rule.at(place, f"it bears {', '.join(bears)}")
            lacks = [key for key in self.require if key not in item]
            if lacks:
                yield self.rule.at(place, f"it has no {', '.join(lacks)}")
            if self.max_text is not None and self._cut(item) is not item:
                yield self.rule.at(place, f"a text is longer than {self.max_text} characters")

    def mended(self, piece: Piece, notes: Notes) -> Piece:
        """See :meth:`Demand.mended`."""
        if not self.is_about(piece.item):
            return piece
        bears = [key for key in piece.item if key in self.forbid]
        if bears:
            why = f"it goes without {', '.join(bears)}"
            notes.add("rewritten", self.rule.id, why, piece, item=piece.item)
            kept = {key: value for key, value in piece.item.items() if key not in self.forbid}
            piece = piece.now(kept, "mended")
        lacks = {key: value for key, value in self.require.items() if key not in piece.item}
        if lacks:
            notes.add("added", self.rule.id, f"it goes with {', '.join(lacks)}", piece)
            piece = piece.now({**piece.item, **lacks}, "mended")
        cut = self._cut(piece.item)
        if cut is not piece.item:
            why = f"a text was cut to {self.max_text} characters"
            notes.add("rewritten", self.rule.id, why, piece, item=piece.item)
            piece = piece.now(cut, "mended")
        return piece

    def _cut(self, item: Item) -> Item:
        """An item with no text that is too long; the same one if there is none."""
        if self.max_text is None:
            return item
        new = {key: self._short(item[key]) for key in ("content", "output") if key in item}
        return item if all(new[key] is item[key] for key in new) else {**item, **new}

    def _short(self, value: Any) -> Any:
        most = self.max_text
        assert most is not None
        if type(value) is str:
            return value if len(value) <= most else f"{value[: most - 1]}…"
        if type(value) is not list:
            return value
        made = [
            {**part, "text": self._short(part["text"])}
            if type(part) is dict and type(part.get("text")) is str and len(part["text"]) > most
            else part
            for part in value
        ]
        return made if any(a is not b for a, b in zip(made, value, strict=True)) else value
