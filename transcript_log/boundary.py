"""Where the live part of a conversation begins: at the newest compaction.

Nothing is paired, converted or mended here: :func:`kept_items` gives what the log says is
left, :func:`messages` all that was ever said. Both give the very items of the entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .entries import Compaction, CompactionEntry, Entry, Item, MessageEntry
from .errors import BoundaryError

__all__ = [
    "NOTHING",
    "SUMMARY_PREFIX",
    "SUMMARY_SUFFIX",
    "first_kept",
    "in_place",
    "is_last_word",
    "kept_items",
    "messages",
    "newest_compaction",
    "summary_message",
]

SUMMARY_PREFIX: Final = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
)
"""What stands before a summary in the message that tells a model of it."""

SUMMARY_SUFFIX: Final = "\n</summary>"
"""What stands after it."""


NOTHING: Final[Item] = {"role": "user", "content": ""}
"""What a replacement begins with that is the last word: nothing before it counts, be it also that
nothing else is in the replacement, or nothing that a target can read. It is no item itself."""


def is_last_word(compaction: Compaction) -> bool:
    """Whether no boundary before this one counts, whatever can be read of it; see :data:`NOTHING`."""
    return compaction.replacement[:1] == (NOTHING,)


def in_place(compaction: Compaction) -> tuple[Item, ...]:
    """The items of a compaction's replacement."""
    return compaction.replacement[1:] if is_last_word(compaction) else compaction.replacement


def summary_message(summary: str) -> Item:
    """The user message that tells a model of a summary. The summary is not escaped."""
    text = SUMMARY_PREFIX + summary + SUMMARY_SUFFIX
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def newest_compaction(entries: Sequence[Entry], before: int | None = None) -> int | None:
    """The position of the last compaction, of those before a position if one is given."""
    for at in range(len(entries) if before is None else before, 0, -1):
        if isinstance(entries[at - 1], CompactionEntry):
            return at - 1
    return None


def first_kept(entries: Sequence[Entry], at: int) -> int:
    """The position from which the compaction at ``at`` keeps messages; ``at`` if it keeps none.

    It may lie before an older compaction.

    Raises:
        BoundaryError: The compaction names an entry that is no earlier message.
    """
    entry = entries[at]
    assert isinstance(entry, CompactionEntry)
    kept_id = entry.compaction.first_kept_entry_id
    if not kept_id:
        return at
    for position in range(at):
        if entries[position].id == kept_id:
            if isinstance(entries[position], MessageEntry):
                return position
            raise BoundaryError(entry.id, kept_id, "first-kept-not-a-message")
    raise BoundaryError(entry.id, kept_id, "first-kept-not-before")


def kept_items(entries: Sequence[Entry]) -> list[Item]:
    """The items that the newest compaction leaves: what stands for the rest, then what it keeps.

    A compaction's replacement stands alone; without one, its summary does, as a message of its
    own. One that has neither puts nothing in the place of what it drops, so it drops nothing:
    the compaction before it counts.

    Raises:
        BoundaryError: The compaction that counts keeps from an entry that is no earlier message.
            How an older one is broken does not matter.
    """
    at = newest_compaction(entries)
    while at is not None:
        entry = entries[at]
        assert isinstance(entry, CompactionEntry)
        if entry.compaction.replacement:
            head = list(in_place(entry.compaction))
        elif entry.compaction.summary:
            # A summary of white space is one too: only an empty one tells nothing.
            head = [summary_message(entry.compaction.summary)]
        else:
            at = newest_compaction(entries, at)
            continue
        return head + messages(entries[first_kept(entries, at) :])
    return messages(entries)


def messages(entries: Sequence[Entry]) -> list[Item]:
    """Every item that was added to the conversation, in order. Summaries are none."""
    return [entry.message for entry in entries if isinstance(entry, MessageEntry)]
