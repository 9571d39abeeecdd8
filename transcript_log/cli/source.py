"""Opening whatever session file is named."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import click

from .._logfile.files import copy_bytes, telling
from .._logfile.reader import TooLongError, raw_lines
from .._reading import opened
from .._zst import Unpacked, is_packed, unpacked_head
from ..check import check_entries, check_scan
from ..entries import Entry, Header, Json
from ..errors import CorruptLogError, HeaderError, StorageError, VersionError
from ..findings import Finding
from ..importers import Imported, SourceFormat, sniff
from ..importers.claude_code import import_claude_code
from ..importers.codex import import_codex
from ..importers.pi import import_pi
from ..importers.subagents import calls_of_subagents
from ..jsonl import JsonlStore
from ..store import DetailKey
from ..stores import LogStore, SessionUrl, is_url, open_store
from ..subagents import SubagentFile, find_subagents, parent_beside
from .naming import NoSuchFileError, PathType, may_be_id, session_named
from .output import echo
from .text import one_line

__all__ = [
    "FORMAT_NAMES",
    "FileType",
    "Foreign",
    "Session",
    "as_given",
    "file_argument",
    "named_session",
    "open_file",
    "open_session",
    "read_foreign",
    "subagents_of",
]

_HEAD: Final = 1 << 16

FORMAT_NAMES: Final[Mapping[str, str]] = {
    "transcript-log": "a log of this package",
    "codex": "a Codex rollout",
    "claude-code": "a Claude Code session",
    "pi": "a pi session",
}
"""What each format is, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as it was found in a file, ours or another agent's.

    Attributes:
        path: The file.
        format: Whose it is.
        header: Its header, or one made of what the source says; None for an empty log.
        entries: All that could be read.
        details: The payloads beside them.
        file_findings: What is wrong with the bytes.
        findings: That, and what is wrong with what the entries say.
        source_counts: Numbers that only the file can tell, named as in ``inspect --json``.
        size: In bytes.
        sealing: For a log of ours: entries with and without a checksum.
        linked: The sessions of subagents that stand in the same file.
        packed: Whether the file is compressed. Places in it are those of what it decompresses to.
    """

    path: str
    format: SourceFormat
    header: Header | None
    entries: tuple[Entry, ...]
    details: Mapping[DetailKey, Json]
    file_findings: tuple[Finding, ...]
    findings: tuple[Finding, ...]
    source_counts: Mapping[str, int] = field(default_factory=dict)
    size: int = 0
    sealing: tuple[int, int] | None = None
    linked: tuple[Imported, ...] = ()
    packed: bool = False

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


def named_session(url: str) -> SessionUrl:
    """The URL of a session; as text it shows no password.

    Raises:
        UsageError: It names a database, and no session in it.
    """
    named = SessionUrl(url)
    if not named.session:
        shown = named.rstrip("#")
        if shown.endswith(":***"):
            raise click.UsageError(f"{shown}: write # in a password as %23")
        raise click.UsageError(
            one_line(f"{shown}: add #SESSION to it; 'transcript-log list {shown}' shows them")
        )
    return named


class FileType(PathType):
    """A path that must name something, the URL of a session, or the beginning of a session id.

    A file that is there goes before an id. A missing one is told apart from one that cannot be read.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = super().convert(value, param, ctx)
        if is_url(path):
            return named_session(path)
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            if may_be_id(path):
                return session_named(path)
            raise NoSuchFileError(path) from None
        except ValueError:
            what = "a path cannot hold a NUL" if "\0" in path else "no file can have such a name"
            raise NoSuchFileError(path, what) from None
        except OSError as error:
            raise StorageError.of(path, "open", error) from error
        return path


file_argument = click.argument("file", type=FileType())
"""The session file that a command is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A session of another agent, as it was found in a file. See :class:`Session` for the rest."""

    path: str
    format: SourceFormat
    imported: Imported
    size: int
    packed: bool
    keep_unknown: bool = False

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


def open_session(path: str) -> Session:
    """The session in a file, whoever wrote it; read round damage.

    Raises:
        StorageError: It cannot be read, or is no regular file.
        HeaderError: It is no session, or one that cannot be read here.
        NoZstError: It is compressed, and nothing is installed that decompresses it.
    """
    if is_url(path):
        return _stored(path)
    found = read_foreign(path)
    if isinstance(found, Foreign):
        return _imported(found)
    packed, known = found
    try:
        return _scanned_packed(path) if packed else _scanned(path)
    except VersionError:
        raise
    except HeaderError as error:
        if not known:
            raise _refused(path, "this is no session of a known format", _reads()) from error
        advice = "without a header no entry can be read"
        raise _refused(path, error.reason, advice, error.line, error.offset) from error


