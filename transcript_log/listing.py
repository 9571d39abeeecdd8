"""What logs a folder holds, told from a few KB of each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from . import items
from ._logfile.seal import is_intact, is_sealed
from ._times import parse_time_leniently
from .codec import decode_header
from .errors import EntryError, StorageError
from .importers import SourceFormat, first_members, sniff

__all__ = ["Listed", "list_logs"]

_PIECE: Final = 4096
"""How much is read at each end of a file, in bytes."""

_HEADER: Final = b'{"type":"session","version":3,'


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One session file, as far as its first and last few KB tell.

    Attributes:
        path: The file.
        format: Whose it is; None for a file that is no session of a known format.
        id: The session id, if the header names one.
        started: The header's time; UTC.
        modified: When the file last changed, in seconds since 1970.
        size: In bytes.
        text: The beginning of the first user message, if it stands in the first few KB.
        problem: What is wrong with it, as far as was looked; empty if nothing.
    """

    path: str
    format: SourceFormat | None
    id: str | None = None
    started: datetime | None = None
    modified: float = 0.0
    size: int = 0
    text: str = ""
    problem: str = ""


def list_logs(folder: str | os.PathLike[str]) -> list[Listed]:
    """The session files in a folder, newest change first. Nothing below it is looked at.

    Every file whose name ends in ``.jsonl`` is listed, sidecars apart, one that cannot be
    read with its problem. Of each the first and last 4 KB are read at most.

    Raises:
        StorageError: The folder cannot be read.
    """
    name = os.fspath(folder)
    try:
        found = [_look_at(entry) for entry in os.scandir(name) if _may_be_log(entry)]
    except OSError as error:
        raise StorageError.of(name, "list the folder", error, "name a folder") from error
    return sorted(found, key=lambda log: (-log.modified, log.path))


def _may_be_log(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    if not name.endswith(".jsonl") or name.endswith(".details.jsonl"):
        return False
    try:
        return entry.is_file()
    except OSError:
        return True  # such as a link that leads to itself: looking at it tells


def _look_at(entry: os.DirEntry[str]) -> Listed:
    path = entry.path
    modified, size = 0.0, 0
    try:
        status = entry.stat()
        modified, size = status.st_mtime, status.st_size
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            head = os.pread(fd, _PIECE, 0)
            tail = head if size <= _PIECE else os.pread(fd, _PIECE, size - _PIECE)
        finally:
            os.close(fd)
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
        return Listed(path=path, format=None, modified=modified, size=size, problem=problem)
    first = head[: head.find(b"\n")] if b"\n" in head else head
    # Our own header needs no further look; anything else does.
    ours = first.startswith(_HEADER) and b'"harness":' in first
    form: SourceFormat | None = "transcript-log" if ours else sniff(head)
    if form is None:
        known = head.strip(b" \t\r\n\0")
        problem = "it is no session of a known format" if known else "it is empty"
        return Listed(path=path, format=None, modified=modified, size=size, problem=problem)
    session_id, started = _named_in(first.removeprefix(b"\xef\xbb\xbf"))
    if form == "claude-code":
        session_id, started = _named_within(head)
    return Listed(
        path=path,
        format=form,
        id=session_id,
        started=started,
        modified=modified,
        size=size,
        text=_first_user_text(head),
        problem=_problem_of(form, first, tail),
    )


def _named_in(line: bytes) -> tuple[str | None, datetime | None]:
    """The session id and the time that a file's first line gives, as far as it was read."""
    try:
        header = orjson.loads(line)
    except orjson.JSONDecodeError:
        header = first_members(line)
    if type(header) is not dict:
        return None, None
    payload = header.get("payload")
    meta = payload if type(payload) is dict else header
    name, time = meta.get("id"), meta.get("timestamp")
    return name if type(name) is str else None, parse_time_leniently(time)[0]


def _named_within(head: bytes) -> tuple[str | None, datetime | None]:
    """The session id and the first time in a file whose records each name their session."""
    name: str | None = None
    time: datetime | None = None
    for line in head.split(b"\n"):
        record = first_members(line)
        told = record.get("agentId" if record.get("isSidechain") else "sessionId")
        name = name or (told if type(told) is str else None)
        time = time or parse_time_leniently(record.get("timestamp"))[0]
        if name is not None and time is not None:
            break
    return name, time


def _first_user_text(head: bytes) -> str:
    at = head.find(b'"user"')
    while at >= 0:
        end = head.find(b"\n", at)
        try:
            value = orjson.loads(head[head.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(head)])
        except orjson.JSONDecodeError:
            value = None
        if type(value) is dict and not value.get("isMeta"):  # what a program said in the user's name
            item = value.get("message") or value.get("payload") or value
            if type(item) is dict and items.role(item) == "user" and (text := items.text(item)):
                return " ".join(text[:400].split())[:120]
        at = head.find(b'"user"', end) if end >= 0 else -1
    return ""


def _problem_of(form: SourceFormat, first: bytes, tail: bytes) -> str:
    if form == "transcript-log":
        try:
            decode_header(first)
        except EntryError:
            return "its header cannot be read"
        cut = tail.rfind(b"\n", 0, -1)
        last = tail[cut + 1 :] if cut >= 0 else b""
        for line in (first.rstrip(b" \t\r\n"), last.rstrip(b" \t\r\n")):
            if is_sealed(line) and not is_intact(line):
                return "a line of it is damaged"
    return "" if tail[-1:] == b"\n" else _unfinished(tail)


def _unfinished(tail: bytes) -> str:
    if tail.endswith(b"\0"):
        return "it ends in zeros, as power loss leaves it"
    return "its last line is not finished"
