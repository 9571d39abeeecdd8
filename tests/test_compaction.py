"""A compaction carries what is still open, all that belongs to it, and nothing else."""

from __future__ import annotations

import copy
import gc
import weakref
from functools import partial
from typing import Any

import pytest
from core_items import (
    REPAIRED,
    Watched,
    call,
    histories,
    is_repaired,
    made,
    message,
    output,
    reasoning,
    same_objects,
    sound_histories,
    steps_of,
)
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import items
from transcript_log._identity import IdentityMap
from transcript_log.compaction import plan_compaction
from transcript_log.errors import ReconciliationError
from transcript_log.projection import Projection
from transcript_log.reconcile import reconcile


def failure(*args: Any, **options: Any) -> tuple[str, str | None, object]:
    with pytest.raises(ReconciliationError) as caught:
        plan_compaction(*args, **options)
    return caught.value.kind, caught.value.call_id, caught.value.item


def ids(found: Any) -> set[str]:
    return {
        item["call_id"]
        for item in found
        if items.is_function_call(item) or items.is_function_call_output(item)
    }


# ---------------------------------------------------------------------------------- plans


@given(sound_histories(), st.data())
def test_what_is_carried_is_the_end_of_the_history_and_has_all_that_belongs_to_it(
    source: list[Any], data: st.DataObject
) -> None:
    before = copy.deepcopy(source)
    cutoff = data.draw(st.integers(0, len(source)) | st.none())
    projection = Projection(source)
    carry = plan_compaction(projection, cutoff=cutoff)
    assert carry.cutoff == (len(source) if cutoff is None else cutoff)
    start = len(source) - len(carry.items)
    assert same_objects(carry.items, source[start:])
    assert start <= carry.cutoff

    answered = {item["call_id"] for item in source[: carry.cutoff] if items.is_function_call_output(item)}
    still_open = [
        item
        for item in source[: carry.cutoff]
        if items.is_function_call(item) and item["call_id"] not in answered
    ]
    assert same_objects(carry.unresolved_calls, still_open)
    assert all(any(item is other for other in carry.items) for item in still_open)
    assert not ids(source[:start]) & ids(source[start:])
    if 0 < start < len(source):
        assert not items.is_family_private(source[start - 1])
    assert source == before
    assert same_objects(projection.items(), source)


@given(sound_histories(), st.data())
def test_no_smaller_end_would_do(source: list[Any], data: st.DataObject) -> None:
    carry = plan_compaction(Projection(source), cutoff=data.draw(st.integers(0, len(source))))
    start = len(source) - len(carry.items)
    needed = [carry.cutoff, *(source.index(item) for item in carry.unresolved_calls)]
    for smaller in range(start + 1, min(needed) + 1):
        first, last = source[smaller - 1], source[smaller] if smaller < len(source) else None
        assert (
            ids(source[:smaller]) & ids(source[smaller:])
            or items.is_family_private(first)
            or (items.is_function_call(first) and items.is_function_call(last))
        )


@given(histories(), st.sampled_from([None, is_repaired]), st.data())
def test_a_history_that_cannot_be_ordered_cannot_be_compacted(
    source: list[Any], is_repair: Any, data: st.DataObject
) -> None:
    cutoff = data.draw(st.integers(0, len(source)))
    told = None
    try:
        reconcile(source, is_repair=is_repair)
    except ReconciliationError as error:
        told = error.kind, error.call_id, error.item
    if told is not None:
        assert failure(Projection(source), cutoff=cutoff, is_repair=is_repair) == told
    else:
        carry = plan_compaction(Projection(source), cutoff=cutoff, is_repair=is_repair)
        whole = carry.projection(repair_output=made).items()
        assert same_objects(reconcile(whole).items(), whole)


@pytest.mark.parametrize("cutoff", [-1, 3, 1.0, True, False, "1", [], 1 << 70], ids=repr)
def test_a_cutoff_is_a_number_of_items_and_is_looked_at_first(cutoff: Any) -> None:
    twice = [call("a"), call("a")]
    assert failure(Projection(twice), cutoff=cutoff) == ("invalid_cutoff", None, None)


