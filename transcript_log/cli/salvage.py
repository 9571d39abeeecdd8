"""``transcript-log salvage``: making a readable log of a damaged one."""

from __future__ import annotations

import click

from ..jsonl import JsonlStore, SalvagePlan
from .source import file_argument
from .text import plain

__all__ = ["salvage"]


@click.command()
@file_argument
@click.option("--apply", is_flag=True, help="Do it. The old file is kept beside the new one.")
@click.option("--reseal", is_flag=True, help="Only give lines that were edited on purpose a new checksum.")
@click.pass_context
def salvage(ctx: click.Context, file: str, apply: bool, reseal: bool) -> None:
    """Say what can be saved of a damaged log; with --apply, do it.

    A new file takes the log's place, with every line that can be read; the old one stays
    beside it. The sidecar of details is mended in the same way. Without --apply nothing is
    changed, and the exit status is 1 if there is something to mend.

    \b
    Example:
        transcript-log salvage session.jsonl
        transcript-log salvage session.jsonl --apply
    """
    store = JsonlStore(file)
    plans = store.reseal(apply=apply) if reseal else store.salvage(apply=apply)
    for plan in plans:
        _print(plan, reseal)
    waiting = any(plan.is_needed and not plan.applied for plan in plans)
    if waiting:
        click.echo(f"nothing was changed; add --apply to {'reseal' if reseal else 'salvage'}", err=True)
    elif not any(plan.applied for plan in plans):
        click.echo("nothing to mend", err=True)
    ctx.exit(1 if waiting else 0)


def _print(plan: SalvagePlan, reseal: bool) -> None:
    for finding in plan.findings:
        entry = "" if finding.entry is None else f"entry {finding.entry}: "
        click.echo(plain(f"{plan.path}: line {finding.line} (byte {finding.offset}): {entry}{finding.message}"))
    if plan.is_needed:
        verb = "are" if plan.applied else "would be"
        done = "resealed" if reseal else "written anew"
        click.echo(plain(f"{plan.path}: {plan.kept} lines {verb} kept as they are, {plan.rewritten} {done}"))
    if plan.backup is not None:
        click.echo(plain(f"{plan.path}: the old file is {plan.backup}"))
