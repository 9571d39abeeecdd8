"""Items in the words of a dialect of Chat Completions: its own mended, others said anew."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final

from .. import items
from .._json import is_json
from .._pieces import Joint, Piece
from ..entries import Item
from ..items.shapes import shape_of
from ._base import Notes, all_fit, fresh_ids, word
from ._chat_checking import body_of, is_blank, is_right, may_be_empty
from ._dialect import FOREIGN_KEYS, ChatDialect
from ._neutral import Block, Call, File, Image, Neutral, Output, Text, Thought, arguments_text, read
from ._signed import reasoning_details
from ._telling import (
    in_own_shape,
    is_elsewhere,
    named,
    tell_arguments,
    tell_error_flag,
    tell_nothing_left,
    tell_unsaid,
)

__all__ = ["NOT_SHOWN", "NO_OUTPUT", "SEE_BELOW", "render_chat", "with_key"]

NO_OUTPUT: Final = "(no output)"
"""Stands where a tool gave back nothing and an API wants some text."""

SEE_BELOW: Final = "(what it gave back follows below)"
"""Stands where a tool gave back pictures alone, which only a message of the user can show."""

NOT_SHOWN: Final = "(what it gave back cannot be shown here)"
"""Stands where a tool gave back pictures alone, and nobody can show them."""

_MESSAGE_KEYS: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "refusal"})
"""What is sent of a message that pi wrote."""


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
            if _is_own(piece.item, dialect):
                mended = _mended(piece, notes, dialect)
                made = [] if mended is None else [mended]
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


# ------------------------------------------------------------------------ one's own items


def _is_own(item: Item, dialect: ChatDialect) -> bool:
    """Whether an item is a message of this dialect, so that it is mended where it stands."""
    speaker = item.get("role")
    if type(speaker) is not str or speaker not in dialect.parts:
        return False
    if item.get("type", "message") != "message" or "parts" in item:
        return False
    if item.get("tool_calls") and speaker != "assistant":
        return False
    if type(item.get("refusal")) is str and item["refusal"] and "refusal" not in dialect.parts["assistant"]:
        return False  # it has no place of its own there, and goes as text
    content = item.get("content")
    if type(content) is list:
        return all(dialect.takes(part, speaker) for part in content)
    return content is None or type(content) is str


def _mended(piece: Piece, notes: Notes, dialect: ChatDialect) -> Piece | None:
    """A message under the rules; None if nothing is left of it."""
    item = piece.item
    speaker = item["role"]
    is_foreign = shape_of(item) == "pi"
    new = dict(item)
    if is_foreign:
        new = {key: value for key, value in item.items() if key in _MESSAGE_KEYS}
    if foreign := dialect.foreign(new, speaker):
        if is_foreign or notes.asks("foreign-key"):
            new = {key: value for key, value in new.items() if key not in foreign}
        if not is_foreign and notes.asks("foreign-key"):
            gone = ", ".join(key for key in item if key in foreign)
            is_loss = not foreign <= FOREIGN_KEYS
            why = f"the message goes without {gone}"
            notes.add("rewritten", "foreign-key", why, piece, item=item if is_loss else None)
    name = item.get("name")
    if speaker == "tool" and dialect.keys is not None and "name" in new and not dialect.names.fits(name):
        if name is None:
            del new["name"]
        elif notes.asks("name"):
            new["name"] = dialect.names.safe(word(name))
            notes.add("rewritten", "name", f"the tool {name!r} goes as {new['name']!r}", piece)
    calls = item.get("tool_calls")
    if calls is not None:
        mended = _mended_calls(calls if type(calls) is list else [], piece, notes, dialect)
        if not mended:
            del new["tool_calls"]
            notes.add("rewritten", "calls-empty", "the message goes without its empty list of calls", piece)
        elif mended is not calls:
            new["tool_calls"] = mended
    content = item.get("content")
    if type(content) is list:
        said = _mended_parts(content, piece, notes, dialect)
        if said is not content:
            new["content"] = said
        if is_foreign and any("textSignature" in part for part in said):
            new["content"] = [{k: v for k, v in part.items() if k != "textSignature"} for part in said]
    elif type(content) is str and content.isspace() and speaker != "tool" and notes.asks("blank-text"):
        new["content"] = dialect.nothing
        notes.add("left-out", "blank-text", "the text was blank", piece, item=item)
    if new.get("content") == []:
        new["content"] = dialect.nothing
    refusal = new.get("refusal")
    if speaker == "assistant" and not new.get("content") and type(refusal) is str and refusal.strip():
        new["content"] = [{"type": "refusal", "refusal": refusal}]
        del new["refusal"]
        notes.add("rewritten", "content", "the refusal goes as the content", piece)
    if not new.get("content") and not may_be_empty(new, speaker):
        if speaker != "tool":
            notes.add("left-out", "content", "the message is empty", piece, item=item)
            return None
        if new.get("content") != "":
            new["content"] = NO_OUTPUT
            notes.add(
                "rewritten", "content", "the tool gave back nothing", piece, call=item.get("tool_call_id")
            )
    same = len(new) == len(item) and all(new.get(key) is value for key, value in item.items())
    if same:
        return piece
    return piece.now(new, "rendered" if is_foreign else "mended")


def _mended_parts(content: list[Any], piece: Piece, notes: Notes, dialect: ChatDialect) -> list[Any]:
    """Parts without blank text and keys that are not theirs; the same list if there are none."""
    said = content
    if notes.asks("blank-text"):
        kept = [part for part in content if not is_blank(part)]
        if len(kept) < len(content):
            notes.add("left-out", "blank-text", "blank text was taken out", piece, item=piece.item)
            said = kept
    if dialect.part_keys and notes.asks("foreign-key"):
        spare = {key for part in said for key in dialect.spare(part)}
        if spare:
            kept = []
            for part in said:
                extra = dialect.spare(part)
                kept.append({k: v for k, v in part.items() if k not in extra} if extra else part)
            said = kept
            if shape_of(piece.item) != "pi":
                gone = ", ".join(sorted(map(str, spare)))
                why = f"its parts go without {gone}"
                notes.add("rewritten", "foreign-key", why, piece, item=piece.item)
    return said


def _mended_calls(calls: list[Any], piece: Piece, notes: Notes, dialect: ChatDialect) -> list[Any]:
    """Calls under the rules; the same list if they are under them."""
    out = []
    parts = {part.place: part for part in items.tool_calls({"role": "assistant", "tool_calls": calls})}
    for place, call in enumerate(calls):
        part = parts.get(place)
        found = body_of(call, dialect)
        if part is not None and found is None and part.kind == "custom" and type(call.get("custom")) is dict:
            given = Call(part.id or "", part.name, part.arguments, "custom")
            out.append(_call_entry(given, piece, notes))
            continue
        if part is None or found is None:
            notes.add("left-out", "foreign-shape", "an entry of the calls is no call", piece, item=piece.item)
            continue
        key, old = found
        body = old
        if not dialect.names.fits(part.name) and notes.asks("name"):
            name = dialect.names.safe(part.name)
            body = {**body, "name": name}
            notes.add("rewritten", "name", f"the tool {part.name!r} goes as {name!r}", piece, call=part.id)
        arguments = body.get("arguments")
        if (
            key == "function"
            and (type(arguments) is not str or not is_json(arguments))
            and notes.asks("arguments")
        ):
            text, _ = arguments_text(Call(part.id or "", part.name, arguments))
            body = {**body, "arguments": text}
            notes.add(
                "rewritten", "arguments", "the arguments go as JSON", piece, call=part.id, item=piece.item
            )
        new = call if body is old else {**call, key: body}
        out.append(_with_call_keys(new, key, piece, notes, dialect))
    return calls if len(out) == len(calls) and all(a is b for a, b in zip(out, calls, strict=True)) else out


def _with_call_keys(
    call: dict[str, Any], kind: str, piece: Piece, notes: Notes, dialect: ChatDialect
) -> dict[str, Any]:
    """A call without the keys that the dialect does not know."""
    known = dialect.call_keys
    if known is None or not notes.asks("foreign-key"):
        return call
    body = call[kind]
    extra = {*(call.keys() - known), *(body.keys() - {"name", "arguments"})}
    if not extra:
        return call
    gone = ", ".join(sorted(map(str, extra)))
    why = f"the call goes without {gone}"
    notes.add("rewritten", "foreign-key", why, piece, call=call.get("id"), item=piece.item)
    kept = {key: value for key, value in call.items() if key in known}
    return {**kept, kind: {key: value for key, value in body.items() if key in ("name", "arguments")}}


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
    return last.item.get("role") == "assistant" and new.keys() <= _MESSAGE_KEYS


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
                calls.append(_call_entry(block, piece, notes))
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
        message["tool_calls"] = [_call_entry(call, piece, notes) for call in calls]
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


def _call_entry(call: Call, piece: Piece, notes: Notes) -> dict[str, Any]:
    name = named(call, piece, notes)
    text, is_object = arguments_text(call)
    if not is_object:
        tell_arguments(call.id, piece, notes)
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": text}}


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
