"""A store of one's own, over anything that keeps lines in order: a database, a bucket, a list.

:class:`LineStore` knows what a line says, when a batch is refused, and what of it is there
already. Where lines are kept is for a subclass to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, TypeAlias, TypeVar

from ._active import active_from
from ._batch import encode_batch, left_to_write
from .codec import decode_detail, decode_entry, decode_header, encode_header
from .entries import Detail, Entry, Header, Json, new_header
from .errors import ConflictError, CorruptLogError, EntryError, EntryNotFoundError
from .store import DetailKey

__all__ = ["Kind", "LineStore", "Row"]

T = TypeVar("T")

Kind: TypeAlias = Literal["header", "entry", "detail"]
"""What a line is: the one header, an entry, or a record beside them."""

Row: TypeAlias = tuple[Kind, str, bytes]
"""A line to be kept: its kind; of an entry its id, else ``""``; and its JSON, without a newline."""


class LineStore(ABC):
    """A store that keeps lines wherever a subclass does.

    It holds nothing in memory, so several may share what keeps the lines. :meth:`head` and
    :meth:`find` look at all entries; a subclass may be quicker. A line that cannot be read is a
    :class:`CorruptLogError`, which counts the lines of its kind from 1.

    Args:
        path: What errors call the log.
        header: The header of a log that is yet to be made; by default a new one.
    """

    def __init__(self, path: str, *, header: Header | None = None) -> None:
        self.path = path
        self._header_line = encode_header(header or new_header())

    # ---------------------------------------------------------------- for subclasses to say

    @abstractmethod
    def lines(self, kind: Kind) -> Iterable[tuple[str, bytes]]:
        """The id and the JSON of every line of a kind, in the order in which they were written."""

    @abstractmethod
    def write(self, rows: Sequence[Row]) -> None:
        """Keep these lines, after all others; called inside :meth:`alone`."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[object]:
        """Inside this nobody else writes. At its end what was written is kept; on an error none of it."""

    def head(self) -> str:
        """The id of the last entry; ``""`` if there is none."""
        ids = [entry_id for entry_id, _ in self.lines("entry")]
        return ids[-1] if ids else ""

    def find(self, ids: Collection[str]) -> Mapping[str, bytes]:
        """The lines of those of these entries that are there."""
        return {entry_id: line for entry_id, line in self.lines("entry") if entry_id in ids}

    # ------------------------------------------------------------------------------ a store

    def header(self) -> Header | None:
        """The header; None as long as nothing was appended."""
        return next(self._read("header", decode_header, self.lines("header")), None)

    def read(self, after: str | None = None) -> Iterator[Entry]:
        """The entries in order; see :meth:`Store.read`."""
        rows = list(self.lines("entry"))
        start = next((at for at, (entry_id, _) in enumerate(rows, 1) if entry_id == after), 0)
        if after and not start:
            raise EntryNotFoundError(after, self.path)
        return self._read("entry", decode_entry, rows[start:], start + 1)

    def load(self) -> list[Entry]:
        """All entries, in order."""
        return list(self.read())

    def active(self) -> list[Entry]:
        """What the newest boundary keeps; see :meth:`Store.active`."""
        entries = self.load()
        return entries[active_from(entries) :]

    def details(self) -> dict[DetailKey, Json]:
        """The payloads of the details; of several for one key the last."""
        records = self._read("detail", decode_detail, self.lines("detail"))
        return {(record.id, record.entry): record.payload for record in records if record is not None}

    def append(self, *entries: Entry, after: str | None = None, details: Sequence[Detail] = ()) -> str:
        """Add a batch, all of it or nothing; see :meth:`Store.append`."""
        batch = encode_batch(entries, details, self.path)
        with self.alone():
            there = self.find({entry.id for entry, _ in batch.entries}) if batch.entries else {}
            left = left_to_write(
                batch, there, lambda ids: {one: decode_entry(there[one]) for one in ids}, self.path
            )
            head = self.head()
            if (left or not batch.entries) and after is not None and head != after:
                raise ConflictError(self.path, after, head)
            rows: list[Row] = [("detail", "", line) for _, line in batch.details]
            if left and not head:
                rows.append(("header", "", self._header_line))
            rows += [("entry", entry.id, line) for entry, line in left]
            if rows:
                self.write(rows)
            return left[-1][0].id if left else head

    def _read(
        self, kind: Kind, decode: Callable[[bytes], T], rows: Iterable[tuple[str, bytes]], first: int = 1
    ) -> Iterator[T]:
        for number, (_, line) in enumerate(rows, first):
            try:
                yield decode(line)
            except EntryError as error:
                raise CorruptLogError(self.path, number, 0, f"no {kind}: {error}") from error
