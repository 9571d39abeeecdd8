"""Every system call of an append fails in turn: the batch is whole or absent, and that is said."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from batches import Batch, held, take_one_more
from hooks import (
    CALLS,
    Act,
    Call,
    acting,
    failing,
    falling_short,
    first_then,
    interrupting,
    passing,
)

from transcript_log import JsonlStore, StorageError, TranscriptError

TODO = [Batch("first"), Batch("second", 3, 900), Batch("third", 2, 30)]
THERE = [Batch("there", 2), Batch("more")]

EXISTING = ["new", "there", "torn"]
"""No log; a log with two batches; the same, with half a batch behind them in both files."""

MODES = [(durable, existing) for durable in (True, False) for existing in EXISTING]
SOME = [(True, "new"), (False, "there"), (True, "torn")]


@dataclass
class Session:
    """Some appends, and how each ended."""

    path: Path
    store: JsonlStore
    before: list[Batch]
    errors: dict[str, BaseException]
    calls: list[str]

    @property
    def acknowledged(self) -> list[Batch]:
        return [batch for batch in TODO if batch.name not in self.errors]


def session(
    folder: Path, act: Act, *, durable: bool, existing: str, names: tuple[str, ...] = CALLS
) -> Session:
    """Append the batches of ``TODO`` while system calls go through ``act``."""
    path = folder / f"{len(os.listdir(folder))}" / "log.jsonl"
    path.parent.mkdir()
    before = THERE if existing != "new" else []
    for batch in before:
        with JsonlStore(path, durability="os") as store:
            batch.append_to(store)
    if existing == "torn":
        for place in (path, path.with_name("log.details.jsonl")):
            with place.open("ab") as file:
                file.write(b'{"id":"torn","timest')
    store = JsonlStore(path, durability="fsync" if durable else "os", wait=0.05)
    errors: dict[str, BaseException] = {}
    with acting(act, names) as calls:
        for batch in TODO:
            try:
                batch.append_to(store)
            except (TranscriptError, KeyboardInterrupt) as error:
                errors[batch.name] = error.with_traceback(None)
    return Session(path, store, before, errors, calls)


def calls_of(folder: Path, *, durable: bool, existing: str, names: tuple[str, ...]) -> list[str]:
    """The calls that a session makes when nothing fails."""
    run = session(folder, passing, durable=durable, existing=existing, names=names)
    assert run.errors == {}
    run.store.close()
    return run.calls


def every_call(
    folder: Path, make: Callable[[int], Act], *, durable: bool, existing: str, names: tuple[str, ...]
) -> Iterator[Session]:
    """A session for each call that one makes, in which that call is the one that fails."""
    for at in range(1, len(calls_of(folder, durable=durable, existing=existing, names=names)) + 1):
        yield session(folder, make(at), durable=durable, existing=existing, names=names)


def judge(run: Session, *, durable: bool) -> None:
    """Acknowledged batches are there, the others are not; the next append works, through any store."""
    everything = [*run.before, *TODO]
    assert held(run.path, everything) == [*run.before, *run.acknowledged], run.errors
    kept = {detail.id for batch in [*run.before, *run.acknowledged] for detail in batch.details}
    assert {name for name, _ in JsonlStore(run.path).details()} == kept
    rules = [finding.rule for finding in JsonlStore(run.path).scan().findings]
    assert set(rules) <= ({"torn-tail"} if not run.acknowledged else set())
    for batch in TODO:  # those that are there are not written again
        batch.append_to(run.store)
    later = [batch for batch in TODO if batch.name in run.errors]
    assert held(run.path, everything) == [*run.before, *run.acknowledged, *later]
    take_one_more(run.path, everything, "fresh", durable=durable)
    run.store.close()


@pytest.mark.parametrize(
    ("durable", "existing", "code"),
    [(*mode, errno.EIO) for mode in MODES]
    + [(True, existing, code) for existing in ("new", "torn") for code in (errno.ENOSPC, errno.EINTR)],
)
def test_a_call_that_fails_once_leaves_the_batch_whole_or_absent(
    folder: Path, durable: bool, existing: str, code: int
) -> None:
    told = 0
    for run in every_call(
        folder, lambda at: failing(at, code), durable=durable, existing=existing, names=CALLS
    ):
        for error in run.errors.values():
            assert isinstance(error, StorageError)
            assert error.errno == code
            assert errno.errorcode[code] in str(error)
            told += 1
        judge(run, durable=durable)
    assert told > 10


@pytest.mark.parametrize(
    ("name", "code"),
    [(name, errno.EIO) for name in ("write", "fdatasync", "fsync", "ftruncate", "open", "flock", "link")]
    + [("write", errno.ENOSPC), ("open", errno.EACCES), ("flock", errno.EACCES), ("flock", errno.ENOLCK)],
)
def test_a_call_that_fails_from_now_on_leaves_the_batch_whole_or_absent(
    folder: Path, name: str, code: int
) -> None:
    tried = 0
    for durable, existing in MODES:
        for run in every_call(
            folder,
            lambda at: failing(at, code, for_good=True),
            durable=durable,
            existing=existing,
            names=(name,),
        ):
            tried += 1
            if name in ("fdatasync", "fsync") and run.errors:
                # Taking a batch back could not be made durable either: then no more is taken.
                poisoned(run)
            else:
                judge(run, durable=durable)
    assert tried > 0


def poisoned(run: Session) -> None:
    """A store whose cleaning up failed says so, and writes no more; a fresh one goes on."""
    everything = [*run.before, *TODO]
    found = held(run.path, everything)
    assert [batch for batch in found if batch.name not in run.errors] == [*run.before, *run.acknowledged]
    refused = _told(lambda: Batch("again").append_to(run.store))
    if refused is None:
        everything.append(Batch("again"))
    else:
        assert "could not be taken back" in refused
        assert "close it and open the log again" in refused
        assert _told(lambda: Batch("again").append_to(run.store)) == refused
        assert held(run.path, everything) == found
    run.store.close()
    take_one_more(run.path, everything, "fresh")


def _told(call: Callable[[], object]) -> str | None:
    """What a storage error says, if there is one."""
    try:
        call()
    except StorageError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("durable", "existing"), SOME)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_write_that_takes_a_part_of_its_bytes_is_gone_on_with(
    folder: Path, durable: bool, existing: str, share: float
) -> None:
    for run in every_call(
        folder, lambda at: falling_short(at, share), durable=durable, existing=existing, names=("write",)
    ):
        assert run.errors == {}
        judge(run, durable=durable)


@pytest.mark.parametrize(("durable", "existing"), SOME)
@pytest.mark.parametrize(
    ("share", "code"), [(0.0, errno.ENOSPC), (0.5, errno.EIO), (0.5, errno.ENOSPC), (0.99, errno.ENOSPC)]
)
def test_a_write_that_stops_in_the_middle_is_taken_back(
    folder: Path, durable: bool, existing: str, share: float, code: int
) -> None:
    for run in every_call(
        folder,
        lambda at: falling_short(at, share, code),
        durable=durable,
        existing=existing,
        names=("write",),
    ):
        assert len(run.errors) == 1
        judge(run, durable=durable)


@pytest.mark.parametrize(("durable", "existing"), SOME)
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_at_any_call_leaves_the_batch_whole_or_absent(
    folder: Path, durable: bool, existing: str, after: bool
) -> None:
    for run in every_call(
        folder, lambda at: interrupting(at, after=after), durable=durable, existing=existing, names=CALLS
    ):
        everything = [*run.before, *TODO]
        found = held(run.path, everything)
        assert [batch for batch in found if batch.name not in run.errors] == [*run.before, *run.acknowledged]
        for batch in TODO:
            batch.append_to(run.store)
        run.store.close()
        assert sorted(batch.name for batch in held(run.path, everything)) == sorted(
            b.name for b in everything
        )
        take_one_more(run.path, everything, "fresh", durable=durable)


@pytest.mark.parametrize("existing", EXISTING)
@pytest.mark.parametrize(
    ("name", "code"), [("ftruncate", errno.EIO), ("ftruncate", errno.EPERM), ("fdatasync", errno.EIO)]
)
def test_a_failure_that_cannot_be_cleaned_up_is_said_and_ends_the_writing(
    folder: Path, existing: str, name: str, code: int
) -> None:
    names = ("write", "fdatasync", "ftruncate", "unlink")
    ended = 0
    for at, call in enumerate(calls_of(folder, durable=True, existing=existing, names=names), 1):
        for first in [
            failing(at, errno.EIO),
            *([falling_short(at, 0.5, errno.ENOSPC)] if call == "write" else []),
        ]:
            run = session(folder, first_then(first, name, code), durable=True, existing=existing, names=names)
            ended += any("could not be taken back" in str(error) for error in run.errors.values())
            poisoned(run)
    assert ended > 5


# ------------------------------------------------------------------------- what is promised


@pytest.mark.parametrize("existing", EXISTING)
def test_a_full_disk_leaves_the_files_as_they_were_until_there_is_room(folder: Path, existing: str) -> None:
    for durable in (True, False):
        run = session(folder, passing, durable=durable, existing=existing)
        files = [place for place in run.path.parent.iterdir() if place.suffix == ".jsonl"]
        before = {place: place.read_bytes() for place in files}

        def full(call: Call) -> object:
            if call.name == "write" and len(call.args[1]):
                if len(call.args[1]) > 100:
                    call.go(call.args[0], call.args[1][:100])  # what is left on the disk is taken
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return call.go()

        big = Batch("big", 3, 5000)
        with acting(full):
            for _ in range(3):
                with pytest.raises(StorageError, match="ENOSPC") as caught:
                    big.append_to(run.store)
                assert caught.value.errno == errno.ENOSPC
                assert {place: place.read_bytes() for place in files} == before
        big.append_to(run.store)
        assert held(run.path, [*run.before, *TODO, big])[-1] == big


def test_a_log_that_could_not_be_made_is_not_there(folder: Path) -> None:
    for name in ("write", "fdatasync", "link"):
        path = folder / name / "log.jsonl"
        store = JsonlStore(path)
        with acting(failing(1, errno.ENOSPC, for_good=True), (name,)):
            for call in (store.create, lambda store=store: Batch("a").append_to(store)):  # type: ignore[misc]
                with pytest.raises(StorageError, match="ENOSPC"):
                    call()
        assert not path.exists()
        assert store.header() is None
        store.create()
        Batch("a").append_to(store)
        assert held(path, [Batch("a")]) == [Batch("a")]


def test_details_are_on_disk_before_the_entries_and_entries_before_it_is_said(folder: Path) -> None:
    path = folder / "log.jsonl"
    THERE[0].append_to(JsonlStore(path))
    store = JsonlStore(path)
    seen: list[tuple[str, str]] = []

    def watch(call: Call) -> object:
        if call.name in ("write", "fdatasync"):
            seen.append((call.name, os.path.basename(os.readlink(f"/proc/self/fd/{call.args[0]}"))))
        return call.go()

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the names of open files cannot be told here")
    with acting(watch):
        TODO[1].append_to(store)
    sidecar, log = "log.details.jsonl", "log.jsonl"
    assert seen == [("write", sidecar), ("fdatasync", sidecar), ("write", log), ("fdatasync", log)]


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_a_new_log_has_its_header_on_disk_before_it_has_its_name(
    folder: Path, durability: Literal["fsync", "os"]
) -> None:
    store = JsonlStore(folder / "log.jsonl", durability=durability)
    with acting(passing, ("write", "fdatasync", "link", "fsync")) as calls:
        store.append(*TODO[0].entries)
    assert calls[:5] == ["write", "fdatasync", "link", "fsync", "write"]
    assert calls[5:] in (["fdatasync"], ["fdatasync", "fsync"]) if durability == "fsync" else calls[5:] == []


def test_without_durability_only_the_making_of_a_log_waits_for_the_disk(folder: Path) -> None:
    store = JsonlStore(folder / "log.jsonl", durability="os")
    with acting(passing, ("fdatasync", "fsync")) as calls:
        TODO[0].append_to(store)
        made = len(calls)
        TODO[1].append_to(store)
    assert made > 0
    assert len(calls) == made


@pytest.mark.parametrize("existing", ["new", "there"])
def test_a_sync_that_failed_is_told_and_never_tried_again(folder: Path, existing: str) -> None:
    names = ("fdatasync", "fsync", "ftruncate", "unlink")
    for at, name in enumerate(calls_of(folder, durable=True, existing=existing, names=names), 1):
        if name not in ("fdatasync", "fsync"):
            continue
        run = session(folder, failing(at, errno.EIO), durable=True, existing=existing, names=names)
        assert len(run.errors) == 1
        after = run.calls[at:]
        undone = [position for position, call in enumerate(after) if call in ("ftruncate", "unlink")]
        synced = [position for position, call in enumerate(after) if call in ("fdatasync", "fsync")]
        assert undone
        assert not synced or undone[0] < synced[0]


def test_no_failure_leaks_a_descriptor(folder: Path) -> None:
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    for run in every_call(
        folder, lambda at: failing(at, errno.EIO), durable=True, existing="torn", names=CALLS
    ):
        run.store.close()
        run.errors.clear()
    gc.collect()
    assert len(os.listdir("/dev/fd")) == before
