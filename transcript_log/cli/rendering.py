"""Events as text for a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, assert_never

import click

from .._wording import (
    PRIVATE,
    call_ending,
    compaction_words,
    loose_words,
    picture_words,
    response_words,
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
from .output import counted, echo, show_duration, show_time
from .source import FORMAT_NAMES, Session
from .text import laid_out, one_line, plain

__all__ = ["Renderer"]

_SAID: Final = 40
"""How many lines of a user's message or of a summary are shown, unless all are wanted."""

_LINES: Final = 12
"""How many of an output, of arguments, or of instructions."""

_WIDTH: Final = 500
"""How many characters of one such line."""

_INDENT: Final = " " * 11
_COLORS: Final = {"user": "green", "assistant": "blue", "developer": "magenta", "system": "magenta"}
_ENDINGS: Final = {"ok": "green", "failed": "red", "open": "yellow"}


class Renderer:
    """Prints the events of one session in order, with a rule before each turn.

    Args:
        color: False for none, None to let the terminal decide.
        full: Whether long texts are shown whole.
    """

    def __init__(self, *, color: bool | None, full: bool) -> None:
        self._color = color
        self._full = full
        self._turn = 0
        self._waiting: set[tuple[str, str | None]] = set()

    def header(self, session: Session) -> None:
        """What the session is."""
        header = session.header
        if header is None:
            self._line(_styled("an empty log", bold=True))
            return
        parts = [f"session {header.id or '?'}"]
        if session.format != "transcript-log":
            parts.append(FORMAT_NAMES[session.format])
        parts += [show_time(header.timestamp)] if header.timestamp is not None else []
        parts += [header.cwd] if header.cwd else []
        if header.parent is not None:
            parts.append(f"for call {header.parent.call} of {header.parent.session}")
        if header.forked_from is not None:
            parts.append(f"forked from {header.forked_from.session} at {header.forked_from.entry}")
        self._line(_styled(one_line("  ".join(parts)), bold=True))

    def event(self, event: Event) -> None:
        """One event."""
        if event.turn > self._turn:
            self._turn = event.turn
            clock = "" if event.time is None else f"  {show_time(event.time)}"
            rule = f"── turn {event.turn} {'─' * 30}{clock}  {one_line(event.entry)}"
            self._line("")
            self._line(_styled(rule, dim=True))
        match event:
            case Said():
                self._said(event)
            case Reasoned(text=text, opaque=opaque):
                note = "" if text.strip() else PRIVATE if opaque else "no text"
                self._block("reasoning", text, note=note, dim=True)
            case Called() | HostedCall():
                self._called(event)
            case RepeatedOutput() | OutputWithoutCall():
                self._loose(event)
            case Responded():
                self._responded(event)
            case Compacted():
                self._compacted(event)
            case Attached(kind=kind, path=path, rendered=rendered):
                title = f"{kind} {path}" if path else kind
                self._block("context", self._shortened(laid_out(rendered), _LINES), title=title, dim=True)
            case Ran(status=status, duration=duration, started=started, completed=completed, usage=usage):
                when = f"{show_time(started)} to {_until(started, completed)}"
                text = f"{status or 'ended'} after {show_duration(duration)} ({when})"
                if usage.responses:
                    text += f"; {counted(usage.responses, 'response')}: {token_words(usage)}"
                self._block("run", text, dim=True)
            case UnknownItem(type=kind, opaque=opaque):
                note = f"; {PRIVATE}" if opaque else ""
                self._block("unknown", f"an item of type {kind!r}{note}", dim=True)
            case Unknown(type=kind):
                self._block("unknown", f"an entry of type {kind!r}", dim=True)
            case _:
                assert_never(event)

    # -------------------------------------------------------------------------- events

    def _said(self, event: Said) -> None:
        notes = [] if event.invocation is None else [f"from the template {event.invocation.name}"]
        if event.interrupted:
            notes.append("interrupted" if event.role == "assistant" else "left aside")
        notes += [] if event.text.strip() or event.images else ["no text"]
        text = event.text
        if event.role != "assistant":
            text = self._shortened(text, _SAID if event.role == "user" else _LINES)
        body = _with_images(text, event.images)
        self._block(event.role or "message", body, note=", ".join(notes), color=_COLORS.get(event.role))

    def _called(self, event: Called | HostedCall) -> None:
        call = (event.entry, event.call_id)
        title = event.name or "?"
        if call in self._waiting and isinstance(event, Called) and event.answered:
            self._waiting.remove(call)
            self._block("output", "", title=title, color="cyan")
        else:
            arguments = self._shortened(laid_out(event.arguments), _LINES)
            note = "run by the provider" if isinstance(event, HostedCall) else ""
            self._block("call", arguments, title=title, note=note, color="cyan")
        if isinstance(event, Called) and not event.answered:
            self._waiting.add(call)
        ending, words = call_ending(event)
        if words:
            self._arrow(words, _ENDINGS[ending])
        self._below(_lines(_with_images(self._shortened(event.output or "", _LINES), event.images)), dim=True)

    def _loose(self, event: RepeatedOutput | OutputWithoutCall) -> None:
        title = event.name or "" if isinstance(event, OutputWithoutCall) else ""
        body = _with_images(self._shortened(event.output, _LINES), event.images)
        self._block("output", body, title=title, note=loose_words(event), color="yellow")

    def _responded(self, event: Responded) -> None:
        text = response_words(event)
        # With its entry, where that is of use: the request can be shown.
        text += f"  {event.entry}" if event.request is not None else ""
        self._block("response", one_line(text), dim=True)

    def _compacted(self, event: Compacted) -> None:
        summary = self._shortened(event.summary, _SAID)
        self._block("compacted", summary, note=compaction_words(event), color="magenta")

    # --------------------------------------------------------------------------- lines

    def _shortened(self, text: str, limit: int) -> str:
        lines = text.replace("\r\n", "\n").strip("\n").split("\n")
        if self._full:
            return "\n".join(lines)
        if len(lines) > limit + 1:  # the one line more is no longer than the words that it was left out
            lines = [*lines[:limit], f"… {len(lines) - limit} more lines; --full shows them"]
        return "\n".join(_cut(line) for line in lines)

    def _block(
        self,
        label: str,
        text: str,
        *,
        title: str = "",
        note: str = "",
        color: str | None = None,
        dim: bool = False,
    ) -> None:
        """A label, a title and a note beside it, and text: beside them if it is short, else below."""
        label, title, note = one_line(label), one_line(title), one_line(f"({note})" if note else "")
        words = [_styled(title, bold=True), _styled(note, dim=True)]
        lines = _lines(text)
        is_short = len(lines) == 1 and len(title + note + lines[0]) < 100
        if lines and (is_short or not (title or note)):
            words.append(_styled(lines.pop(0), dim=dim))
        beside = "  ".join(word for word in words if word)
        head = _styled(label, fg=color, bold=not dim, dim=dim)
        self._line(head + " " * max(2, len(_INDENT) - len(label)) + beside if beside else head)
        self._below(lines, dim=dim)

    def _below(self, lines: list[str], *, dim: bool) -> None:
        for line in lines:
            self._line(_styled(f"{_INDENT}{line}", dim=dim) if line else "")

    def _arrow(self, text: str, color: str) -> None:
        # It hangs out of the indent, where no line of an output can stand.
        self._line(_INDENT[:-2] + _styled(one_line(f"→ {text}"), fg=color))

    def _line(self, text: str) -> None:
        echo(text, color=self._color)


def _styled(text: str, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    style: dict[str, Any] = {
        name: value for name, value in (("fg", fg), ("bold", bold), ("dim", dim)) if value
    }
    return click.style(text, **style) if text and style else text


def _lines(text: str) -> list[str]:
    """The lines of a text, fit for a terminal, without blank ones around them and spaces at their ends."""
    lines = [line.rstrip() for line in plain(text.replace("\r\n", "\n")).strip("\n").split("\n")]
    return lines if any(lines) else []


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]} … {len(line) - _WIDTH} more characters"


def _with_images(text: str, images: tuple[ImagePart, ...]) -> str:
    return "\n".join([*([text] if text else []), *map(picture_words, images)])


def _until(started: datetime, completed: datetime) -> str:
    text = show_time(completed)
    return text[-9:] if started.date() == completed.date() else text
