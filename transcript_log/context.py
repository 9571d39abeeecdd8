"""What a model is sent: the log's live items, as the target's API takes them.

:func:`build_context` is a function of values. It reads the newest boundary, brings outputs to
their calls, leaves out what the target cannot read, says the rest in the words of its API, and
asks that API's rules whether they are content. Nothing is done in silence: every departure
from the log is a :class:`~transcript_log.findings.Change`. Same entries, same details, same
target: same bytes.

Without a target only the first two steps are taken, and items stay in their own shapes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from . import items
from ._active import active_from
from ._collector import collector_paused
from ._hosted import PAUSES, is_paused, without_lonely_hosted
from ._pairing import (
    LIMITS,
    STAND_IN_BEGAN,
    STAND_IN_FINISHED,
    STAND_IN_NEVER_BEGAN,
    STAND_IN_UNKNOWN,
    Order,
    drop_reasoning,
    pair,
)
from ._pieces import Piece, Why
from .apis import Api, api_for
from .apis._base import Notes, has_surrogate, with_clean_text
from .boundary import (
    SUMMARY_PREFIX,
    SUMMARY_SUFFIX,
    first_kept,
    in_place,
    is_last_word,
    newest_compaction,
    summary_message,
)
from .entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Entry,
    Item,
    Json,
    MessageEntry,
)
from .errors import BoundaryError, ContextError, EntryNotFoundError, StrictContextError
from .families import Target
from .findings import Change, ChangeKind, Finding
from .items.portable import portable_part, without_thinking
from .items.shapes import blocks_of, is_from_model, is_message, is_thinking, user_item, without_blocks

__all__ = [
    "STAND_IN_BEGAN",
    "STAND_IN_FINISHED",
    "STAND_IN_NEVER_BEGAN",
    "STAND_IN_UNKNOWN",
    "SUMMARY_PREFIX",
    "SUMMARY_SUFFIX",
    "Context",
    "ContextRow",
    "Why",
    "build_context",
    "context_at",
    "context_then",
    "live_rows",
    "weigh",
]

Details = Mapping[tuple[str, str | None], Json]

_TELLING: Final = PAUSES | LIMITS
"""Why a response ended, where that changes what is sent of it."""

IMAGE_TOKENS: Final = 1500
"""What one picture weighs, in tokens, whatever its size in bytes."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One item of a context, and where it comes from.

    Attributes:
        item: The item that is sent.
        entry: The first entry that it was made from; None if it was made from none.
        entries: All of them.
        why: Why it is there; see :data:`Why`.
    """

    item: Item
    entry: str | None
    entries: tuple[str, ...]
    why: Why

    __hash__ = None  # type: ignore[assignment]  # items are dicts


class Context:
    """What a model is sent, and how it came about.

    Attributes:
        items: The items, in order. Those that needed no change are the very objects of the
            entries; none may be changed.
        changes: Every way in which they depart from the log, in the order of the steps.
        head: The id of the last entry that was looked at; ``""`` for none.
        target: Where they are to be sent; None: nowhere yet.
        paused: The last item is of a turn that the provider paused: send it back as it is, and
            add no message of the user.
        stand_ins: The outputs that were made up for it, as they would be stored: in the shape of
            the calls, each with the entry that holds its call.
    """

    __slots__ = ("_live", "_pieces", "_size", "changes", "head", "items", "paused", "stand_ins", "target")

    def __init__(
        self,
        pieces: Sequence[Piece],
        changes: Sequence[Change],
        *,
        live: Sequence[Entry] = (),
        head: str,
        target: Target | None,
        paused: bool = False,
        stand_ins: Sequence[ContextRow] = (),
    ) -> None:
        self._pieces: Final = tuple(pieces)
        self.items: Final[list[Item]] = [piece.item for piece in pieces]
        self.changes: Final = tuple(changes)
        self._live: Final = live
        self._size: int | None = None
        self.head: Final = head
        self.target: Final = target
        self.paused: Final = paused
        self.stand_ins: Final = tuple(stand_ins)

    @property
    def size(self) -> int:
        """About how many tokens the items take.

        What the provider last counted for this family since the boundary, and by :func:`weigh`
        what came after that; all by weight, where nothing was counted.
        """
        if self._size is None:
            self._size = _measured(self._pieces, self._live, self.target)
        return self._size

    @property
    def rows(self) -> tuple[ContextRow, ...]:
        """Of each item where it comes from, and why it is there."""
        return _rows(self._pieces)

    def __repr__(self) -> str:
        where = "no target" if self.target is None else self.target.family
        return f"<Context of {len(self.items)} items for {where}, {len(self.changes)} changes>"


# ---------------------------------------------------------------------------- the steps


def build_context(
    entries: Sequence[Entry],
    target: Target | None = None,
    *,
    details: Details | None = None,
    strict: bool = False,
    attachments: bool = False,
) -> Context:
    """The context that a log gives a model.

    Args:
        entries: A whole log, or what its store's ``active()`` gives.
        target: Where it is sent; None: items stay in their own shapes, and private ones stay.
        details: The sidecar's payloads. They only word stand-ins.
        strict: Refuse a history that the boundary or the pairing would have to change, also
            where that is for a replacement that the target cannot read.
        attachments: Place the context entries of the highest epoch.

    Raises:
        BoundaryError: Strict, and the newest compaction keeps from no earlier message.
        StrictContextError: Strict, and the boundary or the calls and outputs need another change.
        ContextError: The API would still refuse it, as one without any message.
        TargetError: The target's API is not known here.
    """
    with collector_paused():
        return _built(entries, target, details, strict=strict, attachments=attachments)


def _built(
    entries: Sequence[Entry],
    target: Target | None,
    details: Details | None,
    *,
    strict: bool,
    attachments: bool,
) -> Context:
    api = None if target is None else api_for(target)
    live = entries[active_from(entries) :]
    pieces, changes = _boundary(live, target, strict=strict)
    head = entries[-1].id if entries else ""
    if (
        api is not None
        and target is not None
        and not (changes or attachments)
        and not any(piece.stand_in for piece in pieces)  # they go where they went when they were made
        and _is_ready(pieces, api, target)
    ):
        return _context(pieces, (), live, target, head)
    made: list[Piece] = []
    pieces, more = _paired(pieces, None if api is None else api.order, details, made)
    if strict and more:
        raise StrictContextError(more[0])
    changes += more
    if api is not None and target is not None and more and not attachments and _is_ready(pieces, api, target):
        return _context(pieces, changes, live, target, head, made=made)
    if attachments:
        pieces, more = _attached(pieces, live)
        changes += more
        pieces, more = without_lonely_hosted(pieces)  # a paused turn may no longer be last
        changes += more
    if api is None or target is None:
        return _context(pieces, changes, live, target, head, made=made)
    notes = Notes()
    notes.changes.extend(changes)
    pieces = _readable(pieces, target, notes)
    pieces, more = without_lonely_hosted(pieces)  # its halves may be of two families
    notes.changes.extend(more)
    paused = bool(pieces) and is_paused(pieces[-1])
    last = pieces[-1].sources if paused else None
    odd = [piece for piece in pieces if piece.item.get("role") == "function"]
    pieces = api.render(pieces, notes, paused=paused)
    _tell_functions(odd, pieces, notes)
    paused = bool(pieces) and pieces[-1].sources == last
    found = _faults(pieces, api, paused)
    if any(finding.rule == "surrogate" for finding in found):
        pieces = _encodable(pieces, notes)
        found = _faults(pieces, api, paused)
    if found:
        raise ContextError(target.api, [replace(finding, advice="") for finding in found])
    gone = {id(change.item) for change in notes.changes if change.kind == "left-out"}
    made = [piece for piece in made if id(piece.item) not in gone]
    return _context(pieces, notes.changes, live, target, head, paused=paused, made=made)


def _tell_functions(given: Sequence[Piece], made: Sequence[Piece], notes: Notes) -> None:
    """Tell of outputs of the first functions of Chat, which have no ids, that go as the user's messages."""
    if not given:
        return
    kept = {name for piece in made if piece.item.get("role") == "function" for name in piece.sources}
    sent = {name for piece in made for name in piece.sources} - kept
    for piece in given:
        if sent.issuperset(piece.sources):
            notes.add("rewritten", "role", "the function message goes as the user's", piece, item=piece.item)


