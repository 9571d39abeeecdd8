"""Gemini: its own shape, what is peculiar to its API, and answers of it in a session."""

from __future__ import annotations

from typing import Any, Final

import pytest
from gemini_rules import problems
from histories import faulty
from hypothesis import given, settings
from test_apis import (
    DATA,
    LINK,
    PNG,
    answered,
    asked,
    asks,
    assistant,
    blob,
    by_model,
    by_user,
    call,
    entries_of,
    entry_of_calls,
    marked,
    output,
    picture,
    result,
    rules_of,
    text,
    told,
    tool,
    use,
    user,
)

from transcript_log import Session, Target, build_context, items
from transcript_log._pieces import Piece
from transcript_log.apis import api_for, check_items
from transcript_log.apis._base import Notes
from transcript_log.apis._gemini_quick import CALLS, OUTPUTS, TEXT, quick_parts
from transcript_log.apis._gemini_rendering import rendered
from transcript_log.apis.gemini import GEMINI
from transcript_log.context import Context
from transcript_log.entries import Entry, Item, MessageEntry
from transcript_log.errors import EntryError, FamilyRequiredError
from transcript_log.history import Called, Reasoned, Said, build_history
from transcript_log.items.gemini import NO_SIGNATURE
from transcript_log.items.portable import is_private, portable_part
from transcript_log.items.shapes import (
    answer_item,
    rest_of,
    shape_of,
    single_output,
    with_output,
    without_calls,
)
from transcript_log.testing import ScriptedModel
from transcript_log.testing import call as scripted

NEWER: Final = Target("gemini", "gemini-3-pro")
OLDER: Final = Target("gemini", "gemini-2.5-flash")
OPENAI: Final = Target("openai-chat", "gpt-5")


def built(*said: Item, target: Target = NEWER, family: Target | None = None) -> Context:
    """A context of items that are of nobody's family, or of this one."""
    context = build_context(entries_of([dict(item) for item in said], family), target)
    assert [f for f in check_items(context.items, target) if f.severity != "note"] == []
    return context


# -------------------------------------------------------------------------------- reading

SNAKE: Final = by_model(
    {"text": "plan", "thought": True, "thought_signature": "c2VhbA=="},
    {"text": "so"},
    {"inline_data": {"mime_type": "image/png", "data": PNG}},
    {"function_call": {"id": "c1", "name": "bash", "args": {"n": 1}}},
    {"function_call": {"name": "bash"}},
)
CAMEL: Final = by_model(
    {"text": "plan", "thought": True, "thoughtSignature": "c2VhbA=="},
    {"text": "so"},
    blob(),
    {"functionCall": {"id": "c1", "name": "bash", "args": {"n": 1}}},
    {"functionCall": {"name": "bash"}},
)


def test_the_names_of_the_sdk_are_read_as_those_of_the_json() -> None:
    assert items.parts(SNAKE) == items.parts(CAMEL)
    assert [type(part).__name__ for part in items.parts(CAMEL)] == [
        "ReasoningPart",
        "TextPart",
        "ImagePart",
        "ToolCallPart",
        "ToolCallPart",
    ]
    for content in (SNAKE, CAMEL):
        assert shape_of(content) == "gemini"
        assert items.role(content) == "assistant"
        assert items.text(content) == "so"
        assert [(one.media_type, one.size_bytes, one.content) for one in items.images(content)] == [
            ("image/png", 2, PNG)
        ]
        assert [(one.id, one.name, one.arguments, one.nameless) for one in items.tool_calls(content)] == [
            ("c1", "bash", {"n": 1}, False),
            ("bash-1", "bash", None, True),
        ]
        assert items.tool_outputs(content) == ()
        assert items.calls_and_outputs(content) == (items.tool_calls(content), ())
        assert items.has_opaque(content)
        assert is_private(content)
    sent = built(by_user(), SNAKE, family=NEWER).items[1]
    signed = {**CAMEL["parts"][3], "thoughtSignature": NO_SIGNATURE}
    assert sent["parts"] == [*CAMEL["parts"][:3], signed, CAMEL["parts"][4]]


