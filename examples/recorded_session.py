"""A test that plays a recorded session: run by Python this records one, run by pytest it plays it."""

import pytest

from transcript_log import Session, Target, testing

target = Target("anthropic-messages", "claude-opus-4-8")


def run_agent(session, model, run_tool, prompts):
    for prompt in prompts:
        session.add(prompt)
        while True:
            context = session.context(target)
            # client.messages.create(model=target.model, messages=context.items, max_tokens=16000)
            answer = session.add_response(model(context.items), to=context)
            for call in answer.calls:
                with session.call(call) as tool:
                    tool.output(run_tool(call))
            if not answer.calls:
                break
    return answer.text


@pytest.mark.recorded_session("recorded.jsonl", target=target)
def test_it_does_what_it_did(recorded_session):
    def tool(call):
        return recorded_session.tool(call).content

    with Session.in_memory() as session:
        said = run_agent(session, recorded_session.model, tool, recorded_session.prompts)
    assert said == "It builds."


if __name__ == "__main__":
    scripted = testing.ScriptedModel(target, [testing.call("shell", command="make"), "It builds."])
    with Session.create("recorded.jsonl") as session:
        question = {"role": "user", "content": "Does it build?"}
        print(run_agent(session, scripted, lambda _: "make: done", [question]))