def _faults(pieces: Sequence[Piece], api: Api, paused: bool) -> list[Finding]:
    """The rules that pieces break."""
    found = api.check([piece.item for piece in pieces], paused=paused)
    return [finding for finding in found if finding.severity != "note"]


def live_rows(entries: Sequence[Entry], target: Target | None = None) -> tuple[ContextRow, ...]:
    """The items that the newest boundary leaves, as they are stored: step 1 alone."""
    pieces, _ = _boundary(entries[active_from(entries) :], target, strict=False)
    return _rows(pieces)


def context_at(
    entries: Sequence[Entry],
    entry_id: str,
    target: Target | None = None,
    *,
    details: Details | None = None,
    strict: bool = False,
    attachments: bool = False,
) -> Context:
    """The context as it was when the entry with this id was the last one.

    The sidecar does not say when it learned of a call. What it has of one that was answered
    later is taken to have come with that answer, and so is left aside.

    Raises:
        EntryNotFoundError: There is no such entry.
        TranscriptError: As :func:`build_context`.
    """
    for at, entry in enumerate(entries):
        if entry.id == entry_id:
            count = at + 1
            # What was made up for that context was put on record next, with what it was answered.
            while count < len(entries) and getattr(entries[count], "stand_in", False):
                count += 1
            return context_then(
                entries, count, target, details=details, strict=strict, attachments=attachments
            )
    raise EntryNotFoundError(entry_id, "the entries given")


