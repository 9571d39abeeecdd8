"""The store itself."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Self, TypeVar

from .._batch import encode_batch
from .._collector import collector_paused
from .._logfile.seal import line_of
from ..codec import encode_header
from ..entries import Detail, Entry, Header, Json, new_header
from ..errors import ConflictError, CorruptLogError, EntryError, StorageError
from ..store import DetailKey, RawLog, Scan, Version
from ._access import Access
from ._bulk import EntryRow, RecordRow, entry_rows, put_session, record_rows
from ._connections import Cursor, Where
from ._following import follow_session
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
    true_id,
)
from ._rows import check_session_id, columns_of, detail_of, lines_of, lock_keys
from ._scan import scan_session
from ._schema import SCHEMA
from ._writing import Writing

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
        self._wait: Final = wait
        self._locks: Final = lock_keys(schema, session_id)
        line = line_of(encode_header(header or new_header(id=session_id)), checksum=checksum)[:-1]
        self._writing: Final = Writing(self._access, session_id, self._locks, line, wait, checksum)

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
        if exist_ok and self.header() is not None:
            return
        made = self._put(
            self._writing.header,
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
        return self._writing.append(batch, after)

    def _check_head(self, after: str | None) -> str:
        found = self._found()
        head = "" if found is None else true_id(self._access, self.session_id, found.head)
        if after is not None and head != after:
            raise ConflictError(self.path, after, head)
        return head

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
        return self._writing.lease(self._wait if wait is None else wait)

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
