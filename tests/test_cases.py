"""Small inputs made after public bug reports, each with what has to come of it.

``TRANSCRIPT_LOG_SHARED`` names a folder with a folder ``cases`` in it. Without it the folder
``shared`` beside the checkout is used if there is one, and else the copy in ``data``. Further
cases of the same vocabulary can be put there: a word of theirs that is not known here fails
the test, and the failure names it.

Cases about parts that this version does not have are listed by ``test_what_waits``.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import pty
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from case_contexts import ContextChecks, target_of
from case_imports import ImportChecks
from case_responses import RESPONSE_OPERATIONS, ResponseChecks

from transcript_log import (
    CompactionEntry,
    Detail,
    Finding,
    JsonlStore,
    Scan,
    Session,
    TranscriptError,
    new_message,
    session_path,
)
from transcript_log.codec import encode_detail, encode_entry, encode_header, entry_from_value
from transcript_log.entries import Header, MessageEntry
from transcript_log.items import text as text_of
from transcript_log.listing import list_logs
from transcript_log.session import CompactionPlan

HERE: Final = Path(__file__).resolve().parent
COMMANDS: Final = ("replay", "inspect", "context", "diff", "check", "salvage", "list")
STORE_OPERATIONS: Final = ("load", "scan", "read", "append", "list", "cli")
CONTEXT_OPERATIONS: Final = ("build_context", "reconcile", "family_filter")
SESSION_OPERATIONS: Final = ("compact",)
IMPORT_OPERATIONS: Final = ("import",)
OTHER_OPERATIONS: Final = (
    "export",
    "fork",
    "stats",
)
CONTEXT_KEYS: Final = frozenset(
    name.removeprefix("expect_") for name in vars(ContextChecks) if name.startswith("expect_")
)
RESPONSE_KEYS: Final = frozenset(
    name.removeprefix("expect_") for name in vars(ResponseChecks) if name.startswith("expect_")
)
IMPORT_KEYS: Final = frozenset(
    name.removeprefix("expect_") for name in dir(ImportChecks) if name.startswith("expect_")
)
NOBODY: Final = 65534
LIMIT: Final = 60.0
"""How long anything here may take, in seconds, where a case does not say."""


def folder() -> Path:
    """The folder that the cases are in."""
    named = os.environ.get("TRANSCRIPT_LOG_SHARED")
    shared = [Path(named)] if named else []
    places = [
        *(place / "cases" for place in (*shared, HERE.parent.parent / "shared")),
        HERE / "data" / "cases",
    ]
    return next(place for place in places if place.is_dir())


def all_cases() -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted(folder().glob("*.json"))]


CASES: Final = all_cases()


def keys_of(expect: dict[str, Any]) -> set[str]:
    """The words of an expectation, those of its alternatives and of its stages too."""
    found = set(expect)
    for value in expect.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                found |= keys_of(inner)
    return found


def waits(case: dict[str, Any]) -> bool:
    """Whether the case is about something that this version does not have."""
    if case["operation"] == "cli":
        return case["input"]["argv"][0] not in (*COMMANDS, "--help", "--version", "-h")
    return case["operation"] in OTHER_OPERATIONS


# ------------------------------------------------------------------------------- inputs


def assemble(given: dict[str, Any]) -> bytes | None:
    """The bytes of the log; None if the case has no log to begin with."""
    if "file_bytes_b64" in given:
        return base64.b64decode(given["file_bytes_b64"], validate=True)
    if "file_text" in given:
        return str(given["file_text"]).encode()
    if "file_parts" in given:
        return b"".join(part_of(part) for part in given["file_parts"])
    if "items" in given or "entries" in given:
        return as_log(given)
    if isinstance(given.get("build"), dict):
        return built(given["build"])
    if "source_lines" in given:
        return b"".join(as_line(line) + b"\n" for line in given["source_lines"])
    return None


def as_line(line: Any) -> bytes:
    """A line of another agent's session: a record, or text that is no record."""
    return (line if isinstance(line, str) else json.dumps(line)).encode()


def part_of(part: dict[str, Any]) -> bytes:
    match part:
        case {"text": str(text)}:
            return text.encode()
        case {"repeat": str(text), "times": int(times)}:
            return text.encode() * times
        case {"b64": str(text)} | {"base64": str(text)} | {"bytes_b64": str(text)}:
            return base64.b64decode(text, validate=True)
    raise ValueError(f"a part of a file that is not known: {part}")


