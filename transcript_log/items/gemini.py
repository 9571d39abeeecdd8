"""Contents of Gemini: a role, and parts that each hold one thing.

The names are those of the JSON that the API speaks (``functionCall``); the Python SDK's
(``function_call``) are read too. A call need not have an id. One that has none is known by its
tool and its number among those of its content, as in ``read-2``; so is an output without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ._pictures import decoded_size
from ._values import Item, is_text, named
from .part_types import (
    HOSTED,
    ImagePart,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

__all__ = [
    "CAMEL",
    "NO_SIGNATURE",
    "PART_KINDS",
    "SKIP_SIGNATURES",
    "content_calls",
    "content_outputs",
    "content_parts",
    "image_of",
    "in_camel",
    "is_content",
    "output_part",
    "portable_content",
    "response_of",
    "with_output_ids",
    "with_response",
]

CAMEL: Final[Mapping[str, str]] = {
    "code_execution_result": "codeExecutionResult",
    "display_name": "displayName",
    "executable_code": "executableCode",
    "file_data": "fileData",
    "file_uri": "fileUri",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "media_resolution": "mediaResolution",
    "mime_type": "mimeType",
    "part_metadata": "partMetadata",
    "thought_signature": "thoughtSignature",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
    "video_metadata": "videoMetadata",
    "will_continue": "willContinue",
}
"""The names of the JSON, by those of the Python SDK."""

PART_KINDS: Final = (
    "text",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
"""What a part may hold: one of these."""

NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made, or that has none."""

SKIP_SIGNATURES: Final = frozenset({NO_SIGNATURE, "context_engineering_is_the_way_to_go"})
"""What stands for the signature of a call that another model made; anybody may send it.

(https://ai.google.dev/gemini-api/docs/thought-signatures, 2026-11.)
"""

_PRIVATE_KINDS: Final = frozenset({"toolCall", "toolResponse", "tool_call", "tool_response"})
_WRAPPED: Final = ("output", "result", "error")


def is_content(item: Item) -> bool:
    """Whether an item looks like one of Gemini's."""
    if "parts" in item:
        return "content" not in item and type(item["parts"]) is list
    return item.get("role") == "model" and "content" not in item


def _parts(item: Item) -> list[Any]:
    parts = item.get("parts")
    return parts if type(parts) is list else []


def _held(part: Mapping[str, Any], name: str, other: str) -> Any:
    """What stands under a name, or under the SDK's name for it."""
    value = part.get(name)
    return part.get(other) if value is None else value


