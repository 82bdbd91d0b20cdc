"""Type-check validation rules of CRDs like the API server.

Rules get the types of their schema. Without a compiler for Kubernetes' own library, results of its
functions are dynamic, and so are values without a type; the estimated cost of a rule is not
computed. Source: `k8s.io/apiserver/pkg/cel` and its libraries of Kubernetes 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from olmkit.base.cel import checking
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
# The checker does not support expressions that declare variables or select optionally.
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
_OF_OBJECTS: Final[Mapping[str, Any]] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {},
}


def fault(rule: Expr, text: str, schema: Any, *, is_object: bool, is_optional: bool) -> str:
    """Return why the API server does not compile a rule; empty if no reason is known.

    `is_object`: the schema is that of a whole object. `is_optional`: `oldSelf` is optional.
    """
    if _UNCHECKED.search(text):
        return ""
    types = _Types()
    own = types.of(
        {**schema, "properties": {**schema.get("properties", {}), **_OF_OBJECTS}}
        if is_object and isinstance(schema, dict)
        else schema
    )
    variables = {
        "self": own,
        "oldSelf": cel.DYN if is_optional else own,
        **dict.fromkeys(_NAMESPACES, cel.DYN),
    }
    try:
        result = checking.check(rule, variables, _FUNCTIONS, types.objects)
    except CelError as error:
        return _OBJECT.sub("object", error.message)
    return "" if result in (cel.BOOL, cel.DYN) else "cel expression must evaluate to a bool"


_OBJECT = re.compile(r"object#\d+")


class _Types:
    """The CEL types of schemas, created on demand.

    Each object has its own type; `objects` has their fields.
    """

    def __init__(self) -> None:
        self.objects: dict[str, _Fields] = {}

    def of(self, schema: Any) -> Type:
        if not isinstance(schema, dict):
            return cel.DYN
        if schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-embedded-resource"):
            return cel.DYN
        kind = schema.get("type")
        if kind == "array":
            return cel.list_of(self.of(schema.get("items")))
        if kind == "object":
            return self._object(schema)
        if kind == "string" and schema.get("format") in _TIMES:
            return cel.DYN
        if kind == "string" and schema.get("format") == "byte":
            return cel.BYTES
        return _SCALARS.get(kind, cel.DYN) if isinstance(kind, str) else cel.DYN

    def _object(self, schema: Mapping[str, Any]) -> Type:
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            return cel.map_of(cel.STRING, self.of(values))
        fields = schema.get("properties")
        if values or not isinstance(fields, dict) or not fields:
            return cel.DYN
        name = f"object#{len(self.objects)}"
        self.objects[name] = _Fields(self, fields)
        return Type(name)


class _Fields(dict[str, Type]):
    """The CEL types of an object's fields by their names in rules, created on demand."""

    def __init__(self, types: _Types, schemas: Mapping[str, Any]) -> None:
        super().__init__()
        self._types = types
        self._schemas = {_escape(str(key)): value for key, value in schemas.items()}

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self and name in self._schemas:
            self[name] = self._types.of(self._schemas[name])
        return super().get(name, default)


def _escape(name: str) -> str:
    """Return the name by which a rule selects a field."""
    if name in _WORDS:
        return f"__{name}__"
    if "_" not in name and name.isalnum():
        return name
    for text, escape in _ESCAPES:
        name = name.replace(text, escape)
    return name
