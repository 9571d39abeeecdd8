"""A log in memory, for tests and for sessions that nobody will miss.

It keeps encoded lines, as a file would, so that it accepts and refuses the same values
and gives them back the same way.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence

from .entries import Header
from .errors import LogBusyError
from .lines import Kind, LineStore, Row
from .store import Scan

__all__ = ["MemoryStore"]

_PATH = "<memory>"


class MemoryStore(LineStore):
    """A store whose log ends with the process. Safe to share by threads.

    Args:
        header: The header; by default a new one.
    """

    def __init__(self, *, header: Header | None = None) -> None:
        super().__init__(_PATH, header=header)
        self._entries: dict[str, bytes] = {}
        self._others: dict[Kind, list[tuple[str, bytes]]] = {"header": [], "detail": []}
        self._lock = threading.RLock()
        self._leased = False

    def lines(self, kind: Kind) -> list[tuple[str, bytes]]:
        """The lines of a kind, in order; a list of their own."""
        with self._lock:
            return list(self._entries.items() if kind == "entry" else self._others[kind])

    def write(self, rows: Sequence[Row]) -> None:
        """Keep lines."""
        for kind, entry_id, line in rows:
            if kind == "entry":
                self._entries[entry_id] = line
            else:
                self._others[kind].append((entry_id, line))

    def alone(self) -> contextlib.AbstractContextManager[object]:
        """Inside this no other thread writes."""
        return self._lock

    def head(self) -> str:
        """The id of the last entry; ``""`` if there is none."""
        return next(reversed(self._entries), "")

    def find(self, ids: Collection[str]) -> Mapping[str, bytes]:
        """The lines of those of these entries that are there."""
        return {entry_id: self._entries[entry_id] for entry_id in ids if entry_id in self._entries}

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
