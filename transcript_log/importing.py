"""A log of our own made of a session of another agent.

The log is written under another name, read back, compared with what was to be written, and
only then given its own name. No file that is there is ever replaced. The same source gives
the same bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Final

from . import _json
from ._logfile.files import closing, copy_bytes, make_folder, sync_folder, telling, write_all
from ._logfile.seal import LINE_LIMIT, line_of
from .codec import encode_detail, encode_entry, encode_header
from .copying import copy_session
from .entries import CompactionEntry, Detail, Entry, Header, MessageEntry, RunEntry
from .errors import CorruptLogError, EntryError, StorageError
from .findings import Finding
from .importers import Imported
from .jsonl import JsonlStore
from .store import Place
from .stores import is_url

__all__ = ["Written", "give_name", "write_imported"]

_PIECE: Final = 1 << 20
_DOING: Final = "make the log"
_UNSTORABLE: Final = "a log cannot give {what} back as it is: {error}; left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of an import.

    Attributes:
        path: The log.
        entries: How many entries it holds.
        details: How many records its sidecar holds; there is no sidecar without one.
        refused: What could not be stored, with its path inside the entry, or was changed for that.
    """

    path: str
    entries: int
    details: int
    refused: tuple[Finding, ...]


def write_imported(imported: Imported, path: str | os.PathLike[str], *, source: str | None = None) -> Written:
    """Write a session of another agent to a new log at ``path``, and its sidecar beside it.

    Both are there wholly or not at all, mode 0600, on disk on return. What a log cannot give
    back as it is (NaN, integers past 64 bits, nesting over 200) is left out, and told.

    Args:
        imported: The session.
        path: The log, or the URL of a session in a database. Folders that are missing are made.
        source: The file it comes from, for the findings.

    Raises:
        StorageError: There is a file at ``path``, or another sidecar beside it; the system
            refused; or what was written did not read back as it was, as where two entries share
            an id. Nothing is left behind.
    """
    if is_url(path):
        return _write_to_database(imported, os.fspath(path), source)
    final = JsonlStore(path)
    with telling(final.path, _DOING):
        if os.path.lexists(path):
            raise _is_there(final.path)
        make_folder(final.path)
        folder = tempfile.mkdtemp(dir=os.path.dirname(final.path), prefix=".transcript-log-import-")
    try:
        draft = JsonlStore(os.path.join(folder, "log.jsonl"))
        selection = _Selection(imported, source)
        with telling(final.path, _DOING):
            _write(draft.path, chain((selection.header_line(),), selection.entry_lines()))
            _write(draft.details_path, selection.detail_lines())
        wrong = _difference(draft, selection)
        if wrong:
            reason = f"what was written did not read back as it was: {wrong}"
            raise StorageError(final.path, _DOING, reason, None, "nothing was made; report this")
        named: list[str] = []
        try:
            if selection.details and give_name(draft.details_path, final.details_path, same=True):
                named.append(final.details_path)
            give_name(draft.path, final.path)
            named.append(final.path)
            sync_folder(final.path)
        except BaseException:
            for name in reversed(named):
                with contextlib.suppress(OSError):
                    os.unlink(name)
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Written(
        path=final.path,
        entries=len(selection.entries),
        details=len(selection.details),
        refused=tuple(selection.findings),
    )


def _write_to_database(imported: Imported, url: str, source: str | None) -> Written:
    """The same to the URL of a session: a file is made first, and copied."""
    with tempfile.TemporaryDirectory(prefix="transcript-log-") as folder:
        written = write_imported(imported, os.path.join(folder, "log.jsonl"), source=source)
        return replace(written, path=copy_session(written.path, url).path)


