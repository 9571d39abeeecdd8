"""APIs of one's own: tables in TOML that change or extend the rules of a known API.

::

    [api."my-gateway"]
    based-on = "openai-chat"

    [api."my-gateway".rules.call-id]
    length = 29
    pattern = "[A-Za-z0-9_-]+"

    [api."my-gateway".rules.blank-text]
    severity = "off"

    [api."my-gateway".rules.no-metadata]
    demand = "A message of the user bears no metadata."
    source = "https://gateway.example/docs/messages"
    date = 2026-11-30
    where = { role = "user" }
    forbid-keys = ["metadata"]

A target is told of it: ``Target("my-gateway", model, rules=load_rules(path)["my-gateway"])``.
Nothing is registered anywhere.
"""

from __future__ import annotations

import datetime
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..errors import RulesError, StorageError
from . import APIS
from ._base import Amendable, Api, IdRule, NameRule, Rule, Terms
from ._demands import ItemDemand
from ._dialect import ChatDialect

__all__ = ["load_rules", "read_rules"]

_SEVERITIES: Final = ("error", "warning", "note", "off")
_OF_ANY: Final = frozenset({"severity", "demand", "source", "date"})
_OF_NEW: Final = frozenset({"where", "forbid-keys", "require-keys", "max-text"})
_OF_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    "call-id": frozenset({"length", "pattern"}),
    "name": frozenset({"length", "pattern"}),
    "part-type": frozenset({"parts"}),
}
_NEEDED: Final = frozenset(
    {"arguments", "call_id", "content", "input", "output", "role", "tool_call_id", "tool_calls", "type"}
)
"""Keys that an item is nothing without."""

_ID: Final = re.compile(r"[a-z][a-z0-9-]*")


def load_rules(path: str | os.PathLike[str]) -> dict[str, Api]:
    """The APIs of a file of tables, by name.

    Raises:
        RulesError: Something in it is no such table; it names the file and the key.
        StorageError: The file cannot be read.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise StorageError.of(name, "read", error) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RulesError(name, "", f"it is not UTF-8: {error}") from error
    return read_rules(text, name)


def read_rules(text: str, name: str = "<rules>") -> dict[str, Api]:
    """The same of a text; ``name`` is what errors call it."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RulesError(name, "", f"it is not TOML: {error}") from error
    return _Reader(name).apis(tables)


