"""A log that begins as another does."""

from __future__ import annotations

import os

from ..entries import Clock, Detail, ForkOrigin, IdSource, new_header
from ..errors import EntryNotFoundError
from ..jsonl import JsonlStore
from ._log import SessionLog, refuse_existing

__all__ = ["fork_log"]


def fork_log(
    log: SessionLog, path: str | os.PathLike[str], at: str | None, clock: Clock, id_source: IdSource
) -> JsonlStore:
    """A new log with the entries of a session, up to and with ``at``, and their details.

    Of a log in a file the lines are copied, of another store the entries are written.

    Raises:
        EntryNotFoundError: There is no entry ``at``.
        StorageError: There is a file at ``path`` already.
    """
    entries = log.entries
    end = len(entries)
    if at is not None:
        end = next((n for n, entry in enumerate(entries, 1) if entry.id == at), 0)
        if end == 0:
            raise EntryNotFoundError(at, log.path)
    last = entries[end - 1].id if end else ""
    mine = log.store.header()
    origin = None if mine is None or mine.id is None or not last else ForkOrigin(session=mine.id, entry=last)
    header = new_header(
        cwd=None if mine is None else mine.cwd, forked_from=origin, clock=clock, id_source=id_source
    )
    if isinstance(log.store, JsonlStore) and last:
        return log.store.fork(path, last, header=header)
    fork = JsonlStore(path, header=header)
    refuse_existing(fork)
    ids = {entry.id for entry in entries[:end]}
    details = [
        Detail(id=name, payload=payload, entry=entry)
        for (name, entry), payload in log.details.items()
        if entry is None or entry in ids
    ]
    if last:
        fork.append(*entries[:end], after="", details=details)
    else:
        fork.create()
    return fork
