"""The session itself."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Self

from ..context import Context, build_context, context_at
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
    new_context,
    new_header,
    new_id,
    utc_now,
)
from ..errors import (
    CorruptLogError,
    EntryError,
    FamilyRequiredError,
    StorageError,
)
from ..families import Target
from ..findings import Finding
from ..history import History, build_history
from ..items.portable import is_private
from ..jsonl import Durability
from ..memory import MemoryStore
from ..response import ToolCall
from ..store import FollowableStore, Store
from ..stores import open_store
from ._log import Mode, SessionLog, closed_on_error, refuse_existing
from ._writing import LogView, Writer, record_run
from .answering import journal_call, place_of, put_output
from .calls import CallRecorder, OpenCall, open_calls
from .compacting import CompactionPlan, Weigh, draft_compaction, make_plan, put_compaction
from .forking import fork_log
from .recording import (
    Recorded,
    items_of,
    record_of,
    refuse_other_api,
    request_detail,
    response_of,
    unpublished,
)
from .revising import Revise, live_items, put_revision
from .runs import RunRecorder

__all__ = ["Session"]

_SHARED_WAIT: Final = 5.0
"""How long a batch waits for another writer in shared mode, in seconds, if nobody says."""


class Session:
    """One conversation of an agent with its models, in a log.

    Whatever a method gave back was acknowledged by the store: it survives. May be shared by
    threads; what they add stands in the order in which it was acknowledged.

    Args:
        store: Any store. By default others may write to it too.
        mode: See :data:`Mode`; ``"exclusive"`` holds the store's lease until :meth:`close`.
        wait: How long to wait for that lease, in seconds.
        new_id: Where the ids of entries come from.
        clock: Where their times come from.

    Raises:
        LogBusyError: Another writer has the log; the error names it.
        HeaderError: The file is no log of ours.
    """

    def __init__(
        self,
        store: Store,
        *,
        mode: Mode = "shared",
        wait: float = 0.0,
        new_id: IdSource = new_id,
        clock: Clock = utc_now,
    ) -> None:
        self._log: Final = SessionLog(store, mode, wait)
        self._writer: Final = Writer(self._log, new_id, clock)
        self._epoch: int | None = None

    # --------------------------------------------------------------------------- opening

    @classmethod
    def create(
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
        """A session in a new log, that nobody else can write to. It is on disk at once.

        Args:
            path: The log: a path, or the URL of a session in a database (see
                :func:`transcript_log.stores.open_store`), whose id the session then has.
            cwd: The folder that the log says it is of.
            parent: The tool call that a subagent's log answers.
            durability: What an acknowledged batch survives.
            checksum: Whether single entries are sealed too.
            new_id: Where the ids of entries come from.
            clock: Where their times come from.

        Raises:
            StorageError: There is a log already.
        """
        header = new_header(cwd=cwd, parent=parent, clock=clock, id_source=new_id)
        store = open_store(path, durability=durability, checksum=checksum, header=header)
        with closed_on_error(store):
            refuse_existing(store)
            store.create()
            return cls(store, mode="exclusive", new_id=new_id, clock=clock)

    @classmethod
    def open(
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
        """The session of a log that is there. What is damaged in it is passed over and told.

        Args:
            path: The log: a path, or the URL of a session in a database.
            mode: See :data:`Mode`.
            create: Make the log if there is none, instead of an error.
            cwd: The folder that a log which is made says it is of.
            wait: How long to wait for another writer, in seconds: for the lease of an exclusive
                session, by default not at all; for each batch of a shared one, by default 5. A
                lease that this very process has is not waited for.
            durability: What an acknowledged batch survives.
            checksum: Whether single entries are sealed too.
            new_id: Where the ids of entries come from.
            clock: Where their times come from.

        Raises:
            StorageError: There is no log; or the system refused.
            HeaderError: The file is no log of ours.
            LogBusyError: Another writer has it; the error names it.
        """
        patience = _SHARED_WAIT if wait is None else wait
        header = new_header(cwd=cwd, clock=clock, id_source=new_id) if create else None
        store = open_store(path, durability=durability, checksum=checksum, wait=patience, header=header)
        with closed_on_error(store):
            if create and mode != "read":
                store.create(exist_ok=True)
            elif store.header() is None:
                reason = "there is no log there"
                advice = "a session that only reads makes none" if create else "make one with create=True"
                raise StorageError(store.path, "open the session", reason, errno.ENOENT, advice)
            return cls(store, mode=mode, wait=wait or 0.0, new_id=new_id, clock=clock)

    @classmethod
    def in_memory(cls, *, new_id: IdSource = new_id, clock: Clock = utc_now) -> Self:
        """A session that ends with the process."""
        store = MemoryStore(header=new_header(clock=clock, id_source=new_id))
        return cls(store, mode="exclusive", new_id=new_id, clock=clock)

    def close(self) -> None:
        """Let go of the log. What was acknowledged is safe without it."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session {self._log.path} {self._log.mode}, {len(self._log.entries)} entries>"

    # --------------------------------------------------------------------------- reading

    @property
    def store(self) -> Store:
        """Where the entries are."""
        return self._log.store

    @property
    def id(self) -> str | None:
        """The id of the session; None where the header has none, or is not written yet."""
        return None if self._log.header is None else self._log.header.id

    @property
    def head(self) -> str:
        """The id of the last entry, as far as this session knows; ``""`` for an empty log."""
        return self._log.head

    @property
    def damage(self) -> tuple[Finding, ...]:
        """What is wrong in the files, and was passed over."""
        return self._log.damage

    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order of the log."""
        with self._log.lock:
            self._log.refresh()
            return tuple(self._log.entries)

    def items(self) -> tuple[Item, ...]:
        """What the conversation holds now: the items that the newest boundary leaves, as they were added.

        A summary is a message of the user there; what was broken off is not among them.
        """
        with self._log.lock:
            self._log.refresh()
            return live_items(self._log.entries)

    def view(self) -> LogView:
        """All entries and the details beside them, as they are at this moment."""
        with self._log.lock:
            self._log.refresh()
            return self._writer.view()

    def context(self, target: Target, *, strict: bool = False, attachments: bool = False) -> Context:
        """What the model is sent next.

        Raises:
            TranscriptError: As :func:`transcript_log.build_context`.
        """
        with self._log.lock:
            self._log.refresh()
            return build_context(
                self._log.entries, target, details=self._log.details, strict=strict, attachments=attachments
            )

    def context_at(self, entry_id: str, target: Target) -> Context:
        """What it was sent when the entry with this id was the last.

        Raises:
            EntryNotFoundError: There is no such entry.
        """
        with self._log.lock:
            self._log.refresh()
            return context_at(self._log.entries, entry_id, target, details=self._log.details)

    def history(self) -> History:
        """What happened, for people."""
        with self._log.lock:
            self._log.refresh()
            return build_history(self._log.entries, self._log.details)

    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls that wait for an answer, in their order; also days later, after a reopen.

        A call for which a model was sent a stand-in, and answered, waits no more; nor does one
        that was cut off, which must not run.
        """
        with self._log.lock:
            self._log.refresh()
            return open_calls(self._log.entries, self._log.details)

    def follow(
        self,
        after: str | None = None,
        *,
        stop: Callable[[], bool] = lambda: False,
        on_damage: Callable[[CorruptLogError], None] | None = None,
    ) -> Iterator[tuple[Entry, ...]]:
        """Whole batches: those that are there, then those that come, until ``stop`` says so.

        Args:
            after: Give only what follows the entry with this id.
            stop: Asked after each look.
            on_damage: Told of damaged lines, which are then passed over; without it they raise.

        Raises:
            StorageError: The store cannot tell.
            CorruptLogError: A line is damaged.
        """
        if not isinstance(self._log.store, FollowableStore):
            raise StorageError(self._log.path, "follow the log", "this store cannot tell of what comes")
        return self._log.store.follow(after, stop=stop, on_damage=on_damage)

    # --------------------------------------------------------------------------- writing

    def add(
        self,
        *items: Item,
        target: Target | None = None,
        ids: Sequence[str] | None = None,
        after: str | None = None,
        invocation: Invocation | None = None,
    ) -> tuple[MessageEntry, ...]:
        """Add items of the user, of tools, or of a model, as they are; all or none.

        Args:
            items: In their order.
            target: Who made what is private in them.
            ids: An id for each. An item that is there already under its id is not added again.
            after: The id that the log must end with, ``""`` for an empty log.
            invocation: The prompt template that the first was made from.

        Raises:
            FamilyRequiredError: Something in an item is private, and there is no target.
            EntryError: An item cannot be stored.
            IdError: An id is there already, with another item.
            ConflictError: The log does not end with ``after``.
        """
        if ids is not None and len(ids) != len(items):
            raise EntryError("$.ids", f"{len(ids)} ids were given for {len(items)} items")
        if target is None:
            for index, item in enumerate(items):
                if isinstance(item, dict) and is_private(item):
                    raise FamilyRequiredError(index)
        family = None if target is None else target.family
        made = [
            self._writer.message(item, family=family, invocation=invocation if index == 0 else None)
            for index, item in enumerate(items)
        ]
        if ids is None:
            self._writer.write(made, after=after)
            return tuple(made)
        named = [replace(entry, id=one) for entry, one in zip(made, ids, strict=True)]

        def missing() -> tuple[list[Entry], list[Detail]]:
            # A second try has another time.
            return [entry for entry in named if self._log.known(entry, timed=False) is None], []

        with self._log.lock:
            self._writer.write_in_view(missing, after)
            there = [self._log.entry(entry.id) for entry in named]
        return tuple(entry for entry in there if isinstance(entry, MessageEntry))

    def append(
        self, make: Callable[[LogView], tuple[Sequence[Entry], Sequence[Detail]]]
    ) -> tuple[Entry, ...]:
        """Add entries of one's own making and details beside them, in one batch: for adapters.

        What is added is the caller's to get right: families, pairs and responses are not looked at.

        Args:
            make: Gives the batch in view of the log as it is. Asked again where others wrote in
                between; what is empty is not written.

        Raises:
            EntryError: A value cannot be stored.
            IdError: An id is there already, with other content.
        """
        with self._log.lock:

            def made() -> tuple[list[Entry], list[Detail]]:
                entries, details = make(self._writer.view())
                return [*entries], [*details]

            return tuple(self._writer.write_in_view(made))

    def add_response(
        self, raw: Any, *, to: Context, request: Json = None, interrupted: bool = False
    ) -> Recorded:
        """Add what a model answered, and put on record the stand-ins that it was sent.

        Args:
            raw: The answer: decoded JSON, an SDK's object, or a response read already.
            to: The context that was answered; its target made what is private in the answer.
            request: What was sent beside the items: system prompt, tools, parameters. Equal
                ones are stored once.
            interrupted: The answer was cut off while it streamed: it is history, no context.

        Raises:
            FamilyRequiredError: The context is for no target.
            ResponseError: It is no response.
            EntryError: It is one of another API, or of none; or it cannot be stored.
        """
        target = to.target
        if target is None:
            raise FamilyRequiredError(0)
        response = response_of(raw)
        refuse_other_api(response, target)
        details = [] if request is None else [request_detail(request)]
        digest = details[0].id.removeprefix("request:") if details else None
        record = record_of(response, digest)
        entries = [
            self._writer.message(
                item,
                family=target.family,
                response=record if index == 0 else None,
                interrupted=interrupted,
            )
            for index, item in enumerate(items_of(response, target))
        ]
        stand_ins: list[MessageEntry] = []

        def whole() -> tuple[list[Entry], list[Detail]]:
            stand_ins[:] = [
                self._writer.message(item, family=self._log.family_of(holder), stand_in=True)
                for item, holder in unpublished(to, self._log.entries)
            ]
            known = [detail for detail in details if (detail.id, None) not in self._log.details]
            return [*stand_ins, *entries], known

        if to.stand_ins and not interrupted:
            self._writer.write_in_view(whole)
        else:
            with self._log.lock:
                known = [detail for detail in details if (detail.id, None) not in self._log.details]
                self._writer.write(entries, known)
        return Recorded(tuple(entries), response, tuple(stand_ins))

    def add_output(
        self,
        call: ToolCall | OpenCall,
        content: Any,
        *,
        is_error: bool = False,
        outcome: ToolOutcome | None = None,
    ) -> MessageEntry:
        """Answer a call, in the shape of the item that holds it.

        A call that a stand-in has answered for good takes no output any more: tell the model what
        came of it in a message. :meth:`open_calls` says which calls wait.

        Args:
            call: The call.
            content: Text; or blocks, or an object, as the API of the call has them.
            is_error: The tool failed.
            outcome: How it ended, for the sidecar; with the output in one batch.

        Raises:
            EntryError: There is no such call; or the content cannot be stored.
            LateOutputError: It would answer a newer call with the same id.
        """
        with self._log.lock:
            place = place_of(self._log, call)
            return put_output(self._writer, place, content, is_error=is_error, outcome=outcome)

    def call(
        self, call: ToolCall | OpenCall, *, suppress: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> AbstractContextManager[CallRecorder]:
        """Run a tool inside this: its start is on disk before it runs, its output and outcome after.

        What the body raises becomes an output that says so, and is raised again. If that output
        cannot be written, :meth:`retry` with the body's own error writes it.

        Args:
            call: The call.
            suppress: What of it is not raised again, once it is on record. ``Exception`` lets an
                agent go on after any failure of a tool.

        Raises:
            EntryError: There is no such call, or it was cut off; or what the tool gave back cannot be
                stored.
            LateOutputError: Its output would answer a newer call with the same id.
        """
        return journal_call(self._writer, call, suppress)

    def attach(self, attachment: ContextAttachment) -> ContextEntry:
        """Put a text beside the conversation.

        Its epoch is that of this session, whatever it says: one more than the log had before.
        So what earlier sessions attached is in force no more once this one attaches something.
        """
        with self._log.lock:
            if self._epoch is None:
                self._log.refresh()
                given = (e.context.epoch for e in self._log.entries if isinstance(e, ContextEntry))
                self._epoch = max(given, default=0) + 1
            entry = new_context(
                replace(attachment, epoch=self._epoch),
                clock=self._writer.clock,
                id_source=self._writer.new_id,
            )
            self._writer.write([entry])
            return entry

    def run(self) -> AbstractContextManager[RunRecorder]:
        """One run of the agent: how it ended and what it added first are put on record after it.

        Runs may be nested. Those of several threads at once each count what any of them adds.
        """
        self._log.check_writable()
        return record_run(self._writer)

    def retry(self, error: BaseException) -> tuple[Entry, ...]:
        """Write what could not be written when ``error`` was raised; what came to be counts once.

        Works in a session that was opened anew, too. What was to follow a certain entry is
        written only there: a compaction, if nothing has been added since.

        Raises:
            EntryError: The error carries nothing to write.
            ConflictError: The log has gone on since, and what was to be written must not follow that.
        """
        entries, details = getattr(error, "entries", ()), getattr(error, "details", ())
        if not (entries or details):
            raise EntryError("$", f"a {type(error).__name__} carries nothing to write")
        self._writer.write_again(entries, details, getattr(error, "after", None))
        return tuple(entries)

    def revise(self, revise: Revise, *, target: Target | None = None) -> CompactionEntry | None:
        """Take items of the conversation back, or put others in their place.

        Nothing leaves the log: what is to be held is appended, as a compaction without a summary,
        and the history shows both. It takes as many bytes as the items before the first one that
        can stay where it is.

        Args:
            revise: Given the items as :meth:`items` has them, gives those that are to be there: the
                same objects where they stay. Called again if others write in between.
            target: Who made what is private in items that are new.

        Returns:
            The entry; None if nothing was to be changed.

        Raises:
            FamilyRequiredError: Something in a new item is private, and there is no target.
            EntryError: A new item cannot be stored.
        """
        return put_revision(self._writer, revise, target)

    # ------------------------------------------------------------------------ compacting

    def plan_compaction(
        self,
        target: Target,
        *,
        keep_tokens: int | None = None,
        first_kept: str | None = None,
        weigh: Weigh | None = None,
    ) -> CompactionPlan | None:
        """Where to cut, and what to summarise; None if there is nothing to cut off.

        The cut is between two responses, parts no call from its output, and leaves no open call
        behind. Exactly one of the two says where:

        Args:
            target: Whom the context is for.
            keep_tokens: Keep as much as weighs no more than this; more only where no cut is
                possible later.
            first_kept: Keep from this entry on, or from the next possible cut before it.
            weigh: Weighs an item; by default as ``Context.size`` does.

        Raises:
            EntryNotFoundError: There is no entry ``first_kept``.
            EntryError: It is no message, or compacted already; or both or neither was given.
        """
        with self._log.lock:
            self._log.refresh()
            return make_plan(
                self._log.entries,
                target,
                self._log.details,
                open_calls(self._log.entries, self._log.details),
                keep_tokens=keep_tokens,
                first_kept=first_kept,
                weigh_item=weigh,
            )

    def compact(
        self,
        plan: CompactionPlan,
        summary: str | None = None,
        *,
        replacement: Sequence[Item] = (),
        response: Any = None,
        read_files: Sequence[str] = (),
        modified_files: Sequence[str] = (),
    ) -> CompactionEntry:
        """Put a summary, or other items, in the place of what the plan cuts off. The log keeps all.

        Args:
            plan: Where; what was added since then stays.
            summary: The summary; by default what ``response`` says.
            replacement: Items in place of what goes, as a provider's own checkpoint; private ones
                are the plan's target's.
            response: The answer of the summary call, as for :meth:`add_response`: for its usage
                and model.
            read_files: Paths read in what goes.
            modified_files: Paths modified there.

        Raises:
            EntryError: The summary is blank, and there is no replacement.
            ConflictError: There was another compaction since the plan.
            EntryNotFoundError: The plan is of another session.
        """
        draft = draft_compaction(
            plan,
            summary,
            replacement=replacement,
            response=None if response is None else response_of(response),
            read_files=read_files,
            modified_files=modified_files,
            now=self._writer.clock,
        )
        return put_compaction(self._writer, plan, draft)

    # --------------------------------------------------------------------------- forking

    def fork(self, path: str | os.PathLike[str], *, at: str | None = None) -> Self:
        """A session in a new log that begins with this one's entries, up to and with ``at``.

        Entries keep their ids, and of a log in a file the very bytes of their lines. Calls that
        were answered later wait there; that they began is known. The new session is open for
        this process alone; this one stays open too.

        Raises:
            EntryNotFoundError: There is no entry ``at``.
            StorageError: There is a log already at ``path``.
        """
        with self._log.lock:
            self._log.refresh()
            store = fork_log(self._log, path, at, self._writer.clock, self._writer.new_id)
        with closed_on_error(store):
            return type(self)(store, mode="exclusive", new_id=self._writer.new_id, clock=self._writer.clock)
