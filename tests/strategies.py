"""Hypothesis strategies for the values of a log.

All give what may be written, and so what has to come back equal, but for ``refused_values``.
"""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any

from hypothesis import strategies as st

from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    ForkOrigin,
    Header,
    Invocation,
    MessageEntry,
    OpaqueEntry,
    ParentCall,
    RecordedCost,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
)

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def alike(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types all through: 1, 1.0 and True differ."""
    if type(one) is not type(other):
        return False
    if dataclasses.is_dataclass(one):
        return all(alike(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    # Zero has two signs, which are equal.
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


# ------------------------------------------------------------------------------- JSON


def texts(min_size: int = 0) -> st.SearchStrategy[str]:
    """Any text, lone surrogates included, but no two that JSON would read as one character."""
    odd = st.text('a\n\r\t\0\x7f\\"\u2028\ud83d\udd16\udc00é日🤖\ufeff\uffff', min_size=min_size, max_size=6)
    anything = st.text(min_size=min_size, max_size=8)
    return anything | odd.filter(lambda text: _PAIR.search(text) is None)


def names() -> st.SearchStrategy[str]:
    """Any text but the empty one."""
    return texts(min_size=1)


def integers() -> st.SearchStrategy[int]:
    """The integers that may be written."""
    edges = st.sampled_from([-(2**63), -(2**53) - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 10**18, 10**19])
    return st.integers(-(2**63), 2**64 - 1) | edges


def floats() -> st.SearchStrategy[float]:
    """The floats that may be written."""
    edges = st.sampled_from([0.0, -0.0, 1.0, 1e16, 1e22, 5e-324, 1.7976931348623157e308, 2.0**63, 0.1])
    return st.floats(allow_nan=False, allow_infinity=False) | edges


def json_values(max_leaves: int = 12) -> st.SearchStrategy[Any]:
    """The values that may be written."""
    leaves = st.none() | st.booleans() | integers() | floats() | texts()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts(), inner, max_size=5),
        max_leaves=max_leaves,
    )


def json_objects(without: frozenset[str] = frozenset()) -> st.SearchStrategy[dict[str, Any]]:
    """The objects that may be written, without some keys."""
    keys = texts().filter(lambda key: key not in without)
    return st.dictionaries(keys, json_values(6), max_size=4)


class _Text(str):
    __slots__ = ()


class _Number(IntEnum):
    ONE = 1


@dataclasses.dataclass(frozen=True)
class Refused:
    """A value that may not be written, because of one part of it."""

    value: Any
    culprit: Any


def _culprits() -> st.SearchStrategy[Any]:
    makers: list[Callable[[], Any]] = [
        lambda: (1, 2),
        tuple,
        lambda: {1, 2},
        lambda: b"bytes",
        lambda: date(2026, 1, 2),
        lambda: datetime(2026, 1, 2, tzinfo=UTC),
        lambda: Decimal("1.5"),
        object,
        lambda: _Text("a subclass"),
        lambda: _Number.ONE,
        lambda: OrderedDict(a=1),
        lambda: float("nan"),
        lambda: float("inf"),
        lambda: float("-inf"),
        lambda: 2**64,
        lambda: -(2**63) - 1,
        lambda: 10**400,
        lambda: "joined to one \ud83e\udd16 character",
        lambda: {1: "a key that is a number"},
        lambda: {None: "a key that is null"},
        lambda: {_Text("key"): "a key that is a subclass"},
        lambda: {"\ud83e\udd16": "a key that is joined to one character"},
    ]
    return st.sampled_from(makers).map(lambda make: make())


@st.composite
def refused_values(draw: st.DrawFn) -> Refused:
    """A value that may not be written, with the part of it that is at fault."""
    culprit = value = draw(_culprits())
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            value = [*draw(st.lists(json_values(4), max_size=2)), value, draw(json_values(4))]
        else:
            key = draw(texts())
            others = json_objects(without=frozenset({key}))
            value = {**draw(others), key: value, **draw(others)}
    return Refused(value, culprit)


# ----------------------------------------------------------------------------- entries


def times() -> st.SearchStrategy[datetime]:
    """The times that may be written: aware, UTC, not the first instant of year 1."""
    zero = datetime(1, 1, 1, tzinfo=UTC)
    near = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
    return (near | st.datetimes(timezones=st.just(UTC))).filter(lambda time: time != zero)


def items() -> st.SearchStrategy[dict[str, Any]]:
    """Provider items: messages of some shapes, calls and outputs, and any other object."""
    roles = st.sampled_from(["user", "assistant", "system", "tool", "toolResult"])
    parts = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts()}), max_size=3)
    calls = {"type": st.just("function_call"), "call_id": names(), "name": names(), "arguments": texts()}
    outputs = {"type": st.just("function_call_output"), "call_id": names(), "output": texts()}
    return st.one_of(
        st.fixed_dictionaries({"role": roles, "content": texts() | parts}),
        st.fixed_dictionaries(calls),
        st.fixed_dictionaries(outputs),
        json_objects(),
    )


def _int64() -> st.SearchStrategy[int]:
    return st.integers(0, 10**6) | st.integers(-(2**63), 2**63 - 1)


def usages() -> st.SearchStrategy[RecordedUsage]:
    """Recorded usages, those of other writers with negative numbers too."""
    costs = st.builds(
        RecordedCost,
        input=floats(),
        output=floats(),
        cache_read=floats() | st.just(0),
        cache_write=floats() | st.just(0),
        total=floats(),
    )
    tokens = {key: _int64() for key in ("input", "output", "cache_read", "cache_write", "total_tokens")}
    return st.builds(RecordedUsage, **tokens, cost=costs)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def response_records() -> st.SearchStrategy[ResponseRecord]:
    """What is recorded of a model response."""
    fields = {key: _maybe(texts()) for key in ("id", "provider", "model", "finish_reason", "request")}
    return st.builds(ResponseRecord, **fields, usage=_maybe(usages()))


def message_entries() -> st.SearchStrategy[MessageEntry]:
    """Message entries: mostly plain ones, some of them made from a prompt template."""
    extras = {
        "family": _maybe(texts()),
        "response": _maybe(response_records()),
        "stand_in": st.booleans(),
        "interrupted": st.booleans(),
    }
    templates = st.builds(
        Invocation, kind=st.just("prompt_template"), name=names(), source=names(), path=names()
    )
    said = st.fixed_dictionaries({"role": st.just("user"), "content": texts()})
    common = {"id": names(), "timestamp": times()}
    return st.one_of(
        st.builds(MessageEntry, **common, message=items(), family=_maybe(texts())),
        st.builds(MessageEntry, **common, message=items(), **extras),
        st.builds(MessageEntry, **common, message=said, invocation=templates, **extras),
    )


def context_entries() -> st.SearchStrategy[ContextEntry]:
    """Context entries."""
    attachments = st.builds(
        ContextAttachment,
        attachment_id=names(),
        epoch=st.integers(1, 5) | st.integers(1, 2**64 - 1),
        kind=names(),
        placement=st.sampled_from(["prefix", "after-current"]) | names(),
        revision=names(),
        rendered=names(),
        path=_maybe(names()),
    )
    return st.builds(ContextEntry, id=names(), timestamp=times(), context=attachments)


@st.composite
def compaction_entries(draw: st.DrawFn) -> CompactionEntry:
    """Compaction entries: with a summary, a replacement, or both."""
    replacement = tuple(draw(st.lists(items(), max_size=3)))
    paths = st.lists(texts(), max_size=3).map(tuple)
    return CompactionEntry(
        id=draw(names()),
        timestamp=draw(times()),
        compaction=Compaction(
            summary=draw(texts() if replacement else names()),
            first_kept_entry_id=draw(_maybe(names())),
            tokens_before=draw(_int64()),
            tokens_after=draw(_int64()),
            read_files=draw(paths),
            modified_files=draw(paths),
            provider=draw(_maybe(names())),
            model=draw(_maybe(names())),
            response_model=draw(_maybe(names())),
            response_id=draw(_maybe(names())),
            usage=draw(usages()),
            response_timestamp=draw(_maybe(times())),
            replacement=replacement,
            family=draw(_maybe(texts())),
        ),
    )


@st.composite
def run_entries(draw: st.DrawFn) -> RunEntry:
    """Run entries, some of no length."""
    started, completed = sorted((draw(times()), draw(times())))
    run = Run(
        started_at=started,
        completed_at=draw(st.sampled_from([started, completed])),
        first_entry_id=draw(_maybe(names())),
        status=draw(st.sampled_from([None, "completed", "failed", "cancelled"])),
    )
    return RunEntry(id=draw(names()), timestamp=draw(times()), run=run)


def opaque_entries() -> st.SearchStrategy[OpaqueEntry]:
    """Entries of types that are not known."""
    known = ("message", "context", "compaction", "run", "session")
    data = json_objects(without=frozenset({"id", "timestamp", "type", "crc"}))
    kinds = st.sampled_from(["note", "Message", "message "]) | names().filter(lambda kind: kind not in known)
    return st.builds(OpaqueEntry, id=names(), timestamp=times(), type=kinds, data=data)


def entries() -> st.SearchStrategy[Entry]:
    """Entries of every type."""
    return st.one_of(
        message_entries(), context_entries(), compaction_entries(), run_entries(), opaque_entries()
    )


def headers() -> st.SearchStrategy[Header]:
    """Headers, with keys of other writers."""
    known = {"type", "version", "id", "timestamp", "harness", "cwd", "forkedFrom", "parent", "crc"}
    return st.builds(
        Header,
        id=_maybe(texts()),
        timestamp=_maybe(times()),
        harness=_maybe(texts()),
        cwd=_maybe(texts()),
        forked_from=_maybe(st.builds(ForkOrigin, session=texts(), entry=texts())),
        parent=_maybe(st.builds(ParentCall, session=texts(), call=texts())),
        extra=json_objects(without=frozenset(known)),
    )


def details() -> st.SearchStrategy[Detail]:
    """Records of the sidecar."""
    return st.builds(Detail, id=names(), payload=json_values(), entry=_maybe(names()))


def outcomes() -> st.SearchStrategy[ToolOutcome]:
    """Outcomes of tool calls, with words for their status that are not known too."""
    known = st.sampled_from(["success", "failed", "cancelled", "timeout"])
    common = {
        "error_code": _maybe(texts()),
        "exit_code": _maybe(_int64()),
        "data_kind": _maybe(texts()),
        "data": json_values(),
    }
    strange = texts(1).filter(lambda word: word not in ("success", "failed", "cancelled", "timeout"))
    return st.one_of(
        st.builds(ToolOutcome, status=known, **common),
        st.builds(ToolOutcome, status=st.just("unknown"), raw_status=strange, **common),
    )


def simple_entries() -> st.SearchStrategy[Entry]:
    """Entries of every type that differ in what a log is about, and cost little to make."""
    words = st.text("ab é", min_size=1, max_size=3)
    said = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": words})
    common = {"id": st.just("?"), "timestamp": st.just(datetime(2026, 1, 2, 3, 4, 5, 678901, UTC))}
    message = st.builds(MessageEntry, **common, message=said)
    standing = st.one_of(
        st.builds(Compaction, summary=words),
        st.builds(Compaction, summary=st.just(""), replacement=st.tuples(said)),
        st.builds(Compaction, summary=words, replacement=st.tuples(said, said)),
    )
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    fixed = ContextAttachment(
        attachment_id="a", epoch=1, kind="rules", placement="prefix", revision="r", rendered="text"
    )
    return st.one_of(
        message,
        message,
        st.builds(CompactionEntry, **common, compaction=standing),
        st.builds(ContextEntry, **common, context=st.just(fixed)),
        st.builds(RunEntry, **common, run=st.just(Run(started_at=noon, completed_at=noon))),
        st.builds(OpaqueEntry, **common, type=st.just("note"), data=st.just({"text": "x"})),
    )


@st.composite
def logs(draw: st.DrawFn, each: st.SearchStrategy[Entry] | None = None, max_size: int = 10) -> list[Entry]:
    """The entries of a log: ids are unique, and what names an earlier entry names one.

    A compaction keeps from an earlier message, or nothing; a run began at an earlier entry.
    ``each`` makes the entries, by default simple ones: it is their order that matters.
    """
    log: list[Entry] = []
    drawn = draw(st.lists(simple_entries() if each is None else each, max_size=max_size))
    for position, entry in enumerate(drawn):
        log.append(_placed(draw, dataclasses.replace(entry, id=f"e{position}"), log))
    return log


def _placed(draw: st.DrawFn, entry: Entry, before: list[Entry]) -> Entry:
    """The entry, where it names an earlier one with the name of one of those."""
    match entry:
        case CompactionEntry(compaction=compaction):
            earlier = [other.id for other in before if isinstance(other, MessageEntry)]
            kept = draw(st.sampled_from([None, *earlier]))
            changed = dataclasses.replace(compaction, first_kept_entry_id=kept)
            return dataclasses.replace(entry, compaction=changed)
        case RunEntry(run=run):
            first = draw(st.sampled_from([None, *(other.id for other in before)]))
            return dataclasses.replace(entry, run=dataclasses.replace(run, first_entry_id=first))
    return entry
