"""Sessions in PostgreSQL: what stands in the tables, and what a store makes of it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_driver import ConnectionPool, psycopg
from postgres_server import Server
from test_active import compacted, odd_logs, said

from transcript_log import CompactionEntry, Detail, JsonlStore, OpaqueEntry, new_header, new_message
from transcript_log.codec import encode_entry, encode_header
from transcript_log.copying import copy_session
from transcript_log.entries import Entry
from transcript_log.errors import (
    ConflictError,
    CorruptLogError,
    EntryNotFoundError,
    HeaderError,
    IdError,
    LogBusyError,
    SessionIdError,
    StorageError,
)
from transcript_log.memory import MemoryStore
from transcript_log.postgres import (
    PostgresStore,
    _pages,
    _schema,
    apply_prune,
    list_sessions,
    migrate_schema,
    plan_prune,
)

ROOT: Final = Path(__file__).resolve().parent.parent


@pytest.fixture
def admin(postgres: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture
def store(postgres: str) -> Iterator[PostgresStore]:
    with PostgresStore(postgres, "s") as made:
        yield made


def ids(entries: Any) -> list[str]:
    return [entry.id for entry in entries]


def rows_of(admin: psycopg.Connection[Any], sql: str) -> list[tuple[Any, ...]]:
    return admin.execute(sql.encode()).fetchall()


# ------------------------------------------------------------------------------- extra


@pytest.mark.parametrize("wait", [float("inf"), 1e9, 1e-9, 0, -1])
def test_any_time_to_wait_is_taken(postgres: str, wait: float) -> None:
    with PostgresStore(postgres, "s", wait=wait) as store, PostgresStore(postgres, "t", wait=wait) as other:
        other.create()
        first, second = (new_message({"role": "user", "content": text}) for text in ("one", "two"))
        store.append(first)
        assert store.append(second, after=first.id) == second.id


def test_nothing_else_loads_the_driver() -> None:
    code = (
        "import sys, transcript_log, transcript_log.cli, transcript_log.aio, transcript_log.stores,"
        " transcript_log.copying; assert not {'psycopg', 'psycopg_pool'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(
    "how",
    [
        "from transcript_log import Session; Session.open('postgresql://h/d#s')",
        "from transcript_log.postgres import PostgresStore",
        "from transcript_log.cli import main; main(['replay', 'postgresql://h/d#s'])",
        "from transcript_log.cli import main; main(['list', 'postgresql://h/d'])",
        "from transcript_log.cli import main; main(['migrate', 'postgresql://h/d'])",
    ],
)
def test_without_the_extra_it_is_named(how: str) -> None:
    code = f"import sys; sys.modules['psycopg'] = None; {how}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert "pip install 'transcript-log[postgres]'" in done.stderr
    assert ("Traceback" in done.stderr) == ("main" not in how)


def test_what_names_no_database_is_refused() -> None:
    with pytest.raises(TypeError, match="not by a int"):
        PostgresStore(3, "s")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is no schema name"):
        PostgresStore("postgresql://h/d", "s", schema='x"; DROP')


# ---------------------------------------------------------------------------- the rows


def test_a_row_holds_the_line_that_a_file_would_have(
    store: PostgresStore, admin: psycopg.Connection[Any], tmp_path: Path
) -> None:
    entries = [said("a"), said("b"), compacted("k", "gist", "b"), said("c")]
    file = JsonlStore(tmp_path / "s.jsonl")
    for one in (store, file):
        one.append(*entries[:2], after="", details=[Detail(id="call", payload={"x": 1}, entry="a")])
        one.append(entries[2])
        one.append(entries[3])
    lines = (tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()
    found = rows_of(
        admin, "SELECT seq, batch, id, type, boundary, kept, line FROM transcript_log.entries ORDER BY 1"
    )
    assert [row[:6] for row in found] == [
        (1, 1, "a", "message", None, None),
        (2, 1, "b", "message", None, None),
        (3, 3, "k", "compaction", 1, "b"),
        (4, 4, "c", "message", None, None),
    ]
    assert [row[6] for row in found] == lines[1:]
    assert found[0][6].startswith("\t{")
    records = (tmp_path / "s.details.jsonl").read_text(encoding="utf-8").splitlines()
    assert rows_of(admin, "SELECT call, entry, line FROM transcript_log.details") == [
        ("call", "a", records[0])
    ]
    (row,) = rows_of(admin, "SELECT id, last_seq, last_id, details_seq, size FROM transcript_log.sessions")
    size = (
        sum(len(line) + 1 for line in lines[1:])
        + rows_of(admin, "SELECT octet_length(header) + 1 FROM transcript_log.sessions")[0][0]
    )
    assert row == ("s", 4, "c", 1, size)
    scan = store.scan()
    assert scan.size == size
    assert scan.entries == tuple(entries)
    assert scan.findings == ()
    assert (scan.sealed, scan.unsealed, scan.lines) == (4, 0, 5)


@pytest.mark.parametrize(
    "session",
    [
        "it's",
        'a"b',
        "x; DROP TABLE sessions; --",
        "%s %(x)s {schema}",
        "../../etc/passwd",
        "a/b#c?d",
        "日本",
        "\t\n",
        "x" * 512,
    ],
)
def test_any_text_is_a_session_id(postgres: str, session: str) -> None:
    with PostgresStore(postgres, session) as store, PostgresStore(postgres, "other") as other:
        other.append(said("o"))
        store.append(said("a"))
        assert ids(store.load()) == ["a"]
        assert ids(other.load()) == ["o"]
        header = store.header()
        assert header is not None
        assert header.id == session
    assert [kept.id for kept in list_sessions(postgres)] == [session, "other"]


@pytest.mark.parametrize("session", ["", "a\0b", "\ud800", "x" * 513, None, b"bytes", "sha256:x"])
def test_what_no_table_can_hold_is_no_session_id(session: Any) -> None:
    with pytest.raises(SessionIdError, match="1 to 512 characters"):
        PostgresStore("postgresql://h/d", session)


@settings(max_examples=25)
@given(
    st.lists(
        st.one_of(
            st.text(min_size=1), st.sampled_from(["a\0b", "\ud800", "sha256:x", "x" * 4000, "'", "%s"])
        ),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
def test_any_entry_id_is_found_again(postgres_server: Server, names: list[str]) -> None:
    entries: list[Entry] = [
        OpaqueEntry(id=name, timestamp=said("x").timestamp, type=f"t{name}", data={}) for name in names
    ]
    details = [Detail(id=f"c{name}", payload=1, entry=name) for name in names]
    with PostgresStore(postgres_server.url(), f"ids {os.urandom(8).hex()}") as store:
        for entry in entries:
            assert store.append(entry) == entry.id
            assert store.append() == entry.id
        assert store.append(*entries, after="nowhere", details=details) == names[-1]
        with pytest.raises(ConflictError) as caught:
            store.append(said("new"), after="nowhere")
        assert caught.value.found == names[-1]
        assert ids(store.read(after=names[0])) == names[1:]
        assert store.details().keys() == {(f"c{name}", name) for name in names}
        assert store.scan().findings == ()


# ------------------------------------------------------------------------------- active


def line(entry: Entry) -> bytes:
    """An entry's JSON, also of a compaction as only others write it: with nothing in its place."""
    if not isinstance(entry, CompactionEntry):
        return encode_entry(entry)
    summary = entry.compaction.summary
    body = encode_entry(replace(entry, compaction=replace(entry.compaction, summary="@")))
    return body.replace(b'"summary":"@"', b'"summary":' + orjson.dumps(summary))


