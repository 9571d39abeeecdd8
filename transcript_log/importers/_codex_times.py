"""When something was, as the events of a Codex rollout tell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from .._times import parse_foreign_time
from ..entries import Json

__all__ = ["later", "moment"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: Json, recorded: datetime | None) -> datetime | None:
    """When something was: a time that an event gives in seconds, or the time of its record.

    The record's time is finer, but after a fork or a resume it is the time of the copy.
    """
    time: datetime | None = None
    if type(value) is str:
        time = parse_foreign_time(value)
    elif type(value) in (int, float) and value:
        try:
            time = _EPOCH + timedelta(seconds=value if abs(value) < 1e11 else value / 1000)
        except (OverflowError, ValueError):
            time = None
    if time is None or (recorded is not None and abs(recorded - time) < timedelta(seconds=2)):
        return recorded
    return time


def later(time: datetime, milliseconds: int) -> datetime | None:
    """A time so many milliseconds after another; None past the last year."""
    try:
        return time + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
