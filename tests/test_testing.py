"""A scripted model answers in the shape of its API, and refuses what the API refuses."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from transcript_log import Target, build_context, new_message
from transcript_log.apis import APIS, check_items
from transcript_log.entries import Item, MessageEntry
from transcript_log.errors import TargetError
from transcript_log.response import FinishReason, ToolCall, Usage, parse_response
from transcript_log.response.wire import raw_answer
from transcript_log.testing import RefusedError, ScriptedModel, ScriptError, call

TARGETS = [Target(api, "some-model") for api in APIS]
each_api = pytest.mark.parametrize("target", TARGETS, ids=[target.api for target in TARGETS])
HELLO: list[Item] = [{"role": "user", "content": "hello"}]


WIRES = {"deepseek-chat": "openai-chat", "mistral-chat": "openai-chat", "gemini": "google-gemini"}
"""Whose answers those of a dialect look like, and how usage of Gemini's is called."""


def said(target: Target, text: str = "hello", speaker: str = "user") -> list[Item]:
    """A request in which somebody says something, as the API of a target takes it."""
    if target.api != "gemini":
        return [{"role": speaker, "content": text}]
    return [{"role": "model" if speaker == "assistant" else "user", "parts": [{"text": text}]}]


@each_api
def test_text_and_calls_come_in_the_shape_of_the_api(target: Target) -> None:
    model = ScriptedModel(
        target, [["One moment.", call("shell", command="make"), call("read", path="ä")], "Done."]
    )
    first = parse_response(model(said(target)))
    assert first.text == "One moment."
    assert [(made.name, made.arguments) for made in first.tool_calls] == [
        ("shell", {"command": "make"}),
        ("read", {"path": "ä"}),
    ]
    assert all(made.is_runnable for made in first.tool_calls)
    assert first.finish_reason is FinishReason.TOOL_USE
    assert first.model == "some-model"
    assert first.replay_blocks is not None
    assert first.replay_blocks.format == WIRES.get(target.api, target.api)
    second = parse_response(model(said(target)))
    assert (second.text, second.tool_calls) == ("Done.", ())
    assert len({first.id, second.id, *(made.id for made in first.tool_calls)}) == 4
    assert second.finish_reason is FinishReason.STOP
    assert model.left == 0


@each_api
def test_its_usage_adds_up_and_grows_with_the_request(target: Target) -> None:
    model = ScriptedModel(target, ["a", "b"])
    small = parse_response(model(said(target))).usage
    large = parse_response(model(said(target, "hello " * 100))).usage
    assert small is not None
    assert large is not None
    assert large.input > small.input > 0
    assert small.total == small.all_input + small.output


@each_api
def test_a_whole_loop_is_taken(target: Target) -> None:
    """Twice with calls, then with text; what each request sends is what the log then holds."""
    model = ScriptedModel(target, [call("a"), ["Two.", call("b"), call("c")], "Done."])
    entries: list[MessageEntry] = [new_message(item) for item in said(target, "go")]
    while True:
        context = build_context(entries, target)
        response = parse_response(model(context.items))
        assert response.replay_blocks is not None
        entries += [new_message(item, family=target.family) for item in response.replay_blocks.data]
        if not response.tool_calls:
            break
        entries += [new_message(item) for item in _outputs(target, response.tool_calls)]
    assert model.left == 0
    assert len(model.requests) == 3
    assert all(not check_items(request, target) for request in model.requests)
    assert model.requests[0][0] is entries[0].message


def _outputs(target: Target, calls: Sequence[ToolCall]) -> list[Item]:
    match target.api:
        case "openai-responses":
            return [{"type": "function_call_output", "call_id": made.id, "output": "ok"} for made in calls]
        case "openai-chat":
            return [{"role": "tool", "tool_call_id": made.id, "content": "ok"} for made in calls]
        case "gemini":
            answers = [{"id": made.id, "name": made.name, "response": {"output": "ok"}} for made in calls]
            return [{"role": "user", "parts": [{"functionResponse": one} for one in answers]}]
        case _:
            blocks = [{"type": "tool_result", "tool_use_id": made.id, "content": "ok"} for made in calls]
            return [{"role": "user", "content": blocks}]


