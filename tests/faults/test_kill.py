"""Writers that are killed: what they were told is done is done, and others go on."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from batches import Batch, held, take_one_more
from children import Child, Say
from hooks import CALLS, Act, acting, dying_after, dying_before, dying_within

from transcript_log import JsonlStore

THERE = [Batch("there", 2), Batch("more")]
TODO = [Batch("first"), Batch("second", 3, 900), Batch("third", 2, 2000)]


def killed(path: Path, act: Act, *, durable: bool, names: tuple[str, ...] = CALLS) -> tuple[bool, int]:
    """Whether a child was killed while it appended ``TODO``, and how many it was told are done."""

    def run(say: Say) -> None:
        store = JsonlStore(path, durability="fsync" if durable else "os")
        with acting(act, names):
            for batch in TODO:
                batch.append_to(store)
                say(batch.name)

    code, said = Child(run).ends()
    assert said == [batch.name for batch in TODO[: len(said)]]
    assert code in (0, -signal.SIGKILL)
    return code != 0, len(said)


def check(path: Path, before: list[Batch], acknowledged: int, *, durable: bool) -> None:
    """All that was acknowledged is there, at most one batch more, and everything goes on."""
    found = held(path, [*before, *TODO])
    assert found in (
        [*before, *TODO[:acknowledged]],
        [*before, *TODO[: acknowledged + 1]],
    )
    rules = {finding.rule for finding in JsonlStore(path).scan().findings}
    assert rules <= {"torn-tail"}
    take_one_more(path, [*before, *TODO], "fresh", durable=durable)


def prepare(path: Path, state: str, store: JsonlStore) -> list[Batch]:
    """A log in some state, and the batches in it; ``store`` has it open then."""
    path.parent.mkdir()
    before = [] if state in ("new", "torn creation") else THERE
    for batch in before:
        batch.append_to(store)
    if state == "torn creation":
        path.write_bytes(b'{"type":"session","version":3,"id')
    if state == "torn":
        for place in (path, path.with_name("log.details.jsonl")):
            with place.open("ab") as file:
                file.write(b'\t{"id":"torn"')
    return before


STATES = [("new", True), ("there", False), ("torn", True), ("torn creation", False)]
WAYS: dict[str, tuple[Callable[[int], Act], tuple[str, ...]]] = {
    "before": (dying_before, CALLS),
    "after": (dying_after, CALLS),
    "first byte": (lambda at: dying_within(at, 0.0), ("write",)),
    "halfway": (lambda at: dying_within(at, 0.6), ("write",)),
    "last byte": (lambda at: dying_within(at, 1.0), ("write",)),
}
"""When a process ends, and at which calls."""


@pytest.mark.parametrize(
    ("way", "state", "durable"),
    # After one call is before the next: a look at one state is enough there.
    [(way, *state) for way in WAYS for state in (STATES if way != "after" else STATES[:1])],
)
def test_a_writer_killed_at_any_system_call_loses_nothing_it_was_told_is_done(
    folder: Path, way: str, state: str, durable: bool
) -> None:
    die, names = WAYS[way]
    for at in range(1, 400):
        path = folder / f"{at}" / "log.jsonl"
        bystander = JsonlStore(path, durability="os")
        before = prepare(path, state, bystander)
        dead, acknowledged = killed(path, die(at), durable=durable, names=names)
        if at % 2:
            # A store that had the log open all the while is the one that goes on.
            Batch("bystander").append_to(bystander)
            found = held(path, [*before, *TODO, Batch("bystander")])
            assert found[-1] == Batch("bystander")
            assert found[:-1] in ([*before, *TODO[:acknowledged]], [*before, *TODO[: acknowledged + 1]])
        else:
            check(path, before, acknowledged, durable=durable)
        bystander.close()
        if not dead:
            break
    assert at > 6
    assert acknowledged == len(TODO)


def test_a_writer_killed_while_it_mends_a_log_leaves_the_old_or_the_new_one(folder: Path) -> None:
    for at in range(1, 200):
        path = folder / f"{at}" / "log.jsonl"
        store = JsonlStore(path, durability="os")
        for batch in THERE:
            batch.append_to(store)
        with path.open("ab") as file:
            file.write(b"junk\n")
        TODO[0].append_to(store)
        old = path.read_bytes()

        def run(say: Say, path: Path = path, at: int = at) -> None:
            with acting(dying_before(at), (*CALLS, "rename")):
                JsonlStore(path).salvage(apply=True)
            say("done")

        code, said = Child(run).ends()
        if path.read_bytes() == old:
            assert not said
            JsonlStore(path).salvage(apply=True)
        assert held(path, [*THERE, TODO[0]]) == [*THERE, TODO[0]]
        backups = [place.read_bytes() for place in path.parent.glob("*.before-salvage-*")]
        assert backups
        assert set(backups) == {old}
        assert not JsonlStore(path).salvage()[0].is_needed
        if code == 0:
            break
    assert at > 10


def test_writers_killed_at_random_moments_lose_nothing_they_were_told_is_done(folder: Path) -> None:
    chance = random.Random(7)
    path = folder / "log.jsonl"

    def run(say: Say, batches: list[Batch], durable: bool) -> None:
        store = JsonlStore(path, durability="fsync" if durable else "os", wait=60.0)
        for batch in batches:
            batch.append_to(store)
            say(batch.name)

    before: list[Batch] = []
    for cycle in range(15):
        plans = [
            [
                Batch(
                    f"{cycle}{name}{number}", chance.choice((1, 1, 2, 5)), chance.choice((20, 3000, 50_000))
                )
                for number in range(100)
            ]
            for name in "ab"
        ]
        children = [
            Child(lambda say, batches=batches, durable=durable: run(say, batches, durable))  # type: ignore[misc]
            for batches, durable in zip(plans, (True, False), strict=True)
        ]
        time.sleep(chance.uniform(0.0, 0.06))
        for child in chance.sample(children, 2):
            child.kill()
            time.sleep(chance.uniform(0.0, 0.005))
        said = [child.ends()[1] for child in children]

        found = held(path, [*before, *plans[0], *plans[1]])
        assert found[: len(before)] == before
        for batches, acknowledged in zip(plans, said, strict=True):
            mine = [batch for batch in found[len(before) :] if batch in batches]
            assert mine == batches[: len(mine)], "in their order, and none left out"
            assert acknowledged == [batch.name for batch in batches[: len(acknowledged)]]
            assert len(acknowledged) <= len(mine) <= len(acknowledged) + 1
        before = found
        if cycle % 5 == 4:
            take_one_more(path, before, f"fresh{cycle}")
            before = [*before, Batch(f"fresh{cycle}", 2)]
    assert len(before) > 15
