"""The chain from a Subscription to a cause; the golden cases of `why` have real clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import FaultOrigin, Readiness
from olmkit.olm.explain.installs import explain

Manifest = dict[str, Any]
CSV = "cache.v2.0.0"
OLD = "cache.v1.0.0"

LATE = "Timeout: request did not complete within requested timeout - context deadline exceeded"


def new_object(kind: str, name: str, namespace: str = "apps", **fields: Any) -> Manifest:
    api = "operators.coreos.com/v1" if kind == "OperatorGroup" else "operators.coreos.com/v1alpha1"
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **fields.pop("metadata", {})},
        **fields,
    }


def condition(type_: str, message: str = "", status: str = "True") -> Manifest:
    return {"type": type_, "status": status, "message": message}


def subscription(*conditions: Manifest, **status: Any) -> Manifest:
    spec = {"name": "cache", "channel": "stable", "source": "shelf", "sourceNamespace": "olm"}
    return new_object(
        "Subscription", "cache", spec=spec, status={**status, "conditions": list(conditions)}
    )


def csv(name: str, phase: str, reason: str = "", **spec: Any) -> Manifest:
    status = {"phase": phase, "reason": reason, "message": f"it is {phase}"}
    return new_object("ClusterServiceVersion", name, spec=spec, status=status)


def plan(phase: str, *names: str, **status: Any) -> Manifest:
    spec = {"clusterServiceVersionNames": list(names)}
    return new_object("InstallPlan", "install-1", spec=spec, status={"phase": phase, **status})


def catalog(state: str, **spec: Any) -> Manifest:
    status = {"connectionState": {"lastObservedState": state}} if state else {}
    return new_object("CatalogSource", "shelf", "olm", spec=spec, status=status)


def cluster(*objects: Manifest, groups: int = 1, **fields: Any) -> ClusterState:
    parts: dict[str, list[Manifest]] = {}
    names = {
        "Subscription": "subscriptions",
        "ClusterServiceVersion": "csvs",
        "InstallPlan": "plans",
        "CatalogSource": "catalogs",
    }
    for one in objects:
        parts.setdefault(names[one["kind"]], []).append(one)
    group = [new_object("OperatorGroup", f"group{number}") for number in range(groups)]
    return ClusterState(
        namespace="apps",
        groups=tuple(group),
        **{name: tuple(found) for name, found in parts.items()},
        **fields,
    )


REF = {"installPlanRef": {"name": "install-1"}}


def test_a_package_that_is_not_requested_is_not_installed() -> None:
    found = explain(cluster(), "cache")

    assert (found.readiness, found.cause) == (Readiness.BLOCKED, "not-installed")
    assert "olmkit install cache -n apps" in found.hint


def test_an_operator_in_another_namespace_is_named() -> None:
    other = subscription()
    other["metadata"]["namespace"] = "elsewhere"

    assert "`elsewhere`" in explain(cluster(elsewhere=(other,)), "cache").hint


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("cache-operatr", "did you mean `cache-operator`?"),
        ("cache", "did you mean `cache-operator`?"),
        ("queue-operater", "did you mean `queue-operator` in namespace `elsewhere`?"),
        ("tomcat", "install it: `olmkit install tomcat -n apps`"),
    ],
)
def test_a_package_with_a_similar_name_is_suggested(asked: str, words: str) -> None:
    here, there = subscription(), subscription()
    here["spec"]["name"] = "cache-operator"
    there["spec"]["name"] = "queue-operator"
    there["metadata"]["namespace"] = "elsewhere"

    for one in (here, there):
        one["metadata"]["name"] = one["spec"]["name"]
    assert explain(cluster(here, elsewhere=(there,)), asked).hint == words


@pytest.mark.parametrize(("count", "cause"), [(0, "no-operator-group"),
                                              (3, "several-operator-groups")])  # fmt: skip
def test_a_namespace_has_exactly_one_operator_group(count: int, cause: str) -> None:
    assert explain(cluster(subscription(), groups=count), "cache").cause == cause


def test_a_csv_that_succeeded_is_healthy() -> None:
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV), csv(CSV, "Succeeded", version="1.0.0")
    )

    found = explain(seen, "cache")

    assert found.is_ready
    assert found.message == f"`{CSV}` is installed and healthy"
    assert found.version == "1.0.0"


@pytest.mark.parametrize(
    ("targets", "absent", "message"),
    [
        (["a"], ("a",), "it watches nothing: the namespace `a`, {} `g` names, does not exist"),
        (["a", "b"], ("b",), "the namespace `b`, {} `g` names, does not exist"),
        (["a", "b", "c"], ("a", "b"), "the namespaces `a`, `b`, {} `g` names, do not exist"),
    ],
)
def test_a_namespace_to_watch_that_does_not_exist_is_named(
    targets: list[str], absent: tuple[str, ...], message: str
) -> None:
    group = new_object("OperatorGroup", "g", spec={"targetNamespaces": targets})
    asking = subscription(currentCSV=CSV, installedCSV=CSV)
    seen = replace(cluster(asking, csv(CSV, "Succeeded")), groups=(group,), absent_targets=absent)

    found = explain(seen, "cache")

    assert (found.is_ready, found.cause) == (True, "target-namespace-missing")
    words = message.format("which OperatorGroup")
    assert found.message == f"`{CSV}` is installed and healthy, but {words}"
    assert f"`kubectl create namespace {absent[0]}`" in found.hint
    assert "`kubectl edit operatorgroup g -n apps`" in found.hint


def test_a_healthy_operator_without_its_upgrade_has_the_reason() -> None:
    words = (
        "constraints not satisfiable: no operators found in channel beta of package cache in the "
        "catalog referenced by subscription cache, subscription cache exists"
    )
    failed = condition("ResolutionFailed", words)
    asking = subscription(failed, currentCSV=CSV, installedCSV=CSV)

    found = explain(cluster(asking, csv(CSV, "Succeeded")), "cache")

    assert (found.is_ready, found.cause) == (True, "upgrades-stopped")
    said = f"`{CSV}` is installed and healthy, but OLM chooses no upgrade: the package `cache` has"
    assert found.message.startswith(f"{said} no channel `beta`")
    assert found.hint == "correct `channel` of the Subscription `cache`"


def test_a_pending_approval_does_not_make_an_operator_unhealthy() -> None:
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=OLD, **REF),
        csv(OLD, "Succeeded"),
        plan("RequiresApproval", CSV),
    )

    assert explain(seen, "cache").cause == "upgrade-needs-approval"
    waited_for = explain(seen, "cache", target=CSV)
    assert (waited_for.readiness, waited_for.cause) == (Readiness.BLOCKED, "needs-approval")


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("error using catalogsource olm/shelf: failed to list bundles: refused", "catalog"),
        ("expected 1 OperatorGroup in the namespace, found 2", "operator-groups"),
        (
            ("a unique replacement chain within a channel is required to determine the relative "
            "order between channel entries, but 2 replacement chains were found in channel "
            '"stable" of package "cache": a, b'),
            "several-heads",
        ),
        ("no channel heads (entries not replaced by another entry) found in channel x", "no-head"),
        ("a cycle exists in the chain of replacement beginning with a", "no-head"),
        (
            ("constraints not satisfiable: no operators found from catalog shelf in namespace olm "
            "referenced by subscription cache, subscription cache exists"),
            "no-such-catalog",
        ),
        (
            ("constraints not satisfiable: no operators found in package cache in the catalog "
            "referenced by subscription cache, subscription cache exists"),
            "no-such-package",
        ),
        (
            ("constraints not satisfiable: no operators found in channel stable of package cache "
            "in the catalog referenced by subscription cache, subscription cache exists"),
            "no-such-channel",
        ),
        (
            ("constraints not satisfiable: no operators found with name cache.v9 in channel stable "
            "of package cache in the catalog referenced by subscription cache"),
            "no-such-version",
        ),
        (
            ("constraints not satisfiable: bundle cache.v2.0.0 requires an operator with package: "
            "db and with version in range: >1.0.0, subscription cache exists"),
            "missing-dependency",
        ),
        (
            ("constraints not satisfiable: shelf/olm/stable/a.v1 and shelf/olm/stable/b.v1 provide "
            "Thing (example.com/v1), subscription a exists"),
            "api-provided-twice",
        ),
        (
            ("constraints not satisfiable: a.v1 and a.v2 originate from package cache, "
            "subscription a exists"),
            "package-wanted-twice",
        ),
        (
            ("constraints not satisfiable: bundle shelf/olm/stable/cache.v2 is deprecated, "
            "subscription cache exists"),
            "bundle-deprecated",
        ),
        (
            ('convert olm.constraint to resolver predicate: Could not parse Range "^1.0.0": Could '
            'not parse comparator "^" in "^1.0.0"'),
            "bad-constraint",
        ),
        ("Last element in range is '||'", "bad-constraint"),
        (
            ('[error using catalogsource apps/@existing: failed to retrieve properties of csv '
            '"cache.v1.0.0": failed to unmarshal properties annotation, error using catalogsource '
            'olm/shelf: no registry client established for catalogsource olm/shelf]'),
            "csvs-unusable",
        ),
        (
            "error using catalogsource apps/@existing: csv apps/a in phase Failed instead of x",
            "csvs-unusable",
        ),
        ("something new", "resolution-failed"),
        ("", "resolution-failed"),
    ],
)  # fmt: skip
def test_the_messages_of_the_resolver_are_understood(message: str, cause: str) -> None:
    seen = cluster(subscription(condition("ResolutionFailed", message)), catalog("READY"))

    found = explain(seen, "cache")

    assert found.cause == ("catalog-not-ready" if cause == "catalog" else cause)
    assert found.readiness in (Readiness.BLOCKED, Readiness.STUCK)


ORPHAN = (
    "constraints not satisfiable: clusterserviceversion cache.v1 exists and is not referenced by a "
    "subscription, subscription cache exists, subscription cache requires @existing/apps//cache.v2"
)


def test_a_csv_without_a_subscription_blocks_the_resolution() -> None:
    seen = cluster(
        subscription(condition("ResolutionFailed", ORPHAN)),
        catalog("READY"),
        csv("cache.v1", "Succeeded"),
    )

    found = explain(seen, "cache")

    assert (found.cause, found.readiness) == ("csv-without-subscription", Readiness.BLOCKED)
    assert "`kubectl delete csv -n apps cache.v1`" in found.hint


@pytest.mark.parametrize("phase", ["", "Succeeded"])
def test_a_version_that_olm_replaces_or_has_replaced_blocks_nothing(phase: str) -> None:
    """The condition stays on the Subscription for some time after an upgrade."""
    status = {"currentCSV": "cache.v2", "installedCSV": "cache.v2"}
    old = [csv("cache.v1", phase)] if phase else []
    seen = cluster(
        subscription(condition("ResolutionFailed", ORPHAN), **status),
        catalog("READY"),
        csv("cache.v2", "Succeeded", replaces="cache.v1"),
        *old,
    )

    found = explain(seen, "cache")

    assert (found.cause, found.message) == ("healthy", "`cache.v2` is installed and healthy")
    assert found.chain[0].state == "no state yet, installed cache.v2"


def test_a_failed_resolution_that_lasts_is_shown_next_to_the_healthy_operator() -> None:
    failed = condition("ResolutionFailed", ORPHAN)
    asking = subscription(failed, currentCSV="cache.v2", installedCSV="cache.v2")
    csvs = (csv("cache.v2", "Succeeded"), csv("cache.v1", "Succeeded"))

    found = explain(cluster(asking, catalog("READY"), *csvs), "cache")

    assert (found.is_ready, found.cause) == (True, "upgrades-stopped")
    assert found.chain[0].state == "no state yet, installed cache.v2, ResolutionFailed"


@pytest.mark.parametrize(
    ("current", "state"),
    [
        ("cache.v1", "no state yet, installed cache.v1"),
        ("cache.v2", "no state yet, installed cache.v1, next cache.v2, BundleUnpacking"),
    ],
)
def test_conditions_of_a_finished_install_are_not_shown(current: str, state: str) -> None:
    status = {"currentCSV": current, "installedCSV": "cache.v1"}
    asking = subscription(condition("BundleUnpacking"), **status)

    found = explain(
        cluster(asking, catalog("READY"), csv("cache.v1", "Succeeded")), "cache", target="cache.v1"
    )

    assert (found.cause, found.chain[0].state) == ("healthy", state)


def test_a_resolution_that_is_about_a_deleted_version_is_waited_for() -> None:
    found = explain(
        cluster(subscription(condition("ResolutionFailed", ORPHAN)), catalog("READY")), "cache"
    )

    assert found.readiness is Readiness.WAITING
    assert found.details == ()
    assert found.message == (
        "OLM has not yet resolved again since the ClusterServiceVersion `cache.v1` was deleted"
    )


def test_the_requirement_of_a_bundle_is_reported_completely_even_with_commas() -> None:
    words = (
        "constraints not satisfiable: bundle cache.v2 requires an operator providing an API with "
        "group: g, version: v1, kind: K, subscription cache exists, subscription cache requires x"
    )

    found = explain(cluster(subscription(condition("ResolutionFailed", words))), "cache")

    assert "an operator providing an API with group: g, version: v1, kind: K, and no" in (
        found.message
    )


BY = "in the catalog referenced by subscription"
OTHER = "; Subscription `other` requests it, and blocks the namespace"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            f"no operators found in package queue {BY} other, subscription cache exists",
            f"the catalog `elsewhere` has no package `queue`{OTHER}",
        ),
        (
            f"no operators found in channel fast of package queue {BY} other, subscription a",
            f"the package `queue` has no channel `fast` in the catalog `elsewhere`{OTHER}",
        ),
        (
            f"no operators found with name cache.v9 in channel  of package cache {BY} cache",
            "the package `cache` has no `cache.v9`",
        ),
        (
            "bundle cache.v2 requires an operator with label: x, a/b/c/d and a/b/d/x provide D (e)",
            (
                "OLM cannot resolve the installation: requirements exclude each other; the "
                "catalogs, which cannot be read here, would show which ones"
            ),
        ),
        (
            "bundle cache.v2 requires an operator , subscription cache exists",
            "`cache.v2` needs an operator, and no catalog offers one",
        ),
        (
            "a.v1 and a.v1 provide K (example.com/v1), subscription a exists",
            "two operators would provide K (example.com/v1): a.v1 and a.v1",
        ),
    ],
)
def test_a_namespace_is_resolved_together_and_the_message_names_the_affected_operator(
    words: str, says: str
) -> None:
    other = subscription()
    other["metadata"]["name"] = "other"
    other["spec"] |= {"name": "queue", "source": "elsewhere"}
    failed = condition("ResolutionFailed", f"constraints not satisfiable: {words}")

    assert explain(cluster(subscription(failed), other), "cache").message == says


@pytest.mark.parametrize(
    ("name", "says"), [("shelf", ""), ("other", "; it stops every Subscription that sees it")]
)
def test_a_failing_catalog_also_stops_subscriptions_to_others(name: str, says: str) -> None:
    ailing = catalog("TRANSIENT_FAILURE", address="10.0.0.1:50051")
    ailing["metadata"]["name"] = name
    words = f"error using catalogsource olm/{name}: failed to list bundles: refused"
    seen = cluster(subscription(condition("ResolutionFailed", words)), ailing)

    assert explain(seen, "cache").message == (
        f"the catalog `{name}` is not ready: nothing answers at `10.0.0.1:50051`{says}"
    )


def test_several_errors_of_a_resolution_are_separated() -> None:
    words = (
        "[a unique replacement chain within a channel is required to …, but 2 replacement chains "
        'were found in channel "stable" of package "db": db.v1, db.v2...db.v1, no channel heads '
        '(entries not replaced by another entry) found in channel "x" of package "y"]'
    )

    found = explain(cluster(subscription(condition("ResolutionFailed", words))), "cache")

    assert found.message == (
        "channel `stable` of package `db` has several heads: db.v1, db.v2...db.v1"
    )


def test_resolution_can_fail_while_an_old_version_is_removed() -> None:
    failed = condition("ResolutionFailed", "constraints not satisfiable: …")
    seen = cluster(
        subscription(failed, currentCSV=CSV, **REF),
        csv(OLD, "Replacing"),
        csv(CSV, "Installing"),
        plan("Complete", CSV),
    )

    assert explain(seen, "cache").readiness is Readiness.WAITING


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("error validating existing CRs against new CRD's schema", "crd-rejects-objects"),
        ("risk of data loss updating x: new CRD removes version v1", "crd-loses-version"),
        ("pre-existing CRD owners found for owned CRD(s)", "crd-owned-elsewhere"),
        ("api-server resource not found installing Foo bar", "missing-api"),
        (
            'roles is forbidden: User "system:serviceaccount:apps:weak" cannot create resource x',
            "service-account-forbidden",
        ),
        ("something new", "install-plan-failed"),
        (f'error updating CRD "a.b": {LATE}', "install-plan-failed"),
    ],
)
def test_a_failed_plan_has_the_reason(message: str, cause: str) -> None:
    conditions = [condition("Installed", message, status="False")]
    seen = cluster(subscription(currentCSV=CSV, **REF), plan("Failed", CSV, conditions=conditions))

    assert explain(seen, "cache").cause == cause


@pytest.mark.parametrize(
    ("crd", "cause"),
    [("others.example.com", "healthy"), ("own.example.com", "crd-rejects-objects")],
)
def test_a_plan_that_fails_at_another_operator_is_not_the_cause(crd: str, cause: str) -> None:
    words = f'error validating existing CRs against new CRD\'s schema for "{crd}": no'
    failed = [condition("Installed", words, status="False")]
    own = csv(CSV, "Succeeded")
    own["spec"] = {"customresourcedefinitions": {"owned": [{"name": "own.example.com"}]}}
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV, **REF),
        own,
        plan("Failed", CSV, "db.v1.0.0", conditions=failed),
    )

    assert explain(seen, "cache").cause == cause


@pytest.mark.parametrize(
    ("waits", "cause"), [("db.v2.0.0", "healthy"), ("cache.v3.0.0", "upgrade-needs-approval")]
)
def test_an_upgrade_of_another_operator_is_not_the_cause(waits: str, cause: str) -> None:
    waiting = plan("RequiresApproval", waits)
    waiting["metadata"]["name"] = "install-2"
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV, **REF),
        csv(CSV, "Succeeded"),
        plan("Complete", CSV),
        waiting,
    )

    assert explain(seen, "cache").cause == cause


def test_an_object_that_a_new_crd_refuses_comes_first() -> None:
    words = (
        'error validating existing CRs against new CRD\'s schema for "things.example.com": error '
        'validating example.com/v1, Kind=Thing "apps/small": updated validation is too '
        "restrictive: [].spec.size: Invalid value: 1: must be at least 5"
    )
    failed = [condition("Installed", words, status="False")]
    found = explain(
        cluster(subscription(currentCSV=CSV, **REF), plan("Failed", CSV, conditions=failed)),
        "cache",
    )

    assert found.message == (
        "the new CustomResourceDefinition `things.example.com` would refuse existing objects: "
        "Thing apps/small: spec.size: Invalid value: 1: must be at least 5"
    )


def test_a_request_that_the_api_server_did_not_finish_is_retried() -> None:
    trying = plan("Installing", CSV)
    trying["status"]["message"] = f'retrying execution due to error: error updating CRD "a": {LATE}'
    found = explain(cluster(subscription(currentCSV=CSV, **REF), trying), "cache")

    assert (found.cause, found.readiness) == ("install-plan-failed", Readiness.STUCK)
    assert found.message == (
        f'the API server did not finish a request of OLM in time: error updating CRD "a": {LATE}'
    )
    assert found.hint.startswith("wait, as OLM tries again")


def test_a_csv_that_succeeded_does_not_hide_a_plan_that_failed_at_a_crd() -> None:
    failed = [condition("Installed", "error validating existing CRs", status="False")]
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV, **REF),
        csv(CSV, "Succeeded"),
        plan("Failed", CSV, conditions=failed),
    )

    assert explain(seen, "cache").cause == "crd-rejects-objects"


def test_a_conversion_webhook_that_was_late_once_is_ignored() -> None:
    words = (
        "error validating existing CRs against new CRD's schema for x: conversion webhook for "
        'example.com/v1, Kind=X failed: Post "https://m-service.apps.svc:443/": connection refused'
    )
    hooks = [{"deploymentName": "m", "generateName": "x", "type": "ConversionWebhook"}]
    failed = [condition("Installed", words, status="False")]
    late = plan("Failed", CSV, conditions=failed)
    state = subscription(currentCSV=CSV, installedCSV=CSV, **REF)

    waiting = explain(cluster(state, csv(CSV, "Installing"), late), "cache")
    succeeded = csv(CSV, "Succeeded")
    other = explain(cluster(state, succeeded, late), "cache")
    succeeded["spec"]["webhookdefinitions"] = hooks
    done = explain(cluster(state, succeeded, late), "cache")

    # No object of this operator would answer there.
    assert other.cause == "conversion-webhook-away"
    assert waiting.cause == "conversion-webhook-away"
    assert "connection refused" in waiting.message
    assert done.is_ready


def test_a_kind_that_olm_does_not_install_is_named() -> None:
    step = {"status": "UnsupportedResource", "resource": {"kind": "PodMonitor"}}
    seen = cluster(
        subscription(currentCSV=CSV, **REF),
        plan("Installing", CSV, plan=[step], message="retrying execution due to error: invalid"),
    )

    found = explain(seen, "cache")

    assert (found.cause, found.readiness) == ("kind-not-supported", Readiness.STUCK)
    assert "PodMonitor" in found.message


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("UnsupportedOperatorGroup", "install-mode-not-supported"),
        ("InterOperatorGroupOwnerConflict", "api-owned-elsewhere"),
        ("OwnerConflict", "crd-owned-elsewhere"),
        ("InstallComponentFailedNoRetry", "csv-invalid"),
        ("TooManyOperatorGroups", "operator-groups"),
        ("CannotModifyStaticOperatorGroupProvidedAPIs", "operator-groups"),
        ("SomethingNew", "csv-failed"),
    ],
)
def test_a_failed_csv_has_the_reason(reason: str, cause: str) -> None:
    seen = cluster(subscription(currentCSV=CSV), csv(CSV, "Failed", reason))

    assert explain(seen, "cache").cause == cause


def test_an_operator_condition_blocks_an_upgrade() -> None:
    seen = cluster(
        subscription(currentCSV=CSV), csv(CSV, "Pending", "OperatorConditionNotUpgradeable")
    )

    assert explain(seen, "cache").cause == "upgrade-held-back"


@pytest.mark.parametrize(
    ("requirement", "cause", "says"),
    [
        (
            {"kind": "CustomResourceDefinition", "name": "dbs.example.com", "status": "NotPresent"},
            "missing-api",
            "dbs.example.com",
        ),
        (
            {
                "kind": "ClusterServiceVersion",
                "name": CSV,
                "status": "NotPresent",
                "message": "minKubeVersion 9.9.9 > server 1.36.3",
            },
            "cluster-too-old",
            "9.9.9",
        ),
        (
            {
                "kind": "ServiceAccount",
                "name": "manager",
                "status": "PresentNotSatisfied",
                "dependents": [{"status": "NotSatisfied", "message": "cluster rule: pods"}],
            },
            "service-account",
            "cluster rule: pods",
        ),
        (
            {"kind": "APIService", "name": "v1.x", "status": "DeploymentNotFound"},
            "requirement-not-met",
            "APIService `v1.x`",
        ),
    ],
)
def test_an_unmet_requirement_is_named(requirement: Manifest, cause: str, says: str) -> None:
    pending = csv(CSV, "Pending", "RequirementsNotMet")
    met = {"kind": "CustomResourceDefinition", "name": "x", "status": "Present"}
    pending["status"]["requirementStatus"] = [met, requirement]

    found = explain(cluster(subscription(currentCSV=CSV), pending), "cache")

    assert found.cause == cause
    assert says in found.message


def test_a_new_version_waits_for_an_old_one_that_failed() -> None:
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV),
        csv(OLD, "Failed", "InstallCheckFailed"),
        csv(CSV, "Pending", "RequirementsNotMet", replaces=OLD),
    )

    found = explain(seen, "cache")

    assert found.cause == "old-version-failed"
    assert "TechPreviewUnsafeFailForward" in found.hint


def test_a_manually_deleted_csv_is_not_created_again() -> None:
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV, **REF),
        plan("Complete", CSV),
        catalog("READY"),
    )

    assert explain(seen, "cache").cause == "csv-deleted"


def test_a_missing_catalog_is_named() -> None:
    assert explain(cluster(subscription()), "cache").cause == "no-such-catalog"


def test_an_unreachable_address_is_exit_code_3() -> None:
    seen = cluster(subscription(), catalog("TRANSIENT_FAILURE", address="10.0.0.1:50051"))

    found = explain(seen, "cache")

    assert (found.cause, found.origin) == ("catalog-not-ready", FaultOrigin.WORLD)
    assert "10.0.0.1:50051" in found.message


def test_an_unpacking_that_took_too_long_is_distinguished_from_a_failed_one() -> None:
    words = "Bundle unpacking failed - DeadlineExceeded: Job was active longer than deadline"
    late = cluster(subscription(condition("BundleUnpackFailed", words)), catalog("READY"))
    failed = cluster(
        subscription(condition("BundleUnpackFailed", "no such file")), catalog("READY")
    )

    assert explain(late, "cache").cause == "unpack-time-out"
    assert explain(failed, "cache").cause == "bundle-cannot-be-unpacked"


def test_without_a_status_the_operator_is_waiting() -> None:
    found = explain(cluster(subscription(), catalog("READY")), "cache")

    assert (found.readiness, found.cause) == (Readiness.WAITING, "waiting")


def test_empty_objects_never_raise_an_exception() -> None:
    bare: Manifest = {"kind": "Subscription", "metadata": {"name": "cache", "namespace": "apps"}}

    assert explain(ClusterState(namespace="apps", subscriptions=(bare,)), "cache").cause


def test_an_operator_that_no_longer_runs_is_not_ready_although_its_csv_succeeded() -> None:
    install = {"spec": {"deployments": [{"name": "manager"}]}}
    metadata = {"name": "manager", "namespace": "apps", "generation": 2}
    status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1,
              "conditions": [condition("Available")]}  # fmt: skip
    manager = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {},
               "status": status}  # fmt: skip
    state = (subscription(currentCSV=CSV), csv(CSV, "Succeeded", install=install))

    renewed = explain(cluster(*state, deployments=(manager,)), "cache")
    unseen = explain(cluster(*state), "cache")

    assert (renewed.cause, renewed.readiness) == ("deployment-not-available", Readiness.WAITING)
    assert unseen.is_ready, "Deployments that cannot be read count as available"


@pytest.mark.parametrize(("ready", "cause"), [(True, "healthy"), (False, "webhook-away")])
def test_an_operator_is_ready_when_its_webhooks_are_served(ready: bool, cause: str) -> None:
    def slices(service: str, *, ready: bool) -> Manifest:
        labels = {"kubernetes.io/service-name": service}
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{service}-x", "namespace": "apps", "labels": labels},
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}],
        }

    hooks = [{"deploymentName": "cache.manager"}, {"deploymentName": "cache.manager"}]
    found = (slices("cache-manager-service", ready=ready), slices("other", ready=not ready))
    state = (subscription(currentCSV=CSV), csv(CSV, "Succeeded", webhookdefinitions=hooks))

    assert explain(cluster(*state, slices=found), "cache").cause == cause
    assert explain(cluster(*state), "cache").is_ready


def test_a_version_that_does_not_exist_yet_is_not_a_deleted_one() -> None:
    before = (subscription(currentCSV=OLD, installedCSV=OLD, **REF), plan("Complete", OLD))
    seen = cluster(*before, csv(OLD, "Succeeded"), catalog("READY"))

    found = explain(seen, "cache", target=CSV)

    assert (found.cause, found.message) == ("waiting", f"OLM is installing `{CSV}`")


def test_the_plan_of_the_next_version_does_not_block_the_current_install() -> None:
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=OLD, **REF),
        csv(OLD, "Installing", "InstallWaiting"),
        plan("RequiresApproval", CSV),
    )

    found = explain(seen, "cache", target=OLD)

    assert (found.readiness, found.cause) == (Readiness.WAITING, "csv-not-ready")


def test_a_target_that_olm_has_passed_is_explained_by_its_successor() -> None:
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV, **REF),
        csv(OLD, "Replacing"),
        csv(CSV, "Succeeded"),
        plan("Complete", CSV),
    )

    found = explain(seen, "cache", target=OLD)

    assert (found.is_ready, found.message) == (True, f"`{CSV}` is installed and healthy")


def test_a_csv_that_is_being_deleted_is_not_being_installed() -> None:
    found = explain(cluster(subscription(currentCSV=CSV), csv(CSV, "Deleting")), "cache")

    assert (found.readiness, found.message) == (
        Readiness.WAITING,
        f"`{CSV}` is Deleting: it is Deleting",
    )


def test_the_copy_of_an_operator_in_another_namespace_blocks() -> None:
    copy = csv(CSV, "Succeeded")
    copy["metadata"]["labels"] = {"olm.copiedFrom": "home"}
    state = subscription(currentCSV=CSV, installedCSV=CSV, **REF)

    found = explain(cluster(state, copy, plan("Complete", CSV), catalog("READY")), "cache")

    assert (found.cause, found.readiness) == ("api-owned-elsewhere", Readiness.BLOCKED)
    assert "`home`" in found.message


def test_a_csv_that_was_removed_with_its_plan_is_not_created_again_either() -> None:
    lost = condition("InstallPlanMissing")
    state = {"currentCSV": CSV, **REF}

    gone = cluster(subscription(lost, installedCSV=CSV, **state), catalog("READY"))
    unapproved = cluster(subscription(lost, installedCSV=OLD, **state), catalog("READY"))

    assert explain(gone, "cache").cause == "csv-deleted"
    assert explain(unapproved, "cache").cause == "waiting", "OLM creates a new plan"


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        ("Failed", "InstallComponentFailed"),
        ("Pending", "NeedsReinstall"),
        ("InstallReady", "AllRequirementsMet"),
    ],
)
def test_an_operator_with_a_refused_deployment_has_the_reason_in_each_attempt(
    phase: str, reason: str
) -> None:
    install = {"spec": {"deployments": [{"name": "manager"}]}}
    words = "install strategy failed: Deployment.apps is invalid"
    failed = csv(CSV, phase, reason, install=install)
    failed["status"] |= {
        "message": words if phase == "Failed" else "missing deployment",
        "conditions": [
            {"phase": "Failed", "reason": "InstallComponentFailed", "message": words},
            {"phase": phase, "reason": reason},
        ],
    }

    found = explain(cluster(subscription(currentCSV=CSV), failed), "cache")

    assert (found.cause, found.readiness) == ("csv-failed", Readiness.STUCK)
    assert found.message == f"`{CSV}` cannot be installed: {words}"


def test_an_operator_that_was_refused_once_and_exists_now_is_waited_for() -> None:
    install = {"spec": {"deployments": [{"name": "manager"}]}}
    late = csv(CSV, "Installing", "InstallWaiting", install=install)
    late["status"]["conditions"] = [
        {"phase": "Failed", "reason": "InstallComponentFailed", "message": "a webhook is away"}
    ]
    manager = {"kind": "Deployment", "metadata": {"name": "manager", "namespace": "apps"}}

    found = explain(cluster(subscription(currentCSV=CSV), late, deployments=(manager,)), "cache")

    assert (found.cause, found.readiness) == ("deployment-not-available", Readiness.WAITING)


@pytest.mark.parametrize("phase", ["", "Installing"])
def test_a_missing_account_of_the_group_blocks_everything(phase: str) -> None:
    words = "attenuated service account query failed - no operator group found"
    unchecked = condition("Installed", words, status="False") | {"reason": "InstallCheckFailed"}
    seen = cluster(subscription(currentCSV=CSV, **REF), plan(phase, CSV, conditions=[unchecked]))
    seen.groups[0]["spec"] = {"serviceAccountName": "ghost"}

    assert explain(seen, "cache").message == f"the InstallPlan `install-1` fails: {words}"

    seen.groups[0]["status"] = {"conditions": [condition("OperatorGroupServiceAccount")]}
    found = explain(seen, "cache")

    assert (found.cause, found.readiness) == ("service-account", Readiness.STUCK)
    assert "`ghost`" in found.message


def test_a_complete_plan_does_not_fail_because_of_an_earlier_check() -> None:
    unchecked = condition("Installed", "no account", status="False")
    unchecked |= {"reason": "InstallCheckFailed"}
    complete = plan("Complete", CSV, conditions=[unchecked])
    seen = cluster(
        subscription(currentCSV=CSV, installedCSV=CSV, **REF), complete, csv(CSV, "Succeeded")
    )

    assert explain(seen, "cache").readiness is Readiness.READY


def test_a_plan_that_was_checked_again_continues() -> None:
    checked = condition("Installed", "", status="False") | {"reason": "Unknown"}
    state = subscription(currentCSV=CSV, **REF)
    seen = cluster(state, plan("Installing", CSV, conditions=[checked]), catalog("READY"))

    assert explain(seen, "cache").readiness is Readiness.WAITING


def test_deprecated_content_is_reported_although_the_operator_is_healthy() -> None:
    words = "olm.channel/stable: use v2"
    seen = cluster(
        subscription(condition("Deprecated", words), currentCSV=CSV), csv(CSV, "Succeeded")
    )

    found = explain(seen, "cache")

    assert (found.is_ready, found.hint) == (True, f"deprecated: {words}")


@pytest.mark.parametrize(
    ("reason", "cause", "says"),
    [
        ("ErrorPreventedUnpacking", "bundle-cannot-be-unpacked", "cannot read the bundle: no kind"),
        (
            "EnsureInstallPlanFailed",
            "install-plan-failed",
            "cannot create the InstallPlan: no kind",
        ),
        ("BundleUnpackFailed", "bundle-cannot-be-unpacked", "cannot be unpacked: no kind"),
    ],
)
def test_unpacking_fails_for_several_reasons(reason: str, cause: str, says: str) -> None:
    failed = condition("BundleUnpackFailed", "no kind") | {"reason": reason}

    found = explain(cluster(subscription(failed), catalog("READY")), "cache")

    assert (found.cause, says in found.message) == (cause, True)


def test_an_unpack_job_whose_pods_are_refused_has_the_reason() -> None:
    job = {
        "kind": "Job",
        "metadata": {
            "name": "unpack",
            "namespace": "olm",
            "labels": {"operatorframework.io/bundle-unpack-ref": "unpack"},
        },
    }
    about = {"kind": "Job", "name": "unpack", "namespace": "olm"}
    event = {
        "kind": "Event",
        "involvedObject": about,
        "reason": "FailedCreate",
        "message": 'Error creating: pods "unpack-1" is forbidden: exceeded quota: none, '
        "requested: pods=1, used: pods=0, limited: pods=0",
    }
    state = subscription(condition("BundleUnpacking"))

    found = explain(cluster(state, catalog("READY"), jobs=(job,), events=(event,)), "cache")

    assert found.cause == "bundle-cannot-be-unpacked"
    assert "refuses the pods of Job `unpack`: ResourceQuota `none`" in found.message
    assert "`kubectl edit resourcequota -n olm none`" in found.hint


def test_a_catalog_whose_pod_cannot_be_created_has_the_reason() -> None:
    shelf = catalog("")
    shelf["status"] = {"reason": "RegistryServerError", "message": "couldn't ensure: quota"}

    found = explain(cluster(subscription(), shelf), "cache")

    assert (found.cause, found.readiness) == ("catalog-not-ready", Readiness.STUCK)
    assert found.message == "the catalog `shelf` cannot be served: couldn't ensure: quota"
    assert found.hint == "raise the quota of the namespace"


def test_the_name_of_a_catalog_is_not_that_of_an_operator() -> None:
    found = explain(cluster(catalog("READY")), "shelf")
    assert found.cause == "not-installed"
    assert found.message == (
        "`shelf` is a CatalogSource in namespace `olm`, and nothing requests a package of this "
        "name in namespace `apps`; OLM can read it"
    )
    assert found.hint == (
        "run `olmkit catalog list packages catalogsource:olm/shelf` to see its packages, and "
        "`olmkit status` to see which operators are installed"
    )
    found = explain(cluster(catalog("")), "shelf")
    assert found.message.endswith("; the catalog `shelf` is not ready yet")
    assert explain(cluster(catalog("READY")), "cache").hint.startswith("install it")
