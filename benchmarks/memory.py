"""How much memory a load takes, against holding the values of the same lines.

python memory.py LINES|LOAD|READ|SCAN PATH    # one measurement: MB before, MB at most, how many
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
from typing import Any

import logs
import orjson
from timing import Goal, Report, Setting, Table, child, peak_rss

from transcript_log import JsonlStore

__all__ = ["measure"]


def measure(setting: Setting) -> Report:
    counts = [1_000, 10_000] if setting.quick else [10_000, 100_000, *([1_000_000] if setting.huge else [])]
    table = Table(
        "Peak memory beyond what the imports take, each in a process of its own",
        ("log", "values of the lines, MB", "`load()`, MB", "×", "`scan()`, MB", "`read()`, MB"),
        note="The values of the lines: `orjson.loads` of each line of the file, all held, collector off.",
    )
    report = Report([table])
    streamed = []
    for count in counts:
        path = logs.log(setting.work, count)
        kinds = ("lines", "load", "scan", "read") if count <= 100_000 else ("read",)
        grown: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(3):
            for kind in kinds:
                before, most, found = child("memory.py", kind, path)
                assert found == count, f"{kind} gave {found} entries of {count}"
                grown[kind].append(most - before)
        middle = {kind: statistics.median(taken) for kind, taken in grown.items()}
        streamed.append(middle["read"])
        if "load" in middle:
            times = middle["load"] / middle["lines"]
            report.goals.append(Goal(f"memory of a load of {count:,} entries", 1.1, times))
        shown = [
            f"{middle[kind]:.1f}" if kind in middle else "" for kind in ("lines", "load", "scan", "read")
        ]
        ratio = f"{times:.2f}" if "load" in middle else ""
        table.rows.append(
            (f"{os.path.getsize(path) / 1e6:,.0f} MB", shown[0], shown[1], ratio, shown[2], shown[3])
        )
    report.goals.append(Goal(f"memory of streaming {counts[-1]:,} entries", 50, streamed[-1], "MB"))
    return report


def _one(kind: str, path: str) -> None:
    before = peak_rss()
    held: Any
    if kind == "lines":
        gc.disable()
        with open(path, "rb", buffering=1 << 20) as file:
            next(file)
            held = [orjson.loads(line) for line in file]
        found = len(held)
    elif kind == "load":
        held = JsonlStore(path).load()
        found = len(held)
    elif kind == "scan":
        held = JsonlStore(path).scan()
        found = len(held.entries)
    else:
        found = sum(1 for _ in JsonlStore(path).read())
    print(json.dumps([before, peak_rss(), found]))


if __name__ == "__main__":
    _one(sys.argv[1], sys.argv[2])
