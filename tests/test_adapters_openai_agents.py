"""The OpenAI Agents SDK itself, on a log."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

import pytest
from agents_loop import TARGET, Judge, agent, agents, call, responses, tool
from claude_sessions import Written, text
from claude_sessions import call as tool_use
from click.testing import CliRunner
from extras import needed
from hypothesis import given, settings
from hypothesis import strategies as st

from transcript_log import (
    CompactionEntry,
    EntryError,
    JsonlStore,
    LogBusyError,
    MessageEntry,
    Session,
    StorageError,
    Target,
    build_context,
)
from transcript_log.adapters.openai_agents import TranscriptSession
from transcript_log.aio import AsyncSession
from transcript_log.cli import main as command
from transcript_log.memory import MemoryStore

memory = needed("agents.memory", "openai-agents")

Item = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parent.parent
OTHER: Final = Target("openai-responses", "o9")


def user(text: str) -> Item:
    return {"role": "user", "content": text}


def opened(path: Path, **more: Any) -> Any:
    return TranscriptSession.open(path, target=TARGET, **more)


def shown(path: Path, *words: str) -> str:
    """What a command prints of a log in which it finds nothing wrong."""
    result = CliRunner().invoke(command, [words[0], str(path), *words[1:]])
    assert result.exit_code == 0, result.output
    return result.output


# ----------------------------------------------------------------------------- a list


class Steps:
    """Draws what is done to a session."""

    item = st.one_of(
        st.builds(user, st.text(max_size=5)),
        st.just(user("")),
        st.fixed_dictionaries(
            {"type": st.just("reasoning"), "encrypted_content": st.text(max_size=3), "summary": st.just([])}
        ),
        st.fixed_dictionaries(
            {
                "role": st.just("user"),
                "content": st.just([]),
                "x": st.recursive(
                    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1), st.lists
                ),
            }
        ),
    )
    step = st.one_of(
        st.tuples(st.just("add"), st.lists(item, max_size=3)),
        st.tuples(st.just("pop")),
        st.tuples(st.just("clear")),
        st.tuples(st.just("get"), st.none() | st.integers(-2, 5)),
        st.tuples(st.just("replace"), st.lists(item, max_size=3)),
    )


@settings(max_examples=60)
@given(st.lists(Steps.step, max_size=14))
def test_a_session_is_the_list_that_the_vendors_own_session_is(steps: list[tuple[Any, ...]]) -> None:
    async def main() -> None:
        store = MemoryStore()
        mine = await TranscriptSession.open(store, target=TARGET, mode="shared")
        theirs = memory.SQLiteSession("s")
        model: list[Item] = []
        try:
            for name, *given_ in steps:
                match name:
                    case "add":
                        await mine.add_items(copy.deepcopy(given_[0]))
                        await theirs.add_items(given_[0])
                        model += given_[0]
                    case "pop":
                        last = model.pop() if model else None
                        assert await mine.pop_item() == await theirs.pop_item() == last
                    case "clear":
                        await mine.clear_session()
                        await theirs.clear_session()
                        model.clear()
                    case "replace":
                        await mine._atomic_replace_items(given_[0])
                        await theirs.clear_session()
                        await theirs.add_items(given_[0])
                        model[:] = given_[0]
                    case _:
                        assert await mine.get_items(given_[0]) == await theirs.get_items(given_[0])
                assert await mine.get_items() == await theirs.get_items() == model
                assert build_context(store.load()).items == build_context(store.active()).items
                if not any("type" in item for item in model):
                    assert build_context(store.load()).items == model
            again = await TranscriptSession.open(store, target=OTHER, mode="shared")
            assert await again.get_items() == model
        finally:
            theirs.close()

    asyncio.run(main())


def test_items_come_back_as_they_were_and_belong_to_the_caller(tmp_path: Path) -> None:
    odd = {"role": "user", "content": [{"type": "input_text", "text": "\ud800 é", "n": [1, 1.0, True, None]}]}

    async def main() -> None:
        async with await opened(tmp_path / "s.jsonl") as session:
            mine = copy.deepcopy(odd)
            await session.add_items([mine])
            mine["content"].append("later")
            (got,) = await session.get_items()
            assert got == odd
            assert [type(n) for n in got["content"][0]["n"]] == [int, float, bool, type(None)]
            got["content"].clear()
            popped = await session.pop_item()
            assert popped == odd
            popped["content"].clear()
            assert [e.message for e in await session.session.entries() if isinstance(e, MessageEntry)] == [
                odd
            ]
        async with await opened(tmp_path / "s.jsonl") as session:
            assert [e.message for e in await session.session.entries() if isinstance(e, MessageEntry)] == [
                odd
            ]

    asyncio.run(main())


def test_what_json_would_not_give_back_is_refused_whole(tmp_path: Path) -> None:
    async def main() -> None:
        async with await opened(tmp_path / "s.jsonl") as session:
            with pytest.raises(EntryError, match="content"):
                await session.add_items([user("a"), {"role": "user", "content": float("nan")}])
            assert await session.get_items() == []

    asyncio.run(main())


def test_the_limit_of_the_settings_counts_where_none_is_given(tmp_path: Path) -> None:
    async def main() -> None:
        limited = agents.SessionSettings(limit=2)
        async with await opened(tmp_path / "s.jsonl", session_settings=limited) as session:
            await session.add_items([user(str(n)) for n in range(5)])
            assert await session.get_items() == [user("3"), user("4")]
            assert await session.get_items(1) == [user("4")]
            assert len(await session.get_items(9)) == 5

    asyncio.run(main())


# --------------------------------------------------------------------------- opening


def test_it_is_a_session_of_the_sdk(tmp_path: Path) -> None:
    async def main() -> None:
        async with await opened(tmp_path / "s.jsonl") as session:
            assert isinstance(session, agents.Session)
            header = JsonlStore(tmp_path / "s.jsonl").header()
            assert header is not None
            assert session.session_id == header.id
            with pytest.raises(LogBusyError):
                await opened(tmp_path / "s.jsonl")
        async with await opened(tmp_path / "s.jsonl") as again:
            assert again.session_id == header.id

    asyncio.run(main())


def test_it_closes_what_it_has_opened_and_nothing_else(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.jsonl"
        async with await AsyncSession.create(path) as whole:
            async with TranscriptSession(whole, target=TARGET) as session:
                await session.add_items([user("a")])
            await whole.add(user("b"))
            assert await session.get_items() == [user("a"), user("b")]
        async with await opened(path) as own:
            await own.add_items([])
        with pytest.raises(StorageError, match="closed"):
            await own.add_items([user("c")])
        async with await opened(path, mode="read") as reader:
            assert await reader.get_items() == [user("a"), user("b")]
            with pytest.raises(StorageError, match="read only"):
                await reader.pop_item()

    asyncio.run(main())


def test_a_store_without_a_header_has_a_name_all_the_same() -> None:
    async def main() -> None:
        session = await TranscriptSession.open(MemoryStore(), target=TARGET, mode="shared")
        assert session.session_id

    asyncio.run(main())


def test_without_the_package_the_extra_is_named() -> None:
    program = "import sys; sys.modules['agents'] = None; import transcript_log.adapters.openai_agents"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "ImportError" in run.stderr.splitlines()[-1]
    assert "pip install 'transcript-log[openai-agents]'" in run.stderr.splitlines()[-1]


# ------------------------------------------------------------------------- whole runs


@tool
def make(goal: str) -> str:
    """Build something."""
    return f"{goal}: done"


@tool
def read(path: str) -> str:
    """Read a file."""
    raise FileNotFoundError(path)


SCRIPT: Final = [
    [
        ("think", "gAAAA1"),
        ("say", "Let me see."),
        call("make", '{"goal":"all"}'),
        call("read", '{"path":"a"}'),
    ],
    [("think", "gAAAA2"), call("transfer_to_tester")],
    [call("make", '{"goal":"check"}'), call("make", '{"goal":"clean"}')],
    [("say", "All is well.")],
]
AGAIN: Final = [[call("make", '{"goal":"more"}')], [("say", "That too.")]]


def team(judge: Judge) -> Any:
    return agent(judge, tools=[make, read], handoffs=[agent(judge, "tester", tools=[make])])


async def play(session: Any, prefix: str, *, streamed: bool) -> list[list[Item]]:
    """Two runs on one session; gives what the model was sent."""
    sent: list[list[Item]] = []
    for script, question in ((SCRIPT, "Does it build?"), (AGAIN, "And the rest?")):
        judge = Judge(script, prefix)
        if streamed:
            result = agents.Runner.run_streamed(team(judge), question, session=session)
            async for _ in result.stream_events():
                pass
        else:
            result = await agents.Runner.run(team(judge), question, session=session)
        judge.model.assert_complete()
        assert result.final_output == script[-1][0][1]
        sent += judge.requests
    return sent


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_goes_as_it_does_on_the_vendors_own_session(tmp_path: Path, *, streamed: bool) -> None:
    """Tools, parallel calls, one that fails, a handoff, and a second run."""
    path = tmp_path / "s.jsonl"

    async def main() -> None:
        import agents_loop

        agents_loop._numbers = iter(range(1, 99))
        theirs = memory.SQLiteSession("s")
        wanted = await play(theirs, "t", streamed=streamed)
        items = await theirs.get_items()
        theirs.close()
        agents_loop._numbers = iter(range(1, 99))
        async with await opened(path) as session:
            assert await play(session, "t", streamed=streamed) == wanted
            assert await session.get_items() == items
        async with await opened(path) as session:
            assert await session.get_items() == items
        context = build_context(JsonlStore(path).load(), TARGET)
        assert context.changes == ()
        assert context.items == items
        assert [item.get("type") for item in items].count("function_call_output") == 6

    asyncio.run(main())
    text = shown(path, "replay")
    assert all(word in text for word in ("Does it build?", "all: done", "transfer_to_tester", "That too."))
    shown(path, "inspect")
    shown(path, "check", "--for", "openai-responses")
    assert "gAAAA1" in shown(path, "context", "--target", "openai-responses/gpt-5.4")
    for target in ("openai-chat/x", "anthropic-messages/claude-opus-5", "openai-responses/o9"):
        assert "gAAAA1" not in shown(path, "context", "--target", target)


@agents.function_tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


def test_a_call_that_waits_for_approval_is_approved_in_another_session(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    asked = [("say", "I will."), call("make", '{"goal":"all"}'), call("delete", '{"path":"a"}')]

    async def ask() -> Any:
        async with await opened(path) as session:
            waiting = agent(Judge([asked], "w"), tools=[make, delete])
            result = await agents.Runner.run(waiting, "Delete a.", session=session)
            assert [one.name for one in result.interruptions] == ["delete"]
            return result.to_state().to_json()

    async def approve(state: Any) -> list[Item]:
        judge = Judge([[("say", "It is gone.")]])
        again = agent(judge, tools=[make, delete])
        state = await agents.RunState.from_json(again, json.loads(json.dumps(state)))
        for one in state.get_interruptions():
            state.approve(one)
        async with await opened(path) as session:
            result = await agents.Runner.run(again, state, session=session)
            assert result.final_output == "It is gone."
            return list(await session.get_items())

    items = asyncio.run(approve(asyncio.run(ask())))
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    assert sorted(outputs) == ["a is gone", "all: done"]
    assert build_context(JsonlStore(path).load(), TARGET).items == items
    assert "a is gone" in shown(path, "replay")


def test_the_family_is_that_of_the_model_that_is_at_work(tmp_path: Path) -> None:
    async def main() -> None:
        async with await opened(tmp_path / "s.jsonl") as session:
            await agents.Runner.run(agent(Judge([[("think", "mine"), ("say", "a")]])), "q", session=session)
            session.target = OTHER
            await session.add_items(
                [{"type": "reasoning", "summary": [], "encrypted_content": "theirs"}, user("r")]
            )
            for target, there, gone in ((TARGET, "mine", "theirs"), (OTHER, "theirs", "mine")):
                sent = json.dumps((await session.session.context(target)).items)
                assert there in sent or target is OTHER  # reasoning that nothing follows is not sent
                assert gone not in sent

    asyncio.run(main())
    families = {e.family for e in JsonlStore(tmp_path / "s.jsonl").load() if isinstance(e, MessageEntry)}
    assert families == {TARGET.family, OTHER.family}


def test_the_vendors_compaction_is_one_entry(tmp_path: Path) -> None:
    class Client:
        """Compacts without a network."""

        def __init__(self) -> None:
            self.responses = self

        async def compact(self, **request: Any) -> Any:
            assert request["input"]
            kept = responses.ResponseOutputMessage.model_validate(
                {"id": "msg_u", "type": "message", "role": "assistant", "status": "completed", "content": []}
            )
            checkpoint = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAcheckpoint"}
            return type("Compacted", (), {"output": [kept, checkpoint], "usage": None})()

    path = tmp_path / "s.jsonl"

    async def main() -> None:
        async with await opened(path) as session:
            small = memory.OpenAIResponsesCompactionSession(
                "s", session, client=Client(), should_trigger_compaction=lambda _: False
            )
            await agents.Runner.run(team(Judge(SCRIPT)), "Does it build?", session=small)
            before = len(await session.session.entries())
            await small.run_compaction({"force": True, "compaction_mode": "input"})
            items = await session.get_items()
            assert items[-1]["encrypted_content"] == "gAAAAcheckpoint"
            entries = await session.session.entries()
            assert len(entries) == before + 1
            assert isinstance(entries[-1], CompactionEntry)
            assert entries[-1].compaction.family == TARGET.family
            await session.add_items([user("Go on.")])
            assert "gAAAAcheckpoint" in json.dumps((await session.session.context(TARGET)).items)

    asyncio.run(main())
    assert "gAAAAcheckpoint" not in shown(path, "context", "--target", "openai-chat/x")


def test_it_goes_on_with_what_others_wrote_in_the_words_of_another_api(tmp_path: Path) -> None:
    """A session of Claude Code, made a log."""
    path = tmp_path / "s.jsonl"
    written = Written()
    written.user("u1", "Does it build?")
    written.says(
        "a1", "m1", {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, text("Let me see.")
    )
    written.says("a2", "m1", tool_use("t1"), tool_use("t2"), stop="tool_use")
    written.answers("r1", "t1", "main.c")
    written.answers("r2", "t2", [{"type": "text", "text": "no such file"}])
    written.says("a3", "m2", text("It does."), stop="end_turn")
    source = tmp_path / "claude.jsonl"
    source.write_bytes(b"".join(written))
    shown(source, "import", "--out", str(path))

    async def main() -> None:
        judge = Judge([[call("make", '{"goal":"all"}')], [("say", "Done.")]])
        async with await opened(path) as session:
            before = await session.get_items()
            assert [item.get("type") for item in before].count("function_call_output") == 2
            assert "c2ln" not in json.dumps(before)
            assert before == (await session.session.context(TARGET)).items
            assert await session.get_items(2) == before[-2:]
            await agents.Runner.run(team(judge), "Make it.", session=session)
            assert judge.requests[0][:-1] == before
            after = await session.get_items()
            assert after[: len(before)] == before
            assert after[-1]["content"][0]["text"] == "Done."
            assert (await session.pop_item())["content"][0]["text"] == "Done."
            claude = Target("anthropic-messages", "claude-opus-4-6")
            assert "c2ln" in json.dumps((await session.session.context(claude)).items)

    asyncio.run(main())
    assert "It does." in shown(path, "replay")


def test_reasoning_of_its_own_stays_where_others_have_written_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with await opened(tmp_path / "s.jsonl") as session:
            await agents.Runner.run(agent(Judge([[("think", "mine"), ("say", "a")]])), "q", session=session)
            own = await session.get_items()
            foreign = {"role": "user", "content": [{"type": "text", "text": "More."}]}
            await session.session.add(foreign)
            assert await session.get_items() == [*own, user("More.")]
            session.target = Target("openai-chat", "gpt-5.4")  # the SDK's own words are the same
            assert (await session.get_items())[-1] == user("More.")
            await session.clear_session()
            await session.session.add({"role": "assistant", "content": [{"type": "text", "text": " "}]})
            assert await session.get_items() == []

    asyncio.run(main())


# ------------------------------------------------------------------ several at once


def test_two_sessions_on_one_log_lose_nothing_and_pop_each_item_once(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    async def main() -> None:
        async with (
            await opened(path, mode="shared") as one,
            await opened(path, mode="shared") as two,
        ):
            await asyncio.gather(
                *[
                    s.add_items([user(f"{k}{n}"), user("-")])
                    for k, s in (("a", one), ("b", two))
                    for n in range(8)
                ]
            )
            items = await one.get_items()
            assert items == await two.get_items()
            assert sorted(item["content"] for item in items[::2]) == sorted(
                f"{k}{n}" for k in "ab" for n in range(8)
            )
            assert {item["content"] for item in items[1::2]} == {"-"}
            popped = await asyncio.gather(*[s.pop_item() for s in (one, two) for _ in range(6)])
            left = await two.get_items()
            assert left == items[:20]
            assert sorted(map(str, popped)) == sorted(map(str, items[20:]))

    asyncio.run(main())


def test_a_call_that_is_cancelled_is_carried_out_before_the_next(tmp_path: Path) -> None:
    async def main() -> None:
        async with await opened(tmp_path / "s.jsonl") as session:
            task = asyncio.ensure_future(session.add_items([user("a")]))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert await session.get_items() == [user("a")]

    asyncio.run(main())


# ------------------------------------------------------------------------ killed runs

CHILD: Final = """
import asyncio, os, signal, sys
sys.path[:0] = [{tests!r}, {root!r}]
from pathlib import Path
from test_adapters_openai_agents import *

