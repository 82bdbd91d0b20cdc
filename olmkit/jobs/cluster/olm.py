"""Check, install and remove OLM itself.

The manifests are files or URLs; a release has two. They are applied with server-side apply, since
the CRDs are too large for client-side apply, in the order of their dependencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.edges import disk
from olmkit.edges.cluster.objects import ClusterObjects, Kind
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import deploy, read, wait, write
from olmkit.jobs.cluster.deploy import UndeployPlan
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster.write import Removed
from olmkit.kube import objects, rollout
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import cluster_state, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import csvs
from olmkit.olm.explain.explanation import Diagnosis, Explanation, Readiness
from olmkit.olm.explain.workloads import pods
from olmkit.olm.v1 import extension as v1

RELEASE = "v0.46.0"
_ADDRESS = (
    "https://github.com/operator-framework/operator-lifecycle-manager/releases/download/{}/{}"
)
_FILES = ("crds.yaml", "olm.yaml")
_MAX_MANIFESTS = 64 * 1024 * 1024
# The names of OLM's Deployments by generation.
_PROGRAMS = {
    "olm-operator": "v0",
    "catalog-operator": "v0",
    "packageserver": "v0",
    "catalogd-controller-manager": "v1",
    "operator-controller-controller-manager": "v1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OlmDeployment:
    """One Deployment of OLM; `finding` is empty if it is available."""

    generation: str
    namespace: str
    name: str
    image: str
    finding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OlmStatus:
    """The generations of OLM that the API serves, and their Deployments.

    There are no Deployments if OLM runs outside the cluster. The counts of Subscriptions,
    ClusterExtensions and ClusterCatalogs are None if the API server does not serve the kind, or if
    the user may not list it.
    """

    generations: tuple[str, ...]
    parts: tuple[OlmDeployment, ...]
    subscriptions: int | None
    extensions: int | None = None
    catalogs: int | None = None

    @property
    def is_ready(self) -> bool:
        return bool(self.generations) and not any(part.finding for part in self.parts)


async def status(reader: ClusterObjects) -> OlmStatus:
    """Return the state of OLM in the cluster."""
    known = [
        name
        for name, kind in (("v0", kinds.SUBSCRIPTION), ("v1", v1.CLUSTER_EXTENSION))
        if await reader.knows(kind)
    ]
    found = [one for one in await reader.list(kinds.DEPLOYMENT) if objects.name(one) in _PROGRAMS]
    parts = []
    for deployment in found:
        seen = await _around(reader, deployment)
        finding = pods.explain_deployment(seen, objects.name(deployment))
        containers = sequence(objects.pod_spec(deployment).get("containers"))
        parts.append(
            OlmDeployment(
                generation=_PROGRAMS[objects.name(deployment)],
                namespace=objects.namespace(deployment),
                name=objects.name(deployment),
                image=text(mapping(containers[0]).get("image")) if containers else "",
                finding=finding.message if finding else "",
            )
        )
    return OlmStatus(
        generations=tuple(known),
        parts=tuple(parts),
        subscriptions=await _count(reader, kinds.SUBSCRIPTION),
        extensions=await _count(reader, v1.CLUSTER_EXTENSION),
        catalogs=await _count(reader, v1.CLUSTER_CATALOG),
    )


async def _count(reader: ClusterObjects, kind: Kind) -> int | None:
    if not await reader.knows(kind):
        return None
    found = await read.or_default(reader.list(kind), None)
    return None if found is None else len(found)


async def _around(reader: ClusterObjects, deployment: Manifest) -> ClusterState:
    """Return a Deployment with the pods and events of its namespace, as far as they are listed."""
    place = objects.namespace(deployment)
    deployment = {"apiVersion": kinds.DEPLOYMENT[0], "kind": kinds.DEPLOYMENT[1], **deployment}
    found = await read.or_default(reader.list(("v1", "Pod"), place), ())
    events = await read.or_default(reader.list(("v1", "Event"), place), ())
    made = ClusterState(
        namespace=place,
        deployments=(deployment,),
        pods=found,
        events=tuple(sorted(events, key=cluster_state.event_time)),
    )
    return await read.with_logs(reader, made)


async def manifests(names: Sequence[str], release: str, access: Access) -> tuple[Manifest, ...]:
    """Read the objects in files and at URLs, or those of a release of OLM v0.

    Raises `InputError` if they are not valid manifests, and `RemoteError` if they cannot be
    downloaded.
    """
    wanted = list(names) or [_ADDRESS.format(release, file) for file in _FILES]
    found: list[Manifest] = []
    for name in wanted:
        data = await _read(name, access)
        for document in documents.load_all(data, name):
            value = document.value
            if isinstance(value, dict) and objects.kind(value):
                found += objects.items_of(value)
    if not found:
        raise InputError(f"there are no objects in {', '.join(f'`{name}`' for name in wanted)}")
    return rollout.sort_for_apply(found)


async def install(
    reader: ClusterObjects, found: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Apply the manifests, and wait for the Deployments and for OLM's own CSVs."""
    explained = await deploy.apply(reader, found, report=report, timeouts=timeouts)
    if not explained.is_ready:
        return explained
    for csv in found:
        if objects.kind(csv) == kinds.CSV[1]:
            explained = await _wait_until_succeeded(reader, csv, report, timeouts)
            if not explained.is_ready:
                return explained
    return Explanation(readiness=Readiness.READY, cause="healthy", message="OLM is installed")


