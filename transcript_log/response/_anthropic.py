"""Anthropic Messages, and those that answer like it."""

from __future__ import annotations

from typing import Final

from .. import items
from ._values import Object, as_list, as_object, as_text, joined
from .answers import ChatResponse, ReplayBlocks
from .calls import call_of, is_cut_call
from .finish import normalize_finish_reason, settle
from .reasoning import extract_reasoning
from .usage import ANTHROPIC, Usage

__all__ = ["looks_right", "read"]

_ROLE: Final = "assistant"


def looks_right(raw: Object) -> bool:
    """Whether an answer is a message of Anthropic's."""
    return raw.get("type") == "message" or (raw.get("role") == _ROLE and "content" in raw)


def read(raw: Object) -> ChatResponse:
    """The response that such an answer is."""
    content = raw.get("content")
    word = as_text(raw.get("stop_reason"))
    message = {"role": _ROLE, "content": content}
    parts = items.tool_calls(message)
    finish = settle(normalize_finish_reason(raw.get("stop_reason")), calls=bool(parts))
    return ChatResponse(
        text=_text(content),
        reasoning=extract_reasoning({"content": content}),
        tool_calls=tuple(call_of(part, is_cut=is_cut_call(message, part, finish)) for part in parts),
        usage=Usage.from_raw(raw.get("usage"), ANTHROPIC),
        finish_reason=finish,
        raw_finish_reason=word,
        id=as_text(raw.get("id")),
        model=as_text(raw.get("model")),
        raw=raw,
        replay_blocks=ReplayBlocks(ANTHROPIC, (message,) if content is not None else ()),
    )


def _text(content: object) -> str | None:
    """Text blocks that follow each other are one text, cut up by its citations."""
    if type(content) is str:
        return content
    runs: list[list[str]] = [[]]
    for block in as_list(content):
        said = as_text(as_object(block).get("text")) if as_object(block).get("type") == "text" else None
        if said is not None:
            runs[-1].append(said)
        else:
            runs.append([])
    return joined(runs)
