"""What happened in a session, one frozen value an event, for people to be shown.

:func:`transcript_log.history.build_history` makes them of entries; :func:`history_json`
spells them for programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias, assert_never

from ._times import format_time
from .entries import Invocation, Json, RecordedUsage, RunStatus, ToolOutcome, ToolStarted
from .items import ImagePart
from .stats import NOTHING, Tokens

__all__ = [
    "Attached",
    "Called",
    "Compacted",
    "Event",
    "HostedCall",
    "OutputWithoutCall",
    "Ran",
    "Reasoned",
    "RepeatedOutput",
    "Responded",
    "Said",
    "Unknown",
    "UnknownItem",
    "history_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """What every event says.

    Attributes:
        entry: The id of the entry that it comes from.
        time: When that entry was made; UTC; None if unknown.
        turn: The user turn it belongs to, from 1; 0 before the first.
    """

    entry: str
    time: datetime | None
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(_Event):
    """Somebody said something: text and pictures that stand together in one message.

    ``role`` is the speaker's, or the item's type where it names none. ``interrupted`` is
    True for an answer that was cut off while it streamed, and for what was left aside.
    """

    role: str
    text: str
    images: tuple[ImagePart, ...] = ()
    invocation: Invocation | None = None
    interrupted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoned(_Event):
    """A model thought; ``opaque`` if it carries what only its producer can read."""

    text: str
    opaque: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(_Event):
    """A model called a tool; the event stands where the call does.

    Attributes:
        call_id: None where the call names no id.
        name: The tool.
        arguments: As stored: text or an object.
        kind: As in :class:`transcript_log.items.ToolCallPart`.
        answered: Whether the log holds an output of it.
        output: The readable text of that output; None if unanswered.
        images: The pictures in the output.
        is_error: Whether the output is flagged as an error.
        stand_in: Whether the output was made up because none was recorded.
        output_entry: The entry that holds the output.
        outcome: How the call ended, where the sidecar tells.
        started: That the call began, where the sidecar tells no more than that.
    """

    call_id: str | None
    name: str
    arguments: Json
    kind: str
    answered: bool = False
    output: str | None = None
    images: tuple[ImagePart, ...] = ()
    is_error: bool = False
    stand_in: bool = False
    output_entry: str | None = None
    outcome: ToolOutcome | None = None
    started: ToolStarted | None = None

    __hash__ = None  # type: ignore[assignment]  # ``arguments`` may be a dict


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedCall(_Event):
    """A call that the provider ran itself. It owes no output; the log may hold one."""

    call_id: str | None
    name: str
    arguments: Json
    output: str | None = None
    images: tuple[ImagePart, ...] = ()
    is_error: bool = False
    output_entry: str | None = None
    outcome: ToolOutcome | None = None

    __hash__ = None  # type: ignore[assignment]  # ``arguments`` may be a dict


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedOutput(_Event):
    """One more output of a call, beside the one that counts; shown where it stands."""

    call_id: str | None
    output: str
    images: tuple[ImagePart, ...] = ()
    is_error: bool = False
    stand_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputWithoutCall(_Event):
    """An output that no call in the log takes; ``name`` is the tool where it says so."""

    call_id: str | None
    name: str | None
    output: str
    images: tuple[ImagePart, ...] = ()
    is_error: bool = False
    stand_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Responded(_Event):
    """A response of a model is whole; the event stands behind all that it said, once per response.

    ``entry`` is its first entry, or the compaction whose summary it is.

    Attributes:
        response: The provider's id of it; None where nobody told.
        provider: Who answered, where that is known.
        model: The model, as the log names it; None where it does not.
        usage: Its tokens; None where nobody told.
        finish_reason: Why it ended, as the log has it.
        request: The digest under which the sidecar holds what was sent beside the items.
        compaction: Whether it is the summary of a compaction.
    """

    response: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: RecordedUsage | None = None
    finish_reason: str | None = None
    request: str | None = None
    compaction: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted(_Event):
    """Older messages were compacted.

    ``replacement_items`` counts the items put in their place; ``opaque`` is True if one of
    them can only be read by its producer. ``first_kept`` is the earliest entry that stays.
    ``emptied`` is True where nothing is left of the conversation before.
    """

    summary: str
    first_kept: str | None
    tokens_before: int
    tokens_after: int
    replacement_items: int
    opaque: bool
    emptied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached(_Event):
    """A context attachment came into force."""

    kind: str
    path: str | None
    placement: str
    epoch: int
    rendered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran(_Event):
    """A run of the agent ended; ``status`` is None where nobody said how.

    ``usage`` are the tokens of its responses, added up.
    """

    started: datetime
    completed: datetime
    duration: timedelta
    status: RunStatus | None
    first_entry: str | None
    usage: Tokens = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownItem(_Event):
    """A message, or a block of one, of a type that is not known here; the log keeps it whole."""

    type: str
    opaque: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(_Event):
    """An entry of a type that this package does not know; the log keeps it whole."""

    type: str


Event: TypeAlias = (
    Said
    | Reasoned
    | Called
    | HostedCall
    | RepeatedOutput
    | OutputWithoutCall
    | Responded
    | Compacted
    | Attached
    | Ran
    | UnknownItem
    | Unknown
)
"""One thing that happened. Take it apart with ``match`` and close that with ``assert_never``."""


def history_json(event: Event) -> dict[str, Json]:
    """One JSON object for an event: ``event`` names its class in lower case with underscores,
    the other keys are the event's fields, times in RFC 3339 and durations in seconds."""
    out: dict[str, Json] = {
        "event": _NAMES[type(event)],
        "entry": event.entry,
        "time": None if event.time is None else format_time(event.time),
        "turn": event.turn,
    }
    match event:
        case Said(invocation=invocation):
            out |= {"role": event.role, "text": event.text, "images": _images_json(event.images)}
            if invocation is not None:
                out["invocation"] = {
                    "kind": invocation.kind,
                    "name": invocation.name,
                    "source": invocation.source,
                    "path": invocation.path,
                }
            out["interrupted"] = event.interrupted
        case Reasoned():
            out |= {"text": event.text, "opaque": event.opaque}
        case Called(started=started):
            out |= {
                "call_id": event.call_id,
                "name": event.name,
                "arguments": event.arguments,
                "kind": event.kind,
                "answered": event.answered,
                "output": event.output,
                "images": _images_json(event.images),
                "is_error": event.is_error,
                "stand_in": event.stand_in,
                "output_entry": event.output_entry,
                "outcome": _outcome_json(event.outcome),
            }
            if started is not None:
                out["started"] = {"at": None if started.at is None else format_time(started.at)}
        case HostedCall():
            out |= {
                "call_id": event.call_id,
                "name": event.name,
                "arguments": event.arguments,
                "output": event.output,
                "images": _images_json(event.images),
                "is_error": event.is_error,
                "output_entry": event.output_entry,
                "outcome": _outcome_json(event.outcome),
            }
        case RepeatedOutput() | OutputWithoutCall():
            out["call_id"] = event.call_id
            if isinstance(event, OutputWithoutCall):
                out["name"] = event.name
            out |= {
                "output": event.output,
                "images": _images_json(event.images),
                "is_error": event.is_error,
                "stand_in": event.stand_in,
            }
        case Responded():
            out |= {
                "response": event.response,
                "provider": event.provider,
                "model": event.model,
                "usage": None if event.usage is None else _usage_json(event.usage),
                "finish_reason": event.finish_reason,
                "request": event.request,
                "compaction": event.compaction,
            }
        case Compacted():
            out |= {
                "summary": event.summary,
                "first_kept": event.first_kept,
                "tokens_before": event.tokens_before,
                "tokens_after": event.tokens_after,
                "replacement_items": event.replacement_items,
                "opaque": event.opaque,
                "emptied": event.emptied,
            }
        case Attached():
            out |= {
                "kind": event.kind,
                "path": event.path,
                "placement": event.placement,
                "epoch": event.epoch,
                "rendered": event.rendered,
            }
        case Ran():
            out |= {
                "started": format_time(event.started),
                "completed": format_time(event.completed),
                "duration": event.duration.total_seconds(),
                "status": event.status,
                "first_entry": event.first_entry,
                "usage": _tokens_json(event.usage),
            }
        case UnknownItem():
            out |= {"type": event.type, "opaque": event.opaque}
        case Unknown():
            out["type"] = event.type
        case _:
            assert_never(event)
    return out


