"""A log as the message history of a framework: what is added to it, and what is read of it.

Nothing is ever taken out of a log. What stands in the newest boundary's place, and all after
it, is the history; a message that the framework itself added comes back in its own form, and
what others added as what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Generic, Protocol, TypeVar

from .. import items
from ..boundary import NOTHING
from ..codec import outcome_payload
from ..context import ContextRow, build_context, live_rows
from ..entries import (
    Compaction,
    CompactionEntry,
    Detail,
    Entry,
    Item,
    Json,
    MessageEntry,
    ResponseRecord,
    ToolOutcome,
    new_compaction,
    new_message,
)
from ..findings import Change
from ..items.shapes import Shape, shape_of
from ..session import LogView
from ..session.recording import request_detail
from ..store import DetailKey
from ._kept import Texts, folded, unfolded
from ._speech import Block, Call, Hosted, Other, Output, Speech, Thought, output_item, said

__all__ = [
    "Draft",
    "DraftItem",
    "Kept",
    "Reading",
    "Spoken",
    "clearing",
    "drafted",
    "provider_of",
    "read_pieces",
    "recalled",
    "unsaid",
    "why_unsaid",
]

M = TypeVar("M")


# ------------------------------------------------------------------------------- adding


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftItem:
    """One item of a message that is to be added.

    Attributes:
        said: The item; or an output, which gets the shape of its call.
        family: Who can read what is private in it.
        response: The response that begins with it.
        request: What was sent beside the items of that response, if anything is known of it.
        interrupted: It is history, and no context.
        outcome: How the call ended that it answers.
    """

    said: Item | Output
    family: str | None = None
    response: ResponseRecord | None = None
    request: Json = None
    interrupted: bool = False
    outcome: ToolOutcome | None = None

    __hash__ = None  # type: ignore[assignment]  # items are dicts


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is to be added: the framework's own JSON of it, and the items that say it."""

    form: Json
    items: Sequence[DraftItem]
    timestamp: datetime | None = None

    __hash__ = None  # type: ignore[assignment]  # items are dicts


@dataclass(frozen=True, slots=True)
class _Holder:
    """The entry that holds a call, and the shape in which the call is answered."""

    entry: str | None
    family: str | None
    call: items.ToolCallPart | None
    shape: Shape


def drafted(view: LogView, name: str, drafts: Sequence[Draft]) -> tuple[list[Entry], list[Detail]]:
    """The batch that adds messages to a log.

    Args:
        view: The log.
        name: The framework.
        drafts: The messages, in their order.
    """
    entries: list[Entry] = []
    details: list[Detail] = []
    texts: Texts = {}
    holders = _holders(view.entries, drafts)
    for draft in drafts:
        made = [_entry(view, one, draft.timestamp, holders, details) for one in draft.items]
        form = folded(draft.form, [entry.message for entry in made], texts)
        data = {"entries": [entry.id for entry in made], "message": form}
        details.append(Detail(id=_form_id(name), entry=made[0].id, payload={"kind": name, "data": data}))
        entries += made
    details += (
        Detail(id=f"text:{digest}", payload={"kind": "text", "data": text}) for digest, text in texts.items()
    )
    shared = {(one.id, one.entry): one for one in details if one.entry is None}
    known = [one for one in details if one.entry is not None]
    return entries, [*known, *(one for key, one in shared.items() if key not in view.details)]


def clearing(view: LogView) -> tuple[list[Entry], list[Detail]]:
    """The batch after which no message is in the history; empty where none is now."""
    if not any(_counts(row) for row in live_rows(view.entries)):
        return [], []
    made = Compaction(summary="", replacement=(NOTHING,))
    return [new_compaction(made, clock=view.clock, id_source=view.new_id)], []


def _counts(row: ContextRow) -> bool:
    return row.why != "replacement" or bool(items.parts(row.item))


def _entry(
    view: LogView,
    draft: DraftItem,
    timestamp: datetime | None,
    holders: dict[str, _Holder],
    details: list[Detail],
) -> MessageEntry:
    """The entry of an item; what is told beside it goes to the details."""
    response, family, item = draft.response, draft.family, draft.said
    if isinstance(item, Output):
        holder = holders.get(item.id, _NO_HOLDER)
        if draft.outcome is not None and holder.entry is not None:
            payload = outcome_payload(draft.outcome)
            details.append(Detail(id=item.id, entry=holder.entry, payload=payload))
        family = family or holder.family
        item = output_item(item, holder.call, holder.shape)
    if response is not None and draft.request is not None:
        request = request_detail(draft.request)
        details.append(request)
        response = replace(response, request=request.id.removeprefix("request:"))
    entry = new_message(
        item,
        family=family,
        response=response,
        interrupted=draft.interrupted,
        clock=view.clock,
        id_source=view.new_id,
    )
    if timestamp is not None and timestamp.tzinfo is not None:
        entry = replace(entry, timestamp=timestamp.astimezone(UTC))
    holders.update(_held(entry))
    return entry