def read_foreign(path: str, *, keep_unknown: bool = False) -> Foreign | tuple[bool, bool]:
    """The session of another agent that a file holds.

    Of any other file it says whether it is compressed, and whether it is known for a log of ours.

    Args:
        path: The file.
        keep_unknown: Whether records that nothing else is made of become opaque entries.

    Raises:
        StorageError: It cannot be read, or is no regular file.
        HeaderError: It is a session that cannot be read here, or empty.
        NoZstError: It is compressed, and nothing is installed that decompresses it.
    """
    if is_url(path):
        return False, True
    with opened(path) as fd, telling(path, "read"):
        if fd is None:
            raise NoSuchFileError(path)
        head = os.pread(fd, _HEAD, 0)
        size = os.fstat(fd).st_size
        if not size:
            raise _refused(path, "the file is empty: there is no session in it")
        packed = is_packed(head)
        if packed:
            head = unpacked_head(path, fd, _HEAD)
            if not head:
                raise _refused(path, "the file is compressed, and nothing comes of decompressing it")
        form = sniff(head)
        importer = None if form is None else _IMPORTERS.get(form)
        if form is not None and importer is not None:
            imported = _with_parent(
                path, _import(importer, path, fd, packed=packed, keep_unknown=keep_unknown)
            )
            return Foreign(
                path=path,
                format=form,
                imported=imported,
                size=size,
                packed=packed,
                keep_unknown=keep_unknown,
            )
    if form not in (None, "transcript-log"):
        raise _refused(path, f"this is {FORMAT_NAMES[form]}, which this version cannot read", _reads())
    return packed, form is not None


def _reads() -> str:
    """What this version reads, as advice."""
    *others, last = (FORMAT_NAMES[form] for form in ("transcript-log", *_IMPORTERS))
    return f"it reads {', '.join(others)} and {last}"


def _refused(path: str, reason: str, advice: str = "", line: int = 1, offset: int = 0) -> HeaderError:
    return HeaderError(path, line, offset, reason, advice, None, "header-type")


def open_file(path: str) -> JsonlStore:
    """The store of a log of our own in a file, to be written to.

    Raises:
        StorageError: The file cannot be read, or is no regular file.
        HeaderError: Another agent wrote it.
    """
    if is_url(path):
        advice = "copy the session to a file with 'transcript-log copy', and mend that"
        raise StorageError(path, "mend the session", "only files are mended", None, advice)
    with opened(path) as fd, telling(path, "read"):
        form = None if fd is None else sniff(os.pread(fd, _HEAD, 0))
        packed = fd is not None and is_packed(os.pread(fd, 4, 0))
    if packed:
        raise _refused(path, "it is compressed, and so never written to", "decompress it first")
    if form not in (None, "transcript-log"):
        raise _refused(path, f"this is {FORMAT_NAMES[form]}, which is never written to")
    return JsonlStore(path)


def _stored(path: str) -> Session:
    """The session in a database."""
    store = open_store(path)
    try:
        if store.header() is None:
            raise NoSuchFileError(path, "there is no such session")
        return _scanned(path, store)
    finally:
        store.close()


def _scanned(path: str, store: LogStore | None = None) -> Session:
    store = store or JsonlStore(path)
    scan = store.scan()
    damaged = {
        finding.line
        for finding in scan.findings
        if finding.path == store.path and finding.rule in ("damaged-line", "checksum")
    }
    return Session(
        path=path,
        format="transcript-log",
        header=scan.header,
        entries=scan.entries,
        details=scan.details,
        file_findings=_named(scan.findings, path),
        findings=_named(check_scan(scan, store.path), path),
        source_counts={
            "records": len(scan.entries) + (scan.header is not None),
            "broken_lines": scan.damaged,
            "recovered": sum(line in damaged for line, _ in scan.places),
            "sidechain": 0,
            "roots": 0,
        },
        size=scan.size,
        sealing=(scan.sealed, scan.unsealed),
    )


