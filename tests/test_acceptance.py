"""What an API would say of the items as a log has them, and what a context changes for it."""

from __future__ import annotations

from typing import Any

import pytest

from transcript_log.acceptance import ANY_MODEL, check_acceptance, likely_target
from transcript_log.apis import APIS
from transcript_log.context import build_context
from transcript_log.entries import Compaction, CompactionEntry, Entry, MessageEntry, ResponseRecord
from transcript_log.errors import TargetError
from transcript_log.families import Target


def message(entry_id: str, item: dict[str, Any], **more: Any) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=None, message=item, **more)


def user(entry_id: str, text: str = "go") -> MessageEntry:
    return message(entry_id, {"role": "user", "content": text})


def call(entry_id: str, call_id: str) -> MessageEntry:
    item = {"type": "function_call", "call_id": call_id, "name": "shell", "arguments": "{}"}
    return message(entry_id, item)


def compacted(entry_id: str, **fields: Any) -> CompactionEntry:
    return CompactionEntry(id=entry_id, timestamp=None, compaction=Compaction(**fields))


def answered_by(model: str | None) -> MessageEntry:
    item = {"role": "assistant", "content": "done"}
    return message("r", item, response=ResponseRecord(model=model))


def found(entries: list[Entry], api: str = "openai-responses") -> list[tuple[str, str | None, str | None]]:
    return [(f.rule, f.entry, f.call) for f in check_acceptance(entries, api).findings]


def test_items_that_are_right_as_they_are_have_no_findings() -> None:
    plain: list[Entry] = [user("u1"), user("u2")]
    parts: list[Entry] = [message("g", {"role": "user", "parts": [{"text": "hi"}]})]
    for api in APIS:
        told = check_acceptance(parts if api == "gemini" else plain, api)
        assert (told.findings, told.changes) == ((), ())


def test_a_finding_names_the_entry_of_its_item_and_the_call() -> None:
    entries: list[Entry] = [user("u1"), call("c1", "one"), user("u2")]
    told = check_acceptance(entries, "openai-responses")
    assert found(entries) == [("output-missing", "c1", "one")]
    assert told.changes == build_context(entries, told.target).changes
    assert [change.call for change in told.changes] == ["one"]


def test_only_what_the_newest_boundary_leaves_is_looked_at() -> None:
    entries: list[Entry] = [
        user("u1"),
        call("c1", "one"),
        user("u2"),
        compacted("k", summary="the gist", first_kept_entry_id="u2"),
        call("c2", "two"),
        user("u3"),
    ]
    assert found(entries) == [("output-missing", "c2", "two")]


def test_items_in_place_of_others_are_those_of_the_compaction() -> None:
    replacement = ({"role": "user", "content": "first"}, call("x", "one").message)
    entries: list[Entry] = [user("u1"), compacted("k", summary="", replacement=replacement), user("u2")]
    assert found(entries) == [("output-missing", "k", "one")]
    entries.append(compacted("empty", summary=""))
    assert found(entries) == [("output-missing", "k", "one")]


def test_where_the_boundary_is_broken_what_follows_it_is_looked_at() -> None:
    entries: list[Entry] = [
        call("c1", "one"),
        compacted("k", summary="the gist", first_kept_entry_id="nobody"),
        call("c2", "two"),
        compacted("empty", summary=""),
        user("u2"),
    ]
    assert found(entries) == [("output-missing", "c2", "two")]
    rules = [change.rule for change in check_acceptance(entries, "openai-responses").changes]
    assert "first-kept" in rules


def test_that_no_context_can_be_made_is_a_finding_too() -> None:
    assert found([]) == [("empty-input", None, None), ("no-context", None, None)]
    (_, last) = check_acceptance([], "openai-chat").findings
    assert last.message == "no context can be made of it: there is nothing to send"
    assert last.severity == "error"


def test_a_paused_turn_may_end_as_it_does() -> None:
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    answer = message(
        "a", {"role": "assistant", "content": [block]}, response=ResponseRecord(finish_reason="pause")
    )
    assert found([user("u"), answer], "anthropic-messages") == []


def test_the_model_is_the_last_one_that_answered() -> None:
    assert likely_target([], "openai-chat") == Target("openai-chat", ANY_MODEL)
    entries: list[Entry] = [
        answered_by("a/b"),
        answered_by("c/d"),
        answered_by(" "),
        answered_by(None),
        user("u"),
    ]
    assert likely_target(entries, "openai-chat") == Target("openai-chat", "c/d")
    assert check_acceptance(entries, "openai-chat").target.model == "c/d"


def test_an_api_that_is_not_known_is_an_error() -> None:
    with pytest.raises(TargetError, match="known are openai-responses"):
        check_acceptance([user("u")], "openai-telepathy")


def test_every_rule_names_its_item_where_an_entry_can_be_told() -> None:
    """The place stands in the message alone: if its words change, the entries go missing."""
    odd: list[Entry] = [
        message(f"e{n}", item)
        for n, item in enumerate(
            [
                {"role": "martian", "content": ""},
                {"role": "user", "content": []},
                {"role": "assistant", "content": " "},
                {"type": "function_call_output", "call_id": "x", "output": 3},
                {"role": "tool", "tool_call_id": "y", "content": "z"},
                {"role": "user", "content": [{"type": "hologram"}, 4]},
                {"role": "assistant", "content": "\ud800", "tool_calls": [{"id": "", "type": "function"}]},
            ]
        )
    ]
    for api in APIS:
        findings = check_acceptance(odd, api).findings
        assert findings
        assert all(finding.entry for finding in findings if finding.rule not in ("empty-input", "no-context"))
