"""Logs in the formats of other agents, so that these can go on with them.

An exporter is a function of values: a header, entries and details go in, an
:class:`Exported` comes out. Nothing is read or written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..findings import Change

__all__ = ["Exported"]


@dataclass(frozen=True, slots=True)
class Exported:
    """A log as another agent would have written it. Iterating gives its lines.

    Attributes:
        lines: The physical lines of the file, each with its line end.
        changes: What could not be said there, or only in other words, in the order of the log.
    """

    lines: tuple[bytes, ...]
    changes: tuple[Change, ...]

    __hash__ = None  # type: ignore[assignment]  # changes hold items

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.lines)
