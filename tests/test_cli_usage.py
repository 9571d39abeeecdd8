"""``replay`` shows what each response took, once, and what each run took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_cli import HOSTILE, NOON, answered, called, is_harmless, json_lines, make, run, said
from test_corpus_codex import CODEX, CORPUS, each

from transcript_log import Compaction, Run
from transcript_log.entries import (
    CompactionEntry,
    Entry,
    MessageEntry,
    RecordedUsage,
    ResponseRecord,
    RunEntry,
)


def usage(input: int, output: int, **more: Any) -> RecordedUsage:
    return RecordedUsage(input=input, output=output, **more)


def told(entry_id: str, text: str = "so", **record: Any) -> MessageEntry:
    return said(entry_id, "assistant", text, response=ResponseRecord(**record))


def ran(entry_id: str, first: str) -> RunEntry:
    run = Run(started_at=NOON, completed_at=NOON, first_entry_id=first, status="completed")
    return RunEntry(id=entry_id, timestamp=NOON, run=run)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def shown(log: Path, *words: str) -> list[str]:
    """The lines about responses and runs."""
    result = run("replay", log, *words)
    assert result.exit_code == 0, result.output
    return [line for line in result.stdout.splitlines() if line.startswith(("response", "run"))]


SHOWN = """\

── turn 1 ──────────────────────────────  2026-01-02 12:00:00Z  u
user       go
assistant  I look.
call       shell  {"cmd":"ls"}
           a.txt
