"""Explain why a ClusterServiceVersion is not in the phase Succeeded.

Its phase and reason show where to look: its requirements, the OperatorGroup, another owner of its
CRDs, or its Deployments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds, webhook_fit
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import bundle_objects, conversions, explanation, forms, system
from olmkit.olm.explain.explanation import Diagnosis, FaultOrigin, Readiness
from olmkit.olm.explain.requirements import explain_old_version, find_unmet_requirements
from olmkit.olm.explain.workloads import pods, templates

_RENEWED_BEFORE = timedelta(days=1)  # OLM renews a certificate this long before it expires
_SETTLED = 30.0  # seconds until the endpoints of ready pods are known
_OPERATOR_GROUP = ("NoOperatorGroup", "TooManyOperatorGroups", "NoTargetNamespaces")


def explain_csv(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Return why the CSV is not Succeeded; None if it is."""
    phase, reason = kinds.phase(csv), kinds.reason(csv)
    if phase in ("Succeeded", "Replacing"):
        return None
    top = explanation.link(csv, f"{phase or 'new'}{f', {reason}' if reason else ''}")
    finding = conversions.explain_ending_crd(snapshot, csv) or _explain_reason(
        snapshot, csv, reason
    )
    finding = finding or _find_missing_deployment(csv) or _explain_rejected_webhook(csv)
    if finding is None and phase in ("Pending", "Failed"):
        finding = next(find_unmet_requirements(snapshot, csv), None)
    if finding is None and phase == "Pending":
        finding = explain_old_version(snapshot, csv)
    if finding is None:
        finding = _explain_install(snapshot, csv)
    if finding is None or finding.readiness is Readiness.WAITING:
        finding = _explain_reinstalls(csv) or finding
    if finding is None:
        finding = _explain_unrecorded(snapshot, csv)
    if finding is None:
        words = explanation.first_line(kinds.message(csv))
        finding = Diagnosis(
            cause="csv-failed" if phase == "Failed" else "csv-not-ready",
            message=f"`{objects.name(csv)}` is {phase or 'new'}: {words}"
            if words
            else f"`{objects.name(csv)}` is {phase or 'new'}",
            readiness=Readiness.STUCK if phase == "Failed" else Readiness.WAITING,
        )
    return finding.under(top)


