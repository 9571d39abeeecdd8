"""``transcript-log convert``: where the file goes, what is told, how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from transcript_log import JsonlStore, Session, new_compaction, new_message
from transcript_log.cli import main
from transcript_log.entries import Compaction
from transcript_log.importers import sniff

DATA: Final = Path(__file__).resolve().parent / "data"
BRANCHES: Final = DATA / "claude-code" / "branches.jsonl"
FLAT: Final = DATA / "codex" / "flat.jsonl"
DETAILS: Final = DATA / "pi" / "details.jsonl"


def convert(*words: Any) -> Result:
    return CliRunner().invoke(main, ["convert", *map(str, words)])


def own(folder: Path) -> Path:
    """A log of this package."""
    path = folder / "own.jsonl"
    store = JsonlStore(path)
    store.append(new_message({"role": "user", "content": "go"}))
    store.append(
        new_message(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
                ],
            }
        )
    )
    store.append(new_compaction(Compaction(summary="so far")))
    store.append(new_message({"role": "user", "content": "on"}))
    return path


@pytest.mark.parametrize("agent", ["claude-code", "codex", "pi"])
@pytest.mark.parametrize("given", [BRANCHES, FLAT, DETAILS])
def test_each_is_moved_to_each(given: Path, agent: str, tmp_path: Path) -> None:
    path = tmp_path / "moved.jsonl"
    done = convert(given, "--to", agent, "--out", path)
    assert (done.exit_code, done.stdout) == (0, f"{path}\n")
    assert sniff(path.read_bytes()) == agent
    assert f"made for {agent}: " in done.stderr
    assert "go on with: " in done.stderr
    assert path.stat().st_mode & 0o777 == 0o600
    again = tmp_path / "again.jsonl"
    assert convert(given, "--to", agent, "--out", again).exit_code == 0
    assert again.read_bytes() == path.read_bytes()


def test_a_log_of_ours_is_moved_and_comes_back(tmp_path: Path) -> None:
    path = own(tmp_path)
    moved, back = tmp_path / "moved.jsonl", tmp_path / "back.jsonl"
    done = convert(path, "--to", "codex", "--out", moved)
    assert done.exit_code == 0
    assert "added: the call of 'sh' was never answered" in done.stderr
    assert convert(moved, "--to", "ours", "--out", back).exit_code == 0
    with Session.open(back, mode="read") as session:
        said = [type(event).__name__ for event in session.history().events]
    assert [name for name in said if name in ("Said", "Called", "Compacted")] == [
        *("Said", "Called", "Compacted", "Said")
    ]


def test_a_folder_is_laid_out_as_the_agent_has_it(tmp_path: Path) -> None:
    done = convert(DETAILS, "--to", "codex", "--out", f"{tmp_path}/")
    (path,) = tmp_path.rglob("*.jsonl")
    assert done.stdout == f"{path}\n"
    assert path.parent.relative_to(tmp_path).parts == ("2026", "01", "02")
    assert convert(DETAILS, "--to", "claude-code", "--out", tmp_path).exit_code == 0
    assert len([path for path in tmp_path.rglob("*.jsonl") if path.parent.name.startswith("-")]) == 1


def test_without_out_it_is_made_here_under_the_agents_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = convert(DETAILS, "--to", "codex")
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("rollout-2026-01-02T")
    assert done.stdout == f"{path.name}\n"


@pytest.mark.parametrize("agent", ["claude-code", "codex", "pi", "ours"])
def test_a_file_that_is_there_is_never_replaced(agent: str, tmp_path: Path) -> None:
    path = tmp_path / "there.jsonl"
    path.write_text("mine")
    done = convert(BRANCHES, "--to", agent, "--out", path)
    assert done.exit_code == 1
    assert "there is a file already" in done.stderr
    assert (path.read_text(), list(tmp_path.iterdir())) == ("mine", [path])


def test_a_log_of_ours_is_not_made_of_one(tmp_path: Path) -> None:
    done = convert(own(tmp_path), "--to", "ours", "--out", tmp_path / "new.jsonl")
    assert done.exit_code == 1
    assert "there is nothing to import" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([BRANCHES, "--to", "gemini"], "is not one of"),
        ([BRANCHES], "Missing option '--to'"),
        ([DATA / "no-such", "--to", "pi"], "no such file"),
    ],
)
def test_wrong_usage(words: list[Any], message: str) -> None:
    done = convert(*words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"a":1}\n')
    done = convert(path, "--to", "pi", "--out", tmp_path / "new.jsonl")
    assert done.exit_code == 1
    assert "no session of a known format" in done.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_a_subagent_is_a_session_of_its_own(tmp_path: Path) -> None:
    lines = [
        {
            "type": kind,
            "uuid": uuid,
            "parentUuid": above,
            "isSidechain": True,
            "agentId": "a1",
            "sessionId": "s-1",
            "timestamp": "2026-01-02T03:04:05.000Z",
            "message": {"role": kind, "content": [{"type": "text", "text": said}]},
        }
        for kind, uuid, above, said in (("user", "u1", None, "look"), ("assistant", "u2", "u1", "seen"))
    ]
    path = tmp_path / "agent-a1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "moved.jsonl"
    done = convert(path, "--to", "claude-code", "--out", out)
    assert done.exit_code == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["isSidechain"] for record in records] == [False, False]
    assert len({record["sessionId"] for record in records}) == 1
    assert records[0]["sessionId"] != "s-1"


def test_the_report_of_json_holds_everything(tmp_path: Path) -> None:
    path = tmp_path / "moved.jsonl"
    done = convert(own(tmp_path), "--to", "claude-code", "--out", path, "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (0, "")
    assert (report["path"], report["format"], report["to"]) == (str(path), "transcript-log", "claude-code")
    assert report["records"] == path.read_bytes().count(b"\n")
    assert report["findings"] == []
    assert {change["rule"] for change in report["changes"]} >= {"unanswered-call", "summary", "session-id"}
    assert report["id"] in path.read_text()


def test_secrets_stay_behind(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    secret = "ghp_" + "a1B2" * 9
    JsonlStore(path).append(new_message({"role": "user", "content": f"use {secret}"}))
    out = tmp_path / "moved.jsonl"
    done = convert(path, "--to", "pi", "--out", out, "--redact")
    assert done.exit_code == 0
    assert "redacted: 1 secret" in done.stderr
    assert secret not in out.read_text()
    assert "[redacted:github-token:1]" in out.read_text()


def test_what_did_not_come_back_ends_with_1(tmp_path: Path) -> None:
    """pi has no thinking in an output, and its exporter does not tell."""
    path = tmp_path / "own.jsonl"
    odd = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "thinking", "thinking": "hm"}]}
    JsonlStore(path).append(new_message({"role": "user", "content": "go"}), new_message(odd))
    out = tmp_path / "moved.jsonl"
    done = convert(path, "--to", "pi", "--out", out)
    assert done.exit_code == 1
    assert "this is not in the session that was made" in done.stderr
    assert out.exists()
