"""What Gemini's ``generateContent`` demands of ``contents``, as a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..items.gemini import CAMEL, PART_KINDS
from ._base import Rule, rule_of

__all__ = [
    "NAME",
    "PART_KEYS",
    "RULES",
    "is_blob",
    "is_file",
    "is_signature",
    "is_spelled",
]

_API: Final = "https://ai.google.dev/api/caching#Content"
_SIGNATURES: Final = "https://ai.google.dev/gemini-api/docs/thought-signatures"
_ENDS: Final = "https://github.com/pipecat-ai/pipecat/pull/5821"

_rule: Final = rule_of(_API)

RULES: Final[Mapping[str, Rule]] = dict(
    [
        _rule(
            "empty-input",
            "There is at least one content.",
            "https://github.com/googleapis/js-genai/issues/912",
            "2025-08-25",
        ),
        _rule("foreign-shape", "An item is a content of this API: a role and a list of parts."),
        _rule(
            "foreign-key",
            "Contents and parts bear no keys but their own.",
            "https://github.com/mnfst/llm-gateway/pull/979",
            "2026-03-05",
        ),
        _rule(
            "spelling",
            "Keys are spelled as in JSON (functionCall); the API takes the SDK's names (function_call)"
            " too, and gateways do not.",
            "https://github.com/router-for-me/CLIProxyAPI/issues/1538",
            "2026-03-05",
            warning=True,
        ),
        _rule(
            "role",
            "A content is the user's or the model's; a system instruction stands outside of them.",
            "https://github.com/genkit-ai/genkit/pull/5782",
            "2026-07-22",
        ),
        _rule(
            "first-user",
            "The first content is the user's.",
            "https://github.com/NousResearch/hermes-agent/issues/55427",
            "2026-06-30",
        ),
        _rule(
            "content",
            "A content has parts.",
            "https://github.com/vercel/ai/issues/3775",
            "2026-07-22",
        ),
        _rule(
            "part-type",
            "A part holds just one thing, and one that its role may have.",
            "https://github.com/router-for-me/CLIProxyAPI/issues/1292",
            "2026-01-28",
        ),
        _rule(
            "blank-text",
            "A text without a signature holds more than white space.",
            "https://github.com/54xzh/FLIT/pull/70",
            "2026-05-19",
        ),
        _rule(
            "blob",
            "Bytes are base64 with a media type, and a file is named by its URI.",
            "https://github.com/musistudio/claude-code-router/issues/845",
            "2025-09-28",
        ),
        _rule(
            "call-order",
            "A content with calls comes directly after one of the user, or after outputs.",
            "https://github.com/google-gemini/gemini-cli/issues/11814",
            "2025-10-23",
        ),
        _rule(
            "output-missing",
            "The next content holds an output for each call.",
            "https://github.com/google-gemini/gemini-cli/issues/16543",
            "2026-01-13",
        ),
        _rule(
            "output-without-call",
            "An output answers a call of the content before it.",
            "https://github.com/google-gemini/gemini-cli/issues/26956",
            "2026-05-12",
        ),
        _rule(
            "output-twice",
            "A call has one output.",
            "https://github.com/google-gemini/gemini-cli/issues/16543",
            "2026-01-13",
        ),
        _rule(
            "output-alone",
            "A content with outputs holds nothing else.",
            "https://github.com/vellum-ai/vellum-assistant/pull/39495",
            "2026-07-29",
        ),
        _rule(
            "output-id",
            "An output has the id of its call, and none where the call has none.",
            "https://github.com/router-for-me/CLIProxyAPI/issues/5199",
        ),
        _rule(
            "output-name",
            "An output names the function that was called.",
            "https://ai.google.dev/api/caching#FunctionResponse",
        ),
        _rule(
            "output-content",
            "What a tool gave back is an object.",
            "https://github.com/AstrBotDevs/AstrBot/pull/7216",
            "2026-03-31",
        ),
        _rule(
            "output-media",
            "Bytes stand in the parts of an output; models before Gemini 3 take none there.",
            "https://github.com/google-gemini/gemini-cli/issues/19436",
            "2026-02-18",
        ),
        _rule("call-id", "The id of a call is text.", "https://ai.google.dev/api/caching#FunctionCall"),
        _rule(
            "call-twice",
            "No two calls of a content have one id.",
            "https://ai.google.dev/api/caching#FunctionCall",
        ),
        _rule(
            "name",
            "A tool's name is of 1 to 64 letters, digits, _, -, . and :, the first a letter or _.",
            "https://github.com/kaitranntt/ccs/issues/25",
            "2025-11-30",
        ),
        _rule(
            "arguments", "The args of a call are an object.", "https://ai.google.dev/api/caching#FunctionCall"
        ),
        _rule(
            "signature",
            "Since Gemini 3, the first call of each content after what the user last said has a signature.",
            _SIGNATURES,
        ),
        _rule(
            "signature-bytes",
            "A thoughtSignature is base64.",
            "https://github.com/google-gemini/gemini-cli/issues/14368",
            "2025-12-02",
        ),
        _rule(
            "surrogate",
            "Text can be sent as UTF-8.",
            "https://github.com/NousResearch/hermes-agent/issues/102757",
            "2026-09-04",
        ),
        (
            "ends-with-model",
            Rule(
                "ends-with-model",
                "The last content is the user's: models since Gemini 3.5 continue no text of their own.",
                "note",
                _ENDS,
                "2026-09-17",
            ),
        ),
    ]
)
"""All that is demanded, by the ids of the rules."""

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
PART_KEYS: Final = frozenset(
    {
        *PART_KINDS,
        "audioMetadata",
        "audioTranscription",
        "documentMetadata",
        "mediaProcessing",
        "mediaResolution",
        "partMetadata",
        "speechMetadata",
        "spreadsheetMetadata",
        "thought",
        "thoughtSignature",
        "videoMetadata",
    }
)
"""What a part may bear."""

_SNAKES: Final = frozenset(CAMEL)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def is_spelled(part: Mapping[str, Any]) -> bool:
    """Whether the keys of a part, and of what it holds, are those of the JSON."""
    if not _SNAKES.isdisjoint(part):
        return False
    for key in PART_KINDS:
        held = part.get(key)
        if type(held) is dict and not _SNAKES.isdisjoint(held):
            return False
    return True


def is_signature(value: Any) -> bool:
    """Whether a value may be a signature: base64, of either alphabet, padded or not."""
    if type(value) is not str or _BASE64.fullmatch(value) is None:
        return False
    return len(value.rstrip("=")) % 4 != 1


def is_blob(held: Any) -> bool:
    """Whether a value is bytes with their media type."""
    if type(held) is not dict:
        return False
    data, media_type = held.get("data"), held.get("mimeType")
    return (
        type(data) is str
        and type(media_type) is str
        and bool(data and media_type)
        and ":" not in data[:32]  # no URL
        and "," not in data[:256]
    )


def is_file(held: Any) -> bool:
    """Whether a value is a link to a file."""
    return type(held) is dict and type(held.get("fileUri")) is str and held["fileUri"] != ""
