"""Single members of a response. What has the wrong JSON type is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeGuard

__all__ = ["Object", "as_list", "as_object", "as_text", "count", "has_text", "joined", "member"]

Object: TypeAlias = Mapping[str, Any]
"""A decoded JSON object."""

_NOTHING: Final[Object] = {}
_MOST: Final = 2**53
# Spaces that may break a line, as Java counts them: the no-break spaces and U+0085 are text.
_BLANK: Final = (
    "\t\n\x0b\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)


def as_object(value: Any) -> Object:
    """The object itself; an empty one for anything else."""
    return value if isinstance(value, Mapping) else _NOTHING


def as_list(value: Any) -> list[Any]:
    """The list itself; an empty one for anything else."""
    return value if type(value) is list else []


def as_text(value: Any) -> str | None:
    """The text itself, which may be empty; None for anything else."""
    return value if type(value) is str else None


def member(owner: Object, *names: str) -> Any:
    """The value of the first of some names that is not null."""
    return next((value for name in names if (value := owner.get(name)) is not None), None)


def count(value: Any) -> int | None:
    """A number of tokens; None for what is none.

    A float that is whole counts. Numbers below zero or past 2**53 were never counted by anyone.
    """
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST else None


def has_text(value: object) -> TypeGuard[str]:
    """Whether a value is text with more in it than spaces that may break a line.

    This is wider than ``items.non_blank``: an em space or a line separator is blank here too.
    """
    return isinstance(value, str) and value.strip(_BLANK) != ""


def joined(runs: list[list[str]]) -> str | None:
    """Texts in runs: the pieces of a run belong together, a blank line parts the runs.

    None where there is no piece at all; a piece may be empty.
    """
    if not any(runs):
        return None
    return "\n\n".join(said for run in runs if (said := "".join(run)))
