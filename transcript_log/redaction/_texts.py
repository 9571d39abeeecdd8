"""Secrets in one text, and the placeholders that take their places.

A placeholder is never looked into, and a text is looked at until nothing more is found: so
what was redacted once stays as it is.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from .._json import is_json
from .shapes import Finder, SecretShape, ShapeError

__all__ = ["PLACEHOLDER", "Texts"]

PLACEHOLDER: Final = re.compile(r"\[redacted:([a-z0-9]+(?:-[a-z0-9]+)*):([1-9][0-9]{0,17})\]")
"""What stands where a secret stood: its kind, and which one of the session it was."""

_LITERAL: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_AFTER_KEY: Final = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_BLOB: Final = re.compile(r"[A-Za-z0-9+/\r\n]{512,}={0,2}[\r\n]*")
_KIND: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LETTER: Final = re.compile("[A-Za-z]")
_DIGIT: Final = re.compile("[0-9]")
_UNLIKELY: Final = 12
"""How long a secret is at least that is looked for wherever it may stand."""

_LOOKS: Final = 8
"""How often a text is looked at before what hangs together counts as one secret. In
``ghp_…ghp_…`` one is seen when the next is out of its way, and so one at each look."""

_RUN: Final = f"{string.ascii_letters}{string.digits}_-"

_NESTED: Final = 8
"""How deep texts of JSON may stand in texts of JSON."""


def _is_like_json(text: str) -> bool:
    """Whether a text begins as a text of JSON would that holds texts."""
    return text.lstrip(" \t\r\n")[:1] in ("{", "[", '"')


def _is_unlikely(secret: str) -> bool:
    """Whether a text would hardly stand anywhere by chance, as ``postgres`` would."""
    return len(secret) >= _UNLIKELY and bool(_LETTER.search(secret)) and bool(_DIGIT.search(secret))


class _Span(NamedTuple):
    """A secret in a text. The first to sort counts: the earliest, the longest, the first shape."""

    start: int
    minus_end: int
    order: int
    kind: str


def _runs(text: str, spans: Sequence[_Span]) -> list[_Span]:
    """The runs of letters, digits and hyphens that the secrets stand in, each once."""
    runs: list[_Span] = []
    end = 0
    for span in spans:
        if span.start >= end:
            start = max(end, len(text[: span.start].rstrip(_RUN)))
            end = len(text) - len(text[-span.minus_end :].lstrip(_RUN))
            runs.append(_Span(start, -end, span.order, span.kind))
    return runs


class Texts:
    """Redacts texts of one session: the same secret has the same placeholder in all of them.

    Attributes:
        found: The placeholders that were put in since it was last emptied, in order.
        told: The secrets that only what stands around them told of, and that chance does not
            write; each with its kind.
    """

    def __init__(
        self, shapes: Sequence[SecretShape], finders: Sequence[Finder], taken: dict[str, int]
    ) -> None:
        """For these shapes and finders.

        Args:
            shapes: What is looked for.
            finders: What else is asked.
            taken: By kind, the highest number that a placeholder of the session has already.
        """
        self.found: list[str] = []
        self.told: dict[str, str] = {}
        self._shapes = [(shape, shape.pattern.finditer, shape.group) for shape in shapes]
        self._finders = finders
        hinted = not finders and all(shape.hints for shape in shapes)
        self._hints = [hint for shape in shapes for hint in shape.hints] if hinted else [""]
        self._clean: set[str] = set()  # keys that hold none
        self._naming: dict[str, bool] = {}
        self._numbers = dict(taken)
        self._placeholders: dict[str, str] = {}

    def redact(self, text: str, key: str | None = None) -> str:
        """A text without its secrets; the very same text where it has none.

        Args:
            text: The text. In a text of JSON each string is looked at by itself, so that it stays JSON.
            key: The name of the member that holds it, as far as that tells what it is.
        """
        return self._redact(text, key, _NESTED)

    def redact_key(self, key: str) -> str:
        """A key of an object without its secrets."""
        if key in self._clean:
            return key
        fresh = self._redact(key, None, _NESTED)
        if fresh == key:
            self._clean.add(key)
        return fresh

    def _names(self, key: str | None) -> bool:
        """Whether a key may name a secret."""
        if key is None:
            return False
        known = self._naming.get(key)
        if known is None:
            known = self._naming[key] = self._may_hold(f"{key}: ")
        return known

    def _redact(self, text: str, key: str | None, depth: int) -> str:
        # What a text of JSON holds may be spelled with escapes, and so hide its hints.
        is_spelled = bool(depth) and "\\" in text and _is_like_json(text)
        if not text or not (is_spelled or self._may_hold(text) or self._names(key)):
            return text
        named = "" if key is None else f"{key}: "
        if _BLOB.fullmatch(text) and not self._names(key):
            return text
        for look in count():
            if depth and _is_like_json(text) and is_json(text):
                fresh = self._in_json(text, depth - 1)
            else:
                fresh = self._in_plain(text, named, is_run=look >= _LOOKS)
            if fresh == text:
                break
            text = fresh
        return text

    def _in_plain(self, text: str, named: str, *, is_run: bool) -> str:
        """A text with what is found at one look replaced; if ``is_run``, with all that hangs together."""
        spans = self._spans(text)
        if not spans and named:
            # A member that is named as a secret: what is around it is the name.
            size = len(named)
            spans = [
                _Span(span.start - size, span.minus_end + size, span.order, span.kind)
                for span in self._spans(named + text)
                if span.start >= size
            ]
        if is_run:
            spans = _runs(text, spans)
        return self._replaced(text, spans) if spans else text

    def _may_hold(self, text: str) -> bool:
        for hint in self._hints:  # noqa: SIM110 - any() takes twice as long, and all texts are asked
            if hint in text:
                return True
        return False

    def _in_json(self, text: str, depth: int) -> str:
        """A text of JSON whose strings are redacted; all else stays as it is spelled."""
        pieces: list[str] = []
        at = 0
        key: str | None = None
        for match in _LITERAL.finditer(text):
            value: str = json.loads(match[0]) if "\\" in match[0] else match[0][1:-1]
            after = _AFTER_KEY.match(text, match.end())
            fresh = self._redact(value, None if after else key, depth)
            key = value if after and text[after.end() : after.end() + 1] == '"' else None
            if fresh != value:
                pieces += [text[at : match.start()], json.dumps(fresh, ensure_ascii="\\u" in match[0])]
                at = match.end()
        return "".join([*pieces, text[at:]]) if pieces else text

    def _spans(self, text: str) -> list[_Span]:
        """The secrets in a text, none of which touches another or a placeholder."""
        edges = [0]
        for match in PLACEHOLDER.finditer(text):
            edges += match.span()
        edges.append(len(text))
        open_parts = [part for part in zip(edges[::2], edges[1::2], strict=True) if part[0] < part[1]]
        found = [*self._by_shapes(text, open_parts), *self._by_finders(text, open_parts)]
        spans: list[_Span] = []
        end = 0
        for span in sorted(found):
            if span.start >= end:
                spans.append(span)
                end = -span.minus_end
        return spans

    def _by_shapes(self, text: str, parts: Sequence[tuple[int, int]]) -> Iterator[_Span]:
        for order, (shape, finditer, group) in enumerate(self._shapes):
            if shape.hints and not any(hint in text for hint in shape.hints):
                continue
            for first, last in parts:
                for match in finditer(text, first, last):
                    start, end = match.span(group)
                    if 0 <= start < end:
                        yield _Span(start, -end, order, shape.kind)

    def _by_finders(self, text: str, parts: Sequence[tuple[int, int]]) -> Iterator[_Span]:
        for order, finder in enumerate(self._finders, len(self._shapes)):
            for start, end, kind in finder(text):
                if _KIND.fullmatch(kind) is None:
                    raise ShapeError(kind, "a kind is of a-z, 0-9 and single hyphens, as in my-token")
                if any(first <= start < end <= last for first, last in parts):
                    yield _Span(start, -end, order, kind)

    def _replaced(self, text: str, spans: Sequence[_Span]) -> str:
        pieces: list[str] = []
        at = 0
        for span in spans:
            secret = text[span.start : -span.minus_end]
            if self._is_told(span) and _is_unlikely(secret):
                self.told.setdefault(secret, span.kind)
            placeholder = self._placeholder(secret, span.kind)
            self.found.append(placeholder)
            pieces += [text[at : span.start], placeholder]
            at = -span.minus_end
        return "".join([*pieces, text[at:]])

    def _is_told(self, span: _Span) -> bool:
        """Whether a shape found it by more than the secret itself."""
        return span.order < len(self._shapes) and self._shapes[span.order][2] != 0

    def _placeholder(self, secret: str, kind: str) -> str:
        known = self._placeholders.get(secret)
        if known is None:
            number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
            known = self._placeholders[secret] = f"[redacted:{kind}:{number}]"
        return known
