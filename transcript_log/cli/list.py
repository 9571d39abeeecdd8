"""``transcript-log list``: the sessions in a folder, and those that agents keep."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Final

import click

from .._times import format_time
from ..entries import Json
from ..errors import StorageError
from ..listing import Listed, list_logs, list_stored, newest_first
from ..places import AGENTS, Home, agent_homes, list_homes
from ..stores import SessionUrl, is_url
from .naming import NoSuchFileError, PathType, shown_path
from .output import counted, echo, echo_json, show_size, show_time
from .text import one_line

__all__ = ["list_"]

_NAME: Final = 48
_TEXT: Final = 60


@click.command("list")
@click.argument("folder", metavar="[DIR]", required=False, type=PathType())
@click.option(
    "--agent",
    type=click.Choice([*AGENTS, "all"]),
    help="Whose own place to look in; all of them by default, unless DIR is given.",
)
@click.option("--subagents", is_flag=True, help="Also the sessions of subagents.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="The newest N.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per session.")
def list_(folder: str | None, agent: str | None, subagents: bool, limit: int | None, as_json: bool) -> None:
    """List sessions, newest change first.

    Without words: those in this folder, and those of Claude Code, Codex and pi where these
    keep them (their environment variables count). With DIR: the session files in that folder,
    not below it; or, with the URL of a database, the sessions there. With --agent: those of
    that agent. For each: when it last changed, its size, whose it is, its id, the beginning of
    the first message of a person, and what is wrong as far as its first and last few KB tell.
    The beginning of an id stands for its file in every other command.

    \b
    Example:
        transcript-log list --limit 20
        transcript-log list --agent codex --json | jq -r 'select(.problem) | .path'
        transcript-log list sessions/
        transcript-log list postgresql://agents@db.example/sessions --limit 20
    """
    if folder is not None and is_url(folder):
        _list_database(SessionUrl(folder), limit, as_json=as_json)
        return
    if folder is not None and ("\0" in folder or not os.path.lexists(folder)):
        raise NoSuchFileError(folder, "there is no such folder")
    whole = folder is None and agent in (None, "all")
    homes = _homes(folder, agent)
    kept = list_homes(homes, _tell)
    sessions = newest_first(
        [
            *(list_logs(folder or ".") if whole or folder is not None else ()),
            *(session for session in kept if subagents or not session.is_subagent),
        ]
    )
    _print(sessions[:limit], as_json=as_json, by_id=folder is None)
    if as_json:
        return
    if hidden := 0 if subagents else sum(session.is_subagent for session in kept):
        echo(f"{counted(hidden, 'session')} of subagents not shown; --subagents shows them", err=True)
    if not sessions:
        places = [*([folder or "this folder"] if whole or folder is not None else ()), *_shown(homes)]
        echo(one_line(f"{', '.join(places)}: no session files"), err=True)


def _list_database(url: SessionUrl, limit: int | None, *, as_json: bool) -> None:
    if url.session:
        raise click.UsageError(one_line(f"{url}: leave #{url.session} out to list the database"))
    sessions = list_stored(url, limit)
    _print(sessions, as_json=as_json, by_id=True)
    if not sessions and not as_json:
        echo(one_line(f"{url}: no sessions"), err=True)


def _homes(folder: str | None, agent: str | None) -> list[Home]:
    """The places to look in."""
    if agent is None and folder is not None:
        return []
    return agent_homes(os.environ, [name for name in AGENTS if agent in (None, "all", name)])


def _shown(homes: list[Home]) -> list[str]:
    return [shown_path(home.folder) for home in homes]


def _tell(error: StorageError) -> None:
    echo(one_line(str(error)), err=True)


def _print(sessions: list[Listed], *, as_json: bool, by_id: bool) -> None:
    names = [one_line(_name(log, by_id=by_id)) for log in sessions]
    width = min(_NAME, max(map(len, names), default=0))
    for log, name in zip(sessions, names, strict=True):
        if as_json:
            echo_json(_as_json(log))
            continue
        text = one_line(log.text if len(log.text) <= _TEXT else f"{log.text[:_TEXT].rstrip()} …")
        problem = one_line(f"[{log.problem}]") if log.problem else ""
        columns = (
            f"{show_time(_modified(log)):<20}",
            f"{show_size(log.size):>10}",
            f"{log.format or 'unknown':<14}",
            f"{name:<{width}}",
            *filter(None, (text, problem)),
        )
        echo("  ".join(columns).rstrip())


def _name(log: Listed, *, by_id: bool) -> str:
    """What a session is called: by its id, or as a file of the folder that was named."""
    return log.id if by_id and log.id else os.path.basename(log.path)


def _as_json(log: Listed) -> dict[str, Json]:
    modified = _modified(log)
    return {
        "path": log.path,
        "format": log.format,
        "id": log.id,
        "started": None if log.started is None else format_time(log.started),
        "modified": None if modified is None else format_time(modified),
        "size": log.size,
        "text": log.text,
        "problem": log.problem or None,
        "subagent": log.is_subagent,
    }


def _modified(log: Listed) -> datetime | None:
    try:
        return datetime.fromtimestamp(log.modified, UTC)
    except (OverflowError, ValueError):  # a file system may hold years past 9999
        return None
