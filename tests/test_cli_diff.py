"""The command ``diff``: what two contexts have apart, where they part, and what they share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_cli import EXAMPLE, HOSTILE, is_harmless, json_lines, make, message, run, said
from test_cli_context import CODEX, TARGETS, hostile_entries

from transcript_log.cli.source import open_session

ONE = '{"role":"user","content":"one"}'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return make(
        tmp_path / "session.jsonl",
        said("a", "user", "one"),
        said("b", "assistant", "two"),
        said("c", "user", "three"),
    )


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return make(tmp_path / "other.jsonl", said("x", "user", "one"), said("y", "assistant", "twenty"))


def test_one_file_at_two_entries(log: Path) -> None:
    result = run("diff", log, "--at", "a", "--at", "c")
    size = len(ONE)
    assert result.stdout == (
        f"--- {log} at a: 1 item, {size} bytes\n"
        f"+++ {log} at c: 3 items, {size + 36 + 33} bytes\n"
        "+    1  b  kept         assistant  two\n"
        "+    2  c  kept         user  three\n"
        "they part at item 1:\n"
        "  first   the end\n"
        "  second  1  b  kept         assistant  two\n"
        f"they share their first {size} bytes: 1 item\n"
    )
    assert (result.exit_code, result.stderr) == (1, "")


def test_two_files(log: Path, other: Path) -> None:
    result = run("diff", log, other)
    assert result.stdout == (
        f"--- {log}: 3 items, {len(ONE) + 36 + 33} bytes\n"
        f"+++ {other}: 2 items, {len(ONE) + 39} bytes\n"
        "-    1  b  kept         assistant  two\n"
        "-    2  c  kept         user  three\n"
        "+    1  y  kept         assistant  twenty\n"
        "they part at item 1:\n"
        "  first   1  b  kept         assistant  two\n"
        "  second  1  y  kept         assistant  twenty\n"
        f"they share their first {len(ONE) + 33} bytes: 1 item, and the beginning of the next two\n"
    )
    assert (result.exit_code, result.stderr) == (1, "")


def test_as_json_it_is_one_object(log: Path, other: Path) -> None:
    result = run("diff", log, other, "--json")
    (found,) = json_lines(result)
    rows = {
        name: [(row["row"], row["entry"], row["why"], row["item"]["content"]) for row in found.pop(name)]
        for name in ("only_first", "only_second")
    }
    assert rows == {
        "only_first": [(1, "b", "kept", "two"), (2, "c", "kept", "three")],
        "only_second": [(1, "y", "kept", "twenty")],
    }
    assert found == {
        "equal": False,
        "first": {"name": str(log), "items": 3, "bytes": len(ONE) + 36 + 33},
        "second": {"name": str(other), "items": 2, "bytes": len(ONE) + 39},
        "parts_at": 1,
        "shared_bytes": len(ONE) + 33,
    }
    assert result.exit_code == 1


def test_equal_contexts_end_with_0(log: Path) -> None:
    result = run("diff", log, log)
    assert result.stdout.splitlines()[-1] == "the contexts are equal"
    assert result.exit_code == 0
    (found,) = json_lines(run("diff", log, "--at", "b", "--at", "b", "--json"))
    assert (found["equal"], found["parts_at"], found["only_first"]) == (True, None, [])


def test_for_a_target_its_items_are_compared(tmp_path: Path) -> None:
    """What is private to others is in the logs, and not in what this API gets."""
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    one = make(tmp_path / "one.jsonl", said("a", "user", "go"))
    two = make(tmp_path / "two.jsonl", message("r", thought), said("a", "user", "go"))
    assert run("diff", one, two).exit_code == 1
    for named in TARGETS:
        assert run("diff", one, two, "--target", named).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("LOG",),
        ("LOG", "--at", "a"),
        ("LOG", "--at", "a", "--at", "b", "--at", "c"),
        ("LOG", "OTHER", "--at", "a"),
        ("LOG", "OTHER", "--at", "a", "--at", "b"),
        ("LOG", "OTHER", "LOG"),
        ("LOG", "OTHER", "--platform", "azure"),
        ("LOG", "OTHER", "--target", "openai-telepathy/m"),
        ("LOG", "none\x1b[31m"),
        ("none", "LOG"),
        (),
    ],
)
def test_words_that_do_not_fit_are_wrong_usage(words: tuple[str, ...], log: Path, other: Path) -> None:
    files = {"LOG": str(log), "OTHER": str(other)}
    result = run("diff", *(files.get(word, word) for word in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr
    assert is_harmless(result.stderr)


def test_errors_name_the_file_they_are_about(log: Path, tmp_path: Path) -> None:
    result = run("diff", log, "--at", "a", "--at", "nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {log}: no entry has the id 'nobody'")
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b'{"type":"sess')
    result = run("diff", log, empty, "--target", "openai-chat/m")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {empty}: openai-chat would refuse this context: ")
    assert result.stderr.count("\n") == 1


def test_damage_in_either_file_is_told(log: Path, other: Path) -> None:
    for path in (log, other):
        with path.open("ab") as file:
            file.write(b"{broken\n")
        make(path, said("z", "user", "on"))
    result = run("diff", log, other)
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()] == [str(log), str(other)]
    assert run("diff", log, "--at", "a", "--at", "z").stderr.count("\n") == 1


@pytest.mark.parametrize("file", [EXAMPLE, *CODEX], ids=lambda path: path.stem)
def test_every_session_can_be_compared(file: Path) -> None:
    assert run("diff", file, file).exit_code == 0
    ids = [entry.id for entry in open_session(str(file)).entries]
    result = run("diff", file, "--at", ids[0], "--at", ids[-1])
    assert result.exit_code == 1
    assert is_harmless(result.output)
    result = run("diff", file, EXAMPLE, "--target", TARGETS[0], "--json")
    assert result.exit_code == (0 if file == EXAMPLE else 1)
    assert json.loads(result.stdout)["equal"] is (file == EXAMPLE)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(HOSTILE, min_size=6, max_size=6))
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 6)
def test_nothing_in_a_session_reaches_the_terminal(log: Path, tmp_path: Path, texts: list[str]) -> None:
    hostile = tmp_path / "hostile.jsonl"
    hostile.unlink(missing_ok=True)
    entries = hostile_entries(texts)
    make(hostile, *entries)
    ids = ("--at", entries[0].id, "--at", entries[-1].id)
    for words in ((log, hostile), (hostile, log), (hostile, *ids)):
        for options in ((), ("--json",), ("--target", TARGETS[1])):
            result = run("diff", *words, *options)
            assert result.exit_code in (0, 1), result.exception
            assert result.exception is None or isinstance(result.exception, SystemExit)
            assert all(char.isprintable() or char == "\n" for char in result.output), words
