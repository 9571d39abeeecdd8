"""What was in force in a Codex rollout, as its records of that tell."""

from __future__ import annotations

import json
from typing import Final

from ..entries import Json

__all__ = ["World", "settings_text"]

# They differ from turn to turn without a change of settings.
_VOLATILE: Final = frozenset({"turn_id", "trace_id"})


def settings_text(turn_context: dict[str, Json]) -> str:
    """The settings of a turn as text; the same text for the same settings."""
    return _canonical({key: value for key, value in turn_context.items() if key not in _VOLATILE})


class World:
    """The state of the world, of which records tell all, or what has changed."""

    def __init__(self) -> None:
        self._state: Json = None

    def told(self, state: dict[str, Json], *, full: bool) -> str:
        """The state after a record of it, as text."""
        self._state = state if full else _patched(self._state, state)
        return _canonical(self._state)


def _canonical(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _patched(value: Json, patch: Json) -> Json:
    """A value with a merge patch put over it; neither is changed. Null takes a key away."""
    if type(patch) is not dict:
        return patch
    merged = dict(value) if type(value) is dict else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = _patched(merged.get(key), change)
    return merged
