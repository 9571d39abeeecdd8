"""Each rule of each API: what breaks it, what mends it, and what only looks like breaking it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from typing import Any, Final

import pytest

from transcript_log.apis import APIS, api_of, check_items
from transcript_log.context import Context, build_context
from transcript_log.entries import Entry, MessageEntry, ResponseRecord
from transcript_log.errors import ContextError, TargetError
from transcript_log.families import Target
from transcript_log.findings import Finding

Item = dict[str, Any]

TARGETS: Final = {
    "responses": Target("openai-responses", "m-1"),
    "chat": Target("openai-chat", "m-1"),
    "anthropic": Target("anthropic-messages", "m-1"),
}
SHORT: Final = {target.api: short for short, target in TARGETS.items()}
PNG: Final = "aGk="
HALF: Final = "half \ud83d here"


# ------------------------------------------------------------------------------- items


def user(content: Any = "go") -> Item:
    return {"role": "user", "content": content}


def assistant(content: Any = "done", **more: Any) -> Item:
    return {"role": "assistant", "content": content, **more}


def text(said: str) -> Item:
    return {"type": "text", "text": said}


def call(call_id: Any = "c1", **more: Any) -> Item:
    """A call of the Responses API."""
    return {"type": "function_call", "call_id": call_id, "name": "bash", "arguments": "{}", **more}


def output(call_id: Any = "c1", said: Any = "out", **more: Any) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": said, **more}


def custom(call_id: str = "c1", **more: Any) -> Item:
    return {"type": "custom_tool_call", "call_id": call_id, "name": "patch", "input": "*** Begin", **more}


def reasoning(number: int = 1, **more: Any) -> Item:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "seal", **more}


def entry_of_calls(call_id: Any = "c1", name: Any = "bash", arguments: Any = "{}") -> Item:
    """One of the ``tool_calls`` of a Chat message."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: Item, content: Any = None, **more: Any) -> Item:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def tool(call_id: Any = "c1", said: Any = "out") -> Item:
    return {"role": "tool", "tool_call_id": call_id, "content": said}


def use(call_id: Any = "c1", name: Any = "bash", given: Any = None) -> Item:
    """A ``tool_use`` block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}


def result(call_id: Any = "c1", said: Any = "out", **more: Any) -> Item:
    return {"type": "tool_result", "tool_use_id": call_id, "content": said, **more}


def thinking(**more: Any) -> Item:
    return {"type": "thinking", "thinking": "plan", "signature": "seal", **more}


def picture() -> Item:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def search(call_id: str = "s1") -> Item:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}


def searched(call_id: str = "s1") -> Item:
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def entries_of(items: Sequence[Item], target: Target | None, *, finish: str | None = None) -> list[Entry]:
    """Items as entries of the target's own family; the last one ends its response so."""
    family = None if target is None else target.family
    made: list[Entry] = []
    for place, item in enumerate(items):
        last = place == len(items) - 1 and finish is not None
        response = ResponseRecord(finish_reason=finish) if last else None
        made.append(
            MessageEntry(id=f"e{place}", timestamp=None, message=item, family=family, response=response)
        )
    return made


def built(api: str, *items: Item, own: bool = False) -> Context:
    """The context for an API of items, of nobody's family unless they are the target's own."""
    target = TARGETS[api]
    return build_context(entries_of(items, target if own else None), target)


def rules_of(found: Sequence[Finding]) -> list[str]:
    return [finding.rule for finding in found]


def refusals(found: Sequence[Finding]) -> list[str]:
    """What is found, but for what is only worth knowing."""
    return [str(finding) for finding in found if finding.severity != "note"]


def told(context: Context) -> list[tuple[str, str]]:
    return [(change.kind, change.rule) for change in context.changes]


# ------------------------------------------------------------------------------- rules


@dataclass(frozen=True)
class Row:
    """Items that break one rule.

    ``also`` are rules that cannot but be broken with it; ``touched`` the places of the items
    that the mending changes, where they are others than those that the findings name; ``untold``
    why no change is told of it, where that is a bug.
    """

    rule: str
    items: list[Item]
    also: tuple[str, ...] = ()
    touched: tuple[int, ...] | None = None
    untold: str = ""


