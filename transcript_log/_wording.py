"""Numbers, times and outcomes in words, as commands and exports show them."""

from __future__ import annotations

from datetime import datetime, timedelta

from ._times import format_time
from .entries import ToolOutcome
from .items import ImagePart

__all__ = [
    "counted",
    "outcome_words",
    "picture_words",
    "show_duration",
    "show_size",
    "show_time",
]


def counted(number: int, noun: str) -> str:
    """As in ``1 call`` and ``2 calls``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_time(time: datetime | None) -> str:
    """A time for people: UTC, to the second."""
    return "unknown" if time is None else format_time(time.replace(microsecond=0)).replace("T", " ")


def show_duration(duration: timedelta) -> str:
    """A duration for people, as in ``1 h 02 min`` or ``3.4 s``."""
    seconds = duration.total_seconds()
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def show_size(size: int) -> str:
    """A size for people, as in ``3.4 MB``."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


def outcome_words(outcome: ToolOutcome) -> str:
    """How a call ended, as in ``failed, exit status 2``; not yet fit to be shown."""
    parts = [outcome.raw_status or outcome.status]
    if outcome.exit_code is not None:
        parts.append(f"exit status {outcome.exit_code}")
    if outcome.error_code is not None:
        parts.append(outcome.error_code)
    return ", ".join(parts)


def picture_words(image: ImagePart) -> str:
    """What a picture is, in brackets, where it cannot be shown itself; not yet fit to be shown."""
    size = f", {show_size(image.size_bytes)}" if image.size_bytes else ""
    return f"[image {image.media_type or 'of unknown type'}{size}]"
