"""Sessions of projects as files, whatever they are called."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import LogBusyError, StorageError
from transcript_log._recordfile import load_records
from transcript_log._recordtree import SessionFiles, folder_of, subpaths, transcripts

NAMES = st.text(st.sampled_from("ab.%/ -_\\~é\ud800\0\nA"), max_size=6)
KEYS = st.tuples(NAMES, NAMES, st.none() | st.lists(NAMES, min_size=1, max_size=3).map("/".join))

AWKWARD = [
    ("p", "s", None),
    ("p", "s.jsonl", "x"),
    ("p", "s", "x.jsonl"),
    ("p", "s", "x"),
    ("p", "s", "x/y"),
    ("p", "s", "x.jsonl/y"),
    ("p", "..", None),
    ("..", "s", None),
    (".", "s", None),
    ("", "", None),
    ("p", "s", "/"),
    ("p", "s", "%"),
    ("p", "s", "%25"),
    ("p", "s", "../../../out"),
    ("p/s", "x", None),
    ("p", "s.jsonl.lock", None),
    ("p", "s\ud800\0", None),
]


def check_keys(root: Path, keys: list[tuple[str, str, str | None]]) -> None:
    """Keep a record under each key, and find just these again."""
    for number, (project, session, subpath) in enumerate(keys):
        files = SessionFiles(folder_of(str(root), project, session), 5.0, durable=False)
        files.append(subpath, [{"n": number}])
        files.close()
    for number, (project, session, subpath) in enumerate(keys):
        files = SessionFiles(folder_of(str(root), project, session), 5.0, durable=False)
        assert load_records(files.path(subpath)) == [{"n": number}]
        assert os.path.realpath(files.path(subpath)).startswith(f"{root}/")
    for project in {project for project, _, _ in keys}:
        listed = [found.name for found in transcripts(folder_of(str(root), project))]
        assert sorted(listed) == sorted({s for p, s, sub in keys if p == project and sub is None})
    for project, session in {(project, session) for project, session, _ in keys}:
        found = list(subpaths(folder_of(str(root), project, session)))
        assert sorted(found) == sorted(
            {sub for p, s, sub in keys if (p, s) == (project, session) and sub is not None}
        )
    assert not [path for path in root.parent.iterdir() if path != root]


@given(st.lists(KEYS, max_size=8, unique=True))
def test_every_name_is_a_file_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, str, str | None]]
) -> None:
    check_keys(tmp_path_factory.mktemp("t") / "root", keys)


def test_names_that_look_like_those_of_other_files_are_no_others(tmp_path: Path) -> None:
    check_keys(tmp_path / "root", AWKWARD)


def test_usual_names_are_those_of_claude_code(tmp_path: Path) -> None:
    files = SessionFiles(folder_of(str(tmp_path), "-home-me-src", "0199f5a2-1111-7222"), 5.0, durable=False)
    assert files.path(None) == f"{tmp_path}/-home-me-src/0199f5a2-1111-7222.jsonl"
    assert files.path("subagents/agent-1") == (
        f"{tmp_path}/-home-me-src/0199f5a2-1111-7222/subagents/agent-1.jsonl"
    )


def test_a_session_is_deleted_with_all_that_hangs_on_it(tmp_path: Path) -> None:
    one, two = (SessionFiles(folder_of(str(tmp_path), "p", s), 5.0, durable=True) for s in ("s", "s2"))
    for files in (one, two):
        for subpath in (None, "a/b", "a/c", "d"):
            files.append(subpath, [{"n": 1}])
    one.delete("a/b")
    assert list(subpaths(folder_of(str(tmp_path), "p", "s"))) == ["d", "a/c"]
    Path(one.path(None) + ".corrupt").write_text("left by a crash")
    one.delete(None)
    one.delete(None)
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "s.jsonl.lock",
        "s2",
        "s2.jsonl",
        "s2.jsonl.lock",
    ]
    assert list(subpaths(folder_of(str(tmp_path), "p", "s2"))) == ["d", "a/b", "a/c"]
    one.append(None, [{"uuid": "u"}])
    assert load_records(one.path(None)) == [{"uuid": "u"}]
    one.close()
    two.close()


def open_files(folder: Path) -> list[str]:
    """The files in a folder that this process has open."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
        except FileNotFoundError:
            continue
    return sorted(path for path in found if path.startswith(str(folder)))


def test_what_is_deleted_or_closed_is_open_no_more(tmp_path: Path) -> None:
    files = SessionFiles(folder_of(str(tmp_path), "p", "s"), 5.0, durable=False)
    for subpath in (None, "a"):
        files.append(subpath, [{"n": 1}])
    assert len(open_files(tmp_path)) == 3
    files.delete("a")
    assert open_files(tmp_path) == [files.path(None) + ".lock"]
    files.append(None, [{"n": 1}])
    files.close()
    assert open_files(tmp_path) == []
    files.append(None, [{"n": 2}])
    assert len(load_records(files.path(None)) or []) == 3
    files.close()


def test_a_delete_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = SessionFiles(folder_of(str(tmp_path), "p", "s"), 5.0, durable=True)
    for subpath in (None, "a/b"):
        files.append(subpath, [{"n": 1}])
    synced: list[str] = []
    real = os.fsync
    monkeypatch.setattr("os.fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd)))
    files.delete(None)
    assert synced == [f"{tmp_path}/p/s/a", f"{tmp_path}/p"]
    files.close()


def test_after_a_failure_the_file_is_looked_at_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = SessionFiles(folder_of(str(tmp_path), "p", "s"), 5.0, durable=True)
    files.append(None, [{"uuid": "a"}])

    def refuse(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("os.fdatasync", refuse)
        with pytest.raises(StorageError):
            files.append(None, [{"uuid": "b"}])
    assert open_files(tmp_path) == [files.path(None) + ".lock"]
    files.append(None, [{"uuid": "b"}])
    assert load_records(files.path(None)) == [{"uuid": "a"}, {"uuid": "b"}]
    files.close()


def test_nothing_is_made_where_nothing_is_to_be_deleted(tmp_path: Path) -> None:
    SessionFiles(folder_of(str(tmp_path), "p", "s"), 5.0, durable=True).delete(None)
    assert list(tmp_path.iterdir()) == []


def test_a_session_at_which_another_writes_is_not_deleted(tmp_path: Path) -> None:
    from filelock import FileLock

    files = SessionFiles(folder_of(str(tmp_path), "p", "s"), 0.05, durable=False)
    files.append(None, [{"n": 1}])
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with FileLock(files.path(None) + ".lock"):
            held.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    for act in (lambda: files.delete(None), lambda: files.append("a", [{"n": 2}])):
        with pytest.raises(LogBusyError):
            act()
    done.set()
    other.join()
    assert load_records(files.path(None)) == [{"n": 1}]
    files.append("a", [{"n": 2}])
    files.close()
