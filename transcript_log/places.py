"""Where agents keep their sessions, and which session an id means.

Each agent has one folder, which its own environment variables can move. In it sessions lie by
project or by day; a name of a file tells the session's id, so that finding one by its id opens
none of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from .errors import StorageError
from .importers import SourceFormat
from .listing import Listed, list_logs, look_into

__all__ = ["AGENTS", "Agent", "Found", "Home", "agent_homes", "find_sessions", "list_homes"]

Agent = Literal["claude-code", "codex", "pi"]
"""An agent whose sessions have a place of their own."""

AGENTS: Final[tuple[Agent, ...]] = get_args(Agent)
"""All of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A folder in which an agent keeps sessions, in it and below. It may not be there."""

    agent: Agent
    folder: str


def agent_homes(environ: Mapping[str, str], agents: Iterable[Agent] = AGENTS) -> list[Home]:
    """Where agents keep their sessions.

    Claude Code: ``projects`` in ``$CLAUDE_CONFIG_DIR``, or in ``~/.claude``. Codex: ``sessions``
    and ``archived_sessions`` in ``$CODEX_HOME``, or in ``~/.codex``. pi:
    ``$PI_CODING_AGENT_SESSION_DIR``, or ``sessions`` in ``$PI_CODING_AGENT_DIR``, or in ``~/.pi/agent``.

    Args:
        environ: The environment; ``HOME`` is the user's folder.
        agents: Whose places.
    """
    home = environ.get("HOME") or os.path.expanduser("~")

    def root(variable: str, *default: str) -> str:
        moved = environ.get(variable)
        if not moved:
            return os.path.join(home, *default)
        return os.path.join(home, moved[2:]) if moved.startswith("~/") else moved

    found: list[Home] = []
    for agent in agents:
        match agent:
            case "claude-code":
                folders = [os.path.join(root("CLAUDE_CONFIG_DIR", ".claude"), "projects")]
            case "codex":
                moved = root("CODEX_HOME", ".codex")
                folders = [os.path.join(moved, name) for name in ("sessions", "archived_sessions")]
            case "pi":
                folders = [os.path.join(root("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions")]
                if environ.get("PI_CODING_AGENT_SESSION_DIR"):
                    folders = [root("PI_CODING_AGENT_SESSION_DIR")]
        found += [Home(agent=agent, folder=folder) for folder in folders]
    return found


_SUFFIX: Final = r"\.jsonl?(?:\.zst)?"
_IDS: Final[Mapping[Agent, re.Pattern[str]]] = {
    "claude-code": re.compile(rf"(.+?){_SUFFIX}", re.DOTALL),
    "codex": re.compile(rf"rollout-(?:\d+-\d+-\d+(?:T\d+-\d+-\d+)?-)?(.+?){_SUFFIX}", re.DOTALL),
    "pi": re.compile(rf"[0-9TZ-]+_(.+?){_SUFFIX}", re.DOTALL),
}
"""The names that agents give their files, and the session id in each. People give them others."""

_ENDING: Final = re.compile(rf"{_SUFFIX}\Z")


def list_homes(homes: Iterable[Home], tell: Callable[[StorageError], None]) -> list[Listed]:
    """The sessions in agents' places, and below those, in any order.

    Their ids are those of their names. A file that was given another name than its agent gives
    is there if it holds a session, by the id that stands in it, or by its name.

    Args:
        homes: The places. One that is not there holds none.
        tell: Is told of each folder that cannot be read.
    """
    found: list[Listed] = []
    for home in homes:
        for folder, _ in _folders(home.folder, tell):
            try:
                there = look_into(folder)
            except StorageError as error:
                tell(error)
                continue
            of_subagents = _is_of_subagents(folder)
            for listed in there:
                named, name = _named(listed, home.agent)
                if named or listed.format is not None:
                    found.append(listed._replace(id=name, is_subagent=listed.is_subagent or of_subagents))
    return found


def _named(listed: Listed, agent: Agent) -> tuple[bool, str]:
    """Whether a session in an agent's place has a name as its agent gives, and its id."""
    name = os.path.basename(listed.path)
    match = _IDS[agent].fullmatch(name)
    return (False, listed.id or _ENDING.sub("", name)) if match is None else (True, match[1])


def _folders(root: str, tell: Callable[[StorageError], None]) -> Iterator[tuple[str, list[str]]]:
    """A folder and those below it, each with the names in it that are no folders.

    No link to a folder is followed; a folder that is not there is none.
    """

    def refused(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            tell(StorageError.of(str(error.filename or root), "list the folder", error))

    for folder, _, names in os.walk(root, onerror=refused):
        yield folder, names


def _is_of_subagents(folder: str) -> bool:
    return "subagents" in folder.split(os.sep)


# -------------------------------------------------------------------------------- by id


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A session whose id begins as asked for."""

    path: str
    id: str
    format: SourceFormat


def find_sessions(
    prefix: str, folder: str, homes: Sequence[Home], tell: Callable[[StorageError], None]
) -> list[Found]:
    """The sessions whose ids begin so, by id; if that is the whole id of one, those of that id alone.

    A log of this package goes before the session of the same id that it was made of, and a
    file before the same one compressed.

    Args:
        prefix: The beginning of an id.
        folder: Where to look for logs of this package, by the ids in their headers and by their
            names; a few KB of each are read. Nothing below it is looked at.
        homes: Where to look for other agents' sessions, by their names; a few KB are read of those
            that have another name than their agent gives.
        tell: Is told of each folder that cannot be read.
    """
    found = [*_logs(prefix, folder, tell), *_sessions(prefix, homes, tell)]
    exact = [each for each in found if each.id == prefix]
    first: dict[tuple[str, str], Found] = {}
    for each in sorted(exact or found, key=lambda found: found.id):
        first.setdefault((each.id, each.path.removesuffix(".zst")), each)
    unique = list(first.values())
    ours = [each for each in unique if each.format == "transcript-log"]
    return ours if len(ours) == 1 and len({each.id for each in unique}) == 1 else unique


def _logs(prefix: str, folder: str, tell: Callable[[StorageError], None]) -> Iterator[Found]:
    try:
        listed = list_logs(folder)
    except StorageError as error:
        tell(error)
        return
    for log in sorted(listed):
        stem = _ENDING.sub("", os.path.basename(log.path))
        names = [name for name in (log.id, stem) if name is not None and name.startswith(prefix)]
        if log.format is not None and names:
            yield Found(path=os.path.normpath(log.path), id=names[0], format=log.format)


def _sessions(prefix: str, homes: Iterable[Home], tell: Callable[[StorageError], None]) -> Iterator[Found]:
    for home in homes:
        for folder, names in _folders(home.folder, tell):
            others = set()
            for name in sorted(names):
                match = _IDS[home.agent].fullmatch(name)
                if match is None:
                    others.add(name)
                elif match[1].startswith(prefix) and ".details." not in name:
                    yield Found(path=os.path.join(folder, name), id=match[1], format=home.agent)
            if others:
                yield from _named_otherwise(prefix, folder, others, home.agent, tell)


def _named_otherwise(
    prefix: str, folder: str, names: Collection[str], agent: Agent, tell: Callable[[StorageError], None]
) -> Iterator[Found]:
    try:
        there = look_into(folder, names.__contains__)
    except StorageError as error:
        tell(error)
        return
    for listed in sorted(there):
        _, name = _named(listed, agent)
        if listed.format is not None and name.startswith(prefix):
            yield Found(path=listed.path, id=name, format=listed.format)
