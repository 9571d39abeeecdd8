"""A question to many sessions, against DuckDB reading the same lines of JSON itself."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import logs
from timing import Case, Goal, Report, Setting, Table, ratio, rounds

__all__ = ["measure"]

QUESTION = """
    SELECT name, count(*) AS calls, count(*) FILTER (failed) AS failed,
           count(*) FILTER (status = 'unanswered') AS unanswered
    FROM tool_calls GROUP BY name ORDER BY name"""

_FOLLOWED = """
    , calls AS (
        SELECT filename, {call} AS id, {name} AS name FROM lines WHERE {type} = 'function_call'
        UNION ALL
        SELECT filename, block->>'id', block->>'name'
        FROM (SELECT filename, unnest({blocks}) AS block FROM lines WHERE {role} = 'assistant')
        WHERE block->>'type' = 'tool_use'),
    outputs AS (
        SELECT filename, {call} AS id, false AS is_error FROM lines WHERE {type} = 'function_call_output'
        UNION ALL
        SELECT filename, block->>'tool_use_id', block->>'is_error' = 'true'
        FROM (SELECT filename, unnest({blocks}) AS block FROM lines WHERE {role} = 'user')
        WHERE block->>'type' = 'tool_result')
    SELECT name, count(*), count(*) FILTER (is_error), count(*) FILTER (outputs.id IS NULL)
    FROM calls LEFT JOIN outputs USING (filename, id) GROUP BY name ORDER BY name"""
"""The same question to raw lines, as one would ask it who knows that there are these two shapes."""

# With one column alone, DuckDB 2.0 takes three times as long: hence the type of the entry, which nobody asks.
_AS_JSON = {
    "call": "message->>'call_id'",
    "name": "message->>'name'",
    "type": "message->>'type'",
    "role": "message->>'role'",
    "blocks": "message->'$.content[*]'",
}
_AS_COLUMNS = {
    "call": "message.call_id",
    "name": "message.name",
    "type": "message.type",
    "role": "message.role",
    "blocks": "message.content->'$[*]'",
}
_STRUCT = "STRUCT(type VARCHAR, role VARCHAR, call_id VARCHAR, name VARCHAR, content JSON)"

RAW = {
    "DuckDB, `read_ndjson_objects`": (
        "WITH lines AS MATERIALIZED (SELECT filename, json->'$.message' AS message"
        " FROM read_ndjson_objects({files}, filename = true))" + _FOLLOWED.format(**_AS_JSON)
    ),
    "DuckDB, `read_json`, items as JSON": (
        "WITH lines AS (SELECT filename, message FROM read_json({files}, filename = true,"
        " format = 'newline_delimited', columns = {{type: 'VARCHAR', message: 'JSON'}}))"
        + _FOLLOWED.format(**_AS_JSON)
    ),
    "DuckDB, `read_json`, the keys as columns": (
        "WITH lines AS (SELECT filename, message FROM read_json({files}, filename = true,"
        f" format = 'newline_delimited', columns = {{{{type: 'VARCHAR', message: '{_STRUCT}'}}}}))"
        + _FOLLOWED.format(**_AS_COLUMNS)
    ),
}
_LIMIT = "DuckDB, `read_json`, items as JSON"
_FASTEST = "DuckDB, `read_json`, the keys as columns"


def measure(setting: Setting) -> Report:
    try:
        import duckdb

        from transcript_log.sql import query
    except ImportError:
        return Report(missing=["duckdb is not installed: pip install 'transcript-log[sql]'"])
    count = 500 if setting.quick else 5_000
    folder = logs.sessions(setting.work, count)
    cores = len(os.sched_getaffinity(0))

    def raw(sql: str) -> Callable[[], Any]:
        def run() -> Any:
            with duckdb.connect() as db:
                files = f"'{os.path.join(folder, '*.jsonl')}'"
                return db.execute(sql.format(files=files)).fetchall()

        return run

    expected = raw(RAW[_FASTEST])()

    def is_right(rows: Any) -> bool:
        return [tuple(row) for row in rows] == expected and len(expected) == 3

    cases = {name: Case(raw(sql), is_right) for name, sql in RAW.items()}
    for processes in dict.fromkeys((1, cores)):
        cases[f"`sql.query`, {processes} process{'es' * (processes > 1)}"] = Case(
            lambda processes=processes: query([folder], QUESTION, processes=processes).rows, is_right
        )
    walls: dict[str, list[float]] = {name: [] for name in cases}
    timed = {name: Case(_noting(case.run, walls[name]), case.check) for name, case in cases.items()}
    seconds = rounds(timed, 3 if setting.quick else 5, _processor_time)
    walls = {name: taken[1:] for name, taken in walls.items()}  # the first round warms up
    table = Table(
        f"Tool calls by name, and how many failed, over {count:,} sessions in the page cache",
        ("case", "s", "× items as JSON", "CPU s", "× items as JSON", "× keys as columns"),
        note=f"DuckDB {duckdb.__version__} on {cores} cores. The raw queries pair calls and outputs by"
        " file and id, and know of no sidecar, stand-in or damage. CPU is that of all processes and threads.",
    )
    for name in cases:
        table.rows.append(
            (
                name,
                f"{statistics.median(walls[name]):.2f}",
                f"{ratio(walls, name, _LIMIT):.2f}",
                f"{statistics.median(seconds[name]):.2f}",
                f"{ratio(seconds, name, _LIMIT):.2f}",
                f"{ratio(seconds, name, _FASTEST):.2f}",
            )
        )
    last = list(cases)[-1]
    what = f"question to {count:,} sessions, of DuckDB over the same JSON"
    goals = [
        Goal(what, 2, ratio(walls, last, _LIMIT)),
        Goal("the same in CPU time", 2, ratio(seconds, last, _LIMIT)),
        Goal("the same in CPU time, of DuckDB with the keys as columns", 2, ratio(seconds, last, _FASTEST)),
    ]
    return Report([table], goals)


def _processor_time() -> float:
    """What this process took so far, and those that it started and that have ended."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


def _noting(run: Callable[[], Any], walls: list[float]) -> Callable[[], Any]:
    """The same, with the time on the clock noted beside."""

    def noted() -> Any:
        begin = time.perf_counter()
        try:
            return run()
        finally:
            walls.append(time.perf_counter() - begin)

    return noted
