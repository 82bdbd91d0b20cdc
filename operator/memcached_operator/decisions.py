"""The decisions of the operator: the desired children, and the contents of the status.

Functions of values; tests need no cluster.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.runtime import GVK, LabelSelector, Manifest, conditions, names, objects

from memcached_operator.api.v1alpha1.memcached import Memcached, MemcachedStatus

DEPLOYMENT = GVK(group="apps", version="v1", kind="Deployment")
SERVICE = GVK(group="", version="v1", kind="Service")
POD = GVK(group="", version="v1", kind="Pod")

FINALIZER = "cache.example.com/finalizer"
MEMCACHED = "cache.example.com/memcached"
"""Annotation of a pod with the whole name of its Memcached, which a label may not hold."""
SERVICE_PORT = 11211

AVAILABLE, PROGRESSING, DEGRADED = "Available", "Progressing", "Degraded"
RECONCILING, RESIZING, FINALIZING = "Reconciling", "Resizing", "Finalizing"
NAME_TAKEN, INVALID_SPEC = "NameTaken", "InvalidSpec"

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# A Service's name has the strictest rules: RFC 1035, and no dots.
_CHILD_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
# Not root, and the same on each cluster: the image's own user has a name and no number.
USER = 1001


@dataclass(frozen=True, slots=True)
class Trouble:
    """A problem with a Memcached's children, for its Degraded condition."""

    reason: str
    message: str
    is_scaling: bool = False


def child_name(memcached: Memcached) -> str:
    """Return the name of the Deployment and the Service: the Memcached's own, if it is valid."""
    name = memcached.metadata.name
    if _CHILD_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    words = re.sub(r"[^-a-z0-9]", "-", name)[: 63 - len("m--") - len(digest)].rstrip("-")
    return f"{words if words[:1].isalpha() else f'm-{words}'}-{digest}"


def selector_for(memcached: Memcached) -> dict[str, str]:
    """Return labels that select the pods of one Memcached. They never change, like selectors."""
    return {
        "app.kubernetes.io/name": "memcached",
        "app.kubernetes.io/instance": names.shortened(memcached.metadata.name),
    }


def labels_for(memcached: Memcached, image: str) -> dict[str, str]:
    version = image_version(image)
    return {
        **selector_for(memcached),
        "app.kubernetes.io/managed-by": "memcached-operator",
        "app.kubernetes.io/component": "cache",
        **({"app.kubernetes.io/version": version} if version else {}),
    }


def image_version(image: str) -> str:
    """Return the tag of an image, if it can be the value of a label."""
    name = image.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    if not colon or not head or "/" in tag:
        return ""
    return tag if _LABEL_VALUE.fullmatch(tag) else ""


def children_of(memcached: Memcached, image: str, user: int | None = USER) -> list[Manifest]:
    """All children of a Memcached; the runtime creates and updates them."""
    return [deployment_for(memcached, image, user), service_for(memcached, image)]


