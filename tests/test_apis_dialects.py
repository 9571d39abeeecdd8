"""The dialects of Chat Completions: what each asks for beyond the rest, and what it makes of things."""

from __future__ import annotations

import re
from itertools import count
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
from test_apis import (
    DATA,
    DIALECTS,
    HALF,
    LAST,
    LINK,
    NOTES,
    PDF,
    asks,
    assistant,
    call,
    custom,
    entry_of_calls,
    output,
    picture,
    result,
    text,
    thinking,
    told,
    tool,
    use,
    user,
)

from transcript_log import items
from transcript_log.apis import APIS, api_for, check_items
from transcript_log.apis.chat import NOT_SHOWN, SEE_BELOW
from transcript_log.apis.deepseek import NO_THOUGHT
from transcript_log.apis.mistral import BRIDGE
from transcript_log.context import Context, build_context
from transcript_log.families import Target

TARGETS: Final = {
    "deepseek": Target("deepseek-chat", "deepseek-v4-pro"),
    "mistral": Target("mistral-chat", "mistral-large-4-0"),
}


def target_of(api: str, model: str = "") -> Target:
    target = TARGETS[api]
    return Target(target.api, model) if model else target


def thought(content: Any = "done", said: Any = "hm", **more: Any) -> Item:
    """A message of a DeepSeek model that thinks."""
    return assistant(content, reasoning_content=said, **more)


def thinks(*calls: Item, content: Any = "", said: Any = "hm") -> Item:
    return asks(*calls, content=content, reasoning_content=said)


def chunk(said: str = "hm", **more: Any) -> Item:
    """What a Mistral model thought."""
    return {"type": "thinking", "thinking": [text(said)], **more}


NINE: Final = "D681PevKs"


def nine(call_id: str = NINE, **more: Any) -> Item:
    return entry_of_calls(call_id, **more)


def system(said: Any = "rule") -> Item:
    return {"role": "system", "content": said}


