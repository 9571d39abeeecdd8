"""Something asked of the database: on a connection that is had for it, and once more where that was lost."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Final, Protocol, TypeVar, cast

from .._urls import SessionUrl
from ..errors import StorageError
from ._connections import (
    Connection,
    Connections,
    Cursor,
    Where,
    check_where,
    connections_to,
    cursor_of,
    identity_of,
    name_of,
    read_committed,
)
from ._driver import is_lost, pq, psycopg, storage_error
from ._schema import LATEST, check_schema, check_version, migrate, version_of

__all__ = ["UNKNOWN", "UNKNOWN_ADVICE", "Access", "Lease"]

T = TypeVar("T")
D = TypeVar("D")

_ATTEMPTS: Final = 10
"""How often what met another's change under way is tried."""

UNKNOWN: Final = "the connection was lost; whether the batch is there is not known"
UNKNOWN_ADVICE: Final = "make the same call again: what is there is not written twice"


class Lease(Protocol):
    """What is known here of a lease: a connection that is there for one store alone."""

    connection: Connection
    alone: threading.RLock
    is_lost: bool

    @property
    def may_be_used(self) -> bool: ...


_ready: Final[set[tuple[Hashable, str]]] = set()
"""The schemas that this process found at the newest version."""


class Access:
    """A schema of a database, and how it is reached. Shared by the threads of one store.

    Args:
        where: The database.
        schema: The schema with the tables.
        migrate: Whether a schema that is older, or not there, is brought to the newest version first.
        session: For errors: of which session this is; empty for none.
    """

    def __init__(self, where: Where, schema: str, *, migrate: bool = True, session: str = "") -> None:
        self.schema: Final = check_schema(schema)
        check_where(where)
        name = name_of(where)
        self.path: Final = str(SessionUrl(name).of(session)) if session else name
        self.connections: Final[Connections] = connections_to(where, self.path)
        self._migrate: Final = migrate
        self.lease: Lease | None = None

    def sql(self, text: str) -> bytes:
        """A statement, with the tables named in full."""
        return text.replace("{schema}", f'"{self.schema}"').encode()

    def ask(self, doing: str, work: Callable[[Cursor], T], default: T) -> T:
        """What a statement that only reads gives; ``default`` where nothing was ever written.

        Raises:
            StorageError: The database refused, or cannot be reached.
        """
        lease = self.lease
        if lease is not None and lease.may_be_used:
            with lease.alone:
                try:
                    cursor = cursor_of(lease.connection)
                    return work(cursor) if self.is_ready(lease.connection, cursor, writing=False) else default
                except psycopg.Error as error:
                    if not is_lost(lease.connection, error):
                        raise storage_error(self.path, doing, error) from error
                    lease.is_lost = True
        return self._do(doing, work, default, writing=False)

    def tell(self, doing: str, work: Callable[[Cursor], T]) -> T:
        """What a statement that writes gives. It may be run twice: it must know what is there.

        Raises:
            StorageError: The same; its reason is :data:`UNKNOWN` where it may have been done.
        """
        return cast(T, self._do(doing, work, None, writing=True))  # writing makes the tables

    def _do(self, doing: str, work: Callable[[Cursor], T], default: D, *, writing: bool) -> T | D:
        unsure: psycopg.Error | None = None
        anew = False
        for attempt in range(_ATTEMPTS):
            try:
                connection = self.connections.take(doing, writing=writing)
            except StorageError:
                if unsure is None:
                    raise
                raise StorageError(self.path, doing, UNKNOWN, None, UNKNOWN_ADVICE) from unsure
            lost = False
            try:
                cursor = cursor_of(connection)
                if not self.is_ready(connection, cursor, writing=writing):
                    return default
                if not anew:
                    return work(cursor)
                with read_committed(connection):
                    return work(cursor)
            except psycopg.Error as error:
                lost = is_lost(connection, error)
                if lost and self.connections.renews and attempt == 0:
                    unsure = error if writing else None
                    continue
                if isinstance(error, _PASSING) and not lost and attempt < _ATTEMPTS - 1:
                    # Where the role sees one state of the database throughout, waiting for a lock
                    # does not help: what it waited for is not seen.
                    anew = connection.info.transaction_status == pq.TransactionStatus.IDLE
                    continue
                if isinstance(error, _NO_TABLES) and not lost and attempt == 0:
                    _ready.clear()  # they were dropped, or the database is another one of this name
                    continue
                if lost and writing:
                    raise StorageError(self.path, doing, UNKNOWN, None, UNKNOWN_ADVICE) from error
                raise storage_error(self.path, doing, error) from error
            except BaseException:
                lost = _is_busy(connection)
                raise
            finally:
                self.connections.give(connection, lost=lost)
        raise AssertionError("the last attempt raises")

    def is_ready(self, connection: Connection, cursor: Cursor, *, writing: bool) -> bool:
        """Whether the tables are there; writing makes them.

        Raises:
            StorageError: They are older and may not be changed, or newer than what is understood.
        """
        key = (identity_of(connection), self.schema)
        if key in _ready:
            return True
        found = version_of(cursor, self.schema)
        check_version(found, self.path)
        if found != LATEST:
            if found is None and not writing:
                return False
            if not self._migrate:
                reason = "its tables are not there" if found is None else f"its tables are of version {found}"
                advice = "run 'transcript-log migrate' on the database's URL"
                raise StorageError(self.path, "use the database", reason, None, advice)
            migrate(connection, cursor, self.schema, self.path)
        _ready.add(key)
        return True

    @contextlib.contextmanager
    def telling(self, doing: str) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        try:
            yield
        except psycopg.Error as error:
            raise storage_error(self.path, doing, error) from error


_PASSING: Final = (
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.UniqueViolation,  # of a number that was given out since this statement began
)
_NO_TABLES: Final = (
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedFunction,
)


def _is_busy(connection: Connection) -> bool:
    """Whether an error of another kind, such as an interrupt, left something under way."""
    with contextlib.suppress(psycopg.Error):
        return connection.info.transaction_status not in (0, 2, 3)
    return True
