"""Check whether paths of columns and of the scale subresource exist in the schema.

The API server accepts any path: a column stays empty, and `kubectl scale` fails. Only certain
errors are reported: a filter, an index or a wildcard is skipped, and fields that the schema keeps
without declaring them are not reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

# A name, or something in brackets; anything else that JSONPath allows ends the check.
_STEP: Final = re.compile(r"\.([A-Za-z_][\w-]*)|\[([^\]]*)\]")
_KEEPS_UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"
# The API server adds these to every object; the schema of a CRD does not repeat them.
_OF_EVERY_OBJECT: Final = frozenset({"apiVersion", "kind", "metadata"})


def missing_field(schema: Mapping[str, Any], path: str) -> str:
    """Return the path up to the first unknown field; empty if there is none."""
    node: Any = schema
    at = 0
    while match := _STEP.match(path, at):
        name = match[1]
        if name is None:
            node = node.get("items")
        elif at == 0 and name in _OF_EVERY_OBJECT:
            return ""
        else:
            if _may_have_others(node):
                return ""
            fields = node.get("properties")
            if not isinstance(fields, Mapping) or name not in fields:
                return path[: match.end()]
            node = fields[name]
        if not isinstance(node, Mapping):
            return ""
        at = match.end()
    return ""


def _may_have_others(node: Mapping[str, Any]) -> bool:
    return bool(
        node.get(_KEEPS_UNKNOWN)
        or node.get("additionalProperties")
        or node.get("x-kubernetes-embedded-resource")
        or "$ref" in node
        or "allOf" in node
    )
