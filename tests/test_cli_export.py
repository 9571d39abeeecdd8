"""``transcript-log export``: to stdout or to a file that is there wholly or not at all."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result
from test_cli import DETAILS, EVERYTHING, EXAMPLE, answered, called, make, message, process, said

from transcript_log._logfile.files import write_file
from transcript_log.cli import main
from transcript_log.errors import StorageError

FORMS: Final = ("markdown", "html", "chat-jsonl")


def export(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, words)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return make(tmp_path / "session.jsonl", *EVERYTHING, details=DETAILS)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_goes_to_stdout_or_is_the_same_in_a_file(form: str, log: Path, tmp_path: Path) -> None:
    if form == "html":
        pytest.importorskip("jinja2")
    shown = export(log, "--to", form)
    out = tmp_path / "out"
    written = export(log, "--to", form, "--out", out)
    assert (shown.exit_code, written.exit_code) == (0, 0)
    assert written.stdout == ""
    assert out.read_bytes() == shown.stdout_bytes
    assert f"wrote {out} (" in written.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if "lock" not in path.name) == [
        *("out", "session.details.jsonl", "session.jsonl"),
    ]


def test_each_form_is_what_it_says(log: Path) -> None:
    assert export(log, "--to", "markdown").stdout.startswith("# session\n\n- Session: s-1\n")
    assert export(log, "--to", "html").stdout.startswith("<!doctype html>\n")
    roles = [json.loads(line)["role"] for line in export(log, "--to", "chat-jsonl").stdout.splitlines()]
    assert roles[0] == "user"
    assert "tool" in roles


def test_what_a_form_cannot_hold_is_told_on_stderr(tmp_path: Path) -> None:
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    log = make(
        tmp_path / "a.jsonl",
        said("u", "user", "go"),
        *(message(f"r{n}", sealed) for n in range(8)),
        called("c", "one"),
    )
    told = export(log, "--to", "chat-jsonl").stderr.splitlines()
    assert sum("left-out" in line for line in told) == 6
    assert told[-1] == "3 more changes: left-out (private)"
    assert any("call one: added: " in line for line in told)
    assert export(log, "--to", "markdown").stderr == ""


def test_damage_is_told_and_what_can_be_read_is_exported(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"{broken\n")
    for form in FORMS:
        result = export(log, "--to", form)
        assert result.exit_code == 0
        assert "line 23" in result.stderr
    assert "- line 23 (byte " in export(log, "--to", "markdown").stdout
    assert "The file is damaged" in export(log, "--to", "html").stdout
    assert str(log) not in export(log, "--to", "html").stdout


def test_a_codex_rollout_is_exported_too() -> None:
    rollout = Path(__file__).parent / "data" / "codex" / "flat.jsonl"
    assert "- Format: a Codex rollout\n" in export(rollout, "--to", "markdown").stdout


def test_a_compressed_session_is_called_as_without_that(log: Path, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = tmp_path / "packed.jsonl.zst"
    packed.write_bytes(zstandard.compress(log.read_bytes()))
    assert export(packed, "--to", "markdown").stdout.startswith("# packed\n")


def test_html_without_the_extra_is_told_in_one_line(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    result = export(log, "--to", "html", "--out", tmp_path / "out.html")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: HTML cannot be made here: install the extra, as in pip install 'transcript-log[html]'\n"
    )
    assert not (tmp_path / "out.html").exists()
    assert export(log, "--to", "markdown").exit_code == 0


def test_the_extra_is_loaded_for_html_alone() -> None:
    program = (
        "import sys; from transcript_log.cli import main; "
        "main(['export', sys.argv[1], '--to', 'markdown'], standalone_mode=False); "
        "print(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", program, EXAMPLE], capture_output=True, check=True)
    assert not {b"jinja2", b"markdown_it", b"pygments"} & set(run.stderr.split())


def test_a_session_that_no_server_takes_is_told_in_one_line(tmp_path: Path) -> None:
    log = make(tmp_path / "a.jsonl", EVERYTHING[0])
    result = export(log, "--to", "chat-jsonl", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {log}: openai-chat would refuse this context")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_wrong_usage_ends_with_2(log: Path, tmp_path: Path) -> None:
    assert export(log).exit_code == 2
    assert export(log, "--to", "pdf").exit_code == 2
    assert export(tmp_path / "no.jsonl", "--to", "markdown").exit_code == 2
    assert export(log, "--to", "markdown", "--force").exit_code == 2
    before = log.read_bytes()
    refused = export(log, "--to", "markdown", "--out", log, "--force")
    assert refused.exit_code == 2
    assert "the session itself" in refused.stderr
    assert log.read_bytes() == before


def test_nothing_in_a_name_acts_on_the_terminal(tmp_path: Path) -> None:
    log = make(tmp_path / "a\x1b[31m\u202e.jsonl", said("u", "user", "go"))
    out = tmp_path / "out\x1b[31m\n"
    for form in FORMS:
        for result in (export(log, "--to", form), export(log, "--to", form, "--out", out, "--force")):
            assert result.exit_code in (0, 2)
            assert all(char.isprintable() or char == "\n" for char in result.output)


SECRET: Final = "ghp_" + "Ab3dEf6hIj" * 3 + "Kl9nOp"


@pytest.mark.parametrize("form", FORMS)
def test_secrets_are_taken_out_where_that_is_wanted(form: str, tmp_path: Path) -> None:
    log = make(
        tmp_path / "a.jsonl",
        said("u", "user", f"my token is {SECRET}"),
        called("c", "one", arguments=json.dumps({"cmd": f"curl -H 'Authorization: {SECRET}'"})),
        answered("o", "one", f"you sent {SECRET}; ticket INT-123456"),
    )
    assert SECRET in export(log, "--to", form).stdout
    redacted = export(log, "--to", form, "--redact", "--redact-pattern", "ticket=INT-[0-9]{6}")
    assert redacted.exit_code == 0
    assert SECRET not in redacted.stdout
    assert "INT-123456" not in redacted.stdout
    assert "redacted:github-token:1" in redacted.stdout
    assert "redacted: 1 secret of the kind github-token in 3 places\n" in redacted.stderr
    assert "redacted: 1 secret of the kind ticket in 1 place\n" in redacted.stderr
    clean = make(tmp_path / "b.jsonl", said("u", "user", "nothing"))
    assert "nothing was redacted" in export(clean, "--to", form, "--redact").stderr
    assert export(log, "--to", form, "--redact-pattern", "(").exit_code == 2


@pytest.mark.parametrize("form", FORMS)
def test_what_is_told_of_the_session_quotes_no_secret(form: str, tmp_path: Path) -> None:
    file = tmp_path / "pi.jsonl"
    lines = (
        {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-02T03:00:00Z", "cwd": "/"},
        {"type": "message", "id": "a", "parentId": SECRET, "message": {"role": "user", "content": "Go."}},
    )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert SECRET in export(file, "--to", form).output
    redacted = export(file, "--to", form, "--redact")
    assert redacted.exit_code == 0
    assert SECRET not in redacted.output
    assert "redacted:github-token:1" in redacted.stderr


# --------------------------------------------------------------------------------- file


def test_a_file_that_is_there_stays_unless_it_is_to_be_replaced(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    out.write_text("precious", encoding="utf-8")
    refused = export(log, "--to", "markdown", "--out", out)
    assert refused.exit_code == 1
    assert "there is a file already" in refused.stderr
    assert out.read_text(encoding="utf-8") == "precious"
    assert export(log, "--to", "markdown", "--out", out, "--force").exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("# session")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_a_file_is_for_its_owner_alone(mask: int, tmp_path: Path) -> None:
    old = os.umask(mask)
    try:
        assert write_file(str(tmp_path / "out"), [b"a", b"", b"bc"]) == 3
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "fifo"])
@pytest.mark.parametrize("replace", [False, True])
def test_what_is_no_regular_file_is_never_written_to(kind: str, replace: bool, tmp_path: Path) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim"
    if kind in ("link", "dangling"):
        out.symlink_to(victim)
    if kind == "link":
        victim.write_bytes(b"precious")
    if kind == "folder":
        out.mkdir()
    if kind == "fifo":
        os.mkfifo(out)
    before = {path.name: path.lstat().st_ino for path in tmp_path.iterdir()}
    with pytest.raises(StorageError):
        write_file(str(out), [b"new"], replace=replace)
    assert {path.name: path.lstat().st_ino for path in tmp_path.iterdir()} == before
    assert kind != "link" or victim.read_bytes() == b"precious"


@pytest.mark.parametrize("replace", [False, True])
def test_pieces_that_fail_leave_nothing_and_change_nothing(replace: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if replace:
        out.write_bytes(b"precious")

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise KeyError

    with pytest.raises(KeyError):
        write_file(str(out), pieces(), replace=replace)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([b"precious"] if replace else [])


def test_pieces_are_not_asked_for_where_nothing_may_be_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"precious")

    def pieces() -> Iterator[bytes]:
        raise KeyError
        yield b""

    with pytest.raises(StorageError, match="there is a file already"):
        write_file(str(out), pieces())
    with pytest.raises(StorageError, match="No such file or directory"):
        write_file(str(tmp_path / "no" / "out"), pieces())


def test_a_file_that_comes_while_it_is_written_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def pieces() -> Iterator[bytes]:
        yield b"mine"
        out.write_bytes(b"theirs")

    with pytest.raises(StorageError, match="there is a file already"):
        write_file(str(out), pieces())
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"theirs"]


def test_without_hard_links_nothing_is_replaced_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    out = tmp_path / "out"
    write_file(str(out), [b"mine"])
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"mine"]

    def pieces() -> Iterator[bytes]:
        yield b"mine"
        (tmp_path / "other").write_bytes(b"theirs")

    with pytest.raises(StorageError):
        write_file(str(tmp_path / "other"), pieces())
    assert (tmp_path / "other").read_bytes() == b"theirs"


def test_an_export_that_is_killed_leaves_no_file_of_that_name(tmp_path: Path) -> None:
    program = (
        "import itertools, sys; from transcript_log._logfile.files import write_file; "
        "write_file(sys.argv[1], (print(n, flush=True) or b'x' * 999 for n in itertools.count()))"
    )
    out = tmp_path / "out"
    out.write_bytes(b"precious")
    for target in (out, tmp_path / "new"):
        more = program.replace("count())", "count()), replace=True") if target == out else program
        child = subprocess.Popen([sys.executable, "-c", more, target], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    assert out.read_bytes() == b"precious"
    assert not (tmp_path / "new").exists()


# ------------------------------------------------------------------------------- stdout


@pytest.mark.parametrize("form", FORMS)
def test_a_pipe_that_closes_is_quiet(form: str, tmp_path: Path) -> None:
    log = make(tmp_path / "a.jsonl", *(said(f"u{n}", "user", "word " * 2000) for n in range(60)))
    read, write = os.pipe()
    os.close(read)
    run = process("export", log, "--to", form, stdout=write, stderr=subprocess.PIPE, capture_output=False)
    os.close(write)
    assert b"Traceback" not in run.stderr
    assert run.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
def test_a_full_disk_is_told_in_one_line(log: Path) -> None:
    with open("/dev/full", "wb") as full:
        run = process(
            "export", log, "--to", "html", stdout=full, stderr=subprocess.PIPE, capture_output=False
        )
    assert run.returncode == 1
    assert run.stderr == b"Error: the output: cannot write: No space left on device (ENOSPC)\n"


def test_output_is_utf8_whatever_the_terminal_speaks(tmp_path: Path) -> None:
    log = make(tmp_path / "a.jsonl", said("u", "user", "日本 é"))
    env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for form in FORMS[:2]:
        assert "日本 é" in process("export", log, "--to", form, env=env).stdout.decode("utf-8")


def test_a_long_session_comes_out_in_linear_time(tmp_path: Path) -> None:
    def taken(count: int) -> float:
        log = make(tmp_path / f"{count}.jsonl", *(said(f"u{n}", "user", "word " * 50) for n in range(count)))
        start = time.perf_counter()
        assert export(log, "--to", "html").exit_code == 0
        return time.perf_counter() - start

    taken(10)  # what is imported is imported
    short, long = taken(300), taken(2400)
    assert long < 4 or long < 30 * short
