"""DuckDB, kept to the rows that were read: it is given no file, no network, and nothing to write to."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..entries import Json
from .errors import NoDuckDBError, QueryError
from .gathering import Gathered, Wanted
from .views import ALL_COLUMNS, VIEWS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "Parameters",
    "Running",
    "UnreadError",
    "copy_rows",
    "loaded",
    "plan_query",
    "require_engine",
    "run_query",
]

Parameters: TypeAlias = Sequence[object] | Mapping[str, object] | None
"""What stands for the ``?``, or the ``$name``, of a query."""

_QUIET: Final[dict[str, str | bool]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_ROWS: Final = "rows_of"
"""The schema in which the rows lie; the views are over these."""

_UNREAD: Final = "a column was not read"
"""What a view says in place of a column that no query was expected to need."""

_KINDS: Final = frozenset({"SELECT", "MULTI"})
"""The statements that are answered; a PIVOT is a multiple one."""


def _library() -> Any:
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise NoDuckDBError from error
    return duckdb


@contextlib.contextmanager
def _telling(duckdb: Any) -> Iterator[None]:
    """Turn the engine's errors into ours."""
    try:
        yield
    except duckdb.Error as error:
        kind = UnreadError if _UNREAD in str(error) else QueryError
        raise kind(_reason(error)) from error


def _reason(error: Exception) -> str:
    """The engine's sentence, without the lines that quote the query and point into it."""
    lines = str(error).split("\n\nLINE ")[0].split("\n")
    return " ".join(line.strip() for line in lines if line.strip())


def plan_query(query: str, parameters: Parameters = None) -> Wanted:
    """The columns that a query reads, by view. Nothing is read for that.

    The engine is asked how it would go about it with views that are empty, and without all
    optimizations but the one that leaves out columns.

    Raises:
        QueryError: It is not one query that only reads, or there is something in it that is not there.
        NoDuckDBError: The extra ``sql`` is not installed.
    """
    duckdb = _library()
    with _telling(duckdb), contextlib.closing(duckdb.connect(config={**_QUIET, "threads": 1})) as db:
        for view in VIEWS.values():
            columns = ", ".join(f"{column.name} {column.type}" for column in view.columns)
            db.execute(f"CREATE TABLE {view.name} ({columns})")
        names = [name for (name,) in db.execute("SELECT name FROM duckdb_optimizers()").fetchall()]
        others = ",".join(name for name in names if name != "unused_columns")
        db.execute(f"SET disabled_optimizers = '{others}'")
        _lock(db)
        statements = db.extract_statements(query)
        if len(statements) != 1:
            raise QueryError(f"there are {len(statements)} statements; give one query")
        kind = statements[0].type.name
        if kind not in _KINDS:
            raise QueryError(f"{kind} is refused: only queries are answered, and nothing is written")
        answer = db.execute(f"EXPLAIN (FORMAT json) {query}", parameters or None).fetchall()
        wanted = _wanted(json.loads(answer[-1][1]))
        # A PIVOT makes its columns of the values there are, which are none so far.
        return wanted if kind == "SELECT" else {name: ALL_COLUMNS[name] for name in wanted}


def _wanted(plans: Sequence[Json]) -> dict[str, list[str]]:
    wanted: dict[str, set[str]] = {}
    nodes = list(plans)
    for node in nodes:
        nodes.extend(node["children"])
        told = node.get("extra_info", {})
        name = str(told.get("Table", "")).rpartition(".")[2]
        if name in VIEWS:
            columns = told.get("Projections", [column.name for column in VIEWS[name].columns])
            wanted.setdefault(name, set()).update([columns] if isinstance(columns, str) else columns)
    return {
        name: [column.name for column in VIEWS[name].columns if column.name in columns]
        for name, columns in wanted.items()
    }


def _lock(db: DuckDBPyConnection) -> None:
    """From here on no file and no host is reached, and none of that can be changed."""
    # Otherwise the name of a variable of Python would do for a table.
    db.execute("SET python_enable_replacements = false")
    db.execute("SET TimeZone = 'UTC'")
    db.execute("SET enable_external_access = false")
    db.execute("SET lock_configuration = true")


