"""What stands beside the conversation of a session: runs, attachments, forks, followers; and its laws."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from recorded_responses import chat, message, responses
from situations import call, said, sealed, user

from transcript_log import ContextAttachment, RunEntry, Session, StorageError, Target
from transcript_log.apis import check_items
from transcript_log.entries import ContextEntry, ForkOrigin, Item
from transcript_log.errors import EntryNotFoundError
from transcript_log.memory import MemoryStore
from transcript_log.store import Store

R: Final = Target("openai-responses", "gpt-5.4")
C: Final = Target("openai-chat", "glm-5")
A: Final = Target("anthropic-messages", "claude-opus-4-8")
NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
NUMBERS: Final = count(1)


# -------------------------------------------------------------------------------- runs


def last_run(session: Session) -> RunEntry:
    entry = session.entries()[-1]
    assert isinstance(entry, RunEntry)
    return entry


def test_a_run_tells_what_it_added_first_and_how_it_ended() -> None:
    ticks = count()
    session = Session.in_memory(clock=lambda: NOON + timedelta(seconds=next(ticks)))
    session.add(user("before"))
    with session.run():
        first, _ = session.add(user("x"), user("y"))
        session.add(user("z"))
    run = last_run(session).run
    assert (run.first_entry_id, run.status) == (first.id, "completed")
    assert run.started_at < run.completed_at
    with session.run() as recorder:
        recorder.status = "cancelled"
    run = last_run(session).run
    assert (run.first_entry_id, run.status) == (None, "cancelled")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("x"), "failed"),
        (KeyboardInterrupt(), "cancelled"),
        (asyncio.CancelledError(), "cancelled"),
    ],
)
def test_a_run_that_raises_is_on_record_and_its_error_goes_on(error: BaseException, status: str) -> None:
    session = Session.in_memory()
    with pytest.raises(type(error)) as caught, session.run():
        raise error
    assert caught.value is error
    assert last_run(session).run.status == status


def test_a_run_never_hides_the_bodys_own_error() -> None:
    session = Session.in_memory()
    with pytest.raises(ValueError, match="mine") as caught, session.run():
        raise session.close() or ValueError("mine")
    assert any("could not record" in note for note in caught.value.__notes__)
    session = Session.in_memory()
    with pytest.raises(StorageError), session.run():
        session.close()


def test_a_clock_that_goes_back_does_not_end_a_run_before_it_starts() -> None:
    times = iter([NOON, NOON, NOON - timedelta(hours=1), NOON])
    session = Session.in_memory(clock=lambda: next(times))
    with session.run():
        pass
    run = last_run(session).run
    assert run.started_at == run.completed_at == NOON


# ------------------------------------------------------------------------- attachments


def rules(words: str, **more: Any) -> ContextAttachment:
    made = {"attachment_id": "a", "epoch": 7, "kind": "rules", "placement": "prefix", "revision": "1"}
    return ContextAttachment(**{**made, "rendered": words, **more})


def test_a_new_session_starts_the_next_epoch_when_it_attaches(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Session.create(path) as session:
        first = session.attach(rules("be brief"))
        second = session.attach(rules("the date", kind="date"))
        assert first.context.epoch == second.context.epoch == 1
        session.add(user("x"))
        assert session.context(R, attachments=True).items == [user("be brief"), user("the date"), user("x")]
        assert session.context(R).items == [user("x")]
    with Session.open(path) as session:
        assert len(session.context(R, attachments=True).items) == 3
        assert session.attach(rules("be long")).context.epoch == 2
        assert session.context(R, attachments=True).items == [user("be long"), user("x")]


# ------------------------------------------------------------------------------- forks


def test_a_fork_goes_its_own_way_from_where_it_was_made(tmp_path: Path) -> None:
    with Session.create(tmp_path / "s.jsonl", cwd="/src") as session:
        session.add(user("x"))
        recorded = session.add_response(asked(R, "c1"), to=session.context(R), request={"a": 1})
        with session.call(recorded.calls[0]) as tool:
            tool.output("done")
        session.add(user("not in the fork"))
        at = session.entries()[-2].id
        there = session.context_at(at, R).items
        with session.fork(tmp_path / "f.jsonl", at=at) as fork:
            assert fork.entries() == session.entries()[:-1]
            assert fork.context(R).items == there
            assert fork.store.details() == session.store.details()
            header, mine = fork.store.header(), session.store.header()
            assert header is not None
            assert mine is not None
            assert header.forked_from == ForkOrigin(str(mine.id), at)
            assert header.id != mine.id
            assert header.cwd == "/src"
            fork.add(user("in the fork alone"))
            assert len(session.entries()) == 5
    with Session.open(tmp_path / "f.jsonl") as fork:
        assert fork.context(R).items == [*there, user("in the fork alone")]


@pytest.mark.parametrize("is_file", [True, False])
def test_a_fork_does_not_know_how_calls_ended_that_were_answered_later(tmp_path: Path, is_file: bool) -> None:
    session = Session.create(tmp_path / "s.jsonl") if is_file else Session.in_memory()
    session.add(user("x"))
    one, two = session.add_response(asked(R, "c1", "c2"), to=session.context(R)).calls
    with session.call(one) as tool:
        tool.output("done")
    at = session.head
    with session.call(two) as tool:
        tool.output("done too")
    with session.fork(tmp_path / "f.jsonl", at=at) as fork:
        (waiting,) = fork.open_calls()
        assert waiting.call == two
        assert waiting.outcome is None
        assert waiting.has_begun is is_file  # a store in memory has the last record alone
        assert fork.store.details()["c1", str(one.entry)]["data"]["status"] == "success"
    with session.fork(tmp_path / "all.jsonl") as fork:
        assert fork.store.details() == session.store.details()
    session.close()


def test_a_fork_knows_how_a_call_ended_whose_id_came_again_later(tmp_path: Path) -> None:
    with Session.create(tmp_path / "s.jsonl") as session:
        session.add(user("x"))
        ends = []
        for _ in range(2):
            (one,) = session.add_response(asked(R, "c1"), to=session.context(R)).calls
            with session.call(one) as tool:
                tool.output("done")
            ends.append((session.head, str(one.entry)))
            session.add(user("again"))
        (at, holder), _ = ends
        with session.fork(tmp_path / "f.jsonl", at=at) as fork:
            assert fork.store.details()["c1", holder]["data"]["status"] == "success"


def test_a_fork_takes_no_details_of_what_it_leaves(tmp_path: Path) -> None:
    session = Session.in_memory()
    (first,) = session.add(user("x"))
    for one in session.add_response(asked(R, "c1"), to=session.context(R)).calls:
        with session.call(one) as tool:
            tool.output("done")
    with session.fork(tmp_path / "f.jsonl", at=first.id) as fork:
        assert fork.store.details() == {}


def test_a_fork_of_all_of_nothing_and_at_no_entry(tmp_path: Path) -> None:
    session = Session.in_memory()
    with session.fork(tmp_path / "empty.jsonl") as fork:
        assert fork.entries() == ()
    session.add(user("x"))
    with session.fork(tmp_path / "all.jsonl") as fork:
        assert fork.entries() == session.entries()
    with pytest.raises(EntryNotFoundError):
        session.fork(tmp_path / "no.jsonl", at="nope")
    assert not (tmp_path / "no.jsonl").exists()
    with pytest.raises(StorageError):
        session.fork(tmp_path / "all.jsonl")


# --------------------------------------------------------------------------- following


def test_a_viewer_follows_whole_batches(tmp_path: Path) -> None:
    with Session.create(tmp_path / "s.jsonl") as session:
        session.add(user("x"), user("y"))
        with Session.open(tmp_path / "s.jsonl", mode="read") as viewer:
            batches = viewer.follow()
            assert len(next(batches)) == 2
            (entry,) = session.add(user("z"))
            assert next(batches) == (entry,)
            assert next(viewer.follow(after=session.entries()[0].id))[0].id == session.entries()[1].id


# -------------------------------------------------------------------------------- laws


def asked(target: Target, *ids: str, text: str = "") -> dict[str, Any]:
    """An answer with words and calls, as the target's API gives it."""
    if target is R:
        return responses([sealed(next(NUMBERS)), *([said(text)] if text else []), *(call(i) for i in ids)])
    if target is A:
        blocks: list[Any] = [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]
        blocks += [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": one, "name": "bash", "input": {}} for one in ids]
        return message(blocks, "tool_use" if ids else "end_turn")
    listed = [{"id": i, "type": "function", "function": {"name": "b", "arguments": "{}"}} for i in ids]
    made: dict[str, Any] = {"role": "assistant", "content": text or None, "reasoning_content": "Hm."}
    return chat({**made, "tool_calls": listed} if ids else made, "tool_calls" if ids else "stop")


STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(["user", "answer", "call", "output", "run", "reopen", "start"]), st.integers(0, 5)
    ),
    max_size=25,
)
TARGETS: Final = (R, C, A)


