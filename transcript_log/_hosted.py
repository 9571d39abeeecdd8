"""Bringing the results of a provider's own tools back into the turn that called them.

Anthropic wants a ``server_tool_use`` and its result in one turn of the assistant. What came
in between, as a command of the user that was stored while the answer streamed, goes after.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import items
from ._pieces import Piece
from .findings import Change, ChangeKind
from .items.shapes import blocks_of, finish_word, hosted_blocks, without_blocks

__all__ = ["is_paused", "rejoin_hosted"]

_PAUSES = frozenset({"pause", "pause_turn"})


def is_paused(piece: Piece) -> bool:
    """Whether a piece is of a turn that the provider paused, to be sent back as it is."""
    return piece.finish in _PAUSES or finish_word(piece.item) in _PAUSES


def rejoin_hosted(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Change]]:
    """Put each result into the turn of its call; what has no other half is left out.

    The last message of a paused turn keeps the call that is still open.
    """
    blocks = {at: found for at, piece in enumerate(pieces) if (found := hosted_blocks(piece.item))}
    if not blocks:
        return list(pieces), []
    turn_ends = _turn_ends(pieces)
    work: list[Piece | None] = list(pieces)
    moved: dict[int, int] = {}
    waiting: dict[str, list[tuple[int, int]]] = {}
    lonely: dict[int, set[int]] = {}
    changes: list[Change] = []
    for at, found in blocks.items():
        for place, call_id, is_call in found:
            if is_call:
                waiting.setdefault(call_id, []).append((at, place))
                continue
            calls = waiting.get(call_id)
            if not calls:
                lonely.setdefault(at, set()).add(place)
                continue
            call_at, _ = calls.pop()
            end = turn_ends[moved.get(call_at, call_at)]
            if turn_ends[at] == end or at in moved:
                continue
            moved[at] = end
            changes.append(
                _change(
                    "moved",
                    "hosted-result",
                    "the result was put into the turn that called for it",
                    pieces[at],
                    call_id,
                )
            )
    for calls in waiting.values():
        for at, place in calls:
            if not (at == len(pieces) - 1 and is_paused(pieces[at])):
                lonely.setdefault(at, set()).add(place)
    for at, places in lonely.items():
        piece = pieces[at]
        for place, call_id, is_call in blocks[at]:
            if place in places:
                what = (
                    "call of the provider's own tool has no result" if is_call else "result answers no call"
                )
                changes.append(
                    _change("left-out", "hosted-pair", f"the {what} in its turn", piece, call_id, place)
                )
        left = without_blocks(piece.item, places)
        work[at] = None if left is None else piece.now(left, "split")
    for at, end in moved.items():
        result, last = work[at], work[end]
        work[at] = None
        if result is None:
            continue
        if last is None:
            work[end] = result.now(result.item, "moved")
        else:
            work[end] = Piece(
                {**last.item, "content": [*blocks_of(last.item), *blocks_of(result.item)]},
                (*last.sources, *result.sources),
                "merged",
                last.family if last.family == result.family else None,
                begins=last.begins,
                finish=result.finish,
            )
    return [piece for piece in work if piece is not None], changes


def _turn_ends(pieces: Sequence[Piece]) -> list[int]:
    """For each piece the last one of its turn: of the neighbours with its role."""
    ends = [0] * len(pieces)
    end = len(pieces) - 1
    for at in range(len(pieces) - 1, -1, -1):
        if at + 1 < len(pieces) and items.role(pieces[at].item) != items.role(pieces[at + 1].item):
            end = at
        ends[at] = end
    return ends


def _change(
    kind: ChangeKind, rule: str, message: str, piece: Piece, call: str, place: int | None = None
) -> Change:
    item = None if place is None else piece.item["content"][place]
    return Change(kind=kind, rule=rule, message=message, entry=piece.entry, call=call, item=item)
