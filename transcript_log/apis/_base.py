"""What the rule tables of the APIs have in common."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Protocol, runtime_checkable

import orjson

from .._pairing import Order
from .._pieces import Piece
from .._twins import twin_of
from ..entries import Item
from ..findings import Change, ChangeKind, Finding, Severity

__all__ = [
    "Amendable",
    "Api",
    "Demand",
    "IdRule",
    "NameRule",
    "Notes",
    "OfModel",
    "Rule",
    "Terms",
    "all_fit",
    "clean_text",
    "fresh_ids",
    "has_surrogate",
    "rule_of",
    "safe_name",
    "with_clean_text",
    "word",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that an API demands of the items it is sent.

    Attributes:
        id: A short stable name, as in ``"output-missing"``.
        demand: What is demanded, in one sentence.
        severity: ``"error"``: a request that breaks it is refused; ``"warning"``: some of those
            who serve this API refuse it; ``"note"``: it is worth knowing.
        source: Where that is said or was seen.
        date: When it was said, or looked up.
    """

    id: str
    demand: str
    severity: Severity
    source: str
    date: str

    def at(self, place: int | None, message: str, call: str | None = None) -> Finding:
        """The finding that the item at ``place`` breaks this rule."""
        return Finding(
            rule=self.id,
            severity=self.severity,
            message=message,
            advice="build_context mends it" if self.severity != "note" else "",
            call=call,
            item=place,
        )


def rule_of(page: str) -> Callable[..., tuple[str, Rule]]:
    """Makes the rows of a table of rules; ``page`` is the source of those that name none."""

    def row(
        id: str, demand: str, source: str = page, date: str = "2026-12-01", *, warning: bool = False
    ) -> tuple[str, Rule]:
        return id, Rule(id, demand, "warning" if warning else "error", source, date)

    return row


_Change: Final = twin_of(Change)


class Notes:
    """The changes that a step made, in order.

    Attributes:
        changes: They.
        terms: What the API that renders asks for; each API says so when it begins.
    """

    __slots__ = ("changes", "terms")

    def __init__(self) -> None:
        self.changes: Final[list[Change]] = []
        self.terms: Terms | None = None

    def asks(self, rule: str) -> bool:
        """Whether what breaks a rule is to be mended: not where a table turns it off."""
        return self.terms is None or self.terms.asks(rule)

    @property
    def names(self) -> NameRule:
        """What the name of a tool may be where things are rendered."""
        assert self.terms is not None
        return self.terms.names

    def add(
        self,
        kind: ChangeKind,
        rule: str,
        message: str,
        piece: Piece,
        *,
        call: object = None,
        item: Item | None = None,
    ) -> None:
        """Tell of a change to a piece; ``call`` is whatever stands where a call id should."""
        change = _Change(kind, rule, message, piece.entry, call if type(call) is str else None, item)
        change.__class__ = Change
        self.changes.append(change)


@runtime_checkable
class Api(Protocol):
    """One provider API: what it demands, and how items of any shape are said in its words."""

    @property
    def name(self) -> str:
        """What a target calls it."""
        ...

    @property
    def items_key(self) -> str:
        """The key of a request that its items stand under."""
        ...

    @property
    def order(self) -> Order:
        """What may stand between a call and its output."""
        ...

    @property
    def rules(self) -> Mapping[str, Rule]:
        """All that it demands, by the ids of the rules."""
        ...

    def check(self, items: Sequence[Item], *, paused: bool = False) -> Iterator[Finding]:
        """The rules that items break, in their order.

        Args:
            items: What would be sent.
            paused: The last item is of a turn that the provider paused, to be sent back as it is.
        """
        ...

    def render(self, pieces: Sequence[Piece], notes: Notes, *, paused: bool = False) -> list[Piece]:
        """The same conversation in items that this API takes.

        Calls and outputs are paired already. A piece that is right comes back as it is.
        """
        ...


@runtime_checkable
class OfModel(Protocol):
    """An API that asks one model for another thing than the next."""

    def of_model(self, model: str) -> Api:
        """The same API as this model has it."""
        ...


# ---------------------------------------------------------------------------------- ids


