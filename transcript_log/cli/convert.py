"""``transcript-log convert``: a session that another agent goes on with."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import click

from ..converting import AGENTS, Agent, Converted, file_name, write_converted
from ..entries import Json
from ..errors import ContextError, StorageError
from ..exporters import ExportSource
from ..redaction import Redacted
from ..stores import is_url
from .contexts import change_json
from .export import redacted_source, source_of, tell_changes
from .import_ import import_
from .output import counted, echo, echo_json, finding_json, tell
from .parameters import OutType
from .redacting import chosen_shapes, redact_options, redacted_json, redacted_lines
from .source import Session, file_argument, open_session
from .text import one_line

__all__ = ["convert"]

_OURS: Final = "ours"
_GOES_ON: Final[Mapping[Agent, str]] = {
    "claude-code": "claude --resume {id}",
    "codex": "codex resume {id}",
    "pi": "pi --session {path}",
}
"""How an agent goes on with a session."""


@click.command()
@file_argument
@click.option("--to", "form", type=click.Choice([*AGENTS, _OURS]), required=True, help="Who is to go on.")
@click.option(
    "--out",
    metavar="FILE",
    type=OutType(),
    help="The file to make, or a folder: then it lies below that as the agent has it; by default here. With"
    " --to ours the log to make.",
)
@redact_options
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON object.")
@click.pass_context
def convert(
    ctx: click.Context,
    file: str,
    form: str,
    out: str | None,
    redact: bool,
    redact_patterns: tuple[str, ...],
    redact_file: str | None,
    as_json: bool,
) -> None:
    """Move a session to another agent, which goes on with it.

    The whole history is written in the words of that agent and its API, compactions as its
    own; calls that nobody answered have an output that says so. The file is read back and
    compared before it has its name, and no file is replaced. What cannot be said there as it
    was is told on stderr; exit status 1 if something else is not the same. With 'ours' this is
    'transcript-log import'.

    \b
    Example:
        transcript-log convert session.jsonl --to codex --out ~/.codex/sessions/
        transcript-log convert 0199a213 --to claude-code --out ~/.claude/projects/
        transcript-log convert 0199a213 --to pi --out session-for-pi.jsonl
    """
    if form == _OURS:
        ctx.invoke(
            import_,
            file=file,
            out=out,
            keep_unknown=False,
            redact=redact,
            redact_patterns=redact_patterns,
            redact_file=redact_file,
            as_json=as_json,
        )
        return
    if out is not None and is_url(out):
        raise click.UsageError(one_line(f"{out}: name a file: {form} finds no session in a database"))
    agent: Agent = next(name for name in AGENTS if name == form)
    shapes = chosen_shapes(redact, redact_patterns, redact_file)
    session = open_session(file)
    source, redacted = redacted_source(source_of(session), shapes)
    path = _place(source, agent, out)
    if os.path.lexists(path):
        raise StorageError(path, "make the session", "there is a file already", errno.EEXIST, "name another")
    try:
        made = write_converted(source, agent, path)
    except ContextError as error:
        raise click.ClickException(one_line(f"{file}: {error}")) from error
    if as_json:
        echo_json(_as_json(session, agent, path, made, redacted))
    else:
        tell(session.file_findings)
        tell_changes(made.changes)
        tell(replace(finding, path=path) for finding in made.findings)
        echo(one_line(path))
        if redacted is not None:
            tell(replace(finding, path=file) for finding in redacted.findings)
            for line in redacted_lines(redacted):
                echo(line, err=True)
        told = f"{counted(made.records, 'record')}, {counted(len(made.changes), 'change')}"
        command = _GOES_ON[agent].format(id=made.id, path=shlex.quote(path))
        echo(one_line(f"made for {agent}: {told}; go on with: {command}"), err=True)
    ctx.exit(1 if made.findings else 0)


def _place(source: ExportSource, agent: Agent, out: str | None) -> str:
    """Where the file is to be."""
    parts = file_name(source, agent)
    if out is None:
        return parts[-1]
    if out.endswith(os.sep) or os.path.isdir(out):
        return os.path.join(out, *parts)
    return out


def _as_json(
    session: Session, agent: Agent, path: str, made: Converted, redacted: Redacted | None
) -> dict[str, Any]:
    report: dict[str, Json] = {
        "path": path,
        "source": session.path,
        "format": session.format,
        "to": agent,
        "id": made.id,
        "records": made.records,
        "changes": [change_json(change) for change in made.changes],
        "findings": [finding_json(finding) for finding in (*session.file_findings, *made.findings)],
        "redacted": None if redacted is None else redacted_json(redacted),
    }
    return report
