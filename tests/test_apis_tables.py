"""Tables of one's own: what they change of an API, what they add to it, and what is no table."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from broken_rules import (
    Item,
    Row,
    entries_of,
    is_found_alone,
    is_mended_alone,
    is_mended_for_good,
    is_sent_as_it_is,
    is_told,
    rules_of,
)
from test_apis import asks, assistant, call, entry_of_calls, output, result, text, told, tool, use, user
from test_apis_dialects import thought

from transcript_log import Session
from transcript_log.acceptance import check_acceptance
from transcript_log.apis import APIS, Api, api_for, check_items
from transcript_log.apis.tables import load_rules, read_rules
from transcript_log.context import build_context
from transcript_log.errors import ContextError, RulesError, StorageError, TargetError
from transcript_log.families import Target
from transcript_log.testing import ScriptedModel

TABLES: Final = """
[api."my-gateway"]
based-on = "openai-chat"

[api."my-gateway".rules.call-id]
length = 29
pattern = "[A-Za-z0-9_-]+"
source = "https://gateway.example/docs/ids"
date = "2026-11-30"

[api."my-gateway".rules.name]
length = 20
pattern = "[a-z0-9_]+"

[api."my-gateway".rules.part-type]
parts = { user = ["text"] }

[api."my-gateway".rules.blank-text]
severity = "off"

[api."my-gateway".rules.arguments]
severity = "note"

[api."my-gateway".rules.foreign-key]
severity = "error"
demand = "A message bears only known keys."

[api."my-gateway".rules.no-metadata]
demand = "A message of the user bears no metadata."
source = "https://gateway.example/docs/messages"
date = 2026-11-30
where = { role = "user" }
forbid-keys = ["metadata", "tags"]

[api."my-gateway".rules.tool-name]
demand = "A tool message has a name."
source = "https://gateway.example/docs/messages"
date = 2026-11-30
severity = "warning"
where = { role = "tool" }
require-keys = { name = "tool", flags = [] }

[api."my-gateway".rules.short-output]
demand = "A tool's output has at most 12 characters."
source = "https://gateway.example/docs/limits"
date = 2026-11-30
where = { role = "tool" }
max-text = 12

[api.stricter]
based-on = "my-gateway"

[api.stricter.rules.blank-text]
severity = "error"

