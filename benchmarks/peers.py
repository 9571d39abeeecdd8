"""Other session stores, through their public interfaces. One that is not installed is left out.

Each is opened on a file of its own, takes one message at a time durably as shipped, and gives
all of them back.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import uuid
from collections.abc import Callable
from typing import Any

import orjson

__all__ = ["PEERS", "Peer"]

Message = dict[str, Any]


class Peer:
    """A store on one file."""

    name = ""

    def __init__(self, path: str) -> None:
        self.path = path

    def append(self, message: Message) -> None:
        raise NotImplementedError

    def load(self) -> list[Message]:
        raise NotImplementedError


class RawSqlite(Peer):
    """sqlite3 as one would write it by hand: a table of JSON text, WAL, synchronous FULL."""

    name = "sqlite3 by hand, WAL FULL"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute("CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, line BLOB)")

    def append(self, message: Message) -> None:
        self.db.execute("INSERT INTO log (line) VALUES (?)", (orjson.dumps(message),))

    def load(self) -> list[Message]:
        return [orjson.loads(line) for (line,) in self.db.execute("SELECT line FROM log ORDER BY n")]


class AgentsSqlite(Peer):
    """The session of the OpenAI Agents SDK that keeps itself in SQLite."""

    name = "openai-agents SQLiteSession"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        from agents import SQLiteSession

        self.loop = asyncio.new_event_loop()
        self.session = SQLiteSession("session", path)

    def append(self, message: Message) -> None:
        self.loop.run_until_complete(self.session.add_items([message]))  # type: ignore[list-item]  # any item

    def load(self) -> list[Message]:
        return self.loop.run_until_complete(self.session.get_items())  # type: ignore[return-value]  # the same


class LanggraphSqlite(Peer):
    """LangGraph's checkpointer: a checkpoint holds the whole list of messages."""

    name = "langgraph SqliteSaver"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.sqlite import SqliteSaver

        self.saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False, timeout=60))
        self.saver.setup()
        self.empty: Callable[[], Any] = empty_checkpoint
        self.config: Any = {"configurable": {"thread_id": "session", "checkpoint_ns": ""}}
        self.messages: list[Message] = []
        self.step = 0

    def append(self, message: Message) -> None:
        self.messages.append(message)
        self.step += 1
        checkpoint = self.empty()
        checkpoint["id"] = f"{self.step:020}"
        checkpoint["channel_values"] = {"messages": self.messages}
        self.saver.put(self.config, checkpoint, {"source": "loop", "step": self.step, "parents": {}}, {})

    def load(self) -> list[Message]:
        found = self.saver.get_tuple(self.config)
        return [] if found is None else found.checkpoint["channel_values"]["messages"]


class EventSourcing(Peer):
    """The SQLite recorder of the eventsourcing library."""

    name = "eventsourcing sqlite recorder"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        from eventsourcing.persistence import StoredEvent
        from eventsourcing.sqlite import SQLiteFactory
        from eventsourcing.utils import Environment

        environment = Environment("app", {"SQLITE_DBNAME": path, "SQLITE_LOCK_TIMEOUT": "60"})
        self.recorder = SQLiteFactory(environment).application_recorder()
        self.event = StoredEvent
        self.origin = uuid.UUID(int=1)
        self.version = 0

    def append(self, message: Message) -> None:
        self.recorder.insert_events([self.event(self.origin, self.version, "message", orjson.dumps(message))])
        self.version += 1

    def load(self) -> list[Message]:
        return [orjson.loads(event.state) for event in self.recorder.select_events(self.origin)]


PEERS: tuple[type[Peer], ...] = (RawSqlite, AgentsSqlite, EventSourcing, LanggraphSqlite)


def installed(folder: str) -> tuple[list[type[Peer]], list[str]]:
    """The peers that can be opened here, and why the others cannot."""
    there: list[type[Peer]] = []
    missing: list[str] = []
    for kind in PEERS:
        try:
            kind(os.path.join(folder, f"probe-{kind.__name__}.db"))
        except ImportError as error:
            missing.append(f"{kind.name}: not installed ({error})")
        else:
            there.append(kind)
    return there, missing
