"""What goes wrong between a session and its log, its windows and its models, and what becomes of it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_responses import chat, message, responses
from situations import call, said, user

from transcript_log import (
    ConflictError,
    CorruptLogError,
    EntryError,
    IdError,
    JsonlStore,
    MessageEntry,
    Session,
    StorageError,
    Target,
    new_message,
)
from transcript_log.errors import EntryNotFoundError, LateOutputError
from transcript_log.items import tool_outputs
from transcript_log.memory import MemoryStore
from transcript_log.response import FinishReason, ToolCall, make_response, parse_response

R: Final = Target("openai-responses", "gpt-5.4")
C: Final = Target("openai-chat", "glm-5")
A: Final = Target("anthropic-messages", "claude-opus-4-8")
TARGETS: Final = pytest.mark.parametrize("target", [R, C, A], ids=lambda target: target.api)


def answered(target: Target, text: str, *ids: str, usage: int = 0, **more: Any) -> dict[str, Any]:
    """An answer of the target's API, with calls; ``usage`` is how much it took."""
    if target is R:
        told = {"input_tokens": usage - 1, "output_tokens": 1, "total_tokens": usage} if usage else None
        return responses([*([said(text)] if text else []), *(call(one) for one in ids)], usage=told, **more)
    if target is A:
        blocks: list[Any] = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": one, "name": "bash", "input": {}} for one in ids]
        raw = message(blocks, "tool_use" if ids else "end_turn", **more)
        return raw | ({"usage": {"input_tokens": usage - 1, "output_tokens": 1}} if usage else {})
    listed = [{"id": i, "type": "function", "function": {"name": "b", "arguments": "{}"}} for i in ids]
    made: dict[str, Any] = {"role": "assistant", "content": text or None}
    raw = chat({**made, "tool_calls": listed} if ids else made, "tool_calls" if ids else "stop", **more)
    told = {"prompt_tokens": usage - 1, "completion_tokens": 1, "total_tokens": usage}
    return raw | ({"usage": told} if usage else {})


def texts(session: Session) -> list[Any]:
    return [entry.message.get("content") for entry in session.entries() if isinstance(entry, MessageEntry)]


class Failing(MemoryStore):
    """Fails to write as often as it is told."""

    times = 0

    def append(self, *entries: Any, **more: Any) -> str:
        if self.times and (entries or more.get("details")):
            self.times -= 1
            raise StorageError("m", "write", "no space left")
        return super().append(*entries, **more)


# ------------------------------------------------------------------------------ retries


def failed_compaction(session: Session, store: Failing) -> StorageError:
    plan = session.plan_compaction(C, keep_tokens=0)
    assert plan is not None
    store.times = 1
    with pytest.raises(StorageError) as caught:
        session.compact(plan, "summary")
    return caught.value


def talked() -> tuple[Session, Failing]:
    store = Failing()
    session = Session(store, mode="exclusive")
    session.add(user("one"))
    session.add_response(answered(C, "yes"), to=session.context(C))
    session.add(user("two"))
    return session, store


def test_a_compaction_is_tried_again_only_as_long_as_nothing_came_after_it() -> None:
    session, store = talked()
    error = failed_compaction(session, store)
    session.retry(error)
    assert "summary" in str(session.context(C).items)
    assert len(session.context(C).items) == 1

    session, store = talked()
    error = failed_compaction(session, store)
    session.add(user("important"))
    with pytest.raises(ConflictError):
        session.retry(error)
    assert session.context(C).items[-1] == user("important")
    assert len(session.context(C).items) == 4


def test_what_was_to_follow_an_entry_is_not_written_elsewhere_when_it_is_tried_again() -> None:
    session, _ = talked()
    with pytest.raises(ConflictError) as caught:
        session.add(user("x"), after="nope")
    with pytest.raises(ConflictError):
        session.retry(caught.value)
    assert "x" not in texts(session)


def test_a_retry_of_what_came_to_be_writes_nothing_even_if_the_log_has_gone_on() -> None:
    session, store = talked()
    head = session.head
    store.times = 1
    with pytest.raises(StorageError) as caught:
        session.add(user("x"), after=head)
    written = session.retry(caught.value)
    session.add(user("y"))
    assert session.retry(caught.value) == written
    assert texts(session)[-2:] == ["x", "y"]


