"""A session of the OpenAI Agents SDK that is kept in a log.

The SDK wants four things of a session: give the items, add some, take back the newest, take back
all. A log forgets nothing, so what is taken back is an entry that says what is left
(:meth:`transcript_log.Session.revise`). ``get_items``, a context made of the log and what the
command shows therefore agree, in this process and in any other.

Written for openai-agents 0.24, 2026-12; its ``agents.memory.session`` has the protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, Self, cast

from ..aio import AsyncSession
from ..context import build_context
from ..entries import Item, new_message
from ..errors import ContextError
from ..families import Target
from ..items.shapes import shape_of
from ..session import Mode
from ..store import Store

try:
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
except ImportError as error:
    raise ImportError(
        "transcript_log.adapters.openai_agents needs the OpenAI Agents SDK: install the extra, as in"
        " pip install 'transcript-log[openai-agents]'",
        name=error.name,
    ) from error

__all__ = ["TranscriptSession"]


class TranscriptSession(SessionABC):
    """A ``Session`` of the SDK over a log, for ``Runner.run(..., session=...)``.

    Items come back as the JSON that was added; what a caller does to them changes nothing here.
    What was added, or taken back, is on disk once the call returns; a call that is
    cancelled is carried out all the same, before all later ones. Any number of tasks may use one
    object, and in shared mode any number of processes one log.

    Attributes:
        session: What keeps the log.
        target: Who makes what is private in the items that are added, such as encrypted
            reasoning; set it anew when another model takes over.
        session_id: The id of the log; the name of its file where it has none.
        session_settings: The SDK's; its limit counts where ``get_items`` is given none.
    """

    def __init__(
        self,
        session: AsyncSession,
        *,
        target: Target,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """Over a session that is open, and that the caller closes."""
        self.session: Final = session
        self.target = target
        self.session_id = session.id or str(getattr(session.store, "path", "session"))
        self.session_settings = session_settings
        self._is_own = False

    @classmethod
    async def open(
        cls,
        where: str | os.PathLike[str] | Store,
        *,
        target: Target,
        mode: Mode = "exclusive",
        wait: float | None = None,
        session_settings: SessionSettings | None = None,
    ) -> Self:
        """Over a log, which is made if there is none, or over any store; :meth:`close` lets go of it.

        Args:
            where: The log, or a store.
            target: Who makes what is private in the items.
            mode: Who else may write; a store that gives no lease is opened with ``"shared"``.
            wait: How long to wait for another writer, in seconds.
            session_settings: The SDK's settings.

        Raises:
            LogBusyError: Another writer has the log.
            HeaderError: The file is no log of ours.
            StorageError: The system refused.
        """
        if isinstance(where, str | os.PathLike):
            session = await AsyncSession.open(where, mode=mode, wait=wait, create=True)
        else:
            session = await AsyncSession.over(where, mode=mode, wait=wait or 0.0)
        made = cls(session, target=target, session_settings=session_settings)
        made._is_own = True
        return made

    async def close(self) -> None:
        """Let go of the log, if :meth:`open` has taken it."""
        if self._is_own:
            await self.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first: all, or the newest ``limit``. A negative limit is none.

        Items of a log that others wrote in the words of another API come in those of the SDK, as
        a context for the target has them.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        held, target = await self.session.items(), self.target

        def newest() -> list[TResponseInputItem]:
            items = _in_own_words(held, target)
            first = 0 if limit is None or limit < 0 else max(0, len(items) - limit)
            return _given(items[first:])

        return await asyncio.to_thread(newest)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, all or none.

        Raises:
            EntryError: One holds what JSON would not give back.
            StorageError: The system refused; nothing was added.
        """
        if items:
            await self.session.add(*_copies(items), target=self.target)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take back the newest item, and give it; None if there is none."""
        taken: Sequence[Item] = ()

        def without_last(held: tuple[Item, ...]) -> Sequence[Item]:
            nonlocal taken
            taken = held[-1:]
            return held[:-1]

        await self.session.revise(without_last)
        return _given(taken)[0] if taken else None

    async def clear_session(self) -> None:
        """Take back all items."""
        await self.session.revise(lambda _: ())

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        """Put other items in the place of all; ``OpenAIResponsesCompactionSession`` asks for it.

        Without it that clears the session and adds to it, and a crash in between leaves it empty.
        """
        copies = _copies(items)
        await self.session.revise(lambda _: copies, target=self.target)
        return True


def _in_own_words(held: Sequence[Item], target: Target) -> Sequence[Item]:
    """The items, those up to the last one of another API as they are said in the SDK's words."""
    end = max((place for place, item in enumerate(held, 1) if _is_foreign(item)), default=0)
    if not end:
        return held
    entries = [new_message(item, family=None if _is_foreign(item) else target.family) for item in held[:end]]
    # The SDK keeps items of the Responses API, whatever API it asks.
    reads = target.reads | {target.family}
    own = Target("openai-responses", target.model, target.platform, target.account, reads)
    try:
        said = build_context(entries, own).items
    except ContextError:  # nothing can be said of them
        said = []
    return [*said, *held[end:]]


def _is_foreign(item: Item) -> bool:
    content = item.get("content")
    return shape_of(item) in ("chat", "anthropic", "pi") or (
        type(content) is list and any(type(part) is dict and part.get("type") == "text" for part in content)
    )


def _copies(items: Iterable[object]) -> list[Any]:
    """Items as their JSON would come back: the caller's own objects may change later."""
    return [json.loads(json.dumps(item)) for item in items]


def _given(items: Iterable[Item]) -> list[TResponseInputItem]:
    """Items of the log, to be changed as one likes."""
    return cast(list[TResponseInputItem], _copies(items))