@pytest.mark.parametrize(
    ("response", "content", "is_error"),
    [
        ({"output": "out"}, "out", False),
        ({"result": {"n": 1}}, {"n": 1}, False),
        ({"error": "no"}, "no", True),
        ({"output": "out", "error": None}, {"output": "out", "error": None}, False),
        ({"temperature": 5}, {"temperature": 5}, False),
        ("bare", "bare", False),
    ],
)
def test_what_a_tool_gave_back_is_read_out_of_its_object(response: Any, content: Any, is_error: bool) -> None:
    part = {"functionResponse": {"id": "c1", "name": "bash", "response": response}}
    (found,) = items.tool_outputs(by_user(part))
    assert (found.id, found.content, found.is_error, found.name) == ("c1", content, is_error, "bash")
    assert not items.is_user_turn(by_user(part))


def test_pictures_in_an_output_are_its_own_and_no_text() -> None:
    item = by_user(answered(said="see", parts=[blob()]))
    (found,) = items.tool_outputs(item)
    assert items.output_text(found.content) == "see"
    assert [one.size_bytes for one in items.output_images(found.content)] == [2]
    assert [one.size_bytes for one in items.images(item)] == [2]


def test_what_the_server_ran_is_hosted() -> None:
    item = by_model(
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH", "args": {"q": 1}}},
        {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH", "response": {}}},
        {"hologram": 1},
        {"inlineData": {"mimeType": "audio/wav", "data": PNG}},
    )
    assert items.tool_calls(item) == () == items.tool_outputs(item)
    assert [one.name for one in items.hosted_calls(item)] == ["code_execution", "google_search"]
    assert [(one.name, one.is_error) for one in items.hosted_outputs(item)] == [
        ("code_execution", True),
        ("google_search", False),
    ]
    assert [part.type for part in items.parts(item)[4:] if isinstance(part, items.OtherPart)] == [
        "hologram",
        "inlineData",
    ]


def test_what_is_private_in_a_content_goes_and_the_rest_is_shared() -> None:
    first, *rest = by_model({"text": "plan", "thought": True}, {"text": "so"}, asked(), blob())["parts"]
    item = by_model(first, *rest)
    left = portable_part(item)
    assert left is not None
    assert left["parts"] == [rest[0], {"functionCall": rest[1]["functionCall"]}, rest[2]]
    assert left["parts"][0] is rest[0]
    assert portable_part(by_model(marked(), {"text": "a"}))["parts"][0]["thoughtSignature"] == NO_SIGNATURE  # type: ignore[index]
    assert not is_private(by_model(marked()))
    assert not is_private(by_user(answered(said={"signature": "a", "thoughtSignature": "b"})))
    assert portable_part(by_model({"text": "", "thoughtSignature": "c2VhbA=="})) is None
    assert portable_part(by_model(first)) is None


def test_a_content_comes_apart_and_is_made() -> None:
    item = by_user(answered("a", "one"), {"text": "and"}, answered("b", "two"))
    outputs = items.tool_outputs(item)
    assert single_output(item, outputs[1], 2) == by_user(answered("b", "two"))
    assert rest_of(item, outputs) == by_user({"text": "and"})
    assert with_output(item, outputs[1], "gone")["parts"][2] == answered("b", "gone")
    failed = by_user(answered(said={"error": "no"}, parts=[blob()]))
    assert with_output(failed, items.tool_outputs(failed)[0], "gone") == by_user(
        answered(said={"error": "gone"})
    )
    said = by_model({"text": "so"}, asked("a"), asked("b", signed=False))
    calls = items.tool_calls(said)
    assert without_calls(said, calls[:1]) == by_model({"text": "so"}, asked("b", signed=False))
    assert without_calls(by_model(asked()), items.tool_calls(by_model(asked()))) is None
    (one,) = items.tool_calls(by_model(asked()))
    for content, more in (
        ("out", {"response": {"output": "out"}}),
        ({"n": 1}, {"response": {"n": 1}}),
        ([1, 2], {"response": {"output": [1, 2]}}),
        ([blob()], {"response": {"output": ""}, "parts": [blob()]}),
    ):
        made = answer_item(one, content, "gemini")
        assert made == by_user({"functionResponse": {"id": "c1", "name": "bash", **more}})
    assert answer_item(one, "no", "gemini", is_error=True) == by_user(answered(said={"error": "no"}))


def test_the_history_of_a_content_has_what_is_in_it() -> None:
    log = [by_user(), CAMEL, by_user(answered(), answered(None))]
    history = build_history(entries_of(log, NEWER))
    assert [type(event) for event in history.events] == [Said, Reasoned, Said, Called, Called]
    said = [event for event in history.events if isinstance(event, Said)]
    assert [(event.role, event.text, len(event.images)) for event in said] == [
        ("user", "go", 0),
        ("assistant", "so", 1),
    ]
    called = [event for event in history.events if isinstance(event, Called)]
    assert [(event.name, event.arguments, event.output) for event in called] == [
        ("bash", {"n": 1}, "out"),
        ("bash", None, "out"),
    ]


def test_a_signature_makes_no_thought_of_a_text_and_one_alone_is_opaque() -> None:
    signed = {"text": "so", "thoughtSignature": "c2VhbA=="}
    empty = {"text": "", "thoughtSignature": "c2VhbA=="}
    parts = items.parts(by_model(signed, empty, {"text": ""}, {"text": "hm", "thought": True}))
    assert parts == (
        items.TextPart("so", 0),
        items.ReasoningPart("", True, 1),
        items.TextPart("", 2),
        items.ReasoningPart("hm", False, 3),
    )


# ------------------------------------------------------------------------ calls without ids


def nameless(*names: str) -> Item:
    first, *rest = names
    return by_model(asked(None, first), *(asked(None, name, signed=False) for name in rest))


@pytest.mark.parametrize(
    "outputs",
    [
        [by_user(answered(None, "1"), answered(None, "2"), answered(None, "3", "read"))],
        [by_user(answered(None, "1")), by_user(answered(None, "3", "read")), by_user(answered(None, "2"))],
        [by_user(answered("x-175", "1"), answered("x-176", "2")), by_user(answered("x-9", "3", "read"))],
        [by_user(answered("bash-2", "2")), by_user(answered("read-1", "3", "read"), answered(None, "1"))],
        [
            by_user(answered(None, "3", "read")),
            by_user(answered("bash-2", "2")),
            by_user(answered(None, "1")),
        ],
    ],
)
def test_outputs_without_ids_belong_to_the_calls_of_their_tool_in_order(outputs: list[Item]) -> None:
    log = [by_user(), nameless("bash", "read", "bash"), *outputs, by_user({"text": "and?"})]
    entries = entries_of(log, NEWER)
    called = [event for event in build_history(entries).events if isinstance(event, Called)]
    assert [(one.call_id, one.output) for one in called] == [
        ("bash-1", "1"),
        ("read-1", "3"),
        ("bash-2", "2"),
    ]
    context = build_context(entries, NEWER)
    assert problems(context.items) == []
    assert not [change for change in context.changes if change.kind in ("left-out", "added")]
    sent = [part["functionResponse"] for part in context.items[2]["parts"]]
    assert all("id" not in answer for answer in sent)
    of_bash = [one["response"]["output"] for one in sent if one["name"] == "bash"]
    # The order of the outputs is all that tells them apart.
    assert of_bash == ["1", "2"]
    # So it is for those that want ids, without a target, and a second time.
    chat = build_context(entries, OPENAI)
    ids = [one["id"] for one in chat.items[1]["tool_calls"]]
    answers = {item["tool_call_id"]: item["content"] for item in chat.items if item["role"] == "tool"}
    assert [answers[each] for each in ids] == ["1", "3", "2"]
    again = build_context(entries_of([dict(item) for item in context.items], NEWER), NEWER)
    assert again.items == context.items
    assert again.changes == ()


def test_calls_without_ids_that_nobody_answered_have_stand_ins() -> None:
    context = built(
        by_user(), nameless("bash", "bash"), by_user(answered(None, "1")), by_user(), family=NEWER
    )
    sent = [part["functionResponse"]["response"] for part in context.items[2]["parts"]]
    assert sent[0] == {"output": "1"}
    assert "unknown" in sent[1]["error"]
    assert ("added", "unanswered-call") in told(context)


@pytest.mark.parametrize("name", ["b d", ""])
def test_calls_without_ids_are_found_by_their_stored_names_where_they_go_under_others(name: str) -> None:
    log = [by_user(), nameless(name, name, "read")]
    log += [by_user(answered(None, "1", name), answered(f"{name}-2", "2", name)), by_user()]
    context = build_context(entries_of(log, NEWER), NEWER)
    assert problems(context.items) == []
    sent = [part["functionResponse"] for part in context.items[2]["parts"]]
    assert [one["response"].get("output") for one in sent] == ["1", "2", None]
    assert {one["name"] for one in sent[:2]} == {context.items[1]["parts"][0]["functionCall"]["name"]}
    alone = built(by_user(), nameless(name, name), by_user(), family=NEWER)
    assert problems(alone.items) == []
    assert [change.rule for change in alone.changes].count("unanswered-call") == 2


def test_outputs_of_a_content_stay_together_beside_a_stand_in() -> None:
    log = [by_user(), nameless("look"), by_model(asked("a"), asked("b", signed=False))]
    log.append(by_user(answered("a"), answered("b")))
    context = build_context(entries_of(log, NEWER))
    assert [row.why for row in context.rows] == ["kept", "kept", "kept", "stand-in", "kept"]
    assert context.items[-1] is log[-1]
    assert told(context) == [("added", "unanswered-call")]


def test_calls_without_ids_come_again_in_each_turn() -> None:
    log = [by_user(), nameless("bash"), by_user(answered(None, "1"))]
    log += [nameless("bash"), by_user(answered(None, "2"))]
    context = built(*log, family=NEWER)
    assert context.changes == ()
    called = [one for one in build_history(entries_of(log, NEWER)).events if isinstance(one, Called)]
    assert [one.output for one in called] == ["1", "2"]


# ------------------------------------------------------------------------------ signatures


def test_a_model_before_gemini_3_wants_no_signature_and_no_parts_in_an_output() -> None:
    log = [by_user(), by_model(asked(signed=False)), by_user(answered())]
    assert check_items(log, OLDER) == []
    assert rules_of(check_items(log, NEWER)) == ["signature"]
    shown = [by_user(), by_model(asked()), by_user(answered(said="see", parts=[blob()]))]
    assert check_items(shown, NEWER) == []
    assert rules_of(check_items(shown, OLDER)) == ["output-media"]
    context = built(*shown, by_user(), target=OLDER, family=OLDER)
    assert context.items[2:4] == [by_user(answered(said="see")), by_user(blob())]
    assert told(context) == [("moved", "output-media")]
    called = built(user(), call(), output(), target=OLDER).items[1]["parts"][0]
    assert "thoughtSignature" not in called


@pytest.mark.parametrize(
    ("model", "is_newer"),
    [
        ("gemini-3-pro-preview", True),
        ("gemini-3.5-flash", True),
        ("gemini-flash-latest", True),
        ("models/gemini-3-flash", True),
        ("gemini-4", True),
        ("any", True),
        ("gemini-2.5-pro", False),
        ("google/gemini-2.0-flash", False),
        ("gemini-1.5-pro-002", False),
        ("gemma-3-27b-it", False),
    ],
)
def test_a_model_is_new_unless_its_name_says_otherwise(model: str, is_newer: bool) -> None:
    assert (api_for(Target("gemini", model)) is GEMINI) == is_newer


def test_calls_of_another_model_bear_the_mark_for_that_the_first_of_each_step() -> None:
    context = built(user(), call("a"), call("b"), output("a"), output("b"), call("c"), output("c"), user())
    signs = [
        part.get("thoughtSignature")
        for item in context.items
        for part in item["parts"]
        if "functionCall" in part
    ]
    assert signs == [NO_SIGNATURE, None, NO_SIGNATURE]
    assert context.changes == ()  # that the items are rendered says so


def test_signatures_of_another_model_are_not_sent_and_that_is_told() -> None:
    log = [by_user(), by_model({"text": "plan", "thought": True}, asked()), by_user(answered())]
    context = built(*log, family=Target("gemini", "gemini-3-flash"))
    assert context.items[1] == by_model(marked())
    assert told(context) == [("rewritten", "private"), ("rewritten", "signature")]
    reading = Target("gemini", "gemini-3-pro", reads=frozenset({"gemini/direct/gemini-3-flash"}))
    kept = built(*log, target=reading, family=Target("gemini", "gemini-3-flash"))
    assert kept.changes == ()
    assert kept.items[1] == log[1]


def test_what_was_marked_stays_marked_as_the_conversation_goes_on() -> None:
    log = [by_user(), by_model(asked()), by_user(answered())]
    before = built(*log, family=OPENAI)
    after = built(*log, by_model(), by_user({"text": "more"}), family=OPENAI)
    assert after.items[:3] == before.items


def test_a_signature_stays_with_its_part_when_contents_are_put_together() -> None:
    said = by_model({"text": "so", "thoughtSignature": "c2VhbDE="})
    context = built(
        by_user(),
        said,
        by_model(asked("a")),
        by_model(asked("b")),
        by_user(answered("a"), answered("b")),
        family=NEWER,
    )
    assert context.items[1] == by_model(said["parts"][0], asked("a"), asked("b"))
    assert context.items[1]["parts"][0] is said["parts"][0]
    assert told(context) == [("merged", "call-order")] * 2
    assert problems(context.items) == []


def test_what_pi_kept_of_a_model_of_google_is_sent_back_to_it() -> None:
    blocks = [
        {"type": "thinking", "thinking": "plan", "thinkingSignature": "dGhpbms="},
        {"type": "text", "text": "so", "textSignature": "dGV4dA=="},
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}, "thoughtSignature": "Y2FsbA=="},
    ]
    said = {**assistant(blocks), "stopReason": "toolUse", "timestamp": 1}
    answer = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [text("out")]}
    assert built(user(), said, answer, family=NEWER).items[1] == by_model(
        {"text": "plan", "thought": True, "thoughtSignature": "dGhpbms="},
        {"text": "so", "thoughtSignature": "dGV4dA=="},
        {**asked(), "thoughtSignature": "Y2FsbA=="},
    )
    others = built(user(), said, answer, family=OPENAI)
    assert others.items[1] == by_model({"text": "so"}, marked())


