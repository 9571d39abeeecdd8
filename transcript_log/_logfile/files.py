"""Opening files so that nobody can plant one, and telling the system's errors."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator

from ..errors import StorageError

__all__ = [
    "closing",
    "copy_bytes",
    "make_folder",
    "make_to_append",
    "open_to_append",
    "open_to_read",
    "sync_folder",
    "telling",
    "tighten",
    "write_all",
    "write_file",
]

_COMMON = os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def telling(path: str, doing: str, advice: str = "") -> Iterator[None]:
    """Turn an error of the system into a :class:`StorageError` that names the file."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError.of(path, doing, error, advice) from error


def open_to_read(path: str, *, follow: bool = True) -> int | None:
    """A descriptor of a regular file, for reading; None if there is no such file.

    A link is followed if ``follow`` says so.

    Raises:
        StorageError: It is no regular file, or may not be read.
    """
    with telling(path, "read"):
        try:
            # O_NONBLOCK: opening a FIFO would wait for a writer.
            fd = os.open(path, os.O_RDONLY | _COMMON | (0 if follow else os.O_NOFOLLOW))
        except FileNotFoundError:
            return None
        _only_regular(fd, path, "read")
    return fd


def open_to_append(path: str, *, create: bool = True) -> tuple[int, bool]:
    """A descriptor of a regular file that appends, and whether the file is new.

    A link is never followed.

    Args:
        path: The file.
        create: Whether it is made, with mode 0600, if it is not there.

    Raises:
        StorageError: It is no regular file, or may not be written.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | _COMMON
    with telling(path, "write"):
        try:
            fd, new = os.open(path, flags), False
        except FileNotFoundError:
            if not create:
                raise
            fd, new = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600), True
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise StorageError(
                path, "write", "it is a link", error.errno, "name the file that it leads to"
            ) from error
        _only_regular(fd, path, "write")
        tighten(fd)
    return fd, new


def make_to_append(path: str, beginning: Iterable[bytes]) -> int:
    """A descriptor of a new file that appends; the file has its beginning, on disk, from the first.

    It is written under another name and then given its own, so that no crash leaves a file
    of this name that begins otherwise. The beginning comes in pieces, and is asked for once.

    Raises:
        StorageError: The system refused; there is no new file.
    """
    draft = path + ".new"
    with telling(path, "make the log"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)  # left by a crash
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | _COMMON
        fd = os.open(draft, flags, 0o600)
        try:
            tighten(fd)
            for piece in beginning:
                write_all(fd, piece)
            os.fdatasync(fd)
            try:
                os.link(draft, path, follow_symlinks=False)  # unlike a rename, this never replaces a file
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                    raise
                # No hard links here: made in place. Readers know what a crash leaves of that.
                made, _ = open_to_append(path)
                fd, written = made, fd
                try:
                    copy_bytes(written, 0, os.fstat(written).st_size, fd)
                finally:
                    closing(written)
                os.fdatasync(fd)
        except BaseException:
            closing(fd)
            raise
        finally:
            with contextlib.suppress(OSError):
                os.unlink(draft)
        try:
            sync_folder(path)
        except BaseException:
            closing(fd)
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
    return fd


def write_file(path: str, pieces: Iterable[bytes], *, replace: bool = False) -> int:
    """Make a file with mode 0600 of pieces, and give its size: it is there wholly or not at all.

    Pieces are asked for once, and only if the file may be made. What they raise leaves nothing.

    Args:
        path: The file. A link is never followed, nor replaced.
        pieces: What it is to hold.
        replace: Whether a regular file that is there already is replaced.

    Raises:
        StorageError: There is something at ``path``, or the system refused.
    """
    doing = "write the file"
    with telling(path, doing):
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            pass
        else:
            if not stat.S_ISREG(mode):
                raise StorageError(path, doing, "what is there is no regular file", None, "name another")
            if not replace:
                raise _taken(path, doing)
        draft = f"{path}.{os.urandom(4).hex()}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | _COMMON
        fd = os.open(draft, flags, 0o600)
        try:
            try:
                size = 0
                for piece in pieces:
                    write_all(fd, piece)
                    size += len(piece)
                os.fsync(fd)
            finally:
                closing(fd)
            _put(draft, path, doing, replace=replace)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(draft)
        sync_folder(path)
    return size


def _put(draft: str, path: str, doing: str, *, replace: bool) -> None:
    """Give a finished file its name."""
    if not replace:
        try:
            os.link(draft, path, follow_symlinks=False)  # unlike a rename, this never replaces a file
        except FileExistsError:
            raise _taken(path, doing) from None
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise
            # No hard links here: an empty file of ours keeps the place for the rename.
            closing(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | _COMMON, 0o600))
        else:
            return
    os.rename(draft, path)


def _taken(path: str, doing: str) -> StorageError:
    return StorageError(path, doing, "there is a file already", errno.EEXIST, "name another")


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``, however little the system takes at a time."""
    done = os.write(fd, data)
    if done == len(data):
        return
    rest = memoryview(data)[done:]
    while rest:
        done = os.write(fd, rest)
        rest = rest[done:]


def copy_bytes(source: int, offset: int, size: int, fd: int) -> None:
    """Write ``size`` bytes of a file, from ``offset`` on, to another."""
    at = offset
    while block := os.pread(source, min(1 << 20, offset + size - at), at):
        write_all(fd, block)
        at += len(block)


def tighten(fd: int) -> None:
    """Take from group and others what they may do with a file of ours, where it is ours."""
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & 0o077:
        with contextlib.suppress(PermissionError):
            os.fchmod(fd, mode & 0o700)


def _only_regular(fd: int, path: str, doing: str) -> None:
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            what = "it is a directory" if stat.S_ISDIR(mode) else "it is no regular file"
            raise StorageError(path, doing, what, None, "name a session file")
    except BaseException:
        closing(fd)
        raise


def closing(fd: int) -> None:
    """Close a descriptor. What was acknowledged is on disk already, so an error tells nothing."""
    with contextlib.suppress(OSError):
        os.close(fd)


def sync_folder(path: str) -> None:
    """Make the directory entry of the file ``path`` durable."""
    folder = os.path.dirname(path) or "."
    with telling(folder, "sync the folder"):
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            closing(fd)


def make_folder(path: str) -> None:
    """Make the folder of the file ``path``, and those above it, with mode 0700, durably."""
    folder = os.path.dirname(path) or "."
    missing: list[str] = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        with telling(folder, "make the folder"):
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                continue
        try:
            sync_folder(folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # or the next append would take it for one that is on disk
            raise