def _explain_unrecorded(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Explain a CSV that waits for a Deployment which is available, in any phase."""
    waiting = forms.WAITING_FOR_DEPLOYMENT.search(kinds.message(csv))
    if waiting is None:
        return None
    if kinds.condition(snapshot.deployment(waiting["name"]), "Available") is None:
        return None
    return Diagnosis(
        cause="csv-not-ready",
        message=f"the Deployment `{waiting['name']}` of `{objects.name(csv)}` is available; OLM "
        "has not recorded it yet",
        readiness=Readiness.WAITING,
    )


def _explain_install(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Explain why its Deployments do not exist, or are not available.

    OLM repeatedly moves from `Failed` through `Pending` and `InstallReady` back to `Installing`:
    the cause is the same in all of these phases.
    """
    phase = kinds.phase(csv)
    finding = explain_deployments(snapshot, csv)
    refused = kinds.reason(csv) == "InstallComponentFailed"
    failure = kinds.message(csv) if phase == "Failed" and refused else _last_failure(csv)
    # A single failure may be over, and the pods show more; a second one of the same kind is the
    # cause.
    is_repeated = len(list(_failures(csv))) > 1
    if failure and (is_repeated or finding is None or finding.readiness is Readiness.WAITING):
        return _explain_failed_install(snapshot, csv, failure)
    if finding is None or phase in ("Failed", "Installing", "InstallReady"):
        return finding
    return None if finding.cause == "deployment-missing" or not phase else finding


def _explain_failed_install(snapshot: ClusterState, csv: Manifest, words: str) -> Diagnosis:
    """Return what OLM reports when it cannot create or change the Deployments."""
    subscription = next(
        (one for one in snapshot.subscriptions if _is_csv_of(one, objects.name(csv))), None
    )
    template = templates.TemplatePlace("the bundle's Deployment", objects.name(subscription))
    configured = tuple(mapping(kinds.spec(subscription).get("config")))
    said, hint = bundle_objects.explain_strategy_message(words, template, configured)
    return Diagnosis(
        cause="csv-failed",
        message=f"`{objects.name(csv)}` cannot be installed: {said}",
        hint=hint
        or "wait, as OLM keeps retrying; if the bundle is wrong, correct it, and "
        "publish it as a new version",
    )


def _is_csv_of(subscription: Manifest, csv: str) -> bool:
    found = kinds.status(subscription)
    return csv in (found.get("installedCSV"), found.get("currentCSV"))


def _last_failure(csv: Manifest) -> str:
    """Return OLM's error of the last install, which it reports briefly before a retry.

    The error is resolved if OLM wrote the Deployments afterwards.
    """
    if kinds.phase(csv) == "Installing":
        return ""
    return next(_failures(csv), "")


def _failures(csv: Manifest) -> Iterator[str]:
    """Return OLM's errors since it last wrote the Deployments, the newest first."""
    for one in reversed(list(kinds.conditions(csv))):
        phase, reason = one.get("phase"), one.get("reason")
        if phase == "Succeeded" or reason == "InstallSucceeded":
            return
        if phase == "Failed" and reason == "InstallComponentFailed":
            yield text(one.get("message"))


def _find_missing_deployment(csv: Manifest) -> Diagnosis | None:
    """Return a webhook or API of the CSV whose Deployment is not in the CSV.

    OLM does not report it: it installs the CSV repeatedly.
    """
    names = kinds.deployment_names(csv)
    services = sequence(mapping(kinds.spec(csv).get("apiservicedefinitions")).get("owned"))
    for what, one in (
        *(("webhook", one) for one in sequence(kinds.spec(csv).get("webhookdefinitions"))),
        *(("API", one) for one in services),
    ):
        found = mapping(one)
        deployment = text(found.get("deploymentName"))
        if not (names and deployment) or deployment in names:
            continue
        name = text(found.get("generateName")) or text(found.get("name"))
        listed = ", ".join(f"`{one}`" for one in names) or "none"
        return Diagnosis(
            cause="csv-invalid",
            message=f"the {what} `{name}` of `{objects.name(csv)}` names the Deployment "
            f"`{deployment}`, which the bundle does not have",
            hint=f"set `deploymentName` to a Deployment of the bundle ({listed}), and publish it "
            "as a new version",
            readiness=Readiness.BLOCKED,
        )
    return None


def _explain_rejected_webhook(csv: Manifest) -> Diagnosis | None:
    """Explain a conversion webhook that OLM rejects, which it reports briefly."""
    for one in webhook_fit.refusals(csv):
        return Diagnosis(
            cause="csv-invalid",
            message=one.message,
            hint=f"{one.hint}, and publish it as a new version",
            readiness=Readiness.BLOCKED,
        )
    return None


def _explain_reinstalls(csv: Manifest) -> Diagnosis | None:
    """Explain a CSV that OLM has installed repeatedly, at least three times."""
    found = [one for one in kinds.conditions(csv) if one.get("reason") == "NeedsReinstall"]
    if len(found) < 3 or any(one.get("phase") == "Succeeded" for one in kinds.conditions(csv)):
        return None
    name, namespace = objects.name(csv), objects.namespace(csv)
    return Diagnosis(
        cause="csv-not-ready",
        message=f"OLM keeps reinstalling `{name}`: "
        f"{explanation.first_line(text(found[-1].get('message')))}",
        hint="check whether something else changes its Deployments: `kubectl get deployments -n "
        f"{namespace} --show-managed-fields -o yaml`",
    )


def _explain_reason(snapshot: ClusterState, csv: Manifest, reason: str) -> Diagnosis | None:
    words = explanation.first_line(kinds.message(csv))
    name = objects.name(csv)
    match reason:
        case "UnsupportedOperatorGroup":
            return _explain_install_mode(snapshot, csv)
        case "InterOperatorGroupOwnerConflict":
            other = _find_other_provider(snapshot, csv)
            return Diagnosis(
                cause="api-owned-elsewhere",
                message="another operator that watches the same namespaces already provides "
                f"the APIs of `{name}`{f': {other}' if other else ''}",
                hint="uninstall it, or let their OperatorGroups watch different namespaces",
                readiness=Readiness.BLOCKED,
            )
        case "OwnerConflict":
            return Diagnosis(
                cause="crd-owned-elsewhere",
                message=f"an API of `{name}` belongs to another operator: {words}",
                hint="uninstall the other one, or use another namespace",
                readiness=Readiness.BLOCKED,
            )
        case "OperatorConditionNotUpgradeable":
            return Diagnosis(
                cause="upgrade-held-back",
                message=f"the installed operator does not allow its upgrade now: {words}",
                hint="wait until its OperatorCondition `Upgradeable` is true, or set an "
                "override in its spec",
                readiness=Readiness.BLOCKED,
            )
        case "CannotModifyStaticOperatorGroupProvidedAPIs":
            return Diagnosis(
                cause="operator-groups",
                message=f"the OperatorGroup of namespace `{snapshot.namespace}` allows only "
                f"the APIs that it lists, and `{name}` provides others",
                hint="add them to its annotation `olm.providedAPIs`, or remove "
                "`staticProvidedAPIs` from its spec",
                readiness=Readiness.BLOCKED,
            )
        case "InstallComponentFailedNoRetry" | "InvalidInstallModes" | "InvalidWebhookDescription":
            return Diagnosis(
                cause="csv-invalid",
                message=f"OLM gives up on `{name}`: {words}",
                hint="correct the bundle, and publish it as a new version",
                readiness=Readiness.BLOCKED,
            )
        case _:
            pass
    if reason in _OPERATOR_GROUP:
        return Diagnosis(
            cause="operator-groups",
            message=f"the OperatorGroup of namespace `{snapshot.namespace}` does not fit: {words}",
            readiness=Readiness.BLOCKED,
        )
    return None


def _find_other_provider(snapshot: ClusterState, csv: Manifest) -> str:
    """Return the operator of another namespace that has APIs of the CSV; empty if unknown."""
    own = set(kinds.owned_crds(csv))
    for other in snapshot.csvs:
        if kinds.is_copy(other) and own.intersection(kinds.owned_crds(other)):
            return f"`{objects.name(other)}` of namespace `{kinds.copy_source(other)}`"
    # OLM copies a CSV only to the namespaces that its operator watches.
    packages = {
        kinds.subscription_key(one).package
        for one in snapshot.subscriptions
        if _is_csv_of(one, objects.name(csv))
    }
    for one in snapshot.elsewhere:
        installed = text(kinds.status(one).get("installedCSV"))
        if installed and kinds.subscription_key(one).package in packages:
            return f"`{installed}` of namespace `{objects.namespace(one)}`"
    return ""


def _explain_install_mode(snapshot: ClusterState, csv: Manifest) -> Diagnosis:
    supported = kinds.supported_modes(csv)
    group = snapshot.groups[0] if snapshot.groups else {}
    targets = kinds.target_namespaces(group) if group else ()
    needed = kinds.required_modes(targets, snapshot.namespace)
    lacking = [mode for mode in needed if mode not in supported] or list(needed)
    listed = ", ".join(f"`{mode}`" for mode in supported) or "none"
    return Diagnosis(
        cause="install-mode-not-supported",
        message=f"`{objects.name(csv)}` does not support the install mode `{lacking[0]}` "
        f"that OperatorGroup `{objects.name(group)}` requires",
        hint=f"it supports {listed}: change the OperatorGroup, or install it elsewhere",
        links=(explanation.link(group, f"watches {_format_namespaces(targets)}"),) if group else (),
        readiness=Readiness.BLOCKED,
    )


def _format_namespaces(targets: tuple[str, ...]) -> str:
    if targets == ("",):
        return "all namespaces"
    return ", ".join(f"`{name}`" for name in targets) or "no namespace"


def explain_succeeded_csv(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Explain why an operator that OLM calls Succeeded does not run or respond; None if it does.

    OLM sets this phase once, and its later changes may restart the pods. It never checks what
    serves the webhooks. Objects that the user may not read are assumed to be healthy.
    """
    ending = conversions.explain_ending_crd(snapshot, csv)
    if ending is not None:  # without it, the operator often exits too
        return ending
    ailing = explain_deployments(snapshot, csv)
    if ailing is not None and ailing.cause != "deployment-missing":
        return ailing
    for service in kinds.webhook_services(csv):
        slices = list(snapshot.slices_of(service))
        if slices and not any(_has_ready_endpoint(one) for one in slices):
            names = ", ".join(f"`{name}`" for name in _webhook_names(csv, service))
            place = f"-n {snapshot.namespace}"
            return Diagnosis(
                cause="webhook-away",
                message=f"the Service `{service}` of the webhooks {names} has no ready pod",
                hint="compare the Service's selector with the labels of the pods: "
                f"`kubectl get service {place} {service} -o wide` and "
                f"`kubectl get pods {place} --show-labels`",
                links=(explanation.link(slices[0], "no endpoint is ready"),),
                readiness=Readiness.STUCK if _is_settled(snapshot, csv) else Readiness.WAITING,
            )
    is_settled = _is_settled(snapshot, csv)
    return _explain_expired_certificate(snapshot, csv) or conversions.explain_conversions(
        snapshot, csv, is_settled=is_settled
    )


def _explain_expired_certificate(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Explain certificates of webhooks and APIs that OLM should have renewed, and that expired."""
    hooks, apis = kinds.webhook_services(csv), kinds.api_services(csv)
    services = tuple(dict.fromkeys((*hooks, *apis.values())))
    now = explanation.moment(snapshot.moment)
    due = explanation.moment(kinds.status(csv).get("certsRotateAt"))
    if not services or now is None or due is None or now < due + _RENEWED_BEFORE:
        return None
    names = ", ".join(f"`{name}`" for one in hooks for name in _webhook_names(csv, one))
    listed = ", ".join(f"`{name}`" for name in apis)
    whose = [f"the webhooks {names}"] if names else []
    whose += [f"the APIs {listed}"] if listed else []
    stopped = system.explain_olm(snapshot)
    first = "check that OLM's `olm-operator` runs, and its log"
    return Diagnosis(
        cause="webhook-certificate-expired",
        message=f"the certificate of {' and of '.join(whose)} has expired: OLM has not renewed it "
        f"since {due:%Y-%m-%d}{f', because {stopped.message}' if stopped else ''}",
        hint=f"{stopped.hint if stopped else first}; after that, OLM renews a deleted "
        f"certificate: `kubectl delete secret -n {snapshot.namespace} "
        f"{' '.join(f'{one}-cert' for one in services)}`",
        origin=FaultOrigin.WORLD,
    )


def _webhook_names(csv: Manifest, service: str) -> Iterator[str]:
    """Yield the webhooks of a CSV that are served through a Service of OLM."""
    for one in sequence(kinds.spec(csv).get("webhookdefinitions")):
        deployment = text(mapping(one).get("deploymentName")).replace(".", "-")
        if f"{deployment}-service" == service:
            yield text(mapping(one).get("generateName"))


def _is_settled(snapshot: ClusterState, csv: Manifest) -> bool:
    """Return whether its Deployments have been available long enough to have endpoints."""
    now = explanation.moment(snapshot.moment)
    for name in kinds.deployment_names(csv):
        available = kinds.condition(snapshot.deployment(name), "Available")
        since = explanation.moment(mapping(available).get("lastTransitionTime"))
        if now is None or since is None or (now - since).total_seconds() < _SETTLED:
            return False
    return True


def _has_ready_endpoint(endpoints: Manifest) -> bool:
    """Return whether an EndpointSlice has a ready address."""
    return any(
        mapping(one.get("conditions")).get("ready") is not False
        for one in sequence(endpoints.get("endpoints"))
        if isinstance(one, Mapping)
    )


def explain_deployments(snapshot: ClusterState, csv: Manifest) -> Diagnosis | None:
    """Explain the first of the Deployments that is not available."""
    for name in kinds.deployment_names(csv):
        finding = pods.explain_deployment(snapshot, name)
        if finding is not None:
            return finding
    return None
