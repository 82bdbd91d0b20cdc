"""Finalizers of an object, which block its deletion until a controller has cleaned up.

In memory only. Write the change with the resource version: a merge patch replaces the whole list,
and would drop a finalizer that another owner has just added.
"""

from __future__ import annotations

from olmkit.kube import objects
from olmkit.kube.objects import Manifest


def contains(manifest: Manifest, finalizer: str) -> bool:
    """Return whether the object has the finalizer."""
    return finalizer in objects.sequence(objects.metadata(manifest).get("finalizers"))


def add(manifest: Manifest, finalizer: str) -> bool:
    """Add the finalizer to the object; return whether it was missing."""
    if contains(manifest, finalizer):
        return False
    metadata = manifest.setdefault("metadata", {})
    metadata["finalizers"] = [*objects.sequence(metadata.get("finalizers")), finalizer]
    return True


def remove(manifest: Manifest, finalizer: str) -> bool:
    """Remove the finalizer, including duplicates; return whether it existed."""
    if not contains(manifest, finalizer):
        return False
    metadata = manifest["metadata"]
    kept = [one for one in metadata["finalizers"] if one != finalizer]
    if kept:
        metadata["finalizers"] = kept
    else:
        del metadata["finalizers"]
    return True


def of_operators(manifest: Manifest) -> list[str]:
    """Return the finalizers that operators and OLM honor; Kubernetes honors its own."""
    return [
        name
        for name in objects.sequence(objects.metadata(manifest).get("finalizers"))
        if isinstance(name, str) and not _is_own(name)
    ]


def _is_own(name: str) -> bool:
    domain = name.partition("/")[0]
    return name in ("foregroundDeletion", "orphan", "kubernetes") or domain.endswith(
        ("kubernetes.io", ".k8s.io")
    )


def set_by(manifest: Manifest, finalizer: str) -> str:
    """Return the field manager that has set the finalizer; empty if unknown."""
    for entry in objects.sequence(objects.metadata(manifest).get("managedFields")):
        fields = objects.mapping(objects.mapping(entry).get("fieldsV1"))
        owned = objects.mapping(objects.mapping(fields.get("f:metadata")).get("f:finalizers"))
        if f'v:"{finalizer}"' in owned:
            return objects.text(objects.mapping(entry).get("manager"))
    return ""


def is_being_deleted(manifest: Manifest) -> bool:
    """Return whether the object has a deletion timestamp."""
    return bool(objects.metadata(manifest).get("deletionTimestamp"))
