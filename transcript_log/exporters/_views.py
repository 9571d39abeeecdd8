"""Events as what a page shows of them: plain values, for a template to lay out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias, assert_never

from .. import _json, items
from .._plain import dumped, is_blank, laid_out, one_line, plain
from .._wording import (
    PRIVATE,
    call_ending,
    compaction_words,
    counted,
    loose_words,
    picture_words,
    response_words,
    show_duration,
    show_time,
    token_words,
)
from ..entries import Json
from ..history import (
    Attached,
    Called,
    Compacted,
    Event,
    HostedCall,
    OutputWithoutCall,
    Ran,
    Reasoned,
    RepeatedOutput,
    Responded,
    Said,
    Unknown,
    UnknownItem,
)
from ._rich import Rich, language_of

__all__ = ["View", "view"]

View: TypeAlias = dict[str, Any]
"""What a template shows of one thing. Its texts are not escaped, but for those under ``html``."""

_SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}
_GIST: Final = 200
"""How many characters are shown of what is folded."""

_TELLING: Final = (
    *("command", "cmd", "file_path", "path", "filename", "notebook_path", "pattern", "query", "url"),
    *("description", "prompt", "code", "input"),
)
"""The arguments that say the most of a call, the most telling first."""

_LINES: Final = ("label", "name", "notes", "title", "words")
"""What stands on one line."""

_COMMANDS: Final = frozenset({"command", "cmd", "script"})
_PATHS: Final = ("file_path", "path", "filename")
_CONTENTS: Final = frozenset(
    {"content", "file_text", "insert_text", "new", "new_str", "new_string", "old", "old_str", "old_string"}
)
_PATCHES: Final = ("*** Begin Patch", "diff --git ", "--- ")


def view(event: Event, rich: Rich) -> View:
    """What a page shows of an event; ``kind`` says how. ``rich`` lays out its texts."""
    when = "" if event.time is None else f"{show_time(event.time)}, "
    shown = {"title": f"{when}entry {event.entry}", **_shown(event, rich)}
    return shown | {key: one_line(shown[key]) for key in _LINES if key in shown}


def _shown(event: Event, rich: Rich) -> View:
    match event:
        case Said():
            return _said(event, rich)
        case Reasoned(text=text, opaque=opaque):
            note = "" if not is_blank(text) else PRIVATE if opaque else "no text"
            return _folded("Reasoning", _laid_out(text, rich), notes=note)
        case Called() | HostedCall():
            return _called(event, rich)
        case RepeatedOutput() | OutputWithoutCall():
            name = event.name if isinstance(event, OutputWithoutCall) else None
            return {
                "kind": "call",
                "name": name or "output",
                "gist": _gist(event.output),
                "ending": "failed" if event.is_error else "open",
                "words": loose_words(event),
                "arguments": [],
                "output": _output(event.output, rich),
                "is_empty": not event.images,
                "pictures": _pictures(event),
            }
        case Compacted(summary=summary):
            return {"kind": "kept", "words": compaction_words(event), "body": _laid_out(summary, rich)}
        case Attached(kind=kind, path=path, rendered=rendered):
            label = f"Context: {kind}{f' {path}' if path else ''}"
            return _folded(label, _body(laid_out(rendered)), notes="no text", is_code=True)
        case Responded():
            return {"kind": "took", "words": response_words(event, _number)}
        case Ran(status=status, duration=duration, usage=usage):
            words = f"Run {status or 'ended'} after {show_duration(duration)}"
            if usage.responses:
                words += f"; {counted(usage.responses, 'response')}: {token_words(usage, _number)}"
            return {"kind": "run", "status": status or "", "words": words}
        case UnknownItem(type=kind, opaque=opaque):
            private = f"; {PRIVATE}" if opaque else ""
            return {"kind": "unknown", "words": f"An item of type {kind!r}{private}"}
        case Unknown(type=kind):
            return {"kind": "unknown", "words": f"An entry of type {kind!r}"}
        case _:
            assert_never(event)


def _said(event: Said, rich: Rich) -> View:
    notes = [] if event.invocation is None else [f"from the template {event.invocation.name}"]
    notes += ["interrupted"] if event.interrupted else []
    notes += [] if not is_blank(event.text) or event.images else ["no text"]
    told = ", ".join(notes)
    if event.role not in _SPEAKERS:
        # Instructions of the agent's author: seldom what a reader is here for.
        folded = _folded(
            event.role.replace("_", " ").capitalize() or "Message",
            _body(event.text),
            notes=told,
            is_code=True,
        )
        return {**folded, "pictures": _pictures(event)}
    return {
        "kind": "said",
        "role": event.role,
        "speaker": _SPEAKERS[event.role],
        "notes": told,
        "body": _laid_out(event.text, rich) if event.role == "assistant" else _body(event.text),
        "pictures": _pictures(event),
    }


def _folded(label: str, body: View, *, notes: str = "", is_code: bool = False) -> View:
    gist = _gist(body["text"].replace("**", ""))  # how models begin what they think
    return {"kind": "thought", "label": label, "gist": gist, "body": body, "notes": notes, "is_code": is_code}


def _called(event: Called | HostedCall, rich: Rich) -> View:
    ending, words = call_ending(event)
    arguments = _decoded(event.arguments)
    by = "run by the provider" if isinstance(event, HostedCall) else ""
    return {
        "kind": "call",
        "name": event.name or "?",
        "gist": _telling(arguments),
        "ending": ending,
        "words": "; ".join(filter(None, [by, words])),
        "arguments": list(_arguments(arguments, rich)),
        "output": _output(event.output or "", rich),
        "is_empty": event.output is not None and not event.images,
        "pictures": _pictures(event),
    }


# ----------------------------------------------------------------------------- arguments


def _decoded(arguments: Json) -> Json:
    """The object that arguments are, also where they are stored as text."""
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        try:
            value = _json.decode(arguments.encode("utf-8", "surrogatepass"))
        except ValueError:
            return arguments
        return value if isinstance(value, dict) else arguments
    return arguments


def _arguments(arguments: Json, rich: Rich) -> Iterator[tuple[str, View]]:
    """Each argument by its name, as a page shows it."""
    if not isinstance(arguments, dict):
        shown = _text_of(arguments)
        if not is_blank(shown):
            yield "Arguments", _code(shown, "", rich)
        return
    path = next((value for key in _PATHS if isinstance(value := arguments.get(key), str)), "")
    for key, value in arguments.items():
        language = "bash" if key in _COMMANDS else language_of(path) if key in _CONTENTS else ""
        shown = _text_of(value) or dumped(value)
        yield one_line(key) or '""', _code(shown, language if isinstance(value, str) else "", rich)


def _text_of(value: Json) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if is_list and any("\n" in item for item in value):
        return "\n".join(value)
    return dumped(value)


def _telling(arguments: Json) -> str:
    """The argument that says the most, on one line."""
    if not isinstance(arguments, dict):
        text = _text_of(arguments)
        if text.startswith("*** Begin Patch"):
            files = [line for line in text.split("\n") if line.startswith("*** ") and " File: " in line]
            return _gist(", ".join(line.removeprefix("*** ") for line in files) or text)
        return _gist(text)
    value = next((arguments[key] for key in _TELLING if arguments.get(key)), None)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        is_script = len(value) == 3 and value[1] in ("-c", "-lc")
        value = value[2] if is_script else " ".join(value)
    if not isinstance(value, str):
        value = next(
            (text for text in arguments.values() if isinstance(text, str) and not is_blank(text)), ""
        )
    return _gist(value)


def _gist(text: str) -> str:
    words = " ".join(text[: 4 * _GIST].split())
    return one_line(words if len(words) <= _GIST else f"{words[:_GIST]}…")


# --------------------------------------------------------------------------------- texts


def _body(text: str) -> View:
    return {"text": plain(text.replace("\r\n", "\n")).strip("\n"), "html": None}


def _laid_out(text: str, rich: Rich) -> View:
    body = _body(text)
    return {**body, "html": rich.markdown(body["text"]) if body["text"].strip() else None}


def _code(text: str, language: str, rich: Rich) -> View:
    body = _body(text)
    shown = body["text"]
    if shown.startswith(_PATCHES) and "\n" in shown:
        language = "diff"
    return {**body, "html": rich.code(shown, language) if language else None}


def _output(text: str, rich: Rich) -> View:
    # Words behind an object would be coloured letter by letter.
    is_json = text.lstrip()[:2] in ('{"', "[{", "{\n", "[\n") and _json.is_json(text)
    return _code(text, "json" if is_json else "", rich)


def _pictures(event: Said | Called | HostedCall | RepeatedOutput | OutputWithoutCall) -> list[Any]:
    return [(items.data_url(image), picture_words(image)) for image in event.images]


def _number(number: int) -> str:
    return f"{number:,}"
