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

log = Path("session.jsonl")
if not log.exists():
    Path("old.txt").write_text("nothing of worth")
    with Session.create(log) as session:
        session.add({"role": "user", "content": "Tidy up."})
        context = session.context(TARGET)
        for call in session.add_response(evening_model(context.items), to=context).calls:
            if call.name in NEEDS_APPROVAL:
                print(f"{call.name} waits for your approval")  # nothing to store: the call stays open
                continue
            with session.call(call) as tool:
                tool.output(TOOLS[call.name](**call.arguments))
else:
    with Session.open(log) as session:
        for waiting in session.open_calls():
            if waiting.state != "never-began":  # approved before, and cut off while it ran
                session.add_output(waiting.call, "It was started. Check what it did.", is_error=True)
            elif input(f"{waiting.call.name} {waiting.call.arguments}? ") == "yes":
                with session.call(waiting.call) as tool:
                    TOOLS[waiting.call.name](**waiting.call.arguments)
                    tool.output("done")
            else:
                session.add_output(waiting.call, "The user does not allow it.", is_error=True)
        context = session.context(TARGET)
        print(session.add_response(morning_model(context.items), to=context).text)
