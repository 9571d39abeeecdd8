"""Numbers over the records of a pi session, on all branches, whatever becomes of them."""

from __future__ import annotations

from typing import Final

from ..entries import Json
from ._call_tally import CallTally

__all__ = ["Tally"]

_NAME: Final = 60
"""A signature of at most so many characters is the name of a field, or an id, and seals nothing."""


class Tally:
    """What was counted so far."""

    def __init__(self) -> None:
        self._calls = CallTally()
        self._user = self._assistant = self._groups = self._errors = 0
        self._reasoning = self._opaque = self._images = 0
        self._compactions = self._aborted = self._roots = 0

    def look_at(self, record: dict[str, Json]) -> None:
        """Count one record."""
        self._roots += "parentId" in record and record["parentId"] is None
        kind = record.get("type")
        self._compactions += kind == "compaction"
        message = record.get("message")
        if kind != "message" or type(message) is not dict:
            return
        role = message.get("role")
        if role == "toolResult":
            self._calls.answer(message.get("toolCallId"))
            self._errors += bool(message.get("isError"))
        elif role == "assistant":
            self._assistant += 1
            self._aborted += message.get("stopReason") in ("aborted", "error")
        elif role == "user":
            self._user += 1
        self._look_into(message.get("content"))

    def _look_into(self, content: Json) -> None:
        calls = 0
        for block in content if type(content) is list else ():
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if kind == "toolCall":
                self._calls.call(block.get("id"))
                calls += 1
            elif kind == "thinking":
                self._reasoning += 1
                signature = block.get("thinkingSignature")
                self._opaque += type(signature) is str and len(signature) > _NAME
            elif kind == "image":
                self._images += 1
        self._groups += calls > 1

    def counts(self) -> dict[str, int]:
        """The numbers, by the names that ``inspect`` gives them."""
        return {
            **self._calls.counts(),
            "user": self._user,
            "assistant": self._assistant,
            "assistant_messages": self._assistant,
            "parallel_groups": self._groups,
            "error_results": self._errors,
            "reasoning": self._reasoning,
            "opaque_reasoning": self._opaque,
            "images": self._images,
            "compactions": self._compactions,
            "aborted": self._aborted,
            "roots": self._roots,
        }
