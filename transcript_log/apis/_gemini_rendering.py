"""Items of other shapes as contents of Gemini."""

from __future__ import annotations

from typing import Any, Final

from .._pieces import Piece
from ._base import Notes
from ._gemini_mending import safe_name
from ._gemini_rules import is_blob, is_signature
from ._neutral import Call, File, Image, Output, Text, Thought, arguments_object, read
from ._telling import tell_arguments, tell_nothing_left, tell_unsaid

__all__ = ["rendered"]

_TYPES: Final = {
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "pdf": "application/pdf",
    "png": "image/png",
    "webp": "image/webp",
}
"""The media types of links, by how they end."""


def rendered(piece: Piece, notes: Notes, *, is_newer: bool) -> tuple[list[Piece], list[Any]]:
    """An item of another shape as contents, and what of its outputs goes after them.

    Outputs still lack what their calls tell: an id that is another there, and the name.
    """
    neutral = read(piece.item)
    is_model = neutral.speaker == "assistant"
    answers: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for block in neutral.blocks:
        if isinstance(block, Text):
            if block.text.strip():
                parts.append(_marked({"text": block.text}, block.signature, is_model=is_model))
        elif isinstance(block, Call):
            parts.append(_call_part(block, piece, notes))
        elif isinstance(block, Output):
            answers.append(_output_part(block, shown, piece, notes, is_newer=is_newer))
        else:
            said = _said(block, is_model=is_model)
            if said is None:
                tell_unsaid(block, piece, notes)
            else:
                parts.append(said)
    if neutral.speaker in ("system", "developer") and parts:
        notes.add("rewritten", "role", f"the {neutral.speaker} message goes as the user's", piece)
    made = []
    if answers:
        made.append(piece.now({"role": "user", "parts": answers}, "rendered"))
    if parts:
        made.append(piece.now({"role": "model" if is_model else "user", "parts": parts}, "rendered"))
    if not made:
        tell_nothing_left(piece, notes)
    return made, shown


def _marked(part: dict[str, Any], mark: str, *, is_model: bool) -> dict[str, Any]:
    """A part with the signature that it came with."""
    if mark and is_model and is_signature(mark):
        part["thoughtSignature"] = mark
    return part


def _call_part(call: Call, piece: Piece, notes: Notes) -> dict[str, Any]:
    name = safe_name(call.name)
    if name != call.name:
        notes.add("rewritten", "name", f"the tool {call.name!r} goes as {name!r}", piece, call=call.id)
    value, is_object = arguments_object(call)
    if not is_object:
        tell_arguments(call.id, piece, notes)
    part = {"functionCall": {"id": call.id, "name": name, "args": value}}
    return _marked(part, call.signature, is_model=True) if call.signature else part


def _output_part(
    output: Output, shown: list[dict[str, Any]], piece: Piece, notes: Notes, *, is_newer: bool
) -> dict[str, Any]:
    """An output as a part; what cannot stand in it is added to ``shown``."""
    texts: list[str] = []
    held: list[dict[str, Any]] = []
    for block in output.blocks:
        if isinstance(block, Text):
            texts.append(block.text)
            continue
        said = _said(block, is_model=False)
        if said is None:
            tell_unsaid(block, piece, notes)
        elif "text" in said:
            texts.append(said["text"])
        elif is_newer and "inlineData" in said:
            held.append(said)
        else:
            shown.append(said)
            notes.add("moved", "output-media", _BESIDE, piece, call=output.id)
    told = texts[0] if len(texts) == 1 else "\n".join(texts)
    answer: dict[str, Any] = {
        "id": output.id,
        "name": safe_name(output.name or ""),
        "response": {"error": told} if output.is_error else {"output": told},
    }
    if held:
        answer["parts"] = held
    return {"functionResponse": answer}


_BESIDE: Final = "what cannot stand in the output goes after the outputs"


def _said(block: Any, *, is_model: bool) -> dict[str, Any] | None:
    match block:
        case File(text=str(text)):
            return {"text": text} if text.strip() else None
        case Thought(text=text, signature=str(mark), key="") if is_model:
            if not (is_signature(mark) if mark else text.strip()):
                return None  # it is of another API, or says nothing
            return _marked({"text": text, "thought": True}, mark, is_model=is_model)
        case Image(url=str(url)):
            return _linked(url)
        case Image(data=str(data), media_type=media_type):
            return _blob(data, media_type, None)
        case File(data=str(data), media_type=media_type, name=name):
            return _blob(data, media_type, name)
        case File(url=str(url)):
            return _linked(url)
    return None


def _blob(data: str, media_type: str, name: str | None) -> dict[str, Any] | None:
    held = {"mimeType": media_type, "data": data}
    if not is_blob(held):
        return None
    return {"inlineData": held if name is None else {**held, "displayName": name}}


def _linked(url: str) -> dict[str, Any] | None:
    media_type = _TYPES.get(url.partition("?")[0].rpartition(".")[2].lower())
    held = {"fileUri": url} if media_type is None else {"mimeType": media_type, "fileUri": url}
    return {"fileData": held} if url else None
