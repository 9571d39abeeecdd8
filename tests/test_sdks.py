"""Whole loops with the real clients of providers, over a network that plays recorded JSON.

The client takes a context as its request and gives its own object for the answer; that goes into
the session, and out of it into the next request. What is on the wire then is what was on the
wire before: nothing is added, not even a null.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from recorded_responses import chat, message, responses

from transcript_log import Context, Session, Target
from transcript_log.response import FinishReason

httpx = pytest.importorskip("httpx2")

REASONING: Final = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAA"}
FUNCTION: Final = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "shell",
    "arguments": '{"command":"make"}',
    "status": "completed",
}
SAID: Final = responses()["output"][0]
ASKED: Final = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": '{"command":"make"}'}}
    ],
}
BLOCKS: Final = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "text", "text": "Let me see."},
    {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {"command": "make"}},
]
FUTURE: Final = {"type": "some_future_block", "data": {"a": None, "b": [1.5]}}


class Network:
    """Answers what is recorded, and keeps the bodies of requests."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = [copy.deepcopy(answer) for answer in answers]
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: Any) -> Any:
        self.bodies.append(json.loads(request.content))
        return httpx.Response(200, json=self.answers.pop(0), request=request)

    def client(self) -> Any:
        return httpx.Client(transport=httpx.MockTransport(self))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session.create(tmp_path / "s.jsonl") as made:
        yield made


def run(session: Session, target: Target, ask: Any) -> None:
    """A loop as the README has it."""
    session.add({"role": "user", "content": "Does it build?"})
    while True:
        context = session.context(target)
        answer = session.add_response(ask(context), to=context)
        for call in answer.calls:
            with session.call(call) as tool:
                tool.output(f"{call.arguments['command']}: done")
        if answer.finish_reason is not FinishReason.TOOL_USE:
            return


def reopened(session: Session) -> Session:
    session.close()
    return Session.open(session.store.path)  # type: ignore[attr-defined]


def test_a_loop_over_the_responses_api(session: Session) -> None:
    openai = pytest.importorskip("openai")
    from openai.types.responses import ResponseInputParam
    from pydantic import TypeAdapter

    first = [REASONING, FUNCTION]
    network = Network(responses(first), responses([SAID]), responses([SAID]))
    client = openai.OpenAI(api_key="none", http_client=network.client())
    target = Target("openai-responses", "gpt-5.4")

    def ask(context: Context) -> Any:
        TypeAdapter(ResponseInputParam).validate_python(context.items)
        return client.responses.create(model=target.model, input=context.items, store=False)

    run(session, target, ask)
    again = reopened(session)
    again.add({"role": "user", "content": "Sure?"})
    ask(again.context(target))
    again.close()
    output = {"type": "function_call_output", "call_id": "call_1", "output": "make: done"}
    assert network.bodies[1]["input"][1:] == [*first, output]
    assert network.bodies[2]["input"][:-1] == [*network.bodies[1]["input"], SAID]


def test_a_loop_over_chat_completions(session: Session) -> None:
    openai = pytest.importorskip("openai")
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    network = Network(chat(ASKED, finish="tool_calls"), chat(), chat())
    client = openai.OpenAI(api_key="none", http_client=network.client())
    target = Target("openai-chat", "gpt-5.4")

    def ask(context: Context) -> Any:
        TypeAdapter(list[ChatCompletionMessageParam]).validate_python(context.items)
        return client.chat.completions.create(model=target.model, messages=context.items)

    run(session, target, ask)
    again = reopened(session)
    again.add({"role": "user", "content": "Sure?"})
    ask(again.context(target))
    again.close()
    output = {"role": "tool", "tool_call_id": "call_1", "content": "make: done"}
    assert network.bodies[1]["messages"][1:] == [ASKED, output]
    assert network.bodies[2]["messages"][:-1] == [
        *network.bodies[1]["messages"],
        chat()["choices"][0]["message"],
    ]


@pytest.mark.parametrize("blocks", [BLOCKS, [*BLOCKS[:2], FUTURE, BLOCKS[2]]], ids=["known", "newer"])
def test_a_loop_over_the_messages_api(session: Session, blocks: list[dict[str, Any]]) -> None:
    anthropic = pytest.importorskip("anthropic")
    from anthropic.types import MessageParam
    from pydantic import TypeAdapter

    done = message([{"type": "text", "text": "It does."}])
    network = Network(message(blocks, stop="tool_use"), done, done)
    client = anthropic.Anthropic(api_key="none", http_client=network.client())
    target = Target("anthropic-messages", "claude-opus-4-8")

    def ask(context: Context) -> Any:
        if FUTURE not in blocks:
            TypeAdapter(list[MessageParam]).validate_python(context.items)
        return client.messages.create(model=target.model, messages=context.items, max_tokens=1000)

    run(session, target, ask)
    again = reopened(session)
    again.add({"role": "user", "content": "Sure?"})
    ask(again.context(target))
    again.close()
    output = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "make: done"}
    sent = network.bodies[1]["messages"]
    assert sent[1] == {"role": "assistant", "content": blocks}
    assert sent[2] == {"role": "user", "content": [output]}
    assert network.bodies[2]["messages"][:3] == sent


def test_an_object_of_a_stream_is_recorded_like_any_other(session: Session) -> None:
    openai = pytest.importorskip("openai")
    events = [
        {"type": "response.created", "sequence_number": 0, "response": responses([], status="in_progress")},
        {"type": "response.completed", "sequence_number": 1, "response": responses([REASONING, FUNCTION])},
    ]
    lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)

    def stream(request: Any) -> Any:
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, content=lines.encode(), request=request)

    client = openai.OpenAI(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(stream)))
    target = Target("openai-responses", "gpt-5.4")
    session.add({"role": "user", "content": "Does it build?"})
    context = session.context(target)
    last = None
    for event in client.responses.create(model=target.model, input=context.items, stream=True):
        if event.type == "response.completed":
            last = event.response
    answer = session.add_response(last, to=context)
    assert [entry.message for entry in answer.entries] == [REASONING, FUNCTION]
    assert [call.arguments for call in answer.calls] == [{"command": "make"}]


def test_a_loop_with_gemini(session: Session) -> None:
    """With google-genai where it is installed; it is too much to install for this alone."""
    genai = pytest.importorskip("google.genai")
    signature = "c2lnbmF0dXJl-_8="  # in the alphabet that the client writes
    called = {
        "role": "model",
        "parts": [
            {"text": "Hm.", "thought": True},
            {
                "functionCall": {"id": "f1", "name": "shell", "args": {"command": "make"}},
                "thoughtSignature": signature,
            },
        ],
    }
    done = {"role": "model", "parts": [{"text": "It does."}]}
    network = Network(
        *({"candidates": [{"content": each, "finishReason": "STOP"}]} for each in (called, done, done))
    )
    options = genai.types.HttpOptions(httpx_client=network.client())
    client = genai.Client(api_key="none", http_options=options)
    target = Target("gemini", "gemini-3-pro")

    def ask(context: Context) -> Any:
        for item in context.items:
            genai.types.Content.model_validate(item)
        return client.models.generate_content(model=target.model, contents=context.items)

    run(session, target, ask)
    again = reopened(session)
    again.add({"role": "user", "content": "Sure?"})
    ask(again.context(target))
    again.close()
    output = {"functionResponse": {"id": "f1", "name": "shell", "response": {"output": "make: done"}}}
    sent = network.bodies[1]["contents"]
    assert sent[1] == called
    assert sent[2] == {"role": "user", "parts": [output]}
    assert network.bodies[2]["contents"][:3] == sent
