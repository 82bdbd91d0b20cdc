"""An operator whose pod is ready, and whose log shows that the API server refuses its requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.installs import explain
from olmkit.olm.explain.workloads import refused_requests

V1 = "operators.coreos.com/v1alpha1"
PLAIN = (
    'failed to list *v1.RedisFailover: redisfailovers.databases.spotahome.com is forbidden: User "'
    'system:serviceaccount:red:redisoperator" cannot list resource "redisfailovers" in API group '
    '"databases.spotahome.com" at the cluster scope\n'
)
QUOTED = (
    'E1130 12:00:00.000000 1 reflector.go:166] "Unhandled Error" err="failed to list *v1.Lease: '
    'leases.coordination.k8s.io is forbidden: User \\"system:serviceaccount:red:redisoperator\\" '
    'cannot list resource \\"leases\\" in API group \\"coordination.k8s.io\\" in the namespace '
    '\\"red\\""\n'
)
CORE = (
    '{"error":"pods is forbidden: User \\"system:serviceaccount:red:redisoperator\\" cannot watch '
    'resource \\"pods\\" in API group \\"\\" at the cluster scope"}\n'
)


def of(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "red", **fields.pop("metadata", {})}
    return {"apiVersion": V1, "kind": kind, "metadata": metadata, **fields}


LABELS = {"app": "redis"}
CSV = of(
    "ClusterServiceVersion",
    "redis.v1.0.0",
    spec={"install": {"spec": {"deployments": [{"name": "redis"}]}}},
    status={"phase": "Succeeded"},
)
POD = of(
    "Pod",
    "redis-1",
    metadata={"labels": LABELS},
    status={
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "manager", "ready": True, "state": {"running": {}}}],
    },
)
DEPLOYMENT = of(
    "Deployment",
    "redis",
    spec={"replicas": 1, "selector": {"matchLabels": LABELS}},
    status={"conditions": [{"type": "Available", "status": "True"}]},
)
SEEN = ClusterState(
    namespace="red",
    subscriptions=(
        of("Subscription", "redis", spec={"name": "redis"},
           status={"currentCSV": "redis.v1.0.0", "installedCSV": "redis.v1.0.0"}),
    ),
    groups=({"kind": "OperatorGroup", "metadata": {"name": "g", "namespace": "red"}},),
    csvs=(CSV,),
    deployments=(DEPLOYMENT,),
    pods=(POD,),
)  # fmt: skip


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (PLAIN, "list `redisfailovers.databases.spotahome.com` at the cluster scope"),
        (QUOTED, "list `leases.coordination.k8s.io` in the namespace `red`"),
        (CORE, "watch `pods` at the cluster scope"),
    ],
)
def test_a_refused_request_in_the_log_of_a_ready_operator_is_reported(log: str, words: str) -> None:
    found = explain(replace(SEEN, logs={"red/redis-1/manager": log * 3}), "redis")
    assert found.is_ready
    assert found.message.endswith("healthy, but the API server refuses some of its requests")
    who = "the log of `redis-1` has a refused request: the ServiceAccount `redisoperator`"
    assert found.details == (f"{who} cannot {words}",)
    assert found.hint == refused_requests.HINT


@pytest.mark.parametrize("log", ["", "level=info msg=started\n", "pods is forbidden\n"])
def test_other_lines_of_a_log_are_ignored(log: str) -> None:
    found = explain(replace(SEEN, logs={"red/redis-1/manager": log}), "redis")
    assert (found.message, found.details, found.hint) == (
        "`redis.v1.0.0` is installed and healthy",
        (),
        "",
    )


def test_the_logs_of_running_containers_of_the_operator_are_read() -> None:
    other = {**POD, "metadata": {**POD["metadata"], "name": "other", "labels": {"app": "else"}}}
    waiting = {**POD, "status": {"containerStatuses": [{"name": "m", "state": {"waiting": {}}}]}}
    seen = replace(SEEN, pods=(POD, other))
    assert list(refused_requests.logs_wanted(seen, ["redis"])) == [("red", "redis-1", "manager")]
    assert not list(refused_requests.logs_wanted(replace(SEEN, pods=(waiting,)), ["redis"]))
