"""Mistral's Chat Completions: ``mistral-chat``.

A dialect of :mod:`.chat`, whose server counts the keys of messages, wants call ids of one
length, and knows which role may follow which. Rules that its newest models dropped are asked
all the same, for the models of one host differ: ``mistral-common``, which its servers check
requests with, has them by the version of the tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .._pieces import Piece
from ..entries import Item
from ..findings import Finding
from ._base import IdRule, Notes, Rule, rule_of
from ._dialect import ChatDialect
from .anthropic import OPENING
from .chat import CHAT_RULES, OPENAI_CHAT, ChatCompletions

__all__ = ["BRIDGE", "MISTRAL_CHAT", "MistralChat"]

BRIDGE: Final = "(The tools have answered.)"
"""What the assistant says between the output of a tool and a message of the user."""

_VALIDATOR: Final = (
    "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py"
)
_TYPES: Final = "https://github.com/mistralai/client-python/tree/main/src/mistralai/client/models"


_rule: Final = rule_of(_VALIDATOR)


_RULES: Final[Mapping[str, Rule]] = {
    **CHAT_RULES,
    **dict(
        [
            _rule("empty-input", "There is at least one message."),
            _rule("output-missing", "The tool messages for all calls of a message stand directly after it."),
            _rule("output-without-call", "A tool message answers a call of the message before it."),
            _rule("output-twice", "A call has one tool message."),
            _rule("call-twice", "The calls of one message have different ids."),
            _rule(
                "call-id",
                "A call id is of 9 letters and digits.",
                "https://github.com/nearai/ironclaw/issues/1241",
                "2026-03-16",
            ),
            _rule(
                "content",
                "A message has content; only one of an assistant with calls may have none.",
                "https://github.com/OpenHands/OpenHands/issues/8685",
                "2025-05-24",
            ),
            _rule("first-user", "The first message is none of an assistant with calls."),
            _rule(
                "role-order",
                "After the output of a tool the assistant speaks, and the system before the assistant does.",
                "https://github.com/NousResearch/hermes-agent/pull/84944",
                "2026-08-13",
                warning=True,
            ),
            _rule("part-type", "The parts of a message are of the types that its role may have.", _TYPES),
            _rule("name", "A tool's name is of 1 to 64 letters, digits, _ and -."),
            _rule(
                "foreign-shape",
                "A message is of the system, the user, the assistant or a tool, and calls are of functions.",
                _TYPES,
            ),
            _rule(
                "foreign-key",
                "Messages, parts and calls bear no keys but their own.",
                "https://github.com/charmbracelet/crush/issues/1590",
                "2025-12-10",
            ),
            _rule("prefix", "A message that is to be continued is the last one, and the assistant's."),
            (
                "ends-with-assistant",
                Rule(
                    "ends-with-assistant",
                    "The last message is the user's or a tool's, or an assistant's with prefix.",
                    "note",
                    "https://github.com/huggingface/smolagents/issues/757",
                    "2025-02-23",
                ),
            ),
        ]
    ),
}

_THINKING: Final = frozenset({"type", "thinking", "signature", "closed"})
_DIALECT: Final = ChatDialect(
    name="mistral-chat",
    wire="mistral-chat",
    rules=_RULES,
    ids=IdRule(re.compile(r"[A-Za-z0-9]{9}"), 9, unique=False),
    names=OPENAI_CHAT.terms.names,
    parts={
        "user": frozenset({"text", "image_url", "document_url", "file", "input_audio", "reference"}),
        "assistant": frozenset({"text", "thinking", "reference"}),
        "system": frozenset({"text", "thinking"}),
        "tool": frozenset({"text"}),
    },
    keys={
        "user": frozenset({"role", "content"}),
        "assistant": frozenset({"role", "content", "tool_calls", "prefix"}),
        "system": frozenset({"role", "content"}),
        "tool": frozenset({"role", "content", "tool_call_id", "name"}),
    },
    part_keys={
        "text": frozenset({"type", "text"}),
        "image_url": frozenset({"type", "image_url"}),
        "document_url": frozenset({"type", "document_url", "document_name"}),
        "file": frozenset({"type", "file_id"}),
        "input_audio": frozenset({"type", "input_audio"}),
        "reference": frozenset({"type", "reference_ids"}),
        "thinking": _THINKING,
    },
    part_values={
        "document_url": ("document_url", (str,)),
        "file": ("file_id", (str,)),
        "image_url": ("image_url", (str, dict)),
        "input_audio": ("input_audio", (str,)),
        "text": ("text", (str,)),
        "thinking": ("thinking", (list,)),
    },
    call_keys=frozenset({"id", "type", "index", "function"}),
    kinds=("function",),
    speakers={"developer": "system"},
    nothing="",
    documents="document_url",
    thoughts="thinking",
    optional=OPENAI_CHAT.terms.optional | {"first-user", "prefix", "role-order"},
)


class MistralChat(ChatCompletions):
    """The rules and the words of Mistral."""

    def __init__(self, terms: ChatDialect = _DIALECT) -> None:
        super().__init__(terms)

    def _found(self, items: Sequence[Item]) -> Iterator[Finding]:
        yield from super()._found(items)
        if items and _is_calling(items[0]):
            yield _RULES["first-user"].at(0, "the first message is of an assistant that calls")
        last: Any = None
        for place, message in enumerate(items):
            speaker = message.get("role")
            if _is_after(speaker, last):
                yield _RULES["role-order"].at(place, f"a message of the {speaker} follows one of the {last}")
            last = speaker
            if speaker == "assistant" and message.get("prefix") is True and place + 1 < len(items):
                yield _RULES["prefix"].at(place, "the message is to be continued, and not the last")
        if items and last == "assistant" and items[-1].get("prefix") is not True:
            yield _RULES["ends-with-assistant"].at(len(items) - 1, "the last message is the assistant's")

    def _rendered(self, pieces: Sequence[Piece], notes: Notes) -> list[Piece]:
        rendered = super()._rendered(pieces, notes)
        out: list[Piece] = []
        is_ordered = notes.asks("role-order")
        for place, piece in enumerate(rendered):
            item = piece.item
            speaker = item["role"]
            last = out[-1].item["role"] if out else None
            if speaker == "assistant":
                if item.get("prefix") is True and place + 1 < len(rendered) and notes.asks("prefix"):
                    why = "the message goes as one that is not to be continued"
                    notes.add("rewritten", "prefix", why, piece)
                    kept = {key: value for key, value in item.items() if key != "prefix"}
                    piece = piece.now(kept, "mended")  # noqa: PLW2901
            elif is_ordered and _is_after(speaker, last):
                if speaker == "system":
                    why = f"the system message after one of the {last} goes as the user's"
                    notes.add("rewritten", "role-order", why, piece)
                    piece = piece.now({**item, "role": "user"}, "mended")  # noqa: PLW2901
                if last == "tool":
                    why = "a message of the assistant was put between an output and it"
                    notes.add("added", "role-order", why, piece)
                    out.append(Piece({"role": "assistant", "content": BRIDGE}, why="bridge"))
            out.append(piece)
        if out and _is_calling(out[0].item) and notes.asks("first-user"):
            notes.add("added", "first-user", "a first message of the user was put before it", out[0])
            out.insert(0, Piece({"role": "user", "content": OPENING}, why="opening"))
        return out


def _is_calling(item: Item) -> bool:
    """Whether a message is of an assistant with calls."""
    return item.get("role") == "assistant" and bool(item.get("tool_calls"))


def _is_after(speaker: Any, last: Any) -> bool:
    """Whether a message of a role follows one that it may not follow."""
    if speaker == "user":
        return bool(last == "tool")
    return speaker == "system" and last in ("assistant", "tool")


MISTRAL_CHAT: Final = MistralChat()
"""Chat Completions of Mistral."""
