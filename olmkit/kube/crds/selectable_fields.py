"""Check the paths of selectable fields of a CRD.

As the API server's `ValidFieldPath` without array notation: a dot and a name for each field, which
the schema has by name or as a key of a mapping (k8s.io/apiextensions-apiserver 1.30 and later).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from olmkit.base import texts

MOST: Final = 8  # MaxSelectableFields
_SCALARS: Final = ("string", "boolean", "integer")


def problem(schema: Any, path: str) -> str:
    """Return the API server's error for a path in the schema; empty if it is valid."""
    if not path.startswith("."):
        name = path.replace("[", ".").partition(".")[0]
        found = (
            "array notation is not allowed"
            if path.startswith("[")
            else (f"expected [ or . but got: {texts.shorten(name)}")
        )
        return f"is an invalid path: {found}"
    node: Any = schema
    names = path[1:].split(".")
    for name in names:
        if not name:
            return "is an invalid path: unexpected end of JSON path"
        if "[" in name:
            return "is an invalid path: array notation is not allowed"
        fields = node.get("properties") if isinstance(node, Mapping) else None
        others = node.get("additionalProperties") if isinstance(node, Mapping) else None
        if isinstance(fields, Mapping) and name in fields:
            node = fields[name]
        elif fields is None and isinstance(others, Mapping):
            node = others
        else:
            return "is an invalid path: does not refer to a valid field"
    if names[0] == "metadata":
        return "must not point to fields in metadata"
    if not isinstance(node, Mapping) or node.get("type") not in _SCALARS:
        return (
            "must point to a field of type string, boolean or integer. Enum string fields and "
            "strings with formats are allowed."
        )
    return ""
