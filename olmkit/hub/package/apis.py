"""The APIs of a bundle, with the examples of exactly that version and kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from olmkit.base import documents
from olmkit.base.json import text as json_text
from olmkit.hub import paths
from olmkit.hub.package import schemas, stated
from olmkit.hub.package.stated import Examples
from olmkit.hub.pages.operator_page import Api, Descriptor, Example
from olmkit.hub.pages.page_parts import Link
from olmkit.hub.records import Record
from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest, mapping, sequence, text

_NONE: Final[Mapping[GVK, Link]] = {}
_DESCRIPTORS = ("specDescriptors", "statusDescriptors", "actionDescriptors")


def gvk(described: Mapping[str, Any], *, is_service: bool) -> GVK:
    """Return the API of a description; a CRD's group is in its name `plural.group`."""
    group = text(described.get("group")) if is_service else ""
    if not group:
        group = text(described.get("name")).partition(".")[2]
    return GVK(group, text(described.get("version")), text(described.get("kind")))


def contents(record: Record, examples: Examples) -> Mapping[GVK, str]:
    """Return a digest of the shown data of each API, which most versions share."""
    internal = stated.internal(record)
    crds = record.crds
    found: dict[GVK, str] = {}
    for described, is_service in record.owned():
        kind = gvk(described, is_service=is_service)
        name = text(described.get("name"))
        crd = crds.get(name)
        parts = [
            described,
            list(_find_examples(kind, examples)),
            schemas.digest(crd) if crd is not None else "",
            name in internal,
        ]
        found.setdefault(kind, paths.digest(json_text.compact(parts)))
    return found


def describe_apis(
    record: Record, examples: Examples, same: Mapping[GVK, Link] = _NONE
) -> tuple[Api, ...]:
    """Return the APIs of the bundle; only the name for those equal to another version's."""
    internal = stated.internal(record)
    crds = record.crds
    made: dict[GVK, Api] = {}
    for described, is_service in record.owned():
        found = gvk(described, is_service=is_service)
        name = text(described.get("name"))
        crd = crds.get(name)
        served = dict(schemas.versions(crd)) if crd is not None else {}
        is_shown = crd is not None and found.version in served
        other = same.get(found)
        made.setdefault(
            found,
            Api(
                name=name,
                group=found.group,
                version=found.version,
                kind=found.kind,
                display_name=text(described.get("displayName")) or found.kind or name,
                description=text(described.get("description")) if other is None else "",
                href=paths.kind(found.group, found.kind),
                schema_href=paths.crd(schemas.digest(crd), found.version)
                if crd is not None and is_shown
                else "",
                resources=tuple(_resources(described)) if other is None else (),
                descriptors=tuple(_descriptors(described)) if other is None else (),
                examples=tuple(_examples(found, examples)) if other is None else (),
                internal=name in internal,
                same_as=other,
            ),
        )
    return tuple(made.values())


def anchor(kind: str, version: str) -> str:
    """Return the anchor of an API on the page of a version."""
    return f"api-{paths.query(kind)}-{paths.query(version)}"


def kinds(record: Record) -> tuple[GVK, ...]:
    """Return the APIs of the bundle: from its properties, else the owned APIs of its CSV."""
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
    for one in _find_examples(found, examples):
        yield Example(name=objects.name(one), yaml=documents.dump(one).decode())


def _find_examples(found: GVK, examples: Examples) -> Iterator[Manifest]:
    wanted = f"{found.group}/{found.version}" if found.group else found.version
    for one in examples.objects:
        if objects.kind(one) == found.kind and text(one.get("apiVersion")) == wanted:
            yield one
