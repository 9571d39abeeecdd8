"""The sessions that are asked about: which files they are, and what is in each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ..check import check_entries, check_scan
from ..errors import HeaderError, StorageError, TranscriptError
from ..findings import Finding
from ..importers import Imported, SourceFormat
from ..jsonl import JsonlStore
from ..listing import session_files
from ..places import Home, list_homes
from ..stores import SessionUrl, is_url
from .conversation import PARTS, Conversation

__all__ = ["FileRead", "Files", "find_files", "read_file"]

_SIDECAR: Final = ".details.jsonl"


class Files(NamedTuple):
    """The files that were found.

    Attributes:
        paths: Each once, in the order in which they were named; those of a folder by name, those of
            a database by id.
        sidecars: How many files that were named are sidecars, and so are passed over.
        empty: The folders and databases in which there is none.
        problems: The places of agents that cannot be read.
    """

    paths: Sequence[str]
    sidecars: int
    empty: Sequence[str]
    problems: Sequence[StorageError]


def find_files(paths: Iterable[str], homes: Iterable[Home] = ()) -> Files:
    """The session files that are meant by files, folders, URLs, and places of agents.

    Of a folder those in it count, of a place also those below it, of a database all sessions.

    Raises:
        StorageError: Something that is named is not there, or a folder or a database cannot be read.
        NoPostgresError: A database is named, and the extra ``postgres`` is not installed.
    """
    found: list[str] = []
    empty: list[str] = []
    problems: list[StorageError] = []
    sidecars = 0
    for path in paths:
        if is_url(path):
            url = SessionUrl(path)  # as text it shows no password, wherever a path is told
            stored = [url] if url.session else _stored(url)
            found += stored
            empty += [] if stored else [url]
            continue
        if not _is_folder(path):
            if path.endswith(_SIDECAR):
                sidecars += 1
            else:
                found.append(path)
            continue
        there = session_files(path)
        found += there
        empty += [] if there else [path]
    for home in homes:
        found += sorted(listed.path for listed in list_homes([home], problems.append))
    once: dict[str, str] = {}
    for path in found:
        once.setdefault(path if is_url(path) else os.path.realpath(path), path)
    return Files([*once.values()], sidecars, empty, problems)


def _stored(url: SessionUrl) -> list[SessionUrl]:
    """The sessions of a database, by their ids."""
    from ..postgres import list_sessions  # noqa: PLC0415 - an extra

    return [url.of(name) for name in sorted(session.id for session in list_sessions(url.conninfo))]


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path) or os.stat(path) is None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise StorageError.of(path, "open", error) from error
        raise StorageError(path, "open", "no file can have such a name") from error


# -------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class FileRead:
    """What was read from one file.

    Attributes:
        conversations: The session in it, and those of subagents; none if it could not be read.
        damage: What is wrong with its bytes.
        findings: That, and what is wrong with what its entries say, if that was asked for.
        is_readable: False if nothing could be read. A finding says why.
    """

    conversations: Sequence[Conversation]
    damage: Sequence[Finding]
    findings: Sequence[Finding] = ()
    is_readable: bool = True


def read_file(path: str, number: int, *, checked: bool = False) -> FileRead:
    """What is in a file, ours or another agent's, read round damage. It never raises for that.

    Args:
        path: The file.
        number: Which file it is; its sessions are numbered from :data:`PARTS` times that on.
        checked: Whether to look for all findings, as ``check`` has them.
    """
    # The commands know how each file is opened. They need click, and asking for rows does not.
    from ..cli.naming import NoSuchFileError  # noqa: PLC0415
    from ..cli.source import open_session, read_foreign  # noqa: PLC0415

    number *= PARTS
    try:
        if not is_url(path):
            found = read_foreign(path)
            if not isinstance(found, tuple):
                return _foreign(path, number, found.format, found.imported, found.size, checked)
            is_packed, _ = found
            if not is_packed:
                with contextlib.suppress(HeaderError):
                    return _own(path, number, checked)
        session = open_session(path)
    except (TranscriptError, NoSuchFileError) as error:
        found_wrong = (_unreadable(path, error),)
        return FileRead((), found_wrong, found_wrong, is_readable=False)
    main = Conversation(
        number=number,
        path=path,
        format=session.format,
        header=session.header,
        entries=session.entries,
        details=session.details,
        size=session.size,
    )
    return FileRead([main, *_linked(main, session.linked)], session.file_findings, session.findings)


def _own(path: str, number: int, checked: bool) -> FileRead:
    from ..cli.source import as_given  # noqa: PLC0415 - see read_file

    store = JsonlStore(path)
    scan = store.scan()
    main = Conversation(
        number=number,
        path=path,
        format="transcript-log",
        header=scan.header,
        entries=scan.entries,
        places=scan.places,
        details=scan.details,
        size=scan.size,
    )

    def named(findings: Iterable[Finding]) -> list[Finding]:
        return [one if one.path is None else replace(one, path=as_given(path, one.path)) for one in findings]

    return FileRead([main], named(scan.findings), named(check_scan(scan, store.path)) if checked else ())


def _foreign(
    path: str, number: int, form: SourceFormat, imported: Imported, size: int, checked: bool
) -> FileRead:
    main = Conversation(
        number=number,
        path=path,
        format=form,
        header=imported.header,
        entries=imported.entries,
        places=imported.places,
        details=imported.details_by_call,
        size=size,
    )
    findings: list[Finding] = []
    if checked:
        said = check_entries(main.entries, main.details, places=imported.places, path=path)
        findings = sorted((*imported.findings, *said), key=lambda finding: finding.line or 0)
    return FileRead([main, *_linked(main, imported.linked)], imported.findings, findings)


def _linked(main: Conversation, linked: Sequence[Imported]) -> Iterator[Conversation]:
    """The sessions of subagents that stand in the same file."""
    for part, imported in enumerate(linked, 1):
        yield Conversation(
            number=main.number + part,
            path=main.path,
            format=main.format,
            header=imported.header,
            entries=imported.entries,
            places=imported.places,
            details=imported.details_by_call,
        )


def _unreadable(path: str, error: Exception) -> Finding:
    reason = str(error) if isinstance(error, TranscriptError) else getattr(error, "message", str(error))
    return Finding(
        rule="unreadable",
        severity="error",
        message=f"nothing was read of it: {reason.removeprefix(f'{path}: ')}",
        path=path,
    )