def deployment_for(memcached: Memcached, image: str, user: int | None = USER) -> Manifest:
    """Return the Deployment of a Memcached: the fields that the operator owns.

    Without `user` the cluster chooses one, as OpenShift requires.
    """
    port = memcached.spec.container_port
    container = {
        "name": "memcached",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["memcached", "-m", "64", "-o", "modern", "-v", "-p", str(port)],
        "ports": [{"containerPort": port, "name": "memcached", "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": "memcached"}},
        "securityContext": {
            "runAsNonRoot": True,
            **({} if user is None else {"runAsUser": user}),
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    labels = labels_for(memcached, image)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": child_name(memcached),
            "namespace": memcached.metadata.namespace,
            "labels": labels,
        },
        "spec": {
            "replicas": memcached.spec.size,
            "selector": {"matchLabels": selector_for(memcached)},
            "template": {
                "metadata": {
                    "labels": labels,
                    "annotations": {MEMCACHED: memcached.metadata.name},
                },
                "spec": {
                    "containers": [container],
                    "securityContext": {
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                },
            },
        },
    }


def service_for(memcached: Memcached, image: str) -> Manifest:
    """Return the Service for the pods; its port is independent of the container's."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": child_name(memcached),
            "namespace": memcached.metadata.namespace,
            "labels": labels_for(memcached, image),
        },
        "spec": {
            "selector": selector_for(memcached),
            "ports": [
                {
                    "name": "memcached",
                    "port": SERVICE_PORT,
                    "protocol": "TCP",
                    "targetPort": "memcached",
                }
            ],
        },
    }


def status_from(
    memcached: Memcached,
    deployment: Manifest,
    pods: Iterable[Manifest] | None,
    now: str,
    *,
    troubles: Sequence[Trouble] = (),
    is_scaled: bool = False,
) -> dict[str, Any]:
    """The observed state of a Memcached: its Deployment and its pods.

    `troubles` are problems with its children; `is_scaled`: the number of
    pods has just been changed. Without `pods` the reported nodes do not change.
    """
    size = memcached.spec.size
    state = objects.mapping(deployment.get("status"))
    seen = _number(state.get("observedGeneration"))
    is_current = bool(deployment) and seen >= _number(
        objects.metadata(deployment).get("generation")
    )
    available = _number(state.get("availableReplicas")) if is_current else 0
    is_available = is_current and available >= size
    words = f"{available} of {size} pods are available"
    failed = [*troubles, *_failures(objects.sequence(state.get("conditions")))]
    stuck = next((one for one in failed if one.is_scaling), None)
    goes_on = is_scaled or _is_resizing(memcached)
    why = RESIZING if stuck or (goes_on and not is_available) else RECONCILING
    return _status(
        memcached,
        [
            (AVAILABLE, is_available, RECONCILING, words),
            (PROGRESSING, not is_available and not stuck, why, stuck.message if stuck else words),
            (
                DEGRADED,
                bool(failed),
                failed[0].reason if failed else RECONCILING,
                "; ".join(one.message for one in failed),
            ),
        ],
        now,
        nodes=None
        if pods is None
        else sorted(objects.name(pod) for pod in pods if _is_staying(pod)),
        counts={
            "replicas": _number(state.get("replicas")),
            "readyReplicas": _number(state.get("readyReplicas")),
        },
    )


def _failures(said: Iterable[Any]) -> Iterable[Trouble]:
    """Return the problem that the Deployment itself reports."""
    for one in said:
        kind, status = one.get("type"), one.get("status")
        fails = kind == "ReplicaFailure" and status == "True"
        is_late = kind == "Progressing" and one.get("reason") == "ProgressDeadlineExceeded"
        if fails or is_late:
            yield Trouble(RECONCILING, str(one.get("message", "")))


def _is_resizing(memcached: Memcached) -> bool:
    said = memcached.status.conditions if memcached.status else []
    return any(
        (one.type, one.status, one.reason) == (PROGRESSING, "True", RESIZING) for one in said
    )


def status_without_image(memcached: Memcached, now: str) -> dict[str, Any]:
    words = "the operator's environment variable MEMCACHED_IMAGE is not set"
    return _status(
        memcached,
        [(AVAILABLE, False, RECONCILING, words), (DEGRADED, True, RECONCILING, words)],
        now,
    )


def status_of_invalid(memcached: Memcached, problem: str, now: str) -> dict[str, Any]:
    """For an object from before its schema; `memcached` is the same with another, valid spec."""
    return _status(
        memcached,
        [(AVAILABLE, False, INVALID_SPEC, problem), (DEGRADED, True, INVALID_SPEC, problem)],
        now,
    )


def status_of_deleted(memcached: Memcached, now: str) -> dict[str, Any]:
    words = f"{memcached.metadata.name} is being deleted"
    return _status(memcached, [(DEGRADED, True, FINALIZING, words)], now)


def _status(
    memcached: Memcached,
    said: Iterable[tuple[str, bool, str, str]],
    now: str,
    *,
    nodes: list[str] | None = None,
    counts: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the new status; an unchanged condition keeps its time.

    Without `nodes` and `counts` the reported state of the pods does not change.
    """
    old = memcached.status or MemcachedStatus()
    found: list[conditions.Condition] = [
        copy.deepcopy(one.model_dump(by_alias=True, exclude_unset=True)) for one in old.conditions
    ]
    for kind, holds, reason, message in said:
        new = conditions.condition(
            kind,
            "True" if holds else "False",
            reason,
            message,
            observed_generation=memcached.metadata.generation,
        )
        conditions.set_condition(found, new, now=now)
    if counts is None:
        kept = {"replicas": old.replicas, "readyReplicas": old.ready_replicas}
        counts = {key: value for key, value in kept.items() if value is not None}
    return {
        "conditions": found,
        "nodes": old.nodes if nodes is None else nodes,
        "observedGeneration": memcached.metadata.generation,
        "selector": str(LabelSelector.parse(selector_for(memcached))),
        **counts,
    }


def _is_staying(pod: Manifest) -> bool:
    return not objects.metadata(pod).get("deletionTimestamp")


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
