"""A log made of another agent's session is there wholly, as it was, or not at all."""

from __future__ import annotations

import dataclasses
import errno
import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Refused, alike, headers, logs, refused_values
from strategies import details as any_details
from strategies import entries as any_entries

from transcript_log import (
    Compaction,
    CompactionEntry,
    Detail,
    Header,
    JsonlStore,
    MessageEntry,
    Run,
    RunEntry,
)
from transcript_log import importing as module
from transcript_log._logfile.seal import LINE_LIMIT, line_of
from transcript_log.entries import Entry
from transcript_log.errors import EntryError, StorageError
from transcript_log.importers import Imported
from transcript_log.importing import Written, write_imported

NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
HEADER: Final = Header(
    id="s", timestamp=NOON, harness="transcript-log", extra={"importedFrom": {"format": "pi"}}
)


def imported(*entries: Entry, details: tuple[Detail, ...] = (), header: Header = HEADER) -> Imported:
    return Imported(
        header=header,
        entries=entries,
        places=tuple((line, 10 * line) for line, _ in enumerate(entries, 1)),
        details=details,
        findings=(),
        counts={},
    )


def said(entry_id: str, content: Any = "hi", **more: Any) -> MessageEntry:
    return MessageEntry(
        **{"id": entry_id, "timestamp": NOON, "message": {"role": "user", "content": content}, **more}
    )


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


TWO: Final = imported(
    said("a"), said("b", timestamp=None), details=(Detail(id="c", payload={"n": 1}, entry="a"),)
)


def untimed(draw: st.DrawFn, entry: Entry) -> Entry:
    return dataclasses.replace(entry, timestamp=None) if draw(st.booleans()) else entry


@st.composite
def sessions(draw: st.DrawFn) -> Imported:
    found = [untimed(draw, entry) for entry in draw(logs(each=any_entries(), max_size=4))]
    return imported(*found, details=tuple(draw(st.lists(any_details(), max_size=3))), header=draw(headers()))


