"""Bringing tool outputs to their calls.

Step 2 of a context. An output belongs to the nearest earlier group of calls that holds its
id, across turns, else to the next one; a call that nobody answered gets a stand-in. Where an
API accepts the order that is there, it is left alone: what an :class:`Order` says.

Everything is linear in the number of items.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from . import items
from ._hosted import rejoin_hosted, without_lonely_hosted
from ._json import is_json
from ._pieces import Joint, Piece
from .codec import read_outcome, read_started
from .entries import Item, Json
from .findings import Change, ChangeKind
from .items import ToolCallPart, ToolOutputPart, is_reasoning
from .items.gemini import with_output_ids
from .items.nameless import NamelessIds
from .items.shapes import (
    Shape,
    finish_word,
    holds_outputs_alone,
    is_from_model,
    is_message,
    output_item,
    rest_of,
    shape_of,
    single_output,
    user_blocks,
    without_calls,
)

__all__ = [
    "LIMITS",
    "STAND_IN_BEGAN",
    "STAND_IN_FINISHED",
    "STAND_IN_NEVER_BEGAN",
    "STAND_IN_UNKNOWN",
    "Order",
    "drop_reasoning",
    "pair",
]

STAND_IN_UNKNOWN: Final = (
    "[No output of this tool call was recorded. Its outcome is unknown: it may have run fully, in part,"
    " or not at all. Check what it did before repeating it.]"
)
"""Stands for an output of which nothing at all is known."""

STAND_IN_BEGAN: Final = (
    "[This tool call was started, and no output of it was recorded. Its outcome is unknown: it may have run"
    " fully or in part. Check what it did before repeating it.]"
)
"""Stands for the output of a call of which only the start is on record."""

STAND_IN_FINISHED: Final = (
    "[This tool call ended, with the status {status!r}, but its output was not recorded. What it gave back is"
    " unknown. Check what it did before repeating it.]"
)
"""Stands for the output of a call whose outcome alone is on record."""

STAND_IN_NEVER_BEGAN: Final = (
    "[No output of this tool call was recorded, and no start of it either, although starts are recorded in"
    " this session: it seems never to have begun. Its outcome is unknown until that is checked.]"
)
"""Stands for the output of a call that seems never to have begun."""

Details: TypeAlias = Mapping[tuple[str, str | None], Json]

Order = Literal["responses", "chat", "anthropic"]
"""What may stand between a call and its output.

