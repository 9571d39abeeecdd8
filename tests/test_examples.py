"""Each example runs as it is, in a process of its own and an empty folder, and shows what it is about."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

import pytest
from anthropic.resources.messages import Messages
from extras import needed
from openai.resources.chat.completions import Completions
from openai.resources.responses import Responses

from transcript_log import Session
from transcript_log.check import check_entries
from transcript_log.entries import ParentCall

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLES: Final = sorted((ROOT / "examples").glob("*.py"))
NAMES: Final = [
    "anthropic_thinking",
    "approval_next_morning",
    "claude_agent_sdk_store",
    "compaction",
    "custom_store",
    "fifty_subagents",
    "follow",
    "langchain_history",
    "openai_agents_session",
    "pydantic_ai_history",
    "recorded_session",
    "responses_loop",
    "resume_after_kill",
    "switch_provider",
    "web_service",
    "weekly_report",
]
CALLS_NO_CLIENT: Final = {
    "claude_agent_sdk_store",
    "custom_store",
    "langchain_history",
    "openai_agents_session",
    "pydantic_ai_history",
    "weekly_report",
}
CLIENTS: Final[dict[str, Callable[..., Any]]] = {
    "responses": Responses.create,
    "completions": Completions.create,
    "messages": Messages.create,
}

Run = Callable[..., list[str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs an example, or a module with it, and gives the lines that it prints."""
    monkeypatch.chdir(tmp_path)

    def started(name: str, *words: str, says: str = "") -> list[str]:
        shutil.copy(ROOT / "examples" / name, tmp_path)
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        ended = subprocess.run(
            [sys.executable, *words, name],
            env=env,
            input=says,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout.splitlines()

    return started


def logged(path: str = "session.jsonl") -> Session:
    """The session that an example left, in which nothing is wrong."""
    session = Session.open(path, mode="read")
    assert session.damage == ()
    found = check_entries(session.entries(), session.store.details())
    assert [one for one in found if one.severity != "note"] == []
    return session


# ------------------------------------------------------------------------ what they show


def test_a_loop_runs_parallel_calls_and_tells_the_model_of_an_error(run: Run) -> None:
    assert run("responses_loop.py") == ["There is a log, and no folder for documents."]
    outputs = [event.output for event in logged().history().events if hasattr(event, "output")]
    assert "session.jsonl" in outputs[0]
    assert outputs[1] == "The tool failed: FileNotFoundError: [Errno 2] No such file or directory: 'docs'"
    (request,) = [value["data"] for (key, _), value in logged().store.details().items() if "request" in key]
    assert request["instructions"] == "You are a coding agent."


def test_thinking_goes_back_as_it_came(run: Run) -> None:
    assert run("anthropic_thinking.py") == ["It is Python 3. It was sent: thinking tool_use"]
    (thinking,) = [
        block
        for entry in logged().entries()
        for block in entry.message["content"]
        if type(block) is dict and block["type"] == "thinking"
    ]
    assert thinking["signature"]


def test_a_switch_of_provider_tells_what_it_leaves_behind_and_finds_it_again(run: Run) -> None:
    lines = run("switch_provider.py")
    told = [line for line in lines if line.startswith("for ")]
    assert len(told) == 1
    assert "for claude-opus-4-8: " in told[0]
    assert "openai-responses/direct/gpt-5.4 alone can read it" in told[0]
    assert [line for line in lines if line not in told] == [
        "gpt-5.4: ['run_tests']",
        "claude-opus-4-8: Two of them fail, both in the lexer.",
        "gpt-5.4: Yes: the same two tests fail.",
    ]


def test_an_agent_of_the_openai_sdk_goes_on_where_it_was_and_takes_back(run: Run) -> None:
    needed("agents", "openai-agents")
    assert run("openai_agents_session.py") == [
        "It rains.",
        "Ask me tomorrow.",
        "taken back: ['assistant', 'user']",
        "6 items are left of 8",
    ]
    assert [event.replacement_items for event in logged().history().events if hasattr(event, "opaque")] == [
        7,
        6,
    ]


def test_a_session_of_the_claude_sdk_is_one_of_claude_code(run: Run) -> None:
    needed("claude_agent_sdk", "claude-agent-sdk")
    assert run("claude_agent_sdk_store.py") == ["['user', 'assistant']", "It does."]
    (path,) = Path("sessions").glob("*/*.jsonl")
    assert path.read_bytes().count(b"Does it build?") == 1


def test_an_agent_of_pydantic_ai_goes_on_where_it_was(run: Run) -> None:
    needed("pydantic_ai", "pydantic-ai")
    assert run("pydantic_ai_history.py") == [
        "It rains. 4 messages, 4 items",
        "Ask me tomorrow. 6 messages, 6 items",
    ]
    assert len(logged().entries()) == 6


def test_a_model_of_langchain_goes_on_where_it_was_and_another_reads_it(run: Run) -> None:
    needed("langchain_core", "langchain")
    needed("pydantic_ai", "pydantic-ai")
    assert run("langchain_history.py") == [
        "It rains.",
        "Ask me tomorrow.",
        "user-prompt tool-call tool-return text user-prompt text",
    ]
    assert len(logged().entries()) == 6


def test_a_session_that_was_recorded_is_played_by_a_test(run: Run) -> None:
    plays = ("-m", "pytest", "-q", "-p", "transcript_log.pytest_plugin", "-p", "no:cacheprovider")
    assert run("recorded_session.py") == ["It builds."]
    assert re.match(r"1 passed", run("recorded_session.py", *plays, "--rootdir=.")[-1])
    assert len(logged("recorded.jsonl").entries()) == 4


def test_a_process_that_was_killed_in_a_tool_is_found_out(run: Run) -> None:
    began, told, said = run("resume_after_kill.py")
    assert re.fullmatch(r"deploy began at 20\d\d-\S+ \S+; its outcome is unknown", began)
    assert told.startswith(
        "The model is told: [This tool call was started, and no output of it was recorded."
    )
    assert said == "It says: I will look whether it is deployed before I try again."
    session = logged()
    assert session.open_calls() == ()
    assert [entry.stand_in for entry in session.entries()] == [False, False, True, False]


@pytest.mark.parametrize(("answer", "is_there"), [("yes", False), ("no", True)])
def test_a_call_waits_for_approval_until_the_next_morning(run: Run, answer: str, is_there: bool) -> None:
    assert run("approval_next_morning.py") == ["delete_file waits for your approval"]
    (waiting,) = logged().open_calls()
    assert (waiting.call.name, waiting.state) == ("delete_file", "never-began")
    assert Path("old.txt").exists()
    (line,) = run("approval_next_morning.py", says=f"{answer}\n")
    assert line == "delete_file {'path': 'old.txt'}? Good morning! That is settled then."
    assert Path("old.txt").exists() is is_there
    assert logged().open_calls() == ()


def test_what_is_old_is_summed_up_and_nothing_is_lost(run: Run) -> None:
    *compacted, sizes, first = run("compaction.py")
    assert compacted
    for line in compacted:
        before, after = map(int, re.findall(r"\d+", line))
        assert before > 1000
        assert after < 500
    sent, held = map(int, re.findall(r"\d+", sizes))
    assert held == 24 + len(compacted)
    assert sent < 24
    assert first.startswith("the first is: The conversation history before this point was compacted")


def test_fifty_subagents_have_fifty_logs_that_name_their_calls(run: Run) -> None:
    assert run("fifty_subagents.py") == ["All fifty are fine."]
    parent = logged("parent.jsonl")
    header = parent.store.header()
    assert header is not None
    calls = {one.call_id for one in parent.history().events if hasattr(one, "call_id")}
    assert len(calls) == 50
    headers = [logged(str(path)).store.header() for path in Path("subagents").glob("*[0-9].jsonl")]
    assert {one.parent for one in headers if one} == {ParentCall(str(header.id), str(one)) for one in calls}
    assert len(headers) == 50


def test_a_viewer_sees_what_another_process_writes(run: Run) -> None:
    assert run("follow.py") == [
        "user: Count to three.",
        "assistant: I count.",
        'count is called with {"to": 3}',
        "it gave back 1 2 3",
        "the run is completed",
    ]


def test_a_store_of_ones_own_keeps_a_session_and_its_promises(run: Run) -> None:
    assert run("custom_store.py") == ["Is this in a database? It is."]
    assert run("custom_store.py") == ["Is this in a database? It is."]
    lines = run("custom_store.py", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.")
    assert re.match(r"1\d passed", lines[-1])


def test_two_workers_serve_one_database(postgres: str, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {"PYTHONPATH": str(ROOT), "DATABASE_URL": postgres, "PORT": str(port)}
    service = subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / "web_service.py")],
        env={**os.environ, **env},
        cwd=tmp_path,
        start_new_session=True,
    )

    def ask(session: str) -> str:
        request = Request(f"http://127.0.0.1:{port}/{session}", b"Hello!")
        with urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())

    try:
        end = time.monotonic() + 60
        while True:
            try:
                ask("first")
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(ask, ["one", "two"] * 15))
        workers = {answer.rpartition(" ")[2] for answer in answers}
        assert len(workers) == 2
        for session in ("one", "two"):
            with Session.open(f"{postgres}#{session}", mode="read") as talk:
                roles = [entry.message["role"] for entry in talk.entries()]  # type: ignore[union-attr]
                assert roles == ["user", "assistant"] * 15
                assert check_entries(talk.entries()) == ()
    finally:
        os.killpg(service.pid, signal.SIGTERM)
        service.wait()


