"""The views that queries ask: what their columns are, and how each is read from a session.

All of it is functions of values. ``docs/sql.md`` prints these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from .. import items
from ..codec import outcome_payload
from ..entries import (
    CompactionEntry,
    ContextEntry,
    Entry,
    Json,
    MessageEntry,
    OpaqueEntry,
    ResponseRecord,
    RunEntry,
)
from ..findings import Finding
from ..history import Called, HostedCall
from ..stats import Spent
from .conversation import Conversation
from .values import arguments_json, entry_json

__all__ = [
    "ALL_COLUMNS",
    "VIEWS",
    "Column",
    "ColumnType",
    "Counted",
    "Found",
    "View",
    "ViewName",
    "call_status",
]

ColumnType = Literal["BIGINT", "BOOLEAN", "DOUBLE", "JSON", "TIMESTAMP", "VARCHAR"]
"""The SQL type of a column. A ``TIMESTAMP`` is in UTC; ``JSON`` is text that is JSON."""

ViewName = Literal["sessions", "entries", "messages", "tool_calls", "usage", "runs", "findings"]
"""What a view is called."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column of a view.

    Attributes:
        name: Its name in SQL.
        type: Its type there.
        read: Its value in a row; None is NULL, a ``datetime`` is aware.
        about: What it tells, in Markdown.
    """

    name: str
    type: ColumnType
    read: Callable[[R], Json | datetime]
    about: str


@dataclass(frozen=True, slots=True)
class View(Generic[R]):
    """One view: a row for each thing of a sort.

    Attributes:
        name: Its name in SQL.
        about: What a row stands for, in Markdown.
        rows: The rows of a session, in the order of the log; None where they are not made of one session.
        columns: In their order.
    """

    name: ViewName
    about: str
    rows: Callable[[Conversation], Iterator[R]] | None
    columns: tuple[Column[R], ...]


# -------------------------------------------------------------------------- rows of entries


@dataclass(frozen=True, slots=True)
class _Row:
    """One entry of a session; ``at`` is its place among the entries, from 0."""

    of: Conversation
    at: int

    @property
    def entry(self) -> Entry:
        return self.of.entries[self.at]


@dataclass(frozen=True, slots=True)
class _Message(_Row):
    """A message entry of a session."""

    message: MessageEntry

    @property
    def response(self) -> ResponseRecord | None:
        return self.of.responses[self.at]


@dataclass(frozen=True, slots=True)
class _Ran(_Row):
    """A run entry of a session."""

    run: RunEntry


@dataclass(frozen=True, slots=True)
class _Call(_Row):
    """A tool call of a session; the entry is the one that holds the call."""

    call: Called | HostedCall

    @property
    def response(self) -> ResponseRecord | None:
        return self.of.responses[self.at]


@dataclass(frozen=True, slots=True)
class Counted:
    """A response as it counts over all sessions: once, where it was met first."""

    of: Conversation
    spent: Spent


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and the number, id and path of the session it is about, as far as there is one."""

    finding: Finding
    path: str
    number: int | None = None
    session_id: str | None = None


def _sessions(of: Conversation) -> Iterator[Conversation]:
    yield of


def _entries(of: Conversation) -> Iterator[_Row]:
    for at in range(len(of.entries)):
        yield _Row(of, at)


def _messages(of: Conversation) -> Iterator[_Message]:
    for at, entry in enumerate(of.entries):
        if isinstance(entry, MessageEntry):
            yield _Message(of, at, entry)


def _runs(of: Conversation) -> Iterator[_Ran]:
    for at, entry in enumerate(of.entries):
        if isinstance(entry, RunEntry):
            yield _Ran(of, at, entry)


def _calls(of: Conversation) -> Iterator[_Call]:
    calls = of.calls
    if calls:
        positions = of.positions
        for call in calls:
            yield _Call(of, positions[call.entry], call)


# ------------------------------------------------------------------------ reading of columns


