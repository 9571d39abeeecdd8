"""The strict core against the vectors: item vocabulary, families, projections, reconciliation.

Items are compared by identity, never by equality: what is expected is a place in the input. A
case with the quirk ``type-error`` shows where the reference fails; here the answer is false or None.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest
from conformance import Case, params

from transcript_log import items
from transcript_log._identity import IdentityMap
from transcript_log.compaction import CompactionCarry, plan_compaction
from transcript_log.errors import ReconciliationError
from transcript_log.families import items_for_family
from transcript_log.projection import Projection
from transcript_log.reconcile import MissingOutput, reconcile, validate_function_call

PREDICATES: Final[dict[str, Callable[[object], bool]]] = {
    "reasoning": items.is_reasoning,
    "chat_reasoning": items.is_chat_reasoning,
    "native_compaction": items.is_native_compaction,
    "backend_search_call": items.is_backend_search_call,
    "tool_search": items.is_tool_search,
    "function_call": items.is_function_call,
    "function_call_output": items.is_function_call_output,
    "family_private": items.is_family_private,
}
CONSTRUCTORS: Final[dict[str, Callable[..., Any]]] = {
    "user_message_item": items.user_message,
    "function_call_output_item": items.function_call_output,
    "input_text_item": items.input_text,
    "input_image_item": items.input_image,
}


# --------------------------------------------------------------------------- vocabulary


@pytest.mark.parametrize("case", params("item_predicates"))
def test_an_item_is_what_the_reference_says(case: Case) -> None:
    item = case.input["item"]
    before = copy.deepcopy(item)
    found: dict[str, Any] = {name: predicate(item) for name, predicate in PREDICATES.items()}
    found["assistant_text"] = items.assistant_text(item)
    canonical = items.canonicalize_native_compaction(item)
    found["canonicalized"] = canonical
    assert found == {name: _answer(name, value, case) for name, value in case.expect.items()}
    assert item == before
    assert (canonical is item) == (canonical == item)


def _answer(name: str, value: Any, case: Case) -> Any:
    """What is expected; where the reference fails, which only a quirk may do: false, or None."""
    if value != {"error": "type-error"}:
        return value
    assert case.quirk == "type-error"
    return None if name == "assistant_text" else False


@pytest.mark.parametrize("case", params("item_constructors"))
def test_an_item_is_made_as_the_reference_makes_it(case: Case) -> None:
    assert CONSTRUCTORS[case.input["fn"]](**case.input["args"]) == case.expect


@pytest.mark.parametrize("case", params("non_empty_string"))
def test_what_is_blank_is_what_the_reference_calls_blank(case: Case) -> None:
    assert items.non_blank(case.input["value"]) is case.expect


# ----------------------------------------------------------------------------- families


def family_map(
    parts: Mapping[str, Sequence[Any]], given: Mapping[str, Mapping[str, Any]] | None
) -> IdentityMap[str | None] | None:
    """The family of each item that is named by its part and its index in it; None where nothing is given."""
    if given is None:
        return None
    found: IdentityMap[str | None] = IdentityMap()
    for part, families in given.items():
        for index, family in families.items():
            found[parts[part][int(index)]] = family
    return found


def _whole(given: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]] | None:
    return None if given is None else {"src": given}


@pytest.mark.parametrize("case", params("items_for_family"))
def test_a_family_may_read_what_the_reference_lets_it(case: Case) -> None:
    source = distinct(case.input["items"])
    kept = items_for_family(
        source,
        case.input["family"],
        item_families=family_map({"src": source}, _whole(case.input.get("item_families"))),
        handoff_families=family_map({"src": source}, _whole(case.input.get("handoff_families"))),
    )
    assert places(kept, source) == case.expect["kept"]


# ------------------------------------------------------------------------ reconciliation


class _Text(str):
    """A text that is equal to others, and not the same object."""

    __slots__ = ()


def distinct(given: Any) -> Any:
    """The items, each an object of its own where JSON or the interpreter shares one."""
    if not isinstance(given, list):
        return given
    return [_Text(item) if isinstance(item, str) else item for item in given]


def places(found: Sequence[object], source: Sequence[object]) -> list[int]:
    """Where each object stands in the source. One that stands at several places is met in order."""
    left: dict[int, list[int]] = {}
    for index, item in enumerate(source):
        left.setdefault(id(item), []).append(index)
    return [left[id(item)].pop(0) for item in found]


def is_repaired(item: Any) -> bool:
    """The predicate that the vectors call ``repaired``."""
    return item.get("output") == "repaired"


def predicate(given: Any) -> Callable[[Any], bool] | None:
    return is_repaired if given else None


class Policy:
    """What the repair callback of a vector gives, and whom it was asked for."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.asked: list[str] = []
        self.made: dict[int, Any] = {}

    @property
    def callback(self) -> Callable[[MissingOutput], Any] | None:
        return None if self.name is None else self

    def __call__(self, missing: MissingOutput) -> Any:
        self.asked.append(missing.call_id)
        assert items.is_function_call(missing.call)
        output = dict(items.function_call_output(missing.call_id, "interrupted"))
        match self.name:
            case "interrupted":
                pass
            case "extra_keys":
                output["status"] = "incomplete"
            case "no_output":
                del output["output"]
            case "wrong_id":
                output["call_id"] = f"not {missing.call_id}"
            case "the_call":
                return missing.call
            case "message":
                return items.user_message("hello")
            case "null":
                return None
            case "first_then_null":
                if len(self.asked) > 1:
                    return None
            case _:
                raise AssertionError(self.name)
        self.made[id(output)] = output
        return output