class Told:
    """What models were sent, and whether later contexts still begin with it."""

    def __init__(self) -> None:
        self.sent: dict[str, list[str]] = {}

    def look(self, session: Session, target: Target) -> None:
        """The context is acceptable, and begins with what was answered before."""
        context = session.context(target)
        assert not [found for found in check_items(context.items, target) if found.severity != "note"]
        now = [json.dumps(item) for item in context.items]
        before = self.sent.get(target.api, [])
        assert now[: len(before)] == before, (before, now)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.api)
@pytest.mark.parametrize("others", [(), TARGETS], ids=["one", "many"])
@settings(deadline=None)
@given(steps=STEPS)
@example(steps=[("call", 1), ("output", 1), ("answer", 0)])
@example(steps=[("call", 1), ("answer", 0)])
@example(steps=[("call", 1), ("answer", 2)])
def test_whatever_happens_the_context_is_acceptable_and_grows_at_its_end(
    target: Target, others: tuple[Target, ...], steps: list[tuple[str, int]]
) -> None:
    store: Store = MemoryStore()
    session = Session(store, mode="exclusive")
    told = Told()
    session.add(user("start"))
    calls = count(1)
    begun = []  # held, so that none of them is ended
    for number, (step, choice) in enumerate(steps):
        maker = others[choice % 3] if others else target
        match step:
            case "user":
                session.add(user(f"u{number}"))
            case "answer" | "call":
                ids = [f"call_{next(calls)}" for _ in range(choice % 3 + 1)] if step == "call" else []
                sent = session.context(maker)
                words = f"a{number}" if step == "answer" or choice % 2 else ""
                session.add_response(asked(maker, *ids, text=words), to=sent)
                told.sent[maker.api] = [json.dumps(item) for item in sent.items]
            case "output" | "run":
                if waiting := session.open_calls():
                    one = waiting[choice % len(waiting)].call
                    if step == "output":
                        session.add_output(one, f"o{number}")
                    else:
                        with session.call(one) as tool:
                            tool.output(f"o{number}", is_error=bool(choice % 2))
            case "start":  # and never heard of again
                if waiting := session.open_calls():
                    begun.append(session.call(waiting[choice % len(waiting)].call))
                    begun[-1].__enter__()
            case _:
                session.close()
                session = Session(store, mode="exclusive")
        for one_target in others or (target,):
            told.look(session, one_target)
    ids_there = [entry.id for entry in store.load()]
    assert len(set(ids_there)) == len(ids_there)


def test_an_output_that_comes_after_the_next_question_moves_up_only_until_it_is_answered() -> None:
    session = Session.in_memory()
    session.add(user("do"))
    (one,) = session.add_response(asked(R, "c1"), to=session.context(R)).calls
    session.add(user("and?"))
    session.add_output(one, "done")
    sent = session.context(R)
    assert not sent.stand_ins
    assert sent.items[-1] == user("and?")
    items: list[Item] = sent.items
    session.add_response(asked(R, text="yes"), to=sent)
    assert session.context(R).items[: len(items)] == items


def test_what_is_attached_is_an_entry_of_its_own() -> None:
    session = Session.in_memory()
    entry = session.attach(rules("x"))
    assert isinstance(entry, ContextEntry)
    assert session.entries() == (entry,)
    assert session.head == entry.id
