"""What an importer tells of a source: each finding at its place, and what is frequent once, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from ..findings import Finding, Severity
from . import SourceRecord

__all__ = ["Spot", "Telling"]


class Spot(Protocol):
    """Something that stands on a line of the source."""

    @property
    def line(self) -> int: ...

    @property
    def offset(self) -> int: ...


class Telling:
    """The findings of one import.

    Args:
        notes: What is told once however often it is met, by rule: how bad it is, and a sentence
            with ``{number}`` and ``{about}`` in it.
        path: For the findings.
        keep_unknown: Whether records that no entry tells are kept.

    Attributes:
        path: For the findings.
        kept: Those that are, each with what it is called.
    """

    def __init__(
        self, notes: Mapping[str, tuple[Severity, str]], path: str | None, *, keep_unknown: bool = False
    ) -> None:
        self.path: Final = path
        self.kept: Final[list[tuple[SourceRecord, str]]] = []
        self._keep_unknown: Final = keep_unknown
        self._notes: Final = notes
        self._found: list[Finding] = []
        self._seen: dict[tuple[str, str], list[int]] = {}  # line, offset, how often

    def note(self, spot: Spot, rule: str, about: str = "") -> None:
        """Count what is told once, at its first place."""
        seen = self._seen.get((rule, about))
        if seen is None:
            self._seen[rule, about] = [spot.line, spot.offset, 1]
        else:
            seen[2] += 1

    def tell(self, spot: Spot, rule: str, severity: Severity, message: str, call: str | None = None) -> None:
        """Tell of one thing where it is."""
        self._found.append(
            Finding(
                rule=rule,
                severity=severity,
                message=message,
                path=self.path,
                line=spot.line,
                offset=spot.offset,
                call=call,
            )
        )

    def leave_out(self, record: SourceRecord, kind: str) -> None:
        """Note a record that no entry tells, and keep it if that was asked for."""
        if not self._keep_unknown:
            self.note(record, "not-imported", kind)
        elif not self.is_refused(record._replace(is_doubtful=True)):
            self.note(record, "kept-unknown", kind)
            self.kept.append((record, kind))

    def is_refused(self, record: SourceRecord) -> bool:
        """Whether a log could not give a record back as it is; that is told."""
        reason = record.refusal()
        if reason is not None:
            message = f"a log cannot give this record back as it is: {reason}; left out"
            self.tell(record, "unstorable", "error", message)
        return reason is not None

    def findings(self) -> list[Finding]:
        """All of them, in the order of the source."""
        told = list(self._found)
        for (rule, about), (line, offset, number) in self._seen.items():
            severity, message = self._notes[rule]
            told.append(
                Finding(
                    rule=rule,
                    severity=severity,
                    message=message.format(number=number, about=about),
                    path=self.path,
                    line=line,
                    offset=offset,
                )
            )
        return sorted(told, key=lambda finding: finding.line or 0)
