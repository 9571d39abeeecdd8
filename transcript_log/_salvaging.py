"""Making a readable log of a damaged one: a plan first, then a new file in its place.

What is kept is kept byte for byte where that is possible. The old file stays beside the
new one, whole. Nothing here is done without being asked for.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from . import _json
from ._logfile.files import sync_folder, telling
from ._logfile.reader import BatchReader, Fault, TooLongError, raw_lines
from ._logfile.seal import SPACE, is_intact, is_sealed, line_of, resealed, unsealed
from ._reading import BOM, Head, opened, read_head
from ._times import format_time
from .codec import (
    decode_detail,
    decode_entry,
    detail_from_value,
    encode_entry,
    entry_from_value,
)
from .entries import Detail, Entry, IdSource
from .errors import CorruptLogError, EntryError, EntryNotFoundError
from .findings import Finding

__all__ = [
    "Plan",
    "SalvagePlan",
    "detail_lines",
    "entry_lines",
    "plan_reseal",
    "plan_salvage",
    "write_plan",
]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Lines = Iterator[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvagePlan:
    """What mending a file would do, or did.

    Attributes:
        path: The file.
        kept: How many lines stay as they are, the header among them.
        rewritten: How many are written anew: saved from a damaged line, or resealed.
        findings: What is left out or changed, each with its line and offset.
        applied: Whether it was done.
        backup: Where the old file is now; None unless applied.
    """

    path: str
    kept: int
    rewritten: int
    findings: tuple[Finding, ...]
    applied: bool = False
    backup: str | None = None

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do. A torn tail alone is left to the next writer."""
        return any(finding.severity != "note" for finding in self.findings)


