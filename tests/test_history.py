"""The history shows everything that happened, once, and each output with its call."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from histories import faulty
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
    RecordedUsage,
    ResponseRecord,
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
    Responded,
    Said,
    Unknown,
    UnknownItem,
    build_calls,
    build_history,
    history_json,
)
from transcript_log.stats import NOTHING, Tokens, find_spent

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


@given(crowded() | logs() | faulty(), st.sampled_from([None, "success", "failed"]))
def test_calls_alone_are_those_of_the_history(entries: list[Entry], status: Any) -> None:
    payload = started_payload(ToolStarted(at=_NOON)) if status is None else {"status": status}
    details = {("a", None): payload, ("c1", "e0"): payload}
    whole = build_history(entries, details).events
    assert build_calls(entries, details) == [one for one in whole if isinstance(one, Called | HostedCall)]


@given(crowded() | logs())
def test_everything_in_a_log_is_in_its_history_exactly_once(log: list[Entry]) -> None:
    history = build_history(log)
    by_entry: dict[str, list[Event]] = {}
    answers: Counter[str] = Counter()
    for event in history.events:
        if isinstance(event, Responded):
            continue  # see below
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
    events = build_history(log).events
    seen = [place[event.entry] for event in events if not isinstance(event, Responded)]
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


# ---------------------------------------------------------------------- what responses took


def usage(total: int = 10) -> RecordedUsage:
    return RecordedUsage(input=total - 4, cache_read=3, output=1, total_tokens=total)


def answer(entry_id: str, item: Item, **record: Any) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message=item, response=ResponseRecord(**record))


def plain(entry_id: str, item: Item) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message=item)


def assistant(text: str = "so") -> Item:
    return {"role": "assistant", "content": text}


def ran(entry_id: str, first: str | None) -> RunEntry:
    return RunEntry(
        id=entry_id,
        timestamp=_NOON,
        run=Run(started_at=_NOON, completed_at=_NOON, first_entry_id=first, status="completed"),
    )


def summary(entry_id: str, **fields: Any) -> CompactionEntry:
    return CompactionEntry(id=entry_id, timestamp=_NOON, compaction=Compaction(summary="gist", **fields))


def outline(log: list[Entry]) -> list[str]:
    """The events in short: of responses ``*`` and their entry, of all else the entry."""
    events = build_history(log).events
    return [f"*{event.entry}" if isinstance(event, Responded) else event.entry for event in events]


def test_what_a_response_took_stands_behind_what_it_said() -> None:
    log: list[Entry] = [
        plain("u", user()),
        answer("r", {"type": "reasoning", "summary": []}, id="one", model="m", usage=usage()),
        plain("c", call("a")),
        plain("d", call("b")),
        plain("oa", gave("x", "a")),
        plain("ob", gave("x", "b")),
        answer("e", call("c"), id="two"),
        answer("f", assistant(), id="three"),
        plain("v", user()),
    ]
    assert outline(log) == ["u", "r", "c", "d", "*r", "e", "*e", "f", "*f", "v"]
    (first, *_) = of(build_history(log), Responded)
    assert first == Responded(
        entry="r", time=_NOON, turn=1, response="one", provider=None, model="m", usage=usage()
    )


@pytest.mark.parametrize(
    "ending",
    [
        plain("x", user()),
        plain("x", gave("late", "z")),
        replace(plain("x", gave("made up", "z")), stand_in=True),
        answer("x", assistant(), id="two"),
        answer("x", assistant()),
        ran("x", "r"),
        summary("x"),
        OpaqueEntry(id="x", timestamp=_NOON, type="other", data={}),
        ContextEntry(
            id="x",
            timestamp=_NOON,
            context=ContextAttachment(
                attachment_id="a", epoch=1, kind="k", placement="prefix", revision="1", rendered="t"
            ),
        ),
    ],
    ids=lambda entry: f"{type(entry).__name__}",
)
def test_a_response_ends_where_something_else_begins(ending: Entry) -> None:
    log: list[Entry] = [answer("r", assistant("one"), id="one"), plain("s", assistant("two")), ending]
    assert outline(log)[:4] == ["r", "s", "*r", "x"]


def test_pieces_of_one_response_are_one_and_have_its_last_count() -> None:
    log: list[Entry] = [
        answer("a", assistant(), id="one", usage=usage(10)),
        answer("b", assistant(), id="one", model="m", usage=replace(usage(20), output=9)),
        plain("u", user()),
        answer("c", assistant(), id="one", usage=usage(10)),
    ]
    assert outline(log) == ["a", "b", "*a", "u", "c"]
    (one,) = of(build_history(log), Responded)
    assert (one.usage, one.model) == (replace(usage(20), output=9), "m")


def test_a_record_without_any_number_is_a_response_too() -> None:
    (one,) = of(build_history([answer("a", assistant(), finish_reason="stop", request="d")]), Responded)
    assert (one.usage, one.model, one.finish_reason, one.request) == (None, None, "stop", "d")


def test_a_summary_that_a_model_made_is_a_response() -> None:
    told = summary("k", model="m", response_model="m-1", provider="p", response_id="k1", usage=usage())
    log: list[Entry] = [plain("u", user()), told, summary("l"), plain("v", user())]
    assert outline(log) == ["u", "k", "*k", "l", "v"]
    (one,) = of(build_history(log), Responded)
    assert (one.compaction, one.model, one.provider, one.response, one.turn) == (True, "m-1", "p", "k1", 1)


def test_a_run_has_the_sum_of_its_responses() -> None:
    log: list[Entry] = [
        answer("a", assistant(), usage=usage(10)),
        plain("u", user()),
        answer("b", assistant(), usage=usage(20)),
        answer("c", assistant()),
        ran("run", "u"),
        ran("other", None),
    ]
    one, other = of(build_history(log), Ran)
    assert one.usage == Tokens.of(usage(20)) + Tokens.of(None)
    assert (one.usage.responses, one.usage.untold, one.usage.total) == (2, 1, 20)
    assert other.usage == NOTHING


def recorded_logs() -> st.SearchStrategy[list[Entry]]:
    """Logs with responses of few ids, runs over them, and summaries."""
    numbers = st.integers(0, 9)
    usages = st.none() | st.builds(
        lambda given, output: RecordedUsage(input=given, output=output, total_tokens=given + output),
        numbers,
        numbers,
    )
    record = st.none() | st.builds(
        ResponseRecord,
        id=st.sampled_from(["one", "two", None]),
        model=st.sampled_from(["m", None]),
        usage=usages,
        finish_reason=st.sampled_from(["stop", None]),
    )
    item = st.sampled_from([user(), assistant(), call("a"), gave("x", "a")])
    message = st.builds(
        lambda item, record, stand_in: MessageEntry(
            id="?", timestamp=_NOON, message=item, response=record, stand_in=stand_in and "output" in item
        ),
        item,
        record,
        st.booleans(),
    )
    first = st.none() | st.integers(0, 12).map(lambda number: f"e{number}")
    compaction = st.builds(
        lambda told, response: summary("?", usage=told or RecordedUsage(), response_id=response),
        usages,
        st.sampled_from(["one", None]),
    )
    entry: st.SearchStrategy[Entry] = st.one_of(
        message, message, message, first.map(lambda name: ran("?", name)), compaction
    )
    return st.lists(entry, max_size=14).map(
        lambda found: [replace(one, id=f"e{number}") for number, one in enumerate(found)]
    )


@given(recorded_logs())
def test_the_history_has_each_response_that_the_sums_count_once(log: list[Entry]) -> None:
    history = build_history(log)
    spent = find_spent([("", log)])
    shown = of(history, Responded)
    assert sorted(event.entry for event in shown) == sorted(one.entry for one in spent)
    by_entry = {event.entry: event for event in shown}
    for one in spent:
        event = by_entry[one.entry]
        assert (event.response, event.provider, event.model) == (one.response, one.provider, one.model)
        assert (event.usage, event.compaction, event.time) == (one.usage, one.compaction, one.time)
    for run in of(history, Ran):
        tokens = [one.tokens for one in spent if one.run == run.entry]
        assert run.usage == sum(tokens, NOTHING)


@given(recorded_logs())
def test_responses_are_told_beside_all_else_that_happened(log: list[Entry]) -> None:
    bare = [replace(entry, response=None) if isinstance(entry, MessageEntry) else entry for entry in log]

    def others(given: list[Entry]) -> list[Event]:
        events = build_history(given).events
        return [
            replace(event, usage=NOTHING) if isinstance(event, Ran) else event
            for event in events
            if not isinstance(event, Responded)
        ]

    assert others(log) == others(bare)


@given(recorded_logs())
def test_a_response_is_told_directly_behind_its_own_items(log: list[Entry]) -> None:
    place = {entry.id: index for index, entry in enumerate(log)}
    events = build_history(log).events
    for index, event in enumerate(events):
        if not isinstance(event, Responded):
            continue
        start = place[event.entry]
        # What a record may strangely stand on, such as an output, may be shown earlier.
        end = max(start, place[events[index - 1].entry]) if index else start
        first, *more = log[start : end + 1]
        assert first.id == event.entry
        for entry in more:
            assert isinstance(first, MessageEntry)
            assert isinstance(entry, MessageEntry)
            assert items.role(entry.message) != "user"
            assert not items.tool_outputs(entry.message)
            assert entry.response is None or entry.response.id == event.response is not None
    assert [event.turn for event in events] == sorted(event.turn for event in events)
    told = [place[event.entry] for event in events if isinstance(event, Responded)]
    assert told == sorted(told)
