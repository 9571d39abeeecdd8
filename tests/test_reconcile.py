"""Calls and outputs come together, or the first item that is wrong is named."""

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
from transcript_log.errors import ReconciliationError
from transcript_log.reconcile import MissingOutput, reconcile, validate_function_call

_PREDICATES = st.sampled_from([None, is_repaired])


def failure(*args: Any, **options: Any) -> tuple[str, str | None, object]:
    with pytest.raises(ReconciliationError) as caught:
        reconcile(*args, **options)
    return caught.value.kind, caught.value.call_id, caught.value.item


# --------------------------------------------------------------------------------- laws


@given(sound_histories())
def test_every_item_comes_once_and_is_the_same_object(source: list[Any]) -> None:
    before = copy.deepcopy(source)
    plan = reconcile(source)
    assert sorted(step for step in plan.order if isinstance(step, int)) == list(range(len(source)))
    found = plan.items(made)
    assert len(found) == len(source) + len(plan.repairs)
    for step, item in zip(plan.order, found, strict=True):
        if isinstance(step, MissingOutput):
            assert any(step.call is other for other in source)
            assert item["call_id"] == step.call_id == step.call["call_id"]
        else:
            assert item is source[step]
    assert source == before


@given(sound_histories())
def test_what_is_no_known_output_keeps_its_order(source: list[Any]) -> None:
    called = {item["call_id"] for item in source if items.is_function_call(item)}

    def moves(item: Any) -> bool:
        return items.is_function_call_output(item) and item["call_id"] in called

    staying = [item for item in source if not moves(item)]
    assert same_objects([item for item in reconcile(source).items(made) if not moves(item)], staying)


@given(sound_histories())
def test_each_run_of_calls_is_followed_by_its_outputs_in_the_order_of_the_calls(source: list[Any]) -> None:
    runs: list[list[str]] = [[]]
    for item in source:
        if items.is_function_call(item):
            runs[-1].append(item["call_id"])
        elif runs[-1]:
            runs.append([])
    found = reconcile(source).items(made)
    for run in filter(None, runs):
        at = next(
            place
            for place, item in enumerate(found)
            if items.is_function_call(item) and item["call_id"] == run[0]
        )
        group = found[at : at + 2 * len(run)]
        assert [item["call_id"] for item in group] == run * 2
        assert [items.is_function_call(item) for item in group] == [True] * len(run) + [False] * len(run)


@given(histories(), _PREDICATES)
def test_a_second_look_finds_nothing_to_do(source: list[Any], is_repair: Any) -> None:
    try:
        found = reconcile(source, is_repair=is_repair).items(made)
    except ReconciliationError:
        return
    for predicate in (None, is_repair):
        again = reconcile(found, is_repair=predicate)
        assert again.order == tuple(range(len(found)))
        assert again.repairs == ()
        assert same_objects(again.items(), found)


@given(histories(), _PREDICATES)
def test_the_first_item_that_is_wrong_is_the_one_that_is_named(source: list[Any], is_repair: Any) -> None:
    before = copy.deepcopy(source)
    wrong = []
    for size in range(len(source) + 1):
        try:
            reconcile(source[:size], is_repair=is_repair)
        except ReconciliationError as error:
            wrong.append((size, error))
    assert source == before
    if wrong:
        size, error = wrong[0]
        assert error.item is source[size - 1]
        # And it stays wrong, whatever follows.
        assert [(later, other.kind, other.item) for later, other in wrong] == [
            (size + more, error.kind, error.item) for more in range(len(source) - size + 1)
        ]
        assert (error.call_id is None) == (error.kind == "missing_call_id")


# ------------------------------------------------------------------------ late outputs


def test_one_late_output_after_a_recognised_repair_is_left_out() -> None:
    asks, repair, late, later = call("a"), output("a", REPAIRED), output("a"), output("a")
    between = message()
    plan = reconcile([asks, repair, between, late], is_repair=is_repaired)
    assert plan.order == (0, 1, 2)
    assert same_objects(plan.source, [asks, repair, between, late])
    assert failure([asks, repair, late]) == ("duplicate_output", "a", late)
    assert failure([asks, repair, late, later], is_repair=is_repaired) == ("duplicate_output", "a", later)


def test_a_repair_counts_only_behind_its_call() -> None:
    asks, repair, late = call("a"), output("a", REPAIRED), output("a")
    assert failure([repair, asks, late], is_repair=is_repaired) == ("duplicate_output", "a", late)
    assert failure([repair, late, asks], is_repair=is_repaired) == ("duplicate_output", "a", late)
    assert failure([repair, late], is_repair=is_repaired) == ("duplicate_output", "a", late)


def test_the_predicate_is_asked_of_an_output_only_when_another_one_follows() -> None:
    asked: list[object] = []

    def is_repair(item: object) -> bool:
        asked.append(item)
        return True

    first, second = output("a"), output("a")
    source = [call("a"), call("b"), first, output("b"), second, output("orphan")]
    assert reconcile(source, is_repair=is_repair).order == (0, 1, 2, 3, 5)
    assert same_objects(asked, [first])


