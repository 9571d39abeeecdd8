"""The messages of pi as items, and what they tell of the model that made them.

What pi sends of them is in ``packages/coding-agent/src/core/messages.ts`` of
https://github.com/badlogic/pi-mono (2026-03).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..boundary import SUMMARY_PREFIX, SUMMARY_SUFFIX
from ..entries import Item, Json, RecordedCost, RecordedUsage, ResponseRecord
from ..errors import TargetError
from ..families import Target

__all__ = [
    "SENT_ROLES",
    "branch_text",
    "custom_item",
    "family_of",
    "item_of",
    "response_of",
    "said_item",
    "summary_text",
    "usage_of",
]

SENT_ROLES: Final = frozenset({"user", "assistant", "toolResult", "developer", "system"})
"""The roles of messages that pi sends as they are."""

_BRANCH_PREFIX: Final = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
)
_BRANCH_SUFFIX: Final = "</summary>"


def item_of(message: dict[str, Json]) -> tuple[Item, bool]:
    """A message as an item, and whether pi sends it."""
    role = message["role"]
    time = message.get("timestamp")
    source = {key: value for key, value in message.items() if key != "timestamp"}
    match role:
        case "bashExecution":
            return said_item(_bash_text(message), source, time), not message.get("excludeFromContext")
        case "custom" | "hookMessage":
            content = source.pop("content", None)
            if type(content) is list:
                return custom_item(content, source, time), True
            return said_item(content if type(content) is str else "", source, time), True
        case "branchSummary" | "compactionSummary" if type(message.get("summary")) is str:
            told = branch_text if role == "branchSummary" else summary_text
            return said_item(told(message["summary"]), source, time), True
        case "toolResult" if message.get("details") is not None and _named(message.get("toolCallId")):
            return {key: value for key, value in message.items() if key != "details"}, True
    return message, role in SENT_ROLES


def said_item(text: str, source: Mapping[str, Json], time: Json) -> Item:
    """What pi says to the model for something that is no message of a model's API.

    ``importedFrom`` keeps what it was made of.
    """
    return custom_item([{"type": "text", "text": text}], source, time)


def custom_item(content: list[Any], source: Mapping[str, Json], time: Json) -> Item:
    """A message of the user, made of ``source``; ``time`` is in milliseconds, where that is known."""
    item: dict[str, Any] = {"role": "user", "content": content}
    if time is not None:
        item["timestamp"] = time
    return {**item, "importedFrom": {"format": "pi", **source}}


def _bash_text(message: Mapping[str, Json]) -> str:
    """What pi tells a model of a command that the user ran."""
    output = _text(message.get("output"))
    text = f"Ran `{_text(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif type(code) is int and code:
        text += f"\n\nCommand exited with code {code}"
    path = _text(message.get("fullOutputPath"))
    if message.get("truncated") and path:
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text


def branch_text(summary: str) -> str:
    """What pi tells a model of a branch that was left."""
    return f"{_BRANCH_PREFIX}{summary}{_BRANCH_SUFFIX}"


def summary_text(summary: str) -> str:
    """What pi tells a model of what was compacted. The words are those of a context here."""
    return f"{SUMMARY_PREFIX}{summary}{SUMMARY_SUFFIX}"


# ---------------------------------------------------------------------------- the model

_APIS: Final = {
    "anthropic-messages": "anthropic-messages",
    "azure-openai-responses": "openai-responses",
    "google-gemini-cli": "gemini",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
    "mistral-conversations": "mistral-chat",
    "openai-codex-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "openai-responses": "openai-responses",
}
"""What the APIs of pi are called here. One that is not named keeps its name."""

_OWNERS: Final = {
    "anthropic-messages": "anthropic",
    "gemini": "google",
    "mistral-chat": "mistral",
    "openai-chat": "openai",
    "openai-responses": "openai",
}
"""Who runs an API itself; all others are platforms."""


def family_of(message: Mapping[str, Json]) -> str | None:
    """Who can read what is private in a message of the assistant; None where it does not say."""
    api, model = message.get("api"), message.get("model")
    provider = message.get("provider")
    if type(api) is not str or type(model) is not str or type(provider) is not str:
        return None
    api = _APIS.get(api, api).replace("/", "-")
    platform = "direct" if _OWNERS.get(api) == provider else provider.replace("/", "-")
    try:
        return Target(api, model, platform).family
    except TargetError:
        return None  # one of them is blank


_FINISHED: Final = {"stop": "stop", "length": "max_tokens", "toolUse": "tool_use"}
"""Why a model stopped, in the words of a log; another word stays as it is."""


def response_of(message: Mapping[str, Json]) -> ResponseRecord:
    """The response that a message of the assistant is."""
    word = message.get("stopReason")
    finish = _FINISHED.get(word, word) if type(word) is str and word else None
    return ResponseRecord(
        id=_named(message.get("responseId")),
        provider=_named(message.get("provider")),
        model=_named(message.get("model")),
        finish_reason=finish,
        usage=usage_of(message.get("usage")),
    )


def usage_of(usage: Json) -> RecordedUsage | None:
    """The tokens that pi tells; None where it tells none, or only zeros."""
    if type(usage) is not dict:
        return None
    buckets = [_count(usage.get(key)) for key in ("input", "output", "cacheRead", "cacheWrite")]
    total = _count(usage.get("totalTokens")) or min(sum(buckets), _MOST)
    if not total:
        return None
    told = usage.get("cost")
    cost = told if type(told) is dict else {}
    return RecordedUsage(
        input=buckets[0],
        output=buckets[1],
        cache_read=buckets[2],
        cache_write=buckets[3],
        total_tokens=total,
        cost=RecordedCost(
            input=_price(cost.get("input")),
            output=_price(cost.get("output")),
            cache_read=_price(cost.get("cacheRead")),
            cache_write=_price(cost.get("cacheWrite")),
            total=_price(cost.get("total")),
        ),
    )


# -------------------------------------------------------------------------------- values


def _text(value: Json) -> str:
    return value if type(value) is str else ""


def _named(value: Json) -> str | None:
    return value if type(value) is str and value else None


_MOST: Final = (1 << 63) - 1


def _count(value: Json) -> int:
    return value if type(value) is int and 0 < value <= _MOST else 0


def _price(value: Json) -> float:
    is_number = type(value) in (int, float) and 0 < value < float("inf")
    return float(value) if is_number and value <= _MOST else 0
