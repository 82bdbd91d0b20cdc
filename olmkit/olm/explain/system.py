"""Explain why OLM v0 itself does not run.

OLM can also run outside the cluster, as with hosted control planes. Then it has no Deployments
there, and its state is unknown.
"""

from __future__ import annotations

from dataclasses import replace

from olmkit.kube import objects
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Readiness
from olmkit.olm.explain.workloads import pods

CAUSE = "controller-not-running"


def explain_olm(snapshot: ClusterState) -> Diagnosis | None:
    """Explain the first program of OLM that does not run; None if all run."""
    for deployment in snapshot.system:
        name, place = objects.name(deployment), objects.namespace(deployment)
        if not kinds.spec(deployment).get("replicas", 1):
            return Diagnosis(
                cause=CAUSE,
                message=f"OLM does not run: the Deployment `{name}` is scaled to 0",
                hint=f"run `kubectl scale deployment {name} -n {place} --replicas=1`",
                links=(explanation.link(deployment, "0 pods"),),
                readiness=Readiness.BLOCKED,
            )
        around = replace(snapshot, namespace=place, deployments=snapshot.system)
        ailing = pods.explain_deployment(around, name)
        if ailing is not None:
            return replace(
                ailing,
                cause=CAUSE,
                message=f"OLM does not run: {ailing.message}",
                hint=ailing.hint or f"check the Deployment `{name}` in namespace `{place}`",
                readiness=Readiness.STUCK,
            )
    return None
