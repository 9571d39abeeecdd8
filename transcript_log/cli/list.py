"""``transcript-log list``: the sessions in a folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import click

from .._times import format_time
from ..listing import list_logs
from .output import echo_json, show_size, show_time
from .text import plain

__all__ = ["list_"]


@click.command("list")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="One JSON object per file.")
def list_(folder: str, as_json: bool) -> None:
    """List the session files in a folder, newest change first.

    For each: when it last changed, its size, whose it is, its id, the beginning of the first
    user message, and what is wrong as far as its first and last few KB tell. DIR is the
    current folder if it is not given.

    \b
    Example:
        transcript-log list sessions/
    """
    if not os.path.exists(folder):
        raise click.UsageError(f"{folder}: there is no such folder")
    for log in list_logs(folder):
        changed = datetime.fromtimestamp(log.modified, UTC)
        if as_json:
            echo_json(
                {
                    "path": log.path,
                    "format": log.format,
                    "id": log.id,
                    "started": None if log.started is None else format_time(log.started),
                    "modified": format_time(changed),
                    "size": log.size,
                    "text": log.text,
                    "problem": log.problem or None,
                }
            )
            continue
        problem = f"  ({log.problem})" if log.problem else ""
        click.echo(
            plain(
                f"{show_time(changed)}  {show_size(log.size):>10}  {log.format or '?':<14}"
                f"  {os.path.basename(log.path)}  {log.text}{problem}"
            ).replace("\n", " ")
        )