def test_the_reasoning_before_an_open_group_goes_with_it() -> None:
    source = [message(), reasoning(), reasoning(), call("a"), call("b"), output("a")]
    assert same_objects(plan_compaction(Projection(source)).items, source[1:])
    assert plan_compaction(Projection(source[:3])).items == ()


def test_a_group_is_not_torn_even_where_one_of_its_calls_was_answered_before() -> None:
    source = [message(), output("a"), reasoning(), call("a"), call("b")]
    assert same_objects(plan_compaction(Projection(source)).items, source[1:])


def test_a_plan_is_of_the_items_as_they_were() -> None:
    source = [message(), call("a")]
    projection = Projection(source)
    carry = plan_compaction(projection)
    projection.append(output("a"))
    projection.replace([])
    assert same_objects(carry.items, source[1:])
    assert same_objects(carry.unresolved_calls, source[1:])
    (asks, answer) = carry.projection(additional_items=[output("a")]).items()
    assert asks is source[1]
    assert answer["call_id"] == "a"
    assert len(projection) == 0


# ---------------------------------------------------------------------------- projections


@given(sound_histories(), st.data())
def test_the_outputs_that_came_since_close_the_open_calls(source: list[Any], data: st.DataObject) -> None:
    carry = plan_compaction(Projection(source), cutoff=data.draw(st.integers(0, len(source))))
    answered = {item["call_id"] for item in source if items.is_function_call_output(item)}
    since = [
        output(item["call_id"])
        for item in source
        if items.is_function_call(item) and item["call_id"] not in answered
    ]
    summary = message("summary")
    found = carry.projection([summary], since).items()
    assert found[0] is summary
    rest = {id(item) for item in found[1:]}
    assert rest == {id(item) for item in [*carry.items, *since]}
    assert same_objects(reconcile(found).items(), found)


def test_an_added_item_brings_back_what_it_belongs_to() -> None:
    source = [message(), reasoning(), call("a"), output("a", REPAIRED), message()]
    carry = plan_compaction(Projection(source), is_repair=is_repaired)
    assert carry.items == ()
    late = output("a")
    assert same_objects(carry.projection(additional_items=[late]).items(), source[1:])
    with pytest.raises(ReconciliationError) as caught:
        carry.projection(additional_items=[late], is_repair=None)
    assert (caught.value.kind, caught.value.item) == ("duplicate_output", late)
    assert carry.projection().items() == []


def test_private_context_at_the_end_is_carried_only_for_what_follows_it() -> None:
    source = [message(), reasoning()]
    carry = plan_compaction(Projection(source))
    added = message()
    assert carry.projection().items() == []
    assert same_objects(carry.projection(additional_items=[added]).items(), [source[1], added])


def test_what_is_wrong_is_found_even_where_the_family_could_not_read_it() -> None:
    first, second = call("a"), call("a")
    handoffs: IdentityMap[str | None] = IdentityMap()
    handoffs[second] = "one"
    carry = plan_compaction(Projection([first]))
    with pytest.raises(ReconciliationError, match="two calls have one id"):
        carry.projection((), [second], family="one", handoff_families=handoffs, repair_output=made)


def test_no_family_is_not_the_family_none() -> None:
    private, asks = reasoning(), call("a")
    carry = plan_compaction(Projection([private, asks]))
    answer = output("a")
    everything = carry.projection((), [answer])
    assert same_objects(everything.items(), [private, asks, answer])
    assert same_objects(carry.projection((), [answer], family=None).items(), [asks, answer])
    families: IdentityMap[str | None] = IdentityMap()
    families[private] = None
    readable = carry.projection((), [answer], family=None, item_families=families)
    assert same_objects(readable.items(), [private, asks, answer])


