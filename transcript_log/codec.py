"""Entries, headers and details to and from one line of JSON.

Encoding validates first and raises :class:`EntryError` with the path of the fault, so a
store knows of every refusal before it writes a byte. Decoding checks in a fixed order:
the JSON and its types, then the message payload, then the rules of entries. Lines come
in and go out without a seal; :mod:`transcript_log._logfile` adds and checks that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Literal, TypeVar, assert_never, cast

import orjson

from . import _json
from ._times import format_time, parse_time, parse_time_leniently
from .entries import (
    FORMAT_VERSION,
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    ForkOrigin,
    Header,
    Invocation,
    Json,
    MessageEntry,
    OpaqueEntry,
    ParentCall,
    RecordedCost,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
    ToolStarted,
    ToolStatus,
)
from .errors import EntryError

__all__ = [
    "decode_detail",
    "decode_entry",
    "decode_header",
    "detail_from_value",
    "encode_detail",
    "encode_entry",
    "encode_header",
    "entry_from_value",
    "outcome_payload",
    "read_outcome",
    "read_started",
    "started_payload",
]

_INT64: Final = (-(2**63), 2**63 - 1)
_UINT64: Final = (0, 2**64 - 1)
_PAYLOADS: Final = ("message", "context", "compaction", "run")
_RUN_STATUSES: Final = ("completed", "failed", "cancelled")

Doubt = Callable[[str], None]
"""Is told what is doubtful about a value that is read all the same."""


# --------------------------------------------------------------------------- to a line


def encode_entry(entry: Entry) -> bytes:
    """The JSON object of an entry, unsealed and without a line feed.

    Raises:
        EntryError: The entry breaks a rule, or holds a value that JSON would not give back.
    """
    if not isinstance(entry, MessageEntry | ContextEntry | CompactionEntry | RunEntry | OpaqueEntry):
        raise EntryError("$", f"a {type(entry).__name__} is no entry")
    if type(entry.id) is not str or not entry.id:
        raise EntryError("$.id", "the entry id is empty or no text")
    line: dict[str, Json] = {
        "id": entry.id,
        "timestamp": _time_out(entry.timestamp, "$.timestamp", "the entry has no time"),
        "type": entry.type,
    }
    match entry:
        case MessageEntry():
            _message_out(entry, line)
        case ContextEntry(context=context):
            line["context"] = _context_out(context)
        case CompactionEntry(compaction=compaction):
            line["compaction"] = _compaction_out(compaction)
        case RunEntry(run=run):
            line["run"] = _run_out(run)
        case OpaqueEntry(type=kind, data=data):
            if type(kind) is not str or not kind or kind in _PAYLOADS or kind == "session":
                raise EntryError("$.type", f"{kind!r} is no type of an opaque entry")
            for key, value in data.items():
                if key not in ("id", "timestamp", "type", "crc"):
                    line[key] = value
        case _:
            assert_never(entry)
    return _json.encode(line)


def _message_out(entry: MessageEntry, line: dict[str, Json]) -> None:
    message = entry.message
    if type(message) is not dict:
        raise EntryError("$.message", f"a message is a dict, not {type(message).__name__}", "message")
    line["message"] = message
    if entry.family is not None:
        line["family"] = _text_out(entry.family, "$.family")
    if entry.response is not None:
        line["response"] = _response_out(entry.response)
    if entry.invocation is not None:
        invocation = entry.invocation
        line["invocation"] = {
            "kind": invocation.kind,
            "name": invocation.name,
            "source": invocation.source,
            "path": invocation.path,
        }
        _check_invocation(invocation, message)
    if entry.stand_in:
        line["standIn"] = True
    if entry.interrupted:
        line["interrupted"] = True


def _response_out(response: ResponseRecord) -> dict[str, Json]:
    where = "$.response"
    out: dict[str, Json] = {}
    for key, value in (
        ("id", response.id),
        ("provider", response.provider),
        ("model", response.model),
        ("finishReason", response.finish_reason),
        ("request", response.request),
    ):
        if value is not None:
            out[key] = _text_out(value, f"{where}.{key}")
    if response.usage is not None:
        out["usage"] = _usage_out(response.usage, f"{where}.usage")
    return out


def _context_out(context: ContextAttachment) -> dict[str, Json]:
    out: dict[str, Json] = {
        "attachmentId": context.attachment_id,
        "epoch": context.epoch,
        "kind": context.kind,
        "placement": context.placement,
    }
    if context.path:
        out["path"] = context.path
    out["revision"] = context.revision
    out["rendered"] = context.rendered
    _check_context(context)
    return out


def _compaction_out(compaction: Compaction) -> dict[str, Json]:
    where = "$.compaction"
    if not compaction.summary and not compaction.replacement:
        raise EntryError(f"{where}.summary", "the compaction has neither a summary nor a replacement")
    kept = compaction.first_kept_entry_id
    out: dict[str, Json] = {
        "summary": _text_out(compaction.summary, f"{where}.summary"),
        "firstKeptEntryId": None if not kept else _text_out(kept, f"{where}.firstKeptEntryId"),
        "tokensBefore": _int_out(compaction.tokens_before, f"{where}.tokensBefore"),
        "tokensAfter": _int_out(compaction.tokens_after, f"{where}.tokensAfter"),
    }
    for key, paths in (
        ("readFiles", compaction.read_files),
        ("modifiedFiles", compaction.modified_files),
    ):
        if paths:
            out[key] = [_text_out(path, f"{where}.{key}[{i}]") for i, path in enumerate(paths)]
    for key, value in (
        ("provider", compaction.provider),
        ("model", compaction.model),
        ("responseModel", compaction.response_model),
        ("responseId", compaction.response_id),
    ):
        if value:
            out[key] = _text_out(value, f"{where}.{key}")
    out["usage"] = _usage_out(compaction.usage, f"{where}.usage")
    time = compaction.response_timestamp
    out["responseTimestamp"] = (
        "0001-01-01T00:00:00Z" if time is None else _time_out(time, f"{where}.responseTimestamp", "")
    )
    if compaction.replacement:
        for index, item in enumerate(compaction.replacement):
            if type(item) is not dict:
                raise EntryError(
                    f"{where}.replacement[{index}]",
                    f"an item is a dict, not {type(item).__name__}",
                    "message",
                )
        out["replacement"] = list(compaction.replacement)
    if compaction.family is not None:
        out["family"] = _text_out(compaction.family, f"{where}.family")
    return out


def _run_out(run: Run) -> dict[str, Json]:
    out: dict[str, Json] = {}
    if run.first_entry_id:
        out["firstEntryId"] = _text_out(run.first_entry_id, "$.run.firstEntryId")
    out["startedAt"] = _time_out(run.started_at, "$.run.startedAt", "the run has no start")
    out["completedAt"] = _time_out(run.completed_at, "$.run.completedAt", "the run has no end")
    _check_run(run)
    if run.status is not None:
        if run.status not in _RUN_STATUSES:
            raise EntryError("$.run.status", f"{run.status!r} is no status of a run")
        out["status"] = run.status
    return out


def _usage_out(usage: RecordedUsage, where: str) -> dict[str, Json]:
    cost = usage.cost
    return {
        "input": _int_out(usage.input, f"{where}.input"),
        "output": _int_out(usage.output, f"{where}.output"),
        "cacheRead": _int_out(usage.cache_read, f"{where}.cacheRead"),
        "cacheWrite": _int_out(usage.cache_write, f"{where}.cacheWrite"),
        "totalTokens": _int_out(usage.total_tokens, f"{where}.totalTokens"),
        "cost": {
            "input": cost.input,
            "output": cost.output,
            "cacheRead": cost.cache_read,
            "cacheWrite": cost.cache_write,
            "total": cost.total,
        },
    }


def _text_out(value: object, where: str) -> str:
    if type(value) is not str:
        raise EntryError(where, f"text is wanted, not {type(value).__name__}", "json")
    return value


def _int_out(value: object, where: str) -> int:
    if type(value) is not int or not _INT64[0] <= value <= _INT64[1]:
        raise EntryError(where, "an integer of 64 bits is wanted", "json")
    return value


def _time_out(time: object, where: str, missing: str) -> str:
    if time is None:
        raise EntryError(where, missing or "the time is missing")
    if not isinstance(time, datetime):
        raise EntryError(where, f"a time is a datetime, not {type(time).__name__}", "json")
    try:
        return format_time(time)
    except ValueError as error:
        raise EntryError(where, str(error), "json") from None


def encode_header(header: Header) -> bytes:
    """The JSON object of a header, unsealed and without a line feed.

    Raises:
        EntryError: The header is of another version, or holds what JSON would not give back.
    """
    if header.version != FORMAT_VERSION:
        raise EntryError("$.version", f"only version {FORMAT_VERSION} is written")
    line: dict[str, Json] = {"type": "session", "version": FORMAT_VERSION}
    if header.id is not None:
        line["id"] = _text_out(header.id, "$.id")
    if header.timestamp is not None:
        line["timestamp"] = _time_out(header.timestamp, "$.timestamp", "")
    if header.harness is not None:
        line["harness"] = _text_out(header.harness, "$.harness")
    if header.cwd is not None:
        line["cwd"] = _text_out(header.cwd, "$.cwd")
    if header.forked_from is not None:
        line["forkedFrom"] = {"session": header.forked_from.session, "entry": header.forked_from.entry}
    if header.parent is not None:
        line["parent"] = {"session": header.parent.session, "call": header.parent.call}
    for key, value in header.extra.items():
        if key not in line and key != "crc":
            line[key] = value
    return _json.encode(line)


def encode_detail(detail: Detail) -> bytes:
    """The JSON object of a sidecar record, unsealed and without a line feed.

    Raises:
        EntryError: The record holds what JSON would not give back.
    """
    line: dict[str, Json] = {"id": _text_out(detail.id, "$.id")}
    if detail.entry is not None:
        line["entry"] = _text_out(detail.entry, "$.entry")
    line["payload"] = detail.payload
    return _json.encode(line)


# -------------------------------------------------------------------------- from a line


class _Draft:
    """A message entry while it is being decoded.

    It has the very slots of :class:`MessageEntry`, so that becoming one is a change of
    class. The frozen ``__init__`` would take three times as long, on the hottest path.
    """

    __slots__ = MessageEntry.__slots__

    def __init__(self, id: str, timestamp: datetime | None, message: Json, family: str | None) -> None:
        self.id = id
        self.timestamp = timestamp
        self.message = message
        self.family = family
        self.response = None
        self.invocation = None
        self.stand_in = False
        self.interrupted = False


def decode_entry(line: bytes, sealed: bool = False) -> Entry:
    """The entry of one line.

    Args:
        line: The line, with or without white space and a seal around the object.
        sealed: True if the line has an intact seal. What this package wrote needs no
            search for integers past 64 bits.

    Raises:
        EntryError: The line is no valid entry; ``kind`` says of which sort the fault is.
    """
    value = _trusted(line) if sealed else _value(line)
    try:
        if value["type"] == "message":
            message = value["message"]
            time = value["timestamp"]
            size = len(value) - ("crc" in value)
            family = None
            if size == 5:
                family = value.get("family")
                if type(family) is str:
                    size = 4
            entry_id = value["id"]
            if size == 4 and type(message) is dict and type(time) is str and type(entry_id) is str:
                try:
                    moment = parse_time(time)
                except ValueError:
                    return entry_from_value(value)
                if entry_id and moment is not None:
                    draft = _Draft(entry_id, moment, message, family)
                    draft.__class__ = MessageEntry  # type: ignore[assignment]  # see _Draft
                    return cast(MessageEntry, draft)
    except (TypeError, KeyError):
        pass
    return entry_from_value(value)


def _trusted(line: bytes) -> Json:
    """The value of a line that this package wrote and nothing has changed since."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:  # it holds the escape of a lone surrogate
        return _value(line)


