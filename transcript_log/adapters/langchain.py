"""The chat message history of LangChain, kept in a session.

::

    history = SessionChatMessageHistory(session)
    RunnableWithMessageHistory(chain, lambda session_id: history, …)

What LangChain added comes back equal, as ``messages_from_dict`` makes it of ``message_to_dict``.
What others added, as another framework or an imported session, is read as messages that say
the same, and what of it has no form there is told. Needs the extra ``langchain``.
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
from ..session import LogView, Session
from ..store import DetailKey
from ._history import Draft, clearing, drafted, recalled

try:
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import AIMessage, BaseMessage
except ImportError as missing:
    raise ImportError(
        "transcript_log.adapters.langchain needs the extra 'langchain':"
        " pip install 'transcript-log[langchain]'"
    ) from missing

from ._langchain_reading import messages_of
from ._langchain_writing import dumped, items_of, loaded, target_of_message

__all__ = ["MessagesRead", "SessionChatMessageHistory", "TargetOf", "read_messages", "target_of_message"]

_NAME: Final = "langchain"
"""Under which the sidecar keeps what LangChain wants back."""

TargetOf: TypeAlias = Callable[[AIMessage], Target | None]
"""Says who made a message, and so can read what is private in it; None: nobody knows."""


@dataclass(frozen=True, slots=True)
class MessagesRead:
    """The messages of a log, and how they came about.

    Attributes:
        messages: In their order.
        changes: What of the log they do not say, or say otherwise; nothing, where LangChain itself
            added all of it.
    """

    messages: list[BaseMessage]
    changes: tuple[Change, ...]

    __hash__ = None  # type: ignore[assignment]  # messages may be changed


def read_messages(entries: Sequence[Entry], details: Mapping[DetailKey, Json]) -> MessagesRead:
    """The messages of any log, as of an imported session, for a chain that goes on with it.

    Args:
        entries: The whole log.
        details: The payloads beside it.
    """
    pieces, changes = recalled(entries, details, _NAME, loaded)
    messages, more = messages_of(pieces)
    return MessagesRead(messages, (*changes, *more))


class SessionChatMessageHistory(BaseChatMessageHistory):
    """The messages of a chain in a session.

    The methods for asyncio do their work in threads, and in the order in which they were begun.

    Args:
        session: The session; it stays the caller's to close.
        target_of: Says who made a message, where the default does not know.
    """

    def __init__(self, session: Session, *, target_of: TargetOf = target_of_message) -> None:
        super().__init__()
        self.session: Final = session
        self._target_of: Final = target_of
        self._async: Final = AsyncSession(session)

    def read(self) -> MessagesRead:
        """The messages since the newest compaction, and what of them is not as the log has it."""
        view = self.session.view()
        return read_messages(view.entries, view.details)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # as its own docstring allows
        """The messages since the newest compaction, made anew each time."""
        return self.read().messages

    async def aget_messages(self) -> list[BaseMessage]:
        """As :attr:`messages`."""
        view = await self._async.view()
        return read_messages(view.entries, view.details).messages

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all or none.

        Raises:
            EntryError: A message holds what JSON does not give back, or LangChain cannot read it back.
        """
        drafts = self._drafts(messages)
        if drafts:
            self.session.append(lambda view: drafted(view, _NAME, drafts))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """As :meth:`add_messages`."""
        drafts = self._drafts(messages)

        def batch(view: LogView) -> tuple[list[Entry], list[Detail]]:
            return drafted(view, _NAME, drafts)

        if drafts:
            await self._async.append(batch)

    def clear(self) -> None:
        """Begin with no messages from here on. The log keeps what was said."""
        self.session.append(clearing)

    async def aclear(self) -> None:
        """As :meth:`clear`."""
        await self._async.append(clearing)

    def _drafts(self, messages: Sequence[BaseMessage]) -> list[Draft]:
        drafts = []
        for number, message in enumerate(messages):
            where = f"$.messages[{number}]"
            form = dumped(message, where)
            try:
                loaded(form)
            except (LookupError, TypeError, ValueError) as error:
                raise EntryError(where, f"LangChain cannot read it back: {error}") from error
            drafts.append(Draft(form, items_of(message, self._target_of)))
        return drafts