def context_then(
    entries: Sequence[Entry],
    count: int,
    target: Target | None = None,
    *,
    details: Details | None = None,
    strict: bool = False,
    attachments: bool = False,
) -> Context:
    """The same as it was when the log had so many entries; see :func:`context_at`."""
    known = _known_then(details, entries[count:])
    return build_context(entries[:count], target, details=known, strict=strict, attachments=attachments)


def _known_then(details: Details | None, later: Sequence[Entry]) -> Details | None:
    """Details without those of calls that were answered later."""
    if not details:
        return details
    answered = {
        output.id
        for entry in later
        if isinstance(entry, MessageEntry)
        for output in items.tool_outputs(entry.message)
    }
    return {key: payload for key, payload in details.items() if key[0] not in answered}


def _context(
    pieces: Sequence[Piece],
    changes: Sequence[Change],
    live: Sequence[Entry],
    target: Target | None,
    head: str,
    *,
    paused: bool | None = None,
    made: Sequence[Piece] = (),
) -> Context:
    if paused is None:
        paused = bool(pieces) and is_paused(pieces[-1])
    stand_ins = _rows(made)
    return Context(pieces, changes, live=live, head=head, target=target, paused=paused, stand_ins=stand_ins)


def _rows(pieces: Sequence[Piece]) -> tuple[ContextRow, ...]:
    return tuple(ContextRow(p.item, p.entry, p.sources, p.why) for p in pieces)


# ---------------------------------------------------------------------- 1. the boundary


