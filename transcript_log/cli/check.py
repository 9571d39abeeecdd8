"""``transcript-log check``: what is wrong with a session."""

from __future__ import annotations

import click

from ..check import is_sound
from .output import counted, echo, echo_json, finding_json
from .source import file_argument, open_session
from .text import one_line

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
    findings = open_session(file).findings
    for finding in findings:
        if as_json:
            echo_json(finding_json(finding))
        else:
            echo(one_line(str(finding)))
    if not as_json:
        notes = sum(finding.severity == "note" for finding in findings)
        faults = len(findings) - notes
        what = f"{counted(faults, 'thing')} wrong" if faults else "nothing is wrong"
        echo(what + (f", {counted(notes, 'note')}" if notes else ""), err=True)
    ctx.exit(0 if is_sound(findings) else 1)
