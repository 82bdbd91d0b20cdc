"""Why an operator does not get installed, or that it is: from the Subscription down.

A pure function over what is in the cluster. It follows the way that OLM goes
(OperatorGroup, catalog, resolution, unpacking, InstallPlan, CSV, Deployment, pod) and
stops where the way stops.
"""

from __future__ import annotations

import re
from dataclasses import replace

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import bundle_objects, catalogs, csvs, explanation, unpacking
from olmkit.olm.explain.explanation import Diagnosis, Explanation, Link, Standing


def explain(snapshot: ClusterState, package: str, *, target: str = "") -> Explanation:
    """How the install of `package` is in the namespace, and why.

    `target` is the name of the CSV that must be there; without it, and when OLM has gone on
    from there, the newest that the Subscription has chosen.
    """
    subscription = snapshot.subscription(package)
    if subscription is None:
        return _not_installed(snapshot, package)
    top = explanation.link(subscription, _state(subscription))
    counted = _operator_groups(snapshot)
    if counted is not None:
        return counted.below(top)
    status = kinds.status(subscription)
    current = text(status.get("currentCSV"))
    csv = snapshot.csv(target or current)
    if current and target not in ("", current) and kinds.is_going(csv):
        return explain(snapshot, package)
    plan = snapshot.plan(kinds.plan_name(subscription))
    if csv is None and not target and kinds.phase(plan) == "RequiresApproval":
        csv = snapshot.csv(text(status.get("installedCSV")))
    trouble = _plan_finding(subscription, plan)
    # A plan may fail at a CRD, and the CSV succeed next to the old one. But a webhook that was
    # late once is not a problem any more: the CRD that names it is there, and so is the operator.
    harmless = ("needs-approval", "conversion-webhook-away")
    goes_on = trouble is None or trouble.cause in harmless
    if csv is not None and kinds.phase(csv) == "Succeeded" and goes_on:
        return _ready(snapshot, subscription, csv, top)
    links = [top] if plan is None else [top, explanation.link(plan, _plan_state(plan))]
    finding = _account(snapshot) or trouble or _csv_finding(snapshot, csv)
    if finding is None:
        links = [top]
        finding = (
            unpacking.of_subscription(snapshot, subscription)
            or _resolution_finding(snapshot, subscription)
            or _catalog_finding(snapshot, subscription)
        )
    if finding is None and current and snapshot.csv(current) is None:
        finding = _copied(snapshot, current) or _vanished(subscription, plan, current)
    if finding is None:
        finding = Diagnosis(
            cause="waiting",
            message=f"OLM has not yet chosen a version of `{package}`"
            if not current
            else f"OLM is installing `{target or current}`",
            standing=Standing.WAITING,
        )
    return finding.below(*links)


def _not_installed(snapshot: ClusterState, package: str) -> Explanation:
    places = [
        objects.namespace(one)
        for one in snapshot.elsewhere
        if kinds.subscription_key(one).package == package
    ]
    listed = ", ".join(f"`{place}`" for place in places)
    csv = next((one for one in snapshot.own_csvs() if kinds.package(one) == package), None)
    hint = f"it is in namespace {listed}: choose it with `-n`" if listed else ""
    if not hint and csv is not None:
        hint = (
            f"the ClusterServiceVersion `{objects.name(csv)}` exists without a Subscription: "
            "delete it before you install again"
        )
    return Explanation(
        standing=Standing.BLOCKED,
        cause="not-installed",
        message=f"nothing requests `{package}` in namespace `{snapshot.namespace}`",
        hint=hint or f"install it: `olmkit install {package} -n {snapshot.namespace}`",
        chain=() if csv is None else (explanation.link(csv, kinds.phase(csv)),),
    )


def _operator_groups(snapshot: ClusterState) -> Diagnosis | None:
    """OLM says nothing at all when there is not exactly one."""
    count = len(snapshot.groups)
    if count == 1:
        return None
    if count == 0:
        return Diagnosis(
            cause="no-operator-group",
            message=f"namespace `{snapshot.namespace}` has no OperatorGroup, "
            "so OLM installs nothing in it",
            hint="create one that names the namespaces to watch; `olmkit install` does",
            standing=Standing.BLOCKED,
        )
    names = ", ".join(f"`{objects.name(group)}`" for group in snapshot.groups)
    return Diagnosis(
        cause="several-operator-groups",
        message=f"namespace `{snapshot.namespace}` has {count} OperatorGroups, "
        f"so OLM installs nothing in it: {names}",
        hint="delete all but one",
        links=tuple(
            explanation.link(group, f"watches {', '.join(kinds.target_namespaces(group)) or 'all'}")
            for group in snapshot.groups
        ),
        standing=Standing.BLOCKED,
    )


