"""A recorded session as the script of a test: the model answers as it did, and is asked as it was.

An agent under test gets :attr:`RecordedSession.model` in the place of a real client, and what its
tools gave back from :meth:`RecordedSession.tool`. Where a request of the agent is not the one that is on
record, the test fails with what is different. The pytest plugin makes a fixture of it; here it
is without pytest.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from . import items
from .codec import read_outcome
from .context import build_context, context_then
from .diffing import diff_items
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
from .errors import TargetError, TranscriptError
from .families import Target, target_of
from .findings import Finding
from .items.shapes import Shape, blocks_of, is_from_model, shape_of
from .response import FinishReason, ToolCall, Usage
from .response.rebuilt import answer_of_items
from .response.usage import ANTHROPIC, RESPONSES
from .store import DetailKey
from .testing import ScriptedModel, ScriptError

__all__ = [
    "DepartureError",
    "Normalize",
    "RecordedModel",
    "RecordedOutput",
    "RecordedSession",
    "UnplayedError",
]

Normalize: TypeAlias = Callable[[str], str]
"""Makes one of texts that differ from run to run, such as times and temporary paths."""

_SHOWN: Final = 400
"""How many characters of a line of a difference are shown."""


class DepartureError(TranscriptError, AssertionError):
    """An agent asked a recorded model something else than what is on record.

    Attributes:
        number: Which request it is, from 1.
        entry: The entry that the recorded answer begins with.
        difference: What is different, in lines.
    """

    def __init__(self, number: int, entry: str, difference: str) -> None:
        super().__init__(number, entry, difference)
        self.number = number
        self.entry = entry
        self.difference = difference

    def __str__(self) -> str:
        return (
            f"request {self.number} is not the one that entry {self.entry} answers"
            f" (- on record, + sent):\n{self.difference}"
        )


class UnplayedError(TranscriptError, AssertionError):
    """An agent was done before it had all the answers that are on record.

    Attributes:
        left: How many there are.
        entry: The entry that the next of them begins with.
    """

    def __init__(self, left: int, entry: str) -> None:
        super().__init__(left, entry)
        self.left = left
        self.entry = entry

    def __str__(self) -> str:
        what = "1 recorded answer was" if self.left == 1 else f"{self.left} recorded answers were"
        return f"{what} not asked for; the next is that of entry {self.entry}"


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
class _Step:
    """An answer on record: its entries, how many stood before them, and where they end."""

    before: int
    after: int
    entries: tuple[MessageEntry, ...]

    __hash__ = None  # type: ignore[assignment]  # items are dicts

    @property
    def record(self) -> ResponseRecord:
        return self.entries[0].response or ResponseRecord()


class RecordedSession:
    """The answers, tool outputs and requests of a session.

    Attributes:
        model: Answers as the recorded one did, in the raw JSON of the target's API.
        prompts: What the user said, in order: the items that the agent is to be given.
        outputs: What the tools gave back, in the order of the calls.
        findings: What of the session is not played, and why.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        details: Mapping[DetailKey, Json],
        *,
        target: Target | None = None,
        normalize: Normalize | None = None,
        attachments: bool = False,
    ) -> None:
        """Of any log, also one that was read from another agent's session.

        Args:
            entries: The whole log.
            details: The payloads beside it.
            target: Who is asked; by default whom the log names.
            normalize: Applied to every text of both requests before they are compared.
            attachments: Whether context entries were placed.

        Raises:
            TargetError: The log names nobody, or several; or no such API is known.
        """
        found: list[Finding] = []
        steps = [*_steps(entries, found)]
        self.findings: Final = tuple(found)
        asked = target or _told_target(steps)
        self.prompts: Final = tuple(_prompts(entries))
        answers = [_answer(step, asked) for step in steps]
        self._by_call: Final[dict[str, list[RecordedOutput]]] = {}
        self.outputs: Final = tuple(
            output
            for step, answer in zip(steps, answers, strict=True)
            for output in _outputs(entries, details, step, answer, asked)
        )
        for output in self.outputs:
            self._by_call.setdefault(output.call.id, []).append(output)

        def request(number: int) -> Sequence[Item]:
            then = context_then(
                entries, steps[number].before, asked, details=details, attachments=attachments
            )
            return then.items

        raw = [
            answer_of_items(
                asked.api,
                answer,
                id=step.record.id or f"recorded_{number}",
                model=step.record.model or asked.model,
                finish=_finish(step.record.finish_reason),
                usage=_usage(step.record.usage),
            )
            for number, (step, answer) in enumerate(zip(steps, answers, strict=True), 1)
        ]
        self.model: Final = RecordedModel(
            asked,
            raw,
            entries=[step.entries[0].id for step in steps],
            request=request,
            recorded=[_request(step.record, details) for step in steps],
            normalize=normalize,
        )

    def tool(self, call: ToolCall | str) -> RecordedOutput:
        """What a call gave back. Of calls with one id each is given in turn, the last again and again.

        Args:
            call: The call, or its id.

        Raises:
            LookupError: Nothing is on record for it.
        """
        name = call if isinstance(call, str) else call.id
        found = self._by_call.get(name)
        if not found:
            raise LookupError(f"no output is on record for a call {name!r}")
        return found.pop(0) if len(found) > 1 else found[0]

    def check(self) -> None:
        """Raise what is wrong so far, though the agent may have gone on: call it at the end.

        Raises:
            DepartureError: A request was not the one on record.
            ScriptError: There was one request more than are on record.
            UnplayedError: There were fewer.
        """
        if self.model.failure is not None:
            raise self.model.failure
        if self.model.left:
            raise UnplayedError(self.model.left, self.model.entries[-self.model.left])


