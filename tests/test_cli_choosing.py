"""Entries are named by their ids, or by as much of one as tells it from the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_cli import HOSTILE, is_harmless, json_lines, make, run, said

IDS = ("abc1", "abc2", "abd", "abd9", "x")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return make(tmp_path / "session.jsonl", *(said(name, "user", f"text of {name}") for name in IDS))


def chosen(log: Path, word: str) -> list[str]:
    """What each command says of the entry that a word names, which must be the same of all."""
    at = json_lines(run("context", log, "--at", word))[-1]["content"]
    begin = json_lines(run("replay", log, "--json", "--from", word))[0]["text"]
    parted = json_lines(run("diff", log, "--json", "--at", word, "--at", "x"))[0]["first"]["name"]
    return [at, begin, parted]


@pytest.mark.parametrize(
    ("word", "entry"), [("abc1", "abc1"), ("abc2", "abc2"), ("abd9", "abd9"), ("x", "x")]
)
def test_an_id_names_its_entry(word: str, entry: str, log: Path) -> None:
    assert chosen(log, word) == [f"text of {entry}", f"text of {entry}", f"{log} at {entry}"]


def test_the_beginning_of_one_id_names_its_entry(tmp_path: Path) -> None:
    log = make(tmp_path / "session.jsonl", said("abcd", "user", "one"), said("x", "user", "two"))
    for word in ("abc", "ab", "a"):
        assert chosen(log, word) == ["one", "one", f"{log} at abcd"]


def test_a_whole_id_is_meant_though_another_begins_so(log: Path) -> None:
    assert chosen(log, "abd")[:2] == ["text of abd", "text of abd"]


COMMANDS = (("context", "--at"), ("replay", "--from"))


def asked(log: Path, word: str) -> list[Result]:
    return [*(run(name, log, option, word) for name, option in COMMANDS),
            run("diff", log, "--at", "x", "--at", word)]  # fmt: skip


def test_the_beginning_of_several_is_wrong_usage_that_names_them(log: Path) -> None:
    for result in asked(log, "ab"):
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{log}: 4 ids begin with 'ab': abc1, abc2, abd, abd9; give more" in result.stderr


def test_of_very_many_only_some_are_named(tmp_path: Path) -> None:
    log = make(tmp_path / "session.jsonl", *(said(f"e{n:02}", "user", "x") for n in range(30)))
    for result in (run("context", log, "--at", "e"), run("replay", log, "--from", "e")):
        assert "30 ids begin with 'e': e00, " in result.stderr
        assert ", e07 and 22 more; " in result.stderr


def test_few_are_all_named(tmp_path: Path) -> None:
    log = make(tmp_path / "session.jsonl", *(said(f"e{n}", "user", "x") for n in range(8)))
    assert "8 ids begin with 'e': e0, e1, e2, e3, e4, e5, e6, e7; " in run("context", log, "--at", "e").stderr


@pytest.mark.parametrize("word", ["b", "abc11", "", "ABC1", " abc1"])
def test_what_no_id_begins_with_is_not_there(word: str, log: Path) -> None:
    for result in asked(log, word):
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"Error: {log}: no entry has the id {word!r};")


def test_an_id_that_stands_twice_is_one(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    entry = {"timestamp": "2026-01-02T12:00:00Z", "type": "message"}
    lines = [{"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T12:00:00Z"}]
    lines += [
        {"id": "twice", **entry, "message": {"role": "user", "content": text}} for text in ("one", "two")
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [event["text"] for event in json_lines(run("replay", log, "--json", "--from", "tw"))] == [
        "one",
        "two",
    ]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(begin=HOSTILE, ends=st.lists(HOSTILE, min_size=2, max_size=2, unique=True))
def test_ids_reach_the_terminal_as_escapes(tmp_path: Path, begin: str, ends: list[str]) -> None:
    log = tmp_path / "session.jsonl"
    log.unlink(missing_ok=True)
    make(log, *(said(begin + end, "user", "x") for end in ends))
    for result in asked(log, begin):
        assert result.exit_code in (1, 2), result.exception
        assert result.stdout == ""
        assert is_harmless(result.stderr)


def test_the_help_says_so() -> None:
    for name in ("context", "replay", "diff"):
        assert "how it begins" in " ".join(run(name, "--help").stdout.split())
