"""Responses of models, of any provider API, in one shape.

:func:`parse_response` reads the answer of an API as it came; :func:`make_response` makes one
by hand, for those who talk to a model in another way. ``docs/responses.md`` says which names
each provider uses, with sources. Nothing that was given is changed.
"""

from __future__ import annotations

from .answers import ChatResponse, ModelResponse, ReplayBlocks, make_response
from .calls import ToolCall
from .errors import ResponseError
from .finish import FinishReason, normalize_finish_reason
from .limits import RateLimit, parse_rate_limit
from .parsing import parse_response
from .reasoning import extract_reasoning
from .usage import Usage, normalize_usage

__all__ = [
    "ChatResponse",
    "FinishReason",
    "ModelResponse",
    "RateLimit",
    "ReplayBlocks",
    "ResponseError",
    "ToolCall",
    "Usage",
    "extract_reasoning",
    "make_response",
    "normalize_finish_reason",
    "normalize_usage",
    "parse_rate_limit",
    "parse_response",
]
