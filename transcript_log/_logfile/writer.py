"""Adding a batch to a file so that it is there wholly, or not at all.

A batch is acknowledged once it is written and, for a durable file, on disk. If anything
fails before that, the file is cut back to where it was. The caller holds the lock.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar

from .._times import format_time
from ..errors import StorageError
from .files import (
    closing,
    copy_bytes,
    make_folder,
    make_to_append,
    open_to_append,
    sync_folder,
    telling,
    write_all,
)
from .reader import BatchReader, Decode, Fault, whole_end_before

__all__ = ["AppendFile", "Beginning"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a file begins.

    Attributes:
        offset: Where the lines to read begin, in bytes.
        missing: Empty for a file that has its beginning; otherwise what to write at
            ``offset`` first, in place of what a crash may have left there.
    """

    offset: int
    missing: bytes = b""


_BEGUN: Final = Beginning(0)
_NOTHING_ADDED: Final = "nothing was added; mend the cause and append again"


class AppendFile(Generic[T]):
    """One file that is appended to. Not thread-safe; the caller holds the lock.

    Attributes:
        last: The last value of the last whole batch; None if there is none.
    """

    _fd = -1

    def __init__(
        self,
        path: str,
        decode: Decode[T],
        *,
        durable: bool,
        create: bool,
        fresh: Callable[[], bytes],
        begin: Callable[[int], Beginning],
        seen: Callable[[T], None],
    ) -> None:
        """A file at ``path``, opened when it is first needed and made by its first batch.

        Args:
            path: The file.
            decode: Reads one line.
            durable: Whether a batch is on disk before it is acknowledged.
            create: Whether the file is made if it is not there.
            fresh: Gives what a new file begins with.
            begin: Looks at the beginning of a file that is there.
            seen: Is told every value that others added, and the last ones there were.
        """
        self.path = path
        self.last: T | None = None
        self._decode = decode
        self._durable = durable
        self._create = create
        self._fresh = fresh
        self._begin = begin
        self._seen = seen
        self._poison = ""
        self._key = (0, 0)
        self._forget()

    def _forget(self) -> None:
        self._end = -1
        self._missing = _BEGUN
        self._new = False
        self._unlisted = True  # its entry in the folder may not be on disk, whoever made it
        self._undo: tuple[int, T | None] = (0, None)

    # ------------------------------------------------------------------- before a batch

    def settle(self) -> None:
        """Make ready to add a batch: see what others added, move aside what a crash left.

        A file that is not there, or has no beginning yet, is made by :meth:`add` alone.

        Raises:
            StorageError: The file cannot be opened, read or cut.
            HeaderError: The file is not one to write to.
        """
        if self._poison:
            raise StorageError(
                self.path,
                "write",
                self._poison,
                None,
                "nothing more is written through this store: close it and open the log again",
            )
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            self.close()
            self.last = None
            return
        except OSError as error:
            raise StorageError.of(self.path, "write", error) from error
        if self._fd >= 0 and self._key == (status.st_dev, status.st_ino):
            # Whatever became of the batch that it was made for, others may have added to it since.
            self._new = False
            if status.st_size == self._end and not self._missing.missing:
                return
        else:
            self.close()
        try:
            with telling(self.path, "write"):
                if self._fd < 0:
                    self._open()
                self._find_end()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._fd, self._new = open_to_append(self.path, create=self._create)
        status = os.fstat(self._fd)
        self._key = (status.st_dev, status.st_ino)

    def _make(self) -> None:
        """Make the file, for the first batch."""
        make_folder(self.path)
        beginning = self._fresh() if self._create else b""
        if beginning:
            self._fd, self._new = make_to_append(self.path, [beginning]), True
            status = os.fstat(self._fd)
            self._key = (status.st_dev, status.st_ino)
        else:
            self._open()
        self._end = len(beginning)

    def _find_end(self) -> None:
        fd = self._fd
        if not self._missing.missing and 0 <= self._end <= os.fstat(fd).st_size:
            start = self._end
        else:
            self.last = None
            beginning = self._begin(fd)
            if beginning.missing:
                self._missing = beginning
                self._end = os.fstat(fd).st_size
                return
            start = whole_end_before(fd, beginning.offset, self._decode)
        self._missing = _BEGUN
        reader: BatchReader[T] = BatchReader(self.path, fd, self._decode, _pass_over, offset=start)
        for value in reader:
            self.last = value
            self._seen(value)
        if reader.torn is not None:
            self._move_aside(reader.torn.offset, reader.torn.size)
        if not reader.ended:
            write_all(fd, b"\n")
            self._sync()
        self._end = os.fstat(fd).st_size

    def _move_aside(self, offset: int, size: int) -> None:
        """Keep what a crash left of an unacknowledged batch beside the file, and cut it off."""
        aside = self.path + ".corrupt"
        now = format_time(datetime.now(UTC))
        note = f"# {now}: {size} bytes from byte {offset} of {os.path.basename(self.path)}\n"
        with telling(aside, "keep what a crash left behind"):
            fd, new = open_to_append(aside)
            try:
                write_all(fd, note.encode("utf-8", "backslashreplace"))
                copy_bytes(self._fd, offset, size, fd)
                write_all(fd, b"\n")
                os.fdatasync(fd)
            finally:
                closing(fd)
            if new:
                sync_folder(aside)
        os.ftruncate(self._fd, offset)
        os.fdatasync(self._fd)

    # ------------------------------------------------------------------------- a batch

    @property
    def is_made(self) -> bool:
        """Once settled: whether the file is there and has its beginning."""
        return self._fd >= 0 and not self._missing.missing

    def add(self, batch: bytes, last: T | None) -> None:
        """Add a batch. On return it is acknowledged; on any error it is not there.

        Raises:
            StorageError: The system refused. The file is as it was; if it could not be cut
                back, this file takes no more and says so.
        """
        try:
            self._add(batch, last)
        except StorageError:
            raise
        except OSError as error:  # not by telling(): a batch is added in less time than that takes
            raise StorageError.of(self.path, "write", error, _NOTHING_ADDED) from error

    def _add(self, batch: bytes, last: T | None) -> None:
        if self._fd < 0:
            self._make()
        beginning = self._missing
        if beginning.missing and (left := os.fstat(self._fd).st_size - beginning.offset) > 0:
            self._move_aside(beginning.offset, left)
        start = beginning.offset if beginning.missing else self._end
        try:
            if beginning.missing:
                # On disk before any batch is, in every mode: without it nothing can be read.
                write_all(self._fd, beginning.missing)
                os.fdatasync(self._fd)
            write_all(self._fd, batch)
            self._sync()
            if self._unlisted and self._durable:
                sync_folder(self.path)
                self._unlisted = False
        except BaseException:
            self._roll_back(start)
            raise
        self._undo = (start, self.last)
        self._missing = _BEGUN
        self._new = False
        self._end = start + len(beginning.missing) + len(batch)
        self.last = last

    def sync(self) -> None:
        """Put on disk what is in the file, for a durable one.

        Raises:
            StorageError: The system refused.
        """
        if self._fd >= 0:
            with telling(self.path, "write"):
                self._sync()

    def take_back(self) -> None:
        """Undo the last :meth:`add`, before anybody was told of it."""
        if self._fd >= 0:
            end, self.last = self._undo
            self._roll_back(end)

    def _roll_back(self, end: int) -> None:
        if self._new:
            # The file was made for the batch that failed.
            with contextlib.suppress(OSError):
                os.unlink(self.path)
                self.close()
                return
        try:
            os.ftruncate(self._fd, end)
            self._sync()
        except (OSError, ValueError) as error:
            # A later write behind what may or may not be there would make damage of it.
            self._poison = f"a failed write could not be taken back ({error})"
        self._end = end

    def _sync(self) -> None:
        # A failed sync is never tried again: the kernel may have dropped both pages and error.
        if self._durable:
            os.fdatasync(self._fd)

    def __del__(self) -> None:
        # A store that nobody closed: its descriptors are numbers, which the collector does not close.
        if self._fd >= 0:
            closing(self._fd)

    def close(self) -> None:
        """Close the file. It is opened again when it is next needed."""
        if self._fd >= 0:
            closing(self._fd)
            self._fd = -1
        self._forget()


def _pass_over(_: Fault) -> Iterable[T]:
    """Damage before the end of a file is told by its readers; a writer goes on behind it."""
    return ()
