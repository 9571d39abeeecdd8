"""System calls that fail, fall short, or are the last thing that a process does.

A store makes its system calls through ``os`` and ``fcntl``. While :func:`acting` lasts, each of
them is put before a function that makes the call, or does something else.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import signal
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

CALLS: Final = (
    "open",
    "write",
    "pwrite",
    "pread",
    "preadv",
    "fdatasync",
    "fsync",
    "ftruncate",
    "link",
    "unlink",
    "mkdir",
    "fchmod",
    "close",
    "flock",
)
"""The calls that are watched."""


@dataclass(frozen=True)
class Call:
    """One system call that is about to be made.

    Attributes:
        name: Which.
        args: What it is given.
        number: Counts the calls that are watched, from 1.
        go: Makes it.
    """

    name: str
    args: tuple[Any, ...]
    number: int
    go: Callable[..., Any]


Act = Callable[[Call], Any]
"""Is put before a call, and gives what the caller gets back."""


@contextlib.contextmanager
def acting(act: Act, names: Collection[str] = CALLS) -> Iterator[list[str]]:
    """Put ``act`` before each call of ``names``. The list given holds the calls made, in their order."""
    made: list[str] = []
    real: list[tuple[Any, str, Any]] = []

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            made.append(name)
            return act(Call(name, args, len(made), lambda *other: function(*(other or args), **options)))

        return call

    for name in names:
        owner = fcntl if name == "flock" else os
        real.append((owner, name, getattr(owner, name)))
    try:
        for owner, name, function in real:
            setattr(owner, name, watched(name, function))
        yield made
    finally:
        for owner, name, function in real:
            setattr(owner, name, function)


def passing(call: Call) -> Any:
    """Make the call."""
    return call.go()


# -------------------------------------------------------------------------------- failing


def failing(at: int, code: int, *, for_good: bool = False) -> Act:
    """The call of that number fails; ``for_good``: and each after it, but for letting a lock go."""

    def act(call: Call) -> Any:
        letting_go = call.name == "flock" and call.args[1] & fcntl.LOCK_UN
        if call.number == at or (for_good and call.number > at and not letting_go):
            if call.name == "close":
                call.go()  # as Linux does: the descriptor is gone
            raise OSError(code, os.strerror(code))
        return call.go()

    return act


def falling_short(at: int, share: float, code: int | None = None) -> Act:
    """The write of that number takes a part of its bytes; the next one fails, if ``code`` is given."""

    def act(call: Call) -> Any:
        if call.number == at:
            return call.go(call.args[0], part(call.args[1], share))
        if code is not None and call.number == at + 1:
            raise OSError(code, os.strerror(code))
        return call.go()

    return act


def interrupting(at: int, *, after: bool) -> Act:
    """Ctrl-C before or after the call of that number."""

    def act(call: Call) -> Any:
        if call.number != at:
            return call.go()
        if after:
            call.go()
        raise KeyboardInterrupt

    return act


def first_then(first: Act, name: str, code: int) -> Act:
    """``first``; and from its first error on every call of ``name`` fails as well."""
    broken = False

    def act(call: Call) -> Any:
        nonlocal broken
        if broken and call.name == name:
            raise OSError(code, os.strerror(code))
        try:
            return first(call)
        except OSError as error:
            # A file that is not there, and a lock that is taken, are no faults.
            broken = broken or error.errno not in (errno.ENOENT, errno.EEXIST, errno.EAGAIN)
            raise

    return act


def part(data: Any, share: float) -> bytes:
    """The beginning of what is to be written: at least one byte, never all unless that is one."""
    raw = bytes(data)
    return raw[: max(1, min(len(raw) - 1, int(len(raw) * share)))]


# ------------------------------------------------------------------------------- killing


def die() -> None:
    """End this process as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying_before(at: int) -> Act:
    """The process ends before the call of that number."""

    def act(call: Call) -> Any:
        if call.number == at:
            die()
        return call.go()

    return act


def dying_after(at: int) -> Act:
    """The process ends after it."""

    def act(call: Call) -> Any:
        try:
            return call.go()
        finally:
            if call.number == at:
                die()

    return act


def dying_within(at: int, share: float) -> Act:
    """The process ends when it has written a part of the write of that number."""

    def act(call: Call) -> Any:
        if call.number == at:
            if call.name == "write" and len(call.args[1]):
                call.go(call.args[0], part(call.args[1], share))
            die()
        return call.go()

    return act


def dying_beyond(at: int, size: int) -> Act:
    """From the call of that number on, the process ends when it would write beyond ``size`` bytes of a file.

    What fits is written before. That goes for calls that are made in C, too.
    """

    def act(call: Call) -> Any:
        if call.number == at:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python has it ignored
        return call.go()

    return act
