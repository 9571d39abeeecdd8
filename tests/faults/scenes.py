"""Examples that run as they are, in a folder of their own, and end at a system call.

What an example does in its process is watched: the calls that change a file, the statements that
it gives to SQLite, and what the session acknowledged. A process that it starts to run itself once
more is a fork that runs the script with those words, watched as well.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import os
import runpy
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

from children import Child, Say
from hooks import Act, Call, acting, passing

from transcript_log import CompactionEntry, MessageEntry, Session
from transcript_log.entries import Entry
from transcript_log.session import OpenCall

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"

CHANGING: Final = (
    "open",
    "write",
    "pwrite",
    "fdatasync",
    "fsync",
    "ftruncate",
    "link",
    "unlink",
    "rename",
    "mkdir",
    "fchmod",
)
"""The calls that can change a file, or see to it that a change lasts."""


@dataclass(frozen=True)
class Scene:
    """A way to run an example.

    Attributes:
        script: Which.
        words: What follows its name on the command line.
        killed: The words of the process that is to die: this one, or one that it starts.
        earlier: The words of the runs before, which come to their end.
        again: The words with which it can be run once more on the log that it left; None if it
            is not written for that.
        at_once: Whether it does several things at a time, so that their order is open.
    """

    script: str
    words: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    earlier: tuple[tuple[str, ...], ...] = ()
    again: tuple[str, ...] | None = None
    at_once: bool = False

    @property
    def path(self) -> Path:
        """The script."""
        return EXAMPLES / f"{self.script}.py"


def changes(call: Call) -> bool:
    """Whether a call of :data:`CHANGING` is one that does: a file can be opened just to be read."""
    return call.name != "open" or bool(call.args[1] & (os.O_CREAT | os.O_TRUNC))


def writes(call: Call) -> bool:
    """Whether it can end half done."""
    return call.name == "write"


def among(act: Act, counts: Callable[[Call], bool]) -> Act:
    """``act``, before the calls that count. Their numbers are their own, whichever thread makes them."""
    numbers = itertools.count(1)
    return lambda call: act(replace(call, number=next(numbers))) if counts(call) else call.go()


# ------------------------------------------------------------------------------- running


def run(folder: Path, scene: Scene, act: Act = passing) -> tuple[bool, list[str]]:
    """Run the example in ``folder``: whether the process in question was killed, and what was said.

    A process says each thing when it was acknowledged, a line at a time:

    - ``kept LOG ENTRY DIGEST``: an entry is in the log; see :func:`digest`.
    - ``began LOG CALL``: the start of a call is; its tool runs from here on.
    - ``answered LOG CALL``: its output is.
    """
    code, said = Child(lambda say: _play(folder, scene, act, say)).ends()
    assert code in (0, -signal.SIGKILL, -signal.SIGXFSZ)
    ended = f"ended {-signal.SIGKILL}"
    return code != 0 or ended in said, [line for line in said if line != ended]


def _play(folder: Path, scene: Scene, act: Act, say: Say) -> None:
    os.chdir(folder)
    sys.stdout = io.StringIO()
    sys.stdin = io.StringIO("yes\n" * 9)
    me, sleep = os.getpid(), time.sleep
    # Nobody waits for what takes long; only what is started is there to be killed while it sleeps.
    time.sleep = lambda seconds: sleep(0.001 if os.getpid() == me else seconds)
    _tell(say)
    _act(scene, scene.words, act, say)


def _act(scene: Scene, words: tuple[str, ...], act: Act, say: Say) -> None:
    """The example in this process, for good: what is replaced stays so."""
    sys.argv = [str(scene.path), *words]
    subprocess.Popen = functools.partial(_Fork, scene, act, say)  # type: ignore[assignment,misc]
    with contextlib.ExitStack() as stack:
        if words == scene.killed:
            here = os.getpid()

            def act_here(call: Call) -> Any:
                # What this one starts has these hooks from it, and goes on as if there were none.
                return act(call) if os.getpid() == here else call.go()

            stack.enter_context(acting(act_here, CHANGING))
            connect = functools.partial(sqlite3.connect, factory=_watched(act_here))
            sqlite3.connect = connect  # type: ignore[assignment]
        runpy.run_path(str(scene.path), run_name="__main__")


class _Fork:
    """Stands for ``subprocess.Popen([sys.executable, SCRIPT, *WORDS])``, and starts no interpreter."""

    def __init__(self, scene: Scene, act: Act, say: Say, line: Sequence[str], **options: Any) -> None:
        assert list(line[:2]) == [sys.executable, str(scene.path)]
        words = tuple(line[2:])
        source, target = os.pipe()
        self._say = say if words == scene.killed else None
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            leave = os._exit
            try:
                os.close(source)
                sys.stdout = os.fdopen(target, "w") if "stdout" in options else io.StringIO()
                _act(scene, words, act, say)
                sys.stdout.flush()
            except BaseException:
                say("ERROR " + traceback.format_exc().replace("\n", " | "))
            leave(0)
        os.close(target)
        self.stdout = os.fdopen(source)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def poll(self) -> int | None:
        return self._wait(os.WNOHANG)

    def _wait(self, options: int) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
                if self._say is not None:
                    self._say(f"ended {self._code}")
        return self._code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stdout.close()
        self._wait(0)


def _watched(act: Act) -> type[sqlite3.Connection]:
    """Connections that put ``act`` before each statement, each row of several, and the commit."""

    class Watched(sqlite3.Connection):
        def execute(self, *args: Any) -> Any:
            return act(Call("execute", args, 0, lambda: super(Watched, self).execute(*args)))

        def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
            def each() -> Iterator[Any]:
                for row in rows:
                    act(Call("row", row, 0, lambda: None))
                    yield row

            return super().executemany(sql, each())

        def __exit__(self, *exc: Any) -> Any:
            return act(Call("commit", (), 0, lambda: super(Watched, self).__exit__(*exc)))

    return Watched


# ------------------------------------------------------------------------------- telling


def digest(entry: Entry) -> str:
    """Tells whether what an entry says is what was said; nothing for entries that say nothing."""
    match entry:
        case MessageEntry():
            said: Any = entry.message
        case CompactionEntry():
            said = entry.compaction.summary
        case _:
            return "-"
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def _tell(say: Say) -> None:
    """Have the sessions of this process say what they gave back, which is acknowledged by then."""

    def log(session: Session) -> str:
        return os.path.abspath(str(session.store.path))  # type: ignore[attr-defined]  # both stores have one

    def kept(session: Session, entries: Sequence[Entry]) -> None:
        for entry in entries:
            say(f"kept {log(session)} {entry.id} {digest(entry)}")

    def telling(name: str, entries_of: Callable[[Any], Sequence[Entry]]) -> None:
        method = getattr(Session, name)

        def told(self: Session, *args: Any, **options: Any) -> Any:
            given = method(self, *args, **options)
            kept(self, entries_of(given))
            return given

        setattr(Session, name, told)

    telling("add", lambda entries: entries)
    telling("add_response", lambda recorded: (*recorded.stand_ins, *recorded.entries))
    telling("add_output", lambda entry: (entry,))
    telling("compact", lambda entry: (entry,))
    real_call, real_run = Session.call, Session.run

    @contextlib.contextmanager
    def call(self: Session, call: Any, **options: Any) -> Iterator[Any]:
        name = (call.call if isinstance(call, OpenCall) else call).id
        with real_call(self, call, **options) as tool:
            say(f"began {log(self)} {name}")
            yield tool
        say(f"answered {log(self)} {name}")

    @contextlib.contextmanager
    def a_run(self: Session) -> Iterator[Any]:
        with real_run(self) as recorder:
            yield recorder
        kept(self, self.entries()[-1:])

    Session.call, Session.run = call, a_run  # type: ignore[method-assign]
