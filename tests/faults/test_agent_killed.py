"""Agents that are killed at every step: what was said stays said, and no tool runs twice unseen.

A child runs a whole loop: two questions, answers with parallel calls, tools that leave a mark in
a file of their own, a compaction in between. It is killed at each system call that changes a
file, its tools' own included; then another child opens the log and goes on to the end.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest
from children import Child, Say
from hooks import Act, acting, dying_before, dying_within, passing

from transcript_log import CompactionEntry, MessageEntry, Session, Target
from transcript_log.aio import AsyncSession
from transcript_log.apis import check_items
from transcript_log.context import Context
from transcript_log.items import text, tool_calls, tool_outputs
from transcript_log.response import ToolCall, parse_response
from transcript_log.response.wire import raw_answer
from transcript_log.session import Recorded
from transcript_log.testing import ScriptedModel

TARGETS: Final = (
    Target("openai-responses", "gpt-5.4"),
    Target("openai-chat", "glm-5"),
    Target("anthropic-messages", "claude-opus-4-8"),
    Target("gemini", "gemini-3-pro"),
)
CHANGING: Final = ("write", "fdatasync", "fsync", "link", "unlink", "mkdir", "ftruncate")
"""Between two of these calls a killed process looks the same to the next one."""

QUESTIONS: Final = {"q1": "Build it.", "q2": "And now ship it."}
SCRIPT: Final = {
    "q1": [("I look first.", ["look1", "mark1", "mark2"]), ("", ["mark3"]), ("It is built.", [])],
    "q2": [("", ["mark4", "look2"]), ("It is shipped.", [])],
}
"""What the model answers to each question: words, and calls by their ids."""

ANSWERS: Final = [(number, *answer) for number, answer in enumerate(chain(*SCRIPT.values()))]
MARKS: Final = ["mark1", "mark2", "mark3", "mark4"]
WORDS: Final = [words for _, words, _ in ANSWERS if words]
SUMMARY: Final = "They built it."


def raw(target: Target, number: int, words: str, ids: Sequence[str]) -> dict[str, Any]:
    """An answer of the target's API, with reasoning that goes back to it."""
    calls = [ToolCall(one, one[:4], {"n": number}) for one in ids]
    made = raw_answer(target.api, id=f"resp_{number}", model=target.model, text=words or None, calls=calls)
    match target.api:
        case "openai-responses":
            sealed = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gA"}
            made["output"].insert(0, sealed)
        case "openai-chat":
            made["choices"][0]["message"]["reasoning_content"] = "Hm."
        case "gemini":
            thought = {"text": "Hm.", "thought": True, "thoughtSignature": f"c2lnbmVk{number:04}"}
            made["candidates"][0]["content"]["parts"].insert(0, thought)
        case _:
            made["content"].insert(0, {"type": "thinking", "thinking": "Hm.", "signature": f"s{number}"})
    return made


# --------------------------------------------------------------------------- the agent


