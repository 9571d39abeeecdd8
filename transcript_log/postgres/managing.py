"""What sessions a database holds, which of them may go, and the tables they stand in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..errors import TranscriptError
from ._access import Access
from ._connections import Cursor, Where, cursor_of, read_committed
from ._leases import busy_error, held_lease, this_process
from ._rows import lock_keys
from ._schema import SCHEMA, migrate

__all__ = ["Kept", "PrunePlan", "Pruned", "apply_prune", "list_sessions", "migrate_schema", "plan_prune"]

_PIECE: Final = 4096
"""How much of a line is read to tell what a session is about, in characters."""

_FIRST: Final = 4
"""Of how many entries."""

_LISTED: Final = """
SELECT s.id, s.last_seq, s.details_seq, s.size, s.created_at, s.changed_at{ends}
FROM {schema}.sessions s ORDER BY s.changed_at DESC, s.id LIMIT %(limit)s
"""

_ENDS: Final = """,
    convert_to(left(s.header, %(piece)s), 'UTF8'),
    ARRAY(SELECT convert_to(left(e.line, %(piece)s), 'UTF8') FROM {schema}.entries e
        WHERE e.session = s.key AND e.seq <= %(first)s ORDER BY e.seq),
    (SELECT convert_to(right(e.line, %(piece)s), 'UTF8') FROM {schema}.entries e
        WHERE e.session = s.key AND e.seq = s.last_seq)
"""


class Kept(NamedTuple):
    """A session that a database holds, as far as its row tells.

    Attributes:
        id: The session.
        entries: How many entries it has.
        details: How many records of details.
        size: How long it would be as a file, in bytes.
        created: When it was made; UTC.
        changed: When something was last added; UTC.
        head: The beginnings of its first lines, as a file would have them; empty if not asked for.
        tail: The end of its last line, the same.
    """

    id: str
    entries: int
    details: int
    size: int
    created: datetime
    changed: datetime
    head: bytes = b""
    tail: bytes = b""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """Which sessions would be deleted, and how many stay.

    Attributes:
        sessions: Those that would go, the oldest change first.
        stay: How many would stay.
    """

    sessions: tuple[Kept, ...]
    stay: int


class Pruned(NamedTuple):
    """What became of a session of a plan: deleted, or why not."""

    session: Kept
    deleted: bool
    reason: str = ""


def list_sessions(
    where: Where, *, schema: str = SCHEMA, limit: int | None = None, ends: bool = False
) -> list[Kept]:
    """The sessions of a database, newest change first; none where there are no tables.

    Args:
        where: The database; see :class:`PostgresStore`.
        schema: The schema of the tables.
        limit: How many at most.
        ends: Whether the first lines and the last one are read too, a few KB of each session.

    Raises:
        StorageError: The database refused, or cannot be reached.
    """
    access = Access(where, schema)
    try:
        return access.ask("list the sessions", lambda cursor: _listed(access, cursor, limit, ends=ends), [])
    finally:
        access.connections.close()


def _listed(access: Access, cursor: Cursor, limit: int | None, *, ends: bool) -> list[Kept]:
    sql = access.sql(_LISTED.replace("{ends}", _ENDS if ends else ""))
    cursor.execute(sql, {"limit": limit, "piece": _PIECE, "first": _FIRST}, binary=True)
    return [_kept(row) for row in cursor.fetchall()]


def _kept(row: tuple[Any, ...]) -> Kept:
    if len(row) == 6:
        return Kept(*row)
    head = b"".join(line + b"\n" for line in (row[6] or b"", *row[7]) if line)
    tail = b"" if row[8] is None else b"\n" + row[8] + b"\n"
    return Kept(*row[:6])._replace(head=head, tail=tail)


def plan_prune(where: Where, *, before: datetime, keep: int = 0, schema: str = SCHEMA) -> PrunePlan:
    """Which sessions did not change since a moment. Nothing is deleted.

    Args:
        where: The database.
        before: Sessions whose last change is older than this go.
        keep: How many stay in any case: those that changed last.
        schema: The schema of the tables.
    """
    sessions = list_sessions(where, schema=schema)
    old = [session for session in sessions[keep:] if session.changed < before]
    return PrunePlan(tuple(reversed(old)), len(sessions) - len(old))


def apply_prune(where: Where, plan: PrunePlan, *, schema: str = SCHEMA) -> Iterator[Pruned]:
    """Delete the sessions of a plan, one after another, each with its entries and details at once.

    One that somebody is writing to stays, and so does one that has changed since the plan.

    Raises:
        StorageError: The database refused, or cannot be reached. What was told is done.
    """
    access = Access(where, schema)
    try:
        for session in plan.sessions:
            yield access.tell("delete the session", lambda cursor, one=session: _deleted(access, cursor, one))  # type: ignore[misc]
    finally:
        access.connections.close()


def _deleted(access: Access, cursor: Cursor, session: Kept) -> Pruned:
    key, _ = lock_keys(access.schema, session.id)
    there = held_lease(cursor.connection, key)
    if there is not None:
        return Pruned(session, False, _why(this_process("", there)))
    with read_committed(cursor.connection):
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", (key,))
        row = cursor.fetchone()
        if not (row and row[0]):
            return Pruned(session, False, _why(busy_error(cursor, "", key)))
        cursor.execute(
            access.sql("DELETE FROM {schema}.sessions WHERE id = %s AND changed_at = %s RETURNING key"),
            (session.id, session.changed),
        )
        row = cursor.fetchone()
        if row is not None:
            for table in ("entries", "details"):
                cursor.execute(access.sql(f"DELETE FROM {{schema}}.{table} WHERE session = %s"), row)  # noqa: S608
            return Pruned(session, True)
    return Pruned(session, False, "it was changed or deleted since")


def _why(error: TranscriptError) -> str:
    return str(error).removeprefix(": ")


def migrate_schema(where: Where, *, schema: str = SCHEMA) -> tuple[int | None, int]:
    """Make the tables, or bring them to the newest version.

    Returns:
        The version before, None where there were no tables, and the version now.

    Raises:
        StorageError: They are of a newer version than is understood; or the database refused.
    """
    access = Access(where, schema)
    connection = access.connections.take("make the tables", writing=True)
    try:
        with access.telling("make the tables"):
            return migrate(connection, cursor_of(connection), schema, access.path)
    finally:
        access.connections.give(connection)
        access.connections.close()
