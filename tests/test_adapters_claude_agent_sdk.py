"""The Claude Agent SDK itself, on files of ours."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from claude_sessions import CLAUDE, Written, call, text
from click.testing import CliRunner
from extras import needed
from test_corpus_codex import CORPUS, FACTS

from transcript_log import CorruptLogError, EntryError, LogBusyError, Session
from transcript_log.cli import main as command
from transcript_log.importers.claude_code import import_claude_code

anyio = needed("anyio", "claude-agent-sdk")
sdk = needed("claude_agent_sdk", "claude-agent-sdk")
conformance = needed("claude_agent_sdk.testing", "claude-agent-sdk")
needed("trio", "dev")
adapter = needed("transcript_log.adapters.claude_agent_sdk", "claude-agent-sdk")
TranscriptSessionStore = adapter.TranscriptSessionStore

Record = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parent.parent
KEY: Final[Any] = {"project_key": "-src", "session_id": "11111111-2222-4333-8444-555555555555"}
AGENT: Final[Any] = {**KEY, "subpath": "subagents/agent-1"}


def session_records() -> list[Record]:
    """A session with a thought, two calls at once, a failure, and a title."""
    written = Written(sessionId=KEY["session_id"])
    written.user("u1", "Does it build?")
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    written.says("a1", "m1", thought)
    written.says("a2", "m1", text("Let me see."), call("t1"))
    written.says("a3", "m1", call("t2"), stop="tool_use")
    written.answers("r1", "t1", "main.c")
    written.answers("r2", "t2", "no such file")
    written.says("a4", "m2", text("It does. \ud83d\ude00"), stop="end_turn")
    written.other("custom-title", customTitle="The build", sessionId=KEY["session_id"])
    return [json.loads(line) for line in written]


def shown(path: Path, *words: str) -> str:
    """What a command prints of a session in which it finds nothing wrong."""
    result = CliRunner().invoke(command, [words[0], str(path), *words[1:]])
    assert result.exit_code == 0, result.output
    return result.output


def file_of(root: Path, key: Any = KEY) -> Path:
    below = f"/{key['subpath']}" if "subpath" in key else ""
    return root / f"{key['project_key']}/{key['session_id']}{below}.jsonl"


# ---------------------------------------------------------------- the vendor's own suite


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_the_vendors_suite_passes_whole(tmp_path: Path, backend: str, durability: Any) -> None:
    stores = itertools.count()
    asked: set[str] = set()

    class Store(TranscriptSessionStore):
        """Notes which of its methods the suite calls."""

        async def list_sessions(self, project_key: str) -> Any:
            asked.add("list_sessions")
            return await super().list_sessions(project_key)

        async def list_session_summaries(self, project_key: str) -> Any:
            asked.add("list_session_summaries")
            return await super().list_session_summaries(project_key)

        async def delete(self, key: Any) -> None:
            asked.add("delete")
            await super().delete(key)

        async def list_subkeys(self, key: Any) -> Any:
            asked.add("list_subkeys")
            return await super().list_subkeys(key)

    async def main() -> None:
        await conformance.run_session_store_conformance(
            lambda: Store(tmp_path / str(next(stores)), durability=durability)
        )

    anyio.run(main, backend=backend)
    assert asked == {"list_sessions", "list_session_summaries", "delete", "list_subkeys"}


# --------------------------------------------------------------------------- records


def test_a_session_is_one_of_claude_code_to_every_command(tmp_path: Path) -> None:
    records = session_records()

    async def main() -> None:
        store = TranscriptSessionStore(tmp_path)
        for start in range(0, len(records), 3):
            await store.append(KEY, records[start : start + 3])
        await store.append(AGENT, records[:1])
        await store.append(AGENT, [{"type": "agent_metadata", "agentType": "general-purpose"}])
        assert await store.load(KEY) == records
        await store.close()
        assert await TranscriptSessionStore(tmp_path).load(KEY) == records

    asyncio.run(main())
    path = file_of(tmp_path)
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    plain = import_claude_code(lines, path=str(path))
    kept = import_claude_code(path.read_bytes().splitlines(keepends=True), path=str(path))
    assert kept.entries == plain.entries
    assert kept.findings == plain.findings == ()
    assert kept.details == plain.details
    output = shown(path, "replay")
    assert all(words in output for words in ("Does it build?", "main.c", "It does. 😀", "Hm."))
    shown(path, "check")
    assert json.loads(shown(path, "inspect", "--json"))["calls"] == 2
    assert "c2ln" in shown(path, "context", "--target", f"{CLAUDE.api}/{CLAUDE.model}")
    assert "c2ln" not in shown(path, "context", "--target", "openai-responses/gpt-5.4")
    assert "Does it build?" in shown(file_of(tmp_path, AGENT), "replay")
    assert "Does it build?" in shown(path.parent, "list")
    log = tmp_path / "log.jsonl"
    shown(path, "import", "--out", str(log))
    with Session.open(log) as session:
        assert session.context(CLAUDE).items == [e.message for e in plain.entries if hasattr(e, "message")]


SESSIONS: Final = sorted((ROOT / "tests" / "data" / "claude-code").glob("*.jsonl")) + [
    CORPUS / name for name in sorted(FACTS) if name.startswith("claude-code/")
]


@pytest.mark.parametrize("source", SESSIONS, ids=lambda path: path.stem)
def test_every_session_comes_back_and_is_read_as_it_was(tmp_path: Path, source: Path) -> None:
    records = []
    for line in source.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    uuids = [record["uuid"] for record in records if "uuid" in record]

    async def main() -> None:
        store = TranscriptSessionStore(tmp_path)
        for start in range(0, len(records), 5):
            await store.append(KEY, records[start : start + 5])
        kept = await store.load(KEY) or []
        assert kept == records or len(uuids) > len(set(uuids))
        assert [one for at, one in enumerate(records) if "uuid" not in one or one not in records[:at]] == kept

    asyncio.run(main())
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    plain = import_claude_code(lines, path="s.jsonl")
    with file_of(tmp_path).open("rb") as file:
        kept = import_claude_code(file, path="s.jsonl")
    assert (kept.entries, kept.details) == (plain.entries, plain.details)
    assert [finding.rule for finding in kept.findings] == [finding.rule for finding in plain.findings]


def test_damage_is_told_by_the_store_and_by_the_commands(tmp_path: Path) -> None:
    async def main() -> None:
        store = TranscriptSessionStore(tmp_path)
        for record in session_records():
            await store.append(KEY, [record])
        path = file_of(tmp_path)
        path.write_bytes(path.read_bytes().replace(b"main.c", b"main.x"))
        with pytest.raises(CorruptLogError, match="line 5"):
            await store.load(KEY)
        assert await store.list_session_summaries("-src") == []
        with pytest.raises(CorruptLogError):
            await store.load(KEY)

    asyncio.run(main())
    result = CliRunner().invoke(command, ["check", str(file_of(tmp_path))])
    assert result.exit_code == 1
    assert "line 5" in result.output
    assert "not as it was written here" in result.output


def test_what_is_kept_of_unknown_records_has_no_seal(tmp_path: Path) -> None:
    async def main() -> None:
        await TranscriptSessionStore(tmp_path).append(
            KEY, [*session_records(), {"type": "odd", "sessionId": "s"}]
        )

    asyncio.run(main())
    lines = file_of(tmp_path).read_bytes().splitlines(keepends=True)
    (odd,) = [e for e in import_claude_code(lines, keep_unknown=True).entries if e.type == "claude-code:odd"]
    assert odd.data["record"] == {"type": "odd", "sessionId": "s"}  # type: ignore[union-attr]


def test_a_key_or_a_record_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        store = TranscriptSessionStore(tmp_path)
        for bad in ([{"type": "x", "n": float("nan")}], [{"type": "x"}, {"type": "x", "n": 2**64}]):
            with pytest.raises(EntryError):
                await store.append(KEY, bad)
        for act in (
            store.append({**KEY, "subpath": ""}, [{"type": "x"}]),
            store.load({**KEY, "subpath": ""}),
        ):
            with pytest.raises(EntryError, match="subpath"):
                await act
        assert await store.load(KEY) is None

    asyncio.run(main())


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    async def main() -> None:
        await TranscriptSessionStore(tmp_path / "root").append(KEY, [{"type": "x"}])

    asyncio.run(main())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "root").rglob("*")}
    assert set(modes.values()) == {0o700, 0o600}


# ------------------------------------------------------------------ several at once


def test_what_is_asked_for_at_once_is_done_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        store = TranscriptSessionStore(tmp_path, durability="os")
        await asyncio.gather(*[store.append(KEY, [{"type": "x", "n": n}]) for n in range(300)])
        assert [record["n"] for record in await store.load(KEY) or []] == list(range(300))

    asyncio.run(main())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_sessions_at_once_leave_few_files_open(tmp_path: Path, backend: str) -> None:
    store = TranscriptSessionStore(tmp_path, durability="os")

    async def one(n: int) -> None:
        key: Any = {"project_key": "p", "session_id": f"s{n}"}
        for k in range(4):
            await store.append(key, [{"type": "x", "uuid": f"{n}.{k}"}])
            await store.append(key, [{"type": "x", "uuid": f"{n}.{k}"}])
        assert [record["uuid"] for record in await store.load(key) or []] == [f"{n}.{k}" for k in range(4)]

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for n in range(150):
                group.start_soon(one, n)
        assert len(await store.list_sessions("p")) == 150
        assert len(store._open) <= 64
        await store.close()

    before = len(os.listdir("/proc/self/fd"))
    anyio.run(main, backend=backend)
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_two_stores_on_one_folder_keep_each_record_once(tmp_path: Path) -> None:
    async def main() -> None:
        one, two = (TranscriptSessionStore(tmp_path, durability="os") for _ in range(2))
        batches = [[{"type": "x", "uuid": f"{n}", "n": n}, {"type": "x", "uuid": f"{n}b"}] for n in range(40)]
        await asyncio.gather(*[store.append(KEY, batch) for batch in batches for store in (one, two)])
        records = await one.load(KEY) or []
        assert records == await two.load(KEY)
        assert sorted(map(str, records)) == sorted(str(record) for batch in batches for record in batch)
        await one.delete(KEY)
        assert await two.load(KEY) is None
        await two.append(KEY, batches[0])
        assert await one.load(KEY) == batches[0]

    asyncio.run(main())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_event_loop_goes_on_while_another_writer_has_the_session(tmp_path: Path, backend: str) -> None:
    from filelock import FileLock

    held, done = threading.Event(), threading.Event()
    store = TranscriptSessionStore(tmp_path, wait=0.2)

    def hold() -> None:
        with FileLock(f"{file_of(tmp_path)}.lock"):
            held.set()
            done.wait()

    async def main() -> None:
        await store.append(KEY, [{"type": "x", "n": 0}])
        other = threading.Thread(target=hold)
        other.start()
        held.wait()
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while not done.is_set():
                ticks += 1
                await anyio.sleep(0.005)

        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            with pytest.raises(LogBusyError):
                await store.append(KEY, [{"type": "x", "n": 1}])
            done.set()
        other.join()
        assert ticks > 10
        await store.append(KEY, [{"type": "x", "n": 2}])
        assert [record["n"] for record in await store.load(KEY) or []] == [0, 2]

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_call_that_is_given_up_leaves_nothing_half_done(tmp_path: Path, backend: str) -> None:
    store = TranscriptSessionStore(tmp_path)

    async def main() -> None:
        for n in range(20):
            with anyio.move_on_after(n / 4000):
                await store.append(KEY, [{"type": "x", "uuid": f"{n}"}, {"type": "x", "uuid": f"{n}b"}])
        await store.append(KEY, [{"type": "x", "uuid": "last"}])
        uuids = [record["uuid"] for record in await store.load(KEY) or []]
        assert uuids[-1] == "last"
        assert [f"{one}b" for one in uuids[:-1:2]] == uuids[1:-1:2]
        assert all(not one.jobs and one.is_idle for one in store._open.values())

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_call_that_is_given_up_before_it_was_begun_is_not_carried_out_later(
    tmp_path: Path, backend: str
) -> None:
    store = TranscriptSessionStore(tmp_path)

    async def main() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await store.append(KEY, [{"type": "x", "uuid": "given up"}])
        await store.append(KEY, [{"type": "x", "uuid": "last"}])
        assert await store.load(KEY) == [{"type": "x", "uuid": "last"}]

    anyio.run(main, backend=backend)


def test_the_sessions_used_last_stay_open(tmp_path: Path) -> None:
    async def main() -> None:
        store = TranscriptSessionStore(tmp_path, durability="os")
        seen = set()
        for n in range(100):
            for name in ("often", f"s{n}"):
                await store.append({"project_key": "p", "session_id": name}, [{"type": "x"}])
            seen.add(store._open[str(tmp_path / "p" / "often")])
        assert len(seen) == 1
        assert {Path(folder).name for folder in store._open} == {"often", *(f"s{n}" for n in range(37, 100))}

    asyncio.run(main())


@pytest.mark.parametrize(("durability", "is_synced"), [("fsync", True), ("os", False)])
def test_what_is_acknowledged_is_on_disk_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Any, *, is_synced: bool
) -> None:
    synced: list[str] = []
    real = os.fdatasync
    monkeypatch.setattr(
        "os.fdatasync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))
    )
    asyncio.run(TranscriptSessionStore(tmp_path, durability=durability).append(KEY, [{"type": "x"}]))
    assert (str(file_of(tmp_path)) in synced) is is_synced


def test_a_session_that_stays_as_it_is_is_summed_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = adapter.load_records
    monkeypatch.setattr(adapter, "load_records", lambda path: (read.append(Path(path).stem), real(path))[1])

    async def main() -> None:
        store = TranscriptSessionStore(tmp_path)
        titled = {"type": "custom-title", "customTitle": "one"}
        for name in ("a", "b"):
            await store.append({"project_key": "p", "session_id": name}, [titled])
        for _ in range(2):
            for summary in await store.list_session_summaries("p"):
                assert summary["data"].pop("custom_title") == "one"  # it is the caller's
        assert read == ["a", "b"]
        await store.append({"project_key": "p", "session_id": "b"}, [{**titled, "customTitle": "two"}])
        titles = [one["data"]["custom_title"] for one in await store.list_session_summaries("p")]
        assert titles == ["one", "two"]
        assert read == ["a", "b", "b"]

    asyncio.run(main())


# ------------------------------------------------------------------------ killed runs

CHILD: Final = """
import asyncio, sys
from transcript_log.adapters.claude_agent_sdk import TranscriptSessionStore