class Plan:
    """Counts lines on their way into the new file, and writes down what happens to others.

    Attributes:
        ids: The entries whose lines went into it, by their ids.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.ids: dict[str, Entry] = {}
        self.kept = 0
        self.rewritten = 0
        self.findings: list[Finding] = []

    def keep(self, line: bytes) -> bytes:
        self.kept += 1
        return line if line[-1:] == b"\n" else line + b"\n"

    def rewrite(self, body: bytes, sealable: bool = True) -> bytes:
        self.rewritten += 1
        return line_of(body, checksum=sealable and _is_sealable(body))

    def find(self, rule: str, message: str, line: int, offset: int, entry: str | None = None) -> None:
        self.findings.append(
            Finding(
                rule=rule,
                severity="note" if rule == "torn-tail" else "warning",
                message=message,
                path=self.path,
                line=line,
                offset=offset,
                entry=entry,
            )
        )

    def result(self) -> SalvagePlan:
        return SalvagePlan(
            path=self.path, kept=self.kept, rewritten=self.rewritten, findings=tuple(self.findings)
        )


@dataclass(frozen=True, slots=True)
class _Line:
    """An entry on its way: the bytes it stood in, and whether they can stay."""

    raw: bytes
    entry: Entry
    stays: bool
    sealable: bool = True


def plan_salvage(
    path: str, *, is_log: bool, id_source: IdSource, out: Callable[[bytes], None]
) -> SalvagePlan:
    """What a salvage keeps, rewrites and leaves out; the new file's lines go to ``out``.

    Raises:
        HeaderError: The log's header cannot be read.
        StorageError: The file cannot be read.
    """
    plan = Plan(path)
    with opened(path) as fd:
        if fd is not None:
            lines = _log_lines(path, fd, plan, id_source) if is_log else detail_lines(path, fd, plan)
            for line in lines:
                out(line)
    return plan.result()


def _log_lines(path: str, fd: int, plan: Plan, id_source: IdSource) -> Lines:
    head = read_head(path, fd)
    if head.header is None:
        return
    if head.fault:
        plan.find("checksum", f"{head.fault}; it is kept, with a new checksum", *head.at)
        yield plan.rewrite(unsealed(head.text))
    else:
        yield plan.keep(head.text)
    yield from entry_lines(path, fd, head, plan, id_source)


def entry_lines(
    path: str, fd: int, head: Head, plan: Plan, id_source: IdSource, until: str | None = None
) -> Lines:
    """The lines of a log's entries: as they stand where that can be.

    Args:
        path: The log, for the findings.
        fd: Its descriptor.
        head: How it begins.
        plan: Learns what happens to each line.
        id_source: Gives the second of two entries of one id its new one.
        until: The id of the entry to end with; by default the last.

    Raises:
        EntryNotFoundError: There is no entry ``until``.
    """

    def decode(raw: bytes, sealed: bool) -> _Line:
        try:
            return _Line(raw, decode_entry(raw, sealed), True)
        except EntryError:
            try:
                value = _json.decode(raw)
            except ValueError as error:
                raise EntryError("$", f"not JSON: {error}", "json") from None
            return _Line(raw, entry_from_value(value, _accept), False)

    def save(fault: Fault) -> list[_Line]:
        saved: list[_Line] = []
        broken = "checksum" in fault.reason
        for first, last, value in _json.decode_all(fault.raw):
            with contextlib.suppress(EntryError):
                entry = entry_from_value(value, _accept)
                piece = fault.raw[first:last]
                try:
                    decode_entry(piece)
                except EntryError:
                    saved.append(_Line(piece, entry, False, not broken))
                else:
                    saved.append(_Line(b"\t" + piece, entry, True, not broken))
        what = "it is left out"
        if saved:
            what = "it is kept" if len(saved) == 1 else f"the {len(saved)} entries on it are kept"
        if saved and broken:
            what += ", without a checksum: it may not say what was written"
        plan.find("damaged-line", f"{fault.reason}; {what}", fault.line, fault.offset)
        return saved

    reader: BatchReader[_Line] = BatchReader(path, fd, decode, save, offset=head.offset, line=head.line)
    ids = plan.ids
    moment = _EPOCH if head.header is None else head.header.timestamp or _EPOCH
    batch: list[tuple[bytes, bool, bool]] = []
    for item in reader:
        entry, stays = item.entry, item.stays
        if not stays and entry.timestamp is None:
            entry = replace(entry, timestamp=moment)
            plan.find(
                "unknown-time",
                "its time cannot be read; it gets that of the entry before",
                reader.line,
                reader.offset,
                entry.id,
            )
        elif not stays:
            plan.find(
                "doubtful-time",
                "its time is written as it was understood",
                reader.line,
                reader.offset,
                entry.id,
            )
        moment = entry.timestamp or moment
        known = ids.get(entry.id)
        if known is not None and _json.is_same(known, entry):
            plan.find(
                "repeated-entry", "it is there already, and left out", reader.line, reader.offset, entry.id
            )
        else:
            if known is not None:
                fresh = id_source()
                message = f"its id {entry.id!r} is that of another entry; it becomes {fresh!r}"
                plan.find("repeated-id", message, reader.line, reader.offset, entry.id)
                entry, stays = replace(entry, id=fresh), False
            ids[entry.id] = entry
            raw = item.raw if stays else _encoded(item.raw, entry)
            batch.append((raw, stays, item.sealable))
        if entry.id == until:
            yield from _batch_lines(plan, batch, is_cut=reader.more)
            return
        if not reader.more:
            yield from _batch_lines(plan, batch)
            batch = []
    if until is not None:
        raise EntryNotFoundError(until, path)
    yield from _batch_lines(plan, batch)
    _tell_torn(plan, reader)


def _accept(doubt: str) -> None:
    """A doubtful time is told once the entry is placed."""


def _is_sealable(body: bytes) -> bool:
    """Whether a sealed line would be read as it stands: integers past 64 bits would be rounded."""
    if not _json.has_long_digits(body):
        return True
    try:
        _json.encode(_json.decode(body))
    except (EntryError, ValueError):
        return False
    return True


def _encoded(raw: bytes, entry: Entry) -> bytes:
    try:
        return encode_entry(entry)
    except EntryError:
        # It holds what only its own spelling can tell, such as 1e400. Of repeated keys the last counts.
        time = format_time(entry.timestamp or _EPOCH)
        changed = _json.encode({"id": entry.id, "timestamp": time})
        return unsealed(raw)[:-1] + b"," + changed[1:]


def _batch_lines(plan: Plan, batch: list[tuple[bytes, bool, bool]], *, is_cut: bool = False) -> Lines:
    """The lines of a batch: as they stand if it is whole, else each on its own.

    Of one that is cut on purpose the last line is written anew, as a last line is.
    """
    if not batch:
        return
    whole = all(stays for _, stays, _ in batch)
    if whole and is_cut:
        for raw, _, _ in batch[:-1]:
            yield plan.keep(raw)
        yield plan.rewrite(unsealed(batch[-1][0]))
        return
    whole = whole and not _stands_open(batch[-1][0])
    for raw, stays, sealable in batch:
        if whole:
            yield plan.keep(raw)
        else:
            yield plan.rewrite(unsealed(raw) if stays else raw, sealable)


def _stands_open(raw: bytes) -> bool:
    """Whether a line is marked, or only a piece of one (see ``save``)."""
    text = raw.rstrip(SPACE)
    return raw[:1] == b"\t" and (raw[-1:] != b"\n" or (is_sealed(text) and is_intact(text)))


def detail_lines(path: str, fd: int, plan: Plan, wanted: Callable[[Detail], bool] = lambda _: True) -> Lines:
    """The lines of a sidecar, or of its records that are wanted: as they stand where that can be."""

    def decode(raw: bytes, sealed: bool) -> tuple[bytes, Detail | None]:
        return raw, decode_detail(raw, sealed)

    def save(fault: Fault) -> list[tuple[bytes, Detail | None]]:
        saved: list[tuple[bytes, Detail | None]] = []
        for first, last, value in _json.decode_all(fault.raw):
            with contextlib.suppress(EntryError):
                detail = detail_from_value(value)
                if detail is not None:
                    saved.append((b"\t" + fault.raw[first:last], detail))
        what = f"{len(saved)} of its values are kept" if saved else "it is left out"
        plan.find("damaged-line", f"{fault.reason}; {what}", fault.line, fault.offset)
        return saved

    reader = BatchReader(path, fd, decode, save)
    batch: list[tuple[bytes, bool, bool]] = []
    is_cut = False
    for raw, detail in reader:
        if detail is None or wanted(detail):
            batch.append((raw, True, True))
            is_cut = reader.more
        if not reader.more:
            yield from _batch_lines(plan, batch, is_cut=is_cut)
            batch = []
    _tell_torn(plan, reader)


def _tell_torn(plan: Plan, reader: BatchReader[_Line] | BatchReader[tuple[bytes, Detail | None]]) -> None:
    if reader.torn is not None:
        torn = reader.torn
        plan.find("torn-tail", f"{torn.reason}, {torn.size} bytes; it is left out", torn.line, torn.offset)


def plan_reseal(path: str, out: Callable[[bytes], None]) -> SalvagePlan:
    """What resealing changes; the new file's lines go to ``out``.

    Only lines that are valid JSON and whose checksum does not match get a new checksum.

    Raises:
        CorruptLogError: A line is over the limit.
        StorageError: The file cannot be read.
    """
    plan = Plan(path)
    with opened(path) as fd:
        if fd is None:
            return plan.result()
        line, offset = 0, 0
        unsealable: list[tuple[int, int]] = []
        with telling(path, "read"):
            try:
                for line, raw in enumerate(raw_lines(fd, 0), 1):
                    text = (raw.removeprefix(BOM) if line == 1 else raw).rstrip(SPACE)
                    if is_sealed(text) and not is_intact(text) and _is_object(text):
                        if _is_sealable(unsealed(text)):
                            plan.find("checksum", "it gets a new checksum", line, offset)
                            plan.rewritten += 1
                            out(resealed(text))
                            offset += len(raw)
                            continue
                        unsealable.append((line, offset))
                    plan.kept += 1
                    out(raw)
                    offset += len(raw)
            except TooLongError:
                raise CorruptLogError(
                    path, line + 1, offset, "the line is too long", "run 'transcript-log salvage' first"
                ) from None
        if unsealable and not plan.findings:
            reason = "the line holds a number that a line with a checksum cannot keep"
            raise CorruptLogError(path, *unsealable[0], reason, "run 'transcript-log salvage' on the file")
    return plan.result()


def _is_object(text: bytes) -> bool:
    try:
        return type(_json.decode(text)) is dict
    except ValueError:
        return False


def write_plan(path: str, make: Callable[[Callable[[bytes], None]], SalvagePlan]) -> SalvagePlan:
    """Carry out a plan: a new file, synced, takes the place of the old one, which is kept.

    The caller holds the log's lock.

    Args:
        path: The file, no link.
        make: Makes the plan, handing each line of the new file to its argument.
    """
    fresh = path + ".salvage"
    with telling(fresh, "write the salvaged file"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)  # left by a salvage that did not finish
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with telling(fresh, "write the salvaged file"), os.fdopen(fd, "wb", buffering=1 << 20) as file:
            plan = make(lambda line: _ignore(file.write(line)))
            file.flush()
            os.fsync(file.fileno())
        if not plan.is_needed:
            os.unlink(fresh)
            return plan
        backup = _keep_old(path)
        with telling(path, "put the salvaged file in its place"):
            os.rename(fresh, path)
        sync_folder(path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise
    return replace(plan, applied=True, backup=backup)


def _ignore(written: int) -> None:
    """A buffered file takes all it is given."""


def _keep_old(path: str) -> str:
    """Give the old file a second name beside it, never one that is taken."""
    number = 1
    while True:
        backup = f"{path}.before-salvage-{number}"
        with telling(backup, "keep the old file"):
            try:
                os.link(path, backup, follow_symlinks=False)
            except FileExistsError:
                number += 1
                continue
            except (PermissionError, OSError):
                if os.path.lexists(backup):
                    raise
                _copy(path, backup)
        return backup


def _copy(path: str, backup: str) -> None:
    """For file systems without hard links."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(path, "rb") as old, os.fdopen(os.open(backup, flags, 0o600), "wb") as new:
        while block := old.read(1 << 20):
            new.write(block)
        new.flush()
        os.fsync(new.fileno())
