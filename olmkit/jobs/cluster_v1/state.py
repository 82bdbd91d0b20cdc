"""Read the state of the cluster around one ClusterExtension.

Objects that the user may not read count as absent, as in `olmkit.jobs.cluster.read`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.names import similar_package
from olmkit.edges import disk
from olmkit.edges.cluster.objects import ClusterObjects, Kind
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster.read import or_default
from olmkit.kube import objects
from olmkit.kube.api import Forbidden
from olmkit.kube.objects import Manifest, text
from olmkit.olm import cluster_state as snapshots
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState, Objects
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.v1 import extension as extensions
from olmkit.olm.v1 import messages
from olmkit.olm.v1 import state as states
from olmkit.olm.v1.explain import explain
from olmkit.olm.v1.state import CONTROLLERS, OWNER_LABEL, SYSTEMS, ExtensionState

_POD, _EVENT = ("v1", "Pod"), ("v1", "Event")
_NOTHING: Objects = ()
_NAMED = {
    "CustomResourceDefinition": kinds.CRD,
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    "Deployment": kinds.DEPLOYMENT,
    "Service": ("v1", "Service"),
    "ServiceAccount": ("v1", "ServiceAccount"),
}


async def require_olm(reader: ClusterObjects) -> None:
    """Raise `InputError` if the cluster has no OLM v1."""
    if not await reader.knows(extensions.CLUSTER_EXTENSION):
        raise InputError(
            "OLM v1 is not installed in this cluster: the API server does not serve "
            "ClusterExtensions",
            hint="install it, or use OLM v0 with `--olm v0`",
            cause="olm-not-installed",
        )


async def find(reader: ClusterObjects, name: str) -> Manifest | None:
    """Return the ClusterExtension with this name, else the one for this package.

    Raises `InputError` if several request the package.
    """
    try:
        return states.choose_extension(await reader.list(extensions.CLUSTER_EXTENSION), name)
    except Forbidden:
        return await reader.find(extensions.CLUSTER_EXTENSION, name)


async def not_found_error(
    reader: ClusterObjects, name: str, *, command: str, catalogs: Objects = ()
) -> Explanation:
    """Explain that no ClusterExtension requests a package, which OLM v0 may have installed.

    `command` is the equivalent command for OLM v0, for example `olmkit upgrade`. The name may be
    that of one of the `catalogs`.
    """
    found = explain(ExtensionState(name=name, catalogs=catalogs))
    is_catalog = any(objects.name(one) == name for one in catalogs)
    near = "" if is_catalog else await _similar(reader, name)
    if near:
        found = replace(found, hint=f"did you mean `{near}`?")
    if not await reader.knows(kinds.SUBSCRIPTION):
        return found
    every = await or_default(reader.list(kinds.SUBSCRIPTION), _NOTHING)
    places = sorted(
        objects.namespace(one) for one in every if kinds.subscription_key(one).package == name
    )
    if not places:
        return found
    listed = ", ".join(f"`{place}`" for place in places)
    return replace(
        found,
        message=f"{found.message}, and a Subscription of OLM v0 in namespace {listed} does",
        hint=f"run `{command} {name} -n {places[0]}`",
    )


async def _similar(reader: ClusterObjects, name: str) -> str:
    """Return the name or package of a ClusterExtension that is similar to `name`, or empty."""
    every = await or_default(reader.list(extensions.CLUSTER_EXTENSION), _NOTHING)
    packages = [text(extensions.request_of(one).get("packageName")) for one in every]
    return similar_package(name, [*map(objects.name, every), *packages])


async def read(reader: ClusterObjects, name: str, *, logs: bool = True) -> ExtensionState:
    """Read everything that `explain` needs; with `logs`, also logs of failed containers.

    Raises `InputError` if several ClusterExtensions request the package `name`.
    """
    extension, catalogs = await asyncio.gather(
        find(reader, name), or_default(reader.list(extensions.CLUSTER_CATALOG), None)
    )
    return await read_around(reader, name, extension, catalogs, logs=logs)


async def read_around(
    reader: ClusterObjects,
    name: str,
    extension: Manifest | None,
    catalogs: Objects | None,
    *,
    logs: bool = True,
) -> ExtensionState:
    """Read the state around a ClusterExtension; `catalogs` is None if listing is forbidden."""
    is_known = catalogs is not None
    if catalogs is None:
        catalogs, is_known = await _named_catalog(reader, extension)
    if extension is None:
        return ExtensionState(name=name, catalogs=catalogs, are_catalogs_known=is_known)
    place = text(kinds.spec(extension).get("namespace"))
    labels = f"{OWNER_LABEL}={objects.name(extension)}"
    listed = await or_default(reader.list(kinds.DEPLOYMENT, place, labels=labels), None)
    here = await _with_pods(reader, place, listed or (), logs=logs)
    progressing = kinds.any_condition(extension, "Progressing")
    system, around_it = ClusterState(namespace=""), _NOTHING
    if progressing.get("reason") != "Succeeded" or _is_outdated(extension, progressing):
        system = await _system(reader)
        message = text(progressing.get("message"))
        around_it = await _read_named(reader, message, (place, system.namespace))
    return ExtensionState(
        name=name,
        extension=extension,
        catalogs=catalogs,
        are_catalogs_known=is_known,
        are_deployments_known=listed is not None,
        here=here,
        system=system,
        around=around_it,
    )


async def _named_catalog(
    reader: ClusterObjects, extension: Manifest | None
) -> tuple[Objects, bool]:
    """Return a ClusterExtension's named catalog, and whether OLM reads only that one."""
    request = extensions.request_of(extension or {})
    named = extensions.catalog_name(request)
    if not named:
        return (), False
    try:
        found = await reader.find(extensions.CLUSTER_CATALOG, named)
    except Forbidden:
        return (), False
    return (() if found is None else (_with_kind(found, extensions.CLUSTER_CATALOG),)), True


