"""A log as a rollout of the OpenAI Codex CLI, which goes on with it.

Each item is a record, and what a person is to see of it an event beside it; a compaction holds
all that stands after it. That was compared with what Codex 0.171.0 sends of such a
session (``docs/converting.md``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .. import items
from ..codec import read_outcome
from ..entries import ContextEntry, Entry, Header, Item, Json, MessageEntry, RunEntry, ToolOutcome
from ..families import Target, target_of
from ..importers._codex_outcomes import event_outcome, told_outcome
from ..importers.codex import is_carried
from . import Exported, ExportSource
from ._codex_items import Running, echo_of, stored_item
from ._conversation import Aside, Boundary, Conversation, Details, Row, likely_model
from ._resuming import (
    Changes,
    Times,
    exported,
    families_of,
    made_uuid,
    origin_of,
    session_uuid,
    source_of,
    tell_of_session,
)

__all__ = ["VERSION", "export_codex", "target_of_codex"]

VERSION: Final = "0.146.0"
"""What the header names where the session was none of Codex's: the newest version whose files were read."""

_API: Final = "openai-responses"
_ORIGINATOR: Final = "transcript_log"
_KEPT: Final = ("git", "thread_source", "history_mode")
_UNKNOWN: Final = "unknown"


def export_codex(source: ExportSource) -> Exported:
    """A log as a rollout that Codex opens; a piece for each line.

    What events told of the ends of calls goes as those events again; other details are told
    to be lost.

    Raises:
        ContextError: The API would refuse the conversation, whatever is done.
    """
    return _Writer(source.header or Header(), source.entries, source.details).write()


def target_of_codex(entries: Sequence[Entry]) -> Target:
    """Where Codex sends a log: it sends the reasoning of all models of one provider.

    The provider is that of the last family that the log names of this API.
    """
    families = families_of(entries, _API)
    last = target_of(families[-1]) if families else None
    platform = "direct" if last is None else last.platform
    reads = frozenset(family for family in families if family.split("/")[1] == platform)
    model = likely_model(entries, _API) if last is None else last.model
    return Target(_API, model or "any", platform, reads=reads)


