"""A batch to the database: one round trip, whose answer says what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..entries import Detail, Entry
from ..errors import EntryError
from ._access import Access
from ._arrays import Byteas, Shorts, Texts
from ._connections import Cursor
from ._driver import milliseconds, pq, psycopg
from ._rows import columns_of, entry_of, key_of, lines_of

__all__ = ["Answer", "Appending", "stored_entries"]

_CALL: Final = (
    "SELECT * FROM {schema}.append_batch(%s, %s, %s, %s, %b, %s, %s, %s,"
    " %b::text[], %b::text[], %b::smallint[], %b::text[], %b::bytea[], %b::text[], %b::text[], %b::bytea[])"
)


_NUMBERS: Final = "_pkey"
"""How the constraint ends that keeps numbers apart; the other one is about ids."""


class Answer(NamedTuple):
    """What became of a batch.

    Attributes:
        status: ``"written"``, ``"there"``, ``"conflict"`` or ``"busy"``; nothing was written but
            for the first.
        head: How :func:`key_of` spells the id of the last entry.
        there: The lines of those of its entries that are there, by their ids, spelled so too.
        has_details: Whether its details are known to be there as well.
    """

    status: str
    head: str
    there: Mapping[str, bytes]
    has_details: bool = False


class Appending:
    """Calls the database's function for one session.

    Args:
        access: The database.
        session_id: The session.
        locks: Its locks; see :func:`lock_keys`.
        checksum: Whether batches of one entry are sealed too.
    """

    def __init__(self, access: Access, session_id: str, locks: tuple[int, int], checksum: bool) -> None:
        self._sql: Final = access.sql(_CALL)
        self._session: Final = session_id
        self._locks: Final = locks
        self._checksum: Final = checksum

    def call(
        self,
        cursor: Cursor,
        header: bytes,
        entries: Sequence[tuple[Entry, bytes]],
        records: Sequence[tuple[Detail, bytes]],
        *,
        after: str | None,
        wait: float,
    ) -> Answer:
        """Add a batch, if the database finds that it may be added.

        Args:
            cursor: On a connection without a transaction of its own.
            header: The first line of a session that is yet to be made, without a line feed.
            entries: The entries, with their JSON objects.
            records: The details, with theirs.
            after: What the log must end with, as of :meth:`Store.append`.
            wait: How long to wait for another writer, in seconds.
        """
        size = 0
        ids = types = boundaries = kept = lines = calls = owners = details = None
        if entries:
            texts = lines_of([body for _, body in entries], self._checksum)
            columns = [columns_of(entry) for entry, _ in entries]
            size = sum(map(len, texts)) + len(texts)
            ids = Texts([each.id for each in columns])
            types = Texts([each.type for each in columns])
            lines = Byteas(texts)
            if any(each.boundary is not None for each in columns):
                boundaries = Shorts([each.boundary for each in columns])
                kept = Texts([each.kept for each in columns])
        if records:
            calls = Texts([key_of(detail.id) for detail, _ in records])
            owners = Texts([None if one.entry is None else key_of(one.entry) for one, _ in records])
            details = Byteas(lines_of([body for _, body in records], self._checksum))
        end = None if after is None else key_of(after)
        rest = (end, size, ids, types, boundaries, kept, lines, calls, owners, details)
        first = (self._session, *self._locks, milliseconds(wait), header)
        # After an error inside a transaction nothing could be asked there.
        look = cursor.connection.info.transaction_status != pq.TransactionStatus.IDLE
        try:
            cursor.execute(self._sql, (*first, look, *rest), binary=True)
        except psycopg.errors.UniqueViolation as error:
            if (error.diag.constraint_name or "").endswith(_NUMBERS):
                raise
            # Rare, so it is not looked for each time: one of them is there already.
            cursor.execute(self._sql, (*first, True, *rest), binary=True)
        row = cursor.fetchone()
        assert row is not None
        status, head, found, texts_there = row
        return Answer(status, head or "", dict(zip(found, texts_there, strict=True)) if found else {})


def stored_entries(there: Mapping[str, bytes], ids: set[str]) -> dict[str, Entry]:
    """The entries that are there, of those that are asked for. What cannot be read is no entry."""
    found = {}
    for entry_id in ids:
        try:
            found[entry_id] = entry_of(there[key_of(entry_id)])[0]
        except EntryError:
            continue
    return found
