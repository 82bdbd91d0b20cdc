"""The objects of one kind in the API server double, their history and their watchers.

The history is kept until `compact` is called, so that a watch can start and a page can be read at
an earlier resource version.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.kube import patches
from olmkit.kube.api import Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.testing.apiserver import ownership
from olmkit.testing.apiserver.kinds import built_in_kinds
from olmkit.testing.apiserver.kinds.schemas import Schema
from olmkit.testing.apiserver.ownership import Keys, Owners

Key = tuple[str, str]
"""The namespace and name of an object."""

Convert = Callable[[Manifest, str], Manifest]
"""Converts an object to another API version, such as `example.com/v1`."""

# Built-in kinds with a generation; others have none.
_COUNTED = frozenset(
    {
        "cronjobs",
        "customresourcedefinitions",
        "daemonsets",
        "deployments",
        "horizontalpodautoscalers",
        "ingresses",
        "jobs",
        "networkpolicies",
        "poddisruptionbudgets",
        "replicasets",
        "statefulsets",
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """One write: the object before and after it; None if it did not exist."""

    version: int
    old: Manifest | None
    new: Manifest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a kind's table: names and paths."""

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(slots=True)
class Storage:
    """The stored objects that all versions of one kind share."""

    objects: dict[Key, Manifest] = field(default_factory=dict)
    owners: dict[Key, Owners] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    watchers: list[asyncio.Queue[Change | None]] = field(default_factory=list)
    convert: Convert | None = None

    def record(self, change: Change) -> None:
        self.changes.append(change)
        for watcher in self.watchers:
            watcher.put_nowait(change)

    def at(self, version: int) -> dict[Key, Manifest]:
        """Return the objects at an earlier resource version."""
        found = dict(self.objects)
        for change in reversed(self.changes):
            if change.version <= version:
                break
            one = change.new or change.old
            assert one is not None  # noqa: S101 - one of the two is there
            key = key_of(one)
            if change.old is None:
                found.pop(key, None)
            else:
                found[key] = change.old
        return found


