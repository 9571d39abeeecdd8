"""Appends to PostgreSQL beside those of others to the same server, and what a long session costs.

The server is one of this run's own, made of the installed programs, on a socket, with its
disk waited for. ``python postgres.py URL SESSION COUNT`` is one of several processes that append.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import logs
import orjson
from timing import Case, Goal, Report, Setting, Table, ratio, rounds

sys.path.insert(2, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from transcript_log import JsonlStore, new_message

__all__ = ["measure"]

_BARE = "limit: one prepared INSERT"
_OURS = "`PostgresStore`"
_LEASE = "`PostgresStore`, lease"
_BATCH = "`PostgresStore`, 16 in a batch, each"
_AGENTS = "openai-agents SQLAlchemySession, {}"
_WRITES = "langgraph PostgresSaver, `put_writes`"
_PUT = "langgraph PostgresSaver, `put`, the new item alone"


def measure(setting: Setting) -> Report:
    report = Report()
    if importlib.util.find_spec("psycopg") is None:
        report.missing.append("PostgreSQL: psycopg is not installed")
        return report
    from postgres_server import Server, binaries

    programs = binaries()
    if programs is None:
        report.missing.append("PostgreSQL: no server is installed")
        return report
    server = Server(programs)
    try:
        _appends(setting, server.url(), f"postgres@127.0.0.1:{server.port}/postgres", report)
        _sizes(setting, server.url(), report)
        _processes(setting, server.url(), report)
    finally:
        server.end()
    return report


# ----------------------------------------------------------------------------- appends


def _appends(setting: Setting, url: str, address: str, report: Report) -> None:
    each, times = (20, 15) if setting.quick else (50, 41)
    items = itertools.cycle(logs.outputs(200))
    cases: dict[str, Case] = {}

    def add(name: str, append: Callable[[Any], Any], number: int = each) -> None:
        def run() -> int:
            for _ in range(number):
                append(next(items))
            return number

        cases[name] = Case(run, lambda done: done == number)

    add(_BARE, _bare(url))
    closing = _ours(url, add, items)
    closing += _agents(address, add, report)
    closing += _langgraph(url, add, report)
    seconds = rounds(cases, times)
    for close in closing:
        close()
    peers = [name for name in cases if name.startswith(("openai", "langgraph"))]
    best = min(peers, key=lambda name: statistics.median(seconds[name]), default=None)
    table = Table(
        "One entry of 3 KB to PostgreSQL 15 on the same machine, durable, one after another",
        ("case", "µs an entry", "appends/s", "× of the limit", "× of the best of the others"),
        note="The same server and the same rounds for all. A batch of 16 counts as 16 entries.",
    )
    for name in cases:
        scale = 16 if name == _BATCH else 1
        took = statistics.median(seconds[name]) / each / scale
        to_best = "" if best is None else f"{ratio(seconds, name, best) / scale:.2f}"
        table.rows.append(
            (
                name,
                f"{took * 1e6:,.0f}",
                f"{1 / took:,.0f}",
                f"{ratio(seconds, name, _BARE) / scale:.2f}",
                to_best,
            )
        )
    report.tables.append(table)
    if best is not None:
        for name in (_OURS, _LEASE):
            what = f"append to PostgreSQL, {name.strip('`').replace('`', '')}, of {best.replace('`', '')}"
            report.goals.append(Goal(what, 1.0, ratio(seconds, name, best)))


def _bare(url: str) -> Callable[[Any], Any]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, session text, line text)")
    return lambda item: connection.execute(
        "INSERT INTO bare (session, line) VALUES ('s', %s)", (orjson.dumps(item).decode(),)
    )


def _ours(url: str, add: Callable[..., None], items: Any) -> list[Callable[[], Any]]:
    from transcript_log.postgres import PostgresStore

    free, held = PostgresStore(url, "free"), PostgresStore(url, "held")
    many = PostgresStore(url, "many")
    lease = held.lease()
    lease.__enter__()
    add(_OURS, lambda item: free.append(new_message(item)))
    add(_LEASE, lambda item: held.append(new_message(item)))
    add(_BATCH, lambda item: many.append(*[new_message(one) for one in (item, *itertools.islice(items, 15))]))
    return [lambda: lease.__exit__(None, None, None), free.close, held.close, many.close]


def _agents(address: str, add: Callable[..., None], report: Report) -> list[Callable[[], Any]]:
    if importlib.util.find_spec("agents") is None or importlib.util.find_spec("sqlalchemy") is None:
        report.missing.append("openai-agents[sqlalchemy] is not installed")
        return []
    from agents.extensions.memory import SQLAlchemySession

    runner = asyncio.Runner()
    for driver in ("asyncpg", "psycopg"):
        if importlib.util.find_spec(driver) is None:
            report.missing.append(f"SQLAlchemySession over {driver}: it is not installed")
            continue
        session = SQLAlchemySession.from_url(
            f"s-{driver}", url=f"postgresql+{driver}://{address}", create_tables=True
        )
        add(
            _AGENTS.format(driver),
            lambda item, to=session: runner.run(to.add_items([item])),
        )
    return [runner.close]


def _langgraph(url: str, add: Callable[..., None], report: Report) -> list[Callable[[], Any]]:
    try:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.base.id import uuid6
        from langgraph.checkpoint.postgres import PostgresSaver
    except ImportError:
        report.missing.append("langgraph-checkpoint-postgres is not installed")
        return []
    opened = PostgresSaver.from_conn_string(url)
    saver = opened.__enter__()
    saver.setup()
    steps = itertools.count()
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}

    def put(item: Any) -> None:
        step = next(steps)
        checkpoint = empty_checkpoint()
        checkpoint["id"] = str(uuid6(clock_seq=step))
        checkpoint["channel_values"] = {"messages": [item]}
        checkpoint["channel_versions"] = {"messages": step}
        saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, {"messages": step})

    add(_PUT, put)
    add(_WRITES, lambda item: saver.put_writes(config, [("messages", item)], str(uuid.uuid4())))
    return [lambda: opened.__exit__(None, None, None)]


# -------------------------------------------------------------------------------- size


def _sizes(setting: Setting, url: str, report: Report) -> None:
    from transcript_log.copying import copy_session
    from transcript_log.postgres import PostgresStore

    counts = [1_000, 10_000] if setting.quick else [1_000, 100_000]
    cases: dict[str, Case] = {}
    stores = []
    for count in counts:
        path = logs.log(setting.work, count, compacted=True)
        begin = time.perf_counter()
        copy_session(path, f"{url}#{count}")
        took = time.perf_counter() - begin
        store = PostgresStore(url, str(count))
        file = JsonlStore(path)
        stores.append(store)
        kept = [entry.id for entry in file.active()]
        for name, one in ((f"in a file, {count:,}", file), (f"in the database, {count:,}", store)):
            cases[f"`active()` {name}"] = Case(
                one.active, lambda found, ids=kept: [entry.id for entry in found] == ids
            )
        mb = os.path.getsize(path) / 1e6
        note = f"A session of {count:,} entries ({mb:,.0f} MB) was copied to the database in {took:.1f} s."
        table = Table("", ())
        table.note = note
    seconds = rounds(cases, 15 if setting.quick else 51)
    least, most = (f"`active()` in the database, {count:,}" for count in (counts[0], counts[-1]))
    found = Table(
        f"What the newest compaction keeps, the last {logs.TAIL} entries, of sessions of two lengths",
        ("case", "ms", f"× of {counts[0]:,} entries"),
        note=table.note,
    )
    for name in cases:
        first = f"{name.rpartition(' ')[0]} {counts[0]:,}"
        found.rows.append(
            (name, f"{statistics.median(seconds[name]) * 1e3:.2f}", f"{ratio(seconds, name, first):.2f}")
        )
    report.tables.append(found)
    what = f"active of {counts[-1]:,} entries in PostgreSQL against {counts[0]:,}"
    report.goals.append(Goal(what, 1.3, ratio(seconds, most, least)))
    for store in stores:
        store.close()


# --------------------------------------------------------------------------- processes


def _processes(setting: Setting, url: str, report: Report) -> None:
    count = 100 if setting.quick else 500
    table = Table(
        f"Processes × {count} durable appends at once, no leases",
        ("case", "appends/s", "× of one process", "lost"),
    )
    alone = 0.0
    for workers, shared in ((1, True), (4, False), (8, False), (4, True), (8, True)):
        rates = [_race(url, workers, count, shared=shared) for _ in range(3 if setting.quick else 5)]
        rate = statistics.median(rates)
        alone = alone or rate
        what = (
            "1 process"
            if workers == 1
            else f"{workers} processes, " + ("one session" if shared else "a session each")
        )
        table.rows.append((what, f"{rate:,.0f}", f"{rate / alone:.2f}", "0"))
    report.tables.append(table)


def _race(url: str, workers: int, count: int, *, shared: bool) -> float:
    from transcript_log.postgres import PostgresStore

    name = uuid.uuid4().hex
    names = [name if shared else f"{name}-{worker}" for worker in range(workers)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    started = [
        subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), url, each, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        for each in names
    ]
    for process in started:
        process.stdout.readline()  # type: ignore[union-attr]
    begin = time.perf_counter()
    for process in started:
        process.stdin.write(b"go\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    for process in started:
        process.stdout.readline()  # type: ignore[union-attr]
    took = time.perf_counter() - begin
    for process in started:
        process.communicate()
        assert process.returncode == 0
    found = 0
    for each in dict.fromkeys(names):
        with PostgresStore(url, each) as store:
            found += sum(1 for _ in store.read()) - (workers if shared else 1)
    assert found == workers * count, "something was lost"
    return workers * count / took


def _work(url: str, session: str, count: int) -> None:
    from transcript_log.postgres import PostgresStore

    with PostgresStore(url, session, wait=60.0) as store:
        items = logs.outputs(100)
        store.append(new_message(items[0]))
        print("ready", flush=True)
        sys.stdin.readline()
        for index in range(count):
            store.append(new_message(items[index % len(items)]))
        print("done", flush=True)


if __name__ == "__main__":
    _work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
