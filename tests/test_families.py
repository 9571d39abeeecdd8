"""Who can read what: private items go to their own family alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from core_items import Watched, histories, message, reasoning, same_objects
from hypothesis import example, given
from hypothesis import strategies as st

from transcript_log import items
from transcript_log._identity import IdentityMap
from transcript_log.families import BINDINGS, Target, items_for_family, target_of
from transcript_log.items.portable import is_private, portable_part, without_thinking

_FAMILIES = st.sampled_from([None, "one", "two"])


def mapped(*pairs: tuple[object, str | None]) -> IdentityMap[str | None]:
    found: IdentityMap[str | None] = IdentityMap()
    for item, family in pairs:
        found[item] = family
    return found


@given(histories(), _FAMILIES, st.data())
def test_a_family_reads_what_is_portable_and_what_is_its_own(
    source: list[Any], family: str | None, data: st.DataObject
) -> None:
    # Small numbers and None are shared objects: only what has an identity of its own is mapped.
    dicts = [item for item in source if isinstance(item, Watched)]
    maps = [
        data.draw(st.none() | st.just(mapped(*((item, data.draw(_FAMILIES)) for item in dicts[::step]))))
        for step in (1, 2)
    ]
    before = copy.deepcopy(source)
    kept = items_for_family(source, family, item_families=maps[0], handoff_families=maps[1])

    def has(found: IdentityMap[str | None] | None, item: object) -> bool:
        return found is not None and item in found and found[item] == family

    expected = [
        item
        for item in source
        if (has(maps[0], item) or not items.is_family_private(item)) and not has(maps[1], item)
    ]
    assert same_objects(kept, expected)
    assert source == before
    again = items_for_family(kept, family, item_families=maps[0], handoff_families=maps[1])
    assert same_objects(again, kept)


def test_none_is_a_family_and_no_entry_is_none() -> None:
    own, unknown = reasoning(), reasoning()
    assert same_objects(items_for_family([own, unknown], None, item_families=mapped((own, None))), [own])
    assert items_for_family([own, unknown], None) == []
    assert items_for_family([own], "one", item_families=mapped((own, None))) == []


def test_equal_items_may_be_of_two_families() -> None:
    one, two = reasoning(), reasoning()
    families = mapped((one, "one"), (two, "two"))
    assert same_objects(items_for_family([one, two], "two", item_families=families), [two])


def test_a_handoff_is_for_the_others() -> None:
    told = message("as I was saying")
    handoffs = mapped((told, "one"))
    assert items_for_family([told], "one", handoff_families=handoffs) == []
    assert same_objects(items_for_family([told], "two", handoff_families=handoffs), [told])
    assert same_objects(items_for_family([told], None, handoff_families=handoffs), [told])


# ------------------------------------------------------------------------ portable parts


def said(*blocks: Any, role: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks), **more}


TEXT = {"type": "text", "text": "so"}
THINKING = {"type": "thinking", "thinking": "plan", "signature": "seal"}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{**TEXT, "signature": "mine"}, {"type": "thinking", "thinking": "x"}]},
        said(TEXT),
        said("so", 4),
        said({"type": "tool_use", "id": "t", "name": "n", "input": {"signature": "mine", "data": "x"}}),
        said({**TEXT, "citations": [{"type": "char_location"}]}),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": '{"signature": "mine"}'},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "x"},
        {"type": "file_search_call", "id": "fs_1"},
        {"type": "compaction"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}, 4]},
        {"role": "assistant", "content": None, "refusal": "no"},
    ],
)
def test_what_anybody_can_read_is_the_same_object(item: dict[str, Any]) -> None:
    assert portable_part(item) is item
    assert not is_private(item)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "summary": []},
        {"type": "reasoning_content", "content": "plan"},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "tool_search_call", "call_id": "c"},
        {"type": "tool_search_output", "call_id": "c", "tools": []},
        {"type": "compaction", "encrypted_content": "seal"},
        {"type": "compaction_summary", "encrypted_content": "seal"},
        {"type": "context_compaction", "encrypted_content": "seal"},
        said(THINKING),
        said({"type": "redacted_thinking", "data": "seal"}),
        said(SEARCH, {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
        said({"type": "mcp_tool_use", "id": "s"}, {"type": "compaction", "content": "x"}),
        {"role": "assistant", "content": None, "reasoning_content": "plan"},
        {"role": "assistant", "content": "", "reasoning_details": [{"type": "reasoning.encrypted"}]},
    ],
)
def test_of_what_is_private_alone_nothing_is_left(item: dict[str, Any]) -> None:
    before = copy.deepcopy(item)
    assert portable_part(item) is None
    assert is_private(item)
    assert item == before


@pytest.mark.parametrize(
    ("item", "left"),
    [
        (said(THINKING, TEXT, SEARCH), said(TEXT)),
        (said({**TEXT, "textSignature": "seal"}), said(TEXT)),
        (said({**TEXT, "citations": [{"encrypted_index": "seal"}]}), said(TEXT)),
        (
            said({"type": "toolCall", "id": "t", "name": "n", "arguments": {}, "thoughtSignature": "seal"}),
            said({"type": "toolCall", "id": "t", "name": "n", "arguments": {}}),
        ),
        (said(TEXT, reasoning="plan"), said(TEXT)),
        (
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "plan",
                "tool_calls": [
                    {"id": "c", "extra_content": {"google": "seal"}},
                    {"id": "d", "function": {"name": "n", "thought_signature": "seal"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c"}, {"id": "d", "function": {"name": "n"}}],
            },
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}", "signature": "seal"},
            {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
        ),
        ({"role": "tool", "content": "out", "encrypted_content": "x"}, {"role": "tool", "content": "out"}),
    ],
)
def test_of_what_is_mixed_the_rest_is_left_and_nothing_is_changed(
    item: dict[str, Any], left: dict[str, Any]
) -> None:
    before = copy.deepcopy(item)
    part = portable_part(item)
    assert part == left
    assert part is not None
    assert portable_part(part) is part
    assert is_private(item)
    assert item == before


def test_what_is_left_is_shared() -> None:
    item = said(THINKING, TEXT)
    part = portable_part(item)
    assert part is not None
    assert part["content"][0] is TEXT
    calls = [{"id": "c"}, {"id": "d", "signature": "seal"}]
    part = portable_part({"role": "assistant", "content": "so", "tool_calls": calls})
    assert part is not None
    assert part["tool_calls"][0] is calls[0]


def test_a_message_without_its_thinking_keeps_all_else_that_is_private() -> None:
    item = said(THINKING, TEXT, SEARCH, {"type": "redacted_thinking", "data": "seal"})
    assert without_thinking(item) == said(TEXT, SEARCH)
    assert without_thinking(said(THINKING)) is None
    for other in (said(TEXT), {"role": "user", "content": [THINKING]}, {"role": "assistant", "content": "x"}):
        assert without_thinking(other) is other


# ------------------------------------------------------------------ a target from its family


NAMES = st.text("ab-.:% F25\u00e9", min_size=1, max_size=6).filter(lambda name: bool(name.strip()))


@given(
    api=st.sampled_from([*BINDINGS, "another-api"]),
    model=st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    platform=NAMES,
    account=st.just("") | NAMES,
)
@example(api="openai-responses", model="a%2Fb", platform="direct", account="")
@example(api="openai-responses", model="a%252F/b", platform="direct", account="org")
def test_a_family_tells_its_target(api: str, model: str, platform: str, account: str) -> None:
    target = Target(api, model, platform, account)
    assert target_of(target.family, model) == target
    binding = BINDINGS.get(api)
    names_it = binding is None or binding.to_model
    assert target_of(target.family) == (target if names_it else None)
    # What the family says goes before what the caller does.
    other = target_of(target.family, "some-other")
    assert other == (target if names_it else Target(api, "some-other", platform, account))


@pytest.mark.parametrize(
    "family",
    [
        "",
        "openai-chat",
        "openai-chat/",
        "openai-chat//x",
        "openai-chat/direct/x/y",
        "openai-responses/direct",
        "openai-responses/direct/",
        "openai-responses//m",
        "openai-responses/direct/a/b/c",
        " /direct/m",
    ],
)
def test_a_family_that_no_target_has_tells_none(family: str) -> None:
    assert target_of(family, "m") is None


def test_deepseek_is_one_reader_by_either_name() -> None:
    assert Target("deepseek-chat", "m").can_read("openai-chat/deepseek")
    assert Target("openai-chat", "m", platform="deepseek").can_read("deepseek-chat/direct")
    assert not Target("deepseek-chat", "m", account="a").can_read("openai-chat/deepseek")
    assert not Target("openai-chat", "m").can_read("deepseek-chat/direct")
