"""Explain why no node accepts a pod, from the scheduler's message and the pod's requests.

The message counts the nodes by the first filter that rejected each of them. Source: the
messages of the plugins of kube-scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState, Objects
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, FaultOrigin
from olmkit.olm.explain.workloads import templates
from olmkit.olm.explain.workloads.templates import TemplatePlace

_COUNTED = re.compile(r"^\d+/(?P<all>\d+) nodes are available: (?P<rest>.*)$", re.DOTALL)
_REASON = re.compile(r"^(?P<count>\d+) (?P<why>.*)$")
_TAINT = re.compile(r"had untolerated taint(?:\(s\))? ?(?:\{(?P<key>[^:}]*): ?(?P<value>[^}]*)\})?")
_CLAIM = re.compile(r'persistentvolumeclaim "(?P<name>[^"]+)" not found')
_SHOWN = 5  # groups of nodes
_SPLIT = re.compile(r", (?=\d+ )")


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a group of nodes rejects a pod, with fixes for the `cluster` and the `pod`.

    `config` is the field of a Subscription's `spec.config` with the same effect as the fix for the
    pod.
    """

    why: str
    cluster: str = ""
    pod: str = ""
    config: str = ""

    def hint(self, template: TemplatePlace) -> str:
        """Return an imperative sentence that names both fixes."""
        parts = [self.cluster, template.change(self.pod, self.config) if self.pod else ""]
        return "; or ".join(part for part in parts if part)


def explain_scheduling(
    snapshot: ClusterState, pod: Manifest, template: TemplatePlace
) -> Diagnosis | None:
    """Explain why no node accepts the pod; None if one does, or the scheduler has not tried."""
    scheduled = kinds.condition(pod, "PodScheduled", value="False")
    if scheduled is None:
        return _explain_missing_scheduler(pod, template)
    name, words = objects.name(pod), text(scheduled.get("message"))
    link = explanation.link(pod, "Pending, not scheduled")
    if scheduled.get("reason") == "SchedulingGated":
        gates = ", ".join(f"`{gate}`" for gate in _explain_gates(pod))
        return Diagnosis(
            cause="pod-not-scheduled",
            message=f"the pod `{name}` waits until its scheduling gates are removed: {gates}",
            hint=template.change("check the controller that removes them, or drop "
                                 "`schedulingGates`"),
            links=(link,),
            origin=FaultOrigin.WORLD,
        )  # fmt: skip
    found = list(_reasons(snapshot.nodes, pod, words))
    return Diagnosis(
        cause="pod-not-scheduled",
        message=f"no node takes the pod `{name}`: "
        + ("; ".join(one.why for one in found[:_SHOWN]) or explanation.first_line(words)),
        hint=next((one.hint(template) for one in found if one.hint(template)), "")
        or "compare what the pod requests (resources, node selector, tolerations) with the "
        f"nodes: {_describe(pod)}",
        links=(link,),
        origin=FaultOrigin.WORLD,
    )


def _explain_missing_scheduler(pod: Manifest, template: TemplatePlace) -> Diagnosis | None:
    """Explain a pod that no scheduler has processed, because it names one that does not run."""
    scheduler = text(objects.pod_spec(pod).get("schedulerName"))
    is_untouched = kinds.phase(pod) in ("", "Pending") and not list(kinds.conditions(pod))
    if not is_untouched or scheduler in ("", "default-scheduler"):
        return None
    return Diagnosis(
        cause="pod-not-scheduled",
        message=f"no node takes the pod `{objects.name(pod)}`: its scheduler `{scheduler}` has "
        "not looked at it",
        hint=template.change(f"check that the scheduler `{scheduler}` runs, or drop "
                             "`schedulerName`"),
        links=(explanation.link(pod, "Pending, not scheduled"),),
        origin=FaultOrigin.WORLD,
    )  # fmt: skip


def _explain_gates(pod: Manifest) -> Iterator[str]:
    for one in sequence(objects.pod_spec(pod).get("schedulingGates")):
        yield text(mapping(one).get("name"))


def _describe(pod: Manifest) -> str:
    return f"`kubectl describe pod -n {objects.namespace(pod)} {objects.name(pod)}`"


def _reasons(nodes: Objects, pod: Manifest, message: str) -> Iterator[Reason]:
    """Yield the reason why each group of nodes does not accept the pod."""
    counted = _COUNTED.match(message)
    if counted is None:
        if "no nodes available" in message:
            yield Reason("the cluster has no node", "add a node")
        return
    rest = counted["rest"].split(" preemption: ")[0].split(". no new claims")[0].rstrip(". ")
    claim = _claims(pod, rest)
    if claim is not None:
        yield claim
        return
    for part in _SPLIT.split(rest):
        found = _REASON.match(part)
        if found is None:
            continue
        reason = _reason(nodes, pod, found["why"])
        is_one = counted["all"] == "1"
        of_all = "" if is_one else f"{found['count']} of {counted['all']} nodes: "
        yield replace(reason, why=of_all + reason.why)


