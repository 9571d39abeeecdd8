"""Responses of models: what is read of the answers of four APIs, and what follows from it."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_responses import RECORDED, Recorded, chat, gemini, message, responses
from strategies import json_values

from transcript_log.entries import RecordedUsage
from transcript_log.errors import TranscriptError
from transcript_log.response import (
    ChatResponse,
    FinishReason,
    ModelResponse,
    RateLimit,
    ReplayBlocks,
    ResponseError,
    ToolCall,
    Usage,
    extract_reasoning,
    make_response,
    normalize_finish_reason,
    normalize_usage,
    parse_rate_limit,
    parse_response,
)
from transcript_log.response.usage import ANTHROPIC, recorded_anthropic

APIS: Final = ["openai-responses", "openai-chat", "anthropic-messages", "google-gemini"]


def buckets(usage: Usage | None) -> tuple[int, ...]:
    assert usage is not None
    return (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)


def adds_up(usage: Usage) -> bool:
    return usage.input + usage.cache_read + usage.cache_write + usage.output == usage.total


# ------------------------------------------------------------------------------- usage


@pytest.mark.parametrize("recorded", [pytest.param(one, id=one.name) for one in RECORDED])
class TestRecordedAnswers:
    def test_the_buckets_add_up_to_the_total_of_the_provider(self, recorded: Recorded) -> None:
        usage = parse_response(recorded.raw).usage
        assert usage is not None
        assert buckets(usage) == recorded.buckets
        assert usage.total == recorded.total
        assert adds_up(usage)
        assert not usage.input_unknown

    def test_the_names_tell_the_api_where_nobody_does(self, recorded: Recorded) -> None:
        raw = recorded.raw.get("usage") or recorded.raw.get("usageMetadata")
        assert Usage.from_raw(raw) == Usage.from_raw(raw, recorded.api) == parse_response(recorded.raw).usage

    def test_the_facts_of_a_response_are_those_of_its_usage(self, recorded: Recorded) -> None:
        response = parse_response(recorded.raw)
        assert response.total_tokens == recorded.total
        assert response.input_tokens == sum(recorded.buckets[:3])
        assert response.output_tokens == recorded.buckets[3]
        assert response.counts is None

    def test_the_answer_is_read_whole(self, recorded: Recorded) -> None:
        before = copy.deepcopy(recorded.raw)
        response = parse_response(recorded.raw)
        assert response.text == "Hello!"
        assert response.finish_reason is FinishReason.STOP
        assert response.stopped_normally
        assert not response.is_empty
        assert response.id == (recorded.raw.get("id") or recorded.raw["responseId"])
        assert response.model == (recorded.raw.get("model") or recorded.raw["modelVersion"])
        assert response.replay_blocks is not None
        assert response.replay_blocks.format == recorded.api
        assert response.raw is recorded.raw
        assert recorded.raw == before


def test_a_usage_is_recorded_in_the_same_buckets() -> None:
    usage = Usage(input=1, cache_read=2, cache_write=3, output=4, reasoning=4, total=10)
    assert usage.recorded() == RecordedUsage(input=1, cache_read=2, cache_write=3, output=4, total_tokens=10)
    assert Usage(total=9, input_unknown=True).recorded().input_unknown
    assert usage.all_input == 6


@pytest.mark.parametrize("raw", [None, False, True, 5, "usage", []])
def test_a_usage_that_is_no_object_is_none(raw: Any) -> None:
    assert Usage.from_raw(raw) is None
    assert normalize_usage(raw) is None
    assert parse_response(chat(usage=raw)).usage is None
    assert parse_response(chat(usage=raw)).total_tokens == 0


@pytest.mark.parametrize(
    ("raw", "api", "expect"),
    [
        # Both providers' names in one object: the API decides (BerriAI/litellm#11364).
        (
            {
                "prompt_tokens": 110,
                "completion_tokens": 5,
                "total_tokens": 115,
                "cache_read_input_tokens": 100,
            },
            "openai-chat",
            (10, 100, 0, 5, 0),
        ),
        (
            {"prompt_tokens": 110, "input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100},
            "anthropic-messages",
            (10, 100, 0, 5, 0),
        ),
        # A server that counts cached tokens beside the input, with its total and without.
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 115,
                "prompt_tokens_details": {"cached_tokens": 100},
            },
            "openai-chat",
            (10, 100, 0, 5, 0),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 100}},
            "openai-chat",
            (10, 100, 0, 5, 0),
        ),
        # More cached than there was: what was counted as input is the limit.
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 8},
            },
            "openai-chat",
            (0, 8, 2, 5, 0),
        ),
        # As much as there was.
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 10}},
            "openai-chat",
            (0, 10, 0, 5, 0),
        ),
        # A gateway before Anthropic.
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "cache_creation_input_tokens": 4},
            "openai-chat",
            (6, 0, 4, 5, 0),
        ),
        # Moonshot.
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}, "openai-chat", (6, 4, 0, 5, 0)),
        # Reasoning that no total accounts for is output too.
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 50},
            },
            "openai-chat",
            (10, 0, 0, 55, 50),
        ),
        # A total that is less than its parts is none.
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 0}, "openai-chat", (10, 0, 0, 5, 0)),
        # What is not told follows from the total.
        ({"completion_tokens": 5, "total_tokens": 15}, "openai-chat", (10, 0, 0, 5, 0)),
        ({"prompt_tokens": 5, "total_tokens": 15}, "openai-chat", (5, 0, 0, 10, 10)),
        ({"promptTokenCount": 5, "thoughtsTokenCount": 15}, "google-gemini", (5, 0, 0, 15, 15)),
        (
            {
                "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2},
                "input_tokens": 4,
                "output_tokens": 8,
            },
            "anthropic-messages",
            (4, 0, 3, 8, 0),
        ),
        # Thoughts are output, beside what was said (NousResearch/hermes-agent#48712).
        (
            {"promptTokenCount": 7, "candidatesTokenCount": 20, "thoughtsTokenCount": 100},
            "google-gemini",
            (7, 0, 0, 120, 100),
        ),
        # The names of the Python SDK.
        (
            {"prompt_token_count": 7, "thoughts_token_count": 100, "total_token_count": 107},
            "google-gemini",
            (7, 0, 0, 100, 100),
        ),
        # What is no number of tokens was not told; what is whole is one.
        (
            {"prompt_tokens": "5", "completion_tokens": 2.0, "total_tokens": True},
            "openai-chat",
            (0, 0, 0, 2, 0),
        ),
        ({"prompt_tokens": -5, "completion_tokens": 1e300}, "openai-chat", (0, 0, 0, 0, 0)),
        ({}, "openai-responses", (0, 0, 0, 0, 0)),
    ],
)
def test_odd_usages_are_read(raw: dict[str, Any], api: str, expect: tuple[int, ...]) -> None:
    usage = Usage.from_raw(raw, api)
    assert buckets(usage) == expect
    assert usage is not None
    assert adds_up(usage)


@pytest.mark.parametrize(
    "raw",
    [
        {"prompt_tokens": 0, "completion_tokens": 5},
        {"completion_tokens": 5, "total_tokens": 5},
    ],
)
def test_a_zero_is_told(raw: dict[str, Any]) -> None:
    assert Usage.from_raw(raw, "openai-chat") == Usage(output=5, total=5)


def test_no_count_is_past_what_every_reader_of_json_has_exactly() -> None:
    assert buckets(Usage.from_raw({"input_tokens": 2**53}, "openai-responses")) == (2**53, 0, 0, 0, 0)
    assert buckets(Usage.from_raw({"input_tokens": 2**53 + 1}, "openai-responses")) == (0, 0, 0, 0, 0)


def test_a_total_alone_says_nothing_of_the_buckets() -> None:
    usage = Usage.from_raw({"total_tokens": 9}, "openai-chat")
    assert usage == Usage(total=9, input_unknown=True)


def test_a_usage_may_stand_in_the_choice() -> None:
    raw = chat()
    raw["choices"][0]["usage"] = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    assert parse_response(raw).total_tokens == 7
    raw["usage"] = {}
    assert parse_response(raw).total_tokens == 0


def test_an_api_of_another_name_is_told_by_the_names_in_the_usage() -> None:
    raw = {"input_tokens": 1, "cache_read_input_tokens": 10, "output_tokens": 2}
    assert buckets(Usage.from_raw(raw, "bedrock")) == (1, 10, 0, 2, 0)
    assert buckets(Usage.from_raw({"input_tokens": 3, "output_tokens": 2})) == (3, 0, 0, 2, 0)
    raw = {"prompt_tokens": 11, "completion_tokens": 2, "cache_read_input_tokens": 10}
    assert buckets(Usage.from_raw(raw)) == (1, 10, 0, 2, 0)


counts = (
    st.none() | st.integers(0, 2**54) | st.booleans() | st.integers(-3, 0) | st.floats() | st.text(max_size=2)
)
details = st.none() | st.dictionaries(
    st.sampled_from(["cached_tokens", "cache_write_tokens", "reasoning_tokens", "thinking_tokens"]), counts
)
usages = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            (
                "prompt_tokens",
                "completion_tokens",
                "total_tokens",
                "input_tokens",
                "output_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
                "prompt_cache_hit_tokens",
                "promptTokenCount",
                "cachedContentTokenCount",
                "candidatesTokenCount",
                "thoughtsTokenCount",
                "totalTokenCount",
            ),
            counts,
        ),
        **dict.fromkeys(
            (
                "prompt_tokens_details",
                "completion_tokens_details",
                "input_tokens_details",
                "output_tokens_details",
                "cache_creation",
            ),
            details,
        ),
    },
)


@given(usages)
def test_the_short_way_to_the_usage_of_anthropic_is_the_same(raw: dict[str, Any]) -> None:
    usage = Usage.from_raw(raw, ANTHROPIC)
    assert usage is not None
    assert recorded_anthropic(raw) == usage.recorded()


@given(usages, st.none() | st.sampled_from(APIS))
def test_the_buckets_of_any_usage_add_up(raw: dict[str, Any], api: str | None) -> None:
    before = repr(raw)
    usage = Usage.from_raw(raw, api)
    assert usage is not None
    if usage.input_unknown:
        assert usage.total >= usage.all_input + usage.output
    else:
        assert adds_up(usage)
    assert min(buckets(usage)) >= 0
    assert usage.reasoning <= usage.output
    assert all(type(value) is int for value in buckets(usage))
    assert repr(raw) == before


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**6), st.data())
def test_the_total_of_a_sound_usage_is_the_total(
    whole: int, said: int, thought: int, data: st.DataObject
) -> None:
    read = data.draw(st.integers(0, whole))
    write = data.draw(st.integers(0, whole - read))
    thought = min(thought, said)
    usage = Usage.from_raw(
        {
            "prompt_tokens": whole,
            "completion_tokens": said,
            "total_tokens": whole + said,
            "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
            "completion_tokens_details": {"reasoning_tokens": thought},
        },
        "openai-chat",
    )
    assert buckets(usage) == (whole - read - write, read, write, said, thought)


# ----------------------------------------------------------------------- finish reasons


def test_members_pass_unchanged_and_are_texts() -> None:
    for reason in FinishReason:
        assert normalize_finish_reason(reason) is reason
        assert json.loads(json.dumps(reason)) == reason.value
    assert normalize_finish_reason(normalize_finish_reason("pause_turn")) is FinishReason.PAUSE


def _call(arguments: Any = '{"path": "a"}', id: Any = "call_1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}


def _with_calls(*calls: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


@pytest.mark.parametrize(
    ("word", "plain", "calling"),
    [
        ("stop", FinishReason.STOP, FinishReason.TOOL_USE),
        ("tool_calls", FinishReason.TOOL_USE, FinishReason.TOOL_USE),
        ("function_call", FinishReason.TOOL_USE, FinishReason.TOOL_USE),
        ("length", FinishReason.MAX_TOKENS, FinishReason.MAX_TOKENS),
        ("content_filter", FinishReason.CONTENT_FILTER, FinishReason.CONTENT_FILTER),
        ("sensitive", FinishReason.CONTENT_FILTER, FinishReason.CONTENT_FILTER),
        ("network_error", FinishReason.ERROR, FinishReason.ERROR),
        ("error", FinishReason.ERROR, FinishReason.ERROR),
        ("insufficient_system_resource", FinishReason.ERROR, FinishReason.ERROR),
        ("model_length", FinishReason.CONTEXT_WINDOW_EXCEEDED, FinishReason.CONTEXT_WINDOW_EXCEEDED),
        ("some_future_reason", FinishReason.UNKNOWN, FinishReason.UNKNOWN),
        (None, None, None),
    ],
)
def test_the_words_of_chat(
    word: str | None, plain: FinishReason | None, calling: FinishReason | None
) -> None:
    response = parse_response(chat(finish=word))
    assert response.finish_reason is plain
    assert response.raw_finish_reason == word
    response = parse_response(chat(_with_calls(_call()), finish=word))
    assert response.finish_reason is calling
    cut = plain not in (None, FinishReason.STOP, FinishReason.TOOL_USE, FinishReason.UNKNOWN)
    assert [call.is_runnable for call in response.tool_calls] == [not cut]
    assert [call.is_cut for call in response.tool_calls] == [cut]


FUNCTION_CALL: Final = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "read",
    "arguments": '{"path":"a"}',
    "status": "completed",
}


@pytest.mark.parametrize(
    ("status", "more", "reason", "word"),
    [
        ("completed", {}, FinishReason.STOP, "completed"),
        (
            "incomplete",
            {"incomplete_details": {"reason": "max_output_tokens"}},
            FinishReason.MAX_TOKENS,
            "max_output_tokens",
        ),
        (
            "incomplete",
            {"incomplete_details": {"reason": "content_filter"}},
            FinishReason.CONTENT_FILTER,
            "content_filter",
        ),
        ("incomplete", {"incomplete_details": {"reason": "steered"}}, FinishReason.UNKNOWN, "steered"),
        ("incomplete", {}, FinishReason.UNKNOWN, "incomplete"),
        ("failed", {"error": {"code": "server_error", "message": "…"}}, FinishReason.ERROR, "server_error"),
        ("failed", {}, FinishReason.ERROR, "failed"),
        (
            "failed",
            {"error": {"code": "context_length_exceeded", "message": "…"}},
            FinishReason.CONTEXT_WINDOW_EXCEEDED,
            "context_length_exceeded",
        ),
        ("cancelled", {}, FinishReason.UNKNOWN, "cancelled"),
        ("in_progress", {}, FinishReason.UNKNOWN, "in_progress"),
        (None, {}, None, None),
    ],
)
def test_the_words_of_responses(
    status: str | None, more: dict[str, Any], reason: FinishReason | None, word: str | None
) -> None:
    response = parse_response(responses(status=status, **more))
    assert response.finish_reason is reason
    assert response.raw_finish_reason == word
    calling = parse_response(responses([FUNCTION_CALL], status=status, **more))
    assert calling.finish_reason is (FinishReason.TOOL_USE if reason is FinishReason.STOP else reason)
    cut = reason in (
        FinishReason.MAX_TOKENS,
        FinishReason.CONTENT_FILTER,
        FinishReason.ERROR,
        FinishReason.CONTEXT_WINDOW_EXCEEDED,
    )
    assert [call.is_runnable for call in calling.tool_calls] == [not cut]


TOOL_USE: Final = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}


@pytest.mark.parametrize(
    ("word", "reason", "runnable"),
    [
        ("end_turn", FinishReason.TOOL_USE, True),
        ("stop_sequence", FinishReason.TOOL_USE, True),
        ("tool_use", FinishReason.TOOL_USE, True),
        ("pause_turn", FinishReason.PAUSE, True),
        ("some_future_reason", FinishReason.UNKNOWN, True),
        ("max_tokens", FinishReason.MAX_TOKENS, False),
        ("refusal", FinishReason.REFUSAL, False),
        ("model_context_window_exceeded", FinishReason.CONTEXT_WINDOW_EXCEEDED, False),
        # The stream broke off, and the SDK mended the input that it had so far.
        (None, None, False),
    ],
)
def test_the_words_of_anthropic(word: str | None, reason: FinishReason | None, runnable: bool) -> None:
    response = parse_response(message([TOOL_USE], stop=word))
    assert response.finish_reason is reason
    assert response.raw_finish_reason == word
    assert [call.is_runnable for call in response.tool_calls] == [runnable]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.MAX_TOKENS),
        ("SAFETY", FinishReason.CONTENT_FILTER),
        ("RECITATION", FinishReason.CONTENT_FILTER),
        ("PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER),
        ("MALFORMED_FUNCTION_CALL", FinishReason.ERROR),
        ("OTHER", FinishReason.UNKNOWN),
        ("stop", FinishReason.UNKNOWN),
        (None, None),
    ],
)
def test_the_words_of_gemini(word: str | None, reason: FinishReason | None) -> None:
    response = parse_response(gemini(finish=word))
    assert response.finish_reason is reason
    assert response.raw_finish_reason == word
    calling = parse_response(gemini([{"functionCall": {"name": "read", "args": {"path": "a"}}}], finish=word))
    assert calling.finish_reason is (FinishReason.TOOL_USE if word == "STOP" else reason)
    cut = reason in (FinishReason.MAX_TOKENS, FinishReason.CONTENT_FILTER, FinishReason.ERROR)
    assert [call.is_runnable for call in calling.tool_calls] == [not cut]


def test_a_prompt_that_gemini_blocks_is_an_answer_of_the_filter() -> None:
    raw = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
    response = parse_response(raw)
    assert response.finish_reason is FinishReason.CONTENT_FILTER
    assert response.raw_finish_reason == "PROHIBITED_CONTENT"
    assert not response.is_empty
    assert response.replay_blocks == ReplayBlocks("google-gemini")


# ---------------------------------------------------------------------- what was said


def test_a_refusal_is_the_text_of_the_answer() -> None:
    said = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    response = parse_response(chat(said))
    assert response.text == "I can't help with that."
    assert response.finish_reason is FinishReason.REFUSAL
    assert response.raw_finish_reason == "stop"
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "I can't help with that."}],
    }
    response = parse_response(responses([item]))
    assert response.text == "I can't help with that."
    assert response.finish_reason is FinishReason.REFUSAL
    assert not response.is_empty


def test_a_refusal_after_some_text_comes_after_it() -> None:
    said = {"role": "assistant", "content": "Well.", "refusal": "No."}
    assert parse_response(chat(said)).text == "Well.\n\nNo."
    assert parse_response(chat(said, finish="length")).finish_reason is FinishReason.MAX_TOKENS


def test_pieces_of_one_text_have_nothing_between_them() -> None:
    cited = [{"type": "text", "text": "It is "}, {"type": "text", "text": "warm", "citations": []}]
    assert parse_response(message(cited)).text == "It is warm"
    searched = [
        {"type": "text", "text": "Let me look."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        *cited,
    ]
    response = parse_response(message(searched))
    assert response.text == "Let me look.\n\nIt is warm"
    assert response.tool_calls == ()
    assert parse_response(gemini([{"text": "a"}, {"text": "b"}])).text == "ab"
    two = responses()["output"] * 2
    assert parse_response(responses(two)).text == "Hello!\n\nHello!"


def test_nothing_said_is_none_and_an_empty_text_is_empty() -> None:
    assert parse_response(chat({"role": "assistant", "content": None})).text is None
    assert parse_response(chat({"role": "assistant", "content": ""})).text == ""
    assert parse_response(message([])).text is None
    assert parse_response(gemini([])).text is None
    assert parse_response(responses([])).text is None


def test_reasoning_is_read_wherever_it_stands() -> None:
    thought = {"type": "thinking", "thinking": "Hm. ", "signature": "c2ln"}
    assert parse_response(message([thought, thought])).reasoning == "Hm. Hm. "
    for name in ("reasoning_content", "reasoning"):
        said = {"role": "assistant", "content": "Hi.", name: "Hm."}
        assert parse_response(chat(said)).reasoning == "Hm."
    magistral = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
            {"type": "text", "text": "Hi."},
        ],
    }
    response = parse_response(chat(magistral))
    assert response.reasoning == "Hm."
    assert response.text == "Hi."
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    assert parse_response(responses([item, item])).reasoning == "Hm.\n\nHm."
    item = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}]}
    response = parse_response(responses([item, *responses()["output"]]))
    assert response.reasoning == "Hm."
    assert response.text == "Hello!"
    parts = [{"text": "Hm.", "thought": True}, {"text": "Hi.", "thoughtSignature": "c2ln"}]
    response = parse_response(gemini(parts))
    assert response.reasoning == "Hm."
    assert response.text == "Hi."


# ------------------------------------------------------------------------------- calls


def test_calls_have_decoded_arguments_and_keep_the_raw_ones() -> None:
    response = parse_response(chat(_with_calls(_call(), _call("", id="call_2")), finish="tool_calls"))
    assert response.has_tool_calls
    assert response.stopped_by_tool_use
    one, two = response.tool_calls
    assert one == ToolCall("call_1", "read", {"path": "a"}, '{"path": "a"}')
    assert two.arguments == {}
    assert two.raw_arguments == ""
    assert two.is_runnable


@pytest.mark.parametrize("arguments", ['{"path": "a', "[1]", "null", "5", '{"a": NaN}', "\ud800", 5, ["a"]])
def test_a_call_whose_arguments_are_no_object_is_not_run(arguments: Any) -> None:
    # The server says tool_calls also at its token limit (vllm-project/vllm#58228).
    [call] = parse_response(chat(_with_calls(_call(arguments)), finish="tool_calls")).tool_calls
    assert call.arguments == call.raw_arguments == arguments
    assert not call.is_cut
    assert not call.is_runnable


def test_integers_of_any_size_are_exact() -> None:
    [call] = parse_response(chat(_with_calls(_call('{"id": 123456789012345678901234567890}')))).tool_calls
    assert call.arguments == {"id": 123456789012345678901234567890}
    assert type(call.arguments["id"]) is int


def test_calls_of_every_kind_are_read_and_those_of_the_provider_are_not() -> None:
    output = [
        FUNCTION_CALL,
        {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** Begin"},
        {"type": "local_shell_call", "call_id": "call_3", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {**FUNCTION_CALL, "call_id": "call_4", "status": "incomplete"},
        {"type": "custom_tool_call", "call_id": "call_5", "name": "patch", "input": '{"a": 1}'},
    ]
    calls = parse_response(responses(output)).tool_calls
    assert [(call.id, call.kind, call.is_runnable) for call in calls] == [
        ("call_1", "function", True),
        ("call_2", "custom", True),
        ("call_3", "local_shell", True),
        ("call_4", "function", False),
        ("call_5", "custom", True),
    ]
    assert calls[1].arguments == "*** Begin"
    assert calls[2].arguments == {"type": "exec", "command": ["ls"]}
    assert calls[4].arguments == '{"a": 1}'


def test_a_function_of_the_time_before_tools_is_a_call_without_an_id() -> None:
    said = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}
    response = parse_response(chat(said, finish="function_call"))
    assert response.tool_calls == (ToolCall("", "read", {}, "{}"),)


def test_a_call_of_gemini_may_have_no_id_and_no_arguments() -> None:
    response = parse_response(gemini([{"functionCall": {"name": "now"}}]))
    assert response.tool_calls == (ToolCall("", "now", {}),)
    [call] = parse_response(
        gemini([{"function_call": {"id": "f1", "name": "now", "args": {}, "will_continue": True}}])
    ).tool_calls
    assert call.id == "f1"
    assert call.is_cut


# ------------------------------------------------------------------ pauses and emptiness


SEARCH: Final = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


def test_a_pause_is_resumed_with_the_very_message() -> None:
    raw = message([SEARCH], stop="pause_turn")
    response = parse_response(raw)
    assert response.is_paused
    assert response.can_resume_pause()
    assert not response.can_resume_pause(last_iteration=True)
    assert response.replay_blocks is not None
    [item] = response.replay_blocks.data
    assert item == {"role": "assistant", "content": raw["content"]}
    assert item["content"] is raw["content"]
    assert not parse_response(message([SEARCH, TOOL_USE], stop="pause_turn")).can_resume_pause()
    assert not parse_response(message([], stop="pause_turn")).can_resume_pause()
    said = [{"type": "text", "text": "Let me look."}]
    assert parse_response(message(said, stop="pause_turn")).can_resume_pause()


@pytest.mark.parametrize(
    "raw",
    [
        chat({"role": "assistant", "content": ""}),
        chat({"role": "assistant", "content": None, "tool_calls": []}, finish="tool_calls"),
        chat({"role": "assistant", "content": [{"type": "text", "text": " "}]}),
        chat(choices=[]),
        responses([]),
        responses([{"type": "message", "role": "assistant", "content": []}]),
        responses([{"type": "reasoning", "id": "rs_1", "summary": []}]),
        message([]),
        message([{"type": "text", "text": "\n"}]),
        gemini([]),
        gemini([{"text": ""}]),
        gemini([{"text": "", "thought": True}]),
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {}},
        {},
    ],
)
def test_an_empty_completion_is_told_and_is_no_error(raw: dict[str, Any]) -> None:
    response = parse_response(raw)
    assert response.is_empty
    assert not response.has_text
    assert response.finish_reason is not FinishReason.ERROR


@pytest.mark.parametrize(
    "raw",
    [
        message([], stop="refusal"),
        message([{"type": "redacted_thinking", "data": "b3BhcXVl"}]),
        responses([{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAA"}]),
        responses([{"type": "web_search_call", "id": "ws_1", "status": "completed"}]),
        gemini([{"text": "", "thoughtSignature": "c2ln"}]),
        gemini([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]),
        chat({"role": "assistant", "content": None, "audio": {"id": "audio_1", "data": "AAAA"}}),
        chat({"role": "assistant", "content": "", "images": [{"type": "image_url"}]}),
        chat({"role": "assistant", "content": ""}, finish="content_filter"),
    ],
)
def test_what_has_no_text_may_be_an_answer_all_the_same(raw: dict[str, Any]) -> None:
    assert not parse_response(raw).is_empty


# ----------------------------------------------------------------------- replay blocks


def test_replay_blocks_are_the_very_objects_of_the_answer() -> None:
    raw = responses([{"type": "reasoning", "id": "rs_1", "summary": []}, FUNCTION_CALL])
    blocks = parse_response(raw).replay_blocks
    assert blocks is not None
    assert [id(item) for item in blocks.data] == [id(item) for item in raw["output"]]
    raw = chat()
    blocks = parse_response(raw).replay_blocks
    assert blocks is not None
    assert [id(item) for item in blocks.data] == [id(raw["choices"][0]["message"])]
    raw = gemini()
    blocks = parse_response(raw).replay_blocks
    assert blocks is not None
    assert [id(item) for item in blocks.data] == [id(raw["candidates"][0]["content"])]


# ------------------------------------------------------------------------- any object


NAMES: Final = [
    "arguments",
    "audio",
    "candidates",
    "choices",
    "completion_tokens",
    "content",
    "error",
    "finish_reason",
    "finishReason",
    "function",
    "function_call",
    "functionCall",
    "id",
    "incomplete_details",
    "input",
    "input_tokens",
    "input_tokens_details",
    "message",
    "name",
    "object",
    "output",
    "parts",
    "promptFeedback",
    "prompt_tokens_details",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "refusal",
    "role",
    "status",
    "stop_reason",
    "summary",
    "text",
    "thinking",
    "thought",
    "tool_calls",
    "type",
    "usage",
    "usageMetadata",
]
WORDS: Final = [
    "assistant",
    "chat.completion",
    "completed",
    "custom_tool_call",
    "function_call",
    "incomplete",
    "message",
    "output_text",
    "pause_turn",
    "reasoning",
    "refusal",
    "response",
    "server_tool_use",
    "stop",
    "STOP",
    "text",
    "thinking",
    "tool_use",
    "{}",
]
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=3)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=25,
)
objects = st.dictionaries(st.sampled_from(NAMES), values, max_size=6)
answers = (
    objects
    | st.builds(chat, objects)
    | st.builds(lambda said: chat(**said), st.fixed_dictionaries({"choices": values, "usage": values}))
    | st.builds(responses, st.lists(values, max_size=3))
    | st.builds(message, st.lists(values, max_size=3))
    | st.builds(gemini, st.lists(values, max_size=3))
    | st.dictionaries(st.text(max_size=3), json_values(), max_size=3)
)


def everything_of(response: ChatResponse) -> None:
    """Ask all there is to ask."""
    assert isinstance(response.text, str | None)
    assert isinstance(response.reasoning, str | None)
    assert isinstance(response.finish_reason, FinishReason | None)
    assert isinstance(response.has_text, bool)
    assert isinstance(response.is_empty, bool)
    assert isinstance(response.is_paused, bool)
    assert isinstance(response.can_resume_pause(), bool)
    assert response.total_tokens >= 0
    for call in response.tool_calls:
        assert isinstance(call.is_runnable, bool)
        assert not (call.is_cut and call.is_runnable)
        if call.is_runnable and call.kind == "function":
            assert isinstance(call.arguments, dict)
    if response.usage is not None:
        response.usage.recorded()


@given(answers)
def test_any_object_is_read_and_none_is_changed(raw: dict[str, Any]) -> None:
    before = repr(raw)
    response = parse_response(raw)
    everything_of(response)
    assert response.raw is raw
    assert isinstance(response, ModelResponse)
    extract_reasoning(raw)
    assert repr(raw) == before


def all_objects(value: Any) -> list[int]:
    found = [id(value)]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += all_objects(inner)
    return found


@given(answers)
def test_nothing_in_the_replay_blocks_is_a_copy(raw: dict[str, Any]) -> None:
    blocks = parse_response(raw).replay_blocks
    there = set(all_objects(raw))
    for item in () if blocks is None else blocks.data:
        if blocks is not None and blocks.format == "anthropic-messages":
            assert item.keys() == {"role", "content"}
            assert id(item["content"]) in there
        else:
            assert id(item) in there


@given(json_values() | values)
def test_readers_of_parts_take_any_value(value: Any) -> None:
    normalize_usage(value)
    normalize_finish_reason(value)
    extract_reasoning(value)
    parse_rate_limit(value)
    make_response(text=value, reasoning=value).has_text  # noqa: B018 - it must not raise


@pytest.mark.parametrize("raw", [None, True, 5, 1.5, "text", [], [{}], (), object(), dict, iter(())])
def test_what_is_no_response_is_refused(raw: Any) -> None:
    with pytest.raises(ResponseError) as caught:
        parse_response(raw)
    error = caught.value
    assert isinstance(error, TypeError)
    assert isinstance(error, TranscriptError)
    assert type(raw).__name__ in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_error_body_is_an_error() -> None:
    raw = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    response = parse_response(raw)
    assert response.finish_reason is FinishReason.ERROR
    assert response.raw_finish_reason == "overloaded_error"
    assert parse_response({"error": {"code": "429"}}).raw_finish_reason == "429"
    assert parse_response({"error": "no"}).raw_finish_reason == "error"


def test_an_anthropic_message_is_known_without_its_type() -> None:
    response = parse_response({"role": "assistant", "content": "Hi."})
    assert response.text == "Hi."
    assert response.replay_blocks == ReplayBlocks(
        "anthropic-messages", ({"role": "assistant", "content": "Hi."},)
    )
    assert parse_response({"type": "message"}).replay_blocks == ReplayBlocks("anthropic-messages")
    for other in ({"role": "user", "content": "Hi."}, {"role": "assistant"}, {"content": "Hi."}):
        assert parse_response(other).replay_blocks is None


def test_an_object_of_another_shape_is_kept() -> None:
    assert parse_response({"answer": 42}) == ChatResponse(raw={"answer": 42})


# ------------------------------------------------------------------------ made by hand


def test_a_response_made_by_hand_has_what_it_was_given() -> None:
    call = ToolCall("1", "read", {})
    usage = Usage(input=1, output=2, total=3)
    blocks = ReplayBlocks("mine", ({"role": "assistant", "content": "Hi."},))
    response = make_response(
        text="Hi.",
        tool_calls=[call, {"id": "2", "name": "read", "arguments": '{"a": 1}'}],
        usage=usage,
        finish_reason=FinishReason.PAUSE,
        raw_finish_reason="paused",
        replay_blocks=blocks,
        attempts=2,
        provider="mine",
    )
    assert response.tool_calls[0] is call
    assert response.tool_calls[1] == ToolCall("2", "read", {"a": 1}, '{"a": 1}')
    assert response.usage is usage
    assert response.counts is None
    assert response.total_tokens == 3
    assert response.finish_reason is FinishReason.PAUSE
    assert response.raw_finish_reason == "paused"
    assert response.replay_blocks is blocks
    assert isinstance(response, ModelResponse)
    assert make_response(finish_reason="length").raw_finish_reason == "length"
    given = {"format": "mine", "data": [1]}
    assert make_response(replay_blocks=given).replay_blocks == ReplayBlocks("mine", (1,))


def test_headers_and_attempts_are_kept() -> None:
    headers = {"X-RateLimit-Remaining-Requests": "49", "x-request-id": "req_1"}
    response = parse_response(chat(), headers=headers, attempts=3)
    assert response.rate_limit == RateLimit(requests_remaining="49")
    assert response.attempts == 3
    assert parse_response(chat(), headers=[("a", "b")]).rate_limit is None
    assert parse_rate_limit({5: "a", "x-ratelimit-limit-tokens": 5}) is None


def test_another_class_can_be_a_response() -> None:
    class Mine:
        text = reasoning = usage = finish_reason = raw_finish_reason = id = model = provider = raw = None
        tool_calls = ()

    assert isinstance(Mine(), ModelResponse)
    assert not isinstance(object(), ModelResponse)


# ------------------------------------------------------------------------------- SDKs


class Dumped:
    """An SDK's object whose ``model_dump`` knows only what is asked of every one."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def model_dump(self, *, mode: str, exclude_unset: bool) -> Any:
        assert mode == "json"
        assert exclude_unset
        return copy.deepcopy(self.answer)


