"""Reading files that were compressed with Zstandard, as a stream.

Decompressing is the extra ``zst``; from Python 3.14 on it comes with Python.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from ._logfile.files import telling
from ._logfile.reader import TooLongError
from ._logfile.seal import LINE_LIMIT
from .errors import TranscriptError

__all__ = ["NoZstError", "Unpacked", "is_cut", "is_packed", "unpacked_beginning", "unpacked_head"]

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_STEP: Final = 512
"""How much is decompressed at once, in bytes: it can become 32,000 times as much."""

_WINDOW_LOG: Final = 27
"""How far back a file may refer, as a power of two: 128 MB, as the ``zstd`` command allows."""


class NoZstError(TranscriptError, ImportError):
    """A file is compressed, and the extra ``zst`` is not installed."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"{self.path}: it is compressed (zstd), which takes an extra:"
            " pip install 'transcript-log[zst]', or decompress it first"
        )


def is_packed(first: bytes) -> bool:
    """Whether a file that begins so is compressed with Zstandard."""
    return first.startswith(_MAGIC)


class _Decoder(Protocol):
    """What decompresses one frame."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _library(path: str) -> tuple[Callable[[], _Decoder], type[Exception]]:
    """What makes a decoder, and the error that decoders raise."""
    if sys.version_info >= (3, 14):  # pragma: no cover - another library does the same before
        from compression import zstd  # noqa: PLC0415 - not always needed

        options = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        return (lambda: zstd.ZstdDecompressor(options=options)), zstd.ZstdError
    try:
        import zstandard  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise NoZstError(path) from error
    context = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
    return context.decompressobj, zstandard.ZstdError


class Unpacked(io.RawIOBase):
    """The decompressed bytes of a file, as a stream that reads the file as it goes.

    Attributes:
        fault: Once it is read: why it ends before the file does; empty if all was read.

    Raises:
        NoZstError: The extra is not installed.
    """

    def __init__(self, path: str, fd: int) -> None:
        super().__init__()
        self.fault = ""
        self._path = path
        self._fd = fd
        self._at = 0
        self._new, self._error = _library(path)
        self._decoder = self._new()
        self._begun = False  # whether the decoder has been given anything of a frame
        self._rest = b""  # of the file, not yet decompressed
        self._ready = memoryview(b"")  # decompressed, not yet given
        self._measures = False
        self._line = 0  # how much was given since the last line feed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._step():
                return 0
        given = bytes(self._ready[: len(buffer)])
        self._ready = self._ready[len(given) :]
        buffer[: len(given)] = given
        if self._measures:
            self._measure(given)
        return len(given)

    def lines(self) -> Iterator[bytes]:
        """The physical lines, each with its line feed; the last may lack it.

        Raises:
            TooLongError: A line is over the limit.
        """
        self._measures = True
        return io.BufferedReader(self, 1 << 20)

    def _step(self) -> bool:
        """Decompress a little more; False at the end."""
        if self.fault:
            return False
        if not self._rest:
            with telling(self._path, "read"):
                self._rest = os.pread(self._fd, 1 << 16, self._at)
            self._at += len(self._rest)
        if not self._rest:
            if self._begun:
                self.fault = "it ends inside of what is compressed"
            return False
        piece, self._rest = self._rest[:_STEP], self._rest[_STEP:]
        try:
            self._ready = memoryview(self._decoder.decompress(piece))
            self._begun = True
            if self._decoder.eof:
                self._rest = self._decoder.unused_data + self._rest
                self._decoder, self._begun = self._new(), False
        except self._error as error:
            self.fault = (
                f"from about its byte {self._at - len(self._rest)} on it cannot be decompressed ({error})"
            )
            return False
        return True

    def _measure(self, given: bytes) -> None:
        first = given.find(b"\n")
        if first < 0:
            self._line += len(given)
        elif self._line + first < LINE_LIMIT:
            self._line = len(given) - given.rfind(b"\n") - 1
        else:
            self._line += first + 1
        if self._line > LINE_LIMIT:
            raise TooLongError


def unpacked_head(path: str, fd: int, size: int) -> bytes:
    """The first bytes of what a file decompresses to.

    Raises:
        NoZstError: The extra is not installed.
    """
    return unpacked_beginning(path, fd, size)[0]


def unpacked_beginning(path: str, fd: int, size: int) -> tuple[bytes, str]:
    """The first bytes of what a file decompresses to, and what is wrong; empty if nothing was met.

    Raises:
        NoZstError: The extra is not installed.
    """
    source = Unpacked(path, fd)
    head = b""
    while len(head) < size and (piece := source.read(size - len(head))):
        head += piece
    return head, source.fault


_MOST_BLOCKS: Final = 4096
"""How many blocks are walked through: half a GB of what they hold."""


def is_cut(fd: int) -> bool:
    """Whether a compressed file ends before its last frame does, as far as the sizes in it tell.

    The blocks of a frame say how long they are, so nothing is decompressed, and a few bytes
    are read of each. (RFC 8878, section 3.1.)
    """
    size, at = os.fstat(fd).st_size, 0
    blocks = 0
    while at < size and blocks < _MOST_BLOCKS:
        head = os.pread(fd, 6, at)
        if len(head) < 5:
            return True
        if head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50:  # a frame to be skipped
            at += 8 + int.from_bytes(os.pread(fd, 4, at + 4), "little")
            continue
        if not is_packed(head):
            return False  # not of this format: reading it tells
        mark = head[4]
        is_single = mark >> 5 & 1
        at += 5 + (not is_single) + (0, 1, 2, 4)[mark & 3] + (is_single, 2, 4, 8)[mark >> 6]
        last = 0
        while not last:
            block = os.pread(fd, 3, at)
            blocks += 1
            if len(block) < 3:
                return True
            told = int.from_bytes(block, "little")
            last, kind = told & 1, told >> 1 & 3
            at += 3 + (1 if kind == 1 else told >> 3)
            if blocks == _MOST_BLOCKS:
                return False
        at += 4 * (mark >> 2 & 1)  # the checksum of the content
    return at > size
