"""A call waits overnight for approval: start this in the evening, and once more in the morning."""

from pathlib import Path

from transcript_log import Session, Target, testing

TARGET = Target("openai-chat", "gpt-5.4")
TOOLS = {"read_file": lambda path: Path(path).read_text(), "delete_file": lambda path: Path(path).unlink()}
NEEDS_APPROVAL = {"delete_file"}
TIDY = [testing.call("read_file", path="old.txt"), testing.call("delete_file", path="old.txt")]
# The real client: OpenAI().chat.completions.create(model=TARGET.model, messages=context.items, tools=…)
evening_model = testing.ScriptedModel(TARGET, [TIDY])
morning_model = testing.ScriptedModel(TARGET, ["Good morning! That is settled then."])


def run_tool(session: Session, call) -> None:
    with session.call(call) as tool:
        tool.output(TOOLS[call.name](**call.arguments) or "done")


with Session.open("session.jsonl", create=True) as session:
    if session.head in ("", "task"):  # nothing was answered yet, even if this was killed before
        Path("old.txt").write_text("nothing of worth")
        session.add({"role": "user", "content": "Tidy up."}, ids=["task"])
        context = session.context(TARGET)
        for call in session.add_response(evening_model(context.items), to=context).calls:
            if call.name in NEEDS_APPROVAL:
                print(f"{call.name} waits for your approval")  # nothing to store: the call stays open
            else:
                run_tool(session, call)
    else:
        for call, state in [(waiting.call, waiting.state) for waiting in session.open_calls()]:
            if state != "never-began":  # it was cut off while it ran
                session.add_output(call, "It was started. Check what it did.", is_error=True)
            elif call.name not in NEEDS_APPROVAL or input(f"{call.name} {call.arguments}? ") == "yes":
                run_tool(session, call)
            else:
                session.add_output(call, "The user does not allow it.", is_error=True)
        context = session.context(TARGET)
        print(session.add_response(morning_model(context.items), to=context).text)