def _claims(pod: Manifest, rest: str) -> Reason | None:
    namespace = objects.namespace(pod)
    found = _CLAIM.search(rest)
    if found is not None:
        name = found["name"]
        volumes = ", ".join(f"`{volume}`" for volume, claim in _claim_names(pod) if claim == name)
        return Reason(
            f"PersistentVolumeClaim `{name}` of volume {volumes or 'of the pod'} does not exist "
            f"in namespace `{namespace}`",
            f"create PersistentVolumeClaim `{name}` in namespace `{namespace}`; OLM does not "
            "create it from a bundle",
        )
    if "unbound immediate PersistentVolumeClaims" in rest:
        names = [name for _, name in _claim_names(pod)] or ["NAME"]
        listed = ", ".join(f"`{name}`" for name in names)
        return Reason(
            f"PersistentVolumeClaim {listed} has no PersistentVolume yet",
            "check that its StorageClass exists and that its provisioner runs: `kubectl describe "
            f"persistentvolumeclaim -n {namespace} {names[0]}`",
        )
    return None


def _claim_names(pod: Manifest) -> Iterator[tuple[str, str]]:
    """Yield each volume that is a claim, and the claim."""
    for volume in sequence(objects.pod_spec(pod).get("volumes")):
        name = text(mapping(mapping(volume).get("persistentVolumeClaim")).get("claimName"))
        if name:
            yield text(mapping(volume).get("name")), name


def _reason(nodes: Objects, pod: Manifest, why: str) -> Reason:
    for fragment, explain in _FRAGMENTS:
        if fragment in why:
            return explain(nodes, pod, why)
    words = explanation.first_line(why.removeprefix("node(s) ").rstrip("."), 120)
    return Reason(f"`{words}`")


def _explain_selector(_: Objects, pod: Manifest, __: str) -> Reason:
    spec = objects.pod_spec(pod)
    labels = [
        f"{key}={objects.scalar_text(value)}"
        for key, value in mapping(spec.get("nodeSelector")).items()
    ]
    terms = list(_terms(spec))
    parts = []
    if labels:
        listed = ", ".join(f"`{label}`" for label in labels)
        parts.append(f"the label{'s' * (len(labels) > 1)} {listed} of `nodeSelector`")
    if terms:
        parts.append(f"what `nodeAffinity` requires ({' or '.join(terms)})")
    return Reason(
        f"it does not have {' and '.join(parts)}" if parts else "its labels do not fit",
        f"label a node: `kubectl label node NODE {' '.join(labels)}`"
        if labels
        else "label a node so that it fits",
        f"correct `{'nodeSelector' if labels else 'affinity'}`",
        "nodeSelector" if labels else "affinity",
    )


