"""What stands in place of what a compaction of Claude Code took away, and what it kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from .. import items
from ..context import live_rows
from ..entries import CompactionEntry, Entry, Item, MessageEntry
from ..items.portable import portable_part
from ..items.shapes import holds_outputs_alone
from ._claude_boundaries import Boundary
from ._claude_nodes import SUMMARY, Node

__all__ = ["CLEARED", "Standing", "cleared", "edited", "kept_by", "summary_items"]

CLEARED: Final = "[Old tool result content cleared]"
"""What Claude Code sends in place of an output that it cleared.

Source: https://github.com/anthropics/claude-code/issues/57788, and the release that
https://github.com/tetsuo-ai/agenc-core/pull/463 quotes, 2026-04-19.
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a compaction leaves: items, and the entry from which messages stay as they are."""

    items: tuple[Item, ...]
    first_kept: str | None
    family: str | None

    __hash__ = None  # type: ignore[assignment]  # items are dicts


def summary_items(boundary: Boundary) -> tuple[Item, ...]:
    """The messages that tell a model of what is gone, as they were sent."""
    return tuple(
        {"role": "user", "content": node.message.get("content")}
        for node in boundary.summaries
        if node.message is not None and items.text(node.message).strip()
    )


def kept_by(boundary: Boundary, entries: Sequence[Entry]) -> Standing:
    """What stands for the messages so far once a compaction is made.

    Claude Code sends the summary as it stands, and what was kept after it, or before it. Where
    what was kept is the end of the conversation, it is named by its first entry; else it is
    repeated.

    Args:
        boundary: The compaction; its records are in ``entries``.
        entries: Those before it.
    """
    summaries = summary_items(boundary)
    wanted = {node.entry for node in boundary.kept if node.entry is not None}
    tail = _tail(entries, wanted)
    calls = {
        call.id
        for entry in tail
        if entry.id in wanted
        for call in items.tool_calls(entry.message)
        if call.id is not None
    }
    kept = [entry for entry in tail if entry.id in wanted or _answers(entry.message, calls)]
    older = [node for node in boundary.kept if node.flags & SUMMARY and node.message is not None]
    if not kept and not older:
        return Standing(summaries, None, None)
    if len(kept) == len(tail) and not older and not boundary.is_before:
        return Standing(summaries, kept[0].id, None)
    repeated, family = _of_one_family(kept)
    whole = (*_messages(older), *repeated)
    return Standing(
        (*whole, *summaries) if boundary.is_before else (*summaries, *whole),
        None,
        family,
    )


def _tail(entries: Sequence[Entry], wanted: set[str]) -> list[MessageEntry]:
    """The messages from the first wanted one on; those that are no context are left out."""
    found: list[MessageEntry] = []
    left = len(wanted)
    for entry in reversed(entries):
        if not left:
            break
        if isinstance(entry, MessageEntry):
            left -= entry.id in wanted
            if not entry.interrupted:
                found.append(entry)
    return found[::-1] if not left else []


def _answers(item: Item, calls: set[str]) -> bool:
    """Whether an item holds outputs of these calls, and nothing else."""
    return holds_outputs_alone(item) and all(part.id in calls for part in items.tool_outputs(item))


def _messages(nodes: Iterable[Node]) -> list[Item]:
    return [
        {"role": "user", "content": node.message["content"]} for node in nodes if node.message is not None
    ]


def _of_one_family(entries: Sequence[MessageEntry]) -> tuple[list[Item], str | None]:
    """The items of entries, and who can read them: what others alone can read goes."""
    family = next((entry.family for entry in reversed(entries) if entry.family is not None), None)
    told: list[Item] = []
    for entry in entries:
        item = entry.message if entry.family in (None, family) else portable_part(entry.message)
        if item is not None:
            told.append(item)
    return told, family


def edited(entries: Sequence[Entry], edit: Callable[[Item, str | None], Item | None]) -> Standing | None:
    """What stands for the messages so far once some of them are changed; None if none is.

    Args:
        entries: Those before the change.
        edit: Gives an item as it is from now on, the same object if it stays, None if it goes. It
            is told the entry that the item comes from.
    """
    by_id = {entry.id: entry for entry in entries if isinstance(entry, MessageEntry | CompactionEntry)}
    rows = [row for row in live_rows(entries) if not _is_history(by_id.get(row.entry or ""))]
    changed: list[Item | None] = [edit(row.item, row.entry) for row in rows]
    cut = 0
    for place, (row, item) in enumerate(zip(rows, changed, strict=True), 1):
        if item is not row.item:
            cut = place
    if not cut:
        return None
    # What a compaction put there is no entry of its own, and can only be repeated.
    cut = max(cut, sum(row.why != "kept" for row in rows))
    if all(item is None for item in changed[:cut]):
        cut += 1  # something has to stand in place of what goes
    families = [_family_of(by_id.get(row.entry or "")) for row in rows[:cut]]
    family = next((one for one in reversed(families) if one is not None), None)
    told: list[Item] = []
    for item, of in zip(changed[:cut], families, strict=True):
        part = item if item is None or of in (None, family) else portable_part(item)
        if part is not None:
            told.append(part)
    return Standing(tuple(told), rows[cut].entry if cut < len(rows) else None, family) if told else None


def _is_history(entry: Entry | None) -> bool:
    return isinstance(entry, MessageEntry) and entry.interrupted


def _family_of(entry: Entry | None) -> str | None:
    if isinstance(entry, CompactionEntry):
        return entry.compaction.family
    return entry.family if isinstance(entry, MessageEntry) else None


def cleared(item: Item, calls: set[str]) -> Item:
    """A message with the outputs of some calls cleared; the same one if it holds none of them."""
    content = item.get("content")
    if type(content) is not list:
        return item
    blocks = [
        {**block, "content": CLEARED}
        if type(block) is dict
        and block.get("type") == "tool_result"
        and block.get("content") != CLEARED
        and type(call := block.get("tool_use_id")) is str
        and call in calls
        else block
        for block in content
    ]
    if all(new is old for new, old in zip(blocks, content, strict=True)):
        return item
    return {**item, "content": blocks}
