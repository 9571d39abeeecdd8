"""A session by the URL of a database: for agents, for asyncio, and for every command."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result
from extras import needed
from postgres_driver import ConnectionPool, psycopg

from transcript_log import ConflictError, JsonlStore, LogBusyError, Session, StorageError, Target, testing
from transcript_log.aio import AsyncSession
from transcript_log.cli import main
from transcript_log.copying import copy_session
from transcript_log.entries import ForkOrigin, MessageEntry
from transcript_log.postgres import PostgresStore
from transcript_log.sql import query
from transcript_log.stores import SessionUrl, open_store

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = ROOT / "examples" / "fix-the-build.jsonl"
TARGET: Final = Target("openai-responses", "gpt-5.4")


def texts(session: Session) -> list[Any]:
    return [entry.message.get("content") for entry in session.entries() if isinstance(entry, MessageEntry)]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def end_others(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


# ------------------------------------------------------------------------------ names


def test_a_url_names_a_session() -> None:
    url = SessionUrl("postgresql://joe:secret@h:5/d?application_name=x#a%20b")
    assert (str(url), url.session) == ("postgresql://joe@h:5/d?application_name=x#a%20b", "a b")
    assert url.conninfo == "postgresql://joe:secret@h:5/d?application_name=x"
    assert SessionUrl(url).conninfo == url.conninfo
    assert (str(url.of("é/#?")), url.of("é/#?").session) == (
        "postgresql://joe@h:5/d?application_name=x#%C3%A9/%23?",
        "é/#?",
    )
    assert isinstance(open_store("postgresql.jsonl"), JsonlStore)
    for given, shown in {
        "postgres://u:p:w@h/d": "postgres://u@h/d",
        "postgresql://h:5432/d?application_name=a@b": "postgresql://h:5432/d?application_name=a@b",
        "postgresql://u:p/w@h/d": "postgresql://u@h/d",
        "postgresql:///d?user=u&password=pw&host=/tmp": "postgresql:///d?user=u&password=***&host=/tmp",
        "postgresql://u:p#w@h/d#s": "postgresql://u:***",
        "postgresql://h,[::1]:5432#a@b": "postgresql://h,[::1]:5432#a@b",
        "postgresql://h:,h2:1#a": "postgresql://h:,h2:1#a",
    }.items():
        assert str(SessionUrl(given)) == shown
    with pytest.raises(StorageError, match="written %23"):
        open_store("postgresql://u:p#w@h/d#s")
    for given in ("postgresql+psycopg://u:pw@h/d#s", "POSTGRES://u:pw@h/d#s"):
        with pytest.raises(StorageError, match="begin it with postgresql://") as raised:
            open_store(given)
        assert "pw" not in str(raised.value)
    with pytest.raises(StorageError, match="add #SESSION"):
        open_store("postgresql://h/d")


# ------------------------------------------------------------------------------ session


def test_a_whole_loop_of_an_agent(postgres: str) -> None:
    url = f"{postgres}#agent"
    with pytest.raises(StorageError, match="there is no log there"):
        Session.open(url)
    model = testing.ScriptedModel(TARGET, [testing.call("make"), "It is built."])
    with Session.create(url, cwd="/w") as session:
        assert session.id == "agent"
        session.add(user("Build it."))
        context = session.context(TARGET)
        answer = session.add_response(model(context.items), to=context, request={"tools": []})
        with session.call(answer.calls[0]) as tool:
            tool.output("ok")
    with pytest.raises(StorageError, match="there is one already"):
        Session.create(url)
    with Session.open(url) as session:
        assert session.open_calls() == ()
        assert session.damage == ()
        header = session.store.header()
        assert header is not None
        assert (header.id, header.cwd) == ("agent", "/w")
        context = session.context(TARGET)
        assert session.add_response(model(context.items), to=context).text == "It is built."
        plan = session.plan_compaction(TARGET, keep_tokens=0)
        assert plan is not None
        session.compact(plan, "It was built.")
        assert session.store.active()
    shown = run("context", url, "--at", answer.entries[0].id, "--request")
    assert json.loads(shown.stdout)["tools"] == []
    assert "success" in run("replay", url).stdout
    assert run("check", url).exit_code == 0


def test_three_modes(postgres: str) -> None:
    url = f"{postgres}#s"
    with Session.open(url, create=True) as alone:
        with pytest.raises(LogBusyError, match="this process"):
            Session.open(url)
        alone.add(user("one"))
        with Session.open(url, mode="read") as reader:
            assert texts(reader) == ["one"]
            alone.add(user("two"))
            assert texts(reader) == ["one", "two"]
            with pytest.raises(StorageError, match="to read only"):
                reader.add(user("x"))
        with Session.open(url, mode="shared", wait=0.1) as other, pytest.raises(LogBusyError):
            other.add(user("x"))
    with Session.open(url, mode="shared") as one, Session.open(url, mode="shared") as other:
        one.add(user("three"))
        other.add(user("four"))
        one.add(user("five"), after=other.head)
        with pytest.raises(ConflictError):
            other.add(user("x"), after=other.head)
        assert texts(one) == texts(other) == ["one", "two", "three", "four", "five"]
    assert Session.open(url, create=True, mode="read").close() is None


def test_two_windows_on_one_session(postgres: str) -> None:
    """Each on a connection of its own: neither loses what it says, and both see one order."""
    url = f"{postgres}#s"
    with Session.open(url, create=True) as made:
        made.add(user("begin"))

    def window(name: str) -> None:
        with Session.open(url, mode="shared", wait=60) as session:
            for number in range(12):
                session.add(user(f"{name} {number}"))

    windows = [threading.Thread(target=window, args=(name,)) for name in "ab"]
    for thread in windows:
        thread.start()
    for thread in windows:
        thread.join()
    with Session.open(url, mode="read") as session:
        said = texts(session)[1:]
    assert len(said) == 24
    for name in "ab":
        assert [text for text in said if text.startswith(name)] == [f"{name} {n}" for n in range(12)]


def test_a_session_whose_lease_was_lost_goes_on_after_it_is_opened_again(postgres: str) -> None:
    url = f"{postgres}#s"
    with Session.open(url, create=True) as session:
        session.add(user("one"))
        end_others(postgres)
        with pytest.raises(ConflictError, match="the lease was lost") as caught:
            session.add(user("two"))
        with Session.open(url) as other:
            other.add(user("from elsewhere"))
            with pytest.raises(LogBusyError):
                session.add(user("three"))
        assert texts(session) == ["one"]
    with Session.open(url) as session:
        session.retry(caught.value)
        assert texts(session) == ["one", "from elsewhere", "two"]


def test_a_session_over_a_pool_leaves_it_open(postgres: str) -> None:
    with ConnectionPool(postgres, min_size=1, max_size=2, open=True) as pool:
        with Session(PostgresStore(pool, "s"), mode="exclusive") as session:
            session.add(user("one"))
            with pytest.raises(LogBusyError):
                Session(PostgresStore(pool, "s"), mode="exclusive")
        with Session(PostgresStore(pool, "s")) as session:
            assert texts(session) == ["one"]
        assert pool.get_stats()["pool_available"] == pool.get_stats()["pool_size"]


def test_forks_go_anywhere(postgres: str, tmp_path: Path) -> None:
    copy_session(EXAMPLE, f"{postgres}#s")
    lines = EXAMPLE.read_bytes().split(b"\n")
    with Session.open(f"{postgres}#s") as session:
        at = session.entries()[7].id  # in the middle of a batch or not: its line stands for itself
        with session.fork(f"{postgres}#fork", at=at) as fork:
            assert [entry.id for entry in fork.entries()] == [entry.id for entry in session.entries()[:8]]
            header = fork.store.header()
            assert header is not None
            assert (header.id, header.forked_from) == ("fork", ForkOrigin(str(session.id), at))
            fork.add(user("another way"))
        with session.fork(tmp_path / "fork.jsonl", at=at) as fork:
            assert (tmp_path / "fork.jsonl").read_bytes().split(b"\n")[1:8] == lines[1:8]
        for taken in (f"{postgres}#fork", tmp_path / "fork.jsonl"):
            with pytest.raises(StorageError, match="one already"):
                session.fork(taken)
    with Session.open(tmp_path / "fork.jsonl") as session, session.fork(f"{postgres}#third") as fork:
        assert len(fork.entries()) == 8
    with Session.in_memory() as session:
        session.add(user("one"))
        with session.fork(f"{postgres}#fourth") as fork:
            assert texts(fork) == ["one"]
    assert "checksum" not in run("check", f"{postgres}#fork").stdout


def test_for_asyncio(postgres: str) -> None:
    url = f"{postgres}#s"

    async def talk() -> list[Any]:
        async with await AsyncSession.open(url, create=True, mode="shared") as session:
            seen: list[Any] = []

            async def watch() -> None:
                async for batch in session.follow():
                    seen.extend(entry.message["content"] for entry in batch)  # type: ignore[union-attr]
                    if len(seen) == 20:
                        return

            viewer = asyncio.create_task(watch())
            await asyncio.gather(*[session.add(user(str(n))) for n in range(20)])
            await asyncio.wait_for(viewer, 30)
            return seen

    assert asyncio.run(talk()) == [str(n) for n in range(20)]

    async def alone() -> None:
        async with await AsyncSession.create(f"{postgres}#t") as session:
            with pytest.raises(LogBusyError):
                await AsyncSession.open(f"{postgres}#t")
            await session.add(user("one"))
            async with await session.fork(f"{postgres}#u") as fork:
                assert len(await fork.entries()) == 1

    asyncio.run(alone())


# ----------------------------------------------------------------------------- commands


@pytest.fixture
def stored(postgres: str) -> tuple[str, str]:
    """The example in a database, and the URL of it with a password, which the server does not ask for."""
    copy_session(EXAMPLE, f"{postgres}#the example")
    secret = postgres.replace("postgres@", "postgres:s3cr3t@")
    return f"{secret}#the%20example", f"{postgres}#the%20example"


@pytest.mark.parametrize(
    "words",
    [
        ("replay",),
        ("replay", "--json"),
        ("inspect",),
        ("inspect", "--json"),
        ("context", "--explain"),
        ("check",),
        ("check", "--json", "--for", "openai-chat"),
        ("stats",),
        ("stats", "--by", "session", "--json"),
        ("export", "--to", "markdown"),
        ("export", "--to", "chat-jsonl"),
        ("export", "--to", "pi"),
    ],
    ids=" ".join,
)
def test_a_command_says_of_a_url_what_it_says_of_the_file(
    stored: tuple[str, str], words: tuple[str, ...]
) -> None:
    url, shown = stored
    one, other = run(words[0], EXAMPLE, *words[1:]), run(words[0], url, *words[1:])
    assert one.exit_code == other.exit_code == (words[-2:] == ("--for", "openai-chat"))
    assert "s3cr3t" not in other.output
    names = [(shown, str(EXAMPLE)), ("the example", "fix-the-build")]
    text = other.stdout
    for name, instead in names:
        text = text.replace(name, instead)
    assert text == one.stdout


def test_commands_about_two_sessions(stored: tuple[str, str], tmp_path: Path) -> None:
    url, shown = stored
    assert "the contexts are equal" in run("diff", url, EXAMPLE).stdout
    assert run("fork", url, tmp_path / "fork.jsonl").exit_code == 0
    done = run("fork", EXAMPLE, url.replace("the%20", "a%20"))
    assert done.exit_code == 0
    assert "s3cr3t" not in done.output
    again = run("fork", EXAMPLE, url)
    assert again.exit_code == 1
    assert (
        again.stderr
        == f"Error: {shown}: cannot make the log: there is one already (EEXIST); open it instead\n"
    )


def test_a_url_stands_where_it_means_something(
    stored: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url, _ = stored
    bare = url.partition("#")[0]
    out = ("--out", f"{bare}#new")
    for words in (
        ("convert", EXAMPLE, "--to", "codex", *out),
        ("export", EXAMPLE, "--to", "markdown", *out),
        ("export", EXAMPLE, "--to", "parquet", *out),
        ("list", bare.replace("postgresql", "postgresql+asyncpg")),
        ("copy", EXAMPLE, f"{bare}#new".replace("postgresql", "POSTGRES")),
        ("inspect", "postgresql://u:s3#s3cr3t@h/d#new"),
        ("migrate", "postgresql://u:s3#s3cr3t@h/d"),
        ("sql", "SELECT 1 FROM runs", "postgresql://u:s3#s3cr3t@h/d"),
    ):
        done = run(*words)
        assert done.exit_code == 2, done.output
        assert "s3cr3t" not in done.output
        assert not list(tmp_path.iterdir())
    assert len(run("list", bare, "--json").stdout.splitlines()) == 1


def test_questions_are_asked_of_a_database(stored: tuple[str, str], tmp_path: Path) -> None:
    duckdb = needed("duckdb", "sql")
    url, shown = stored
    bare = url.partition("#")[0]
    assert run("copy", EXAMPLE, f"{bare}#b").exit_code == 0
    asked = "SELECT path, count(*) AS calls FROM tool_calls GROUP BY path ORDER BY path"
    one = run("sql", asked, url, "--json")
    assert [json.loads(line) for line in one.stdout.splitlines()] == [{"path": shown, "calls": 6}]
    both = run("sql", asked, bare, url, EXAMPLE, "--json")
    paths = [json.loads(line)["path"] for line in both.stdout.splitlines()]
    assert paths == sorted([shown, f"{shown.partition('#')[0]}#b", str(EXAMPLE)])
    assert run("sql", asked, f"{bare}#none", EXAMPLE).exit_code == 1
    answer = query([f"{bare}#none", url], "SELECT path FROM sessions")
    assert answer.rows == [(shown,)]
    assert "s3cr3t" not in str(answer)
    assert run("export", url, "--to", "parquet", "--out", tmp_path / "tables").exit_code == 0
    with duckdb.connect() as db:
        found = db.execute("SELECT path FROM read_parquet(?)", [str(tmp_path / "tables/sessions.parquet")])
        assert found.fetchall() == [(shown,)]


def test_subagents_are_imported_beside_their_session(
    stored: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, shown = stored
    base, base_shown = url.partition("#")[0], shown.partition("#")[0]
    connect = psycopg.connect
    named = []

    def spy(conninfo: str, **more: Any) -> Any:
        named.append(conninfo)
        return connect(conninfo, **more)

    monkeypatch.setattr(psycopg, "connect", spy)
    source = ROOT / "tests" / "data" / "claude-code" / "inline-subagent.jsonl"
    done = run("import", source, "--out", f"{base}#log", "--subagents")
    assert done.exit_code == 0, done.output
    main, *others = done.stdout.splitlines()
    assert main == f"{base_shown}#log"
    assert others
    ids = {json.loads(line)["id"] for line in run("list", base, "--json").stdout.splitlines()}
    assert {SessionUrl(each).session for each in others} < ids
    assert all(each.startswith(f"{base_shown}#log.subagents/") for each in others)
    assert not any(each.endswith(".jsonl") for each in others)
    assert {SessionUrl(name).conninfo for name in named} == {base}, "with the password"
    with open_store(f"{base}#{others[0].partition('#')[2]}") as store:
        header = store.header()
        assert header is not None
        assert header.parent is not None


def test_a_foreign_session_is_imported_into_a_database(postgres: str) -> None:
    source = ROOT / "tests" / "data" / "pi" / "usage.jsonl"
    done = run("import", source, "--out", f"{postgres}#pi")
    assert done.exit_code == 0
    assert f"{postgres}#pi" in done.stdout
    assert run("check", f"{postgres}#pi").exit_code == run("check", source).exit_code
    again = run("import", source, "--out", f"{postgres}#pi")
    assert again.exit_code == 1
    assert "there is one already" in again.stderr
    assert "nothing to import" in run("import", f"{postgres}#pi").stderr


def test_sessions_are_listed_pruned_and_their_tables_made(stored: tuple[str, str]) -> None:
    url = stored[0].partition("#")[0]
    listed = run("list", url)
    assert "the example  The build has been failing" in listed.stdout
    assert "s3cr3t" not in listed.output
    (one,) = (json.loads(line) for line in run("list", url, "--json", "--limit", "3").stdout.splitlines())
    assert (one["path"], one["id"], one["problem"]) == (stored[1], "the example", None)
    assert one["size"] == EXAMPLE.stat().st_size
    planned = run("prune", url, "--older-than", "0m")
    assert (planned.exit_code, planned.stdout.count("\n")) == (0, 1)
    assert "1 session would be deleted" in planned.stderr
    assert "0 sessions would be deleted" in run("prune", url, "--older-than", "1d").stderr
    assert run("replay", stored[0]).exit_code == 0
    with PostgresStore(url, "the example") as store, store.lease():
        busy = run("prune", url, "--older-than", "0m", "--apply")
    assert busy.exit_code == 1
    assert "not deleted" in busy.stderr
    assert run("prune", url, "--older-than", "0m", "--apply").exit_code == 0
    assert "no sessions" in run("list", url).stderr
    assert "already" in run("migrate", url).stderr
    mistakes: list[tuple[str, ...]] = [
        ("prune", stored[0], "--older-than", "1d"),
        ("prune", url, "--older-than", "x"),
        ("prune", "x", "--older-than", "1d"),
        ("list", stored[0]),
        ("migrate", stored[0]),
        ("replay", url),
        ("replay", f"{url}#"),
        ("replay", stored[0], stored[0]),
    ]
    for words in mistakes:
        wrong = run(*words)
        assert wrong.exit_code == 2, words
        assert "s3cr3t" not in wrong.output
    missing = run("replay", f"{url}#nowhere")
    assert missing.exit_code == 2
    assert "there is no such session" in missing.stderr
    mending = run("salvage", stored[0])
    assert mending.exit_code == 1
    assert "only files are mended" in mending.stderr


def test_a_replay_follows_what_is_added(postgres: str) -> None:
    url = f"{postgres}#s"
    with Session.open(url, create=True, mode="shared") as session:
        session.add(user("one"))
        shown: list[Result] = []
        viewer = threading.Thread(
            target=lambda: shown.append(run("replay", url, "--json", "--follow", "--limit", "6"))
        )
        viewer.start()
        number = 0
        while viewer.is_alive():
            number += 1
            session.add(user(f"more {number}"))
            viewer.join(0.1)
            assert number < 300
    (result,) = shown
    assert result.exit_code == 0
    assert "more 1" in result.stdout
