"""Explain the requirements of a ClusterServiceVersion that the cluster does not meet.

An old version that OLM replaces is one of them: it must have succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest, sequence, text
from olmkit.olm import kinds, missing_apis
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation, forms
from olmkit.olm.explain.explanation import Diagnosis, Readiness


def find_unmet_requirements(snapshot: ClusterState, csv: Manifest) -> Iterator[Diagnosis]:
    """Yield each unmet requirement; missing APIs first, since permissions depend on them."""
    found = [one for one in sequence(kinds.status(csv).get("requirementStatus"))
             if isinstance(one, Mapping)]  # fmt: skip
    for one in sorted(found, key=lambda item: text(item.get("kind")) == "ServiceAccount"):
        status = text(one.get("status"))
        if status in ("Present", "DeploymentFound"):
            continue
        kind, name = text(one.get("kind")), text(one.get("name"))
        words = explanation.first_line(text(one.get("message")))
        if kind == "ServiceAccount":
            yield _explain_service_account(snapshot, csv, one, name, words)
        elif kind == "CustomResourceDefinition":
            yield _explain_missing_crd(snapshot, csv, one)
        elif kind == "ClusterServiceVersion":
            yield _explain_old_cluster(csv, words)
        elif status == "NotPresent" and text(one.get("version")):
            yield _explain_missing_native_api(csv, one)
        else:
            yield Diagnosis(
                cause="requirement-not-met",
                message=f"`{objects.name(csv)}` needs {kind} `{name}`: {words or status}",
            )


def _explain_missing_crd(
    snapshot: ClusterState, csv: Manifest, unmet: Mapping[str, Any]
) -> Diagnosis:
    """Explain a missing CRD, of the bundle or of another operator.

    A CRD that exists but does not satisfy the requirement is from an earlier version.
    """
    whose, name, status = objects.name(csv), text(unmet.get("name")), text(unmet.get("status"))
    words = explanation.first_line(text(unmet.get("message"))) or status
    exists = status == "PresentNotSatisfied"
    if status == "PresentNotAvailable":
        return Diagnosis(
            cause="missing-api",
            message=f"the API server does not yet serve the CustomResourceDefinition `{name}` that "
            f"`{whose}` needs",
            hint=f"wait; if it lasts, see the conditions of `kubectl describe crd {name}`: another "
            "CustomResourceDefinition may use one of its names",
            readiness=Readiness.WAITING,
        )
    if name not in kinds.owned_crds(csv):
        return Diagnosis(
            cause="missing-api",
            message=f"`{whose}` needs the CustomResourceDefinition `{name}`: {words}",
            hint="install the operator that provides it",
        )
    if any(whose in kinds.plan_csvs(plan) and not _is_done(plan) for plan in snapshot.plans):
        return Diagnosis(
            cause="missing-api",
            message=f"OLM has not yet {'updated' if exists else 'created'} the "
            f"CustomResourceDefinition `{name}` {'for' if exists else 'of'} `{whose}`",
            readiness=Readiness.WAITING,
        )
    return Diagnosis(
        cause="missing-api",
        message=f"the CustomResourceDefinition `{name}` is not yet that of `{whose}`: {words}"
        if exists
        else f"OLM does not find the CustomResourceDefinition `{name}`, which `{whose}` brings: "
        f"{words}",
        hint="wait, as OLM looks again; if it was deleted, uninstall the operator and install it "
        "again, since OLM creates CRDs only once",
    )


def _is_done(plan: Manifest) -> bool:
    return kinds.phase(plan) in ("Complete", "Failed")


def _explain_old_cluster(csv: Manifest, words: str) -> Diagnosis:
    name = objects.name(csv)
    versions = forms.TOO_OLD.search(words)
    return Diagnosis(
        cause="cluster-too-old",
        message=f"`{name}` needs Kubernetes {versions['least']}, and the cluster has "
        f"{versions['found']}"
        if versions
        else f"`{name}` does not fit this cluster: {words}",
        hint="upgrade the cluster, or uninstall the operator and install a version whose "
        "`minKubeVersion` is lower",
        readiness=Readiness.BLOCKED,
    )


def _explain_missing_native_api(csv: Manifest, one: Mapping[str, Any]) -> Diagnosis:
    """Return an entry of `nativeAPIs` that the cluster does not serve."""
    kind = text(one.get("kind"))
    gvk = GVK(text(one.get("group")), text(one.get("version")), kind)
    missing = missing_apis.explain(gvk)
    return Diagnosis(
        cause=missing.cause,
        message=f"`{objects.name(csv)}` needs `{kind}` of `{gvk.api_version}`, {missing.why}",
        hint=missing.hint,
        readiness=Readiness.BLOCKED if missing.is_final else Readiness.STUCK,
    )


def _explain_service_account(
    snapshot: ClusterState, csv: Manifest, one: Mapping[str, Any], name: str, words: str
) -> Diagnosis:
    replaced = text(kinds.spec(csv).get("replaces"))
    if "owned by another ClusterServiceVersion" in words:
        stopped = explain_old_version(snapshot, csv)
        if stopped is not None:
            return stopped
        is_replaced = bool(replaced) and snapshot.csv(replaced) is not None
        owner = f"`{replaced}`, which OLM replaces" if is_replaced else "another operator"
        return Diagnosis(
            cause="service-account",
            message=f"the service account `{name}` of `{objects.name(csv)}` belongs to {owner}",
            hint=""
            if is_replaced
            else "let the operators of the namespace use service accounts of different names, or "
            "install one of them in another namespace",
            readiness=Readiness.WAITING if is_replaced else Readiness.STUCK,
        )
    lacking = [
        explanation.first_line(text(rule.get("message")))
        for rule in sequence(one.get("dependents"))
        if isinstance(rule, Mapping) and rule.get("status") != "Satisfied"
    ]
    what = (
        f"lacks permissions: {lacking[0]}"
        if lacking
        else f"does not meet the requirements: {words}"
    )
    if text(one.get("status")) == "NotPresent":
        what = "does not exist"
    return Diagnosis(
        cause="service-account",
        message=f"the service account `{name}` of `{objects.name(csv)}` {what}",
        readiness=Readiness.WAITING if what == "does not exist" else Readiness.STUCK,
    )


def explain_old_version(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Explain that OLM waits for the version that this one replaces; None if it does not."""
    replaced = text(kinds.spec(csv).get("replaces"))
    old = snapshot.csv(replaced) if replaced else None
    if old is None or kinds.is_going(old) or kinds.phase(old) == "Succeeded":
        return None
    return Diagnosis(
        cause="old-version-failed",
        message=f"`{objects.name(csv)}` waits for `{replaced}`, which is {kinds.phase(old)} "
        "and must succeed before it can be replaced",
        hint="repair the installed version, or let the OperatorGroup's `upgradeStrategy` be "
        "`TechPreviewUnsafeFailForward`",
        links=(explanation.link(old, f"{kinds.phase(old)}, {kinds.reason(old)}"),),
    )
