"""Single members of an item. What has the wrong JSON type is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

__all__ = ["Item", "first", "is_text", "named", "non_blank", "texts"]

Item: TypeAlias = Mapping[str, Any]
"""One decoded provider item."""


def named(value: Any) -> str | None:
    """The text itself; None for what is empty or no text."""
    return value if type(value) is str and value else None


def is_text(value: Any) -> TypeGuard[str]:
    """Whether a value is text that is not empty."""
    return type(value) is str and value != ""


def non_blank(value: object) -> TypeGuard[str]:
    """Whether a value is text with more in it than spaces, tabs, newlines, returns and form feeds.

    Only those five are blank: a no-break space or a vertical tab is content.
    """
    return type(value) is str and value.strip(" \t\n\r\f") != ""


def first(item: Item, keys: tuple[str, ...]) -> Any:
    """The value of the first of ``keys`` that is not null."""
    return next((value for key in keys if (value := item.get(key)) is not None), None)


def texts(value: Any) -> Iterator[str]:
    """The texts of a text, or of the blocks of a list."""
    for block in value if type(value) is list else (value,):
        said = block.get("text") if type(block) is dict else block
        if is_text(said):
            yield said
