"""Explain why pods, and the Deployments and Jobs that create them, are not ready.

The cause is in the container states of the pods, in a condition (the scheduler), in events (the
kubelet and the controllers), or in the log of a terminated container.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation, refusals
from olmkit.olm.explain.explanation import Diagnosis, FaultOrigin, Readiness
from olmkit.olm.explain.workloads import containers, missing, scheduling, templates
from olmkit.olm.explain.workloads.templates import TemplatePlace

_NOWHERE = TemplatePlace()
_BAD_EVENTS = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Unhealthy")


def explain_deployment(snapshot: ClusterState, name: str) -> Diagnosis | None:
    """Explain why the Deployment is not available; None if it is."""
    found = snapshot.deployment(name)
    if found is None:
        return Diagnosis(
            cause="deployment-missing",
            message=f"the Deployment `{name}` does not exist",
            readiness=Readiness.WAITING,
        )
    wanted, ready = _replicas(found)
    template = templates.find_template(snapshot, found)
    labels = mapping(mapping(kinds.spec(found).get("selector")).get("matchLabels"))
    its_pods = list(snapshot.pods_of(snapshot.namespace, labels))
    top = explanation.link(found, f"{ready} of {wanted} pods are available")
    if kinds.condition(found, "Available") is not None and _is_rolled_out(found):
        unsteady = _explain_restarts(snapshot, its_pods, template)
        return None if unsteady is None else unsteady.under(top)
    failure = kinds.condition(found, "ReplicaFailure")
    below = (
        explain_worst_pod(snapshot, its_pods, template)
        if failure is None
        else _explain_refusal(
            f"Deployment `{name}`", text(failure.get("message")), snapshot.namespace, template
        )
    )
    if below is not None:
        return _add_deadline_hint(found, below).under(top)
    return Diagnosis(
        cause="deployment-not-available",
        message=f"the Deployment `{name}` has {ready} of {wanted} pods available"
        if ready < wanted
        else f"the Deployment `{name}` is being rolled out again",
        links=(top,),
        readiness=Readiness.WAITING,
    )


def _add_deadline_hint(deployment: Manifest, found: Diagnosis) -> Diagnosis:
    """Add what makes OLM try again if it has given up on the Deployment.

    OLM v0 does not change a Deployment that has exceeded its `progressDeadlineSeconds`, not even
    when the Subscription's `spec.config` changes. It does recreate a deleted Deployment. If the
    pods become ready without a change, for example because an image was pushed, nothing is needed.
    """
    reason = kinds.any_condition(deployment, "Progressing").get("reason")
    if reason != "ProgressDeadlineExceeded" or not templates.is_of_olm(deployment):
        return found
    if not found.hint or found.readiness is Readiness.WAITING:
        return found
    name, namespace = objects.name(deployment), objects.namespace(deployment)
    return replace(
        found,
        hint=f"{found.hint}; if that changes the Deployment, let OLM create it again, as it does "
        f"not change one whose deadline is over: `kubectl delete deployment -n {namespace} {name}`",
    )


def explain_refused_pods(snapshot: ClusterState, owner: Manifest) -> Diagnosis | None:
    """Explain why the owner of pods, such as a Job, gets none; None if no event gives a reason."""
    events = [one for one in snapshot.events_of(owner) if one.get("reason") == "FailedCreate"]
    if not events:
        return None
    name = f"{objects.kind(owner)} `{objects.name(owner)}`"
    return _explain_refusal(
        name, text(events[-1].get("message")), objects.namespace(owner), _NOWHERE
    )


def _explain_refusal(
    owner: str, message: str, namespace: str, template: TemplatePlace
) -> Diagnosis:
    context = refusals.Context(namespace=namespace, template=template)
    found = refusals.explain_refusal(message, context)
    return Diagnosis(
        cause="pods-refused",
        message=f"the API server refuses the pods of {owner}: {found.message}",
        hint=found.hint,
        details=found.details,
        readiness=found.readiness,
    )


def refusal_hint(message: str, namespace: str) -> str:
    """Return what to do about the API server's refusal of a pod; empty if unknown."""
    return refusals.explain_refusal(message, refusals.Context(namespace=namespace)).hint


def explain_worst_pod(
    snapshot: ClusterState, pods: Iterable[Manifest], template: TemplatePlace = _NOWHERE
) -> Diagnosis | None:
    """Return the most severe problem of the pods; None if all are healthy.

    `template` is the place where their template is changed.
    """
    found = [
        finding for pod in pods if (finding := explain_pod(snapshot, pod, template)) is not None
    ]
    order = {Readiness.BLOCKED: 0, Readiness.STUCK: 1, Readiness.WAITING: 2, Readiness.READY: 3}
    return min(found, key=lambda one: order[one.readiness], default=None)


def explain_pod(
    snapshot: ClusterState, pod: Manifest, template: TemplatePlace = _NOWHERE
) -> Diagnosis | None:
    """Explain why the pod is not ready; None if it is ready or has completed."""
    if kinds.phase(pod) == "Succeeded" or objects.metadata(pod).get("deletionTimestamp"):
        return None
    if kinds.condition(pod, "Ready") is not None:
        return None
    failing = _explain_node(snapshot, pod)
    if failing is not None:  # what the kubelet has reported of the containers may be old
        return failing
    for container in _containers(pod):
        finding = containers.explain_container(snapshot, pod, container, template)
        if finding is not None:
            return finding
    unscheduled = scheduling.explain_scheduling(snapshot, pod, template)
    if unscheduled is not None:
        return unscheduled
    bad = [event for event in snapshot.events_of(pod) if event.get("reason") in _BAD_EVENTS]
    if bad:
        return _explain_event(pod, bad[-1], template)
    return _explain_readiness_gate(pod) or Diagnosis(
        cause="pod-not-ready",
        message=f"the pod `{objects.name(pod)}` is not ready yet",
        links=(explanation.link(pod, kinds.phase(pod) or "Pending"),),
        readiness=Readiness.WAITING,
    )


