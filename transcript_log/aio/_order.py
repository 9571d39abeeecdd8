"""Blocking work of one owner, done in threads and in order.

What waits for a lock or a disk runs in a thread of a pool that all owners share; the work of
one owner runs one after another, in the order in which it was asked for. Work that was asked
for is done: who stops waiting for it changes nothing about that.
"""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

__all__ = ["InOrder"]

T = TypeVar("T")

_THREADS: Final = 256
"""How many owners' work runs at once: those that wait for a lock must not hold up the others."""


_UNHEARD: Final = "what was cancelled while it was being done has failed"


class _Pool:
    """The threads, made when they are first needed and made anew in a child process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starter: ThreadPoolExecutor | None = None
        self._threads = ThreadPoolExecutor(_THREADS, "transcript-log")

    def start_anew(self) -> None:
        self.__init__()  # type: ignore[misc]  # a child process has the objects, not the threads

    def begin(self, work: Callable[[], object]) -> None:
        """Have some work done; for an event loop. To start a thread takes a while: another one does it."""
        with self._lock:
            if self._starter is None:
                self._starter = ThreadPoolExecutor(1, "transcript-log-starter")
        try:
            self._starter.submit(self._start, work)
        except RuntimeError:  # the main thread has ended: no pool takes anything any more
            try:
                threading.Thread(target=work, name="transcript-log").start()
            except RuntimeError:  # nor is a thread started
                work()

    def _start(self, work: Callable[[], object]) -> None:
        if not self.go_on(work):
            work()

    def go_on(self, work: Callable[[], object]) -> bool:
        """Have some work done; for the pool's own threads.

        Returns:
            Whether it will be; not where the interpreter ends, which waits for the caller alone.
        """
        try:
            self._threads.submit(work)
        except RuntimeError:
            return False
        return True


_pool: Final = _Pool()
os.register_at_fork(after_in_child=_pool.start_anew)


class _Job(NamedTuple):
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Any]
    unwanted: Callable[[Any], object]


class InOrder:
    """Does what it is given in order, one after another, in threads.

    Args:
        name: What errors that nobody waits for are said to be of.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._start_anew()

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._jobs: deque[_Job] = deque()
        self._is_running = False

    async def do(self, work: Callable[[], T], unwanted: Callable[[T], object] = lambda _: None) -> T:
        """Do some work after all that was asked for before, and wait for it.

        If the waiting is cancelled, the work is done all the same. An error that it ends in then
        goes to the exception handler of the event loop; after the loop's end it is a warning.

        Args:
            work: Called in a thread.
            unwanted: Called there with the result, if nobody waits for it any more.
        """
        if self._pid != os.getpid():  # a child process: what was under way is its parent's
            self._start_anew()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        with self._lock:  # held for no longer than it takes to look at the list
            self._jobs.append(_Job(partial(copy_context().run, work), loop, done, unwanted))
            is_first, self._is_running = not self._is_running, True
        if is_first:
            _pool.begin(self._run)
        return await done

    def _run(self) -> None:
        """Do what comes next, and leave the rest to the pool, in which others wait too."""
        while True:
            with self._lock:
                job = self._jobs.popleft()
            self._do(job)
            with self._lock:
                self._is_running = bool(self._jobs)
                if not self._is_running:
                    return
            if _pool.go_on(self._run):
                return

    def _do(self, job: _Job) -> None:
        result, error = None, None
        try:
            result = job.work()
        except BaseException as raised:  # noqa: BLE001 - it belongs to whoever waits
            error = raised
        if error is None and job.done.cancelled():
            job.unwanted(result)
            return
        try:
            job.loop.call_soon_threadsafe(self._settle, job, result, error)
        except RuntimeError:  # the loop is closed: nobody waits
            if error is None:
                job.unwanted(result)
            else:
                warnings.warn(f"{self.name}: {_UNHEARD}: {error!r}", RuntimeWarning, stacklevel=1)

    def _settle(self, job: _Job, result: Any, error: BaseException | None) -> None:
        if not job.done.done():
            if error is None:
                job.done.set_result(result)
            else:
                job.done.set_exception(error)
        elif error is None:
            _pool.begin(lambda: job.unwanted(result))
        else:
            message = f"{self.name}: {_UNHEARD}"
            job.loop.call_exception_handler({"message": message, "exception": error, "future": job.done})
