"""The Leases by which the pods of an operator chose their leader: they name a pod, no owner."""

from __future__ import annotations

import re
from collections.abc import Iterable

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.read import if_allowed
from olmkit.kube.objects import Manifest, mapping, text

_LEASE = ("coordination.k8s.io/v1", "Lease")


async def held_by(
    reader: ClusterObjects, namespace: str, deployments: Iterable[str]
) -> list[Manifest]:
    """The Leases of the namespace whose holder is a pod of one of the Deployments.

    None for a user who may not list Leases.
    """
    names = [re.escape(name) for name in deployments if name]
    if not names:
        return []
    # The name of a pod: of the Deployment, of its ReplicaSet, and its own.
    holder = re.compile(rf"(?:{'|'.join(names)})-[a-z0-9]{{1,10}}-[a-z0-9]{{5}}(?![a-z0-9-])")
    found = await if_allowed(reader.list(_LEASE, namespace), ())
    return [
        one for one in found if holder.match(text(mapping(one.get("spec")).get("holderIdentity")))
    ]
