"""One writer at a time: a lock file beside the log, held for a batch or over many.

The lock is an advisory lock of the operating system (through filelock) on a file of its
own, so a killed process never leaves it locked. The file says who took it last, when,
and where, for the one who finds it taken.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

import orjson

from .._times import format_time
from ..errors import LogBusyError, StorageError
from .files import closing, make_folder, telling, tighten

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["WriterLock"]

_POLL: Final = 0.001
"""How often a taken lock is tried again, in seconds."""

_SHARED: Final = 1.0
"""How long after having to wait for the lock a writer takes others into account, in seconds."""

_TURN: Final = 0.005
"""How long a writer may take the lock back at once while others want it, in seconds."""

_RECORD: Final = 256
"""How long the record of the holder is, in bytes; it is written over in place."""

_leases: dict[str, tuple[object, str]] = {}
"""The leases held in this process: log path to holder and since when."""

_locks: WeakSet[WriterLock] = WeakSet()
"""The locks of this process, for its children: what a parent holds, a child does not."""


def _start_anew() -> None:
    _leases.clear()
    for lock in tuple(_locks):
        lock.start_anew()


os.register_at_fork(after_in_child=_start_anew)


class _ForOneBatch:
    """Holds a lock for one batch. A generator would take as long as the write it guards."""

    __slots__ = ("_lock",)

    def __init__(self, lock: WriterLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.begin_batch()

    def __exit__(self, *exc: object) -> None:
        self._lock.end_batch()


class WriterLock:
    """The right to write to one log. Shared by the threads of one store.

    Args:
        path: The log, for messages and as the name of its lease.
        lock_path: The lock file.
        wait: How long a lock for one batch waits for another writer, in seconds.
    """

    _record_fd = -1

    def __init__(self, path: str, lock_path: str, wait: float) -> None:
        self._path = path
        self._lock_path = lock_path
        self._wait = wait
        self._batch = _ForOneBatch(self)
        self.start_anew()
        _locks.add(self)

    def start_anew(self) -> None:
        """Hold nothing: in the beginning, and in a child after a fork."""
        if self._record_fd >= 0:
            closing(self._record_fd)
        self._thread = threading.RLock()
        self._file: BaseFileLock | None = None
        self._record_fd = -1
        self._leased = False
        self._shared_until = 0.0
        self._turn = 0.0

    @property
    def is_leased(self) -> bool:
        """Whether this object holds a lease, in this process."""
        return self._leased

    def alone(self) -> AbstractContextManager[object]:
        """Keep the other threads of this store out, and no other process."""
        return self._thread

    def batch(self) -> AbstractContextManager[None]:
        """Hold the lock for one batch.

        Raises:
            LogBusyError: Another writer has it, for longer than ``wait``; or another store
                of this process holds a lease.
        """
        return self._batch

    @contextlib.contextmanager
    def lease(self, wait: float) -> Iterator[None]:
        """Hold the lock over many batches, all of them through this object.

        Raises:
            LogBusyError: Another writer has it, for longer than ``wait`` seconds; or this
                process holds a lease on the log already.
        """
        with self._thread:
            self._refuse_beside_a_lease()
            self._acquire(wait)
            holder = os.getpid()
            self._leased = True
            _leases[self._path] = (self, format_time(datetime.now(UTC)))
        try:
            yield
        finally:
            if holder == os.getpid():
                with self._thread:
                    self._leased = False
                    _leases.pop(self._path, None)
                    self._release()

    def begin_batch(self) -> None:
        """Take the lock for one batch; see :meth:`batch`."""
        self._thread.acquire()
        if self._leased:
            return
        try:
            self._refuse_beside_a_lease()
            self._let_others_in()
            self._acquire(self._wait)
        except BaseException:
            self._thread.release()
            raise

    def end_batch(self) -> None:
        """Let go of what :meth:`begin_batch` took."""
        try:
            if not self._leased:
                self._release()
        finally:
            self._thread.release()

    def _let_others_in(self) -> None:
        """Pause where others want the lock too and this writer has had it for a while.

        They try it again once a millisecond. Who takes it back at once, each time, would keep
        it from them for long.
        """
        now = time.monotonic()
        if now < self._shared_until and now - self._turn > _TURN:
            time.sleep(1.5 * _POLL)
            self._turn = time.monotonic()

    def _refuse_beside_a_lease(self) -> None:
        held = _leases.get(self._path)
        if held is not None:
            raise LogBusyError(self._path, os.getpid(), os.uname().nodename, held[1], "this process")

    def _acquire(self, wait: float) -> None:
        # Imported only now: filelock costs twice the import of all the rest.
        from filelock import FileLock, Timeout  # noqa: PLC0415

        if self._file is None:
            make_folder(self._lock_path)
            self._refuse_special_file()
            self._file = FileLock(self._lock_path, mode=0o600, thread_local=False, fallback_to_soft=False)
        with telling(self._lock_path, "lock the log"):
            try:
                self._file.acquire(timeout=0)
            except Timeout:
                try:
                    self._file.acquire(timeout=wait, poll_interval=_POLL)
                except Timeout:
                    raise self._busy() from None
                self._turn = time.monotonic()
                self._shared_until = self._turn + _SHARED
        try:
            self._say_who()
        except BaseException:
            self._release()
            raise

    def _refuse_special_file(self) -> None:
        with telling(self._lock_path, "lock the log"), contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(self._lock_path).st_mode):
                raise StorageError(
                    self._lock_path,
                    "lock the log",
                    "something that is no regular file stands in the lock file's place",
                    None,
                    "remove it if nothing else needs it",
                )

    def _release(self) -> None:
        """Let go. What was written is acknowledged already, so this never fails towards the caller."""
        lock, self._file = self._file, None
        if lock is None:
            return
        for _ in range(2):
            with contextlib.suppress(OSError):
                lock.release(force=True)
                self._file = lock
                return
        # Its descriptor goes with it; the next batch takes the lock with a new one.

    def _say_who(self) -> None:
        """Leave word of the holder. It helps people; the lock does not depend on it."""
        with contextlib.suppress(OSError):
            if self._record_fd < 0:
                self._record_fd = os.open(self._lock_path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
                tighten(self._record_fd)
            record = orjson.dumps(
                {"pid": os.getpid(), "host": os.uname().nodename, "since": format_time(datetime.now(UTC))}
            )
            os.pwrite(self._record_fd, record.ljust(_RECORD - 1) + b"\n", 0)

    def _busy(self) -> LogBusyError:
        try:
            fd = os.open(self._lock_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                record = orjson.loads(os.read(fd, _RECORD))
            finally:
                closing(fd)
            pid, host, since = record["pid"], record["host"], record["since"]
        except (OSError, ValueError, TypeError, KeyError):
            return LogBusyError(self._path)
        if type(pid) is not int or type(host) is not str or type(since) is not str:
            return LogBusyError(self._path)
        state = _state_of(pid) if host == os.uname().nodename else "unknown"
        return LogBusyError(self._path, pid, host, since, state)

    def __del__(self) -> None:
        if self._record_fd >= 0:
            closing(self._record_fd)

    def close(self) -> None:
        """Let go of the lock file. A lease that is held stays held."""
        if self._record_fd >= 0 and not self._leased:
            closing(self._record_fd)
            self._record_fd = -1


def _state_of(pid: int) -> str:
    """``"running"``, ``"stopped"`` or ``"gone"``; ``"unknown"`` where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            letter = file.read().rpartition(b")")[2].split()[0]
    except FileNotFoundError:
        return "gone" if os.path.isdir("/proc/self") else "unknown"
    except (OSError, IndexError):
        return "unknown"
    return {b"T": "stopped", b"t": "stopped", b"Z": "gone", b"X": "gone"}.get(letter, "running")
