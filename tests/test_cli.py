"""The command: what it prints where, how it ends, and that nothing in a transcript harms who looks at it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from transcript_log import (
    Compaction,
    Detail,
    Header,
    Invocation,
    JsonlStore,
    Run,
    ToolOutcome,
    outcome_payload,
)
from transcript_log.cli import main
from transcript_log.codec import started_payload
from transcript_log.entries import (
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Entry,
    ForkOrigin,
    MessageEntry,
    OpaqueEntry,
    ParentCall,
    RunEntry,
    ToolStarted,
)
from transcript_log.history import build_history, history_json

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = ROOT / "examples" / "fix-the-build.jsonl"
NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
COMMANDS: Final = ("replay", "inspect", "check", "salvage")
NOBODY: Final = 65534


def run(*words: str | Path, color: bool = False) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], color=color)


def process(
    *words: str | Path, env: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "transcript_log", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        timeout=60,
        check=False,
        **{"capture_output": True, **options},
    )


def json_lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def message(entry_id: str, item: dict[str, Any], **more: Any) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=NOON, message=item, **more)


def said(entry_id: str, role: str, text: str, **more: Any) -> MessageEntry:
    return message(entry_id, {"role": role, "content": text}, **more)


def called(entry_id: str, call_id: str, name: str = "shell", arguments: str = '{"cmd":"ls"}') -> MessageEntry:
    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return message(entry_id, item)


def answered(entry_id: str, call_id: str, text: Any = "a.txt", **more: Any) -> MessageEntry:
    return message(entry_id, {"type": "function_call_output", "call_id": call_id, "output": text}, **more)


HEADER: Final = Header(id="s-1", timestamp=NOON, harness="transcript-log", cwd="/home/user")


def make(path: Path, *entries: Entry, details: tuple[Detail, ...] = (), header: Header = HEADER) -> Path:
    """A log of our own."""
    JsonlStore(path, durability="os", header=header).append(*entries, details=details)
    return path


def outcome(call_id: str, **fields: Any) -> Detail:
    return Detail(id=call_id, payload=outcome_payload(ToolOutcome(**fields)))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def damaged(log: Path) -> Path:
    """A log with a broken line between two good ones, and a torn tail."""
    make(log, said("e1", "user", "one"))
    with log.open("ab") as file:
        file.write(b"{broken\n")
    make(log, said("e2", "assistant", "two"))
    with log.open("ab") as file:
        file.write(b'{"id":"e3","timest')
    return log


# -------------------------------------------------------------------------------- replay

EVERYTHING: Final[tuple[Entry, ...]] = (
    ContextEntry(
        id="x1",
        timestamp=NOON,
        context=ContextAttachment(
            attachment_id="a",
            epoch=1,
            kind="rules",
            placement="prefix",
            revision="1",
            rendered="Be brief.",
            path="R.md",
        ),
    ),
    said(
        "u1",
        "user",
        "Fix it.\nPlease.",
        invocation=Invocation(kind="prompt_template", name="fix", source="user", path="/p/fix.md"),
    ),
    message("r1", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look first."}]}),
    message("r2", {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
    called("c1", "one", arguments=json.dumps({"cmd": "make", "text": "a\nb"})),
    called("c2", "two"),
    answered("o2", "two"),
    answered("o1", "one", "boom"),
    answered("o1b", "one", "boom again"),
    answered("o9", "nine", "stray"),
    called("c3", "three"),
    answered("o3", "three", "nobody knows", stand_in=True),
    message("w1", {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": "make"}}),
    said("a1", "assistant", "Half an ans", interrupted=True),
    message("p1", {"role": "user", "content": [{"type": "image", "data": "QUJD", "mimeType": "image/png"}]}),
    CompactionEntry(
        id="k1",
        timestamp=NOON,
        compaction=Compaction(
            summary="The gist.", first_kept_entry_id="p1", tokens_before=900, tokens_after=100
        ),
    ),
    message("q1", {"role": "assistant", "content": [{"type": "hologram"}]}),
    OpaqueEntry(id="z1", timestamp=NOON, type="from-the-future", data={}),
    called("c4", "four"),
    called("c5", "five"),
    RunEntry(
        id="run",
        timestamp=NOON,
        run=Run(
            started_at=NOON, completed_at=NOON + timedelta(seconds=75), first_entry_id="u1", status="failed"
        ),
    ),
)

DETAILS: Final = (
    outcome("one", status="failed", exit_code=2, error_code="build"),
    outcome("two", status="success", exit_code=0),
    outcome("five", status="timeout"),
    Detail(id="four", payload=started_payload(ToolStarted(at=NOON))),
)

SHOWN: Final = """\
session s-1  2026-01-02 12:00:00Z  /home/user
context    rules R.md  Be brief.

── turn 1 ──────────────────────────────  2026-01-02 12:00:00Z  u1
user       (from the template fix)
           Fix it.
           Please.
reasoning  I look first.
reasoning  (only its producer can read it)
call       shell
           cmd: make
           text:
             a
             b
         → failed, exit status 2, build
           boom again