# ------------------------------------------------------------------------------- rendering


@settings(max_examples=150, derandomize=True)
@given(faulty())
def test_what_is_said_sooner_is_what_would_be_said(entries: list[Entry]) -> None:
    """The short way for the commonest items says what the long one says, but for names, told later."""
    for entry in entries:
        if not isinstance(entry, MessageEntry):
            continue
        quick = quick_parts(entry.message)
        if quick is None:
            continue
        notes = Notes()
        (made,), beside = rendered(Piece(entry.message, (entry.id,)), notes, is_newer=True)
        parts = [
            {"functionResponse": {**part["functionResponse"], "name": ""}}
            if "functionResponse" in part
            else part
            for part in made.item["parts"]
        ]
        assert (quick[0], quick[1]) == (made.item["role"], parts)
        assert notes.changes == [] == beside


def test_the_commonest_items_are_said_sooner() -> None:
    for item, kind in (
        (user("hi"), TEXT),
        (assistant([text("hi")]), TEXT),
        (call(), CALLS),
        (output(), OUTPUTS),
        (asks(entry_of_calls("a"), entry_of_calls("b")), CALLS),
        (tool(), OUTPUTS),
        (assistant([text("so"), use()]), CALLS),
        (user([result("a"), result("b", [text("x")])]), OUTPUTS),
    ):
        quick = quick_parts(item)
        assert quick is not None
        assert quick[2] == kind


