"""What is in the cluster around one namespace, as one value.

Everything is requested at once, since the answers are evaluated together; what may not
be read counts as not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.edges import disk
from olmkit.jobs.cluster import conversions
from olmkit.kube import objects
from olmkit.kube.api import Forbidden
from olmkit.kube.objects import Manifest
from olmkit.olm import cluster_state as snapshots
from olmkit.olm import install_objects, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.explain.installs import explain
from olmkit.olm.explain.workloads import pods
from olmkit.olm.resolver import cluster_input
from olmkit.olm.v1 import extension

if TYPE_CHECKING:
    # What reads a file alone needs no HTTP.
    from olmkit.edges.cluster.objects import ClusterObjects, Kind

T = TypeVar("T")
Objects = tuple[Manifest, ...]

Added = Callable[[ClusterState], Awaitable[ClusterState]]
"""Adds data from outside of the cluster to a snapshot, such as the bundle of an image."""

_GLOBAL = cluster_input.GLOBAL
_SYSTEMS = ("olm", "openshift-operator-lifecycle-manager")
_JOB = ("batch/v1", "Job")
_POD = ("v1", "Pod")
_EVENT = ("v1", "Event")
_NODE = ("v1", "Node")
_ENDPOINTS = ("discovery.k8s.io/v1", "EndpointSlice")


async def require_olm(reader: ClusterObjects) -> None:
    """Raises `InputError` when the cluster has no OLM v0."""
    if not await reader.knows(kinds.SUBSCRIPTION):
        if await reader.knows(extension.CLUSTER_EXTENSION):
            raise InputError(
                "this cluster has OLM v1 only: the API server does not serve Subscriptions",
                hint="use OLM v1 with `--olm v1`",
            )
        raise InputError(
            "OLM is not installed in this cluster: the API server does not serve Subscriptions",
            hint="install it with `olmkit olm install`",
        )


async def snapshot(reader: ClusterObjects, namespace: str, *, logs: bool = True) -> ClusterState:
    """Read all that `explain` looks at; `logs` of containers too that have ended badly."""
    every, (own, subscriptions, groups, plans, csvs, deployments, slices) = await asyncio.gather(
        _all(reader, kinds.CATALOG_SOURCE),
        asyncio.gather(
            _namespace(reader, namespace),
            _everywhere(reader, kinds.SUBSCRIPTION, namespace),
            _list(reader, kinds.OPERATOR_GROUP, namespace),
            _list(reader, kinds.INSTALL_PLAN, namespace),
            _list(reader, kinds.CSV, namespace),
            _list(reader, kinds.DEPLOYMENT, namespace),
            _list(reader, _ENDPOINTS, namespace),
        ),
    )
    here = tuple(one for one in subscriptions if objects.namespace(one) == namespace)
    places = sorted(
        {namespace, *(kinds.subscription_key(one).catalog_namespace for one in here)} - {""}
    )
    catalogs, catalog_places = every, None
    if catalogs is None:
        catalogs, catalog_places = await _some_catalogs(reader, {*places, *_GLOBAL})
    around = await asyncio.gather(
        *(_list(reader, kind, place) for kind in (_JOB, _POD, _EVENT) for place in places)
    )
    count = len(places)
    jobs, found, events = (
        tuple(one for part in around[index * count : (index + 1) * count] for one in part)
        for index in range(3)
    )
    made = ClusterState(
        namespace=namespace,
        namespaces=own,
        subscriptions=here,
        elsewhere=tuple(one for one in subscriptions if objects.namespace(one) != namespace),
        catalogs=catalogs,
        catalog_places=catalog_places,
        jobs=jobs,
        pods=found,
        events=tuple(sorted(events, key=snapshots.event_time)),
        groups=groups,
        plans=plans,
        csvs=csvs,
        deployments=deployments,
        slices=slices,
        moment=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    if any(kinds.condition(pod, "PodScheduled", value="False") for pod in found):
        made = replace(made, nodes=await if_allowed(reader.list(_NODE), ()))
    return await detailed(reader, made) if logs else made


async def detailed(reader: ClusterObjects, made: ClusterState) -> ClusterState:
    """The snapshot with what explains that something is not ready: OLM itself, logs, webhooks."""
    full, unconverted = await asyncio.gather(
        _with_system(reader, made), conversions.unconverted(reader, made.own_csvs())
    )
    return await with_logs(reader, replace(full, unconverted=unconverted))


async def _with_system(reader: ClusterObjects, made: ClusterState) -> ClusterState:
    """The snapshot with the Deployments of OLM, and with pods and events of those that fail."""
    found = await asyncio.gather(*(_program(reader, name) for name in kinds.PROGRAMS))
    deployments = tuple(one for part in found for one in part)
    known = {objects.namespace(one) for one in (*made.pods, *made.events)} | {made.namespace}
    places = {
        objects.namespace(one) for one in deployments if kinds.condition(one, "Available") is None
    } - known
    pods_, events = made.pods, made.events
    for place in sorted(places):
        pods_ += await _list(reader, _POD, place)
        events += await _list(reader, _EVENT, place)
    return replace(
        made,
        system=deployments,
        pods=pods_,
        events=tuple(sorted(events, key=snapshots.event_time)),
    )


async def _namespace(reader: ClusterObjects, name: str) -> Objects:
    found = await if_allowed(reader.find(kinds.NAMESPACE, name), None)
    return () if found is None else (_kinded(kinds.NAMESPACE, found),)


async def _program(reader: ClusterObjects, name: str) -> Objects:
    """Return the Deployments of that name in all namespaces, or in those that OLM usually has."""
    try:
        return await reader.list(kinds.DEPLOYMENT, fields=f"metadata.name={name}")
    except Forbidden:
        found = [
            await if_allowed(reader.find(kinds.DEPLOYMENT, name, place), None) for place in _SYSTEMS
        ]
    return tuple(_kinded(kinds.DEPLOYMENT, one) for one in found if one is not None)


def _kinded(kind: Kind, manifest: Manifest) -> Manifest:
    return {"apiVersion": kind[0], "kind": kind[1], **manifest}


async def with_logs(reader: ClusterObjects, made: ClusterState) -> ClusterState:
    """Return the snapshot with the last lines of the containers that ended badly."""
    wanted = list(dict.fromkeys(pods.logs_wanted(made)))
    texts = await asyncio.gather(
        *(
            reader.log(namespace, pod, container, previous=previous)
            for namespace, pod, container, previous in wanted
        )
    )
    logs = {
        f"{namespace}/{pod}/{container}": lines
        for (namespace, pod, container, _), lines in zip(wanted, texts, strict=True)
    }
    return replace(made, logs=logs)


async def present(reader: ClusterObjects, wanted: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Return those of the manifests whose objects are in the cluster."""
    return tuple([one for one in wanted if await reader.current(one) is not None])


