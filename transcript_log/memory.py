"""A log in memory, for tests and for sessions that nobody will miss.

It keeps encoded lines, as a file would, so that it accepts and refuses the same values
and gives them back the same way.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

from ._active import active_from
from ._batch import Batch, encode_batch, left_to_write
from .codec import decode_detail, decode_entry, decode_header, encode_header
from .entries import Detail, Entry, Header, Json, new_header
from .errors import ConflictError, EntryNotFoundError, LogBusyError
from .store import DetailKey, Scan

__all__ = ["MemoryStore"]

_PATH = "<memory>"


class MemoryStore:
    """A store whose log ends with the process. Safe to share by threads.

    Args:
        header: The header; by default a new one.
    """

    def __init__(self, *, header: Header | None = None) -> None:
        self._header_line = encode_header(header or new_header())
        self._lines: dict[str, bytes] = {}
        self._details: list[bytes] = []
        self._lock = threading.RLock()
        self._leased = False

    def header(self) -> Header | None:
        """The header; None as long as nothing was appended."""
        return decode_header(self._header_line) if self._lines else None

    def read(self, after: str | None = None) -> Iterator[Entry]:
        """The entries in order; see :meth:`Store.read`."""
        with self._lock:
            lines = list(self._lines.values())
            if after:
                if after not in self._lines:
                    raise EntryNotFoundError(after, _PATH)
                lines = lines[list(self._lines).index(after) + 1 :]
        return (decode_entry(line, sealed=True) for line in lines)

    def load(self) -> list[Entry]:
        """All entries, in order."""
        return list(self.read())

    def active(self) -> list[Entry]:
        """What the newest boundary keeps; see :meth:`Store.active`."""
        entries = self.load()
        return entries[active_from(entries) :]

    def scan(self) -> Scan:
        """All entries; there is never anything wrong with them."""
        entries = self.load()
        return Scan(
            header=self.header(),
            entries=tuple(entries),
            places=tuple((line, 0) for line in range(2, len(entries) + 2)),
            details=self.details(),
            lines=len(entries) + 1,
            sealed=len(entries),
        )

    def details(self) -> dict[DetailKey, Json]:
        """The payloads of the details; of several for one key the last."""
        with self._lock:
            lines = list(self._details)
        records = (decode_detail(line) for line in lines)
        return {(record.id, record.entry): record.payload for record in records if record is not None}

    def append(self, *entries: Entry, after: str | None = None, details: Sequence[Detail] = ()) -> str:
        """Add a batch, all of it or nothing; see :meth:`Store.append`."""
        batch: Batch = encode_batch(entries, details, _PATH)
        with self._lock:
            left = left_to_write(batch, self._lines, self._stored, _PATH)
            head = next(reversed(self._lines), "")
            if (left or not batch.entries) and after is not None and head != after:
                raise ConflictError(_PATH, after, head)
            self._details.extend(line for _, line in batch.details)
            self._lines.update((entry.id, line) for entry, line in left)
            return next(reversed(self._lines), "")

    def _stored(self, ids: set[str]) -> dict[str, Entry]:
        return {entry_id: decode_entry(self._lines[entry_id]) for entry_id in ids}

    @contextlib.contextmanager
    def lease(self, wait: float | None = None) -> Iterator[None]:  # noqa: ARG002 - as every store has it
        """Hold the right to write; a second lease fails at once.

        Raises:
            LogBusyError: There is a lease already.
        """
        with self._lock:
            if self._leased:
                raise LogBusyError(_PATH, state="this process", since="an earlier lease")
            self._leased = True
        try:
            yield
        finally:
            self._leased = False

    def close(self) -> None:
        """Nothing to close."""