def test_a_projection_that_fails_leaves_plan_and_source_as_they_were() -> None:
    source = [message(), call("a"), call("b")]
    projection = Projection(source)
    table = projection.metadata("k")
    table[source[1]] = 1
    carry = plan_compaction(projection)
    odd: Any = 5

    def failing(missing: Any) -> Any:
        if missing.call_id == "b":
            raise LookupError("no idea")
        return made(missing)

    for _ in range(2):
        with pytest.raises(LookupError, match="no idea"):
            carry.projection(repair_output=failing)
        with pytest.raises(ReconciliationError, match="nobody answered"):
            carry.projection()
        for bad in ((odd, ()), ((), odd), ("text", ())):
            with pytest.raises(ReconciliationError, match="a list of items is needed"):
                carry.projection(*bad)
    assert same_objects(projection.items(), source)
    assert projection.metadata("k") is table
    assert same_objects(carry.items, source[1:])
    for _ in range(2):
        found = carry.projection(repair_output=made)
        assert [item["call_id"] for item in found.items()] == ["a", "b", "a", "b"]
        assert found.metadata("k")[source[1]] == 1


# ------------------------------------------------------------------------------ metadata


def test_what_is_known_of_an_item_goes_where_the_item_goes() -> None:
    old, private, asks, since = message(), reasoning(), call("a"), output("a")
    projection = Projection([old, private, asks])
    table = projection.metadata("k")
    table[old], table[private] = "old", None
    projection.metadata("empty")
    carry = plan_compaction(projection)
    table[asks] = "learned while a summary was written"
    table[since] = "known before it was added"
    found = carry.projection([message()], [since])
    known = found.metadata("k")
    assert (known[private], known[asks]) == (None, "learned while a summary was written")
    assert known[since] == "known before it was added"
    assert old not in known
    assert len(known) == 3
    assert known is not table
    assert projection.metadata("k")[old] == "old"
    kept = carry.projection([old], [since])
    assert kept.metadata("k")[old] == "old"


def test_items_die_with_the_last_one_that_holds_them() -> None:
    old, asks = message(), call("a")
    projection = Projection([old, asks])
    projection.metadata("k")[old] = projection.metadata("k")[asks] = 1
    carry = plan_compaction(projection)
    found = carry.projection([message()], repair_output=made)
    alive = [weakref.ref(old), weakref.ref(asks)]
    del old, asks, projection
    gc.collect()
    assert all(ref() is not None for ref in alive)
    del carry
    gc.collect()
    assert alive[0]() is None
    assert alive[1]() is not None
    assert len(found.metadata("k")) == 1
    del found
    gc.collect()
    assert alive[1]() is None


# ---------------------------------------------------------------------------------- time


def planned(source: list[Any], cutoff: int | None = None) -> None:
    """A compaction from beginning to end."""
    carry = plan_compaction(Projection(source), cutoff=cutoff)
    carry.projection((), [message()], family="one", repair_output=made)


def reads_of(source: list[Any]) -> int:
    """How often the items are looked into on the way."""
    before = Watched.reads
    planned(source)
    return Watched.reads - before


def chain(size: int) -> list[Any]:
    """Each output comes after the next call: one open call at the end pulls in one after another."""
    found = []
    for number in range(size):
        found.append(call(str(number)))
        if number:
            found.append(output(str(number - 1)))
    return found


@pytest.mark.parametrize("shape", ["open", "reasoning", "chain", "tail"])
def test_twice_the_items_are_twice_the_work(shape: str) -> None:
    def source(size: int) -> list[Any]:
        match shape:
            case "open":
                return [call(str(number)) for number in range(size)]
            case "reasoning":
                return [*(reasoning() for _ in range(size)), call("a")]
            case "chain":
                return chain(size)
        return [item for n in range(size) for item in (output(str(n)), reasoning(), call(str(n)), message())]

    cutoff = 4 if shape == "tail" else None
    once, twice = (steps_of(partial(planned, source(size), cutoff)) for size in (500, 1_000))
    assert 0 < twice <= 2 * once + 100


def test_a_chain_is_followed_to_its_beginning() -> None:
    source = [message(), *chain(20_000)]
    assert same_objects(plan_compaction(Projection(source)).items, source[1:])
    assert reads_of(source) <= 20 * len(source)


def test_a_long_history_with_many_open_calls_is_planned() -> None:
    source = [message() for _ in range(98_500)]
    source[40_000:40_000] = [call(str(number)) for number in range(1_500)]
    carry = plan_compaction(Projection(source))
    assert len(carry.unresolved_calls) == 1_500
    assert len(carry.items) == 60_000
    assert reads_of(source) <= 20 * len(source)
