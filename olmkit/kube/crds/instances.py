"""Whether an object fits the schema of its CRD, as far as can be said cheaply and surely.

Walks the object, not the schema: objects are small where schemas are huge.
Types, required and unknown fields, enumerations, lengths, bounds and patterns
are judged; alternatives (`oneOf`, `anyOf`, `not`) and CEL are not, so what is
found is certain, and what is not found may still be refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Key = str | int

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
}
# Fields of every object, whatever its schema says.
_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_MAX_DEPTH = 100
_BITS: Mapping[str, int] = {"int32": 31, "int64": 63}


def differences(
    value: Any, schema: Mapping[str, Any], *, is_object: bool = True
) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Every place where `value` does not fit `schema`, and why.

    `is_object`: it is a whole object, whose metadata are not looked at, and no part of one.
    """
    yield from _check(value, schema, (), is_object=is_object)


def _check(
    value: Any, schema: Any, keys: tuple[Key, ...], *, is_object: bool = False
) -> Iterator[tuple[tuple[Key, ...], str]]:
    if not isinstance(schema, Mapping) or len(keys) > _MAX_DEPTH:
        return
    if value is None:
        if not schema.get("nullable") and schema.get("type") and not is_object:
            yield keys, "must not be null"
        return
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield keys, "must be a whole number or a text"
        return
    kind = schema.get("type")
    if isinstance(kind, str) and not _is(value, kind):
        yield keys, f"must be of type {kind}, not {noun(value)}"
        return
    enum = schema.get("enum")
    if isinstance(enum, list) and value not in enum:
        yield keys, f"must be one of {', '.join(f'`{item}`' for item in enum[:12])}"
    yield from _check_narrowed(value, schema, keys)
    match value:
        case Mapping():
            yield from _check_object(
                value,
                schema,
                keys,
                is_object=is_object or bool(schema.get("x-kubernetes-embedded-resource")),
            )
        case list():
            yield from _check_list(value, schema, keys)
        case str():
            yield from _check_text(value, schema, keys)
        case bool():
            pass
        case int() | float():
            yield from _check_number(value, schema, keys)
        case _:
            pass


def _check_narrowed(
    value: Any, schema: Mapping[str, Any], keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], str]]:
    """What `allOf` adds to a scalar; of other values it knows a part only."""
    narrower = schema.get("allOf")
    if not isinstance(narrower, list) or isinstance(value, Mapping | list):
        return
    for entry in narrower:
        yield from _check(value, entry, keys)


def _check_object(
    value: Mapping[str, Any],
    schema: Mapping[str, Any],
    keys: tuple[Key, ...],
    *,
    is_object: bool,
) -> Iterator[tuple[tuple[Key, ...], str]]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    additional = schema.get("additionalProperties")
    required = schema.get("required")
    yield from _check_size(len(value), schema, keys, "Properties", "fields")
    for name in required if isinstance(required, list) else ():
        if name not in value and not _has_default(properties.get(name)):
            yield keys, f"lacks the required field `{name}`"
    for name, item in value.items():
        if name in properties:
            if is_object and name == "metadata":
                continue
            yield from _check(item, properties[name], (*keys, name))
        elif isinstance(additional, Mapping):
            yield from _check(item, additional, (*keys, name))
        elif (
            additional is not True
            and not schema.get("x-kubernetes-preserve-unknown-fields")
            and not (is_object and name in _OBJECT_FIELDS)
        ):
            yield (*keys, name), "is not in the schema"


def _check_list(
    value: list[Any], schema: Mapping[str, Any], keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], str]]:
    yield from _check_size(len(value), schema, keys, "Items", "items")
    for index, item in enumerate(value):
        yield from _check(item, schema.get("items"), (*keys, index))


def _check_text(
    value: str, schema: Mapping[str, Any], keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], str]]:
    yield from _check_size(len(value), schema, keys, "Length", "characters")
    pattern = schema.get("pattern")
    # Patterns are Go's; those that Python reads otherwise, or may not end on, are let pass.
    if isinstance(pattern, str) and len(value) < 300 and _is_plain(pattern):
        try:
            if re.search(pattern, value, re.ASCII) is None:
                yield keys, f"must match `{pattern}`"
        except re.error:
            return


def _check_number(
    value: float, schema: Mapping[str, Any], keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], str]]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float) and value <= least:
        if schema.get("exclusiveMinimum"):
            yield keys, f"must be greater than {least}"
        elif value < least:
            yield keys, f"must be at least {least}"
    if isinstance(most, int | float) and value >= most:
        if schema.get("exclusiveMaximum"):
            yield keys, f"must be less than {most}"
        elif value > most:
            yield keys, f"must be at most {most}"
    bits = _BITS.get(str(schema.get("format")))
    if bits and isinstance(value, int) and not -(2**bits) <= value < 2**bits:
        yield keys, f"is too large for the format {schema['format']}"
    factor = schema.get("multipleOf")
    if isinstance(value, int) and isinstance(factor, int) and factor > 0 and value % factor:
        yield keys, f"must be a multiple of {factor}"


def _check_size(
    size: int, schema: Mapping[str, Any], keys: tuple[Key, ...], suffix: str, noun: str
) -> Iterator[tuple[tuple[Key, ...], str]]:
    least, most = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
    if isinstance(least, int) and size < least:
        yield keys, f"must have at least {least} {noun}"
    if isinstance(most, int) and size > most:
        yield keys, f"must have at most {most} {noun}"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return kind not in _TYPES or isinstance(value, _TYPES[kind])


def _has_default(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "default" in schema


def _is_plain(pattern: str) -> bool:
    """Whether Go and Python read the pattern alike, and matching surely ends soon."""
    nested = re.search(r"[+*}]\)[+*{]", pattern)
    return len(pattern) < 500 and nested is None and "\\p" not in pattern and "\\z" not in pattern


def noun(value: Any) -> str:
    """The type of a JSON value, as schemas call it."""
    match value:
        case bool():
            return "boolean"
        case Mapping():
            return "object"
        case list():
            return "array"
        case str():
            return "string"
        case int():
            return "integer"
        case _:
            return "number"
