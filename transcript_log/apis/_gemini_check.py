"""Which rules of ``generateContent`` contents break."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..entries import Item
from ..findings import Finding
from ..items.gemini import PART_KINDS, in_camel, is_content
from ._base import has_surrogate, word
from ._gemini_rules import NAME, PART_KEYS, RULES, is_blob, is_file, is_signature, is_spelled

__all__ = ["check_contents", "turn_start"]


@dataclass(slots=True, eq=False)
class _Asked:
    """A call that waits for an output in the next content."""

    id: str
    name: str
    is_answered: bool = False

    @property
    def label(self) -> str:
        """What a finding calls it."""
        return self.id or self.name


def turn_start(contents: Sequence[Item]) -> int:
    """The place of the last content in which the user said something; -1 if there is none.

    The calls after it are those of the current turn, whose signatures are checked.
    """
    for place in range(len(contents) - 1, -1, -1):
        item = contents[place]
        parts = item.get("parts")
        if item.get("role") == "model" or type(parts) is not list:
            continue
        if any(not _answers(part) for part in parts):
            return place
    return -1


def _answers(part: Any) -> bool:
    return type(part) is dict and ("functionResponse" in part or "function_response" in part)


def check_contents(contents: Sequence[Item], *, is_newer: bool) -> Iterator[Finding]:
    """The rules that contents break, in their order.

    Args:
        contents: What would be sent.
        is_newer: It goes to Gemini 3 or a later model.
    """
    if not contents:
        yield RULES["empty-input"].at(None, "there is nothing to send")
        return
    check = _Check(turn_start(contents) if is_newer else len(contents), is_newer=is_newer)
    for place, item in enumerate(contents):
        yield from check.content(place, item)
    yield from check.unanswered()
    if contents[-1].get("role") == "model":
        why = "the last content is the model's, which newer models refuse"
        yield RULES["ends-with-model"].at(len(contents) - 1, why)


class _Check:
    """One walk over contents."""

    def __init__(self, turn: int, *, is_newer: bool) -> None:
        self._turn = turn
        self._is_newer = is_newer
        self._calls: Sequence[Mapping[str, Any]] = ()  # of the content before, not answered so far
        self._asked: list[_Asked] = []
        self._by_id: dict[str, deque[_Asked]] = {}
        self._by_name: dict[tuple[str, bool], deque[_Asked]] = {}
        self._asked_at = 0
        self._before = ""

    def content(self, place: int, item: Item) -> Iterator[Finding]:
        """One content, and whether it answers the calls of the one before."""
        if not is_content(item) or type(item.get("parts")) is not list or type(item.get("type")) is str:
            yield from self.unanswered()
            yield RULES["foreign-shape"].at(place, "it is no content of this API")
            self._before = ""
            return
        speaker = item.get("role")
        if speaker not in ("user", "model"):
            yield RULES["role"].at(place, f"the role is {speaker!r}")
        elif speaker == "model" and place == 0:
            yield RULES["first-user"].at(place, "the first content is the model's")
        if len(item) != 2:
            extra = ", ".join(sorted(key for key in item if key not in ("role", "parts")))
            if extra:
                yield RULES["foreign-key"].at(place, f"the content bears {extra}")
        parts = item["parts"]
        if not parts:
            yield RULES["content"].at(place, "the content has no parts")
        calls: list[Mapping[str, Any]] = []
        outputs: list[Mapping[str, Any]] = []
        for part in parts:
            if type(part) is not dict:
                yield RULES["part-type"].at(place, f"a part is no object but {type(part).__name__}")
                continue
            if _is_plain(part, speaker):
                if "functionCall" in part:
                    calls.append(part)
                elif "functionResponse" in part:
                    outputs.append(part["functionResponse"])
                continue
            held = part
            if not is_spelled(part):
                yield RULES["spelling"].at(place, "a part has the names of the Python SDK")
                held = in_camel(part)
            yield from self._part(place, held, speaker)
            if type(held.get("functionCall")) is dict:
                calls.append(held)
            elif type(held.get("functionResponse")) is dict:
                outputs.append(held["functionResponse"])
        if outputs or self._calls:
            yield from self._answered(place, outputs)
        if outputs and len(outputs) < len(parts):
            yield RULES["output-alone"].at(place, "something else stands beside the outputs")
        if calls:
            yield from self._calling(place, calls)
        self._before = "model" if speaker == "model" else "user"
        if has_surrogate(item):
            yield RULES["surrogate"].at(place, "some text holds half a character")

    def unanswered(self) -> Iterator[Finding]:
        """The calls that the content after them does not answer."""
        self._wait()
        for asked in self._asked:
            if not asked.is_answered:
                why = "the call has no output in the next content"
                yield RULES["output-missing"].at(self._asked_at, why, asked.label)
        if self._asked:
            self._asked = []
            self._by_id.clear()
            self._by_name.clear()

    # ---------------------------------------------------------------------- calls, outputs

    def _calling(self, place: int, calls: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
        if self._before == "model":
            why = "the model said something before the calls, in a content of its own"
            yield RULES["call-order"].at(place, why)
        if place > self._turn and not calls[0].get("thoughtSignature"):
            why = "the first call of the content has no thoughtSignature"
            yield RULES["signature"].at(place, why, word(calls[0]["functionCall"].get("id")) or None)
        self._calls = [part["functionCall"] for part in calls]
        self._asked_at = place
        if len(calls) > 1:
            ids: set[str] = set()
            for call_id in filter(None, (word(call.get("id")) for call in self._calls)):
                if call_id in ids:
                    yield RULES["call-twice"].at(place, "two calls of the content have one id", call_id)
                ids.add(call_id)

    def _wait(self) -> None:
        """The calls that are not answered wait for outputs, each under its id and its tool."""
        for call in self._calls:
            asked = _Asked(word(call.get("id")), word(call.get("name")))
            self._asked.append(asked)
            self._by_name.setdefault((asked.name, bool(asked.id)), deque()).append(asked)
            if asked.id:
                self._by_id.setdefault(asked.id, deque()).append(asked)
        self._calls = ()

    def _answered(self, place: int, outputs: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
        if len(outputs) == len(self._calls) and all(map(_is_of, outputs, self._calls)):
            self._calls = ()
            return
        self._wait()
        for output in outputs:
            call_id, name = word(output.get("id")), word(output.get("name"))
            asked = self._call_of(call_id, name)
            label = call_id or name
            if asked is None:
                yield RULES["output-without-call"].at(
                    place, "no call of the content before it waits for it", label
                )
                continue
            if asked.is_answered:
                yield RULES["output-twice"].at(place, "the call has an output already", label)
                continue
            asked.is_answered = True
            if asked.id != call_id:
                has = f"the id {call_id!r}" if call_id else "no id"
                wanted = f"the id {asked.id!r}" if asked.id else "no id"
                yield RULES["output-id"].at(place, f"the output has {has}, and its call {wanted}", label)
            if asked.name != name:
                why = f"the output names {name!r}, and the call {asked.name!r}"
                yield RULES["output-name"].at(place, why, label)
        yield from self.unanswered()

    def _call_of(self, call_id: str, name: str) -> _Asked | None:
        """The call that an output answers: of its id, or else of its tool."""
        waiting = self._by_id.get(call_id) or self._by_name.get((name, False))
        if waiting is None and not call_id:
            waiting = self._by_name.get((name, True))
        if waiting is None:
            return None
        while len(waiting) > 1 and waiting[0].is_answered:
            waiting.popleft()
        return waiting[0]

    # ------------------------------------------------------------------------------ parts

    def _part(self, place: int, part: Mapping[str, Any], speaker: Any) -> Iterator[Finding]:
        kinds = [kind for kind in PART_KINDS if part.get(kind) is not None]
        if len(kinds) != 1:
            what = " and ".join(kinds) or "nothing that is known"
            yield RULES["part-type"].at(place, f"a part holds {what}")
            return
        (kind,) = kinds
        held = part[kind]
        if not part.keys() <= PART_KEYS:
            extra = ", ".join(sorted(part.keys() - PART_KEYS))
            yield RULES["foreign-key"].at(place, f"a part bears {extra}")
        signature = part.get("thoughtSignature")
        if signature is not None and not is_signature(signature):
            yield RULES["signature-bytes"].at(place, "a thoughtSignature is no base64")
        if speaker == "user" and (kind == "functionCall" or part.get("thought") is True):
            yield RULES["part-type"].at(place, f"a content of the user has no {kind} of a model")
        if speaker == "model" and kind == "functionResponse":
            yield RULES["part-type"].at(place, "a content of the model has no functionResponse")
        if kind == "text":
            if type(held) is not str:
                yield RULES["part-type"].at(place, "a text is no text")
            elif (not held or held.isspace()) and not signature:
                yield RULES["blank-text"].at(place, "a text is blank")
        elif type(held) is not dict:
            yield RULES["part-type"].at(place, f"a {kind} is no object")
        elif kind == "functionCall":
            yield from _check_call(place, held)
        elif kind == "functionResponse":
            yield from self._check_output(place, held)
        elif (kind == "inlineData" and not is_blob(held)) or (kind == "fileData" and not is_file(held)):
            yield RULES["blob"].at(place, f"there is nothing to send in {kind}")

    def _check_output(self, place: int, output: Mapping[str, Any]) -> Iterator[Finding]:
        label = word(output.get("id")) or word(output.get("name"))
        call_id = output.get("id")
        if call_id is not None and type(call_id) is not str:
            yield RULES["call-id"].at(place, "the id is no text", label)
        if type(output.get("response")) is not dict:
            yield RULES["output-content"].at(place, "what the tool gave back is no object", label)
        shown = output.get("parts")
        if not shown and shown in (None, []):
            return
        if not self._is_newer:
            yield RULES["output-media"].at(place, "this model takes no parts in an output", label)
        elif type(shown) is not list or not all(
            type(one) is dict and (is_blob(one.get("inlineData")) or is_file(one.get("fileData")))
            for one in shown
        ):
            yield RULES["output-media"].at(place, "a part of the output is neither bytes nor a file", label)


def _is_of(output: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Whether an output has the id of a call, and its name."""
    return bool(output.get("id") == call.get("id") and output.get("name") == call.get("name"))


