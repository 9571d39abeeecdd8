"""Which call of a foreign session each subagent carried out.

The session of a subagent names itself, and the session that it belongs to. Which call it
answers is told in that session: by the record of the output, by the output itself, or by an event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from .. import _json, items
from ..codec import read_outcome
from ..entries import Entry, Json, MessageEntry, ParentCall
from ..store import DetailKey
from . import Imported

__all__ = ["calls_of_subagents", "link_subagent"]

_KEYS: Final = ("agentId", "new_thread_id")
"""How the outcome of a call names the subagent: in Claude Code, and in Codex."""


def calls_of_subagents(entries: Iterable[Entry], details: Mapping[DetailKey, Json]) -> dict[str, str]:
    """The id of the call that each subagent carried out, by the subagent's id.

    Args:
        entries: Those of the session that called.
        details: Its sidecar.
    """
    found: dict[str, str] = {}
    for (call, _), payload in details.items():
        outcome = read_outcome(payload)
        data: Any = None if outcome is None else outcome.data
        for key in _KEYS if type(data) is dict else ():
            agent = data.get(key)
            if type(agent) is str and agent:
                found.setdefault(agent, call)
    for call, agent in _spawned(entries):
        found.setdefault(agent, call)
    return found


def _spawned(entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    """The calls of Codex that spawn a subagent, each with the id that its output gives."""
    calls: set[str] = set()
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        calls.update(c.id for c in items.tool_calls(entry.message) if c.id and c.name == "spawn_agent")
        for output in items.tool_outputs(entry.message) if calls else ():
            if output.id in calls and (agent := _agent_in(output.content)):
                yield output.id, agent


def _agent_in(output: Any) -> str | None:
    if type(output) is not str or '"agent_id"' not in output:
        return None
    try:
        told = _json.decode(output.encode("utf-8", "surrogatepass"))
    except ValueError:
        return None
    agent = told.get("agent_id") if type(told) is dict else None
    return agent if type(agent) is str else None


def link_subagent(subagent: Imported, session: Imported) -> Imported:
    """The session of a subagent, with its header naming the call that it carried out.

    Args:
        subagent: What was made of the subagent's own file.
        session: What was made of the file of the session that it belongs to.

    Returns:
        The very same, if the session tells of no call that this subagent carried out.
    """
    source = subagent.header.extra.get("importedFrom")
    named = source.get("agentId") if type(source) is dict else None
    agent = named if type(named) is str else subagent.header.id
    call = calls_of_subagents(session.entries, session.details_by_call).get(agent or "")
    if call is None or session.header.id is None:
        return subagent
    return replace(subagent, header=replace(subagent.header, parent=ParentCall(session.header.id, call)))
