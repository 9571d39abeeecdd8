"""``transcript-log check``: what is wrong with a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import click

from ..acceptance import Acceptance, check_acceptance
from ..apis import Api, api_of
from ..check import is_sound
from ..errors import TargetError
from ..findings import Change, Finding
from .contexts import change_json, own_apis, rules_option
from .output import counted, echo, echo_json, finding_json
from .source import file_argument, open_session
from .text import one_line

__all__ = ["check"]

_SHOWN: Final = 5
"""How many lines of one rule of an API are shown."""


@click.command()
@file_argument
@click.option(
    "--for", "named", metavar="API[,API]", help="Also whether these APIs would take its items as they are."
)
@rules_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object per finding, and per change.")
@click.pass_context
def check(ctx: click.Context, file: str, named: str | None, rules: str | None, as_json: bool) -> None:
    """List all that is wrong with a session.

    Each finding says where (line, byte offset, entry, call), what, and what to do. A note is
    worth knowing but no fault. With --for: what each API would refuse of the items that the
    newest compaction leaves, sent as they are, and what a context for it changes. Exit status
    1 if there is anything but notes and changes.

    \b
    Example:
        transcript-log check session.jsonl || transcript-log salvage session.jsonl
        transcript-log check session.jsonl --for openai-responses,anthropic-messages
    """
    own = own_apis(rules)
    apis = _apis(named, own)
    session = open_session(file)
    asked = [check_acceptance(session.entries, api, own.get(api)) for api in apis]
    for finding in session.findings:
        if as_json:
            echo_json(finding_json(finding))
        else:
            echo(one_line(str(finding)))
    for acceptance in asked:
        _show(acceptance, file, as_json=as_json)
    if not as_json:
        echo(_told(session.findings), err=True)
        for acceptance in asked:
            changes = counted(len(acceptance.changes), "change")
            named = f"{acceptance.target.api}/{acceptance.target.model}"
            echo(one_line(f"{named}: {_told(acceptance.findings)}; {changes}"), err=True)
    found = [finding for acceptance in asked for finding in acceptance.findings]
    ctx.exit(0 if is_sound([*session.findings, *found]) else 1)


def _apis(named: str | None, own: Mapping[str, Api]) -> list[str]:
    """The APIs that were named, each once."""
    words = [] if named is None else [word.strip() for word in named.split(",")]
    try:
        return [*dict.fromkeys(word if word in own else api_of(word).name for word in words)]
    except TargetError as error:
        raise click.UsageError(str(error)) from error


def _show(acceptance: Acceptance, file: str, *, as_json: bool) -> None:
    """What an API says, and what a context for it changes, each line with its name."""
    api = acceptance.target.api
    if as_json:
        for finding in acceptance.findings:
            echo_json({"api": api, **finding_json(replace(finding, path=file))})
        for change in acceptance.changes:
            echo_json({"api": api, **change_json(change)})
    else:
        for line in (*_folded(acceptance.findings), *_folded(acceptance.changes)):
            echo(one_line(f"{file}: {api}: {line}"))


def _folded(lines: Sequence[Finding | Change]) -> Iterator[object]:
    """The first few of each rule, and how many more there are of it."""
    seen: Counter[str] = Counter()
    for line in lines:
        seen[line.rule] += 1
        if seen[line.rule] <= _SHOWN:
            yield line
    for rule, number in seen.items():
        if number > _SHOWN:
            yield f"{rule}: {number - _SHOWN} more like these (--json lists them)"


def _told(findings: Sequence[Finding]) -> str:
    notes = sum(finding.severity == "note" for finding in findings)
    faults = len(findings) - notes
    what = f"{counted(faults, 'thing')} wrong" if faults else "nothing is wrong"
    return what + (f", {counted(notes, 'note')}" if notes else "")