def test_all_calls_of_a_turn_are_one_content_and_so_are_their_outputs() -> None:
    log = [user(), assistant("so"), call("a"), call("b"), output("b", "2"), output("a", "1"), assistant()]
    context = built(*log)
    assert [row.why for row in context.rows] == ["rendered", "merged", "merged", "rendered"]
    assert context.items[1:3] == [
        by_model({"text": "so"}, marked("a"), asked("b", signed=False)),
        by_user(answered("b", "2"), answered("a", "1")),
    ]
    assert context.items[0] == by_user()
    assert [item["role"] for item in built(user(), assistant("a"), assistant("b"), user(), user()).items] == [
        "user",
        "model",
        "model",
        "user",
        "user",
    ]


def test_pictures_that_tools_gave_stand_in_the_output_and_links_after_all_of_them() -> None:
    shown = [
        {"type": "input_text", "text": "one"},
        {"type": "input_image", "image_url": DATA},
        {"type": "input_image", "image_url": LINK},
    ]
    log = [user(), call("a"), call("b"), output("a", shown), output("b", "two"), user("and?")]
    context = built(*log)
    assert context.items[2:] == [
        by_user(answered("a", "one", parts=[blob()]), answered("b", "two")),
        by_user({"fileData": {"mimeType": "image/png", "fileUri": LINK}}),
        by_user({"text": "and?"}),
    ]
    assert told(context) == [("moved", "output-media")]
    older = built(*log, target=OLDER)
    assert older.items[2:] == [
        by_user(answered("a", "one"), answered("b", "two")),
        by_user(blob(), {"fileData": {"mimeType": "image/png", "fileUri": LINK}}),
        by_user({"text": "and?"}),
    ]


