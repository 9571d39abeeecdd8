"""Secrets taken out of a session before it is shown to others.

:func:`redact` gives header, entries and details anew, with a placeholder such as
``[redacted:github-token:1]`` where a secret of a known shape stood: the same one wherever the
same secret stood. Nothing else changes: what holds no secret is the very object that it was;
ids, signatures, encrypted content and pictures stay byte for byte, and arguments stay JSON.

It finds what has a shape. A password in prose has none, and what is encrypted cannot be seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from ..entries import (
    CompactionEntry,
    ContextEntry,
    Detail,
    Entry,
    Header,
    Invocation,
    Item,
    Json,
    MessageEntry,
    OpaqueEntry,
    RunEntry,
)
from ..findings import Finding
from ..importers import Imported
from ..items import has_opaque
from ..store import DetailKey
from ._texts import PLACEHOLDER, Texts
from ._walk import Mode, Walk, highest_numbers
from .shapes import SHAPES, Finder, SecretShape, ShapeError, parse_shape, parse_shapes

__all__ = [
    "SHAPES",
    "Finder",
    "Redacted",
    "Redaction",
    "SecretShape",
    "ShapeError",
    "parse_shape",
    "parse_shapes",
    "redact",
    "redact_imported",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """One place where secrets stood.

    Attributes:
        entry: The entry; None for the header, and for a detail that names none.
        call: The id of the detail's call; None for what is no detail.
        where: The path inside the entry, the payload or the header, as in ``$.message.content``.
        placeholders: What stands there now, in order.
    """

    entry: str | None
    call: str | None
    where: str
    placeholders: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A session without its secrets, and what was taken out.

    Attributes:
        header: None if none was given.
        entries: In their order; the very same objects where nothing was found.
        details: The same.
        redactions: Every place, in the order header, entries, details.
        findings: What no model is sent any more, because it is bound to texts that were changed.
        told: The findings that were given, without the secrets that they quote.
    """

    header: Header | None
    entries: tuple[Entry, ...]
    details: tuple[Detail, ...]
    redactions: tuple[Redaction, ...]
    findings: tuple[Finding, ...]
    told: tuple[Finding, ...] = ()

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """By kind, how many secrets there were, and in how many places; by name of the kind."""
        places = Counter(text for redaction in self.redactions for text in redaction.placeholders)
        kinds: dict[str, tuple[int, int]] = {}
        for placeholder, number in places.items():
            match = PLACEHOLDER.fullmatch(placeholder)
            assert match is not None
            secrets, total = kinds.get(match[1], (0, 0))
            kinds[match[1]] = (secrets + 1, total + number)
        return dict(sorted(kinds.items()))

    @property
    def details_by_call(self) -> dict[DetailKey, Json]:
        """The payloads by call id and entry id, as a store's ``details()`` gives them."""
        return {(detail.id, detail.entry): detail.payload for detail in self.details}


def redact(
    entries: Iterable[Entry],
    details: Iterable[Detail] | Mapping[DetailKey, Json] = (),
    *,
    header: Header | None = None,
    findings: Iterable[Finding] = (),
    shapes: Sequence[SecretShape] = SHAPES,
    finders: Sequence[Finder] = (),
) -> Redacted:
    """A session with a placeholder in the place of each secret. Nothing that is given is changed.

    Looked at are texts, and texts of JSON in them: what was said and thought, what tools were
    called with and gave, attachments, summaries, details, paths, the header. A member of an
    object is looked at also as ``KEY: VALUE``. What is seen to be a secret by what stands around
    it is one everywhere, if it is not too short for that. Doing it again changes nothing.

    Thinking whose own text is changed does not fit its signature any more, and Anthropic's also
    not if something before it is changed: such an entry loses its family, so that no model is
    sent that. A finding tells each.

    Args:
        entries: In the order of the log.
        details: Records of the sidecar, or payloads as a store gives them.
        header: The header.
        findings: What is told of the session, which may quote it. Not counted with the rest.
        shapes: What to look for. Give ``(*SHAPES, …)`` for more.
        finders: What else to ask of each text.

    Raises:
        ShapeError: A finder names a kind that is none.
    """
    if isinstance(details, Mapping):
        details = [
            Detail(id=call, entry=entry, payload=payload) for (call, entry), payload in details.items()
        ]
    given = (header, [*entries], [*details])
    told = [*findings]
    taken = highest_numbers(_strings(*given))
    texts = Texts(shapes, finders, taken)
    made = _Redactor(texts).redact(*given, told)
    if texts.told:
        # What a name beside it told once to be a secret is one where it stands alone too.
        bare = [
            SecretShape(kind=kind, pattern=re.compile(re.escape(secret)), hints=(secret,))
            for secret, kind in texts.told.items()
        ]
        made = _Redactor(Texts((*shapes, *bare), finders, taken)).redact(*given, told)
    return made


def redact_imported(
    imported: Imported, *, shapes: Sequence[SecretShape] = SHAPES, finders: Sequence[Finder] = ()
) -> tuple[Imported, Redacted]:
    """The same for an imported session."""
    made = redact(
        imported.entries,
        imported.details,
        header=imported.header,
        findings=imported.findings,
        shapes=shapes,
        finders=finders,
    )
    assert made.header is not None
    clean = replace(
        imported, header=made.header, entries=made.entries, details=made.details, findings=made.told
    )
    return clean, made


_BOUND: Final = "anthropic-messages"
"""The families whose thinking is bound to everything before it."""


