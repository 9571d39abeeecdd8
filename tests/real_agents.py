"""The agents themselves, where they can be had: what they make of a session that they go on with.

``TRANSCRIPT_LOG_AGENTS`` names a folder with the npm packages of pi, Claude Code and Codex;
``.ci/run`` installs them into ``.agents``. None of them reaches the network here: Claude Code and
Codex are told to ask a server of ours, which writes down what it is asked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

__all__ = ["CLAUDE_CODE", "CODEX", "NODE", "PI", "asked_by_claude_code", "asked_by_codex", "read_by_pi"]

FOLDER: Final = Path(
    os.environ.get("TRANSCRIPT_LOG_AGENTS") or Path(__file__).resolve().parent.parent / ".agents"
)
MODULES: Final = FOLDER / "node_modules"


def _there(*parts: str) -> Path | None:
    path = MODULES.joinpath(*parts)
    return path if path.exists() else None


NODE: Final = shutil.which("node")
PI: Final = _there("@mariozechner", "pi-coding-agent", "dist", "core", "session-manager.js")
CLAUDE_CODE: Final = _there("@anthropic-ai", "claude-code-linux-x64", "claude")
CODEX: Final = _there(".bin", "codex")

_SCRIPT: Final = """
const { SessionManager } = await import(process.argv[1]);
for (const path of process.argv.slice(2)) {
  const manager = SessionManager.open(path);
  console.log(JSON.stringify(manager.buildSessionContext().messages));
}
"""


def read_by_pi(paths: Sequence[Path]) -> list[list[dict[str, Any]]]:
    """The messages that pi's own session manager gives for each file."""
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", _SCRIPT, str(PI), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ------------------------------------------------------------------------- the server


class _Handler(BaseHTTPRequestHandler):
    """Answers each model in one word, in a stream as its API has it."""

    protocol_version = "HTTP/1.1"
    asked: list[dict[str, Any]]

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(b'{"data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.split("?")[0].endswith(("/messages", "/responses")):
            asked = json.loads(body)
            self.asked.append(asked)
            events = _MESSAGES if "messages" in self.path else _RESPONSES
            stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
            self._send(stream.encode(), "text/event-stream")
        else:
            self._send(b'{"input_tokens": 1}', "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


_MESSAGES: Final[list[dict[str, Any]]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_new",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    },
    {"type": "message_stop"},
]
_SAID: Final = {
    "type": "message",
    "id": "msg_new",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Yes.", "annotations": []}],
}
_RESPONSES: Final[list[dict[str, Any]]] = [
    {"type": "response.created", "response": {"id": "resp_new", "status": "in_progress", "output": []}},
    {"type": "response.output_item.done", "output_index": 0, "item": _SAID},
    {
        "type": "response.completed",
        "response": {
            "id": "resp_new",
            "status": "completed",
            "output": [_SAID],
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        },
    },
]


@contextmanager
def _server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server, and what it is asked."""
    asked: list[dict[str, Any]] = []
    handler = type("Handler", (_Handler,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


def _run(command: list[str], home: Path, cwd: Path, **variables: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), **variables}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, (done.stdout[-1000:], done.stderr[-1000:])


def _last(asked: list[dict[str, Any]], key: str, prompt: str) -> list[dict[str, Any]]:
    """The items of the last request that asks a prompt."""
    found: list[dict[str, Any]] = [
        one[key] for one in asked if key in one and prompt in json.dumps(one[key])
    ][-1]
    return found


def asked_by_claude_code(root: Path, session: str, cwd: Path, prompt: str) -> list[dict[str, Any]]:
    """The messages that Claude Code sends when it goes on with a session in ``root/projects``."""
    with _server() as (address, asked):
        _run(
            [str(CLAUDE_CODE), "-p", "--resume", session, prompt],
            root / "home",
            cwd,
            CLAUDE_CONFIG_DIR=str(root),
            ANTHROPIC_BASE_URL=address,
            ANTHROPIC_API_KEY="none",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
        )
    return _last(asked, "messages", prompt)


def asked_by_codex(root: Path, session: str, cwd: Path, prompt: str) -> list[dict[str, Any]]:
    """The items that Codex sends when it goes on with a session in ``root/sessions``."""
    with _server() as (address, asked):
        (root / "config.toml").write_text(f'model = "gpt-5"\nopenai_base_url = "{address}/v1"\n', "utf-8")
        _run(
            [str(CODEX), "exec", "--skip-git-repo-check", "resume", session, prompt],
            root / "home",
            cwd,
            CODEX_HOME=str(root),
            CODEX_API_KEY="none",
        )
    return _last(asked, "input", prompt)