@dataclass(frozen=True, slots=True)
class IdRule:
    """What the id of a call may be."""

    pattern: re.Pattern[str]
    length: int
    unique: bool
    """Whether no two calls of a request may share one; else only those of one message."""

    def fits(self, call_id: str) -> bool:
        """Whether an id may be sent as it is."""
        return 0 < len(call_id) <= self.length and self.pattern.fullmatch(call_id) is not None

    def other(self, call_id: str, salt: str) -> str:
        """An id that may be sent in the place of ``call_id``; the same one each time.

        It keeps what it can of the old id, for people, and ends with a digest of all of it. Where
        there is no room for that, or such an id would not fit, it is letters and digits alone.
        """
        digest = sha256(f"{salt}\0{call_id}".encode("utf-8", "surrogatepass")).hexdigest()
        if self.length > 13:
            kept = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[: self.length - 13] or "call"
            made = f"{kept}_{digest[:12]}"
            if self.pattern.fullmatch(made):
                return made
        return digest[: min(self.length, 40)]


def all_fit(rule: IdRule, groups: Iterable[Sequence[Any]]) -> bool:
    """Whether the call ids of each message are what a rule wants, and none has to be another."""
    used: set[str] = set()
    for group in groups:
        if not rule.unique:
            if len(group) == 1:
                if type(group[0]) is not str or not rule.fits(group[0]):
                    return False
                continue
            used = set()
        for call_id in group:
            if type(call_id) is not str or call_id in used or not rule.fits(call_id):
                return False
            used.add(call_id)
    return True


