"""What a provider item holds, read by its shape alone.

An item is one decoded JSON object of one of four shapes: an OpenAI Responses item, a Chat
message, an Anthropic message, or a message as pi and the Go store write it. A log may mix
them. Every reader here takes any JSON object, never raises, and changes nothing: what has
the wrong JSON type is not there.

:func:`parts` gives everything in an item, in its order; the other readers each give one
sort of part. Only this module, and those that render for a provider, spell its keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeGuard

__all__ = [
    "HOSTED",
    "ImagePart",
    "OtherPart",
    "Part",
    "ReasoningPart",
    "TextPart",
    "ToolCallPart",
    "ToolOutputPart",
    "has_opaque",
    "hosted_calls",
    "hosted_outputs",
    "images",
    "is_aborted",
    "is_user_turn",
    "made_images",
    "message_id",
    "output_images",
    "output_text",
    "parts",
    "reasoning",
    "role",
    "text",
    "tool_calls",
    "tool_outputs",
    "type_of",
]

_Item: TypeAlias = Mapping[str, Any]

HOSTED: Final = "hosted"
"""The kind of a call that the provider runs itself, and of its result."""


# -------------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text for people: of a user, an assistant, a refusal.

    ``place`` of this and of every part is its index in the list that it came from, 0 for a
    part that is the whole item.
    """

    text: str
    place: int


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture.

    ``media_type`` is None where the item does not say. ``size_bytes`` counts the decoded
    bytes that stand in the item itself, and is 0 for a link.
    """

    media_type: str | None
    size_bytes: int
    place: int


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What a model thought: the readable text of it, perhaps empty.

    ``opaque`` is True where it carries what only its producer can read: encrypted content,
    a signature, a redacted block.
    """

    text: str
    opaque: bool
    place: int


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A tool call.

    Attributes:
        id: What the output must name; None where the item names nothing.
        name: The tool.
        arguments: As stored: JSON text, free text, or an object.
        kind: ``"function"``, ``"custom"``, ``"local_shell"``, ``"shell"``, ``"apply_patch"``,
            ``"computer"``, ``"tool_search"``, another word that a flat item spells before
            ``_call``, or :data:`HOSTED`.
        place: See :class:`TextPart`.
    """

    id: str | None
    name: str
    arguments: Any
    kind: str
    place: int


@dataclass(frozen=True, slots=True)
class ToolOutputPart:
    """What a tool gave back.

    Attributes:
        id: The call it answers; None where the item names none.
        content: As stored: text, a list of blocks, or an object; see :func:`output_text`.
        kind: As of :class:`ToolCallPart`.
        is_error: Whether the item itself flags an error.
        place: See :class:`TextPart`.
        name: The tool, where the output names it.
    """

    id: str | None
    content: Any
    kind: str
    is_error: bool
    place: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class OtherPart:
    """Anything else: a block, or a whole item, of a type that no reader here knows."""

    type: str
    place: int


Part: TypeAlias = TextPart | ImagePart | ReasoningPart | ToolCallPart | ToolOutputPart | OtherPart
"""One thing in an item."""


# -------------------------------------------------------------------------- flat items

_FLAT_CALLS: Final = {
    "function_call": "function",
    "custom_tool_call": "custom",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
    "tool_search_call": "tool_search",
}
_FLAT_OUTPUTS: Final = {
    "function_call_output": "function",
    "custom_tool_call_output": "custom",
    "local_shell_call_output": "local_shell",
    "shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
    "computer_call_output": "computer",
    "tool_search_output": "tool_search",
}
_FLAT_HOSTED: Final = frozenset(
    {"web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "mcp_call"}
)
_FLAT_REASONING: Final = frozenset({"reasoning", "reasoning_content"})
_WITHOUT_CALLS: Final = _FLAT_HOSTED | _FLAT_REASONING | _FLAT_OUTPUTS.keys()
_WITHOUT_OUTPUTS: Final = _FLAT_HOSTED | _FLAT_REASONING | _FLAT_CALLS.keys()
_ARGUMENTS: Final = (
    "arguments",
    "input",
    "action",
    "operation",
    "actions",
    "queries",
    "code",
    "revised_prompt",
)
_OUTPUTS: Final = ("output", "tools", "content", "result")
_HOSTED_RESULTS: Final = ("output", "outputs", "results")


def _flat_call(item: _Item, kind: str) -> ToolCallPart | None:
    """The call that an item of type ``kind`` is, whoever runs it."""
    call_id = _name(item.get("call_id"))
    word = _FLAT_CALLS.get(kind)
    if kind in _FLAT_HOSTED or (word == "tool_search" and call_id is None):
        call_id = call_id or _name(item.get("id"))
        word = HOSTED
    elif word is None:
        if not kind.endswith("_call") or call_id is None:
            return None
        word = kind.removesuffix("_call")
    elif call_id is None and word == "local_shell":
        call_id = _name(item.get("id"))  # Codex answers it under the item's id then.
    name = _name(item.get("name")) or kind.removesuffix("_call")
    return ToolCallPart(call_id, name, _first(item, _ARGUMENTS), word, 0)


def _flat_output(item: _Item, kind: str) -> ToolOutputPart | None:
    """The output that an item of type ``kind`` is, or that a hosted call brings along."""
    call_id = _name(item.get("call_id"))
    if kind in _FLAT_HOSTED:
        content = _first(item, _HOSTED_RESULTS)
        error = item.get("error")
        if content is None and error is None:
            return None
        call_id = call_id or _name(item.get("id"))
        return ToolOutputPart(call_id, error if content is None else content, HOSTED, error is not None, 0)
    word = _FLAT_OUTPUTS.get(kind)
    if word is None:
        if not kind.endswith("_output") or call_id is None:
            return None
        word = kind.removesuffix("_output").removesuffix("_call")
    name = None
    if word == "tool_search":
        name = word
        if call_id is None:  # The server ran that search: no call waits for it.
            word = HOSTED
    is_error = word == "apply_patch" and item.get("status") == "failed"
    return ToolOutputPart(call_id, _first(item, _OUTPUTS), word, is_error, 0, name)


def _flat_reasoning(item: _Item, kind: str) -> ReasoningPart | None:
    if kind == "reasoning":
        texts = [*_texts(item.get("summary")), *_texts(item.get("content"))]
        return ReasoningPart("\n\n".join(texts), _is_filled(item.get("encrypted_content")), 0)
    if kind == "reasoning_content":
        texts = [*_texts(item.get("content")), *_texts(item.get("text")), *_texts(item.get(kind))]
        return ReasoningPart("\n\n".join(texts), False, 0)
    return None


# ------------------------------------------------------------------------------ messages

_TEXT_BLOCKS: Final = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
_IMAGE_BLOCKS: Final = frozenset({"image", "input_image", "image_url", "output_image", "computer_screenshot"})
_CALL_BLOCKS: Final = frozenset({"tool_use", "toolCall"})
_HOSTED_BLOCKS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_THINKING_BLOCKS: Final = frozenset({"thinking", "redacted_thinking"})
_OUTPUT_ROLES: Final = {"tool": "tool_call_id", "toolResult": "toolCallId", "function": "tool_call_id"}
# pi writes the wire field that a chat completion's reasoning came in where a signature goes.
_WIRE_FIELDS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_text"})


def _block(block: Any, place: int) -> Part | None:
    """The part that one block of a message's content is."""
    if type(block) is str:
        return TextPart(block, place)
    if type(block) is not dict:
        return None
    kind = block.get("type")
    if type(kind) is not str:
        plain = block.get("text")
        return TextPart(plain, place) if kind is None and type(plain) is str else None
    if kind in _TEXT_BLOCKS or kind == "refusal":
        said = block.get("refusal" if kind == "refusal" else "text")
        return TextPart(said, place) if type(said) is str else None
    if kind in _IMAGE_BLOCKS:
        return _image(block, place)
    if kind in _THINKING_BLOCKS:
        return _thinking(block, place)
    if kind in _CALL_BLOCKS or kind in _HOSTED_BLOCKS:
        return _call_block(block, kind, place)
    if kind == "tool_result" or kind.endswith("_tool_result"):
        return _output_block(block, kind, place)
    return OtherPart(kind, place)


