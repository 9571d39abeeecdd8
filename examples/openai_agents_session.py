"""An agent of the OpenAI Agents SDK on a log: its session outlives the process, and forgets nothing."""

import asyncio

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from transcript_log import Session, Target
from transcript_log.adapters.openai_agents import TranscriptSession

set_tracing_disabled(True)  # it would go to OpenAI
target = Target("openai-responses", "gpt-5.4")  # who can read the reasoning that comes back


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


async def ask(question, *answers):
    model = ScriptedModel(list(answers))  # model="gpt-5.4" asks the real one
    agent = Agent(name="guide", instructions="Be brief.", tools=[weather], model=model)
    async with await TranscriptSession.open("session.jsonl", target=target) as session:
        return (await Runner.run(agent, question, session=session)).final_output


calls = [function_call("weather", {"city": city}, call_id=f"call_{city}") for city in ("Oslo", "Rome")]
print(asyncio.run(ask("How is the weather?", calls, [assistant_message("It rains.")])))
print(asyncio.run(ask("And tomorrow?", [assistant_message("Ask me tomorrow.")])))  # opened anew


async def take_back():
    async with await TranscriptSession.open("session.jsonl", target=target) as session:
        print("taken back:", [(await session.pop_item())["role"] for _ in range(2)])


asyncio.run(take_back())
with Session.open("session.jsonl", mode="read") as log:
    print(len(log.items()), "items are left of", sum(e.type == "message" for e in log.entries()))