def _is_plain(part: Mapping[str, Any], speaker: Any) -> bool:
    """Whether a part is of a common kind and plainly right.

    This says nothing that the check of a part does not say too. It only says it sooner.
    """
    if len(part) == 1:
        said = part.get("text")
        if said is not None:
            return type(said) is str and said != "" and not said.isspace()
        output = part.get("functionResponse")
        if type(output) is dict:
            return (
                speaker == "user"
                and output.keys() <= _OUTPUT_KEYS
                and type(output.get("id", "")) is str
                and type(output.get("response")) is dict
            )
    call = part.get("functionCall")
    if type(call) is not dict or speaker != "model":
        return False
    if len(part) > 1 and not (len(part) == 2 and is_signature(part.get("thoughtSignature"))):
        return False
    name = call.get("name")
    return (
        call.keys() <= _CALL_KEYS
        and type(call.get("id", "")) is str
        and type(name) is str
        and NAME.fullmatch(name) is not None
        and type(call.get("args")) is dict
    )


_OUTPUT_KEYS: Final = frozenset({"id", "name", "response"})
_CALL_KEYS: Final = frozenset({"id", "name", "args"})


def _check_call(place: int, call: Mapping[str, Any]) -> Iterator[Finding]:
    call_id, name = call.get("id"), call.get("name")
    label = word(call_id) or word(name)
    if call_id is not None and type(call_id) is not str:
        yield RULES["call-id"].at(place, "the id is no text", label)
    if type(name) is not str or NAME.fullmatch(name) is None:
        yield RULES["name"].at(place, f"{name!r} is no name of a tool", label)
    arguments = call.get("args")
    if arguments is not None and type(arguments) is not dict:
        yield RULES["arguments"].at(place, "the args are no object", label)
