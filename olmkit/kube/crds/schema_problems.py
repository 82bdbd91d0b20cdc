"""The problems of a schema, with the messages of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from olmkit.kube.crds import field_errors

Key = str | int
Keys = tuple[Key, ...]


class SchemaFault(Enum):
    """The kind of a problem."""

    TYPE = "a keyword has a value of the wrong type: nothing can read the schema"
    UNKNOWN = "a keyword does not exist: the API server drops it"
    STRUCTURE = "the API server refuses the schema"
    REQUIRED = "a required field is not among the properties"
    EMPTY = "no value fits the schema"
    BOUND = "a bound does not fit the type or the format: the API server refuses each value"


class SchemaProblem(NamedTuple):
    fault: SchemaFault
    keys: Keys
    message: str


_NAMES: Mapping[type, str] = {
    str: "a text",
    bool: "`true` or `false`",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
}


def as_list(value: Any) -> list[Any]:
    """Return a list of a schema; empty if the value has another type."""
    return value if isinstance(value, list) else []


def wrong_type(at: Keys, expected: tuple[type, ...]) -> SchemaProblem:
    words = " or ".join(_NAMES[kind] for kind in expected)
    return SchemaProblem(SchemaFault.TYPE, at, f"`{field_errors.path(at)}` must be {words}")


def missing(at: Keys, detail: str) -> SchemaProblem:
    return SchemaProblem(SchemaFault.STRUCTURE, at, field_errors.required(at, detail).message)


def invalid(at: Keys, value: Any, detail: str) -> SchemaProblem:
    return SchemaProblem(SchemaFault.STRUCTURE, at, field_errors.invalid(at, value, detail).message)


def forbidden(at: Keys, detail: str) -> SchemaProblem:
    return SchemaProblem(SchemaFault.STRUCTURE, at, field_errors.forbidden(at, detail).message)


def unsupported(at: Keys, value: Any, known: tuple[str, ...]) -> SchemaProblem:
    return SchemaProblem(
        SchemaFault.STRUCTURE, at, field_errors.unsupported(at, str(value), known).message
    )
