"""A log for an agent that goes on with it: its messages in the words of that agent's API, in order.

What is said is what a context would send had nothing ever been compacted: calls that nobody
answered have a stand-in, what the agent's models cannot read is gone, ids and texts are under
the rules of the API. Everything else of the log keeps its place among that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from .. import items
from ..apis.anthropic import OPENING
from ..context import Context, build_context
from ..entries import CompactionEntry, Entry, Item, Json, MessageEntry, ResponseRecord
from ..errors import ContextError
from ..families import Target
from ..findings import Change
from ..items.shapes import blocks_of, holds_outputs_alone, is_from_model, shape_of
from ..store import DetailKey

__all__ = ["Aside", "Boundary", "Conversation", "Row", "is_history", "likely_model"]

Details: TypeAlias = Mapping[DetailKey, Json]

_APART: Final = "transcript-log/apart"
_MARK: Final[Item] = {"role": "user", "content": _APART}
"""Stands between two answers while they are put into words, so that they stay two."""


@dataclass(slots=True, eq=False)
class Row:
    """One item in the words of the API.

    Attributes:
        item: The item.
        sources: The entries that it was made from, in order; none, if it was made up.
        place: The place of the first of those in the log.
        response: The number of the response that it is of; None for what no model said.
        made: Whether it was made up: a stand-in, or an opening.
    """

    item: Item
    sources: tuple[MessageEntry, ...]
    place: int
    response: int | None = None
    made: bool = False


@dataclass(slots=True, eq=False)
class Aside:
    """Neighbours that are history and no context, in the words of the API."""

    entries: list[MessageEntry]
    rows: list[Row]


@dataclass(slots=True, eq=False)
class Boundary:
    """A compaction.

    Attributes:
        entry: Its entry.
        head: The items that stand for what was compacted.
        standing: All that a model is sent after it, as it was then: those, and what is kept.
    """

    entry: CompactionEntry
    head: list[Item]
    standing: list[Item]


def is_history(entry: MessageEntry) -> bool:
    """Whether a message is history, and no context."""
    item = entry.message
    return entry.interrupted or (item.get("role") == "assistant" and items.is_aborted(item))


def likely_model(entries: Sequence[Entry], api: str) -> str:
    """The model that a log names last among those of an API, else the last one; ``""`` for none."""
    last = ""
    for entry in reversed(entries):
        response = entry.response if isinstance(entry, MessageEntry) else None
        if response is None or response.model is None or not response.model.strip():
            continue
        if isinstance(entry, MessageEntry) and (entry.family or "").startswith(f"{api}/"):
            return response.model
        last = last or response.model
    return last


class Conversation:
    """The entries of a log, in their order, with the messages in the words of an API.

    Attributes:
        changes: What that changed.
        responses: What is known of each response, by its number.
    """

    def __init__(self, entries: Sequence[Entry], target: Target, details: Details, *, apart: bool) -> None:
        """Put a log into words.

        Args:
            entries: All of it.
            target: Where it will be sent.
            details: The sidecar, for the words of stand-ins.
            apart: Whether two answers in a row must not become one message.
        """
        self.changes: list[Change] = []
        self.responses: dict[int, ResponseRecord | None] = {}
        self._entries: Final = entries
        self._target: Final = target
        self._details: Final = details
        self._apart: Final = apart
        self._places: Final = {entry.id: place for place, entry in enumerate(entries)}
        self._numbers: Final = self._number()
        self._rows: Final = self._said()
        self._boundaries: Final = self._bounds()

    def __iter__(self) -> Iterator[Row | Aside | Boundary | Entry]:
        """All of the log: rows, neighbours that are history, compactions, and other entries."""
        least: list[int] = []
        low = len(self._entries)
        for row in reversed(self._rows):
            low = min(low, row.place)
            least.append(low)
        least.reverse()
        others = deque(self._others())
        done = _Done(self._rows)
        for at, row in enumerate(self._rows):
            while others and others[0][0] < least[at] and self._goes_before(others[0][1], row):
                other = others.popleft()[1]
                if isinstance(other, Boundary):
                    yield from self._answered_before(other, done)
                yield other
            if done.take(at):
                yield row
        for _, other in others:
            yield other

    def _goes_before(self, other: Aside | Boundary | Entry, row: Row) -> bool:
        """Whether something of an earlier place stands before a row: an output goes to its call."""
        return not isinstance(other, Boundary) or not _is_output(row.item) or self._is_late(other, row)

    def _is_late(self, boundary: Boundary, row: Row) -> bool:
        """Whether an output came after a compaction, and its call still stands there."""
        late = self._late[boundary.entry.id]
        return any(source.id in late for source in row.sources)

    def _answered_before(self, boundary: Boundary, done: _Done) -> Iterator[Row]:
        """The outputs of calls that a compaction takes away: they go with those, however late they came."""
        for at in done.answers():
            row = self._rows[at]
            if self._is_late(boundary, row) or not done.take(at):
                continue
            for source in row.sources if not row.made else ():
                why = "the output goes to its call, before the compaction"
                change = Change(kind="moved", rule="compacted-call", message=why, entry=source.id)
                self.changes.append(change)
            yield row

    # ----------------------------------------------------------------------- responses

    def _number(self) -> dict[str, int]:
        """Which response each message of a model is of."""
        numbers: dict[str, int] = {}
        number = 0
        first: MessageEntry | None = None
        for entry in self._entries:
            if isinstance(entry, CompactionEntry):
                first = None
            if not isinstance(entry, MessageEntry):
                continue
            if not is_from_model(entry.message) or items.tool_outputs(entry.message):
                first = None
                continue
            if first is None or not _is_of_one_answer(first, entry):
                number += 1
                first = entry
                self.responses[number] = entry.response
            numbers[entry.id] = number
        return numbers

    # ---------------------------------------------------------------------------- rows

    def _said(self) -> list[Row]:
        said = [entry for entry in self._entries if isinstance(entry, MessageEntry) and not is_history(entry)]
        context = self._context(said)
        if context is None:
            for entry in said:
                why = "nothing of it can be said there"
                change = Change(
                    kind="left-out", rule="content", message=why, entry=entry.id, item=entry.message
                )
                self.changes.append(change)
            return []
        self.changes += (change for change in context.changes if change.entry not in self._marks)
        rows = self._rows_of(context)
        if self._apart and rows and is_from_model(rows[0].item) and not items.tool_outputs(rows[0].item):
            # A mark that stood before it is gone.
            rows.insert(0, Row({"role": "user", "content": OPENING}, (), rows[0].place, made=True))
            why = "a first message of the user was put before it"
            first = rows[1].sources[0].id if rows[1].sources else None
            self.changes.append(Change(kind="added", rule="first-user", message=why, entry=first))
        return rows

    def _rows_of(self, context: Context) -> list[Row]:
        rows: list[Row] = []
        for made in context.rows:
            if made.item is _MARK or (made.entries and all(name in self._marks for name in made.entries)):
                continue
            found = [self._entries[self._places[name]] for name in made.entries if name in self._places]
            sources = tuple(entry for entry in found if isinstance(entry, MessageEntry))
            blocks = blocks_of(made.item)
            if self._apart and len(blocks) == len(sources) > 1:
                # It was put together from as many entries: each has its own place.
                is_made = made.why in ("stand-in", "opening")
                for block, source in zip(blocks, sources, strict=True):
                    part = {**made.item, "content": [block]}
                    number = None if items.tool_outputs(part) else self._numbers.get(source.id)
                    rows.append(Row(part, (source,), self._places[source.id], number, is_made))
                continue
            place = self._places[sources[0].id] if sources else (rows[-1].place if rows else 0)
            # What has the role of somebody else, and calls, is an answer of its own.
            number = self._numbers.get(sources[0].id, -1 - place) if sources else None
            is_answer = is_from_model(made.item) and not items.tool_outputs(made.item)
            rows.append(
                Row(
                    made.item,
                    sources,
                    place,
                    number if is_answer else None,
                    made.why in ("stand-in", "opening"),
                )
            )
        return rows

    def _context(self, said: Sequence[Entry]) -> Context | None:
        """What is sent of some entries; None if that is nothing."""
        self._marks: set[str] = set()
        given: list[Entry] = []
        last: int | None = None
        for entry in said:
            number = self._numbers.get(entry.id)
            if self._apart and last is not None and number is not None and number != last:
                mark = f"{_APART} {len(given)}"
                self._marks.add(mark)
                given.append(MessageEntry(id=mark, timestamp=None, message=_MARK))
            last = number
            given.append(entry)
        try:
            return build_context(given, self._target, details=self._details)
        except ContextError as error:
            if any(finding.rule != "empty-input" for finding in error.findings):
                raise
            return None

    # -------------------------------------------------------------------------- asides

    def _others(self) -> Iterator[tuple[int, Aside | Boundary | Entry]]:
        """What is no row, each with its place."""
        aside: list[MessageEntry] = []
        for place, entry in enumerate(self._entries):
            if isinstance(entry, MessageEntry) and is_history(entry):
                aside.append(entry)
                continue
            if aside:
                yield place - 1, Aside(aside, self._aside_rows(aside))
                aside = []
            if isinstance(entry, CompactionEntry):
                if (found := self._boundaries.get(entry.id)) is not None:
                    yield place, found
            elif not isinstance(entry, MessageEntry):
                yield place, entry
        if aside:
            yield len(self._entries) - 1, Aside(aside, self._aside_rows(aside))

    def _aside_rows(self, entries: Sequence[MessageEntry]) -> list[Row]:
        """What neighbours that are no context say. Nobody is sent it: nothing is told of its words."""
        live = [replace(entry, interrupted=False, message=_whole(entry.message)) for entry in entries]
        context = self._context(live)
        if context is None:
            return []
        return [row for row in self._rows_of(context) if not row.made]

    # ---------------------------------------------------------------------- boundaries

    def _bounds(self) -> dict[str, Boundary]:
        """The compactions that can be told, by their entries."""
        self._late: dict[str, frozenset[str]] = {}
        found = {}
        for place, entry in enumerate(self._entries):
            if not isinstance(entry, CompactionEntry):
                continue
            boundary = self._bound(place, entry)
            if boundary is None:
                why = "nothing of the compaction can be sent there, so what it took away stays"
                self.changes.append(
                    Change(kind="left-out", rule="empty-boundary", message=why, entry=entry.id)
                )
            else:
                found[entry.id] = boundary
        return found

    def _around(self, place: int, entry: CompactionEntry) -> list[Entry]:
        """What decides on what stands after a compaction: what it keeps, and late outputs of that."""
        start = self._places.get(entry.compaction.first_kept_entry_id or "", place)
        before = self._entries[min(start, place) : place]
        said: list[Entry] = [one for one in before if isinstance(one, MessageEntry) and not is_history(one)]
        said.append(entry)
        left = _open_calls(said)
        for one in self._entries[place + 1 :] if left else ():
            if not isinstance(one, MessageEntry) or is_history(one):
                continue
            calls, outputs = items.calls_and_outputs(one.message)
            if any(output.id in left for output in outputs):
                said.append(one)
                left.difference_update(output.id or "" for output in outputs)
            left.difference_update(call.id or "" for call in calls)
            if not left:
                break
        return said

    def _bound(self, place: int, entry: CompactionEntry) -> Boundary | None:
        said = self._around(place, entry)
        context = self._context(said)
        if context is None:
            return None
        head: list[Item] = []
        standing: list[Item] = []
        late: set[str] = set()
        for row in context.rows:
            is_head = entry.id in row.entries and row.why != "stand-in"
            places = [self._places[name] for name in row.entries if name in self._places]
            if row.item is _MARK or not places:
                continue
            if min(places) > place:
                late.update(row.entries)
                continue
            if is_head:
                head.append(row.item)
            standing.append(row.item)
        if not head:
            return None
        self._late[entry.id] = frozenset(late)
        told = {"first-kept", "private", "thought", "part-type", "hosted"}
        self.changes += (
            change for change in context.changes if change.entry == entry.id and change.rule in told
        )
        return Boundary(entry, head, standing)


class _Done:
    """Which rows were given already, and which calls of theirs wait for an output."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: Final = rows
        self._taken: Final[set[int]] = set()
        self._called: Final[set[str | None]] = set()
        self._open: Final[dict[str | None, None]] = {}
        self._outputs: Final[dict[str | None, list[int]]] = {}  # the rows of outputs, by call id
        for at, row in enumerate(rows):
            for output in items.tool_outputs(row.item) if _is_output(row.item) else ():
                self._outputs.setdefault(output.id, []).append(at)

    def take(self, at: int) -> bool:
        """Give a row; False if it was given already."""
        if at in self._taken:
            return False
        self._taken.add(at)
        calls, outputs = items.calls_and_outputs(self._rows[at].item)
        for output in outputs:
            self._open.pop(output.id, None)
        for call in calls:
            self._called.add(call.id)
            self._open[call.id] = None
        return True

    def answers(self) -> list[int]:
        """The rows of outputs of calls that were given, as far as they give nothing else."""
        found = sorted({at for call in self._open for at in self._outputs.get(call, ())} - self._taken)
        outputs = {at: items.tool_outputs(self._rows[at].item) for at in found}
        return [at for at in found if all(output.id in self._called for output in outputs[at])]