class _Selection:
    """What of a session is written, as its lines are asked for; the rest becomes findings.

    Attributes:
        header: The header as it is written.
        entries: Those whose lines were given.
        details: The same of the sidecar.
    """

    def __init__(self, imported: Imported, source: str | None) -> None:
        self.header: Header = imported.header
        self.entries: list[Entry] = []
        self.details: list[Detail] = []
        self.findings: list[Finding] = []
        self._imported = imported
        self._source = source
        self._left_out: dict[str, str | None] = {}  # by id: the next message that is written
        self._waiting: list[str] = []  # those that wait for one

    def header_line(self) -> bytes:
        try:
            return line_of(encode_header(self.header))
        except EntryError as error:
            self._tell("unstorable", _UNSTORABLE.format(what="the session's header", error=error))
        kept = self.header.extra.get("importedFrom")
        told = kept.get("format") if isinstance(kept, dict) else None
        self.header = replace(
            self.header, extra={"importedFrom": {"format": told}} if type(told) is str else {}
        )
        return line_of(encode_header(self.header))

    def entry_lines(self) -> Iterator[bytes]:
        places = self._imported.places
        for index, entry in enumerate(self._imported.entries):
            place = places[index] if index < len(places) else None
            mended = self._mended(entry, place)
            try:
                line = _fitting(encode_entry(mended, untimed=True))
            except EntryError as error:
                self._tell("unstorable", _UNSTORABLE.format(what="this", error=error), place, entry.id)
                self._left_out[entry.id] = None
                self._waiting.append(entry.id)
                continue
            if self._waiting and isinstance(entry, MessageEntry):
                self._left_out.update(dict.fromkeys(self._waiting, entry.id))
                self._waiting.clear()
            self.entries.append(mended)
            yield line

    def _mended(self, entry: Entry, place: Place | None) -> Entry:
        """An entry that names one that was left out, naming the message after that instead."""
        match entry:
            case CompactionEntry(compaction=compaction) if compaction.first_kept_entry_id in self._left_out:
                kept = self._left_out[compaction.first_kept_entry_id]
                now = "no earlier message is kept" if kept is None else f"messages are kept from {kept} on"
                message = f"the compaction keeps messages from one on that was left out: {now}"
                self._tell("first-kept", message, place, entry.id)
                return replace(entry, compaction=replace(compaction, first_kept_entry_id=kept))
            case RunEntry(run=run) if run.first_entry_id in self._left_out:
                return replace(entry, run=replace(run, first_entry_id=self._left_out[run.first_entry_id]))
            case _:
                return entry

    def detail_lines(self) -> Iterator[bytes]:
        for detail in self._imported.details:
            try:
                if detail.entry in self._left_out:
                    raise EntryError("$.entry", "the entry with its call was left out")
                line = _fitting(encode_detail(detail))
            except EntryError as error:
                what = f"a detail of the call {detail.id!r}"
                self._tell("unstorable", _UNSTORABLE.format(what=what, error=error))
                continue
            self.details.append(detail)
            yield line

    def _tell(self, rule: str, message: str, place: Place | None = None, entry: str | None = None) -> None:
        line, offset = place or (None, None)
        self.findings.append(
            Finding(
                rule=rule,
                severity="error",
                message=message,
                path=self._source,
                line=line,
                offset=offset,
                entry=entry,
            )
        )


def _fitting(body: bytes) -> bytes:
    line = line_of(body)
    if len(line) > LINE_LIMIT:
        raise EntryError("$", f"it takes {len(line)} bytes, and a line at most {LINE_LIMIT}")
    return line


def _write(path: str, lines: Iterator[bytes]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        piece: list[bytes] = []
        size = 0
        for line in lines:
            piece.append(line)
            size += len(line)
            if size >= _PIECE:
                write_all(fd, b"".join(piece))
                piece, size = [], 0
        write_all(fd, b"".join(piece))
        os.fdatasync(fd)
    finally:
        closing(fd)


def _difference(draft: JsonlStore, selection: _Selection) -> str:
    """Where a log, read back strictly, is not what was to be written; empty if nowhere.

    Its history is made of entries and details alone, so that it is the same if they are.
    """
    try:
        if not _json.is_same(draft.header(), selection.header):
            return "its header"
        for written, meant in zip_longest(draft.read(), selection.entries):
            if not _json.is_same(written, meant):
                return f"entry {(meant or written).id}"
        details = {(detail.id, detail.entry): detail.payload for detail in selection.details}
        return "" if _json.is_same(draft.details(), details) else "its details"
    except CorruptLogError as error:
        return f"line {error.line}: {error.reason}"


def give_name(draft: str, path: str, *, same: bool = False) -> bool:
    """Give a file its own name, if that is free; whether it was.

    Args:
        draft: The file.
        path: Its name.
        same: Whether a file with the same bytes may be there already, and stays.

    Raises:
        StorageError: There is a file of that name; or the system refused.
    """
    with telling(path, _DOING):
        try:
            os.link(draft, path, follow_symlinks=False)  # unlike a rename, this never replaces a file
        except FileExistsError:
            if same and _has_same_bytes(draft, path):
                return False  # left by an import that was killed
            raise _is_there(path) from None
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise
            _copy(draft, path)
    return True


def _is_there(path: str) -> StorageError:
    return StorageError(path, _DOING, "there is a file already", errno.EEXIST, "name one that is not there")


def _has_same_bytes(one: str, other: str) -> bool:
    if os.path.islink(other) or os.path.getsize(one) != os.path.getsize(other):
        return False
    with open(one, "rb") as first, open(other, "rb") as second:
        while piece := first.read(_PIECE):
            if piece != second.read(_PIECE):
                return False
    return True


def _copy(draft: str, path: str) -> None:
    """For file systems without hard links: made in place, so that a crash may leave a part of it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    source = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fd = os.open(path, flags, 0o600)
        except FileExistsError:
            raise _is_there(path) from None
        try:
            copy_bytes(source, 0, os.fstat(source).st_size, fd)
            os.fdatasync(fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        finally:
            closing(fd)
    finally:
        closing(source)
