"""How a store writes: with its lock for one batch, or under a lease; and what became of a batch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

from .._batch import Batch, left_to_write
from ..entries import Entry
from ..errors import ConflictError, IdError, LogBusyError, StorageError
from ._access import UNKNOWN, UNKNOWN_ADVICE, Access
from ._appending import Answer, Appending, stored_entries
from ._connections import Cursor
from ._driver import is_lost, psycopg, storage_error
from ._leases import Lease, busy_error, held_lease, holding, this_process
from ._pages import true_id
from ._rows import columns_of, key_of, lines_of

__all__ = ["Writing"]

_READ: Final = "read the session"
_WRITE: Final = "append"


class Writing:
    """The right to write to one session, and what is done with it.

    Args:
        access: The database.
        session_id: The session.
        locks: Its locks.
        header: The first line of a session that is yet to be made, without its line feed.
        wait: How long a batch waits for another writer, in seconds.
        checksum: Whether batches of one entry are sealed too.
    """

    def __init__(
        self,
        access: Access,
        session_id: str,
        locks: tuple[int, int],
        header: bytes,
        wait: float,
        checksum: bool,
    ) -> None:
        self.header: Final = header
        self._access: Final = access
        self._session: Final = session_id
        self._locks: Final = locks
        self._wait: Final = wait
        self._checksum: Final = checksum
        self._appending: Final = Appending(access, session_id, locks, checksum)
        self._lease: Lease | None = None

    def append(self, batch: Batch, after: str | None) -> str:
        """Add a batch that is not empty; see :meth:`PostgresStore.append`."""
        path = self._access.path
        while True:
            answer = self._tell(batch, after)
            match answer.status:
                case "written":
                    return batch.entries[-1][0].id if batch.entries else self._head(answer)
                case "conflict":
                    raise ConflictError(path, after or "", self._head(answer))
                case "there":
                    left = self._left(batch, answer)
                    if not left and (answer.has_details or not batch.details):
                        return self._head(answer)
                    batch = Batch(left, batch.details)
                    after = after if left else None
                case _:
                    raise self._busy()

    def _head(self, answer: Answer) -> str:
        return true_id(self._access, self._session, answer.head)

    def _left(self, batch: Batch, answer: Answer) -> tuple[tuple[Entry, bytes], ...]:
        known = {entry.id for entry, _ in batch.entries if columns_of(entry).id in answer.there}
        stored = stored_entries(answer.there, known)
        for entry_id in known - stored.keys():
            raise IdError(entry_id, self._access.path)  # what is there is damaged
        return left_to_write(batch, known, lambda ids: {one: stored[one] for one in ids}, self._access.path)

    def _tell(self, batch: Batch, after: str | None) -> Answer:
        def work(cursor: Cursor) -> Answer:
            return self._appending.call(
                cursor, self.header, batch.entries, batch.details, after=after, wait=self._wait
            )

        lease = self._own_lease()
        if lease is not None:
            return self._tell_under(lease, work, batch)

        def alone(cursor: Cursor) -> Answer:
            there = held_lease(cursor.connection, self._locks[0])
            if there is not None:
                raise this_process(self._access.path, there)
            return work(cursor)

        return self._access.tell(_WRITE, alone)

    @contextlib.contextmanager
    def lease(self, wait: float) -> Iterator[None]:
        """Hold the right to write; see :meth:`PostgresStore.lease`."""
        with holding(self._access, self._locks[0], wait) as lease:
            self._lease = self._access.lease = lease
            try:
                yield
            finally:
                self._lease = self._access.lease = None

    def _own_lease(self) -> Lease | None:
        lease = self._lease
        return lease if lease is not None and lease.is_here else None

    def _tell_under(self, lease: Lease, work: Callable[[Cursor], Answer], batch: Batch) -> Answer:
        with lease.alone:
            if lease.is_lost or lease.connection.closed:
                lease.is_lost = True
                raise self._lease_gone()
            try:
                return lease.run(self._access, _WRITE, work)
            except psycopg.Error as error:
                if not is_lost(lease.connection, error):
                    raise storage_error(self._access.path, _WRITE, error) from error
                lease.is_lost = True
                return self._after_loss(lease, batch, error)

    def _after_loss(self, lease: Lease, batch: Batch, error: psycopg.Error) -> Answer:
        """What became of the batch that was under way when the lease was lost.

        Raises:
            ConflictError: It is not there, and nobody has the lease.
            LogBusyError: It is not there, and somebody else has the lease.
            StorageError: Nobody can say.
        """
        unknown = StorageError(self._access.path, _WRITE, UNKNOWN, None, UNKNOWN_ADVICE)
        if not batch.entries:
            raise unknown from error
        nothing: tuple[Answer | None, bool] = (None, False)
        try:
            there, is_over = self._access.ask(_READ, lambda at: self._look_for(at, lease, batch), nothing)
        except StorageError:
            raise unknown from error
        if there is not None:
            return there
        if not is_over:
            raise unknown from error
        raise self._lease_gone() from error

    def _look_for(self, cursor: Cursor, lease: Lease, batch: Batch) -> tuple[Answer | None, bool]:
        """What of a batch is there, and whether the backend that had the lease has ended."""
        cursor.execute(
            "SELECT NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = %s)",
            (lease.backend,),
        )
        row = cursor.fetchone()
        is_over = bool(row and row[0])
        cursor.execute(
            self._access.sql(
                "SELECT e.id, convert_to(e.line, 'UTF8'), s.last_id FROM {schema}.entries e"
                " JOIN {schema}.sessions s ON e.session = s.key WHERE s.id = %s AND e.id = ANY(%s)"
            ),
            (self._session, [key_of(entry.id) for entry, _ in batch.entries]),
            binary=True,
        )
        found = cursor.fetchall()
        if not found:
            return None, is_over
        lines = {line.decode() for line in lines_of([body for _, body in batch.details], self._checksum)}
        cursor.execute(
            self._access.sql(
                "SELECT count(DISTINCT d.line) FROM {schema}.details d"
                " JOIN {schema}.sessions s ON d.session = s.key WHERE s.id = %s AND d.line = ANY(%s)"
            ),
            (self._session, list(lines)),
        )
        row = cursor.fetchone()
        has_details = bool(row and row[0] == len(lines))
        return Answer("there", found[0][2], {one[0]: one[1] for one in found}, has_details), is_over

    def _lease_gone(self) -> ConflictError | LogBusyError:
        """The error for who has lost the lease."""

        def holder(cursor: Cursor) -> LogBusyError | None:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", (self._locks[0],))
            row = cursor.fetchone()
            return None if row and row[0] else busy_error(cursor, self._access.path, self._locks[0])

        busy = None
        with contextlib.suppress(StorageError):
            busy = self._access.ask(_READ, holder, None)
        return busy or ConflictError(self._access.path, "", "", "lease")

    def _busy(self) -> LogBusyError:
        path, key = self._access.path, self._locks[0]
        return self._access.ask(_READ, lambda at: busy_error(at, path, key), LogBusyError(path))
