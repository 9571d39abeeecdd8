"""Questions to many sessions: what the views hold, what a query may do, and what is told of damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from claude_sessions import Written
from claude_sessions import call as claude_call
from extras import needed
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import entries as any_entries
from strategies import logs
from test_corpus_codex import CORPUS, FACTS
from test_stats import NOON, answer, compaction, question, usage

from transcript_log import Detail, JsonlStore, ToolOutcome, outcome_payload
from transcript_log.check import check_scan
from transcript_log.cli import source
from transcript_log.codec import started_payload
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    Entry,
    Header,
    Item,
    MessageEntry,
    ResponseRecord,
    Run,
    RunEntry,
    ToolStarted,
    new_header,
)
from transcript_log.errors import StorageError
from transcript_log.history import Called, HostedCall, build_history
from transcript_log.sql import VIEWS, Answer, NoDuckDBError, QueryError, query
from transcript_log.sql.asking import ask
from transcript_log.sql.conversation import Conversation
from transcript_log.sql.engine import UnreadError, loaded, plan_query, run_query
from transcript_log.sql.gathering import gather
from transcript_log.sql.reading import find_files
from transcript_log.sql.values import Doubts, encode_rows
from transcript_log.sql.views import ALL_COLUMNS, call_status
from transcript_log.stats import find_spent, group_spent

needed("duckdb", "sql")

LATER: Final = NOON + timedelta(seconds=90)


def log(path: Path, *entries: Entry, details: tuple[Detail, ...] = (), header: Header | None = None) -> Path:
    store = JsonlStore(path, durability="os", header=header or new_header(id=path.stem))
    store.append(*entries, details=details)
    return path


def says(entry_id: str, item: Item, at: datetime = NOON, **more: Any) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=at, message=item, **more)


def called(call_id: str, name: str = "sh", arguments: Any = "{}") -> Item:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def gave(call_id: str, output: Any = "ok") -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def rows(answer: Answer) -> list[dict[str, Any]]:
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def one(path: Path | str, sql: str, parameters: Any = None) -> Any:
    """The only value of an answer."""
    ((value,),) = query([path], sql, parameters).rows
    return value


# ------------------------------------------------------------------------ against counts

_FACTS: Final = """
    SELECT
        (SELECT count(*) FROM tool_calls c WHERE c.path = s.path AND kind <> 'hosted' AND call_id IS NOT NULL)
            AS calls,
        (SELECT count(DISTINCT call_id) FROM tool_calls c
            WHERE c.path = s.path AND kind <> 'hosted' AND NOT answered) AS unanswered,
        (SELECT count(*) FROM tool_calls c WHERE c.path = s.path AND is_error) AS error_results,
        (SELECT count(*) FROM entries e WHERE e.path = s.path AND type = 'compaction') AS compactions,
        (SELECT sum(images) FROM messages m WHERE m.path = s.path AND role IS NOT NULL) AS images,
        s.path
    FROM sessions s WHERE session % 1000000 = 0
