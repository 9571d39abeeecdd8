"""Importing another agent's session, against parsing its lines.

python importing.py lines|import PATH    # one measurement: MB before, MB at most, how many lines or entries
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from typing import Any

import foreign
import orjson
from timing import Case, Goal, Report, Setting, Table, child, peak_rss, ratio, rounds, without_collector

from transcript_log.importers.claude_code import import_claude_code

__all__ = ["measure"]

_GOAL = 2.0
"""An import may take as long as parsing the lines twice."""


def measure(setting: Setting) -> Report:
    report = Report()
    sizes = {30_000_000: 7} if setting.quick else {100_000_000: 7, 300_000_000: 5}
    for size, times in sizes.items():
        _measure(report, foreign.claude_code(setting.work, size), times)
    return report


def _measure(report: Report, path: str, times: int) -> None:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        lines = file.readlines()

    def held() -> list[Any]:
        return [orjson.loads(line) for line in lines]

    def dropped() -> int:
        for line in lines:
            orjson.loads(line)
        return len(lines)

    first = "`orjson.loads` of each line, all held"
    entries = len(import_claude_code(lines).entries)
    seconds = rounds(
        {
            first: Case(without_collector(held), lambda values: len(values) == len(lines)),
            "the same, none held": Case(without_collector(dropped), lambda count: count == len(lines)),
            "the same, all held, the collector on": Case(held, lambda values: len(values) == len(lines)),
            "import": Case(
                lambda: import_claude_code(lines), lambda imported: len(imported.entries) == entries
            ),
        },
        times,
        time.process_time,
    )
    table = Table(
        f"Import of a Claude Code session: {len(lines):,} records, {size / 1e6:.0f} MB, {entries:,} entries",
        ("what", "median, s", "MB/s", "× the first"),
    )
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        table.rows.append(
            (name, f"{middle:.2f}", f"{size / 1e6 / middle:,.0f}", f"{ratio(seconds, name, first):.2f}")
        )
    report.goals.append(
        Goal(f"import of {size / 1e6:.0f} MB of Claude Code", _GOAL, ratio(seconds, "import", first))
    )
    grown = {}
    for kind in ("lines", "import"):
        before, most, _ = child("importing.py", kind, path)
        grown[kind] = most - before
    table.note = (
        f"Peak memory from the open file: {grown['import']:,.0f} MB for the import,"
        f" {grown['lines']:,.0f} MB for the values of all lines."
    )
    report.tables.append(table)


def _one(kind: str, path: str) -> None:
    before = peak_rss()
    gc.disable()
    with open(path, "rb") as file:
        if kind == "lines":
            held: Any = [orjson.loads(line) for line in file]
            count = len(held)
        else:
            held = import_claude_code(file)
            count = len(held.entries)
    print(json.dumps([before, peak_rss(), count]))


if __name__ == "__main__":
    _one(sys.argv[1], sys.argv[2])
