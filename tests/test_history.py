"""The history shows everything that happened, once, and each output with its call."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import logs

from transcript_log import items
from transcript_log.codec import outcome_payload, started_payload
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Entry,
    Invocation,
    Item,
    MessageEntry,
    OpaqueEntry,
    Run,
    RunEntry,
    ToolOutcome,
    ToolStarted,
)
from transcript_log.history import (
    Attached,
    Called,
    Compacted,
    Event,
    History,
    HostedCall,
    OutputWithoutCall,
    Ran,
    Reasoned,
    RepeatedOutput,
    Said,
    Unknown,
    UnknownItem,
    build_history,
    history_json,
)

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def messages(*all_items: Item) -> list[Entry]:
    return [MessageEntry(id=f"e{n}", timestamp=_NOON, message=item) for n, item in enumerate(all_items)]


def user(text: str = "go") -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def call(call_id: str = "c1", name: str = "sh") -> Item:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def gave(output: Any, call_id: str = "c1") -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def of(history: History, kind: type[Event]) -> list[Any]:
    return [event for event in history.events if isinstance(event, kind)]


def outputs(history: History) -> list[str | None]:
    return [event.output for event in of(history, Called)]


# --------------------------------------------------------------------------------- laws


def crowded() -> st.SearchStrategy[list[Entry]]:
    """Logs of few ids, so that calls and outputs repeat, cross, and miss each other."""
    ids = st.sampled_from(["a", "b", None])
    block = st.one_of(
        st.builds(lambda i: {"type": "tool_use", "id": i, "name": "t", "input": {}}, ids),
        st.builds(lambda i: {"type": "tool_result", "tool_use_id": i, "content": "r"}, ids),
        st.builds(lambda i: {"type": "server_tool_use", "id": i, "name": "web_search", "input": {}}, ids),
        st.builds(lambda i: {"type": "web_search_tool_result", "tool_use_id": i, "content": []}, ids),
        st.just({"type": "text", "text": "x"}),
        st.just({"type": "thinking", "thinking": "x"}),
        st.just({"type": "image", "data": "QUJD", "mimeType": "image/png"}),
        st.just({"type": "strange"}),
    )
    item = st.one_of(
        st.builds(call, st.sampled_from("ab")),
        st.builds(gave, st.just("r"), st.sampled_from("ab")),
        st.builds(
            lambda role, blocks: {"role": role, "content": blocks},
            st.sampled_from(["user", "assistant"]),
            st.lists(block, max_size=4),
        ),
        st.just({"type": "compaction", "encrypted_content": "x"}),
    )
    return st.builds(lambda found: messages(*found), st.lists(item, max_size=12))


@given(crowded() | logs())
def test_everything_in_a_log_is_in_its_history_exactly_once(log: list[Entry]) -> None:
    history = build_history(log)
    by_entry: dict[str, list[Event]] = {}
    answers: Counter[str] = Counter()
    for event in history.events:
        by_entry.setdefault(event.entry, []).append(event)
        if isinstance(event, Called | HostedCall) and event.output_entry is not None:
            answers[event.output_entry] += 1
    for entry in log:
        events = by_entry.pop(entry.id, [])
        if not isinstance(entry, MessageEntry):
            assert len(events) == 1
            continue
        parts = items.parts(entry.message)
        shown = Counter(type(event) for event in events)
        held = Counter(type(part) for part in parts)
        assert shown[Called] + shown[HostedCall] == held[items.ToolCallPart]
        loose = shown[RepeatedOutput] + shown[OutputWithoutCall]
        assert loose + answers.pop(entry.id, 0) == held[items.ToolOutputPart]
        assert shown[Reasoned] == held[items.ReasoningPart]
        assert shown[UnknownItem] == held[items.OtherPart]
        said = [event for event in events if isinstance(event, Said)]
        texts = [part.text for part in parts if isinstance(part, items.TextPart)]
        assert "\n".join(event.text for event in said if event.text or not event.images).split("\n") == (
            "\n".join(texts).split("\n")
        )
        assert sum(len(event.images) for event in said) == held[items.ImagePart]
    assert not by_entry
    assert not answers


@settings(max_examples=40)
@given(logs())
def test_events_stand_in_the_order_of_their_entries(log: list[Entry]) -> None:
    place = {entry.id: index for index, entry in enumerate(log)}
    seen = [place[event.entry] for event in build_history(log).events]
    assert seen == sorted(seen)


def paired(log: Sequence[Entry]) -> dict[int, int]:
    """Which output counts for which call, by index, of flat items: the rule, read slowly."""
    calls = [
        (n, e.message["call_id"]) for n, e in enumerate(log) if isinstance(e, MessageEntry) and is_call(e)
    ]
    group_of: dict[int, int] = {}
    group = 0
    for n, entry in enumerate(log):
        assert isinstance(entry, MessageEntry)
        if is_call(entry):
            group_of[n] = group
        else:
            group += 1
    belongs: dict[tuple[int, str], list[int]] = {}
    for n, entry in enumerate(log):
        assert isinstance(entry, MessageEntry)
        if entry.message["type"] != "function_call_output":
            continue
        name = entry.message["call_id"]
        earlier = [m for m, other in calls if other == name and m < n]
        later = [m for m, other in calls if other == name and m > n]
        owner = earlier[-1] if earlier else later[0] if later else None
        if owner is not None:
            belongs.setdefault((group_of[owner], name), []).append(n)
    counts: dict[int, int] = {}
    for (number, name), given_outputs in belongs.items():
        members = [m for m, other in calls if other == name and group_of[m] == number]
        for output in given_outputs:
            free = [m for m in members if m not in counts]
            target = free[0] if free else members[-1]
            held = counts.get(target)
            if held is None or not log[held].stand_in:  # type: ignore[union-attr]  # messages only
                counts[target] = output
    return counts


def is_call(entry: MessageEntry) -> bool:
    return entry.message.get("type") == "function_call"


@given(st.lists(st.tuples(st.sampled_from("acout"), st.sampled_from("xy"), st.booleans()), max_size=14))
def test_outputs_are_paired_by_the_rule_that_the_context_follows(script: list[tuple[str, str, bool]]) -> None:
    log = [
        MessageEntry(
            id=f"e{n}",
            timestamp=_NOON,
            message=call(name) if kind in "ac" else gave(str(n), name) if kind in "ou" else {"type": "other"},
            stand_in=stand_in and kind in "ou",
        )
        for n, (kind, name, stand_in) in enumerate(script)
    ]
    shown = {
        int(event.entry[1:]): int(event.output_entry[1:])
        for event in of(build_history(log), Called)
        if event.output_entry is not None
    }
    assert shown == paired(log)


@settings(max_examples=40)
@given(crowded() | logs())
def test_every_event_has_a_json_object_of_its_own(log: list[Entry]) -> None:
    history = build_history(log)
    for event in history.events:
        shown = json.loads(json.dumps(history_json(event)))
        assert shown["entry"] == event.entry
        assert shown["turn"] == event.turn
        assert set(shown) - {"event", "invocation", "started"} <= set(type(event).__dataclass_fields__)
    assert len({history_json(event)["event"] for event in history.events}) == len(
        {type(event) for event in history.events}
    )


def test_the_time_it_takes_grows_with_the_log_alone() -> None:
    size = 40_000
    log = messages(*(call("same") for _ in range(size)), *(gave("r", "same") for _ in range(size)))
    begun = time.perf_counter()
    history = build_history(log)
    assert time.perf_counter() - begun < 20
    assert all(event.answered for event in of(history, Called))


# ------------------------------------------------------------------------------- pairing


def test_an_output_stands_with_its_call_wherever_it_is_in_the_log() -> None:
    history = build_history(messages(gave("early", "c2"), call("c1"), user(), call("c2"), gave("late", "c1")))
    assert [type(event) for event in history.events] == [Called, Said, Called]
    assert outputs(history) == ["late", "early"]


def test_an_id_that_repeats_in_a_later_turn_pairs_by_occurrence() -> None:
    history = build_history(messages(call(), gave("first"), user(), call(), user()))
    first, second = of(history, Called)
    assert (first.output, first.output_entry) == ("first", "e1")
    assert (second.answered, second.output) == (False, None)


def test_the_outputs_of_one_id_in_one_group_are_dealt_in_order() -> None:
    history = build_history(messages(call(), call(), gave("one"), gave("two")))
    assert outputs(history) == ["one", "two"]


def test_a_later_output_replaces_an_earlier_one_and_that_is_shown_as_repeated() -> None:
    history = build_history(messages(call(), gave("pending"), user(), gave("final")))
    assert outputs(history) == ["final"]
    (repeated,) = of(history, RepeatedOutput)
    assert (repeated.entry, repeated.output) == ("e1", "pending")


def test_a_published_stand_in_is_not_replaced() -> None:
    log = messages(call(), gave("unknown"), user(), gave("real"))
    log[1] = MessageEntry(id="e1", timestamp=_NOON, message=gave("unknown"), stand_in=True)
    (shown,) = of(build_history(log), Called)
    assert (shown.output, shown.stand_in) == ("unknown", True)
    assert [event.output for event in of(build_history(log), RepeatedOutput)] == ["real"]


def test_an_output_that_no_call_takes_is_shown_where_it_stands() -> None:
    history = build_history(messages(call("c1"), gave("stray", "c0")))
    (stray,) = of(history, OutputWithoutCall)
    assert (stray.call_id, stray.output, stray.entry) == ("c0", "stray", "e1")
    assert outputs(history) == [None]


def test_parallel_calls_of_one_message_each_get_their_result_and_error() -> None:
    asks = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": i, "name": i, "input": {}} for i in ("t1", "t2")],
    }
    results = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": True},
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "image", "data": "QUJD"}]},
        ],
    }
    one, two = of(build_history(messages(asks, results)), Called)
    assert (two.output, two.is_error, one.is_error) == ("two", True, False)
    assert [image.size_bytes for image in one.images] == [3]


def test_a_hosted_call_takes_the_result_that_names_it() -> None:
    item = {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": "T", "url": "U"}]},
        ],
    }
    (hosted,) = build_history(messages(item)).events
    assert isinstance(hosted, HostedCall)
    assert (hosted.output, hosted.output_entry) == ("T\nU", "e0")


def test_a_search_that_the_server_ran_takes_the_output_that_follows_it() -> None:
    search = {"type": "tool_search_call", "execution": "server", "arguments": {}}
    found = {"type": "tool_search_output", "execution": "server", "tools": [{"title": "T", "url": "U"}]}
    history = build_history(messages(search, found, {"type": "web_search_call", "action": {}}, search))
    assert [event.output for event in of(history, HostedCall)] == ["T\nU", None, None]


# ------------------------------------------------------------------------------- details


def test_a_detail_of_the_entry_goes_before_one_of_the_id_alone() -> None:
    details: dict[tuple[str, str | None], Any] = {
        ("c1", "e2"): outcome_payload(ToolOutcome(status="failed", exit_code=3)),
        ("c1", None): outcome_payload(ToolOutcome(status="success")),
    }
    first, second = of(build_history(messages(call(), user(), call()), details), Called)
    assert (first.outcome.status, second.outcome.status) == ("success", "failed")
    assert second.outcome.exit_code == 3


def test_a_call_that_only_began_says_so() -> None:
    details: dict[tuple[str, str | None], Any] = {("c1", "e0"): started_payload(ToolStarted(at=_NOON))}
    (begun,) = of(build_history(messages(call()), details), Called)
    assert (begun.started, begun.outcome, begun.answered) == (ToolStarted(at=_NOON), None, False)
    assert history_json(begun)["started"] == {"at": "2026-01-02T12:00:00Z"}


# -------------------------------------------------------------------------------- events


def test_a_turn_starts_with_each_message_of_the_user_that_is_no_tool_result() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}
    history = build_history(messages(call(), user("a"), call(), result, user("b"), call()))
    assert [event.turn for event in history.events if not isinstance(event, OutputWithoutCall)] == [
        0,
        1,
        1,
        2,
        2,
    ]
    assert history.turns == 2


def test_text_between_calls_keeps_its_place() -> None:
    blocks = [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {}},
        {"type": "text", "text": "c"},
    ]
    history = build_history(messages({"role": "assistant", "content": blocks}))
    said, called, after = history.events
    assert isinstance(said, Said)
    assert isinstance(called, Called)
    assert isinstance(after, Said)
    assert (said.text, after.text) == ("a\nb", "c")


def test_a_message_that_says_nothing_is_still_there() -> None:
    (said,) = build_history(messages({"role": "assistant", "content": []})).events
    assert isinstance(said, Said)
    assert (said.role, said.text) == ("assistant", "")


def test_each_type_of_entry_has_its_event() -> None:
    made = Invocation(kind="prompt_template", name="fix", source="user", path="fix.md")
    log: list[Entry] = [
        MessageEntry(id="m", timestamp=None, message=user("hi"), invocation=made, interrupted=True),
        ContextEntry(
            id="c",
            timestamp=_NOON,
            context=ContextAttachment(
                attachment_id="a", epoch=2, kind="rules", placement="prefix", revision="r", rendered="be nice"
            ),
        ),
        CompactionEntry(
            id="k",
            timestamp=_NOON,
            compaction=Compaction(
                summary="",
                first_kept_entry_id="m",
                tokens_before=9,
                replacement=(user("kept"), {"type": "compaction", "encrypted_content": "gAAA"}),
            ),
        ),
        RunEntry(
            id="r",
            timestamp=_NOON,
            run=Run(
                started_at=_NOON,
                completed_at=_NOON + timedelta(seconds=90),
                first_entry_id="m",
                status="cancelled",
            ),
        ),
        OpaqueEntry(id="o", timestamp=_NOON, type="bookmark", data={}),
    ]
    said, attached, compacted, ran, unknown = build_history(log).events
    assert isinstance(said, Said)
    assert said.time is None
    assert (said.invocation, said.interrupted) == (made, True)
    assert isinstance(attached, Attached)
    assert (attached.epoch, attached.rendered) == (2, "be nice")
    assert isinstance(compacted, Compacted)
    assert (compacted.replacement_items, compacted.opaque, compacted.first_kept) == (2, True, "m")
    assert isinstance(ran, Ran)
    assert (ran.duration, ran.status, ran.first_entry) == (timedelta(seconds=90), "cancelled", "m")
    assert isinstance(unknown, Unknown)
    assert unknown.type == "bookmark"
    assert history_json(ran)["duration"] == 90.0
    assert history_json(said)["invocation"]["name"] == "fix"


def test_an_event_does_not_change() -> None:
    (said,) = build_history(messages(user())).events
    with pytest.raises(AttributeError):
        said.turn = 2  # type: ignore[misc]  # that is what is tried
