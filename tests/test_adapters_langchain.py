"""The chat message history of LangChain: its own serialisation is the judge of what comes back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from extras import needed
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import Session, Target, build_context, items, new_message, read_outcome
from transcript_log.check import check_entries
from transcript_log.cli.source import open_session
from transcript_log.entries import Entry, MessageEntry
from transcript_log.errors import EntryError
from transcript_log.stats import find_spent

needed("langchain_core", "langchain")
from langchain_core import messages as lc  # noqa: E402
from langchain_core.language_models import GenericFakeChatModel  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder  # noqa: E402
from langchain_core.runnables.history import RunnableWithMessageHistory  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

from transcript_log.adapters.langchain import (  # noqa: E402
    SessionChatMessageHistory,
    read_messages,
    target_of_message,
)

ROOT: Final = Path(__file__).resolve().parent.parent
TARGETS: Final = [
    Target("openai-responses", "gpt-5.4"),
    Target("openai-chat", "gpt-5.4"),
    Target("anthropic-messages", "claude-opus-4-8"),
]


def own(messages: Sequence[Any]) -> list[Any]:
    """What LangChain's serialisation makes of messages."""
    return lc.messages_from_dict([lc.message_to_dict(message) for message in messages])


def round_trip(*batches: Sequence[Any]) -> tuple[list[Any], tuple[Entry, ...], dict[Any, Any]]:
    """What comes back of messages that were added in batches, and the log that holds them."""
    with Session.in_memory() as session:
        history = SessionChatMessageHistory(session)
        for batch in batches:
            history.add_messages(batch)
        read = history.read()
        assert read.changes == ()
        view = session.view()
        return read.messages, tuple(view.entries), dict(view.details)


# ----------------------------------------------------------------------------- any message

