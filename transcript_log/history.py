"""The display projection: what a person sees of a session.

Entries become events, in the order of the log. Nothing is left out and nothing is made up:
a message gives an event for each thing it holds, a tool output stands with its call, or
where it is if no call takes it, and what a response took stands behind what it said.
``replay`` shows events; :func:`history_json` spells them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, assert_never

from . import items
from .boundary import in_place, is_last_word
from .codec import read_outcome, read_started
from .entries import (
    CompactionEntry,
    ContextEntry,
    Entry,
    Json,
    MessageEntry,
    OpaqueEntry,
    RunEntry,
)
from .events import (
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
    history_json,
)
from .items import ImagePart
from .items.nameless import NamelessIds
from .items.shapes import is_from_model
from .stats import Ledger

__all__ = [
    "Attached",
    "Called",
    "Compacted",
    "Event",
    "History",
    "HostedCall",
    "OutputWithoutCall",
    "Ran",
    "Reasoned",
    "RepeatedOutput",
    "Responded",
    "Said",
    "Unknown",
    "UnknownItem",
    "build_calls",
    "build_history",
    "history_json",
]


@dataclass(frozen=True, slots=True)
class History:
    """What happened, in order, and how many user turns it has."""

    events: tuple[Event, ...]
    turns: int

    __hash__ = None  # type: ignore[assignment]  # calls hold dicts


Details: TypeAlias = Mapping[tuple[str, str | None], Json]
"""Sidecar payloads by call id and the id of the entry that holds the call, or None for any."""

_NO_DETAILS: Final[Details] = {}


# ------------------------------------------------------------------------------- pairing


@dataclass(slots=True, eq=False)
class _Output:
    """An output where it stands, until it is known which call takes it."""

    entry: MessageEntry
    turn: int
    part: items.ToolOutputPart
    call: _Call | None = None
    counts: bool = False


@dataclass(slots=True, eq=False)
class _Call:
    """A call where it stands, and the output that counts for it."""

    entry: MessageEntry
    turn: int
    part: items.ToolCallPart
    output: _Output | None = None


@dataclass(slots=True, eq=False)
class _Group:
    """The calls of one id in one run of adjacent calls, and the outputs that belong to them."""

    number: int
    calls: list[_Call] = field(default_factory=list)
    outputs: list[_Output] = field(default_factory=list)

    def deal(self) -> None:
        """Give the outputs to the calls in order; a surplus replaces the last one's output.

        A stand-in that is published is not replaced: what came later was made from it.
        """
        for index, output in enumerate(self.outputs):
            call = output.call = self.calls[min(index, len(self.calls) - 1)]
            if call.output is not None:
                if call.output.entry.stand_in:
                    continue
                call.output.counts = False
            call.output = output
            output.counts = True


@dataclass(slots=True, eq=False)
class _Answer:
    """A response, by its first entry, or by the compaction whose summary it is."""

    entry: MessageEntry | CompactionEntry
    turn: int

    def goes_on_with(self, entry: Entry) -> bool:
        """Whether what stands next in the log is of this response too."""
        if not isinstance(entry, MessageEntry) or entry.stand_in or not is_from_model(entry.message):
            return False
        mine = self.entry.response if isinstance(self.entry, MessageEntry) else None
        theirs = entry.response
        return theirs is None or (mine is not None and mine.id is not None and mine.id == theirs.id)


class _Pairing:
    """Calls and outputs over the whole list, paired by id in linear time.

    An output belongs to the nearest earlier group of calls that holds its id, else to the
    next one.
    """

    def __init__(self) -> None:
        self._latest: dict[Hashable, _Group] = {}
        self._early: dict[Hashable, list[_Output]] = {}
        self._groups: list[_Group] = []

    def call(self, call: _Call, group: int) -> None:
        key = self._key(call.part)
        if key is None:
            return
        latest = self._latest.get(key)
        if latest is None or latest.number != group:
            latest = _Group(group, outputs=self._early.pop(key, []))
            self._latest[key] = latest
            self._groups.append(latest)
        latest.calls.append(call)

    def output(self, output: _Output) -> None:
        key = self._key(output.part)
        if key is None:
            return
        latest = self._latest.get(key)
        if latest is None:
            self._early.setdefault(key, []).append(output)
        else:
            latest.outputs.append(output)

    def deal(self) -> None:
        for group in self._groups:
            group.deal()

    @staticmethod
    def _key(part: items.ToolCallPart | items.ToolOutputPart) -> Hashable | None:
        if part.kind == items.HOSTED and part.id is None:
            return (items.HOSTED, part.name)  # A server may name no id on either side.
        return part.id


# ------------------------------------------------------------------------------ building


def build_history(entries: Iterable[Entry], details: Details | None = None) -> History:
    """The events of a session.

    Args:
        entries: In the order of the log.
        details: Sidecar payloads; one that names the call's entry goes before one that does not.
    """
    known = _NO_DETAILS if details is None else details
    pairing = _Pairing()
    nameless = NamelessIds()
    ledger = Ledger()
    slots: list[Event | _Call | _Output | _Answer] = []
    turn = group = 0
    answer: _Answer | None = None
    for entry in entries:
        if answer is not None and not answer.goes_on_with(entry):
            slots.append(answer)
            answer = None
        is_answer = ledger.add(entry)
        match entry:
            case MessageEntry(message=message):
                turn += items.is_user_turn(message)
                found = items.parts(message)
                if "parts" in message:  # of Gemini, whose calls may have no id
                    found = nameless.parts(found)
                group += not any(isinstance(part, items.ToolCallPart) for part in found)
                for slot in _unfold(entry, turn, found):
                    slots.append(slot)
                    if isinstance(slot, _Call):
                        pairing.call(slot, group)
                    elif isinstance(slot, _Output):
                        pairing.output(slot)
                if is_answer:
                    answer = _Answer(entry, turn)
            case ContextEntry():
                slots.append(_attached(entry, turn))
            case CompactionEntry():
                slots.append(_compacted(entry, turn))
                if is_answer:
                    slots.append(_Answer(entry, turn))
            case RunEntry():
                slots.append(_ran(entry, turn))
            case OpaqueEntry():
                slots.append(Unknown(entry=entry.id, time=entry.timestamp, turn=turn, type=entry.type))
            case _:
                assert_never(entry)
    if answer is not None:
        slots.append(answer)
    pairing.deal()
    runs = ledger.by_run()
    events: list[Event] = []
    for each in slots:
        match each:
            case _Call():
                events.append(_called(each, known))
            case _Output():
                if not each.counts:
                    events.append(_loose(each))
            case _Answer():
                events.append(_responded(each, ledger))
            case Ran() if each.entry in runs:
                events.append(replace(each, usage=runs[each.entry]))
            case _:
                events.append(each)
    return History(tuple(events), turn)


def build_calls(entries: Iterable[Entry], details: Details | None = None) -> list[Called | HostedCall]:
    """The calls alone of what :func:`build_history` gives, just so, in half the time."""
    known = _NO_DETAILS if details is None else details
    pairing = _Pairing()
    calls: list[_Call] = []
    turn = group = 0
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        message = entry.message
        if items.is_plain(message):
            turn += message.get("role") == "user"
            group += 1
            continue
        turn += items.is_user_turn(message)
        found = items.parts(message)
        group += not any(isinstance(part, items.ToolCallPart) for part in found)
        for part in found:
            if isinstance(part, items.ToolCallPart):
                call = _Call(entry, turn, part)
                calls.append(call)
                pairing.call(call, group)
            elif isinstance(part, items.ToolOutputPart):
                pairing.output(_Output(entry, turn, part))
    pairing.deal()
    return [_called(call, known) for call in calls]


def _unfold(
    entry: MessageEntry, turn: int, found: tuple[items.Part, ...]
) -> Iterator[Event | _Call | _Output]:
    """What a message gives, in its order. Text and pictures that stand together are one event."""
    message = entry.message
    speaker = items.role(message) or items.type_of(message) or ""
    texts: list[str] = []
    pictures: list[ImagePart] = []

    def said() -> Said:
        event = Said(
            entry=entry.id,
            time=entry.timestamp,
            turn=turn,
            role=speaker,
            text="\n".join(texts),
            images=tuple(pictures),
            invocation=entry.invocation,
            interrupted=entry.interrupted,
        )
        texts.clear()
        pictures.clear()
        return event

    for part in found:
        match part:
            case items.TextPart():
                texts.append(part.text)
                continue
            case items.ImagePart():
                pictures.append(part)
                continue
        if texts or pictures:
            yield said()
        match part:
            case items.ReasoningPart():
                yield Reasoned(
                    entry=entry.id, time=entry.timestamp, turn=turn, text=part.text, opaque=part.opaque
                )
            case items.ToolCallPart():
                yield _Call(entry, turn, part)
            case items.ToolOutputPart():
                yield _Output(entry, turn, part)
            case items.OtherPart():
                yield UnknownItem(
                    entry=entry.id,
                    time=entry.timestamp,
                    turn=turn,
                    type=part.type,
                    opaque=items.has_opaque(message),
                )
            case _:
                assert_never(part)
    if texts or pictures or not found:
        yield said()


def _attached(entry: ContextEntry, turn: int) -> Attached:
    context = entry.context
    return Attached(
        entry=entry.id,
        time=entry.timestamp,
        turn=turn,
        kind=context.kind,
        path=context.path,
        placement=context.placement,
        epoch=context.epoch,
        rendered=context.rendered,
    )


def _compacted(entry: CompactionEntry, turn: int) -> Compacted:
    compaction = entry.compaction
    return Compacted(
        entry=entry.id,
        time=entry.timestamp,
        turn=turn,
        summary=compaction.summary,
        first_kept=compaction.first_kept_entry_id,
        tokens_before=compaction.tokens_before,
        tokens_after=compaction.tokens_after,
        replacement_items=len(in_place(compaction)),
        opaque=any(items.has_opaque(item) for item in compaction.replacement),
        emptied=is_last_word(compaction)
        and not (in_place(compaction) or compaction.summary.strip() or compaction.first_kept_entry_id),
    )


def _ran(entry: RunEntry, turn: int) -> Ran:
    run = entry.run
    return Ran(
        entry=entry.id,
        time=entry.timestamp,
        turn=turn,
        started=run.started_at,
        completed=run.completed_at,
        duration=run.completed_at - run.started_at,
        status=run.status,
        first_entry=run.first_entry_id,
    )


def _responded(answer: _Answer, ledger: Ledger) -> Responded:
    entry = answer.entry
    spent = ledger.at(entry.id)
    assert spent is not None
    record = entry.response if isinstance(entry, MessageEntry) else None
    return Responded(
        entry=entry.id,
        time=entry.timestamp,
        turn=answer.turn,
        response=spent.response,
        provider=spent.provider,
        model=spent.model,
        usage=spent.usage,
        finish_reason=None if record is None else record.finish_reason,
        request=None if record is None else record.request,
        compaction=spent.compaction,
    )


def _called(call: _Call, details: Details) -> Called | HostedCall:
    part, output = call.part, call.output
    payload = _detail(details, part.id, call.entry.id)
    shown = None if output is None else items.output_text(output.part.content)
    images = () if output is None else items.output_images(output.part.content)
    if part.kind == items.HOSTED:
        return HostedCall(
            entry=call.entry.id,
            time=call.entry.timestamp,
            turn=call.turn,
            call_id=part.id,
            name=part.name,
            arguments=part.arguments,
            output=shown,
            images=images or items.made_images(call.entry.message),
            is_error=output is not None and output.part.is_error,
            output_entry=None if output is None else output.entry.id,
            outcome=read_outcome(payload),
        )
    return Called(
        entry=call.entry.id,
        time=call.entry.timestamp,
        turn=call.turn,
        call_id=part.id,
        name=part.name,
        arguments=part.arguments,
        kind=part.kind,
        answered=output is not None,
        output=shown,
        images=images,
        is_error=output is not None and output.part.is_error,
        stand_in=output is not None and output.entry.stand_in,
        output_entry=None if output is None else output.entry.id,
        outcome=read_outcome(payload),
        started=read_started(payload),
    )


def _loose(output: _Output) -> RepeatedOutput | OutputWithoutCall:
    part, entry = output.part, output.entry
    shown, images = items.output_text(part.content), items.output_images(part.content)
    if output.call is not None:
        return RepeatedOutput(
            entry=entry.id,
            time=entry.timestamp,
            turn=output.turn,
            call_id=part.id,
            output=shown,
            images=images,
            is_error=part.is_error,
            stand_in=entry.stand_in,
        )
    return OutputWithoutCall(
        entry=entry.id,
        time=entry.timestamp,
        turn=output.turn,
        call_id=part.id,
        name=part.name,
        output=shown,
        images=images,
        is_error=part.is_error,
        stand_in=entry.stand_in,
    )


def _detail(details: Details, call_id: str | None, entry: str) -> Json:
    """The payload for a call: the one of its entry, else the one of its id alone."""
    if call_id is None:
        return None
    payload = details.get((call_id, entry))
    return details.get((call_id, None)) if payload is None else payload
