"""Tokens, in disjoint buckets, whichever way a provider counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .._twins import twin_of
from ..entries import RecordedCost, RecordedUsage
from ._values import Object, as_object, count, member

__all__ = [
    "ANTHROPIC",
    "CHAT",
    "FORMATS",
    "GEMINI",
    "RESPONSES",
    "Usage",
    "normalize_usage",
    "recorded_anthropic",
]

RESPONSES: Final = "openai-responses"
"""The Responses API of OpenAI, and what is compatible with it."""

CHAT: Final = "openai-chat"
"""Chat Completions of OpenAI, and what is compatible with it."""

ANTHROPIC: Final = "anthropic-messages"
"""The Messages API of Anthropic."""

GEMINI: Final = "google-gemini"
"""``generateContent`` of Gemini."""

FORMATS: Final = frozenset({RESPONSES, CHAT, ANTHROPIC, GEMINI})
"""The APIs whose answers are read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens of one response, each in one bucket.

    ``input + cache_read + cache_write + output == total``, for every provider, and that is the
    provider's own total where it gives one.

    Attributes:
        input: Input that was neither read from a cache nor written to one.
        cache_read: Input that came from a cache.
        cache_write: Input that was written to a cache.
        output: All output, reasoning included.
        reasoning: How much of ``output`` was reasoning; 0 if unknown.
        total: All of them.
        input_unknown: Nobody told the input; ``total`` may then be more than the buckets.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    total: int = 0
    input_unknown: bool = False

    @property
    def all_input(self) -> int:
        """The whole input, cached or not: how much of the context window the request took."""
        return self.input + self.cache_read + self.cache_write

    @classmethod
    def from_raw(cls, raw: object, api: str | None = None) -> Usage | None:
        """The usage that a raw ``usage`` object tells; None where it is no object.

        Whether cached tokens are inside the input or beside it depends on the API: inside for
        OpenAI and Gemini, beside for Anthropic. What is null or no number was not told.

        Args:
            raw: What the answer has under ``usage``, or ``usageMetadata``.
            api: ``"openai-responses"``, ``"openai-chat"``, ``"anthropic-messages"`` or
                ``"google-gemini"``. For another name, and for None, the names used in ``raw`` decide.
        """
        if not isinstance(raw, Mapping):
            return None
        match api if api in _APIS else _api_by_names(raw):
            case "anthropic-messages":
                return _anthropic(raw)
            case "google-gemini":
                return _gemini(raw)
            case "openai-responses":
                return _responses(raw)
            case _:
                return _chat(raw)

    def recorded(self) -> RecordedUsage:
        """The same buckets as they stand in a log."""
        return RecordedUsage(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            total_tokens=self.total,
            input_unknown=self.input_unknown,
        )


_APIS: Final = frozenset({RESPONSES, CHAT, ANTHROPIC, GEMINI})
_ONLY_ANTHROPIC: Final = ("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")
_ONLY_RESPONSES: Final = ("input_tokens", "output_tokens", "input_tokens_details")


def _api_by_names(raw: Object) -> str:
    if any("TokenCount" in name or "token_count" in name for name in raw if type(name) is str):
        return GEMINI
    if member(raw, "prompt_tokens", "completion_tokens") is not None:
        return CHAT
    if member(raw, *_ONLY_ANTHROPIC) is not None:
        return ANTHROPIC
    return RESPONSES if member(raw, *_ONLY_RESPONSES) is not None else CHAT


def _first(owner: Object, *names: str) -> int | None:
    """The first of some names that has a number of tokens."""
    for name in names:
        found = count(owner.get(name))
        if found is not None:
            return found
    return None


def _responses(raw: Object) -> Usage:
    cached, thought = as_object(raw.get("input_tokens_details")), as_object(raw.get("output_tokens_details"))
    return _with_cache_inside(
        whole=_first(raw, "input_tokens", "prompt_tokens"),
        read=_first(cached, "cached_tokens"),
        write=_first(cached, "cache_write_tokens"),
        output=_first(raw, "output_tokens", "completion_tokens"),
        thought=_first(thought, "reasoning_tokens"),
        total=_first(raw, "total_tokens"),
    )