class _Redactor:
    """Goes through one session."""

    def __init__(self, texts: Texts) -> None:
        self._walk = Walk(texts)
        self._redactions: list[Redaction] = []
        self._findings: list[Finding] = []
        self._changed = False  # whether anything that a model is sent is not as it was

    def redact(
        self,
        header: Header | None,
        entries: Sequence[Entry],
        details: Sequence[Detail],
        findings: Sequence[Finding],
    ) -> Redacted:
        return Redacted(
            header=None if header is None else self._header(header),
            entries=tuple([self._entry(entry) for entry in entries]),
            details=tuple([self._detail(detail) for detail in details]),
            redactions=tuple(self._redactions),
            findings=tuple(self._findings),
            told=tuple([self._quoting(finding) for finding in findings]),
        )

    def _header(self, header: Header) -> Header:
        cwd = self._walk.maybe(header.cwd, "$.cwd")
        extra = self._walk.value(header.extra, "$", Mode.DATA)
        self._tell(None, None)
        return (
            header if cwd is header.cwd and extra is header.extra else replace(header, cwd=cwd, extra=extra)
        )

    def _entry(self, entry: Entry) -> Entry:
        match entry:
            case MessageEntry():
                fresh: Entry = self._message(entry)
            case ContextEntry(context=context):
                path = self._walk.maybe(context.path, "$.context.path")
                rendered = self._walk.text(context.rendered, "$.context.rendered")
                same = path is context.path and rendered is context.rendered
                fresh = (
                    entry if same else replace(entry, context=replace(context, path=path, rendered=rendered))
                )
            case CompactionEntry():
                fresh = self._compaction(entry)
            case RunEntry():
                fresh = entry
            case OpaqueEntry(type=kind, data=data):
                # An importer puts into it what the agent's extension was called.
                name = self._walk.text(kind, "$.type")
                value = self._walk.value(data, "$", Mode.DATA)
                same = name is kind and value is data
                fresh = entry if same else replace(entry, type=name, data=value)
            case _:
                assert_never(entry)
        self._tell(entry.id, None)
        return fresh

    def _message(self, entry: MessageEntry) -> MessageEntry:
        message: Item = self._walk.value(entry.message, "$.message", Mode.ITEM)
        invocation = self._invocation(entry.invocation)
        fresh = entry
        if message is not entry.message or invocation is not entry.invocation:
            fresh = replace(entry, message=message, invocation=invocation)
        bound = self._changed and (entry.family or "").startswith(_BOUND) and has_opaque(message)
        if entry.family is not None and (self._walk.signed or bound):
            what = "its own text" if self._walk.signed else "a text before it"
            self._findings.append(
                Finding(
                    rule="redacted-signed",
                    severity="warning",
                    message=f"what only its producer can read is bound to {what}, which was changed;"
                    " no model is sent it any more",
                    entry=entry.id,
                )
            )
            fresh = replace(fresh, family=None)
        self._changed |= message is not entry.message
        return fresh

    def _invocation(self, invocation: Invocation | None) -> Invocation | None:
        if invocation is None:
            return None
        path = self._walk.text(invocation.path, "$.invocation.path")
        source = self._walk.text(invocation.source, "$.invocation.source")
        same = path is invocation.path and source is invocation.source
        return invocation if same else replace(invocation, path=path, source=source)

    def _compaction(self, entry: CompactionEntry) -> CompactionEntry:
        compaction = entry.compaction
        summary = self._walk.text(compaction.summary, "$.compaction.summary")
        replacement = tuple(
            self._walk.value(item, f"$.compaction.replacement[{index}]", Mode.ITEM)
            for index, item in enumerate(compaction.replacement)
        )
        signed = bool(self._walk.signed)
        paths = [
            tuple(self._walk.text(path, f"$.compaction.{name}[{index}]") for index, path in enumerate(given))
            for name, given in (
                ("readFiles", compaction.read_files),
                ("modifiedFiles", compaction.modified_files),
            )
        ]
        if not self._walk.redactions:
            return entry
        self._changed = True
        if signed and compaction.family is not None:
            self._findings.append(
                Finding(
                    rule="redacted-signed",
                    severity="warning",
                    message="what only its producer can read of the replacement is bound to a text that was"
                    " changed; no model is sent it any more",
                    entry=entry.id,
                )
            )
        fresh = replace(
            compaction,
            summary=summary,
            replacement=replacement,
            read_files=paths[0],
            modified_files=paths[1],
            family=None if signed else compaction.family,
        )
        return replace(entry, compaction=fresh)

    def _detail(self, detail: Detail) -> Detail:
        payload = self._walk.value(detail.payload, "$.payload", Mode.DATA)
        self._tell(detail.entry, detail.id)
        return detail if payload is detail.payload else replace(detail, payload=payload)

    def _quoting(self, finding: Finding) -> Finding:
        message = self._walk.text(finding.message, "$.message")
        self._walk.redactions.clear()
        return finding if message is finding.message else replace(finding, message=message)

    def _tell(self, entry: str | None, call: str | None) -> None:
        self._redactions += [
            Redaction(entry=entry, call=call, where=where, placeholders=found)
            for where, found in self._walk.redactions
        ]
        self._walk.redactions.clear()
        self._walk.signed.clear()


def _strings(header: Header | None, entries: Sequence[Entry], details: Sequence[Detail]) -> Iterable[Json]:
    """All that may hold a placeholder."""
    if header is not None:
        yield header.cwd
        yield header.extra
    for entry in entries:
        match entry:
            case MessageEntry(message=message, invocation=invocation):
                yield message
                yield [] if invocation is None else [invocation.path, invocation.source]
            case ContextEntry(context=context):
                yield context.path
                yield context.rendered
            case CompactionEntry(compaction=compaction):
                yield compaction.summary
                yield [*compaction.replacement]
                yield [*compaction.read_files, *compaction.modified_files]
            case OpaqueEntry(type=kind, data=data):
                yield kind
                yield data
            case RunEntry():
                pass
            case _:
                assert_never(entry)
    for detail in details:
        yield detail.payload