def call_status(call: Called | HostedCall) -> str:
    """How a call ended, in one word.

    What the sidecar records goes first. Without that, an output that is flagged as an error has
    ``failed``, one that was made up ``stand-in``, any other ``answered``; no output is ``unanswered``,
    and for a call that the provider ran itself, which owes none, ``answered`` too.
    """
    if call.outcome is not None:
        return call.outcome.status
    if isinstance(call, Called):
        if not call.answered:
            return "unanswered"
        if call.stand_in:
            return "stand-in"
    return "failed" if call.is_error else "answered"


_HAS_FAILED: Final[Mapping[str, bool]] = {
    "success": False,
    "answered": False,
    "failed": True,
    "timeout": True,
}


def _ended(row: _Call) -> datetime | None:
    at = row.of.positions.get(row.call.output_entry or "")
    return None if at is None else row.of.entries[at].timestamp


def _started(row: _Call) -> datetime | None:
    started = row.call.started if isinstance(row.call, Called) else None
    return row.call.time if started is None or started.at is None else started.at


def _duration(row: _Call) -> float | None:
    started, ended = _started(row), _ended(row)
    return None if started is None or ended is None else (ended - started).total_seconds()


def _outcome(row: _Call) -> Json:
    return None if row.call.outcome is None else outcome_payload(row.call.outcome)["data"]


def _payload(entry: Entry) -> Json:
    match entry:
        case MessageEntry(message=message):
            return message
        case OpaqueEntry(data=data):
            return dict(data)
        case ContextEntry() | CompactionEntry() | RunEntry():
            return entry_json(entry)


def _texts(message: MessageEntry) -> str | None:
    return items.text(message.message) or None


def _thoughts(message: MessageEntry) -> str | None:
    return "\n".join(part.text for part in items.reasoning(message.message) if part.text) or None


def _times(of: Conversation) -> list[datetime]:
    return [entry.timestamp for entry in of.entries if entry.timestamp is not None]


def _first_time(of: Conversation) -> datetime | None:
    return next((entry.timestamp for entry in of.entries if entry.timestamp is not None), None)


def _last_time(of: Conversation) -> datetime | None:
    return next((entry.timestamp for entry in reversed(of.entries) if entry.timestamp is not None), None)


def _header(read: Callable[[Any], Json | datetime]) -> Callable[[Conversation], Json | datetime]:
    return lambda of: None if of.header is None else read(of.header)


def _tokens(name: str) -> Callable[[Counted], Json]:
    """Tokens of a response; NULL where nobody told any."""

    def read(row: Counted) -> Json:
        usage = row.spent.usage
        tokens = row.spent.tokens
        if usage is None or not tokens.total or (name == "input" and usage.input_unknown):
            return None
        return getattr(tokens, name)

    return read


_Session: TypeAlias = Callable[[R], Conversation]


def _session_columns(of: Callable[[R], Conversation]) -> tuple[Column[R], ...]:
    """What every view begins with."""
    return (
        Column(
            "session", "BIGINT", lambda row: of(row).number, "the session, by a number that joins the views"
        ),
        Column("session_id", "VARCHAR", lambda row: of(row).session_id, "its id, where the file tells it"),
        Column("path", "VARCHAR", lambda row: of(row).path, "the file or URL it was read from"),
    )


def _entry_columns() -> tuple[Column[Any], ...]:
    """What stands in every view whose rows are entries, or stand in one."""
    return (
        *_session_columns(lambda row: row.of),
        Column("entry_id", "VARCHAR", lambda row: row.entry.id, "the entry"),
        Column("position", "BIGINT", lambda row: row.at + 1, "its place in the session, from 1"),
        Column(
            "copied",
            "BOOLEAN",
            lambda row: row.at < row.of.copied,
            "whether the session was forked, and took the entry along",
        ),
    )


