"""The command ``fork``: a new log that begins as a session does, and never in the place of another file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_cli import (
    DETAILS,
    EVERYTHING,
    EXAMPLE,
    HOSTILE,
    ROOT,
    answered,
    called,
    is_harmless,
    json_lines,
    make,
    outcome,
    process,
    run,
    said,
)
from test_corpus_codex import CODEX, CORPUS, each

from transcript_log import Header, JsonlStore, Session
from transcript_log.cli.source import open_session
from transcript_log.entries import Entry, ForkOrigin
from transcript_log.history import Event, build_history


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return make(tmp_path / "session.jsonl", *EVERYTHING, details=DETAILS)


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new.jsonl"


def header_of(path: Path) -> Header:
    header = JsonlStore(path).header()
    assert header is not None
    return header


def failed(result: Result, code: int = 1) -> str:
    assert (result.exit_code, result.stdout) == (code, ""), result.exception
    assert is_harmless(result.stderr)
    if code == 1:
        assert result.stderr.count("\n") == 1
    return result.stderr


# ------------------------------------------------------------------------------ our logs


def test_a_fork_of_all_has_the_same_lines_and_records(log: Path, new: Path) -> None:
    result = run("fork", log, new)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{new}: 21 entries of {log}, up to run\n"
    assert new.read_bytes().splitlines()[1:] == log.read_bytes().splitlines()[1:]
    assert JsonlStore(new).details() == JsonlStore(log).details()
    header = header_of(new)
    assert header.forked_from == ForkOrigin(session="s-1", entry="run")
    assert header.cwd == "/home/user"
    assert header.id != "s-1"


@pytest.mark.parametrize(("word", "entry"), [("c3", "c3"), ("o1b", "o1b"), ("x", "x1")])
def test_a_fork_at_an_entry_ends_with_it(word: str, entry: str, log: Path, new: Path) -> None:
    result = run("fork", log, new, "--at", word)
    ids = [known.id for known in EVERYTHING]
    taken = ids[: ids.index(entry) + 1]
    assert [known.id for known in JsonlStore(new).load()] == taken
    what = "1 entry" if len(taken) == 1 else f"{len(taken)} entries"
    assert result.stderr == f"{new}: {what} of {log}, up to {entry}\n"
    assert header_of(new).forked_from == ForkOrigin(session="s-1", entry=entry)


def test_a_fork_goes_on_by_itself(log: Path, new: Path) -> None:
    before = log.read_bytes()
    run("fork", log, new, "--at", "u1")
    with Session.open(new) as session:
        session.add({"role": "user", "content": "another way"})
    assert json_lines(run("context", new))[-1]["content"] == "another way"
    assert log.read_bytes() == before


def test_a_fork_leaves_nothing_beside_its_log(log: Path, tmp_path: Path) -> None:
    (tmp_path / "session.jsonl.lock").unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    run("fork", log, tmp_path / "elsewhere" / "new.jsonl")
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert made == before
    assert (tmp_path / "elsewhere" / "new.jsonl").stat().st_mode & 0o777 == 0o600


HOLDER = """\
import sys
from transcript_log import Session
with Session.open(sys.argv[1]) as session:
    session.add({"role": "user", "content": "mine"})
    print("held", flush=True)
    sys.stdin.readline()
    session.add({"role": "user", "content": "later"})