LAST: Final = ("ends-with-assistant",)

OBJECT: Final = "arguments that are an object go as text, and no change says so"
NO_CALLS: Final = "an empty list of calls is taken out, and no change says so"

BROKEN: Final[dict[str, list[Row]]] = {
    "responses": [
        Row("empty-input", []),
        Row("call-id", [user(), call("x" * 65), output("x" * 65)], touched=(1, 2)),
        Row("call-id", [user(), call(""), output("")], touched=(1, 2)),
        Row("call-id", [user(), call(None), output(None)], touched=(1, 2)),
        Row("call-twice", [user(), call(), call(), output()], touched=(1, 2, 3)),
        Row("call-twice", [user(), call(), output(), call(), output()], ("output-twice",)),
        Row("output-missing", [user(), call(), user("well?")]),
        Row("output-missing", [user(), custom(), user("well?")]),
        Row("output-without-call", [user(), output()]),
        Row("output-twice", [user(), call(), output(said="one"), output(said="two")], touched=(2, 3)),
        Row("output-kind", [user(), custom(), output()]),
        Row("output-order", [user(), call(), user("wait"), output()]),
        Row("output-order", [user(), call(), assistant("as I said"), output()]),
        Row("item-id", [user(), call(id="item_1"), output()]),
        Row("item-id", [user(), {"type": "message", **assistant(), "id": "chatcmpl-1"}]),
        Row("item-id", [user(), call(id="fc_" + "x" * 62), output()]),
        Row("item-id-twice", [user(), assistant("a", id="msg_1"), assistant("b", id="msg_1")]),
        Row("reasoning-content", [user(), reasoning(encrypted_content=None), assistant()]),
        Row("reasoning-content", [user(), reasoning(encrypted_content="  "), assistant()]),
        Row("reasoning-alone", [user(), reasoning(), user("more")]),
        Row("reasoning-alone", [user(), reasoning()]),
        Row("reasoning-keys", [user(), reasoning(status="completed"), assistant()]),
        Row("reasoning-keys", [user(), reasoning(summary=None), assistant()]),
        Row("reasoning-keys", [user(), reasoning(content=[text("hm")]), assistant()]),
        Row("arguments", [user(), call(arguments="[1]"), output()]),
        Row("arguments", [user(), call(arguments='{"a": '), output()]),
        Row("arguments", [user(), call(arguments={"a": 1}), output()], untold=OBJECT),
        Row("name", [user(), call(name="mcp:server.tool"), output()]),
        Row("name", [user(), call(name="t" * 65), output()]),
        Row("content", [user(), user("")]),
        Row("content", [user(), user([])]),
        Row("part-type", [user(), user([{"type": "output_text", "text": "hi"}])]),
        Row("part-type", [user(), user([text("hi")])]),
        Row("foreign-shape", [user(), {"type": "surprise"}]),
        Row("foreign-shape", [user(), {"role": "martian", "content": "hi"}]),
        Row("foreign-key", [user(), {**user("hi"), "timestamp": 1}]),
        Row("foreign-key", [user(), {**user("hi"), "name": "ann"}]),
        Row("foreign-key", [user(), call(parsed_arguments={}), output()]),
        Row("output-content", [user(), call(), output(said={"ok": True})]),
        Row("output-content", [user(), call(), output(said=[text("hi")])]),
        Row("surrogate", [user(), user(HALF)]),
        Row("surrogate", [user(), call(), output(said=HALF)]),
    ],
    "chat": [
        Row("empty-input", []),
        Row("output-missing", [user(), asks(entry_of_calls()), user("well?")]),
        Row("output-missing", [user(), asks(entry_of_calls("a"), entry_of_calls("b")), tool("a")]),
        Row("output-without-call", [user(), tool()]),
        Row(
            "output-twice",
            [user(), asks(entry_of_calls()), tool(said="one"), tool(said="two")],
            touched=(2, 3),
        ),
        Row("call-twice", [user(), asks(entry_of_calls(), entry_of_calls()), tool()], touched=(1, 2)),
        Row("call-id", [user(), asks(entry_of_calls("x" * 41)), tool("x" * 41)], touched=(1, 2)),
        Row("call-id", [user(), asks(entry_of_calls("")), tool("")], touched=(1, 2)),
        Row("calls-empty", [user(), asks(content="done")], untold=NO_CALLS),
        Row("content", [user(), user("")]),
        Row("content", [user(), assistant(None)]),
        Row("content", [user(), asks(entry_of_calls()), tool(said=None)]),
        Row("part-type", [user(), user([{"type": "hologram"}, text("hi")])]),
        Row("part-type", [user(), user([picture()])]),
        Row(
            "part-type",
            [user(), asks(entry_of_calls()), tool(said=[text("see"), {"type": "image_url"}])],
        ),
        Row("arguments", [user(), asks(entry_of_calls(arguments='{"a": ')), tool()]),
        Row("arguments", [user(), asks(entry_of_calls(arguments={"a": 1})), tool()]),
        Row("name", [user(), asks(entry_of_calls(name="mcp:server.tool")), tool()]),
        Row("name", [user(), asks(entry_of_calls(name="")), tool()]),
        Row("foreign-shape", [user(), {"type": "reasoning", "summary": []}]),
        Row("foreign-shape", [user(), {"role": "martian", "content": "hi"}]),
        Row("foreign-shape", [user(), asks(entry_of_calls()), output()], ("output-missing",), (2,)),
        Row("foreign-key", [user(), {**user("hi"), "timestamp": 1}]),
        Row("foreign-key", [user(), assistant(stop_reason="end_turn")]),
        Row("surrogate", [user(), user(HALF)]),
        Row("surrogate", [user(), asks(entry_of_calls(name="bash")), tool(said=HALF)]),
    ],
    "anthropic": [
        Row("empty-input", []),
        Row("first-user", [assistant("hello"), user()], touched=()),
        Row("role", [user(), {"role": "system", "content": "be brief"}, user("go on")]),
        Row("content", [user(), user([])]),
        Row("content", [user(), user(None)]),
        Row("blank-text", [user(), user(" \n")]),
        Row("blank-text", [user(), user([text("hi"), text("")])]),
        Row("blank-text", [user(), assistant([use()]), user([result(said=" ")])]),
        Row("blank-text", [user(), assistant([use()]), user([result(said=[text(""), text("a")])])]),
        Row("trailing-space", [user(), assistant("done \n")], LAST),
        Row("trailing-space", [user(), assistant([text("so"), text("done ")])], LAST),
        Row("thinking-last", [user(), assistant([text("hm"), thinking()])], LAST),
        Row("signature", [user(), assistant([thinking(signature=""), text("hm")]), user("go on")]),
        Row(
            "signature",
            [user(), assistant([{"type": "redacted_thinking"}, text("hm")]), user("go on")],
        ),
        Row("output-missing", [user(), assistant([use()]), user("well?")], touched=(1, 2)),
        Row("output-missing", [user(), assistant([use("a"), use("b")]), user([result("a")])], touched=(2,)),
        Row("output-without-call", [user(), assistant("hm"), user([result()])]),
        Row(
            "output-twice",
            [user(), assistant([use()]), user([result(said="one"), result(said="two")])],
        ),
        Row("output-order", [user(), assistant([use()]), user([text("see"), result()])]),
        Row("output-content", [user(), assistant([use()]), user([result(said="", is_error=True)])]),
        Row("output-content", [user(), assistant([use()]), user([result(said=[picture()], is_error=True)])]),
        Row("call-id", [user(), assistant([use("a|b")]), user([result("a|b")])], touched=(1, 2)),
        Row("call-id", [user(), assistant([use("x" * 65)]), user([result("x" * 65)])], touched=(1, 2)),
        Row("call-id", [user(), assistant([use("é")]), user([result("é")])], touched=(1, 2)),
        Row(
            "call-twice",
            [user(), assistant([use()]), user([result()]), assistant([use()]), user([result()])],
            touched=(3, 4),
        ),
        Row("call-twice", [user(), assistant([use(), use()]), user([result()])], touched=(1, 2)),
        Row("name", [user(), assistant([use(name="mcp:server.tool")]), user([result()])]),
        Row("name", [user(), assistant([use(name="t" * 129)]), user([result()])]),
        Row("arguments", [user(), assistant([use(given="word")]), user([result()])]),
        Row("arguments", [user(), assistant([use(given=[1])]), user([result()])]),
        Row("hosted-pair", [user(), assistant([search(), text("hm")]), user("go on")]),
        Row("hosted-pair", [user(), assistant([searched(), text("hm")]), user("go on")]),
        Row("foreign-key", [user(), {**user("hi"), "timestamp": 1}]),
        Row("foreign-key", [user(), user([{**text("hi"), "index": 0}])]),
        Row("part-type", [user(), user([{"type": "input_text", "text": "hi"}])]),
        Row("part-type", [user(), user([{"type": "image_url", "image_url": {"url": "https://x/y"}}])]),
        Row("part-type", [user(), assistant([text("see"), picture()]), user("go on")]),
        Row("part-type", [user(), user(["hi"])]),
        Row("surrogate", [user(), user(HALF)]),
        Row("surrogate", [user(), assistant([use(given={"a": HALF})]), user([result()])]),
        Row("ends-with-assistant", [user(), assistant()]),
    ],
}


