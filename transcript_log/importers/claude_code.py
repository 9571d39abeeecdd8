"""Sessions of Claude Code.

A file is a tree of records, in the order in which they were written, with further records
between them that have no place in it. There is no header, and no version number: each record
names the version of the program that wrote it, and one file may hold several.

One API message is as many records as it has blocks. They become one message, with its blocks
in their order, at the place of the first of them; outputs that came between them come after it.
That is what Claude Code itself sends when a session is resumed. What is not on the live branch is
left out and told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, cast

from .. import items
from .._collector import collector_paused
from ..entries import HARNESS, ForkOrigin, Header, Json, ParentCall
from ..errors import HeaderError
from ..findings import Severity
from . import Imported, SourceLines
from ._claude_entries import Writer
from ._claude_ids import own_id
from ._claude_nodes import CHAINED, SIDECHAIN, Node, as_text
from ._claude_records import Records, stored_part
from ._claude_tree import Tree
from ._telling import Telling
from ._unknown import with_unknown
from .subagents import link_subagent

__all__ = ["import_claude_code", "link_subagent"]


def import_claude_code(
    lines: Iterable[bytes], *, path: str | None = None, keep_unknown: bool = False
) -> Imported:
    """A Claude Code session, or the file of one of its subagents, as entries.

    Args:
        lines: The physical lines of the file, with their line ends.
        path: Named in findings and errors.
        keep_unknown: Whether records that nothing is made of become opaque entries.

    Raises:
        HeaderError: Not one record of Claude Code is in it. Damage alone raises nothing.
    """
    with collector_paused():
        return _imported(lines, path, keep_unknown)


_NOTES: Final[Mapping[str, tuple[Severity, str]]] = {
    "kept-unknown": ("note", "kept as it is, here and after: {about} ({number} times)"),
    "not-imported": ("note", "not taken over, here and after: {about} ({number} times)"),
    "odd-record": ("warning", "records that cannot be read, here and after: {number}; {about}"),
    "odd-replacement": ("warning", "replacements that name no call or no text, here and after: {number}"),
    "output-replaced": (
        "note",
        "outputs that were sent as something shorter, here and after: {number}; they stand as they were sent",
    ),
    "nothing-cleared": (
        "note",
        "what is to be taken out of the conversation is not in it, here and after: {number} times",
    ),
    "parent-missing": (
        "warning",
        "records that follow one that is not in the file, here and after: {number}; each is taken to"
        " follow the record before it",
    ),
    "repeated": ("note", "records that stand in the file already, here and after: {number}; left out"),
    "repeated-id": (
        "warning",
        "records with the id of another one, here and after: {number}; the first one counts",
    ),
    "repeated-block": (
        "note",
        "blocks that their message holds already, here and after: {number}; left out",
    ),
    "inherited-history": (
        "note",
        "records of other sessions came along, here and after: {about}",
    ),
    "unreadable-time": (
        "warning",
        "times that cannot be read, here and after: {number}; they are taken as unknown",
    ),
    "run-without-times": (
        "note",
        "turns that began or ended at an unknown time, here and after: {number}; no run is recorded for them",
    ),
}
"""What is told once for each rule and thing."""


def _imported(lines: Iterable[bytes], path: str | None, keep_unknown: bool) -> Imported:
    source = SourceLines(lines, path, stored_part)
    telling = Telling(_NOTES, path, keep_unknown=keep_unknown)
    records = Records(telling)
    for record in source:
        records.take(record)
    if not records.known:
        raise HeaderError(
            path or "the session",
            1,
            0,
            "this is no Claude Code session: it holds no record of one",
            "check the path, or import it as what it is",
            None,
            "header-type",
        )
    records.close()
    imported = _File(records, telling, source, path).imported()
    records.clear()
    return imported


class _Conversation(NamedTuple):
    """Records that belong together: the session's own, or those of one subagent."""

    agent: str | None
    nodes: Sequence[Node]


def _conversations(records: Records) -> tuple[_Conversation, list[_Conversation]]:
    """What the file is about, and what else stands in it.

    Old versions wrote what subagents did between the records of the session. Later ones give
    each subagent a file, and the file is about that.
    """
    nodes = records.nodes
    main = [node for node in nodes if not node.flags & SIDECHAIN]
    if len(main) == len(nodes):
        return _Conversation(None, nodes), []
    threads: dict[str, _Conversation] = {}
    keys: dict[str, str] = {}
    last = ""
    for node in nodes:
        if not node.flags & SIDECHAIN:
            continue
        if node.agent is not None:
            last = f"agent {node.agent}"
        elif not node.flags & CHAINED or not last:
            last = keys.get(node.parent or (node.up.uuid if node.up is not None else ""), node.uuid)
        keys[node.uuid] = last
        there = threads.get(last)
        if there is None:
            threads[last] = _Conversation(node.agent, [node])
        else:
            cast(list[Node], there.nodes).append(node)
    others = list(threads.values())
    if any(node.kind in _SAID for node in main):
        return _Conversation(None, main), others
    return others[-1], others[:-1]


_SAID: Final = ("user", "assistant")


