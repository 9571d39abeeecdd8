"""Which runs of a Codex rollout have begun and not ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from . import SourceRecord

__all__ = ["Start", "Turns"]


@dataclass(slots=True, eq=False)
class Start:
    """Where a run began; ``place`` is the index that its first entry would have."""

    record: SourceRecord
    time: datetime | None
    place: int
    failed: bool = False


class Turns:
    """The runs that have begun and not ended.

    Later versions mark where a turn starts. In files without such a mark a run begins with
    the last message of the user, or, where none is recorded, with the first settings.
    """

    def __init__(self) -> None:
        self._open: dict[str | int, Start] = {}  # by turn id, or by line where it has none
        self._settings: Start | None = None
        self._user: Start | None = None

    def start(self, turn: str | None, start: Start) -> None:
        self._open[turn or start.record.line] = start

    def saw_settings(self, start: Start) -> None:
        self._settings = self._settings or start

    def saw_user(self, start: Start) -> None:
        self._user = start

    def fail(self) -> None:
        """The run that is under way has met an error that ends it."""
        if self._open:
            next(reversed(self._open.values())).failed = True

    def end(self, turn: str | None) -> Start | None:
        """The start of the run that ends: the one named, else the last one that could be it."""
        started = self._user or self._settings
        self._user = self._settings = None
        if turn in self._open:
            return self._open.pop(turn)
        nearest = next((key for key in reversed(self._open) if turn is None or type(key) is int), None)
        return started if nearest is None else self._open.pop(nearest)

    def unfinished(self) -> Iterator[Start]:
        yield from self._open.values()
