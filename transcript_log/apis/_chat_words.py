"""Items in the words of a dialect of Chat Completions: its own mended, others said anew."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final

from .._pieces import Joint, Piece
from ..entries import Item
from ._base import Notes, all_fit, fresh_ids, word
from ._chat_checking import is_right
from ._chat_mending import MESSAGE_KEYS, NO_OUTPUT, call_entry, is_own, mended
from ._dialect import ChatDialect
from ._neutral import Block, Call, File, Image, Neutral, Output, Text, Thought, read
from ._signed import reasoning_details
from ._telling import (
    in_own_shape,
    is_elsewhere,
    tell_error_flag,
    tell_nothing_left,
    tell_unsaid,
)

__all__ = ["NOT_SHOWN", "NO_OUTPUT", "SEE_BELOW", "render_chat", "with_key"]

SEE_BELOW: Final = "(what it gave back follows below)"
"""Stands where a tool gave back pictures alone, which only a message of the user can show."""

NOT_SHOWN: Final = "(what it gave back cannot be shown here)"
"""Stands where a tool gave back pictures alone, and nobody can show them."""

_ELSEWHERE: Final = frozenset({"input_text", "output_text", "tool_result", "tool_use"})
"""What a message begins with that is surely of another shape."""

_CALLING: Final = frozenset({"tool_result", "tool_use", "toolCall"})
"""What a message ends with that is said anew in any case."""


def render_chat(pieces: Sequence[Piece], notes: Notes, dialect: ChatDialect) -> list[Piece]:
    """The same conversation in messages of a dialect."""
    notes.terms = dialect
    out: list[Piece] = []
    pictures: list[Piece] = []
    joint: Joint | None = None  # what the last piece of ``out`` is a part of

    def part_of(block: Block, speaker: str) -> dict[str, Any] | None:
        return _part(block, speaker, dialect)

    for piece in pieces:
        item = piece.item
        seen: list[Piece] = []
        if "role" not in item and "content" not in item and "tool_calls" not in item:
            made, seen = _rendered(piece, notes, dialect)
        elif is_right(item, dialect):
            made = [piece]
        elif is_elsewhere(item, _ELSEWHERE, _CALLING):
            made, seen = _rendered(piece, notes, dialect)
        else:
            if type(item.get("content")) is list:
                piece = in_own_shape(piece, "chat", dialect.takes, part_of, notes)  # noqa: PLW2901
            if is_own(piece.item, dialect):
                kept = mended(piece, notes, dialect)
                made = [] if kept is None else [kept]
            else:
                made, seen = _rendered(piece, notes, dialect)
        pictures += seen
        for new in made:
            if pictures and new.item.get("role") != "tool":
                out += pictures  # they follow an output, so no calls are being joined
                pictures = []
            if out and new.why == "rendered" and _may_join(out[-1], new.item):
                joint = joint or Joint(out[-1], out[-1].item.get("tool_calls", ()))
                joint.add(new, new.item["tool_calls"])
                continue
            if joint is not None:
                out[-1] = joint.piece("tool_calls", out[-1].item)
                joint = None
            out.append(new)
    if joint is not None:
        out[-1] = joint.piece("tool_calls", out[-1].item)
    return _with_call_ids(out + pictures, notes, dialect, set(map(id, pieces)))


# -------------------------------------------------------------------------------- ids


def _with_call_ids(
    pieces: list[Piece], notes: Notes, dialect: ChatDialect, given: Container[int]
) -> list[Piece]:
    """With call ids that the dialect takes, the same on call and output.

    What is not among the ``given`` pieces was made here, and nobody else has it.
    """
    asking = [calls for piece in pieces if (calls := piece.item.get("tool_calls"))]
    if all_fit(dialect.ids, ([call.get("id") for call in calls] for calls in asking)):
        return pieces
    found = []
    places = []
    for place, piece in enumerate(pieces):
        calls = piece.item.get("tool_calls")
        asked = [word(call.get("id")) for call in calls] if type(calls) is list else ()
        answered = [word(piece.item.get("tool_call_id"))] if piece.item.get("role") == "tool" else ()
        if asked or answered:
            found.append((piece, asked, answered))
            places.append(place)
    renamed = fresh_ids(dialect.ids, found, notes)
    for place, (piece, asked, answered), (new_calls, new_outputs) in zip(places, found, renamed, strict=True):
        if new_calls is not asked:
            listed = [
                call if call.get("id") == new else {**call, "id": new}
                for call, new in zip(piece.item["tool_calls"], new_calls, strict=True)
            ]
            pieces[place] = with_key(piece, "tool_calls", listed, given)
        elif new_outputs is not answered:
            pieces[place] = with_key(piece, "tool_call_id", new_outputs[0], given)
    return pieces


def with_key(piece: Piece, key: str, value: Any, given: Container[int]) -> Piece:
    """A piece with a value under a key of its item.

    It is the same one, if it is none of the ``given``: then its item was made for it alone.
    """
    if id(piece) in given:
        return piece.now({**piece.item, key: value}, "mended")
    made: Any = piece.item
    made[key] = value
    return piece


# ----------------------------------------------------------------------- other shapes


def _may_join(last: Piece, new: Item) -> bool:
    """Whether calls go into the message before them, both rendered here."""
    if new["role"] != "assistant" or new.get("content") or last.why != "rendered":
        return False
    # Thoughts stay with their calls.
    return last.item.get("role") == "assistant" and new.keys() <= MESSAGE_KEYS


def _rendered(piece: Piece, notes: Notes, dialect: ChatDialect) -> tuple[list[Piece], list[Piece]]:
    """An item of another shape as messages, and the pictures that follow the outputs."""
    item = piece.item
    if item.get("type") == "function_call_output":
        output, call_id = item.get("output"), item.get("call_id")
        if type(output) is str and output and type(call_id) is str:
            return [piece.now({"role": "tool", "tool_call_id": call_id, "content": output}, "rendered")], []
    neutral = read(piece.item)
    quick = _quick(neutral, piece, notes, dialect)
    if quick:
        return [piece.now(item, "rendered") for item in quick], []
    speaker = dialect.speakers.get(neutral.speaker, neutral.speaker)
    is_model = neutral.speaker == "assistant"
    made: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[Thought] = []

    def say() -> None:
        if parts or calls:
            made.append(_message(speaker, thoughts, parts, calls, dialect))
            parts.clear()
            calls.clear()
            thoughts.clear()

    for block in neutral.blocks:
        match block:
            case Call():
                calls.append(call_entry(block, piece, notes))
            case Output():
                say()
                text = _output_text(block, dialect)
                made.append({"role": "tool", "tool_call_id": block.id, "content": text})
                if block.is_error:
                    tell_error_flag(block, piece, notes)
                pictures += _beside(block, piece, notes, dialect)
            case Text(text=text) if not text.strip():
                pass
            case Thought() if is_model and _is_sent(block, dialect):
                thoughts.append(block)
            case _:
                part = _part(block, speaker, dialect)
                if part is None:
                    tell_unsaid(block, piece, notes)
                    continue
                if calls:
                    notes.add("moved", "output-order", "what was said after a call goes before it", piece)
                parts.append(part)
    say()
    if dialect.thoughts == "any" and is_model and made and (details := reasoning_details(piece.item)):
        made[-1]["reasoning_details"] = details
    if not made:
        tell_nothing_left(piece, notes)
    shown = [piece.now({"role": "user", "content": pictures}, "rendered")] if pictures else []
    return [piece.now(item, "rendered") for item in made], shown


def _quick(neutral: Neutral, piece: Piece, notes: Notes, dialect: ChatDialect) -> list[dict[str, Any]]:
    """Messages that say texts and then calls, or give outputs of text; nothing for any other.

    This says nothing that the long way does not say too. It only says it sooner.
    """
    texts: list[str] = []
    calls: list[Call] = []
    outputs: list[dict[str, Any]] = []
    for block in neutral.blocks:
        if type(block) is Text:
            if calls or outputs or not block.text.strip():
                return []
            texts.append(block.text)
        elif type(block) is Call:
            if outputs:
                return []
            calls.append(block)
        elif type(block) is Output and len(block.blocks) == 1 and not (texts or calls or block.is_error):
            shown = block.blocks[0]
            if type(shown) is not Text or not shown.text:
                return []
            outputs.append({"role": "tool", "tool_call_id": block.id, "content": shown.text})
        else:
            return []
    if not (texts or calls) or (dialect.thoughts == "any" and reasoning_details(piece.item)):
        return outputs
    content: Any = dialect.nothing
    if len(texts) == 1:
        content = texts[0]
    elif texts:
        content = [{"type": "text", "text": text} for text in texts]
    message = {"role": dialect.speakers.get(neutral.speaker, neutral.speaker), "content": content}
    if calls:
        message["tool_calls"] = [call_entry(call, piece, notes) for call in calls]
    return [message]


def _message(
    speaker: str,
    thoughts: list[Thought],
    parts: list[dict[str, Any]],
    calls: list[dict[str, Any]],
    dialect: ChatDialect,
) -> dict[str, Any]:
    """One message of what was thought, said and called."""
    if thoughts and dialect.thoughts == "thinking":
        led = [{"type": "thinking", "thinking": [{"type": "text", "text": one.text}]} for one in thoughts]
        message: dict[str, Any] = {"role": speaker, "content": [*led, *parts]}
    else:
        message = {"role": speaker, "content": _content(parts, dialect.nothing)}
    if calls:
        message["tool_calls"] = list(calls)
    if thoughts and dialect.thoughts != "thinking":
        key = thoughts[0].key if dialect.thoughts == "any" else dialect.thoughts
        message[key] = "\n".join(thought.text for thought in thoughts)
    return message


def _is_sent(thought: Thought, dialect: ChatDialect) -> bool:
    """Whether a thought has a place in the messages of the dialect."""
    if not thought.text.strip() or thought.redacted:
        return False
    return not thought.signature if dialect.thoughts == "thinking" else bool(thought.key)


def _content(parts: list[dict[str, Any]], nothing: Any) -> Any:
    """Text, or a list of parts where there is more than one."""
    if not parts:
        return nothing
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return list(parts)


def _output_text(output: Output, dialect: ChatDialect) -> Any:
    """The text of an output; a list of parts where there is more than one."""
    texts = [
        {"type": "text", "text": said}
        for block in output.blocks
        if (said := block.text if isinstance(block, Text | File) else None)
    ]
    if texts:
        return _content(texts, None)
    shown = [block for block in output.blocks if isinstance(block, Image | File)]
    if any(_part(block, "user", dialect) is not None for block in shown):
        return SEE_BELOW
    return NOT_SHOWN if shown else NO_OUTPUT


def _beside(output: Output, piece: Piece, notes: Notes, dialect: ChatDialect) -> list[dict[str, Any]]:
    """What of an output only a message of the user can show."""
    shown = []
    for block in output.blocks:
        if isinstance(block, Text) or (isinstance(block, File) and block.text is not None):
            continue
        part = _part(block, "user", dialect)
        if part is None:
            tell_unsaid(block, piece, notes)
        else:
            shown.append(part)
            notes.add("moved", "part-type", "what is no text goes after the outputs", piece, call=output.id)
    return shown


def _part(block: Any, speaker: str, dialect: ChatDialect) -> dict[str, Any] | None:
    """A block as a part of a message; None where there is no such part."""
    match block:
        case Text(text=text) | File(text=str(text)):
            return {"type": "text", "text": text}
        case _ if speaker != "user":
            return None
        case Image(detail=detail) if "image_url" in dialect.parts["user"]:
            link = {"url": block.link} if detail is None else {"url": block.link, "detail": detail}
            return {"type": "image_url", "image_url": link}
        case File() if dialect.documents:
            return _document(block, dialect)
    return None


def _document(file: File, dialect: ChatDialect) -> dict[str, Any] | None:
    link = None if file.data is None else f"data:{file.media_type};base64,{file.data}"
    if dialect.documents == "file":
        if link is None:
            return None
        return {"type": "file", "file": {"filename": file.name or "document", "file_data": link}}
    if link is None:
        link = file.url
    if link is None:
        return None
    made = {"type": "document_url", "document_url": link}
    return made if file.name is None else {**made, "document_name": file.name}
