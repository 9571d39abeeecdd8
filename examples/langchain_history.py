"""A LangChain model whose messages are in a log, which another framework reads too."""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from transcript_log import Session
from transcript_log.adapters.langchain import SessionChatMessageHistory
from transcript_log.adapters.pydantic_ai import read_messages


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"It rains in {city}."


call = {"name": "weather", "args": {"city": "Oslo"}, "id": "call_1"}
answers = iter([AIMessage("", tool_calls=[call]), AIMessage("It rains."), AIMessage("Ask me tomorrow.")])
model = GenericFakeChatModel(messages=answers)  # ChatAnthropic(model="claude-opus-4-8").bind_tools([weather])


def ask(question):
    with Session.open("session.jsonl", create=True) as session:
        history = SessionChatMessageHistory(session)
        history.add_messages([HumanMessage(question)])
        while True:
            answer = model.invoke(history.messages)
            results = [weather.invoke(one) for one in answer.tool_calls]
            history.add_messages([answer, *results])
            if not results:
                return answer.content


print(ask("How is the weather?"))
print(ask("And tomorrow?"))  # opened anew
with Session.open("session.jsonl", mode="read") as log:
    view = log.view()
    theirs = read_messages(view.entries, view.details)
    print(*(part.part_kind for message in theirs.messages for part in message.parts))