class RecordedModel(ScriptedModel):
    """A scripted model whose requests are on record; made by a :class:`RecordedSession`.

    Attributes:
        entries: For each answer the entry that it begins with.
        failure: The first request that was not as it is on record; None if there is none.
    """

    def __init__(
        self,
        target: Target,
        script: Sequence[Mapping[str, Any]],
        *,
        entries: Sequence[str],
        request: Callable[[int], Sequence[Item]],
        recorded: Sequence[Json],
        normalize: Normalize | None,
    ) -> None:
        super().__init__(target, script)
        self.entries: Final = tuple(entries)
        self.failure: TranscriptError | None = None
        self._request: Final = request
        self._recorded: Final = recorded
        self._normalize: Final = normalize

    def __call__(
        self, items: Sequence[Item], *, paused: bool = False, request: Json = None
    ) -> dict[str, Any]:
        """The next answer on record.

        Args:
            items: What is sent.
            paused: The last item is of a turn that the provider paused.
            request: What is sent beside the items; compared if the session recorded that.

        Raises:
            DepartureError: It is not what was sent then.
            RefusedError: The items break a rule of the API.
            ScriptError: There is no further answer on record.
        """
        number = len(self.entries) - self.left
        if self.left:
            found = self._difference(number, items, request)
            if found:
                raise self._failed(DepartureError(number + 1, self.entries[number], found))
        try:
            return super().__call__(items, paused=paused)
        except ScriptError as error:
            raise self._failed(error) from None

    def _failed(self, error: TranscriptError) -> TranscriptError:
        self.failure = self.failure or error
        return error

    def _difference(self, number: int, sent: Sequence[Item], request: Json) -> str:
        before, now = (self._normal([*one]) for one in (self._request(number), sent))
        is_same = before == now or self._joined(before) == self._joined(now)
        lines = [] if is_same else [*_item_lines(before, now)]
        recorded = self._recorded[number]
        if request is not None and recorded is not None:
            beside, given = self._normal(recorded), self._normal(request)
            if beside != given:
                lines += ["what was sent beside the items:", *_diff_lines(beside, given)]
        return "\n".join(line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …" for line in lines)

    def _joined(self, sent: Sequence[Item]) -> list[Any]:
        """Items without what makes no difference: Anthropic combines messages of one role that follow.

        Source: https://github.com/anthropics/anthropic-sdk-python, ``Messages.create``, 2026-12.
        """
        if self.target.api != ANTHROPIC:
            return [*sent]
        joined: list[tuple[Any, list[Any]]] = []
        for item in sent:
            if not (joined and joined[-1][0] == item.get("role")):
                joined.append((item.get("role"), []))
            joined[-1][1].extend(blocks_of(item))
        return joined

    def _normal(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if self._normalize is None else self._normalize(value)
        if isinstance(value, Mapping):
            return {key: self._normal(one) for key, one in value.items()}
        return [self._normal(one) for one in value] if isinstance(value, list | tuple) else value


# ------------------------------------------------------------------------- of the record


def _steps(entries: Sequence[Entry], found: list[Finding]) -> Iterator[_Step]:
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
            yield _Step(before, after, tuple(group))
            group = []
        if spoken:
            before = before if group else place
            after = place + 1
            group.append(entry)
    if group:
        yield _Step(before, after, tuple(group))


def _told_target(steps: Sequence[_Step]) -> Target:
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


def _prompts(entries: Sequence[Entry]) -> Iterator[Item]:
    for entry in entries:
        if isinstance(entry, MessageEntry) and not entry.interrupted and items.is_user_turn(entry.message):
            yield entry.message


_SHAPES: Final[Mapping[str, Shape]] = {RESPONSES: "responses", ANTHROPIC: "anthropic"}


def _answer(step: _Step, target: Target) -> list[Item]:
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


def _outputs(
    entries: Sequence[Entry],
    details: Mapping[DetailKey, Json],
    step: _Step,
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
    entries: Sequence[Entry], step: _Step, answer: Sequence[Item]
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


def _request(record: ResponseRecord, details: Mapping[DetailKey, Json]) -> Json:
    """What was sent beside the items; None where that is not on record."""
    payload = None if record.request is None else details.get((f"request:{record.request}", None))
    return payload.get("data") if type(payload) is dict and payload.get("kind") == "request" else None


# ----------------------------------------------------------------------- in words


def _item_lines(before: Sequence[Item], now: Sequence[Item]) -> Iterator[str]:
    """Where two lists of items part, and what differs from there on."""
    found = diff_items([_sorted(one) for one in before], [_sorted(one) for one in now])
    counts = f"{len(before)} items are on record, {len(now)} were sent"
    if found.parts_at is not None:
        counts += f"; they part at item {found.parts_at}, counted from 0"
    yield counts
    yield from _diff_lines([*before], [*now])


def _diff_lines(before: Json, now: Json) -> Iterator[str]:
    old, new = (
        json.dumps(one, indent=1, sort_keys=True, ensure_ascii=False).splitlines() for one in (before, now)
    )
    for line in difflib.unified_diff(old, new, n=4, lineterm=""):
        if not line.startswith(("---", "+++")):
            yield line


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value
