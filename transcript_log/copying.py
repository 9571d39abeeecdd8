"""A session copied from where it is to where it is not yet: files and databases, byte for byte.

What is copied is lines, with their marks and seals, blank ones too; nothing is encoded anew.
So a copy of a copy is the first one again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from ._logfile.reader import BatchReader, CutError, Fault, raw_lines
from ._logfile.seal import SPACE
from ._reading import opened, read_head, refuse_pi
from ._scanning import decode_leniently
from .codec import decode_detail
from .errors import CorruptLogError, StorageError
from .findings import Finding
from .jsonl import JsonlStore
from .store import RawLog, Scan
from .stores import LogStore, open_store

__all__ = ["Copied", "as_file", "copy_session", "put_file"]

_DOING: Final = "copy the session"
_SOUND: Final = ("doubtful-time",)
"""What of a line is told, and does not keep it from being copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy holds.

    Attributes:
        path: Where it is.
        entries: How many entries.
        details: How many records of details.
        size: How long the log is, in bytes.
        findings: What is worth knowing of the source, such as a torn tail, which is no part of it.
    """

    path: str
    entries: int
    details: int
    size: int
    findings: tuple[Finding, ...]


def copy_session(source: str | os.PathLike[str], dest: str | os.PathLike[str]) -> Copied:
    """Copy a session, read back and compared before it counts as made.

    Either may be a path or a URL; see :func:`transcript_log.stores.open_store`. The copy is there
    wholly or not at all, with its details, and takes nothing's place. A session that is being
    written to may be copied: what is acknowledged is copied. A file whose last line lacks its line
    feed has one in the copy.

    Raises:
        CorruptLogError: The source is damaged. A session in a database is copied to a file all
            the same, and told in ``findings``, for only files can be salvaged.
        StorageError: There is no such source, or there is something at ``dest`` already; or a
            system refused.
        HeaderError: The source is no log of ours.
    """
    with contextlib.ExitStack() as stack:
        here, there = open_store(source), open_store(dest)
        stack.callback(here.close)
        stack.callback(there.close)
        _refuse_same(here, there)
        scan = here.scan()
        if scan.header is None:
            raise StorageError(here.path, _DOING, "there is no log there", errno.ENOENT)
        if isinstance(here, JsonlStore) or not isinstance(there, JsonlStore):
            _refuse_damage(scan, here.path)
        while True:
            counted = _Counted(_raw_of(here))
            try:
                _put(there, counted)
                break
            except CutError:  # a batch that was read was taken back
                continue
    told = tuple(finding for finding in scan.findings)
    return Copied(
        path=there.path,
        entries=counted.entries,
        details=counted.details,
        size=counted.size,
        findings=told,
    )


@contextlib.contextmanager
def as_file(store: LogStore) -> Iterator[JsonlStore]:
    """The session in a file: its own, or for as long as it is needed one of the same lines."""
    if isinstance(store, JsonlStore):
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="transcript-log-") as folder:
        file = JsonlStore(os.path.join(folder, "log.jsonl"), checksum=store.checksum)
        _put(file, _Counted(_raw_of(store)))
        yield file


def put_file(file: JsonlStore, store: LogStore) -> None:
    """Make the log of a store of the lines of a file.

    Raises:
        StorageError: There is one already.
    """
    _put(store, _Counted(_raw_of(file)))


class _Counted:
    """The lines of a log, counted as they are asked for."""

    def __init__(self, raw: RawLog) -> None:
        self._raw: Final = raw
        self.header: Final = raw.header
        self.entries = self.details = self.size = 0

    def entry_lines(self) -> Iterator[tuple[bytes, bool]]:
        self.entries, self.size = 0, len(self.header) + 1
        for line, is_first in self._raw.entries():
            self.entries += 1
            self.size += len(line) + 1
            yield line, is_first

    def detail_lines(self) -> Iterator[bytes]:
        self.details = 0
        for line in self._raw.details():
            self.details += 1
            yield line


def _raw_of(store: LogStore) -> RawLog:
    if not isinstance(store, JsonlStore):
        return store.raw()
    with opened(store.path) as fd:
        if fd is None:
            raise StorageError(store.path, _DOING, "there is no log there", errno.ENOENT)
        head = read_head(store.path, fd)
        refuse_pi(store.path, fd, head)
        end, line = _behind_blanks(fd, head.offset, head.line)
        header = os.pread(fd, end, 0)
    return RawLog(
        header.removesuffix(b"\n"),
        lambda: _file_lines(
            store.path, end, line, lambda raw, sealed: (decode_leniently(raw, sealed), raw)[1]
        ),
        lambda: (
            text
            for text, _ in _file_lines(
                store.details_path, 0, 1, lambda raw, sealed: (decode_detail(raw, sealed), raw)[1]
            )
        ),
    )


def _behind_blanks(fd: int, offset: int, line: int) -> tuple[int, int]:
    """Where the first line behind an offset begins that says something, and which it is."""
    for raw in raw_lines(fd, offset):
        if raw.strip(SPACE) or raw[-1:] != b"\n":
            break
        offset += len(raw)
        line += 1
    return offset, line


def _file_lines(
    path: str, offset: int, line: int, decode: Callable[[bytes, bool], bytes]
) -> Iterator[tuple[bytes, bool]]:
    """The lines of a file without their line feeds, each with whether it begins a batch.

    Blank lines go with the one before them.
    """

    def on_fault(fault: Fault) -> Iterable[bytes]:
        raise CorruptLogError(path, fault.line, fault.offset, fault.reason, fault.advice) from fault.error

    with opened(path, follow=False) as fd:
        if fd is None:
            return
        reader: BatchReader[bytes] = BatchReader(path, fd, decode, on_fault, offset=offset, line=line)
        held, was_first, is_first, end = b"", True, True, offset
        for raw in reader:
            if held:
                blank = os.pread(fd, reader.offset - end, end)
                yield (held + blank).removesuffix(b"\n"), was_first
            elif reader.offset > end:
                raise CorruptLogError(path, line, offset, "blank lines stand before the first record")
            held, was_first, end = raw, is_first, reader.offset + len(raw)
            is_first = not reader.more
        if held:
            rest = os.pread(fd, max(0, reader.end - end), end)
            yield (held + rest).removesuffix(b"\n"), was_first


def _put(store: LogStore, lines: _Counted) -> None:
    if isinstance(store, JsonlStore):
        _put_in_file(store, lines)
    elif not store.put_lines(lines.header, lines.entry_lines, lines.detail_lines):
        raise StorageError(store.path, "make the log", "there is one already", errno.EEXIST, "name another")


def _put_in_file(store: JsonlStore, lines: _Counted) -> None:
    digests = {store.path: sha256(), store.details_path: sha256()}

    def noted(path: str, given: Iterable[bytes]) -> Iterator[bytes]:
        for line in given:
            digests[path].update(line)
            digests[path].update(b"\n")
            yield line + b"\n"

    def log() -> Iterator[bytes]:
        yield lines.header
        for line, _ in lines.entry_lines():
            yield line

    store.make(noted(store.path, log()), noted(store.details_path, lines.detail_lines()))
    for path, digest in digests.items():
        with opened(path, follow=False) as fd:
            read = sha256()
            for raw in () if fd is None else raw_lines(fd, 0):
                read.update(raw)
        if read.digest() != digest.digest():
            reason = "what was written did not read back as it was"
            raise StorageError(path, _DOING, reason, None, "remove it, and report this")


def _refuse_same(here: LogStore, there: LogStore) -> None:
    if here.path == there.path:
        raise StorageError(there.path, _DOING, "it is the source", errno.EEXIST, "name another place")


def _refuse_damage(scan: Scan, path: str) -> None:
    wrong: Sequence[Finding] = [
        finding for finding in scan.findings if finding.severity != "note" and finding.rule not in _SOUND
    ]
    if wrong:
        first = wrong[0]
        more = f"; and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        advice = first.advice or "run 'transcript-log salvage' first"
        raise CorruptLogError(
            first.path or path, first.line or 1, first.offset or 0, f"{first.message}{more}", advice
        )
