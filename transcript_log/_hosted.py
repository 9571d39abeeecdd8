"""The calls of a provider's own tools, and their results, in one turn.

Anthropic wants a ``server_tool_use`` and its result in one turn of the assistant. What came
in between, as a command of the user that was stored while the answer streamed, goes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from . import items
from ._pieces import Piece
from .findings import Change, ChangeKind
from .items.shapes import blocks_of, finish_word, hosted_blocks, without_blocks

__all__ = ["PAUSES", "is_paused", "rejoin_hosted", "without_lonely_hosted"]

PAUSES: Final = frozenset({"pause", "pause_turn"})
"""Why a turn ended that is to be sent back as it is, and goes on."""


def is_paused(piece: Piece) -> bool:
    """Whether a piece is of a turn that the provider paused, to be sent back as it is."""
    return items.role(piece.item) == "assistant" and (
        piece.finish in PAUSES or finish_word(piece.item) in PAUSES
    )


# ------------------------------------------------------------------------------ moving


def rejoin_hosted(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Change]]:
    """Put each result that stands in a later turn into the turn of its call.

    What else the model said with the result comes along, unless it was said after outputs of
    the client: then it stays where it is.
    """
    blocks = _hosted(pieces)
    changes: list[Change] = []
    if not blocks:
        return list(pieces), changes
    ends = _turn_ends(pieces)
    answered_before = _outputs_before(pieces)
    work: list[Piece | None] = list(pieces)
    waiting: dict[str, list[int]] = {}
    into: dict[int, int] = {}
    for at, found in blocks.items():
        taken: list[int] = []
        end = at
        for place, call_id, is_call in found:
            if is_call:
                waiting.setdefault(call_id, []).append(at)
            elif calls := waiting.get(call_id):
                call_at = calls.pop()
                call_end = ends[into.get(call_at, call_at)]
                if call_end != ends[at]:
                    end = call_end
                    taken.append(place)
        if not taken:
            continue
        piece, last = work[at], work[end]
        assert piece is not None
        assert last is not None
        if answered_before[at] > answered_before[end]:
            moved = [piece.item["content"][place] for place in taken]
            rest = without_blocks(piece.item, set(taken))
            work[at] = None if rest is None else piece.now(rest, "split")
            message = "the result was put into the turn that called for it"
        else:
            moved = blocks_of(piece.item)
            work[at] = None
            into[at] = end
            message = "the result, and what was said with it, was put into the turn that called for it"
        work[end] = _together(last, piece, moved)
        changes.append(_change("moved", "hosted-result", message, piece, found[0][1]))
    return [piece for piece in work if piece is not None], changes


def _together(first: Piece, second: Piece, moved: list[object]) -> Piece:
    """A piece with blocks of another at its end."""
    made = first.now({**first.item, "content": [*blocks_of(first.item), *moved]}, "merged")
    made.sources = tuple(dict.fromkeys((*first.sources, *second.sources)))
    made.family = first.family if first.family == second.family else None
    made.finish = second.finish
    made.old = first.old or second.old
    return made


# ----------------------------------------------------------------------------- leaving


def without_lonely_hosted(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Change]]:
    """Without calls and results that have no other half in their turn.

    The last message of a paused turn keeps the call that is still open.
    """
    blocks = _hosted(pieces)
    changes: list[Change] = []
    if not blocks:
        return list(pieces), changes
    ends = _turn_ends(pieces)
    lonely: dict[int, set[int]] = {}
    for turn in _by_turn(blocks, ends):
        waiting: dict[str, list[tuple[int, int]]] = {}
        for at in turn:
            for place, call_id, is_call in blocks[at]:
                if is_call:
                    waiting.setdefault(call_id, []).append((at, place))
                elif calls := waiting.get(call_id):
                    calls.pop()
                else:
                    lonely.setdefault(at, set()).add(place)
        for at, place in (place for calls in waiting.values() for place in calls):
            if not (at == len(pieces) - 1 and is_paused(pieces[at])):
                lonely.setdefault(at, set()).add(place)
    work: list[Piece | None] = list(pieces)
    for at, places in lonely.items():
        piece = pieces[at]
        for place, call_id, is_call in blocks[at]:
            if place in places:
                what = (
                    "call of the provider's own tool has no result" if is_call else "result answers no call"
                )
                message = f"the {what} in its turn"
                changes.append(_change("left-out", "hosted-pair", message, piece, call_id, place))
        left = without_blocks(piece.item, places)
        work[at] = None if left is None else piece.now(left, "split")
    return [piece for piece in work if piece is not None], changes


# ------------------------------------------------------------------------------ looking


def _hosted(pieces: Sequence[Piece]) -> dict[int, list[tuple[int, str, bool]]]:
    """The calls and results of each piece that has any."""
    return {at: found for at, piece in enumerate(pieces) if (found := hosted_blocks(piece.item))}


def _by_turn(blocks: dict[int, list[tuple[int, str, bool]]], ends: Sequence[int]) -> Iterator[list[int]]:
    """The places of those pieces, turn by turn."""
    turn: list[int] = []
    for at in blocks:
        if turn and ends[turn[0]] != ends[at]:
            yield turn
            turn = []
        turn.append(at)
    yield turn


def _turn_ends(pieces: Sequence[Piece]) -> list[int]:
    """For each piece the last one of its turn: of the neighbours with its role."""
    ends = [0] * len(pieces)
    end = len(pieces) - 1
    for at in range(len(pieces) - 1, -1, -1):
        if at + 1 < len(pieces) and items.role(pieces[at].item) != items.role(pieces[at + 1].item):
            end = at
        ends[at] = end
    return ends


def _outputs_before(pieces: Sequence[Piece]) -> list[int]:
    """For each piece how many before it hold outputs of the client's tools."""
    count = 0
    counts = []
    for piece in pieces:
        counts.append(count)
        count += bool(items.calls_and_outputs(piece.item)[1])
    return counts


def _change(
    kind: ChangeKind, rule: str, message: str, piece: Piece, call: str, place: int | None = None
) -> Change:
    item = None if place is None else piece.item["content"][place]
    return Change(kind=kind, rule=rule, message=message, entry=piece.entry, call=call, item=item)
