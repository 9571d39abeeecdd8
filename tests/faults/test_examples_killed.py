"""The examples are killed at every step: what they were told is done is done, and anybody goes on.

Each script of ``examples/`` runs unchanged in an empty folder and is killed before each call that
changes a file, and when a write has written its half. Then every log that is there is opened again
and brought to an end by somebody who knows nothing of the example: calls are run or answered, and
a scripted model, which takes only what its API takes, has the last word. Where an example is
written to be run again, a copy of the folder is gone on with that way; where there is no log yet,
the example begins anew.

What SQLite writes is written in C: there a process dies before each statement, and where a file is to
grow beyond a size. Of the fifty subagents a sample is tried: :data:`SAMPLED`.
"""

from __future__ import annotations

import ast
import mmap
import random
import runpy
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hooks import Act, Call, dying_before, dying_beyond, dying_within
from scenes import EXAMPLES, Scene, among, changes, digest, run, writes

from transcript_log import MessageEntry, Session, Target
from transcript_log.apis import check_items
from transcript_log.check import check_entries, is_sound
from transcript_log.entries import Entry, Item
from transcript_log.items import tool_calls, tool_outputs
from transcript_log.items.shapes import is_from_model
from transcript_log.lines import LineStore
from transcript_log.testing import ScriptedModel

SCENES: Final = {
    "a loop": Scene("responses_loop"),
    "thinking": Scene("anthropic_thinking"),
    "two providers": Scene("switch_provider"),
    "a compaction": Scene("compaction"),
    "the evening": Scene("approval_next_morning", again=()),
    "the morning": Scene("approval_next_morning", earlier=((),), again=()),
    "a tool that takes long": Scene("resume_after_kill", words=("work",), killed=("work",)),
    "who finds out": Scene("resume_after_kill"),
    "a writer that is followed": Scene("follow", killed=("write",), again=("write",)),
    "who follows it": Scene("follow"),
    "a store of one's own": Scene("custom_store", again=()),
}
"""Every example but that of the fifty subagents; some have two processes that can die."""

FIFTY: Final = Scene("fifty_subagents", at_once=True)
READERS: Final = {EXAMPLES / "weekly_report.py", EXAMPLES / "recorded_session.py"}
"""Those that only read logs, or write theirs by a loop that is killed here."""

ADAPTED: Final = {EXAMPLES / f"{name}_history.py" for name in ("langchain", "pydantic_ai")} | {
    EXAMPLES / "claude_agent_sdk_store.py",
    EXAMPLES / "openai_agents_session.py",
}
"""Those whose loop is that of a framework; the tests of the adapters kill what they write."""

SERVED: Final = {EXAMPLES / "web_service.py"}
"""That whose log is in a database: ``test_postgres_faults.py`` kills its clients, and the server."""

SAMPLED: Final = {"before": 12, "within": 5}
"""At how many places, one at random in each stretch of a run, the fifty subagents are killed.

They make some 1,500 calls that change a file, and 400 writes.
"""

OPEN: Final = {
    "a compaction": set(),
    "who finds out": {"began"},
    "who follows it": set(),
    "a store of one's own": set(),
}
"""The states in which calls are found after some kill, where those are not all three."""

DONE: Final = "That is all."

