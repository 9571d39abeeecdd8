"""A folder of logs is told from a few KB of each, and no file can stop it."""

from __future__ import annotations

import gc
import os
import sys
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from claude_sessions import START, Written
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jsonl import FOREIGN, PI
from test_seal import HEADER, body_of, sealed

from transcript_log import JsonlStore, MessageEntry, StorageError
from transcript_log.listing import Listed, list_logs

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str, content: Any = "hi") -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": content})


def listed(folder: Path) -> dict[str, Listed]:
    return {os.path.basename(log.path): log for log in list_logs(folder)}


def test_a_log_is_told_by_its_header_its_size_and_its_first_words(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path / "log.jsonl", durability="os")
    store.append(said("a", "Fix\n  the   build"), said("b"))
    header = store.header()
    assert header is not None
    status = os.stat(store.path)
    assert list_logs(tmp_path) == [
        Listed(
            path=store.path,
            format="transcript-log",
            id=header.id,
            started=header.timestamp,
            modified=status.st_mtime,
            size=status.st_size,
            text="Fix the build",
        )
    ]
    assert list_logs(str(tmp_path)) == list_logs(tmp_path)


def test_the_newest_change_comes_first(tmp_path: Path) -> None:
    for at, name in enumerate("bca"):
        JsonlStore(tmp_path / f"{name}.jsonl", durability="os").append(said("a"))
        os.utime(tmp_path / f"{name}.jsonl", (0, [5, 7, 5][at]))
    assert list(listed(tmp_path)) == ["c.jsonl", "a.jsonl", "b.jsonl"]


def test_only_logs_of_this_folder_are_listed(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path / "log.jsonl", durability="os")
    store.append(said("a"), details=[])
    (tmp_path / "log.details.jsonl").write_bytes(b'{"id":"c","payload":1}\n')
    (tmp_path / "log.jsonl.corrupt").write_bytes(b"x")
    (tmp_path / "notes.txt").write_bytes(HEADER)
    (tmp_path / "folder.jsonl").mkdir()
    JsonlStore(tmp_path / "below" / "log.jsonl", durability="os").append(said("a"))
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "nowhere.jsonl").symlink_to("gone")
    (tmp_path / "link.jsonl").symlink_to("log.jsonl")
    assert sorted(listed(tmp_path)) == ["link.jsonl", "log.jsonl"]


def test_files_of_other_agents_are_told_apart_and_none_is_passed_over_in_silence(tmp_path: Path) -> None:
    for name, data in FOREIGN.items():
        (tmp_path / f"{name}.jsonl").write_bytes(data)
    (tmp_path / "blank.jsonl").write_bytes(b" \n")
    (tmp_path / "none.jsonl").write_bytes(b"")
    (tmp_path / "ours.jsonl").write_bytes(HEADER + body_of("a") + b"\n")
    found = listed(tmp_path)
    formats = {name: log.format for name, log in found.items() if log.format is not None}
    assert formats["ours.jsonl"] == "transcript-log"
    assert formats["pi.jsonl"] == "pi"
    assert formats["codex.jsonl"] == "codex"
    assert "text.jsonl" not in formats
    assert "binary.jsonl" not in formats
    assert found["blank.jsonl"].problem == found["none.jsonl"].problem == "it is empty"
    assert (found["pi.jsonl"].id, found["pi.jsonl"].text) == ("0199", "hi")
    assert all(log.format is not None or log.problem for log in found.values())


def test_a_claude_code_session_is_told_by_its_records(tmp_path: Path) -> None:
    session = Written().other("mode", mode="normal", sessionId="s-1").user("m", "a caveat", isMeta=True)
    (tmp_path / "session.jsonl").write_bytes(b"".join(session.user("u", "Fix the build")))
    agent = Written(isSidechain=True, agentId="a775a67").user("u", "Look for it")
    (tmp_path / "agent.jsonl").write_bytes(b"".join(agent))
    (tmp_path / "bare.jsonl").write_bytes(b'{"type":"file-history-snapshot","messageId":"m"}\n')
    found = listed(tmp_path)
    assert {name: (log.id, log.started, log.text) for name, log in found.items()} == {
        "session.jsonl": ("s-1", START + timedelta(seconds=1), "Fix the build"),
        "agent.jsonl": ("a775a67", START + timedelta(seconds=1), "Look for it"),
        "bare.jsonl": (None, None, ""),
    }