_NO_HOLDER: Final = _Holder(None, None, None, "chat")


def _held(entry: MessageEntry) -> Iterator[tuple[str, _Holder]]:
    for call in items.tool_calls(entry.message):
        if call.id is not None:
            yield call.id, _Holder(entry.id, entry.family, call, shape_of(entry.message))


def _holders(entries: Sequence[Entry], drafts: Sequence[Draft]) -> dict[str, _Holder]:
    """The newest entry of the log for each call that is answered."""
    wanted = {one.said.id for draft in drafts for one in draft.items if isinstance(one.said, Output)}
    found: dict[str, _Holder] = {}
    for entry in reversed(entries):
        if wanted <= found.keys():
            break
        if isinstance(entry, MessageEntry):
            for call_id, holder in _held(entry):
                if call_id in wanted:
                    found.setdefault(call_id, holder)
    return found


def _form_id(name: str) -> str:
    return f"form:{name}"


# ------------------------------------------------------------------------------ reading


@dataclass(frozen=True, slots=True)
class Kept(Generic[M]):
    """A message in the form in which the framework added it."""

    message: M

    __hash__ = None  # type: ignore[assignment]  # it may be anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What an item says that the framework did not add, or that is no longer in its form.

    Attributes:
        speech: What it says.
        item: The item.
        place: The entry that it is of, or the compaction that put it there.
        timestamp: When that was made; None where nobody knows.
        family: Who can read what is private in it.
        response: The response that begins with it.
        is_stand_in: It was made up for an output that nobody recorded.
    """

    speech: Speech
    item: Item
    place: str | None
    timestamp: datetime | None
    family: str | None
    response: ResponseRecord | None
    is_stand_in: bool

    __hash__ = None  # type: ignore[assignment]  # items are dicts


class Reading(Protocol[M]):
    """How a framework's messages are made of a history, piece by piece."""

    @property
    def messages(self) -> list[M]: ...

    @property
    def changes(self) -> list[Change]: ...

    def take(self, message: M) -> None:
        """A message of the framework's own."""

    def answer(self, piece: Spoken) -> None:
        """What a model said."""

    def ask(self, piece: Spoken) -> None:
        """What anybody else said."""

    def end(self) -> None:
        """Nothing more comes."""


def read_pieces(pieces: Sequence[Kept[M] | Spoken], reading: Reading[M]) -> tuple[list[M], list[Change]]:
    """The messages of a history, and what of it none of them says."""
    for piece in pieces:
        if isinstance(piece, Kept):
            reading.take(piece.message)
        elif piece.speech.speaker == "assistant":
            reading.answer(piece)
        else:
            reading.ask(piece)
    reading.end()
    return reading.messages, reading.changes


@dataclass(frozen=True, slots=True)
class _Group(Generic[M]):
    message: M
    entries: tuple[str, ...]
    begin: int

    __hash__ = None  # type: ignore[assignment]  # it may be anything


def recalled(
    entries: Sequence[Entry],
    details: Mapping[DetailKey, Json],
    name: str,
    load: Callable[[Json], M],
) -> tuple[list[Kept[M] | Spoken], list[Change]]:
    """The history that a log gives a framework, and what in it is not as the log has it.

    What others added is read as a context without a target is made: outputs at their calls, a
    stand-in for a call that nobody answered, nothing that was broken off. Messages of the
    framework's own stay as they were added, whatever that is.

    Args:
        entries: The whole log.
        details: The payloads beside it.
        name: The framework.
        load: Makes a message of its JSON; raises ValueError, TypeError or LookupError if it cannot.
    """
    rows = live_rows(entries)
    changes: list[Change] = []
    by_id = {entry.id: entry for entry in entries}
    texts: Texts = {
        key.removeprefix("text:"): str(payload.get("data"))
        for (key, _), payload in details.items()
        if key.startswith("text:") and type(payload) is dict
    }
    groups = [*_groups(rows, by_id, details, name, load, texts, changes)]
    own = {entry for group in groups for entry in group.entries}
    if all(row.entry in own or not _counts(row) for row in rows):
        return [Kept(group.message) for group in groups], changes
    context = build_context(entries, None, details=details)
    changes += [change for change in context.changes if change.entry not in own]
    changes += _repeated(rows, details, name)
    places = {source: n for n, row in reversed([*enumerate(context.rows)]) for source in row.entries}
    found: list[tuple[int, int, Kept[M] | Spoken]] = [
        (_place(group, rows, places, len(context.rows)), 0, Kept(group.message)) for group in groups
    ]
    for number, row in enumerate(context.rows):
        if row.entry not in own and _counts(row):
            found.append((number, 1, _spoken(row, by_id.get(row.entry or ""))))
    found.sort(key=lambda one: one[:2])
    return [one for _, _, one in found], changes


