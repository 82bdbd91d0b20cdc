"""Explain why an InstallPlan is not complete: it waits for approval, or a step fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest, mapping, sequence, text
from olmkit.olm import kinds, missing_apis
from olmkit.olm.explain import bundle_objects, conversions, explanation, forms
from olmkit.olm.explain.explanation import Diagnosis, Readiness


def explain_plan(subscription: Manifest, plan: Manifest | None) -> Diagnosis | None:
    """Explain why the plan of the Subscription is not complete; None if it is, or progresses."""
    if plan is None:
        return None
    phase = kinds.phase(plan)
    names = ", ".join(kinds.plan_csvs(plan))
    if phase == "RequiresApproval":
        package = kinds.subscription_key(subscription).package
        return Diagnosis(
            cause="needs-approval",
            message=f"the InstallPlan `{objects.name(plan)}` for {names} waits for approval",
            hint=f"`olmkit upgrade {package} -n {objects.namespace(plan)}` approves it",
            readiness=Readiness.BLOCKED,
        )
    failed = kinds.condition(plan, "Installed", value="False")
    words = text(failed.get("message")) if failed is not None else ""
    retried = kinds.message(plan)
    unchecked = mapping(failed).get("reason") == "InstallCheckFailed" and phase != "Complete"
    if phase == "Failed" or unchecked or (phase == "Installing" and "error" in retried):
        readiness = Readiness.BLOCKED if phase == "Failed" else Readiness.STUCK
        found = _explain_failed_plan(plan, words or retried, readiness)
        return found if phase != "Failed" else _add_retry(found, subscription, plan)
    return None


def _add_retry(found: Diagnosis, subscription: Manifest, plan: Manifest) -> Diagnosis:
    """Add what makes OLM try again: it never executes a failed InstallPlan again."""
    if found.hint == _LATE:
        return found
    package = kinds.subscription_key(subscription).package
    command = f"`olmkit upgrade {package} -n {objects.namespace(plan)} --retry`"
    first = f"{found.hint}; then " if found.hint else "when the cause is fixed, "
    return replace(found, hint=f"{first}{command}, since OLM does not retry a failed InstallPlan")


def _explain_failed_plan(plan: Manifest, message: str, readiness: Readiness) -> Diagnosis:
    reason = explanation.first_line(message.removeprefix(forms.RETRYING))
    name = objects.name(plan)
    forbidden = forms.FORBIDDEN.search(message)
    if forbidden is not None:
        account = forbidden["account"].replace(":", "/")
        return Diagnosis(
            cause="service-account-forbidden",
            message=f"the OperatorGroup's service account `{account}` may not "
            f"{explanation.first_line(forbidden['rest'])}",
            hint="bind a role to it that allows what the operator contains, ClusterServiceVersions "
            "and Subscriptions too; or let the OperatorGroup name no service account",
        )
    away = conversions.refusal(message)
    if away:
        return Diagnosis(
            cause="conversion-webhook-away",
            message="OLM cannot read the existing objects, because the operator does not "
            f"convert them: {explanation.first_line(away)}",
            hint=conversions.hint(away) or _LATE,
            readiness=Readiness.STUCK,
        )
    for phrase, refused in forms.REFUSED_CRDS.items():
        if phrase in message:
            return Diagnosis(
                cause=refused.cause,
                message=_find_rejected_object(message) or f"{refused.message}: {reason}",
                hint=refused.hint,
                readiness=readiness,
            )
    if any(phrase in message for phrase in forms.NOT_FOUND):
        return _explain_missing_api(message, reason, readiness)
    unsupported = [
        mapping(step.get("resource"))
        for step in sequence(kinds.status(plan).get("plan"))
        if isinstance(step, dict) and step.get("status") == "UnsupportedResource"
    ]
    if unsupported:
        return _explain_unsupported_kind(unsupported[0], readiness)
    if forms.API_SERVER_LATE in message:
        return Diagnosis(
            cause="install-plan-failed",
            message=f"the API server did not finish a request of OLM in time: {reason}",
            hint="check the load of the API server and of etcd"
            if readiness is Readiness.BLOCKED
            else "wait, as OLM tries again; if it lasts, check the load of the API server and of "
            "etcd",
            readiness=readiness,
        )
    return bundle_objects.explain_plan_message(
        message, objects.namespace(plan), readiness
    ) or Diagnosis(
        cause="install-plan-failed",
        message=f"the InstallPlan `{name}` fails: {reason}",
        readiness=readiness,
    )


def _find_rejected_object(message: str) -> str:
    """Return the object that a new CRD rejects, and why; OLM puts long phrases before that."""
    found = forms.REJECTED_OBJECT.search(message)
    if found is None:
        return ""
    return (
        f"the new CustomResourceDefinition `{found['crd']}` would refuse existing objects: "
        f"{found['kind']} {found['object']}: {explanation.first_line(found['why'])}"
    )


def _explain_missing_api(message: str, said: str, readiness: Readiness) -> Diagnosis:
    """Explain an object of the bundle whose kind the cluster does not serve."""
    found = forms.UNKNOWN_KIND.search(message)
    if found is None:
        return Diagnosis(
            cause="missing-api",
            message=f"the cluster does not have an API that the bundle needs: {said}",
            hint="install what provides that API first",
            readiness=readiness,
        )
    missing = missing_apis.explain(GVK.parse(found["version"], found["kind"]))
    return Diagnosis(
        cause=missing.cause,
        message=f"the bundle contains the {found['kind']} `{found['name']}` of "
        f"`{found['version']}`, {missing.why}",
        hint=missing.hint,
        readiness=Readiness.BLOCKED if missing.is_final else readiness,
    )


def _explain_unsupported_kind(resource: Mapping[str, Any], readiness: Readiness) -> Diagnosis:
    group, version = text(resource.get("group")), text(resource.get("version"))
    kind, name = text(resource.get("kind")), text(resource.get("name"))
    api_version = f"{group}/{version}" if group else version
    missing = missing_apis.explain(GVK.parse(api_version, kind))
    return Diagnosis(
        cause="kind-not-supported",
        message=f"OLM does not install objects of kind `{kind}`, such as `{name}` of the bundle"
        + (f"; it is of `{api_version}`, {missing.why}" if missing.is_final else ""),
        hint="remove it from the bundle; `olmkit bundle validate` reports such kinds",
        readiness=readiness,
    )


# A webhook that responds late: the CSV exists, and converts the objects when its pod is ready.
_LATE = "wait for the operator's pod; the failure of the InstallPlan does no harm in the meantime"
