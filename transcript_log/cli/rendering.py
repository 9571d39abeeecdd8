"""Events as text for a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Final, assert_never

import click
import orjson

from ..entries import Json, ToolOutcome
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
    Said,
    Unknown,
    UnknownItem,
)
from ..items import ImagePart
from .output import show_duration, show_size, show_time
from .source import Session
from .text import plain, show

__all__ = ["Renderer"]

_LINES: Final = 12
"""How many lines of an output or of arguments are shown, unless all are wanted."""

_WIDTH: Final = 2000
"""How many characters of one such line."""

_COLORS: Final = {"user": "green", "assistant": "blue", "developer": "magenta", "system": "magenta"}
_GOOD: Final = ("success",)


class Renderer:
    """Prints the events of one session in order, with a rule before each turn.

    Args:
        color: False for none, None to let the terminal decide.
        full: Whether long outputs and arguments are shown whole.
    """

    def __init__(self, *, color: bool | None, full: bool) -> None:
        self._color = color
        self._full = full
        self._turn = 0

    def header(self, session: Session) -> None:
        """What the session is."""
        header = session.header
        name = "?" if header is None or header.id is None else header.id
        parts = [f"session {name}", {"transcript-log": "transcript-log"}.get(session.format, session.format)]
        if header is not None:
            parts.append(show_time(header.timestamp))
            if header.cwd:
                parts.append(header.cwd)
            if header.parent is not None:
                parts.append(f"for call {header.parent.call} of {header.parent.session}")
            if header.forked_from is not None:
                parts.append(f"forked from {header.forked_from.session} at {header.forked_from.entry}")
        self._line(plain("  ".join(parts)).replace("\n", "\\n"), bold=True)

    def event(self, event: Event) -> None:
        """One event."""
        if event.turn > self._turn:
            self._turn = event.turn
            clock = "" if event.time is None else f"  {_clock(event.time)}"
            self._line("")
            self._line(f"── turn {event.turn} {'─' * 40}{clock}", dim=True)
        match event:
            case Said(role=role, text=text):
                notes = [_image(image) for image in event.images]
                if event.invocation is not None:
                    notes.append(f"from the template {event.invocation.name}")
                if event.interrupted:
                    notes.append("interrupted")
                self._block(role, text, color=_COLORS.get(role), note=", ".join(notes))
            case Reasoned(text=text, opaque=opaque):
                if text.strip():
                    self._block("reasoning", text, dim=True)
                elif opaque:
                    self._block("reasoning", "", note="only its producer can read it", dim=True)
            case Called():
                self._called(event)
            case HostedCall(name=name, arguments=arguments):
                self._block("call", self._arguments(arguments), note=f"{name}, run by the provider", color="cyan")
                if event.output:
                    self._output(event.output, event.images)
            case RepeatedOutput(call_id=call_id, output=output):
                self._block("output", self._shortened(output), note=f"once more for call {call_id}", color="yellow")
            case OutputWithoutCall(call_id=call_id, output=output):
                self._block("output", self._shortened(output), note=f"for no known call ({call_id})", color="yellow")
            case Compacted():
                self._compacted(event)
            case Attached(kind=kind, path=path, rendered=rendered):
                self._block("context", self._shortened(rendered), note=f"{kind} {path or ''}".strip(), dim=True)
            case Ran(status=status, duration=duration):
                text = f"{status or 'ended'} after {show_duration(duration)}"
                self._block("run", "", note=f"{text}, {_clock(event.started)} to {_clock(event.completed)}", dim=True)
            case UnknownItem(type=kind) | Unknown(type=kind):
                self._block("unknown", "", note=f"an item or entry of type {kind!r}", dim=True)
            case _:
                assert_never(event)

    # -------------------------------------------------------------------------- pieces

    def _called(self, event: Called) -> None:
        self._block("call", self._arguments(event.arguments), note=event.name, color="cyan")
        if not event.answered:
            what = "not answered"
            if event.outcome is not None:
                what += f"; recorded as {_outcome(event.outcome)}"
            elif event.started is not None:
                what += "; it was started"
            self._line(f"           → {what}", color="yellow")
            return
        if event.stand_in:
            self._line("           → a stand-in: the outcome was not recorded", color="yellow")
        elif event.outcome is not None:
            bad = event.outcome.status not in _GOOD
            self._line(plain(f"           → {_outcome(event.outcome)}"), color="red" if bad else "green")
        elif event.is_error:
            self._line("           → an error", color="red")
        self._output(event.output or "", event.images)

    def _output(self, output: str, images: tuple[ImagePart, ...]) -> None:
        text = self._shortened(output)
        for image in images:
            text += ("\n" if text else "") + _image(image)
        if text:
            self._indented(plain(text), dim=True)

    def _compacted(self, event: Compacted) -> None:
        notes = []
        if event.tokens_before or event.tokens_after:
            notes.append(f"{event.tokens_before} → {event.tokens_after} tokens")
        if event.replacement_items:
            notes.append(f"{event.replacement_items} items in place of what was before")
        if event.opaque:
            notes.append("only its producer can read it whole")
        if event.first_kept:
            notes.append(f"kept from {event.first_kept}")
        self._block("compacted", event.summary, note=", ".join(notes), color="magenta")

    def _arguments(self, arguments: Json) -> str:
        if isinstance(arguments, str):
            return self._shortened(arguments)
        try:
            text = orjson.dumps(arguments).decode("utf-8")
        except (TypeError, RecursionError):
            text = show(arguments)
        return self._shortened("" if arguments is None else text)

    def _shortened(self, text: str) -> str:
        if self._full:
            return text
        lines = text.split("\n")
        shown = [line if len(line) <= _WIDTH else line[:_WIDTH] + " …" for line in lines[:_LINES]]
        if len(lines) > _LINES:
            shown.append(f"… {len(lines) - _LINES} more lines (--full shows them)")
        return "\n".join(shown)

    # --------------------------------------------------------------------------- lines

    def _block(self, label: str, text: str, *, note: str = "", color: str | None = None, dim: bool = False) -> None:
        """A label, a note beside it, and text: beside the label if short, else below it."""
        label = plain(label).replace("\n", "\\n")
        note = plain(note).replace("\n", "\\n")
        body = plain(text.strip("\n"))
        head = click.style(f"{label:<10} ", fg=color, bold=not dim, dim=dim or None)
        if note:
            head += click.style(f"[{note}] " if body or label != "run" else note, dim=True)
        if body and "\n" not in body and len(body) + len(note) < 100:
            click.echo(head + click.style(body, dim=dim or None), color=self._color)
            return
        click.echo(head.rstrip(), color=self._color)
        if body:
            self._indented(body, dim=dim)

    def _indented(self, text: str, *, dim: bool = False) -> None:
        for line in text.split("\n"):
            click.echo(click.style(f"           {line}".rstrip(), dim=dim or None), color=self._color)

    def _line(self, text: str, *, color: str | None = None, bold: bool = False, dim: bool = False) -> None:
        click.echo(click.style(text, fg=color, bold=bold or None, dim=dim or None), color=self._color)


def _clock(time: datetime) -> str:
    return show_time(time)


def _image(image: ImagePart) -> str:
    size = f", {show_size(image.size_bytes)}" if image.size_bytes else ""
    return f"[image {image.media_type or 'of unknown type'}{size}]"


def _outcome(outcome: ToolOutcome) -> str:
    parts = [outcome.raw_status or outcome.status]
    if outcome.exit_code is not None:
        parts.append(f"exit status {outcome.exit_code}")
    if outcome.error_code is not None:
        parts.append(outcome.error_code)
    return ", ".join(parts)
