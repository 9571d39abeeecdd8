"""Claude Code sessions for tests, written record by record, one second apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from transcript_log.entries import Item
from transcript_log.families import Target
from transcript_log.importers import Imported
from transcript_log.importers.claude_code import import_claude_code

__all__ = ["CLAUDE", "START", "Written", "call", "result", "text", "turns"]

CLAUDE: Final = Target("anthropic-messages", "claude-opus-4-6")
START: Final = datetime(2026, 1, 2, 3, tzinfo=UTC)
"""The time before the first record."""


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {"command": "ls"}}


def result(call_id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"tool_use_id": call_id, "type": "tool_result", "content": content, **more}


def turns(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Items as one message a turn, the way Claude Code sends them: neighbours of one role together."""
    out: list[dict[str, Any]] = []
    for item in items:
        content = item["content"]
        blocks = [text(content)] if isinstance(content, str) else content
        if out and out[-1]["role"] == item["role"]:
            out[-1]["content"] = [*out[-1]["content"], *blocks]
        else:
            out.append({"role": item["role"], "content": list(blocks)})
    return out


class Written:
    """A session under way: each record follows the one before it, unless it says otherwise."""

    def __init__(self, **stamps: Any) -> None:
        self.lines: list[bytes] = []
        self.stamps = {
            "isSidechain": False,
            "sessionId": "s-1",
            "version": "2.1.112",
            "cwd": "/src",
        } | stamps
        self.last: str | None = None
        self.count = 0

    def raw(self, line: bytes) -> Written:
        self.lines.append(line)
        return self

    def other(self, kind: str, **members: Any) -> Written:
        """A record that has no place in the tree."""
        return self.raw(json.dumps({"type": kind, **members}).encode() + b"\n")

    def record(self, kind: str, uuid: str, **members: Any) -> Written:
        """A record that has one."""
        self.count += 1
        time = (START + timedelta(seconds=self.count)).isoformat().replace("+00:00", "Z")
        placed = {"parentUuid": self.last, **self.stamps, "type": kind, "uuid": uuid, "timestamp": time}
        self.last = uuid
        return self.raw(json.dumps(placed | members).encode() + b"\n")

    def user(self, uuid: str, content: Any, **members: Any) -> Written:
        return self.record("user", uuid, message={"role": "user", "content": content}, **members)

    def answers(self, uuid: str, call_id: str, content: Any = "done", **members: Any) -> Written:
        """The record of an output."""
        return self.user(uuid, [result(call_id, content)], **members)

    def says(
        self,
        uuid: str,
        message: str | None,
        *blocks: dict[str, Any],
        model: str = "claude-opus-4-6",
        stop: str | None = None,
        usage: dict[str, Any] | None = None,
        **members: Any,
    ) -> Written:
        """One record of an answer."""
        said = {
            "model": model,
            "id": message,
            "type": "message",
            "role": "assistant",
            "content": list(blocks),
        }
        said |= {"stop_reason": stop, "usage": usage or {"input_tokens": 1, "output_tokens": 1}}
        members.setdefault("requestId", f"req_{message}")
        return self.record("assistant", uuid, message=said, **members)

    def note(self, uuid: str, subtype: str, **members: Any) -> Written:
        return self.record("system", uuid, subtype=subtype, **members)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.lines)

    def imported(self, path: str | None = "session.jsonl") -> Imported:
        return import_claude_code(self.lines, path=path)
