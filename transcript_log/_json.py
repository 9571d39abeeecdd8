"""JSON that gives back what was put in.

orjson does the work. This module adds what a log needs around it: a value that JSON
would not give back equal, types included, is refused before it is written, with its
path; a lone surrogate is written as an escape; and what other writers wrote is
understood where orjson refuses it or would round it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from math import inf
from typing import Any, Final, NoReturn

import orjson

from .errors import EntryError

__all__ = [
    "MAX_NESTING",
    "decode",
    "decode_all",
    "decode_doubting",
    "decode_exact",
    "encode",
    "has_long_digits",
    "is_exact",
    "is_json",
    "is_same",
    "read_text",
]

MAX_NESTING: Final = 200
"""How deep a value that is written may nest lists and objects."""

_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**64 - 1


def encode(value: Any, where: str = "$") -> bytes:
    """The compact UTF-8 JSON of ``value``, without a raw line feed in it.

    Accepted are ``dict`` with ``str`` keys, ``list``, ``str``, ``int`` from -2**63 to
    2**64-1, finite ``float``, ``bool`` and ``None``, exactly these types: a subclass would
    not come back as what it was.

    Raises:
        EntryError: The value cannot be given back as it is; ``where`` is its path.
    """
    try:
        text = orjson.dumps(value)
    except TypeError:
        _refuse(value, where, MAX_NESTING)
        # A lone surrogate has no UTF-8. Two that would read as one character are refused.
        _refuse_surrogate_pairs(value, where)
        return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    # orjson also writes what would not come back as it was, such as a subclass or a time.
    if not _is_plain(value):
        _refuse(value, where, MAX_NESTING)
    return text


def _is_plain(value: Any) -> bool:
    """Whether a value that orjson could write, hence a finite one, comes back as it is."""
    level: list[Any] = [[value]]
    for _ in range(MAX_NESTING + 1):  # one more: the value stands in a list here
        nested: list[Any] = []
        for outer in level:
            if type(outer) is dict:
                for key in outer:
                    if type(key) is not str:
                        return False
            for item in outer.values() if type(outer) is dict else outer:
                kind = type(item)
                if kind is str or item is None or kind is bool:
                    continue
                if kind is dict or kind is list:
                    nested.append(item)
                elif kind is int:
                    if not _MIN_INT <= item <= _MAX_INT:
                        return False
                elif kind is not float or not -inf < item < inf:
                    return False
        if not nested:
            return True
        level = nested
    return False


def _refuse(value: Any, where: str, depth: int) -> None:
    """Raise for the first part of ``value`` that JSON would not give back."""
    kind = type(value)
    if kind is not dict and kind is not list:
        _check_scalar(value, where)
        return
    if depth == 0:
        raise EntryError(where, f"lists and objects nest more than {MAX_NESTING} deep", "json")
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise EntryError(where, f"a key is {_name(key)}, not text", "json")
            _refuse(item, _member(where, key), depth - 1)
    else:
        for index, item in enumerate(value):
            _refuse(item, f"{where}[{index}]", depth - 1)


def _check_scalar(value: Any, where: str) -> None:
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return
    if kind is int:
        if not _MIN_INT <= value <= _MAX_INT:
            raise EntryError(where, "an integer is outside -2**63 to 2**64-1; store it as text", "json")
        return
    if kind is float:
        if not -inf < value < inf:
            raise EntryError(where, f"the number is {value!r}, which JSON cannot hold", "json")
        return
    raise EntryError(where, f"a value of type {_name(value)} is no JSON value", "json")


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values, or entries, are equal, types too: to Python 1 is 1.0, and True.

    It does not recurse: what is read may nest deeper than Python's stack.
    """
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if left is right:
            continue
        kind = type(left)
        if kind is not type(right):
            return False
        if kind is dict:
            if left.keys() != right.keys():
                return False
            pairs.extend((left[key], right[key]) for key in left)
        elif kind is list or kind is tuple:
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif kind is not str and is_dataclass(left):
            # What ``fields`` gives, without the time that takes.
            names: Iterable[str] = left.__dataclass_fields__
            pairs.extend((getattr(left, name), getattr(right, name)) for name in names)
        elif left != right:
            return False
    return True


def _name(value: Any) -> str:
    return type(value).__name__


def _member(where: str, key: str) -> str:
    return f"{where}.{key}" if key.isidentifier() else f"{where}[{json.dumps(key)}]"


_SURROGATE_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _refuse_surrogate_pairs(value: Any, where: str) -> None:
    kind = type(value)
    if kind is str:
        if _SURROGATE_PAIR.search(value):
            raise EntryError(
                where,
                "the text holds two surrogates that JSON would give back as one character; join them first",
                "json",
            )
    elif kind is dict:
        for key, item in value.items():
            _refuse_surrogate_pairs(key, where)
            _refuse_surrogate_pairs(item, _member(where, key))
    elif kind is list:
        for index, item in enumerate(value):
            _refuse_surrogate_pairs(item, f"{where}[{index}]")


