"""What is wrong with a session, as findings.

A store's ``scan`` tells what is wrong with the bytes; this module adds what is wrong with
what they say. Nothing is read or changed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ._json import is_json
from .entries import CompactionEntry, Entry, Json, MessageEntry, RunEntry
from .findings import Finding, Severity
from .history import Called, History, OutputWithoutCall, RepeatedOutput, Said, build_history
from .store import Place, Scan

__all__ = ["check_entries", "check_scan", "is_sound"]


def check_scan(scan: Scan, path: str | None = None) -> tuple[Finding, ...]:
    """All that is wrong with a scanned log, in file order; what has no line comes last."""
    findings = list(scan.findings)
    findings += check_entries(scan.entries, scan.details, places=scan.places, path=path)
    if scan.unsealed:
        findings.append(
            Finding(
                rule="unsealed",
                severity="note",
                message=f"{scan.unsealed} of {len(scan.entries)} entries stand on lines without a checksum:"
                " a changed byte in them would go unnoticed",
                path=path,
            )
        )
    in_order = [finding for finding in findings if finding.line is not None and finding.path == path]
    others = [finding for finding in findings if finding.line is None or finding.path != path]
    return (*sorted(in_order, key=lambda finding: finding.line or 0), *others)


def is_sound(findings: Sequence[Finding]) -> bool:
    """Whether nothing is wrong: notes are no faults."""
    return all(finding.severity == "note" for finding in findings)


def check_entries(
    entries: Sequence[Entry],
    details: Mapping[tuple[str, str | None], Json] | None = None,
    *,
    places: Sequence[Place] = (),
    path: str | None = None,
) -> tuple[Finding, ...]:
    """All that is wrong with what entries say, in their order.

    Args:
        entries: A whole log, in file order.
        details: The sidecar's payloads.
        places: Where each entry stands, if that is known.
        path: The file, for the findings.
    """
    found = [
        *_boundary_findings(entries),
        *_run_findings(entries),
        *_call_findings(build_history(entries, details)),
    ]
    index: dict[str, int] = {}
    for position, entry in enumerate(entries):
        index.setdefault(entry.id, position)
    found.sort(key=lambda finding: index.get(finding.entry or "", len(entries)))
    return tuple(_placed(finding, index, places, path) for finding in found)


def _placed(finding: Finding, index: Mapping[str, int], places: Sequence[Place], path: str | None) -> Finding:
    position = index.get(finding.entry or "")
    if position is None or position >= len(places):
        return replace(finding, path=path)
    return replace(finding, path=path, line=places[position][0], offset=places[position][1])


def _found(
    rule: str, severity: Severity, message: str, entry: str, advice: str = "", call: str | None = None
) -> Finding:
    return Finding(rule=rule, severity=severity, message=message, advice=advice, entry=entry, call=call)


def _boundary_findings(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Compactions that cannot do what they say."""
    kinds: dict[str, bool] = {}
    for entry in entries:
        if isinstance(entry, CompactionEntry):
            compaction = entry.compaction
            if not compaction.summary.strip() and not compaction.replacement:
                yield _found(
                    "blank-summary",
                    "warning",
                    "the compaction has neither a summary nor a replacement for what it compacts",
                    entry.id,
                    "compact again with a summary",
                )
            kept = compaction.first_kept_entry_id
            if kept and not kinds.get(kept):
                what = "is no message" if kept in kinds else "is no earlier entry"
                yield _found(
                    "first-kept",
                    "error",
                    f"the compaction keeps messages from {kept!r} on, which {what}",
                    entry.id,
                    "compact again, naming an earlier message",
                )
        kinds.setdefault(entry.id, isinstance(entry, MessageEntry))


def _run_findings(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Runs whose first entry is not there."""
    seen: set[str] = set()
    for entry in entries:
        first = entry.run.first_entry_id if isinstance(entry, RunEntry) else None
        if first is not None and first not in seen:
            yield _found(
                "run-first-entry",
                "warning",
                f"the run begins with {first!r}, which is no earlier entry",
                entry.id,
            )
        seen.add(entry.id)


def _call_findings(history: History) -> Iterator[Finding]:
    """Calls and outputs that do not find each other. APIs refuse a request that holds them."""
    last_said = 0
    for position, event in enumerate(history.events):
        if isinstance(event, Said):
            last_said = position
    for position, event in enumerate(history.events):
        match event:
            case Called(answered=False, call_id=call_id):
                still_open = position > last_said
                yield _found(
                    "unanswered-call",
                    "note" if still_open else "warning",
                    f"the call of {event.name!r} was never answered"
                    + (", and nothing was said since: it may still be open" if still_open else ""),
                    event.entry,
                    "" if still_open else "a context stands in for the output; the log needs no change",
                    call_id,
                )
            case OutputWithoutCall(call_id=call_id):
                yield _found(
                    "output-without-call",
                    "warning",
                    "the output answers a call that is not in the log",
                    event.entry,
                    "a context leaves it out; the log needs no change",
                    call_id,
                )
            case RepeatedOutput(call_id=call_id):
                yield _found(
                    "repeated-output",
                    "warning",
                    "the output answers a call that has been answered already",
                    event.entry,
                    "a context sends one of them; the log needs no change",
                    call_id,
                )
            case _:
                pass
        if isinstance(event, Called) and event.kind == "function" and isinstance(event.arguments, str):
            yield from _argument_findings(event, event.arguments)


def _argument_findings(event: Called, arguments: str) -> Iterator[Finding]:
    if not is_json(arguments or "{}"):
        yield _found(
            "cut-arguments",
            "warning",
            f"the arguments of the call of {event.name!r} are no JSON; they may have been cut off",
            event.entry,
            "an API may refuse them; the log needs no change",
            event.call_id,
        )
