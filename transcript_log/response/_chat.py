"""Chat Completions, of OpenAI and of the many that answer like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .. import items
from ._values import Object, as_list, as_object, as_text, has_text, joined
from .answers import ChatResponse, ReplayBlocks
from .calls import ToolCall, call_of, is_cut_call
from .finish import FinishReason, settle, word_for
from .reasoning import extract_reasoning
from .usage import CHAT, Usage

__all__ = ["looks_right", "read"]

# Words beyond those of ``normalize_finish_reason``; docs/responses.md has their sources.
_WORDS: Final[Mapping[str, FinishReason]] = {
    "function_call": FinishReason.TOOL_USE,
    "error": FinishReason.ERROR,
    "insufficient_system_resource": FinishReason.ERROR,
    "model_length": FinishReason.CONTEXT_WINDOW_EXCEEDED,
}


def looks_right(raw: Object) -> bool:
    """Whether an answer is one of Chat Completions."""
    return type(raw.get("choices")) is list


def read(raw: Object) -> ChatResponse:
    """The response that such an answer is."""
    choices = as_list(raw.get("choices"))
    choice = as_object(choices[0]) if choices else {}
    message = choice.get("message")
    said = as_object(message)
    word = as_text(choice.get("finish_reason"))
    # Moonshot's streams have it in the choice (earendil-works/pi#2017).
    usage = raw.get("usage")
    refusal = said.get("refusal")
    refused = has_text(refusal)
    told = word_for(choice.get("finish_reason"), _WORDS)
    has_calls = bool(items.tool_calls(said) or as_object(said.get("function_call")))
    finish = settle(told, calls=has_calls, refused=refused)
    return ChatResponse(
        text=_text(said, refusal if refused else None),
        reasoning=_reasoning(raw, said),
        tool_calls=tuple(_calls(said, finish)),
        usage=Usage.from_raw(choice.get("usage") if usage is None else usage, CHAT),
        finish_reason=finish,
        raw_finish_reason=word,
        id=as_text(raw.get("id")),
        model=as_text(raw.get("model")),
        provider=as_text(raw.get("provider")),
        raw=raw,
        replay_blocks=ReplayBlocks(CHAT, (message,) if isinstance(message, Mapping) else ()),
    )


def _text(said: Object, refusal: str | None) -> str | None:
    content = said.get("content")
    pieces = [content] if type(content) is str else [_piece(block) for block in as_list(content)]
    found = [piece for piece in pieces if piece is not None]
    return joined([found, [refusal]] if refusal is not None else [found])


def _piece(block: Any) -> str | None:
    owner = as_object(block)
    kind = owner.get("type")
    return as_text(owner.get("refusal" if kind == "refusal" else "text"))


def _reasoning(raw: Object, said: Object) -> str | None:
    found = extract_reasoning(raw)
    if found is None:
        # Mistral has blocks of content that are thinking.
        found = "".join(part.text for part in items.reasoning(said))
    return found or None


def _calls(said: Object, finish: FinishReason | None) -> Iterator[ToolCall]:
    for part in items.tool_calls(said):
        yield call_of(part, is_cut=is_cut_call(said, part, finish))
    old = as_object(said.get("function_call"))
    if old:  # before tools there were functions, without an id
        part = items.ToolCallPart(None, as_text(old.get("name")) or "", old.get("arguments"), "function", 0)
        yield call_of(part, is_cut=is_cut_call(said, part, finish))