def _boundary(
    live: Sequence[Entry], target: Target | None, *, strict: bool
) -> tuple[list[Piece], list[Change]]:
    """What the newest boundary leaves, each message a piece."""
    changes: list[Change] = []
    head: list[Piece] = []
    at = newest_compaction(live)
    while at is not None:
        entry = live[at]
        assert isinstance(entry, CompactionEntry)
        head = _in_place_of(entry, target, changes)
        if head or is_last_word(entry.compaction):
            break
        changes.append(
            Change(
                kind="left-out",
                rule="empty-boundary",
                message="nothing of the compaction can be sent, so the one before it counts",
                entry=entry.id,
            )
        )
        at = newest_compaction(live, at)
    if strict and changes:
        raise StrictContextError(changes[0])
    if at is None:
        return _pieces(live, 0), changes
    try:
        start = first_kept(live, at)
    except BoundaryError as error:
        if strict:
            raise
        message = f"{error}: only what follows the compaction is kept"
        changes.append(Change(kind="left-out", rule="first-kept", message=message, entry=live[at].id))
        start = at
    kept = [*_pieces(live[start:at], 1), *_pieces(live[at:], 0)]
    _mark_cut(kept)
    return [*head, *kept], changes


def _in_place_of(entry: CompactionEntry, target: Target | None, changes: list[Change]) -> list[Piece]:
    """What stands for what was compacted; nothing, if none of it can be sent."""
    compaction = entry.compaction
    whole = [Piece(item, (entry.id,), "replacement", compaction.family) for item in in_place(compaction)]
    if target is None or target.can_read(compaction.family):
        portable = whole
    else:
        portable = [
            piece if part is piece.item else piece.now(part, "replacement")
            for piece in whole
            if (part := portable_part(piece.item)) is not None
        ]
    is_whole = len(portable) == len(whole) and all(a is b for a, b in zip(portable, whole, strict=True))
    if whole and is_whole:
        return whole
    if whole:
        changes.append(
            Change(
                kind="left-out",
                rule="private",
                message=f"in the replacement {_for_others(compaction.family)}",
                entry=entry.id,
            )
        )
    summary = _summary(compaction, target)
    return portable if summary is None else [Piece(summary, (entry.id,), "summary"), *portable]


def _summary(compaction: Compaction, target: Target | None) -> Item | None:
    """The message that tells a model of a summary; None where there is none to tell of."""
    if target is None:
        return summary_message(compaction.summary) if compaction.summary else None
    if not compaction.summary.strip():
        return None
    return user_item(SUMMARY_PREFIX + compaction.summary + SUMMARY_SUFFIX)


def _pieces(entries: Sequence[Entry], old: int) -> list[Piece]:
    """A piece for each message."""
    is_old = bool(old)
    made = []
    finish: str | None = None
    for entry in entries:
        if isinstance(entry, MessageEntry):
            response = entry.response
            if response is not None:
                # Of the others no step makes anything, and most responses end in one of those.
                finish = response.finish_reason if response.finish_reason in _TELLING else None
            elif finish is not None and not is_from_model(entry.message):
                finish = None
            made.append(
                Piece(
                    entry.message,
                    (entry.id,),
                    "kept",
                    entry.family,
                    entry.stand_in,
                    response is not None,
                    finish,
                    False,
                    entry.interrupted,
                    is_old,
                )
            )
    return made


def _mark_cut(kept: Sequence[Piece]) -> None:
    """Mark what may have lost its reasoning to the cut.

    What is kept may begin in the middle of a response. Whether reasoning stood before it,
    a log that is read from its boundary on does not tell.
    """
    for piece in kept:
        if piece.begins or not is_from_model(piece.item) or items.reasoning(piece.item):
            return
        piece.orphaned = True


# ------------------------------------------------------------------------- 2. the pairs


def _paired(
    pieces: Sequence[Piece], order: Order | None, details: Details | None, made: list[Piece]
) -> tuple[list[Piece], list[Change]]:
    """Without answers that were broken off, and with outputs at their calls."""
    kept: list[Piece] = []
    changes: list[Change] = []
    for piece in pieces:
        item = piece.item
        if piece.interrupted or (item.get("role") == "assistant" and items.is_aborted(item)):
            changes.append(
                Change(
                    kind="left-out",
                    rule="interrupted",
                    message="it was broken off or left aside: it is history, and no context",
                    entry=piece.entry,
                    item=item,
                )
            )
            if not is_message(item):
                changes += drop_reasoning(kept)
        else:
            kept.append(piece)
    kept, more = pair(kept, order, details, made=made)
    return kept, changes + more


