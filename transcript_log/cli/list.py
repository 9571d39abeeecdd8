"""``transcript-log list``: the sessions in a folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import click

from .._times import format_time
from ..entries import Json
from ..listing import Listed, list_logs
from .output import echo, echo_json, show_size, show_time
from .source import NoSuchFileError, PathType
from .text import one_line

__all__ = ["list_"]

_NAME = 48
_TEXT = 60


@click.command("list")
@click.argument("folder", metavar="[DIR]", default=".", type=PathType())
@click.option("--json", "as_json", is_flag=True, help="One JSON object per file.")
def list_(folder: str, as_json: bool) -> None:
    """List the session files in a folder, newest change first.

    For each: when it last changed, its size, whose it is, its name, the beginning of the first
    user message, and what is wrong as far as its first and last few KB tell; --json adds the
    session id and its start. DIR is the current folder if it is not given.

    \b
    Example:
        transcript-log list sessions/
        transcript-log list sessions/ --json | jq -r 'select(.problem) | .path'
    """
    if "\0" in folder or not os.path.lexists(folder):
        raise NoSuchFileError(folder, "there is no such folder")
    logs = list_logs(folder)
    names = {log.path: one_line(os.path.basename(log.path)) for log in logs}
    width = min(_NAME, max((len(name) for name in names.values()), default=0))
    for log in logs:
        if as_json:
            echo_json(_as_json(log))
            continue
        text = one_line(log.text if len(log.text) <= _TEXT else f"{log.text[:_TEXT].rstrip()} …")
        problem = one_line(f"[{log.problem}]") if log.problem else ""
        columns = (
            f"{show_time(_modified(log)):<20}",
            f"{show_size(log.size):>10}",
            f"{log.format or 'unknown':<14}",
            f"{names[log.path]:<{width}}",
            *filter(None, (text, problem)),
        )
        echo("  ".join(columns).rstrip())
    if not logs and not as_json:
        echo(one_line(f"{folder}: no session files"), err=True)


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
    }


def _modified(log: Listed) -> datetime | None:
    try:
        return datetime.fromtimestamp(log.modified, UTC)
    except (OverflowError, ValueError):  # a file system may hold years past 9999
        return None
