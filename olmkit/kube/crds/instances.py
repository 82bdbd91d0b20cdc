"""Validate an object against the schema of its CRD, as far as that is fast and certain.

It walks the object, not the schema, since objects are small and schemas are large. It checks types,
required and unknown fields, enumerations, lengths, bounds, patterns, unique items and simple
formats. Of alternatives (`anyOf`, `oneOf`, `not`) it reports only certain errors. CEL rules are not
evaluated. So every reported error is certain, but the API server may reject more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
_MOST_UNIQUE = 10_000  # items of a list that are compared
_BITS: Mapping[str, int] = {"int32": 31, "int64": 63}
# A necessary pattern of a format; a string may match it and still not have the format.
_FORMATS: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z"),
    "date-time": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "uri": re.compile(r"/|.*:"),
    "email": re.compile(r".*@"),
    "ipv4": re.compile(r"[0-9.]+\Z"),
    "ipv6": re.compile(r".*:"),
    "cidr": re.compile(r".*/"),
    "mac": re.compile(r".*[:.-]"),
    "uuid": re.compile(r"[0-9a-fA-F-]{32,36}\Z"),
}
# Conditions of `not` that are checked as a whole.
_SIMPLE = frozenset({"required", "enum", "minimum", "maximum", "minLength", "minItems"})


class ReadingMode(NamedTuple):
    """How an object is read before it is checked.

    `by_server`: defaults replace missing values, and null where it is not allowed; items of sets
    and maps are unique. `cleans`: unknown fields, and null in fields that may not be null, count as
    absent. `is_partial`: the schema is a condition next to another schema, which declares the other
    fields.
    """

    by_server: bool = True
    cleans: bool = False
    is_partial: bool = False


def differences(
    value: Any,
    schema: Mapping[str, Any],
    *,
    is_object: bool = True,
    by_server: bool = True,
    cleans: bool = False,
) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Yield every place where `value` does not fit `schema`, and why.

    `is_object`: it is a whole object, not a part; its metadata are not checked. `by_server`: check
    like the API server, which first adds the defaults of the schema and supports Kubernetes'
    extensions. OLM v0 checks existing objects without either. `cleans`: prune like the API server,
    which does that to objects, but not to defaults.
    """
    yield from _check(value, schema, (), ReadingMode(by_server, cleans), is_object=is_object)


def _check(
    value: Any, schema: Any, keys: tuple[Key, ...], how: ReadingMode, *, is_object: bool = False
) -> Iterator[tuple[tuple[Key, ...], str]]:
    if not isinstance(schema, Mapping) or len(keys) > _MAX_DEPTH:
        return
    kind = schema.get("type")
    either = schema.get("x-kubernetes-int-or-string")
    if value is None:
        is_replaced = how.by_server and "default" in schema
        if not schema.get("nullable") and (kind or either) and not (is_object or is_replaced):
            yield keys, "must not be null"
        return
    if either:
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield keys, "must be a whole number or a string"
            return
    elif isinstance(kind, str) and not _is(value, kind):
        yield keys, f"must be of type {kind}, not {noun(value)}"
        return
    is_object = is_object or bool(schema.get("x-kubernetes-embedded-resource"))
    if how.cleans and isinstance(value, Mapping):
        value = _drop_fields(value, schema, is_object=is_object)
    enum = schema.get("enum")
    if isinstance(enum, list) and enum and not _is_among(value, enum):
        yield keys, f"must be one of {', '.join(f'`{item}`' for item in enum[:12])}"
    yield from _check_conditions(value, schema, keys, how)
    match value:
        case Mapping():
            yield from _check_object(
                value,
                schema,
                keys,
                how,
                is_object=is_object,
            )
        case list():
            yield from _check_list(value, schema, keys, how)
        case str():
            yield from _check_text(value, schema, keys)
        case bool():
            pass
        case int() | float():
            yield from _check_number(value, schema, keys)
        case _:
            pass