def _chat(raw: Object) -> Usage:
    cached = as_object(raw.get("prompt_tokens_details"))
    thought = as_object(raw.get("completion_tokens_details"))
    read = _first(cached, "cached_tokens")
    write = _first(cached, "cache_write_tokens", "cache_creation_tokens")
    if read is None:
        # DeepSeek; Moonshot; a gateway before Anthropic.
        read = _first(raw, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
    if write is None:
        write = _first(raw, "cache_creation_input_tokens")
    return _with_cache_inside(
        whole=_first(raw, "prompt_tokens", "input_tokens"),
        read=read,
        write=write,
        output=_first(raw, "completion_tokens", "output_tokens"),
        thought=_first(thought, "reasoning_tokens") or _first(raw, "reasoning_tokens"),
        total=_first(raw, "total_tokens"),
    )


def _anthropic(raw: Object) -> Usage:
    given, read, write, output = _anthropic_buckets(raw)
    thought = count(as_object(raw.get("output_tokens_details")).get("thinking_tokens")) or 0
    return Usage(
        input=given or 0,
        cache_read=read,
        cache_write=write,
        output=output,
        reasoning=min(thought, output),
        total=(given or 0) + read + write + output,
        input_unknown=given is None,
    )


def _anthropic_buckets(raw: Object) -> tuple[int | None, int, int, int]:
    """Input, cache reads, cache writes and output; None for an input that nobody told."""
    write = count(raw.get("cache_creation_input_tokens"))
    if write is None:
        lives = as_object(raw.get("cache_creation"))
        write = sum(count(lives.get(f"ephemeral_{life}_input_tokens")) or 0 for life in ("5m", "1h"))
    read, output = count(raw.get("cache_read_input_tokens")), count(raw.get("output_tokens"))
    return count(raw.get("input_tokens")), read or 0, write, output or 0


def recorded_anthropic(raw: Object) -> RecordedUsage:
    """What ``Usage.from_raw(raw, ANTHROPIC).recorded()`` gives, for those who read very many."""
    given, read, write, output = _anthropic_buckets(raw)
    total = (given or 0) + read + write + output
    made: RecordedUsage = _Recorded(given or 0, output, read, write, total, _NO_COST, given is None)
    made.__class__ = RecordedUsage
    return made


_Recorded: Final = twin_of(RecordedUsage)
_NO_COST: Final = RecordedCost()


def _gemini(raw: Object) -> Usage:
    prompt = _first(raw, "promptTokenCount", "prompt_token_count")
    tools = _first(raw, "toolUsePromptTokenCount", "tool_use_prompt_token_count") or 0
    said = _first(raw, "candidatesTokenCount", "candidates_token_count")
    thought = _first(raw, "thoughtsTokenCount", "thoughts_token_count")
    told = said is not None or thought is not None
    return _with_cache_inside(
        whole=None if prompt is None else prompt + tools,
        read=_first(raw, "cachedContentTokenCount", "cached_content_token_count"),
        write=None,
        output=(said or 0) + (thought or 0) if told else None,
        thought=thought,
        total=_first(raw, "totalTokenCount", "total_token_count"),
    )


def _with_cache_inside(
    *,
    whole: int | None,
    read: int | None,
    write: int | None,
    output: int | None,
    thought: int | None,
    total: int | None,
) -> Usage:
    """The buckets where cached tokens are part of the input, with the oddities of real servers."""
    if whole is None and total is not None and output is not None and total >= output:
        whole = total - output
    if whole is None:
        said = output or 0
        return Usage(
            output=said,
            reasoning=min(thought or 0, said),
            total=max(total or 0, said),
            input_unknown=True,
        )
    said, cached, written = output or 0, read or 0, write or 0
    if (total is None and cached + written > whole) or total == whole + cached + written + said:
        whole += cached + written  # this server counts them beside the input
    cached = min(cached, whole)
    written = min(written, whole - cached)
    if total is not None and total > whole + said:
        # Reasoning that is in the total alone, as with xAI, and with Gemini behind a Chat API.
        rest = total - whole - said
        said, thought = said + rest, rest if thought is None else thought
    elif total is None and thought is not None and thought > said:
        said += thought
    return Usage(
        input=whole - cached - written,
        cache_read=cached,
        cache_write=written,
        output=said,
        reasoning=min(thought or 0, said),
        total=whole + said,
    )


# ------------------------------------------------------------------- one set of names

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "input_tokens": ("input-tokens", "input_tokens", "prompt_tokens", "prompt-tokens"),
    "output_tokens": ("output-tokens", "output_tokens", "completion_tokens", "completion-tokens"),
    "total_tokens": ("total-tokens", "total_tokens"),
    "cache_read_tokens": ("cache-read-tokens", "cache_read_tokens", "cache_read_input_tokens"),
    "cache_write_tokens": ("cache-write-tokens", "cache_write_tokens", "cache_creation_input_tokens"),
    "cache_miss_tokens": ("cache-miss-tokens", "cache_miss_tokens", "prompt_cache_miss_tokens"),
}


def normalize_usage(usage: object) -> dict[str, int | float] | None:
    """A raw usage under one set of names, with its numbers as they are; None where it is no object.

    Nothing is subtracted and no cache is added: these are the provider's counts, and only
    :class:`Usage` can be compared between providers. The first name with a number wins, so a zero
    hides later names. ``total_tokens`` is taken as given, and else input plus output; counts of
    caches are there only if they were given. What is null or no number was not given.
    """
    if not isinstance(usage, Mapping):
        return None
    found: dict[str, int | float] = {}
    for name, spellings in _NAMES.items():
        value = _number(usage, *spellings)
        if value is None and name == "cache_read_tokens":
            value = _number(as_object(usage.get("prompt_tokens_details")), "cached_tokens")
            if value is None:
                value = _number(usage, "prompt_cache_hit_tokens")
        if value is not None:
            found[name] = value
    said, given = found.get("output_tokens", 0), found.get("input_tokens", 0)
    total = found.get("total_tokens")
    sums = {
        "input_tokens": given,
        "output_tokens": said,
        "total_tokens": given + said if total is None else total,
    }
    return {**sums, **{name: value for name, value in found.items() if name not in sums}}


def _number(owner: Object, *names: str) -> Any:
    return next((value for name in names if type(value := owner.get(name)) in (int, float)), None)
