"""Parts of real sessions hold what the independent counter of the corpus finds in them.

A part has outputs without calls, calls without outputs, no header, parents that are not there.
The sessions are those of the folder that ``test_corpus_codex`` speaks of.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest
from test_corpus_codex import CORPUS, FACTS, each, run

COUNTER: Final = CORPUS / "facts.py"


def counter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("corpus_facts", COUNTER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not COUNTER.exists(), reason=f"there is no counter in {CORPUS}")
@pytest.mark.parametrize("name", each(sorted(FACTS)))
def test_a_part_of_a_real_session_is_counted_as_others_count_it(name: str, tmp_path: Path) -> None:
    facts = counter()
    count_into = {"claude-code": facts.claude, "codex": facts.codex, "pi": facts.pi}[name.partition("/")[0]]
    lines = (CORPUS / name).read_bytes().splitlines(keepends=True)
    third = max(1, len(lines) // 3)
    for number, part in enumerate((lines[:third], lines[third:-third], lines[-third:], lines[::2])):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"".join(part))
        count: Counter[str] = Counter()
        count_into(facts.values(path, count), count)
        result = run("inspect", "--json", str(path))
        if result.exit_code and not count["user"] + count["assistant"]:
            continue  # notes alone may be of anybody
        told = json.loads(result.stdout)
        assert {column: told[column] for column in facts.COLUMNS} == {
            column: count[column] for column in facts.COLUMNS
        }
