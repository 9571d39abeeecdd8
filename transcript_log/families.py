"""Who can read what: the target of a context, and the family of what only its producer can read.

Reasoning and checkpoints often come encrypted or signed, and only the one who made them
accepts them back. A *family* is a text that names such a maker: an API, the platform it runs
on, and where they bind it, the account and the model. Two equal texts are one family.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from . import items as item_shapes
from ._identity import IdentityMap
from .errors import TargetError
from .items.portable import is_private, portable_part

__all__ = [
    "BINDINGS",
    "Binding",
    "Named",
    "Target",
    "is_private",
    "items_for_family",
    "portable_part",
    "target_of",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Binding:
    """What an API binds private content to, beyond the API and the platform.

    Attributes:
        to_model: Another model of the same provider refuses it, or ignores it.
        source: Where that is said.
        date: When that was said, or looked up.
    """

    to_model: bool
    source: str
    date: str


BINDINGS: Final[Mapping[str, Binding]] = {
    # No verifier's message names the model; deployments and organisations are told apart for
    # certain, and the model out of caution: what is not sent cannot be refused.
    "openai-responses": Binding(True, "https://github.com/openai/codex/issues/17541", "2026-04-12"),
    # Reasoning comes as plain text there, which any model of the same host takes back.
    "openai-chat": Binding(False, "https://api-docs.deepseek.com/guides/thinking_mode", "2026-12-01"),
    "deepseek-chat": Binding(False, "https://api-docs.deepseek.com/guides/thinking_mode", "2026-12-01"),
    # It is plain text there too, but models that do not think refuse the parts that it stands in.
    "mistral-chat": Binding(
        True,
        "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py",
        "2026-12-01",
    ),
    # A model that cannot read another's thinking leaves it out itself; the provider asks that
    # it be sent all the same.
    "anthropic-messages": Binding(
        False, "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking", "2026-10-01"
    ),
    # Signatures of another model version may be refused as corrupt, and a call without one has
    # a mark for its sake: what is not sent cannot be refused.
    "gemini": Binding(True, "https://github.com/RooCodeInc/Roo-Code/pull/10554", "2026-01-08"),
}
"""What each API binds private content to. An API that is not named here binds it to the model."""

_ALIKE: Final[Mapping[str, frozenset[str]]] = {
    "deepseek-chat/direct": frozenset({"openai-chat/deepseek"}),
    "openai-chat/deepseek": frozenset({"deepseek-chat/direct"}),
}
"""Families that are one: DeepSeek under its own rules, and as a platform that speaks Chat Completions."""

_PREFIX_BOUND: Final = re.compile(r"(fable-5-[12]|mythos-5-[12]|opus-5-5|sonnet-5-5|haiku-5-5)")


class Named(Protocol):
    """What has the name of an API: an API does."""

    @property
    def name(self) -> str:
        """What a target calls it."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """Where a context is sent.

    Attributes:
        api: The shape of the request: ``"openai-responses"``, ``"openai-chat"``,
            ``"anthropic-messages"``, ``"gemini"``, ``"deepseek-chat"``, ``"mistral-chat"``, or one
            of a table of one's own, which ``rules`` holds.
        model: The name that is requested, never the dated one that comes back.
        platform: Who runs it: ``"direct"`` for the provider itself, or a cloud or gateway.
        account: The organisation or key, where private content is bound to it.
        reads: Other families whose private content it can read.
        rules: An API of :func:`transcript_log.apis.tables.load_rules` of this name, where ``api`` is
            none of those that are known everywhere.

    Raises:
        TargetError: A part of the name is empty, or holds a slash where none may be, or the
            rules are those of another API.
    """

    api: str
    model: str
    platform: str = "direct"
    account: str = ""
    reads: frozenset[str] = frozenset()
    rules: Named | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, value in (("api", self.api), ("model", self.model), ("platform", self.platform)):
            if not value.strip():
                raise TargetError(value, f"the {name} of a target must not be blank")
        for name, value in (("api", self.api), ("platform", self.platform), ("account", self.account)):
            if "/" in value:
                raise TargetError(value, f"the {name} of a target holds no slash")
        if self.rules is not None and self.rules.name != self.api:
            raise TargetError(self.api, f"the rules given are those of {self.rules.name}")

    @property
    def family(self) -> str:
        """The family of what this target answers: ``api/platform[/account][/model]``."""
        binding = BINDINGS.get(self.api)
        parts = [self.api, self.platform]
        if self.account:
            parts.append(self.account)
        if binding is None or binding.to_model:
            # A gateway's models have slashes in their names, which may not pass for an account.
            parts.append(self.model.replace("%", "%25").replace("/", "%2F"))
        return "/".join(parts)

    @property
    def binds_to_prefix(self) -> bool:
        """Whether thinking is refused once anything before it has changed, as after a compaction.

        So it is with the newer models of Anthropic
        (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking, 2026-10;
        its page on prefix checks names the models).
        """
        model = self.model.replace(".", "-")
        return self.api == "anthropic-messages" and _PREFIX_BOUND.search(model) is not None

    def can_read(self, family: str | None) -> bool:
        """Whether private content of ``family`` may be sent. Of None nothing is known: it may not."""
        if family is None:
            return False
        own = self.family
        return family == own or family in self.reads or family in _ALIKE.get(own, ())


def target_of(family: str, model: str | None = None) -> Target | None:
    """The target whose answers have this family; None where that cannot be told.

    Args:
        family: As :attr:`Target.family` has it.
        model: The model, for the APIs whose families do not name it.
    """
    api, *parts = family.split("/")
    binding = BINDINGS.get(api)
    if binding is None or binding.to_model:
        model = parts.pop().replace("%2F", "/").replace("%25", "%") if parts else None
    if model is None or len(parts) not in (1, 2):
        return None
    platform, account = (*parts, "")[:2]
    try:
        target = Target(api, model, platform, account)
    except TargetError:
        return None
    return target if target.family == family else None


def items_for_family(
    items: Iterable[T],
    family: str | None,
    *,
    item_families: IdentityMap[str | None] | None = None,
    handoff_families: IdentityMap[str | None] | None = None,
) -> list[T]:
    """The items that a family may read, in their order, the same objects.

    A private item is kept only if ``item_families`` has it, under this very family: what is not
    there is of unknown family, and unreadable. An item that ``handoff_families`` has under this
    family is left out, private or not: it tells others what this one knows first-hand. None is a
    family like any other. All other items are kept.
    """
    return [
        item
        for item in items
        if not _is_of(family, item, handoff_families)
        and (not item_shapes.is_family_private(item) or _is_of(family, item, item_families))
    ]


def _is_of(family: str | None, item: object, families: IdentityMap[str | None] | None) -> bool:
    return families is not None and item in families and families[item] == family
