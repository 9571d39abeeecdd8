"""``transcript-log fork``: a new log that begins as a session does."""

from __future__ import annotations

import contextlib

import click

from ..session.forking import Forkable, make_fork
from ..stores import open_store
from .choosing import chosen_entry
from .output import echo, tell
from .parameters import NewFileType
from .source import file_argument, open_session
from .text import one_line

__all__ = ["fork"]


@click.command()
@file_argument
@click.argument("new", metavar="NEW", type=NewFileType())
@click.option("--at", metavar="ENTRY", help="The last entry to take, by its id or how it begins.")
def fork(file: str, new: str, at: str | None) -> None:
    """Make a new log that begins as a session does.

    NEW holds the entries of FILE up to ENTRY, or all of them, and what the sidecar tells of
    them. Entries keep their ids; of a log of this package also the bytes of their lines. The
    header of NEW says where it was forked. FILE is only read, also while an agent writes to
    it; of another agent's session NEW is a log of this package. NEW, which may be the URL of a
    session in a database, is there wholly or not at all, and nothing is ever written over. What
    is damaged is told on stderr; what can be read of it comes along.

    \b
    Example:
        transcript-log fork session.jsonl other-way.jsonl --at 3a31915a41298e53f1f9261a
        transcript-log fork ~/.codex/sessions/2026/01/02/rollout-1.jsonl mine.jsonl
    """
    session = open_session(file)
    tell(session.file_findings)
    source = Forkable(
        path=session.path,
        header=session.header,
        entries=session.entries,
        details=session.details,
        store=open_store(session.path) if session.format == "transcript-log" else None,
    )
    with contextlib.ExitStack() as stack:
        if source.store is not None:
            stack.callback(source.store.close)
        made = make_fork(source, new, None if at is None else chosen_entry(session, at))
        stack.callback(made.close)
        ids = [entry.id for entry in made.read()]
    until = f", up to {ids[-1]}" if ids else ""
    echo(one_line(f"{new}: {len(ids)} {'entry' if len(ids) == 1 else 'entries'} of {file}{until}"), err=True)
    untimed = sum(entry.timestamp is None for entry in session.entries[: len(ids)])
    if untimed:
        echo(f"{untimed} of them had no time that can be read, and got that of the entry before", err=True)
