"""Defaulting, pruning and validation of objects by the schema of a CRD.

CEL rules and alternatives (`oneOf`, `not`) are ignored: test them with a real API server.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.kube.crds import instances
from olmkit.testing.apiserver.refusals import FieldCause

Schema = Mapping[str, Any]

_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_ANY = "x-kubernetes-preserve-unknown-fields"
_EITHER = "x-kubernetes-int-or-string"


def with_defaults(value: Any, schema: Schema) -> Any:
    """Return a copy with defaults for missing values, and for null where it is not allowed."""
    if isinstance(value, Mapping):
        found = {}
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        for key, item in value.items():
            below = properties.get(key)
            if below is None:
                below = _additional(schema)
            if item is None and not below.get("nullable") and "default" in below:
                continue
            found[key] = with_defaults(item, below)
        for key, below in properties.items():
            if key not in found and "default" in below:
                found[key] = with_defaults(copy.deepcopy(below["default"]), below)
        return found
    if isinstance(value, list):
        return [with_defaults(item, schema.get("items") or {}) for item in value]
    if isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        return int(value)
    return value


def pruned(value: Any, schema: Schema, path: str = "", *, is_root: bool = True) -> Any:
    """Return a copy without the fields that are not in the schema."""
    return _pruned(value, schema, path, is_root, [])


def unknown_fields(value: Any, schema: Schema) -> list[str]:
    """Return the paths of the fields that `pruned` removes."""
    found: list[str] = []
    _pruned(value, schema, "", True, found)
    return found


def _pruned(value: Any, schema: Schema, path: str, is_root: bool, gone: list[str]) -> Any:
    if isinstance(value, Mapping):
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        is_object = is_root or bool(schema.get("x-kubernetes-embedded-resource"))
        keeps = bool(schema.get(_ANY)) or bool(schema.get("additionalProperties"))
        found = {}
        for key, item in value.items():
            below = f"{path}.{key}" if path else key
            if is_object and key in _OBJECT_FIELDS and key not in properties:
                found[key] = item
            elif key in properties:
                found[key] = (
                    item
                    if is_object and key == "metadata"
                    else _pruned(item, properties[key], below, False, gone)
                )
            elif keeps:
                found[key] = _pruned(item, _additional(schema) or {_ANY: True}, below, False, gone)
            else:
                gone.append(below)
        return found
    if isinstance(value, list):
        items = schema.get("items") or ({_ANY: True} if schema.get(_ANY) else {})
        return [
            _pruned(item, items, f"{path}[{number}]", False, gone)
            for number, item in enumerate(value)
        ]
    return value


def _additional(schema: Schema) -> Schema:
    found = schema.get("additionalProperties")
    return found if isinstance(found, Mapping) else {}


def faults(value: Any, schema: Schema, path: str = "") -> Iterator[FieldCause]:
    """Yield the validation errors of an object."""
    kind = schema.get("type")
    if value is None:
        if not schema.get("nullable") and (kind or schema.get(_EITHER)):
            yield _type_fault(path, "null", kind or "integer,string")
        return
    # For an API server, a float without a fraction is an integer.
    whole = isinstance(value, float) and value.is_integer()
    noun = "integer" if whole else instances.noun(value)
    if schema.get(_EITHER):
        if noun not in ("integer", "string"):
            yield _type_fault(path, noun, "integer,string")
        return
    if kind and noun != kind and not (kind == "number" and noun == "integer"):
        yield _type_fault(path, noun, kind)
        return
    enum = schema.get("enum")
    if enum and value not in enum:
        listed = ", ".join(json.dumps(one) for one in enum)
        yield FieldCause(
            *(path, "FieldValueNotSupported"),
            f"Unsupported value: {json.dumps(value)}: supported values: {listed}",
        )
    match value:
        case Mapping():
            yield from _object_faults(value, schema, path)
        case list():
            yield from _list_faults(value, schema, path)
        case str():
            yield from _text_faults(value, schema, path)
        case bool():
            pass
        case _:
            yield from _number_faults(value, schema, path)


def _object_faults(value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[FieldCause]:
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            yield FieldCause(_join(path, name), "FieldValueRequired", "Required value")
    yield from _size_faults(len(value), schema, path, "Properties", "properties")
    for key, item in value.items():
        if key == "metadata" and not path:
            continue
        below = properties.get(key) or _additional(schema)
        yield from faults(item, below, _join(path, key))


def _list_faults(value: list[Any], schema: Schema, path: str) -> Iterator[FieldCause]:
    yield from _size_faults(len(value), schema, path, "Items", "items")
    for number, item in enumerate(value):
        yield from faults(item, schema.get("items") or {}, f"{path}[{number}]")
    sort = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: list[Any] = []
    for number, item in enumerate(value):
        if sort == "map" and isinstance(item, Mapping):
            one: Any = {key: item[key] for key in keys if key in item}
        elif sort == "set":
            one = item
        else:
            continue
        if one in seen:
            words = f"Duplicate value: {json.dumps(one, separators=(',', ':'))}"
            yield FieldCause(f"{path}[{number}]", "FieldValueDuplicate", words)
        seen.append(one)


def _text_faults(value: str, schema: Schema, path: str) -> Iterator[FieldCause]:
    most, least, pattern = (schema.get(k) for k in ("maxLength", "minLength", "pattern"))
    if isinstance(most, int) and len(value) > most:
        yield FieldCause(path, "FieldValueTooLong", f"Too long: may not be more than {most} bytes")
    quoted = f"Invalid value: {json.dumps(value)}: {path} in body should"
    if isinstance(least, int) and len(value) < least:
        yield FieldCause(path, "FieldValueInvalid", f"{quoted} be at least {least} chars long")
    if pattern and re.search(pattern, value) is None:
        yield FieldCause(path, "FieldValueInvalid", f"{quoted} match '{pattern}'")


def _number_faults(value: float, schema: Schema, path: str) -> Iterator[FieldCause]:
    quoted = f"Invalid value: {json.dumps(value)}: {path} in body should be"
    least, most = schema.get("minimum"), schema.get("maximum")
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield FieldCause(path, "FieldValueInvalid", f"{quoted} {words} {most}")
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield FieldCause(path, "FieldValueInvalid", f"{quoted} {words} {least}")
    step = schema.get("multipleOf")
    if step and value % step:
        yield FieldCause(path, "FieldValueInvalid", f"{quoted} a multiple of {step}")


def _size_faults(
    size: int, schema: Schema, path: str, suffix: str, noun: str
) -> Iterator[FieldCause]:
    most, least = schema.get(f"max{suffix}"), schema.get(f"min{suffix}")
    if isinstance(most, int) and size > most:
        yield FieldCause(
            path, "FieldValueTooMany", f"Too many: {size}: must have at most {most} {noun}"
        )
    if isinstance(least, int) and size < least:
        words = f"Invalid value: {size}: {path} in body should have at least {least} {noun}"
        yield FieldCause(path, "FieldValueInvalid", words)


def _type_fault(path: str, found: str, expected: str) -> FieldCause:
    words = f'Invalid value: "{found}": {path} in body must be of type {expected}: "{found}"'
    return FieldCause(path, "FieldValueTypeInvalid", words)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
