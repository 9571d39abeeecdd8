"""Items in order, with what is known of each: a model's view of a conversation, to work on.

What is known stands in tables beside the items, never in them: an item goes to a provider as
it is. A table is keyed by identity, for two equal items are two items. Not thread-safe.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

from ._identity import IdentityMap
from .entries import Item
from .errors import ReconciliationError

__all__ = ["IdentityMap", "Projection", "item_list"]

T = TypeVar("T", bound=Item)


def item_list(items: object) -> list[Item]:
    """A fresh list of the items; of none at all for None.

    Raises:
        ReconciliationError: ``invalid_items``: a text, a mapping, or no sequence at all.
    """
    if items is None:
        return []
    # A text is a sequence too, of texts.
    if not isinstance(items, Sequence) or isinstance(items, str | bytes | bytearray):
        raise ReconciliationError("invalid_items")
    return list(items)


class Projection:
    """Items in order, and tables of what is known of them.

    Positions are the truth: one object may stand at several. The tables hold the items that
    they know, and live no longer than the projection, but for a table that somebody else holds.

    Raises:
        ReconciliationError: ``invalid_items``: no sequence of items.
    """

    __slots__ = ("_items", "_tables")

    def __init__(self, items: Sequence[Item] | None = ()) -> None:
        self._items = item_list(items)
        self._tables: dict[Hashable, IdentityMap[Any]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def append(self, item: T) -> T:
        """Add an item at the end, in amortized constant time. Gives the item back."""
        self._items.append(item)
        return item

    def items(self) -> list[Item]:
        """The items, as a fresh list."""
        return self._items.copy()

    def metadata(self, key: Hashable) -> IdentityMap[Any]:
        """The table of this name, made when it is first asked for.

        It may know items that are not in the projection, or not yet: until the next replacement.
        """
        return self._tables.setdefault(key, IdentityMap())

    def replace(self, items: Sequence[Item] | None) -> None:
        """Put other items in the place of all.

        What is known of an item that stays is kept, None too; all else is forgotten for good. The
        tables are new objects: one that somebody held before is detached.

        Raises:
            ReconciliationError: ``invalid_items``: no sequence of items. Nothing has changed.
        """
        other = self.derive(items)
        self._items, self._tables = other._items, other._tables

    def derive(self, items: Sequence[Item] | None) -> Projection:
        """A new projection of these items, with what this one knows of them. This one stays as it is.

        Raises:
            ReconciliationError: ``invalid_items``: no sequence of items.
        """
        other = Projection(items)
        other._tables = {key: _restricted(table, other._items) for key, table in self._tables.items()}
        return other


def _restricted(table: IdentityMap[Any], items: Iterable[Item]) -> IdentityMap[Any]:
    kept: IdentityMap[Any] = IdentityMap()
    for item in items:
        if item in table:
            kept[item] = table[item]
    return kept