def test_an_object_with_model_dump_is_read_by_its_json() -> None:
    response = parse_response(Dumped(chat()))
    assert response.raw == chat()
    assert response.text == "Hello!"
    parsed = message([{"type": "text", "text": "{}", "parsed_output": {}}])
    assert parse_response(Dumped(parsed)).raw == message([{"type": "text", "text": "{}"}])
    with pytest.raises(ResponseError, match="Dumped"):
        parse_response(Dumped([]))


CHAT: Final = chat(_with_calls(_call()), finish="tool_calls", usage=RECORDED[3].raw["usage"])
RESPONSES: Final = responses(
    [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAA"},
        *responses()["output"],
        FUNCTION_CALL,
    ],
    usage=RECORDED[1].raw["usage"],
    text={"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}},
)
MESSAGE: Final = message(
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Hi."},
        TOOL_USE,
    ],
    stop="tool_use",
    usage={"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 100},
)


@pytest.mark.parametrize("raw", [CHAT, chat(), RESPONSES, responses()])
def test_objects_of_openai_give_the_json_of_the_wire(raw: dict[str, Any]) -> None:
    pytest.importorskip("openai")
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    kind = ChatCompletion if "choices" in raw else Response
    for made in (kind.model_validate(copy.deepcopy(raw)), kind.construct(**copy.deepcopy(raw))):
        response = parse_response(made)
        assert response.raw == raw
        assert response == parse_response(raw)


def test_objects_of_anthropic_give_the_json_of_the_wire() -> None:
    pytest.importorskip("anthropic")
    from anthropic.types import Message

    new = {**MESSAGE, "content": [*MESSAGE["content"], {"type": "some_future_block", "data": {"a": None}}]}
    for raw in (MESSAGE, new):
        response = parse_response(Message.construct(**copy.deepcopy(raw)))
        assert response.raw == raw
        assert response == parse_response(raw)


def test_what_an_sdk_adds_when_it_parses_is_left_out() -> None:
    pytest.importorskip("openai")
    from openai.types.chat import ParsedChatCompletion
    from openai.types.responses import ParsedResponse

    raw = copy.deepcopy(CHAT)
    raw["choices"][0]["message"]["parsed"] = None
    raw["choices"][0]["message"]["tool_calls"][0]["function"]["parsed_arguments"] = {"path": "a"}
    assert parse_response(ParsedChatCompletion.construct(**raw)).raw == CHAT
    raw = copy.deepcopy(RESPONSES)
    raw["output"][1]["content"][0]["parsed"] = {"a": 1}
    raw["output"][2]["parsed_arguments"] = {"path": "a"}
    assert parse_response(ParsedResponse.construct(**raw)).raw == RESPONSES
