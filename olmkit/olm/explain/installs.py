"""Explain the state of an install, from the Subscription down.

A pure function over the state of the cluster. It follows the steps of OLM (OperatorGroup, catalog,
resolution, unpacking, InstallPlan, CSV, Deployment, pod) and ends at the step where OLM stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from olmkit.base.names import similar_package
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import (
    catalogs,
    csvs,
    explanation,
    groups,
    namespaces,
    plans,
    system,
    unpacking,
)
from olmkit.olm.explain.explanation import ChainLink, Diagnosis, Explanation, Readiness
from olmkit.olm.explain.workloads import refused_requests

# The conditions of a Subscription while what it has chosen is installed.
_INSTALLING = ("BundleUnpacking", "InstallPlanPending")


def explain(snapshot: ClusterState, package: str, *, target: str = "") -> Explanation:
    """Explain the state of the install of `package` in the namespace.

    `target` is the name of the expected CSV. Without it, or if OLM has already upgraded from there,
    the newest CSV that the Subscription has chosen is used.
    """
    found = _explain(snapshot, package, target)
    if found.readiness is Readiness.WAITING:
        # A slow step looks the same if OLM does not run.
        ailing = system.explain_olm(snapshot)
        found = found if ailing is None else ailing.below(*found.chain[:1])
    return replace(found, version=_installed_version(snapshot, package))


def _installed_version(snapshot: ClusterState, package: str) -> str:
    subscription = snapshot.subscription(package)
    if subscription is None:
        return ""
    name = snapshot.installed(subscription)
    csv = snapshot.csv(name) or snapshot.copy(name)
    return text(kinds.spec(csv).get("version"))


def _explain(snapshot: ClusterState, package: str, target: str) -> Explanation:
    subscription = snapshot.subscription(package)
    ending = namespaces.explain_namespace(next(iter(snapshot.namespaces), None))
    if ending is not None:  # anything else that is missing disappears with the namespace
        return ending.below()
    if subscription is None:
        return _explain_not_installed(snapshot, package)
    top = explanation.link(subscription, _state(subscription))
    counted = groups.explain_groups(snapshot)
    if counted is not None:
        return counted.below(top)
    status = kinds.status(subscription)
    current = text(status.get("currentCSV"))
    csv = snapshot.csv(target or current)
    if current and target not in ("", current) and kinds.is_going(csv):
        return _explain(snapshot, package, "")
    plan = snapshot.plan(kinds.plan_name(subscription))
    if csv is None and not target and kinds.phase(plan) == "RequiresApproval":
        csv = snapshot.csv(text(status.get("installedCSV")))
    trouble = plans.explain_plan(subscription, plan)
    if target and csv is not None and target not in kinds.plan_csvs(plan):
        trouble = None  # that plan installs the version after the expected one
    if (
        csv is not None
        and kinds.phase(csv) == "Succeeded"
        and _is_resolved(snapshot, csv, plan, trouble)
    ):
        return _explain_ready(snapshot, subscription, csv)
    links = [top] if plan is None else [top, explanation.link(plan, _plan_state(plan))]
    finding = groups.explain_service_account(snapshot) or trouble or _explain_csv(snapshot, csv)
    if finding is None:
        links = [top]
        finding = (
            unpacking.explain_unpacking(snapshot, subscription)
            or _explain_resolution(snapshot, subscription)
            or _explain_catalog(snapshot, subscription)
        )
    if finding is None and current and snapshot.csv(current) is None:
        finding = _explain_copied_csv(snapshot, current) or _explain_deleted_csv(
            subscription, plan, current
        )
    if finding is None:
        finding = Diagnosis(
            cause="waiting",
            message=f"OLM has not yet chosen a version of `{package}`"
            if not current
            else f"OLM is installing `{target or current}`",
            hint=explanation.UNSEEN if not kinds.status(subscription) else "",
            readiness=Readiness.WAITING,
        )
    return finding.below(*links)


def _is_resolved(
    snapshot: ClusterState, csv: Manifest, plan: Manifest | None, trouble: Diagnosis | None
) -> bool:
    """Return whether an error of a plan is irrelevant because its CSV has succeeded.

    A plan may fail at a CRD while the CSV succeeds next to the old one. A webhook of the CSV itself
    that once responded too late is no longer a problem; another one that converts its objects still
    is. A plan for several operators may fail at an object of another operator.
    """
    if trouble is None or trouble.cause == "needs-approval":
        return True
    if len(kinds.plan_csvs(plan)) > 1 and not _is_about(plan, csv):
        return True
    if trouble.cause != "conversion-webhook-away":
        return False
    return any(
        f"//{service}.{snapshot.namespace}.svc" in trouble.message
        for service in kinds.webhook_services(csv)
    )


def _is_about(plan: Manifest | None, csv: Manifest) -> bool:
    """Return whether the failure of a plan names a CSV, or a CRD that the CSV owns."""
    failed = kinds.condition(plan, "Installed", value="False") if plan is not None else None
    words = kinds.message(plan) + text((failed or {}).get("message"))
    return any(name in words for name in (objects.name(csv), *kinds.owned_crds(csv)))


def _similar(snapshot: ClusterState, package: str) -> str:
    """Return the name of a requested package that is similar, and its namespace."""
    requested = [*snapshot.subscriptions, *snapshot.elsewhere]
    by_name = {
        name: objects.namespace(one)
        for one in reversed(requested)
        for name in (kinds.subscription_key(one).package, objects.name(one))
    }
    near = similar_package(package, by_name) or next(
        (one for one in by_name if one.startswith(f"{package}-")), ""
    )
    if not near:
        return ""
    place = by_name[near]
    return f"`{near}`" + ("" if place == snapshot.namespace else f" in namespace `{place}`")


def _explain_not_installed(snapshot: ClusterState, package: str) -> Explanation:
    places = [
        objects.namespace(one)
        for one in snapshot.elsewhere
        if kinds.subscription_key(one).package == package
    ]
    listed = ", ".join(f"`{place}`" for place in places)
    named = next((one for one in snapshot.catalogs if objects.name(one) == package), None)
    if named is not None and not places:
        return _explain_catalog_name(snapshot, named)
    near = _similar(snapshot, package) if not places else ""
    csv = next((one for one in snapshot.own_csvs() if kinds.package(one) == package), None)
    hint = f"it is in namespace {listed}: choose it with `-n`" if listed else ""
    if not hint and csv is not None:
        hint = (
            f"the ClusterServiceVersion `{objects.name(csv)}` exists without a Subscription: "
            "delete it before you install again"
        )
    if not hint and near:
        hint = f"did you mean {near}?"
    return Explanation(
        readiness=Readiness.BLOCKED,
        cause="not-installed",
        message=f"nothing requests `{package}` in namespace `{snapshot.namespace}`",
        hint=hint or f"install it: `olmkit install {package} -n {snapshot.namespace}`",
        chain=() if csv is None else (explanation.link(csv, kinds.phase(csv)),),
    )


def _explain_catalog_name(snapshot: ClusterState, catalog: Manifest) -> Explanation:
    """Explain that the name is that of a catalog, and the state of the catalog."""
    name, place = objects.name(catalog), objects.namespace(catalog)
    ailing = catalogs.explain_catalog(snapshot, catalog)
    state = ailing.message if ailing is not None else "OLM can read it"
    return Explanation(
        readiness=Readiness.BLOCKED,
        cause="not-installed",
        message=f"`{name}` is a CatalogSource in namespace `{place}`, and nothing requests a "
        f"package of this name in namespace `{snapshot.namespace}`; {state}",
        hint=(ailing.hint if ailing is not None else "")
        or f"run `olmkit catalog list packages catalogsource:{place}/{name}` to see its packages, "
        "and `olmkit status` to see which operators are installed",
        chain=ailing.links
        if ailing is not None
        else (explanation.link(catalog, kinds.connection_state(catalog) or "new"),),
    )


def _explain_ready(snapshot: ClusterState, subscription: Manifest, csv: Manifest) -> Explanation:
    name = objects.name(csv)
    past = [] if _find_stop(snapshot, subscription) else ["ResolutionFailed"]
    past += _INSTALLING if text(kinds.status(subscription).get("currentCSV")) == name else ()
    top = explanation.link(subscription, _state(subscription, past))
    ailing = csvs.explain_succeeded_csv(snapshot, csv)
    if ailing is not None:
        return ailing.below(top, explanation.link(csv, kinds.phase(csv)))
    plan = snapshot.plan(kinds.plan_name(subscription))
    chain = (top, explanation.link(csv, kinds.phase(csv)))
    words = f"`{name}` is installed and healthy"
    waiting = [
        other
        for other in snapshot.plans
        if kinds.phase(other) == "RequiresApproval"
        and name not in kinds.plan_csvs(other)
        and _is_for(other, subscription)
    ]
    package = kinds.subscription_key(subscription).package
    own = kinds.phase(plan) == "RequiresApproval" and _is_for(plan, subscription)
    if waiting or own:
        other = waiting[-1] if waiting else plan
        names = ", ".join(kinds.plan_csvs(other))
        return Explanation(
            readiness=Readiness.READY,
            cause="upgrade-needs-approval",
            message=f"{words}; an upgrade to {names} waits for approval",
            hint=f"`olmkit upgrade {package} -n {snapshot.namespace}` approves it",
            chain=chain,
        )
    return _healthy(snapshot, subscription, csv, chain)


def _healthy(
    snapshot: ClusterState, subscription: Manifest, csv: Manifest, chain: tuple[ChainLink, ...]
) -> Explanation:
    """Return the state of a working operator, with problems that Kubernetes does not count."""
    words = f"`{objects.name(csv)}` is installed and healthy"
    stopped = _find_stop(snapshot, subscription)
    if stopped is not None:
        return Explanation(
            readiness=Readiness.READY,
            cause="upgrades-stopped",
            message=f"{words}, but OLM chooses no upgrade: {stopped.message}",
            hint=stopped.hint,
            chain=chain,
            details=stopped.details,
        )
    absent = groups.find_absent_targets(snapshot)
    if absent is not None:
        nothing = "it watches nothing: " if absent.is_all else ""
        return Explanation(
            readiness=Readiness.READY,
            cause="target-namespace-missing",
            message=f"{words}, but {nothing}{absent.message}",
            hint=absent.hint,
            chain=chain,
        )
    refused = refused_requests.facts(snapshot, kinds.deployment_names(csv))
    return Explanation(
        readiness=Readiness.READY,
        cause="healthy",
        message=words + (refused_requests.SUFFIX if refused else ""),
        hint=kinds.deprecation(subscription) or (refused_requests.HINT if refused else ""),
        chain=chain,
        details=refused,
    )


def _is_for(plan: Manifest | None, subscription: Manifest) -> bool:
    """Return whether an InstallPlan installs what a Subscription requests."""
    package = kinds.subscription_key(subscription).package
    current = text(kinds.status(subscription).get("currentCSV"))
    return any(
        name == current or kinds.package_named_in(name) == package for name in kinds.plan_csvs(plan)
    )


def _explain_csv(snapshot: ClusterState, csv: Manifest | None) -> Diagnosis | None:
    return None if csv is None else csvs.explain_csv(snapshot, csv)


def _find_stop(snapshot: ClusterState, subscription: Manifest) -> Diagnosis | None:
    """Return why OLM chooses no upgrade; None if the last failure is from during an upgrade."""
    found = _explain_resolution(snapshot, subscription)
    return None if found is None or found.readiness is Readiness.WAITING else found


def _explain_resolution(snapshot: ClusterState, subscription: Manifest) -> Diagnosis | None:
    failed = kinds.condition(subscription, "ResolutionFailed")
    if failed is None:
        return None
    if any(kinds.is_going(csv) for csv in snapshot.own_csvs()):
        return None  # every healthy upgrade passes through this
    return catalogs.explain_resolution(snapshot, subscription, text(failed.get("message")))


def _explain_catalog(snapshot: ClusterState, subscription: Manifest) -> Diagnosis | None:
    key = kinds.subscription_key(subscription)
    catalog = snapshot.catalog(key.catalog, key.catalog_namespace)
    if catalog is None and not snapshot.lists_catalogs(key.catalog_namespace):
        return Diagnosis(
            cause="waiting",
            message="OLM has not yet chosen a version; whether its CatalogSource "
            f"`{key.catalog}` in namespace `{key.catalog_namespace}` exists and is ready is not "
            "known, because you may not list CatalogSources there",
            hint=catalogs.list_permission_hint(key.catalog_namespace),
            readiness=Readiness.WAITING,
        )
    if catalog is None:
        return Diagnosis(
            cause="no-such-catalog",
            message=f"there is no CatalogSource `{key.catalog}` in namespace "
            f"`{key.catalog_namespace}`",
            hint="create it, or correct the Subscription",
            readiness=Readiness.BLOCKED,
        )
    return catalogs.explain_catalog(snapshot, catalog)


def _explain_copied_csv(snapshot: ClusterState, current: str) -> Diagnosis | None:
    """Explain a copied CSV with the same name: OLM then creates no CSV and does not report it."""
    copy = snapshot.copy(current)
    if copy is None:
        return None
    place = kinds.copy_source(copy)
    return Diagnosis(
        cause="api-owned-elsewhere",
        message=f"`{current}` is installed in namespace `{place}`, and watches this one from there",
        hint="uninstall it there, or here; or let its OperatorGroup watch other namespaces",
        links=(explanation.link(copy, f"a copy of the one in {place}"),),
        readiness=Readiness.BLOCKED,
    )


def _explain_deleted_csv(
    subscription: Manifest, plan: Manifest | None, current: str
) -> Diagnosis | None:
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
        hint=f"run `olmkit uninstall {kinds.subscription_key(subscription).package} -n "
        f"{objects.namespace(subscription)}`, which keeps the CRDs and their objects, and install "
        "the operator again",
        readiness=Readiness.BLOCKED,
    )


def _state(subscription: Manifest, past: Sequence[str] = ()) -> str:
    """Return the state of a Subscription.

    `past`: conditions that no longer apply, and that OLM removes some time later.
    """
    status = kinds.status(subscription)
    parts = [text(status.get("state")) or "no state yet"]
    installed, current = text(status.get("installedCSV")), text(status.get("currentCSV"))
    if installed:
        parts.append(f"installed {installed}")
    if current and current != installed:
        parts.append(f"next {current}")
    hidden = ("CatalogSourcesUnhealthy", *past)
    parts += [
        text(one.get("type"))
        for one in kinds.conditions(subscription)
        if one.get("status") == "True" and one.get("type") not in hidden
    ]
    return ", ".join(parts)


def _plan_state(plan: Manifest) -> str:
    return kinds.phase(plan) or "new"
