"""What the cases say of the context that a model is sent, as checks of one built context."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from transcript_log.context import Context, build_context
from transcript_log.entries import CompactionEntry, Entry, MessageEntry, new_message
from transcript_log.errors import TranscriptError
from transcript_log.families import Target

__all__ = ["ContextChecks", "rules", "target_of", "with_families"]

APIS: Final = {
    "responses": "openai-responses",
    "chat": "openai-chat",
    "anthropic": "anthropic-messages",
}
OWNERS: Final = {"openai-responses": "openai", "openai-chat": "openai", "anthropic-messages": "anthropic"}
PLACEHOLDER: Final = "<non-blank placeholder>"


@cache
def rules(folder: Path) -> ModuleType:
    """The independent checker that stands beside the cases."""
    spec = importlib.util.spec_from_file_location("api_rules", folder / "api_rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def target_of(dialect: str, maker: str | None = None) -> Target:
    """The target of a dialect that a word for its maker stands for."""
    api = APIS[dialect]
    if maker is None or maker == OWNERS[api]:
        return Target(api, "m-1")
    return Target(api, "m-1", platform=maker)


def with_families(given: Mapping[str, Any], entries: Iterable[Entry]) -> list[Entry]:
    """Entries with the families that a case gives its items."""
    dialect = given["dialect"]
    families = given.get("families")
    out: list[Entry] = []
    count = 0
    for entry in entries:
        if isinstance(entry, MessageEntry):
            maker = families[count] if isinstance(families, list) else families
            count += 1
            if entry.family is not None:
                maker = entry.family
            elif maker is None:
                maker = given.get("target_family")
            out.append(replace(entry, family=target_of(dialect, maker).family))
        elif isinstance(entry, CompactionEntry) and entry.compaction.family is not None:
            family = target_of(dialect, entry.compaction.family).family
            out.append(replace(entry, compaction=replace(entry.compaction, family=family)))
        else:
            out.append(entry)
    return out


class ContextChecks:
    """One built context, held against the words of an expectation."""

    def __init__(self, given: Mapping[str, Any], entries: Sequence[Entry], folder: Path) -> None:
        self.given = given
        self.dialect: str = given["dialect"]
        self.entries = with_families(given, entries)
        self.target = target_of(self.dialect, given.get("target_family"))
        self.rules = rules(folder)
        self.context: Context | None = None
        self.error: TranscriptError | None = None
        try:
            self.context = build_context(self.entries, self.target)
        except TranscriptError as error:
            self.error = error

    @property
    def items(self) -> list[Any]:
        assert self.context is not None, repr(self.error)
        return list(self.context.items)

    @property
    def text(self) -> str:
        return json.dumps(self.items, ensure_ascii=False)

    def names(self) -> str:
        """What was told of the context."""
        return "\n".join(str(change) for change in self.context.changes) if self.context else str(self.error)

    # ------------------------------------------------------------------- expectations

    def expect_output(self, descriptors: list[dict[str, Any]]) -> None:
        self.matches(self.items, descriptors)

    def matches(self, items: list[Any], descriptors: list[dict[str, Any]]) -> None:
        assert len(items) == len(descriptors), items
        for item, descriptor in zip(items, descriptors, strict=True):
            wanted = self.wanted(descriptor)
            assert same(item, wanted, self.dialect), (item, wanted)

    def wanted(self, descriptor: dict[str, Any]) -> Any:
        entries = self.given.get("entries")
        [item] = self.rules.instantiate([descriptor], self.given.get("items"), entries, self.dialect)
        return item

    def expect_rules(self, names: list[str]) -> None:
        for name in names:
            assert self.rules.problems(name, self.items) == []

    def expect_answers(self, answers: dict[str, Any]) -> None:
        found = dict(self.rules.pairs(self.items, self.dialect))
        assert {call: readable(found.get(call)) for call in answers} == {
            call: readable(answer) for call, answer in answers.items()
        }

    def expect_pairs_in_order(self, outputs: list[str]) -> None:
        found = [output for _, output in self.rules.pairs(self.items, self.dialect)]
        assert len(found) == len(outputs), found
        for output, wanted in zip(found, outputs, strict=True):
            if wanted == "<synthetic>":
                assert is_stand_in(output), output
            else:
                assert readable(output) == wanted

    def expect_pairs_in_order_any(self, alternatives: list[list[str]]) -> None:
        refusals = []
        for outputs in alternatives:
            try:
                self.expect_pairs_in_order(outputs)
            except AssertionError as error:
                refusals.append(str(error))
            else:
                return
        raise AssertionError(refusals)

    def expect_synthesised(self, calls: list[str]) -> None:
        found = [call for call, output in self.rules.pairs(self.items, self.dialect) if is_stand_in(output)]
        assert sorted(found) == sorted(calls)

    def expect_keep_text(self, texts: list[str]) -> None:
        for text in texts:
            assert json.dumps(text, ensure_ascii=False)[1:-1] in self.text

    expect_contains_verbatim = expect_text_contains = expect_context_texts_any = expect_keep_text

    def expect_context_texts(self, texts: list[str]) -> None:
        assert len(self.items) == len(texts)
        for item, text in zip(self.items, texts, strict=True):
            assert text in json.dumps(item, ensure_ascii=False)

    def expect_forbid_text(self, texts: list[str]) -> None:
        for text in texts:
            assert json.dumps(text, ensure_ascii=False)[1:-1] not in self.text

    def expect_forbid_outputs_count_over(self, count: int) -> None:
        kinds = ("function_call_output", "custom_tool_call_output", "tool_result")
        found = sum(self.text.count(f'"type": "{kind}"') for kind in kinds)
        assert found + self.text.count('"role": "tool"') <= count

    def expect_adjacent(self, groups: list[list[str]]) -> None:
        for group in groups:
            for call in group:
                places = [n for n, item in enumerate(self.items) if f'"{call}"' in json.dumps(item)]
                assert places == list(range(places[0], places[0] + len(places)))

    def expect_first_pass(self, expect: dict[str, Any]) -> None:
        head = self.given["items"][: expect["items"]]
        entries = [new_message(item, family=self.target.family) for item in head]
        self.matches(list(build_context(entries, self.target).items), expect["output"])

    def expect_id_pattern(self, pattern: str) -> None:
        for call, _ in self.rules.pairs(self.items, self.dialect):
            assert re.fullmatch(pattern, call), call

    def expect_id_max_len(self, length: int) -> None:
        for call, _ in self.rules.pairs(self.items, self.dialect):
            assert len(call) <= length

    def expect_distinct_ids(self, count: int) -> None:
        assert len({call for call, _ in self.rules.pairs(self.items, self.dialect)}) == count

    def expect_summary_role(self, role: str) -> None:
        assert self.items[0]["role"] == role

    def expect_context_json_encodes_to_utf8(self, value: bool) -> None:
        assert value
        self.text.encode()

    def expect_no_lone_surrogates(self, value: bool) -> None:
        assert value
        assert not re.search("[\ud800-\udfff]", self.text)

    def expect_replacement(self, words: str) -> None:
        """Words for the reader of the case."""

    def expect_deterministic(self, value: bool) -> None:
        assert value
        again = build_context(self.entries, self.target)
        assert json.dumps(again.items) == json.dumps(self.items)

    def expect_idempotent(self, value: bool) -> None:
        assert value
        family = self.target.family
        entries = [new_message(item, family=family) for item in self.items]
        again = build_context(entries, self.target)
        assert again.items == self.items
        assert again.changes == ()

    def nothing_is_left_private(self) -> None:
        """No item of another family has a private part left in it."""
        assert self.context is not None
        families = {entry.id: entry.family for entry in self.entries if isinstance(entry, MessageEntry)}
        rows = [row for row in self.context.rows if row.entry in families]
        makers = [families[row.entry or ""] for row in rows]
        assert not self.rules.family_problems([row.item for row in rows], makers, self.target.family)


def readable(output: Any) -> Any:
    """The text of an output, however it is spelled."""
    if isinstance(output, list) and all(isinstance(block, dict) and "text" in block for block in output):
        return "".join(block["text"] for block in output)
    return output


def is_stand_in(output: Any) -> bool:
    """Whether an output admits that nobody knows it."""
    return "unknown" in json.dumps(output)


def same(item: Any, wanted: Any, dialect: str) -> bool:
    """Whether an item is what is wanted, where some words are free."""
    if isinstance(wanted, str) and isinstance(item, str):
        if wanted == "<synthetic>":
            return is_stand_in(item)
        if wanted == PLACEHOLDER:
            return bool(item.strip())
        return item == wanted
    if isinstance(wanted, dict) and isinstance(item, dict):
        said = summary_in(wanted)
        if said is not None and item.get("role") == "user" and said in json.dumps(item):
            return True
        return item.keys() == wanted.keys() and all(same(item[key], wanted[key], dialect) for key in item)
    if isinstance(wanted, list) and isinstance(item, list):
        return len(item) == len(wanted) and all(
            same(a, b, dialect) for a, b in zip(item, wanted, strict=True)
        )
    return bool(item == wanted) and type(item) is type(wanted)


def summary_in(wanted: Mapping[str, Any]) -> str | None:
    """The summary that a message wanted here holds; None if it is another message."""
    content = wanted.get("content")
    said = content[0].get("text") if isinstance(content, list) and len(content) == 1 else content
    return (
        said
        if wanted.get("role") == "user" and isinstance(said, str) and said.startswith("SUMMARY")
        else None
    )


Check = Callable[[Any], None]
