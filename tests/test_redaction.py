"""Secrets of known shapes are taken out, all of them and nothing else, and it stays so."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import alike, json_values
from strategies import entries as any_entries
from test_corpus_codex import CORPUS, FACTS, each

from transcript_log import codec
from transcript_log.check import check_entries
from transcript_log.context import build_context
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Header,
    Invocation,
    MessageEntry,
    OpaqueEntry,
)
from transcript_log.families import Target
from transcript_log.findings import Finding
from transcript_log.redaction import (
    SHAPES,
    Redacted,
    SecretShape,
    ShapeError,
    parse_shape,
    parse_shapes,
    redact,
)

NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
ALNUM: Final = string.ascii_letters + string.digits


def filler(size: int, letters: str = ALNUM, step: int = 7) -> str:
    """Letters that look random, and are the same each time."""
    return "".join(letters[(3 + step * index * (index + 1)) % len(letters)] for index in range(size))


PEM: Final = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY" + "-----", filler(64), filler(64, step=11), "-----END RSA PRIVATE KEY-----"]
)
# Put together here, so that no scanner takes this file for one with secrets in it.
SECRETS: Final[dict[str, list[str]]] = {
    "private-key": [PEM, PEM.replace("RSA", "OPENSSH"), PEM.replace("RSA ", "")],
    "aws-access-key-id": ["AKIA" + filler(16, "ABCDEFGH234567"), "ASIA" + filler(16, "IJKLMNOP234567")],
    "github-token": [
        "ghp" + "_" + filler(36),
        "ghs" + "_" + filler(36, step=5),
        "github" + "_pat_" + filler(22) + "_" + filler(59),
    ],
    "gitlab-token": [
        "glpat" + "-" + filler(20),
        "glpat" + "-" + filler(27) + ".01.0z" + filler(7, "abcdef0123456789"),
        "glcbt" + "-64_" + filler(20),
    ],
    "openai-key": [
        "sk" + "-" + filler(20) + "T3Blbk" + "FJ" + filler(20),
        "sk" + "-proj-" + filler(74) + "T3Blbk" + "FJ" + filler(74),
    ],
    "anthropic-key": ["sk" + "-ant-api03-" + filler(93) + "AA", "sk" + "-ant-oat01-" + filler(86) + "AA"],
    "openrouter-key": ["sk" + "-or-v1-" + filler(64, "abcdef0123456789")],
    "groq-key": ["gsk" + "_" + filler(52)],
    "xai-key": ["xai" + "-" + filler(80)],
    "google-api-key": ["AI" + "za" + filler(35)],
    "google-oauth-token": ["ya29" + ".a0" + filler(60), "GOC" + "SPX-" + filler(28)],
    "slack-token": [
        "xoxb" + "-1234567890-1234567890123-" + filler(24),
        "xapp" + "-1-A012-345-" + filler(40, "abcdef0123456789"),
    ],
    "stripe-key": ["sk" + "_live_" + filler(24), "rk" + "_test_" + filler(30)],
    "npm-token": ["npm" + "_" + filler(36)],
    "pypi-token": ["pypi" + "-AgEIcHlwaS5vcmc" + filler(60)],
    "huggingface-token": ["hf" + "_" + filler(34, string.ascii_letters)],
    "jwt": ["ey" + "J" + filler(20) + "." + "ey" + "J" + filler(30) + "." + filler(43)],
}
"""Secrets that are seen wherever they stand, by kind."""

BARE: Final = [(kind, secret) for kind, secrets in SECRETS.items() for secret in secrets]


def message(item: Any, entry_id: str = "e", **more: Any) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=NOON, message=item, **more)


def user(content: Any, entry_id: str = "e") -> MessageEntry:
    return message({"role": "user", "content": content}, entry_id)


def plain(text: str, **options: Any) -> str:
    """What becomes of a text that somebody said."""
    (entry,) = redact([user(text)], **options).entries
    assert isinstance(entry, MessageEntry)
    return str(entry.message["content"])


def value(given: Any, **options: Any) -> Any:
    """What becomes of a payload."""
    (detail,) = redact([], [Detail(id="c", payload=given)], **options).details
    return detail.payload


# ------------------------------------------------------------------------------ the shapes


def test_every_shape_has_a_source_and_a_date_and_is_found_by_its_hints() -> None:
    assert len({shape.kind for shape in SHAPES}) == len(SHAPES)
    for shape in SHAPES:
        assert shape.source
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", shape.date)
        assert shape.hints
        assert all(shape.hints)
    with_context = {
        "aws-secret-access-key",
        "aws-session-token",
        "slack-webhook",
        "bearer-token",
        "basic-credentials",
        "url-password",
    }
    assert {shape.kind for shape in SHAPES} == SECRETS.keys() | with_context


def test_the_page_names_every_kind() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "importing.md").read_text(encoding="utf-8")
    assert re.findall(
        r"^\| `([a-z-]+)` \|", page.partition("## Redaction")[2].partition("\n## ")[0], re.MULTILINE
    ) == [shape.kind for shape in SHAPES]


@pytest.mark.parametrize(("kind", "secret"), BARE)
@pytest.mark.parametrize(
    "around", ["{}", "a {} b", '"{}"', "export X={}\n", "({}),", "é{}é", "x={};", "<{}>", "`{}`", "\n{}\n"]
)
def test_a_secret_is_taken_out_whatever_stands_around_it(kind: str, secret: str, around: str) -> None:
    assert plain(around.format(secret)) == around.format(f"[redacted:{kind}:1]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"AWS_SECRET_ACCESS_KEY={filler(40)}", "AWS_SECRET_ACCESS_KEY=[redacted:aws-secret-access-key:1]"),
        (f'"SecretAccessKey": "{filler(40)}"', '"SecretAccessKey": "[redacted:aws-secret-access-key:1]"'),
        (
            rf"told: {{\"SecretAccessKey\": \"{filler(40)}\"}}",
            r"told: {\"SecretAccessKey\": \"[redacted:aws-secret-access-key:1]\"}",
        ),
        (
            f'"SessionToken": "IQoJb3JpZ2lu{filler(300)}/+="',
            '"SessionToken": "[redacted:aws-session-token:1]"',
        ),
        (f"AWS_SESSION_TOKEN={filler(140)}\n", "AWS_SESSION_TOKEN=[redacted:aws-session-token:1]\n"),
        (
            f"aws_secret_access_key = {filler(40)}\n",
            "aws_secret_access_key = [redacted:aws-secret-access-key:1]\n",
        ),
        (
            f"https://hooks.slack.com/services/{'T' + filler(9)}/{'B' + filler(9)}/{filler(24)}",
            "https://hooks.slack.com/services/[redacted:slack-webhook:1]",
        ),
        (
            f"curl -H 'Authorization: Bearer {filler(32)}'",
            "curl -H 'Authorization: Bearer [redacted:bearer-token:1]'",
        ),
        (f"authorization: bearer {filler(32)}==", "authorization: bearer [redacted:bearer-token:1]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:basic-credentials:1]"),
        ("postgres://app:hunter2@db:5432/app", "postgres://app:[redacted:url-password:1]@db:5432/app"),
        (
            "git clone https://me:s3cr3t!@github.com/a/b",
            "git clone https://me:[redacted:url-password:1]@github.com/a/b",
        ),
        ("redis://:p%40ss@[::1]:6379", "redis://:[redacted:url-password:1]@[::1]:6379"),
    ],
)
def test_a_secret_that_its_context_tells_is_taken_out(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AKIAIOSFODNN7" + "EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "AWS_SECRET_ACCESS_KEY=$SECRET",
        "export ANTHROPIC_API_KEY=sk-ant-...",
        "ghp_xxxxxxxx",
        "ghp_" + "x" * 36,
        "sk-ant-api03-" + "x" * 95,
        "AKIA" + "X" * 16,
        "AIza" + "Sy" + "X" * 33,
        "authorization: basic authentication is used here",
        "ghp_" + filler(20),
        "a" + "ghp" + "_" + filler(36),
        filler(10) + "AKIA" + filler(40),
        "Bearer <token>",
        "Bearer YOUR-ACCESS-TOKEN-GOES-HERE",
        "the bearer of this letter",
        "Authorization: Bearer $TOKEN",
        "http://localhost:3000/@vite/client",
        "https://user@example.com:8080/",
        "postgres://user:password@localhost/db",
        "postgres://user:${PASSWORD}@localhost/db",
        "postgres://user:<password>@localhost/db",
        "mysql://root:***@db",
        "ssh://git@example.com:22/a.git",
        "see https://example.com/a:b@c",
        "uses: docker://alpine:3.19.1@sha256:" + filler(64, "abcdef0123456789"),
        "eyJ" + filler(30),
        "eyJ" + filler(30) + "." + filler(30) + "." + filler(30),
        "the marker -----BEGIN PRIVATE KEY----- is looked for",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + filler(64) + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + filler(64) + "\n-----END PUBLIC KEY-----",
        "sk-" + filler(48),
        "sk-or-v1-" + filler(63, "abcdef0123456789"),
        "gsk_" + filler(51),
        "xai-grok-code-fast-1",
        "SESSION_TOKEN=$(aws sts get-session-token)",
        "session_token: " + filler(99),
        "-----END PRIVATE KEY-----",
        f"{filler(12)}\n-----END PRIVATE KEY-----",
        "task-ant-colony",
        "hf_hub_download",
        "npm_config_registry",
        "sk_live_",
        "AIza",
        "commit " + filler(40, "0123456789abcdef"),
        "sha512-" + filler(86) + "==",
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert plain(text) == text


def test_a_key_that_was_cut_off_is_taken_out_to_its_end() -> None:
    cut = PEM[: PEM.index("-----END")]
    assert plain(f"{cut}\n[output was cut]") == "[redacted:private-key:1]\n\n[output was cut]"
    escaped = json.dumps(cut + "and then words")[1:-1]
    assert plain(f"key: {escaped}") == "key: [redacted:private-key:1]\\nand then words"
    numbered = "\n".join(f"{line:>6}→{text}" for line, text in enumerate(PEM.split("\n"), 1))
    assert plain(numbered) == "     1→[redacted:private-key:1]"
    assert plain(numbered.rpartition("\n")[0]) == "     1→[redacted:private-key:1]"
    twice = json.dumps(json.dumps(cut))
    assert plain(f"key: {twice}") == 'key: "\\"[redacted:private-key:1]\\\\n\\""'


@pytest.mark.parametrize("mark", ["", "  ", "+", "{:>6}→", "{:>6}\t"])
@pytest.mark.parametrize("ends", ["\n", "\\n", "\\\\n", "\r\n"])
def test_a_key_whose_beginning_was_cut_off_is_taken_out_too(mark: str, ends: str) -> None:
    lines = [filler(64, step=step) for step in (3, 5, 7)] + [filler(11) + "==", PEM.split("\n")[-1]]
    text = ends.join(mark.format(number) + line for number, line in enumerate(lines, 20))
    before = mark.format(20).rstrip("+")  # a plus may be of the base64
    assert plain(f"the end:{ends}{text}") == f"the end:{ends}{before}[redacted:private-key:1]"


def test_looking_for_the_end_of_a_key_takes_bounded_time() -> None:
    import time

    begin = time.perf_counter()
    for unit in (filler(64) + "\n", filler(20) + "\n1:", "\\n" * 40 + filler(20)):
        assert "[redacted" not in plain(f"PRIVATE KEY {unit * (400_000 // len(unit))}")
    assert time.perf_counter() - begin < 10


def test_secrets_without_end_take_bounded_time() -> None:
    """What is seen only when its neighbour is out of the way is not taken out one by one."""
    import time

    begin = time.perf_counter()
    for unit in (
        "GOC" + "SPX-",
        "ey" + "J---",
        "AIza-",
        "gh" + "p_-",
        "://a:b",
        "-----BEGIN PRIVATE KEY-----",
    ):
        for text in (unit * (80_000 // len(unit)), json.dumps({"k": unit * (80_000 // len(unit))})):
            (entry,) = made = redact([user(text)]).entries
            assert redact(made).entries[0] is entry
    assert time.perf_counter() - begin < 12


def test_what_hangs_together_with_many_secrets_is_one() -> None:
    secret = "GOC" + "SPX-" + filler(27) + "-"
    one = "[redacted:google-oauth-token:1]"
    assert plain(f"a {secret * 3} b") == f"a {one * 3} b"
    assert plain(f"a {secret * 30} b") == f"a [redacted:google-oauth-token:2]{one * 8} b"


# ----------------------------------------------------------------------------- placeholders


def test_the_same_secret_has_the_same_placeholder_in_all_of_a_session() -> None:
    one, two = SECRETS["github-token"][:2]
    jwt = SECRETS["jwt"][0]
    entries = [user(f"{two} {one}", "a"), user(f"{one} Bearer {jwt} {jwt}", "b")]
    made = redact(
        entries,
        [Detail(id="c", payload={"out": [one, two]}, entry="a")],
        header=Header(id="s", cwd=f"/home/{one}"),
    )
    first, second, third = (f"[redacted:github-token:{number}]" for number in (1, 2, 1))
    assert made.header is not None
    assert made.header.cwd == f"/home/{first}"
    assert [entry.message["content"] for entry in made.entries if isinstance(entry, MessageEntry)] == [
        f"{second} {first}",
        f"{third} Bearer [redacted:jwt:1] [redacted:jwt:1]",
    ]
    assert made.details[0].payload == {"out": [first, second]}
    assert made.counts == {"github-token": (2, 6), "jwt": (1, 2)}
    assert [(place.entry, place.call, place.where, len(place.placeholders)) for place in made.redactions] == [
        (None, None, "$.cwd", 1),
        ("a", None, "$.message.content", 2),
        ("b", None, "$.message.content", 3),
        ("a", "c", "$.payload.out[0]", 1),
        ("a", "c", "$.payload.out[1]", 1),
    ]
    assert not any(one in str(place) for place in made.redactions)


@pytest.mark.parametrize(
    ("kind", "before", "secret"),
    [
        ("aws-secret-access-key", "AWS_SECRET_ACCESS_KEY=", filler(40)),
        ("url-password", "postgres://app:", "correct-h0rse"),
        ("bearer-token", "Authorization: Bearer ", filler(32)),
        ("own", "token is ", "abcdefghijk1"),
    ],
)
def test_what_a_name_told_to_be_a_secret_is_one_where_it_stands_alone(
    kind: str, before: str, secret: str
) -> None:
    shapes = (*SHAPES, parse_shape("own=token is (?P<secret>[a-z0-9]+)"))
    after = "@db/app" if kind == "url-password" else ""
    gone = f"[redacted:{kind}:1]"
    entries = [user(f"It is x{secret}x."), user(f"{before}{secret}{after}"), user(json.dumps([secret]))]
    findings = [Finding(rule="r", severity="note", message=secret)]
    made = redact(entries, [Detail(id="c", payload={secret: 1})], findings=findings, shapes=shapes)
    assert [entry.message["content"] for entry in made.entries if isinstance(entry, MessageEntry)] == [
        f"It is x{gone}x.",
        f"{before}{gone}{after}",
        f'["{gone}"]',
    ]
    assert made.details[0].payload == {gone: 1}
    assert made.told[0].message == gone
    assert made.counts == {kind: (1, 4)}
    assert redact(made.entries, made.details, shapes=shapes).redactions == ()


@pytest.mark.parametrize("password", ["postgres", "s3cr3t!", "onlyletterslong", "123456789012"])
def test_a_password_that_chance_may_write_is_taken_out_at_its_place_alone(password: str) -> None:
    text = f"{password} and postgres://{password}:{password}@db/{password}"
    shown = f"{password} and postgres://{password}:[redacted:url-password:1]@db/{password}"
    assert plain(text) == shown


def test_numbers_go_on_where_a_session_was_redacted_already() -> None:
    one, two = SECRETS["github-token"][:2]
    made = redact([user(f"[redacted:github-token:7] {one}", "a"), user({"text": two}, "b")])
    assert made.counts == {"github-token": (2, 2)}
    assert "[redacted:github-token:7] [redacted:github-token:8]" in str(made.entries[0])
    assert "[redacted:github-token:9]" in str(made.entries[1])


def test_placeholders_are_counted_wherever_they_stand() -> None:
    old = "[redacted:github-token:7]"
    attachment = ContextAttachment(
        attachment_id="a", epoch=1, kind="k", placement="prefix", revision="r", rendered="x", path=old
    )
    invocation = Invocation(kind="prompt_template", name="n", source="s", path=old)
    places: list[dict[str, Any]] = [
        {"header": Header(id="s", cwd=old)},
        {"header": Header(id="s", extra={old: 1})},
        {"entry": user([{"type": "text", "text": old}], "x")},
        {"entry": replace(user("x", "x"), invocation=invocation)},
        {"entry": ContextEntry(id="x", timestamp=NOON, context=attachment)},
        {"entry": ContextEntry(id="x", timestamp=NOON, context=replace(attachment, path=None, rendered=old))},
        {"entry": CompactionEntry(id="x", timestamp=NOON, compaction=Compaction(summary=old))},
        {
            "entry": CompactionEntry(
                id="x", timestamp=NOON, compaction=Compaction(summary="s", replacement=({"a": old},))
            )
        },
        {
            "entry": CompactionEntry(
                id="x", timestamp=NOON, compaction=Compaction(summary="s", read_files=(old,))
            )
        },
        {"entry": OpaqueEntry(id="x", timestamp=NOON, type="t", data={"a": [old]})},
        {"detail": Detail(id="x", payload={"a": old})},
    ]
    for place in places:
        entries = [user(TOKEN, "u"), *([place["entry"]] if "entry" in place else [])]
        details = [place["detail"]] if "detail" in place else []
        made = redact(entries, details, header=place.get("header"))
        assert "[redacted:github-token:8]" in str(made.entries[0]), place


def test_the_longer_of_two_counts_and_of_equals_the_first() -> None:
    token = SECRETS["github-token"][0]
    assert plain(f"Bearer {token}") == "Bearer [redacted:github-token:1]"
    assert plain(f"Bearer {token}.{filler(9)}") == "Bearer [redacted:bearer-token:1]"
    assert plain(f"https://x:{token}@github.com/a") == "https://x:[redacted:github-token:1]@github.com/a"


# --------------------------------------------------------------------------- in their places

TOKEN: Final = SECRETS["github-token"][0]
GONE: Final = "[redacted:github-token:1]"


def test_arguments_that_are_text_stay_json_and_all_else_of_them_as_it_is() -> None:
    arguments = f'{{ "cmd": "curl -H \\"X: {TOKEN}\\"",\n "n": 1e400, "n": 1.0, "key": "\\u00e9" }}'
    call = message({"type": "function_call", "call_id": TOKEN, "name": "sh", "arguments": arguments})
    (entry,) = redact([call]).entries
    assert isinstance(entry, MessageEntry)
    assert entry.message["arguments"] == arguments.replace(TOKEN, GONE)
    assert entry.message["call_id"] == TOKEN
    escaped = json.dumps(
        {"a": "-----BEGIN PRIVATE KEY-----\n" + filler(64) + "\n-----END PRIVATE KEY-----\n\u00e9"}
    )
    (entry,) = redact([message({"type": "function_call", "call_id": "c", "arguments": escaped})]).entries
    assert isinstance(entry, MessageEntry)
    assert json.loads(entry.message["arguments"]) == {"a": "[redacted:private-key:1]\n\u00e9"}
    nested = json.dumps({"a": json.dumps({"b": json.dumps([TOKEN])})})
    assert value(nested) == nested.replace(TOKEN, GONE)
    cut = f'{{"cmd": "echo {TOKEN}'
    assert value(cut) == cut.replace(TOKEN, GONE)


def test_a_secret_that_is_spelled_with_escapes_is_seen_in_json() -> None:
    spelled = "".join(f"\\u{ord(char):04x}" for char in TOKEN)
    assert json.loads(value(f'{{"a":"{spelled}"}}')) == {"a": GONE}


def test_a_member_that_is_named_as_a_secret_is_one() -> None:
    key = filler(40)
    for payload in ({"SecretAccessKey": key}, json.dumps({"SecretAccessKey": key})):
        made = value(payload)
        assert (json.loads(made) if isinstance(made, str) else made) == {
            "SecretAccessKey": "[redacted:aws-secret-access-key:1]"
        }
    assert value({"Authorization": "Basic dXNlcjpwYXNz"}) == {
        "Authorization": "Basic [redacted:basic-credentials:1]"
    }
    assert value({"SecretAccessKey": [key], "other": key}) == {"SecretAccessKey": [key], "other": key}
    assert value('{"SecretAccessKey": 1, "b": "' + key + '"}') == '{"SecretAccessKey": 1, "b": "' + key + '"}'


def test_keys_of_what_tools_and_programs_say_are_looked_at_and_none_is_lost() -> None:
    two = SECRETS["github-token"][1]
    second = GONE.replace("1]", "2]")
    assert value({TOKEN: 1, two: 2, "a": TOKEN}) == {GONE: 1, second: 2, "a": GONE}
    shape = parse_shape("all=[a-z]+")
    assert len(value({"a": 1, "a": 1, "b": 2, "ab": 3}, shapes=[shape])) == 3  # noqa: F601 - once
    item = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {TOKEN: "id", "id": TOKEN}}],
    }
    (entry,) = redact([message(item)]).entries
    assert isinstance(entry, MessageEntry)
    assert entry.message["content"][0]["input"] == {GONE: "id", "id": GONE}


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call_output", "call_id": TOKEN, "output": "x"},
        {"type": TOKEN, "role": TOKEN, "name": TOKEN, "status": TOKEN, "id": TOKEN},
        {
            "role": "assistant",
            "tool_calls": [{"id": TOKEN, "type": "function", "function": {"name": "n", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": TOKEN, "content": "x"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": TOKEN, "content": "x"}]},
        {"role": "toolResult", "toolCallId": TOKEN, "content": []},
        {"type": "reasoning", "encrypted_content": f"{TOKEN} {TOKEN}", "summary": []},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": TOKEN}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": TOKEN}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "t", "thinkingSignature": json.dumps({"s": TOKEN})}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "t", "textSignature": TOKEN}]},
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": TOKEN}}
            ],
        },
        {"role": "user", "content": [{"type": "image", "data": TOKEN, "mimeType": "image/png"}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{TOKEN}"}]},
        {"type": "image_generation_call", "result": TOKEN},
    ],
)
def test_ids_signatures_encrypted_content_and_pictures_stay(item: dict[str, Any]) -> None:
    entry = message(item, family="anthropic-messages/direct")
    made = redact([entry])
    assert made.entries[0] is entry
    assert made.redactions == ()


def test_base64_is_no_text_wherever_it_stands() -> None:
    blob = filler(600) + "/AKIA" + filler(16, "ABCDEFGH234567") + "+/" + filler(600)
    assert "[redacted" in plain(f"{blob}.")
    assert plain(blob) == blob
    assert value({"file": {"base64": blob}}) == {"file": {"base64": blob}}
    assert value({"SessionToken": filler(700)}) == {"SessionToken": "[redacted:aws-session-token:1]"}


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": f"data:image/png;base64,AAAA {TOKEN}"},
        {"role": "user", "content": [{"type": "text", "text": f"data:text/plain;base64,AAAA\nX={TOKEN}"}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": f"TOKEN={TOKEN}"},
                }
            ],
        },
    ],
)
def test_words_that_stand_where_bytes_might_are_looked_at(item: dict[str, Any]) -> None:
    (entry,) = redact([message(item)]).entries
    assert TOKEN not in str(entry)
    assert GONE in str(entry)


def test_what_is_told_of_a_session_quotes_no_secret() -> None:
    findings = [
        Finding(rule="r", severity="note", message=f"it failed: {TOKEN}", line=3),
        Finding(rule="r", severity="error", message="it is broken"),
    ]
    made = redact([user(TOKEN)], findings=findings)
    assert made.told == (replace(findings[0], message=f"it failed: {GONE}"), findings[1])
    assert made.told[1] is findings[1]
    assert made.counts == {"github-token": (1, 1)}


def test_every_part_of_a_session_is_looked_at() -> None:
    text = f"x {TOKEN} y"
    gone = f"x {GONE} y"
    attachment = ContextAttachment(
        attachment_id="a", epoch=1, kind="k", placement="prefix", revision="r", rendered=text, path=text
    )
    compaction = Compaction(
        summary=text,
        replacement=({"role": "user", "content": text},),
        read_files=(text, "a"),
        modified_files=(text,),
    )
    invocation = Invocation(kind="prompt_template", name="n", source=text, path=text)
    entries: list[Entry] = [
        replace(user(text, "m"), invocation=invocation),
        ContextEntry(id="c", timestamp=NOON, context=attachment),
        CompactionEntry(id="k", timestamp=NOON, compaction=compaction),
        OpaqueEntry(
            id="o", timestamp=NOON, type=f"pi:{TOKEN}", data={"record": {"id": text, "text": [text]}}
        ),
    ]
    details = [
        Detail(
            id="c", payload={"kind": "tool_outcome", "data": {"status": "success", "data": {"stdout": text}}}
        )
    ]
    header = Header(
        id="s", cwd=text, extra={"importedFrom": {"git": {"repository_url": f"https://u:{TOKEN}@h/r"}}}
    )
    made = redact(entries, details, header=header)
    assert TOKEN not in str((made.header, made.entries, made.details))
    back = str((made.header, made.entries, made.details)).replace(GONE, TOKEN)
    assert back == str((header, tuple(entries), tuple(details)))
    assert gone in str(made.entries[1])
    assert {place.entry for place in made.redactions} == {None, "m", "c", "k", "o"}
    assert "$.compaction.readFiles[0]" in [place.where for place in made.redactions]


def test_details_may_be_given_as_a_store_gives_them() -> None:
    made = redact([], {("c", "e"): {"a": TOKEN}, ("d", None): 1})
    assert made.details_by_call == {("c", "e"): {"a": GONE}, ("d", None): 1}


def test_what_nests_too_deep_to_be_looked_into_is_taken_out_and_told() -> None:
    deep: Any = TOKEN
    for _ in range(900):
        deep = [deep]
    made = redact([user(deep)])
    assert TOKEN not in repr_of(made.entries[0])
    assert made.counts == {"too-deep": (1, 1)}


def repr_of(entry: Entry) -> str:
    """The texts of an entry, however deep they are nested."""
    assert isinstance(entry, MessageEntry)
    nested, found = [entry.message], []
    while nested:
        item = nested.pop()
        if isinstance(item, dict):
            nested.extend(item.values())
        elif isinstance(item, list):
            nested.extend(item)
        else:
            found.append(str(item))
    return " ".join(found)


# ---------------------------------------------------------------------- what is bound to text


def thinking(text: str, entry_id: str, family: str | None = "anthropic-messages/direct") -> MessageEntry:
    blocks = [{"type": "thinking", "thinking": text, "signature": "sig"}, {"type": "text", "text": "said"}]
    return message(
        {"role": "assistant", "content": blocks, "id": entry_id, "model": "m"}, entry_id, family=family
    )


def test_thinking_whose_text_is_changed_is_sent_to_no_model() -> None:
    entries = [user("hi", "u"), thinking(f"I saw {TOKEN}", "t")]
    made = redact(entries)
    changed = made.entries[1]
    assert isinstance(changed, MessageEntry)
    assert changed.family is None
    assert changed.message["content"][0] == {
        "type": "thinking",
        "thinking": f"I saw {GONE}",
        "signature": "sig",
    }
    assert [(finding.rule, finding.entry) for finding in made.findings] == [("redacted-signed", "t")]
    target = Target("anthropic-messages", "claude-opus-4-6")
    assert "thinking" in str(build_context(entries, target).items)
    assert "thinking" not in str(build_context(made.entries, target).items)


def test_thinking_of_anthropic_is_bound_to_what_stands_before_it_too() -> None:
    reasoning = message(
        {"type": "reasoning", "encrypted_content": "x", "summary": []}, "r", family="openai-responses/direct"
    )
    made = redact([thinking("before", "a"), user(TOKEN, "u"), thinking("after", "b"), reasoning])
    assert [getattr(entry, "family", None) for entry in made.entries] == [
        "anthropic-messages/direct",
        None,
        None,
        "openai-responses/direct",
    ]
    assert [finding.entry for finding in made.findings] == ["b"]
    unchanged = redact([thinking("before", "a"), user("nothing", "u"), thinking("after", "b")])
    assert unchanged.findings == ()


def test_what_is_bound_to_nothing_that_was_changed_keeps_its_family() -> None:
    block = {"type": "tool_use", "id": "t", "name": "n", "input": {"signature": "x", "a": TOKEN}}
    said = {"role": "assistant", "content": [{"type": "text", "text": TOKEN}, block]}
    made = redact([message(said, family="f"), message(said, "e2", family="anthropic-messages/direct")])
    assert [getattr(entry, "family", None) for entry in made.entries] == ["f", "anthropic-messages/direct"]
    assert made.findings == ()


def test_one_part_of_an_invocation_may_be_changed() -> None:
    for name in ("path", "source"):
        given_invocation = Invocation(kind="prompt_template", name="n", source="s", path="p")
        entry = replace(user("x"), invocation=replace(given_invocation, **{name: TOKEN}))
        (fresh,) = redact([entry]).entries
        assert fresh == replace(entry, invocation=replace(given_invocation, **{name: GONE}))


def test_a_replacement_whose_reasoning_is_changed_has_no_family() -> None:
    item = {
        "type": "reasoning",
        "encrypted_content": "x",
        "summary": [{"type": "summary_text", "text": TOKEN}],
    }
    entry = CompactionEntry(
        id="k", timestamp=NOON, compaction=Compaction(summary="s", replacement=(item,), family="f")
    )
    made = redact([entry])
    assert isinstance(made.entries[0], CompactionEntry)
    assert made.entries[0].compaction.family is None
    assert [finding.entry for finding in made.findings] == ["k"]


# -------------------------------------------------------------------------- shapes of one's own


def test_shapes_of_ones_own_are_looked_for_too() -> None:
    shape = parse_shape("ticket=INT-[0-9]{3}")
    assert (
        plain("see INT-123 and INT-124", shapes=(*SHAPES, shape))
        == "see [redacted:ticket:1] and [redacted:ticket:2]"
    )
    group = parse_shape("pin=pin: (?P<secret>[0-9]+)")
    assert plain("pin: 12", shapes=[group]) == "pin: [redacted:pin:1]"
    assert value({"pin": "12", "other": "12"}, shapes=[group]) == {"pin": "[redacted:pin:1]", "other": "12"}
    assert plain("abc", shapes=[parse_shape("nothing=x*")]) == "abc"


def test_a_finder_is_asked_of_each_text() -> None:
    def names(text: str) -> Iterator[tuple[int, int, str]]:
        for match in re.finditer("Ada|Grace", text):
            yield match.start(), match.end(), "person"

    assert plain("Ada met Grace and Ada", finders=[names]) == (
        "[redacted:person:1] met [redacted:person:2] and [redacted:person:1]"
    )
    odd: list[Callable[[str], Any]] = [
        lambda text: [(0, 0, "x"), (-1, 2, "x"), (0, len(text) + 1, "x"), (3, 1, "x")]
    ]
    assert plain("abc", finders=odd) == "abc"
    with pytest.raises(ShapeError, match="a-z, 0-9"):
        plain("abc", finders=[lambda text: [(0, 1, "Bad Kind")]])


@pytest.mark.parametrize("text", ["no equals", "Kind=x", "=x", "a--b=x", "kind=(", "kind_=x"])
def test_a_shape_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(ShapeError, match=r"KIND=REGEX|a-z, 0-9|cannot be read"):
        parse_shape(text)


def test_shapes_are_read_from_toml() -> None:
    (one, two) = parse_shapes(
        "[[shape]]\nkind = 'a'\nregex = 'x+'\n[[shape]]\nkind = 'b'\nregex = '(?P<secret>y)'\n"
    )
    assert (one.kind, one.pattern.pattern, one.group, two.group) == ("a", "x+", 0, "secret")
    for text in (
        "[[shape]]\nkind = 'a'\n",
        "shape = 1",
        "x = 1",
        "[[shape]]\nkind = 1\nregex = 'x'\n",
        "[[shape]",
        "",
        "[[shape]]\nkind='a'\nregex='x'\nmore=1\n",
    ):
        with pytest.raises(ShapeError):
            parse_shapes(text)


# -------------------------------------------------------------------------------------- laws


def fragments() -> st.SearchStrategy[str]:
    secret = st.sampled_from([secret for _, secret in BARE])
    words = st.sampled_from(
        [
            "Bearer ",
            "://u:",
            "@h",
            '"',
            "\\",
            "\\n",
            "\n",
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            " ",
            "é",
            "\ud83d",
            "secret_access_key: ",
            "[redacted:jwt:1]",
            "[redacted:",
            "ghp_",
            "eyJ",
            "-----BEGIN PRIVATE KEY-----",
            "AKIA",
        ]
    )
    return st.one_of(secret, words, st.text(max_size=6))


def glued() -> st.SearchStrategy[str]:
    """Texts of secrets and pieces of them, with nothing between."""
    text = st.lists(fragments(), max_size=7).map("".join)
    return st.one_of(text, text.map(json.dumps), st.dictionaries(text, text, max_size=2).map(json.dumps))


def apart() -> st.SearchStrategy[str]:
    """Texts in which each secret stands by itself."""
    piece = st.one_of(
        st.sampled_from([secret for _, secret in BARE]), st.sampled_from(["word", "é", "{}", '"'])
    )
    text = st.lists(piece, max_size=5).map(" ".join)
    return st.one_of(text, text.map(lambda said: json.dumps({"a": [said], "b": {"c": said}})))


def values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    leaves = st.one_of(texts, st.integers(-9, 9), st.none(), st.booleans())
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["a", "type", "id", "data", "text", "name"]) | texts, inner, max_size=3
            )
        ),
        max_leaves=6,
    )


def items(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    said = texts | texts.map(lambda text: [{"type": "text", "text": text}])
    call = st.builds(
        lambda args, text: {
            "type": "function_call",
            "call_id": "c",
            "name": "n",
            "arguments": args,
            "status": text,
        },
        texts,
        st.just("done"),
    )
    output = st.builds(lambda text: {"type": "function_call_output", "call_id": "c", "output": text}, said)
    use = st.builds(
        lambda arguments, text: {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": text, "signature": "s"},
                {"type": "tool_use", "id": "t", "name": "n", "input": {"a": arguments}},
            ],
        },
        values(texts),
        texts,
    )
    result = st.builds(
        lambda text: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}],
        },
        said,
    )
    return st.one_of(
        st.builds(lambda text: {"role": "user", "content": text}, said), call, output, use, result
    )


def sessions(texts: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[Header, list[Entry], list[Detail]]]:
    messages = items(texts).map(lambda item: message(item, family="anthropic-messages/direct"))
    opaque = values(texts).map(lambda data: OpaqueEntry(id="e", timestamp=NOON, type="t", data={"v": data}))
    entries = st.lists(messages | opaque, max_size=4).map(
        lambda found: [replace(entry, id=f"e{index}") for index, entry in enumerate(found)]
    )
    details = st.lists(values(texts).map(lambda payload: Detail(id="c", payload=payload)), max_size=2)
    return st.tuples(st.builds(Header, id=st.just("s"), cwd=st.none() | texts), entries, details)


def parts(made: Redacted) -> tuple[Any, ...]:
    return (made.header, *made.entries, *made.details)


@given(sessions(glued()))
def test_redacting_twice_changes_nothing(session: tuple[Header, list[Entry], list[Detail]]) -> None:
    header, entries, details = session
    once = redact(entries, details, header=header)
    twice = redact(once.entries, once.details, header=once.header)
    assert twice.redactions == ()
    assert all(one is other for one, other in zip(parts(once), parts(twice), strict=True))
    assert alike(redact(entries, details, header=header).entries, once.entries)


@given(sessions(glued()))
def test_nothing_but_texts_changes(session: tuple[Header, list[Entry], list[Detail]]) -> None:
    header, entries, details = session
    before = str((header, entries, details))
    made = redact(entries, details, header=header)
    assert str((header, entries, details)) == before
    told = {place.entry for place in made.redactions} | {finding.entry for finding in made.findings}
    for entry, fresh in zip(entries, made.entries, strict=True):
        assert (fresh is entry) == (entry.id not in told)
        old, new = (
            value.message if isinstance(value, MessageEntry) else value.data for value in (entry, fresh)
        )  # type: ignore[union-attr]
        assert skeleton(old) == skeleton(new)
    rules = [[(f.rule, f.entry, f.call) for f in check_entries(each)] for each in (entries, made.entries)]
    assert rules[0] == rules[1]


def skeleton(given: Any) -> Any:
    """The shape of a value: its kinds, lengths, fixed words, and whether a text is JSON."""
    if isinstance(given, dict):
        return [
            (
                skeleton(item),
                given.get(key) if key in ("role", "call_id", "status", "signature", "tool_use_id") else None,
            )
            for key, item in given.items()
        ]
    if isinstance(given, list):
        return [skeleton(item) for item in given]
    return given if not isinstance(given, str) else "text"


@given(items(glued()))
def test_arguments_that_are_json_stay_json_of_the_same_shape(item: dict[str, Any]) -> None:
    (entry,) = redact([message(item)]).entries
    assert isinstance(entry, MessageEntry)
    if "arguments" in item:
        try:
            before = json.loads(item["arguments"])
        except ValueError:
            return
        assert skeleton(json.loads(entry.message["arguments"])) == skeleton(before)


@given(sessions(apart()))
@example((Header(id="s"), [user(f'{{"a": "{TOKEN}"}}', "e0")], []))
def test_no_secret_is_left_and_each_has_one_placeholder(
    session: tuple[Header, list[Entry], list[Detail]],
) -> None:
    header, entries, details = session
    made = redact(entries, details, header=header)
    everything = str(parts(made))
    assert not [
        secret for _, secret in BARE if json.dumps(secret)[1:-1] in everything or secret in everything
    ]
    secrets = {
        secret
        for _, secret in BARE
        if json.dumps(secret)[1:-1] in _dumped(session) or secret in _dumped(session)
    }
    assert sum(number for number, _ in made.counts.values()) <= len(secrets)
    for entry in made.entries:
        assert codec.decode_entry(codec.encode_entry(entry)) == entry


def _dumped(given: Any) -> str:
    return str(given).replace("\\\\", "\\")


@given(any_entries(), json_values())
def test_any_entry_and_payload_can_be_redacted_and_stored(entry: Entry, payload: Any) -> None:
    made = redact(
        [entry], [Detail(id="c", payload=payload)], shapes=(*SHAPES, parse_shape("vowel=[aeiou0]+"))
    )
    assert codec.decode_entry(codec.encode_entry(made.entries[0])) == made.entries[0]
    codec.encode_detail(made.details[0])
    again = redact(made.entries, made.details, shapes=(*SHAPES, parse_shape("vowel=[aeiou0]+")))
    assert again.redactions == ()


@pytest.mark.parametrize("name", each(sorted(FACTS)))
def test_in_a_real_session_nothing_is_taken_for_a_secret(name: str) -> None:
    """The people who published them have taken their secrets out."""
    records = []
    for line in (CORPUS / name).read_bytes().split(b"\n"):
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    made = redact(
        [
            OpaqueEntry(id=f"{index}", timestamp=NOON, type="t", data={"v": record})
            for index, record in enumerate(records)
        ]
    )
    assert [(place.where, place.placeholders) for place in made.redactions] == []


def test_a_shape_is_a_value() -> None:
    shape = SecretShape(kind="a", pattern=re.compile("x"))
    assert shape == SecretShape(kind="a", pattern=re.compile("x"))
    with pytest.raises(ShapeError):
        SecretShape(kind="A", pattern=re.compile("x"))
