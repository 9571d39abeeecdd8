"""What the records of an answer say of it in a session of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..entries import Json, MessageEntry, RecordedUsage, ResponseRecord
from ..importers._claude_families import family_of
from ._conversation import Row
from ._resuming import Changes, made_uuid

__all__ = ["API", "Answers"]

API: Final = "anthropic-messages"

_UNKNOWN: Final = "unknown"
_STARTS: Final = {"bedrock": "msg_bdrk_", "vertex": "msg_vrtx_"}
"""How the ids of messages begin that came of a cloud."""

_STOPPED: Final = {
    "stop": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "pause": "pause_turn",
    "refusal": "refusal",
    "context_window_exceeded": "model_context_window_exceeded",
}
"""Why a model stopped, in words that are read back as what they were."""


class Answers:
    """The messages of a session.

    Args:
        session: Its id.
        responses: What is known of each response, by its number.
        changes: Is told of what is not said.
    """

    def __init__(
        self, session: str, responses: Mapping[int, ResponseRecord | None], changes: Changes
    ) -> None:
        self._session = session
        self._responses = responses
        self._changes = changes
        self._ids: dict[int, tuple[str, str]] = {}
        self._taken: set[str] = set()

    def head(self, row: Row) -> tuple[dict[str, Any], str, str | None]:
        """The message that a row is a piece of, without content, its request, and why it ended."""
        first = row.sources[0] if row.sources else None
        record = self._responses.get(row.response or 0)
        name, request = self._ids_of(row, first, record)
        family = (first.family if first is not None else None) or ""
        model = None if record is None else record.model
        if not model:
            # Claude Code does not get past an answer that names none.
            model = "claude" if family_of(None, name) == family else _UNKNOWN
            self._changes.once("added", "model", "answers of an unknown model name one all the same")
        if family.startswith(f"{API}/") and family_of(model, name) != family:
            self._changes.once("rewritten", "family", f"that {family} alone reads its thinking is not told")
        message: dict[str, Any] = {"id": name, "type": "message", "role": "assistant", "model": model}
        if record is not None and record.usage is not None:
            message["usage"] = self._usage(record.usage)
        reason = None if record is None else record.finish_reason
        return (
            message | {"stop_sequence": None},
            request,
            None if reason is None else _STOPPED.get(reason, reason),
        )

    def _ids_of(self, row: Row, first: MessageEntry | None, record: ResponseRecord | None) -> tuple[str, str]:
        """The ids of the message and of the request."""
        number = row.response or 0
        if number not in self._ids:
            seed = made_uuid(self._session, "message", first.id if first is not None else str(row.place))
            digits = seed.replace("-", "")
            platform = ((first.family if first is not None else None) or "//").split("/")[1]
            made = f"{_STARTS.get(platform, 'msg_')}{digits[:24]}"
            name = (record.id if record is not None else None) or made
            if name in self._taken:
                why = "a response before it has the same id: it goes under another one"
                self._changes.tell("rewritten", "response", why, None if first is None else first.id)
                name = made
            self._taken.add(name)
            self._ids[number] = (name, f"req_{digits[8:]}")
        return self._ids[number]

    def _usage(self, usage: RecordedUsage) -> dict[str, Json]:
        if usage.cost.total:
            self._changes.once("left-out", "cost", "what responses cost is not told")
        told: dict[str, Json] = {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
        }
        if usage.input_unknown:
            del told["input_tokens"]
        return told