_NAMES: Final[Mapping[type[Event], str]] = {
    Said: "said",
    Reasoned: "reasoned",
    Called: "called",
    HostedCall: "hosted_call",
    RepeatedOutput: "repeated_output",
    OutputWithoutCall: "output_without_call",
    Responded: "responded",
    Compacted: "compacted",
    Attached: "attached",
    Ran: "ran",
    UnknownItem: "unknown_item",
    Unknown: "unknown",
}


def _usage_json(usage: RecordedUsage) -> dict[str, Json]:
    """The buckets; an input that nobody told is null."""
    return {
        "input": None if usage.input_unknown else usage.input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "total": Tokens.of(usage).total,
    }


def _tokens_json(tokens: Tokens) -> dict[str, Json]:
    return {
        "responses": tokens.responses,
        "untold": tokens.untold,
        "input": tokens.input,
        "cache_read": tokens.cache_read,
        "cache_write": tokens.cache_write,
        "output": tokens.output,
        "total": tokens.total,
    }


def _images_json(images: tuple[ImagePart, ...]) -> list[Json]:
    return [{"media_type": image.media_type, "size_bytes": image.size_bytes} for image in images]


def _outcome_json(outcome: ToolOutcome | None) -> Json:
    if outcome is None:
        return None
    return {
        "status": outcome.raw_status or outcome.status,
        "error_code": outcome.error_code,
        "exit_code": outcome.exit_code,
        "data_kind": outcome.data_kind,
        "data": outcome.data,
    }
