"""Find the leader election locks of an operator, which have no owner reference.

A lock is a Lease; older libraries, and those that support both, also write a ConfigMap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.read import or_default
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text

_LEASE = ("coordination.k8s.io/v1", "Lease")
_CONFIG_MAP = ("v1", "ConfigMap")
_LOCK = "control-plane.alpha.kubernetes.io/leader"


_ID = "--leader-election-id"
_POD_BASE = 58  # letters of a pod's name before its random part


async def find_leases(
    reader: ClusterObjects,
    namespace: str,
    deployments: Iterable[str],
    *,
    released: Collection[str] = (),
) -> list[Manifest]:
    """Return the Leases in the namespace whose holder is a pod of one of the Deployments.

    ConfigMaps with such a holder are included. `released`: names of Leases that also belong to the
    operator if they have no holder. Objects that the user may not list are left out.
    """
    names = [name for name in deployments if name]
    if not names:
        return []
    holder = re.compile("|".join(map(_pod, names)))
    found = await or_default(reader.list(_LEASE, namespace), ())
    locks = await or_default(reader.list(_CONFIG_MAP, namespace), ())
    return [
        *(one for one in found if _is_own(one, holder, released)),
        *(one for one in locks if holder.match(_lock_holder(one))),
    ]


def election_ids(pod_specs: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of Leases in arguments of containers: `--leader-election-id`."""
    found: set[str] = set()
    for spec in pod_specs:
        for container in map(mapping, sequence(spec.get("containers"))):
            words = [
                text(word) for part in ("command", "args") for word in sequence(container.get(part))
            ]
            found |= {word.partition("=")[2] for word in words if word.startswith(f"{_ID}=")}
            found |= {after for word, after in pairwise(words) if word == _ID}
    return found - {""}


def _lock_holder(lock: Manifest) -> str:
    """Return the holder that an annotation of a ConfigMap names; empty if it is not a lock."""
    written = objects.annotations_of(lock).get(_LOCK, "")
    try:
        return text(mapping(json.loads(written)).get("holderIdentity"))
    except ValueError:
        return ""


def _is_own(lease: Manifest, holder: re.Pattern[str], released: Collection[str]) -> bool:
    identity = text(mapping(lease.get("spec")).get("holderIdentity"))
    if not identity:  # released by a process that stopped gracefully
        return objects.name(lease) in released
    return holder.match(identity) is not None


def _pod(deployment: str) -> str:
    """Return a pattern for the names of a Deployment's pods.

    The API server truncates long names before it adds the random suffix.
    """
    cut = deployment[:_POD_BASE]
    rest = min(10, _POD_BASE - 1 - len(cut))
    middle = f"-[a-z0-9]{{1,{rest}}}-?" if rest > 0 else "-?[a-z0-9]{0,1}-?"
    full = rf"{re.escape(cut)}-[a-z0-9]{{1,10}}-[a-z0-9]{{5}}(?![a-z0-9-])"
    if len(deployment) + 12 <= _POD_BASE:
        return full
    return rf"{re.escape(cut)}{middle}[a-z0-9]{{5}}(?![a-z0-9-])|{full}"
