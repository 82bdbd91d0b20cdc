"""Namespaces of the API server double, in which objects are created."""

from __future__ import annotations

import copy

from olmkit.kube.objects import GVK, Manifest
from olmkit.testing.apiserver import refusals
from olmkit.testing.apiserver.kinds.collection import Collection
from olmkit.testing.apiserver.refusals import FieldCause, Refusal

PATH = "/api/v1/namespaces"
SYSTEM = ("default", "kube-node-lease", "kube-public", "kube-system")
_GVK = GVK("", "v1", "Namespace")
_LABEL = "kubernetes.io/metadata.name"


def is_kind(collection: Collection) -> bool:
    """Return whether a collection is the one of namespaces."""
    return collection.resource.gvk == _GVK


def completed(manifest: Manifest) -> Manifest:
    """Return a new namespace with the fields that the server sets."""
    new = copy.deepcopy(manifest)
    metadata = new["metadata"]
    metadata["labels"] = (metadata.get("labels") or {}) | {_LABEL: metadata["name"]}
    new["spec"] = {"finalizers": ["kubernetes"]} | (new.get("spec") or {})
    new["status"] = {"phase": "Active"}
    return new


def check(namespaces: Collection, collection: Collection, namespace: str, name: str) -> None:
    """Raise a `Refusal` for a create in a namespace that is missing or terminating."""
    found = namespaces.objects.get(("", namespace))
    if found is None:
        raise refusals.not_found(namespaces.resource, namespace)
    if not found["metadata"].get("deletionTimestamp"):
        return
    cause = FieldCause(
        *("metadata.namespace", "NamespaceTerminating"),
        f"namespace {namespace} is being terminated",
    )
    raise Refusal(
        *(403, "Forbidden"),
        f'{collection.resource} "{name}" is forbidden: unable to create new content in namespace '
        f"{namespace} because it is being terminated",
        details=refusals.details_of(collection.resource, name)
        | {"causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field}]},
    )


def ended(old: Manifest, now: str) -> Manifest:
    """Return a terminating namespace; a controller removes it after deleting its objects."""
    name = old["metadata"]["name"]
    if name in SYSTEM[:1] + SYSTEM[2:]:
        raise Refusal(
            *(403, "Forbidden"),
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            details={"name": name, "kind": "namespaces"},
        )
    new = copy.deepcopy(old)
    new["metadata"].setdefault("deletionTimestamp", now)
    new["status"] = {"phase": "Terminating"}
    return new
