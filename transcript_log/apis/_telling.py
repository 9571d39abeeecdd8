"""What every API's rendering has to tell in the same words."""

from __future__ import annotations

from .._pieces import Piece
from ._base import Notes, safe_name
from ._neutral import Block, Call, File, Hosted, Image, Output, Thought, Unknown

__all__ = ["named", "tell_arguments", "tell_error_flag", "tell_nothing_left", "tell_unsaid"]


def tell_unsaid(block: Block, piece: Piece, notes: Notes) -> None:
    """Tell of a block that the API has no words for. Empty thoughts are no loss."""
    match block:
        case Thought(text=text):
            if not text.strip():
                return
            rule, why = "thought", "another API's reasoning is not sent"
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


def named(call: Call, length: int, piece: Piece, notes: Notes) -> str:
    """The name of a call as an API takes it; tells if that is another."""
    name = safe_name(call.name, length)
    if name != call.name:
        notes.add("rewritten", "name", f"the tool {call.name!r} goes as {name!r}", piece, call=call.id)
    return name