``responses``: anything but a message; further calls too, at any time. ``chat``: nothing, and the
calls of one message are answered before the next. ``anthropic``: the rest of the same turn of the
assistant, before the first output; so it is with Gemini too.
"""

_ANSWERABLE: Final = frozenset({"function", "custom", "local_shell", "shell", "apply_patch"})
"""The kinds of calls whose output is text, and can be that of another kind."""

LIMITS: Final = frozenset({"max_tokens", "max-tokens", "length", "max_output_tokens", "incomplete"})
"""Why a response ended that was cut by a limit of tokens."""


# ------------------------------------------------------------------------------ dealing


@dataclass(slots=True, eq=False)
class _Output:
    """One output of the log, and the call that it was dealt to."""

    piece: Piece
    part: ToolOutputPart
    among: int
    item: Item | None = None
    call: _Call | None = None
    fate: str = "output-without-call"

    def alone(self) -> Item:
        """It as an item of its own, the same one each time."""
        if self.item is None:
            self.item = single_output(self.piece.item, self.part, self.among)
        return self.item


@dataclass(slots=True, eq=False)
class _Call:
    """One call of the log, and the output that it was dealt."""

    piece: Piece
    part: ToolCallPart
    output: _Output | None = None
    number: int = 0
    group: int = 0


@dataclass(slots=True, eq=False)
class _Batch:
    """The calls of one id in one group, and the outputs that belong to them, both in order."""

    number: int
    calls: list[_Call] = field(default_factory=list)
    outputs: list[_Output] = field(default_factory=list)

    def deal(self) -> None:
        """Give each call an output of its kind, and what is left to whoever has none."""
        if len(self.calls) == 1 == len(self.outputs) and self.calls[0].part.kind == self.outputs[0].part.kind:
            _match(self.calls, self.outputs)
            return
        kinds: dict[str, list[_Call]] = {}
        for call in self.calls:
            kinds.setdefault(call.part.kind, []).append(call)
        queues: dict[str, list[_Output]] = {}
        for output in self.outputs:
            kind = output.part.kind
            if kind == "function" and kind not in kinds:
                kind = "local_shell"  # Codex answers that as if it were a function.
            queues.setdefault(kind if kind in kinds else "", []).append(output)
        others = queues.pop("", [])
        for kind, queue in queues.items():
            _match(kinds[kind], queue)
        # An output of another kind is still better than a stand-in, if it can be said as one.
        _match(
            [call for call in self.calls if call.output is None and call.part.kind in _ANSWERABLE],
            [output for output in others if output.part.kind in _ANSWERABLE],
        )


def _match(calls: list[_Call], queue: list[_Output]) -> None:
    """Deal outputs to calls in order.

    A surplus replaces the last one. A published stand-in counts before any other output: a
    model was sent it, and what came later was made from it.
    """
    if len(queue) > len(calls):
        published = [output for output in queue if output.piece.stand_in][: len(calls)]
        others = [output for output in queue if not output.piece.stand_in]
        room = len(calls) - len(published)
        chosen = published + (others[: room - 1] + others[-1:] if room else [])
        picked = {id(output) for output in chosen}
        for output in queue:
            if id(output) not in picked:
                output.fate = "late-output" if not room else "repeated-output"
        queue = [output for output in queue if id(output) in picked]
    for call, output in zip(calls, queue, strict=False):
        call.output, output.call = output, call


class _Groups:
    """The calls and outputs of a conversation, paired by id."""

    def __init__(self) -> None:
        self._number = 0
        self._latest: dict[str, _Batch] = {}
        self._early: dict[str, list[_Output]] = {}
        self._batches: list[_Batch] = []

    def next(self) -> None:
        """The calls that follow are of another group."""
        self._number += 1

    def call(self, call: _Call) -> None:
        key = call.part.id or ""
        latest = self._latest.get(key)
        if latest is None or latest.number != self._number:
            latest = _Batch(self._number, outputs=self._early.pop(key, []))
            self._latest[key] = latest
            self._batches.append(latest)
        latest.calls.append(call)
        call.group = self._number

    def output(self, output: _Output) -> None:
        key = output.part.id or ""
        latest = self._latest.get(key)
        if latest is None:
            self._early.setdefault(key, []).append(output)
        else:
            latest.outputs.append(output)

    def deal(self) -> None:
        for batch in self._batches:
            batch.deal()


# ----------------------------------------------------------------------------- placing


@dataclass(slots=True, eq=False)
class _Facts:
    """What pairing has to know of one piece."""

    piece: Piece
    calls: Sequence[_Call] = ()
    outputs: Sequence[_Output] = ()

    @property
    def shape(self) -> Shape:
        """Whose item it is."""
        return shape_of(self.piece.item)

    @property
    def speaks(self) -> bool:
        """Whether it is a message, and no call or output alone."""
        item = self.piece.item
        return is_message(item) and (
            not (self.calls or self.outputs) or self.shape == "responses" or bool(items.text(item).strip())
        )

    @property
    def is_model(self) -> bool:
        """Whether a model said it."""
        return is_from_model(self.piece.item)


class _Placing:
    """One walk over the pieces, in which outputs come to stand after their calls."""

    def __init__(self, order: Order | None, details: Details, journal: int | None) -> None:
        self.out: list[Piece] = []
        self.changes: list[Change] = []
        self._order = order
        self._details = details
        self._journal = journal
        self._open: dict[int, _Call] = {}
        # Those of them that nobody answered. A published stand-in goes where it went when it was
        # made, so that a context begins with the very bytes that were sent.
        self._lonely: deque[_Call] = deque()
        self._open_shape: Shape = "plain"
        self._answered = False
        self._last = 0
        self._placed: set[int] = set()
        self._count = 0
        self.withdrawn: set[int] = set()

    def add(self, facts: _Facts) -> None:
        """Place one piece, after what has to stand before it."""
        if facts.outputs:
            self._add_outputs(facts)
        elif facts.calls:
            if self._open and not self._may_stand(facts):
                self.flush()
            if not self._open:
                self._answered = False
            self.out.append(facts.piece)
            self._await(facts.calls)
            self._open_shape = facts.shape
            self._last = len(self.out)
        else:
            if self._open and not self._may_stand(facts):
                self.flush()
            self.out.append(facts.piece)

    def _await(self, calls: Sequence[_Call]) -> None:
        """Calls that are to be answered from here on."""
        for call in calls:
            self._count += 1
            call.number = self._count
            self._open[id(call)] = call
            if call.output is None or call.output.piece.stand_in:
                self._lonely.append(call)

    def _may_stand(self, facts: _Facts) -> bool:
        """Whether a piece that is no output may stand while calls are open."""
        order = self._order or _order_of(self._open_shape)
        if order == "responses":
            return not facts.speaks
        if self._answered or not facts.is_model:
            return False
        if order == "anthropic":
            return True
        # Calls of other shapes are put together into one Chat message.
        foreign = self._open_shape not in ("chat", "pi") and facts.shape not in ("chat", "pi")
        return foreign and not facts.speaks

    def _add_outputs(self, facts: _Facts) -> None:
        outputs = facts.outputs
        here = [o for o in outputs if o.call is not None and id(o.call) in self._open]
        ids = {id(output) for output in here}
        rest = rest_of(facts.piece.item, [o.part for o in outputs])
        if len(here) == len(outputs) and not facts.calls:
            leads = rest is None or max(o.part.place for o in outputs) < len(outputs)
            is_alone = len(outputs) == 1 and rest is None
            is_content = facts.shape == "gemini"  # which no later step puts together again
            is_whole = is_alone or is_content or not self._lonely
            if leads and is_whole and (rest is None or len(here) == len(self._open)):
                last = max(here, key=_call_number) if is_content else here[0]
                self._stand_in_before(last, {id(output.call) for output in here})
                self.out.append(facts.piece)
                self._close(here)
                return
            if not leads or is_content:
                self._tell_first(facts)
        for output in outputs:
            if id(output) in ids:
                self._stand_in_before(output)
                self.out.append(facts.piece.now(output.alone(), _alone_why(output)))
                self._close([output])
            elif output.call is None:
                self._leave_out(output)
        if rest is not None:
            if self._open:
                self.flush()
            self.out.append(facts.piece.now(rest, "split"))
            if facts.calls:  # places have changed, so the calls are read again
                again = items.tool_calls(rest)
                for call, part in zip(facts.calls, again, strict=True):
                    call.part = part
                self._await(facts.calls)
                self._answered = False
                self._last = len(self.out)

    def _stand_in_before(self, output: _Output, besides: Collection[int] = ()) -> None:
        """Stand in for the calls before that of ``output`` that nobody answered, but for ``besides``."""
        assert output.call is not None
        while self._lonely and self._lonely[0].number < output.call.number:
            call = self._lonely.popleft()
            if id(call) in besides:
                continue
            if self._open.pop(id(call), None) is None:
                continue
            if call.output is None:
                self._stand_in(call)
            else:
                self._move(call, call.output)

    def _tell_first(self, facts: _Facts) -> None:
        self.changes.append(
            Change(
                kind="moved",
                rule="output-first",
                message="what the message says was put after the outputs in it",
                entry=facts.piece.entry,
                call=facts.outputs[0].part.id,
            )
        )

    def _close(self, outputs: Sequence[_Output]) -> None:
        self._answered = True
        for output in outputs:
            self._placed.add(id(output))
            del self._open[id(output.call)]
        self._last = len(self.out)

    def flush(self) -> None:
        """Answer every open call, right after the last call or output."""
        if not self._open:
            return
        after = self.out[self._last :]
        del self.out[self._last :]
        for call in self._open.values():
            output = call.output
            if output is None:
                self._stand_in(call)
            elif id(output) not in self._placed:
                self._move(call, output)
        self.out += after
        self._open.clear()
        self._lonely.clear()
        self._answered = False

    def _move(self, call: _Call, output: _Output) -> None:
        """Put an output here that stands elsewhere in the log."""
        self._placed.add(id(output))
        self.out.append(output.piece.now(output.alone(), "moved"))
        self._change("moved", "output-order", "the output was moved to its call", output.piece, call)

    def _stand_in(self, call: _Call) -> None:
        piece, part = call.piece, call.part
        if part.kind == "computer":
            self._withdraw(call)
            return
        text = self._wording(call)
        item = output_item(part, text, shape_of(piece.item), is_error=True)
        self.out.append(Piece(item, piece.sources, "stand-in", piece.family))
        self._change(
            "added",
            "unanswered-call",
            f"the call of {part.name!r} was never answered: a stand-in says what is known of it",
            piece,
            call,
        )

    def _withdraw(self, call: _Call) -> None:
        """Leave out a call that wants a picture for an answer: none can be made up."""
        self.withdrawn.add(id(call.piece))
        why = "the call was never answered, and its output is a picture, which cannot be made up"
        self.changes.append(
            Change(
                kind="left-out",
                rule="unanswered-call",
                message=why,
                entry=call.piece.entry,
                call=call.part.id,
                item=call.piece.item,
            )
        )

    def _wording(self, call: _Call) -> str:
        """What is known of how a call went."""
        name = call.part.id or ""
        known = [self._details.get((name, entry)) for entry in (*reversed(call.piece.sources), None)]
        for payload in known:
            if payload is not None and (outcome := read_outcome(payload)) is not None:
                return STAND_IN_FINISHED.format(status=outcome.raw_status or outcome.status)
        if any(read_started(payload) is not None for payload in known):
            return STAND_IN_BEGAN
        is_journalled = self._journal is not None and call.group >= self._journal
        return STAND_IN_NEVER_BEGAN if is_journalled else STAND_IN_UNKNOWN

    def _leave_out(self, output: _Output) -> None:
        why = {
            "output-without-call": "the output answers no call of this context",
            "repeated-output": "another output of the same call counts",
            "late-output": "a stand-in was already sent for it, and what came later was made from that",
        }[output.fate]
        self.changes.append(
            Change(
                kind="left-out",
                rule=output.fate,
                message=why,
                entry=output.piece.entry,
                call=output.part.id,
                item=output.alone(),
            )
        )

    def _change(self, kind: ChangeKind, rule: str, message: str, piece: Piece, call: _Call) -> None:
        self.changes.append(
            Change(kind=kind, rule=rule, message=message, entry=piece.entry, call=call.part.id)
        )


def _call_number(output: _Output) -> int:
    """The place of the call that an output answers, among all that wait or waited."""
    return 0 if output.call is None else output.call.number


def _alone_why(output: _Output) -> Literal["kept", "split"]:
    return "kept" if output.item is output.piece.item else "split"


def _order_of(shape: Shape) -> Order:
    if shape == "responses":
        return "responses"
    return "anthropic" if shape in ("anthropic", "gemini") else "chat"


# -------------------------------------------------------------------------------- step


def pair(
    pieces: Sequence[Piece],
    order: Order | None,
    details: Details | None = None,
    *,
    made: list[Piece] | None = None,
) -> tuple[list[Piece], list[Change]]:
    """Bring outputs to their calls. Changes nothing that was given.

    The changes say what was moved, left out, added or put together; where there is none, the
    pieces come back as they were, every one the same object.

    Args:
        pieces: A conversation in its order, without answers that were broken off.
        order: What the API accepts; None goes by the shape of each call.
        details: Sidecar payloads, for the wording of stand-ins.
        made: Is given the stand-ins, each as it was before it was put together with others.
    """
    known = details or {}
    kept, changes = _without_cut_calls(pieces)
    kept, more = rejoin_hosted(kept)
    changes += more
    groups = _Groups()
    nameless = NamelessIds()
    facts: list[_Facts] = []
    for piece in kept:
        item = piece.item
        calls, outputs = items.calls_and_outputs(item)
        is_content = "parts" in item  # of Gemini, whose calls alone may have no id
        dealt = nameless.outputs(outputs) if is_content and outputs else outputs
        if any(a is not b for a, b in zip(dealt, outputs, strict=True)):
            changes.append(_renumbered(piece, outputs))
            piece = piece.now(with_output_ids(item, dealt), "mended")  # noqa: PLW2901 - from here on
        fact = _Facts(piece)
        facts.append(fact)
        if outputs:
            groups.next()
            fact.outputs = [_Output(piece, output, len(outputs)) for output in dealt]
            for answer in fact.outputs:
                groups.output(answer)
        elif not calls and is_message(item):
            groups.next()
        if calls:
            if is_content:
                nameless.calls(calls)
            fact.calls = [_Call(piece, call) for call in calls]
            for asked in fact.calls:
                groups.call(asked)
    groups.deal()
    placing = _Placing(order, known, _journal_from(facts, known))
    for fact in facts:
        placing.add(fact)
    placing.flush()
    changes += placing.changes
    if made is not None:
        made += [piece for piece in placing.out if piece.why == "stand-in"]
    gone = placing.withdrawn
    placed = [piece for piece in placing.out if id(piece) not in gone] if gone else placing.out
    out, more = _regroup(placed)
    changes += more
    out, more = without_lonely_hosted(out)
    return out, changes + more


def _renumbered(piece: Piece, outputs: Sequence[ToolOutputPart]) -> Change:
    return Change(
        kind="rewritten",
        rule="nameless-call",
        message="the call has no id: its output goes under the number of the call",
        entry=piece.entry,
        call=outputs[0].id,
    )


def _regroup(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Change]]:
    """With outputs that were made or split off put into the user message that follows them.

    Some gateways want the roles to take turns. What stood as it is stays as it is.
    """
    out: list[Piece] = []
    changes: list[Change] = []
    joint: Joint | None = None  # what the last piece of ``out`` is a part of
    for piece in pieces:
        last = out[-1] if out else None
        is_made = last is not None and (
            last.why in ("split", "stand-in", "moved") or (last.why == "kept" and last.stand_in)
        )
        if last is not None and (is_made or joint is not None) and piece.why != "summary":
            if joint is None and not holds_outputs_alone(last.item):
                blocks = None
            else:
                blocks = user_blocks(piece.item)
            if blocks is not None:
                if piece.why == "kept":
                    changes.append(
                        Change(
                            kind="merged",
                            rule="outputs-lead",
                            message="the outputs before the message were put into it",
                            entry=piece.entry,
                        )
                    )
                if joint is None:
                    joint = Joint(last, last.item["content"])
                joint.add(piece, blocks)
                out[-1] = piece
                if holds_outputs_alone(piece.item):
                    continue
                out[-1] = joint.piece("content", piece.item)
                joint = None
                continue
        if joint is not None:
            out[-1] = joint.piece("content", out[-1].item)
            joint = None
        out.append(piece)
    if joint is not None:
        out[-1] = joint.piece("content", out[-1].item)
    return out, changes


def _journal_from(facts: Sequence[_Facts], details: Details) -> int | None:
    """The group of calls from which on starts are put on record; None if none is.

    What is recorded of later calls says nothing of earlier ones: their stand-ins were sent.
    """
    started = {key for key, payload in details.items() if read_started(payload) is not None}
    if started:
        for fact in facts:
            for call in fact.calls:
                name = call.part.id or ""
                if any((name, source) in started for source in (*fact.piece.sources, None)):
                    return call.group
    return None


def _without_cut_calls(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Change]]:
    """Without calls whose arguments were cut by a token limit: nobody can have run them as meant."""
    out: list[Piece] = []
    changes: list[Change] = []
    for piece in pieces:
        reason = finish_word(piece.item) or piece.finish
        if reason not in LIMITS:
            out.append(piece)
            continue
        cut = [call for call in items.tool_calls(piece.item) if not _is_whole(call)]
        if not cut:
            out.append(piece)
            continue
        left = without_calls(piece.item, cut)
        if left is not None:
            out.append(piece.now(left, "split"))
        else:
            changes += drop_reasoning(out)
        changes += [
            Change(
                kind="left-out",
                rule="cut-call",
                message=f"the arguments of the call of {call.name!r} were cut by a token limit",
                entry=piece.entry,
                call=call.id,
                item=piece.item,
            )
            for call in cut
        ]
    return out, changes


def drop_reasoning(pieces: list[Piece]) -> list[Change]:
    """Take from the end of a list the reasoning that led to what is left out; the changes."""
    changes = []
    while pieces and is_reasoning(pieces[-1].item):
        piece = pieces.pop()
        changes.append(
            Change(
                kind="left-out",
                rule="reasoning-alone",
                message="what the reasoning led to is left out",
                entry=piece.entry,
                item=piece.item,
            )
        )
    return changes


def _is_whole(call: ToolCallPart) -> bool:
    """Whether the arguments of a call can be read."""
    if type(call.arguments) is not str or call.kind != "function":
        return True
    return is_json(call.arguments or "{}")