call       shell  {"cmd":"ls"}
         → success, exit status 0
           a.txt
output     (one more for call one)  boom
output     (for call nine, which is not in the log)  stray
call       shell  {"cmd":"ls"}
         → a stand-in: how the call ended was not recorded
           nobody knows
call       web_search  (run by the provider)  {"type":"search","query":"make"}
assistant  (interrupted)  Half an ans

── turn 2 ──────────────────────────────  2026-01-02 12:00:00Z  p1
user       [image image/png, 3 bytes]
compacted  (900 to 100 tokens; kept from entry p1 on)  The gist.
unknown    an item of type 'hologram'
unknown    an entry of type 'from-the-future'
call       shell  {"cmd":"ls"}
         → not answered so far; it was started
call       shell  {"cmd":"ls"}
         → not answered so far; recorded as timeout
run        failed after 1 min 15 s (2026-01-02 12:00:00Z to 12:01:15Z)
"""


def test_replay_shows_everything_that_happened(log: Path) -> None:
    result = run("replay", make(log, *EVERYTHING, details=DETAILS))
    assert result.stdout == SHOWN
    assert result.stderr == ""
    assert result.exit_code == 0


def test_replay_as_json_gives_the_events(log: Path) -> None:
    make(log, *EVERYTHING, details=DETAILS)
    scan = JsonlStore(log).scan()
    events = build_history(scan.entries, scan.details).events
    result = run("replay", "--json", log)
    assert json_lines(result) == [json.loads(json.dumps(history_json(event))) for event in events]


@pytest.mark.parametrize("options", [(), ("--color",), ("--full",), ("--color", "--full")])
def test_no_line_ends_in_spaces(log: Path, options: tuple[str, ...]) -> None:
    make(
        log, *EVERYTHING, said("u9", "user", "trailing  \n\n  \n"), said("u10", "user", " "), details=DETAILS
    )
    for line in run("replay", log, *options).stdout.split("\n"):
        bare = line.replace("\x1b[0m", "")
        assert bare == bare.rstrip(" ")


def test_colours_are_for_terminals_and_for_who_asks(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    make(log, *EVERYTHING, details=DETAILS)
    assert "\x1b[" not in run("replay", log).stdout
    colored = run("replay", "--color", log).stdout
    assert "\x1b[1mshell\x1b[0m" in colored
    assert click_unstyle(colored) == SHOWN
    assert "\x1b[" in run("replay", log, color=True).stdout
    assert "\x1b[" not in run("replay", "--no-color", log, color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("replay", log, color=True).stdout
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b[" in run("replay", log, color=True).stdout


def click_unstyle(text: str) -> str:
    from click import unstyle

    return unstyle(text)


def test_limit_and_from_choose_events(log: Path) -> None:
    make(log, *EVERYTHING, details=DETAILS)
    every = json_lines(run("replay", "--json", log))
    assert json_lines(run("replay", "--json", "--limit", "3", log)) == every[:3]
    assert json_lines(run("replay", "--json", "--limit", "0", log)) == []
    rest = json_lines(run("replay", "--json", "--from", "a1", log))
    assert rest == every[len(every) - len(rest) :]
    assert rest[0]["entry"] == "a1"
    # What it holds stands with an earlier entry: what comes next is where it begins.
    assert json_lines(run("replay", "--json", "--from", "o1b", log))[0]["entry"] == "o9"
    assert json_lines(run("replay", "--json", "--from", "a1", "--limit", "2", log)) == rest[:2]
    assert run("replay", "--from", "p1", log).stdout.startswith("session s-1")


def test_from_an_entry_that_is_not_there_is_told_in_one_line(log: Path) -> None:
    make(log, *EVERYTHING)
    result = run("replay", "--from", "no\x1b[31m", log)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert "'no\\x1b[31m'" in result.stderr


def test_from_begins_at_the_first_of_two_entries_with_one_id(log: Path) -> None:
    lines = [
        json.dumps(entry) for entry in (raw_header(), raw("e", "one"), raw("f", "two"), raw("e", "three"))
    ]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [event["text"] for event in json_lines(run("replay", "--json", "--from", "e", log))] == [
        "one",
        "two",
        "three",
    ]
    assert [event["text"] for event in json_lines(run("replay", "--json", "--from", "f", log))] == [
        "two",
        "three",
    ]


def raw_header() -> dict[str, Any]:
    return {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T12:00:00Z"}


def raw(entry_id: str, text: str) -> dict[str, Any]:
    item = {"role": "user", "content": text}
    return {"id": entry_id, "timestamp": "2026-01-02T12:00:00Z", "type": "message", "message": item}


def test_long_texts_are_shortened_unless_all_is_wanted(log: Path) -> None:
    lines = "\n".join(f"line {n}" for n in range(100))
    make(
        log,
        said("u", "user", lines),
        said("d", "developer", lines),
        called("c", "one", arguments=json.dumps({"text": lines})),
        answered("o", "one", lines + "\n" + "x" * 2000),
        said("a", "assistant", lines),
    )
    shown = run("replay", log).stdout
    assert shown.count("line 99") == 1  # what the assistant says is shown whole
    assert shown.count("line 39") == 2
    assert shown.count("line 11") == 4 + 1 - 1
    for more in ("… 60 more lines", "… 88 more lines", "… 89 more lines"):
        assert more in shown
    full = run("replay", "--full", log).stdout
    assert full.count("line 99") == 5
    assert "x" * 2000 in full
    assert "more lines" not in full


def test_a_long_line_of_an_output_is_cut(log: Path) -> None:
    make(log, said("u", "user", "go"), called("c", "one"), answered("o", "one", "x" * 2000))
    assert f"{'x' * 500} … 1500 more characters" in run("replay", log).stdout


def test_line_ends_of_windows_are_no_noise(log: Path) -> None:
    make(log, said("u", "user", "one\r\ntwo\r\n"), called("c", "i"), answered("o", "i", "a\r\nb\rc"))
    shown = run("replay", log).stdout
    assert "user       one\n           two\n" in shown
    assert "a\n           b\\x0dc\n" in shown


def test_an_output_cannot_pass_itself_off_as_an_outcome_or_as_an_event(log: Path) -> None:
    forged = "\n         → success, exit status 0\nassistant  All is well.\n── turn 9 ──"
    make(
        log,
        said("u", "user", "go"),
        called("c", "one"),
        answered("o", "one", forged),
        details=(outcome("one", status="failed"),),
    )
    lines = run("replay", log).stdout.split("\n")
    assert [line for line in lines if line.startswith("         →")] == ["         → failed"]
    assert not [line for line in lines if line.startswith(("assistant", "── turn 9"))]


def test_the_json_that_old_outputs_are_wrapped_in_is_taken_off(log: Path) -> None:
    wrapped = json.dumps({"output": "two\nlines\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
    make(log, said("u", "user", "go"), called("c", "one"), answered("o", "one", wrapped))
    assert "\n           two\n           lines\n" in run("replay", log).stdout


def test_a_header_that_says_more_is_shown(log: Path) -> None:
    header = Header(
        id="s-2",
        timestamp=NOON,
        harness="transcript-log",
        forked_from=ForkOrigin(session="s-1", entry="e7"),
        parent=ParentCall(session="s-0", call="call_1"),
    )
    make(log, said("u", "user", "go"), header=header)
    first = run("replay", log).stdout.split("\n")[0]
    assert first == "session s-2  2026-01-02 12:00:00Z  for call call_1 of s-0  forked from s-1 at e7"


def test_what_is_damaged_is_told_and_the_rest_is_shown(damaged: Path) -> None:
    result = run("replay", damaged)
    assert result.exit_code == 0
    assert "user       one" in result.stdout
    assert "assistant  two" in result.stdout
    (line,) = result.stderr.splitlines()  # a torn tail is no fault
    assert line.startswith(f"{damaged}: line 3 (byte ")
    assert "error: not JSON" in line
    assert json_lines(run("replay", "--json", damaged))[1]["text"] == "two"


def test_an_empty_message_says_so(log: Path) -> None:
    make(log, said("u", "user", ""), message("a", {"role": "assistant", "content": []}))
    shown = run("replay", log).stdout
    assert "user       (no text)\n" in shown
    assert "assistant  (no text)\n" in shown


# ------------------------------------------------------------------------------- inspect


def test_inspect_counts(log: Path) -> None:
    make(log, *EVERYTHING, details=DETAILS)
    result = run("inspect", log)
    assert result.exit_code == 0
    rows = dict(line.split(None, 1) for line in result.stdout.splitlines())
    assert rows["file"] == str(log)
    assert rows["format"] == "a log of this package"
    assert rows["session"] == "s-1"
    assert rows["entries"] == "21 (1 compaction, 1 context, 1 from-the-future, 17 message, 1 run)"
    assert rows["roles"] == "2 assistant, 2 user"
    assert rows["calls"] == "5 (5 outputs, 2 unanswered, 1 without a call, 2 parallel groups)"
    assert rows["pictures"] == "1 (3 bytes)"
    assert rows["checksums"] == "21 entries with one, 0 without"
    assert rows["damage"] == "none"
    assert rows["findings"].startswith("2 warnings, 2 notes")


def test_inspect_as_json_has_every_number(log: Path) -> None:
    make(log, *EVERYTHING, details=DETAILS)
    (told,) = json_lines(run("inspect", "--json", log))
    wanted = {
        "path": str(log),
        "format": "transcript-log",
        "id": "s-1",
        "cwd": "/home/user",
        "version": 3,
        "entries": 21,
        "records": 22,
        "broken_lines": 0,
        "recovered": 0,
        "calls": 5,
        "unanswered": 2,
        "orphan_results": 1,
        "image_bytes": 3,
        "sealed": 21,
        "unsealed": 0,
        "first_time": "2026-01-02T12:00:00Z",
        "size": log.stat().st_size,
    }
    assert {key: told[key] for key in wanted} == wanted
    assert [finding["rule"] for finding in told["findings"]] == [
        "repeated-output",
        "output-without-call",
        "unanswered-call",
        "unanswered-call",
    ]


def test_inspect_counts_what_is_damaged_and_what_was_saved(log: Path) -> None:
    lines = [
        json.dumps(raw_header()),
        json.dumps(raw("e1", "one")),
        json.dumps(raw("e2", "two")) + json.dumps(raw("e3", "three")),
        "{broken",
        "nothing here",
        json.dumps(raw("e1", "not damaged, but another one of that id")),
    ]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (told,) = json_lines(run("inspect", "--json", log))
    assert (told["entries"], told["broken_lines"], told["recovered"]) == (4, 3, 2)
    assert "3 lines; 2 saved from there" in run("inspect", log).stdout


# --------------------------------------------------------------------------------- check


def test_check_ends_with_1_if_anything_is_wrong(damaged: Path) -> None:
    result = run("check", damaged)
    assert result.exit_code == 1
    at = [damaged.read_bytes().index(part) for part in (b"{broken", b'{"id":"e3"')]
    assert [line.split(": ")[1:3] for line in result.stdout.splitlines()] == [
        [f"line 3 (byte {at[0]})", "error"],
        [f"line 5 (byte {at[1]})", "note"],
    ]
    assert result.stderr == "1 thing wrong, 1 note\n"
    found = json_lines(run("check", "--json", damaged))
    assert [finding["rule"] for finding in found] == ["damaged-line", "torn-tail"]
    assert found[0].keys() == {
        "rule", "severity", "message", "advice", "path", "line", "offset", "entry", "call", "item"
    }  # fmt: skip
    assert run("check", "--json", damaged).stderr == ""


def test_check_ends_with_0_if_there_are_but_notes(log: Path) -> None:
    make(log, said("u", "user", "go"), called("c", "one"))
    result = run("check", log)
    assert (result.exit_code, result.stderr) == (0, "nothing is wrong, 1 note\n")
    assert "it may still be open" in result.stdout


def test_check_of_a_sound_log_prints_nothing(log: Path) -> None:
    result = run("check", make(log, said("u", "user", "go")))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing is wrong\n")


def test_a_file_is_named_as_the_user_named_it(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(damaged.parent)
    for words in (("check",), ("check", "--json"), ("replay",), ("salvage",), ("inspect",)):
        result = run(*words, damaged.name)
        assert damaged.name in result.output
        assert str(damaged.parent) not in result.output
    monkeypatch.chdir(damaged.parent.parent)
    name = f"{damaged.parent.name}/{damaged.name}"
    assert run("check", name).stdout.startswith(f"{name}: line 3")


def test_findings_behind_a_link_name_the_real_file(damaged: Path) -> None:
    link = damaged.with_name("link.jsonl")
    link.symlink_to(damaged.name)
    assert run("check", link).stdout.startswith(f"{damaged}: line 3")


# ------------------------------------------------------------------------------- salvage


def test_salvage_says_what_it_would_do_and_does_nothing(damaged: Path) -> None:
    before = {path.name: path.read_bytes() for path in damaged.parent.iterdir()}
    result = run("salvage", damaged)
    assert result.exit_code == 1
    assert f"{damaged}: line 3 (byte " in result.stdout
    assert f"{damaged}: 3 lines would be kept as before, 0 written anew\n" in result.stdout
    assert "nothing was changed; add --apply to salvage" in result.stderr
    assert {path.name: path.read_bytes() for path in damaged.parent.iterdir()} == before


def test_salvage_does_it_and_keeps_the_old_file(damaged: Path) -> None:
    before = damaged.read_bytes()
    result = run("salvage", "--apply", damaged)
    assert (result.exit_code, result.stderr) == (0, "")
    backup = Path(result.stdout.rsplit("the old file is ", 1)[1].rstrip("\n"))
    assert backup.read_bytes() == before
    assert [entry.id for entry in JsonlStore(damaged).load()] == ["e1", "e2"]
    assert run("check", damaged).exit_code == 0
    again = run("salvage", "--apply", damaged)
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "nothing to mend\n")


def test_salvage_reseals_what_was_edited_on_purpose(log: Path) -> None:
    make(log, said("e1", "user", "secret"))
    log.write_bytes(log.read_bytes().replace(b"secret", b"******"))
    assert run("check", log).exit_code == 1
    result = run("salvage", "--reseal", log)
    assert result.exit_code == 1
    assert "1 line would be kept as before, 1 resealed" in result.stdout
    assert run("salvage", "--reseal", "--apply", log).exit_code == 0
    assert run("check", log).exit_code == 0
    assert "******" in run("replay", log).stdout


# ---------------------------------------------------------------------------------- list


def test_list_names_what_a_folder_holds(tmp_path: Path) -> None:
    make(tmp_path / "a.jsonl", said("u", "user", "The first thing that was said, " + "at length " * 20))
    os.utime(tmp_path / "a.jsonl", (1_700_000_000, 1_700_000_000))
    (tmp_path / "b.jsonl").write_bytes(b"")
    (tmp_path / "evil\x1b[31m\n.jsonl").write_bytes(b'{"type":"session","version":3,"id":"\\u202e","cut')
    make(tmp_path / "c.jsonl", said("u", "user", "hello"), details=(outcome("x", status="success"),))
    result = run("list", tmp_path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    (line,) = [line for line in lines if "a.jsonl" in line]
    assert line.startswith("2023-11-14 22:13:20Z")
    assert "transcript-log" in line
    assert "The first thing that was said, at length" in line
    assert line.endswith(" …")
    assert lines[-1] == line  # the one that changed last comes first
    assert any("b.jsonl" in line and line.endswith("[it is empty]") for line in lines)
    assert any("evil\\x1b[31m\\n.jsonl" in line for line in lines)
    told = {Path(log["path"]).name: log for log in json_lines(run("list", "--json", tmp_path))}
    assert told["c.jsonl"]["text"] == "hello"
    assert told["c.jsonl"]["id"] == "s-1"
    assert told["a.jsonl"]["modified"] == "2023-11-14T22:13:20Z"
    assert told["b.jsonl"]["problem"] == "it is empty"
    assert told["a.jsonl"]["problem"] is None


def test_list_takes_the_folder_that_it_is_run_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "a.jsonl", said("u", "user", "hello"))
    monkeypatch.chdir(tmp_path)
    assert "  s-1  hello" in run("list").stdout


def test_a_folder_without_sessions_is_no_error(tmp_path: Path) -> None:
    result = run("list", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{tmp_path}: no session files\n"
    assert run("list", "--json", tmp_path).output == ""


def test_a_time_past_the_calendar_is_unknown(tmp_path: Path) -> None:
    make(tmp_path / "a.jsonl", said("u", "user", "hello"))
    try:
        os.utime(tmp_path / "a.jsonl", (10**12, 10**12))
    except OSError:
        pytest.skip("this file system has no such times")
    if (tmp_path / "a.jsonl").stat().st_mtime < 10**12:
        pytest.skip("this file system has no such times")
    assert run("list", tmp_path).stdout.startswith("unknown  ")
    assert json_lines(run("list", "--json", tmp_path))[0]["modified"] is None


# --------------------------------------------------------------------- what is no session


ODD: Final = {
    # What is no session that can be read: a path, the exit status, and words of the reason.
    "empty": ("empty.jsonl", 1, "empty"),
    "binary": ("binary.jsonl", 1, "no session"),
    "text": ("text.jsonl", 1, "no session"),
    "other": ("other.jsonl", 1, "no session"),
    "evil text": ("\x1b[31m\u202e\n.jsonl", 1, "\\x1b[31m\\u202e\\n"),
    "list": ("list.jsonl", 1, "no session"),
    "folder": ("folder.jsonl", 1, "directory"),
    "newer": ("newer.jsonl", 1, "format version 4, and only version 3"),
    "headless": ("headless.jsonl", 1, "line 1"),
    "fifo": ("fifo.jsonl", 1, "no regular file"),
    "device": ("/dev/null", 1, "no regular file"),
    "dangling": ("dangling.jsonl", 2, "no such file"),
    "loop": ("loop.jsonl", 1, "symbolic links"),
    "missing": ("missing.jsonl", 2, "no such file"),
    "in a file": ("text.jsonl/inner.jsonl", 2, "no such file"),
    "long": ("x" * 300, 1, "too long"),
    "nothing": ("", 2, "no such file"),
    "NUL": ("a\0b.jsonl", 2, "NUL"),
    "half a character": ("\ud83d.jsonl", 2, "\\ud83d"),
    "evil": ("\x1b[31m\u202e\x9b1m\udcff.jsonl", 2, "\\x1b[31m\\u202e\\x9b1m"),
}


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder of things that are no session that can be read."""
    contents = {
        "empty": b"",
        "binary": bytes(range(256)) * 20,
        "text": b"Dear diary,\n",
        "other": b'{"type":"event","data":1}\n' * 3,
        "list": b"[]\n",
        "newer": b'{"type":"session","version":4,"id":"s","harness":"transcript-log"}\n',
        "headless": b"{broken\n" + json.dumps(raw("e", "one")).encode() + b"\n",
        "\x1b[31m\u202e\n": b"Dear diary,\n",
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.jsonl").write_bytes(content)
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "dangling.jsonl").symlink_to("nowhere.jsonl")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    return tmp_path