def refs(found: Sequence[object], parts: Mapping[str, Sequence[object]], policy: Policy) -> list[Any]:
    """Each item as the part and place that it was given at, or as the repair that it is."""
    known: dict[int, list[dict[str, Any]]] = {}
    for part, source in parts.items():
        for index, item in enumerate(source):
            known.setdefault(id(item), []).append({part: index})
    return [
        {"repair": policy.made[id(item)]["call_id"]} if id(item) in policy.made else known[id(item)].pop(0)
        for item in found
    ]


def same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def place_of(item: object, source: Sequence[object]) -> int | None:
    return next((index for index, other in enumerate(source) if other is item), None)


def told(error: ReconciliationError, source: Any) -> dict[str, Any]:
    """An error in the words of the vectors; ``item`` is a place in the source."""
    if error.kind in ("invalid_items", "invalid_cutoff"):
        assert error.call_id is None
        assert error.item is None
        return {"error": error.kind.replace("_", "-")}
    return {
        "error": error.kind.replace("_", "-"),
        "item": place_of(error.item, source),
        "call_id": error.call_id,
    }


@pytest.mark.parametrize("case", params("reconcile"))
def test_a_history_is_ordered_as_the_reference_orders_it(case: Case) -> None:
    source = distinct(case.input["items"])
    before = copy.deepcopy(source)
    found: dict[str, Any]
    try:
        plan = reconcile(source, is_repair=predicate(case.input.get("repaired")))
    except ReconciliationError as error:
        found = told(error, source)
    else:
        assert all(missing.call in source for missing in plan.repairs)
        found = {
            "order": [
                {"repair": step.call_id} if isinstance(step, MissingOutput) else step for step in plan.order
            ],
            "repairs": [missing.call_id for missing in plan.repairs],
        }
    assert found == case.expect
    assert source == before


@pytest.mark.parametrize("case", params("reconcile_materialize"))
def test_a_plan_gives_the_items_that_the_reference_gives(case: Case) -> None:
    source = distinct(case.input["items"])
    policy = Policy(case.input["policy"])
    found: dict[str, Any]
    try:
        plan = reconcile(source, is_repair=predicate(case.input.get("repaired")))
        found = {"items": refs(plan.items(policy.callback), {"src": source}, policy)}
    except ReconciliationError as error:
        found = told(error, source)
    assert {**found, "policy_calls": policy.asked} == case.expect