def save(state: ExtensionState, file: Path) -> None:
    """Write the objects of the state to a file; no Secrets are among them."""
    disk.write_atomically(file, documents.dump_all(states.objects_of(state)))


def load(file: Path, name: str) -> ExtensionState:
    """Read the state from a file of `save` or `kubectl get -o yaml`.

    Raises `InputError` if the file does not contain objects.
    """
    return states.from_objects(cluster_read.load_saved_objects(file), name)


def _is_outdated(extension: Manifest, condition: object) -> bool:
    seen = kinds.number(objects.mapping(condition).get("observedGeneration"))
    return seen < kinds.number(objects.metadata(extension).get("generation"))


async def _with_pods(
    reader: ClusterObjects, namespace: str, deployments: Objects, *, logs: bool
) -> ClusterState:
    """Return the Deployments, with the pods and events of their namespace."""
    pods: Objects = ()
    events: Objects = ()
    if deployments:
        pods, events = await asyncio.gather(
            or_default(reader.list(_POD, namespace), ()),
            or_default(reader.list(_EVENT, namespace), ()),
        )
    made = ClusterState(
        namespace=namespace,
        deployments=deployments,
        pods=pods,
        events=tuple(sorted(events, key=snapshots.event_time)),
    )
    return await cluster_read.with_logs(reader, made) if logs else made


async def _system(reader: ClusterObjects) -> ClusterState:
    """Return the Deployments of OLM v1 itself, from the first namespace that has one."""
    for place in SYSTEMS:
        found = await asyncio.gather(
            *(or_default(reader.find(kinds.DEPLOYMENT, name, place), None) for name in CONTROLLERS)
        )
        deployments = tuple(_with_kind(one) for one in found if one is not None)
        if any(kinds.condition(one, "Available") is None for one in deployments):
            return await _with_pods(reader, place, deployments, logs=False)
        if deployments:
            return ClusterState(namespace=place, deployments=deployments)
    return ClusterState(namespace="")


def _with_kind(manifest: Manifest, kind: Kind = kinds.DEPLOYMENT) -> Manifest:
    return {"apiVersion": kind[0], "kind": kind[1], **manifest}


async def _read_named(reader: ClusterObjects, message: str, namespaces: Iterable[str]) -> Objects:
    """Return the metadata of namespaces and of objects that a message says already exist."""
    found = [
        await or_default(reader.find(kinds.NAMESPACE, name), None) for name in namespaces if name
    ]
    collision = messages.EXISTS.search(message)
    if collision is not None and collision["kind"] in _NAMED:
        kind = _NAMED[collision["kind"]]
        question = reader.find(kind, collision["name"], collision["place"])
        found.append(await or_default(question, None))
    return tuple(
        {key: one[key] for key in ("apiVersion", "kind", "metadata") if key in one}
        for one in found
        if one is not None
    )