[api.stricter.rules.no-metadata]
severity = "off"
"""

OWN: Final = read_rules(TABLES)
GATEWAY: Final = Target("my-gateway", "m-1", rules=OWN["my-gateway"])
STRICTER: Final = Target("stricter", "m-1", rules=OWN["stricter"])


def answered(said: Any = "out", call_id: str = "c1", **more: Any) -> Item:
    """A tool message as the gateway wants it."""
    return {**tool(call_id, said), "name": "bash", "flags": [], **more}


BROKEN: Final = [
    Row("call-id", [user(), asks(entry_of_calls("x" * 30)), answered(call_id="x" * 30)], touched=(1, 2)),
    Row("call-id", [user(), asks(entry_of_calls("a b")), answered(call_id="a b")], touched=(1, 2)),
    Row("name", [user(), asks(entry_of_calls(name="Bash")), answered()]),
    Row("name", [user(), asks(entry_of_calls(name="b" * 21)), answered()]),
    Row(
        "part-type", [user(), user([text("see"), {"type": "image_url", "image_url": {"url": "https://x/y"}}])]
    ),
    Row("foreign-key", [user(), {**user("hi"), "timestamp": 1}]),
    Row("no-metadata", [user(), {**user("hi"), "metadata": {"a": 1}}]),
    Row("no-metadata", [{**user("hi"), "tags": [], "metadata": None}]),
    Row("tool-name", [user(), asks(entry_of_calls()), tool()]),
    Row("tool-name", [user(), asks(entry_of_calls()), {**tool(), "name": "bash"}]),
    Row("short-output", [user(), asks(entry_of_calls()), answered("a long output")]),
    Row("short-output", [user(), asks(entry_of_calls()), answered([text("short"), text("and a long one")])]),
]

NEAR: Final[list[list[Item]]] = [
    [user(), asks(entry_of_calls("x" * 29)), answered(call_id="x" * 29)],
    [user(), user(" \n"), assistant([text("hi"), text("")])],
    [user(), asks(entry_of_calls(arguments="no JSON")), answered("twelve chars")],
    [user(), assistant("so", metadata={}), {**user(), "name": "ann"}],
    [user([text("see")])],
]


def rows() -> list[Any]:
    return [pytest.param(row, id=f"{n}-{row.rule}") for n, row in enumerate(BROKEN)]


@pytest.mark.parametrize("row", rows())
def test_what_breaks_a_rule_of_a_table_is_found_by_that_rule_alone(row: Row) -> None:
    notes = {"arguments"} & {finding.rule for finding in check_items(row.items, GATEWAY)}
    assert not notes
    is_found_alone(row, GATEWAY)


@pytest.mark.parametrize("row", rows())
def test_what_breaks_a_rule_of_a_table_is_mended_and_the_rest_is_left_alone(row: Row) -> None:
    is_mended_alone(row, GATEWAY)
    is_told(row, GATEWAY)
    is_mended_for_good(row, GATEWAY)


@pytest.mark.parametrize("items", NEAR)
def test_what_a_table_turns_off_is_neither_found_nor_mended(items: list[Item]) -> None:
    is_sent_as_it_is(items, GATEWAY, ["arguments"] if "no JSON" in repr(items) else [])


def test_a_table_has_the_rules_that_it_is_based_on_and_its_own() -> None:
    rules = OWN["my-gateway"].rules
    assert [*rules][: len(APIS["openai-chat"].rules)] == [*APIS["openai-chat"].rules]
    assert [*rules][len(APIS["openai-chat"].rules) :] == ["no-metadata", "tool-name", "short-output"]
    ids = rules["call-id"]
    assert (ids.source, ids.date) == ("https://gateway.example/docs/ids", "2026-11-30")
    assert ids.demand == "A call id has 1 to 29 characters, as [A-Za-z0-9_-]+ has them."
    assert rules["name"].source == APIS["openai-chat"].rules["name"].source
    assert rules["foreign-key"].severity == "error"
    assert rules["foreign-key"].demand == "A message bears only known keys."
    assert rules["tool-name"].severity == "warning"
    assert rules["no-metadata"].date == datetime.date(2026, 11, 30).isoformat()
    assert rules["content"] is APIS["openai-chat"].rules["content"]


def test_a_table_may_be_based_on_another_of_its_file() -> None:
    items = [user(), user(" "), {**user(), "metadata": 1}]
    assert rules_of(check_items(items, STRICTER)) == ["blank-text"]
    assert rules_of(check_items(items, GATEWAY)) == ["no-metadata"]


def test_what_is_known_everywhere_stays_as_it_is() -> None:
    items = [user(), asks(entry_of_calls("x" * 35)), tool("x" * 35), {**user(" "), "metadata": 1}]
    assert rules_of(check_items(items, Target("openai-chat", "m"))) == ["blank-text"]
    with pytest.raises(TargetError, match="not known here"):
        check_items(items, Target("my-gateway", "m"))
    with pytest.raises(TargetError, match="those of my-gateway"):
        Target("openai-chat", "m", rules=OWN["my-gateway"])


def test_calls_of_any_shape_go_under_the_names_and_ids_of_the_table() -> None:
    for said in (
        [call("a:b", name="Read"), output("a:b", "0123456789abcdef")],
        [assistant([use("a:b", name="Read")]), user([result("a:b", "0123456789abcdef")])],
    ):
        context = build_context(entries_of([user(), *said], None), GATEWAY)
        (_, asked, shown) = context.items
        (entry,) = asked["tool_calls"]
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,29}", entry["id"])
        assert entry["function"]["name"] == "t" + "".join(re.findall(r"[0-9a-f]", entry["function"]["name"]))
        assert shown == answered("0123456789a…", entry["id"], name="tool")
        assert ("rewritten", "call-id") in told(context)
        assert ("rewritten", "short-output") in told(context)


BASES: Final = {
    "openai-responses": ("blank-text", [user(), assistant([{"type": "output_text", "text": " "}]), user()]),
    "anthropic-messages": ("blank-text", [user(), assistant([text("a"), text(" ")]), user(" ")]),
    "mistral-chat": ("role-order", [user(), asks(entry_of_calls("D681PevKs")), tool("D681PevKs"), user()]),
    "deepseek-chat": ("reasoning-missing", [user(), assistant("so"), user()]),
}


@pytest.mark.parametrize("base", BASES)
def test_any_api_takes_a_table(base: str) -> None:
    rule, items = BASES[base]
    assert rule in rules_of(check_items(items, Target(base, "m")))
    off = read_rules(f'[api.own]\nbased-on = "{base}"\n[api.own.rules.{rule}]\nseverity = "off"\n')
    is_sent_as_it_is(items, Target("own", "m", rules=off["own"]))
    for severity in ("error", "warning", "note"):
        own = read_rules(f'[api.own]\nbased-on = "{base}"\n[api.own.rules.{rule}]\nseverity = "{severity}"\n')
        target = Target("own", "m", rules=own["own"])
        found = check_items(items, target)
        assert {finding.severity for finding in found if finding.rule == rule} == {severity}
        context = build_context(entries_of(items, target), target)
        assert bool(context.changes) == (severity != "note")


OFF: Final[dict[tuple[str, str], list[Item]]] = {
    ("openai-responses", "call-id"): [user(), call("x" * 65), output("x" * 65)],
    ("openai-responses", "foreign-key"): [user(), {**user("hi"), "name": "ann"}],
    ("openai-responses", "item-id"): [user(), call(id="item_1"), output()],
    ("openai-responses", "name"): [user(), call(name="a.b"), output()],
    ("anthropic-messages", "call-id"): [user(), assistant([use("a|b")]), user([result("a|b")])],
    ("anthropic-messages", "first-user"): [assistant("hello"), user()],
    ("anthropic-messages", "foreign-key"): [user(), {**user([{**text("hi"), "index": 0}]), "status": 1}],
    ("anthropic-messages", "name"): [user(), assistant([use(name="a.b")]), user([result()])],
    ("openai-chat", "arguments"): [user(), asks(entry_of_calls(arguments="{")), tool()],
    ("openai-chat", "call-id"): [user(), asks(entry_of_calls("x" * 50)), tool("x" * 50)],
    ("openai-chat", "foreign-key"): [user(), {**user("hi"), "status": "new"}],
    ("openai-chat", "name"): [user(), asks(entry_of_calls(name="a.b")), tool()],
    ("mistral-chat", "foreign-key"): [user(), {**user([{**text("a"), "x": 1}]), "name": "ann"}],
    ("mistral-chat", "call-id"): [user(), asks(entry_of_calls("call_1")), tool("call_1")],
    ("mistral-chat", "prefix"): [user(), assistant("so", prefix=True), user()],
    ("mistral-chat", "first-user"): [asks(entry_of_calls("D681PevKs")), tool("D681PevKs")],
    ("deepseek-chat", "blank-text"): [user(), thought([text("a"), text(" ")]), user(" ")],
}


@pytest.mark.parametrize(("base", "rule"), OFF)
def test_each_rule_that_can_be_turned_off_is(base: str, rule: str) -> None:
    items = OFF[base, rule]
    assert set(rules_of(check_items(items, Target(base, "m")))) == {rule}
    own = read_rules(f'[api.own]\nbased-on = "{base}"\n[api.own.rules.{rule}]\nseverity = "off"\n')
    is_sent_as_it_is(items, Target("own", "m", rules=own["own"]))


def test_reasoning_is_as_the_model_wants_it_under_a_table_too() -> None:
    own = read_rules('[api.own]\nbased-on = "deepseek-chat"\n')["own"]
    items = [user(), thought(), user()]
    assert check_items(items, Target("own", "deepseek-v4-pro", rules=own)) == []
    old = Target("own", "deepseek-r1", rules=own)
    assert rules_of(check_items(items, old)) == ["reasoning-refused"]
    assert api_for(old).name == "own"


def test_a_key_that_is_wanted_may_stand_where_keys_are_counted() -> None:
    row = 'demand = "x."\nsource = "https://x.example/"\ndate = 2026-11-30\n'
    own = read_rules(
        '[api.own]\nbased-on = "mistral-chat"\n[api.own.rules.safe]\n'
        f'{row}where = {{ role = "user" }}\nrequire-keys = {{ safe = true }}\n'
    )
    target = Target("own", "m", rules=own["own"])
    assert build_context(entries_of([user()], None), target).items == [{**user(), "safe": True}]
    for base in ("openai-responses", "anthropic-messages"):
        head = f'[api.own]\nbased-on = "{base}"\n[api.own.rules.safe]\n'
        with pytest.raises(RulesError, match=r"rules\.safe\.require-keys: the API knows no such key"):
            read_rules(f"{head}{row}require-keys = {{ safe = true }}\n")


def test_a_session_and_a_scripted_model_take_a_target_with_a_table(tmp_path: Path) -> None:
    model = ScriptedModel(GATEWAY, ["I am."])
    with Session.create(tmp_path / "s.jsonl") as session:
        session.add(user("Are you there?"))
        context = session.context(GATEWAY)
        session.add_response(model(context.items), to=context)
        assert session.entries()[-1].family == "my-gateway/direct/m-1"  # type: ignore[union-attr]
        again = session.context(GATEWAY)
        assert [item["content"] for item in again.items] == ["Are you there?", "I am."]
        told_of = check_acceptance(session.entries(), "my-gateway", OWN["my-gateway"])
    assert told_of.findings == ()
    assert told_of.target.rules is OWN["my-gateway"]
    refused = ScriptedModel(GATEWAY, ["I am."])
    with pytest.raises(Exception, match="bears metadata"):
        refused([{**user(), "metadata": 1}])


def test_what_a_table_makes_impossible_is_an_error_and_no_request() -> None:
    row = '{ demand = "x.", source = "https://x.example/", date = 2026-11-30, max-text = 1 }'
    own = read_rules(f'[api.own]\nbased-on = "anthropic-messages"\n[api.own.rules]\ntiny = {row}\n')
    target = Target("own", "m", rules=own["own"])
    assert build_context(entries_of([user("hi")], None), target).items == [user("…")]
    calls = [user("h"), assistant([use()]), user([result(said="o")])]
    assert check_items(calls, target) == []
    asked = [user("h"), asks(entry_of_calls()), tool(said="o")]
    short = read_rules(f'[api.own]\nbased-on = "openai-chat"\n[api.own.rules]\ntiny = {row}\n')
    assert check_items(asked, Target("own", "m", rules=short["own"])) == []
    none = read_rules(
        '[api.own]\nbased-on = "openai-responses"\n[api.own.rules.both]\ndemand = "x."\n'
        'source = "https://x.example/"\ndate = 2026-11-30\nforbid-keys = ["id"]\nseverity = "note"\n'
    )
    target = Target("own", "m", rules=none["own"])
    items = [user(), {"type": "message", "role": "assistant", "id": "msg_1", "content": [_said("a")]}]
    assert rules_of(check_items(items, target)) == ["both"]
    assert build_context(entries_of(items, target), target).items == items
    with pytest.raises(ContextError):
        build_context([], target)


def _said(words: str) -> Item:
    return {"type": "output_text", "text": words, "annotations": []}


# ------------------------------------------------------------------------- what is none

BASE: Final = '[api.own]\nbased-on = "openai-chat"\n'
NEW: Final = 'demand = "x."\nsource = "https://x.example/"\ndate = 2026-11-30\n'

NAME: Final = f"{BASE}[api.own.rules.name]\n"
CONTENT: Final = f"{BASE}[api.own.rules.content]\n"
PARTS: Final = f"{BASE}[api.own.rules.part-type.parts]\n"
OTHER: Final = PARTS.replace("openai-chat", "anthropic-messages")
MINE: Final = f"{BASE}[api.own.rules.mine]\n"

WRONG: Final[list[tuple[str, str, str]]] = [
    ("[api", "", "it is not TOML"),
    ("[apis.own]\n", "apis", "not known here; known are api"),
    ("api = 3\n", "api", "a table is wanted"),
    ("[api]\nown = 3\n", "api.own", "a table is wanted"),
    ("[api.own]\n", "api.own.based-on", "one of openai-responses,"),
    ('[api.own]\nbased-on = "nope"\n', "api.own.based-on", "not 'nope'"),
    ('[api.own]\nbased-on = "gemini"\n', "api.own.based-on", "mistral-chat is wanted; gemini takes no table"),
    ("[api.own]\nbased-on = 3\n", "api.own.based-on", "a text is wanted"),
    ('[api."a/b"]\nbased-on = "openai-chat"\n', 'api."a/b"', "without a slash"),
    ('[api.openai-chat]\nbased-on = "openai-chat"\n', "api.openai-chat", "a name of your own"),
    (f"{BASE}basis = 1\n", "api.own.basis", "known are based-on, rules"),
    (f"{BASE}rules = 1\n", "api.own.rules", "a table is wanted"),
    (f"{BASE}[api.own.rules]\nname = 1\n", "api.own.rules.name", "a table is wanted"),
    (
        f"{NAME}lenght = 1\n",
        "api.own.rules.name.lenght",
        "known are date, demand, length",
    ),
    (f"{CONTENT}length = 1\n", "api.own.rules.content.length", "not known here"),
    (
        f"{NAME}severity = 'bad'\n",
        "api.own.rules.name.severity",
        "one of error, warning",
    ),
    (f"{CONTENT}severity = 'off'\n", "api.own.rules.content.severity", "only these"),
    (f"{CONTENT}severity = 'note'\n", "api.own.rules.content.severity", "only these"),
    (f"{NAME}length = 0\n", "api.own.rules.name.length", "a number of characters"),
    (f"{NAME}length = true\n", "api.own.rules.name.length", "a number of characters"),
    (f"{NAME}pattern = '('\n", "api.own.rules.name.pattern", "it is no pattern"),
    (f"{NAME}pattern = '[é]+'\n", "api.own.rules.name", "no name that fits"),
    (f"{BASE}[api.own.rules.call-id]\npattern = '[é]+'\n", "api.own.rules.call-id", "no id that fits"),
    (f"{NAME}date = 'soon'\n", "api.own.rules.name.date", "a date is wanted"),
    (f"{NAME}date = 3\n", "api.own.rules.name.date", "a date is wanted"),
    (f"{NAME}source = ''\n", "api.own.rules.name.source", "a text is wanted"),
    (f"{BASE}[api.own.rules.part-type]\nparts = 1\n", "api.own.rules.part-type.parts", "a table is wanted"),
    (
        f"{PARTS}martian = ['text']\n",
        "api.own.rules.part-type.parts.martian",
        "the roles here are user, assistant",
    ),
    (
        f"{PARTS}user = ['file']\n",
        "api.own.rules.part-type.parts.user",
        "a message has text",
    ),
    (
        f"{PARTS}user = 'text'\n",
        "api.own.rules.part-type.parts.user",
        "a list of texts",
    ),
    (
        f"{OTHER}user = ['text']\n",
        "api.own.rules.part-type.parts",
        "only a dialect of Chat",
    ),
    (f"{MINE}forbid-keys = ['a']\n", "api.own.rules.mine.demand", "a new rule says"),
    (f"{BASE}[api.own.rules.Mine]\n{NEW}", "api.own.rules.Mine", "small letters"),
    (f"{MINE}{NEW}", "api.own.rules.mine", "has forbid-keys, require-keys or max-text"),
    (f"{MINE}{NEW}max-text = 0\n", "api.own.rules.mine.max-text", "a number"),
    (f"{MINE}{NEW}forbid-keys = 'a'\n", "api.own.rules.mine.forbid-keys", "a list"),
    (
        f"{MINE}{NEW}forbid-keys = ['role']\n",
        "api.own.rules.mine.forbid-keys",
        "without role",
    ),
    (
        f"{MINE}{NEW}require-keys = ['a']\n",
        "api.own.rules.mine.require-keys",
        "a table",
    ),
    (
        f"{MINE}{NEW}require-keys = {{ content = 'x' }}\n",
        "api.own.rules.mine.require-keys",
        "no value can be made up for content",
    ),
    (
        f"{MINE}{NEW}where = 'user'\nmax-text = 9\n",
        "api.own.rules.mine.where",
        "a table",
    ),
]


@pytest.mark.parametrize(("tables", "key", "why"), WRONG)
def test_what_is_no_table_is_told_with_the_file_and_the_key(tables: str, key: str, why: str) -> None:
    with pytest.raises(RulesError) as caught:
        read_rules(tables, "gateway.toml")
    assert caught.value.path == "gateway.toml"
    assert caught.value.key == key
    assert why in caught.value.reason
    assert str(caught.value).startswith(f"gateway.toml: {key}: " if key else "gateway.toml: ")


def test_a_file_is_read_or_told(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    load: Callable[[Any], dict[str, Api]] = load_rules
    with pytest.raises(StorageError, match=re.escape(str(path))):
        load(path)
    path.write_bytes(b"\xff")
    with pytest.raises(RulesError, match="not UTF-8"):
        load(path)
    path.write_text(TABLES)
    assert [*load(path)] == [*load(str(path))] == ["my-gateway", "stricter"]
    path.write_text("")
    assert load(path) == {}