def _value(line: bytes) -> Json:
    try:
        return _json.decode(line)
    except ValueError as error:
        raise EntryError("$", f"not JSON: {error}", "json") from None


def entry_from_value(value: Json, doubt: Doubt | None = None) -> Entry:
    """The entry that a decoded JSON value stands for.

    Args:
        value: The decoded line.
        doubt: If given, a time that cannot be read becomes unknown and ``doubt`` is told;
            otherwise that is an error.

    Raises:
        EntryError: The value is no valid entry.
    """
    if type(value) is not dict:
        raise EntryError("$", f"an entry is an object, not {_kind(value)}", "json")
    entry_id = _get(value, "id", str, "$") or ""
    time = _time_in(value.get("timestamp"), "$.timestamp", doubt, "timestamp" in value)
    kind = _get(value, "type", str, "$") or ""
    known = kind in _PAYLOADS
    if known:
        payload = _payloads_in(value, doubt)
    if not entry_id:
        raise EntryError("$.id", "the entry id is empty")
    if time is None and doubt is None:
        raise EntryError("$.timestamp", f"the time of entry {entry_id!r} is empty")
    if not known:
        if not kind or kind == "session":
            raise EntryError("$.type", f"the entry {entry_id!r} has no type of an entry ({kind!r})")
        data = {k: v for k, v in value.items() if k not in ("id", "timestamp", "type", "crc")}
        return OpaqueEntry(id=entry_id, timestamp=time, type=kind, data=data)
    strangers = [name for name in _PAYLOADS if name != kind and payload[name] is not None]
    if kind != "message" and payload["invocation"] is not None:
        strangers.append("invocation")
    if payload[kind] is None or strangers:
        reason = f"holds a {strangers[0]} payload too" if strangers else f"has no {kind} payload"
        raise EntryError(
            f"$.{strangers[0] if strangers else kind}", f"the {kind} entry {entry_id!r} {reason}"
        )
    if kind == "message":
        invocation = payload["invocation"]
        if invocation is not None:
            _check_invocation(invocation, payload["message"])
        return MessageEntry(
            id=entry_id,
            timestamp=time,
            message=payload["message"],
            family=_get(value, "family", str, "$"),
            response=_response_in(value),
            invocation=invocation,
            stand_in=_get(value, "standIn", bool, "$") or False,
            interrupted=_get(value, "interrupted", bool, "$") or False,
        )
    if kind == "context":
        _check_context(payload["context"])
        return ContextEntry(id=entry_id, timestamp=time, context=payload["context"])
    if kind == "compaction":
        return CompactionEntry(id=entry_id, timestamp=time, compaction=payload["compaction"])
    run = payload["run"]
    if isinstance(run, EntryError):
        raise run
    _check_run(run)
    return RunEntry(id=entry_id, timestamp=time, run=run)


