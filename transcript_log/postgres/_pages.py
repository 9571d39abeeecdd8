"""A session's rows, a page at a time: bounded in memory, whatever the session's size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .._logfile.seal import SPACE, is_intact, is_sealed
from .._reading import BOM
from ..codec import decode_header
from ..entries import FORMAT_VERSION, Entry, Header
from ..errors import CorruptLogError, EntryError, EntryNotFoundError, HeaderError, StorageError, VersionError
from ._access import Access
from ._connections import Cursor
from ._rows import EDITED, Columns, entry_of, is_digest, key_of, physical

__all__ = [
    "DETAILS",
    "ENTRIES",
    "Found",
    "Pages",
    "RowLine",
    "active_start",
    "damage",
    "decode",
    "found_session",
    "header_of",
    "missing",
    "not_found",
    "offset_of",
    "seq_of",
    "true_id",
]

_ROWS: Final = 2000
"""How many rows a page has at most."""

_BYTES: Final = 4 << 20
"""How many bytes of lines a page has, but for its last line."""

_SALVAGE: Final = (
    "copy the session to a file with 'transcript-log copy', and run 'transcript-log salvage' on that"
)

ENTRIES: Final = "seq, batch, id, type, boundary, kept"
DETAILS: Final = "seq, seq, '', '', NULL::smallint, NULL::text"

_PAGE: Final = """
SELECT {columns}, convert_to(line, 'UTF8') FROM (
    SELECT *, sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before
    FROM (SELECT * FROM {schema}.{table} WHERE session = %s AND seq > %s AND seq <= %s
        ORDER BY seq LIMIT %s) rows) sized
WHERE before < %s ORDER BY seq
"""


class Found(NamedTuple):
    """What a session's own row says.

    Attributes:
        key: What stands for it in the other tables.
        header: Its first line, without the line feed; None where nothing but details was written.
        last: How many entries it has.
        head: The id of the last one, as :func:`key_of` spells it.
        details: How many records.
        size: How long the log would be as a file, in bytes.
    """

    key: int
    header: bytes | None
    last: int
    head: str
    details: int
    size: int


class RowLine(NamedTuple):
    """A row: its number from 1, that of its batch's first, what is kept beside the line, and that."""

    seq: int
    batch: int
    columns: Columns
    text: bytes


def found_session(access: Access, cursor: Cursor, session_id: str) -> Found | None:
    """The row of a session; None if there is none."""
    cursor.execute(
        access.sql(
            "SELECT key, convert_to(header, 'UTF8'), last_seq, last_id, details_seq, size"
            " FROM {schema}.sessions WHERE id = %s"
        ),
        (session_id,),
        binary=True,
    )
    row = cursor.fetchone()
    return None if row is None else Found(*row)


def seq_of(access: Access, cursor: Cursor, key: int, entry_id: str) -> int | None:
    """The number of the entry with this id; None if there is none."""
    cursor.execute(
        access.sql("SELECT seq FROM {schema}.entries WHERE session = %s AND id = %s"), (key, key_of(entry_id))
    )
    row = cursor.fetchone()
    return None if row is None else int(row[0])


class Pages:
    """Reads the rows of one session's table, from one number to another.

    Args:
        access: The database.
        found: The session.
        table: ``"entries"`` or ``"details"``.
    """

    def __init__(self, access: Access, found: Found, table: str = "entries") -> None:
        self._access: Final = access
        self._key: Final = found.key
        columns = ENTRIES if table == "entries" else DETAILS
        self._sql: Final = access.sql(_PAGE.replace("{columns}", columns).replace("{table}", table))

    def rows(self, after: int, until: int) -> Iterator[RowLine]:
        """The rows with numbers over ``after`` and up to ``until``, in order.

        Raises:
            StorageError: The session was deleted meanwhile; or the database refused.
        """
        nothing: list[RowLine] = []
        while after < until:
            at = after
            page = self._access.ask("read the session", lambda cursor: self.page(cursor, at, until), nothing)  # noqa: B023 - called at once
            if not page:
                self._check_there()
                return
            yield from page
            after = page[-1].seq

    def page(self, cursor: Cursor, after: int, until: int) -> list[RowLine]:
        """The next rows."""
        cursor.execute(self._sql, (self._key, after, until, _ROWS, _BYTES), binary=True)
        return [RowLine(row[0], row[1], Columns(*row[2:6]), row[6]) for row in cursor.fetchall()]

    def _check_there(self) -> None:
        def there(cursor: Cursor) -> bool:
            sql = self._access.sql("SELECT 1 FROM {schema}.sessions WHERE key = %s")
            return cursor.execute(sql, (self._key,)).fetchone() is not None

        if not self._access.ask("read the session", there, False):
            raise StorageError(
                self._access.path, "read the session", "it was deleted while it was being read"
            )


# ------------------------------------------------------------------------------- strict


