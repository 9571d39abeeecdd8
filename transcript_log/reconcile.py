"""Function calls and their outputs in the order that a model's API wants, or the reason why not.

This is the strict core: it speaks the flat reference vocabulary (:mod:`.items.vocabulary`),
changes no item, and makes nothing up. What is ambiguous is an error, found in input order over
the whole history before anything else is done. All of it is linear in the number of items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .entries import Item
from .errors import ReconciliationError
from .items import call_id, is_function_call, is_function_call_output
from .projection import item_list

__all__ = [
    "Correlation",
    "IsRepair",
    "MissingOutput",
    "Reconciliation",
    "RepairOutput",
    "correlate",
    "reconcile",
    "validate_function_call",
]

IsRepair: TypeAlias = Callable[[Item], bool]
"""Says whether an output is one that was made up earlier, in the place of one that was missing."""


@dataclass(frozen=True, slots=True, eq=False)
class MissingOutput:
    """A call that no output answers.

    ``call`` is the very item, ``call_id`` the id that an output for it must name.
    """

    call: Item
    call_id: str


RepairOutput: TypeAlias = Callable[[MissingOutput], Item]
"""Gives an output for a call that has none."""


@dataclass(frozen=True, slots=True, eq=False)
class Reconciliation:
    """How a history is brought in order. It never changes, and can be used again and again.

    Attributes:
        source: The items that were given, the same objects in the order they had.
        order: Positions in ``source``, and a :class:`MissingOutput` where one has to come.
    """

    source: tuple[Item, ...]
    order: tuple[int | MissingOutput, ...]

    @property
    def repairs(self) -> tuple[MissingOutput, ...]:
        """The outputs that are missing, in the order they are asked for."""
        return tuple(step for step in self.order if isinstance(step, MissingOutput))

    def items(self, repair_output: RepairOutput | None = None) -> list[Item]:
        """The items in order, as a fresh list of the same objects.

        ``repair_output`` is asked for each missing output in turn. What it raises goes through;
        the plan stays as it was, and can be asked again.

        Raises:
            ReconciliationError: ``missing_output``: an output is missing and there is nobody to ask;
                ``invalid_repair_output``: what was offered does not answer the call.
        """
        return [
            _repaired(step, repair_output) if isinstance(step, MissingOutput) else self.source[step]
            for step in self.order
        ]


def _repaired(missing: MissingOutput, repair_output: RepairOutput | None) -> Item:
    if repair_output is None:
        raise ReconciliationError("missing_output", missing.call_id, missing.call)
    output = repair_output(missing)
    if not is_function_call_output(output) or call_id(output) != missing.call_id:
        raise ReconciliationError("invalid_repair_output", missing.call_id, output)
    return output


@dataclass(frozen=True, slots=True, eq=False)
class Correlation:
    """Which calls and outputs of a history belong together, as positions, each map in their order.

    Attributes:
        ids: The id of each call and output, by position.
        calls: Where the call of an id stands.
        outputs: Where the output of an id stands: the one that counts.
        late: Where an output stands that came after a repair had taken its place.
    """

    ids: dict[int, str] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)


def correlate(items: Sequence[Item], *, is_repair: IsRepair | None = None) -> Correlation:
    """Find what belongs together, or what is wrong.

    Raises:
        ReconciliationError: ``missing_call_id``, ``duplicate_call`` or ``duplicate_output``, of the
            first item that is wrong.
    """
    found = Correlation()
    for at, item in enumerate(items):
        is_call = is_function_call(item)
        if not is_call and not is_function_call_output(item):
            continue
        name = found.ids[at] = _required_id(item)
        if is_call:
            if name in found.calls:
                raise ReconciliationError("duplicate_call", name, item)
            found.calls[name] = at
        elif name not in found.outputs:
            found.outputs[name] = at
        elif name not in found.late and _is_repaired(items, found, name, is_repair):
            found.late[name] = at
        else:
            raise ReconciliationError("duplicate_output", name, item)
    return found


def _required_id(item: Item) -> str:
    name = call_id(item)
    if name is None:
        raise ReconciliationError("missing_call_id", None, item)
    return name


def _is_repaired(items: Sequence[Item], found: Correlation, name: str, is_repair: IsRepair | None) -> bool:
    """Whether the output of this id is a recognised repair, and follows its call."""
    at = found.outputs[name]
    return is_repair is not None and found.calls.get(name, at) < at and bool(is_repair(items[at]))


def reconcile(items: Sequence[Item] | None, *, is_repair: IsRepair | None = None) -> Reconciliation:
    """Plan how calls and outputs come together. Changes nothing that was given.

    Calls that stand side by side stay together, and their outputs follow them in the order of
    the calls, wherever they stood. An output whose call is not there keeps its place. Of the
    outputs that came after a recognised repair, one per call is left out: history was made from
    the repair. A second look at what the plan gives changes nothing.

    Args:
        items: The history; None is an empty one.
        is_repair: Asked of an output when another one for the same call follows.

    Raises:
        ReconciliationError: ``invalid_items``, ``missing_call_id``, ``duplicate_call`` or
            ``duplicate_output``, of the first item that is wrong.
    """
    source = tuple(item_list(items))
    return Reconciliation(source, tuple(_ordered(source, correlate(source, is_repair=is_repair))))


def _ordered(source: Sequence[Item], found: Correlation) -> Iterator[int | MissingOutput]:
    group: list[str] = []
    for at in range(len(source)):
        name = found.ids.get(at)
        is_call = name is not None and found.calls.get(name) == at
        if group and not is_call:
            yield from _outputs(group, source, found)
            group = []
        # An output of a known call comes with its group, and a late one not at all.
        if name is None or is_call or name not in found.calls:
            yield at
        if name is not None and is_call:
            group.append(name)
    yield from _outputs(group, source, found)


def _outputs(
    group: Iterable[str], source: Sequence[Item], found: Correlation
) -> Iterator[int | MissingOutput]:
    for name in group:
        at = found.outputs.get(name)
        yield MissingOutput(source[found.calls[name]], name) if at is None else at


def validate_function_call(item: Item, *, preceding: Sequence[Item] | None = ()) -> None:
    """Check a call that a model just made against the items before it.

    What is no function call passes, whatever precedes it. Outputs that precede it do not count,
    and neither does what else is wrong there.

    Raises:
        ReconciliationError: ``invalid_items``: ``preceding`` is no sequence of items;
            ``missing_call_id``; ``duplicate_call``: a call with this id precedes it.
    """
    if not is_function_call(item):
        return
    before = item_list(preceding)
    name = _required_id(item)
    if any(is_function_call(other) and call_id(other) == name for other in before):
        raise ReconciliationError("duplicate_call", name, item)