def _usual_columns() -> tuple[Column[Any], ...]:
    return (
        Column(
            "run",
            "VARCHAR",
            lambda row: row.of.runs[row.at],
            "the run that it belongs to, by the id of that entry",
        ),
        Column(
            "turn", "BIGINT", lambda row: row.of.turns[row.at], "the user turn, from 1; 0 before the first"
        ),
    )


def _model_columns() -> tuple[Column[Any], ...]:
    return (
        Column(
            "response_id",
            "VARCHAR",
            lambda row: row.response and (row.response.id or None),
            "the response it came in, by the provider's id",
        ),
        Column("provider", "VARCHAR", lambda row: row.response and row.response.provider, "who answered"),
        Column(
            "model",
            "VARCHAR",
            lambda row: row.response and row.response.model,
            "the model, as the log names it",
        ),
    )


# ------------------------------------------------------------------------------- the views

_SESSIONS: Final[View[Conversation]] = View(
    "sessions",
    "A session. What a subagent did in the same file is a session of its own.",
    _sessions,
    (
        *_session_columns(lambda of: of),
        Column("format", "VARCHAR", lambda of: of.format, "`transcript-log`, `claude-code`, `codex` or `pi`"),
        Column(
            "started",
            "TIMESTAMP",
            _header(lambda header: header.timestamp),
            "when it began, as its header says",
        ),
        Column("first_time", "TIMESTAMP", _first_time, "the time of the first entry that has one"),
        Column("last_time", "TIMESTAMP", _last_time, "the time of the last entry that has one"),
        Column("cwd", "VARCHAR", _header(lambda header: header.cwd), "the working directory"),
        Column("entries", "BIGINT", lambda of: len(of.entries), "how many entries it has"),
        Column("turns", "BIGINT", lambda of: of.turns[-1] if of.turns else 0, "how many user turns it has"),
        Column(
            "size_bytes",
            "BIGINT",
            lambda of: of.size,
            "the size of the file; 0 for a subagent in another's file",
        ),
        Column(
            "parent_session",
            "VARCHAR",
            _header(lambda header: header.parent and header.parent.session),
            "a subagent's: the id of the session that called it",
        ),
        Column(
            "parent_call",
            "VARCHAR",
            _header(lambda header: header.parent and header.parent.call),
            "a subagent's: the tool call that it answers",
        ),
        Column(
            "forked_from",
            "VARCHAR",
            _header(lambda header: header.forked_from and header.forked_from.session),
            "a fork's: the id of the session it was cut off from",
        ),
        Column(
            "forked_at",
            "VARCHAR",
            _header(lambda header: header.forked_from and header.forked_from.entry),
            "a fork's: the last entry that it took along",
        ),
    ),
)

_ENTRIES: Final[View[_Row]] = View(
    "entries",
    "An entry, of any type.",
    _entries,
    (
        *_entry_columns(),
        Column("time", "TIMESTAMP", lambda row: row.entry.timestamp, "when it was made"),
        Column(
            "type",
            "VARCHAR",
            lambda row: row.entry.type,
            "`message`, `context`, `compaction`, `run`, or another",
        ),
        *_usual_columns(),
        Column(
            "line",
            "BIGINT",
            lambda row: row.of.places[row.at][0] if row.of.places else None,
            "the line of the file that it stands on, from 1",
        ),
        Column(
            "payload",
            "JSON",
            lambda row: _payload(row.entry),
            "the provider's item of a message; of the other types what they hold, spelled as in the log",
        ),
    ),
)

