"""A framework's own form of a message, kept beside the items that say the same.

An item holds what models and people read. What a framework wants back beyond that (times, ids
of runs, metadata) stands in the sidecar, as the framework's own JSON of the message. The long
texts of it that stand in the items too are not written twice: a reference names the place.
So what is taken out of an item, as by redaction, is out of the message too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final, TypeAlias

from ..entries import Item, Json

__all__ = ["Texts", "folded", "text_id", "unfolded"]

_IN_ITEM: Final = "$item"
_IN_TEXT: Final = "$text"
_PLAIN: Final = "$plain"
_MARKS: Final = frozenset({_IN_ITEM, _IN_TEXT, _PLAIN})

_WORTH: Final = 48
"""From how many characters on a reference to an item is shorter than the text."""

_WORTH_SHARING: Final = 400
"""From how many characters on a text that no item holds is kept by itself, once for all messages."""

Texts: TypeAlias = dict[str, str]
"""Texts that are kept by themselves, by their :func:`text_id`."""

_Path: TypeAlias = tuple[str | int, ...]


def text_id(text: str) -> str:
    """The name under which a text is kept once; half a character counts as it is."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def folded(value: Json, items: Sequence[Item], texts: Texts) -> Json:
    """A value with references in the place of its long texts.

    Args:
        value: Any JSON.
        items: What the references may point into.
        texts: Gets the texts that stand in no item.
    """
    places: dict[str, _Path] = {}
    for number, item in enumerate(items):
        _find(item, (number,), places)
    return _folded(value, places, texts)


def unfolded(value: Json, items: Sequence[Item], texts: Mapping[str, str]) -> Json:
    """The value that was folded.

    Raises:
        LookupError, TypeError: A reference points to nothing.
    """
    if type(value) is list:
        return [unfolded(one, items, texts) for one in value]
    if type(value) is not dict:
        return value
    if len(value) == 1:
        ((mark, inner),) = value.items()
        if mark == _IN_ITEM:
            return _at(items, inner)
        if mark == _IN_TEXT:
            return texts[inner]
        if mark == _PLAIN:
            value = inner
    return {key: unfolded(one, items, texts) for key, one in value.items()}


def _find(value: Json, path: _Path, places: dict[str, _Path]) -> None:
    """Note where the long texts of a value stand, the first of equal ones."""
    if type(value) is str:
        if len(value) >= _WORTH:
            places.setdefault(value, path)
            head, comma, body = value[:200].partition(",")
            if comma and head.startswith("data:") and head.endswith(";base64") and len(body) >= _WORTH:
                places.setdefault(value[len(head) + 1 :], (*path, len(head) + 1))
    elif type(value) is dict:
        for key, one in value.items():
            _find(one, (*path, key), places)
    elif type(value) is list:
        for number, one in enumerate(value):
            _find(one, (*path, number), places)


def _folded(value: Json, places: Mapping[str, _Path], texts: Texts) -> Json:
    if type(value) is str:
        if len(value) < _WORTH:
            return value
        if value in places:
            return {_IN_ITEM: [*places[value]]}
        if len(value) < _WORTH_SHARING:
            return value
        name = text_id(value)
        texts[name] = value
        return {_IN_TEXT: name}
    if type(value) is list:
        return [_folded(one, places, texts) for one in value]
    if type(value) is dict:
        made = {key: _folded(one, places, texts) for key, one in value.items()}
        return {_PLAIN: made} if len(made) == 1 and not _MARKS.isdisjoint(made) else made
    return value


def _at(items: Sequence[Item], path: Sequence[str | int]) -> Json:
    """What stands at a place; a number in a text is where the part of it begins that is meant."""
    found: Json = items
    for step in path:
        found = found[step:] if type(found) is str and type(step) is int else found[step]
    return found
