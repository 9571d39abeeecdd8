"""Adding entries, against dumping the same items and writing them."""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

import logs
import orjson
from timing import Goal, Report, Setting, Table

from transcript_log import Entry, JsonlStore, new_message

__all__ = ["measure"]

_EACH = 64
"""How many entries a case adds in a round: whole batches of 1, 16 and 64. The disk changes its pace."""


def measure(setting: Setting) -> Report:
    folder = os.path.join(setting.work, "append")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    items = logs.outputs(_EACH)
    cases: dict[str, Callable[[], list[float]]] = {}
    stores: list[_Store] = []

    def ours(name: str, **options: Any) -> None:
        stores.append(_Store(os.path.join(folder, f"{len(stores)}.jsonl"), items, **options))
        cases[name] = stores[-1].run

    cases["dumps + write"] = _Bare(os.path.join(folder, "bare"), items, durable=False).run
    ours("os, lease", durable=False)
    ours("os, lease, unsealed", durable=False, checksum=False)
    ours("os, lease, 16 in a batch", durable=False, batch=16)
    ours("os, lease, 64 in a batch", durable=False, batch=64)
    ours("os, no lease", durable=False, lease=False)
    cases["dumps + write + fdatasync"] = _Bare(os.path.join(folder, "durable"), items, durable=True).run
    ours("fsync, lease")
    ours("fsync, lease, 16 in a batch", batch=16)
    ours("fsync, lease, 64 in a batch", batch=64)
    ours("fsync, no lease", lease=False)

    # The middle of a round, not its sum: one wait of the disk would hide everything.
    middles: dict[str, list[float]] = {name: [] for name in cases}
    names = list(cases)
    for index in range(1 + (15 if setting.quick else 80)):
        for name in names if index % 2 else reversed(names):
            taken = cases[name]()
            if index:
                middles[name].append(statistics.median(taken))
    for store in stores:
        store.check()
    shutil.rmtree(folder)

    table = Table(
        "One entry of 3 KB, the middle of a round",
        ("case", "µs an entry", "× of dumps + write", "× of dumps + write + fdatasync"),
    )
    report = Report([table])
    found: dict[str, float] = {}
    for name in cases:
        durable = name.startswith("fsync") or "fdatasync" in name
        bare = "dumps + write + fdatasync" if durable else "dumps + write"
        times = statistics.median(a / b for a, b in zip(middles[name], middles[bare], strict=True))
        found[name] = times
        shown = f"{times:.3f}" if times < 0.1 else f"{times:.2f}"
        table.rows.append(
            (
                name,
                f"{statistics.median(middles[name]) * 1e6:.1f}",
                "" if durable else shown,
                shown if durable else "",
            )
        )
    report.goals += [
        Goal("durable append under a lease", 1.15, found["fsync, lease"]),
        Goal("durable append, 64 in a batch, each", 0.05, found["fsync, lease, 64 in a batch"]),
        Goal('append under a lease, "os", of a bare dumps + write', 5, found["os, lease"]),
    ]
    return report


class _Bare:
    """Dumps, writes and, if it is to be durable, syncs."""

    def __init__(self, path: str, items: list[dict[str, Any]], *, durable: bool) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._items = items
        self._durable = durable

    def run(self) -> list[float]:
        taken = []
        for item in self._items:
            begin = time.perf_counter()
            os.write(self._descriptor, orjson.dumps(item) + b"\n")
            if self._durable:
                os.fdatasync(self._descriptor)
            taken.append(time.perf_counter() - begin)
        return taken


class _Store:
    """A log, and the ids of all that was appended to it."""

    def __init__(
        self,
        path: str,
        items: list[dict[str, Any]],
        *,
        durable: bool = True,
        lease: bool = True,
        batch: int = 1,
        checksum: bool = True,
    ) -> None:
        self._store = JsonlStore(path, durability="fsync" if durable else "os", checksum=checksum)
        self._store.create()
        self._lease = lease
        self._batch = batch
        self._items = items
        self._ids: list[str] = []

    def run(self) -> list[float]:
        """The seconds an entry took, batch by batch; the entries are made before."""
        entries: list[Entry] = [new_message(item) for item in self._items]
        self._ids += [entry.id for entry in entries]
        taken = []
        with self._store.lease() if self._lease else contextlib.nullcontext():
            for first in range(0, len(entries), self._batch):
                batch = entries[first : first + self._batch]
                begin = time.perf_counter()
                self._store.append(*batch)
                taken.append((time.perf_counter() - begin) / len(batch))
        return taken

    def check(self) -> None:
        found = [entry.id for entry in JsonlStore(self._store.path).load()]
        assert found == self._ids, "not everything that was appended is there, in order"
        self._store.close()
