"""Taking items of a conversation back by what is appended."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import (
    CompactionEntry,
    ConflictError,
    ContextError,
    FamilyRequiredError,
    JsonlStore,
    MessageEntry,
    Session,
    StorageError,
    Target,
    build_context,
)
from transcript_log.boundary import NOTHING, kept_items
from transcript_log.cli import main as command
from transcript_log.context import SUMMARY_PREFIX, SUMMARY_SUFFIX
from transcript_log.memory import MemoryStore

Item = dict[str, Any]

RESPONSES = Target("openai-responses", "gpt-5")
OTHER = Target("openai-responses", "o9")
ANTHROPIC = Target("anthropic-messages", "claude-opus-5")


def user(text: str) -> Item:
    return {"role": "user", "content": text}


def reasoning(text: str) -> Item:
    return {"type": "reasoning", "summary": [], "encrypted_content": text}


def said(text: str) -> Item:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def pop(held: tuple[Any, ...]) -> Sequence[Any]:
    return held[:-1]


def clear(_: tuple[Any, ...]) -> Sequence[Any]:
    return ()


CHANGES: dict[str, Callable[[tuple[Any, ...]], Sequence[Any]]] = {
    "pop": pop,
    "clear": clear,
    "drop first": lambda held: held[1:],
    "swap": lambda held: held[::-1],
    "put first": lambda held: [user("new"), *held],
    "put last": lambda held: [*held, user("new")],
    "keep": lambda held: held,
}


@given(st.lists(st.sampled_from([*CHANGES, "add", "add", "add the empty one"]), max_size=12))
def test_every_reading_of_the_log_sees_what_a_plain_list_would_hold(steps: list[str]) -> None:
    store = MemoryStore()
    session = Session(store)
    model: list[Any] = []
    for number, step in enumerate(steps):
        if step.startswith("add"):
            item = dict(NOTHING) if step == "add the empty one" else user(str(number))
            session.add(item)
            model.append(item)
        else:
            stays = step == "keep" or len(model) <= (step == "swap")
            entry = session.revise(CHANGES[step])
            assert (entry is None) == (stays and not step.startswith("put"))
            model = list(CHANGES[step](tuple(model)))
        assert list(session.items()) == model
        assert kept_items(store.load()) == model
        assert build_context(store.load()).items == model
        assert build_context(store.active()).items == model
    assert [e.message for e in store.load() if isinstance(e, MessageEntry)].count(
        dict(NOTHING)
    ) == steps.count("add the empty one")
    again = Session(store)
    assert list(again.items()) == model


def test_what_stays_at_the_end_is_not_written_again() -> None:
    session = Session.in_memory()
    first, second, third = session.add(user("one"), user("two"), user("three"))
    entry = session.revise(lambda held: held[1:])
    assert entry is not None
    assert entry.compaction.replacement == (NOTHING,)
    assert entry.compaction.first_kept_entry_id == second.id
    assert session.items() == (second.message, third.message)
    assert session.items()[0] is second.message
    assert first.message in [e.message for e in session.entries() if isinstance(e, MessageEntry)]


def test_a_conversation_that_was_emptied_comes_back_for_nobody() -> None:
    session = Session.in_memory()
    session.add(user("old"))
    session.revise(clear)
    assert session.items() == ()
    assert [type(entry) for entry in session.store.active()] == [CompactionEntry]
    for target in (RESPONSES, ANTHROPIC):
        with pytest.raises(ContextError, match="nothing to send"):
            session.context(target)
    session.add(user("new"))
    context = session.context(ANTHROPIC)
    assert context.items == [user("new")]
    assert context.changes == ()


def test_what_a_target_cannot_read_does_not_bring_back_what_was_taken_back() -> None:
    session = Session.in_memory()
    session.add(reasoning("x"), user("old"), target=RESPONSES)
    session.revise(pop)
    assert session.items() == (reasoning("x"),)
    session.add(user("new"))
    context = session.context(OTHER)
    assert context.items == [user("new")]
    assert [(change.kind, change.rule) for change in context.changes] == [("left-out", "private")]
    assert session.context(RESPONSES).items[-1] == user("new")


def test_what_is_private_keeps_its_family_where_it_has_one() -> None:
    session = Session.in_memory()
    session.add(user("q"))
    session.add(reasoning("x"), said("a"), target=RESPONSES)
    session.add(user("oops"))
    entry = session.revise(pop)
    assert entry is not None
    assert entry.compaction.family == RESPONSES.family
    assert reasoning("x") in session.context(RESPONSES).items
    assert reasoning("x") not in session.context(OTHER).items
    session.revise(pop)
    newest = session.entries()[-1]
    assert isinstance(newest, CompactionEntry)
    assert newest.compaction.family == RESPONSES.family


def test_what_several_families_have_made_is_sent_to_none_of_them() -> None:
    session = Session.in_memory()
    items = [reasoning("x"), said("a"), reasoning("y"), said("b")]
    session.add(*items[:2], target=RESPONSES)
    session.add(*items[2:], user("oops"), target=OTHER)
    entry = session.revise(pop)
    assert entry is not None
    assert entry.compaction.family is None
    assert list(session.items()) == items
    for target in (RESPONSES, OTHER):
        assert [item["type"] for item in session.context(target).items] == ["message", "message"]


def test_a_new_private_item_needs_a_target() -> None:
    session = Session.in_memory()
    session.add(user("q"))
    with pytest.raises(FamilyRequiredError):
        session.revise(lambda held: [*held, reasoning("x")])
    entry = session.revise(lambda held: [*held, reasoning("x")], target=RESPONSES)
    assert entry is not None
    assert entry.compaction.family == RESPONSES.family


def test_a_summary_is_a_message_and_what_was_broken_off_is_none() -> None:
    session = Session.in_memory()
    session.add(user("q"), said("a"), user("r"))
    plan = session.plan_compaction(RESPONSES, keep_tokens=1)
    assert plan is not None
    session.compact(plan, "They talked.")
    context = session.context(RESPONSES)
    assert list(session.items()) == context.items
    assert session.items()[0] == user(f"{SUMMARY_PREFIX}They talked.{SUMMARY_SUFFIX}")
    session.add_response(
        {"object": "response", "model": "gpt-5", "output": [said("brok")], "status": "incomplete"},
        to=context,
        interrupted=True,
    )
    assert list(session.items()) == context.items
    held = session.items()
    session.revise(pop)
    assert session.items() == held[:-1]


def test_what_others_add_in_between_is_not_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with (
        Session.open(path, mode="shared", create=True) as one,
        Session.open(path, mode="shared") as two,
    ):
        one.add(user("a"), user("b"))
        seen: list[int] = []

        def slowly(held: tuple[Any, ...]) -> Sequence[Any]:
            seen.append(len(held))
            if len(seen) == 1:
                two.add(user("c"))
            return held[:-1]

        one.revise(slowly)
        assert seen == [2, 3]
        assert list(one.items()) == list(two.items()) == [user("a"), user("b")]


@pytest.fixture
def failed_once(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has the next sync fail, and no other."""
    real, refusals = os.fdatasync, list[OSError]()

    def sync(fd: int) -> None:
        if refusals:
            raise refusals.pop()
        real(fd)

    monkeypatch.setattr("os.fdatasync", sync)
    return lambda: refusals.append(OSError(28, "full"))


