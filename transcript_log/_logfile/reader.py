"""Whole batches out of a file that a crash may have cut and a writer may be adding to.

Three things can stand where a line should be. A *torn tail* is what a crash leaves at
the end of the file: it was never acknowledged and is left out. *Damage* is anything
else. And a reader, which holds no lock, may catch a writer at work: so a bad line is
looked at again, from the end of the last whole batch, before it is judged.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from zlib import crc32

from ..errors import EntryError
from .files import telling
from .seal import LINE_LIMIT, SPACE, is_intact, is_sealed

__all__ = [
    "BatchReader",
    "CutError",
    "Decode",
    "Fault",
    "TooLongError",
    "Torn",
    "lines_backwards",
    "raw_lines",
    "whole_end_before",
]

T = TypeVar("T")

Decode = Callable[[bytes, bool], T]
"""Reads one line; told whether it has an intact seal. Raises :class:`EntryError`."""

_BLOCK: Final = 1 << 20
_SIGN: Final = 4096
"""How many bytes before the end of what was read tell whether it is still there."""

_EDGE: Final = 512
"""A device loses whole sectors: what power loss leaves unwritten begins and ends on this edge."""

_ZEROS: Final = re.compile(rb"\0+")


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that is damaged. ``raw`` is empty for one over the limit, which is not read."""

    line: int
    offset: int
    raw: bytes
    reason: str
    advice: str
    sealed: bool
    error: EntryError | None = None


@dataclass(frozen=True, slots=True)
class Torn:
    """What a crash left at the end of a file: from ``offset`` on, never acknowledged."""

    line: int
    offset: int
    size: int
    reason: str


class TooLongError(Exception):
    """No line feed came within the limit."""


class CutError(Exception):
    """What was read is not in the file any more: a writer took a failed batch back.

    It was never acknowledged. Reading from the beginning once more gives what is there.
    """


class _Source(io.RawIOBase):
    """Reads a descriptor from an offset on, without moving any shared position."""

    def __init__(self, fd: int, offset: int) -> None:
        super().__init__()
        self._fd = fd
        self._at = offset
        self._line = offset

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got = os.preadv(self._fd, [buffer], self._at)
        # Where the last line feed is matters only once a line grows long.
        if self._at + got - self._line > LINE_LIMIT:
            last = bytes(buffer[:got]).rfind(b"\n")
            if last >= 0:
                self._line = self._at + last + 1
            elif self._line < self._at - LINE_LIMIT:
                self._line = self._line_start()
                if self._line < self._at - LINE_LIMIT:
                    raise TooLongError
        elif got and (last := bytes(buffer[max(0, got - 8192) : got]).rfind(b"\n")) >= 0:
            self._line = self._at + max(0, got - 8192) + last + 1
        self._at += got
        return got

    def _line_start(self) -> int:
        """Where the line begins that ``_at`` stands in. Only a long line is worth the look."""
        at = self._at
        while at > self._line:
            first = max(self._line, at - _BLOCK)
            found = os.pread(self._fd, at - first, first).rfind(b"\n")
            if found >= 0:
                return first + found + 1
            at = first
        return self._line


def raw_lines(fd: int, offset: int, block: int = _BLOCK) -> Iterator[bytes]:
    """The physical lines from ``offset`` on, each with its line feed; the last may lack it.

    Args:
        fd: The file.
        offset: Where the first of them begins.
        block: How much is read at once, in bytes; less than usual for who wants a line or two.

    Raises:
        TooLongError: A line is over the limit.
    """
    return io.BufferedReader(_Source(fd, offset), block)


_RESEAL = "if the line was edited on purpose, run 'transcript-log salvage --reseal' on the file"
_SALVAGE = "run 'transcript-log salvage' on the file to see what can be saved"