def test_an_end_that_is_not_finished_is_told(tmp_path: Path) -> None:
    whole = HEADER + sealed(body_of("a")) * 100
    for name, data in (("torn", whole[:-1]), ("zeros", whole + bytes(9000)), ("whole", whole)):
        (tmp_path / f"{name}.jsonl").write_bytes(data)
    problems = {name: log.problem for name, log in listed(tmp_path).items()}
    assert problems == {
        "torn.jsonl": "its last line is not finished",
        "zeros.jsonl": "it ends in zeros, as power loss leaves it",
        "whole.jsonl": "",
    }


def test_however_large_a_file_is_a_few_kb_of_it_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(HEADER + body_of("a", "the first words") + b"\n")
        os.truncate(path, 1 << 40 if number == 0 else 1 << 30)
    (tmp_path / "line.jsonl").write_bytes(HEADER[:-2] + b',"cwd":"' + b"x" * 100_000 + b'"}\n')
    read: list[int] = []
    for name in ("read", "pread"):
        really = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, really=really: _counted(read, really(*args)))
    found = listed(tmp_path)
    assert sum(read) == 4 * 2 * 4096
    assert {log.id for log in found.values()} == {"s"}
    assert found["0.jsonl"].text == "the first words"
    assert found["0.jsonl"].size == 1 << 40


def _counted(read: list[int], data: bytes) -> bytes:
    read.append(len(data))
    return data


@pytest.mark.parametrize("call", ["open", "pread"])
def test_a_file_that_cannot_be_read_is_listed_with_its_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    for name in ("good", "bad"):
        (tmp_path / f"{name}.jsonl").write_bytes(HEADER)
    bad: set[int] = set()
    really_open, really_pread = os.open, os.pread

    def opening(path: Any, *args: Any, **options: Any) -> int:
        if call == "open" and "bad" in str(path):
            raise PermissionError(13, "Permission denied")
        fd = really_open(path, *args, **options)
        (bad.add if "bad" in str(path) else bad.discard)(fd)
        return fd

    def reading(fd: int, *args: Any) -> bytes:
        if fd in bad:
            raise OSError(5, "Input/output error")
        return really_pread(fd, *args)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "pread", reading)
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    found = listed(tmp_path)
    assert len(os.listdir("/dev/fd")) == before
    assert found["good.jsonl"].problem == ""
    assert found["bad.jsonl"].format is None
    assert "cannot be read" in found["bad.jsonl"].problem
    status = os.stat(tmp_path / "bad.jsonl")
    assert (found["bad.jsonl"].modified, found["bad.jsonl"].size) == (status.st_mtime, status.st_size)


@settings(max_examples=150)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.sampled_from(
                [HEADER, PI, body_of("a") + b"\n", b'{"type":"session","version":3,"harness":[]}\n']
            ),
            st.sampled_from(
                [
                    b'{"role":"user"}\n',
                    b'{"message":{"role":"user","content":[1,{"text":[]},null]}}\n',
                    b'{"message":{"role":"user","content":{"text":"x"}}}\n',
                    b'{"payload":{"role":"user","type":"message","content":7}}\n',
                    b'{"type":"session_meta","payload":{"id":7,"timestamp":{}}}\n',
                    b'{"type":"session","version":3,"harness":"h","id":[],"timestamp":true}\n',
                    b'{"id":"\\ud800","timestamp":"","role":"user","content":"\\ud800"}\n',
                    b"[" * 2000 + b"\n",
                ]
            ),
        ),
        max_size=4,
    )
)
def test_no_bytes_can_stop_a_listing(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "odd.jsonl").write_bytes(b"".join(pieces))
    (folder / "good.jsonl").write_bytes(HEADER)
    found = listed(folder)
    assert sorted(found) == ["good.jsonl", "odd.jsonl"]
    assert found["good.jsonl"] == Listed(
        path=str(folder / "good.jsonl"),
        format="transcript-log",
        id="s",
        started=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        modified=found["good.jsonl"].modified,
        size=len(HEADER),
    )
    text = found["odd.jsonl"].text
    assert len(text) <= 120
    assert "\n" not in text


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, code in ((tmp_path / "gone", "ENOENT"), (tmp_path / "file", "ENOTDIR")):
        with pytest.raises(StorageError, match=f"cannot list the folder: .*{code}"):
            list_logs(path)


