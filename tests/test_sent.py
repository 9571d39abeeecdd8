"""The request that a response answers is put together again as it was sent."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from situations import call, output, said, user
from test_session_lifecycle import A, C, R, asked, rules

from transcript_log import Context, Session, Target
from transcript_log.entries import MessageEntry, ResponseRecord
from transcript_log.errors import EntryNotFoundError, RequestNotFoundError
from transcript_log.memory import MemoryStore
from transcript_log.response import ToolCall
from transcript_log.response.wire import raw_answer
from transcript_log.sent import SentRequest, request_at

NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
TARGETS: Final = (
    R,
    C,
    A,
    Target("openai-responses", "org/model", "azure", "team"),
    Target("anthropic-messages", "claude-opus-4-8", "bedrock", "team"),
    Target("gemini", "gemini-3-pro"),
)


def asked_of(target: Target, *ids: str, text: str = "") -> dict[str, Any]:
    """An answer as the target's API gives it."""
    if target.api == "gemini":
        calls = [ToolCall(one, "shell", {}) for one in ids]
        return raw_answer(target.api, id="r", model=target.model, text=text or None, calls=calls)
    return asked(next(one for one in (R, C, A) if one.api == target.api), *ids, text=text)


def at(session: Session, entry_id: str, **more: Any) -> SentRequest:
    return request_at(session.entries(), entry_id, session.store.details(), **more)


def alone(record: Any, target: Target = C) -> SentRequest:
    """The request of a session that was told so much of it."""
    session = Session.in_memory()
    session.add(user("go"))
    made = session.add_response(asked_of(target, text="so"), to=session.context(target), request=record)
    return at(session, made.entries[0].id, target=target)


# --------------------------------------------------------------------------------- the law

STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(
            ["user", "answer", "answer", "call", "call", "output", "run", "start", "reopen", "compact", "cut"]
        ),
        st.integers(0, 9),
    ),
    max_size=25,
)


@settings(deadline=None)
@given(steps=STEPS, targets=st.lists(st.sampled_from(TARGETS), min_size=1, max_size=3))
@example(steps=[("call", 1), ("start", 0), ("user", 0), ("answer", 0)], targets=[R])
@example(steps=[("call", 1), ("start", 0), ("cut", 0), ("user", 0), ("answer", 0)], targets=[A, C])
def test_every_request_is_told_as_it_was_sent(steps: list[tuple[str, int]], targets: list[Target]) -> None:
    """To the very bytes of its items, from any entry of the response, whatever came later."""
    store = MemoryStore()
    session = Session(store, mode="exclusive")
    session.add(user("start"))
    calls = count(1)
    begun = []  # held, so that none of them is ended
    made: list[tuple[list[str], Context, dict[str, Any]]] = []
    for number, (step, choice) in enumerate(steps):
        target = targets[choice % len(targets)]
        match step:
            case "user":
                session.add(user(f"u{number}"))
            case "answer" | "call" | "cut":
                ids = [f"call_{next(calls)}" for _ in range(choice % 3 + 1)] if step == "call" else []
                sent = session.context(target)
                if step == "cut" and sent.stand_ins:
                    continue  # see below
                request = {"model": target.model, "number": number}
                raw = asked_of(target, *ids, text=f"a{number}" if step != "call" or choice % 2 else "")
                recorded = session.add_response(raw, to=sent, request=request, interrupted=step == "cut")
                made.append(([entry.id for entry in recorded.entries], sent, request))
            case "output" | "run" | "start":
                if waiting := session.open_calls():
                    one = waiting[choice % len(waiting)].call
                    if step == "output":
                        session.add_output(one, f"o{number}")
                    elif step == "start":  # and never heard of again
                        begun.append(session.call(one))
                        begun[-1].__enter__()
                    else:
                        with session.call(one) as tool:
                            tool.output(f"o{number}", is_error=bool(choice % 2))
            case "compact":
                if plan := session.plan_compaction(target, keep_tokens=choice * 10):
                    session.compact(plan, f"summary {number}")
            case _:
                session.close()
                session = Session(store, mode="exclusive")
    for ids, sent, request in made:
        for entry_id in ids:
            told = at(session, entry_id)
            assert told.entry == ids[0]
            assert told.recorded == request
            assert told.context.target == sent.target
            assert [json.dumps(item) for item in told.context.items] == [
                json.dumps(item) for item in sent.items
            ]


