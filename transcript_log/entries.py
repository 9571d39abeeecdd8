"""The values a log is made of: a header, entries, and details beside them.

All are frozen, and compare by value. A provider item stays the decoded JSON it was: it
is never copied and never changed. Times are aware ``datetime`` values in UTC with
microseconds, or None where the time is not known. ``docs/format.md`` says how each is
spelled on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Literal, TypeAlias

__all__ = [
    "FORMAT_VERSION",
    "HARNESS",
    "Clock",
    "Compaction",
    "CompactionEntry",
    "ContextAttachment",
    "ContextEntry",
    "Detail",
    "Entry",
    "ForkOrigin",
    "Header",
    "IdSource",
    "Invocation",
    "Item",
    "Json",
    "MessageEntry",
    "OpaqueEntry",
    "ParentCall",
    "RecordedCost",
    "RecordedUsage",
    "ResponseRecord",
    "Run",
    "RunEntry",
    "RunStatus",
    "ToolOutcome",
    "ToolStarted",
    "ToolStatus",
    "new_compaction",
    "new_context",
    "new_header",
    "new_id",
    "new_message",
    "new_run",
    "utc_now",
]

FORMAT_VERSION: Final = 3
"""The version of the log format that this package reads and writes."""

HARNESS: Final = "transcript-log"
"""What the ``harness`` of a header says when this package made the log."""

Json: TypeAlias = Any
"""Any decoded JSON value: dict, list, str, int, float, bool or None."""

Item: TypeAlias = Mapping[str, Any]
"""One decoded provider item.

