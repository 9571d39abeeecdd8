"""Events as they come, for ``replay --follow``."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..entries import Entry, Json
from ..errors import CorruptLogError
from ..history import Called, Event, Ran, Responded, build_history
from ..jsonl import JsonlStore
from ..stats import NOTHING, Ledger
from ..store import DetailKey
from ..stores import LogStore, open_store
from .output import echo, tell
from .source import Session, open_session
from .text import one_line

__all__ = ["Batch", "Shown", "added_events", "watch"]

_POLL: Final = 0.2
"""How often a file is looked at, in seconds."""

Batch = tuple[tuple[Entry, ...], Mapping[DetailKey, Json]]
"""Entries that were added, and the payloads beside the log by then."""


def watch(session: Session) -> Iterator[Event]:
    """The events of entries that are added after a session was read, without end.

    A call that was given unanswered is given once more when its output comes, and a response
    of which more is told later once more with that.
    """
    # A compressed log of ours is read whole each time, as a session of another agent is.
    if session.format == "transcript-log" and not session.packed:
        return added_events(session.entries, session.details, _our_batches(session))
    return _foreign_events(session)


def added_events(
    entries: Sequence[Entry], details: Mapping[DetailKey, Json], batches: Iterable[Batch]
) -> Iterator[Event]:
    """The events that batches add to a session, as they come.

    A call that was given unanswered is given once more when its output comes.

    Args:
        entries: What was there before.
        details: The payloads beside that.
        batches: What is added, each batch with all payloads there are by then.
    """
    history = build_history(entries, details)
    events: Sequence[Event] = history.events
    turn = history.turns
    kept = _needed(entries, events)
    ledger = Ledger()
    for entry in entries:
        ledger.add(entry)
    for batch, payloads in batches:
        turns = _turns(kept, events)
        fresh = {entry.id for entry in batch}
        for entry in batch:
            ledger.add(entry)
        known = [*kept, *batch]
        history = build_history(known, payloads)
        # What is kept is not the whole: turns before it are not counted anew.
        before = turn - build_history(kept).turns
        events = [
            replace(event, turn=turns.get(event.entry, event.turn + before)) for event in history.events
        ]
        for event in events:
            if event.entry in fresh:
                yield from _as_of_all(event, ledger)
            elif isinstance(event, Called) and event.output_entry in fresh:
                yield event
        turn = history.turns + before
        kept = _needed(known, events)


def _as_of_all(event: Event, ledger: Ledger) -> Iterator[Event]:
    """An event of a part of the log as the whole log has it."""
    match event:
        case Responded() if ledger.at(event.entry) is None:
            return  # told before: this is but one more piece of it
        case Ran():
            yield replace(event, usage=ledger.by_run().get(event.entry, NOTHING))
        case _:
            yield event


def _turns(entries: Sequence[Entry], events: Iterable[Event]) -> dict[str, int]:
    """The turns that events of these entries belong to."""
    ids = {entry.id for entry in entries}
    return {event.entry: event.turn for event in events if event.entry in ids}


def _needed(entries: Sequence[Entry], events: Iterable[Event]) -> list[Entry]:
    """The entries with an open call, and those that answer the other calls of such an entry."""
    calls = [event for event in events if isinstance(event, Called)]
    needed = {call.entry for call in calls if not call.answered}
    needed |= {call.output_entry for call in calls if call.entry in needed and call.output_entry}
    return [entry for entry in entries if entry.id in needed]


def _our_batches(session: Session) -> Iterator[Batch]:
    store = open_store(session.path)
    seen = {entry.id for entry in session.entries}

    def on_damage(error: CorruptLogError) -> None:
        if error.offset >= session.size:  # what stands before was told when the session was read
            at = f"line {error.line} (byte {error.offset})"
            echo(one_line(f"{session.path}: {at}: error: {error.reason}; {error.advice}"), err=True)

    with contextlib.closing(store):
        for batch in store.follow(poll=_POLL if isinstance(store, JsonlStore) else 1.0, on_damage=on_damage):
            if fresh := tuple(entry for entry in batch if entry.id not in seen):
                yield fresh, _details(store)


def _details(store: LogStore) -> Mapping[DetailKey, Json]:
    try:
        return store.details()
    except CorruptLogError:
        return store.scan().details


def _foreign_events(session: Session) -> Iterator[Event]:
    shown = Shown()
    for _ in shown.more(build_history(session.entries, session.details).events):
        pass
    for again in _read_again(session):
        yield from shown.more(build_history(again.entries, again.details).events)


class Shown:
    """What was shown of a session that is read whole each time."""

    def __init__(self) -> None:
        self._known: dict[Hashable, object] = {}

    def more(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events that were not shown yet, or of which more is known now."""
        times: Counter[Hashable] = Counter()
        for event in events:
            kind = (type(event), event.entry, getattr(event, "call_id", None))
            times[kind] += 1
            key = (kind, times[kind])
            told: object = None
            match event:
                case Called():
                    told = event.output_entry
                case Responded():
                    told = (event.model, event.usage)
            if key not in self._known or self._known[key] != told:
                yield event
            self._known[key] = told


def _read_again(session: Session) -> Iterator[Session]:
    """The session as it is whenever its file has changed."""
    told = {(finding.rule, finding.line) for finding in session.file_findings}
    size, took = session.size, 0.0
    while True:
        time.sleep(max(_POLL, took))
        try:
            now = os.stat(session.path).st_size
        except OSError:
            continue  # it was moved away; it may come back
        if now == size:
            continue
        began = time.monotonic()
        again = open_session(session.path)
        took = time.monotonic() - began
        size = again.size
        found = {(finding.rule, finding.line): finding for finding in again.file_findings}
        # The last line may still be under way: it is judged once another follows.
        tell(finding for key, finding in found.items() if key not in told and finding.rule != "torn-tail")
        told.update(key for key, finding in found.items() if finding.rule != "torn-tail")
        yield again
