"""The facts that an upgrade waits for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v0 import upgrade_plan, upgrade_wait
from olmkit.jobs.cluster_v0.upgrade_plan import UpgradeOptions
from olmkit.olm import install_objects
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Explanation, Readiness

Manifest = dict[str, Any]
OLD, NEW = "cache.v1", "cache.v2"
_NOT_CHOSEN = "OLM has not yet chosen `cache.v3`, which the catalog offers"


def new_object(kind: str, name: str, **fields: Any) -> Manifest:
    return {"kind": kind, "metadata": {"name": name, "namespace": "apps"}, **fields}


def state(*csvs: Manifest, plan: str = "Complete", installed: str = NEW) -> ClusterState:
    status = {"currentCSV": NEW, "installedCSV": installed, "installPlanRef": {"name": "p"}}
    names = {"clusterServiceVersionNames": [NEW]}
    return ClusterState(
        namespace="apps",
        subscriptions=(new_object("Subscription", "cache", spec={"name": "cache"}, status=status),),
        csvs=csvs,
        plans=(new_object("InstallPlan", "p", spec=names, status={"phase": plan}),),
    )


def csv(name: str, phase: str) -> Manifest:
    return new_object("ClusterServiceVersion", name, status={"phase": phase})


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        (state(csv(NEW, "Succeeded")), ""),
        (state(csv(OLD, "Replacing"), csv(NEW, "Succeeded")), "`cache.v1` still exists"),
        (state(csv(NEW, "Succeeded"), installed=OLD), "still names `cache.v1` as installed"),
        (state(csv(NEW, "Succeeded"), plan="Installing"), "InstallPlan apps/p is Installing"),
    ],
)
def test_an_upgrade_is_done_if_nothing_is_missing(seen: ClusterState, missing: str) -> None:
    found = upgrade_wait._describe_unfinished(seen, "cache", NEW)  # noqa: SLF001 - the decision itself

    assert (missing in found, bool(found)) == (True, bool(missing))


def test_a_plan_for_several_operators_is_not_waited_for() -> None:
    seen = state(csv(NEW, "Succeeded"), plan="Installing")
    seen.plans[0]["spec"]["clusterServiceVersionNames"].append("db.v1")

    assert not upgrade_wait._describe_unfinished(seen, "cache", NEW)  # noqa: SLF001


def test_olm_that_is_late_with_the_old_version_is_slow_and_not_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time in the message is that of the whole command."""
    seen = state(csv(OLD, "Replacing"), csv(NEW, "Succeeded"))

    async def snapshot(*_: object, **__: object) -> ClusterState:
        return seen

    async def wait() -> Explanation:
        return await upgrade_wait.wait_until_complete(
            cast("Any", None),
            "cache",
            "apps",
            NEW,
            found=Explanation(readiness=Readiness.READY, cause="healthy", message="m"),
            timeouts=Timeouts(seconds=20.0, given=90.0),
            end=asyncio.get_running_loop().time(),
        )

    monkeypatch.setattr(upgrade_wait.cluster_read, "snapshot", snapshot)
    found = asyncio.run(wait())

    assert (found.readiness, found.cause) == (Readiness.WAITING, "upgrade-not-finished")
    assert found.message == "`cache.v2` is healthy, but `cache.v1` still exists (after 90 s)"


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ({"address": "shelf:1"}, _NOT_CHOSEN, "wait, as OLM reads a catalog at an address"),
        ({"address": "new:1"}, "OLM has not yet read the catalog at `new:1`",
         "if it lasts, check that OLM runs"),
        ({"image": "r/c"}, _NOT_CHOSEN, ""),
    ],
    ids=["read", "changed", "image"],
)  # fmt: skip
def test_a_served_catalog_is_read_again_after_a_while(
    spec: Manifest, message: str, hint: str
) -> None:
    seen = state(csv(NEW, "Succeeded"))
    seen.subscriptions[0]["spec"] |= {"source": "shelf", "sourceNamespace": "apps"}
    status = {"connectionState": {"lastObservedState": "READY", "address": "shelf:1"}}
    shelf = new_object("CatalogSource", "shelf", spec=spec, status=status)
    group = new_object("OperatorGroup", "group", spec={})
    seen = replace(seen, catalogs=(shelf,), groups=(group,))
    plan = upgrade_plan.plan_of(seen, "cache", NEW, ("cache.v3",), None)
    watch = upgrade_wait.UpgradeWatch(
        cast("Any", None),
        UpgradeOptions(namespace="apps", package="cache"),
        plan,
        report=[].append,
        timeouts=Timeouts(),
        deadline=0.0,
    )

    found = watch._explain_no_choice(seen, seen.subscriptions[0], "cache.v3")  # noqa: SLF001

    assert found.message == message
    assert (found.hint.startswith(hint), bool(found.hint)) == (True, bool(hint))


def test_a_catalogs_pod_whose_image_differs_from_its_tag_is_outdated() -> None:
    source = new_object("CatalogSource", "shelf", spec={"image": "r/shelf:latest"})
    pod = new_object("Pod", "shelf-x", status={
        "initContainerStatuses": [{"imageID": "r/shelf@sha256:aa"}],
        "containerStatuses": [{"imageID": "r/opm@sha256:cc"}],
    })  # fmt: skip
    pod["metadata"]["labels"] = {"olm.catalogSource": "shelf"}
    seen = ClusterState(namespace="apps", catalogs=(source,), pods=(pod,))

    assert not upgrade_plan.is_outdated(seen, source, "r/shelf@sha256:aa")
    assert upgrade_plan.is_outdated(seen, source, "r/shelf@sha256:bb")
    assert not upgrade_plan.is_outdated(seen, source, "")


@pytest.mark.parametrize(
    ("field", "reference", "is_read"),
    [
        ("address", "host:2", True),
        ("address", "host:1", False),
        ("image", "r/shelf:v2", True),
        ("image", "r/shelf:v1", False),
    ],
)
def test_a_changed_catalog_is_read_when_its_pod_or_connection_is_new(
    field: str, reference: str, is_read: bool
) -> None:
    connection = {"lastObservedState": "READY", "address": "host:2"}
    source = new_object("CatalogSource", "shelf", status={"connectionState": connection})
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    new = new_object("Pod", "n", spec={"initContainers": [{"image": "r/shelf:v2"}]}, status=ready)
    old = new_object("Pod", "o", spec={"containers": [{"image": "r/shelf:v1"}]}, status=ready)
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert upgrade_wait.is_read(source, [new, old], field, reference) is is_read


@pytest.mark.parametrize("is_ours", [True, False])
def test_an_outdated_catalog_has_a_command_that_replaces_its_pod(*, is_ours: bool) -> None:
    source = new_object("CatalogSource", "shelf", spec={"image": "r/shelf:latest"})
    if is_ours:
        source["metadata"]["labels"] = dict(install_objects.OURS)

    found = upgrade_wait._explain_outdated_catalog(source, "cache", "cache.v3")  # noqa: SLF001

    assert found.readiness is Readiness.BLOCKED
    assert found.hint == (
        "run `olmkit upgrade cache -n apps --catalog r/shelf:latest`, which replaces the pod"
        if is_ours
        else "delete the pod: `kubectl delete pod -n apps -l olm.catalogSource=shelf`"
    )
