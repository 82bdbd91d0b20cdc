"""Rules about the schemas in CRDs, and about paths that lead into them.

operator-sdk ignores errors in a schema; the API server does not, so the installation of the
operator fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.diagnostics import Severity
from olmkit.base.documents import Key
from olmkit.bundle.model import GVK, Bundle, CustomResourceDefinition
from olmkit.kube import objects
from olmkit.kube.crds import field_errors, structural
from olmkit.kube.crds.schema_problems import SchemaFault, SchemaProblem
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

Keys = tuple[Key, ...]

_SIMPLE_PATH = re.compile(r"(\.[A-Za-z_][-A-Za-z0-9_]*|\[\d+\])+")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")


@rule("CRD020", "schema-type")
def schema_type(bundle: Bundle) -> Iterator[Finding]:
    """A keyword of a schema has a value of the wrong type.

    Why: no tool can read the CRD.

    Fix: write a value of the correct type.
    """
    yield from _problems(bundle, SchemaFault.TYPE)


@rule("CRD021", "schema-missing", suite=SOUND_SUITE)
def schema_missing(bundle: Bundle) -> Iterator[Finding]:
    """A version of a v1 CRD has no schema.

    Why: the API server rejects the CRD.

    Fix: write the schema; to allow anything, write `type: object` and
    `x-kubernetes-preserve-unknown-fields: true`.
    """
    for crd in bundle.crds:
        if crd.is_beta:
            continue
        for index, version in enumerate(crd.versions):
            keys: Keys = ("spec", "versions", index, "schema", "openAPIV3Schema")
            if not isinstance(
                objects.mapping(version.get("schema")).get("openAPIV3Schema"), Mapping
            ):
                yield Finding(
                    field_errors.required(keys, "schemas are required").message,
                    at=crd.at(*keys),
                    hint="write a schema; the minimum is `type: object`",
                )


@rule("CRD022", "schema-not-structural", suite=SOUND_SUITE)
def schema_not_structural(bundle: Bundle) -> Iterator[Finding]:
    """The schema of a v1 CRD is not structural.

    Why: the API server rejects the CRD when you install the operator.

    Fix: give every field a type, and remove types and descriptions from `allOf`, `anyOf`,
    `oneOf` and `not`.
    """
    yield from _problems(bundle, SchemaFault.STRUCTURE)


@rule("CRD023", "schema-keyword", severity=Severity.WARNING, suite=SOUND_SUITE)
def schema_keyword(bundle: Bundle) -> Iterator[Finding]:
    """A schema has a keyword that CRDs do not support.

    Why: the API server drops it without a warning. Usually its name is misspelled, or a
    field is outside of `properties`.

    Fix: correct its name or its place.
    """
    yield from _problems(bundle, SchemaFault.UNKNOWN)


@rule("CRD024", "schema-required", severity=Severity.WARNING, suite=SOUND_SUITE)
def schema_required(bundle: Bundle) -> Iterator[Finding]:
    """A schema requires a field that it does not define.

    Why: the API server would drop the field, so no object can be valid.

    Fix: add the field to `properties`, or remove it from `required`.
    """
    yield from _problems(
        bundle, SchemaFault.REQUIRED, hint="add it to `properties`, or remove it from `required`"
    )


@rule("CRD025", "column-path", suite=SOUND_SUITE)
def column_path(bundle: Bundle) -> Iterator[Finding]:
    """The path of a printer column is not a JSON path.

    Why: the API server rejects the CRD.

    Fix: close its brackets and quotes.
    """
    for crd, keys, path, _ in _column_paths(bundle):
        if path.startswith(".") and not _is_balanced(path):
            yield Finding(f"`{path}` is not a JSON path", at=crd.at(*keys))


@rule("CRD026", "column-path-unknown", severity=Severity.WARNING, suite=SOUND_SUITE)
def column_path_unknown(bundle: Bundle) -> Iterator[Finding]:
    """The path of a printer column does not match a field of the schema.

    Why: the column is always empty.

    Fix: correct the path, or add the field to the schema.
    """
    for crd, keys, path, schema in _column_paths(bundle):
        if schema is None or path.startswith(".metadata"):
            continue
        if not leads_somewhere(schema, path):
            yield Finding(f"`{path}` is not in the schema", at=crd.at(*keys))


@rule("CRD027", "schema-bound", severity=Severity.WARNING, suite=SOUND_SUITE)
def schema_bound(bundle: Bundle) -> Iterator[Finding]:
    """A bound of a number does not fit its type or format.

    Why: the API server rejects each object that sets the field. For `int32` and `float`, it
    does so since Kubernetes 1.36. An example is an unsigned number with `format: int32` and
    `maximum: 4294967295`.

    Fix: change the format, for example to `int64`, or correct the bound.
    """
    yield from _problems(
        bundle, SchemaFault.BOUND, hint="change `format`, for example to `int64`, or the bound"
    )


def schemas(
    bundle: Bundle,
) -> Iterator[tuple[CustomResourceDefinition, Keys, Mapping[str, Any]]]:
    """Yield every schema of the bundle's CRDs, with its place."""
    for crd in bundle.crds:
        holders: list[tuple[Keys, Any]] = []
        if crd.is_beta:
            holders.append((("spec", "validation"), crd.spec.get("validation")))
        for index, version in enumerate(objects.sequence(crd.spec.get("versions"))):
            holder = objects.mapping(version).get("schema")
            holders.append((("spec", "versions", index, "schema"), holder))
        for keys, holder in holders:
            schema = objects.mapping(holder).get("openAPIV3Schema")
            if schema is not None:
                yield crd, (*keys, "openAPIV3Schema"), schema