BROKEN: Final[dict[str, list[Row]]] = {
    "deepseek": [
        Row("empty-input", []),
        Row("output-missing", [user(), thinks(entry_of_calls()), user("well?")]),
        Row("output-without-call", [user(), tool()]),
        Row(
            "output-twice", [user(), thinks(entry_of_calls()), tool(said="one"), tool(said="two")], (), (2, 3)
        ),
        Row("call-twice", [user(), thinks(entry_of_calls(), entry_of_calls()), tool()], touched=(1, 2)),
        Row("call-id", [user(), thinks(entry_of_calls("x" * 41)), tool("x" * 41)], touched=(1, 2)),
        Row("calls-empty", [user(), thinks(content="done"), user()]),
        Row("content", [user(), user("")]),
        Row("content", [user(), thought(None), user("and?")]),
        Row("blank-text", [user(), user(" \n")]),
        Row("blank-text", [user(), thinks(entry_of_calls(), content=" "), tool()], touched=(1,)),
        Row("part-type", [user(), user([text("see"), {"type": "image_url", "image_url": {"url": LINK}}])]),
        Row("part-type", [user(), user([text("see"), picture()])]),
        Row("part-type", [user(), user(["hi"])]),
        Row("part-type", [user(), user([text("see"), {"type": "text", "text": {}}])]),
        Row("arguments", [user(), thinks(entry_of_calls(arguments='{"a": ')), tool()]),
        Row("name", [user(), thinks(entry_of_calls(name="mcp:server.tool")), tool()]),
        Row("foreign-shape", [user(), {"role": "developer", "content": "be brief"}, user("go on")]),
        Row("foreign-shape", [user(), {"role": "function", "name": "f", "content": "out"}]),
        Row(
            "foreign-shape",
            [user(), thinks({"id": "c1", "type": "custom", "custom": {"name": "p", "input": "x"}}), tool()],
            ("output-without-call",),
            (1,),
        ),
        Row("foreign-key", [user(), {**user("hi"), "timestamp": 1}]),
        Row("surrogate", [user(), user(HALF)]),
        Row("reasoning-missing", [user(), assistant("done"), user()]),
        Row("reasoning-missing", [user(), asks(entry_of_calls(), content=""), tool()]),
        Row("reasoning-missing", [user(), thought(said=None), user()]),
        Row("reasoning-refused", [user(), thought(), user()], model="deepseek-ai/DeepSeek-R1-0528"),
        Row("reasoning-refused", [user(), assistant(), user(), thought(), user()], model="deepseek-r1"),
        Row("reasoning-refused", [user(), thought(said=""), user()], model="deepseek-r1"),
        Row("ends-with-assistant", [user(), thought()]),
    ],
    "mistral": [
        Row("empty-input", []),
        Row("output-missing", [user(), asks(nine(), content=""), assistant("well"), user()]),
        Row("output-without-call", [user(), tool(NINE)]),
        Row(
            "output-twice",
            [user(), asks(nine(), content=""), tool(NINE, "one"), tool(NINE, "two")],
            touched=(2, 3),
        ),
        Row("call-twice", [user(), asks(nine(), nine()), tool(NINE)], touched=(1, 2)),
        Row("call-id", [user(), asks(nine("call_1")), tool("call_1")], touched=(1, 2)),
        Row("call-id", [user(), asks(nine("")), tool("")], touched=(1, 2)),
        Row("call-id", [user(), asks(nine("D681PevK_")), tool("D681PevK_")], touched=(1, 2)),
        Row("calls-empty", [user(), asks(content="done"), user()]),
        Row("content", [user(), user(None)]),
        Row("content", [user(), assistant(""), user("and?")]),
        Row("blank-text", [user(), assistant([text("hi"), text("")]), user()]),
        Row("first-user", [asks(nine()), tool(NINE), assistant(), user()], touched=()),
        Row("role-order", [user(), asks(nine()), tool(NINE), user("stop")], touched=()),
        Row("role-order", [user(), assistant("hm"), system(), user()]),
        Row("role-order", [user(), asks(nine()), tool(NINE), system()]),
        Row("part-type", [user(), user([text("hi"), {"type": "file", "file": {"file_data": PDF}}])]),
        Row("part-type", [user(), assistant([text("no"), {"type": "refusal", "refusal": "no"}]), user()]),
        Row(
            "part-type",
            [user(), asks(nine()), tool(NINE, [text("see"), {"type": "image_url", "image_url": LINK}])],
        ),
        Row("arguments", [user(), asks(nine(arguments='{"a": ')), tool(NINE)]),
        Row("name", [user(), asks(nine(name="mcp:server.tool")), tool(NINE)]),
        Row("name", [user(), asks(nine()), {**tool(NINE), "name": "mcp:server.tool"}]),
        Row("foreign-shape", [user(), {"role": "developer", "content": "be brief"}, user("go on")]),
        Row("foreign-key", [user(), {**user("hi"), "name": "ann"}]),
        Row("foreign-key", [user(), assistant("hi", reasoning_content="hm"), user()]),
        Row("foreign-key", [user(), assistant("hi", refusal=None), user()]),
        Row("foreign-key", [user(), user([{**text("hi"), "cache_control": {}}])]),
        Row("foreign-key", [user(), asks({**nine(), "name": None}), tool(NINE)]),
        Row("prefix", [user(), assistant("so", prefix=True), user()]),
        Row("surrogate", [user(), user(HALF)]),
        Row("ends-with-assistant", [user(), assistant()]),
    ],
}

NEAR: Final[dict[str, list[list[Item]]]] = {
    "deepseek": [
        [user(), thinks(entry_of_calls()), tool(), thought(), user()],
        [user(), thinks(entry_of_calls(), content=None), tool(said="")],
        [user(), thinks(entry_of_calls(), said=""), tool()],
        [user(), thinks(entry_of_calls("a"), entry_of_calls("b")), tool("b"), tool("a"), user("wait")],
        [system(), user([text("a"), text("b")]), user("twice"), thought("a"), thought("b"), user()],
        [{**user(), "name": "ann"}, thought("so", prefix=True)],
        [user(), thought("so", logprobs=None), user()],
    ],
    "mistral": [
        [user(), asks(nine()), tool(NINE), assistant("so"), user()],
        [user(), asks(nine(), content="let me see"), {**tool(NINE, ""), "name": "bash"}],
        [user(), assistant([chunk(), text("so")]), user()],
        [user(), asks(nine(), content=[chunk(signature="seal", closed=True)]), tool(NINE)],
        [user(), asks({**nine(), "index": 0}, nine("abc123XYZ")), tool("abc123XYZ"), tool(NINE)],
        [user(), asks(nine()), tool(NINE), asks(nine()), tool(NINE)],
        [system(), asks(nine()), tool(NINE)],
        [assistant("hello"), user()],
        [system(), system("more"), user("a"), user("b"), system("c"), user()],
        [user([text("see"), {"type": "image_url", "image_url": LINK}])],
        [user([text("see"), {"type": "image_url", "image_url": {"url": LINK, "detail": "low"}}])],
        [user([{"type": "document_url", "document_url": PDF, "document_name": "a.pdf"}, text("see")])],
        [user([{"type": "file", "file_id": "f1"}, {"type": "input_audio", "input_audio": "aGk="}])],
        [user(), assistant([text("see"), {"type": "reference", "reference_ids": [1]}]), user()],
        [user(), assistant("so", tool_calls=None, prefix=False), user()],
    ],
}


