"""How a tool call of a Codex rollout ended: as an event tells, or as its stored output does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .. import _json
from ..entries import Json, ToolOutcome, ToolStatus

__all__ = ["event_outcome", "told_outcome"]

_STATUSES: Final[Mapping[str, ToolStatus]] = {
    "completed": "success",
    "success": "success",
    "succeeded": "success",
    "failed": "failed",
    "error": "failed",
    "errored": "failed",
    "declined": "cancelled",
    "denied": "cancelled",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "aborted": "cancelled",
    "interrupted": "cancelled",
    "timeout": "timeout",
    "timed_out": "timeout",
}


def event_outcome(kind: str, data: dict[str, Json]) -> ToolOutcome:
    """How a call ended, as the event of its end tells. The event is kept whole."""
    word = data.get("status")
    if type(word) is dict:  # as in ``{"completed": "…"}``
        word = next(iter(word), None)
    raw = _text(word)
    told = None if raw is None else _STATUSES.get(raw.lower())
    code = data.get("exit_code")
    exit_code = code if type(code) is int else None
    if told not in ("cancelled", "timeout"):
        failed = _has_failed(data, exit_code)
        if failed is not None:
            told = "failed" if failed else "success"
        elif raw is None:
            told = "success"
    return ToolOutcome(
        status=told or "unknown",
        exit_code=exit_code,
        data_kind=kind,
        data=data,
        raw_status=None if told is not None else raw,
    )


def _has_failed(data: dict[str, Json], exit_code: int | None) -> bool | None:
    """Whether the facts of an event say that its call failed; None if they say nothing."""
    if exit_code is not None:
        return exit_code != 0
    if type(success := data.get("success")) is bool:
        return not success
    if data.get("error") is not None:
        return True
    result = data.get("result")
    if type(result) is not dict:
        return None
    if "Err" in result:
        return True
    given = result.get("Ok", result)
    return (
        True if type(given) is dict and given.get("isError") is True else (False if "Ok" in result else None)
    )


# What Codex puts before the output of a command.
_EXIT: Final = re.compile(
    r"(?:Chunk ID: \w+\n)?(?:Wall time: [\d.]+ seconds\n)?Process exited with code (-?\d{1,10})\n"
    r"|Exit code: (-?\d{1,10})\nWall time: ",
    re.ASCII,
)


def told_outcome(content: Json) -> ToolOutcome | None:
    """How a call ended, where a stored output tells it itself.

    Old files wrap a failure in an object with ``success``, and the output of a command in
    JSON text with its exit code; later ones begin the text with it.
    """
    if type(content) is dict and type(success := content.get("success")) is bool:
        return ToolOutcome(status="success" if success else "failed")
    if type(content) is not str:
        return None
    if (match := _EXIT.match(content)) is not None:
        code: Json = int(match[1] or match[2])
    elif content.startswith('{"output":'):
        try:
            told = _json.decode(content.encode("utf-8", "surrogatepass"))
        except ValueError:
            return None
        metadata = told.get("metadata") if type(told) is dict else None
        code = metadata.get("exit_code") if type(metadata) is dict else None
    else:
        return None
    if type(code) is not int:
        return None
    return ToolOutcome(status="failed" if code else "success", exit_code=code)


def _text(value: Json) -> str | None:
    return value if type(value) is str and value else None
