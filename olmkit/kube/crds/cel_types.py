"""The types in validation rules of CRDs: what does not go together is refused by the API server.

Rules get the types of the schema that they are on. Without a compiler of Kubernetes' own library,
results of its functions are dynamic, and so is what has no type; the estimated cost of a rule is
not computed. Source: `k8s.io/apiserver/pkg/cel` and its libraries of Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from olmkit.base.cel import expressions as cel
from olmkit.base.cel.expressions import CelError, Expr, Type

_ANY: Final = -1  # any number of arguments
_KUBERNETES: Final = [
    "add",
    "asApproximateFloat",
    "asInteger",
    "cidr",
    "ceil",
    "charAt",
    "compareTo",
    "containsCIDR",
    "containsIP",
    "distinct",
    "endsWith",
    "family",
    "find",
    "findAll",
    "first",
    "flatten",
    "floor",
    "format",
    "getEscapedPath",
    "getHost",
    "getHostname",
    "getPort",
    "getQuery",
    "getScheme",
    "greatest",
    "hasValue",
    "indexOf",
    "intersects",
    "ip",
    "isCIDR",
    "isCanonical",
    "isGlobalUnicast",
    "isGreaterThan",
    "isInteger",
    "isIP",
    "isLessThan",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isLoopback",
    "isQuantity",
    "isSemver",
    "isSorted",
    "isUnspecified",
    "isURL",
    "join",
    "last",
    "lastIndexOf",
    "least",
    "lowerAscii",
    "major",
    "masked",
    "max",
    "min",
    "minor",
    "none",
    "of",
    "ofNonZeroValue",
    "optional",
    "or",
    "orValue",
    "patch",
    "prefixLength",
    "quantity",
    "quote",
    "range",
    "replace",
    "reverse",
    "round",
    "semver",
    "sign",
    "slice",
    "sort",
    "split",
    "sub",
    "substring",
    "sum",
    "trim",
    "trunc",
    "upperAscii",
    "url",
    "validate",
    "value",
    "equivalent",
    "contains",
]
# Library names that look like a variable: `sets.contains(…)`.
_NAMESPACES: Final = ("sets", "math", "optional", "lists", "strings", "format", "authorizer", "cel")
# What declares variables or selects optionally has no form in the checker.
_UNCHECKED = re.compile(
    r"\?\.|\[\?|\b(?:optMap|optFlatMap|transformList|transformMap|transformMapEntry|sortBy|bind)\b"
)
_FUNCTIONS: Final = {
    **dict.fromkeys(_KUBERNETES, (_ANY, cel.DYN)),
    **dict.fromkeys(("endsWith", "contains", "isURL", "isIP", "isCIDR"), (_ANY, cel.BOOL)),
    **dict.fromkeys(("isQuantity", "isSemver", "isSorted", "isInteger"), (_ANY, cel.BOOL)),
}
_SCALARS: Final = {
    "string": cel.STRING,
    "integer": cel.INT,
    "number": cel.DOUBLE,
    "boolean": cel.BOOL,
}
_TIMES: Final = ("date", "date-time", "datetime", "duration")
_ESCAPES: Final = (
    ("__", "__underscores__"),
    (".", "__dot__"),
    ("-", "__dash__"),
    ("/", "__slash__"),
)
_WORDS: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_MAX_DEPTH: Final = 60


def fault(rule: Expr, text: str, schema: Any, *, is_object: bool, is_optional: bool) -> str:
    """Why the API server does not compile a rule; empty if no reason is known.

    `is_object`: the schema is that of a whole object. `is_optional`: `oldSelf` is optional.
    """
    if _UNCHECKED.search(text):
        return ""
    types = _Types()
    own = types.of(schema, 0)
    if is_object and own.name in types.objects:
        types.objects[own.name] |= {
            "apiVersion": cel.STRING,
            "kind": cel.STRING,
            "metadata": cel.DYN,
        }
    variables = {
        "self": own,
        "oldSelf": cel.DYN if is_optional else own,
        **dict.fromkeys(_NAMESPACES, cel.DYN),
    }
    try:
        result = cel.check(rule, variables, _FUNCTIONS, types.objects)
    except CelError as error:
        return _OBJECT.sub("object", error.message)
    return "" if result in (cel.BOOL, cel.DYN) else "cel expression must evaluate to a bool"


_OBJECT = re.compile(r"object#\d+")


class _Types:
    """The types of schemas. Each object has a type of its own, with its fields in `objects`."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Type]] = {}

    def of(self, schema: Any, depth: int) -> Type:
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return cel.DYN
        if schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-embedded-resource"):
            return cel.DYN
        kind = schema.get("type")
        if kind == "array":
            return cel.list_of(self.of(schema.get("items"), depth + 1))
        if kind == "object":
            return self._object(schema, depth)
        if kind == "string" and schema.get("format") in _TIMES:
            return cel.DYN
        if kind == "string" and schema.get("format") == "byte":
            return cel.BYTES
        return _SCALARS.get(kind, cel.DYN) if isinstance(kind, str) else cel.DYN

    def _object(self, schema: Mapping[str, Any], depth: int) -> Type:
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            return cel.map_of(cel.STRING, self.of(values, depth + 1))
        fields = schema.get("properties")
        if values or not isinstance(fields, dict) or not fields:
            return cel.DYN
        name = f"object#{len(self.objects)}"
        known: dict[str, Type] = {}
        self.objects[name] = known
        for key, value in fields.items():
            known[_escaped(str(key))] = self.of(value, depth + 1)
        return Type(name)


def _escaped(name: str) -> str:
    """The name by which a rule selects a field."""
    if name in _WORDS:
        return f"__{name}__"
    for text, escape in _ESCAPES:
        name = name.replace(text, escape)
    return name
