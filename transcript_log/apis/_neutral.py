"""What an item says, in words of no provider: the step between any two shapes.

Reading never fails: what no block here can hold is an :class:`Unknown`, which a renderer
leaves out and tells of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import orjson

from .. import items
from .._json import read_text
from ..items.gemini import in_camel, is_content

__all__ = [
    "Block",
    "Call",
    "File",
    "Hosted",
    "Image",
    "Neutral",
    "Output",
    "Speaker",
    "Text",
    "Thought",
    "Unknown",
    "arguments_object",
    "arguments_text",
    "read",
    "read_block",
    "read_output",
]

Speaker = Literal["user", "assistant", "system", "developer"]
_SPEAKERS: Final[Mapping[Any, Speaker]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
}


@dataclass(slots=True)
class Text:
    """Text for people; ``signature`` is what pi wrote beside it, as of a :class:`Thought`."""

    text: str
    signature: str = ""


@dataclass(slots=True)
class Image:
    """A picture: a link, or base64 with its media type."""

    url: str | None = None
    data: str | None = None
    media_type: str = "image/png"
    detail: str | None = None

    @property
    def link(self) -> str:
        """A URL for it, of the scheme ``data`` where the picture itself is here."""
        return self.url if self.url is not None else f"data:{self.media_type};base64,{self.data}"


@dataclass(slots=True)
class File:
    """A document: a link, base64, or plain text."""

    name: str | None = None
    media_type: str = "application/pdf"
    data: str | None = None
    url: str | None = None
    text: str | None = None


@dataclass(slots=True)
class Thought:
    """What a model thought. No API here takes another's thoughts, and only Gemini unsigned ones of its own.

    ``signature`` is what pi wrote beside it, the mark of whoever thought it. The target can
    read it, or it would not be here any more. ``key`` is where a Chat message had it.
    """

    text: str
    signature: str = ""
    redacted: bool = False
    key: str = ""


@dataclass(slots=True)
class Call:
    """A tool call; ``arguments`` are text or a decoded value, ``signature`` is as of a :class:`Thought`."""

    id: str
    name: str
    arguments: Any
    kind: str = "function"
    signature: str = ""


@dataclass(slots=True)
class Output:
    """What a tool gave back."""

    id: str
    kind: str = "function"
    name: str | None = None
    blocks: list[Text | Image | File | Unknown] = field(default_factory=list)
    is_error: bool = False


@dataclass(slots=True)
class Hosted:
    """A call of a provider's own tool, or its result."""

    name: str


@dataclass(slots=True)
class Unknown:
    """Anything else, by the type that it names."""

    type: str


Block: TypeAlias = Text | Image | File | Thought | Call | Output | Hosted | Unknown
"""One thing that an item says."""


@dataclass(slots=True)
class Neutral:
    """What an item says, in its order, and who says it."""

    speaker: Speaker
    blocks: list[Block]


def read(item: Mapping[str, Any]) -> Neutral:
    """What an item of any shape says."""
    kind: Any = item.get("type")
    speaker: Any = item.get("role")
    kind = kind if type(kind) is str and kind else None
    speaker = speaker if type(speaker) is str and speaker else None
    if kind is not None and kind != "message" and speaker is None:
        return Neutral("assistant", _plain(item, kind) or list(_flat(item)))
    if "parts" in item and is_content(item):
        return _read_content(item)
    content = item.get("content")
    blocks: list[Block]
    if speaker in ("tool", "toolResult"):
        if type(content) is str and speaker == "tool" and "isError" not in item:
            output = Output(_word(item.get("tool_call_id")), blocks=[Text(content)])
            output.name = _word(item.get("name")) or _word(item.get("toolName")) or None
            return Neutral("user", [output])
        return Neutral("user", [read_output(part) for part in items.tool_outputs(item)])
    if type(content) is not list:
        # What was thought stands beside the text there.
        blocks = [] if content is None else [Text(content) if type(content) is str else read_block(content)]
        if _BESIDE.isdisjoint(item):
            return Neutral(_SPEAKERS.get(speaker, "user"), blocks)
        if not _REASONING.isdisjoint(item):
            blocks += [Thought(part.text) for part in items.reasoning(item)]
    else:
        blocks = _blocks(content)
        if not _REASONING.isdisjoint(item):
            blocks.append(Thought(items.chat_thought(item)))
    refusal = item.get("refusal")
    if type(refusal) is str and refusal:
        blocks.append(Text(refusal))
    listed = item.get("tool_calls")
    if type(listed) is list:
        blocks += _chat_calls(listed)
    for block in blocks:
        if type(block) is Call:
            return Neutral("assistant", blocks)  # whoever it says it is from
    return Neutral(_SPEAKERS.get(speaker, "user"), blocks)