def _open_calls(said: Sequence[Entry]) -> set[str]:
    """The calls of some entries that none of them answers."""
    asked: set[str] = set()
    answered: set[str] = set()
    for entry in said:
        given = entry.compaction.replacement if isinstance(entry, CompactionEntry) else ()
        for item in (entry.message,) if isinstance(entry, MessageEntry) else given:
            calls, outputs = items.calls_and_outputs(item)
            asked.update(call.id for call in calls if call.id is not None)
            answered.update(output.id for output in outputs if output.id is not None)
    return asked - answered


def _is_output(item: Item) -> bool:
    """Whether an item gives outputs, and says nothing else."""
    return bool(items.tool_outputs(item)) and (item.get("role") != "user" or holds_outputs_alone(item))


def _whole(item: Item) -> Item:
    """An item without the mark that it was broken off."""
    if item.get("role") != "assistant" or not items.is_aborted(item):
        return item
    return {key: value for key, value in item.items() if key != "stopReason"}


def _is_of_one_answer(first: MessageEntry, entry: MessageEntry) -> bool:
    """Whether an item goes on with the answer that began with another."""
    if is_history(first) != is_history(entry) or first.family != entry.family:
        return False
    shape = shape_of(entry.message)
    if shape != shape_of(first.message):
        return False
    record, again = first.response, entry.response
    if again is not None:
        return bool(again.id) and record is not None and record.id == again.id
    if shape == "anthropic":
        name = items.message_id(entry.message)
        return name is not None and name == items.message_id(first.message)
    return shape == "responses"