def _terms(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield each term of the required node affinity, such as `arch in (arm64)`."""
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    for term in sequence(required.get("nodeSelectorTerms")):
        rules = []
        for part in ("matchExpressions", "matchFields"):
            for one in sequence(mapping(term).get(part)):
                found = mapping(one)
                values = ", ".join(objects.scalar_text(value)
                                   for value in sequence(found.get("values")))  # fmt: skip
                operator = text(found.get("operator"))
                rules.append(f"{text(found.get('key'))} {operator}{f' ({values})' * bool(values)}")
        if rules:
            yield f"`{' and '.join(rules)}`"


def _explain_taint(nodes: Objects, pod: Manifest, why: str) -> Reason:
    """Return the taint of the nodes, which newer schedulers do not report."""
    found = _TAINT.search(why)
    key = (found["key"] or "") if found else ""
    value = (found["value"] or "").strip() if found else ""
    if not key:
        key, value = next(_find_untolerated_taints(nodes, pod), ("", ""))
    if key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        return Reason(f"it is not ready (taint `{key}`)", "run `kubectl describe nodes` to see why")
    if key.endswith("-pressure"):
        return Reason(
            f"it runs out of a resource (taint `{key}`)",
            "free that resource on the node: `kubectl describe nodes`",
        )
    if not key:
        return Reason(
            "the pod does not tolerate its taints",
            "list them: `kubectl describe nodes`",
            "add a toleration",
            "tolerations",
        )
    taint = f"`{key}={value}`" if value else f"`{key}`"
    return Reason(
        f"the pod does not tolerate its taint {taint}",
        f"remove the taint: `kubectl taint node NODE {key}-`",
        f"add a toleration of {taint}",
        "tolerations",
    )


def _cordoned(nodes: Objects, pod: Manifest, _: str) -> Reason:
    """Return the cordoned nodes that also have another taint that repels the pod."""
    cordoned = tuple(one for one in nodes if kinds.spec(one).get("unschedulable") is True)
    name = objects.name(cordoned[0]) if len(cordoned) == 1 else "NODE"
    why, hint = "it is cordoned", f"uncordon it: `kubectl uncordon {name}`"
    others = (one for one in _find_untolerated_taints(cordoned, pod) if one[0] != _CORDON)
    key, value = next(others, ("", ""))
    if key:
        taint = f"{key}={value}" if value else key
        why += f", and the pod does not tolerate its taint `{taint}`"
        hint += f", and remove the taint: `kubectl taint node {name} {key}-`"
    return Reason(why, hint)


def _find_untolerated_taints(nodes: Objects, pod: Manifest) -> Iterator[tuple[str, str]]:
    """Return key and value of the taints that the pod does not tolerate."""
    tolerations = [mapping(one) for one in sequence(objects.pod_spec(pod).get("tolerations"))]
    for node in nodes:
        for one in sequence(kinds.spec(node).get("taints")):
            taint = mapping(one)
            if taint.get("effect") == "PreferNoSchedule":
                continue
            if not any(_tolerates(toleration, taint) for toleration in tolerations):
                yield text(taint.get("key")), text(taint.get("value"))


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Return whether a toleration matches a taint, like `ToleratesTaint` of the core API."""
    effect, key = text(toleration.get("effect")), text(toleration.get("key"))
    if effect not in ("", taint.get("effect")) or key not in ("", taint.get("key")):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(key) and text(toleration.get("value")) == text(taint.get("value"))


def _list_capacities(nodes: Objects, resource: str) -> str:
    """Return the distinct capacities of the nodes for a resource."""
    values = [
        objects.scalar_text(mapping(kinds.status(node).get("allocatable")).get(resource))
        for node in nodes
    ]
    return ", ".join(dict.fromkeys(value for value in values if value))


def _explain_insufficient_resource(nodes: Objects, pod: Manifest, why: str) -> Reason:
    resource = why.split("Insufficient ", 1)[1].split(",")[0].rstrip(". ")
    total = _find_request(pod, resource)
    offered = _list_capacities(nodes, resource)
    wanted = f": the pod requests {total}" if total else ""
    wanted += f", and the nodes have {offered}" if total and offered else ""
    if resource in ("cpu", "memory", "ephemeral-storage"):
        return Reason(
            f"it has too little {resource} left{wanted}",
            "add a larger node, or remove other pods",
            f"lower `resources.requests.{resource}`",
            "resources",
        )
    return Reason(
        f"it does not offer enough `{resource}`{wanted}",
        f"install the device plugin that offers `{resource}`",
        f"drop `{resource}` from `resources`",
        "resources",
    )


def _find_request(pod: Manifest, resource: str) -> str:
    """Return the request of a pod for a resource, as written or as a sum."""
    values = []
    for one in sequence(objects.pod_spec(pod).get("containers")):
        found = mapping(mapping(one).get("resources"))
        value = mapping(found.get("requests")).get(
            resource, mapping(found.get("limits")).get(resource)
        )
        if value is not None:
            values.append(objects.scalar_text(value))
    return " + ".join(value for value in values if value)


def _explain_ports(_: Objects, pod: Manifest, __: str) -> Reason:
    ports = [
        objects.scalar_text(mapping(port).get("hostPort"))
        for container in templates.containers(pod)
        for port in sequence(container.get("ports"))
        if mapping(port).get("hostPort")
    ]
    return Reason(
        f"its host port {', '.join(ports)} is in use" if ports else "a host port is in use",
        "run no more such pods than nodes",
        "drop `hostPort`",
    )


def _always(reason: Reason) -> Callable[[Objects, Manifest, str], Reason]:
    return lambda _, __, ___: reason


# The taint that the node controller adds to a cordoned node.
_CORDON = "node.kubernetes.io/unschedulable"

Explain = Callable[[Objects, Manifest, str], Reason]
_FRAGMENTS: tuple[tuple[str, Explain], ...] = (
    ("didn't match Pod's node affinity/selector", _explain_selector),
    ("untolerated taint", _explain_taint),
    ("Insufficient ", _explain_insufficient_resource),
    ("didn't have free ports", _explain_ports),
    ("Too many pods", _always(Reason("it runs as many pods as it may", "add a node"))),
    ("were unschedulable", _cordoned),
    ("anti-affinity", _always(Reason("it runs pods that this pod must not run next to",
                                    "add a node", "correct `podAntiAffinity`", "affinity"))),
    ("pod affinity rules", _always(Reason("it does not run the pods that this pod must run next to",
                                         "", "correct `podAffinity`", "affinity"))),
    ("topology spread", _always(Reason("the pods would not be spread as required", "add a node",
                                      "correct `topologySpreadConstraints`"))),
    ("volume node affinity conflict", _always(Reason(
        "a volume of the pod is bound to another node",
        "make the node of the volume fit the pod: `kubectl get persistentvolumes`"))),
    ("didn't find available persistent volumes", _always(Reason(
        "no PersistentVolume fits the pod's claim",
        "create one that fits, or a StorageClass with a provisioner"))),
    ("exceed max volume count", _always(Reason("it has as many volumes as it may", "add a node"))),
)  # fmt: skip
