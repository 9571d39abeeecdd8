"""Events as they come, for ``replay --follow``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace

import click

from ..entries import Entry
from ..errors import CorruptLogError
from ..history import Called, Event, build_history
from ..jsonl import JsonlStore
from .source import Session, open_session
from .text import plain

__all__ = ["watch"]

_POLL = 0.2


def watch(session: Session) -> Iterator[Event]:
    """The events of entries that are added after a session was read, until Ctrl-C.

    A call that was shown unanswered is given once more when its output comes.
    """
    open_calls: dict[str, Entry] = {}
    by_id = {entry.id: entry for entry in session.entries}
    turn = 0
    for event in (events := build_history(session.entries, session.details)).events:
        if isinstance(event, Called) and not event.answered:
            open_calls[event.entry] = by_id[event.entry]
    turn = events.turns
    del by_id
    try:
        for batch in _batches(session):
            fresh = {entry.id for entry in batch}
            history = build_history([*open_calls.values(), *batch], _details(session))
            base = turn - build_history(open_calls.values()).turns
            for event in history.events:
                if isinstance(event, Called) and not event.answered:
                    open_calls.update((entry.id, entry) for entry in batch if entry.id == event.entry)
                if event.entry in fresh or (isinstance(event, Called) and event.output_entry in fresh):
                    yield replace(event, turn=event.turn + base)
                    if isinstance(event, Called) and event.answered:
                        open_calls.pop(event.entry, None)
            turn = base + history.turns
    except KeyboardInterrupt:
        return


def _details(session: Session) -> dict[tuple[str, str | None], object]:
    if session.format != "transcript-log":
        return dict(session.details)
    try:
        return JsonlStore(session.path).details()
    except CorruptLogError:
        return dict(JsonlStore(session.path).scan().details)


def _batches(session: Session) -> Iterator[tuple[Entry, ...]]:
    if session.format == "transcript-log":
        seen = {entry.id for entry in session.entries}
        for batch in JsonlStore(session.path).follow(poll=_POLL, on_damage=_tell):
            if fresh := tuple(entry for entry in batch if entry.id not in seen):
                yield fresh
        return
    count = len(session.entries)
    size = session.size
    while True:
        time.sleep(_POLL)
        if os.stat(session.path).st_size != size:
            again = open_session(session.path)
            size = again.size
            if fresh := again.entries[count:]:
                yield fresh
            count = len(again.entries)


def _tell(error: CorruptLogError) -> None:
    click.echo(plain(f"damaged: {error}"), err=True)