def rows() -> list[Any]:
    number = count()
    return [
        pytest.param(api, row, id=f"{api}-{row.rule}-{next(number)}") for api in BROKEN for row in BROKEN[api]
    ]


def test_every_rule_of_every_api_has_a_row_here() -> None:
    assert {SHORT[name] for name in APIS} == BROKEN.keys()
    for name, api in APIS.items():
        assert {row.rule for row in BROKEN[SHORT[name]]} == api.rules.keys()
        assert name == api.name


def test_every_rule_says_where_it_is_from_and_what_it_demands() -> None:
    for api in APIS.values():
        for rule_id, rule in api.rules.items():
            assert rule.id == rule_id
            assert re.fullmatch(r"https://[^\s/]+\.[^\s/]+/\S+", rule.source), rule
            assert date.fromisoformat(rule.date).isoformat() == rule.date
            assert rule.demand.endswith(".")
            assert rule.severity in ("error", "warning", "note")


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_breaks_a_rule_is_found_by_that_rule_alone(api: str, row: Row) -> None:
    found = check_items(row.items, TARGETS[api])
    assert set(rules_of(found)) == {row.rule, *row.also}
    rules = api_of(TARGETS[api].api).rules
    for finding in found:
        assert finding.severity == rules[finding.rule].severity
        assert (finding.item is None) == (not row.items)
        assert bool(finding.advice) == (finding.severity != "note")
        assert finding.message


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_breaks_a_rule_is_mended_and_the_rest_is_left_alone(api: str, row: Row) -> None:
    target = TARGETS[api]
    entries = entries_of(row.items, target)
    if not row.items:
        with pytest.raises(ContextError, match="there is nothing to send"):
            build_context(entries, target)
        return
    found = check_items(row.items, target)
    context = build_context(entries, target)
    assert refusals(check_items(context.items, target)) == []
    if not refusals(found):  # a note is no reason to change a thing
        assert context.changes == ()
        assert all(a is b for a, b in zip(context.items, row.items, strict=True))
        return
    named = {finding.item for finding in found}
    touched = named if row.touched is None else set(row.touched)
    innocent = [item for place, item in enumerate(row.items) if place not in touched]
    kept = [item for item in context.items if any(item is other for other in innocent)]
    assert len(kept) == len(innocent)
    assert all(a is b for a, b in zip(kept, innocent, strict=True))