def _call_block(block: _Item, kind: str, place: int) -> ToolCallPart:
    return ToolCallPart(
        _name(block.get("id")),
        _name(block.get("name")) or "",
        block.get("arguments" if kind == "toolCall" else "input"),
        HOSTED if kind in _HOSTED_BLOCKS else "function",
        place,
    )


def _output_block(block: _Item, kind: str, place: int) -> ToolOutputPart:
    content = block.get("content")
    is_error = block.get("is_error") is True
    call_id = _name(block.get("tool_use_id"))
    if kind == "tool_result":
        return ToolOutputPart(call_id, content, "function", is_error, place)
    if type(content) is dict:
        inner = content.get("type")
        is_error = is_error or (type(inner) is str and inner.endswith("_error"))
    return ToolOutputPart(call_id, content, HOSTED, is_error, place, kind.removesuffix("_tool_result"))


def _thinking(block: _Item, place: int) -> ReasoningPart:
    thought = block.get("thinking")
    mark = block.get("thinkingSignature")
    opaque = (
        _is_text(block.get("signature"))
        or _is_text(block.get("data"))
        or (_is_text(mark) and mark not in _WIRE_FIELDS)
        or block.get("redacted") is True
    )
    return ReasoningPart(thought if type(thought) is str else "", opaque, place)


