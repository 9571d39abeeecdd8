"""The Responses API of OpenAI, and of those that answer like it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .. import items
from ._values import Object, as_list, as_object, as_text, has_text, joined
from .answers import ChatResponse, ReplayBlocks
from .calls import call_of, is_cut_call
from .finish import FinishReason, settle
from .usage import RESPONSES, Usage

__all__ = ["looks_right", "read"]

_STATUSES: Final[Mapping[str, FinishReason]] = {
    "completed": FinishReason.STOP,
    "failed": FinishReason.ERROR,
}
_INCOMPLETE: Final[Mapping[str, FinishReason]] = {
    "max_output_tokens": FinishReason.MAX_TOKENS,
    "max_tokens": FinishReason.MAX_TOKENS,
    "content_filter": FinishReason.CONTENT_FILTER,
}
_CODES: Final[Mapping[str, FinishReason]] = {
    "context_length_exceeded": FinishReason.CONTEXT_WINDOW_EXCEEDED,
}


def looks_right(raw: Object) -> bool:
    """Whether an answer is one of the Responses API."""
    return type(raw.get("output")) is list


def read(raw: Object) -> ChatResponse:
    """The response that such an answer is."""
    output = as_list(raw.get("output"))
    found = [item for item in output if isinstance(item, Mapping)]
    runs: list[list[str]] = []
    refused = False
    for item in found:
        if item.get("type") != "message":
            continue
        run: list[str] = []
        for part in as_list(item.get("content")):
            refusal = as_object(part).get("refusal")
            refused = refused or has_text(refusal)
            said = as_text(refusal) or as_text(as_object(part).get("text"))
            if said is not None:
                run.append(said)
        runs.append(run)
    parts = [(item, part) for item in found for part in items.tool_calls(item)]
    told, word = _finish(raw)
    finish = settle(told, calls=bool(parts), refused=refused)
    thought = [part.text for item in found for part in items.reasoning(item) if part.text]
    return ChatResponse(
        text=joined(runs),
        reasoning="\n\n".join(thought) or None,
        tool_calls=tuple(call_of(part, is_cut=is_cut_call(item, part, finish)) for item, part in parts),
        usage=Usage.from_raw(raw.get("usage"), RESPONSES),
        finish_reason=finish,
        raw_finish_reason=word,
        id=as_text(raw.get("id")),
        model=as_text(raw.get("model")),
        raw=raw,
        replay_blocks=ReplayBlocks(RESPONSES, tuple(found)),
    )


def _finish(raw: Object) -> tuple[FinishReason | None, str | None]:
    """Why it stopped, and the word for it: the reason of an incomplete answer, and else the status."""
    status = as_text(raw.get("status"))
    if status is None:
        return None, None
    if status == "incomplete":
        reason = as_text(as_object(raw.get("incomplete_details")).get("reason"))
        if reason is None:
            return FinishReason.UNKNOWN, status
        return _INCOMPLETE.get(reason, FinishReason.UNKNOWN), reason
    code = as_text(as_object(raw.get("error")).get("code"))
    if status == "failed" and code is not None:
        return _CODES.get(code, FinishReason.ERROR), code
    return _STATUSES.get(status, FinishReason.UNKNOWN), status
