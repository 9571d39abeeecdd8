"""Events as they come, for ``replay --follow``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..entries import Entry, Json
from ..errors import CorruptLogError
from ..history import Called, Event, build_history
from ..jsonl import JsonlStore
from ..store import DetailKey
from .output import echo, tell
from .source import Session, open_session
from .text import one_line

__all__ = ["Batch", "added_events", "watch"]

_POLL: Final = 0.2
"""How often a file is looked at, in seconds."""

Batch = tuple[tuple[Entry, ...], Mapping[DetailKey, Json]]
"""Entries that were added, and the payloads beside the log by then."""


def watch(session: Session) -> Iterator[Event]:
    """The events of entries that are added after a session was read, without end."""
    # A compressed log of ours is read whole each time, as a session of another agent is.
    is_ours = session.format == "transcript-log" and not session.packed
    batches = _our_batches(session) if is_ours else _foreign_batches(session)
    return added_events(session.entries, session.details, batches)


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
    for batch, payloads in batches:
        turns = _turns(kept, events)
        fresh = {entry.id for entry in batch}
        known = [*kept, *batch]
        history = build_history(known, payloads)
        # What is kept is not the whole: turns before it are not counted anew.
        before = turn - build_history(kept).turns
        events = [
            replace(event, turn=turns.get(event.entry, event.turn + before)) for event in history.events
        ]
        for event in events:
            if event.entry in fresh or (isinstance(event, Called) and event.output_entry in fresh):
                yield event
        turn = history.turns + before
        kept = _needed(known, events)


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
    store = JsonlStore(session.path)
    seen = {entry.id for entry in session.entries}

    def on_damage(error: CorruptLogError) -> None:
        if error.offset >= session.size:  # what stands before was told when the session was read
            at = f"line {error.line} (byte {error.offset})"
            echo(one_line(f"{session.path}: {at}: error: {error.reason}; {error.advice}"), err=True)

    for batch in store.follow(poll=_POLL, on_damage=on_damage):
        if fresh := tuple(entry for entry in batch if entry.id not in seen):
            yield fresh, _details(store)


def _details(store: JsonlStore) -> Mapping[DetailKey, Json]:
    try:
        return store.details()
    except CorruptLogError:
        return store.scan().details


def _foreign_batches(session: Session) -> Iterator[Batch]:
    seen = {entry.id for entry in session.entries}
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
        if fresh := tuple(entry for entry in again.entries if entry.id not in seen):
            seen.update(entry.id for entry in fresh)
            yield fresh, again.details