async def main():
    {body}

asyncio.run(main())
"""


def child(body: str, *words: str) -> subprocess.Popen[str]:
    program = CHILD.format(
        tests=str(ROOT / "tests"), root=str(ROOT), body=textwrap.indent(textwrap.dedent(body), "    ").strip()
    )
    return subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True)


def test_an_agent_that_was_killed_goes_on_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    dying = child(
        """
        @tool
        def die() -> str:
            "End here."
            os.kill(os.getpid(), signal.SIGKILL)

        judge = Judge([[("think", "s1"), call("make", '{"goal":"all"}')], [("say", "Hm."), call("die")]], "k")
        async with await opened(Path(sys.argv[1])) as session:
            await agents.Runner.run(agent(judge, tools=[make, die]), "Build it.", session=session)
        """,
        str(path),
    )
    assert dying.wait() == -signal.SIGKILL
    assert dying.stdout is not None
    dying.stdout.close()

    async def main() -> None:
        judge = Judge([[("say", "I am back.")]])
        async with await opened(path) as session:
            before = await session.get_items()
            assert [item.get("type", item.get("role")) for item in before[:4]] == [
                "user",
                "reasoning",
                "function_call",
                "function_call_output",
            ]
            result = await agents.Runner.run(agent(judge), "Go on.", session=session)
            assert result.final_output == "I am back."
            after = await session.get_items()
            assert after[: len(before)] == before
            assert [item["content"] for item in after[-2:-1]] == ["Go on."]
            assert judge.requests[0][:4] == before[:4]

    asyncio.run(main())
    assert "all: done" in shown(path, "replay")


def _plan(seed: int) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    return [
        draw.choice(
            [("add", draw.randint(1, 4)), ("add", draw.randint(1, 4)), ("pop",), ("clear",)][
                : 4 if n % 9 == 8 else 3
            ]
        )
        for n in range(400)
    ]


def _states(seed: int) -> list[list[Item]]:
    """What a session holds after each step of a plan."""
    held: list[Item] = []
    found = [list(held)]
    for n, (name, *count) in enumerate(_plan(seed)):
        if name == "add":
            held += [user(f"{n}.{k}") for k in range(count[0])]
        elif name == "pop":
            held = held[:-1]
        else:
            held = []
        found.append(list(held))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_was_acknowledged_before_a_kill_is_there(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "s.jsonl"
    dying = child(
        """
        from test_adapters_openai_agents import _plan
        async with await opened(Path(sys.argv[1])) as session:
            for n, (name, *count) in enumerate(_plan(int(sys.argv[2]))):
                if name == "add":
                    await session.add_items([user(f"{n}.{k}") for k in range(count[0])])
                elif name == "pop":
                    await session.pop_item()
                else:
                    await session.clear_session()
                print(n + 1, flush=True)
        """,
        str(path),
        str(seed),
    )
    assert dying.stdout is not None
    wanted = random.Random(seed).randint(1, 390)
    told = 0
    for line in dying.stdout:
        told = int(line)
        if told >= wanted:
            dying.kill()
            break
    told = max([told, *map(int, dying.stdout.read().split())])
    assert dying.wait() == -signal.SIGKILL
    dying.stdout.close()
    states = _states(seed)

    async def main() -> None:
        async with await opened(path) as session:
            held = await session.get_items()
            assert held in (states[told], states[told + 1])
            assert not session.session.damage or all(f.severity == "note" for f in session.session.damage)
            await session.add_items([user("next")])
            assert await session.get_items() == [*held, user("next")]

    asyncio.run(main())
    with Session.open(path, mode="read") as log:
        assert len(log.items()) >= 1
