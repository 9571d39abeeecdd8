"""``transcript-log rules``: what the APIs demand of what they are sent."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

import click

from ..apis import APIS, Api, Rule, api_of
from ..apis._base import Amendable
from ..entries import Json
from ..errors import TargetError
from .contexts import own_apis, rules_option
from .output import counted, echo, echo_json
from .text import one_line

__all__ = ["rules"]

_WIDTH: Final = 100
"""How long a line of a demand may be. Links are longer: cut, they would be no use."""


@click.command()
@click.argument("api", metavar="[API]", required=False)
@rules_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object per rule.")
def rules(api: str | None, rules: str | None, as_json: bool) -> None:
    """List what an API demands of the items it is sent.

    Of each rule: its name, how bad it is to break it ('off': nobody asks), what is demanded, and who
    says so, and when. Without API all are listed, those of the FILE of --rules too, each with how
    many rules it has.

    \b
    Example:
        transcript-log rules mistral-chat
        transcript-log rules my-gateway --rules gateway.toml
    """
    own = own_apis(rules)
    known = {**APIS, **own}
    if api is None and not as_json:
        width = max(map(len, known))
        for name, one in known.items():
            echo(one_line(f"{name:<{width}}  {counted(len(one.rules), 'rule')}"))
        return
    try:
        chosen = list(known.values()) if api is None else [own[api] if api in own else api_of(api)]
    except TargetError as error:
        names = ", ".join(known)
        raise click.UsageError(f"{error.named!r}: this API is not known here; known are {names}") from error
    for one in chosen:
        if as_json:
            for rule in one.rules.values():
                echo_json(_as_json(one, rule))
        else:
            for line in _table(one):
                echo(one_line(line))


def _severity(api: Api, rule: Rule) -> str:
    """How bad it is to break a rule; ``off`` where nobody asks for it."""
    return "off" if isinstance(api, Amendable) and rule.id in api.terms.off else rule.severity


def _as_json(api: Api, rule: Rule) -> dict[str, Json]:
    return {
        "api": api.name,
        "rule": rule.id,
        "severity": _severity(api, rule),
        "demand": rule.demand,
        "source": rule.source,
        "date": rule.date,
    }


def _table(api: Api) -> Iterator[str]:
    """A few lines for each rule: what it demands beside its name, and below that who says so."""
    width = max((len(rule_id) for rule_id in api.rules), default=0)
    room = _WIDTH - width - 11
    for rule in api.rules.values():
        first, *rest = textwrap.wrap(rule.demand, room) or [""]
        yield f"{rule.id:<{width}}  {_severity(api, rule):<7}  {first}"
        for line in (*rest, f"{rule.source}, {rule.date}"):
            yield f"{'':<{width}}  {'':<7}  {line}"