# --------------------------------------------------------------------------- reading


def decode(text: bytes) -> Any:
    """The value of one JSON text that another writer may have written.

    Lone surrogates given as escapes become lone surrogates, integers keep every digit,
    and a number too large for a float is infinity.

    Raises:
        ValueError: ``text`` is not one JSON value, or nests too deep.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        if _ONLY_EXACT.search(text):
            return decode_exact(text)
        raise
    return value if is_exact(value) else decode_exact(text)


def decode_doubting(text: bytes, stored: Callable[[Any], Any] | None = None) -> tuple[Any, bool]:
    """What :func:`decode` gives, and whether a log might refuse to hold it.

    It may say yes of a value that can be held, never no of one that cannot.

    Args:
        text: One JSON text.
        stored: Gives the part of a value that matters. The rest of it is not searched for numbers
            that lost digits.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        if _ONLY_EXACT.search(text):
            return decode_exact(text), True
        raise
    nested = _containers(value if stored is None else stored(value))
    # No part lies deeper than there are lists and objects to hold it.
    return (decode_exact(text), True) if nested < 0 else (value, nested > MAX_NESTING)


def is_exact(value: Any) -> bool:
    """Whether a value that orjson read is what stood there: integers past 64 bits become floats."""
    return _containers(value) >= 0


def _containers(value: Any) -> int:
    """How many lists and objects a value that orjson read has; -1 if a number of it was rounded.

    The value is walked over and not its text: in the text most runs of digits are part of a
    string, and a search for them costs more than the parsing.
    """
    if type(value) is not dict and type(value) is not list:
        return 0 if type(value) is not float or -_ROUNDED < value < _ROUNDED else -1
    nested = [value]
    for outer in nested:
        for item in outer.values() if type(outer) is dict else outer:
            kind = type(item)
            if kind is str:
                continue
            if kind is dict or kind is list:
                nested.append(item)
            elif kind is float and not -_ROUNDED < item < _ROUNDED:
                return -1
    return len(nested)


_ROUNDED: Final = 2.0**63
# What orjson refuses and JSON allows: the escape of a surrogate, a number beyond a float.
_ONLY_EXACT: Final = re.compile(rb"\\u[dD][89a-fA-F]|[eE][+-]?[0-9]{3}|[0-9]{300}")


_DIGITS: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))


def has_long_digits(text: bytes) -> bool:
    """Whether ``text`` may hold 19 digits in a row: an integer that orjson could round.

    Every ninth byte is looked at: of 19 digits in a row at least two such are neighbours.
    It may say yes where there is none, never no where there is one.
    """
    return text[::9].translate(_DIGITS).find(b"00") >= 0


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_FAITHFUL: Final = json.JSONDecoder(parse_constant=_constant, strict=True)
# A string that never ends is taken whole: trying each quote in it again would take for ever.
_OPENERS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)
_SPACE: Final = " \t\r\n"


def decode_exact(text: bytes) -> Any:
    """Like :func:`decode`, by the slow and exact way from the start."""
    _limit_nesting(text)
    string = text.decode("utf-8")  # a UnicodeDecodeError is a ValueError
    try:
        return _FAITHFUL.decode(string)
    except RecursionError:  # pragma: no cover - only deep inside a caller's own recursion
        raise ValueError("lists and objects nest too deep to be read here") from None


def _limit_nesting(text: bytes) -> None:
    if text.count(b"[") + text.count(b"{") <= MAX_NESTING:
        return
    depth = 0
    for match in _OPENERS.finditer(text):
        first = match[0][0]
        if first in b"[{":
            depth += 1
            if depth > MAX_NESTING:
                raise ValueError(f"lists and objects nest more than {MAX_NESTING} deep")
        elif first in b"]}":
            depth -= 1


def decode_all(text: bytes) -> list[tuple[int, int, Any]]:
    """The values that fill ``text`` with nothing but white space and NULs around them.

    Each comes with where it begins and ends, in bytes. The list is empty unless the whole
    of ``text`` is read: half of a line is no value.
    """
    try:
        _limit_nesting(text)
        string = text.decode("utf-8")
    except ValueError:
        return []
    found: list[tuple[int, int, Any]] = []
    at = 0
    end = len(string)
    byte = 0
    while True:
        start = at
        while at < end and (string[at] in _SPACE or string[at] == "\0"):
            at += 1
        byte += at - start
        if at == end:
            return found
        try:
            value, stop = _FAITHFUL.raw_decode(string, at)
        except (ValueError, RecursionError):
            return []
        size = len(string[at:stop].encode("utf-8"))
        found.append((byte, byte + size, value))
        byte += size
        at = stop


def read_text(text: str) -> Any:
    """The value that a text of JSON stands for, such as the arguments of a tool call.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        # A lone surrogate, or a large number, which others write and orjson refuses.
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _no_constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is no JSON")


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        read_text(text)
    except ValueError:
        return False
    return True
