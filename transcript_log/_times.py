"""Times as a log spells them: RFC 3339, read into aware datetimes.

A time is written in UTC with a ``Z`` and up to six digits of a second. Digits beyond
microseconds are read past. Year 1 at its first instant means that the time is unknown,
as does JSON null.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

__all__ = ["ZERO_TIME", "format_time", "parse_foreign_time", "parse_time", "parse_time_leniently"]

ZERO_TIME: Final = "0001-01-01T00:00:00Z"
"""How a time that is not known is spelled where there has to be one."""

_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_NAIVE: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?", re.ASCII)
_from_iso = datetime.fromisoformat


def parse_time(text: str) -> datetime | None:
    """The instant that an RFC 3339 text names, in UTC; None for the zero time.

    An instant whose UTC form lies outside years 1 to 9999 keeps its own offset.

    Raises:
        ValueError: The text is not of that form, or no such day or hour exists.
    """
    # What this package writes, 2026-01-02T03:04:05.6789Z, takes a short cut: ``fromisoformat``
    # reads it ten times as fast, but also reads much that is not RFC 3339.
    if (
        text[19:20] == "."
        and text[-1] == "Z"
        and text.isascii()
        and text[20:-1].isdigit()
        and text[4:11:3] == "--T"
        and text[5:7].isdigit()
        and text[13] == ":"
    ):
        try:
            time = _from_iso(text)
        except ValueError:
            pass
        else:
            return time if time != _ZERO else None
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{_short(text)} is no RFC 3339 time, as in 2026-01-02T03:04:05Z")
    year, month, day, hour, minute, second, fraction, sign, offset_h, offset_m = match.groups()
    zone = UTC
    if sign is not None:
        if int(offset_h) > 23 or int(offset_m) > 59:
            raise ValueError(f"{_short(text)} has an impossible offset from UTC")
        offset = timedelta(hours=int(offset_h), minutes=int(offset_m))
        zone = timezone(offset if sign == "+" else -offset)
    micro = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        time = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), micro, zone)
    except ValueError as error:
        raise ValueError(f"{_short(text)} names no instant: {error}") from None
    if zone is not UTC:
        try:
            time = time.astimezone(UTC)
        except OverflowError:
            return time
    return time if time != _ZERO else None


def parse_time_leniently(value: object) -> tuple[datetime | None, str | None]:
    """The instant that a damaged or foreign log means, and what is doubtful about it.

    A text without an offset is taken as UTC, an integer as milliseconds since 1970. What
    cannot be read is None.
    """
    if value is None:
        return None, "the time is unknown"
    if type(value) is int:
        try:
            instant = _EPOCH + timedelta(milliseconds=value)
            told = "the time is a number, read as milliseconds since 1970"
            return (None if instant == _ZERO else instant), told
        except OverflowError:
            return None, f"the time {value} is outside years 1 to 9999, and taken as unknown"
    if type(value) is not str:
        return None, "the time is no text, and taken as unknown"
    try:
        time = parse_time(value)
    except ValueError:
        if _NAIVE.fullmatch(value):
            try:
                return parse_time(
                    value.replace(" ", "T") + "Z"
                ), "the time has no offset, and is taken as UTC"
            except ValueError:
                pass
        return None, f"the time {_short(value)} cannot be read, and is taken as unknown"
    return time, (None if time is not None else "the time is unknown")


_SECONDS: Final = range(100_000_000, 100_000_000_000)
"""Numbers that are times in seconds, from 1973 on; in milliseconds they would be of before March 1973."""
_NUMBER: Final = re.compile(r"\d{9,13}(?:\.\d{1,9})?", re.ASCII)
_LOOSE: Final = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?)\s*(Z|[+-]\d\d(?=:?\d\d))(?::?(\d\d))?",
    re.ASCII | re.IGNORECASE,
)


def parse_foreign_time(value: object) -> datetime | None:
    """The instant that another program's session means; None where it cannot be told.

    Beside what :func:`parse_time_leniently` reads: numbers that are no integers, or are text;
    those of today's times in seconds as such; and text with a space, a small ``z``, or an offset
    without a colon.
    """
    if type(value) is str:
        text = value.strip()
        if _NUMBER.fullmatch(text):
            value = float(text)
        elif (loose := _LOOSE.fullmatch(text)) is not None:
            local, zone, minutes = loose.groups()
            value = local.upper().replace(" ", "T") + (f"{zone}:{minutes}" if minutes else "Z")
    if type(value) is float or (type(value) is int and value in _SECONDS):
        is_seconds = _SECONDS.start <= value < _SECONDS.stop
        try:
            return _EPOCH + timedelta(seconds=value if is_seconds else value / 1000)
        except (OverflowError, ValueError):
            return None
    return parse_time_leniently(value)[0]


def format_time(time: datetime) -> str:
    """The RFC 3339 text of an aware time: in UTC with ``Z``, no trailing zeros.

    Raises:
        ValueError: The time is naive.
    """
    if time.utcoffset() is None:
        raise ValueError("the time is naive; give it a time zone, as in datetime.now(timezone.utc)")
    zone = "Z"
    if time.tzinfo is not UTC:
        try:
            time = time.astimezone(UTC)
        except OverflowError:  # only at the two ends of the calendar
            offset = time.utcoffset() or timedelta()
            minutes, rest = divmod(offset, timedelta(minutes=1))
            time = time.replace(tzinfo=None) - rest
            sign = "-" if minutes < 0 else "+"
            zone = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    text = time.replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if time.microsecond else text) + zone


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."
