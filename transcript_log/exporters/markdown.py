"""A session as Markdown, for people: turns, text, calls with their outcomes, compactions, runs.

Every heading is the exporter's own: no text of the session can make one, nor a link, nor HTML
(:mod:`._marking`). Pictures are named and not shown, since Markdown could only link to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, assert_never

from .._plain import is_blank, laid_out
from .._wording import (
    PRIVATE,
    call_ending,
    compaction_words,
    counted,
    loose_words,
    picture_words,
    response_words,
    show_duration,
    show_time,
    token_words,
)
from ..history import (
    Attached,
    Called,
    Compacted,
    Event,
    HostedCall,
    OutputWithoutCall,
    Ran,
    Reasoned,
    RepeatedOutput,
    Responded,
    Said,
    Unknown,
    UnknownItem,
)
from ..items import ImagePart
from . import Exported, ExportSource
from ._marking import fenced, inline, literal, prose, quoted, quoted_prose, spanned
from ._outline import Outline, Span, Turn, build_outline, facts

__all__ = ["export_markdown"]

_SPEAKERS: Final = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "Developer"}


def export_markdown(source: ExportSource) -> Exported:
    """A session as Markdown, in the order of its history."""
    return Exported(pieces=_pieces(source))


def _pieces(source: ExportSource) -> Iterator[str]:
    outline = build_outline(source)
    yield _joined(_head(source, outline))
    for turn in outline.turns:
        yield "\n" + _joined(_turn_head(turn))
        for event in turn.events:
            yield "\n" + _joined(_event(event))


def _joined(blocks: Iterator[str]) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(source: ExportSource, outline: Outline) -> Iterator[str]:
    yield f"# {inline(source.name) or 'Session'}"
    lines = [f"- {name}: {inline(fact)}" for name, fact in facts(source, outline)]
    counts = [counted(outline.user_turns, "turn")]
    counts += [counted(outline.compactions, "compaction")] if outline.compactions else []
    lines.append(f"- Holds: {', '.join([*counts, *_span_words(outline.span)])}")
    yield "\n".join(lines)
    damage = [finding for finding in source.findings if finding.severity != "note"]
    if damage:
        yield "The file is damaged; this is what could be read of it:"
        yield "\n".join(f"- {inline(str(replace(finding, path=None)))}" for finding in damage)


def _span_words(span: Span) -> Iterator[str]:
    if span.calls:
        yield counted(span.calls, "call")
    if span.failed:
        yield f"{span.failed} failed"
    if span.unanswered:
        yield f"{span.unanswered} unanswered"
    if span.lasted:
        yield show_duration(span.lasted)
    if span.tokens.responses:
        yield f"{counted(span.tokens.responses, 'response')}: {token_words(span.tokens, _number)}"


def _turn_head(turn: Turn) -> Iterator[str]:
    if turn.number:
        title = inline(turn.title)
        yield f"## Turn {turn.number}" + (f": {title}" if title else "")
    else:
        yield "## Before the first turn"
    span = turn.span
    when = [] if span.started is None else [show_time(span.started)]
    models = [", ".join(map(spanned, span.models))] if span.models else []
    yield ", ".join([*when, *_span_words(span), *models])


def _event(event: Event) -> Iterator[str]:
    """The blocks of one event: a heading, and what stands below it."""
    match event:
        case Said():
            yield from _said(event)
        case Reasoned(text=text, opaque=opaque):
            note = "" if not is_blank(text) else f" ({PRIVATE})" if opaque else " (no text)"
            yield f"### Reasoning{note}"
            yield "" if is_blank(text) else quoted_prose(text)
        case Called() | HostedCall():
            yield from _called(event)
        case RepeatedOutput() | OutputWithoutCall():
            name = event.name if isinstance(event, OutputWithoutCall) else None
            yield f"### Output{' of ' + spanned(name) if name else ''} ({inline(loose_words(event))})"
            yield fenced(event.output, "text")
            yield _pictures(event.images)
        case Compacted(summary=summary):
            words = compaction_words(event)
            yield f"### Compacted{f' ({inline(words)})' if words else ''}"
            yield "" if is_blank(summary) else quoted_prose(summary)
        case Attached(kind=kind, path=path, rendered=rendered):
            yield f"### Context: {inline(kind)}{' ' + spanned(path) if path else ''}"
            yield fenced(laid_out(rendered), "text")
        case Responded():
            yield f"###### {inline(response_words(event, _number))}"
        case Ran(status=status, duration=duration, usage=usage):
            yield f"### Run {status or 'ended'} after {show_duration(duration)}"
            when = f"{show_time(event.started)} to {show_time(event.completed)}"
            used = f"{counted(usage.responses, 'response')}: {token_words(usage, _number)}"
            yield f"{when}; {used}" if usage.responses else when
        case UnknownItem(type=kind, opaque=opaque):
            yield f"### An item of type {spanned(kind)}{f' ({PRIVATE})' if opaque else ''}"
        case Unknown(type=kind):
            yield f"### An entry of type {spanned(kind)}"
        case _:
            assert_never(event)


def _said(event: Said) -> Iterator[str]:
    notes = [] if event.invocation is None else [f"from the template {inline(event.invocation.name)}"]
    notes += ["interrupted"] if event.interrupted else []
    notes += [] if not is_blank(event.text) or event.images else ["no text"]
    speaker = _SPEAKERS.get(event.role) or inline(event.role) or "Message"
    told = ", ".join(notes)
    yield f"### {speaker}{f' ({told})' if told else ''}"
    if not is_blank(event.text):
        match event.role:
            case "assistant":
                yield prose(event.text)
            case "user":
                yield quoted(literal(event.text))
            case _:
                yield fenced(event.text, "text")
    yield _pictures(event.images)


def _called(event: Called | HostedCall) -> Iterator[str]:
    _, words = call_ending(event)
    by = " by the provider" if isinstance(event, HostedCall) else ""
    name = spanned(event.name) if event.name else "of an unnamed tool"
    yield f"### Call {name}{by}{': ' + inline(words) if words else ''}"
    arguments = laid_out(event.arguments)
    if not is_blank(arguments):
        yield fenced(arguments, "json" if arguments[0] in "{[" else "text")
    if event.output is not None and not is_blank(event.output):
        yield "Output:"
        yield fenced(event.output, "text")
    elif event.output is not None and not event.images:
        yield "Output: nothing"
    yield _pictures(event.images)


def _pictures(images: tuple[ImagePart, ...]) -> str:
    return "\n".join(inline(picture_words(image)) for image in images)


def _number(number: int) -> str:
    return f"{number:,}"
