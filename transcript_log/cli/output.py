"""Printing: colours where they are wanted, findings on stderr, JSON lines on stdout."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator

import click

from .._plain import json_line, one_line
from .._wording import counted, show_duration, show_size, show_time
from ..entries import Json
from ..errors import StorageError
from ..findings import Finding

__all__ = [
    "color_option",
    "counted",
    "echo",
    "echo_json",
    "echo_pieces",
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
    with _telling(err=err):
        click.echo(line, err=err, color=color)


@contextlib.contextmanager
def _telling(*, err: bool) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError) or error.errno == errno.EPIPE:
            raise
        with contextlib.suppress(OSError, ValueError):  # what is left in the buffer has nowhere to go
            os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
        raise StorageError.of("the output", "write", error) from error


def echo_pieces(pieces: Iterable[bytes]) -> None:
    """Bytes on stdout, as they come.

    Raises:
        StorageError: They cannot be written, as on a full disk. A closed pipe just ends the command.
    """
    with _telling(err=False):
        for piece in pieces:
            click.echo(piece, nl=False)


def echo_json(value: Json) -> None:
    """One line of JSON on stdout, in which every character that is not printable is an escape."""
    echo(json_line(value))


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
