"""Which calls of a foreign session have an output, and which outputs have a call."""

from __future__ import annotations

from ..entries import Json

__all__ = ["CallTally"]


class CallTally:
    """The calls and outputs so far, by id over the whole file.

    Attributes:
        calls: How many calls there were, each that names an id.
        results: How many outputs there were.
    """

    def __init__(self) -> None:
        self.calls = self.results = 0
        self._called: set[str] = set()
        self._answered: set[str | None] = set()

    def call(self, named: Json) -> None:
        self.calls += 1
        if type(named) is str:
            self._called.add(named)

    def answer(self, named: Json) -> None:
        """An output; those that name no call are one more id that no call has."""
        self.results += 1
        self._answered.add(named if type(named) is str else None)

    def counts(self) -> dict[str, int]:
        """The numbers, by the names that ``inspect`` gives them."""
        return {
            "calls": self.calls,
            "results": self.results,
            "unanswered": len(self._called - self._answered),
            "orphan_results": len(self._answered - self._called),
        }