def _account(snapshot: ClusterState) -> Diagnosis | None:
    """The account that OLM is to install with, when it is not there: it waits and says no more."""
    group = snapshot.groups[0]
    if kinds.condition(group, "OperatorGroupServiceAccount") is None:
        return None
    account = text(kinds.spec(group).get("serviceAccountName"))
    return Diagnosis(
        cause="service-account",
        message=f"OLM does not find the service account `{account}` that OperatorGroup "
        f"`{objects.name(group)}` names",
        hint="create it, with the permissions to install, or let the OperatorGroup name none",
        links=(explanation.link(group, f"service account {account}: not found"),),
    )


def _ready(snapshot: ClusterState, subscription: Manifest, csv: Manifest, top: Link) -> Explanation:
    name = objects.name(csv)
    ailing = csvs.of_succeeded(snapshot, csv)
    if ailing is not None:
        return ailing.below(top, explanation.link(csv, kinds.phase(csv)))
    plan = snapshot.plan(kinds.plan_name(subscription))
    chain = (top, explanation.link(csv, kinds.phase(csv)))
    words = f"`{name}` is installed and healthy"
    waiting = [
        other
        for other in snapshot.plans
        if kinds.phase(other) == "RequiresApproval" and name not in kinds.plan_csvs(other)
    ]
    if waiting or (plan is not None and kinds.phase(plan) == "RequiresApproval"):
        other = waiting[-1] if waiting else plan
        names = ", ".join(kinds.plan_csvs(other))
        package = kinds.subscription_key(subscription).package
        return Explanation(
            standing=Standing.READY,
            cause="upgrade-needs-approval",
            message=f"{words}; an upgrade to {names} waits for approval",
            hint=f"`olmkit upgrade {package} -n {snapshot.namespace}` approves it",
            chain=chain,
        )
    return Explanation(
        standing=Standing.READY,
        cause="healthy",
        message=words,
        hint=kinds.deprecation(subscription),
        chain=chain,
    )


def _plan_finding(subscription: Manifest, plan: Manifest | None) -> Diagnosis | None:
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
            standing=Standing.BLOCKED,
        )
    failed = kinds.condition(plan, "Installed", value="False")
    words = text(failed.get("message")) if failed is not None else ""
    retried = kinds.message(plan)
    unchecked = mapping(failed).get("reason") == "InstallCheckFailed" and phase != "Complete"
    if phase == "Failed" or unchecked or (phase == "Installing" and "error" in retried):
        standing = Standing.BLOCKED if phase == "Failed" else Standing.STUCK
        found = _plan_failure(plan, words or retried, standing)
        return found if phase != "Failed" else _with_retry(found, subscription, plan)
    return None


def _with_retry(found: Diagnosis, subscription: Manifest, plan: Manifest) -> Diagnosis:
    """OLM executes a failed InstallPlan never again: the hint says what makes it try again."""
    if found.cause == "conversion-webhook-away":
        return found
    package = kinds.subscription_key(subscription).package
    command = f"`olmkit upgrade {package} -n {objects.namespace(plan)} --retry`"
    first = f"{found.hint}; then " if found.hint else "when the cause is fixed, "
    return replace(found, hint=f"{first}{command}, since OLM does not retry a failed InstallPlan")


def _plan_failure(plan: Manifest, words: str, standing: Standing) -> Diagnosis:
    said = explanation.first_line(words.removeprefix("retrying execution due to error: "))
    name = objects.name(plan)
    forbidden = re.search(
        r'User "system:serviceaccount:(?P<account>[^"]+)" cannot (?P<rest>.*)', words
    )
    if forbidden is not None:
        account = forbidden["account"].replace(":", "/")
        return Diagnosis(
            cause="service-account-forbidden",
            message=f"the OperatorGroup's service account `{account}` may not "
            f"{explanation.first_line(forbidden['rest'])}",
            hint="bind a role to it that allows what the operator contains, ClusterServiceVersions "
            "and Subscriptions too; or let the OperatorGroup name no service account",
        )
    away = re.search(r"conversion webhook for .*? failed: (?P<rest>.*)", words, re.DOTALL)
    if away is not None:
        return Diagnosis(
            cause="conversion-webhook-away",
            message="OLM cannot read the existing objects, because the operator does not "
            f"convert them: {explanation.first_line(away['rest'])}",
            hint=_conversion_hint(away["rest"]),
            standing=Standing.STUCK,
        )
    if "error validating existing CRs" in words:
        return Diagnosis(
            cause="crd-rejects-objects",
            message=f"the new CustomResourceDefinition would refuse existing objects: {said}",
            hint="correct or delete those objects, or publish a schema that accepts them",
            standing=standing,
        )
    if "risk of data loss" in words:
        return Diagnosis(
            cause="crd-loses-version",
            message=f"a version in which objects are stored would disappear: {said}",
            hint="keep that version in the CustomResourceDefinition, or migrate the objects and "
            "its `status.storedVersions` first",
            standing=standing,
        )
    if "pre-existing CRD owners" in words:
        return Diagnosis(
            cause="crd-owned-elsewhere",
            message=f"a CustomResourceDefinition belongs to another operator: {said}",
            hint="uninstall the other one first",
            standing=standing,
        )
    if "not found on the cluster" in words or "resource not found installing" in words:
        return Diagnosis(
            cause="missing-api",
            message=f"the cluster does not have an API that the bundle needs: {said}",
            hint="install what provides that API first",
            standing=standing,
        )
    unsupported = [
        text(mapping(step.get("resource")).get("kind"))
        for step in sequence(kinds.status(plan).get("plan"))
        if isinstance(step, dict) and step.get("status") == "UnsupportedResource"
    ]
    if unsupported:
        return Diagnosis(
            cause="kind-not-supported",
            message=f"OLM does not install objects of kind `{unsupported[0]}`",
            hint="remove it from the bundle; `olmkit bundle validate` reports such kinds",
            standing=standing,
        )
    return bundle_objects.of_plan(words, objects.namespace(plan), standing) or Diagnosis(
        cause="install-plan-failed",
        message=f"the InstallPlan `{name}` fails: {said}",
        standing=standing,
    )


