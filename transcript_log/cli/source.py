"""Opening whatever session file is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from .._logfile.reader import TooLongError, raw_lines
from .._reading import opened
from ..check import check_entries, check_scan
from ..entries import Entry, Header, Json
from ..errors import CorruptLogError, HeaderError, StorageError
from ..findings import Finding
from ..importers import Imported, SourceFormat, sniff
from ..importers.codex import import_codex
from ..jsonl import JsonlStore
from ..store import DetailKey

__all__ = ["Session", "file_argument", "open_session"]

_HEAD = 1 << 16
_NAMES: Mapping[str, str] = {
    "transcript-log": "a log of this package",
    "codex": "a Codex rollout",
    "claude-code": "a Claude Code session",
    "pi": "a pi session",
}


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

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


class _NoSuchFile(click.ClickException):
    exit_code = 2


class _FileType(click.Path):
    """A path that must name something. A missing file is told apart from one that cannot be read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fsdecode(super().convert(value, param, ctx))
        try:
            os.stat(path)
        except FileNotFoundError:
            raise _NoSuchFile(f"{path}: there is no such file") from None
        except ValueError:
            raise _NoSuchFile(f"{path!r}: a path cannot hold a NUL") from None
        except OSError as error:
            raise StorageError.of(path, "open", error) from error
        return path


file_argument = click.argument("file", type=_FileType())


def open_session(path: str) -> Session:
    """The session in a file, whoever wrote it; read round damage.

    Raises:
        StorageError: It cannot be read, or is no regular file.
        HeaderError: It is no session, or one that cannot be read here.
    """
    with opened(path) as fd:
        if fd is None:
            raise _NoSuchFile(f"{path}: there is no such file")
        head = os.pread(fd, _HEAD, 0)
        size = os.fstat(fd).st_size
        if not size:
            raise HeaderError(path, 1, 0, "the file is empty: there is no session in it", "", None, "header-json")
        form = sniff(head)
        if form == "codex":
            return _imported(path, size, _import_codex(path, fd))
    if form in ("pi", "claude-code"):
        raise HeaderError(
            path,
            1,
            0,
            f"this is {_NAMES[form]}, which this version cannot read",
            "it reads its own logs and Codex rollouts",
            None,
            "header-type",
        )
    return _scanned(path)


def _scanned(path: str) -> Session:
    scan = JsonlStore(path).scan()
    in_file = [finding for finding in scan.findings if finding.path == path or finding.path is None]
    return Session(
        path=path,
        format="transcript-log",
        header=scan.header,
        entries=scan.entries,
        details=scan.details,
        file_findings=scan.findings,
        findings=check_scan(scan, path),
        source_counts={
            "records": len(scan.entries) + (scan.header is not None),
            "broken_lines": scan.damaged,
            "recovered": sum("could be read" in f.message for f in in_file if f.rule in ("damaged-line", "checksum")),
            "sidechain": 0,
            "roots": 0,
        },
        size=scan.size,
        sealing=(scan.sealed, scan.unsealed),
    )


def _import_codex(path: str, fd: int) -> Imported:
    try:
        return import_codex(raw_lines(fd, 0), path=path)
    except TooLongError:
        raise CorruptLogError(path, 1, 0, "a line is too long to be read", "split it, or leave it out") from None


def _imported(path: str, size: int, imported: Imported) -> Session:
    return Session(
        path=path,
        format="codex",
        header=imported.header,
        entries=imported.entries,
        details=imported.details_by_call,
        file_findings=imported.findings,
        findings=(
            *imported.findings,
            *check_entries(imported.entries, imported.details_by_call, path=path),
        ),
        source_counts=imported.counts,
        size=size,
    )
