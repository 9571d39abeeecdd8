"""Chat Completions messages of a session: what its context is, a message per line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pytest
from case_contexts import rules
from histories import faulty
from hostile import is_shown, sessions
from hypothesis import given
from test_cases import folder as cases_folder
from test_cli import DETAILS, EVERYTHING, answered, called, message, said

from transcript_log.context import STAND_IN_BEGAN, build_context
from transcript_log.entries import Entry
from transcript_log.errors import ContextError
from transcript_log.exporters import Exported, ExportSource
from transcript_log.exporters.chat_jsonl import export_chat
from transcript_log.families import Target

PROBLEMS: Final = rules(cases_folder()).problems
DETAIL_MAP: Final = {(detail.id, detail.entry): detail.payload for detail in DETAILS}


def exported(*entries: Entry, details: dict[Any, Any] | None = None) -> Exported:
    return export_chat(ExportSource(name="log", entries=entries, details=details or {}))


def messages(made: Exported) -> list[dict[str, Any]]:
    return [json.loads(line) for line in "".join(made.pieces).splitlines()]


def test_a_session_becomes_the_messages_that_a_server_would_be_sent() -> None:
    made = exported(said("u", "user", "go"), called("c", "one"), answered("o", "one", "a.txt"))
    assert messages(made) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "one", "type": "function", "function": {"name": "shell", "arguments": '{"cmd":"ls"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "one", "content": "a.txt"},
    ]
    assert not made.changes


def test_what_cannot_be_said_is_told() -> None:
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    made = exported(said("u", "user", "go"), message("r", sealed), called("c", "four"), details=DETAIL_MAP)
    assert [(change.kind, change.entry) for change in made.changes] == [("added", "c"), ("left-out", "r")]
    assert messages(made)[-1] == {"role": "tool", "tool_call_id": "four", "content": STAND_IN_BEGAN}


def test_reasoning_in_plain_text_of_such_a_server_stays() -> None:
    thought = {"role": "assistant", "content": "a", "reasoning_content": "hm"}
    family = Target("openai-chat", "deepseek-chat").family
    made = exported(said("u", "user", "go"), message("a", thought, family=family))
    assert messages(made)[-1] == thought


def test_after_a_compaction_it_is_what_that_left() -> None:
    first, *rest = messages(exported(*EVERYTHING, details=DETAIL_MAP))
    assert "The gist." in first["content"]
    assert not any("Fix it" in json.dumps(one) for one in rest)


def test_a_session_without_a_message_is_refused() -> None:
    with pytest.raises(ContextError):
        exported()


@given(faulty())
def test_any_history_gives_what_the_rules_accept(entries: Sequence[Entry]) -> None:
    try:
        made = exported(*entries)
    except ContextError:
        return
    items = messages(made)
    assert PROBLEMS("chat", items) == []
    context = build_context(entries, Target("openai-chat", "any"))
    assert items == json.loads(json.dumps(context.items))
    assert list(made.changes) == list(context.changes)


@given(sessions())
def test_nothing_in_a_line_hides(source: ExportSource) -> None:
    text = "".join(export_chat(source).pieces)
    assert is_shown(text)
    assert "\t" not in text
    text.encode("utf-8")