async def main():
    store = TranscriptSessionStore(sys.argv[1])
    for n in range(10_000):
        key = {"project_key": "-src", "session_id": f"s{n % 3}"}
        if n % 2:
            key["subpath"] = "subagents/agent-1"
        batch = [{"type": "x", "uuid": f"{n}.{k}", "pad": "x" * 3000} for k in range(n % 4 + 1)]
        await store.append(key, batch)
        print(n, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("seed", range(4))
def test_what_was_acknowledged_before_a_kill_is_there(tmp_path: Path, seed: int) -> None:
    dying = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert dying.stdout is not None
    draw = random.Random(seed)
    wanted, told = draw.randint(1, 150), -1
    for line in dying.stdout:
        told = int(line)
        if told >= wanted:
            time.sleep(draw.random() / 100)
            dying.kill()
            break
    told = max([told, *map(int, dying.stdout.read().split())])
    assert dying.wait() == -signal.SIGKILL
    dying.stdout.close()

    async def main() -> None:
        store = TranscriptSessionStore(tmp_path)
        found: set[str] = set()
        for number in range(3):
            for key in (
                {"session_id": f"s{number}"},
                {"session_id": f"s{number}", "subpath": "subagents/agent-1"},
            ):
                records = await store.load({"project_key": "-src", **key}) or []  # type: ignore[typeddict-item]
                found.update(record["uuid"] for record in records)
        batches = [{f"{n}.{k}" for k in range(n % 4 + 1)} for n in range(told + 2)]
        acknowledged = set().union(*batches[:-1])
        assert found in (acknowledged, acknowledged | batches[-1])

    asyncio.run(main())


# ------------------------------------------------------------------ the vendor's functions


def test_the_vendors_functions_see_the_session(tmp_path: Path) -> None:
    async def main() -> None:
        store = TranscriptSessionStore(tmp_path / "root")
        project = sdk.project_key_for_directory(str(tmp_path))
        key: Any = {**KEY, "project_key": project}
        records = session_records()
        await store.append(key, records)
        (info,) = await sdk.list_sessions_from_store(store, str(tmp_path))
        assert (info.session_id, info.custom_title) == (KEY["session_id"], "The build")
        assert info.last_modified == (await store.list_sessions(project))[0]["mtime"]
        await sdk.rename_session_via_store(store, KEY["session_id"], "Another", str(tmp_path))
        await sdk.tag_session_via_store(store, KEY["session_id"], "done", str(tmp_path))
        (info,) = await sdk.list_sessions_from_store(store, str(tmp_path))
        assert (info.custom_title, info.tag) == ("Another", "done")
        messages = await sdk.get_session_messages_from_store(store, KEY["session_id"], str(tmp_path))
        assert [one.uuid for one in messages] == [r["uuid"] for r in records if "uuid" in r]
        loaded = await store.load(key) or []
        assert loaded[: len(records)] == records
        fork = await sdk.fork_session_via_store(store, KEY["session_id"], str(tmp_path))
        assert len(await store.list_sessions(project)) == 2
        forked = file_of(tmp_path / "root", {"project_key": project, "session_id": fork.session_id})
        assert "It does." in shown(forked, "replay")
        await sdk.delete_session_via_store(store, KEY["session_id"], str(tmp_path))
        assert [one["session_id"] for one in await store.list_sessions(project)] == [fork.session_id]
        assert await store.load(key) is None

    asyncio.run(main())


def test_a_session_on_disk_is_imported_once_however_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    project = sdk.project_key_for_directory(str(tmp_path))
    there = tmp_path / "config" / "projects" / project / f"{KEY['session_id']}.jsonl"
    agent = there.with_suffix("") / "subagents" / "agent-1.jsonl"
    agent.parent.mkdir(parents=True)
    records = session_records()[:-1]
    there.write_text("".join(json.dumps(record) + "\n" for record in records))
    agent.write_text(json.dumps({**records[0], "isSidechain": True}) + "\n")

    async def main() -> None:
        store = TranscriptSessionStore(tmp_path / "root")
        for _ in range(2):
            await sdk.import_session_to_store(KEY["session_id"], store, directory=str(tmp_path), batch_size=3)
        key: Any = {**KEY, "project_key": project}
        assert await store.load(key) == records
        assert await store.list_subkeys(key) == ["subagents/agent-1"]

    asyncio.run(main())


# ------------------------------------------------------------------------- whole runs


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., list[str]]:
    """Asks through the SDK, with a command that stands for Claude Code; gives the texts and the session."""
    claude = tmp_path / "claude"
    source = (ROOT / "tests" / "fake_claude.py").read_text()
    claude.write_text(source.replace("/usr/bin/env python3", sys.executable, 1))
    claude.chmod(0o700)
    work = tmp_path / "work"
    work.mkdir()

    def asked(question: str, **more: Any) -> list[str]:
        # Each has a place of its own: what it knows of a session, it knows from the store.
        config = tmp_path / f"config-{uuid.uuid4()}"
        options = sdk.ClaudeAgentOptions(
            cli_path=str(claude),
            cwd=str(work),
            env={"CLAUDE_CONFIG_DIR": str(config)},
            session_store=TranscriptSessionStore(tmp_path / "root"),
            **more,
        )

        async def main() -> list[str]:
            found = []
            async for message in sdk.query(prompt=question, options=options):
                if isinstance(message, sdk.ResultMessage):
                    found += [str(message.result), message.session_id]
            return found

        return asyncio.run(main())

    return asked


def test_an_agent_goes_on_from_the_store_alone(tmp_path: Path, ask: Callable[..., list[str]]) -> None:
    said, session = ask("Does it build?")
    assert said == "I knew 0 records and 0 subagents."
    said, again = ask("And now?", resume=session)
    assert (said, again) == ("I knew 3 records and 1 subagents.", session)
    said, again = ask("And now?", continue_conversation=True)
    assert (said, again) == ("I knew 6 records and 2 subagents.", session)
    with pytest.raises(Exception, match="exit code 1"):
        ask("crash", resume=session)
    said, _ = ask("Are you back?", resume=session)
    assert said == "I knew 12 records and 4 subagents."
    (path,) = (tmp_path / "root").glob(f"*/{session}.jsonl")
    output = shown(path, "replay")
    assert all(words in output for words in ("Does it build?", "crash", "I knew 12 records"))
    shown(path, "context", "--target", "anthropic-messages/claude-opus-4-6")


def test_without_the_package_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['claude_agent_sdk'] = None; import transcript_log.adapters.claude_agent_sdk"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "pip install 'transcript-log[claude-agent-sdk]'" in run.stderr.splitlines()[-1]
