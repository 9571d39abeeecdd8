"""The page about contexts shows what is done, and every situation on it comes out acceptable."""

from __future__ import annotations

import json

import pytest
from case_contexts import rules
from gemini_rules import problems
from situations import PAGE, SITUATIONS, Situation, page
from test_cases import folder

from transcript_log.apis import check_items

DIALECTS = {"openai-responses": "responses", "openai-chat": "chat", "anthropic-messages": "anthropic"}
"""What the independent checker calls the APIs that it knows."""


@pytest.mark.parametrize("situation", [pytest.param(one, id=one.title) for one in SITUATIONS])
def test_a_situation_comes_out_acceptable(situation: Situation) -> None:
    context = situation.context()
    found = check_items(context.items, situation.target, paused=context.paused)
    assert [finding for finding in found if finding.severity != "note"] == []
    json.dumps(context.items, ensure_ascii=False).encode()
    if situation.target.api == "gemini":
        assert problems(context.items) == []
    elif not context.paused:
        assert rules(folder()).problems(DIALECTS[situation.target.api], context.items) == []


def test_the_page_is_what_the_code_does() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "run: python tests/situations.py"
