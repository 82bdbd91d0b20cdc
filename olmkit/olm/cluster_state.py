"""A snapshot of the cluster around one namespace.

A job fills it, `explain` reads it, and golden tests use it. It also lists the logs that would help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds

Objects = tuple[Manifest, ...]

_PARTS = {
    "Subscription": "subscriptions",
    "OperatorGroup": "groups",
    "InstallPlan": "plans",
    "ClusterServiceVersion": "csvs",
    "CatalogSource": "catalogs",
    "Job": "jobs",
    "Deployment": "deployments",
    "EndpointSlice": "slices",
    "Pod": "pods",
    "Event": "events",
    "Node": "nodes",
    "Namespace": "namespaces",
    "CustomResourceDefinition": "ending_crds",
}
# Those kinds are also read in other namespaces: the catalogs may be there. Nodes have no namespace.
_WIDE = ("CatalogSource", "Job", "Pod", "Event", "Node", "Namespace", "CustomResourceDefinition")
LOG = ("olmkit.dev/v1", "ContainerLog")
BUNDLE = ("olmkit.dev/v1", "BundleImage")
CONVERSION = ("olmkit.dev/v1", "FailedConversion")
ABSENT = ("olmkit.dev/v1", "AbsentNamespace")
SNAPSHOT = ("olmkit.dev/v1", "Snapshot")
REVIEW = ("authorization.k8s.io/v1", "SelfSubjectAccessReview")
# The status fields of other namespaces' Subscriptions that show whether OLM works for them.
_MOVES = ("BundleUnpacking", "BundleUnpackFailed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """Objects by kind. `logs` are the last lines of containers: namespace/pod/container → text.

    `namespaces` has the namespace itself, `system` the Deployments of OLM, if there are any.
    `catalogs`, `jobs`, `pods` and `events` are those of the namespace and of its catalogs'
    namespaces; `nodes` are read only if no node accepts one of the pods, or a pod is not ready.
    `catalog_places`: the namespaces whose CatalogSources the user may list; None if the user may
    list all. `elsewhere` are the Subscriptions of other namespaces. `packages` maps a bundle image
    to its package, as far as catalogs were read. `conflict` has the facts that prevent OLM from
    resolving the namespace, if its catalogs were read. `unconverted` has the CRDs whose objects
    cannot be read because their conversion webhook does not respond: name → message of the API
    server. `absent_targets` are the namespaces that the OperatorGroup names and that do not exist.
    `ending_crds` are CRDs of the operators that are being deleted, without their schemas.
    `moment` is the RFC 3339 time of the snapshot; empty if unknown.
    """

    namespace: str
    subscriptions: Objects = ()
    groups: Objects = ()
    plans: Objects = ()
    csvs: Objects = ()
    catalogs: Objects = ()
    catalog_places: tuple[str, ...] | None = None
    jobs: Objects = ()
    deployments: Objects = ()
    slices: Objects = ()
    pods: Objects = ()
    events: Objects = ()
    elsewhere: Objects = ()
    nodes: Objects = ()
    namespaces: Objects = ()
    system: Objects = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    conflict: tuple[str, ...] = ()
    unconverted: Mapping[str, str] = field(default_factory=dict)
    absent_targets: tuple[str, ...] = ()
    ending_crds: Objects = ()
    moment: str = ""

    def subscription(self, package: str) -> Manifest | None:
        """Return the Subscription of a package, or the one with that name."""
        for one in self.subscriptions:
            if kinds.subscription_key(one).package == package:
                return one
        return self.named_subscription(package)

    def named_subscription(self, name: str) -> Manifest | None:
        return _find_named(self.subscriptions, name)

    def installed(self, subscription: Manifest) -> str:
        """Return the name of the CSV that a Subscription has installed; empty if there is none.

        It is the CSV that OLM chose last, as soon as that exists; OLM may record it later. OLM also
        records a copy of the CSV of an operator that watches the namespace from elsewhere.
        """
        status = kinds.status(subscription)
        chosen = objects.text(status.get("currentCSV"))
        if chosen and self.csv(chosen) is not None:
            return chosen
        recorded = objects.text(status.get("installedCSV"))
        return "" if self.copy(recorded) is not None else recorded

    def csv(self, name: str) -> Manifest | None:
        """Return the CSV of that name in the namespace, but not a copied CSV."""
        found = _find_named(self.csvs, name)
        return None if found is None or kinds.is_copy(found) else found

    def copy(self, name: str) -> Manifest | None:
        """Return the copied CSV of an operator in another namespace that watches this one."""
        found = _find_named(self.csvs, name)
        return found if found is not None and kinds.is_copy(found) else None

    def own_csvs(self) -> Iterator[Manifest]:
        yield from (csv for csv in self.csvs if not kinds.is_copy(csv))

    def plan(self, name: str) -> Manifest | None:
        return _find_named(self.plans, name)

    def catalog(self, name: str, namespace: str) -> Manifest | None:
        return _find_named(self.catalogs, name, namespace)

    def deployment(self, name: str) -> Manifest | None:
        return _find_named(self.deployments, name, self.namespace)

    def lists_catalogs(self, namespace: str = "") -> bool:
        """Return whether all CatalogSources of one or all namespaces are known."""
        return self.catalog_places is None or namespace in self.catalog_places

    def slices_of(self, service: str) -> Iterator[Manifest]:
        """Yield the EndpointSlices of a Service of the namespace."""
        for one in self.slices:
            if objects.labels_of(one).get(kinds.SERVICE_LABEL) == service:
                yield one

    def pods_of(self, namespace: str, labels: Mapping[str, str]) -> Iterator[Manifest]:
        """Yield the pods that have all these labels; none if there are no labels."""
        for pod in self.pods:
            own = objects.labels_of(pod)
            if (
                labels
                and objects.namespace(pod) == namespace
                and all(own.get(key) == value for key, value in labels.items())
            ):
                yield pod

    def events_of(self, manifest: Manifest) -> Iterator[Manifest]:
        """Yield the events about an object, oldest first."""
        for event in self.events:
            about = objects.mapping(event.get("involvedObject"))
            if (about.get("kind"), about.get("name"), about.get("namespace") or "") == (
                objects.kind(manifest),
                objects.name(manifest),
                objects.namespace(manifest),
            ):
                yield event


def from_objects(found: Iterable[Manifest], namespace: str) -> ClusterState:
    """Build the snapshot from a list of objects, for example one that `objects_of` has written."""
    found = list(found)
    parts: dict[str, list[Manifest]] = {
        name: [] for name in (*_PARTS.values(), "elsewhere", "system")
    }
    logs: dict[str, str] = {}
    packages: dict[str, str] = {}
    unconverted: dict[str, str] = {}
    absent: list[str] = []
    moment = ""
    for one in found:
        kind = objects.kind(one)
        if kind == LOG[1]:
            place = (objects.namespace(one), objects.text(one.get("pod")), objects.name(one))
            logs["/".join(place)] = objects.text(one.get("text"))
        elif kind == BUNDLE[1]:
            packages[objects.text(one.get("image"))] = objects.text(one.get("package"))
        elif kind == CONVERSION[1]:
            unconverted[objects.name(one)] = objects.text(one.get("message"))
        elif kind == ABSENT[1]:
            absent.append(objects.name(one))
        elif kind == SNAPSHOT[1]:
            moment = objects.text(one.get("moment"))
        elif kind in _PARTS and (kind in _WIDE or objects.namespace(one) == namespace):
            parts[_PARTS[kind]].append(one)
        elif kind == "Subscription":
            parts["elsewhere"].append(one)
        elif kind == kinds.DEPLOYMENT[1] and objects.name(one) in kinds.PROGRAMS:
            parts["system"].append(one)
    return ClusterState(
        namespace=namespace,
        subscriptions=tuple(parts["subscriptions"]),
        groups=tuple(parts["groups"]),
        plans=tuple(parts["plans"]),
        csvs=tuple(parts["csvs"]),
        catalogs=tuple(parts["catalogs"]),
        catalog_places=listable(found, kinds.CATALOG_SOURCE),
        jobs=tuple(parts["jobs"]),
        deployments=tuple(parts["deployments"]),
        slices=tuple(parts["slices"]),
        pods=tuple(parts["pods"]),
        events=tuple(sorted(parts["events"], key=event_time)),
        elsewhere=tuple(parts["elsewhere"]),
        nodes=tuple(parts["nodes"]),
        namespaces=tuple(parts["namespaces"]),
        ending_crds=tuple(parts["ending_crds"]),
        system=tuple(parts["system"]),
        logs=logs,
        packages=packages,
        unconverted=unconverted,
        absent_targets=tuple(absent),
        moment=moment,
    )


def objects_of(snapshot: ClusterState) -> Iterator[Manifest]:
    """Return the objects of a snapshot without long irrelevant fields; logs come last."""
    places = {snapshot.namespace}
    places |= {kinds.subscription_key(one).catalog_namespace for one in snapshot.subscriptions}
    yield from (shorten(one) for one in snapshot.subscriptions)
    yield from (_shorten_subscription(one) for one in snapshot.elsewhere)
    for part in (
        *(snapshot.namespaces, snapshot.system),
        *(snapshot.groups, snapshot.plans, snapshot.csvs),
        tuple(one for one in snapshot.catalogs if objects.namespace(one) in places),
        *(snapshot.jobs, snapshot.deployments, snapshot.slices, snapshot.pods, snapshot.events),
        (*snapshot.nodes, *snapshot.ending_crds),
    ):
        yield from (shorten(one) for one in part)
    for place, text in sorted(snapshot.logs.items()):
        namespace, pod, container = place.split("/")
        metadata = {"namespace": namespace, "name": container}
        yield {
            "apiVersion": LOG[0],
            "kind": LOG[1],
            "metadata": metadata,
            "pod": pod,
            "text": text,
        }
    for image, package in sorted(snapshot.packages.items()):
        yield {"apiVersion": BUNDLE[0], "kind": BUNDLE[1], "image": image, "package": package}
    for crd, message in sorted(snapshot.unconverted.items()):
        head = {"apiVersion": CONVERSION[0], "kind": CONVERSION[1]}
        yield {**head, "metadata": {"name": crd}, "message": message}
    for name in snapshot.absent_targets:
        yield {"apiVersion": ABSENT[0], "kind": ABSENT[1], "metadata": {"name": name}}
    if snapshot.catalog_places is not None:
        yield from reviews(kinds.CATALOG_SOURCE, snapshot.catalog_places)
    if snapshot.moment:
        yield {"apiVersion": SNAPSHOT[0], "kind": SNAPSHOT[1], "moment": snapshot.moment}


def reviews(kind: tuple[str, str], places: Iterable[str] = ()) -> Iterator[Manifest]:
    """Yield objects that record that the user may list a kind only in these namespaces.

    They have the kind with which the API server reports whether a user may do something.
    """
    for place in ("", *places):
        yield {
            "apiVersion": REVIEW[0],
            "kind": REVIEW[1],
            "spec": {"resourceAttributes": _list_request(kind, place)},
            "status": {"allowed": bool(place)},
        }


def listable(found: Iterable[Manifest], kind: tuple[str, str]) -> tuple[str, ...] | None:
    """Return the namespaces in which such objects let the user list a kind; None for all."""
    allowed = {
        objects.text(asked.get("namespace")): bool(kinds.status(one).get("allowed"))
        for one in found
        if objects.kind(one) == REVIEW[1]
        for asked in [objects.mapping(kinds.spec(one).get("resourceAttributes"))]
        if {**asked, "namespace": ""} == {**_list_request(kind), "namespace": ""}
    }
    if allowed.get("", True):
        return None
    return tuple(sorted(place for place, is_allowed in allowed.items() if is_allowed))


def _list_request(kind: tuple[str, str], namespace: str = "") -> Manifest:
    group = kind[0].partition("/")[0]
    asked = {"group": group, "resource": f"{kind[1].lower()}s", "verb": "list"}
    return asked | ({"namespace": namespace} if namespace else {})


def event_time(event: Manifest) -> str:
    """Return the RFC 3339 time at which the event was last seen; empty if unknown."""
    return objects.text(
        event.get("lastTimestamp")
        or event.get("eventTime")
        or objects.metadata(event).get("creationTimestamp")
    )


def shorten(manifest: Manifest) -> Manifest:
    """Return the object without long fields that explain nothing."""
    short: Manifest = dict(manifest)
    short["metadata"] = {
        key: value
        for key, value in objects.metadata(manifest).items()
        if key not in ("managedFields", "annotations")
    }
    spec, status = objects.mapping(short.get("spec")), objects.mapping(short.get("status"))
    match objects.kind(manifest):
        case "ClusterServiceVersion":
            short["spec"] = {k: v for k, v in spec.items() if k not in ("icon", "description")}
        case "InstallPlan" if status:
            short["status"] = {
                **{key: value for key, value in status.items() if key != "bundleLookups"},
                "plan": [_step(step) for step in objects.sequence(status.get("plan"))],
            }
        case "Node":
            short["metadata"] = {"name": objects.name(manifest)}
            short["spec"] = {k: v for k, v in spec.items() if k in ("taints", "unschedulable")}
            short["status"] = {k: v for k, v in status.items() if k == "allocatable"}
            ready = [dict(one) for one in kinds.conditions(manifest) if one.get("type") == "Ready"]
            if ready:
                short["status"]["conditions"] = ready
        case _:
            pass
    return short


def _shorten_subscription(subscription: Manifest) -> Manifest:
    """Keep only what a Subscription requests, where, and whether OLM works for it."""
    metadata = {
        "name": objects.name(subscription),
        "namespace": objects.namespace(subscription),
    }
    found = kinds.status(subscription)
    status = {key: found[key] for key in ("installPlanRef", "installedCSV") if found.get(key)}
    moves = [dict(one) for one in kinds.conditions(subscription) if one.get("type") in _MOVES]
    return {
        **{key: subscription[key] for key in ("apiVersion", "kind") if key in subscription},
        "metadata": metadata,
        "spec": dict(kinds.spec(subscription)),
        **({"status": {**status, "conditions": moves}} if status or moves else {}),
    }


def _step(step: Any) -> Manifest:
    found = objects.mapping(step)
    resource = {
        key: value
        for key, value in objects.mapping(found.get("resource")).items()
        if key != "manifest"
    }
    return {**found, "resource": resource}


def _find_named(found: Objects, name: str, namespace: str | None = None) -> Manifest | None:
    for one in found:
        if objects.name(one) == name and namespace in (None, objects.namespace(one)):
            return one
    return None
