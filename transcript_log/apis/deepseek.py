"""DeepSeek's Chat Completions: ``deepseek-chat``.

A dialect of :mod:`.chat`. What is asked of reasoning depends on the model: since V3.2 a model
that thinks refuses a request in which messages of the assistant come without
``reasoning_content``, the servers of R1 refused one with it, and models that do not think
ask for nothing. Models since V4 think unless a request says otherwise, which items do not
show: a table with ``reasoning-missing`` turned off is for those who say so.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from .._pieces import Piece
from ..entries import Item
from ..findings import Finding
from ._base import Notes, Rule, rule_of
from ._chat_words import with_key
from ._dialect import ChatDialect
from .chat import CHAT_RULES, OPENAI_CHAT, ChatCompletions

__all__ = ["DEEPSEEK_CHAT", "NO_THOUGHT", "DeepSeekChat"]

NO_THOUGHT: Final = " "
"""Stands for the reasoning of a message that another model made. It is the least that is taken:
some models refuse the empty text (https://github.com/NousResearch/hermes-agent/pull/17341,
2026-05-01), and words that are always the same lead the model to repeat them
(https://github.com/Lingtai-AI/lingtai-kernel/issues/9, 2026-05-06)."""

_GUIDE: Final = "https://api-docs.deepseek.com/guides/thinking_mode"
_KEY: Final = "reasoning_content"


_rule: Final = rule_of(_GUIDE)


_RULES: Final[Mapping[str, Rule]] = {
    **CHAT_RULES,
    **dict(
        [
            _rule(
                "output-missing",
                "The tool messages for all calls of a message stand directly after it.",
                "https://github.com/openai/codex/issues/22129",
                "2026-05-11",
            ),
            _rule(
                "output-without-call",
                "A tool message answers a call of the message before it.",
                "https://github.com/FoundationAgents/OpenManus/issues/227",
                "2025-03-08",
            ),
            _rule(
                "content",
                "A message has content, and reasoning is none; one of an assistant with calls needs none.",
                "https://github.com/OnesoftQwQ/opencode-go-copilot/issues/24",
                "2026-05-21",
            ),
            _rule(
                "part-type",
                "The parts of a message are text; a user's may be pictures where the model sees.",
                "https://github.com/rikkahub/rikkahub/issues/1433",
                "2026-07-03",
            ),
            _rule(
                "foreign-shape",
                "A message is of the system, the user, the assistant or a tool, and calls are of functions.",
                "https://github.com/earendil-works/pi/issues/1048",
                "2026-01-28",
            ),
            _rule(
                "reasoning-missing",
                "Where the model thinks, each message of the assistant bears its reasoning_content.",
                _GUIDE,
                "2026-06-11",
            ),
            _rule(
                "reasoning-refused",
                "Messages to R1 bear no reasoning_content.",
                "https://api-docs.deepseek.com/guides/reasoning_model",
                "2025-12-20",
            ),
            (
                "ends-with-assistant",
                Rule(
                    "ends-with-assistant",
                    "The last message is the user's or a tool's, or an assistant's with prefix.",
                    "note",
                    "https://github.com/olimorris/codecompanion.nvim/issues/760",
                    "2025-01-29",
                ),
            ),
        ]
    ),
}

_TEXT: Final = frozenset({"text"})
_DIALECT: Final = ChatDialect(
    name="deepseek-chat",
    wire="deepseek-chat",
    rules=_RULES,
    ids=OPENAI_CHAT.terms.ids,
    names=OPENAI_CHAT.terms.names,
    parts=dict.fromkeys(("user", "assistant", "system", "tool"), _TEXT),
    part_values={"text": ("text", (str,)), "image_url": ("image_url", (dict,))},
    kinds=("function",),
    speakers={"developer": "system"},
    # Null beside reasoning was refused (https://github.com/can1357/oh-my-pi/pull/788, 2026-04-26).
    nothing="",
    documents="",
    thoughts=_KEY,
    optional=OPENAI_CHAT.terms.optional | {"reasoning-missing", "reasoning-refused"},
    off=frozenset({"reasoning-refused"}),
)

_R1: Final = re.compile(r"(^|[-_/])r1($|[-_:.])", re.IGNORECASE)
_PLAIN: Final = re.compile(r"deepseek[-_/]?(chat|coder|v2|v3(?![.-]2))", re.IGNORECASE)
_SEES: Final = re.compile(r"vision|[-_]vl", re.IGNORECASE)


class DeepSeekChat(ChatCompletions):
    """The rules and the words of DeepSeek."""

    def __init__(self, terms: ChatDialect = _DIALECT) -> None:
        super().__init__(terms)

    def of_model(self, model: str) -> DeepSeekChat:
        """The same as a model of this name has it; of an unknown name, as models of today do."""
        terms = self.terms
        if _R1.search(model):
            terms = replace(terms, off=terms.off - {"reasoning-refused"} | {"reasoning-missing"})
        elif _PLAIN.search(model):
            terms = replace(terms, off=terms.off | {"reasoning-missing"})
        if _SEES.search(model):
            terms = replace(terms, parts={**terms.parts, "user": _TEXT | {"image_url"}})
        return self if terms is self.terms else DeepSeekChat(terms)

    def _found(self, items: Sequence[Item]) -> Iterator[Finding]:
        yield from super()._found(items)
        for place, message in enumerate(items):
            if message.get("role") != "assistant":
                continue
            if _KEY in message:
                yield _RULES["reasoning-refused"].at(place, "the message bears reasoning_content")
            if type(message.get(_KEY)) is not str and "type" not in message:
                yield _RULES["reasoning-missing"].at(place, "the message bears no reasoning_content")
        if items and items[-1].get("role") == "assistant" and items[-1].get("prefix") is not True:
            yield _RULES["ends-with-assistant"].at(len(items) - 1, "the last message is the assistant's")

    def _rendered(self, pieces: Sequence[Piece], notes: Notes) -> list[Piece]:
        out = super()._rendered(pieces, notes)
        if notes.asks("reasoning-refused"):
            return [_without(piece, notes) for piece in out]
        if notes.asks("reasoning-missing"):
            given = set(map(id, pieces))
            return [_with(piece, notes, given) for piece in out]
        return out


def _without(piece: Piece, notes: Notes) -> Piece:
    item = piece.item
    if _KEY not in item or item.get("role") != "assistant":
        return piece
    notes.add("rewritten", "reasoning-refused", "the message goes without its reasoning", piece, item=item)
    return piece.now({key: value for key, value in item.items() if key != _KEY}, "mended")


def _with(piece: Piece, notes: Notes, given: Container[int]) -> Piece:
    item = piece.item
    if item.get("role") != "assistant" or type(item.get(_KEY)) is str:
        return piece
    if piece.why not in ("rendered", "merged"):
        why = "the message has no reasoning of this model: a blank stands for it"
        notes.add("added", "reasoning-missing", why, piece)
    return with_key(piece, _KEY, NO_THOUGHT, given)


DEEPSEEK_CHAT: Final = DeepSeekChat()
"""Chat Completions of DeepSeek."""
