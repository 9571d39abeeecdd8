"""Numbers over the records of a Codex rollout, whatever becomes of them."""

from __future__ import annotations

from ..entries import Json
from ._call_tally import CallTally

__all__ = ["Tally"]


class Tally:
    """What was counted so far."""

    def __init__(self) -> None:
        self._calls = CallTally()
        self._adjacent = 0  # how many calls stand side by side, up to here
        self._user = self._assistant = self._groups = 0
        self._reasoning = self._opaque = self._images = 0
        self._compactions = self._aborted = 0

    def look_at(self, record: dict[str, Json]) -> None:
        """Count one record: an envelope, or one of a flat file."""
        kind = record.get("type")
        if "payload" not in record:
            self._look_at_item(record, kind)
            return
        payload = record["payload"]
        if kind == "compacted":
            self._compactions += 1
        elif type(payload) is dict:
            what = payload.get("type")
            if kind == "response_item":
                self._look_at_item(payload, what)
            elif kind == "event_msg" and what == "turn_aborted":
                self._aborted += 1

    def _look_at_item(self, item: dict[str, Json], kind: Json) -> None:
        if type(kind) is not str:
            kind = ""
        if kind.endswith("_call") and item.get("call_id"):
            self._calls.call(item["call_id"])
            self._adjacent += 1
            self._groups += self._adjacent == 2
            return
        self._adjacent = 0  # marks without content stand between calls too
        if kind.endswith("_output"):
            self._calls.answer(item.get("call_id"))
        elif kind == "reasoning":
            self._reasoning += 1
            self._opaque += bool(item.get("encrypted_content"))
        elif kind == "message":
            if item.get("role") == "assistant":
                self._assistant += 1
            else:
                self._user += 1
            content = item.get("content")
            for part in content if type(content) is list else ():
                self._images += type(part) is dict and part.get("type") == "input_image"

    def counts(self) -> dict[str, int]:
        """The numbers, by the names that ``inspect`` gives them."""
        return {
            **self._calls.counts(),
            "user": self._user,
            "assistant": self._assistant,
            "assistant_messages": self._assistant,
            "parallel_groups": self._groups,
            "reasoning": self._reasoning,
            "opaque_reasoning": self._opaque,
            "images": self._images,
            "compactions": self._compactions,
            "aborted": self._aborted,
        }
