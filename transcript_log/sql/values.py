"""Values of a session brought into what a column can hold, and rows into lines of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from math import isfinite
from typing import Any, Final, TypeAlias

import orjson

from .. import _json
from .._times import format_time
from ..entries import CompactionEntry, ContextEntry, Json, RunEntry

__all__ = ["Doubts", "arguments_json", "encode_rows", "entry_json"]


def arguments_json(arguments: Json) -> Json:
    """The arguments of a call: the value that their text spells, or the text where it spells none."""
    if type(arguments) is not str:
        return arguments
    try:
        return _json.decode(arguments.encode("utf-8"))
    except ValueError:  # also where half of a surrogate pair has no UTF-8
        return arguments


def entry_json(entry: ContextEntry | CompactionEntry | RunEntry) -> Json:
    """What an entry holds, with the names that its attributes have."""
    match entry:
        case ContextEntry(context=context):
            return _as_json(context)
        case CompactionEntry(compaction=compaction):
            return _as_json(compaction)
        case RunEntry(run=run):
            return _as_json(run)


def _as_json(value: Any) -> Json:
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    if is_dataclass(value):
        return {field.name: _as_json(getattr(value, field.name)) for field in fields(value)}
    return value


# --------------------------------------------------------------------------------- rows

Doubts: TypeAlias = dict[str, int]
"""What could not be held as it was, in words, and how often that was met."""

_SURROGATES: Final = "characters are half of a surrogate pair: they stand as escapes, as in \\ud800"
_TOO_LARGE: Final = "numbers are too large for their column: they stand as NULL"
_TOO_DEEP: Final = "values nest too deep for the database: what is further in stands as an ellipsis"

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BEYOND_FLOAT: Final = 10**400
_INT: Final = 1 << 63
_DEEPEST: Final = 120
"""How deep a value may nest: the database refuses a line with more than 128 levels."""


def encode_rows(
    rows: Iterable[Any], columns: Sequence[tuple[str, str, Callable[[Any], Any]]], doubts: Doubts
) -> Iterator[bytes]:
    """A line of JSON for each row: an object with those of the columns that are not NULL.

    Args:
        rows: The rows.
        columns: The name of each column, its type, and what reads it from a row.
        doubts: Is told of what cannot be held as it was.
    """
    readers = [(name, read) for name, _, read in columns]
    numbers = [name for name, kind, _ in columns if kind == "BIGINT"]
    times = [name for name, kind, _ in columns if kind == "TIMESTAMP"]
    holds_json = any(kind == "JSON" for _, kind, _ in columns)
    dumps = orjson.dumps
    for row in rows:
        values = {name: value for name, read in readers if (value := read(row)) is not None}
        for name in numbers:
            if name in values and not -_INT <= values[name] < _INT:
                del values[name]
                _doubt(doubts, _TOO_LARGE)
        for name in times:
            # The database reads past an offset. An instant that UTC cannot name keeps its own.
            if name in values and values[name].utcoffset():
                del values[name]
                _doubt(doubts, _TOO_LARGE)
        try:
            line = dumps(values, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:
            line = _spelled(values, doubts)
        else:
            if holds_json and (
                # A number beyond a float reads as infinity, and would be written as null.
                (b"null" in line and _has_infinity(values))
                or (line.count(b"[") + line.count(b"{") > _DEEPEST and _is_deep(values))
            ):
                line = _spelled(values, doubts)
        yield line


def _doubt(doubts: Doubts, what: str, number: int = 1) -> None:
    doubts[what] = doubts.get(what, 0) + number


def _spelled(values: Mapping[str, Any], doubts: Doubts) -> bytes:
    """The same, of values that need a second look."""
    mended = {name: _mended(value, doubts, _DEEPEST) for name, value in values.items()}
    return json.dumps(mended, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode() + b"\n"


def _mended(value: Any, doubts: Doubts, depth: int) -> Any:
    if isinstance(value, str):
        if _SURROGATE.search(value) is None:
            return value
        _doubt(doubts, _SURROGATES, len(_SURROGATE.findall(value)))
        return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not isfinite(value):
        return _BEYOND_FLOAT if value > 0 else -_BEYOND_FLOAT
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        _doubt(doubts, _TOO_DEEP)
        return "…"
    if isinstance(value, list):
        return [_mended(item, doubts, depth - 1) for item in value]
    return {_mended(key, doubts, 1): _mended(item, doubts, depth - 1) for key, item in value.items()}


def _is_deep(values: Mapping[str, Any]) -> bool:
    level: list[Any] = [values]
    for _ in range(_DEEPEST + 1):
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _has_infinity(value: Any) -> bool:
    nested = [value]
    for outer in nested:
        for item in outer.values() if isinstance(outer, dict) else outer:
            if isinstance(item, dict | list):
                nested.append(item)
            elif isinstance(item, float) and not isfinite(item):
                return True
    return False