def _payloads_in(value: dict[str, Json], doubt: Doubt | None) -> dict[str, Any]:
    """Every payload key of a line, read: JSON types first, then the message."""
    payload: dict[str, Any] = {
        "context": _context_in(_get(value, "context", dict, "$")),
        "compaction": _compaction_in(_get(value, "compaction", dict, "$"), doubt),
        "run": _run_in(_get(value, "run", dict, "$"), doubt),
        "invocation": _invocation_in(_get(value, "invocation", dict, "$")),
    }
    message = value.get("message")
    if message is not None and type(message) is not dict:
        raise EntryError("$.message", f"a message is an object, not {_kind(message)}", "message")
    payload["message"] = message
    return payload


T = TypeVar("T")


def _get(owner: dict[str, Json], key: str, kind: type[T], where: str) -> T | None:
    """The member ``key`` if it is of ``kind``; None where it is absent or null."""
    value = owner.get(key)
    if value is None or type(value) is kind:
        return value
    wanted = {str: "text", int: "an integer", bool: "true or false", dict: "an object", list: "a list"}[kind]
    raise EntryError(f"{where}.{key}", f"{wanted} is wanted, not {_kind(value)}", "json")


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    names = {str: "text", int: "a number", float: "a number", bool: "true or false", dict: "an object"}
    return names.get(type(value), "a list")


