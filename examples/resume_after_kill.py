"""An agent is killed with kill -9 while its tool runs; the next process finds out, and goes on."""

import subprocess
import sys
import time

from transcript_log import Session, Target, testing

TARGET = Target("openai-chat", "gpt-5.4")
# The real client: OpenAI().chat.completions.create(model=TARGET.model, messages=context.items, tools=…)
first_model = testing.ScriptedModel(TARGET, [testing.call("deploy", to="production")])
second_model = testing.ScriptedModel(TARGET, ["I will look whether it is deployed before I try again."])

if sys.argv[1:] == ["work"]:
    with Session.create("session.jsonl") as session:
        session.add({"role": "user", "content": "Deploy it."})
        context = session.context(TARGET)
        answer = session.add_response(first_model(context.items), to=context)
        for call in answer.calls:
            with session.call(call) as tool:  # its start is on disk from here on
                print("deploying", flush=True)
                time.sleep(60)  # stands for a tool that takes long
                tool.output("deployed")
else:
    with subprocess.Popen([sys.executable, __file__, "work"], stdout=subprocess.PIPE, text=True) as agent:
        agent.stdout.readline()  # the tool runs now
        agent.kill()

    with Session.open("session.jsonl") as session:  # a dead process holds no lock
        for waiting in session.open_calls():
            print(f"{waiting.call.name} {waiting.state} at {waiting.started_at}; its outcome is unknown")
        # Answer it with add_output if you can find out. Left open, it is answered with what is known.
        context = session.context(TARGET)
        print("The model is told:", context.items[-1]["content"])
        answer = session.add_response(second_model(context.items), to=context)
        print("It says:", answer.text)
