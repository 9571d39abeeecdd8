"""A log as a session of the pi coding agent, version 3.

pi opens the file and goes on with it. Messages in pi's own shape go as they are; items of other
shapes become its messages, those of one answer one message. What a log holds and no model is
sent stands on branches that were left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from .. import items
from .._plain import json_line
from .._times import format_time
from ..codec import read_outcome
from ..entries import (
    Compaction,
    CompactionEntry,
    ContextEntry,
    Entry,
    Header,
    Item,
    Json,
    MessageEntry,
    OpaqueEntry,
    RecordedUsage,
    ResponseRecord,
    RunEntry,
)
from ..findings import Change, ChangeKind
from ..importers._pi_compaction import NO_SUMMARY
from ..importers._pi_messages import SENT_ROLES
from ..items.shapes import is_from_model, shape_of
from . import Exported, ExportSource
from ._pi_messages import answer_blocks, maker_of, stop_reason, usage_object, user_messages

__all__ = ["export_pi"]

VERSION: Final = 3

_SETTINGS: Final = frozenset({"active_tools_change", "model_change", "thinking_level_change"})
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HEADER_KEYS: Final = frozenset({"format", "labels", "name", "version"})


def export_pi(source: ExportSource) -> Exported:
    """A log as a session that pi opens; a piece for each line.

    What outcomes in the sidecar hold becomes ``details`` of results.
    """
    writer = _Writer(source.header or Header(), source.details)
    for entry in source.entries:
        writer.take(entry)
    return writer.finish()


class _Writer:
    """The records of the file so far."""

    def __init__(self, header: Header, details: Mapping[tuple[str, str | None], Json]) -> None:
        self._header = header
        self._details = details
        self._records: list[dict[str, Json]] = []
        self._changes: list[Change] = []
        self._entry = ""  # the one that is being said
        self._time = header.timestamp or _LONG_AGO
        self._taken: set[str] = set()  # ids of records
        self._live: str | None = None  # the last record that a model is sent, or that leads there
        self._left: str | None = None  # the last record of the branch that was left just now
        self._of: dict[str, str] = {}  # the record of each message entry
        self._order: list[tuple[str, bool]] = []  # the message entries, and whether a model is sent each
        self._answer: _Answer | None = None
        self._ids: dict[str, str] = {}  # what the calls are called
        self._names: dict[str, str] = {}  # the tools that they call
        self._callers: dict[str, str] = {}  # their entries
        self._early: dict[str, list[dict[str, Any]]] = {}  # results whose call has not come

    # ------------------------------------------------------------------------- entries

    def take(self, entry: Entry) -> None:
        """Say one entry."""
        if not isinstance(entry, MessageEntry) or not self._joins(entry):
            self._end_answer()
        self._entry = entry.id
        match entry:
            case MessageEntry():
                self._message(entry)
            case CompactionEntry(compaction=compaction):
                self._compaction(entry, compaction)
            case ContextEntry(context=context) if context.kind in _SETTINGS and not context.path:
                self._setting(entry, context.kind, context.rendered)
            case ContextEntry(context=context):
                self._keep(entry, {"kind": context.kind, "rendered": context.rendered})
            case RunEntry(run=run):
                times = {
                    "startedAt": format_time(run.started_at),
                    "completedAt": format_time(run.completed_at),
                }
                self._keep(entry, {**times, "status": run.status})
            case OpaqueEntry(data=data):
                self._keep(entry, dict(data))

    def _keep(self, entry: Entry, data: Json) -> None:
        """What pi knows nothing of, as data of an extension, which it sends nowhere."""
        self._tell("rewritten", "entry-type", f"pi has no entry for a {entry.type}: it goes as data")
        record = {"type": "custom", "customType": f"transcript-log/{entry.type}", "data": data}
        self._add(record, entry.timestamp)

    def _setting(self, entry: ContextEntry, kind: str, rendered: str) -> None:
        try:
            value = json.loads(rendered)
        except ValueError:
            value = None
        if type(value) is dict:
            self._add({"type": kind, **value}, entry.timestamp)
        else:
            self._keep(entry, {"kind": kind, "rendered": rendered})

    # ------------------------------------------------------------------------ messages

    def _message(self, entry: MessageEntry) -> None:
        item = entry.message
        self._order.append((entry.id, not entry.interrupted))
        source = item.get("importedFrom")
        if type(source) is dict and source.get("format") == "pi":
            self._restore(entry, item, source)
        elif is_from_model(item) and not items.tool_outputs(item):
            self._answered(entry)
        elif shape_of(item) in ("pi", "plain") and items.role(item) not in ("system", "developer", None):
            self._said(entry, [dict(item)])
        else:
            self._said(entry, user_messages(item, self._told))
        if entry.stand_in:
            self._tell("rewritten", "stand-in", "that the output was made up is not told")
        if entry.invocation is not None:
            self._tell("rewritten", "invocation", "the template of the message is not told")

    def _restore(self, entry: MessageEntry, item: Item, source: Mapping[str, Json]) -> None:
        """What pi wrote, of what was made of it."""
        told = {key: value for key, value in source.items() if key != "format"}
        if "role" not in told:
            kind = told.pop("type", "custom_message")
            content = {"content": item.get("content")} if kind == "custom_message" else {}
            self._add({"type": kind, **content, **told}, entry.timestamp, entry)
            return
        if told["role"] in ("custom", "hookMessage"):
            told |= {"role": "custom", "content": item.get("content")}
        self._said(entry, [told if "timestamp" not in item else {**told, "timestamp": item["timestamp"]}])

    def _said(self, entry: MessageEntry, messages: Sequence[dict[str, Any]]) -> None:
        """Messages of no model."""
        for message in messages:
            if message.get("role") == "toolResult":
                self._result(message)
            message.setdefault("timestamp", self._milliseconds(entry.timestamp))
            self._add({"type": "message", "message": message}, entry.timestamp, entry)

    def _result(self, message: dict[str, Any]) -> None:
        """A result under the id of its call, with what the sidecar knows of it."""
        call_id = message.get("toolCallId")
        if type(call_id) is not str:
            return
        if call_id in self._ids:
            message["toolCallId"] = self._ids[call_id]
        else:
            self._early.setdefault(call_id, []).append(message)
        message.setdefault("toolName", self._names.get(call_id, ""))
        payload = self._details.get((call_id, self._callers.get(call_id)), self._details.get((call_id, None)))
        outcome = read_outcome(payload)
        if outcome is None:
            return
        if outcome.data is not None and "details" not in message:
            message["details"] = outcome.data
        if outcome.status in ("failed", "cancelled", "timeout"):
            message["isError"] = True

    # ------------------------------------------------------------------------- answers

    def _joins(self, entry: MessageEntry) -> bool:
        """Whether an item is of the answer that is under way."""
        answer = self._answer
        if answer is None or not is_from_model(entry.message) or items.tool_outputs(entry.message):
            return False
        shape = shape_of(entry.message)
        if entry.interrupted != answer.is_left or entry.family != answer.family or shape != answer.shape:
            return False
        if shape == "anthropic":
            name = items.message_id(entry.message)
            return name is not None and name == answer.name
        if shape != "responses":
            return False
        again = entry.response
        return again is None or (
            bool(again.id) and answer.response is not None and again.id == answer.response.id
        )

    def _answered(self, entry: MessageEntry) -> None:
        item = entry.message
        if shape_of(item) == "pi":
            message = dict(item)
            for call in items.tool_calls(item):
                self._called(entry, call.id or "", call.name)
            self._said(entry, [self._complete(message, entry.family, entry.response)])
            return
        if self._answer is None:
            self._answer = _Answer(entry, shape_of(item), items.message_id(item))
        answer = self._answer
        answer.blocks += answer_blocks(item, self._ids, self._told)
        answer.entries.append(entry)
        for call in items.tool_calls(item):
            self._called(entry, call.id or "", call.name)

    def _called(self, entry: MessageEntry, call_id: str, name: str) -> None:
        self._ids.setdefault(call_id, call_id)
        for message in self._early.pop(call_id, ()):
            message["toolCallId"] = self._ids[call_id]
            message["toolName"] = message["toolName"] or name
        self._names[call_id] = name
        self._callers[call_id] = entry.id

    def _end_answer(self) -> None:
        """The answer that was under way is whole."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        first = answer.entries[0]
        said: dict[str, Any] = {"role": "assistant", "content": answer.blocks}
        message = self._complete(said, answer.family, answer.response)
        message["timestamp"] = self._milliseconds(first.timestamp)
        record = self._add({"type": "message", "message": message}, first.timestamp, first)
        for entry in answer.entries:
            self._of[entry.id] = record

    def _complete(
        self, message: dict[str, Any], family: str | None, response: ResponseRecord | None
    ) -> dict[str, Any]:
        """An answer with all that pi demands of one."""
        maker = maker_of(family, response)
        if maker.account:
            self._tell("rewritten", "account", f"that the account was {maker.account!r} is not told")
        finish = None if response is None else response.finish_reason
        calls = bool(items.tool_calls(message))
        told: dict[str, Any] = {
            "api": maker.api,
            "provider": maker.provider,
            "model": maker.model,
            "usage": usage_object(None if response is None else response.usage),
            "stopReason": stop_reason(finish, calls=calls),
        }
        if response is not None and response.id:
            told["responseId"] = response.id
        return {**message, **{key: value for key, value in told.items() if key not in message}}

    # ---------------------------------------------------------------------- compactions

    def _compaction(self, entry: CompactionEntry, compaction: Compaction) -> None:
        kept = compaction.first_kept_entry_id
        named = self._kept_from(kept) if kept else None
        if kept and named is None:
            self._tell("left-out", "first-kept", f"what is kept from {kept!r} on is not in the file")
        record: dict[str, Json] = {
            "type": "compaction",
            "summary": compaction.summary if compaction.summary.strip() else NO_SUMMARY,
            "firstKeptEntryId": named or "",
            "tokensBefore": compaction.tokens_before,
        }
        files = {"readFiles": compaction.read_files, "modifiedFiles": compaction.modified_files}
        if any(files.values()):
            record["details"] = {key: list(paths) for key, paths in files.items()}
        if compaction.usage != RecordedUsage():
            record["usage"] = usage_object(compaction.usage)
        if compaction.replacement and _is_of_pi(compaction.replacement[0]):
            record["retainedTail"] = self._tail(compaction)
        elif compaction.replacement:
            record["summary"] = _summary(compaction)
            why = "what stands for older messages goes as text of the summary, as far as it is text"
            self._tell("rewritten", "replacement", why)
        self._add(record, entry.timestamp)

    def _kept_from(self, kept: str) -> str | None:
        """The record of an entry; of one that is history alone, that of the next one that is sent."""
        start = next((place for place, (name, _) in enumerate(self._order) if name == kept), len(self._order))
        return next((self._of[name] for name, live in self._order[start:] if live and name in self._of), None)

    def _tail(self, compaction: Compaction) -> list[Json]:
        """The messages that a compaction of pi brought along."""
        inner = _Writer(Header(timestamp=self._time), {})
        for item in compaction.replacement[1:]:
            inner.take(MessageEntry(id="", timestamp=self._time, message=item, family=compaction.family))
        inner._end_answer()
        return [record["message"] for record in inner._records if record["type"] == "message"]

    # ------------------------------------------------------------------------- records

    def _add(self, record: dict[str, Json], time: datetime | None, entry: MessageEntry | None = None) -> str:
        """Put a record into the file; gives its id."""
        if time is None:
            self._tell("rewritten", "time", "the time is not known: that of the entry before is told")
        else:
            self._time = time
        named = self._fresh(f"{self._entry} {len(self._records)}")
        is_left = entry is not None and entry.interrupted and not _is_aside(record)
        parent = (self._left or self._live) if is_left else self._live
        kind = record.pop("type")
        head = {"type": kind, "id": named, "parentId": parent, "timestamp": format_time(self._time)}
        self._records.append({**head, **record})
        if entry is not None:
            self._of.setdefault(entry.id, named)
        if is_left:
            self._left = named
        else:
            self._live, self._left = named, None
        return named

    def _fresh(self, seed: str) -> str:
        """An id of eight digits that no record has."""
        number = 0
        while True:
            made = sha256(f"{seed} {number}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            if made not in self._taken:
                self._taken.add(made)
                return made
            number += 1

    def _milliseconds(self, time: datetime | None) -> int:
        return round((time or self._time).timestamp() * 1000)

    def _told(self, rule: str, message: str) -> None:
        self._tell("rewritten", rule, message)

    def _tell(self, kind: ChangeKind, rule: str, message: str) -> None:
        self._changes.append(Change(kind=kind, rule=rule, message=message, entry=self._entry))

    # ------------------------------------------------------------------------- the end

    def finish(self) -> Exported:
        """The whole file."""
        self._end_answer()
        header = self._header
        source = header.extra.get("importedFrom")
        kept = source if type(source) is dict and source.get("format") == "pi" else {}
        self._entry = ""
        if type(kept.get("name")) is str:
            self._add({"type": "session_info", "name": kept["name"]}, self._time)
        marks = kept.get("labels")
        for entry, label in marks.items() if type(marks) is dict else ():
            if (target := self._of.get(entry)) is not None:
                self._add({"type": "label", "targetId": target, "label": label}, self._time)
        if self._left is not None:
            # The last entry of the file is where pi goes on.
            self._add({"type": "custom", "customType": "transcript-log/leaf"}, self._time)
        first: dict[str, Json] = {
            "type": "session",
            "version": VERSION,
            "id": header.id or self._fresh("session"),
            "timestamp": format_time(header.timestamp or self._time),
            "cwd": header.cwd or "/",
        }
        first |= {key: value for key, value in kept.items() if key not in _HEADER_KEYS and key not in first}
        # What could act on a terminal or hide is an escape of JSON, and so the same text.
        lines = (json_line(record) + "\n" for record in (first, *self._records))
        return Exported(pieces=lines, changes=tuple(self._changes))


class _Answer:
    """An answer of a model, item by item."""

    def __init__(self, entry: MessageEntry, shape: str, name: str | None) -> None:
        self.entries: list[MessageEntry] = []
        self.blocks: list[dict[str, Any]] = []
        self.family = entry.family
        self.response = entry.response
        self.is_left = entry.interrupted
        self.shape = shape
        self.name = name


def _is_of_pi(item: Item) -> bool:
    """Whether an item stands for the summary of a compaction that pi made."""
    source = item.get("importedFrom")
    return type(source) is dict and source == {"format": "pi", "type": "compaction"}


def _summary(compaction: Compaction) -> str:
    """A summary that says what the replacement says, and what the summary says beside that."""
    texts = [text for item in compaction.replacement if (text := items.text(item)).strip()]
    if compaction.summary.strip() and not any(compaction.summary in text for text in texts):
        texts.append(compaction.summary)
    return "\n\n".join(texts) or NO_SUMMARY


def _is_aside(record: Mapping[str, Json]) -> bool:
    """Whether pi itself sends nothing of a message, wherever it stands."""
    message = record.get("message")
    if type(message) is not dict:
        return False
    role = message.get("role")
    if role == "bashExecution":
        return bool(message.get("excludeFromContext"))
    return role not in SENT_ROLES and role not in (
        "custom",
        "hookMessage",
        "branchSummary",
        "compactionSummary",
    )
