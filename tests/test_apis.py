"""Each rule of each API: what breaks it, what mends it, and what only looks like breaking it."""

from __future__ import annotations

import re
from datetime import date
from itertools import count
from typing import Any, Final

import pytest
from broken_rules import (
    Row,
    entries_of,
    is_found_alone,
    is_mended_alone,
    is_mended_for_good,
    is_sent_as_it_is,
    is_told,
    rules_of,
)

from transcript_log import items
from transcript_log.apis import APIS, api_of, check_items
from transcript_log.apis.chat import SEE_BELOW
from transcript_log.context import Context, build_context
from transcript_log.errors import TargetError
from transcript_log.families import Target
from transcript_log.items.gemini import NO_SIGNATURE

Item = dict[str, Any]

TARGETS: Final = {
    "responses": Target("openai-responses", "m-1"),
    "chat": Target("openai-chat", "m-1"),
    "anthropic": Target("anthropic-messages", "m-1"),
    "gemini": Target("gemini", "m-1"),
}
DIALECTS: Final = {"deepseek-chat": "deepseek", "mistral-chat": "mistral"}
"""Those whose rows are in ``test_apis_dialects.py``."""

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


# ------------------------------------------------------------------- contents of Gemini


def by_user(*parts: Any) -> Item:
    return {"role": "user", "parts": list(parts) or [{"text": "go"}]}


def by_model(*parts: Any) -> Item:
    return {"role": "model", "parts": list(parts) or [{"text": "done"}]}


def asked(call_id: Any = "c1", name: Any = "bash", args: Any = None, *, signed: bool = True) -> Item:
    """A ``functionCall`` part, signed as the first of a content has to be."""
    called = {"id": call_id, "name": name, "args": {} if args is None else args}
    if call_id is None:
        del called["id"]
    return {"functionCall": called, "thoughtSignature": "c2VhbA=="} if signed else {"functionCall": called}


def marked(call_id: Any = "c1", **given: Any) -> Item:
    """A call that bears the mark of one that another model made."""
    return {**asked(call_id, **given), "thoughtSignature": NO_SIGNATURE}


def answered(call_id: Any = "c1", said: Any = "out", name: Any = "bash", **more: Any) -> Item:
    given = said if isinstance(said, dict) else {"output": said}
    made = {"id": call_id, "name": name, "response": given, **more}
    if call_id is None:
        del made["id"]
    return {"functionResponse": made}


def blob(data: str = PNG, media_type: str = "image/png") -> Item:
    return {"inlineData": {"mimeType": media_type, "data": data}}


def built(api: str, *items: Item, own: bool = False) -> Context:
    """The context for an API of items, of nobody's family unless they are the target's own."""
    target = TARGETS[api]
    return build_context(entries_of(items, target if own else None), target)


def told(context: Context) -> list[tuple[str, str]]:
    return [(change.kind, change.rule) for change in context.changes]


# ------------------------------------------------------------------------------- rules


