"""Opening whatever session file is named."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import click

from .._logfile.files import telling
from .._logfile.reader import TooLongError, raw_lines
from .._reading import opened
from ..check import check_entries, check_scan
from ..entries import Entry, Header, Json
from ..errors import CorruptLogError, HeaderError, StorageError, VersionError
from ..findings import Finding
from ..importers import Imported, SourceFormat, sniff
from ..importers.claude_code import import_claude_code
from ..importers.codex import import_codex
from ..importers.pi import import_pi
from ..jsonl import JsonlStore
from ..store import DetailKey
from .text import one_line

__all__ = [
    "FORMAT_NAMES",
    "FileType",
    "NewFileType",
    "NoSuchFileError",
    "PathType",
    "Session",
    "as_given",
    "file_argument",
    "open_session",
    "open_store",
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

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


class NoSuchFileError(click.ClickException):
    """What was named is not there."""

    exit_code = 2

    def __init__(self, path: str, what: str = "there is no such file") -> None:
        super().__init__(one_line(f"{path or repr(path)}: {what}"))


class PathType(click.Path):
    """A path, taken as it is given: what is wrong with it is told where it is opened."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        return os.fsdecode(value)


class FileType(PathType):
    """A path that must name something. A missing file is told apart from one that cannot be read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = super().convert(value, param, ctx)
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise NoSuchFileError(path) from None
        except ValueError:
            what = "a path cannot hold a NUL" if "\0" in path else "no file can have such a name"
            raise NoSuchFileError(path, what) from None
        except OSError as error:
            raise StorageError.of(path, "open", error) from error
        return path


class NewFileType(PathType):
    """A path that must name nothing yet."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = super().convert(value, param, ctx)
        if "\0" not in path and os.path.lexists(path):
            raise StorageError(path, "make the log", "there is a file already", errno.EEXIST, "name another")
        return path


file_argument = click.argument("file", type=FileType())
"""The session file that a command is about."""


def open_session(path: str) -> Session:
    """The session in a file, whoever wrote it; read round damage.

    Raises:
        StorageError: It cannot be read, or is no regular file.
        HeaderError: It is no session, or one that cannot be read here.
    """
    with opened(path) as fd, telling(path, "read"):
        if fd is None:
            raise NoSuchFileError(path)
        head = os.pread(fd, _HEAD, 0)
        size = os.fstat(fd).st_size
        if not size:
            raise _refused(path, "the file is empty: there is no session in it")
        form = sniff(head)
        importer = None if form is None else _IMPORTERS.get(form)
        if form is not None and importer is not None:
            return _imported(path, form, size, _import(importer, path, fd))
    if form not in (None, "transcript-log"):
        raise _refused(path, f"this is {FORMAT_NAMES[form]}, which this version cannot read", _reads())
    try:
        return _scanned(path)
    except VersionError:
        raise
    except HeaderError as error:
        if form is None:
            raise _refused(path, "this is no session of a known format", _reads()) from error
        advice = "without a header no entry can be read"
        raise _refused(path, error.reason, advice, error.line, error.offset) from error


def _reads() -> str:
    """What can be read, in words."""
    *names, last = (FORMAT_NAMES[form] for form in ("transcript-log", *_IMPORTERS))
    return f"it reads {', '.join(names)} and {last}"


def _refused(path: str, reason: str, advice: str = "", line: int = 1, offset: int = 0) -> HeaderError:
    return HeaderError(path, line, offset, reason, advice, None, "header-type")


def open_store(path: str) -> JsonlStore:
    """The store of a log of our own, to be written to.

    Raises:
        StorageError: The file cannot be read, or is no regular file.
        HeaderError: Another agent wrote it.
    """
    with opened(path) as fd, telling(path, "read"):
        form = None if fd is None else sniff(os.pread(fd, _HEAD, 0))
    if form not in (None, "transcript-log"):
        raise _refused(path, f"this is {FORMAT_NAMES[form]}, which is never written to")
    return JsonlStore(path)


def _scanned(path: str) -> Session:
    store = JsonlStore(path)
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


def as_given(path: str, found: str) -> str:
    """The path of a log, or of a file beside it, in the words in which the log was named."""
    # A store tells the real path: that of a link's target stands in another folder.
    return found if os.path.islink(path) else os.path.join(os.path.dirname(path), os.path.basename(found))


def _named(findings: Iterable[Finding], path: str) -> tuple[Finding, ...]:
    return tuple(
        finding if finding.path is None else replace(finding, path=as_given(path, finding.path))
        for finding in findings
    )


class _Importer(Protocol):
    """What reads the lines of another agent's session."""

    def __call__(self, lines: Iterable[bytes], *, path: str | None = None) -> Imported: ...


_IMPORTERS: Final[Mapping[SourceFormat, _Importer]] = {
    "claude-code": import_claude_code,
    "codex": import_codex,
    "pi": import_pi,
}


def _import(importer: _Importer, path: str, fd: int) -> Imported:
    try:
        return importer(raw_lines(fd, 0), path=path)
    except TooLongError:
        raise CorruptLogError(
            path, 1, 0, "a line is too long to be read", "split it, or leave it out"
        ) from None


def _imported(path: str, form: SourceFormat, size: int, imported: Imported) -> Session:
    details = imported.details_by_call
    said = check_entries(imported.entries, details, places=imported.places, path=path)
    return Session(
        path=path,
        format=form,
        # The harness that it names would be that of a log made of it.
        header=replace(imported.header, harness=None),
        entries=imported.entries,
        details=details,
        file_findings=imported.findings,
        findings=tuple(sorted((*imported.findings, *said), key=lambda finding: finding.line or 0)),
        source_counts=imported.counts,
        size=size,
        linked=imported.linked,
    )
