"""What a database acknowledged survives: a server that crashes, connections and processes that are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from postgres_driver import ConnectionPool, psycopg
from postgres_server import Server

from transcript_log import Session, StorageError, new_id, new_message
from transcript_log.entries import Detail, Entry
from transcript_log.errors import ConflictError, LogBusyError
from transcript_log.postgres import PostgresStore, _appending, _bulk, _connections, _leases

_IMPORTS = """
import sys
from transcript_log import new_message
from transcript_log.postgres import PostgresStore
"""
ROOT = Path(__file__).resolve().parent.parent.parent


def said(text: str, entry_id: str | None = None) -> Entry:
    return new_message({"role": "user", "content": text}, id_source=lambda: entry_id or new_id())


def ids_of(url: str, session: str = "s") -> list[str]:
    with PostgresStore(url, session) as store:
        return [entry.id for entry in store.load()]


@contextlib.contextmanager
def admin(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def end_all(url: str) -> int:
    """End every other connection to the database; how many there were."""
    with admin(url) as connection:
        row = connection.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
        assert row is not None
        return int(row[0])


class Killer(psycopg.Cursor[Any]):
    """A cursor that ends its own connection, seen from the server, before or after a chosen statement."""

    url = ""
    at = -1
    after = False
    count = 0

    def execute(self, *args: Any, **more: Any) -> Any:
        number, Killer.count = Killer.count, Killer.count + 1
        if number == Killer.at and not Killer.after:
            self.kill()
        result = super().execute(*args, **more)
        if number == Killer.at and Killer.after:
            self.kill()
            self.connection.close()  # what came back is taken for lost on the way
            raise psycopg.OperationalError("the connection was lost")
        return result

    def kill(self) -> None:
        pid = self.connection.info.backend_pid
        with admin(Killer.url) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


@pytest.fixture
def killer(postgres: str, monkeypatch: pytest.MonkeyPatch) -> type[Killer]:
    monkeypatch.setattr(_connections.psycopg, "Cursor", Killer)
    Killer.url, Killer.at, Killer.after, Killer.count = postgres, -1, False, 0
    return Killer


def acted(url: str, session: str) -> None:
    """Each thing that a store does with its connection."""
    entries = [said("one", "a"), said("two", "b"), said("three", "c")]
    with PostgresStore(url, session) as store:
        assert store.append(*entries[:2], after="") == "b"
        assert store.append(entries[2], details=[Detail(id="call", payload=1)]) == "c"
        assert store.append(entries[2]) == "c"
        assert [entry.id for entry in store.read()] == ["a", "b", "c"]
        assert [entry.id for entry in store.active()] == ["a", "b", "c"]
        assert store.details() == {("call", None): 1}
        assert store.version()[1] == 3
        assert store.append() == "c"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_connection_killed_at_any_statement_costs_nothing(
    postgres: str, killer: type[Killer], after: bool
) -> None:
    """A store of its own connections, or of a pool, goes on by itself: what is there is not written twice."""
    acted(postgres, "whole")
    statements = killer.count
    assert statements > 10
    for at in range(statements):
        killer.at, killer.after, killer.count = at, after, 0
        acted(postgres, f"{at}")
        killer.at = -1
        assert ids_of(postgres, f"{at}") == ["a", "b", "c"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_connection_that_was_lent_is_lost_and_the_same_call_again_tells(
    postgres: str, killer: type[Killer], after: bool
) -> None:
    first, entry = said("one", "a"), said("two", "b")
    with PostgresStore(postgres, "s") as other:
        other.append(first)
    with psycopg.connect(postgres) as lent:
        store = PostgresStore(lent, "s")
        assert store.append() == "a"
        killer.at, killer.after, killer.count = 0, after, 0
        with pytest.raises(StorageError, match="not known; make the same call again"):
            store.append(entry, after="a")
        killer.at = -1
        with pytest.raises(StorageError, match="the connection is closed"):
            store.append(entry, after="a")
    assert ids_of(postgres) == (["a", "b"] if after else ["a"])
    with PostgresStore(postgres, "s") as other:
        assert other.append(entry, after="a") == "b"
    assert ids_of(postgres) == ["a", "b"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_lease_lost_at_any_statement_is_never_a_fork_of_history(
    postgres: str, killer: type[Killer], after: bool
) -> None:
    for at in range(4):
        session = f"leased {at}"
        seen = []
        with PostgresStore(postgres, session) as store:
            store.append(said("one", "a"))
            with store.lease(0):
                killer.at, killer.after, killer.count = at, after, 0
                lost = None
                for number in range(6):
                    entry = said("x", f"e{number}")
                    try:
                        store.append(entry)
                    except ConflictError as error:
                        lost = error
                        break
                    seen.append(entry.id)
                killer.at = -1
                assert lost is not None
                assert lost.of == "lease"
                assert "lease was lost" in str(lost)
                with pytest.raises(ConflictError):
                    store.append(said("y", "late"))
                with PostgresStore(postgres, session) as other:
                    other.append(said("z", "other"))
                    with other.lease(0), pytest.raises(LogBusyError):
                        store.append(said("y", "late"))
            store.append(said("w", "again"))
        assert ids_of(postgres, session) == ["a", *seen, "other", "again"]


def test_a_batch_with_details_that_was_committed_unheard_under_a_lease_is_acknowledged(
    postgres: str, killer: type[Killer]
) -> None:
    details = [Detail(id="call", payload=1), Detail(id="call", payload=2)]
    with PostgresStore(postgres, "s") as store, store.lease(0):
        store.append(said("one", "a"))
        killer.at, killer.after, killer.count = 0, True, 0
        assert store.append(said("two", "b"), details=details) == "b"
        assert killer.count > 1
        with pytest.raises(ConflictError, match="lease was lost"):
            store.append(said("three", "c"), details=details)
    with PostgresStore(postgres, "s") as store:
        assert store.version()[1:] == (2, 2)
        assert store.details() == {("call", None): 2}


def test_a_lease_on_a_lent_connection_is_over_once_that_is_lost(postgres: str) -> None:
    with psycopg.connect(postgres) as lent:
        store = PostgresStore(lent, "s")
        with store.lease(0):
            store.append(said("one", "a"))
            assert end_all(postgres) == 1
            with pytest.raises(StorageError, match="not known"):
                store.append(said("two", "b"))
            with pytest.raises(ConflictError, match="lease was lost"):
                store.append(said("two", "b"))
    assert ids_of(postgres) == ["a"]


def test_a_server_that_crashes_while_many_write_loses_nothing_acknowledged(own_server: Server) -> None:
    server = own_server
    url = server.url()
    acknowledged: dict[str, list[str]] = {f"s{n}": [] for n in range(4)}
    stop = threading.Event()

    def write(session: str) -> None:
        with PostgresStore(url, session) as store:
            number = 0
            while not stop.is_set():
                batch = [said("x" * 500, f"{session}-{number}-{part}") for part in range(3)]
                while not stop.is_set():
                    try:
                        store.append(*batch)
                    except StorageError:
                        time.sleep(0.02)
                        continue
                    acknowledged[session] += [entry.id for entry in batch]
                    break
                number += 1

    with ThreadPoolExecutor(len(acknowledged)) as pool:
        writers = [pool.submit(write, session) for session in acknowledged]
        for _ in range(3):
            time.sleep(0.7)
            server.restart("immediate")
        time.sleep(0.7)
        stop.set()
        for writer in writers:
            writer.result()
    for session, ids in acknowledged.items():
        found = ids_of(url, session)
        assert len(found) % 3 == 0
        assert len(set(found)) == len(found)
        assert found[: len(ids)] == ids
        assert len(found) - len(ids) in (0, 3)
        assert len(ids) > 3


def test_eight_processes_write_to_one_session(postgres: str) -> None:
    code = _IMPORTS + (
        "store = PostgresStore(sys.argv[1], 's', wait=60)\n"
        "for n in range(25):\n"
        "    batch = [new_message({'role': 'user', 'content': f'{sys.argv[2]} {n} {part}'})"
        " for part in range(2)]\n"
        "    store.append(*batch)\n"
        "store.close()\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, postgres, str(number)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for number in range(8)
    ]
    assert [process.wait(120) for process in started] == [0] * 8
    with PostgresStore(postgres, "s") as store:
        said_there = [entry.message["content"].split() for entry in store.load()]
    assert len(said_there) == 8 * 25 * 2
    for writer in range(8):
        mine = [(int(n), int(part)) for who, n, part in said_there if int(who) == writer]
        assert mine == [(n, part) for n in range(25) for part in range(2)]
    for first, second in zip(said_there[::2], said_there[1::2], strict=True):
        assert first[:2] == second[:2]


def test_a_client_killed_at_any_moment_leaves_whole_batches_and_no_lock(postgres: str) -> None:
    code = _IMPORTS + (
        "store = PostgresStore(sys.argv[1], 's')\n"
        "with store.lease(30):\n"
        "    print('ready', flush=True)\n"
        "    for n in range(10**6):\n"
        "        store.append(*[new_message({'role': 'user', 'content': str(n)}) for _ in range(3)])\n"
        "        print(n, flush=True)\n"
    )
    last = -1
    for turn in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", code, postgres],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.02 * turn)
        process.send_signal(signal.SIGKILL)
        told = [int(line) for line in process.stdout.read().split()]
        process.stdout.close()
        process.wait()
        with PostgresStore(postgres, "s", wait=30) as store:
            store.append(said(f"turn {turn}"))
            entries = [entry.message["content"] for entry in store.load()]
        mine = entries[last + 1 : -1]
        assert Counter(mine) == Counter({str(n): 3 for n in range(len(mine) // 3)})
        assert len(mine) // 3 - len(told) in (0, 1)
        last = len(entries) - 1


class Suicide(Killer):
    """A cursor that kills its own process before or after a chosen statement."""

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_client_killed_at_any_statement_leaves_whole_batches(
    postgres: str, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    entries = [said("one", "a"), said("two", "b"), said("three", "c")]

    def write(session: str) -> None:
        with PostgresStore(postgres, session) as store, store.lease(5):
            store.append(*entries[:2])
            store.append(entries[2], details=[Detail(id="call", payload=1)])

    monkeypatch.setattr(_connections.psycopg, "Cursor", Suicide)
    Killer.url, Killer.at, Killer.after = postgres, -1, after
    write("first")  # makes the tables
    Killer.count = 0
    write("whole")
    statements = Killer.count
    assert statements >= 4
    found = []
    for at in range(statements):
        Killer.at, Killer.count = at, 0
        child = os.fork()
        if child == 0:
            try:
                write(f"{at}")
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        Killer.at = -1
        found.append("".join(ids_of(postgres, f"{at}")))
        write(f"{at}")
        assert ids_of(postgres, f"{at}") == ["a", "b", "c"]
        with PostgresStore(postgres, f"{at}") as store:
            assert store.details() == {("call", None): 1}
    assert found == sorted(found)
    assert set(found) == {"", "ab", "abc"}


def test_a_hundred_sessions_at_once_over_a_small_pool(postgres: str) -> None:
    with ConnectionPool(postgres, min_size=2, max_size=8, timeout=60, open=True) as pool:

        def talk(number: int) -> None:
            session = Session(PostgresStore(pool, f"talk {number}"))
            for turn in range(3):
                session.add({"role": "user", "content": f"{number} {turn}"})
            session.close()

        with ThreadPoolExecutor(100) as threads:
            list(threads.map(talk, range(100)))
        for number in range(100):
            said_there = [entry.message["content"] for entry in PostgresStore(pool, f"talk {number}").load()]
            assert said_there == [f"{number} {turn}" for turn in range(3)]


def test_a_pool_without_a_free_connection_is_told(postgres: str) -> None:
    with ConnectionPool(postgres, min_size=1, max_size=1, timeout=0.3, open=True) as pool:
        store = PostgresStore(pool, "s")
        store.append(said("one", "a"))
        with (
            pool.connection(),
            pytest.raises(
                StorageError, match=r"free in 0\.3 seconds; see that the server runs, or make the pool larger"
            ),
        ):
            store.append(said("two", "b"))
        assert store.append(said("two", "b")) == "b"


def test_a_pool_whose_connections_were_ended_goes_on(postgres: str) -> None:
    with ConnectionPool(postgres, min_size=3, max_size=3, open=True) as pool:
        pool.wait()
        store = PostgresStore(pool, "s")
        store.append(said("one", "a"))
        assert end_all(postgres) == 3
        assert store.append(said("two", "b"), after="a") == "b"
        assert ids_of(postgres) == ["a", "b"]


def test_a_server_that_is_down_is_told_and_what_is_asked_later_is_done(own_server: Server) -> None:
    server = own_server
    with PostgresStore(server.url(), "s") as store:
        store.append(said("one", "a"))
        entry = said("two", "b")
        with store.lease(0):
            server.stop()
            with pytest.raises(StorageError, match="not known"):
                store.append(entry, after="a")
            server.start()
            with pytest.raises(ConflictError, match="lease was lost"):
                store.append(entry, after="a")
        assert store.append(entry, after="a") == "b"
        server.stop()
        with pytest.raises(StorageError, match="see that the server runs"):
            store.load()
        server.start()
        assert [one.id for one in store.load()] == ["a", "b"]


@pytest.mark.parametrize("rival", [False, True])
def test_a_session_whose_making_was_committed_unheard_is_made(
    postgres: str, monkeypatch: pytest.MonkeyPatch, rival: bool
) -> None:
    put = _bulk._put
    calls = 0

    def unheard(access: Any, cursor: Any, *rest: Any) -> bool:
        nonlocal calls
        calls += 1
        made = put(access, cursor, *rest)
        if calls == 1:
            cursor.execute("ROLLBACK" if rival else "COMMIT")
            end_all(postgres)
            if rival:
                with PostgresStore(postgres, "s") as other:
                    other.append(said("theirs", "b"))
        return made

    monkeypatch.setattr(_bulk, "_put", unheard)
    with PostgresStore(postgres, "s") as store:
        entry, detail = said("ours", "a"), Detail(id="c", payload={"a": 1})
        if rival:
            with pytest.raises(StorageError, match="there is one already"):
                store.create([entry], [detail])
        else:
            store.create([entry], [detail])
            assert store.details() == {("c", None): {"a": 1}}
        assert calls == 2
        assert [one.id for one in store.load()] == ["b" if rival else "a"]


@pytest.mark.parametrize("kind", ["url", "pool", "connection"])
def test_an_interrupt_while_a_lease_is_taken_leaves_no_lock(
    postgres: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    take = _leases._lock

    def interrupted(*args: Any) -> None:
        take(*args)
        raise KeyboardInterrupt

    with contextlib.ExitStack() as stack:
        where: Any = postgres
        if kind == "pool":
            where = stack.enter_context(ConnectionPool(postgres, min_size=1, max_size=1))
        elif kind == "connection":
            where = stack.enter_context(psycopg.connect(postgres))
        with monkeypatch.context() as patch:
            patch.setattr(_leases, "_lock", interrupted)
            with pytest.raises(KeyboardInterrupt), PostgresStore(where, "s").lease():
                pass
        other = stack.enter_context(PostgresStore(postgres, "s", wait=2))
        other.append(new_message({"role": "user", "content": "free"}))
        with PostgresStore(where, "s").lease(2):
            pass


def test_an_interrupt_in_the_middle_of_a_batch_leaves_the_connection_in_order(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call: Callable[..., Any] = _appending.Appending.call

    def interrupted(*args: Any, **more: Any) -> Any:
        call(*args, **more)
        raise KeyboardInterrupt

    with PostgresStore(postgres, "s") as store:
        with monkeypatch.context() as patch:
            patch.setattr(_appending.Appending, "call", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.append(said("one", "a"))
        assert store.append(said("two", "b")) == "b"
        assert [entry.id for entry in store.load()] == ["a", "b"]
