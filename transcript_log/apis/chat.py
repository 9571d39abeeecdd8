"""OpenAI Chat Completions, and those who serve the same API: ``openai-chat``.

Where the servers of this API differ, the stricter one is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .. import items
from .._json import is_json
from .._pairing import Order
from .._pieces import Joint, Piece
from ..entries import Item
from ..findings import Finding
from ..items.shapes import shape_of
from ._base import IdRule, Notes, Rule, fresh_ids, has_surrogate, rule_of, safe_name, word
from ._neutral import Block, Call, File, Image, Output, Text, Thought, arguments_text, read
from ._signed import reasoning_details
from ._telling import in_own_shape, named, tell_arguments, tell_error_flag, tell_nothing_left, tell_unsaid

__all__ = ["NO_OUTPUT", "OPENAI_CHAT", "SEE_BELOW", "OpenAIChat"]

NO_OUTPUT: Final = "(no output)"
"""Stands where a tool gave back nothing and an API wants some text."""

SEE_BELOW: Final = "(what it gave back follows below)"
"""Stands where a tool gave back pictures alone, which only a message of the user can show."""

_API: Final = "https://github.com/openai/openai-python/tree/main/src/openai/types/chat"


_rule: Final = rule_of(_API)


_RULES: Final[Mapping[str, Rule]] = dict(
    [
        _rule(
            "empty-input",
            "There is at least one message.",
            "https://github.com/CopilotKit/CopilotKit/issues/529",
            "2024-08-11",
        ),
        _rule(
            "output-missing",
            "The tool messages for all calls of a message stand directly after it.",
            "https://github.com/BerriAI/litellm/issues/10083",
            "2025-04-17",
        ),
        _rule(
            "output-without-call",
            "A tool message answers a call of the message before it.",
            "https://github.com/smarter-sh/smarter/issues/264",
            "2025-01-22",
        ),
        _rule(
            "output-twice",
            "A call has one tool message.",
            "https://github.com/agno-agi/agno/issues/5116",
            "2025-01-01",
        ),
        _rule("call-twice", "The calls of one message have different ids."),
        _rule(
            "call-id",
            "A call id has 1 to 40 characters.",
            "https://github.com/vercel/ai/issues/8132",
            "2025-08-18",
        ),
        _rule(
            "calls-empty",
            "A message without calls has no list of them.",
            "https://github.com/openai/openai-node/pull/1341",
            "2025-02-20",
        ),
        _rule(
            "content",
            "A message has content; only one of an assistant with calls may have none.",
            "https://github.com/docker/docker-agent/issues/63",
            "2025-07-23",
        ),
        _rule(
            "blank-text",
            "What is said is more than white space.",
            "https://github.com/NousResearch/hermes-agent/issues/63983",
            warning=True,
        ),
        _rule(
            "part-type",
            "The parts of a message are of the types that its role may have.",
            "https://github.com/OpenHands/OpenHands/issues/7700",
            "2025-04-01",
        ),
        _rule(
            "arguments",
            "The arguments of a function call are JSON text; many servers read them again.",
            "https://github.com/justrach/codegraff/issues/752",
            warning=True,
        ),
        _rule(
            "name",
            "A tool's name is of 1 to 64 letters, digits, _ and -.",
            "https://github.com/mcp-use/mcp-use/issues/90",
            "2025-05-01",
        ),
        _rule("foreign-shape", "A message has a role of this API, and is no item of another."),
        _rule(
            "foreign-key",
            "A message bears no keys of another API's messages; strict servers refuse unknown ones.",
            "https://github.com/vllm-project/vllm/pull/10463",
            "2024-11-19",
            warning=True,
        ),
        _rule(
            "surrogate",
            "Text can be sent as UTF-8.",
            "https://github.com/anthropics/claude-code/issues/56064",
        ),
    ]
)

_IDS: Final = IdRule(re.compile(r"[^\ud800-\udfff]+"), 40, unique=False)
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PARTS: Final[Mapping[Any, frozenset[str]]] = {
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "system": frozenset({"text"}),
    "developer": frozenset({"text"}),
    "tool": frozenset({"text"}),
    "function": frozenset({"text"}),
}
_FOREIGN_KEYS: Final = frozenset(
    {
        "api",
        "container",
        "errorMessage",
        "id",
        "isError",
        "model",
        "phase",
        "provider",
        "responseId",
        "status",
        "stopReason",
        "stop_details",
        "stop_reason",
        "stop_sequence",
        "timestamp",
        "toolCallId",
        "toolName",
        "type",
        "usage",
    }
)
"""Keys that the messages of other APIs bear, and that no Chat message has."""

_MESSAGE_KEYS: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "refusal"})
"""What is sent of a message that pi wrote."""

_CALL_KEYS: Final = ("function", "custom")


class OpenAIChat:
    """The rules and the words of Chat Completions."""

    name: Final = "openai-chat"
    items_key: Final = "messages"
    order: Final[Order] = "chat"
    rules: Final = _RULES

    # ------------------------------------------------------------------------- checking

    def check(self, items: Sequence[Item], *, paused: bool = False) -> Iterator[Finding]:  # noqa: ARG002
        """See :meth:`Api.check`."""
        if not items:
            yield _RULES["empty-input"].at(None, "there is nothing to send")
        waiting: dict[str, bool] = {}
        asked = -1
        for place, message in enumerate(items):
            speaker = message.get("role")
            if speaker == "tool":
                call_id = message.get("tool_call_id")
                if type(call_id) is not str or call_id not in waiting:
                    why = "no call of the message before it has this id"
                    yield _RULES["output-without-call"].at(place, why, str(call_id))
                elif waiting[call_id]:
                    yield _RULES["output-twice"].at(place, "the call has an output already", call_id)
                else:
                    waiting[call_id] = True
            elif waiting:
                yield from _unanswered(asked, waiting)
                waiting = {}
            if not _is_plain(message, speaker):
                yield from _check_message(place, message, speaker)
            calls = message.get("tool_calls")
            if calls is not None and speaker != "assistant":
                yield _RULES["foreign-shape"].at(place, f"a message of the {speaker} has no calls")
            elif calls is not None:
                asked = place
                if type(calls) is not list or not calls:
                    yield _RULES["calls-empty"].at(place, "the list of calls is empty")
                else:
                    for call in calls:
                        yield from _check_call(place, call, waiting)
            if has_surrogate(message):
                yield _RULES["surrogate"].at(place, "some text holds half a character")
        yield from _unanswered(asked, waiting)

    # ------------------------------------------------------------------------ rendering

    def render(self, pieces: Sequence[Piece], notes: Notes, *, paused: bool = False) -> list[Piece]:  # noqa: ARG002
        """See :meth:`Api.render`."""
        out: list[Piece] = []
        pictures: list[Piece] = []
        joint: Joint | None = None  # what the last piece of ``out`` is a part of
        for piece in pieces:
            piece = in_own_shape(piece, "chat", _is_own_part, _part_of, notes)  # noqa: PLW2901
            if _is_own(piece.item):
                mended = _mended(piece, notes)
                made = [] if mended is None else [mended]
                seen: list[Piece] = []
            else:
                made, seen = _rendered(piece, notes)
            pictures += seen
            for new in made:
                if pictures and new.item.get("role") != "tool":
                    out += pictures  # they follow an output, so no calls are being joined
                    pictures = []
                if out and new.why == "rendered" == out[-1].why and _may_join(out[-1].item, new.item):
                    joint = joint or Joint(out[-1], out[-1].item.get("tool_calls", ()))
                    joint.add(new, new.item["tool_calls"])
                    continue
                if joint is not None:
                    out[-1] = joint.piece("tool_calls", out[-1].item)
                    joint = None
                out.append(new)
        if joint is not None:
            out[-1] = joint.piece("tool_calls", out[-1].item)
        return _with_call_ids(out + pictures, notes)


def _unanswered(place: int, waiting: Mapping[str, bool]) -> Iterator[Finding]:
    for call_id, is_answered in waiting.items():
        if not is_answered:
            yield _RULES["output-missing"].at(place, "the call has no tool message right after it", call_id)


def _is_plain(message: Item, speaker: Any) -> bool:
    """Whether a message is text under its role, and plainly right."""
    content = message.get("content")
    return (
        type(content) is str
        and bool(content)
        and not content.isspace()
        and type(speaker) is str
        and speaker in _PARTS
        and _FOREIGN_KEYS.isdisjoint(message)
    )


def _check_message(place: int, message: Item, speaker: Any) -> Iterator[Finding]:
    allowed = _PARTS.get(speaker) if type(speaker) is str else None
    if allowed is None or (type(message.get("type")) is str and message["type"] != "message"):
        yield _RULES["foreign-shape"].at(place, f"it is no message of this API (role {speaker!r})")
        return
    if not _FOREIGN_KEYS.isdisjoint(message):
        keys = ", ".join(sorted(_FOREIGN_KEYS & message.keys()))
        yield _RULES["foreign-key"].at(place, f"the message bears {keys}")
    content = message.get("content")
    if type(content) is list and content:
        for part in content:
            if _is_blank(part):
                yield _RULES["blank-text"].at(place, "a text is blank")
            if type(part) is not dict or word(part.get("type")) not in allowed:
                named = part.get("type") if type(part) is dict else type(part).__name__
                yield _RULES["part-type"].at(place, f"a message of the {speaker} has no part {named!r}")
                break
    elif not (type(content) is str and (content or speaker == "tool")) and not _may_be_empty(
        message, speaker
    ):
        yield _RULES["content"].at(place, "the message is empty")
    elif type(content) is str and content.isspace() and speaker != "tool":
        yield _RULES["blank-text"].at(place, "the text is blank")
    elif content == []:
        yield _RULES["content"].at(place, "the list of parts is empty")


def _is_blank(part: Any) -> bool:
    """Whether a part is a text of white space."""
    if type(part) is not dict or part.get("type") != "text":
        return False
    said = part.get("text")
    return type(said) is str and not said.strip()


def _may_be_empty(message: Item, speaker: Any) -> bool:
    """Whether a message says enough without content."""
    return speaker == "assistant" and bool(
        message.get("tool_calls") or message.get("function_call") or message.get("audio")
    )


def _check_call(place: int, call: Any, waiting: dict[str, bool]) -> Iterator[Finding]:
    body = (
        next((call[key] for key in _CALL_KEYS if type(call.get(key)) is dict), None)
        if type(call) is dict
        else None
    )
    if body is None:
        yield _RULES["foreign-shape"].at(place, "an entry of tool_calls is no call")
        return
    call_id = call.get("id")
    if type(call_id) is not str or not 0 < len(call_id) <= 40:
        yield _RULES["call-id"].at(place, "the call id is missing, empty or too long", str(call_id))
        call_id = str(call_id)
    if call_id in waiting:
        yield _RULES["call-twice"].at(place, "two calls of the message have one id", call_id)
    waiting[call_id] = False
    name = body.get("name")
    if type(name) is not str or _NAME.fullmatch(name) is None:
        yield _RULES["name"].at(place, f"{name!r} is no name of a tool", call_id)
    if "function" in call:
        arguments = body.get("arguments")
        if type(arguments) is not str or not is_json(arguments):
            yield _RULES["arguments"].at(place, "the arguments are no JSON", call_id)


# ------------------------------------------------------------------------ one's own items


def _is_own(item: Item) -> bool:
    """Whether an item is a message of this API, so that it is mended where it stands."""
    speaker = item.get("role")
    allowed = _PARTS.get(speaker) if type(speaker) is str else None
    if allowed is None or item.get("type", "message") != "message" or "parts" in item:
        return False
    if item.get("tool_calls") and speaker != "assistant":
        return False
    content = item.get("content")
    if type(content) is list:
        return all(type(part) is dict and word(part.get("type")) in allowed for part in content)
    return content is None or type(content) is str


def _mended(piece: Piece, notes: Notes) -> Piece | None:
    """A message of this API under its rules; None if nothing is left of it."""
    item = piece.item
    speaker = item["role"]
    is_foreign = shape_of(item) == "pi"
    new = {
        key: value
        for key, value in item.items()
        if (key in _MESSAGE_KEYS if is_foreign else key not in _FOREIGN_KEYS)
    }
    if len(new) != len(item) and not is_foreign:
        gone = ", ".join(key for key in item if key in _FOREIGN_KEYS)
        notes.add("rewritten", "foreign-key", f"the message goes without {gone}", piece)
    calls = item.get("tool_calls")
    if calls is not None:
        mended = _mended_calls(calls if type(calls) is list else [], piece, notes)
        if not mended:
            del new["tool_calls"]
            notes.add("rewritten", "calls-empty", "the message goes without its empty list of calls", piece)
        elif mended is not calls:
            new["tool_calls"] = mended
    content = item.get("content")
    if type(content) is list:
        said = [part for part in content if not _is_blank(part)]
        if len(said) < len(content):
            notes.add("left-out", "blank-text", "blank text was taken out", piece, item=item)
            new["content"] = said
        if is_foreign and any("textSignature" in part for part in said):
            new["content"] = [{k: v for k, v in part.items() if k != "textSignature"} for part in said]
    elif type(content) is str and content.isspace() and speaker != "tool":
        new["content"] = None
        notes.add("left-out", "blank-text", "the text was blank", piece, item=item)
    if new.get("content") == []:
        new["content"] = None
    refusal = item.get("refusal")
    if speaker == "assistant" and not new.get("content") and type(refusal) is str and refusal.strip():
        new["content"] = [{"type": "refusal", "refusal": refusal}]
        del new["refusal"]
        notes.add("rewritten", "content", "the refusal goes as the content", piece)
    if not new.get("content") and not _may_be_empty(new, speaker):
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


def _is_own_part(part: Any, speaker: str) -> bool:
    """Whether a part may stand in a message of this API."""
    return type(part) is dict and word(part.get("type")) in _PARTS.get(speaker, ())


def _part_of(block: Block, speaker: str) -> dict[str, Any] | None:
    return _part(block, is_text_only=speaker != "user")


def _mended_calls(calls: list[Any], piece: Piece, notes: Notes) -> list[Any]:
    """Calls under the rules; the same list if they are under them."""
    out = []
    parts = {part.place: part for part in items.tool_calls({"role": "assistant", "tool_calls": calls})}
    for place, call in enumerate(calls):
        part = parts.get(place)
        key = next((key for key in _CALL_KEYS if type(call) is dict and type(call.get(key)) is dict), None)
        if part is None or key is None:
            notes.add("left-out", "foreign-shape", "an entry of the calls is no call", piece, item=piece.item)
            continue
        body = dict(call[key])
        name = safe_name(part.name, 64)
        if name != part.name:
            body["name"] = name
            notes.add("rewritten", "name", f"the tool {part.name!r} goes as {name!r}", piece, call=part.id)
        arguments = body.get("arguments")
        if key == "function" and (type(arguments) is not str or not is_json(arguments)):
            body["arguments"], _ = arguments_text(Call(part.id or "", part.name, arguments))
            notes.add(
                "rewritten", "arguments", "the arguments go as JSON", piece, call=part.id, item=piece.item
            )
        out.append(call if body == call[key] else {**call, key: body})
    return calls if len(out) == len(calls) and all(a is b for a, b in zip(out, calls, strict=True)) else out


def _with_call_ids(pieces: list[Piece], notes: Notes) -> list[Piece]:
    """With call ids that this API takes, the same on call and output."""
    found = []
    places = []
    for place, piece in enumerate(pieces):
        calls = piece.item.get("tool_calls")
        asked = [word(call.get("id")) for call in calls] if type(calls) is list else ()
        answered = [word(piece.item.get("tool_call_id"))] if piece.item.get("role") == "tool" else ()
        if asked or answered:
            found.append((piece, asked, answered))
            places.append(place)
    renamed = fresh_ids(_IDS, found, notes)
    for place, (piece, asked, answered), (new_calls, new_outputs) in zip(places, found, renamed, strict=True):
        if new_calls is not asked:
            listed = [
                call if call.get("id") == new else {**call, "id": new}
                for call, new in zip(piece.item["tool_calls"], new_calls, strict=True)
            ]
            pieces[place] = piece.now({**piece.item, "tool_calls": listed}, "mended")
        elif new_outputs is not answered:
            pieces[place] = piece.now({**piece.item, "tool_call_id": new_outputs[0]}, "mended")
    return pieces


# ----------------------------------------------------------------------- other shapes


def _may_join(last: Item, new: Item) -> bool:
    """Whether calls go into the message before them, both rendered here."""
    if last.get("role") != "assistant" or new.get("role") != "assistant":
        return False
    return new.get("content") is None and new.keys() <= _MESSAGE_KEYS  # thoughts stay with their calls


def _rendered(piece: Piece, notes: Notes) -> tuple[list[Piece], list[Piece]]:
    """An item of another shape as messages of this API, and the pictures that follow the outputs."""
    neutral = read(piece.item)
    is_model = neutral.speaker == "assistant"
    made: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[Thought] = []

    def say() -> None:
        if not parts and not calls:
            return
        message: dict[str, Any] = {"role": neutral.speaker, "content": _content(parts)}
        if calls:
            message["tool_calls"] = list(calls)
        if thoughts:
            message[thoughts[0].key] = "\n".join(thought.text for thought in thoughts)
        made.append(message)
        parts.clear()
        calls.clear()
        thoughts.clear()

    for block in neutral.blocks:
        match block:
            case Call():
                calls.append(_call_entry(block, piece, notes))
            case Output():
                say()
                made.append({"role": "tool", "tool_call_id": block.id, "content": _output_text(block)})
                if block.is_error:
                    tell_error_flag(block, piece, notes)
                pictures += _beside(block, piece, notes)
            case Text(text=text) if not text.strip():
                pass
            case Thought(text=text, key=str(key)) if key and text.strip() and is_model:
                thoughts.append(block)
            case _:
                part = _part(block, is_text_only=is_model or neutral.speaker != "user")
                if part is None:
                    tell_unsaid(block, piece, notes)
                    continue
                if calls:
                    notes.add("moved", "output-order", "what was said after a call goes before it", piece)
                parts.append(part)
    say()
    if is_model and made and (details := reasoning_details(piece.item)):
        made[-1]["reasoning_details"] = details
    if not made:
        tell_nothing_left(piece, notes)
    shown = [piece.now({"role": "user", "content": pictures}, "rendered")] if pictures else []
    return [piece.now(item, "rendered") for item in made], shown


def _content(parts: list[dict[str, Any]]) -> Any:
    """Text, or a list of parts where there is more than one; None for nothing."""
    if not parts:
        return None
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return list(parts)


def _call_entry(call: Call, piece: Piece, notes: Notes) -> dict[str, Any]:
    name = named(call, 64, piece, notes)
    text, is_object = arguments_text(call)
    if not is_object:
        tell_arguments(call.id, piece, notes)
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": text}}


def _output_text(output: Output) -> Any:
    """The text of an output; a list of parts where there is more than one."""
    texts = [
        {"type": "text", "text": said}
        for block in output.blocks
        if (said := block.text if isinstance(block, Text | File) else None)
    ]
    shows = any(isinstance(block, Image | File) for block in output.blocks)
    return _content(texts) or (SEE_BELOW if shows else NO_OUTPUT)


def _beside(output: Output, piece: Piece, notes: Notes) -> list[dict[str, Any]]:
    """What of an output only a message of the user can show."""
    shown = []
    for block in output.blocks:
        if isinstance(block, Text) or (isinstance(block, File) and block.text is not None):
            continue
        part = _part(block, is_text_only=False)
        if part is None:
            tell_unsaid(block, piece, notes)
        else:
            shown.append(part)
            notes.add("moved", "part-type", "what is no text goes after the outputs", piece, call=output.id)
    return shown


def _part(block: Any, *, is_text_only: bool) -> dict[str, Any] | None:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case File(text=str(text)):
            return {"type": "text", "text": text}
        case _ if is_text_only:
            return None
        case Image(detail=detail):
            link = {"url": block.link} if detail is None else {"url": block.link, "detail": detail}
            return {"type": "image_url", "image_url": link}
        case File(data=str(data), name=name, media_type=media_type):
            held = {"filename": name or "document", "file_data": f"data:{media_type};base64,{data}"}
            return {"type": "file", "file": held}
    return None


OPENAI_CHAT: Final = OpenAIChat()
"""Chat Completions."""