def test_compressed_sessions_and_documents_are_listed_too(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    JsonlStore(tmp_path / "log.jsonl", durability="os").append(said("a", "the words"))
    whole = (tmp_path / "log.jsonl").read_bytes()
    (tmp_path / "packed.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(whole))
    (tmp_path / "packed.details.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(b"{}"))
    (tmp_path / "cut.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (tmp_path / "rollout-2025-05-07.json").write_bytes(b'{"session":{"id":"d"},"items":[]}')
    (tmp_path / "package.json").write_bytes(b'{"session":{"id":"d"},"items":[]}')
    found = listed(tmp_path)
    assert sorted(found) == ["cut.jsonl.zst", "log.jsonl", "packed.jsonl.zst", "rollout-2025-05-07.json"]
    packed, log = found["packed.jsonl.zst"], found["log.jsonl"]
    assert packed[1:4] == log[1:4]
    assert (packed.text, packed.problem) == ("the words", "")
    assert found["cut.jsonl.zst"].problem == "it is empty"
    assert (found["rollout-2025-05-07.json"].format, found["rollout-2025-05-07.json"].id) == ("codex", "d")


def test_a_compressed_file_that_is_not_whole_is_told(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    whole = Path(__file__).with_name("data").joinpath("claude-code", "branches.jsonl").read_bytes()
    marks = (sha256(b"%d" % number).hexdigest().encode() for number in range(2_000))
    lines = b"".join(whole + b'{"type":"mode","mode":"' + mark + b'"}\n' for mark in marks)
    made = zstandard.ZstdCompressor(level=1).compress(lines)
    damaged = bytearray(made)
    damaged[1_000:1_050] = bytes(50)
    for name, content in (("whole", made), ("cut", made[:-10]), ("damaged", bytes(damaged))):
        (tmp_path / f"{name}.jsonl.zst").write_bytes(content)
    found = listed(tmp_path)
    assert all(log.format == "claude-code" for name, log in found.items() if name != "damaged.jsonl.zst")
    assert found["whole.jsonl.zst"].problem == ""
    assert found["cut.jsonl.zst"].problem == "it ends inside of what is compressed"
    assert found["damaged.jsonl.zst"].problem != ""


def test_a_compressed_session_is_listed_without_the_extra_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packed.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "pip install 'transcript-log[zst]'" in listed(tmp_path)["packed.jsonl.zst"].problem


def test_the_name_of_a_file_tells_the_id_that_its_agent_gave_it(tmp_path: Path) -> None:
    uuid = "3f2a1111-0000-4000-8000-000000000001"
    record = (
        b'{"type":"user","sessionId":"another","parentUuid":null,"message":{"role":"user","content":"x"}}\n'
    )
    (tmp_path / f"{uuid}.jsonl").write_bytes(record)
    (tmp_path / "agent-a1.jsonl").write_bytes(record)
    (tmp_path / "renamed.jsonl").write_bytes(record)
    (tmp_path / f"rollout-2026-01-02T03-04-05-{uuid}.jsonl").write_bytes(
        b'{"type":"event_msg","payload":{}}\n'
    )
    assert {name.partition(".")[0]: log.id for name, log in listed(tmp_path).items()} == {
        uuid: uuid,
        "agent-a1": "agent-a1",
        "renamed": "another",
        f"rollout-2026-01-02T03-04-05-{uuid}": uuid,
    }


def test_of_another_agents_session_no_more_than_64_kb_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = b'{"timestamp":"","type":"session_meta","payload":{"id":"i","base_instructions":"%b"}}\n'
    text = b'{"type":"response_item","payload":{"type":"message","role":"user","content":"the words"}}\n'
    (tmp_path / "near.jsonl").write_bytes(meta % (b"x" * 40_000) + text)
    (tmp_path / "far.jsonl").write_bytes(meta % (b"x" * 90_000) + text)
    read: list[int] = []
    really = os.pread
    monkeypatch.setattr(os, "pread", lambda *args: _counted(read, really(*args)))
    found = listed(tmp_path)
    assert sum(read) <= 2 * 65_536
    assert {log.id for log in found.values()} == {"i"}
    assert (found["near.jsonl"].text, found["far.jsonl"].text) == ("the words", "")
    made = text.replace(b"the words", b"# AGENTS.md instructions")
    (tmp_path / "near.jsonl").write_bytes(meta % b"" + made + b"\n" * 5_000 + text)
    assert listed(tmp_path)["near.jsonl"].text == "the words"
    for path in tmp_path.iterdir():
        path.unlink()
    full = meta.replace(b'""', b'"2026-01-02T12:00:00Z"', 1) % b"" + text
    (tmp_path / "early.jsonl").write_bytes(full + b"\n" * 90_000)
    (tmp_path / "strange.jsonl").write_bytes(b"Dear diary,\n" * 9_000)
    (tmp_path / "small.jsonl").write_bytes(meta % b"" + b"\n" * (4096 - len(meta % b"")))
    read.clear()
    found = listed(tmp_path)
    assert (found["early.jsonl"].text, found["small.jsonl"].size) == ("the words", 4096)
    assert sum(read) == 2 * 2 * 4096 + 4096
