"""One response of a model, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, runtime_checkable

from .. import items
from ..entries import Json
from ._values import Object, as_list, as_object, has_text
from .calls import ToolCall, call_given
from .finish import FinishReason, normalize_finish_reason
from .limits import RateLimit
from .usage import Usage, normalize_usage

__all__ = ["ChatResponse", "ModelResponse", "ReplayBlocks", "make_response"]


@runtime_checkable
class ModelResponse(Protocol):
    """What a response of a model must have to be recorded. :class:`ChatResponse` is one.

    ``replay_blocks`` need not be there: who has none to offer leaves it out.
    """

    @property
    def text(self) -> str | None:
        """What the model said; None where it said nothing."""

    @property
    def reasoning(self) -> str | None:
        """What it thought, where that is shown."""

    @property
    def tool_calls(self) -> Sequence[ToolCall]:
        """Its calls, in their order."""

    @property
    def usage(self) -> Usage | None:
        """Its tokens; None where nobody told."""

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why it stopped; None where nobody told."""

    @property
    def raw_finish_reason(self) -> str | None:
        """The same in the provider's word."""

    @property
    def id(self) -> str | None:
        """The provider's id of the response."""

    @property
    def model(self) -> str | None:
        """The model, as the answer names it."""

    @property
    def provider(self) -> str | None:
        """Who answered, where that is known."""

    @property
    def raw(self) -> Json:
        """The answer as it came."""