@pytest.mark.parametrize(
    "words", [(name,) for name in COMMANDS] + [(name, "--json") for name in COMMANDS[:3]], ids=" ".join
)
@pytest.mark.parametrize("name", ODD)
def test_what_cannot_be_read_is_told_in_one_line(name: str, words: tuple[str, ...], odd: Path) -> None:
    path, code, reason = ODD[name]
    if name == "empty" and words == ("salvage",):
        return  # an empty log is a log: there is nothing to mend
    result = run(*words, odd / path if path and "\0" not in path else path)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert reason in result.stderr or words == ("salvage",)
    assert is_harmless(result.output)


def is_harmless(text: str) -> bool:
    return all(char.isprintable() or char in "\n\t" for char in text)


@pytest.mark.parametrize(
    ("path", "code"),
    [("missing", 2), ("file/inner", 2), ("", 2), ("a\0b", 2), ("file", 1), ("evil\x1b\u202e", 2)],
)
def test_a_folder_that_cannot_be_listed_is_told_in_one_line(path: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    result = run("list", tmp_path / path if path else "")
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.count("\n") == 1
    assert is_harmless(result.stderr)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("command", [*COMMANDS, "list"])
def test_a_file_of_somebody_else_is_told_in_one_line(command: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "session.jsonl", said("u", "user", "private")).chmod(0o000)
        (folder / "closed").mkdir(mode=0o700)
        folder.chmod(0o755)
        for path in ("session.jsonl", "closed/session.jsonl") if command != "list" else ("closed",):
            result = forked(lambda path=path: run(command, folder / path))
            assert result["code"] == 1, result
            assert result["out"] == ""
            assert result["err"].count("\n") == 1
            assert "Permission denied" in result["err"]
        if command == "list":
            result = forked(lambda: run("list", folder))
            assert result["code"] == 0
            assert "cannot be read: Permission denied" in result["out"]


def forked(work: Callable[[], Result]) -> dict[str, Any]:
    """What a command gives in a child that has no rights."""
    back, front = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            result = work()
            told = {"code": result.exit_code, "out": result.stdout, "err": result.stderr}
        except BaseException as error:
            told = {"code": repr(error), "out": "", "err": ""}
        os.write(front, json.dumps(told).encode())
        os._exit(0)
    os.close(front)
    with open(back, "rb") as file:
        told = json.loads(file.read())
    os.waitpid(child, 0)
    return dict(told)


def test_a_torn_creation_is_an_empty_log(log: Path) -> None:
    for raw_bytes in (b'{"type":"sess', b'{"type":"session","version":3,"id":"s","ti', b"\0" * 100, b"\n\n"):
        log.write_bytes(raw_bytes)
        assert run("replay", log).stdout == "an empty log\n", raw_bytes
        assert run("check", log).exit_code == 0
        assert "entries      none\n" in run("inspect", log).stdout


# ---------------------------------------------------------------------------- the command


def test_without_words_it_shows_its_help() -> None:
    result = run()
    assert result.exit_code == 2
    assert "Usage: " in result.output
    assert [
        line.split()[0] for line in result.output.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    ] == [
        "replay",
        "inspect",
        "context",
        "diff",
        "check",
        "rules",
        "salvage",
        "fork",
        "copy",
        "list",
        "import",
        "stats",
        "sql",
        "export",
        "convert",
        "prune",
        "migrate",
    ]


def test_it_tells_its_version() -> None:
    from transcript_log._version import __version__

    assert run("--version").stdout == f"transcript-log, version {__version__}\n"


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_has_a_help_with_an_example(name: str) -> None:
    result = run(name, "-h")
    assert result.exit_code == 0
    assert f"Example:\n      transcript-log {name}" in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("replya", "x"),
        ("replay",),
        ("replay", EXAMPLE, "\x1b[31m\u202e\n"),
        ("check", "--no-such\x1b[31m\u202e", EXAMPLE),
        ("--\u202e",),
        ("replay", "--limit", "-1\x1b\u202e", EXAMPLE),
        ("replay", "--limit", "-1", EXAMPLE),
    ],
)
def test_wrong_usage_ends_with_2_and_shows_nothing_harmful(words: tuple[str | Path, ...]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error: " in result.stderr
    assert is_harmless(result.stderr)


def test_a_command_is_imported_when_it_is_asked_for() -> None:
    """And no other: all of them take several times as long as Python itself."""
    program = (
        "import sys; from transcript_log.cli import main; main(sys.argv[1:], standalone_mode=False); "
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = {}
    for words in (["--version"], ["salvage", "--help"], ["--help"]):
        run = subprocess.run(
            [sys.executable, "-c", program, *words],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        loaded[words[0]] = set(run.stderr.split())
    assert not loaded["--version"] & {"transcript_log.history", "transcript_log.apis", "transcript_log.jsonl"}
    assert "transcript_log.cli.salvage" in loaded["salvage"]
    assert "transcript_log.cli.export" not in loaded["salvage"]
    names = main.list_commands(click.Context(main))
    assert {f"transcript_log.cli.{'import_' if name == 'import' else name}" for name in names} <= loaded[
        "--help"
    ]


def test_the_help_says_of_each_command_what_it_is_for() -> None:
    shown = run("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0].split("\n")
    assert [line.split()[0] for line in shown] == main.list_commands(click.Context(main))
    assert all(re.fullmatch(r"  [a-z]+ +[A-Z].*\.", line) for line in shown)


def test_a_name_that_is_nearly_a_command_is_told_with_it() -> None:
    result = run("exprot", "x")
    assert result.exit_code == 2
    assert "export" in result.stderr.replace("exprot", "")


def test_an_error_of_ours_that_is_none_of_the_file_crashes(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug is never told as if the file were at fault."""
    make(log, said("u", "user", "go"))
    monkeypatch.setattr(sys.modules["transcript_log.cli.replay"], "build_history", lambda *_: 1 / 0)
    assert isinstance(run("replay", log).exception, ZeroDivisionError)


# --------------------------------------------------------------------------- a real process


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("long") / "session.jsonl"
    return make(log, *(said(f"e{n}", "user", f"message {n} – … ─ 日本 " + "x" * 200) for n in range(3000)))


@pytest.mark.parametrize("words", [("replay",), ("replay", "--json"), ("check",)], ids=" ".join)
def test_a_pipe_that_is_closed_early_is_quiet(words: tuple[str, ...], long_log: Path, tmp_path: Path) -> None:
    if words == ("check",):
        lines = [json.dumps(raw_header()), *(json.dumps(raw("same", str(n))) for n in range(3000))]
        long_log = tmp_path / "many.jsonl"
        long_log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "transcript_log", *words, str(long_log)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_told_in_one_line(long_log: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = process("replay", long_log, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 1
    assert result.stderr == b"Error: the output: cannot write: No space left on device (ENOSPC)\n"


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_a_terminal_of_another_encoding_is_no_reason_to_fail(env: dict[str, str], log: Path) -> None:
    make(log, said("u", "user", "日本 – é 🤖 \ud83d"), called("c", "one", name="wörk"))
    for words in (("replay",), ("replay", "--json"), ("inspect",), ("check",)):
        result = process(*words, log, env=env)
        assert result.returncode == 0, result.stderr
        assert b"Traceback" not in result.stderr
    assert b"turn 1" in process("replay", log, env=env).stdout


def test_a_closed_stdout_is_no_reason_to_fail(log: Path) -> None:
    make(log, said("u", "user", "go"))
    command = f'"{sys.executable}" -m transcript_log replay "{log}" >&-'
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(["sh", "-c", command], env=env, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in result.stderr


def test_ctrl_c_is_quiet(long_log: Path) -> None:
    """Stopped in the middle of its output: nobody reads it, so it waits in a write."""
    with subprocess.Popen(
        [sys.executable, "-m", "transcript_log", "replay", str(long_log)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.stdout.read()
        assert b"Traceback" not in child.stderr.read()
        assert child.wait(60) == 1


def test_the_bundled_example_looks_as_it_should(tmp_path: Path) -> None:
    for path in EXAMPLE.parent.glob("fix-the-build*"):
        shutil.copy(path, tmp_path)
    example = tmp_path / EXAMPLE.name
    result = process("replay", example)
    assert (result.returncode, result.stderr) == (0, b"")
    shown = result.stdout.decode()
    assert max(len(line) for line in shown.split("\n")) <= 115
    for words in (
        "user       The build has been failing",
        'call       shell  {"command": "make"}\n         → failed, exit status 2\n',
        "         → success, exit status 0\n",
        "compacted  (",
        "run        completed after ",
        "── turn 2 ",
    ):
        assert words in shown
    check = process("check", example)
    assert (check.returncode, check.stdout) == (0, b"")
    entries = JsonlStore(example).load()
    assert JsonlStore(example).scan().unsealed == 0
    assert {type(entry).__name__ for entry in entries} == {"MessageEntry", "CompactionEntry", "RunEntry"}


# -------------------------------------------------------------------------- hostile texts

HOSTILE: Final = st.text(
    st.sampled_from(
        [
            *map(chr, range(0x20)),
            "\x7f",
            *map(chr, range(0x80, 0xA0)),
            *"\u200b\u200e\u202a\u202e\u2066\u2069\u2028",
        ]
    )
    | st.sampled_from('[]0;m\\u"{}→a─é ')
    | st.characters(),
    min_size=1,
    max_size=12,
).filter(lambda text: re.search("[\ud800-\udbff][\udc00-\udfff]", text) is None)
"""Texts that would do harm on a terminal; without surrogates that JSON reads as one character."""

WORDS: Final = (
    ("replay",),
    ("replay", "--full", "--no-color"),
    ("replay", "--json"),
    ("inspect",),
    ("inspect", "--json"),
    ("check",),
    ("check", "--json"),
    ("salvage",),
)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def assert_harmless(words: tuple[str, ...], *more: Path) -> None:
    result = run(*words, *more)
    assert result.exit_code in (0, 1), result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit)
    for char in result.output:
        assert char.isprintable() or char == "\n" or (char == "\t" and "--json" not in words), (words, char)
    if "--json" in words:
        for line in result.stdout.splitlines():
            json.loads(line)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(texts=st.lists(HOSTILE, min_size=8, max_size=8), name=HOSTILE)
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 8, name="\x1b[31m\u202e\x9b\r\n\x08")
def test_nothing_in_a_log_of_ours_reaches_the_terminal(scratch: Path, texts: list[str], name: str) -> None:
    folder = scratch / "ours"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = name.replace("/", "").replace("\0", "").encode("utf-8", "surrogatepass")[:60]
    log = Path(os.fsdecode(os.fsencode(folder) + b"/" + file + b".jsonl"))
    text, tool, call_id, entry_id, kind, path, session, word = texts
    header = Header(
        id=session, timestamp=NOON, cwd=path, forked_from=ForkOrigin(session=session, entry=entry_id),
        parent=ParentCall(session=session, call=call_id), extra={word: text}
    )  # fmt: skip
    entries: list[Entry] = [
        said("1" + entry_id, "user", text),
        said("2" + entry_id, word, text),
        called("3" + entry_id, call_id, tool, json.dumps({word: text, "x": "y" * 90})),
        called("4" + entry_id, "b" + call_id, tool, text),
        answered("5" + entry_id, "b" + call_id, [{"type": "text", "text": text}]),
        answered("6" + entry_id, "b" + call_id, text),
        answered("7" + entry_id, "stray" + call_id, {word: text}),
        message("8" + entry_id, {"role": "assistant", "content": [{"type": kind}]}),
        message("9" + entry_id, {"role": "user", "content": [{"type": "image", "mimeType": kind}]}),
        OpaqueEntry(id="10" + entry_id, timestamp=NOON, type="x" + kind, data={word: text}),
        CompactionEntry(
            id="11" + entry_id,
            timestamp=NOON,
            compaction=Compaction(summary=text, first_kept_entry_id=word),
        ),
        RunEntry(
            id="12" + entry_id,
            timestamp=NOON,
            run=Run(started_at=NOON, completed_at=NOON, first_entry_id=word),
        ),
        ContextEntry(
            id="13" + entry_id,
            timestamp=NOON,
            context=ContextAttachment(
                attachment_id=word,
                epoch=1,
                kind=kind,
                placement=word,
                revision=word,
                rendered=text,
                path=path,
            ),
        ),
    ]
    details = (
        outcome("b" + call_id, status="unknown", raw_status=word, error_code=kind, data=text),
        outcome(call_id, status="failed", error_code=text),
    )
    make(log, *entries, details=details, header=header)
    with log.open("ab") as out:
        out.write(
            json.dumps({"id": entry_id, "timestamp": text, "type": "message", "message": {}}).encode() + b"\n"
        )
        out.write(text.encode("utf-8", "surrogatepass").replace(b"\n", b"") + b"\n")
    for words in WORDS:
        assert_harmless(words, log)
    for words in (("list",), ("list", "--json")):
        assert_harmless(words, folder)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(texts=st.lists(HOSTILE, min_size=5, max_size=5))
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 5)
def test_nothing_in_a_codex_rollout_reaches_the_terminal(scratch: Path, texts: list[str]) -> None:
    folder = scratch / "codex"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    log = folder / "rollout.jsonl"
    text, tool, call_id, kind, word = texts
    time = "2026-01-02T12:00:00Z"
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        {"type": "function_call", "name": tool, "call_id": call_id, "arguments": text},
        {"type": "function_call_output", "call_id": call_id, "output": text},
        {"type": kind, "role": word, "content": text},
    ]
    events: list[dict[str, Any]] = [
        {"type": kind + "_end", "call_id": call_id, "status": text, "exit_code": 1},
        {"type": kind},
    ]
    records: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": word, "timestamp": text, "cwd": text, "source": text}},
        *({"type": "response_item", "payload": item} for item in items),
        *({"type": "event_msg", "payload": event} for event in events),
        {"type": "turn_context", "payload": {word: text}},
        {"type": kind, "payload": {}},
        {"type": "compacted", "payload": {"message": text}},
    ]
    log.write_bytes(
        b"".join(json.dumps({"timestamp": time, **record}).encode() + b"\n" for record in records)
        + text.encode("utf-8", "surrogatepass")
    )
    for words in WORDS[:-1]:
        assert_harmless(words, log)
    for words in (("list",), ("list", "--json")):
        assert_harmless(words, folder)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_no_file_at_all_makes_it_fail(scratch: Path, data: bytes) -> None:
    log = scratch / "any.jsonl"
    for head in (b"", json.dumps(raw_header()).encode() + b"\n", b'{"type":"session_meta","payload":{}}\n'):
        log.write_bytes(head + data)
        for words in WORDS:
            assert_harmless(words, log)


def test_it_starts_quickly(log: Path) -> None:
    """Not a measure, only a guard against something slow that comes in with an import."""
    make(log, said("u", "user", "go"))
    began = time.monotonic()
    for _ in range(3):
        process("inspect", log)
    assert (time.monotonic() - began) / 3 < 5
