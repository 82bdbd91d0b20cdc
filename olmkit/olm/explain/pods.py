"""Why pods, and the Deployments and Jobs that make them, do not get ready.

Pods say it in the states of their containers, the scheduler in a condition, the kubelet
and the controllers in events; a container that ends says it in its log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Blame, Diagnosis, Standing

_PULL = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
         "RegistryUnavailable", "ImageInspectError")  # fmt: skip
_CONFIG = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
_BAD_EVENTS = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Unhealthy")


def of_deployment(snapshot: ClusterState, name: str) -> Diagnosis | None:
    """Why the Deployment is not available; None when it is."""
    found = snapshot.deployment(name)
    if found is None:
        return Diagnosis(
            cause="deployment-missing",
            message=f"the Deployment `{name}` does not exist",
            standing=Standing.WAITING,
        )
    wanted, ready = _replicas(found)
    if kinds.condition(found, "Available") is not None and _is_rolled_out(found):
        return None
    top = explanation.link(found, f"{ready} of {wanted} pods are available")
    failure = kinds.condition(found, "ReplicaFailure")
    if failure is not None:
        words = explanation.first_line(text(failure.get("message")))
        return Diagnosis(
            cause="pods-refused",
            message=f"the pods of Deployment `{name}` are refused: {words}",
            hint=refused_hint(words),
            links=(top,),
        )
    labels = mapping(mapping(kinds.spec(found).get("selector")).get("matchLabels"))
    below = worst(snapshot, snapshot.pods_of(snapshot.namespace, labels))
    if below is not None:
        return below.under(top)
    return Diagnosis(
        cause="deployment-not-available",
        message=f"the Deployment `{name}` has {ready} of {wanted} pods available"
        if ready < wanted
        else f"the Deployment `{name}` is being rolled out again",
        links=(top,),
        standing=Standing.WAITING,
    )


def refused(snapshot: ClusterState, owner: Manifest) -> Diagnosis | None:
    """Why what makes pods, such as a Job, gets none, by its events; None when they say nothing."""
    events = [one for one in snapshot.events_of(owner) if one.get("reason") == "FailedCreate"]
    if not events:
        return None
    words = explanation.first_line(text(events[-1].get("message")))
    return Diagnosis(
        cause="pods-refused",
        message=f"the pods of {objects.kind(owner)} `{objects.name(owner)}` are refused: {words}",
        hint=refused_hint(words),
    )


def worst(snapshot: ClusterState, pods: Iterable[Manifest]) -> Diagnosis | None:
    """What is most wrong with any of the pods; None when all are well."""
    found = [finding for pod in pods if (finding := of_pod(snapshot, pod)) is not None]
    order = {Standing.BLOCKED: 0, Standing.STUCK: 1, Standing.WAITING: 2, Standing.READY: 3}
    return min(found, key=lambda one: order[one.standing], default=None)


def of_pod(snapshot: ClusterState, pod: Manifest) -> Diagnosis | None:
    """Why the pod is not ready; None when it is, or has done its work."""
    if kinds.phase(pod) == "Succeeded" or objects.metadata(pod).get("deletionTimestamp"):
        return None
    if kinds.condition(pod, "Ready") is not None:
        return None
    for container in _containers(pod):
        finding = _of_container(snapshot, pod, container)
        if finding is not None:
            return finding
    scheduled = kinds.condition(pod, "PodScheduled", value="False")
    if scheduled is not None:
        words = explanation.first_line(text(scheduled.get("message")))
        return Diagnosis(
            cause="pod-not-scheduled",
            message=f"no node takes the pod `{objects.name(pod)}`: {words}",
            hint="compare what the pod requests (resources, node selector, tolerations) "
            "with the nodes",
            links=(explanation.link(pod, "Pending, not scheduled"),),
            blame=Blame.WORLD,
        )
    bad = [event for event in snapshot.events_of(pod) if event.get("reason") in _BAD_EVENTS]
    if bad:
        return _of_event(pod, bad[-1])
    return Diagnosis(
        cause="pod-not-ready",
        message=f"the pod `{objects.name(pod)}` is not ready yet",
        links=(explanation.link(pod, kinds.phase(pod) or "Pending"),),
        standing=Standing.WAITING,
    )


def logs_wanted(snapshot: ClusterState) -> Iterator[tuple[str, str, str, bool]]:
    """Namespace, pod, container and whether its last run is meant, where a log would tell more."""
    for pod in snapshot.pods:
        if kinds.condition(pod, "Ready") is not None or kinds.phase(pod) == "Succeeded":
            continue
        for container in _containers(pod):
            state = mapping(container.get("state"))
            if "terminated" in state and mapping(state["terminated"]).get("exitCode") != 0:
                yield _log_key(pod, container, previous=False)
            elif mapping(state.get("waiting")).get("reason") == "CrashLoopBackOff":
                yield _log_key(pod, container, previous=True)


def _of_container(
    snapshot: ClusterState, pod: Manifest, container: Mapping[str, Any]
) -> Diagnosis | None:
    state = mapping(container.get("state"))
    waiting, ended = mapping(state.get("waiting")), mapping(state.get("terminated"))
    reason = text(waiting.get("reason"))
    name, image = text(container.get("name")), text(container.get("image"))
    place = f"container `{name}` of pod `{objects.name(pod)}`"
    if reason in _PULL:
        words = _pull_words(snapshot, pod, waiting).removeprefix(f"{image}: ")
        return Diagnosis(
            cause="image-cannot-be-pulled",
            message=f"the image `{image}` cannot be pulled: {words}",
            hint=_pull_hint(words),
            links=(explanation.link(pod, f"container `{name}`: {reason}"),),
            blame=Blame.WORLD,
        )
    if reason in _CONFIG:
        words = explanation.first_line(text(waiting.get("message")))
        return Diagnosis(
            cause="container-cannot-start",
            message=f"{place} cannot start: {words}",
            links=(explanation.link(pod, f"container `{name}`: {reason}"),),
        )
    if reason == "CrashLoopBackOff" or (ended and ended.get("exitCode") != 0):
        last = ended or mapping(mapping(container.get("lastState")).get("terminated"))
        return _crashed(snapshot, pod, container, last, reason or "ended")
    return None


def _crashed(
    snapshot: ClusterState,
    pod: Manifest,
    container: Mapping[str, Any],
    last: Mapping[str, Any],
    reason: str,
) -> Diagnosis:
    name = text(container.get("name"))
    code = last.get("exitCode")
    how = "for lack of memory" if last.get("reason") == "OOMKilled" else f"with exit code {code}"
    log = snapshot.logs.get(f"{objects.namespace(pod)}/{objects.name(pod)}/{name}", "")
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    said = f": {explanation.first_line(lines[-1])}" if lines else ""
    return Diagnosis(
        cause="container-crashes",
        message=f"container `{name}` of pod `{objects.name(pod)}` ends {how}{said}",
        hint="give the container more memory"
        if last.get("reason") == "OOMKilled"
        else "read its log: `kubectl logs --previous -n "
        f"{objects.namespace(pod)} {objects.name(pod)} -c {name}`",
        links=(
            explanation.link(
                pod, f"container `{name}`: {reason}, {container.get('restartCount', 0)} restarts"
            ),
        ),
        log=log,
    )


def _of_event(pod: Manifest, event: Manifest) -> Diagnosis:
    reason = text(event.get("reason"))
    words = explanation.first_line(text(event.get("message")))
    name = objects.name(pod)
    if reason == "Unhealthy":
        return Diagnosis(
            cause="probe-fails",
            message=f"the pod `{name}` runs but does not become ready: {words}",
            links=(explanation.link(pod, f"{kinds.phase(pod)}, not ready"),),
        )
    return Diagnosis(
        cause="pod-cannot-start",
        message=f"the pod `{name}` cannot start: {words}",
        links=(explanation.link(pod, f"{kinds.phase(pod)}, {reason}"),),
        blame=Blame.WORLD,
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


def _pull_words(snapshot: ClusterState, pod: Manifest, waiting: Mapping[str, Any]) -> str:
    """What the registry said: an event tells it in full, the state only the first time."""
    words = [
        text(event.get("message"))
        for event in snapshot.events_of(pod)
        if text(event.get("message")).startswith("Failed to pull image")
    ]
    said = words[-1] if words else text(waiting.get("message"))
    return explanation.first_line(said.rpartition('": ')[2] or said or "no reason was given")


def _pull_hint(words: str) -> str:
    if "not found" in words or "manifest unknown" in words:
        return "push the image, or correct its name"
    if any(part in words for part in ("authorization", "denied", "401", "403", "unauthorized")):
        return "give the namespace a pull secret for that registry (`--pull-secret`)"
    return "check that the nodes can reach that registry, and trust it"


def refused_hint(words: str) -> str:
    if "serviceaccount" in words:
        return "check that the bundle contains the service account that its Deployment names"
    if "quota" in words:
        return "raise the quota of the namespace"
    if "PodSecurity" in words:
        return (
            "set Pod Security labels on the namespace that allow the pods, or tighten "
            "their security context"
        )
    return ""


def _replicas(deployment: Manifest) -> tuple[int, int]:
    wanted = kinds.spec(deployment).get("replicas", 1)
    ready = kinds.status(deployment).get("availableReplicas", 0)
    return (
        wanted if isinstance(wanted, int) else 1,
        ready if isinstance(ready, int) else 0,
    )


def _is_rolled_out(deployment: Manifest) -> bool:
    """What OLM asks for next to `Available`: seen, and no pods of the old template left."""
    found = kinds.status(deployment)
    seen = kinds.number(found.get("observedGeneration"))
    wanted = kinds.number(objects.metadata(deployment).get("generation"))
    replicas, updated = found.get("replicas"), found.get("updatedReplicas")
    return seen >= wanted and kinds.number(replicas) <= kinds.number(updated)
