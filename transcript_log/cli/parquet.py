"""``transcript-log export --to parquet``: the views of ``sql`` as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import click

from ..findings import Finding
from ..redaction import SecretShape, redact
from ..sql.conversation import Conversation
from ..sql.parquet import write_parquet
from .output import counted, echo, show_size, tell
from .redacting import counted_lines
from .sql import chosen_files, processes_for
from .text import one_line

__all__ = ["export_parquet"]


def export_parquet(path: str, out: str, *, force: bool, shapes: Sequence[SecretShape] | None) -> None:
    """Write the views of a session file, or of those in a folder, into the folder ``out``.

    Raises:
        StorageError: The folder is there already, or the system refused.
        NoDuckDBError: The extra ``sql`` is not installed.
    """
    files = chosen_files([path], ())
    if force and os.path.exists(out) and os.path.samefile(path, out):
        raise click.UsageError("--out names the sessions themselves")
    taken: dict[str, tuple[int, int]] = {}

    def clean(of: Conversation, findings: Sequence[Finding]) -> tuple[Conversation, Sequence[Finding]]:
        assert shapes is not None
        made = redact(of.entries, of.details, header=of.header, findings=findings, shapes=shapes)
        for kind, (secrets, places) in made.counts.items():
            before = taken.get(kind, (0, 0))
            taken[kind] = (before[0] + secrets, before[1] + places)
        session = replace(of, header=made.header, entries=made.entries, details=made.details_by_call)
        return session, made.told

    written = write_parquet(
        files.paths,
        out,
        replace=force,
        processes=processes_for(files.paths),
        clean=None if shapes is None else clean,
    )
    tell(written.findings)
    if shapes is not None:
        for line in counted_lines(taken):
            echo(line, err=True)
    size = show_size(sum(written.sizes.values()))
    echo(one_line(f"wrote {out} ({counted(len(written.sizes), 'table')}, {size})"), err=True)
    if written.unreadable:
        click.get_current_context().exit(1)
