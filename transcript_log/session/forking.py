"""A log that begins as another does."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from .. import items
from ..codec import read_started
from ..copying import as_file, put_file
from ..entries import (
    Clock,
    Detail,
    Entry,
    ForkOrigin,
    Header,
    IdSource,
    Json,
    MessageEntry,
    new_header,
    new_id,
    utc_now,
)
from ..errors import EntryNotFoundError
from ..jsonl import JsonlStore
from ..store import DetailKey
from ..stores import LogStore, is_log_store, open_store
from ._log import SessionLog, closed_on_error, refuse_existing

__all__ = ["Forkable", "fork_log", "make_fork"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forkable:
    """A session that a log may begin as, whoever wrote it.

    Attributes:
        path: What it is called, for errors.
        header: Its header; None if it has none.
        entries: All its entries.
        details: The payloads beside them.
        store: Its store, if that is a log of ours in a file or a database.
    """

    path: str
    header: Header | None
    entries: Sequence[Entry]
    details: Mapping[DetailKey, Json]
    store: LogStore | None = None

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


def fork_log(
    log: SessionLog, path: str | os.PathLike[str], at: str | None, clock: Clock, id_source: IdSource
) -> LogStore:
    """A new log with the entries of an open session; see :func:`make_fork`."""
    source = Forkable(
        path=log.path,
        header=log.store.header(),
        entries=log.entries,
        details=log.details,
        store=log.store if is_log_store(log.store) else None,
    )
    return make_fork(source, path, at, clock=clock, id_source=id_source)


def make_fork(
    source: Forkable,
    path: str | os.PathLike[str],
    at: str | None = None,
    *,
    clock: Clock = utc_now,
    id_source: IdSource = new_id,
) -> LogStore:
    """A new log with the entries of a session, up to and with ``at``, and their details.

    It is there wholly or not at all. How calls ended that were answered after ``at`` stays behind:
    there they have begun, if that is on record, and wait. Of a log of ours the lines are
    copied, which takes no lock there; of anything else the entries are written, and one without a
    time, as other agents have them, gets that of the entry before.

    Args:
        source: The session.
        path: The new log, or the URL of a session in a database.
        at: The id of the last entry to take; by default the last there is.
        clock: Where the time of the new header comes from.
        id_source: Where its id comes from.

    Raises:
        EntryNotFoundError: There is no entry ``at``.
        StorageError: There is a file at ``path`` already; or the system refused.
    """
    entries = source.entries
    end = len(entries)
    if at is not None:
        end = next((n for n, entry in enumerate(entries, 1) if entry.id == at), 0)
        if end == 0:
            raise EntryNotFoundError(at, source.path)
    last = entries[end - 1].id if end else ""
    mine = source.header
    origin = None if mine is None or mine.id is None or not last else ForkOrigin(session=mine.id, entry=last)
    header = new_header(
        cwd=None if mine is None else mine.cwd, forked_from=origin, clock=clock, id_source=id_source
    )
    fork = open_store(path, header=header)
    with closed_on_error(fork):
        return _filled(fork, path, source, end, last, header)


def _filled(
    fork: LogStore, path: str | os.PathLike[str], source: Forkable, end: int, last: str, header: Header
) -> LogStore:
    """The fork, made, with the first entries of the session, the last of which is named."""
    refuse_existing(fork)
    entries = source.entries
    later = _ended_later(entries[:end], entries[end:])
    if source.store is not None and last:
        with as_file(source.store) as file:
            if isinstance(fork, JsonlStore):
                return file.fork(path, last, header=header, later=later)
            with tempfile.TemporaryDirectory(prefix="transcript-log-") as folder:
                header = replace(header, id=fork.session_id)
                draft = file.fork(os.path.join(folder, "log.jsonl"), last, header=header, later=later)
                put_file(draft, fork)
                return fork
    ids = {entry.id for entry in entries[:end]}
    details = [
        Detail(id=name, payload=payload, entry=entry)
        for (name, entry), payload in source.details.items()
        if last and (entry is None or entry in ids)
        if (name, entry) not in later or read_started(payload) is not None
    ]
    fork.create(_timed(entries[:end], source.header), details)
    return fork


def _ended_later(kept: Sequence[Entry], rest: Sequence[Entry]) -> set[DetailKey]:
    """The calls that wait for an output in the first entries, and have it in the others."""
    waiting: dict[str | None, deque[str]] = {}
    for entry in kept:
        if isinstance(entry, MessageEntry):
            for call in items.tool_calls(entry.message):
                waiting.setdefault(call.id, deque()).append(entry.id)
            for output in items.tool_outputs(entry.message):
                if waiting.get(output.id):
                    waiting[output.id].popleft()
    if not any(waiting.values()):
        return set()
    answered = {
        output.id
        for entry in rest
        if isinstance(entry, MessageEntry)
        for output in items.tool_outputs(entry.message)
    }
    return {(name, entry) for name in answered if name for entry in waiting.get(name, ())}


def _timed(entries: Sequence[Entry], header: Header | None) -> list[Entry]:
    """The entries, each with a time."""
    moment = (header and header.timestamp) or datetime.fromtimestamp(0, UTC)
    found = []
    for entry in entries:
        moment = entry.timestamp or moment
        found.append(entry if entry.timestamp is not None else replace(entry, timestamp=moment))
    return found