class BatchReader(Generic[T]):
    """The values of the whole batches of a file, in file order, from a batch edge on.

    Attributes:
        line: The physical line of the value given last.
        offset: Where that line begins, in bytes.
        more: Whether further values of the same batch follow at once.
        sealed: Whether that line has an intact seal.
        end: Once everything is read: where the last whole batch ends; and on which line
            (``end_line``) what follows begins.
        sign: The last bytes before ``end``, as they were read.
        torn: Once everything is read: what a crash left behind that, if anything.
        ended: Once everything is read: False if the last whole line lacks its line feed.
        lines: Once everything is read: how many physical lines there are.
    """

    def __init__(
        self,
        path: str,
        fd: int,
        decode: Decode[T],
        on_fault: Callable[[Fault], Iterable[T]],
        *,
        offset: int = 0,
        line: int = 1,
    ) -> None:
        self._path = path
        self._fd = fd
        self._decode = decode
        self._on_fault = on_fault
        self.line = line
        self.offset = offset
        self.more = False
        self.sealed = False
        self.end = offset
        self.end_line = line
        self.sign = b""
        self.torn: Torn | None = None
        self.ended = True
        self.lines = line - 1

    def __iter__(self) -> Iterator[T]:
        with telling(self._path, "read"):
            yield from self._batches()

    def all(self) -> list[T]:
        """All the values at once: the same as the list of them, in less time.

        Lines that are as this package, or another writer, puts them are read in a short loop;
        from the first one that is odd in any way on, reading goes on line by line.
        """
        decode = self._decode
        values: list[T] = []
        pending: list[T] = []
        closing = b""
        offset, number = self.offset, self.line
        with telling(self._path, "read"):
            try:
                for raw in raw_lines(self._fd, offset):
                    size = len(raw)
                    if raw[-19:-11] == b',"crc":"':
                        if raw[-11:] != b'%08x"}\n' % crc32(memoryview(raw)[:-19]) or size > LINE_LIMIT:
                            break
                        value = decode(raw, True)
                        if raw[0] == 9:
                            pending.append(value)
                            offset += size
                            number += 1
                            continue
                        if pending:
                            values += pending
                            pending = []
                    elif pending or raw[-2:] != b"}\n" or raw[0] != 123 or size > LINE_LIMIT:
                        break
                    else:
                        value = decode(raw, False)
                    values.append(value)
                    offset += size
                    number += 1
                    self.offset = offset
                    self.line = number
                    closing = raw
            except (EntryError, TooLongError):
                pass
            self.end, self.sign = self.offset, closing[-_SIGN:]
            values.extend(self._batches())
        return values

    def _batches(self) -> Iterator[T]:
        decode = self._decode
        end, end_line = self.offset, self.line
        doubted: tuple[int, bytes] | None = None
        while True:  # each pass is one look at the file, from the last whole batch on
            offset, number = end, end_line
            pending: list[tuple[T, int, int, bool]] = []
            again = False
            seen = offset
            lines = iter(raw_lines(self._fd, offset))
            while True:
                try:
                    raw = next(lines)
                except StopIteration:
                    seen = offset
                    break
                except TooLongError:
                    after = _next_line(self._fd, offset)
                    if after is None:  # no line feed until the end: the tail of a write
                        seen = os.fstat(self._fd).st_size
                        break
                    yield from self._faulty(
                        pending,
                        Fault(number, offset, b"", f"the line is over {LINE_LIMIT} bytes", _SALVAGE, False),
                    )
                    pending = []
                    end, end_line = offset, number = after, number + 1
                    lines = iter(raw_lines(self._fd, offset))
                    continue
                size = len(raw)
                reason = ""
                error: EntryError | None = None
                intact = False
                # The common line first: sealed, and ended by a bare line feed.
                if raw[-19:-11] == b',"crc":"' and size <= LINE_LIMIT:
                    intact = raw[-11:] == b'%08x"}\n' % crc32(memoryview(raw)[:-19])
                if intact:
                    marked = raw[0] == 9
                else:
                    text = raw.rstrip(SPACE)
                    if not text:
                        offset += size
                        number += 1
                        # Without a line feed it may be the mark of a line that is yet to come.
                        if not pending and raw[-1:] == b"\n":
                            end, end_line = offset, number
                            self.end, self.sign = end, raw[-_SIGN:]
                            self.ended = True
                        continue
                    sealed = is_sealed(text)
                    intact = sealed and is_intact(text)
                    marked = intact and raw[:1] == b"\t"
                    if sealed and not intact:
                        reason = "the checksum does not match the line"
                    elif size > LINE_LIMIT:
                        reason = f"the line is over {LINE_LIMIT} bytes"
                if not reason:
                    try:
                        value = decode(raw, intact)
                    except EntryError as refused:
                        reason, error = str(refused), refused
                if not reason and pending and not intact:
                    reason = "a batch before this line was never finished"
                if reason:
                    whole = _whole_line_in(raw)
                    if raw[-1:] != b"\n" and not whole:  # the tail of a write
                        seen = offset + size
                        break
                    if doubted != (offset, raw):
                        doubted = (offset, raw)
                        again = True
                        break
                    self.check_end()
                    if self._is_lost_write(end):
                        seen = os.fstat(self._fd).st_size
                        break
                    if raw[-1:] != b"\n":
                        raw, reason = whole, "what follows the line is no line feed"
                    advice = _RESEAL if "checksum" in reason else _SALVAGE
                    fault = Fault(number, offset, raw, reason, advice, is_sealed(raw.rstrip(SPACE)), error)
                    yield from self._faulty(pending, fault)
                    pending = []
                elif marked:
                    pending.append((value, offset, number, intact))
                    offset += size
                    number += 1
                    continue
                elif pending:
                    pending.append((value, offset, number, intact))
                    yield from self._flush(pending)
                    pending = []
                else:
                    self.offset = offset
                    self.line = number
                    self.sealed = intact
                    yield value
                offset += size
                number += 1
                end, end_line = offset, number
                self.end, self.sign = end, raw[-_SIGN:]
                self.ended = raw[-1:] == b"\n"
            if again:
                continue
            break
        self._finish(end, end_line, seen)

    def check_end(self) -> None:
        """Check that the file still holds what was read last.

        Raises:
            CutError: It does not.
        """
        if self.sign != os.pread(self._fd, len(self.sign), self.end - len(self.sign)):
            raise CutError

    def _flush(self, pending: list[tuple[T, int, int, bool]]) -> Iterator[T]:
        last = len(pending) - 1
        for index, (value, self.offset, self.line, self.sealed) in enumerate(pending):
            self.more = index < last
            yield value

    def _faulty(self, pending: list[tuple[T, int, int, bool]], fault: Fault) -> Iterator[T]:
        """Tell of a fault; what is given back for it stands in its place, alone."""
        saved = self._on_fault(fault)
        for value, self.offset, self.line, self.sealed in pending:
            yield value
        self.offset, self.line, self.sealed = fault.offset, fault.line, False
        yield from saved

    def _finish(self, end: int, line: int, size: int) -> None:
        """Note how the file ended when it had ``size`` bytes: a writer may be adding more."""
        self.end, self.end_line = end, line
        self.lines = line - 1
        if size > end:
            self.lines += 1
            self.ended = False
            if size - end > _BLOCK or os.pread(self._fd, size - end, end).strip(SPACE):
                self.torn = Torn(line, end, size - end, _what_is_torn(self._fd, end, size))
                self.ended = True

    def _is_lost_write(self, start: int) -> bool:
        """Whether all from ``start`` on is one batch of which blocks were never written.

        Such blocks read as zeros on sector edges; what of the batch did reach the disk may
        stand around them, its closing line included, but no other batch.
        """
        size = os.fstat(self._fd).st_size
        offset = start
        holes = closed = False
        try:
            for raw in raw_lines(self._fd, start):
                zeros = [(offset + match.start(), offset + match.end()) for match in _ZEROS.finditer(raw)]
                for first, last in zeros:
                    if (first != start and first % _EDGE) or (last != size and last % _EDGE):
                        return False
                if closed and raw.strip(b"\0"):
                    return False
                if zeros:
                    holes = True
                elif raw[-1:] == b"\n":
                    text = raw.rstrip(SPACE)
                    if not is_sealed(text) or not is_intact(text):
                        return False
                # A line that begins with neither mark nor hole ends its batch, whatever is left of it.
                closed = closed or raw[:1] not in (b"\t", b"\0")
                offset += len(raw)
        except TooLongError:
            return False
        return holes


