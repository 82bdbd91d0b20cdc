"""Deploy a catalog server with several pods, and the object that makes OLM use it."""

from __future__ import annotations

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import deploy as cluster_deploy
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import Manifest
from olmkit.olm import install_objects
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Explanation


async def changes(reader: ClusterObjects, manifests: tuple[Manifest, ...]) -> tuple[str, ...]:
    """Return a line for each object with its change by `apply`; raises like `apply`."""
    await _refuse_others(reader, manifests)
    return await cluster_deploy.changes(reader, manifests)


async def apply(
    reader: ClusterObjects, manifests: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Apply the objects and wait for the rollout; return the final state.

    Raises `ClusterError` before any change if one of them exists and was not created by olmkit, and
    if the server rejects one.
    """
    await _refuse_others(reader, manifests)
    return await cluster_deploy.apply(reader, manifests, report=report, timeouts=timeouts)


async def _refuse_others(reader: ClusterObjects, manifests: tuple[Manifest, ...]) -> None:
    for manifest in manifests:
        found = await reader.current(manifest)
        if found is not None and not install_objects.is_ours(found):
            raise ClusterError(
                f"{explanation.subject(manifest)} exists already, and olmkit did not create it",
                hint="use another name, or delete it",
            )
