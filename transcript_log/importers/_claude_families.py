"""Who can read what is private in what a model of a Claude Code session said."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ..families import Target

__all__ = ["family_of", "provider_of"]

_API: Final = "anthropic-messages"
_PLATFORMS: Final = (("msg_bdrk_", "bedrock"), ("msg_vrtx_", "vertex"))
"""How the ids of messages begin that came of a cloud."""
_ODD: Final = re.compile(r"[^a-z0-9._-]+")


def family_of(model: str | None, message: str | None) -> str:
    """The family of what a model said.

    Claude Code does not record where it sent a request. The id of a message tells the cloud
    that it came of. What no model of Anthropic's said came of a server that speaks the same
    API; its family bears the name of the model in the platform's place.
    """
    return _family(model, _platform(message))


def provider_of(model: str | None, message: str | None) -> str | None:
    """Who answered, where that can be told."""
    if model is None or "claude" not in model:
        return None
    return _platform(message) or "anthropic"


def _platform(message: str | None) -> str | None:
    if message is not None and message[:4] == "msg_":
        for start, platform in _PLATFORMS:
            if message.startswith(start):
                return platform
    return None


@lru_cache(maxsize=256)
def _family(model: str | None, platform: str | None) -> str:
    if model is not None and "claude" not in model.lower() and platform is None:
        platform = _ODD.sub("-", model.lower()).strip("-") or None
    return Target(_API, "any", platform or "direct").family