@pytest.mark.parametrize(
    ("api", "row"),
    [
        pytest.param(
            *case.values, id=case.id, marks=[pytest.mark.xfail(strict=True, reason=untold)] if untold else []
        )
        for case in rows()
        if (untold := case.values[1].untold) or True
    ],
)
def test_what_is_mended_is_told(api: str, row: Row) -> None:
    """A message of another API that is said in the words of this one is no change: its row says so."""
    target = TARGETS[api]
    found = check_items(row.items, target)
    if not row.items or not refusals(found):
        return
    context = build_context(entries_of(row.items, target), target)
    told_of = {change.entry for change in context.changes} | {
        entry for each in context.rows if each.why in ("rendered", "merged") for entry in each.entries
    }
    calls = {finding.call for finding in found} & {change.call for change in context.changes}
    assert {f"e{finding.item}" for finding in found} & told_of or calls - {None}


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_was_mended_once_is_mended(api: str, row: Row) -> None:
    if not row.items:
        return
    target = TARGETS[api]
    once = build_context(entries_of(row.items, target), target)
    twice = build_context(entries_of(once.items, target), target)  # type: ignore[arg-type]  # they are dicts
    assert twice.changes == ()
    assert all(a is b for a, b in zip(twice.items, once.items, strict=True))


# ------------------------------------------------------------------------- near misses

