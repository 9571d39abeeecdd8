"""``transcript-log migrate``: the tables of a database."""

from __future__ import annotations

import click

from ..stores import SessionUrl
from .output import echo
from .parameters import DatabaseType
from .text import one_line

__all__ = ["migrate"]


@click.command()
@click.argument("url", metavar="URL", type=DatabaseType())
def migrate(url: SessionUrl) -> None:
    """Make the tables for sessions in a database, or bring them to the newest version.

    A store does that by itself when it first writes, if its role may; this is for where it
    may not. All steps are done, or none.

    \b
    Example:
        transcript-log migrate postgresql://owner@db.example/sessions
    """
    from ..postgres import migrate_schema  # noqa: PLC0415 - an extra

    before, now = migrate_schema(url.conninfo)
    if before == now:
        told = f"the tables are of version {now} already"
    elif before is None:
        told = f"the tables were made, version {now}"
    else:
        told = f"the tables were of version {before}, and are of version {now}"
    echo(one_line(f"{url}: {told}"), err=True)
