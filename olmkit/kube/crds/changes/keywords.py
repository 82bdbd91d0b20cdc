"""The keywords of a schema, and the values that they allow.

Pure functions of one schema or of two values of one keyword; comparing whole schemas is in
`schemas`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from olmkit.kube.objects import mapping, sequence

Schema = Mapping[str, Any]

ANY: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}
KEEPS: Final = "x-kubernetes-preserve-unknown-fields"
EITHER: Final = "x-kubernetes-int-or-string"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
RULES: Final = "x-kubernetes-validations"
JUNCTORS: Final = ("allOf", "anyOf", "oneOf", "not")
# The types of values that a keyword limits.
LOWER: Final = {
    "minimum": "number",
    "minLength": "string",
    "minItems": "array",
    "minProperties": "object",
}
UPPER: Final = {
    "maximum": "number",
    "maxLength": "string",
    "maxItems": "array",
    "maxProperties": "object",
}
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_NOUNS: Final = {"string": "characters", "array": "items", "object": "fields"}
# Formats of strings that the API server checks; others it ignores.
_FORMATS: Final = frozenset(
    {
        *("bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid"),
        *("uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor"),
        *("rgbcolor", "byte", "date", "duration", "datetime", "k8s-short-name", "k8s-long-name"),
    }
)
# Other number formats allow any number that JSON can express.
_NARROW_FORMATS: Final = {"integer": ("int32",), "number": ("float",)}


def kinds(schema: Schema) -> frozenset[str] | None:
    """Return the types of values that a schema accepts; None for all."""
    if schema.get(EITHER):
        return frozenset({"integer", "string"})
    kind = schema.get("type")
    if not isinstance(kind, str) or not kind:
        return None
    return frozenset({"number", "integer"} if kind == "number" else {kind})


def applies(kinds: frozenset[str] | None, kind: str) -> bool:
    """Return whether `kind` is among `kinds`; None means all of them, and integers are numbers."""
    return kinds is None or kind in kinds or (kind == "number" and "integer" in kinds)


def type_name(schema: Schema) -> str:
    """Return the type of a schema, for messages."""
    if schema.get(EITHER):
        return "integer or string"
    kind = schema.get("type")
    return kind if isinstance(kind, str) and kind else "any type"


def rest_of(schema: Schema) -> Schema | None:
    """Return the schema of fields without a declared one; None if they are dropped."""
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return values
    if values is True or schema.get(KEEPS) or kinds(schema) is None:
        return ANY
    return None


def is_any(schema: Schema) -> bool:
    """Return whether a schema certainly accepts every value."""
    return schema.keys() <= {KEEPS, "description", "title", "nullable", "example"}


def has_conditions(schema: Schema) -> bool:
    """Return whether alternatives or rules may depend on any value inside."""
    if schema.get(RULES):
        return True
    return any(
        schema.get(keyword) and not (keyword == "anyOf" and schema["anyOf"] == _INT_OR_STRING)
        for keyword in JUNCTORS
    )


def narrows_alternatives(keyword: str, before: Any, after: Any, new: Schema) -> bool:
    """Return whether a value that matched the old alternatives may not match the new ones."""
    if not after:
        return False
    if keyword == "anyOf" and after == _INT_OR_STRING and new.get(EITHER):
        return False
    if keyword == "allOf":
        return any(one not in sequence(before) for one in sequence(after))
    if keyword == "anyOf" and before:
        return any(one not in sequence(after) for one in sequence(before))
    return True


def narrows(name: str, old: Schema, new: Schema) -> bool:
    """Return whether the new schema has a format that the API server did not check before."""
    before, kind = kinds(old), new.get("type")
    if kind in _NARROW_FORMATS:
        return name in _NARROW_FORMATS[str(kind)] and applies(before, "number")
    if kind not in (None, "", "string") or not applies(before, "string"):
        return False
    return name in _FORMATS or name.replace("-", "") in _FORMATS


def limit_words(keyword: str, limit: float) -> str:
    """Return a limit as a clause after `must`: `be at least 3`, `have at most 5 items`."""
    kind = {**LOWER, **UPPER}[keyword]
    size = "at least" if keyword.startswith("min") else "at most"
    if kind == "number":
        return f"be {size} {short(limit)}"
    noun = _NOUNS[kind] if limit != 1 else _NOUNS[kind].removesuffix("s")
    return f"have {size} {short(limit)} {noun}"


def is_multiple(number: float | None, factor: float | None) -> bool:
    """Return whether `number` is a multiple of `factor`; False if either is absent or zero."""
    if not number or not factor:
        return False
    quotient = number / factor
    return quotient == int(quotient)


def rule_text(rule: Any) -> str:
    """Return the CEL expression of an entry of `x-kubernetes-validations`; empty if it has none."""
    found = mapping(rule).get("rule")
    return found.strip() if isinstance(found, str) else ""


def kebab(keyword: str) -> str:
    """Convert `maxItems` to `max-items`, as in names of rules."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", keyword).lower()


def short(value: Any) -> str:
    """Return a value in backticks, for messages: at most 80 characters of it."""
    words = value if isinstance(value, str) else canonical_text(value)
    return f"`{words}`" if len(words) <= 80 else f"`{words[:77]}…`"


def list_first(values: list[Any]) -> str:
    """Return the first five values and the count of the rest, for messages."""
    shown_values = ", ".join(short(one) for one in values[:5])
    more = len(values) - 5
    return shown_values if more <= 0 else f"{shown_values} and {more} more"


def canonical_text(value: Any) -> str:
    """Return a value as JSON; equal for equal values, and only for those."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def number(value: Any) -> float | None:
    """Return `value` as a number; None if it is not one, such as a boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def names(value: Any) -> frozenset[str]:
    """Return the strings in `value` if it is a list; items of other types are left out."""
    return frozenset(one for one in sequence(value) if isinstance(one, str))
