"""Sessions in forms that people and other programs read.

An exporter is a function of values: an :class:`ExportSource` goes in, and an :class:`Exported`
comes out, whose pieces are made as they are asked for. It touches no file. ``markdown``,
``html``, ``chat_jsonl`` and ``pi`` are modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..entries import Entry, Header, Json
from ..findings import Change, Finding
from ..store import DetailKey

__all__ = ["ExportSource", "Exported", "Exporter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSource:
    """A session that is to be exported.

    Attributes:
        name: What people call it, such as the name of its file.
        entries: All that could be read, in the order of the log.
        details: The payloads beside them.
        header: None where the log has none.
        maker: Which agent's session it is, in words; empty for a log of this package.
        findings: What is wrong with the bytes it was read from, and so may be missing.
    """

    name: str
    entries: Sequence[Entry]
    details: Mapping[DetailKey, Json] = field(default_factory=dict)
    header: Header | None = None
    maker: str = ""
    findings: tuple[Finding, ...] = ()

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A session in another form.

    Attributes:
        pieces: Its text, to be written as UTF-8; iterate once. Each piece is made when it is asked
            for, and none holds a lone surrogate.
        changes: What that form could not hold as it was.
    """

    pieces: Iterable[str]
    changes: tuple[Change, ...] = ()


Exporter: TypeAlias = Callable[[ExportSource], Exported]
"""Gives a session in one form."""