def schema_of(bundle: Bundle, gvk: GVK) -> Mapping[str, Any] | None:
    """Return the schema that the bundle's CRDs have for an API."""
    for crd in bundle.crds:
        if crd.group == gvk.group and crd.defined_kind == gvk.kind:
            return _version_schema(crd, gvk.version)
    return None


def _version_schema(crd: CustomResourceDefinition, version: str) -> Mapping[str, Any] | None:
    for entry in crd.versions:
        if entry.get("name") == version:
            holder = entry.get("schema") or (crd.spec.get("validation") if crd.is_beta else None)
            schema = objects.mapping(holder).get("openAPIV3Schema")
            # A CRD that keeps unknown fields declares little about its objects.
            if crd.spec.get("preserveUnknownFields") or crd.is_beta:
                return None
            return schema if isinstance(schema, Mapping) else None
    return None


def _problems(bundle: Bundle, fault: SchemaFault, *, hint: str = "") -> Iterator[Finding]:
    for crd, problem in bundle.once("schema problems", _find):
        if problem.fault is fault:
            place = crd.at_key if fault is SchemaFault.UNKNOWN else crd.at
            yield Finding(problem.message, at=place(*problem.keys), hint=hint)


def _find(bundle: Bundle) -> list[tuple[CustomResourceDefinition, SchemaProblem]]:
    return [
        (crd, problem)
        for crd, keys, schema in schemas(bundle)
        for problem in structural.check(schema, keys, structural=not crd.is_beta)
    ]


def _column_paths(
    bundle: Bundle,
) -> Iterator[tuple[CustomResourceDefinition, Keys, str, Mapping[str, Any] | None]]:
    """Yield the printer columns of v1 CRDs: place, path, and schema."""
    for crd in bundle.crds:
        if crd.is_beta:
            continue
        for index, version in enumerate(crd.versions):
            schema = objects.mapping(version.get("schema")).get("openAPIV3Schema")
            known = schema if isinstance(schema, Mapping) else None
            columns = objects.sequence(version.get("additionalPrinterColumns"))
            for position, column in enumerate(columns):
                keys = ("spec", "versions", index, "additionalPrinterColumns", position)
                path = objects.scalar_text(objects.mapping(column).get("jsonPath"))
                if path:
                    yield crd, (*keys, "jsonPath"), path, known


def _is_balanced(path: str) -> bool:
    bare = _QUOTED.sub("", path.replace("\\.", ""))
    if "'" in bare or '"' in bare:
        return False
    depth = 0
    for char in bare:
        depth += (char in "[(") - (char in "])")
        if depth < 0:
            return False
    return depth == 0


def leads_somewhere(schema: Mapping[str, Any], path: str) -> bool:
    """Return whether a path of fields and indexes may have a value, given a schema."""
    if not _SIMPLE_PATH.fullmatch(path):
        return True
    node: Any = schema
    for part in re.findall(r"\.([^.\[]+)|(\[)", path):
        node = objects.mapping(node)
        if node.get("x-kubernetes-preserve-unknown-fields") or not node.get("type"):
            return True
        if part[1]:
            node = node.get("items")
            continue
        if node.get("type") == "array":  # paths of the console omit the index
            node = objects.mapping(node.get("items"))
        values = node.get("additionalProperties")
        if node.get("x-kubernetes-preserve-unknown-fields") or not node.get("type"):
            return True
        if part[0] in objects.mapping(node.get("properties")):
            node = node["properties"][part[0]]
        elif values:
            node = values if isinstance(values, Mapping) else {}
        else:
            return node is schema and part[0] in _OBJECT_FIELDS
    return node is not None
