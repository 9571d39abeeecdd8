"""One session, two providers: OpenAI begins, Anthropic goes on, and what is lost on the way is told."""

from transcript_log import Session, Target, testing

OPENAI = Target("openai-responses", "gpt-5.4")
ANTHROPIC = Target("anthropic-messages", "claude-opus-4-8")
CALL = {"type": "function_call", "call_id": "call_1", "name": "run_tests", "arguments": "{}"}
ANSWER = {  # what the real client gives back is an object with these fields
    "id": "resp_1",
    "object": "response",
    "model": "gpt-5.4-2026-03-05",
    "status": "completed",
    "output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA…"}, CALL],
}
# The real clients:
#     OpenAI().responses.create(model=OPENAI.model, input=context.items, store=False, include=[…])
#     Anthropic().messages.create(model=ANTHROPIC.model, messages=context.items, max_tokens=16000)
MODELS = {
    OPENAI: testing.ScriptedModel(OPENAI, [ANSWER, "Yes: the same two tests fail."]),
    ANTHROPIC: testing.ScriptedModel(ANTHROPIC, ["Two of them fail, both in the lexer."]),
}


def ask(session: Session, target: Target) -> None:
    context = session.context(target)
    for change in context.changes:
        print(f"for {target.model}: {change}")
    answer = session.add_response(MODELS[target](context.items), to=context)
    for call in answer.calls:
        with session.call(call) as tool:
            tool.output("2 failed, 41 passed", is_error=True)
    print(f"{target.model}: {answer.text or [call.name for call in answer.calls]}")


with Session.create("session.jsonl") as session:
    session.add({"role": "user", "content": "Do the tests pass?"})
    ask(session, OPENAI)
    ask(session, ANTHROPIC)  # the call is put in its words; reasoning that it cannot read stays behind
    session.add({"role": "user", "content": "Are you sure?"})
    ask(session, OPENAI)  # and here that reasoning is back