def test_stand_ins_of_an_answer_that_was_cut_off_are_worded_by_what_is_known() -> None:
    """They were not put on record, so what the sidecar lost since is lost here too."""
    session = Session.in_memory()
    session.add(user("do"))
    (one,) = session.add_response(asked(R, "c1"), to=session.context(R)).calls
    begun = session.call(one)
    begun.__enter__()
    sent = session.context(R)
    cut = session.add_response(asked(R, text="so"), to=sent, request={}, interrupted=True)
    told = at(session, cut.entries[0].id)
    assert told.context.items == sent.items
    session.add_output(one, "late")
    told = at(session, cut.entries[0].id)
    assert told.context.items[:-1] == sent.items[:-1]
    assert [change.rule for change in told.context.changes] == ["unanswered-call"]


def test_what_was_added_while_the_model_answered_is_taken_to_have_been_sent() -> None:
    session = Session.in_memory()
    session.add(user("do"))
    sent = session.context(R)
    session.add(user("and?"))
    recorded = session.add_response(asked(R, text="so"), to=sent, request={})
    assert at(session, recorded.entries[0].id).context.items == [*sent.items, user("and?")]


def test_attachments_are_placed_where_the_caller_says_that_they_were() -> None:
    session = Session.in_memory()
    session.attach(rules("Be brief."))
    session.add(user("do"))
    sent = session.context(A, attachments=True)
    recorded = session.add_response(asked(A, text="so"), to=sent, request={"model": A.model})
    assert at(session, recorded.entries[0].id, attachments=True).context.items == sent.items
    assert at(session, recorded.entries[0].id).context.items == [user("do")]


# ---------------------------------------------------------------------------- the whole body


@pytest.mark.parametrize(("target", "key"), [(R, "input"), (C, "messages"), (A, "messages")])
def test_the_items_stand_where_the_api_wants_them(target: Target, key: str) -> None:
    sent = alone({"model": "m", "temperature": 0}, target)
    assert sent.body == {"model": "m", "temperature": 0, key: [user("go")]}
    assert list(sent.body) == ["model", "temperature", key]
    assert not sent.has_own_items


SYSTEM: Final = {"role": "system", "content": "Be brief."}
DEVELOPER: Final = {"role": "developer", "content": "No jokes."}


@pytest.mark.parametrize("own", [[], [SYSTEM], [DEVELOPER], [SYSTEM, DEVELOPER]])
def test_instructions_that_were_recorded_as_messages_stand_before_the_items(own: list[Any]) -> None:
    sent = alone({"messages": own, "seed": 1})
    assert sent.body == {"messages": [*own, user("go")], "seed": 1}
    assert not sent.has_own_items


@pytest.mark.parametrize("own", [[SYSTEM, user("go")], [user("go")], "go", [1], {"role": "system"}, 0])
def test_items_that_were_recorded_are_those_that_were_sent(own: Any) -> None:
    sent = alone({"messages": own, "seed": 1})
    assert sent.body == {"messages": own, "seed": 1}
    assert sent.has_own_items


@pytest.mark.parametrize("record", ["brief", ["brief"], 1, False])
def test_a_record_that_is_no_object_stands_beside_the_items(record: Any) -> None:
    sent = alone(record)
    assert sent.body == {"request": record, "messages": [user("go")]}
    assert (sent.recorded, sent.has_own_items) == (record, False)


def test_a_key_that_was_recorded_as_null_is_filled() -> None:
    assert alone({"messages": None}).body == {"messages": [user("go")]}


def test_what_is_given_is_not_changed() -> None:
    record = {"messages": [SYSTEM]}
    sent = alone(record)
    sent.body["messages"].append("x")
    assert record == sent.recorded == {"messages": [SYSTEM]}
    assert sent.context.items == [user("go")]


# ------------------------------------------------------------------------------ who was asked


def entries(*given: dict[str, Any], **record: Any) -> list[Any]:
    made = [MessageEntry(id=f"e{n}", timestamp=NOON, message=item) for n, item in enumerate(given)]
    last = replace(made[-1], **record)
    return [*made[:-1], last]


