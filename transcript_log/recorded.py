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
from typing import Any, Final, TypeAlias

from ._played import (
    RecordedOutput,
    answer_of,
    outputs_of,
    prompts_of,
    raw_of,
    request_of,
    steps_of,
    told_target,
)
from .context import context_then
from .diffing import diff_items
from .entries import Entry, Item, Json
from .errors import TranscriptError
from .families import Target
from .findings import Finding
from .response import ToolCall
from .response.rebuilt import joined
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
        steps = [*steps_of(entries, found)]
        self.findings: Final = tuple(found)
        asked = target or told_target(steps)
        self.prompts: Final = tuple(prompts_of(entries))
        answers = [answer_of(step, asked) for step in steps]
        self._by_call: Final[dict[str, list[RecordedOutput]]] = {}
        self.outputs: Final = tuple(
            output
            for step, answer in zip(steps, answers, strict=True)
            for output in outputs_of(entries, details, step, answer, asked)
        )
        for output in self.outputs:
            self._by_call.setdefault(output.call.id, []).append(output)

        def request(number: int) -> Sequence[Item]:
            then = context_then(
                entries, steps[number].before, asked, details=details, attachments=attachments
            )
            return then.items

        raw = [
            raw_of(step, answer, number, asked)
            for number, (step, answer) in enumerate(zip(steps, answers, strict=True), 1)
        ]
        self.model: Final = RecordedModel(
            asked,
            raw,
            entries=[step.entries[0].id for step in steps],
            request=request,
            recorded=[request_of(step.record, details) for step in steps],
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
            TranscriptError: What was sent then cannot be made again, as of a damaged log.
            RefusedError: The items break a rule of the API.
            ScriptError: There is no further answer on record.
        """
        number = len(self.entries) - self.left
        if self.left:
            try:
                found = self._difference(number, items, request)
            except TranscriptError as error:
                raise self._failed(error) from None
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
        is_same = before == now or joined(before, self.target.api) == joined(now, self.target.api)
        lines = [] if is_same else [*_item_lines(before, now)]
        recorded = self._recorded[number]
        if request is not None and recorded is not None:
            beside, given = self._normal(recorded), self._normal(request)
            if beside != given:
                lines += ["what was sent beside the items:", *_diff_lines(beside, given)]
        return "\n".join(line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …" for line in lines)

    def _normal(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if self._normalize is None else self._normalize(value)
        if isinstance(value, Mapping):
            return {key: self._normal(one) for key, one in value.items()}
        return [self._normal(one) for one in value] if isinstance(value, list | tuple) else value


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
