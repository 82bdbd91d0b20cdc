"""The identity of an object: its kind and key, and the checks of both before a request."""

from __future__ import annotations

from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.work.reconcile import Request


def as_manifest(gvk: GVK, snapshot: Snapshot) -> Manifest:
    """Return the object with `apiVersion` and `kind`, which items of lists may lack."""
    found = snapshot.manifest()
    if found.get("kind"):
        return found
    return {"apiVersion": gvk.api_version, "kind": gvk.kind} | found


def gvk_of_manifest(manifest: Manifest) -> GVK:
    """Return the GVK of a manifest; raise `ValueError` if it has none."""
    for field in ("apiVersion", "kind"):
        if not isinstance(manifest.get(field), str) or not manifest[field]:
            raise ValueError(f"the manifest of `{key_of(manifest)}` has no `{field}`")
    return GVK.parse(manifest["apiVersion"], manifest["kind"])


def check_identity(resource: Resource, manifest: Manifest) -> None:
    """Raise `ValueError` if a field is missing that is part of the request's path."""
    if resource.verbs and not resource.verbs & {"get", "list"}:
        return  # a review: the server does not store it
    metadata = manifest.get("metadata") or {}
    if not metadata.get("name") and not metadata.get("generateName"):
        raise ValueError(f"the manifest of a `{resource.gvk.kind}` has no `metadata.name`")
    check_namespace(resource, key_of(manifest))


def check_request(key: object) -> None:
    if not isinstance(key, Request):
        raise TypeError(f"an object is named by a `Request(name, namespace)`, not by {key!r:.100}")


def check_namespace(resource: Resource, key: Request) -> None:
    if resource.namespaced and not key.namespace:
        raise ValueError(
            f"`{resource.gvk.kind}` `{key.name}` has no namespace, and its kind has namespaces"
        )


def key_of(manifest: Manifest) -> Request:
    metadata = manifest.get("metadata") or {}
    return Request(metadata.get("name") or "", metadata.get("namespace") or "")


def check_key(manifest: Manifest, key: Request) -> None:
    if key_of(manifest) != key:
        raise ValueError(f"the change renames {key} to {key_of(manifest)}")
