"""Two lists of items are told apart by their bytes, and what they share is counted in bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_log.diffing import ContextDiff, diff_items

ITEMS = st.lists(
    st.sampled_from([{"role": "user", "content": text} for text in ("a", "ab", "b", "é", "\ud800")]),
    max_size=6,
)


def said(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_equal_lists_share_all_of_their_bytes() -> None:
    items = [said("one"), said("two")]
    size = 2 * len('{"role":"user","content":"one"}')
    assert diff_items(items, [dict(item) for item in items]) == ContextDiff(
        only_first=(), only_second=(), parts_at=None, shared_bytes=size, first_bytes=size, second_bytes=size
    )
    assert diff_items([], []).parts_at is None


def test_the_next_two_count_as_far_as_they_are_the_same() -> None:
    found = diff_items([said("one"), said("two")], [said("one"), said("three"), said("four")])
    assert (found.only_first, found.only_second, found.parts_at) == ((1,), (1, 2), 1)
    assert found.shared_bytes == len('{"role":"user","content":"one"}{"role":"user","content":"t')


def test_a_list_that_goes_on_where_the_other_ends_parts_there() -> None:
    found = diff_items([said("one")], [said("one"), said("two")])
    assert (found.only_first, found.only_second, found.parts_at) == ((), (1,), 1)
    assert found.shared_bytes == found.first_bytes < found.second_bytes


def test_what_was_only_moved_parts_them_all_the_same() -> None:
    found = diff_items([said("one"), said("two")], [said("two"), said("one")])
    assert (found.only_first, found.only_second, found.parts_at) == ((), (), 0)


def test_of_equal_items_the_last_ones_are_left_over() -> None:
    one = said("one")
    found = diff_items([one, said("two"), one, one], [one, said("two")])
    assert (found.only_first, found.only_second, found.parts_at) == ((2, 3), (), 2)


def test_keys_in_another_order_are_other_bytes() -> None:
    found = diff_items([{"a": 1, "b": 2}], [{"b": 2, "a": 1}])
    assert (found.parts_at, found.shared_bytes) == (0, len('{"'))


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), (None, float("inf")), (2**70, 2**70 + 1), ("\ud800", "\udbff")]
)
def test_values_that_are_not_quite_the_same_differ(one: Any, other: Any) -> None:
    assert diff_items([said(one)], [said(other)]).parts_at == 0
    assert diff_items([said(one)], [said(one)]).parts_at is None


@given(ITEMS, ITEMS)
def test_a_diff_turned_round_is_the_diff_the_other_way(one: list[Any], other: list[Any]) -> None:
    found, back = diff_items(one, other), diff_items(other, one)
    assert (found.only_first, found.only_second) == (back.only_second, back.only_first)
    assert (found.parts_at, found.shared_bytes) == (back.parts_at, back.shared_bytes)
    assert (found.parts_at is None) == (json.dumps(one) == json.dumps(other))
    assert 0 <= found.shared_bytes <= min(found.first_bytes, found.second_bytes)
    assert len(one) - len(found.only_first) == len(other) - len(found.only_second)


@given(ITEMS, ITEMS, ITEMS)
def test_what_leads_both_is_shared_whole(head: list[Any], one: list[Any], other: list[Any]) -> None:
    found = diff_items([*head, *one], [*head, *other])
    assert found.shared_bytes >= diff_items(head, []).first_bytes
    assert found.parts_at is None or found.parts_at >= len(head)