class _Writer:
    """The records of the file so far."""

    def __init__(self, header: Header, entries: Sequence[Entry], details: Details) -> None:
        self._header = header
        self._entries = entries
        self._details = details
        self._changes = Changes()
        self._times = Times(header, entries, self._changes)
        self._session = session_uuid(header, entries)
        self._target = target_of_codex(entries)
        self._records: list[dict[str, Any]] = []
        self._running = Running()
        self._model = ""  # in force
        self._cwd = header.cwd or "/"
        self._is_untold = False  # a response of this turn has no usage
        self._starts: dict[str, list[str]] = {}  # the turns that begin with each entry
        self._callers: dict[str, str] = {}  # by call id: the entry
        self._is_taken_back = False  # what came last was taken back

    def write(self) -> Exported:
        """The whole file."""
        self._begin()
        for entry in self._entries:
            if isinstance(entry, RunEntry) and entry.run.first_entry_id is not None:
                self._starts.setdefault(entry.run.first_entry_id, []).append(entry.id)
        runs = {entry.id: entry for entry in self._entries if isinstance(entry, RunEntry)}
        conversation = Conversation(self._entries, self._target, self._details, apart=False)
        self._conversation = conversation
        parts = list(conversation)
        self._changes.made.extend(conversation.changes)
        last = {row.response: id(row) for row in parts if isinstance(row, Row) and row.response is not None}
        ends = set(last.values())
        for one in parts:
            match one:
                case Row():
                    self._start(one, runs)
                    self._row(one, is_last=id(one) in ends)
                case Aside():
                    self._aside(one)
                case Boundary():
                    self._compact(one)
                case RunEntry():
                    self._run(one)
                case ContextEntry():
                    self._attach(one)
                case _:
                    why = f"Codex has no record for an entry of the type {one.type!r}"
                    self._changes.tell("left-out", "entry-type", why, one.id)
        return exported(self._records, self._changes)

    def _begin(self) -> None:
        header = self._header
        source = source_of(header)
        tell_of_session(self._changes, header, self._session, self._details, "Codex")
        version, branch = source.get("cli_version"), source.get("gitBranch")
        platform = self._target.platform
        meta: dict[str, Json] = {
            "id": self._session,
            "timestamp": self._times.of(None),
            "cwd": self._cwd,
            "originator": _ORIGINATOR,
            "cli_version": version if type(version) is str else VERSION,
            "source": "cli",
            "converted_from": origin_of(header),
        }
        if families_of(self._entries, _API):
            # Codex refuses to go on with another provider than this.
            meta["model_provider"] = "openai" if platform == "direct" else platform
        if type(branch) is str and branch:
            meta["git"] = {"branch": branch}
        meta |= {
            key: source[key] for key in _KEPT if source.get(key) is not None and source["format"] == "codex"
        }
        for entry in self._entries:
            if isinstance(entry, ContextEntry) and entry.context.kind == "base_instructions":
                meta["base_instructions"] = {"text": entry.context.rendered}
                break
        self._records.append({"timestamp": self._times.of(None), "type": "session_meta", "payload": meta})

    # ------------------------------------------------------------------------- records

    def _record(self, kind: str, payload: Mapping[str, Json], entry: Entry | None) -> None:
        self._records.append({"timestamp": self._times.of(entry), "type": kind, "payload": payload})

    def _event(self, payload: Mapping[str, Json], time: Any = None) -> None:
        told = self._times.of(None) if time is None else self._times.text(time)
        self._records.append({"timestamp": told, "type": "event_msg", "payload": payload})

    def _turn(self, name: str) -> str:
        return made_uuid(self._session, "turn", name)

    def _start(self, row: Row, runs: Mapping[str, RunEntry]) -> None:
        """Mark the turns that begin with a row."""
        for source in row.sources:
            for name in self._starts.pop(source.id, ()):
                started = {"type": "task_started", "turn_id": self._turn(name)}
                self._event(started, runs[name].run.started_at)
                self._is_taken_back = False

    def _go_on(self) -> None:
        """Mark that what comes now is not of a turn that was taken back."""
        if self._is_taken_back:
            self._is_taken_back = False
            self._event({"type": "task_started", "turn_id": self._turn(f"after {len(self._records)}")})

    # ------------------------------------------------------------------------ messages

    def _row(self, row: Row, *, is_last: bool) -> None:
        self._go_on()
        first = row.sources[0] if row.sources else None
        item = self._stored(row.item, first)
        if row.response is not None:
            self._models(row, first)
        elif not items.tool_outputs(row.item):
            self._is_untold = False
        if item is not None:
            self._ends(row, item)
            self._record("response_item", item, None if row.made else first)
            for source in row.sources:
                self._callers |= {call.id: source.id for call in items.tool_calls(source.message) if call.id}
            if (echo := echo_of(item)) is not None:
                self._event(echo)
        if first is not None and not row.made:
            self._tell_marks(first)
        if is_last and row.response is not None:
            self._count(row.response, first)

    def _stored(self, item: Item, entry: MessageEntry | None) -> dict[str, Any] | None:
        def tell(kind: Any, rule: str, message: str) -> None:
            self._changes.tell(kind, rule, message, None if entry is None else entry.id)

        return stored_item(item, tell)

    def _tell_marks(self, entry: MessageEntry) -> None:
        if entry.stand_in:
            self._changes.tell("rewritten", "stand-in", "that the output was made up is not told", entry.id)
        if entry.invocation is not None:
            self._changes.tell("rewritten", "invocation", "the template of the message is not told", entry.id)

    def _models(self, row: Row, first: MessageEntry | None) -> None:
        """Say which model answers, where that is another one than before."""
        record = self._conversation.responses.get(row.response or 0)
        family = None if first is None else first.family
        target = None if family is None or not family.startswith(f"{_API}/") else target_of(family)
        if target is not None and target.account:
            self._changes.once("rewritten", "account", f"that the account was {target.account!r} is not told")
        model = (target.model if target is not None else None) or (
            record.model if record is not None else None
        )
        if model and model != self._model:
            self._model = model
            self._settings()
        if record is not None and (record.id or record.finish_reason):
            self._changes.once(
                "left-out", "response", "the ids of responses, and why they ended, are not told"
            )

    def _settings(self) -> None:
        """Settings that a log of another agent does not tell."""
        told = {
            "cwd": self._cwd,
            "approval_policy": "on-request",
            "sandbox_policy": {"type": "read-only"},
            "model": self._model or _UNKNOWN,
            "summary": "auto",
        }
        self._changes.once("added", "settings", "the settings of turns are told: the folder and the model")
        self._record("turn_context", told, None)

    def _count(self, response: int, first: MessageEntry | None) -> None:
        """Tell the tokens of a response. Codex tells them by their place alone."""
        record = self._conversation.responses.get(response)
        usage = None if record is None else record.usage
        if usage is None or not (usage.input + usage.cache_read + usage.cache_write + usage.output):
            self._is_untold = True
            return
        if usage.cost.total:
            self._changes.once("left-out", "cost", "what responses cost is not told")
        if self._is_untold:
            why = "the tokens of the response are not told: they would pass for those of one before it"
            self._changes.tell("left-out", "usage", why, None if first is None else first.id)
        else:
            self._event(self._running.add(usage))

    def _ends(self, row: Row, item: Item) -> None:
        """What the sidecar tells of the calls that an item answers, as the events that told it."""
        if row.made or not row.sources:
            return
        entry = row.sources[0]
        parts = items.tool_outputs(entry.message)
        names = [part.id for part in parts]
        for place, part in enumerate(items.tool_outputs(item)):
            name = part.id if part.id in names or not names else names[min(place, len(names) - 1)]
            if name is None:
                continue
            payload = self._details.get((name, self._holder(name)), self._details.get((name, None)))
            outcome = read_outcome(payload)
            if (
                outcome is None
                or outcome == told_outcome(part.content)
                or outcome == ToolOutcome(status="success")
            ):
                continue
            data, kind = outcome.data, outcome.data_kind or ""
            if type(data) is dict and outcome == event_outcome(kind, data) and data.get("type") == kind:
                self._event({**data, "call_id": part.id})
            else:
                why = "what is known of how the call ended, beyond its output, is not told"
                self._changes.tell("left-out", "outcome", why, entry.id)

    def _holder(self, call_id: str) -> str | None:
        """The entry that holds a call, as far as that is known so far."""
        return self._callers.get(call_id)

    # ---------------------------------------------------------------------- what was left

    def _aside(self, aside: Aside) -> None:
        """What was left aside: said, and taken back, where it begins with the user's own words."""
        said = [self._stored(row.item, None) for row in aside.rows]
        kept = [item for item in said if item is not None]
        if not kept or items.role(kept[0]) != "user" or not is_carried(kept[0]):
            for entry in aside.entries:
                why = "it was broken off or left aside: it is not told"
                self._changes.tell("left-out", "interrupted", why, entry.id)
            return
        turns = sum(items.is_user_turn(item) and is_carried(item) for item in kept)
        first = aside.rows[0].sources[0]
        turn = {"turn_id": self._turn(first.id)}
        self._times.of(first)
        self._event({"type": "task_started", **turn})
        for row, item in zip(aside.rows, said, strict=True):
            if item is not None:
                self._record("response_item", item, row.sources[0])
                if (echo := echo_of(item)) is not None:
                    self._event(echo)
        self._event({"type": "task_complete", **turn, "last_agent_message": None})
        self._event({"type": "thread_rolled_back", "num_turns": turns})
        self._is_taken_back = True
        self._changes.tell("added", "run", "what was left aside goes as a turn that was taken back", first.id)

    # --------------------------------------------------------------------- compactions

    def _compact(self, boundary: Boundary) -> None:
        self._go_on()
        entry = boundary.entry
        compaction = entry.compaction
        standing = [self._stored(item, None) for item in boundary.standing]
        history = [item for item in standing if item is not None]
        self._is_untold = False
        payload = {"message": compaction.summary, "replacement_history": history}
        self._record("compacted", payload, entry)
        self._event({"type": "context_compacted"})
        if compaction.first_kept_entry_id:
            why = "what is kept stands in the replacement"
            self._changes.tell("rewritten", "first-kept", why, entry.id)
        elif not compaction.replacement:
            why = "the summary stands in the replacement too, in the words in which a model is told of it"
            self._changes.tell("rewritten", "summary", why, entry.id)
        if compaction.tokens_before or compaction.tokens_after or compaction.usage.total_tokens:
            self._changes.tell("left-out", "usage", "what the summary took, and saved, is not told", entry.id)
        if compaction.read_files or compaction.modified_files:
            self._changes.tell(
                "left-out", "files", "which files were read and modified is not told", entry.id
            )

    # ------------------------------------------------------------------ what stands beside

    def _run(self, entry: RunEntry) -> None:
        run = entry.run
        turn = {"turn_id": self._turn(entry.id)}
        first = run.first_entry_id
        if first is None or first in self._starts:
            self._starts.pop(first or "", None)
            self._event({"type": "task_started", **turn}, run.started_at)
        times = {"completed_at": int(run.completed_at.timestamp())}
        if run.status == "cancelled":
            self._event({"type": "turn_aborted", **turn, "reason": "interrupted", **times}, run.completed_at)
        else:
            error = {"error": {"message": "the turn failed"}} if run.status == "failed" else {}
            told = {"type": "task_complete", **turn, "last_agent_message": None, **times, **error}
            self._event(told, run.completed_at)
        if run.status is None:
            self._changes.tell("rewritten", "run", "the turn is told to have completed", entry.id)

    def _attach(self, entry: ContextEntry) -> None:
        context = entry.context
        if context.kind == "base_instructions":
            return
        value: Json = None
        if context.kind in ("turn_context", "world_state"):
            try:
                value = json.loads(context.rendered)
            except ValueError:
                value = None
        if type(value) is not dict:
            why = f"Codex has no record for {context.kind}: it has its own"
            self._changes.tell("left-out", "context", why, entry.id)
        elif context.kind == "world_state":
            self._record("world_state", {"full": True, "state": value}, entry)
        else:
            model, cwd = value.get("model"), value.get("cwd")
            self._model = model if type(model) is str else self._model
            self._cwd = cwd if type(cwd) is str else self._cwd
            self._record("turn_context", value, entry)