def test_a_value_that_cannot_be_stored_is_not_carried_by_its_error() -> None:
    session, store = talked()
    with pytest.raises(EntryError) as caught:
        session.add({"role": "user", "content": float("nan")})
    assert caught.value.entries == ()
    before = store.read

    def unread(after: str | None = None) -> Any:
        raise AssertionError("there is nothing to learn")

    store.read = unread  # type: ignore[method-assign]
    session.add(user("y"))
    store.read = before  # type: ignore[method-assign]
    assert texts(session)[-1] == "y"


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_a_tool_raised_is_tried_again_with_its_own_error(kind: type[BaseException]) -> None:
    session, store = talked()
    (one,) = session.add_response(answered(C, "", "c1"), to=session.context(C)).calls
    with pytest.raises(kind) as caught, session.call(one):
        store.times = 1
        raise kind("broken")
    assert "no space left" in caught.value.__notes__[0]
    assert [open_call.state for open_call in session.open_calls()] == ["began"]
    session.retry(caught.value)
    assert session.open_calls() == ()
    with pytest.raises(kind) as caught, session.run():
        store.times = 1
        raise kind("broken")
    session.retry(caught.value)
    assert session.entries()[-1].run.status in ("failed", "cancelled")  # type: ignore[union-attr]


def test_a_write_that_failed_in_a_tool_and_its_output_are_both_tried_again() -> None:
    session, store = talked()
    (one,) = session.add_response(answered(C, "", "c1"), to=session.context(C)).calls
    with pytest.raises(StorageError) as caught, session.call(one):
        store.times = 2
        session.add(user("from the tool"))
    session.retry(caught.value)
    assert session.open_calls() == ()
    assert "from the tool" in texts(session)
    assert "no space left" in str(session.context(C).items)


def test_what_is_tried_again_belongs_to_its_run() -> None:
    session, store = talked()
    with session.run() as run:
        store.times = 1
        with pytest.raises(StorageError) as caught:
            session.add(user("x"))
        (entry,) = session.retry(caught.value)
    assert run.first_entry_id == entry.id


def test_an_answer_with_stand_ins_is_tried_again_though_others_have_added() -> None:
    store = Failing()
    session, other = Session(store), Session(store)
    session.add(user("x"))
    session.add_response(answered(C, "", "c1"), to=session.context(C))
    session.add(user("y"))
    sent = session.context(C)
    assert sent.stand_ins
    store.times = 1
    with pytest.raises(StorageError) as caught:
        session.add_response(answered(C, "fine", "c2"), to=sent)
    other.add(user("meanwhile"))
    session.retry(caught.value)
    assert [one.call.id for one in session.open_calls()] == ["c2"]


def test_an_agent_may_go_on_after_what_a_tool_raised_but_not_after_a_full_disk() -> None:
    session, store = talked()
    one, two, three = session.add_response(answered(C, "", "c1", "c2", "c3"), to=session.context(C)).calls
    with session.call(one, suppress=Exception):
        raise ValueError("no such file")
    assert "no such file" in str(session.entries()[-1])
    with pytest.raises(KeyError), session.call(two, suppress=ValueError):
        raise KeyError("x")
    with pytest.raises(ValueError, match="broken") as caught, session.call(three, suppress=Exception):
        store.times = 1
        raise ValueError("broken")
    assert [open_call.state for open_call in session.open_calls()] == ["began"]
    session.retry(caught.value)
    assert session.open_calls() == ()


def test_a_late_write_brings_its_details_into_memory() -> None:
    class Late(MemoryStore):
        times = 0

        def append(self, *entries: Any, **more: Any) -> str:
            head = super().append(*entries, **more)
            if self.times and more.get("details"):
                self.times = 0
                raise KeyboardInterrupt
            return head

    store = Late()
    session = Session(store, mode="exclusive")
    session.add(user("x"))
    (one,) = session.add_response(answered(C, "", "c1"), to=session.context(C)).calls
    store.times = 1
    with pytest.raises(KeyboardInterrupt):
        session.add_output(one, "bad", is_error=True)
    told = [event for event in session.history().events if getattr(event, "outcome", None)]
    assert told
    assert session.history() == Session(store).history()


# ---------------------------------------------------------------- damage at the last line


