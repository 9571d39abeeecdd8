"""A session whose methods are awaited.

Each method does what that of :class:`transcript_log.Session` does, in a thread. The methods
of one session take effect in the order in which they were begun, whoever began them; as any
coroutine, each begins when it is first awaited, or when its task first runs. What was begun is
done: cancelling the await gives up the answer, not the write, so that nothing which is
written later can come before it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import Any, Final, Self, TypeVar

from ..context import Context
from ..entries import (
    Clock,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    IdSource,
    Invocation,
    Item,
    Json,
    MessageEntry,
    ParentCall,
    ToolOutcome,
    new_id,
    utc_now,
)
from ..errors import CorruptLogError
from ..families import Target
from ..findings import Finding
from ..history import History
from ..jsonl import Durability
from ..response import ToolCall
from ..session import (
    CallRecorder,
    CompactionPlan,
    LogView,
    Mode,
    OpenCall,
    Recorded,
    Revise,
    RunRecorder,
    Session,
    Weigh,
)
from ..store import Store
from ._order import InOrder
from ._pump import pumped

__all__ = ["AsyncSession"]

T = TypeVar("T")


class AsyncSession:
    """One conversation of an agent with its models, for asyncio; see :class:`transcript_log.Session`.

    The signatures are those of the other, written out so that editors and type checkers know
    them; a test compares the two. Neither a lock nor a disk holds up the event loop. An error of
    a write for which nobody waits any more goes to the exception handler of the loop.

    Args:
        session: The session that does the work. It is this one's from here on.
    """

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._order: Final = InOrder(repr(session))

    # --------------------------------------------------------------------------- opening

    @classmethod
    async def create(
        cls,
        path: str | os.PathLike[str],
        *,
        cwd: str | None = None,
        parent: ParentCall | None = None,
        durability: Durability = "fsync",
        checksum: bool = True,
        new_id: IdSource = new_id,
        clock: Clock = utc_now,
    ) -> Self:
        """As :meth:`transcript_log.Session.create`."""
        return await cls._opened(
            partial(
                Session.create,
                path,
                cwd=cwd,
                parent=parent,
                durability=durability,
                checksum=checksum,
                new_id=new_id,
                clock=clock,
            )
        )

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        mode: Mode = "exclusive",
        wait: float | None = None,
        create: bool = False,
        cwd: str | None = None,
        durability: Durability = "fsync",
        checksum: bool = True,
        new_id: IdSource = new_id,
        clock: Clock = utc_now,
    ) -> Self:
        """As :meth:`transcript_log.Session.open`."""
        return await cls._opened(
            partial(
                Session.open,
                path,
                mode=mode,
                wait=wait,
                create=create,
                cwd=cwd,
                durability=durability,
                checksum=checksum,
                new_id=new_id,
                clock=clock,
            )
        )

    @classmethod
    async def over(
        cls,
        store: Store,
        *,
        mode: Mode = "shared",
        wait: float = 0.0,
        new_id: IdSource = new_id,
        clock: Clock = utc_now,
    ) -> Self:
        """A session over any store, as :class:`transcript_log.Session` itself makes one."""
        return await cls._opened(partial(Session, store, mode=mode, wait=wait, new_id=new_id, clock=clock))

    @classmethod
    def in_memory(cls, *, new_id: IdSource = new_id, clock: Clock = utc_now) -> Self:
        """As :meth:`transcript_log.Session.in_memory`; not awaited, for nothing is waited for."""
        return cls(Session.in_memory(new_id=new_id, clock=clock))

    @classmethod
    async def _opened(cls, make: Callable[[], Session]) -> Self:
        # Whoever stops waiting must not leave a log behind that nobody else can open.
        return cls(await InOrder(cls.__name__).do(make, Session.close))

    async def close(self) -> None:
        """Let go of the log, once all that was called before is done."""
        await self._do(self._session.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self._session).removeprefix('<')}"

    async def _do(self, method: Callable[..., T], *args: Any, **more: Any) -> T:
        return await self._order.do(partial(method, *args, **more))

    # --------------------------------------------------------------------------- reading

    @property
    def store(self) -> Store:
        """Where the entries are."""
        return self._session.store

    @property
    def id(self) -> str | None:
        """As :attr:`transcript_log.Session.id`."""
        return self._session.id

    @property
    def head(self) -> str:
        """The id of the last entry, as far as this session knows; ``""`` for an empty log."""
        return self._session.head

    @property
    def damage(self) -> tuple[Finding, ...]:
        """What is wrong in the files, and was passed over."""
        return self._session.damage

    async def entries(self) -> tuple[Entry, ...]:
        """As :meth:`transcript_log.Session.entries`."""
        return await self._do(self._session.entries)

    async def items(self) -> tuple[Item, ...]:
        """As :meth:`transcript_log.Session.items`."""
        return await self._do(self._session.items)

    async def view(self) -> LogView:
        """As :meth:`transcript_log.Session.view`."""
        return await self._do(self._session.view)

    async def context(self, target: Target, *, strict: bool = False, attachments: bool = False) -> Context:
        """As :meth:`transcript_log.Session.context`."""
        return await self._do(self._session.context, target, strict=strict, attachments=attachments)

    async def context_at(self, entry_id: str, target: Target) -> Context:
        """As :meth:`transcript_log.Session.context_at`."""
        return await self._do(self._session.context_at, entry_id, target)

    async def history(self) -> History:
        """As :meth:`transcript_log.Session.history`."""
        return await self._do(self._session.history)

    async def open_calls(self) -> tuple[OpenCall, ...]:
        """As :meth:`transcript_log.Session.open_calls`."""
        return await self._do(self._session.open_calls)

    async def follow(
        self, after: str | None = None, *, on_damage: Callable[[CorruptLogError], None] | None = None
    ) -> AsyncGenerator[tuple[Entry, ...], None]:
        """As :meth:`transcript_log.Session.follow`, until the iterator is closed.

        It waits for nothing that the session writes, and holds none of it up. ``on_damage`` is
        called in a thread.
        """
        stop = threading.Event()
        batches = pumped(self._session.follow(after, stop=stop.is_set, on_damage=on_damage), stop)
        async with contextlib.aclosing(batches):
            async for batch in batches:
                yield batch

    # --------------------------------------------------------------------------- writing

    async def add(
        self,
        *items: Item,
        target: Target | None = None,
        ids: Sequence[str] | None = None,
        after: str | None = None,
        invocation: Invocation | None = None,
    ) -> tuple[MessageEntry, ...]:
        """As :meth:`transcript_log.Session.add`."""
        return await self._do(
            self._session.add, *items, target=target, ids=ids, after=after, invocation=invocation
        )

    async def append(
        self, make: Callable[[LogView], tuple[Sequence[Entry], Sequence[Detail]]]
    ) -> tuple[Entry, ...]:
        """As :meth:`transcript_log.Session.append`; ``make`` is called in a thread."""
        return await self._do(self._session.append, make)

    async def add_response(
        self, raw: Any, *, to: Context, request: Json = None, interrupted: bool = False
    ) -> Recorded:
        """As :meth:`transcript_log.Session.add_response`."""
        return await self._do(
            self._session.add_response, raw, to=to, request=request, interrupted=interrupted
        )

    async def add_output(
        self,
        call: ToolCall | OpenCall,
        content: Any,
        *,
        is_error: bool = False,
        outcome: ToolOutcome | None = None,
    ) -> MessageEntry:
        """As :meth:`transcript_log.Session.add_output`."""
        return await self._do(self._session.add_output, call, content, is_error=is_error, outcome=outcome)

    def call(
        self, call: ToolCall | OpenCall, *, suppress: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> AbstractAsyncContextManager[CallRecorder]:
        """As :meth:`transcript_log.Session.call`. A body that is cancelled is on record as cancelled."""
        return self._within(self._session.call(call, suppress=suppress))

    async def attach(self, attachment: ContextAttachment) -> ContextEntry:
        """As :meth:`transcript_log.Session.attach`."""
        return await self._do(self._session.attach, attachment)

    def run(self) -> AbstractAsyncContextManager[RunRecorder]:
        """As :meth:`transcript_log.Session.run`. A body that is cancelled is on record as cancelled."""
        return self._within(self._session.run())

    @contextlib.asynccontextmanager
    async def _within(self, manager: AbstractContextManager[T]) -> AsyncIterator[T]:
        try:
            value = await self._do(manager.__enter__)
            yield value
        except BaseException as error:
            # Also where the entering was cancelled: by then it is done.
            if await self._do(manager.__exit__, type(error), error, error.__traceback__):
                return
            raise
        await self._do(manager.__exit__, None, None, None)

    async def revise(self, revise: Revise, *, target: Target | None = None) -> CompactionEntry | None:
        """As :meth:`transcript_log.Session.revise`; ``revise`` is called in a thread."""
        return await self._do(self._session.revise, revise, target=target)

    async def retry(self, error: BaseException) -> tuple[Entry, ...]:
        """As :meth:`transcript_log.Session.retry`."""
        return await self._do(self._session.retry, error)

    # ------------------------------------------------------------------------ compacting

    async def plan_compaction(
        self,
        target: Target,
        *,
        keep_tokens: int | None = None,
        first_kept: str | None = None,
        weigh: Weigh | None = None,
    ) -> CompactionPlan | None:
        """As :meth:`transcript_log.Session.plan_compaction`; ``weigh`` is called in a thread."""
        return await self._do(
            self._session.plan_compaction,
            target,
            keep_tokens=keep_tokens,
            first_kept=first_kept,
            weigh=weigh,
        )

    async def compact(
        self,
        plan: CompactionPlan,
        summary: str | None = None,
        *,
        replacement: Sequence[Item] = (),
        response: Any = None,
        read_files: Sequence[str] = (),
        modified_files: Sequence[str] = (),
    ) -> CompactionEntry:
        """As :meth:`transcript_log.Session.compact`."""
        return await self._do(
            self._session.compact,
            plan,
            summary,
            replacement=replacement,
            response=response,
            read_files=read_files,
            modified_files=modified_files,
        )

    # --------------------------------------------------------------------------- forking

    async def fork(self, path: str | os.PathLike[str], *, at: str | None = None) -> Self:
        """As :meth:`transcript_log.Session.fork`."""
        fork = partial(self._session.fork, path, at=at)
        return type(self)(await self._order.do(fork, Session.close))
