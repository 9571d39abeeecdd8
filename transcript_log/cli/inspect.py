"""``transcript-log inspect``: what a session holds, counted."""

from __future__ import annotations

from typing import Any

import click

from .._times import format_time
from ..counts import Counts, count_entries
from ..entries import Json
from ..findings import Finding
from .output import echo_json, show_size, show_time
from .source import Session, file_argument, open_session
from .text import plain

__all__ = ["finding_json", "inspect"]

_COUNTED = (
    "user",
    "assistant",
    "assistant_messages",
    "calls",
    "results",
    "unanswered",
    "orphan_results",
    "parallel_groups",
    "error_results",
    "reasoning",
    "opaque_reasoning",
    "images",
    "tool_images",
    "image_bytes",
    "compactions",
    "aborted",
)


@click.command()
@file_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def inspect(file: str, as_json: bool) -> None:
    """Say what a session holds.

    Its header, how many entries, messages, calls, outputs and compactions there are, which
    calls were never answered, pictures and their bytes, damage, size, first and last time.

    \b
    Example:
        transcript-log inspect session.jsonl
        transcript-log inspect session.jsonl --json | jq .unanswered
    """
    session = open_session(file)
    counts = count_entries(session.entries)
    if as_json:
        echo_json(_as_json(session, counts))
    else:
        _print(session, counts)


def _numbers(session: Session, counts: Counts) -> dict[str, int]:
    numbers = {name: getattr(counts, name) for name in _COUNTED}
    return {**numbers, **session.source_counts}


def _as_json(session: Session, counts: Counts) -> dict[str, Json]:
    header = session.header
    out: dict[str, Json] = {"path": session.path, "format": session.format, "size": session.size}
    if header is not None:
        out |= {
            "id": header.id,
            "timestamp": None if header.timestamp is None else format_time(header.timestamp),
            "harness": header.harness,
            "cwd": header.cwd,
            "version": header.version,
            "header_extra": dict(header.extra),
        }
    out |= {"entries": counts.entries, "by_type": dict(counts.by_type), "by_role": dict(counts.by_role)}
    out |= _numbers(session, counts)
    if session.sealing is not None:
        out |= {"sealed": session.sealing[0], "unsealed": session.sealing[1]}
    out |= {
        "first_time": None if counts.first_time is None else format_time(counts.first_time),
        "last_time": None if counts.last_time is None else format_time(counts.last_time),
        "findings": [finding_json(finding) for finding in session.findings],
    }
    return out


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding as a JSON object, with every key."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "message": finding.message,
        "advice": finding.advice,
        "path": finding.path,
        "line": finding.line,
        "offset": finding.offset,
        "entry": finding.entry,
        "call": finding.call,
    }


def _print(session: Session, counts: Counts) -> None:
    header = session.header
    numbers = _numbers(session, counts)
    rows: list[tuple[str, str]] = [("file", session.path), ("format", session.format)]
    if header is not None:
        rows += [("id", header.id or "not given"), ("made", show_time(header.timestamp))]
        rows += [(name, value) for name, value in (("by", header.harness), ("folder", header.cwd)) if value]
    rows += [
        ("size", show_size(session.size)),
        ("first", show_time(counts.first_time)),
        ("last", show_time(counts.last_time)),
        ("entries", f"{counts.entries}  {_split(counts.by_type)}"),
        ("roles", _split(counts.by_role) or "none"),
        ("calls", f"{counts.calls} with {counts.results} outputs, {counts.unanswered} unanswered, "
         f"{counts.orphan_results} outputs without a call, {counts.error_results} errors"),
        ("parallel", f"{counts.parallel_groups} groups of calls"),
        ("reasoning", f"{counts.reasoning}, of which only their producer can read {counts.opaque_reasoning}"),
        ("pictures", f"{counts.images + counts.tool_images}, {show_size(counts.image_bytes)}"),
        ("compactions", str(counts.compactions)),
        ("aborted", str(numbers.get("aborted", 0))),
    ]
    if session.sealing is not None:
        rows.append(("checksums", f"{session.sealing[0]} entries with one, {session.sealing[1]} without"))
    bad = [finding for finding in session.file_findings if finding.severity == "error"]
    rows.append(("damage", f"{numbers.get('broken_lines', 0)} lines; 'transcript-log check' tells" if bad else "none"))
    for name, value in rows:
        click.echo(f"{name:<12} {plain(value)}")


def _split(numbers: Any) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(numbers.items()))
