"""Subresources of the API server double that take POST requests: evictions and tokens.

Source: the handlers of `pods/eviction` and `serviceaccounts/token` of kube-apiserver.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterable
from typing import Any

from olmkit.kube.api import Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.testing.apiserver import refusals
from olmkit.testing.apiserver.refusals import FieldCause, Refusal

_AUDIENCE = "https://kubernetes.default.svc.cluster.local"
_SHORTEST, _LONGEST = 600, 2**32
_TOKEN_REQUEST = Resource(
    gvk=GVK("authentication.k8s.io", "v1", "TokenRequest"), plural="tokenrequests"
)


def budget_of(pod: Manifest, budgets: Iterable[Manifest]) -> Manifest | None:
    """Return the PodDisruptionBudget of an eviction, with one fewer allowed disruption.

    Return None if the pod has none or is not running. Raises a `Refusal` if the budget is
    exhausted.
    """
    if (pod.get("status") or {}).get("phase") != "Running":
        return None
    labels = pod["metadata"].get("labels") or {}
    found = [
        one
        for one in budgets
        if one["metadata"].get("namespace") == pod["metadata"].get("namespace")
        and LabelSelector.parse((one.get("spec") or {}).get("selector") or {}).matches(labels)
    ]
    if not found:
        return None
    if len(found) > 1:
        raise Refusal(
            *(500, "InternalError"),
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
        )
    [budget] = found
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _disrupts(name, "still being processed by the server", retry_after=10)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed <= 0:
        healthy, needed = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        raise _disrupts(name, f"needs {needed} healthy pods and has {healthy} currently")
    return budget | {"status": status | {"disruptionsAllowed": allowed - 1}}


def _disrupts(name: str, why: str, *, retry_after: int | None = None) -> Refusal:
    cause = {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {name} {why}",
    }
    return Refusal(
        *(429, "TooManyRequests"),
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={"causes": [cause]},
        retry_after=retry_after,
    )


def token_of(account: Manifest, request: Manifest, now: datetime.datetime) -> Manifest:
    """Return the TokenRequest with a token, which has the claims of a real one and no signature."""
    spec: dict[str, Any] = dict(request.get("spec") or {})
    seconds = spec.get("expirationSeconds") or 3600
    metadata = account["metadata"]
    if not _SHORTEST <= seconds <= _LONGEST:
        words = (
            "may not specify a duration less than 10 minutes"
            if seconds < _SHORTEST
            else "may not specify a duration larger than 2^32 seconds"
        )
        cause = FieldCause(
            *("spec.expirationSeconds", "FieldValueInvalid"), f"Invalid value: {seconds}: {words}"
        )
        raise refusals.invalid(_TOKEN_REQUEST, "", [cause])
    spec |= {"audiences": spec.get("audiences") or [_AUDIENCE], "expirationSeconds": seconds}
    ends = now + datetime.timedelta(seconds=seconds)
    user = f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}"
    claims = {"aud": spec["audiences"], "exp": int(ends.timestamp()), "sub": user}
    token = ".".join(_coded(part) for part in ({"alg": "none"}, claims)) + "."
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata},
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": ends.strftime("%Y-%m-%dT%H:%M:%SZ")},
    }


def _coded(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
