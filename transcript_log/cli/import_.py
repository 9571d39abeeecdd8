"""``transcript-log import``: a log of our own made of a session of another agent."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import click

from ..entries import Json
from ..errors import HeaderError, SessionIdError
from ..findings import Finding
from ..importers import Imported
from ..importing import Written, write_imported
from ..jsonl import session_path
from ..redaction import Redacted, redact_imported
from .output import counted, echo, echo_json, finding_json
from .redacting import chosen_shapes, redact_options, redacted_json, redacted_lines
from .source import FORMAT_NAMES, Foreign, OutType, file_argument, open_session, read_foreign
from .text import one_line

__all__ = ["import_"]

_ENDS: Final = re.compile(r"(?:\.jsonl|\.json)?(?:\.zst)?\Z")


@click.command("import")
@file_argument
@click.option(
    "--out",
    type=OutType(),
    metavar="LOG",
    help="The log to make, a file or the URL of a session; by default ID.jsonl in this folder.",
)
@click.option("--keep-unknown", is_flag=True, help="Keep records that nothing is made of, as they are.")
@redact_options
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON object.")
@click.pass_context
def import_(
    ctx: click.Context,
    file: str,
    out: str | None,
    keep_unknown: bool,
    redact: bool,
    redact_patterns: tuple[str, ...],
    redact_file: str | None,
    as_json: bool,
) -> None:
    """Make a log of this package of another agent's session.

    The log and its sidecar are written under another name, read back and compared with the
    session, and then named. A file that is there is never replaced. The same session gives
    the same bytes. What was damaged, not taken over or cannot be stored is told on stderr;
    exit status 1 if a part could not be stored, though the log is written.

    \b
    Example:
        transcript-log import ~/.codex/sessions/2026/01/02/rollout-….jsonl
        transcript-log import 0199a213 --out session.jsonl --keep-unknown
        transcript-log import 0199a213 --redact --redact-pattern 'ticket=INT-[0-9]{6}'
    """
    shapes = chosen_shapes(redact, redact_patterns, redact_file)
    found = read_foreign(file, keep_unknown=keep_unknown)
    if not isinstance(found, Foreign):
        open_session(file)  # tells of one that is no session at all
        raise HeaderError(file, 1, 0, "this is a log of this package: there is nothing to import")
    imported, redacted = found.imported, None
    if shapes is not None:
        imported, redacted = redact_imported(imported, shapes=shapes)
    path = out if out is not None else _default_name(file, imported)
    written = write_imported(imported, path, source=file)
    bound = () if redacted is None else (replace(finding, path=file) for finding in redacted.findings)
    findings = [*imported.findings, *written.refused, *bound]
    if as_json:
        echo_json(_as_json(found, path, written, findings, redacted))
    else:
        for finding in findings:
            echo(one_line(str(finding)), err=True)
        echo(one_line(path))
        for line in [] if redacted is None else redacted_lines(redacted):
            echo(line, err=True)
        echo(_summary(found, written), err=True)
    ctx.exit(1 if any(finding.rule == "unstorable" for finding in findings) else 0)


def _default_name(file: str, imported: Imported) -> str:
    """The log's name in this folder: by the session's id, or by the file if that is no name."""
    try:
        return os.path.basename(session_path("", imported.header.id or ""))
    except SessionIdError:
        return f"{_ENDS.sub('', os.path.basename(file))}-imported.jsonl"


def _summary(found: Foreign, written: Written) -> str:
    entries = f"{written.entries} " + ("entry" if written.entries == 1 else "entries")
    return f"made of {FORMAT_NAMES[found.format]}: {entries}, {counted(written.details, 'detail')}"


def _as_json(
    found: Foreign, path: str, written: Written, findings: Sequence[Finding], redacted: Redacted | None
) -> dict[str, Json]:
    return {
        "path": path,
        "source": found.path,
        "format": found.format,
        "id": found.imported.header.id,
        "entries": written.entries,
        "details": written.details,
        "counts": dict(found.imported.counts),
        "findings": [finding_json(finding) for finding in findings],
        "redacted": None if redacted is None else redacted_json(redacted),
    }