def _attached(pieces: Sequence[Piece], live: Sequence[Entry]) -> tuple[list[Piece], list[Change]]:
    """With the attachments of the highest epoch about the conversation."""
    given = [entry for entry in live if isinstance(entry, ContextEntry)]
    epoch = max((entry.context.epoch for entry in given), default=0)
    newest: dict[tuple[str, str | None], ContextEntry] = {}
    for entry in given:
        if entry.context.epoch == epoch:
            key = (entry.context.kind, entry.context.path)
            newest.pop(key, None)
            newest[key] = entry
    before: list[Piece] = []
    after: list[Piece] = []
    changes: list[Change] = []
    for entry in newest.values():
        context = entry.context
        if not context.rendered.strip():
            changes.append(_about(context, entry.id, "left-out", "the attachment is blank"))
            continue
        piece = Piece(user_item(context.rendered), (entry.id,), "attachment")
        if context.placement == "prefix":
            before.append(piece)
            continue
        after.append(piece)
        if context.placement != "after-current":
            why = f"the placement {context.placement!r} is not known: it stands after the conversation"
            changes.append(_about(context, entry.id, "moved", why))
    return [*before, *pieces, *after], changes


def _about(context: ContextAttachment, entry: str, kind: ChangeKind, message: str) -> Change:
    return Change(kind=kind, rule="attachment", message=f"{context.attachment_id}: {message}", entry=entry)


# ------------------------------------------------------------------- 3. what can be read


def _readable(pieces: Sequence[Piece], target: Target, notes: Notes) -> list[Piece]:
    """Without what the target cannot read; what came with reasoning that goes is marked."""
    out: list[Piece] = []
    is_bound = target.binds_to_prefix
    readable = {family for family in {piece.family for piece in pieces} if target.can_read(family)}
    lost = False
    gone: list[Item] = []
    for piece in pieces:
        item = piece.item
        part: Item | None = item
        why = ""
        if piece.family not in readable:
            part = portable_part(item)
            why = _for_others(piece.family)
        elif is_bound and piece.old:
            part = without_thinking(item)
            why = "thinking from before the compaction would be refused"
        if part is item:
            lost = lost and is_from_model(item)
            out.append(piece.alone() if lost else piece)
            continue
        notes.add("left-out" if part is None else "rewritten", "private", why, piece, item=item)
        if part is None:
            lost = True
            gone.append(item)
        else:
            left = piece.now(part, "mended")
            out.append(left.alone() if is_from_model(item) else left)
    halves = [item for item in gone if any(items.calls_and_outputs(item))]
    return _without_halves(pieces, out, halves, notes) if halves else out


def _for_others(family: str | None) -> str:
    """Why private content goes."""
    if family is None:
        return "what is private goes: nobody said who can read it"
    return f"what is private goes: {family} alone can read it"


def _without_halves(
    pieces: Sequence[Piece], left: Sequence[Piece], gone: Sequence[Item], notes: Notes
) -> list[Piece]:
    """Without a call whose output is gone, or the other way round: each has a family of its own."""
    others: dict[int, Item] = {}
    asked: dict[tuple[str, str | None], deque[Item]] = {}
    for piece in pieces:
        calls, outputs = items.calls_and_outputs(piece.item)
        for output in outputs:
            waiting = asked.get((output.kind, output.id))
            if waiting:
                other = waiting.popleft()
                others[id(other)] = piece.item
                others[id(piece.item)] = other
        for call in calls:
            asked.setdefault((call.kind, call.id), deque()).append(piece.item)
    lonely = {id(others[id(item)]) for item in gone if id(item) in others}
    out = []
    for piece in left:
        if id(piece.item) in lonely:
            why = "its other half can be read by another family alone"
            notes.add("left-out", "private", why, piece, item=piece.item)
        else:
            out.append(piece)
    return out


