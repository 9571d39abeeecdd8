"""The longest time for which fifty asyncio sessions on a slow disk hold up their event loop."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import time
from collections.abc import Awaitable, Callable

from timing import Goal, Report, Setting, Table

from transcript_log import Session, Target
from transcript_log.aio import AsyncSession
from transcript_log.testing import ScriptedModel, call

__all__ = ["measure"]

_SESSIONS = 50
_DELAY = 0.02
"""What each sync takes longer, in seconds."""

_TARGET = Target("openai-responses", "gpt-5.4")


def measure(setting: Setting) -> Report:
    turns, times = (5, 3) if setting.quick else (20, 5)
    folder = os.path.join(setting.work, "stalls")
    kinds: dict[str, Callable[[str, int], Awaitable[None]]] = {
        "idle: `asyncio.sleep` alone": _idle,
        "`AsyncSession`": _in_threads,
        "`Session`, called in the loop": _in_the_loop,
    }
    longest: dict[str, list[float]] = {kind: [] for kind in kinds}
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    real = os.fdatasync

    def slow(fd: int) -> None:
        time.sleep(_DELAY)
        real(fd)

    os.fdatasync = slow
    try:
        for _ in range(times):
            for kind, agent in kinds.items():
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(folder)
                stall, seconds = asyncio.run(
                    _watched(agent, folder, turns if agent is not _in_the_loop else 1)
                )
                longest[kind].append(stall)
                took[kind].append(seconds)
    finally:
        os.fdatasync = real
        shutil.rmtree(folder, ignore_errors=True)
    table = Table(
        f"{_SESSIONS} agents × {turns} turns, each sync {_DELAY * 1000:.0f} ms slower",
        ("case", "longest stall, median", "worst", "seconds"),
        note="A turn is a message, a context, an answer with a call, its start, its output:"
        " four durable appends. The last case takes one turn.",
    )
    for kind, stalls in longest.items():
        table.rows.append(
            (
                kind,
                f"{statistics.median(stalls) * 1000:.1f} ms",
                f"{max(stalls) * 1000:.1f} ms",
                f"{statistics.median(took[kind]):.2f}",
            )
        )
    worst = statistics.median(longest["`AsyncSession`"]) * 1000
    return Report([table], [Goal("longest stall of the event loop, 50 sessions", 20, worst, "ms")])


async def _watched(
    agent: Callable[[str, int], Awaitable[None]], folder: str, turns: int
) -> tuple[float, float]:
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    watcher = asyncio.create_task(watch())
    begin = time.perf_counter()
    await asyncio.gather(*[agent(os.path.join(folder, f"{n}.jsonl"), turns) for n in range(_SESSIONS)])
    watcher.cancel()
    return longest, time.perf_counter() - begin


async def _idle(path: str, turns: int) -> None:  # noqa: ARG001 - it does nothing
    await asyncio.sleep(0.5)


async def _in_threads(path: str, turns: int) -> None:
    model = ScriptedModel(_TARGET, [call("shell", command="make")] * turns)
    async with await AsyncSession.create(path) as session:
        for turn in range(turns):
            await session.add({"role": "user", "content": f"question {turn}"})
            context = await session.context(_TARGET)
            recorded = await session.add_response(model(context.items), to=context)
            for one in recorded.calls:
                async with session.call(one) as tool:
                    tool.output("done")


async def _in_the_loop(path: str, turns: int) -> None:
    model = ScriptedModel(_TARGET, [call("shell", command="make")] * turns)
    with Session.create(path) as session:
        for turn in range(turns):
            session.add({"role": "user", "content": f"question {turn}"})
            context = session.context(_TARGET)
            recorded = session.add_response(model(context.items), to=context)
            await asyncio.sleep(0)
            for one in recorded.calls:
                with session.call(one) as tool:
                    tool.output("done")
