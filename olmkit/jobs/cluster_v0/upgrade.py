"""Take an operator to a newer version, hop by hop.

OLM says which version is next; here it is approved where approval is manual, and waited
for until it has replaced the old one. With a bundle, a catalog of our own offers it as
the next version of what is installed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.bundle import Named
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v0 import install, upgrade_plan
from olmkit.jobs.cluster_v0.upgrade_plan import UpgradeOptions, UpgradePlan
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import bundle_catalog, install_objects, install_plan, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Explanation, Standing
from olmkit.olm.explain.installs import explain
from olmkit.olm.install_objects import Catalog, Served

# A catalog that has changed is read anew within this, and a newer version is planned.
_SETTLES = 15.0
_SETTLES_WITH_GOAL = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleUpgrade:
    """The bundle, what it finds, and the one hop to it."""

    named: Named
    seen: ClusterState = field(repr=False)
    subscription: Manifest = field(repr=False)
    plan: UpgradePlan


Announce = Callable[[UpgradePlan], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """Where it was, the versions it went through, and how it stands."""

    package: str
    before: str
    hops: tuple[str, ...]
    explanation: Explanation


async def upgrade(
    reader: ClusterObjects,
    options: UpgradeOptions,
    access: Access,
    *,
    announce: Announce,
    report: Report,
    timeouts: Timeouts,
) -> Upgraded:
    """Go on to the newest version that is offered, or to `to`.

    Each hop is announced before its InstallPlan is approved, or as soon as OLM has made it.
    Raises `InputError` when nothing is installed, or when there is no way to `to`.
    """
    await cluster_read.require_olm(reader)
    package, goal = options.package, options.to
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    subscription = upgrade_plan.require(seen, package)
    before = seen.installed(subscription)
    if options.catalog:
        await _change_catalog(reader, subscription, seen, options.catalog, access, report)
    hops: list[str] = []
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeouts.seconds

    def rest() -> Timeouts:
        return replace(timeouts, seconds=max(1.0, deadline - clock()))

    while True:
        current = hops[-1] if hops else before
        upcoming = await _next(reader, options, current, report)
        if not upcoming:
            break
        report(f"going on to {upcoming}")
        hop = _Hop(package=package, namespace=options.namespace, before=current, target=upcoming)
        found = await _go(reader, hop, report=report, timeouts=rest(), announce=announce)
        if not found.is_ready:
            return Upgraded(package=package, before=before, hops=tuple(hops), explanation=found)
        hops.append(upcoming)
        if upgrade_plan.is_goal(upcoming, goal):
            break
    reached = hops[-1] if hops else before
    if goal and not upgrade_plan.is_goal(reached, goal):
        seen = await cluster_read.snapshot(reader, options.namespace)
        found = explain(seen, package, target=goal)
        if found.standing is not Standing.WAITING:
            return Upgraded(package=package, before=before, hops=tuple(hops), explanation=found)
        raise upgrade_plan.no_path(reached, goal)
    explanation = await cluster_wait.until_ready(
        reader, package, options.namespace, report=report, timeouts=rest()
    )
    return Upgraded(package=package, before=before, hops=tuple(hops), explanation=explanation)


async def plan_bundle(
    reader: ClusterObjects, options: UpgradeOptions, access: Access
) -> BundleUpgrade:
    """What going on to a bundle means; nothing is written.

    Raises `InputError` when nothing of its package is installed, or the bundle itself is.
    """
    await cluster_read.require_olm(reader)
    named = await cluster_bundle.read_bundle(options.bundle, access)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    subscription = upgrade_plan.require(seen, named.rendered.package)
    installed = seen.installed(subscription)
    if installed == named.rendered.name:
        raise InputError(f"`{installed}` is installed already")
    package, goal = named.rendered.package, named.rendered.name
    waiting = _waiting_elsewhere(seen, subscription, goal)
    instead = f"instead of {', '.join(kinds.plan_csvs(waiting))}, which waits for approval"
    notes = (instead,) if waiting else ()
    plan = upgrade_plan.plan_of(seen, package, installed, (goal,), named.preview, notes)
    return BundleUpgrade(named=named, seen=seen, subscription=subscription, plan=plan)


async def to_bundle(
    reader: ClusterObjects,
    made: BundleUpgrade,
    options: UpgradeOptions,
    *,
    report: Report,
    timeouts: Timeouts,
) -> Upgraded:
    """Go on to a bundle, which is one hop away since its catalog says so."""
    plan, goal = made.plan, made.named.rendered.name
    old = _own_catalog(made.seen, made.subscription)
    await _offer(reader, made, options, report, timeouts)
    waiting = _waiting_elsewhere(made.seen, made.subscription, goal)
    if waiting is not None:
        # OLM does not look for another version as long as that one is to be approved.
        report(f"deleting {explanation.subject(waiting)}")
        await reader.delete(waiting)
    report(f"going on to {goal}")
    hop = _Hop(package=plan.package, namespace=plan.namespace, before=plan.before, target=goal)
    found = await _go(reader, hop, report=report, timeouts=timeouts)
    if found.is_ready and old is not None:
        await reader.delete(old)
    hops = (goal,) if found.is_ready else ()
    return Upgraded(package=plan.package, before=plan.before, hops=hops, explanation=found)


def _waiting_elsewhere(seen: ClusterState, subscription: Manifest, goal: str) -> Manifest | None:
    """The Subscription's InstallPlan, when it waits for approval and leads to another version."""
    plan = seen.plan(kinds.plan_name(subscription))
    is_waiting = plan is not None and plan in cluster_wait.waiting_plans(seen)
    return plan if is_waiting and goal not in kinds.plan_csvs(plan) else None


