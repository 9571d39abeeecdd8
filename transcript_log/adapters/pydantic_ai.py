"""The message history of a pydantic-ai agent, kept in a session.

::

    history = MessageHistory(session)
    result = await agent.run("Does it build?", message_history=await history.messages())
    await history.add(result.new_messages())

What the agent added comes back equal: ``ModelMessagesTypeAdapter`` gives the same JSON for it.
What others added, as another framework or an imported session, is read as messages that say
the same, and what of it has no form there is told. Needs the extra ``pydantic-ai``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..aio import AsyncSession
from ..entries import Detail, Entry, Json
from ..errors import EntryError
from ..families import Target
from ..findings import Change
from ..session import LogView
from ..store import DetailKey
from ._history import Draft, clearing, drafted, recalled

try:
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
except ImportError as missing:
    raise ImportError(
        "transcript_log.adapters.pydantic_ai needs the extra 'pydantic-ai':"
        " pip install 'transcript-log[pydantic-ai]'"
    ) from missing

from ._pydantic_ai_reading import messages_of
from ._pydantic_ai_writing import dumped, loaded, request_items, response_items, target_of_response

__all__ = ["MessageHistory", "MessagesRead", "TargetOf", "read_messages", "target_of_response"]

_NAME: Final = "pydantic-ai"
"""Under which the sidecar keeps what pydantic-ai wants back."""

TargetOf: TypeAlias = Callable[[ModelResponse], Target | None]
"""Says who made a response, and so can read what is private in it; None: nobody knows."""


@dataclass(frozen=True, slots=True)
class MessagesRead:
    """The messages of a log, and how they came about.

    Attributes:
        messages: In their order, for the ``message_history`` of a run.
        changes: What of the log they do not say, or say otherwise; nothing, where the agent itself
            added all of it.
    """

    messages: list[ModelMessage]
    changes: tuple[Change, ...]

    __hash__ = None  # type: ignore[assignment]  # messages may be changed


def read_messages(entries: Sequence[Entry], details: Mapping[DetailKey, Json]) -> MessagesRead:
    """The messages of any log, as of an imported session, for an agent that goes on with it.

    Args:
        entries: The whole log.
        details: The payloads beside it.
    """
    pieces, changes = recalled(entries, details, _NAME, loaded)
    messages, more = messages_of(pieces)
    return MessagesRead(messages, (*changes, *more))


class MessageHistory:
    """The messages of an agent in a session.

    Args:
        session: The session; it stays the caller's to close.
        target_of: Says who made a response, where the default does not know.
    """

    def __init__(self, session: AsyncSession, *, target_of: TargetOf = target_of_response) -> None:
        self.session: Final = session
        self._target_of: Final = target_of

    async def read(self) -> MessagesRead:
        """The messages since the newest compaction, and what of them is not as the log has it."""
        view = await self.session.view()
        return read_messages(view.entries, view.details)

    async def messages(self) -> list[ModelMessage]:
        """The messages since the newest compaction, for the ``message_history`` of a run."""
        return (await self.read()).messages

    async def add(self, messages: Sequence[ModelMessage]) -> tuple[Entry, ...]:
        """Add the new messages of a run, all or none: ``result.new_messages()``.

        Raises:
            EntryError: A message holds what JSON does not give back.
        """
        drafts = self._drafts(messages)
        if not drafts:
            return ()

        def batch(view: LogView) -> tuple[list[Entry], list[Detail]]:
            return drafted(view, _NAME, drafts)

        return await self.session.append(batch)

    async def clear(self) -> None:
        """Begin with no messages from here on. The log keeps what was said."""
        await self.session.append(clearing)

    def _drafts(self, messages: Sequence[ModelMessage]) -> list[Draft]:
        drafts = []
        instructions: str | None = None
        for number, message in enumerate(messages):
            try:
                form = dumped(message)
            except ValueError as error:
                raise EntryError(f"$.messages[{number}]", f"pydantic-ai cannot write it: {error}") from error
            if isinstance(message, ModelRequest):
                instructions = message.instructions
                times = [message.timestamp, *(getattr(part, "timestamp", None) for part in message.parts)]
                moment = next((time for time in times if time is not None), None)
                drafts.append(Draft(form, request_items(message), moment))
            else:
                made = response_items(message, self._target_of(message), instructions)
                drafts.append(Draft(form, made, message.timestamp))
        return drafts
