"""What a provider item holds, read by its shape alone.

An item is one decoded JSON object of one of five shapes: an OpenAI Responses item, a Chat
message, an Anthropic message, a content of Gemini, or a message as pi and the Go store write
it. A log may mix them. Every reader here takes any JSON object, never raises, and changes nothing: what has
the wrong JSON type is not there.

:func:`parts` gives everything in an item, in its order; the other readers each give one
sort of part. The reference vocabulary (:mod:`.vocabulary`) stands beside them: it is flat,
smaller, and what the strict core speaks. Only this package, and those that render for a
provider, spell the keys of providers.
"""

from __future__ import annotations

from ._messages import chat_calls, chat_thought, thought_in
from ._pictures import data_url
from .outputs import output_images, output_text
from .part_types import (
    HOSTED,
    ImagePart,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)
from .reading import (
    calls_and_outputs,
    has_opaque,
    hosted_calls,
    hosted_outputs,
    images,
    is_aborted,
    is_plain,
    is_user_turn,
    made_images,
    message_id,
    parts,
    reasoning,
    role,
    text,
    tool_calls,
    tool_outputs,
    type_of,
)
from .vocabulary import (
    assistant_text,
    call_id,
    canonicalize_native_compaction,
    function_call_output,
    input_image,
    input_text,
    is_backend_search_call,
    is_chat_reasoning,
    is_family_private,
    is_function_call,
    is_function_call_output,
    is_native_compaction,
    is_reasoning,
    is_tool_search,
    non_blank,
    user_message,
)

__all__ = [
    "HOSTED",
    "ImagePart",
    "OtherPart",
    "Part",
    "ReasoningPart",
    "TextPart",
    "ToolCallPart",
    "ToolOutputPart",
    "assistant_text",
    "call_id",
    "calls_and_outputs",
    "canonicalize_native_compaction",
    "chat_calls",
    "chat_thought",
    "data_url",
    "function_call_output",
    "has_opaque",
    "hosted_calls",
    "hosted_outputs",
    "images",
    "input_image",
    "input_text",
    "is_aborted",
    "is_backend_search_call",
    "is_chat_reasoning",
    "is_family_private",
    "is_function_call",
    "is_function_call_output",
    "is_native_compaction",
    "is_plain",
    "is_reasoning",
    "is_tool_search",
    "is_user_turn",
    "made_images",
    "message_id",
    "non_blank",
    "output_images",
    "output_text",
    "parts",
    "reasoning",
    "role",
    "text",
    "thought_in",
    "tool_calls",
    "tool_outputs",
    "type_of",
    "user_message",
]
