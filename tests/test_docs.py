"""What the documents say is so: their Python runs, their commands exist and end as they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import pytest
from test_corpus_codex import CORPUS

from transcript_log import Session
from transcript_log.cli import main

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS: Final = sorted(main.list_commands(click.Context(main)))
EXAMPLE: Final = "examples/fix-the-build.jsonl"


def command_of(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


def python_blocks(text: str) -> list[tuple[int, str]]:
    """The blocks of Python in a page, each with the line that its code begins on."""
    return [
        (text.count("\n", 0, match.start(1)) + 1, match[1])
        for match in re.finditer(r"^```python[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ]


def command_lines(text: str) -> Iterator[str]:
    """The lines of a page that call the command, in an indented or a fenced block."""
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            words = line.strip().removeprefix("$ ")
            if words.startswith("transcript-log "):
                yield words


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.name) for page in PAGES if python_blocks(text_of(page))]
)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, one block after another, each going on where the last one ended."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for line, block in python_blocks(text_of(page)):
        code = compile("\n" * (line - 1) + block, str(page), "exec")
        exec(code, names)


def shown_by(page: str, command: str) -> list[str]:
    """The lines that a page shows below a command."""
    found = re.search(rf"^    \$ {re.escape(command)}\n((?:    (?!\$ ).*\n)+)", page, re.MULTILINE)
    assert found, command
    return [line.removeprefix("    ") for line in found[1].splitlines()]


def test_the_agent_of_the_readme_is_killed_and_goes_on_as_shown(tmp_path: Path) -> None:
    page = text_of(ROOT / "README.md")
    _, agent = python_blocks(page)[0]
    assert agent.count("\n") < 25
    assert "$ python agent.py & sleep 1; kill -9 $!" in page
    (tmp_path / "agent.py").write_text(agent, encoding="utf-8")
    log = tmp_path / "session.jsonl"

    def start(*words: str) -> subprocess.Popen[str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, *words], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
        )

    with start("agent.py") as first:
        began = time.monotonic()
        while not (log.exists() and [one.state for one in seen(log).open_calls()] == ["began"]):
            assert time.monotonic() - began < 30
            time.sleep(0.01)
        first.kill()
        assert first.communicate()[0] == ""
    with start("agent.py") as second:
        assert second.communicate(timeout=60)[0].splitlines() == shown_by(page, "python agent.py")
    with start("-m", "transcript_log", "replay", "session.jsonl") as replay:
        told = replay.communicate(timeout=60)[0]
    pieces = "\n".join(shown_by(page, "transcript-log replay session.jsonl")).split("…\n")
    assert [piece in told for piece in pieces] == [True] * 3
    assert pieces[0] == ""


def seen(log: Path) -> Session:
    return Session.open(log, mode="read")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme(name: str) -> None:
    assert f"transcript-log {name}" in text_of(ROOT / "README.md")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example(name: str) -> None:
    command = command_of(name)
    shown = command.get_help(
        click.Context(command, info_name=f"transcript-log {name}", help_option_names=["-h", "--help"])
    )
    assert "Example:" in shown
    assert re.search(rf"^ +transcript-log {name} ", shown, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_that_the_readme_names_exists(name: str) -> None:
    row = next(line for line in text_of(ROOT / "README.md").split("\n") if f"`transcript-log {name}" in line)
    there = {word for option in command_of(name).params for word in (*option.opts, *option.secondary_opts)}
    assert set(re.findall(r"`(--[a-z-]+)", row)) <= there


def test_the_readme_names_no_command_that_is_not_there() -> None:
    text = text_of(ROOT / "README.md")
    named = set(
        re.findall(
            r"transcript-log ([a-z]+)", "\n".join([*command_lines(text), *re.findall(r"`[^`]*`", text)])
        )
    )
    assert named <= set(COMMANDS)


def lines_below(page: str, command: str) -> list[str]:
    """What a page shows below a command, blank lines and all."""
    rest = page.split(f"    $ {command}\n")[1]
    block = re.match(r"(?:(?:    (?!\$ ).*)?\n)*", rest)
    assert block is not None
    return [line.removeprefix("    ") for line in block[0].strip("\n").split("\n")]


def is_shown_of(shown: list[str], lines: list[str]) -> bool:
    """Whether lines are those that are shown, where an ellipsis stands for some that are not."""
    pattern = "".join(r"(?:.*\n)*" if line == "…" else f"{re.escape(line)}\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of real sessions is not beside the checkout")
def test_the_readme_shows_what_a_newcomer_sees(tmp_path: Path) -> None:
    """The three commands, in the home of somebody who has a session of each agent."""
    page = text_of(ROOT / "README.md")
    places = {
        "claude-code/interrupted-permission.jsonl": ".claude/projects/-Users-user1-projects-happy-handy-cli/"
        "2fd1dc28-72a3-40c2-85a0-1ba256a87a2f.jsonl",
        "codex/rollout-v0.40-turn-aborted.jsonl": ".codex/sessions/2025/09/24/"
        "rollout-2025-09-24T19-22-20-01997e76-d124-7592-9cac-2ec05abbca08.jsonl",
        "pi/v3-small-everything.jsonl": ".pi/agent/sessions/--test-proj--/"
        "2026-07-09T21-27-45-000Z_real-world-uuid.jsonl",
    }
    for name, place in places.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        data = (CORPUS / name).read_bytes()
        path.write_bytes(data)
        last = max(re.findall(rb'"timestamp": ?"([^"]+)Z"', data)).decode()
        when = datetime.fromisoformat(last).replace(tzinfo=UTC).timestamp()
        os.utime(path, (when, when))
    here = tmp_path / "here"
    here.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"):
        env.pop(name, None)
    commands = ("list", "replay 2fd1", "export 2fd1 --to html --out demo.html")
    for command in commands:
        run = subprocess.run(
            [sys.executable, "-m", "transcript_log", *command.split()],
            cwd=here,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        shown = lines_below(page, f"transcript-log {command}")
        assert is_shown_of(shown, run.stdout.splitlines()), run.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the examples in it, and the command on its path."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    command = tmp_path / "bin" / "transcript-log"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m transcript_log "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    "line", sorted({line for page in PAGES for line in command_lines(text_of(page)) if EXAMPLE in line})
)
def test_a_command_about_the_example_runs(line: str, checkout: Path) -> None:
    """It ends with 0; or with 1, where the page says so in a comment."""
    words, _, comment = line.partition("  #")
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{checkout / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    before = {path.name: path.read_bytes() for path in (checkout / "examples").iterdir()}
    run = subprocess.run(
        ["sh", "-c", words], cwd=checkout, env=env, capture_output=True, timeout=60, check=False
    )
    assert run.returncode == (1 if re.search(r"exit[a-z ]*1", comment) else 0), run.stderr
    assert b"Traceback" not in run.stderr
    assert run.stdout
    if "--apply" not in words:
        assert {path.name: path.read_bytes() for path in (checkout / "examples").iterdir()} == before


def test_the_readme_shows_the_example() -> None:
    assert any(EXAMPLE in line for line in command_lines(text_of(ROOT / "README.md")))


def test_no_page_names_a_place_on_somebodys_machine() -> None:
    for page in PAGES:
        assert not re.search(r"/(work|tmp|root|home/(?!user\b)\w+)/", text_of(page)), page.name


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text_of(page)):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
