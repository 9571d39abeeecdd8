"""Other keepers of sessions, through their public interfaces, each in a process of its own.

python peers.py NAME COUNT APPENDS FOLDER    # one of them: seconds of each load and append
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import os
import shutil
import sqlite3
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import logs
import orjson
from timing import Report, Setting, Table, child

from transcript_log import JsonlStore, new_message

__all__ = ["measure"]

Item = dict[str, Any]


class _Bare:
    """The limit: lines in one file, each written and synced; a load parses them, collector off."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "bare")
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def fill(self, items: list[Item]) -> None:
        os.write(self._descriptor, b"".join(orjson.dumps(item) + b"\n" for item in items))

    def append(self, item: Item) -> None:
        os.write(self._descriptor, orjson.dumps(item) + b"\n")
        os.fdatasync(self._descriptor)

    def load(self) -> list[Item]:
        gc.disable()
        try:
            with open(self._path, "rb", buffering=1 << 20) as file:
                return [orjson.loads(line) for line in file]
        finally:
            gc.enable()


class _Ours:
    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "s.jsonl")
        self._store = JsonlStore(self._path)
        self._lease = self._store.lease()

    def fill(self, items: list[Item]) -> None:
        self._store.append(*map(new_message, items))
        self._lease.__enter__()

    def append(self, item: Item) -> None:
        self._store.append(new_message(item))

    def load(self) -> list[Any]:
        return [entry.message for entry in JsonlStore(self._path).load()]


class _Sqlite:
    def __init__(self, folder: str) -> None:
        self._db = sqlite3.connect(os.path.join(folder, "raw.db"), isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, session TEXT, data BLOB)")

    def fill(self, items: list[Item]) -> None:
        self._db.execute("BEGIN")
        for item in items:
            self.append(item)
        self._db.execute("COMMIT")

    def append(self, item: Item) -> None:
        self._db.execute("INSERT INTO items (session, data) VALUES ('s', ?)", (orjson.dumps(item),))

    def load(self) -> list[Item]:
        rows = self._db.execute("SELECT data FROM items WHERE session = 's' ORDER BY id")
        return [orjson.loads(data) for (data,) in rows]


class _Agents:
    def __init__(self, folder: str) -> None:
        from agents import SQLiteSession

        self._session = SQLiteSession("s", os.path.join(folder, "agents.db"))
        self._run = asyncio.Runner().run

    def fill(self, items: list[Item]) -> None:
        self._run(self._session.add_items(items))  # type: ignore[arg-type]

    def append(self, item: Item) -> None:
        self._run(self._session.add_items([item]))  # type: ignore[list-item]

    def load(self) -> list[Any]:
        return self._run(self._session.get_items())


class _Langgraph:
    """A checkpoint holds the whole state, so every append writes all messages again."""

    def __init__(self, folder: str) -> None:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.base.id import uuid6
        from langgraph.checkpoint.sqlite import SqliteSaver

        db = sqlite3.connect(os.path.join(folder, "langgraph.db"), check_same_thread=False)
        self._saver = SqliteSaver(db)
        self._saver.setup()
        self._new, self._uuid = empty_checkpoint, uuid6
        self._thread: Any = {"configurable": {"thread_id": "s", "checkpoint_ns": ""}}
        self._items: list[Item] = []
        self._step = 0

    def fill(self, items: list[Item]) -> None:
        self._items += items
        self._put()

    def append(self, item: Item) -> None:
        self._items.append(item)
        self._put()

    def _put(self) -> None:
        checkpoint = self._new()
        checkpoint["id"] = str(self._uuid(clock_seq=self._step))
        checkpoint["channel_values"] = {"messages": self._items}
        self._step += 1
        self._saver.put(self._thread, checkpoint, {"source": "loop", "step": self._step, "parents": {}}, {})

    def load(self) -> list[Any]:
        saved = self._saver.get_tuple(self._thread)
        assert saved is not None
        return list(saved.checkpoint["channel_values"]["messages"])


