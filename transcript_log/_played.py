"""The answers, outputs and prompts of a session that is on record, as a script has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from . import items
from .codec import read_outcome
from .context import build_context
from .entries import (
    CompactionEntry,
    Entry,
    Item,
    Json,
    MessageEntry,
    RecordedUsage,
    ResponseRecord,
    ToolOutcome,
    new_message,
)
from .errors import TargetError
from .families import Target, target_of
from .findings import Finding
from .items.shapes import Shape, is_from_model, shape_of
from .response import FinishReason, ToolCall, Usage
from .response.rebuilt import answer_of_items, joined
from .response.usage import ANTHROPIC, RESPONSES
from .store import DetailKey

__all__ = [
    "RecordedOutput",
    "Step",
    "answer_of",
    "outputs_of",
    "prompts_of",
    "raw_of",
    "request_of",
    "steps_of",
    "told_target",
]


@dataclass(frozen=True, slots=True)
class RecordedOutput:
    """What a tool gave back in a recorded session.

    Attributes:
        call: The call, with the id that the recorded model gives it.
        content: As the target's API has it: text, or blocks.
        is_error: Whether the item itself tells of an error.
        outcome: How the call ended; None where that is not on record.
    """

    call: ToolCall
    content: Any
    is_error: bool = False
    outcome: ToolOutcome | None = None

    __hash__ = None  # type: ignore[assignment]  # arguments are dicts

    @property
    def text(self) -> str:
        """The text of it."""
        return self.content if type(self.content) is str else items.output_text(self.content)


@dataclass(frozen=True, slots=True)
class Step:
    """An answer on record: its entries, how many stood before them, and where they end."""

    before: int
    after: int
    entries: tuple[MessageEntry, ...]

    __hash__ = None  # type: ignore[assignment]  # items are dicts

    @property
    def record(self) -> ResponseRecord:
        return self.entries[0].response or ResponseRecord()


def steps_of(entries: Sequence[Entry], found: list[Finding]) -> Iterator[Step]:
    """The answers of a log. One that was broken off is none, and that is told."""
    before, after = 0, 0
    group: list[MessageEntry] = []
    for place, entry in enumerate(entries):
        if isinstance(entry, CompactionEntry) and entry.compaction.summary:
            what = "the call that made its summary is not on record, and is not played"
            found.append(Finding(rule="compaction", severity="note", message=what, entry=entry.id))
        if not isinstance(entry, MessageEntry):
            continue
        spoken = is_from_model(entry.message) and not entry.stand_in
        if entry.interrupted:
            if spoken:
                what = "it was broken off or left aside, and is not played"
                found.append(Finding(rule="interrupted", severity="note", message=what, entry=entry.id))
            continue
        if group and (not spoken or entry.response is not None):
            yield Step(before, after, tuple(group))
            group = []
        if spoken:
            before = before if group else place
            after = place + 1
            group.append(entry)
    if group:
        yield Step(before, after, tuple(group))


def told_target(steps: Sequence[Step]) -> Target:
    told = {step.entries[0].family for step in steps}
    if len(told) > 1:
        names = ", ".join(sorted(str(one) for one in told))
        raise TargetError(names, "several models answered: name the target that is asked")
    family = next(iter(told), None)
    model = next((step.record.model for step in steps if step.record.model is not None), None)
    target = None if family is None else target_of(family, model)
    if target is None:
        raise TargetError(str(family), "the session does not tell who was asked: name the target")
    return target


def prompts_of(entries: Sequence[Entry]) -> Iterator[Item]:
    for entry in entries:
        if isinstance(entry, MessageEntry) and not entry.interrupted and items.is_user_turn(entry.message):
            yield entry.message


_SHAPES: Final[Mapping[str, Shape]] = {RESPONSES: "responses", ANTHROPIC: "anthropic"}


def answer_of(step: Step, target: Target) -> list[Item]:
    """The items of an answer, in the words of the target's API."""
    own = _SHAPES.get(target.api, "chat")
    said = [entry.message for entry in step.entries]
    is_one = own != "chat" or len(said) == 1
    if is_one and all(
        entry.family == target.family and shape_of(entry.message) in (own, "plain") for entry in step.entries
    ):
        return said
    return [item for item in _sent_back(step.entries, target) if is_from_model(item)]


