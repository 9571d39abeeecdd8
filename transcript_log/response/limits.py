"""What the headers of an answer say of the limits on further requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["RateLimit", "parse_rate_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """How many requests and tokens are left, each as the text of its header.

    A reset is a time with Anthropic and a span with OpenAI (``"120ms"``). None where the
    provider did not say.
    """

    requests_limit: str | None = None
    requests_remaining: str | None = None
    requests_reset: str | None = None
    tokens_limit: str | None = None
    tokens_remaining: str | None = None
    tokens_reset: str | None = None


_KINDS: Final = ("requests", "tokens")
_FACTS: Final = ("limit", "remaining", "reset")
_HEADERS: Final[Mapping[str, str]] = {
    **{f"anthropic-ratelimit-{kind}-{fact}": f"{kind}_{fact}" for kind in _KINDS for fact in _FACTS},
    **{f"x-ratelimit-{fact}-{kind}": f"{kind}_{fact}" for kind in _KINDS for fact in _FACTS},
}


def parse_rate_limit(headers: Any) -> RateLimit | None:
    """What the headers of an answer say of the limits; None where they say nothing.

    Args:
        headers: A mapping of names to text, such as ``httpx.Headers``. Case does not matter.
    """
    if not isinstance(headers, Mapping):
        return None
    found: dict[str, str] = {}
    for name, value in headers.items():
        fact = _HEADERS.get(name.lower()) if isinstance(name, str) else None
        if fact is not None and isinstance(value, str):
            found.setdefault(fact, value)
    return RateLimit(**found) if found else None