def test_a_revision_that_failed_can_be_written_later(tmp_path: Path, failed_once: Callable[[], None]) -> None:
    with Session.create(tmp_path / "s.jsonl") as session:
        session.add(user("a"), user("b"))
        failed_once()
        with pytest.raises(StorageError) as failed:
            session.revise(pop)
        assert len(session.items()) == 2
        session.retry(failed.value)
        session.retry(failed.value)
        assert list(session.items()) == [user("a")]


def test_a_revision_that_failed_is_not_written_behind_what_came_later(
    tmp_path: Path, failed_once: Callable[[], None]
) -> None:
    with Session.create(tmp_path / "s.jsonl") as session:
        session.add(user("a"), user("b"))
        failed_once()
        with pytest.raises(StorageError) as failed:
            session.revise(pop)
        session.add(user("c"))
        with pytest.raises(ConflictError):
            session.retry(failed.value)
        assert list(session.items()) == [user("a"), user("b"), user("c")]


def test_the_commands_show_what_was_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Session.create(path) as session:
        session.add(user("one"), user("two"))
        session.revise(pop)
        session.revise(clear)
        session.add(user("three"))
    run = CliRunner()
    shown = run.invoke(command, ["replay", str(path)])
    assert shown.exit_code == 0, shown.output
    assert "1 item in place of what was before" in shown.output
    assert "nothing in place of what was before" in shown.output
    assert all(word in shown.output for word in ("one", "two", "three"))
    for words in (["check"], ["inspect"], ["context", "--target", "openai-responses/gpt-5"]):
        result = run.invoke(command, [*words, str(path)])
        assert result.exit_code == 0, result.output
    assert "three" in result.output
    assert "one" not in result.output
    assert kept_items(JsonlStore(path).load()) == [user("three")]
