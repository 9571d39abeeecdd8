"""Sessions are found where their agents keep them, and by the beginning of their ids."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result
from test_cli import HEADER, make, said

from transcript_log import Header
from transcript_log.cli import main
from transcript_log.errors import StorageError
from transcript_log.places import AGENTS, Home, agent_homes, find_sessions, list_homes

CLAUDE: Final = "3f2a1111-0000-4000-8000-000000000001"
CODEX: Final = "0199aaaa-0000-7000-8000-000000000002"
OLD: Final = "5a1d7c1e-0000-4000-8000-000000000003"
PI: Final = "0199bbbb-0000-7000-8000-000000000004"
CHILD: Final = "0199aaaa-0000-7000-8000-000000000005"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def write(path: Path, *records: Any, age: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    os.utime(path, (0, 1_000_000 - age))
    return path


def claude(session: str, text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": session, "message": message, **more}


def codex(session: str, text: str, **meta: Any) -> list[dict[str, Any]]:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return [
        {"timestamp": "2026-01-02T12:00:00Z", "type": "session_meta", "payload": {"id": session, **meta}},
        {"timestamp": "2026-01-02T12:00:00Z", "type": "response_item", "payload": item},
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a session of each agent in its own place, and an empty folder to work in."""
    home = tmp_path / "home"
    projects = home / ".claude" / "projects" / "-home-me-app"
    write(projects / f"{CLAUDE}.jsonl", claude(CLAUDE, "by claude"), age=1)
    task = claude(CLAUDE, "the task", isSidechain=True, agentId="a1")
    write(projects / CLAUDE / "subagents" / "agent-a1.jsonl", task, age=9)
    day = home / ".codex" / "sessions" / "2026" / "01" / "02"
    write(day / f"rollout-2026-01-02T12-00-00-{CODEX}.jsonl", *codex(CODEX, "by codex"), age=2)
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": CODEX}}}
    write(day / f"rollout-2026-01-02T12-01-00-{CHILD}.jsonl", *codex(CHILD, "spawned", source=spawn), age=8)
    document = {"session": {"id": OLD, "timestamp": "2025-05-07T12:00:00Z"}, "items": []}
    write(home / ".codex" / "sessions" / f"rollout-2025-05-07-{OLD}.json", document, age=3)
    write(day / "notes.jsonl", {"no": "session"})
    write(home / ".codex" / "history.jsonl", {"session_id": CODEX, "text": "x"})
    header = {"type": "session", "version": 3, "id": PI, "timestamp": "2026-01-02T12:00:00Z", "cwd": "/"}
    turn = {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "by pi"}}
    sessions = home / ".pi" / "agent" / "sessions" / "--home-me-app--"
    write(sessions / f"2026-01-02T12-00-00-000Z_{PI}.jsonl", header, turn, age=4)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"):
        monkeypatch.delenv(name, raising=False)
    (home / "work").mkdir()
    monkeypatch.chdir(home / "work")
    return home


def listed(*words: str | Path) -> list[dict[str, Any]]:
    result = run("list", "--json", *words)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


# -------------------------------------------------------------------------------- places


def test_the_places_are_the_agents_own_unless_they_are_moved() -> None:
    homes = agent_homes({"HOME": "/h"})
    assert [(home.agent, home.folder) for home in homes] == [
        ("claude-code", "/h/.claude/projects"),
        ("codex", "/h/.codex/sessions"),
        ("codex", "/h/.codex/archived_sessions"),
        ("pi", "/h/.pi/agent/sessions"),
    ]
    moved = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "~/x", "PI_CODING_AGENT_DIR": "/p"}
    assert [home.folder for home in agent_homes(moved)] == [
        "/c/projects",
        "/h/x/sessions",
        "/h/x/archived_sessions",
        "/p/sessions",
    ]
    sessions = {**moved, "PI_CODING_AGENT_SESSION_DIR": "/s"}
    assert agent_homes(sessions, ["pi"]) == [Home(agent="pi", folder="/s")]
    assert agent_homes({"HOME": "/h", "CODEX_HOME": ""}, ["codex"])[0].folder == "/h/.codex/sessions"


def test_sessions_are_listed_from_every_place(home: Path) -> None:
    make(home / "work" / "mine.jsonl", said("u", "user", "by me"))
    found = listed()
    assert [(log["format"], log["id"], log["text"]) for log in found] == [
        ("transcript-log", "s-1", "by me"),
        ("claude-code", CLAUDE, "by claude"),
        ("codex", CODEX, "by codex"),
        ("codex", OLD, ""),
        ("pi", PI, "by pi"),
    ]
    assert not any(log["problem"] or log["subagent"] for log in found)
    table = run("list")
    assert [line.split()[5] for line in table.stdout.splitlines()[1:]] == [CLAUDE, CODEX, OLD, PI]
    assert "2 sessions of subagents not shown; --subagents shows them" in table.stderr