def _int_in(owner: dict[str, Json], key: str, where: str, limits: tuple[int, int] = _INT64) -> int:
    value = _get(owner, key, int, where)
    if value is None:
        return 0
    if not limits[0] <= value <= limits[1]:
        raise EntryError(f"{where}.{key}", f"the integer {value} is out of range", "json")
    return value


def _number_in(owner: dict[str, Json], key: str, where: str) -> float:
    value = owner.get(key)
    if value is None:
        return 0
    if type(value) is int or type(value) is float:
        return value
    raise EntryError(f"{where}.{key}", f"a number is wanted, not {_kind(value)}", "json")


def _texts_in(owner: dict[str, Json], key: str, where: str) -> tuple[str, ...]:
    values = _get(owner, key, list, where) or []
    for index, value in enumerate(values):
        if type(value) is not str:
            raise EntryError(f"{where}.{key}[{index}]", f"text is wanted, not {_kind(value)}", "json")
    return tuple(values)


def _time_in(value: Json, where: str, doubt: Doubt | None, given: bool = True) -> datetime | None:
    if doubt is not None:
        time, doubtful = parse_time_leniently(value)
        if doubtful is not None and given:
            doubt(f"{doubtful} at {where}")
        return time
    if value is None:
        return None
    if type(value) is not str:
        raise EntryError(where, f"a time is text, not {_kind(value)}", "json")
    try:
        return parse_time(value)
    except ValueError as error:
        raise EntryError(where, str(error), "json") from None


