"""A viewer shows a session while another process writes it."""

import subprocess
import sys

from transcript_log import Session, Target, testing
from transcript_log.history import Called, OutputWithoutCall, Ran, Said, build_history

TARGET = Target("openai-responses", "gpt-5.4")
# The real client: OpenAI().responses.create(model=TARGET.model, input=context.items, store=False, …)
model = testing.ScriptedModel(TARGET, [["I count.", testing.call("count", to=3)]])


def view(writer: subprocess.Popen) -> None:
    codes = [None]  # after each look; once it has ended, however it did, there is one look more
    with Session.open("session.jsonl", mode="read") as session:  # takes no lock, disturbs no writer
        for batch in session.follow(stop=lambda: codes.append(writer.poll()) or codes[-2] is not None):
            for event in build_history(batch).events:
                match event:
                    case Said():
                        print(f"{event.role}: {event.text}")
                    case Called():
                        print(f"{event.name} is called with {event.arguments}")
                    case OutputWithoutCall():  # its call came in an earlier batch
                        print(f"it gave back {event.output}")
                    case Ran():
                        print(f"the run is {event.status}")


if sys.argv[1:] == ["write"]:
    with Session.open("session.jsonl") as session, session.run():
        session.add({"role": "user", "content": "Count to three."})
        context = session.context(TARGET)
        for call in session.add_response(model(context.items), to=context).calls:
            with session.call(call) as tool:
                tool.output("1 2 3")
else:
    Session.create("session.jsonl").close()
    with subprocess.Popen([sys.executable, __file__, "write"]) as writer:
        view(writer)
