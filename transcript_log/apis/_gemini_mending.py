"""Contents of Gemini's own shape brought under the rules of ``generateContent``, each where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from .._pieces import Piece
from ..items.gemini import PART_KINDS, in_camel, response_of
from ._base import Notes, word
from ._gemini_rules import NAME, PART_KEYS, is_blob, is_file, is_signature, is_spelled
from ._neutral import Call, arguments_object
from ._telling import tell_arguments, tell_nothing_left

__all__ = ["mended", "safe_name"]

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.:-]")
_DATA_URL: Final = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


def safe_name(name: str) -> str:
    """A tool's name as Gemini takes it; the same one if it does."""
    if NAME.fullmatch(name):
        return name
    kept = _UNSAFE.sub("_", name) or "tool"
    if not (kept[0].isalpha() or kept[0] == "_"):
        kept = f"_{kept}"
    if len(kept) <= 64:
        return kept
    return f"{kept[:55]}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def mended(piece: Piece, notes: Notes, *, is_newer: bool) -> tuple[list[Piece], list[Any]]:
    """A content as the API takes it, and what of its outputs goes after them.

    It comes apart where outputs stand among other things; the same piece where it is right.
    """
    item = piece.item
    given = item.get("parts")
    given = given if type(given) is list else []
    speaker = item.get("role")
    is_model = speaker == "model" or any(
        type(part) is dict and ("functionCall" in part or "function_call" in part) for part in given
    )
    parts: list[Any] = []
    shown: list[Any] = []
    is_same = speaker in ("user", "model")
    for part in given:
        if type(part) is dict and len(part) == 1:
            said = part.get("text")
            if type(said) is str and said and not said.isspace():
                parts.append(part)
                continue
        made = list(_Part(part, piece, notes).mended(shown, is_model=is_model, is_newer=is_newer))
        is_same = is_same and len(made) == 1 and made[0] is part
        parts += made
    if not parts:
        tell_nothing_left(piece, notes)
        return [], shown
    extra = [key for key in item if key not in ("role", "parts")]
    if extra:
        notes.add("rewritten", "foreign-key", f"the content goes without {', '.join(extra)}", piece)
    answers = [part for part in parts if "functionResponse" in part]
    rest = [part for part in parts if "functionResponse" not in part] if answers else parts
    role = "model" if is_model and rest else "user"
    if role != speaker:
        notes.add("rewritten", "role", f"the content of {speaker!r} goes as the {role}'s", piece)
    if answers and rest:
        notes.add("moved", "output-alone", "what stands beside outputs goes after them", piece)
    elif is_same and not extra and role == speaker:
        return [piece], shown
    contents = [("user", answers), (role, rest)]
    why = "split" if answers and rest else "mended"
    return [
        piece.now({"role": each, "parts": held}, why)  # type: ignore[arg-type]  # both are a Why
        for each, held in contents
        if held
    ], shown