TEXTS = st.text(max_size=12) | st.sampled_from(["x" * 60, "y" * 500])
NAMES = st.sampled_from(["a", "b", "call_1", "toolu_1"])
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "$item", "$text", "$plain", "type"]), inner, max_size=2)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["k", "n", "$item"]), PLAIN, max_size=2)
BLOCKS = (
    TEXTS
    | st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
    | st.builds(lambda text: {"type": "reasoning", "reasoning": text, "extras": {"signature": "c2ln"}}, TEXTS)
    | st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "c2ln"}, TEXTS)
    | st.just({"type": "redacted_thinking", "data": "ZGF0YQ=="})
    | st.just({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}})
    | st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}})
    | st.just({"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"})
    | st.just({"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf"})
    | st.just({"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"})
    | st.just({"type": "text-plain", "text": "plain", "mime_type": "text/plain"})
    | st.just({"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {"command": "make"}})
    | st.just({"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"q": "x"}})
    | st.just({"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": [1]})
    | st.builds(lambda value: {"type": "non_standard", "value": value}, OBJECTS)
    | st.builds(lambda value: {"type": "from_the_future", "data": value}, PLAIN)
)
CONTENT = TEXTS | st.lists(BLOCKS, max_size=4)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "model_provider": st.sampled_from(["openai", "anthropic", "google_genai", "deepseek", "a/b"]),
        "model_name": st.sampled_from(["m", "gpt-5.4"]),
        "finish_reason": st.sampled_from(["stop", "tool_calls", "length", "odd"]),
        "stop_reason": st.just("end_turn"),
        "more": PLAIN,
    },
)
CALLS = st.builds(
    lambda name, args, id: {"name": name, "args": args, "id": id}, NAMES, OBJECTS, st.none() | NAMES
)
BROKEN = st.builds(
    lambda name, args, id: {"name": name, "args": args, "id": id, "error": None}, NAMES, TEXTS, NAMES
)
USAGES = st.builds(
    lambda given, made, read: {
        "input_tokens": given + read,
        "output_tokens": made,
        "total_tokens": given + read + made,
        "input_token_details": {"cache_read": read},
    },
    st.integers(0, 99),
    st.integers(0, 99),
    st.integers(0, 99),
)
COMMON: Final = {"name": st.none() | TEXTS, "additional_kwargs": OBJECTS}
AI: Final = {
    "response_metadata": METADATA,
    "tool_calls": st.lists(CALLS, max_size=2),
    "invalid_tool_calls": st.lists(BROKEN, max_size=1),
    "usage_metadata": st.none() | USAGES,
    "id": st.sampled_from([None, "run-1", "resp_1", "msg_1"]),
}
MESSAGES = (
    st.builds(lc.HumanMessage, CONTENT, **COMMON)
    | st.builds(lc.SystemMessage, CONTENT, **COMMON)
    | st.builds(lc.AIMessage, CONTENT, **COMMON, **AI)
    | st.builds(lc.AIMessageChunk, TEXTS, response_metadata=METADATA)
    | st.builds(
        lc.ToolMessage,
        CONTENT,
        tool_call_id=NAMES,
        artifact=PLAIN,
        status=st.sampled_from(["success", "error"]),
        **COMMON,
    )
    | st.builds(lc.FunctionMessage, CONTENT, name=NAMES)
    | st.builds(lambda id: lc.RemoveMessage(id=id), NAMES)
    | st.builds(lc.ChatMessage, CONTENT, role=st.sampled_from(["user", "assistant", "system", "critic"]))
)


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """Messages in any order, of which some go on in what others began."""
    return draw(st.lists(MESSAGES, max_size=6))


@given(st.lists(histories(), max_size=3))
def test_what_was_added_comes_back_equal(batches: list[list[Any]]) -> None:
    given_ = [message for batch in batches for message in batch]
    back, _, _ = round_trip(*batches)
    assert back == own(given_)
    assert [lc.message_to_dict(one) for one in back] == [lc.message_to_dict(one) for one in own(given_)]


@given(histories())
def test_every_api_takes_what_was_added(messages: list[Any]) -> None:
    _, entries, details = round_trip(messages, [lc.HumanMessage("And now?")])
    for target in TARGETS:
        context = build_context(entries, target, details=details)  # raises for what the API would refuse
        assert "And now?" in str(context.items[-1])
    build_context(entries, None, details=details)
    assert not [one for one in check_entries(entries, details) if one.severity == "error"]


@given(histories())
def test_each_response_counts_once(messages: list[Any]) -> None:
    _, entries, _ = round_trip(messages)
    recorded = [one.response for one in entries if isinstance(one, MessageEntry) and one.response is not None]
    answers = [one for one in messages if isinstance(one, lc.AIMessage)]
    assert len(recorded) == len(answers)
    total = sum(one.usage_metadata["output_tokens"] for one in answers if one.usage_metadata is not None)
    assert sum(one.usage.output for one in recorded if one.usage is not None) == total


@given(histories())
def test_what_is_spoken_reads_without_the_form_too(messages: list[Any]) -> None:
    """A log whose sidecar is lost still gives messages that a chain takes."""
    _, entries, _ = round_trip(messages)
    read = read_messages(entries, {})
    assert own(read.messages) == read.messages
    for message in read.messages:
        assert message.content_blocks is not None


# ------------------------------------------------------------------------------ one by one


def test_a_message_of_anthropic_goes_back_to_anthropic_as_it_came() -> None:
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {"command": "make"}},
    ]
    answer = lc.AIMessage(
        blocks,
        tool_calls=[{"name": "shell", "args": {"command": "make"}, "id": "toolu_1"}],
        response_metadata={
            "model_provider": "anthropic",
            "model_name": "claude-opus-4-8",
            "stop_reason": "tool_use",
        },
        usage_metadata={
            "input_tokens": 100,
            "output_tokens": 7,
            "total_tokens": 107,
            "input_token_details": {"cache_read": 60, "cache_creation": 30},
        },
        id="msg_1",
    )
    returned = lc.ToolMessage("done", tool_call_id="toolu_1", status="error")
    _, entries, details = round_trip([lc.HumanMessage("Build it."), answer, returned])
    context = build_context(entries, TARGETS[2], details=details, strict=True)
    assert context.changes == ()
    output = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done", "is_error": True}
    assert context.items == [
        {"role": "user", "content": "Build it."},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [output]},
    ]
    outcome = read_outcome(details["toolu_1", entries[1].id])
    assert outcome is not None
    assert outcome.status == "failed"
    (spent,) = find_spent([("", entries)])
    assert (spent.tokens.input, spent.tokens.cache_read, spent.tokens.cache_write) == (10, 60, 30)
    assert (spent.tokens.output, spent.model) == (7, "claude-opus-4-8")