At run time it is the very ``dict`` the decoder made. It is typed ``Mapping`` so that
the type checker refuses every write to it.
"""

Clock: TypeAlias = Callable[[], datetime]
"""Gives the time now, aware."""

IdSource: TypeAlias = Callable[[], str]
"""Gives an id that it has not given before."""


def utc_now() -> datetime:
    """The time now, aware, UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A new id: 24 hex digits from 12 random bytes."""
    return os.urandom(12).hex()


# ------------------------------------------------------------------------------ header


@dataclass(frozen=True, slots=True)
class ForkOrigin:
    """Where a forked log was cut off from: a session id and its last entry taken along."""

    session: str
    entry: str


@dataclass(frozen=True, slots=True)
class ParentCall:
    """What a subagent's log answers: a session id and the tool call in it."""

    session: str
    call: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a log.

    Attributes:
        id: The session id; None where the file does not say.
        timestamp: When the log was made; UTC; None if unknown.
        harness: What made it; :data:`HARNESS` for this package.
        cwd: The working directory of the session.
        forked_from: Where this log was cut off from.
        parent: The call that this subagent's log answers.
        version: Always :data:`FORMAT_VERSION`.
        extra: Further keys of the line, as decoded.
    """

    id: str | None = None
    timestamp: datetime | None = None
    harness: str | None = None
    cwd: str | None = None
    forked_from: ForkOrigin | None = None
    parent: ParentCall | None = None
    version: int = FORMAT_VERSION
    extra: Mapping[str, Json] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]  # ``extra`` is a dict


def new_header(
    *,
    id: str | None = None,
    cwd: str | None = None,
    forked_from: ForkOrigin | None = None,
    parent: ParentCall | None = None,
    clock: Clock = utc_now,
    id_source: IdSource = new_id,
) -> Header:
    """A header for a log that is made now."""
    return Header(
        id=id_source() if id is None else id,
        timestamp=clock(),
        harness=HARNESS,
        cwd=cwd,
        forked_from=forked_from,
        parent=parent,
    )


# ----------------------------------------------------------------------------- payloads


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCost:
    """What a response cost, in US dollars, by bucket."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedUsage:
    """The tokens of one model response, in disjoint buckets, as they stand on disk.

    ``input`` are the tokens neither read from nor written to a cache. Zeros mean unknown;
    ``input_unknown`` says so of the input alone.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: RecordedCost = RecordedCost()
    input_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The prompt template that a user message was made from.

    ``kind`` is ``"prompt_template"``; the other three are never empty.
    """

    kind: str
    name: str
    source: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRecord:
    """The model response that an item came in; it stands on the response's first item.

    ``request`` is the digest under which the sidecar holds what was sent beside the items.
    """

    id: str | None = None
    provider: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    usage: RecordedUsage | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAttachment:
    """A text that stands beside the conversation: instructions, settings, a file.

    Attributes:
        attachment_id: Names this attachment.
        epoch: Counts from 1; only the attachments of the highest epoch are in force. A session
            says which is next.
        kind: What sort of text it is.
        placement: Where it goes: ``"prefix"`` before the conversation, ``"after-current"`` after it.
        revision: Tells one text of this kind and path from the next.
        rendered: The text.
        path: The file it came from.
    """

    attachment_id: str
    epoch: int = 1
    kind: str
    placement: str
    revision: str
    rendered: str
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What takes the place of older messages.

    Attributes:
        summary: The summary; may be empty where ``replacement`` stands for it.
        first_kept_entry_id: From this earlier message on, messages are kept; None: none is.
        tokens_before: The size of the context before, in tokens; 0 if unknown.
        tokens_after: The size after.
        read_files: Paths read in what was compacted.
        modified_files: Paths modified there.
        provider: Who made the summary; with ``model`` as requested and ``response_model`` as reported.
        usage: The tokens of the summary call; zeros when unknown.
        response_timestamp: When it was answered; UTC; None if unknown.
        replacement: Items in place of what was compacted, such as a provider's own checkpoint.
        family: Who can read what is private in ``replacement``.
    """

    summary: str
    first_kept_entry_id: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()
    provider: str | None = None
    model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    usage: RecordedUsage = RecordedUsage()
    response_timestamp: datetime | None = None
    replacement: tuple[Item, ...] = ()
    family: str | None = None

    __hash__ = None  # type: ignore[assignment]  # items are dicts


RunStatus = Literal["completed", "failed", "cancelled"]
"""How a run of the agent ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of the agent, written when it has ended.

    ``completed_at`` is never before ``started_at``. ``first_entry_id`` is the first entry
    that the run added; None if it added none. ``status`` is None where nobody said.
    """

    started_at: datetime
    completed_at: datetime
    first_entry_id: str | None = None
    status: RunStatus | None = None


# ------------------------------------------------------------------------------ entries


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """One provider item added to the conversation.

    Attributes:
        id: Unique in the log, never empty.
        timestamp: When the entry was made; aware, UTC; None if unknown.
        message: The item as decoded, never copied and never changed.
        family: Who can read what is private in ``message``; None if nobody said.
        response: The model response it came in, on that response's first item.
        invocation: The prompt template that a user message was made from.
        stand_in: True for a made-up output that a model was already sent.
        interrupted: True for what is history and no context: an answer that was cut off while it
            streamed, or what an agent left aside, as a branch of an imported session.
    """

    type: ClassVar[Literal["message"]] = "message"

    id: str
    timestamp: datetime | None
    message: Item
    family: str | None = None
    response: ResponseRecord | None = None
    invocation: Invocation | None = None
    stand_in: bool = False
    interrupted: bool = False

    __hash__ = None  # type: ignore[assignment]  # items are dicts


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """A context attachment came into force."""

    type: ClassVar[Literal["context"]] = "context"

    id: str
    timestamp: datetime | None
    context: ContextAttachment


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEntry:
    """Older messages were compacted."""

    type: ClassVar[Literal["compaction"]] = "compaction"

    id: str
    timestamp: datetime | None
    compaction: Compaction

    __hash__ = None  # type: ignore[assignment]  # items are dicts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """A run of the agent ended."""

    type: ClassVar[Literal["run"]] = "run"

    id: str
    timestamp: datetime | None
    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueEntry:
    """An entry of a type that this package does not know. It never changes the context.

    ``data`` are the other keys of the line, as decoded.
    """

    id: str
    timestamp: datetime | None
    type: str
    data: Mapping[str, Json]

    __hash__ = None  # type: ignore[assignment]  # ``data`` is a dict


Entry: TypeAlias = MessageEntry | ContextEntry | CompactionEntry | RunEntry | OpaqueEntry
"""One line of a log after the header."""


def new_message(
    message: Item,
    *,
    family: str | None = None,
    response: ResponseRecord | None = None,
    invocation: Invocation | None = None,
    stand_in: bool = False,
    interrupted: bool = False,
    clock: Clock = utc_now,
    id_source: IdSource = new_id,
) -> MessageEntry:
    """A message entry made now."""
    return MessageEntry(
        id=id_source(),
        timestamp=clock(),
        message=message,
        family=family,
        response=response,
        invocation=invocation,
        stand_in=stand_in,
        interrupted=interrupted,
    )


def new_context(
    context: ContextAttachment, *, clock: Clock = utc_now, id_source: IdSource = new_id
) -> ContextEntry:
    """A context entry made now."""
    return ContextEntry(id=id_source(), timestamp=clock(), context=context)


def new_compaction(
    compaction: Compaction, *, clock: Clock = utc_now, id_source: IdSource = new_id
) -> CompactionEntry:
    """A compaction entry made now."""
    return CompactionEntry(id=id_source(), timestamp=clock(), compaction=compaction)


def new_run(run: Run, *, clock: Clock = utc_now, id_source: IdSource = new_id) -> RunEntry:
    """A run entry made now."""
    return RunEntry(id=id_source(), timestamp=clock(), run=run)


# ------------------------------------------------------------------------------ details


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """One record of the sidecar: what is known of a call beyond what the model saw.

    Attributes:
        id: A call id, or ``request:<sha256>``. Never empty.
        payload: Any JSON value.
        entry: The entry that holds the call; call ids repeat across turns.
    """

    id: str
    payload: Json
    entry: str | None = None

    __hash__ = None  # type: ignore[assignment]  # the payload may be a dict


ToolStatus = Literal["success", "failed", "cancelled", "timeout", "unknown"]
"""How a tool call ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """How a tool call ended, beyond what the model was told.

    Attributes:
        status: How it ended; ``"unknown"`` for a word that is not known.
        error_code: A short stable name of the error.
        exit_code: The exit status of a process.
        data_kind: What ``data`` is.
        data: Anything else, as JSON.
        raw_status: The word that stood in the file.
    """

    status: ToolStatus
    error_code: str | None = None
    exit_code: int | None = None
    data_kind: str | None = None
    data: Json = None
    raw_status: str | None = None

    __hash__ = None  # type: ignore[assignment]  # ``data`` may be a dict


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool call began to run. Without an outcome after it, nobody knows how it ended."""

    at: datetime | None