@settings(max_examples=60)
@given(odd_logs())
def test_active_is_that_of_a_store_in_memory(postgres_server: Server, log: list[Entry]) -> None:
    memory = MemoryStore()
    memory.write([("entry", entry.id, line(entry)) for entry in log])
    with PostgresStore(postgres_server.url(), f"active {os.urandom(8).hex()}") as store:
        header = encode_header(new_header())
        assert store.put_lines(header, lambda: ((line(entry), True) for entry in log), lambda: ())
        assert ids(store.active()) == ids(memory.active())
        assert store.load() == memory.load()


@pytest.mark.parametrize("analyzed", [False, True])
def test_active_looks_at_compactions_by_their_index_alone(
    store: PostgresStore, admin: psycopg.Connection[Any], analyzed: bool
) -> None:
    log: list[Entry] = [said(f"e{n}") for n in range(3000)]
    log.insert(20, compacted("k", "gist", "e15"))
    store.create(log)
    if analyzed:
        admin.execute("ANALYZE")
    sql = _pages._ACTIVE.replace("{schema}", "transcript_log")
    plan = "\n".join(row[0] for row in admin.execute(f"EXPLAIN {sql}".encode(), {"key": 1}).fetchall())
    assert plan.count("entries_boundaries") == 2
    assert "Seq Scan on entries" not in plan
    assert ids(store.active())[:7] == ["e15", "e16", "e17", "e18", "e19", "k", "e20"]


