"""The fields of a CRD's schema, as a tree of rows."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from olmkit.base.json import text as json_text
from olmkit.hub import paths
from olmkit.hub.pages.kind_pages import CrdPage, Field
from olmkit.hub.pages.page_parts import Badge
from olmkit.kube.objects import Manifest, mapping, sequence, text

_MAX_DEPTH: Final = 14
_MAX_FIELDS: Final = 4000
_REFERENCE: Final = "https://kubernetes.io/docs/reference/kubernetes-api/"
# Types of Kubernetes that CRDs embed, identified by properties that only they have.
_KNOWN: Final = (
    (
        frozenset({"containers", "nodeSelector", "tolerations", "initContainers"}),
        "the specification of a pod",
        f"{_REFERENCE}workload-resources/pod-v1/#PodSpec",
    ),
    (
        frozenset({"nodeAffinity", "podAffinity", "podAntiAffinity"}),
        "the affinity of a pod",
        f"{_REFERENCE}workload-resources/pod-v1/#scheduling",
    ),
    (
        frozenset({"livenessProbe", "readinessProbe", "volumeMounts", "image"}),
        "a container of a pod",
        f"{_REFERENCE}workload-resources/pod-v1/#Container",
    ),
)
_LIMITS: Final = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("minProperties", "at least {} entries"),
    ("maxProperties", "at most {} entries"),
    ("multipleOf", "a multiple of {}"),
    ("pattern", "matches `{}`"),
    ("format", "format {}"),
)


def digest(crd: Manifest) -> str:
    """Return the name of a CRD's folder: equal CRDs share it."""
    return paths.digest(json_text.compact(crd))


def versions(crd: Manifest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each served version and its entry in `spec.versions`, in v1 and v1beta1."""
    spec = mapping(crd.get("spec"))
    listed = [one for one in sequence(spec.get("versions")) if isinstance(one, Mapping)]
    if not listed and text(spec.get("version")):
        listed = [{"name": spec["version"], "served": True, "storage": True}]
    shared = mapping(spec.get("validation"))
    for one in listed:
        if text(one.get("name")) and one.get("served", True) is not False:
            yield text(one.get("name")), {"schema": shared, **one}


def pages(crd: Manifest, known: Container[str] = ()) -> Iterator[tuple[str, CrdPage]]:
    """Yield the path and the page of each served version, without the paths that are `known`."""
    spec = mapping(crd.get("spec"))
    kind = text(mapping(spec.get("names")).get("kind"))
    group = text(spec.get("group"))
    found = digest(crd)
    for version, one in versions(crd):
        if paths.crd(found, version) in known:
            continue
        schema = mapping(mapping(one.get("schema")).get("openAPIV3Schema"))
        counted = _Budget()
        fields = _properties(schema, "", 0, counted)
        note = ""
        if not schema:
            note = "The CRD has no schema for this version."
        elif counted.is_spent:
            note = f"The schema is large: this page shows the first {_MAX_FIELDS} fields."
        yield (
            paths.crd(found, version),
            CrdPage(
                group=group,
                version=version,
                kind=kind,
                kind_href=paths.kind(group, kind),
                badges=tuple(_badges(spec, one)),
                description=text(schema.get("description")),
                columns=tuple(
                    text(mapping(column).get("name"))
                    for column in sequence(one.get("additionalPrinterColumns"))
                ),
                note=note,
                fields=fields,
            ),
        )


def _badges(spec: Mapping[str, Any], version: Mapping[str, Any]) -> Iterator[Badge]:
    if text(spec.get("scope")):
        yield Badge(label=text(spec.get("scope")))
    if version.get("storage") is True:
        yield Badge(label="stored version")
    if version.get("deprecated") is True:
        yield Badge(label="deprecated", kind="warn")
    if text(mapping(spec.get("conversion")).get("strategy")) == "Webhook":
        yield Badge(label="converted by a webhook")
    for name in sequence(mapping(spec.get("names")).get("shortNames")):
        yield Badge(label=f"short name {text(name)}")


class _Budget:
    """The number of fields that a page may still show."""

    def __init__(self) -> None:
        self.left = _MAX_FIELDS

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0

    @property
    def is_spent(self) -> bool:
        return self.left < 0


def _properties(
    schema: Mapping[str, Any], above: str, depth: int, budget: _Budget
) -> tuple[Field, ...]:
    required = {text(name) for name in sequence(schema.get("required"))}
    made = []
    for name, value in mapping(schema.get("properties")).items():
        if not budget.take():
            break
        made.append(
            _field(str(name), mapping(value), above, depth, budget, required=name in required)
        )
    return tuple(made)


def _field(
    name: str, schema: Mapping[str, Any], above: str, depth: int, budget: _Budget, *, required: bool
) -> Field:
    anchor = f"{above}.{name}" if above else name
    shown, inner = _type(schema)
    limits = list(_limits(schema))
    link = ""
    properties = frozenset(mapping(inner.get("properties")))
    for marks, words, page in _KNOWN:
        if marks <= properties:
            limits.append(f"{words}, as Kubernetes defines it")
            inner, link = {}, page
            break
    if depth >= _MAX_DEPTH and inner.get("properties"):
        limits.append(f"the fields below level {_MAX_DEPTH} are not shown")
        inner = {}
    if required and schema.get("default") is not None:
        required = False
    return Field(
        name=name,
        anchor=anchor,
        type=shown,
        required=required,
        description=text(schema.get("description")),
        limits=tuple(limits),
        link=link,
        fields=_properties(inner, anchor, depth + 1, budget),
    )


def _type(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the type as text, and the schema whose properties are shown below it."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return "integer or string", {}
    given = text(schema.get("type")) or "any"
    if given == "array":
        item, inner = _type(mapping(schema.get("items")))
        return f"list of {item}", inner
    extra = schema.get("additionalProperties")
    if given == "object" and isinstance(extra, Mapping):
        item, inner = _type(extra)
        return f"map of {item}", inner
    return given, schema


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    if "default" in schema:
        yield f"default `{_json(schema['default'])}`"
    values = sequence(schema.get("enum"))
    if values:
        yield "one of " + ", ".join(f"`{_json(one)}`" for one in values[:50])
    for key, words in _LIMITS:
        if isinstance(schema.get(key), str | int | float):
            yield words.format(schema[key])
    if schema.get("nullable") is True:
        yield "may be null"
    for rule in map(mapping, sequence(schema.get("x-kubernetes-validations"))):
        written = text(rule.get("rule"))
        if written == "self == oldSelf":
            yield "cannot be changed later"
        else:
            yield text(rule.get("message")) or f"rule `{written}`"
    if schema.get("x-kubernetes-preserve-unknown-fields") is True:
        yield "other fields are kept"
    if text(schema.get("x-kubernetes-list-type")) == "map":
        keys = ", ".join(text(one) for one in sequence(schema.get("x-kubernetes-list-map-keys")))
        yield f"items are identified by {keys}"


def _json(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    shown = shown[1:-1] if isinstance(value, str) and len(shown) > 2 else shown
    return shown if len(shown) <= 200 else shown[:199] + "…"
