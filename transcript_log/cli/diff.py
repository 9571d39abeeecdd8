"""``transcript-log diff``: how two contexts differ."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..context import Context
from ..diffing import ContextDiff, diff_items
from ..entries import Json
from .choosing import chosen_entry
from .contexts import built_context, chosen_target, row_json, row_lines, target_options
from .output import counted, echo, echo_json, tell
from .source import FileType, file_argument, open_session
from .text import one_line

__all__ = ["diff"]


@click.command()
@file_argument
@click.argument("other", metavar="[FILE2]", required=False, type=FileType())
@click.option(
    "--at",
    "at",
    metavar="ENTRY",
    multiple=True,
    help="An entry of FILE, by its id or how it begins; give two, and no FILE2.",
)
@target_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def diff(
    ctx: click.Context,
    file: str,
    other: str | None,
    at: tuple[str, ...],
    target: str | None,
    platform: str | None,
    rules: str | None,
    as_json: bool,
) -> None:
    """Compare the contexts of two files, or of one file at two entries.

    Shows the items that only one of them has (- the first, + the second), where the two part,
    and how much of a prompt cache they share. That is counted in bytes of compact JSON: those
    of the equal leading items, and the beginning that the next two have in common; what a
    request puts between items is not counted. Items count from 0. Exit status 1 if they differ.

    \b
    Example:
        transcript-log diff before.jsonl after.jsonl --target openai-chat/gpt-5
        transcript-log diff session.jsonl --at 3a31915a41298e53f1f9261a --at 1ab4bd6ee6ea5e4a81dac35f
    """
    if len(at) != (2 if other is None else 0):
        raise click.UsageError("give two FILEs, or one FILE and --at twice")
    wanted = chosen_target(target, platform, rules)
    sessions = [open_session(path) for path in ((file,) if other is None else (file, other))]
    for session in sessions:
        tell(session.file_findings)
    if other is None:
        chosen = [chosen_entry(sessions[0], named) for named in at]
        names = [f"{file} at {entry}" for entry in chosen]
        contexts = [built_context(sessions[0], wanted, at=entry) for entry in chosen]
    else:
        names = [file, other]
        contexts = [built_context(session, wanted) for session in sessions]
    found = diff_items(contexts[0].items, contexts[1].items)
    if as_json:
        echo_json(_as_json(found, names, contexts))
    else:
        for line in _lines(found, names, contexts):
            echo(one_line(line))
    ctx.exit(0 if found.parts_at is None else 1)


def _as_json(found: ContextDiff, names: Sequence[str], contexts: Sequence[Context]) -> dict[str, Json]:
    first, second = (context.rows for context in contexts)
    return {
        "equal": found.parts_at is None,
        "first": {"name": names[0], "items": len(first), "bytes": found.first_bytes},
        "second": {"name": names[1], "items": len(second), "bytes": found.second_bytes},
        "only_first": [row_json(position, first[position]) for position in found.only_first],
        "only_second": [row_json(position, second[position]) for position in found.only_second],
        "parts_at": found.parts_at,
        "shared_bytes": found.shared_bytes,
    }


def _lines(found: ContextDiff, names: Sequence[str], contexts: Sequence[Context]) -> list[str]:
    first, second = (row_lines(context.rows) for context in contexts)
    lines = [
        f"--- {names[0]}: {counted(len(first), 'item')}, {counted(found.first_bytes, 'byte')}",
        f"+++ {names[1]}: {counted(len(second), 'item')}, {counted(found.second_bytes, 'byte')}",
    ]
    lines += [f"- {first[position]}" for position in found.only_first]
    lines += [f"+ {second[position]}" for position in found.only_second]
    at = found.parts_at
    if at is None:
        return [*lines, "the contexts are equal"]
    parted = [rows[at].strip() if at < len(rows) else "the end" for rows in (first, second)]
    begun = "" if "the end" in parted else ", and the beginning of the next two"
    return [
        *lines,
        f"they part at item {at}:",
        f"  first   {parted[0]}",
        f"  second  {parted[1]}",
        f"they share their first {counted(found.shared_bytes, 'byte')}: {counted(at, 'item')}{begun}",
    ]
