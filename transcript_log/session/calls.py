"""Tool calls of a session: which wait for an answer, and how one is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from .. import items
from ..codec import read_outcome, read_started
from ..context import build_context
from ..entries import Entry, Item, Json, MessageEntry, ToolOutcome
from ..errors import EntryError
from ..items import ToolCallPart
from ..items.shapes import answer_item, is_from_model, shape_of
from ..response import ToolCall
from ..response.calls import call_of, is_cut_call
from ..store import DetailKey

__all__ = [
    "CallRecorder",
    "OpenCall",
    "Place",
    "answer",
    "find_call",
    "has_started",
    "newer_holder",
    "open_calls",
]


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that nobody has answered, and what is known of how it went.

    Attributes:
        call: The call, to be run or answered.
        entry: The entry that holds it.
        has_begun: Its start is on record.
        started_at: When it began; None if that is not known, as once its end is on record.
        outcome: How it ended; None if that is not on record.
    """

    call: ToolCall
    entry: str
    has_begun: bool = False
    started_at: datetime | None = None
    outcome: ToolOutcome | None = None

    __hash__ = None  # type: ignore[assignment]  # arguments are dicts

    @property
    def state(self) -> Literal["never-began", "began", "finished"]:
        """What to do with it: run it; check what it did; or record its output.

        That a call never began is only so where all tools run inside ``Session.call``, which
        puts the start on record before the tool runs.
        """
        if self.outcome is not None:
            return "finished"
        return "began" if self.has_begun else "never-began"


class CallRecorder:
    """Takes what a tool gives back, to be recorded when its call ends."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.content: Any = ""
        self.is_error = False
        self.outcome: ToolOutcome | None = None

    def output(self, content: Any, *, is_error: bool = False, outcome: ToolOutcome | None = None) -> None:
        """Say what the tool gave back; said again, the last counts."""
        self.content, self.is_error, self.outcome = content, is_error, outcome


class Place(NamedTuple):
    """Where a call stands: its entry, and the part of the item that it is."""

    entry: MessageEntry
    part: ToolCallPart


def find_call(call: ToolCall, entries: Sequence[Entry], entry: Entry | None) -> Place:
    """Where a call stands: in the entry that it names, or else the newest of its id.

    Args:
        call: The call.
        entries: The whole log.
        entry: The entry that the call names; None if it names none.

    Raises:
        EntryError: There is none.
    """
    for holder in reversed(entries) if entry is None else (entry,):
        if isinstance(holder, MessageEntry) and not holder.interrupted:
            for part in items.tool_calls(holder.message):
                if part.id == call.id and call.id:
                    return Place(holder, part)
    where = "no entry" if entry is None else f"the entry {entry.id!r} does not"
    raise EntryError("$.call", f"{where} hold{'s' if entry is None else ''} a call with the id {call.id!r}")


def newer_holder(place: Place, entries: Sequence[Entry]) -> str | None:
    """The entry of a later answer that holds a call of the same id; None if there is none.

    What is added now would answer that one.
    """
    newer: str | None = None
    later: str | None = None
    for entry in reversed(entries):
        if entry.id == place.entry.id:
            return later
        if not isinstance(entry, MessageEntry) or entry.interrupted:
            continue
        if newer is None:
            holds = any(part.id == place.part.id for part in items.tool_calls(entry.message))
            newer = entry.id if holds else None
        elif not is_from_model(entry.message):
            later = newer
    return None


def answer(place: Place, content: Any, *, is_error: bool, outcome: ToolOutcome | None) -> Item:
    """The item that answers a call.

    Raises:
        EntryError: The content is neither text, nor blocks, nor an object.
    """
    if type(content) not in (str, list, dict):
        reason = f"the output of a tool is text, a list of blocks or an object, not {type(content).__name__}"
        raise EntryError("$.content", reason)
    code = None if outcome is None else outcome.exit_code
    return answer_item(place.part, content, shape_of(place.entry.message), is_error=is_error, exit_code=code)


def has_started(call_id: str, entry_id: str, details: Mapping[DetailKey, Json]) -> bool:
    """Whether the start of a call is the last that is on record of it."""
    return read_started(details.get((call_id, entry_id))) is not None


def open_calls(entries: Sequence[Entry], details: Mapping[DetailKey, Json]) -> tuple[OpenCall, ...]:
    """The calls of the live part of a log that nobody answered, not even a stand-in on record."""
    context = build_context(entries, details=details)
    count: Counter[tuple[str, str]] = Counter()
    for change in context.changes:
        if change.rule == "unanswered-call" and change.entry is not None and change.call:
            count[change.entry, change.call] += 1
    if not count:
        return ()
    holders = _holders(entries, {entry_id for entry_id, _ in count})
    found = []
    for (entry_id, call_id), times in count.items():
        entry, finish = holders[entry_id]
        parts = [part for part in items.tool_calls(entry.message) if part.id == call_id]
        # Outputs are dealt in order, so the last calls of an id are those without.
        found += [_open_call(Place(entry, part), details, finish) for part in parts[-times:]]
    return tuple(found)


def _holders(entries: Sequence[Entry], wanted: set[str]) -> dict[str, tuple[MessageEntry, str | None]]:
    """The entries that hold calls, and why the answer of each ended; ``""`` where none is on record."""
    found: dict[str, tuple[MessageEntry, str | None]] = {}
    finish: str | None = ""
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        if entry.response is not None:
            finish = entry.response.finish_reason
        elif not is_from_model(entry.message):
            finish = ""
        if entry.id in wanted:
            found[entry.id] = (entry, finish)
    return found


def _open_call(place: Place, details: Mapping[DetailKey, Json], finish: str | None) -> OpenCall:
    name = place.part.id or ""
    payloads = [details.get((name, place.entry.id)), details.get((name, None))]
    outcome = next(filter(None, map(read_outcome, payloads)), None)
    started = next(filter(None, map(read_started, payloads)), None)
    is_cut = is_cut_call(place.entry.message, place.part, finish)
    return OpenCall(
        call=replace(call_of(place.part, is_cut=is_cut), entry=place.entry.id),
        entry=place.entry.id,
        has_begun=started is not None or outcome is not None,
        started_at=None if started is None else started.at,
        outcome=outcome,
    )