async def why(
    reader: ClusterObjects,
    package: str,
    namespace: str,
    *,
    save: Path | None = None,
    added: Added | None = None,
) -> Explanation:
    """Return why an operator is not installed, or that it is.

    `save`: the file that gets all objects that were looked at; no Secrets are among them.
    """
    await require_olm(reader)
    seen = await snapshot(reader, namespace)
    if added is not None:
        seen = await added(seen)
    if save is not None:
        disk.write_atomically(save, documents.dump_all(snapshots.objects_of(seen)))
    found = explain(seen, package)
    if found.cause == "not-installed" and await is_of_v1(reader, package):
        return replace(
            found,
            message=f"{found.message}, and a ClusterExtension of OLM v1 does",
            hint=f"`olmkit why {package} --olm v1` explains that",
        )
    return found


async def require_not_of_v1(
    reader: ClusterObjects, state: ClusterState, package: str, *, command: str
) -> None:
    """Raises `InputError` when a ClusterExtension requests the package, and not the namespace.

    `command` does for OLM v1 what the user wants, for example `olmkit upgrade`.
    """
    found = explain(state, package)
    if found.cause == "not-installed" and await is_of_v1(reader, package):
        raise InputError(
            f"{found.message}, and a ClusterExtension of OLM v1 does",
            hint=f"run `{command} {package} --olm v1`",
        )


async def is_of_v1(reader: ClusterObjects, name: str) -> bool:
    """Return whether a ClusterExtension has that name, or requests the package of that name."""
    if not await reader.knows(extension.CLUSTER_EXTENSION):
        return False
    there: tuple[Manifest, ...] = ()
    found = await if_allowed(reader.list(extension.CLUSTER_EXTENSION), there)
    return any(
        name in (objects.name(one), extension.request_of(one).get("packageName")) for one in found
    )


def why_saved(file: Path, package: str, namespace: str) -> Explanation:
    """The same of objects in a file, as `save` has written them or `kubectl get -o yaml` does.

    Without a namespace, that of the Subscription of the package. Raises `InputError` when the
    file cannot be read as objects.
    """
    found = saved_objects(file)
    if not namespace:
        namespace = next(
            (
                objects.namespace(one)
                for one in found
                if objects.kind(one) == "Subscription"
                and kinds.subscription_key(one).package == package
            ),
            "default",
        )
    return explain(snapshots.of_objects(found, namespace), package)


def saved_objects(file: Path) -> list[Manifest]:
    """Return the objects in a file; raise `InputError` when the file cannot be read as objects."""
    found: list[Manifest] = []
    for document in documents.load_all(disk.read_file(file), str(file)):
        value = document.value
        if isinstance(value, dict):
            found += objects.items_of(value)
    return found


async def _everywhere(reader: ClusterObjects, kind: Kind, namespace: str) -> Objects:
    """Return the objects of all namespaces, or of one where not all may be read."""
    try:
        return await reader.list(kind)
    except Forbidden:
        return await reader.list(kind, namespace)


async def _some_catalogs(
    reader: ClusterObjects, namespaces: Iterable[str]
) -> tuple[Objects, tuple[str, ...]]:
    """Return the CatalogSources of the namespaces in which the user may list them, and those."""
    places = sorted(namespaces)
    found = await asyncio.gather(*(_all(reader, kinds.CATALOG_SOURCE, place) for place in places))
    read = [(place, part) for place, part in zip(places, found, strict=True) if part is not None]
    return tuple(one for _, part in read for one in part), tuple(place for place, _ in read)


async def _all(reader: ClusterObjects, kind: Kind, namespace: str = "") -> Objects | None:
    """Return the objects of a kind; None if the user may not list them there."""
    return await if_allowed(reader.list(kind, namespace), None)


async def _list(reader: ClusterObjects, kind: Kind, namespace: str) -> Objects:
    return await if_allowed(reader.list(kind, namespace), ())


async def created_namespace(reader: ClusterObjects, name: str) -> tuple[str, ...]:
    """What `uninstall` says of a namespace that `install` created: it stays, and others may use it.

    Empty for another namespace, one that ends, and one that may not be read.
    """
    found = await if_allowed(reader.find(kinds.NAMESPACE, name), None) if name else None
    if found is None or not install_objects.is_ours(found):
        return ()
    if objects.metadata(found).get("deletionTimestamp"):
        return ()
    how = f"`kubectl delete namespace {name}` deletes it and everything in it"
    return (f"the namespace {name}, which olmkit created: {how}",)


async def if_allowed(question: Awaitable[T], otherwise: T) -> T:
    """Return the answer; `otherwise` when the user may not read it."""
    try:
        return await question
    except Forbidden:
        return otherwise