_MESSAGES: Final[View[_Message]] = View(
    "messages",
    "A message entry: one provider item, of any shape.",
    _messages,
    (
        *_entry_columns(),
        Column("time", "TIMESTAMP", lambda row: row.message.timestamp, "when it was made"),
        Column(
            "role",
            "VARCHAR",
            lambda row: items.role(row.message.message),
            "who speaks, where the item names one",
        ),
        Column(
            "type", "VARCHAR", lambda row: items.type_of(row.message.message), "the type that the item names"
        ),
        *_usual_columns(),
        *_model_columns(),
        Column("family", "VARCHAR", lambda row: row.message.family, "who can read what is private in it"),
        Column(
            "text",
            "VARCHAR",
            lambda row: _texts(row.message),
            "its text for people, without outputs of tools",
        ),
        Column("reasoning", "VARCHAR", lambda row: _thoughts(row.message), "reasoning that can be read"),
        Column(
            "images",
            "BIGINT",
            lambda row: len(items.images(row.message.message)),
            "how many pictures it holds",
        ),
        Column("stand_in", "BOOLEAN", lambda row: row.message.stand_in, "whether it is a made-up output"),
        Column(
            "interrupted",
            "BOOLEAN",
            lambda row: row.message.interrupted,
            "whether it was cut off, or left aside with a branch",
        ),
        Column("item", "JSON", lambda row: row.message.message, "the item itself"),
    ),
)

_TOOL_CALLS: Final[View[_Call]] = View(
    "tool_calls",
    "A tool call, with the output that counts for it.",
    _calls,
    (
        *_entry_columns(),
        Column("call_id", "VARCHAR", lambda row: row.call.call_id, "the id that the output names"),
        Column("name", "VARCHAR", lambda row: row.call.name, "the tool"),
        Column(
            "kind",
            "VARCHAR",
            lambda row: row.call.kind if isinstance(row.call, Called) else items.HOSTED,
            "`function`, `custom`, `local_shell`, …; `hosted` for one that the provider ran itself",
        ),
        Column(
            "arguments",
            "JSON",
            lambda row: arguments_json(row.call.arguments),
            "what it was called with; a text that is no JSON as a JSON string",
        ),
        Column("output", "VARCHAR", lambda row: row.call.output, "the readable text of the output"),
        Column("status", "VARCHAR", lambda row: call_status(row.call), "how it ended; see below"),
        Column(
            "failed",
            "BOOLEAN",
            lambda row: _HAS_FAILED.get(call_status(row.call)),
            "true for `failed` and `timeout`, false for `success` and `answered`, else NULL",
        ),
        Column(
            "answered",
            "BOOLEAN",
            lambda row: row.call.output_entry is not None,
            "whether the log holds an output of it",
        ),
        Column("is_error", "BOOLEAN", lambda row: row.call.is_error, "whether that is flagged as an error"),
        Column(
            "stand_in",
            "BOOLEAN",
            lambda row: isinstance(row.call, Called) and row.call.stand_in,
            "whether it was made up, because none was recorded",
        ),
        Column(
            "error_code",
            "VARCHAR",
            lambda row: row.call.outcome and row.call.outcome.error_code,
            "the name of the error, where the sidecar tells",
        ),
        Column(
            "exit_code",
            "BIGINT",
            lambda row: row.call.outcome and row.call.outcome.exit_code,
            "the exit status of a process, where the sidecar tells",
        ),
        Column("outcome", "JSON", _outcome, "all that the sidecar tells of how it ended"),
        Column(
            "started",
            "TIMESTAMP",
            _started,
            "when the sidecar says that it began; else when the entry with the call was made",
        ),
        Column("ended", "TIMESTAMP", _ended, "when the entry with the output was made"),
        Column(
            "duration",
            "DOUBLE",
            _duration,
            "the seconds between these; less than 0 where a clock was set back",
        ),
        Column("output_entry", "VARCHAR", lambda row: row.call.output_entry, "the entry with the output"),
        *_usual_columns(),
        *_model_columns(),
    ),
)