def test_an_error_is_one_there_too_and_blank_outputs_are_outputs() -> None:
    log = [
        user(),
        assistant([use("a"), use("b")]),
        user([result("a", "no", is_error=True), result("b", "")]),
    ]
    context = built(*log)
    assert context.items[2] == by_user(answered("a", {"error": "no"}), answered("b", ""))
    assert context.changes == ()


def test_text_beside_outputs_is_a_content_of_its_own() -> None:
    log = [user(), assistant([use()]), user([result(), text("go on"), picture()])]
    assert built(*log).items[2:] == [by_user(answered()), by_user({"text": "go on"}, blob())]


def test_outputs_name_the_tool_that_their_call_named() -> None:
    name = "9 lives/" + "x" * 80
    (called, given) = built(user(), asks(entry_of_calls(name=name)), tool()).items[1:3]
    sent = called["parts"][0]["functionCall"]["name"]
    assert sent == given["parts"][0]["functionResponse"]["name"]
    assert sent.startswith("_9_lives_xxx")
    assert len(sent) == 64
    other = built(user(), asks(entry_of_calls(name=name + "y")), tool()).items[1]["parts"][0]
    assert other["functionCall"]["name"] != sent


def test_what_gemini_says_goes_to_the_others() -> None:
    log = [
        by_user({"text": "go"}, blob()),
        by_model({"text": "plan", "thought": True}, {"text": "so"}, asked("a", args={"n": 1}), asked("b")),
        by_user(answered("a", "1", parts=[blob()]), answered("b", {"error": "no"})),
        by_model({"executableCode": {"code": "1"}}, {"text": "done"}),
        by_user(),
    ]
    for api in ("openai-responses", "openai-chat", "anthropic-messages"):
        context = build_context(entries_of(log, NEWER), Target(api, "m"))
        sent = repr(context.items)
        assert "plan" not in sent
        assert "c2VhbA==" not in sent
        assert sent.count("aGk=") == 2
        calls = [one for item in context.items for one in items.tool_calls(item)]
        outputs = [one for item in context.items for one in items.tool_outputs(item)]
        assert [(one.id, one.name) for one in calls] == [("a", "bash"), ("b", "bash")]
        assert [(one.id, items.output_text(one.content)) for one in outputs] == [("a", "1"), ("b", "no")]
        assert ("left-out", "hosted") in told(context)
        assert ("rewritten", "private") in told(context)
        assert [items.text(item) for item in context.items if items.text(item)] == ["go", "so", "done", "go"]


