"""The runs of a Codex rollout: what marks their ends, and when they are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ..entries import Json, Run, RunStatus
from . import SourceRecord
from ._codex_entries import Entries
from ._codex_times import later, moment
from ._codex_turns import Start, Turns
from ._telling import Telling

__all__ = ["Runs"]


@dataclass(slots=True, eq=False)
class _Ended:
    """An aborted run, held back for the items that Codex writes after its mark."""

    id: str
    time: datetime | None
    place: int
    started: datetime
    completed: datetime


class Runs:
    """The run that is under way, and one that waits to be recorded."""

    def __init__(self, entries: Entries, telling: Telling) -> None:
        self._entries = entries
        self._telling = telling
        self._turns = Turns()
        self._ended: _Ended | None = None

    def start(self, record: SourceRecord, event: dict[str, Json], time: datetime | None) -> None:
        """A mark that a run begins."""
        self.release()
        began = moment(event.get("started_at"), time)
        self._turns.start(_text(event.get("turn_id")), self._start(record, began))

    def saw_user(self, record: SourceRecord, time: datetime | None) -> None:
        """An event that tells of a message of the user."""
        self.release()
        self._turns.saw_user(self._start(record, time))

    def saw_settings(self, record: SourceRecord, time: datetime | None) -> None:
        """The settings of a turn."""
        self._turns.saw_settings(self._start(record, time))

    def fail(self) -> None:
        """The run that is under way has met an error that ends it."""
        self._turns.fail()

    def unfinished(self) -> Iterator[Start]:
        """The runs that never ended."""
        return self._turns.unfinished()

    def end(
        self, record: SourceRecord, event: dict[str, Json], time: datetime | None, status: RunStatus
    ) -> None:
        """A run has ended."""
        self.release()
        start = self._turns.end(_text(event.get("turn_id")))
        completed = moment(event.get("completed_at"), time)
        started = (start.time if start else None) or moment(event.get("started_at"), None) or completed
        duration = event.get("duration_ms")
        if completed is None and started is not None and type(duration) is int:
            completed = later(started, duration)
        if started is None or completed is None:
            self._telling.note(record, "run-without-times")
            return
        ended = _Ended(
            id=self._entries.id_of(record),
            time=time,
            place=start.place if start else len(self._entries.made),
            started=started,
            completed=max(started, completed),
        )
        if status == "cancelled":
            self._ended = ended
        else:
            self._run(ended, "failed" if start and start.failed else status)

    def release(self) -> None:
        """Record the aborted run that was held back: what follows is not of it."""
        if self._ended is not None:
            ended, self._ended = self._ended, None
            self._run(ended, "cancelled")

    def _run(self, ended: _Ended, status: RunStatus) -> None:
        run = Run(started_at=ended.started, completed_at=ended.completed, status=status)
        self._entries.run(ended.id, ended.time, ended.place, run)

    def _start(self, record: SourceRecord, time: datetime | None) -> Start:
        return Start(record, time, len(self._entries.made))


def _text(value: Json) -> str | None:
    return value if type(value) is str and value else None