def _invocation_in(value: dict[str, Json] | None) -> Invocation | None:
    if value is None:
        return None
    return Invocation(
        **{key: _get(value, key, str, "$.invocation") or "" for key in ("kind", "name", "source", "path")}
    )


def _check_invocation(invocation: Invocation, message: Json) -> None:
    where = "$.invocation"
    if invocation.kind != "prompt_template":
        raise EntryError(f"{where}.kind", f"{invocation.kind!r} is no kind of an invocation")
    for key in ("name", "source", "path"):
        value = getattr(invocation, key)
        if type(value) is not str or not value:
            raise EntryError(f"{where}.{key}", "the invocation is incomplete")
    if message.get("role") != "user":
        raise EntryError(where, "only a user message is made from a prompt template")


def _response_in(line: dict[str, Json]) -> ResponseRecord | None:
    value = _get(line, "response", dict, "$")
    if value is None:
        return None
    where = "$.response"
    usage = _get(value, "usage", dict, where)
    return ResponseRecord(
        id=_get(value, "id", str, where),
        provider=_get(value, "provider", str, where),
        model=_get(value, "model", str, where),
        finish_reason=_get(value, "finishReason", str, where),
        usage=None if usage is None else _usage_in(usage, f"{where}.usage"),
        request=_get(value, "request", str, where),
    )


def _usage_in(value: dict[str, Json], where: str) -> RecordedUsage:
    cost = _get(value, "cost", dict, where) or {}
    priced = f"{where}.cost"
    return RecordedUsage(
        input=_int_in(value, "input", where),
        output=_int_in(value, "output", where),
        cache_read=_int_in(value, "cacheRead", where),
        cache_write=_int_in(value, "cacheWrite", where),
        total_tokens=_int_in(value, "totalTokens", where),
        cost=RecordedCost(
            input=_number_in(cost, "input", priced),
            output=_number_in(cost, "output", priced),
            cache_read=_number_in(cost, "cacheRead", priced),
            cache_write=_number_in(cost, "cacheWrite", priced),
            total=_number_in(cost, "total", priced),
        ),
    )


def _context_in(value: dict[str, Json] | None) -> ContextAttachment | None:
    if value is None:
        return None
    where = "$.context"
    return ContextAttachment(
        attachment_id=_get(value, "attachmentId", str, where) or "",
        epoch=_int_in(value, "epoch", where, _UINT64),
        kind=_get(value, "kind", str, where) or "",
        placement=_get(value, "placement", str, where) or "",
        revision=_get(value, "revision", str, where) or "",
        rendered=_get(value, "rendered", str, where) or "",
        path=_get(value, "path", str, where) or None,
    )


