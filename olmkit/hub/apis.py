"""The APIs of a bundle, with the examples of exactly that version and kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base import documents
from olmkit.hub import paths, schemas, stated
from olmkit.hub.pages import Api, Descriptor, Example
from olmkit.hub.records import Record
from olmkit.hub.stated import Examples
from olmkit.kube import objects
from olmkit.kube.objects import GVK, mapping, sequence, text

_DESCRIPTORS = ("specDescriptors", "statusDescriptors", "actionDescriptors")


def gvk(described: Mapping[str, Any], *, is_service: bool) -> GVK:
    """What a description is about; the group of a CRD is in its name `plural.group`."""
    group = text(described.get("group")) if is_service else ""
    if not group:
        group = text(described.get("name")).partition(".")[2]
    return GVK(group, text(described.get("version")), text(described.get("kind")))


def of_record(record: Record, examples: Examples) -> tuple[Api, ...]:
    internal = stated.internal(record)
    crds = record.crds
    made: dict[GVK, Api] = {}
    for described, is_service in record.owned():
        found = gvk(described, is_service=is_service)
        name = text(described.get("name"))
        crd = crds.get(name)
        served = dict(schemas.versions(crd)) if crd is not None else {}
        is_shown = crd is not None and found.version in served
        made.setdefault(
            found,
            Api(
                name=name,
                group=found.group,
                version=found.version,
                kind=found.kind,
                display_name=text(described.get("displayName")) or found.kind or name,
                description=text(described.get("description")),
                href=paths.kind(found.group, found.kind),
                schema_href=paths.crd(schemas.digest(crd), found.version)
                if crd is not None and is_shown
                else "",
                resources=tuple(_resources(described)),
                descriptors=tuple(_descriptors(described)),
                examples=tuple(_examples(found, examples)),
                internal=name in internal,
            ),
        )
    return tuple(made.values())


def kinds(record: Record) -> tuple[GVK, ...]:
    """What the bundle provides: the properties, else what its CSV owns."""
    if record.bundle.properties.provided:
        return record.bundle.properties.provided
    return tuple(gvk(described, is_service=is_service) for described, is_service in record.owned())


def _resources(described: Mapping[str, Any]) -> Iterator[str]:
    for one in map(mapping, sequence(described.get("resources"))):
        if text(one.get("kind")):
            yield text(one.get("kind"))


def _descriptors(described: Mapping[str, Any]) -> Iterator[Descriptor]:
    for part in _DESCRIPTORS:
        for one in map(mapping, sequence(described.get(part))):
            prefix = "spec" if part != "statusDescriptors" else "status"
            urns = [text(urn) for urn in sequence(one.get("x-descriptors"))]
            yield Descriptor(
                path=f"{prefix}.{text(one.get('path'))}",
                display_name=text(one.get("displayName")),
                description=text(one.get("description")),
                widget=urns[0].rpartition(":")[2] if urns else "",
            )


def _examples(found: GVK, examples: Examples) -> Iterator[Example]:
    wanted = f"{found.group}/{found.version}" if found.group else found.version
    for one in examples.objects:
        if objects.kind(one) == found.kind and text(one.get("apiVersion")) == wanted:
            yield Example(name=objects.name(one), yaml=documents.dump(one).decode())
