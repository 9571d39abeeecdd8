"""What sessions there are, told from a few KB of each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from operator import itemgetter
from typing import Final, NamedTuple

from ._collector import collector_paused
from ._glimpse import Glimpse, glimpse, glimpse_own
from ._zst import NoZstError, is_cut, is_packed, unpacked_beginning
from .errors import StorageError
from .importers import SourceFormat
from .stores import SessionUrl

__all__ = ["Listed", "list_logs", "list_stored", "look_into", "newest_first", "session_files"]

_PIECE: Final = 4096
"""How much is read at each end of a file, in bytes."""

_MORE: Final = 53248
"""How much more is read of another agent's session that does not say enough in the first piece."""

_NAMES: Final = re.compile(r".*\.jsonl(?:\.zst)?|rollout-.*\.json(?:\.zst)?", re.DOTALL)
_SIDECAR: Final = re.compile(r".*\.details\.jsonl(?:\.zst)?", re.DOTALL)
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_BY_NAME: Final = {
    "claude-code": re.compile(rf"({_UUID}|agent-[0-9A-Za-z_-]+)\.jsonl(?:\.zst)?"),
    "codex": re.compile(rf"rollout-.*?({_UUID})\.jsonl?(?:\.zst)?"),
    "pi": re.compile(rf"[0-9TZ-]+_({_UUID})\.jsonl(?:\.zst)?"),
}
"""The session id in the name that each agent gives its files."""


class Listed(NamedTuple):
    """One session file, as far as its first and last few KB tell.

    Attributes:
        path: The file.
        format: Whose it is; None for a file that is no session of a known format.
        id: The session id, if the header or the name of the file tells it.
        started: When the session began; UTC.
        modified: When the file last changed, in seconds since 1970.
        size: In bytes.
        text: The beginning of the first message of a person, if it stands in the first few KB.
        problem: What is wrong with it, as far as was looked; empty if nothing.
        is_subagent: Whether it is the session of a subagent.
    """

    path: str
    format: SourceFormat | None
    id: str | None = None
    started: datetime | None = None
    modified: float = 0.0
    size: int = 0
    text: str = ""
    problem: str = ""
    is_subagent: bool = False


def list_logs(folder: str | os.PathLike[str]) -> list[Listed]:
    """The session files in a folder, newest change first. Nothing below it is looked at.

    Every file whose name ends in ``.jsonl`` or ``.jsonl.zst`` is listed, and rollouts that are
    one JSON document (``rollout-….json``); sidecars apart, one that cannot be read with its
    problem. Of each the first and last 4 KB are read at most; of another agent's session that
    does not say enough there, and of a compressed one, 52 KB more.

    Raises:
        StorageError: The folder cannot be read.
    """
    return newest_first(look_into(os.fspath(folder)))


def list_stored(url: str, limit: int | None = None) -> list[Listed]:
    """The sessions in a database, newest change first, from their rows and a few KB of each.

    Args:
        url: The database's URL; the paths of what is listed are URLs, without a password.
        limit: How many at most.

    Raises:
        NoPostgresError: The extra ``postgres`` is not installed.
        StorageError: The database refused, or cannot be reached.
    """
    from .postgres import list_sessions  # noqa: PLC0415 - an extra

    named = SessionUrl(url)
    found = []
    for kept in list_sessions(named.conninfo, limit=limit, ends=True):
        seen = glimpse(kept.head, kept.tail) if kept.head else Glimpse(None, problem="nothing but details")
        changed = kept.changed.timestamp()
        path = str(named.of(kept.id))
        form, _, started, text, problem, is_subagent, _ = seen
        found.append(Listed(path, form, kept.id, started, changed, kept.size, text, problem, is_subagent))
    return found


def newest_first(sessions: Iterable[Listed]) -> list[Listed]:
    """Sessions by their last change, the newest first; those of one moment by path."""
    found = sorted(sessions, key=itemgetter(0))
    found.sort(key=itemgetter(4), reverse=True)
    return found


