"""Where a store has its connections from: of its own, one that was lent to it, or a pool.

What was handed in stays the caller's: it is never closed, and its settings are as they were
once a statement is done. A connection that this process inherited through a fork is never
used: two processes would write to one socket.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Hashable, Iterator
from typing import Any, Final, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import psycopg_pool

from .._urls import SessionUrl, is_url, without_passwords
from ..errors import StorageError
from ._arrays import register
from ._driver import conninfo as _conninfo
from ._driver import pq, psycopg, storage_error, tuple_row

__all__ = [
    "Connection",
    "Connections",
    "Cursor",
    "Where",
    "check_where",
    "connections_to",
    "cursor_of",
    "identity_of",
    "name_of",
    "read_committed",
]

Connection: TypeAlias = psycopg.Connection[Any]
Cursor: TypeAlias = psycopg.Cursor[tuple[Any, ...]]
Where: TypeAlias = "str | Connection | psycopg_pool.ConnectionPool[Any]"
"""How a database is named: a connection string or URL, a connection, or a pool of them."""

_IDLE: Final = 1
"""How many connections of its own a store keeps while it does nothing."""

_PATIENCE: Final = 10
"""How long a store tries to connect, in seconds, where the connection string does not say."""

_KNOWN: Final = "_transcript_log_known"

_INHERITED: Final[list[Connection]] = []
"""Connections of a parent process. To let one go would write to the parent's socket."""

_lent: Final[WeakKeyDictionary[Connection, threading.RLock]] = WeakKeyDictionary()
_registry: Final = threading.Lock()


def cursor_of(connection: Connection) -> Cursor:
    """The cursor on a connection with which stores work: rows as tuples, whatever the caller's are."""
    return _known_of(connection)[0]


def identity_of(connection: Connection) -> Hashable:
    """What is the same for connections of this process to one database by one name."""
    return _known_of(connection)[1]


def _known_of(connection: Connection) -> tuple[Cursor, Hashable]:
    # On the connection itself: the cursor holds that, and a table of both would keep it for ever.
    known: tuple[Cursor, Hashable] | None = vars(connection).get(_KNOWN)
    if known is None:
        cursor = psycopg.Cursor(connection, row_factory=tuple_row)
        register(cursor.adapters)
        info = connection.info
        known = (cursor, (info.host, info.port, info.dbname))
        vars(connection)[_KNOWN] = known
    return known


def name_of(where: Where) -> str:
    """What a database is called: as it was named, without a password."""
    if isinstance(where, str):
        if is_url(where):
            return str(SessionUrl(SessionUrl(where).conninfo))
        try:
            parts = _conninfo.conninfo_to_dict(where)
        except psycopg.Error:
            return "postgresql://"
        return _url(parts)
    if isinstance(where, psycopg.Connection):
        info = where.info
        try:
            return _url({"user": info.user, "host": info.host, "port": info.port, "dbname": info.dbname})
        except psycopg.Error:
            return "postgresql://"
    given = where.conninfo
    return name_of(given) if isinstance(given, str) else "postgresql://"


def _url(parts: dict[str, Any]) -> str:
    user = f"{parts['user']}@" if parts.get("user") else ""
    host = str(parts.get("host") or "")
    port = f":{parts['port']}" if parts.get("port") else ""
    if host.startswith("/"):
        return without_passwords(
            f"postgresql://{user}/{parts.get('dbname') or ''}?host={host}{port and '&port='}{port[1:]}"
        )
    return without_passwords(f"postgresql://{user}{host}{port}/{parts.get('dbname') or ''}")


class Connections(Protocol):
    """Where connections come from. All methods may be called by any thread.

    Attributes:
        path: What errors call the database.
        renews: Whether another connection can be had in the place of a lost one.
    """

    path: str
    renews: bool

    def take(self, doing: str, *, writing: bool = False) -> Connection:
        """A connection for one thing to be done, in autocommit.

        Raises:
            StorageError: There is none to be had.
        """
        ...

    def give(self, connection: Connection, *, lost: bool = False) -> None:
        """It is done."""
        ...

    def hold(self, doing: str) -> Connection | None:
        """A connection for as long as it takes; None where there is but the one that was lent."""
        ...

    def let_go(self, connection: Connection, *, lost: bool = False) -> None:
        """What :meth:`hold` gave is not needed any more."""
        ...

    def close(self) -> None:
        """Close what was opened here; a later use opens it again."""
        ...


