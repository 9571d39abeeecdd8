"""Ids of calls and outputs that name none, one conversation long.

Gemini need not give its calls ids: an output then belongs to the call of its tool, in their
order. An item alone tells the order within it; outputs may be items each, and some clients
name ids that no call has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .part_types import HOSTED, Part, ToolCallPart, ToolOutputPart

__all__ = ["NamelessIds"]


class NamelessIds:
    """Gives outputs the ids of the calls without ids that they answer.

    Where every call of a conversation names its id, all outputs stay as they are.
    """

    def __init__(self) -> None:
        self._known: set[str | None] = set()
        self._open: dict[str | None, list[str]] = {}
        self._last: dict[str | None, str] = {}

    def calls(self, calls: Sequence[ToolCallPart]) -> None:
        """Take in the calls of one item, which outputs may answer from here on."""
        self._known.update(call.id for call in calls)
        nameless = [call for call in calls if call.nameless]
        for name in {call.name for call in nameless}:
            self._open[name] = [call.id or "" for call in nameless if call.name == name]
            self._last[name] = self._open[name][-1]

    def outputs(self, outputs: Sequence[ToolOutputPart]) -> Sequence[ToolOutputPart]:
        """The outputs of one item, each under the id of its call."""
        if not self._last:
            return outputs
        found = []
        for output in outputs:
            waiting = self._open.get(output.name, [])
            call_id = output.id
            if output.nameless or (call_id not in self._known and waiting):
                call_id = waiting[0] if waiting else self._last.get(output.name, call_id)
            if call_id in waiting:
                waiting.remove(call_id or "")
            found.append(output if call_id == output.id else replace(output, id=call_id))
        return found

    def parts(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """All parts of one item, the outputs among them under the ids of their calls."""
        own = [part for part in parts if isinstance(part, ToolOutputPart) and part.kind != HOSTED]
        named = dict(zip(map(id, own), self.outputs(own), strict=True))
        self.calls([part for part in parts if isinstance(part, ToolCallPart) and part.kind != HOSTED])
        return tuple(named.get(id(part), part) for part in parts)
