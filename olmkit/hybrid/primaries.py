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
    """Return the annotations of objects that belong to this object."""
    namespace = objects.namespace(owner)
    return {
        NAME: f"{namespace}/{objects.name(owner)}".lstrip("/"),
        KIND: _kind(objects.gvk(owner)),
    }


def find_owner(annotations: Mapping[str, str], gvk: GVK) -> tuple[str, str] | None:
    """Return namespace and name of the owner of this kind in annotations; None if there is none."""
    name = annotations.get(NAME, "")
    if annotations.get(KIND) != _kind(gvk) or not name:
        return None
    namespace, _, name = name.rpartition("/")
    return namespace, name


def _kind(gvk: GVK) -> str:
    return f"{gvk.kind}.{gvk.group}".rstrip(".")
