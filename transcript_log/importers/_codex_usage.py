"""Which response each token count of a rollout belongs to.

Codex tells the tokens of a response in an event that names no response; its place tells.
Since late 2025 it comes after the response's items, at times after the outputs of its calls
too; before that it came ahead of them. It is repeated when limits or settings change, with
the same running total.
"""

from __future__ import annotations

from ..entries import Json, RecordedUsage
from ..response import Usage

__all__ = ["Usages"]


class Usages:
    """The response that is open, and what was told before its first item came.

    Attributes:
        lost: How many counts belong to no response of the rollout.
    """

    def __init__(self) -> None:
        self.lost = 0
        self._running: Json = None  # the total that was told last
        self._first: int | None = None  # where a response begins that nothing was told of
        self._waiting: RecordedUsage | None = None  # told of a response that has no item so far
        self._told = False  # whether it is already known of the response whose items come now

    def saw_answer(self, place: int) -> RecordedUsage | None:
        """An item of the model stands at ``place``: the usage that was told before it, if any was."""
        if self._waiting is not None:
            self._told = True
            return self.take()
        if self._first is None and not self._told:
            self._first = place
        return None

    def saw_output(self) -> None:
        """An output stands here: what the model says next is of another response."""
        self._told = False

    def saw_break(self) -> None:
        """A user turn, or the end: what was broken off is told nothing of any more."""
        self.lost += self._waiting is not None
        self._first, self._waiting, self._told = None, None, False

    def take(self) -> RecordedUsage | None:
        """What waits for a response, which has then come."""
        usage, self._waiting = self._waiting, None
        return usage

    def tell(self, info: Json) -> tuple[int, RecordedUsage] | None:
        """A count: the place of the response that it belongs to, if that is there, and its usage."""
        running = info.get("total_token_usage") if type(info) is dict else None
        if type(running) is not dict or running == self._running:
            return None
        self._running = running
        usage = _usage(info.get("last_token_usage"))
        if usage is None:
            return None
        place, self._first, self._told = self._first, None, False
        if place is not None:
            return place, usage
        self.lost += self._waiting is not None
        self._waiting = usage
        return None


def _usage(last: Json) -> RecordedUsage | None:
    """The tokens of one response; None where none are told."""
    if type(last) is not dict:
        return None
    usage = Usage.from_raw(
        {
            "input_tokens": last.get("input_tokens"),
            "input_tokens_details": {
                "cached_tokens": last.get("cached_input_tokens"),
                "cache_write_tokens": last.get("cache_write_input_tokens"),
            },
            "output_tokens": last.get("output_tokens"),
            "total_tokens": last.get("total_tokens"),
        },
        "openai-responses",
    )
    if usage is None or usage.input_unknown or not usage.all_input + usage.output:
        return None
    return usage.recorded()
