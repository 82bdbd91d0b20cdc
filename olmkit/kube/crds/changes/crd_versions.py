"""The versions of a CRD, of both API versions, and those in which objects may be stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from olmkit.kube.crds.changes.schema_change import Keys
from olmkit.kube.objects import Manifest, mapping, sequence, text

SUBRESOURCES: Final = ("status", "scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdVersion:
    """One version of a CRD; `keys` lead to its schema."""

    name: str
    is_served: bool
    is_stored: bool
    is_deprecated: bool
    schema: Mapping[str, Any] = field(repr=False)
    subresources: Mapping[str, Any] = field(repr=False)
    columns: tuple[str, ...] = ()
    index: int = 0
    keys: Keys = ()


def versions(crd: Manifest) -> tuple[CrdVersion, ...]:
    """Return the versions of a CRD, including the fields that v1beta1 has for all of them."""
    spec = mapping(crd.get("spec"))
    listed = [mapping(one) for one in sequence(spec.get("versions"))]
    if not listed and text(spec.get("version")):
        listed = [{"name": spec["version"], "served": True, "storage": True}]
    found = []
    for index, one in enumerate(listed):
        own = mapping(mapping(one.get("schema")).get("openAPIV3Schema"))
        shared = mapping(mapping(spec.get("validation")).get("openAPIV3Schema"))
        keys: Keys = ("spec", "versions", index, "schema", "openAPIV3Schema")
        if not own and shared:
            keys = ("spec", "validation", "openAPIV3Schema")
        columns = one.get("additionalPrinterColumns", spec.get("additionalPrinterColumns"))
        found.append(
            CrdVersion(
                name=text(one.get("name")),
                is_served=one.get("served") is True,
                is_stored=one.get("storage") is True,
                is_deprecated=one.get("deprecated") is True,
                schema=own or shared,
                subresources=mapping(one.get("subresources", spec.get("subresources"))),
                columns=tuple(text(mapping(column).get("name")) for column in sequence(columns)),
                index=index,
                keys=keys,
            )
        )
    return tuple(found)


def stored_versions(crd: Manifest) -> tuple[str, ...]:
    """Return the versions in which objects of a CRD may be stored."""
    listed = sequence(mapping(crd.get("status")).get("storedVersions"))
    found = tuple(one for one in listed if isinstance(one, str))
    return found or tuple(one.name for one in versions(crd) if one.is_stored)


def removed_stored_versions(old: Manifest, new: Manifest) -> tuple[str, ...]:
    """Return the versions in which objects may be stored and that the new CRD does not have."""
    known = {one.name for one in versions(new)}
    return tuple(one for one in stored_versions(old) if one not in known)


def converts(crd: Manifest) -> bool:
    """Return whether a webhook converts the objects between versions."""
    return text(conversion(crd).get("strategy")) == "Webhook"


def scope(crd: Manifest) -> str:
    """Return `Namespaced` or `Cluster`; v1beta1 has a default."""
    return text(mapping(crd.get("spec")).get("scope")) or "Namespaced"


def conversion(crd: Manifest) -> Mapping[str, Any]:
    return mapping(mapping(crd.get("spec")).get("conversion"))


def by_priority(found: Iterable[CrdVersion]) -> list[CrdVersion]:
    """Return versions in Kubernetes' order: other names, `v1alpha1`, `v1beta1`, `v1`, `v2`."""
    return sorted(sorted(found, key=lambda one: one.name, reverse=True), key=_priority)


_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")


def _priority(version: CrdVersion) -> tuple[int, ...]:
    found = _VERSION.fullmatch(version.name)
    if found is None:
        return (0, 0, 0, 0)
    major, stage, minor = found.groups()
    return (1, {"alpha": 0, "beta": 1, None: 2}[stage], int(major), int(minor or 0))