def _repeated(rows: Sequence[ContextRow], details: Mapping[DetailKey, Json], name: str) -> Iterator[Change]:
    """What tells that messages stand in the replacement of a compaction, where they have no form."""
    if any(key == _form_id(name) for key, _ in details):
        for place in dict.fromkeys(row.entry for row in rows if row.why == "replacement" and _counts(row)):
            why = f"what it repeats has no longer the form that {name} gave it: it is read anew"
            yield Change(kind="rewritten", rule="form", message=why, entry=place)


def _spoken(row: ContextRow, entry: Entry | None) -> Spoken:
    """What a row of a context says."""
    message = entry if isinstance(entry, MessageEntry) and row.why != "stand-in" else None
    family = entry.family if isinstance(entry, MessageEntry) else None
    if isinstance(entry, CompactionEntry):
        family = entry.compaction.family
    return Spoken(
        speech=said(row.item),
        item=row.item,
        place=row.entry,
        timestamp=None if entry is None else entry.timestamp,
        family=family,
        response=None if message is None else message.response,
        is_stand_in=row.why == "stand-in" or (message is not None and message.stand_in),
    )


def _groups(
    rows: Sequence[ContextRow],
    by_id: Mapping[str, Entry],
    details: Mapping[DetailKey, Json],
    name: str,
    load: Callable[[Json], M],
    texts: Mapping[str, str],
    changes: list[Change],
) -> Iterator[_Group[M]]:
    """The messages that stand in their own form, and whole."""
    at = 0
    while at < len(rows):
        row = rows[at]
        payload = details.get((_form_id(name), row.entry)) if row.why == "kept" else None
        data = payload.get("data") if type(payload) is dict and payload.get("kind") == name else None
        at += 1
        if type(data) is not dict:
            continue
        try:
            ids = [*data["entries"]]
            if not ids or [one.entry for one in rows[at - 1 : at - 1 + len(ids)]] != ids:
                raise ValueError("not all of it is there")
            held = [one.message for key in ids if isinstance(one := by_id[key], MessageEntry)]
            form = unfolded(data["message"], held, texts)
            message = load(form)
        except (LookupError, TypeError, ValueError) as error:
            why = f"the form that {name} gave it cannot be read ({type(error).__name__}): it is read anew"
            changes.append(Change(kind="rewritten", rule="form", message=why, entry=row.entry))
            continue
        yield _Group(message, tuple(ids), at - 1)
        at += len(ids) - 1


def _place(group: _Group[M], rows: Sequence[ContextRow], places: Mapping[str, int], end: int) -> int:
    """Where in a context a message stands: with its first row there, else before what follows."""
    for row in rows[group.begin :]:
        if row.entry is not None and row.entry in places:
            return places[row.entry]
    return end


_PROVIDERS: Final = {
    "openai-responses": "openai",
    "openai-chat": "openai",
    "anthropic-messages": "anthropic",
    "deepseek-chat": "deepseek",
}


def provider_of(family: str | None) -> str | None:
    """The provider that a family names, in the words of frameworks; None where it names none."""
    if family is None:
        return None
    api, platform, *_ = [*family.split("/"), "direct"]
    return _PROVIDERS.get(api) if platform == "direct" else platform


def unsaid(spoken: Spoken, what: str) -> Change:
    """The change that tells of something in an item that a framework has no form for."""
    return Change(kind="left-out", rule="form", message=what, entry=spoken.place, item=spoken.item)


def why_unsaid(block: Block) -> str:
    """Why a block is left out."""
    match block:
        case Hosted(name=name):
            return f"{name!r} was run by the provider, and has no form here"
        case Other(block={"type": str(kind)}):
            return f"a part of type {kind!r} has no form here"
        case Thought() | Call():
            return "a call, or what was thought, in a message that is no model's"
        case _:
            return "what it shows is not there"