def _check_conditions(
    value: Any, schema: Mapping[str, Any], keys: tuple[Key, ...], how: ReadingMode
) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Yield the errors of `allOf`, and of alternatives of which certainly none matches."""
    part = how._replace(is_partial=True, cleans=False)
    for entry in _list(schema.get("allOf")):
        yield from _check(value, entry, keys, part)
    for junctor in ("anyOf", "oneOf"):
        entries = _list(schema.get(junctor))
        if entries and all(any(_check(value, entry, keys, part)) for entry in entries):
            yield keys, f"fits none of the alternatives of `{junctor}`"
    refused = schema.get("not")
    if (
        isinstance(refused, Mapping)
        and refused
        and refused.keys() <= _SIMPLE
        and not any(_check(value, refused, keys, part))
    ):
        yield keys, "fits what `not` excludes"


def _check_object(
    value: Mapping[str, Any],
    schema: Mapping[str, Any],
    keys: tuple[Key, ...],
    how: ReadingMode,
    *,
    is_object: bool,
) -> Iterator[tuple[tuple[Key, ...], str]]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    additional = schema.get("additionalProperties")
    required = schema.get("required")
    yield from _check_size(len(value), schema, keys, "Properties", "fields")
    for name in required if isinstance(required, list) else ():
        if not isinstance(name, str):
            continue  # an error in the schema: other rules report it
        if name not in value and not (how.by_server and _has_default(properties.get(name))):
            yield keys, f"lacks the required field `{name}`"
    for name, item in value.items():
        if name in properties:
            if is_object and name == "metadata":
                continue
            yield from _check(item, properties[name], (*keys, name), how)
        elif isinstance(additional, Mapping):
            yield from _check(item, additional, (*keys, name), how)
        elif (
            additional is not True
            and not how.is_partial
            and not schema.get("x-kubernetes-preserve-unknown-fields")
            and not (is_object and name in _OBJECT_FIELDS)
        ):
            yield (*keys, name), "is not in the schema"


def _check_list(
    value: list[Any], schema: Mapping[str, Any], keys: tuple[Key, ...], how: ReadingMode
) -> Iterator[tuple[tuple[Key, ...], str]]:
    yield from _check_size(len(value), schema, keys, "Items", "items")
    for index, item in enumerate(value):
        yield from _check(item, schema.get("items"), (*keys, index), how)
    if how.by_server:
        yield from _check_unique(value, schema, keys)


def _check_unique(
    value: list[Any], schema: Mapping[str, Any], keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Yield the duplicate items in a list that is a set or a map."""
    kind, names = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    if kind not in ("set", "map") or len(value) > _MOST_UNIQUE:
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        one = item
        if kind == "map":
            if not isinstance(item, Mapping):
                continue
            fields = _mapping(_mapping(schema.get("items")).get("properties"))
            defaults = {name: _mapping(fields.get(name)).get("default") for name in _list(names)}
            one = {name: item.get(name, default) for name, default in defaults.items()}
        text = json.dumps(one, sort_keys=True, default=str)
        if text in seen:
            yield (*keys, index), "is there twice, and items must be unique"
        seen.add(text)


def _check_text(
    value: str, schema: Mapping[str, Any], keys: tuple[Key, ...]
) -> Iterator[tuple[tuple[Key, ...], str]]:
    yield from _check_size(len(value), schema, keys, "Length", "characters")
    pattern = schema.get("pattern")
    shape = _FORMATS.get(str(schema.get("format")))
    is_short = schema.get("type") == "string" and 0 < len(value) < 300
    if shape is not None and is_short and shape.match(value) is None:
        yield keys, f"is not of the format {schema['format']}"
    # Patterns are Go's; those that Python reads differently, or that may never end, are accepted.
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


def _drop_fields(
    value: Mapping[str, Any], schema: Mapping[str, Any], *, is_object: bool
) -> Mapping[str, Any]:
    """Return an object without the fields that the API server drops before it checks the rest."""
    properties, additional = _mapping(schema.get("properties")), schema.get("additionalProperties")
    keeps = bool(additional) or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    keeps = keeps or not schema.get("type")
    rest = _mapping(additional)
    return {
        name: item
        for name, item in value.items()
        if (is_object and name in _OBJECT_FIELDS)
        or (
            (keeps or name in properties)
            and (item is not None or _may_be_null(_mapping(properties.get(name, rest))))
        )
    }


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    has_type = bool(schema.get("type") or schema.get("x-kubernetes-int-or-string"))
    return bool(schema.get("nullable")) or not has_type


def _is_among(value: Any, values: list[Any]) -> bool:
    """Return whether a value is one of `values`; `true` is not 1."""
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in values)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_plain(pattern: str) -> bool:
    """Return whether Go and Python read the pattern in the same way, and matching ends quickly."""
    nested = re.search(r"[+*}]\)[+*{]", pattern)
    return len(pattern) < 500 and nested is None and "\\p" not in pattern and "\\z" not in pattern


def noun(value: Any) -> str:
    """Return the type of a JSON value, as named in schemas."""
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
