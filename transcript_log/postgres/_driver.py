"""The driver, which is an extra, and its errors in our words."""

from __future__ import annotations

from typing import Final

from .._urls import without_passwords
from ..errors import StorageError, TranscriptError

try:
    import psycopg
    from psycopg import conninfo, pq
    from psycopg.rows import tuple_row
except ImportError as _error:
    _cause: ImportError | None = _error
else:
    _cause = None

__all__ = [
    "NoPostgresError",
    "conninfo",
    "is_lost",
    "milliseconds",
    "pq",
    "psycopg",
    "storage_error",
    "tuple_row",
]


class NoPostgresError(TranscriptError, ImportError):
    """A database was named, and the extra ``postgres`` is not installed."""

    def __str__(self) -> str:
        return (
            "sessions in PostgreSQL take an extra: pip install 'transcript-log[postgres]'"
            " (and 'psycopg[binary]', where libpq is not installed)"
        )


if _cause is not None:
    raise NoPostgresError from _cause

_ENDED: Final = frozenset({"57P01", "57P02", "57P03", "57P05"})
"""The server ended the connection: asked to, after a crash, not up yet, idle for too long."""


def is_lost(connection: psycopg.Connection[object], error: psycopg.Error) -> bool:
    """Whether an error is that the connection is gone, and not what the server said of a statement."""
    if connection.closed or connection.broken:
        return True
    state = error.sqlstate or ""
    return state in _ENDED or state.startswith("08")


def milliseconds(seconds: float) -> int:
    """A time to wait as a setting of the server takes it; for ever is 24 days."""
    return round(min(max(0.0, seconds * 1000), 2**31 - 1))


def storage_error(path: str, doing: str, error: psycopg.Error, advice: str = "") -> StorageError:
    """The error that tells of one of the driver's; it never holds a password."""
    told = error.diag.message_primary or str(error)
    first = next((line.strip() for line in told.splitlines() if line.strip()), type(error).__name__)
    if "connection option" in first or "connection info string" in first or "URI" in first:
        first = "the connection string cannot be read"  # what libpq quotes of it may be a password
    return StorageError(path, doing, without_passwords(first), None, advice or _advice(error))


def _advice(error: psycopg.Error) -> str:
    state = error.sqlstate or ""
    if state == "42501":
        return "grant the role what it needs"
    if state in ("42P01", "42883", "3F000"):
        return "run 'transcript-log migrate' on the database's URL"
    if state in ("53300", "53400"):
        return "share connections: hand in a pool"
    if state.startswith("53"):
        return "make room on the server"
    if state == "57014":
        return "a time limit of the server or the role cut it off"
    return ""
