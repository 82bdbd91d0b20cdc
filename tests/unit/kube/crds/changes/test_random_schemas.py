"""A law: an object stays valid unless the comparison reports that valid objects can be refused.

The API server's steps (removing unknown fields, defaults, JSON Schema, unique items) are done
by other code than the comparison: `jsonschema` and the schemas of the test double.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from olmkit.kube.crds.changes import samples, schemas
from olmkit.testing.apiserver.kinds import schemas as server

pytestmark = pytest.mark.property

NAMES = ("a", "b", "c")
TEXTS = ("", "a", "b", "ab", "aaaa", "1")


def _optional(**found: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict(found))


strings = _optional(
    enum=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True),
    minLength=st.integers(0, 3),
    maxLength=st.integers(0, 4),
    pattern=st.sampled_from(["^a*$", "^[a-z]+$", "b"]),
    nullable=st.booleans(),
    default=st.sampled_from(TEXTS),
).map(lambda more: {"type": "string", **more})
numbers = st.builds(
    lambda kind, more: {"type": kind, **more},
    st.sampled_from(["integer", "number"]),
    _optional(
        enum=st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
        minimum=st.integers(-1, 3),
        maximum=st.integers(0, 4),
        exclusiveMinimum=st.booleans(),
        exclusiveMaximum=st.booleans(),
        multipleOf=st.sampled_from([1, 2, 4]),
        nullable=st.booleans(),
        default=st.integers(0, 3),
    ),
)
others = st.sampled_from(
    [
        {"type": "boolean"},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
    ]
)
conditions = _optional(
    required=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
    minProperties=st.integers(0, 2),
)


def _lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    more = _optional(minItems=st.integers(0, 2), maxItems=st.integers(0, 3))
    plain = st.builds(lambda items, more: {"type": "array", "items": items, **more}, items, more)
    sets = st.builds(
        lambda items: {"type": "array", "items": items, "x-kubernetes-list-type": "set"},
        strings.map(lambda one: {k: v for k, v in one.items() if k != "nullable"}),
    )
    return plain | sets


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    more = _optional(
        required=st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        minProperties=st.integers(0, 2),
        maxProperties=st.integers(1, 3),
        anyOf=st.lists(conditions, min_size=1, max_size=2),
        oneOf=st.lists(conditions, min_size=1, max_size=2),
        allOf=st.lists(conditions, min_size=1, max_size=2),
        **{"not": conditions.filter(bool)},
    )
    fields = st.dictionaries(st.sampled_from(NAMES), values, max_size=3)
    closed = st.builds(
        lambda fields, keeps, more: {
            "type": "object",
            "properties": fields,
            **({"x-kubernetes-preserve-unknown-fields": True} if keeps else {}),
            **more,
        },
        fields,
        st.booleans(),
        more,
    )
    maps = st.builds(
        lambda values: {"type": "object", "additionalProperties": values},
        values,
    )
    return closed | maps


anything = st.recursive(
    strings | numbers | others, lambda inner: _lists(inner) | _objects(inner), max_leaves=6
)
roots = _objects(anything)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema, and another one that has much in common with it."""
    old = copy.deepcopy(draw(roots))
    new = copy.deepcopy(old)
    for _ in range(draw(st.integers(1, 3))):
        _mutate(draw, new, draw(st.integers(0, 3)))
    return old, new


def _mutate(draw: st.DrawFn, schema: dict[str, Any], depth: int) -> None:
    inner = [one for one in (schema.get("items"), schema.get("additionalProperties")) if one]
    inner += list((schema.get("properties") or {}).values())
    inner = [one for one in inner if isinstance(one, dict)]
    if depth and inner:
        _mutate(draw, draw(st.sampled_from(inner)), depth - 1)
        return
    other = copy.deepcopy(draw(roots if schema.get("type") == "object" else anything))
    keys = sorted(schema.keys() | other.keys())
    for key in draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True)):
        if key in ("type", "items") or "type" not in schema or "type" not in other:
            if schema.get("type") != "object" or schema.get("type") == other.get("type"):
                schema.clear()
                schema.update(other)
            return
        if key in other:
            schema[key] = other[key]
        elif key not in ("properties", "additionalProperties"):
            schema.pop(key, None)


def is_structural(schema: dict[str, Any]) -> bool:
    if "additionalProperties" in schema and "properties" in schema:
        return False
    default = schema.get("default")
    if default is not None and not _is_valid(default, schema):
        return False
    inner = [*(schema.get("properties") or {}).values(), schema.get("items")]
    inner.append(schema.get("additionalProperties"))
    return all(is_structural(one) for one in inner if isinstance(one, dict))


