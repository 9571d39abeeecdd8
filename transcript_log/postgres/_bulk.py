"""A session that has many rows from the first, such as a copy: in one transaction, wholly or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, Final, TypeAlias

from ..errors import StorageError
from ._access import Access
from ._connections import Cursor, read_committed
from ._driver import milliseconds, psycopg
from ._leases import busy_error, held_lease, this_process
from ._pages import Found, Pages, found_session
from ._rows import Columns, columns_of, detail_of, key_of, read_entry

__all__ = ["EntryRow", "RecordRow", "entry_rows", "put_session", "record_rows"]

EntryRow: TypeAlias = tuple[Columns, bool, bytes]
"""What is kept beside a line, whether the line begins a batch, and the line without its line feed."""

RecordRow: TypeAlias = tuple[str, str | None, bytes]
"""A detail's call id and entry id, and its line without its line feed."""

_DOING: Final = "make the log"


def entry_rows(lines: Iterable[tuple[bytes, bool]]) -> Iterator[EntryRow]:
    """The rows of the lines of entries, each with whether it begins a batch."""
    for line, is_first in lines:
        yield columns_of(read_entry(line)), is_first, line


def record_rows(lines: Iterable[bytes]) -> Iterator[RecordRow]:
    """The rows of the lines of details."""
    for line in lines:
        record = detail_of(line)
        yield ("", None, line) if record is None else (record.id, record.entry, line)


def put_session(
    access: Access,
    session_id: str,
    locks: tuple[int, int],
    wait: float,
    header: bytes,
    rows: Callable[[], Iterable[EntryRow]],
    records: Callable[[], Iterable[RecordRow]],
) -> bool:
    """Make a session, read back before it is committed; False if it is there.

    Args:
        access: The database.
        session_id: Its id.
        locks: Its locks.
        wait: How long to wait for another writer, in seconds.
        header: Its first line, without the line feed.
        rows: Gives its entries; called once more if the connection is lost.
        records: Gives its details; the same.

    Raises:
        LogBusyError: Another writer has the session.
        StorageError: The database refused; or what was written does not read back as it was.
    """

    reached = False

    def work(cursor: Cursor) -> bool:
        nonlocal reached
        there = held_lease(cursor.connection, locks[0])
        if there is not None:
            raise this_process(access.path, there)
        try:
            with read_committed(cursor.connection):
                made = _put(access, cursor, session_id, locks, wait, header, rows(), records())
                if reached and not made:
                    # The connection was lost while the server committed: is it ours that is there?
                    made = _is_there(access, cursor, session_id, header, rows(), records())
                reached = made
                return made
        except psycopg.errors.LockNotAvailable:
            raise busy_error(cursor, access.path, locks[0]) from None

    return access.tell(_DOING, work)


def _put(
    access: Access,
    cursor: Cursor,
    session_id: str,
    locks: tuple[int, int],
    wait: float,
    header: bytes,
    rows: Iterable[EntryRow],
    records: Iterable[RecordRow],
) -> bool:
    cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", (locks[0],))
    row = cursor.fetchone()
    if not (row and row[0]):
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", (str(max(1, milliseconds(wait))),))
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (locks[0],))
    cursor.execute(
        "SELECT set_config('synchronous_commit', 'on', true)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    cursor.execute(
        access.sql("SELECT key, header IS NOT NULL, details_seq FROM {schema}.sessions WHERE id = %s"),
        (session_id,),
    )
    found = cursor.fetchone()
    if found is not None and found[1]:
        return False
    if found is None:
        cursor.execute(
            access.sql("INSERT INTO {schema}.sessions (id) VALUES (%s) RETURNING key, true, 0"), (session_id,)
        )
        found = cursor.fetchone()
    assert found is not None
    key, _, before = found
    last, head, size, written = _copy_entries(access, cursor, key, rows)
    count, said = _copy_records(access, cursor, key, before, records)
    cursor.execute(
        access.sql(
            "UPDATE {schema}.sessions SET header = convert_from(%b, 'UTF8'), last_seq = %s, last_id = %s,"
            " details_seq = %s, size = %s, changed_at = clock_timestamp() WHERE key = %s"
        ),
        (header, last, head, before + count, size + len(header) + 1, key),
    )
    made = Found(key, header, last, head, before + count, size)
    read = (
        _digest(access, cursor, made, "entries", 0, last),
        _digest(access, cursor, made, "details", before, before + count),
    )
    if read != (written, said):
        reason = "what was written did not read back as it was"
        raise StorageError(access.path, _DOING, reason, None, "nothing was made; report this")
    return True


def _is_there(
    access: Access,
    cursor: Cursor,
    session_id: str,
    header: bytes,
    rows: Iterable[EntryRow],
    records: Iterable[RecordRow],
) -> bool:
    """Whether a session begins with these lines."""
    found = found_session(access, cursor, session_id)
    if found is None or found.header != header:
        return False
    for table, until, lines in (
        ("entries", found.last, (line for _, _, line in rows)),
        ("details", found.details, (line for _, _, line in records)),
    ):
        digest, count = sha256(), 0
        for line in lines:
            count += 1
            _add(digest, line)
        if count > until or _digest(access, cursor, found, table, 0, count) != digest.digest():
            return False
    return True


def _copy_entries(
    access: Access, cursor: Cursor, key: int, rows: Iterable[EntryRow]
) -> tuple[int, str, int, bytes]:
    digest = sha256()
    seq = batch = size = 0
    head = ""
    into = access.sql(
        "COPY {schema}.entries (session, seq, batch, id, type, boundary, kept, line) FROM STDIN"
    )
    with cursor.copy(into) as copy:
        for columns, is_first, line in rows:
            seq += 1
            batch = seq if is_first else batch
            copy.write_row((key, seq, batch, *columns, line.decode()))
            _add(digest, line)
            head = columns.id
            size += len(line) + 1
    return seq, head, size, digest.digest()


def _copy_records(
    access: Access, cursor: Cursor, key: int, before: int, records: Iterable[RecordRow]
) -> tuple[int, bytes]:
    digest = sha256()
    count = 0
    into = access.sql("COPY {schema}.details (session, seq, call, entry, line) FROM STDIN")
    with cursor.copy(into) as copy:
        for call, entry, line in records:
            count += 1
            owner = None if entry is None else key_of(entry)
            copy.write_row((key, before + count, key_of(call), owner, line.decode()))
            _add(digest, line)
    return count, digest.digest()


def _digest(access: Access, cursor: Cursor, found: Found, table: str, after: int, until: int) -> bytes:
    digest = sha256()
    pages = Pages(access, found, table)
    while after < until and (page := pages.page(cursor, after, until)):
        for row in page:
            _add(digest, row.text)
        after = page[-1].seq
    return digest.digest()


def _add(digest: Any, line: bytes) -> None:
    digest.update(line)
    digest.update(b"\n")
