"""``transcript-log import``: a log of our own made of a session of another agent."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Final, NamedTuple

import click

from ..entries import Json
from ..errors import HeaderError, SessionIdError, StorageError, TranscriptError
from ..findings import Finding
from ..importers import Imported
from ..importing import Written, write_imported
from ..jsonl import session_path
from ..redaction import Redacted, SecretShape, redact_imported
from ..stores import SessionUrl
from ..subagents import log_folder
from .output import counted, echo, echo_json, finding_json
from .parameters import OutType
from .redacting import chosen_shapes, redact_options, redacted_json, redacted_lines
from .source import FORMAT_NAMES, Foreign, file_argument, open_session, read_foreign, subagents_of
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
@click.option("--subagents", is_flag=True, help="Also logs of its subagents, in a folder beside it.")
@click.option("--keep-unknown", is_flag=True, help="Keep records that nothing is made of, as they are.")
@redact_options
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON object.")
@click.pass_context
def import_(
    ctx: click.Context,
    file: str,
    out: str | None,
    subagents: bool,
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
    exit status 1 if a part could not be stored, though the log is written. With --subagents
    what its subagents did becomes logs too, LOG.subagents/ID.jsonl for LOG.jsonl and
    URL#LOG.subagents/ID for URL#LOG, whose headers name the call that each carried out.

    \b
    Example:
        transcript-log import ~/.codex/sessions/2026/01/02/rollout-….jsonl
        transcript-log import 0199a213 --out session.jsonl --keep-unknown
        transcript-log import ~/.claude/projects/…/SESSION.jsonl --subagents
        transcript-log import 0199a213 --redact --redact-pattern 'ticket=INT-[0-9]{6}'
    """
    shapes = chosen_shapes(redact, redact_patterns, redact_file)
    found = read_foreign(file, keep_unknown=keep_unknown)
    if not isinstance(found, Foreign):
        open_session(file)  # tells of one that is no session at all
        raise HeaderError(file, 1, 0, "this is a log of this package: there is nothing to import")
    path = out if out is not None else _default_name(file, found.imported)
    folder = log_folder(path)
    if subagents and not isinstance(path, SessionUrl) and os.path.lexists(folder):
        raise StorageError(
            folder, "make logs", "there is something already", errno.EEXIST, "name another log"
        )
    made = [_made(found, path, shapes)]
    refused = False
    for each in _sessions(found) if subagents else ():
        if isinstance(each, TranscriptError):
            echo(one_line(str(each)), err=True)
            refused = True
        else:
            made.append(_made(each, _free_name(path, each, made), shapes))
    for one in made:
        if as_json:
            echo_json(_as_json(one))
        else:
            _show(one)
    ctx.exit(1 if refused or any(one.is_short for one in made) else 0)


class _Made(NamedTuple):
    """A log that was made of a session."""

    found: Foreign
    path: str
    written: Written
    findings: Sequence[Finding]
    redacted: Redacted | None

    @property
    def is_short(self) -> bool:
        return any(finding.rule == "unstorable" for finding in self.findings)


def _made(found: Foreign, path: str, shapes: Sequence[SecretShape] | None) -> _Made:
    imported, redacted = found.imported, None
    if shapes is not None:
        imported, redacted = redact_imported(imported, shapes=shapes)
    written = write_imported(imported, path, source=found.path)
    bound = () if redacted is None else (replace(finding, path=found.path) for finding in redacted.findings)
    return _Made(found, path, written, [*imported.findings, *written.refused, *bound], redacted)


def _show(made: _Made) -> None:
    for finding in made.findings:
        echo(one_line(str(finding)), err=True)
    echo(one_line(made.path))
    for line in [] if made.redacted is None else redacted_lines(made.redacted):
        echo(line, err=True)
    echo(_summary(made.found, made.written), err=True)


def _sessions(found: Foreign) -> Iterator[Foreign | TranscriptError]:
    """The sessions of a session's subagents, and what is wrong with those that cannot be read."""
    for linked in found.imported.linked:
        yield replace(found, imported=linked)
    for file in subagents_of(found)[len(found.imported.linked) :]:
        try:
            there = read_foreign(file.path, keep_unknown=found.keep_unknown)
        except TranscriptError as error:
            yield error
            continue
        if isinstance(there, Foreign):
            header = replace(there.imported.header, parent=file.parent or there.imported.header.parent)
            yield replace(there, imported=replace(there.imported, header=header))
        else:
            yield HeaderError(file.path, 1, 0, "this is no session of another agent")


def _free_name(log: str, found: Foreign, made: Sequence[_Made]) -> str:
    """A name for the log of a subagent of the session in ``log`` that no other one has."""
    name = _default_name(found.path, found.imported).removesuffix(".jsonl")
    taken = {one.path for one in made}
    path, number = _beside(log, name), 1
    while path in taken:
        number += 1
        path = _beside(log, f"{name}-{number}")
    return path


def _beside(log: str, name: str) -> str:
    if isinstance(log, SessionUrl):
        return log.of(f"{log_folder(log.session)}/{name}")
    return os.path.join(log_folder(log), f"{name}.jsonl")


def _default_name(file: str, imported: Imported) -> str:
    """The log's name in this folder: by the session's id, or by the file if that is no name."""
    try:
        return os.path.basename(session_path("", imported.header.id or ""))
    except SessionIdError:
        return f"{_ENDS.sub('', os.path.basename(file))}-imported.jsonl"


def _summary(found: Foreign, written: Written) -> str:
    entries = f"{written.entries} " + ("entry" if written.entries == 1 else "entries")
    return f"made of {FORMAT_NAMES[found.format]}: {entries}, {counted(written.details, 'detail')}"


def _as_json(made: _Made) -> dict[str, Json]:
    header = made.found.imported.header
    return {
        "path": made.path,
        "source": made.found.path,
        "format": made.found.format,
        "id": header.id,
        "parent": None if header.parent is None else asdict(header.parent),
        "entries": made.written.entries,
        "details": made.written.details,
        "counts": dict(made.found.imported.counts),
        "findings": [finding_json(finding) for finding in made.findings],
        "redacted": None if made.redacted is None else redacted_json(made.redacted),
    }
