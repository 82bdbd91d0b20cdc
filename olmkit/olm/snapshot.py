"""What stands in the cluster around one namespace, read at one moment.

A job fills it, `explain` reads it, and golden tests are made of it. It also says which
logs would tell more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds

Objects = tuple[Manifest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Objects by kind. `logs` are the last lines of containers: namespace/pod/container → text.

    `catalogs`, `jobs`, `pods` and `events` are those of the namespace and of its catalogs';
    `elsewhere` are the Subscriptions of other namespaces.
    """

    namespace: str
    subscriptions: Objects = ()
    groups: Objects = ()
    plans: Objects = ()
    csvs: Objects = ()
    catalogs: Objects = ()
    jobs: Objects = ()
    deployments: Objects = ()
    pods: Objects = ()
    events: Objects = ()
    elsewhere: Objects = ()
    logs: Mapping[str, str] = field(default_factory=dict)

    def subscription(self, package: str) -> Manifest | None:
        """The Subscription of a package, or the one of that name."""
        for one in self.subscriptions:
            if kinds.wish(one).package == package:
                return one
        return _named(self.subscriptions, package)

    def csv(self, name: str) -> Manifest | None:
        """The CSV of that name in the namespace, no copy."""
        found = _named(self.csvs, name)
        return None if found is None or kinds.is_copy(found) else found

    def own_csvs(self) -> Iterator[Manifest]:
        yield from (csv for csv in self.csvs if not kinds.is_copy(csv))

    def plan(self, name: str) -> Manifest | None:
        return _named(self.plans, name)

    def catalog(self, name: str, namespace: str) -> Manifest | None:
        return _named(self.catalogs, name, namespace)

    def deployment(self, name: str) -> Manifest | None:
        return _named(self.deployments, name, self.namespace)

    def pods_of(self, namespace: str, labels: Mapping[str, str]) -> Iterator[Manifest]:
        """The pods that carry all these labels; none when there are no labels."""
        for pod in self.pods:
            own = objects.labels_of(pod)
            if (
                labels
                and objects.namespace(pod) == namespace
                and all(own.get(key) == value for key, value in labels.items())
            ):
                yield pod

    def events_of(self, manifest: Manifest) -> Iterator[Manifest]:
        """The events about an object, oldest first."""
        for event in self.events:
            about = objects.mapping(event.get("involvedObject"))
            if (about.get("kind"), about.get("name"), about.get("namespace") or "") == (
                objects.kind(manifest),
                objects.name(manifest),
                objects.namespace(manifest),
            ):
                yield event


def _named(found: Objects, name: str, namespace: str | None = None) -> Manifest | None:
    for one in found:
        if objects.name(one) == name and namespace in (None, objects.namespace(one)):
            return one
    return None
