"""A log as a session of Claude Code, which goes on with it.

Each block of an answer is a record of its own, each output another; all of them follow one another
in one line from the root, or from the newest compaction. That was compared with what
Claude Code 2.1.332 sends of such a session (``docs/converting.md``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from .. import items
from ..codec import read_outcome
from ..entries import (
    Compaction,
    ContextEntry,
    Entry,
    Header,
    Item,
    Json,
    MessageEntry,
    RunEntry,
    ToolOutcome,
)
from ..families import Target
from ..importers._claude_outcomes import told_payload
from ..importers._claude_tally import INTERRUPTED
from ..items.shapes import blocks_of, is_from_model
from . import Exported, ExportSource
from ._claude_answers import API, Answers
from ._claude_compactions import cleared_calls, repeated_messages, summary_contents
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

__all__ = ["VERSION", "export_claude_code", "target_of_claude"]

VERSION: Final = "2.1.145"
"""What records name where the session was none of Claude Code's: the newest version whose files were read."""

_ANTHROPIC: Final = ("direct", "bedrock", "vertex")


def export_claude_code(source: ExportSource) -> Exported:
    """A log as a session that Claude Code opens; a piece for each line.

    ``details`` of its own calls go beside their outputs; those of others are told to be lost.

    Raises:
        ContextError: The API would refuse the conversation, whatever is done.
    """
    writer = _Writer(source.header or Header(), source.entries, source.details)
    return writer.write()


def target_of_claude(entries: Sequence[Entry]) -> Target:
    """Where Claude Code sends a log: a model of Anthropic's reads the thinking of all of those.

    What another server of this API signed is read where no model of Anthropic's spoke.
    (https://platform.claude.com/docs/en/build-with-claude/extended-thinking says that signatures
    are good on every platform; 2026-12-01.)
    """
    families = families_of(entries, API)
    own = [family for family in families if family.split("/")[1] in _ANTHROPIC]
    model = likely_model(entries, API)
    return Target(API, model or "any", reads=frozenset(own or families[-1:]))


