"""``transcript-log export``: a session in another form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import click

from .._logfile.files import write_file
from ..errors import ContextError
from ..exporters import Exporter, ExportSource
from ..exporters.chat_jsonl import export_chat
from ..exporters.claude_code import export_claude_code
from ..exporters.codex import export_codex
from ..exporters.html import export_html
from ..exporters.markdown import export_markdown
from ..exporters.pi import export_pi
from ..findings import Change
from ..redaction import Redacted, SecretShape, redact
from ..stores import SessionUrl, is_url
from .output import counted, echo, echo_pieces, show_size, tell
from .parameters import LocalType
from .parquet import export_parquet
from .redacting import chosen_shapes, redact_options, redacted_lines
from .source import FORMAT_NAMES, Session, file_argument, open_session
from .text import one_line

__all__ = ["export", "redacted_source", "source_of", "tell_changes"]

_EXPORTERS: Final[Mapping[str, Exporter]] = {
    "markdown": export_markdown,
    "html": export_html,
    "chat-jsonl": export_chat,
    "pi": export_pi,
    "claude-code": export_claude_code,
    "codex": export_codex,
}
"""How a session is brought into each form."""

_MANY: Final = 5
"""How many changes of one sort are told."""


@click.command()
@file_argument
@click.option(
    "--to", "form", type=click.Choice([*_EXPORTERS, "parquet"]), required=True, help="What to make of it."
)
@click.option("--out", metavar="FILE", type=LocalType(), help="Write there, with mode 0600; not to stdout.")
@click.option("--force", is_flag=True, help="Replace the file that is there.")
@redact_options
def export(
    file: str,
    form: str,
    out: str | None,
    force: bool,
    redact: bool,
    redact_patterns: tuple[str, ...],
    redact_file: str | None,
) -> None:
    """Bring a session into another form.

    'markdown' and 'html' show all of it to people, as 'replay' does; a page of HTML is one
    file that asks for nothing from elsewhere (install the extra 'html' for it). 'chat-jsonl'
    is what a Chat Completions server would be sent next, one message per line; 'pi',
    'claude-code' and 'codex' are sessions that those agents open and go on with, and
    'transcript-log convert' reads them back. What a form cannot hold is told on stderr. A
    file that is there is not replaced without --force.
    'parquet' is the views of 'sql', of one session or of all in a folder, as files in the
    folder that --out names (install the extra 'sql').

    \b
    Example:
        transcript-log export session.jsonl --to html --out session.html
        transcript-log export session.jsonl --to markdown --redact | less
        transcript-log export session.jsonl --to chat-jsonl > messages.jsonl
        transcript-log export session.jsonl --to pi --out mine.jsonl && pi --session mine.jsonl
        transcript-log export sessions/ --to parquet --out tables
    """
    if force and out is None:
        raise click.UsageError("--force is about the file that --out names")
    shapes = chosen_shapes(redact, redact_patterns, redact_file)
    if form == "parquet":
        if out is None:
            raise click.UsageError("name a folder for the tables with --out")
        export_parquet(file, out, force=force, shapes=shapes)
        return
    session = open_session(file)
    source, redacted = redacted_source(source_of(session), shapes)
    tell(source.findings)
    try:
        exported = _EXPORTERS[form](source)
    except ContextError as error:
        raise click.ClickException(one_line(f"{file}: {error}")) from error
    pieces = (piece.encode("utf-8") for piece in exported.pieces)
    if out is None:
        echo_pieces(pieces)
    else:
        if force and not is_url(file) and os.path.exists(out) and os.path.samefile(file, out):
            raise click.UsageError("--out names the session itself")
        size = write_file(out, pieces, replace=force)
        echo(one_line(f"wrote {out} ({show_size(size)})"), err=True)
    if redacted is not None:
        tell(replace(finding, path=file) for finding in redacted.findings)
        for line in redacted_lines(redacted):
            echo(line, err=True)
    tell_changes(exported.changes)


def redacted_source(
    source: ExportSource, shapes: Sequence[SecretShape] | None
) -> tuple[ExportSource, Redacted | None]:
    """A session with placeholders where secrets stand, and what was taken out; None if nothing is to be."""
    if shapes is None:
        return source, None
    made = redact(
        source.entries, source.details, header=source.header, findings=source.findings, shapes=shapes
    )
    clean = replace(
        source,
        entries=made.entries,
        details=made.details_by_call,
        header=made.header,
        findings=made.told,
    )
    return clean, made


def source_of(session: Session) -> ExportSource:
    """A session as exporters take it."""
    return ExportSource(
        name=_name_of(session.path),
        entries=session.entries,
        details=session.details,
        header=session.header,
        maker="" if session.format == "transcript-log" else FORMAT_NAMES[session.format],
        findings=session.file_findings,
    )


def _name_of(path: str) -> str:
    if isinstance(path, SessionUrl):
        return path.session
    return os.path.basename(path).removesuffix(".zst").removesuffix(".jsonl")


def tell_changes(changes: Sequence[Change]) -> None:
    """Tell each change, but of one sort no more than a few."""
    told: dict[tuple[str, str], int] = {}
    for change in changes:
        sort = (change.kind, change.rule)
        told[sort] = told.get(sort, 0) + 1
        if told[sort] <= _MANY:
            echo(one_line(str(change)), err=True)
    for (kind, rule), number in told.items():
        if number > _MANY:
            echo(f"{counted(number - _MANY, 'more change')}: {kind} ({rule})", err=True)
