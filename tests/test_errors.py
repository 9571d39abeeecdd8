"""Every error says where and what, and travels between processes."""

from __future__ import annotations

import builtins
import copy
import errno
import os
import pickle
from typing import Any

import pytest

from transcript_log import errors
from transcript_log.errors import (
    BoundaryError,
    ConflictError,
    ContextError,
    CorruptLogError,
    EntryError,
    EntryNotFoundError,
    FamilyRequiredError,
    HeaderError,
    IdError,
    LateOutputError,
    LogBusyError,
    ReconciliationError,
    RequestNotFoundError,
    RulesError,
    SessionIdError,
    StorageError,
    StrictContextError,
    TargetError,
    TranscriptError,
    VersionError,
)
from transcript_log.findings import Change, Finding

_FOUND = Finding(rule="output-missing", severity="error", message="the call has no output", call="c1", item=3)
_CHANGE = Change(kind="added", rule="unanswered-call", message="a stand-in was made", entry="e1", call="c1")

_SAMPLES: list[tuple[TranscriptError, list[str]]] = [
    (
        EntryError("$.message.content[2]", "a tuple is no JSON value", "json"),
        ["$.message.content[2]", "a tuple"],
    ),
    (EntryError("$.id", "the entry id is empty"), ["$.id", "is empty"]),
    (IdError("e1", "/logs/s.jsonl"), ["/logs/s.jsonl", "'e1'", "nothing was written"]),
    (EntryNotFoundError("e1", "/logs/s.jsonl"), ["/logs/s.jsonl", "'e1'"]),
    (RequestNotFoundError("e1", "no request is on record"), ["entry e1", "no request is on record"]),
    (RulesError("r.toml", "api.x.rules", "a table is wanted"), ["r.toml: api.x.rules: a table"]),
    (RulesError("r.toml", "", "it is not TOML"), ["r.toml: it is not TOML"]),
    (FamilyRequiredError(2), ["item 2", "target="]),
    (SessionIdError("../x"), ["'../x'", "1 to 128"]),
    (SessionIdError(None), ["None"]),
    (ConflictError("/logs/s.jsonl", "e1", "e2"), ["/logs/s.jsonl", "'e1'", "'e2'", "nothing was written"]),
    (ConflictError("s.jsonl", "", "e2"), ["an empty log", "'e2'"]),
    (ConflictError("s.jsonl", "e1", ""), ["'e1'", "the log is empty"]),
    (ConflictError("s.jsonl", "", "k2", "compaction"), ["s.jsonl", "'k2'", "since the plan", "plan again"]),
    (
        LateOutputError("s.jsonl", "call_0", "e1", "e5"),
        ["s.jsonl", "'call_0'", "'e1'", "'e5'", "only how it ended", "in a message"],
    ),
    (LogBusyError("s.jsonl"), ["s.jsonl", "locked", "another writer"]),
    (
        LogBusyError("s.jsonl", 12, "host", "2026-01-02T03:04:05Z", "running"),
        ["s.jsonl", "locked", "process 12", "host", "2026-01-02T03:04:05Z", "wait"],
    ),
    (LogBusyError("s.jsonl", 12, "host", "then", "stopped"), ["process 12", "suspended", "resume"]),
    (LogBusyError("s.jsonl", 12, "host", "then", "gone"), ["process 12", "gone", "try again"]),
    (LogBusyError("s.jsonl", 12, "host", "then", "unknown"), ["process 12", "host", "then"]),
    (LogBusyError("s.jsonl", 12, "host", "then", "this process"), ["this process", "lease", "then"]),
    (StorageError("s.jsonl", "append", "a rule of ours"), ["s.jsonl", "cannot append", "a rule of ours"]),
    (
        CorruptLogError("s.jsonl", 7, 1234, "not JSON", "run salvage", "e7"),
        ["s.jsonl", "line 7", "byte 1234", "not JSON", "run salvage"],
    ),
    (
        CorruptLogError("s.jsonl", 7, 0, "twice", kind="duplicate-id"),
        ["s.jsonl", "line 7", "byte 0", "twice"],
    ),
    (HeaderError("s.jsonl", 1, 0, "no header", kind="header-json"), ["s.jsonl", "line 1", "no header"]),
    (
        VersionError("s.jsonl", 1, 0, 4, 3, "use a newer one"),
        ["s.jsonl", "version 4", "version 3", "a newer one"],
    ),
    (BoundaryError("k1", "e9", "first-kept-not-before"), ["e9", "k1", "not before"]),
    (BoundaryError("k1", "e9", "first-kept-not-a-message"), ["e9", "not a message"]),
    (TargetError("x/y", "the api of a target holds no slash"), ["'x/y'", "no slash"]),
    (
        ContextError("openai-chat", [_FOUND]),
        ["openai-chat would refuse", "item 3", "call c1", "the call has no output"],
    ),
    (ContextError("openai-chat", [_FOUND] * 7), ["openai-chat", "item 3", "and 2 more"]),
    (StrictContextError(_CHANGE), ["strict", "entry e1", "call c1", "added", "a stand-in was made"]),
    (ReconciliationError("missing_output", "c1", {"call_id": "c1"}), ["call c1", "nobody answered"]),
    (ReconciliationError("duplicate_call", "c1"), ["call c1", "two calls have one id"]),
    (ReconciliationError("duplicate_output", "c1"), ["call c1", "two outputs"]),
    (ReconciliationError("missing_call_id"), ["has no call id"]),
    (ReconciliationError("invalid_items"), ["a list of items"]),
    (ReconciliationError("invalid_cutoff"), ["the cutoff"]),
    (ReconciliationError("invalid_repair_output", "c1"), ["call c1", "no output of this call"]),
    (ReconciliationError("another", "c1"), ["call c1", "another"]),
]
_NAMED = [pytest.param(*sample, id=f"{type(sample[0]).__name__}-{i}") for i, sample in enumerate(_SAMPLES)]