WAYS: Final[dict[str, tuple[Callable[[int], Act], Callable[[Call], bool]]]] = {
    "before": (dying_before, changes),
    "within": (lambda at: dying_within(at, 0.5), writes),
    # SQLite writes in C: a page, or its journal, ends at either size from each statement on.
    "beyond": (lambda at: dying_beyond((at + 1) // 2, (1000, 6000)[at % 2]), changes),
}
"""When the process ends: before a call, when a write has written its half, or where a file is to grow."""


def targets(scene: Scene) -> list[Target]:
    """The targets that a script names; of one that asks no model, one of each API."""
    found = [
        Target(*map(ast.literal_eval, node.args))
        for node in ast.walk(ast.parse(scene.path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Target"
    ]
    return found or [
        Target("openai-responses", "gpt-5.4"),
        Target("openai-chat", "gpt-5.4"),
        Target("anthropic-messages", "claude-opus-4-8"),
    ]


# ------------------------------------------------------------------------- what was left


def logs(folder: Path) -> list[Path]:
    """The logs that were left, those of subagents too."""
    left = [path for path in folder.rglob("*.jsonl") if not path.name.endswith(".details.jsonl")]
    return sorted([*left, *folder.glob("*.db")])


def opened(path: Path, *, to_write: bool = False) -> Session:
    if path.suffix == ".db":
        store = runpy.run_path(str(EXAMPLES / "custom_store.py"))["SqliteStore"]
        return Session(store(str(path)), mode="shared" if to_write else "read")
    return Session.open(path, mode="exclusive" if to_write else "read")


def read(path: Path) -> tuple[Entry, ...]:
    """What is in a log that was left, in which at most the last batch is torn."""
    with opened(path) as session:
        assert {finding.rule for finding in session.damage} <= {"torn-tail"}
        return session.entries()


def check_kept(folder: Path, scene: Scene, said: Sequence[str]) -> None:
    """All that was acknowledged is in the log in which it was said to be, as it was said."""
    kept: dict[Path, list[str]] = {}
    for line in said:
        match line.split():
            case ["kept", path, name, made]:
                kept.setdefault(Path(path), []).append(f"{name} {made}")
            case ["answered", path, name]:
                assert name in outputs(read(Path(path))), line
    for log, acknowledged in kept.items():
        assert log.parent in (folder, folder / "subagents")
        there = [f"{entry.id} {digest(entry)}" for entry in read(log)]
        once = list(dict.fromkeys(acknowledged))  # what is there already under its id is said again
        assert [one for one in there if one in set(once)] == once or scene.at_once
        assert set(acknowledged) <= set(there), log


def outputs(entries: Sequence[Entry]) -> list[str]:
    """The ids of the calls that were answered, once for each answer; stand-ins are answers too."""
    return [str(one.id) for item in items(entries) for one in tool_outputs(item)]


def calls(entries: Sequence[Entry]) -> list[str]:
    return [str(one.id) for item in items(entries) for one in tool_calls(item)]


def items(entries: Sequence[Entry]) -> Iterator[Item]:
    return (entry.message for entry in entries if isinstance(entry, MessageEntry))


def began(said: Sequence[str], path: Path) -> Counter[str]:
    """How often the tool of each call of a log ran, or began to."""
    lines = (line.split() for line in said if line.startswith("began "))
    return Counter(name for _, where, name in lines if Path(where) == path)


# ----------------------------------------------------------------------------- going on


def finish(path: Path, target: Target, ran: Counter[str], *, tells: bool) -> set[str]:
    """Bring a log to its end, as an agent that knows nothing of the one before.

    Args:
        path: The log.
        target: Whom it asks.
        ran: Which tools ran before; those that are run here are counted in.
        tells: Whether it answers itself what it cannot know; else a stand-in does.

    Gives the states in which calls were found.
    """
    states: set[str] = set()
    with opened(path, to_write=True) as session:
        answered = outputs(session.entries())
        waiting = session.open_calls()
        for name in ran:
            assert name in answered or name in {one.call.id for one in waiting}, "nothing is told of it"
        for one in waiting:
            states.add(one.state)
            assert one.state != "never-began" or not ran[one.call.id], "it may not run again"
            assert one.state != "finished" or ran[one.call.id], "it never ran"
            if one.state == "never-began":
                with session.call(one) as tool:
                    ran[one.call.id] += 1
                    tool.output("It is done now.")
            elif tells:
                session.add_output(one, "It was started. Nobody knows how it ended.", is_error=True)
        if not session.entries() or is_from_model(session.context(target).items[-1]):
            session.add({"role": "user", "content": "Go on."})
        context = session.context(target)
        made_up = {
            str(part.id): str(part.content) for row in context.stand_ins for part in tool_outputs(row.item)
        }
        told = {"began": "Its outcome is unknown", "finished": "This tool call ended, with the status"}
        for one in session.open_calls():
            assert told[one.state] in made_up.pop(one.call.id)
        assert not made_up
        assert session.add_response(ScriptedModel(target, [DONE])(context.items), to=context).text == DONE
    return states


def check_end(path: Path, before: Sequence[Entry], scene: Scene, ran: Counter[str]) -> None:
    """Nothing is lost, nothing is there twice, nothing waits, and each model of the example may go on."""
    with opened(path) as session:
        entries = session.entries()
        # What is torn in a sidecar is there until the next detail; nobody takes it for one.
        assert {finding.rule for finding in session.damage} <= {"torn-tail"}
        assert str(path) not in {finding.path for finding in session.damage}
        assert is_sound(found := check_entries(entries, session.store.details())), found
        if isinstance(session.store, LineStore):
            assert len(list(session.store.lines("header"))) == 1
        assert entries[: len(before)] == tuple(before)
        assert session.open_calls() == ()
        assert sorted(outputs(entries)) == sorted(calls(entries))
        assert all(times == 1 for times in ran.values()), ran
        for target in targets(scene):
            assert is_sound(broken := check_items(session.context(target).items, target)), broken


def go_on(folder: Path, scene: Scene, at: int, said: Sequence[str]) -> set[str]:
    """Bring every log to its end, and judge it; gives the states in which calls were found."""
    states: set[str] = set()
    named = targets(scene)
    for path in logs(folder):
        before, ran = read(path), began(said, path)
        states |= finish(path, named[at % len(named)], ran, tells=bool(at % 2))
        check_end(path, before, scene, ran)
    return states


def run_again(folder: Path, scene: Scene, at: int, said: Sequence[str]) -> None:
    """Let the example itself go on, twice at most, until it has its answer; then anybody else."""
    assert scene.again is not None
    copy = folder.with_name(f"{folder.name}-again")
    shutil.copytree(folder, copy)
    said = [line.replace(f"{folder}/", f"{copy}/") for line in said]
    before = {path: read(path) for path in logs(copy)}
    for _ in range(2):
        killed, more = run(copy, replace(scene, words=scene.again, killed=scene.again))
        assert not killed
        said += more
        check_kept(copy, scene, said)
    for path, entries in before.items():
        with opened(path) as session:
            assert session.open_calls() == ()
            assert session.entries()[: len(entries)] == entries
            assert len(outputs(session.entries())) == len(set(outputs(session.entries())))
    go_on(copy, scene, at, said)


def kill(folder: Path, scene: Scene, at: int, way: str) -> tuple[bool, set[str]]:
    """Run a scene until it is killed at a step, and see to all that comes then.

    Gives whether it was, and the states in which calls were found.
    """
    die, counts = WAYS[way]
    folder.mkdir()
    said: list[str] = []
    for words in scene.earlier:
        killed, before = run(folder, replace(scene, words=words, killed=words))
        assert not killed
        said += before
    killed, more = run(folder, scene, among(die(at), counts))
    said += more
    check_kept(folder, scene, said)
    if not logs(folder):  # it begins as if nothing had been
        assert not said
        assert run(folder, scene)[0] is False
        assert logs(folder)
        return killed, set()
    if scene.again is not None:
        run_again(folder, scene, at, said)
    return killed, go_on(folder, scene, at, said)


# ------------------------------------------------------------------------------ the tests


@pytest.mark.parametrize(
    ("name", "way"),
    [
        (name, way)
        for name, scene in SCENES.items()
        for way in (("before", "beyond") if scene.script == "custom_store" else ("before", "within"))
    ],
)
def test_an_example_that_is_killed_anywhere_is_finished_by_anybody(folder: Path, name: str, way: str) -> None:
    states: set[str] = set()
    for at in range(1, 400):
        killed, found = kill(folder / str(at), SCENES[name], at, way)
        states |= found
        if not killed:
            break
    assert at > (1 if way == "within" else 6)
    assert states == OPEN.get(name, {"never-began", "began", "finished"})


@pytest.mark.parametrize("way", SAMPLED)
def test_subagents_that_are_killed_at_some_step_are_finished_by_anybody(folder: Path, way: str) -> None:
    made = mmap.mmap(-1, 8)  # shared with the child

    def count(call: Call) -> object:
        made[:] = call.number.to_bytes(8, "big")
        return call.go()

    (folder / "whole").mkdir()
    killed, said = run(folder / "whole", FIFTY, among(count, WAYS[way][1]))
    assert not killed
    check_kept(folder / "whole", FIFTY, said)
    go_on(folder / "whole", FIFTY, 0, said)
    chance = random.Random(way)
    stretch = int.from_bytes(made[:], "big") // SAMPLED[way]
    assert stretch > 50
    for part in range(SAMPLED[way]):
        at = part * stretch + chance.randint(1, stretch - 9)  # threads may need a call less another time
        killed, states = kill(folder / str(at), FIFTY, at, way)
        assert killed
        assert states <= {"never-began", "began", "finished"}
        shutil.rmtree(folder / str(at))


def test_each_example_is_killed() -> None:
    elsewhere = READERS | ADAPTED | SERVED
    assert {scene.path for scene in (*SCENES.values(), FIFTY)} == set(EXAMPLES.glob("*.py")) - elsewhere