def _whole_line_in(raw: bytes) -> bytes:
    """The line with an intact seal that an unterminated one begins with, if more than zeros follow it.

    It was whole once: only its line feed was hit, which no crash of a writer does.
    """
    at = raw.rfind(b',"crc":"')
    line = raw[: at + 19]
    if at < 0 or not raw[at + 19 :].strip(b"\0") or not is_sealed(line) or not is_intact(line):
        return b""
    return line


def _what_is_torn(fd: int, offset: int, size: int) -> str:
    head = os.pread(fd, min(size - offset, 1 << 16), offset)
    if not head.strip(b"\0"):
        return "zeros up to the end of the file"
    if b"\0" in head:
        return "a batch of which blocks were never written"
    if b"\n" in head:
        return "a batch that was never finished"
    return "a line that was never finished"


def _next_line(fd: int, offset: int) -> int | None:
    """Where the line after the one at ``offset`` begins; None if there is no line feed."""
    while block := os.pread(fd, _BLOCK, offset):
        found = block.find(b"\n")
        if found >= 0:
            return offset + found + 1
        offset += len(block)
    return None


def whole_end_before(fd: int, start: int, decode: Decode[T]) -> int:
    """A batch edge near the end of a file, found backwards without reading the rest.

    It is far enough back that reading on from it judges the tail as a reading of the whole
    file would: behind the last but one line that closes a batch.

    Args:
        fd: The file.
        start: Where the first line after the header begins.
        decode: Reads one line.
    """
    closing = 0
    for offset, raw in lines_backwards(fd, start):
        text = raw.rstrip(SPACE)
        if not text or raw[-1:] != b"\n":
            continue
        sealed = is_sealed(text)
        if sealed and (not is_intact(text) or raw[:1] == b"\t"):
            continue
        try:
            decode(raw, sealed)
        except EntryError:
            continue
        closing += 1
        if closing == 2:
            return offset + len(raw)
    return start


def lines_backwards(fd: int, start: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """The physical lines before ``end``, last first, each with where it begins.

    Blocks grow from 64 KiB. A line over the limit ends the reading: nothing before it is given.
    """
    at = os.fstat(fd).st_size if end is None else end
    block = 1 << 16
    rest = b""
    while at > start:
        size = min(block, at - start)
        block = min(block * 2, 1 << 22)
        at -= size
        data = _pread_all(fd, size, at) + rest
        first = 0 if at == start else data.find(b"\n") + 1
        if at > start and first in (0, len(data)):
            rest = data
            if len(rest) > LINE_LIMIT:
                return
            continue
        rest = data[:first]
        stop = len(data)
        while stop > first:
            begin = data.rfind(b"\n", first, stop - 1) + 1 or first
            yield at + begin, data[begin:stop]
            stop = begin


def _pread_all(fd: int, size: int, offset: int) -> bytes:
    data = os.pread(fd, size, offset)
    while len(data) < size:
        more = os.pread(fd, size - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data