LAST: Final = ("ends-with-assistant",)
MODEL_LAST: Final = ("ends-with-model",)
ALONE: Final = ("output-missing",)


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
        Row("item-id", [user(), call(id=None), output()]),
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
        Row("arguments", [user(), call(arguments={"a": 1}), output()]),
        Row("name", [user(), call(name="mcp:server.tool"), output()]),
        Row("name", [user(), call(name="t" * 65), output()]),
        Row("content", [user(), user("")]),
        Row("blank-text", [user(), user(" \n")]),
        Row(
            "blank-text",
            [user(), user([{"type": "input_text", "text": " "}, {"type": "input_text", "text": "a"}])],
        ),
        Row("blank-text", [user(), assistant([{"type": "output_text", "text": "", "annotations": []}])]),
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
        Row("calls-empty", [user(), asks(content="done")]),
        Row("content", [user(), user("")]),
        Row("blank-text", [user(), user(" \n")]),
        Row("blank-text", [user(), assistant([text("hi"), text("")])]),
        Row("blank-text", [user(), asks(entry_of_calls(), content=" "), tool()], touched=(1,)),
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
    "gemini": [
        Row("empty-input", []),
        Row("foreign-shape", [by_user(), user("hi")]),
        Row("foreign-shape", [by_user(), {"role": "model"}, by_user()]),
        Row("foreign-shape", [by_user(), {"type": "surprise"}]),
        Row("foreign-key", [by_user(), {**by_user(), "timestamp": 1}]),
        Row("foreign-key", [by_user(), by_user({"text": "hi", "cache_control": {"type": "ephemeral"}})]),
        Row("spelling", [by_user(), by_model({"text": "hm", "thought_signature": "c2VhbA=="}), by_user()]),
        Row(
            "spelling",
            [by_user(), by_user({"inline_data": {"mime_type": "image/png", "data": PNG}}, {"text": "see"})],
        ),
        Row(
            "spelling",
            [
                by_user(),
                by_model({"function_call": asked()["functionCall"], "thought_signature": "c2VhbA=="}),
                by_user({"function_response": answered()["functionResponse"]}),
            ],
        ),
        Row("role", [by_user(), {"role": "system", "parts": [{"text": "be brief"}]}, by_user()]),
        Row("role", [by_user(), by_model(asked()), {"role": "function", "parts": [answered()]}]),
        Row("role", [by_user(), {"parts": [{"text": "hi"}]}]),
        Row("first-user", [by_model(), by_user()], touched=()),
        Row("content", [by_user(), {"role": "user", "parts": []}]),
        Row("part-type", [by_user(), by_user({}, {"text": "hi"})]),
        Row("part-type", [by_user(), by_user("hi")]),
        Row("part-type", [by_user(), by_user({"text": 1}, {"text": "hi"})]),
        Row("part-type", [by_user(), by_model({"text": "a", "inlineData": blob()["inlineData"]}), by_user()]),
        Row("part-type", [by_user(), by_user({"text": "hm", "thought": True}, {"text": "hi"})]),
        Row("part-type", [by_user(), by_model(asked()), by_model(answered())], MODEL_LAST),
        Row("blank-text", [by_user(), by_user({"text": " \n"})]),
        Row("blank-text", [by_user(), by_model({"text": ""}, {"text": "hi"}), by_user()]),
        Row("blob", [by_user(), by_user({"text": "see"}, blob(""))]),
        Row("blob", [by_user(), by_user({"text": "see"}, blob(f"data:image/png;base64,{PNG}"))]),
        Row("blob", [by_user(), by_user({"text": "see"}, {"inlineData": {"data": PNG}})]),
        Row("blob", [by_user(), by_user({"text": "see"}, {"fileData": {"mimeType": "image/png"}})]),
        Row(
            "call-order",
            [by_user(), by_model(), by_model(asked()), by_user(answered())],
            touched=(1, 2),
        ),
        Row("output-missing", [by_user(), by_model(asked()), by_user()]),
        Row(
            "output-missing",
            [by_user(), by_model(asked("a"), asked("b", signed=False)), by_user(answered("a"))],
            touched=(2,),
        ),
        Row(
            "output-missing",
            [
                by_user(),
                by_model(asked("a"), asked("b", signed=False)),
                by_user(answered("a")),
                by_user(answered("b")),
            ],
            ("output-without-call",),
            touched=(2, 3),
        ),
        Row("output-without-call", [by_user(), by_user(answered())]),
        Row("output-twice", [by_user(), by_model(asked()), by_user(answered(), answered(said="two"))]),
        Row("output-alone", [by_user(), by_model(asked()), by_user({"text": "see"}, answered())]),
        Row("output-alone", [by_user(), by_model(asked()), by_user(answered(), {"text": "go on"})]),
        Row("output-id", [by_user(), by_model(asked(None)), by_user(answered("bash-175"))]),
        Row(
            "output-id",
            [
                by_user(),
                by_model(asked(None, args={}), asked(None, signed=False)),
                by_user(answered("bash-1"), answered("bash-2")),
            ],
        ),
        Row("output-name", [by_user(), by_model(asked()), by_user(answered(name="sh"))]),
        Row("output-name", [by_user(), by_model(asked()), by_user(answered(name=None))]),
        Row("output-content", [by_user(), by_model(asked()), by_user(answered(response="out"))]),
        Row("output-content", [by_user(), by_model(asked()), by_user(answered(response=[1]))]),
        Row("output-media", [by_user(), by_model(asked()), by_user(answered(parts=[{"text": "see"}]))]),
        Row("call-id", [by_user(), by_model(asked(3)), by_user(answered(None))]),
        Row(
            "call-twice",
            [by_user(), by_model(asked(), asked(signed=False)), by_user(answered(), answered(said="two"))],
            touched=(1, 2),
        ),
        Row(
            "name",
            [by_user(), by_model(asked(name="9 lives")), by_user(answered(name="9 lives"))],
            touched=(1, 2),
        ),
        Row(
            "name",
            [by_user(), by_model(asked(name="t" * 65)), by_user(answered(name="t" * 65))],
            touched=(1, 2),
        ),
        Row("arguments", [by_user(), by_model(asked(args="[1]")), by_user(answered())]),
        Row("arguments", [by_user(), by_model(asked(args=[1])), by_user(answered())]),
        Row("signature", [by_user(), by_model(asked(signed=False)), by_user(answered())]),
        Row(
            "signature",
            [
                by_user(),
                by_model(asked()),
                by_user(answered()),
                by_model(asked("c2", signed=False)),
                by_user(answered("c2")),
            ],
        ),
        Row(
            "signature-bytes",
            [by_user(), by_model({"text": "hm", "thoughtSignature": "a b!"}), by_user()],
        ),
        Row(
            "signature-bytes",
            [by_user(), by_model({"text": "hm", "thoughtSignature": "c2VhbA=x"}), by_user()],
        ),
        Row("signature-bytes", [by_user(), by_model({"text": "hm", "thoughtSignature": "seal1"}), by_user()]),
        Row("surrogate", [by_user(), by_user({"text": HALF})]),
        Row("surrogate", [by_user(), by_model(asked(args={"a": HALF})), by_user(answered())]),
        Row("ends-with-model", [by_user(), by_model()]),
    ],
}


def rows() -> list[Any]:
    number = count()
    return [
        pytest.param(api, row, id=f"{api}-{row.rule}-{next(number)}") for api in BROKEN for row in BROKEN[api]
    ]


def test_every_rule_of_every_api_has_a_row_here() -> None:
    assert SHORT.keys() | DIALECTS.keys() == APIS.keys()
    assert set(SHORT.values()) == BROKEN.keys()
    for name, short in SHORT.items():
        assert {row.rule for row in BROKEN[short]} == APIS[name].rules.keys()
        assert name == APIS[name].name


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
    is_found_alone(row, TARGETS[api])


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_breaks_a_rule_is_mended_and_the_rest_is_left_alone(api: str, row: Row) -> None:
    is_mended_alone(row, TARGETS[api])


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_is_mended_is_told(api: str, row: Row) -> None:
    is_told(row, TARGETS[api])


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_was_mended_once_is_mended(api: str, row: Row) -> None:
    is_mended_for_good(row, TARGETS[api])


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
        [user(), asks(entry_of_calls()), tool(said=" ")],
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
    "gemini": [
        [by_user(), by_model(asked()), by_user(answered())],
        [
            by_user(),
            by_model(asked(None)),
            by_user(answered(None)),
            by_model(asked(None)),
            by_user(answered(None)),
        ],
        [
            by_user(),
            by_model(asked(None), asked(None, "read", signed=False), asked(None, signed=False)),
            by_user(answered(None), answered(None), answered(None, name="read")),
        ],
        [by_user(), by_model(asked("a"), asked("b", signed=False)), by_user(answered("b"), answered("a"))],
        [
            by_user(),
            by_model(asked()),
            by_user(answered()),
            by_user(),
            by_model(asked()),
            by_user(answered()),
        ],
        # What came before the user last spoke is not asked for its signature.
        [by_user(), by_model(asked(signed=False)), by_user(answered()), by_user({"text": "more"})],
        [by_user(), by_model({"text": "hm", "thought": True}, asked()), by_user(answered())],
        [by_user(), by_model({"text": "a"}, {"text": "", "thoughtSignature": "c2VhbA=="}), by_user()],
        [by_user(), by_model({"text": "\n", "thoughtSignature": "c2Vh_-=="}, {"text": "a"}), by_user()],
        [by_user(), by_model({"text": "a"}), by_model({"text": "b"}), by_user(), by_user()],
        [by_user(), by_model(asked(name="mcp:server.tool-1")), by_user(answered(name="mcp:server.tool-1"))],
        [by_user(), by_model(asked(name="t" * 64)), by_user(answered(name="t" * 64))],
        [by_user(), by_model(asked()), by_user(answered(said={"error": "no", "code": 2}))],
        [by_user(), by_model(asked()), by_user(answered(said={}, parts=[blob()]))],
        [
            by_user(),
            by_model({"functionCall": {"name": "now"}, "thoughtSignature": "c2VhbA=="}),
            by_user(answered(None, name="now")),
        ],
        [by_user(), by_model({"text": "see"}, blob()), by_user({"fileData": {"fileUri": "https://x/y"}})],
        [
            by_user(),
            by_model(
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"text": "one"},
            ),
            by_user(),
        ],
        [by_user({"text": "see", "mediaResolution": {"level": "HIGH"}})],
    ],
}