class _Eventsourcing:
    def __init__(self, folder: str) -> None:
        from eventsourcing.persistence import StoredEvent
        from eventsourcing.sqlite import SQLiteFactory
        from eventsourcing.utils import Environment

        place = {"SQLITE_DBNAME": os.path.join(folder, "events.db")}
        self._recorder = SQLiteFactory(Environment("bench", place)).application_recorder()
        self._event = StoredEvent
        self._id = uuid.UUID(int=7)
        self._version = 0

    def _stored(self, item: Item) -> Any:
        self._version += 1
        return self._event(self._id, self._version, "item", orjson.dumps(item))

    def fill(self, items: list[Item]) -> None:
        self._recorder.insert_events([self._stored(item) for item in items])

    def append(self, item: Item) -> None:
        self._recorder.insert_events([self._stored(item)])

    def load(self) -> list[Item]:
        return [orjson.loads(event.state) for event in self._recorder.select_events(self._id)]


_PEERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "limit": (_Bare, "orjson"),
    "transcript_log, lease": (_Ours, "orjson"),
    "sqlite3 raw, WAL, FULL": (_Sqlite, "sqlite3"),
    "openai-agents SQLiteSession": (_Agents, "agents"),
    "langgraph SqliteSaver": (_Langgraph, "langgraph.checkpoint.sqlite"),
    "eventsourcing sqlite recorder": (_Eventsourcing, "eventsourcing"),
}


def measure(setting: Setting) -> Report:
    report = Report()
    present = []
    for name, (_, module) in _PEERS.items():
        if _is_there(module):
            present.append(name)
        else:
            report.missing.append(f"{name}: {module} is not installed")
    for count, times in ((1_000, 3),) if setting.quick else ((1_000, 5), (10_000, 5)):
        report.tables.append(_compare(setting, present, count, times))
    return report


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _compare(setting: Setting, names: list[str], count: int, times: int) -> Table:
    loads: dict[str, list[float]] = {name: [] for name in names}
    appends: dict[str, list[float]] = {name: [] for name in names}
    folder = os.path.join(setting.work, "peers")
    for index in range(times):
        for name in names if index % 2 else reversed(names):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            number = "8" if name.startswith("langgraph") else "200"
            load, append = child("peers.py", name, str(count), number, folder)
            loads[name].append(load)
            appends[name].append(append)
    shutil.rmtree(folder, ignore_errors=True)
    table = Table(
        f"Other keepers of a session of {count:,} items",
        ("case", "load, ms", "× of the limit", "durable append, µs", "× of the limit"),
        note="A load in a fresh process, the middle of three; the middle of the appends, one item each.",
    )
    for name in names:
        slower = [
            statistics.median(a / b for a, b in zip(of[name], of["limit"], strict=True))
            for of in (loads, appends)
        ]
        table.rows.append(
            (
                name,
                f"{statistics.median(loads[name]) * 1e3:,.1f}",
                f"{slower[0]:.2f}",
                f"{statistics.median(appends[name]) * 1e6:,.0f}",
                f"{slower[1]:,.2f}",
            )
        )
    return table


def _one(name: str, count: int, appends: int, folder: str) -> None:
    peer = _PEERS[name][0](folder)
    items = logs.items(count)
    more = logs.outputs(appends)
    peer.fill(items)
    loads = []
    for _ in range(3):
        gc.collect()
        begin = time.process_time()
        loaded = peer.load()
        loads.append(time.process_time() - begin)
        assert loaded == items, f"{name} gives back something else"
        del loaded
    taken = []
    for item in more:
        begin = time.perf_counter()
        peer.append(item)
        taken.append(time.perf_counter() - begin)
    assert len(peer.load()) == count + appends, f"{name} lost something"
    print(json.dumps([statistics.median(loads), statistics.median(taken)]))


if __name__ == "__main__":
    _one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
