"""Why pods do not become ready."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.explain.workloads import pods

Manifest = dict[str, Any]


def pod(state: Manifest | None = None, *, ready: bool = False, **status: Any) -> Manifest:
    containers = [{"name": "manager", "image": "x:1", "restartCount": 4, "state": state or {}}]
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "apps", "labels": {"app": "x"}},
        "status": {"containerStatuses": containers, "conditions": conditions, **status},
    }


def state_with(*found: Manifest, events: tuple[Manifest, ...] = (), **fields: Any) -> ClusterState:
    return ClusterState(namespace="apps", pods=found, events=events, **fields)


def event(reason: str, message: str) -> Manifest:
    about = {"kind": "Pod", "name": "p", "namespace": "apps"}
    return {"kind": "Event", "involvedObject": about, "reason": reason, "message": message}


def test_a_ready_pod_and_a_completed_one_are_healthy() -> None:
    assert pods.explain_pod(state_with(), pod(ready=True)) is None
    assert pods.explain_pod(state_with(), pod(phase="Succeeded")) is None


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_pod_on_a_failed_node_names_the_node(status: str) -> None:
    """The events of the pod are older than the failure of the node."""
    words = "Kubelet stopped posting node status."
    conditions = [{"type": "Ready", "status": status, "message": words}]
    node = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": conditions}}
    lost = pod({"running": {}}, phase="Running") | {"spec": {"nodeName": "n1"}}
    unhealthy = event("Unhealthy", "Readiness probe failed: no answer")

    found = pods.explain_pod(state_with(lost, events=(unhealthy,), nodes=(node,)), lost)

    assert found is not None
    assert (found.cause, found.readiness) == ("node-not-ready", Readiness.STUCK)
    assert (
        found.message
        == "the node `n1` of pod `p` is not ready: Kubelet stopped posting node status"
    )
    assert "`kubectl describe node n1`" in found.hint
    assert list(pods.find_doubtful_nodes(state_with(lost))) == ["n1"]
    conditions[0]["status"] = "True"
    well = pods.explain_pod(state_with(lost, events=(unhealthy,), nodes=(node,)), lost)
    assert well is not None
    assert well.cause == "probe-fails"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ('Failed to pull image "x:1": rpc error: code = X desc = "x:1": not found', "push"),
        ('Failed to pull image "x:1": "x:1": pull access denied', "create secret docker-registry"),
        ('Failed to pull image "x:1": "x": dial tcp: no route', "reach"),
    ],
)
def test_an_image_that_cannot_be_pulled_is_reported_with_the_registrys_message(
    words: str, hint: str
) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling"}}

    found = pods.explain_pod(state_with(events=(event("Failed", words),)), pod(waiting))

    assert found is not None
    assert found.cause == "image-cannot-be-pulled"
    assert words.rpartition('": ')[2] in found.message
    assert hint in found.hint


def test_a_crash_has_its_last_log_line() -> None:
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    crashed = pod(state)
    crashed["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 3}}

    found = pods.explain_pod(state_with(logs={"apps/p/manager": "one\ntwo\n\n"}), crashed)

    assert found is not None
    assert found.message == "container `manager` of pod `p` ends with exit code 3: two"
    assert list(pods.find_needed_logs(state_with(crashed))) == [("apps", "p", "manager", True)]


def test_too_little_memory_is_reported() -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}

    found = pods.explain_pod(state_with(), pod(ended))

    assert found is not None
    assert "uses more memory than it may" in found.message


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        (pod({"waiting": {"reason": "CreateContainerConfigError", "message": "no x"}}),
         "container-cannot-start"),
        (pod(conditions=[{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]),
         "pod-not-scheduled"),
        (pod(), "pod-not-ready"),
    ],
)  # fmt: skip
def test_other_states_have_their_causes(changed: Manifest, cause: str) -> None:
    found = pods.explain_pod(state_with(), changed)

    assert found is not None
    assert found.cause == cause


@pytest.mark.parametrize(
    ("reason", "cause"), [("FailedMount", "pod-cannot-start"), ("Unhealthy", "probe-fails")]
)
def test_events_show_what_the_status_does_not(reason: str, cause: str) -> None:
    found = pods.explain_pod(state_with(events=(event(reason, "why"),)), pod())

    assert found is not None
    assert (found.cause, "why" in found.message) == (cause, True)


def deployment(**status: Any) -> Manifest:
    return {
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "apps", "generation": 2},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}},
        "status": status,
    }


AVAILABLE = [{"type": "Available", "status": "True"}]


def test_a_deployment_is_ready_when_its_newest_pods_are() -> None:
    good = deployment(observedGeneration=2, replicas=1, updatedReplicas=1, conditions=AVAILABLE)
    old = deployment(observedGeneration=1, replicas=1, updatedReplicas=1, conditions=AVAILABLE)

    assert pods.explain_deployment(state_with(deployments=(good,)), "d") is None
    assert pods.explain_deployment(state_with(deployments=(old,)), "d") is not None


def test_a_deployment_that_cannot_create_pods_has_the_reason() -> None:
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "message": 'pods "d-x7" is forbidden: exceeded quota: small, requested: pods=1, '
        "used: pods=3, limited: pods=3",
    }

    found = pods.explain_deployment(
        state_with(deployments=(deployment(conditions=[failure]),)), "d"
    )

    assert found is not None
    assert found.cause == "pods-refused"
    assert found.message.endswith("is used up: requested pods=1, used pods=3, limit pods=3")
    assert "d-x7" not in found.message  # each attempt has another name
    assert "`kubectl edit resourcequota -n apps small`" in found.hint


def test_a_deployment_is_above_its_pods_in_the_chain() -> None:
    bad = pod({"waiting": {"reason": "InvalidImageName", "message": "bad"}})

    found = pods.explain_deployment(state_with(bad, deployments=(deployment(),)), "d")

    assert found is not None
    assert [link.subject for link in found.links] == ["Deployment apps/d", "Pod apps/p"]


def test_a_missing_deployment_is_waited_for() -> None:
    found = pods.explain_deployment(state_with(), "d")

    assert found is not None
    assert found.readiness is Readiness.WAITING


def test_a_deployment_that_olm_no_longer_retries_has_the_command_that_creates_it_again() -> None:
    bad = pod({"waiting": {"reason": "InvalidImageName", "message": "bad"}})
    late = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
    owned = deployment(conditions=late)
    owned["metadata"]["labels"] = {
        "olm.owner.kind": "ClusterServiceVersion", "olm.owner": "cache.v1.0.0",
    }  # fmt: skip

    found = pods.explain_deployment(state_with(bad, deployments=(owned,)), "d")
    own = pods.explain_deployment(state_with(bad, deployments=(deployment(conditions=late),)), "d")

    assert found is not None
    assert found.hint.endswith("`kubectl delete deployment -n apps d`")
    assert own is not None
    assert "kubectl delete" not in own.hint


def test_an_available_deployment_with_a_crashing_pod_is_not_healthy() -> None:
    good = deployment(observedGeneration=2, replicas=1, updatedReplicas=1, conditions=AVAILABLE)
    crashing = pod({"running": {"startedAt": "2026-01-01T10:01:00Z"}}, ready=True)
    ended = {"exitCode": 1, "startedAt": "2026-01-01T10:00:00Z",
             "finishedAt": "2026-01-01T10:00:05Z"}  # fmt: skip
    crashing["status"]["containerStatuses"][0]["lastState"] = {"terminated": ended}

    world = state_with(crashing, deployments=(good,), moment="2026-01-01T10:01:30Z")

    found = pods.explain_deployment(world, "d")
    assert found is not None
    assert found.cause == "container-crashes"
    assert list(pods.find_needed_logs(world)) == [("apps", "p", "manager", True)]


def test_a_readiness_gate_is_named() -> None:
    gated = pod(conditions=[{"type": "ContainersReady", "status": "True"}])
    gated["spec"] = {"readinessGates": [{"conditionType": "example.com/balanced"}]}

    found = pods.explain_pod(state_with(), gated)

    assert found is not None
    assert "waits for its readiness gate `example.com/balanced`" in found.message
