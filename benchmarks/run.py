"""What the package costs, beside the limit of the machine and beside others, in one run.

    python benchmarks/run.py [--quick] [--only load,append] [--work DIR] [--out FILE]

The limit of each case is the least that any implementation would have to do, measured in the
same rounds. Only ratios are meant to be quoted. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import logs
import orjson
from peers import AgentsSqlite, installed
from rounds import Table, interleave

from transcript_log import JsonlStore, MessageEntry, new_message
from transcript_log.listing import list_logs

_WHEN = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


class Run:
    """One run: where its files are, and how much of everything it does."""

    def __init__(self, work: str, quick: bool) -> None:
        self.work = work
        self.quick = quick
        self.rounds = 3 if quick else 9
        self.sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000)

    def scratch(self) -> str:
        return tempfile.mkdtemp(dir=self.work)


def paused(work: Callable[[], object]) -> Callable[[], object]:
    """The same with the collector paused, as the limit of a load is taken."""

    def run() -> object:
        gc.disable()
        try:
            return work()
        finally:
            gc.enable()

    return run


def lines_of(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        return file.read().split(b"\n")[1:-1]


def load(run: Run) -> list[str]:
    """Whole logs, sealed and not, against parsing lines that are in memory already."""
    shown = []
    for count in run.sizes:
        rounds = 3 if count > 10_000 else run.rounds
        for sealed in (True, False):
            path = logs.log(run.work, count, sealed=sealed)
            lines = lines_of(path)
            if sealed:
                limit = paused(lambda lines=lines: [(orjson.loads(line), zlib.crc32(line)) for line in lines])
            else:
                limit = paused(lambda lines=lines: [orjson.loads(line) for line in lines])
            store = JsonlStore(path)
            assert [entry.id for entry in store.load()] == [orjson.loads(line)["id"] for line in lines]
            what = "loads + crc32 of lines in memory" if sealed else "loads of lines in memory"
            table = Table(f"load, {count} entries, {'sealed' if sealed else 'unsealed'}", what)
            cases = {what: limit, "load()": lambda path=path: JsonlStore(path).load()}
            if count == 10_000:
                cases["read(), streaming"] = lambda path=path: sum(1 for _ in JsonlStore(path).read())
                cases["scan()"] = lambda path=path: JsonlStore(path).scan()
            table.add(interleave(cases, rounds), {"load()": "1.25"})
            shown.append(table.show())
            del lines
    return shown


def active(run: Run) -> list[str]:
    """What the newest boundary keeps, against reading just those bytes and parsing them."""
    shown = []
    per_size: dict[int, float] = {}
    for count in (1_000, run.sizes[-1]):
        path = logs.log(run.work, count, compacted=True)
        kept = JsonlStore(path).active()
        lines = lines_of(path)
        data = b"\n".join(lines[-len(kept) :]) + b"\n"
        assert [entry.id for entry in kept] == [orjson.loads(line)["id"] for line in lines[-len(kept) :]]
        offset = os.path.getsize(path) - len(data)
        del lines
        fd = os.open(path, os.O_RDONLY)

        def limit(fd: int = fd, size: int = len(data), offset: int = offset) -> object:
            return [orjson.loads(line) for line in os.pread(fd, size, offset).split(b"\n")[:-1]]

        table = Table(
            f"active, {len(kept)} entries of {count} ({os.path.getsize(path) >> 20} MB)", "pread + loads"
        )
        taken = interleave(
            {"pread + loads": limit, "active()": lambda path=path: JsonlStore(path).active()}, 40
        )
        table.add(taken, {"active()": "1.5"})
        per_size[count] = statistics.median(taken["active()"])
        shown.append(table.show())
        os.close(fd)
    small, large = per_size.values()
    text = f"\nThe larger log takes {large / small:.2f} x the time of the smaller one (goal: 1.3)."
    print(text)
    return [*shown, text]


def append(run: Run) -> list[str]:
    """One batch after another, against dumps + write (+ fdatasync) on an open descriptor."""
    shown = []
    count = 200 if run.quick else 600
    items = [item for item in logs.items(4 * count) if 1_500 < len(orjson.dumps(item)) < 6_000][:count]
    for durability in ("os", "fsync"):
        folder = run.scratch()
        fd = os.open(os.path.join(folder, "limit"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def limit(item: dict[str, Any], fd: int = fd, durability: str = durability) -> None:
            os.write(fd, orjson.dumps({"id": "0" * 24, "type": "message", "message": item}) + b"\n")
            if durability == "fsync":
                os.fdatasync(fd)

        stores = {
            name: JsonlStore(os.path.join(folder, f"{number}.jsonl"), durability=durability)  # type: ignore[arg-type]
            for number, name in enumerate(
                ("lease", "no lease", "lease, 16 in a batch", "lease, 64 in a batch")
            )
        }
        taken: dict[str, list[float]] = {
            "dumps + write" + (" + fdatasync" if durability == "fsync" else ""): []
        }
        reference = next(iter(taken))
        taken |= {name: [] for name in stores}
        leases = [store.lease() for name, store in stores.items() if name != "no lease"]
        for store in stores.values():
            store.create()
        for lease in leases:
            lease.__enter__()
        for number, item in enumerate(items):
            batches = {name: 16 if "16" in name else 64 if "64" in name else 1 for name in stores}
            begun = time.perf_counter()
            limit(item)
            taken[reference].append(time.perf_counter() - begun)
            for name, store in stores.items():
                if number % batches[name]:
                    taken[name].append(taken[name][-1])
                    continue
                batch = [new_message(item) for item in items[number : number + batches[name]]]
                begun = time.perf_counter()
                store.append(*batch)
                taken[name].append((time.perf_counter() - begun) / len(batch))
        for lease in leases:
            lease.__exit__(None, None, None)
        for store in stores.values():
            assert len(store.load()) == len(items)
        os.close(fd)
        table = Table(f"append, durability {durability!r}, an entry of about 3 KB", reference, "us")
        goals = (
            {"lease": "15 us", "no lease": ""}
            if durability == "os"
            else {"lease": "1.15", "lease, 64 in a batch": "0.05"}
        )
        table.add(taken, goals)
        shown.append(table.show())
    return shown


def _writers(count: int, work: Callable[[int], None]) -> float:
    """Seconds until ``count`` processes have done their part."""
    start = time.time() + 0.5
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                while time.time() < start:
                    time.sleep(0.001)
                work(number)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a writer failed"
    return time.time() - start


def processes(run: Run) -> list[str]:
    """Four processes on one log, no lease, durable as shipped."""
    each = 100 if run.quick else 250
    item = logs.items(3)[0]
    folder = run.scratch()
    there, _ = installed(folder)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(3):
        path = os.path.join(folder, f"ours-{number}.jsonl")

        def write(writer: int, path: str = path) -> None:
            store = JsonlStore(path, wait=120)
            for step in range(each):
                store.append(MessageEntry(id=f"{writer}-{step}", timestamp=_WHEN, message=item))

        ours.append(_writers(4, write))
        assert len(JsonlStore(path).load()) == 4 * each
        if AgentsSqlite in there:
            database = os.path.join(folder, f"theirs-{number}.db")
            AgentsSqlite(database)

            def write_theirs(_: int, database: str = database) -> None:
                session = AgentsSqlite(database)
                for _ in range(each):
                    session.append(item)

            try:
                theirs.append(_writers(4, write_theirs))
            except AssertionError:
                print("openai-agents SQLiteSession: a writer failed with 4 at once")
    table = Table(f"4 processes, {4 * each} appends", "JsonlStore", "s")
    taken = {"JsonlStore": ours}
    if len(theirs) == len(ours):
        taken["openai-agents SQLiteSession"] = theirs
    table.add(taken, {"openai-agents SQLiteSession": "at least 3"})
    return [table.show()]


def peers(run: Run) -> list[str]:
    """Durable appends to, and loads of, a log of 1,000 messages, beside other stores."""
    folder = run.scratch()
    there, missing = installed(folder)
    items = logs.items(1_000)
    each = 20 if run.quick else 100
    opened = {kind.name: kind(os.path.join(folder, f"{kind.__name__}.db")) for kind in there}
    store = JsonlStore(os.path.join(folder, "ours.jsonl"))
    with store.lease():
        for item in items:
            store.append(new_message(item))
        for peer in opened.values():
            few = items if "langgraph" not in peer.name else items[:1]
            if few is not items:
                peer.messages.extend(items[:-1])  # type: ignore[attr-defined]  # its checkpoint holds the list
            for item in few:
                peer.append(item)
        fd = os.open(os.path.join(folder, "limit"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        reference = "dumps + write + fdatasync"
        taken: dict[str, list[float]] = {reference: [], "JsonlStore": [], **{name: [] for name in opened}}
        for item in items[:each]:
            begun = time.perf_counter()
            os.write(fd, orjson.dumps(item) + b"\n")
            os.fdatasync(fd)
            taken[reference].append(time.perf_counter() - begun)
            begun = time.perf_counter()
            store.append(new_message(item))
            taken["JsonlStore"].append(time.perf_counter() - begun)
            for name, peer in opened.items():
                begun = time.perf_counter()
                peer.append(item)
                taken[name].append(time.perf_counter() - begun)
        os.close(fd)
    table = Table("a durable append to 1,000 messages, beside others", reference, "us")
    table.add(taken)
    shown = [table.show()]
    loads: dict[str, Callable[[], object]] = {"JsonlStore": store.load}
    for name, peer in opened.items():
        assert len(peer.load()) == len(items) + each, name
        loads[name] = peer.load
    table = Table("a load of 1,000 messages, beside others", "JsonlStore")
    table.add(interleave(loads, 5))
    return [*shown, table.show(), *missing]


def listing(run: Run) -> list[str]:
    """A folder of sessions, against stat and the first and last 4 KB of each file."""
    count = 1_000 if run.quick else 5_000
    folder = logs.sessions(run.work, count)

    def limit() -> object:
        out = []
        for entry in os.scandir(folder):
            if entry.name.endswith(".jsonl"):
                size = entry.stat().st_size
                fd = os.open(entry.path, os.O_RDONLY)
                out.append((os.pread(fd, 4096, 0), os.pread(fd, 4096, max(0, size - 4096))))
                os.close(fd)
        return out

    assert len(list_logs(folder)) == count
    table = Table(f"list, {count} sessions", "stat + first and last 4 KB")
    cases = {"stat + first and last 4 KB": limit, "list_logs()": lambda: list_logs(folder)}
    table.add(interleave(cases, run.rounds), {"list_logs()": "1.3"})
    return [table.show()]


def imports(run: Run) -> list[str]:
    """A fresh process that imports the package, against one that imports orjson."""

    def fresh(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, transcript_log; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    heavy = sorted({"click", "filelock", "asyncio", "logging"} & set(loaded))
    table = Table("import, whole process", "import orjson")
    cases = {
        "import orjson": fresh("import orjson"),
        "import transcript_log": fresh("import transcript_log"),
        "nothing": fresh(""),
    }
    table.add(interleave(cases, 3 * run.rounds), {"import transcript_log": "1.3"})
    text = f"\nLoaded with it of click, filelock, asyncio, logging: {', '.join(heavy) or 'none'}."
    print(text)
    return [table.show(), text]


_MEMORY = """
import sys, gc
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
from transcript_log import JsonlStore
import orjson
path, how = sys.argv[1:]
before = peak()
if how == "values":
    gc.disable()
    with open(path, "rb", buffering=1 << 20) as file:
        kept = [orjson.loads(line) for line in file]