def find_doubtful_nodes(snapshot: ClusterState) -> Iterator[str]:
    """Yield the names of the nodes of pods that are not ready."""
    for pod in snapshot.pods:
        if kinds.phase(pod) in ("Succeeded", "Failed") or kinds.condition(pod, "Ready") is not None:
            continue
        name = text(kinds.spec(pod).get("nodeName"))
        if name:
            yield name


def _explain_node(snapshot: ClusterState, pod: Manifest) -> Diagnosis | None:
    """Explain a pod whose node is not ready, so that nothing starts or probes its containers."""
    name = text(kinds.spec(pod).get("nodeName"))
    node = next((one for one in snapshot.nodes if name and objects.name(one) == name), None)
    if node is None:
        return None
    ready = kinds.any_condition(node, "Ready")
    if ready.get("status") not in ("False", "Unknown"):
        return None
    why = text(ready.get("message")) or text(ready.get("reason"))
    reason = f": {explanation.first_line(why).rstrip('.')}" if why else ""
    return Diagnosis(
        cause="node-not-ready",
        message=f"the node `{name}` of pod `{objects.name(pod)}` is not ready{reason}",
        hint=f"repair the node: `kubectl describe node {name}` prints its conditions; Kubernetes "
        "replaces the pod on another node after about 5 minutes, if one accepts it",
        links=(
            explanation.link(pod, f"{kinds.phase(pod)}, not ready"),
            explanation.link(node, "not ready"),
        ),
        origin=FaultOrigin.WORLD,
    )


def find_needed_logs(snapshot: ClusterState) -> Iterator[tuple[str, str, str, bool]]:
    """Yield namespace, pod, container and whether to read its last run, where a log would help."""
    for pod in snapshot.pods:
        if kinds.phase(pod) == "Succeeded":
            continue
        for container in _containers(pod):
            is_well = kinds.condition(pod, "Ready") is not None
            if is_well and kinds.number(container.get("restartCount")) < 2:
                continue
            previous = containers.needs_previous_log(pod, container)
            if previous is not None:
                yield _log_key(pod, container, previous=previous)


def _explain_restarts(
    snapshot: ClusterState, pods: Iterable[Manifest], template: TemplatePlace
) -> Diagnosis | None:
    """Explain a container that terminates repeatedly, although all pods are ready at the moment."""
    for pod in pods:
        for container in _containers(pod):
            found = containers.explain_restarts(snapshot, pod, container, template)
            if found is not None:
                return found
    return None


def _explain_readiness_gate(pod: Manifest) -> Diagnosis | None:
    """Explain a pod with ready containers whose readiness gate is not met."""
    if kinds.condition(pod, "ContainersReady") is None:
        return None
    for gate in sequence(objects.pod_spec(pod).get("readinessGates")):
        name = text(mapping(gate).get("conditionType"))
        if name and kinds.condition(pod, name) is None:
            return Diagnosis(
                cause="pod-not-ready",
                message=f"the pod `{objects.name(pod)}` waits for its readiness gate `{name}`",
                hint="check the controller that sets this condition",
                links=(explanation.link(pod, f"{kinds.phase(pod)}, not ready"),),
            )
    return None


def _explain_event(pod: Manifest, event: Manifest, template: TemplatePlace) -> Diagnosis:
    reason, words = text(event.get("reason")), text(event.get("message"))
    name, namespace = objects.name(pod), objects.namespace(pod)
    if reason == "Unhealthy":
        return Diagnosis(
            cause="probe-fails",
            message=f"the pod `{name}` runs but does not become ready: "
            f"{explanation.first_line(words)}",
            links=(explanation.link(pod, f"{kinds.phase(pod)}, not ready"),),
        )
    lacking = missing.find_in_volume(words, pod)
    return Diagnosis(
        cause="pod-cannot-start",
        message=f"the pod `{name}` cannot start: "
        f"{explanation.first_line(words) if lacking is None else lacking.message(namespace)}",
        hint=f"see its events: `kubectl describe pod -n {namespace} {name}`"
        if lacking is None
        else lacking.hint(namespace, template, missing.expected_key(pod, lacking)),
        links=(explanation.link(pod, f"{kinds.phase(pod)}, {reason}"),),
        origin=FaultOrigin.WORLD,
    )


def _containers(pod: Manifest) -> Iterator[Mapping[str, Any]]:
    found = kinds.status(pod)
    for part in ("initContainerStatuses", "containerStatuses"):
        yield from (one for one in sequence(found.get(part)) if isinstance(one, Mapping))


def _log_key(
    pod: Manifest, container: Mapping[str, Any], *, previous: bool
) -> tuple[str, str, str, bool]:
    place = objects.namespace(pod), objects.name(pod), text(container.get("name"))
    return (*place, previous)


def _replicas(deployment: Manifest) -> tuple[int, int]:
    wanted = kinds.spec(deployment).get("replicas", 1)
    ready = kinds.status(deployment).get("availableReplicas", 0)
    return (
        wanted if isinstance(wanted, int) else 1,
        ready if isinstance(ready, int) else 0,
    )


def _is_rolled_out(deployment: Manifest) -> bool:
    """Return whether a rollout is complete for OLM: observed, and without old pods."""
    found = kinds.status(deployment)
    seen = kinds.number(found.get("observedGeneration"))
    wanted = kinds.number(objects.metadata(deployment).get("generation"))
    replicas, updated = found.get("replicas"), found.get("updatedReplicas")
    return seen >= wanted and kinds.number(replicas) <= kinds.number(updated)