# ------------------------------------------------------------------------------ repairs


def test_without_anybody_to_ask_the_first_missing_output_is_named() -> None:
    asks = call("a")
    plan = reconcile([call("z"), output("z"), asks, call("b")])
    with pytest.raises(ReconciliationError) as caught:
        plan.items()
    assert (caught.value.kind, caught.value.call_id) == ("missing_output", "a")
    assert caught.value.item is asks
    assert [missing.call_id for missing in plan.repairs] == ["a", "b"]


def test_a_callback_that_fails_leaves_the_plan_as_it_was() -> None:
    plan = reconcile([call("a"), call("b"), message()])
    order, asked = plan.order, []

    def failing(missing: MissingOutput) -> Any:
        asked.append(missing.call_id)
        if missing.call_id == "b":
            raise LookupError("no idea")
        return made(missing)

    for _ in range(2):
        with pytest.raises(LookupError, match="no idea"):
            plan.items(failing)
    assert asked == ["a", "b"] * 2
    assert plan.order is order
    found = plan.items(made)
    assert [item.get("call_id") for item in found] == ["a", "b", "a", "b", None]
    assert plan.items(made) is not found


@pytest.mark.parametrize(
    "offered",
    [None, "ok", [], {}, message(), call("a"), output("b"), output(" a"), output(None), reasoning()],
    ids=repr,
)
def test_what_does_not_answer_the_call_is_no_repair(offered: Any) -> None:
    with pytest.raises(ReconciliationError) as caught:
        reconcile([call("a")]).items(lambda _: offered)
    assert (caught.value.kind, caught.value.call_id) == ("invalid_repair_output", "a")
    assert caught.value.item is offered


def test_what_answers_the_call_is_taken_as_it_is() -> None:
    offered: Any = {"type": "function_call_output", "call_id": "a", "status": "incomplete"}
    assert reconcile([call("a")]).items(lambda _: offered)[1] is offered


# ---------------------------------------------------------------------------- one call


@given(histories(), st.sampled_from(["a", "", None, "\xa0"]))
def test_a_call_is_checked_against_the_calls_before_it_alone(preceding: list[Any], call_id: Any) -> None:
    item = call(call_id)
    taken = [items.call_id(other) for other in preceding if items.is_function_call(other)]
    expected = None
    if not items.non_blank(call_id):
        expected = ("missing_call_id", None)
    elif call_id in taken:
        expected = ("duplicate_call", call_id)
    if expected is None:
        validate_function_call(item, preceding=preceding)
        return
    with pytest.raises(ReconciliationError) as caught:
        validate_function_call(item, preceding=preceding)
    assert (caught.value.kind, caught.value.call_id) == expected
    assert caught.value.item is item


def test_what_is_no_call_passes_whatever_precedes_it() -> None:
    odd: Any = "not items"
    for item in (output(""), message(), reasoning(), Watched(type="custom_tool_call", call_id="a")):
        validate_function_call(item, preceding=odd)
    with pytest.raises(ReconciliationError, match="a list of items is needed"):
        validate_function_call(call(""), preceding=odd)
    validate_function_call(call("a"), preceding=None)
    validate_function_call(call("a"))


# --------------------------------------------------------------------- time and lifetime


def put_in_order(source: list[Any]) -> None:
    """A reconciliation from beginning to end."""
    reconcile(source, is_repair=is_repaired).items(made)


@pytest.mark.parametrize("shape", ["open", "pairs", "outputs first", "interleaved", "messages"])
def test_twice_the_items_are_twice_the_work(shape: str) -> None:
    def source(size: int) -> list[Any]:
        names = [str(number) for number in range(size)]
        match shape:
            case "open":
                return [call(name) for name in names]
            case "pairs":
                return [item for name in names for item in (call(name), output(name))]
            case "outputs first":
                return [*map(output, reversed(names)), *map(call, names)]
            case "interleaved":
                return [
                    item for name in names for item in (call(name), message(), output(f"{int(name) - 9}"))
                ]
        return [message() for _ in names]

    once, twice = (steps_of(partial(put_in_order, source(size))) for size in (1_500, 3_000))
    assert 0 < twice <= 2 * once + 100


def test_a_long_history_with_many_open_calls_is_put_in_order() -> None:
    source = [message() for _ in range(98_500)]
    source[40_000:40_000] = [call(str(number)) for number in range(1_500)]
    before = Watched.reads
    put_in_order(source)
    assert Watched.reads - before <= 10 * len(source)
    assert len(reconcile(source).repairs) == 1_500


def test_a_plan_holds_its_items_and_nothing_else_does() -> None:
    plan = reconcile([call("a")])
    alive = weakref.ref(plan.source[0])
    gc.collect()
    assert alive() is not None
    del plan
    gc.collect()
    assert alive() is None