def rows() -> list[Any]:
    number = count()
    return [
        pytest.param(api, row, id=f"{api}-{row.rule}-{next(number)}") for api in BROKEN for row in BROKEN[api]
    ]


def test_every_rule_of_every_dialect_has_a_row_here() -> None:
    assert set(DIALECTS.values()) == BROKEN.keys() == NEAR.keys()
    for name, short in DIALECTS.items():
        assert {row.rule for row in BROKEN[short]} == APIS[name].rules.keys()
        assert name == APIS[name].name == TARGETS[short].api


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_breaks_a_rule_is_found_by_that_rule_alone(api: str, row: Row) -> None:
    is_found_alone(row, target_of(api, row.model))


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_breaks_a_rule_is_mended_and_the_rest_is_left_alone(api: str, row: Row) -> None:
    is_mended_alone(row, target_of(api, row.model))


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_is_mended_is_told(api: str, row: Row) -> None:
    is_told(row, target_of(api, row.model))


@pytest.mark.parametrize(("api", "row"), rows())
def test_what_was_mended_once_is_mended(api: str, row: Row) -> None:
    is_mended_for_good(row, target_of(api, row.model))


@pytest.mark.parametrize(
    ("api", "said"),
    [pytest.param(api, said, id=f"{api}-{n}") for api in NEAR for n, said in enumerate(NEAR[api])],
)
def test_what_only_looks_wrong_is_sent_as_it_is(api: str, said: list[Item]) -> None:
    is_sent_as_it_is(said, TARGETS[api])


def built(api: str, *said: Item, own: bool = False, model: str = "") -> Context:
    target = target_of(api, model)
    return build_context(entries_of(said, target if own else None), target)


# ------------------------------------------------------------------------------ DeepSeek


def test_reasoning_is_asked_for_refused_or_neither_by_the_model() -> None:
    bare, full = [user(), assistant("hi"), user()], [user(), thought("hi"), user()]
    wants = ["deepseek-v4-pro", "deepseek-v4-flash", "deepseek-reasoner", "deepseek-v3.2", "a-new-one"]
    takes = [
        "deepseek-chat",
        "deepseek-v3",
        "deepseek-ai/DeepSeek-V3-0324",
        "deepseek-v3.1",
        "deepseek-coder",
    ]
    refuses = ["deepseek-r1", "deepseek-ai/DeepSeek-R1", "deepseek-r1:70b", "deepseek-r1-0528"]
    for model in wants:
        target = target_of("deepseek", model)
        assert rules_of(check_items(bare, target)) == ["reasoning-missing"]
        assert check_items(full, target) == []
    for model in takes:
        target = target_of("deepseek", model)
        assert check_items(bare, target) == check_items(full, target) == []
        assert built("deepseek", *bare, own=True, model=model).items == bare
    for model in refuses:
        target = target_of("deepseek", model)
        assert check_items(bare, target) == []
        assert rules_of(check_items(full, target)) == ["reasoning-refused"]


def test_each_model_has_all_rules_in_its_table() -> None:
    for model in ("deepseek-r1", "deepseek-chat", "deepseek-v4-pro"):
        assert api_for(target_of("deepseek", model)).rules == APIS["deepseek-chat"].rules