def _check_context(context: ContextAttachment) -> None:
    where = "$.context"
    for key, value in (
        ("attachmentId", context.attachment_id),
        ("kind", context.kind),
        ("placement", context.placement),
        ("revision", context.revision),
        ("rendered", context.rendered),
    ):
        if type(value) is not str or not value:
            raise EntryError(f"{where}.{key}", "the context attachment is incomplete")
    if type(context.epoch) is not int or context.epoch < 1:
        raise EntryError(f"{where}.epoch", "the epoch of a context attachment counts from 1")
    if context.path is not None and type(context.path) is not str:
        raise EntryError(f"{where}.path", "the path of a context attachment is no text")


def _compaction_in(value: dict[str, Json] | None, doubt: Doubt | None) -> Compaction | None:
    if value is None:
        return None
    where = "$.compaction"
    replacement = _get(value, "replacement", list, where) or []
    for index, item in enumerate(replacement):
        if type(item) is not dict:
            raise EntryError(
                f"{where}.replacement[{index}]", f"an item is an object, not {_kind(item)}", "message"
            )
    usage = _get(value, "usage", dict, where)
    return Compaction(
        summary=_get(value, "summary", str, where) or "",
        first_kept_entry_id=_get(value, "firstKeptEntryId", str, where) or None,
        tokens_before=_int_in(value, "tokensBefore", where),
        tokens_after=_int_in(value, "tokensAfter", where),
        read_files=_texts_in(value, "readFiles", where),
        modified_files=_texts_in(value, "modifiedFiles", where),
        provider=_get(value, "provider", str, where) or None,
        model=_get(value, "model", str, where) or None,
        response_model=_get(value, "responseModel", str, where) or None,
        response_id=_get(value, "responseId", str, where) or None,
        usage=RecordedUsage() if usage is None else _usage_in(usage, f"{where}.usage"),
        # An unknown time of the summary call is no fault.
        response_timestamp=_time_in(value.get("responseTimestamp"), f"{where}.responseTimestamp", None)
        if doubt is None
        else parse_time_leniently(value.get("responseTimestamp"))[0],
        replacement=tuple(replacement),
        family=_get(value, "family", str, where),
    )


def _run_in(value: dict[str, Json] | None, doubt: Doubt | None) -> Run | EntryError | None:
    """A run; or, where it is incomplete, the error to raise once its turn comes."""
    if value is None:
        return None
    where = "$.run"
    first = _get(value, "firstEntryId", str, where) or None
    started = _time_in(value.get("startedAt"), f"{where}.startedAt", doubt)
    completed = _time_in(value.get("completedAt"), f"{where}.completedAt", doubt)
    status = _get(value, "status", str, where)
    if started is None or completed is None:
        key = "startedAt" if started is None else "completedAt"
        return EntryError(f"{where}.{key}", "the run is incomplete: it has no such time")
    if status is not None and status not in _RUN_STATUSES:
        return EntryError(f"{where}.status", f"{status!r} is no status of a run")
    return Run(
        started_at=started,
        completed_at=completed,
        first_entry_id=first,
        status=cast('Literal["completed", "failed", "cancelled"] | None', status),
    )


def _check_run(run: Run) -> None:
    if run.completed_at < run.started_at:
        raise EntryError("$.run.completedAt", "the run ends before it starts")


def decode_header(line: bytes) -> Header:
    """The header of a log's first line.

    Raises:
        EntryError: The line is no header of this format version. ``where`` is ``$`` or a
            key of the wrong type (kind ``"json"``), ``$.type``, or ``$.version``.
    """
    value = _value(line)
    if type(value) is not dict:
        raise EntryError("$", f"a header is an object, not {_kind(value)}", "json")
    kind = _get(value, "type", str, "$")
    version = _int_in(value, "version", "$")
    if kind != "session":
        raise EntryError("$.type", f"the type of a header is 'session', not {kind!r}")
    if version != FORMAT_VERSION:
        raise EntryError("$.version", f"{version}")
    known = {"type", "version", "id", "timestamp", "harness", "cwd", "forkedFrom", "parent", "crc"}
    origin, parent = value.get("forkedFrom"), value.get("parent")
    forked_from = _pair(origin, "session", "entry")
    parent_call = _pair(parent, "session", "call")
    extra = {key: item for key, item in value.items() if key not in known}
    if origin is not None and forked_from is None:
        extra["forkedFrom"] = origin
    if parent is not None and parent_call is None:
        extra["parent"] = parent
    return Header(
        id=_only_text(value.get("id")),
        timestamp=parse_time_leniently(value.get("timestamp"))[0],
        harness=_only_text(value.get("harness")),
        cwd=_only_text(value.get("cwd")),
        forked_from=None if forked_from is None else ForkOrigin(*forked_from),
        parent=None if parent_call is None else ParentCall(*parent_call),
        extra=extra,
    )


