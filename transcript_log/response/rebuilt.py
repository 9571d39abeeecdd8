"""An answer as its API would give it, made again of the items that the log has of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .. import items as shapes
from ..entries import Item
from ..items.shapes import blocks_of
from .finish import FinishReason
from .usage import ANTHROPIC, CHAT, RESPONSES, Usage
from .wire import raw_answer

__all__ = ["answer_of_items", "joined"]

_CHAT_WORDS: Final[Mapping[FinishReason, str]] = {
    FinishReason.STOP: "stop",
    FinishReason.TOOL_USE: "tool_calls",
    FinishReason.MAX_TOKENS: "length",
    FinishReason.CONTENT_FILTER: "content_filter",
}
_ANTHROPIC_WORDS: Final[Mapping[FinishReason, str]] = {
    FinishReason.STOP: "end_turn",
    FinishReason.TOOL_USE: "tool_use",
    FinishReason.MAX_TOKENS: "max_tokens",
    FinishReason.REFUSAL: "refusal",
    FinishReason.PAUSE: "pause_turn",
    FinishReason.CONTEXT_WINDOW_EXCEEDED: "model_context_window_exceeded",
}
_INCOMPLETE: Final[Mapping[FinishReason, str]] = {
    FinishReason.MAX_TOKENS: "max_output_tokens",
    FinishReason.CONTENT_FILTER: "content_filter",
}


def answer_of_items(
    api: str,
    items: Sequence[Item],
    *,
    id: str,
    model: str,
    finish: FinishReason | None = None,
    usage: Usage | None = None,
) -> dict[str, Any]:
    """The answer that an API gave these items in; ``parse_response`` reads them back out of it.

    Args:
        api: The API, of which the items are.
        items: What a model said, in its order.
        id: The id of the response.
        model: The model, as the answer names it.
        finish: Why it ended; by default what its calls tell.
        usage: Its tokens; none is told without it.

    Raises:
        KeyError: What an answer of this API is, is not known here.
        ValueError: The items are several messages, of which an answer has but one.
    """
    frame = CHAT if api.endswith("-chat") else api  # there is more than one that speaks as Chat does
    answer = raw_answer(frame, id=id, model=model, usage=usage)
    if frame == RESPONSES:
        answer["output"] = [*items]
        if finish is not None and finish in _INCOMPLETE:
            answer["status"] = "incomplete"
            answer["incomplete_details"] = {"reason": _INCOMPLETE[finish]}
    elif frame == ANTHROPIC:
        answer["content"] = [block for item in items for block in blocks_of(item)]
        has_calls = any(
            type(block) is dict and block.get("type") == "tool_use" for block in answer["content"]
        )
        usual = FinishReason.TOOL_USE if has_calls else FinishReason.STOP
        answer["stop_reason"] = _ANTHROPIC_WORDS.get(finish or usual, "end_turn")
    else:
        if len(items) > 1:
            raise ValueError(f"an answer of {api!r} has one message, and here are {len(items)}")
        message = dict(items[0]) if items else {"role": "assistant", "content": ""}
        usual = FinishReason.TOOL_USE if message.get("tool_calls") else FinishReason.STOP
        choice = answer["choices"][0]
        choice["message"] = message
        choice["finish_reason"] = _CHAT_WORDS.get(finish or usual, "stop")
    return answer


def joined(sent: Sequence[Item], api: str) -> list[Item]:
    """Items without what makes no difference to an API: what one side says in several messages in a row.

    Anthropic combines them (https://github.com/anthropics/anthropic-sdk-python, ``Messages.create``,
    2026-12). An answer of Chat is one message, where that of another API may be several.
    """
    made: list[Item] = []
    for item in sent:
        last = made[-1] if made else {}
        if api == ANTHROPIC and last.get("role") == item.get("role"):
            made[-1] = {**last, "content": [*blocks_of(last), *blocks_of(item)]}
        elif api.endswith("-chat") and last.get("role") == item.get("role") == "assistant":
            calls = [*(last.get("tool_calls") or ()), *(item.get("tool_calls") or ())]
            said = "\n\n".join(filter(None, (shapes.text(last), shapes.text(item))))
            made[-1] = {**last, "content": said, **({"tool_calls": calls} if calls else {})}
        elif api == ANTHROPIC:
            made.append({**item, "content": blocks_of(item)})
        else:
            made.append(item)
    return made
