"""Building what a model is sent, against loading the log that it is built from."""

from __future__ import annotations

import cProfile
import os
import pstats
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import logs
import orjson
from timing import Case, Goal, Report, Setting, Table, ratio, rounds, without_collector

from transcript_log import Entry, Item, JsonlStore, MessageEntry
from transcript_log._pieces import Piece
from transcript_log.apis import api_for
from transcript_log.apis._base import Notes
from transcript_log.context import Context, build_context
from transcript_log.families import Target
from transcript_log.items import tool_calls, tool_outputs

__all__ = ["measure"]


RESPONSES = Target(api="openai-responses", model="gpt-5")
CHAT = Target(api="openai-chat", model="gpt-4.1")
ANTHROPIC = Target(api="anthropic-messages", model="claude-sonnet-4-5")
GEMINI = Target(api="gemini", model="gemini-3-pro")
_TARGETS = (RESPONSES, CHAT, ANTHROPIC)
_ALL = (*_TARGETS, GEMINI)
_KINDS = [(RESPONSES, False), (RESPONSES, True), (CHAT, False), (ANTHROPIC, False), (ANTHROPIC, True)]
_LOAD = "`load()`"
_CLEAN = "as it is"
_WIDTH = 1_500
"""How many calls a model makes at once, at worst."""


def measure(setting: Setting) -> Report:
    report = Report()
    sizes = {1_000: 21, 10_000: 5} if setting.quick else {1_000: 41, 10_000: 11, 100_000: 3}
    for count, times in sizes.items():
        worst: dict[str, tuple[float, str]] = {}
        for target, reasoning in _KINDS:
            for what, figure, name in _measure(report, setting, count, target, reasoning, times):
                worst[what] = max(worst.get(what, (0.0, "")), (figure, name))
        for what, limit in (("as it is", 0.5), ("rendered", 2)):
            figure, name = worst[what]
            report.goals.append(
                Goal(f"context of {count:,} entries {what}, of `load()`; worst: {name}", limit, figure)
            )
    _measure_growth(report, setting, list(sizes))
    _measure_rendering(report, setting)
    _measure_width(report)
    if not all(goal.is_met for goal in report.goals):
        _profile(report, setting)
    return report


# ------------------------------------------------------------------------------ one log


def _measure(
    report: Report, setting: Setting, count: int, target: Target, reasoning: bool, times: int
) -> list[tuple[str, float, str]]:
    """What has a goal, its figure, and of which log it is."""
    path = logs.log(setting.work, count, target=target, reasoning=reasoning)
    store = JsonlStore(path)
    entries = store.load()
    assert len(entries) == count
    calls, open_call = _count_calls(entries)
    lacking = [entry for entry in entries if entry.id != open_call]
    assert len(lacking) == count - 1

    cases = {
        _LOAD: Case(without_collector(store.load), lambda loaded: len(loaded) == count),
        _CLEAN: _clean(entries, target),
        f"{_CLEAN}, collector on": Case(
            lambda: build_context(entries, target), lambda context: not context.changes
        ),
        "one call unanswered": Case(
            without_collector(lambda: build_context(lacking, target)),
            lambda context: context.changes[0].rule == "unanswered-call",
        ),
        "no target": _clean(entries, None),
    }
    others = [other for other in _ALL if other is not target]
    for other in others:
        cases[f"rendered for {other.api}"] = _rendered(entries, other, calls)
    seconds = rounds(cases, times, time.process_time)

    shape = f"{target.api}{', with reasoning' if reasoning else ''}"
    table = Table(
        f"Context of {count:,} entries, {os.path.getsize(path) / 1e6:.0f} MB, {shape}",
        ("case", "ms", "µs an entry", f"× of {_LOAD}"),
    )
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        table.rows.append(
            (
                name,
                f"{middle * 1e3:.1f}",
                f"{middle / count * 1e6:.2f}",
                f"{ratio(seconds, name, _LOAD):.2f}",
            )
        )
    report.tables.append(table)
    return [
        ("as it is", ratio(seconds, _CLEAN, _LOAD), shape),
        *(
            ("rendered", ratio(seconds, f"rendered for {other.api}", _LOAD), f"{shape} for {other.api}")
            for other in others
        ),
    ]


def _clean(entries: Sequence[Entry], target: Target | None) -> Case:
    """Nothing may change: each item is the very object of its entry."""

    def is_right(context: Context) -> bool:
        return not context.changes and _are_same(context.items, entries)

    return Case(without_collector(lambda: build_context(entries, target)), is_right)


def _are_same(items: Sequence[Item], entries: Sequence[Entry]) -> bool:
    own = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
    return len(items) == len(own) and all(a is b for a, b in zip(items, own, strict=True))


def _rendered(entries: Sequence[Entry], target: Target, calls: int) -> Case:
    """Every call and its output must be there, and only reasoning may be left out."""

    def is_right(context: Context) -> bool:
        return (
            sum(len(tool_calls(item)) for item in context.items) == calls
            and sum(len(tool_outputs(item)) for item in context.items) == calls
            and all(change.rule == "private" for change in context.changes)
        )

    return Case(without_collector(lambda: build_context(entries, target)), is_right)


def _count_calls(entries: Sequence[Entry]) -> tuple[int, str]:
    """How many calls there are, and the entry that answers the last one."""
    calls, last = 0, ""
    for entry in entries:
        if isinstance(entry, MessageEntry):
            calls += len(tool_calls(entry.message))
            if tool_outputs(entry.message):
                last = entry.id
    return calls, last


# ------------------------------------------------------------------------------- growth


