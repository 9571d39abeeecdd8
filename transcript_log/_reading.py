"""Reading a log's file strictly: its header, its entries, its details, or only its end.

No lock is taken and nothing is written. ``jsonl`` puts a store around this.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn, TypeVar

from . import _json
from ._active import BoundarySearch
from ._collector import collector_paused
from ._logfile.files import closing, open_to_read, telling
from ._logfile.reader import (
    BatchReader,
    CutError,
    Fault,
    TooLongError,
    lines_backwards,
    raw_lines,
    whole_end_before,
)
from ._logfile.seal import LINE_LIMIT, SPACE, is_intact, is_sealed
from .codec import decode_detail, decode_entry, decode_header
from .entries import FORMAT_VERSION, Detail, Entry, Header, Json
from .errors import (
    CorruptLogError,
    EntryError,
    EntryNotFoundError,
    HeaderError,
    StorageError,
    VersionError,
)
from .store import DetailKey, Place

__all__ = [
    "RESEAL_HEADER",
    "Head",
    "ReadMark",
    "active_entries",
    "last_entries",
    "load_details",
    "load_entries",
    "opened",
    "read_details",
    "read_entries",
    "read_head",
    "refuse_pi",
]

T = TypeVar("T")

BOM: Final = b"\xef\xbb\xbf"
_HEAD: Final = 1 << 13
"""How much is read at once for a header, in bytes."""

_HEADER_TEXT: Final = b'{"type":"session","version":3'
_NOT_OURS: Final = "it is never written to"
_IMPORT: Final = "import it into a log of its own; it is never written to"
_NEWER: Final = "read it with the version of transcript-log that wrote it; it is never written to"
_MEND_HEADER: Final = (
    "mend that line in a copy of the file, then run 'transcript-log salvage --reseal' on the copy"
)
RESEAL_HEADER: Final = "if it was edited on purpose, run 'transcript-log salvage --reseal' on the file"


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a log.

    Attributes:
        header: None for an empty log: no bytes, blank lines, or a torn creation.
        offset: Where the entries begin; for an empty log, where its header belongs.
        line: The physical line that begins there.
        at: The place of the header line.
        fault: What is wrong with a header that can be read all the same; empty if nothing.
        text: The header line without white space around it, a byte order mark removed.
        ended: False if the file ends without a line feed before ``offset``.
    """

    header: Header | None
    offset: int
    line: int
    at: Place = (1, 0)
    fault: str = ""
    text: bytes = b""
    ended: bool = True


def read_head(path: str, fd: int) -> Head:
    """The beginning of an opened log.

    Raises:
        HeaderError: The first line is no header of this format version.
        StorageError: The file cannot be read.
    """
    try:
        return _read_head(path, fd)
    except HeaderError:
        # A writer may have been moving a torn creation aside: look once more.
        return _read_head(path, fd)


def _read_head(path: str, fd: int) -> Head:
    offset, line, ended = 0, 1, True
    try:
        with telling(path, "read"):
            for raw in raw_lines(fd, 0, _HEAD):
                text = raw.removeprefix(BOM) if offset == 0 else raw
                text = text.rstrip(SPACE)
                ended = raw[-1:] == b"\n"
                if text.strip(SPACE):
                    return _head_of(path, text, offset, line, len(raw), ended)
                offset += len(raw)
                line += 1
    except TooLongError:
        reason = "this is no session log: the line is too long for a header"
        raise HeaderError(path, line, offset, reason, _NOT_OURS, None, "header-json") from None
    return Head(None, offset, line, ended=ended)