@settings(max_examples=60)
@given(sessions())
def test_what_is_written_is_what_was_given(tmp_path_factory: pytest.TempPathFactory, given: Imported) -> None:
    folder = tmp_path_factory.mktemp("logs")
    written = [write_imported(given, folder / name) for name in ("one.jsonl", "two.jsonl")]
    store = JsonlStore(folder / "one.jsonl")
    assert alike(store.load(), list(given.entries))
    assert alike(store.header(), given.header)
    assert alike(store.details(), given.details_by_call)
    assert (written[0].entries, written[0].details) == (len(given.entries), len(given.details))
    assert written[0].refused == ()
    there = below(folder)
    sidecars = ["one.details.jsonl", "two.details.jsonl"] if given.details else []
    assert there == sorted(["one.jsonl", "two.jsonl", *sidecars])
    for name in there[: len(there) // 2]:
        assert (folder / name).read_bytes() == (folder / name.replace("one", "two")).read_bytes()
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert store.append(said("later")) == "later"


@settings(max_examples=60)
@given(refused_values(), st.sampled_from(["message", "replacement", "detail", "header"]))
def test_what_cannot_be_stored_is_told_with_its_path_and_the_rest_is_there(
    tmp_path_factory: pytest.TempPathFactory, refused: Refused, place: str
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    good = [said("a"), said("b")]
    bad: list[Entry] = []
    details = [Detail(id="c", payload=1, entry="a")]
    header = HEADER
    match place:
        case "message":
            bad = [said("x", refused.value)]
        case "replacement":
            bad = [
                CompactionEntry(
                    id="x",
                    timestamp=NOON,
                    compaction=Compaction(summary="s", replacement=({"v": refused.value},)),
                )
            ]
        case "detail":
            details.insert(0, Detail(id="x", payload=refused.value))
        case "header":
            header = dataclasses.replace(HEADER, extra={**HEADER.extra, "v": refused.value})
    given = imported(good[0], *bad, good[1], details=tuple(details), header=header)
    written = write_imported(given, folder / "log.jsonl", source="from.jsonl")
    (told,) = written.refused
    assert told.rule == "unstorable"
    assert told.severity == "error"
    assert told.path == "from.jsonl"
    assert " at $" in told.message
    assert told.message.endswith("left out")
    assert (told.line, told.offset, told.entry) == ((2, 20, "x") if bad else (None, None, None))
    store = JsonlStore(folder / "log.jsonl")
    assert store.load() == good
    assert store.details() == {("c", "a"): 1}
    assert store.header() == HEADER


def test_the_path_of_what_cannot_be_stored_is_that_inside_the_entry(tmp_path: Path) -> None:
    given = imported(said("a", [{"n": 1e999}]), said("b", [2**64]))
    written = write_imported(given, tmp_path / "log.jsonl")
    assert [finding.message.partition(" at ")[2] for finding in written.refused] == [
        "$.message.content[0].n; left out",
        "$.message.content[0]; left out",
    ]


def test_an_entry_over_the_line_limit_is_left_out(tmp_path: Path) -> None:
    written = write_imported(imported(said("a", "x" * LINE_LIMIT), said("b")), tmp_path / "log.jsonl")
    assert "and a line at most" in written.refused[0].message
    assert [entry.id for entry in JsonlStore(tmp_path / "log.jsonl").load()] == ["b"]


def test_a_line_at_the_limit_fits() -> None:
    body = b'{"a":"' + b"x" * (LINE_LIMIT - len(line_of(b'{"a":""}'))) + b'"}'
    assert len(module._fitting(body)) == LINE_LIMIT
    with pytest.raises(EntryError, match="and a line at most"):
        module._fitting(body[:-2] + b'x"}')


def test_what_names_an_entry_that_was_left_out_names_the_next_message(tmp_path: Path) -> None:
    bad = said("bad", 1e999)
    run = RunEntry(id="r", timestamp=NOON, run=Run(started_at=NOON, completed_at=NOON, first_entry_id="bad"))
    compaction = CompactionEntry(
        id="k", timestamp=NOON, compaction=Compaction(summary="s", first_kept_entry_id="bad")
    )
    details = (Detail(id="c", payload=1, entry="bad"),)
    for between, kept in (((said("next"), said("after")), "next"), ((), None)):
        path = tmp_path / f"{kept}.jsonl"
        written = write_imported(imported(said("a"), bad, *between, run, compaction, details=details), path)
        stored = {entry.id: entry for entry in JsonlStore(path).load()}
        assert isinstance(stored["r"], RunEntry)
        assert stored["r"].run.first_entry_id == kept
        assert isinstance(stored["k"], CompactionEntry)
        assert stored["k"].compaction.first_kept_entry_id == kept
        assert [(finding.rule, finding.entry) for finding in written.refused] == [
            ("unstorable", "bad"),
            ("first-kept", "k"),
            ("unstorable", None),
        ]
        now = "messages are kept from next on" if kept else "no earlier message is kept"
        assert written.refused[1].message.endswith(now)
        assert JsonlStore(path).details() == {}


# ------------------------------------------------------------------------ names and places


def test_folders_that_are_missing_are_made(tmp_path: Path) -> None:
    write_imported(TWO, tmp_path / "a" / "b" / "log.jsonl")
    assert below(tmp_path) == ["a", "a/b", "a/b/log.details.jsonl", "a/b/log.jsonl"]
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def plant(kind: str) -> Callable[[Path], None]:
    return {
        "file": lambda path: path.write_bytes(b"precious") and None,
        "empty": lambda path: path.touch(),
        "folder": lambda path: path.mkdir(),
        "dangling": lambda path: path.symlink_to("nowhere"),
        "link": lambda path: path.symlink_to("other.jsonl"),
    }[kind]


@pytest.mark.parametrize("name", ["log.jsonl", "log.details.jsonl"])
@pytest.mark.parametrize("kind", ["file", "empty", "folder", "dangling", "link"])
def test_what_is_there_is_never_replaced(name: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_bytes(b"other")
    plant(kind)(tmp_path / name)
    before = below(tmp_path)
    with pytest.raises(StorageError, match="there is a file already") as caught:
        write_imported(TWO, tmp_path / "log.jsonl")
    assert caught.value.errno == errno.EEXIST
    assert below(tmp_path) == before
    assert (tmp_path / "other.jsonl").read_bytes() == b"other"
    if kind == "file":
        assert (tmp_path / name).read_bytes() == b"precious"


def test_a_sidecar_is_no_place_for_a_log(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="name of a sidecar"):
        write_imported(TWO, tmp_path / "log.details.jsonl")
    assert below(tmp_path) == []


def test_an_import_that_was_killed_between_its_two_files_can_be_made_again(tmp_path: Path) -> None:
    write_imported(TWO, tmp_path / "log.jsonl")
    whole = (tmp_path / "log.jsonl").read_bytes()
    (tmp_path / "log.jsonl").unlink()
    write_imported(TWO, tmp_path / "log.jsonl")
    assert (tmp_path / "log.jsonl").read_bytes() == whole


# ------------------------------------------------------------------------------- failures


class Refusing:
    """A system call that fails the ``at``-th time it is asked."""

    def __init__(self, name: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.really = getattr(os, name)
        self.left = at
        monkeypatch.setattr(os, name, self)

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.really(*args, **options)


def failures() -> Iterator[Any]:
    for name, times in (("write", 2), ("fdatasync", 2), ("link", 2), ("fsync", 1), ("mkdir", 1)):
        for at in range(1, times + 1):
            yield pytest.param(name, at, id=f"{name}-{at}")


@pytest.mark.parametrize(("name", "at"), [*failures()])
def test_nothing_is_left_where_the_system_refuses(
    name: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        refusing = Refusing(name, at, patch)
        with pytest.raises(StorageError) as caught:
            write_imported(TWO, tmp_path / "log.jsonl")
    assert refusing.left <= 0
    assert caught.value.errno == errno.ENOSPC
    assert ".transcript-log-import" not in str(caught.value)
    assert below(tmp_path) == []


def test_a_log_that_does_not_read_back_gets_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.write

    def flipping(fd: int, data: Any) -> int:
        return really(fd, bytes(data).replace(b'"hi"', b'"ho"'))

    monkeypatch.setattr(os, "write", flipping)
    with pytest.raises(StorageError, match="did not read back as it was: line 2"):
        write_imported(TWO, tmp_path / "log.jsonl")
    assert below(tmp_path) == []


@pytest.mark.parametrize(
    ("function", "wrong"),
    [("encode_header", "its header"), ("encode_entry", "entry a"), ("encode_detail", "its details")],
)
def test_each_part_is_compared_with_what_was_meant(
    function: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = getattr(module, function)

    def lossy(*args: Any, **options: Any) -> bytes:
        made: bytes = really(*args, **options)
        return made.replace(b'"pi"', b'"po"').replace(b'"hi"', b'"ho"').replace(b'"n":1', b'"n":1.0')

    monkeypatch.setattr(module, function, lossy)
    with pytest.raises(StorageError, match=f"did not read back as it was: {wrong}"):
        write_imported(TWO, tmp_path / "log.jsonl")
    assert below(tmp_path) == []


def test_an_entry_that_is_missing_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = module._write

    def shorter(path: str, lines: Iterator[bytes]) -> None:
        really(path, iter([*lines][:2]))

    monkeypatch.setattr(module, "_write", shorter)
    with pytest.raises(StorageError, match="did not read back as it was: entry b"):
        write_imported(TWO, tmp_path / "log.jsonl")


def test_two_entries_of_one_id_make_no_log(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="'a' stands on line 2 already"):
        write_imported(imported(said("a"), said("a", "ho")), tmp_path / "log.jsonl")
    assert below(tmp_path) == []


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_hard_links_has_the_log_made_in_place(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*args: Any, **options: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)
    written = write_imported(TWO, tmp_path / "log.jsonl")
    assert written == Written(path=str(tmp_path / "log.jsonl"), entries=2, details=1, refused=())
    assert JsonlStore(tmp_path / "log.jsonl").load() == list(TWO.entries)
    before = (tmp_path / "log.jsonl").read_bytes()
    with pytest.raises(StorageError, match="there is a file already"):
        module._copy(str(tmp_path / "log.details.jsonl"), str(tmp_path / "log.jsonl"))
    assert (tmp_path / "log.jsonl").read_bytes() == before
    refusing = Refusing("fdatasync", 4, monkeypatch)  # two drafts, the sidecar, then the log
    with pytest.raises(StorageError):
        write_imported(TWO, tmp_path / "other.jsonl")
    assert refusing.left == 0
    assert below(tmp_path) == ["log.details.jsonl", "log.jsonl"]
