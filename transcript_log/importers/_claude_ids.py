"""The ids of the entries that are made of the records of a Claude Code session."""

from __future__ import annotations

from . import entry_id
from ._claude_nodes import Node

__all__ = ["Ids", "own_id"]


def own_id(uuid: str) -> str | None:
    """The id of the entry of a record with a UUID: its first 24 hex digits; None if it is no UUID.

    A record that was copied into another file keeps its UUID, so its entry has one id in both.
    """
    made = uuid.replace("-", "")
    return made[:24] if len(uuid) == 36 and len(made) == 32 and made.isascii() and made.isalnum() else None


class Ids:
    """Gives each entry an id of its own; the same ones each time a file is imported."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._given: set[str] = set()
        self._numbers: dict[int, int] = {}  # how many ids were made from a line

    def of(self, node: Node) -> str:
        """The id of a record's own entry."""
        made = own_id(node.uuid)
        if made is None or made in self._given:
            return self.beside(node)
        self._given.add(made)
        return made

    def beside(self, node: Node) -> str:
        """An id for what comes of a record beside its own entry."""
        number = self._numbers.get(node.line, 0)
        while (made := entry_id(self._session, node.line, number)) in self._given:
            number += 1
        self._numbers[node.line] = number + 1
        self._given.add(made)
        return made
