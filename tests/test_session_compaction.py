"""A session is cut between two responses, and nothing is lost on the way."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_responses import chat, message, responses
from situations import call, output, said, sealed, user

from transcript_log import ConflictError, EntryError, MessageEntry, Session, Target, build_context, new_id
from transcript_log.context import weigh
from transcript_log.entries import Item
from transcript_log.errors import EntryNotFoundError
from transcript_log.items import text, tool_calls, tool_outputs
from transcript_log.response import parse_response
from transcript_log.session import CompactionPlan

R: Final = Target("openai-responses", "gpt-5.4")
C: Final = Target("openai-chat", "glm-5")
A: Final = Target("anthropic-messages", "claude-opus-4-8")


NUMBERS: Final = count(1)


def asks(*ids: str) -> dict[str, Any]:
    return responses([sealed(next(NUMBERS)), *(call(one) for one in ids)])


def answers(words: str) -> dict[str, Any]:
    return responses([said(words)])


def a_session(turns: int = 3) -> Session:
    """Turns of a question, a call with its output, and an answer: five entries each."""
    session = Session.in_memory()
    for turn in range(turns):
        session.add(user(f"question {turn}"), ids=[f"u{turn}"])
        for one in session.add_response(asks(f"c{turn}"), to=session.context(R)).calls:
            session.add_output(one, f"output {turn}")
        session.add_response(answers(f"answer {turn}"), to=session.context(R))
    return session


def planned(session: Session, target: Target = R, **how: Any) -> CompactionPlan:
    plan = session.plan_compaction(target, **how)
    assert plan is not None
    return plan


def messages(session: Session) -> list[MessageEntry]:
    return [entry for entry in session.entries() if isinstance(entry, MessageEntry)]


# -------------------------------------------------------------------------------- plans


def test_what_goes_and_what_stays_are_the_context() -> None:
    session = a_session()
    plan = planned(session, first_kept="u2")
    assert plan.first_kept == "u2"
    assert [*plan.summarize.items, *(entry.message for entry in plan.keep)] == session.context(R).items
    assert plan.compaction is None
    assert plan.tokens_before == session.context(R).size


def test_a_plan_changes_nothing() -> None:
    session = a_session()
    before = session.entries()
    assert planned(session, keep_tokens=10).keep == planned(session, keep_tokens=10).keep
    assert session.entries() == before


def test_no_cut_is_within_a_response_or_between_a_call_and_its_output() -> None:
    session = a_session()
    entries = messages(session)
    places = {entry.id: place % 5 for place, entry in enumerate(entries)}
    for entry in entries:
        plan = session.plan_compaction(R, first_kept=entry.id)
        if places[entry.id] == 0 and entry.id != "u0":
            assert plan is not None
            assert plan.first_kept == entry.id
        # The question, the reasoning with its call, the answer: cuts are before these.
        if plan is not None and plan.first_kept is not None:
            assert places[plan.first_kept] in (0, 1, 4)
            assert entries.index(plan.keep[0]) <= entries.index(entry)


def test_as_much_is_kept_as_weighs_no_more_than_asked() -> None:
    session = a_session()
    weights = dict.fromkeys((entry.id for entry in messages(session)), 10)
    for keep, stays in ((0, 0), (9, 0), (10, 1), (39, 1), (40, 4), (50, 5), (140, 14)):
        plan = planned(session, keep_tokens=keep, weigh=lambda item: 10)
        assert len(plan.keep) == stays
        assert plan.tokens_kept == 10 * stays
    assert session.plan_compaction(R, keep_tokens=10 * len(weights), weigh=lambda item: 10) is None or (
        len(planned(session, keep_tokens=150, weigh=lambda item: 10).keep) < len(weights)
    )


def test_there_is_no_plan_where_nothing_would_go() -> None:
    session = Session.in_memory()
    assert session.plan_compaction(R, keep_tokens=0) is None
    session.add(user("x"), ids=["u0"])
    assert session.plan_compaction(R, first_kept="u0") is None
    assert planned(session, keep_tokens=0).keep == ()


@pytest.mark.parametrize("how", [{}, {"keep_tokens": 1, "first_kept": "u1"}])
def test_exactly_one_says_where_to_cut(how: dict[str, Any]) -> None:
    with pytest.raises(EntryError, match="either"):
        a_session().plan_compaction(R, **how)


def test_a_kept_entry_is_a_live_message() -> None:
    session = a_session()
    with pytest.raises(EntryNotFoundError):
        session.plan_compaction(R, first_kept="nope")
    with session.run():
        pass
    with pytest.raises(EntryError, match="no message"):
        session.plan_compaction(R, first_kept=session.head)
    session.compact(planned(session, first_kept="u2"), "s")
    with pytest.raises(EntryError, match="compacted already"):
        session.plan_compaction(R, first_kept="u1")


def test_a_turn_that_was_paused_is_not_cut() -> None:
    session = Session.in_memory()
    session.add(user("search"))
    use = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
    session.add_response(message([use], "pause_turn"), to=session.context(A))
    paused = session.context(A)
    session.add_response(message([found, {"type": "text", "text": "Found."}]), to=paused)
    session.add(user("more"))
    plan = planned(session, A, first_kept=messages(session)[2].id)
    assert plan.keep[0] is messages(session)[1]


def test_a_turn_that_was_paused_in_its_text_is_not_cut_either() -> None:
    session = Session.in_memory()
    session.add(user("search"))
    for words, stop in (("Let me", "pause_turn"), ("see.", "end_turn")):
        session.add_response(message([{"type": "text", "text": words}], stop), to=session.context(A))
    plan = planned(session, A, first_kept=messages(session)[2].id)
    assert plan.keep[0] is messages(session)[1]


def test_an_output_that_came_before_its_call_is_not_parted_from_it() -> None:
    session = Session.in_memory()
    session.add(user("x"), output("c1", "early"), user("y"), call("c1"), user("z"))
    entries = messages(session)
    assert planned(session, first_kept=entries[3].id).keep[0] is entries[1]
    assert planned(session, first_kept=entries[4].id).keep[0] is entries[4]


def test_the_halves_of_a_hosted_call_stay_together() -> None:
    session = Session.in_memory()
    use = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
    made = [{"role": "assistant", "content": [half]} for half in (use, found)]
    session.add(user("x"), made[0], user("y"), made[1], target=A)
    entries = messages(session)
    assert planned(session, A, first_kept=entries[2].id).keep[0] is entries[1]


def test_items_that_were_added_one_by_one_are_one_response() -> None:
    session = Session.in_memory()
    session.add(user("x"), sealed(1), said("a"), said("b"), user("y"), target=R)
    entries = messages(session)
    assert planned(session, first_kept=entries[3].id).keep[0] is entries[1]


# --------------------------------------------------------------------------- compacting


def test_the_summary_stands_for_what_went_and_the_log_keeps_all(tmp_path: Path) -> None:
    with Session.create(tmp_path / "s.jsonl") as session:
        for number in range(3):
            session.add(user(f"question {number}"), ids=[f"u{number}"])
            session.add_response(answers(f"answer {number}"), to=session.context(R))
        plan = planned(session, first_kept="u2")
        entry = session.compact(plan, "They talked.", read_files=["a.py"], modified_files=["b.py"])
        after = session.context(R)
        assert "They talked." in text(after.items[0])
        assert after.items[1:] == [kept.message for kept in plan.keep]
        assert entry.compaction.first_kept_entry_id == "u2"
        assert (entry.compaction.read_files, entry.compaction.modified_files) == (("a.py",), ("b.py",))
        assert entry.compaction.tokens_before == plan.tokens_before
        assert entry.compaction.tokens_after > 0
        assert not after.changes
        assert len(messages(session)) == 6
    with Session.open(tmp_path / "s.jsonl") as session:
        assert session.context(R).items == after.items


@pytest.mark.parametrize("summary", [None, "", " \n"])
def test_a_blank_summary_is_refused_and_leaves_the_log_as_it_was(summary: str | None) -> None:
    session = a_session()
    before = session.entries()
    with pytest.raises(EntryError, match="summary"):
        session.compact(planned(session, first_kept="u2"), summary)
    assert session.entries() == before


def test_a_replacement_needs_no_summary_and_is_the_targets() -> None:
    session = a_session()
    checkpoint: Item = {"type": "compaction", "encrypted_content": "gAAAA"}
    entry = session.compact(planned(session, first_kept="u2"), replacement=[checkpoint])
    assert entry.compaction.family == R.family
    assert session.context(R).items[0] is checkpoint
    assert "question 0" in json.dumps(session.context(C).items)


def test_the_summary_call_is_on_record() -> None:
    session = a_session()
    usage = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
    response = parse_response(responses([said("In short.")], usage=usage))
    made = session.compact(planned(session, first_kept="u2"), response=response).compaction
    assert made.summary == "In short."
    assert (made.usage.input, made.usage.output) == (90, 10)
    assert (made.model, made.response_model) == ("gpt-5.4", "gpt-5.4-2026-03-05")
    assert made.response_id == response.id
    assert made.response_timestamp is not None


def test_the_second_compaction_is_handed_the_first_summary_and_what_it_kept() -> None:
    session = Session.in_memory()  # case 95
    for number, words in ((1, "u1"), (2, "a1"), (3, "u2"), (4, "a2")):
        role = "user" if number % 2 else "assistant"
        session.add({"role": role, "content": words}, ids=[f"e{number}"])
    session.compact(planned(session, C, first_kept="e3"), "SUMMARY-1")
    session.add(user("u3"), {"role": "assistant", "content": "a3"}, ids=["e5", "e6"])
    plan = planned(session, C, first_kept="e5")
    first, *rest = plan.summarize.rows
    assert "SUMMARY-1" in text(first.item)
    assert [row.entry for row in rest] == ["e3", "e4"]
    entry = session.compact(plan, "SUMMARY-2")
    assert entry.compaction.first_kept_entry_id == "e5"
    told = json.dumps(session.context(C).items)
    assert "SUMMARY-2" in told
    assert "SUMMARY-1" not in told


def test_a_cut_before_an_older_compaction_hands_over_what_is_before_it_alone() -> None:
    session = a_session()
    session.compact(planned(session, first_kept="u1"), "SUMMARY-1")
    session.add(user("more"))
    plan = planned(session, first_kept="u2")
    told = json.dumps(plan.summarize.items)
    assert "SUMMARY-1" in told
    assert "question 1" in told
    assert "question 0" not in told
    assert "question 2" not in told
    assert "more" not in told
    session.compact(plan, "SUMMARY-2")
    kept = json.dumps(session.context(R).items)
    assert "question 2" in kept
    assert "more" in kept
    assert "question 1" not in kept


def test_an_open_call_stays_and_its_output_still_finds_it() -> None:
    session = Session.in_memory()  # case 87
    session.add(user("u1"), said("a1"), user("u2"), call("call_1"))
    plan = planned(session, keep_tokens=0)
    assert [one.id for entry in plan.keep for one in tool_calls(entry.message)] == ["call_1"]
    session.compact(plan, "SUMMARY-1")
    (waiting,) = session.open_calls()
    session.add_output(waiting.call, "R")
    after = session.context(R)
    assert not after.changes
    assert [one.content for item in after.items for one in tool_outputs(item)] == ["R"]


def test_an_open_call_in_the_first_response_leaves_nothing_to_compact_but_the_question() -> None:
    session = Session.in_memory()
    session.add(user("u1"))
    session.add_response(asks("c1", "c2"), to=session.context(R))
    plan = planned(session, keep_tokens=0)
    assert len(plan.keep) == 3


@pytest.mark.parametrize("how", [{"first_kept": "u2"}, {"keep_tokens": 0}])
def test_what_was_added_since_the_plan_stays(how: dict[str, Any]) -> None:
    session = a_session()
    plan = planned(session, **how)
    session.add(user("meanwhile"))
    session.compact(plan, "s")
    assert session.context(R).items[-1] == user("meanwhile")


def test_two_compactions_of_one_plan_conflict() -> None:
    session = a_session()
    plan = planned(session, first_kept="u2")
    session.compact(plan, "s")
    before = session.entries()
    with pytest.raises(ConflictError):
        session.compact(plan, "s")
    assert session.entries() == before


def test_two_windows_compact_safely(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Session.create(path) as session:
        session.add(user("a"), user("b"), user("c"), ids=["u1", "u2", "u3"])
    with Session.open(path, mode="shared") as one, Session.open(path, mode="shared") as two:
        plan, other = planned(one, first_kept="u3"), planned(two, first_kept="u2")
        two.add(user("d"))
        one.compact(plan, "ONE")
        with pytest.raises(ConflictError):
            two.compact(other, "TWO")
        assert two.context(R).items == one.context(R).items
        assert [text(item) for item in one.context(R).items[1:]] == ["c", "d"]


def test_a_batch_that_comes_in_at_the_last_moment_stays() -> None:
    session = a_session()
    session.close()
    other = Session(session.store)
    late: list[str] = []

    def intruding() -> str:
        if not late:  # between the look at the log and the write
            late.append("late")
            other.add(user("late"))
        return new_id()

    mine = Session(session.store, new_id=intruding)
    mine.compact(planned(mine, first_kept="u2"), "s")
    assert late
    assert mine.context(R).items[-1] == user("late")


# --------------------------------------------------------------------- cleared outputs


@pytest.mark.parametrize("target", [R, C, A], ids=lambda target: target.api)
def test_outputs_are_cleared_and_all_else_stays(target: Target) -> None:
    session = Session.in_memory()
    for turn in range(3):
        session.add(user(f"question {turn}"), ids=[f"u{turn}"])
        recorded = session.add_response(
            shaped(target, f"let me see {turn}", [f"a{turn}", f"b{turn}"]), to=session.context(target)
        )
        for one in recorded.calls:
            session.add_output(one, f"line {turn} " * 400, is_error=one.id == "b0")
        session.add_response(shaped(target, f"answer {turn}", ()), to=session.context(target))
    before = session.context(target)
    plan = planned(session, target, first_kept="u2")
    entry = session.compact(plan, replacement=plan.cleared("[cleared]"))
    after = session.context(target)
    assert after.changes == ()
    assert len(after.items) == len(before.items)
    assert sum(map(weigh, after.items)) < sum(map(weigh, before.items)) / 2
    for old, new in zip(before.items, after.items, strict=True):
        outputs = [part.content for part in tool_outputs(new)]
        assert tool_calls(new) == tool_calls(old)
        assert text(new) == text(old)
        assert [part.is_error for part in tool_outputs(new)] == [part.is_error for part in tool_outputs(old)]
        assert set(outputs) <= {"[cleared]", "line 2 " * 400}
        assert outputs or new == old
    assert json.dumps(after.items).count("[cleared]") == 4
    assert json.dumps(session.history().events, default=str).count("line 0") >= 2  # the log keeps them
    assert entry.compaction.tokens_after is not None
    assert entry.compaction.tokens_after == sum(map(weigh, after.items))
    # Another model can read all of it that is not private.
    for other in (R, C, A):
        assert json.dumps(session.context(other).items).count("[cleared]") == 4


def test_what_is_shorter_than_the_note_is_left_as_it_is() -> None:
    session = a_session()
    plan = planned(session, first_kept="u2")
    assert plan.cleared() == tuple(plan.summarize.items)


def test_thinking_that_a_model_would_refuse_after_the_clearing_goes_with_it() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    blocks = [thinking, {"type": "tool_use", "id": "c", "name": "bash", "input": {}}]
    session = Session.in_memory()
    session.add(user("x"))
    for one in session.add_response(message(blocks, "tool_use"), to=session.context(A)).calls:
        session.add_output(one, "long " * 100)
    session.add_response(message([{"type": "text", "text": "done"}]), to=session.context(A))
    session.add(user("y"), ids=["y"])
    plan = planned(session, A, first_kept="y")
    session.compact(plan, replacement=plan.cleared())
    # Also where another model goes on, which checks what stands before its thinking.
    for target in (A, Target("anthropic-messages", "claude-opus-5-5")):
        assert "Hm." not in json.dumps(session.context(target).items)
        assert session.context(target).changes == ()


def test_flat_outputs_of_every_kind_are_cleared_as_far_as_they_can_be() -> None:
    results = [{"stdout": "x" * 900, "stderr": "", "outcome": {"type": "exit", "exit_code": 3}}]
    made = [
        ({"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}, "x" * 900),
        ({"type": "custom_tool_call", "call_id": "2", "name": "a", "input": "x"}, "x" * 900),
        ({"type": "shell_call", "call_id": "3", "action": {"commands": ["a"]}}, results),
        ({"type": "apply_patch_call", "call_id": "4", "operation": {}}, "x" * 900),
        ({"type": "tool_search_call", "call_id": "5", "execution": "client"}, [{"name": "x" * 900}]),
    ]
    session = Session.in_memory()
    session.add(user("x"))
    for one, content in made:
        recorded = session.add_response(responses([one]), to=session.context(R))
        session.add_output(recorded.calls[0], content)
    session.add(user("y"), ids=["y"])
    plan = planned(session, first_kept="y")
    cleared = [item for item in plan.cleared("-") if tool_outputs(item)]
    assert [item.get("output") for item in cleared] == [
        "-",
        "-",
        [{"stdout": "-", "stderr": "", "outcome": {"type": "exit", "exit_code": 3}}],
        "-",
        None,
    ]
    assert cleared[4]["tools"] == [{"name": "x" * 900}]
    session.compact(plan, replacement=plan.cleared("-"))
    assert session.context(R).items == [*plan.cleared("-"), user("y")]


# --------------------------------------------------------------------------------- laws

STEPS: Final = st.lists(
    st.tuples(st.sampled_from(["user", "answer", "call", "output", "compact"]), st.integers(0, 400)),
    max_size=25,
)


@pytest.mark.parametrize("target", [R, C, A], ids=lambda target: target.api)
@given(steps=STEPS)
def test_any_session_can_be_cut_anywhere(target: Target, steps: list[tuple[str, int]]) -> None:
    session = Session.in_memory()
    session.add(user("start"))
    calls = 0
    for step, number in steps:
        if step == "user":
            session.add(user(f"u{number}"))
        elif step == "answer":
            session.add_response(shaped(target, f"a{number}", ()), to=session.context(target))
        elif step == "call":
            ids = [f"c{calls + n}" for n in range(number % 3 + 1)]
            calls += len(ids)
            session.add_response(shaped(target, "", ids), to=session.context(target))
        elif step == "output":
            waiting = session.open_calls()
            if waiting:
                session.add_output(waiting[number % len(waiting)].call, f"o{number}")
        else:
            cut_and_look(session, target, number)
    session.context(target)


def cut_and_look(session: Session, target: Target, keep: int) -> None:
    waiting = [one.call.id for one in session.open_calls()]
    plan = session.plan_compaction(target, keep_tokens=keep)
    if plan is None:
        return
    assert not plan.summarize.stand_ins
    went = {id(entry) for entry in messages(session)} - {id(entry) for entry in plan.keep}
    if keep % 3 == 0:
        before = json.dumps(session.context(target).items)
        session.compact(plan, replacement=plan.cleared("-" * 999))
        assert json.dumps(session.context(target).items) == before  # no output here is as long
        return
    session.compact(plan, f"summary {keep}")
    # Whatever was open stays open, and the rest is as it was.
    assert [one.call.id for one in session.open_calls()] == waiting
    kept = build_context(plan.keep, target).items if plan.keep else []
    after = session.context(target).items
    assert json.dumps(after).count("summary ") == 1
    assert len(after) >= bool(kept)
    assert went


def shaped(target: Target, words: str, ids: Any) -> dict[str, Any]:
    """An answer with words and calls, as the target's API gives it."""
    if target is R:
        return responses(
            [sealed(next(NUMBERS)), *([said(words)] if words else []), *(call(one) for one in ids)]
        )
    if target is A:
        blocks: list[Any] = [{"type": "text", "text": words}] if words else []
        blocks += [{"type": "tool_use", "id": one, "name": "bash", "input": {}} for one in ids]
        return message(blocks, "tool_use" if ids else "end_turn")
    listed = [{"id": i, "type": "function", "function": {"name": "b", "arguments": "{}"}} for i in ids]
    made: dict[str, Any] = {"role": "assistant", "content": words or None}
    return chat({**made, "tool_calls": listed} if ids else made, "tool_calls" if ids else "stop")
