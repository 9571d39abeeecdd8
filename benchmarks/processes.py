"""Four processes that append to one log, none of them holding a lease.

python processes.py limit|ours|agents PATH WORKER COUNT    # one of them
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import logs
import orjson
from timing import Goal, Report, Setting, Table, ratio

from transcript_log import JsonlStore, new_message

__all__ = ["measure"]

_WORKERS = 4


_KINDS = {
    "limit": "limit: flock + dumps + write + fdatasync",
    "ours": "`JsonlStore`, no lease",
    "agents": "openai-agents SQLiteSession",
}


def measure(setting: Setting) -> Report:
    count, times = (50, 3) if setting.quick else (250, 7)
    folder = os.path.join(setting.work, "processes")
    report = Report()
    kinds = list(_KINDS)
    if importlib.util.find_spec("agents") is None:
        kinds.remove("agents")
        report.missing.append("openai-agents is not installed: its four processes")
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    for index in range(times):
        for kind in kinds if index % 2 else reversed(kinds):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            rates[kind].append(_race(kind, os.path.join(folder, f"{kind}.jsonl"), count))
    shutil.rmtree(folder, ignore_errors=True)
    table = Table(
        f"{_WORKERS} processes × {count} durable appends to one session",
        ("case", "appends/s", "× of the limit", "× of SQLiteSession", "lost"),
    )
    report.tables.append(table)
    for kind in kinds:
        faster = {other: ratio(rates, kind, other) for other in ("limit", "agents") if other in kinds}
        shown = [f"{faster[other]:.2f}" if other in faster else "" for other in ("limit", "agents")]
        table.rows.append((_KINDS[kind], f"{statistics.median(rates[kind]):,.0f}", *shown, "0"))
        if kind == "ours" and "agents" in faster:
            report.goals.append(
                Goal("4 processes, no lease, of SQLiteSession", 3, faster["agents"], at_least=True)
            )
    return report


def _race(kind: str, path: str, count: int) -> float:
    """Appends a second, from the moment all begin until the last has ended."""
    _prepare(kind, path)
    workers = [
        subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), kind, path, str(worker), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)},
        )
        for worker in range(_WORKERS)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n", f"a process of {kind} failed"
    start = time.monotonic() + 0.05
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{start}\n")
        worker.stdin.flush()
    ends = [float(worker.communicate()[0]) for worker in workers]
    _check(_stored(kind, path), count)
    return _WORKERS * count / (max(ends) - start)


def _prepare(kind: str, path: str) -> None:
    if kind == "ours":
        JsonlStore(path).create()
    elif kind == "agents":
        from agents import SQLiteSession

        SQLiteSession("s", path).close()


def _stored(kind: str, path: str) -> list[dict[str, Any]]:
    if kind == "ours":
        return [dict(entry.message) for entry in JsonlStore(path).load()]
    if kind == "limit":
        with open(path, "rb") as file:
            return [orjson.loads(line) for line in file]
    from agents import SQLiteSession

    return list(asyncio.run(SQLiteSession("s", path).get_items()))


def _check(items: list[dict[str, Any]], count: int) -> None:
    assert len(items) == _WORKERS * count, f"{_WORKERS * count - len(items)} appends were lost"
    turn: Counter[int] = Counter()
    for item in items:
        worker, index = map(int, item["call_id"].split("-"))
        assert turn[worker] == index, "the appends of one process stand in another order"
        turn[worker] += 1


def _work(kind: str, path: str, worker: int, count: int) -> None:
    items = [
        {**item, "call_id": f"{worker}-{index}"}
        for index, item in enumerate(logs.outputs(count, seed=worker))
    ]
    if kind == "ours":
        store = JsonlStore(path, wait=60.0)
        _wait()
        for item in items:
            store.append(new_message(item))
    elif kind == "limit":
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        _wait()
        for item in items:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, orjson.dumps(item) + b"\n")
            os.fdatasync(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    else:
        from agents import SQLiteSession

        async def add() -> None:
            session = SQLiteSession("s", path)
            _wait()
            for item in items:
                await session.add_items([item])  # type: ignore[list-item]

        asyncio.run(add())
    print(time.monotonic())


def _wait() -> None:
    """Say that this process is ready, and wait for the moment at which all begin."""
    print("ready", flush=True)
    time.sleep(max(0.0, float(sys.stdin.readline()) - time.monotonic()))


if __name__ == "__main__":
    _work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
