"""``import``: a log of our own that says what the session said, and the report of it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result
from test_corpus_codex import CORPUS, FACTS, each
from test_importers_codex import Rollout

from transcript_log import JsonlStore
from transcript_log.cli import main
from transcript_log.cli.source import _IMPORTERS, Foreign, read_foreign
from transcript_log.history import build_history, history_json

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "tests" / "data"
EXAMPLE: Final = ROOT / "examples" / "fix-the-build.jsonl"
SESSIONS: Final = sorted(path for path in DATA.glob("*/*.jsonl") if path.parent.name in _IMPORTERS)
CORPUS_SESSIONS: Final = sorted(name for name in FACTS if name.partition("/")[0] in _IMPORTERS)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The commands run in an empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def events(path: str | Path) -> list[Any]:
    result = run("replay", "--json", path)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def is_imported_whole(source: Path, folder: Path) -> None:
    """Whether a log of a session says what the session says, and is the same each time."""
    found = read_foreign(str(source))
    assert isinstance(found, Foreign)
    for name in ("one.jsonl", "two.jsonl"):
        result = run("import", source, "--out", folder / name)
        assert result.exit_code == 0, result.output
        assert result.stdout == f"{folder / name}\n"
    for one in folder.iterdir():
        assert one.read_bytes() == one.with_name(one.name.replace("one.", "two.")).read_bytes()
        assert stat.S_IMODE(one.stat().st_mode) == 0o600
    store = JsonlStore(folder / "one.jsonl")
    imported = found.imported
    assert store.load() == list(imported.entries)
    assert store.details() == imported.details_by_call
    assert store.header() == imported.header
    ours = build_history(store.load(), store.details())
    theirs = build_history(imported.entries, imported.details_by_call)
    assert [history_json(event) for event in ours.events] == [history_json(event) for event in theirs.events]
    assert events(folder / "one.jsonl") == events(source)
    checked = run("check", "--json", folder / "one.jsonl").stdout.splitlines()
    assert {json.loads(line)["severity"] for line in checked} <= {"note", "warning"}
    for finding in imported.findings:
        assert finding.message.split("\n")[0][:40] in result.stderr


@pytest.mark.parametrize("source", SESSIONS, ids=lambda path: path.name)
def test_a_session_is_imported_whole(source: Path, elsewhere: Path) -> None:
    is_imported_whole(source, elsewhere)


@pytest.mark.parametrize("name", each(CORPUS_SESSIONS))
def test_a_real_session_is_imported_whole(name: str, elsewhere: Path) -> None:
    is_imported_whole(CORPUS / name, elsewhere)


@pytest.mark.parametrize("name", each(CORPUS_SESSIONS))
def test_the_context_of_an_imported_session_is_that_of_the_session(name: str, elsewhere: Path) -> None:
    run("import", CORPUS / name, "--out", "log.jsonl")
    for target in ("openai-responses/gpt-5", "anthropic-messages/claude-opus-4-6"):
        results = [run("context", path, "--target", target) for path in (CORPUS / name, "log.jsonl")]
        assert results[0].stdout == results[1].stdout
        assert results[0].exit_code == results[1].exit_code


def test_without_a_name_the_log_is_called_after_the_session(elsewhere: Path) -> None:
    result = run("import", DATA / "codex" / "late-abort.jsonl")
    name = "01990000-0000-7000-8000-000000000001.jsonl"
    assert result.stdout == f"{name}\n"
    assert "made of a Codex rollout: 10 entries, 0 details" in result.stderr
    assert os.listdir(elsewhere) == [name]
    again = run("import", DATA / "codex" / "late-abort.jsonl")
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr.splitlines()[-1].startswith(
        f"Error: {elsewhere / name}: cannot make the log: there is a file"
    )
    assert os.listdir(elsewhere) == [name]


@pytest.mark.parametrize(
    ("id", "ends"), [("../evil", ".jsonl"), ("", ".jsonl"), ("a/b", ".jsonl.zst"), ("x" * 129, "")]
)
def test_an_id_that_is_no_name_gives_way_to_the_name_of_the_file(id: str, ends: str, elsewhere: Path) -> None:
    rollout = Rollout().said("hi")
    rollout.lines[0] = rollout.lines[0].replace(b'"id": "s1"', json.dumps({"id": id})[1:-1].encode())
    source = elsewhere.parent / f"some session{ends}"
    source.write_bytes(b"".join(rollout.lines))
    result = run("import", source)
    assert result.exit_code == 0, result.output
    assert os.listdir(elsewhere) == ["some session-imported.jsonl"]


def test_unknown_records_are_kept_where_that_is_asked_for(elsewhere: Path) -> None:
    source = elsewhere.parent / "rollout.jsonl"
    source.write_bytes(b"".join(Rollout().said("hi").event("brand_new", a=1).lines))
    plain, kept = (
        run("import", source, "--out", "plain"),
        run("import", source, "--out", "kept", "--keep-unknown"),
    )
    assert "not taken over, here and after: event_msg/brand_new" in plain.stderr
    assert "kept as opaque entries, here and after: event_msg/brand_new" in kept.stderr
    assert [entry.type for entry in JsonlStore("plain").load()] == ["message"]
    assert [entry.type for entry in JsonlStore("kept").load()] == ["message", "codex:event_msg/brand_new"]


def test_what_cannot_be_stored_is_told_and_the_exit_status_says_so(elsewhere: Path) -> None:
    rollout = (
        Rollout()
        .said("hi")
        .raw(b'{"type":"response_item","payload":{"type":"message","role":"user","content":[],"n":1e400}}\n')
    )
    source = elsewhere.parent / "rollout.jsonl"
    source.write_bytes(b"".join(rollout.lines))
    result = run("import", source)
    assert result.exit_code == 1
    (told,) = [line for line in result.stderr.splitlines() if "error:" in line]
    assert told.startswith(f"{source}: line 3 ")
    assert "$.payload.n" in told
    assert len(JsonlStore("s1.jsonl").load()) == 1


def test_the_report_is_one_json_object(elsewhere: Path) -> None:
    source = DATA / "codex" / "flat.jsonl"
    result = run("import", "--json", source)
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    imported = read_foreign(str(source))
    assert isinstance(imported, Foreign)
    assert told["path"] == "5a1d7c1e-0000-4000-8000-000000000001.jsonl"
    assert told["source"] == str(source)
    assert (told["format"], told["id"]) == ("codex", "5a1d7c1e-0000-4000-8000-000000000001")
    assert told["entries"] == len(imported.imported.entries)
    assert told["details"] == len(imported.imported.details)
    assert told["counts"]["records"] == imported.imported.counts["records"]
    assert [finding["rule"] for finding in told["findings"]] == [
        finding.rule for finding in imported.imported.findings
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ours.jsonl", "this is a log of this package: there is nothing to import"),
        ("text.jsonl", "this is no session of a known format"),
        ("empty.jsonl", "the file is empty"),
    ],
)
def test_what_is_nothing_to_import_is_told_in_one_line(name: str, reason: str, elsewhere: Path) -> None:
    folder = elsewhere.parent
    shutil.copy(EXAMPLE, folder / "ours.jsonl")
    (folder / "text.jsonl").write_bytes(b"Dear diary,\n")
    (folder / "empty.jsonl").write_bytes(b"")
    result = run("import", folder / name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert reason in result.stderr
    assert os.listdir(elsewhere) == []


# -------------------------------------------------------------------------------- redaction

TOKEN: Final = "ghp" + "_" + "aB3" * 12


@pytest.fixture
def leaky(elsewhere: Path) -> Path:
    """A session with a secret in what was said, called with, given back, and in its header."""
    rollout = Rollout(git={"repository_url": f"https://me:{TOKEN}@example.com/a"}).said(f"use {TOKEN}")
    arguments = json.dumps({"cmd": f'curl -H "Authorization: Bearer {TOKEN}"'})
    rollout.item(type="function_call", call_id="c", name="sh", arguments=arguments)
    rollout.item(type="function_call_output", call_id="c", output=f"INT-123 {TOKEN}")
    rollout.event("exec_command_end", call_id="c", stdout=TOKEN, exit_code=0)
    source = elsewhere.parent / "leaky.jsonl"
    source.write_bytes(b"".join(rollout.lines))
    return source


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_secrets_are_taken_out_where_that_is_asked_for(leaky: Path, elsewhere: Path) -> None:
    result = run("import", leaky, "--redact")
    assert result.exit_code == 0, result.output
    assert "redacted: 1 secret of the kind github-token in 5 places\n" in result.stderr
    assert TOKEN.encode() not in bytes_of(elsewhere)
    assert TOKEN not in result.output
    assert run("check", "s1.jsonl").exit_code == 0
    plain = [event | {"text": "", "arguments": "", "output": ""} for event in events(leaky)]
    shown = [event | {"text": "", "arguments": "", "output": ""} for event in events("s1.jsonl")]
    assert [event["event"] for event in plain] == [event["event"] for event in shown]
    call = next(entry for entry in JsonlStore("s1.jsonl").load() if "arguments" in str(entry))
    assert "[redacted:github-token:1]" in json.loads(str(getattr(call, "message", {})["arguments"]))["cmd"]
    assert run("import", leaky, "--redact", "--out", "again.jsonl").exit_code == 0
    assert Path("again.jsonl").read_bytes() == Path("s1.jsonl").read_bytes()


def test_what_was_redacted_is_reported_as_json(leaky: Path) -> None:
    told = json.loads(run("import", leaky, "--redact", "--json").stdout)
    assert told["redacted"]["counts"] == {"github-token": {"secrets": 1, "places": 5}}
    places = told["redacted"]["places"]
    assert {tuple(place["placeholders"]) for place in places} == {("[redacted:github-token:1]",)}
    assert places[0]["where"] == "$.importedFrom.git.repository_url"
    assert places[-1]["call"] == "c"
    assert TOKEN not in json.dumps(told)
    assert json.loads(run("import", leaky, "--out", "b", "--json").stdout)["redacted"] is None


def test_what_is_told_of_the_session_quotes_no_secret(leaky: Path) -> None:
    with leaky.open("ab") as file:
        file.write(
            b'{"timestamp":"2026-01-02T03:04:05Z","type":"zork","payload":{}}\n'.replace(
                b"zork", f"x {TOKEN}".encode()
            )
        )
    assert TOKEN in run("import", leaky, "--out", "plain.jsonl").stderr
    for words in ((), ("--json",), ("--keep-unknown",)):
        result = run("import", leaky, "--out", f"redacted{len(words)}{words}.jsonl", "--redact", *words)
        assert TOKEN not in result.output
        assert "x [redacted:github-token:1] (1 times)" in result.output
    assert TOKEN not in Path(f"redacted1{('--keep-unknown',)}.jsonl").read_text(encoding="utf-8")


def test_patterns_of_ones_own_are_redacted_too(leaky: Path, elsewhere: Path) -> None:
    shapes = elsewhere.parent / "shapes.toml"
    shapes.write_text("[[shape]]\nkind = 'ticket'\nregex = 'INT-[0-9]+'\n", encoding="utf-8")
    for words in (("--redact-shapes", str(shapes)), ("--redact-pattern", "ticket=INT-[0-9]+")):
        result = run("import", leaky, "--out", f"{words[0]}.jsonl", *words)
        assert "redacted: 1 secret of the kind ticket in 1 place\n" in result.stderr
        assert "kind github-token" in result.stderr
    assert b"INT-123" not in bytes_of(elsewhere)


def test_where_nothing_is_found_that_is_said(elsewhere: Path) -> None:
    result = run("import", DATA / "codex" / "flat.jsonl", "--redact")
    assert "nothing was redacted: no secret of a known shape was found" in result.stderr


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("--redact-pattern", "nothing"), 2, "KIND=REGEX"),
        (("--redact-pattern", "a=("), 2, "cannot be read"),
        (("--redact-shapes", "gone.toml"), 2, "no such file"),
        (("--redact-shapes", "bad.toml"), 2, "no TOML"),
        (("--redact-shapes", "binary.toml"), 1, "not UTF-8"),
    ],
)
def test_a_shape_that_cannot_be_used_is_told_before_anything_is_made(
    words: tuple[str, ...], code: int, reason: str, leaky: Path, elsewhere: Path
) -> None:
    (elsewhere / "bad.toml").write_text("[[", encoding="utf-8")
    (elsewhere / "binary.toml").write_bytes(b"\xff")
    result = run("import", leaky, *words)
    assert result.exit_code == code
    assert reason in result.stderr
    assert sorted(os.listdir(elsewhere)) == ["bad.toml", "binary.toml"]