_REASONING: Final = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
_BESIDE: Final = frozenset({*_REASONING, "refusal", "tool_calls"})
"""Where a Chat message says more than its content."""


def _plain(item: Mapping[str, Any], kind: str) -> list[Block] | None:
    """The commonest flat items, which hold nothing that has to be looked for."""
    call_id = item.get("call_id")
    if type(call_id) is not str:
        return None
    if kind == "function_call":
        name, arguments = item.get("name"), item.get("arguments")
        if type(name) is str and name and type(arguments) is str:
            return [Call(call_id, name, arguments)]
    elif kind == "function_call_output":
        output = item.get("output")
        if type(output) is str:
            return [Output(call_id, blocks=[Text(output)])]
    return None


def _read_content(item: Mapping[str, Any]) -> Neutral:
    """What a content of Gemini says. Its signatures are for Gemini alone."""
    calls = {part.place: _call(part) for part in items.tool_calls(item)}
    outputs = {part.place: part for part in items.tool_outputs(item)}
    blocks: list[Block] = []
    for place, part in enumerate(item["parts"]):
        if place in calls:
            blocks.append(calls[place])
        elif type(part) is not dict:
            blocks.append(Unknown(type(part).__name__))
        else:
            held = in_camel(part)
            blocks.append(
                _answered(outputs[place], held["functionResponse"]) if place in outputs else _held(held)
            )
    if calls:
        return Neutral("assistant", blocks)
    return Neutral(_SPEAKERS.get(items.role(item), "user"), blocks)


def _answered(part: items.ToolOutputPart, answer: Mapping[str, Any]) -> Output:
    shown = answer.get("parts")
    pictures = [_held(one) for one in shown if type(one) is dict] if type(shown) is list else []
    told = part.content[0] if pictures else part.content
    blocks: list[Text | Image | File | Unknown] = []
    if told is not None and told != "":
        blocks.append(Text(told if type(told) is str else items.output_text(told)))
    blocks += [one for one in pictures if isinstance(one, Text | Image | File | Unknown)]
    return Output(part.id or "", "function", part.name, blocks, part.is_error)


def _held(part: Mapping[str, Any]) -> Block:
    """What a part of Gemini's holds, other than a call or an output of the client's tools."""
    said = part.get("text")
    if type(said) is str:
        return Thought(said) if part.get("thought") is True else Text(said)
    held = part.get("inlineData")
    if type(held) is dict and type(held.get("data")) is str:
        media_type = _or(held.get("mimeType"), "image/png")
        if media_type.startswith("image/"):
            return Image(data=held["data"], media_type=media_type)
        return File(_name(held), media_type, data=held["data"])
    held = part.get("fileData")
    if type(held) is dict and type(held.get("fileUri")) is str:
        media_type = _or(held.get("mimeType"), "")
        if media_type.startswith("image/"):
            return Image(url=held["fileUri"])
        return File(_name(held), media_type or "application/pdf", url=held["fileUri"])
    for found in items.parts({"role": "model", "parts": [part]}):
        match found:
            case items.ToolCallPart(name=name) | items.ToolOutputPart(name=str(name)):
                return Hosted(name)
            case items.OtherPart(type=kind):
                return Unknown(kind)
    return Unknown("part")


def _name(held: Mapping[str, Any]) -> str | None:
    name = held.get("displayName")
    return name if type(name) is str and name else None


def _chat_calls(listed: list[Any]) -> Iterator[Call]:
    for call in listed:
        body = call.get("function") if type(call) is dict else None
        if type(body) is dict and call.get("type") != "custom":
            yield Call(_word(call.get("id")), _word(body.get("name")), body.get("arguments"))
        else:
            yield from (_call(part) for part in items.chat_calls({"tool_calls": [call]}))


