"""``transcript-log stats``: sums over files, on stdout, and what they leave out on stderr."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_sessions import Written, call, result, text
from click.testing import CliRunner, Result
from test_stats import NOON, answer, compaction, question, run, usage

from transcript_log import Detail, JsonlStore, Session, ToolOutcome, new_message, outcome_payload
from transcript_log.cli import main
from transcript_log.codec import started_payload
from transcript_log.entries import Entry, RecordedUsage, ToolStarted, new_header


def log(path: Path, *entries: Entry) -> Path:
    store = JsonlStore(path, durability="os", header=new_header(id=path.stem))
    store.append(*entries)
    return path


def stats(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["stats", *map(str, words)])


def inspect(*words: str | Path) -> str:
    result = CliRunner().invoke(main, ["inspect", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(*words: str | Path) -> list[dict[str, Any]]:
    result = stats(*words, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    return log(tmp_path / "parent.jsonl", *PARENT)


PARENT = (
    question("q"),
    answer("a", "r1", model="gpt-4o", provider="openai", usage=usage(10, 2, cache_read=5)),
    answer("b", "r1", model="gpt-4o", provider="openai", usage=usage(10, 2, cache_read=5)),
    run("run1", "q"),
    compaction("k", usage=usage(3, 4), model="gpt-4o", provider="openai"),
)


def test_a_table_has_a_row_for_each_model_and_one_for_all(parent: Path) -> None:
    result = stats(parent)
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["model", "responses", "input", "cache", "read", "cache", "write", "output", "total"],
        ["gpt-4o", "1", "10", "5", "0", "2", "17"],
        ["gpt-4o", "(compactions)", "1", "3", "0", "0", "4", "7"],
        ["all", "2", "13", "5", "0", "6", "24"],
    ]
    assert len({len(line) for line in result.stdout.splitlines()}) == 1
    assert not result.stderr


def test_a_fork_adds_only_what_it_did_not_copy(parent: Path, tmp_path: Path) -> None:
    fork = log(tmp_path / "fork.jsonl", *PARENT, answer("c", "r2", model="m2"))
    assert [
        (row["session"], row["compaction"], row["responses"]) for row in rows("--by", "session", parent, fork)
    ] == [
        ("parent", False, 1),
        ("parent", True, 1),
        ("fork", False, 1),
    ]


def test_sidecars_among_the_files_are_passed_over_and_told(parent: Path) -> None:
    sidecar = parent.with_suffix(".details.jsonl")
    sidecar.write_bytes(b"")
    result = stats(parent, sidecar)
    assert result.exit_code == 0
    assert result.stdout == stats(parent).stdout
    assert "1 sidecar passed over" in result.stderr
    assert stats(sidecar).exit_code == 1  # alone it is asked for, and is no session


def test_subagents_within_a_file_count_as_sessions_of_their_own(tmp_path: Path) -> None:
    written = Written().user("u1", "ask").says("a1", "msg_1", call("toolu_1", "Task", prompt="look"))
    side = {"isSidechain": True}
    written.user("x1", "look", parentUuid=None, **side).says("x2", "msg_2", text("there"), **side)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(written.answers("r1", "toolu_1", parentUuid="a1")))
    assert [(row["session"], row["responses"]) for row in rows(path, "--by", "session")] == [
        ("s-1", 1),
        ("s-1-3", 1),
    ]
    told = json.loads(inspect(path, "--json"))
    assert (told["sidechain"], told["assistant"], told["usage"]["responses"]) == (2, 2, 1)
    shown = inspect(path)
    assert "calls        1 (1 output)" in shown


def test_what_inspect_shows_is_what_the_file_holds(tmp_path: Path) -> None:
    """What was given up is counted in the text as it is in JSON."""
    written = Written().user("u1", "ask").says("a1", "msg_1", call("toolu_1"), call("toolu_2"))
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    written.user("r1", [result("toolu_1", "no", is_error=True), result("toolu_9")])
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(written.says("a2", "msg_2", thought).user("u2", "instead", parentUuid=None)))
    shown = inspect(path)
    assert "calls        2 (2 outputs, 1 unanswered, 1 without a call, 1 error, 1 parallel group)" in shown
    assert "reasoning    1 (1 with parts that only their producer can read)" in shown
    assert json.loads(inspect(path, "--json"))["calls"] == 2


def test_json_gives_every_number(parent: Path) -> None:
    assert rows(parent)[0] == {
        "model": "gpt-4o",
        "compaction": False,
        "responses": 1,
        "input": 10,
        "cache_read": 5,
        "cache_write": 0,
        "output": 2,
        "total": 17,
        "untold": 0,
    }


def test_by_run_and_by_day(parent: Path) -> None:
    assert [row["run"] for row in rows(parent, "--by", "run")] == ["run1", None]
    assert [row["day"] for row in rows(parent, "--by", "day")] == ["2026-01-02", "2026-01-02"]
    shown = stats(parent, "--by", "run").stdout
    assert "run1 2026-01-02 12:00:00Z completed" in shown
    assert "in no run (compactions)" in shown


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", answer("a", usage=None), answer("b", usage=RecordedUsage()))
    result = stats(path)
    assert "of 2 responses the tokens are not, or not all, known" in result.stderr
    empty = stats(log(tmp_path / "b.jsonl", question("q")))
    assert empty.exit_code == 0
    assert "no response here tells of its tokens" in empty.stderr


def test_cost_is_there_if_it_is_asked_for(parent: Path, tmp_path: Path) -> None:
    pytest.importorskip("genai_prices")
    other = log(tmp_path / "other.jsonl", answer("x", model="nobodys-model"))
    known, summary, unknown = rows(parent, other, "--cost")
    assert known["cost"] == pytest.approx(10 * 2.5e-6 + 5 * 1.25e-6 + 2 * 1e-5)
    assert summary["unpriced"] == 0
    assert (unknown["cost"], unknown["unpriced"]) == (None, 1)
    result = stats(parent, other, "--cost")
    assert result.stdout.splitlines()[0].endswith("cost")
    assert "of 1 response the price is not known" in result.stderr


def test_cost_without_the_extra_is_told_in_one_line(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    result = stats(parent, "--cost")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: there is no price list: install the extra")


def test_wrong_usage_ends_with_2(parent: Path, tmp_path: Path) -> None:
    assert stats().exit_code == 2
    assert stats(tmp_path / "no.jsonl").exit_code == 2
    assert stats(parent, "--by", "moon").exit_code == 2


def test_a_damaged_file_is_summed_up_as_far_as_it_can_be_read(parent: Path) -> None:
    parent.write_bytes(parent.read_bytes() + b"{broken\n")
    result = stats(parent)
    assert result.exit_code == 0
    assert "line 7" in result.stderr
    assert result.stdout.splitlines()[-1].split()[-1] == "24"


def test_nothing_in_a_name_acts_on_the_terminal(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", answer("a", model="m\x1b[31m\n\u202e"))
    for shown in (stats(path), stats(path, "--json")):
        assert all(char.isprintable() or char == "\n" for char in shown.output)
    assert len(stats(path).stdout.splitlines()) == 3


# ------------------------------------------------------------------------------ inspect


def test_inspect_shows_the_sum_and_the_size_of_the_context(tmp_path: Path) -> None:
    path = log(
        tmp_path / "a.jsonl",
        answer("a", usage=usage(10, 2, cache_read=5)),
        answer("b", usage=usage(20, 3, cache_write=1)),
        answer("c", usage=None),
    )
    shown = inspect(path)
    assert (
        "tokens       41 (30 input, 5 cache read, 1 cache write, 5 output) in 3 responses,"
        " 1 of which do not tell all\n" in shown
    )
    assert "context      21 tokens\n" in shown
    told = json.loads(inspect(path, "--json"))
    assert told["usage"] == {
        "responses": 3,
        "untold": 1,
        "input": 30,
        "cache_read": 5,
        "cache_write": 1,
        "output": 5,
        "total": 41,
    }
    assert told["context_tokens"] == 21
    assert told["open_calls"] == []


def test_inspect_of_a_log_without_usage_says_so(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", question("q"))
    assert "tokens       no response tells\n" in inspect(path)
    told = json.loads(inspect(path, "--json"))
    assert told["usage"]["responses"] == 0
    assert told["context_tokens"] is None
    compacted = log(tmp_path / "b.jsonl", answer("a"), compaction("k", usage=usage()))
    assert "context      unknown\n" in inspect(compacted)


def test_inspect_shows_open_calls_and_how_far_they_came(tmp_path: Path) -> None:
    def called(call_id: str) -> Entry:
        item = {"type": "function_call", "call_id": call_id, "name": "sh", "arguments": "{}"}
        return new_message(item, id_source=lambda: f"e-{call_id}")

    path = log(tmp_path / "a.jsonl", *[called(f"c{n}") for n in range(7)])
    began = started_payload(ToolStarted(at=NOON))
    ended = outcome_payload(ToolOutcome(status="success"))
    JsonlStore(path).append(
        new_message({"type": "function_call_output", "call_id": "c0", "output": "ok"}),
        details=[Detail(id="c5", payload=began), Detail(id="c6", payload=ended, entry="e-c6")],
    )
    shown = [line for line in inspect(path).splitlines() if line.startswith("open call")]
    assert len(shown) == 6
    assert shown[0] == "open call    1 earlier (--json lists them)"
    assert shown[1] == "open call    sh c2 (entry e-c2): no record that it began"
    assert shown[4].endswith("began at 2026-01-02 12:00:00Z; how it ended is not known")
    assert shown[5].endswith("finished (success), and its output was not recorded")
    told = json.loads(inspect(path, "--json"))["open_calls"]
    assert told[-3:] == [
        {
            "call": "c4",
            "name": "sh",
            "entry": "e-c4",
            "state": "never-began",
            "started": None,
            "status": None,
        },
        {
            "call": "c5",
            "name": "sh",
            "entry": "e-c5",
            "state": "began",
            "started": "2026-01-02T12:00:00Z",
            "status": None,
        },
        {
            "call": "c6",
            "name": "sh",
            "entry": "e-c6",
            "state": "finished",
            "started": None,
            "status": "success",
        },
    ]
    assert len(told) == 6
    with Session.open(path, mode="read") as session:
        assert [(call["call"], call["entry"], call["state"]) for call in told] == [
            (call.call.id, call.entry, call.state) for call in session.open_calls()
        ]


def test_a_call_that_began_nobody_knows_when_has_begun(tmp_path: Path) -> None:
    item = {"type": "function_call", "call_id": "c", "name": "sh", "arguments": "{}"}
    path = tmp_path / "a.jsonl"
    began = started_payload(ToolStarted(at=None))
    JsonlStore(path).append(new_message(item), details=[Detail(id="c", payload=began)])
    (row,) = [line for line in inspect(path).splitlines() if line.startswith("open call")]
    assert row.endswith(": began; how it ended is not known")


def test_a_call_that_waits_no_more_is_unanswered_but_not_open(tmp_path: Path) -> None:
    def called(call_id: str) -> Entry:
        item = {"type": "function_call", "call_id": call_id, "name": "sh", "arguments": "{}"}
        return new_message(item, interrupted=call_id == "broken-off")

    for number, entries in enumerate(
        [(called("c"), question("q"), compaction("k")), (question("q"), called("broken-off"))]
    ):
        path = log(tmp_path / f"{number}.jsonl", *entries)
        told = json.loads(inspect(path, "--json"))
        assert (told["unanswered"], told["open_calls"]) == (1, [])
        assert "open calls   none: what was not answered was broken off, or" in inspect(path)


def test_a_call_whose_id_was_answered_earlier_may_be_open(tmp_path: Path) -> None:
    item = {"type": "function_call", "call_id": "c", "name": "sh", "arguments": "{}"}
    done = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    path = log(
        tmp_path / "a.jsonl",
        new_message(item, id_source=lambda: "one"),
        new_message(done, id_source=lambda: "done"),
        question("q"),
        new_message(item, id_source=lambda: "two"),
    )
    told = json.loads(inspect(path, "--json"))
    assert (told["unanswered"], [call["entry"] for call in told["open_calls"]]) == (0, ["two"])
    assert "open call    sh c (entry two): no record that it began\n" in inspect(path)


def test_a_session_of_another_agent_has_open_calls_too(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    records: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "s", "timestamp": "2026-01-02T12:00:00Z"}},
        {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"},
        },
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (call,) = json.loads(inspect(path, "--json"))["open_calls"]
    assert (call["call"], call["name"], call["state"]) == ("c", "shell", "never-began")
