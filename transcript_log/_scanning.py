"""Reading a log's file round its damage, and telling of it.

What can be read is read; what cannot is named, with its line. No lock is taken and nothing
is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from . import _json
from ._collector import collector_paused
from ._logfile.reader import BatchReader, CutError, Fault, Torn
from ._reading import RESEAL_HEADER, Head, opened, read_head
from .codec import decode_detail, decode_entry, detail_from_value, entry_from_value
from .entries import Entry, Json
from .errors import EntryError
from .findings import FindingList
from .store import DetailKey, Place, Scan

__all__ = ["decode_leniently", "scan_log"]

T = TypeVar("T")


class _Scanner(FindingList):
    """Reads round damage, and writes down what it saw."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.damaged = 0

    def save(self, fault: Fault, read: Callable[[Json], T]) -> list[T]:
        """The values that fill a damaged line, read; and a finding of what became of it."""
        self.damaged += 1
        values = _json.decode_all(fault.raw)
        saved: list[T] = []
        lost: list[str] = []
        for _, _, value in values:
            try:
                saved.append(read(value))
            except EntryError as error:
                lost.append(str(error))
        if not saved:
            what = "nothing could be read from it"
        elif lost:
            what = f"{len(saved)} of the {len(values)} values on it could be read ({lost[0]})"
        elif len(saved) == 1:
            what = "it could be read all the same"
        else:
            what = f"the {len(saved)} values on it could be read"
        rule = "checksum" if "checksum" in fault.reason else "damaged-line"
        self.find(rule, "error", f"{fault.reason}; {what}", (fault.line, fault.offset), fault.advice)
        return saved

    def tell_torn(self, torn: Torn | None) -> None:
        if torn is not None:
            self.find(
                "torn-tail",
                "note",
                f"{torn.reason}, {torn.size} bytes: a crash left it, or a write is under way;"
                " it was never acknowledged",
                (torn.line, torn.offset),
                "nothing to do: the next writer moves it aside",
            )


def scan_log(path: str, details_path: str) -> Scan:
    """All that can be read of a log and its sidecar.

    Raises:
        HeaderError: The header cannot be read.
        StorageError: The file cannot be read.
    """
    while True:
        try:
            return _scan_log(path, details_path)
        except CutError:
            continue


def _scan_log(path: str, details_path: str) -> Scan:
    with opened(path) as fd:
        scanner = _Scanner(path)
        if fd is None:
            details = _scan_details(details_path, scanner)
            findings = tuple(scanner.findings)
            return Scan(header=None, entries=(), places=(), details=details, findings=findings)
        head = read_head(path, fd)
        size = os.fstat(fd).st_size
        entries: list[Entry] = []
        places: list[Place] = []
        unsealed = 0
        lines = head.line - 1
        if head.header is None:
            if size > head.offset:
                scanner.tell_torn(
                    Torn(head.line, head.offset, size - head.offset, "a header that was never finished")
                )
        else:
            if head.fault:
                scanner.find("checksum", "error", head.fault, head.at, RESEAL_HEADER)
            with collector_paused():
                lines, unsealed = _scan_entries(path, fd, head, scanner, entries, places)
        details = _scan_details(details_path, scanner)
        return Scan(
            header=head.header,
            entries=tuple(entries),
            places=tuple(places),
            details=details,
            findings=tuple(scanner.findings),
            lines=lines,
            sealed=len(entries) - unsealed,
            unsealed=unsealed,
            damaged=scanner.damaged,
            size=size,
        )


def decode_leniently(raw: bytes, sealed: bool) -> tuple[Entry, tuple[str, ...]]:
    """The entry of a line, and what is doubtful about its times.

    Raises:
        EntryError: The line is no entry.
    """
    try:
        return decode_entry(raw, sealed), ()
    except EntryError:
        try:
            value = _json.decode(raw)
        except ValueError as error:
            raise EntryError("$", f"not JSON: {error}", "json") from None
        doubts: list[str] = []
        return entry_from_value(value, doubts.append), tuple(doubts)


def _scan_entries(
    path: str, fd: int, head: Head, scanner: _Scanner, entries: list[Entry], places: list[Place]
) -> tuple[int, int]:
    def lenient(value: Json) -> tuple[Entry, tuple[str, ...]]:
        doubts: list[str] = []
        return entry_from_value(value, doubts.append), tuple(doubts)

    reader: BatchReader[tuple[Entry, tuple[str, ...]]] = BatchReader(
        path,
        fd,
        decode_leniently,
        lambda fault: scanner.save(fault, lenient),
        offset=head.offset,
        line=head.line,
    )
    first: dict[str, int] = {}
    unsealed = 0
    for entry, doubtful in reader:
        at = (reader.line, reader.offset)
        for doubt in doubtful:
            scanner.find("doubtful-time", "warning", doubt, at, entry=entry.id)
        index = first.setdefault(entry.id, len(entries))
        if index != len(entries):
            line = places[index][0]
            if _json.is_same(entries[index], entry):
                scanner.find(
                    "repeated-entry",
                    "warning",
                    f"the entry {entry.id!r} stands on line {line} already, just so; it counts once",
                    at,
                    "run 'transcript-log salvage' to leave the repeat out",
                    entry.id,
                )
                continue
            scanner.find(
                "repeated-id",
                "error",
                f"another entry with the id {entry.id!r} stands on line {line}; both are kept",
                at,
                "run 'transcript-log salvage' to give one of them a new id",
                entry.id,
            )
        entries.append(entry)
        places.append(at)
        unsealed += not reader.sealed
    scanner.tell_torn(reader.torn)
    return reader.lines, unsealed


def _scan_details(path: str, scanner: _Scanner) -> dict[DetailKey, Json]:
    with opened(path, follow=False) as fd:
        if fd is None:
            return {}
        log_path, scanner.path = scanner.path, path
        damaged = scanner.damaged
        reader = BatchReader(path, fd, decode_detail, lambda fault: scanner.save(fault, detail_from_value))
        details = {(detail.id, detail.entry): detail.payload for detail in reader if detail is not None}
        scanner.tell_torn(reader.torn)
        scanner.path, scanner.damaged = log_path, damaged
        return details