class Tools:
    """``look`` may run as often as it likes; ``mark`` leaves a byte in a file, and must not run twice."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / "marks", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def run(self, call: ToolCall) -> str:
        if call.name == "mark":
            os.write(self._fd, call.id[-1].encode())
            os.fsync(self._fd)
        return f"{call.id} done"


def marks(folder: Path) -> list[str]:
    """Which calls left their mark, in the order in which they did."""
    path = folder / "marks"
    return [f"mark{digit}" for digit in path.read_text()] if path.exists() else []


def opened(folder: Path) -> Session:
    path = folder / "s.jsonl"
    return Session.open(path) if path.exists() else Session.create(path)


def answered(session: Session) -> int:
    return sum(isinstance(entry, MessageEntry) and entry.response is not None for entry in session.entries())


def work(folder: Path, target: Target, say: Say, *, tells: bool) -> None:
    """The loop of the agent, from wherever the log ends.

    Args:
        folder: Where everything is.
        target: Whom it asks.
        say: Is told of each thing that was acknowledged, and of calls that were found open.
        tells: Whether it answers itself what it cannot know; else a stand-in does.
    """
    tools = Tools(folder)
    with opened(folder) as session:
        for waiting in session.open_calls():
            say(f"open {waiting.call.id} {waiting.state}")
            if waiting.state == "never-began" or waiting.call.name == "look":
                run_tool(session, waiting.call, tools, say)
            elif tells:
                session.add_output(waiting.call, "Nobody knows how it ended.", is_error=True)
        end = 0
        for name, question in QUESTIONS.items():
            session.add({"role": "user", "content": question}, ids=[name])
            say(f"user {name}")
            end += len(SCRIPT[name])
            while (number := answered(session)) < end:
                answer = ask(session, target, number)
                say(f"answer {number}")
                for call in answer.calls:
                    run_tool(session, call, tools, say)
            if name == "q1":
                compact(session, target)
                say("compacted")


def ask(session: Session, target: Target, number: int) -> Recorded:
    context = session.context(target)
    return session.add_response(answer_to(context, target, number), to=context)


def answer_to(context: Context, target: Target, number: int) -> Any:
    return ScriptedModel(target, [raw(target, *ANSWERS[number])])(context.items)


def run_tool(session: Session, call: ToolCall, tools: Tools, say: Say) -> None:
    with session.call(call) as tool:
        tool.output(tools.run(call))
    say(f"output {call.id}")


def compact(session: Session, target: Target) -> None:
    if any(isinstance(entry, CompactionEntry) for entry in session.entries()):
        return
    plan = session.plan_compaction(target, keep_tokens=0)
    assert plan is not None
    wanted: dict[str, Any] = {"role": "user", "content": "Sum it up."}
    if target.api == "gemini":
        wanted = {"role": "user", "parts": [{"text": "Sum it up."}]}
    asked = [*plan.summarize.items, wanted]
    session.compact(plan, response=parse_response(ScriptedModel(target, [SUMMARY])(asked)))


async def work_at_once(folder: Path, target: Target, say: Say) -> None:
    """The first question for asyncio: the calls of an answer run side by side."""
    tools = Tools(folder)
    async with await AsyncSession.create(folder / "s.jsonl") as session:
        await session.add({"role": "user", "content": QUESTIONS["q1"]}, ids=["q1"])
        say("user q1")
        for number in range(len(SCRIPT["q1"])):
            context = await session.context(target)
            answer = await session.add_response(answer_to(context, target, number), to=context)
            say(f"answer {number}")
            await asyncio.gather(*[run_at_once(session, call, tools, say) for call in answer.calls])


async def run_at_once(session: AsyncSession, call: ToolCall, tools: Tools, say: Say) -> None:
    async with session.call(call) as tool:
        tool.output(await asyncio.to_thread(tools.run, call))
    say(f"output {call.id}")


# ------------------------------------------------------------------------------- judging


class Record:
    """What a log holds, as far as it counts here."""

    def __init__(self, folder: Path) -> None:
        self.users: list[str] = []
        self.answers: list[int] = []
        self.outputs: list[str] = []
        self.stand_ins: list[str] = []
        self.calls: list[str] = []
        self.summaries: list[str] = []
        self.texts: list[str] = []
        if not (folder / "s.jsonl").exists():
            return
        with Session.open(folder / "s.jsonl", mode="read") as session:
            assert {finding.rule for finding in session.damage} <= {"torn-tail"}
            for entry in session.entries():
                match entry:
                    case MessageEntry():
                        self._take(entry)
                    case CompactionEntry():
                        self.summaries.append(entry.compaction.summary)

    def _take(self, entry: MessageEntry) -> None:
        if entry.id in QUESTIONS:
            self.users.append(entry.id)
        if entry.response is not None:
            self.answers.append(int(str(entry.response.id).removeprefix("resp_")))
        self.calls += [str(call.id) for call in tool_calls(entry.message)]
        answered = [str(output.id) for output in tool_outputs(entry.message)]
        (self.stand_ins if entry.stand_in else self.outputs).extend(answered)
        self.texts.append(text(entry.message) or "")


def check_acknowledged(record: Record, said: Sequence[str]) -> None:
    for line in said:
        match line.split():
            case ["user", name]:
                assert name in record.users, line
            case ["answer", number]:
                assert int(number) in record.answers, line
            case ["output", name]:
                assert name in record.outputs, line
            case ["compacted"]:
                assert record.summaries, line


def check_open(record: Record, ran: Sequence[str], told: Sequence[str]) -> None:
    """What is told of open calls when the log is opened again is what had become of them."""
    states = {name: state for _, name, state in (line.split() for line in told if line.startswith("open "))}
    for name in MARKS:
        if name in ran and name not in record.outputs:
            assert states[name] in ("began", "finished"), (name, states)
        if states.get(name) == "never-began":
            assert name not in ran
    for name in record.calls:
        assert (name in states) == (name not in record.outputs), (name, states)


def check_end(folder: Path) -> None:
    """All was asked and answered, each thing once, and any model may go on from there."""
    record = Record(folder)
    ran = marks(folder)
    assert len(set(ran)) == len(ran), "a tool that must not run twice did"
    assert record.users == list(QUESTIONS)
    assert record.answers == [number for number, *_ in ANSWERS]
    assert [one for one in record.texts if one in WORDS] == WORDS
    assert record.calls == [name for *_, ids in ANSWERS for name in ids]
    assert record.summaries == [SUMMARY]
    assert sorted(record.outputs + record.stand_ins) == sorted(record.calls)
    for name in MARKS:
        assert name in ran or name not in done(folder), "an output of what never ran"
    with Session.open(folder / "s.jsonl", mode="read") as session:
        assert session.open_calls() == ()
        for one in TARGETS:
            items = session.context(one).items
            assert [found for found in check_items(items, one) if found.severity == "error"] == []


def done(folder: Path) -> list[str]:
    """The calls of which the log holds what the tool itself gave back."""
    with Session.open(folder / "s.jsonl", mode="read") as session:
        said = " ".join(
            str(output.content)
            for entry in session.entries()
            if isinstance(entry, MessageEntry)
            for output in tool_outputs(entry.message)
        )
    return [name for name in MARKS if f"{name} done" in said]


# ------------------------------------------------------------------------------ the tests


def start(
    run: Callable[[Say], object], act: Act = passing, names: Collection[str] = CHANGING
) -> tuple[bool, list[str]]:
    """Whether a child was killed, and what it said before."""

    def acted(say: Say) -> None:
        with acting(act, names):
            run(say)

    code, said = Child(acted).ends()
    assert code in (0, -signal.SIGKILL)
    return code != 0, said


def go_on(folder: Path, at: int, said: Sequence[str]) -> set[str]:
    """After a kill: look at what is left, finish it with any of the APIs, and judge both.

    Gives the states in which calls were found open.
    """
    record, ran = Record(folder), marks(folder)
    check_acknowledged(record, said)
    target, tells = TARGETS[at % 3], bool(at % 2)
    killed, told = start(lambda say: work(folder, target, say, tells=tells))
    assert not killed
    check_open(record, ran, told)
    check_end(folder)
    return {line.split()[2] for line in told if line.startswith("open ")}


WAYS: Final[dict[str, tuple[Callable[[int], Act], Collection[str]]]] = {
    "before": (dying_before, CHANGING),
    "within": (lambda at: dying_within(at, 0.5), ("write",)),
}
"""When the process ends: before a call, or when a write has written its half."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.api)
def test_an_agent_that_is_killed_anywhere_is_finished_by_the_next(
    folder: Path, target: Target, way: str
) -> None:
    die, names = WAYS[way]
    states: set[str] = set()
    for at in range(1, 400):
        place = folder / str(at)
        place.mkdir()
        killed, said = start(
            lambda say, place=place: work(place, target, say, tells=False),  # type: ignore[misc]
            die(at),
            names,
        )
        if not killed:
            break
        states |= go_on(place, at, said)
    assert at > 30
    check_end(place)
    assert "began" in states
    assert {"never-began", "finished"} <= states or way == "within"


def test_an_agent_that_is_killed_again_and_again_comes_to_its_end(folder: Path) -> None:
    chance = random.Random(3)
    kills = 0
    for life in range(12):
        place = folder / str(life)
        place.mkdir()
        killed = True
        while killed:
            target, tells = chance.choice(TARGETS), chance.random() < 0.5
            killed, said = start(
                lambda say, place=place, target=target, tells=tells: work(place, target, say, tells=tells),  # type: ignore[misc]
                dying_before(chance.randint(1, 40)),
            )
            check_acknowledged(Record(place), said)
            kills += killed
        check_end(place)
    assert kills > 24


def test_calls_that_run_side_by_side_are_told_apart_after_a_kill(folder: Path) -> None:
    states: set[str] = set()
    for at in range(1, 400):
        place = folder / str(at)
        place.mkdir()
        killed, said = start(
            lambda say, place=place, at=at: asyncio.run(work_at_once(place, TARGETS[at % 3], say)),  # type: ignore[misc]
            dying_before(at),
        )
        states |= go_on(place, at, said)
        if not killed:
            break
    assert at > 30
    assert states == {"never-began", "began", "finished"}
