"""``transcript-log replay``: a session as it went."""

from __future__ import annotations

import click

from ..errors import EntryNotFoundError
from ..history import Event, build_history, history_json
from .output import color_option, echo_json, tell, use_color
from .rendering import Renderer
from .source import Session, file_argument, open_session
from .watching import watch

__all__ = ["replay"]


@click.command()
@file_argument
@click.option("--json", "as_json", is_flag=True, help="One JSON object per event.")
@click.option("--follow", is_flag=True, help="Go on with what is added, until Ctrl-C.")
@click.option("--from", "first", metavar="ENTRY", help="Begin at the entry with this id.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Show at most N events.")
@click.option("--full", is_flag=True, help="Do not shorten outputs and arguments.")
@color_option
def replay(
    file: str, as_json: bool, follow: bool, first: str | None, limit: int | None, full: bool, no_color: bool
) -> None:
    """Show a session as it went.

    Turns, reasoning that can be read, tool calls with their outcomes, compactions, and runs
    with their times. What is damaged is told on stderr, and what can be read is shown.

    \b
    Example:
        transcript-log replay session.jsonl
        transcript-log replay session.jsonl --json | jq 'select(.event == "called") | .name'
    """
    session = open_session(file)
    tell(session.file_findings, "damaged")
    renderer = Renderer(color=use_color(no_color), full=full)
    if not as_json:
        renderer.header(session)
    left = limit
    for event in _from(build_history(session.entries, session.details).events, first, session):
        if left == 0:
            return
        _show(event, renderer, as_json)
        left = None if left is None else left - 1
    if follow:
        for event in watch(session):
            if left == 0:
                return
            _show(event, renderer, as_json)
            left = None if left is None else left - 1


def _show(event: Event, renderer: Renderer, as_json: bool) -> None:
    if as_json:
        echo_json(history_json(event))
    else:
        renderer.event(event)


def _from(events: tuple[Event, ...], first: str | None, session: Session) -> tuple[Event, ...]:
    if first is None:
        return events
    order = {entry.id: position for position, entry in enumerate(session.entries)}
    if first not in order:
        raise EntryNotFoundError(first, session.path)
    return tuple(event for event in events if order[event.entry] >= order[first])