_USAGE: Final[View[Counted]] = View(
    "usage",
    "A response of a model, once over all sessions, however often it stands in them: where it is met first.",
    None,
    (
        *_session_columns(lambda row: row.of),
        Column("entry_id", "VARCHAR", lambda row: row.spent.entry, "the first entry of the response"),
        Column("response_id", "VARCHAR", lambda row: row.spent.response, "the provider's id of it"),
        Column("time", "TIMESTAMP", lambda row: row.spent.time, "when that entry was made"),
        Column("provider", "VARCHAR", lambda row: row.spent.provider, "who answered"),
        Column("model", "VARCHAR", lambda row: row.spent.model, "the model, as the log names it"),
        Column(
            "run", "VARCHAR", lambda row: row.spent.run, "the run that it belongs to, by the id of that entry"
        ),
        Column(
            "compaction",
            "BOOLEAN",
            lambda row: row.spent.compaction,
            "whether it is the summary of a compaction",
        ),
        Column(
            "input",
            "BIGINT",
            _tokens("input"),
            "tokens of input, neither read from a cache nor written to one",
        ),
        Column("cache_read", "BIGINT", _tokens("cache_read"), "tokens of input that came from a cache"),
        Column(
            "cache_write", "BIGINT", _tokens("cache_write"), "tokens of input that were written to a cache"
        ),
        Column("output", "BIGINT", _tokens("output"), "tokens of output, reasoning included"),
        Column("total", "BIGINT", _tokens("total"), "all tokens, as the provider counts them"),
        Column(
            "told",
            "BOOLEAN",
            lambda row: not row.spent.tokens.untold,
            "whether all of these are known; NULL is what nobody told",
        ),
        Column(
            "cost",
            "DOUBLE",
            lambda row: (row.spent.usage and row.spent.usage.cost.total) or None,
            "US dollars, where the log holds them; `stats --cost` has list prices",
        ),
    ),
)

_RUNS: Final[View[_Ran]] = View(
    "runs",
    "A run of the agent that has ended.",
    _runs,
    (
        *_entry_columns(),
        Column("started", "TIMESTAMP", lambda row: row.run.run.started_at, "when it began"),
        Column("ended", "TIMESTAMP", lambda row: row.run.run.completed_at, "when it ended"),
        Column(
            "duration",
            "DOUBLE",
            lambda row: (row.run.run.completed_at - row.run.run.started_at).total_seconds(),
            "the seconds between these",
        ),
        Column(
            "status",
            "VARCHAR",
            lambda row: row.run.run.status,
            "`completed`, `failed` or `cancelled`, where the log says",
        ),
        Column(
            "first_entry", "VARCHAR", lambda row: row.run.run.first_entry_id, "the first entry that it added"
        ),
    ),
)

_FINDINGS: Final[View[Found]] = View(
    "findings",
    "Something that is wrong in a file, or worth knowing; also of a file that could not be read at all.",
    None,
    (
        Column("session", "BIGINT", lambda row: row.number, "the session; NULL for a file that holds none"),
        Column("session_id", "VARCHAR", lambda row: row.session_id, "its id, where the file tells it"),
        Column(
            "path", "VARCHAR", lambda row: row.finding.path or row.path, "the file; a sidecar has its own"
        ),
        Column(
            "rule",
            "VARCHAR",
            lambda row: row.finding.rule,
            "a short stable name; `unreadable` for a whole file",
        ),
        Column("severity", "VARCHAR", lambda row: row.finding.severity, "`error`, `warning` or `note`"),
        Column("message", "VARCHAR", lambda row: row.finding.message, "what is so"),
        Column("advice", "VARCHAR", lambda row: row.finding.advice or None, "what to do about it"),
        Column("line", "BIGINT", lambda row: row.finding.line, "the line, from 1"),
        Column("byte_offset", "BIGINT", lambda row: row.finding.offset, "where that line begins, in bytes"),
        Column("entry_id", "VARCHAR", lambda row: row.finding.entry, "the entry concerned"),
        Column("call_id", "VARCHAR", lambda row: row.finding.call, "the tool call concerned"),
    ),
)

VIEWS: Final[Mapping[str, View[Any]]] = {
    view.name: view for view in (_SESSIONS, _ENTRIES, _MESSAGES, _TOOL_CALLS, _USAGE, _RUNS, _FINDINGS)
}
"""All of them, by name."""

ALL_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    view.name: [column.name for column in view.columns] for view in VIEWS.values()
}
"""Every column of every view."""