"""


@pytest.mark.skipif(not FACTS, reason=f"there is no corpus at {CORPUS}")
def test_real_sessions_are_counted_as_others_count_them() -> None:
    found = query([CORPUS / name for name in FACTS], _FACTS, processes=2)
    assert len(found.rows) == len(FACTS) > 20
    for row in rows(found):
        facts = FACTS[os.path.relpath(row.pop("path"), CORPUS)]
        assert {name: int(value or 0) for name, value in row.items()} == {name: facts[name] for name in row}


@pytest.mark.skipif(not FACTS, reason=f"there is no corpus at {CORPUS}")
def test_real_sessions_have_their_records_in_the_lines_that_are_told() -> None:
    found = query(
        [CORPUS / name for name in FACTS],
        "SELECT path, line, payload->>'$.call_id' AS call FROM entries"
        " WHERE payload->>'$.type' = 'function_call' ORDER BY ALL",
    )
    assert len(found.rows) > 50
    for path, line, call in found.rows:
        assert call in Path(path).read_text(encoding="utf-8").split("\n")[line - 1]


@settings(max_examples=60)
@given(st.one_of(logs(), logs(each=any_entries(), max_size=4)))
def test_every_view_has_the_rows_that_the_entries_of_any_log_make(entries: list[Entry]) -> None:
    doubts: Doubts = {}

    def of(name: str) -> list[dict[str, Any]]:
        view = VIEWS[name]
        assert view.rows is not None
        session = Conversation(number=1, path="p", format="codex", header=None, entries=entries)
        columns = [(column.name, column.type, column.read) for column in view.columns]
        lines = list(encode_rows(view.rows(session), columns, doubts))
        assert all(line.endswith(b"\n") and b"\n" not in line[:-1] for line in lines)
        return [json.loads(line) for line in lines]

    made = {name: of(name) for name, view in VIEWS.items() if view.rows is not None}
    messages = [entry for entry in entries if isinstance(entry, MessageEntry)]
    calls = [event for event in build_history(entries).events if isinstance(event, Called | HostedCall)]
    assert [len(made[name]) for name in ("sessions", "entries", "messages", "tool_calls", "runs")] == [
        1,
        len(entries),
        len(messages),
        len(calls),
        sum(isinstance(entry, RunEntry) for entry in entries),
    ]
    assert made["sessions"][0]["entries"] == len(entries)
    if doubts:
        return
    assert [row["entry_id"] for row in made["entries"]] == [entry.id for entry in entries]
    assert [row["item"] for row in made["messages"]] == [entry.message for entry in messages]
    read = ("entry_id", "call_id", "name", "is_error", "output", "output_entry")
    assert [tuple(row.get(name) for name in read) for row in made["tool_calls"]] == [
        (call.entry, call.call_id, call.name, call.is_error, call.output, call.output_entry) for call in calls
    ]


def test_usage_adds_up_to_what_stats_has_over_forks_and_repeated_responses(tmp_path: Path) -> None:
    first = [
        question("q1"),
        answer("a1", response="r1", usage=usage(10, 5, cache_read=3)),
        answer("a2", response="r1", usage=usage(10, 9, cache_read=3)),
        answer("a3", response=None, usage=usage(7, 1)),
        compaction("k", usage=usage(100, 20)),
        answer("a4", response="r2", usage=None),
    ]
    fork = [*first[:4], answer("b1", response="r3", usage=usage(1, 1, cache_write=2), model="m2")]
    files = [log(tmp_path / "a.jsonl", *first), log(tmp_path / "b.jsonl", *fork)]
    for order in (files, files[::-1]):
        spent = find_spent((path.stem, JsonlStore(path).load()) for path in order)
        (total,) = group_spent(spent)
        found = query(
            order,
            "SELECT count(*), count(*) FILTER (NOT told), sum(input), sum(cache_read), sum(cache_write),"
            " sum(output), sum(total) FROM usage",
        )
        tokens = total.tokens
        assert found.rows == [
            (
                tokens.responses,
                tokens.untold,
                tokens.input,
                tokens.cache_read,
                tokens.cache_write,
                tokens.output,
                tokens.total,
            )
        ]
        by_file = query(order, "SELECT session_id, count(*) FROM usage GROUP BY 1").rows
        assert dict(by_file) == Counter(one.session for one in spent)
        models = query(order, "SELECT model, compaction, sum(total) FROM usage GROUP BY 1, 2").rows
        assert {(model, bool(of)): int(total or 0) for model, of, total in models} == {
            (group.key, group.compaction): group.tokens.total for group in group_spent(spent, "model")
        }


# ------------------------------------------------------------------------------- columns


def test_the_outcome_of_a_call_is_what_the_sidecar_says_else_what_the_output_shows(tmp_path: Path) -> None:
    anthropic = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c7", "name": "sh", "input": {}}],
    }
    flagged = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c7", "content": "no", "is_error": True}],
    }
    entries = [
        *(says(f"e{n}", called(f"c{n}")) for n in range(7)),
        says("e7", anthropic),
        *(says(f"o{n}", gave(f"c{n}"), LATER) for n in (0, 1, 2, 3)),
        says("o4", gave("c4"), LATER, stand_in=True),
        says("o7", flagged, LATER),
        says("h", {"type": "web_search_call", "id": "w", "status": "completed"}),
    ]
    timeout = outcome_payload(ToolOutcome(status="timeout", exit_code=9, error_code="slow"))
    details = (
        Detail(id="c0", payload=outcome_payload(ToolOutcome(status="success"))),
        Detail(id="c1", payload=timeout, entry="e1"),
        Detail(id="c2", payload={"kind": "tool_outcome", "data": {"status": "exploded"}}),
        Detail(id="c6", payload=started_payload(ToolStarted(at=NOON + timedelta(seconds=5)))),
    )
    path = log(tmp_path / "a.jsonl", *entries, details=details)
    found = {row["entry_id"]: row for row in rows(query([path], "FROM tool_calls"))}
    assert {entry_id: (row["status"], row["failed"]) for entry_id, row in found.items()} == {
        "e0": ("success", False),
        "e1": ("timeout", True),
        "e2": ("unknown", None),
        "e3": ("answered", False),
        "e4": ("stand-in", None),
        "e5": ("unanswered", None),
        "e6": ("unanswered", None),
        "e7": ("failed", True),
        "h": ("answered", False),
    }
    slow = found["e1"]
    assert (slow["exit_code"], slow["error_code"]) == (9, "slow")
    assert json.loads(slow["outcome"]) == timeout["data"]
    assert (slow["answered"], slow["output_entry"], slow["output"]) == (True, "o1", "ok")
    assert (slow["started"], slow["ended"], slow["duration"]) == (
        NOON.replace(tzinfo=None),
        LATER.replace(tzinfo=None),
        90.0,
    )
    assert found["e6"]["started"] == NOON.replace(tzinfo=None) + timedelta(seconds=5)
    assert (found["e6"]["ended"], found["e6"]["duration"]) == (None, None)
    assert {row["kind"] for row in found.values()} == {"function", "hosted"}
    rate = one(path, "SELECT avg(failed::INT) FROM tool_calls")
    assert rate == pytest.approx(2 / 5)


def test_a_call_has_the_model_of_the_response_it_came_in(tmp_path: Path) -> None:
    record = ResponseRecord(id="r1", provider="openai", model="m1")
    entries = [
        says("t", {"type": "reasoning", "summary": []}, response=record),
        says("e0", called("c0")),
        says("e1", called("c1")),
        says("o0", gave("c0")),
        says("e2", called("c2")),
        says("e3", called("c3"), response=ResponseRecord(model="m2")),
    ]
    found = query(
        [log(tmp_path / "a.jsonl", *entries)], "SELECT response_id, provider, model FROM tool_calls"
    )
    assert found.rows == [
        ("r1", "openai", "m1"),
        ("r1", "openai", "m1"),
        (None, None, None),
        (None, None, "m2"),
    ]


def test_entries_belong_to_the_innermost_run_and_runs_have_their_times(tmp_path: Path) -> None:
    def ran(entry_id: str, first: str | None, seconds: int) -> RunEntry:
        run = Run(
            started_at=NOON,
            completed_at=NOON + timedelta(seconds=seconds),
            first_entry_id=first,
            status="failed",
        )
        return RunEntry(id=entry_id, timestamp=NOON, run=run)

    entries = [
        says("a", {"role": "user", "content": "hello"}),
        says("b", called("c0")),
        ran("inner", "b", 1),
        says("c", called("c1")),
        ran("outer", "a", 3),
        says("d", called("c2")),
    ]
    path = log(tmp_path / "a.jsonl", *entries)
    assert query([path], "SELECT entry_id, run, turn FROM entries ORDER BY position").rows == [
        ("a", "outer", 1),
        ("b", "inner", 1),
        ("inner", "inner", 1),
        ("c", "outer", 1),
        ("outer", "outer", 1),
        ("d", None, 1),
    ]
    assert query([path], "SELECT run FROM tool_calls ORDER BY position").rows == [
        ("inner",),
        ("outer",),
        (None,),
    ]
    found = query(
        [path], "SELECT entry_id, started, duration, status, first_entry FROM runs ORDER BY position"
    )
    noon = NOON.replace(tzinfo=None)
    assert found.rows == [("inner", noon, 1.0, "failed", "b"), ("outer", noon, 3.0, "failed", "a")]


def test_what_a_fork_took_along_is_marked(tmp_path: Path) -> None:
    source = JsonlStore(log(tmp_path / "a.jsonl", *(says(f"e{n}", called(f"c{n}")) for n in range(4))))
    fork = source.fork(tmp_path / "b.jsonl", at="e1")
    fork.append(says("new", called("c9")))
    found = query(
        [tmp_path], "SELECT s.session_id, entry_id, copied FROM tool_calls JOIN sessions s USING (session)"
    )
    assert [entry_id for _, entry_id, copied in found.rows if copied] == ["e0", "e1"]
    assert len(found.rows) == 7
    assert one(tmp_path / "b.jsonl", "SELECT forked_at FROM sessions") == "e1"
    assert one(tmp_path / "b.jsonl", "SELECT forked_from FROM sessions") == "a"


def test_messages_have_their_text_and_the_item_itself(tmp_path: Path) -> None:
    item = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": "one"},
            {"type": "text", "text": "two"},
        ],
    }
    path = log(tmp_path / "a.jsonl", says("a", item, family="f", interrupted=True))
    (row,) = rows(query([path], "FROM messages"))
    assert (row["role"], row["type"], row["text"], row["reasoning"]) == ("assistant", None, "one\ntwo", "hm")
    assert (row["family"], row["interrupted"], row["stand_in"], row["images"]) == ("f", True, False, 0)
    assert json.loads(row["item"]) == item
    assert one(path, "SELECT item->>'$.content[1].text' FROM messages") == "one"


def test_entries_of_every_type_have_a_payload(tmp_path: Path) -> None:
    kept = CompactionEntry(
        id="k", timestamp=NOON, compaction=Compaction(summary="s", read_files=("a", "b"), tokens_before=7)
    )
    path = log(tmp_path / "a.jsonl", says("m", called("c")), kept)
    with path.open("ab") as file:
        file.write(b'{"id":"x","timestamp":"2026-01-02T12:00:00Z","type":"novel","deep":[1,{"a":null}]}\n')
    found = query([path], "SELECT type, line, payload FROM entries ORDER BY position")
    assert [(kind, line) for kind, line, _ in found.rows] == [("message", 2), ("compaction", 3), ("novel", 4)]
    assert json.loads(found.rows[1][2])["read_files"] == ["a", "b"]
    assert json.loads(found.rows[2][2]) == {"deep": [1, {"a": None}]}


def test_arguments_are_json_whatever_they_were_written_as(tmp_path: Path) -> None:
    path = log(
        tmp_path / "a.jsonl",
        *(
            says(f"e{n}", called(f"c{n}", arguments=arguments))
            for n, arguments in enumerate(
                ('{"command":"ls"}', {"command": "ls"}, "ls -l", '{"n":1', '{"n":' + "9" * 30 + "}")
            )
        ),
    )
    found = query([path], "SELECT arguments FROM tool_calls ORDER BY position").rows
    assert [json.loads(value) for (value,) in found] == [
        {"command": "ls"},
        {"command": "ls"},
        "ls -l",
        '{"n":1',
        {"n": int("9" * 30)},
    ]


def test_times_are_in_utc_wherever_one_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    path = log(tmp_path / "a.jsonl", says("a", called("c"), datetime(2026, 1, 2, 23, 30, 0, 5, tzinfo=UTC)))
    assert one(path, "SELECT time::VARCHAR FROM entries") == "2026-01-02 23:30:00.000005"
    assert one(path, "SELECT current_setting('TimeZone')") == "UTC"
    assert one(path, "SELECT (time::TIMESTAMPTZ)::VARCHAR FROM entries") == "2026-01-02 23:30:00.000005+00"


def test_a_time_that_utc_cannot_name_is_told(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c")))
    with path.open("ab") as file:
        file.write(
            b'{"id":"z","timestamp":"9999-12-31T23:59:59-05:00","type":"message","message":{"role":"user"}}\n'
        )
    found = query([path], "SELECT time IS NULL FROM entries ORDER BY position")
    assert found.rows == [(False,), (True,)]
    assert [finding.rule for finding in found.findings] == ["not-as-it-is"]


def test_tokens_that_nobody_told_are_null(tmp_path: Path) -> None:
    entries = (
        answer("a", response="r1", usage=usage(0, 5, total_tokens=9, input_unknown=True)),
        answer("b", response="r2", usage=usage(0, 0)),
        answer("c", response="r3", usage=usage(3, 0)),
    )
    path = log(tmp_path / "a.jsonl", *entries)
    found = query([path], "SELECT input, cache_read, output, total, told FROM usage ORDER BY entry_id")
    assert found.rows == [(None, 0, 5, 9, False), (None, None, None, None, False), (3, 0, 0, 3, True)]


def test_the_columns_of_a_view_are_those_that_it_describes(tmp_path: Path) -> None:
    for view in VIEWS.values():
        described = query([], f"DESCRIBE {view.name}").rows
        assert [(name, kind) for name, kind, *_ in described] == [
            (column.name, column.type) for column in view.columns
        ]
        found = query([log(tmp_path / f"{view.name}.jsonl", says("a", called("c")))], f"FROM {view.name}")
        assert found.columns == tuple(column.name for column in view.columns)
        assert found.types == tuple(column.type for column in view.columns)


# ------------------------------------------------------------------------- what is asked


def test_sessions_of_every_format_stand_beside_each_other(tmp_path: Path) -> None:
    log(tmp_path / "own.jsonl", says("a", called("c0", "sh")))
    claude = Written().user("u1", "go").says("u2", "m1", claude_call("t1", "Bash")).answers("u3", "t1")
    (tmp_path / "claude.jsonl").write_bytes(b"".join(claude.lines))
    (tmp_path / "notes.details.jsonl").write_text("{}\n")
    (tmp_path / "readme.txt").write_text("no session\n")
    found = query(
        [tmp_path], "SELECT format, name, status FROM tool_calls JOIN sessions USING (session) ORDER BY 1"
    )
    assert found.rows == [("claude-code", "Bash", "answered"), ("transcript-log", "sh", "unanswered")]
    assert found.findings == ()


def test_a_file_that_is_named_twice_is_read_once_and_the_first_order_counts(tmp_path: Path) -> None:
    first, second = (log(tmp_path / f"{name}.jsonl", says(name, called("c"))) for name in "ab")
    (tmp_path / "link.jsonl").symlink_to(second)
    files = find_files([str(second), str(tmp_path), str(first)])
    assert files.paths == [str(second), str(first)]
    assert query([second, tmp_path], "SELECT session_id FROM sessions ORDER BY session").rows == [
        ("b",),
        ("a",),
    ]


def test_an_empty_folder_has_empty_views(tmp_path: Path) -> None:
    for name in VIEWS:
        assert query([tmp_path], f"FROM {name}").rows == []
    assert query([tmp_path], "SELECT count(*), sum(total) FROM usage").rows == [(0, None)]


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"no\.jsonl"):
        query([tmp_path / "no.jsonl"], "FROM sessions")
    with pytest.raises(StorageError):
        query([str(tmp_path / "a\0b")], "FROM sessions")


def test_several_processes_give_what_one_gives(tmp_path: Path) -> None:
    for number in range(9):
        log(
            tmp_path / f"{number}.jsonl",
            answer(f"a{number}", response=f"r{number % 4}", usage=usage(number, 1)),
            *(says(f"e{number}-{n}", called(f"c{n}", f"tool{n % 3}")) for n in range(number)),
        )
    (tmp_path / "3.jsonl").write_bytes((tmp_path / "3.jsonl").read_bytes() + b"{broken\n")
    (tmp_path / "5.jsonl").write_bytes(b"nothing\n")
    for name in VIEWS:
        alone = query([tmp_path], f"FROM {name} ORDER BY ALL")
        together = query([tmp_path], f"FROM {name} ORDER BY ALL", processes=3)
        assert together == alone
        assert len(alone.rows) > 0 or name == "runs"
        assert [finding.rule for finding in alone.findings] == ["damaged-line", "unreadable"]


def test_only_the_columns_that_a_query_needs_are_read() -> None:
    assert plan_query("SELECT name, count(*) FROM tool_calls GROUP BY 1") == {"tool_calls": ["name"]}
    assert plan_query("SELECT count(*) FROM runs WHERE status = 'failed'") == {"runs": ["status"]}
    assert plan_query("SELECT count(*) FROM entries") == {"entries": []}
    assert plan_query("WITH runs AS (SELECT 1 AS a) FROM runs") == {}
    assert plan_query("SELECT 1") == {}
    assert plan_query("DESCRIBE usage") == {}
    assert plan_query("FROM findings") == {"findings": ALL_COLUMNS["findings"]}
    assert plan_query("SELECT c FROM tool_calls c") == {"tool_calls": ALL_COLUMNS["tool_calls"]}
    assert plan_query("SELECT * EXCLUDE (output) FROM tool_calls") == {
        "tool_calls": [name for name in ALL_COLUMNS["tool_calls"] if name != "output"]
    }
    joined = "SELECT c.name FROM tool_calls c JOIN sessions s USING (session) WHERE s.cwd LIKE $1"
    assert plan_query(joined, ["x"]) == {"tool_calls": ["session", "name"], "sessions": ["session", "cwd"]}
    with_query = (
        "SELECT (SELECT max(time) FROM entries), * FROM (SELECT * FROM usage) WHERE model = 'm' LIMIT 1"
    )
    assert plan_query(with_query) == {"entries": ["time"], "usage": ALL_COLUMNS["usage"]}


QUERIES: Final = (
    "SELECT status, count(*) FROM tool_calls GROUP BY ALL",
    "SELECT count(*) FROM entries",
    "SELECT DISTINCT ON (name) name, output FROM tool_calls ORDER BY name, position",
    "SELECT * EXCLUDE (payload) FROM entries",
    "SELECT COLUMNS('.*_id') FROM messages",
    "SELECT c FROM tool_calls c",
    "SELECT to_json(r) FROM runs r",
    "PIVOT tool_calls ON name USING count(*) GROUP BY session",
    "PIVOT (SELECT session, name FROM tool_calls) ON name USING count(*)",
    "UNPIVOT (SELECT position, turn FROM entries) ON position, turn",
    "SUMMARIZE sessions",
    "WITH t AS MATERIALIZED (SELECT * FROM tool_calls) SELECT name FROM t UNION ALL SELECT status FROM t",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t, sessions s WHERE n < 3) FROM t",
    "SELECT name FROM tool_calls NATURAL JOIN sessions",
    "SELECT s.session_id, (SELECT count(*) FROM entries e WHERE e.session = s.session) FROM sessions s",
    "SELECT name, row_number() OVER (ORDER BY position) FROM tool_calls QUALIFY name > ''",
    "SELECT name FROM tool_calls WHERE EXISTS (FROM messages m WHERE m.session = tool_calls.session)",
    "SELECT * FROM query_table('sessions')",
    "SELECT name FROM (FROM tool_calls ORDER BY output LIMIT 2)",
    "SELECT list(name ORDER BY position) FROM tool_calls",
    "SELECT a.name FROM tool_calls a ASOF JOIN entries b ON a.turn = b.turn AND a.position >= b.position",
    "SELECT t.name, u.x FROM tool_calls t, LATERAL (SELECT t.status AS x) u",
    "FROM tool_calls SELECT name WHERE 'sh' IN (SELECT name FROM tool_calls)",
    "TABLE runs",
    "VALUES (1)",
    "SELECT name FROM tool_calls TABLESAMPLE 100%",
    "SELECT grouping(name), name, count(*) FROM tool_calls GROUP BY CUBE (name, status)",
)
"""Queries of every sort, as far as columns are concerned."""


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_gives_the_same_over_what_it_needs_as_over_everything(
    sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        log(
            tmp_path / f"{name}.jsonl",
            says(f"{name}0", {"role": "user", "content": name}),
            says(f"{name}1", called("c1", "sh")),
            says(f"{name}2", called("c2", "edit")),
            says(f"{name}3", gave("c1")),
        )
    read: list[Any] = []
    taken = gather

    def noted(files: Any, wanted: Any, *rest: Any, **more: Any) -> Any:
        read.append(wanted)
        return taken(files, wanted, *rest, **more)

    monkeypatch.setattr("transcript_log.sql.asking.gather", noted)
    needed = query([tmp_path], sql)
    assert len(read) <= 1  # nothing was missing
    monkeypatch.setattr("transcript_log.sql.asking.plan_query", lambda *_: ALL_COLUMNS)
    everything = query([tmp_path], sql)
    assert sorted(map(repr, needed.rows)) == sorted(map(repr, everything.rows))
    assert needed.columns == everything.columns


def test_a_column_that_was_not_expected_to_be_needed_is_read_after_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c", "sh")))
    monkeypatch.setattr("transcript_log.sql.asking.plan_query", lambda *_: {"tool_calls": ["status"]})
    assert one(path, "SELECT name FROM tool_calls") == "sh"


def test_a_column_that_was_not_read_is_an_error_and_never_null(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c", "sh")))
    wanted = {"tool_calls": ["status"]}
    folder = tmp_path / "rows"
    folder.mkdir()
    gathered = gather([str(path)], wanted, str(folder))
    with loaded(gathered, wanted, str(folder)) as db, pytest.raises(UnreadError):
        run_query(db, "SELECT status, name FROM tool_calls")


def test_parameters_stand_for_values(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c", "it's")), says("b", called("d", "sh")))
    assert query([path], "SELECT call_id FROM tool_calls WHERE name = ?", ["it's"]).rows == [("c",)]
    assert query([path], "SELECT call_id FROM tool_calls WHERE name = $n", {"n": "sh"}).rows == [("d",)]


# --------------------------------------------------------------------------------- safety

REFUSED: Final = (
    "SELECT 1; SELECT 2",
    "",
    "-- nothing",
    "COPY sessions TO '{tmp}/out.csv'",
    "COPY (SELECT 1) TO '{tmp}/out.csv'",
    "ATTACH '{tmp}/out.db'",
    "ATTACH ':memory:' AS other",
    "EXPORT DATABASE '{tmp}/out'",
    "IMPORT DATABASE '{tmp}/out'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{tmp}/evil.so'",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE t AS SELECT 1",
    "CREATE MACRO m() AS 1",
    "INSERT INTO sessions SELECT * FROM sessions",
    "DELETE FROM sessions",
    "UPDATE sessions SET path = 'x'",
    "DROP VIEW sessions",
    "WITH x AS (INSERT INTO rows_of.sessions SELECT * FROM rows_of.sessions RETURNING *) FROM x",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "PREPARE p AS SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT * FROM read_csv('{tmp}/secret.csv')",
    "SELECT * FROM '{tmp}/secret.csv'",
    "SELECT * FROM read_text('{tmp}/secret.csv')",
    "SELECT * FROM read_blob('{tmp}/secret.csv')",
    "SELECT * FROM read_json('{tmp}/secret.csv')",
    "SELECT * FROM read_ndjson_objects('{tmp}/*')",
    "SELECT * FROM read_parquet('{tmp}/secret.csv')",
    "SELECT * FROM sniff_csv('{tmp}/secret.csv')",
    "SELECT * FROM glob('{tmp}/*')",
    "SELECT * FROM parquet_metadata('{tmp}/secret.csv')",
    "SELECT * FROM query('SELECT * FROM read_text(''{tmp}/secret.csv'')')",
    "SELECT * FROM 'https://example.invalid/a.csv'",
    "SELECT * FROM 's3://example.invalid/a.parquet'",
    "SELECT * FROM query_table('{tmp}/secret.csv')",
    "SELECT getenv('HOME')",
    "SELECT * FROM secret_table",
    "SELECT nonsense(",
)


@pytest.mark.parametrize("sql", REFUSED)
def test_a_query_reaches_nothing_but_the_views(sql: str, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\nsecret\n")
    secret_table = [("secret",)]
    path = log(tmp_path / "a.jsonl", says("a", called("c")))
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(QueryError) as raised:
        query([path], sql.replace("{tmp}", str(tmp_path)))
    assert "\n" not in str(raised.value)
    assert sorted(os.listdir(tmp_path)) == before
    assert secret_table


def test_the_lock_holds_also_past_the_look_at_the_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever plan_query lets pass: the engine itself has been given nothing."""
    (tmp_path / "secret.csv").write_text("a\nsecret\n")
    path = log(tmp_path / "a.jsonl", says("a", called("c")))
    monkeypatch.setattr("transcript_log.sql.asking.plan_query", lambda *_: {"sessions": ["session"]})
    harmful = (
        "SET",
        "RESET",
        "CREATE",
        "INSERT",
        "DELETE",
        "UPDATE",
        "DROP",
        "WITH",
        "INSTALL",
        "SELECT * FROM s",
    )
    tried = [sql for sql in REFUSED if "{tmp}" in sql or "://" in sql or sql.startswith(harmful)]
    assert len(tried) > 30
    for sql in tried:
        with pytest.raises(QueryError):
            query([path], sql.replace("{tmp}", str(tmp_path)))
            pytest.fail(sql)
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "a.jsonl.lock", "secret.csv"]


