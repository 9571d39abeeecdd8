"""One run of an agent, while it runs."""

from __future__ import annotations

from datetime import datetime

from ..entries import Run, RunStatus

__all__ = ["RunRecorder"]


class RunRecorder:
    """Knows when a run began and what it added first.

    Attributes:
        started_at: When it began; UTC.
        first_entry_id: The first entry added since; None as long as there is none.
        status: How it ended, where the run itself says so; None: by whether it raised.
    """

    def __init__(self, started_at: datetime) -> None:
        self.started_at = started_at
        self.first_entry_id: str | None = None
        self.status: RunStatus | None = None

    def ended(self, at: datetime, error: BaseException | None) -> Run:
        """What is put on record. A clock that went back counts as one that stood still."""
        if error is not None:
            status: RunStatus = "failed" if isinstance(error, Exception) else "cancelled"
        else:
            status = self.status or "completed"
        return Run(
            started_at=self.started_at,
            completed_at=max(at, self.started_at),
            first_entry_id=self.first_entry_id,
            status=status,
        )
