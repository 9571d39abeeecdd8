"""The reference vocabulary: flat items, told apart by their type alone.

It is smaller than what :mod:`.reading` knows, and the strict core speaks only it: a call is
a ``function_call`` here, and a ``custom_tool_call`` is run by the server. Every predicate takes
any decoded JSON value; what is no object has no type, and is nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ._values import Item, named, non_blank

__all__ = [
    "assistant_text",
    "call_id",
    "canonicalize_native_compaction",
    "function_call_output",
    "input_image",
    "input_text",
    "is_backend_search_call",
    "is_chat_reasoning",
    "is_family_private",
    "is_function_call",
    "is_function_call_output",
    "is_native_compaction",
    "is_reasoning",
    "is_tool_search",
    "non_blank",
    "user_message",
]

_OBJECT: Final = (dict, Mapping)  # A dict is known as one without a look into the registry of Mapping.
_LEGACY_COMPACTION: Final = "compaction_summary"
_COMPACTIONS: Final = frozenset({"compaction", _LEGACY_COMPACTION, "context_compaction"})
_BACKEND_SEARCH_CALLS: Final = frozenset({"web_search_call", "custom_tool_call"})
_TOOL_SEARCHES: Final = frozenset({"tool_search_call", "tool_search_output"})
_PRIVATE: Final = frozenset({"reasoning", "reasoning_content"}) | _BACKEND_SEARCH_CALLS | _TOOL_SEARCHES


def _type(item: object) -> str | None:
    return named(item.get("type")) if isinstance(item, _OBJECT) else None


# ---------------------------------------------------------------------------- predicates


def is_reasoning(item: object) -> bool:
    """Whether an item is reasoning of the Responses API."""
    return _type(item) == "reasoning"


def is_chat_reasoning(item: object) -> bool:
    """Whether an item is the reasoning of a Chat model, kept as an item of its own."""
    return _type(item) == "reasoning_content"


def is_native_compaction(item: object) -> bool:
    """Whether an item is a checkpoint that a provider made of a conversation.

    One without encrypted content is none: it holds nothing that only its producer can read.
    """
    return _type(item) in _COMPACTIONS and non_blank(_member(item, "encrypted_content"))


def is_backend_search_call(item: object) -> bool:
    """Whether an item is a call that the server of a search ran itself."""
    return _type(item) in _BACKEND_SEARCH_CALLS


def is_tool_search(item: object) -> bool:
    """Whether an item is a search for tools, or what it found."""
    return _type(item) in _TOOL_SEARCHES


def is_function_call(item: object) -> bool:
    """Whether an item is a call that is owed an output."""
    return _type(item) == "function_call"


def is_function_call_output(item: object) -> bool:
    """Whether an item is the output of such a call."""
    return _type(item) == "function_call_output"


def is_family_private(item: object) -> bool:
    """Whether only the family that produced an item can read it.

    Reasoning, native compactions, backend search calls and tool searches are private; function
    calls and their outputs are not.
    """
    return _type(item) in _PRIVATE or is_native_compaction(item)


# ------------------------------------------------------------------------------- readers


def call_id(item: object) -> str | None:
    """The id that joins a function call and its output; None where it is blank or no text.

    It is not trimmed: ``" a "`` and ``"a"`` are two ids.
    """
    found = _member(item, "call_id")
    return found if non_blank(found) else None


def assistant_text(item: object) -> str | None:
    """The text of an assistant's message: its text parts, joined by one newline.

    Empty parts count. None where there is no part with text, and for all other items.
    """
    if _type(item) != "message" or _member(item, "role") != "assistant":
        return None
    content = _member(item, "content")
    said = [
        part["text"]
        for part in (content if isinstance(content, list) else ())
        if _type(part) in ("output_text", "text") and isinstance(part.get("text"), str)
    ]
    return "\n".join(said) if said else None


def canonicalize_native_compaction(item: Any) -> Any:
    """The item with the type ``compaction`` where it has the older ``compaction_summary``.

    Any other value is given back as it is, the same object; such an item as a shallow copy.
    What was given is never changed.
    """
    return {**item, "type": "compaction"} if _type(item) == _LEGACY_COMPACTION else item


def _member(item: object, key: str) -> Any:
    return item.get(key) if isinstance(item, _OBJECT) else None


# -------------------------------------------------------------------------- constructors


def user_message(content: object, *, leading: Iterable[Any] = ()) -> Item:
    """A message of the user: the ``leading`` parts, then the content as a text part.

    Content that is blank or no text adds no part. The leading parts are not looked at.
    """
    said = [input_text(content)] if non_blank(content) else []
    return {"type": "message", "role": "user", "content": [*leading, *said]}


def function_call_output(call_id: str, output: Any) -> Item:
    """The output of a function call. Nothing is checked."""
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def input_text(text: str) -> Item:
    """A text part of a user's message. Nothing is checked."""
    return {"type": "input_text", "text": text}


def input_image(image_url: str, *, detail: str | None = "high") -> Item:
    """A picture of a user's message. None as ``detail`` is written as null."""
    return {"type": "input_image", "image_url": image_url, "detail": detail}
