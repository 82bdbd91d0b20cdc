"""Find differences between an object and its Kubernetes type, and decode it leniently.

Tools written in Go read objects into typed structures: keys match case-insensitively, booleans and
numbers count as strings, null is the same as absent, unknown keys are dropped, and any other
difference is an error. The API server is stricter. `read` returns the value as such a reader
decodes it, without the parts that do not fit, and the kind of each difference.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from olmkit.kube.builtin import table

Key = str | int


class TypeMisfit(Enum):
    """How a value differs from its type."""

    TYPE = "wrong type"  # no reader accepts it
    TEXT = "not a string"  # only lenient readers accept it as a string
    UNKNOWN = "unknown field"  # dropped
    CASE = "wrong capitals"  # known only case-insensitively
    MISSING = "missing"  # required by the API server


class TypeDifference(NamedTuple):
    """One difference, its place, and the relevant names.

    `type` is the type that has the field, `wanted` the expected value (for CASE the correct
    spelling, for MISSING the missing field), `found` the actual value.
    """

    misfit: TypeMisfit
    keys: tuple[Key, ...]
    type: str
    wanted: str
    found: str = ""


_QUANTITY = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?", re.ASCII)
_WORDS = {
    "s": "a string",
    "b": "`true` or `false`",
    "i": "a whole number",
    "f": "a number",
    "port": "a whole number or a string",
    "quantity": "a quantity such as `500m` or `1Gi`",
}
# Fields of every object, which do not identify its type.
_EVERYWHERE = frozenset({"status"})
# Objects that are nested deeper are not manifests; recursion ends well before Python's own limit.
_MAX_DEPTH = 200


def read(
    value: Any, type_name: str, *, opaque: frozenset[str] = frozenset()
) -> tuple[Any, tuple[TypeDifference, ...]]:
    """Return `value` as a lenient reader decodes it, and its differences, in document order.

    Values of the types in `opaque` are not changed.
    """
    reader = _Reader(opaque)
    return reader.read(value, type_name, type_name, ()), tuple(reader.found)


def knows(type_name: str) -> bool:
    """Return whether the type is in the tables."""
    return type_name in table.accepted_types()


def fields(type_name: str) -> Mapping[str, str]:
    """Return the fields of a type and their types."""
    return {name: field.type for name, field in table.accepted_types()[type_name].items()}


def choice(kind: str) -> tuple[str, ...]:
    """Return the allowed forms of a value with several types; empty for all other types."""
    return _CHOICES.get(_without_beta(kind), ())


def kind_at(type_name: str, keys: tuple[Key, ...]) -> str:
    """Return the type of the place below `keys` in a value of a type; empty if it has none."""
    kind = type_name
    for key in keys:
        if kind[:2] in ("[]", "{}"):
            kind = kind[2:]
            continue
        forms = choice(kind)
        inner = kind.partition("Or")[0] if forms else kind
        if isinstance(key, int):
            kind = inner if "[]" in forms else "s"
        else:
            kind = fields(inner).get(key, "") if knows(inner) else ""
    return kind


class _Reader:
    def __init__(self, opaque: frozenset[str]) -> None:
        self._opaque = opaque
        self.found: list[TypeDifference] = []

    def read(self, value: Any, kind: str, owner: str, keys: tuple[Key, ...]) -> Any:
        """Return `value`, read as type `kind` in a field of the type `owner`."""
        if value is None or kind == "any" or kind in self._opaque:
            return value
        if len(keys) > _MAX_DEPTH:
            return None
        if kind == "s":
            return value if type(value) is str else self._text(value, owner, keys)
        if kind.startswith("[]"):
            return self._list(value, kind[2:], owner, keys)
        if kind.startswith("{}"):
            return self._map(value, kind[2:], owner, keys)
        if kind in _WORDS:
            return value if _fits(value, kind) else self._misfit(value, kind, owner, keys)
        choice = _CHOICES.get(_without_beta(kind))
        if choice is not None:
            return self._choice(value, kind, choice, owner, keys)
        if type(value) is not dict and not isinstance(value, Mapping):
            return self._misfit(value, "{}", owner, keys)
        return self._struct(value, kind, keys)

    def _struct(self, value: Mapping[str, Any], kind: str, keys: tuple[Key, ...]) -> Any:
        fields = table.accepted_types()[kind]
        result: dict[str, Any] = {}
        spelled: dict[str, str] = {}  # names in another case than their field
        for key, item in value.items():
            field = fields.get(key)
            name = key
            if field is None:
                if not keys and key in _EVERYWHERE:
                    result[key] = item
                    continue
                name = _lower_case_names(kind).get(key.lower(), "")
                if not name:
                    self._add(TypeMisfit.UNKNOWN, (*keys, key), kind, "")
                    continue
                self._add(TypeMisfit.CASE, (*keys, key), kind, name)
                field = fields[name]
            if type(item) is str and field.type == "s" and len(keys) < _MAX_DEPTH:
                read = item
            else:
                read = self.read(item, field.type, kind, (*keys, key))
            if name is not key or spelled:
                # Of two spellings of one field, readers keep the one that sorts last.
                if key < spelled.get(name, name if name in result else ""):
                    continue
                spelled[name] = key
            result[name] = read
        for name in _required_fields(kind):
            if result.get(name) is None:
                self._add(TypeMisfit.MISSING, keys, kind, name)
        return result

    def _list(self, value: Any, kind: str, owner: str, keys: tuple[Key, ...]) -> Any:
        if not isinstance(value, list):
            return self._misfit(value, "[]", owner, keys)
        return [self.read(item, kind, owner, (*keys, index)) for index, item in enumerate(value)]

    def _map(self, value: Any, kind: str, owner: str, keys: tuple[Key, ...]) -> Any:
        if type(value) is not dict and not isinstance(value, Mapping):
            return self._misfit(value, "{}", owner, keys)
        return {key: self.read(item, kind, owner, (*keys, key)) for key, item in value.items()}

    def _text(self, value: Any, owner: str, keys: tuple[Key, ...]) -> Any:
        if isinstance(value, bool | int | float):
            self._add(TypeMisfit.TEXT, keys, owner, _WORDS["s"], _kind_of(value))
            return str(value).lower() if isinstance(value, bool) else str(value)
        return self._misfit(value, "s", owner, keys)

    def _choice(
        self, value: Any, kind: str, choice: tuple[str, ...], owner: str, keys: tuple[Key, ...]
    ) -> Any:
        inner = kind.partition("Or")[0]
        if isinstance(value, Mapping):
            return self._struct(value, inner, keys)
        if isinstance(value, bool) and "b" in choice:
            return value
        if isinstance(value, list) and "[]" in choice:
            return self._list(value, inner, owner, keys)
        if isinstance(value, list) and "[]s" in choice:
            return self._list(value, "s", owner, keys)
        return self._misfit(value, "{}", owner, keys)

    def _misfit(self, value: Any, kind: str, owner: str, keys: tuple[Key, ...]) -> None:
        words = {"[]": "a list", "{}": "a mapping"} | _WORDS
        self._add(TypeMisfit.TYPE, keys, owner, words[kind], _kind_of(value))

    def _add(
        self, misfit: TypeMisfit, keys: tuple[Key, ...], owner: str, expected: str, found: str = ""
    ) -> None:
        self.found.append(
            TypeDifference(misfit=misfit, keys=keys, type=owner, wanted=expected, found=found)
        )


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "JSONSchemaPropsOrBool": ("{}", "b"),
    "JSONSchemaPropsOrArray": ("{}", "[]"),
    "JSONSchemaPropsOrStringArray": ("{}", "[]s"),
}


def _without_beta(kind: str) -> str:
    return kind.replace("BetaOr", "Or")


def _fits(value: Any, kind: str) -> bool:
    if kind == "b":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    match kind:
        case "i":
            # A double without a fractional part is an integer too.
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and -(2**63) <= value < 2**63
        case "f":
            return isinstance(value, int | float)
        case "port":
            return isinstance(value, str) or (isinstance(value, int) and -(2**31) <= value < 2**31)
        case _:
            return _is_quantity(value)


def _is_quantity(value: Any) -> bool:
    if isinstance(value, str):
        return _QUANTITY.fullmatch(value) is not None
    return isinstance(value, int | float)


def _kind_of(value: Any) -> str:
    match value:
        case bool():
            return "`true` or `false`"
        case str():
            return f"`{value[:60]}`" if value else "an empty string"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "a mapping"


@functools.cache
def _lower_case_names(kind: str) -> Mapping[str, str]:
    return {name.lower(): name for name in table.accepted_types()[kind]}


@functools.cache
def _required_fields(kind: str) -> tuple[str, ...]:
    return tuple(name for name, field in table.accepted_types()[kind].items() if field.is_required)


def closest_field(name: str, type_name: str) -> str:
    """Return the field of the type whose name is closest to `name`, or an empty string."""
    import difflib

    close = difflib.get_close_matches(
        name, table.accepted_types().get(type_name, ()), n=1, cutoff=0.75
    )
    return close[0] if close else ""