def test_a_message_of_the_responses_api_keeps_its_encrypted_reasoning() -> None:
    answer = lc.AIMessage(
        [
            {"type": "reasoning", "id": "rs_1", "reasoning": "Hm.", "extras": {"encrypted_content": "gAAAA"}},
            {"type": "text", "text": "Let me see."},
        ],
        tool_calls=[{"name": "shell", "args": {"command": "make"}, "id": "call_1"}],
        response_metadata={"model_provider": "openai", "model_name": "gpt-5.4", "output_version": "v1"},
        id="resp_1",
    )
    _, entries, _ = round_trip(
        [lc.HumanMessage("Build it."), answer, lc.ToolMessage("done", tool_call_id="call_1")]
    )
    context = build_context(entries, TARGETS[0], strict=True)
    assert context.changes == ()
    assert [item.get("type") for item in context.items[1:]] == [
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert context.items[1]["encrypted_content"] == "gAAAA"


@pytest.mark.parametrize(
    ("told", "name", "family"),
    [
        ({"model_provider": "anthropic", "model_name": "c"}, None, "anthropic-messages/direct"),
        ({"model_provider": "openai", "model_name": "m"}, "chatcmpl-1", "openai-chat/direct"),
        ({"model_provider": "openai", "model_name": "m"}, "resp_1", "openai-responses/direct/m"),
        ({"model_provider": "openai", "model": "m", "id": "resp_1"}, None, "openai-responses/direct/m"),
        ({"model_provider": "deepseek", "model": "m"}, None, "openai-chat/deepseek"),
        ({"model_provider": "google_genai", "model": "m"}, None, None),
        ({"model_provider": "openai"}, None, None),
        ({"model_provider": "a/b", "model": "m"}, None, None),
        ({}, None, None),
    ],
)
def test_who_made_a_message_is_told_by_its_metadata(
    told: dict[str, Any], name: str | None, family: str | None
) -> None:
    target = target_of_message(lc.AIMessage("x", response_metadata=told, id=name))
    assert (target and target.family) == family


def test_an_answer_of_deepseek_bears_its_name() -> None:
    session = Session.in_memory()
    session.add(
        {"role": "assistant", "content": "x", "reasoning_content": "hm"}, target=Target("deepseek-chat", "m")
    )
    view = session.view()
    (message,) = read_messages(view.entries, view.details).messages
    assert message.response_metadata["model_provider"] == "deepseek"


@pytest.mark.parametrize(
    ("told", "finish"),
    [
        ({"finish_reason": "tool_calls"}, "tool_use"),
        ({"stop_reason": "end_turn"}, "stop"),
        ({"finish_reason": "length"}, "max_tokens"),
        ({"finish_reason": 7}, None),
        ({}, None),
    ],
)
def test_why_an_answer_ended_is_on_record(told: dict[str, Any], finish: str | None) -> None:
    _, (entry,), _ = round_trip([lc.AIMessage("x", response_metadata=told)])
    assert isinstance(entry, MessageEntry)
    assert entry.response is not None
    assert entry.response.finish_reason == finish


def test_the_text_of_a_message_may_be_said_in_another() -> None:
    first = lc.HumanMessage("Build it. " * 9)
    messages = [
        lc.HumanMessage([{"type": "text", "text": first.text}]),
        lc.FunctionMessage(first.text, name="f"),
    ]
    back, entries, _ = round_trip(messages)
    assert back == messages
    assert next(items.text(one.message) for one in entries if isinstance(one, MessageEntry)) == first.content


class Odd(lc.HumanMessage):
    """A message of a kind that LangChain cannot read back."""

    type: Any = "odd"


@pytest.mark.parametrize(
    "broken",
    [
        lc.HumanMessage("x", additional_kwargs={"n": float("nan")}),
        lc.ToolMessage("x", tool_call_id="c", artifact=(1, 2)),
        lc.ToolMessage("x", tool_call_id="c", artifact=object()),
        Odd("x"),
    ],
    ids=["nan", "tuple", "object", "class"],
)
def test_what_does_not_come_back_is_refused_whole(broken: Any) -> None:
    with Session.in_memory() as session:
        history = SessionChatMessageHistory(session)
        with pytest.raises(EntryError, match=r"\$\.messages\[1\]"):
            history.add_messages([lc.HumanMessage("fine"), broken])
        assert history.messages == []
        history.add_messages([])
        history.clear()
        assert session.entries() == ()


# ------------------------------------------------------------------------------ whole chains


@tool
def build(target: str) -> str:
    """Build a target."""
    return f"{target} is built"


def test_a_chain_with_tools_goes_on_in_another_process_as_in_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    answers = iter(
        [
            lc.AIMessage("", tool_calls=[{"name": "build", "args": {"target": "all"}, "id": "c1"}]),
            lc.AIMessage("It is built."),
            lc.AIMessage("Quite."),
        ]
    )
    prompt = ChatPromptTemplate.from_messages(
        [("system", "You build."), MessagesPlaceholder("history"), MessagesPlaceholder("input")]
    )
    seen: list[int] = []

    def count(value: Any) -> Any:
        seen.append(len(value.to_messages()))
        return value

    chain = prompt | count | GenericFakeChatModel(messages=answers)

    def ask(*messages: Any) -> Any:
        with Session.open(path, create=True) as session:
            history = SessionChatMessageHistory(session)
            runnable = wrapped(chain, history)
            return runnable.invoke({"input": [*messages]}, config={"configurable": {"session_id": "s"}})

    answer = ask(lc.HumanMessage("Build it."))
    assert ask(build.invoke(answer.tool_calls[0])).content == "It is built."
    ask(lc.HumanMessage("Sure?"))
    assert seen == [2, 4, 6]
    with Session.open(path, mode="read") as session:
        told = [(one.call.name, one.state) for one in session.open_calls()]
        assert told == []
        kinds = [message.type for message in SessionChatMessageHistory(session).messages]
    assert kinds == ["human", "ai", "tool", "ai", "human", "ai"]
    opened = open_session(str(path))
    assert opened.findings == ()
    for target in TARGETS:
        build_context(opened.entries, target, details=opened.details)


def wrapped(chain: Any, history: SessionChatMessageHistory) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain recommends its own checkpointers by now
        return RunnableWithMessageHistory(
            chain, lambda session_id: history, input_messages_key="input", history_messages_key="history"
        )


def test_what_is_awaited_takes_effect_in_order() -> None:
    async def main() -> None:
        with Session.in_memory() as session:
            history = SessionChatMessageHistory(session)
            tasks = [asyncio.create_task(history.aadd_messages([lc.HumanMessage(str(n))])) for n in range(20)]
            await asyncio.sleep(0)
            tasks[7].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert [one.content for one in await history.aget_messages()] == [str(n) for n in range(20)]
            await history.aclear()
            assert await history.aget_messages() == []
            await history.aadd_messages([])
            assert len(session.entries()) == 21

    asyncio.run(main())


def test_clearing_is_an_entry_and_chain_and_context_agree() -> None:
    with Session.in_memory() as session:
        history = SessionChatMessageHistory(session)
        history.add_user_message("old")
        before = session.entries()
        history.clear()
        history.clear()
        assert history.messages == []
        assert session.entries()[:-1] == before
        assert session.context_at(before[-1].id, TARGETS[1]).items == [{"role": "user", "content": "old"}]
        history.add_user_message("new")
        assert history.messages == [lc.HumanMessage("new")]
        for target in TARGETS:
            assert session.context(target).items == [{"role": "user", "content": "new"}]


# ------------------------------------------------------------------------- read of others


def test_a_session_of_another_is_read_as_messages_and_what_is_lost_is_told() -> None:
    family = TARGETS[0].family
    entries = [
        new_message({"role": "developer", "content": "Be brief."}),
        new_message(
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "See"},
                    {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
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
            family=family,
        ),
        new_message({"type": "web_search_call", "id": "ws_1", "status": "completed"}, family=family),
        new_message(
            {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"a":1}'}, family=family
        ),
        new_message({"type": "function_call_output", "call_id": "c1", "output": "done"}),
        new_message(
            {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "free text"},
            family=family,
        ),
        new_message({"role": "user", "content": "Well?"}),
    ]
    read = read_messages(entries, {})
    system, asked, answered, returned, again, stand_in, last = read.messages
    assert (system.type, system.content) == ("system", "Be brief.")
    assert asked.content_blocks[1] == {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    assert answered.content_blocks[0] == {
        "type": "reasoning",
        "reasoning": "Hm.",
        "id": "rs_1",
        "extras": {"encrypted_content": "gAAAA"},
    }
    assert [(call["id"], call["args"]) for call in answered.tool_calls] == [("c1", {"a": 1})]
    assert answered.response_metadata["model_name"] == "gpt-5.4"
    assert (returned.content, returned.name, returned.tool_call_id) == ("done", "shell", "c1")
    assert [(call["id"], call["args"]) for call in again.invalid_tool_calls] == [("c2", "free text")]
    assert (stand_in.tool_call_id, stand_in.name, stand_in.status) == ("c2", "patch", "error")
    assert last.content == "Well?"
    assert [(change.kind, change.rule, change.entry) for change in read.changes] == [
        ("added", "unanswered-call", entries[6].id),
        ("left-out", "form", entries[3].id),
    ]


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in (ROOT / "tests" / "data").glob("*/*.jsonl")
        if path.parent.name in ("claude-code", "codex", "pi")
    ),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_an_imported_session_is_read_and_its_calls_are_there(path: Path) -> None:
    session = open_session(str(path))
    read = read_messages(session.entries, session.details)
    context = build_context(session.entries, None, details=session.details)
    calls = [
        call.id.partition("|")[0] for item in context.items for call in items.tool_calls(item) if call.id
    ]
    answers = [one for one in read.messages if isinstance(one, lc.AIMessage)]
    found = [call["id"] for one in answers for call in (*one.tool_calls, *one.invalid_tool_calls)]
    assert sorted(found) == sorted(calls)
    returned = [one.tool_call_id for one in read.messages if isinstance(one, lc.ToolMessage)]
    assert sorted(returned) == sorted(calls)


def test_what_one_adapter_wrote_the_other_reads() -> None:
    needed("pydantic_ai", "pydantic-ai")
    from pydantic_ai import messages as ai

    from transcript_log.adapters import pydantic_ai
    from transcript_log.aio import AsyncSession

    async def main() -> None:
        with Session.in_memory() as session:
            chain, agent = (
                SessionChatMessageHistory(session),
                pydantic_ai.MessageHistory(AsyncSession(session)),
            )
            chain.add_messages(
                [
                    lc.HumanMessage("Build it."),
                    lc.AIMessage(
                        "I build.",
                        tool_calls=[{"name": "build", "args": {"target": "all"}, "id": "c1"}],
                        usage_metadata={"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
                        response_metadata={
                            "model_provider": "openai",
                            "model_name": "m",
                            "finish_reason": "tool_calls",
                        },
                    ),
                    lc.ToolMessage("all is built", tool_call_id="c1"),
                ]
            )
            theirs = await agent.messages()
            asked, answered, returned = theirs
            assert [part.content for part in asked.parts] == ["Build it."]
            assert answered.text == "I build."
            assert [(one.tool_name, one.args_as_dict()) for one in answered.tool_calls] == [
                ("build", {"target": "all"})
            ]
            assert (answered.usage.input_tokens, answered.usage.output_tokens) == (9, 3)
            assert (answered.model_name, answered.provider_name) == ("m", "openai")
            assert answered.finish_reason == "tool_call"
            assert [(part.tool_name, part.content) for part in returned.parts] == [("build", "all is built")]
            await agent.add([ai.ModelResponse(parts=[ai.ThinkingPart("Hm."), ai.TextPart("It is built.")])])
            mine = chain.messages
            assert [one.type for one in mine] == ["human", "ai", "tool", "ai"]
            assert mine[-1].text == "It is built."
            assert mine[-1].content_blocks[0] == {"type": "reasoning", "reasoning": "Hm."}
            assert chain.read().changes == ()
            assert (await agent.read()).changes == ()
            assert (await agent.messages())[:3] == theirs
            for target in TARGETS:
                build_context(session.entries(), target)

    asyncio.run(main())


def test_a_missing_package_is_named_with_its_extra() -> None:
    program = (
        "import sys; sys.modules['langchain_core'] = None\n"
        "try:\n import transcript_log.adapters.langchain\n"
        "except ImportError as error:\n print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip install 'transcript-log[langchain]'" in run.stdout