def test_no_variable_of_python_is_a_table(tmp_path: Path) -> None:
    assert one(tmp_path, "SELECT current_setting('python_enable_replacements')") is False


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    path = log(tmp_path / "a.jsonl", says("a", called("c")))
    before = path.read_bytes()
    with ask([str(path)], "FROM tool_calls") as asked:
        (folder,) = place.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert len(list(asked.running.rows)) == 1
    with pytest.raises(QueryError):
        query([path], "SELECT nme FROM tool_calls")
    with pytest.raises(QueryError):
        query([path], "SELECT name::INT FROM tool_calls")
    assert list(place.iterdir()) == []
    assert path.read_bytes() == before


def test_a_disk_that_is_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c")))
    with open("/dev/full", "wb", 0) as full:
        monkeypatch.setattr("transcript_log.sql.gathering._Writer._open", lambda *_: full)
        with pytest.raises(StorageError, match="cannot write the rows"):
            query([path], "FROM tool_calls")


# --------------------------------------------------------------------------------- damage


def test_damage_is_told_and_never_fails_a_query(tmp_path: Path) -> None:
    good = log(tmp_path / "good.jsonl", says("a", called("c0", "one")))
    torn = log(tmp_path / "torn.jsonl", says("b", called("c1", "two")), says("c", called("c2", "three")))
    torn.write_bytes(torn.read_bytes() + b'{"id":"d","timest')
    broken = log(tmp_path / "broken.jsonl", says("e", called("c3", "four")), says("f", called("c4", "five")))
    lines = broken.read_bytes().split(b"\n")
    broken.write_bytes(b"\n".join([lines[0], b"{no json", *lines[2:]]))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "noise.jsonl").write_bytes(os.urandom(500))
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "nowhere.jsonl").symlink_to(tmp_path / "gone")
    found = query([tmp_path], "SELECT name FROM tool_calls ORDER BY 1")
    assert found.rows == [("five",), ("one",), ("three",), ("two",)]
    told = {(Path(finding.path or "").name, finding.rule) for finding in found.findings}
    assert told == {
        ("broken.jsonl", "damaged-line"),
        ("torn.jsonl", "torn-tail"),
        ("empty.jsonl", "unreadable"),
        ("noise.jsonl", "unreadable"),
    }
    seen = rows(query([tmp_path], "FROM findings"))
    assert {(Path(row["path"]).name, row["rule"]) for row in seen} >= told
    (line,) = [row for row in seen if row["rule"] == "damaged-line"]
    assert (line["line"], line["severity"], line["session_id"]) == (2, "error", "broken")
    assert line["byte_offset"] == len(lines[0]) + 1
    assert {row["session"] is None for row in seen if row["rule"] == "unreadable"} == {True}
    assert good.exists()


