"""``transcript-log context``: what a model would be sent."""

from __future__ import annotations

import click

from ..context import Context
from ..sent import SentRequest
from .choosing import chosen_entry
from .contexts import (
    built_context,
    change_json,
    chosen_target,
    row_json,
    row_lines,
    sent_request,
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
@click.option("--request", is_flag=True, help="The whole request that the response at ENTRY answers.")
@click.option("--explain", is_flag=True, help="Say of each item where it comes from, and what was changed.")
@click.option("--json", "as_json", is_flag=True, help="With --explain: one JSON object per row and change.")
def context(
    file: str,
    target: str | None,
    platform: str | None,
    rules: str | None,
    at: str | None,
    strict: bool,
    attachments: bool,
    request: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Print what a model would be sent, one JSON object per item.

    That is what the newest compaction leaves, with outputs at their calls. With --target also
    without what that model cannot read, and in the words of its API; without it every item
    keeps its own shape. With --explain there is a line per item instead: its number, from 0,
    its entry (and of how many more it is made), why it is there, and its first words; then
    one line per change. Exit status 1 if the API would refuse all that can be made of it.

    With --request, ENTRY is any entry of a response, and one JSON object is printed: what was
    recorded of the request that the response answers (system prompt, tools, parameters), with
    the items of the context before it where its API wants them ('input', 'messages' or
    'contents'). So it can be sent again as it is. Who was asked is on record; --target names
    another. If nothing was recorded, exit status 1.

    \b
    Example:
        transcript-log context session.jsonl --target openai-responses/gpt-5
        transcript-log context session.jsonl --target anthropic-messages/claude-opus-4-6 --explain
        transcript-log context session.jsonl --explain --json | jq 'select(.change)'
        transcript-log context session.jsonl --at 68af6e --request | curl --json @- "$URL" -H "$AUTH"
    """
    if request and (at is None or explain or strict):
        raise click.UsageError("--request wants --at, and neither --explain nor --strict")
    wanted = chosen_target(target, platform, rules)
    session = open_session(file)
    tell(session.file_findings)
    then = None if at is None else chosen_entry(session, at)
    if request and then is not None:
        sent = sent_request(session, then, wanted, attachments=attachments)
        echo_json(sent.body)
        echo(one_line(_told(sent)), err=True)
        return
    built = built_context(session, wanted, at=then, strict=strict, attachments=attachments)
    if not explain:
        for item in built.items:
            echo_json(item)
        echo(_counts(built) + ("; --explain shows them" if built.changes else ""), err=True)
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


def _counts(built: Context) -> str:
    return f"{counted(len(built.items), 'item')}, {counted(len(built.changes), 'change')}"


def _told(sent: SentRequest) -> str:
    """What is said of a request beside it."""
    if sent.has_own_items:
        return f"the request that entry {sent.entry} answers, with the items that were recorded in it"
    return f"the request that entry {sent.entry} answers: {_counts(sent.context)}"
