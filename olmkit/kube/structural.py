"""Schemas of CRDs: whether they can be read, and whether the API server takes them.

A schema of `apiextensions.k8s.io/v1` must be structural: every field has a type,
what stands inside `allOf` and its like only narrows what stands outside, and a
part of JSON Schema is forbidden. The words are the API server's.

Schemas are most of the bytes of most bundles, hence the plain loop with a stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from olmkit.kube import field_errors

Key = str | int
Keys = tuple[Key, ...]
_Chain = tuple[Any, tuple[Key, ...]]

TYPES = ("array", "boolean", "integer", "number", "object", "string")


class Fault(Enum):
    """What a problem means."""

    TYPE = "a keyword has a value of a wrong type: nothing can read the schema"
    UNKNOWN = "a keyword does not exist: the API server drops it"
    STRUCTURE = "the API server refuses the schema"
    REQUIRED = "a required field is not among the properties"


class Problem(NamedTuple):
    fault: Fault
    keys: Keys
    message: str


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
_NAMES: Mapping[type, str] = {
    str: "a text",
    bool: "`true` or `false`",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
}
_FORBIDDEN = ("$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties")
_JUNCTORS = ("allOf", "anyOf", "oneOf")
# What narrows nothing, and so stands outside of the junctors; and what it must be inside.
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
_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
# What Go's regular expressions lack.
_NOT_IN_GO = re.compile(r"\(\?(?:[=!]|<[=!])|(?<!\\)(?:\\\\)*\\[1-9]")
# No schema of an API is nested deeper; recursion is bounded here, not by memory.
_MAX_DEPTH = 150


def check(schema: Any, keys: Keys = (), *, structural: bool = True) -> Iterator[Problem]:
    """What is wrong with a schema whose place is `keys`.

    Without `structural` only what nothing can read, and what does not exist.
    """
    # A place is a chain of (what is above, key), and becomes a path only when it is needed.
    stack: list[tuple[Any, _Chain | None, int]] = [(schema, None, 0)]
    while stack:
        node, chain, depth = stack.pop()
        if type(node) is not dict:
            if node is not None:
                yield _wrong(_path(keys, chain), (dict,))
            continue
        if depth > _MAX_DEPTH:
            at = _path(keys, chain)
            yield Problem(Fault.STRUCTURE, at, f"{field_errors.path(at)}: nested too deeply")
            continue
        is_plain = node.keys() <= _PLAIN and _is_plain(node)
        if is_plain and (chain is not None or node["type"] == "object"):
            _push(node, chain, depth, stack)
            continue
        at = _path(keys, chain)
        yield from _keywords(node, at)
        if "required" in node:
            yield from _required_fields(node, at, is_root=chain is None)
        if structural:
            yield from _structure(node, at, chain is None)
        _push(node, chain, depth, stack)


# Most schemas have these keywords only, and right.
_PLAIN = {"description", "format", "items", "properties", "required", "type"}


def _is_plain(node: Mapping[str, Any]) -> bool:
    """Whether a schema of plain keywords has nothing wrong, but for the schemas in it."""
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


def _keywords(node: Mapping[str, Any], at: Keys) -> Iterator[Problem]:
    for key, value in node.items():
        wanted = _VALUES.get(key)
        if wanted is None:
            yield Problem(Fault.UNKNOWN, (*at, key), f"`{key}` is no keyword of a schema")
        elif type(value) not in wanted and not _is_tolerable(value, wanted):
            yield _wrong((*at, key), wanted)


def _required_fields(node: Mapping[str, Any], at: Keys, *, is_root: bool) -> Iterator[Problem]:
    fields = node.get("properties")
    if type(fields) is not dict or not fields or node.get("x-kubernetes-preserve-unknown-fields"):
        return
    for index, name in enumerate(_list(node["required"])):
        known = type(name) is not str or name in fields or (is_root and name in _OBJECT_FIELDS)
        if not known:
            message = f"required field `{name}` is not among the properties"
            yield Problem(Fault.REQUIRED, (*at, "required", index), message)


# Fields of every object, whatever its schema says.
_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")


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
    """Put the schemas inside a schema on the stack, so that the first one is taken first."""
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


def _structure(node: Mapping[str, Any], at: Keys, is_root: bool) -> Iterator[Problem]:
    kind = node.get("type")
    either = node.get("x-kubernetes-int-or-string") is True
    keeps = node.get("x-kubernetes-preserve-unknown-fields")
    if not kind:
        if is_root or not (either or keeps is True):
            detail = "must not be empty at the root" if is_root else _untyped(at)
            yield _required((*at, "type"), detail)
    elif kind not in TYPES:
        error = field_errors.unsupported((*at, "type"), str(kind), TYPES)
        yield Problem(Fault.STRUCTURE, (*at, "type"), error.message)
    elif is_root and kind != "object":
        yield _invalid((*at, "type"), kind, "must be object at the root")
    if kind == "array":
        yield from _array(node, at)
    elif node.get("x-kubernetes-list-type"):
        detail = "must be array if x-kubernetes-list-type is specified"
        yield _invalid((*at, "type"), kind or "", detail)
    if node.get("x-kubernetes-map-type") and kind != "object":
        detail = "must be object if x-kubernetes-map-type is specified"
        yield _invalid((*at, "type"), kind or "", detail)
    for key in _FORBIDDEN:
        if node.get(key):
            yield _forbidden((*at, key), f"{key} is not supported")
    if node.get("uniqueItems") is True:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield _forbidden((*at, "uniqueItems"), detail)
    if keeps is False:
        detail = "must be true or undefined"
        yield _invalid((*at, "x-kubernetes-preserve-unknown-fields"), keeps, detail)
    yield from _open_fields(node, at, is_root=is_root)
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        yield from _pattern(pattern, (*at, "pattern"))
    if node.get("default") is not None:
        yield from _default(node, at, either=either)
    if "x-kubernetes-validations" in node:
        yield from _validations(node["x-kubernetes-validations"], (*at, "x-kubernetes-validations"))
    yield from _junctors(node, at)


def _open_fields(node: Mapping[str, Any], at: Keys, *, is_root: bool) -> Iterator[Problem]:
    values = node.get("additionalProperties")
    if values is None:
        return
    keys = (*at, "additionalProperties")
    if is_root:
        yield _forbidden(keys, "must not be used at the root")
    elif node.get("properties") and values is not True:
        yield _forbidden(keys, "additionalProperties and properties are mutual exclusive")


def _junctors(node: Mapping[str, Any], at: Keys) -> Iterator[Problem]:
    for junctor in _JUNCTORS:
        for index, inner in enumerate(_list(node.get(junctor))):
            if junctor == "anyOf" and _is_int_or_string(node):
                break
            if junctor == "allOf" and index == 0 and _is_int_or_string(inner):
                continue
            yield from _inside(inner, (*at, junctor, index))
    if "not" in node:
        yield from _inside(node["not"], (*at, "not"))


def _is_int_or_string(node: Any) -> bool:
    """Whether `anyOf` has the one form in which types may stand inside."""
    return isinstance(node, dict) and node.get("anyOf") == [
        {"type": "integer"},
        {"type": "string"},
    ]


def _array(node: Mapping[str, Any], at: Keys) -> Iterator[Problem]:
    items = node.get("items")
    if isinstance(items, list):
        yield _forbidden((*at, "items"), "items must be a schema object and not an array")
        return
    if items is None:
        yield _required((*at, "items"), "must be specified")
        return
    kind, listed = node.get("x-kubernetes-list-type"), node.get("x-kubernetes-list-map-keys")
    if kind not in (None, "atomic", "set", "map"):
        keys = (*at, "x-kubernetes-list-type")
        error = field_errors.unsupported(keys, str(kind), ("atomic", "map", "set"))
        yield Problem(Fault.STRUCTURE, keys, error.message)
    if kind == "map" and not listed:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield _required((*at, "x-kubernetes-list-map-keys"), detail)
    fields = items.get("properties") if isinstance(items, dict) else None
    for index, key in enumerate(_list(listed)):
        if kind == "map" and key not in (fields or {}):
            detail = "entries must all be names of item properties"
            yield _invalid((*at, "x-kubernetes-list-map-keys", index), key, detail)


def _pattern(pattern: str, at: Keys) -> Iterator[Problem]:
    if _NOT_IN_GO.search(pattern):
        yield _invalid(at, pattern, "must be a valid regular expression: Go has no such operator")
        return
    if pattern.isalnum():
        return
    try:
        re.compile(pattern)
    except RecursionError:
        return
    except re.error as error:
        # Go and Python differ in rare forms; what both refuse is an opening or a range.
        if any(word in str(error) for word in ("unterminated", "missing", "bad character range")):
            yield _invalid(at, pattern, f"must be a valid regular expression: {error.msg}")


def _default(node: Mapping[str, Any], at: Keys, *, either: bool) -> Iterator[Problem]:
    value, kind = node["default"], node.get("type")
    if either:
        fits = isinstance(value, int | str) and not isinstance(value, bool)
        kind = "integer or string"
    elif kind not in _PYTHON_TYPES:
        return
    elif isinstance(value, bool):
        fits = kind == "boolean"
    elif kind == "integer" and isinstance(value, float):
        fits = value.is_integer()
    else:
        fits = isinstance(value, _PYTHON_TYPES[str(kind)])
    if not fits:
        yield _invalid((*at, "default"), value, f"must be of type {kind}")


def _validations(listed: Any, at: Keys) -> Iterator[Problem]:
    from olmkit.base import cel

    for index, entry in enumerate(_list(listed)):
        text = entry.get("rule") if isinstance(entry, dict) else None
        keys = (*at, index, "rule")
        if not isinstance(text, str) or not text.strip():
            yield _required(keys, "rule is not specified")
            continue
        try:
            cel.parse(text)
        except cel.CelError as error:
            yield _invalid(keys, text, f"compilation failed: {error.message}")


def _inside(node: Any, at: Keys) -> Iterator[Problem]:
    """What must not stand inside `allOf`, `anyOf`, `oneOf` and `not`."""
    if not isinstance(node, dict) or len(at) > 2 * _MAX_DEPTH:
        return
    for key, word in _OUTSIDE_ONLY.items():
        if node.get(key):
            yield _forbidden((*at, key), f"must be {word} to be structural")
    fields = node.get("properties")
    for name, inner in (fields if isinstance(fields, dict) else {}).items():
        yield from _inside(inner, (*at, "properties", name))
    if "items" in node:
        yield from _inside(node["items"], (*at, "items"))
    yield from _junctors(node, at)


def _untyped(at: Keys) -> str:
    return (
        "must not be empty for specified array items"
        if at[-1] == "items"
        else "must not be empty for specified object fields"
    )


def _is_tolerable(value: Any, wanted: tuple[type, ...]) -> bool:
    """Whether a value that has another type passes all the same."""
    if value is None or wanted == (object,):
        return True
    return type(value) is float and value.is_integer() and int in wanted


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _wrong(at: Keys, wanted: tuple[type, ...]) -> Problem:
    words = " or ".join(_NAMES[kind] for kind in wanted)
    return Problem(Fault.TYPE, at, f"`{field_errors.path(at)}` must be {words}")


def _required(at: Keys, detail: str) -> Problem:
    return Problem(Fault.STRUCTURE, at, field_errors.required(at, detail).message)


def _invalid(at: Keys, value: Any, detail: str) -> Problem:
    return Problem(Fault.STRUCTURE, at, field_errors.invalid(at, value, detail).message)


def _forbidden(at: Keys, detail: str) -> Problem:
    return Problem(Fault.STRUCTURE, at, field_errors.forbidden(at, detail).message)
