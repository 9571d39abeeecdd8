"""A session as one page of HTML that holds all that it shows.

Turns, calls and reasoning fold without script. The page's own policy forbids script, and
whatever would come from elsewhere; pictures are those that the session itself holds. Text of
the session is escaped by the template, and laid out as Markdown where a model wrote it.
Jinja2, markdown-it-py and Pygments are of the extra ``html``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from .._plain import one_line, plain
from .._wording import counted, show_duration, show_time
from ..errors import TranscriptError
from . import Exported, ExportSource
from ._outline import Outline, Span, Turn, build_outline, facts
from ._rich import Rich
from ._views import View, view

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["NoHtmlError", "export_html"]

_PIECE: Final = 1 << 16
"""About how many characters a piece has."""


_LONG: Final = 2000
"""A page of more events is drawn as it is read."""


class NoHtmlError(TranscriptError, ImportError):
    """A page was asked for, and the extra ``html`` is not installed."""

    def __str__(self) -> str:
        return "HTML cannot be made here: install the extra, as in pip install 'transcript-log[html]'"


def export_html(source: ExportSource) -> Exported:
    """A session as a page, in the order of its history.

    Raises:
        NoHtmlError: The extra is not installed.
    """
    try:
        import jinja2  # noqa: F401, PLC0415 - an extra, and slow to import
        import pygments  # noqa: F401, PLC0415

        rich = Rich()
    except ImportError as error:
        raise NoHtmlError from error
    return Exported(pieces=_pieces(source, _environment(), rich))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415 - an extra, and slow to import
    from markupsafe import Markup  # noqa: PLC0415

    def shown(value: object) -> object:
        """Whatever a template puts out, without anything that hides."""
        if isinstance(value, Markup):
            return Markup(plain(str(value)))  # noqa: S704 - it is escaped already
        return plain(value) if isinstance(value, str) else value

    return Environment(
        loader=PackageLoader("transcript_log", "exporters/templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=shown,
    )


def _pieces(source: ExportSource, environment: Environment, rich: Rich) -> Iterator[str]:
    outline = build_outline(source)
    style = _source(environment, "page.css")
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = environment.get_template("page.html.j2").generate(
        policy=policy,
        style=style,
        name=one_line(source.name) or "session",
        numbers=list(_numbers(outline)),
        facts=list(facts(source, outline)),
        damage=[
            one_line(str(replace(finding, path=None)))
            for finding in source.findings
            if finding.severity != "note"
        ],
        is_long=sum(len(turn.events) for turn in outline.turns) > _LONG,
        contents=[(turn.number, turn.title or "…") for turn in outline.turns if turn.number],
        turns=(_turn(turn, rich) for turn in outline.turns),
    )
    return _gathered(parts)


def _source(environment: Environment, name: str) -> str:
    """A file that stands beside the templates."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _gathered(parts: Iterable[str]) -> Iterator[str]:
    """The same text in fewer pieces."""
    held: list[str] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= _PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _numbers(outline: Outline) -> Iterator[tuple[str, str]]:
    span = outline.span
    yield f"{outline.user_turns:,}", "turn" if outline.user_turns == 1 else "turns"
    failed = f", {span.failed:,} failed" if span.failed else ""
    unanswered = f", {span.unanswered:,} unanswered" if span.unanswered else ""
    if span.calls:
        yield f"{span.calls:,}", f"{'call' if span.calls == 1 else 'calls'}{failed}{unanswered}"
    if outline.compactions:
        yield f"{outline.compactions:,}", "compaction" if outline.compactions == 1 else "compactions"
    tokens = span.tokens
    if tokens.total:
        cached = f" ({_short(tokens.cache_read)} cached)" if tokens.cache_read else ""
        untold = f"; {counted(tokens.untold, 'response')} did not tell all" if tokens.untold else ""
        words = f"tokens: {_short(tokens.all_input)} in{cached}, {_short(tokens.output)} out{untold}"
        yield _short(tokens.total), words
    if span.lasted:
        yield show_duration(span.lasted), "from first to last"


def _short(number: int) -> str:
    """A number in three digits or so, as in ``934k``."""
    if number < 1000:
        return str(number)
    amount, unit = (number / 1000, "k") if number < 999_500 else (number / 1_000_000, "M")
    return f"{amount:.1f}{unit}" if amount < 10 else f"{amount:,.0f}{unit}"


def _turn(turn: Turn, rich: Rich) -> View:
    span = turn.span
    return {
        "number": turn.number,
        "label": f"Turn {turn.number}" if turn.number else "Before the first turn",
        "title": turn.title,
        "models": one_line(", ".join(span.models)),
        "words": list(_turn_words(span)),
        "events": _events(turn, rich),
    }


def _events(turn: Turn, rich: Rich) -> Iterator[dict[str, Any]]:
    for event in turn.events:
        was_spent = rich.is_spent
        shown = view(event, rich)
        yield {**shown, "is_last_rich": rich.is_spent and not was_spent}


def _turn_words(span: Span) -> Iterator[tuple[str, str]]:
    """What stands beside a turn, and in which tone."""
    if span.started is not None:
        yield show_time(span.started), ""
    if span.lasted:
        yield show_duration(span.lasted), ""
    if span.calls:
        yield counted(span.calls, "call"), ""
    if span.failed:
        yield f"{span.failed} failed", "bad"
    if span.unanswered:
        yield f"{span.unanswered} unanswered", "wary"
    if span.tokens.total:
        yield f"{_short(span.tokens.total)} tokens", ""
