"""Merge two schemas like controller-gen, which flattens `allOf`.

Values that only one side has are merged. Values that differ and cannot be merged (lengths, bounds,
patterns …) become two entries of `allOf`, so that an API server still checks both.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

RULES = "x-kubernetes-validations"
# Descriptions of a type and of a field that uses it: those of the field take precedence.
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
    """Merge `source` into `destination`; texts of the destination are kept.

    Only the top level of `destination` is changed: deeper values may be shared with other schemas
    and are replaced if they differ. `is_same`: both are the schema of one type, reached through two
    paths; its default counts once, other values twice. Raises `TypesDifferError` if the two have
    different types.
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
    """Return whether the destination's value is kept and the source's is dropped."""
    if key == "enum":
        return True
    if key == "default":
        # It cannot be known whether two equal plain values are the same value.
        return is_same or (old is new and isinstance(old, (list, dict)))
    return key in _EQUAL_IS_ONE and bool(old == new)


def merge_reference(type_schema: Schema, field_schema: Schema) -> Schema:
    """Return the schema of a field whose type is declared elsewhere; the field's texts are kept.

    The result shares everything below its top level with the arguments.
    """
    merged = _merge(type_schema, field_schema)
    set_texts(merged, field_schema)
    return merged


def set_texts(destination: Schema, source: Schema) -> None:
    """Set the texts of `source`, if it has any, in place of the destination's."""
    for text in TEXTS:
        # An example may be `false`, `0` or `{}`; an empty description counts as none.
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