def _is_ready(pieces: Sequence[Piece], api: Api, target: Target) -> bool:
    """Whether the API takes the pieces as they are: then no step has anything to do."""
    paused = bool(pieces) and is_paused(pieces[-1])
    # What is of another shape breaks a rule at once.
    found = api.check([piece.item for piece in pieces], paused=paused)
    if any(finding.severity != "note" for finding in found):
        return False
    readable = {family for family in {piece.family for piece in pieces} if target.can_read(family)}
    is_bound = target.binds_to_prefix
    for piece in pieces:
        if piece.interrupted or (piece.orphaned and "id" in piece.item):
            return False
        if piece.family not in readable and portable_part(piece.item) is not piece.item:
            return False
        if is_bound and piece.old and without_thinking(piece.item) is not piece.item:
            return False
    return True


# --------------------------------------------------------------------------- 5. to bytes


def _encodable(pieces: Sequence[Piece], notes: Notes) -> list[Piece]:
    """With U+FFFD in the place of half characters."""
    out = []
    for piece in pieces:
        # Signed thinking cannot be mended: the signature is of every letter.
        broken = {
            at
            for at, block in enumerate(blocks_of(piece.item))
            if is_thinking(block) and has_surrogate(block)
        }
        kept = without_blocks(piece.item, broken) if broken else piece.item
        if broken:
            why = "thinking with half a character in it"
            notes.add("left-out", "surrogate", why, piece, item=piece.item)
        if kept is None:
            continue
        item = with_clean_text(kept)
        if item is not kept:
            notes.add("rewritten", "surrogate", "half characters go as U+FFFD", piece)
        out.append(piece if item is piece.item else piece.now(item, "mended"))
    return out


# ---------------------------------------------------------------------------- the size


def weigh(item: Item) -> int:
    """About how many tokens an item takes: a quarter of its JSON's bytes, pictures flat."""
    try:
        size = len(orjson.dumps(item))
    except TypeError:  # half a character, or a number past 64 bits
        size = len(repr(item))
    if size < _SMALL:
        return (size + 3) // 4
    shown = items.images(item)
    size -= sum(picture.size_bytes * 4 // 3 for picture in shown)
    return (max(size, 0) + 3) // 4 + IMAGE_TOKENS * len(shown)


_SMALL: Final = 256
"""What has fewer bytes holds no picture of its own."""


def _measured(pieces: Sequence[Piece], live: Sequence[Entry], target: Target | None) -> int:
    """The last usage that a model of this family told since the boundary, and a weigh of the rest."""
    told, measured = _last_usage(live, target, {source for piece in pieces for source in piece.sources})
    rest = len(pieces)
    while rest and told.isdisjoint(pieces[rest - 1].sources):
        rest -= 1
    return measured + sum(weigh(piece.item) for piece in pieces[rest:])


def _last_usage(live: Sequence[Entry], target: Target | None, sent: set[str]) -> tuple[set[str], int]:
    """The entries of the last response with a usage, and how many tokens the context had with it.

    One of which nothing is sent, such as a broken-off one, tells nothing of what is.
    """
    since: list[MessageEntry] = []
    for entry in reversed(live):
        if isinstance(entry, CompactionEntry):
            break
        if not isinstance(entry, MessageEntry):
            continue
        since.append(entry)
        usage = None if entry.response is None else entry.response.usage
        if usage is None or (target is not None and entry.family != target.family):
            continue
        tokens = usage.input + usage.cache_read + usage.cache_write + usage.output
        if tokens:
            ids = set()
            for later in reversed(since):
                if later is not entry and (later.response is not None or not is_from_model(later.message)):
                    break
                ids.add(later.id)
            if ids & sent:
                return ids, tokens
    return set(), 0
