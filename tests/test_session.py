"""A session: one call for each thing that happens, in one window or two, today or tomorrow."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from recorded_responses import chat, message, responses
from situations import call, output, said, sealed, user

from transcript_log import (
    ConflictError,
    Context,
    EntryError,
    FamilyRequiredError,
    HeaderError,
    IdError,
    LogBusyError,
    MessageEntry,
    Session,
    StorageError,
    Store,
    Target,
    ToolOutcome,
    build_context,
    new_message,
)
from transcript_log.entries import (
    ContextAttachment,
    Invocation,
    ParentCall,
)
from transcript_log.errors import EntryNotFoundError, TranscriptError
from transcript_log.items import tool_outputs
from transcript_log.memory import MemoryStore
from transcript_log.response import FinishReason, ToolCall, parse_response

R: Final = Target("openai-responses", "gpt-5.4")
C: Final = Target("openai-chat", "glm-5")
A: Final = Target("anthropic-messages", "claude-opus-4-8")
NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ticking() -> Callable[[], datetime]:
    ticks = count()
    return lambda: NOON + timedelta(seconds=next(ticks))


def numbered(prefix: str = "e") -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers)}"


def in_memory() -> Session:
    return Session.in_memory(new_id=numbered(), clock=ticking())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


@pytest.fixture
def session(log: Path) -> Iterator[Session]:
    with Session.create(log, durability="os", new_id=numbered(), clock=ticking()) as made:
        yield made


def asks(*ids: str, text: str = "") -> dict[str, Any]:
    """An answer of the Responses API that calls tools."""
    items = [sealed(len(ids)), *([said(text)] if text else []), *(call(one) for one in ids)]
    return responses(items, usage={"input_tokens": 90, "output_tokens": 10, "total_tokens": 100})


def answers(text: str) -> dict[str, Any]:
    return responses([said(text)])


def shaped(target: Target, text: str) -> dict[str, Any]:
    """An answer of the target's API."""
    if target.api == R.api:
        return answers(text)
    if target.api == C.api:
        return chat({"role": "assistant", "content": text})
    return message([{"type": "text", "text": text}])


def uses(*ids: str) -> dict[str, Any]:
    blocks: list[Any] = [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]
    blocks += [{"type": "tool_use", "id": one, "name": "bash", "input": {"cmd": "make"}} for one in ids]
    return message(blocks, "tool_use")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def texts(context: Context) -> list[str]:
    return [json.dumps(item) for item in context.items]


# ---------------------------------------------------------------------------- the loop


def test_a_whole_loop_is_on_disk_and_goes_on_after_a_reopen(log: Path) -> None:
    with Session.create(log, cwd="/src", parent=ParentCall("s0", "c0")) as session:
        session.add(user("build it"))
        context = session.context(R)
        recorded = session.add_response(asks("c1"), to=context, request={"instructions": "be brief"})
        assert [one.name for one in recorded.calls] == ["bash"]
        for one in recorded.calls:
            with session.call(one) as tool:
                tool.output("done")
        before = session.context(R)
    with Session.open(log) as session:
        assert session.context(R).items == before.items
        assert session.damage == ()
        recorded = session.add_response(answers("It is built."), to=session.context(R))
        assert (recorded.text, recorded.calls) == ("It is built.", ())
        assert recorded.finish_reason is FinishReason.STOP
        assert not session.open_calls()
        header = session.store.header()
        assert header is not None
        assert (header.cwd, header.parent) == ("/src", ParentCall("s0", "c0"))
        assert session.history().turns == 1


def test_what_was_added_are_the_very_items(session: Session) -> None:
    item = user("hello")
    (entry,) = session.add(item)
    assert entry.message is item
    assert session.context(R).items[0] is item
    assert session.head == entry.id == "e2"  # the header took the first id


def test_the_record_of_a_response_stands_on_its_first_item(session: Session) -> None:
    session.add(user("x"))
    recorded = session.add_response(asks("c1"), to=session.context(R))
    first, second = recorded.entries
    assert first.response is not None
    assert second.response is None
    assert first.family == second.family == R.family
    assert first.response.usage is not None
    assert recorded.usage is not None
    assert first.response.usage == recorded.usage.recorded()
    assert first.response.finish_reason == "tool_use"
    assert first.response.model == "gpt-5.4-2026-03-05"


