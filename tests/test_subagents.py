"""The sessions of subagents are found where their agents keep them, and linked to their calls."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from claude_sessions import Written, call, text
from click.testing import CliRunner, Result

from transcript_log.cli import main
from transcript_log.entries import ParentCall
from transcript_log.errors import StorageError
from transcript_log.importers.claude_code import import_claude_code
from transcript_log.importers.codex import import_codex, link_subagent
from transcript_log.importers.subagents import calls_of_subagents
from transcript_log.jsonl import JsonlStore
from transcript_log.subagents import SubagentFile, find_subagents, parent_beside


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), catch_exceptions=False)


def refuse(error: StorageError) -> None:
    raise AssertionError(error)


def write(path: Path, lines: Written | list[bytes]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return str(path)


def agent(name: str) -> Written:
    """What a subagent of Claude Code did."""
    session = Written(isSidechain=True, agentId=name)
    return session.user(f"{name}-u", f"look, {name}").says(f"{name}-a", f"m-{name}", text(f"seen by {name}"))


@pytest.fixture
def claude(tmp_path: Path) -> str:
    """A session of three subagents: one that its output names, one by a file beside it, one below that."""
    session = Written().user("u1", "go").says("a1", "m1", call("c1", "Task"), call("c2", "Task"))
    session.answers("r1", "c1", toolUseResult={"agentId": "one", "status": "completed"})
    path = write(tmp_path / "s-1.jsonl", session)
    folder = tmp_path / "s-1" / "subagents"
    write(folder / "agent-one.jsonl", agent("one"))
    write(folder / "agent-two.jsonl", agent("two"))
    (folder / "agent-two.meta.json").write_text('{"agentType":"x","toolUseId":"c2"}')
    write(folder / "flow" / "agent-three.jsonl", agent("three"))
    (folder / "flow" / "agent-three.meta.json").write_text('{"toolUseId":"c9","parentAgentId":"two"}')
    write(folder / "notes.jsonl", [b"{}\n"])
    return path


PARENTS = {"one": ParentCall("s-1", "c1"), "two": ParentCall("s-1", "c2"), "three": ParentCall("two", "c9")}


def test_subagents_of_claude_code_are_those_in_the_folder_of_the_session(claude: str) -> None:
    found = find_subagents(claude, "claude-code", "s-1", {"one": "c1"}, refuse)
    assert {each.id: each.parent for each in found} == PARENTS
    assert [os.path.basename(each.path) for each in found] == [
        "agent-one.jsonl",
        "agent-two.jsonl",
        "agent-three.jsonl",
    ]
    assert find_subagents(f"{claude}.zst", "claude-code", "s-1", {"one": "c1"}, refuse) == found
    assert find_subagents(claude, "pi", "s-1", {}, refuse) == []
    assert find_subagents(f"{claude}/no", "claude-code", "s-1", {}, refuse) == []


@pytest.mark.parametrize(
    "beside", ["", "[]", "{", '{"toolUseId":""}', '{"toolUseId":7}', '{"toolUseId":"c","parentAgentId":7}']
)
def test_a_file_beside_that_names_no_call_links_nothing(tmp_path: Path, beside: str) -> None:
    (tmp_path / "agent-x.meta.json").write_text(beside)
    assert parent_beside(str(tmp_path / "agent-x.jsonl"), "s-1") is None
    (tmp_path / "agent-x.meta.json").write_text('{"toolUseId":"c"}')
    assert parent_beside(str(tmp_path / "agent-x.jsonl"), "s-1") == ParentCall("s-1", "c")
    assert parent_beside(str(tmp_path / "agent-x.jsonl"), None) is None
    assert parent_beside(str(tmp_path / "x.jsonl"), "s-1") is None


def test_a_subagent_that_is_read_alone_has_the_call_that_the_file_beside_it_names(claude: str) -> None:
    folder = Path(claude).with_suffix("") / "subagents"
    told = json.loads(run("inspect", "--json", str(folder / "agent-two.jsonl")).stdout)
    assert told["parent"] == {"session": "s-1", "call": "c2"}
    assert json.loads(run("inspect", "--json", str(folder / "agent-one.jsonl")).stdout)["parent"] is None


def test_inspect_tells_where_subagents_are_and_what_they_carried_out(claude: str) -> None:
    told = json.loads(run("inspect", "--json", claude).stdout)["subagents"]
    assert {each["id"]: ParentCall(each["session"], each["call"]) for each in told} == PARENTS
    assert all(Path(each["path"]).exists() for each in told)
    shown = run("inspect", claude).stdout
    assert f"one, {told[0]['path']}, for call c1" in shown


def test_an_import_makes_logs_of_subagents_too_where_that_is_asked(claude: str, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    assert run("import", claude, "--out", str(out)).exit_code == 0
    assert not (tmp_path / "log.subagents").exists()
    again = tmp_path / "again.jsonl"
    result = run("import", claude, "--subagents", "--out", str(again))
    assert result.exit_code == 0, result.output
    made = sorted((tmp_path / "again.subagents").iterdir())
    assert result.stdout.splitlines() == [str(again), *(str(made[place]) for place in (0, 2, 1))]
    assert again.read_bytes() == out.read_bytes()
    headers = [JsonlStore(path).header() for path in made]
    assert {header.id: header.parent for header in headers if header is not None} == PARENTS
    told = json.loads(run("inspect", "--json", str(again)).stdout)["subagents"]
    assert {each["id"]: ParentCall(each["session"], each["call"]) for each in told} == PARENTS


def test_an_import_replaces_no_logs_of_subagents(claude: str, tmp_path: Path) -> None:
    (tmp_path / "log.subagents").mkdir()
    result = run("import", claude, "--subagents", "--out", str(tmp_path / "log.jsonl"))
    assert result.exit_code == 1
    assert "log.subagents" in result.stderr
    assert not (tmp_path / "log.jsonl").exists()


def test_a_subagent_that_cannot_be_read_is_told_and_the_others_are_imported(
    claude: str, tmp_path: Path
) -> None:
    folder = Path(claude).with_suffix("") / "subagents"
    (folder / "agent-two.jsonl").write_bytes(b"\n")
    write(
        folder / "agent-four.jsonl", [b'{"type":"session","version":3,"id":"x","harness":"transcript-log"}\n']
    )
    result = run("import", claude, "--subagents", "--json", "--out", str(tmp_path / "log.jsonl"))
    assert result.exit_code == 1
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["s-1", "one", "three"]
    assert "agent-two.jsonl" in result.stderr
    assert "agent-four.jsonl" in result.stderr


def test_subagents_within_a_file_become_logs_of_their_own(tmp_path: Path) -> None:
    session = Written().user("u1", "go").says("a1", "m1", call("c1", "Task", prompt="look"))
    for name in ("t1", "t2"):
        session.user(name, "look", isSidechain=True, parentUuid=None, agentId="the same/name")
    path = write(tmp_path / "s-1.jsonl", session)
    assert run("import", path, "--subagents", "--out", str(tmp_path / "log.jsonl")).exit_code == 0
    (log,) = (tmp_path / "log.subagents").iterdir()
    assert log.name == "s-1-imported.jsonl"  # the id is no name of a file
    header = JsonlStore(log).header()
    assert header is not None
    assert header.parent == ParentCall("s-1", "c1")
    (told,) = json.loads(run("inspect", "--json", path).stdout)["subagents"]
    assert told == {"id": "the same/name", "path": path, "session": "s-1", "call": "c1"}


def test_logs_of_subagents_have_names_of_their_own(tmp_path: Path) -> None:
    session = Written().user("u1", "go")
    for name in ("a/b", "c/d"):
        session.user(name, "look", isSidechain=True, parentUuid=None, agentId=name)
    path = write(tmp_path / "s-1.jsonl", session)
    assert run("import", path, "--subagents", "--out", str(tmp_path / "log.jsonl")).exit_code == 0
    made = sorted(log.name for log in (tmp_path / "log.subagents").iterdir())
    assert made == ["s-1-imported-2.jsonl", "s-1-imported.jsonl"]


# ---------------------------------------------------------------------------------- Codex


def envelope(kind: str, **payload: Any) -> bytes:
    record = {"timestamp": "2026-01-02T03:00:00Z", "type": kind, "payload": payload}
    return json.dumps(record).encode() + b"\n"


def rollout(name: str, *lines: bytes, **meta: Any) -> list[bytes]:
    header = envelope("session_meta", id=name, timestamp="2026-01-02T03:00:00Z", cwd="/src", **meta)
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    return [header, envelope("response_item", **said), *lines]


def spawned(by: str) -> dict[str, Any]:
    return {"subagent": {"thread_spawn": {"parent_thread_id": by, "depth": 1}}}


SPAWN = (
    envelope("response_item", type="function_call", call_id="c1", name="spawn_agent", arguments="{}"),
    envelope("response_item", type="function_call_output", call_id="c1", output='{"agent_id":"child-1"}'),
    envelope("response_item", type="function_call", call_id="c2", name="spawn_agent", arguments="{}"),
    envelope("response_item", type="function_call_output", call_id="c2", output="it has begun"),
    envelope("event_msg", type="collab_agent_spawn_end", call_id="c2", new_thread_id="child-2"),
    envelope("response_item", type="function_call", call_id="c3", name="sh", arguments="{}"),
    envelope("response_item", type="function_call_output", call_id="c3", output='{"agent_id":"child-9"}'),
)


def test_the_calls_that_spawned_subagents_of_codex_are_told_by_output_or_event() -> None:
    imported = import_codex(rollout("parent", *SPAWN))
    calls = calls_of_subagents(imported.entries, imported.details_by_call)
    assert calls == {"child-1": "c1", "child-2": "c2"}
    child = link_subagent(import_codex(rollout("child-1", source=spawned("parent"))), imported)
    assert child.header.parent == ParentCall("parent", "c1")
    stranger = import_codex(rollout("child-9"))
    assert link_subagent(stranger, imported) is stranger


def test_subagents_of_codex_are_rollouts_beside_that_name_the_session(tmp_path: Path) -> None:
    path = write(tmp_path / "rollout-p.jsonl", rollout("parent", *SPAWN))
    write(tmp_path / "rollout-1.jsonl", rollout("child-1", source=spawned("parent")))
    long = {"base_instructions": {"text": "x" * 100_000}}
    write(tmp_path / "rollout-2.jsonl", rollout("child-2", source=spawned("parent"), **long))
    write(tmp_path / "rollout-3.jsonl", rollout("child-3", source=spawned("parent")))
    write(tmp_path / "rollout-4.jsonl", rollout("other", source=spawned("somebody")))
    write(tmp_path / "rollout-5.jsonl", rollout("alone"))
    told = json.loads(run("inspect", "--json", path).stdout)["subagents"]
    assert [(each["id"], each["call"]) for each in told] == [
        ("child-1", "c1"),
        ("child-2", "c2"),
        ("child-3", None),
    ]
    out = tmp_path / "logs" / "log.jsonl"
    assert run("import", path, "--subagents", "--out", str(out)).exit_code == 0
    header = JsonlStore(out.with_suffix(".subagents") / "child-2.jsonl").header()
    assert header is not None
    assert header.parent == ParentCall("parent", "c2")


def test_odd_outputs_spawn_nothing() -> None:
    outputs: list[Any] = ['{"agent_id":7}', '{"agent_id"', "[]", ["agent_id"], '["agent_id"]', None]
    lines = []
    for number, output in enumerate(outputs):
        called = {"call_id": f"c{number}", "name": "spawn_agent", "arguments": "{}"}
        lines.append(envelope("response_item", type="function_call", **called))
        lines.append(
            envelope("response_item", type="function_call_output", call_id=f"c{number}", output=output)
        )
    imported = import_codex(rollout("parent", *lines))
    assert calls_of_subagents(imported.entries, imported.details_by_call) == {}


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    told: list[StorageError] = []
    missing = str(tmp_path / "no" / "rollout.jsonl")
    assert find_subagents(missing, "codex", "s", {}, told.append) == []
    assert len(told) == 1


def test_what_names_no_session_links_nothing(claude: str) -> None:
    found = find_subagents(claude, "claude-code", None, {"one": "c1"}, refuse)
    assert {each.id: each.parent for each in found} == {"one": None, "two": None, "three": PARENTS["three"]}
    assert isinstance(found[0], SubagentFile)
    with open(claude, "rb") as lines:
        assert import_claude_code(lines).header.parent is None
