"""How far back the live part of a log reaches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import logs

from transcript_log._active import active_from
from transcript_log.boundary import kept_items
from transcript_log.entries import Compaction, CompactionEntry, Entry, MessageEntry
from transcript_log.errors import BoundaryError

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": entry_id})


def compacted(
    entry_id: str, summary: str, kept: str | None = None, *, replaced: bool = False
) -> CompactionEntry:
    replacement = ({"type": "compaction"},) if replaced else ()
    compaction = Compaction(summary=summary, first_kept_entry_id=kept, replacement=replacement)
    return CompactionEntry(id=entry_id, timestamp=_NOON, compaction=compaction)


@st.composite
def odd_logs(draw: st.DrawFn) -> list[Entry]:
    """Logs with many compactions: some blank, some with a replacement alone, some that keep from anywhere."""
    log = draw(logs())
    anywhere = st.sampled_from(["nowhere", None, "", *(entry.id for entry in log)])
    for _ in range(draw(st.integers(0, 4))):
        summary = draw(st.sampled_from(["gist", "", " ", "\u00a0"]))
        at = draw(st.integers(0, len(log)))
        entry = compacted(f"k{len(log)}", summary, draw(anywhere), replaced=draw(st.booleans()))
        log.insert(at, entry)
    return log


def outcome(entries: Sequence[Entry]) -> Any:
    """The kept items, or how there are none."""
    try:
        return kept_items(entries)
    except BoundaryError as error:
        return error.args


@settings(max_examples=70)
@given(odd_logs())
def test_what_is_active_keeps_the_items_that_the_whole_log_keeps(log: list[Entry]) -> None:
    assert outcome(log[active_from(log) :]) == outcome(log)


@settings(max_examples=70)
@given(odd_logs())
def test_nothing_that_is_not_active_matters(log: list[Entry]) -> None:
    active = log[active_from(log) :]
    if active_from(log):
        assert outcome([said("before"), compacted("older", "older", "before"), *active]) == outcome(log)


@settings(max_examples=70)
@given(odd_logs(), st.sampled_from(["nowhere", None]))
def test_what_a_target_that_reads_no_replacement_needs_is_active(log: list[Entry], kept: str | None) -> None:
    def plain(entry: Entry) -> Entry:
        if not isinstance(entry, CompactionEntry):
            return entry
        summary = entry.compaction.summary if entry.compaction.summary.strip() else ""
        return dataclasses.replace(
            entry, compaction=dataclasses.replace(entry.compaction, summary=summary, replacement=())
        )

    active = log[active_from(log) :]
    assert outcome([plain(entry) for entry in active]) == outcome([plain(entry) for entry in log])


@settings(max_examples=70)
@given(logs())
@example([said("a"), compacted("k", "gist"), said("b")])
def test_active_is_the_least_that_was_promised(log: list[Entry]) -> None:
    place = {entry.id: at for at, entry in enumerate(log)}
    first = len(log)
    for at in range(len(log) - 1, -1, -1):
        entry = log[at]
        if isinstance(entry, CompactionEntry):
            kept = entry.compaction.first_kept_entry_id
            first = min(first, at if kept is None else place[kept])
            if entry.compaction.summary.strip():
                break
    else:
        first = 0
    assert active_from(log) == first


def test_a_replacement_alone_does_not_end_the_search() -> None:
    log = [
        said("a"),
        said("b"),
        compacted("k", "gist", "b"),
        said("c"),
        compacted("l", "", "c", replaced=True),
    ]
    assert active_from(log) == 1
    assert active_from([*log, compacted("m", "gist", "c")]) == 3
    assert active_from([*log, compacted("m", "gist")]) == len(log)


def test_without_a_compaction_all_is_active() -> None:
    assert active_from([]) == 0
    assert active_from([said("a"), said("b")]) == 0
    assert active_from([said("a"), compacted("k", " \n")]) == 0
