"""Text of a transcript made fit for a terminal: nothing in it can act on the terminal, or hide."""

from __future__ import annotations

from .._plain import dumped, laid_out, one_line, plain
from ..entries import Json

__all__ = ["dumped", "laid_out", "one_line", "plain", "show"]


def show(value: Json) -> str:
    """A text as it is, any other JSON value as indented JSON; fit for a terminal."""
    if isinstance(value, str):
        return plain(value)
    return plain(dumped(value, indent=2))
