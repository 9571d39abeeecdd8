"""Answers in the shapes in which the APIs give them, made by hand: for tests and examples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from ..items.gemini import NO_SIGNATURE
from .calls import ToolCall
from .usage import ANTHROPIC, CHAT, RESPONSES, Usage

__all__ = ["raw_answer"]


def raw_answer(
    api: str,
    *,
    id: str,
    model: str,
    text: str | None = None,
    calls: Sequence[ToolCall] = (),
    usage: Usage | None = None,
) -> dict[str, Any]:
    """An answer as the JSON that an API would send, which says and calls what is given.

    It has every field that the SDK of the API demands, and no more: an SDK's own type takes it,
    as in ``openai.types.chat.ChatCompletion.model_validate(raw)``. ``parse_response`` reads it back.

    Args:
        api: ``"openai-responses"``, ``"anthropic-messages"``, ``"openai-chat"``,
            ``"deepseek-chat"``, ``"mistral-chat"`` or ``"gemini"``.
        id: The id of the response.
        model: The model, as the answer names it.
        text: What it says, before its calls. Gemini's first call bears the mark that goes for a signature.
        calls: What it calls: functions, and custom tools where the API has them.
        usage: Its tokens; none is told without it.

    Raises:
        KeyError: No other API is known here.
        ValueError: The API has no words for a call.
    """
    make = _MAKERS[api]
    return make(id, model, text, calls, Usage() if usage is None else usage, told=usage is not None)


def _responses(
    id: str, model: str, text: str | None, calls: Sequence[ToolCall], usage: Usage, *, told: bool
) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if text is not None:
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append(
            {
                "type": "message",
                "id": f"msg_{id}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    output += [
        {
            "type": "custom_tool_call",
            "id": f"ctc_{call.id}",
            "call_id": call.id,
            "name": call.name,
            "input": _text(call),
            "status": "completed",
        }
        if call.kind == "custom"
        else {
            "type": "function_call",
            "id": f"fc_{call.id}",
            "call_id": call.id,
            "name": call.name,
            "arguments": _text(call),
            "status": "completed",
        }
        for call in calls
    ]
    answer: dict[str, Any] = {
        "id": id,
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    if told:
        answer["usage"] = {
            "input_tokens": usage.all_input,
            "input_tokens_details": {
                "cached_tokens": usage.cache_read,
                "cache_write_tokens": usage.cache_write,
            },
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.total,
        }
    return answer


def _chat(
    id: str, model: str, text: str | None, calls: Sequence[ToolCall], usage: Usage, *, told: bool
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "custom",
                "custom": {"name": call.name, "input": _text(call)},
            }
            if call.kind == "custom"
            else {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _text(call)},
            }
            for call in calls
        ]
    finish = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    answer: dict[str, Any] = {
        "id": id,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
    }
    if told:
        answer["usage"] = {
            "prompt_tokens": usage.all_input,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            "completion_tokens": usage.output,
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.total,
        }
    return answer


def _anthropic(
    id: str, model: str, text: str | None, calls: Sequence[ToolCall], usage: Usage, *, told: bool
) -> dict[str, Any]:
    content: list[dict[str, Any]] = [] if text is None else [{"type": "text", "text": text}]
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call)} for call in calls
    ]
    answer: dict[str, Any] = {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
    }
    if told:
        answer["usage"] = {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
        }
    return answer


def _deepseek(
    id: str, model: str, text: str | None, calls: Sequence[ToolCall], usage: Usage, *, told: bool
) -> dict[str, Any]:
    """As a model answers that may think, and did not: it wants that back."""
    answer = _chat(id, model, text, calls, usage, told=told)
    message = answer["choices"][0]["message"]
    message |= {"content": text or "", "reasoning_content": ""}
    return answer


def _gemini(
    id: str, model: str, text: str | None, calls: Sequence[ToolCall], usage: Usage, *, told: bool
) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [] if text is None else [{"text": text}]
    parts += [{"functionCall": {"id": call.id, "name": call.name, "args": _object(call)}} for call in calls]
    if calls:
        parts[-len(calls)]["thoughtSignature"] = NO_SIGNATURE
    content = {"role": "model", "parts": parts}
    answer: dict[str, Any] = {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "modelVersion": model,
        "responseId": id,
    }
    if told:
        answer["usageMetadata"] = {
            "promptTokenCount": usage.all_input,
            "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output - usage.reasoning,
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.total,
        }
    return answer


_MAKERS: Final = {
    RESPONSES: _responses,
    CHAT: _chat,
    "deepseek-chat": _deepseek,
    "mistral-chat": _chat,
    ANTHROPIC: _anthropic,
    "gemini": _gemini,
}


def _text(call: ToolCall) -> str:
    """The arguments as they stood, or as text."""
    for given in (call.raw_arguments, call.arguments):
        if type(given) is str:
            return given
    return json.dumps(call.arguments, ensure_ascii=False)


def _object(call: ToolCall) -> dict[str, Any]:
    if call.kind != "function" or type(call.arguments) is not dict:
        raise ValueError(f"the arguments of the call {call.id!r} are no object, and this API takes no other")
    return call.arguments
