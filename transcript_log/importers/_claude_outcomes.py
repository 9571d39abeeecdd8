"""How a tool call of a Claude Code session ended, as the record of its output tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..codec import outcome_payload
from ..entries import Json, ToolOutcome, ToolStatus
from ..items import output_text

__all__ = ["Told", "told_outcomes", "told_payload"]

_DATA_KIND: Final = "toolUseResult"

_WORDS: Final[Mapping[str, ToolStatus]] = {
    "failed": "failed",
    "error": "failed",
    "killed": "cancelled",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "rejected": "cancelled",
    "timeout": "timeout",
    "timed_out": "timeout",
}
"""The words of ``status`` that say that a call did not succeed."""

_DECLINED: Final = (
    "User rejected tool use",
    "Error: User rejected tool use",
    "The user doesn't want to proceed with this tool use",
    "Error: The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Error: The user doesn't want to take this action right now",
    "[Request interrupted by user",
    "Error: [Request interrupted by user",
    "Error: Permission prompt was aborted",
    "Permission prompt was aborted",
)
_EXIT: Final = re.compile(r"(?:Error: )?Exit code (-?\d{1,10})\b", re.ASCII)
_TIMEOUT: Final = re.compile(r"(?:Error: )?(?:Exit code 143\n)?Command timed out after ")


class Told(NamedTuple):
    """What is known of a call beside its output: for the sidecar, and who carried it out."""

    call: str
    payload: dict[str, Json] | None
    agent: str | None


def told_outcomes(content: Sequence[Json], beside: Json) -> list[Told]:
    """What the record of some outputs tells of their calls, as far as it tells more than they do.

    Args:
        content: The blocks of the message.
        beside: What the record holds beside it, of the first output alone.
    """
    found: list[Told] = []
    for block in content:
        if type(block) is not dict or block.get("type") != "tool_result":
            continue
        call = block.get("tool_use_id")
        if type(call) is not str or not call:
            continue
        payload = told_payload(block, beside)
        agent = beside.get("agentId") if type(beside) is dict else None
        if type(agent) is not str or not agent:
            agent = None
        if payload is not None or agent is not None:
            found.append(Told(call, payload, agent))
        beside = None
    return found


def told_payload(block: Mapping[str, Any], beside: Json) -> dict[str, Json] | None:
    """The sidecar payload for an output; None where nothing is told that the output does not say.

    Args:
        block: The output as the model was sent it.
        beside: What the record holds of it beside that: an object, a list of blocks, or text.
    """
    status: ToolStatus = "success"
    code: int | None = None
    if type(beside) is dict:
        if block.get("is_error") is True or beside.get("success") is False:
            status = "failed"
        if beside.get("interrupted") is True:
            status = "cancelled"
        word = beside.get("status")
        if type(word) is str:
            status = _WORDS.get(word.lower(), status)
        if status == "success":
            # The commonest case by far: there is no need to look at the words.
            return {
                "kind": "tool_outcome",
                "data": {"status": "success", "dataKind": _DATA_KIND, "data": beside},
            }
    elif block.get("is_error") is True:
        said = beside if type(beside) is str else output_text(block.get("content"))
        status, code = _told_by(said)
    if beside is None and status in ("success", "failed") and code is None:
        return None
    return outcome_payload(
        ToolOutcome(
            status=status,
            exit_code=code,
            data_kind=None if beside is None else _DATA_KIND,
            data=beside,
        )
    )


def _told_by(said: str) -> tuple[ToolStatus, int | None]:
    """How a call failed, by the words of its error."""
    if said.startswith(_DECLINED):
        return "cancelled", None
    if _TIMEOUT.match(said):
        return "timeout", None
    found = _EXIT.match(said)
    return "failed", None if found is None else int(found[1])
