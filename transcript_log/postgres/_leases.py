"""The right to write over many batches: an advisory lock that lives as long as its connection."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from datetime import UTC, datetime
from typing import Final, TypeVar

from .._times import format_time
from ..errors import LogBusyError
from ._access import Access
from ._connections import Connection, Cursor, cursor_of, identity_of
from ._driver import is_lost, psycopg, storage_error

__all__ = ["Lease", "busy_error", "held_lease", "holding", "this_process"]

T = TypeVar("T")

_POLL: Final = 0.02
"""How often a lock that somebody has is tried again, in seconds."""

_OURS: Final = re.compile(r"transcript-log (\d+)@(.+)")

_held: Final[dict[tuple[Hashable, int], Lease]] = {}
"""The leases of this process. To the server, all who share a connection are one."""

_registry: Final = threading.Lock()

_HOLDER: Final = b"""
SELECT a.pid, a.application_name, coalesce(host(a.client_addr), 'the server''s own host'),
    coalesce(a.xact_start, a.backend_start)
FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.classid::bigint = ((%s::bigint >> 32) & 4294967295) AND l.objid::bigint = (%s::bigint & 4294967295)
"""


class Lease:
    """A lease that is held, and the connection that it lives on.

    Attributes:
        connection: The connection.
        key: The lock.
        since: When it was taken (RFC 3339).
        backend: The server's process for the connection.
        is_lost: Whether the connection was lost, and the lease with it.
        is_lent: Whether the connection is one that was lent, which others may use in between.
        alone: Keeps the threads of the store from using the connection at once.
    """

    def __init__(self, connection: Connection, key: int, *, is_lent: bool) -> None:
        self.connection = connection
        self.key: Final = key
        self.is_lent: Final = is_lent
        self.since: Final = format_time(datetime.now(UTC))
        self.backend: Final = connection.info.backend_pid
        self.is_lost = False
        self.alone = threading.RLock()
        self.pid: Final = os.getpid()

    @property
    def may_be_used(self) -> bool:
        """Whether its connection is there for its store alone, in this process."""
        return not self.is_lent and not self.is_lost and self.is_here

    @property
    def is_here(self) -> bool:
        """Whether this process took it: a child that was forked off has not."""
        return self.pid == os.getpid()

    def run(self, access: Access, doing: str, work: Callable[[Cursor], T]) -> T:
        """Do something that writes on its connection. Raises the driver's errors as they are."""
        if self.is_lent:
            access.connections.take(doing, writing=True)
        try:
            cursor = cursor_of(self.connection)
            access.is_ready(self.connection, cursor, writing=True)
            return work(cursor)
        finally:
            if self.is_lent:
                access.connections.give(self.connection)


def held_lease(connection: Connection, key: int) -> Lease | None:
    """The lease that this process has on a session of the database of a connection."""
    found = _held.get((identity_of(connection), key))
    return found if found is not None and found.is_here and not found.is_lost else None


def this_process(path: str, lease: Lease) -> LogBusyError:
    """The error for who meets a lease of this very process."""
    return LogBusyError(path, lease.pid, os.uname().nodename, lease.since, "this process")


def busy_error(cursor: Cursor, path: str, key: int) -> LogBusyError:
    """The error that names who has a session's lock, as far as the server tells."""
    with contextlib.suppress(psycopg.Error):
        cursor.execute(_HOLDER, (key, key))
        row = cursor.fetchone()
        if row is not None and row[0] is not None:
            backend, name, address, since = row
            ours = _OURS.fullmatch(name or "")
            when = None if since is None else format_time(since.astimezone(UTC))
            if ours is not None:
                return LogBusyError(path, int(ours[1]), ours[2], when)
            return LogBusyError(path, backend, f"the server, for {name or 'a client'!s} at {address}", when)
    return LogBusyError(path)


@contextlib.contextmanager
def holding(access: Access, key: int, wait: float) -> Iterator[Lease]:
    """Hold the lock of a session on a connection that is not used for anything else.

    Raises:
        LogBusyError: Somebody has it for longer than ``wait`` seconds; or this process has.
        StorageError: The database cannot be reached.
    """
    doing = "take the lease"
    source = access.connections
    held = source.hold(doing)
    lent = None if held is not None else source.take(doing, writing=True)
    connection = held if held is not None else lent
    assert connection is not None
    lost = False
    try:
        name = (identity_of(connection), key)
        lease = Lease(connection, key, is_lent=held is None)
        with _registry:
            there = held_lease(connection, key)
            if there is not None:
                raise this_process(access.path, there)
            _held[name] = lease
        try:
            _lock(access, cursor_of(connection), key, wait)
        except BaseException:
            _forget(name, lease)
            raise
    except BaseException as error:
        if isinstance(error, psycopg.Error):
            lost = is_lost(connection, error)
        elif not isinstance(error, LogBusyError):
            # An interrupt may have come between the lock and its answer.
            lost = True
            if held is None:
                with contextlib.suppress(psycopg.Error):
                    cursor_of(connection).execute("SELECT pg_advisory_unlock(%s)", (key,))
        if held is not None:
            source.let_go(held, lost=lost)
        if isinstance(error, psycopg.Error):
            raise storage_error(access.path, doing, error) from error
        raise
    finally:
        if lent is not None:
            source.give(lent)
    try:
        yield lease
    finally:
        _forget(name, lease)
        if lease.is_here:
            _unlock(access, lease, held)


def _lock(access: Access, cursor: Cursor, key: int, wait: float) -> None:
    until = time.monotonic() + wait
    while True:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", (key,))
        row = cursor.fetchone()
        if row is not None and row[0]:
            return
        if time.monotonic() >= until:
            raise busy_error(cursor, access.path, key)
        time.sleep(min(_POLL, max(0.0, until - time.monotonic())))


def _unlock(access: Access, lease: Lease, held: Connection | None) -> None:
    """Let go. All is acknowledged already, so this never fails: with its connection the lock goes too."""
    lost = lease.is_lost or lease.connection.closed
    with lease.alone:
        if not lost:
            try:
                if held is None:
                    access.connections.take("end the lease")
                try:
                    cursor_of(lease.connection).execute("SELECT pg_advisory_unlock(%s)", (lease.key,))
                finally:
                    if held is None:
                        access.connections.give(lease.connection)
            except Exception:  # noqa: BLE001 - whatever it is, the connection is not trusted any more
                lost = True
        if held is not None:
            access.connections.let_go(held, lost=lost)


def _forget(name: tuple[Hashable, int], lease: Lease) -> None:
    with _registry:
        if _held.get(name) is lease:
            del _held[name]