def test_pages_are_joined_without_a_seam(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[Entry] = [said(f"e{n}") for n in range(25)]
    store.append(*log, details=[Detail(id=f"c{n}", payload=n) for n in range(25)])
    for rows, size in ((1, 1 << 20), (7, 1 << 20), (25, 1 << 20), (1000, 1), (1000, 700)):
        monkeypatch.setattr(_pages, "_ROWS", rows)
        monkeypatch.setattr(_pages, "_BYTES", size)
        assert store.load() == log
        assert ids(store.read(after="e3")) == ids(log[4:])
        assert store.active() == log
        assert store.scan().entries == tuple(log)
        assert list(store.details()) == [(f"c{n}", None) for n in range(25)]
        assert list(next(store.follow(stop=lambda: True))) == log


# ------------------------------------------------------------------------------- damage


def damaged(store: PostgresStore, admin: psycopg.Connection[Any], sql: str) -> None:
    store.append(said("a"), said("b"), after="")
    store.append(said("c"), details=[Detail(id="call", payload="x")])
    admin.execute(sql.encode())


@pytest.mark.parametrize(
    ("sql", "line", "reason", "left"),
    [
        (
            "UPDATE entries SET line = replace(line, 'user', 'liar') WHERE seq = 2",
            3,
            "checksum does not match",
            "abc",
        ),
        ("UPDATE entries SET line = '{' WHERE seq = 2", 3, "JSON", "ac"),
        ("DELETE FROM entries WHERE seq = 2", 3, "a row is missing", "ac"),
        ("DELETE FROM entries WHERE seq = 3", 4, "rows are missing", "ab"),
        ("DELETE FROM entries WHERE seq < 3", 2, "2 rows are missing", "c"),
        ("UPDATE entries SET id = 'x' WHERE seq = 2", 3, "the row is of 'x'", "abc"),
    ],
)
def test_a_row_that_somebody_changed_is_told_and_read_round(
    store: PostgresStore,
    admin: psycopg.Connection[Any],
    tmp_path: Path,
    sql: str,
    line: int,
    reason: str,
    left: str,
) -> None:
    damaged(store, admin, f"SET search_path TO transcript_log; {sql}")
    with pytest.raises(CorruptLogError, match=reason) as caught:
        store.load()
    assert caught.value.line == line
    assert "transcript-log copy" in str(caught.value)
    scan = store.scan()
    assert ids(scan.entries) == [*left]
    assert scan.damaged >= 1
    assert {finding.line for finding in scan.findings} == {line}
    assert caught.value.offset == scan.findings[0].offset
    # In a file the line begins at that very byte.
    copy_session(store_url(store), tmp_path / "copy.jsonl")
    text = (tmp_path / "copy.jsonl").read_bytes()
    begun = text[: caught.value.offset]
    assert begun == b"" or begun.endswith(b"\n")
    assert begun.count(b"\n") == line - 1
    told: list[CorruptLogError] = []
    seen = [one for batch in store.follow(stop=lambda: True, on_damage=told.append) for one in ids(batch)]
    assert set(seen) <= {*left}
    assert bool(told) == ("rows are missing" not in reason or line == 2)


def store_url(store: PostgresStore) -> str:
    return store.path


@pytest.mark.parametrize(("column", "value"), [("boundary", "1"), ("kept", "'a'"), ("type", "'run'")])
def test_columns_that_say_something_else_are_told(
    store: PostgresStore, admin: psycopg.Connection[Any], column: str, value: str
) -> None:
    damaged(store, admin, f"UPDATE transcript_log.entries SET {column} = {value} WHERE seq = 2")
    (finding,) = store.scan().findings
    assert finding.severity == "error"
    assert f"the row's {column} is not what its line says" in finding.message
    assert (finding.line, finding.entry) == (3, "b")


def test_a_header_that_somebody_changed_is_told(store: PostgresStore, admin: psycopg.Connection[Any]) -> None:
    damaged(
        store, admin, "UPDATE transcript_log.sessions SET header = replace(header, 'transcript-log', 'x')"
    )
    with pytest.raises(HeaderError, match="checksum does not match the header"):
        store.load()
    assert [finding.rule for finding in store.scan().findings] == ["checksum"]
    admin.execute('UPDATE transcript_log.sessions SET header = \'{"type":"session","version":4}\'')
    with pytest.raises(HeaderError, match="format version 4"):
        store.scan()


def test_details_that_somebody_changed_are_told(store: PostgresStore, admin: psycopg.Connection[Any]) -> None:
    damaged(store, admin, "UPDATE transcript_log.details SET line = replace(line, 'x', 'y')")
    with pytest.raises(CorruptLogError, match="of the details: the checksum"):
        store.details()
    scan = store.scan()
    assert [finding.rule for finding in scan.findings] == ["checksum"]
    assert scan.damaged == 0


def test_a_session_that_goes_while_it_is_read_is_told(
    store: PostgresStore, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pages, "_ROWS", 1)
    store.append(said("a"), said("b"), after="")
    reading = store.read()
    next(reading)
    admin.execute("DELETE FROM transcript_log.entries")
    admin.execute("DELETE FROM transcript_log.sessions")
    with pytest.raises(StorageError, match="deleted while it was being read"):
        next(reading)


# ------------------------------------------------------------------------- appending


def test_a_batch_that_is_there_in_part_is_completed(store: PostgresStore) -> None:
    store.append(said("a"))
    assert store.append(said("a"), said("b"), said("c")) == "c"
    assert ids(store.load()) == ["a", "b", "c"]
    assert store.scan().findings == ()
    with pytest.raises(IdError):
        store.append(compacted("b", "other"))


def test_versions_tell_what_has_changed(store: PostgresStore, postgres: str) -> None:
    none = store.version()
    store.append(said("a"))
    first = store.version()
    store.append(details=[Detail(id="c", payload=1)])
    second = store.version()
    store.append(said("b"))
    third = store.version()
    assert none[0] is None
    assert first[0] == second[0] == third[0]
    assert first[1] == second[1] != third[1]
    assert first[2] != second[2] == third[2]
    (gone,) = apply_prune(postgres, plan_prune(postgres, before=datetime.now(UTC) + timedelta(days=1)))
    assert gone.deleted
    store.append(said("a"))
    assert store.version()[0] not in (None, first[0])


def test_an_append_is_on_disk_whatever_the_role_says(postgres: str) -> None:
    with psycopg.connect(f"{postgres}&options=-csynchronous_commit%3Doff", autocommit=True) as connection:
        store = PostgresStore(connection, "s")
        store.append(said("a"))
        flushed = 0
        for number in range(20):
            store.append(said(f"e{number}"))
            (row,) = connection.execute(
                "SELECT pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn(),"
                " current_setting('synchronous_commit')"
            ).fetchall()
            assert row[1] == "off"
            flushed += row[0]
        assert flushed >= 15  # the server writes things of its own in between


def test_a_connection_inside_a_transaction_is_read_on_and_not_written_on(postgres: str) -> None:
    with psycopg.connect(postgres) as lent:
        store = PostgresStore(lent, "s")
        store.append(said("a"))
        with lent.transaction():
            lent.execute("SELECT 1")
            assert ids(store.load()) == ["a"]
            with pytest.raises(StorageError, match="inside a transaction; end it first"):
                store.append(said("b"))
            with pytest.raises(StorageError, match="inside a transaction"), store.lease():
                pass
        assert store.append(said("b")) == "b"


def test_a_connection_of_another_encoding_is_refused(postgres: str) -> None:
    with (
        psycopg.connect(f"{postgres}&client_encoding=latin1") as lent,
        pytest.raises(StorageError, match="set its client_encoding to UTF8"),
    ):
        PostgresStore(lent, "s").load()
    with PostgresStore(f"{postgres}&client_encoding=latin1", "s") as store:
        store.append(new_message({"role": "user", "content": "ж日"}))
        assert store.load()[0].message["content"] == "ж日"


def test_the_isolation_of_the_database_does_not_matter(postgres: str, admin: psycopg.Connection[Any]) -> None:
    name = admin.info.dbname
    admin.execute(f"ALTER DATABASE {name} SET default_transaction_isolation TO 'serializable'".encode())
    with ConnectionPool(postgres, min_size=2, max_size=4, open=True) as pool:

        def write(writer: int) -> None:
            for number in range(15):
                PostgresStore(pool, "s", wait=30).append(said(f"{writer}-{number}"))

        threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(PostgresStore(pool, "s").load()) == 45


def test_no_connection_is_kept_that_was_closed(postgres: str) -> None:
    def count() -> int:
        gc.collect()
        return sum(isinstance(one, psycopg.Connection) for one in gc.get_objects())

    before = count()
    for number in range(3):
        with PostgresStore(postgres, f"s{number}") as store, store.lease():
            store.append(said("a"))
            assert ids(store.load()) == ["a"]
        with psycopg.connect(postgres) as lent:
            assert ids(PostgresStore(lent, f"s{number}").load()) == ["a"]
        del store, lent
    assert count() == before


# ------------------------------------------------------------------------------- lease


def test_who_has_a_session_is_told(postgres: str) -> None:
    code = (
        "import sys; from transcript_log.postgres import PostgresStore\n"
        "with PostgresStore(sys.argv[1], 's').lease():\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with (
        subprocess.Popen(
            [sys.executable, "-c", code, postgres],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as holder,
        PostgresStore(postgres, "s", wait=0.2) as store,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        begun = time.monotonic()
        for use in (
            lambda: store.append(said("a")),
            lambda: store.lease(0.2).__enter__(),
            lambda: store.create([said("a")]),
        ):
            with pytest.raises(LogBusyError) as caught:
                use()
            assert caught.value.pid == holder.pid
            assert caught.value.host == os.uname().nodename
            assert caught.value.since is not None
            assert f"by process {holder.pid} on " in str(caught.value)
        assert 0.5 < time.monotonic() - begun < 10
        assert store.load() == []
        holder.communicate(b"")
        assert store.append(said("a")) == "a"


def test_who_calls_a_connection_something_else_is_told_so(postgres: str) -> None:
    with (
        psycopg.connect(f"{postgres}&application_name=our-agent") as lent,
        PostgresStore(postgres, "s", wait=0) as store,
    ):
        with PostgresStore(lent, "s").lease():
            with pytest.raises(LogBusyError) as caught:
                store.append(said("a"))
            assert caught.value.state == "this process"
        lock = store._locks[0]
        lent.execute("SELECT pg_advisory_lock(%s)", (lock,))
        with pytest.raises(LogBusyError, match="for our-agent at") as caught:
            store.append(said("a"))
        assert caught.value.pid == lent.info.backend_pid


def test_two_stores_on_one_lent_connection_are_two_writers(postgres: str) -> None:
    """To the server they are one: its lock would be given twice."""
    with psycopg.connect(postgres) as lent:
        one, other = PostgresStore(lent, "s"), PostgresStore(lent, "s")
        with one.lease():
            one.append(said("a"))
            with pytest.raises(LogBusyError, match="this process"), other.lease(5):
                pass
            with pytest.raises(LogBusyError, match="this process"):
                other.append(said("b"))
            assert PostgresStore(lent, "another").append(said("x")) == "x"
            one.append(said("c"))
        assert other.append(said("b")) == "b"
        assert ids(one.load()) == ["a", "c", "b"]


def test_a_child_that_was_forked_off_connects_anew_and_holds_no_lease(postgres: str) -> None:
    with PostgresStore(postgres, "s", wait=0.2) as store, psycopg.connect(postgres) as lent:
        lender = PostgresStore(lent, "s")
        store.append(said("a"))
        assert ids(lender.load()) == ["a"]
        (kept,) = store._access.connections._idle  # type: ignore[attr-defined]
        with store.lease():
            store.append(said("b"))
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    assert ids(store.load()) == ["a", "b"]
                    with pytest.raises(LogBusyError):
                        store.append(said("c"))
                    with pytest.raises(StorageError, match="before this process was forked off"):
                        lender.load()
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert store.append(said("d")) == "d"
        # The child has not said goodbye on its parent's connection.
        assert kept.execute("SELECT 1").fetchone() == (1,)
        assert ids(store.load()) == ["a", "b", "d"]
        assert ids(lender.load()) == ["a", "b", "d"]


# ------------------------------------------------------------------------------- follow


def followed(
    store: PostgresStore, found: list[list[str]], stop: threading.Event, **more: Any
) -> threading.Thread:
    def follow() -> None:
        for batch in store.follow(stop=stop.is_set, **more):
            found.append(ids(batch))

    thread = threading.Thread(target=follow)
    thread.start()
    return thread


def until(reached: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def listeners(admin: psycopg.Connection[Any]) -> int:
    sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'"
    return int(rows_of(admin, sql)[0][0])


def test_what_is_added_is_told_in_whole_batches(
    store: PostgresStore, postgres: str, admin: psycopg.Connection[Any]
) -> None:
    found: list[list[str]] = []
    stop = threading.Event()
    with PostgresStore(postgres, "s") as other:
        other.append(said("a"), said("b"), after="")
        thread = followed(store, found, stop, poll=600.0)  # so that nothing is seen unless it is told
        until(lambda: found == [["a", "b"]] and listeners(admin) == 1)
        other.append(said("c"), said("d"))
        other.append(said("e"))
        until(lambda: found == [["a", "b"], ["c", "d"], ["e"]])
        # The connection is ended: another is made, and nothing is missed in between.
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
            " WHERE locktype = 'advisory' AND mode = 'ShareLock'"
        )
        other.append(said("f"))
        until(lambda: found[3:] == [["f"]])
        until(lambda: listeners(admin) == 1)
        other.append(said("g"))
        until(lambda: found[4:] == [["g"]])
        stop.set()
        thread.join()
    until(lambda: listeners(admin) == 0)


def test_nobody_is_told_where_nobody_listens(
    store: PostgresStore, postgres: str, admin: psycopg.Connection[Any]
) -> None:
    """To tell takes a lock that all who tell in the database wait for."""
    with psycopg.connect(postgres, autocommit=True) as ear:
        channel = f"transcript_log_{store._locks[0] & (2**64 - 1):x}"
        ear.execute(f"LISTEN {channel}".encode())
        store.append(said("a"))
        ear.execute("SELECT pg_advisory_lock_shared(%s)", (store._locks[1],))
        store.append(said("b"))
        assert len(list(ear.notifies(timeout=1))) == 1


def test_a_lent_connection_is_asked_now_and_then(postgres: str) -> None:
    found: list[list[str]] = []
    stop = threading.Event()
    with psycopg.connect(postgres) as lent, PostgresStore(postgres, "s") as other:
        thread = followed(PostgresStore(lent, "s"), found, stop, poll=0.05)
        other.append(said("a"))
        until(lambda: found == [["a"]])
        other.append(said("b"))
        until(lambda: found == [["a"], ["b"]])
        stop.set()
        thread.join()


def test_following_begins_behind_an_entry_and_gives_none_twice(store: PostgresStore, postgres: str) -> None:
    store.append(said("a"))
    store.append(said("b"))
    assert [ids(batch) for batch in store.follow("a", stop=lambda: True)] == [["b"]]
    with pytest.raises(EntryNotFoundError):
        next(store.follow("nowhere", stop=lambda: True))
    found: list[list[str]] = []
    stop = threading.Event()
    thread = followed(store, found, stop, poll=0.05)
    until(lambda: len(found) == 2)
    with PostgresStore(postgres, "s") as other:
        list(apply_prune(postgres, plan_prune(postgres, before=datetime.now(UTC) + timedelta(days=1))))
        other.append(said("a"), said("z"))
        until(lambda: found[2:] == [["z"]])
    stop.set()
    thread.join()


# ------------------------------------------------------------------------ the database


def test_old_sessions_are_named_and_then_deleted(postgres: str, admin: psycopg.Connection[Any]) -> None:
    now = datetime.now(UTC)
    for number in range(5):
        with PostgresStore(postgres, f"s{number}") as store:
            store.append(said("a"), details=[Detail(id="c", payload=1)])
        admin.execute(
            "UPDATE transcript_log.sessions SET changed_at = %s WHERE id = %s",
            (now - timedelta(days=number), f"s{number}"),
        )
    plan = plan_prune(postgres, before=now - timedelta(days=1, hours=1), keep=3)
    assert ([one.id for one in plan.sessions], plan.stay) == (["s4", "s3"], 3)
    plan = plan_prune(postgres, before=now - timedelta(days=1, hours=1))
    assert [one.id for one in plan.sessions] == ["s4", "s3", "s2"]
    with PostgresStore(postgres, "s2") as writer, writer.lease(), PostgresStore(postgres, "s3") as busy:
        busy.append(said("b"))
        told = list(apply_prune(postgres, plan))
    assert [(one.session.id, one.deleted) for one in told] == [("s4", True), ("s3", False), ("s2", False)]
    assert "changed" in told[1].reason
    assert "this process" in told[2].reason
    assert {kept.id for kept in list_sessions(postgres)} == {"s0", "s1", "s2", "s3"}
    assert rows_of(admin, "SELECT count(*) FROM transcript_log.entries")[0][0] == 5
    assert rows_of(admin, "SELECT count(*) FROM transcript_log.details")[0][0] == 4


def test_reading_makes_no_tables_and_writing_does(postgres: str, admin: psycopg.Connection[Any]) -> None:
    with PostgresStore(postgres, "s") as store:
        assert store.load() == []
        assert store.scan().header is None
        assert list(store.follow(stop=lambda: True)) == []
        assert list_sessions(postgres) == []
        assert rows_of(admin, "SELECT to_regclass('transcript_log.entries')") == [(None,)]
        with (
            PostgresStore(postgres, "s", migrate=False) as careful,
            pytest.raises(StorageError, match="'transcript-log migrate'"),
        ):
            careful.append(said("a"))
        store.append(said("a"))
    assert rows_of(admin, "SELECT version FROM transcript_log.migrations") == [
        (version,) for version in range(1, _schema.LATEST + 1)
    ]
    assert migrate_schema(postgres) == (_schema.LATEST, _schema.LATEST)


def test_tables_that_were_dropped_are_made_again(
    store: PostgresStore, admin: psycopg.Connection[Any]
) -> None:
    store.append(said("a"))
    admin.execute("DROP SCHEMA transcript_log CASCADE")
    assert store.load() == []
    assert store.append(said("b"), after="") == "b"
    admin.execute("DROP SCHEMA transcript_log CASCADE")
    assert store.append(said("c"), after="") == "c"
    assert ids(store.load()) == ["c"]


@pytest.mark.parametrize("version", range(_schema.LATEST + 1))
def test_every_older_version_is_brought_up_to_date(
    postgres: str, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "LATEST", version)
        assert migrate_schema(postgres) == (None, version)
    if version < _schema.LATEST:
        with (
            PostgresStore(postgres, "s", migrate=False) as careful,
            pytest.raises(StorageError, match=f"of version {version}"),
        ):
            careful.load()
    with PostgresStore(postgres, "s") as store:
        assert store.load() == []
        assert store.append(said("a")) == "a"
        assert ids(store.load()) == ["a"]
    assert migrate_schema(postgres) == (_schema.LATEST, _schema.LATEST)


def test_tables_of_a_newer_version_are_left_alone(postgres: str, admin: psycopg.Connection[Any]) -> None:
    migrate_schema(postgres)
    admin.execute("INSERT INTO transcript_log.migrations (version) VALUES (99)")
    with PostgresStore(postgres, "s") as store:
        for use in (store.load, lambda: store.append(said("a")), lambda: migrate_schema(postgres)):
            with pytest.raises(StorageError, match="of version 99, and only versions up to"):
                use()


def test_many_make_the_tables_at_once(postgres: str) -> None:
    errors: list[BaseException] = []

    def begin(number: int) -> None:
        try:
            with PostgresStore(postgres, f"s{number}") as store:
                store.append(said("a"))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(list_sessions(postgres)) == 8


def test_schemas_of_one_database_are_apart(postgres: str) -> None:
    with PostgresStore(postgres, "s") as one, PostgresStore(postgres, "s", schema="Other_1") as other:
        one.append(said("a"))
        with one.lease(), other.lease():
            other.append(said("b"))
        assert (ids(one.load()), ids(other.load())) == (["a"], ["b"])
    assert len(list_sessions(postgres, schema="Other_1")) == 1


def test_a_database_that_is_not_in_utf_8_is_refused(
    postgres_server: Server, admin: psycopg.Connection[Any]
) -> None:
    name = f"latin{os.urandom(4).hex()}"
    admin.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0".encode())
    try:
        with (
            PostgresStore(postgres_server.url(name), "s") as store,
            pytest.raises(StorageError, match="ENCODING 'UTF8'"),
        ):
            store.append(said("a"))
    finally:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


# ---------------------------------------------------------------------------- passwords


@pytest.mark.parametrize(
    "where",
    [
        "postgresql://joe:s3cr3t@127.0.0.1:1/d",
        "postgresql://joe:s3cr3t/x@127.0.0.1:1/d",
        "postgresql://joe:s3%zz@s3cr3t@127.0.0.1:1/d",
        "postgresql://joe@127.0.0.1:1/d?password=s3cr3t",
        "host=127.0.0.1 port=1 user=joe password=s3cr3t",
        "host=127.0.0.1 port=1 user=joe password='s3 s3cr3t'",
        "nonsense password=s3cr3t s3cr3t",
    ],
)
def test_a_password_is_shown_nowhere(where: str) -> None:
    store = PostgresStore(where, "s")
    with pytest.raises(StorageError) as caught:
        store.load()
    shown = [repr(store), store.path, str(caught.value), repr(caught.value.args)]
    for text in (*shown, *traceback.format_exception(caught.value)):
        assert "s3cr3t" not in text