def test_a_blank_stands_for_the_reasoning_of_others() -> None:
    context = built("deepseek", user(), call(), output(), assistant("done"), user())
    assert context.items[1] == thinks(entry_of_calls(), said=NO_THOUGHT)
    assert context.items[3] == thought(said=NO_THOUGHT)
    assert told(context) == [("added", "reasoning-missing")]
    assert context.changes[0].entry == "e3"  # what is rendered is said in this API's words all through


def test_reasoning_of_this_model_goes_back_as_it_came_and_that_of_others_does_not() -> None:
    said = [user(), thinks(entry_of_calls(), said="my plan"), tool()]
    assert built("deepseek", *said, own=True).items == said
    others = built("deepseek", *said)
    assert "my plan" not in repr(others.items)
    assert others.items[1]["reasoning_content"] == NO_THOUGHT
    assert told(others) == [("rewritten", "private"), ("added", "reasoning-missing")]
    assert TARGETS["deepseek"].family == Target("deepseek-chat", "deepseek-v4-flash").family


def test_what_pi_keeps_of_reasoning_goes_back_under_the_key_of_today() -> None:
    block = {"type": "thinking", "thinking": "plan", "thinkingSignature": "reasoning"}
    said = {**assistant([block, text("so")]), "stopReason": "stop", "timestamp": 1}
    assert built("deepseek", user(), said, user(), own=True).items[1] == thought("so", "plan")


def test_pictures_go_to_the_models_that_see() -> None:
    shown = user([text("see"), {"type": "image_url", "image_url": {"url": DATA}}])
    blind = built("deepseek", shown, user())
    assert blind.items[0] == user([text("see")])
    assert told(blind) == [("left-out", "part-type")]
    seeing = built("deepseek", shown, user(), model="deepseek-v4-flash-vision-exp")
    assert seeing.items[0] is shown
    answered = user([result(said=[picture()])])
    (_, _, blank) = built("deepseek", user(), assistant([use()]), answered).items
    assert blank == tool(said=NOT_SHOWN)
    (_, _, below, _) = built(
        "deepseek", user(), assistant([use()]), answered, model="deepseek-v4-flash-vision-exp"
    ).items
    assert below == tool(said=SEE_BELOW)


def test_a_tool_that_takes_free_text_is_a_function_there() -> None:
    free = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    for said in ((thinks(free), tool()), (custom(), output())):
        context = built("deepseek", user(), *said, own=True)
        assert context.items[1]["tool_calls"] == [
            entry_of_calls(name="patch", arguments='{"input":"*** Begin"}')
        ]
        assert ("rewritten", "arguments") in told(context)


# ------------------------------------------------------------------------------- Mistral


def ids_of(context: Context) -> list[str]:
    return [part.id or "" for item in context.items for part in items.tool_calls(item)]


def test_ids_are_nine_letters_and_digits_and_stay_what_they_are() -> None:
    said = [user()]
    olds = ["call_1", "call_2", "toolu_01A", "x" * 70, "é", "", "call_1", NINE]
    for old in olds:
        said += [call(old), output(old, f"out of {old}"), assistant("so")]
    ids = ids_of(built("mistral", *said))
    assert all(re.fullmatch(r"[A-Za-z0-9]{9}", new) for new in ids)
    assert ids[-1] == NINE
    assert ids[0] == ids[6]  # the same one in two messages may stay the same
    assert len(set(ids[:6])) == 6
    assert ids_of(built("mistral", *said[:4])) == ids[:1]
    many = [user(), *(call(f"call_{n}") for n in range(400)), *(output(f"call_{n}") for n in range(400))]
    made = built("mistral", *many)
    assert len(set(ids_of(made))) == 400
    outputs = [part.id for item in made.items for part in items.tool_outputs(item)]
    assert outputs == ids_of(made)


def test_two_calls_of_one_message_never_share_an_id_that_is_made_up() -> None:
    (made_up,) = ids_of(built("mistral", user(), call("bad id"), output("bad id")))
    both = built(
        "mistral", user(), call(made_up), call("bad id"), output(made_up, "a"), output("bad id", "b")
    )
    first, second = ids_of(both)
    assert first == made_up != second
    assert [item["content"] for item in both.items[2:]] == ["a", "b"]