"""


def test_a_log_that_another_process_holds_is_forked(log: Path, new: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        assert run("fork", log, new).exit_code == 0
        holder.stdin.write(b"go on\n")
        holder.stdin.close()
        assert holder.wait(60) == 0
    assert JsonlStore(new).load() == JsonlStore(log).load()[:-1]


def test_an_empty_log_has_an_empty_fork(tmp_path: Path, new: Path) -> None:
    JsonlStore(tmp_path / "empty.jsonl").create()
    result = run("fork", tmp_path / "empty.jsonl", new)
    assert (result.exit_code, result.stderr) == (0, f"{new}: 0 entries of {tmp_path / 'empty.jsonl'}\n")
    assert JsonlStore(new).load() == []
    assert header_of(new).forked_from is None


def test_what_is_damaged_is_told_and_the_rest_comes_along(tmp_path: Path, new: Path) -> None:
    log = make(tmp_path / "session.jsonl", said("e1", "user", "one"))
    with log.open("ab") as file:
        file.write(b"{broken\n")
    make(log, said("e2", "assistant", "two"))
    with log.open("ab") as file:
        file.write(b'{"id":"e3","timest')
    result = run("fork", log, new)
    told, done = result.stderr.splitlines()
    assert told.startswith(f"{log}: line 3 (byte ")
    assert done == f"{new}: 2 entries of {log}, up to e2"
    assert result.exit_code == 0
    assert [entry.id for entry in JsonlStore(new).load()] == ["e1", "e2"]
    assert run("check", new).exit_code == 0


# ------------------------------------------------------------------------------- errors


def test_an_entry_that_is_not_there_makes_no_log(log: Path, new: Path) -> None:
    assert failed(run("fork", log, new, "--at", "nope")).startswith(
        f"Error: {log}: no entry has the id 'nope';"
    )
    assert "6 ids begin with 'o': o2, o1, o1b, o9, o3" not in failed(
        run("fork", log, new, "--at", "c"), code=2
    )
    assert "5 ids begin with 'c': c1, c2, c3, c4, c5; give more" in failed(
        run("fork", log, new, "--at", "c"), code=2
    )
    assert sorted(path.name for path in new.parent.iterdir() if path.name.startswith("new")) == []


def test_no_file_is_written_over(log: Path, tmp_path: Path) -> None:
    taken = {name: tmp_path / name for name in ("log", "empty", "text", "folder", "nowhere")}
    make(taken["log"], said("e", "user", "x"))
    taken["empty"].touch()
    taken["text"].write_text("mine", encoding="utf-8")
    taken["folder"].mkdir()
    taken["nowhere"].symlink_to(tmp_path / "missing")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for path in (*taken.values(), log):
        told = failed(run("fork", log, path))
        assert told.startswith(f"Error: {path}: cannot make the log: there is a file already")
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_file_that_comes_in_between_is_not_written_over(
    log: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it were made after the command had looked."""
    real = os.path.lexists
    monkeypatch.setattr(os.path, "lexists", lambda path: False if path == str(new) else real(path))
    for held in (b"", b"mine\n", log.read_bytes()):
        new.write_bytes(held)
        failed(run("fork", log, new))
        failed(run("fork", log, new, "--at", "u1"))
        assert new.read_bytes() == held


