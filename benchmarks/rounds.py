"""Measuring side by side: interleaved rounds, ratios within a round, tables for people."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Table", "interleave"]


def interleave(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """The seconds that each case took in each round, in turn; the first round is not counted.

    The order is reversed every other round, so that drift of the machine hits all alike.
    """
    taken: dict[str, list[float]] = {name: [] for name in cases}
    order = list(cases)
    for number in range(rounds + 1):
        for name in order if number % 2 == 0 else reversed(order):
            gc.collect()
            begun = time.perf_counter()
            result = cases[name]()
            spent = time.perf_counter() - begun
            del result
            if number:
                taken[name].append(spent)
    return taken


@dataclass
class Table:
    """Rows of one measurement, each with its ratio to the first or to a named one."""

    title: str
    reference: str
    unit: str = "ms"
    per: int = 1
    rows: list[tuple[str, float, float, str]] = field(default_factory=list)

    def add(self, taken: dict[str, list[float]], goals: dict[str, str] | None = None) -> dict[str, float]:
        """Add a row for each case; gives back the ratios. A ratio is the median of the rounds'."""
        scale = {"ms": 1e3, "us": 1e6, "s": 1.0}[self.unit] / self.per
        ratios: dict[str, float] = {}
        for name, spent in taken.items():
            each = [mine / limit for mine, limit in zip(spent, taken[self.reference], strict=True)]
            ratios[name] = statistics.median(each)
            self.rows.append(
                (name, statistics.median(spent) * scale, ratios[name], (goals or {}).get(name, ""))
            )
        return ratios

    def show(self) -> str:
        """The table as Markdown."""
        lines = [
            f"\n### {self.title}\n",
            f"| case | median {self.unit} | x | goal |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| {name} | {median:.3g} | {ratio:.2f} | {goal} |" for name, median, ratio, goal in self.rows
        ]
        text = "\n".join(lines)
        print(text, flush=True)
        sys.stderr.write(f"done: {self.title}\n")
        return text
