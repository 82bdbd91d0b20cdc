"""Ownership in annotations, for objects that cannot have an owner reference.

The two annotations are those of operator-lib, which Helm and Ansible operators have always written.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest

NAME = "operator-sdk/primary-resource"
KIND = "operator-sdk/primary-resource-type"


def owner_annotations(owner: Manifest) -> dict[str, str]:
    """Return the annotations of what belongs to this object."""
    namespace = objects.namespace(owner)
    return {
        NAME: f"{namespace}/{objects.name(owner)}".lstrip("/"),
        KIND: _kind(objects.gvk(owner)),
    }


def find_owner(annotations: Mapping[str, str], gvk: GVK) -> tuple[str, str] | None:
    """Namespace and name of the object of this kind that annotations name; None: of no such."""
    name = annotations.get(NAME, "")
    if annotations.get(KIND) != _kind(gvk) or not name:
        return None
    namespace, _, name = name.rpartition("/")
    return namespace, name


def _kind(gvk: GVK) -> str:
    return f"{gvk.kind}.{gvk.group}".rstrip(".")
