"""When the turns of a Claude Code session began and ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..entries import Json, Run, RunStatus

__all__ = ["Turn"]


class Turn:
    """The turn that is under way. It begins with a prompt, and its end is told once."""

    def __init__(self) -> None:
        self._first: str | None = None
        self._began: datetime | None = None
        self.is_over = False

    def begin(self, first: str, time: datetime | None) -> None:
        """A prompt was said: the entry of it, and when that was."""
        self._first, self._began, self.is_over = first, time, False

    def end(self, completed: datetime | None, status: RunStatus, duration: Json = None) -> Run | None:
        """The run that the turn was; None where it is not known when it began or ended.

        Args:
            completed: When it ended.
            status: How.
            duration: How long it took, in milliseconds, where that is told.
        """
        began = self._began
        if type(duration) is int and duration >= 0 and completed is not None:
            began = _before(completed, duration) or began
        if began is None or completed is None:
            return None
        self.is_over = True
        return Run(
            started_at=began,
            completed_at=max(began, completed),
            first_entry_id=self._first,
            status=status,
        )


def _before(time: datetime, milliseconds: int) -> datetime | None:
    try:
        return time - timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