def _chat_reasoning(item: _Item) -> ReasoningPart | None:
    """The reasoning that a Chat message carries beside its content."""
    plain = [value for key in ("reasoning_content", "reasoning") if _is_text(value := item.get(key))]
    details = item.get("reasoning_details")
    entries = [part for part in details if type(part) is dict] if type(details) is list else []
    if not plain:
        plain = [
            "".join(
                value for part in entries for key in ("text", "summary") if _is_text(value := part.get(key))
            )
        ]
    opaque = any(_is_text(part.get(key)) for part in entries for key in ("data", "signature"))
    if not plain[0] and not opaque:
        return None
    return ReasoningPart(plain[0], opaque, 0)


def _chat_calls(item: _Item) -> Iterator[ToolCallPart]:
    calls = item.get("tool_calls")
    for place, call in enumerate(calls if type(calls) is list else ()):
        if type(call) is not dict:
            continue
        kind = "custom" if call.get("type") == "custom" else "function"
        inner = call.get(kind)
        if type(inner) is not dict:
            inner = {}
        arguments = inner.get("input" if kind == "custom" else "arguments")
        yield ToolCallPart(_name(call.get("id")), _name(inner.get("name")) or "", arguments, kind, place)


def _output_message(item: _Item) -> ToolOutputPart | None:
    """The output that a message of a tool's own role is."""
    speaker = item.get("role")
    key = _OUTPUT_ROLES.get(speaker) if type(speaker) is str else None
    if key is None:
        return None
    name = _name(item.get("name")) or _name(item.get("toolName"))
    return ToolOutputPart(
        _name(item.get(key)), item.get("content"), "function", item.get("isError") is True, 0, name
    )


def _is_message(item: _Item) -> bool:
    return "role" in item or "content" in item or "tool_calls" in item


def _blocks(item: _Item) -> list[Any]:
    content = item.get("content")
    if type(content) is list:
        return content
    return [] if content is None else [content]


# ------------------------------------------------------------------------------- readers


def parts(item: _Item) -> tuple[Part, ...]:
    """Everything that an item holds, in its order: reasoning, content, then Chat tool calls."""
    kind = type_of(item)
    if kind is not None and kind != "message":
        flat: list[Part | None] = [
            _flat_reasoning(item, kind),
            _flat_call(item, kind),
            _flat_output(item, kind),
        ]
        found = tuple(part for part in flat if part is not None)
        if found or not _is_message(item):
            return found or (OtherPart(kind, 0),)
    output = _output_message(item)
    if output is not None:
        return (output,)
    refusal = item.get("refusal")
    read: list[Part | None] = [
        _chat_reasoning(item),
        *(_block(block, place) for place, block in enumerate(_blocks(item))),
        TextPart(refusal, 0) if _is_text(refusal) else None,
        *_chat_calls(item),
    ]
    return tuple(part for part in read if part is not None)


def tool_calls(item: _Item) -> tuple[ToolCallPart, ...]:
    """The calls that somebody has to answer with an output item or block."""
    kind = type_of(item)
    if kind in _WITHOUT_CALLS:
        return ()
    if kind is not None and kind != "message":
        call = _flat_call(item, kind)
        if call is not None:
            return (call,) if call.kind != HOSTED else ()
        if _flat_output(item, kind) is not None:
            return ()
    if _output_message(item) is not None:
        return ()
    found = [
        _call_block(block, block["type"], place)
        for place, block in enumerate(_blocks(item))
        if type(block) is dict and type(word := block.get("type")) is str and word in _CALL_BLOCKS
    ]
    return (*found, *_chat_calls(item))


