"""The permissions of a bundle: the RBAC rules of the CSV and of its Roles and ClusterRoles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmkit.base.diagnostics import Location
from olmkit.base.documents import Document, Key
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube
from olmkit.rules import objects

ROLES = ("Role", "ClusterRole")


class RbacRule(NamedTuple):
    """One RBAC rule, and its place."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...]
    document: Document
    keys: tuple[Key, ...]

    @property
    def at(self) -> Location:
        return self.document.at(*self.keys)

    def allows(self, group: str, resource: str, verbs: frozenset[str]) -> bool:
        """Return whether the rule covers one of `verbs` on the resource, including wildcards."""
        return (
            bool({group, "*", "[*]"} & {*self.groups})
            and bool({resource, "*", "[*]"} & {*self.resources})
            and bool((verbs | {"*", "[*]"}) & {*self.verbs})
        )


def csv_rules(bundle: Bundle) -> Iterator[RbacRule]:
    """Yield the rules of `clusterPermissions`, then those of `permissions`."""
    csv = bundle.csv
    for section in ("clusterPermissions", "permissions") if csv else ():
        if csv is None:
            return
        for index, entry in enumerate(kube.sequence(csv.install_spec.get(section))):
            rules = kube.sequence(kube.mapping(entry).get("rules"))
            for position, value in enumerate(rules):
                keys = ("spec", "install", "spec", section, index, "rules", position)
                yield _permission(kube.mapping(value), csv.document, keys)


def role_rules(bundle: Bundle) -> Iterator[RbacRule]:
    """Yield the rules of the Roles and ClusterRoles among the manifests."""
    for resource in objects.resources(bundle):
        if resource.kind in ROLES:
            for index, value in enumerate(kube.sequence(resource.value.get("rules"))):
                yield _permission(kube.mapping(value), resource.document, ("rules", index))


def every(bundle: Bundle) -> Iterator[RbacRule]:
    """Yield every rule of the bundle."""
    yield from csv_rules(bundle)
    yield from role_rules(bundle)


def _permission(value: Mapping[str, Any], document: Document, keys: tuple[Key, ...]) -> RbacRule:
    def texts(field: str) -> tuple[str, ...]:
        return tuple(kube.scalar_text(item) for item in kube.sequence(value.get(field)))

    return RbacRule(
        groups=texts("apiGroups"),
        resources=texts("resources"),
        verbs=texts("verbs"),
        names=texts("resourceNames"),
        document=document,
        keys=keys,
    )
