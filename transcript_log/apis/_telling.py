"""What every API's rendering has to tell in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .._pieces import Piece
from ..entries import Item
from ..items import calls_and_outputs
from ..items.shapes import Shape, shape_of
from ._base import Notes
from ._neutral import Block, Call, File, Hosted, Image, Output, Thought, Unknown, read_block

__all__ = [
    "in_own_shape",
    "is_elsewhere",
    "named",
    "tell_arguments",
    "tell_error_flag",
    "tell_nothing_left",
    "tell_unsaid",
]


def tell_unsaid(block: Block, piece: Piece, notes: Notes) -> None:
    """Tell of a block that the API has no words for. Empty thoughts are no loss."""
    match block:
        case Thought(text=text):
            if not text.strip():
                return
            rule, why = "thought", "reasoning that is not of this API is not sent"
        case Hosted(name=name):
            rule, why = "hosted", f"{name!r} was run by another provider"
        case Image():
            rule, why = "part-type", "a picture cannot be sent there"
        case File():
            rule, why = "part-type", "a document cannot be sent there"
        case Unknown(type=kind):
            rule, why = "part-type", f"a part of type {kind!r} cannot be sent there"
        case _:
            rule, why = "part-type", "a part cannot be sent there"
    notes.add("left-out", rule, why, piece, item=piece.item)


def tell_nothing_left(piece: Piece, notes: Notes) -> None:
    """Tell that nothing of an item can be sent."""
    notes.add("left-out", "content", "nothing is left of the message", piece, item=piece.item)


def tell_error_flag(output: Output, piece: Piece, notes: Notes) -> None:
    """Tell that an output goes without its flag."""
    why = "this API flags no error: its text stays"
    notes.add("rewritten", "error-flag", why, piece, call=output.id)


def tell_arguments(call_id: object, piece: Piece, notes: Notes) -> None:
    """Tell that the arguments of a call were no object."""
    why = "the arguments go as a JSON object"
    notes.add("rewritten", "arguments", why, piece, call=call_id, item=piece.item)


def named(call: Call, piece: Piece, notes: Notes) -> str:
    """The name of a call as the API takes it; tells if that is another."""
    if notes.names.fits(call.name) or not notes.asks("name"):
        return call.name
    name = notes.names.safe(call.name)
    if name != call.name:
        notes.add("rewritten", "name", f"the tool {call.name!r} goes as {name!r}", piece, call=call.id)
    return name


_CHAT_KEYS: Final = frozenset({"reasoning_content", "reasoning_details", "tool_calls"})


def is_elsewhere(item: Item, first: frozenset[str], last: frozenset[str] = frozenset()) -> bool:
    """Whether a message begins, or ends, with a block that tells that it is of another shape."""
    content = item.get("content")
    if type(content) is not list or not content or not _CHAT_KEYS.isdisjoint(item):
        return False
    block, end = content[0], content[-1]
    if type(block) is dict and type(kind := block.get("type")) is str and kind in first:
        return True
    return type(end) is dict and type(kind := end.get("type")) is str and kind in last


def in_own_shape(
    piece: Piece,
    shape: Shape,
    is_own: Callable[[Any, str], bool],
    said: Callable[[Block, str], dict[str, Any] | None],
    notes: Notes,
) -> Piece:
    """A message of an API's shape with the odd blocks in it said in that API's words.

    What is its own in it, as thinking that is signed, would not outlive a rendering of the whole.

    Args:
        piece: Any piece; one of another shape, and one without odd blocks, comes back as it is.
        shape: The API's.
        is_own: Whether a block may stand in a message of a role.
        said: A block in the API's words, for a message of a role.
        notes: Is told of each block that is said in other words, or left out.
    """
    content = piece.item.get("content")
    speaker = piece.item.get("role")
    if type(content) is not list or type(speaker) is not str:
        return piece
    if shape_of(piece.item) != shape:
        return piece
    odd = [part for part in content if not is_own(part, speaker)]
    if not odd or any(calls_and_outputs({"content": odd})):
        return piece
    kept = []
    for part in content:
        if is_own(part, speaker):
            kept.append(part)
            continue
        block = read_block(part)
        made = said(block, speaker)
        if made is None:
            tell_unsaid(block, piece, notes)
        else:
            notes.add("rewritten", "part-type", "a part goes in this API's words", piece, item=piece.item)
            kept.append(made)
    return piece.now({**piece.item, "content": kept}, "mended")
