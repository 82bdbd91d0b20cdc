"""Decoding of built-in kinds into typed structures, as in an API server.

Unknown fields are dropped and reported; a value of the wrong type is an error for the whole object.
The schemas of CRDs are in `schemas`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.kube.objects import GVK, Manifest
from olmkit.kube.quantities import canonical
from olmkit.testing.apiserver.kinds import built_in_kinds

_SECRET = GVK("", "v1", "Secret")
_GO = {"s": "string", "b": "bool", "i": "int32", "f": "float64"}
_NOUNS: Mapping[type, str] = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
}


@dataclass(slots=True)
class Decoded:
    """An object after decoding.

    `unknown`: paths of dropped fields. `misfit`: the error of Go's decoder; empty if there is none.
    `declared`: the errors of server-side apply, one line for each field.
    """

    value: Any = None
    unknown: list[str] = field(default_factory=list)
    misfit: str = ""
    declared: list[str] = field(default_factory=list)


def decode(manifest: Manifest, type_name: str) -> Decoded:
    """Decode an object as a type of `built_in_kinds.fields`."""
    found = Decoded()
    found.value = _read(manifest, type_name, "", ("", ""), found)
    return found


def with_data(gvk: GVK, manifest: Manifest) -> Manifest:
    """Return a Secret with its `stringData` moved to `data`, as the server stores it."""
    if gvk != _SECRET or not isinstance(manifest.get("stringData"), Mapping):
        return manifest
    texts = manifest["stringData"]
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    rest = {key: value for key, value in manifest.items() if key != "stringData"}
    return rest | {"data": (manifest.get("data") or {}) | encoded}


def _read(value: Any, kind: str, path: str, owner: tuple[str, str], found: Decoded) -> Any:
    """Decode a value; `owner` is the type and the JSON path of the field in Go's messages."""
    if value is None or kind == "any":
        return value
    if kind.startswith("[]"):
        if not isinstance(value, list):
            return _misfit(value, f"[]{_GO.get(kind[2:], 'v1.' + kind[2:])}", path, owner, found)
        return [
            _read(item, kind[2:], f"{path}[{number}]", owner, found)
            for number, item in enumerate(value)
        ]
    if kind.startswith("{}"):
        if not isinstance(value, Mapping):
            return _misfit(value, f"map[string]{_GO.get(kind[2:], kind[2:])}", path, owner, found)
        return {
            key: _read(item, kind[2:], f"{path}.{key}", owner, found) for key, item in value.items()
        }
    if kind in _GO or kind in ("port", "quantity"):
        return _scalar(value, kind, path, owner, found)
    if not isinstance(value, Mapping):
        return _misfit(value, f"v1.{kind}", path, owner, found)
    return _structure(value, kind, path, owner, found)


def _structure(
    value: Mapping[str, Any], kind: str, path: str, owner: tuple[str, str], found: Decoded
) -> dict[str, Any]:
    fields, read = built_in_kinds.fields()[kind], {}
    for key, item in value.items():
        below = f"{path}.{key}" if path else key
        if key not in fields:
            found.unknown.append(below)
            found.declared.append(f".{below}: field not declared in schema")
        elif item is not None:
            place = f"{owner[1]}.{key}" if owner[1] else key
            read[key] = _read(item, fields[key], below, (kind, place), found)
    return read


def _scalar(value: Any, kind: str, path: str, owner: tuple[str, str], found: Decoded) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "s" if isinstance(value, str):
            return value
        case "b" if isinstance(value, bool):
            return value
        case "f" if is_number:
            return value
        case "i" if is_number and float(value).is_integer():
            return int(value)
        case "port" if isinstance(value, str) or (is_number and float(value).is_integer()):
            return value
        case "quantity" if is_number or isinstance(value, str):
            try:
                return canonical(str(value))
            except ValueError:
                found.misfit = found.misfit or (
                    "quantities must match the regular expression "
                    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                )
                return value
    return _misfit(value, _GO.get(kind, "string"), path, owner, found)


def _misfit(value: Any, wanted: str, path: str, owner: tuple[str, str], found: Decoded) -> Any:
    noun = _NOUNS.get(type(value), "value")
    if noun == "number" and wanted == "int32":
        noun = f"number {value}"
    kind, place = owner
    found.misfit = found.misfit or (
        f"json: cannot unmarshal {noun} into Go struct field {kind}.{place} of type {wanted}"
    )
    expected = {"int32": "numeric (int or float)", "float64": "numeric (int or float)"}
    due = expected.get(wanted, "boolean" if wanted == "bool" else wanted)
    found.declared.append(f".{path}: expected {due}, got {noun}")
    return value
