"""What the sidecar says of a tool call: that it began, and how it ended."""

from __future__ import annotations

from typing import cast

from .._times import format_time, parse_time_leniently
from ..entries import Json, ToolOutcome, ToolStarted, ToolStatus

__all__ = ["outcome_payload", "read_outcome", "read_started", "started_payload"]


def outcome_payload(outcome: ToolOutcome) -> dict[str, Json]:
    """The sidecar payload that records how a call ended."""
    data: dict[str, Json] = {"status": outcome.raw_status or outcome.status}
    for key, value in (
        ("errorCode", outcome.error_code),
        ("exitCode", outcome.exit_code),
        ("dataKind", outcome.data_kind),
        ("data", outcome.data),
    ):
        if value is not None:
            data[key] = value
    return {"kind": "tool_outcome", "data": data}


def read_outcome(payload: Json) -> ToolOutcome | None:
    """The outcome that a sidecar payload tells of; None if it tells of none.

    A payload of another kind is a success with that data; one without a kind is read as the
    outcome itself, by its ``status``. A status that is not known is ``"unknown"``, and the
    word is kept.
    """
    if type(payload) is not dict:
        return None
    kind = payload.get("kind")
    if kind in ("tool_started", "request"):
        return None
    if type(kind) is str and kind != "tool_outcome":
        return ToolOutcome(status="success", data_kind=kind, data=payload.get("data"))
    fields = payload.get("data") if kind == "tool_outcome" else payload
    if type(fields) is not dict or type(fields.get("status")) is not str:
        return None
    word: str = fields["status"]
    known = word in ("success", "failed", "cancelled", "timeout")
    code = fields.get("exitCode")
    return ToolOutcome(
        status=cast(ToolStatus, word) if known else "unknown",
        error_code=_text(fields.get("errorCode")),
        exit_code=code if type(code) is int else None,
        data_kind=_text(fields.get("dataKind")),
        data=fields.get("data"),
        raw_status=None if known or word == "unknown" else word,
    )


def started_payload(started: ToolStarted) -> dict[str, Json]:
    """The sidecar payload that records that a call began to run."""
    return {"kind": "tool_started", "data": {"at": None if started.at is None else format_time(started.at)}}


def read_started(payload: Json) -> ToolStarted | None:
    """What a sidecar payload tells of a call's start; None if it tells of none."""
    if type(payload) is not dict or payload.get("kind") != "tool_started":
        return None
    data = payload.get("data")
    return ToolStarted(at=parse_time_leniently(data.get("at"))[0] if type(data) is dict else None)


def _text(value: Json) -> str | None:
    return value if type(value) is str else None
