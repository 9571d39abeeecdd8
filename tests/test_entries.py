"""The values a log is made of."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from strategies import alike, details, entries, headers, outcomes

from transcript_log import entries as module
from transcript_log.entries import (
    FORMAT_VERSION,
    HARNESS,
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    ForkOrigin,
    Header,
    Invocation,
    MessageEntry,
    OpaqueEntry,
    ParentCall,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
    new_compaction,
    new_context,
    new_header,
    new_id,
    new_message,
    new_run,
    utc_now,
)

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_ATTACHMENT = ContextAttachment(
    attachment_id="a", epoch=1, kind="rules", placement="prefix", revision="r", rendered="text"
)


def _noon() -> datetime:
    return _NOON


def _fixed() -> str:
    return "the-id"


@given(entries() | headers() | details() | outcomes())
def test_every_value_is_frozen_and_has_no_other_attributes(value: Any) -> None:
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
    with pytest.raises((AttributeError, TypeError)):
        value.another = 1


@given(entries() | headers() | details() | outcomes())
def test_every_value_compares_by_value_and_pickles(value: Any) -> None:
    again = pickle.loads(pickle.dumps(value))
    assert again is not value
    assert again == value
    assert alike(again, value)
    assert copy.copy(value) == value


@given(entries())
def test_a_changed_entry_keeps_the_very_items(entry: Entry) -> None:
    changed = dataclasses.replace(entry, id=entry.id + "x")
    assert changed != entry
    if isinstance(entry, MessageEntry) and isinstance(changed, MessageEntry):
        assert changed.message is entry.message
    if isinstance(entry, CompactionEntry) and isinstance(changed, CompactionEntry):
        assert changed.compaction is entry.compaction


@pytest.mark.parametrize(
    "value",
    [
        MessageEntry(id="a", timestamp=None, message={}),
        CompactionEntry(id="a", timestamp=None, compaction=Compaction(summary="s")),
        OpaqueEntry(id="a", timestamp=None, type="note", data={}),
        Header(),
        Detail(id="a", payload=None),
        Compaction(summary="s"),
        ToolOutcome(status="success"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_holds_decoded_json_has_no_hash(value: Any) -> None:
    with pytest.raises(TypeError):
        hash(value)


@pytest.mark.parametrize(
    "value",
    [
        ContextEntry(id="a", timestamp=_NOON, context=_ATTACHMENT),
        RunEntry(id="a", timestamp=_NOON, run=Run(started_at=_NOON, completed_at=_NOON)),
        ForkOrigin("s", "e"),
        ParentCall("s", "c"),
        ResponseRecord(),
        Invocation(kind="prompt_template", name="n", source="s", path="p"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_holds_no_json_can_be_a_key(value: Any) -> None:
    assert {value: 1}[dataclasses.replace(value)] == 1


def test_two_headers_do_not_share_their_further_keys() -> None:
    assert Header().extra is not Header().extra


def test_the_word_on_disk_belongs_to_the_type_of_an_entry() -> None:
    words = {each.type for each in get_args(Entry) if each is not OpaqueEntry}
    assert words == {"message", "context", "compaction", "run"}


def test_every_entry_type_has_an_id_and_a_time() -> None:
    for each in get_args(Entry):
        assert [field.name for field in dataclasses.fields(each)][:2] == ["id", "timestamp"]


def test_a_new_id_is_24_hex_digits_and_new() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch("[0-9a-f]{24}", each) for each in ids)


def test_the_time_now_is_aware_and_in_utc() -> None:
    assert utc_now().tzinfo is UTC
    assert abs(utc_now() - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("make", "payload"),
    [
        (new_message, {"role": "user", "content": "hi"}),
        (new_context, _ATTACHMENT),
        (new_compaction, Compaction(summary="s")),
        (new_run, Run(started_at=_NOON, completed_at=_NOON)),
    ],
    ids=["message", "context", "compaction", "run"],
)
def test_a_new_entry_takes_the_clock_and_the_ids_that_are_given(
    make: Callable[..., Any], payload: Any
) -> None:
    entry = make(payload, clock=_noon, id_source=_fixed)
    assert (entry.id, entry.timestamp) == ("the-id", _NOON)
    assert getattr(entry, entry.type) is payload
    other = make(payload)
    assert re.fullmatch("[0-9a-f]{24}", other.id)
    assert other.timestamp.tzinfo is UTC


def test_a_new_message_keeps_all_that_is_said_of_it() -> None:
    invocation = Invocation(kind="prompt_template", name="n", source="s", path="p")
    response = ResponseRecord(id="r")
    entry = new_message(
        {"role": "user"},
        family="f",
        response=response,
        invocation=invocation,
        stand_in=True,
        interrupted=True,
        clock=_noon,
        id_source=_fixed,
    )
    assert entry == MessageEntry(
        id="the-id",
        timestamp=_NOON,
        message={"role": "user"},
        family="f",
        response=response,
        invocation=invocation,
        stand_in=True,
        interrupted=True,
    )


def test_a_new_header_says_who_made_the_log_and_when() -> None:
    origin, parent = ForkOrigin("s", "e"), ParentCall("s", "c")
    header = new_header(cwd="/w", forked_from=origin, parent=parent, clock=_noon, id_source=_fixed)
    assert header == Header(
        id="the-id", timestamp=_NOON, harness=HARNESS, cwd="/w", forked_from=origin, parent=parent
    )
    assert header.version == FORMAT_VERSION == 3
    assert new_header(id="mine", id_source=_fixed).id == "mine"


def test_every_public_name_is_there() -> None:
    assert all(hasattr(module, name) for name in module.__all__)
    assert module.__all__ == sorted(
        module.__all__, key=lambda name: (not name.isupper(), name.islower(), name)
    )
