"""How a tool call of a pi session ended: as its result tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .. import items
from ..entries import Json, ToolOutcome, ToolStatus

__all__ = ["outcome_of"]

# What pi's tools put at the end of the text of a call that failed (bash.ts, 2026-03).
_EXIT: Final = re.compile(r"(?:^|\n)Command exited with code (-?\d{1,10})$", re.ASCII)
_TIMEOUT: Final = re.compile(r"(?:^|\n)Command timed out after [\d.]+ seconds$", re.ASCII)
_CANCELLED: Final = re.compile(r"(?:^|\n)(?:Command|Operation) aborted$")


def outcome_of(message: Mapping[str, Json]) -> ToolOutcome:
    """How the call ended that a result answers. The result's details are kept whole."""
    status: ToolStatus = "success"
    code: int | None = None
    if message.get("isError") is True:
        status = "failed"
        text = items.output_text(message.get("content"))[-200:]
        if (match := _EXIT.search(text)) is not None:
            code = int(match[1])
        elif _TIMEOUT.search(text):
            status = "timeout"
        elif _CANCELLED.search(text):
            status = "cancelled"
    name, details = message.get("toolName"), message.get("details")
    return ToolOutcome(
        status=status,
        exit_code=code,
        data_kind=name if details is not None and type(name) is str and name else None,
        data=details,
    )
