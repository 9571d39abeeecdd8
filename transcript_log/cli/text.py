"""Text of a transcript made fit for a terminal: nothing in it can act on the terminal."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

__all__ = ["plain", "show"]

_UNSAFE: Final = re.compile(
    # C0 but tab and line feed, DEL and C1; marks and overrides of direction; other characters
    # without a glyph: zero widths, line and paragraph separators, surrogates, tags.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff"
    "\ud800-\udfff\ue000-\uf8ff\U000e0000-\U0010ffff]"
)


def plain(text: str) -> str:
    """``text`` with every character that could act on a terminal, or hide, shown as an escape."""
    if text.isascii() and text.isprintable():
        return text
    safe = _UNSAFE.sub(_escape, text)
    # Whatever else Unicode has that is not printable.
    return safe if safe.isprintable() else "".join(
        char if char.isprintable() or char in "\n\t" else _escape_char(char) for char in safe
    )


def _escape(match: re.Match[str]) -> str:
    return _escape_char(match[0])


def _escape_char(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def show(value: Any) -> str:
    """A text as it is, any other JSON value as indented JSON; fit for a terminal."""
    if isinstance(value, str):
        return plain(value)
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode("utf-8")
    except (TypeError, RecursionError):
        text = repr(value)
    return plain(text)