def _head_of(path: str, text: bytes, offset: int, line: int, size: int, ended: bool) -> Head:
    try:
        header = decode_header(text)
    except EntryError as error:
        begun = text.strip(SPACE).rstrip(b"\0")
        if not ended and (begun.startswith(_HEADER_TEXT) or _HEADER_TEXT.startswith(begun)):
            return Head(None, offset, line)
        if is_sealed(text) and not is_intact(text):
            reason = f"the header is damaged: its checksum does not match, and it cannot be read ({error})"
            raise HeaderError(path, line, offset, reason, _MEND_HEADER, None, "header-json") from error
        if error.where == "$.version" and error.kind != "json":
            raise VersionError(path, line, offset, error.reason, FORMAT_VERSION, _NEWER) from error
        kind = "header-type" if error.where == "$.type" and error.kind != "json" else "header-json"
        reason = f"this is no session log: {error}"
        raise HeaderError(path, line, offset, reason, _NOT_OURS, None, kind) from error
    fault = ""
    if is_sealed(text) and not is_intact(text):
        fault = "the checksum does not match the header"
    return Head(header, offset + size, line + 1, (line, offset), fault, text, ended)


@contextlib.contextmanager
def opened(path: str, *, follow: bool = True) -> Iterator[int | None]:
    """A descriptor for reading, closed in the end; None if there is no such file."""
    fd = open_to_read(path, follow=follow)
    try:
        yield fd
    finally:
        if fd is not None:
            closing(fd)


# ------------------------------------------------------------------------------- strict


def _raise_damage(path: str) -> Callable[[Fault], Iterable[T]]:
    def raise_damage(fault: Fault) -> NoReturn:
        raise CorruptLogError(path, fault.line, fault.offset, fault.reason, fault.advice) from fault.error

    return raise_damage


def _strict_head(path: str, fd: int) -> Head:
    head = read_head(path, fd)
    if head.fault:
        line, offset = head.at
        raise HeaderError(path, line, offset, head.fault, RESEAL_HEADER, None, "header-json")
    refuse_pi(path, fd, head)
    return head


def _strict_reader(path: str, fd: int) -> BatchReader[Entry] | None:
    head = _strict_head(path, fd)
    if head.header is None:
        return None
    return BatchReader(path, fd, decode_entry, _raise_damage(path), offset=head.offset, line=head.line)


def load_entries(path: str) -> list[Entry]:
    """All entries of a log, in file order.

    Raises:
        CorruptLogError: The log is damaged, or an id stands twice.
        StorageError: The file cannot be read.
    """
    with opened(path) as fd:
        while True:
            if fd is None or (reader := _strict_reader(path, fd)) is None:
                return []
            try:
                with collector_paused():
                    entries = reader.all()
                    ids = {entry.id for entry in entries}
            except CutError:
                continue
            if len(ids) != len(entries):
                _raise_repeated(path, fd, None)
            return entries


class _Place(NamedTuple):
    """Where a reading ended: in which file; after which entry; the last whole batch's end, in bytes;
    the line that begins there; and the bytes before it: while they stand there, none was cut or replaced.
    """

    key: tuple[int, int]
    last: str
    offset: int
    line: int
    sign: bytes


class ReadMark:
    """How far a log was read, so that a later reading may go on from there. Shared by threads."""

    __slots__ = ("place",)

    def __init__(self) -> None:
        self.place: _Place | None = None

    def reader(self, path: str, fd: int) -> tuple[str, BatchReader[Entry]] | None:
        """A reader from there on, and the last entry before; None if it is another file or text now."""
        place = self.place
        if place is None or place.key != _key_of(fd):
            return None
        if os.pread(fd, len(place.sign), place.offset - len(place.sign)) != place.sign:
            return None
        damage = _raise_damage(path)
        return place.last, BatchReader(path, fd, decode_entry, damage, offset=place.offset, line=place.line)

    def move(self, fd: int, reader: BatchReader[Entry], last: str) -> None:
        """Remember where a reading ended."""
        if reader.ended and reader.sign:
            self.place = _Place(_key_of(fd), last, reader.end, reader.end_line, reader.sign)