def damaged(log: Path, how: str) -> None:
    """Damage, or doubt, on the last line."""
    *before, last = log.read_bytes().splitlines(keepends=True)
    if how == "changed":
        last = last.replace(b"second", b"SECOND")
    elif how == "two":
        last = last.rstrip() + last
    elif how == "repeated":
        last += last
    elif how == "time":
        value = json.loads(last)
        value["timestamp"] = 1767323045
        del value["crc"]
        last = json.dumps(value, separators=(",", ":")).encode() + b"\n"
    elif how == "broken":
        last = b"{broken}\n"
    log.write_bytes(b"".join([*before, last]))


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
@pytest.mark.parametrize("how", ["changed", "two", "repeated", "time", "broken"])
def test_a_session_goes_on_behind_a_last_line_that_is_damaged(tmp_path: Path, how: str, mode: Any) -> None:
    log = tmp_path / "s.jsonl"
    with Session.create(log) as session:
        session.add(user("first"))
        session.add(user("second"))
    damaged(log, how)
    with Session.open(log, mode=mode) as session:
        assert session.damage
        known = len(session.entries())
        session.add(user("third"))
        session.add(user("fourth"), ids=["m4"])
        assert len(session.entries()) == known + 2
        assert texts(session)[-2:] == ["third", "fourth"]
    with Session.open(log, mode=mode) as session:
        assert texts(session)[-2:] == ["third", "fourth"]
        session.add(user("fifth"))


