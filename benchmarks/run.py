"""Measure the package against the limits of the machine, and against others.

python benchmarks/run.py                 # everything; half an hour, 2 GB of disk
python benchmarks/run.py --quick         # smaller logs, fewer rounds; two minutes
python benchmarks/run.py --only load,append --out results.md
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.dirname(HERE))  # the package that this file lies beside

from timing import Goal, Report, Setting, Table  # noqa: E402

_TOPICS = (
    "load",
    "importing",
    "active",
    "context",
    "append",
    "processes",
    "stalls",
    "listing",
    "sql",
    "imports",
    "memory",
    "peers",
    "postgres",
)
_PACKAGES = (
    "orjson",
    "filelock",
    "duckdb",
    "openai-agents",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "eventsourcing",
    "psycopg",
    "langgraph-checkpoint-postgres",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller logs and fewer rounds")
    parser.add_argument(
        "--huge", action="store_true", help="also a log of 3 GB, where its size should not matter"
    )
    parser.add_argument("--only", metavar="TOPIC,…", help=f"some of: {', '.join(_TOPICS)}")
    parser.add_argument("--out", metavar="FILE", help="write the tables there too")
    parser.add_argument(
        "--work",
        metavar="FOLDER",
        default=os.path.join(tempfile.gettempdir(), "transcript_log_benchmarks"),
        help="where the logs are made, and kept for the next run; on a disk, not in memory",
    )
    parser.add_argument("--topic", choices=_TOPICS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    setting = Setting(work=os.path.abspath(given.work), quick=given.quick, huge=given.huge)
    os.makedirs(setting.work, exist_ok=True)
    if given.topic:
        print(importlib.import_module(given.topic).measure(setting).to_json())
        return 0
    topics = given.only.split(",") if given.only else list(_TOPICS)
    if unknown := set(topics) - set(_TOPICS):
        parser.error(f"no such topic: {', '.join(sorted(unknown))}")
    return _run_all(topics, setting, given.out)


def _run_all(topics: list[str], setting: Setting, out: str | None) -> int:
    text = [_machine()]
    print(text[0], flush=True)
    goals: list[Goal] = []
    failed = 0
    for topic in topics:
        begin = time.monotonic()
        report, complaint = _run_topic(topic, setting)
        for part in (
            *(table.markdown() for table in report.tables),
            *(f"Left out: {name}.\n" for name in report.missing),
            *((f"**{topic} failed**: {complaint}\n",) if complaint else ()),
        ):
            print(part, flush=True)
            text.append(part)
        goals += report.goals
        failed += bool(complaint)
        print(f"{topic}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    summary = Table("Goals", ("what", "goal", "measured", ""), [goal.row() for goal in goals]).markdown()
    print(summary)
    text.append(summary)
    if out:
        with open(out, "w", encoding="utf-8") as file:
            file.write("\n".join(text))
    return 1 if failed else 0


def _run_topic(topic: str, setting: Setting) -> tuple[Report, str]:
    """What a topic measured, in a process of its own; and why it failed, if it did."""
    command = [sys.executable, os.path.abspath(__file__), "--topic", topic, "--work", setting.work]
    command += ["--quick"] * setting.quick + ["--huge"] * setting.huge
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Report(), (done.stderr.strip().splitlines() or ["without a word"])[-1]
    return Report.from_json(done.stdout.strip().splitlines()[-1]), ""


def _machine() -> str:
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            processor = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = [f"CPython {platform.python_version()}", f"{platform.system()} {platform.release()}"]
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not installed")
    return f"{os.cpu_count()} × {processor}; {', '.join(versions)}.\n"


if __name__ == "__main__":
    sys.exit(main())
