"""One log behind several frameworks: each reads what the others wrote, and so does the command."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from extras import needed

from transcript_log import Session, Target
from transcript_log.aio import AsyncSession
from transcript_log.cli import main as command

needed("pydantic_ai", "pydantic-ai")
needed("langchain_core", "langchain")
needed("agents", "openai-agents")
from langchain_core import messages as lc  # noqa: E402
from pydantic_ai import messages as ai  # noqa: E402

from transcript_log.adapters.langchain import SessionChatMessageHistory  # noqa: E402
from transcript_log.adapters.openai_agents import TranscriptSession  # noqa: E402
from transcript_log.adapters.pydantic_ai import MessageHistory  # noqa: E402

TARGETS: Final = ["openai-responses/gpt-5.4", "openai-chat/gpt-5.4", "anthropic-messages/claude-opus-4-8"]
TARGET: Final = Target("openai-responses", "gpt-5.4")
OF_PYDANTIC: Final = [
    ai.ModelRequest(parts=[ai.UserPromptPart("One.")], instructions="Be brief."),
    ai.ModelResponse(
        parts=[
            ai.ThinkingPart("Hm.", id="rs_1", signature="gAAAA", provider_name="openai"),
            ai.ToolCallPart("shell", '{"command":"make"}', "call_1", id="fc_1", provider_name="openai"),
        ],
        provider_name="openai",
        provider_response_id="resp_1",
        model_name="gpt-5.4",
    ),
    ai.ModelRequest(parts=[ai.ToolReturnPart("shell", "done", "call_1")]),
]
OF_LANGCHAIN: Final = [
    lc.AIMessage(
        "It is built.", response_metadata={"model_provider": "openai", "model_name": "gpt-5.4"}, id="resp_2"
    ),
    lc.HumanMessage("Two."),
]
OF_OPENAI: Final[list[Any]] = [
    {"type": "function_call", "call_id": "call_2", "name": "shell", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_2", "output": "done too"},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log to which three frameworks have added."""
    path = tmp_path / "s.jsonl"

    async def main() -> None:
        with Session.create(path) as session:
            shared = AsyncSession(session)
            await MessageHistory(shared).add(OF_PYDANTIC)
            SessionChatMessageHistory(session).add_messages(OF_LANGCHAIN)
            await TranscriptSession(shared, target=TARGET).add_items(OF_OPENAI)

    asyncio.run(main())
    return path


def test_each_framework_has_its_own_messages_as_they_were_and_those_of_others_as_they_say(log: Path) -> None:
    async def main() -> None:
        with Session.open(log) as session:
            shared = AsyncSession(session)
            agent = await MessageHistory(shared).read()
            assert agent.messages[:3] == OF_PYDANTIC
            assert [[part.part_kind for part in one.parts] for one in agent.messages[3:]] == [
                ["text"],
                ["user-prompt"],
                ["tool-call"],
                ["tool-return"],
            ]
            chain = SessionChatMessageHistory(session).read()
            assert [one.type for one in chain.messages] == [
                "human",
                "ai",
                "tool",
                "ai",
                "human",
                "ai",
                "tool",
            ]
            assert chain.messages[3:5] == OF_LANGCHAIN
            items = await TranscriptSession(shared, target=TARGET).get_items()
            assert [item.get("type", item.get("role")) for item in items] == [
                "user",
                "reasoning",
                "function_call",
                "function_call_output",
                "message",
                "user",
                "function_call",
                "function_call_output",
            ]
            assert (agent.changes, chain.changes) == ((), ())

    asyncio.run(main())


@pytest.mark.parametrize(
    "words",
    [["replay"], ["inspect"], ["check"], ["stats"], *(["context", "--target", one] for one in TARGETS)],
    ids=" ".join,
)
def test_the_command_reads_it_without_a_finding(log: Path, words: list[str]) -> None:
    result = CliRunner().invoke(command, [*words, str(log)])
    assert (result.exit_code, result.exception) == (0, None), result.output
    for text in ("done", "Two."):
        assert text in result.output or words[0] in ("inspect", "check", "stats")
    if words[0] == "inspect":
        assert "findings     none" in result.output


def test_what_one_takes_back_is_taken_back_for_all(log: Path) -> None:
    async def main() -> None:
        with Session.open(log) as session:
            shared = AsyncSession(session)
            for _ in range(3):
                await TranscriptSession(shared, target=TARGET).pop_item()
            agent = await MessageHistory(shared).read()
            assert "Two." not in str(agent.messages)
            assert agent.messages[-1].text == "It is built."
            # What is repeated by the entry that says what is left has no form any more.
            newest = session.entries()[-1].id
            assert [(change.rule, change.entry) for change in agent.changes] == [("form", newest)]
            assert agent.messages[1].parts[0].signature == "gAAAA"
            chain = SessionChatMessageHistory(session)
            assert [one.type for one in chain.messages] == ["human", "ai", "tool", "ai"]
            chain.clear()
            assert await MessageHistory(shared).messages() == []
            assert await TranscriptSession(shared, target=TARGET).get_items() == []
            assert session.items() == ()

    asyncio.run(main())


def test_a_fork_has_the_messages_up_to_its_end(log: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with await AsyncSession.open(log) as session:
            entries = await session.entries()
            async with await session.fork(tmp_path / "whole.jsonl", at=entries[3].id) as fork:
                assert await MessageHistory(fork).messages() == OF_PYDANTIC
            async with await session.fork(tmp_path / "half.jsonl", at=entries[1].id) as fork:
                read = await MessageHistory(fork).read()
                assert read.messages[0] == OF_PYDANTIC[0]
                assert [part.part_kind for part in read.messages[1].parts] == ["thinking"]
                assert [(change.rule, change.entry) for change in read.changes] == [("form", entries[1].id)]
                await MessageHistory(fork).add(OF_PYDANTIC[2:])
                assert len(await MessageHistory(fork).messages()) == 3

    asyncio.run(main())


def test_what_is_broken_in_a_sidecar_is_read_anew_and_told(log: Path) -> None:
    with Session.open(log) as session:
        first = session.entries()[0].id
        wrong = [
            None,
            {"kind": "pydantic-ai"},
            {"kind": "pydantic-ai", "data": {}},
            {"kind": "pydantic-ai", "data": {"entries": [], "message": {}}},
            {"kind": "pydantic-ai", "data": {"entries": [first], "message": {"$item": [7]}}},
            {"kind": "pydantic-ai", "data": {"entries": [first], "message": {"$text": "nowhere"}}},
            {"kind": "pydantic-ai", "data": {"entries": [first], "message": {"kind": "request", "parts": 1}}},
            {"kind": "langchain", "data": {"entries": [first], "message": {"type": "odd", "data": {}}}},
        ]
        view = session.view()
    from transcript_log.adapters import langchain, pydantic_ai

    for payload in wrong:
        name = "langchain" if payload and payload["kind"] == "langchain" else "pydantic-ai"
        details = {**view.details, (f"form:{name}", first): payload}
        read: Any = (langchain if name == "langchain" else pydantic_ai).read_messages(view.entries, details)
        assert "One." in str(read.messages[0])
        told = payload is not None and "data" in payload
        assert [change.rule for change in read.changes] == (["form"] if told else [])
