"""For the tests of others: the contract that every store must pass, and a model that is scripted.

::

    class TestMyStore(StoreContract):
        def make_store(self) -> Store:
            return MyStore(...)

Each method whose name begins with ``test_`` is a test for pytest or unittest-like runners;
``make_store`` is called for each, and must give an empty store. ``reopen`` may give a new
store on the same log, where the kind of store allows that.

::

    model = ScriptedModel(target, [call("shell", command="make"), "It is built."])
    raw = model(context.items, paused=context.paused)  # where the real client's call stands

A :class:`ScriptedModel` answers as its script says, and refuses what the API would refuse.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, TypeAlias

from .apis import api_for, check_items
from .apis._base import Amendable
from .boundary import kept_items
from .entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Item,
    MessageEntry,
    OpaqueEntry,
    Run,
    RunEntry,
)
from .errors import ConflictError, EntryError, IdError, TranscriptError
from .families import Target
from .findings import Finding
from .response import ToolCall, Usage
from .response.wire import raw_answer
from .store import LeasableStore, Store

__all__ = ["Answer", "RefusedError", "ScriptError", "ScriptedModel", "StoreContract", "call"]

_START: Final = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def _message(entry_id: str, text: str = "hello", second: int = 0) -> MessageEntry:
    return MessageEntry(
        id=entry_id, timestamp=_START + timedelta(seconds=second), message={"role": "user", "content": text}
    )


def _raised(kind: type[Exception], call: Callable[[], object]) -> Exception:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


class StoreContract:
    """What every :class:`transcript_log.Store` promises, as tests."""

    def make_store(self) -> Store:
        """An empty store. Subclasses say which."""
        raise NotImplementedError("a subclass of StoreContract defines make_store()")

    def reopen(self, store: Store) -> Store:
        """The same log through a new store, where there can be one; else the same store."""
        return store

    # ---------------------------------------------------------------------------- empty

    def test_a_new_store_is_empty(self) -> None:
        store = self.make_store()
        assert store.header() is None
        assert store.load() == []
        assert list(store.read()) == []
        assert store.active() == []
        assert dict(store.details()) == {}

    def test_appending_nothing_makes_nothing(self) -> None:
        store = self.make_store()
        assert store.append() == ""
        assert self.reopen(store).header() is None

    # ------------------------------------------------------------------------ appending

    def test_what_was_appended_is_read_back_in_order(self) -> None:
        store = self.make_store()
        entries = [_message(f"e{n}", f"text {n}") for n in range(5)]
        assert store.append(entries[0]) == "e0"
        assert store.append(*entries[1:]) == "e4"
        again = self.reopen(store)
        assert again.load() == entries
        assert list(again.read()) == entries
        header = again.header()
        assert header is not None
        assert header.version == 3

    def test_every_type_of_entry_comes_back_equal(self) -> None:
        store = self.make_store()
        entries: list[Entry] = [
            _message("m"),
            ContextEntry(
                id="c",
                timestamp=_START,
                context=ContextAttachment(
                    attachment_id="a",
                    epoch=1,
                    kind="rules",
                    placement="prefix",
                    revision="1",
                    rendered="Be brief.",
                ),
            ),
            CompactionEntry(
                id="k",
                timestamp=_START,
                compaction=Compaction(summary="so far", first_kept_entry_id="m", read_files=("a.py",)),
            ),
            RunEntry(
                id="r",
                timestamp=_START,
                run=Run(started_at=_START, completed_at=_START, first_entry_id="m", status="completed"),
            ),
            OpaqueEntry(id="o", timestamp=_START, type="from-the-future", data={"key": [1, None, 2.5]}),
        ]
        store.append(*entries)
        assert self.reopen(store).load() == entries

    def test_values_come_back_with_their_types(self) -> None:
        store = self.make_store()
        numbers = [0, 1, 1.0, True, None, -(2**63), 2**64 - 1, 5e-324, 1e22]
        values: list[Any] = [*numbers, "", "\x00", "a\nb\r\n\u2028\x85", "\ud800", {}, [[]]]
        message = {"role": "user", "content": values, "": {"\udfff": 1}}
        store.append(MessageEntry(id="v", timestamp=_START, message=message))
        (entry,) = self.reopen(store).load()
        assert isinstance(entry, MessageEntry)
        assert entry.message == message
        assert [type(value) for value in entry.message["content"]] == [type(value) for value in values]

    def test_a_batch_with_a_bad_value_writes_nothing(self) -> None:
        store = self.make_store()
        store.append(_message("first"))
        for bad in (float("nan"), float("inf"), 2**64, -(2**63) - 1, (1,), {1: 2}, _START, b"bytes", {1, 2}):
            broken = MessageEntry(id="bad", timestamp=_START, message={"role": "user", "content": [bad]})
            error = _raised(EntryError, lambda entry=broken: store.append(_message("good"), entry))  # type: ignore[misc]
            assert "content[0]" in str(error)
        assert [entry.id for entry in self.reopen(store).load()] == ["first"]

    def test_a_message_that_is_changed_later_does_not_change_the_log(self) -> None:
        store = self.make_store()
        message = {"role": "user", "content": "as it was"}
        store.append(MessageEntry(id="m", timestamp=_START, message=message))
        message["content"] = "as it is"
        (entry,) = store.load()
        assert isinstance(entry, MessageEntry)
        assert entry.message["content"] == "as it was"

    # -------------------------------------------------------------------------- retries

    def test_the_same_entry_again_is_not_written_again(self) -> None:
        store = self.make_store()
        batch = [_message("a"), _message("b")]
        store.append(*batch)
        store.append(_message("c"))
        assert store.append(*batch) == "c"
        assert store.append(*batch, after="") == "c"
        assert [entry.id for entry in self.reopen(store).load()] == ["a", "b", "c"]

    def test_the_same_id_with_other_content_is_refused(self) -> None:
        store = self.make_store()
        store.append(_message("a", "one"))
        error = _raised(IdError, lambda: store.append(_message("b"), _message("a", "two")))
        assert "'a'" in str(error)
        _raised(IdError, lambda: store.append(_message("x", "one"), _message("x", "two")))
        assert [entry.id for entry in self.reopen(store).load()] == ["a"]

    # ---------------------------------------------------------------------------- after

    def test_after_says_where_the_log_must_end(self) -> None:
        store = self.make_store()
        _raised(ConflictError, lambda: store.append(_message("a"), after="nowhere"))
        assert self.reopen(store).header() is None
        assert store.append(_message("a"), after="") == "a"
        assert store.append(_message("b"), after="a") == "b"
        error = _raised(ConflictError, lambda: store.append(_message("c"), after="a"))
        assert "'b'" in str(error)
        _raised(ConflictError, lambda: store.append(_message("c"), after=""))
        assert [entry.id for entry in self.reopen(store).load()] == ["a", "b"]

    def test_read_after_gives_what_follows(self) -> None:
        store = self.make_store()
        store.append(*[_message(f"e{n}") for n in range(4)])
        assert [entry.id for entry in store.read(after="e1")] == ["e2", "e3"]
        assert list(store.read(after="e3")) == []
        _raised(LookupError, lambda: list(store.read(after="e9")))

    # -------------------------------------------------------------------------- details

    def test_of_several_details_for_one_call_the_last_counts(self) -> None:
        store = self.make_store()
        store.append(_message("m"), details=[Detail(id="c", payload=1), Detail(id="c", payload=2, entry="m")])
        store.append(details=[Detail(id="c", payload=3), Detail(id="d", payload={"k": None})])
        assert dict(self.reopen(store).details()) == {("c", None): 3, ("c", "m"): 2, ("d", None): {"k": None}}

    def test_details_alone_leave_the_head_as_it_is(self) -> None:
        store = self.make_store()
        store.append(_message("m"))
        assert store.append(details=[Detail(id="c", payload="x")]) == "m"
        _raised(ConflictError, lambda: store.append(details=[Detail(id="e", payload=1)], after="nowhere"))
        assert dict(self.reopen(store).details()) == {("c", None): "x"}

    def test_a_detail_that_cannot_be_stored_keeps_the_entries_out_too(self) -> None:
        store = self.make_store()
        _raised(
            EntryError, lambda: store.append(_message("m"), details=[Detail(id="c", payload=float("nan"))])
        )
        assert store.load() == []
        assert dict(store.details()) == {}

    # -------------------------------------------------------------------------- boundary

    def test_active_keeps_all_that_a_context_needs(self) -> None:
        store = self.make_store()
        summary = Compaction(summary="the gist", first_kept_entry_id="e3")
        store.append(*[_message(f"e{n}") for n in range(5)])
        store.append(CompactionEntry(id="k", timestamp=_START, compaction=summary), _message("e5"))
        active = self.reopen(store).active()
        assert [entry.id for entry in active] == ["e3", "e4", "k", "e5"]
        assert kept_items(active) == kept_items(store.load())

    def test_a_compaction_that_keeps_nothing_is_where_active_begins(self) -> None:
        store = self.make_store()
        store.append(
            _message("e0"), CompactionEntry(id="k", timestamp=_START, compaction=Compaction(summary="gist"))
        )
        assert [entry.id for entry in self.reopen(store).active()] == ["k"]

    def test_a_replacement_alone_does_not_end_what_is_active(self) -> None:
        store = self.make_store()
        opaque = Compaction(summary="", replacement=({"type": "compaction", "encrypted_content": "x"},))
        store.append(
            _message("e0"), CompactionEntry(id="k", timestamp=_START, compaction=opaque), _message("e1")
        )
        assert [entry.id for entry in self.reopen(store).active()] == ["e0", "k", "e1"]

    # ---------------------------------------------------------------------------- lease

    def test_a_lease_allows_appends_and_no_second_lease(self) -> None:
        store = self.make_store()
        if not isinstance(store, LeasableStore):
            return
        with store.lease():
            store.append(_message("a"))
            _raised(Exception, lambda: store.lease(0.0).__enter__())
            store.append(_message("b"))
        with store.lease():
            store.append(_message("c"))
        assert [entry.id for entry in self.reopen(store).load()] == ["a", "b", "c"]


# ------------------------------------------------------------------------------- models


class RefusedError(TranscriptError, ValueError):
    """The API of a scripted model would refuse a request, or some who serve it would.

    Attributes:
        api: The API.
        findings: The rules that the items break, in the order of the items.
    """

    def __init__(self, api: str, findings: Sequence[Finding]) -> None:
        super().__init__(api, tuple(findings))
        self.api = api
        self.findings = tuple(findings)

    def __str__(self) -> str:
        told = "; ".join(f"{finding.rule}: {finding}" for finding in self.findings)
        return f"{self.api} refuses this request: {told}"


class ScriptError(TranscriptError, LookupError):
    """A scripted model was asked once more than its script has answers.

    Attributes:
        answers: How many the script has.
    """

    def __init__(self, answers: int) -> None:
        super().__init__(answers)
        self.answers = answers

    def __str__(self) -> str:
        return (
            f"request {self.answers + 1} has no answer: the script ends after {self.answers};"
            " add one, or see why the agent asks again"
        )


Answer: TypeAlias = str | ToolCall | Sequence[str | ToolCall] | Mapping[str, Any] | Exception
"""One answer of a script: what is said, a call, or several of both in one answer; a raw answer
of the API, given as it is; or an error, raised."""


def call(name: str, /, **arguments: Any) -> ToolCall:
    """A call for a script, as in ``call("shell", command="make")``; the model gives it an id."""
    return ToolCall(id="", name=name, arguments=arguments)


class ScriptedModel:
    """A model that answers as its script says, and takes only what its API would take.

    Called with the items of a request, it gives the next answer as the raw JSON of the
    target's API. Answers in words get ids made of the request and their number, so that a second
    model on the same log makes others, and a usage by a rough rule, four bytes to a token, so
    that what goes by the size of a context can be tried. Nothing is random.

    Attributes:
        target: Who it stands for.
        requests: What it was sent, request by request, the very items; refused ones too.
    """

    def __init__(self, target: Target, script: Iterable[Answer]) -> None:
        """A model that has the whole script before it.

        Raises:
            TargetError: The target's API is not known here.
        """
        api = api_for(target)
        self._wire: Final = api.terms.wire if isinstance(api, Amendable) else target.api
        self.target: Final = target
        self.requests: Final[list[tuple[Item, ...]]] = []
        self._script: Final = tuple(script)
        self._next = 0

    @property
    def left(self) -> int:
        """How many answers were not given yet."""
        return len(self._script) - self._next

    def __call__(self, items: Sequence[Item], *, paused: bool = False) -> dict[str, Any]:
        """The next answer. A request that is refused takes none from the script.

        Args:
            items: What is sent.
            paused: The last item is of a turn that the provider paused, sent back as it is.

        Raises:
            RefusedError: The items break a rule of the API, as an error or a warning.
            ScriptError: The script is at its end.
            Exception: The one that the script has here.
        """
        sent = tuple(items)
        self.requests.append(sent)
        found = check_items(sent, self.target, paused=paused)
        broken = [finding for finding in found if finding.severity != "note"]
        if broken:
            raise RefusedError(self.target.api, broken)
        if not self.left:
            raise ScriptError(len(self._script))
        answer = self._script[self._next]
        self._next += 1
        match answer:
            case Exception():
                raise answer
            case Mapping():
                return dict(answer)
            case str() | ToolCall():
                return self._spoken([answer], sent)
            case _:
                return self._spoken(answer, sent)

    def _spoken(self, parts: Sequence[str | ToolCall], sent: Sequence[Item]) -> dict[str, Any]:
        """An answer in words as the API gives it."""
        key = f"{sha256(json.dumps(sent).encode()).hexdigest()[:8]}_{self._next}"
        texts = [part for part in parts if isinstance(part, str)]
        calls = [
            ToolCall(id=part.id or f"call_{key}_{place}", name=part.name, arguments=part.arguments)
            for place, part in enumerate((part for part in parts if isinstance(part, ToolCall)), 1)
        ]
        given, said = _weight(sent), _weight([*texts, *[[part.name, part.arguments] for part in calls]])
        return raw_answer(
            self._wire,
            id=f"resp_{key}",
            model=self.target.model,
            text="\n".join(texts) if texts else None,
            calls=calls,
            usage=Usage(input=given, output=said, total=given + said),
        )


def _weight(value: Any) -> int:
    """About how many tokens a value has: four bytes of its JSON each, and at least one."""
    return max(1, len(json.dumps(value)) // 4)
