"""Read the state of the cluster around one namespace as one value.

All requests run concurrently. Objects that the user may not read count as absent.
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
from olmkit.olm.explain.workloads import pods, refused_requests
from olmkit.olm.resolver import cluster_input
from olmkit.olm.v1 import extension

if TYPE_CHECKING:
    # imported here, since reading a file needs no HTTP
    from olmkit.edges.cluster.objects import ClusterObjects, Kind

T = TypeVar("T")
Objects = tuple[Manifest, ...]

Added = Callable[[ClusterState], Awaitable[ClusterState]]
"""Adds data from outside the cluster to a snapshot, such as the bundle in an image."""

_GLOBAL = cluster_input.GLOBAL
_SYSTEMS = ("olm", "openshift-operator-lifecycle-manager")
_JOB = ("batch/v1", "Job")
_POD = ("v1", "Pod")
_EVENT = ("v1", "Event")
_NODE = ("v1", "Node")
_ENDPOINTS = ("discovery.k8s.io/v1", "EndpointSlice")


async def require_olm(reader: ClusterObjects) -> None:
    """Raise `InputError` if the cluster has no OLM v0."""
    if not await reader.knows(kinds.SUBSCRIPTION):
        if await reader.knows(extension.CLUSTER_EXTENSION):
            raise InputError(
                "this cluster has OLM v1 only: the API server does not serve Subscriptions",
                hint="use OLM v1 with `--olm v1`",
                cause="olm-not-installed",
            )
        raise InputError(
            "OLM is not installed in this cluster: the API server does not serve Subscriptions",
            hint="install it with `olmkit olm install`",
            cause="olm-not-installed",
        )


async def snapshot(reader: ClusterObjects, namespace: str, *, logs: bool = True) -> ClusterState:
    """Read everything that `explain` needs; with `logs`, also logs of failed containers."""
    every, (own, subscriptions, groups, plans, csvs, deployments, slices) = await asyncio.gather(
        _all(reader, kinds.CATALOG_SOURCE),
        asyncio.gather(
            _namespace(reader, namespace),
            _list_everywhere(reader, kinds.SUBSCRIPTION, namespace),
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
        catalogs, catalog_places = await _list_catalogs(reader, {*places, *_GLOBAL})
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
        absent_targets=await _find_absent_targets(reader, namespace, groups),
        moment=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    if any(kinds.condition(pod, "PodScheduled", value="False") for pod in found):
        made = replace(made, nodes=await or_default(reader.list(_NODE), ()))
    return await add_details(reader, made) if logs else made


async def add_details(reader: ClusterObjects, state: ClusterState) -> ClusterState:
    """Return the snapshot with details about problems: OLM itself, logs, webhooks."""
    full, crds = await asyncio.gather(
        _with_system(reader, state), conversions.ailing(reader, state.own_csvs())
    )
    full = replace(full, unconverted=crds.unconverted, ending_crds=crds.ending)
    full = await _with_doubtful_nodes(reader, full)
    return await with_logs(reader, full)


async def _with_doubtful_nodes(reader: ClusterObjects, state: ClusterState) -> ClusterState:
    """Return the snapshot with the nodes of pods that are not ready."""
    known = {objects.name(one) for one in state.nodes}
    names = sorted(set(pods.find_doubtful_nodes(state)) - known)
    found = await asyncio.gather(*(or_default(reader.find(_NODE, name), None) for name in names))
    nodes = tuple(_with_kind(_NODE, one) for one in found if one is not None)
    return replace(state, nodes=(*state.nodes, *nodes))


async def _with_system(reader: ClusterObjects, state: ClusterState) -> ClusterState:
    """Return the snapshot with OLM's Deployments, and pods and events of failing ones."""
    found = await asyncio.gather(*(_program(reader, name) for name in kinds.PROGRAMS))
    deployments = tuple(one for part in found for one in part)
    known = {objects.namespace(one) for one in (*state.pods, *state.events)} | {state.namespace}
    places = {
        objects.namespace(one) for one in deployments if kinds.condition(one, "Available") is None
    } - known
    pods_, events = state.pods, state.events
    for place in sorted(places):
        pods_ += await _list(reader, _POD, place)
        events += await _list(reader, _EVENT, place)
    return replace(
        state,
        system=deployments,
        pods=pods_,
        events=tuple(sorted(events, key=snapshots.event_time)),
    )


