"""Why a model stopped, in one set of words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

__all__ = ["CUTTING", "FinishReason", "normalize_finish_reason", "settle", "word_for"]


class FinishReason(StrEnum):
    """Why a model stopped.

    Only ``ERROR`` is a failure. A refusal, a content filter, a pause and a limit are answers.
    """

    STOP = "stop"
    """It had said what it wanted to say, or came upon a stop sequence."""
    TOOL_USE = "tool_use"
    """It waits for the outputs of its calls."""
    MAX_TOKENS = "max_tokens"
    """It reached the limit of output tokens: the answer is cut off."""
    CONTENT_FILTER = "content_filter"
    """A filter of the provider withheld the answer, or the rest of it."""
    REFUSAL = "refusal"
    """The model declined to answer."""
    PAUSE = "pause"
    """The provider paused a long turn: send the answer back as it is, and it goes on."""
    ERROR = "error"
    """The provider failed while it answered."""
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    """Input and output together filled the context window: the answer is cut off."""
    UNKNOWN = "unknown"
    """A word that is not known here; the response keeps it."""


CUTTING: Final = frozenset(
    {
        FinishReason.MAX_TOKENS,
        FinishReason.CONTENT_FILTER,
        FinishReason.REFUSAL,
        FinishReason.ERROR,
        FinishReason.CONTEXT_WINDOW_EXCEEDED,
    }
)
"""After these no call of the answer counts as whole, even if its arguments can be read."""

_WORDS: Final[Mapping[str, FinishReason]] = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_USE,
    "tool_use": FinishReason.TOOL_USE,
    "length": FinishReason.MAX_TOKENS,
    "max_tokens": FinishReason.MAX_TOKENS,
    "content_filter": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.REFUSAL,
    "pause_turn": FinishReason.PAUSE,
    "network_error": FinishReason.ERROR,
    "model_context_window_exceeded": FinishReason.CONTEXT_WINDOW_EXCEEDED,
}


def normalize_finish_reason(reason: object) -> FinishReason | None:
    """The reason that a word of a Chat or an Anthropic answer stands for.

    A :class:`FinishReason` and None pass unchanged. Exact words only, without trimming or folding;
    all else is ``UNKNOWN``, also the text of a member such as ``"pause"``, which no provider says.
    """
    if reason is None or isinstance(reason, FinishReason):
        return reason
    if isinstance(reason, str):
        return _WORDS.get(reason, FinishReason.UNKNOWN)
    return FinishReason.UNKNOWN


def word_for(reason: Any, words: Mapping[str, FinishReason]) -> FinishReason | None:
    """The reason that a word stands for where some words mean more than elsewhere."""
    found = words.get(reason) if type(reason) is str else None
    return found if found is not None else normalize_finish_reason(reason)


def settle(told: FinishReason | None, *, calls: bool, refused: bool = False) -> FinishReason | None:
    """The reason in view of what was said.

    A refusal stands in the answer, not in the word, of some APIs; and servers say ``stop`` after
    whole calls. A limit, a filter, an error and an unknown word stay what they are.
    """
    if refused and told in (None, FinishReason.STOP, FinishReason.TOOL_USE):
        return FinishReason.REFUSAL
    return FinishReason.TOOL_USE if calls and told is FinishReason.STOP else told
