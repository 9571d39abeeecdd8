"""What must outlive a compaction: calls that nobody has answered yet, and what hangs on them.

A compaction puts a few items in the place of many. A call whose output is still to come cannot
be among those, nor can the reasoning it was made from. :func:`plan_compaction` says, before
anything is summarised, what has to be carried over; :meth:`CompactionCarry.projection` makes
the new projection when the summary is there. Nothing that was given is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

from ._identity import IdentityMap
from .entries import Item
from .errors import ReconciliationError
from .families import items_for_family
from .items import is_family_private, is_function_call
from .projection import Projection, item_list
from .reconcile import Correlation, IsRepair, RepairOutput, correlate, reconcile

__all__ = ["CompactionCarry", "plan_compaction"]


class _Unset(Enum):
    """Tells an argument that was not given from None, which says something."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "..."


_UNSET: Final = _Unset.UNSET


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CompactionCarry:
    """A planned compaction. It never changes, and can be used again and again.

    Attributes:
        cutoff: How many items, from the start, the compaction was planned for.
        items: What must be carried, the same objects in order; always the end of the history: the
            earliest unresolved group of calls with the private context before it, all that belongs
            together with what is carried, and everything from the cutoff on.
        unresolved_calls: The calls before the cutoff that had no output before it, whatever came
            later.
    """

    cutoff: int
    items: tuple[Item, ...]
    unresolved_calls: tuple[Item, ...]
    _source: Projection = field(repr=False)
    _history: tuple[Item, ...] = field(repr=False)
    _is_repair: IsRepair | None = field(repr=False)

    def projection(
        self,
        replacement_items: Sequence[Item] | None = (),
        additional_items: Sequence[Item] | None = (),
        *,
        repair_output: RepairOutput | None = None,
        is_repair: IsRepair | Literal[_Unset.UNSET] | None = _UNSET,
        family: str | Literal[_Unset.UNSET] | None = _UNSET,
        item_families: IdentityMap[str | None] | None = None,
        handoff_families: IdentityMap[str | None] | None = None,
    ) -> Projection:
        """A new projection: the replacement, what is carried, then what was added since, reconciled.

        Where an added item belongs to one that would not be carried, that one is carried after
        all. What the source knows of an item, it knows too. The source stays as it is.

        Args:
            replacement_items: What stands for what is compacted.
            additional_items: What came since the plan was made, such as the missing outputs.
            repair_output: Asked for each output that is still missing; see
                :meth:`.Reconciliation.items`.
            is_repair: In the place of the one that the plan was made with; None recognises nothing.
            family: Keep only what this family may read, None too; if it is not given, keep all.
            item_families: See :func:`.items_for_family`; counts only with ``family``.
            handoff_families: The same.

        Raises:
            ReconciliationError: As :func:`.reconcile` and :meth:`.Reconciliation.items`.
        """
        replacement, additional = item_list(replacement_items), item_list(additional_items)
        recognised = self._is_repair if is_repair is _UNSET else is_repair
        history = (*self._history, *additional)
        start = _start(
            history, correlate(history, is_repair=recognised), len(self._history) - len(self.items)
        )
        items = [*replacement, *history[start:]]
        if family is not _UNSET:
            items = items_for_family(
                items, family, item_families=item_families, handoff_families=handoff_families
            )
        return self._source.derive(reconcile(items, is_repair=recognised).items(repair_output))


def plan_compaction(
    projection: Projection, *, cutoff: int | None = None, is_repair: IsRepair | None = None
) -> CompactionCarry:
    """Plan what must be carried over a compaction of the first ``cutoff`` items.

    The plan is of the items as they are now; what the projection's tables know is looked up when
    the plan is used.

    Args:
        projection: The source; it stays as it is.
        cutoff: How many items, from the start, are compacted; None for all.
        is_repair: See :func:`.reconcile`.

    Raises:
        ReconciliationError: ``invalid_cutoff``, which is looked for first; and as :func:`.reconcile`,
            of the whole history, also beyond the cutoff.
    """
    items = tuple(projection.items())
    if cutoff is None:
        cutoff = len(items)
    elif type(cutoff) is not int or not 0 <= cutoff <= len(items):
        raise ReconciliationError("invalid_cutoff")
    found = correlate(items, is_repair=is_repair)
    unresolved = [at for name, at in found.calls.items() if at < cutoff <= found.outputs.get(name, cutoff)]
    start = _start(items, found, unresolved[0] if unresolved else cutoff)
    return CompactionCarry(
        cutoff=cutoff,
        items=items[start:],
        unresolved_calls=tuple(items[at] for at in unresolved),
        _source=projection,
        _history=items,
        _is_repair=is_repair,
    )


def _start(history: Sequence[Item], found: Correlation, start: int) -> int:
    """The position at or before ``start`` from which all that belongs together is carried."""
    firsts: dict[str, int] = {}
    for at, name in found.ids.items():
        firsts.setdefault(name, at)
    looked = len(history)
    while start < looked:
        begin = _with_context(history, start)
        needed = [firsts[found.ids[at]] for at in range(begin, looked) if at in found.ids]
        looked, start = begin, min([begin, *needed])
    return start


def _with_context(history: Sequence[Item], start: int) -> int:
    """Where the group of the call at ``start``, if it is one, begins, or the private items before it."""
    if is_function_call(history[start]):
        while start > 0 and is_function_call(history[start - 1]):
            start -= 1
    while start > 0 and is_family_private(history[start - 1]):
        start -= 1
    return start