NEAR: Final[dict[str, list[list[Item]]]] = {
    "responses": [
        [user(), call("x" * 64), output("x" * 64)],
        [user(), call("a|b:c é"), output("a|b:c é")],
        [user(), call(id="fc_" + "x" * 61), output()],
        [user(), call("a"), call("b"), output("b"), output("a")],
        [user(), call("a"), output("a"), call("b"), output("b")],
        [user(), reasoning(1), reasoning(2), call(), output()],
        [user(), reasoning(1), call(), output(), reasoning(2), assistant()],
        [user(), reasoning(), assistant(id="msg_1")],
        [user(), reasoning(id=None), assistant()],
        [user(), reasoning(), {"type": "web_search_call", "id": "ws_1", "status": "completed"}, assistant()],
        [user(), {"type": "file_search_call", "id": "fs_1", "queries": []}, assistant()],
        [user(), {"type": "image_generation_call", "id": "ig_1", "result": PNG}],
        [user(), {"type": "mcp_call", "id": "mcp_1", "name": "a.b", "arguments": "{}", "server_label": "s"}],
        [user(), {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "container_id": "c"}],
        [user(), {"type": "compaction", "encrypted_content": "seal"}, user("more")],
        [user(), custom(), {"type": "custom_tool_call_output", "call_id": "c1", "output": ""}],
        [user(), call(), output(said=[])],
        [user(), call(), output(said=[{"type": "input_image", "image_url": "https://x/y.png"}])],
        [user(), call(name="t" * 64), output()],
        [user(), assistant([{"type": "refusal", "refusal": "no"}])],
        [user(), user(" ")],
        [user("half \ufffd here, and a whole \U0001f600")],
        [
            user(),
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "action": {}, "status": "completed"},
            {"type": "local_shell_call_output", "id": "c1", "output": "out"},
        ],
        [{"type": "message", "role": "developer", "content": "be brief"}, user()],
    ],
    "chat": [
        [user(), asks(entry_of_calls()), tool()],
        [user(), asks(entry_of_calls(), content=""), tool(said="")],
        [user(), asks(entry_of_calls("x" * 40)), tool("x" * 40)],
        [user(), asks(entry_of_calls("a|b:c é")), tool("a|b:c é")],
        [user(), asks(entry_of_calls("a"), entry_of_calls("b")), tool("b"), tool("a")],
        [user(), asks(entry_of_calls()), tool(), asks(entry_of_calls()), tool()],
        [user(), asks(entry_of_calls(arguments="[1]")), tool(said=[text("a"), text("b")])],
        [user(), asks(entry_of_calls(), reasoning_content="hm"), tool()],
        [user(), asks({"id": "c1", "type": "custom", "custom": {"name": "p", "input": "not JSON"}}), tool()],
        [user(), assistant([{"type": "refusal", "refusal": "no"}])],
        [user(), assistant(refusal=None, annotations=[])],
        [user(" "), assistant("  ")],
        [{"role": "developer", "content": "be brief"}, {"role": "system", "content": [text("a")]}, user()],
        [user([text("see"), {"type": "image_url", "image_url": {"url": "https://x/y.png"}}])],
        [{**user(), "name": "ann"}, assistant(None, audio={"id": "audio_1"})],
    ],
    "anthropic": [
        [user(), assistant([use("x" * 64)]), user([result("x" * 64)])],
        [user(), assistant([use()]), user([{"type": "tool_result", "tool_use_id": "c1"}])],
        [user(), assistant([use()]), user([result(said="")])],
        [user(), assistant([use()]), user([result(said="failed", is_error=True)])],
        [user(), assistant([use()]), user([result(said=[text("a"), text("b")], is_error=True)])],
        [user(), assistant([use()]), user([result(said=[text("a"), picture()], is_error=False)])],
        [user(), assistant([use("a"), use("b")]), user([result("b"), result("a"), text("go on")])],
        [user(), assistant([use("a"), use("b")]), user([result("b")]), user([result("a")]), user("go on")],
        [user(), assistant([text("see")]), assistant([use()]), user([result()])],
        [user(), assistant([thinking(thinking=""), use()]), user([result()])],
        [user(), assistant([{"type": "redacted_thinking", "data": "seal"}, text("hm")]), user("go on")],
        [user(), assistant([text("so ")]), user("go on")],
        [user(), assistant([search(), searched(), text("found")]), user("go on")],
        [user(), assistant([search()]), assistant([searched(), text("found")]), user("go on")],
        [user(), user("twice"), assistant("a"), assistant("b"), user([text("x"), picture()])],
        [user(), assistant([use(name="t" * 128)]), user([result()])],
        [user([{**text("hi"), "cache_control": {"type": "ephemeral"}}])],
        [user([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}])],
    ],
}


