"""The linked records of a Claude Code session, and the API messages that they are pieces of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..entries import Json

__all__ = [
    "ANSWERS",
    "CHAINED",
    "FAILED",
    "INTERRUPTS",
    "META",
    "PLACEHOLDER",
    "REFUSED",
    "SIDECHAIN",
    "SUMMARY",
    "TEAM",
    "VIRTUAL",
    "Group",
    "Node",
    "as_text",
    "is_boundary",
]

CHAINED: Final = 1
"""It does not say what it follows: that is the record before it."""
SIDECHAIN: Final = 2
"""A subagent said it."""
TEAM: Final = 4
"""A member of a team said it."""
META: Final = 8
"""The program said it in the user's name. It was sent."""
SUMMARY: Final = 16
"""It is the summary of a compaction."""
VIRTUAL: Final = 32
"""It is there to be shown, and was never sent."""
ANSWERS: Final = 64
"""It holds an output of a call."""
INTERRUPTS: Final = 128
"""It says that the user broke a turn off."""
PLACEHOLDER: Final = 256
"""No model said it: it stands where an answer would."""
FAILED: Final = 512
"""It tells of an error of the API, where an answer would stand."""
REFUSED: Final = 1024
"""A log could not give its content back, so only its place among the others counts."""


class Group:
    """The records that one API message came in: one for each block, by the message's id.

    Attributes:
        id: The message's id; None where it has none.
        request: The id of the request that it answers.
        model: Who said it.
        prompts: How many prompts had been said when its last record came.
        first: Its first record in the file.
        nodes: All of them, in the order of the file.
        calls: The ids of its calls.
        usage: The usage of the record that tells most output.
        output: How much that is; -1 where none tells.
        stop: Why the model stopped, where a record says so.
        is_live: Whether it is part of the conversation as it is now.
        is_written: Whether it stands among the entries.
    """

    __slots__ = (
        "calls",
        "first",
        "id",
        "is_live",
        "is_written",
        "model",
        "nodes",
        "output",
        "prompts",
        "request",
        "stop",
        "usage",
    )

    def __init__(self, id: str | None, request: str | None, model: str | None, first: Node) -> None:
        self.id = id
        self.request = request
        self.model = model
        self.prompts = 0
        self.first = first
        self.nodes = [first]
        self.calls: list[str] = []
        self.usage: Json = None
        self.output = -1
        self.stop: str | None = None
        self.is_live = False
        self.is_written = False

    def hear(self, message: Mapping[str, Json]) -> None:
        """Take in what a piece of the message tells of the whole."""
        usage = message.get("usage")
        if type(usage) is dict:
            output = usage.get("output_tokens")
            if type(output) is not int:
                output = 0
            # Later pieces tell more than those that were written while it streamed.
            if output >= self.output:
                self.usage, self.output = usage, output
        stop = message.get("stop_reason")
        if type(stop) is str:
            self.stop = stop


class Node:
    """A record that has a place in the tree.

    Attributes:
        uuid: Its own id.
        parent: The id of the one that it follows; None for a root.
        kind: ``user``, ``assistant``, ``system``, ``attachment`` or ``progress``.
        flags: What else is known of it.
        line: Its physical line, from 1.
        offset: Where that begins, in bytes.
        time: Its time, as it stands there.
        message: What was said, for a user's or an assistant's record.
        extra: What came beside it: the outcome of a call, or a whole record of another kind.
        group: The API message that an assistant's record is a piece of.
        settings: What was in force; one object as long as nothing changes.
        agent: The subagent that said it, where the record names one.
        up: The record that it follows, as far as that is known.
        state: Whether it is live, once that has been judged.
        entry: The id of the entry that it went into.
    """

    __slots__ = (
        "agent",
        "entry",
        "extra",
        "flags",
        "group",
        "kind",
        "line",
        "message",
        "offset",
        "parent",
        "settings",
        "state",
        "time",
        "up",
        "uuid",
    )

    def __init__(
        self,
        uuid: str,
        parent: str | None,
        kind: str,
        flags: int,
        line: int,
        offset: int,
        time: Json,
        up: Node | None,
    ) -> None:
        self.uuid = uuid
        self.parent = parent
        self.kind = kind
        self.flags = flags
        self.line = line
        self.offset = offset
        self.time = time
        self.message: dict[str, Json] | None = None
        self.extra: Json = None
        self.group: Group | None = None
        self.settings: Mapping[str, str] | None = None
        self.agent: str | None = None
        self.up = up
        self.state = 0
        self.entry: str | None = None

    @property
    def is_said(self) -> bool:
        """Whether it is a message, and no note of the program."""
        return self.message is not None

    @property
    def blocks(self) -> list[Any]:
        """The blocks of its message; none where that is plain text."""
        content = None if self.message is None else self.message.get("content")
        return content if type(content) is list else []


def is_boundary(node: Node) -> bool:
    """Whether a compaction is marked there."""
    return node.kind == "system" and node.extra is not None and node.extra["subtype"] == "compact_boundary"


def as_text(value: Json) -> str | None:
    """A text that is not empty; None for anything else."""
    return value if type(value) is str and value else None
