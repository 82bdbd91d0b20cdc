"""Find small values that one schema accepts and another one rejects.

Candidates are built from both schemas and kept only if `instances` finds no error with the old
schema and one with the new schema. There may be none: patterns, CEL rules and alternatives are only
tried with usual values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from olmkit.kube.crds import instances
from olmkit.kube.crds.changes.schema_change import SchemaChange

Schema = Mapping[str, Any]

NONE: Final = object()
"""There is no such value, or none was found."""

_PRUNED: Final = "is not in the schema"
_MAX_DEPTH: Final = 25
_MAX_SIZE: Final = 300  # characters, items or fields of a sample
_MOST: Final = 200  # candidates for one value
# Strings that patterns of APIs often accept; the shortest first.
_TEXTS: Final = (
    *("", "a", "A", "0", "1", "-", "_", "/", ".", "aa", "1s", "1m", "1h", "1Gi", "1.0", "v1"),
    *("1.2.3", "v1.2.3", "100m", "10%", "true", "abc", "Abc", "a-b", "a_b", "a/b", "/a", "a.b"),
    *("example", "example.com", "a@example.com", "https://example.com", "http://example.com/a"),
    *("10.0.0.1", "10.0.0.0/8", "::1", "2020-01-01", "2020-01-01T00:00:00Z", "YQ==", "00:00"),
    *("* * * * *", "0 0 * * *", "a b", "ä", "#ffffff", "123e4567-e89b-42d3-a456-426614174000"),
)
_BY_FORMAT: Final[Mapping[str, str]] = {
    "date": "2020-01-01",
    "date-time": "2020-01-01T00:00:00Z",
    "duration": "1h",
    "byte": "YQ==",
    "uri": "https://example.com",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "10.0.0.1",
    "ipv6": "::1",
    "cidr": "10.0.0.0/8",
    "mac": "00:00:5e:00:53:01",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}


def minimal(schema: Any) -> Any:
    """Return a smallest valid value of a schema; `NONE` if none was found."""
    return _minimal(_mapping(schema), 0)


def witness(old: Schema, new: Schema, change: SchemaChange) -> Any:
    """Return a value that is valid in `old` but not in `new`; `NONE` if none was found.

    `old` and `new` are the schemas of objects. If only OLM v0 refuses, its check decides.
    """
    if change.rule in ("field-added", "field-removed"):
        return NONE  # a condition elsewhere refuses
    # Without the field its default applies, so the object around it differs.
    field = change.field[:-1] if change.rule == "default-removed" else change.field
    breaks = _breaker(old, new, change)
    for value in _candidates(_field_schema(old, field), _field_schema(new, field), change.rule):
        whole = _value_with_field(old, field, value)
        if whole is NONE:
            return NONE
        if fits(whole, old, is_object=True) and breaks(whole, value):
            return whole
    return NONE


def _breaker(old: Schema, new: Schema, change: SchemaChange) -> Callable[[Any, Any], bool]:
    """Return whether a value, or its part at the field, breaks because of this change alone."""
    if change.rule == "rule-added":
        rule = _mapping(change.new).get("rule")
        return lambda _, value: _breaks_rule(rule, value)
    mixed = _apply_change(old, new, change)

    def breaks(whole: Any, _: Any) -> bool:
        return not any(
            fits(whole, schema, is_object=True, by_server=change.refuses) for schema in (mixed, new)
        )

    return breaks


# Keywords that have a meaning only together.
_TOGETHER: Final = (
    {"type", "x-kubernetes-int-or-string"},
    {"minimum", "exclusiveMinimum"},
    {"maximum", "exclusiveMaximum"},
    {"x-kubernetes-list-type", "x-kubernetes-list-map-keys"},
    {"nullable", "default"},
)


def _apply_change(old: Schema, new: Schema, change: SchemaChange) -> Schema:
    """Return the old schema with only this change."""
    node, after = _field_schema(old, change.field), _field_schema(new, change.field)
    keyword = change.keys[-1] if change.keys else ""
    if change.rule == "type-changed":
        keyword = "type"
    if change.rule in ("field-typed", "values-typed", "field-removed", "field-added"):
        node = after
    elif change.rule == "required-added":
        fields = {**_mapping(node.get("properties")), **_mapping(after.get("properties"))}
        node = {**node, "properties": fields, "required": after.get("required")}
    else:
        keys = next((some for some in _TOGETHER if keyword in some), {str(keyword)})
        kept = {key: value for key, value in node.items() if key not in keys}
        node = {**kept, **{key: after[key] for key in keys if key in after}}
    return _replace_field(old, change.field, node)


def _replace_field(schema: Schema, field: tuple[str, ...], node: Schema) -> Schema:
    """Return a schema with another schema for a field."""
    if not field:
        return node
    name, rest = field[0], field[1:]
    if name == "[]":
        return {**schema, "items": _replace_field(_mapping(schema.get("items")), rest, node)}
    fields = _mapping(schema.get("properties"))
    inner = _replace_field(_field_schema(schema, (name,)), rest, node)
    if name == "*":
        return {**schema, "additionalProperties": inner}
    return {**schema, "properties": {**fields, name: inner}}


def _breaks_rule(rule: Any, value: Any) -> bool:
    """Return whether a CEL rule is certainly false for a value."""
    if not isinstance(rule, str) or "oldSelf" in rule or value is None:
        return False
    from olmkit.base.cel import evaluation, expressions
    from olmkit.base.cel.values import EvaluationError

    try:
        return evaluation.evaluate(expressions.parse(rule), {"self": value}) is False
    except (expressions.CelError, EvaluationError):
        return False


def fits(value: Any, schema: Schema, *, is_object: bool = False, by_server: bool = True) -> bool:
    """Return whether no error is known for a value after pruning."""
    found = instances.differences(
        value, schema, is_object=is_object, by_server=by_server, cleans=by_server
    )
    return all(why == _PRUNED for _, why in found)


def _candidates(old: Schema, new: Schema, rule: str) -> Iterator[Any]:
    """Yield values that may fit the old schema; those that show the change best come first."""
    if rule == "nullable-removed":
        yield None
    found = itertools.islice(candidate_values(old, new), _MOST)
    yield from found


def candidate_values(old: Schema, new: Schema) -> Iterator[Any]:
    """Yield different values near the limits of two schemas; not all of them fit the old one."""
    kinds = _kinds(old)
    least = _minimal(old, 0)
    if "array" in kinds:
        yield from _lists(old, new)
    elif "object" in kinds:
        yield from _objects(old, new)
    if least is not NONE:
        yield least
    yield from old.get("enum") or ()
    if "integer" in kinds or "number" in kinds:
        yield from _numbers(old, new, is_whole="number" not in kinds)
    if "string" in kinds:
        yield from _strings(old, new)
    if "boolean" in kinds:
        yield from (False, True)
    if len(kinds) > 2:  # an untyped value
        yield from ("a", 0, False, [], {})


def _numbers(old: Schema, new: Schema, *, is_whole: bool) -> Iterator[Any]:
    for schema in (new, old):
        for keyword in ("minimum", "maximum", "multipleOf"):
            limit = schema.get(keyword)
            if isinstance(limit, int | float) and not isinstance(limit, bool):
                yield from (limit - 1, limit, limit + 1)
    yield from (0, 1, -1, 2, 3, 2**31)
    if not is_whole:
        yield from (0.5, -0.5)


def _strings(old: Schema, new: Schema) -> Iterator[str]:
    yield from _TEXTS
    sizes = {
        size + more
        for schema in (old, new)
        for keyword in ("minLength", "maxLength")
        if isinstance(size := schema.get(keyword), int)
        for more in (-1, 0, 1)
        if 0 <= size + more <= _MAX_SIZE
    }
    for size in sorted(sizes):
        yield from ("a" * size, "0" * size, "A" * size)


def _lists(old: Schema, new: Schema) -> Iterator[list[Any]]:
    items = _mapping(old.get("items"))
    least = _minimal(items, 0)
    if least is NONE:
        yield []
        return
    many = _distinct(items, least)
    for size in _sizes(old, new, "Items"):
        found = many(size)
        if found is not NONE:
            yield found
    # The same item twice, or nearly the same, for lists whose items must now be unique.
    yield [least, least]
    if isinstance(least, dict):
        yield from ([least, other] for other in _variants(items, least))


def _objects(old: Schema, new: Schema) -> Iterator[dict[str, Any]]:
    fields = _mapping(old.get("properties"))
    base = _minimal(old, 0)
    if base is NONE or not isinstance(base, dict):
        return
    yield base
    # Without and with each field; also for alternatives.
    for name, schema in itertools.islice(fields.items(), 50):
        value = _minimal(_mapping(schema), 0)
        if name not in base and value is not NONE:
            yield {**base, name: value}
    values = old.get("additionalProperties")
    if isinstance(values, Mapping) or values is True:
        value = _minimal(_mapping(values), 0)
        if value is not NONE:
            for size in _sizes(old, new, "Properties"):
                yield {f"key{number}": value for number in range(size)}
    elif fields:
        known = [
            (name, value)
            for name, schema in itertools.islice(fields.items(), 100)
            if (value := _minimal(_mapping(schema), 0)) is not NONE
        ]
        for size in _sizes(old, new, "Properties"):
            yield dict([*base.items(), *(one for one in known if one[0] not in base)][:size])
    if old.get("x-kubernetes-preserve-unknown-fields") or values is True:
        for name in itertools.islice(_mapping(new.get("properties")), 20):
            if name not in fields:
                anything: tuple[Any, ...] = ("a", 0, [], {})
                yield from ({**base, name: one} for one in anything)


def _sizes(old: Schema, new: Schema, suffix: str) -> list[int]:
    """Return sizes on both sides of all limits, the small ones first."""
    found = {0, 1, 2}
    for schema in (old, new):
        for keyword in (f"min{suffix}", f"max{suffix}"):
            limit = schema.get(keyword)
            if isinstance(limit, int):
                found |= {limit - 1, limit, limit + 1}
    return sorted(size for size in found if 0 <= size <= _MAX_SIZE)


class _distinct:  # noqa: N801 - a function with a memory
    """Yield lists of a given size with different items, if the schema allows that."""

    def __init__(self, items: Schema, smallest: Any) -> None:
        kinds = _kinds(items)
        self._found: list[Any] = [smallest]
        if "object" in kinds and isinstance(smallest, dict):
            self._found += _variants(items, smallest)
        elif kinds:
            self._found += [
                one
                for one in itertools.islice(candidate_values(items, items), 60)
                if one not in self._found and fits(one, items)
            ]
        self._least = smallest

    def __call__(self, size: int) -> Any:
        found: list[Any] = []
        for one in self._found:
            if one not in found:
                found.append(one)
        while len(found) < size:
            found.append(self._least)
        return found[:size]


def _variants(items: Schema, smallest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in smallest:
        schema = _mapping(_mapping(items.get("properties")).get(name))
        for value in itertools.islice(candidate_values(schema, schema), 40):
            if value != smallest[name] and fits(value, schema):
                yield {**smallest, name: value}


def _minimal(schema: Schema, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return NONE
    if "default" in schema and fits(schema["default"], schema):
        return schema["default"]
    for value in schema.get("enum") or ():
        if fits(value, schema):
            return value
    kinds = _kinds(schema)
    if "object" in kinds:
        return _minimal_object(schema, depth)
    if "array" in kinds and len(kinds) == 1:
        return _minimal_list(schema, depth)
    return next((one for one in _scalars(schema, kinds) if fits(one, schema)), NONE)


def _scalars(schema: Schema, kinds: frozenset[str]) -> Iterator[Any]:
    if "boolean" in kinds:
        yield False
        yield True
    if "integer" in kinds or "number" in kinds:
        yield from (1, 0)
        yield from _numbers(schema, schema, is_whole="number" not in kinds)
    if "string" in kinds:
        known = _BY_FORMAT.get(str(schema.get("format")))
        if known:
            yield known
        yield "a"
        yield from _strings(schema, schema)


def _minimal_object(schema: Schema, depth: int) -> Any:
    fields = _mapping(schema.get("properties"))
    found: dict[str, Any] = {}
    required = schema.get("required")
    least = schema.get("minProperties")
    names = [
        one
        for one in (required if isinstance(required, list) else ())
        if isinstance(one, str) and "default" not in _mapping(fields.get(one))
    ]
    if schema.get("x-kubernetes-embedded-resource"):
        found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "example"}}
    more = (name for name in fields if name not in names)
    while names or (isinstance(least, int) and len(found) < least):
        name = names.pop(0) if names else next(more, f"key{len(found)}")
        value = _minimal(_mapping(fields.get(name, schema.get("additionalProperties"))), depth + 1)
        if value is NONE or len(found) > _MAX_SIZE:
            return NONE
        found[name] = value
    return found


def _minimal_list(schema: Schema, depth: int) -> Any:
    least = schema.get("minItems")
    size = least if isinstance(least, int) else 0
    if not size:
        return []
    items = _mapping(schema.get("items"))
    value = _minimal(items, depth + 1)
    if value is NONE or size > _MAX_SIZE:
        return NONE
    return _distinct(items, value)(size)


def _value_with_field(schema: Schema, field: tuple[str, ...], value: Any) -> Any:
    """Return a smallest value that fits `schema` except for its `field`, which is `value`."""
    if not field:
        return value
    name, rest = field[0], field[1:]
    if name == "[]":
        items = _mapping(schema.get("items"))
        inner = _value_with_field(items, rest, value)
        least = schema.get("minItems")
        size = max(1, least if isinstance(least, int) else 1)
        if inner is NONE or size > _MAX_SIZE:
            return NONE
        other = _minimal(items, 0)
        more = _distinct(items, other)(size) if other is not NONE else [inner] * size
        return [inner, *(one for one in more if one != inner)][:size] if size > 1 else [inner]
    inner_schema = _field_schema(schema, (name,))
    inner = _value_with_field(inner_schema, rest, value)
    base = _minimal(schema, 0)
    if inner is NONE or base is NONE or not isinstance(base, dict):
        return NONE
    return {**base, "example" if name == "*" else name: inner}


def _field_schema(schema: Schema, field: tuple[str, ...]) -> Schema:
    """Return the schema of a field; an empty one if there is none."""
    for name in field:
        if name == "[]":
            schema = _mapping(schema.get("items"))
            continue
        fields = _mapping(schema.get("properties"))
        if name != "*" and name in fields:
            schema = _mapping(fields[name])
        else:
            schema = _mapping(schema.get("additionalProperties"))
    return schema


def _kinds(schema: Schema) -> frozenset[str]:
    if schema.get("x-kubernetes-int-or-string"):
        return frozenset({"integer", "string"})
    kind = schema.get("type")
    if isinstance(kind, str) and kind:
        return frozenset({kind})
    return frozenset({"string", "integer", "boolean", "array", "object"})


def _mapping(value: Any) -> Schema:
    return value if isinstance(value, Mapping) else {}