@each_api
def test_a_request_that_breaks_a_rule_is_refused_and_takes_no_answer(target: Target) -> None:
    model = ScriptedModel(target, [call("shell"), "Done."])
    hello = said(target)
    answered = parse_response(model(hello))
    assert answered.replay_blocks is not None
    broken = [*hello, *answered.replay_blocks.data, *hello]
    with pytest.raises(RefusedError) as caught:
        model(broken)
    expected = [finding for finding in check_items(broken, target) if finding.severity != "note"]
    assert list(caught.value.findings) == expected
    assert target.api in str(caught.value)
    for finding in expected:
        assert f"{finding.rule}: " in str(caught.value)
    assert model.left == 1
    assert len(model.requests) == 2
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_a_warning_is_refused_too() -> None:
    target = Target("openai-chat", "m")
    blank: list[Item] = [{"role": "user", "content": "  "}]
    assert [finding.severity for finding in check_items(blank, target)] == ["warning"]
    with pytest.raises(RefusedError, match="blank-text: warning: item 0: the text is blank"):
        ScriptedModel(target, ["ok"])(blank)


def test_a_note_is_no_reason_to_refuse() -> None:
    target = Target("anthropic-messages", "claude-opus-4-6")
    ending: list[Item] = [*HELLO, {"role": "assistant", "content": "I"}]
    assert [finding.severity for finding in check_items(ending, target)] == ["note"]
    assert parse_response(ScriptedModel(target, ["ok"])(ending)).text == "ok"


def test_a_paused_turn_may_be_sent_back_if_that_is_said() -> None:
    target = Target("anthropic-messages", "claude-opus-4-6")
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    items: list[Any] = [*HELLO, {"role": "assistant", "content": [search]}]
    with pytest.raises(RefusedError):
        ScriptedModel(target, ["found"])(items)
    assert parse_response(ScriptedModel(target, ["found"])(items, paused=True)).text == "found"


def test_the_end_of_the_script_is_told() -> None:
    model = ScriptedModel(TARGETS[0], ["only"])
    model(HELLO)
    with pytest.raises(ScriptError, match="request 2 has no answer: the script ends after 1"):
        model(HELLO)
    assert len(model.requests) == 2


def test_a_raw_answer_is_given_as_it_is_and_an_error_is_raised() -> None:
    raw = {"id": "x", "choices": [{"message": {"role": "assistant", "content": "raw"}}]}
    model = ScriptedModel(Target("openai-chat", "m"), [raw, TimeoutError("too slow"), "Again."])
    assert model(HELLO) == raw
    with pytest.raises(TimeoutError, match="too slow"):
        model(HELLO)
    assert parse_response(model(HELLO)).text == "Again."


def test_what_it_was_sent_stays_as_it_was() -> None:
    model = ScriptedModel(TARGETS[0], ["a"])
    items = list(HELLO)
    model(items)
    items.append({"role": "user", "content": "more"})
    assert len(model.requests[0]) == 1
    assert model.requests[0][0] is HELLO[0]


def test_an_unknown_api_is_refused_at_once() -> None:
    with pytest.raises(TargetError):
        ScriptedModel(Target("no-such-api", "m"), [])


@each_api
def test_an_answer_without_usage_tells_none(target: Target) -> None:
    answer = parse_response(raw_answer(target.api, id="r", model="m", text="hi"))
    assert answer.usage is None
    assert answer.text == "hi"


def _sdk_type(api: str) -> Any:
    if api == "anthropic-messages":
        return pytest.importorskip("anthropic.types").Message
    if api == "gemini":
        return pytest.importorskip("google.genai.types").GenerateContentResponse
    if WIRES.get(api, api) == "openai-chat":
        return pytest.importorskip("openai.types.chat").ChatCompletion
    return pytest.importorskip("openai.types.responses").Response


@each_api
def test_the_sdk_takes_an_answer_for_its_own(target: Target) -> None:
    raw = ScriptedModel(target, [["hi", call("shell", command="make")]])(said(target))
    made = _sdk_type(target.api).model_validate(raw)
    assert parse_response(made).tool_calls == parse_response(raw).tool_calls
    assert parse_response(made).usage == parse_response(raw).usage


@each_api
def test_buckets_of_a_cache_come_back_where_the_api_has_them(target: Target) -> None:
    usage = Usage(input=1, cache_read=2, output=4, total=7)
    if WIRES.get(target.api, target.api) not in ("openai-chat", "google-gemini"):
        usage = Usage(input=1, cache_read=2, cache_write=3, output=4, total=10)
    raw = raw_answer(target.api, id="r", model="m", text="hi", usage=usage)
    assert parse_response(raw).usage == usage


@each_api
def test_a_second_model_on_the_same_log_makes_other_ids_and_the_same_run_the_same(target: Target) -> None:
    def ids(items: list[Item]) -> list[str | None]:
        response = parse_response(ScriptedModel(target, [[call("a"), call("b")]])(items))
        return [response.id, *(made.id for made in response.tool_calls)]

    hello = said(target)
    later = [*hello, *said(target, "are you there?"), *said(target, "go on")]
    assert ids(hello) == ids(hello)
    assert not set(ids(hello)) & set(ids(later))
