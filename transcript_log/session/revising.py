"""What a conversation holds now, and what is put in the place of that.

A log forgets nothing, so what is taken back is an entry too: a compaction whose replacement is
what is left. It is the last word (:data:`transcript_log.boundary.NOTHING`), so that every
reading of the log sees the same items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ..boundary import NOTHING, SUMMARY_PREFIX, SUMMARY_SUFFIX
from ..context import live_rows
from ..entries import Compaction, CompactionEntry, Detail, Entry, Item, MessageEntry, new_compaction
from ..errors import FamilyRequiredError
from ..families import Target
from ..items.portable import is_private
from ..items.shapes import user_item
from ._writing import Writer

__all__ = ["Revise", "live_items", "put_revision"]

Revise: TypeAlias = Callable[[tuple[Item, ...]], Sequence[Item]]
"""Gives the items that a conversation is to hold, told those that it holds."""


class _Live(NamedTuple):
    """An item of the conversation, the message that it is kept as, and who can read it."""

    item: Item
    message: str | None
    family: str | None


def live_items(entries: Sequence[Entry]) -> tuple[Item, ...]:
    """The items that the newest boundary leaves, as they were added. A summary is a message of the user."""
    return tuple(live.item for live in _live(entries))


def _live(entries: Sequence[Entry]) -> list[_Live]:
    by_id = {entry.id: entry for entry in entries if isinstance(entry, MessageEntry | CompactionEntry)}
    found = []
    for row in live_rows(entries):
        entry = by_id[row.entry or ""]
        if isinstance(entry, MessageEntry):
            if not entry.interrupted:
                found.append(_Live(row.item, entry.id, entry.family))
        elif row.why == "summary":
            text = SUMMARY_PREFIX + entry.compaction.summary + SUMMARY_SUFFIX
            found.append(_Live(user_item(text), None, None))
        else:
            found.append(_Live(row.item, None, entry.compaction.family))
    return found


def put_revision(writer: Writer, revise: Revise, target: Target | None) -> CompactionEntry | None:
    """Put other items in the place of the live ones; None if they are to stay as they are.

    Args:
        writer: What writes to the log.
        revise: Called anew if others write in between.
        target: Who made what is private in items that are new.

    Raises:
        FamilyRequiredError: A new item is private, and there is no target.
        EntryError: A new item cannot be stored.
    """
    log = writer.log

    def revised() -> tuple[list[Entry], list[Detail]]:
        draft = _draft(_live(log.entries), revise, target)
        if draft is None:
            return [], []
        return [new_compaction(draft, clock=writer.clock, id_source=writer.new_id)], []

    made = writer.write_in_view(revised, stays=True)
    entry = made[0] if made else None
    assert entry is None or isinstance(entry, CompactionEntry)
    return entry


def _draft(live: Sequence[_Live], revise: Revise, target: Target | None) -> Compaction | None:
    """The payload that changes the live items; None if none changes."""
    left = tuple(revise(tuple(one.item for one in live)))
    kept = 0  # how many of the last messages stay where they are
    for old, new in zip(reversed(live), reversed(left), strict=False):
        if old.item is not new or old.message is None:
            break
        kept += 1
    if len(left) == len(live) and all(old.item is new for old, new in zip(live, left, strict=True)):
        return None
    told = left[: len(left) - kept]
    return Compaction(
        summary="",
        first_kept_entry_id=live[-kept].message if kept else None,
        replacement=(NOTHING, *told),
        family=_family_of(told, live, target),
    )


def _family_of(told: Sequence[Item], live: Sequence[_Live], target: Target | None) -> str | None:
    """Who can read all that is private in items; None if that is nobody, or nobody is needed.

    A replacement has one family. Of items that several have made, what is private stays on
    record, and is sent to none of them.
    """
    known = {id(one.item): one.family for one in live}
    new = None if target is None else target.family
    families = set()
    for index, item in enumerate(told):
        if isinstance(item, dict) and is_private(item):
            if id(item) not in known and target is None:
                raise FamilyRequiredError(index)
            families.add(known.get(id(item), new))
    return families.pop() if len(families) == 1 else None