def check_where(where: object) -> None:
    """Raise TypeError for what names no database, such as an asynchronous connection."""
    if not isinstance(where, str | psycopg.Connection | psycopg_pool.ConnectionPool):
        raise TypeError(
            "a database is named by a connection string, a psycopg.Connection or a"
            f" psycopg_pool.ConnectionPool, not by a {type(where).__name__}"
        )


def connections_to(where: Where, path: str) -> Connections:
    """Where the connections to a database come from."""
    if isinstance(where, str):
        return _Own(
            where.conninfo
            if isinstance(where, SessionUrl)
            else where.partition("#")[0]
            if is_url(where)
            else where,
            path,
        )
    if isinstance(where, psycopg.Connection):
        return _Lent(where, path)
    return _Pooled(where, path)


def _ours(pid: int, path: str, what: str) -> None:
    if pid != os.getpid():
        reason = f"the {what} was handed in before this process was forked off"
        raise StorageError(path, "use the database", reason, None, "hand in one that this process opened")


def _say_autocommit(connection: Connection, value: bool) -> None:
    with contextlib.suppress(psycopg.Error):
        if connection.autocommit is not value:
            connection.autocommit = value


class _Own:
    """Connections that are opened when they are needed; one stays open for the next time."""

    renews = True

    def __init__(self, dsn: str, path: str) -> None:
        self.path = path
        self._dsn: Final = dsn
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._pid = os.getpid()

    def __del__(self) -> None:
        # A store need not be closed: what it leaves open is closed with it.
        if hasattr(self, "_pid"):
            self.close()

    def _in_child(self) -> None:
        if self._pid != os.getpid():
            _INHERITED.extend(self._idle)
            self._lock = threading.Lock()
            self._idle = []
            self._pid = os.getpid()

    def take(self, doing: str, *, writing: bool = False) -> Connection:  # noqa: ARG002 - as all have it
        self._in_child()
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._open(doing)
            if not _has_ended(connection):
                return connection
            _close(connection)

    def give(self, connection: Connection, *, lost: bool = False) -> None:
        if not lost and not connection.closed:
            with self._lock:
                if len(self._idle) < _IDLE:
                    self._idle.append(connection)
                    return
        _close(connection)

    def hold(self, doing: str) -> Connection:
        self._in_child()
        return self._open(doing)

    def let_go(self, connection: Connection, *, lost: bool = False) -> None:  # noqa: ARG002
        _close(connection)

    def close(self) -> None:
        self._in_child()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            _close(connection)

    def _open(self, doing: str) -> Connection:
        try:
            given = _conninfo.conninfo_to_dict(self._dsn)
            more: dict[str, Any] = {"fallback_application_name": _who()}
            if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
                more["connect_timeout"] = _PATIENCE
            connection = psycopg.connect(self._dsn, autocommit=True, **more)
        except psycopg.ProgrammingError as error:
            # Its text, and that of its cause, quote a string that holds a password.
            raise storage_error(self.path, doing, error) from None
        except psycopg.Error as error:
            raise storage_error(self.path, doing, error, "see that the server runs and lets you in") from None
        try:
            connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED")
            if connection.info.encoding != "utf-8":
                connection.execute("SET client_encoding TO 'UTF8'")
        except psycopg.Error as error:
            _close(connection)
            raise storage_error(self.path, doing, error) from error
        return connection


