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
from ..entries import CompactionEntry, Entry, Item, Json, MessageEntry, ToolOutcome
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
    """The calls of the live part of a log that nobody answered, not even a stand-in on record.

    Without those that were cut off, or may have been: none of them may run.
    """
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
        held = [one for one in holders[entry_id] if one.part.id == call_id]
        # Outputs are dealt in order, so the last calls of an id are those without.
        found += [_open_call(one, details) for one in held[-times:] if not one.is_cut]
    return tuple(found)


class _Held(NamedTuple):
    """A call, the entry that holds it, and whether its answer ended before it was whole."""

    part: ToolCallPart
    entry: str
    is_cut: bool


def _holders(entries: Sequence[Entry], wanted: set[str]) -> dict[str, list[_Held]]:
    """The calls that entries hold, by the entry."""
    found: dict[str, list[_Held]] = {entry_id: [] for entry_id in wanted}
    finish: str | None = ""
    for place, entry in enumerate(entries):
        if isinstance(entry, CompactionEntry):
            finish = ""
            if entry.id in wanted:
                held = (part for item in entry.compaction.replacement for part in items.tool_calls(item))
                found[entry.id] += [_said_before(part, entry.id, entries[:place]) for part in held]
        elif isinstance(entry, MessageEntry):
            if entry.response is not None:
                finish = entry.response.finish_reason
            elif not is_from_model(entry.message):
                finish = ""
            if entry.id in wanted:
                found[entry.id] += [
                    _Held(part, entry.id, is_cut_call(entry.message, part, finish))
                    for part in items.tool_calls(entry.message)
                ]
    return found


def _said_before(part: ToolCallPart, compaction: str, earlier: Sequence[Entry]) -> _Held:
    """A call that a compaction took over: the entry that it was said in, whose records are its own."""
    try:
        return _Held(part, find_call(call_of(part, is_cut=False), earlier, None).entry.id, False)
    except EntryError:
        return _Held(part, compaction, False)


def _open_call(held: _Held, details: Mapping[DetailKey, Json]) -> OpenCall:
    name = held.part.id or ""
    payloads = [details.get((name, held.entry)), details.get((name, None))]
    outcome = next(filter(None, map(read_outcome, payloads)), None)
    started = next(filter(None, map(read_started, payloads)), None)
    return OpenCall(
        call=replace(call_of(held.part, is_cut=False), entry=held.entry),
        entry=held.entry,
        has_begun=started is not None or outcome is not None,
        started_at=None if started is None else started.at,
        outcome=outcome,
    )
