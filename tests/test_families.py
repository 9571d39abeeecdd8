"""Who can read what: private items go to their own family alone."""

from __future__ import annotations

import copy
from typing import Any

from core_items import Watched, histories, message, reasoning, same_objects
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import items
from transcript_log._identity import IdentityMap
from transcript_log.families import items_for_family

_FAMILIES = st.sampled_from([None, "one", "two"])


def mapped(*pairs: tuple[object, str | None]) -> IdentityMap[str | None]:
    found: IdentityMap[str | None] = IdentityMap()
    for item, family in pairs:
        found[item] = family
    return found


@given(histories(), _FAMILIES, st.data())
def test_a_family_reads_what_is_portable_and_what_is_its_own(
    source: list[Any], family: str | None, data: st.DataObject
) -> None:
    # Small numbers and None are shared objects: only what has an identity of its own is mapped.
    dicts = [item for item in source if isinstance(item, Watched)]
    maps = [
        data.draw(st.none() | st.just(mapped(*((item, data.draw(_FAMILIES)) for item in dicts[::step]))))
        for step in (1, 2)
    ]
    before = copy.deepcopy(source)
    kept = items_for_family(source, family, item_families=maps[0], handoff_families=maps[1])

    def has(found: IdentityMap[str | None] | None, item: object) -> bool:
        return found is not None and item in found and found[item] == family

    expected = [
        item
        for item in source
        if (has(maps[0], item) or not items.is_family_private(item)) and not has(maps[1], item)
    ]
    assert same_objects(kept, expected)
    assert source == before
    again = items_for_family(kept, family, item_families=maps[0], handoff_families=maps[1])
    assert same_objects(again, kept)


def test_none_is_a_family_and_no_entry_is_none() -> None:
    own, unknown = reasoning(), reasoning()
    assert same_objects(items_for_family([own, unknown], None, item_families=mapped((own, None))), [own])
    assert items_for_family([own, unknown], None) == []
    assert items_for_family([own], "one", item_families=mapped((own, None))) == []


def test_equal_items_may_be_of_two_families() -> None:
    one, two = reasoning(), reasoning()
    families = mapped((one, "one"), (two, "two"))
    assert same_objects(items_for_family([one, two], "two", item_families=families), [two])


def test_a_handoff_is_for_the_others() -> None:
    told = message("as I was saying")
    handoffs = mapped((told, "one"))
    assert items_for_family([told], "one", handoff_families=handoffs) == []
    assert same_objects(items_for_family([told], "two", handoff_families=handoffs), [told])
    assert same_objects(items_for_family([told], None, handoff_families=handoffs), [told])
