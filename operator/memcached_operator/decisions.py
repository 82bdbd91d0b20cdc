"""What the operator decides: which Deployment there shall be, and what the status says.

Functions of values; no cluster is needed to try them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

from memcached_operator.api.v1alpha1.memcached import Memcached
from olmkit.base import names
from olmkit.kube import conditions, objects
from olmkit.kube.conditions import Condition
from olmkit.kube.objects import GVK, Manifest

DEPLOYMENT = GVK(group="apps", version="v1", kind="Deployment")
POD = GVK(group="", version="v1", kind="Pod")

AVAILABLE, PROGRESSING, DEGRADED = "Available", "Progressing", "Degraded"
RECONCILING = "Reconciling"

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# Not root, and the same on each cluster: the image's own user has a name and no number.
_USER = 1001


def selector_for(memcached: Memcached) -> dict[str, str]:
    """Labels that find the pods of one Memcached, and never change: selectors cannot."""
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
    """The tag of an image, where it has one that may be the value of a label."""
    name = image.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    if not colon or not head or "/" in tag:
        return ""
    return tag if _LABEL_VALUE.fullmatch(tag) else ""


def deployment_for(memcached: Memcached, image: str) -> Manifest:
    """The Deployment that a Memcached asks for: the fields that the operator owns."""
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
            "runAsUser": _USER,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    labels = labels_for(memcached, image)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": memcached.metadata.name,
            "namespace": memcached.metadata.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(memcached)],
        },
        "spec": {
            "replicas": memcached.spec.size,
            "selector": {"matchLabels": selector_for(memcached)},
            "template": {
                "metadata": {"labels": labels},
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


def owner_reference(memcached: Memcached) -> dict[str, Any]:
    return {
        "apiVersion": f"{memcached.gvk.group}/{memcached.gvk.version}",
        "kind": memcached.gvk.kind,
        "name": memcached.metadata.name,
        "uid": memcached.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_owned_by(memcached: Memcached, manifest: Manifest) -> bool:
    owners = objects.sequence(objects.metadata(manifest).get("ownerReferences"))
    return any(owner.get("uid") == memcached.metadata.uid for owner in owners)


def covers(found: Any, wanted: Any) -> bool:
    """Whether everything wanted is there already; what others added does not count."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and covers(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(covers(a, b) for a, b in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)


def status_from(
    memcached: Memcached, deployment: Manifest, pods: Iterable[Manifest], now: str
) -> dict[str, Any]:
    """What the Deployment and its pods say about a Memcached."""
    size = memcached.spec.size
    state = objects.mapping(deployment.get("status"))
    seen = _number(state.get("observedGeneration"))
    is_current = seen >= _number(objects.metadata(deployment).get("generation"))
    available = _number(state.get("availableReplicas")) if is_current else 0
    is_available = is_current and available >= size
    words = f"{available} of {size} pods are available"
    failure = conditions.find(objects.sequence(state.get("conditions")), "ReplicaFailure")
    fails = failure is not None and failure.get("status") == "True"
    return _status(
        memcached,
        [
            (AVAILABLE, is_available, RECONCILING, words),
            (PROGRESSING, not is_available, RECONCILING, words),
            (DEGRADED, fails, RECONCILING, str(failure.get("message", "")) if failure else ""),
        ],
        now,
        nodes=sorted(objects.name(pod) for pod in pods if _is_staying(pod)),
    )


def status_without_image(memcached: Memcached, now: str) -> dict[str, Any]:
    words = "the operator's environment variable MEMCACHED_IMAGE is not set"
    return _status(
        memcached,
        [(AVAILABLE, False, RECONCILING, words), (DEGRADED, True, RECONCILING, words)],
        now,
    )


def status_with_foreign_deployment(memcached: Memcached, now: str) -> dict[str, Any]:
    words = f"a Deployment named {memcached.metadata.name} belongs to somebody else"
    return _status(
        memcached,
        [(AVAILABLE, False, RECONCILING, words), (DEGRADED, True, "NameTaken", words)],
        now,
    )


def _status(
    memcached: Memcached,
    said: Iterable[tuple[str, bool, str, str]],
    now: str,
    *,
    nodes: list[str] | None = None,
) -> dict[str, Any]:
    """The new status; a condition that says the same keeps its time."""
    old = memcached.status
    found: list[Condition] = [
        copy.deepcopy(one.model_dump(by_alias=True, exclude_unset=True))
        for one in (old.conditions if old else [])
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
    kept = (old.nodes if old else []) if nodes is None else nodes
    return {"conditions": found, "nodes": kept}


def _is_staying(pod: Manifest) -> bool:
    return not objects.metadata(pod).get("deletionTimestamp")


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
