"""Serialize objects like Kubernetes' Go types.

Tools that read an object into typed structures and write it again leave out empty optional fields,
write required ones even if they are empty, and use one spelling of quantities. `conform` does the
same from a table of fields, so that olmkit writes the same bytes as these tools. There is one
difference: fields that are not in the table are kept, because dropping them would lose the author's
input.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from typing import Any

from olmkit.kube import quantities
from olmkit.kube.builtin import table
from olmkit.kube.builtin.table import TypeField

Key = str | int


class BuiltinTypeError(ValueError):
    """A value has a type that Kubernetes rejects."""

    def __init__(self, message: str, keys: tuple[Key, ...]) -> None:
        super().__init__(message)
        self.message = message
        self.keys = keys


_WORDS = {"s": "a string", "b": "`true` or `false`", "i": "a whole number", "f": "a number"}


def conform(value: Any, type_name: str, keys: tuple[Key, ...] = ()) -> Any:
    """Return `value` as the type `type_name` is written.

    Raises `BuiltinTypeError` with the place below `keys` for a value of a wrong type.
    """
    return _conform(value, type_name, keys)


def _conform(value: Any, type_name: str, keys: tuple[Key, ...]) -> Any:
    if type_name.startswith("*"):
        return None if value is None else _conform(value, type_name[1:], keys)
    if type_name.startswith("[]"):
        return _list(value, type_name[2:], keys)
    if type_name.startswith("{}"):
        return _map(value, type_name[2:], keys)
    if type_name == "any":
        return value
    if type_name.endswith("|any"):
        is_struct = isinstance(value, Mapping)
        return _struct(value, type_name.removesuffix("|any"), keys) if is_struct else value
    if type_name in _SCALARS:
        return _scalar(value, type_name, keys)
    return _struct(value, type_name, keys)


def _struct(value: Any, type_name: str, keys: tuple[Key, ...]) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise BuiltinTypeError(f"`{_path(keys)}` must be a mapping", keys)
    given = value or {}
    fields = table.written_types()[type_name]
    result: dict[str, Any] = {}
    for name, item in given.items():
        field = fields.get(name)
        if field is None:
            result[name] = item
            continue
        conformed = _conform(item, field.type, (*keys, name))
        if field.is_required or not _is_left_out(conformed, field):
            result[name] = conformed
    for name, empty in _always(type_name).items():
        if name not in given:
            result[name] = copy.deepcopy(empty)
    return result


@functools.cache
def _always(type_name: str) -> Mapping[str, Any]:
    """Return the values that a type writes for unset fields."""
    empty = {
        name: (_conform(None, field.type, ()), field)
        for name, field in table.written_types()[type_name].items()
        if field.type != "any"
    }
    return {
        name: value
        for name, (value, field) in empty.items()
        if field.is_required or not _is_left_out(value, field)
    }


def _list(value: Any, type_name: str, keys: tuple[Key, ...]) -> Any:
    if value is None:
        return None
    if not isinstance(value, list):
        raise BuiltinTypeError(f"`{_path(keys)}` must be a list", keys)
    return [_conform(item, type_name, (*keys, index)) for index, item in enumerate(value)]


def _map(value: Any, type_name: str, keys: tuple[Key, ...]) -> Any:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise BuiltinTypeError(f"`{_path(keys)}` must be a mapping", keys)
    return {key: _conform(item, type_name, (*keys, key)) for key, item in value.items()}


def _scalar(value: Any, type_name: str, keys: tuple[Key, ...]) -> Any:
    if value is None:
        return _ZERO[type_name]
    match type_name:
        case "s" if isinstance(value, str):
            return value
        case "b" if isinstance(value, bool):
            return value
        case "i" | "f" if _is_number(value):
            if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
                return int(value)
            if type_name == "f" or isinstance(value, int):
                return value
        case "port" if isinstance(value, str) or (isinstance(value, int) and _is_number(value)):
            return value
        case "quantity" if isinstance(value, str) or _is_number(value):
            return _quantity(value, keys)
    words = _WORDS.get(type_name, "a whole number or a string")
    raise BuiltinTypeError(f"`{_path(keys)}` must be {words}, not {_kind_of(value)}", keys)


def _quantity(value: str | float, keys: tuple[Key, ...]) -> str:
    try:
        return quantities.canonical(str(value))
    except ValueError:
        raise BuiltinTypeError(
            f"`{_path(keys)}` must be a quantity such as `500m` or `1Gi`", keys
        ) from None


_ZERO: Mapping[str, Any] = {"s": "", "b": False, "i": 0, "f": 0, "port": 0, "quantity": "0"}
_SCALARS = frozenset(_ZERO)


def _is_left_out(value: Any, field: TypeField) -> bool:
    if value is None:
        return True
    if field.type.startswith("*"):
        return False
    if field.type[:2] in ("[]", "{}"):
        return not value
    # Quantities and ports are structures in Go, which are never "empty" there.
    if field.type in ("s", "b", "i", "f"):
        return bool(value == _ZERO[field.type])
    return field.omit_zero and not value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind_of(value: Any) -> str:
    match value:
        case bool():
            return "`true` or `false`"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _path(keys: tuple[Key, ...]) -> str:
    words = ""
    for key in keys:
        if isinstance(key, int):
            words += f"[{key}]"
        else:
            words += f".{key}" if words else key
    return words
