"""Batches as they come: told by the database, and asked for where it does not tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from ..entries import Entry
from ..errors import CorruptLogError, StorageError
from ._access import Access
from ._connections import Connection, cursor_of
from ._driver import psycopg
from ._pages import Found, Pages, decode, found_session, not_found, offset_of, seq_of
from ._schema import CHANNEL

__all__ = ["follow_session"]

_LOOK: Final = 0.1
"""How often it is asked whether to go on, in seconds."""

_PATIENCE: Final = 60.0
"""How long a lost connection is tried to be made anew, in seconds."""

Told = Callable[[CorruptLogError], None]


class _Listener:
    """A connection on which the database tells that something was added.

    Whoever adds tells it only where somebody listens: listeners share a lock, which a writer
    tries to have alone.
    """

    def __init__(self, access: Access, locks: tuple[int, int]) -> None:
        self._access: Final = access
        self._channel: Final = f"{CHANNEL}{locks[0] & (2**64 - 1):x}"
        self._lock: Final = locks[1]
        self._connection: Connection | None = None
        self._failed_since: float | None = None
        self._is_lent = False

    def open(self, *, at_first: bool = False) -> bool:
        """Listen, if that is not done yet. Whether it was not, so that something may have been missed.

        Raises:
            StorageError: The database cannot be reached: at first, or for a minute.
        """
        if self._is_lent or (self._connection is not None and not self._connection.closed):
            return False
        self.close()
        try:
            held = self._access.connections.hold("follow the session")
            if held is None:
                self._is_lent = True
                return False
            self._connection = held
            cursor = cursor_of(held)
            cursor.execute(f"LISTEN {self._channel}".encode())
            cursor.execute("SELECT pg_advisory_lock_shared(%s)", (self._lock,))
        except (StorageError, psycopg.Error) as error:
            self.close()
            now = time.monotonic()
            self._failed_since = self._failed_since or now
            if at_first or now - self._failed_since > _PATIENCE:
                if isinstance(error, StorageError):
                    raise
                with self._access.telling("follow the session"):
                    raise
            return False
        self._failed_since = None
        return True

    @property
    def is_open(self) -> bool:
        """Whether the database can be asked."""
        return self._is_lent or self._connection is not None

    def wait(self, seconds: float) -> bool:
        """Wait for something to be told, at most so long; whether it was."""
        connection = self._connection
        if connection is None or connection.closed:
            time.sleep(seconds)
            return False
        try:
            return any(True for _ in connection.notifies(timeout=seconds, stop_after=1))
        except psycopg.Error:
            self.close()
            return False

    def close(self) -> None:
        """Listen no more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            lost = connection.closed
            try:
                if not lost:
                    cursor_of(connection).execute("SELECT pg_advisory_unlock_shared(%s)", (self._lock,))
                    cursor_of(connection).execute(f"UNLISTEN {self._channel}".encode())
            except psycopg.Error:
                lost = True
            self._access.connections.let_go(connection, lost=lost)


def follow_session(
    access: Access,
    session_id: str,
    locks: tuple[int, int],
    after: str | None,
    *,
    poll: float,
    stop: Callable[[], bool],
    on_damage: Told | None,
) -> Iterator[tuple[Entry, ...]]:
    """See :meth:`PostgresStore.follow`."""
    listener = _Listener(access, locks)
    seen: set[str] = set()
    key: int | None = None
    last = 0
    failing: float | None = None
    try:
        listener.open(at_first=True)
        while True:
            try:
                found = access.ask(
                    "follow the session", lambda cursor: found_session(access, cursor, session_id), None
                )
                if found is not None and found.key != key:
                    # Seen for the first time, or another has taken its place.
                    if key is None and after:
                        last = _seq(access, found, after)
                        after = None
                    else:
                        last = 0
                    key = found.key
                elif found is None and key is None and after:
                    raise not_found(after, access.path)
                if found is not None:
                    for batch, end in _batches(access, found, last, on_damage):
                        fresh = tuple(entry for entry in batch if entry.id not in seen)
                        seen.update(entry.id for entry in fresh)
                        last = end
                        if fresh:
                            yield fresh
                failing = None
            except StorageError:
                now = time.monotonic()
                failing = failing or now
                if now - failing > _PATIENCE:
                    raise
            until = time.monotonic() + poll
            while not stop():
                left = until - time.monotonic()
                if left <= 0 or listener.open() or listener.wait(min(_LOOK, left)):
                    break
            else:
                return
    finally:
        listener.close()


def _seq(access: Access, found: Found, entry_id: str) -> int:
    seq = access.ask("follow the session", lambda cursor: seq_of(access, cursor, found.key, entry_id), None)
    if seq is None:
        raise not_found(entry_id, access.path)
    return seq


def _batches(
    access: Access, found: Found, last: int, on_damage: Told | None
) -> Iterator[tuple[tuple[Entry, ...], int]]:
    """The batches behind a number, each with the number it ends with."""
    expected = last + 1
    for _, rows in groupby(Pages(access, found).rows(last, found.last), key=lambda row: row.batch):
        batch = []
        for row in rows:
            try:
                entry, _ = decode(row, expected, 0, access.path)
                batch.append(entry)
            except CorruptLogError as error:
                error.offset = offset_of(access, found.key, row.seq)
                error.args = (error.path, error.line, error.offset, *error.args[3:])
                if on_damage is None:
                    raise
                on_damage(error)
                if row.seq != expected:  # it is the rows before it that are missing
                    batch += [decode(row, row.seq, 0, access.path)[0]]
            expected = row.seq + 1
        yield tuple(batch), expected - 1
