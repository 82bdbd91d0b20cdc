"""Explain conversion webhooks that do not respond: the affected objects and a hint."""

from __future__ import annotations

import re

from olmkit.kube.objects import Manifest
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Readiness

_AWAY = re.compile(r"conversion webhook for .*? failed: (?P<rest>.*)", re.DOTALL)


def of_succeeded(snapshot: ClusterState, csv: Manifest, *, is_settled: bool) -> Diagnosis | None:
    """Return why the objects of a CSV's kinds cannot be read, although OLM calls it Succeeded."""
    for name in kinds.owned_crds(csv):
        message = snapshot.unconverted.get(name, "")
        if message:
            said = refusal(message) or message
            return Diagnosis(
                cause="conversion-webhook-away",
                message=f"the objects of `{name}` cannot be read, because nothing converts them: "
                f"{explanation.first_line(said)}",
                hint=hint(said)
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
    if "x509" in said or "certificate" in said:
        return f"renew `caBundle` in {configured}, or the certificate of the webhook's server"
    if "not found" in said:
        return f"install the operator again, or correct the Service in {configured}"
    return ""
