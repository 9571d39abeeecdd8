"""A session of the Claude Agent SDK in files of ours: safe, and one of Claude Code to every command."""

import asyncio

from claude_agent_sdk import get_session_messages_from_store, project_key_for_directory

from transcript_log import Target, build_context
from transcript_log.adapters.claude_agent_sdk import TranscriptSessionStore
from transcript_log.importers.claude_code import import_claude_code

SESSION = "11111111-2222-4333-8444-555555555555"
KEY = {"project_key": project_key_for_directory("."), "session_id": SESSION}
STAMPS = {"sessionId": SESSION, "isSidechain": False, "version": "2.1.200", "cwd": "/src"}


def record(number, message):
    """As Claude Code writes one. The real one's come from query(..., session_store=store) in the options."""
    before = f"uuid-{number - 1}" if number else None
    placed = {"parentUuid": before, "uuid": f"uuid-{number}", "timestamp": f"2026-01-02T03:04:0{number}.000Z"}
    return {**placed, **STAMPS, "type": message["role"], "message": message}


async def main():
    store = TranscriptSessionStore("sessions")
    asked = {"role": "user", "content": "Does it build?"}
    said = {"role": "assistant", "model": "claude-opus-5", "content": [{"type": "text", "text": "It does."}]}
    batch = [record(0, asked), record(1, said)]
    await store.append(KEY, batch)  # on disk, or not there at all
    await store.append(KEY, batch)  # sent again, and kept once
    print([message.type for message in await get_session_messages_from_store(store, SESSION)])


asyncio.run(main())
path = f"sessions/{KEY['project_key']}/{SESSION}.jsonl"  # for transcript-log replay, import, …
with open(path, "rb") as file:
    imported = import_claude_code(file, path=path)
print(build_context(imported.entries, Target("openai-responses", "gpt-5.4")).items[-1]["content"])