def test_a_signature_alone_goes_with_an_empty_text() -> None:
    context = built(by_user(), by_model({"text": "so"}, {"thoughtSignature": "c2VhbA=="}), family=NEWER)
    assert context.items[1] == by_model({"text": "so"}, {"text": "", "thoughtSignature": "c2VhbA=="})
    assert told(context) == [("rewritten", "part-type")]


def test_an_output_of_nothing_is_an_empty_one() -> None:
    bare = {"functionResponse": {"id": "c1", "name": "bash"}}
    context = built(by_user(), by_model(asked()), by_user(bare), family=NEWER)
    assert context.items[2] == by_user(answered(said=""))
    assert told(context) == [("rewritten", "output-content")]


def test_what_is_no_part_is_left_out_and_told() -> None:
    context = built(by_user(), by_user("hi", {"text": "hi"}))
    assert context.items[1] == by_user({"text": "hi"})
    assert [(one.kind, one.rule, one.entry) for one in context.changes] == [("left-out", "part-type", "e1")]


def test_what_is_mended_is_one_item_and_what_comes_apart_is_two() -> None:
    both = by_user({"text": "see"}, answered(said="out", parts=[{"text": "no picture"}]))
    context = built(by_user(), by_model(asked()), both, by_user({"text": "hi", "index": 0}), family=NEWER)
    assert [(row.why, row.entry) for row in context.rows] == [
        ("kept", "e0"),
        ("kept", "e1"),
        ("mended", "e2"),
        ("split", "e2"),
        ("mended", "e3"),
    ]


def test_a_call_that_is_not_signed_is_told_under_its_id_or_its_tool() -> None:
    for call_id, label in (("c1", "c1"), (None, "bash")):
        context = built(by_user(), by_model(asked(call_id, signed=False)), by_user(answered(call_id)))
        assert [(one.rule, one.call) for one in context.changes] == [("signature", label)]


# -------------------------------------------------------------------------------- sessions


