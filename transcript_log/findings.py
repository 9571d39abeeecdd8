"""What is wrong in a file, told as a value.

A finding is made once, where the fault is seen, and shown everywhere: ``scan``,
``check``, ``inspect`` and ``salvage`` all speak of the same ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Severity"]

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
        head = ": ".join(part for part in (place, self.severity, ", ".join(names)) if part)
        tail = f"; {self.advice}" if self.advice else ""
        return f"{head}: {self.message}{tail}"


def _names(message: str, name: str) -> bool:
    """Whether a message gives a name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) is not None