def near() -> list[Any]:
    return [pytest.param(api, items, id=f"{api}-{n}") for api in NEAR for n, items in enumerate(NEAR[api])]


@pytest.mark.parametrize(("api", "items"), near())
def test_what_only_looks_wrong_is_sent_as_it_is(api: str, items: list[Item]) -> None:
    target = TARGETS[api]
    assert check_items(items, target) == []
    context = build_context(entries_of(items, target), target, strict=True)
    assert context.changes == ()
    assert all(a is b for a, b in zip(context.items, items, strict=True))
    # Not only because nothing was looked at: the steps themselves change nothing.
    odd = build_context([*entries_of(items, target), *ODD_END], target)
    kept = odd.items[: len(items)]
    assert all(a is b for a, b in zip(kept, items, strict=True))


ODD_END: Final[list[Entry]] = [
    MessageEntry(id="odd", timestamp=None, message={"role": "user", "content": HALF}, family=None)
]
"""What makes every step of a context be taken."""


def test_a_paused_turn_may_end_in_an_open_call_of_the_server() -> None:
    items = [user(), assistant([text("let me see "), search()])]
    target = TARGETS["anthropic"]
    assert rules_of(check_items(items, target)) == ["hosted-pair", "ends-with-assistant"]
    assert check_items(items, target, paused=True) == []
    context = build_context(entries_of(items, target, finish="pause"), target)
    assert context.paused
    assert context.items[1] is items[1]
    ended = build_context(entries_of(items, target, finish="stop"), target)
    assert ended.items == [user(), assistant([text("let me see")])]
    assert not ended.paused


def test_only_the_last_turn_can_be_paused() -> None:
    items = [user(), assistant([search()]), user("go on")]
    assert rules_of(check_items(items, TARGETS["anthropic"], paused=True)) == ["hosted-pair"]


def test_a_paused_turn_may_end_in_white_space_or_thinking() -> None:
    for block in (text("let me see "), thinking()):
        items = [user(), assistant([text("hm"), block])]
        assert check_items(items, TARGETS["anthropic"], paused=True) == []
        context = build_context(entries_of(items, TARGETS["anthropic"], finish="pause"), TARGETS["anthropic"])
        assert context.items[1] is items[1]


def test_an_api_that_is_not_known_is_told_with_those_that_are() -> None:
    with pytest.raises(TargetError, match="known are openai-responses, openai-chat, anthropic-messages"):
        api_of("openai-telepathy")
    with pytest.raises(TargetError):
        check_items([user()], Target("openai-telepathy", "m"))
    with pytest.raises(TargetError):
        build_context(entries_of([user()], None), Target("openai-telepathy", "m"))
