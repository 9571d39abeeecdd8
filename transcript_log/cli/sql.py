"""``transcript-log sql``: questions to many sessions at once."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, islice
from math import isfinite
from typing import Any, Final

import click

from .. import _json
from .._plain import json_line
from .._times import format_time
from ..entries import Json
from ..places import AGENTS, Home, agent_homes
from ..sql.asking import ask
from ..sql.engine import Running, plan_query
from ..sql.errors import QueryError
from ..sql.reading import Files, find_files
from .output import counted, echo, echo_json, tell
from .parameters import SourceType
from .text import one_line, plain

__all__ = ["chosen_files", "processes_for", "sql_"]

_CELL: Final = 60
"""How many characters of a value a table shows."""

_AHEAD: Final = 1000
"""How many rows of a table decide how wide its columns are."""

_LARGE: Final = 16_000_000
"""From how many bytes on several processes read; below that, starting them takes longer."""


@click.command("sql")
@click.argument("query", metavar="QUERY")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=SourceType())
@click.option(
    "--agent",
    "agents",
    type=click.Choice([*AGENTS, "all"]),
    multiple=True,
    help="Also the sessions in the agent's own place, and below it.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values, with a line of names.")
@click.pass_context
def sql_(
    ctx: click.Context,
    query: str,
    paths: tuple[str, ...],
    agents: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
) -> None:
    """Ask a question in SQL of many sessions at once; needs transcript-log[sql].

    PATH is a session file of any known format, the beginning of a session's id, a folder: the
    session files in it, not below it; or the URL of a session in a database, or of a database:
    all sessions in it. The views are sessions, entries, messages, tool_calls,
    usage, runs and findings; 'DESCRIBE tool_calls' tells the columns of one. The SQL is that of
    DuckDB: one query, which writes nothing and reaches no other file and no network. Only what
    it needs is read. Times are in UTC.

    What is damaged is told on stderr, and the rest is asked. Exit status 1 if of some file
    nothing could be read. A table shows the first 60 characters of a value; --json and --csv
    have all of it. Characters that could act on a terminal come as escapes in all three.

    \b
    Example:
        transcript-log sql "SELECT name, count(*), avg(failed::INT) AS failure_rate
                            FROM tool_calls GROUP BY name ORDER BY 2 DESC" sessions/
        transcript-log sql "SELECT model, sum(total) FROM usage GROUP BY 1" --agent all
        transcript-log sql "FROM findings WHERE severity = 'error'" sessions/*.jsonl --json
    """
    if as_json and as_csv:
        raise click.UsageError("give one of --json and --csv")
    try:
        if not paths and not agents and plan_query(query):
            raise click.UsageError("name files or folders, or an agent by --agent")
        files = chosen_files(paths, _chosen_homes(agents))
        with ask(files.paths, query, processes=processes_for(files.paths)) as asked:
            tell(asked.findings)
            if as_json:
                _print_json(asked.running)
            elif as_csv:
                _print_csv(asked.running)
            else:
                _print_table(asked.running)
    except QueryError as error:
        raise click.UsageError(one_line(str(error))) from error
    if asked.unreadable:
        ctx.exit(1)


def _chosen_homes(agents: Sequence[str]) -> list[Home]:
    """The places of the agents that are named, of which one may be ``all``."""
    return agent_homes(os.environ, [name for name in AGENTS if name in agents or "all" in agents])


def chosen_files(paths: Sequence[str], homes: Sequence[Home]) -> Files:
    """The session files that are meant; what is passed over, and where there is none, is told."""
    files = find_files(paths, homes)
    for problem in files.problems:
        echo(one_line(str(problem)), err=True)
    if files.sidecars:
        echo(f"{counted(files.sidecars, 'sidecar')} passed over", err=True)
    for folder in files.empty:
        echo(one_line(f"{folder}: no session files"), err=True)
    if homes and not files.paths:
        echo("the agent has no sessions where it keeps them", err=True)
    return files


def processes_for(files: Sequence[str]) -> int:
    """How many processes are worth starting."""
    size = 0
    for path in files:
        try:
            size += os.stat(path).st_size
        except OSError:
            continue
        if size > _LARGE:
            return len(os.sched_getaffinity(0))
    return 1


# ------------------------------------------------------------------------------ printing


def _print_json(running: Running) -> None:
    names = _unique(running.columns)
    for row in running.rows:
        values = zip(names, row, running.types, strict=True)
        echo_json(
            {name: _decoded(value) if kind == "JSON" else _as_json(value) for name, value, kind in values}
        )


def _unique(names: Sequence[str]) -> list[str]:
    """The names, of which those that came before get a number."""
    found: dict[str, None] = {}
    for name in names:
        unique, number = name, 2
        while unique in found:
            unique, number = f"{name}_{number}", number + 1
        found[unique] = None
    return list(found)


def _decoded(value: Any) -> Json:
    """What a value of the type JSON stands for."""
    return None if value is None else _json.decode(value.encode("utf-8"))


def _as_json(value: Any) -> Json:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case timedelta():
            return value.total_seconds()
        case Decimal():
            number = float(value)
            return number if Decimal(repr(number)) == value else str(value)
        case dict():
            return {str(key): _as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [_as_json(item) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    """A value as text; NULL has none here."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case datetime():
            return format_time(value.replace(tzinfo=UTC) if value.tzinfo is None else value)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():g}"
        case bytes():
            return value.hex()
        case dict() | list() | tuple():
            return json_line(_as_json(value))
    return str(value)


def _print_csv(running: Running) -> None:
    def line(values: Sequence[str]) -> str:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerow(values)
        return buffer.getvalue()[:-1]

    echo(line([plain(name) for name in running.columns]))
    for row in running.rows:
        echo(line(["" if value is None else plain(_text(value)) for value in row]))


def _print_table(running: Running) -> None:
    right = [_is_number(kind) for kind in running.types]
    shortened = 0

    def cells(row: Sequence[Any]) -> list[str]:
        nonlocal shortened
        found = []
        for value in row:
            # Before it is made fit to be shown: an output may hold megabytes.
            text = "NULL" if value is None else f"{value:.10g}" if type(value) is float else _text(value)
            if len(text) > _CELL:
                text = f"{text[: _CELL - 2]} …"
                shortened += 1
            found.append(one_line(text))
        return found

    rows = (cells(row) for row in running.rows)
    head = [one_line(name) for name in running.columns]
    ahead = list(islice(rows, _AHEAD))
    widths = [max(len(row[place]) for row in (head, *ahead)) for place in range(len(head))]
    for row in chain([head], ahead, rows):
        padded = (
            f"{text:>{width}}" if is_right else f"{text:<{width}}"
            for text, width, is_right in zip(row, widths, right, strict=True)
        )
        echo("  ".join(padded).rstrip())
    if shortened:
        echo(f"{counted(shortened, 'value')} shortened; --json and --csv have them whole", err=True)


def _is_number(kind: str) -> bool:
    return kind.endswith("INT") or kind.startswith(("DECIMAL", "DOUBLE", "FLOAT", "INTEGER"))
