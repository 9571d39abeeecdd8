"""Rollouts of the OpenAI Codex CLI.

There is no version number; the shape of a record tells its generation. A line is an
envelope ``{timestamp, type, payload}``, or, in the flat files of mid-2025, a bare response
item after a bare header; the first CLI wrote one JSON document. Order is the only link
between records; outcomes name their call.

Response items become messages, as decoded. Event messages mostly repeat them and are left
out; turn marks become runs, ``*_end`` events become details, token counts the usage of a response.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Final

from .. import items
from .._times import parse_foreign_time
from ..entries import (
    HARNESS,
    Compaction,
    CompactionEntry,
    Header,
    Item,
    Json,
    RecordedUsage,
    ResponseRecord,
)
from ..errors import HeaderError
from ..families import Target
from ..findings import Finding, Severity
from ..items.shapes import is_from_model
from . import Imported, SourceLines, SourceRecord, opaque_entry
from ._codex_carried import NO_SUMMARY, is_carried
from ._codex_document import Document, first_lines, read_document
from ._codex_entries import Entries
from ._codex_outcomes import event_outcome
from ._codex_runs import Runs
from ._codex_settings import World, settings_text
from ._codex_tally import Tally
from ._codex_usage import Usages
from ._telling import Telling
from .subagents import link_subagent

__all__ = ["import_codex", "is_carried", "link_subagent"]


def import_codex(lines: Iterable[bytes], *, path: str | None = None, keep_unknown: bool = False) -> Imported:
    """A Codex rollout as entries.

    Args:
        lines: The physical lines of the file, with their line ends.
        path: Named in findings and errors.
        keep_unknown: Whether records that nothing else is made of become opaque entries.

    Raises:
        HeaderError: Not one record of Codex is in it. Damage alone raises nothing.
    """
    rest = iter(lines)
    first = list(first_lines(rest))
    source = read_document(first, rest, path) or SourceLines(chain(first, rest), path)
    rollout = _Rollout(path, keep_unknown)
    for record in source:
        rollout.take(record)
    return rollout.finish(source)


# ----------------------------------------------------------------------------- the words

# What an event says again that a response item says, and what is of no use after the run.
_ECHOES: Final = frozenset(
    {
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "context_compacted",
        "thread_settings_applied",
        "view_image_tool_call",
        "dynamic_tool_call_request",
    }
)
_ECHOED_ITEMS: Final = frozenset(
    {"UserMessage", "HookPrompt", "AgentMessage", "Plan", "Reasoning", "ContextCompaction"}
)
_FLAT_ITEMS: Final = frozenset({"message", "reasoning", "ghost_snapshot"})
# The header keeps these of the first session_meta; the instructions become context entries.
_KEPT_META: Final = (
    "originator",
    "cli_version",
    "source",
    "thread_source",
    "model_provider",
    "git",
    "session_id",
    "forked_from_id",
    "parent_thread_id",
    "agent_nickname",
    "agent_role",
    "agent_path",
    "history_mode",
    "history_base",
)
_NOTES: Final[Mapping[str, tuple[Severity, str]]] = {
    "not-imported": ("note", "not taken over, here and after: {about} ({number} times)"),
    "kept-unknown": ("note", "kept as opaque entries, here and after: {about} ({number} times)"),
    "inherited-history": (
        "note",
        "further session headers, here and after: {number}; they came along with inherited history",
    ),
    "unreadable-time": (
        "warning",
        "times that cannot be read, here and after: {number}; they are taken as unknown",
    ),
    "run-without-times": (
        "note",
        "turns that ended at an unknown time, here and after: {number}; no run is recorded for them",
    ),
}
"""What is told once for each rule and thing."""

# ---------------------------------------------------------------------------- the rollout


class _Rollout:
    """Takes the records of a rollout over, each by its kind."""

    def __init__(self, path: str | None, keep_unknown: bool) -> None:
        self._path = path
        self._keep_unknown = keep_unknown
        self._telling = Telling(_NOTES, path)
        self._entries = Entries(self._telling)
        self._header: Header | None = None
        self._known = 0
        self._taken = 0
        self._world = World()
        self._platform = "direct"
        self._family: str | None = None  # of the model in force
        self._provider: str | None = None
        self._model: str | None = None  # in force
        self._runs = Runs(self._entries, self._telling)
        self._usages = Usages()
        self._tally = Tally()

    # ------------------------------------------------------------------------- records

    def take(self, record: SourceRecord) -> None:
        """Take one record over."""
        self._taken += 1
        value = record.value
        self._tally.look_at(value)
        if "payload" in value:
            self._envelope(record)
        elif "record_type" in value:
            self._known += 1  # ``state``: a mark without content
        else:
            self._flat(record)

    def _envelope(self, record: SourceRecord) -> None:
        kind, payload = record.value.get("type"), record.value["payload"]
        if type(kind) is not str or type(payload) is not dict:
            self._telling.tell(
                record, "odd-record", "warning", "the record has no type, or a payload that is no object"
            )
            if self._keep_unknown:
                self._leave_out(record, "", None, "a record like this")
            return
        time = self._time(record, record.value.get("timestamp"))
        match kind:
            case "session_meta":
                self._meta(record, payload, time)
            case "response_item":
                self._item(record, payload, time)
            case "compacted":
                self._compacted(record, payload, time)
            case "turn_context":
                self._turn_context(record, payload, time)
            case "world_state":
                self._world_state(record, payload, time)
            case "event_msg":
                self._event(record, payload, time)
            case _:
                self._known += kind.startswith("inter_agent_communication")
                self._leave_out(record, kind, time)
                return
        self._known += 1

    def _flat(self, record: SourceRecord) -> None:
        value = record.value
        kind = value.get("type")
        if kind is None and "id" in value and "timestamp" in value:
            self._known += 1
            self._meta(record, value, self._time(record, value["timestamp"]))
        elif type(kind) is str and (
            (kind in _FLAT_ITEMS and (kind != "message" or "role" in value))
            or items.tool_calls(value)
            or items.tool_outputs(value)
            or items.hosted_calls(value)
        ):
            self._known += 1
            self._item(record, value, None)
        elif type(kind) is str:
            self._leave_out(record, kind, None)
        else:
            self._leave_out(record, "", None, "a record without a type")

    def _meta(self, record: SourceRecord, meta: dict[str, Json], time: datetime | None) -> None:
        if self._header is not None:
            self._telling.note(record, "inherited-history")
            return
        provider = _text(meta.get("model_provider"))
        if provider is not None and provider.strip() and provider != "openai":
            self._platform = provider.replace("/", "-")
        self._provider = provider
        made = self._time(record, meta.get("timestamp"))
        kept = {key: meta[key] for key in _KEPT_META if meta.get(key) is not None}
        if self._telling.is_refused(record):
            kept = {}
        self._header = Header(
            id=_text(meta.get("id")) or _text(meta.get("session_id")),
            timestamp=made or time,
            harness=HARNESS,
            cwd=_text(meta.get("cwd")),
            extra={"importedFrom": {"format": "codex", **kept}},
        )
        self._entries.session = self._header.id
        if meta.get("history_base") is not None:
            self._telling.tell(
                record,
                "history-elsewhere",
                "warning",
                "the session continues the beginning of another file, which is not part of this one",
            )
        for key in ("base_instructions", "instructions"):
            value = meta.get(key)
            self._entries.attach(
                record, time, key, _text(value.get("text") if type(value) is dict else value), "prefix"
            )

    def _item(self, record: SourceRecord, item: dict[str, Json], time: datetime | None) -> None:
        if item.get("type") == "ghost_snapshot" or self._telling.is_refused(record):
            return
        if items.is_user_turn(item):
            self._runs.release()
        usage = self._usage_at(item, len(self._entries.made))
        self._entries.message(record, item, time, self._family, self._response(usage))

    def _usage_at(self, item: Item, place: int) -> RecordedUsage | None:
        """The usage of the response that begins with an item, where that is told before it."""
        if items.is_user_turn(item):
            self._usages.saw_break()
        elif items.tool_outputs(item):
            self._usages.saw_output()
        elif is_from_model(item):
            return self._usages.saw_answer(place)
        return None

    def _response(self, usage: RecordedUsage | None) -> ResponseRecord | None:
        """The response that took these tokens: Codex tells no more of it."""
        if usage is None:
            return None
        return ResponseRecord(provider=self._provider, model=self._model, usage=usage)

    def _token_count(self, info: Json) -> None:
        told = self._usages.tell(info)
        if told is not None:
            place, usage = told
            self._entries.answered(place, self._response(usage))

    def _compacted(self, record: SourceRecord, payload: dict[str, Json], time: datetime | None) -> None:
        if self._telling.is_refused(record):
            return
        summary = _text(payload.get("message")) or ""
        history = payload.get("replacement_history")
        if type(history) is list:
            replacement: tuple[Item, ...] = tuple(item for item in history if type(item) is dict)
            if len(replacement) < len(history):
                self._telling.tell(
                    record, "odd-item", "warning", "what is no object in the replacement history was left out"
                )
            if not replacement and not summary:
                summary = NO_SUMMARY
        else:
            replacement = self._entries.rebuild(record, summary)
        usage = self._usages.take()
        self._entries.compaction(
            CompactionEntry(
                id=self._entries.id_of(record),
                timestamp=time,
                compaction=Compaction(
                    summary=summary,
                    replacement=replacement,
                    family=self._family,
                    provider=None if usage is None else self._provider,
                    model=None if usage is None else self._model,
                    usage=usage or RecordedUsage(),
                ),
            )
        )
        self._usages.saw_break()

    # ------------------------------------------------------------------------- settings

    def _turn_context(self, record: SourceRecord, payload: dict[str, Json], time: datetime | None) -> None:
        self._runs.saw_settings(record, time)
        model = _text(payload.get("model"))
        if model is not None and model.strip():
            self._model = model
            self._family = Target("openai-responses", model, self._platform).family
        if not self._telling.is_refused(record):
            self._entries.attach(record, time, "turn_context", settings_text(payload), "after-current")

    def _world_state(self, record: SourceRecord, payload: dict[str, Json], time: datetime | None) -> None:
        if self._telling.is_refused(record):
            return
        state = payload.get("state")
        if type(state) is not dict:
            self._telling.tell(record, "odd-record", "warning", "the world state is no object")
            return
        told = self._world.told(state, full=payload.get("full") is True)
        self._entries.attach(record, time, "world_state", told, "after-current")

    # --------------------------------------------------------------------------- events

    def _event(self, record: SourceRecord, event: dict[str, Json], time: datetime | None) -> None:
        kind = _text(event.get("type")) or ""
        match kind:
            case "task_started" | "turn_started":
                self._runs.start(record, event, time)
            case "task_complete" | "turn_complete":
                failed = event.get("error") is not None
                self._runs.end(record, event, time, "failed" if failed else "completed")
            case "turn_aborted":
                self._runs.end(record, event, time, "cancelled")
            case "user_message":
                self._runs.saw_user(record, time)
            case "error":
                self._runs.fail()
            case "thread_rolled_back":
                self._entries.roll_back(record, event.get("num_turns"))
            case "token_count":
                self._token_count(event.get("info"))
            case "item_completed":
                self._item_completed(record, event, time)
            case _ if kind in _ECHOES:
                pass
            case _ if kind.endswith("_end") or kind == "dynamic_tool_call_response":
                self._outcome(record, kind, event, event.get("call_id") or event.get("callId"), time)
            case _:
                self._leave_out(record, f"event_msg/{kind}", time)

    def _item_completed(self, record: SourceRecord, event: dict[str, Json], time: datetime | None) -> None:
        item = event.get("item")
        kind = _text(item.get("type")) if type(item) is dict else None
        if kind not in _ECHOED_ITEMS:
            call_id = item.get("id") if type(item) is dict else None
            self._outcome(record, kind or "item_completed", item, call_id, time)

    def _outcome(
        self, record: SourceRecord, kind: str, data: Json, call_id: Json, time: datetime | None
    ) -> None:
        if type(data) is not dict or _text(call_id) is None:
            self._leave_out(record, f"event_msg/{kind}", time, f"event_msg/{kind} without a call")
        elif not self._telling.is_refused(record):
            self._entries.outcome(call_id, event_outcome(kind, data))

    # -------------------------------------------------------------------------- the end

    def finish(self, source: SourceLines | Document) -> Imported:
        """Everything that was taken over.

        Raises:
            HeaderError: Nothing was.
        """
        if not self._known:
            raise HeaderError(
                self._path or "the session",
                1,
                0,
                "this is no Codex session: it holds no record of one",
                "check the path, or import it as what it is",
                None,
                "header-type",
            )
        self._runs.release()
        leftovers = list(self._leftovers())
        told = (*source.findings, *self._telling.findings(), *leftovers)
        findings = sorted(told, key=lambda finding: finding.line or 0)
        return Imported(
            header=self._header or Header(harness=HARNESS, extra={"importedFrom": {"format": "codex"}}),
            entries=tuple(self._entries.made),
            places=self._entries.places,
            details=tuple(self._entries.details()),
            findings=tuple(findings),
            counts={
                **self._tally.counts(),
                "records": self._taken,
                "broken_lines": source.broken_lines,
                "recovered": source.recovered,
                "sidechain": 0,
                "roots": 0,
            },
        )

    def _leftovers(self) -> Iterator[Finding]:
        """What can be said of the file once it has ended."""
        for start in self._runs.unfinished():
            self._telling.tell(
                start.record,
                "run-not-ended",
                "note",
                "a turn was started here and never ended: no run is recorded",
            )
        self._usages.saw_break()
        if self._usages.lost:
            yield Finding(
                rule="usage-without-response",
                severity="note",
                message=f"token counts that belong to no response here: {self._usages.lost}; left out",
                path=self._path,
            )
        if self._header is None:
            yield Finding(
                rule="no-session-header",
                severity="warning",
                message="no session header could be read: id, directory and time are unknown",
                path=self._path,
                line=1,
                offset=0,
            )

    # --------------------------------------------------------------------- small steps

    def _time(self, record: SourceRecord, value: Json) -> datetime | None:
        if value is None:
            return None
        time = parse_foreign_time(value)
        if time is None:
            self._telling.note(record, "unreadable-time")
        return time

    def _leave_out(self, record: SourceRecord, kind: str, time: datetime | None, about: str = "") -> None:
        """Note a record that no entry tells, and keep it if that was asked for."""
        if not self._keep_unknown:
            self._telling.note(record, "not-imported", about or kind)
        elif not self._telling.is_refused(record):
            self._telling.note(record, "kept-unknown", about or kind)
            self._entries.made.append(
                opaque_entry(self._entries.id_of(record), time, "codex", kind, record.value)
            )


# --------------------------------------------------------------------------------- values


def _text(value: Json) -> str | None:
    return value if type(value) is str and value else None