def test_a_log_that_is_there_is_told_at_once_whoever_holds_it(
    log: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = JsonlStore(make(new, said("e", "user", "x")))
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    with holder.lease():
        for words in ((), ("--at", "u1")):
            assert "there is one already" in failed(run("fork", log, new, *words))


@pytest.mark.parametrize("name", ["new.details.jsonl", "session.jsonl/new.jsonl", "a\0b", "x" * 300])
def test_where_no_log_can_be_made_one_line_says_so(name: str, log: Path, tmp_path: Path) -> None:
    assert failed(run("fork", log, f"{tmp_path}/{name}")).startswith("Error: ")


def test_wrong_usage_ends_with_2(log: Path, tmp_path: Path, new: Path) -> None:
    assert "Missing argument 'NEW'" in failed(run("fork", log), code=2)
    assert "there is no such file" in failed(run("fork", tmp_path / "none", new), code=2)
    theirs = tmp_path / "theirs"
    theirs.write_text("no session\n", encoding="utf-8")
    assert "no session of a known format" in failed(run("fork", theirs, new))
    assert not new.exists()


# -------------------------------------------------------------------- another agent's session


def rollout(path: Path, *payloads: dict[str, Any], times: bool = True) -> Path:
    records: list[dict[str, Any]] = [
        {
            "type": "session_meta",
            "payload": {"id": "theirs", "timestamp": "2026-01-02T12:00:00Z", "cwd": "/src"},
        },
        *({"type": "response_item", "payload": payload} for payload in payloads),
    ]
    if times:
        records = [
            {"timestamp": f"2026-01-02T12:00:{number:02}Z", **record} for number, record in enumerate(records)
        ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def text(role: str, words: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


CALL = {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"}
OUTPUT = {
    "type": "function_call_output",
    "call_id": "c",
    "output": json.dumps({"output": "x", "metadata": {"exit_code": 2, "duration_seconds": 1.0}}),
}


def untimed(events: tuple[Event, ...]) -> list[Event]:
    return [replace(event, time=None) for event in events]


def test_another_agents_session_becomes_a_log_of_ours(tmp_path: Path, new: Path) -> None:
    file = rollout(tmp_path / "rollout.jsonl", text("user", "go"), CALL, OUTPUT, text("assistant", "done"))
    before = file.read_bytes()
    theirs = open_session(str(file))
    result = run("fork", file, new)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{new}: 4 entries of {file}, up to {theirs.entries[-1].id}\n"
    scan = JsonlStore(new).scan()
    assert list(scan.entries) == JsonlStore(new).load() == list(theirs.entries)
    assert build_history(scan.entries, scan.details) == build_history(theirs.entries, theirs.details)
    header = header_of(new)
    assert header.forked_from == ForkOrigin(session="theirs", entry=theirs.entries[-1].id)
    assert (header.harness, header.cwd) == ("transcript-log", "/src")
    assert file.read_bytes() == before
    with Session.open(new) as session:
        session.add({"role": "user", "content": "on"})


def test_it_ends_with_the_entry_that_is_named(tmp_path: Path, new: Path) -> None:
    file = rollout(tmp_path / "rollout.jsonl", text("user", "go"), CALL, OUTPUT, text("assistant", "done"))
    ids = [entry.id for entry in open_session(str(file)).entries]
    assert run("fork", file, new, "--at", ids[1][:12]).exit_code == 0
    assert [entry.id for entry in JsonlStore(new).load()] == ids[:2]
    assert header_of(new).forked_from == ForkOrigin(session="theirs", entry=ids[1])


def test_entries_without_a_time_get_that_of_the_one_before_and_it_is_told(tmp_path: Path, new: Path) -> None:
    file = rollout(tmp_path / "rollout.jsonl", text("user", "go"), text("assistant", "done"), times=False)
    result = run("fork", file, new)
    assert "2 of them had no time that can be read, and got that of the entry before\n" in result.stderr
    assert {str(entry.timestamp) for entry in JsonlStore(new).load()} == {"2026-01-02 12:00:00+00:00"}
    timed = rollout(tmp_path / "timed.jsonl", text("user", "go"), text("assistant", "so"))
    assert "no time" not in run("fork", timed, tmp_path / "timed-fork.jsonl").stderr
    mixed = tmp_path / "mixed.jsonl"
    lines = timed.read_bytes().splitlines(keepends=True)
    mixed.write_bytes(b"".join([*lines[:2], file.read_bytes().splitlines(keepends=True)[2], lines[2]]))
    result = run("fork", mixed, tmp_path / "mixed-fork.jsonl")
    assert "1 of them had no time" in result.stderr
    times = [str(entry.timestamp) for entry in JsonlStore(tmp_path / "mixed-fork.jsonl").load()]
    assert [time[17:19] for time in times] == ["01", "01", "02"]


def test_a_record_that_cannot_be_stored_is_told_and_stays_behind(tmp_path: Path, new: Path) -> None:
    file = rollout(tmp_path / "rollout.jsonl", text("user", "go"), text("assistant", 17), text("user", "on"))
    file.write_bytes(file.read_bytes().replace(b'"text": 17', b'"text": 1e400'))
    told, done = run("fork", file, new).stderr.splitlines()
    assert told.startswith(f"{file}: line 3 (byte ")
    assert done.startswith(f"{new}: 2 entries of {file}, up to ")
    assert run("check", new).exit_code == 0


@pytest.mark.parametrize("name", each(CODEX))
def test_a_fork_of_a_real_session_has_its_history(name: str, new: Path) -> None:
    theirs = open_session(str(CORPUS / name))
    assert run("fork", CORPUS / name, new).exit_code == 0
    scan = JsonlStore(new).scan()
    ours, expected = (
        build_history(entries, details).events
        for entries, details in ((scan.entries, scan.details), (theirs.entries, theirs.details))
    )
    assert untimed(ours) == untimed(expected)
    assert run("check", new).exit_code == 0
    assert json_lines(run("context", new)) == json_lines(run("context", CORPUS / name))


# ------------------------------------------------------------------------ the terminal


def test_it_works_as_a_process(new: Path) -> None:
    result = process("fork", EXAMPLE, new, "--at", "f1d5")
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.decode() == f"{new}: 14 entries of {EXAMPLE}, up to f1d5cadb9ad5a9f6aac3f4c0\n"


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(HOSTILE, min_size=4, max_size=4), name=HOSTILE)
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 4, name="\x1b[31m\u202e\x9b\r\n\x08")
def test_nothing_in_a_session_reaches_the_terminal(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], name: str
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    file = name.replace("/", "").replace("\0", "").encode("utf-8", "surrogatepass")[:60]
    new = Path(os.fsdecode(os.fsencode(folder) + b"/" + file + b".jsonl"))
    words, call_id, entry_id, session = texts
    entries: list[Entry] = [
        said("1" + entry_id, "user", words),
        called("2" + entry_id, call_id, words, words),
        answered("3" + entry_id, call_id, words),
    ]
    log = make(folder / "log.jsonl", *entries, details=(outcome(call_id, status="failed"),))
    theirs = rollout(folder / "rollout.jsonl", text("user", words), {**CALL, "call_id": call_id})
    for number, source in enumerate((log, theirs)):
        target = new if number == 0 else folder / "second.jsonl"
        for option in ((), ("--at", "2" + entry_id), ("--at", session)):
            result = run("fork", source, target, *option)
            assert result.exit_code in (0, 1, 2), result.exception
            assert result.exception is None or isinstance(result.exception, SystemExit)
            assert all(char.isprintable() or char == "\n" for char in result.output)
