"""A store as one session sees it: what is known of its entries, and the right to add to them."""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from .._json import is_same
from ..entries import Detail, Entry, Header, Json, MessageEntry
from ..errors import (
    ConflictError,
    CorruptLogError,
    EntryError,
    EntryNotFoundError,
    IdError,
    LogBusyError,
    StorageError,
)
from ..findings import Finding
from ..store import DetailKey, LeasableStore, ScannableStore, Store, Version, VersionedStore
from ..stores import LogStore

__all__ = ["Mode", "SessionLog", "closed_on_error", "refuse_existing"]

Mode: TypeAlias = Literal["exclusive", "shared", "read"]
"""Who else may write: nobody, as long as the session is open; others, between its batches; or
others alone."""


def refuse_existing(store: LogStore) -> None:
    """Raise where a log is to be made and there is one; told at once, whoever has it."""
    if store.header() is not None:
        raise StorageError(
            store.path, "make the log", "there is one already", errno.EEXIST, "open it instead"
        )


@contextlib.contextmanager
def closed_on_error(store: LogStore) -> Iterator[None]:
    """Let go of a store's files or connections if no session comes to hold them."""
    try:
        yield
    except BaseException:
        store.close()
        raise


class SessionLog:
    """The log of a session: a store, and its entries and details in memory.

    Alone with a lease, memory is the truth. Otherwise it is brought up to date before it is
    looked at.

    Args:
        store: Where the entries are.
        mode: See :data:`Mode`.
        wait: How long to wait for a lease, in seconds.

    Raises:
        LogBusyError: Another writer has the log.
        HeaderError: The file is no log of ours.
    """

    def __init__(self, store: Store, mode: Mode, wait: float) -> None:
        self.store: Final = store
        self.mode: Final = mode
        self.path: Final = str(getattr(store, "path", f"<{type(store).__name__}>"))
        self.lock: Final = threading.RLock()
        self.entries: list[Entry] = []
        self.details: dict[DetailKey, Json] = {}
        self.damage: tuple[Finding, ...] = ()
        self.header: Header | None = None
        self.head = ""
        self.last = ""  # where the store ends, as far as that is known
        self.is_closed = False
        self._version: Version | None = None
        self._ids: dict[str, Entry] = {}
        self._unsure: set[str] = set()
        self._held: Final = contextlib.ExitStack()
        if mode == "exclusive":
            if not isinstance(store, LeasableStore):
                raise self._refused("this store gives no lease", "open it with mode='shared'")
            self._held.enter_context(store.lease(wait))
        try:
            self._load()
        except BaseException:
            self._held.close()
            raise

    # --------------------------------------------------------------------------- reading

    def _load(self) -> None:
        store = self.store
        self._version = self._look()
        before = None if self.mode == "read" else store.append()
        if isinstance(store, ScannableStore):
            scan = store.scan()
            self.entries, self.details, self.damage = list(scan.entries), dict(scan.details), scan.findings
            self.header = scan.header
        else:
            self.entries, self.details, self.damage = store.load(), dict(store.details()), ()
            self.header = store.header()
        self._ids = {entry.id: entry for entry in self.entries}
        self.head = self.last = self.entries[-1].id if self.entries else ""
        if self.damage and before is not None and before == store.append():
            # A store ends where it can be read, which may be before what could be saved of damage.
            self.last = before

    def _look(self) -> Version | None:
        return self.store.version() if isinstance(self.store, VersionedStore) else None

    def entry(self, entry_id: str) -> Entry | None:
        """The entry of this id, as far as the log is known; None if there is none."""
        return self._ids.get(entry_id)

    def family_of(self, entry_id: str) -> str | None:
        """Who made the message of an entry; None if that is not known."""
        entry = self._ids.get(entry_id)
        return entry.family if isinstance(entry, MessageEntry) else None

    def known(self, entry: Entry, *, timed: bool = True) -> Entry | None:
        """The entry as the log has it; None if it has none of its id.

        Args:
            entry: The entry.
            timed: False: the same but for its time is the same.

        Raises:
            IdError: The log has another one of this id.
        """
        there = self._ids.get(entry.id)
        if there is not None:
            given = entry if timed else replace(entry, timestamp=there.timestamp)
            if not is_same(given, there):
                raise IdError(entry.id, self.path)
        return there

    def refresh(self) -> None:
        """Learn what others have added, and whether a write that failed came to be."""
        with self.lock:
            if self.mode == "exclusive":
                if self._unsure:
                    self._take_own()
                return
            version = self._look()
            if version is not None and version == self._version and not self._unsure:
                return
            known = self._version
            if version is not None and known is not None and version[0] != known[0]:
                # Another log, such as a salvaged one, has taken the place of the one that was read.
                self._load()
                self._unsure.clear()
                return
            if self._unsure or self.mode == "read" or self.store.append() != self.last:
                self._take_all()
            if version is None or known is None or version[2] != known[2]:
                self._take_details()
            self._version = version

    def _take_own(self) -> None:
        """Take in what of a failed batch is in the log. What others wrote there is not ours to know."""
        found = self._read_on()
        if found and self._unsure.issuperset(entry.id for entry in found):
            self._add(found)
            self._take_details()
        self._unsure.clear()

    def _take_all(self) -> None:
        self._add(self._read_on())
        self._unsure.clear()

    def _read_on(self) -> list[Entry]:
        try:
            return list(self.store.read(after=self.last or None))
        except (CorruptLogError, EntryNotFoundError, StorageError):
            # Damaged, mended, or a batch that was read is gone again: look at all of it, round
            # the damage.
            known = self._ids
            self._load()
            return [] if self.mode != "exclusive" else [e for e in self.entries if e.id not in known]

    def _take_details(self) -> None:
        try:
            self.details = dict(self.store.details())
        except CorruptLogError:
            if not isinstance(self.store, ScannableStore):
                raise
            scan = self.store.scan()
            self.details, self.damage = dict(scan.details), scan.findings

    def _add(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.id not in self._ids:
                self._ids[entry.id] = entry
                self.entries.append(entry)
        if entries:
            self.head = self.last = self.entries[-1].id

    # --------------------------------------------------------------------------- writing

    def write(
        self, entries: Sequence[Entry], details: Sequence[Detail] = (), after: str | None = None
    ) -> None:
        """Add a batch; it is acknowledged on return.

        An error met on the way has the entries, the details and ``after`` as attributes, if they
        may be written later.

        Raises:
            StorageError: The session only reads, or is closed; or the system refused.
            ConflictError: The log does not end with ``after``; or, under a lease, not with the
                last entry known: the lease was lost.
        """
        with self.lock:
            ids = {entry.id for entry in entries}
            try:
                self.check_writable()
                if self._unsure:
                    self.refresh()
                self._unsure |= ids
                self._append(entries, details, after)
            except (EntryError, IdError):
                self._unsure -= ids
                raise
            except BaseException as error:
                if isinstance(error, (ConflictError, LogBusyError)):
                    self._unsure -= ids
                with contextlib.suppress(AttributeError):
                    error.entries = tuple(entries)  # type: ignore[attr-defined]  # any error may come by
                    error.details = tuple(details)  # type: ignore[attr-defined]
                    error.after = after  # type: ignore[attr-defined]
                raise
            self._unsure -= ids
            if self.header is None:
                self.header = self.store.header()
            self.details.update({(detail.id, detail.entry): detail.payload for detail in details})

    def write_again(self, entries: Sequence[Entry], details: Sequence[Detail], after: str | None) -> None:
        """Add a batch that may be there already. Raises as :meth:`write`, and IdError."""
        with self.lock:
            self.refresh()
            left = [entry for entry in entries if self.known(entry) is None]
            self.write(left, details, after if left else None)

    def _append(self, entries: Sequence[Entry], details: Sequence[Detail], after: str | None) -> None:
        last = self.last
        if self.mode == "exclusive" and after is not None and after != last:
            raise ConflictError(self.path, after, last)
        try:
            head = self.store.append(*entries, after=last if after is None else after, details=details)
        except ConflictError:
            if after is not None or self.mode == "exclusive":
                raise
            # Others wrote in between. What they wrote is read when it is asked for.
            self.head = self.store.append(*entries, details=details)
            return
        if after is not None and after != last:
            self.head = head
        elif entries and head == entries[-1].id:
            self._add(entries)
        elif head:
            self.head = head

    def check_writable(self) -> None:
        """Raise for a session that must not write."""
        if self.is_closed:
            raise self._refused("the session is closed", "open it again")
        if self.mode == "read":
            raise self._refused(
                "the session was opened to read only", "open it with mode='exclusive' or mode='shared'"
            )

    def _refused(self, reason: str, advice: str) -> StorageError:
        return StorageError(self.path, "write", reason, None, advice)

    def close(self) -> None:
        """Let go of the lease and the files."""
        with self.lock:
            self.is_closed = True
            self._held.close()
            close = getattr(self.store, "close", None)
            if close is not None:
                close()
