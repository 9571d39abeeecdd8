"""Messages of a dialect of Chat Completions, mended where they stand."""

from __future__ import annotations

from typing import Any, Final

from .. import items
from .._json import is_json
from .._pieces import Piece
from ..entries import Item
from ..items.shapes import shape_of
from ._base import Notes, word
from ._chat_checking import body_of, is_blank, may_be_empty
from ._dialect import FOREIGN_KEYS, ChatDialect
from ._neutral import Call, arguments_text
from ._telling import named, tell_arguments

__all__ = ["MESSAGE_KEYS", "NO_OUTPUT", "call_entry", "is_own", "mended"]

NO_OUTPUT: Final = "(no output)"
"""Stands where a tool gave back nothing and an API wants some text."""

MESSAGE_KEYS: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "refusal"})
"""What is sent of a message that pi wrote."""


def is_own(item: Item, dialect: ChatDialect) -> bool:
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


def mended(piece: Piece, notes: Notes, dialect: ChatDialect) -> Piece | None:
    """A message under the rules; None if nothing is left of it."""
    item = piece.item
    speaker = item["role"]
    is_foreign = shape_of(item) == "pi"
    new = dict(item)
    if is_foreign:
        new = {key: value for key, value in item.items() if key in MESSAGE_KEYS}
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
            out.append(call_entry(given, piece, notes))
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


def call_entry(call: Call, piece: Piece, notes: Notes) -> dict[str, Any]:
    name = named(call, piece, notes)
    text, is_object = arguments_text(call)
    if not is_object:
        tell_arguments(call.id, piece, notes)
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": text}}