class _Part:
    """One part of a content on its way under the rules."""

    def __init__(self, part: Any, piece: Piece, notes: Notes) -> None:
        self._part = part
        self._piece = piece
        self._notes = notes

    def _leave_out(self, rule: str, why: str) -> None:
        item = self._part if type(self._part) is dict else self._piece.item
        self._notes.add("left-out", rule, why, self._piece, item=item)

    def _tell(self, rule: str, why: str, call: str | None = None) -> None:
        self._notes.add("rewritten", rule, why, self._piece, call=call, item=self._part)

    def mended(self, shown: list[Any], *, is_model: bool, is_newer: bool) -> Iterator[dict[str, Any]]:
        """The parts that it becomes: itself, if it is right; none, if it has to go."""
        part = self._part
        if type(part) is not dict:
            self._leave_out("part-type", f"a part is no object but {type(part).__name__}")
            return
        if not is_spelled(part):
            part = in_camel(part)
            self._tell("spelling", "a part goes under the names of the JSON")
        if not part.keys() <= PART_KEYS:
            extra = [key for key in part if key not in PART_KEYS]
            if len(extra) < len(part):
                self._tell("foreign-key", f"a part goes without {', '.join(extra)}")
            part = {key: value for key, value in part.items() if key in PART_KEYS}
        signature = part.get("thoughtSignature")
        if signature is not None and not is_signature(signature):
            self._tell("signature-bytes", "a part goes without a signature that is no base64")
            part = {key: value for key, value in part.items() if key != "thoughtSignature"}
            signature = None
        if part.get("thought") is True and not is_model:
            self._leave_out("part-type", "a content of the user holds no thought")
            return
        kinds = [kind for kind in PART_KINDS if part.get(kind) is not None]
        if not kinds and signature:
            self._tell("part-type", "the signature goes with an empty text")
            yield {"text": "", **part}
        elif not kinds:
            self._leave_out("part-type", "a part holds nothing that is known")
        elif len(kinds) == 1:
            yield from self._held(part, kinds[0], shown, is_newer=is_newer)
        else:
            self._tell("part-type", "a part that holds several things goes as several")
            beside = {key: value for key, value in part.items() if key not in PART_KINDS}
            for kind in kinds:
                yield from self._held({kind: part[kind], **beside}, kind, shown, is_newer=is_newer)
                beside = {}

    def _held(
        self, part: dict[str, Any], kind: str, shown: list[Any], *, is_newer: bool
    ) -> Iterator[dict[str, Any]]:
        """A part that holds one thing."""
        held = part[kind]
        new: Any = held
        if kind == "text":
            if type(held) is not str:
                self._leave_out("part-type", "a text is no text")
                return
            if not held.strip() and not part.get("thoughtSignature"):
                self._leave_out("blank-text", "a text was blank")
                return
        elif type(held) is not dict:
            self._leave_out("part-type", f"a {kind} is no object")
            return
        elif kind == "functionCall":
            new = self._call(held)
        elif kind == "functionResponse":
            new = self._output(held, shown, is_newer=is_newer)
        elif kind == "inlineData" and not is_blob(held):
            new = _as_blob(held)
            if new is None:
                self._leave_out("blob", "there are no bytes to send")
                return
            self._tell("blob", "the bytes go as base64 with their media type")
        elif kind == "fileData" and not is_file(held):
            self._leave_out("blob", "the file has no URI")
            return
        yield part if new is held else {**part, kind: new}

    def _call(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        name, call_id = call.get("name"), call.get("id")
        label = word(call_id) or word(name)
        safe = safe_name(word(name))
        if safe != name:
            self._tell("name", f"the tool {name!r} goes as {safe!r}", label)
            call = {**call, "name": safe}
        if call_id is not None and type(call_id) is not str:
            self._tell("call-id", "the call goes without an id that is no text", label)
            call = {key: value for key, value in call.items() if key != "id"}
        arguments = call.get("args")
        if arguments is not None and type(arguments) is not dict:
            value, _ = arguments_object(Call(label, safe, arguments))
            tell_arguments(label, self._piece, self._notes)
            call = {**call, "args": value}
        return call

    def _output(self, output: Mapping[str, Any], shown: list[Any], *, is_newer: bool) -> Mapping[str, Any]:
        call_id = output.get("id")
        label = word(call_id) or word(output.get("name"))
        if call_id is not None and type(call_id) is not str:
            self._tell("call-id", "the output goes without an id that is no text", label)
            output = {key: value for key, value in output.items() if key != "id"}
        name = safe_name(word(output.get("name")))
        if name != output.get("name"):
            self._tell("output-name", f"the output is of {name!r}", label)
            output = {**output, "name": name}
        response = output.get("response")
        if type(response) is not dict:
            told = "" if response is None else response
            self._tell("output-content", "what the tool gave back goes in an object", label)
            output = {**output, "response": response_of(told, is_error=False)}
        held = output.get("parts")
        if held in (None, []):
            return output
        right = [one for one in held if _is_shown(one)] if type(held) is list else []
        if is_newer and right == held:
            return output
        output = {key: value for key, value in output.items() if key != "parts"}
        if type(held) is not list or len(right) < len(held):
            self._leave_out("output-media", "what in the output is neither bytes nor a file is not sent")
        if is_newer and right:
            return {**output, "parts": right}
        if right:
            why = "what cannot stand in the output goes after the outputs"
            self._notes.add("moved", "output-media", why, self._piece, call=label)
            shown += right
        return output


def _is_shown(part: Any) -> bool:
    return type(part) is dict and (is_blob(part.get("inlineData")) or is_file(part.get("fileData")))


def _as_blob(held: Mapping[str, Any]) -> dict[str, Any] | None:
    """Bytes that are given as a URL, or without a media type; None if there are none."""
    data, media_type = word(held.get("data")), word(held.get("mimeType"))
    found = _DATA_URL.fullmatch(data)
    if found:
        media_type, data = found[1] or media_type, found[2]
    new = {**held, "mimeType": media_type or "image/png", "data": data}
    return new if is_blob(new) else None