def test_equal_requests_are_stored_once_under_their_digest(session: Session, log: Path) -> None:
    session.add(user("x"))
    requests = [{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 2}]
    digests = []
    for request in requests:
        recorded = session.add_response(answers("y"), to=session.context(R), request=request)
        assert recorded.entries[0].response is not None
        digests.append(recorded.entries[0].response.request)
        session.add(user("on"))
    assert digests[0] == digests[1] != digests[2]
    details = lines(log.with_name("s.details.jsonl"))
    assert [one["id"] for one in details] == [f"request:{digests[0]}", f"request:{digests[2]}"]
    assert details[0]["payload"] == {"kind": "request", "data": {"a": 1, "b": [2]}}


@pytest.mark.parametrize("value", [float("nan"), object(), {1}])
def test_a_request_that_is_no_json_is_refused_with_its_path(session: Session, value: object) -> None:
    session.add(user("x"))
    head = session.head
    with pytest.raises(EntryError, match="temperature"):
        session.add_response(answers("y"), to=session.context(R), request={"temperature": value})
    assert session.head == head


def test_an_answer_without_items_leaves_what_it_took_on_record(session: Session) -> None:
    session.add(user("x"))
    sent = session.context(R)
    usage = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
    recorded = session.add_response(responses([], usage=usage), to=sent, request={"a": 1})
    (entry,) = recorded.entries
    assert entry.response is not None
    assert entry.response.usage is not None
    assert entry.response.usage.output == 10
    assert entry.response.request is not None
    assert not recorded.calls
    # It says nothing, so nothing of it is sent, and it tells nothing of the size of what is.
    assert session.context(R).items == [user("x")]
    assert session.context(R).size == sent.size


def test_an_interrupted_answer_is_history_and_no_context(session: Session) -> None:
    session.add(user("x"))
    before = session.context(R).items
    recorded = session.add_response(asks("c1", text="I will"), to=session.context(R), interrupted=True)
    assert all(entry.interrupted for entry in recorded.entries)
    assert session.context(R).items == before
    assert not session.open_calls()
    assert len(session.history().events) > 1


def test_a_response_that_is_read_already_is_taken_as_it_is(session: Session) -> None:
    session.add(user("x"))
    response = parse_response(answers("y"), attempts=2)
    assert session.add_response(response, to=session.context(R)).response is response


def test_an_answer_to_no_target_is_refused(session: Session) -> None:
    session.add(user("x"))
    with pytest.raises(FamilyRequiredError):
        session.add_response(answers("y"), to=build_context(session.entries()))


def test_the_context_as_it_was(session: Session) -> None:
    (entry,) = session.add(user("x"))
    then = session.context(R).items
    session.add_response(answers("y"), to=session.context(R))
    assert session.context_at(entry.id, R).items == then
    with pytest.raises(EntryNotFoundError):
        session.context_at("nope", R)


# --------------------------------------------------------------------------------- add


def test_private_items_need_their_maker(session: Session) -> None:
    head = session.head
    with pytest.raises(FamilyRequiredError) as caught:
        session.add(user("x"), sealed(1))
    assert caught.value.index == 1
    assert session.head == head
    first, _ = session.add(sealed(1), said("y"), target=R)
    assert first.family == R.family


def test_items_are_added_all_or_none(session: Session) -> None:
    head = session.head
    with pytest.raises(EntryError):
        session.add(user("x"), {"role": "user", "content": {1, 2}})
    with pytest.raises(EntryError):
        session.add(user("x"), "text")  # type: ignore[arg-type]
    assert session.head == head
    assert session.entries() == ()


def test_an_item_is_added_once_under_its_id(session: Session) -> None:
    first = session.add(user("x"), ids=["m1"])
    assert session.add(user("x"), ids=["m1"]) == first
    assert len(session.entries()) == 1
    with pytest.raises(IdError):
        session.add(user("y"), ids=["m1"])
    both = session.add(user("x"), user("z"), ids=["m1", "m2"])
    assert [entry.id for entry in session.entries()] == ["m1", "m2"] == [entry.id for entry in both]


