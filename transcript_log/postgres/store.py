"""The store itself."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Self, TypeVar

from .._batch import Batch, encode_batch, left_to_write
from .._collector import collector_paused
from .._logfile.seal import line_of
from ..codec import encode_header
from ..entries import Detail, Entry, Header, Json, new_header
from ..errors import ConflictError, CorruptLogError, EntryError, IdError, LogBusyError, StorageError
from ..store import DetailKey, RawLog, Scan, Version
from ._access import UNKNOWN, UNKNOWN_ADVICE, Access
from ._appending import Answer, Appending, stored_entries
from ._bulk import EntryRow, RecordRow, entry_rows, put_session, record_rows
from ._connections import Cursor, Where
from ._driver import is_lost, psycopg, storage_error
from ._following import follow_session
from ._leases import Lease, busy_error, held_lease, holding, this_process
from ._pages import (
    Found,
    Pages,
    active_start,
    damage,
    decode,
    found_session,
    header_of,
    not_found,
    offset_of,
    seq_of,
)
from ._rows import check_session_id, columns_of, detail_of, entry_of, key_of, lines_of, lock_keys
from ._scan import scan_session
from ._schema import SCHEMA

__all__ = ["PostgresStore"]

T = TypeVar("T")

_READ: Final = "read the session"
_WRITE: Final = "append"


class PostgresStore:
    """A log in a database, one row per entry, with its details in a table beside it.

    The session, and the tables if need be, are made by the first append. One store may be shared
    by threads, and used after a fork by the child, which connects anew. Many sessions of one
    process are best served by one pool.

    Args:
        where: The database: a connection string or URL, for connections of the store's own; or a
            connection or a pool, which stays the caller's.
        session_id: The session: any text of up to 512 characters without NULs.
        header: The header of a session that this store makes; by default a new one with that id.
        wait: How long an append waits for another writer, in seconds.
        checksum: Whether a batch of one entry is sealed too; longer ones always are.
        schema: The schema of the database in which the tables stand.
        migrate: Whether an older schema, or none, is brought to the newest version when needed.

    Raises:
        SessionIdError: No table can hold such an id.
        NoPostgresError: The extra ``postgres`` is not installed.
    """

    def __init__(
        self,
        where: Where,
        session_id: str,
        *,
        header: Header | None = None,
        wait: float = 5.0,
        checksum: bool = True,
        schema: str = SCHEMA,
        migrate: bool = True,
    ) -> None:
        self.session_id: Final = check_session_id(session_id)
        self.checksum: Final = checksum
        self._access: Final = Access(where, schema, migrate=migrate, session=session_id)
        self.path: Final = self._access.path
        self._header = header
        self._wait: Final = wait
        self._locks: Final = lock_keys(schema, session_id)
        self._appending: Final = Appending(self._access, session_id, self._locks, checksum)
        self._lease: Lease | None = None

    def __repr__(self) -> str:
        return f"PostgresStore({self.path!r})"

    # ------------------------------------------------------------------------- reading

    def header(self) -> Header | None:
        """The header; None for a session that is not there, or has no entry yet.

        Raises:
            HeaderError: It cannot be read.
            StorageError: The database refused, or cannot be reached.
        """
        found = self._found()
        return None if found is None else header_of(found.header, self.path, strict=False)[0]

    def read(self, after: str | None = None) -> Iterator[Entry]:
        """The entries in order, in bounded memory; those that there are when reading begins.

        Raises:
            CorruptLogError: A row was changed by hand.
            EntryNotFoundError: No entry has the id ``after``.
        """
        found = self._found()
        start = 0
        if after:
            key = None if found is None else found.key
            seq = (
                None
                if key is None
                else self._ask(lambda cursor: seq_of(self._access, cursor, key, after), None)
            )
            if seq is None:
                raise not_found(after, self.path)
            start = seq
        if found is not None:
            header_of(found.header, self.path)
            yield from self._entries(found, start, found.last)

    def load(self) -> list[Entry]:
        """All entries, in order. Raises as :meth:`read`."""
        with collector_paused():
            return list(self.read())

    def active(self) -> list[Entry]:
        """What the newest boundary keeps, found by an index; see :meth:`Store.active`.

        What lies before is neither read nor checked.
        """
        found = self._found()
        if found is None:
            return []
        header_of(found.header, self.path)
        start, last = self._ask(lambda cursor: active_start(self._access, cursor, found.key), (1, 0))
        with collector_paused():
            return list(self._entries(found, start - 1, last))

    def _entries(self, found: Found, after: int, until: int) -> Iterator[Entry]:
        expected = after + 1
        for row in Pages(self._access, found).rows(after, until):
            try:
                entry, _ = decode(row, expected, 0, self.path)
            except CorruptLogError as error:
                error.offset = offset_of(self._access, found.key, row.seq)
                error.args = (error.path, error.line, error.offset, *error.args[3:])
                raise
            expected += 1
            yield entry
        if expected <= until:
            reason = f"the last {until - expected + 1} rows are missing"
            raise damage(self.path, expected, offset_of(self._access, found.key, expected), reason)

    def scan(self) -> Scan:
        """All that can be read of the session and its details, and all that is wrong with them.

        Lines are counted, and places given, as they would be in a file.

        Raises:
            HeaderError: The header cannot be read.
            StorageError: The database refused, or cannot be reached.
        """
        return scan_session(self._access, self._found(), self.path)

    def details(self) -> dict[DetailKey, Json]:
        """The payloads of the details, by call id and entry id; of several for one key the last.

        Raises:
            CorruptLogError: A row was changed by hand; :meth:`scan` reads round that.
        """
        found = self._found()
        details: dict[DetailKey, Json] = {}
        if found is None:
            return details
        for row in Pages(self._access, found, "details").rows(0, found.details):
            try:
                record = detail_of(row.text)
            except EntryError as error:
                raise damage(self.path, row.seq - 1, 0, f"of the details: {error.reason}") from error
            if record is not None:
                details[record.id, record.entry] = record.payload
        return details

    def version(self) -> Version:
        """What changes with the session, and with its details: one look at its row."""
        found = self._found()
        return (None, 0, 0) if found is None else (found.key, found.last, found.details)

    def follow(
        self,
        after: str | None = None,
        *,
        poll: float = 1.0,
        stop: Callable[[], bool] = lambda: False,
        on_damage: Callable[[CorruptLogError], None] | None = None,
    ) -> Iterator[tuple[Entry, ...]]:
        """Whole batches: those that are there, then those that come, until ``stop`` says so.

        The database tells of them; if it cannot, as through a connection that was lent, or says
        nothing, it is asked. A lost connection is made anew. No entry is given twice; for that the ids
        of all entries given are held.

        Args:
            after: Give only what follows the entry with this id.
            poll: How often the database is asked if it told nothing, in seconds.
            stop: Asked ten times a second.
            on_damage: Told of damaged rows, which are then passed over; without it they raise.

        Raises:
            CorruptLogError: A row was changed by hand.
            EntryNotFoundError: No entry has the id ``after``.
            StorageError: The database cannot be reached, for a minute.
        """
        return follow_session(
            self._access, self.session_id, self._locks, after, poll=poll, stop=stop, on_damage=on_damage
        )

    # ------------------------------------------------------------------------- writing

    def create(
        self, entries: Sequence[Entry] = (), details: Sequence[Detail] = (), *, exist_ok: bool = False
    ) -> None:
        """Make the session, wholly or not at all. An append makes one by itself.

        Args:
            entries: What it begins with behind its header; each is a batch of its own.
            details: The records of those.
            exist_ok: Whether a session that is there already is left as it is, or is an error.

        Raises:
            EntryError: A value cannot be stored.
            IdError: Two entries share an id.
            StorageError: There is a session already; or the database refused.
        """
        batch = encode_batch(entries, details, self.path)
        made = self._put(
            self._header_line(),
            lambda: (
                (columns_of(entry), True, lines_of([body], self.checksum)[0]) for entry, body in batch.entries
            ),
            lambda: ((one.id, one.entry, lines_of([body], self.checksum)[0]) for one, body in batch.details),
        )
        if not made and not exist_ok:
            reason = "there is one already"
            raise StorageError(self.path, "make the log", reason, errno.EEXIST, "open it instead")

    def put_lines(
        self,
        header: bytes,
        entries: Callable[[], Iterable[tuple[bytes, bool]]],
        details: Callable[[], Iterable[bytes]],
    ) -> bool:
        """Make the session of the lines of a log, as :meth:`raw` gives them; False if it is there.

        It is there wholly or not at all, and was read back.

        Args:
            header: The first line.
            entries: Gives those of the entries; called once more if the connection is lost.
            details: Gives those of the details; the same.

        Raises:
            EntryError: A line is damaged.
            LogBusyError: Another writer has the session.
            StorageError: The database refused.
        """
        return self._put(header, lambda: entry_rows(entries()), lambda: record_rows(details()))

    def raw(self) -> RawLog:
        """The lines as they stand in the rows, damaged or not.

        Raises:
            StorageError: There is no such session; or the database cannot be reached.
        """
        found = self._found()
        if found is None or found.header is None:
            raise StorageError(self.path, _READ, "there is no such session", errno.ENOENT)

        def entries() -> Iterator[tuple[bytes, bool]]:
            rows = Pages(self._access, found).rows(0, found.last)
            return ((row.text, row.batch == row.seq) for row in rows)

        def details() -> Iterator[bytes]:
            return (row.text for row in Pages(self._access, found, "details").rows(0, found.details))

        return RawLog(found.header, entries, details)

    def _put(
        self,
        header: bytes,
        rows: Callable[[], Iterable[EntryRow]],
        records: Callable[[], Iterable[RecordRow]],
    ) -> bool:
        access = self._access
        return put_session(access, self.session_id, self._locks, self._wait, header, rows, records)

    def append(self, *entries: Entry, after: str | None = None, details: Sequence[Detail] = ()) -> str:
        """Add a batch, all of it or nothing; acknowledged on return. See :meth:`Store.append`.

        A repeated entry is found among all entries of the session. If the connection is lost
        while the database has the batch, the error says that it is not known whether it is there;
        the same call again tells.
        """
        batch = encode_batch(entries, details, self.path)
        if not batch.entries and not batch.details:
            return self._check_head(after)
        while True:
            answer = self._tell(batch, after)
            match answer.status:
                case "written":
                    return batch.entries[-1][0].id if batch.entries else self._name_of(answer.head)
                case "conflict":
                    raise ConflictError(self.path, after or "", self._name_of(answer.head))
                case "there":
                    left = self._left(batch, answer)
                    if not left and not batch.details:
                        return self._name_of(answer.head)
                    batch = Batch(left, batch.details)
                    after = after if left else None
                case _:
                    raise self._busy()

    def _left(self, batch: Batch, answer: Answer) -> tuple[tuple[Entry, bytes], ...]:
        known = {entry.id for entry, _ in batch.entries if columns_of(entry).id in answer.there}
        stored = stored_entries(answer.there, known)
        for entry_id in known - stored.keys():
            raise IdError(entry_id, self.path)  # what is there is damaged
        return left_to_write(batch, known, lambda ids: {one: stored[one] for one in ids}, self.path)

    def _tell(self, batch: Batch, after: str | None) -> Answer:
        def work(cursor: Cursor) -> Answer:
            return self._appending.call(
                cursor, self._header_line(), batch.entries, batch.details, after=after, wait=self._wait
            )

        lease = self._own_lease()
        if lease is not None:
            return self._tell_under(lease, work, batch)

        def alone(cursor: Cursor) -> Answer:
            there = held_lease(cursor.connection, self._locks[0])
            if there is not None:
                raise this_process(self.path, there)
            return work(cursor)

        return self._access.tell(_WRITE, alone)

    def _check_head(self, after: str | None) -> str:
        found = self._found()
        head = "" if found is None else self._name_of(found.head)
        if after is not None and head != after:
            raise ConflictError(self.path, after, head)
        return head

    def _name_of(self, head: str) -> str:
        """The id of the last entry, of which the column may hold a digest alone."""
        if not head.startswith("sha256:"):
            return head

        def line(cursor: Cursor) -> bytes:
            cursor.execute(
                self._access.sql(
                    "SELECT convert_to(e.line, 'UTF8') FROM {schema}.entries e JOIN {schema}.sessions s"
                    " ON e.session = s.key WHERE s.id = %s AND e.id = %s"
                ),
                (self.session_id, head),
                binary=True,
            )
            row = cursor.fetchone()
            return b"" if row is None else bytes(row[0])

        try:
            return entry_of(self._ask(line, b""))[0].id
        except EntryError:
            return head

    def _header_line(self) -> bytes:
        header = self._header or new_header(id=self.session_id)
        return line_of(encode_header(header), checksum=self.checksum)[:-1]

    # --------------------------------------------------------------------------- lease

    def lease(self, wait: float | None = None) -> AbstractContextManager[None]:
        """Hold the right to write over many appends. It ends with the connection that it lives on.

        Once that is lost, every append raises until the lease is given up: nothing is written by
        somebody who may have missed what others wrote.

        Args:
            wait: How long to wait for another writer, in seconds; by default the store's own.

        Raises:
            LogBusyError: Another writer has it; or this process holds a lease on the session.
            StorageError: The database cannot be reached.
        """
        return self._leased(self._wait if wait is None else wait)

    @contextlib.contextmanager
    def _leased(self, wait: float) -> Iterator[None]:
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
                    raise storage_error(self.path, _WRITE, error) from error
                lease.is_lost = True
                return self._after_loss(lease, batch, error)

    def _after_loss(self, lease: Lease, batch: Batch, error: psycopg.Error) -> Answer:
        """What became of the batch that was under way when the lease was lost.

        Raises:
            ConflictError: It is not there, and nobody has the lease.
            LogBusyError: It is not there, and somebody else has the lease.
            StorageError: Nobody can say.
        """
        unknown = StorageError(self.path, _WRITE, UNKNOWN, None, UNKNOWN_ADVICE)
        ids = {entry.id for entry, _ in batch.entries}
        if not ids:
            raise unknown from error
        nothing: tuple[dict[str, bytes], bool] = ({}, False)
        try:
            there, is_over = self._ask(lambda cursor: self._look_for(cursor, lease, ids), nothing)
        except StorageError:
            raise unknown from error
        if there:
            return Answer("there", self._check_head(None), there)
        if not is_over:
            raise unknown from error
        raise self._lease_gone() from error

    def _look_for(self, cursor: Cursor, lease: Lease, ids: set[str]) -> tuple[dict[str, bytes], bool]:
        """Those of the entries that are there, and whether the backend that had the lease has ended."""
        cursor.execute(
            "SELECT NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = %s)",
            (lease.backend,),
        )
        row = cursor.fetchone()
        keys = [key_of(one) for one in ids]
        cursor.execute(
            self._access.sql(
                "SELECT e.id, convert_to(e.line, 'UTF8') FROM {schema}.entries e JOIN {schema}.sessions s"
                " ON e.session = s.key WHERE s.id = %s AND e.id = ANY(%s)"
            ),
            (self.session_id, keys),
            binary=True,
        )
        return dict(cursor.fetchall()), bool(row and row[0])

    def _lease_gone(self) -> ConflictError | LogBusyError:
        """The error for who has lost the lease."""

        def holder(cursor: Cursor) -> LogBusyError | None:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", (self._locks[0],))
            row = cursor.fetchone()
            return None if row and row[0] else busy_error(cursor, self.path, self._locks[0])

        busy = None
        with contextlib.suppress(StorageError):
            busy = self._ask(holder, None)
        return busy or ConflictError(self.path, "", "", "lease")

    def _busy(self) -> LogBusyError:
        return self._ask(
            lambda cursor: busy_error(cursor, self.path, self._locks[0]), LogBusyError(self.path)
        )

    # ------------------------------------------------------------------------- the rest

    def _found(self) -> Found | None:
        return self._ask(lambda cursor: found_session(self._access, cursor, self.session_id), None)

    def _ask(self, work: Callable[[Cursor], T], default: T) -> T:
        return self._access.ask(_READ, work, default)

    def close(self) -> None:
        """Close the store's own connections. All that was acknowledged is safe without it."""
        self._access.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()