@pytest.mark.parametrize(("error", "parts"), _NAMED)
def test_the_sentence_names_its_parts_and_is_one_line(error: TranscriptError, parts: list[str]) -> None:
    sentence = str(error)
    assert all(part in sentence for part in parts)
    assert "\n" not in sentence
    assert "None" not in sentence or isinstance(error, SessionIdError)


@pytest.mark.parametrize(("error", "parts"), _NAMED)
def test_an_error_pickles_with_all_it_says(error: TranscriptError, parts: list[str]) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert again.args == error.args
        assert str(again) == str(error)
        assert vars(again) == vars(error)


@pytest.mark.parametrize(("error", "parts"), _NAMED)
def test_an_error_is_made_again_from_its_arguments(error: TranscriptError, parts: list[str]) -> None:
    again = type(error)(*error.args)
    assert vars(again) == vars(error)


def test_every_error_has_a_sample_here_and_one_base() -> None:
    public = [getattr(errors, name) for name in errors.__all__]
    assert {type(error) for error, _ in _SAMPLES} == {each for each in public if each is not TranscriptError}
    assert all(issubclass(each, TranscriptError) for each in public)
    assert errors.__all__ == sorted(errors.__all__)


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (EntryError, builtins.ValueError),
        (IdError, builtins.ValueError),
        (SessionIdError, builtins.ValueError),
        (BoundaryError, builtins.ValueError),
        (TargetError, builtins.ValueError),
        (ContextError, builtins.ValueError),
        (StrictContextError, builtins.ValueError),
        (ReconciliationError, builtins.ValueError),
        (EntryNotFoundError, builtins.LookupError),
        (StorageError, builtins.OSError),
        (HeaderError, CorruptLogError),
        (VersionError, HeaderError),
    ],
)
def test_an_error_is_caught_by_what_a_caller_would_write(error: type[Any], also: type[Any]) -> None:
    assert issubclass(error, also)


def test_an_error_of_entries_says_of_which_sort_it_is() -> None:
    assert EntryError("$", "r").kind == "invalid"
    assert EntryError("$", "r", "message").kind == "message"


def test_an_error_of_the_system_is_told_with_its_number() -> None:
    cause = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "elsewhere")
    error = StorageError.of("s.jsonl", "append to it", cause, "free some space")
    assert (error.errno, error.filename, error.strerror) == (
        errno.ENOSPC,
        "s.jsonl",
        os.strerror(errno.ENOSPC),
    )
    assert str(error) == "s.jsonl: cannot append to it: No space left on device (ENOSPC); free some space"


def test_an_error_of_the_system_without_a_number_is_told_too() -> None:
    error = StorageError.of("s.jsonl", "open it", OSError("odd"))
    assert error.errno is None
    assert str(error) == "s.jsonl: cannot open it: odd"


def test_a_log_of_another_version_is_a_broken_header_that_names_both() -> None:
    error = VersionError("s.jsonl", 1, 0, 4, 3)
    assert (error.kind, error.found, error.understood) == ("header-version", 4, 3)
    assert error.entry_id is None


def test_a_session_id_of_any_length_is_told_briefly() -> None:
    assert len(str(SessionIdError("x" * 10_000))) < 200
    assert "\n" not in str(SessionIdError("a\nb"))
