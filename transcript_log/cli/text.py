"""Text of a transcript made fit for a terminal: nothing in it can act on the terminal, or hide."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

import orjson

from .. import _json
from ..entries import Json

__all__ = ["arguments_text", "one_line", "plain", "show"]


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
            shown = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[code] = shown
        return shown


_SHOWN: Final = _Shown()


def plain(text: str) -> str:
    """``text`` with every character that could act on a terminal, or hide, shown as an escape."""
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def one_line(text: str) -> str:
    """The same on one line: line feeds and tabs come as escapes too."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def show(value: Json) -> str:
    """A text as it is, any other JSON value as indented JSON; fit for a terminal."""
    if isinstance(value, str):
        return plain(value)
    return plain(_dumped(value, orjson.OPT_INDENT_2))


_SHORT: Final = 88
"""How long arguments may be, in characters, that are shown as they stand."""


def arguments_text(arguments: Json) -> str:
    """The arguments of a call, readable but not yet fit for a terminal.

    Long ones of a JSON object are laid out: a line for each key, texts as they are.
    """
    if isinstance(arguments, str):
        if (len(arguments) <= _SHORT and "\\n" not in arguments) or not arguments.startswith("{"):
            return arguments
        try:
            value = _json.decode(arguments.encode("utf-8"))
        except ValueError:
            return arguments
    else:
        value = arguments
    if not isinstance(value, dict):
        return "" if value is None else _dumped(value)
    short = _dumped(value)
    if len(short) <= _SHORT and "\\n" not in short:
        return short
    return "\n".join(line for key, item in value.items() for line in _laid_out(key, item))


def _laid_out(key: str, value: Json) -> list[str]:
    texts = value if isinstance(value, list) and all(isinstance(item, str) for item in value) else [value]
    if not any(isinstance(item, str) and "\n" in item for item in texts):
        return [f"{key}: {value if isinstance(value, str) else _dumped(value)}"]
    lines = [line for item in texts for line in item.rstrip("\n").split("\n")]
    return [f"{key}:", *(f"  {line}" for line in lines)]


def _dumped(value: Any, option: int = 0) -> str:
    try:
        return orjson.dumps(value, option=option).decode("utf-8")
    except TypeError:  # a lone surrogate, an integer past 64 bits, or nested very deep
        return repr(value)