def _blocks(content: list[Any]) -> list[Block]:
    made: list[Block] = []
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind in ("tool_use", "toolCall"):
            given = block.get("input" if kind == "tool_use" else "arguments")
            call = Call(_word(block.get("id")), _word(block.get("name")), given)
            call.signature = _word(block.get("thoughtSignature"))
            made.append(call)
        elif kind == "tool_result":
            said = block.get("content")
            is_error = block.get("is_error") is True
            made.append(Output(_word(block.get("tool_use_id")), blocks=_shown(said), is_error=is_error))
        else:
            made.append(read_block(block))
    return made


def _word(value: Any) -> str:
    return value if type(value) is str else ""


def _shown(content: Any) -> list[Text | Image | File | Unknown]:
    """What the output of a function shows."""
    if type(content) is str:
        return [Text(content)]
    if type(content) is not list:
        return [] if content is None else [Text(items.output_text(content))]
    read_blocks = [read_block(block) for block in content]
    return [block for block in read_blocks if isinstance(block, Text | Image | File | Unknown)]


def _flat(item: Mapping[str, Any]) -> Iterator[Block]:
    for part in items.parts(item):
        match part:
            case (
                items.ToolCallPart(kind=items.HOSTED, name=name)
                | items.ToolOutputPart(kind=items.HOSTED, name=str(name))
            ):
                yield Hosted(name)
            case items.ToolCallPart(kind="tool_search") | items.ToolOutputPart(kind="tool_search"):
                yield Hosted("tool_search")  # what it finds are tools of that API
            case items.ToolCallPart():
                yield _call(part)
            case items.ToolOutputPart(kind=items.HOSTED):
                pass
            case items.ToolOutputPart():
                yield read_output(part)
            case items.ReasoningPart(text=text):
                yield Thought(text)
            case items.TextPart(text=text):
                yield Text(text)
            case _:
                yield Unknown(items.type_of(item) or "item")


def _call(part: items.ToolCallPart, mark: Any = None) -> Call:
    return Call(part.id or "", part.name, part.arguments, part.kind, mark if type(mark) is str else "")


def read_output(part: items.ToolOutputPart) -> Output:
    """The output that a part of an item is."""
    content = part.content
    blocks: list[Text | Image | File | Unknown] = []
    if type(content) is list and part.kind not in ("shell", "tool_search"):
        blocks = _shown(content)
    elif type(content) is dict and part.kind == "computer":
        picture = read_block(content)
        if isinstance(picture, Image):
            blocks.append(picture)
    elif content is not None:
        blocks.append(Text(content if type(content) is str else items.output_text(content)))
    return Output(part.id or "", part.kind, part.name, blocks, part.is_error)


# pi writes the field that a chat completion's reasoning came in where a signature goes.
_WIRE_FIELDS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_text"})
_COMMON: Final = ("text", "input_text", "output_text")
_TEXTS: Final = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
_IMAGES: Final = frozenset({"image", "input_image", "image_url", "output_image", "computer_screenshot"})
_FILES: Final = frozenset({"document", "input_file", "file", "document_url"})


def read_block(block: Any) -> Block:
    """One block of a message, other than a call or an output."""
    if type(block) is dict and block.get("type") in _COMMON and "textSignature" not in block:
        said = block.get("text")
        if type(said) is str:
            return Text(said)
    if type(block) is str:
        return Text(block)
    if type(block) is not dict:
        return Unknown(type(block).__name__)
    kind = block.get("type")
    if kind is not None and type(kind) is not str:
        return Unknown(type(kind).__name__)
    if kind in _TEXTS or (kind is None and type(block.get("text")) is str):
        said, mark = block.get("text"), block.get("textSignature")
        if type(said) is not str:
            return Unknown(str(kind))
        return Text(said) if mark is None else Text(said, mark if type(mark) is str else "")
    if kind == "refusal":
        return Text(str(block.get("refusal") or ""))
    if kind in ("thinking", "redacted_thinking"):
        mark = block.get("thinkingSignature")
        mark = mark if type(mark) is str else ""
        is_key = mark in _WIRE_FIELDS
        return Thought(
            items.thought_in(block),
            "" if is_key else mark,
            block.get("redacted") is True,
            mark if is_key else "",
        )
    if kind in _IMAGES:
        return _image(block) or Unknown(str(kind))
    if kind in _FILES:
        return _file(block) or Unknown(str(kind))
    if kind == "search_result":
        return Text(items.output_text([block.get("title"), block.get("source"), block.get("content")]))
    if kind in ("server_tool_use", "mcp_tool_use"):
        return Hosted(str(block.get("name") or kind))
    if type(kind) is str and kind.endswith("_tool_result"):
        return Hosted(kind.removesuffix("_tool_result"))
    return Unknown(str(kind))


