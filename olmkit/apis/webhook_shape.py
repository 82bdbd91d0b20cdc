"""The fields of a webhook in a configuration, for patches and serialization.

The reference converts each webhook to the API's types and back. So unknown fields are refused, and
empty fields that these types omit are omitted.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class _Scalar(Enum):
    TEXT = "a text"
    NUMBER = "a whole number"
    BYTES = "bytes in base64"


@dataclass(frozen=True, slots=True)
class _List:
    item: _Shape


@dataclass(frozen=True, slots=True)
class _Texts:
    """Strings by any keys."""


@dataclass(frozen=True, slots=True)
class _Object:
    """`always`: the fields that are written even if they are empty."""

    fields: Mapping[str, _Shape]
    always: tuple[str, ...] = ()


_Shape = _Scalar | _List | _Texts | _Object

_TEXT, _TEXT_LIST = _Scalar.TEXT, _List(_Scalar.TEXT)
_SELECTOR = _Object(
    {
        "matchLabels": _Texts(),
        "matchExpressions": _List(
            _Object(
                {"key": _TEXT, "operator": _TEXT, "values": _TEXT_LIST}, always=("key", "operator")
            )
        ),
    }
)
_SERVICE = _Object(
    {"name": _TEXT, "namespace": _TEXT, "path": _TEXT, "port": _Scalar.NUMBER},
    always=("name", "namespace"),
)
_RULE = _Object(
    {
        "apiGroups": _TEXT_LIST,
        "apiVersions": _TEXT_LIST,
        "operations": _TEXT_LIST,
        "resources": _TEXT_LIST,
        "scope": _TEXT,
    }
)
_WEBHOOK = _Object(
    {
        "admissionReviewVersions": _TEXT_LIST,
        "clientConfig": _Object({"caBundle": _Scalar.BYTES, "service": _SERVICE, "url": _TEXT}),
        "failurePolicy": _TEXT,
        "matchConditions": _List(
            _Object({"name": _TEXT, "expression": _TEXT}, always=("name", "expression"))
        ),
        "matchPolicy": _TEXT,
        "name": _TEXT,
        "namespaceSelector": _SELECTOR,
        "objectSelector": _SELECTOR,
        "reinvocationPolicy": _TEXT,
        "rules": _List(_RULE),
        "sideEffects": _TEXT,
        "timeoutSeconds": _Scalar.NUMBER,
    },
    always=("name",),
)


def fault(patch: Any) -> str:
    """Return why a patch does not match a webhook, as a sentence; an empty string if it does.

    `null` is valid for every field: it removes the field.
    """
    return _fault(patch, _WEBHOOK, "")


def dump(webhook: Mapping[str, Any]) -> dict[str, Any]:
    """Return the webhook without empty fields that are not written."""
    found: dict[str, Any] = _dump(webhook, _WEBHOOK)
    return found


def _fault(value: Any, shape: _Shape, path: str) -> str:
    match shape:
        case _Object(fields=fields) if isinstance(value, Mapping):
            unknown = next((f"{path}.{key}" for key in value if key not in fields), "")
            if unknown:
                return f"patches `{unknown.lstrip('.')}`, which a webhook does not have"
            inner = ((one, fields[key], f"{path}.{key}") for key, one in value.items())
        case _Texts() if isinstance(value, Mapping):
            inner = ((one, _TEXT, f"{path}.{key}") for key, one in value.items())
        case _List(item=item) if isinstance(value, list):
            faults = (_fault(one, item, f"{path}[{index}]") for index, one in enumerate(value))
            return next(filter(None, faults), "")
        case _Scalar() if _is_scalar(value, shape):
            return ""
        case _:
            return f"has a patch whose `{path.lstrip('.') or 'whole'}` is not {_form(shape)}"
    faults = (_fault(one, form, at) for one, form, at in inner if one is not None)
    return next(filter(None, faults), "")


def _form(shape: _Shape) -> str:
    match shape:
        case _Scalar():
            return shape.value
        case _List():
            return "a list"
        case _:
            return "an object"


def _is_scalar(value: Any, shape: _Scalar) -> bool:
    match shape:
        case _Scalar.NUMBER:
            return isinstance(value, int) and not isinstance(value, bool)
        case _Scalar.TEXT:
            return isinstance(value, str)
        case _Scalar.BYTES:
            return isinstance(value, str) and _is_base64(value)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _dump(value: Any, shape: _Shape) -> Any:
    match shape:
        case _Object(fields=fields, always=always):
            found = {
                key: _dump(inner, fields[key])
                for key, inner in value.items()
                if inner is not None and (inner or not isinstance(fields[key], _List | _Texts))
            }
            return dict.fromkeys(always, "") | found
        case _List(item=item):
            return [_dump(inner, item) for inner in value]
        case _:
            return value