def test_a_weekly_report_is_made_of_the_logs_there_are(run: Run, tmp_path: Path) -> None:
    for name in ("fix-the-build.jsonl", "fix-the-build.details.jsonl"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    assert run("weekly_report.py") == [
        "day  responses  input  output  runs",
        "2026-03-02  8  12525  517  2",
        "",
        "name  calls  failure_rate  seconds",
        "shell  4  0.25  2.4",
        "edit  2  0.5  0.4",
        "",
        "name  said  times",
        "edit  lexer.c: there is no such file. Nothing was changed.  1",
        "shell  cc -c -o lexer.o src/lexer.c  1",
        "",
    ]


# ------------------------------------------------------------------------- how they are


def test_the_examples_are_these_and_each_is_tried() -> None:
    assert [path.stem for path in EXAMPLES] == NAMES
    here = Path(__file__).read_text(encoding="utf-8")
    assert all(f'run("{path.name}"' in here or f'"examples" / "{path.name}"' in here for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 40
    assert ast.get_docstring(ast.parse(text))


def real_calls(text: str) -> list[tuple[str, str]]:
    """The calls of real clients that comments show: which of an SDK's resources, and its arguments."""
    comments = " ".join(re.findall(r"#(.*)", text))
    return re.findall(r"(\w+)\.create\(([^)]*)\)", comments)


@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.stem not in CALLS_NO_CLIENT], ids=lambda path: path.stem
)
def test_an_example_says_where_the_real_client_goes_and_that_takes_what_it_is_given(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    shown = real_calls(text)
    assert shown
    for resource, arguments in shown:
        taken = inspect.signature(CLIENTS[resource]).parameters
        given = set(re.findall(r"(\w+)=", arguments))
        if "**REQUEST" in arguments:
            given |= request_keys(text)
        assert {"model"} < given <= taken.keys(), resource
        needed = {name for name, one in taken.items() if one.default is one.empty and name != "self"}
        assert needed <= given


def request_keys(text: str) -> set[str]:
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="REQUEST")], value=ast.Dict(keys=keys)):
                return {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    raise AssertionError("there is no REQUEST")
