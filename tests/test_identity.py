"""Maps by identity: equal is not the same, and nothing outlives its owner."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_log._identity import IdentityIndex, IdentityMap


class _Item(dict[str, Any]):
    """A dict that can be weakly referenced, unlike dict itself."""


def test_equal_objects_at_two_places_are_two_objects() -> None:
    one, two = {"role": "user"}, {"role": "user"}
    index = IdentityIndex([one, two])
    assert index.positions(one) == (0,)
    assert index.positions(two) == (1,)
    assert {"role": "user"} not in index
    assert len(index) == 2


@given(st.lists(st.integers(min_value=0, max_value=5), max_size=30))
def test_every_position_of_an_object_is_found_in_order(picks: list[int]) -> None:
    things: list[dict[str, int]] = [{"same": 1} for _ in range(6)]
    index = IdentityIndex([things[pick] for pick in picks])
    for number, thing in enumerate(things):
        assert index.positions(thing) == tuple(at for at, pick in enumerate(picks) if pick == number)
        assert (thing in index) == (number in picks)
    assert len(index) == len(set(picks))


@pytest.mark.parametrize("owner", ["index", "map"])
def test_what_is_held_lives_as_long_as_its_owner_and_no_longer(owner: str) -> None:
    item = _Item(role="user")
    alive = weakref.ref(item)
    holder: IdentityIndex | IdentityMap[str]
    if owner == "index":
        holder = IdentityIndex([item])
    else:
        holder = IdentityMap()
        holder[item] = "value"
    del item
    gc.collect()
    assert alive() is not None
    assert len(holder) == 1
    del holder
    gc.collect()
    assert alive() is None


def test_a_map_gives_the_value_of_the_very_object() -> None:
    one, two = {"a": 1}, {"a": 1}
    found: IdentityMap[str] = IdentityMap()
    found[one] = "one"
    found[two] = "two"
    found[one] = "first"
    assert found[one] == "first"
    assert found[two] == "two"
    assert len(found) == 2
    with pytest.raises(KeyError, match="no value for the dict"):
        found[{"a": 1}]
