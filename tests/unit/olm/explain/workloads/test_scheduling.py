"""Why no node accepts a pod, in terms of the pod; the messages are those of the scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Diagnosis
from olmkit.olm.explain.workloads import scheduling
from olmkit.olm.explain.workloads.templates import TemplatePlace

Manifest = dict[str, Any]
TAIL = (
    " no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful"
)


def node(**spec: Any) -> Manifest:
    return {"kind": "Node", "metadata": {"name": "n"}, "spec": spec,
            "status": {"allocatable": {"cpu": "2", "memory": "4Gi"}}}  # fmt: skip


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Manifest:
    return {"key": key, "value": value, "effect": effect}


def required(words: str, *nodes: Manifest, reason: str = "Unschedulable", **spec: Any) -> Diagnosis:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": words}
    pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "apps"}, "spec": spec,
           "status": {"phase": "Pending", "conditions": [condition]}}  # fmt: skip
    seen = ClusterState(namespace="apps", nodes=nodes)
    found = scheduling.explain_scheduling(
        seen, pod, TemplatePlace("the bundle's Deployment", "cache")
    )
    assert found is not None
    assert found.message.startswith("no node takes the pod `p`: ") or reason != "Unschedulable"
    return found


def cpu(amount: str) -> Manifest:
    return {"resources": {"requests": {"cpu": amount}}}


_ARCH = {"key": "arch", "operator": "In", "values": ["arm64", "s390x"]}
AWAY = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [_ARCH]}]
    }
}


@pytest.mark.parametrize(
    ("why", "spec", "said", "hint"),
    [
        ("1 node(s) didn't match Pod's node affinity/selector", {"nodeSelector": {"disk": "ssd"}},
         "it does not have the label `disk=ssd` of `nodeSelector`",
         "`kubectl label node NODE disk=ssd`"),
        ("1 node(s) didn't match Pod's node affinity/selector",
         {"affinity": {"nodeAffinity": AWAY}},
         "it does not have what `nodeAffinity` requires (`arch In (arm64, s390x)`)",
         "`spec.config.affinity` of Subscription `cache`"),
        ("1 node(s) had untolerated taint {dedicated: infra}", {},
         "the pod does not tolerate its taint `dedicated=infra`",
         "`kubectl taint node NODE dedicated-`"),
        ("1 node(s) had untolerated taint {gpu: }", {},
         "the pod does not tolerate its taint `gpu`", "add a toleration of `gpu`"),
        ("1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }", {},
         "it is not ready (taint `node.kubernetes.io/not-ready`)", "`kubectl describe nodes`"),
        ("1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }", {},
         "it runs out of a resource", "free that resource"),
        ("1 Insufficient cpu", {"containers": [cpu("3"), cpu("500m")]},
         "it has too little cpu left: the pod requests 3 + 500m, and the nodes have 2",
         "lower `resources.requests.cpu` in the bundle's Deployment"),
        ("1 Insufficient example.com/gpu",
         {"containers": [{"resources": {"limits": {"example.com/gpu": 1}}}]},
         "it does not offer enough `example.com/gpu`: the pod requests 1", "device plugin"),
        ("1 node(s) didn't have free ports for the requested pod ports",
         {"containers": [{"ports": [{"hostPort": 8443}]}]},
         "its host port 8443 is in use", "drop `hostPort`"),
        ("1 Too many pods", {}, "it runs as many pods as it may", "add a node"),
        ("1 node(s) were unschedulable", {}, "it is cordoned", "`kubectl uncordon NODE`"),
        ("1 node(s) didn't match pod anti-affinity rules", {},
         "it runs pods that this pod must not run next to", "`podAntiAffinity`"),
        ("1 node(s) didn't match pod topology spread constraints", {},
         "the pods would not be spread as required", "`topologySpreadConstraints`"),
        ("1 node(s) had volume node affinity conflict", {},
         "a volume of the pod is bound to another node", "`kubectl get persistentvolumes`"),
        ("1 node(s) had a new reason", {}, "`had a new reason`",
         "`kubectl describe pod -n apps p`"),
    ],
)  # fmt: skip
def test_each_reason_has_its_fix(why: str, spec: Manifest, said: str, hint: str) -> None:
    found = required(f"0/1 nodes are available: {why}.{TAIL}", node(), **spec)
    assert found.cause == "pod-not-scheduled"
    assert said in found.message
    assert hint in found.hint


def test_groups_of_nodes_are_counted() -> None:
    found = required(
        "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint {a: b}."
    )
    assert "2 of 5 nodes: it has too little cpu left; 3 of 5 nodes: the pod" in found.message


def test_a_taint_that_the_scheduler_does_not_name_is_read_from_the_nodes() -> None:
    words = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    known = taint("fine", "yes")
    nodes = node(taints=[taint("soft", effect="PreferNoSchedule"), known, taint("own", "us")])
    tolerations = [{"key": "fine", "value": "yes", "effect": "NoSchedule"}]
    assert "taint `own=us`" in required(words, nodes, tolerations=tolerations).message
    tolerations = [{"key": "own", "operator": "Exists"}]
    assert "taint `fine=yes`" in required(words, nodes, tolerations=tolerations).message
    assert "does not tolerate its taints" in required(words).message


def test_a_cordoned_node_is_named_with_its_permanent_taint() -> None:
    words = f"0/1 nodes are available: 1 node(s) were unschedulable.{TAIL}"
    cordon = taint("node.kubernetes.io/unschedulable")
    named = node(taints=[cordon, taint("maintenance", "yes", "NoExecute")], unschedulable=True)
    found = required(words, named)
    name = named["metadata"]["name"]
    assert found.message.endswith(
        "it is cordoned, and the pod does not tolerate its taint `maintenance=yes`"
    )
    assert found.hint == (
        f"uncordon it: `kubectl uncordon {name}`, and remove the taint: "
        f"`kubectl taint node {name} maintenance-`"
    )
    alone = required(words, node(taints=[cordon], unschedulable=True))
    assert alone.hint == f"uncordon it: `kubectl uncordon {name}`"


def test_claims_are_named_with_their_volume() -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "cache-data"}}
    words = '0/1 nodes are available: persistentvolumeclaim "cache-data" not found. not found'
    found = required(words, volumes=[claim])
    assert "PersistentVolumeClaim `cache-data` of volume `data` does not exist" in found.message
    words = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    found = required(words, volumes=[claim])
    assert "PersistentVolumeClaim `cache-data` has no PersistentVolume yet" in found.message
    assert "`kubectl describe persistentvolumeclaim -n apps cache-data`" in found.hint


def test_a_cluster_without_nodes_and_a_gated_pod_are_named() -> None:
    assert "the cluster has no node" in required("no nodes available to schedule pods").message
    found = required("", reason="SchedulingGated", schedulingGates=[{"name": "example.com/quota"}])
    assert found.message.endswith("until its scheduling gates are removed: `example.com/quota`")


def test_a_scheduler_that_does_not_run_is_named() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "apps"},
           "spec": {"schedulerName": "special"}, "status": {"phase": "Pending"}}  # fmt: skip
    seen = ClusterState(namespace="apps")
    found = scheduling.explain_scheduling(seen, pod, TemplatePlace())
    assert found is not None
    assert "`special` has not looked at it" in found.message
    usual = pod | {"spec": {"schedulerName": "default-scheduler"}}
    assert scheduling.explain_scheduling(seen, usual, TemplatePlace()) is None