def test_an_id_counts_after_a_reopen_and_in_another_window(log: Path) -> None:
    Session.create(log).close()
    with Session.open(log, mode="shared") as one, Session.open(log, mode="shared") as two:
        first = one.add(user("x"), ids=["m1"])
        assert two.add(user("x"), ids=["m1"]) == first
    with Session.open(log) as three:
        assert three.add(user("x"), ids=["m1"]) == first
        assert len(three.entries()) == 1


def test_there_is_one_id_for_each_item(session: Session) -> None:
    with pytest.raises(EntryError, match="1 ids"):
        session.add(user("x"), user("y"), ids=["m1"])


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_items_are_added_after_a_given_entry_or_not_at_all(log: Path, mode: Any) -> None:
    Session.create(log).close()
    with Session.open(log, mode=mode) as session:
        (first,) = session.add(user("x"), after="")
        session.add(user("y"), after=first.id)
        with pytest.raises(ConflictError):
            session.add(user("z"), after=first.id)
        assert len(session.entries()) == 2
        session.add(user("z"))


def test_the_template_of_a_message_stands_beside_it(session: Session) -> None:
    made = Invocation(kind="prompt_template", name="review", source="user", path="/p/review.md")
    first, second = session.add(user("x"), user("y"), invocation=made)
    assert (first.invocation, second.invocation) == (made, None)


# ------------------------------------------------------------------------------- calls


def opened(session: Session, raw: dict[str, Any], target: Target = R) -> tuple[ToolCall, ...]:
    session.add(user("do"))
    return session.add_response(raw, to=session.context(target)).calls


def test_a_call_is_open_until_it_is_answered_and_says_how_far_it_got(log: Path) -> None:
    with Session.create(log) as session:
        first, second, third, _ = opened(session, asks("c1", "c2", "c3", "c4"))
        with pytest.raises(SystemExit), session.call(third):
            raise SystemExit
        with session.call(first) as tool:
            tool.output("done")
        assert [one.state for one in session.open_calls()] == ["never-began"] * 2
        # As if killed: the start is on record, and nothing after it.
        journal = session.call(second)
        journal.__enter__()
        session.close()
    with Session.open(log) as session:
        began, never = session.open_calls()
        assert (began.call.id, began.state, began.call.arguments) == ("c2", "began", {"cmd": "make"})
        assert began.started_at is not None
        assert (never.call.id, never.state, never.started_at) == ("c4", "never-began", None)
        session.add_output(began.call, "checked: it had run")
        with session.call(never.call) as tool:
            tool.output("run now")
        assert not session.open_calls()
        assert not session.context(R).changes


def test_a_call_whose_outcome_alone_is_on_record_has_finished(log: Path) -> None:
    with Session.create(log) as session:
        opened(session, asks("c1"))
        from transcript_log import Detail, outcome_payload

        holder = session.entries()[-1].id
        payload = outcome_payload(ToolOutcome(status="failed", exit_code=2))
        session.store.append(details=[Detail(id="c1", payload=payload, entry=holder)])
    with Session.open(log) as session:
        (one,) = session.open_calls()
        assert one.state == "finished"
        assert one.outcome is not None
        assert one.outcome.exit_code == 2


def test_of_calls_with_one_id_in_one_message_the_last_are_open(session: Session) -> None:
    uses_ = [{"type": "tool_use", "id": "c1", "name": name, "input": {}} for name in ("a", "b")]
    first, _ = opened(session, message(uses_, "tool_use"), A)
    assert [one.call.name for one in session.open_calls()] == ["a", "b"]
    session.add_output(first, "x")
    assert [one.call.name for one in session.open_calls()] == ["b"]


