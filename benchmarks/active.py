"""Reading what the newest compaction keeps, against reading and parsing just those bytes."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import logs
import orjson
from timing import Case, Goal, Report, Setting, Table, ratio, rounds

from transcript_log import JsonlStore

__all__ = ["measure"]


def measure(setting: Setting) -> Report:
    counts = [1_000, 10_000] if setting.quick else [1_000, 100_000, *([1_000_000] if setting.huge else [])]
    cases: dict[str, Case] = {}
    labels: list[tuple[str, str]] = []
    opened: list[int] = []
    for count in counts:
        path = logs.log(setting.work, count, compacted=True)
        size = f"{os.path.getsize(path) / 1e6:,.0f} MB"
        descriptor = os.open(path, os.O_RDONLY)
        opened.append(descriptor)
        spans, ids = _kept(path)
        labels.append((size, f"limit, {size}"))
        cases[f"limit, {size}"] = _limit(descriptor, spans, ids)
        cases[f"`active()`, {size}"] = _ours(JsonlStore(path), ids)
    seconds = rounds(cases, 31 if setting.quick else 101, time.process_time)
    for descriptor in opened:
        os.close(descriptor)
    table = Table(
        f"What the newest compaction keeps: the last {logs.TAIL} entries",
        ("case", "ms", "× of the limit", f"× of `active()`, {labels[0][0]}"),
    )
    report = Report([table])
    for size, limit in labels:
        for name in (limit, f"`active()`, {size}"):
            table.rows.append(
                (
                    name,
                    f"{statistics.median(seconds[name]) * 1e3:.2f}",
                    f"{ratio(seconds, name, limit):.2f}",
                    f"{ratio(seconds, name, f'`active()`, {labels[0][0]}'):.2f}" if name != limit else "",
                )
            )
        report.goals.append(Goal(f"active of {size}", 1.5, ratio(seconds, f"`active()`, {size}", limit)))
    least, most = labels[0][0], labels[-1][0]
    report.goals.append(
        Goal(
            f"active of {most} against {least}",
            1.3,
            ratio(seconds, f"`active()`, {most}", f"`active()`, {least}"),
        )
    )
    return report


def _kept(path: str) -> tuple[list[tuple[int, int]], list[str]]:
    """Where each line of the tail begins and how long it is; and the ids in it."""
    spans: list[tuple[int, int]] = []
    ids: list[str] = []
    offset = 0
    with open(path, "rb") as file:
        for line in file:
            spans.append((offset, len(line)))
            offset += len(line)
            if len(spans) > logs.TAIL:
                spans.pop(0)
        file.seek(spans[0][0])
        ids = [orjson.loads(line)["id"] for line in file]
    return spans, ids


def _limit(descriptor: int, spans: list[tuple[int, int]], ids: list[str]) -> Case:
    start = spans[0][0]
    size = spans[-1][0] + spans[-1][1] - start
    cuts = [(at - start, at - start + length) for at, length in spans]

    def run() -> list[Any]:
        data = os.pread(descriptor, size, start)
        return [orjson.loads(data[begin:end]) for begin, end in cuts]

    return Case(run, lambda values: [value["id"] for value in values] == ids)


def _ours(store: JsonlStore, ids: list[str]) -> Case:
    return Case(store.active, lambda entries: [entry.id for entry in entries] == ids)
