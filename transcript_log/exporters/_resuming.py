"""What sessions for agents that go on with them have in common: times, ids, what is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from .. import _json
from ..apis._base import with_clean_text
from ..entries import Entry, Header, Json, MessageEntry
from ..findings import Change, ChangeKind
from ..store import DetailKey
from . import Exported

__all__ = [
    "Changes",
    "Times",
    "exported",
    "families_of",
    "made_uuid",
    "origin_of",
    "session_uuid",
    "source_of",
    "tell_of_session",
]

_NAMES: Final = uuid5(NAMESPACE_URL, "transcript-log:convert")
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


def made_uuid(*parts: str) -> str:
    """A UUID made of texts: the same one each time."""
    name = "\n".join(parts).encode("utf-8", "replace").decode()
    return str(uuid5(_NAMES, name))


def session_uuid(header: Header, entries: Sequence[Entry]) -> str:
    """The session's id if it is a UUID, else one made of it."""
    told = header.id or ""
    try:
        if str(UUID(told)) == told.lower():
            return told.lower()
    except ValueError:
        pass
    return made_uuid("session", told, entries[0].id if entries and not told else "")


def source_of(header: Header) -> Mapping[str, Json]:
    """What a log keeps of the session that it was made of."""
    source = header.extra.get("importedFrom")
    return source if type(source) is dict else {}


def origin_of(header: Header) -> dict[str, Json]:
    """Where a session comes from: a mark for people, which no agent reads."""
    told = source_of(header).get("format")
    return {"format": told if type(told) is str else "transcript-log", "id": header.id}


def families_of(entries: Sequence[Entry], api: str) -> list[str]:
    """The families of an API that a log names, in order."""
    found = (entry.family for entry in entries if isinstance(entry, MessageEntry))
    return list(dict.fromkeys(one for one in found if one is not None and one.startswith(f"{api}/")))


class Changes:
    """What cannot be said as it was, in order; what holds of the whole session is told once."""

    def __init__(self) -> None:
        self.made: Final[list[Change]] = []
        self._told: Final[set[tuple[str, str]]] = set()

    def tell(self, kind: ChangeKind, rule: str, message: str, entry: str | None = None) -> None:
        """Tell of one thing."""
        self.made.append(Change(kind=kind, rule=rule, message=message, entry=entry))

    def once(self, kind: ChangeKind, rule: str, message: str) -> None:
        """Tell of something at its first place."""
        if (rule, message) not in self._told:
            self._told.add((rule, message))
            self.tell(kind, rule, message)


def tell_of_session(
    changes: Changes, header: Header, session: str, details: Mapping[DetailKey, Json], agent: str
) -> None:
    """Tell what of a session as a whole an agent's file does not say."""
    if session != header.id:
        why = f"the session is called {session}: {agent} takes UUIDs alone"
        changes.tell("rewritten", "session-id", why)
    if header.forked_from is not None or header.parent is not None:
        changes.tell("left-out", "header", "which session it belongs to is not told")
    if any(name.startswith("request:") for name, _ in details):
        changes.tell("left-out", "request", "what models were sent beside the items is not told")


class Times:
    """The time of each record, in milliseconds as agents write it."""

    def __init__(self, header: Header, entries: Sequence[Entry], changes: Changes) -> None:
        told = (entry.timestamp for entry in entries if entry.timestamp is not None)
        self.last = header.timestamp or next(told, _LONG_AGO)
        self._changes = changes

    def of(self, entry: Entry | None) -> str:
        """The time of an entry; that of the one before it where none is known."""
        if entry is not None:
            if entry.timestamp is None:
                why = "the time is not known: that of the entry before is told"
                self._changes.tell("rewritten", "time", why, entry.id)
            else:
                self.last = entry.timestamp
                if self.last.microsecond % 1000:
                    self._changes.once("rewritten", "time", "times go in whole milliseconds")
        return self.text(self.last)

    @staticmethod
    def text(time: datetime) -> str:
        """A time as text."""
        return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z".rjust(24, "0")


def exported(records: Sequence[Mapping[str, Any]], changes: Changes) -> Exported:
    """Records as the lines of a file, without half characters: readers in Rust take no line with one."""
    clean = [with_clean_text(record) for record in records]
    if any(one is not other for one, other in zip(clean, records, strict=True)):
        changes.once("rewritten", "surrogate", "half characters go as U+FFFD")
    lines = (_json.encode(record).decode() + "\n" for record in clean)
    return Exported(pieces=lines, changes=tuple(changes.made))
