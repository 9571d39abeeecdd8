"""Listing a folder of sessions, against looking at the first and last 4 KB of each."""

from __future__ import annotations

import os
import statistics
import time

import logs
from timing import Case, Goal, Report, Setting, Table, ratio, rounds

__all__ = ["measure"]


def measure(setting: Setting) -> Report:
    try:
        from transcript_log.listing import list_logs
    except ImportError:
        return Report(missing=["transcript_log.listing.list_logs is not there: nothing to measure"])
    count = 500 if setting.quick else 5_000
    folder = logs.sessions(setting.work, count)

    def limit() -> int:
        found = 0
        for entry in os.scandir(folder):
            if entry.name.endswith(".jsonl"):
                size = entry.stat().st_size
                descriptor = os.open(entry.path, os.O_RDONLY | os.O_CLOEXEC)
                head = os.pread(descriptor, 4096, 0)
                tail = os.pread(descriptor, 4096, max(0, size - 4096))
                os.close(descriptor)
                found += bool(head) and bool(tail)
        return found

    paths = {entry.path for entry in os.scandir(folder) if entry.name.endswith(".jsonl")}
    seconds = rounds(
        {
            "stat + first 4 KB + last 4 KB": Case(limit, lambda found: found == count),
            "`list_logs()`": Case(
                lambda: list_logs(folder),
                lambda listed: (
                    {log.path for log in listed} == paths and not any(log.problem for log in listed)
                ),
            ),
        },
        5 if setting.quick else 15,
        time.process_time,
    )
    table = Table(
        f"Listing {count:,} sessions, in the page cache", ("case", "ms", "µs a session", "× of the limit")
    )
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        times = ratio(seconds, name, "stat + first 4 KB + last 4 KB")
        table.rows.append((name, f"{middle * 1e3:.1f}", f"{middle / count * 1e6:.1f}", f"{times:.2f}"))
    goal = Goal(
        f"listing {count:,} sessions", 1.3, ratio(seconds, "`list_logs()`", "stat + first 4 KB + last 4 KB")
    )
    return Report([table], [goal])