@pytest.mark.parametrize("case", params("validate_function_call"))
def test_a_call_passes_where_the_reference_lets_it_pass(case: Case) -> None:
    given = {"preceding": case.input["preceding"]} if "preceding" in case.input else {}
    found: dict[str, Any] = {"ok": True}
    try:
        validate_function_call(case.input["item"], **given)
    except ReconciliationError as error:
        found = told(error, [case.input["item"]])
        assert found.pop("item", 0) == 0
    assert found == case.expect


# ---------------------------------------------------------------------------- compaction


@pytest.mark.parametrize("case", params("compaction"))
def test_a_compaction_carries_what_the_reference_carries(case: Case) -> None:
    given = case.input
    source = distinct(given["items"])
    projection = Projection(source)
    for key, known in given.get("metadata", {}).items():
        table = projection.metadata(key)
        for index, value in known.items():
            table[source[int(index)]] = value
    found: dict[str, Any]
    try:
        carry = plan_compaction(
            projection, cutoff=given.get("cutoff"), is_repair=predicate(given.get("repaired"))
        )
    except ReconciliationError as error:
        found = {"plan": told(error, source)}
    else:
        found = _carried(carry, case, source)
    assert found == case.expect
    assert same_objects(projection.items(), source)


def _carried(carry: CompactionCarry, case: Case, source: list[Any]) -> dict[str, Any]:
    plan = {
        "cutoff": carry.cutoff,
        "unresolved": places(carry.unresolved_calls, source),
        "items": [len(source) - len(carry.items) + place for place in range(len(carry.items))],
    }
    assert same_objects(carry.items, source[len(source) - len(carry.items) :])
    if "projection" not in case.expect:
        return {"plan": plan}
    return {"plan": plan, "projection": _projected(carry, case.input, source)}


def _projected(carry: CompactionCarry, given: Mapping[str, Any], source: list[Any]) -> dict[str, Any]:
    parts = {
        "src": source,
        "replacement": distinct(given.get("replacement_items", [])),
        "additional": distinct(given.get("additional_items", [])),
    }
    options: dict[str, Any] = {
        "item_families": family_map(parts, given.get("item_families")),
        "handoff_families": family_map(parts, given.get("handoff_families")),
    }
    if "family" in given:
        options["family"] = given["family"]
    if "repaired_at_projection" in given:
        options["is_repair"] = predicate(given["repaired_at_projection"])
    policy = Policy(given.get("policy"))
    lists = {name: part for name, part in parts.items() if isinstance(part, list)}
    try:
        projection = carry.projection(
            parts["replacement"], parts["additional"], repair_output=policy.callback, **options
        )
    except ReconciliationError as error:
        return {**_told_by_part(error, lists), "policy_calls": policy.asked}
    made = projection.items()
    found = {"items": refs(made, lists, policy), "policy_calls": policy.asked}
    if "metadata" in given:
        found["metadata"] = {
            key: _known(projection.metadata(key), made, found["items"]) for key in given["metadata"]
        }
    return found


def _known(table: IdentityMap[Any], made: list[Any], shown: list[Any]) -> list[list[Any]]:
    """What a table knows of the items, in the order of the vectors: that of the parts, not of the items."""
    known = [[ref, table[item]] for item, ref in zip(made, shown, strict=True) if item in table]
    assert len(known) == len(table)
    order = ("replacement", "src", "additional")
    return sorted(known, key=lambda row: [(order.index(part), place) for part, place in row[0].items()])


def _told_by_part(error: ReconciliationError, parts: Mapping[str, Sequence[object]]) -> dict[str, Any]:
    found = told(error, [])
    if "item" in found:
        found["item"] = next(
            (
                {name: place}
                for name, part in parts.items()
                if (place := place_of(error.item, part)) is not None
            ),
            None,
        )
    return found


# ---------------------------------------------------------------------------- projection


