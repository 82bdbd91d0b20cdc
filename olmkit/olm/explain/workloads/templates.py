"""Find the place where a pod template must be changed, for hints.

OLM overwrites changes to the Deployments that it has created, and adds the configuration of the
Subscription to them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState

_OWNER_KIND, _OWNER = "olm.owner.kind", "olm.owner"


@dataclass(frozen=True, slots=True)
class TemplatePlace:
    """`place` is where the template is, such as a bundle; empty if unknown.

    `subscription` is the Subscription of OLM v0 whose `spec.config` changes it, too.
    """

    place: str = ""
    subscription: str = ""

    def change(self, what: str, config: str = "") -> str:
        """Return the imperative clause `what` with its place.

        `config` is the field of the Subscription's `spec.config` with the same effect.
        """
        found = f"{what} in {self.place}" if self.place else what
        if config and self.subscription:
            found += f", or set `spec.config.{config}` of Subscription `{self.subscription}`"
        return found


def find_template(snapshot: ClusterState, deployment: Manifest) -> TemplatePlace:
    """Return the template of the pods of a Deployment."""
    labels = objects.labels_of(deployment)
    if is_of_olm(deployment):
        csv = labels.get(_OWNER, "")
        for one in snapshot.subscriptions:
            found = kinds.status(one)
            if csv and csv in (found.get("installedCSV"), found.get("currentCSV")):
                return TemplatePlace("the bundle's Deployment", objects.name(one))
        return TemplatePlace("the bundle's Deployment")
    if "olm.operatorframework.io/owner-name" in labels:
        return TemplatePlace("the bundle's Deployment")
    return TemplatePlace(f"Deployment `{objects.name(deployment)}`")


def is_of_olm(deployment: Manifest) -> bool:
    """Return whether OLM v0 has created the Deployment for a ClusterServiceVersion."""
    return objects.labels_of(deployment).get(_OWNER_KIND) == kinds.CSV[1]


def containers(pod: Manifest) -> Iterator[Mapping[str, Any]]:
    """Yield the containers of a pod's spec, init containers first."""
    found = objects.pod_spec(pod)
    for part in ("initContainers", "containers"):
        yield from (one for one in sequence(found.get(part)) if isinstance(one, Mapping))


def container(pod: Manifest, name: str) -> Mapping[str, Any]:
    """Return the container of that name in a pod's spec; empty if there is none."""
    return next((one for one in containers(pod) if one.get("name") == name), {})


def limit(pod: Manifest, name: str, resource: str) -> str:
    """Return the limit of a container, such as `64Mi`; empty if it has none."""
    limits = mapping(mapping(container(pod, name).get("resources")).get("limits"))
    value = limits.get(resource)
    return str(value) if isinstance(value, int | float | str) else ""


def log_command(pod: Manifest, status: Mapping[str, Any]) -> str:
    """Return the command that prints the log of a container's last run.

    `--previous` works only if the kubelet still has a run before the current one.
    """
    last = mapping(mapping(status.get("lastState")).get("terminated"))
    restarts = objects.pod_spec(pod).get("restartPolicy") != "Never"
    previous = ["--previous"] if restarts and last.get("containerID") else []
    words = ["kubectl", "logs", *previous, "-n", objects.namespace(pod), objects.name(pod)]
    return shlex.join([*words, "-c", text(status.get("name"))])
