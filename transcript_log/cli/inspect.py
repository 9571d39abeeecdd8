"""``transcript-log inspect``: what a session holds, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple, Self

import click

from .._times import format_time
from ..counts import Counts, count_entries
from ..entries import Json
from ..session.calls import OpenCall, open_calls
from ..stats import Tokens, context_size, find_spent, group_spent
from ..subagents import SubagentFile
from .output import counted, echo, echo_json, finding_json, show_size, show_time
from .source import FORMAT_NAMES, Session, file_argument, open_session, subagents_of
from .text import one_line

__all__ = ["inspect"]

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
_TOKENS = ("responses", "untold", "input", "cache_read", "cache_write", "output", "total")
_SHOWN = 5
"""How many open calls are shown, the newest ones."""


@click.command()
@file_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def inspect(file: str, as_json: bool) -> None:
    """Say what a session holds.

    Its header, how many entries, messages, calls, outputs and compactions there are, how many
    calls were never answered, which of them still wait for an answer and how far each came
    (never-began, began, finished), the tokens that its responses took, the size of the context
    as its last response tells it, pictures and their bytes, damage, size, first and last time.
    Calls that were broken off, or that a compaction left behind, wait no more. And where the
    sessions of its subagents are, and which call each carried out.

    \b
    Example:
        transcript-log inspect session.jsonl
        transcript-log inspect session.jsonl --json | jq '.open_calls[] | select(.state == "began")'
    """
    session = open_session(file)
    found = _Found.of(session)
    if as_json:
        echo_json(_as_json(session, found))
        return
    for name, value in _rows(session, found):
        echo(one_line(f"{name:<12} {value}"))


class _Found(NamedTuple):
    """What is counted and looked for in a session."""

    counts: Counts
    numbers: Mapping[str, int]
    tokens: Tokens
    open_calls: Sequence[OpenCall]
    subagents: Sequence[SubagentFile]

    @classmethod
    def of(cls, session: Session) -> Self:
        counts = count_entries(session.entries)
        (spent,) = group_spent(find_spent([("", session.entries)]))
        return cls(
            counts,
            {name: getattr(counts, name) for name in _COUNTED} | dict(session.source_counts),
            spent.tokens,
            open_calls(session.entries, session.details),
            subagents_of(session),
        )


def _known_of(call: OpenCall) -> str:
    """How far an open call came, as far as the details tell."""
    if call.outcome is not None:
        return f"finished ({call.outcome.status}), and its output was not recorded"
    if call.has_begun:
        at = "" if call.started_at is None else f" at {show_time(call.started_at)}"
        return f"began{at}; how it ended is not known"
    return "no record that it began"


def _as_json(session: Session, found: _Found) -> dict[str, Json]:
    header, counts, tokens = session.header, found.counts, found.tokens
    out: dict[str, Json] = {"path": session.path, "format": session.format, "size": session.size}
    if header is not None:
        out |= {
            "id": header.id,
            "timestamp": None if header.timestamp is None else format_time(header.timestamp),
            "harness": header.harness,
            "cwd": header.cwd,
            "forked_from": None if header.forked_from is None else asdict(header.forked_from),
            "parent": None if header.parent is None else asdict(header.parent),
            "version": header.version,
            "header_extra": dict(header.extra),
        }
    out |= {"entries": counts.entries, "by_type": dict(counts.by_type), "by_role": dict(counts.by_role)}
    out |= found.numbers
    out["usage"] = {name: getattr(tokens, name) for name in _TOKENS}
    out["context_tokens"] = context_size(session.entries)
    out["open_calls"] = [
        {
            "call": call.call.id,
            "name": call.call.name,
            "entry": call.entry,
            "state": call.state,
            "started": None if call.started_at is None else format_time(call.started_at),
            "status": None if call.outcome is None else call.outcome.status,
        }
        for call in found.open_calls
    ]
    out["subagents"] = [
        {
            "id": each.id,
            "path": each.path,
            "session": None if each.parent is None else each.parent.session,
            "call": None if each.parent is None else each.parent.call,
        }
        for each in found.subagents
    ]
    if session.sealing is not None:
        out |= {"sealed": session.sealing[0], "unsealed": session.sealing[1]}
    out |= {
        "first_time": None if counts.first_time is None else format_time(counts.first_time),
        "last_time": None if counts.last_time is None else format_time(counts.last_time),
        "findings": [finding_json(finding) for finding in session.findings],
    }
    return out


def _rows(session: Session, found: _Found) -> list[tuple[str, str]]:
    header, counts, numbers = session.header, found.counts, found.numbers
    rows = [
        ("file", session.path),
        ("format", FORMAT_NAMES[session.format]),
        ("size", show_size(session.size)),
    ]
    if header is not None:
        rows += [("session", header.id or "not named"), ("made", show_time(header.timestamp))]
        rows += [(name, value) for name, value in (("by", header.harness), ("folder", header.cwd)) if value]
        if header.forked_from is not None:
            rows.append(("forked from", f"{header.forked_from.session} at {header.forked_from.entry}"))
        if header.parent is not None:
            rows.append(("for call", f"{header.parent.call} of {header.parent.session}"))
    rows += [
        ("first entry", show_time(counts.first_time)),
        ("last entry", show_time(counts.last_time)),
        ("entries", f"{counts.entries} ({_split(counts.by_type)})" if counts.entries else "none"),
        ("roles", _split(counts.by_role) or "none"),
        ("calls", _calls(numbers)),
        *_open_rows(found),
        *_subagent_rows(session, found.subagents),
        *_token_rows(session, found.tokens),
        ("reasoning", f"{numbers['reasoning']}{_opaque(numbers)}"),
        ("pictures", f"{counts.images + counts.tool_images} ({show_size(counts.image_bytes)})"),
        ("compactions", f"{numbers['compactions']}"),
        ("broken off", f"{numbers['aborted']}"),
    ]
    if session.sealing is not None:
        rows.append(("checksums", f"{session.sealing[0]} entries with one, {session.sealing[1]} without"))
    broken, recovered = numbers["broken_lines"], numbers["recovered"]
    damage = f"{counted(broken, 'line')}; {recovered} saved from there" if broken else "none"
    told = Counter(finding.severity for finding in session.findings)
    severities = ", ".join(counted(told[kind], kind) for kind in ("error", "warning", "note") if told[kind])
    advice = "; 'transcript-log check' lists them" if severities else ""
    return [*rows, ("damage", damage), ("findings", (severities or "none") + advice)]


def _open_rows(found: _Found) -> list[tuple[str, str]]:
    calls = found.open_calls
    if found.counts.unanswered and not calls:
        return [("open calls", "none: what was not answered was broken off, or a compaction left it behind")]
    rows = [
        ("open call", f"{call.call.name} {call.call.id} (entry {call.entry}): {_known_of(call)}")
        for call in calls[-_SHOWN:]
    ]
    more = len(calls) - _SHOWN
    return [("open call", f"{more} earlier (--json lists them)"), *rows] if more > 0 else rows


def _subagent_rows(session: Session, subagents: Sequence[SubagentFile]) -> list[tuple[str, str]]:
    rows = []
    for each in subagents[:_SHOWN]:
        place = "in this file" if each.path == session.path else each.path
        call = "" if each.parent is None else f", for call {each.parent.call}"
        rows.append(("subagent", f"{each.id}, {place}{call}"))
    more = len(subagents) - _SHOWN
    return [*rows, ("subagent", f"{more} more (--json lists them)")] if more > 0 else rows


def _token_rows(session: Session, tokens: Tokens) -> list[tuple[str, str]]:
    if not tokens.responses:
        return [("tokens", "no response tells")]
    parts = [f"{tokens.input} input"]
    parts += [f"{tokens.cache_read} cache read"] if tokens.cache_read else []
    parts += [f"{tokens.cache_write} cache write"] if tokens.cache_write else []
    told = f"{tokens.total} ({', '.join([*parts, f'{tokens.output} output'])})"
    told += f" in {counted(tokens.responses, 'response')}"
    told += f", {tokens.untold} of which do not tell all" if tokens.untold else ""
    size = context_size(session.entries)
    return [("tokens", told), ("context", "unknown" if size is None else f"{size} tokens")]


def _split(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(numbers.items()))


def _calls(numbers: Mapping[str, int]) -> str:
    parts = [counted(numbers["results"], "output")]
    for name, what in (("unanswered", "unanswered"), ("orphan_results", "without a call")):
        parts += [f"{numbers[name]} {what}"] if numbers[name] else []
    for name, what in (("error_results", "error"), ("parallel_groups", "parallel group")):
        parts += [counted(numbers[name], what)] if numbers[name] else []
    return f"{numbers['calls']} ({', '.join(parts)})"


def _opaque(numbers: Mapping[str, int]) -> str:
    private = numbers["opaque_reasoning"]
    return f" ({private} with parts that only their producer can read)" if numbers["reasoning"] else ""
