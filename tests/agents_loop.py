"""An agent of the OpenAI Agents SDK whose model answers by script, and takes only what its API takes.

A request is judged by the rules of the Responses API, so that an agent that goes on from a log
shows that the log gave it what it may send.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from extras import needed

from transcript_log import Target
from transcript_log.apis import check_items

agents = needed("agents", "openai-agents")
testing = needed("agents.testing", "openai-agents")
responses = needed("openai.types.responses", "openai-agents")

agents.set_tracing_disabled(True)

TARGET: Final = Target("openai-responses", "gpt-5.4")

Part = tuple[str, ...]
"""``("say", TEXT)``, ``("think", SECRET)`` or ``("call", NAME, ARGUMENTS)``."""

_numbers = itertools.count(1)


def call(name: str, arguments: str = "{}") -> Part:
    return ("call", name, arguments)


def _output(part: Part, prefix: str) -> Any:
    key = f"{prefix}{next(_numbers)}"
    match part:
        case ("say", text):
            return testing.assistant_message(text, item_id=f"msg_{key}")
        case ("call", name, arguments):
            return responses.ResponseFunctionToolCall(
                id=f"fc_{key}", call_id=f"call_{key}", type="function_call", name=name, arguments=arguments
            )
        case ("think", secret):
            return responses.ResponseReasoningItem(
                id=f"rs_{key}", summary=[], type="reasoning", encrypted_content=secret
            )
    raise AssertionError(part)


class Judge:
    """A scripted model, and what it was sent."""

    def __init__(self, script: Sequence[Sequence[Part]], prefix: str = "") -> None:
        self.requests: list[list[dict[str, Any]]] = []
        self.model = testing.ScriptedModel([self._step(parts, prefix) for parts in script])

    def _step(self, parts: Sequence[Part], prefix: str) -> Any:
        def respond(request: Any) -> Any:
            sent = request.input
            if isinstance(sent, str):
                sent = [{"role": "user", "content": sent}]
            self.requests.append(sent)
            broken = [found for found in check_items(sent, TARGET) if found.severity != "note"]
            assert not broken, broken
            return [_output(part, prefix) for part in parts]

        return testing.ModelStep.respond(respond)


def tool(function: Callable[..., Any]) -> Any:
    return agents.function_tool(function)


def agent(judge: Judge, name: str = "builder", **more: Any) -> Any:
    return agents.Agent(name=name, instructions="Build.", model=judge.model, **more)