def near() -> list[Any]:
    return [pytest.param(api, items, id=f"{api}-{n}") for api in NEAR for n, items in enumerate(NEAR[api])]


@pytest.mark.parametrize(("api", "items"), near())
def test_what_only_looks_wrong_is_sent_as_it_is(api: str, items: list[Item]) -> None:
    is_sent_as_it_is(items, TARGETS[api])


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


def test_what_is_mended_before_a_paused_turn_leaves_its_end_alone() -> None:
    items = [user(HALF), assistant([text("hm"), text("let me see ")])]
    context = build_context(entries_of(items, TARGETS["anthropic"], finish="pause"), TARGETS["anthropic"])
    assert context.paused
    assert context.items[1] is items[1]
    assert told(context) == [("rewritten", "surrogate")]


def test_an_api_that_is_not_known_is_told_with_those_that_are() -> None:
    with pytest.raises(
        TargetError, match="known are openai-responses, openai-chat, anthropic-messages, gemini"
    ):
        api_of("openai-telepathy")
    with pytest.raises(TargetError):
        check_items([user()], Target("openai-telepathy", "m"))
    with pytest.raises(TargetError):
        build_context(entries_of([user()], None), Target("openai-telepathy", "m"))


# --------------------------------------------------------------------------- rendering

LINK: Final = "https://example.com/a.png"
DATA: Final = f"data:image/png;base64,{PNG}"
PDF: Final = "data:application/pdf;base64,JVBERg=="
NOTES: Final = "data:text/plain;base64,aGk="