def _key_of(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def read_entries(path: str, after: str | None = None, mark: ReadMark | None = None) -> Iterator[Entry]:
    """The entries of a log one by one, in bounded memory; see :func:`load_entries`.

    An id that stands twice in what is read is told at the end.

    Args:
        path: The log.
        after: Give only what follows the entry with this id.
        mark: Where an earlier reading ended. With an ``after`` that stands there or later, what
            is before is not read again.
    """
    mark = ReadMark() if mark is None else mark
    with opened(path) as fd:
        if fd is not None and after and (begun := mark.reader(path, fd)) is not None:
            last, reader = begun
            found = yield from _following(path, fd, reader, after, last, mark)
            if found:
                return
        whole = None if fd is None else _strict_reader(path, fd)
        found = not after
        if fd is not None and whole is not None:
            found = yield from _following(path, fd, whole, after, "", mark)
        if not found:
            assert after is not None
            raise EntryNotFoundError(after, path)


def _following(
    path: str, fd: int, reader: BatchReader[Entry], after: str | None, last: str, mark: ReadMark
) -> Generator[Entry, None, bool]:
    """What follows an entry; returns whether that was found. The mark is moved to the end."""
    sieve = _IdSieve()
    found = not after or after == last
    try:
        for entry in reader:
            last = entry.id
            sieve.add(last)
            if found:
                yield entry
            elif last == after:
                found = True
    except CutError:
        reason = "a writer took back a failed batch that had been read"
        raise StorageError(path, "read on", reason, None, "read the log again") from None
    if sieve.doubtful:
        _raise_repeated(path, fd, sieve.doubtful)
    mark.move(fd, reader, last)
    return found


class _IdSieve:
    """Tells which ids may stand twice, in 16 MiB whatever their number (a Bloom filter).

    At ten million ids one in a hundred is doubted for nothing; the doubtful ones are then
    looked for exactly. The first few thousand are held as they are.
    """

    __slots__ = ("_bits", "_few", "doubtful")

    _MASK: Final = (1 << 27) - 1

    def __init__(self) -> None:
        self._few: set[str] = set()
        self._bits = bytearray()
        self.doubtful: set[str] = set()

    def add(self, entry_id: str) -> None:
        if not self._bits:
            if entry_id in self._few:
                self.doubtful.add(entry_id)
            self._few.add(entry_id)
            if len(self._few) == 10_000:
                self._bits = bytearray(1 << 24)
                for known in self._few:
                    self.add(known)
                self._few.clear()
            return
        bits = self._bits
        hashed = hash(entry_id)
        first, second = hashed & self._MASK, (hashed >> 29) & self._MASK
        one, two = 1 << (first & 7), 1 << (second & 7)
        if bits[first >> 3] & one and bits[second >> 3] & two:
            self.doubtful.add(entry_id)
        bits[first >> 3] |= one
        bits[second >> 3] |= two


def _raise_repeated(path: str, fd: int, doubtful: set[str] | None) -> None:
    """Find the first id that stands twice, among those doubted, and raise for it."""
    reader = _strict_reader(path, fd)
    seen: dict[str, int] = {}
    for entry in reader or ():
        if doubtful is None or entry.id in doubtful:
            if entry.id in seen:
                assert reader is not None
                raise CorruptLogError(
                    path,
                    reader.line,
                    reader.offset,
                    f"the entry id {entry.id!r} stands on line {seen[entry.id]} already",
                    "run 'transcript-log salvage' on the file to see what can be saved",
                    entry.id,
                    "duplicate-id",
                )
            assert reader is not None
            seen[entry.id] = reader.line


def active_entries(path: str) -> list[Entry]:
    """What the newest boundary keeps, read backwards from the end of the file.

    Raises:
        CorruptLogError: What had to be read is damaged.
        StorageError: The file cannot be read.
    """
    while True:
        try:
            return _active_entries(path)
        except CutError:
            continue


def _active_entries(path: str) -> list[Entry]:
    with opened(path) as fd:
        if fd is None:
            return []
        head = _strict_head(path, fd)
        if head.header is None:
            return []
        with collector_paused(), telling(path, "read"):
            edge = whole_end_before(fd, head.offset, decode_entry)
            tail = BatchReader(path, fd, decode_entry, _damage_backwards(path, fd), offset=edge)
            entries = list(tail)
            entries.reverse()
            search = BoundarySearch()
            for index, entry in enumerate(entries):
                if search.is_over(entry):
                    del entries[index + 1 :]
                    break
            else:
                _read_back(path, fd, head.offset, edge, entries, search)
            entries.reverse()
        if len({entry.id for entry in entries}) != len(entries):
            _raise_repeated(path, fd, None)
        return entries


def last_entries(path: str) -> list[Entry]:
    """The last few entries of a log, found from its end; damage among them is passed over."""
    while True:
        try:
            return _last_entries(path)
        except CutError:
            continue


def _last_entries(path: str) -> list[Entry]:
    with opened(path) as fd:
        if fd is None:
            return []
        head = read_head(path, fd)
        if head.header is None:
            return []
        with telling(path, "read"):
            edge = whole_end_before(fd, head.offset, decode_entry)
            return list(BatchReader(path, fd, decode_entry, lambda _: (), offset=edge))


def refuse_pi(path: str, fd: int, head: Head) -> None:
    """Raise for a session of pi, whose header may look like ours."""
    if head.header is not None and head.header.harness is None and _is_pi(fd, head.offset):
        reason = "this is a pi session, not a log of ours"
        raise HeaderError(path, *head.at, reason, _IMPORT, None, "header-type")


def _is_pi(fd: int, offset: int) -> bool:
    """Whether the first line from ``offset`` on is an entry of a pi session: it has a parent."""
    with contextlib.suppress(TooLongError, ValueError):
        for raw in raw_lines(fd, offset):
            if raw.strip(SPACE):
                value = _json.decode(raw)
                return type(value) is dict and "parentId" in value
    return False


def _read_back(
    path: str, fd: int, start: int, end: int, entries: list[Entry], search: BoundarySearch
) -> None:
    """Add the entries before ``end``, last first, until the search is over."""
    read_to = end
    next_is_sealed = True
    for offset, raw in lines_backwards(fd, start, end):
        read_to = offset
        text = raw.rstrip(SPACE)
        if not text:
            continue
        sealed = is_sealed(text)
        if len(raw) > LINE_LIMIT or (
            sealed and (not is_intact(text) or (raw[:1] == b"\t" and not next_is_sealed))
        ):
            _damaged_backwards(path, fd, offset)
        next_is_sealed = sealed
        try:
            entry = decode_entry(raw, sealed)
        except EntryError:
            _damaged_backwards(path, fd, offset)
        entries.append(entry)
        if search.is_over(entry):
            return
    if read_to > start:
        _damaged_backwards(path, fd, read_to)


def _damage_backwards(path: str, fd: int) -> Callable[[Fault], Iterable[Entry]]:
    def raise_damage(fault: Fault) -> NoReturn:
        line = _line_at(fd, fault.offset)
        raise CorruptLogError(path, line, fault.offset, fault.reason, fault.advice) from fault.error

    return raise_damage


def _damaged_backwards(path: str, fd: int, offset: int) -> NoReturn:
    """Raise for damage found while reading backwards, as a reading from the start would."""
    reader = _strict_reader(path, fd)
    for _ in reader or ():
        pass
    # Read from the start there was none: a writer was at work. That happens once at most,
    # since what lies before the last whole batch never changes.
    raise CorruptLogError(path, _line_at(fd, offset), offset, "the line cannot be read", "read the log again")


def _line_at(fd: int, offset: int) -> int:
    line, at = 1, 0
    while at < offset and (block := os.pread(fd, min(1 << 20, offset - at), at)):
        line += block.count(b"\n")
        at += len(block)
    return line


# ------------------------------------------------------------------------------ details


def read_details(path: str) -> Iterator[Detail]:
    """The records of a sidecar in file order.

    Raises:
        CorruptLogError: The sidecar is damaged.
        StorageError: The file cannot be read.
    """
    with opened(path, follow=False) as fd:
        if fd is not None:
            for detail in BatchReader(path, fd, decode_detail, _raise_damage(path)):
                if detail is not None:
                    yield detail


def load_details(path: str) -> dict[DetailKey, Json]:
    """The payloads of a sidecar; of several for one key the last."""
    while True:
        with collector_paused(), contextlib.suppress(CutError):
            return {(detail.id, detail.entry): detail.payload for detail in read_details(path)}
