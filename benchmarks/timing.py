"""Interleaved rounds, the medians of their ratios, and the tables and goals made of them."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

__all__ = [
    "Case",
    "Goal",
    "Report",
    "Setting",
    "Table",
    "child",
    "peak_rss",
    "ratio",
    "rounds",
    "without_collector",
]

Clock = Callable[[], float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """How much is measured. ``work`` is where the logs lie, between runs too."""

    work: str
    quick: bool = False
    huge: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure, and whether what it gave is right. ``check`` is not timed."""

    run: Callable[[], Any]
    check: Callable[[Any], bool]


@dataclass(slots=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    note: str = ""

    def markdown(self) -> str:
        lines = [
            f"#### {self.title}",
            "",
            f"| {' | '.join(self.columns)} |",
            "|---" * len(self.columns) + "|",
        ]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join([*lines, *(("", self.note) if self.note else ())]) + "\n"


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal and what was measured. ``at_least`` for one that is to be exceeded."""

    what: str
    limit: float
    figure: float
    unit: str = "×"
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit

    def row(self) -> Sequence[str]:
        sign = "≥" if self.at_least else "≤"
        figure = f"{self.figure:.3f}" if self.limit < 0.1 else f"{self.figure:.2f}"
        return (
            self.what,
            f"{sign} {self.limit:g} {self.unit}",
            f"{figure} {self.unit}",
            "met" if self.is_met else "**missed**",
        )


@dataclass(slots=True)
class Report:
    """What one topic measured."""

    tables: list[Table] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Report:
        data = json.loads(text)
        return cls(
            [Table(**table) for table in data["tables"]],
            [Goal(**goal) for goal in data["goals"]],
            data["missing"],
        )


def rounds(cases: Mapping[str, Case], count: int, clock: Clock = time.perf_counter) -> dict[str, list[float]]:
    """The seconds of each case in each round.

    Every case runs once a round, and the order turns round every other time: a machine that
    slows down does so for all. A round before the first one that counts warms everything up.

    Args:
        cases: What to run.
        count: How many rounds count.
        clock: ``time.process_time`` for what only computes: other programs on the machine
            then count only by what they take of its caches.

    Raises:
        AssertionError: A case gave a wrong result.
    """
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    names = list(cases)
    for index in range(count + 1):
        for name in names if index % 2 else reversed(names):
            gc.collect()
            begin = clock()
            result = cases[name].run()
            taken = clock() - begin
            if not cases[name].check(result):
                raise AssertionError(f"{name} gave a wrong result")
            del result
            if index:
                seconds[name].append(taken)
    return seconds


def ratio(seconds: Mapping[str, Sequence[float]], name: str, reference: str) -> float:
    """The median, over the rounds, of how often the reference's time a case took."""
    return statistics.median(a / b for a, b in zip(seconds[name], seconds[reference], strict=True))


def child(program: str, *arguments: str, timeout: float = 900) -> Any:
    """The JSON value on the last line that ``python program arguments…`` prints.

    Raises:
        RuntimeError: It failed; with the last line of its complaint.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(
        [sys.executable, os.path.join(here, program), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=_environment(),
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed without a word"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def _environment() -> dict[str, str]:
    """That of this process, with its module path; and modules are compiled once, as those of a package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = os.path.join(
        tempfile.gettempdir(), "transcript_log_benchmarks_cache"
    )
    return environment


def peak_rss() -> float:
    """The most memory this process has had so far, in MB."""
    # Not ru_maxrss: a process begins with that of the one which started it.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e6


def without_collector(run: Callable[[], T]) -> Callable[[], T]:
    """The same with the collector off, and on again in the end: its pass then falls into no case."""

    def paused() -> T:
        gc.disable()
        try:
            return run()
        finally:
            gc.enable()

    return paused
