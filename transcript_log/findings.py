"""What is wrong in a file or a context, and what a projection changed, told as values.

A finding is made once, where the fault is seen, and shown everywhere: ``scan``,
``check``, ``inspect`` and ``salvage`` all speak of the same ones. A change is made where a
context departs from the log: the context carries it, ``context --explain`` and
``check --for`` show it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["Change", "ChangeKind", "Finding", "FindingList", "Severity"]

Severity = Literal["error", "warning", "note"]
"""How bad it is. ``error``: bytes or entries are damaged; ``warning``: a model's API or
a reader may stumble over it; ``note``: worth knowing, nothing to mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or worth knowing, in a file.

    Attributes:
        rule: A short stable name, as in ``"torn-tail"``.
        severity: See :data:`Severity`.
        message: What is so, in one sentence without the place.
        advice: What to do about it; empty where there is nothing to do.
        path: The file; None where the values came from elsewhere.
        line: The physical line, from 1; None where no single line is meant.
        offset: Where that line begins, in bytes from the start of the file.
        entry: The entry id concerned.
        call: The call id concerned.
        item: Where the item concerned stands among those that were looked at, from 0.
    """

    rule: str
    severity: Severity
    message: str
    advice: str = ""
    path: str | None = None
    line: int | None = None
    offset: int | None = None
    entry: str | None = None
    call: str | None = None
    item: int | None = None

    def __str__(self) -> str:
        place = self.path or ""
        if self.line is not None:
            at = f"line {self.line}" + ("" if self.offset is None else f" (byte {self.offset})")
            place = f"{place}: {at}" if place else at
        elif self.offset is not None:
            place = f"{place}: byte {self.offset}" if place else f"byte {self.offset}"
        names = [
            f"{kind} {value}"
            for kind, value in (("entry", self.entry), ("call", self.call))
            if value is not None and not _names(self.message, value)
        ]
        if self.item is not None:
            names.insert(0, f"item {self.item}")
        head = ": ".join(part for part in (place, self.severity, ", ".join(names)) if part)
        tail = f"; {self.advice}" if self.advice else ""
        return f"{head}: {self.message}{tail}"


ChangeKind = Literal["left-out", "moved", "added", "rewritten", "merged"]
"""What was done: something of the log is not in the context, stands elsewhere, stands there
although the log has it not, stands there in other words, or was put together with others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One way in which a context departs from the log, and why. The log stays as it is.

    Attributes:
        kind: See :data:`ChangeKind`.
        rule: A short stable name of the reason, as in ``"unanswered-call"``.
        message: What was done and why, in one sentence without the place.
        entry: The entry concerned; None where no single one is.
        call: The call id concerned.
        item: What was left out, or what stood there before: the very object of the log, or a
            block of it; None where nothing of it is gone.
    """

    kind: ChangeKind
    rule: str
    message: str
    entry: str | None = None
    call: str | None = None
    item: Mapping[str, Any] | None = None

    __hash__ = None  # type: ignore[assignment]  # items are dicts

    def __str__(self) -> str:
        names = [
            f"{kind} {value}"
            for kind, value in (("entry", self.entry), ("call", self.call))
            if value is not None and repr(value) not in self.message
        ]
        head = f"{', '.join(names)}: " if names else ""
        return f"{head}{self.kind}: {self.message}"


def _names(message: str, name: str) -> bool:
    """Whether a message gives a name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) is not None


class FindingList:
    """The findings of one log, written down as they are met.

    Args:
        path: The log.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.findings: Final[list[Finding]] = []

    def find(
        self,
        rule: str,
        severity: Severity,
        message: str,
        at: tuple[int, int],
        advice: str = "",
        entry: str | None = None,
    ) -> None:
        """Add one; ``at`` is the physical line from 1, and where that begins in bytes."""
        self.findings.append(
            Finding(
                rule=rule,
                severity=severity,
                message=message,
                advice=advice,
                path=self.path,
                line=at[0],
                offset=at[1],
                entry=entry,
            )
        )
