"""Sessions as other agents might have written them, made from a seed.

A Claude Code session: turns of a user's text and API messages; a message is one record for each
of its blocks (thinking with 2 to 8 KB of signature in a quarter of them, prose, one to three calls),
each with the usage of the whole. Each output is a record of its own, with what the tool gave once
more beside it. Between them stand notes of progress, of hooks, and of files. Sizes of texts are
those of :mod:`logs`.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from logs import Author

__all__ = ["claude_code", "claude_code_lines"]

_START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
_MODEL = "claude-opus-4-6"


class _Session:
    """Writes the records of one session."""

    def __init__(self, seed: int) -> None:
        self.author = Author(seed)
        self.draw = self.author.random
        self.session = self.uuid()
        self.last: str | None = None
        self.number = 0

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.draw.getrandbits(128), version=4))

    def record(self, kind: str, parent: str | None, **more: Any) -> dict[str, Any]:
        self.number += 1
        time = _START + timedelta(milliseconds=1234 * self.number)
        self.last = self.uuid()
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/user/project",
            "sessionId": self.session,
            "version": "2.1.112",
            "gitBranch": "main",
            "slug": "zippy-munching-sundae",
            "type": kind,
            **more,
            "uuid": self.last,
            "timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Turns for ever."""
        draw, author = self.draw, self.author
        while True:
            text = author.cut(author.prose, draw.gauss(250, 100))
            message: dict[str, Any] = {"role": "user", "content": text}
            yield self.record("user", self.last, message=message, permissionMode="acceptEdits")
            yield {"type": "file-history-snapshot", "messageId": self.last, "isSnapshotUpdate": False}
            for _ in range(max(1, int(draw.expovariate(1 / 7)))):
                calls = [f"toolu_{author.name()}" for _ in range(draw.choice((1, 1, 1, 2, 3)))]
                by_call = {}
                for record in self.answer(calls):
                    yield record
                    for block in record["message"]["content"]:
                        if block["type"] == "tool_use":
                            by_call[block["id"]] = record["uuid"]
                for call in calls:
                    yield from self.output(call, by_call[call])
            yield from self.answer([])
            yield self.record("system", self.last, subtype="turn_duration", durationMs=42_426, isMeta=False)

    def answer(self, calls: list[str]) -> Iterator[dict[str, Any]]:
        """One API message, as so many records."""
        draw, author = self.draw, self.author
        blocks: list[dict[str, Any]] = []
        if draw.random() < 0.25:
            signature = author.cut(author.secret, draw.uniform(2_000, 8_000))
            thought = author.cut(author.prose, draw.gauss(500, 150))
            blocks.append({"type": "thinking", "thinking": thought, "signature": signature})
        if not calls or draw.random() < 0.45:
            blocks.append({"type": "text", "text": author.cut(author.prose, draw.gauss(800, 300))})
        for call in calls:
            given = {"command": author.cut(author.code, draw.gauss(220, 80)), "description": "Look at it"}
            blocks.append({"type": "tool_use", "id": call, "name": "Bash", "input": given})
        message_id, request = f"msg_01{author.name()}", f"req_01{author.name()}"
        usage = {
            "input_tokens": draw.randint(1, 99),
            "cache_creation_input_tokens": draw.randint(100, 9_999),
            "cache_read_input_tokens": draw.randint(1_000, 99_999),
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 1,
            "service_tier": "standard",
        }
        for place, block in enumerate(blocks, 1):
            is_last = place == len(blocks)
            yield self.record(
                "assistant",
                self.last,
                message={
                    "model": _MODEL,
                    "id": message_id,
                    "type": "message",
                    "role": "assistant",
                    "content": [block],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": {**usage, "output_tokens": draw.randint(10, 2_000)} if is_last else usage,
                },
                requestId=request,
            )

    def output(self, call: str, asked: str) -> Iterator[dict[str, Any]]:
        """What a tool gave, at times with notes of its progress before it."""
        draw, author = self.draw, self.author
        if draw.random() < 0.3:
            progress = {"type": "bash_progress", "output": "", "elapsedTimeSeconds": 2, "totalLines": 0}
            yield self.record("progress", asked, data=progress, toolUseID=call, parentToolUseID=call)
        text = author.cut(author.code, min(200_000, 2_000 * draw.lognormvariate(0, 1.35)))
        is_error = draw.random() < 0.04
        block: dict[str, Any] = {"tool_use_id": call, "type": "tool_result", "content": text}
        beside: Any = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        if is_error:
            block |= {"content": f"Exit code 1\n{text}", "is_error": True}
            beside = f"Error: Exit code 1\n{text}"
        else:
            block["is_error"] = False
        yield self.record(
            "user",
            asked,
            message={"role": "user", "content": [block]},
            toolUseResult=beside,
            sourceToolAssistantUUID=asked,
        )


def claude_code_lines(size: int, seed: int = 7) -> Iterator[bytes]:
    """The lines of a Claude Code session of about so many bytes."""
    for record in _Session(seed).records():
        if size <= 0:
            return
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        size -= len(line)
        yield line


def claude_code(work: str, size: int) -> str:
    """The path of such a session, which is made if it is not there."""
    path = os.path.join(work, f"claude-code-{size}.jsonl")
    if not os.path.exists(path):
        with open(path + ".new", "wb") as file:
            file.writelines(claude_code_lines(size))
        os.rename(path + ".new", path)
    return path
