"""Rollouts of the OpenAI Codex CLI.

There is no version number; the shape of a record tells its generation. A line is an
envelope ``{timestamp, type, payload}``, or, in the flat files of mid-2025, a bare response
item after a bare header; the first CLI wrote one JSON document. Order is the only link
between records; outcomes name their call.

Response items become messages, as decoded. Event messages mostly repeat them and are left
out; turn marks become runs, ``*_end`` events become details, token counts the usage of a response.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain
from typing import Final

from .. import _json, items
from .._times import parse_time_leniently
from ..codec import outcome_payload
from ..entries import (
    HARNESS,
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Header,
    Item,
    Json,
    MessageEntry,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    RunStatus,
    ToolOutcome,
)
from ..errors import HeaderError
from ..families import Target
from ..findings import Finding, Severity
from ..items.shapes import is_from_model
from . import Imported, SourceLines, SourceRecord, entry_id, is_doubtful, opaque_entry
from ._codex_outcomes import event_outcome, told_outcome
from ._codex_turns import Start, Turns
from ._codex_usage import Usages
from ._telling import Telling

__all__ = ["import_codex", "is_carried"]


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
    first = list(_first_lines(rest))
    document = _document(first, rest)
    source = SourceLines(chain(first, rest), path)
    rollout = _Rollout(path, keep_unknown)
    for record in source if document is None else document:
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
# They differ from turn to turn without a change of settings.
_VOLATILE: Final = frozenset({"turn_id", "trace_id"})

# User messages that Codex makes itself. It does not carry them over a compaction.
_MADE_MESSAGES: Final = (
    "# agents.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "another language model started to solve this problem",
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

_CARRIED_BYTES: Final = 80_000
"""How much user text Codex carries over a compaction: 20,000 tokens of four bytes each."""

_NO_SUMMARY: Final = "(no summary available)"


# ---------------------------------------------------------------------------- the rollout


@dataclass(slots=True, eq=False)
class _Ended:
    """An aborted run, held back for the items that Codex writes after its mark."""

    id: str
    time: datetime | None
    place: int
    started: datetime
    completed: datetime


class _Rollout:
    """The entries so far, and what the next record has to be compared with."""

    def __init__(self, path: str | None, keep_unknown: bool) -> None:
        self._path = path
        self._keep_unknown = keep_unknown
        self._entries: list[Entry] = []
        self._telling = Telling(_NOTES, path)
        self._header: Header | None = None
        self._known = 0
        self._taken = 0
        self._made = (0, 0)  # a source line, and how many entries were made from it
        self._places: dict[str, tuple[int, int]] = {}
        self._messages: list[int] = []  # indices of the message entries
        self._users: list[Item] = []  # what a compaction without a replacement carries over
        self._said: list[int] = []  # indices of what a person said, and was not taken back
        self._calls: dict[str, list[int]] = {}  # indices of the entries that call by this id
        self._told: list[tuple[str, int, ToolOutcome]] = []  # outcomes that events tell
        self._stored: list[tuple[str, int, ToolOutcome]] = []  # those that outputs tell
        self._settings: dict[str, str] = {}  # what is in force, by kind
        self._world: Json = None
        self._platform = "direct"
        self._family: str | None = None  # of the model in force
        self._provider: str | None = None
        self._model: str | None = None  # in force
        self._turns = Turns()
        self._usages = Usages()
        self._ended: _Ended | None = None
        self._aborted = 0

    # ------------------------------------------------------------------------- records

    def take(self, record: SourceRecord) -> None:
        """Take one record over."""
        self._taken += 1
        value = record.value
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
        if meta.get("history_base") is not None:
            self._telling.tell(
                record,
                "history-elsewhere",
                "warning",
                "the session continues the beginning of another file, which is not part of this one",
            )
        for key in ("base_instructions", "instructions"):
            value = meta.get(key)
            self._attach(
                record, time, key, _text(value.get("text") if type(value) is dict else value), "prefix"
            )

    def _item(self, record: SourceRecord, item: dict[str, Json], time: datetime | None) -> None:
        if item.get("type") == "ghost_snapshot" or self._telling.is_refused(record):
            return
        if items.is_user_turn(item):
            self._release()
            if is_carried(item):
                self._users.append(item)
                self._said.append(len(self._entries))
        place = len(self._entries)
        entry = MessageEntry(
            id=self._id(record),
            timestamp=time,
            message=item,
            family=self._family,
            response=self._response(self._usage_at(item, place)),
        )
        self._messages.append(place)
        self._entries.append(entry)
        for call in (*items.tool_calls(item), *items.hosted_calls(item)):
            if call.id is not None:
                self._calls.setdefault(call.id, []).append(place)
        for output in items.tool_outputs(item):
            outcome = told_outcome(output.content)
            if output.id is not None and outcome is not None:
                self._stored.append((output.id, place, outcome))

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

    def _roll_back(self, record: SourceRecord, turns: Json) -> None:
        """Make history of the newest turns of the user, and of all that came since they began.

        A compaction among it was taken back with them; what stood before it counts again.
        """
        if type(turns) is not int or turns < 1 or not self._said:
            self._telling.tell(record, "odd-record", "warning", f"{turns!r} turns cannot be taken back here")
            return
        taken = min(turns, len(self._said))
        cut = self._said[-taken]
        for place in range(cut, len(self._entries)):
            entry = self._entries[place]
            if isinstance(entry, MessageEntry):
                self._entries[place] = replace(entry, interrupted=True)
            elif isinstance(entry, CompactionEntry):
                kept: dict[str, Json] = {"summary": entry.compaction.summary}
                self._entries[place] = opaque_entry(entry.id, entry.timestamp, "codex", "compacted", kept)
        del self._said[-taken:]
        del self._users[-taken:]
        line, _ = self._places[self._entries[cut].id]
        self._telling.tell(
            record,
            "rolled-back",
            "note",
            f"Codex took the newest {taken} user turns back here, those from line {line} on:"
            " they are history, and no context",
        )

    def _token_count(self, info: Json) -> None:
        told = self._usages.tell(info)
        if told is not None:
            place, usage = told
            entry = self._entries[place]
            assert isinstance(entry, MessageEntry)
            self._entries[place] = replace(entry, response=self._response(usage))

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
                summary = _NO_SUMMARY
        else:
            earlier = len(self._users)
            replacement = self._rebuilt(summary)
            self._telling.tell(
                record,
                "compaction-rebuilt",
                "note",
                "the compaction records no replacement history; it was rebuilt as Codex does, from"
                f" the newest {len(replacement) - 1} of {earlier} user messages and the summary",
            )
        self._users = [item for item in replacement if items.is_user_turn(item) and is_carried(item)]
        usage = self._usages.take()
        self._entries.append(
            CompactionEntry(
                id=self._id(record),
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

    def _rebuilt(self, summary: str) -> tuple[Item, ...]:
        """The newest user messages that fit, and the summary as one more."""
        carried: list[Item] = []
        left = _CARRIED_BYTES
        for item in reversed(self._users):
            left -= len(items.text(item).encode("utf-8", "surrogatepass"))
            if left < 0:
                break
            carried.append(item)
        text = {"type": "input_text", "text": summary or _NO_SUMMARY}
        return (*reversed(carried), {"type": "message", "role": "user", "content": [text]})

    # ------------------------------------------------------------------------- settings

    def _turn_context(self, record: SourceRecord, payload: dict[str, Json], time: datetime | None) -> None:
        self._turns.saw_settings(self._start(record, time))
        model = _text(payload.get("model"))
        if model is not None and model.strip():
            self._model = model
            self._family = Target("openai-responses", model, self._platform).family
        if not self._telling.is_refused(record):
            settings = {key: value for key, value in payload.items() if key not in _VOLATILE}
            self._attach(record, time, "turn_context", _canonical(settings), "after-current")

    def _world_state(self, record: SourceRecord, payload: dict[str, Json], time: datetime | None) -> None:
        if self._telling.is_refused(record):
            return
        state = payload.get("state")
        if type(state) is not dict:
            self._telling.tell(record, "odd-record", "warning", "the world state is no object")
            return
        self._world = state if payload.get("full") is True else _patched(self._world, state)
        self._attach(record, time, "world_state", _canonical(self._world), "after-current")

    def _attach(
        self, record: SourceRecord, time: datetime | None, kind: str, rendered: str | None, placement: str
    ) -> None:
        """A context entry, unless this is already in force."""
        if not rendered or self._settings.get(kind) == rendered:
            return
        self._settings[kind] = rendered
        revision = sha256(rendered.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._entries.append(
            ContextEntry(
                id=self._id(record),
                timestamp=time,
                context=ContextAttachment(
                    attachment_id=f"{kind}:{revision}",
                    epoch=1,
                    kind=kind,
                    placement=placement,
                    revision=revision,
                    rendered=rendered,
                ),
            )
        )

    # --------------------------------------------------------------------------- events

    def _event(self, record: SourceRecord, event: dict[str, Json], time: datetime | None) -> None:
        kind = _text(event.get("type")) or ""
        match kind:
            case "task_started" | "turn_started":
                self._release()
                began = _moment(event.get("started_at"), time)
                self._turns.start(_text(event.get("turn_id")), self._start(record, began))
            case "task_complete" | "turn_complete":
                failed = event.get("error") is not None
                self._end(record, event, time, "failed" if failed else "completed")
            case "turn_aborted":
                self._aborted += 1
                self._end(record, event, time, "cancelled")
            case "user_message":
                self._release()
                self._turns.saw_user(self._start(record, time))
            case "error":
                self._turns.fail()
            case "thread_rolled_back":
                self._roll_back(record, event.get("num_turns"))
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
            self._told.append((call_id, len(self._entries), event_outcome(kind, data)))

    # ----------------------------------------------------------------------------- runs

    def _end(
        self, record: SourceRecord, event: dict[str, Json], time: datetime | None, status: RunStatus
    ) -> None:
        """A run has ended."""
        self._release()
        start = self._turns.end(_text(event.get("turn_id")))
        completed = _moment(event.get("completed_at"), time)
        started = (start.time if start else None) or _moment(event.get("started_at"), None) or completed
        duration = event.get("duration_ms")
        if completed is None and started is not None and type(duration) is int:
            completed = _later(started, duration)
        if started is None or completed is None:
            self._telling.note(record, "run-without-times")
            return
        ended = _Ended(
            id=self._id(record),
            time=time,
            place=start.place if start else len(self._entries),
            started=started,
            completed=max(started, completed),
        )
        if status == "cancelled":
            self._ended = ended
        else:
            self._run(ended, "failed" if start and start.failed else status)

    def _release(self) -> None:
        """Record the aborted run that was held back: what follows is not of it."""
        if self._ended is not None:
            ended, self._ended = self._ended, None
            self._run(ended, "cancelled")

    def _run(self, ended: _Ended, status: RunStatus) -> None:
        after = bisect_left(self._messages, ended.place)
        first = self._entries[self._messages[after]].id if after < len(self._messages) else None
        self._entries.append(
            RunEntry(
                id=ended.id,
                timestamp=ended.time,
                run=Run(
                    started_at=ended.started,
                    completed_at=ended.completed,
                    first_entry_id=first,
                    status=status,
                ),
            )
        )

    def _start(self, record: SourceRecord, time: datetime | None) -> Start:
        return Start(record, time, len(self._entries))

    # -------------------------------------------------------------------------- the end

    def finish(self, source: SourceLines) -> Imported:
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
        self._release()
        leftovers = list(self._leftovers())
        told = (*source.findings, *self._telling.findings(), *leftovers)
        findings = sorted(told, key=lambda finding: finding.line or 0)
        return Imported(
            header=self._header or Header(harness=HARNESS, extra={"importedFrom": {"format": "codex"}}),
            entries=tuple(self._entries),
            places=tuple(self._places[entry.id] for entry in self._entries),
            details=tuple(self._resolved()),
            findings=tuple(findings),
            counts={
                "records": self._taken,
                "broken_lines": source.broken_lines,
                "recovered": source.recovered,
                "sidechain": 0,
                "roots": 0,
                "aborted": self._aborted,
            },
        )

    def _resolved(self) -> Iterator[Detail]:
        """The details. What an output tells itself counts where no event tells more."""
        told = [self._detail(*outcome) for outcome in self._told]
        known = {(detail.id, detail.entry) for detail in told}
        yield from told
        for outcome in self._stored:
            detail = self._detail(*outcome)
            if (detail.id, detail.entry) not in known:
                yield detail

    def _detail(self, call_id: str, place: int, outcome: ToolOutcome) -> Detail:
        """A detail with the entry of its call: the nearest earlier one of that id, else the next."""
        places = self._calls.get(call_id)
        entry = self._entries[places[max(0, bisect_left(places, place) - 1)]].id if places else None
        return Detail(id=call_id, payload=outcome_payload(outcome), entry=entry)

    def _leftovers(self) -> Iterator[Finding]:
        """What can be said of the file once it has ended."""
        for start in self._turns.unfinished():
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

    def _id(self, record: SourceRecord) -> str:
        line, made = self._made
        made = made + 1 if line == record.line else 0
        self._made = (record.line, made)
        session = self._header.id if self._header is not None else None
        made_id = entry_id(session or "", record.line, made)
        self._places[made_id] = (record.line, record.offset)
        return made_id

    def _time(self, record: SourceRecord, value: Json) -> datetime | None:
        if value is None:
            return None
        time, _ = parse_time_leniently(value)
        if time is None:
            self._telling.note(record, "unreadable-time")
        return time

    def _leave_out(self, record: SourceRecord, kind: str, time: datetime | None, about: str = "") -> None:
        """Note a record that no entry tells, and keep it if that was asked for."""
        if not self._keep_unknown:
            self._telling.note(record, "not-imported", about or kind)
        elif not self._telling.is_refused(record):
            self._telling.note(record, "kept-unknown", about or kind)
            self._entries.append(opaque_entry(self._id(record), time, "codex", kind, record.value))


# ------------------------------------------------------------------------------ documents


def _first_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The lines up to the first that is not blank, with it."""
    for line in lines:
        yield line
        if line.strip():
            return


