"""Records that no entry tells, kept whole among the entries of a session."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from .._times import parse_foreign_time
from ..entries import Entry
from ..store import Place
from . import SourceFormat, SourceRecord, entry_id, opaque_entry

__all__ = ["with_unknown"]


def with_unknown(
    entries: Sequence[Entry],
    places: Sequence[Place],
    kept: Sequence[tuple[SourceRecord, str]],
    session: str,
    source: SourceFormat,
) -> tuple[tuple[Entry, ...], tuple[Place, ...]]:
    """The entries of a session, with opaque ones for records that are kept, and the places of all.

    Each stands after all entries of the lines before its own.

    Args:
        entries: Of the session.
        places: Where the record of each stands.
        kept: The records, in the order of the source, and what each is called.
        session: What the ids are made of.
        source: Who wrote them.
    """
    if not kept:
        return tuple(entries), tuple(places)
    by_line = sorted((line, index) for index, (line, _) in enumerate(places))
    lines = [line for line, _ in by_line]
    last = list(accumulate((index for _, index in by_line), max))
    after: dict[int, list[tuple[Entry, Place]]] = {}
    ordinals: dict[int, int] = {}
    for record, kind in kept:
        ordinal = ordinals[record.line] = ordinals.get(record.line, -1) + 1
        time = parse_foreign_time(record.value.get("timestamp"))
        made = opaque_entry(
            entry_id(f"{session}\nunknown", record.line, ordinal), time, source, kind, record.value
        )
        before = bisect_left(lines, record.line)
        index = last[before - 1] if before else -1
        after.setdefault(index, []).append((made, (record.line, record.offset)))
    found = list(after.get(-1, ()))
    for index, pair in enumerate(zip(entries, places, strict=True)):
        found.append(pair)
        found += after.get(index, ())
    return tuple(entry for entry, _ in found), tuple(place for _, place in found)