def _conversion_hint(words: str) -> str:
    """What to do about a conversion webhook, by what the API server got from it."""
    configured = "`spec.conversion.webhook.clientConfig` of the CustomResourceDefinition"
    if "x509" in words or "certificate" in words:
        return f"renew `caBundle` in {configured}, or the certificate of the webhook's server"
    if "not found" in words:
        return f"install the operator again, or correct the Service in {configured}"
    return (
        "wait for the operator's pod; the failure of the InstallPlan does no harm in the meantime"
    )


def _csv_finding(snapshot: ClusterState, csv: Manifest | None) -> Diagnosis | None:
    return None if csv is None else csvs.of_csv(snapshot, csv)


def _resolution_finding(snapshot: ClusterState, subscription: Manifest) -> Diagnosis | None:
    failed = kinds.condition(subscription, "ResolutionFailed")
    if failed is None:
        return None
    if any(kinds.is_going(csv) for csv in snapshot.own_csvs()):
        return None  # every healthy upgrade passes through this
    return catalogs.of_resolution(snapshot, subscription, text(failed.get("message")))


def _catalog_finding(snapshot: ClusterState, subscription: Manifest) -> Diagnosis | None:
    key = kinds.subscription_key(subscription)
    catalog = snapshot.catalog(key.catalog, key.catalog_namespace)
    if catalog is None:
        return Diagnosis(
            cause="no-such-catalog",
            message=f"there is no CatalogSource `{key.catalog}` in namespace "
            f"`{key.catalog_namespace}`",
            hint="create it, or correct the Subscription",
            standing=Standing.BLOCKED,
        )
    return catalogs.of_catalog(snapshot, catalog)


def _copied(snapshot: ClusterState, current: str) -> Diagnosis | None:
    """OLM makes no CSV where the copy of another has its name, and says nothing."""
    copy = snapshot.copy(current)
    if copy is None:
        return None
    place = kinds.copied_from(copy)
    return Diagnosis(
        cause="api-owned-elsewhere",
        message=f"`{current}` is installed in namespace `{place}`, and watches this one from there",
        hint="uninstall it there, or here; or let its OperatorGroup watch other namespaces",
        links=(explanation.link(copy, f"a copy of the one in {place}"),),
        standing=Standing.BLOCKED,
    )


def _vanished(subscription: Manifest, plan: Manifest | None, current: str) -> Diagnosis | None:
    installed = text(kinds.status(subscription).get("installedCSV"))
    if plan is None:
        lost = kinds.condition(subscription, "InstallPlanMissing") is not None
        is_done = lost and installed == current
    else:
        is_done = kinds.phase(plan) == "Complete" and bool(installed)
    if not is_done:
        return None
    return Diagnosis(
        cause="csv-deleted",
        message=f"the ClusterServiceVersion `{current}` was deleted, and OLM does not recreate it",
        hint="delete the Subscription and install again",
        standing=Standing.BLOCKED,
    )


def _state(subscription: Manifest) -> str:
    status = kinds.status(subscription)
    parts = [text(status.get("state")) or "no state yet"]
    installed, current = text(status.get("installedCSV")), text(status.get("currentCSV"))
    if installed:
        parts.append(f"installed {installed}")
    if current and current != installed:
        parts.append(f"next {current}")
    parts += [
        text(one.get("type"))
        for one in kinds.conditions(subscription)
        if one.get("status") == "True" and one.get("type") != "CatalogSourcesUnhealthy"
    ]
    return ", ".join(parts)


def _plan_state(plan: Manifest) -> str:
    return kinds.phase(plan) or "new"
