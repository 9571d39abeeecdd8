"""The session for agents that use asyncio."""

from __future__ import annotations

from .session import AsyncSession

__all__ = ["AsyncSession"]