class _File:
    """The conversations that a file holds: the session's own, and those of subagents."""

    def __init__(self, records: Records, telling: Telling, source: SourceLines, path: str | None) -> None:
        self._records = records
        self._telling = telling
        self._source = source
        self._path = path
        self._prompts: dict[str, str] | None = None

    def imported(self) -> Imported:
        """Everything that was taken over."""
        records = self._records
        main, others = _conversations(records)
        writer = self._written(main, self._telling)
        linked = tuple(self._subagent(other, writer) for other in others)
        self._tell_of_subagents(writer, others)
        header = self._header(main)
        findings = (*self._source.findings, *self._telling.findings())
        session = records.session or ""
        entries, places = with_unknown(
            writer.entries, writer.places, self._telling.kept, session, "claude-code"
        )
        return Imported(
            header=header,
            entries=entries,
            places=places,
            details=tuple(writer.details),
            findings=tuple(sorted(findings, key=lambda finding: finding.line or 0)),
            counts={
                **records.tally.counts(),
                "records": records.taken,
                "broken_lines": self._source.broken_lines,
                "recovered": self._source.recovered,
            },
            linked=linked,
        )

    def _written(self, conversation: _Conversation, telling: Telling) -> Writer:
        records = self._records
        agent, nodes = conversation
        is_whole = len(nodes) == len(records.nodes)
        tree = Tree(
            nodes,
            records.by_uuid,
            telling,
            is_plain=is_whole and not records.is_broken and not records.is_compacted,
            members=None if is_whole else {id(node) for node in nodes},
            rewound=None if agent is not None else records.by_uuid.get(records.rewound or ""),
        )
        for branch in tree.branches:
            many = f"{branch.records} message records" if branch.records > 1 else "one message record"
            telling.tell(
                branch.first,
                "branch-left-out",
                "note",
                f"a branch begins here that the session did not go on with: {many}, left out",
            )
        writer = Writer(
            tree,
            telling,
            session=agent or records.session,
            uuids=records.by_uuid,
            replacements=records.replacements.get(agent, {}),
        )
        writer.write()
        return writer

    # ------------------------------------------------------------------------- headers

    def _header(self, conversation: _Conversation) -> Header:
        records = self._records
        agent, nodes = conversation
        forked = records.forked_from
        if agent is None and records.last_of:
            session, last = list(records.last_of.items())[-1]
            self._telling.note(last, "inherited-history", ", ".join(records.last_of))
            forked = forked or (session, last.uuid)
        entry = None if forked is None else own_id(forked[1])
        return Header(
            id=agent or records.session,
            timestamp=_first_time(nodes),
            harness=HARNESS,
            cwd=records.cwd,
            forked_from=None if forked is None or entry is None else ForkOrigin(forked[0], entry),
            extra={"importedFrom": self._source_of(agent)},
        )

    def _source_of(self, agent: str | None) -> dict[str, Json]:
        records = self._records
        source: dict[str, Json] = {"format": "claude-code", **records.stamps}
        if agent is not None:
            source["agentId"] = agent
        elif records.title is not None:
            source["title"] = records.title
        if records.session is not None:
            source["sessionId"] = records.session
        return source

    # ------------------------------------------------------------------------ subagents

    def _subagent(self, conversation: _Conversation, session: Writer) -> Imported:
        """What a subagent did, where that stands in the session's own file."""
        records = self._records
        agent, nodes = conversation
        telling = Telling(_NOTES, self._path)
        writer = self._written(conversation, telling)
        call = session.agents[agent][0] if agent in session.agents else self._call_for(nodes)
        parent = None if call is None or records.session is None else ParentCall(records.session, call)
        return Imported(
            header=Header(
                id=agent or f"{records.session or 'session'}-{nodes[0].line}",
                timestamp=_first_time(nodes),
                harness=HARNESS,
                cwd=records.cwd,
                parent=parent,
                extra={"importedFrom": self._source_of(agent)},
            ),
            entries=tuple(writer.entries),
            places=tuple(writer.places),
            details=tuple(writer.details),
            findings=tuple(telling.findings()),
            counts={},
        )

    def _call_for(self, nodes: Sequence[Node]) -> str | None:
        """The call whose prompt is the first thing that a subagent was told."""
        if self._prompts is None:
            self._prompts = dict(_prompts(self._records.nodes))
        told = next((items.text(node.message) for node in nodes if node.message is not None), "")
        return self._prompts.get(told)

    def _tell_of_subagents(self, writer: Writer, others: Sequence[_Conversation]) -> None:
        for other in others:
            said = sum(node.kind in _SAID for node in other.nodes)
            self._telling.tell(
                other.nodes[0],
                "subagent",
                "note",
                f"what a subagent did begins here: {said} message records, a session of their own",
            )
        inside = {other.agent for other in others}
        for agent, (call, node) in writer.agents.items():
            if agent not in inside:
                self._telling.tell(
                    node,
                    "subagent-elsewhere",
                    "note",
                    f"what a subagent did stands in a file of its own, agent-{agent}.jsonl",
                    call,
                )


def _prompts(nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """What the calls of a session tell others to do, the last one first, each with the call's id."""
    for node in reversed(nodes):
        if node.flags & SIDECHAIN or node.group is None:
            continue
        for block in node.group.blocks:
            if type(block) is not dict:
                continue
            given = block.get("input")
            prompt = as_text(given.get("prompt")) if type(given) is dict else None
            call = as_text(block.get("id"))
            if prompt is not None and call is not None:
                yield prompt, call


def _first_time(nodes: Sequence[Node]) -> datetime | None:
    return next((node.time for node in nodes if node.time is not None), None)
