"""Fifty subagents at once under one parent: each has a log of its own, which names the call it answers."""

import asyncio

from transcript_log import Target, testing
from transcript_log.aio import AsyncSession
from transcript_log.entries import ParentCall

TARGET = Target("openai-responses", "gpt-5.4")
REVIEWS = [testing.call("review", path=f"part_{number}.py") for number in range(50)]


async def ask(session, model):
    context = await session.context(TARGET)
    # The real one: await AsyncOpenAI().responses.create(model=TARGET.model, input=context.items, store=False)
    return await session.add_response(model(context.items), to=context)


async def subagent(call, parent):
    log, mine = f"subagents/{call.id}.jsonl", ParentCall(parent, call.id)
    async with await AsyncSession.create(log, parent=mine) as session, session.run():
        await session.add({"role": "user", "content": f"Review {call.arguments['path']}."})
        return (await ask(session, testing.ScriptedModel(TARGET, ["It is fine."]))).text


async def run_tool(session, call):
    async with session.call(call) as tool:
        tool.output(await subagent(call, parent=session.id))


async def main():
    model = testing.ScriptedModel(TARGET, [REVIEWS, "All fifty are fine."])
    async with await AsyncSession.create("parent.jsonl") as session:
        await session.add({"role": "user", "content": "Review all parts."})
        calls = (await ask(session, model)).calls
        await asyncio.gather(*[run_tool(session, call) for call in calls], return_exceptions=True)
        print((await ask(session, model)).text)  # a subagent that failed has its error for an output


asyncio.run(main())
