"""``transcript-log copy``: a session between files and databases."""

from __future__ import annotations

import click

from ..copying import copy_session
from .output import counted, echo, show_size, tell
from .parameters import NewFileType
from .source import FileType
from .text import one_line

__all__ = ["copy"]


@click.command()
@click.argument("source", metavar="SOURCE", type=FileType())
@click.argument("dest", metavar="DEST", type=NewFileType())
def copy(source: str, dest: str) -> None:
    """Copy a session from a file to a database, or back, byte for byte.

    SOURCE and DEST are logs of this package: files, or URLs of sessions. The details are
    copied too. The copy is read back and compared before it counts as made, and takes
    nothing's place. SOURCE may be written to meanwhile. A damaged file is not copied: mend it
    with 'salvage' first. A damaged session in a database is copied to a file, and told.

    \b
    Example:
        transcript-log copy session.jsonl postgresql://agents@db.example/sessions#fix-the-build
        transcript-log copy postgresql://agents@db.example/sessions#fix-the-build copy.jsonl
    """
    made = copy_session(source, dest)
    tell(made.findings)
    entries = f"{made.entries} " + ("entry" if made.entries == 1 else "entries")
    told = f"{entries}, {counted(made.details, 'detail')}, {show_size(made.size)}"
    echo(one_line(f"{dest}: {told}, read back and the same"), err=True)