def look_into(folder: str, wanted: Callable[[str], bool] | None = None) -> list[Listed]:
    """The session files in a folder whose names are wanted, in any order; see :func:`list_logs`.

    Raises:
        StorageError: The folder cannot be read.
    """
    try:
        # Names are looked up in the open folder: that is faster, and the folder stays the same one.
        place = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            begin = os.path.join(folder, "")
            with collector_paused(), os.scandir(place) as there:
                names = [entry.name for entry in there if _may_be_session(entry)]
                return [
                    _look_at(begin + name, name, place) for name in names if wanted is None or wanted(name)
                ]
        finally:
            os.close(place)
    except OSError as error:
        raise StorageError.of(folder, "list the folder", error, "name a folder") from error


def session_files(folder: str) -> list[str]:
    """The paths of the files that :func:`list_logs` would look at, by name. None is opened.

    Raises:
        StorageError: The folder cannot be read.
    """
    try:
        with os.scandir(folder) as there:
            return sorted(entry.path for entry in there if _may_be_session(entry))
    except OSError as error:
        raise StorageError.of(folder, "list the folder", error, "name a folder") from error


def _may_be_session(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    if name[-6:] != ".jsonl" and _NAMES.fullmatch(name) is None:
        return False
    if ".details.jsonl" in name and _SIDECAR.fullmatch(name) is not None:
        return False
    try:
        return entry.is_file()
    except OSError:
        return True  # such as a link that leads to itself: looking at it tells


_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def _look_at(path: str, name: str, place: int) -> Listed:
    """What is told by a file of this name in the folder that is open as ``place``."""
    modified, size = 0.0, 0
    try:
        fd = os.open(name, _FLAGS, dir_fd=place)
        try:
            status = os.fstat(fd)
            modified, size = status.st_mtime, status.st_size
            head = os.pread(fd, _PIECE, 0)
            tail = head if size <= _PIECE else os.pread(fd, _PIECE, size - _PIECE)
            own = glimpse_own(head, tail)
            if own is not None:
                return Listed(path, "transcript-log", own[0], own[1], modified, size, own[2])
            seen = glimpse(head, tail)
            if seen.format != "transcript-log":
                seen = _look_again(path, fd, size, head, tail, seen)
                seen = _named_by_file(name, seen)
        finally:
            os.close(fd)
    except OSError as error:
        return _unreadable(path, name, place, modified, size, error)
    form, session_id, started, text, problem, is_subagent, _ = seen
    return Listed(path, form, session_id, started, modified, size, text, problem, is_subagent)


def _look_again(path: str, fd: int, size: int, head: bytes, tail: bytes, seen: Glimpse) -> Glimpse:
    """What more is told by a file of another agent, or by a compressed one."""
    if is_packed(head):
        try:
            head, fault = unpacked_beginning(path, fd, _MORE)
            seen = glimpse(head, b"")
            if is_cut(fd):
                fault = "it ends inside of what is compressed"
            return seen._replace(problem=fault) if fault and not seen.problem else seen
        except NoZstError:
            return Glimpse(None, problem="it is compressed: pip install 'transcript-log[zst]'")
    if size > _PIECE and seen.format is not None and not (seen.is_persons and seen.id and seen.started):
        return glimpse(head + os.pread(fd, _MORE, _PIECE), tail)
    return seen


def _named_by_file(name: str, seen: Glimpse) -> Glimpse:
    """The same with the id that its agent gave the file in its name, if it did."""
    by_name = _BY_NAME.get(seen.format or "")
    found = None if by_name is None else by_name.fullmatch(name)
    if found is None or (seen.id is not None and seen.format != "claude-code"):
        return seen
    return seen._replace(id=found[1])


def _unreadable(path: str, name: str, place: int, modified: float, size: int, error: OSError) -> Listed:
    if not modified:
        try:
            status = os.stat(name, dir_fd=place)
            modified, size = status.st_mtime, status.st_size
        except OSError:
            pass
    problem = f"it cannot be read: {error.strerror}"
    return Listed(path, None, None, None, modified, size, "", problem)