def tool_outputs(item: _Item) -> tuple[ToolOutputPart, ...]:
    """The outputs that answer such calls."""
    kind = type_of(item)
    if kind in _WITHOUT_OUTPUTS:
        return ()
    if kind is not None and kind != "message":
        output = _flat_output(item, kind)
        if output is not None:
            return (output,) if output.kind != HOSTED else ()
        if _flat_call(item, kind) is not None:
            return ()
    output = _output_message(item)
    if output is not None:
        return (output,)
    return tuple(
        _output_block(block, "tool_result", place)
        for place, block in enumerate(_blocks(item))
        if type(block) is dict and block.get("type") == "tool_result"
    )


def hosted_calls(item: _Item) -> tuple[ToolCallPart, ...]:
    """The calls that the provider ran itself: no output item is owed to them."""
    return tuple(p for p in parts(item) if isinstance(p, ToolCallPart) and p.kind == HOSTED)


def hosted_outputs(item: _Item) -> tuple[ToolOutputPart, ...]:
    """What the provider says that its own calls gave."""
    return tuple(p for p in parts(item) if isinstance(p, ToolOutputPart) and p.kind == HOSTED)


def reasoning(item: _Item) -> tuple[ReasoningPart, ...]:
    """What the model thought; one part for each item, block, or Chat message with reasoning."""
    return tuple(part for part in parts(item) if isinstance(part, ReasoningPart))


def text(item: _Item) -> str:
    """The text for people: all text parts, joined by one newline. A tool output has none."""
    if item.get("role") == "user" and item.get("type") in (None, "message") and "refusal" not in item:
        # Nothing but its content can hold text: a listing asks this of thousands of files.
        content = item.get("content")
        if type(content) is str:
            return content
        said = (_block(block, 0) for block in _blocks(item))
        return "\n".join(part.text for part in said if isinstance(part, TextPart))
    return "\n".join(part.text for part in parts(item) if isinstance(part, TextPart))


def images(item: _Item) -> tuple[ImagePart, ...]:
    """The pictures of an item, also those inside tool results and those a model made.

    A picture inside a tool result has the place of that result.
    """
    found: list[ImagePart] = []
    for part in parts(item):
        if isinstance(part, ImagePart):
            found.append(part)
        elif isinstance(part, ToolOutputPart):
            found.extend(_images_in(part.content, part.place))
    return (*found, *made_images(item))


def made_images(item: _Item) -> tuple[ImagePart, ...]:
    """The picture that a hosted call of a model made, where it stands in the call itself."""
    result = item.get("result")
    if type_of(item) != "image_generation_call" or not _is_text(result):
        return ()
    return (ImagePart(None, _decoded_size(result), 0),)


def role(item: _Item) -> str | None:
    """Who speaks in a message; None for an item that is no message."""
    return _name(item.get("role"))


def type_of(item: _Item) -> str | None:
    """The type that an item names; None where it names none."""
    return _name(item.get("type"))


def message_id(item: _Item) -> str | None:
    """The id of the Anthropic message that an item is, or is a piece of; None for other shapes.

    One message may be stored as several items, each with one block and all with this id.
    """
    if "stop_reason" not in item and "stop_sequence" not in item and "model" not in item:
        return None
    return _name(item.get("id")) if item.get("role") == "assistant" else None


def is_user_turn(item: _Item) -> bool:
    """Whether an item is a message of the user that answers no tool call."""
    return item.get("role") == "user" and not tool_outputs(item)


def is_aborted(item: _Item) -> bool:
    """Whether the item itself says that a turn was broken off, by the user or by an error."""
    if item.get("role") == "assistant":
        return item.get("stopReason") in ("aborted", "error")
    if item.get("role") != "user" or type(item.get("content")) is not list:
        return False
    return any(
        isinstance(part, TextPart) and "[Request interrupted by user" in part.text for part in parts(item)
    )


def has_opaque(item: _Item) -> bool:
    """Whether an item carries encrypted content, or reasoning that only its producer can read."""
    return _is_filled(item.get("encrypted_content")) or any(part.opaque for part in reasoning(item))


# ------------------------------------------------------------------------------- outputs

_MAX_DEPTH: Final = 8


