"""The newest compaction decides what is left of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import items, logs, message_entries, names

from transcript_log.boundary import (
    SUMMARY_PREFIX,
    SUMMARY_SUFFIX,
    first_kept,
    kept_items,
    messages,
    newest_compaction,
    summary_message,
)
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    Entry,
    Item,
    MessageEntry,
    OpaqueEntry,
    Run,
    RunEntry,
)
from transcript_log.errors import BoundaryError

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": entry_id})


def compacted(
    entry_id: str, kept: str | None, summary: str = "SUM", replacement: Sequence[Item] = ()
) -> CompactionEntry:
    compaction = Compaction(summary=summary, first_kept_entry_id=kept, replacement=tuple(replacement))
    return CompactionEntry(id=entry_id, timestamp=_NOON, compaction=compaction)


def ran(entry_id: str) -> RunEntry:
    return RunEntry(id=entry_id, timestamp=_NOON, run=Run(started_at=_NOON, completed_at=_NOON))


def same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(map(lambda a, b: a is b, one, other))


def shown(items: Sequence[Item]) -> list[object]:
    """The ids of items that ``said`` made; ``"SUM"`` for the message of that summary."""
    return ["SUM" if item == summary_message("SUM") else item.get("content", item) for item in items]


# -------------------------------------------------------------------------- properties


@given(logs())
def test_every_item_given_is_an_object_of_the_log_but_the_summary(log: list[Entry]) -> None:
    known = {id(entry.message) for entry in log if isinstance(entry, MessageEntry)}
    for entry in log:
        if isinstance(entry, CompactionEntry):
            known.update(map(id, entry.compaction.replacement))
    strangers = [item for item in kept_items(log) if id(item) not in known]
    at = newest_compaction(log)
    if at is None:
        assert strangers == []
    else:
        counted = log[at]
        assert isinstance(counted, CompactionEntry)
        summaries = [] if counted.compaction.replacement else [summary_message(counted.compaction.summary)]
        assert strangers == summaries


@given(logs())
def test_the_messages_are_every_item_of_the_log_in_order(log: list[Entry]) -> None:
    assert same_objects(messages(log), [entry.message for entry in log if isinstance(entry, MessageEntry)])


@given(logs())
def test_what_is_kept_ends_with_all_that_followed_the_newest_compaction(log: list[Entry]) -> None:
    after = messages(log[(newest_compaction(log) or 0) :])
    kept = kept_items(log)
    assert same_objects(kept[len(kept) - len(after) :], after)


@given(logs(), message_entries())
def test_a_message_more_is_an_item_more_at_the_end(log: list[Entry], entry: MessageEntry) -> None:
    kept = kept_items(log)
    more = kept_items([*log, entry])
    assert more[:-1] == kept
    assert more[-1] is entry.message


@given(logs(), names(), st.sampled_from(["nowhere", "", None]))
def test_how_an_older_compaction_is_broken_never_matters(
    log: list[Entry], summary: str, kept: str | None
) -> None:
    newest = compacted("newest", next((e.id for e in log if isinstance(e, MessageEntry)), None), summary)
    broken: list[Entry] = [
        compacted(entry.id, kept, "") if isinstance(entry, CompactionEntry) else entry for entry in log
    ]
    without = [entry for entry in log if not isinstance(entry, CompactionEntry)]
    wanted = [summary_message(summary), *messages(log)]
    for older in (log, broken, without):
        assert kept_items([*older, newest]) == wanted


@given(logs())
def test_entries_that_are_no_messages_change_nothing(log: list[Entry]) -> None:
    plain: list[Entry] = [entry for entry in log if isinstance(entry, MessageEntry | CompactionEntry)]
    assert kept_items(plain) == kept_items(log)
    assert same_objects(messages(plain), messages(log))


@given(logs(), names(), st.data())
def test_what_is_kept_begins_at_the_message_that_the_compaction_names(
    log: list[Entry], summary: str, data: st.DataObject
) -> None:
    earlier = [at for at, entry in enumerate(log) if isinstance(entry, MessageEntry)]
    if not earlier:
        return
    at = data.draw(st.sampled_from(earlier))
    whole = [*log, compacted("newest", log[at].id, summary), said("after")]
    assert first_kept(whole, len(log)) == at
    head, *kept = kept_items(whole)
    assert head == summary_message(summary)
    assert same_objects(kept, messages(whole[at:]))


@given(logs(), st.data())
def test_a_kept_id_that_is_no_earlier_message_is_an_error_that_names_it(
    log: list[Entry], data: st.DataObject
) -> None:
    others = [entry.id for entry in log if not isinstance(entry, MessageEntry)]
    named = data.draw(st.sampled_from(["nowhere", "newest", "after", *others]))
    with pytest.raises(BoundaryError) as caught:
        kept_items([*log, compacted("newest", named), said("after")])
    assert (caught.value.compaction_id, caught.value.kept_id) == ("newest", named)
    assert caught.value.kind == ("first-kept-not-a-message" if named in others else "first-kept-not-before")


@given(logs())
def test_nothing_that_was_given_is_changed(log: list[Entry]) -> None:
    before = repr(log)
    kept_items(log)
    messages(log)
    assert repr(log) == before


@given(logs())
def test_the_newest_compaction_is_the_last_one_of_those_asked_for(log: list[Entry]) -> None:
    positions = [at for at, entry in enumerate(log) if isinstance(entry, CompactionEntry)]
    found: list[int] = []
    at = newest_compaction(log)
    while at is not None:
        found.append(at)
        at = newest_compaction(log, at)
    assert found == positions[::-1]


# ---------------------------------------------------------------------------- examples


def test_a_log_without_a_compaction_is_kept_whole() -> None:
    assert shown(kept_items([said("a"), ran("r"), said("b")])) == ["a", "b"]
    assert kept_items([]) == messages([]) == []
    assert newest_compaction([]) is None


def test_the_summary_stands_first_and_then_what_is_kept() -> None:
    log: list[Entry] = [said("a"), said("b"), said("c"), compacted("k", "b"), ran("r"), said("d")]
    assert shown(kept_items(log)) == ["SUM", "b", "c", "d"]
    assert shown(messages(log)) == ["a", "b", "c", "d"]


def test_what_is_kept_may_reach_back_before_an_older_compaction() -> None:
    log: list[Entry] = [
        said("a"),
        said("b"),
        compacted("k1", "b", "older"),
        said("c"),
        compacted("k2", "a"),
        said("d"),
    ]
    assert shown(kept_items(log)) == ["SUM", "a", "b", "c", "d"]


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_compaction_that_keeps_nothing_leaves_its_summary_and_what_follows(nothing: str | None) -> None:
    assert shown(kept_items([said("a"), compacted("k", nothing), said("b")])) == ["SUM", "b"]
    assert shown(kept_items([said("a"), compacted("k", nothing)])) == ["SUM"]


@pytest.mark.parametrize("summary", ["", " \n", "the summary"])
def test_a_replacement_stands_in_place_of_the_summary(summary: str) -> None:
    checkpoint: Item = {"type": "compaction", "encrypted_content": "x"}
    other: Item = {"role": "user", "content": "y"}
    log: list[Entry] = [said("a"), said("b"), compacted("k", "b", summary, [checkpoint, other]), said("c")]
    kept = kept_items(log)
    assert same_objects(kept[:2], [checkpoint, other])
    assert shown(kept[2:]) == ["b", "c"]


def test_a_summary_of_white_space_is_a_summary() -> None:
    assert kept_items([said("a"), compacted("k", None, " ")]) == [summary_message(" ")]


def test_a_compaction_with_nothing_to_stand_for_what_it_drops_drops_nothing() -> None:
    older: list[Entry] = [said("a"), said("b"), compacted("k1", "b"), said("c")]
    for kept in (None, "c", "nowhere"):
        assert shown(kept_items([*older, compacted("k2", kept, ""), said("d")])) == ["SUM", "b", "c", "d"]
        assert shown(kept_items([said("a"), compacted("k", kept, ""), said("d")])) == ["a", "d"]


@pytest.mark.parametrize(
    ("log", "kind", "sentence"),
    [
        (
            [said("a"), compacted("k", "b"), said("b")],
            "first-kept-not-before",
            "b is not before compaction k",
        ),
        ([said("a"), compacted("k", "k")], "first-kept-not-before", "k is not before compaction k"),
        ([said("a"), compacted("k", "?")], "first-kept-not-before", "? is not before compaction k"),
        ([ran("r"), compacted("k", "r")], "first-kept-not-a-message", "r is not a message"),
        ([compacted("j", None), compacted("k", "j")], "first-kept-not-a-message", "j is not a message"),
        (
            [OpaqueEntry(id="o", timestamp=_NOON, type="note", data={}), compacted("k", "o")],
            "first-kept-not-a-message",
            "o is not a message",
        ),
    ],
)
def test_a_broken_boundary_is_told_in_the_words_of_the_reference(
    log: list[Entry], kind: str, sentence: str
) -> None:
    with pytest.raises(BoundaryError) as caught:
        kept_items(log)
    assert caught.value.kind == kind
    assert str(caught.value) == f"first kept entry {sentence}"
    assert len(messages(log)) == sum(isinstance(entry, MessageEntry) for entry in log)


@given(st.text())
def test_a_summary_stands_in_its_message_as_it_is(summary: str) -> None:
    message = summary_message(summary)
    text = SUMMARY_PREFIX + summary + SUMMARY_SUFFIX
    assert message == {"role": "user", "content": [{"type": "text", "text": text}]}
    assert summary_message(summary) is not message


def test_one_object_at_two_places_is_kept_at_both() -> None:
    item: Item = {"role": "user", "content": "x"}
    log = [MessageEntry(id=name, timestamp=_NOON, message=item) for name in "ab"]
    assert same_objects(kept_items(log), [item, item])


@given(items())
def test_the_family_and_the_marks_of_a_message_do_not_matter_here(item: Item) -> None:
    entry = MessageEntry(id="a", timestamp=None, message=item, family="f", stand_in=True, interrupted=True)
    assert same_objects(kept_items([entry]), [item])
    assert same_objects(messages([entry]), [item])
