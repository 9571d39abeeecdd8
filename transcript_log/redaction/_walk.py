"""Secrets in the values of a session, by what each part of a value is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any, Final

from ..entries import Json
from ..items.keeping import ARGUMENT_KEYS, DATA_KEYS, is_kept, is_sealed, is_signed
from ._texts import PLACEHOLDER, Texts

__all__ = ["Mode", "Walk", "highest_numbers"]

_DEEP: Final = 400
"""How deep values are looked into. What is deeper could not be stored."""


class Mode(Enum):
    """What a value is, and so what of it stays as it is."""

    ITEM = auto()
    """A provider's item: ids, words of its format, signatures and pictures stay."""

    DATA = auto()
    """What programs noted: signatures and pictures stay."""

    ARGUMENTS = auto()
    """What a tool is called with: nothing has a meaning of its own."""


class Walk:
    """Redacts values, and writes down where.

    Attributes:
        redactions: Each path with what stands there now, since it was last emptied.
        signed: The paths of objects that hold a signature, and another member that was changed.
    """

    def __init__(self, texts: Texts) -> None:
        self.redactions: list[tuple[str, tuple[str, ...]]] = []
        self.signed: list[str] = []
        self._texts = texts

    def text(self, text: str, where: str, key: str | None = None) -> str:
        """A text without its secrets; the very same text where it has none."""
        fresh = self._texts.redact(text, key)
        self._tell(where)
        return fresh

    def maybe(self, text: str | None, where: str) -> str | None:
        """The same for a text that may be missing."""
        return None if text is None else self.text(text, where)

    def value(self, value: Json, where: str, mode: Mode, depth: int = _DEEP) -> Json:
        """A value without its secrets; the very same object where it has none."""
        if type(value) is str:
            return self.text(value, where)
        if depth == 0 and type(value) in (dict, list):
            return self._too_deep(where)
        if type(value) is list:
            fresh = [
                self.value(item, f"{where}[{index}]", mode, depth - 1) for index, item in enumerate(value)
            ]
            return value if all(map(_is, fresh, value)) else fresh
        if isinstance(value, Mapping):
            return self._object(value, where, mode, depth)
        return value

    def _object(self, value: Mapping[str, Json], where: str, mode: Mode, depth: int) -> Mapping[str, Json]:
        fresh: dict[str, Json] = {}
        changed = False
        for key, item in value.items():
            name = key if mode is Mode.ITEM else self._key(key, where, fresh)
            fresh[name] = self._member(key, item, value, f"{where}.{name}", mode, depth)
            changed |= name is not key or fresh[name] is not item
        if not changed:
            return value
        if mode is not Mode.ARGUMENTS and is_signed(value):
            self.signed.append(where)
        return fresh

    def _member(
        self, key: str, item: Json, owner: Mapping[str, Json], where: str, mode: Mode, depth: int
    ) -> Json:
        if mode is Mode.ITEM and is_kept(key, item):
            return item
        if mode is not Mode.ARGUMENTS and is_sealed(key, item, owner):
            return item
        if mode is Mode.ITEM and (key in ARGUMENT_KEYS or key in DATA_KEYS):
            mode = Mode.ARGUMENTS if key in ARGUMENT_KEYS else Mode.DATA
        if type(item) is str:
            return self.text(item, where, key)
        return self.value(item, where, mode, depth - 1)

    def _key(self, key: str, where: str, there: Mapping[str, Json]) -> str:
        fresh = self._texts.redact_key(key)
        self._tell(where)
        while fresh is not key and fresh in there:
            fresh += " "
        return fresh

    def _tell(self, where: str) -> None:
        if self._texts.found:
            self.redactions.append((where, tuple(self._texts.found)))
            self._texts.found.clear()

    def _too_deep(self, where: str) -> str:
        placeholder = "[redacted:too-deep:1]"
        self.redactions.append((where, (placeholder,)))
        return placeholder


def _is(one: object, other: object) -> bool:
    return one is other


def highest_numbers(values: Iterable[Any]) -> dict[str, int]:
    """By kind, the highest number of a placeholder that stands in the texts of values."""
    highest: dict[str, int] = {}
    nested = list(values)
    while nested:
        value = nested.pop()
        if type(value) is str:
            if "[redacted:" in value:
                for kind, number in PLACEHOLDER.findall(value):
                    highest[kind] = max(highest.get(kind, 0), int(number))
        elif isinstance(value, Mapping):
            nested.extend(value)
            nested.extend(value.values())
        elif type(value) is list:
            nested.extend(value)
    return highest
