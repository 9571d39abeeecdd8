"""A session for a reader: its turns, and what each of them took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from .._plain import one_line
from .._wording import call_ending, show_time
from ..history import Called, Compacted, Event, HostedCall, Responded, Said, build_history
from ..stats import NOTHING, Tokens
from . import ExportSource

__all__ = ["Outline", "Span", "Turn", "build_outline", "facts"]

_TITLE = 100
"""How many characters of what a user said stand for a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What some events are, taken together.

    Attributes:
        started: The first time that is known of them; UTC.
        lasted: From then to the last one; zero where clocks went backwards.
        calls: How many tools were called, by the agent or by the provider.
        failed: How many of those are known to have failed.
        unanswered: How many have no output.
        tokens: What the responses took, compactions included.
        models: Who answered, in the order of the first answer.
    """

    started: datetime | None
    lasted: timedelta
    calls: int
    failed: int
    unanswered: int
    tokens: Tokens
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of the user, with all that followed; ``number`` is 0 for what came before the first."""

    number: int
    events: tuple[Event, ...]
    span: Span

    __hash__ = None  # type: ignore[assignment]  # events hold dicts

    @property
    def title(self) -> str:
        """The first words of the user, on one line, fit to be shown; empty where there are none."""
        said = (event.text for event in self.events if isinstance(event, Said) and event.role == "user")
        words = " ".join(next(said, "")[: 4 * _TITLE].split())
        return one_line(words if len(words) <= _TITLE else f"{words[:_TITLE].rstrip()}…")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A whole session.

    Attributes:
        turns: In order; the first has the number 0 if something came before the user.
        span: All of it.
        user_turns: How many turns the user had.
        compactions: How often older messages were compacted.
    """

    turns: tuple[Turn, ...]
    span: Span
    user_turns: int
    compactions: int

    __hash__ = None  # type: ignore[assignment]  # events hold dicts


def build_outline(source: ExportSource) -> Outline:
    """The turns of a session, each with its events and what it took."""
    history = build_history(source.entries, source.details)
    turns = []
    for number, group in groupby(history.events, key=lambda event: event.turn):
        events = tuple(group)
        turns.append(Turn(number=number, events=events, span=_span(events)))
    return Outline(
        turns=tuple(turns),
        span=_span(history.events),
        user_turns=history.turns,
        compactions=sum(isinstance(event, Compacted) for event in history.events),
    )


def _span(events: Sequence[Event]) -> Span:
    times = [event.time for event in events if event.time is not None]
    calls = [event for event in events if isinstance(event, Called | HostedCall)]
    responses = [event for event in events if isinstance(event, Responded)]
    return Span(
        started=times[0] if times else None,
        lasted=max(times) - times[0] if times else timedelta(),
        calls=len(calls),
        failed=sum(call_ending(call)[0] == "failed" for call in calls),
        unanswered=sum(isinstance(call, Called) and not call.answered for call in calls),
        tokens=sum((Tokens.of(response.usage) for response in responses), NOTHING),
        models=tuple(dict.fromkeys(response.model for response in responses if response.model)),
    )


def facts(source: ExportSource, outline: Outline) -> Iterator[tuple[str, str]]:
    """What is known of a session as a whole: names of facts and facts, each fit to be shown."""
    header = source.header
    if header is not None and header.id:
        yield "Session", one_line(header.id)
    if source.maker:
        yield "Format", source.maker
    made = header.timestamp if header is not None and header.timestamp is not None else outline.span.started
    if made is not None:
        yield "Begun", show_time(made)
    if header is not None and header.cwd:
        yield "Folder", one_line(header.cwd)
    if outline.span.models:
        yield "Model" if len(outline.span.models) == 1 else "Models", one_line(", ".join(outline.span.models))
    if header is not None and header.parent is not None:
        yield "Answers", one_line(f"call {header.parent.call} of session {header.parent.session}")
    if header is not None and header.forked_from is not None:
        origin = header.forked_from
        yield "Forked from", one_line(f"session {origin.session} at entry {origin.entry}")
