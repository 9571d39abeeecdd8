"""What the commands about contexts share: a target by its name, a context of a session, its rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import click

from .. import items
from ..apis import Api, api_of, check_items
from ..apis.tables import load_rules
from ..context import Context, ContextRow, build_context, context_at
from ..entries import Item, Json
from ..errors import BoundaryError, ContextError, RequestNotFoundError, StrictContextError, TargetError
from ..families import Target
from ..findings import Change
from ..items import ImagePart, OtherPart, ReasoningPart, TextPart, ToolCallPart, ToolOutputPart
from ..sent import SentRequest, request_at
from .output import echo
from .source import Session
from .text import dumped, one_line

__all__ = [
    "built_context",
    "change_json",
    "chosen_target",
    "glance",
    "own_apis",
    "row_json",
    "row_lines",
    "rules_option",
    "sent_request",
    "target_options",
    "tell_notes",
]

_WORDS: Final = 72
"""How many characters of an item are shown in a row."""


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where a context is sent; see :func:`chosen_target`."""
    platform = click.option("--platform", metavar="P", help="Who runs it; 'direct' if not given.")
    target = click.option("--target", metavar="API/MODEL", help="For which API and model.")
    return target(platform(rules_option(command)))


def rules_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that names a file of tables; see :func:`own_apis`."""
    path = click.Path(exists=True, dir_okay=False)
    return click.option("--rules", metavar="FILE", type=path, help="APIs of your own: tables in TOML.")(
        command
    )


def own_apis(rules: str | None) -> dict[str, Api]:
    """The APIs of the file that the option names; none without one."""
    return {} if rules is None else load_rules(rules)


def chosen_target(named: str | None, platform: str | None, rules: str | None = None) -> Target | None:
    """The target that the options name; None for none.

    Raises:
        UsageError: They name none that is known here.
        RulesError: The file of rules says something that is no rule.
    """
    own = own_apis(rules)
    if named is None:
        if platform is not None:
            raise click.UsageError("--platform says who runs a target: give a --target too")
        return None
    api, slash, model = named.partition("/")  # a model's name may hold more of them
    if not slash:
        raise click.UsageError(f"a target is API/MODEL, as in openai-chat/gpt-5; {named!r} has no slash")
    try:
        found = own.get(api)
        if found is None:
            api_of(api)
        return Target(api, model, "direct" if platform is None else platform, rules=found)
    except TargetError as error:
        raise click.UsageError(str(error)) from error


def built_context(
    session: Session,
    target: Target | None,
    *,
    at: str | None = None,
    strict: bool = False,
    attachments: bool = False,
) -> Context:
    """The context of a session, as it was at an entry if an id is given; errors name the file."""
    entries, details = session.entries, session.details
    with _naming(session, at):
        if at is None:
            return build_context(entries, target, details=details, strict=strict, attachments=attachments)
        return context_at(entries, at, target, details=details, strict=strict, attachments=attachments)


def sent_request(session: Session, at: str, target: Target | None, *, attachments: bool) -> SentRequest:
    """The request that the response at an entry answers; errors name the file."""
    with _naming(session, at):
        return request_at(session.entries, at, session.details, target=target, attachments=attachments)


@contextlib.contextmanager
def _naming(session: Session, at: str | None) -> Iterator[None]:
    try:
        yield
    except RequestNotFoundError as error:
        raise click.ClickException(one_line(f"{session.path}: {error}")) from error
    except (BoundaryError, ContextError, StrictContextError) as error:
        place = session.path if at is None else f"{session.path}: at {at}"
        raise click.ClickException(one_line(f"{place}: {error}")) from error


def tell_notes(context: Context, path: str) -> None:
    """Say on stderr what the API leaves to the caller, such as that the assistant spoke last."""
    if context.target is None:
        return
    for finding in check_items(context.items, context.target, paused=context.paused):
        echo(one_line(str(replace(finding, path=path))), err=True)


# ---------------------------------------------------------------------------------- rows


def row_json(position: int, row: ContextRow) -> dict[str, Json]:
    """A row of a context as a JSON object."""
    return {
        "row": position,
        "entry": row.entry,
        "entries": list(row.entries),
        "why": row.why,
        "item": row.item,
    }


def change_json(change: Change) -> dict[str, Json]:
    """A change as a JSON object."""
    return {
        "change": change.kind,
        "rule": change.rule,
        "message": change.message,
        "entry": change.entry,
        "call": change.call,
        "item": change.item,
    }


def row_lines(rows: Sequence[ContextRow]) -> list[str]:
    """A line for each row: its number from 0, its first entry, why it is there, its first words.

    How many more entries it was made from stands beside the first.
    """
    names = [one_line(_names(row.entries)) for row in rows]
    width = min(40, max(map(len, names), default=0))
    return [
        f"{position:>4}  {name:<{width}}  {row.why:<11}  {one_line(glance(row.item))}".rstrip()
        for position, (name, row) in enumerate(zip(names, rows, strict=True))
    ]


def _names(ids: Sequence[str]) -> str:
    more = f" +{len(ids) - 1}" if len(ids) > 1 else ""
    return f"{ids[0]}{more}" if ids else "-"


def glance(item: Item) -> str:
    """The kind of an item and its first words, on one line; not yet fit for a terminal."""
    kind = items.role(item) or items.type_of(item) or "item"
    said = (" ".join(_said(part).lstrip()[: 4 * _WORDS].split()) for part in items.parts(item))
    words = " ".join(filter(None, said))
    shown = words if len(words) <= _WORDS else f"{words[:_WORDS].rstrip()} …"
    return f"{kind}  {shown}" if shown and shown != kind else kind


def _said(part: items.Part) -> str:
    match part:
        case TextPart(text=text):
            return text
        case ReasoningPart(text=text, opaque=opaque):
            return text or ("(only its producer can read it)" if opaque else "")
        case ToolCallPart(name=name, arguments=arguments):
            return f"{name} {arguments if isinstance(arguments, str) else dumped(arguments)}"
        case ToolOutputPart(content=content):
            return items.output_text(content)
        case ImagePart(media_type=kind):
            return f"[{kind or 'image'}]"
        case OtherPart(type=kind):
            return kind
