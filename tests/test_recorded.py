"""A recorded session plays its model and its tools, and tells where an agent departs from it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_responses import chat, message, responses

from transcript_log import Session, Target, build_context, new_message
from transcript_log.cli.source import open_session
from transcript_log.entries import (
    Compaction,
    ContextAttachment,
    MessageEntry,
    Run,
    new_compaction,
    new_run,
    utc_now,
)
from transcript_log.errors import ContextError, TargetError
from transcript_log.recorded import DepartureError, RecordedSession, UnplayedError
from transcript_log.response import FinishReason, parse_response
from transcript_log.response.rebuilt import answer_of_items
from transcript_log.testing import RefusedError, ScriptedModel, ScriptError, call

ROOT: Final = Path(__file__).resolve().parent.parent
TARGETS: Final = [
    Target("openai-responses", "gpt-5.4"),
    Target("openai-chat", "gpt-5.4"),
    Target("anthropic-messages", "claude-opus-4-8"),
]
REQUEST: Final = {"temperature": 0, "tools": [{"name": "shell"}]}

Tool = Callable[[Any, Any], None]


def agent(
    session: Session, target: Target, model: Any, prompts: list[Any], tool: Tool, **beside: Any
) -> None:
    """A loop as the README has it."""
    for prompt in prompts:
        session.add(prompt)
        while True:
            context = session.context(target)
            answer = session.add_response(model(context.items, **beside), to=context, request=REQUEST)
            for one in answer.calls:
                with session.call(one, suppress=Exception) as recorder:
                    tool(one, recorder)
            if not answer.calls:
                break


def real(one: Any, recorder: Any) -> None:
    if one.arguments["command"] == "false":
        recorder.output("exit 1", is_error=True)
    else:
        recorder.output(f"{one.arguments['command']}: done")


def recording(target: Target) -> Session:
    """A session of two turns, with parallel calls and one that fails."""
    script = [
        ["Two calls.", call("shell", command="make"), call("shell", command="false")],
        call("shell", command="make -k"),
        "It does not build.",
        "Yes.",
    ]
    session = Session.in_memory()
    prompts: list[Any] = [{"role": "user", "content": "Does it build?"}, {"role": "user", "content": "Sure?"}]
    agent(session, target, ScriptedModel(target, script), prompts, real)
    return session


def answers(session: Session) -> list[Any]:
    """Why each answer ended, and what it took."""
    records = [one.response for one in session.entries() if isinstance(one, MessageEntry) and one.response]
    return [(one.finish_reason, one.usage) for one in records]


def of(session: Session, **more: Any) -> RecordedSession:
    view = session.view()
    return RecordedSession(view.entries, view.details, **more)


def playing(recorded: RecordedSession) -> Tool:
    def tool(one: Any, recorder: Any) -> None:
        given_ = recorded.tool(one)
        recorder.output(given_.content, is_error=given_.is_error, outcome=given_.outcome)

    return tool


# ------------------------------------------------------------------------------- playing


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.api)
def test_the_same_agent_does_the_same_again(target: Target) -> None:
    first = recording(target)
    recorded = of(first)
    assert recorded.model.target == target or target.api == "openai-chat"
    again = Session.in_memory()
    agent(again, target, recorded.model, list(recorded.prompts), playing(recorded), request=REQUEST)
    recorded.check()
    assert recorded.findings == ()
    assert [one.message for one in again.entries() if isinstance(one, MessageEntry)] == [
        one.message for one in first.entries() if isinstance(one, MessageEntry)
    ]
    assert answers(again) == answers(first)
    assert [one.text for one in recorded.outputs] == ["make: done", "exit 1", "make -k: done"]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.api)
@pytest.mark.parametrize("other", TARGETS, ids=lambda target: target.api)
def test_an_agent_may_ask_another_api(target: Target, other: Target) -> None:
    recorded = of(recording(target), target=other)
    again = Session.in_memory()
    agent(again, other, recorded.model, list(recorded.prompts), playing(recorded))
    recorded.check()


def test_an_answer_is_given_as_it_came() -> None:
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "It does."},
        {"type": "from_the_future", "data": [1]},
    ]
    session = Session.in_memory()
    session.add({"role": "user", "content": "Does it build?"})
    raw = message(blocks, stop="end_turn")
    session.add_response(raw, to=session.context(TARGETS[2]))
    played = of(session, target=TARGETS[2]).model([{"role": "user", "content": "Does it build?"}])
    assert played["content"] == blocks
    assert (played["id"], played["stop_reason"]) == (raw["id"], "end_turn")
    mine, theirs = parse_response(played), parse_response(raw)
    assert mine.usage == theirs.usage


# ----------------------------------------------------------------------------- departing


def test_a_request_that_is_another_fails_and_says_where() -> None:
    recorded = of(recording(TARGETS[0]))
    again = Session.in_memory()

    def lying(one: Any, recorder: Any) -> None:
        recorder.output("make: NOT done" if one.arguments["command"] == "make" else "exit 1")

    with pytest.raises(DepartureError) as caught:
        agent(again, TARGETS[0], recorded.model, list(recorded.prompts), lying)
    told = str(caught.value)
    assert caught.value.number == 2
    assert "request 2 is not the one that entry" in told
    assert "they part at item 4" in told
    assert '-  "output": "make: done"' in told.replace(",", "")
    assert '+  "output": "make: NOT done"' in told.replace(",", "")
    assert "Does it build?" not in told  # what is the same is not shown
    with pytest.raises(DepartureError):
        recorded.check()


def test_more_and_fewer_items_are_told() -> None:
    recorded = of(recording(TARGETS[0]))
    with pytest.raises(DepartureError, match="1 items are on record, 2 were sent; they part at item 1"):
        recorded.model([{"role": "user", "content": "Does it build?"}, {"role": "user", "content": "Hm?"}])
    with pytest.raises(DepartureError, match="1 items are on record, 0 were sent; they part at item 0"):
        recorded.model([])


def test_the_order_of_keys_and_the_volatile_parts_are_no_departure() -> None:
    session = Session.in_memory()
    session.add({"role": "user", "content": "Look at /scratch/one/a.py"})
    script = ["I did."]
    model = ScriptedModel(TARGETS[1], script)
    session.add_response(model(session.context(TARGETS[1]).items), to=session.context(TARGETS[1]))
    sent = [{"content": "Look at /scratch/two/a.py", "role": "user"}]
    with pytest.raises(DepartureError):
        of(session).model(sent)

    def normalize(text: str) -> str:
        return text.replace("/scratch/one", "TMP").replace("/scratch/two", "TMP")

    recorded = of(session, normalize=normalize)
    recorded.model(sent)
    recorded.check()


def test_what_is_sent_beside_the_items_is_compared_where_it_is_on_record() -> None:
    recorded = of(recording(TARGETS[0]))
    sent = [{"role": "user", "content": "Does it build?"}]
    with pytest.raises(
        DepartureError, match=r'(?s)beside the items.*-.*"temperature": 0.*\+.*"temperature": 1'
    ):
        recorded.model(sent, request={**REQUEST, "temperature": 1})
    recorded = of(recording(TARGETS[0]))
    recorded.model(sent, request=REQUEST)


def test_a_request_on_record_that_the_api_refuses_is_refused_all_the_same() -> None:
    session = Session.in_memory()
    session.add({"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."})
    recorded = of(session, target=TARGETS[2], normalize=lambda text: "")
    with pytest.raises(RefusedError):
        recorded.model([{"role": "user", "content": ""}])


def test_an_agent_that_asks_too_often_or_not_often_enough_is_found_out() -> None:
    recorded = of(recording(TARGETS[0]))
    with pytest.raises(
        UnplayedError, match="4 recorded answers were not asked for; the next is that of entry"
    ):
        recorded.check()
    session = Session.in_memory()
    agent(session, TARGETS[0], recorded.model, list(recorded.prompts), playing(recorded))
    recorded.check()
    session.add({"role": "user", "content": "Once more?"})
    with pytest.raises(ScriptError):
        recorded.model(session.context(TARGETS[0]).items)
    with pytest.raises(ScriptError):
        recorded.check()


def test_what_was_suppressed_is_not_forgotten() -> None:
    recorded = of(recording(TARGETS[0]))
    for text in ("One?", "Two?"):
        with pytest.raises(DepartureError):
            recorded.model([{"role": "user", "content": text}])
    with pytest.raises(DepartureError, match="One"):
        recorded.check()


# ---------------------------------------------------------------------------------- records


def test_calls_with_one_id_are_answered_in_turn() -> None:
    one = {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}
    family = TARGETS[0].family
    entries = [
        new_message({"role": "user", "content": "Go."}),
        new_message(one, family=family),
        new_message({"type": "function_call_output", "call_id": "c", "output": "first"}),
        new_message(one, family=family),
        new_message({"type": "function_call_output", "call_id": "c", "output": "second"}),
    ]
    recorded = RecordedSession(entries, {})
    assert [recorded.tool("c").content for _ in range(3)] == ["first", "second", "second"]
    with pytest.raises(LookupError, match="no output is on record for a call 'd'"):
        recorded.tool("d")


def test_who_is_asked_must_be_told() -> None:
    mixed = [
        new_message({"role": "user", "content": "x"}),
        new_message({"role": "assistant", "content": "a"}, family=TARGETS[1].family),
        new_message({"role": "user", "content": "y"}),
        new_message({"role": "assistant", "content": "b"}, family=TARGETS[2].family),
    ]
    with pytest.raises(TargetError, match="several models answered"):
        RecordedSession(mixed, {})
    with pytest.raises(TargetError, match="does not tell who was asked"):
        RecordedSession(mixed[:1], {})
    RecordedSession(mixed, {}, target=TARGETS[1])


def test_a_request_that_cannot_be_made_again_is_no_request_that_is_the_same() -> None:
    entries = [
        new_message({"role": "user", "content": " "}),
        new_message({"role": "assistant", "content": "a"}),
    ]
    recorded = RecordedSession(entries, {}, target=TARGETS[2])
    for _ in range(2):
        with pytest.raises(ContextError, match="nothing to send"):
            recorded.model([{"role": "user", "content": "x"}])
    with pytest.raises(ContextError):
        recorded.check()


def test_what_is_not_played_is_told() -> None:
    family = TARGETS[0].family
    entries = [
        new_message({"role": "user", "content": "x"}),
        new_message({"role": "assistant", "content": "half"}, family=family, interrupted=True),
        new_compaction(Compaction(summary="So far.")),
        new_message({"role": "user", "content": "y"}),
        new_message({"role": "assistant", "content": "b"}, family=family),
    ]
    recorded = RecordedSession(entries, {})
    assert [(one.rule, one.entry) for one in recorded.findings] == [
        ("interrupted", entries[1].id),
        ("compaction", entries[2].id),
    ]
    context = build_context(entries[:4], TARGETS[0])
    assert recorded.model(context.items)["output"] == [{"role": "assistant", "content": "b"}]
    recorded.check()


def test_what_was_said_in_several_messages_is_one_answer_of_chat() -> None:
    def said(text: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "role": "assistant", "content": [part]}

    entries = [
        new_message({"role": "user", "content": "x"}),
        new_message(said("One.")),
        new_message(said("Two.")),
        new_message({"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}),
        new_message({"type": "function_call_output", "call_id": "c", "output": "done"}),
        new_message(said("Three.")),
    ]
    recorded = RecordedSession(entries, {}, target=TARGETS[1])
    session = Session.in_memory()
    agent(session, TARGETS[1], recorded.model, list(recorded.prompts), playing(recorded))
    recorded.check()
    answer = session.entries()[1]
    assert isinstance(answer, MessageEntry)
    assert answer.message["content"] == "One.\n\nTwo."
    assert [one["id"] for one in answer.message["tool_calls"]] == ["c"]


def test_what_was_left_aside_answers_no_call() -> None:
    family = TARGETS[0].family
    entries = [
        new_message({"role": "user", "content": "x"}),
        new_message(
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}, family=family
        ),
        new_message({"type": "function_call_output", "call_id": "c", "output": "no"}, interrupted=True),
        new_run(Run(started_at=utc_now(), completed_at=utc_now())),
        new_message({"type": "function_call_output", "call_id": "c", "output": "yes"}),
        new_message({"role": "assistant", "content": "Done."}, family=family),
    ]
    recorded = RecordedSession(entries, {})
    assert [one.text for one in recorded.outputs] == ["yes"]
    assert (recorded.model.left, recorded.findings) == (2, ())


@pytest.mark.parametrize("error", [DepartureError(2, "e1", "- a\n+ b"), UnplayedError(1, "e2")])
def test_what_went_wrong_can_be_sent_to_another_process(error: Exception) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_long_line_of_a_difference_is_cut() -> None:
    session = Session.in_memory()
    session.add({"role": "user", "content": "x" * 9000}, {"role": "assistant", "content": "y"})
    recorded = of(session, target=TARGETS[1])
    with pytest.raises(DepartureError) as caught:
        recorded.model([{"role": "user", "content": "z" * 9000}])
    assert max(map(len, str(caught.value).splitlines())) == 402


def test_attachments_are_placed_if_they_were() -> None:
    session = Session.in_memory()
    session.attach(
        ContextAttachment(
            attachment_id="a", kind="rules", placement="prefix", revision="1", rendered="Be brief."
        )
    )
    session.add({"role": "user", "content": "Hi."})
    context = session.context(TARGETS[1], attachments=True)
    session.add_response(ScriptedModel(TARGETS[1], ["Hello."])(context.items), to=context)
    of(session, attachments=True).model(context.items)
    with pytest.raises(DepartureError):
        of(session).model(context.items)


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in (ROOT / "tests" / "data").glob("*/*.jsonl")
        if path.parent.name in ("claude-code", "codex", "pi")
    ),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.api)
def test_an_imported_session_is_played_as_its_contexts_were(path: Path, target: Target) -> None:
    session = open_session(str(path))
    recorded = RecordedSession(session.entries, session.details, target=target)
    while recorded.model.left:
        number = len(recorded.model.entries) - recorded.model.left
        expected = recorded.model._request(number)
        answer = parse_response(recorded.model(expected))
        assert answer.replay_blocks is not None
        for one in answer.tool_calls:
            assert one.name
    recorded.check()


# ------------------------------------------------------------------------- made again

WORDS: Final = st.sampled_from([None, FinishReason.STOP, FinishReason.TOOL_USE, FinishReason.MAX_TOKENS])


@pytest.mark.parametrize("raw", [responses(), chat(), message([{"type": "text", "text": "x"}])])
def test_an_answer_made_again_is_read_as_the_first_was(raw: dict[str, Any]) -> None:
    first = parse_response(raw)
    assert first.replay_blocks is not None
    made = answer_of_items(
        first.replay_blocks.format,
        first.replay_blocks.data,
        id=str(first.id),
        model=str(first.model),
        finish=first.finish_reason,
        usage=first.usage,
    )
    again = parse_response(made)
    for name in ("text", "tool_calls", "usage", "finish_reason", "id", "model", "replay_blocks"):
        assert getattr(again, name) == getattr(first, name), name


@given(WORDS, st.sampled_from(TARGETS), st.booleans())
def test_why_it_ended_is_read_back(finish: FinishReason | None, target: Target, calls: bool) -> None:
    raw = ScriptedModel(target, [call("shell") if calls else "text"])([{"role": "user", "content": "x"}])
    first = parse_response(raw)
    assert first.replay_blocks is not None
    made = answer_of_items(target.api, first.replay_blocks.data, id="r", model="m", finish=finish)
    again = parse_response(made)
    usual = FinishReason.TOOL_USE if calls else FinishReason.STOP
    expected = finish if finish is FinishReason.MAX_TOKENS else usual
    if finish in (None, usual, FinishReason.MAX_TOKENS):
        assert again.finish_reason is expected


def test_an_answer_of_an_unknown_api_or_of_several_messages_is_none() -> None:
    with pytest.raises(KeyError):
        answer_of_items("google-gemini", [], id="r", model="m")
    two = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
    with pytest.raises(ValueError, match="has one message"):
        answer_of_items("openai-chat", two, id="r", model="m")
    made = answer_of_items("deepseek-chat", two[:1], id="r", model="m")
    assert made["choices"][0]["message"] == two[0]
