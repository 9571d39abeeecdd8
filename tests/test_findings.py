"""A finding is a value that reads as one sentence."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from transcript_log.findings import Change, Finding


def test_a_finding_says_where_and_how_bad_and_what_to_do() -> None:
    finding = Finding(
        rule="torn-tail",
        severity="note",
        message="the last line is cut off",
        advice="the next writer moves it aside",
        path="s.jsonl",
        line=7,
        offset=1234,
        entry="e7",
        call="c1",
    )
    assert str(finding) == (
        "s.jsonl: line 7 (byte 1234): note: entry e7, call c1: the last line is cut off;"
        " the next writer moves it aside"
    )


@pytest.mark.parametrize(
    ("finding", "sentence"),
    [
        (Finding(rule="r", severity="error", message="m"), "error: m"),
        (Finding(rule="r", severity="error", message="m", path="p"), "p: error: m"),
        (Finding(rule="r", severity="error", message="m", line=0), "line 0: error: m"),
        (Finding(rule="r", severity="error", message="m", offset=0), "byte 0: error: m"),
        (Finding(rule="r", severity="error", message="m", path="p", offset=5), "p: byte 5: error: m"),
        (Finding(rule="r", severity="error", message="m", line=3, offset=5), "line 3 (byte 5): error: m"),
        (Finding(rule="r", severity="warning", message="m", call="c"), "warning: call c: m"),
        (Finding(rule="r", severity="error", message="m", item=0), "error: item 0: m"),
        (Finding(rule="r", severity="error", message="m", item=3, call="c"), "error: item 3, call c: m"),
    ],
)
def test_a_place_that_is_not_known_is_left_out(finding: Finding, sentence: str) -> None:
    assert str(finding) == sentence


def test_a_name_that_the_message_gives_is_not_given_again() -> None:
    finding = Finding(rule="r", severity="error", message="the id e7 stands twice", entry="e7", call="c1")
    assert str(finding) == "error: call c1: the id e7 stands twice"


def test_a_finding_is_frozen_compares_by_value_and_can_be_a_key() -> None:
    finding = Finding(rule="r", severity="error", message="m", line=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.line = 4  # type: ignore[misc]  # that it cannot be set is the point
    assert finding == dataclasses.replace(finding) == pickle.loads(pickle.dumps(finding))
    assert len({finding, dataclasses.replace(finding), dataclasses.replace(finding, line=4)}) == 2


def test_a_change_says_what_was_done_to_what() -> None:
    change = Change(kind="moved", rule="r", message="m", entry="e7", call="c1")
    assert str(change) == "entry e7, call c1: moved: m"
    assert str(Change(kind="left-out", rule="r", message="m", call="c1")) == "call c1: left-out: m"
    assert str(Change(kind="added", rule="r", message="m")) == "added: m"


def test_a_change_names_what_its_message_does_not_quote() -> None:
    change = Change(kind="moved", rule="r", message="a call of 'c1' was moved up", entry="a", call="c1")
    assert str(change) == "entry a: moved: a call of 'c1' was moved up"
    odd = Change(kind="moved", rule="r", message="m", entry="a.b", call="(")
    assert str(odd) == "entry a.b, call (: moved: m"


def test_a_change_is_frozen_compares_by_value_and_is_no_key_for_it_holds_an_item() -> None:
    item = {"role": "user", "content": "hi"}
    change = Change(kind="left-out", rule="r", message="m", item=item)
    with pytest.raises(dataclasses.FrozenInstanceError):
        change.rule = "s"  # type: ignore[misc]  # that it cannot be set is the point
    assert change == dataclasses.replace(change) == pickle.loads(pickle.dumps(change))
    assert change.item is item
    assert change != dataclasses.replace(change, item=None)
    with pytest.raises(TypeError):
        hash(change)
