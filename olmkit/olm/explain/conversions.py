"""Explain CRDs that do not work: one that is being deleted, or whose webhook does not respond."""

from __future__ import annotations

import re

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import certificates, explanation
from olmkit.olm.explain.explanation import Diagnosis, Readiness

_AWAY = re.compile(r"conversion webhook for .*? failed: (?P<rest>.*)", re.DOTALL)


def explain_ending_crd(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Explain a CRD of a CSV that is being deleted, with all objects of its kind."""
    for crd in snapshot.ending_crds:
        name = objects.name(crd)
        if name not in kinds.owned_crds(csv):
            continue
        condition = kinds.condition(crd, "Terminating")
        reason = explanation.first_line(text((condition or {}).get("message")))
        package = kinds.package(csv) or kinds.package_named_in(objects.name(csv))
        return Diagnosis(
            cause="crd-ending",
            message=f"the CustomResourceDefinition `{name}` is being deleted, and all objects of "
            f"its kind with it{f': {reason}' if reason else ''}",
            hint="nothing can stop this: save the objects that you need, "
            f"`kubectl get {name} -A -o yaml`; when it is gone, OLM does not create it again, so "
            f"run `olmkit uninstall {package} -n {snapshot.namespace}` and install again",
            links=(explanation.link(crd, "being deleted"),),
        )
    return None


def explain_conversions(
    snapshot: ClusterState, csv: Manifest, *, is_settled: bool
) -> Diagnosis | None:
    """Return why the objects of a CSV's kinds cannot be read, although OLM calls it Succeeded."""
    for name in kinds.owned_crds(csv):
        message = snapshot.unconverted.get(name, "")
        if message:
            reason = refusal(message) or message
            return Diagnosis(
                cause="conversion-webhook-away",
                message=f"the objects of `{name}` cannot be read, because nothing converts them: "
                f"{explanation.first_line(reason)}",
                hint=hint(reason)
                or "read the logs of the operator's pods, which do not serve this webhook",
                readiness=Readiness.STUCK if is_settled else Readiness.WAITING,
            )
    return None


def refusal(message: str) -> str:
    """Return the error of a conversion webhook; empty for any other message."""
    found = _AWAY.search(message)
    return "" if found is None else found["rest"]


def hint(said: str) -> str:
    """Return a hint about a conversion webhook, based on the API server's error."""
    configured = "`spec.conversion.webhook.clientConfig` of the CustomResourceDefinition"
    fault = certificates.find_fault(said)
    if fault is not None:
        return certificates.webhook_advice(fault, f"`caBundle` in {configured}")
    if "not found" in said:
        return f"install the operator again, or correct the Service in {configured}"
    return ""
