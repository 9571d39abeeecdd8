"""Reading a session's rows round their damage, and telling of it."""

from __future__ import annotations

from typing import Final

from .. import _json
from .._collector import collector_paused
from ..codec import detail_from_value, entry_from_value
from ..entries import Detail, Entry, Json
from ..errors import EntryError
from ..findings import FindingList
from ..store import DetailKey, Place, Scan
from ._access import Access
from ._pages import Found, Pages, RowLine, header_of, missing
from ._rows import EDITED, detail_of, entry_of, physical, wrong_columns

__all__ = ["scan_session"]

_COPY: Final = (
    "copy the session to a file with 'transcript-log copy', and run 'transcript-log salvage' on that"
)


class _Scanner(FindingList):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.damaged = 0

    def damage(self, reason: str, saved: bool, at: Place, entry: str | None = None) -> None:
        """Tell of a row whose line is not as it was written."""
        self.damaged += 1
        rule = "checksum" if EDITED in reason else "damaged-line"
        what = "it could be read all the same" if saved else "nothing could be read from it"
        self.find(rule, "error", f"{EDITED if rule == 'checksum' else reason}; {what}", at, _COPY, entry)


def scan_session(access: Access, found: Found | None, path: str) -> Scan:
    """All that can be read of a session, and all that is wrong with it.

    Raises:
        HeaderError: The header cannot be read.
        StorageError: The database refused, or cannot be reached.
    """
    if found is None:
        return Scan(header=None, entries=(), places=())
    scanner = _Scanner(path)
    header, fault = header_of(found.header, path, strict=False)
    if fault:
        scanner.find("checksum", "error", fault, (1, 0), _COPY)
    entries: list[Entry] = []
    places: list[Place] = []
    sealed_count = 0
    size = 0 if found.header is None else len(found.header) + 1
    expected = 1
    with collector_paused():
        for row in Pages(access, found).rows(0, found.last):
            if row.seq != expected:
                scanner.damage(missing(expected, row.seq), False, (expected + 1, size))
            expected = row.seq + 1
            at = (row.seq + 1, size)
            size += len(row.text) + 1
            entry, sealed = _read(row, scanner, at)
            if entry is None:
                continue
            entries.append(entry)
            places.append(at)
            sealed_count += sealed
        if expected <= found.last:
            scanner.damage(missing(expected, found.last + 1), False, (expected + 1, size))
        details = _details(access, found, scanner)
    return Scan(
        header=header,
        entries=tuple(entries),
        places=tuple(places),
        details=details,
        findings=tuple(scanner.findings),
        lines=len(places) + scanner.damaged + (header is not None),
        sealed=sealed_count,
        unsealed=len(entries) - sealed_count,
        damaged=scanner.damaged,
        size=size,
    )


def _read(row: RowLine, scanner: _Scanner, at: Place) -> tuple[Entry | None, bool]:
    sealed = False
    entry: Entry | None
    try:
        entry, sealed = entry_of(row.text)
    except EntryError as error:
        doubts: list[str] = []
        entry = _saved(row.text, doubts)
        if entry is None or not doubts or error.reason == EDITED:
            scanner.damage(str(error), entry is not None, at, None if entry is None else entry.id)
        for doubt in doubts:
            scanner.find("doubtful-time", "warning", doubt, at, entry=None if entry is None else entry.id)
    if entry is not None and (wrong := wrong_columns(row.columns, entry)):
        scanner.damaged += 1
        message = f"the row's {', '.join(wrong)} is not what its line says; the line counts"
        scanner.find("damaged-line", "error", message, at, _COPY, entry.id)
    return entry, sealed


def _saved(text: bytes, doubts: list[str]) -> Entry | None:
    """What can be read of a line that is damaged, or whose time is doubtful."""
    for _, _, value in _json.decode_all(physical(text)):
        try:
            return entry_from_value(value, doubts.append)
        except EntryError:
            doubts.clear()
    return None


def _details(access: Access, found: Found, scanner: _Scanner) -> dict[DetailKey, Json]:
    """The payloads; damaged ones are told with their row among the details."""
    details: dict[DetailKey, Json] = {}
    damaged = scanner.damaged
    offset = 0
    for row in Pages(access, found, "details").rows(0, found.details):
        record: Detail | None = None
        try:
            record = detail_of(row.text)
        except EntryError as error:
            for _, _, value in _json.decode_all(physical(row.text)):
                try:
                    record = detail_from_value(value)
                    break
                except EntryError:
                    continue
            scanner.damage(f"of the details: {error}", record is not None, (row.seq, offset))
        offset += len(row.text) + 1
        if record is not None:
            details[record.id, record.entry] = record.payload
    scanner.damaged = damaged
    return details