@dataclass
class Script:
    """A scripted projection: one method for each operation of the vectors."""

    items: dict[str, Any]

    def __post_init__(self) -> None:
        self.projections: dict[str, Projection] = {}
        self.plans: dict[str, CompactionCarry] = {}
        self.tables: dict[str, IdentityMap[Any]] = {}
        self.snapshots: dict[str, list[Any]] = {}
        self.policy = Policy(None)

    def run(self, op: dict[str, Any]) -> Any:
        named = {key: value for key, value in op.items() if key not in ("op", "on")}
        on = self.projections.get(op.get("on", "p"))
        try:
            return getattr(self, f"op_{op['op']}")(
                on, **{key.replace("as", "name"): v for key, v in named.items()}
            )
        except ReconciliationError as error:
            return {"error": error.kind.replace("_", "-")}

    def real(self, names: Any) -> Any:
        """The items of these names; what is no list of names stays, for it is to be refused."""
        return [self.items[name] for name in names] if isinstance(names, list) else names

    def names(self, found: Sequence[object]) -> list[str]:
        by_id = {id(item): name for name, item in self.items.items()}
        by_id |= {key: f"repair:{output['call_id']}" for key, output in self.policy.made.items()}
        return [by_id[id(item)] for item in found]

    def known(self, table: IdentityMap[Any]) -> dict[str, Any]:
        found = {name: table[item] for name, item in self.items.items() if item in table}
        assert len(found) == len(table)
        return found

    def value(self, table: IdentityMap[Any], item: str) -> dict[str, Any]:
        present = self.items[item] in table
        return {"present": present, "value": table[self.items[item]] if present else None}

    def op_make(self, _on: None, items: Any = (), name: str = "p") -> None:
        self.projections[name] = Projection(self.real(items))

    def op_append(self, on: Projection, item: str) -> str:
        return self.names([on.append(self.items[item])])[0]

    def op_replace(self, on: Projection, items: Any) -> None:
        on.replace(self.real(items))

    def op_items(self, on: Projection) -> list[str]:
        return self.names(on.items())

    def op_set(self, on: Projection, key: str, item: str, value: Any) -> None:
        on.metadata(key)[self.items[item]] = value

    def op_get(self, on: Projection, key: str, item: str) -> dict[str, Any]:
        return self.value(on.metadata(key), item)

    def op_table(self, on: Projection, key: str) -> dict[str, Any]:
        return self.known(on.metadata(key))

    def op_hold(self, on: Projection, handle: str, key: str) -> None:
        self.tables[handle] = on.metadata(key)

    def op_held_is_current(self, on: Projection, handle: str, key: str) -> bool:
        return self.tables[handle] is on.metadata(key)

    def op_held_get(self, _on: Projection, handle: str, item: str, key: str = "") -> dict[str, Any]:
        return self.value(self.tables[handle], item)

    def op_held_set(self, _on: Projection, handle: str, item: str, value: Any, key: str = "") -> None:
        self.tables[handle][self.items[item]] = value

    def op_held_table(self, _on: Projection, handle: str, key: str = "") -> dict[str, Any]:
        return self.known(self.tables[handle])

    def op_snapshot(self, on: Projection, name: str) -> None:
        self.snapshots[name] = on.items()

    def op_snapshot_items(self, _on: Projection, name: str) -> list[str]:
        return self.names(self.snapshots[name])

    def op_plan(self, on: Projection, name: str = "plan", cutoff: int | None = None) -> dict[str, Any]:
        carry = self.plans[name] = plan_compaction(on, cutoff=cutoff)
        return {
            "cutoff": carry.cutoff,
            "unresolved": self.names(carry.unresolved_calls),
            "items": self.names(carry.items),
        }

    def op_plan_items(self, _on: Projection, plan: str) -> list[str]:
        return self.names(self.plans[plan].items)

    def op_materialize(
        self,
        _on: Projection,
        plan: str,
        replacement_items: Any = (),
        additional_items: Any = (),
        policy: str | None = None,
        name: str = "made",
    ) -> list[str]:
        self.policy.name = policy
        made = self.plans[plan].projection(
            self.real(replacement_items), self.real(additional_items), repair_output=self.policy.callback
        )
        self.projections[name] = made
        return self.names(made.items())


@pytest.mark.parametrize("case", params("projection"))
def test_a_scripted_projection_gives_what_the_reference_gives(case: Case) -> None:
    script = Script({name: distinct([item])[0] for name, item in case.input["items"].items()})
    assert [script.run(op) for op in case.input["ops"]] == case.expect
