"""Apply markers to schemas.

One small function for each marker or family. Checks use the schema at the time when the marker is
applied, so `Type` is applied first and can make others valid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from olmkit.apis.crds.flatten import RULES, Schema
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Marker
from olmkit.apis.markers.table import ITEMS, VALIDATION


class DoesNotFitError(Exception):
    """A marker is not valid on this schema; the message says why."""


Effect = Callable[[Schema, Marker], None]
_EFFECTS: dict[str, Effect] = {}
_REASONS = (
    "FieldValueRequired",
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueDuplicate",
)
# Go's definition of an absolute URL, or an absolute path.
_ESCAPED, _ANY = "%[0-9A-Fa-f]{2}", "[^\x00-\x1f\x7f]"
_USER = rf"(?:[-A-Za-z0-9._:~!$&'()*+,;=@]|{_ESCAPED})*@"
_NAME = r"(?:[-A-Za-z0-9_.~!$&'()*+,;=<>\"]|[^\x00-\x7f]|%25|%[89A-Fa-f][0-9A-Fa-f])*"
_HOST = rf"(?:{_USER})?(?:\[[0-9A-Fa-f:.]+\]|{_NAME})(?::[0-9]*)?(?=[/?]|\Z)"
_PATH = rf"(?:[^\x00-\x1f\x7f%?]|{_ESCAPED})*(?:\?{_ANY}*)?"
_URL = re.compile(
    rf"[A-Za-z][-+.A-Za-z0-9]*:(?:(?!/){_ANY}*|(?://{_HOST}|(?!//)){_PATH})|(?=/){_PATH}|\*"
)
PRESERVING = frozenset(
    {
        "kubebuilder:pruning:PreserveUnknownFields",
        VALIDATION + "XPreserveUnknownFields",
        VALIDATION + "Schemaless",
        VALIDATION + "Type",
    }
)
_FIRST = frozenset({VALIDATION + "Type", VALIDATION + "XIntOrString"})
_EARLY = frozenset({"listType", "k8s:listType", "default"})
_LAST = {
    VALIDATION + "AtMostOneOf": 11,
    VALIDATION + "ExactlyOneOf": 12,
    VALIDATION + "AtLeastOneOf": 13,
}


def apply(schema: Schema, markers: Iterable[Marker], findings: Findings) -> None:
    """Apply all markers that have an effect, in the order that their meaning requires."""
    for marker in sorted(markers, key=_priority):
        target = schema
        name = marker.name
        try:
            if name.startswith(ITEMS):
                target = _items(schema)
                name = VALIDATION + name.removeprefix(ITEMS)
            effect = _EFFECTS.get(name)
            if effect:
                effect(target, marker)
        except DoesNotFitError as reason:
            findings.add(
                "API009", f"`+{marker.name}` {reason}", marker.at, hint=_hint(marker, schema)
            )


def _priority(marker: Marker) -> tuple[bool, int, int]:
    name = (
        VALIDATION + marker.name.removeprefix(ITEMS)
        if marker.name.startswith(ITEMS)
        else marker.name
    )
    base = 0 if name in _FIRST else 1 if name in _EARLY else 2
    return (marker.name.startswith(ITEMS), _LAST.get(name, 10 if base == 2 else 9), base)


def _hint(marker: Marker, schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string") or "type" in schema:
        return ""
    return (
        f"set the type with `+{VALIDATION}Type=…` next to it" if "type" not in marker.name else ""
    )


def _items(schema: Schema) -> Schema:
    if schema.get("type") != "array" or not isinstance(schema.get("items"), dict):
        raise DoesNotFitError("needs a list with a known item type")
    items: Schema = schema["items"]
    return items


def _effect(*names: str) -> Callable[[Effect], Effect]:
    def register(effect: Effect) -> Effect:
        for name in names:
            _EFFECTS[name] = effect
        return effect

    return register


def is_numeric(schema: Schema) -> bool:
    """Return whether the schema is of type `integer` or `number`."""
    return schema.get("type") in ("integer", "number")


def is_textual(schema: Schema) -> bool:
    """Return whether values may be strings: of type `string`, or int-or-string."""
    return schema.get("type") == "string" or bool(schema.get("x-kubernetes-int-or-string"))


def _needs(fits: bool, what: str, schema: Schema) -> None:
    if not fits:
        kind = schema.get("type")
        raise DoesNotFitError(
            f"needs {what}, and the type is " + (f"`{kind}`" if kind else "unknown")
        )


def _bound(keyword: str) -> Effect:
    def effect(schema: Schema, marker: Marker) -> None:
        _needs(is_numeric(schema), "a number", schema)
        value = marker.value
        whole = isinstance(value, int) or (math.isfinite(value) and float(value).is_integer())
        if schema["type"] == "integer" and not whole:
            raise DoesNotFitError(f"is `{value}`, and the type is `integer`")
        if not math.isfinite(value):
            raise DoesNotFitError(f"is `{value}`, which JSON cannot represent")
        schema[keyword] = value

    return effect


for _keyword in ("maximum", "minimum", "multipleOf"):
    _EFFECTS[VALIDATION + _keyword[0].upper() + _keyword[1:]] = _bound(_keyword)
_EFFECTS["k8s:minimum"] = _bound("minimum")
_EFFECTS["k8s:maximum"] = _bound("maximum")


@_effect(VALIDATION + "ExclusiveMaximum", VALIDATION + "ExclusiveMinimum")
def _exclusive(schema: Schema, marker: Marker) -> None:
    _needs(is_numeric(schema), "a number", schema)
    keyword = "exclusiveMaximum" if marker.name.endswith("Maximum") else "exclusiveMinimum"
    schema.pop(keyword, None)
    if marker.value:
        schema[keyword] = True


def _size(keyword: str, fits: Callable[[Schema], bool], what: str) -> Effect:
    def effect(schema: Schema, marker: Marker) -> None:
        _needs(fits(schema), what, schema)
        schema[keyword] = marker.value
        if marker.value is False or marker.value == "":  # they have no effect; 0 has one
            del schema[keyword]

    return effect


def is_list(schema: Schema) -> bool:
    """Return whether the schema is of type `array`."""
    return schema.get("type") == "array"


def is_object(schema: Schema) -> bool:
    """Return whether the schema is of type `object`."""
    return schema.get("type") == "object"


for _keyword, _fits, _what in (
    ("maxLength", is_textual, "a text"),
    ("minLength", is_textual, "a text"),
    ("pattern", is_textual, "a text"),
    ("maxItems", is_list, "a list"),
    ("minItems", is_list, "a list"),
    ("uniqueItems", is_list, "a list"),
    ("maxProperties", is_object, "an object"),
    ("minProperties", is_object, "an object"),
):
    _EFFECTS[VALIDATION + _keyword[0].upper() + _keyword[1:]] = _size(_keyword, _fits, _what)
_EFFECTS["k8s:maxItems"] = _size("maxItems", is_list, "a list")


@_effect(VALIDATION + "Enum")
def _enum(schema: Schema, marker: Marker) -> None:
    if marker.value:
        schema["enum"] = list(marker.value)
    else:
        schema.pop("enum", None)


@_effect(VALIDATION + "Format")
def _format(schema: Schema, marker: Marker) -> None:
    _put(schema, "format", marker.value)


@_effect(VALIDATION + "Type")
def _type(schema: Schema, marker: Marker) -> None:
    _put(schema, "type", marker.value)


def _put(schema: Schema, keyword: str, value: str) -> None:
    if value:
        schema[keyword] = value
    else:
        schema.pop(keyword, None)


@_effect("kubebuilder:pruning:PreserveUnknownFields", VALIDATION + "XPreserveUnknownFields")
def _preserve(schema: Schema, marker: Marker) -> None:  # noqa: ARG001 - fulfils Effect
    schema["x-kubernetes-preserve-unknown-fields"] = True


@_effect(VALIDATION + "XEmbeddedResource", VALIDATION + "EmbeddedResource")
def _embedded_resource(schema: Schema, marker: Marker) -> None:  # noqa: ARG001 - fulfils Effect
    schema["x-kubernetes-embedded-resource"] = True


@_effect(VALIDATION + "XIntOrString")
def _int_or_string(schema: Schema, marker: Marker) -> None:  # noqa: ARG001 - fulfils Effect
    schema["x-kubernetes-int-or-string"] = True


@_effect("nullable")
def _nullable(schema: Schema, marker: Marker) -> None:  # noqa: ARG001 - fulfils Effect
    schema["nullable"] = True


@_effect("kubebuilder:default")
def _default(schema: Schema, marker: Marker) -> None:
    is_empty_list = is_list(schema) and marker.value == {} and isinstance(marker.value, dict)
    schema["default"] = [] if is_empty_list else marker.value


@_effect("default")
def _json_default(schema: Schema, marker: Marker) -> None:
    if marker.value is not None:
        schema["default"] = marker.value


@_effect("kubebuilder:example")
def _example(schema: Schema, marker: Marker) -> None:
    schema["example"] = marker.value


@_effect("kubebuilder:title")
def _title(schema: Schema, marker: Marker) -> None:
    if not isinstance(marker.value, str):
        raise DoesNotFitError("needs a string: put the value in double quotes")
    _put(schema, "title", marker.value)


@_effect("kubebuilder:externalDocs")
def _external_docs(schema: Schema, marker: Marker) -> None:
    url = marker.get("url")
    if _URL.fullmatch(url) is None:
        raise DoesNotFitError(f"needs an absolute URL, not `{url}`")
    schema["externalDocs"] = {"url": url}
    if marker.get("description"):
        schema["externalDocs"]["description"] = marker.get("description")


@_effect(VALIDATION + "XValidation")
def _rule(schema: Schema, marker: Marker) -> None:
    reason = marker.get("reason")
    if reason and reason not in _REASONS:
        raise DoesNotFitError(
            f"has the unknown reason `{reason}`; allowed are "
            + ", ".join(f"`{r}`" for r in _REASONS)
        )
    rule = {key: value for key, value in marker.arguments.items() if value not in ("", None)}
    rule.setdefault("rule", "")
    _add_rule(schema, rule)


def _add_rule(schema: Schema, rule: Schema) -> None:
    # The list may be shared with the schema of the type.
    schema[RULES] = [*schema.get(RULES, ()), rule]


@_effect("listType", "k8s:listType")
def _list_type(schema: Schema, marker: Marker) -> None:
    _needs(is_list(schema), "a list", schema)
    _one_of(marker.value, ("map", "set", "atomic"))
    schema["x-kubernetes-list-type"] = marker.value


@_effect("listMapKey", "k8s:listMapKey")
def _list_map_key(schema: Schema, marker: Marker) -> None:
    _needs(is_list(schema), "a list", schema)
    if schema.get("x-kubernetes-list-type") != "map":
        raise DoesNotFitError("needs `+listType=map` next to it")
    keys = schema.get("x-kubernetes-list-map-keys", [])
    if marker.value not in keys:
        schema["x-kubernetes-list-map-keys"] = [*keys, marker.value]


@_effect("mapType")
def _map_type(schema: Schema, marker: Marker) -> None:
    _needs(is_object(schema), "an object", schema)
    _one_of(marker.value, ("granular", "atomic"))
    schema["x-kubernetes-map-type"] = marker.value


@_effect("structType")
def _struct_type(schema: Schema, marker: Marker) -> None:
    _needs(schema.get("type", "object") == "object", "an object", schema)
    _one_of(marker.value, ("granular", "atomic"))
    schema["x-kubernetes-map-type"] = marker.value


@_effect("k8s:immutable")
def _immutable(schema: Schema, marker: Marker) -> None:  # noqa: ARG001 - fulfils Effect
    _add_rule(schema, {"rule": "self == oldSelf", "message": "field is immutable"})


@_effect("k8s:enum")
def _k8s_enum(schema: Schema, marker: Marker) -> None:  # noqa: ARG001 - fulfils Effect
    if not is_textual(schema) or "enum" not in schema:
        raise DoesNotFitError("belongs on an enumeration of strings")
    schema["enum"] = sorted(schema["enum"], key=str.encode)


def _one_of(value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise DoesNotFitError(
            f"is `{value}`; allowed are " + ", ".join(f"`{one}`" for one in allowed)
        )


@_effect(VALIDATION + "AtMostOneOf", VALIDATION + "ExactlyOneOf", VALIDATION + "AtLeastOneOf")
def _one_of_fields(schema: Schema, marker: Marker) -> None:
    names = marker.value
    if not names:
        return
    if any("." in name for name in names):
        raise DoesNotFitError("takes fields of this type only, without a dot in their names")
    required = [name for name in names if name in schema.get("required", ())]
    if required:
        raise DoesNotFitError(f"names `{required[0]}`, which is required")
    words = " ".join(names)
    if marker.name.endswith("AtLeastOneOf"):
        rule = "||".join(f"has(self.{name})" for name in names)
        message = f"at least one of the fields in [{words}] must be set"
    else:
        total = "+".join(f"(has(self.{name})?1:0)" for name in names)
        if marker.name.endswith("AtMostOneOf"):
            rule, message = f"{total} <= 1", f"at most one of the fields in [{words}] may be set"
        else:
            rule, message = f"{total} == 1", f"exactly one of the fields in [{words}] must be set"
    _add_rule(schema, {"rule": rule, "message": message})