def _document(first: list[bytes], rest: Iterator[bytes]) -> list[SourceRecord] | None:
    """The records of the first CLI's single JSON document; None if the lines are no such.

    Lines that were looked at for it are added to ``first``.
    """
    text = b"".join(first).removeprefix(b"\xef\xbb\xbf").strip()
    if text != b"{" and not text[:64].replace(b" ", b"").startswith(b'{"session":{'):
        return None
    first.extend(rest)
    text = b"".join(first).removeprefix(b"\xef\xbb\xbf").strip()
    try:
        value = _json.decode(text)
    except ValueError:
        return None
    if (
        type(value) is not dict
        or type(value.get("session")) is not dict
        or type(value.get("items")) is not list
    ):
        return None
    values = (value["session"], *value["items"])
    doubtful = is_doubtful(text)
    return [
        SourceRecord(value=item, line=1, offset=0, is_doubtful=doubtful)
        for item in values
        if type(item) is dict
    ]


# --------------------------------------------------------------------------------- values


def _text(value: Json) -> str | None:
    return value if type(value) is str and value else None


def _canonical(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _patched(value: Json, patch: Json) -> Json:
    """A value with a merge patch put over it; neither is changed. Null takes a key away."""
    if type(patch) is not dict:
        return patch
    merged = dict(value) if type(value) is dict else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = _patched(merged.get(key), change)
    return merged


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(value: Json, recorded: datetime | None) -> datetime | None:
    """When something was: a time that an event gives in seconds, or the time of its record.

    The record's time is finer, but after a fork or a resume it is the time of the copy.
    """
    time: datetime | None = None
    if type(value) is str:
        time, _ = parse_time_leniently(value)
    elif type(value) in (int, float) and value:
        try:
            time = _EPOCH + timedelta(seconds=value if abs(value) < 1e11 else value / 1000)
        except (OverflowError, ValueError):
            time = None
    if time is None or (recorded is not None and abs(recorded - time) < timedelta(seconds=2)):
        return recorded
    return time


def _later(time: datetime, milliseconds: int) -> datetime | None:
    try:
        return time + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def is_carried(item: Item) -> bool:
    """Whether a user message is one that a person wrote."""
    text = items.text(item).lstrip().lower()
    return text != "" and not text.startswith(_MADE_MESSAGES)
