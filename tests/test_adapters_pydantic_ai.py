"""The message history of pydantic-ai: its own type adapter is the judge of what comes back."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

import pytest
from extras import needed
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import (
    Session,
    Target,
    build_context,
    new_compaction,
    new_message,
    read_outcome,
)
from transcript_log.aio import AsyncSession
from transcript_log.check import check_entries
from transcript_log.cli.source import open_session
from transcript_log.entries import Compaction, Entry, MessageEntry
from transcript_log.errors import EntryError
from transcript_log.redaction import redact
from transcript_log.sent import request_at
from transcript_log.stats import find_spent

needed("pydantic_ai", "pydantic-ai")
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, DeferredToolResults, ModelRetry  # noqa: E402
from pydantic_ai import messages as ai  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402
from pydantic_ai.usage import RequestUsage  # noqa: E402

from transcript_log.adapters.pydantic_ai import MessageHistory, read_messages, target_of_response  # noqa: E402

ROOT: Final = Path(__file__).resolve().parent.parent
MOMENT: Final = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TARGETS: Final = [
    Target("openai-responses", "gpt-5.4"),
    Target("openai-chat", "gpt-5.4"),
    Target("anthropic-messages", "claude-opus-4-8"),
]
PNG: Final = b"\x89PNG\r\n\x1a\n" + b"\0" * 60


def json_of(messages: Sequence[Any]) -> bytes:
    return ai.ModelMessagesTypeAdapter.dump_json(list(messages))


def round_trip(*batches: Sequence[Any]) -> tuple[list[Any], tuple[Entry, ...], dict[Any, Any]]:
    """What comes back of messages that were added in batches, and the log that holds them."""

    async def main() -> Any:
        async with AsyncSession.in_memory() as session:
            history = MessageHistory(session)
            for batch in batches:
                await history.add(batch)
            read = await history.read()
            assert read.changes == ()
            view = await session.view()
            return read.messages, view.entries, dict(view.details)

    return asyncio.run(main())


# ----------------------------------------------------------------------------- any message

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["x" * 60, "y" * 500]
)
NAMES = st.sampled_from(["a", "b", "call_1", "toolu_1"])
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "$item", "$text", "$plain", "kind"]), inner, max_size=2)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, PLAIN, max_size=2)
MAYBE_OBJECT = st.none() | OBJECTS
PROVIDERS = st.sampled_from(
    [None, "anthropic", "openai", "azure", "bedrock", "google-gla", "deepseek", "a/b"]
)
MEDIA = st.sampled_from(["image/png", "audio/wav", "video/mp4", "application/pdf", "text/plain"])
BINARY = st.builds(BinaryContent, st.binary(max_size=80), media_type=MEDIA)
SHOWN = (
    TEXTS
    | BINARY
    | st.builds(ai.ImageUrl, st.just("https://example.com/a.png"))
    | st.builds(ai.AudioUrl, st.just("https://example.com/a.wav"))
    | st.builds(ai.VideoUrl, st.just("https://example.com/a.mp4"))
    | st.builds(ai.DocumentUrl, st.just("https://example.com/a.pdf"))
    | st.builds(ai.TextContent, TEXTS, metadata=PLAIN)
    | st.builds(ai.UploadedFile, st.just("file-1"), provider_name=st.just("openai"), media_type=MEDIA)
    | st.just(ai.CachePoint())
)
RETURNED = st.builds(
    ai.ToolReturnPart,
    NAMES,
    PLAIN | BINARY | st.lists(TEXTS | BINARY, max_size=3),
    NAMES,
    metadata=PLAIN,
    timestamp=TIMES,
    outcome=st.sampled_from(["success", "failed", "denied", "interrupted", "retried"]),
)
FEEDBACK = st.builds(
    ai.RetryFeedbackPart,
    TEXTS,
    retry=st.builds(ai.RetryInfo, st.sampled_from(["validation_error", "no_output", "model_retry"])),
    timestamp=TIMES,
)
ASKED = (
    st.builds(ai.SystemPromptPart, TEXTS, timestamp=TIMES, dynamic_ref=st.none() | TEXTS)
    | st.builds(ai.UserPromptPart, TEXTS | st.lists(SHOWN, max_size=4), timestamp=TIMES)
    | RETURNED
    | FEEDBACK
    | st.builds(ai.ToolAvailabilityDeltaPart, tools_added=st.lists(TEXTS, max_size=2))
    | st.builds(ai.CompactionPart, TEXTS)
    | st.builds(ai.SpeechPart, speaker=st.just("user"), transcript=st.none() | TEXTS)
)
REQUESTS = st.builds(
    ai.ModelRequest,
    parts=st.lists(ASKED, max_size=4),
    timestamp=st.none() | TIMES,
    instructions=st.none() | TEXTS,
    run_id=st.none() | TEXTS,
    metadata=MAYBE_OBJECT,
)
ANSWERED = (
    st.builds(ai.TextPart, TEXTS, id=st.none() | st.just("msg_1"), provider_details=MAYBE_OBJECT)
    | st.builds(
        ai.ThinkingPart,
        TEXTS,
        id=st.sampled_from([None, "rs_1", "rs_2", "redacted_thinking", "reasoning_content"]),
        signature=st.none() | TEXTS,
        provider_name=PROVIDERS,
    )
    | st.builds(ai.ToolCallPart, NAMES, st.none() | OBJECTS | st.just('{"a": 1}') | TEXTS, NAMES)
    | st.builds(ai.NativeToolCallPart, st.just("web_search"), OBJECTS, NAMES, provider_name=PROVIDERS)
    | st.builds(
        ai.NativeToolReturnPart, st.just("web_search"), PLAIN, NAMES, provider_name=PROVIDERS, timestamp=TIMES
    )
    | st.builds(ai.FilePart, BINARY)
    | st.builds(ai.CompactionPart, st.none() | TEXTS, provider_name=PROVIDERS, provider_details=MAYBE_OBJECT)
    | st.builds(ai.SpeechPart, speaker=st.just("assistant"), transcript=st.none() | TEXTS)
)
RESPONSES = st.builds(
    ai.ModelResponse,
    parts=st.lists(ANSWERED, max_size=5),
    usage=st.builds(
        RequestUsage,
        input_tokens=st.integers(0, 900),
        output_tokens=st.integers(0, 900),
        cache_read_tokens=st.integers(0, 90),
        details=st.dictionaries(TEXTS, st.integers(0, 9), max_size=1),
    ),
    model_name=st.none() | TEXTS,
    timestamp=TIMES,
    provider_name=PROVIDERS,
    provider_details=MAYBE_OBJECT,
    provider_response_id=st.sampled_from([None, "resp_1", "chatcmpl-1", "msg_1"]),
    finish_reason=st.sampled_from([None, "stop", "length", "content_filter", "tool_call", "error"]),
    state=st.sampled_from(["complete", "interrupted", "suspended"]),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """Messages in any order, of which some go on in what others began."""
    return draw(st.lists(REQUESTS | RESPONSES, max_size=6))


@given(st.lists(histories(), max_size=3))
def test_what_was_added_comes_back_equal(batches: list[list[Any]]) -> None:
    given_ = [message for batch in batches for message in batch]
    back, _, _ = round_trip(*batches)
    assert json_of(back) == json_of(given_)
    assert back == ai.ModelMessagesTypeAdapter.validate_json(json_of(given_))


@given(histories())
def test_every_api_takes_what_was_added(messages: list[Any]) -> None:
    _, entries, details = round_trip(messages, [ai.ModelRequest(parts=[ai.UserPromptPart("And now?")])])
    for target in TARGETS:
        context = build_context(entries, target, details=details)  # raises for what the API would refuse
        assert "And now?" in str(context.items[-1])
    build_context(entries, None, details=details)
    assert not [one for one in check_entries(entries, details) if one.severity == "error"]


@given(histories())
def test_each_response_counts_once(messages: list[Any]) -> None:
    _, entries, _ = round_trip(messages)
    answers = [one for one in messages if isinstance(one, ai.ModelResponse)]
    recorded = [one.response for one in entries if isinstance(one, MessageEntry) and one.response is not None]
    assert [one.model for one in recorded] == [one.model_name for one in answers]
    total = sum(one.usage.output_tokens for one in answers)
    assert sum(one.usage.output for one in recorded if one.usage is not None) == total


@given(histories())
def test_what_is_spoken_reads_without_the_form_too(messages: list[Any]) -> None:
    """A log whose sidecar is lost still gives messages that an agent takes."""
    _, entries, _ = round_trip(messages)
    read = read_messages(entries, {})
    again = ai.ModelMessagesTypeAdapter.validate_json(json_of(read.messages))
    assert json_of(again) == json_of(read.messages)
    for one, other in zip(read.messages, read.messages[1:], strict=False):
        assert not (isinstance(one, ai.ModelRequest) and isinstance(other, ai.ModelRequest))


# ------------------------------------------------------------------------------ one by one


def test_long_texts_are_not_written_twice() -> None:
    text, told = "A long answer. " * 500, "You are a coding agent. " * 100
    messages = [
        ai.ModelRequest(
            parts=[ai.UserPromptPart(["See:", BinaryContent(PNG * 9, media_type="image/png")])],
            instructions=told,
        ),
        ai.ModelResponse(parts=[ai.TextPart(text)]),
        ai.ModelRequest(parts=[ai.UserPromptPart("Go on.")], instructions=told),
        ai.ModelResponse(parts=[ai.TextPart("Done.")]),
    ]
    back, _, details = round_trip(messages[:2], messages[2:])
    assert json_of(back) == json_of(messages)
    beside = str(list(details.values()))
    assert text not in beside
    assert base64.b64encode(PNG * 9).decode() not in beside
    # Once for all messages, and once in the request that is on record.
    assert beside.count(told) == 2


def test_what_redaction_takes_out_of_an_item_is_out_of_the_message_too() -> None:
    secret = "ghp_" + "a1B2" * 9
    asked = ai.ModelRequest(
        parts=[ai.UserPromptPart(f"My token is {secret}, keep it for later please. " * 3)]
    )
    _, entries, details = round_trip([asked])
    made = redact(entries, details)
    read = read_messages(made.entries, made.details_by_call)
    assert read.changes == ()
    assert secret not in str(read.messages)
    assert "keep it for later" in str(read.messages)


def test_a_response_of_anthropic_goes_back_to_anthropic_as_it_came() -> None:
    response = ai.ModelResponse(
        parts=[
            ai.ThinkingPart("Hm.", signature="c2ln", provider_name="anthropic"),
            ai.ThinkingPart("", id="redacted_thinking", signature="ZGF0YQ==", provider_name="anthropic"),
            ai.TextPart("Let me see."),
            ai.ToolCallPart("shell", {"command": "make"}, "toolu_1"),
        ],
        usage=RequestUsage(input_tokens=100, cache_read_tokens=60, cache_write_tokens=30, output_tokens=7),
        model_name="claude-opus-4-8",
        provider_name="anthropic",
        provider_response_id="msg_1",
        finish_reason="tool_call",
    )
    asked = ai.ModelRequest(parts=[ai.UserPromptPart("Build it.")], instructions="Be brief.")
    returned = ai.ModelRequest(parts=[ai.ToolReturnPart("shell", "done", "toolu_1", outcome="failed")])
    _, entries, details = round_trip([asked, response, returned])
    context = build_context(entries, TARGETS[2], details=details, strict=True)
    assert context.changes == ()
    assert context.items[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {"command": "make"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done", "is_error": True}
            ],
        },
    ]
    families = [one.family for one in entries if isinstance(one, MessageEntry)]
    assert families == [None, "anthropic-messages/direct", "anthropic-messages/direct"]
    assert read_outcome(details["toolu_1", entries[1].id]).status == "failed"  # type: ignore[union-attr]
    (spent,) = find_spent([("", entries)])
    assert (spent.tokens.input, spent.tokens.cache_read, spent.tokens.cache_write) == (10, 60, 30)
    assert (spent.tokens.output, spent.model) == (7, "claude-opus-4-8")
    sent = request_at(entries, entries[1].id, details)
    assert sent.body == {
        "model": "claude-opus-4-8",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Build it."}],
    }


def test_a_response_of_the_responses_api_goes_back_to_it_as_it_came() -> None:
    response = ai.ModelResponse(
        parts=[
            ai.ThinkingPart("One.", id="rs_1", signature="gAAAA", provider_name="openai"),
            ai.ThinkingPart("Two.", id="rs_1", provider_name="openai"),
            ai.TextPart("Let me see.", id="msg_1", provider_name="openai"),
            ai.ToolCallPart("shell", '{"command":"make"}', "call_1", id="fc_1", provider_name="openai"),
        ],
        model_name="gpt-5.4-2026-03-01",
        model_id="openai:gpt-5.4",
        provider_name="openai",
        provider_response_id="resp_1",
    )
    returned = ai.ModelRequest(parts=[ai.ToolReturnPart("shell", {"ok": True}, "call_1")])
    _, entries, _ = round_trip([ai.ModelRequest(parts=[ai.UserPromptPart("Build it.")]), response, returned])
    context = build_context(entries, TARGETS[0], strict=True)
    assert context.changes == ()
    assert context.items[1:] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
            "encrypted_content": "gAAAA",
        },
        {
            "id": "msg_1",
            "status": "completed",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}],
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "call_id": "call_1",
            "name": "shell",
            "arguments": '{"command":"make"}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": '{"ok":true}'},
    ]


@pytest.mark.parametrize(
    ("given_", "family"),
    [
        ({"provider_name": "anthropic"}, "anthropic-messages/direct"),
        ({"provider_name": "bedrock", "model_name": "anthropic.claude-x"}, "anthropic-messages/bedrock"),
        ({"provider_name": "openai", "provider_response_id": "chatcmpl-1"}, "openai-chat/direct"),
        ({"provider_name": "openai", "provider_response_id": "resp_1"}, "openai-responses/direct/m"),
        ({"provider_name": "azure", "provider_response_id": "resp_1"}, "openai-responses/azure/m"),
        ({"provider_name": "deepseek"}, "openai-chat/deepseek"),
        ({"provider_name": "google-gla"}, None),
        ({"provider_name": "bedrock"}, None),
        ({"provider_name": None}, None),
        ({"provider_name": "a/b"}, None),
    ],
)
def test_who_made_a_response_is_told_by_its_provider(given_: dict[str, Any], family: str | None) -> None:
    target = target_of_response(ai.ModelResponse(parts=[], **{"model_name": "m", **given_}))
    assert (target and target.family) == family


def test_an_entry_has_the_time_of_its_message_where_that_says_when() -> None:
    east = timezone(timedelta(hours=2))
    messages = [
        ai.ModelRequest(parts=[ai.UserPromptPart("x", timestamp=MOMENT)], timestamp=MOMENT.astimezone(east)),
        ai.ModelResponse(parts=[ai.TextPart("y")], timestamp=datetime(2026, 1, 1)),
    ]
    back, (first, second), _ = round_trip(messages)
    assert (first.timestamp, first.timestamp and first.timestamp.tzinfo) == (MOMENT, UTC)
    assert second.timestamp is not None
    assert second.timestamp.year >= 2026
    assert second.timestamp != MOMENT
    assert json_of(back) == json_of(messages)


@pytest.mark.parametrize(
    ("given_", "finish", "interrupted"),
    [
        ({"finish_reason": "tool_call"}, "tool_use", False),
        ({"finish_reason": "length"}, "max_tokens", False),
        ({"finish_reason": "stop"}, "stop", False),
        ({"state": "suspended"}, "pause", False),
        ({"state": "interrupted", "finish_reason": "stop"}, "stop", True),
        ({}, None, False),
    ],
)
def test_why_a_response_ended_is_on_record(
    given_: dict[str, Any], finish: str | None, interrupted: bool
) -> None:
    asked = ai.ModelRequest(parts=[ai.UserPromptPart("x")])
    messages = [asked, ai.ModelResponse(parts=[ai.TextPart("half")], **given_)]
    back, entries, _ = round_trip(messages)
    entry = entries[1]
    assert isinstance(entry, MessageEntry)
    assert entry.response is not None
    assert (entry.response.finish_reason, entry.interrupted) == (finish, interrupted)
    assert ("half" in str(build_context(entries, TARGETS[1]).items)) is not interrupted
    assert back == messages


def test_what_json_does_not_give_back_is_refused_whole() -> None:
    async def main() -> None:
        async with AsyncSession.in_memory() as session:
            history = MessageHistory(session)
            fine = ai.ModelRequest(parts=[ai.UserPromptPart("fine")])
            with pytest.raises(EntryError, match=r"\$\.messages\[1\]"):
                await history.add([fine, ai.ModelRequest(parts=[ai.UserPromptPart("\ud800")])])
            with pytest.raises(EntryError):
                await history.add([fine, ai.ModelRequest(parts=[], metadata={"n": 2**70})])
            assert await history.messages() == []
            assert await history.add([]) == ()
            await history.clear()
            assert await session.entries() == ()

    asyncio.run(main())


# ---------------------------------------------------------------------------- whole agents


def scripted(*answers: Any) -> FunctionModel:
    left = [*answers]

    def answer(messages: list[Any], info: AgentInfo) -> Any:
        return ai.ModelResponse(parts=left.pop(0))

    return FunctionModel(answer)


def test_an_agent_goes_on_in_another_process_as_in_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    model = scripted(
        [ai.ThinkingPart("Hm."), ai.ToolCallPart("build", {"target": "x"}, "c1")],
        [ai.ToolCallPart("build", {"target": "all"}, "c2")],
        [ai.TextPart("It is built.")],
        [ai.TextPart("Quite.")],
    )
    agent = Agent(model, instructions="You build things.")

    @agent.tool_plain
    def build(target: str) -> dict[str, bool]:
        if target == "x":
            raise ModelRetry("there is no x")
        return {"ok": True}

    async def one(prompt: str) -> list[Any]:
        async with await AsyncSession.open(path, create=True) as session:
            history = MessageHistory(session)
            result = await agent.run(prompt, message_history=await history.messages())
            await history.add(result.new_messages())
            assert await history.messages() == result.all_messages()
            return result.all_messages()

    first = asyncio.run(one("Build it."))
    second = asyncio.run(one("Sure?"))
    assert second[: len(first)] == first
    assert len(second) == 8
    session = open_session(str(path))
    assert session.findings == ()
    for target in TARGETS:
        build_context(session.entries, target, details=session.details)
    told = [event.outcome.status for event in Session.open(path).history().events if hasattr(event, "output")]
    assert told == ["failed", "success"]


def test_a_call_that_waits_for_approval_waits_in_the_log() -> None:
    agent: Any = Agent(
        scripted([ai.ToolCallPart("delete", {}, "c1")], [ai.TextPart("It is gone.")]),
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain(requires_approval=True)
    def delete() -> str:
        return "deleted"

    async def main() -> None:
        async with AsyncSession.in_memory() as session:
            history = MessageHistory(session)
            result = await agent.run("Delete it.")
            await history.add(result.new_messages())
            assert [one.call.id for one in await session.open_calls()] == ["c1"]
            # No stand-in is read: the call is the agent's to answer.
            again = await agent.run(
                message_history=await history.messages(),
                deferred_tool_results=DeferredToolResults(approvals={"c1": True}),
            )
            await history.add(again.new_messages())
            assert again.output == "It is gone."
            assert await session.open_calls() == ()
            assert await history.messages() == again.all_messages()

    asyncio.run(main())


def test_clearing_is_an_entry_and_agent_context_and_command_agree(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    async def main() -> None:
        async with await AsyncSession.create(path) as session:
            history = MessageHistory(session)
            await history.add([ai.ModelRequest(parts=[ai.UserPromptPart("old")])])
            before = await session.entries()
            await history.clear()
            await history.clear()
            assert await history.messages() == []
            assert (await session.entries())[:-1] == before
            new = [ai.ModelRequest(parts=[ai.UserPromptPart("new")])]
            await history.add(new)
            assert await history.messages() == new
            for target in TARGETS:
                assert (await session.context(target)).items == [{"role": "user", "content": "new"}]

    asyncio.run(main())
    run = subprocess.run(
        [sys.executable, "-m", "transcript_log", "context", str(path), "--target", "openai-chat/gpt-5"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == ['{"role":"user","content":"new"}']


# ------------------------------------------------------------------------- read of others


def test_a_session_of_another_is_read_as_messages_and_what_is_lost_is_told() -> None:
    entries = [
        new_message({"role": "system", "content": "Be brief."}),
        new_message(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "See"},
                    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                ],
            }
        ),
        new_message(
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "gAAAA",
            },
            family=TARGETS[0].family,
        ),
        new_message(
            {"type": "web_search_call", "id": "ws_1", "status": "completed"}, family=TARGETS[0].family
        ),
        new_message(
            {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"a":1}'},
            family=TARGETS[0].family,
        ),
        new_message({"type": "function_call_output", "call_id": "c1", "output": "done"}),
        new_message(
            {"type": "function_call", "call_id": "c2", "name": "shell", "arguments": "{}"},
            family=TARGETS[0].family,
        ),
        new_message({"role": "user", "content": "Well?"}),
    ]
    read = read_messages(entries, {})
    asked, answered, returned, again, last = read.messages
    assert [part.content for part in asked.parts] == [
        "Be brief.",
        ["See", ai.ImageUrl("https://example.com/a.png")],
    ]
    thinking, call = answered.parts
    assert (thinking.content, thinking.id, thinking.signature, thinking.provider_name) == (
        "Hm.",
        "rs_1",
        "gAAAA",
        "openai",
    )
    assert (call.tool_name, call.tool_call_id, call.args) == ("shell", "c1", '{"a":1}')
    (part,) = returned.parts
    assert (part.tool_name, part.content, part.outcome) == ("shell", "done", "success")
    assert again.tool_calls[0].tool_call_id == "c2"
    stand_in, prompt = last.parts
    assert (stand_in.tool_name, stand_in.tool_call_id, stand_in.outcome) == ("shell", "c2", "interrupted")
    assert prompt.content == "Well?"
    assert [(change.kind, change.rule, change.entry) for change in read.changes] == [
        ("added", "unanswered-call", entries[6].id),
        ("left-out", "form", entries[3].id),
    ]


def test_an_answer_that_says_nothing_parts_no_request() -> None:
    entries = [
        new_message({"role": "user", "content": "One."}),
        new_message({"role": "assistant", "content": []}),
        new_message({"role": "user", "content": "Two."}),
    ]
    (asked,) = read_messages(entries, {}).messages
    assert [part.content for part in asked.parts] == ["One.", "Two."]


def test_what_others_add_between_two_runs_is_there_for_the_next() -> None:
    async def main() -> None:
        async with AsyncSession.in_memory() as session:
            history = MessageHistory(session)
            mine = [
                ai.ModelRequest(parts=[ai.UserPromptPart("Build it.")]),
                ai.ModelResponse(parts=[ai.ToolCallPart("shell", {}, "c1")]),
            ]
            await history.add(mine)
            (waiting,) = await session.open_calls()
            await session.add_output(waiting.call, "done by hand")
            await session.add({"role": "user", "content": "Go on."})
            messages = await history.messages()
            assert messages[:2] == mine
            (rest,) = messages[2:]
            assert [(part.part_kind, part.content) for part in rest.parts] == [
                ("tool-return", "done by hand"),
                ("user-prompt", "Go on."),
            ]
            assert rest.parts[0].tool_name == "shell"

    asyncio.run(main())


def test_a_message_that_a_boundary_cuts_is_read_anew_and_that_is_told() -> None:
    response = ai.ModelResponse(
        parts=[ai.TextPart("One.", id="msg_1"), ai.ToolCallPart("shell", {}, "c1")],
        provider_name="openai",
        provider_response_id="resp_1",
        model_name="m",
    )
    _, entries, details = round_trip([ai.ModelRequest(parts=[ai.UserPromptPart("old")]), response])
    kept = new_compaction(Compaction(summary="So far.", first_kept_entry_id=entries[-1].id))
    read = read_messages([*entries, kept], details)
    assert "So far." in str(read.messages[0])
    assert read.messages[1].tool_calls[0].tool_call_id == "c1"
    cut = read_messages(entries[:-1], details)
    assert [change.rule for change in cut.changes] == ["form"]
    assert cut.messages[-1].text == "One."


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in (ROOT / "tests" / "data").glob("*/*.jsonl")
        if path.parent.name in ("claude-code", "codex", "pi")
    ),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_an_imported_session_is_read_and_its_texts_and_calls_are_there(path: Path) -> None:
    session = open_session(str(path))
    read = read_messages(session.entries, session.details)
    context = build_context(session.entries, None, details=session.details)
    from transcript_log import items

    calls = [
        call.id.partition("|")[0] for item in context.items for call in items.tool_calls(item) if call.id
    ]
    answers = [one for one in read.messages if isinstance(one, ai.ModelResponse)]
    assert [call.tool_call_id for one in answers for call in one.tool_calls] == calls
    returned = [
        part.tool_call_id for one in read.messages for part in one.parts if part.part_kind == "tool-return"
    ]
    assert sorted(returned) == sorted(calls)
    told = "\n".join(text for item in context.items if (text := items.text(item).strip()))
    spoken = json_of(read.messages).decode()
    for line in told.splitlines()[:200]:
        assert repr(line)[1:-1][:20] in spoken or line[:10] in spoken


def test_a_missing_package_is_named_with_its_extra() -> None:
    program = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "try:\n import transcript_log.adapters.pydantic_ai\n"
        "except ImportError as error:\n print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip install 'transcript-log[pydantic-ai]'" in run.stdout
