"""What the cases say of usages and responses, as checks of one that was read."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any, Final

from case_contexts import APIS

from transcript_log.context import build_context
from transcript_log.entries import new_message
from transcript_log.errors import TranscriptError
from transcript_log.families import Target
from transcript_log.response import ChatResponse, FinishReason, Usage, parse_response

__all__ = ["RESPONSE_OPERATIONS", "ResponseChecks"]

RESPONSE_OPERATIONS: Final = ("normalize_usage", "normalize_response")
_APIS: Final = (
    (r"responses|codex", "openai-responses"),
    (r"anthropic|claude", "anthropic-messages"),
    (r"gemini|google|vertex", "google-gemini"),
    (r"chat|deepseek|openrouter|moonshot|kimi|glm|zai|mistral|xai|grok|litellm|vllm|compat", "openai-chat"),
)
_BUCKETS: Final = {
    "input_uncached": "input",
    "uncached": "input",
    "cache_read": "cache_read",
    "cache_write": "cache_write",
    "output": "output",
    "reasoning": "reasoning",
    "total": "total",
    "input_total": "all_input",
    "input_inclusive": "all_input",
    "full_input": "all_input",
}
_REASONS: Final = {
    "tool_calls": FinishReason.TOOL_USE,
    "tools": FinishReason.TOOL_USE,
    "length": FinishReason.MAX_TOKENS,
    "max_output_tokens": FinishReason.MAX_TOKENS,
    "end_turn": FinishReason.STOP,
    "completed": FinishReason.STOP,
    "pause_turn": FinishReason.PAUSE,
    "failed": FinishReason.ERROR,
    **{reason.value: reason for reason in FinishReason},
}


def api_of(word: str | None) -> str | None:
    """The API that a word for a provider stands for; None where the names in the usage must tell."""
    return next((api for words, api in _APIS if re.search(words, word or "", re.IGNORECASE)), None)


class ResponseChecks:
    """One usage, or one response, held against the words of an expectation."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.usage: Usage | None = None
        self.response: ChatResponse | None = None
        self.error: TranscriptError | None = None
        before = copy.deepcopy(dict(given))
        try:
            if "response" in given:
                self.response = parse_response(given["response"], headers=given.get("headers"))
                self.usage = self.response.usage
            else:
                self.usage = Usage.from_raw(
                    given["usage"], api_of(given.get("provider") or given.get("dialect"))
                )
        except TranscriptError as error:
            self.error = error
        assert given == before

    @property
    def read(self) -> ChatResponse:
        assert self.response is not None, repr(self.error)
        return self.response

    # ------------------------------------------------------------------------- usage

    def bucket(self, name: str, value: int) -> None:
        assert self.usage is not None
        assert getattr(self.usage, _BUCKETS[name]) == value, self.usage

    def expect_usage(self, value: Any) -> None:
        assert (self.usage is None) == (value is None)
        for name, number in (value or {}).items():
            self.bucket(name, number)

    def expect_usage_total(self, value: int) -> None:
        self.bucket("total", value)

    def expect_input_uncached(self, value: int) -> None:
        self.bucket("input_uncached", value)

    def expect_cache_read(self, value: int) -> None:
        self.bucket("cache_read", value)

    def expect_cache_write(self, value: int) -> None:
        self.bucket("cache_write", value)

    def expect_output(self, value: int) -> None:
        self.bucket("output", value)

    def expect_reasoning(self, value: Any) -> None:
        """Tokens of a usage; the text of a response."""
        if self.response is None:
            self.bucket("reasoning", value)
        else:
            assert self.read.reasoning == value

    def expect_total(self, value: int) -> None:
        self.bucket("total", value)

    def expect_input_total(self, value: int) -> None:
        self.bucket("input_total", value)

    expect_input_inclusive = expect_full_input = expect_input_total

    # ---------------------------------------------------------------------- response

    def expect_finish(self, words: str) -> None:
        """``a or b`` is one of the two; ``the raw word`` need not be kept as the reason itself."""
        assert self.read.finish_reason in {
            _REASONS[word.strip()] for word in re.split(r"\s+or\s+", words) if "raw word" not in word
        }

    expect_finish_reason = expect_stop_reason = expect_finish

    def expect_raw_stop_reason(self, word: str) -> None:
        assert self.read.raw_finish_reason == word

    expect_raw_finish_reason = expect_raw_stop_reason

    def expect_text(self, text: str | None) -> None:
        assert self.read.text == text

    def expect_is_error(self, value: bool) -> None:
        assert (self.read.finish_reason is FinishReason.ERROR) == value

    def expect_is_empty(self, value: bool) -> None:
        assert self.read.is_empty == value

    def expect_is_paused(self, value: bool) -> None:
        assert self.read.is_paused == value

    expect_paused = expect_is_pause = expect_is_paused

    def expect_resumable(self, value: bool) -> None:
        assert self.read.can_resume_pause() == value

    expect_turn_continues = expect_can_resume = expect_resumable

    def expect_tool_calls(self, calls: list[Any]) -> None:
        assert len(self.read.tool_calls) == len(calls)
        for call, wanted in zip(self.read.tool_calls, calls, strict=True):
            for name, value in ({"id": wanted} if isinstance(wanted, str) else wanted).items():
                assert getattr(call, name) == value

    def expect_call_ids(self, ids: list[str]) -> None:
        assert [call.id for call in self.read.tool_calls] == ids

    def expect_tool_calls_runnable(self, value: bool) -> None:
        assert {call.is_runnable for call in self.read.tool_calls} == {value}

    def expect_runnable_call_ids(self, ids: list[str]) -> None:
        assert [call.id for call in self.read.tool_calls if call.is_runnable] == ids

    expect_runnable_calls = expect_runnable_call_ids

    def expect_next_context_has_empty_assistant(self, value: bool) -> None:
        blocks = self.read.replay_blocks
        target = Target(APIS[self.given["dialect"]], "m-1")
        items = [
            {"role": "user", "content": "hello"},
            *(() if blocks is None else blocks.data),
            {"role": "user", "content": "go on"},
        ]
        context = build_context([new_message(item, family=target.family) for item in items], target)
        said = [item for item in context.items if item.get("role") == "assistant"]
        empty = [item for item in said if not item.get("content") and not item.get("tool_calls")]
        assert bool(empty) == value