def as_log(given: dict[str, Any]) -> bytes:
    """Ready entries, or provider items each in a message entry, below a header."""
    entries = given.get("entries") or [
        {"id": f"e{n}", "timestamp": "2026-01-01T00:00:00Z", "type": "message", "message": item}
        for n, item in enumerate(given["items"])
    ]
    header = {"type": "session", "version": 3, "id": "s-0001", "timestamp": "2026-01-01T00:00:00Z"}
    return b"".join(json.dumps(line).encode() + b"\n" for line in (header, *entries))


def built(words: dict[str, Any], number: int = 0) -> bytes:
    """A log of so many messages, or of so many bytes."""
    header = Header(id=f"s-{number}", timestamp=datetime(2026, 1, 1, tzinfo=UTC), harness="transcript-log")
    size = next((words[key] for key in ("bytes_each", "bytes_per_entry") if key in words), 2000)
    count = next((words[key] for key in ("entries", "messages", "lines", "count") if key in words), None)
    if count is None:
        count, size = max(1, words.get("bytes", size) // 2000), 2000
    lines = [encode_header(header)]
    for n in range(count):
        message = {"role": "user" if n % 2 == 0 else "assistant", "content": "x" * max(0, size - 110)}
        lines.append(encode_entry(MessageEntry(id=f"e{n}", timestamp=header.timestamp, message=message)))
    return b"\n".join(lines) + b"\n"


def values_to_append(given: dict[str, Any], prefix: str = "") -> list[Any]:
    """The entries to append, as decoded values; those that JSON cannot show as Python has them."""
    values = list(given.get(prefix + "append_entries", ()))
    python = given.get(prefix + "append_entries_python")
    for text in [python] if isinstance(python, str) else python or ():
        values += listed(eval(text, {"__builtins__": {}, "float": float, "inf": float("inf")}))
    ascii_json = given.get(prefix + "append_entries_ascii_json")
    for text in [ascii_json] if isinstance(ascii_json, str) else ascii_json or ():
        values += listed(json.loads(text) if isinstance(text, str) else text)
    return values


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


KNOWN_INPUTS: Final = frozenset(
    {
        "action",
        "append_entries",
        "append_entries_ascii_json",
        "append_entries_python",
        "argv",
        "build",
        "details_records",
        "details_bytes_b64",
        "details_torn_tail",
        "dialect",
        "directory",
        "directory_mode",
        "entries",
        "env",
        "families",
        "fault",
        "file_bytes_b64",
        "file_mode",
        "file_name",
        "file_parts",
        "file_text",
        "headers",
        "items",
        "provider",
        "requested_first_kept",
        "response",
        "scenario",
        "session_ids",
        "source_lines",
        "store",
        "summary",
        "target_family",
        "then_append_entries",
        "tty",
        "umask",
        "usage",
    }
)


# ------------------------------------------------------------------------------- faults


@contextlib.contextmanager
def write_fault(fault: dict[str, Any], log: Path) -> Iterator[None]:
    """Make the system refuse: so many bytes of the log are written, then an error is raised.

    The lock file, which tells who holds it, is not meant and is left alone.
    """
    code = getattr(errno, fault.get("errno", "ENOSPC"))
    names = {"write": ("write",), "fsync": ("fsync", "fdatasync"), "fdatasync": ("fsync", "fdatasync")}
    calls = names.get(fault["on"], (fault["on"],))
    left = {"bytes": fault.get("after_bytes", 0), "times": fault.get("times", 1)}
    real = {name: getattr(os, name) for name in calls}

    def is_meant(fd: object) -> bool:
        if not isinstance(fd, int):
            return True
        status = os.fstat(fd)
        return stat.S_ISDIR(status.st_mode) or not (
            (lock := log.with_name(log.name + ".lock")).exists() and os.path.samestat(status, lock.stat())
        )

    def fails(name: str) -> Callable[..., Any]:
        def call(fd: Any, *args: Any, **kwargs: Any) -> Any:
            if left["times"] <= 0 or not is_meant(fd):
                return real[name](fd, *args, **kwargs)
            if name == "write" and left["bytes"] > 0:
                done: int = real[name](fd, bytes(args[0])[: left["bytes"]])
                left["bytes"] -= done
                return done
            left["times"] -= 1
            raise OSError(code, os.strerror(code))

        return call

    try:
        for name in calls:
            setattr(os, name, fails(name))
        yield
    finally:
        for name in calls:
            setattr(os, name, real[name])
    assert left["times"] <= 0, "the fault was never met"


HOLDER: Final = """
import sys, time
from transcript_log import JsonlStore
store = JsonlStore(sys.argv[1])
def hold():
    print("ready", flush=True)
    time.sleep(120)
if sys.argv[2] == "lease":
    with store.lease():
        hold()
else:
    from transcript_log import new_message
    store.append(details=[])
    store.scan()
    hold()
"""


def holding(log: Path, how: str) -> subprocess.Popen[bytes]:
    """A living process that has the log open, with or without a lease on it."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(log), how],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


@contextlib.contextmanager
def scenario(words: str, log: Path) -> Iterator[None]:
    """Other processes at the log, as the case says in words."""
    if re.search(r"dead|died|killed|crashed|stale|left behind|no longer|gone", words):
        child = holding(log, "lease")
        child.kill()
        child.communicate()
        yield
        return
    if not re.search(r"living|live|alive|running|holds|idles|second|stopped|suspended", words):
        pytest.fail(f"a scenario that is not known: {words!r}")
    child = holding(log, "lease")
    try:
        if re.search(r"stopped|suspended|SIGSTOP", words):
            child.send_signal(signal.SIGSTOP)
        yield
    finally:
        child.send_signal(signal.SIGCONT)
        child.kill()
        child.communicate()


def as_nobody(work: Callable[[], None]) -> None:
    """Run checks in a child without the rights of root; where we have none, right here."""
    if os.geteuid() != 0:
        work()
        return
    import filelock  # noqa: F401 - what is imported late may stand where only root can read

    back, front = os.pipe()
    child = os.fork()
    if child == 0:
        told = b""
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
        except BaseException:
            told = traceback.format_exc().encode()
        os.write(front, told[-4000:])
        os._exit(0)
    os.close(front)
    with open(back, "rb") as file:
        told = file.read()
    os.waitpid(child, 0)
    assert not told, told.decode()


# -------------------------------------------------------------------------------- a run


@dataclass
class Run:
    """A case under way: where its files are, and what has come of it so far."""

    case: dict[str, Any]
    place: Path
    choices: list[int] = field(default_factory=list)
    before: bytes = b""
    error: BaseException | None = None
    seconds: float = 0.0
    first: Scan | None = None
    process: subprocess.CompletedProcess[bytes] | None = None
    built: ContextChecks | None = None
    read: ResponseChecks | None = None
    plan: CompactionPlan | None = None
    imported: ImportChecks | None = None

    @property
    def log(self) -> Path:
        return self.place / self.case["input"].get("file_name", "session.jsonl")

    @property
    def details(self) -> Path:
        return Path(JsonlStore(self.log).details_path)

    @property
    def bytes_now(self) -> bytes:
        return self.log.read_bytes() if self.log.exists() else b""

    def scan(self) -> Scan:
        return JsonlStore(self.log).scan()

    def timed(self, work: Callable[[], object]) -> None:
        """Do it, and keep the error if there is one. Only our own errors are an answer."""
        began = time.monotonic()
        self.error = None
        try:
            work()
        except TranscriptError as error:
            self.error = error
        self.seconds = time.monotonic() - began
        assert self.seconds < LIMIT

    def append(self, values: list[Any], store: JsonlStore | None = None) -> None:
        store = store or JsonlStore(self.log)
        for value in values:
            store.append(entry_from_value(value))

    def compact(self) -> None:
        """Compact as the case asks; to keep from nowhere is to keep as little as can be."""
        given = self.case["input"]
        kept = given["requested_first_kept"]
        with Session.open(self.log) as session:
            target = target_of(given["dialect"], given.get("target_family"))
            self.plan = session.plan_compaction(
                target, keep_tokens=0 if kept is None else None, first_kept=kept
            )
            if self.plan is not None:
                session.compact(self.plan, given["summary"])

    def check(self, expect: dict[str, Any]) -> None:
        """Hold what came of it against the words of an expectation."""
        for key, value in expect.items():
            if self.read is not None and key in RESPONSE_KEYS:
                getattr(self.read, f"expect_{key}")(value)
                continue
            if self.imported is not None and key in IMPORT_KEYS:
                getattr(self.imported, f"expect_{key}")(value)
                continue
            if key in CONTEXT_KEYS:
                getattr(self.context(), f"expect_{key}")(value)
                continue
            checked = getattr(self, f"expect_{key}", None)
            if checked is None:
                pytest.fail(f"{self.case['id']}: an expectation that is not known: {key!r}")
            checked(value)

    def context(self) -> ContextChecks:
        """What a model would be sent of the log as it is."""
        if self.built is None:
            self.built = ContextChecks(self.case["input"], self.scan().entries, folder())
            self.error = self.built.error
        return self.built

    def ids(self, scan: Scan | None = None) -> list[str]:
        return [entry.id for entry in (scan or self.scan()).entries]

    def entry(self, entry_id: str) -> Any:
        found = [entry for entry in self.scan().entries if entry.id == entry_id]
        assert found, entry_id
        return found[0]

    def named_lines(self, path: Path, *, errors_only: bool = False) -> set[int]:
        if self.imported is not None:
            return self.imported.named_lines(errors_only=errors_only)
        real = os.path.realpath(path)
        return {
            finding.line
            for finding in self.scan().findings
            if finding.line is not None
            and finding.path == real
            and (not errors_only or finding.severity == "error")
        }

    def findings(self) -> tuple[Finding, ...]:
        return self.scan().findings if self.imported is None else self.imported.session.findings

    def import_it(self) -> None:
        """Read what another agent wrote."""
        self.imported = ImportChecks(self.case["input"], str(self.log), folder())

    def command(self) -> None:
        """Run the command in a process of its own."""
        given = self.case["input"]
        argv = [
            word.replace("{log}", str(self.log)).replace("{dir}", str(self.place)) for word in given["argv"]
        ]
        env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        env |= {"PYTHONPATH": str(HERE.parent), **given.get("env", {})}
        words = [sys.executable, "-m", "transcript_log", *argv]
        run = run_on_terminal if given.get("tty") else run_plainly
        began = time.monotonic()
        self.process = run(words, env)
        self.seconds = time.monotonic() - began

    # -------------------------------------------------------- expectations of any case

    def expect_accept(self, alternatives: list[dict[str, Any]]) -> None:
        refusals = []
        for choice, alternative in enumerate(alternatives):
            try:
                self.check(alternative)
            except AssertionError as error:
                refusals.append(str(error))
            else:
                self.choices.append(choice)
                return
        raise AssertionError(f"no alternative holds: {refusals}")

    def expect_raises(self, value: bool) -> None:
        assert (self.error is not None) == value, repr(self.error)

    def expect_error_names(self, names: list[str]) -> None:
        assert self.error is not None
        self._names(str(self.error), names)

    def expect_or_raises_naming(self, names: list[str]) -> None:
        if self.error is not None:
            self._names(str(self.error), names)

    def expect_warning_names(self, names: list[str]) -> None:
        told = "" if self.built is None else self.built.names()
        self._names("\n".join([told, *(str(finding) for finding in self.findings())]), names)

    def _names(self, text: str, names: list[str]) -> None:
        """Each name stands in the text: ``a or 'b c'`` is one of the two, ``path`` is the log's."""
        for name in names:
            words = [word.strip(" '\"") for word in re.split(r"\s+or\s+", name)]
            words += [os.path.realpath(self.place)] if "path" in words else []
            assert any(word.lower() in text.lower() for word in words), f"{name!r} is not in: {text}"

    def expect_note(self, value: str) -> None:
        """Words for the reader of the case."""

    def expect_within_s(self, seconds: float) -> None:
        assert self.seconds <= seconds

    expect_terminates_within_s = expect_within_s

    def expect_never_blocks_forever(self, value: bool) -> None:
        assert value
        assert self.seconds < LIMIT

    # --------------------------------------------------------------- what is read

    def expect_entry_ids(self, ids: list[str]) -> None:
        assert self.ids() == ids

    expect_reload_entry_ids = expect_entry_ids

    def expect_load_entry_ids(self, ids: list[str]) -> None:
        assert self.first is not None
        assert self.ids(self.first) == ids

    def expect_entry_ids_include(self, ids: list[str]) -> None:
        assert set(ids) <= set(self.ids())

    expect_reload_entry_ids_include = expect_entry_ids_include

    def expect_entry_ids_exclude(self, ids: list[str]) -> None:
        assert not set(ids) & set(self.ids())

    def expect_entry_count(self, count: int) -> None:
        assert len(self.ids()) == count

    expect_reload_entry_count = expect_entry_count

    def expect_reload_text(self, texts: dict[str, str]) -> None:
        for entry_id, text in texts.items():
            message = self.entry(entry_id).message
            content = message.get("content")
            assert (content if isinstance(content, str) else text_of(message)) == text

    expect_entry_text = expect_texts = expect_reload_text

    def expect_reload_messages(self, messages: dict[str, Any]) -> None:
        assert {entry_id: self.entry(entry_id).message for entry_id in messages} == messages

    def expect_damaged_lines(self, lines: list[int]) -> None:
        if lines:
            assert set(lines) <= self.named_lines(self.log)
        else:
            assert not self.named_lines(self.log, errors_only=True)

    def expect_damaged_detail_lines(self, lines: list[int]) -> None:
        if lines:
            assert set(lines) <= self.named_lines(self.details)
        else:
            assert not self.named_lines(self.details, errors_only=True)

    def expect_exact(self, numbers: dict[str, str]) -> None:
        """Integers by the name of their key, wherever that stands, with all their digits."""
        found = {key: value for entry in self.scan().entries for key, value in members(vars_of(entry))}
        for key, digits in numbers.items():
            assert type(found[key]) is int
            assert str(found[key]) == digits

    def expect_same_instant_checks(self, times: dict[str, str]) -> None:
        for entry_id, text in times.items():
            assert self.entry(entry_id).timestamp == datetime.fromisoformat(text)

    def expect_naive_is_flagged_or_treated_as_utc(self, entry_id: str) -> None:
        if not any(finding.entry == entry_id for finding in self.findings()):
            raw = json.loads(self.raw_line(entry_id))["timestamp"]
            assert self.entry(entry_id).timestamp == datetime.fromisoformat(raw).replace(tzinfo=UTC)

    def expect_details(self, payloads: dict[str, Any]) -> None:
        found = self.scan().details
        for call, payload in payloads.items():
            assert [value for (name, _), value in found.items() if name == call][-1:] == [payload]

    def expect_missing_sidecar_is_empty(self, value: bool) -> None:
        assert value
        ids = self.ids()
        self.details.unlink(missing_ok=True)
        scan = self.scan()
        assert scan.details == {}
        assert self.ids(scan) == ids
        assert JsonlStore(self.log).details() == {}

    # ---------------------------------------------------------------------- compacting

    def expect_to_summarise(self, expect: dict[str, Any]) -> None:
        assert self.plan is not None
        rows = list(self.plan.summarize.rows)
        if expect.get("previous_summary") is not None:
            assert expect["previous_summary"] in text_of(rows.pop(0).item)
        assert [row.entry for row in rows] == expect["entry_ids"]

    def expect_stored_first_kept_in(self, ids: list[str | None]) -> None:
        assert self.error is None
        made = [entry for entry in self.scan().entries if isinstance(entry, CompactionEntry)]
        assert made[-1].compaction.first_kept_entry_id in ids

    def expect_after_append(self, values: list[Any]) -> None:
        if self.error is None:
            self.timed(lambda: self.append(values))
            assert self.error is None

    def expect_context_after(self, expect: dict[str, Any]) -> None:
        if self.error is None:
            self.built = None
            self.check(expect)

    # ------------------------------------------------------------- what is in the file

    def raw_line(self, entry_id: str) -> bytes:
        return next(
            line
            for line in self.bytes_now.split(b"\n")[1:]
            if f'"id":"{entry_id}"'.encode() in line.replace(b" ", b"")
        )

    def expect_file_bytes_unchanged(self, value: bool) -> None:
        assert (self.bytes_now == self.before) == value

    expect_stored_log_unchanged = expect_stored_bytes_unchanged = expect_file_bytes_unchanged
    expect_log_unchanged = expect_raw_timestamps_kept = expect_file_bytes_unchanged

    def expect_old_bytes_are_prefix(self, value: bool) -> None:
        assert self.bytes_now.startswith(self.before) == value

    def expect_raw_kept_keys(self, keys: dict[str, list[str]]) -> None:
        for entry_id, paths in keys.items():
            line = json.loads(self.raw_line(entry_id))
            for path in paths:
                owner = line
                for name in path.split("."):
                    assert name in owner, path
                    owner = owner[name]

    def expect_last_line_is_exactly_entry(self, entry_id: str) -> None:
        *_, last, nothing = self.bytes_now.split(b"\n")
        assert nothing == b""
        assert json.loads(last)["id"] == entry_id

    def expect_physical_lines_split_on_LF(self, number: int) -> None:  # noqa: N802 - the case's word
        *lines, nothing = self.bytes_now.split(b"\n")
        assert nothing == b""
        assert len(lines) == number

    def expect_no_raw_control_bytes_below_0x20_except_LF(self, value: bool) -> None:  # noqa: N802 - the case's word
        assert any(byte < 0x20 and byte != 0x0A for byte in self.bytes_now) != value

    def expect_file_is_valid_utf8(self, value: bool) -> None:
        assert value
        self.bytes_now.decode()

    def expect_no_fused_line(self, value: bool) -> None:
        """Each line that was not there before is one JSON value, and no value has been lost."""
        assert value
        old = set(self.before.split(b"\n"))
        for line in self.bytes_now.split(b"\n"):
            if line.strip() and line not in old:
                json.loads(line)

    def expect_first_line_is_header(self, value: bool) -> None:
        assert (json.loads(self.bytes_now.split(b"\n")[0]).get("type") == "session") == value

    def expect_header_id(self, value: str) -> None:
        header = self.scan().header
        assert header is not None
        assert header.id == value

    def expect_file_exists(self, value: bool) -> None:
        assert self.log.exists() == value

    def expect_append_also_refused(self, value: bool) -> None:
        before = self.bytes_now
        error = self.error
        self.timed(lambda: JsonlStore(self.log).append(new_message({"role": "user", "content": "more"})))
        assert (self.error is not None) == value
        assert self.bytes_now == before
        self.error = error

    def expect_accept_damaged_tail(self, value: bool) -> None:
        """Whether the bytes of the failed write may still be there."""

    # ------------------------------------------------------------------ modes and places

    def expect_nothing_created_in_directory(self, value: bool) -> None:
        assert value
        assert {path.name for path in self.place.iterdir()} <= {self.log.name, self.details.name}

    def expect_nothing_written_outside_directory(self, value: bool) -> None:
        assert value
        assert [path.name for path in self.place.parent.iterdir()] == [self.place.name]

    def expect_mode(self, mode: str) -> None:
        """The mode of every file that was made."""
        for path in self.place.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) & ~int(mode, 8) == 0, path

    expect_file_mode = expect_file_mode_max = expect_created_file_mode = expect_log_mode = expect_mode
    expect_mode_at_most = expect_new_file_mode = expect_file_modes_at_most = expect_mode

    def expect_no_group_or_other_access(self, value: bool) -> None:
        assert value
        self.expect_mode("0700")

    def expect_refused(self, ids: list[str]) -> None:
        for session_id in ids:
            with pytest.raises(TranscriptError):
                session_path(self.place, session_id)

    def expect_accepted(self, ids: list[str]) -> None:
        for session_id in ids:
            path = session_path(self.place, session_id)
            JsonlStore(path).append(new_message({"role": "user", "content": "hello"}))
            assert Path(path).parent == self.place

    def expect_either(self, ids: list[str]) -> None:
        for session_id in ids:
            with contextlib.suppress(TranscriptError):
                self.expect_accepted([session_id])

    # ------------------------------------------------------------------------- stages

    def expect_first_append(self, expect: dict[str, Any]) -> None:
        self.check(expect)

    expect_after_fault = expect_second_append = expect_first_append

    def expect_load(self, expect: dict[str, Any]) -> None:
        self.timed(self.scan)
        self.check(expect)

    def expect_append(self, expect: dict[str, Any]) -> None:
        values = values_to_append(self.case["input"]) or [
            {
                "id": "e-new",
                "timestamp": "2026-01-01T00:00:00Z",
                "type": "message",
                "message": {"role": "user"},
            }
        ]
        self.timed(lambda: self.append(values))
        self.check(expect)

    # ----------------------------------------------------------------------- the command

    def output(self, stream: str) -> bytes:
        assert self.process is not None
        out: bytes = getattr(self.process, stream)
        return out

    def expect_exit(self, code: int | list[int]) -> None:
        assert self.process is not None
        assert self.process.returncode in listed(code), self.process

    expect_exit_in = expect_exit

    def expect_exit_not(self, code: int | list[int]) -> None:
        assert self.process is not None
        assert self.process.returncode not in listed(code)

    def expect_exit_documented(self, value: bool) -> None:
        assert value
        self.expect_exit([0, 1, 2])

    def _contains(self, stream: str, texts: list[str] | str) -> None:
        for text in listed(texts):
            assert text.encode() in self.output(stream), self.process

    def _lacks(self, stream: str, texts: list[str] | str) -> None:
        for text in listed(texts):
            assert text.encode() not in self.output(stream), self.process

    def _has_no_bytes(self, stream: str, codes: list[str]) -> None:
        for code in codes:
            assert bytes.fromhex(code) not in self.output(stream), self.process

    def expect_stdout_contains(self, texts: list[str]) -> None:
        self._contains("stdout", texts)

    def expect_stderr_contains(self, texts: list[str]) -> None:
        self._contains("stderr", texts)

    def expect_stdout_not_contains(self, texts: list[str]) -> None:
        self._lacks("stdout", texts)

    def expect_stderr_not_contains(self, texts: list[str]) -> None:
        self._lacks("stderr", texts)

    def expect_stdout_has_no_bytes(self, codes: list[str]) -> None:
        self._has_no_bytes("stdout", codes)

    def expect_stderr_has_no_bytes(self, codes: list[str]) -> None:
        self._has_no_bytes("stderr", codes)

    def expect_stdout_empty(self, value: bool) -> None:
        assert (self.output("stdout") == b"") == value

    def expect_stderr_empty(self, value: bool) -> None:
        assert (self.output("stderr") == b"") == value

    def expect_stdout_is_json_lines(self, value: bool) -> None:
        assert value
        for line in self.output("stdout").splitlines():
            json.loads(line)

    expect_stdout_json_lines = expect_stdout_lines_are_json = expect_stdout_is_json_lines

    def expect_stdout_is_json(self, value: bool) -> None:
        assert value
        json.loads(self.output("stdout"))

    def expect_no_traceback(self, value: bool) -> None:
        assert value
        self._lacks("stderr", ["Traceback"])

    # -------------------------------------------------------------------- large inputs

    def expect_bounds(self, bounds: dict[str, float]) -> None:
        for key, limit in bounds.items():
            if key.startswith("seconds"):
                assert self.seconds <= limit
            elif key == "bytes_read_per_file_max":
                assert self.bytes_read_per_file() <= limit
            elif re.search(r"rss|memory|mib|mb", key):
                assert self.megabytes_to_read() <= limit
            else:
                pytest.fail(f"{self.case['id']}: a bound that is not known: {key!r}")

    def bytes_read_per_file(self) -> float:
        """How much a listing reads of each file, at most."""
        real, opened, read = (os.open, os.pread), dict[int, str](), dict[str, int]()

        def counting_open(path: Any, *args: Any, **kwargs: Any) -> int:
            fd = real[0](path, *args, **kwargs)
            opened[fd] = os.fspath(path)
            return fd

        def counting_pread(fd: int, *args: Any) -> bytes:
            block = real[1](fd, *args)
            read[opened[fd]] = read.get(opened[fd], 0) + len(block)
            return block

        os.open, os.pread = counting_open, counting_pread
        try:
            list_logs(self.place)
        finally:
            os.open, os.pread = real
        return max(read.values())

    def megabytes_to_read(self) -> float:
        """How much memory it takes to read the log entry by entry, beyond what an empty process takes."""
        program = (
            "import resource, sys\n"
            "from transcript_log import JsonlStore\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "for entry in JsonlStore(sys.argv[1]).read(): pass\n"
            "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)"
        )
        env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        words = [sys.executable, "-c", program, str(self.log)]
        return float(subprocess.run(words, env=env, check=True, capture_output=True).stdout)

    def expect_one_bad_file_does_not_stop_listing(self, value: bool) -> None:
        assert value
        bad = self.place / "bad.jsonl"
        bad.write_bytes(b"\x00\xff no log\n")
        found = list_logs(self.place)
        assert [log.problem != "" for log in found if log.path == str(bad)] == [True]
        assert sum(log.id is not None for log in found) == self.case["input"]["directory"]["files"]


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every member of every object in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from members(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from members(inner)


def vars_of(entry: Any) -> dict[str, Any]:
    return entry.message if isinstance(entry, MessageEntry) else json.loads(encode_entry(entry))


def run_plainly(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(words, env=env, capture_output=True, timeout=LIMIT, check=False)


def run_on_terminal(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """With a terminal for stdout, which it may colour."""
    ours, theirs = pty.openpty()
    out = b""
    with subprocess.Popen(words, env=env, stdout=theirs, stderr=subprocess.PIPE) as child:
        os.close(theirs)
        while select.select([ours], [], [], LIMIT)[0]:
            try:
                block = os.read(ours, 1 << 16)
            except OSError:  # so Linux says that nobody has the other end any more
                break
            if not block:
                break
            out += block
        assert child.stderr is not None
        err = child.stderr.read()
    os.close(ours)
    return subprocess.CompletedProcess(words, child.returncode, out.replace(b"\r\n", b"\n"), err)


# ------------------------------------------------------------------------------ the runs


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder alone in another one, where a user without rights can get to."""
    outer = Path(tempfile.mkdtemp(prefix="transcript-log-case-"))
    inner = outer / "log"
    inner.mkdir(0o700)
    yield inner
    os.chmod(inner, 0o700)
    shutil.rmtree(outer)


def begin(case: dict[str, Any], place: Path) -> Run:
    """The case with its files laid out."""
    given = case["input"]
    unknown = given.keys() - KNOWN_INPUTS
    if unknown:
        pytest.fail(f"{case['id']}: an input that is not known: {sorted(unknown)}")
    run = Run(case, place)
    log = assemble(given)
    if log is not None:
        run.log.write_bytes(log)
        run.before = log
    if "directory" in given:
        lay_out(place, given["directory"])
    records = given.get("details_records", ())
    if records or given.get("details_torn_tail"):
        lines = [
            encode_detail(
                Detail(
                    id=record.get("call_id") or record["id"],
                    payload=record["outcome"] if "outcome" in record else record["payload"],
                    entry=record.get("entry"),
                )
            )
            for record in records
        ]
        torn = b'{"id":"c9","payl' if given.get("details_torn_tail") else b""
        run.details.write_bytes(b"".join(line + b"\n" for line in lines) + torn)
    if "details_bytes_b64" in given:
        run.details.write_bytes(base64.b64decode(given["details_bytes_b64"]))
    if needs_rights(case):
        os.chmod(run.log, int(given.get("file_mode", "0600"), 8))
        os.chmod(place, int(given.get("directory_mode", "0700"), 8))
        if os.geteuid() == 0:
            for path in (place.parent, place, run.log):
                os.chown(path, NOBODY, NOBODY)
    return run


def needs_rights(case: dict[str, Any]) -> bool:
    """Whether the case is about what may be read and written, which does not bind root."""
    return not case["input"].keys().isdisjoint({"file_mode", "directory_mode"})


def lay_out(place: Path, words: dict[str, Any]) -> None:
    """A folder of many logs. They are links of a few, each of which is a file to who lists them."""
    few = min(20, words["files"])
    for number in range(few):
        (place / f"{number:05}.jsonl").write_bytes(built({"bytes": words["bytes_each"]}, number))
    for number in range(few, words["files"]):
        os.link(place / f"{number % few:05}.jsonl", place / f"{number:05}.jsonl")


def carry_out(run: Run) -> None:
    """Do what the case is about, and hold it against what is expected."""
    case, given, expect = run.case, run.case["input"], dict(run.case["expect"])
    match case["operation"]:
        case "cli":
            run.command()
        case operation if operation in RESPONSE_OPERATIONS:
            run.read = ResponseChecks(given)
            run.error = run.read.error
        case "list":
            run.timed(lambda: list_logs(run.place))
        case "load" | "scan" | "read" if "directory" in given:
            run.timed(lambda: list_logs(run.place))
        case "append" if "fault" in given:
            store = JsonlStore(run.log)
            with write_fault(given["fault"], run.log):
                run.timed(lambda: run.append(values_to_append(given), store))
            for stage in ("first_append", "after_fault"):
                run.check(expect.pop(stage, {}))
            run.timed(lambda: run.append(values_to_append(given, "then_"), store))
            run.check(expect.pop("second_append", {}))
        case "compact":
            run.timed(run.compact)
        case operation if operation in IMPORT_OPERATIONS:
            run.timed(run.import_it)
        case "append":
            with contextlib.ExitStack() as stack:
                if "scenario" in given:
                    stack.enter_context(scenario(given["scenario"], run.log))
                if "umask" in given:
                    stack.callback(os.umask, os.umask(int(given["umask"], 8)))
                if run.before:
                    run.first = run.scan()
                run.timed(lambda: run.append(values_to_append(given)))
        case _:
            run.timed(run.scan)
            run.first = run.scan() if run.error is None else None
            if case["operation"] in CONTEXT_OPERATIONS:
                run.timed(run.context)
                run.error = run.context().error
    run.check(expect)
    if run.built is not None and run.built.context is not None:
        run.built.expect_idempotent(True)
        run.built.nothing_is_left_private()
        if case.get("control"):
            assert run.built.context.changes == ()
            assert run.bytes_now == run.before


CHOICES: Final[dict[str, list[int]]] = {}
"""Which of its alternatives each case came out with, from 0, in the order of preference."""


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if not waits(case)])
def test_a_case_comes_out_right(case: dict[str, Any], place: Path) -> None:
    run = begin(case, place)
    if needs_rights(case):
        as_nobody(lambda: carry_out(run))
    else:
        carry_out(run)
    CHOICES[case["id"]] = run.choices


def test_the_first_choice_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = {name: choices for name, choices in CHOICES.items() if choices}
    first = [name for name, choices in chosen.items() if not any(choices)]
    with capsys.disabled():
        print(f"\ncases: {len(CHOICES)} run; of {len(chosen)} with alternatives {len(first)} took the first")
        print("".join(f"  not the first: {name}\n" for name in chosen.keys() - set(first)), end="")


def test_what_waits(capsys: pytest.CaptureFixture[str]) -> None:
    """Every case is run, or is about a part that is not there yet."""
    waiting = [case for case in CASES if waits(case)]
    with capsys.disabled():
        print(f"\ncases waiting for other parts: {', '.join(case['id'] for case in waiting) or 'none'}")
    here = {*STORE_OPERATIONS, *CONTEXT_OPERATIONS, *RESPONSE_OPERATIONS, *SESSION_OPERATIONS}
    here |= {*IMPORT_OPERATIONS}
    known = {*here, *OTHER_OPERATIONS}
    assert {case["operation"] for case in CASES} <= known
    for case in waiting:
        assert case["operation"] in OTHER_OPERATIONS or case["input"]["argv"][0] not in COMMANDS
