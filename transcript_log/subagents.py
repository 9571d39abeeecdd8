"""The files in which agents keep the sessions of subagents.

Claude Code has a folder for them beside a session's file, and often a file beside each that
names the call. Codex keeps them where it keeps all sessions; their headers name the session.
An import makes a folder of their logs beside that of the session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

import orjson

from ._zst import is_packed, unpacked_head
from .entries import ParentCall
from .errors import StorageError, TranscriptError
from .importers import SourceFormat, first_members
from .jsonl import JsonlStore
from .listing import look_into

__all__ = ["SubagentFile", "find_subagents", "log_folder", "parent_beside"]

_SUFFIX: Final = re.compile(r"\.jsonl(?:\.zst)?\Z")
_AGENT: Final = re.compile(r"agent-(.+?)\.jsonl(?:\.zst)?", re.DOTALL)
_HEAD: Final = 1 << 16
_MOST: Final = 1 << 20
"""How much of a file beside a subagent's is read, in bytes; it holds a few words."""


class SubagentFile(NamedTuple):
    """The session of a subagent.

    Attributes:
        path: Its file.
        id: The subagent's id.
        parent: The session and the call that it carried out, as far as that is known.
    """

    path: str
    id: str
    parent: ParentCall | None


def find_subagents(
    path: str,
    form: SourceFormat,
    session: str | None,
    calls: Mapping[str, str],
    tell: Callable[[StorageError], None],
) -> list[SubagentFile]:
    """The files of a session's subagents, by path.

    Args:
        path: The session's own file.
        form: Who wrote it.
        session: Its id.
        calls: The calls that its subagents carried out, by their ids.
        tell: Is told of each folder that cannot be read.
    """
    match form:
        case "claude-code":
            named = _in_folder(_SUFFIX.sub("", path), tell)
        case "codex":
            named = _beside(path, session, calls, tell)
        case "transcript-log":
            named = _made(log_folder(path), tell)
        case _:
            named = iter(())
    found = []
    for file, agent in named:
        call = calls.get(agent)
        known = None if call is None or session is None else ParentCall(session, call)
        found.append(SubagentFile(file, agent, known or _told_by(file, form, session)))
    return sorted(found, key=itemgetter(0))


def _told_by(path: str, form: SourceFormat, session: str | None) -> ParentCall | None:
    """The call that a file of a subagent, or one beside it, names."""
    if form != "transcript-log":
        return parent_beside(path, session)
    try:
        header = JsonlStore(path).header()
    except (OSError, TranscriptError):
        return None  # whoever opens it is told
    return None if header is None else header.parent


def log_folder(path: str) -> str:
    """Where the logs of the subagents of a session are that was imported: ``LOG.subagents``."""
    return f"{_SUFFIX.sub('', path)}.subagents"


def _made(folder: str, tell: Callable[[StorageError], None]) -> Iterator[tuple[str, str]]:
    """The logs of subagents beside one of this package."""
    if not os.path.isdir(folder):
        return
    try:
        listed = look_into(folder)
    except StorageError as error:
        tell(error)
        return
    for file in listed:
        if file.format == "transcript-log":
            yield file.path, file.id or _SUFFIX.sub("", os.path.basename(file.path))


def _in_folder(folder: str, tell: Callable[[StorageError], None]) -> Iterator[tuple[str, str]]:
    """Claude Code's files of subagents, in the folder that is called after a session, and below."""

    def refused(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            tell(StorageError.of(str(error.filename or folder), "list the folder", error))

    for place, _, names in os.walk(os.path.join(folder, "subagents"), onerror=refused):
        for name in names:
            if (match := _AGENT.fullmatch(name)) is not None:
                yield os.path.join(place, name), match[1]


def _beside(
    path: str, session: str | None, calls: Mapping[str, str], tell: Callable[[StorageError], None]
) -> Iterator[tuple[str, str]]:
    """Codex's rollouts in the same folder that say that a session spawned them."""
    try:
        listed = look_into(os.path.dirname(path) or ".", lambda name: name != os.path.basename(path))
    except StorageError as error:
        tell(error)
        return
    for file in listed:
        if file.is_subagent and file.format == "codex" and file.id is not None and file.id != session:
            below = _spawned_by(file.path)
            if file.id in calls or (session is not None and below == session):
                yield os.path.join(os.path.dirname(path), os.path.basename(file.path)), file.id


def _spawned_by(path: str) -> str | None:
    """The session that the header of a rollout says it was spawned by."""
    line = _head(path).partition(b"\n")[0]
    at = line.find(b'"payload"')
    meta = first_members(line[line.find(b"{", at) :]) if at >= 0 else {}
    source: Any = meta.get("source")
    for key in ("subagent", "thread_spawn"):
        source = source.get(key) if type(source) is dict else None
    told = source.get("parent_thread_id") if type(source) is dict else None
    told = told or meta.get("parent_thread_id")
    return told if type(told) is str else None


def _head(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            head = os.pread(fd, _HEAD, 0)
            return unpacked_head(path, fd, _HEAD) if is_packed(head) else head
        finally:
            os.close(fd)
    except (OSError, TranscriptError):
        return b""  # whoever opens it is told


def parent_beside(path: str, session: str | None) -> ParentCall | None:
    """The call that ``agent-ID.meta.json`` beside a subagent's file of Claude Code names.

    Args:
        path: The subagent's file.
        session: The session that it belongs to.
    """
    if _AGENT.fullmatch(os.path.basename(path)) is None:
        return None
    try:
        fd = os.open(_SUFFIX.sub(".meta.json", path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            told = orjson.loads(os.pread(fd, _MOST, 0))
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return None  # there is none, or none that can be read: the session may tell
    if type(told) is not dict:
        return None
    call, above = told.get("toolUseId"), told.get("parentAgentId") or session
    return ParentCall(above, call) if type(call) is str and call and type(above) is str and above else None
