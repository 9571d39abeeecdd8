"""Reading a whole log, against parsing its lines when they are in memory already."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any
from zlib import crc32

import logs
import orjson
from timing import Case, Goal, Report, Setting, Table, ratio, rounds, without_collector

from transcript_log import JsonlStore

__all__ = ["measure"]


def measure(setting: Setting) -> Report:
    report = Report()
    sizes = {1_000: 21, 10_000: 5} if setting.quick else {1_000: 61, 10_000: 15, 100_000: 5}
    for count, times in sizes.items():
        for sealed in (True, False):
            _measure(report, logs.log(setting.work, count, sealed=sealed), count, sealed, times)
    count, times = (1_000, 21) if setting.quick else (10_000, 15)
    _measure(
        report,
        logs.log(setting.work, count, recorded=True),
        count,
        True,
        times,
        what=", as a session writes it",
    )
    return report


def _measure(report: Report, path: str, count: int, sealed: bool, times: int, what: str = "") -> None:
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")[1:-1]
    size = os.path.getsize(path)
    store = JsonlStore(path)

    def limit() -> list[Any]:
        if not sealed:
            return [orjson.loads(line) for line in lines]
        values = []
        for line in lines:
            crc32(line)
            values.append(orjson.loads(line))
        return values

    def usual() -> list[Any]:
        with open(path, "rb") as file:
            return [orjson.loads(line) for line in file]

    last = orjson.loads(lines[-1])["id"]
    assert [entry.message for entry in store.load()] == [value["message"] for value in limit()]
    seconds = rounds(
        {
            "limit": Case(without_collector(limit), lambda values: len(values) == count),
            "`load()`": Case(
                without_collector(store.load),
                lambda entries: len(entries) == count and entries[-1].id == last,
            ),
            "`load()`, and the collector's pass after it": Case(
                store.load, lambda entries: len(entries) == count and entries[-1].id == last
            ),
            "`read()`, streamed": Case(lambda: sum(1 for _ in store.read()), lambda found: found == count),
            "`scan()`": Case(store.scan, lambda scan: len(scan.entries) == count and not scan.findings),
            "`orjson.loads` over the open file, collector on": Case(
                usual, lambda values: len(values) == count + 1
            ),
        },
        times,
        time.process_time,
    )
    seal = "sealed" if sealed else "unsealed"
    table = Table(
        f"Load of {count:,} entries, {size / 1e6:.0f} MB, {seal}{what}",
        ("case", "ms", "MB/s", "× of the limit"),
    )
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        table.rows.append(
            (
                name,
                f"{middle * 1e3:.1f}",
                f"{size / middle / 1e6:.0f}",
                f"{ratio(seconds, name, 'limit'):.2f}",
            )
        )
    report.tables.append(table)
    if not what:
        report.goals.append(
            Goal(f"load of {count:,} entries, {seal}", 1.25, ratio(seconds, "`load()`", "limit"))
        )