class _Lent:
    """One connection of the caller's, which others may use in between."""

    renews = False

    def __init__(self, connection: Connection, path: str) -> None:
        self.path = path
        self._connection: Final = connection
        self._pid: Final = os.getpid()
        with _registry:
            self._lock = _lent.setdefault(connection, threading.RLock())
        self._was: list[bool] = []

    def take(self, doing: str, *, writing: bool = False) -> Connection:
        _ours(self._pid, self.path, "connection")
        connection = self._connection
        self._lock.acquire()
        try:
            if connection.closed:
                advice = "open it again, and make the store anew"
                raise StorageError(self.path, doing, "the connection is closed", None, advice)
            _check_encoding(connection, self.path)
            is_idle = connection.info.transaction_status == pq.TransactionStatus.IDLE
            if writing and not is_idle:
                reason = "the connection that was handed in is inside a transaction"
                advice = "end it first: what is written would not be kept before that"
                raise StorageError(self.path, doing, reason, None, advice)
            self._was.append(connection.autocommit)
            if is_idle:
                _say_autocommit(connection, True)
        except BaseException:
            self._lock.release()
            raise
        return connection

    def give(self, connection: Connection, *, lost: bool = False) -> None:  # noqa: ARG002
        try:
            was = self._was.pop()
            if not connection.closed and connection.info.transaction_status == pq.TransactionStatus.IDLE:
                _say_autocommit(connection, was)
        finally:
            self._lock.release()

    def hold(self, doing: str) -> None:  # noqa: ARG002
        return None

    def let_go(self, connection: Connection, *, lost: bool = False) -> None:
        pass

    def close(self) -> None:
        pass


class _Pooled:
    """A pool of the caller's."""

    renews = True

    def __init__(self, pool: psycopg_pool.ConnectionPool[Any], path: str) -> None:
        self.path = path
        self._pool: Final = pool
        self._pid: Final = os.getpid()
        self._was: dict[int, bool] = {}

    def take(self, doing: str, *, writing: bool = False) -> Connection:  # noqa: ARG002
        _ours(self._pid, self.path, "pool")
        for _ in range(self._pool.max_size + 1):
            try:
                connection: Connection = self._pool.getconn()
            except psycopg_pool.PoolTimeout as error:
                reason = f"no connection of the pool was free in {self._pool.timeout:g} seconds"
                raise StorageError(
                    self.path, doing, reason, None, "see that the server runs, or make the pool larger"
                ) from error
            except psycopg.Error as error:
                raise storage_error(self.path, doing, error) from error
            if not _has_ended(connection):
                break
            _close(connection)  # the pool opens another in its place
            self._pool.putconn(connection)
        try:
            _check_encoding(connection, self.path)
        except BaseException:
            self._pool.putconn(connection)
            raise
        self._was[id(connection)] = connection.autocommit
        _say_autocommit(connection, True)
        return connection

    def give(self, connection: Connection, *, lost: bool = False) -> None:
        was = self._was.pop(id(connection))
        if lost:
            _close(connection)
        else:
            _say_autocommit(connection, was)
        with contextlib.suppress(psycopg.Error):
            self._pool.putconn(connection)

    def hold(self, doing: str) -> Connection:
        return self.take(doing)

    def let_go(self, connection: Connection, *, lost: bool = False) -> None:
        self.give(connection, lost=lost)

    def close(self) -> None:
        pass


def _check_encoding(connection: Connection, path: str) -> None:
    if connection.info.encoding != "utf-8":
        reason = f"the connection speaks {connection.info.encoding}, and a log is in UTF-8"
        raise StorageError(path, "use the database", reason, None, "set its client_encoding to UTF8")


def _who() -> str:
    """What the server calls a connection of ours: who finds a session in use is told so."""
    return f"transcript-log {os.getpid()}@{socket.gethostname()}"[:63]


def _has_ended(connection: Connection) -> bool:
    """Whether an idle connection was closed by the server, as far as that can be seen at no cost.

    The server has nothing to say to one that asked nothing, but that it is over.
    """
    if connection.closed:
        return True
    poll = select.poll()
    try:
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, psycopg.Error):
        return True


def _close(connection: Connection) -> None:
    with contextlib.suppress(psycopg.Error, OSError):
        connection.close()


@contextlib.contextmanager
def read_committed(connection: Connection) -> Iterator[None]:
    """A transaction in which each statement sees what was committed before it, whatever the setting."""
    was = connection.isolation_level
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    try:
        with connection.transaction():
            yield
    finally:
        if not connection.closed:
            connection.isolation_level = was
