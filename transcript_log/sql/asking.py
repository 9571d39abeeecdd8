"""Questions to sessions: from files and a query to an answer."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._logfile.files import telling
from ..findings import Finding
from .engine import Parameters, Running, UnreadError, loaded, plan_query, run_query
from .gathering import Gathered, Wanted, gather
from .reading import find_files
from .views import ALL_COLUMNS

__all__ = ["Answer", "Asked", "ask", "doubt_findings", "query", "rows_folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a query gave.

    Attributes:
        columns: The names of its columns, in order; one may stand twice.
        types: Their SQL types.
        rows: Its rows; a value is of the Python type that DuckDB gives for its SQL type.
        findings: What is wrong with the files that were read: their bytes, those that could not
            be read at all (rule ``unreadable``), and what no column can hold (``not-as-it-is``).
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    findings: tuple[Finding, ...]

    __hash__ = None  # type: ignore[assignment]  # rows are lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An answer whose rows are still to come; see :class:`Answer` for the rest."""

    running: Running
    findings: tuple[Finding, ...]
    unreadable: int

    __hash__ = None  # type: ignore[assignment]  # rows come once


def query(
    paths: Iterable[str | os.PathLike[str]],
    sql: str,
    parameters: Parameters = None,
    *,
    processes: int = 1,
) -> Answer:
    """The answer of a query over the sessions in files and folders, of any mix of formats.

    The views are those of ``docs/sql.md``: ``sessions``, ``entries``, ``messages``, ``tool_calls``,
    ``usage``, ``runs`` and ``findings``. Only what the query needs of them is made. A file that is
    damaged is read round that, and one that cannot be read is left out; both are findings, and never
    an error. The query reaches no file, no network, and writes nothing.

    Args:
        paths: Files and folders; of a folder the session files in it, not below it.
        sql: One SELECT, in the dialect of DuckDB.
        parameters: What stands for ``?`` in it, or by name for ``$name``.
        processes: How many processes read the files. More than one are forked: ask for that in a
            program without threads.

    Raises:
        StorageError: A path is not there, or a folder cannot be read.
        QueryError: The query is refused, or fails.
        NoDuckDBError: The extra ``sql`` is not installed.
    """
    with ask(
        find_files([os.fspath(path) for path in paths]).paths, sql, parameters, processes=processes
    ) as asked:
        columns, types, rows = asked.running
        return Answer(columns=columns, types=types, rows=list(rows), findings=asked.findings)


@contextlib.contextmanager
def ask(
    files: Sequence[str], sql: str, parameters: Parameters = None, *, processes: int = 1
) -> Iterator[Asked]:
    """The same over session files, with rows that are fetched as they are asked for, inside the context."""
    wanted = plan_query(sql, parameters)
    with rows_folder() as folder, contextlib.ExitStack() as stack:
        try:
            asked = stack.enter_context(_answered(files, sql, parameters, wanted, folder, processes))
        except UnreadError:
            wanted = {name: ALL_COLUMNS[name] for name in wanted}
            asked = stack.enter_context(_answered(files, sql, parameters, wanted, folder, processes))
        yield asked


@contextlib.contextmanager
def rows_folder() -> Iterator[str]:
    """A folder for rows, of this user alone, which is gone afterwards."""
    place = tempfile.gettempdir()
    with telling(place, "make a folder for rows"):
        folder = tempfile.TemporaryDirectory(prefix="transcript-log-")
    with folder as name:
        yield name


@contextlib.contextmanager
def _answered(
    files: Sequence[str], sql: str, parameters: Parameters, wanted: Wanted, folder: str, processes: int
) -> Iterator[Asked]:
    gathered = gather(files, wanted, folder, processes=processes) if wanted else Gathered()
    with loaded(gathered, wanted, folder) as db:
        yield Asked(
            running=run_query(db, sql, parameters),
            findings=(*gathered.damage, *doubt_findings(gathered)),
            unreadable=gathered.unreadable,
        )


def doubt_findings(gathered: Gathered) -> list[Finding]:
    """What the columns could not hold as it was, as findings."""
    return [
        Finding(rule="not-as-it-is", severity="warning", message=f"{number} {doubt}")
        for doubt, number in gathered.doubts.items()
    ]
