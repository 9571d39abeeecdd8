"""``transcript-log stats``: what sessions took of their models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, cast

import click

from ..costs import listed_prices
from ..entries import Entry, Json, RunEntry
from ..stats import GROUPINGS, Group, Grouping, Spent, find_spent, group_spent
from .output import counted, echo, echo_json, show_time, tell
from .source import FileType, Session, open_session
from .text import one_line

__all__ = ["stats"]

_COLUMNS: Final = ("responses", "input", "cache_read", "cache_write", "output", "total")


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FileType())
@click.option(
    "--by", type=click.Choice(GROUPINGS), default="model", show_default=True, help="What to sum by."
)
@click.option("--cost", is_flag=True, help="Also US dollars by list prices; needs transcript-log[cost].")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per sum.")
def stats(files: tuple[str, ...], by: str, cost: bool, as_json: bool) -> None:
    """Sum up the tokens that sessions took.

    Each response counts once, and so does each entry that a fork copied: in the file that is
    given first. Requests that made a compaction have sums of their own. Input, cache reads,
    cache writes and output are disjoint. Days are in UTC. A model that the price list does not
    know gets no cost. Sidecars (.details.jsonl) among several files are passed over.

    \b
    Example:
        transcript-log stats session.jsonl
        transcript-log stats sessions/*.jsonl --by day --json | jq '[.day, .total]'
    """
    sessions = [open_session(file) for file in _sessions_of(files)]
    for session in sessions:
        tell(session.file_findings)
    price = listed_prices() if cost else None
    spent = find_spent(named for session in sessions for named in _conversations(session))
    groups = group_spent(spent, cast(Grouping, by), price=price)
    if as_json:
        for group in groups:
            echo_json(_as_json(group, by, cost=cost))
        return
    names = _names(groups, by, sessions)
    total = group_spent(spent, price=price)[0]
    _table([*zip(names, groups, strict=True), ("all", total)], by, cost=cost)
    for line in _remarks(spent, groups):
        echo(line, err=True)


def _sessions_of(files: tuple[str, ...]) -> list[str]:
    """The files without the sidecars, which a pattern such as ``*.jsonl`` finds too."""
    kept = [file for file in files if not file.endswith(".details.jsonl")]
    if not kept:
        return list(files)
    if len(kept) < len(files):
        echo(f"{counted(len(files) - len(kept), 'sidecar')} passed over", err=True)
    return kept


def _conversations(session: Session) -> Iterator[tuple[str, Sequence[Entry]]]:
    """What was said in a file, by the session it belongs to: that of the file, and those of subagents."""
    yield _name(session), session.entries
    for linked in session.linked:
        yield linked.header.id or _name(session), linked.entries


def _name(session: Session) -> str:
    named = session.header.id if session.header is not None else None
    return named or session.path


def _as_json(group: Group, by: str, *, cost: bool) -> dict[str, Json]:
    tokens = group.tokens
    out: dict[str, Json] = {by: group.key, "compaction": group.compaction}
    out |= {name: getattr(tokens, name) for name in (*_COLUMNS, "untold")}
    if cost:
        out |= {"cost": None if group.cost is None else float(group.cost), "unpriced": group.unpriced}
    return out


def _names(groups: list[Group], by: str, sessions: list[Session]) -> list[str]:
    """What each group is called in the table."""
    runs = {
        entry.id: entry for session in sessions for entry in session.entries if isinstance(entry, RunEntry)
    }
    names = []
    for group in groups:
        run = runs.get(group.key or "") if by == "run" else None
        name = group.key or ("in no run" if by == "run" else "unknown")
        if run is not None:
            name += f" {show_time(run.run.started_at)}" + (f" {run.run.status}" if run.run.status else "")
        names.append(name + (" (compactions)" if group.compaction else ""))
    return names


def _table(rows: list[tuple[str, Group]], by: str, *, cost: bool) -> None:
    heads = [by, *(name.replace("_", " ") for name in _COLUMNS), *(["cost"] if cost else [])]
    lines = [heads]
    for name, group in rows:
        numbers = [f"{getattr(group.tokens, column)}" for column in _COLUMNS]
        lines.append([one_line(name), *numbers, *([_dollars(group.cost)] if cost else [])])
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for first, *rest in lines:
        columns = [
            f"{first:<{widths[0]}}",
            *(f"{text:>{width}}" for text, width in zip(rest, widths[1:], strict=True)),
        ]
        echo("  ".join(columns))


def _dollars(cost: Decimal | None) -> str:
    return "-" if cost is None else f"${cost:.4f}"


def _remarks(spent: list[Spent], groups: list[Group]) -> list[str]:
    """What the sums do not say of themselves."""
    untold = sum(group.tokens.untold for group in groups)
    unpriced = sum(group.unpriced for group in groups)
    lines = [] if spent else ["no response here tells of its tokens"]
    lines += [f"of {counted(untold, 'response')} the tokens are not, or not all, known"] if untold else []
    lines += [f"of {counted(unpriced, 'response')} the price is not known"] if unpriced else []
    return lines
