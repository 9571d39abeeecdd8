"""How two contexts differ, and how much of a prompt cache they share.

A prompt cache is reached by what leads a request: the first byte that changed ends what it
saves. So items are compared by their compact JSON, keys in the order in which they stand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from . import _json
from .entries import Item
from .errors import EntryError

__all__ = ["ContextDiff", "diff_items"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDiff:
    """What one list of items has that another has not, and how far they are the same.

    Positions count from 0.

    Attributes:
        only_first: The positions in the first of what the second has not. Of equal items
            that one of them has more often, the last ones are left over.
        only_second: The same the other way round.
        parts_at: The first position at which they are not the same, or where one of them
            ends; None if they are equal. What was only moved shows here alone.
        shared_bytes: How many bytes of compact JSON they begin with in common: the equal
            leading items, and the beginning that the next two share. What a request puts
            between items is not counted.
        first_bytes: All bytes of the first, counted so.
        second_bytes: All bytes of the second.
    """

    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    parts_at: int | None
    shared_bytes: int
    first_bytes: int
    second_bytes: int


def diff_items(first: Sequence[Item], second: Sequence[Item]) -> ContextDiff:
    """How two lists of items differ, in linear time."""
    one, other = [*map(_compact, first)], [*map(_compact, second)]
    leading = _shared(one, other)
    shared = sum(map(len, one[:leading]))
    if leading < min(len(one), len(other)):
        shared += _shared(one[leading], other[leading])
    return ContextDiff(
        only_first=_surplus(one, other),
        only_second=_surplus(other, one),
        parts_at=None if leading == len(one) == len(other) else leading,
        shared_bytes=shared,
        first_bytes=sum(map(len, one)),
        second_bytes=sum(map(len, other)),
    )


def _compact(item: Item) -> bytes:
    try:
        return _json.encode(item)
    except EntryError:  # another writer's endless number, or integer past 64 bits
        return json.dumps(item, separators=(",", ":")).encode("ascii")


def _shared(one: Sequence[object], other: Sequence[object]) -> int:
    """How many things two sequences begin with in common."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _surplus(one: Sequence[bytes], other: Sequence[bytes]) -> tuple[int, ...]:
    """The positions of what one has and the other has not, or not so often."""
    left = Counter(other)
    surplus = []
    for position, text in enumerate(one):
        if left[text]:
            left[text] -= 1
        else:
            surplus.append(position)
    return tuple(surplus)