def _only_text(value: Json) -> str | None:
    return value if type(value) is str else None


def _pair(value: Json, first: str, second: str) -> tuple[str, str] | None:
    if type(value) is not dict:
        return None
    one, two = value.get(first), value.get(second)
    return (one, two) if type(one) is str and type(two) is str else None


def decode_detail(line: bytes, sealed: bool = False) -> Detail | None:
    """The record of one line of the sidecar; None for one without an id, which counts for nothing.

    ``sealed`` is as for :func:`decode_entry`.

    Raises:
        EntryError: The line is no JSON object, or its id is no text.
    """
    return detail_from_value(_trusted(line) if sealed else _value(line))


def detail_from_value(value: Json) -> Detail | None:
    """The sidecar record that a decoded JSON value stands for; see :func:`decode_detail`."""
    if value is None:
        return None
    if type(value) is not dict:
        raise EntryError("$", f"a sidecar record is an object, not {_kind(value)}", "json")
    call_id = _get(value, "id", str, "$")
    entry = _get(value, "entry", str, "$")
    if not call_id:
        return None
    return Detail(id=call_id, payload=value.get("payload"), entry=entry or None)


# ------------------------------------------------------------------------------ details


def outcome_payload(outcome: ToolOutcome) -> dict[str, Json]:
    """The sidecar payload that records how a call ended."""
    data: dict[str, Json] = {"status": outcome.raw_status or outcome.status}
    for key, value in (
        ("errorCode", outcome.error_code),
        ("exitCode", outcome.exit_code),
        ("dataKind", outcome.data_kind),
        ("data", outcome.data),
    ):
        if value is not None:
            data[key] = value
    return {"kind": "tool_outcome", "data": data}


def read_outcome(payload: Json) -> ToolOutcome | None:
    """The outcome that a sidecar payload tells of; None if it tells of none.

    A payload of another kind is a success with that data; one without a kind is read as the
    outcome itself, by its ``status``. A status that is not known is ``"unknown"``, and the
    word is kept.
    """
    if type(payload) is not dict:
        return None
    kind = payload.get("kind")
    if kind in ("tool_started", "request"):
        return None
    if type(kind) is str and kind != "tool_outcome":
        return ToolOutcome(status="success", data_kind=kind, data=payload.get("data"))
    fields = payload.get("data") if kind == "tool_outcome" else payload
    if type(fields) is not dict or type(fields.get("status")) is not str:
        return None
    word: str = fields["status"]
    known = word in ("success", "failed", "cancelled", "timeout")
    code = fields.get("exitCode")
    return ToolOutcome(
        status=cast(ToolStatus, word) if known else "unknown",
        error_code=_only_text(fields.get("errorCode")),
        exit_code=code if type(code) is int else None,
        data_kind=_only_text(fields.get("dataKind")),
        data=fields.get("data"),
        raw_status=None if known else word,
    )


def started_payload(started: ToolStarted) -> dict[str, Json]:
    """The sidecar payload that records that a call began to run."""
    at = None if started.at is None else _time_out(started.at, "$.payload.data.at", "")
    return {"kind": "tool_started", "data": {"at": at}}


def read_started(payload: Json) -> ToolStarted | None:
    """What a sidecar payload tells of a call's start; None if it tells of none."""
    if type(payload) is not dict or payload.get("kind") != "tool_started":
        return None
    data = payload.get("data")
    return ToolStarted(at=parse_time_leniently(data.get("at"))[0] if type(data) is dict else None)
