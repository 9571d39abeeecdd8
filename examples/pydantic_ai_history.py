"""A pydantic-ai agent whose messages are in a log: the next process goes on, for any provider."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from transcript_log import Target
from transcript_log.adapters.pydantic_ai import MessageHistory
from transcript_log.aio import AsyncSession

call = ToolCallPart("weather", {"city": "Oslo"})
script = [[call], [TextPart("It rains.")], [TextPart("Ask me tomorrow.")]]
model = FunctionModel(lambda *_: ModelResponse(parts=script.pop(0)))  # or "anthropic:claude-opus-4-8"
agent = Agent(model, instructions="Be brief.")
target = Target("anthropic-messages", "claude-opus-4-8")


@agent.tool_plain
def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


async def ask(question):
    async with await AsyncSession.open("session.jsonl", create=True) as session:
        history = MessageHistory(session)
        result = await agent.run(question, message_history=await history.messages())
        await history.add(result.new_messages())
        assert await history.messages() == result.all_messages()
        context = await session.context(target)
        print(result.output, len(result.all_messages()), "messages,", len(context.items), "items")


asyncio.run(ask("How is the weather?"))
asyncio.run(ask("And tomorrow?"))  # opened anew
