"""An answer of any API, as it came, in the one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from . import _anthropic, _chat, _gemini, _responses
from ._values import Object, as_list, as_object, as_text
from .answers import ChatResponse
from .errors import ResponseError
from .finish import FinishReason
from .limits import parse_rate_limit

__all__ = ["parse_response"]


def parse_response(raw: Any, *, headers: Any = None, attempts: int | None = None) -> ChatResponse:
    """The response that an API answered with, read by its shape.

    Known are the OpenAI Responses and Chat Completions APIs with all that is compatible with
    them, Anthropic Messages, and Gemini's ``generateContent``. An object of another shape gives an
    empty response that holds it in ``raw``; an error body one with the reason ``ERROR``. Of several
    choices or candidates the first is read. Nothing is copied or changed.

    Args:
        raw: The decoded JSON, or an SDK's object with ``model_dump``, whose JSON is then ``raw``,
            without what the wire did not have.
        headers: Those of the answer, for ``rate_limit``.
        attempts: How many requests it took, if the caller counted.

    Raises:
        ResponseError: It is neither.
    """
    answer = raw if isinstance(raw, Mapping) else _json_of(raw)
    read = next((read for looks_right, read in _READERS if looks_right(answer)), _other)
    return replace(read(answer), attempts=attempts, rate_limit=parse_rate_limit(headers))


def _other(raw: Object) -> ChatResponse:
    error = raw.get("error")
    if error is None:
        return ChatResponse(raw=raw)
    word = as_text(as_object(error).get("type")) or as_text(as_object(error).get("code")) or "error"
    return ChatResponse(raw=raw, finish_reason=FinishReason.ERROR, raw_finish_reason=word)


_READERS: Final[tuple[tuple[Callable[[Object], bool], Callable[[Object], ChatResponse]], ...]] = (
    (_chat.looks_right, _chat.read),
    (_responses.looks_right, _responses.read),
    (_gemini.looks_right, _gemini.read),
    (_anthropic.looks_right, _anthropic.read),
)


# ------------------------------------------------------------------------------- SDKs

# What SDKs add to an answer they parsed; no request may have it.
_ADDED: Final = frozenset({"parsed", "parsed_arguments", "parsed_output"})


def _json_of(raw: Any) -> dict[str, Any]:
    """The JSON of an SDK's object, under the names that the wire has."""
    dump = getattr(raw, "model_dump", None)
    if dump is None or isinstance(raw, type):
        raise ResponseError(type(raw).__name__)
    try:
        # Some fields have other names in Python; and a block of a type that is newer than the
        # SDK is no reason for a warning.
        answer = dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    except TypeError:
        answer = dump(mode="json", exclude_unset=True)
    if type(answer) is not dict:
        raise ResponseError(type(raw).__name__)
    for item in as_list(answer.get("output")):
        _drop(item)
        for part in as_list(as_object(item).get("content")):
            _drop(part)
    for choice in as_list(answer.get("choices")):
        message = as_object(choice).get("message")
        _drop(message)
        for call in as_list(as_object(message).get("tool_calls")):
            _drop(as_object(call).get("function"))
    for block in as_list(answer.get("content")):
        _drop(block)
    return answer


def _drop(value: Any) -> None:
    if type(value) is dict:
        for name in _ADDED & value.keys():
            del value[name]