class _Reader:
    """Reads one file, and knows its name and where in it one is."""

    def __init__(self, name: str) -> None:
        self._name: Final = name

    def _wrong(self, key: str, why: str) -> RulesError:
        return RulesError(self._name, key, why)

    def apis(self, tables: Mapping[str, Any]) -> dict[str, Api]:
        """All APIs of the file."""
        self._known_keys(tables, frozenset({"api"}), "")
        made: dict[str, Api] = {}
        for name, table in self._table(tables.get("api", {}), "api").items():
            made[name] = self._api(name, table, made)
        return made

    def _api(self, name: str, given: Any, before: Mapping[str, Api]) -> Api:
        at = f"api.{_quoted(name)}"
        table = self._table(given, at)
        self._known_keys(table, frozenset({"based-on", "rules"}), at)
        if name in APIS or not name.strip() or "/" in name:
            raise self._wrong(at, "a name of your own is wanted, without a slash")
        based = self._text(table, "based-on", at)
        known = {key: api for key, api in {**APIS, **before}.items() if isinstance(api, Amendable)}
        base = known.get(based or "")
        if base is None:
            why = f"; {based} takes no table" if based in APIS else f", not {based!r}"
            raise self._wrong(f"{at}.based-on", f"one of {', '.join(known)} is wanted{why}")
        terms = replace(base.terms, name=name)
        for rule_id, row in self._table(table.get("rules", {}), f"{at}.rules").items():
            terms = self._with_row(terms, rule_id, row, f"{at}.rules.{_quoted(rule_id)}")
        api = base.under(terms)
        self._try(api, terms, at)
        return api

    # --------------------------------------------------------------------------- a row

    def _with_row(self, terms: Terms, rule_id: str, given: Any, at: str) -> Terms:
        row = self._table(given, at)
        known = terms.rules.get(rule_id)
        is_demand = known is None or any(demand.rule.id == rule_id for demand in terms.demands)
        allowed = _OF_ANY | (_OF_NEW if is_demand else _OF_KNOWN.get(rule_id, frozenset()))
        self._known_keys(row, allowed, at)
        if known is None:
            if _ID.fullmatch(rule_id) is None:
                raise self._wrong(at, "a rule's name is of small letters, digits and -")
            for key in ("demand", "source", "date"):
                if key not in row:
                    raise self._wrong(
                        f"{at}.{key}", "a new rule says what it demands, and where that is from"
                    )
        severity = row.get("severity", "error" if known is None else known.severity)
        if severity not in _SEVERITIES:
            raise self._wrong(
                f"{at}.severity", f"one of {', '.join(_SEVERITIES)} is wanted, not {severity!r}"
            )
        rule = Rule(
            rule_id,
            self._text(row, "demand", at) or (known.demand if known else ""),
            known.severity if severity == "off" and known else "error" if severity == "off" else severity,
            self._text(row, "source", at) or (known.source if known else ""),
            self._date(row, at) or (known.date if known else ""),
        )
        is_free = is_demand or rule_id in terms.optional or (known is not None and known.severity == "note")
        if severity in ("off", "note") and not is_free:
            may = ", ".join(sorted(terms.optional))
            raise self._wrong(f"{at}.severity", f"only these can be turned off here: {may}")
        off = terms.off | {rule_id} if severity == "off" else terms.off
        if severity != "off" and "severity" in row:
            off -= {rule_id}
        terms = replace(terms, rules={**terms.rules, rule_id: rule}, off=off)
        if is_demand:
            return self._with_demand(terms, rule, row, at)
        if row.keys() & {"length", "pattern"}:
            ids = self._ids(terms.ids, row, at) if rule_id == "call-id" else terms.ids
            names = self._names(terms.names, row, at) if rule_id == "name" else terms.names
            if "demand" not in row:
                rule = replace(rule, demand=_demanded(ids if rule_id == "call-id" else names, rule_id))
            return replace(terms, ids=ids, names=names, rules={**terms.rules, rule_id: rule})
        return self._with_parts(terms, row, at) if "parts" in row else terms

    def _with_demand(self, terms: Terms, rule: Rule, row: Mapping[str, Any], at: str) -> Terms:
        kept = [demand for demand in terms.demands if demand.rule.id != rule.id]
        old = next((demand for demand in terms.demands if demand.rule.id == rule.id), None)
        if _OF_NEW.isdisjoint(row) and isinstance(old, ItemDemand):
            return replace(terms, demands=(*kept, replace(old, rule=rule)))
        if not row.keys() & {"forbid-keys", "require-keys", "max-text"}:
            raise self._wrong(at, "a new rule has forbid-keys, require-keys or max-text")
        forbid = frozenset(self._texts(row.get("forbid-keys", []), f"{at}.forbid-keys"))
        if needed := sorted(forbid & _NEEDED):
            raise self._wrong(f"{at}.forbid-keys", f"an item is nothing without {', '.join(needed)}")
        require = self._table(row.get("require-keys", {}), f"{at}.require-keys")
        if needed := sorted(require.keys() & (_NEEDED | forbid)):
            raise self._wrong(f"{at}.require-keys", f"no value can be made up for {', '.join(needed)}")
        most = row.get("max-text")
        if most is not None and (type(most) is not int or most < 1):
            raise self._wrong(f"{at}.max-text", f"a number of characters is wanted, not {most!r}")
        where = self._table(row.get("where", {}), f"{at}.where")
        demand = ItemDemand(rule=rule, where=where, forbid=forbid, require=require, max_text=most)
        terms = replace(terms, demands=(*kept, demand))
        if isinstance(terms, ChatDialect) and terms.keys is not None and require:
            more = {speaker: keys | require.keys() for speaker, keys in terms.keys.items()}
            terms = replace(terms, keys=more)
        return terms

    def _ids(self, old: IdRule, row: Mapping[str, Any], at: str) -> IdRule:
        new = IdRule(self._pattern(row, at) or old.pattern, self._length(row, at) or old.length, old.unique)
        if any(not new.fits(new.other(odd, "0")) for odd in _ODD):
            raise self._wrong(at, "no id that fits can be made of letters and digits")
        return new

    def _names(self, old: NameRule, row: Mapping[str, Any], at: str) -> NameRule:
        new = NameRule(self._pattern(row, at) or old.pattern, self._length(row, at) or old.length)
        if any(not new.fits(new.safe(odd)) for odd in _ODD):
            raise self._wrong(at, "no name that fits can be made of small letters and digits")
        return new

    def _with_parts(self, terms: Terms, row: Mapping[str, Any], at: str) -> Terms:
        if not isinstance(terms, ChatDialect):
            raise self._wrong(f"{at}.parts", "only a dialect of Chat Completions has other parts")
        parts = dict(terms.parts)
        for speaker, kinds in self._table(row["parts"], f"{at}.parts").items():
            where = f"{at}.parts.{_quoted(speaker)}"
            if speaker not in parts:
                raise self._wrong(where, f"the roles here are {', '.join(parts)}")
            found = frozenset(self._texts(kinds, where))
            if "text" not in found:
                raise self._wrong(where, "a message has text")
            parts[speaker] = found
        return replace(terms, parts=parts)

    def _try(self, api: Api, terms: Terms, at: str) -> None:
        """A key that is wanted must be one that the API lets stand."""
        for demand in terms.demands:
            if not (isinstance(demand, ItemDemand) and demand.require) or demand.rule.id in terms.off:
                continue
            speaker = demand.where.get("role", "user")
            item = {"content": "x", **demand.where, "role": speaker, **demand.require}
            if any(finding.rule == "foreign-key" for finding in api.check([item])):
                row = f"{at}.rules.{_quoted(demand.rule.id)}.require-keys"
                raise self._wrong(row, "the API knows no such key: turn its rule 'foreign-key' off")

    # -------------------------------------------------------------------------- values

    def _known_keys(self, table: Mapping[str, Any], known: frozenset[str], at: str) -> None:
        for key in table:
            if key not in known:
                path = f"{at}.{_quoted(key)}" if at else _quoted(key)
                raise self._wrong(path, f"this key is not known here; known are {', '.join(sorted(known))}")

    def _table(self, value: Any, at: str) -> Mapping[str, Any]:
        if type(value) is not dict:
            raise self._wrong(at, "a table is wanted")
        return value

    def _text(self, table: Mapping[str, Any], key: str, at: str) -> str | None:
        value = table.get(key)
        if value is not None and (type(value) is not str or not value.strip()):
            raise self._wrong(f"{at}.{key}", "a text is wanted")
        return value

    def _texts(self, value: Any, at: str) -> Iterator[str]:
        if type(value) is not list or any(type(each) is not str or not each for each in value):
            raise self._wrong(at, "a list of texts is wanted")
        yield from value

    def _date(self, table: Mapping[str, Any], at: str) -> str | None:
        value = table.get("date")
        if value is None:
            return None
        try:
            if type(value) is datetime.date:
                return value.isoformat()
            if type(value) is str:
                return datetime.date.fromisoformat(value).isoformat()
        except ValueError:
            pass
        raise self._wrong(f"{at}.date", "a date is wanted, as in 2026-11-30")

    def _length(self, table: Mapping[str, Any], at: str) -> int | None:
        value = table.get("length")
        if value is not None and (type(value) is not int or value < 1):
            raise self._wrong(f"{at}.length", "a number of characters is wanted")
        return value

    def _pattern(self, table: Mapping[str, Any], at: str) -> re.Pattern[str] | None:
        value = self._text(table, "pattern", at)
        try:
            return None if value is None else re.compile(value)
        except re.error as error:
            raise self._wrong(f"{at}.pattern", f"it is no pattern: {error}") from error


_ODD: Final = ("", "a b", "a.b|c", "x" * 300, "é")
"""Ids and names that have to become others almost everywhere."""


def _demanded(new: IdRule | NameRule, rule_id: str) -> str:
    """What a length and a pattern demand, in words."""
    what = "A call id" if rule_id == "call-id" else "A tool's name"
    return f"{what} has 1 to {new.length} characters, as {new.pattern.pattern} has them."


_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def _quoted(key: str) -> str:
    """A key as it stands in TOML."""
    return key if _BARE.fullmatch(key) else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
