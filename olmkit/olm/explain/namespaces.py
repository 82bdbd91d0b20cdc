"""Explain a terminating namespace, in which the API server creates nothing."""

from __future__ import annotations

import re

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Readiness

_DISCOVERY = "NamespaceDeletionDiscoveryFailure"
# `configmaps. has 1 resource instances, things.example.com has 2 resource instances`
_REMAINING = re.compile(r"(?P<name>[a-z0-9][a-z0-9.-]*?)\.? has \d+ resource instances")
_FINALIZERS = re.compile(r"(?P<name>\S+) in \d+ resource instances")
_FAILED = ("NamespaceDeletionContentFailure", "NamespaceDeletionGroupVersionParsingFailure")


def explain_namespace(namespace: Manifest | None) -> Diagnosis | None:
    """Explain what blocks the deletion of a terminating namespace; None for other namespaces."""
    if namespace is None or kinds.phase(namespace) != "Terminating":
        return None
    name = objects.name(namespace)
    message = f"namespace `{name}` is being deleted, so nothing can be created in it"
    held, hint = _find_deletion_blocker(namespace, name)
    return Diagnosis(
        cause="namespace-terminating",
        message=f"{message}; {held}" if held else message,
        hint=hint,
        links=(explanation.link(namespace, "Terminating"),),
        readiness=Readiness.BLOCKED if held else Readiness.WAITING,
    )


def _find_deletion_blocker(namespace: Manifest, name: str) -> tuple[str, str]:
    """Return what blocks the namespace's deletion, from its conditions, and a hint."""
    unknown = kinds.condition(namespace, _DISCOVERY)
    if unknown is not None:
        return f"an API does not answer: {_message(unknown)}", (
            "repair what serves that API, or delete its APIService: `kubectl get apiservice`"
        )
    content = _message(kinds.condition(namespace, "NamespaceContentRemaining"))
    held = _message(kinds.condition(namespace, "NamespaceFinalizersRemaining"))
    resources = [one["name"] for one in _REMAINING.finditer(content)]
    finalizers = ", ".join(f"`{one['name']}`" for one in _FINALIZERS.finditer(held))
    if resources:
        listed = ", ".join(f"`{one}`" for one in resources)
        what = f"objects of {listed} remain"
        show = f"`kubectl get {','.join(resources)} -n {name}`"
        if not finalizers:
            return what, f"wait until they are gone: {show}"
        return f"{what}, held by the finalizer {finalizers}", (
            f"let the operator that owns the finalizer run, or remove it from the objects: {show}; "
            "install again when the namespace is gone"
        )
    failed = [found for one in _FAILED if (found := kinds.condition(namespace, one)) is not None]
    if failed:
        return f"deleting its content fails: {_message(failed[0])}", ""
    return "", f"wait until it is gone: `kubectl wait --for=delete namespace/{name}`"


def _message(condition: object) -> str:
    return explanation.first_line(text(mapping(condition).get("message"))).rstrip(".,; ")
