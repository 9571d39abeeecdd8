"""The things that an item holds, as values, whatever shape it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

__all__ = [
    "HOSTED",
    "ImagePart",
    "OtherPart",
    "Part",
    "ReasoningPart",
    "TextPart",
    "ToolCallPart",
    "ToolOutputPart",
]

HOSTED: Final = "hosted"
"""The kind of a call that the provider runs itself, and of its result."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text for people: of a user, an assistant, a refusal.

    ``place`` of this and of every part is its index in the list that it came from, 0 for a
    part that is the whole item.
    """

    text: str
    place: int


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture.

    ``media_type`` is None where the item does not say. ``size_bytes`` counts the decoded
    bytes that stand in the item itself, and is 0 for a link. ``content`` is the picture as the
    item has it, base64 text or a link, and ``""`` where it has none; two pictures that differ in
    it alone are equal. For a page see :func:`transcript_log.items.data_url`.
    """

    media_type: str | None
    size_bytes: int
    place: int
    content: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What a model thought: the readable text of it, perhaps empty.

    ``opaque`` is True where it carries what only its producer can read: encrypted content,
    a signature, a redacted block.
    """

    text: str
    opaque: bool
    place: int


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A tool call.

    Attributes:
        id: What the output must name; None where the item names nothing.
        name: The tool.
        arguments: As stored: JSON text, free text, or an object.
        kind: ``"function"``, ``"custom"``, ``"local_shell"``, ``"shell"``, ``"apply_patch"``,
            ``"computer"``, ``"tool_search"``, another word that a flat item spells before
            ``_call``, or :data:`HOSTED`.
        place: See :class:`TextPart`.
        nameless: The item names no id, and ``id`` is made of the tool and its number.
    """

    id: str | None
    name: str
    arguments: Any
    kind: str
    place: int
    nameless: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutputPart:
    """What a tool gave back.

    Attributes:
        id: The call it answers; None where the item names none.
        content: As stored: text, a list of blocks, or an object; see :func:`output_text`.
        kind: As of :class:`ToolCallPart`.
        is_error: Whether the item itself flags an error.
        place: See :class:`TextPart`.
        name: The tool, where the output names it.
        nameless: As of :class:`ToolCallPart`.
    """

    id: str | None
    content: Any
    kind: str
    is_error: bool
    place: int
    name: str | None = None
    nameless: bool = False


@dataclass(frozen=True, slots=True)
class OtherPart:
    """Anything else: a block, or a whole item, of a type that no reader here knows."""

    type: str
    place: int


Part: TypeAlias = TextPart | ImagePart | ReasoningPart | ToolCallPart | ToolOutputPart | OtherPart
"""One thing in an item."""