def test_a_conversation_with_gemini_comes_back_as_the_same_objects() -> None:
    """Parallel calls, signatures, thoughts, pictures: nothing is changed, nothing is told."""
    first = {
        "responseId": "r1",
        "modelVersion": "gemini-3-pro-001",
        "candidates": [
            {
                "finishReason": "STOP",
                "content": by_model(
                    {"text": "plan", "thought": True},
                    asked("a", args={"path": "x"}),
                    asked("b", "look", signed=False),
                ),
            }
        ],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12},
    }
    last = {
        "responseId": "r2",
        "candidates": [
            {
                "finishReason": "STOP",
                "content": by_model({"text": "done"}, blob(), {"text": "", "thoughtSignature": "c2VhbA=="}),
            }
        ],
    }
    model = ScriptedModel(NEWER, [first, last, "Bye."])
    with Session.in_memory() as session:
        given = by_user({"text": "see"}, blob())
        session.add(given)
        context = session.context(NEWER)
        recorded = session.add_response(model(context.items), to=context)
        assert [(one.id, one.name, one.arguments) for one in recorded.calls] == [
            ("a", "bash", {"path": "x"}),
            ("b", "look", {}),
        ]
        answers = by_user(answered("a", "out"), answered("b", "seen", "look", parts=[blob()]))
        session.add(answers)
        context = session.context(NEWER)
        session.add_response(model(context.items), to=context)
        session.add(by_user({"text": "thanks"}))
        context = session.context(NEWER, strict=True)
        assert context.changes == ()
        contents = [first["candidates"][0]["content"], last["candidates"][0]["content"]]  # type: ignore[index]
        wanted = [given, contents[0], answers, contents[1]]
        assert all(a is b for a, b in zip(context.items, wanted, strict=False))
        assert parse(model(context.items)) == "Bye."
        assert all(problems(request) == [] for request in model.requests)


def parse(raw: dict[str, Any]) -> str:
    return str(raw["candidates"][0]["content"]["parts"][0]["text"])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_calls_without_ids_are_run_and_answered_in_any_order(order: list[int]) -> None:
    raw = {"candidates": [{"content": nameless("bash", "bash", "read"), "finishReason": "STOP"}]}
    with Session.in_memory() as session:
        session.add(by_user())
        calls = session.add_response(raw, to=session.context(NEWER)).calls
        assert [one.id for one in calls] == ["bash-1", "bash-2", "read-1"]
        assert [one.call for one in session.open_calls()] == list(calls)
        for place in order:
            with session.call(calls[place]) as recorder:
                recorder.output(f"{place}")
        assert session.open_calls() == ()
        context = session.context(NEWER)
        assert problems(context.items) == []
        answers = [part["functionResponse"] for part in context.items[2]["parts"]]
        assert {(one["name"], one["response"]["output"]) for one in answers} == {
            ("bash", "0"),
            ("bash", "1"),
            ("read", "2"),
        }
        assert [one["response"]["output"] for one in answers if one["name"] == "bash"] == ["0", "1"]
        called = [one for one in session.history().events if isinstance(one, Called)]
        assert [one.output for one in called] == ["0", "1", "2"]


def test_a_scripted_model_speaks_gemini_through_a_whole_session() -> None:
    model = ScriptedModel(NEWER, [["One.", scripted("a"), scripted("b", n=1)], "Done."])
    with Session.in_memory() as session:
        session.add(user("go"))
        while True:
            context = session.context(NEWER)
            recorded = session.add_response(model(context.items), to=context)
            if not recorded.calls:
                break
            for one in recorded.calls:
                session.add_output(one, "ok")
        assert model.left == 0
        assert all(problems(request) == [] for request in model.requests)
        assert recorded.text == "Done."


def test_an_answer_of_another_api_than_was_asked_is_refused() -> None:
    raw = ScriptedModel(OPENAI, ["hi"])([user()])
    with Session.in_memory() as session:
        session.add(by_user())
        with pytest.raises(EntryError, match="openai-chat"):
            session.add_response(raw, to=session.context(NEWER))
        raw = ScriptedModel(NEWER, ["hi"])([by_user()])
        with pytest.raises(EntryError, match="google-gemini"):
            session.add_response(raw, to=session.context(OPENAI))


def test_a_signed_content_wants_a_family() -> None:
    with Session.in_memory() as session:
        with pytest.raises(FamilyRequiredError):
            session.add(by_model(asked()))
        session.add(by_model(asked()), target=NEWER)