def test_the_assistant_speaks_before_the_user_after_an_output() -> None:
    said = [user(), asks(nine()), tool(NINE), user("stop")]
    context = built("mistral", *said)
    assert context.items == [*said[:3], assistant(BRIDGE), said[3]]
    assert [row.why for row in context.rows] == ["kept", "kept", "kept", "bridge", "kept"]
    assert context.rows[3].entry is None
    assert told(context) == [("added", "role-order")]
    assert context.changes[0].entry == "e3"
    assert built("mistral", *said[:3]).items == context.items[:3]  # what was sent stays as it was


def test_pictures_of_an_output_come_after_a_word_of_the_assistant() -> None:
    context = built("mistral", user(), assistant([use(NINE)]), user([result(NINE, [picture()])]))
    assert [item["role"] for item in context.items] == ["user", "assistant", "tool", "assistant", "user"]
    assert context.items[4]["content"] == [{"type": "image_url", "image_url": {"url": DATA}}]


def test_a_system_message_that_comes_late_goes_as_the_users() -> None:
    context = built("mistral", user(), assistant("hm"), system("rule"), user("go on"))
    assert context.items == [user(), assistant("hm"), user("rule"), user("go on")]
    assert told(context) == [("rewritten", "role-order")]
    late = built("mistral", user(), asks(nine()), tool(NINE), {"role": "developer", "content": "rule"})
    assert late.items[3:] == [assistant(BRIDGE), user("rule")]


def test_what_a_model_thought_goes_back_to_it_alone() -> None:
    said = [user(), assistant([chunk("my plan"), text("so")]), user()]
    assert built("mistral", *said, own=True).items == said
    for other in (None, Target("mistral-chat", "mistral-large-2411")):
        family = other and other.family
        entries = entries_of(said, None)
        context = build_context(
            [e if family is None else _of(e, family) for e in entries], TARGETS["mistral"]
        )
        assert context.items[1] == assistant([text("so")])
        assert told(context) == [("rewritten", "private")]
    for api in ("openai-responses", "openai-chat", "anthropic-messages", "deepseek-chat"):
        sent = build_context(entries_of(said, TARGETS["mistral"]), Target(api, "m"))
        assert "my plan" not in repr(sent.items)
        assert ("rewritten", "private") in told(sent)


def _of(entry: Any, family: str) -> Any:
    from dataclasses import replace

    return replace(entry, family=family)


def test_thinking_that_is_a_list_is_read_as_its_text() -> None:
    said = assistant([chunk("my plan"), text("so")])
    (thought_of,) = items.reasoning(said)
    assert (thought_of.text, thought_of.opaque) == ("my plan", False)
    assert items.text(said) == "so"


def test_a_refusal_is_text_there() -> None:
    for said in (assistant(None, refusal="no"), assistant([{"type": "refusal", "refusal": "no"}])):
        for api in ("mistral", "deepseek"):
            context = built(api, user(), said, user())
            assert items.text(context.items[1]) == "no"


def test_documents_are_links_there() -> None:
    said = user([text("see"), {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}}])
    link = {"type": "document_url", "document_url": PDF, "document_name": "a.pdf"}
    context = built("mistral", said)
    assert context.items == [user([text("see"), link])]
    for api in ("openai-chat", "openai-responses", "anthropic-messages"):
        back = build_context(entries_of(context.items, None), Target(api, "m"))  # type: ignore[arg-type]
        assert "a.pdf" in repr(back.items)
        assert "JVBERg==" in repr(back.items)


def test_nobodys_thinking_is_a_part_of_a_message_there() -> None:
    said = [user(), assistant([thinking(), text("so")]), user()]
    context = build_context(entries_of(said, Target("anthropic-messages", "c")), TARGETS["mistral"])
    assert context.items[1]["content"] in ("so", [text("so")])
    assert NOTES not in repr(context.items)


def test_both_are_told_who_spoke_last() -> None:
    for api, said in (("deepseek", thought()), ("mistral", assistant())):
        assert tuple(rules_of(check_items([user(), said], TARGETS[api]))) == LAST
        begun = [user(), {**said, "prefix": True}]
        assert check_items(begun, TARGETS[api]) == []
        assert built(api, *begun, own=True).items == begun
        late = built(api, user(HALF), begun[1], own=True)
        assert late.items[1] is begun[1]