def _scanned_packed(path: str) -> Session:
    """A compressed log of ours, decompressed into a folder of its own while it is read."""
    name = os.path.basename(path).removesuffix(".zst").removesuffix(".jsonl")
    sidecars = [os.path.join(os.path.dirname(path), f"{name}.details.jsonl{end}") for end in ("", ".zst")]
    with tempfile.TemporaryDirectory(prefix="transcript-log-") as folder:
        log = os.path.join(folder, "log.jsonl")
        fault = _unpack(path, log)
        beside = next((sidecar for sidecar in sidecars if os.path.exists(sidecar)), sidecars[0])
        beside_fault = _unpack(beside, os.path.join(folder, "log.details.jsonl"))
        try:
            session = _scanned(log)
        except HeaderError as error:
            error.path = path
            raise
    names = {log: path, os.path.join(folder, "log.details.jsonl"): beside}
    faults = [*_packed_findings(path, fault), *_packed_findings(beside, beside_fault)]

    def named(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        renamed = (replace(finding, path=names.get(finding.path or "", finding.path)) for finding in findings)
        return (*renamed, *faults)

    return replace(
        session,
        path=path,
        file_findings=named(session.file_findings),
        findings=named(session.findings),
        size=os.stat(path).st_size,
        packed=True,
    )


def _unpack(path: str, to: str) -> str:
    """Decompress a file, or copy one that is not; says why that ended early. A missing one is none."""
    with opened(path) as fd:
        if fd is None:
            return ""
        with telling(path, "read"):
            packed = is_packed(os.pread(fd, 4, 0))
        with telling(to, "decompress the log"), open(to, "wb") as out:
            if not packed:
                copy_bytes(fd, 0, os.fstat(fd).st_size, out.fileno())
                return ""
            source = Unpacked(path, fd)
            while piece := source.read(1 << 20):
                out.write(piece)
    return source.fault


def _packed_findings(path: str, fault: str) -> list[Finding]:
    message = f"the file is damaged: {fault}; what stands before was read"
    return [Finding(rule="compressed", severity="error", message=message, path=path)] if fault else []


def as_given(path: str, found: str) -> str:
    """The path of a log, or of a file beside it, in the words in which the log was named."""
    if is_url(path):
        return path
    # A store tells the real path: that of a link's target stands in another folder.
    return found if os.path.islink(path) else os.path.join(os.path.dirname(path), os.path.basename(found))


def _named(findings: Iterable[Finding], path: str) -> tuple[Finding, ...]:
    return tuple(
        finding if finding.path is None else replace(finding, path=as_given(path, finding.path))
        for finding in findings
    )


class _Importer(Protocol):
    """What reads the lines of another agent's session."""

    def __call__(
        self, lines: Iterable[bytes], *, path: str | None = None, keep_unknown: bool = False
    ) -> Imported: ...


_IMPORTERS: Final[Mapping[SourceFormat, _Importer]] = {
    "claude-code": import_claude_code,
    "codex": import_codex,
    "pi": import_pi,
}


def _import(importer: _Importer, path: str, fd: int, *, packed: bool, keep_unknown: bool) -> Imported:
    source = Unpacked(path, fd) if packed else None
    try:
        lines = raw_lines(fd, 0) if source is None else source.lines()
        imported = importer(lines, path=path, keep_unknown=keep_unknown)
    except TooLongError:
        raise CorruptLogError(
            path, 1, 0, "a line is too long to be read", "split it, or leave it out"
        ) from None
    faults = [] if source is None else _packed_findings(path, source.fault)
    return replace(imported, findings=(*imported.findings, *faults)) if faults else imported


def _with_parent(path: str, imported: Imported) -> Imported:
    """The same with the call that a file beside a subagent's own names."""
    source = imported.header.extra.get("importedFrom")
    session = source.get("sessionId") if isinstance(source, dict) else None
    parent = parent_beside(path, session if isinstance(session, str) else None)
    if parent is None or imported.header.parent is not None:
        return imported
    return replace(imported, header=replace(imported.header, parent=parent))


def subagents_of(found: Session | Foreign) -> list[SubagentFile]:
    """The sessions of a session's subagents: those in its own file, and those in files of their own."""
    if isinstance(found, Session):
        header, entries, details, linked = found.header, found.entries, found.details, found.linked
    else:
        imported = found.imported
        header, entries, details = imported.header, imported.entries, imported.details_by_call
        linked = imported.linked
    inside = [SubagentFile(found.path, each.header.id or "", each.header.parent) for each in linked]
    calls = calls_of_subagents(entries, details)
    session = None if header is None else header.id
    return [*inside, *find_subagents(found.path, found.format, session, calls, _tell)]


def _tell(error: StorageError) -> None:
    """Tell on stderr of a folder that cannot be read."""
    echo(one_line(str(error)), err=True)


def _imported(found: Foreign) -> Session:
    imported = found.imported
    details = imported.details_by_call
    said = check_entries(imported.entries, details, places=imported.places, path=found.path)
    return Session(
        path=found.path,
        format=found.format,
        # The harness that it names would be that of a log made of it.
        header=replace(imported.header, harness=None),
        entries=imported.entries,
        details=details,
        file_findings=imported.findings,
        findings=tuple(sorted((*imported.findings, *said), key=lambda finding: finding.line or 0)),
        source_counts=imported.counts,
        size=found.size,
        packed=found.packed,
        linked=imported.linked,
    )
