"""The readers of items: :func:`parts` gives everything in an item, the others one sort of it each.

They take any JSON object, never raise, and change nothing.
"""

from __future__ import annotations

from typing import Final

from ._flat import FLAT_CALLS, WITHOUT_CALLS, WITHOUT_OUTPUTS, flat_call, flat_output, flat_reasoning
from ._messages import (
    CALL_BLOCKS,
    OUTPUT_ROLES,
    blocks,
    call_of_block,
    chat_calls,
    chat_reasoning,
    is_message,
    output_of_block,
    output_of_message,
    part_of_block,
)
from ._pictures import decoded_size, images_in
from ._values import Item, is_text, named, non_blank
from .gemini import content_calls, content_outputs, content_parts, is_content
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
    "calls_and_outputs",
    "has_opaque",
    "hosted_calls",
    "hosted_outputs",
    "images",
    "is_aborted",
    "is_plain",
    "is_user_turn",
    "made_images",
    "message_id",
    "parts",
    "reasoning",
    "role",
    "text",
    "tool_calls",
    "tool_outputs",
    "type_of",
]


def parts(item: Item) -> tuple[Part, ...]:
    """Everything that an item holds, in its order: reasoning, content, then Chat tool calls."""
    kind = type_of(item)
    if kind is not None and kind != "message":
        flat: list[Part | None] = [
            flat_reasoning(item, kind),
            flat_call(item, kind),
            flat_output(item, kind),
        ]
        found = tuple(part for part in flat if part is not None)
        if found or not is_message(item):
            return found or (OtherPart(kind, 0),)
    if "parts" in item and is_content(item):
        return tuple(content_parts(item))
    output = output_of_message(item)
    if output is not None:
        return (output,)
    refusal = item.get("refusal")
    read: list[Part | None] = [
        chat_reasoning(item),
        *(part_of_block(block, place) for place, block in enumerate(blocks(item))),
        TextPart(refusal, 0) if is_text(refusal) else None,
        *chat_calls(item),
    ]
    return tuple(part for part in read if part is not None)


def tool_calls(item: Item) -> tuple[ToolCallPart, ...]:
    """The calls that somebody has to answer with an output item or block."""
    kind = type_of(item)
    if kind in WITHOUT_CALLS:
        return ()
    if kind is not None and kind != "message":
        call = flat_call(item, kind)
        if call is not None:
            return (call,) if call.kind != HOSTED else ()
        if flat_output(item, kind) is not None:
            return ()
    if "parts" in item and is_content(item):
        return tuple(content_calls(item))
    if output_of_message(item) is not None:
        return ()
    found = [
        call_of_block(block, block["type"], place)
        for place, block in enumerate(blocks(item))
        if type(block) is dict and type(word := block.get("type")) is str and word in CALL_BLOCKS
    ]
    return (*found, *chat_calls(item))


def tool_outputs(item: Item) -> tuple[ToolOutputPart, ...]:
    """The outputs that answer such calls."""
    kind = type_of(item)
    if kind in WITHOUT_OUTPUTS:
        return ()
    if kind is not None and kind != "message":
        output = flat_output(item, kind)
        if output is not None:
            return (output,) if output.kind != HOSTED else ()
        if flat_call(item, kind) is not None:
            return ()
    if "parts" in item and is_content(item):
        return tuple(content_outputs(item))
    output = output_of_message(item)
    if output is not None:
        return (output,)
    return tuple(
        output_of_block(block, "tool_result", place)
        for place, block in enumerate(blocks(item))
        if type(block) is dict and block.get("type") == "tool_result"
    )


def calls_and_outputs(item: Item) -> tuple[tuple[ToolCallPart, ...], tuple[ToolOutputPart, ...]]:
    """What :func:`tool_calls` and :func:`tool_outputs` give, with little ado for an item that has none.

    The messages of functions that Chat had before tools know no ids, and so are neither.
    """
    kind = item.get("type")
    if type(kind) is str and kind != "message":
        return tool_calls(item), () if kind in FLAT_CALLS else tool_outputs(item)
    if "parts" in item and is_content(item):
        return tuple(content_calls(item)), tuple(content_outputs(item))
    speaker = item.get("role")
    if speaker == "function":
        return (), ()
    if type(speaker) is str and speaker in OUTPUT_ROLES:
        output = output_of_message(item)
        return (), () if output is None else (output,)
    content = item.get("content")
    calls: list[ToolCallPart] = []
    outputs: list[ToolOutputPart] = []
    if type(content) is list:
        for place, block in enumerate(content):
            word = block.get("type") if type(block) is dict else None
            if word == "tool_result":
                outputs.append(output_of_block(block, word, place))
            elif word in ("tool_use", "toolCall"):
                calls.append(call_of_block(block, word, place))
    if "tool_calls" in item:
        calls += chat_calls(item)
    return tuple(calls), tuple(outputs)


