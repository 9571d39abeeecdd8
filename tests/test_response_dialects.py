"""Answers of DeepSeek and Mistral: read as they come, and sent back as they came."""

from __future__ import annotations

from typing import Any, Final

import pytest

from transcript_log.context import build_context
from transcript_log.entries import new_message
from transcript_log.families import Target
from transcript_log.response import FinishReason, Usage, parse_response

Item = dict[str, Any]

THINKING: Final = {
    "type": "thinking",
    "thinking": [{"type": "text", "text": "First "}, {"type": "text", "text": "this."}],
}
SO: Final = {"type": "text", "text": "So."}
CALL: Final = {
    "id": "D681PevKs",
    "type": "function",
    "function": {"name": "shell", "arguments": '{"a": 1}'},
    "index": 0,
}
MISTRAL: Final = Target("mistral-chat", "m-1")
DEEPSEEK: Final = Target("deepseek-chat", "deepseek-v4-pro")


def answer(message: Item, finish: str = "stop", **usage: Any) -> Item:
    """An answer as both have it."""
    return {
        "id": "b5a9",
        "object": "chat.completion",
        "created": 1777000000,
        "model": "m-1-dated",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 30, "total_tokens": 42, **usage},
    }


def test_what_a_mistral_model_thought_is_reasoning_and_no_text() -> None:
    raw = answer({"content": [THINKING, SO], "tool_calls": None, "prefix": False})
    read = parse_response(raw)
    assert (read.text, read.reasoning) == ("So.", "First this.")
    assert read.usage == Usage(input=12, output=30, total=42)
    assert read.finish_reason is FinishReason.STOP
    assert not read.is_empty
    assert read.tool_calls == ()


def test_an_answer_of_thoughts_alone_is_one_and_blank_thoughts_are_none() -> None:
    assert not parse_response(answer({"content": [THINKING]}, "length")).is_empty
    only = parse_response(answer({"content": [THINKING]}))
    assert (only.text, only.reasoning, only.is_empty) == (None, "First this.", False)
    assert parse_response(answer({"content": [{"type": "thinking", "thinking": []}]})).is_empty


def test_calls_beside_thoughts_are_read_and_references_are_no_text() -> None:
    said = [THINKING, {"type": "text", "text": "See "}, {"type": "reference", "reference_ids": [1, "a"]}]
    read = parse_response(
        answer({"content": said, "tool_calls": [CALL]}, "tool_calls", prompt_audio_seconds=None)
    )
    assert (read.text, read.reasoning) == ("See ", "First this.")
    (call,) = read.tool_calls
    assert (call.id, call.name, call.arguments, call.is_runnable) == ("D681PevKs", "shell", {"a": 1}, True)
    assert read.finish_reason is FinishReason.TOOL_USE


def test_the_limit_of_the_context_has_a_word_of_its_own() -> None:
    read = parse_response(answer({"content": "a"}, "model_length"))
    assert read.finish_reason is FinishReason.CONTEXT_WINDOW_EXCEEDED


MESSAGES: Final[list[tuple[Target, Item]]] = [
    (
        Target("mistral-chat", "m-1"),
        {"content": [THINKING, SO], "tool_calls": None},
    ),
    (MISTRAL, {"content": [THINKING], "tool_calls": [CALL], "prefix": False}),
    (MISTRAL, {"content": "", "tool_calls": [CALL]}),
    (DEEPSEEK, {"content": "So.", "reasoning_content": "First this."}),
    (
        Target("deepseek-chat", "deepseek-v4-pro"),
        {"content": "", "reasoning_content": "", "tool_calls": [CALL]},
    ),
]


@pytest.mark.parametrize(("target", "message"), MESSAGES)
def test_an_answer_goes_back_as_the_very_object_it_came_as(target: Target, message: Item) -> None:
    read = parse_response(answer(message))
    assert read.replay_blocks is not None
    (said,) = read.replay_blocks.data
    assert isinstance(said, dict)
    entries = [new_message({"role": "user", "content": "go"}), new_message(said, family=target.family)]
    for call in read.tool_calls:
        entries.append(new_message({"role": "tool", "tool_call_id": call.id, "content": "out"}))
    if not read.tool_calls:
        entries.append(new_message({"role": "user", "content": "and?"}))
    context = build_context(entries, target)
    assert context.items[1] is said
    assert context.changes == ()


def test_what_deepseek_counts_of_its_cache_is_a_part_of_the_input() -> None:
    raw = answer({"content": "a"}, prompt_cache_hit_tokens=8, prompt_cache_miss_tokens=4)
    assert parse_response(raw).usage == Usage(input=4, cache_read=8, output=30, total=42)
