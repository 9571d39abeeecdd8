"""What a store of entries promises, as protocols.

Two stores come with this package, :class:`transcript_log.JsonlStore` and
:class:`transcript_log.memory.MemoryStore`; others may be written, the quickest way over
:class:`transcript_log.lines.LineStore`. ``transcript_log.testing`` has the tests that every
store must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from .entries import Detail, Entry, Header, Json
from .errors import CorruptLogError
from .findings import Finding

__all__ = [
    "DetailKey",
    "FollowableStore",
    "LeasableStore",
    "Place",
    "RawLog",
    "Scan",
    "ScannableStore",
    "Store",
    "Version",
    "VersionedStore",
]

DetailKey = tuple[str, str | None]
"""What a sidecar payload is found by: a call id, and the entry that holds the call or None."""


class Store(Protocol):
    """A log of one session: entries in the order in which they were appended."""

    def header(self) -> Header | None:
        """The header; None for a log that has not been made yet."""
        ...

    def read(self, after: str | None = None) -> Iterator[Entry]:
        """The entries in file order, in bounded memory.

        Args:
            after: Give only the entries after the one with this id.

        Raises:
            CorruptLogError: The log is damaged. Entries before the damage were given.
            EntryNotFoundError: No entry has the id ``after``.
        """
        ...

    def load(self) -> list[Entry]:
        """All entries, as :meth:`read` gives them, in one list."""
        ...

    def active(self) -> list[Entry]:
        """What the newest boundary keeps: all that any context of now can be made of.

        That is every entry from the first kept one of the newest compaction with a
        non-blank summary on; from that compaction itself, if it keeps none; everything, if
        there is no such compaction.
        """
        ...

    def details(self) -> Mapping[DetailKey, Json]:
        """The sidecar's payloads; of several for one key the last."""
        ...

    def append(self, *entries: Entry, after: str | None = None, details: Sequence[Detail] = ()) -> str:
        """Add a batch: all of it or nothing. On return it is acknowledged.

        An entry that is there already with the same content is not written again, so the
        same call may be made again after an error. Details come before the entries, and
        may come alone; one with an empty id counts for nothing.

        Args:
            entries: In their order.
            after: The id that the log must end with, ``""`` for an empty log; None: no matter.
            details: Records for the sidecar.

        Returns:
            The id of the last entry of the log; ``""`` if it has none.

        Raises:
            EntryError: A value cannot be stored. Nothing was written, of the whole batch.
            IdError: An id is there already, with other content. Nothing was written.
            ConflictError: The log does not end with ``after``. Nothing was written.
            LogBusyError: Another writer has the log. Nothing was written.
            StorageError: The system refused. The log is as it was.
        """
        ...


@runtime_checkable
class LeasableStore(Protocol):
    """A store whose right to write can be held over many appends."""

    def lease(self, wait: float | None = None) -> AbstractContextManager[None]:
        """Hold the right to write; nobody else can append until it ends.

        Raises:
            LogBusyError: Another writer has it for longer than ``wait`` seconds.
        """
        ...


Version: TypeAlias = tuple[Hashable, Hashable, Hashable]
"""Of a log as it is: the first value differs once another log has taken its place, the second once
its entries have changed, the third once its details have."""


@runtime_checkable
class VersionedStore(Protocol):
    """A store that can tell, at little cost, whether it has changed."""

    def version(self) -> Version:
        """See :data:`Version`."""
        ...


@runtime_checkable
class FollowableStore(Protocol):
    """A store that can tell of entries as they come."""

    def follow(
        self,
        after: str | None = None,
        *,
        stop: Callable[[], bool] = ...,
        on_damage: Callable[[CorruptLogError], None] | None = None,
    ) -> Iterator[tuple[Entry, ...]]:
        """Whole batches: those that are there, then those that come, until ``stop`` says so.

        Args:
            after: Give only what follows the entry with this id.
            stop: Asked from time to time; by default it goes on for ever.
            on_damage: Told of what is damaged, which is then passed over; without it, it raises.
        """
        ...


Place = tuple[int, int]
"""Where an entry stands: its physical line from 1, and where that begins in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """All that could be read of a log, damaged or not, and all that is wrong with it.

    Attributes:
        header: The header; None for an empty log.
        entries: In file order, those saved from damaged lines too.
        places: Where each of ``entries`` stands.
        details: The sidecar's payloads.
        findings: What is wrong, in file order; then the sidecar.
        lines: How many physical lines there are, the header and blank ones too.
        sealed: How many entries stand on a line with an intact checksum.
        unsealed: How many stand on a line without one: another writer's, or written so.
        damaged: How many lines are damaged.
        size: The file's size in bytes.
    """

    header: Header | None
    entries: tuple[Entry, ...]
    places: tuple[Place, ...]
    details: Mapping[DetailKey, Json] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    lines: int = 0
    sealed: int = 0
    unsealed: int = 0
    damaged: int = 0
    size: int = 0

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


class RawLog(NamedTuple):
    """A log as lines, each without its line feed, as a copy of it takes them.

    Attributes:
        header: The first line.
        entries: Gives the lines of the entries, each with whether it begins a batch. Blank lines
            that follow one are part of it.
        details: Gives the lines of the details.
    """

    header: bytes
    entries: Callable[[], Iterator[tuple[bytes, bool]]]
    details: Callable[[], Iterator[bytes]]


@runtime_checkable
class ScannableStore(Protocol):
    """A store that can be read round its damage."""

    def scan(self) -> Scan:
        """Everything that can be read, and what is wrong. Raises only for a header that cannot be."""
        ...