elif how == "load":
    kept = JsonlStore(path).load()
else:
    for _ in JsonlStore(path).read(): pass
print(peak() - before)
"""


def memory(run: Run) -> list[str]:
    """Peak resident memory that a load adds, against holding the decoded lines; and of a stream."""
    path = logs.log(run.work, run.sizes[-1])

    def added(how: str) -> float:
        command = [sys.executable, "-c", _MEMORY, path, how]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    values, loaded, streamed = added("values"), added("load"), added("stream")
    lines = [
        f"\n### memory, {run.sizes[-1]} entries ({os.path.getsize(path) >> 20} MB)\n",
        "| case | MB added at the peak | x | goal |",
        "| --- | --- | --- | --- |",
        f"| the decoded lines | {values:.0f} | 1.00 | |",
        f"| load() | {loaded:.0f} | {loaded / values:.2f} | 1.1 |",
        f"| read(), streaming | {streamed:.0f} | {streamed / values:.2f} | constant |",
    ]
    print("\n".join(lines))
    return ["\n".join(lines)]


CASES: dict[str, Callable[[Run], list[str]]] = {
    "load": load,
    "active": active,
    "append": append,
    "processes": processes,
    "peers": peers,
    "list": listing,
    "import": imports,
    "memory": memory,
}


def main() -> None:
    """Run the cases asked for, and print their tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller logs and fewer rounds: about a minute")
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument(
        "--work", default="", help="where the logs are made and kept; a temporary folder by default"
    )
    parser.add_argument("--out", default="", help="write the tables to this file too")
    given = parser.parse_args()
    work = given.work or tempfile.mkdtemp(prefix="transcript-log-bench-")
    os.makedirs(work, exist_ok=True)
    try:
        run = Run(work, given.quick)
        shown = [text for name in given.only.split(",") for text in CASES[name](run)]
    finally:
        if not given.work:
            shutil.rmtree(work, ignore_errors=True)
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            file.write("\n".join(shown) + "\n")


if __name__ == "__main__":
    main()
