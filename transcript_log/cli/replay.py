"""``transcript-log replay``: a session as it went."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, islice

import click

from ..history import Event, build_history, history_json
from .choosing import chosen_entry
from .output import color_option, echo_json, tell, use_color
from .rendering import Renderer
from .source import Session, file_argument, open_session
from .watching import watch

__all__ = ["replay"]


@click.command()
@file_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON object per event.")
@click.option("--follow", is_flag=True, help="Go on with what is added, until Ctrl-C.")
@click.option("--from", "first", metavar="ENTRY", help="Begin at this entry: its id, or how it begins.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Show at most N events.")
@click.option("--full", is_flag=True, help="Do not shorten long messages, arguments and outputs.")
@color_option
def replay(
    file: str,
    as_json: bool,
    follow: bool,
    first: str | None,
    limit: int | None,
    full: bool,
    color: bool | None,
) -> None:
    """Show a session as it went.

    Turns, reasoning that can be read, tool calls with their outcomes, the tokens of each
    response and its model, compactions, and runs with their times and tokens. Cached input is
    part of the input. The line before a turn names its first entry, for --from; that behind a
    response names one if its request is on record, for 'context --request'. What is damaged is
    told on stderr, and what can be read is shown; exit status 1 if nothing can be.

    \b
    Example:
        transcript-log replay session.jsonl --color | less -R
        transcript-log replay session.jsonl --follow
        transcript-log replay session.jsonl --json | jq 'select(.event == "called") | .name'
        transcript-log replay session.jsonl --json | jq 'select(.event == "responded") | .usage'
    """
    session = open_session(file)
    tell(session.file_findings)
    events: Iterable[Event] = _from(build_history(session.entries, session.details).events, first, session)
    renderer = Renderer(color=use_color(color), full=full)
    if not as_json:
        renderer.header(session)
    if follow:
        events = chain(events, watch(session))
    with contextlib.suppress(KeyboardInterrupt) if follow else contextlib.nullcontext():
        for event in islice(events, limit):
            if as_json:
                echo_json(history_json(event))
            else:
                renderer.event(event)


def _from(events: Iterable[Event], first: str | None, session: Session) -> Iterator[Event]:
    if first is None:
        return iter(events)
    order: dict[str, int] = {}
    for position, entry in enumerate(session.entries):
        order.setdefault(entry.id, position)
    begin = order[chosen_entry(session, first)]
    return dropwhile(lambda event: order[event.entry] < begin, events)
