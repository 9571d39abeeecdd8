"""Child processes that are left to themselves, or killed, and what they say."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable

Say = Callable[[str], None]
"""Says one line to the parent; what was said is not lost when the child is killed."""

_LIMIT = 60.0
"""How long a child may take, in seconds, before it counts as stuck."""


class Child:
    """A forked process that runs a function. What it says, a line at a time, is gathered."""

    def __init__(self, run: Callable[[Say], object]) -> None:
        self._fd, out = os.pipe()
        self._text = b""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads
            self.pid = os.fork()
        if self.pid == 0:
            os.close(self._fd)
            write, leave = os.write, os._exit  # these are not to be tampered with
            code = 0
            try:
                run(lambda line: write(out, line.encode() + b"\n") and None)
            except BaseException:
                with contextlib.suppress(OSError):
                    write(out, b"ERROR " + traceback.format_exc().replace("\n", " | ").encode() + b"\n")
                code = 1
            leave(code)
        os.close(out)

    def hears(self) -> str:
        """The next line that it says; empty if it said its last."""
        while b"\n" not in self._text and self._read():
            pass
        line, _, self._text = self._text.partition(b"\n")
        return line.decode()

    def _read(self) -> bool:
        ready, _, _ = select.select([self._fd], [], [], _LIMIT)
        if not ready:
            os.kill(self.pid, signal.SIGKILL)
            raise AssertionError("the child is stuck")
        data = os.read(self._fd, 65536)
        self._text += data
        return bool(data)

    def kill(self) -> None:
        """``kill -9``."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def ends(self) -> tuple[int, list[str]]:
        """Wait for its end: the exit code, negative for a signal, and the lines not yet heard."""
        while self._read():
            pass
        os.close(self._fd)
        begun = time.monotonic()
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begun > _LIMIT:
                self.kill()
                raise AssertionError("the child is stuck")
            time.sleep(0.0005)
        lines = self._text.decode().splitlines()
        assert not any(line.startswith("ERROR") for line in lines), lines
        return os.waitstatus_to_exitcode(status), lines
