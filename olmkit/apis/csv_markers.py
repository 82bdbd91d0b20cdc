"""Generate the descriptions of owned APIs in a CSV from markers.

A description belongs to one version of one kind. The markers replace the base's data about that
version; everything else in the base is kept. Action descriptors, which markers cannot express, are
kept too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.apis import model
from olmkit.apis.crds import manifests
from olmkit.apis.crds.manifests import KindKey
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Marker
from olmkit.apis.markers.table import CSV
from olmkit.apis.model import (
    Constrained,
    Field,
    ListType,
    Named,
    NamedType,
    Sources,
    Struct,
    TypeExpression,
)
from olmkit.base import names
from olmkit.base.diagnostics import Location
from olmkit.kube.objects import GVK

Manifest = dict[str, Any]

# The order of APIs without one: the largest 32-bit integer, so that they are last.
LAST = 2**31 - 1
_TOO_MANY = 10_000


@dataclass(frozen=True, slots=True)
class OwnedApi:
    """The description of one API, and the order that its marker requests."""

    key: GVK
    order: int
    description: Manifest


def describe_apis(
    sources: Sources, requested: Mapping[GVK, Location | None], findings: Findings
) -> tuple[OwnedApi, ...]:
    """Return the descriptions of the wanted APIs in the sources; the others get a finding.

    The places are those of the requests.
    """
    every = manifests.versions(sources, Findings())
    found = []
    for key, at in requested.items():
        versions = every.get(KindKey(key.group, key.kind), ())
        version = next((version for version in versions if version.name == key.version), None)
        if version is None:
            findings.add(
                "API020",
                f"`{key.kind}` of `{key.group}/{key.version}` has no type in the sources",
                at,
                hint="declare it, or remove it from the project file",
            )
            continue
        plural = manifests.plural(versions)
        found.append(_Describer(sources, findings, key, version.kind, plural).describe())
    return tuple(found)


def merge(base: Sequence[Any], generated: Sequence[OwnedApi]) -> list[Any]:
    """Return the owned descriptions of a base CSV, merged with the generated ones."""
    keys = {one.key for one in generated}
    old = {key: entry for entry in base if (key := api_key(entry)) in keys}
    buckets: list[tuple[int, int, tuple[Any, ...], Any]] = []
    for one in generated:
        entry = copy.deepcopy(one.description)
        actions = old.get(one.key, {}).get("actionDescriptors")
        if actions:
            entry["actionDescriptors"] = actions
        buckets.append((one.order, 0, _entry_key(entry), entry))
    buckets += [
        (index, 1, (index,), entry)
        for index, entry in enumerate(base)
        if api_key(entry) not in keys
    ]
    return [entry for *_, entry in sorted(buckets, key=lambda item: item[:3])]


def api_key(entry: Any) -> GVK | None:
    """Return the API of an owned description; None if it is incomplete."""
    if not isinstance(entry, Mapping):
        return None
    _, _, group = str(entry.get("name", "")).partition(".")
    return GVK(group, str(entry.get("version", "")), str(entry.get("kind", "")))


def _entry_key(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return (entry["name"], entry["kind"], names.kube_version_key(entry["version"]))


@dataclass(slots=True)
class _Describer:
    """Builds the description of one API."""

    sources: Sources
    findings: Findings
    key: GVK
    kind: Struct
    plural: str

    def describe(self) -> OwnedApi:
        fields = self._fields(self.kind, frozenset())
        if not any(one.json_name in ("spec", "status") for one in fields):
            self.findings.add(
                "API026",
                f"`{self.key.kind}` has neither `spec` nor `status`, so catalogs cannot show its "
                "fields",
                self.kind.at,
                hint="put what users want into `spec`, and what the operator sees into `status`; "
                "a kind that no user writes is left out of the project file",
            )
        markers = [marker for marker in self.kind.markers if marker.name == CSV]
        display = names.display_name(self.key.kind)
        order = LAST
        for marker in markers:
            display = marker.get("displayName") or display
            order = marker.get("order", order)
        entry: Manifest = {
            "name": f"{self.plural}.{self.key.group}",
            "kind": self.key.kind,
            "version": self.key.version,
            "displayName": display,
            "description": self.kind.doc,
            "resources": self._resources(markers),
            "specDescriptors": self._descriptors("spec"),
            "statusDescriptors": self._descriptors("status"),
        }
        return OwnedApi(self.key, order, {key: value for key, value in entry.items() if value})

    def _resources(self, markers: Iterable[Marker]) -> list[Manifest]:
        found = []
        for marker in markers:
            for parts in marker.get("resources") or ():
                words = [part.strip() for part in parts]
                if len(words) < 2:
                    self.findings.add(
                        "API019",
                        f"the resource `{'; '.join(words)}` lacks a version",
                        marker.at,
                        hint="write `resources={{Deployment,v1,name},{Service,v1}}`",
                    )
                    continue
                name = words[2] if len(words) == 3 else ""
                found.append({"kind": words[0], "name": name, "version": words[1]})
        return sorted(
            found, key=lambda r: (r["name"], r["kind"], names.kube_version_key(r["version"]))
        )

    def _descriptors(self, side: str) -> list[Manifest]:
        fields = self._fields(self.kind, frozenset())
        root = next((one for one in fields if one.json_name == side), None)
        if root is None:
            return []
        found: list[tuple[int, str, Manifest]] = []
        for path, one in self._walk(root):
            descriptor, order = self._descriptor(one, side, path)
            if descriptor:
                found.append((order, path, descriptor))
        return [descriptor for *_, descriptor in sorted(found, key=lambda item: item[:2])]

    def _descriptor(self, one: Field, side: str, path: str) -> tuple[Manifest | None, int]:
        markers = [m for m in one.markers if m.name == CSV and m.get("type") == side]
        if not markers:
            return None, LAST
        display = next((m.get("displayName") for m in markers if m.get("displayName")), "")
        order = LAST
        descriptors: list[str] = []
        for marker in markers:
            order = marker.get("order", order)
            descriptors += marker.get("xDescriptors") or ()
        descriptor: Manifest = {
            "description": one.doc,
            "displayName": display or names.display_name(one.name),
            "path": path,
            "x-descriptors": descriptors,
        }
        return {key: value for key, value in descriptor.items() if value}, order

    def _walk(self, root: Field) -> Iterator[tuple[str, Field]]:
        """Yield fields below a root, breadth first, with their paths; a list adds `[0]`."""
        waiting: list[tuple[str, TypeExpression, frozenset[Named]]] = [("", root.type, frozenset())]
        count = 0
        while waiting:
            prefix, kind, above = waiting.pop(0)
            for name in model.named(kind):
                declaration = self.sources.get(name)
                if name in above or declaration is None:
                    continue  # a recursive type: the schema has a finding for it
                inside = above | {name}
                if isinstance(declaration, NamedType):
                    continue  # the reference does not see fields through a name either
                for one in self._fields(declaration, frozenset()):
                    count += 1
                    if count > _TOO_MANY:
                        return
                    path = f"{prefix}{one.json_name}"
                    yield path, one
                    is_list = isinstance(_unlimited(one.type), ListType)
                    waiting.append((f"{path}[0]." if is_list else f"{path}.", one.type, inside))

    def _fields(self, struct: Struct, seen: frozenset[Named]) -> Iterator[Field]:
        """Return own fields, those of inline ones, and those of base classes if not redeclared."""
        for one in struct.fields:
            if not one.is_inline:
                yield one
                continue
            for name in model.named(one.type):
                inline = self.sources.get(name)
                if isinstance(inline, Struct) and name not in seen:
                    yield from self._fields(inline, seen | {struct.name, name})
        own = {one.json_name for one in struct.fields}
        for base in (*struct.bases, *((struct.like,) if struct.like else ())):
            declaration = self.sources.get(base)
            if isinstance(declaration, Struct) and base not in seen:
                for one in self._fields(declaration, seen | {struct.name}):
                    if one.json_name not in own:
                        yield one


def _unlimited(kind: TypeExpression) -> TypeExpression:
    while isinstance(kind, Constrained):
        kind = kind.base
    return kind
