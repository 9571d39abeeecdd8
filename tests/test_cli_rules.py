"""The command ``rules``, and the tables of one's own that other commands take with ``--rules``."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_apis_tables import TABLES
from test_cli import called, is_harmless, json_lines, make, run, said

from transcript_log.apis import APIS


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    path = tmp_path / "gateway.toml"
    path.write_text(TABLES)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return make(tmp_path / "s.jsonl", said("u", "user", "go"), called("c", "a.b"), said("v", "user", " \n"))


def test_without_a_name_all_apis_are_listed(tables: Path) -> None:
    result = run("rules")
    assert result.stdout.splitlines() == [f"{name:<18}  {len(api.rules)} rules" for name, api in APIS.items()]
    assert (result.exit_code, result.stderr) == (0, "")
    more = run("rules", "--rules", tables).stdout.splitlines()
    assert [line.split()[0] for line in more] == [*APIS, "my-gateway", "stricter"]


def test_each_rule_is_told_with_who_says_so() -> None:
    shown = run("rules", "mistral-chat").stdout
    for rule in APIS["mistral-chat"].rules.values():
        assert f"\n{rule.id} " in f"\n{shown}"
        assert f"{rule.source}, {rule.date}\n" in shown
        assert rule.demand in " ".join(shown.split())
    lines = shown.splitlines()
    row = next(line for line in lines if line.startswith("blank-text"))
    assert row.split()[:2] == ["blank-text", "warning"]


def test_what_nobody_asks_for_is_off(tables: Path) -> None:
    rows = run("rules", "deepseek-chat").stdout.splitlines()
    assert next(row for row in rows if row.startswith("reasoning-refused")).split()[1] == "off"
    rows = run("rules", "my-gateway", "--rules", tables).stdout.splitlines()
    assert next(row for row in rows if row.startswith("blank-text")).split()[1] == "off"
    assert next(row for row in rows if row.startswith("no-metadata")).split()[1] == "error"


def test_as_json_it_is_one_object_per_rule(tables: Path) -> None:
    found = json_lines(run("rules", "stricter", "--rules", tables, "--json"))
    assert found[0] == {
        "api": "stricter",
        "rule": "empty-input",
        "severity": "error",
        "demand": "There is at least one message.",
        "source": "https://github.com/CopilotKit/CopilotKit/issues/529",
        "date": "2024-08-11",
    }
    every = json_lines(run("rules", "--json"))
    assert [row["rule"] for row in every] == [rule for api in APIS.values() for rule in api.rules]


def test_an_api_that_is_not_known_is_wrong_usage(tables: Path) -> None:
    result = run("rules", "nope\x1b", "--rules", tables)
    assert result.exit_code == 2
    assert "known are openai-responses" in result.stderr
    assert "my-gateway" in result.stderr
    assert is_harmless(result.stderr)


def test_a_file_that_holds_no_tables_is_told_with_its_name_and_key(tables: Path) -> None:
    tables.write_text('[api.own]\nbased-on = "openai-chat"\nbasis = 1\n')
    for command in (("rules",), ("check", "x.jsonl"), ("context", "x.jsonl", "--target", "own/m")):
        result = run(*command[:1], *([tables] if len(command) > 1 else []), *command[2:], "--rules", tables)
        assert result.exit_code == 1
        assert f"{tables}: api.own.basis: " in result.stderr.replace("\n", "")
    missing = run("rules", "--rules", tables.with_name("none.toml"))
    assert missing.exit_code == 2


def test_check_asks_the_apis_of_the_tables(tables: Path, log: Path) -> None:
    result = run("check", log, "--for", "my-gateway,openai-chat", "--rules", tables)
    rules = [line for line in result.stdout.splitlines() if "my-gateway: " in line]
    assert rules
    assert not any("blank" in line for line in rules)
    assert "my-gateway/any: " in result.stderr
    assert result.exit_code == 1
    assert run("check", log, "--for", "my-gateway").exit_code == 2


def test_a_context_is_made_for_an_api_of_the_tables(tables: Path, log: Path) -> None:
    items = json_lines(run("context", log, "--target", "my-gateway/m", "--rules", tables))
    assert [item["role"] for item in items] == ["user", "assistant", "tool", "user"]
    assert items[2]["flags"] == []
    assert len(items[2]["content"]) == 12
    plain = json_lines(run("context", log, "--target", "openai-chat/m"))
    assert len(plain[2]["content"]) > 12
    assert run("context", log, "--target", "my-gateway/m").exit_code == 2
    told = run("context", log, "--target", "my-gateway/m", "--rules", tables, "--explain").stdout
    assert "(short-output)" in told


def test_contexts_for_an_api_of_the_tables_are_compared(tables: Path, log: Path) -> None:
    result = run("diff", log, log, "--target", "my-gateway/m", "--rules", tables)
    assert result.stdout.splitlines()[-1] == "the contexts are equal"
    assert result.exit_code == 0
    assert run("diff", log, log, "--target", "my-gateway/m").exit_code == 2
