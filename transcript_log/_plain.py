"""Text of a transcript made fit to be shown: nothing in it can act, or hide.

What is shown on a terminal and what is exported goes through here. It is not yet escaped for
HTML or Markdown.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Final

import orjson

from . import _json
from .entries import Json

__all__ = ["dumped", "is_blank", "json_line", "laid_out", "one_line", "plain"]


class _Shown(dict[int, "str | int"]):
    """How each character is shown, by its code point; filled in as characters come.

    Controls, marks and overrides of direction, characters without a glyph, surrogates, and
    all else that is not printable come as escapes; a space of another width as a space.
    """

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        shown: str | int = code
        if unicodedata.category(char) == "Zs":
            shown = " "
        elif not char.isprintable() and char not in "\n\t":
            shown = (
                f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
            )
        self[code] = shown
        return shown


_SHOWN: Final = _Shown()


def plain(text: str) -> str:
    """``text`` with every character that could act on a terminal, or hide, shown as an escape."""
    # Most text is harmless, and that is told many times faster than it is shown.
    harmless = text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()
    return text if harmless else text.translate(_SHOWN)


def is_blank(text: str) -> bool:
    """Whether nothing of a text is seen once it is shown: a vertical tab is, a line feed is not."""
    return not plain(text).strip()


def one_line(text: str) -> str:
    """The same on one line: line feeds and tabs come as escapes too."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


_SHORT: Final = 88
"""How long a JSON object may be, in characters, that is shown as it stands."""


def laid_out(value: Json) -> str:
    """A text as it is, or JSON on one line; a long JSON object, or text of one, by its keys.

    Readable, but not yet fit for a terminal.
    """
    if isinstance(value, str):
        text = value
        if (len(text) <= _SHORT and "\\n" not in text) or not text.startswith("{"):
            return text
        try:
            value = _json.decode(text.encode("utf-8"))
        except ValueError:
            return text
    if not isinstance(value, dict):
        return "" if value is None else dumped(value)
    short = dumped(value)
    if len(short) <= _SHORT and "\\n" not in short:
        return short
    return "\n".join(line for key, item in value.items() for line in _entry_lines(key, item))


def _entry_lines(key: str, value: Json) -> list[str]:
    texts = value if isinstance(value, list) and all(isinstance(item, str) for item in value) else [value]
    if not any(isinstance(item, str) and "\n" in item for item in texts):
        return [f"{key}: {value if isinstance(value, str) else dumped(value)}"]
    lines = [line for item in texts for line in item.rstrip("\n").split("\n")]
    return [f"{key}:", *(f"  {line}" for line in lines)]


def dumped(value: Json, *, ascii_only: bool = False, indent: int | None = None) -> str:
    """A value as JSON; what nests too deep to be written so is shown as an ellipsis."""
    separators = None if indent else (",", ":")
    try:
        return json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    except RecursionError:
        return json.dumps(_shallow(value, 50), ensure_ascii=ascii_only, indent=indent, separators=separators)


def _shallow(value: Json, depth: int) -> Json:
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, list):
        return [_shallow(item, depth - 1) for item in value]
    return {key: _shallow(item, depth - 1) for key, item in value.items()}


def json_line(value: Json) -> str:
    """A value as JSON on one line, in which every character that is not printable is an escape."""
    try:
        text = orjson.dumps(value).decode("utf-8")
    except TypeError:
        text = dumped(value, ascii_only=True)  # a lone surrogate, a huge number, or nested deep
    # JSON escapes C0 only; DEL and C1 would reach a terminal, and so would marks of direction.
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    return text


def _escape(char: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(char.encode("utf-16-le")).cast("H"))
