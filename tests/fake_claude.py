#!/usr/bin/env python3
"""Stands for the command of Claude Code, as the Claude Agent SDK runs it.

It keeps a transcript on disk, mirrors it as the command does, and answers each question with how
many records it knew. A question ``crash`` ends it after the mirroring.
"""

import json
import os
import sys
import uuid
from pathlib import Path


def put(frame):
    print(json.dumps(frame), flush=True)


def main():
    words = sys.argv[1:]
    if "-v" in words or "--version" in words:
        print("2.1.200 (Claude Code)")
        return
    resumed = [word.removeprefix("--resume=") for word in words if word.startswith("--resume=")]
    session = resumed[0] if resumed else str(uuid.uuid4())
    project = "".join(c if c.isalnum() else "-" for c in os.path.realpath(os.getcwd()))
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / project
    path = folder / f"{session}.jsonl"
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] == "control_request":
            response = {"subtype": "success", "request_id": frame["request_id"], "response": {}}
            put({"type": "control_response", "response": response})
        elif frame["type"] == "user":
            answer(path, session, frame["message"])


def answer(path, session, message):
    known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    agents = sorted(path.with_suffix("").rglob("*.jsonl"))
    text = f"I knew {len(known)} records and {len(agents)} subagents."
    said = {"id": f"msg_{len(known)}", "type": "message", "role": "assistant", "model": "claude-opus-4-6"}
    said |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    said |= {"usage": {"input_tokens": 1, "output_tokens": 1}}
    records = [record(session, "user", message, known), record(session, "assistant", said, known)]
    records[1]["parentUuid"] = records[0]["uuid"]
    mirror(path, [{"type": "mode", "sessionId": session}, *records])
    mirror(
        path.with_suffix("") / "subagents" / f"agent-{len(known)}.jsonl",
        [record(session, "user", message, [])],
    )
    if message["content"] == "crash":
        os._exit(1)
    put({"type": "assistant", "message": said, "session_id": session, "parent_tool_use_id": None})
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": session,
        "result": text,
    }
    put(result | {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "total_cost_usd": 0.0, "usage": {}})


def record(session, kind, message, known):
    parent = known[-1].get("uuid") if known else None
    stamps = {"isSidechain": False, "sessionId": session, "version": "2.1.200", "cwd": os.getcwd()}
    return {
        "parentUuid": parent,
        **stamps,
        "type": kind,
        "message": message,
        "uuid": str(uuid.uuid4()),
        "timestamp": f"2026-01-02T03:04:{len(known):02}.000Z",
    }


def mirror(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in records)
    put({"type": "transcript_mirror", "filePath": str(path), "entries": records})


main()