def is_plain(item: Item) -> bool:
    """Whether an item holds text, pictures and reasoning alone; seldom no where it does.

    It looks at no more than that takes, and so is told many times faster than :func:`parts`.
    """
    kind = item.get("type")
    if kind == "reasoning":
        return True
    if (kind is not None and kind != "message") or item.get("role") not in ("user", "assistant"):
        return False
    if not _CALL_KEYS.isdisjoint(item):
        return False
    content = item.get("content")
    if type(content) is list:
        for block in content:
            word = block.get("type") if type(block) is dict else None
            if type(word) is not str or word not in _PLAIN_BLOCKS:
                return False
        return True
    return type(content) is str


_CALL_KEYS: Final = frozenset({"tool_calls", "function_call", "tool_call_id", "tool_use_id", "call_id"})
_PLAIN_BLOCKS: Final = frozenset(
    {"text", "input_text", "output_text", "thinking", "redacted_thinking", "image", "input_image"}
)


def hosted_calls(item: Item) -> tuple[ToolCallPart, ...]:
    """The calls that the provider ran itself: no output item is owed to them."""
    return tuple(p for p in parts(item) if isinstance(p, ToolCallPart) and p.kind == HOSTED)


def hosted_outputs(item: Item) -> tuple[ToolOutputPart, ...]:
    """What the provider says that its own calls gave."""
    return tuple(p for p in parts(item) if isinstance(p, ToolOutputPart) and p.kind == HOSTED)


def reasoning(item: Item) -> tuple[ReasoningPart, ...]:
    """What the model thought; one part for each item, block, or Chat message with reasoning."""
    return tuple(part for part in parts(item) if isinstance(part, ReasoningPart))


def text(item: Item) -> str:
    """The text for people: all text parts, joined by one newline. A tool output has none."""
    if item.get("role") == "user" and item.get("type") in (None, "message") and "refusal" not in item:
        # Nothing but its content can hold text: a listing asks this of thousands of files.
        content = item.get("content")
        if content is None and is_content(item):
            return "\n".join(part.text for part in content_parts(item) if isinstance(part, TextPart))
        if type(content) is str:
            return content
        said = (part_of_block(block, 0) for block in blocks(item))
        return "\n".join(part.text for part in said if isinstance(part, TextPart))
    return "\n".join(part.text for part in parts(item) if isinstance(part, TextPart))


def images(item: Item) -> tuple[ImagePart, ...]:
    """The pictures of an item, also those inside tool results and those a model made.

    A picture inside a tool result has the place of that result.
    """
    found: list[ImagePart] = []
    for part in parts(item):
        if isinstance(part, ImagePart):
            found.append(part)
        elif isinstance(part, ToolOutputPart):
            found.extend(images_in(part.content, part.place))
    return (*found, *made_images(item))


def made_images(item: Item) -> tuple[ImagePart, ...]:
    """The picture that a hosted call of a model made, where it stands in the call itself."""
    result = item.get("result")
    if type_of(item) != "image_generation_call" or not is_text(result):
        return ()
    return (ImagePart(None, decoded_size(result), 0, result),)


def role(item: Item) -> str | None:
    """Who speaks in a message; None for an item that is no message.

    What Gemini calls the model is the assistant, as everywhere else.
    """
    speaker = named(item.get("role"))
    return "assistant" if speaker == "model" and is_content(item) else speaker


def type_of(item: Item) -> str | None:
    """The type that an item names; None where it names none."""
    return named(item.get("type"))


def message_id(item: Item) -> str | None:
    """The id of the Anthropic message that an item is, or is a piece of; None for other shapes.

    One message may be stored as several items, each with one block and all with this id.
    """
    if "stop_reason" not in item and "stop_sequence" not in item and "model" not in item:
        return None
    return named(item.get("id")) if item.get("role") == "assistant" else None


def is_user_turn(item: Item) -> bool:
    """Whether an item is a message of the user that answers no tool call."""
    return item.get("role") == "user" and not tool_outputs(item)


def is_aborted(item: Item) -> bool:
    """Whether the item itself says that a turn was broken off, by the user or by an error."""
    if item.get("role") == "assistant":
        return item.get("stopReason") in ("aborted", "error")
    if item.get("role") != "user" or type(item.get("content")) is not list:
        return False
    return any(
        type(block) is dict
        and type(said := block.get("text")) is str
        and "[Request interrupted by user" in said
        for block in item["content"]
    )


def has_opaque(item: Item) -> bool:
    """Whether an item carries encrypted content, or reasoning that only its producer can read."""
    return non_blank(item.get("encrypted_content")) or any(part.opaque for part in reasoning(item))
