"""Entries, headers and details from the JSON of a line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal, TypeVar, cast

import orjson

from .. import _json
from .._times import parse_time, parse_time_leniently
from ..entries import (
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
)
from ..errors import EntryError
from .rules import (
    INT64,
    PAYLOADS,
    RUN_STATUSES,
    TIME_UNKNOWN,
    UINT64,
    check_context,
    check_invocation,
    check_run,
)

__all__ = [
    "decode_detail",
    "decode_entry",
    "decode_header",
    "detail_from_value",
    "entry_from_value",
]

Doubt = Callable[[str], None]
"""Is told what is doubtful about a value that is read all the same."""


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
    time = _time_in(value.get("timestamp"), "$.timestamp", doubt)
    kind = _get(value, "type", str, "$") or ""
    known = kind in PAYLOADS
    if known:
        payload = _payloads_in(value, doubt)
    if not entry_id:
        raise EntryError("$.id", "the entry id is empty")
    if time is None and doubt is None:
        raise EntryError("$.timestamp", f"the time of entry {entry_id!r} is empty")
    is_untimed = value.get(TIME_UNKNOWN) is True
    if is_untimed:
        time = None
    if not known:
        if not kind or kind == "session":
            raise EntryError("$.type", f"the entry {entry_id!r} has no type of an entry ({kind!r})")
        own = {"id", "timestamp", "type", "crc", *((TIME_UNKNOWN,) if is_untimed else ())}
        data = {key: item for key, item in value.items() if key not in own}
        return OpaqueEntry(id=entry_id, timestamp=time, type=kind, data=data)
    strangers = [name for name in PAYLOADS if name != kind and payload[name] is not None]
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
            check_invocation(invocation, payload["message"])
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
        check_context(payload["context"])
        return ContextEntry(id=entry_id, timestamp=time, context=payload["context"])
    if kind == "compaction":
        return CompactionEntry(id=entry_id, timestamp=time, compaction=payload["compaction"])
    run = payload["run"]
    if isinstance(run, EntryError):
        raise run
    check_run(run)
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


def _int_in(owner: dict[str, Json], key: str, where: str, limits: tuple[int, int] = INT64) -> int:
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


def _time_in(value: Json, where: str, doubt: Doubt | None) -> datetime | None:
    if doubt is not None:
        time, doubtful = parse_time_leniently(value)
        if doubtful is not None:
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
        input_unknown=_get(value, "inputUnknown", bool, where) or False,
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
        epoch=_int_in(value, "epoch", where, UINT64),
        kind=_get(value, "kind", str, where) or "",
        placement=_get(value, "placement", str, where) or "",
        revision=_get(value, "revision", str, where) or "",
        rendered=_get(value, "rendered", str, where) or "",
        path=_get(value, "path", str, where) or None,
    )


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
    if status is not None and status not in RUN_STATUSES:
        return EntryError(f"{where}.status", f"{status!r} is no status of a run")
    return Run(
        started_at=started,
        completed_at=completed,
        first_entry_id=first,
        status=cast('Literal["completed", "failed", "cancelled"] | None', status),
    )


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