DETAILS: Final = {
    ("request:d", None): {"kind": "request", "data": {"model": "asked"}},
    ("request:n", None): {"kind": "request", "data": {}},
}


def test_the_model_is_taken_from_the_family_then_the_request_then_the_response() -> None:
    def asked_model(family: str, digest: str) -> str:
        record = ResponseRecord(model="answered", request=digest)
        given = entries(user("go"), said("so"), response=record, family=family)
        target = request_at(given, "e1", DETAILS).context.target
        assert target is not None
        return target.model

    assert asked_model("openai-responses/direct/named", "d") == "named"
    assert asked_model("anthropic-messages/direct", "d") == "asked"
    assert asked_model("anthropic-messages/direct", "n") == "answered"


def test_a_target_that_is_given_goes_before_what_is_on_record() -> None:
    given = entries(user("go"), said("so"), response=ResponseRecord(request="d"), family=R.family)
    assert request_at(given, "e1", DETAILS, target=C).context.target == C
    assert request_at(given, "e1", DETAILS).context.target == R


@pytest.mark.parametrize(
    ("family", "digest"), [(None, "d"), ("nonsense", "d"), ("openai-responses/direct", "d"), (C.family, "n")]
)
def test_where_nothing_tells_who_was_asked_a_target_is_asked_for(family: str | None, digest: str) -> None:
    given = entries(user("go"), said("so"), response=ResponseRecord(request=digest), family=family)
    with pytest.raises(RequestNotFoundError, match="entry e1: nothing tells which model was asked"):
        request_at(given, "e1", DETAILS)
    assert request_at(given, "e1", DETAILS, target=C).context.target == C


# -------------------------------------------------------------------------------- none there


def test_what_is_part_of_no_response_is_told_with_the_next_one() -> None:
    session = Session.in_memory()
    (question,) = session.add(user("do"))
    recorded = session.add_response(asked(R, "c1"), to=session.context(R), request={})
    answer = session.add_output(recorded.calls[0], "done")
    first = recorded.entries[0].id
    for entry_id, more in ((question.id, f"; the next one begins at entry {first}"), (answer.id, "")):
        with pytest.raises(RequestNotFoundError) as caught:
            at(session, entry_id)
        assert str(caught.value) == (f"entry {entry_id}: it belongs to no response that is on record{more}")
        assert caught.value.entry_id == entry_id


def test_a_stand_in_is_part_of_no_response() -> None:
    session = Session.in_memory()
    session.add(user("do"))
    session.add_response(asked(R, "c1"), to=session.context(R), request={})
    recorded = session.add_response(asked(R, text="so"), to=session.context(R), request={})
    (stand_in,) = recorded.stand_ins
    with pytest.raises(RequestNotFoundError, match=f"begins at entry {recorded.entries[0].id}"):
        at(session, stand_in.id)


def test_a_response_without_a_request_on_record_says_so_with_its_first_entry() -> None:
    session = Session.in_memory()
    session.add(user("do"))
    recorded = session.add_response(asked(R, "c1", "c2"), to=session.context(R))
    for entry in recorded.entries:
        with pytest.raises(RequestNotFoundError) as caught:
            at(session, entry.id)
        assert caught.value.entry_id == recorded.entries[0].id
        assert caught.value.reason == "no request is on record for this response"


@pytest.mark.parametrize("payload", [None, {"kind": "tool_outcome", "data": {}}, {"kind": "request"}, "x"])
def test_a_sidecar_that_lost_the_request_is_told(payload: Any) -> None:
    given = entries(user("go"), said("so"), response=ResponseRecord(request="d"), family=R.family)
    details = {} if payload is None else {("request:d", None): payload}
    with pytest.raises(RequestNotFoundError, match="entry e1: the sidecar does not hold"):
        request_at(given, "e1", details)


def test_other_entries_are_part_of_no_response() -> None:
    given = entries(user("go"), call("c"), output("c", "x"), said("so"))
    for place in range(4):
        with pytest.raises(RequestNotFoundError, match="belongs to no response"):
            request_at(given, f"e{place}", {})
    with pytest.raises(EntryNotFoundError):
        request_at(given, "e4", {})
