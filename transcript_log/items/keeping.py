"""What of an item has to stay as it is, byte for byte, whatever is changed in its texts.

Ids tie items together; signatures and encrypted content are only worth anything whole; the
words of a format are its structure; bytes in base64 are no text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["ARGUMENT_KEYS", "DATA_KEYS", "is_kept", "is_sealed", "is_signed"]

_SIGNED_KEYS: Final = frozenset(
    {
        "encrypted_content",
        "signature",
        "textSignature",
        "thinkingSignature",
        "thoughtSignature",
        "thought_signature",
    }
)
_ID_KEYS: Final = frozenset(
    {
        "callId",
        "call_id",
        "file_id",
        "id",
        "item_id",
        "parentUuid",
        "previous_response_id",
        "requestId",
        "responseId",
        "response_id",
        "sessionId",
        "toolCallId",
        "toolUseId",
        "tool_call_id",
        "tool_use_id",
        "uuid",
    }
)
_WORD_KEYS: Final = frozenset(
    {
        "api",
        "detail",
        "finish_reason",
        "media_type",
        "mimeType",
        "model",
        "name",
        "namespace",
        "object",
        "phase",
        "provider",
        "role",
        "status",
        "stopReason",
        "stop_reason",
        "toolName",
        "type",
    }
)
_BYTES_TYPES: Final = frozenset(
    {"base64", "image", "audio", "input_audio", "redacted_thinking", "reasoning.encrypted"}
)
_DATA_URL: Final = re.compile(r"data:[^\s,]{0,200};base64,[A-Za-z0-9+/=_%-]*\s*")

ARGUMENT_KEYS: Final = frozenset({"arguments", "args", "input"})
"""Where an item holds what a tool is called with: keys in there mean what the tool says."""

DATA_KEYS: Final = frozenset({"details", "metadata"})
"""Where it holds what a program noted: its keys are the program's."""


def is_kept(key: str, value: Any) -> bool:
    """Whether a member of an item is an id or a word of its format."""
    return type(value) is str and (key in _ID_KEYS or key in _WORD_KEYS)


def is_sealed(key: str, value: Any, owner: Mapping[str, Any]) -> bool:
    """Whether a member is a signature, encrypted content, or bytes in base64."""
    if type(value) is not str:
        return False
    if key in _SIGNED_KEYS:
        return True
    if key == "data" and owner.get("type") != "text":  # a document may hold plain text
        kind = owner.get("type")
        return (type(kind) is str and kind in _BYTES_TYPES) or "media_type" in owner or "mimeType" in owner
    if key == "result":
        return owner.get("type") == "image_generation_call"
    # All of it: behind a picture there may stand words.
    return value.startswith("data:") and _DATA_URL.fullmatch(value) is not None


def is_signed(owner: Mapping[str, Any]) -> bool:
    """Whether an object holds a signature, or encrypted content, that its other members belong to."""
    return any(type(owner.get(key)) is str and owner[key] != "" for key in _SIGNED_KEYS)
