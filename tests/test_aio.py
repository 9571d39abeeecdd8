"""The session for asyncio: same names, the same order, and an event loop that is never held up."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import inspect
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_responses import responses
from situations import call, user

from transcript_log import (
    CorruptLogError,
    EntryError,
    LogBusyError,
    MessageEntry,
    Session,
    StorageError,
    Target,
)
from transcript_log.aio import AsyncSession
from transcript_log.entries import ContextAttachment
from transcript_log.errors import EntryNotFoundError
from transcript_log.memory import MemoryStore
from transcript_log.response import ToolCall

R: Final = Target("openai-responses", "gpt-5.4")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def texts(session: Session) -> list[Any]:
    return [entry.message.get("content") for entry in session.entries() if isinstance(entry, MessageEntry)]


class Gated(MemoryStore):
    """Adds nothing as long as its gate is closed, and tells when somebody stands before it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.waiting = threading.Event()
        self.error: Exception | None = None

    def append(self, *entries: Any, **more: Any) -> str:
        if entries or more.get("details"):
            self.waiting.set()
            assert self.gate.wait(10)
            if self.error is not None:
                raise self.error
        return super().append(*entries, **more)


# ---------------------------------------------------------------------------- the names


def members(of: type) -> dict[str, Any]:
    return {name: member for name, member in vars(of).items() if not name.startswith("_")}


def test_it_has_the_names_of_a_session_and_their_arguments() -> None:
    mine, theirs = members(AsyncSession), members(Session)
    assert mine.keys() - theirs.keys() == {"over"}
    assert theirs.keys() - mine.keys() == set()
    for name, method in theirs.items():
        if isinstance(method, property):
            assert isinstance(mine[name], property)
            continue
        asked = inspect.signature(getattr(AsyncSession, name)).parameters
        given_ = dict(inspect.signature(getattr(Session, name)).parameters)
        if name == "follow":
            del given_["stop"]
        assert [(one.name, one.kind, one.default) for one in asked.values()] == [
            (one.name, one.kind, one.default) for one in given_.values()
        ], name


def test_each_method_does_what_that_of_a_session_does(log: Path) -> None:
    async def main() -> None:
        async with await AsyncSession.create(log, cwd="/src", durability="os") as session:
            async with session.run() as run:
                await session.add(user("x"), ids=["m1"])
                sent = await session.context(R)
                recorded = await session.add_response(
                    responses([call("c1"), call("c2")]), to=sent, request={"tools": []}
                )
                async with session.call(recorded.calls[0]) as tool:
                    tool.output("done")
                assert [one.call.id for one in await session.open_calls()] == ["c2"]
                await session.add_output(recorded.calls[1], "also done")
            assert run.first_entry_id == "m1"
            await session.attach(
                ContextAttachment(
                    attachment_id="a",
                    epoch=0,
                    kind="rules",
                    placement="prefix",
                    revision="1",
                    rendered="Be brief.",
                )
            )
            await session.add(user("y"))
            assert len((await session.context(R, attachments=True)).items) == 7
            assert (await session.context_at("m1", R)).items == [user("x")]
            plan = await session.plan_compaction(R, keep_tokens=0)
            assert plan is not None
            await session.compact(plan, "so far")
            assert "so far" in str((await session.context(R)).items)
            assert len((await session.history()).events) > 5
            async with await session.fork(log.parent / "fork.jsonl", at="m1") as fork:
                assert [entry.id for entry in await fork.entries()] == ["m1"]
            with pytest.raises(EntryError):
                await session.retry(ValueError())
            assert session.head == (await session.entries())[-1].id
            assert session.damage == ()
            assert repr(session).startswith("<AsyncSession ")
        with pytest.raises(StorageError, match="closed"):
            await session.add(user("z"))

    asyncio.run(main())
    with Session.open(log) as session:
        assert texts(session)[0] == "x"
        assert session.open_calls() == ()