def test_a_session_of_another_name_in_an_agents_place_is_listed_and_found(home: Path) -> None:
    place = home / ".pi" / "agent" / "sessions" / "--home-me-app--"
    header = {"type": "session", "version": 3, "id": "p-9", "timestamp": "2026-01-02T12:00:00Z", "cwd": "/"}
    turn = {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "renamed"}}
    write(place / "mine.jsonl", header, turn)
    write(place / "headless.jsonl", turn)
    assert {(log["id"], log["text"]) for log in listed("--agent", "pi")} == {
        (PI, "by pi"),
        ("p-9", "renamed"),
        ("headless", "renamed"),
    }
    for prefix, name in (("p-9", "mine"), ("headl", "headless")):
        (found,) = find_sessions(prefix, ".", agent_homes(os.environ), pytest.fail)
        assert (found.path, found.format) == (str(place / f"{name}.jsonl"), "pi")
    assert find_sessions("notes", ".", agent_homes(os.environ), pytest.fail) == []


def test_sessions_of_subagents_are_listed_where_that_is_asked_for(home: Path) -> None:
    found = {log["id"]: log for log in listed("--subagents")}
    assert set(found) == {CLAUDE, CODEX, OLD, PI, CHILD, "agent-a1"}
    assert {name for name, log in found.items() if log["subagent"]} == {CHILD, "agent-a1"}
    assert (found["agent-a1"]["text"], found[CHILD]["text"]) == ("the task", "spawned")
    assert "not shown" not in run("list", "--subagents").stderr
    write(home / ".claude/projects/p/s/subagents/deep/agent-b2.jsonl", {"type": "summary", "leafUuid": "u"})
    assert {log["id"] for log in listed("--subagents") if log["subagent"]} == {CHILD, "agent-a1", "agent-b2"}


def test_an_id_that_is_listed_is_one_that_is_found(home: Path) -> None:
    """Also where somebody renamed a file: the header of this one names another."""
    path = write(home / ".codex/sessions/rollout-2026-01-03T00-00-00-7e57.jsonl", *codex("other", "renamed"))
    assert "7e57" in [log["id"] for log in listed()]
    assert "other" not in [log["id"] for log in listed()]
    (found,) = find_sessions("7e57", ".", agent_homes(os.environ), pytest.fail)
    assert found.path == str(path)


def test_one_agents_sessions_are_listed_alone(home: Path) -> None:
    make(home / "work" / "mine.jsonl", said("u", "user", "by me"))
    expected = {"claude-code": [CLAUDE], "codex": [CODEX, OLD], "pi": [PI]}
    for agent in AGENTS:
        assert [log["id"] for log in listed("--agent", agent)] == expected[agent]
    assert len(listed("--agent", "all")) == 5
    assert [log["id"] for log in listed(".")] == ["s-1"]
    assert [log["id"] for log in listed(".", "--agent", "pi")] == ["s-1", PI]
    assert [log["id"] for log in listed("--limit", "2")] == ["s-1", CLAUDE]


def test_a_place_that_is_not_there_holds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    result = run("list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("this folder, ")
    assert result.stderr.endswith(": no session files\n")
    (tmp_path / "file").write_bytes(b"")
    assert list_homes([Home(agent="pi", folder=str(tmp_path / "file"))], pytest.fail) == []


def test_a_folder_that_cannot_be_read_is_told_and_the_others_are_listed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.scandir

    def refusing(path: Any) -> Any:
        if str(path).endswith("-home-me-app"):
            raise PermissionError(13, "Permission denied", str(path))
        return really(path)

    monkeypatch.setattr(os, "scandir", refusing)
    told: list[StorageError] = []
    found = list_homes(agent_homes(os.environ), told.append)
    assert {log.id for log in found} == {CODEX, OLD, PI, CHILD}
    assert ["Permission denied" in str(error) for error in told] == [True]
    result = run("list")
    assert result.exit_code == 0
    assert "cannot list the folder: Permission denied" in result.stderr


def test_a_folder_that_is_lost_while_it_is_listed_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.open

    def losing(path: Any, *args: Any, **options: Any) -> int:
        if str(path).endswith("-home-me-app"):
            raise FileNotFoundError(2, "No such file or directory")
        return really(path, *args, **options)

    monkeypatch.setattr(os, "open", losing)
    told: list[StorageError] = []
    found = list_homes(agent_homes(os.environ), told.append)
    assert CODEX in {log.id for log in found}
    assert len(told) == 1


def test_a_folder_to_work_in_that_cannot_be_read_is_told(home: Path) -> None:
    told: list[StorageError] = []
    found = find_sessions(CODEX, str(home / "gone"), agent_homes(os.environ), told.append)
    assert [each.id for each in found] == [CODEX]
    assert len(told) == 1


def test_links_to_folders_are_not_followed(home: Path) -> None:
    (home / ".codex" / "sessions" / "again").symlink_to(home / ".codex" / "sessions")
    assert len(listed("--agent", "codex")) == 2


# --------------------------------------------------------------------------------- by id


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        ("3f2a", "by claude"),
        (CLAUDE, "by claude"),
        ("0199aaaa-0000-7000-8000-000000000002", "by codex"),
        ("0199b", "by pi"),
        ("agent-a", "the task"),
    ],
)
def test_the_beginning_of_an_id_stands_for_its_file(prefix: str, text: str, home: Path) -> None:
    homes = agent_homes(os.environ)
    (found,) = find_sessions(prefix, ".", homes, pytest.fail)
    assert found.id.startswith(prefix)
    assert text in Path(found.path).read_text(encoding="utf-8")


