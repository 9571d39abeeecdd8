"""Items and histories for the tests of the strict core, and a dict that can be watched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from hypothesis import strategies as st

import transcript_log
from transcript_log import items

REPAIRED = "repaired"


class Watched(dict[str, Any]):
    """An item that can be weakly referenced, unlike dict itself, and counts how often it is read."""

    reads = 0

    def get(self, key: str, default: Any = None) -> Any:
        Watched.reads += 1
        return super().get(key, default)


def call(call_id: Any, **more: Any) -> Any:
    return Watched(type="function_call", call_id=call_id, name="sh", arguments="{}", **more)


def output(call_id: Any, said: Any = "ok") -> Any:
    return Watched(type="function_call_output", call_id=call_id, output=said)


def reasoning(name: str = "r") -> Any:
    return Watched(type="reasoning", id=name, encrypted_content="opaque")


def message(said: str = "hi") -> Any:
    return Watched(items.user_message(said))


def is_repaired(item: Any) -> bool:
    return bool(item["output"] == REPAIRED)


def made(missing: Any) -> Any:
    """A repair callback that answers every call."""
    return output(missing.call_id, REPAIRED)


def steps_of(run: Callable[[], object]) -> int:
    """How many lines of the package are run: a measure of work that no busy machine disturbs."""
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        if not frame.f_code.co_filename.startswith(transcript_log.__path__[0]):
            return None
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return steps


def same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def histories(max_size: int = 14) -> st.SearchStrategy[list[Any]]:
    """Any items in any order: ids come twice, are blank, are no text; some items are no objects."""
    ids = st.sampled_from(["a", "b", "c", "d"])
    odd = st.sampled_from(["", " \t", None, 5, ["a"], "\xa0"])
    return st.lists(
        st.one_of(
            ids.map(call),
            ids.map(output),
            ids.map(lambda name: output(name, REPAIRED)),
            st.builds(message),
            st.builds(reasoning),
            st.sampled_from([None, 1, True]) | odd.map(call) | odd.map(output),
        ),
        max_size=max_size,
    )


@st.composite
def sound_histories(draw: st.DrawFn, max_calls: int = 6) -> list[Any]:
    """Histories without an error: each id has one call at most and one output at most, in any order."""
    placed: list[Any] = draw(st.lists(st.builds(message) | st.builds(reasoning), max_size=6))
    for name in "abcdef"[: draw(st.integers(0, max_calls))]:
        for item in draw(st.sampled_from([[call(name)], [output(name)], [call(name), output(name)]])):
            placed.insert(draw(st.integers(0, len(placed))), item)
    return placed
