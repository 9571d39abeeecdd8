"""The one error of this package's reading: what was given is no response at all."""

from __future__ import annotations

from ..errors import TranscriptError

__all__ = ["ResponseError"]


class ResponseError(TranscriptError, TypeError):
    """A value is neither a JSON object nor an SDK's object of a response. ``given`` is its type."""

    def __init__(self, given: str) -> None:
        super().__init__(given)
        self.given = given

    def __str__(self) -> str:
        return (
            f"a response is the JSON object that an API answered with, or an SDK's object for it, not"
            f" {self.given}; of a stream, give what the SDK accumulated"
        )
