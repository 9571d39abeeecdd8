"""One writer at a time: among processes, among stores of one process, and across a fork."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import socket
import stat
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from transcript_log import JsonlStore, LogBusyError, MessageEntry, StorageError
from transcript_log._logfile.lock import WriterLock

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_SOON = 20.0
"""How long anything may take on a busy machine, in seconds."""


def said(entry_id: str) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": entry_id})


def ids(store: JsonlStore) -> list[str]:
    return [entry.id for entry in store.load()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def quick(path: Path, wait: float = 5.0) -> JsonlStore:
    return JsonlStore(path, durability="os", wait=wait)


class Child:
    """A forked process that runs a function and says what comes of it, a line at a time."""

    def __init__(self, run: Callable[[Child], object]) -> None:
        self._code: int | None = None
        self._in, out = os.pipe()
        hear, self._out = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads
            self.pid = os.fork()
        if self.pid == 0:
            os.close(self._in)
            os.close(self._out)
            self._in, self._out = hear, out
            code = 0
            try:
                run(self)
                gc.collect()
            except BaseException as error:
                with contextlib.suppress(OSError):
                    self.say(f"{type(error).__name__}: {error}".replace("\n", " "))
                code = 1
            os._exit(code)
        os.close(hear)
        os.close(out)

    def say(self, line: str = "") -> None:
        os.write(self._out, line.encode() + b"\n")

    def hear(self) -> str:
        """The next line from the other side; empty if it is gone."""
        line = b""
        while (byte := os.read(self._in, 1)) not in (b"", b"\n"):
            line += byte
        return line.decode()

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)
        if number == signal.SIGSTOP:
            os.waitpid(self.pid, os.WUNTRACED)

    def wait(self) -> int:
        """Let it go on to its end; 0 if it raised nothing."""
        if self._code is None:
            os.close(self._out)
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self._in)
        return self._code

    def end(self) -> None:
        """Have it end, whatever it is at."""
        if self._code is None:
            os.kill(self.pid, signal.SIGCONT)
            self.wait()


@contextlib.contextmanager
def holder(path: Path) -> Iterator[Child]:
    """Another process that holds a lease on a log until it is told to end it, or killed."""

    def run(child: Child) -> None:
        with quick(path).lease():
            child.say("held")
            child.hear()

    child = Child(run)
    try:
        assert child.hear() == "held"
        yield child
    finally:
        child.end()


# --------------------------------------------------------------------- another process


def test_a_busy_log_names_who_holds_it_and_since_when(path: Path) -> None:
    before = datetime.now(UTC)
    with holder(path) as child:
        for call in (
            lambda: quick(path, 0.0).append(said("a")),
            lambda: quick(path).lease(0.0).__enter__(),
            lambda: quick(path, 0.0).create(),
            lambda: quick(path, 0.0).salvage(apply=True),
        ):
            with pytest.raises(LogBusyError) as caught:
                call()
            error = caught.value
            assert (error.path, error.pid, error.host) == (str(path), child.pid, socket.gethostname())
            assert error.state == "running"
            assert error.since is not None
            assert before - timedelta(seconds=1) <= datetime.fromisoformat(error.since) <= datetime.now(UTC)
            for word in (str(path), str(child.pid), socket.gethostname(), error.since, "locked"):
                assert word in str(error)
            assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert not path.exists()


def test_a_busy_log_says_when_its_holder_is_stopped(path: Path) -> None:
    with holder(path) as child:
        child.kill(signal.SIGSTOP)
        with pytest.raises(LogBusyError, match="it is stopped") as caught:
            quick(path, 0.0).append(said("a"))
        assert caught.value.state == "stopped"
        child.kill(signal.SIGCONT)
        with pytest.raises(LogBusyError) as caught:
            quick(path, 0.0).append(said("a"))
        assert caught.value.state == "running"


def test_a_record_that_cannot_be_read_makes_the_error_vaguer_and_no_other(path: Path) -> None:
    lock = Path(f"{path}.lock")
    with holder(path):
        for record in (b"", b"{}", b"null", b"\0" * 256, b'{"pid":"1","host":2,"since":null}'):
            with lock.open("r+b") as file:
                file.write(record.ljust(256))
            with pytest.raises(LogBusyError, match="by another writer") as caught:
                quick(path, 0.0).append(said("a"))
            assert (caught.value.pid, caught.value.state) == (None, "unknown")
        with lock.open("r+b") as file:
            file.write(b'{"pid":1,"host":"elsewhere.example","since":"x"}'.ljust(256))
        with pytest.raises(LogBusyError, match=r"process 1 on elsewhere\.example") as caught:
            quick(path, 0.0).append(said("a"))
        assert caught.value.state == "unknown"


def test_a_killed_holder_leaves_nothing_locked(path: Path) -> None:
    with holder(path) as child:
        child.kill()
        assert child.wait() == -signal.SIGKILL
        assert quick(path, 0.0).append(said("a")) == "a"
        with quick(path).lease(0.0):
            pass


def test_a_lease_that_ends_lets_the_next_one_in(path: Path) -> None:
    with holder(path) as child:
        child.say()
        assert child.wait() == 0
        with quick(path).lease(0.0):
            assert quick(path) is not None


def test_an_append_waits_for_another_process_as_long_as_it_was_told_to(path: Path) -> None:
    with holder(path) as child:
        begun = time.monotonic()
        with pytest.raises(LogBusyError):
            quick(path, 0.2).append(said("a"))
        assert 0.2 <= time.monotonic() - begun < _SOON
        timer = threading.Timer(0.1, child.say)
        timer.start()
        assert quick(path, _SOON).append(said("b")) == "b"
        timer.join()
    assert ids(quick(path)) == ["b"]


def test_readers_need_no_lock(path: Path) -> None:
    quick(path).append(said("a"))
    with holder(path):
        store = quick(path, 0.0)
        assert ids(store) == ids(store) == [entry.id for entry in store.active()] == ["a"]
        assert store.scan().findings == ()
        assert store.append() == "a"


# ------------------------------------------------------------------------- one process


def test_a_second_lease_in_one_process_fails_at_once(path: Path, tmp_path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    with store.lease():
        for other in (store, quick(path, _SOON), quick(link, _SOON)):
            begun = time.monotonic()
            with pytest.raises(LogBusyError, match="this process holds a lease") as caught:
                other.lease(_SOON).__enter__()
            assert time.monotonic() - begun < _SOON / 2
            assert (caught.value.state, caught.value.pid) == ("this process", os.getpid())
    with quick(link).lease(0.0):
        pass


def test_an_append_beside_the_lease_of_another_store_fails_at_once(path: Path) -> None:
    store = quick(path)
    with store.lease():
        begun = time.monotonic()
        with pytest.raises(LogBusyError, match="append through the store that holds it"):
            quick(path, _SOON).append(said("a"))
        assert time.monotonic() - begun < _SOON / 2
        assert store.append(said("b")) == "b"
    assert quick(path).append(said("c")) == "c"
    assert ids(store) == ["b", "c"]


def test_a_lease_ends_with_its_block_however_that_ends(path: Path) -> None:
    store = quick(path)
    with pytest.raises(KeyboardInterrupt), store.lease():
        raise KeyboardInterrupt
    with quick(path).lease(0.0), quick(path.with_name("other.jsonl")).lease(0.0):
        pass


def test_closing_a_store_does_not_end_its_lease(path: Path) -> None:
    store = quick(path)
    with store.lease():
        store.append(said("a"))
        store.close()
        with pytest.raises(LogBusyError):
            quick(path, 0.0).append(said("b"))
        assert store.append(said("c")) == "c"
    assert quick(path).append(said("d")) == "d"


def test_every_thread_of_a_store_may_append_under_its_lease(path: Path) -> None:
    store = quick(path)
    with store.lease():
        threads = [threading.Thread(target=store.append, args=(said(f"t{n}"),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(LogBusyError):
            quick(path, 0.0).append(said("other"))
    assert sorted(ids(store)) == ["t0", "t1", "t2", "t3"]


def test_threads_that_share_a_store_lose_nothing(path: Path) -> None:
    store = quick(path, _SOON)
    start = threading.Barrier(4)

    def work(thread: int) -> None:
        start.wait()
        for n in range(10):
            store.append(said(f"{thread}-{n}-a"), said(f"{thread}-{n}-b"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = ids(store)
    assert len(found) == 80
    for thread in range(4):
        own = [name for name in found if name.startswith(f"{thread}-")]
        assert own == [f"{thread}-{n}-{part}" for n in range(10) for part in "ab"]
    assert [name[:-1] for name in found[::2]] == [name[:-1] for name in found[1::2]]


# ------------------------------------------------------------------------------- a fork


def test_a_forked_child_can_neither_use_nor_end_the_lease_of_its_parent(path: Path) -> None:
    store = quick(path, 0.0)
    lease = store.lease()
    with lease:
        store.append(said("a"))

        def run(child: Child) -> None:
            for call in (lambda: store.append(said("b")), lambda: store.lease(0.0).__enter__()):
                with pytest.raises(LogBusyError) as caught:
                    call()
                assert (caught.value.pid, caught.value.state) == (os.getppid(), "running")
            lease.__exit__(None, None, None)
            store.close()

        child = Child(run)
        assert child.hear() == ""
        assert child.wait() == 0
        other = Child(lambda child: quick(path, 0.0).append(said("c")))
        assert other.hear().startswith("LogBusyError")
        assert other.wait() == 1
        assert store.append(said("d")) == "d"
    assert quick(path, 0.0).append(said("e")) == "e"
    assert ids(store) == ["a", "d", "e"]


def test_a_forked_child_that_leaves_the_block_of_a_lease_does_not_end_it(path: Path) -> None:
    store = quick(path, 0.0)
    lease = store.lease()
    with lease:
        child = Child(lambda child: lease.__exit__(None, None, None))
        assert child.hear() == ""
        assert child.wait() == 0
        other = Child(lambda child: quick(path, 0.0).append(said("a")))
        assert other.hear().startswith("LogBusyError")
        assert other.wait() == 1
        assert store.append(said("b")) == "b"
    assert ids(store) == ["b"]


def test_a_store_goes_on_in_a_forked_child_and_in_its_parent(path: Path) -> None:
    store = quick(path, _SOON)
    store.append(said("a"))

    def run(child: Child) -> None:
        assert store.append(said("b")) == "b"
        with store.lease():
            child.say("held")
            child.hear()
            store.append(said("c"))

    child = Child(run)
    assert child.hear() == "held"
    with pytest.raises(LogBusyError):
        quick(path, 0.0).append(said("x"))
    child.say()
    assert store.append(said("d")) == "d"
    assert child.wait() == 0
    assert ids(store) == ["a", "b", "c", "d"]


def test_a_child_forked_while_a_thread_appends_is_not_stuck(path: Path) -> None:
    store = quick(path, _SOON)
    done = threading.Event()

    def work() -> None:
        for n in range(10_000):
            store.append(said(f"p{n}"))
            if done.is_set():
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for n in range(5):
            child = Child(lambda child, n=n: store.append(said(f"c{n}")))  # type: ignore[misc]
            assert child.hear() == ""
            assert child.wait() == 0
    finally:
        done.set()
        thread.join()
    assert [name for name in ids(store) if name[0] == "c"] == [f"c{n}" for n in range(5)]


# ------------------------------------------------------------------------ the lock's file


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_lock_file_stands_beside_the_log_and_is_private(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with quick(path).lease():
            lock = Path(f"{path}.lock")
            assert stat.S_IMODE(lock.stat().st_mode) == 0o600
            assert os.listdir(path.parent) == ["log.jsonl.lock"]
    finally:
        os.umask(before)


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder"])
def test_anything_else_in_the_lock_files_place_is_not_touched(path: Path, kind: str) -> None:
    lock, target = Path(f"{path}.lock"), path.with_name("target")
    if kind == "link":
        target.write_bytes(b"precious")
    match kind:
        case "link" | "dangling":
            lock.symlink_to(target)
        case "fifo":
            os.mkfifo(lock)
        case "folder":
            lock.mkdir()
    for call in (lambda: quick(path).append(said("a")), lambda: quick(path).lease().__enter__()):
        with pytest.raises(StorageError, match="in the lock file's place") as caught:
            call()
        assert caught.value.filename == str(lock)
    assert not path.exists()
    assert not target.exists() or target.read_bytes() == b"precious"


def test_a_lock_that_is_let_go_keeps_no_descriptor_and_no_right(path: Path) -> None:
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    lock = WriterLock(str(path), f"{path}.lock", 0.0)
    for _ in range(3):
        with lock.batch():
            assert not lock.is_leased
        with lock.lease(0.0):
            assert lock.is_leased
            with lock.batch():
                pass
    lock.close()
    assert not lock.is_leased
    assert len(os.listdir("/dev/fd")) == before
