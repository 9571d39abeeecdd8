"""What a session holds, counted.

The numbers are taken from the entries alone, each in one pass. A number that needs the
source of an import (its records, its broken lines) is the importer's to report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from . import items
from .entries import CompactionEntry, Entry, Item, MessageEntry, RunEntry

__all__ = ["Counts", "count_entries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The numbers of one session.

    Attributes:
        entries: All entries; ``by_type`` splits them by their type.
        by_role: Messages by the role they name; an item without one is not in it.
        user: Messages of neither an assistant nor a tool; a developer's count too.
        assistant: Messages with the assistant's role.
        assistant_messages: The same, pieces of one Anthropic message counted once.
        calls: Tool calls that name an id. Calls that a provider runs itself do not count.
        results: Tool outputs.
        unanswered: Call ids that no output names.
        orphan_results: Ids that outputs name and no call has; all that name none are one more.
        parallel_groups: Messages, or runs of adjacent flat items, with more than one call.
        error_results: Outputs that are flagged as an error.
        reasoning: Pieces of reasoning, and how many of them only their producer can read whole.
        images: Pictures in messages, those inside tool results among them.
        tool_images: Pictures in flat output items and those a model made, not in ``images``.
        image_bytes: The decoded bytes of all pictures that stand in the log itself.
        compactions: Compactions.
        aborted: Runs that were cancelled; in a log without runs, messages that were broken off.
        first_time: The time of the first entry that has one; ``last_time`` of the last.
    """

    entries: int
    by_type: Mapping[str, int]
    by_role: Mapping[str, int]
    user: int
    assistant: int
    assistant_messages: int
    calls: int
    results: int
    unanswered: int
    orphan_results: int
    parallel_groups: int
    error_results: int
    reasoning: int
    opaque_reasoning: int
    images: int
    tool_images: int
    image_bytes: int
    compactions: int
    aborted: int
    first_time: datetime | None
    last_time: datetime | None

    __hash__ = None  # type: ignore[assignment]  # two fields are dicts


_ASSISTANT: Final = "assistant"
_TOOL_ROLES: Final = frozenset({"tool", "toolResult", "function"})


def count_entries(entries: Iterable[Entry]) -> Counts:
    """The numbers of a session, in one pass over its entries."""
    by_type: Counter[str] = Counter()
    first = last = None
    cancelled = 0
    messages = _Messages()
    for entry in entries:
        by_type[entry.type] += 1
        if entry.timestamp is not None:
            first, last = first or entry.timestamp, entry.timestamp
        if isinstance(entry, MessageEntry):
            messages.add(entry)
        elif isinstance(entry, RunEntry):
            cancelled += entry.run.status == "cancelled"
    count = messages.count
    return Counts(
        entries=by_type.total(),
        by_type=dict(by_type),
        by_role=dict(messages.by_role),
        user=sum(
            number
            for speaker, number in messages.by_role.items()
            if speaker != _ASSISTANT and speaker not in _TOOL_ROLES
        ),
        assistant=messages.by_role[_ASSISTANT],
        assistant_messages=messages.by_role[_ASSISTANT] - messages.pieces,
        calls=count["calls"],
        results=count["results"],
        unanswered=len(messages.called - messages.answered),
        orphan_results=len(messages.answered - messages.called),
        parallel_groups=count["groups"] + sum(n > 1 for n in messages.calls_of.values()),
        error_results=count["errors"],
        reasoning=count["reasoning"],
        opaque_reasoning=count["opaque"],
        images=count["images"],
        tool_images=count["tool_images"],
        image_bytes=count["image_bytes"],
        compactions=by_type[CompactionEntry.type],
        aborted=cancelled if by_type[RunEntry.type] else count["aborted"],
        first_time=first,
        last_time=last,
    )


class _Messages:
    """The running numbers over the messages of a session."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.by_role: Counter[str] = Counter()
        self.called: set[str] = set()
        self.answered: set[str | None] = set()
        self.pieces = 0
        self.calls_of: dict[str, int] = {}
        self._run = 0

    def add(self, entry: MessageEntry) -> None:
        item = entry.message
        count = self.count
        speaker = items.role(item)
        calls = [call.id for call in items.tool_calls(item) if call.id is not None]
        outputs = [*items.tool_outputs(item), *_nameless_outputs(item)]
        count["calls"] += len(calls)
        count["results"] += len(outputs)
        count["errors"] += sum(output.is_error for output in outputs)
        self.called.update(calls)
        self.answered.update(output.id for output in outputs)
        self._group(item, speaker, len(calls))
        if speaker is not None:
            self.by_role[speaker] += 1
        thoughts = items.reasoning(item)
        count["reasoning"] += len(thoughts)
        count["opaque"] += sum(thought.opaque for thought in thoughts)
        pictures = items.images(item)
        count["images" if speaker is not None else "tool_images"] += len(pictures)
        count["image_bytes"] += sum(picture.size_bytes for picture in pictures)
        count["aborted"] += entry.interrupted or items.is_aborted(item)

    def _group(self, item: Item, speaker: str | None, calls: int) -> None:
        if speaker is None:  # Flat: each call is an item, and adjacent ones are parallel.
            self._run = self._run + calls if calls else 0
            self.count["groups"] += bool(calls) and self._run == 2
            return
        self._run = 0
        message = items.message_id(item)
        if message is None:
            self.count["groups"] += calls > 1
            return
        if message in self.calls_of:
            self.pieces += 1
        self.calls_of[message] = self.calls_of.get(message, 0) + calls


def _nameless_outputs(item: Item) -> list[items.ToolOutputPart]:
    """What a server's own search gave, as an item of its own that names no call."""
    return [
        output for output in items.hosted_outputs(item) if output.id is None and not items.hosted_calls(item)
    ]