@dataclass(slots=True)
class Collection:
    """One version of a kind."""

    resource: Resource
    storage: Storage = field(default_factory=Storage)
    schema: Schema | None = None
    selectable: frozenset[str] = frozenset()
    scale: Mapping[str, str] | None = None
    columns: Columns = Columns()
    type: str = ""  # of a built-in kind, in the table of fields

    @property
    def objects(self) -> dict[Key, Manifest]:
        return self.storage.objects

    @property
    def is_custom(self) -> bool:
        """Return whether the kind is a custom resource."""
        return not patches.is_built_in(self.resource.gvk.group)

    @property
    def counts_generation(self) -> bool:
        return self.is_custom or self.resource.plural in _COUNTED

    @property
    def list_keys(self) -> Keys:
        if self.schema is not None:
            return ownership.schema_keys(self.schema)
        return ownership.built_in_keys

    @property
    def watchers(self) -> list[asyncio.Queue[Change | None]]:
        return self.storage.watchers

    def last(self, name: str, namespace: str = "default") -> Manifest:
        """Return the last state of a deleted object; raise `KeyError` if it was compacted."""
        for change in reversed(self.storage.changes):
            if change.old is not None and key_of(change.old) == (namespace, name):
                return copy.deepcopy(change.old)
        raise KeyError(name)

    def shown(self, manifest: Manifest) -> Manifest:
        """Return a copy of an object, converted to this version."""
        version = self.resource.api_version
        convert = self.storage.convert
        if convert is not None and manifest.get("apiVersion", version) != version:
            manifest = convert(copy.deepcopy(manifest), version)
        words = {"apiVersion": self.resource.api_version, "kind": self.resource.gvk.kind}
        rest = {key: value for key, value in manifest.items() if key not in words}
        return words | copy.deepcopy(rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The selectors of a request."""

    namespace: str
    labels: LabelSelector
    fields: tuple[tuple[str, str, bool], ...]  # path, value, whether they must be equal

    @classmethod
    def parse(
        cls, collection: Collection, namespace: str, query: Mapping[str, str]
    ) -> Selection | str:
        """Parse the selectors; raise a `Refusal`, or `InputError` for labels."""
        labels = LabelSelector.parse(query.get("labelSelector", ""))
        fields = []
        for term in query.get("fieldSelector", "").split(","):
            if not term.strip():
                continue
            path, sign, value = term.partition("!=")
            if not sign:
                path, sign, value = term.partition("=")
                value = value.removeprefix("=")
            path = path.strip()
            if not sign:
                return f"invalid field selector: {term!r}"
            known = {"metadata.name", "metadata.namespace"} | collection.selectable
            if path not in known:
                return f"field label not supported: {path}"
            fields.append((path, value.strip(), "!=" not in term))
        return cls(namespace=namespace, labels=labels, fields=tuple(fields))

    @property
    def is_all(self) -> bool:
        """Return whether all objects of the namespace are selected."""
        return not self.fields and not str(self.labels)

    def takes(self, manifest: Manifest | None) -> bool:
        if manifest is None:
            return False
        metadata = manifest["metadata"]
        if self.namespace and metadata.get("namespace", "") != self.namespace:
            return False
        return self.labels.matches(metadata.get("labels") or {}) and all(
            (_at(manifest, path) == value) is equal for path, value, equal in self.fields
        )

    def told(self, change: Change) -> tuple[str, Manifest] | None:
        """Return the event for a watch with this selection, or None."""
        was, is_ = self.takes(change.old), self.takes(change.new)
        if is_ and change.new is not None:
            return ("MODIFIED" if was else "ADDED"), change.new
        if was and change.old is not None:
            gone = change.old if change.new is not None else _last(change)
            metadata = gone["metadata"] | {"resourceVersion": str(change.version)}
            return "DELETED", gone | {"metadata": metadata}
        return None


def _last(change: Change) -> Manifest:
    assert change.old is not None  # noqa: S101 - called for deletions alone
    return change.old


def key_of(manifest: Manifest) -> Key:
    metadata = manifest["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def value_at(manifest: Any, path: str) -> Any:
    """Return the value at a simple JSON path such as `.spec.size`; None if it is missing."""
    here = manifest
    for step in path.strip(".").split("."):
        if not isinstance(here, Mapping) or step not in here:
            return None
        here = here[step]
    return here


def _at(manifest: Manifest, path: str) -> str:
    found = value_at(manifest, path)
    if isinstance(found, bool):
        return str(found).lower()
    return "" if found is None else str(found)


def of_crd(crd: Manifest) -> Iterator[Collection]:
    """Return the served versions of a CRD; none if the CRD has no names."""
    spec = crd["spec"]
    names, storage = spec.get("names") or {}, Storage()
    if "plural" not in names:
        return
    for version in spec["versions"]:
        if not version.get("served", True):
            continue
        subresources = version.get("subresources") or {}
        columns = version.get("additionalPrinterColumns") or ()
        yield Collection(
            Resource(
                gvk=GVK(group=spec["group"], version=version["name"], kind=names["kind"]),
                plural=names["plural"],
                namespaced=spec.get("scope") != "Cluster",
                subresources=frozenset(subresources),
            ),
            storage,
            schema=(version.get("schema") or {}).get("openAPIV3Schema"),
            selectable=frozenset(
                one["jsonPath"].lstrip(".") for one in version.get("selectableFields") or ()
            ),
            scale=subresources.get("scale"),
            columns=Columns(
                names=tuple(one["name"] for one in columns),
                types=tuple(one["type"] for one in columns),
                paths=tuple(one["jsonPath"] for one in columns),
            ),
        )


_SCALED = frozenset({"deployments", "replicasets", "replicationcontrollers", "statefulsets"})
DEPLOYMENT_SCALE: Mapping[str, str] = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
}


def built_in(resource: Resource) -> Collection:
    """Return the collection of a built-in kind, with only the names and types of its fields."""
    scale = DEPLOYMENT_SCALE if resource.plural in _SCALED else None
    return Collection(resource, scale=scale, type=built_in_kinds.type_of(resource.gvk))