async def _namespace(reader: ClusterObjects, name: str) -> Objects:
    found = await or_default(reader.find(kinds.NAMESPACE, name), None)
    return () if found is None else (_with_kind(kinds.NAMESPACE, found),)


async def _find_absent_targets(
    reader: ClusterObjects, namespace: str, groups: Objects
) -> tuple[str, ...]:
    """Return the namespaces that the OperatorGroup names and that do not exist.

    Namespaces that the user may not read count as existing.
    """
    targets = kinds.target_namespaces(groups[0]) if len(groups) == 1 else ()
    names = [name for name in dict.fromkeys(targets) if name not in ("", namespace)]
    unknown: Manifest | None = {}
    found = await asyncio.gather(
        *(or_default(reader.find(kinds.NAMESPACE, name), unknown) for name in names)
    )
    return tuple(name for name, one in zip(names, found, strict=True) if one is None)


async def read_catalog_operator(reader: ClusterObjects) -> Objects:
    """Return the Deployment of the program of OLM that reads catalogs, if it is in the cluster."""
    return await or_default(_program(reader, kinds.CATALOG_PROGRAM), ())


async def _program(reader: ClusterObjects, name: str) -> Objects:
    """Return the Deployments with this name in all namespaces, or in OLM's usual ones."""
    try:
        return await reader.list(kinds.DEPLOYMENT, fields=f"metadata.name={name}")
    except Forbidden:
        found = [
            await or_default(reader.find(kinds.DEPLOYMENT, name, place), None) for place in _SYSTEMS
        ]
    return tuple(_with_kind(kinds.DEPLOYMENT, one) for one in found if one is not None)


def _with_kind(kind: Kind, manifest: Manifest) -> Manifest:
    return {"apiVersion": kind[0], "kind": kind[1], **manifest}


async def with_logs(reader: ClusterObjects, state: ClusterState) -> ClusterState:
    """Return the snapshot with the last log lines of failed containers."""
    wanted = list(dict.fromkeys(pods.find_needed_logs(state)))
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
    return replace(state, logs=logs)


async def find_existing(
    reader: ClusterObjects, manifests: Iterable[Manifest]
) -> tuple[Manifest, ...]:
    """Return the manifests whose objects exist in the cluster."""
    return tuple([one for one in manifests if await reader.current(one) is not None])


async def why(
    reader: ClusterObjects,
    package: str,
    namespace: str,
    *,
    save: Path | None = None,
    added: Added | None = None,
) -> Explanation:
    """Explain why an operator is not installed, or that it is.

    `save`: a file for all objects that were read; it contains no Secrets.
    """
    await require_olm(reader)
    seen = await snapshot(reader, namespace)
    if added is not None:
        seen = await added(seen)
    if explain(seen, package).cause == "healthy":
        seen = await _with_logs_of(reader, seen, package)
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


async def _with_logs_of(reader: ClusterObjects, seen: ClusterState, package: str) -> ClusterState:
    """Return the snapshot with the last log lines of a running operator."""
    subscription = seen.subscription(package)
    csv = seen.csv(seen.installed(subscription)) if subscription else None
    return await with_running_logs(reader, seen, kinds.deployment_names(csv)) if csv else seen


