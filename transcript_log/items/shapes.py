"""Whose item it is by its looks, and the items that are made or taken apart in each shape.

Five shapes are told apart: OpenAI Responses items, Chat messages, Anthropic messages, contents
of Gemini, and messages as pi writes them. ``plain`` is a message that several APIs take as it is. What is
made here shares the blocks that it was made from; nothing that was given is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from .gemini import is_content, output_part, response_of, with_response
from .part_types import ReasoningPart, TextPart, ToolCallPart, ToolOutputPart
from .reading import message_id, parts, tool_outputs

__all__ = [
    "Shape",
    "answer_item",
    "blocks_of",
    "finish_word",
    "holds_outputs_alone",
    "hosted_blocks",
    "is_from_model",
    "is_message",
    "is_thinking",
    "output_item",
    "rest_of",
    "shape_of",
    "single_output",
    "user_blocks",
    "user_item",
    "with_output",
    "without_blocks",
    "without_calls",
]

_Item: TypeAlias = Mapping[str, Any]

Shape = Literal["responses", "chat", "anthropic", "gemini", "pi", "plain"]
"""Whose item it is by its looks."""

_ANTHROPIC_BLOCKS: Final = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "mcp_tool_use",
        "document",
    }
)
_RESPONSES_BLOCKS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_CHAT_BLOCKS: Final = frozenset({"image_url", "input_audio", "file", "document_url", "reference"})
_CHAT_KEYS: Final = frozenset({"tool_calls", "reasoning_content", "reasoning_details"})
_PI_KEYS: Final = frozenset({"stopReason", "timestamp"})


def shape_of(item: _Item) -> Shape:
    """Whose item it is by its looks."""
    kind = item.get("type")
    speaker = item.get("role")
    if type(kind) is str and kind != "message":
        return "responses"
    if ("parts" in item or speaker == "model") and is_content(item):
        return "gemini"
    if speaker == "toolResult":
        return "pi"
    if speaker in ("tool", "function") or not _CHAT_KEYS.isdisjoint(item):
        return "chat"
    content = item.get("content")
    if type(content) is list:
        for block in content:
            word = block.get("type") if type(block) is dict else None
            if type(word) is not str:
                continue
            if word in _RESPONSES_BLOCKS:
                return "responses"
            if word == "toolCall" or (word == "image" and "data" in block) or "thinkingSignature" in block:
                return "pi"
            if word in _CHAT_BLOCKS or (word == "thinking" and type(block.get("thinking")) is list):
                return "chat"
            if word in _ANTHROPIC_BLOCKS or word.endswith("_tool_result") or "source" in block:
                return "pi" if word == "thinking" and "stopReason" in item else "anthropic"
    if message_id(item) is not None:
        return "anthropic"
    if not _PI_KEYS.isdisjoint(item):
        return "pi"
    return "responses" if kind == "message" else "plain"


# ------------------------------------------------------------------------------- making


def user_item(text: str) -> dict[str, Any]:
    """A message of the user that every API takes."""
    return {"role": "user", "content": text}


def output_item(call: ToolCallPart, text: str, shape: Shape, *, is_error: bool = False) -> dict[str, Any]:
    """An output that answers a call, in the shape of the item that holds the call."""
    call_id = call.id or ""
    if shape == "responses":
        word = "custom_tool_call_output" if call.kind == "custom" else f"{call.kind}_call_output"
        if call.kind == "shell":
            return {"type": word, "call_id": call_id, "output": [_shell_result(text)]}
        if call.kind == "apply_patch":
            return {"type": word, "call_id": call_id, "status": "failed", "output": text}
        if call.kind == "tool_search":
            return {"type": "tool_search_output", "call_id": call_id, "tools": []}
        if call.kind == "local_shell":
            return {"type": word, "id": call_id, "call_id": call_id, "output": text}
        return {"type": word, "call_id": call_id, "output": text}
    if shape == "anthropic":
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        if is_error:
            block["is_error"] = True
        return {"role": "user", "content": [block]}
    if shape == "gemini":
        return {"role": "user", "parts": [output_part(call, response_of(text, is_error=is_error))]}
    if shape == "pi":
        return {
            "role": "toolResult",
            "toolCallId": call_id,
            "toolName": call.name,
            "content": [{"type": "text", "text": text}],
            "isError": is_error,
        }
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def answer_item(
    call: ToolCallPart, content: Any, shape: Shape, *, is_error: bool = False, exit_code: int | None = None
) -> dict[str, Any]:
    """What a tool gave back, in the shape of the item that holds the call.

    Text is put where the shape wants it; blocks, and an object, stand there as they are given.
    """
    made = output_item(call, content if type(content) is str else "", shape, is_error=is_error)
    if shape == "anthropic":
        made["content"][0]["content"] = content
        return made
    if shape == "gemini":
        answer = made["parts"][0]["functionResponse"]
        if type(content) is dict and not is_error:
            answer["response"] = content
        elif type(content) is list and content and all(map(_is_shown, content)):
            answer |= {"response": response_of("", is_error=is_error), "parts": content}
        else:
            answer["response"] = response_of(content, is_error=is_error)
        return made
    if shape != "responses":
        if type(content) is not str:
            made["content"] = content
        return made
    if call.kind == "apply_patch" and not is_error:
        made["status"] = "completed"
    if type(content) is not str:
        made["tools" if call.kind == "tool_search" else "output"] = content
    elif call.kind == "shell":
        code = exit_code if exit_code is not None else int(is_error)
        told = {"stdout": "", "stderr": content} if is_error else {"stdout": content, "stderr": ""}
        made["output"] = [{**told, "outcome": {"type": "exit", "exit_code": code}}]
    return made


def _is_shown(part: Any) -> bool:
    """Whether a part is bytes, or a link to them."""
    return type(part) is dict and ("inlineData" in part or "fileData" in part)


def _shell_result(text: str) -> dict[str, Any]:
    return {"stdout": "", "stderr": text, "outcome": {"type": "exit", "exit_code": 1}}


_TEXT_OUTPUTS: Final = frozenset({"function", "custom", "local_shell", "apply_patch"})
"""Kinds of calls whose flat output is text or blocks."""


def with_output(item: _Item, output: ToolOutputPart, text: str) -> _Item:
    """An item with a text in place of what a tool gave back; the item itself where there can be none.

    What else the output says stays: whether it is an error, how a command ended.
    """
    if _is_gemini(item):
        parts = list(item["parts"])
        parts[output.place] = with_response(parts[output.place], text)
        return {**item, "parts": parts}
    if _holds_blocks(item):
        content = list(item["content"])
        content[output.place] = {**content[output.place], "content": text}
        return {**item, "content": content}
    role = item.get("role")
    if role == "toolResult":
        return {**item, "content": [{"type": "text", "text": text}]}
    if role is not None:
        return {**item, "content": text}
    if output.kind == "shell" and type(item.get("output")) is list:
        results = [one for one in item["output"] if type(one) is dict]
        texts = [text, *[""] * len(results)]
        made = [{**one, "stdout": said, "stderr": ""} for one, said in zip(results, texts, strict=False)]
        return {**item, "output": made}
    return {**item, "output": text} if output.kind in _TEXT_OUTPUTS else item


# ------------------------------------------------------------------------- taking apart


def single_output(item: _Item, output: ToolOutputPart, count: int) -> _Item:
    """One output of an item as an item of its own; the item itself, if it holds nothing else.

    ``count`` is how many outputs the item has.
    """
    content = item.get("content")
    if _is_gemini(item):
        alone = count == 1 and len(item["parts"]) == 1
        return item if alone else {**item, "parts": [item["parts"][output.place]]}
    if not _holds_blocks(item):
        return item
    assert type(content) is list
    if count == 1 and len(content) == 1:
        return item
    return {"role": "user", "content": [content[output.place]]}


def rest_of(item: _Item, outputs: Sequence[ToolOutputPart]) -> _Item | None:
    """What an item holds beside its outputs, in the same shape; None if that is nothing."""
    taken = {output.place for output in outputs}
    if _is_gemini(item):
        left = [part for place, part in enumerate(item["parts"]) if place not in taken]
        return {**item, "parts": left} if left else None
    if not _holds_blocks(item):
        return None
    kept = [block for place, block in enumerate(item["content"]) if place not in taken]
    return {**item, "content": kept} if kept else None


def _is_gemini(item: _Item) -> bool:
    """Whether an item is a content of Gemini with parts."""
    return "parts" in item and is_content(item)


def _holds_blocks(item: _Item) -> bool:
    """Whether the outputs of an item are blocks among others."""
    return type(item.get("content")) is list and item.get("role") not in ("tool", "function", "toolResult")


def without_calls(item: _Item, calls: Collection[ToolCallPart]) -> _Item | None:
    """An item without some of its calls; None if nothing is left to say.

    What a model thought is nothing by itself.
    """
    if item.get("role") is None:
        return None
    left = dict(item)
    listed = item.get("tool_calls")
    content = item.get("content")
    if _is_gemini(item):
        gone = {call.place for call in calls}
        left["parts"] = [part for place, part in enumerate(item["parts"]) if place not in gone]
    elif type(listed) is list:
        gone = {call.place for call in calls}
        left["tool_calls"] = [call for place, call in enumerate(listed) if place not in gone]
        if not left["tool_calls"]:
            del left["tool_calls"]
    elif type(content) is list:
        gone = {call.place for call in calls}
        left["content"] = [block for place, block in enumerate(content) if place not in gone]
    said = (part for part in parts(left) if not isinstance(part, ReasoningPart))
    return left if any(not isinstance(p, TextPart) or p.text.strip() for p in said) else None


def without_blocks(item: _Item, places: Collection[int]) -> _Item | None:
    """A message without some of its blocks; None if no block is left."""
    kept = [block for place, block in enumerate(item["content"]) if place not in places]
    return {**item, "content": kept} if kept else None


# ------------------------------------------------------------------------------ joining


def holds_outputs_alone(item: _Item) -> bool:
    """Whether an item is an Anthropic message of outputs, and of nothing else."""
    content = item.get("content")
    return (
        item.get("role") == "user"
        and type(content) is list
        and bool(content)
        and all(type(block) is dict and block.get("type") == "tool_result" for block in content)
    )


def user_blocks(item: _Item) -> list[Any] | None:
    """The blocks of an Anthropic message of the user; None if it is none, or says nothing."""
    if item.get("role") != "user" or item.get("type") == "message":
        return None
    content = item.get("content")
    if type(content) is str:
        return [{"type": "text", "text": content}] if content.strip() else None
    return content if type(content) is list and shape_of(item) in ("anthropic", "plain") else None


def blocks_of(item: _Item) -> list[Any]:
    """The content of a message as blocks; text as one block of it."""
    content = item.get("content")
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return content if type(content) is list else []


# ------------------------------------------------------------------------------- asking


def is_message(item: _Item) -> bool:
    """Whether an item is a message, and no call, output or reasoning of its own."""
    kind = item.get("type")
    return item.get("role") is not None or type(kind) is not str or kind == "message"


def is_from_model(item: _Item) -> bool:
    """Whether a model said an item. A message that names no role is the user's."""
    return item.get("role") in ("assistant", "model") if is_message(item) else not tool_outputs(item)


def is_thinking(block: Any) -> bool:
    """Whether a block is what an Anthropic model thought."""
    return type(block) is dict and block.get("type") in ("thinking", "redacted_thinking")


def finish_word(item: _Item) -> str | None:
    """Why a model stopped, where the item itself says so."""
    for key in ("stop_reason", "stopReason"):
        word = item.get(key)
        if type(word) is str:
            return word
    return "incomplete" if item.get("status") == "incomplete" else None


def hosted_blocks(item: _Item) -> list[tuple[int, str, bool]]:
    """The blocks of a message that are calls of the provider's own tools, or results of them.

    Of each its place, the id of the call, and whether it is the call.
    """
    content = item.get("content")
    if item.get("role") != "assistant" or type(content) is not list:
        return []
    found = []
    for place, block in enumerate(content):
        word = block.get("type") if type(block) is dict else None
        if type(word) is not str:
            continue
        if word in ("server_tool_use", "mcp_tool_use"):
            found.append((place, str(block.get("id") or ""), True))
        elif word.endswith("_tool_result"):
            found.append((place, str(block.get("tool_use_id") or ""), False))
    return found
