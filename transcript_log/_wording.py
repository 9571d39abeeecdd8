"""Numbers, times and outcomes in words, as commands and exports show them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from ._times import format_time
from .entries import ToolOutcome
from .events import Called, Compacted, HostedCall, OutputWithoutCall, RepeatedOutput, Responded
from .items import ImagePart
from .response import FinishReason
from .stats import Tokens

__all__ = [
    "PRIVATE",
    "Ending",
    "call_ending",
    "compaction_words",
    "counted",
    "loose_words",
    "outcome_words",
    "picture_words",
    "response_words",
    "show_duration",
    "show_size",
    "show_time",
    "token_words",
]


def counted(number: int, noun: str) -> str:
    """As in ``1 call`` and ``2 calls``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_time(time: datetime | None) -> str:
    """A time for people: UTC, to the second."""
    return "unknown" if time is None else format_time(time.replace(microsecond=0)).replace("T", " ")


def show_duration(duration: timedelta) -> str:
    """A duration for people, as in ``1 h 02 min`` or ``3.4 s``."""
    seconds = duration.total_seconds()
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def show_size(size: int) -> str:
    """A size for people, as in ``3.4 MB``."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


def outcome_words(outcome: ToolOutcome) -> str:
    """How a call ended, as in ``failed, exit status 2``; not yet fit to be shown."""
    parts = [outcome.raw_status or outcome.status]
    if outcome.exit_code is not None:
        parts.append(f"exit status {outcome.exit_code}")
    if outcome.error_code is not None:
        parts.append(outcome.error_code)
    return ", ".join(parts)


PRIVATE: Final = "only its producer can read it"
"""Said of what is encrypted or signed."""

Ending: TypeAlias = Literal["ok", "failed", "open", "untold"]
"""How a call ended: well, badly, not that anybody knows, or with an output that tells no more."""


def call_ending(event: Called | HostedCall) -> tuple[Ending, str]:
    """How a call ended, and that in words; none where there is nothing to say beside the output."""
    outcome = event.outcome
    if isinstance(event, Called) and not event.answered:
        if outcome is not None:
            return "open", f"not answered so far; recorded as {outcome_words(outcome)}"
        return "open", "not answered so far" + ("; it was started" if event.started is not None else "")
    if isinstance(event, Called) and event.stand_in:
        return "open", "a stand-in: how the call ended was not recorded"
    if outcome is not None:
        bad: Ending = "failed" if outcome.status in ("failed", "timeout") else "open"
        return "ok" if outcome.status == "success" else bad, outcome_words(outcome)
    return ("failed", "an error") if event.is_error else ("untold", "")


def loose_words(event: RepeatedOutput | OutputWithoutCall) -> str:
    """For which call an output is that stands by itself."""
    call = "a call without an id" if event.call_id is None else f"call {event.call_id}"
    if isinstance(event, RepeatedOutput):
        return f"one more for {call}"
    return f"for {call}, which is not in the log"


def compaction_words(event: Compacted) -> str:
    """What a compaction did to the context; empty where the log does not tell."""
    notes = []
    if event.tokens_before and event.tokens_after:
        notes.append(f"{event.tokens_before} to {event.tokens_after} tokens")
    elif event.tokens_before or event.tokens_after:  # zero is not known
        when = "before" if event.tokens_before else "after"
        notes.append(f"{event.tokens_before or event.tokens_after} tokens {when}")
    if event.replacement_items:
        private = f", {PRIVATE} whole" if event.opaque else ""
        notes.append(f"{counted(event.replacement_items, 'item')} in place of what was before{private}")
    elif event.emptied:
        notes.append("nothing in place of what was before")
    if event.first_kept:
        notes.append(f"kept from entry {event.first_kept} on")
    return "; ".join(notes)


_USUAL: Final = frozenset({None, FinishReason.STOP, FinishReason.TOOL_USE})
"""Why a response ended, where nobody has to be told."""


def token_words(tokens: Tokens, number: Callable[[int], str] = str) -> str:
    """Tokens in a few words, as in ``16341 in (3584 cached), 81 out``; ``number`` spells numbers."""
    if tokens.untold == tokens.responses and not tokens.total:
        return "tokens not told"
    cached = [f"{number(tokens.cache_read)} cached"] if tokens.cache_read else []
    cached += [f"{number(tokens.cache_write)} written to the cache"] if tokens.cache_write else []
    beside = f" ({', '.join(cached)})" if cached else ""
    told = f"{number(tokens.all_input)} in{beside}, {number(tokens.output)} out"
    told += f", {number(tokens.total)} in all" if tokens.total > tokens.all_input + tokens.output else ""
    return f"{told}, not all told" if tokens.untold else told


def response_words(event: Responded, number: Callable[[int], str] = str) -> str:
    """Who answered, the tokens of that, and why it ended where that is unusual; not yet fit to be shown."""
    maker = [event.model] if event.model else []
    maker += ["for the summary"] if event.compaction else []
    text = f"{' '.join(maker)}: " if maker else ""
    text += token_words(Tokens.of(event.usage), number)
    return text + (f"; ended by {event.finish_reason}" if event.finish_reason not in _USUAL else "")


def picture_words(image: ImagePart) -> str:
    """What a picture is, in brackets, where it cannot be shown itself; not yet fit to be shown."""
    size = f", {show_size(image.size_bytes)}" if image.size_bytes else ""
    return f"[image {image.media_type or 'of unknown type'}{size}]"
