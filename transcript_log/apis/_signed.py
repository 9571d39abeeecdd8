"""What pi keeps of an answer in signatures and ids, so that it can be sent back as it came.

The signature of a thought from the Responses API is the whole reasoning item as JSON, that
of a text names its message, and the id of a call is that of the call and that of its item
with ``|`` between. A call from a Chat server may bear an entry of ``reasoning_details``.
(https://github.com/badlogic/pi-mono, ``packages/ai/src/types.ts`` and
``packages/ai/src/providers/openai-responses-shared.ts``, 2026-03.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._json import read_text

__all__ = ["SplitIds", "message_mark", "reasoning_details", "reasoning_item", "split_id"]


def reasoning_item(signature: str) -> dict[str, Any] | None:
    """The reasoning item that a signature is; None if it is none."""
    value = _object(signature)
    return value if value is not None and value.get("type") == "reasoning" else None


def message_mark(signature: str) -> dict[str, str]:
    """The id of the message that a text came in, and its phase, as far as the signature tells.

    It is JSON of version 1, or the bare id.
    """
    value = _object(signature)
    if value is None:
        return {"id": signature} if signature else {}
    return {key: told for key in ("id", "phase") if type(told := value.get(key)) is str and told}


def split_id(call_id: str) -> tuple[str, str]:
    """The id of a call, and that of its item; ``""`` where that is not told."""
    name, bar, item = call_id.partition("|")
    return (name, item) if bar and name else (call_id, "")


class SplitIds:
    """The ids of calls without those of their items, one context long.

    Of several ids that would become one, the first does; the others stay as they are.

    Attributes:
        names: What each id that was split becomes.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._whole: dict[str, str] = {}

    def item_of(self, call_id: str) -> str:
        """Split the id of a call; gives the id of its item, ``""`` where there is none to tell."""
        name, item = split_id(call_id)
        if self._whole.setdefault(name, call_id) != call_id:
            return ""
        if name != call_id:
            self.names[call_id] = name
        return item


def reasoning_details(item: Mapping[str, Any]) -> list[Any]:
    """The entries of ``reasoning_details`` that the calls of a message bear."""
    content = item.get("content")
    found = []
    for block in content if type(content) is list else ():
        mark = block.get("thoughtSignature") if type(block) is dict else None
        if type(mark) is str and (value := _object(mark)) is not None:
            found.append(value)
    return found


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = read_text(text)
    except ValueError:
        return None
    return value if type(value) is dict else None
