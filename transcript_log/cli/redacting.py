"""What the commands that redact share: their options, and what was taken out in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..entries import Json
from ..errors import StorageError
from ..redaction import SHAPES, Redacted, SecretShape, ShapeError, parse_shape, parse_shapes
from .naming import NoSuchFileError
from .output import counted

__all__ = ["chosen_shapes", "counted_lines", "redact_options", "redacted_json", "redacted_lines"]


def redact_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what is redacted; see :func:`chosen_shapes`."""
    redact = click.option(
        "--redact", is_flag=True, help="Put placeholders where secrets of well-known shapes stand."
    )
    pattern = click.option(
        "--redact-pattern",
        "redact_patterns",
        multiple=True,
        metavar="KIND=REGEX",
        help="Also where this matches, or its group 'secret'; may be given more than once.",
    )
    shapes = click.option(
        "--redact-shapes",
        "redact_file",
        metavar="TOML",
        help="Also what this file lists: tables [[shape]] with kind and regex.",
    )
    return redact(pattern(shapes(command)))


def chosen_shapes(redact: bool, patterns: Sequence[str], file: str | None) -> tuple[SecretShape, ...] | None:
    """The shapes that the options name; None if nothing is to be redacted.

    Raises:
        UsageError: A shape cannot be used.
        NoSuchFileError: There is no such file.
        StorageError: The file cannot be read.
    """
    if not (redact or patterns or file):
        return None
    try:
        own = tuple(map(parse_shape, patterns))
        return (*SHAPES, *own, *(() if file is None else parse_shapes(_text(file))))
    except ShapeError as error:
        raise click.UsageError(str(error)) from error


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NoSuchFileError(file) from error
    except OSError as error:
        raise StorageError.of(file, "read", error) from error
    except ValueError as error:
        raise StorageError(file, "read", "it is not UTF-8") from error


def redacted_lines(redacted: Redacted) -> list[str]:
    """What was taken out, for people: one line, or one for each kind of secret."""
    return counted_lines(redacted.counts)


def counted_lines(counts: Mapping[str, tuple[int, int]]) -> list[str]:
    """The same of numbers of secrets, and of places, by kind."""
    if not counts:
        return ["nothing was redacted: no secret of a known shape was found"]
    return [
        f"redacted: {counted(secrets, 'secret')} of the kind {kind} in {counted(places, 'place')}"
        for kind, (secrets, places) in counts.items()
    ]


def redacted_json(redacted: Redacted) -> dict[str, Json]:
    """What was taken out, as a JSON object: counts by kind, and every place."""
    return {
        "counts": {
            kind: {"secrets": secrets, "places": places}
            for kind, (secrets, places) in redacted.counts.items()
        },
        "places": [
            {
                "entry": redaction.entry,
                "call": redaction.call,
                "where": redaction.where,
                "placeholders": list(redaction.placeholders),
            }
            for redaction in redacted.redactions
        ],
    }
