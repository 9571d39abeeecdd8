"""What the documents say is so: their Python runs, their commands exist and end as they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

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