class _Writer:
    """The records of the file so far."""

    def __init__(self, header: Header, entries: Sequence[Entry], details: Details) -> None:
        self._header = header
        self._entries = entries
        self._details = details
        self._changes = Changes()
        self._times = Times(header, entries, self._changes)
        self._session = session_uuid(header, entries)
        self._records: list[dict[str, Any]] = []
        self._taken: set[str] = set()
        self._tip: str | None = None  # the record that the next one follows
        self._places: list[tuple[int, str]] = []  # of live records: where they come from, and their ids
        self._answers: dict[str, str] = {}  # the record of the call that each record answers
        self._callers: dict[str, tuple[str, str]] = {}  # by call id: the entry, and the record
        self._settings: dict[str, str] = {}
        self._turn_is_open = False
        self._ended = ""  # how the last turn ended, where a message says so and no run has yet

    def write(self) -> Exported:
        """The whole file."""
        source = source_of(self._header)
        version, branch = source.get("version"), source.get("gitBranch")
        git = source.get("git")
        if type(git) is dict:
            branch = git.get("branch")
        self._settings = {
            "cwd": self._header.cwd or "/",
            "version": version if type(version) is str else VERSION,
            "gitBranch": branch if type(branch) is str else "",
        }
        tell_of_session(self._changes, self._header, self._session, self._details, "Claude Code")
        conversation = Conversation(self._entries, target_of_claude(self._entries), self._details, apart=True)
        self._answers_of = Answers(self._session, conversation.responses, self._changes)
        parts = list(conversation)
        self._changes.made.extend(conversation.changes)
        last = self._last_blocks(parts)
        for one in parts:
            match one:
                case Row():
                    self._row(one, is_last=id(one) in last)
                case Aside():
                    self._aside(one)
                case Boundary():
                    self._compact(one)
                case RunEntry():
                    self._run(one)
                case ContextEntry():
                    self._attach(one)
                case _:
                    why = f"Claude Code has no record for an entry of the type {one.type!r}"
                    self._changes.tell("left-out", "entry-type", why, one.id)
        self._end_turn("")
        self._title(source)
        if self._records:
            first = self._records[0]
            self._records[0] = {**first, "convertedFrom": origin_of(self._header)}
        return exported(self._records, self._changes)

    @staticmethod
    def _last_blocks(parts: Sequence[object]) -> set[int]:
        """The last row of each response: the stop reason stands there."""
        last = {row.response: id(row) for row in parts if isinstance(row, Row) and row.response is not None}
        return set(last.values())

    # ------------------------------------------------------------------------- records

    def _record(
        self, kind: str, entry: Entry | None, seed: str, *, root: bool = False, **members: Any
    ) -> dict[str, Any]:
        """Put a record into the file, after the one before it."""
        record = {
            "parentUuid": None if root else self._tip,
            "isSidechain": False,
            "userType": "external",
            **self._settings,
            "sessionId": self._session,
            "type": kind,
            **members,
            "uuid": self._uuid(entry, seed),
            "timestamp": self._times.of(entry),
        }
        self._records.append(record)
        self._tip = record["uuid"]
        return record

    def _uuid(self, entry: Entry | None, seed: str) -> str:
        """An id for a record; it begins with the id of its entry, where that has the form of our own."""
        named = "" if entry is None else entry.id
        made = made_uuid(self._session, named, seed)
        if len(named) == 24 and not set(named) - set("0123456789abcdef"):
            digits = named + made.replace("-", "")[24:]
            whole = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
            made = made if whole[:28] in self._taken else whole
            self._taken.add(whole[:28])
        number = 0
        while made in self._taken:
            number += 1
            made = made_uuid(self._session, named, seed, str(number))
        self._taken.add(made)
        return made

    # ------------------------------------------------------------------------ messages

    def _row(self, row: Row, *, is_last: bool) -> None:
        if is_from_model(row.item) and not items.tool_outputs(row.item):
            self._answer(row, is_last=is_last)
            return
        content = row.item.get("content")
        outputs = {part.place: part for part in items.tool_outputs(row.item)}
        if not outputs:
            self._user(row, content, row.sources[0] if row.sources else None, 0)
            return
        rest: list[Any] = []
        for place, block in enumerate(blocks_of(row.item)):
            if place not in outputs:
                rest.append(block)
                continue
            self._output(row, block, outputs[place].id or "", place)
        if rest:
            self._user(row, rest, row.sources[0] if row.sources else None, len(outputs))

    def _user(self, row: Row, content: Any, entry: MessageEntry | None, place: int) -> None:
        record = self._record("user", entry, f"user {place}", message={"role": "user", "content": content})
        self._places.append((row.place, record["uuid"]))
        if _interrupts(content):
            self._end_turn("cancelled")
        else:
            self._end_turn("")
            self._turn_is_open = True
        if entry is not None:
            self._tell_marks(entry)

    def _end_turn(self, how: str) -> None:
        """A message says that a turn has ended, or, with ``""``, that another one begins."""
        if self._ended:
            why = f"a turn is told to have ended as {self._ended}: its messages say so"
            self._changes.tell("added", "run", why)
        self._ended = how if self._turn_is_open else ""
        self._turn_is_open = False

    def _tell_marks(self, entry: MessageEntry) -> None:
        if entry.stand_in:
            self._changes.tell("rewritten", "stand-in", "that the output was made up is not told", entry.id)
        if entry.invocation is not None:
            self._changes.tell("rewritten", "invocation", "the template of the message is not told", entry.id)

    def _output(self, row: Row, block: Mapping[str, Any], call_id: str, place: int) -> None:
        entry = row.sources[min(place, len(row.sources) - 1)] if row.sources else None
        called, caller = self._callers.get(call_id, ("", ""))
        members: dict[str, Any] = {"message": {"role": "user", "content": [dict(block)]}}
        payload = None if row.made else self._payload(entry, place, called)
        if payload is not None:
            beside = self._beside(payload, block, entry)
            if beside is not None:
                members["toolUseResult"] = beside
        if caller:
            members["sourceToolAssistantUUID"] = caller
        record = self._record("user", None if row.made else entry, f"output {place} {call_id}", **members)
        self._answers[record["uuid"]] = caller
        self._places.append((row.place, record["uuid"]))
        if entry is not None and not row.made:
            self._tell_marks(entry)

    def _payload(self, entry: MessageEntry | None, place: int, called: str) -> Json:
        """What the sidecar has of the call that an output answers, under the id it has in the log."""
        parts = () if entry is None else items.tool_outputs(entry.message)
        if not parts:
            return None
        call_id = parts[min(place, len(parts) - 1)].id
        if call_id is None:
            return None
        return self._details.get((call_id, called), self._details.get((call_id, None)))

    def _beside(self, payload: Json, block: Mapping[str, Any], entry: MessageEntry | None) -> Json:
        outcome = read_outcome(payload)
        if outcome is None:
            return None
        beside = outcome.data if outcome.data_kind == "toolUseResult" else None
        again = read_outcome(told_payload(block, beside))
        if outcome != again and (again is not None or outcome != ToolOutcome(status="success")):
            what = "what is known of how the call ended, beyond its output, is not told"
            self._changes.tell("left-out", "outcome", what, None if entry is None else entry.id)
        return beside

    def _answer(self, row: Row, *, is_last: bool) -> None:
        first = row.sources[0] if row.sources else None
        message, request, stop = self._answers_of.head(row)
        blocks = blocks_of(row.item)
        for place, block in enumerate(blocks):
            is_end = is_last and place == len(blocks) - 1
            told = {**message, "content": [block], "stop_reason": stop if is_end else None}
            source = first if place == 0 else None
            made = self._record("assistant", source, f"{row.place} {place}", message=told, requestId=request)
            self._places.append((row.place, made["uuid"]))
            call_id = block.get("id")
            if block.get("type") == "tool_use" and type(call_id) is str:
                holder = row.sources[min(place, len(row.sources) - 1)] if row.sources else None
                self._callers[call_id] = (self._holder(row, call_id, holder), made["uuid"])

    @staticmethod
    def _holder(row: Row, call_id: str, other: MessageEntry | None) -> str:
        """The entry that holds a call."""
        for entry in row.sources:
            if any(call.id == call_id for call in items.tool_calls(entry.message)):
                return entry.id
        return "" if other is None else other.id

    def _aside(self, aside: Aside) -> None:
        """What was broken off: an answer goes as one that is shown and never sent."""
        for row in aside.rows:
            if not is_from_model(row.item) or items.tool_outputs(row.item):
                continue
            content = [block for block in blocks_of(row.item) if block.get("type") == "text"]
            if not content:
                continue
            first = row.sources[0]
            message = {
                "id": made_uuid(self._session, "aside", first.id),
                "type": "message",
                "role": "assistant",
                "model": "<synthetic>",
                "content": content,
                "stop_reason": "stop_sequence",
                "stop_sequence": "",
            }
            self._record("assistant", first, "aside", message=message, isApiErrorMessage=True)
            if self._turn_is_open:
                self._end_turn("failed")
        for entry in aside.entries:
            why = "it was broken off or left aside: of that, text of the model alone is kept, and never sent"
            self._changes.tell("left-out", "interrupted", why, entry.id)

    # --------------------------------------------------------------------- compactions

    def _compact(self, boundary: Boundary) -> None:
        entry = boundary.entry
        compaction = entry.compaction
        called = cleared_calls(self._entries, entry)
        if called:
            told: dict[str, Json] = {"trigger": "auto", "preTokens": compaction.tokens_before}
            told |= {
                "tokensSaved": max(0, compaction.tokens_before - compaction.tokens_after),
                "compactedToolIds": called,
                "clearedAttachmentUUIDs": [],
            }
            self._record(
                "system",
                entry,
                "clear",
                subtype="microcompact_boundary",
                content="Context microcompacted",
                isMeta=False,
                level="info",
                microcompactMetadata=told,
            )
            return
        repeated = repeated_messages(self._entries, entry)
        kept = self._kept(boundary) if repeated is None else self._records_of(repeated.places)
        told = {"trigger": "auto", "preTokens": compaction.tokens_before}
        if compaction.tokens_after:
            told["postTokens"] = compaction.tokens_after
        mark = self._record(
            "system",
            entry,
            "boundary",
            root=True,
            logicalParentUuid=self._tip,
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            compactMetadata=told,
        )
        head = boundary.head if repeated is None else repeated.summaries
        contents, is_same = summary_contents(head)
        for place, content in enumerate(contents):
            self._record(
                "user",
                None,
                f"{entry.id} summary {place}",
                isCompactSummary=True,
                isVisibleInTranscriptOnly=True,
                message={"role": "user", "content": content},
            )
        if kept:
            anchor = mark["uuid"] if repeated is not None and repeated.is_before else self._tip
            told["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": anchor, "tailUuid": kept[-1]}
            told["preservedMessages"] = {"anchorUuid": anchor, "uuids": kept, "allUuids": kept}
        mark["compactMetadata"] = told
        if not is_same:
            why = "calls and outputs that stand for older messages go as text of the summary"
            self._changes.tell("rewritten", "replacement", why, entry.id)
        self._tell_of_compaction(entry.id, compaction, head)

    def _tell_of_compaction(self, name: str, compaction: Compaction, head: Sequence[Item]) -> None:
        said = [items.text(item) for item in head]
        if "\n\n".join(said) != compaction.summary:
            why = "the summary goes in the words in which a model is told of it"
            self._changes.tell("rewritten", "summary", why, name)
        if compaction.read_files or compaction.modified_files:
            self._changes.tell("left-out", "files", "which files were read and modified is not told", name)
        if compaction.usage.total_tokens:
            self._changes.tell("left-out", "usage", "what the summary took is not told", name)

    def _kept(self, boundary: Boundary) -> list[str]:
        """The records that a compaction keeps."""
        first = boundary.entry.compaction.first_kept_entry_id
        start = next((place for place, one in enumerate(self._entries) if one.id == first), None)
        if not first or start is None or not isinstance(self._entries[start], MessageEntry):
            return []
        kept = [uuid for place, uuid in self._places if place >= start]
        # An output whose call is not kept goes with that.
        calls = {*kept}
        return [uuid for uuid in kept if self._answers.get(uuid, uuid) in calls]

    def _records_of(self, places: Collection[int]) -> list[str]:
        """The records of some entries, by their places."""
        return [uuid for place, uuid in self._places if place in places]

    # ------------------------------------------------------------------ what stands beside

    def _run(self, entry: RunEntry) -> None:
        run = entry.run
        if run.status == self._ended:
            self._ended = ""  # a message says so already
            return
        if run.status in ("completed", None) and self._turn_is_open:
            lasted = (run.completed_at - run.started_at) // timedelta(milliseconds=1)
            self._record("system", entry, "run", subtype="turn_duration", durationMs=lasted, isMeta=False)
            self._turn_is_open = False
            return
        why = "that a turn ended, and how, is told by its messages alone"
        self._changes.tell("left-out", "run", why, entry.id)

    def _attach(self, entry: ContextEntry) -> None:
        context = entry.context
        try:
            value = json.loads(context.rendered)
        except ValueError:
            value = None
        if context.kind == "settings" and type(value) is dict:
            told = {key: text for key, text in value.items() if type(text) is str}
            self._settings |= told
            return
        kind = context.kind.removeprefix("attachment/")
        if kind == context.kind:
            why = f"Claude Code has no record for {context.kind}: it has its own"
            self._changes.tell("left-out", "context", why, entry.id)
            return
        attachment: dict[str, Json] = {"type": kind}
        attachment |= value if type(value) is dict else {"content": context.rendered}
        if context.path is not None and "path" not in attachment:
            attachment.setdefault("filename", context.path)
        self._record("attachment", entry, "attachment", attachment=attachment)

    def _title(self, source: Mapping[str, Json]) -> None:
        title = source.get("title") or source.get("name")
        if type(title) is str and title:
            self._records.append({"type": "custom-title", "customTitle": title, "sessionId": self._session})


def _interrupts(content: Any) -> bool:
    """Whether a message says that the user broke a turn off."""
    texts = [content] if type(content) is str else [block.get("text") for block in content]
    return any(type(text) is str and text.startswith(INTERRUPTED) for text in texts)
