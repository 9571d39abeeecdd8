"""A loop over Anthropic's Messages API whose thinking blocks go back as they came."""

import platform

from transcript_log import Session, Target, testing
from transcript_log.response import FinishReason

TARGET = Target("anthropic-messages", "claude-opus-4-8")
REQUEST = {  # all that is sent beside the messages
    "system": "You are a coding agent.",
    "tools": [{"name": "python_version", "input_schema": {"type": "object", "properties": {}}}],
    "thinking": {"type": "adaptive"},
    "max_tokens": 16000,
}
THINKING = {"type": "thinking", "thinking": "The interpreter knows.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA"}
USE = {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "python_version", "input": {}}
THINKS = {  # what the real client gives back is an object with these fields
    "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-8",
    "content": [THINKING, USE],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 412, "output_tokens": 61},
}
model = testing.ScriptedModel(TARGET, [THINKS, "It is Python 3."])

with Session.create("session.jsonl") as session:
    session.add({"role": "user", "content": "Which Python is this?"})
    reason = FinishReason.TOOL_USE
    while reason in (FinishReason.TOOL_USE, FinishReason.PAUSE):  # a paused turn goes on with no new message
        context = session.context(TARGET)
        # The real client: Anthropic().messages.create(model=TARGET.model, messages=context.items, **REQUEST)
        answer = session.add_response(model(context.items), to=context, request=REQUEST)
        for call in answer.calls:
            with session.call(call) as tool:
                tool.output(platform.python_version())
        reason = answer.finish_reason
    print(answer.text, "It was sent:", *[block["type"] for block in model.requests[1][1]["content"]])
