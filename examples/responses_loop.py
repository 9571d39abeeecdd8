"""A whole agent loop over OpenAI's Responses API."""

import os

from transcript_log import Session, Target, testing
from transcript_log.response import FinishReason, ToolCall

TARGET = Target("openai-responses", "gpt-5.4")
FOLDER = {"type": "object", "properties": {"folder": {"type": "string"}}, "required": ["folder"]}
REQUEST = {  # all that is sent beside the items; the server stores nothing, so reasoning comes encrypted
    "instructions": "You are a coding agent.",
    "tools": [{"type": "function", "name": "list_files", "parameters": FOLDER, "strict": False}],
    "store": False,
    "include": ["reasoning.encrypted_content"],
}
LOOK = [testing.call("list_files", folder="."), testing.call("list_files", folder="docs")]
model = testing.ScriptedModel(TARGET, [LOOK, "There is a log, and no folder for documents."])


def run_tool(call: ToolCall) -> str:
    if call.name != "list_files" or not call.is_runnable:
        raise ValueError(f"there is no tool {call.name!r} that takes {call.raw_arguments}")
    return "\n".join(sorted(os.listdir(call.arguments["folder"])))


with Session.create("session.jsonl") as session:
    session.add({"role": "user", "content": "What is in this folder, and in its documents?"})
    while True:
        context = session.context(TARGET)
        # The real client: OpenAI().responses.create(model=TARGET.model, input=context.items, **REQUEST)
        answer = session.add_response(model(context.items), to=context, request=REQUEST)
        for call in answer.calls:
            # Its start is on disk before it runs, its output after. An error is told to the model.
            with session.call(call, suppress=Exception) as tool:
                tool.output(run_tool(call))
        if answer.finish_reason is not FinishReason.TOOL_USE:
            break
    print(answer.text)
