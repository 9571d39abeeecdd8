"""What the fault-injection rigs know of this package: a few functions over a JSONL store.

A payload of a rig is any JSON value; it is stored as a member of a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from transcript_log import (
    CorruptLogError,
    Detail,
    JsonlStore,
    MessageEntry,
    TranscriptError,
    session_path,
)
from transcript_log.cli.text import show
from transcript_log.exporters import ExportSource
from transcript_log.exporters.html import export_html

NAME = "transcript_log"
FILE_BASED = True
BATCH_ATOMIC = True
CHECKSUMS = True
HAS_DETAILS = True
THREAD_SAFE_STORE = True
LOAD_ERRORS = (TranscriptError,)
APPEND_ERRORS = (TranscriptError,)

_WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def open_store(path: str, durable: bool = False) -> JsonlStore:
    store = JsonlStore(path, durability="fsync" if durable else "os", wait=60.0)
    store.create(exist_ok=True)
    return store


def append(store: JsonlStore, entries: list[tuple[str, Any]], details: dict[str, Any] | None = None) -> None:
    batch = [
        MessageEntry(id=name, timestamp=_WHEN, message={"payload": payload}) for name, payload in entries
    ]
    store.append(*batch, details=[Detail(id=name, payload=value) for name, value in (details or {}).items()])


def close(store: JsonlStore) -> None:
    store.close()


def _pair(entry: Any) -> tuple[str, Any]:
    return entry.id, entry.message["payload"]


def load(path: str) -> list[tuple[str, Any]]:
    return [_pair(entry) for entry in JsonlStore(path).load()]


def stream(path: str) -> Iterator[tuple[str, Any]]:
    return (_pair(entry) for entry in JsonlStore(path).read())


def load_details(path: str) -> dict[str, Any]:
    return {name: payload for (name, _), payload in JsonlStore(path).details().items()}


def repair(path: str) -> None:
    JsonlStore(path).salvage(apply=True)


def error_position(error: BaseException) -> tuple[int, int] | None:
    return (error.line, error.offset) if isinstance(error, CorruptLogError) else None


def log_files(path: str) -> list[str]:
    store = JsonlStore(path)
    return [path, store.details_path]


def path_for(root: str, session_id: str) -> str:
    return session_path(root, session_id)


def render_text(payload: Any) -> str:
    return show(payload)


def render_html(payload: Any) -> str:
    """A page with a payload wherever one can stand: text that is said, and arguments and output of a call."""
    text = payload if isinstance(payload, str) else "text"
    items: list[dict[str, Any]] = [
        {"role": "user", "content": f"said {text}"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": f"thought {text}"}]},
        {"role": "assistant", "content": f"said {text}"},
        {"type": "function_call", "call_id": "c", "name": f"tool {text}", "arguments": payload},
        {"type": "function_call_output", "call_id": "c", "output": f"output {text}"},
    ]
    entries = [
        MessageEntry(id=f"{number} {text}", timestamp=_WHEN, message=item)
        for number, item in enumerate(items)
    ]
    return "".join(export_html(ExportSource(name=f"name {text}", entries=entries)).pieces)