def output_text(output: Any) -> str:
    """The readable text of a tool output of any stored form.

    Text is given as it is, taken out of a JSON wrapper around it; blocks are joined by one
    newline, pictures left out; what has no text of its own is shown as JSON.
    """
    return _readable(output, _MAX_DEPTH)


def _readable(value: Any, depth: int) -> str:
    if type(value) is str:
        return _wrapped(value)
    if value is None:
        return ""
    if type(value) is list and depth:
        return "\n".join(shown for block in value if (shown := _readable(block, depth - 1)))
    if type(value) is dict and depth:
        kind = value.get("type")
        if type(kind) is str and kind in _IMAGE_BLOCKS:
            return ""
        for key in ("text", "logs", "refusal"):
            if type(value.get(key)) is str:
                return str(value[key])
        for key in ("output", "content"):
            if type(value.get(key)) in (str, list, dict):
                return _readable(value[key], depth - 1)
        for keys in (("stdout", "stderr"), ("title", "url")):
            told = [value[key] for key in keys if _is_text(value.get(key))]
            if told or all(type(value.get(key)) is str for key in keys):
                return "\n".join(told)
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):  # no decoded JSON, or nested past all use
        return f"({type(value).__name__})"


_WRAPPER: Final = {"output", "metadata"}


def _wrapped(text: str) -> str:
    """The text itself, or what it wraps: older tools answer with JSON, the output one member of it."""
    if text.startswith('{"output":'):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if type(value) is dict and type(value.get("output")) is str and value.keys() <= _WRAPPER:
            return str(value["output"])
    return text


def output_images(output: Any) -> tuple[ImagePart, ...]:
    """The pictures in a tool output; ``place`` is the index among its blocks."""
    if type(output) is list:
        return tuple(image for place, block in enumerate(output) for image in _images_in(block, place))
    return tuple(_images_in(output, 0))


def _images_in(value: Any, place: int) -> Iterator[ImagePart]:
    for block in value if type(value) is list else (value,):
        if type(block) is not dict:
            continue
        kind = block.get("type")
        if type(kind) is str and kind in _IMAGE_BLOCKS:
            yield _image(block, place)
        elif type(inner := block.get("content")) is list:
            for nested in inner:
                if type(nested) is dict and type(word := nested.get("type")) is str and word in _IMAGE_BLOCKS:
                    yield _image(nested, place)


# -------------------------------------------------------------------------------- images


def _image(block: _Item, place: int) -> ImagePart:
    source = block.get("source")
    if type(source) is dict:  # Anthropic
        return ImagePart(_name(source.get("media_type")), _decoded_size(source.get("data")), place)
    link = block.get("image_url")
    if type(link) is dict:  # Chat
        link = link.get("url")
    if type(link) is str:
        return ImagePart(*_linked(link), place)
    return ImagePart(_name(block.get("mimeType")), _decoded_size(block.get("data")), place)


def _linked(url: str) -> tuple[str | None, int]:
    """The media type and size of what a data URL holds; of another link, nothing is known."""
    if not url.startswith("data:"):
        return None, 0
    head, _, body = url[5:].partition(",")
    media_type = head.partition(";")[0] or None
    if head.endswith(";base64"):
        return media_type, _decoded_size(body)
    return media_type, len(body.encode("utf-8", "surrogatepass")) - 2 * body.count("%")


def _decoded_size(data: Any) -> int:
    """How many bytes a base64 text stands for; 0 for a reference such as ``blob:sha256:…``."""
    if type(data) is not str or ":" in data[:32]:
        return 0
    blank = sum(data.count(space) for space in " \t\r\n")
    return (len(data) - blank - data[-4:].count("=")) * 3 // 4


# --------------------------------------------------------------------------------- values


def _name(value: Any) -> str | None:
    return value if type(value) is str and value else None


def _is_text(value: Any) -> TypeGuard[str]:
    return type(value) is str and value != ""


def _is_filled(value: Any) -> bool:
    return type(value) is str and value.strip(" \t\n\r\f") != ""


def _first(item: _Item, keys: tuple[str, ...]) -> Any:
    """The value of the first of ``keys`` that is not null."""
    return next((value for key in keys if (value := item.get(key)) is not None), None)


def _texts(value: Any) -> Iterator[str]:
    """The texts of a text, or of the blocks of a list."""
    for block in value if type(value) is list else (value,):
        said = block.get("text") if type(block) is dict else block
        if _is_text(said):
            yield said
