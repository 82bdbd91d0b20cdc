"""Explain the state of a ClusterExtension, from its conditions down to the pods.

`Installed=True` only means that OLM has applied the objects of a bundle. An operator is ready
when its Deployments are also available.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import ChainLink, Diagnosis, Explanation, Readiness
from olmkit.olm.explain.workloads import pods, refused_requests
from olmkit.olm.v1 import catalogs, messages
from olmkit.olm.v1.extension import installed_bundle, request_of
from olmkit.olm.v1.state import CONTROLLERS, ExtensionState, owned_deployments

_FAILS = ("Retrying", "Blocked", "InvalidConfiguration", "ProgressDeadlineExceeded")


def explain(state: ExtensionState, *, target: str = "") -> Explanation:
    """Explain the state of the ClusterExtension. `target` is the expected bundle."""
    extension = state.extension
    if extension is None:
        named = next((one for one in state.catalogs if objects.name(one) == state.name), None)
        if named is not None:
            return _explain_catalog_name(named)
        return Explanation(
            readiness=Readiness.BLOCKED,
            cause="not-installed",
            message=f"no ClusterExtension requests `{state.name}`",
            hint=f"install it: `olmkit install {state.name} --olm v1`",
        )
    _, version = installed_bundle(extension)
    return replace(_explain_existing(state, extension, target), version=version)


def _explain_catalog_name(catalog: Manifest) -> Explanation:
    """Explain that the name is that of a catalog, and the state of the catalog."""
    name = objects.name(catalog)
    ailing = catalogs.explain_change(catalog)
    state = ailing.message if ailing is not None else "catalogd serves it"
    return Explanation(
        readiness=Readiness.BLOCKED,
        cause="not-installed",
        message=f"`{name}` is a ClusterCatalog, and no ClusterExtension requests a package of this "
        f"name; {state}",
        hint=(ailing.hint if ailing is not None else "")
        or f"run `olmkit catalog list packages clustercatalog:{name}` to see its packages, and "
        "`olmkit status` to see which operators are installed",
        chain=ailing.links if ailing is not None else (explanation.link(catalog, "served"),),
    )


def _explain_existing(state: ExtensionState, extension: Manifest, target: str) -> Explanation:
    top = explanation.link(extension, _state(extension))
    finding = _explain(state, extension, target)
    if finding is not None:
        return finding.below(top)
    name, _ = installed_bundle(extension)
    if not state.are_deployments_known:
        return _explain_unlisted(name, state.namespace, top)
    own = owned_deployments(state.here.deployments, extension)
    refused = refused_requests.facts(state.here, map(objects.name, own))
    return Explanation(
        readiness=Readiness.READY,
        cause="healthy",
        message=f"`{name}` is installed and healthy" + (refused_requests.SUFFIX if refused else ""),
        hint=kinds.deprecation(extension) or (refused_requests.HINT if refused else ""),
        chain=(top, *map(_available, own)),
        details=refused,
    )


def _explain_unlisted(name: str, namespace: str, top: ChainLink) -> Explanation:
    return Explanation(
        readiness=Readiness.READY,
        cause="deployments-not-listable",
        message=f"OLM has installed `{name}`; whether its Deployments are available is not known, "
        f"because you may not list Deployments in namespace `{namespace}`",
        hint="bind the user to a role that allows `list` of `deployments.apps`, `pods` and "
        f"`events` in namespace `{namespace}`",
        chain=(top,),
    )


def _explain(state: ExtensionState, extension: Manifest, target: str) -> Diagnosis | None:
    """Explain why it is not ready; None if it is."""
    if objects.metadata(extension).get("deletionTimestamp"):
        return _explain_controllers(state.system, CONTROLLERS) or _explain_deletion(extension)
    progressing = kinds.any_condition(extension, "Progressing")
    if _is_outdated(extension, progressing):
        return _explain_controllers(state.system, CONTROLLERS) or Diagnosis(
            cause="waiting",
            message="OLM has not yet processed the ClusterExtension",
            readiness=Readiness.WAITING,
        )
    reason, message = text(progressing.get("reason")), text(progressing.get("message"))
    if reason in _FAILS:
        readiness = Readiness.STUCK if reason == "Retrying" else Readiness.BLOCKED
        found = messages.explain_message(state, extension, message, readiness)
        # The message is outdated if the controller does not run.
        first = 0 if found.cause == "catalog-not-ready" else 1
        return _explain_controllers(state.system, CONTROLLERS[first:]) or found
    name, _ = installed_bundle(extension)
    is_installed = kinds.condition(extension, "Installed") is not None and bool(name)
    if reason != "Succeeded" or not is_installed:
        return Diagnosis(
            cause="waiting",
            message=explanation.first_line(message) or f"OLM is installing `{state.name}`",
            readiness=Readiness.WAITING,
        )
    if target not in ("", name):
        return Diagnosis(
            cause="waiting",
            message=f"OLM has installed `{name}` and not yet `{target}`",
            readiness=Readiness.WAITING,
        )
    return explain_deployments(state, extension)


def explain_deployments(state: ExtensionState, extension: Manifest) -> Diagnosis | None:
    """Explain the first of its Deployments that is not available; None if all are."""
    for deployment in owned_deployments(state.here.deployments, extension):
        finding = pods.explain_deployment(state.here, objects.name(deployment))
        if finding is not None:
            return finding
    return None


def _explain_controllers(system: ClusterState, names: Iterable[str]) -> Diagnosis | None:
    """Explain why OLM v1 itself does not run; None if it does, or if its state is unknown."""
    for name in names:
        if system.deployment(name) is None:
            continue
        ailing = pods.explain_deployment(system, name)
        if ailing is not None:
            return replace(
                ailing,
                cause="controller-not-running",
                message=f"OLM v1 does not run: {ailing.message}",
                hint=ailing.hint
                or f"check the Deployment `{name}` in namespace `{system.namespace}`",
                readiness=Readiness.STUCK,
            )
        if not kinds.spec(system.deployment(name)).get("replicas", 1):
            return Diagnosis(
                cause="controller-not-running",
                message=f"OLM v1 does not run: the Deployment `{name}` is scaled to 0",
                hint=f"run `kubectl scale deployment {name} -n {system.namespace} --replicas=1`",
                links=(explanation.link(_find_deployment(system, name), "0 pods"),),
            )
    return None


def _find_deployment(system: ClusterState, name: str) -> Manifest:
    return system.deployment(name) or {}


def _explain_deletion(extension: Manifest) -> Diagnosis:
    finalizers = ", ".join(
        f"`{text(one)}`" for one in sequence(objects.metadata(extension).get("finalizers"))
    )
    return Diagnosis(
        cause="extension-deleting",
        message=f"the ClusterExtension `{objects.name(extension)}` is being deleted"
        + (f"; its finalizers are {finalizers}" if finalizers else ""),
        readiness=Readiness.WAITING,
    )


def _is_outdated(extension: Manifest, progressing: Mapping[str, Any]) -> bool:
    """Return whether the condition belongs to an earlier generation of the spec, or is missing."""
    seen = kinds.number(progressing.get("observedGeneration"))
    current = kinds.number(objects.metadata(extension).get("generation"))
    return not progressing or seen < current


def _state(extension: Manifest) -> str:
    name, _ = installed_bundle(extension)
    package = text(request_of(extension).get("packageName"))
    parts = [f"installed {name}" if name else "nothing installed"]
    if package != objects.name(extension):
        parts.insert(0, f"package {package}")
    progressing = kinds.any_condition(extension, "Progressing")
    if progressing:
        parts.append(text(progressing.get("reason")))
    return ", ".join(parts)


def _available(deployment: Manifest) -> ChainLink:
    found = kinds.status(deployment)
    ready = kinds.number(found.get("availableReplicas"))
    expected = kinds.spec(deployment).get("replicas", 1)
    return explanation.link(deployment, f"{ready} of {expected} pods are available")