def test_a_call_of_an_answer_that_was_cut_off_is_not_open_and_does_not_run(log: Path) -> None:
    with Session.create(log) as session:
        cut = responses([call("c1")], "incomplete", incomplete_details={"reason": "max_output_tokens"})
        session.add(user("x"))
        recorded = session.add_response(cut, to=session.context(R))
        assert recorded.calls == ()
        (one,) = recorded.response.tool_calls
        assert one.is_cut
    with Session.open(log) as session:
        assert session.open_calls() == ()
        with pytest.raises(EntryError, match="cut off"), session.call(one):
            raise AssertionError("it must not run")
        session.add_output(one, "not run")  # that may be said
        (two,) = opened(session, asks("c2"))
        assert [waiting.call for waiting in session.open_calls()] == [two]


def test_an_output_ends_the_call_whose_start_is_on_record_and_else_leaves_no_detail(session: Session) -> None:
    first, second, third = opened(session, asks("c1", "c2", "c3"))
    begun = session.call(first)
    begun.__enter__()
    session.add_output(first, "x")
    session.add_output(second, "y")
    session.add_output(third, "z", is_error=True)
    told = {name: payload["data"].get("status") for (name, _), payload in session.store.details().items()}
    assert told == {"c1": "success", "c3": "failed"}


