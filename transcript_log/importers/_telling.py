"""What an importer tells of its source: each thing at its place, or once with a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..findings import Finding, Severity
from . import SourceRecord

__all__ = ["Telling"]


@dataclass(slots=True, eq=False)
class _Seen:
    """What is told once however often it is met: where first, and how often."""

    first: SourceRecord
    number: int = 0


class Telling:
    """The findings of one import.

    Args:
        path: Named in each.
        notes: What is told once for each rule and thing: its severity and its words, in
            which ``{number}`` and ``{about}`` are put.
    """

    def __init__(self, path: str | None, notes: Mapping[str, tuple[Severity, str]]) -> None:
        self._path = path
        self._notes = notes
        self._findings: list[Finding] = []
        self._seen: dict[tuple[str, str], _Seen] = {}

    def tell(self, record: SourceRecord, rule: str, severity: Severity, message: str) -> None:
        """Tell of something at its place."""
        self._findings.append(self._made(record, rule, severity, message))

    def note(self, record: SourceRecord, rule: str, about: str = "") -> None:
        """Count what is told once, at its first place."""
        self._seen.setdefault((rule, about), _Seen(record)).number += 1

    def is_refused(self, record: SourceRecord) -> bool:
        """Whether a log could not give a record back as it is; that is told."""
        reason = record.refusal()
        if reason is not None:
            self.tell(
                record,
                "unstorable",
                "error",
                f"a log cannot give this record back as it is: {reason}; left out",
            )
        return reason is not None

    def findings(self) -> Iterator[Finding]:
        """All of them; what was counted comes last."""
        yield from self._findings
        for (rule, about), seen in self._seen.items():
            severity, message = self._notes[rule]
            yield self._made(seen.first, rule, severity, message.format(number=seen.number, about=about))

    def _made(self, record: SourceRecord, rule: str, severity: Severity, message: str) -> Finding:
        return Finding(
            rule=rule,
            severity=severity,
            message=message,
            path=self._path,
            line=record.line,
            offset=record.offset,
        )