def in_camel(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part under the names of the JSON; what a tool was given, and gave back, stays as it is."""
    made: dict[str, Any] = {}
    for key, value in part.items():
        name = CAMEL.get(key, key)
        if type(value) is dict and name not in ("args", "response"):
            value = in_camel(value)  # noqa: PLW2901 - the value from here on
        elif type(value) is list and name == "parts":
            value = [in_camel(one) if type(one) is dict else one for one in value]  # noqa: PLW2901
        if name == key or name not in part:
            made[name] = value
    return made


# ------------------------------------------------------------------------------- reading


def content_parts(item: Item) -> Iterator[Part]:
    """Everything that a content holds, in its order."""
    calls = {part.place: part for part in content_calls(item)}
    outputs = {part.place: part for part in content_outputs(item)}
    for place, part in enumerate(_parts(item)):
        if type(part) is not dict:
            continue
        if place in calls:
            yield calls[place]
        elif place in outputs:
            yield outputs[place]
        else:
            yield _other(part, place)


def _other(part: Mapping[str, Any], place: int) -> Part:
    """What a part is that neither calls nor answers a tool of the client."""
    said = part.get("text")
    if type(said) is str:
        sealed = is_text(_held(part, "thoughtSignature", "thought_signature"))
        if part.get("thought") is True or (sealed and not said):
            return ReasoningPart(said, sealed, place)
        return TextPart(said, place)
    if (shown := image_of(part, place)) is not None:
        return shown
    code = _held(part, "executableCode", "executable_code")
    if type(code) is dict:
        return ToolCallPart(named(code.get("id")), "code_execution", code.get("code"), HOSTED, place)
    ran = _held(part, "codeExecutionResult", "code_execution_result")
    if type(ran) is dict:
        failed = ran.get("outcome") not in (None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED")
        call_id = named(ran.get("id"))
        return ToolOutputPart(call_id, ran.get("output"), HOSTED, failed, place, "code_execution")
    tool = _held(part, "toolCall", "tool_call")
    if type(tool) is dict:
        return ToolCallPart(named(tool.get("id")), _tool(tool), tool.get("args"), HOSTED, place)
    given = _held(part, "toolResponse", "tool_response")
    if type(given) is dict:
        call_id = named(given.get("id"))
        return ToolOutputPart(call_id, given.get("response"), HOSTED, False, place, _tool(given))
    known = (key for key in part if key not in ("thoughtSignature", "thought_signature", "thought"))
    return OtherPart(next(known, "part"), place)


def _tool(call: Mapping[str, Any]) -> str:
    """The tool of a server that was called."""
    return (named(_held(call, "toolType", "tool_type")) or "tool").lower()


def image_of(part: Mapping[str, Any], place: int) -> ImagePart | None:
    """The picture that a part is, its bytes or a link; None if it is none."""
    held = _held(part, "inlineData", "inline_data")
    data = held.get("data") if type(held) is dict else None
    if type(held) is not dict:
        held = _held(part, "fileData", "file_data")
        if type(held) is not dict:
            return None
    media_type = named(_held(held, "mimeType", "mime_type"))
    if media_type is not None and not media_type.startswith("image/"):
        return None
    link = data if type(data) is str else _held(held, "fileUri", "file_uri")
    return ImagePart(media_type, decoded_size(data), place, link if type(link) is str else "")


def content_calls(item: Item) -> list[ToolCallPart]:
    """The calls of a content, in their order."""
    found: list[ToolCallPart] = []
    numbers: dict[str, int] = {}
    for place, part in enumerate(_parts(item)):
        if type(part) is not dict:
            continue
        call = part.get("functionCall")
        if call is None:
            call = part.get("function_call")
        if type(call) is not dict:
            continue
        name = named(call.get("name")) or ""
        call_id = named(call.get("id"))
        if call_id is None:
            numbers[name] = numbers.get(name, 0) + 1
            found.append(
                ToolCallPart(f"{name}-{numbers[name]}", name, call.get("args"), "function", place, True)
            )
        else:
            found.append(ToolCallPart(call_id, name, call.get("args"), "function", place))
    return found


def content_outputs(item: Item) -> list[ToolOutputPart]:
    """The outputs of a content, in their order."""
    found: list[ToolOutputPart] = []
    numbers: dict[str, int] = {}
    for place, part in enumerate(_parts(item)):
        if type(part) is not dict:
            continue
        answer = part.get("functionResponse")
        if answer is None:
            answer = part.get("function_response")
        if type(answer) is not dict:
            continue
        name = named(answer.get("name"))
        call_id = named(answer.get("id"))
        nameless = call_id is None
        if call_id is None:
            numbers[name or ""] = numbers.get(name or "", 0) + 1
            call_id = f"{name or ''}-{numbers[name or '']}"
        response = answer.get("response")
        is_error = type(response) is dict and "error" in response and "output" not in response
        content = _told(response)
        shown = answer.get("parts")
        if type(shown) is list and shown:
            content = [content, *shown]
        found.append(ToolOutputPart(call_id, content, "function", is_error, place, name, nameless))
    return found


def _told(response: Any) -> Any:
    """What a tool gave back: the one member of the object that Gemini wants, or the object."""
    if type(response) is dict and len(response) == 1:
        ((key, value),) = response.items()
        if key in _WRAPPED:
            return value
    return response


# ------------------------------------------------------------------------------- private


def portable_content(item: Item) -> Item | None:
    """A content without what only the model that made it can read; see ``portable_part``."""
    kept: list[Any] = []
    changed = False
    for part in _parts(item):
        new = part
        if type(part) is dict:
            if part.get("thought") is True or not _PRIVATE_KINDS.isdisjoint(part):
                changed = True
                continue
            signs = [key for key in ("thoughtSignature", "thought_signature") if key in part]
            if any(not is_text(part[key]) or part[key] not in SKIP_SIGNATURES for key in signs):
                new = {key: value for key, value in part.items() if key not in signs}
                changed = True
                if not new or new == {"text": ""}:
                    continue  # it was there for its signature
        kept.append(new)
    if not changed:
        return item
    return {**item, "parts": kept} if kept else None


# -------------------------------------------------------------------------------- making


def response_of(value: Any, *, is_error: bool) -> dict[str, Any]:
    """What a tool gave back, as the object that Gemini wants of it."""
    return {"error" if is_error else "output": value}


def output_part(call: ToolCallPart, response: Any) -> dict[str, Any]:
    """The part that answers a call.

    Of a call without an id, only one that is not the first of its tool is named by its number.
    """
    made: dict[str, Any] = {"name": call.name, "response": response}
    if call.id and not (call.nameless and call.id == f"{call.name}-1"):
        made = {"id": call.id, **made}
    return {"functionResponse": made}


def with_output_ids(item: Item, outputs: Sequence[ToolOutputPart]) -> Item:
    """A content with these ids in its outputs."""
    parts = list(item["parts"])
    for output in outputs:
        part = parts[output.place]
        key = "functionResponse" if type(part.get("functionResponse")) is dict else "function_response"
        parts[output.place] = {**part, key: {**part[key], "id": output.id}}
    return {**item, "parts": parts}


def with_response(part: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The part of an output with a text in place of what the tool gave back."""
    key = "functionResponse" if type(part.get("functionResponse")) is dict else "function_response"
    answer = {name: value for name, value in part[key].items() if name != "parts"}
    response = answer.get("response")
    is_error = type(response) is dict and "error" in response and "output" not in response
    answer["response"] = response_of(text, is_error=is_error)
    return {**part, key: answer}
