"""``generateContent`` of Gemini, in the names of its JSON and in those of its Python SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ._values import Object, as_list, as_object, as_text, joined, member
from .answers import ChatResponse, ReplayBlocks
from .calls import ToolCall, decoded
from .finish import CUTTING, FinishReason, settle
from .usage import GEMINI, Usage

__all__ = ["looks_right", "read"]

_WORDS: Final[Mapping[str, FinishReason]] = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.MAX_TOKENS,
    "SAFETY": FinishReason.CONTENT_FILTER,
    "RECITATION": FinishReason.CONTENT_FILTER,
    "BLOCKLIST": FinishReason.CONTENT_FILTER,
    "PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "SPII": FinishReason.CONTENT_FILTER,
    "MODEL_ARMOR": FinishReason.CONTENT_FILTER,
    "IMAGE_SAFETY": FinishReason.CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "IMAGE_RECITATION": FinishReason.CONTENT_FILTER,
    "MALFORMED_FUNCTION_CALL": FinishReason.ERROR,
    "MALFORMED_RESPONSE": FinishReason.ERROR,
    "UNEXPECTED_TOOL_CALL": FinishReason.ERROR,
    "TOO_MANY_TOOL_CALLS": FinishReason.ERROR,
    "MISSING_THOUGHT_SIGNATURE": FinishReason.ERROR,
}
_MARKS: Final = ("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata")


def looks_right(raw: Object) -> bool:
    """Whether an answer is one of Gemini's."""
    return any(raw.get(name) is not None for name in _MARKS)


def read(raw: Object) -> ChatResponse:
    """The response that such an answer is."""
    candidates = as_list(raw.get("candidates"))
    candidate = as_object(candidates[0]) if candidates else {}
    content = candidate.get("content")
    parts = [as_object(part) for part in as_list(as_object(content).get("parts"))]
    word = as_text(member(candidate, "finishReason", "finish_reason"))
    told = None if word is None else _WORDS.get(word, FinishReason.UNKNOWN)
    blocked = as_text(member(as_object(member(raw, "promptFeedback", "prompt_feedback")), *_BLOCKED))
    if word is None and blocked is not None:  # the prompt was refused, and there is no candidate
        told, word = FinishReason.CONTENT_FILTER, blocked
    calls = list(_calls(parts, is_cut=told in CUTTING))
    return ChatResponse(
        text=_text(parts),
        reasoning="".join(
            said for part in parts if part.get("thought") is True and (said := as_text(part.get("text")))
        )
        or None,
        tool_calls=tuple(calls),
        usage=Usage.from_raw(member(raw, "usageMetadata", "usage_metadata"), GEMINI),
        finish_reason=settle(told, calls=bool(calls)),
        raw_finish_reason=word,
        id=as_text(member(raw, "responseId", "response_id")),
        model=as_text(member(raw, "modelVersion", "model_version")),
        raw=raw,
        replay_blocks=ReplayBlocks(GEMINI, (content,) if isinstance(content, Mapping) else ()),
    )


_BLOCKED: Final = ("blockReason", "block_reason")


def _text(parts: list[Object]) -> str | None:
    runs: list[list[str]] = [[]]
    for part in parts:
        said = as_text(part.get("text"))
        if said is not None and part.get("thought") is not True:
            runs[-1].append(said)
        else:
            runs.append([])
    return joined(runs)


def _calls(parts: list[Object], *, is_cut: bool) -> Iterator[ToolCall]:
    for part in parts:
        call = member(part, "functionCall", "function_call")
        if isinstance(call, Mapping):
            raw = call.get("args")
            more = member(call, "willContinue", "will_continue") is True
            yield ToolCall(
                as_text(call.get("id")) or "",
                as_text(call.get("name")) or "",
                decoded(raw, "function"),
                raw,
                "function",
                is_cut or more,
            )
