"""``transcript-log prune``: sessions of a database that are old."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from ..stores import SessionUrl
from .output import counted, echo, show_size, show_time
from .parameters import DatabaseType
from .text import one_line

if TYPE_CHECKING:
    from ..postgres import Kept

__all__ = ["prune"]

_UNITS: Final = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes"}


def _age(ctx: click.Context, param: click.Parameter, value: str) -> timedelta:
    """A number and ``w``, ``d``, ``h`` or ``m``."""
    found = re.fullmatch(r"(\d{1,6})([wdhm])", value)
    if found is None:
        what = f"{value!r} is no age: give weeks, days, hours or minutes, as in 90d"
        raise click.BadParameter(one_line(what), ctx, param)
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


@click.command()
@click.argument("url", metavar="URL", type=DatabaseType())
@click.option("--older-than", metavar="AGE", callback=_age, required=True, help="As 90d; also w, h and m.")
@click.option(
    "--keep", metavar="N", type=click.IntRange(min=0), default=0, help="Keep the N that changed last."
)
@click.option("--apply", is_flag=True, help="Do it. There is no way back.")
@click.pass_context
def prune(ctx: click.Context, url: SessionUrl, older_than: timedelta, keep: int, apply: bool) -> None:
    """Say which sessions of a database would be deleted; with --apply, delete them.

    Those to which nothing was added for AGE, with their entries and details. One that
    somebody is writing to stays, and so does one that changes meanwhile. Exit status 1 if one
    of those that were to go stayed.

    \b
    Example:
        transcript-log prune postgresql://agents@db.example/sessions --older-than 90d
        transcript-log prune postgresql://agents@db.example/sessions --older-than 90d --keep 1000 --apply
    """
    from ..postgres import apply_prune, plan_prune  # noqa: PLC0415 - an extra

    plan = plan_prune(url.conninfo, before=datetime.now(UTC) - older_than, keep=keep)
    size = sum(session.size for session in plan.sessions)
    if not apply:
        for session in plan.sessions:
            echo(one_line(_told(session)))
        what = f"{counted(len(plan.sessions), 'session')} would be deleted ({show_size(size)})"
        advice = "; add --apply to delete them" if plan.sessions else ""
        echo(f"{what}, {plan.stay} would stay{advice}", err=True)
        return
    gone = 0
    stayed = False
    for pruned in apply_prune(url.conninfo, plan):
        if pruned.deleted:
            gone += 1
            echo(one_line(_told(pruned.session)))
        else:
            stayed = True
            echo(one_line(f"{pruned.session.id}: not deleted: {pruned.reason}"), err=True)
    echo(f"{counted(gone, 'session')} deleted, {plan.stay + len(plan.sessions) - gone} left", err=True)
    ctx.exit(1 if stayed else 0)


def _told(session: Kept) -> str:
    entries = f"{session.entries} " + ("entry" if session.entries == 1 else "entries")
    return f"{show_time(session.changed):<20}  {show_size(session.size):>10}  {entries:>14}  {session.id}"
