"""Numbers over the records of a Claude Code session, whatever becomes of them."""

from __future__ import annotations

from typing import Final

from ..entries import Json
from ._claude_nodes import ANSWERS, INTERRUPTS

__all__ = ["INTERRUPTED", "Tally"]

INTERRUPTED: Final = "[Request interrupted by user"
"""How the words begin that tell a model that the user broke a turn off."""


class Tally:
    """What was counted so far.

    Attributes:
        user: Records of the user; ``assistant``: of the assistant.
        sidechain: Those of both that a subagent said.
        roots: Records that follow none.
        compactions: Marks of compactions.
        messages: The ids of the assistant's messages.
    """

    def __init__(self) -> None:
        self.user = self.assistant = self.sidechain = 0
        self.roots = self.compactions = 0
        self.messages: set[str | None] = set()
        self._results = self._errors = self._calls = 0
        self._reasoning = self._opaque = 0
        self._images = self._aborted = 0
        self._calls_of: dict[str | None, int] = {}
        self._called: set[str] = set()
        self._answered: set[str] = set()

    def look_at(self, content: Json, message: str | None, calls: list[str], answered: list[str]) -> int:
        """Count what stands in a message, and say in flags what that makes of it.

        Args:
            content: Its content.
            message: The id of the API message.
            calls: The ids of the calls in it are added there.
            answered: The ids of the calls that are answered in it are added there.
        """
        flags = 0
        for block in content if type(content) is list else ():
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if kind == "tool_result":
                flags |= ANSWERS
                self._results += 1
                if block.get("is_error"):
                    self._errors += 1
                call = block.get("tool_use_id")
                if type(call) is str:
                    self._answered.add(call)
                    answered.append(call)
                inner = block.get("content")
                if type(inner) is list:
                    self._images += sum(type(part) is dict and part.get("type") == "image" for part in inner)
            elif kind == "tool_use":
                self._calls += 1
                self._calls_of[message] = self._calls_of.get(message, 0) + 1
                call = block.get("id")
                if type(call) is str:
                    self._called.add(call)
                    calls.append(call)
            elif kind == "text":
                said = block.get("text")
                if type(said) is str and INTERRUPTED in said:
                    self._aborted += 1
                    flags |= INTERRUPTS if said.startswith(INTERRUPTED) else 0
            elif kind in ("thinking", "redacted_thinking"):
                self._reasoning += 1
                self._opaque += bool(block.get("signature") or block.get("data"))
            elif kind == "image":
                self._images += 1
        return flags

    def counts(self) -> dict[str, int]:
        """The numbers, by the names that ``inspect`` gives them."""
        return {
            "user": self.user,
            "assistant": self.assistant,
            "assistant_messages": len(self.messages),
            "calls": self._calls,
            "results": self._results,
            "unanswered": len(self._called - self._answered),
            "orphan_results": len(self._answered - self._called),
            "parallel_groups": sum(number > 1 for number in self._calls_of.values()),
            "error_results": self._errors,
            "reasoning": self._reasoning,
            "opaque_reasoning": self._opaque,
            "images": self._images,
            "compactions": self.compactions,
            "sidechain": self.sidechain,
            "aborted": self._aborted,
            "roots": self.roots,
        }