def fresh_ids(
    rule: IdRule,
    pieces: Iterable[tuple[Piece, Sequence[str], Sequence[str]]],
    notes: Notes,
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The ids of calls and outputs under a rule, piece by piece; the same ones where they fit.

    Only what stands before decides, so that what is appended later changes no id.

    Args:
        rule: What an id may be.
        pieces: Each with the ids of its calls and of its outputs, in order.
        notes: Is told of each call that gets another id.
    """
    used: set[str] = set()
    numbers: dict[str, int] = {}
    dealt: dict[str, deque[str]] = {}
    is_asked = notes.asks("call-id")
    fits = rule.fits
    for piece, calls, outputs in pieces:
        new_outputs: Sequence[str] = outputs
        if outputs:
            found = []
            for call_id in outputs:
                queue = dealt.get(call_id)
                found.append(queue.popleft() if queue else call_id)
            if found != list(outputs):
                new_outputs = found
        new_calls: Sequence[str] = calls
        if calls:
            if not rule.unique:
                used, numbers = set(), {}
            found = []
            for place, call_id in enumerate(calls):
                new = call_id
                if call_id in used or (is_asked and not fits(call_id)):
                    number = numbers.get(call_id, 0)  # those before it are taken
                    while new in used or new is call_id or (is_asked and not fits(new)):
                        salt = f"{number}" if call_id else f"{piece.entry} {place} {number}"
                        new = rule.other(call_id, salt)
                        number += 1
                    numbers[call_id] = number
                used.add(new)
                found.append(new)
                queue = dealt.get(call_id)
                if queue is None:
                    dealt[call_id] = queue = deque()
                queue.append(new)
                if new != call_id:
                    notes.add("rewritten", "call-id", f"the call id goes as {new!r}", piece, call=call_id)
            if found != list(calls):
                new_calls = found
        yield new_calls, new_outputs


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


def safe_name(name: str, length: int) -> str:
    """A tool's name of letters, digits, ``_`` and ``-``, of at most so many characters."""
    if name and len(name) <= length and not _UNSAFE.search(name):
        return name
    kept = _UNSAFE.sub("_", name) or "tool"
    if len(kept) <= length:
        return kept
    return f"{kept[: length - 9]}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class NameRule:
    """What the name of a tool may be."""

    pattern: re.Pattern[str]
    length: int

    def fits(self, name: Any) -> bool:
        """Whether a name may be sent as it is."""
        return type(name) is str and len(name) <= self.length and self.pattern.fullmatch(name) is not None

    def safe(self, name: str) -> str:
        """A name that may be sent in its place; the same one each time, and itself if it fits."""
        if self.fits(name):
            return name
        made = safe_name(name, self.length)
        if self.fits(made):
            return made
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return f"t{digest}"[: min(self.length, 13)]


# -------------------------------------------------------------------------------- terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an API asks for, as far as that is data: what a table of a user can change of it.

    Attributes:
        name: What a target calls the API.
        wire: The API in whose words it answers, as :func:`~transcript_log.response.wire.raw_answer`
            has them.
        rules: All that it demands, by the ids of the rules.
        ids: What a call id may be.
        names: What the name of a tool may be.
        optional: The rules that can be turned off. What the others ask for is done by the steps
            before an API is asked, or is what rendering is.
        off: The rules that are not asked for: neither found nor mended.
        demands: What is demanded beside all that.
    """

    name: str
    wire: str
    rules: Mapping[str, Rule]
    ids: IdRule
    names: NameRule
    optional: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()
    demands: tuple[Demand, ...] = ()

    def asks(self, rule: str) -> bool:
        """Whether what breaks a rule is to be mended: it is asked for, and no mere note."""
        if rule in self.off:
            return False
        known = self.rules.get(rule)
        return known is None or known.severity != "note"

    def heard(self, found: Iterable[Finding], items: Sequence[Item]) -> Iterator[Finding]:
        """Findings without those of rules that are off, and each as bad as its rule says.

        Those of the demands come last.
        """
        for finding in found:
            if finding.rule in self.off:
                continue
            rule = self.rules[finding.rule]
            if rule.severity != finding.severity:
                advice = "" if rule.severity == "note" else finding.advice
                finding = replace(finding, severity=rule.severity, advice=advice)  # noqa: PLW2901
            yield finding
        for demand in self.demands:
            if demand.rule.id not in self.off:
                yield from demand.check(items)

    def finished(self, pieces: list[Piece], notes: Notes) -> list[Piece]:
        """Pieces that the API has rendered, with what the demands want."""
        for demand in self.demands:
            if self.asks(demand.rule.id):
                pieces = [demand.mended(piece, notes) for piece in pieces]
        return pieces


@runtime_checkable
class Amendable(Protocol):
    """An API whose terms can be others."""

    @property
    def terms(self) -> Terms:
        """What it asks for, as far as that is data."""
        ...

    def under(self, terms: Terms) -> Api:
        """The same API under other terms; they are of the class that it has."""
        ...


class Demand(Protocol):
    """A rule that somebody wrote down as data: see :mod:`.tables`."""

    @property
    def rule(self) -> Rule:
        """The rule."""
        ...

    def check(self, items: Sequence[Item]) -> Iterator[Finding]:
        """The items that break it."""
        ...

    def mended(self, piece: Piece, notes: Notes) -> Piece:
        """A piece under it; the same one if it is already."""
        ...


# --------------------------------------------------------------------------------- text


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def has_surrogate(item: Any) -> bool:
    """Whether some text in a value cannot be sent as UTF-8."""
    try:
        orjson.dumps(item)
    except TypeError:
        return _has_surrogate(item)
    return False


def _has_surrogate(value: Any) -> bool:
    if type(value) is str:
        return clean_text(value) is not value
    if type(value) is list:
        return any(_has_surrogate(inner) for inner in value)
    if type(value) is dict:
        return any(_has_surrogate(key) or _has_surrogate(inner) for key, inner in value.items())
    return False


def clean_text(text: str) -> str:
    """Text with U+FFFD in the place of each lone surrogate; the same object if it has none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def with_clean_text(value: Any) -> Any:
    """A value with clean text all through; what needs no change is shared."""
    if type(value) is str:
        return clean_text(value)
    if type(value) is list:
        cleaned = [with_clean_text(inner) for inner in value]
        return cleaned if any(a is not b for a, b in zip(cleaned, value, strict=True)) else value
    if type(value) is dict:
        pairs = [(clean_text(key), with_clean_text(inner)) for key, inner in value.items()]
        same = all(a[0] is b[0] and a[1] is b[1] for a, b in zip(pairs, value.items(), strict=True))
        return value if same else dict(pairs)
    return value


def word(value: Any) -> str:
    """A value where a provider wants a word: the text, or ``""`` for anything else."""
    return value if type(value) is str else ""
