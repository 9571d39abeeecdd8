"""The entries of one conversation of a Claude Code session, made of its live records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from .. import items
from .._twins import twin_of
from ..entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Item,
    Json,
    MessageEntry,
    ResponseRecord,
    RunEntry,
    RunStatus,
)
from ..response import FinishReason, normalize_finish_reason
from ..response.finish import settle
from ..response.usage import recorded_anthropic
from ..store import Place
from ._claude_boundaries import Boundary
from ._claude_families import family_of, provider_of
from ._claude_ids import Ids
from ._claude_kept import Standing, cleared, edited, kept_by, summary_items
from ._claude_nodes import (
    ANSWERS,
    FAILED,
    INTERRUPTS,
    META,
    PLACEHOLDER,
    SUMMARY,
    VIRTUAL,
    Group,
    Node,
    as_text,
    is_boundary,
)
from ._claude_outcomes import Told, told_payload
from ._claude_runs import Turn
from ._claude_tally import INTERRUPTED
from ._claude_tree import Tree
from ._telling import Telling

__all__ = ["Writer"]


class Writer:
    """Makes entries of the live records, in the order of the file.

    Attributes:
        entries: What was made so far.
        places: Where the record of each stands.
        details: For the sidecar.
        agents: The call that each subagent carried out, and the record of its output, by the
            subagent's id.
    """

    def __init__(
        self,
        tree: Tree,
        telling: Telling,
        *,
        session: str | None,
        uuids: Mapping[str, Node],
        replacements: Mapping[str, str],
    ) -> None:
        """Begin.

        Args:
            tree: The records.
            telling: Is told of what is not taken over.
            session: For the ids of entries whose record has no UUID.
            uuids: All records of the file.
            replacements: What outputs were sent as, by call id.
        """
        self.entries: list[Entry] = []
        self.places: list[Place] = []
        self.details: list[Detail] = []
        self.agents: dict[str, tuple[str, Node]] = {}
        self._tree = tree
        self._telling = telling
        self._uuids = uuids
        self._replacements = replacements
        self._ids = Ids(session or "")
        self._calls: dict[str, str] = {}  # the entry that holds the call, by its id
        self._settings: Mapping[str, str] | None = None
        self._attached: dict[tuple[str, str | None], str] = {}  # what is in force
        self._written: set[str] = set()  # the marks of the compactions that stand among the entries
        self._summaries = {
            node.uuid: boundary for boundary in tree.boundaries.values() for node in boundary.summaries
        }
        self._turn = Turn()
        self._stopped: Node | None = None  # a note that the turn under way has ended
        self._finishes: dict[tuple[str | None, bool], str | None] = {}

    def write(self) -> None:
        """Make all of them."""
        for node in self._tree.live():
            kind = node.kind
            if kind == "assistant":
                self._write_answer(node)
            elif kind == "user":
                self._write_user(node)
            elif node.extra is not None:
                if kind == "system":
                    self._write_note(node)
                else:
                    self._write_attachment(node)
        self._end_stopped()
        for place, detail in enumerate(self.details):
            if detail.entry is None and detail.id in self._calls:
                self.details[place] = replace(detail, entry=self._calls[detail.id])

    # ------------------------------------------------------------------------- messages

    def _write_user(self, node: Node) -> None:
        if node.settings is not self._settings and node.settings is not None:
            self._set(node)
        flags = node.flags
        message = node.message
        if flags & SUMMARY and (boundary := self._summaries.get(node.uuid)) is not None:
            self._compact(boundary, node)
            return
        if flags & VIRTUAL:
            self._telling.note(node, "not-imported", "a message that was only shown")
            return
        content = None if message is None else message.get("content")
        if message is None or (type(content) is not str and type(content) is not list):
            return
        item: Item = message
        if len(message) != 2 or message.get("role") != "user":
            item = {"role": "user", "content": content}
        if flags & ANSWERS:
            item = self._with_outcomes(node, item)
        time = node.time
        begins = not flags & (ANSWERS | META) and (not flags & INTERRUPTS or _says_more(node))
        if begins and not flags & INTERRUPTS:
            self._end_stopped()
        made = self._add_message(node, time, item)
        if flags & INTERRUPTS:
            self._end_run(node, time, "cancelled")
        if begins:
            self._turn.begin(made, time)

    def _with_outcomes(self, node: Node, item: Item) -> Item:
        """A message of outputs as it was sent; what is known beside goes to the details."""
        told: list[Told] = node.extra
        if self._replacements and not self._replacements.keys().isdisjoint(node.answered):
            item = self._replaced(node, item, told)
        for call, payload, agent in told:
            if payload is not None:
                detail: Detail = _Detail(call, payload, self._calls.get(call))
                detail.__class__ = Detail
                self.details.append(detail)
            if agent is not None:
                self.agents[agent] = (call, node)
        return item

    def _replaced(self, node: Node, item: Item, told: list[Told]) -> Item:
        """Outputs as they were sent; those that tell nothing of themselves else go to the details."""
        known = {one.call for one in told if one.payload is not None}
        blocks = []
        for block in item["content"]:
            call = as_text(block.get("tool_use_id")) if type(block) is dict else None
            text = None if call is None else self._replacements.get(call)
            if call is None or text is None or block.get("content") == text:
                blocks.append(block)
                continue
            blocks.append({**block, "content": text})
            self._telling.note(node, "output-replaced")
            if call not in known:
                told.append(Told(call, told_payload(block, block.get("content")), None))
        return {**item, "content": blocks}

    def _write_answer(self, node: Node) -> None:
        flags = node.flags
        group = node.group
        if flags & VIRTUAL:
            self._telling.note(node, "not-imported", "a message that was only shown")
            return
        if group is None or group.is_written:
            return
        if flags & (PLACEHOLDER | FAILED):
            self._write_placeholder(node)
            return
        group.is_written = True
        content = group.content
        if content is None:
            return
        family = family_of(group.model, group.id)
        made = self._add_message(
            node,
            node.time,
            {"role": "assistant", "content": content},
            family,
            self._response(group),
        )
        for member in group.nodes:
            member.entry = made
        for call in group.calls:
            self._calls[call] = made

    def _response(self, group: Group) -> ResponseRecord:
        key = (group.stop, bool(group.calls))
        if key not in self._finishes:
            self._finishes[key] = _finish(*key)
        usage = None if group.usage is None else recorded_anthropic(group.usage)
        provider = provider_of(group.model, group.id)
        made: ResponseRecord = _Response(group.id, provider, group.model, self._finishes[key], usage, None)
        made.__class__ = ResponseRecord
        return made

    def _write_placeholder(self, node: Node) -> None:
        """What stands where an answer would: history, and never sent."""
        content = None if node.message is None else node.message.get("content")
        time = node.time
        if type(content) is str or type(content) is list:
            self._add_message(node, time, {"role": "assistant", "content": content}, None, None, True)
        if node.flags & FAILED:
            self._end_run(node, time, "failed")

    def _add_message(
        self,
        node: Node,
        time: datetime | None,
        item: Item,
        family: str | None = None,
        response: ResponseRecord | None = None,
        interrupted: bool = False,
    ) -> str:
        made = node.entry = self._ids.of(node)
        entry: MessageEntry = _Message(made, time, item, family, response, None, False, interrupted)
        entry.__class__ = MessageEntry
        self.entries.append(entry)
        self.places.append((node.line, node.offset))
        return made

    # ------------------------------------------------------------------ the program's notes

    def _write_note(self, node: Node) -> None:
        note = node.extra
        if is_boundary(node):
            boundary = self._tree.boundaries[node.uuid]
            self._compact(boundary, node)
            return
        match note["subtype"]:
            case "microcompact_boundary":
                self._clear(node)
            case "turn_duration":
                self._end_run(node, node.time, "completed", note.get("durationMs"))
            case "stop_hook_summary":
                # A hook may have the model go on, and most often the duration of the turn follows.
                self._stopped = node
            case "local_command":
                content = note.get("content")
                if type(content) is str and content.strip():
                    self._add_message(node, node.time, {"role": "user", "content": content})
            case _:
                self._snip(node)

    def _write_attachment(self, node: Node) -> None:
        """What was put beside the conversation: what the user said while a model worked is a message."""
        told = node.extra
        kind = as_text(told.get("type")) or "unknown"
        if kind == "queued_command":
            prompt = told.get("prompt")
            if as_text(told.get("source_uuid")) in self._uuids:
                self._telling.note(node, "not-imported", "attachment/queued_command")
            elif type(prompt) is str or type(prompt) is list:
                self._add_message(node, node.time, {"role": "user", "content": prompt})
            return
        content = told.get("content")
        shown = {key: value for key, value in told.items() if key != "type"}
        rendered = content if type(content) is str else _canonical(shown)
        path = as_text(told.get("path")) or as_text(told.get("filename"))
        self._attach(node, f"attachment/{kind}", rendered, path)

    def _set(self, node: Node) -> None:
        """Other settings are in force from a record on."""
        self._settings = node.settings
        self._attach(node, "settings", _canonical(node.settings), None)

    def _attach(self, node: Node, kind: str, rendered: str, path: str | None) -> None:
        """A context entry, unless this is already in force."""
        if not rendered or self._attached.get((kind, path)) == rendered:
            return
        self._attached[kind, path] = rendered
        revision = sha256(rendered.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._add(
            ContextEntry(
                id=self._ids.beside(node),
                timestamp=node.time,
                context=ContextAttachment(
                    attachment_id=f"{kind}:{revision}",
                    epoch=1,
                    kind=kind,
                    placement="after-current",
                    revision=revision,
                    rendered=rendered,
                    path=path,
                ),
            ),
            node,
        )

    # ---------------------------------------------------------------------- compactions

    def _compact(self, boundary: Boundary, node: Node) -> None:
        mark = boundary.node.uuid
        if mark in self._written:
            return
        self._written.add(mark)
        if not summary_items(boundary):
            self._telling.tell(
                node,
                "compaction-without-summary",
                "warning",
                "a compaction is marked here, and its summary is missing: nothing is taken away",
            )
            return
        before, after = boundary.tokens
        text = "\n\n".join(items.text(item) for item in summary_items(boundary))
        self._add_compaction(node, kept_by(boundary, self.entries), text, before, after)

    def _clear(self, node: Node) -> None:
        """The outputs of some calls were cleared, and the calls kept."""
        told = node.extra.get("microcompactMetadata")
        told = told if type(told) is dict else {}
        named = told.get("compactedToolIds")
        calls = {call for call in named if type(call) is str} if type(named) is list else set()
        standing = edited(self.entries, lambda item, _: cleared(item, calls))
        if standing is None:
            self._telling.note(node, "nothing-cleared")
            return
        before, saved = told.get("preTokens"), told.get("tokensSaved")
        if type(before) is not int or type(saved) is not int or not 0 <= saved <= before < 2**63:
            before = saved = 0
        self._add_compaction(node, standing, "", before, before - saved)

    def _snip(self, node: Node) -> None:
        """Some messages were taken out."""
        told = node.extra.get("snipMetadata")
        named = told.get("removedUuids") if type(told) is dict else None
        uuids = {uuid for uuid in named if type(uuid) is str} if type(named) is list else set()
        gone = {found.entry for uuid in uuids if (found := self._uuids.get(uuid)) is not None}
        standing = edited(self.entries, lambda item, entry: None if entry in gone else item)
        if standing is None:
            self._telling.note(node, "nothing-cleared")
        else:
            self._add_compaction(node, standing, "", 0, 0)

    def _add_compaction(self, node: Node, standing: Standing, text: str, before: int, after: int) -> None:
        self._add(
            CompactionEntry(
                id=self._ids.of(node),
                timestamp=node.time,
                compaction=Compaction(
                    summary=text,
                    first_kept_entry_id=standing.first_kept,
                    tokens_before=before,
                    tokens_after=after,
                    replacement=standing.items,
                    family=standing.family,
                ),
            ),
            node,
        )

    # ----------------------------------------------------------------------------- runs

    def _end_run(
        self, node: Node, completed: datetime | None, status: RunStatus, duration: Json = None
    ) -> None:
        """A turn has ended, unless that was said already."""
        self._stopped = None
        if self._turn.is_over:
            return
        run = self._turn.end(completed, status, duration)
        if run is None:
            self._telling.note(node, "run-without-times")
        else:
            self._add(RunEntry(id=self._ids.beside(node), timestamp=completed, run=run), node)

    def _end_stopped(self) -> None:
        """The turn has ended at the last note of that, if nothing told it since."""
        if self._stopped is not None:
            self._end_run(self._stopped, self._stopped.time, "completed")

    # ---------------------------------------------------------------------- small steps

    def _add(self, entry: Entry, node: Node) -> None:
        self.entries.append(entry)
        self.places.append((node.line, node.offset))


_Detail: Final = twin_of(Detail)
_Message: Final = twin_of(MessageEntry)
_Response: Final = twin_of(ResponseRecord)


# ---------------------------------------------------------------------------------- values


def _finish(stop: str | None, calls: bool) -> str | None:
    """Why a model stopped, in the words of a log."""
    reason = settle(normalize_finish_reason(stop), calls=calls)
    if reason is None and calls:
        # Nearly every record says none. Blocks are written once they are whole, so its calls are.
        return FinishReason.TOOL_USE.value
    if reason is FinishReason.UNKNOWN:
        return stop
    return None if reason is None else reason.value


def _says_more(node: Node) -> bool:
    """Whether a record that tells of an interruption also holds what a person said."""
    return any(
        type(block) is dict
        and (
            block.get("type") == "image"
            or (type(said := block.get("text")) is str and said.strip() and not said.startswith(INTERRUPTED))
        )
        for block in node.blocks
    )


def _canonical(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
