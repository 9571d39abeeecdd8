"""A projection is its items by position, and what is known of them by identity."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
from core_items import Watched, message, same_objects
from hypothesis import given
from hypothesis import strategies as st

from transcript_log.errors import ReconciliationError
from transcript_log.projection import Projection, item_list

_ITEMS = [Watched(role="user", content="same") for _ in range(5)]
_PICKS = st.integers(0, len(_ITEMS) - 1)


class _Breaking(Sequence[Any]):
    """A sequence that fails while it is read."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        if index:
            raise OSError("gone")
        return _ITEMS[0]


# --------------------------------------------------------------------------------- items


def test_items_are_a_fresh_list_of_the_same_objects() -> None:
    given_items = [message(), message()]
    projection = Projection(given_items)
    first = projection.items()
    assert same_objects(first, given_items)
    first.clear()
    given_items.pop()
    assert len(projection.items()) == len(projection) == 2
    assert isinstance(projection.items(), list)


def test_an_item_that_is_appended_is_given_back() -> None:
    projection = Projection()
    item = message()
    before = projection.items()
    assert projection.append(item) is item
    assert projection.append(item) is item
    assert same_objects(projection.items(), [item, item])
    assert before == []


@pytest.mark.parametrize("odd", [5, "text", b"bytes", {"0": {}}, {1}, iter([]), True])
def test_what_is_no_sequence_of_items_is_refused(odd: Any) -> None:
    projection = Projection(_ITEMS)
    table = projection.metadata("k")
    table[_ITEMS[0]] = "v"
    for attempt in (Projection, projection.replace, projection.derive, item_list):
        with pytest.raises(ReconciliationError) as caught:
            attempt(odd)
        assert (caught.value.kind, caught.value.call_id, caught.value.item) == ("invalid_items", None, None)
    assert same_objects(projection.items(), _ITEMS)
    assert projection.metadata("k") is table
    assert table[_ITEMS[0]] == "v"


def test_none_is_no_items_at_all() -> None:
    projection = Projection(None)
    assert projection.items() == item_list(None) == []
    projection.append(_ITEMS[0])
    projection.replace(None)
    assert len(projection) == 0


def test_a_replacement_that_fails_while_it_is_read_changes_nothing() -> None:
    projection = Projection(_ITEMS[:1])
    table = projection.metadata("k")
    with pytest.raises(OSError, match="gone"):
        projection.replace(_Breaking())
    assert same_objects(projection.items(), _ITEMS[:1])
    assert projection.metadata("k") is table


# ------------------------------------------------------------------------------ metadata


@given(
    st.lists(_PICKS, max_size=4),
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), _PICKS),
            st.tuples(st.just("replace"), st.lists(_PICKS, max_size=6)),
            st.tuples(st.just("set"), st.sampled_from("xy"), _PICKS, st.sampled_from([None, 0, "v"])),
        ),
        max_size=20,
    ),
)
def test_a_projection_is_what_a_plain_model_of_it_is(start: list[int], steps: list[Any]) -> None:
    projection = Projection([_ITEMS[pick] for pick in start])
    order, known = list(start), {"x": {}, "y": {}}
    for step in steps:
        match step:
            case "append", pick:
                projection.append(_ITEMS[pick])
                order.append(pick)
            case "replace", picks:
                projection.replace([_ITEMS[pick] for pick in picks])
                order = list(picks)
                known = {
                    key: {p: value for p, value in table.items() if p in picks}
                    for key, table in known.items()
                }
            case "set", key, pick, value:
                projection.metadata(key)[_ITEMS[pick]] = value
                known[key][pick] = value
    assert same_objects(projection.items(), [_ITEMS[pick] for pick in order])
    for key, expected in known.items():
        table = projection.metadata(key)
        assert len(table) == len(expected)
        assert {pick: table[item] for pick, item in enumerate(_ITEMS) if item in table} == expected


def test_equal_items_are_known_apart() -> None:
    one, two = message(), message()
    projection = Projection([one, two])
    projection.metadata("k")[one] = 1
    assert one == two
    assert two not in projection.metadata("k")


def test_a_replacement_detaches_the_tables_that_somebody_holds() -> None:
    item, other = message(), message()
    projection = Projection([item])
    held = projection.metadata("k")
    held[item] = "old"
    projection.replace([item])
    assert projection.metadata("k") is not held
    held[other] = "lost"
    projection.metadata("k")[item] = "new"
    assert held[item] == "old"
    assert other not in projection.metadata("k")


def test_what_was_forgotten_does_not_come_back_with_its_item() -> None:
    item = message()
    projection = Projection([item])
    projection.metadata("k")[item] = None
    projection.replace([])
    projection.replace([item])
    assert item not in projection.metadata("k")


def test_a_derived_projection_knows_what_its_source_does_and_shares_nothing_with_it() -> None:
    kept, left = message(), message()
    source = Projection([kept, left])
    source.metadata("k")[kept] = None
    source.metadata("k")[left] = 1
    derived = source.derive([kept])
    assert kept in derived.metadata("k")
    assert left not in derived.metadata("k")
    derived.metadata("k")[kept] = "changed"
    derived.append(left)
    assert source.metadata("k")[kept] is None
    assert same_objects(source.items(), [kept, left])


# ------------------------------------------------------------------------------ lifetime


def test_items_and_tables_die_with_their_projection() -> None:
    item, foreign = message(), message()
    projection = Projection([item])
    projection.metadata("k")[item] = 1
    projection.metadata("k")[foreign] = 2
    alive = [weakref.ref(item), weakref.ref(foreign)]
    del item, foreign
    gc.collect()
    assert all(ref() is not None for ref in alive)
    del projection
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_an_item_that_was_replaced_is_let_go() -> None:
    projection = Projection([message()])
    (item,) = projection.items()
    projection.metadata("k")[item] = item
    alive = weakref.ref(item)
    del item
    projection.replace([message()])
    gc.collect()
    assert alive() is None
