"""Find requests in an operator's log that the API server refuses.

A pod without a probe is ready as long as its process runs, even if it may not read the objects that
it manages. Kubernetes does not report that; the log does, with the API server's message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from olmkit.kube import objects
from olmkit.kube.objects import text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState

LINES = 60  # lines of each log: a client repeats a refused list every few seconds to minutes

SUFFIX = ", but the API server refuses some of its requests"
HINT = (
    "add these permissions to the ClusterServiceVersion, if its version needs them; the messages "
    "may also be older than the permissions"
)

# The quotes are escaped if the log line is JSON.
_QUOTE = r'\\*"'
_REFUSED = re.compile(
    rf"User {_QUOTE}system:serviceaccount:(?P<account>[^\"\\]+){_QUOTE} cannot (?P<verb>\w+) "
    rf"resource {_QUOTE}(?P<resource>[^\"\\]+){_QUOTE} in API group {_QUOTE}(?P<group>[^\"\\]*)"
    rf"{_QUOTE} (?P<place>at the cluster scope|in the namespace {_QUOTE}[^\"\\]+{_QUOTE})"
)


def logs_wanted(
    snapshot: ClusterState, deployments: Iterable[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield namespace, pod and container of the running containers of these Deployments."""
    names = set(deployments)
    for deployment in snapshot.deployments:
        if objects.name(deployment) not in names:
            continue
        labels = objects.mapping(objects.mapping(kinds.spec(deployment).get("selector")).get(
            "matchLabels"
        ))  # fmt: skip
        for pod in snapshot.pods_of(objects.namespace(deployment), labels):
            for one in map(objects.mapping, objects.sequence(kinds.status(pod).get(
                "containerStatuses"
            ))):  # fmt: skip
                if "running" in objects.mapping(one.get("state")):
                    yield objects.namespace(pod), objects.name(pod), text(one.get("name"))


def facts(snapshot: ClusterState, deployments: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each kind of request in these logs that the API server refuses."""
    found: dict[str, None] = {}
    for namespace, pod, container in logs_wanted(snapshot, deployments):
        for one in _REFUSED.finditer(snapshot.logs.get(f"{namespace}/{pod}/{container}", "")):
            name = ".".join(part for part in (one["resource"], one["group"]) if part)
            account = one["account"].rpartition(":")[2]
            place = one["place"].replace("\\", "").replace('"', "`")
            found[
                f"the log of `{pod}` has a refused request: the ServiceAccount `{account}` cannot "
                f"{one['verb']} `{name}` {place}"
            ] = None
    return tuple(found)
