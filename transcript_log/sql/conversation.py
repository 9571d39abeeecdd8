"""A session that rows are made of, and what is known of its entries beside themselves.

Nothing here is computed before a column asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from ..entries import Entry, Header, Json, MessageEntry, ResponseRecord, RunEntry
from ..history import Called, HostedCall, build_calls
from ..importers import SourceFormat
from ..items import is_user_turn
from ..items.shapes import is_from_model
from ..store import DetailKey, Place

__all__ = ["PARTS", "Conversation"]

PARTS: Final = 1_000_000
"""More conversations than a file may hold: the n-th file's have numbers from n times this one on."""


@dataclass(slots=False, eq=False, kw_only=True)
class Conversation:
    """What was said in one session, or to one subagent whose session stands in the same file.

    Attributes:
        number: Names it among all that are read together.
        path: The file.
        format: Whose it is.
        header: None where the file has none.
        entries: All that could be read, in the order of the log.
        places: Where each stands in the file; empty where that is not known.
        details: The payloads beside them.
        size: The size of the file, in bytes; 0 for a subagent in another's file.
    """

    number: int
    path: str
    format: SourceFormat
    header: Header | None
    entries: Sequence[Entry]
    places: Sequence[Place] = ()
    details: Mapping[DetailKey, Json] = field(default_factory=dict)
    size: int = 0

    @property
    def session_id(self) -> str | None:
        """The id of the session, if the file tells it."""
        return None if self.header is None else self.header.id

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where the entry of each id stands among the entries, from 0; the first, of several."""
        found: dict[str, int] = {}
        for position, entry in enumerate(self.entries):
            found.setdefault(entry.id, position)
        return found

    @cached_property
    def calls(self) -> Sequence[Called | HostedCall]:
        """The tool calls as the history has them, in the order of the log."""
        return build_calls(self.entries, self.details)

    @cached_property
    def copied(self) -> int:
        """How many entries a fork took along from the log that its header names."""
        origin = None if self.header is None else self.header.forked_from
        position = None if origin is None else self.positions.get(origin.entry)
        return 0 if position is None else position + 1

    @cached_property
    def turns(self) -> Sequence[int]:
        """The user turn of each entry, from 1; 0 before the first."""
        found: list[int] = []
        turn = 0
        for entry in self.entries:
            turn += isinstance(entry, MessageEntry) and is_user_turn(entry.message)
            found.append(turn)
        return found

    @cached_property
    def runs(self) -> Sequence[str | None]:
        """The run that each entry belongs to, by the id of that run's entry.

        A run that ended earlier is further in, and has its entries already.
        """
        found: list[str | None] = [None] * len(self.entries)
        loose: list[int] = []
        for position, entry in enumerate(self.entries):
            if not isinstance(entry, RunEntry):
                loose.append(position)
                continue
            start = self.positions.get(entry.run.first_entry_id or "", position)
            while loose and loose[-1] >= start:
                found[loose.pop()] = entry.id
            found[position] = entry.id
        return found

    @cached_property
    def responses(self) -> Sequence[ResponseRecord | None]:
        """The model response that each entry came in, where that is on record.

        It stands on the response's first item; what a model said next, without one of its own, is
        of the same response.
        """
        found: list[ResponseRecord | None] = []
        current: ResponseRecord | None = None
        for entry in self.entries:
            if not isinstance(entry, MessageEntry) or entry.stand_in:
                current = None
            elif entry.response is not None:
                current = entry.response
            elif not is_from_model(entry.message):
                current = None
            found.append(current)
        return found
