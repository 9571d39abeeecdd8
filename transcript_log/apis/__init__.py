"""The provider APIs: what each demands of the items it is sent, and how to say them in its words.

One module each, with a table of rules of which every row names its source. Another API is
another module, and a row in :data:`APIS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..entries import Item
from ..errors import TargetError
from ..families import Target
from ..findings import Finding
from ._base import Api, OfModel, Rule
from .anthropic import ANTHROPIC_MESSAGES
from .chat import OPENAI_CHAT
from .deepseek import DEEPSEEK_CHAT
from .gemini import GEMINI
from .mistral import MISTRAL_CHAT
from .responses import OPENAI_RESPONSES

__all__ = ["APIS", "Api", "Rule", "api_for", "api_of", "check_items"]

APIS: Final[Mapping[str, Api]] = {
    api.name: api
    for api in (
        OPENAI_RESPONSES,
        OPENAI_CHAT,
        ANTHROPIC_MESSAGES,
        GEMINI,
        DEEPSEEK_CHAT,
        MISTRAL_CHAT,
    )
}
"""The APIs that a context can be made for, by name."""


def api_of(name: str) -> Api:
    """The API of this name.

    Raises:
        TargetError: There is none.
    """
    api = APIS.get(name)
    if api is None:
        raise TargetError(name, f"this API is not known here; known are {', '.join(APIS)}")
    return api


def api_for(target: Target) -> Api:
    """The API of a target, as the target's model has it.

    Raises:
        TargetError: It is not known here.
    """
    given = target.rules
    api = given if isinstance(given, Api) else api_of(target.api)
    return api.of_model(target.model) if isinstance(api, OfModel) else api


def check_items(items: Sequence[Item], target: Target, *, paused: bool = False) -> list[Finding]:
    """The rules of the target's API that items break, in their order; empty if it takes them.

    Nothing is said of who can read what is private in them: items do not tell.

    Args:
        items: What would be sent.
        target: Where.
        paused: The last item is of a turn that the provider paused, to be sent back as it is.

    Raises:
        TargetError: The API is not known here.
    """
    return list(api_for(target).check(items, paused=paused))