SAID: Final[dict[str, dict[str, Item]]] = {
    "responses": {
        "text": user([{"type": "input_text", "text": "hi"}]),
        "answer": assistant([{"type": "output_text", "text": "hi", "annotations": []}], id="msg_1"),
        "link": user([{"type": "input_image", "image_url": LINK, "detail": "low"}]),
        "picture": user([{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": DATA}]),
        "pdf": user([{"type": "input_file", "filename": "a.pdf", "file_data": PDF}]),
        "notes": user([{"type": "input_file", "filename": "a.txt", "file_data": NOTES}]),
        "system": {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "rule"}]},
        "developer": {
            "type": "message",
            "role": "developer",
            "content": [{"type": "input_text", "text": "rule"}],
        },
        "refusal": {**assistant([{"type": "refusal", "refusal": "no"}]), "type": "message"},
    },
    "chat": {
        "link": user([{"type": "image_url", "image_url": {"url": LINK, "detail": "low"}}]),
        "picture": user([text("see"), {"type": "image_url", "image_url": {"url": DATA}}]),
        "pdf": user([{"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}}]),
        "notes": user([{"type": "file", "file": {"filename": "a.txt", "file_data": NOTES}}]),
        "refusal": assistant(None, refusal="no"),
    },
    "anthropic": {
        "text": user([text("hi"), {"type": "document", "source": {}}][:1]),
        "link": user([{"type": "image", "source": {"type": "url", "url": LINK}}]),
        "picture": user([text("see"), picture()]),
        "pdf": user(
            [
                {
                    "type": "document",
                    "title": "a.pdf",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
                }
            ]
        ),
        "notes": user(
            [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}}]
        ),
    },
    "pi": {
        "text": {**user([text("hi")]), "timestamp": 1},
        "answer": {**assistant([text("hi")]), "stopReason": "stop", "timestamp": 2},
        "picture": {
            **user([text("see"), {"type": "image", "data": PNG, "mimeType": "image/png"}]),
            "timestamp": 1,
        },
    },
    "gemini": {
        "text": by_user({"text": "hi"}),
        "answer": by_model({"text": "hi"}),
        "link": by_user({"fileData": {"mimeType": "image/png", "fileUri": LINK}}),
        "picture": by_user({"text": "see"}, blob()),
        "pdf": by_user(
            {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg==", "displayName": "a.pdf"}}
        ),
        "notes": by_user({"inlineData": {"mimeType": "text/plain", "data": PNG, "displayName": "a.txt"}}),
    },
    "plain": {
        "text": user("hi"),
        "answer": assistant("hi"),
        "system": {"role": "system", "content": "rule"},
        "developer": {"role": "developer", "content": "rule"},
    },
}
"""The same things in each shape."""


def _image(url: str, detail: str) -> Item:
    return {"type": "input_image", "image_url": url, "detail": detail}


def _message(speaker: str, *parts: Item) -> Item:
    return {"type": "message", "role": speaker, "content": list(parts)}


def _file(name: str, data: str) -> Item:
    return {"type": "input_file", "filename": name, "file_data": data}


def _document(media_type: str, title: str | None, **source: str) -> Item:
    made: Item = {"type": "document", "source": {**source, "media_type": media_type}}
    return made if title is None else {**made, "title": title}


RENDERED: Final[dict[tuple[str, str], Item | None]] = {
    ("responses", "text"): user("hi"),
    ("responses", "answer"): assistant("hi"),
    ("responses", "picture"): _message("user", {"type": "input_text", "text": "see"}, _image(DATA, "auto")),
    ("responses", "pdf"): _message("user", _file("a.pdf", PDF)),
    ("responses", "system"): {"role": "system", "content": "rule"},
    ("responses", "developer"): {"role": "developer", "content": "rule"},
    ("responses", "refusal"): assistant("no"),
    ("responses", "notes"): _message("user", _file("a.txt", NOTES)),
    ("chat", "text"): user("hi"),
    ("chat", "answer"): assistant("hi"),
    ("chat", "picture"): user([text("see"), {"type": "image_url", "image_url": {"url": DATA}}]),
    ("chat", "pdf"): user([{"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}}]),
    ("chat", "notes"): user([{"type": "file", "file": {"filename": "a.txt", "file_data": NOTES}}]),
    ("chat", "system"): {"role": "system", "content": "rule"},
    ("chat", "developer"): {"role": "developer", "content": "rule"},
    ("anthropic", "text"): user("hi"),
    ("anthropic", "answer"): assistant("hi"),
    ("anthropic", "link"): user([{"type": "image", "source": {"type": "url", "url": LINK}}]),
    ("anthropic", "picture"): user([text("see"), picture()]),
    ("anthropic", "pdf"): user([_document("application/pdf", "a.pdf", type="base64", data="JVBERg==")]),
    ("anthropic", "notes"): user([_document("text/plain", "a.txt", type="text", data="hi")]),
    ("anthropic", "system"): user("rule"),
    ("anthropic", "developer"): user("rule"),
    ("anthropic", "refusal"): assistant("no"),
    ("gemini", "text"): by_user({"text": "hi"}),
    ("gemini", "answer"): by_model({"text": "hi"}),
    ("gemini", "link"): by_user({"fileData": {"mimeType": "image/png", "fileUri": LINK}}),
    ("gemini", "picture"): by_user({"text": "see"}, blob()),
    ("gemini", "pdf"): SAID["gemini"]["pdf"],
    ("gemini", "notes"): SAID["gemini"]["notes"],
    ("gemini", "system"): by_user({"text": "rule"}),
    ("gemini", "developer"): by_user({"text": "rule"}),
    ("gemini", "refusal"): by_model({"text": "no"}),
}
"""What an API makes of each, whatever the shape it came in."""

SPECIAL: Final[dict[tuple[str, str, str], Item]] = {
    # A link keeps how closely it is to be looked at, where its shape can say so.
    ("responses", "chat", "link"): _message("user", _image(LINK, "low")),
    ("responses", "anthropic", "link"): _message("user", _image(LINK, "auto")),
    ("responses", "gemini", "link"): _message("user", _image(LINK, "auto")),
    ("chat", "gemini", "link"): user([{"type": "image_url", "image_url": {"url": LINK}}]),
    ("chat", "responses", "link"): user([{"type": "image_url", "image_url": {"url": LINK, "detail": "low"}}]),
    ("chat", "anthropic", "link"): user([{"type": "image_url", "image_url": {"url": LINK}}]),
    # A refusal that is a part of the content is one in both OpenAI shapes.
    ("chat", "chat", "refusal"): assistant([{"type": "refusal", "refusal": "no"}]),
    ("chat", "responses", "refusal"): assistant([{"type": "refusal", "refusal": "no"}]),
    # A list of blocks may stay one.
    **{(api, "pi", "text"): user([text("hi")]) for api in ("chat", "anthropic")},
    **{(api, "pi", "answer"): assistant([text("hi")]) for api in ("chat", "anthropic")},
    # A document of plain text is text to the others.
    ("responses", "anthropic", "notes"): user("hi"),
    ("chat", "anthropic", "notes"): user("hi"),
    ("gemini", "anthropic", "notes"): by_user({"text": "hi"}),
    ("anthropic", "gemini", "notes"): user([_document("text/plain", "a.txt", type="text", data="hi")]),
}


def renderings() -> list[Any]:
    return [
        pytest.param(api, shape, word, id=f"{shape}-to-{api}-{word}")
        for api in TARGETS
        for shape, said in SAID.items()
        for word in said
    ]


@pytest.mark.parametrize(("api", "shape", "word"), renderings())
def test_what_is_said_in_any_shape_is_said_in_the_words_of_the_api(api: str, shape: str, word: str) -> None:
    said = SAID[shape][word]
    context = built(api, user("first"), said, user("last"))
    (sent,) = context.items[1:-1]
    if check_items([user("first"), said, user("last")], TARGETS[api]) == []:
        assert sent is said
        return
    wanted = SPECIAL.get((api, shape, word), RENDERED.get((api, word)))
    assert sent == wanted
    lossless = {("chat", "refusal")} | {
        (other, speaker) for other in ("anthropic", "gemini") for speaker in ("system", "developer")
    }
    assert context.changes == () or (api, word) in lossless


def test_what_only_a_link_shows_is_left_out_where_no_link_may_stand_and_told() -> None:
    link = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}
    context = built("chat", user(), user([text("see"), link]))
    assert context.items[1] == user("see")
    assert told(context) == [("left-out", "part-type")]
    assert context.changes[0].item == user([text("see"), link])
    (_, sent) = built("responses", user(), user([text("see"), link])).items
    assert sent["content"][1] == {"type": "input_file", "file_url": "https://example.com/a.pdf"}


@pytest.mark.parametrize(
    "data", ["data:application/zip;base64,aGk=", "data:text/plain;base64,/w==", "file-1"]
)
def test_a_document_that_anthropic_cannot_be_shown_is_left_out_and_told(data: str) -> None:
    said = user([{"type": "input_text", "text": "see"}, _file("a", data)])
    context = built("anthropic", said)
    if data == "file-1":
        return
    assert context.items == [user("see")]
    assert told(context) == [("left-out", "part-type")]


def test_what_no_api_knows_is_left_out_and_told() -> None:
    for api in TARGETS:
        context = built(
            api, user(), {"type": "surprise", "value": 1}, user([text("a"), {"type": "hologram"}])
        )
        assert len(context.items) == 2
        assert context.changes
        assert {kind for kind, _ in told(context)} == {"left-out"}


def test_a_picture_that_an_assistant_sent_is_told_where_it_cannot_go() -> None:
    for api in TARGETS:
        context = built(api, user(), assistant([text("see"), picture()]), user())
        if api == "gemini":  # whose models make pictures
            assert context.items[1] == by_model({"text": "see"}, blob())
            assert context.changes == ()
            continue
        assert [items.text(item) for item in context.items] == ["go", "see", "go"]
        assert told(context) == [("left-out", "part-type")]


# ------------------------------------------------------------------------------- calls


ASKED: Final[dict[str, list[Item]]] = {
    "responses": [call("a", arguments='{"n": 1}'), call("b"), output("a", "one"), output("b", "two")],
    "chat": [
        asks(entry_of_calls("a", arguments='{"n": 1}'), entry_of_calls("b")),
        tool("a", "one"),
        tool("b", "two"),
    ],
    "anthropic": [
        assistant([use("a", given={"n": 1}), use("b")]),
        user([result("a", "one"), result("b", "two")]),
    ],
    "pi": [
        {
            **assistant(
                [
                    {"type": "toolCall", "id": "a", "name": "bash", "arguments": {"n": 1}},
                    {"type": "toolCall", "id": "b", "name": "bash", "arguments": {}},
                ]
            ),
            "stopReason": "toolUse",
        },
        {"role": "toolResult", "toolCallId": "a", "toolName": "bash", "content": [text("one")]},
        {"role": "toolResult", "toolCallId": "b", "toolName": "bash", "content": [text("two")]},
    ],
    "gemini": [
        by_model(marked("a", args={"n": 1}), asked("b", signed=False)),
        by_user(answered("a", "one"), answered("b", "two")),
    ],
}


@pytest.mark.parametrize("api", TARGETS)
@pytest.mark.parametrize("shape", ASKED)
def test_calls_and_outputs_of_any_shape_are_those_of_the_api(api: str, shape: str) -> None:
    context = built(api, user(), *ASKED[shape])
    sent = context.items[1:]
    if api == shape:
        assert all(a is b for a, b in zip(sent, ASKED[shape], strict=True))
        return
    wanted = ASKED[api]
    if api not in ("anthropic", "gemini"):
        # Text stays the text that it was; an object is written without blanks.
        given = '{"n": 1}' if shape in ("responses", "chat") else '{"n":1}'
        wanted = [with_arguments(item, given) for item in wanted]
    assert sent == wanted
    assert context.changes == ()


def with_arguments(item: Item, given: str) -> Item:
    """An item with other arguments in its first call."""
    if item.get("type") == "function_call" and item["call_id"] == "a":
        return {**item, "arguments": given}
    if "tool_calls" in item:
        return {**item, "tool_calls": [entry_of_calls("a", arguments=given), *item["tool_calls"][1:]]}
    return item


@pytest.mark.parametrize("shape", ["anthropic", "pi"])
def test_an_error_is_flagged_where_the_api_can(shape: str) -> None:
    failed: Item = user([result("a", "no", is_error=True), result("b", "two")])
    asked = ASKED[shape][0]
    outputs = [failed]
    if shape == "pi":
        outputs = [{**ASKED[shape][1], "content": [text("no")], "isError": True}, ASKED[shape][2]]
    (*_, sent) = built("anthropic", user(), asked, *outputs).items
    assert sent == failed
    for api, key in (("chat", "content"), ("responses", "output")):
        context = built(api, user(), asked, *outputs)
        assert context.items[-2][key] == "no"
        assert told(context) == [("rewritten", "error-flag")]
        assert context.changes[0].call == "a"


@pytest.mark.parametrize(
    "api",
    [
        "responses",
        "chat",
        "anthropic",
    ],
)
@pytest.mark.parametrize("shape", ["anthropic", "pi"])
def test_what_a_message_says_after_a_call_is_sent_too(api: str, shape: str) -> None:
    asked, *outputs = ASKED[shape]
    (first, second) = asked["content"]
    for blocks in ([first, second, text("so")], [first, text("so"), second]):
        context = built(api, user(), {**asked, "content": blocks}, *outputs)
        assert ids_in(context) == [("a", "a"), ("b", "b")]
        assert "so" in repr(context.items)


def test_an_error_without_text_has_some_and_one_with_a_picture_is_no_error() -> None:
    asked = ASKED["pi"][0]
    blank = {**ASKED["pi"][1], "content": [], "isError": True}
    seen = [text("no"), {"type": "image", "data": PNG, "mimeType": "image/png"}]
    shown = {**ASKED["pi"][2], "content": seen, "isError": True}
    context = built("anthropic", user(), asked, blank, shown)
    assert context.items[-1] == user(
        [result("a", "(no output)", is_error=True), result("b", [text("no"), picture()])]
    )
    assert told(context) == [("rewritten", "output-content")]


def test_an_output_without_text_is_one_in_each_api() -> None:
    asked = ASKED["pi"][0]
    blank = [{**ASKED["pi"][place], "content": []} for place in (1, 2)]
    assert [item["output"] for item in built("responses", user(), asked, *blank).items[-2:]] == ["", ""]
    assert [item["content"] for item in built("chat", user(), asked, *blank).items[-2:]] == [
        "(no output)"
    ] * 2
    blocks = built("anthropic", user(), asked, *blank).items[-1]["content"]
    assert blocks == [{"type": "tool_result", "tool_use_id": each} for each in ("a", "b")]


def test_pictures_that_tools_gave_go_to_chat_after_all_outputs_of_the_group() -> None:
    for shape in ("anthropic", "pi", "responses"):
        asked = ASKED[shape][:-2] if shape != "anthropic" else ASKED[shape][:1]
        outputs: list[Item] = {
            "anthropic": [user([result("a", [text("one"), picture()]), result("b", [picture()])])],
            "pi": [
                {**ASKED["pi"][1], "content": [text("one"), {"type": "image", "data": PNG}]},
                {**ASKED["pi"][2], "content": [{"type": "image", "data": PNG}]},
            ],
            "responses": [
                output(
                    "a", [{"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": DATA}]
                ),
                output("b", [{"type": "input_image", "image_url": DATA}]),
            ],
        }[shape]
        context = built("chat", user(), *asked, *outputs, user("and?"))
        seen = {"type": "image_url", "image_url": {"url": DATA}}
        assert [item["role"] for item in context.items] == [
            "user",
            "assistant",
            "tool",
            "tool",
            *["user"] * (1 if shape == "anthropic" else 2),
            "user",
        ]
        assert [item["content"] for item in context.items[2:4]] == ["one", SEE_BELOW]
        assert [part for item in context.items[4:-1] for part in item["content"]] == [seen, seen]
        assert context.items[-1] == user("and?")
        assert told(context) == [("moved", "part-type")] * 2


def test_pictures_that_tools_gave_stay_in_the_output_for_the_others() -> None:
    outputs = user([result("a", [text("one"), picture()]), result("b")])
    (*_, first, _) = built("responses", user(), ASKED["anthropic"][0], outputs).items
    assert first["output"] == [{"type": "input_text", "text": "one"}, _image(DATA, "auto")]
    chosen = [output("a", [{"type": "input_image", "image_url": LINK}]), output("b", "two")]
    (*_, last) = built("anthropic", user(), *ASKED["responses"][:2], *chosen).items
    seen = {"type": "image", "source": {"type": "url", "url": LINK}}
    assert last == user([result("a", [seen]), result("b", "two")])


def test_a_tool_that_takes_free_text_takes_it_as_a_member() -> None:
    done = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
    for_chat = built("chat", user(), custom(), done)
    assert for_chat.items[1:] == [
        asks(entry_of_calls(name="patch", arguments='{"input":"*** Begin"}')),
        tool(said="done"),
    ]
    assert told(for_chat) == [("rewritten", "arguments")]
    for_anthropic = built("anthropic", user(), custom(), done)
    assert for_anthropic.items[1]["content"] == [use(name="patch", given={"input": "*** Begin"})]
    assert told(for_anthropic) == [("rewritten", "arguments")]


def test_a_tool_of_chat_that_takes_free_text_is_one_in_the_responses_api() -> None:
    free = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    context = built("responses", user(), asks(free), tool(said="done"))
    assert context.items[1:] == [
        custom(),
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
    ]


OWN_TOOLS: Final[list[tuple[Item, Item, Any]]] = [
    (
        {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "c1", "output": "out"},
        {"type": "exec", "command": ["ls"]},
    ),
    (
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
        {
            "type": "shell_call_output",
            "call_id": "c1",
            "output": [{"stdout": "out", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
        {"commands": ["ls"]},
    ),
    (
        {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file", "path": "a"}},
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed", "output": "out"},
        {"type": "delete_file", "path": "a"},
    ),
]


@pytest.mark.parametrize(("asked", "answered", "given"), OWN_TOOLS)
def test_tools_of_the_responses_api_are_tools_like_any_other_to_the_rest(
    asked: Item, answered: Item, given: Any
) -> None:
    name = asked["type"].removesuffix("_call")
    assert built("responses", user(), asked, answered).items[1:] == [asked, answered]
    (_, said, shown) = built("chat", user(), asked, answered).items
    (entry,) = said["tool_calls"]
    assert entry["function"]["name"] == name
    assert shown == tool(said="out")
    (_, said, shown) = built("anthropic", user(), asked, answered).items
    assert said == assistant([use(name=name, given=given)])
    assert shown == user([result()])


@pytest.mark.parametrize(("asked", "answered", "given"), OWN_TOOLS)
def test_tools_of_the_responses_api_are_answered_by_their_own_type(
    asked: Item, answered: Item, given: Any
) -> None:
    context = built("responses", user(), asked, output())
    sent = context.items[2]
    assert sent == ({**answered, "call_id": "c1"} if asked["type"] == "local_shell_call" else answered)
    assert told(context) == [("rewritten", "output-kind")]


def test_a_failed_patch_is_an_error_to_the_others() -> None:
    asked, answered, _ = OWN_TOOLS[2]
    (*_, shown) = built("anthropic", user(), asked, {**answered, "status": "failed"}).items
    assert shown == user([result(is_error=True)])


def test_what_a_computer_shows_is_a_picture_to_the_others() -> None:
    asked = {"type": "computer_call", "call_id": "c1", "action": {"type": "screenshot"}}
    answered = {
        "type": "computer_call_output",
        "call_id": "c1",
        "output": {"type": "computer_screenshot", "image_url": DATA},
    }
    assert built("responses", user(), asked, answered).items[1:] == [asked, answered]
    (_, said, shown) = built("anthropic", user(), asked, answered).items
    assert said == assistant([use(name="computer", given={"type": "screenshot"})])
    assert shown == user([result(said=[picture()])])
    (_, _, blank, seen) = built("chat", user(), asked, answered).items
    assert blank == tool(said=SEE_BELOW)
    assert seen == user([{"type": "image_url", "image_url": {"url": DATA}}])


def test_calls_that_a_provider_ran_itself_go_to_no_other_and_are_told() -> None:
    hosted = {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "status": "completed"}
    for api in ("chat", "anthropic"):
        context = built(api, user(), hosted, assistant("found"), user())
        assert [item["content"] for item in context.items] == ["go", "found", "go"]
        assert told(context) == [("left-out", "hosted"), ("left-out", "content")]


def test_results_of_the_providers_own_tools_in_a_message_of_the_user_go_and_are_told() -> None:
    alone = built("anthropic", user(), user([searched(), text("hm")]), own=True)
    assert alone.items == [user(), user([text("hm")])]
    assert told(alone) == [("left-out", "hosted")]
    called = built("anthropic", user(), assistant([search()]), user([searched()]), user("so?"), own=True)
    assert called.items == [user(), user("so?")]
    assert told(called) == [("left-out", "hosted-pair"), ("left-out", "hosted"), ("left-out", "content")]


def test_an_output_of_the_first_functions_is_told_to_go_as_the_users() -> None:
    given = {"role": "function", "name": "f", "content": "two files"}
    for api in TARGETS:
        context = built(api, user(), given)
        assert "two files" in str(context.items)
        assert told(context) == ([] if api == "chat" else [("rewritten", "role")])


def test_a_bare_text_beside_a_call_of_pi_is_a_text_for_each_api() -> None:
    call = {"type": "toolCall", "id": "c1", "name": "f", "arguments": {}}
    for api in TARGETS:
        context = built(api, user(), {"role": "system", "content": ["be brief", call]}, user())
        assert "be brief" in str(context.items)


def test_what_a_model_thought_goes_to_no_other_and_is_told() -> None:
    pi = {**assistant([{"type": "thinking", "thinking": "plan"}, text("hi")]), "stopReason": "stop"}
    for api in TARGETS:
        context = build_context(entries_of([user(), pi, user()], TARGETS[api]), TARGETS[api])
        if api == "gemini":  # which takes its own thoughts back as they are
            assert context.items[1] == by_model({"text": "plan", "thought": True}, {"text": "hi"})
            continue
        assert context.items[1] in (assistant("hi"), assistant([text("hi")]), by_model({"text": "hi"}))
        assert context.changes
        assert "plan" not in repr(context.items)


# ------------------------------------------------------------------------ ids and names


def ids_in(context: Context) -> list[tuple[str, str]]:
    """The ids of calls and of outputs, in order, in pairs."""
    calls: list[str] = []
    outputs: list[str] = []
    for item in context.items:
        if item.get("type", "").endswith("_output"):
            outputs.append(item["call_id"])
        elif "call_id" in item:
            calls.append(item["call_id"])
        calls += [each["id"] for each in item.get("tool_calls", ())]
        for part in item.get("parts", ()):
            calls += [part["functionCall"]["id"]] if "functionCall" in part else []
            outputs += [part["functionResponse"]["id"]] if "functionResponse" in part else []
        if item.get("role") == "tool":
            outputs.append(item["tool_call_id"])
        for block in item.get("content") or ():
            if isinstance(block, dict) and block["type"] == "tool_use":
                calls.append(block["id"])
            elif isinstance(block, dict) and block["type"] == "tool_result":
                outputs.append(block["tool_use_id"])
    return list(zip(calls, outputs, strict=True))


def turn(shape: str, call_id: str, said: str = "out") -> list[Item]:
    """One call and its output."""
    if shape == "responses":
        return [call(call_id), output(call_id, said)]
    if shape == "chat":
        return [asks(entry_of_calls(call_id)), tool(call_id, said)]
    if shape == "anthropic":
        return [assistant([use(call_id)]), user([result(call_id, said)])]
    if shape == "gemini":
        return [by_model(marked(call_id)), by_user(answered(call_id, said))]
    return [
        {**assistant([{"type": "toolCall", "id": call_id, "name": "bash", "arguments": {}}]), "timestamp": 1},
        {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": [text(said)]},
    ]


BAD_IDS: Final = {
    "responses": ["x" * 65, "y" * 200],
    "chat": ["x" * 41, "y" * 200],
    "anthropic": ["x" * 65, "a|b", "a:b", "é", "call_1|fc_1"],
    "gemini": ["a \ud83d", "b \ud83d"],
}
PATTERNS: Final = {
    "responses": re.compile(r"[\s\S]{1,64}"),
    "chat": re.compile(r"[\s\S]{1,40}"),
    "anthropic": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "gemini": re.compile(r"[^\ud800-\udfff]+"),
}


@pytest.mark.parametrize("api", TARGETS)
@pytest.mark.parametrize("shape", ASKED)
def test_an_id_that_does_not_fit_is_another_one_in_call_and_output(api: str, shape: str) -> None:
    items = [user(), *(item for bad in BAD_IDS[api] for item in turn(shape, bad))]
    context = built(api, *items)
    pairs = ids_in(context)
    assert len({new for new, _ in pairs}) == len(pairs) == len(BAD_IDS[api])
    for (asked, answered), old in zip(pairs, BAD_IDS[api], strict=True):
        assert asked == answered != old
        assert PATTERNS[api].fullmatch(asked)
    renamed = [change for change in context.changes if change.rule == "call-id"]
    assert [change.call for change in renamed] == BAD_IDS[api]
    assert all(repr(new) in change.message for change, (new, _) in zip(renamed, pairs, strict=True))
    assert ids_in(built(api, *items)) == pairs


@pytest.mark.parametrize("api", TARGETS)
@pytest.mark.parametrize("shape", ASKED)
def test_an_id_that_was_made_up_is_not_one_that_is_there(api: str, shape: str) -> None:
    bad = BAD_IDS[api][0]
    ((made_up, _),) = ids_in(built(api, user(), *turn(shape, bad)))
    before = built(api, user(), *turn(shape, made_up, "one"), user(), *turn(shape, bad, "two"))
    if api == "gemini":  # there an id may come again in another content
        assert ids_in(before) == [(made_up, made_up)] * 2
        return
    if api == "chat":  # there an id may come again in another message
        assert ids_in(before) == [(made_up, made_up)] * 2
        both = built(
            api, user(), asks(entry_of_calls(made_up), entry_of_calls(bad)), tool(made_up), tool(bad)
        )
        assert len(set(ids_in(both))) == 2
        return
    first, second = ids_in(before)
    assert first == (made_up, made_up)
    assert second[0] == second[1] not in (made_up, bad)
    after = ids_in(built(api, user(), *turn(shape, bad, "one"), user(), *turn(shape, made_up, "two")))
    assert after[0] == (made_up, made_up)
    assert after[1][0] == after[1][1] != made_up


@pytest.mark.parametrize("api", TARGETS)
@pytest.mark.parametrize("shape", ASKED)
def test_what_is_appended_changes_no_id_before_it(api: str, shape: str) -> None:
    ids = [*BAD_IDS[api], BAD_IDS[api][0], "c1", "c1"]
    items = [user()]
    last: list[tuple[str, str]] = []
    for call_id in ids:
        items += turn(shape, call_id)
        pairs = ids_in(built(api, *items))
        assert pairs[: len(last)] == last
        last = pairs
    assert len(last) == len(ids)


@pytest.mark.parametrize("shape", ASKED)
@pytest.mark.parametrize("api", ["responses", "anthropic"])
def test_an_id_that_comes_again_is_another_one_where_it_must_be(api: str, shape: str) -> None:
    items = [user(), *turn(shape, "c1", "one"), user("again"), *turn(shape, "c1", "two")]
    context = built(api, *items)
    first, second = ids_in(context)
    assert first == ("c1", "c1")
    assert second[0] == second[1] != "c1"
    assert told(context) == [("rewritten", "call-id")]
    if shape == api:
        assert all(a is b for a, b in zip(context.items[:4], items[:4], strict=True))


@pytest.mark.parametrize("shape", ASKED)
@pytest.mark.parametrize("api", ["chat", "gemini"])
def test_an_id_that_comes_again_is_the_same_where_it_may_be(api: str, shape: str) -> None:
    items = [user(), *turn(shape, "c1", "one"), user("again"), *turn(shape, "c1", "two")]
    context = built(api, *items)
    assert ids_in(context) == [("c1", "c1")] * 2
    assert context.changes == ()
    if shape == api == "chat":
        assert all(a is b for a, b in zip(context.items, items, strict=True))


@pytest.mark.parametrize("api", TARGETS)
def test_of_two_calls_with_one_id_each_keeps_its_own_output(api: str) -> None:
    items = [user(), asks(entry_of_calls("c1"), entry_of_calls("c1")), tool("c1", "one"), tool("c1", "two")]
    context = built(api, *items)
    first, second = ids_in(context)
    assert first == ("c1", "c1")
    assert second[0] == second[1] != "c1"
    shown = repr(context.items)
    assert shown.index("'one'") < shown.index("'two'")


@pytest.mark.parametrize("api", TARGETS)
def test_calls_without_an_id_have_different_ones(api: str) -> None:
    for shape in ("responses", "chat"):
        items = [user(), *turn(shape, "", "one"), user("again"), *turn(shape, "", "two")]
        pairs = ids_in(built(api, *items))
        assert all(asked == answered != "" for asked, answered in pairs)
        assert len(set(pairs)) == 2


@pytest.mark.parametrize(("api", "longest"), [("responses", 64), ("chat", 64), ("anthropic", 128)])
def test_a_name_that_does_not_fit_is_one_that_does(api: str, longest: int) -> None:
    def sent(name: str) -> str:
        context = built(api, user(), call(name=name), output())
        item = context.items[1]
        if api == "anthropic":
            return str(item["content"][0]["name"])
        return str(item["name"] if api == "responses" else item["tool_calls"][0]["function"]["name"])

    assert sent("mcp:server.tool") == "mcp_server_tool"
    assert sent("a" * longest) == "a" * longest
    long = [sent("a" * longest + end) for end in "xy"]
    assert len({*long, "a" * longest}) == 3
    assert all(re.fullmatch(rf"[A-Za-z0-9_-]{{1,{longest}}}", name) for name in long)
    assert long == [sent("a" * longest + end) for end in "xy"]
    assert re.fullmatch(r"[A-Za-z0-9_-]+", sent(""))


# ----------------------------------------------------------------------- single mendings


def test_reasoning_that_cannot_be_sent_takes_the_item_ids_of_what_it_led_to() -> None:
    items = [
        user(),
        reasoning(encrypted_content=None),
        assistant("so", id="msg_1"),
        call(id="fc_1"),
        output(),
        assistant("done", id="msg_2"),
    ]
    context = built("responses", *items, own=True)
    assert context.items == [user(), assistant("so"), call(), output(), assistant("done", id="msg_2")]
    assert told(context) == [
        ("left-out", "reasoning-content"),
        ("rewritten", "item-id-alone"),
        ("rewritten", "item-id-alone"),
    ]


def test_reasoning_that_stands_twice_is_sent_once() -> None:
    items = [user(), reasoning(), assistant("a"), user(), reasoning(), assistant("b")]
    context = built("responses", *items, own=True)
    assert [item.get("type") for item in context.items].count("reasoning") == 1
    assert told(context) == [("left-out", "item-id-twice")]


def test_an_id_that_is_null_is_none() -> None:
    items = [user(), call(id=None), output(id=None), {**assistant("done"), "id": None}]
    context = built("responses", *items, own=True)
    assert context.items == [user(), call(), output(), assistant("done")]
    assert told(context) == [("rewritten", "item-id")] * 3


def test_a_call_of_a_local_shell_bears_the_id_that_it_is_answered_by() -> None:
    asked = {"type": "local_shell_call", "id": "lsh_1", "status": "completed", "action": {"type": "exec"}}
    items = [user(), {**asked, "call_id": None}, {**output("lsh_1"), "type": "function_call_output"}]
    context = built("responses", *items, own=True)
    assert context.items[1] == {**asked, "call_id": "lsh_1"}
    assert context.items[2]["call_id"] == "lsh_1"


def test_an_output_that_names_a_speaker_too_is_an_output() -> None:
    items = [
        user(),
        call("c1"),
        {"type": "function_call_output", "call_id": "c1", "role": "user", "content": "hi"},
    ]
    context = built("responses", *items, own=True)
    assert context.items[2]["output"] == "hi"
    assert told(context)[-1] == ("rewritten", "output-content")


def test_a_checkpoint_goes_by_its_type_of_today() -> None:
    items = [user(), {"type": "compaction_summary", "encrypted_content": "seal"}, user("more")]
    context = built("responses", *items, own=True)
    assert context.items[1] == {"type": "compaction", "encrypted_content": "seal"}
    assert told(context) == [("rewritten", "foreign-shape")]


def test_a_system_message_goes_to_anthropic_as_the_users_and_that_is_told() -> None:
    for speaker in ("system", "developer"):
        context = built("anthropic", user(), {"role": speaker, "content": "rule"}, user("go on"))
        assert context.items == [user(), user("rule"), user("go on")]
        assert told(context) == [("rewritten", "role")]


def test_a_conversation_that_the_assistant_begins_has_an_opening() -> None:
    context = built("anthropic", assistant("hello"), user())
    assert [row.why for row in context.rows] == ["opening", "kept", "kept"]
    assert context.items[0]["role"] == "user"
    assert context.rows[0].entry is None
    assert told(context) == [("added", "first-user")]


def test_what_ends_in_thinking_or_white_space_is_cut_as_often_as_it_takes() -> None:
    said = assistant([text("so \n"), thinking(), {"type": "redacted_thinking", "data": "seal"}])
    context = built("anthropic", user(), said, own=True)
    assert context.items == [user(), assistant([text("so")])]
    assert told(context) == [
        ("left-out", "thinking-last"),
        ("left-out", "thinking-last"),
        ("rewritten", "trailing-space"),
    ]
    alone = built("anthropic", user(), assistant([thinking()]), own=True)
    assert alone.items == [user()]


def test_blank_text_is_no_message_where_it_is_rendered() -> None:
    for api in ("responses", "anthropic"):
        pi = {**assistant([text(" \n")]), "stopReason": "stop", "timestamp": 1}
        context = built(api, user(), pi, user("go on"))
        assert [item["role"] for item in context.items] == ["user", "user"]
        assert told(context)[-1] == ("left-out", "content")


def test_half_a_character_is_mended_in_keys_and_values_of_any_shape() -> None:
    for api in TARGETS:
        for shape in ASKED:
            items = turn(shape, "c1", HALF)
            sent = built(api, user(), *items).items
            assert "half \ufffd here" in repr(sent)
            assert "ud83d" not in ascii(sent)
