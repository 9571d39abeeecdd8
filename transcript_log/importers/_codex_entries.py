"""The entries that are made of the records of a Codex rollout, and what later ones are compared with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from .. import items
from ..codec import outcome_payload
from ..entries import (
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Item,
    Json,
    MessageEntry,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
)
from ..store import Place
from . import SourceRecord, entry_id, opaque_entry
from ._codex_carried import is_carried, rebuilt, size_of
from ._codex_outcomes import told_outcome
from ._telling import Telling

__all__ = ["Entries"]


class Entries:
    """The entries so far, in the order of the file.

    Attributes:
        made: Them.
        session: The id of the session, once that is known; ids are made of it.
    """

    def __init__(self, telling: Telling) -> None:
        self.made: list[Entry] = []
        self.session: str | None = None
        self._telling = telling
        self._last = (0, 0)  # a source line, and how many entries were made from it
        self._places: dict[str, Place] = {}
        self._messages: list[int] = []  # indices of the message entries
        self._users: list[tuple[Item, int]] = []  # what an old compaction carries over, with its size
        self._said: list[int] = []  # indices of what a person said, and was not taken back
        self._calls: dict[str, list[int]] = {}  # indices of the entries that call by this id
        self._told: list[tuple[str, int, ToolOutcome]] = []  # outcomes that events tell
        self._stored: list[tuple[str, int, ToolOutcome]] = []  # those that outputs tell
        self._settings: dict[str, str] = {}  # what is in force, by kind

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the record of each stands in the source."""
        return tuple(self._places[entry.id] for entry in self.made)

    # ------------------------------------------------------------------------ messages

    def message(
        self,
        record: SourceRecord,
        item: Item,
        time: datetime | None,
        family: str | None,
        response: ResponseRecord | None,
    ) -> None:
        """An item that is a part of the conversation."""
        place = len(self.made)
        if items.is_user_turn(item) and is_carried(item):
            self._users.append((item, size_of(item)))
            self._said.append(place)
        self._messages.append(place)
        self.made.append(
            MessageEntry(
                id=self.id_of(record), timestamp=time, message=item, family=family, response=response
            )
        )
        for call in (*items.tool_calls(item), *items.hosted_calls(item)):
            if call.id is not None:
                self._calls.setdefault(call.id, []).append(place)
        for output in items.tool_outputs(item):
            outcome = told_outcome(output.content)
            if output.id is not None and outcome is not None:
                self._stored.append((output.id, place, outcome))

    def answered(self, place: int, response: ResponseRecord | None) -> None:
        """The response that the entry at ``place`` begins is known now."""
        entry = self.made[place]
        assert isinstance(entry, MessageEntry)
        self.made[place] = replace(entry, response=response)

    def roll_back(self, record: SourceRecord, turns: Json) -> None:
        """Make history of the newest turns of the user, and of all that came since they began.

        A compaction among it was taken back with them; what stood before it counts again.
        """
        if type(turns) is not int or turns < 1 or not self._said:
            self._telling.tell(record, "odd-record", "warning", f"{turns!r} turns cannot be taken back here")
            return
        taken = min(turns, len(self._said))
        cut = self._said[-taken]
        for place in range(cut, len(self.made)):
            entry = self.made[place]
            if isinstance(entry, MessageEntry):
                self.made[place] = replace(entry, interrupted=True)
            elif isinstance(entry, CompactionEntry):
                kept: dict[str, Json] = {"summary": entry.compaction.summary}
                self.made[place] = opaque_entry(entry.id, entry.timestamp, "codex", "compacted", kept)
        del self._said[-taken:]
        del self._users[-taken:]
        line, _ = self._places[self.made[cut].id]
        self._telling.tell(
            record,
            "rolled-back",
            "note",
            f"Codex took the newest {taken} user turns back here, those from line {line} on:"
            " they are history, and no context",
        )

    # --------------------------------------------------------------------- compactions

    def rebuild(self, record: SourceRecord, summary: str) -> tuple[Item, ...]:
        """What stands in place of the conversation after a compaction that does not say."""
        earlier = len(self._users)
        replacement = rebuilt(self._users, summary)
        self._telling.tell(
            record,
            "compaction-rebuilt",
            "note",
            "the compaction records no replacement history; it was rebuilt as Codex does, from"
            f" the newest {len(replacement) - 1} of {earlier} user messages and the summary",
        )
        return replacement

    def compaction(self, entry: CompactionEntry) -> None:
        """A compaction; the messages of its replacement are those that a later one carries over."""
        known = {id(item): size for item, size in self._users}
        self._users = [
            (item, known[id(item)] if id(item) in known else size_of(item))
            for item in entry.compaction.replacement
            if id(item) in known or (items.is_user_turn(item) and is_carried(item))
        ]
        self.made.append(entry)

    def attach(
        self, record: SourceRecord, time: datetime | None, kind: str, rendered: str | None, placement: str
    ) -> None:
        """A context entry, unless this is already in force."""
        if not rendered or self._settings.get(kind) == rendered:
            return
        self._settings[kind] = rendered
        revision = sha256(rendered.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.made.append(
            ContextEntry(
                id=self.id_of(record),
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

    # ---------------------------------------------------------- what stands beside them

    def run(self, id: str, time: datetime | None, place: int, run: Run) -> None:
        """A run that began at ``place``."""
        after = bisect_left(self._messages, place)
        first = self.made[self._messages[after]].id if after < len(self._messages) else None
        self.made.append(RunEntry(id=id, timestamp=time, run=replace(run, first_entry_id=first)))

    def outcome(self, call_id: str, outcome: ToolOutcome) -> None:
        """How a call ended, as an event tells."""
        self._told.append((call_id, len(self.made), outcome))

    def details(self) -> Iterator[Detail]:
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
        entry = self.made[places[max(0, bisect_left(places, place) - 1)]].id if places else None
        return Detail(id=call_id, payload=outcome_payload(outcome), entry=entry)

    def id_of(self, record: SourceRecord) -> str:
        """The id of the next entry that is made of a record."""
        line, made = self._last
        made = made + 1 if line == record.line else 0
        self._last = (record.line, made)
        made_id = entry_id(self.session or "", record.line, made)
        self._places[made_id] = (record.line, record.offset)
        return made_id