@dataclass(frozen=True, slots=True)
class ReplayBlocks:
    """The items of an answer as the provider made them, to be stored, and sent back untouched.

    Attributes:
        format: The API whose items they are.
        data: For the Responses API its output items, for Chat the assistant's message, for
            Anthropic the message around the answer's own ``content``, for Gemini the content
            object. They are the very objects of the answer.
    """

    format: str
    data: tuple[Json, ...] = ()

    __hash__ = None  # type: ignore[assignment]  # items are dicts

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in them: no item, or only blank text."""
        return not any(_says_something(item) for item in self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """One response of a model, whichever API it came from.

    Attributes:
        text: What it said; of a refusal, the words of it. None where it said nothing.
        reasoning: What it thought, where the answer shows that.
        tool_calls: Its calls, in their order, without those that the provider ran itself.
        usage: Its tokens in disjoint buckets; None where nobody told.
        finish_reason: Why it stopped; None where nobody told.
        raw_finish_reason: The same in the provider's word.
        id: The provider's id of the response.
        model: The model as the answer names it, which may be a dated name.
        provider: Who answered, where the answer or the caller says so.
        raw: The answer as decoded JSON, never changed.
        replay_blocks: What to store and to send back.
        attempts: How many requests it took; None where nobody told.
        rate_limit: What the headers said of the limits on further requests.
        counts: Only of a response that was made with a raw usage: the counts in it, as
            :func:`normalize_usage` names them.
    """

    text: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: FinishReason | None = None
    raw_finish_reason: str | None = None
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    raw: Json = None
    replay_blocks: ReplayBlocks | None = None
    attempts: int | None = None
    rate_limit: RateLimit | None = None
    counts: Mapping[str, int | float] | None = None

    __hash__ = None  # type: ignore[assignment]  # the answer is a dict

    @property
    def has_text(self) -> bool:
        """Whether there is text that is not blank. A no-break space is text."""
        return has_text(self.text)

    @property
    def has_tool_calls(self) -> bool:
        """Whether there are calls, runnable or not."""
        return bool(self.tool_calls)

    @property
    def is_empty(self) -> bool:
        """Whether the provider gave no answer at all: worth another try, and no error.

        A refusal, a filter, a pause and a token limit are answers, even without a word.
        """
        return not (
            self.has_text
            or self.tool_calls
            or has_text(self.reasoning)
            or self.finish_reason in _VERDICTS
            or (self.replay_blocks is not None and not self.replay_blocks.is_empty)
            or _has_audio(self.raw)
        )

    @property
    def is_paused(self) -> bool:
        """Whether the provider paused the turn, which goes on when the answer is sent back."""
        return self.finish_reason is FinishReason.PAUSE

    def can_resume_pause(self, last_iteration: bool = False) -> bool:
        """Whether to send the answer back at once, as it is and with no message of the user.

        Not if calls wait for outputs, if there is nothing to send back, or if ``last_iteration``
        says that the agent may ask no more.
        """
        return (
            self.is_paused
            and not last_iteration
            and not self.tool_calls
            and self.replay_blocks is not None
            and not self.replay_blocks.is_empty
        )

    @property
    def stopped_normally(self) -> bool:
        """Whether the model had said what it wanted to say."""
        return self.finish_reason is FinishReason.STOP

    @property
    def stopped_by_tool_use(self) -> bool:
        """Whether it stopped for the outputs of its calls."""
        return self.finish_reason is FinishReason.TOOL_USE

    @property
    def stopped_by_max_tokens(self) -> bool:
        """Whether the limit of output tokens cut the answer off."""
        return self.finish_reason is FinishReason.MAX_TOKENS

    @property
    def input_tokens(self) -> int | float:
        """The whole input, cached or not; 0 where nobody told. Of ``counts``, as it stands there."""
        return self._counted("input_tokens", 0 if self.usage is None else self.usage.all_input)

    @property
    def output_tokens(self) -> int | float:
        """The output, reasoning included; 0 where nobody told."""
        return self._counted("output_tokens", 0 if self.usage is None else self.usage.output)

    @property
    def total_tokens(self) -> int | float:
        """All tokens; 0 where nobody told."""
        return self._counted("total_tokens", 0 if self.usage is None else self.usage.total)

    def _counted(self, name: str, otherwise: int) -> int | float:
        return otherwise if self.counts is None else self.counts.get(name, 0)


_VERDICTS: Final = frozenset(
    {FinishReason.CONTENT_FILTER, FinishReason.MAX_TOKENS, FinishReason.PAUSE, FinishReason.REFUSAL}
)


def _has_audio(raw: Any) -> bool:
    choices = as_list(as_object(raw).get("choices"))
    message = as_object(as_object(choices[0]).get("message")) if choices else {}
    return message.get("audio") is not None


def _says_something(item: Any) -> bool:
    owner = as_object(item)
    # Gemini's parts carry a signature, a picture or a call beside their text.
    for part in as_list(owner.get("parts")):
        if has_text(as_object(part).get("text")) or not as_object(part).keys() <= {"text", "thought"}:
            return True
    if any(owner.get(name) for name in ("audio", "images")):
        return True
    for said in items.parts(owner):
        match said:
            case items.TextPart(text=text) | items.ReasoningPart(text=text, opaque=False):
                if has_text(text):
                    return True
            case _:
                return True
    return False


def make_response(
    *,
    text: str | None = None,
    reasoning: str | None = None,
    tool_calls: Iterable[ToolCall | Object] | None = None,
    usage: Usage | Object | None = None,
    finish_reason: FinishReason | str | None = None,
    raw_finish_reason: str | None = None,
    id: str | None = None,
    model: str | None = None,
    provider: str | None = None,
    raw: Json = None,
    replay_blocks: ReplayBlocks | Object | None = None,
    attempts: int | None = None,
    rate_limit: RateLimit | None = None,
) -> ChatResponse:
    """A response made by hand, for an adapter of one's own or a test.

    Args:
        tool_calls: Calls, or objects with ``id``, ``name`` and ``arguments`` (or ``args``).
        usage: A :class:`Usage`; or a raw usage, which is then also kept in ``counts``, and which
            ``input_tokens``, ``output_tokens`` and ``total_tokens`` then tell as it stands. Its
            buckets are read by the names in it: :meth:`Usage.from_raw` with the API is surer.
        finish_reason: A member; or a provider's word, see :func:`normalize_finish_reason`, which
            is then also the ``raw_finish_reason``.
        replay_blocks: The blocks, or an object with their ``format`` and ``data``.
    """
    word = finish_reason if type(finish_reason) is str else None
    response = ChatResponse(
        text=text,
        reasoning=reasoning,
        tool_calls=tuple(call_given(call) for call in tool_calls or ()),
        finish_reason=normalize_finish_reason(finish_reason),
        raw_finish_reason=raw_finish_reason if raw_finish_reason is not None else word,
        id=id,
        model=model,
        provider=provider,
        raw=raw,
        replay_blocks=_blocks_given(replay_blocks),
        attempts=attempts,
        rate_limit=rate_limit,
    )
    if isinstance(usage, Usage):
        return replace(response, usage=usage)
    return replace(response, usage=Usage.from_raw(usage), counts=normalize_usage(usage))


def _blocks_given(given: ReplayBlocks | Object | None) -> ReplayBlocks | None:
    if given is None or isinstance(given, ReplayBlocks):
        return given
    return ReplayBlocks(str(given.get("format") or ""), tuple(given.get("data") or ()))
