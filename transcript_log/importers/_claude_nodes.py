"""The linked records of a Claude Code session, and the API messages that they are pieces of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
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
        content: Its blocks in that order, each once, or its text; None if it has neither.
        calls: The ids of its calls.
        usage: The usage of the record that tells most output.
        stop: Why the model stopped, where a record says so.
        is_live: Whether it is part of the conversation as it is now.
        is_written: Whether it stands among the entries.
    """

    __slots__ = (
        "_joined",
        "_marks",
        "_output",
        "calls",
        "content",
        "first",
        "id",
        "is_live",
        "is_written",
        "model",
        "nodes",
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
        self.content: list[Json] | str | None = None
        self.calls: list[str] = []
        self.usage: Json = None
        self.stop: str | None = None
        self.is_live = False
        self.is_written = False
        self._output = -1  # how much the usage tells
        self._joined: list[Json] | None = None  # the content, once it is of several pieces
        self._marks: dict[str | None, list[Json]] | None = None  # the blocks, where they are many

    @property
    def blocks(self) -> list[Any]:
        """The blocks so far; none where it is plain text."""
        return self.content if type(self.content) is list else []

    def hear(self, message: Mapping[str, Json]) -> None:
        """Take in what a piece of the message tells of the whole."""
        usage = message.get("usage")
        if type(usage) is dict:
            output = usage.get("output_tokens")
            if type(output) is not int:
                output = 0
            # Later pieces tell more than those that were written while it streamed.
            if output >= self._output:
                self.usage, self._output = usage, output
        stop = message.get("stop_reason")
        if type(stop) is str:
            self.stop = stop

    def add(self, content: Json) -> int:
        """Add what a piece of the message says; how many of its blocks are there already."""
        if self.content is None:
            self.content = content if type(content) is str or type(content) is list else None
            return 0
        blocks = self._joined
        if blocks is None:
            # What was decoded is left as it is.
            blocks = [_as_block(self.content)] if type(self.content) is str else list(self.content)
            self.content = self._joined = blocks
        new = [_as_block(content)] if type(content) is str else content if type(content) is list else []
        known = len(blocks)
        for block in new:
            if not self._has(blocks, block):
                blocks.append(block)
        return known + len(new) - len(blocks)

    def _has(self, blocks: list[Json], block: Json) -> bool:
        """Whether a block is there; of many those with the same mark alone are looked at."""
        if len(blocks) < _MANY:
            return block in blocks
        if self._marks is None:
            self._marks = {}
            for one in blocks:
                self._marks.setdefault(_mark_of(one), []).append(one)
        alike = self._marks.setdefault(_mark_of(block), [])
        if block in alike:
            return True
        alike.append(block)
        return False


_MANY: Final = 16


def _as_block(said: str) -> dict[str, Json]:
    return {"type": "text", "text": said}


def _mark_of(block: Json) -> str | None:
    """A text that few blocks of a message have in common."""
    if type(block) is dict:
        for key in ("id", "text", "thinking"):
            mark = block.get(key)
            if type(mark) is str:
                return mark
    return None


class Node:
    """A record that has a place in the tree.

    Attributes:
        uuid: Its own id.
        parent: The id of the record that it follows, where that was not found at once.
        kind: ``user``, ``assistant``, ``system``, ``attachment`` or ``progress``.
        flags: What else is known of it.
        line: Its physical line, from 1.
        offset: Where that begins, in bytes.
        time: Its time; None if unknown.
        up: The record that it follows, as far as that is known.
        message: What was said: by a user, or in place of an answer. Answers are in their group.
        answered: The ids of the calls that it answers.
        extra: Of each of those what is known beside; of another kind of record what it holds.
        group: The API message that an assistant's record is a piece of.
        settings: What was in force; one object as long as nothing changes.
        agent: The subagent that said it, where the record names one.
        state: Whether it is live, once that has been judged.
        entry: The id of the entry that it went into.
    """

    __slots__ = (
        "agent",
        "answered",
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
        time: datetime | None,
        up: Node | None,
    ) -> None:
        self.uuid = uuid
        self.parent = parent
        self.kind = kind
        self.flags = flags
        self.line = line
        self.offset = offset
        self.time = time
        self.up = up
        self.message: dict[str, Json] | None = None
        self.answered: Sequence[str] = ()
        self.extra: Any = None
        self.group: Group | None = None
        self.settings: Mapping[str, str] | None = None
        self.agent: str | None = None
        self.state = 0
        self.entry: str | None = None

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
