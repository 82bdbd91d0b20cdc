"""Keep one OperatorGroup in each namespace, also with concurrent installs.

Each install checks for a group before it creates one, and a concurrent install may do the same. OLM
installs nothing in a namespace with two groups, so all installs except the first delete theirs.
"""

from __future__ import annotations

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.wait import Report
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.cluster_state import ClusterState


async def settle(
    reader: ClusterObjects, seen: ClusterState, created: list[Manifest], report: Report
) -> None:
    """Delete the group of this run if an earlier one selects the same namespaces.

    It is then removed from `created`. Groups that select other namespaces stay: only their owners
    know which one is correct.
    """
    own = next((one for one in created if objects.kind(one) == kinds.OPERATOR_GROUP[1]), None)
    if own is None or len(seen.groups) < 2:
        return
    first = min(seen.groups, key=_rank)
    if objects.name(first) == objects.name(own) or _target_namespaces(first) != _target_namespaces(
        own
    ):
        return
    await reader.delete(own)
    created.remove(own)
    report(
        f"using OperatorGroup `{objects.name(first)}`, which was created at the same time, "
        f"instead of `{objects.name(own)}`"
    )


def _rank(group: Manifest) -> tuple[bool, str, str]:
    """Return the sort key of a group: groups not created by olmkit first, then the oldest."""
    since = text(objects.metadata(group).get("creationTimestamp"))
    return install_objects.is_ours(group), since, objects.name(group)


def _target_namespaces(group: Manifest) -> list[str]:
    return sorted(kinds.target_namespaces(group))
