"""OpenAI Chat Completions, and those who serve the same API: ``openai-chat``.

Where the servers of this API differ, the stricter one is asked. APIs that speak it in a way of
their own are dialects of it: what differs is data (:class:`ChatDialect`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .._pairing import Order
from .._pieces import Piece
from ..entries import Item
from ..findings import Finding
from ._base import IdRule, NameRule, Notes, Rule, Terms, rule_of
from ._chat_checking import check_chat
from ._chat_words import NO_OUTPUT, NOT_SHOWN, SEE_BELOW, render_chat
from ._dialect import ChatDialect

__all__ = [
    "CHAT_RULES",
    "NOT_SHOWN",
    "NO_OUTPUT",
    "OPENAI_CHAT",
    "SEE_BELOW",
    "ChatCompletions",
    "OpenAIChat",
]

_API: Final = "https://github.com/openai/openai-python/tree/main/src/openai/types/chat"


_rule: Final = rule_of(_API)


CHAT_RULES: Final[Mapping[str, Rule]] = dict(
    [
        _rule(
            "empty-input",
            "There is at least one message.",
            "https://github.com/CopilotKit/CopilotKit/issues/529",
            "2024-08-11",
        ),
        _rule(
            "output-missing",
            "The tool messages for all calls of a message stand directly after it.",
            "https://github.com/BerriAI/litellm/issues/10083",
            "2025-04-17",
        ),
        _rule(
            "output-without-call",
            "A tool message answers a call of the message before it.",
            "https://github.com/smarter-sh/smarter/issues/264",
            "2025-01-22",
        ),
        _rule(
            "output-twice",
            "A call has one tool message.",
            "https://github.com/agno-agi/agno/issues/5116",
            "2025-01-01",
        ),
        _rule("call-twice", "The calls of one message have different ids."),
        _rule(
            "call-id",
            "A call id has 1 to 40 characters.",
            "https://github.com/vercel/ai/issues/8132",
            "2025-08-18",
        ),
        _rule(
            "calls-empty",
            "A message without calls has no list of them.",
            "https://github.com/openai/openai-node/pull/1341",
            "2025-02-20",
        ),
        _rule(
            "content",
            "A message has content; only one of an assistant with calls may have none.",
            "https://github.com/docker/docker-agent/issues/63",
            "2025-07-23",
        ),
        _rule(
            "blank-text",
            "What is said is more than white space.",
            "https://github.com/NousResearch/hermes-agent/issues/63983",
            warning=True,
        ),
        _rule(
            "part-type",
            "The parts of a message are of the types that its role may have.",
            "https://github.com/OpenHands/OpenHands/issues/7700",
            "2025-04-01",
        ),
        _rule(
            "arguments",
            "The arguments of a function call are JSON text; many servers read them again.",
            "https://github.com/justrach/codegraff/issues/752",
            warning=True,
        ),
        _rule(
            "name",
            "A tool's name is of 1 to 64 letters, digits, _ and -.",
            "https://github.com/mcp-use/mcp-use/issues/90",
            "2025-05-01",
        ),
        _rule("foreign-shape", "A message has a role of this API, and is no item of another."),
        _rule(
            "foreign-key",
            "A message bears no keys of another API's messages; strict servers refuse unknown ones.",
            "https://github.com/vllm-project/vllm/pull/10463",
            "2024-11-19",
            warning=True,
        ),
        _rule(
            "surrogate",
            "Text can be sent as UTF-8.",
            "https://github.com/anthropics/claude-code/issues/56064",
        ),
    ]
)
"""The rules of OpenAI; a dialect has rows of its own in their place, and beside them."""

_TEXT: Final = frozenset({"text"})
_OPENAI: Final = ChatDialect(
    name="openai-chat",
    wire="openai-chat",
    rules=CHAT_RULES,
    ids=IdRule(re.compile(r"[^\ud800-\udfff]+"), 40, unique=False),
    names=NameRule(re.compile(r"[A-Za-z0-9_-]+"), 64),
    parts={
        "user": frozenset({"text", "image_url", "input_audio", "file"}),
        "assistant": frozenset({"text", "refusal"}),
        "system": _TEXT,
        "developer": _TEXT,
        "tool": _TEXT,
        "function": _TEXT,
    },
    optional=frozenset({"arguments", "blank-text", "call-id", "foreign-key", "name"}),
)


class ChatCompletions:
    """The rules and the words of one dialect of Chat Completions.

    Attributes:
        terms: The dialect.
    """

    items_key: Final = "messages"
    order: Final[Order] = "chat"

    def __init__(self, terms: ChatDialect) -> None:
        self.terms: Final = terms

    @property
    def name(self) -> str:
        """See :attr:`Api.name`."""
        return self.terms.name

    @property
    def rules(self) -> Mapping[str, Rule]:
        """See :attr:`Api.rules`."""
        return self.terms.rules

    def check(self, items: Sequence[Item], *, paused: bool = False) -> Iterator[Finding]:  # noqa: ARG002
        """See :meth:`Api.check`."""
        return self.terms.heard(self._found(items), items)

    def _found(self, items: Sequence[Item]) -> Iterator[Finding]:
        return check_chat(items, self.terms)

    def render(self, pieces: Sequence[Piece], notes: Notes, *, paused: bool = False) -> list[Piece]:  # noqa: ARG002
        """See :meth:`Api.render`."""
        return self.terms.finished(self._rendered(pieces, notes), notes)

    def _rendered(self, pieces: Sequence[Piece], notes: Notes) -> list[Piece]:
        return render_chat(pieces, notes, self.terms)

    def under(self, terms: Terms) -> ChatCompletions:
        """See :meth:`Amendable.under`."""
        assert isinstance(terms, ChatDialect)
        return type(self)(terms)


class OpenAIChat(ChatCompletions):
    """Chat Completions as OpenAI has it."""

    def __init__(self, terms: ChatDialect = _OPENAI) -> None:
        super().__init__(terms)


OPENAI_CHAT: Final = OpenAIChat()
"""Chat Completions."""