async def with_running_logs(
    reader: ClusterObjects, seen: ClusterState, deployments: Iterable[str]
) -> ClusterState:
    """Return the snapshot with the last log lines of the running pods of these Deployments."""
    wanted = list(refused_requests.logs_wanted(seen, deployments))
    texts = await asyncio.gather(
        *(reader.log(*one, lines=refused_requests.LINES) for one in wanted)
    )
    more = {"/".join(one): lines for one, lines in zip(wanted, texts, strict=True) if lines}
    return replace(seen, logs={**seen.logs, **more})


async def require_not_of_v1(
    reader: ClusterObjects, state: ClusterState, package: str, *, command: str
) -> None:
    """Raise `InputError` if the package is requested by a ClusterExtension of OLM v1.

    `command` is the equivalent command for OLM v1, for example `olmkit upgrade`.
    """
    found = explain(state, package)
    if found.cause == "not-installed" and await is_of_v1(reader, package):
        raise InputError(
            f"{found.message}, and a ClusterExtension of OLM v1 does",
            hint=f"run `{command} {package} --olm v1`",
            cause="not-installed",
        )


async def is_of_v1(reader: ClusterObjects, name: str) -> bool:
    """Return whether a ClusterExtension has this name or requests the package."""
    if not await reader.knows(extension.CLUSTER_EXTENSION):
        return False
    existing: tuple[Manifest, ...] = ()
    found = await or_default(reader.list(extension.CLUSTER_EXTENSION), existing)
    return any(
        name in (objects.name(one), extension.request_of(one).get("packageName")) for one in found
    )


def why_saved(file: Path, package: str, namespace: str) -> Explanation:
    """Explain the objects in a file, from `save` or `kubectl get -o yaml`.

    The default namespace is that of the Subscription. Raises `InputError` if the file does not
    contain objects.
    """
    found = load_saved_objects(file)
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
    return explain(snapshots.from_objects(found, namespace), package)


def load_saved_objects(file: Path) -> list[Manifest]:
    """Return the objects in a file, or raise `InputError`."""
    found: list[Manifest] = []
    for document in documents.load_all(disk.read_file(file), str(file)):
        value = document.value
        if isinstance(value, dict):
            found += objects.items_of(value)
    return found


async def _list_everywhere(reader: ClusterObjects, kind: Kind, namespace: str) -> Objects:
    """Return the objects of all namespaces, or of one if the user may not read all."""
    try:
        return await reader.list(kind)
    except Forbidden:
        return await reader.list(kind, namespace)


async def _list_catalogs(
    reader: ClusterObjects, namespaces: Iterable[str]
) -> tuple[Objects, tuple[str, ...]]:
    """Return the CatalogSources that the user may list, and their namespaces."""
    places = sorted(namespaces)
    found = await asyncio.gather(*(_all(reader, kinds.CATALOG_SOURCE, place) for place in places))
    read = [(place, part) for place, part in zip(places, found, strict=True) if part is not None]
    return tuple(one for _, part in read for one in part), tuple(place for place, _ in read)


async def _all(reader: ClusterObjects, kind: Kind, namespace: str = "") -> Objects | None:
    """Return the objects of a kind; None if the user may not list them."""
    return await or_default(reader.list(kind, namespace), None)


async def _list(reader: ClusterObjects, kind: Kind, namespace: str) -> Objects:
    return await or_default(reader.list(kind, namespace), ())


async def created_namespace_note(reader: ClusterObjects, name: str) -> tuple[str, ...]:
    """Return the note that a namespace created by `install` stays after `uninstall`.

    Empty for any other namespace, a terminating one, and one that the user may not read.
    """
    found = await or_default(reader.find(kinds.NAMESPACE, name), None) if name else None
    if found is None or not install_objects.is_ours(found):
        return ()
    if objects.metadata(found).get("deletionTimestamp"):
        return ()
    how = f"`kubectl delete namespace {name}` deletes it and everything in it"
    return (f"the namespace {name}, which olmkit created: {how}",)


async def or_default(question: Awaitable[T], otherwise: T) -> T:
    """Return the result of a request; `otherwise` if it is forbidden."""
    try:
        return await question
    except Forbidden:
        return otherwise
