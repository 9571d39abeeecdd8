"""A batch is checked and encoded whole before a byte of it is written."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Refused, alike, details, entries, logs, refused_values
from test_seal import batch_of, sealed

from transcript_log._batch import encode_batch, joined, left_to_write
from transcript_log._logfile.seal import LINE_LIMIT, line_of
from transcript_log.codec import decode_entry, encode_detail, encode_entry
from transcript_log.entries import Detail, Entry, MessageEntry
from transcript_log.errors import EntryError, IdError

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str, content: Any = "hi") -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": content})


def nothing_stored(ids: set[str]) -> dict[str, Entry]:
    raise AssertionError(f"nobody repeated {ids}")


@settings(max_examples=40)
@given(logs(entries(), max_size=5), st.lists(details(), max_size=2))
def test_a_batch_is_its_entries_and_details_encoded(log: list[Entry], records: list[Detail]) -> None:
    batch = encode_batch(log, records, "log")
    assert [(entry, body) for entry, body in batch.entries] == [(entry, encode_entry(entry)) for entry in log]
    assert list(batch.details) == [(detail, encode_detail(detail)) for detail in records]
    assert left_to_write(batch, set(), nothing_stored, "log") == batch.entries


@settings(max_examples=50)
@given(logs(max_size=3), st.integers(0, 3), refused_values())
def test_one_bad_value_refuses_the_whole_batch(log: list[Entry], at: int, refused: Refused) -> None:
    batch = [*log[:at], said("bad", [refused.value]), *log[at:]]
    with pytest.raises(EntryError, match=r"\$\.message\.content\[0\]"):
        encode_batch(batch, (), "log")
    with pytest.raises(EntryError, match=r"\$\.payload"):
        encode_batch(log, [Detail(id="c", payload=refused.value)], "log")


def test_an_entry_given_twice_counts_once() -> None:
    batch = encode_batch([said("a"), said("b"), said("a")], (), "log")
    assert [entry.id for entry, _ in batch.entries] == ["a", "b"]
    with pytest.raises(IdError, match="'a'"):
        encode_batch([said("a"), said("a", "other")], (), "log")


def test_a_detail_with_an_empty_id_counts_for_nothing() -> None:
    batch = encode_batch((), [Detail(id="", payload=1), Detail(id="c", payload=2)], "log")
    assert [detail.id for detail, _ in batch.details] == ["c"]


def test_a_line_over_the_limit_is_refused_before_it_is_written() -> None:
    room = LINE_LIMIT - len(line_of(encode_entry(said("a", "")), more=True))
    (_, fits), *_ = encode_batch([said("a", "x" * (room - 2))], (), "log").entries
    assert LINE_LIMIT - 2 <= len(line_of(fits, more=True)) <= LINE_LIMIT
    for entry, detail in (
        (said("a", "x" * (room + 1)), ()),
        (said("b"), [Detail(id="c", payload="x" * LINE_LIMIT)]),
    ):
        with pytest.raises(EntryError, match=f"at most {LINE_LIMIT}"):
            encode_batch([entry], detail, "log")


# ------------------------------------------------------------------------------- retries


@settings(max_examples=40)
@given(logs(entries(), max_size=5), st.data())
def test_only_what_is_not_there_yet_is_left_to_write(log: list[Entry], data: st.DataObject) -> None:
    there = data.draw(st.sets(st.sampled_from([entry.id for entry in log]))) if log else set()
    stored = {entry.id: decode_entry(encode_entry(entry)) for entry in log if entry.id in there}
    left = left_to_write(encode_batch(log, (), "log"), there, lambda ids: stored, "log")
    assert [entry for entry, _ in left] == [entry for entry in log if entry.id not in there]


@settings(max_examples=50)
@given(entries(), entries())
def test_an_id_that_is_there_with_other_content_is_refused(one: Entry, other: Entry) -> None:
    other = dataclasses.replace(other, id=one.id)
    batch = encode_batch([other], (), "log")
    stored = {one.id: decode_entry(encode_entry(one))}
    if alike(one, other):
        assert left_to_write(batch, {one.id}, lambda ids: stored, "log") == ()
    else:
        with pytest.raises(IdError):
            left_to_write(batch, {one.id}, lambda ids: stored, "log")


def test_what_equals_in_python_only_is_other_content() -> None:
    batch = encode_batch([said("a", 1)], (), "log")
    for content in (True, 1.0):
        with pytest.raises(IdError):
            left_to_write(batch, {"a"}, lambda ids, content=content: {"a": said("a", content)}, "log")  # type: ignore[misc]


def test_an_id_that_was_known_and_is_gone_is_written_again() -> None:
    batch = encode_batch([said("a"), said("b")], (), "log")
    assert left_to_write(batch, {"a", "b"}, lambda ids: {"b": said("b")}, "log") == batch.entries[:1]


def test_an_entry_there_that_could_not_be_written_is_not_the_same_one() -> None:
    batch = encode_batch([said("a", 1)], (), "log")
    with pytest.raises(IdError):
        left_to_write(batch, {"a"}, lambda ids: {"a": said("a", 2**70)}, "log")


# --------------------------------------------------------------------------------- lines


@settings(max_examples=40)
@given(logs(entries(), max_size=4), st.booleans())
def test_the_lines_of_a_batch_are_all_marked_but_the_last(log: list[Entry], checksum: bool) -> None:
    bodies = [encode_entry(entry) for entry in log]
    if len(bodies) == 1:
        assert joined(bodies, checksum) == (sealed(bodies[0]) if checksum else bodies[0] + b"\n")
    else:
        assert joined(bodies, checksum) == batch_of(*bodies)
