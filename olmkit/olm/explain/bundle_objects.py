"""Explain why the API server rejects an object of a bundle, or a change of an existing one.

OLM creates the objects of a bundle without changes, except CRDs and RBAC, and updates existing
ones. An object of another owner or an immutable field stops an InstallPlan.
"""

from __future__ import annotations

import re

from olmkit.olm.explain import explanation, refusals
from olmkit.olm.explain.explanation import Diagnosis, Readiness
from olmkit.olm.explain.workloads.templates import TemplatePlace

_INVALID = re.compile(
    r'(?<!\w)(?P<kind>[A-Z]\w+)(?:\.(?P<group>[-\w.]+))? "(?P<name>[^"]+)" is invalid: (?P<why>.*)',
    re.DOTALL,
)
_FAILED = re.compile(
    r"error (?:creating|updating) (?:unstructured object )?(?P<kind>[a-z]+)?:? ?(?P<name>[-.\w]+): "
)
_PORT = re.compile(r"Invalid value: (?P<port>\d+): provided port is already allocated")
_FIXED = ("may not be changed in an update", "field is immutable")
_CLUSTER = ("PriorityClass", "ClusterRole", "ClusterRoleBinding", "StorageClass", "Namespace")
_NEW = "correct the bundle, and publish it as a new version"


def explain_plan_message(words: str, namespace: str, readiness: Readiness) -> Diagnosis | None:
    """Return what the message of an InstallPlan means; None if no object is refused."""
    words = words[: refusals.LONGEST]
    invalid = _INVALID.search(words)
    if invalid is not None:
        message, hint = _explain_invalid_object(invalid, namespace)
        return Diagnosis(cause="object-refused", message=message, hint=hint, readiness=readiness)
    refusal = refusals.explain_refusal(
        words, refusals.Context(namespace=namespace, template=_BUNDLE)
    )
    if not refusal.is_known:
        return None
    found = _FAILED.search(words)
    what = f"`{found['name']}` of the bundle" if found else "an object of the bundle"
    return Diagnosis(
        cause="object-refused",
        message=f"the API server refuses {what}: {refusal.message}",
        hint=refusal.hint,
        details=refusal.details,
        readiness=readiness,
    )


def explain_strategy_message(
    message: str, template: TemplatePlace, configured: tuple[str, ...]
) -> tuple[str, str]:
    """Return what the message of a failed install strategy means, and what to do; two sentences.

    `configured` are the fields of the Subscription's `spec.config`.
    """
    reason = message[: refusals.LONGEST].removeprefix("install strategy failed: ")
    invalid = _INVALID.search(reason)
    if invalid is not None:
        why = explanation.first_line(invalid["why"])
        field = next((name for name in configured if f".{name}" in why), "")
        hint = (
            f"correct `spec.config.{field}` of Subscription `{template.subscription}`"
            if field and template.subscription
            else _NEW
        )
        name = f"{invalid['kind']} `{invalid['name']}`"
        return f"the API server refuses {name}: {why}", hint
    refusal = refusals.explain_refusal(reason, refusals.Context(namespace="", template=template))
    if refusal.is_known:
        return refusal.message, refusal.hint
    return explanation.first_line(message), ""


_BUNDLE = TemplatePlace("the bundle")


def _explain_invalid_object(found: re.Match[str], namespace: str) -> tuple[str, str]:
    kind, name, why = found["kind"], found["name"], explanation.first_line(found["why"])
    port = _PORT.search(why)
    if port is not None:
        return (
            (
                f"{kind} `{name}` of the bundle requests the node port {port['port']}, which "
                "a Service of the cluster has"
            ),
            (
                "remove `nodePort` from the bundle, or delete the Service that has it: `kubectl "
                "get services -A`"
            ),
        )
    if any(part in why for part in _FIXED):
        resource = kind.lower() + (f".{found['group']}" if found["group"] else "")
        place = "" if kind in _CLUSTER else f" -n {namespace}"
        return (
            (
                f"{kind} `{name}` is in the cluster and differs from the bundle's in a field that "
                f"cannot be changed: {why}"
            ),
            (
                "delete it when nothing else needs it: "
                f"`kubectl delete {resource} {name}{place}`, or rename it in the bundle"
            ),
        )
    return f"the API server refuses {kind} `{name}` of the bundle: {why}", _NEW