def test_a_viewer_may_pass_over_damage(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    with Session.create(log) as session:
        session.add(user("first"))
        with log.open("ab") as file:
            file.write(b"{broken}\n")
        session.add(user("second"))
        found: list[CorruptLogError] = []
        batches = session.follow(on_damage=found.append, stop=lambda: True)
        assert len([entry for batch in batches for entry in batch]) == 2
        assert [error.line for error in found] == [3]
        with pytest.raises(CorruptLogError):
            list(session.follow(stop=lambda: True))


# --------------------------------------------------------------------------- ids, raced


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_ids_are_added_once_whoever_is_first(tmp_path: Path, mode: Any) -> None:
    log = tmp_path / "s.jsonl"
    Session.create(log).close()
    windows = [Session.open(log, mode=mode) for _ in range(4 if mode == "shared" else 1)]
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        session = windows[number % len(windows)]
        barrier.wait()
        try:
            for step in range(25):
                session.add(user(f"x{step}"), user(f"y{step}"), ids=[f"i{step}", f"j{step}"])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for window in windows:
        window.close()
    assert failures == []
    ids = [entry.id for entry in JsonlStore(log).load()]  # strict: no id stands twice
    assert sorted(ids) == sorted(f"{letter}{step}" for letter in "ij" for step in range(25))


def test_an_id_is_the_same_item_or_an_error() -> None:
    session = Session.in_memory()
    (first,) = session.add({"role": "user", "content": [{"n": 1}]}, ids=["a"])
    assert session.add({"role": "user", "content": [{"n": 1}]}, ids=["a"]) == (first,)
    with pytest.raises(IdError):
        session.add({"role": "user", "content": [{"n": True}]}, ids=["a"])
    with pytest.raises(IdError):
        session.add({"role": "user", "content": [{"n": 1}]}, ids=["a"], target=C)
    both = session.add({"role": "user", "content": [{"n": 1}]}, user("y"), ids=["a", "b"])
    assert [entry.id for entry in both] == ["a", "b"]
    assert [entry.id for entry in session.entries()] == ["a", "b"]


def test_under_a_lease_nothing_is_added_behind_what_an_intruder_wrote(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    with Session.create(log) as session:
        session.add(user("x"))
        line = new_message(user("intruder"), id_source=lambda: "intruder")
        other = JsonlStore(tmp_path / "other.jsonl")
        other.append(line)
        with log.open("ab") as file:
            file.write(Path(other.path).read_bytes().splitlines(keepends=True)[1])
        with pytest.raises(ConflictError):
            session.add(user("y"), after="intruder")
        with pytest.raises(ConflictError):
            session.add(user("y"))


# --------------------------------------------------------------- answers that were cut off


@TARGETS
def test_an_interrupted_answer_hands_out_no_call(target: Target) -> None:
    session = Session.in_memory()
    session.add(user("x"))
    recorded = session.add_response(
        answered(target, "so", "c1"), to=session.context(target), interrupted=True
    )
    assert recorded.calls == ()
    assert session.open_calls() == ()
    with pytest.raises(EntryError, match="c1"), session.call(recorded.response.tool_calls[0]):
        raise AssertionError("it must not run")


@pytest.mark.parametrize(
    ("target", "raw"),
    [
        (R, responses([{**call("c1"), "status": "in_progress", "arguments": ""}], status="in_progress")),
        (R, responses([{**call("c1"), "status": "incomplete"}])),
        (R, responses([{**call("c1"), "arguments": ""}], status="incomplete")),
        (C, answered(C, "", "c1") | {"choices": [{"index": 0, "finish_reason": None}]}),
        (A, answered(A, "", "c1") | {"stop_reason": None}),
        (A, answered(A, "", "c1") | {"stop_reason": "max_tokens"}),
    ],
)
def test_a_call_that_may_not_be_whole_is_never_runnable(target: Target, raw: dict[str, Any]) -> None:
    if target is C:
        asks = [{"id": "c1", "type": "function", "function": {"name": "b", "arguments": ""}}]
        raw["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": asks}
    session = Session.in_memory()
    session.add(user("x"))
    recorded = session.add_response(raw, to=session.context(target))
    assert [one.is_runnable for one in recorded.response.tool_calls] == [False]
    assert recorded.calls == ()
    assert session.open_calls() == ()
    session.add(user("go on"))
    assert "go on" in json.dumps(session.context(target).items[-1])


@TARGETS
def test_a_whole_call_is_runnable_today_and_tomorrow(target: Target) -> None:
    session = Session.in_memory()
    session.add(user("x"))
    recorded = session.add_response(answered(target, "", "c1"), to=session.context(target))
    assert [one.is_runnable for one in recorded.calls] == [True]
    assert [one.call for one in session.open_calls()] == list(recorded.calls)
    assert [one.call.entry for one in session.open_calls()] == [one.entry for one in recorded.calls]
    session.add_output(session.open_calls()[0], "done")  # an open call will do as well
    assert session.open_calls() == ()


@TARGETS
@pytest.mark.parametrize("kind", ["interrupted", "empty"])
def test_the_size_of_a_context_survives_an_answer_that_says_nothing(target: Target, kind: str) -> None:
    session = Session.in_memory()
    session.add(user("x"))
    session.add_response(answered(target, "yes", usage=9000), to=session.context(target))
    session.add(user("y"))
    before = session.context(target)
    assert before.size > 9000
    text = "" if kind == "empty" else "par"
    session.add_response(answered(target, text, usage=9010), to=before, interrupted=kind == "interrupted")
    assert session.context(target).size == before.size


def test_an_answer_of_another_api_is_refused() -> None:
    session = Session.in_memory()
    session.add(user("x"))
    with pytest.raises(EntryError, match=r"anthropic-messages.*openai-chat"):
        session.add_response(answered(A, "yes"), to=session.context(C))
    assert len(session.entries()) == 1
    session.add_response(parse_response(answered(C, "yes")), to=session.context(C))


def test_what_is_no_answer_is_refused() -> None:
    session = Session.in_memory()
    session.add(user("x"))
    with pytest.raises(EntryError, match="no answer of an API"):
        session.add_response({"foo": 1}, to=session.context(C))
    refused = {"error": {"type": "overloaded_error", "message": "later"}}
    recorded = session.add_response(refused, to=session.context(A))
    assert recorded.finish_reason is FinishReason.ERROR
    assert session.context(A).items == [user("x")]


@TARGETS
def test_a_response_that_was_made_by_hand_is_said_in_the_words_of_the_api(target: Target) -> None:
    session = Session.in_memory()
    session.add(user("x"))
    asks = {"id": "c1", "name": "shell", "arguments": {"command": "make"}}
    made = make_response(text="Let me see.", tool_calls=[asks], finish_reason=FinishReason.TOOL_USE)
    (one,) = session.add_response(made, to=session.context(target)).calls
    assert one.entry is not None
    session.add_output(one, "done")
    sent = session.context(target)
    assert sent.changes == ()
    assert "Let me see." in json.dumps(sent.items)
    assert one.arguments == {"command": "make"}


def test_arguments_of_a_response_made_by_hand_stay_as_they_stood() -> None:
    for target in (R, C):
        session = Session.in_memory()
        session.add(user("x"))
        broken = {"id": "c1", "name": "shell", "arguments": '{"command": "ma'}
        free = {"id": "c2", "name": "patch", "arguments": "*** Begin", "kind": "custom"}
        made = make_response(tool_calls=[broken, free], finish_reason=FinishReason.TOOL_USE)
        one, two = session.add_response(made, to=session.context(target)).calls
        assert (one.is_runnable, two.is_runnable) == (False, True)
        stored = json.dumps([entry.message for entry in session.entries() if isinstance(entry, MessageEntry)])
        assert json.dumps('{"command": "ma') in stored
        assert "*** Begin" in stored
        assert "custom" in stored
    session = Session.in_memory()
    session.add(user("x"))
    with pytest.raises(EntryError, match="are no object"):
        session.add_response(made, to=session.context(A))
    odd = make_response(tool_calls=[{"id": "c", "name": "s", "arguments": {}, "kind": "shell"}])
    with pytest.raises(EntryError, match="'shell'"):
        session.add_response(odd, to=session.context(R))


# --------------------------------------------------------------- opened, or made


def test_a_log_is_opened_or_made(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "s.jsonl"
    with Session.open(log, create=True, cwd="/src") as session:
        session.add(user("x"))
        made = session.id
        header = session.store.header()
        assert header is not None
        assert (header.id, header.cwd) == (made, "/src")
    with Session.open(log, create=True) as session:
        assert session.id == made
        assert texts(session) == ["x"]
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b'{"type":"session","ver')
    with Session.open(torn, create=True) as session:
        session.add(user("x"))
    assert texts(Session.open(torn, mode="read")) == ["x"]
    with pytest.raises(StorageError):
        Session.open(tmp_path / "none.jsonl", mode="read", create=True)
    assert not (tmp_path / "none.jsonl").exists()


def test_of_many_who_open_or_make_a_log_each_has_the_same(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    barrier = threading.Barrier(8)
    ids: list[str | None] = []

    def work() -> None:
        barrier.wait()
        with Session.open(log, create=True, mode="shared") as session:
            session.add(user("x"))
            ids.append(session.id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8
    assert len(set(ids)) == 1
    assert len(JsonlStore(log).load()) == 8


# ----------------------------------------------------------------- one id, several calls


@TARGETS
def test_an_output_that_comes_after_a_newer_call_of_its_id_does_not_answer_that(target: Target) -> None:
    session = Session.in_memory()
    session.add(user("x"))
    (first,) = session.add_response(answered(target, "", "call_0"), to=session.context(target)).calls
    with pytest.raises(LateOutputError, match="call_0"), session.call(first) as tool:
        session.add(user("meanwhile"))
        (second,) = session.add_response(answered(target, "", "call_0"), to=session.context(target)).calls
        tool.output("of the first")
    assert second.entry != first.entry
    assert [(one.entry, one.state) for one in session.open_calls()] == [(second.entry, "never-began")]
    assert "of the first" not in json.dumps(session.context(target).items)
    assert session.store.details()["call_0", first.entry]["data"]["status"] == "success"
    with session.call(second) as tool:
        tool.output("of the second")
    assert "of the second" in json.dumps(session.context(target).items)
    assert session.open_calls() == ()


def test_of_two_calls_of_one_id_in_one_answer_each_has_a_journal_of_its_own() -> None:
    session = Session.in_memory()
    session.add(user("x"))
    made = [{**call("c"), "arguments": json.dumps({"n": n})} for n in (1, 2)]
    one, two = session.add_response(responses(made), to=session.context(R)).calls
    with pytest.raises(ZeroDivisionError), session.call(one):
        assert [(open_call.call.arguments, open_call.state) for open_call in session.open_calls()] == [
            ({"n": 1}, "began"),
            ({"n": 2}, "never-began"),
        ]
        raise ZeroDivisionError
    assert [open_call.call.arguments for open_call in session.open_calls()] == [{"n": 2}]
    session.add_output(two, "two")
    assert session.open_calls() == ()


@TARGETS
def test_the_stand_ins_of_two_calls_of_one_id_keep_what_was_sent(target: Target) -> None:
    session = Session.in_memory()
    session.add(user("x"))
    session.add_response(answered(target, "", "c0", "c0"), to=session.context(target))
    session.add(user("y"))
    sent = session.context(target)
    assert len(sent.stand_ins) == 2
    recorded = session.add_response(answered(target, "yes"), to=sent)
    assert len(recorded.stand_ins) == 2
    assert session.context(target).items[: len(sent.items)] == sent.items
    assert session.context(target).stand_ins == ()


def test_a_call_of_an_interrupted_answer_is_none_of_the_others() -> None:
    session = Session.in_memory()
    session.add(user("x"))
    (one,) = session.add_response(answered(C, "", "c0"), to=session.context(C)).calls
    late = session.add_response(answered(C, "", "c0"), to=session.context(C), interrupted=True)
    with session.call(ToolCall("c0", "b", {})) as tool:
        tool.output("done")
    session.add_response(answered(C, "fine"), to=session.context(C))
    assert (one.id, one.entry) in session.store.details()
    plan = session.plan_compaction(C, first_kept=late.entries[0].id)
    assert plan is not None
    assert one.entry not in {entry.id for entry in plan.keep} or any(
        tool_outputs(entry.message) for entry in plan.keep
    )
    session.compact(plan, "summary")
    assert ("done" in json.dumps(session.context(C).items)) is (one.entry in {e.id for e in plan.keep})


def test_the_context_as_it_was_has_the_words_that_were_sent() -> None:
    session = Session.in_memory()
    session.add(user("x"))
    (one,) = session.add_response(answered(R, "", "c1"), to=session.context(R)).calls
    started = session.call(one)
    started.__enter__()  # and the process is gone
    session.add(user("y"))
    sent = session.context(R)
    assert "started" in json.dumps(sent.items)
    then = session.head
    session.add_response(answered(R, "yes"), to=sent)
    assert session.context_at(then, R).items == sent.items
    session.add_output(one, "late", is_error=True)
    assert session.context_at(then, R).items == sent.items


# --------------------------------------------------------------------------- compactions


def test_where_all_fits_nothing_is_cut() -> None:
    session = Session.in_memory()
    for turn in range(4):
        session.add(user(f"question {turn}"))
        session.add_response(answered(R, "answer"), to=session.context(R))
    assert session.plan_compaction(R, keep_tokens=10**6) is None
    assert session.plan_compaction(R, keep_tokens=1) is not None


def test_a_cut_moves_on_where_nothing_of_what_goes_could_be_sent() -> None:
    session = Session.in_memory()
    session.add_response(answered(C, "so", "c"), to=empty_context(C), interrupted=True)
    session.add(user("x"))
    session.add_response(answered(C, "yes"), to=session.context(C))
    assert session.plan_compaction(C, first_kept=session.entries()[1].id) is None
    plan = session.plan_compaction(C, keep_tokens=8)
    assert plan is not None
    assert plan.summarize.items[0] == user("x")


def empty_context(target: Target) -> Any:
    other = Session.in_memory()
    other.add(user("x"))
    return other.context(target)


def test_a_plan_of_another_session_is_refused() -> None:
    session, other = Session.in_memory(), Session.in_memory()
    for one in (session, other):
        one.add(user("x"))
        one.add_response(answered(C, "yes"), to=one.context(C))
        one.add(user("y"))
    for how in ({"keep_tokens": 0}, {"first_kept": other.head}):
        plan = other.plan_compaction(C, **how)  # type: ignore[arg-type]
        assert plan is not None
        with pytest.raises(EntryNotFoundError):
            session.compact(plan, "summary")
    assert len(session.entries()) == 3


def test_a_second_compaction_of_one_plan_is_told_as_such() -> None:
    session, _ = talked()
    plan = session.plan_compaction(C, keep_tokens=0)
    assert plan is not None
    first = session.compact(plan, "summary")
    with pytest.raises(ConflictError, match=f"the compaction '{first.id}' was added since the plan"):
        session.compact(plan, "summary")


def test_the_size_after_a_compaction_counts_what_the_size_before_counted() -> None:
    session = Session.in_memory()
    session.add(user("question " * 100))
    session.add_response(answered(C, "answer " * 100, usage=9000), to=session.context(C))
    session.add(user("y"), ids=["y"])
    plan = session.plan_compaction(C, first_kept="y")
    assert plan is not None
    compaction = session.compact(plan, "short").compaction
    assert compaction.tokens_before is not None
    assert compaction.tokens_after is not None
    # The system prompt and the tools, which only the provider counted, are still there.
    assert compaction.tokens_before - 500 < compaction.tokens_after < compaction.tokens_before


# ------------------------------------------------------------------------------- windows


@pytest.mark.parametrize("mode", ["shared", "read"])
def test_a_look_at_a_log_that_has_not_changed_reads_nothing(
    tmp_path: Path, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "s.jsonl"
    with Session.create(log) as session:
        session.add(user("x"))
    with Session.open(log, mode=mode) as session:
        session.context(C)
        with monkeypatch.context() as patch:
            for name in ("read", "load", "scan", "details"):
                patch.setattr(JsonlStore, name, lambda *_: pytest.fail("it was read again"))
            assert len(session.entries()) == 1
            session.context(C)
        with Session.open(log, mode="shared") as other:
            (one,) = other.add_response(answered(C, "", "c1"), to=other.context(C)).calls
            assert len(session.entries()) == 2
            with other.call(one) as tool:
                assert [open_call.state for open_call in session.open_calls()] == ["began"]
                tool.output("done")
        assert session.open_calls() == ()


@given(data=st.data())
def test_windows_see_each_other_step_by_step(data: st.DataObject, tmp_path_factory: Any) -> None:
    log = tmp_path_factory.mktemp("windows") / "s.jsonl"
    Session.create(log).close()
    windows = [Session.open(log, mode=mode, durability="os") for mode in ("shared", "shared", "read")]
    said_: list[str] = []
    for step in range(data.draw(st.integers(1, 8))):
        writer = windows[data.draw(st.integers(0, 1))]
        writer.add(user(str(step)))
        said_.append(str(step))
        looker = windows[data.draw(st.integers(0, 2))]
        assert texts(looker) == said_
    for window in windows:
        window.close()


def test_an_output_in_one_window_does_not_answer_a_newer_call_of_another(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    with Session.create(log) as session:
        session.add(user("x"))
        session.add_response(answered(C, "", "c1"), to=session.context(C))
    one, two = (Session.open(log, mode="shared") for _ in range(2))
    (mine,) = one.open_calls()
    (theirs,) = two.open_calls()
    two.add_output(theirs, "of the first")
    two.add_response(answered(C, "", "c1"), to=two.context(C))
    with pytest.raises(LateOutputError):
        one.add_output(mine, "late", is_error=True)
    assert [waiting.entry for waiting in two.open_calls()] != [mine.entry]
    assert len(two.open_calls()) == 1
    one.close()
    two.close()


def test_a_log_that_was_salvaged_is_read_anew(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    with Session.create(log) as session:
        for number in range(4):
            session.add(user(str(number)), ids=[f"m{number}"])
    with Session.open(log, mode="shared") as session, Session.open(log, mode="read") as viewer:
        assert len(viewer.entries()) == 4
        lines = log.read_bytes().splitlines(keepends=True)
        lines[2] = b"{broken}\n"
        log.write_bytes(b"".join(lines))
        JsonlStore(log).salvage(apply=True)
        with pytest.raises(EntryNotFoundError):
            session.plan_compaction(C, first_kept="m1")
        assert texts(session) == texts(viewer) == ["0", "2", "3"]


def test_two_windows_publish_a_stand_in_once(tmp_path: Path) -> None:
    log = tmp_path / "s.jsonl"
    with Session.create(log) as session:
        session.add(user("x"))
        session.add_response(answered(C, "", "c1"), to=session.context(C))
        session.add(user("y"))
    one, two = (Session.open(log, mode="shared") for _ in range(2))
    first, second = one.context(C), two.context(C)
    assert len(one.add_response(answered(C, "a"), to=first).stand_ins) == 1
    assert two.add_response(answered(C, "b"), to=second).stand_ins == ()
    one.close()
    two.close()


def test_an_output_that_is_an_object_is_told_as_what_it_is() -> None:
    session = Session.in_memory()
    session.add(user("x"))
    (one,) = session.add_response(answered(A, "", "c1"), to=session.context(A)).calls
    session.add_output(one, {"a": 1})
    (change,) = session.context(A).changes
    assert change.rule == "output-content"
    assert session.context(A).items[-1]["content"][0]["content"] == '{"a": 1}'