def _sent_back(entries: Sequence[MessageEntry], target: Target) -> list[Item]:
    """Messages as a context has them. One stands before them, for an answer cannot be the first."""
    opening = new_message({"role": "user", "content": "."})
    ids = {entry.id for entry in entries}
    return [row.item for row in build_context([opening, *entries], target).rows if row.entry in ids]


class _Waiting(NamedTuple):
    """A call without an output yet: the entry that holds it, and how the model gives it now."""

    holder: MessageEntry
    call: items.ToolCallPart
    shown: items.ToolCallPart


def outputs_of(
    entries: Sequence[Entry],
    details: Mapping[DetailKey, Json],
    step: Step,
    answer: Sequence[Item],
    target: Target,
) -> list[RecordedOutput]:
    """What the calls of an answer gave back, in the words of the target's API."""
    answered = [*_answered(entries, step, answer)]
    if not answered:
        return []
    given = {entry.id: entry for _, entry, _ in answered}
    sent = _sent_back([*step.entries, *given.values()], target)
    said = {output.id: output for item in sent for output in items.tool_outputs(item)}
    found = []
    for waiting, _, part in answered:
        name, call = waiting.call.id or "", waiting.call
        output = said.get(waiting.shown.id, part)
        told = details.get((name, waiting.holder.id), details.get((name, None)))
        found.append(
            RecordedOutput(
                ToolCall(id=waiting.shown.id or "", name=call.name, arguments=call.arguments, kind=call.kind),
                output.content,
                output.is_error,
                None if told is None else read_outcome(told),
            )
        )
    return found


def _answered(
    entries: Sequence[Entry], step: Step, answer: Sequence[Item]
) -> Iterator[tuple[_Waiting, MessageEntry, items.ToolOutputPart]]:
    """The calls of an answer with their outputs, up to a later call with the same id."""
    given = [call for item in answer for call in items.tool_calls(item)]
    asked = [(entry, call) for entry in step.entries for call in items.tool_calls(entry.message)]
    if len(given) != len(asked):  # a call that was cut off is not said again
        named = {call.id: call for call in given}
        asked = [(entry, call) for entry, call in asked if call.id in named]
        given = [named[call.id] for _, call in asked]
    left = {call.id: _Waiting(entry, call, shown) for (entry, call), shown in zip(asked, given, strict=True)}
    for entry in entries[step.after :]:
        if not left:
            return
        if not isinstance(entry, MessageEntry) or entry.interrupted:
            continue
        for output in items.tool_outputs(entry.message):
            waiting = left.pop(output.id, None)
            if waiting is not None:
                yield waiting, entry, output
        for call in items.tool_calls(entry.message):
            left.pop(call.id, None)


def raw_of(step: Step, answer: Sequence[Item], number: int, target: Target) -> dict[str, Any]:
    """An answer as the target's API would give it, with what the log has of it.

    Raises:
        TargetError: How that API answers is not known here.
    """
    try:
        return answer_of_items(
            target.api,
            joined(answer, target.api),
            id=step.record.id or f"recorded_{number}",
            model=step.record.model or target.model,
            finish=_finish(step.record.finish_reason),
            usage=_usage(step.record.usage),
        )
    except KeyError:
        raise TargetError(target.api, "how that API answers is not known here: name another target") from None


def _finish(word: str | None) -> FinishReason | None:
    return FinishReason(word) if word is not None and word in [*FinishReason] else None


def _usage(told: RecordedUsage | None) -> Usage | None:
    if told is None:
        return None
    return Usage(
        input=told.input,
        cache_read=told.cache_read,
        cache_write=told.cache_write,
        output=told.output,
        total=told.total_tokens,
        input_unknown=told.input_unknown,
    )


def request_of(record: ResponseRecord, details: Mapping[DetailKey, Json]) -> Json:
    """What was sent beside the items; None where that is not on record."""
    payload = None if record.request is None else details.get((f"request:{record.request}", None))
    return payload.get("data") if type(payload) is dict and payload.get("kind") == "request" else None
