"""A session between files and databases: the same bytes, whatever a file may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_driver import psycopg
from postgres_server import Server
from strategies import logs
from test_active import compacted, said

from transcript_log import Detail, JsonlStore, copying, new_header
from transcript_log._logfile.seal import line_of
from transcript_log.cli import main
from transcript_log.codec import encode_entry, encode_header
from transcript_log.copying import copy_session
from transcript_log.entries import Entry
from transcript_log.errors import CorruptLogError, HeaderError, LogBusyError, StorageError
from transcript_log.postgres import PostgresStore, list_sessions

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = ROOT / "examples" / "fix-the-build.jsonl"
HEADER: Final = line_of(encode_header(new_header()))
A, B, C, K = (
    line_of(encode_entry(entry)) for entry in (said("a"), said("b"), said("c"), compacted("k", "gist", "b"))
)
PLAIN: Final = encode_entry(said("p"))


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def back(url: str, folder: Path, log: Path) -> Path:
    """The log, copied to the database, and to another session there, and to a file."""
    copy_session(log, f"{url}#one")
    copy_session(f"{url}#one", f"{url}#two")
    copy_session(f"{url}#two", folder / "back.jsonl")
    return folder / "back.jsonl"


FILES: Final = {
    "the example": EXAMPLE.read_bytes(),
    "only a header": HEADER,
    "batches of several lines": HEADER
    + line_of(encode_entry(said("a")), more=True)
    + line_of(encode_entry(said("b")), more=True)
    + C
    + K,
    "lines without a seal": HEADER + PLAIN + b"\n" + A,
    "lines with other spelling": HEADER
    + json.dumps(json.loads(PLAIN), indent=None, ensure_ascii=True).encode()
    + b" \t\n",
    "an indentation that is no mark": HEADER + b"\t" + PLAIN + b"\n" + A,
    "carriage returns": HEADER.replace(b"\n", b"\r\n") + A.replace(b"\n", b"\r\n") + PLAIN + b"\r\n",
    "blank lines": b"\n \n" + HEADER + b"\n\n" + A + b"\n\t\n" + B + b"  \n",
    "a byte order mark": b"\xef\xbb\xbf" + HEADER + A,
    "a time nobody can read": HEADER + PLAIN.replace(b'Z"', b'"', 1) + b"\n",
    "keys of a later version": HEADER + PLAIN[:-1] + b',"later":{"b":1,"a":[1.0,-0.0,1e400]}}\n',
    "text of all kinds": HEADER + encode_entry(said("\x00\ud800\u2028 \U0001f600")) + b"\n" + A,
}


@pytest.mark.parametrize("name", FILES)
def test_a_copy_of_a_copy_is_the_same_bytes(postgres: str, tmp_path: Path, name: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(FILES[name])
    if name == "the example":
        (tmp_path / "log.details.jsonl").write_bytes(EXAMPLE.with_suffix(".details.jsonl").read_bytes())
    there = back(postgres, tmp_path, log)
    assert there.read_bytes() == log.read_bytes()
    sidecars = [path.with_suffix(".details.jsonl") for path in (log, there)]
    assert sidecars[0].exists() == sidecars[1].exists()
    if sidecars[0].exists():
        assert sidecars[0].read_bytes() == sidecars[1].read_bytes()
    with PostgresStore(postgres, "one") as store:
        scan, file = store.scan(), JsonlStore(log).scan()
        assert (scan.header, scan.entries, scan.details) == (file.header, file.entries, file.details)
        assert (scan.size, scan.sealed, scan.unsealed) == (file.size, file.sealed, file.unsealed)
        assert [one.rule for one in scan.findings] == [one.rule for one in file.findings]


@settings(max_examples=30)
@given(logs(), st.booleans(), st.data())
def test_any_log_is_copied_with_its_batches(
    postgres_server: Server,
    tmp_path_factory: pytest.TempPathFactory,
    log: list[Entry],
    sealed: bool,
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("copies")
    file = JsonlStore(folder / "log.jsonl", checksum=sealed, durability="os")
    file.create()
    batches = []
    rest = log
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        batches.append([entry.id for entry in rest[:size]])
        file.append(*rest[:size], details=[Detail(id=f"c{len(rest)}", payload=size)])
        rest = rest[size:]
    url = f"{postgres_server.url()}#copy {folder.name} {id(file)}"
    made = copy_session(file.path, url)
    assert (made.entries, made.details) == (len(log), len(batches))
    copy_session(url, folder / "back.jsonl")
    assert (folder / "back.jsonl").read_bytes() == (folder / "log.jsonl").read_bytes()
    with PostgresStore(postgres_server.url(), f"copy {folder.name} {id(file)}") as store:
        found = [[entry.id for entry in batch] for batch in store.follow(stop=lambda: True)]
    assert found == batches
    file.close()


def test_what_was_never_acknowledged_is_left_out_and_told(postgres: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(HEADER + A + line_of(encode_entry(said("b")), more=True))
    made = copy_session(log, f"{postgres}#s")
    assert made.entries == 1
    assert [finding.rule for finding in made.findings] == ["torn-tail"]
    log.write_bytes(HEADER + A[:-1])
    copy_session(log, f"{postgres}#t")
    copy_session(f"{postgres}#t", tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == HEADER + A


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEADER + A.replace(b"user", b"liar") + B, 2),
        (HEADER + A + b"{\n" + B, 3),
        (HEADER + A + b"\xff\n", 3),
        (HEADER + A + A, 3),
        (HEADER + A + encode_entry(said("a")).replace(b'"a"}', b'"x"}') + b"\n", 3),
        (HEADER.replace(b"transcript", b"x") + A, 1),
    ],
)
def test_a_damaged_file_is_not_copied(postgres: str, tmp_path: Path, text: bytes, line: int) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(text)
    with pytest.raises(CorruptLogError, match="salvage") as caught:
        copy_session(log, f"{postgres}#s")
    assert caught.value.line == line
    assert list_sessions(postgres) == []
    done = run("copy", log, f"{postgres}#s")
    assert done.exit_code == 1
    assert f"line {line}" in done.stderr


def test_only_logs_of_ours_are_copied(postgres: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for text in (
        b"no log\n",
        b'{"type":"session","version":3,"id":"x"}\n{"id":"a","parentId":null,"type":"message"}\n',
    ):
        log.write_bytes(text)
        with pytest.raises((HeaderError, CorruptLogError)):
            copy_session(log, f"{postgres}#s")
    log.unlink()
    with pytest.raises(StorageError, match="there is no log there"):
        copy_session(log, f"{postgres}#s")
    with pytest.raises(StorageError, match="there is no log there"):
        copy_session(f"{postgres}#nowhere", log)
    assert not log.exists()


def test_nothing_is_copied_over(postgres: str, tmp_path: Path) -> None:
    log, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    log.write_bytes(HEADER + A)
    other.write_bytes(HEADER + B)
    copy_session(log, f"{postgres}#s")
    stored = f"{postgres}#s"
    told = r"there is one already|there is a file already|it is the source"
    pairs = ((log, stored), (other, stored), (stored, other), (stored, stored), (log, log), (log, other))
    for source, dest in pairs:
        with pytest.raises(StorageError, match=told):
            copy_session(source, dest)
    assert other.read_bytes() == HEADER + B
    with PostgresStore(postgres, "s") as store:
        assert [entry.id for entry in store.load()] == ["a"]
        with store.lease(), pytest.raises(LogBusyError):
            copy_session(log, f"{postgres}#s")


def test_a_copy_that_does_not_read_back_is_not_made(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transcript_log.postgres import _bulk

    digest = _bulk._digest
    monkeypatch.setattr(_bulk, "_digest", lambda *args: digest(*args) + b"x")
    with pytest.raises(StorageError, match="did not read back"):
        copy_session(EXAMPLE, f"{postgres}#s")
    assert list_sessions(postgres) == []
    monkeypatch.undo()
    copy_session(EXAMPLE, f"{postgres}#s")
    monkeypatch.setattr(copying, "raw_lines", lambda *_: iter((b"x",)))
    with pytest.raises(StorageError, match="did not read back"):
        copy_session(f"{postgres}#s", tmp_path / "back.jsonl")


def test_a_file_is_copied_to_a_file_without_a_database(tmp_path: Path) -> None:
    made = copy_session(EXAMPLE, tmp_path / "copy.jsonl")
    assert (made.entries, made.details) == (21, 7)
    assert (tmp_path / "copy.jsonl").read_bytes() == EXAMPLE.read_bytes()


def test_a_session_that_is_damaged_in_the_database_goes_to_a_file_to_be_mended(
    postgres: str, tmp_path: Path
) -> None:
    copy_session(EXAMPLE, f"{postgres}#s")
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute("UPDATE transcript_log.entries SET line = replace(line, 'fail', 'sail') WHERE seq = 1")
    with pytest.raises(CorruptLogError):
        copy_session(f"{postgres}#s", f"{postgres}#t")
    copied = run("copy", f"{postgres}#s", tmp_path / "back.jsonl")
    assert copied.exit_code == 0
    assert "the checksum does not match" in copied.stderr
    assert run("salvage", tmp_path / "back.jsonl", "--reseal", "--apply").exit_code == 0
    copy_session(tmp_path / "back.jsonl", f"{postgres}#mended")
    assert run("check", f"{postgres}#mended").exit_code == 0
