"""The conformance vectors: where they are, how to read them, and when two results are the same.

``TRANSCRIPT_LOG_SHARED`` names a folder with a ``conformance`` folder in it. Without it the
folder ``shared`` beside the checkout is used if there is one, and else the copy in ``data``.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).resolve().parent
_TIMES = (("timestamp",), ("compaction", "responseTimestamp"), ("run", "startedAt"), ("run", "completedAt"))


@dataclass(frozen=True)
class Case:
    """One vector. ``quirk`` is None for a case that every port has to match.

    ``source`` says where a case comes from that was not computed, and ``assumption`` what it
    takes for granted.
    """

    name: str
    input: Any
    expect: Any
    quirk: str | None = None
    source: str | None = None
    assumption: str | None = None


def folder() -> Path:
    """The folder that the vectors are in.

    Raises:
        FileNotFoundError: ``TRANSCRIPT_LOG_SHARED`` names a folder without vectors.
    """
    named = os.environ.get("TRANSCRIPT_LOG_SHARED")
    if named:
        found = Path(named) / "conformance"
        if not found.is_dir():
            raise FileNotFoundError(f"TRANSCRIPT_LOG_SHARED: there is no folder {found}")
        return found
    beside = _HERE.parent.parent / "shared" / "conformance"
    return beside if beside.is_dir() else _HERE / "data" / "conformance"


def cases(name: str) -> list[Case]:
    """The cases of one file. None at all where a folder that was named has no such file."""
    path = folder() / f"{name}.json"
    if not path.exists() and os.environ.get("TRANSCRIPT_LOG_SHARED"):
        return []
    return [Case(**case) for case in json.loads(path.read_bytes())]


def params(name: str, *, quirks: bool | None = None) -> list[Any]:
    """The cases of one file to parametrize a test with: all, or only those with or without a quirk."""
    return [
        pytest.param(case, id=case.name)
        for case in cases(name)
        if quirks is None or quirks == (case.quirk is not None)
    ]


def sessions() -> list[Any]:
    """The whole session files of the folder ``go``, to parametrize a test with."""
    paths = sorted((folder() / "go").glob("*.jsonl"))
    return [pytest.param(path, id=path.stem) for path in paths if not path.stem.endswith(".details")]


def assemble(parts: Sequence[dict[str, Any]] | None) -> bytes | None:
    """The bytes that a list of parts stands for; None for a file that is missing."""
    if parts is None:
        return None
    return b"".join(_part(part) for part in parts)


def _part(part: dict[str, Any]) -> bytes:
    match part:
        case {"text": text}:
            return str(text).encode("utf-8")
        case {"base64": text}:
            return base64.b64decode(text, validate=True)
        case {"repeat": text, "count": count}:
            return str(text).encode("utf-8") * int(count)
    raise ValueError(f"a part of an unknown sort: {part}")


def same_json(one: Any, other: Any) -> bool:
    """Whether two decoded values are the same JSON. How a number is spelled does not matter."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    # In Python, True is 1.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def same_line(one: Any, other: Any) -> bool:
    """Whether two decoded log lines are the same, with times as instants to the microsecond."""
    return same_json(_with_instants(one), _with_instants(other))


def _with_instants(line: Any) -> Any:
    line = dict(line)
    for *outer, key in _TIMES:
        owner = line
        for name in outer:
            if not isinstance(owner.get(name), dict):
                break
            owner[name] = owner = dict(owner[name])
        else:
            if isinstance(owner.get(key), str):
                owner[key] = instant(owner[key])
    return line


def instant(text: str) -> int:
    """The microseconds since 1970 that an RFC 3339 text names, by the standard library alone."""
    return microseconds(datetime.fromisoformat(text))


def microseconds(time: datetime) -> int:
    """The microseconds since 1970 of an aware time, also where its UTC form is outside the calendar."""
    offset = time.utcoffset()
    assert offset is not None
    since = time.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC) - offset
    return since // timedelta(microseconds=1)
