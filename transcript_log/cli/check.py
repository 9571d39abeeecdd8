"""``transcript-log check``: what is wrong with a session."""

from __future__ import annotations

import click

from ..check import is_sound
from .inspect import finding_json
from .output import echo_json
from .source import file_argument, open_session
from .text import plain

__all__ = ["check"]


@click.command()
@file_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON object per finding.")
@click.pass_context
def check(ctx: click.Context, file: str, as_json: bool) -> None:
    """List all that is wrong with a session.

    Each finding says where (line, byte offset, entry, call), what, and what to do. A note is
    worth knowing but no fault. Exit status 1 if there is anything but notes.

    \b
    Example:
        transcript-log check session.jsonl || transcript-log salvage session.jsonl
    """
    session = open_session(file)
    for finding in session.findings:
        if as_json:
            echo_json(finding_json(finding))
        else:
            click.echo(plain(str(finding)))
    sound = is_sound(session.findings)
    if not as_json:
        faults = sum(finding.severity != "note" for finding in session.findings)
        click.echo("nothing is wrong" if sound else f"{faults} found", err=True)
    ctx.exit(0 if sound else 1)
