"""``transcript-log salvage``: making a readable log of a damaged one."""

from __future__ import annotations

import click

from ..jsonl import SalvagePlan
from .output import counted, echo
from .source import as_given, file_argument, open_file
from .text import one_line

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
    store = open_file(file)
    plans = store.reseal(apply=apply) if reseal else store.salvage(apply=apply)
    for plan in plans:
        for line in _told(plan, file, "resealed" if reseal else "written anew"):
            echo(one_line(line))
    waiting = any(plan.is_needed and not plan.applied for plan in plans)
    if waiting:
        echo(f"nothing was changed; add --apply to {'reseal' if reseal else 'salvage'}", err=True)
    elif not any(plan.applied for plan in plans):
        echo("nothing to mend", err=True)
    ctx.exit(1 if waiting else 0)


def _told(plan: SalvagePlan, file: str, done: str) -> list[str]:
    path = as_given(file, plan.path)
    lines = []
    for finding in plan.findings:
        entry = (
            "" if finding.entry is None or finding.entry in finding.message else f"entry {finding.entry}: "
        )
        lines.append(f"{path}: line {finding.line} (byte {finding.offset}): {entry}{finding.message}")
    if plan.is_needed:
        verb = "would be" if not plan.applied else "is" if plan.kept == 1 else "are"
        lines.append(f"{path}: {counted(plan.kept, 'line')} {verb} kept as before, {plan.rewritten} {done}")
    if plan.backup is not None:
        lines.append(f"{path}: the old file is {as_given(file, plan.backup)}")
    return lines