VICTIM: Final = """
import os, signal, sys
from transcript_log import Session, Target
from recorded_responses import responses
from situations import call, user
session = Session.create(sys.argv[1])
session.add(user("do"))
to = session.context(Target("openai-responses", "gpt-5.4"))
first, second = session.add_response(responses([call("c1"), call("c2")]), to=to).calls
with session.call(first) as tool:
    tool.output("done")
    if sys.argv[2] == "in the first":
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "between":
    os.kill(os.getpid(), signal.SIGKILL)
with session.call(second) as tool:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("where", "states"),
    [
        ("in the first", {"c1": "began", "c2": "never-began"}),
        ("between", {"c2": "never-began"}),
        ("in the second", {"c2": "began"}),
    ],
)
def test_a_process_that_is_killed_leaves_word_of_what_it_ran(
    log: Path, where: str, states: dict[str, str]
) -> None:
    here = Path(__file__).parent
    env = {**os.environ, "PYTHONPATH": f"{here.parent}:{here}"}
    victim = subprocess.run([sys.executable, "-c", VICTIM, str(log), where], env=env, check=False)
    assert victim.returncode == -signal.SIGKILL
    with Session.open(log) as session:
        assert {one.call.id: one.state for one in session.open_calls()} == states
        for one in session.open_calls():
            session.add_output(one.call, "checked")
        assert not session.context(R).changes


def test_the_start_is_on_disk_before_the_body_runs(session: Session, log: Path) -> None:
    (one,) = opened(session, asks("c1"))
    sidecar = log.with_name("s.details.jsonl")
    assert not sidecar.exists()
    with session.call(one) as tool:
        (started,) = lines(sidecar)
        assert started["payload"]["kind"] == "tool_started"
        assert started["entry"] == session.entries()[-1].id
        tool.output("x", outcome=ToolOutcome(status="success", exit_code=0))
    assert lines(sidecar)[-1]["payload"] == {
        "kind": "tool_outcome",
        "data": {"status": "success", "exitCode": 0},
    }


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("no such file"), "failed"), (KeyboardInterrupt(), "cancelled")]
)
def test_what_a_tool_raises_becomes_its_output(session: Session, error: BaseException, status: str) -> None:
    (one,) = opened(session, uses("c1"), A)
    with pytest.raises(type(error)) as caught, session.call(one):
        raise error
    assert caught.value is error
    entry = session.entries()[-1]
    assert isinstance(entry, MessageEntry)
    (told,) = tool_outputs(entry.message)
    assert told.is_error
    assert (str(error) or type(error).__name__) in told.content
    assert session.store.details()["c1", session.entries()[-2].id]["data"]["status"] == status
    assert not session.open_calls()


def test_an_output_that_is_no_json_is_told_and_does_not_leave_the_call_open(session: Session) -> None:
    (one,) = opened(session, asks("c1"))
    with pytest.raises(EntryError), session.call(one) as tool:
        tool.output([{"type": "input_text", "text": float("nan")}])
    assert not session.open_calls()
    assert "could not be recorded" in json.dumps(session.context(R).items[-1])


@pytest.mark.parametrize("content", [None, 3, ("a",), b"x"])
def test_an_output_is_text_blocks_or_an_object(session: Session, content: Any) -> None:
    (one,) = opened(session, asks("c1"))
    with pytest.raises(EntryError, match=r"\$\.content"):
        session.add_output(one, content)
    assert session.open_calls()


def test_an_output_of_no_call_is_refused(session: Session) -> None:
    with pytest.raises(EntryError, match="'c9'"):
        session.add_output(ToolCall("c9", "bash", {}), "x")
    with pytest.raises(EntryError), session.call(ToolCall("", "bash", {})):
        pytest.fail("it must not run")


def test_an_output_has_the_shape_of_its_call(session: Session) -> None:
    chatty = {"role": "assistant", "content": None}
    chatty["tool_calls"] = [{"id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]  # type: ignore[assignment]
    for target, raw in ((A, uses("c1")), (C, chat(chatty, "tool_calls")), (R, asks("c3"))):
        (one,) = opened(session, raw, target)
        session.add_output(one, "x", is_error=True)
    blocks = [{"type": "input_text", "text": "seen"}]
    (one,) = opened(session, asks("c4"))
    session.add_output(one, blocks)
    stored = [e.message for e in session.entries() if isinstance(e, MessageEntry) and tool_outputs(e.message)]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "x", "is_error": True}
    assert stored == [
        {"role": "user", "content": [result]},
        {"role": "tool", "tool_call_id": "c2", "content": "x"},
        output("c3", "x"),
        {"type": "function_call_output", "call_id": "c4", "output": blocks},
    ]
    for target in (R, C, A):
        session.context(target)


def test_outputs_of_other_kinds_of_calls(session: Session) -> None:
    shell = {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}, "status": "completed"}
    patch = {"type": "apply_patch_call", "call_id": "p1", "status": "completed"}
    patch["operation"] = {"type": "delete_file", "path": "a"}  # type: ignore[assignment]
    first, second = opened(session, responses([shell, patch]))
    session.add_output(first, "listed", outcome=ToolOutcome(status="failed", exit_code=3))
    session.add_output(second, "patched")
    one, two = [entry.message for entry in session.entries()[-2:] if isinstance(entry, MessageEntry)]
    assert one["output"] == [{"stdout": "listed", "stderr": "", "outcome": {"type": "exit", "exit_code": 3}}]
    assert (two["status"], two["output"]) == ("completed", "patched")
    assert not session.context(R).changes


# --------------------------------------------------------------------------- stand-ins


@pytest.mark.parametrize("target", [R, C, A], ids=lambda target: target.api)
def test_a_stand_in_that_was_sent_is_put_on_record(session: Session, target: Target) -> None:
    opened(session, uses("c1", "c2"), A)
    session.add_output(ToolCall("c1", "bash", {}), "one")
    session.add(user("and now?"))
    sent = session.context(target)
    assert any("never answered" in change.message for change in sent.changes)
    recorded = session.add_response(shaped(target, "On it."), to=sent)
    (made,) = recorded.stand_ins
    assert made.stand_in
    assert [entry.id for entry in session.entries()[-2:]] == [made.id, recorded.entries[0].id]
    assert texts(session.context(target))[: len(sent.items)] == texts(sent)
    # The output that comes too late does not change what the model saw.
    session.add_output(ToolCall("c2", "bash", {}), "late")
    assert texts(session.context(target))[: len(sent.items)] == texts(sent)
    assert not session.open_calls()
    assert session.add_response(shaped(target, "Again."), to=session.context(target)).stand_ins == ()


def test_a_context_that_is_answered_twice_publishes_once(session: Session) -> None:
    opened(session, asks("c1"))
    session.add(user("and?"))
    sent = session.context(R)
    assert len(session.add_response(answers("a"), to=sent).stand_ins) == 1
    assert session.add_response(answers("b"), to=sent).stand_ins == ()


def test_a_stand_in_for_an_older_call_of_the_same_id_takes_nothing_from_the_newer(session: Session) -> None:
    opened(session, asks("c1"))
    (again,) = opened(session, asks("c1"))
    # The first was stood in for when the second response came.
    session.add_output(again, "the second one's")
    assert "the second one's" in json.dumps(session.context(R).items)
    session.add(user("go on"))
    session.add_response(answers("yes"), to=session.context(R))
    assert "the second one's" in json.dumps(session.context(R).items)


def test_of_two_calls_with_one_id_only_the_newer_is_stood_in_for_on_record(session: Session) -> None:
    session.add(call("c1"), user("and?"), call("c1"), output("c1", "the second one's"), user("on"))
    sent = session.context(R)
    assert len(sent.stand_ins) == 1
    assert session.add_response(answers("yes"), to=sent).stand_ins == ()
    assert texts(session.context(R))[: len(sent.items)] == texts(sent)


def test_each_of_two_calls_with_one_id_is_stood_in_for(session: Session) -> None:
    for _ in range(2):
        opened(session, asks("c1"))
    session.add(user("on"))
    sent = session.context(R)
    assert len(session.add_response(answers("yes"), to=sent).stand_ins) == 1
    stored = [entry for entry in session.entries() if isinstance(entry, MessageEntry) and entry.stand_in]
    assert len(stored) == 2
    assert texts(session.context(R))[: len(sent.items)] == texts(sent)


def test_the_stand_in_of_an_older_call_is_none_of_the_newer() -> None:
    store = MemoryStore()
    published = new_message(output("c1", "[unknown]"), stand_in=True)
    store.append(new_message(call("c2")), new_message(call("c1")), published, new_message(user("x")))
    session = Session(store)
    session.add(call("c1"), user("y"))
    recorded = session.add_response(answers("z"), to=session.context(R))
    assert [part.id for entry in recorded.stand_ins for part in tool_outputs(entry.message)] == ["c2", "c1"]


def test_a_stand_in_that_another_family_was_not_sent_is_not_put_on_record(session: Session) -> None:
    search = {"type": "tool_search_call", "call_id": "t1", "execution": "client", "arguments": {}}
    session.add(user("x"), search, user("y"), target=R)
    assert len(session.context(R).stand_ins) == 1
    sent = session.context(A)
    assert sent.stand_ins == ()
    assert session.add_response(uses("c1"), to=sent).stand_ins == ()


def test_no_stand_in_is_put_on_record_for_an_interrupted_answer(session: Session) -> None:
    (one,) = opened(session, asks("c1"))
    session.add(user("and?"))
    recorded = session.add_response(answers("I"), to=session.context(R), interrupted=True)
    assert recorded.stand_ins == ()
    assert [found.call.id for found in session.open_calls()] == [one.id]


# ----------------------------------------------------------------------------- windows


def test_a_second_window_is_refused_at_once_and_told_who_has_it(session: Session, log: Path) -> None:
    with pytest.raises(LogBusyError) as caught:
        Session.open(log)
    assert caught.value.pid == os.getpid()
    with Session.open(log, mode="read") as reader:
        session.add(user("x"))
        assert len(reader.entries()) == 1


HOLDER: Final = """
import sys, time
from transcript_log import Session
with Session.open(sys.argv[1]):
    print("ready", flush=True)
    time.sleep(60)  # far longer than the test: it is killed, or stopped, while it holds the log
