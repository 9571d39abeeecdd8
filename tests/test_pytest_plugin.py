"""The pytest plugin, tried by pytest on itself."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import pytest

from transcript_log import Session, Target
from transcript_log.testing import ScriptedModel, call

pytest_plugins = ["pytester"]

ROOT: Final = Path(__file__).resolve().parent.parent
TARGET: Final = Target("openai-responses", "gpt-5.4")
AGENT: Final = """
from transcript_log import Session, Target

TARGET = Target("openai-responses", "gpt-5.4")


def agent(model, tool, *prompts, answer=str):
    session = Session.in_memory()
    for prompt in prompts:
        session.add(prompt)
        while True:
            context = session.context(TARGET)
            said = session.add_response(model(context.items), to=context)
            for one in said.calls:
                with session.call(one) as recorder:
                    recorder.output(answer(tool(one).content))
            if not said.calls:
                break
    return said.text
"""


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with an agent, and a session that was recorded of it; no other plugin is loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(agent=AGENT)
    model = ScriptedModel(TARGET, [call("shell", command="make"), "It does."])
    with Session.create(pytester.path / "built.jsonl") as session:
        session.add({"role": "user", "content": "Does it build?"})
        while True:
            context = session.context(TARGET)
            said = session.add_response(model(context.items), to=context)
            for one in said.calls:
                with session.call(one) as recorder:
                    recorder.output(f"make: done in {pytester.path}")
            if not said.calls:
                break
    return pytester


def run(pytester: pytest.Pytester, body: str, *words: str) -> Any:
    head = "import pytest\nfrom agent import agent\n"
    pytester.makepyfile(test_it=head + body)
    # The name is that of the entry point: where the package is installed it is there already.
    return pytester.runpytest_subprocess("-p", "transcript_log.pytest_plugin", *words)


SAME: Final = """
@pytest.mark.recorded_session("built.jsonl")
def test_it(recorded_session):
    said = agent(recorded_session.model, recorded_session.tool, *recorded_session.prompts)
    assert said == "It does."
"""


def test_an_agent_that_does_the_same_passes(pytester: pytest.Pytester) -> None:
    run(pytester, SAME, "--strict-markers").assert_outcomes(passed=1)


def test_one_that_departs_fails_with_what_is_different(pytester: pytest.Pytester) -> None:
    result = run(
        pytester, SAME.replace("*recorded_session.prompts)", "*recorded_session.prompts, answer=str.upper)")
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*DepartureError: request 2 is not the one that entry * answers (- on record, + sent):",
            "*3 items are on record, 3 were sent; they part at item 2, counted from 0",
            '*-  "output": "make: done in *',
            '*+  "output": "MAKE: DONE IN *',
        ]
    )


def test_one_that_goes_on_after_a_departure_fails_all_the_same(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.recorded_session("built.jsonl")
def test_it(recorded_session):
    try:
        agent(recorded_session.model, recorded_session.tool, {"role": "user", "content": "Hm?"})
    except AssertionError:
        pass
"""
    result = run(pytester, body)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*-  "content": "Does it build?",*', '*+  "content": "Hm?",*'])


def test_a_departure_is_told_where_the_test_fails_for_another_reason(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.recorded_session("built.jsonl")
def test_it(recorded_session):
    try:
        agent(recorded_session.model, recorded_session.tool, {"role": "user", "content": "Hm?"})
    except AssertionError:
        pass
    assert 1 == 2
"""
    result = run(pytester, body)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "*recorded session*", "request 1 is not the one*"])


def test_answers_that_were_not_asked_for_fail(pytester: pytest.Pytester) -> None:
    body = """
@pytest.mark.recorded_session("built.jsonl")
def test_it(recorded_session):
    pass
"""
    result = run(pytester, body)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*2 recorded answers were not asked for; the next is that of entry *"])


def test_what_is_volatile_is_made_one_by_a_fixture(pytester: pytest.Pytester) -> None:
    answer = "answer=lambda text: text.split(' in ')[0] + ' in /elsewhere')"
    body = SAME.replace("*recorded_session.prompts)", f"*recorded_session.prompts, {answer}")
    run(pytester, body).assert_outcomes(failed=1)
    hook = f"""
@pytest.fixture
def normalize_recorded():
    return lambda text: text.replace({str(pytester.path)!r}, "/elsewhere")
"""
    run(pytester, hook + body).assert_outcomes(passed=1)


def test_a_session_of_another_agent_is_played_for_a_target_that_is_named(pytester: pytest.Pytester) -> None:
    source = ROOT / "tests" / "data" / "claude-code" / "thinking.jsonl"
    (pytester.path / "claude.jsonl").write_bytes(source.read_bytes())
    body = """
from transcript_log.response import parse_response

@pytest.mark.recorded_session("claude.jsonl", target="openai-chat/gpt-5")
def test_it(recorded_session):
    assert recorded_session.model.target.model == "gpt-5"
    while recorded_session.model.left:
        place = len(recorded_session.model.entries) - recorded_session.model.left
        raw = recorded_session.model(recorded_session.model._request(place))
        assert raw["object"] == "chat.completion"
        assert parse_response(raw).finish_reason is not None
"""
    run(pytester, body).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        ("", "*mark the test with @pytest.mark.recorded_session(path)*"),
        ('@pytest.mark.recorded_session("none.jsonl")', "*none.jsonl*no such file*"),
        ('@pytest.mark.recorded_session("agent.py")', "*agent.py*no session of a known format*"),
        ('@pytest.mark.recorded_session("built.jsonl", target="what/gpt-5")', "*built.jsonl*'what'*"),
        ('@pytest.mark.recorded_session("built.jsonl", target="gpt-5")', "*built.jsonl*API/MODEL*"),
    ],
    ids=["unmarked", "missing", "no session", "unknown API", "no API"],
)
def test_what_cannot_be_played_is_told_in_a_line(pytester: pytest.Pytester, marker: str, told: str) -> None:
    result = run(pytester, f"{marker}\ndef test_it(recorded_session):\n    pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([told])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_tests_without_it_are_left_alone(pytester: pytest.Pytester) -> None:
    body = """
@pytest.fixture
def recorded_session():
    return "of somebody else"

def test_another_fixture(recorded_session):
    assert recorded_session == "of somebody else"

def test_it():
    assert False
"""
    run(pytester, body).assert_outcomes(passed=1, failed=1)


def test_a_run_that_has_no_use_for_it_loads_nothing_of_it(tmp_path: Path) -> None:
    test = (
        "import sys\ndef test_it():\n    print(*(n for n in sys.modules if n.startswith('transcript_log')))\n"
    )
    (tmp_path / "test_it.py").write_text(test)
    words = ["-q", "-s", "-p", "transcript_log.pytest_plugin", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("transcript_log")]
    assert set(line.rstrip(".").split()) == {"transcript_log", "transcript_log.pytest_plugin"}


def test_pytest_finds_it_by_itself_where_the_package_is_installed() -> None:
    (found,) = [one for one in entry_points(group="pytest11") if one.value == "transcript_log.pytest_plugin"]
    assert found.name == "transcript_log.pytest_plugin"


def test_its_options_are_told(pytester: pytest.Pytester) -> None:
    pytester.runpytest("-p", "transcript_log.pytest_plugin", "--markers").stdout.fnmatch_lines(
        ["@pytest.mark.recorded_session(path,*"]
    )