def _measure_growth(report: Report, setting: Setting, counts: Sequence[int]) -> None:
    """Ten times the entries must take ten times as long; all sizes are measured in the same rounds."""
    table = Table(
        "Ten times the entries",
        ("case", *(f"{more:,} × of {less:,}" for less, more in pairwise(counts))),
    )
    held = {count: JsonlStore(logs.log(setting.work, count, target=RESPONSES)).load() for count in counts}
    for target in _ALL:
        cases = {
            str(count): Case(
                without_collector(lambda entries=entries: build_context(entries, target)),  # noqa: B023
                lambda context: bool(context.items),
            )
            for count, entries in held.items()
        }
        seconds = rounds(cases, 5, time.process_time)
        name = _CLEAN if target is RESPONSES else f"rendered for {target.api}"
        steps = [ratio(seconds, str(more), str(less)) for less, more in pairwise(counts)]
        table.rows.append((f"openai-responses, {name}", *(f"{step:.1f}" for step in steps)))
        report.goals.append(Goal(f"{name}: {counts[-1]:,} entries against {counts[-2]:,}", 12, steps[-1]))
    report.tables.append(table)


# ----------------------------------------------------------------------- rendering alone


def _measure_rendering(report: Report, setting: Setting) -> None:
    """Saying 10,000 items of one API in the words of Gemini, against writing them as JSON."""
    count = 10_000
    table = Table(
        f"{count:,} entries said in the words of Gemini, against `orjson.dumps` of what comes of it",
        ("from", "dumps, ms", "rendering, ms", "× of dumps"),
    )
    api = api_for(GEMINI)
    for source in _TARGETS:
        entries = JsonlStore(logs.log(setting.work, count, target=source)).load()
        pieces = [Piece(entry.message, (entry.id,)) for entry in entries if isinstance(entry, MessageEntry)]
        items = [piece.item for piece in api.render(pieces, Notes())]
        cases = {
            "dumps": Case(without_collector(lambda items=items: orjson.dumps(items)), bool),  # type: ignore[misc]
            "render": Case(
                without_collector(lambda pieces=pieces: api.render(pieces, Notes())),  # type: ignore[misc]
                lambda made, items=items: len(made) == len(items),  # type: ignore[misc]
            ),
        }
        seconds = rounds(cases, 11, time.process_time)
        times = ratio(seconds, "render", "dumps")
        dumped, rendered = (statistics.median(seconds[name]) * 1e3 for name in ("dumps", "render"))
        table.rows.append((source.api, f"{dumped:.1f}", f"{rendered:.1f}", f"{times:.2f}"))
        report.goals.append(Goal(f"{source.api} in the words of Gemini, of `orjson.dumps`", 3, times))
    report.tables.append(table)


# -------------------------------------------------------------------------- many at once


def _measure_width(report: Report) -> None:
    """Calls made all at once, with their outputs in reverse, or with none."""
    table = Table(
        f"{_WIDTH:,} calls made at once",
        ("shape", "outputs", "target", "ms", "× of half as many", "changes"),
    )
    slowest = 0.0
    for shape in _TARGETS:
        for answered in (True, False):
            for target in (*_ALL, None):
                wide, half = (
                    list(logs.parallel(shape, width, answered=answered)) for width in (_WIDTH, _WIDTH // 2)
                )
                contexts = {
                    "wide": Case(lambda wide=wide, to=target: build_context(wide, to), _all_answered(_WIDTH)),
                    "half": Case(
                        lambda half=half, to=target: build_context(half, to), _all_answered(_WIDTH // 2)
                    ),
                }
                seconds = rounds(contexts, 3, time.process_time)
                middle = statistics.median(seconds["wide"])
                slowest = max(slowest, middle)
                table.rows.append(
                    (
                        shape.api,
                        "in reverse" if answered else "none",
                        "none" if target is None else target.api,
                        f"{middle * 1e3:.1f}",
                        f"{ratio(seconds, 'wide', 'half'):.1f}",
                        f"{len(build_context(wide, target).changes):,}",
                    )
                )
    report.tables.append(table)
    report.goals.append(Goal(f"{_WIDTH:,} calls at once, the slowest", 0.5, slowest, "s"))


def _all_answered(width: int) -> Callable[[Context], bool]:
    def is_right(context: Context) -> bool:
        asked = [call.id for item in context.items for call in tool_calls(item)]
        given = [output.id for item in context.items for output in tool_outputs(item)]
        return len(asked) == width and sorted(map(str, given)) == sorted(map(str, asked))

    return is_right


# ----------------------------------------------------------------------- where it goes


def _profile(report: Report, setting: Setting) -> None:
    """The functions that take most of the time: a hint where to look, as a goal is missed."""
    table = Table(
        "Where the time goes, in the share of the whole under cProfile",
        ("case", "function", "calls an entry", "itself", "with what it calls"),
        note="cProfile charges each call, so small functions look dearer than they are.",
    )
    count = 1_000 if setting.quick else 10_000
    for source in _TARGETS:
        entries = JsonlStore(logs.log(setting.work, count, target=source)).load()
        for target in _TARGETS:
            profile = cProfile.Profile()
            profile.runcall(build_context, entries, target)
            stats: Any = pstats.Stats(profile)
            whole = stats.total_tt
            rows = sorted(stats.stats.items(), key=lambda row: -row[1][2])[:6]
            for (file, line, function), (_, calls, own, all_of_it, _) in rows:
                place = f"{os.path.basename(file)}:{line} {function}" if line else function
                table.rows.append(
                    (
                        f"{source.api} for {target.api}",
                        f"`{place}`",
                        f"{calls / count:.2f}",
                        f"{own / whole:.0%}",
                        f"{all_of_it / whole:.0%}",
                    )
                )
    report.tables.append(table)