@contextlib.contextmanager
def loaded(gathered: Gathered, wanted: Wanted, folder: str) -> Iterator[DuckDBPyConnection]:
    """A database in memory with all views, of which those that are wanted hold rows; locked.

    Args:
        gathered: The rows.
        wanted: The columns that they have.
        folder: Where rows go that take more memory than there should be used.
    """
    duckdb = _library()
    config = {**_QUIET, "temp_directory": folder, "memory_limit": _MEMORY, "preserve_insertion_order": False}
    with _telling(duckdb), contextlib.closing(duckdb.connect(config=config)) as db:
        db.execute(f"CREATE SCHEMA {_ROWS}")
        for view in VIEWS.values():
            there = frozenset(wanted.get(view.name, ()))
            rows = f"{_ROWS}.{view.name}"
            if view.name in wanted:
                source, given = _source(view.name, wanted, gathered)
                db.execute(f"CREATE TABLE {rows} AS {source}", given)
            else:
                db.execute(f"CREATE TABLE {rows} (nothing BOOLEAN)")
            columns = ", ".join(
                column.name if column.name in there else f"error('{_UNREAD}')::{column.type} AS {column.name}"
                for column in view.columns
            )
            db.execute(f"CREATE VIEW {view.name} AS SELECT {columns} FROM {rows}")  # noqa: S608 - names are ours
        _lock(db)
        yield db


_MEMORY: Final = "2GB"
"""How much memory the engine may use before it puts rows into the folder."""


def require_engine() -> None:
    """See that there is an engine, before time is spent.

    Raises:
        NoDuckDBError: The extra ``sql`` is not installed.
    """
    _library()


def copy_rows(gathered: Gathered, to: Mapping[str, str]) -> None:
    """Write the rows of views, with all their columns, to files of Parquet.

    Args:
        gathered: The rows.
        to: The file for each view. Its path is ours.
    """
    duckdb = _library()
    with (
        _telling(duckdb),
        contextlib.closing(duckdb.connect(config={**_QUIET, "memory_limit": _MEMORY})) as db,
    ):
        for name, path in to.items():
            source, given = _source(name, ALL_COLUMNS, gathered)
            quoted = path.replace("'", "''")
            db.execute(f"COPY ({source}) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)", given)


def _source(name: str, wanted: Wanted, gathered: Gathered) -> tuple[str, list[Any]]:
    """The SELECT that reads the rows of a view from the files that hold them, and its parameters."""
    types = {column.name: column.type for column in VIEWS[name].columns}
    chosen = {column: types[column] for column in wanted[name]} or {"nothing": "BOOLEAN"}
    parts = gathered.parts.get(name)
    if not parts:
        none = ", ".join(f"NULL::{kind} AS {column}" for column, kind in chosen.items())
        return f"SELECT {none} WHERE false", []
    columns = ", ".join(f"{column}: '{kind}'" for column, kind in chosen.items())
    size = max(1 << 24, gathered.longest + 1024)
    given = (
        f"format = 'newline_delimited', records = true, columns = {{{columns}}}, maximum_object_size = {size}"
    )
    return f"SELECT * FROM read_json(?, {given})", [parts]  # noqa: S608 - names are ours


class Running(NamedTuple):
    """An answer on its way: the names of its columns, their SQL types, and its rows as they come."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class UnreadError(QueryError):
    """A query needs a column that it was not expected to."""


def run_query(db: DuckDBPyConnection, query: str, parameters: Parameters = None) -> Running:
    """Begin to answer a query over views that are loaded.

    Raises:
        UnreadError: It needs a column that was not read.
        QueryError: The engine refuses it; also while rows come.
    """
    duckdb = _library()
    with _telling(duckdb):
        db.execute("BEGIN TRANSACTION READ ONLY")
        db.execute(query, parameters or None)
        described = list(db.description or ())
        first = db.fetchmany(_MANY)
    columns, types = (tuple(str(column[place]) for column in described) for place in (0, 1))
    return Running(columns, types, _rows(duckdb, db, first))


_MANY: Final = 1024
"""How many rows are fetched at once."""


def _rows(duckdb: Any, db: DuckDBPyConnection, first: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    rows = first
    while rows:
        yield from rows
        with _telling(duckdb):
            rows = db.fetchmany(_MANY)
