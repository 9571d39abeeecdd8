"""Outputs come to their calls: what stays as it is, what moves, and what stands for what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Final

import pytest

from transcript_log._pairing import (
    STAND_IN_BEGAN,
    STAND_IN_FINISHED,
    STAND_IN_NEVER_BEGAN,
    STAND_IN_UNKNOWN,
    Order,
    pair,
)
from transcript_log._pieces import Piece
from transcript_log.codec import outcome_payload, started_payload
from transcript_log.entries import ToolOutcome, ToolStarted
from transcript_log.findings import Change

Item = dict[str, Any]

ORDERS: Final[tuple[Order | None, ...]] = ("responses", "chat", "anthropic", None)


def user(content: Any = "go") -> Item:
    return {"role": "user", "content": content}


def assistant(content: Any = "done", **more: Any) -> Item:
    return {"role": "assistant", "content": content, **more}


def text(said: str) -> Item:
    return {"type": "text", "text": said}


def call(call_id: Any = "a", kind: str = "function", **more: Any) -> Item:
    return {"type": f"{kind}_call", "call_id": call_id, "name": "bash", "arguments": "{}", **more}


def output(call_id: Any = "a", said: Any = "out", kind: str = "function_call") -> Item:
    return {"type": f"{kind}_output", "call_id": call_id, "output": said}


def asks(*ids: Any, content: Any = None) -> Item:
    calls = [{"id": i, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def tool(call_id: Any = "a", said: Any = "out") -> Item:
    return {"role": "tool", "tool_call_id": call_id, "content": said}


def use(call_id: Any = "a") -> Item:
    return {"type": "tool_use", "id": call_id, "name": "bash", "input": {}}


def result(call_id: Any = "a", said: Any = "out") -> Item:
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


def pi_call(call_id: str = "a") -> Item:
    block = {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {}}
    return {"role": "assistant", "content": [block], "stopReason": "toolUse"}


def search(call_id: str = "s") -> Item:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}


def searched(call_id: str = "s") -> Item:
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def pieces_of(items: Sequence[Item], **more: Any) -> list[Piece]:
    return [Piece(item, (f"e{place}",), **more) for place, item in enumerate(items)]


def paired(*items: Item, order: Order | None = None, details: Any = None) -> tuple[list[Piece], list[Change]]:
    return pair(pieces_of(items), order, details)


def sent(*items: Item, order: Order | None = None, details: Any = None) -> list[Item]:
    return [piece.item for piece in paired(*items, order=order, details=details)[0]]  # type: ignore[misc]


def told(*items: Item, order: Order | None = None) -> list[tuple[str, str, str | None, str | None]]:
    return [(c.kind, c.rule, c.entry, c.call) for c in paired(*items, order=order)[1]]


def texts(items: Sequence[Item]) -> list[Any]:
    """What stands where, in short."""
    return [
        item.get("output")
        if "output" in item
        else item.get("content")
        if item.get("role") in ("tool", "user")
        else item.get("call_id") or [each["id"] for each in item.get("tool_calls", [])] or item.get("content")
        for item in items
    ]


def stays(*items: Item, order: Order | None) -> None:
    pieces = pieces_of(items)
    made, changes = pair(pieces, order)
    assert changes == []
    assert all(a is b for a, b in zip(made, pieces, strict=True))


# ----------------------------------------------------------------------- what stays


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "items",
    [
        [],
        [user(), assistant(), user()],
        [user(), asks("a"), tool("a"), assistant()],
        [user(), asks("a", "b"), tool("a"), tool("b"), user()],
        [user(), asks("a", "b"), tool("b"), tool("a"), user()],
        [user(), asks("a"), tool("a"), asks("a"), tool("a")],
        [user(), asks("a", "a"), tool("a", "one"), tool("a", "two")],
        [user(), call("a"), output("a"), call("b"), output("b")],
        [user(), call("a"), call("b"), output("b"), output("a"), user()],
        [user(), assistant([use("a")]), user([result("a")])],
        [user(), assistant([use("a"), use("b")]), user([result("b"), result("a"), text("and")])],
        [user(), pi_call(), {"role": "toolResult", "toolCallId": "a", "content": []}],
        [user(), call("a", "local_shell"), output("a"), user()],
        [user(), call("a", "custom"), output("a", kind="custom_tool_call"), user()],
    ],
)
def test_what_every_api_takes_stays_as_it_is(items: list[Item], order: Order | None) -> None:
    stays(*items, order=order)


def test_calls_that_begin_while_others_run_stay_where_the_api_takes_that() -> None:
    items = [user(), call("a"), call("b"), output("a"), call("c"), output("b"), output("c"), user()]
    stays(*items, order="responses")
    stays(*items, order=None)
    assert texts(sent(*items, order="chat")) == ["go", "a", "b", "out", "out", "c", "out", "go"]
    assert told(*items, order="chat") == [("moved", "output-order", "e5", "b")]


def test_reasoning_may_stand_between_a_call_and_its_output_of_the_responses_api() -> None:
    items = [user(), call("a"), {"type": "reasoning", "summary": []}, call("b"), output("a"), output("b")]
    stays(*items, order="responses")
    stays(*items, order=None)


def test_a_message_of_the_same_turn_may_follow_a_call_of_anthropic() -> None:
    items = [user(), assistant([use("a")]), assistant([text("so")]), user([result("a")])]
    stays(*items, order="anthropic")
    stays(*items, order=None)
    parted = sent(*items, order="chat")
    assert parted == [items[0], items[1], items[3], items[2]]
    assert told(*items, order="chat") == [("moved", "output-order", "e3", "a")]


def test_results_may_be_spread_over_messages_of_the_user() -> None:
    items = [user(), assistant([use("a"), use("b")]), user([result("b")]), user([result("a")]), user("and")]
    stays(*items, order="anthropic")
    stays(*items, order=None)


# ------------------------------------------------------------------------ what moves


@pytest.mark.parametrize("order", ORDERS)
def test_what_the_user_said_in_between_goes_after_the_output(order: Order | None) -> None:
    items = [user(), call("a"), user("wait"), output("a"), assistant()]
    made, changes = paired(*items, order=order)
    assert [piece.item for piece in made] == [items[0], items[1], items[3], items[2], items[4]]
    assert [piece.why for piece in made] == ["kept", "kept", "moved", "kept", "kept"]
    assert [(c.kind, c.rule, c.entry, c.call) for c in changes] == [("moved", "output-order", "e3", "a")]
    assert all(a.item is b for a, b in zip(made, [items[at] for at in (0, 1, 3, 2, 4)], strict=True))


def test_what_the_user_said_inside_a_batch_goes_after_all_of_it() -> None:
    items = [user(), asks("a", "b", "c"), tool("a"), user("steer"), tool("b"), user("more"), tool("c")]
    assert sent(*items, order="chat") == [items[at] for at in (0, 1, 2, 4, 6, 3, 5)]
    assert told(*items, order="chat") == [
        ("moved", "output-order", "e4", "b"),
        ("moved", "output-order", "e6", "c"),
    ]


def test_an_output_belongs_to_its_call_across_turns() -> None:
    items = [user(), asks("a"), user("on"), assistant("other"), user("well"), tool("a")]
    assert sent(*items, order="chat") == [items[at] for at in (0, 1, 5, 2, 3, 4)]


def test_an_output_before_its_call_goes_after_it() -> None:
    for order in ORDERS:
        items = [user(), output("a"), call("a"), user()]
        assert sent(*items, order=order) == [items[0], items[2], items[1], items[3]]


@pytest.mark.parametrize("order", ORDERS)
def test_an_output_before_its_call_is_told_as_moved_alone(order: Order | None) -> None:
    assert told(user(), output("a"), call("a"), user(), order=order) == [("moved", "output-order", "e1", "a")]


def test_an_output_belongs_to_the_nearest_call_before_it() -> None:
    items = [asks("a"), tool("a", "one"), user(), asks("a"), tool("a", "two"), user(), asks("a")]
    made = sent(*items, order="chat")
    assert made[:6] == items[:6]
    assert made[7] == tool("a", STAND_IN_UNKNOWN)
    late = [asks("a"), user(), asks("a"), user(), tool("a", "late")]
    assert texts(sent(*late, order="chat")) == [["a"], STAND_IN_UNKNOWN, "go", ["a"], "late", "go"]


def test_text_that_stands_before_the_results_in_a_message_goes_after_them_and_is_told() -> None:
    items = [user(), assistant([use("a")]), user([text("see"), result("a")]), assistant()]
    made, changes = paired(*items, order="anthropic")
    assert made[2].item == user([result("a"), text("see")])
    assert made[2].item["content"][0] is items[2]["content"][1]
    assert [(c.rule, c.entry) for c in changes] == [("output-first", "e2")]


def test_a_message_that_answers_only_some_is_taken_apart_around_the_rest() -> None:
    items = [user(), assistant([use("a"), use("b")]), user([result("a"), text("and")]), user([result("b")])]
    assert sent(*items, order="anthropic") == [
        items[0],
        items[1],
        user([result("a"), result("b"), text("and")]),
    ]


def test_an_output_that_two_messages_hold_is_taken_from_the_later_alone() -> None:
    items = [
        user(),
        assistant([use("a")]),
        user([result("a", "one")]),
        user("on"),
        user([result("a", "two")]),
    ]
    assert sent(*items, order="anthropic") == [items[0], items[1], user([result("a", "two"), text("on")])]


# ---------------------------------------------------------------------- stand-ins


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("asked", "stand_in"),
    [
        (call("a"), output("a", STAND_IN_UNKNOWN)),
        pytest.param(
            call("a", "custom_tool"),
            output("a", STAND_IN_UNKNOWN, "custom_tool_call"),
        ),
        (
            call("a", "local_shell"),
            {"type": "local_shell_call_output", "id": "a", "call_id": "a", "output": STAND_IN_UNKNOWN},
        ),
        (
            call("a", "shell"),
            output(
                "a",
                [
                    {
                        "stdout": "",
                        "stderr": STAND_IN_UNKNOWN,
                        "outcome": {"type": "exit", "exit_code": 1},
                    }
                ],
                "shell_call",
            ),
        ),
        (call("a", "apply_patch"), {**output("a", STAND_IN_UNKNOWN, "apply_patch_call"), "status": "failed"}),
        (call("a", "tool_search"), {"type": "tool_search_output", "call_id": "a", "tools": []}),
        (asks("a"), tool("a", STAND_IN_UNKNOWN)),
        (assistant([use("a")]), user([{**result("a", STAND_IN_UNKNOWN), "is_error": True}])),
        (
            pi_call(),
            {
                "role": "toolResult",
                "toolCallId": "a",
                "toolName": "bash",
                "content": [text(STAND_IN_UNKNOWN)],
                "isError": True,
            },
        ),
    ],
)
def test_a_call_that_nobody_answered_has_a_stand_in_of_its_shape(
    asked: Item, stand_in: Item, order: Order | None
) -> None:
    made, changes = paired(user(), asked, order=order)
    assert [piece.item for piece in made] == [user(), asked, stand_in]
    assert (made[2].why, made[2].sources) == ("stand-in", ("e1",))
    assert [(c.kind, c.rule, c.entry, c.call, c.item) for c in changes] == [
        ("added", "unanswered-call", "e1", "a", None)
    ]


def test_a_stand_in_stands_before_what_the_user_said_next_or_in_it() -> None:
    assert texts(sent(user(), call("a"), user("on"))) == ["go", "a", STAND_IN_UNKNOWN, "on"]
    made = paired(user(), assistant([use("a")]), user("on"), order="anthropic")[0]
    stand_in = {**result("a", STAND_IN_UNKNOWN), "is_error": True}
    assert made[2].item == user([stand_in, text("on")])
    assert (made[2].why, made[2].sources) == ("merged", ("e1", "e2"))


def test_stand_ins_stand_in_the_order_of_the_calls() -> None:
    items = [user(), asks("a", "b", "c"), tool("b")]
    assert texts(sent(*items, order="chat")) == [
        "go",
        ["a", "b", "c"],
        STAND_IN_UNKNOWN,
        "out",
        STAND_IN_UNKNOWN,
    ]
    made = sent(*items, order="chat")
    assert [item.get("tool_call_id") for item in made[2:]] == ["a", "b", "c"]


STARTED: Final = started_payload(ToolStarted(at=datetime(2026, 1, 2, tzinfo=UTC)))
ENDED: Final = outcome_payload(ToolOutcome(status="failed"))


def wording(details: Any) -> str:
    return str(sent(user(), call("a"), details=details)[-1]["output"])


def test_a_stand_in_says_what_is_known_of_the_call() -> None:
    assert wording(None) == wording({}) == STAND_IN_UNKNOWN
    assert wording({("other", None): ENDED}) == STAND_IN_UNKNOWN
    assert wording({("other", None): STARTED}) == STAND_IN_UNKNOWN  # of no call here
    assert wording({("a", None): STARTED}) == STAND_IN_BEGAN
    assert wording({("a", None): ENDED}) == STAND_IN_FINISHED.format(status="failed")
    assert wording({("a", None): STARTED, ("a", "e1"): ENDED}) == wording({("a", None): ENDED})
    assert wording({("a", None): ENDED, ("a", "e1"): STARTED}) == wording({("a", None): ENDED})
    assert wording({("a", "e9"): STARTED}) == STAND_IN_UNKNOWN  # of another call with this id


def test_a_call_never_began_where_the_start_of_an_earlier_one_is_on_record() -> None:
    begun: Any = {("b", None): STARTED}
    made = sent(
        user(), call("a"), user(), call("b"), call("c"), user(), call("d"), details=begun, order="responses"
    )
    said = {item["call_id"]: item["output"] for item in made if item.get("type") == "function_call_output"}
    # What is recorded of a later call says nothing of an earlier one: its stand-in was sent.
    assert said == {
        "a": STAND_IN_UNKNOWN,
        "b": STAND_IN_BEGAN,
        "c": STAND_IN_NEVER_BEGAN,
        "d": STAND_IN_NEVER_BEGAN,
    }
    assert wording({("a", None): "junk"}) == STAND_IN_UNKNOWN


def test_all_four_wordings_say_that_nobody_knows() -> None:
    words = {STAND_IN_UNKNOWN, STAND_IN_BEGAN, STAND_IN_FINISHED, STAND_IN_NEVER_BEGAN}
    assert len(words) == 4
    assert all("unknown" in said and "\n" not in said for said in words)


def test_a_published_stand_in_wins_over_what_came_later() -> None:
    for late in (True, False):
        items = [user(), asks("a"), tool("a", "made up"), user("on"), tool("a", "late")]
        pieces = pieces_of(items)
        pieces[2].stand_in = late
        made, changes = pair(pieces, "chat")
        assert texts([piece.item for piece in made]) == ["go", ["a"], "made up" if late else "late", "on"]
        (change,) = [change for change in changes if change.kind == "left-out"]
        assert change.rule == ("late-output" if late else "repeated-output")
        assert change.entry == ("e4" if late else "e2")
        assert change.item is items[4 if late else 2]


def test_a_published_stand_in_wins_wherever_it_stands() -> None:
    pieces = pieces_of([user(), asks("a"), tool("a", "real"), tool("a", "made up"), tool("a", "late")])
    pieces[3].stand_in = True
    made, changes = pair(pieces, "chat")
    assert texts([piece.item for piece in made]) == ["go", ["a"], "made up"]
    assert {change.rule for change in changes if change.kind == "left-out"} == {"late-output"}


def test_of_two_calls_with_one_id_the_published_answer_of_one_leaves_room_for_the_other() -> None:
    pieces = pieces_of([asks("a", "a"), tool("a", "made up"), tool("a", "one"), tool("a", "two")])
    pieces[1].stand_in = True
    made, changes = pair(pieces, "chat")
    assert texts([piece.item for piece in made]) == [["a", "a"], "made up", "two"]
    assert [(c.rule, c.entry) for c in changes] == [("repeated-output", "e2")]


def test_a_call_that_wants_a_picture_for_an_answer_is_left_out() -> None:
    items = [user(), call("a"), call("m", "computer"), output("a"), user("on")]
    for order in ("responses", None):
        assert sent(*items, order=order) == [items[at] for at in (0, 1, 3, 4)]
        assert told(*items, order=order) == [("left-out", "unanswered-call", "e2", "m")]
    alone = [user(), call("m", "computer"), user("on")]
    assert sent(*alone) == [user(), user("on")]


# -------------------------------------------------------------------------- what goes


@pytest.mark.parametrize("order", ORDERS)
def test_an_output_that_answers_nothing_is_left_out(order: Order | None) -> None:
    for items in (
        [user(), output("a"), user()],
        [user(), tool("a"), user()],
        [user(), user([result("a")]), user()],
    ):
        made, changes = paired(*items, order=order)
        assert [piece.item for piece in made] == [items[0], items[2]]
        (change,) = changes
        assert (change.kind, change.rule, change.call) == ("left-out", "output-without-call", "a")
        assert change.item is items[1]


def test_what_a_message_says_beside_a_result_that_answers_nothing_stays() -> None:
    items = [user(), user([result("a"), text("see")]), assistant()]
    made, changes = paired(*items, order="anthropic")
    assert made[1].item == user([text("see")])
    assert made[1].why == "split"
    (change,) = changes
    assert change.item == user([items[1]["content"][0]])


@pytest.mark.parametrize("order", ORDERS)
def test_of_a_surplus_the_last_counts(order: Order | None) -> None:
    items = [user(), call("a"), output("a", "one"), output("a", "two"), output("a", "three"), user()]
    assert texts(sent(*items, order=order)) == ["go", "a", "three", "go"]
    assert told(*items, order=order) == [
        ("left-out", "repeated-output", "e2", "a"),
        ("left-out", "repeated-output", "e3", "a"),
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_outputs_of_one_id_are_dealt_to_its_calls_in_order(order: Order | None) -> None:
    items = [asks("a", "a"), tool("a", "one"), tool("a", "two"), tool("a", "three")]
    assert texts(sent(*items, order=order)) == [["a", "a"], "one", "three"]
    assert texts(sent(*items[:2], order=order)) == [["a", "a"], "one", STAND_IN_UNKNOWN]


def test_an_id_that_comes_again_in_another_turn_is_another_call() -> None:
    items = [asks("a"), tool("a", "one"), user(), asks("a"), tool("a", "two"), tool("a", "three")]
    assert texts(sent(*items, order="chat")) == [["a"], "one", "go", ["a"], "three"]
    open_one = [asks("a"), user(), asks("a"), tool("a", "two")]
    assert texts(sent(*open_one, order="chat")) == [["a"], STAND_IN_UNKNOWN, "go", ["a"], "two"]
    surplus = [asks("a"), tool("a", "one"), tool("a", "two"), user(), asks("a"), tool("a", "three")]
    assert texts(sent(*surplus, order="chat")) == [["a"], "two", "go", ["a"], "three"]


@pytest.mark.parametrize("missing", ["", None, 7])
def test_calls_and_outputs_without_an_id_belong_together_in_order(missing: Any) -> None:
    items = [user(), asks(missing, missing), tool(missing, "one"), tool(missing, "two")]
    stays(*items, order="chat")
    flat = [user(), call(missing), output(missing, "one"), user(), call(missing), output(missing, "two")]
    stays(*flat, order="responses")
    lone = [user(), call(missing), user("on")]
    assert texts(sent(*lone))[2] == STAND_IN_UNKNOWN


# -------------------------------------------------------------------------------- kinds


def test_an_output_goes_to_the_call_of_its_kind() -> None:
    items = [
        call("a"),
        call("a", "custom_tool"),
        output("a", "free", "custom_tool_call"),
        output("a", "plain"),
    ]
    made = sent(*items, order="responses")
    assert texts(made) == ["a", "a", "free", "plain"]
    lone = [call("a", "custom_tool"), call("a"), output("a", "plain")]
    assert sent(*lone, order="responses")[2]["output"] == STAND_IN_UNKNOWN
    assert sent(*lone, order="responses")[3] is lone[2]


@pytest.mark.parametrize("kind", ["custom_tool", "local_shell", "shell", "apply_patch"])
def test_an_output_of_another_kind_is_better_than_a_stand_in(kind: str) -> None:
    stays(user(), call("a", kind), output("a"), user(), order="responses")


def test_a_function_output_is_for_a_local_shell_before_it_is_for_anything_else() -> None:
    items = [call("a", "custom_tool"), call("a", "local_shell"), output("a", "listing")]
    made = sent(*items, order="responses")
    assert made[2]["output"] == STAND_IN_UNKNOWN
    assert made[3] is items[2]


def test_a_search_for_tools_is_answered_by_what_it_found_alone() -> None:
    asked, found = call("a", "tool_search"), {"type": "tool_search_output", "call_id": "a", "tools": [{}]}
    stays(user(), asked, found, order="responses")
    made = sent(user(), asked, output("a", "no tools"), order="responses")
    assert made[2] == {"type": "tool_search_output", "call_id": "a", "tools": []}
    assert len(made) == 3
    made = sent(user(), call("a"), found, order="responses")
    assert made == [user(), call("a"), output("a", STAND_IN_UNKNOWN)]
    stays(user(), call("a"), call("a", "tool_search"), found, output("a"), order="responses")


def test_a_picture_of_a_computer_answers_no_function() -> None:
    shown = {"type": "computer_call_output", "call_id": "a", "output": {"type": "computer_screenshot"}}
    stays(user(), call("a", "computer"), shown, order="responses")
    assert texts(sent(user(), call("a"), shown, order="responses")) == ["go", "a", STAND_IN_UNKNOWN]
    assert sent(user(), call("a", "computer"), output("a"), order="responses") == [user()]


def test_shapes_may_mix() -> None:
    stays(user(), call("a"), tool("a"), user(), order="responses")
    stays(user(), asks("a"), user([result("a")]), user(), order="chat")
    stays(user(), assistant([use("a")]), output("a"), user(), order="anthropic")


# -------------------------------------------------------------------------- cut arguments


@pytest.mark.parametrize("word", ["max_tokens", "length", "max_output_tokens", "incomplete"])
def test_a_call_whose_arguments_a_limit_cut_is_left_out(word: str) -> None:
    cut = call("a", arguments='{"path": "a')
    pieces = pieces_of([user(), call("b"), cut, output("b"), output("a", "failed"), user()])
    pieces[1].finish = pieces[2].finish = word
    made, changes = pair(pieces, "responses")
    assert texts([piece.item for piece in made]) == ["go", "b", "out", "go"]
    assert [(c.kind, c.rule, c.call) for c in changes] == [
        ("left-out", "cut-call", "a"),
        ("left-out", "output-without-call", "a"),
    ]
    assert changes[0].item is cut


def test_arguments_that_no_limit_cut_are_the_models_own() -> None:
    for word in ("stop", None):
        pieces = pieces_of([user(), call("a", arguments='{"path": "a'), output("a", "failed")])
        pieces[1].begins, pieces[1].finish = True, word
        made, changes = pair(pieces, "responses")
        assert (made, changes) == (pieces, [])


def test_a_limit_counts_for_its_own_response_alone() -> None:
    items = [user(), assistant("so"), user(), call("a", arguments='{"path": "a'), output("a")]
    pieces = pieces_of(items)
    pieces[1].begins, pieces[1].finish = True, "max_tokens"
    assert pair(pieces, "responses") == (pieces, [])
    pieces[3].begins = True
    assert pair(pieces, "responses") == (pieces, [])


def test_only_the_cut_calls_of_a_message_go_and_what_was_said_stays() -> None:
    asked = asks("a", "b", content="so")
    asked["tool_calls"][1]["function"]["arguments"] = '{"path": "a'
    asked["stop_reason"] = "max_tokens"
    made, changes = paired(user(), asked, tool("a"), user(), order="chat")
    assert made[1].item == {**asked, "tool_calls": asked["tool_calls"][:1]}
    assert made[1].why == "split"
    assert [(c.rule, c.call) for c in changes] == [("cut-call", "b")]
    alone = asks("b")
    alone["tool_calls"][0]["function"]["arguments"] = "{"
    alone["stop_reason"] = "max_tokens"
    assert sent(user(), alone, user()) == [user(), user()]


def test_empty_arguments_and_free_text_are_never_cut() -> None:
    for item in (call("a", arguments=""), call("a", "custom_tool", input="*** Beg")):
        pieces = pieces_of([user(), item, output("a")])
        pieces[1].begins, pieces[1].finish = True, "max_tokens"
        assert pair(pieces, "responses") == (pieces, [])


# -------------------------------------------------------------------------- hosted calls


def test_a_server_call_and_its_result_in_one_turn_stay() -> None:
    for order in ORDERS:
        stays(user(), assistant([search(), searched(), text("so")]), user(), order=order)
        stays(user(), assistant([search()]), assistant([searched(), text("so")]), user(), order=order)


def test_a_result_that_came_after_the_user_spoke_goes_into_the_turn_of_its_call() -> None:
    items = [user(), assistant([search()]), user("wait"), assistant([searched(), text("so")]), user()]
    made, changes = paired(*items, order="anthropic")
    assert [piece.item for piece in made] == [
        user(),
        assistant([search(), searched(), text("so")]),
        user("wait"),
        user(),
    ]
    assert (made[1].why, made[1].sources) == ("merged", ("e1", "e3"))
    assert [(c.kind, c.rule, c.entry, c.call) for c in changes] == [("moved", "hosted-result", "e3", "s")]


def test_a_server_call_or_result_alone_is_left_out() -> None:
    for block in (search(), searched()):
        made, changes = paired(user(), assistant([block, text("so")]), user(), order="anthropic")
        assert made[1].item == assistant([text("so")])
        assert [(c.kind, c.rule, c.entry, c.call) for c in changes] == [
            ("left-out", "hosted-pair", "e1", "s")
        ]
        assert changes[0].item == block
        assert sent(user(), assistant([block]), user()) == [user(), user()]


def test_a_result_before_its_call_is_no_answer() -> None:
    made, changes = paired(user(), assistant([searched(), search(), text("so")]), user())
    assert made[1].item == assistant([text("so")])
    assert [c.rule for c in changes] == ["hosted-pair", "hosted-pair"]


def test_a_server_call_waits_only_at_the_end_of_a_paused_turn() -> None:
    paused = [user(), assistant([search()], stop_reason="pause_turn")]
    stays(*paused, order="anthropic")
    assert sent(*paused, user("on"), order="anthropic") == [user(), user("on")]
    pieces = pieces_of([user(), assistant([search()])])
    pieces[1].finish = "pause"
    assert pair(pieces, "anthropic") == (pieces, [])
    pieces[1].finish = "stop"
    assert [piece.item for piece in pair(pieces, "anthropic")[0]] == [user()]


def test_two_server_calls_of_one_id_have_a_result_each() -> None:
    items = [assistant([search(), searched()]), user(), assistant([search(), searched(), text("so")])]
    stays(*items, order="anthropic")


# ------------------------------------------------------------------------- whole histories


def test_nothing_that_was_given_is_changed_and_twice_is_once() -> None:
    items = [
        user([text("see"), result("a"), result("z")]),
        assistant([use("a"), use("b"), search()]),
        user([text("and"), result("b", "one")]),
        output("a", "late"),
        asks("c"),
        user("steer"),
        tool("b", "two"),
    ]
    for order in ORDERS:
        before = repr(items)
        made, changes = paired(*items, order=order)
        assert changes
        assert repr(items) == before
        again, none = pair(made, order)
        assert none == []
        assert all(a is b for a, b in zip(again, made, strict=True))


def steps(items: Sequence[Item], order: Order | None) -> float:
    pieces = pieces_of(items)
    best = float("inf")
    for _ in range(3):
        begin = perf_counter()
        pair(pieces, order)
        best = min(best, perf_counter() - begin)
    return best


@pytest.mark.parametrize("order", ORDERS)
def test_1500_open_calls_and_their_outputs_in_reverse(order: Order | None) -> None:
    ids = [f"c{n}" for n in range(1500)]
    histories: list[list[Item]] = [
        [user(), *map(call, ids), *map(output, reversed(ids)), user()],
        [user(), asks(*ids), *map(tool, reversed(ids)), user()],
        [user(), assistant([use(i) for i in ids]), user([result(i) for i in reversed(ids)]), user()],
        [user(), *map(call, ids), user()],
        [user(), *map(output, ids), *map(call, ids), user()],
        [user(), *(item for i in ids for item in (call(i), user(i))), *map(output, ids)],
        [user(), *(call("same") for _ in ids), *(output("same", i) for i in ids), user()],
        [user(), *(assistant([search(i)]) for i in ids), user(), *(assistant([searched(i)]) for i in ids)],
    ]
    for items in histories:
        made, _ = paired(*items, order=order)
        again, changes = pair(made, order)
        assert changes == []
        assert len(again) == len(made)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", ["reverse", "open", "batches", "one id"])
def test_the_time_grows_with_the_history_and_no_faster(shape: str, order: Order | None) -> None:
    """Ten times the calls would take a hundred times as long if each looked at all others."""

    def history(size: int) -> list[Item]:
        ids = [f"c{n}" for n in range(size)]
        if shape == "reverse":
            return [user(), *map(call, ids), *map(output, reversed(ids))]
        if shape == "open":
            return [user(), *map(call, ids)]
        if shape == "batches":
            return [item for i in ids for item in (asks(i), user("steer"), tool(i))]
        return [user(), *(call("same") for _ in ids), *(output("same") for _ in ids)]

    few, many = steps(history(150), order), steps(history(1500), order)
    assert many < 40 * few + 0.05, (few, many)
