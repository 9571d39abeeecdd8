"""What Gemini refuses, said once more and apart from the package: a judge of the contents that it makes.

Read off Google's pages on function calling and on thought signatures, and off its error messages.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["problems"]

HELD = {
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
}


def problems(contents: Sequence[Any]) -> list[str]:
    """What a model of Gemini 3 would refuse; empty if it takes the contents."""
    found: list[str] = []
    if not contents:
        return ["contents is not specified"]
    try:
        json.dumps(contents, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        found.append("surrogates not allowed")
    if contents[0].get("role") != "user":
        found.append("the first content is not the user's")
    for at, content in enumerate(contents):
        found += [f"{at}: {what}" for what in shape(content)]
    if found:
        return found
    return [*turns(contents), *signatures(contents)]


def shape(content: Any) -> list[str]:
    """What is wrong with one content by itself."""
    if set(content) != {"role", "parts"} or content["role"] not in ("user", "model"):
        return ["unknown name, or no valid role"]
    if not content["parts"]:
        return ["contents.parts must not be empty"]
    found = []
    for part in content["parts"]:
        held = HELD & set(part)
        if len(held) != 1:
            found.append("required oneof field 'data' must have one initialized field")
            continue
        if set(part) - HELD - {"thought", "thoughtSignature", "videoMetadata", "mediaResolution"}:
            found.append("unknown name in a part")
        if "text" in held and not part["text"].strip() and not part.get("thoughtSignature"):
            found.append("empty text parameter")
        if "thoughtSignature" in part:
            sign = part["thoughtSignature"].replace("-", "+").replace("_", "/")
            base64.b64decode(sign + "=" * (-len(sign) % 4), validate=True)
        if "functionCall" in held:
            call = part["functionCall"]
            if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:\-]{0,63}", call["name"]):
                found.append("invalid function name")
            if not isinstance(call.get("args", {}), dict):
                found.append("args is no Struct")
            if content["role"] != "model":
                found.append("a call of the user")
        if "functionResponse" in held:
            if not isinstance(part["functionResponse"]["response"], dict):
                found.append("response is no Struct")
            if content["role"] != "user":
                found.append("an output of the model")
            for media in part["functionResponse"].get("parts", []):
                base64.b64decode(media["inlineData"]["data"], validate=True)
        if "inlineData" in held and not (part["inlineData"]["data"] and part["inlineData"]["mimeType"]):
            found.append("no bytes")
    return found


def of(content: Any, kind: str) -> list[Any]:
    return [part[kind] for part in content["parts"] if kind in part]


def turns(contents: Sequence[Any]) -> list[str]:
    """What is wrong with the order of calls and outputs."""
    found = []
    for at, content in enumerate(contents):
        asked, given = of(content, "functionCall"), of(content, "functionResponse")
        if given and len(given) != len(content["parts"]):
            found.append(f"{at}: function response parts are mixed with others")
        if given and not (at and of(contents[at - 1], "functionCall")):
            found.append(f"{at}: function response turn comes immediately after a function call turn")
        if asked and not (at and contents[at - 1]["role"] == "user"):
            found.append(f"{at}: function call turn comes immediately after a user turn")
        if not asked:
            continue
        answers = of(contents[at + 1], "functionResponse") if at + 1 < len(contents) else []
        wanted = sorted((call.get("id", ""), call["name"]) for call in asked)
        if wanted != sorted((answer.get("id", ""), answer["name"]) for answer in answers):
            found.append(f"{at}: the number of function response parts equals that of function call parts")
        ids = [call["id"] for call in asked if "id" in call]
        if len(set(ids)) < len(ids):
            found.append(f"{at}: an id stands twice")
    return found


def signatures(contents: Sequence[Any]) -> list[str]:
    """The steps of the current turn whose first call has no signature."""
    found = []
    for at in range(len(contents) - 1, -1, -1):
        content = contents[at]
        if content["role"] == "user" and len(of(content, "functionResponse")) < len(content["parts"]):
            break
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            found.append(f"{at}: function call is missing a thought_signature")
    return found
