"""What logs a folder holds, told from a few KB of each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson

from . import items
from ._logfile.files import closing, open_to_read
from ._times import parse_time_leniently
from .entries import Json
from .errors import StorageError
from .importers import SourceFormat, sniff

__all__ = ["Listed", "list_logs"]

_HEAD = 4096
_TAIL = 4096


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
        found = [(entry.path, entry.stat()) for entry in os.scandir(name) if _may_be_log(entry)]
    except OSError as error:
        raise StorageError.of(name, "list the folder", error, "name a folder") from error
    listed = [_look_at(path, status) for path, status in found]
    return sorted(
        (log for log in listed if log.format is not None or log.problem),
        key=lambda log: (-log.modified, log.path),
    )


def _may_be_log(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    return name.endswith(".jsonl") and not name.endswith(".details.jsonl") and entry.is_file()


def _look_at(path: str, status: os.stat_result) -> Listed:
    modified, size = status.st_mtime, status.st_size
    try:
        fd = open_to_read(path)
        if fd is None:
            return Listed(path=path, format=None, problem="it went away while it was listed")
        try:
            head = os.pread(fd, _HEAD, 0)
            tail = head[-_TAIL:] if size <= _HEAD else os.pread(fd, _TAIL, max(0, size - _TAIL))
        finally:
            closing(fd)
    except OSError as error:
        return Listed(path=path, format=None, modified=modified, size=size, problem=str(error))
    form = sniff(head)
    if form is None:
        problem = "it is no session of a known format" if head.strip(b" \t\r\n\0") else "it is empty"
        return Listed(path=path, format=None, modified=modified, size=size, problem=problem)
    first = _values(head)
    header = next(first, {})
    payload = header.get("payload")
    meta: dict[str, Json] = payload if isinstance(payload, dict) else header
    return Listed(
        path=path,
        format=form,
        id=meta.get("id") if isinstance(meta.get("id"), str) else None,
        started=parse_time_leniently(meta.get("timestamp"))[0],
        modified=modified,
        size=size,
        text=_first_user_text(first),
        problem=_problem_of(tail),
    )


def _values(head: bytes) -> Iterator[dict[str, Json]]:
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if type(value) is dict:
            yield value


def _first_user_text(values: Iterator[dict[str, Json]]) -> str:
    for value in values:
        item = value.get("message") or value.get("payload") or value
        if isinstance(item, dict) and items.role(item) == "user" and (text := items.text(item).strip()):
            return " ".join(text[:400].split())[:120]
    return ""


def _problem_of(tail: bytes) -> str:
    if tail.endswith(b"\0"):
        return "it ends in zeros, as power loss leaves it"
    if not tail.endswith(b"\n"):
        return "its last line is not finished"
    return ""
