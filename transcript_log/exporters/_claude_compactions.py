"""What compactions of a log are in a session of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import items
from ..context import live_rows
from ..entries import CompactionEntry, Entry, Item, MessageEntry
from ..importers._claude_kept import CLEARED, cleared
from ..items.shapes import blocks_of

__all__ = ["Repeated", "cleared_calls", "repeated_messages", "summary_contents"]


def cleared_calls(entries: Sequence[Entry], entry: CompactionEntry) -> list[str]:
    """The calls whose outputs a compaction cleared, where that is all it did; none elsewhere."""
    compaction = entry.compaction
    if compaction.summary.strip() or not compaction.replacement:
        return []
    place = next(place for place, one in enumerate(entries) if one is entry)
    before = live_rows(entries[:place])[: len(compaction.replacement)]
    if len(before) < len(compaction.replacement):
        return []
    calls: list[str] = []
    for row, item in zip(before, compaction.replacement, strict=True):
        if row.item == item:
            continue
        gone = [
            str(block["tool_use_id"])
            for block in blocks_of(item)
            if block.get("type") == "tool_result" and block.get("content") == CLEARED
        ]
        if cleared(row.item, set(gone)) != item:
            return []
        calls += gone
    return calls


@dataclass(frozen=True, slots=True)
class Repeated:
    """A replacement that repeats messages of the log beside its summaries.

    Attributes:
        summaries: What stands for the other messages.
        places: Where those that it repeats stand among the entries.
        is_before: Whether they come before the summaries.
    """

    summaries: list[Item]
    places: frozenset[int]
    is_before: bool

    __hash__ = None  # type: ignore[assignment]  # items are dicts


def repeated_messages(entries: Sequence[Entry], entry: CompactionEntry) -> Repeated | None:
    """What a replacement repeats of the log; None where it is not summaries and messages of it."""
    compaction = entry.compaction
    given = list(compaction.replacement)
    if len(given) < 2 or compaction.first_kept_entry_id:
        return None
    place = next(place for place, one in enumerate(entries) if one is entry)
    said = [
        (at, one.message)
        for at, one in enumerate(entries[:place])
        if isinstance(one, MessageEntry) and not one.interrupted
    ]
    for is_before in (False, True):
        order = given[::-1] if not is_before else given
        places = _matched(order, said if is_before else said[::-1])
        rest = order[len(places) :]
        if places and rest and all(_is_summary(item) for item in rest):
            summaries = rest if is_before else rest[::-1]
            return Repeated(summaries, frozenset(places), is_before)
    return None


def _matched(given: Sequence[Item], said: Sequence[tuple[int, Item]]) -> list[int]:
    """The places of the first items, as far as they stand in what was said, in the same order."""
    places: list[int] = []
    at = 0
    for item in given:
        found = next((n for n in range(at, len(said)) if said[n][1] == item), None)
        if found is None:
            break
        places.append(said[found][0])
        at = found + 1
    return places


def _is_summary(item: Item) -> bool:
    return items.role(item) == "user" and not items.tool_outputs(item)


def summary_contents(head: Sequence[Item]) -> tuple[list[Any], bool]:
    """What stands for older messages as contents of summaries, and whether nothing else was said."""
    contents: list[Any] = []
    is_same = True
    for item in head:
        if _is_summary(item):
            contents.append(item.get("content"))
            continue
        is_same = False
        if text := "\n".join(_told(item)).strip():
            contents.append(text)
    return contents, is_same


def _told(item: Item) -> list[str]:
    """What an item says, for a model that is told of it."""
    told = []
    for part in items.parts(item):
        match part:
            case items.TextPart(text=text):
                told.append(f"The assistant said: {text}")
            case items.ToolCallPart(name=name, arguments=arguments):
                given = arguments if type(arguments) is str else json.dumps(arguments, ensure_ascii=False)
                told.append(f"The assistant called {name}: {given}")
            case items.ToolOutputPart(content=content):
                told.append(f"The tool gave back: {items.output_text(content)}")
            case _:
                pass
    return told
