"""Serialize a CSV and other manifests of a bundle.

OLM's tools read a CSV into typed structures and write it again, which leaves out empty fields and
writes some empty structures. olmkit writes the same bytes from the same facts, so that a change to
olmkit causes no unnecessary changes in a bundle; but fields that those types do not have are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from olmkit.base import documents
from olmkit.base.documents import Key
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.model import BundleObject
from olmkit.kube import objects
from olmkit.kube.builtin import shapes
from olmkit.kube.builtin.shapes import BuiltinTypeError
from olmkit.kube.objects import Manifest

# Go's JSON encoder escapes characters that could end a script or a line in HTML and JavaScript.
_GO_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


_RBAC = "rbac.authorization.k8s.io"
_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
_SERVICE = ("", "Service")
_WITHOUT_STATUS = frozenset({_CRD, _SERVICE})
# Fields that are written in the form of their type.
_TYPED = _WITHOUT_STATUS | {
    ("", "ServiceAccount"),
    *((_RBAC, kind) for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")),
}


def csv_manifest(csv: Mapping[str, Any]) -> Manifest:
    """Return a CSV in its written form, without status and creation timestamps."""
    try:
        result: Manifest = shapes.conform(csv, "ClusterServiceVersion")
    except BuiltinTypeError as error:
        raise refusal(f"{error.message} in the ClusterServiceVersion") from None
    result.pop("status", None)
    result = _without(result, "creationTimestamp")
    if result["spec"].get("cleanup") == {"enabled": False}:
        del result["spec"]["cleanup"]
    return result


def read_type(resource: BundleObject, type_name: str, *keys: Key) -> Any:
    """Return the value under `keys` in the form of its type, or raise an error with its place."""
    try:
        return shapes.conform(resource.document.get(*keys), type_name, keys)
    except BuiltinTypeError as error:
        raise refusal(
            f"{error.message} in {resource.kind} `{resource.name}`",
            at=resource.at(*error.keys),
        ) from None


def manifest(resource: BundleObject) -> Manifest:
    """Return an object as in a bundle: without namespace and fields that a cluster adds."""
    gvk = resource.gvk
    is_typed = (gvk.group, gvk.kind) in _TYPED and (gvk.version != "v1beta1")
    value: Manifest = read_type(resource, gvk.kind) if is_typed else dict(resource.value)
    if (gvk.group, gvk.kind) in _WITHOUT_STATUS:
        value.pop("status", None)
    metadata = {key: item for key, item in value.get("metadata", {}).items() if key != "namespace"}
    if metadata.get("creationTimestamp", "") is None:
        del metadata["creationTimestamp"]
    value["metadata"] = metadata
    return value


def examples(custom_resources: list[Manifest]) -> str:
    """Return the text of `alm-examples`: a JSON list in the form of Go's indenting encoder."""
    text = documents.dump_json(custom_resources, indent=2).decode()
    # These characters occur in JSON only in strings.
    return text.rstrip("\n").translate(_GO_ESCAPES)


def yaml(value: Mapping[str, Any]) -> bytes:
    """Return a manifest as YAML, in the form of `olmkit.base.documents`."""
    return documents.dump(value)


def parse_examples(text: str) -> list[Manifest]:
    """Return the objects of an `alm-examples` string; none if it is not a JSON list of objects."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [item for item in objects.sequence(value) if isinstance(item, dict)]


def _without(value: Any, name: str) -> Any:
    """Return `value` without any field `name`; nothing else below the same mapping is removed."""
    match value:
        case dict():
            if name in value:
                return {key: item for key, item in value.items() if key != name}
            return {key: _without(item, name) for key, item in value.items()}
        case list():
            return [_without(item, name) for item in value]
        case _:
            return value