def test_findings_are_those_of_check_also_where_the_bytes_are_whole(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c")), says("b", called("c")), says("o", gave("x")))
    expected = check_scan(JsonlStore(path).scan(), str(path))
    found = query([path], "SELECT rule, message, line, entry_id, call_id FROM findings")
    assert len(expected) > 1
    assert found.rows == [(one.rule, one.message, one.line, one.entry, one.call) for one in expected]
    assert found.findings == ()


def test_a_file_that_may_not_be_read_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c")))
    log(tmp_path / "b.jsonl", says("b", called("c")))

    def refuse(named: str, **more: Any) -> Any:
        if named == str(path):
            raise StorageError(named, "read", "permission denied", 13)
        return allowed(named, **more)

    allowed = source.read_foreign
    monkeypatch.setattr(source, "read_foreign", refuse)
    found = query([tmp_path], "SELECT session_id FROM sessions")
    assert found.rows == [("b",)]
    (finding,) = found.findings
    assert (finding.rule, finding.severity, finding.path) == ("unreadable", "error", str(path))
    assert "permission denied" in finding.message


# ------------------------------------------------------------------------------ odd values

HOSTILE: Final = (
    "it's",
    'a"b',
    "'; DROP VIEW sessions; --",
    "$1 ? %s {x}",
    "a\nb\tc",
    "\x1b[31m\x07",
    "a\\b",
    "*?[x]",
    "日本 🤖",
    "\u202e",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_odd_names_of_files_folders_and_tools_are_themselves(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    path = folder / f"{name}.jsonl"
    log(
        path,
        says("a", called("c", name, {"k": name, name: 1}), family=name),
        header=new_header(id="s", cwd=name),
    )
    for paths in ([folder], [path]):
        found = rows(query(paths, "FROM tool_calls JOIN sessions USING (session, session_id, path)"))
        assert [(row["path"], row["name"], row["cwd"]) for row in found] == [(str(path), name, name)]
        assert json.loads(found[0]["arguments"]) == {"k": name, name: 1}


def test_a_file_name_that_is_no_utf8_is_shown_by_escapes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.jsonl"
    os.rename(log(tmp_path / "a.jsonl", says("a", called("c"))), path)
    found = query([tmp_path], "SELECT path FROM sessions")
    assert found.rows == [(f"{tmp_path}/\\udcff.jsonl",)]
    assert [finding.rule for finding in found.findings] == ["not-as-it-is"]


def test_a_column_holds_nul_and_tells_what_it_cannot_hold(tmp_path: Path) -> None:
    path = log(
        tmp_path / "a.jsonl",
        says("a", called("c0", "nul\0", {"x": "\0"})),
        says("b", called("c1", "half \ud83d", {"\udc00": "half \ud83d"})),
    )
    found = query([path], "SELECT name, arguments FROM tool_calls ORDER BY position")
    (whole, first), (half, second) = found.rows
    assert (whole, json.loads(first)) == ("nul\0", {"x": "\0"})
    assert (half, json.loads(second)) == ("half \\ud83d", {"\\udc00": "half \\ud83d"})
    (finding,) = found.findings
    assert finding.rule == "not-as-it-is"
    assert finding.message.startswith("3 characters are half of a surrogate pair")


def test_large_numbers_are_kept_in_json_and_told_where_a_column_is_too_small(tmp_path: Path) -> None:
    entries = (
        says("a", {"role": "user", "content": "x", "n": 2**64 - 1, "f": 1.0}),
        says("b", called("c")),
    )
    huge = outcome_payload(ToolOutcome(status="failed", exit_code=2**63))
    path = log(tmp_path / "a.jsonl", *entries, details=(Detail(id="c", payload=huge),))
    with path.open("ab") as file:
        file.write(
            b'{"id":"z","timestamp":"2026-01-02T12:00:00Z","type":"message",'
            b'"message":{"role":"user","n":123456789012345678901234567890}}\n'
            b'{"id":"y","timestamp":"2026-01-02T12:00:00Z","type":"message",'
            b'"message":{"role":"user","e":1e400,"m":[-1e400],"z":null}}\n'
        )
    items = [value for (value,) in query([path], "SELECT item FROM messages ORDER BY position").rows]
    assert '"n":18446744073709551615' in items[0]
    assert '"f":1.0' in items[0]
    assert '"n":123456789012345678901234567890' in items[2]
    assert json.loads(items[3]) == {"role": "user", "e": 10**400, "m": [-(10**400)], "z": None}
    found = query([path], "SELECT exit_code, outcome->>'$.exitCode', status FROM tool_calls")
    assert found.rows == [(None, str(2**63), "failed")]
    (finding,) = found.findings
    assert (
        finding.message == "1 numbers are too large for their column: they stand as NULL"
        or "number" in finding.message
    )


@pytest.mark.parametrize("depth", [100, 118, 119, 120, 121, 126, 127, 128, 150, 190])
def test_values_that_nest_deep_are_held_or_cut_short_and_told(depth: int, tmp_path: Path) -> None:
    value: Any = "core"
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    path = log(tmp_path / "a.jsonl", says("a", {"role": "user", "content": "x", "deep": value}))
    found = query([path], "SELECT item FROM messages")
    text = found.rows[0][0]
    assert ("core" in text) == (not found.findings)
    assert ("…" in text) == bool(found.findings)
    assert bool(found.findings) == (depth + 1 > 120)


def test_a_line_longer_than_the_engine_takes_by_itself_is_taken(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c")), says("o", gave("c", "x" * 40_000_000)))
    assert one(path, "SELECT length(output) FROM tool_calls") == 40_000_000


@settings(max_examples=30)
@given(st.lists(st.tuples(st.text(), st.text()), max_size=6))
def test_texts_come_back_as_they_were(texts: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        entries = [
            says(f"e{n}", called(f"c{n}", name or "x", {"v": value}))
            for n, (name, value) in enumerate([*texts, ("", "")])
        ]
        store = JsonlStore(path, durability="os", header=new_header(id="s"))
        store.append(*entries)
        found = query([path], "SELECT name, arguments->>'$.v' FROM tool_calls ORDER BY position")
        assert found.rows == [(name or "x", value) for name, value in [*texts, ("", "")]]
        assert found.findings == ()


# ------------------------------------------------------------------------- what is loaded


def test_the_engine_is_loaded_when_a_question_is_asked_and_not_before() -> None:
    code = (
        "import sys, transcript_log, transcript_log.sql, transcript_log.sql.asking\n"
        "print(sorted({'duckdb', 'click'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(NoDuckDBError, match=r"transcript-log\[sql\]"):
        query([tmp_path], "FROM sessions")


def test_a_status_is_told_of_every_call() -> None:
    base = {"entry": "e", "time": None, "turn": 0, "call_id": "c", "name": "n", "arguments": None}
    assert call_status(HostedCall(**base, is_error=True)) == "failed"
    assert call_status(Called(**base, kind="function", answered=True, stand_in=True)) == "stand-in"


def test_the_page_has_the_columns_of_every_view_as_the_code_has_them() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "sql.md").read_text(encoding="utf-8")
    for view in VIEWS.values():
        rows = [f"| `{column.name}` | {column.type} | {column.about} |" for column in view.columns]
        head = [f"### `{view.name}`", "", view.about, "", "| column | type | |", "| --- | --- | --- |"]
        assert "\n".join([*head, *rows, ""]) in page


def test_an_error_while_rows_come_is_an_error_of_the_query(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c", "sh")))
    late = "SELECT CASE WHEN range = 900000 THEN (SELECT name FROM tool_calls)::INT END FROM range(1000000)"
    unread = (
        "SELECT CASE WHEN range = 900000 THEN error('a column was not read')::INT END FROM range(1000000)"
    )
    for sql in (late, unread):
        with pytest.raises(QueryError):
            query([path], sql)
