"""What the cases say of another agent's session, as checks of what was made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from case_contexts import APIS, ContextChecks, rules

from transcript_log.cli.source import open_session
from transcript_log.context import build_context
from transcript_log.entries import MessageEntry
from transcript_log.families import Target
from transcript_log.stats import find_spent

__all__ = ["ImportChecks"]


class ImportChecks(ContextChecks):
    """One imported session and its context, held against the words of an expectation.

    The context is for the model that the session was held with.
    """

    def __init__(self, given: Mapping[str, Any], path: str, folder: Path) -> None:
        self.given = given
        self.dialect: str = given["dialect"]
        self.session = open_session(path)
        self.entries = list(self.session.entries)
        self.rules = rules(folder)
        families = {entry.family for entry in self.entries if isinstance(entry, MessageEntry)} - {None}
        self.target = Target(APIS[self.dialect], "m-1", reads=frozenset(filter(None, families)))
        self.context = build_context(self.entries, self.target, details=self.session.details)
        self.error = None
        again = build_context(self.entries, self.target, details=self.session.details)
        assert again.items == self.context.items
        assert open_session(path) == self.session

    def named_lines(self, *, errors_only: bool) -> set[int]:
        return {
            finding.line
            for finding in self.session.findings
            if finding.line is not None and (not errors_only or finding.severity == "error")
        }

    # ------------------------------------------------------------------- expectations

    def expect_imported_message_count(self, count: int) -> None:
        assert sum(isinstance(entry, MessageEntry) for entry in self.entries) == count

    def expect_usage_counted_once(self, usages: dict[str, dict[str, int]]) -> None:
        found = find_spent([("", self.entries)])
        assert Counter(spent.response for spent in found) == dict.fromkeys(usages, 1)
        for spent in found:
            tokens = spent.tokens
            told = {
                "input_uncached": tokens.input,
                "cache_read": tokens.cache_read,
                "cache_write": tokens.cache_write,
                "output": tokens.output,
            }
            assert told == usages[str(spent.response)]

    def expect_assistant_blocks_in_order(self, kinds: list[str]) -> None:
        said = [item["content"] for item in self.items if item["role"] == "assistant"]
        blocks = [block for content in said for block in self.rules._blocks(content)]
        assert [block["type"] for block in blocks] == kinds

    def expect_context(self, expect: dict[str, Any]) -> None:
        for key, value in expect.items():
            getattr(self, f"expect_{key}")(value)
