"""Validate schemas of CRDs like the API server.

A schema of `apiextensions.k8s.io/v1` must be structural: every field has a type, schemas inside
`allOf` and similar keywords only narrow the schema outside, and a part of JSON Schema is forbidden.
The messages are those of the API server.

Schemas are most of the bytes of most bundles, hence the plain loop with a stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.go import patterns as go_patterns
from olmkit.kube.crds import field_errors, instances
from olmkit.kube.crds.list_rules import check_array, check_map_type
from olmkit.kube.crds.schema_problems import (
    Key,
    Keys,
    SchemaFault,
    SchemaProblem,
    as_list,
    forbidden,
    invalid,
    missing,
    unsupported,
    wrong_type,
)
from olmkit.kube.crds.validation_rules import check_validations

_Chain = tuple[Any, tuple[Key, ...]]

TYPES = ("array", "boolean", "integer", "number", "object", "string")


_VALUES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("$ref", "$schema", "description", "format", "id", "pattern", "title", "type"), (str,)
    ),
    **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), (str,)),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"), (bool,)),
    **dict.fromkeys(
        (
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
            "x-kubernetes-preserve-unknown-fields",
        ),
        (bool,),
    ),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), (int, float)),
    **dict.fromkeys(("maxItems", "maxLength", "maxProperties"), (int,)),
    **dict.fromkeys(("minItems", "minLength", "minProperties"), (int,)),
    **dict.fromkeys(("allOf", "anyOf", "enum", "oneOf", "required"), (list,)),
    **dict.fromkeys(("x-kubernetes-list-map-keys", "x-kubernetes-validations"), (list,)),
    **dict.fromkeys(("definitions", "dependencies", "patternProperties", "properties"), (dict,)),
    **dict.fromkeys(("externalDocs", "not"), (dict,)),
    **dict.fromkeys(("additionalItems", "additionalProperties"), (bool, dict)),
    "items": (dict, list),
    "default": (object,),
    "example": (object,),
}
_FORBIDDEN = ("$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties")
_JUNCTORS = ("allOf", "anyOf", "oneOf")
# Keywords that narrow nothing, and so must be outside the junctors; and those that must be inside.
_OUTSIDE_ONLY: Mapping[str, str] = {
    "additionalProperties": "undefined",
    "default": "undefined",
    "description": "empty",
    "nullable": "false",
    "title": "empty",
    "type": "empty",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-preserve-unknown-fields": "false",
}
# No schema of an API is nested deeper; recursion is bounded here, not by memory.
_MAX_DEPTH = 150


def check(schema: Any, keys: Keys = (), *, structural: bool = True) -> Iterator[SchemaProblem]:
    """Yield the errors of a schema at `keys`.

    Without `structural`, only unreadable parts and unknown keywords.
    """
    # A place is a chain of (parent, key), and becomes a path only if it is needed.
    stack: list[tuple[Any, _Chain | None, int]] = [(schema, None, 0)]
    while stack:
        node, chain, depth = stack.pop()
        if type(node) is not dict:
            if node is not None:
                yield wrong_type(_path(keys, chain), (dict,))
            continue
        if depth > _MAX_DEPTH:
            at = _path(keys, chain)
            yield SchemaProblem(
                SchemaFault.STRUCTURE,
                at,
                f"{field_errors.path(at)}: nested more than {_MAX_DEPTH} levels deep",
            )
            continue
        is_plain = node.keys() <= _PLAIN and _is_plain(node)
        if is_plain and (chain is not None or node["type"] == "object"):
            _push(node, chain, depth, stack)
            continue
        at = _path(keys, chain)
        yield from _keywords(node, at)
        if "required" in node:
            yield from _required_fields(node, at, is_root=chain is None)
        yield from _limits(node, at)
        yield from _unfit_bounds(node, at)
        if structural:
            yield from _structure(node, at, chain is None)
        _push(node, chain, depth, stack)


# Most schemas have only these keywords, with valid values.
_PLAIN = {"description", "format", "items", "properties", "required", "type"}


def _is_plain(node: Mapping[str, Any]) -> bool:
    """Return whether a schema of plain keywords is valid, apart from its subschemas."""
    kind = node.get("type")
    if type(node.get("description", "")) is not str or type(node.get("format", "")) is not str:
        return False
    if kind == "object":
        fields = node.get("properties", _NOTHING)
        if "items" in node or type(fields) is not dict:
            return False
        required = node.get("required")
        return required is None or (
            type(required) is list
            and all(type(name) is str and name in fields for name in required)
        )
    if "required" in node:
        return False
    if kind == "array":
        return "properties" not in node and type(node.get("items")) is dict
    is_scalar = type(kind) is str and kind in _SCALARS
    return is_scalar and "items" not in node and "properties" not in node


_NOTHING: dict[str, Any] = {}
_SCALARS = frozenset({"boolean", "integer", "number", "string"})


def _keywords(node: Mapping[str, Any], at: Keys) -> Iterator[SchemaProblem]:
    for key, value in node.items():
        wanted = _VALUES.get(key)
        if wanted is None:
            yield SchemaProblem(SchemaFault.UNKNOWN, (*at, key), f"`{key}` is not a schema keyword")
        elif type(value) not in wanted and not _is_tolerable(value, wanted):
            yield wrong_type((*at, key), wanted)


def _required_fields(
    node: Mapping[str, Any], at: Keys, *, is_root: bool
) -> Iterator[SchemaProblem]:
    fields = node.get("properties")
    if type(fields) is not dict or not fields or node.get("x-kubernetes-preserve-unknown-fields"):
        return
    for index, name in enumerate(as_list(node["required"])):
        known = type(name) is not str or name in fields or (is_root and name in _OBJECT_FIELDS)
        if not known:
            message = f"required field `{name}` is not among the properties"
            yield SchemaProblem(SchemaFault.REQUIRED, (*at, "required", index), message)


# Fields of every object, whatever its schema says.
_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")


_BOUNDS = (
    ("minimum", "maximum"),
    ("minItems", "maxItems"),
    ("minLength", "maxLength"),
    ("minProperties", "maxProperties"),
)


def _limits(node: Mapping[str, Any], at: Keys) -> Iterator[SchemaProblem]:
    """Yield contradictory limits, in a schema and in its `allOf`."""
    places: list[tuple[Keys, Mapping[str, Any]]] = [(at, node)]
    for index, entry in enumerate(as_list(node.get("allOf"))):
        if isinstance(entry, dict):
            places.append(((*at, "allOf", index), entry))
    for low, high in _BOUNDS:
        least = [(node[low], node) for _, node in places if _is_number(node.get(low))]
        most = [(node[high], keys, node) for keys, node in places if _is_number(node.get(high))]
        if not most:
            continue
        top, keys, above = min(most, key=lambda one: one[0])
        bottom, below = max(least, key=lambda one: one[0]) if least else (None, {})
        if bottom is None:
            if high != "maximum" and top < 0:
                words = f"`{high}` is {top}, and no value is that small"
                yield SchemaProblem(SchemaFault.EMPTY, (*keys, high), words)
        elif bottom > top:
            words = f"`{low}` {bottom} is greater than `{high}` {top}"
            yield SchemaProblem(SchemaFault.EMPTY, (*keys, high), words)
        elif bottom == top and (below.get("exclusiveMinimum") or above.get("exclusiveMaximum")):
            words = f"`{low}` and `{high}` are both {top}, which is excluded"
            yield SchemaProblem(SchemaFault.EMPTY, (*keys, high), words)


_INT64 = range(-(2**63), 2**63)
_RANGES: Mapping[tuple[str, str], tuple[float, float]] = {
    ("integer", "int32"): (-(2**31), 2**31 - 1),
    ("number", "float"): (-3.4028234663852886e38, 3.4028234663852886e38),
}


def _unfit_bounds(node: Mapping[str, Any], at: Keys) -> Iterator[SchemaProblem]:
    """Yield bounds that are not values of the type and the format.

    The API server reads them as 64-bit floating-point numbers, and checks them with each value.
    """
    kind, format_ = node.get("type"), node.get("format")
    if kind not in ("integer", "number"):
        return
    given = _RANGES.get((kind, format_)) if isinstance(format_, str) else None
    for key in ("minimum", "maximum", "multipleOf"):
        bound = node.get(key)
        if not isinstance(bound, int | float) or isinstance(bound, bool):
            continue
        if kind == "integer" and not _is_int64(bound):
            rounded = " after rounding" if isinstance(bound, int) and bound in _INT64 else ""
            words = f"`{key}` {bound} is not a whole number of 64 bits{rounded}"
            yield SchemaProblem(SchemaFault.BOUND, (*at, key), words)
        elif given is not None and not given[0] <= bound <= given[1]:
            words = f"`{key}` {bound} is not a number of `format: {format_}`"
            yield SchemaProblem(SchemaFault.BOUND, (*at, key), words)


def _is_int64(bound: float) -> bool:
    """Return whether the API server reads the bound back as an integer of 64 bits.

    It prints the float with as few digits as possible, and -2^63 as -9223372036854776000.
    """
    if not -(2**63) <= bound < 2**63:
        return False
    number = float(bound)
    return number.is_integer() and abs(number) < 2**63


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _path(keys: Keys, chain: _Chain | None) -> Keys:
    below: list[Key] = []
    while chain is not None:
        below += reversed(chain[1])
        chain = chain[0]
    return (*keys, *reversed(below))


def _push(
    node: Mapping[str, Any],
    chain: _Chain | None,
    depth: int,
    stack: list[tuple[Any, _Chain | None, int]],
) -> None:
    """Push the subschemas of a schema onto the stack, so that the first one is processed first."""
    depth += 1
    for key in ("additionalProperties", "items"):
        inner = node.get(key)
        if type(inner) is dict:
            stack.append((inner, (chain, (key,)), depth))
    fields = node.get("properties")
    if type(fields) is dict:
        stack += [
            (inner, (chain, ("properties", name)), depth)
            for name, inner in reversed(fields.items())
        ]


def _structure(node: Mapping[str, Any], at: Keys, is_root: bool) -> Iterator[SchemaProblem]:
    kind = node.get("type")
    either = node.get("x-kubernetes-int-or-string") is True
    keeps = node.get("x-kubernetes-preserve-unknown-fields")
    if not kind:
        if is_root or not (either or keeps is True):
            detail = "must not be empty at the root" if is_root else _untyped_message(at)
            yield missing((*at, "type"), detail)
    elif kind not in TYPES:
        yield unsupported((*at, "type"), kind, TYPES)
    elif is_root and kind != "object":
        yield invalid((*at, "type"), kind, "must be object at the root")
    if kind == "array":
        yield from check_array(node, at)
    elif node.get("x-kubernetes-list-type"):
        detail = "must be array if x-kubernetes-list-type is specified"
        yield invalid((*at, "type"), kind or "", detail)
    yield from check_map_type(node, at)
    if node.get("x-kubernetes-embedded-resource") is True:
        yield from _check_embedded(node, at)
    for key in _FORBIDDEN:
        if node.get(key):
            yield forbidden((*at, key), f"{key} is not supported")
    if node.get("uniqueItems") is True:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden((*at, "uniqueItems"), detail)
    if keeps is False:
        detail = "must be true or undefined"
        yield invalid((*at, "x-kubernetes-preserve-unknown-fields"), keeps, detail)
    yield from _open_fields(node, at, is_root=is_root)
    pattern = node.get("pattern")
    if isinstance(pattern, str) and (words := go_patterns.fault(pattern)):
        detail = f"must be a valid regular expression, but isn't: {words}"
        yield invalid((*at, "pattern"), pattern, detail)
    if node.get("default") is not None:
        for keys, words in instances.differences(node["default"], node, is_object=False):
            value = _inner(node["default"], keys)
            yield invalid((*at, "default", *keys), value, words)
    if "x-kubernetes-validations" in node:
        yield from check_validations(node, at, is_root=is_root)
    yield from _junctors(node, at)


def _open_fields(node: Mapping[str, Any], at: Keys, *, is_root: bool) -> Iterator[SchemaProblem]:
    values = node.get("additionalProperties")
    if values is None:
        return
    keys = (*at, "additionalProperties")
    if is_root:
        yield forbidden(keys, "must not be used at the root")
    elif node.get("properties") and values is not True:
        yield forbidden(keys, "additionalProperties and properties are mutual exclusive")


def _junctors(node: Mapping[str, Any], at: Keys) -> Iterator[SchemaProblem]:
    for junctor in _JUNCTORS:
        for index, inner in enumerate(as_list(node.get(junctor))):
            if junctor == "anyOf" and _is_int_or_string(node):
                break
            if junctor == "allOf" and index == 0 and _is_int_or_string(inner):
                continue
            yield from _inside(inner, (*at, junctor, index))
    if "not" in node:
        yield from _inside(node["not"], (*at, "not"))


def _is_int_or_string(node: Any) -> bool:
    """Return whether `anyOf` has the only form in which it may contain types."""
    return isinstance(node, dict) and node.get("anyOf") == [
        {"type": "integer"},
        {"type": "string"},
    ]


def _check_embedded(node: Mapping[str, Any], at: Keys) -> Iterator[SchemaProblem]:
    if node.get("type") != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield missing((*at, "type"), detail)
    if not node.get("properties") and not node.get("x-kubernetes-preserve-unknown-fields"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        yield missing((*at, "properties"), detail)


def _inside(node: Any, at: Keys) -> Iterator[SchemaProblem]:
    """Yield the errors of keywords that are forbidden in `allOf`, `anyOf`, `oneOf` and `not`."""
    if not isinstance(node, dict) or len(at) > 2 * _MAX_DEPTH:
        return
    for key, word in _OUTSIDE_ONLY.items():
        if node.get(key):
            yield forbidden((*at, key), f"must be {word} to be structural")
    fields = node.get("properties")
    for name, inner in (fields if isinstance(fields, dict) else {}).items():
        yield from _inside(inner, (*at, "properties", name))
    if "items" in node:
        yield from _inside(node["items"], (*at, "items"))
    yield from _junctors(node, at)


def _untyped_message(at: Keys) -> str:
    return (
        "must not be empty for specified array items"
        if at[-1] == "items"
        else "must not be empty for specified object fields"
    )


def _is_tolerable(value: Any, expected: tuple[type, ...]) -> bool:
    """Return whether a value with another type is accepted all the same."""
    if value is None or expected == (object,):
        return True
    return type(value) is float and value.is_integer() and int in expected


def _inner(value: Any, keys: Keys) -> Any:
    for key in keys:
        value = value[key]
    return value
