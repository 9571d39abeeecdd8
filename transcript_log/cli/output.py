"""Printing: colours where they are wanted, findings on stderr, JSON lines on stdout."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable
from datetime import datetime, timedelta

import click
import orjson

from .._times import format_time
from ..entries import Json
from ..errors import StorageError
from ..findings import Finding
from .text import dumped, one_line

__all__ = [
    "color_option",
    "counted",
    "echo",
    "echo_json",
    "finding_json",
    "show_duration",
    "show_size",
    "show_time",
    "tell",
    "use_color",
]

color_option = click.option(
    "--color/--no-color",
    default=None,
    help="Colours always, or never; by default on a terminal, unless NO_COLOR is set.",
)
"""Whether to colour, as the user wishes; see :func:`use_color`."""


def use_color(wanted: bool | None) -> bool | None:
    """Whether to colour; None lets the terminal decide."""
    if wanted is None and os.environ.get("NO_COLOR"):
        return False
    return wanted


def echo(line: str, *, err: bool = False, color: bool | None = None) -> None:
    """One line on stdout or stderr.

    Raises:
        StorageError: It cannot be written, as on a full disk. A closed pipe just ends the command.
    """
    try:
        click.echo(line, err=err, color=color)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        with contextlib.suppress(OSError, ValueError):  # what is left in the buffer has nowhere to go
            os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
        raise StorageError.of("the output", "write", error) from error


def echo_json(value: Json) -> None:
    """One line of JSON on stdout, in which every character that is not printable is an escape."""
    try:
        text = orjson.dumps(value).decode("utf-8")
    except TypeError:
        text = dumped(value, ascii_only=True)  # a lone surrogate, a huge number, or nested deep
    # JSON escapes C0 only; DEL and C1 would reach the terminal, and so would marks of direction.
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    echo(text)


def _escape(char: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(char.encode("utf-16-le")).cast("H"))


def finding_json(finding: Finding) -> dict[str, Json]:
    """A finding as a JSON object, with every key."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "message": finding.message,
        "advice": finding.advice,
        "path": finding.path,
        "line": finding.line,
        "offset": finding.offset,
        "entry": finding.entry,
        "call": finding.call,
        "item": finding.item,
    }


def tell(findings: Iterable[Finding]) -> None:
    """Say on stderr what is wrong with a file that is shown all the same."""
    for finding in findings:
        if finding.severity != "note":
            echo(one_line(str(finding)), err=True)


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