def test_a_session_over_any_store_and_in_memory() -> None:
    async def main() -> None:
        store = MemoryStore()
        async with await AsyncSession.over(store) as session:
            await session.add(user("x"))
            assert session.store is store
        assert len(store.load()) == 1
        async with AsyncSession.in_memory() as session:
            await session.add(user("x"))
            assert len(await session.entries()) == 1

    asyncio.run(main())


# ---------------------------------------------------------------------------- the order


@given(
    plan=st.lists(
        st.tuples(st.sampled_from(["wait", "cancel now", "cancel soon", "cancel late"]), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    ),
    seed=st.integers(0, 2**16),
)
def test_what_is_written_stands_in_the_order_of_the_calls_whatever_is_cancelled(
    plan: list[tuple[str, int]], seed: int
) -> None:
    chance = random.Random(seed)
    naps = [chance.random() / 2000 for _ in range(64)]

    class Slow(MemoryStore):
        def append(self, *entries: Any, **more: Any) -> str:
            time.sleep(naps[len(entries) + chance.randrange(60)])
            return super().append(*entries, **more)

    async def main() -> tuple[list[int], list[int]]:
        begun: list[int] = []
        acknowledged: list[int] = []

        async def write(number: int) -> None:
            begun.append(number)
            await session.add(user(str(number)))
            acknowledged.append(number)

        async with await AsyncSession.over(store) as session:
            tasks = []
            for number, (fate, turns) in enumerate(plan):
                task = asyncio.create_task(write(number))
                tasks.append(task)
                if fate == "cancel now":
                    task.cancel()
                for _ in range(turns):
                    await asyncio.sleep(0)
                if fate == "cancel soon":
                    task.cancel()
                elif fate == "cancel late":
                    asyncio.get_running_loop().call_later(naps[number], task.cancel)
            await asyncio.gather(*tasks, return_exceptions=True)
        return begun, acknowledged

    store = Slow()
    begun, acknowledged = asyncio.run(main())
    written = [int(entry.message["content"]) for entry in store.load() if isinstance(entry, MessageEntry)]
    assert written == begun == sorted(begun)  # each once, in the order of the calls
    assert set(acknowledged) <= set(written)
    assert set(acknowledged) >= {number for number, (fate, _) in enumerate(plan) if fate == "wait"}


def test_a_write_is_done_though_nobody_waits_and_the_next_comes_after_it() -> None:
    async def main() -> None:
        store = Gated()
        session = await AsyncSession.over(store)
        first = asyncio.create_task(session.add(user("first")))
        await asyncio.to_thread(store.waiting.wait, 10)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first  # at once: the gate is closed
        second = asyncio.create_task(session.add(user("second")))
        await asyncio.sleep(0.01)
        assert not second.done()
        store.gate.set()
        await second
        said_ = [entry.message["content"] for entry in await session.entries()]  # type: ignore[union-attr]
        assert said_ == ["first", "second"]

    asyncio.run(main())


def test_an_error_that_nobody_waits_for_goes_to_the_loop() -> None:
    told: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
        store = Gated()
        store.error = StorageError("m", "write", "no space")
        session = await AsyncSession.over(store)
        task = asyncio.create_task(session.add(user("x")))
        await asyncio.to_thread(store.waiting.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.gate.set()
        await session.close()
        store.error = None
        (what,) = told
        again = await AsyncSession.over(store)
        await again.retry(what["exception"])
        assert len(await again.entries()) == 1

    asyncio.run(main())
    assert "<Session" in told[0]["message"]


def test_an_error_that_somebody_waits_for_is_raised_and_told_nobody_else() -> None:
    told: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
        async with AsyncSession.in_memory() as session:
            with pytest.raises(EntryError):
                await session.add(user("x"), ids=[])

    asyncio.run(main())
    gc.collect()
    assert told == []


# -------------------------------------------------------------------------- cancellation


async def asked(session: AsyncSession) -> ToolCall:
    await session.add(user("x"))
    recorded = await session.add_response(responses([call("c1")]), to=await session.context(R))
    return recorded.calls[0]


def test_a_tool_that_is_cancelled_is_on_record_as_cancelled(log: Path) -> None:
    async def main() -> None:
        async with await AsyncSession.create(log) as session:
            one = await asked(session)

            async def work() -> None:
                async with session.run(), session.call(one):
                    await asyncio.sleep(60)

            task = asyncio.create_task(work())
            while not await started(session):
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await session.open_calls() == ()
            *_, output, run = await session.entries()
            assert "cancelled" in str(output)
            assert run.run.status == "cancelled"  # type: ignore[union-attr]

    async def started(session: AsyncSession) -> bool:
        (open_call,) = await session.open_calls()
        return open_call.has_begun

    asyncio.run(main())


def test_a_tool_whose_start_is_cancelled_does_not_run_and_is_not_left_open() -> None:
    async def main() -> None:
        store = Gated()
        store.gate.set()
        session = await AsyncSession.over(store)
        one = await asked(session)
        store.gate.clear()
        store.waiting.clear()
        ran = []

        async def work() -> None:
            async with session.call(one):
                ran.append(one)

        task = asyncio.create_task(work())
        await asyncio.to_thread(store.waiting.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ran == []
        assert await session.open_calls() == ()
        assert [payload for payload in store.details().values() if "cancelled" in str(payload)]

    asyncio.run(main())


def test_what_a_tool_raises_is_on_record_and_raised() -> None:
    async def main() -> None:
        async with AsyncSession.in_memory() as session:
            one = await asked(session)
            with pytest.raises(ValueError, match="no such file"):
                async with session.call(one):
                    raise ValueError("no such file")
            (two,) = (await session.add_response(responses([call("c2")]), to=await session.context(R))).calls
            async with session.call(two, suppress=ValueError):
                raise ValueError("no such folder")
            assert "no such folder" in str((await session.entries())[-1])
            with pytest.raises(EntryError, match="nowhere"):
                async with session.call(ToolCall(id="nowhere", name="x", arguments={})):
                    raise AssertionError("it must not run")
            assert await session.open_calls() == ()

    asyncio.run(main())


@pytest.mark.parametrize("times", range(1, 4))
def test_an_opening_that_is_cancelled_leaves_no_lease_behind(log: Path, times: int) -> None:
    Session.create(log).close()

    async def main() -> None:
        task = asyncio.create_task(AsyncSession.open(log))
        for _ in range(times):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(1000):
            try:
                session = await AsyncSession.open(log)
            except LogBusyError:
                await asyncio.sleep(0.005)
            else:
                return await session.close()
        raise AssertionError("the lease was never given back")

    asyncio.run(main())


@pytest.mark.parametrize("is_late", [False, True], ids=["while the loop runs", "after its end"])
def test_what_was_opened_for_nobody_is_closed(
    log: Path, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    Session.create(log).close()
    opening, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    kept = []
    real = Session.__init__

    def slow(self: Session, *args: Any, **more: Any) -> None:
        kept.append(self)  # so that it is not closed by being forgotten
        opening.set()
        assert go_on.wait(10)
        real(self, *args, **more)

    close = Session.close
    monkeypatch.setattr(Session, "__init__", slow)
    monkeypatch.setattr(Session, "close", lambda self: (close(self), closed.set()))

    async def main() -> None:
        task = asyncio.create_task(AsyncSession.open(log))
        await asyncio.to_thread(opening.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if not is_late:
            go_on.set()
            assert await asyncio.to_thread(closed.wait, 10)

    asyncio.run(main())
    go_on.set()
    assert closed.wait(10)
    monkeypatch.undo()
    Session.open(log).close()


# ---------------------------------------------------------------------------- following


def test_a_viewer_follows_until_it_stops(log: Path) -> None:
    async def main() -> None:
        before = threading.active_count()
        async with await AsyncSession.create(log) as session:
            await session.add(user("0"))
            seen: list[Any] = []

            async def view() -> None:
                async with await AsyncSession.open(log, mode="read") as viewer:
                    async for batch in viewer.follow():
                        seen.extend(entry.message["content"] for entry in batch)  # type: ignore[union-attr]
                        if len(seen) == 4:
                            return

            task = asyncio.create_task(view())
            for number in range(1, 4):
                await session.add(user(str(number)))
                await asyncio.sleep(0.01)
            await asyncio.wait_for(task, 20)
            assert seen == ["0", "1", "2", "3"]
        while any(thread.name == "transcript-log-follow" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)
        assert threading.active_count() < before + 10

    asyncio.run(main())


def test_a_viewer_that_is_cancelled_lets_go(log: Path) -> None:
    async def main() -> None:
        async with await AsyncSession.create(log) as session:

            async def view() -> None:
                async for _ in session.follow():
                    raise AssertionError("there is nothing to see")

            task = asyncio.create_task(view())
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while any(thread.name == "transcript-log-follow" for thread in threading.enumerate()):
                await asyncio.sleep(0.01)
            await session.add(user("x"))

    asyncio.run(main())


def test_what_is_wrong_while_following_is_raised(log: Path) -> None:
    async def main() -> None:
        async with await AsyncSession.create(log) as session:
            await session.add(user("x"))
            with pytest.raises(EntryNotFoundError, match="'nowhere'"):
                async for _ in session.follow("nowhere"):
                    pass
            with log.open("ab") as file:
                file.write(b"{broken}\n")
            with pytest.raises(CorruptLogError, match="line 3"):
                async for _ in session.follow():
                    pass
        async with AsyncSession.in_memory() as session:
            with pytest.raises(StorageError, match="cannot tell"):
                async for _ in session.follow():
                    pass

    asyncio.run(main())


def test_more_batches_than_fit_ahead_come_in_order(log: Path) -> None:
    with Session.create(log, durability="os") as made:
        for number in range(60):
            made.add(user(str(number)))

    async def main() -> None:
        seen: list[Any] = []
        async with await AsyncSession.open(log, mode="read") as session:
            async for batch in session.follow():
                seen += [entry.message["content"] for entry in batch]  # type: ignore[union-attr]
                if len(seen) >= 60:
                    break
        assert seen == [str(number) for number in range(60)]

    asyncio.run(main())


def test_a_viewer_that_stops_early_leaves_no_thread_behind(log: Path) -> None:
    with Session.create(log, durability="os") as made:
        for number in range(60):
            made.add(user(str(number)))

    async def main() -> None:
        async with await AsyncSession.open(log, mode="read") as session:
            async with contextlib.aclosing(session.follow()) as batches:
                async for _ in batches:
                    await asyncio.sleep(0.05)  # until as many are taken ahead as may be
                    break
            for _ in range(500):
                if not any(thread.name == "transcript-log-follow" for thread in threading.enumerate()):
                    return
                await asyncio.sleep(0.01)
            raise AssertionError("the thread goes on for ever")

    asyncio.run(main())


def test_a_log_that_has_an_end_is_followed_to_its_end() -> None:
    class Ending(MemoryStore):
        def follow(self, after: str | None = None, **_: Any) -> Any:
            yield from [tuple(self.load())]

    async def main() -> None:
        async with await AsyncSession.over(Ending()) as session:
            await session.add(user("x"))
            assert [len(batch) async for batch in session.follow()] == [1]

    asyncio.run(main())


# ------------------------------------------------------------------------- the event loop

_WATCHED: Final = [
    (os, "open"),
    (os, "read"),
    (os, "pread"),
    (os, "preadv"),
    (os, "write"),
    (os, "fsync"),
    (os, "fdatasync"),
    (os, "stat"),
    (fcntl, "flock"),
    (time, "sleep"),
]


@pytest.fixture
def blocking(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which calls of the system were made, and by which threads."""
    seen: list[tuple[str, int]] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **more: Any) -> Any:
            seen.append((name, threading.get_ident()))
            return real(*args, **more)

        return wrapper

    for module, name in _WATCHED:
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    return seen


async def whole_life(log: Path) -> None:
    """Whatever a session does, once."""
    async with await AsyncSession.create(log) as session:
        one = await asked(session)
        async with session.run(), session.call(one) as tool:
            tool.output("done")
        await session.add(user("y"))
        await session.context(R)
        await session.history()
        plan = await session.plan_compaction(R, keep_tokens=0)
        assert plan is not None
        await session.compact(plan, "so far")
        async for _ in session.follow():
            break
        async with await session.fork(log.parent / f"fork-of-{log.name}"):
            pass
    async with await AsyncSession.open(log, mode="shared") as session:
        await session.add(user("z"))
        await session.entries()
        await session.open_calls()
    async with await AsyncSession.open(log, mode="read") as session:
        await session.context(R)


def test_no_call_of_the_system_is_made_by_the_loops_own_thread(
    log: Path, blocking: list[tuple[str, int]]
) -> None:
    asyncio.run(whole_life(log))
    assert {name for name, _ in blocking} >= {"open", "preadv", "write", "fdatasync"}
    assert {name for name, thread in blocking if thread == threading.get_ident()} == set()


def test_fifty_sessions_on_a_slow_disk_do_not_hold_up_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delay = 0.25
    real = os.fdatasync

    def slow(fd: int) -> None:
        time.sleep(delay)
        real(fd)

    monkeypatch.setattr(os, "fdatasync", slow)
    stalls: list[float] = []

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            stalls.append(time.monotonic() - before)

    async def one(number: int) -> None:
        async with await AsyncSession.create(tmp_path / f"s{number}.jsonl") as session:
            for step in range(2):
                await session.add(user(str(step)))

    async def main() -> float:
        watcher = asyncio.create_task(watch())
        before = time.monotonic()
        await asyncio.gather(*[one(number) for number in range(50)])
        took = time.monotonic() - before
        watcher.cancel()
        return took

    took = asyncio.run(main())
    assert max(stalls) < delay  # a single sync on the loop's own thread would be as long
    assert took < 50 * 3 * delay / 4  # their disks were waited for at once
    for number in range(50):
        with Session.open(tmp_path / f"s{number}.jsonl") as session:
            assert texts(session) == ["0", "1"]


# ----------------------------------------------------------------------- processes


def run_python(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, timeout=60, check=False
    )


def test_what_was_called_is_done_before_the_program_ends(log: Path) -> None:
    code = """
import asyncio, sys
from transcript_log.aio import AsyncSession

async def main():
    session = await AsyncSession.create(sys.argv[1], durability="os")
    tasks = [asyncio.create_task(session.add({"role": "user", "content": str(n)})) for n in range(3000)]
    await asyncio.sleep(0)
    # Nobody waits: asyncio.run cancels them all.

asyncio.run(main())
"""
    done = run_python(code, log)
    assert done.returncode == 0, done.stderr
    with Session.open(log) as session:
        assert texts(session) == [str(number) for number in range(3000)]


def test_a_child_process_has_threads_of_its_own(log: Path) -> None:
    code = """
import asyncio, os, sys
from transcript_log.aio import AsyncSession

async def main(text):
    async with await AsyncSession.open(sys.argv[1], mode="shared") as session:
        await session.add({"role": "user", "content": text})

asyncio.run(main("parent"))
child = os.fork()
asyncio.run(main("child" if child == 0 else "parent again"))
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    Session.create(log).close()
    done = run_python(code, log)
    assert done.returncode == 0, done.stderr
    with Session.open(log) as session:
        assert sorted(texts(session)) == ["child", "parent", "parent again"]


ENDINGS: Final = {
    "in another thread": (
        "import threading, time\n"
        "def run():\n"
        "    time.sleep(0.2)  # the main thread has ended by then\n"
        "    asyncio.run(main())\n"
        "threading.Thread(target=run).start()\n"
    ),
    "at exit": "import atexit\natexit.register(lambda: asyncio.run(main()))\n",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_session_works_while_the_interpreter_ends(log: Path, ending: str) -> None:
    code = """
import asyncio, sys
from transcript_log.aio import AsyncSession

async def main():
    async with await AsyncSession.create(sys.argv[1]) as session:
        for number in range(5):
            await session.add({"role": "user", "content": str(number)})

"""
    done = run_python(code + ending, log)
    assert done.returncode == 0, done.stderr
    with Session.open(log) as session:
        assert texts(session) == ["0", "1", "2", "3", "4"]


def test_a_child_process_may_go_on_with_its_parents_session(log: Path) -> None:
    code = """
import asyncio, os, sys, time
from transcript_log import Session
from transcript_log.aio import AsyncSession

class Slow(Session):
    def add(self, *items, **more):
        time.sleep(0.3)
        return super().add(*items, **more)

session = AsyncSession(Slow.open(sys.argv[1], mode="shared"))
loop = asyncio.new_event_loop()
task = loop.create_task(session.add({"role": "user", "content": "parent"}))
loop.run_until_complete(asyncio.sleep(0.05))
child = os.fork()  # while a write is under way
if child == 0:
    asyncio.new_event_loop().run_until_complete(session.add({"role": "user", "content": "child"}))
    os._exit(0)
loop.run_until_complete(task)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    Session.create(log).close()
    done = run_python(code, log)
    assert done.returncode == 0, done.stderr
    with Session.open(log) as session:
        assert sorted(texts(session)) == ["child", "parent"]


def test_an_error_after_the_end_of_the_loop_is_warned_of() -> None:
    code = """
import asyncio, time
from transcript_log import StorageError
from transcript_log.aio import AsyncSession
from transcript_log.memory import MemoryStore

class Full(MemoryStore):
    def append(self, *entries, **more):
        if entries:
            time.sleep(0.3)
            raise StorageError("m", "write", "no space left")
        return super().append(*entries, **more)

async def main():
    session = await AsyncSession.over(Full())
    asyncio.create_task(session.add({"role": "user", "content": "x"}))
    await asyncio.sleep(0.05)

asyncio.run(main())
"""
    done = run_python(code)
    assert "no space left" in done.stderr
    assert "has failed" in done.stderr


def test_a_killed_program_leaves_what_was_acknowledged(log: Path) -> None:
    code = """
import asyncio, os, signal, sys
from transcript_log.aio import AsyncSession

async def main():
    session = await AsyncSession.create(sys.argv[1])
    for number in range(5):
        await session.add({"role": "user", "content": str(number)})
    asyncio.ensure_future(session.add({"role": "user", "content": "5"}))
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
    assert run_python(code, log).returncode == -signal.SIGKILL
    with Session.open(log) as session:
        assert texts(session) == ["0", "1", "2", "3", "4"]


def test_many_tasks_of_one_session_lose_nothing() -> None:
    async def main() -> None:
        numbers = count()

        async def agent(session: AsyncSession) -> None:
            for _ in range(20):
                await session.add(user(str(next(numbers))))

        async with AsyncSession.in_memory() as session:
            agents: list[Coroutine[Any, Any, None]] = [agent(session) for _ in range(20)]
            await asyncio.gather(*agents)
            found = [entry.message["content"] for entry in await session.entries()]  # type: ignore[union-attr]
            assert sorted(map(int, found)) == list(range(400))

    asyncio.run(main())