def _image(block: Mapping[str, Any]) -> Image | None:
    source = block.get("source")
    if type(source) is dict:
        if source.get("type") == "url" and type(source.get("url")) is str:
            return Image(url=source["url"])
        if type(source.get("data")) is str:
            return Image(data=source["data"], media_type=_or(source.get("media_type"), "image/png"))
        return None
    data = block.get("data")
    if type(data) is str:
        if ":" in data[:32]:  # it stands elsewhere, as under ``blob:sha256:…``
            return None
        return Image(data=data, media_type=_or(block.get("mimeType"), "image/png"))
    link: Any = block.get("image_url")
    detail: Any = block.get("detail")
    if type(link) is dict:
        detail = link.get("detail")
        link = link.get("url")
    if type(link) is not str:
        return None
    detail = detail if type(detail) is str else None
    head, comma, body = link.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Image(data=body, media_type=head[5:-7] or "image/png", detail=detail)
    return Image(url=link, detail=detail)


def _file(block: Mapping[str, Any]) -> File | None:
    source = block.get("source")
    if type(source) is dict:
        name = block.get("title")
        name = name if type(name) is str else None
        if source.get("type") == "text" and type(source.get("data")) is str:
            return File(name, "text/plain", text=source["data"])
        if type(source.get("data")) is str:
            return File(name, _or(source.get("media_type"), "application/pdf"), data=source["data"])
        if type(source.get("url")) is str:
            return File(name, url=source["url"])
        return None
    inner: Any = block.get("file")
    held: Mapping[str, Any] = inner if type(inner) is dict else block
    name = held.get("filename")
    name = name if type(name) is str else None
    data = held.get("file_data")
    if type(data) is str:
        head, comma, body = data.partition(",")
        if comma and head.startswith("data:") and head.endswith(";base64"):
            return File(name, head[5:-7] or "application/pdf", data=body)
        return File(name, data=data)
    link = held.get("file_url")
    if type(link) is str:
        return File(name, url=link)
    link = block.get("document_url")  # of Mistral
    if type(link) is not str:
        return None
    name = block.get("document_name")
    name = name if type(name) is str else None
    head, comma, body = link.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return File(name, head[5:-7] or "application/pdf", data=body)
    return File(name, url=link)


def _or(value: Any, other: str) -> str:
    return value if type(value) is str and value else other


# ---------------------------------------------------------------------------- arguments


def arguments_object(call: Call) -> tuple[dict[str, Any], bool]:
    """The arguments of a call as an object, and whether they are one as they stand.

    Text of a tool that takes free text becomes the member ``input``; what is no object, the
    member ``arguments``, so that nothing of it is lost.
    """
    given = call.arguments
    if type(given) is dict:
        return given, True
    if given is None or given == "":
        return {}, given is None or call.kind == "function"
    if call.kind == "custom":
        return {"input": given}, False
    value = given
    if type(given) is str:
        try:
            value = read_text(given)
        except ValueError:
            return {"arguments": given}, False
        if type(value) is dict:
            return value, True
    return {"arguments": value}, False


def arguments_text(call: Call) -> tuple[str, bool]:
    """The arguments of a call as the text of a JSON object; the same text if it is one."""
    value, as_they_are = arguments_object(call)
    if as_they_are and type(call.arguments) is str and call.arguments:
        return call.arguments, True
    try:
        return orjson.dumps(value).decode(), as_they_are
    except TypeError:  # half a character, or a number past 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")), as_they_are