async def removal(reader: ClusterObjects, found: tuple[Manifest, ...]) -> UndeployPlan:
    """Return the objects to delete. Raises `InputError` if operators are installed through OLM."""
    wanted = await reader.list(kinds.SUBSCRIPTION)
    if wanted:
        listed = ", ".join(f"`{objects.namespace(one)}/{objects.name(one)}`" for one in wanted[:5])
        raise InputError(
            f"operators are installed through OLM: {listed}",
            hint="uninstall them first: without OLM, nothing manages them",
        )
    found = await read.find_existing(reader, found)
    own = [one for one in found if objects.kind(one) == kinds.CSV[1]]
    rest = tuple(one for one in reversed(found) if one not in own)
    # Its own CSVs are deleted while it still runs, since they have its finalizer.
    return UndeployPlan(objects=rest, operands=tuple(own))


async def uninstall(
    reader: ClusterObjects, plan: UndeployPlan, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete OLM, and wait until it is deleted."""
    steps = (plan.operands, plan.objects)
    return await write.delete(reader, steps, report=report, timeouts=timeouts)


async def _wait_until_succeeded(
    reader: ClusterObjects, csv: Manifest, report: Report, timeouts: Timeouts
) -> Explanation:
    name, place = objects.name(csv), objects.namespace(csv)

    async def look() -> Diagnosis | None:
        seen = await read.snapshot(reader, place)
        existing = seen.csv(name)
        if existing is not None:
            return csvs.explain_csv(seen, existing)
        words = f"`{name}` does not exist yet"
        return Diagnosis(cause="csv-missing", message=words, readiness=Readiness.WAITING)

    return await wait.wait_until_healthy(
        look, f"`{name}` is installed", report=report, timeouts=timeouts
    )


async def _read(name: str, access: Access) -> bytes:
    if not name.startswith(("https://", "http://")):
        return disk.read_file(Path(name), limit=_MAX_MANIFESTS)
    from olmkit.edges.network.web import Web

    instead = "pass files or other URLs with `--manifests`"
    try:
        async with Web(transports.web_options(access)) as web, web.send("GET", name) as reply:
            if reply.status == 200:
                return await reply.read(_MAX_MANIFESTS)
            status = reply.status
    except RemoteError as error:
        error.hint = f"{error.hint}; or {instead}" if error.hint else instead
        raise
    raise RemoteError(
        f"`{name}` cannot be downloaded: the server answered {status}",
        hint=instead,
        temporary=status >= 500,
    )
