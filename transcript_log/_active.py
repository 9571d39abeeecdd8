"""How far back the live part of a log reaches, found from its end."""

from __future__ import annotations

from collections.abc import Sequence

from .boundary import is_last_word
from .entries import CompactionEntry, Entry

__all__ = ["BoundarySearch", "active_from"]


class BoundarySearch:
    """Is shown entries from the last one back, and says when all that counts was seen.

    That is the newest compaction with a summary that is not blank, or one that is the last word,
    and the first entry that it, or a newer compaction that is neither, keeps. A compaction that
    has only a replacement is not enough: a target that cannot read that needs the boundary before.
    """

    def __init__(self) -> None:
        self._awaited: set[str] = set()
        self._found = False

    def is_over(self, entry: Entry) -> bool:
        """Whether ``entry``, the one before those shown so far, is the last that counts."""
        self._awaited.discard(entry.id)
        if not self._found and isinstance(entry, CompactionEntry):
            self._found = bool(entry.compaction.summary.strip()) or is_last_word(entry.compaction)
            if entry.compaction.first_kept_entry_id:
                self._awaited.add(entry.compaction.first_kept_entry_id)
        return self._found and not self._awaited


def active_from(entries: Sequence[Entry]) -> int:
    """The position of the first entry that counts; 0 if no compaction ends the search."""
    if CompactionEntry not in map(type, entries):
        return 0
    search = BoundarySearch()
    for position in range(len(entries) - 1, -1, -1):
        if search.is_over(entries[position]):
            return position
    return 0
