"""A tool call as the author of an agent runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .. import items
from .._json import decode_exact
from ..entries import Json
from ._values import Object, as_object, as_text
from .finish import CUTTING, FinishReason

__all__ = ["ToolCall", "call_given", "call_of", "decoded", "is_cut_call"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model made, to be run and answered.

    Attributes:
        id: What the output must name; empty where the provider gave none, as Gemini may.
        name: The tool.
        arguments: The decoded object where they are one; else as they stand in the answer, such
            as the free text of a custom tool, or text that cannot be read.
        raw_arguments: As they stand in the answer: JSON text, free text, or an object.
        kind: ``"function"``, ``"custom"``, ``"local_shell"``, ``"shell"``, ``"apply_patch"``,
            ``"computer"``, or another word that the provider spells before ``_call``.
        is_cut: The answer ended, or may have, before the call was whole: its arguments
            may be incomplete even where they can be read.
        entry: Of a call in a session: the entry that holds it, for some providers give one id
            to several calls.
    """

    id: str
    name: str
    arguments: Json
    raw_arguments: Json = None
    kind: str = "function"
    is_cut: bool = False
    entry: str | None = field(default=None, compare=False)

    __hash__ = None  # type: ignore[assignment]  # arguments are dicts

    @property
    def is_runnable(self) -> bool:
        """Whether the call is whole, and its arguments can be read. Run no other."""
        if self.is_cut or not self.name:
            return False
        return isinstance(self.arguments, dict if self.kind == "function" else dict | str | list)


def decoded(raw: Any, kind: str) -> Json:
    """The arguments of a call: an object where they are one, and else as they stand."""
    if kind == "custom":
        return raw
    if raw is None or raw == "":
        return {} if kind == "function" else raw  # a call without arguments
    if type(raw) is not str:
        return raw
    try:
        value = decode_exact(raw.encode())
    except ValueError:
        return raw
    return value if type(value) is dict else raw


def is_cut_call(item: Mapping[str, Any], part: items.ToolCallPart, finish: str | None) -> bool:
    """Whether a call is not whole, or may not be, for all that is told of its answer.

    Args:
        item: The item that holds the call.
        part: The call.
        finish: Why the answer ended; None where it did not say, ``""`` where nobody wrote that down.
    """
    if finish in CUTTING or item.get("status") not in (None, "completed"):
        return True
    if finish in _WHOLE or item.get("status") == "completed":
        return False
    # Text that is cut off cannot be read, but for the first of it, which is none; of input that
    # came decoded nothing shows that there should be more.
    return part.arguments == "" or (
        finish is None and type(part.arguments) is dict and item.get("role") is not None
    )


_WHOLE: Final = frozenset({FinishReason.STOP, FinishReason.TOOL_USE, FinishReason.PAUSE, ""})


def call_of(part: items.ToolCallPart, *, is_cut: bool) -> ToolCall:
    """The call that a part of an item is."""
    return ToolCall(
        part.id or "",
        part.name,
        decoded(part.arguments, part.kind),
        part.arguments,
        part.kind,
        is_cut,
    )


def call_given(value: ToolCall | Object) -> ToolCall:
    """A call that was made by hand: one already, or an object with ``id``, ``name``, ``arguments``."""
    if isinstance(value, ToolCall):
        return value
    owner = as_object(value)
    raw = owner["arguments"] if "arguments" in owner else owner.get("args")
    kind = as_text(owner.get("kind")) or "function"
    return ToolCall(
        as_text(owner.get("id")) or "",
        as_text(owner.get("name")) or "",
        decoded(raw, kind),
        raw,
        kind,
        owner.get("is_cut") is True,
    )
