"""Answers of provider APIs as their documents show them, with and without a cache.

Each has its own total beside it, as the provider gives it or says how to compute it. Sources and
dates are in ``docs/responses.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["RECORDED", "Recorded", "chat", "gemini", "message", "responses"]


@dataclass(frozen=True)
class Recorded:
    """One answer, the API it is of, and what its usage comes to."""

    name: str
    api: str
    raw: dict[str, Any]
    total: int
    buckets: tuple[int, int, int, int, int]
    """Uncached input, cache read, cache write, output, of which reasoning."""


def chat(
    message: dict[str, Any] | None = None, finish: str | None = "stop", usage: Any = None, **more: Any
) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Hello!", "refusal": None} if message is None else message
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1741569952,
        "model": "gpt-5.4-2026-03-05",
        "choices": [{"index": 0, "message": said, "logprobs": None, "finish_reason": finish}],
        "usage": usage,
        **more,
    }


def responses(
    output: list[Any] | None = None, status: str | None = "completed", usage: Any = None, **more: Any
) -> dict[str, Any]:
    said = [
        {
            "type": "message",
            "id": "msg_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hello!", "annotations": []}],
        }
    ]
    return {
        "id": "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        "object": "response",
        "created_at": 1741476542,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "gpt-5.4-2026-03-05",
        "output": said if output is None else output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage,
        **more,
    }


def message(
    content: list[Any] | None = None, stop: str | None = "end_turn", usage: Any = None, **more: Any
) -> dict[str, Any]:
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": [{"type": "text", "text": "Hello!"}] if content is None else content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 6} if usage is None else usage,
        **more,
    }


def gemini(
    parts: list[Any] | None = None, finish: str | None = "STOP", usage: Any = None, **more: Any
) -> dict[str, Any]:
    return {
        "candidates": [
            {
                "content": {"parts": [{"text": "Hello!"}] if parts is None else parts, "role": "model"},
                "finishReason": finish,
                "index": 0,
            }
        ],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "mAitaLmkHPPlz7IPvtfUqQ4",
        **more,
    }


RECORDED: Final = [
    Recorded(
        "responses-plain",
        "openai-responses",
        responses(
            usage={
                "input_tokens": 36,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 87,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 123,
            }
        ),
        123,
        (36, 0, 0, 87, 0),
    ),
    Recorded(
        "responses-cached",
        "openai-responses",
        responses(
            usage={
                "input_tokens": 2006,
                "input_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 64},
                "output_tokens": 300,
                "output_tokens_details": {"reasoning_tokens": 128},
                "total_tokens": 2306,
            }
        ),
        2306,
        (22, 1920, 64, 300, 128),
    ),
    Recorded(
        "responses-cached-before-writes-were-told",
        "openai-responses",
        responses(
            usage={
                "input_tokens": 12033,
                "input_tokens_details": {"cached_tokens": 11904},
                "output_tokens": 44,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 12077,
            }
        ),
        12077,
        (129, 11904, 0, 44, 0),
    ),
    Recorded(
        "chat-plain",
        "openai-chat",
        chat(usage={"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29}),
        29,
        (19, 0, 0, 10, 0),
    ),
    Recorded(
        "chat-cached",
        "openai-chat",
        chat(
            usage={
                "prompt_tokens": 2006,
                "completion_tokens": 300,
                "total_tokens": 2306,
                "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
            }
        ),
        2306,
        (86, 1920, 0, 300, 0),
    ),
    Recorded(
        "deepseek-cached",
        "openai-chat",
        chat(
            {"role": "assistant", "content": "Hello!", "reasoning_content": "A greeting."},
            usage={
                "prompt_tokens": 90,
                "completion_tokens": 30,
                "total_tokens": 120,
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 26,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            model="deepseek-v4-pro",
        ),
        120,
        (26, 64, 0, 30, 20),
    ),
    Recorded(
        "openrouter-cache-write",
        "openai-chat",
        chat(
            usage={
                "completion_tokens": 2,
                "completion_tokens_details": {"reasoning_tokens": 0},
                "cost": 0.95,
                "cost_details": {"upstream_inference_cost": 19},
                "prompt_tokens": 194,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 100, "audio_tokens": 0},
                "total_tokens": 196,
            },
            provider="Anthropic",
        ),
        196,
        (94, 0, 100, 2, 0),
    ),
    Recorded(
        "gemini-behind-chat",
        "openai-chat",
        chat(usage={"completion_tokens": 102, "prompt_tokens": 758, "total_tokens": 1725}),
        1725,
        (758, 0, 0, 967, 865),
    ),
    Recorded(
        "xai-reasoning-outside",
        "openai-chat",
        chat(
            usage={
                "completion_tokens": 50,
                "completion_tokens_details": {"audio_tokens": 0, "reasoning_tokens": 124},
                "prompt_tokens": 663,
                "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": 654, "text_tokens": 663},
                "total_tokens": 837,
            },
            model="xai/grok-4.1-fast-reasoning",
        ),
        837,
        (9, 654, 0, 174, 124),
    ),
    Recorded(
        "moonshot-cached",
        "openai-chat",
        chat(
            usage={
                "prompt_tokens": 1850,
                "completion_tokens": 20,
                "total_tokens": 1870,
                "cached_tokens": 1792,
            },
            model="kimi-k3",
        ),
        1870,
        (58, 1792, 0, 20, 0),
    ),
    Recorded("anthropic-plain", "anthropic-messages", message(), 18, (12, 0, 0, 6, 0)),
    Recorded(
        "anthropic-cached",
        "anthropic-messages",
        message(
            usage={
                "input_tokens": 50,
                "cache_creation_input_tokens": 248,
                "cache_read_input_tokens": 100000,
                "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
                "output_tokens": 503,
                "output_tokens_details": {"thinking_tokens": 300},
                "service_tier": "standard",
            }
        ),
        50 + 248 + 100000 + 503,
        (50, 100000, 248, 503, 300),
    ),
    Recorded(
        "gemini-plain",
        "google-gemini",
        gemini(usage={"promptTokenCount": 5, "candidatesTokenCount": 15, "totalTokenCount": 20}),
        20,
        (5, 0, 0, 15, 0),
    ),
    Recorded(
        "gemini-cached",
        "google-gemini",
        gemini(
            usage={
                "promptTokenCount": 2152,
                "cachedContentTokenCount": 2027,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 100,
                "toolUsePromptTokenCount": 30,
                "totalTokenCount": 2302,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2152}],
            }
        ),
        2302,
        (155, 2027, 0, 120, 100),
    ),
]