def _own_catalog(seen: ClusterState, subscription: Manifest) -> Manifest | None:
    """The catalog of one bundle that the Subscription has taken from, if olmkit made it."""
    key = kinds.subscription_key(subscription)
    found = seen.catalog(key.catalog, key.catalog_namespace)
    serves = found is not None and text(kinds.spec(found).get("address")).startswith(
        f"{key.catalog}.{key.catalog_namespace}.svc:"
    )
    return found if found is not None and serves and install_objects.is_ours(found) else None


async def _next(
    reader: ClusterObjects, options: UpgradeOptions, current: str, report: Report
) -> str:
    """The CSV that OLM goes to next, or nothing when it has settled on `current`."""
    clock = asyncio.get_running_loop().time
    end = clock() + (_SETTLES_WITH_GOAL if options.to else _SETTLES)
    has_said = False
    while True:
        seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
        subscription = upgrade_plan.require(seen, options.package)
        chosen = text(kinds.status(subscription).get("currentCSV"))
        if chosen and chosen != current:
            return chosen
        if clock() >= end or upgrade_plan.is_goal(current, options.to):
            return ""
        if not has_said:
            report(f"waiting for OLM to choose a version after `{current}`")
            has_said = True
        await asyncio.sleep(0.7)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hop:
    """One step of an upgrade: from the CSV `before` to `target`."""

    package: str
    namespace: str
    before: str
    target: str


async def _go(
    reader: ClusterObjects,
    hop: _Hop,
    *,
    report: Report,
    timeouts: Timeouts,
    announce: Announce | None = None,
) -> Explanation:
    """Approve the plan that leads to the target, and wait until it alone is there."""
    package, namespace, target = hop.package, hop.namespace, hop.target
    before = await cluster_read.snapshot(reader, namespace, logs=False)
    is_announced = announce is None

    async def act(seen: ClusterState, explanation: Explanation) -> None:
        nonlocal is_announced
        if announce is not None and not is_announced and install_plan.of_csv(seen.plans, target):
            found = await upgrade_plan.planned(reader, seen, target)
            notes = () if found else (f"the permissions of `{target}` cannot be read beforehand",)
            announce(upgrade_plan.plan_of(before, package, hop.before, (target,), found, notes))
            is_announced = True
        if not cluster_wait.is_approval(explanation):
            return
        for plan in cluster_wait.waiting_plans(seen):
            names = kinds.plan_csvs(plan)
            if target in names:
                report(f"approving {objects.name(plan)}: {', '.join(names)}")
                await cluster_wait.approve(reader, plan)

    found = await cluster_wait.until_ready(
        reader, package, namespace, report=report, target=target, act=act, timeouts=timeouts
    )
    if not found.is_ready:
        return found
    end = asyncio.get_running_loop().time() + timeouts.seconds
    while asyncio.get_running_loop().time() < end:
        seen = await cluster_read.snapshot(reader, namespace, logs=False)
        if not any(kinds.is_going(csv) for csv in seen.own_csvs()):
            break
        await asyncio.sleep(timeouts.interval)
    return found


async def _offer(
    reader: ClusterObjects,
    made: BundleUpgrade,
    options: UpgradeOptions,
    report: Report,
    timeouts: Timeouts,
) -> None:
    """Let a catalog of our own offer the bundle, and the Subscription take from it."""
    named, package = made.named, made.named.rendered.package
    key = kinds.subscription_key(made.subscription)
    channel = key.channel or named.channel
    served = Served(
        namespace=options.namespace,
        package=package,
        blobs=bundle_catalog.blobs(named.rendered, channel, replaces=made.plan.before),
        image=options.catalog_server,
        secrets=options.secrets,
    )
    for manifest in install_objects.served_objects(served):
        await reader.apply(manifest)
    await install.until_served(reader, served, report, timeouts)
    catalog = Catalog(
        name=served.name,
        namespace=options.namespace,
        address=served.address,
        secrets=options.secrets,
    )
    await reader.apply(install_objects.catalog_source(catalog, package))
    await install.adopt(reader, served)
    spec: dict[str, Any] = {
        "source": served.name,
        "sourceNamespace": options.namespace,
        "channel": channel,
    }
    await reader.merge(made.subscription, {"spec": spec})


async def _change_catalog(
    reader: ClusterObjects,
    subscription: Manifest,
    seen: ClusterState,
    reference: str,
    access: Access,
    report: Report,
) -> None:
    """Let the Subscription's catalog be another image."""
    catalog = upgrade_plan.own_source(seen, subscription)
    spec = kinds.spec(catalog)
    field = "image" if spec.get("image") else "address"
    if field == "image":
        await cluster_bundle.read_catalog(reference, access)
    name, place = objects.name(catalog), objects.namespace(catalog)
    report(f"catalog `{name}`: {spec.get(field)} → {reference}")
    await reader.merge(catalog, {"spec": {field: reference}})
    # The old pod answers until the new one is there; the state of the connection says when.
    await asyncio.sleep(2)
    for _ in range(200):
        found = await reader.find(kinds.CATALOG_SOURCE, name, place)
        if found is not None and kinds.connection_state(found) == "READY":
            return
        await asyncio.sleep(0.5)
