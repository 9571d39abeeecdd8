"""Finding objects by what they are, not by what they equal.

Two equal items at two places of a conversation are two items, and one item may stand at two
places. Items are dicts, which can be neither hashed nor weakly referenced, so a map of them
has to be keyed by ``id()``. An id names an object only while that object lives: the maps
here hold what they know, and die with the one who owns them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

__all__ = ["IdentityIndex", "IdentityMap"]

V = TypeVar("V")


class IdentityIndex:
    """Where each object of a sequence stands. Positions are the truth; this is made of them."""

    __slots__ = ("_found",)

    def __init__(self, objects: Iterable[object]) -> None:
        self._found: Final[dict[int, tuple[object, list[int]]]] = {}
        for position, thing in enumerate(objects):
            self._found.setdefault(id(thing), (thing, []))[1].append(position)

    def positions(self, thing: object) -> tuple[int, ...]:
        """The positions of this very object, in order; empty if it is not there."""
        found = self._found.get(id(thing))
        return () if found is None else tuple(found[1])

    def __contains__(self, thing: object) -> bool:
        return id(thing) in self._found

    def __len__(self) -> int:
        """How many different objects there are."""
        return len(self._found)


class IdentityMap(Generic[V]):
    """A value for each of some objects."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: Final[dict[int, tuple[object, V]]] = {}

    def __setitem__(self, thing: object, value: V) -> None:
        self._found[id(thing)] = (thing, value)

    def __getitem__(self, thing: object) -> V:
        """The value of this very object.

        Raises:
            KeyError: It has none.
        """
        try:
            return self._found[id(thing)][1]
        except KeyError:
            raise KeyError(f"no value for the {type(thing).__name__} at {id(thing):#x}") from None

    def __contains__(self, thing: object) -> bool:
        return id(thing) in self._found

    def __len__(self) -> int:
        return len(self._found)
