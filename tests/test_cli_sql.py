"""``transcript-log sql`` and ``export --to parquet``: what is printed, written, and told."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result
from extras import needed
from test_sql import HOSTILE, called, gave, log, says
from test_stats import answer, usage

from transcript_log.cli import main
from transcript_log.entries import new_header
from transcript_log.sql import VIEWS, query

duckdb = needed("duckdb", "sql")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, words)))


def sql(*words: str | Path) -> Result:
    return run("sql", *words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = tmp_path / "sessions"
    there.mkdir()
    log(
        there / "a.jsonl",
        answer("a1", response="r1", usage=usage(10, 5), model="m1"),
        says("a2", called("c1", "sh", '{"command":"ls"}')),
        says("a3", gave("c1", "one\ntwo")),
    )
    log(there / "b.jsonl", says("b1", called("c2", "edit")), says("b2", called("c3", "sh")))
    return there


NAMES: Final = "SELECT name, count(*) AS n, avg(position) AS p FROM tool_calls GROUP BY 1 ORDER BY 1"


def test_a_table_is_for_people(folder: Path) -> None:
    result = sql(NAMES, folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["name  n  p", "edit  1  1", "sh    2  2"]
    result = sql(
        "SELECT output, NULL AS none, true AS yes, 1/3 AS third FROM tool_calls WHERE answered", folder
    )
    assert result.stdout.splitlines() == [
        "output    none  yes          third",
        "one\\ntwo  NULL  true  0.3333333333",
    ]


def test_a_table_shortens_values_and_says_so(tmp_path: Path) -> None:
    path = log(tmp_path / "a.jsonl", says("a", called("c", "x" * 61)), says("b", called("d", "y" * 60)))
    result = sql("SELECT name FROM tool_calls ORDER BY 1", path)
    assert result.stdout.splitlines() == ["name", "x" * 58 + " …", "y" * 60]
    assert result.stderr == "1 value shortened; --json and --csv have them whole\n"


def test_json_has_an_object_for_each_row_with_json_in_it(folder: Path) -> None:
    result = sql(
        "SELECT name, arguments, 1 AS name, failed, time FROM tool_calls JOIN entries"
        " USING (session, entry_id) WHERE call_id = 'c1'",
        folder,
        "--json",
    )
    assert json.loads(result.stdout) == {
        "name": "sh",
        "arguments": {"command": "ls"},
        "name_2": 1,
        "failed": False,
        "time": "2026-01-02T12:00:00Z",
    }


def test_values_of_every_type_are_spelled(folder: Path) -> None:
    types = (
        "SELECT 1::HUGEINT << 100 AS h, 1.50::DECIMAL(9,2) AS d, DATE '2026-01-02' AS day, TIME '10:00' AS t,"
        " INTERVAL 90 MINUTES AS i, [1, NULL] AS l, {'a': 'x'} AS s, MAP {1: 'y'} AS m, 'ab'::BLOB AS b,"
        " 'nan'::DOUBLE AS nan, TIMESTAMPTZ '2026-01-02 03:04:05+00' AS z,"
        " 12345678901234567890.12::DECIMAL(30,2) AS long"
    )
    told = json.loads(sql(types, "--json").stdout)
    assert told == {
        "h": 2**100,
        "d": 1.5,
        "day": "2026-01-02",
        "t": "10:00:00",
        "i": 5400.0,
        "l": [1, None],
        "s": {"a": "x"},
        "m": {"1": "y"},
        "b": "6162",
        "nan": "nan",
        "z": "2026-01-02T03:04:05Z",
        "long": "12345678901234567890.12",
    }
    row = next(csv.DictReader(io.StringIO(sql(types, "--csv").stdout)))
    assert (row["l"], row["s"], row["day"], row["z"]) == ("[1,null]", '{"a":"x"}', "2026-01-02", told["z"])


def test_csv_comes_back_as_it_was(tmp_path: Path) -> None:
    names = ['a"b', "a,b", "a\nb", " x ", "", "日本"]
    path = log(
        tmp_path / "a.jsonl",
        *(says(f"e{n}", called(f"c{n}", "sh", {"v": name})) for n, name in enumerate(names)),
    )
    result = sql(
        "SELECT position, arguments->>'$.v' AS v, NULL AS n FROM tool_calls ORDER BY 1", path, "--csv"
    )
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows == [["position", "v", "n"], *([str(n), name, ""] for n, name in enumerate(names, 1))]


@pytest.mark.parametrize("name", [*HOSTILE, "\x00", "\x9b31m", "\r", "half \ud83d"])
@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_nothing_in_a_transcript_acts_on_the_terminal(
    name: str, form: tuple[str, ...], tmp_path: Path
) -> None:
    safe = name.replace("\0", "_").replace("\ud83d", "_")
    (tmp_path / safe).mkdir()
    log(tmp_path / safe / "a.jsonl", says("a", called("c", name)), header=new_header(id="s", cwd=name))
    quoted = f'"{safe.replace(chr(34), chr(34) * 2)}"'
    result = sql(
        f"SELECT name, cwd, path, 1 AS {quoted} FROM tool_calls JOIN sessions USING (session, path)",
        tmp_path / safe,
        *form,
    )
    assert result.exit_code == 0, result.output
    assert all(char.isprintable() or char in "\n\t" for char in result.output)
    if form == ("--json",):
        told = json.loads(result.stdout)
        assert told["cwd"] == told["name"] == name.replace("\ud83d", "\\ud83d")


def test_an_error_quotes_nothing_that_acts_on_the_terminal(folder: Path) -> None:
    result = sql('SELECT "a\x1b[31mb\n" FROM runs', folder)
    assert result.exit_code == 2
    assert all(char.isprintable() or char == "\n" for char in result.output)


@pytest.mark.parametrize(
    "query_text", ["SELECT nme FROM tool_calls", "COPY runs TO 'x'", "SELECT 1; SELECT 2", "x"]
)
def test_a_query_that_cannot_be_answered_is_wrong_usage(query_text: str, folder: Path) -> None:
    result = sql(query_text, folder)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error: " in result.stderr
    assert "Traceback" not in result.output


def test_a_query_that_fails_on_the_way_says_so(folder: Path) -> None:
    result = sql("SELECT name::INT FROM tool_calls", folder)
    assert result.exit_code == 2
    assert "Could not convert string" in result.stderr


def test_wrong_usage_ends_with_2(folder: Path, tmp_path: Path) -> None:
    assert sql().exit_code == 2
    assert sql("FROM runs", tmp_path / "no").exit_code == 2
    assert sql("FROM runs", folder, "--json", "--csv").exit_code == 2
    nothing = sql("FROM runs")
    assert nothing.exit_code == 2
    assert "name files or folders" in nothing.stderr
    assert sql("DESCRIBE runs").exit_code == 0


def test_damage_is_told_and_the_rest_is_asked(folder: Path) -> None:
    broken = folder / "a.jsonl"
    broken.write_bytes(broken.read_bytes() + b"{broken\n")
    result = sql(NAMES, folder)
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 3
    assert "a.jsonl: line 5" in result.stderr


def test_a_file_that_cannot_be_read_ends_with_1_after_the_answer(folder: Path) -> None:
    (folder / "noise.jsonl").write_text("noise\n")
    for form in ((), ("--json",), ("--csv",)):
        result = sql(NAMES, folder, *form)
        assert result.exit_code == 1
        assert len(result.stdout.splitlines()) >= 2
        assert "noise.jsonl: error: nothing was read of it: " in result.stderr


def test_an_empty_folder_and_sidecars_are_told(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = sql("SELECT count(*) AS n FROM sessions", tmp_path / "empty")
    assert (result.exit_code, result.stdout) == (0, "n\n0\n")
    assert result.stderr == f"{tmp_path / 'empty'}: no session files\n"
    (folder / "a.details.jsonl").write_text("")
    result = sql("SELECT count(*) AS n FROM sessions", *sorted(folder.glob("*.jsonl")))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "n\n2\n", "1 sidecar passed over\n")


def test_the_places_of_agents_are_asked_with_what_is_below_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "codex"
    day = home / "sessions" / "2026" / "01" / "02"
    day.mkdir(parents=True)
    name = "rollout-2026-01-02T12-00-00-01234567-89ab-cdef-0123-456789abcdef.jsonl"
    meta = {"id": "01234567-89ab-cdef-0123-456789abcdef", "cwd": "/src", "timestamp": "2026-01-02T12:00:00Z"}
    records = [
        {"timestamp": "2026-01-02T12:00:00Z", "type": "session_meta", "payload": meta},
        {"timestamp": "2026-01-02T12:00:01Z", "type": "response_item", "payload": called("c", "exec")},
    ]
    (day / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    monkeypatch.setenv("CODEX_HOME", str(home))
    for agents in (("--agent", "codex"), ("--agent", "all"), ("--agent", "pi", "--agent", "codex")):
        result = sql(
            "SELECT s.format, name FROM tool_calls JOIN sessions s USING (session)", *agents, "--csv"
        )
        assert (result.exit_code, result.stdout) == (0, "format,name\ncodex,exec\n")
    result = sql("SELECT count(*) FROM sessions", "--agent", "pi")
    assert result.stderr == "the agent has no sessions where it keeps them\n"


def test_the_beginning_of_an_id_stands_for_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = sql("SELECT count(*) AS n FROM entries", "b", "--csv")
    assert (result.exit_code, result.stdout) == (0, "n\n2\n")


def test_several_processes_read_what_is_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = sql(NAMES, folder)
    monkeypatch.setattr("transcript_log.cli.sql._LARGE", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert sql(NAMES, folder).stdout == alone.stdout


def test_without_the_extra_it_is_named_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for words in (("sql", NAMES, folder), ("export", folder, "--to", "parquet", "--out", folder / "out")):
        result = run(*words)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: there is no query engine: install the extra")
    assert not (folder / "out").exists()


# -------------------------------------------------------------------------------- parquet


def read_back(path: Path) -> tuple[list[Any], list[tuple[Any, ...]]]:
    with duckdb.connect() as db:
        db.execute("SELECT * FROM read_parquet(?) ORDER BY ALL", [str(path)])
        described = [(column[0], str(column[1])) for column in db.description or ()]
        return described, db.fetchall()


def test_parquet_holds_what_the_views_hold(folder: Path, tmp_path: Path) -> None:
    (folder / "noise.jsonl").write_text("noise\n")
    out = tmp_path / "out's"
    result = run("export", folder, "--to", "parquet", "--out", out)
    assert result.exit_code == 1
    assert f"wrote {out} (7 tables, " in result.stderr
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{name}.parquet" for name in VIEWS)
    assert out.stat().st_mode & 0o777 == 0o700
    for name, view in VIEWS.items():
        described, rows = read_back(out / f"{name}.parquet")
        assert described == [(column.name, column.type) for column in view.columns]
        assert rows == query([folder], f"SELECT * FROM {name} ORDER BY ALL").rows
        assert (out / f"{name}.parquet").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == ["out's"]


def test_a_folder_that_is_there_is_taken_by_force_alone(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    refused = run("export", folder, "--to", "parquet", "--out", out)
    assert refused.exit_code == 1
    assert "there is something already" in refused.stderr
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    assert run("export", folder, "--to", "parquet", "--out", out, "--force").exit_code == 0
    (folder / "b.jsonl").unlink()
    assert run("export", folder, "--to", "parquet", "--out", out, "--force").exit_code == 0
    assert len(read_back(out / "sessions.parquet")[1]) == 1
    assert (out / "mine.txt").read_text() == "mine"


def test_parquet_needs_a_folder_of_its_own(folder: Path) -> None:
    assert run("export", folder, "--to", "parquet").exit_code == 2
    assert run("export", folder, "--to", "parquet", "--out", folder, "--force").exit_code == 2


def test_one_session_may_be_written_too(folder: Path, tmp_path: Path) -> None:
    assert run("export", folder / "b.jsonl", "--to", "parquet", "--out", tmp_path / "out").exit_code == 0
    assert len(read_back(tmp_path / "out" / "tool_calls.parquet")[1]) == 2


def test_secrets_are_taken_out_of_every_table(folder: Path, tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    log(
        folder / "c.jsonl",
        says("s0", {"role": "user", "content": f"use {secret}"}),
        says("s1", called("c", "sh", {"command": f"login {secret}"})),
        says("s2", gave("c", f"in as {secret}")),
        header=new_header(id="c", cwd=f"/home/{secret}"),
    )
    lines = (
        {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-02T03:00:00Z", "cwd": "/"},
        {"type": "message", "id": "a", "parentId": secret, "message": {"role": "user", "content": "Go."}},
    )
    (folder / "pi.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    plain, clean = tmp_path / "plain", tmp_path / "clean"
    assert run("export", folder, "--to", "parquet", "--out", plain).exit_code == 0
    result = run("export", folder, "--to", "parquet", "--out", clean, "--redact")
    assert result.exit_code == 0, result.output
    assert "redacted: 1 secret of the kind " in result.stderr

    def found(out: Path) -> set[str]:
        return {name for name in VIEWS if secret in repr(read_back(out / f"{name}.parquet")[1])}

    assert found(plain) == {"sessions", "entries", "messages", "tool_calls", "findings"}
    assert found(clean) == set()
    assert secret not in result.output
    assert "its parent " in result.stderr


def test_what_is_cut_off_while_it_is_written_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def fail(*_: Any, **__: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("transcript_log.sql.parquet.write_file", fail)
    assert run("export", folder, "--to", "parquet", "--out", out).exit_code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sessions"]
