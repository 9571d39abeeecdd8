"""What keeps a query from being answered."""

from __future__ import annotations

from ..errors import TranscriptError

__all__ = ["NoDuckDBError", "QueryError"]


class NoDuckDBError(TranscriptError, ImportError):
    """A query was asked, and the extra ``sql`` is not installed."""

    def __str__(self) -> str:
        return "there is no query engine: install the extra, as in pip install 'transcript-log[sql]'"


class QueryError(TranscriptError, ValueError):
    """A query is no single query that only reads, or the engine refused it.

    ``reason`` is the engine's own sentence, without the lines that it quotes of the query.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason
