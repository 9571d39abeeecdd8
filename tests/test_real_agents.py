"""Sessions that are moved, and gone on with by the agents themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from real_agents import (
    CLAUDE_CODE,
    CODEX,
    NODE,
    PI,
    asked_by_claude_code,
    asked_by_codex,
    read_by_pi,
)
from test_converting import DATA, SMALL, arguments, everything, log, plain
from test_corpus_codex import CORPUS, FACTS

from transcript_log import items
from transcript_log.boundary import SUMMARY_PREFIX, SUMMARY_SUFFIX, newest_compaction
from transcript_log.cli.export import source_of
from transcript_log.cli.source import open_session
from transcript_log.context import build_context
from transcript_log.converting import Agent, file_name, write_converted
from transcript_log.exporters import ExportSource
from transcript_log.exporters.claude_code import target_of_claude
from transcript_log.exporters.codex import target_of_codex
from transcript_log.importers._pi_messages import branch_text, item_of

PROMPT: Final = "Is this where we were?"


def source(name: str, cwd: Path) -> ExportSource:
    """A session by its name, as if it had gone on in a folder that is there."""
    if name == "everything":
        given, details = everything()
        found = log(*given, details=details)
    else:
        found = source_of(open_session(str(DATA / name if name in SMALL else CORPUS / name)))
    assert found.header is not None
    return replace(found, header=replace(found.header, cwd=str(cwd)))


def heard(sent: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What items say, line by line; calls and outputs without their ids."""
    found: list[tuple[Any, ...]] = []
    for item in sent:
        for part in items.parts(item):
            match part:
                case items.TextPart(text=words):
                    found += [("text", line.strip()) for line in words.split("\n") if line.strip()]
                case items.ToolCallPart(name=name, kind=kind) if kind != items.HOSTED:
                    found.append(("call", name, json.dumps(arguments(part.arguments), sort_keys=True)))
                case items.ToolOutputPart(kind=kind) if kind != items.HOSTED:
                    found.append(("output", plain(items.output_text(part.content))))
                case items.ImagePart():
                    found.append(("picture",))
                case _:
                    pass
    return found


def missing(wanted: Sequence[tuple[Any, ...]], sent: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What of one list is not in the other, in its order: agents add instructions of their own."""
    rest: Iterator[tuple[Any, ...]] = iter(sent)
    return [one for one in wanted if not any(one == other for other in rest)]


# ---------------------------------------------------------------------------------- pi


@pytest.mark.skipif(PI is None or NODE is None, reason="pi is not installed")
def test_pi_reads_the_same_turns(tmp_path: Path) -> None:
    names = ["everything", *SMALL, *(sorted(FACTS) if CORPUS.exists() else ())]
    names.remove("pi/retained-tail-of-its-own.jsonl")  # pi 0.73.1 knows nothing of such a tail
    paths, given, told = [], [], []
    for number, name in enumerate(names):
        one = source(name, tmp_path)
        path = tmp_path / f"{number}.jsonl"
        made = write_converted(one, "pi", path)
        assert made.findings == ()
        told.append({change.rule for change in made.changes})
        paths.append(path)
        given.append(one)
    for name, path, one, rules, messages in zip(names, paths, given, told, read_by_pi(paths), strict=True):
        mine = heard(build_context(open_session(str(path)).entries).items)
        whole = [message for message in messages if message.get("stopReason") not in ("aborted", "error")]
        theirs = heard([_item(message) for message in whole])  # the others pi sends nowhere
        # What was made up: pi does so itself, when it sends a call that nobody answered.
        wanted = [each for each in mine if not each[-1].startswith("[No output of this tool call")]
        assert missing(wanted, theirs) == [], name
        calls = [each[1] for each in heard(build_context(one.entries).items) if each[0] == "call"]
        if rules.isdisjoint(("part-type", "replacement")):  # of those something goes as text, or not
            assert calls == [each[1] for each in theirs if each[0] == "call"], name


def _item(message: dict[str, Any]) -> dict[str, Any]:
    """A message of pi's context as an item: what pi says to a model for it."""
    match message["role"]:
        case "compactionSummary":
            return {"role": "user", "content": SUMMARY_PREFIX + message["summary"] + SUMMARY_SUFFIX}
        case "branchSummary":
            return {"role": "user", "content": branch_text(message["summary"])}
        case "custom":
            return {"role": "user", "content": message["content"]}
        case "bashExecution":
            return item_of(message)[0] if not message.get("excludeFromContext") else {}
        case _:
            return message


# ------------------------------------------------------------------------- Claude Code

SOME: Final = (
    "everything",
    "pi/kept-past-an-older-compaction.jsonl",
    "codex/late-abort.jsonl",
    "claude-code/kept-list.jsonl",
    "claude-code/unfinished-calls.jsonl",
)


def placed(one: ExportSource, agent: Agent, folder: Path) -> str:
    """The id of a session that was laid where its agent looks for it."""
    made = write_converted(one, agent, os.path.join(folder, *file_name(one, agent)))
    assert made.findings == ()
    return made.id


@pytest.mark.skipif(CLAUDE_CODE is None, reason="Claude Code is not installed")
@pytest.mark.parametrize("name", SOME)
def test_claude_code_goes_on_with_the_same_turns(name: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    one = source(name, work)
    session = placed(one, "claude-code", tmp_path / "root" / "projects")
    sent = asked_by_claude_code(tmp_path / "root", session, work, PROMPT)
    context = build_context(one.entries, target_of_claude(one.entries), details=one.details)
    assert missing(heard(context.items), heard(sent)) == []
    assert ("text", PROMPT) in heard(sent)
    assert ("text", "I was about") not in heard(sent)


@pytest.mark.skipif(CODEX is None, reason="Codex is not installed")
@pytest.mark.parametrize("name", [*SOME, "pi/branch.jsonl"])
def test_codex_goes_on_with_the_same_turns(name: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    one = source(name, work)
    session = placed(one, "codex", tmp_path / "root" / "sessions")
    sent = asked_by_codex(tmp_path / "root", session, work, PROMPT)
    context = build_context(one.entries, target_of_codex(one.entries), details=one.details)
    # Codex keeps each output behind its call, not behind all of them.
    texts = [each for each in heard(context.items) if each[0] != "output"]
    assert missing(texts, [each for each in heard(sent) if each[0] != "output"]) == []
    outputs = [each for each in heard(context.items) if each[0] == "output"]
    assert missing(outputs, [each for each in heard(sent) if each[0] == "output"]) == []


# ----------------------------------------------------------------- the SDK of Claude Code


@pytest.mark.parametrize("name", ["everything", *SMALL])
def test_the_sdk_of_claude_code_lists_and_reads_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = pytest.importorskip("claude_agent_sdk")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    one = source(name, work)
    session = placed(one, "claude-code", tmp_path / "projects")
    read = sdk.get_session_messages(session, directory=str(work))
    said = [{"role": each.type, **each.message} for each in read if isinstance(each.message, dict)]
    context = build_context(one.entries, target_of_claude(one.entries), details=one.details)
    # It gives no message that a compaction kept: those stand before it in the file.
    places = {each.id: place for place, each in enumerate(one.entries)}
    newest = newest_compaction(one.entries)
    since = -1 if newest is None else newest
    wanted = [row.item for row in context.rows if all(places[name] > since for name in row.entries)]
    assert missing(heard(wanted), heard(said)) == []
    assert [each.session_id for each in sdk.list_sessions(directory=str(work))] == [session]
