"""Merge two schemas like controller-gen, which flattens `allOf`.

What both sides may say once is merged; what both say differently and cannot be
merged (lengths, bounds, patterns …) goes into two entries of `allOf`, so that
an API server still checks both.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

RULES = "x-kubernetes-validations"
# Words of a type and of a field that uses it: the user's own win, where there are any.
TEXTS = ("title", "description", "example", "externalDocs")
_SOURCE_WINS = frozenset(
    {
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-map-type",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
    }
)
_EQUAL_IS_ONE = frozenset(
    {
        *("minProperties", "maxProperties", "nullable", "uniqueItems", "format", "pattern"),
        *("exclusiveMinimum", "exclusiveMaximum"),
        *("x-kubernetes-int-or-string", "x-kubernetes-embedded-resource"),
    }
)


class TypesDifferError(Exception):
    """Two schemas of different types cannot be merged."""


def merge(destination: Schema, source: Schema, *, is_same: bool = False) -> None:
    """Merge `source` into `destination`; texts stay the destination's.

    Only the top of `destination` is changed: deeper values may be shared with other schemas and
    is replaced where it differs. `is_same`: both are one schema of one type, reached on two
    ways; its default counts once, other values twice. Raises `TypesDifferError` when the two
    have different types.
    """
    hoisted_from_destination: Schema = {}
    hoisted_from_source: Schema = {}
    for key, value in source.items():
        if key in TEXTS:
            continue
        if key not in destination:
            destination[key] = value
        elif key == "properties":
            destination[key] = _merge_properties(destination[key], value)
        elif key == "required":
            destination[key] = sorted({*destination[key], *value})
        elif key == "additionalProperties":
            if isinstance(value, dict) and isinstance(destination[key], dict):
                destination[key] = _merge(destination[key], value)
        elif key == "type":
            if destination[key] != value:
                raise TypesDifferError(f"`{destination[key]}` and `{value}`")
        elif key == RULES:
            destination[key] = [*value, *destination[key]]
        elif key == "allOf":
            destination[key] = [*destination[key], *value]
        elif key in _SOURCE_WINS:
            destination[key] = value
        elif _stays(key, destination[key], value, is_same=is_same):
            continue
        else:
            hoisted_from_destination[key] = destination.pop(key)
            hoisted_from_source[key] = value
    if hoisted_from_destination:
        destination["allOf"] = [
            *destination.get("allOf", []),
            hoisted_from_destination,
            hoisted_from_source,
        ]


def _stays(key: str, old: Any, new: Any, *, is_same: bool) -> bool:
    """Return whether the destination's value stays and the source's goes."""
    if key == "enum":
        return True
    if key == "default":
        # Whether two plain values are the same value cannot be known.
        return is_same or (old is new and isinstance(old, (list, dict)))
    return key in _EQUAL_IS_ONE and bool(old == new)


def merge_reference(type_schema: Schema, field_schema: Schema) -> Schema:
    """Return the schema of a field whose type is declared elsewhere; the field's texts win.

    The result shares everything below its top level with the arguments.
    """
    merged = _merge(type_schema, field_schema)
    set_texts(merged, field_schema)
    return merged


def set_texts(destination: Schema, source: Schema) -> None:
    """The texts of `source`, where it has any, in place of the destination's."""
    for text in TEXTS:
        # An example may be `false`, `0` or `{}`; an empty description is none.
        if text in source and (text == "example" or source[text]):
            destination[text] = source[text]


def _merge(destination: Schema, source: Schema) -> Schema:
    merged = dict(destination)
    merge(merged, source, is_same=destination is source)
    return merged


def _merge_properties(destination: Schema, source: Schema) -> Schema:
    merged = dict(destination)
    for name, value in source.items():
        merged[name] = _merge(merged[name], value) if name in merged else value
    return merged