def decode(row: RowLine, expected: int, offset: int, path: str) -> tuple[Entry, bool]:
    """The entry of a row, and whether it is sealed.

    Args:
        row: The row.
        expected: The number that it should have.
        offset: Where the line would begin in a file, in bytes.
        path: The session, for errors.

    Raises:
        CorruptLogError: The line was changed, a row is missing, or its columns name another entry.
    """
    if row.seq != expected:
        raise damage(path, expected, offset, missing(expected, row.seq))
    try:
        entry, sealed = entry_of(row.text)
    except EntryError as error:
        raise damage(path, row.seq, offset, EDITED if error.reason == EDITED else str(error)) from error
    if row.columns.id != entry.id and row.columns.id != key_of(entry.id):
        raise damage(path, row.seq, offset, f"the row is of {row.columns.id!r}, and its line of {entry.id!r}")
    return entry, sealed


def missing(expected: int, found: int) -> str:
    """What is said of rows that are not there."""
    count = found - expected
    return "a row is missing" if count == 1 else f"{count} rows are missing"


def damage(path: str, seq: int, offset: int, reason: str) -> CorruptLogError:
    """The error for a row that is damaged; lines are counted as in a file, the header first."""
    return CorruptLogError(path, seq + 1, offset, reason, _SALVAGE)


def offset_of(access: Access, key: int, seq: int) -> int:
    """Where the line of an entry would begin in a file, in bytes."""

    def sum_up(cursor: Cursor) -> int:
        cursor.execute(
            access.sql(
                "SELECT coalesce((SELECT octet_length(header) + 1 FROM {schema}.sessions WHERE key = %s), 0)"
                " + coalesce(sum(octet_length(line) + 1), 0)"
                " FROM {schema}.entries WHERE session = %s AND seq < %s"
            ),
            (key, key, seq),
        )
        row = cursor.fetchone()
        return 0 if row is None else int(row[0])

    return access.ask("read the session", sum_up, 0)


# ------------------------------------------------------------------------------- header


def header_of(text: bytes | None, path: str, *, strict: bool = True) -> tuple[Header | None, str]:
    """The header of a session, and what is wrong with one that can be read all the same.

    Raises:
        HeaderError: It cannot be read; or, strictly, something is wrong with it.
    """
    if text is None:
        return None, ""
    line = physical(text.removeprefix(BOM)).rstrip(SPACE)
    if not line:
        return None, ""
    edited = is_sealed(line) and not is_intact(line)
    try:
        header = decode_header(line)
    except EntryError as error:
        if error.where == "$.version" and error.kind != "json" and not edited:
            advice = "read it with the version of transcript-log that wrote it"
            raise VersionError(path, 1, 0, error.reason, FORMAT_VERSION, advice) from error
        kind = "header-type" if error.where == "$.type" and error.kind != "json" else "header-json"
        raise HeaderError(path, 1, 0, f"the header cannot be read: {error}", _SALVAGE, None, kind) from error
    fault = "the checksum does not match the header" if edited else ""
    if fault and strict:
        raise HeaderError(path, 1, 0, fault, _SALVAGE, None, "header-json")
    return header, fault


# ------------------------------------------------------------------------------- active

_ACTIVE: Final = """
WITH last AS (
    SELECT c.seq FROM {schema}.entries c
    WHERE c.session = %(key)s AND c.boundary IS NOT NULL AND c.boundary = 1 ORDER BY c.seq DESC LIMIT 1
), kept AS (
    SELECT (SELECT e.seq FROM {schema}.entries e
        WHERE e.session = c.session AND e.id = c.kept AND e.seq < c.seq) AS seq
    FROM {schema}.entries c
    WHERE c.session = %(key)s AND c.boundary IS NOT NULL AND c.kept IS NOT NULL
        AND c.seq >= (SELECT seq FROM last)
)
SELECT CASE WHEN EXISTS (SELECT 1 FROM kept WHERE seq IS NULL) THEN 1
    ELSE coalesce(least((SELECT seq FROM last), (SELECT min(seq) FROM kept)), 1) END,
    (SELECT last_seq FROM {schema}.sessions WHERE key = %(key)s)
"""


def active_start(access: Access, cursor: Cursor, key: int) -> tuple[int, int]:
    """The number of the first entry that counts, by the index of compactions, and of the last one.

    As :func:`transcript_log._active.active_from` finds it: from the newest compaction with a
    summary on, and from what that and newer ones keep. One that keeps an entry that does not
    stand before it makes all count.
    """
    cursor.execute(access.sql(_ACTIVE), {"key": key})
    row = cursor.fetchone()
    assert row is not None
    return int(row[0]), int(row[1] or 0)


def not_found(entry_id: str, path: str) -> EntryNotFoundError:
    """The error for an id that no entry has."""
    return EntryNotFoundError(entry_id, path)


def true_id(access: Access, session_id: str, key: str) -> str:
    """The id of an entry, of which :func:`key_of` may have made a digest."""
    if not is_digest(key):
        return key

    def line(cursor: Cursor) -> bytes:
        cursor.execute(
            access.sql(
                "SELECT convert_to(e.line, 'UTF8') FROM {schema}.entries e JOIN {schema}.sessions s"
                " ON e.session = s.key WHERE s.id = %s AND e.id = %s"
            ),
            (session_id, key),
            binary=True,
        )
        row = cursor.fetchone()
        return b"" if row is None else bytes(row[0])

    try:
        return entry_of(access.ask("read the session", line, b""))[0].id
    except EntryError:
        return key
