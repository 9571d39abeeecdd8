"""A compaction of pi: what it keeps, and what it puts in the place of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..entries import Compaction, Item, Json, MessageEntry, RecordedUsage
from ._pi_messages import family_of, said_item, summary_text, usage_of
from ._pi_tree import Node

__all__ = ["NO_SUMMARY", "Kept", "KeptNodes", "compaction_of", "kept_tail", "unknown_keys"]

NO_SUMMARY: Final = "(no summary available)"
"""Stands where a compaction has none."""

_KEYS: Final = frozenset(
    {
        "details",
        "firstKeptEntryId",
        "firstKeptEntryIndex",
        "fromHook",
        "id",
        "parentId",
        "retainedTail",
        "summary",
        "timestamp",
        "tokensBefore",
        "type",
        "usage",
    }
)
_DETAILS: Final = frozenset({"modifiedFiles", "readFiles"})


@dataclass(frozen=True, slots=True)
class Kept:
    """What a compaction keeps: messages from an entry on, or messages of its own."""

    first: str | None = None
    tail: tuple[Item, ...] = ()
    families: frozenset[str | None] = frozenset()


class KeptNodes:
    """Finds the entries from which the compactions of a branch keep.

    Version 1 counts the entries of the file, the header as the first; later ones name an id.

    Args:
        branch: The entries of the branch, in its order.
    """

    def __init__(self, branch: Sequence[Node]) -> None:
        self._by_id: dict[str, Node] = {}
        self._by_index: dict[int, Node] = {}
        for node in branch:
            if node.id is not None:
                self._by_id.setdefault(node.id, node)
            self._by_index.setdefault(node.index, node)

    def of(self, compaction: Node) -> tuple[Node | None, str]:
        """The entry from which a compaction keeps, and what is wrong with that; ``""`` if nothing."""
        value = compaction.record.value
        index, named = value.get("firstKeptEntryIndex"), value.get("firstKeptEntryId")
        if named is None and type(index) is int:
            kept, wrong = self._by_index.get(index), f"entry {index} of the file, which is none before it"
        elif named is None or named == "":
            return None, ""
        else:
            kept = self._by_id.get(named) if type(named) is str else None
            wrong = f"{named!r}, which is not before it on its branch"
        return (kept, "") if kept is not None and kept.at < compaction.at else (None, wrong)


def compaction_of(value: dict[str, Json], kept: Kept) -> Compaction:
    """The compaction that an entry of pi is."""
    told = value.get("summary")
    summary = told if type(told) is str and told.strip() else NO_SUMMARY
    replacement: tuple[Item, ...] = ()
    if kept.tail:
        time = next((item["timestamp"] for item in kept.tail if "timestamp" in item), None)
        replacement = (said_item(summary_text(summary), {"type": "compaction"}, time), *kept.tail)
    tokens = value.get("tokensBefore")
    details = value.get("details")
    return Compaction(
        summary=summary,
        first_kept_entry_id=kept.first,
        tokens_before=tokens if type(tokens) is int and 0 < tokens < 1 << 63 else 0,
        read_files=_paths(details, "readFiles"),
        modified_files=_paths(details, "modifiedFiles"),
        usage=usage_of(value.get("usage")) or RecordedUsage(),
        replacement=replacement,
        family=next(iter(kept.families)) if replacement and len(kept.families) == 1 else None,
    )


def unknown_keys(value: dict[str, Json]) -> Iterator[str]:
    """What of a compaction is not taken over."""
    yield from (f"compaction.{key}" for key in value if key not in _KEYS)
    details = value.get("details")
    if type(details) is dict:
        yield from (f"compaction.details.{key}" for key in details if key not in _DETAILS)


def _paths(details: Json, key: str) -> tuple[str, ...]:
    listed = details.get(key) if type(details) is dict else None
    return tuple(path for path in listed if type(path) is str) if type(listed) is list else ()


def kept_tail(tail: Sequence[tuple[Item, Json]], said: Sequence[MessageEntry]) -> Kept:
    """What a compaction keeps that brings its messages along.

    They are most often the last ones that were said; then those are kept, and none stands twice.

    Args:
        tail: The messages, as items, each with what it was made of.
        said: The messages of its branch before it, without those that were left aside.
    """
    items = [item for item, _ in tail]
    if not items:
        return Kept()
    last = said[-len(items) :]
    if [entry.message for entry in last] == items:
        return Kept(first=last[0].id)
    families = frozenset(
        family_of(source) for item, source in tail if item.get("role") == "assistant" and type(source) is dict
    )
    return Kept(tail=tuple(items), families=families)