def translated(schema: Any) -> Any:
    """Convert an OpenAPI schema to JSON Schema."""
    if isinstance(schema, list):
        return [translated(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        match key:
            case "properties":
                found[key] = {name: translated(one) for name, one in value.items()}
            case "exclusiveMinimum" | "exclusiveMaximum":
                bound = "minimum" if key == "exclusiveMinimum" else "maximum"
                if value and bound in schema:
                    found[key] = schema[bound]
            case "default" | "nullable":
                pass
            case "enum":
                found[key] = value
            case _:
                found[key] = translated(value)
    if schema.get("x-kubernetes-int-or-string"):
        found["type"] = ["integer", "string"]
    if schema.get("nullable") and found:
        return {"anyOf": [{"type": "null"}, found]}
    return found


def _is_valid(value: Any, schema: dict[str, Any]) -> bool:
    if any("Duplicate" in cause.reason for cause in server.faults(value, schema, "x")):
        return False
    validator = jsonschema.Draft7Validator(translated(schema))
    return bool(validator.is_valid(value))


def accepts(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether the API server accepts a value, after removed and added fields."""
    kept = server.pruned(copy.deepcopy(value), schema, is_root=False)
    return _is_valid(without_nulls(server.with_defaults(kept, schema), schema), schema)


def without_nulls(value: Any, schema: dict[str, Any]) -> Any:
    """The API server removes null in fields that are not nullable."""
    if isinstance(value, list):
        return [without_nulls(one, schema.get("items") or {}) for one in value]
    if not isinstance(value, Mapping):
        return value
    fields, rest = schema.get("properties") or {}, schema.get("additionalProperties")
    found = {}
    for name, one in value.items():
        inner = fields.get(name, rest if isinstance(rest, dict) else {})
        is_typed = "type" in inner or "x-kubernetes-int-or-string" in inner
        if one is not None or inner.get("nullable") or not is_typed:
            found[name] = without_nulls(one, inner)
    return found


def values_of(draw: st.DrawFn, old: dict[str, Any], new: dict[str, Any]) -> list[Any]:
    found = list(itertools.islice(samples.candidate_values(old, new), 40))
    found += [draw(_value(schema, 0)) for schema in (old, new) for _ in range(4)]
    return found


@st.composite
def _value(draw: st.DrawFn, schema: dict[str, Any], depth: int) -> Any:
    """Return a value that can match a schema."""
    if schema.get("nullable") and draw(st.integers(0, 3)) == 0:
        return None
    match schema.get("type"):
        case "object":
            fields = schema.get("properties") or {}
            rest = schema.get("additionalProperties")
            keeps = schema.get("x-kubernetes-preserve-unknown-fields")
            found = {}
            for name in NAMES:
                inner = fields.get(name, rest if isinstance(rest, dict) else {} if keeps else None)
                if inner is not None and (
                    name in (schema.get("required") or ()) or draw(st.booleans())
                ):
                    found[name] = draw(_value(inner, depth + 1))
            return found
        case "array":
            items = schema.get("items") or {}
            return [draw(_value(items, depth + 1)) for _ in range(draw(st.integers(0, 3)))]
        case "boolean":
            return draw(st.booleans())
        case "string":
            return draw(st.sampled_from([*TEXTS, *schema.get("enum", ())]))
        case "integer":
            return draw(st.integers(-2, 5))
        case "number":
            return draw(st.sampled_from([-1, 0, 0.5, 1, 2, 3, 4]))
        case _:
            if schema.get("x-kubernetes-int-or-string"):
                return draw(st.sampled_from([0, 1, "", "a"]))
            return draw(st.sampled_from([None, 0, "a", True, [], {}]))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data(), pairs())
def test_valid_objects_stay_valid_unless_the_comparison_reports_a_refusal(
    data: st.DataObject, pair: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    old, new = pair
    assume(is_structural(old) and is_structural(new))
    changes = schemas.compare_schemas(old, new)
    if any(one.refuses for one in changes):
        return

    for value in data.draw(st.composite(values_of)(old, new)):
        known = server.pruned(value, old, is_root=False)
        if accepts(known, old):
            assert accepts(known, new), (known, old, new)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data(), pairs())
def test_stored_objects_are_valid_unless_the_comparison_reports_a_refusal(
    data: st.DataObject, pair: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    old, new = pair
    assume(is_structural(old) and is_structural(new))
    changes = schemas.compare_schemas(old, new)
    if any(one.refuses_stored for one in changes):
        return

    for value in data.draw(st.composite(values_of)(old, new)):
        if accepts(value, old):
            kept = server.pruned(value, old, is_root=False)
            stored = without_nulls(server.with_defaults(kept, old), old)
            assert jsonschema.Draft7Validator(translated(new)).is_valid(stored), (stored, old, new)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(pairs())
def test_examples_are_valid_before_and_refused_now(
    pair: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    old, new = pair
    assume(is_structural(old) and is_structural(new))
    for one in schemas.compare_schemas(old, new):
        if not one.refuses:
            continue
        found = samples.witness(old, new, one)
        if found is not samples.NONE and not _has_conditions(old):
            assert accepts(found, old), (found, one, old, new)
            assert not accepts(found, new), (found, one, old, new)


def _has_conditions(schema: Any) -> bool:
    """Return whether a schema has conditions that examples do not have to satisfy."""
    if isinstance(schema, list):
        return any(map(_has_conditions, schema))
    if not isinstance(schema, Mapping):
        return False
    return any(key in schema for key in ("oneOf", "not")) or any(
        map(_has_conditions, schema.values())
    )