def test_every_command_takes_one(home: Path) -> None:
    path = "~/.codex/sessions/2026/01/02/rollout-2026-01-02T12-00-00-" + CODEX + ".jsonl"
    for words in (
        ("replay",),
        ("inspect",),
        ("check",),
        ("stats",),
        ("context",),
        ("import", "--out", "log.jsonl"),
    ):
        result = run(*words, CODEX[:-1] + "2")
        assert result.exit_code == 0, result.output
        assert result.stderr.splitlines()[0] == f"{CODEX}: {path}"
    assert "by codex" in run("replay", CODEX).stdout
    assert run("diff", CODEX, CODEX).exit_code == 0
    (home / "work" / "log.jsonl").unlink()
    assert "never written to" in run("salvage", CODEX).stderr


def test_logs_of_this_folder_are_found_by_their_headers_and_their_names(home: Path) -> None:
    make(
        home / "work" / "named.jsonl",
        said("u", "user", "mine"),
        header=Header(id="7c7c-1", harness="transcript-log"),
    )
    for prefix in ("7c7c", "7c7c-1", "name", "named"):
        result = run("replay", prefix)
        assert result.exit_code == 0, result.output
        assert result.stderr == f"{prefix}: named.jsonl\n"
        assert "mine" in result.stdout


def test_a_file_that_is_there_goes_before_an_id(home: Path) -> None:
    make(home / "work" / "3f2a", said("u", "user", "a file"))
    result = run("replay", "3f2a")
    assert result.stderr == ""
    assert "a file" in result.stdout


def test_an_id_that_several_begin_with_is_refused_naming_them(home: Path) -> None:
    result = run("replay", "0199")
    assert (result.exit_code, result.stdout) == (2, "")
    first, *named = result.stderr.splitlines()
    assert first == "Error: 0199: the ids of 3 sessions begin so; give more of one, or a path"
    assert [line.split()[:2] for line in named] == [[CODEX, "codex"], [CHILD, "codex"], [PI, "pi"]]
    assert all(line.split()[2].startswith("~/") for line in named)
    for number in range(30):
        write(home / ".claude" / "projects" / "p" / f"3f2a{number}.jsonl", claude("s", "x"))
    many = run("replay", "3f2a").stderr.splitlines()
    assert len(many) == 22
    assert many[-1] == "  and 11 more"


def test_the_whole_id_of_one_goes_before_those_that_begin_with_it(home: Path) -> None:
    for name in ("abc", "abc-2"):
        write(home / ".claude" / "projects" / "p" / f"{name}.jsonl", claude("s", f"by {name}"))
    homes = agent_homes(os.environ)
    assert [each.id for each in find_sessions("abc", ".", homes, pytest.fail)] == ["abc"]
    assert [each.id for each in find_sessions("ab", ".", homes, pytest.fail)] == ["abc", "abc-2"]


def test_a_log_goes_before_the_session_that_it_was_made_of(home: Path) -> None:
    run("import", CODEX)
    result = run("replay", CODEX)
    assert result.stderr == f"{CODEX}: {CODEX}.jsonl\n"
    make(
        home / "work" / "other.jsonl",
        said("u", "user", "x"),
        header=Header(id=CODEX, harness="transcript-log"),
    )
    assert run("replay", CODEX).exit_code == 2


def test_a_file_goes_before_the_same_one_compressed(home: Path) -> None:
    day = home / ".codex" / "sessions" / "2026" / "01" / "02"
    path = day / f"rollout-2026-01-02T12-00-00-{CODEX}.jsonl"
    path.with_name(path.name + ".zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (found,) = find_sessions(CODEX, ".", agent_homes(os.environ), pytest.fail)
    assert found.path == str(path)
    path.unlink()
    (found,) = find_sessions(CODEX, ".", agent_homes(os.environ), pytest.fail)
    assert found.path == f"{path}.zst"


def test_where_none_is_found_it_says_where_was_looked(home: Path) -> None:
    result = run("replay", "feed")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: feed: there is no such file, and no session id begins so in this folder,"
        " ~/.claude/projects, ~/.codex/sessions, ~/.codex/archived_sessions, ~/.pi/agent/sessions\n"
    )
    for path in ("feed.jsonl", "a/feed", ".feed"):
        assert run("replay", path).stderr == f"Error: {path}: there is no such file\n"


def test_no_session_is_opened_to_find_one_by_its_id(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    really = os.open

    def opening(path: Any, *args: Any, **options: Any) -> int:
        opened.append(str(path))
        return really(path, *args, **options)

    monkeypatch.setattr(os, "open", opening)
    assert len(find_sessions("0199", ".", agent_homes(os.environ), pytest.fail)) == 3
    place = str(home / ".codex" / "sessions" / "2026" / "01" / "02")
    assert opened == [".", place, "notes.jsonl"]  # but for those that no agent named so
    assert HEADER.id == "s-1"
