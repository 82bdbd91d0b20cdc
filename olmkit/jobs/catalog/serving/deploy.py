"""Deploying a server of a catalog that several pods share, with what points OLM to it."""

from __future__ import annotations

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import deploy as cluster_deploy
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import Manifest
from olmkit.olm import install_objects
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Explanation


async def changes(reader: ClusterObjects, wanted: tuple[Manifest, ...]) -> tuple[str, ...]:
    """What `apply` would do with each object, in words; raises as `apply` does."""
    await _refuse_others(reader, wanted)
    return await cluster_deploy.changes(reader, wanted)


async def apply(
    reader: ClusterObjects, wanted: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Apply the objects and wait until the pods are rolled out; returns the final state.

    Raises `ClusterError` when one of them is there and olmkit did not create it, before anything
    is applied, and when the server refuses one.
    """
    await _refuse_others(reader, wanted)
    return await cluster_deploy.apply(reader, wanted, report=report, timeouts=timeouts)


async def _refuse_others(reader: ClusterObjects, wanted: tuple[Manifest, ...]) -> None:
    for manifest in wanted:
        found = await reader.current(manifest)
        if found is not None and not install_objects.is_ours(found):
            raise ClusterError(
                f"{explanation.subject(manifest)} exists already, and olmkit did not create it",
                hint="use another name, or delete it",
            )