"""


def test_a_stopped_holder_is_named_as_stopped(log: Path) -> None:
    Session.create(log).close()
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(log)], stdout=subprocess.PIPE, env=env
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"ready\n"
            holder.send_signal(signal.SIGSTOP)
            os.waitpid(holder.pid, os.WUNTRACED)
            with pytest.raises(LogBusyError, match="stopped") as caught:
                Session.open(log)
            assert (caught.value.pid, caught.value.state) == (holder.pid, "stopped")
        finally:
            holder.kill()
    Session.open(log).close()


def test_two_shared_windows_see_each_other(log: Path) -> None:
    Session.create(log).close()
    with Session.open(log, mode="shared") as one, Session.open(log, mode="shared") as two:
        one.add(user("a"))
        two.add(user("b"), user("c"))
        (call_of_one,) = one.add_response(asks("c1"), to=one.context(R)).calls
        two.add_output(call_of_one, "done by the other")
        assert [entry.id for entry in one.entries()] == [entry.id for entry in two.entries()]
        assert one.context(R).items == two.context(R).items
        assert not one.open_calls()
        assert one.head == two.head


def test_windows_of_several_threads_lose_nothing(log: Path) -> None:
    Session.create(log).close()

    def work(name: str) -> None:
        with Session.open(log, mode="shared", durability="os", wait=30) as session:
            for number in range(20):
                session.add(user(f"{name}{number}"), user(f"{name}{number}'"))
                session.context(R)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Session.open(log, mode="read") as session:
        said_ = [e.message["content"] for e in session.entries() if isinstance(e, MessageEntry)]
    for name in "abc":
        mine = [words for words in said_ if words.startswith(name)]
        assert mine == [f"{name}{n}{mark}" for n in range(20) for mark in ("", "'")]
    assert all(said_[at + 1] == said_[at] + "'" for at in range(0, len(said_), 2))


def test_a_holder_that_lost_its_lease_writes_nothing(session: Session, log: Path) -> None:
    session.add(user("a"))
    # As after a long sleep: somebody else has written meanwhile.
    line = log.read_bytes().splitlines()[-1]
    other = json.loads(line) | {"id": "theirs"}
    del other["crc"]
    with log.open("ab") as file:
        file.write(json.dumps(other).encode() + b"\n")
    with pytest.raises(ConflictError):
        session.add(user("b"))
    with pytest.raises(ConflictError):
        session.add(user("b"))
    assert b'"b"' not in log.read_bytes()


def test_a_reader_never_writes(log: Path) -> None:
    with Session.create(log) as session:
        (one,) = opened(session, asks("c1"))
        plan = session.plan_compaction(R, keep_tokens=0)
        assert plan is not None
    before = {path.name: path.read_bytes() for path in log.parent.iterdir()}
    with Session.open(log, mode="read") as reader:
        sent = reader.context(R)
        assert reader.open_calls()
        writes: list[Callable[[], Any]] = [
            lambda: reader.add(user("x")),
            lambda: reader.add_response(answers("x"), to=sent),
            lambda: reader.add_output(one, "x"),
            lambda: reader.call(one).__enter__(),
            lambda: reader.run().__enter__(),
            lambda: reader.compact(plan, "s"),
            lambda: reader.attach(attachment("x")),
        ]
        for write in writes:
            with pytest.raises(StorageError, match="read only"):
                write()
    assert {path.name: path.read_bytes() for path in log.parent.iterdir()} == before


def test_a_closed_session_writes_nothing_and_lets_go(session: Session, log: Path) -> None:
    session.close()
    with pytest.raises(StorageError, match="closed"):
        session.add(user("x"))
    Session.open(log).close()
    session.close()


def test_what_is_missing_or_there_already_is_told(log: Path) -> None:
    with pytest.raises(StorageError) as caught:
        Session.open(log)
    assert caught.value.errno == errno.ENOENT
    assert list(log.parent.iterdir()) == []
    Session.create(log).close()
    with pytest.raises(StorageError) as caught:
        Session.create(log)
    assert caught.value.errno == errno.EEXIST


# ------------------------------------------------------------------------------ damage


def test_damage_is_passed_over_and_told(log: Path) -> None:
    with Session.create(log) as session:
        session.add(user("a"))
        session.add(user("b"))
        session.add(user("c"))
    bytes_ = log.read_bytes()
    log.write_bytes(bytes_.replace(b'"b"', b'"B"'))
    for mode in ("exclusive", "shared", "read"):
        with Session.open(log, mode=mode) as session:  # type: ignore[arg-type]
            assert any(found.line == 3 for found in session.damage)
            assert len(session.context(R).items) >= 2
            if mode != "read":
                session.add(user("d"))
                assert session.context(R).items[-1] == user("d")


def test_a_header_that_cannot_be_read_stops_it(log: Path) -> None:
    log.write_bytes(b'{"type":"something else"}\n')
    for mode in ("exclusive", "shared", "read"):
        with pytest.raises(HeaderError):
            Session.open(log, mode=mode)  # type: ignore[arg-type]
    assert [path.name for path in log.parent.iterdir()] == ["s.jsonl"]


# ------------------------------------------------------------------------------ errors


class Failing(MemoryStore):
    """Fails to write once, before or after what was to be written is there."""

    error: BaseException | None = None
    is_late = False

    def append(self, *entries: Any, **more: Any) -> str:
        error = self.error
        if error is None or not (entries or more.get("details")):
            return super().append(*entries, **more)
        self.error = None
        if self.is_late:
            super().append(*entries, **more)
        raise error


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("error", [StorageError("m", "append", "no space"), KeyboardInterrupt()])
def test_a_failed_write_is_tried_again_with_one_call(error: BaseException, is_late: bool, mode: Any) -> None:
    store = Failing()
    session = Session(store, mode=mode)
    session.add(user("x"))
    sent = session.context(R)
    store.error, store.is_late = error, is_late
    with pytest.raises(type(error)) as caught:
        session.add_response(asks("c1"), to=sent, request={"a": 1})
    written = session.retry(caught.value)
    assert [entry.id for entry in session.entries()[1:]] == [entry.id for entry in written]
    assert store.load() == list(session.entries())
    assert [one.call.id for one in session.open_calls()] == ["c1"]
    assert any(name.startswith("request:") for name, _ in store.details())
    session.add(user("y"))


@pytest.mark.parametrize("is_late", [False, True])
def test_a_session_goes_on_after_a_failed_write_that_is_not_tried_again(is_late: bool) -> None:
    store = Failing()
    session = Session(store, mode="exclusive")
    session.add(user("x"))
    store.error, store.is_late = OSError("?"), is_late
    with pytest.raises(OSError, match=r"\?"):
        session.add(user("y"))
    session.add(user("z"))
    assert [entry.message["content"] for entry in session.entries() if isinstance(entry, MessageEntry)] == (
        ["x", "y", "z"] if is_late else ["x", "z"]
    )
    assert store.load() == list(session.entries())


def test_an_error_carries_its_entries_to_another_process(session: Session) -> None:
    with pytest.raises(EntryError, match="nothing to write"):
        session.retry(ValueError())
    error = StorageError("m", "append", "no space")
    error.entries = session.add(user("x"))
    again = pickle.loads(pickle.dumps(error))
    assert again.entries == error.entries
    assert TranscriptError.entries == ()


# ----------------------------------------------------------------------------- stores


class Counting(MemoryStore):
    """Counts how often it is read."""

    reads = 0

    def read(self, after: str | None = None) -> Iterator[Any]:
        self.reads += 1
        return super().read(after)


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_a_log_that_nobody_else_writes_is_read_once(mode: Any) -> None:
    store = Counting()
    session = Session(store, mode=mode)
    session.add(user("x"))
    before = store.reads
    (one,) = session.add_response(asks("c1"), to=session.context(R)).calls
    with session.call(one) as tool:
        tool.output("x")
    session.context(R)
    assert store.reads == before


class Plain:
    """A store that offers no more than it must."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        for name in ("header", "read", "load", "active", "details", "append"):
            setattr(self, name, getattr(self._store, name))


def test_any_store_will_do() -> None:
    store: Store = Plain()  # type: ignore[assignment]  # its methods are those of another
    session = Session(store)
    (one,) = opened(session, asks("c1"))
    with session.call(one) as tool:
        tool.output("x")
    assert not session.open_calls()
    with pytest.raises(StorageError, match="lease"):
        Session(store, mode="exclusive")
    with pytest.raises(StorageError, match="follow"):
        session.follow()
    session.close()
    assert len(Session(store).entries()) == len(store.load())


def attachment(text: str, **more: Any) -> ContextAttachment:
    made = {"attachment_id": "a", "epoch": 9, "kind": "rules", "placement": "prefix", "revision": "1"}
    return ContextAttachment(**{**made, "rendered": text, **more})