response   m-1: 30 in (20 cached, 4 written to the cache), 7 out
assistant  Done.
response   m-1: 40 in, 2 out; ended by max_tokens  b
run        completed after 0.0 s (2026-01-02 12:00:00Z to 12:00:00Z); \
2 responses: 70 in (20 cached, 4 written to the cache), 9 out
compacted  The gist.
response   m-2 for the summary: 9 in, 1 out
"""


def test_what_a_response_took_is_a_line_behind_it(log: Path) -> None:
    entries: list[Entry] = [
        said("u", "user", "go"),
        told("a", "I look.", model="m-1", usage=usage(6, 7, cache_read=20, cache_write=4)),
        called("c", "one"),
        answered("o", "one"),
        told("b", "Done.", model="m-1", usage=usage(40, 2), finish_reason="max_tokens", request="d1gest"),
        ran("run", "u"),
        CompactionEntry(
            id="k",
            timestamp=NOON,
            compaction=Compaction(summary="The gist.", model="m-2", usage=usage(9, 1)),
        ),
    ]
    result = run("replay", make(log, *entries))
    assert result.stdout.partition("\n")[2] == SHOWN
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({}, "tokens not told"),
        ({"model": "m"}, "m: tokens not told"),
        ({"model": "m", "usage": RecordedUsage()}, "m: tokens not told"),
        ({"usage": usage(3, 1)}, "3 in, 1 out"),
        ({"usage": usage(0, 5, input_unknown=True)}, "0 in, 5 out, not all told"),
        ({"usage": usage(0, 0, total_tokens=9)}, "0 in, 0 out, 9 in all"),
        ({"usage": usage(3, 1, total_tokens=4)}, "3 in, 1 out"),
        ({"model": "m", "usage": usage(3, 1), "finish_reason": "stop"}, "m: 3 in, 1 out"),
        ({"model": "m", "usage": usage(3, 1), "finish_reason": "tool_use"}, "m: 3 in, 1 out"),
        ({"usage": usage(3, 1), "finish_reason": "refusal"}, "3 in, 1 out; ended by refusal"),
        ({"usage": usage(3, 1), "request": "d"}, "3 in, 1 out  a"),
    ],
)
def test_a_line_tells_what_is_known(record: dict[str, Any], line: str, log: Path) -> None:
    make(log, said("u", "user", "go"), told("a", **record))
    assert shown(log) == [f"response   {line}"]


def test_a_response_of_several_pieces_has_one_line(log: Path) -> None:
    make(
        log,
        told("a", "one", id="r", usage=usage(9, 1)),
        told("b", "two", id="r", usage=usage(9, 5)),
        said("u", "user", "go"),
        told("c", "three", id="r", usage=usage(9, 1)),
    )
    assert shown(log) == ["response   9 in, 5 out"]


def test_a_run_without_responses_says_nothing_of_tokens(log: Path) -> None:
    make(log, told("a", usage=usage(1, 1)), said("u", "user", "go"), ran("run", "u"))
    assert shown(log)[1] == "run        completed after 0.0 s (2026-01-02 12:00:00Z to 12:00:00Z)"


def test_a_run_says_how_much_it_does_not_know(log: Path) -> None:
    make(log, said("u", "user", "go"), told("a", usage=usage(5, 1)), told("b"), ran("run", "u"))
    assert shown(log)[-1].endswith("; 2 responses: 5 in, 1 out, not all told")


def test_the_lines_are_dim(log: Path) -> None:
    make(log, told("a", model="m", usage=usage(5, 1)))
    assert "\x1b[2mresponse\x1b[0m" in run("replay", log, "--color").stdout


def test_as_json_each_response_and_each_run_has_its_numbers(log: Path) -> None:
    record = {"id": "r", "provider": "p", "model": "m", "finish_reason": "stop", "request": "d"}
    make(
        log,
        said("u", "user", "go"),
        told("a", usage=usage(6, 7, cache_read=20, cache_write=4), **record),
        told("b", usage=usage(0, 3, input_unknown=True)),
        told("c"),
        ran("run", "u"),
    )
    events = json_lines(run("replay", log, "--json"))
    first, second, third = (event for event in events if event["event"] == "responded")
    assert first == {
        "event": "responded",
        "entry": "a",
        "time": "2026-01-02T12:00:00Z",
        "turn": 1,
        "response": "r",
        "provider": "p",
        "model": "m",
        "usage": {"input": 6, "cache_read": 20, "cache_write": 4, "output": 7, "total": 37},
        "finish_reason": "stop",
        "request": "d",
        "compaction": False,
    }
    assert second["usage"]["input"] is None
    assert (second["usage"]["output"], second["usage"]["total"]) == (3, 3)
    assert third["usage"] is None
    assert events[-1]["usage"] == {
        "responses": 3,
        "untold": 2,
        "input": 6,
        "cache_read": 20,
        "cache_write": 4,
        "output": 10,
        "total": 40,
    }


def test_replay_can_begin_inside_a_response(log: Path) -> None:
    make(log, told("a", "one", usage=usage(5, 1)), said("b", "assistant", "two"), said("u", "user", "go"))
    events = json_lines(run("replay", log, "--json", "--from", "b"))
    assert [(event["event"], event["entry"]) for event in events] == [
        ("said", "b"),
        ("responded", "a"),
        ("said", "u"),
    ]


@pytest.mark.parametrize("name", each(CODEX))
def test_the_lines_of_a_real_session_add_up_to_what_inspect_tells(name: str) -> None:
    events = json_lines(run("replay", "--json", CORPUS / name))
    taken = [event["usage"] for event in events if event["event"] == "responded"]
    (sums,) = json_lines(run("inspect", "--json", CORPUS / name))
    for key in ("input", "cache_read", "cache_write", "output", "total"):
        assert sum(one[key] or 0 for one in taken if one) == sums["usage"][key]
    assert len(taken) == sums["usage"]["responses"]
    runs = [event["usage"]["responses"] for event in events if event["event"] == "ran"]
    assert sum(runs) <= len(taken)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(HOSTILE, min_size=4, max_size=4))
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 4)
def test_nothing_in_a_record_reaches_the_terminal(tmp_path: Path, texts: list[str]) -> None:
    log = tmp_path / "session.jsonl"
    log.unlink(missing_ok=True)
    model, word, entry_id, digest = texts
    make(
        log,
        told(
            "1" + entry_id,
            id="one" + word,
            provider=word,
            model=model,
            finish_reason=word,
            request=digest,
            usage=usage(5, 1),
        ),
        CompactionEntry(
            id="2" + entry_id,
            timestamp=NOON,
            compaction=Compaction(summary="gist", model=model, response_id="two" + word, provider=word),
        ),
    )
    for words in ((), ("--full",), ("--json",)):
        result = run("replay", log, *words)
        assert result.exit_code == 0, result.exception
        assert is_harmless(result.output)
        if not words:
            # One line each: a model's name cannot pass itself off as another event.
            lines = [line[:9] for line in result.stdout.split("\n")]
            assert lines == ["session s", "assistant", "response ", "compacted", "response ", ""]
