"""Entries, headers and details to the JSON object of a line."""

from __future__ import annotations

from datetime import datetime
from typing import Final, assert_never

from .. import _json
from .._times import ZERO_TIME, format_time
from ..entries import (
    FORMAT_VERSION,
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Header,
    Json,
    MessageEntry,
    OpaqueEntry,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
)
from ..errors import EntryError
from .rules import (
    INT64,
    NO_TIME,
    PAYLOADS,
    RUN_STATUSES,
    TIME_UNKNOWN,
    check_context,
    check_invocation,
    check_run,
)

__all__ = ["encode_detail", "encode_entry", "encode_header"]


# A union made anew for each entry would take as long as its dumping.
_ENTRIES: Final = (MessageEntry, ContextEntry, CompactionEntry, RunEntry, OpaqueEntry)


def encode_entry(entry: Entry, *, untimed: bool = False) -> bytes:
    """The JSON object of an entry, unsealed and without a line feed.

    Args:
        entry: The entry.
        untimed: Whether its time may be unknown, as that of an entry of another agent's session.

    Raises:
        EntryError: The entry breaks a rule, or holds a value that JSON would not give back.
    """
    if not isinstance(entry, _ENTRIES):
        raise EntryError("$", f"a {type(entry).__name__} is no entry")
    if type(entry.id) is not str or not entry.id:
        raise EntryError("$.id", "the entry id is empty or no text")
    no_time = untimed and entry.timestamp is None
    time = NO_TIME if no_time else _time_out(entry.timestamp, "$.timestamp", "the entry has no time")
    line: dict[str, Json] = {"id": entry.id, "timestamp": time, "type": entry.type}
    if no_time:
        line[TIME_UNKNOWN] = True
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
            if type(kind) is not str or not kind or kind in PAYLOADS or kind == "session":
                raise EntryError("$.type", f"{kind!r} is no type of an opaque entry")
            for key, value in data.items():
                if key in line or key == "crc" or (key == TIME_UNKNOWN and value is True):
                    raise EntryError("$", f"the key {key!r} is not the data's of an opaque entry to give")
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
        check_invocation(invocation, message)
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
    check_context(context)
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
        ZERO_TIME if time is None else _time_out(time, f"{where}.responseTimestamp", "")
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
    check_run(run)
    if run.status is not None:
        if run.status not in RUN_STATUSES:
            raise EntryError("$.run.status", f"{run.status!r} is no status of a run")
        out["status"] = run.status
    return out


def _usage_out(usage: RecordedUsage, where: str) -> dict[str, Json]:
    cost, priced = usage.cost, f"{where}.cost"
    out: dict[str, Json] = {"input": _int_out(usage.input, f"{where}.input")}
    if usage.input_unknown:
        out["inputUnknown"] = True
    return out | {
        "output": _int_out(usage.output, f"{where}.output"),
        "cacheRead": _int_out(usage.cache_read, f"{where}.cacheRead"),
        "cacheWrite": _int_out(usage.cache_write, f"{where}.cacheWrite"),
        "totalTokens": _int_out(usage.total_tokens, f"{where}.totalTokens"),
        "cost": {
            "input": _number_out(cost.input, f"{priced}.input"),
            "output": _number_out(cost.output, f"{priced}.output"),
            "cacheRead": _number_out(cost.cache_read, f"{priced}.cacheRead"),
            "cacheWrite": _number_out(cost.cache_write, f"{priced}.cacheWrite"),
            "total": _number_out(cost.total, f"{priced}.total"),
        },
    }


def _number_out(value: object, where: str) -> float:
    if type(value) is not int and type(value) is not float:
        raise EntryError(where, f"a number is wanted, not {type(value).__name__}", "json")
    return value


def _text_out(value: object, where: str) -> str:
    if type(value) is not str:
        raise EntryError(where, f"text is wanted, not {type(value).__name__}", "json")
    return value


def _int_out(value: object, where: str) -> int:
    if type(value) is not int or not INT64[0] <= value <= INT64[1]:
        raise EntryError(where, "an integer of 64 bits is wanted", "json")
    return value


def _time_out(time: object, where: str, missing: str) -> str:
    if time is None:
        raise EntryError(where, missing or "the time is missing")
    if not isinstance(time, datetime):
        raise EntryError(where, f"a time is a datetime, not {type(time).__name__}", "json")
    try:
        text = format_time(time)
    except ValueError as error:
        raise EntryError(where, str(error), "json") from None
    if text == ZERO_TIME:
        raise EntryError(where, "the first instant of year 1 would be read as an unknown time")
    return text


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
    if not detail.id:
        raise EntryError("$.id", "a sidecar record without an id counts for nothing")
    if detail.entry is not None:
        line["entry"] = _text_out(detail.entry, "$.entry")
    line["payload"] = detail.payload
    return _json.encode(line)
