"""``transcript-log context``: what a model would be sent."""

from __future__ import annotations

import click

from .choosing import chosen_entry
from .contexts import (
    built_context,
    change_json,
    chosen_target,
    row_json,
    row_lines,
    target_options,
    tell_notes,
)
from .output import counted, echo, echo_json, tell
from .source import file_argument, open_session
from .text import one_line

__all__ = ["context"]


@click.command()
@file_argument
@target_options
@click.option(
    "--at",
    metavar="ENTRY",
    help="As it was when this entry was the last: its id, or how it begins ('replay --json' shows them).",
)
@click.option("--strict", is_flag=True, help="Refuse a history that has to be changed to be sent.")
@click.option("--attachments", is_flag=True, help="Place the attachments too.")
@click.option("--explain", is_flag=True, help="Say of each item where it comes from, and what was changed.")
@click.option("--json", "as_json", is_flag=True, help="With --explain: one JSON object per row and change.")
def context(
    file: str,
    target: str | None,
    platform: str | None,
    at: str | None,
    strict: bool,
    attachments: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Print what a model would be sent, one JSON object per item.

    That is what the newest compaction leaves, with outputs at their calls. With --target also
    without what that model cannot read, and in the words of its API; without it every item
    keeps its own shape. With --explain there is a line per item instead: its number, from 0,
    its entry (and of how many more it is made), why it is there, and its first words; then
    one line per change. Exit status 1 if the API would refuse all that can be made of it.

    \b
    Example:
        transcript-log context session.jsonl --target openai-responses/gpt-5
        transcript-log context session.jsonl --target anthropic-messages/claude-opus-4-6 --explain
        transcript-log context session.jsonl --explain --json | jq 'select(.change)'
    """
    wanted = chosen_target(target, platform)
    session = open_session(file)
    tell(session.file_findings)
    then = None if at is None else chosen_entry(session, at)
    built = built_context(session, wanted, at=then, strict=strict, attachments=attachments)
    if not explain:
        for item in built.items:
            echo_json(item)
        changes = counted(len(built.changes), "change") + ("; --explain shows them" if built.changes else "")
        echo(f"{counted(len(built.items), 'item')}, {changes}", err=True)
    elif as_json:
        for position, row in enumerate(built.rows):
            echo_json(row_json(position, row))
        for change in built.changes:
            echo_json(change_json(change))
    else:
        for line in row_lines(built.rows):
            echo(line)
        for change in built.changes:
            echo(one_line(f"change  {change} ({change.rule})"))
    tell_notes(built, file)
