"""Upgrade an operator through OLM v0, hop by hop.

OLM chooses the next version. The job approves it if approval is manual, and waits until it has
replaced the old one. For a bundle, a catalog created by olmkit offers it as the next version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.bundle import NamedBundle
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v0 import fit, install, retry, upgrade_plan, upgrade_wait
from olmkit.jobs.cluster_v0.upgrade_plan import UpgradeOptions, UpgradePlan
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import bundle_catalog, install_objects, install_plan, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.install_objects import ServedCatalog, SubscribedCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleUpgrade:
    """An upgrade to a bundle: the bundle, the state of the cluster, and the hop.

    `served` is the catalog to create, and `spec` the changes of the Subscription to use it.
    """

    named: NamedBundle
    seen: ClusterState = field(repr=False)
    subscription: Manifest = field(repr=False)
    plan: UpgradePlan
    served: ServedCatalog = field(repr=False)
    spec: Mapping[str, Any] = field(repr=False)


Announce = Callable[[UpgradePlan], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """The previous version, the versions in between, and the final state.

    `is_known`: the catalog was read, so that there are no other versions. `notes`: reasons why more
    versions may exist, or why there is none.
    """

    package: str
    before: str
    hops: tuple[str, ...]
    explanation: Explanation
    notes: tuple[str, ...] = ()
    is_known: bool = True


async def upgrade(
    reader: ClusterObjects,
    options: UpgradeOptions,
    access: Access,
    *,
    announce: Announce,
    report: Report,
    timeouts: Timeouts,
) -> Upgraded:
    """Upgrade to the newest offered version, or to `to`; first change the channel if requested.

    Waits until the time limit for versions that the catalog offers. Each hop is announced before
    its InstallPlan is approved, or as soon as OLM has created it. Raises `InputError` if the
    operator is not installed, if there is no upgrade path to `to`, or if the cluster would reject a
    version on the path.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeouts.seconds

    await cluster_read.require_olm(reader)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    subscription = await upgrade_plan.require_installed(reader, seen, options.package)
    retried = None
    if options.retry:
        left = timeouts.rest(deadline)
        retried = await retry.reset(reader, seen, subscription, report=report, timeouts=left)
    plan = _with_retried(await upgrade_plan.plan(reader, options, access), retried)
    if options.catalog:
        left, pinned = timeouts.rest(deadline), plan.pinned
        await _change_catalog(
            reader, subscription, seen, options.catalog, pinned=pinned, report=report, timeouts=left
        )
    if upgrade_plan.channel_change(subscription, options):
        await _change_channel(reader, subscription, seen, plan, options, report=report)
    watch = upgrade_wait.UpgradeWatch(
        reader, options, plan, report=report, timeouts=timeouts, deadline=deadline
    )
    before, hops = plan.before, list[str]()

    # An InstallPlan that waits may be for a later version than the requested one.
    while not upgrade_plan.is_goal(current := hops[-1] if hops else before, options.to):
        upcoming = await watch.next(current, expected=_next_hop(current, plan))
        if isinstance(upcoming, Explanation):
            return _ended(plan, hops, upcoming)
        if not upcoming:
            break
        report(f"continuing to {upcoming}")
        hop = _Hop(package=plan.package, namespace=plan.namespace, before=current, target=upcoming)
        found = await _go(
            reader, hop, report=report, timeouts=timeouts.rest(deadline), announce=announce
        )
        if not found.is_ready:
            return _ended(plan, hops, found)
        hops.append(upcoming)
    reached = hops[-1] if hops else before
    if options.to and not upgrade_plan.is_goal(reached, options.to):
        key = kinds.subscription_key(subscription)
        raise upgrade_plan.no_path_error(before, options.to, end=reached, key=key)
    found = await cluster_wait.wait_until_ready(
        reader, plan.package, plan.namespace, report=report, timeouts=timeouts.rest(deadline)
    )
    return _ended(plan, hops, found)


def _ended(plan: UpgradePlan, hops: Sequence[str], found: Explanation) -> Upgraded:
    """Return the end of an upgrade after these hops."""
    if not found.is_ready and not hops:
        found = replace(found, details=(*found.details, *plan.ailing))
    return Upgraded(
        package=plan.package,
        before=plan.before,
        hops=tuple(hops),
        explanation=found,
        notes=plan.absent if plan.is_known else plan.notes,
        is_known=plan.is_known,
    )


def _with_retried(plan: UpgradePlan, retried: retry.Retried | None) -> UpgradePlan:
    """Return the plan with the hop that is tried again."""
    if retried is not None and plan.before == retried.target:
        # OLM upgraded before the cluster was read.
        return replace(plan, before=retried.before, hops=(retried.target, *plan.hops))
    if retried is not None and not plan.is_known:
        return replace(plan, hops=(retried.target,))
    return plan


def _next_hop(current: str, plan: UpgradePlan) -> str:
    """Return the hop after a CSV; empty at the end, or if the CSV is not on the path."""
    way = (plan.before, *plan.hops)
    return next((new for old, new in pairwise(way) if old == current), "")


async def plan_bundle(
    reader: ClusterObjects, options: UpgradeOptions, access: Access
) -> BundleUpgrade:
    """Plan the upgrade to a bundle; nothing is written.

    Raises `InputError` if its package is not installed, or if the bundle is already installed.
    """
    await cluster_read.require_olm(reader)
    named = await cluster_bundle.require_bundle(options.bundle, access)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    subscription = await upgrade_plan.require_installed(reader, seen, named.rendered.package)
    installed = seen.installed(subscription)
    if installed == named.rendered.name:
        raise InputError(f"`{installed}` is installed already", cause="already-installed")
    package, goal = named.rendered.package, named.rendered.name
    waiting = _waiting_elsewhere(seen, subscription, goal)
    instead = f"instead of {', '.join(kinds.plan_csvs(waiting))}, which waits for approval"
    served, spec = _serve(named, subscription, options, replaces=installed)
    content = catalog_job.read(
        options.bundle, tree=Tree({"catalog.json": served.blobs}), valid=False
    )
    asking = {**subscription, "spec": {**kinds.spec(subscription), **spec}}
    unknown = await upgrade_plan.unresolved(seen, asking, goal, content, access)
    await fit.require(reader, seen, named.manifests, replaces=installed)
    changed = await fit.notes(reader, seen, named.manifests, installed)
    notes = (*((instead,) if waiting else ()), *unknown, *changed)
    return BundleUpgrade(
        named=named,
        seen=seen,
        subscription=subscription,
        plan=upgrade_plan.plan_of(seen, package, installed, (goal,), named.preview, notes),
        served=served,
        spec=spec,
    )


def _serve(
    named: NamedBundle, subscription: Manifest, options: UpgradeOptions, *, replaces: str
) -> tuple[ServedCatalog, dict[str, Any]]:
    """Return the catalog that offers the bundle, and the changes of the Subscription to use it."""
    channel = kinds.subscription_key(subscription).channel or named.channel
    served = ServedCatalog(
        namespace=options.namespace,
        package=named.rendered.package,
        blobs=bundle_catalog.blobs(named.rendered, channel, replaces=replaces),
        image=options.catalog_server,
        secrets=options.secrets,
    )
    spec = {"source": served.name, "sourceNamespace": options.namespace, "channel": channel}
    return served, spec


async def to_bundle(
    reader: ClusterObjects,
    upgrade: BundleUpgrade,
    options: UpgradeOptions,
    *,
    report: Report,
    timeouts: Timeouts,
) -> Upgraded:
    """Upgrade to a bundle, which its catalog offers as the next hop."""
    plan, goal = upgrade.plan, upgrade.named.rendered.name
    old = _find_created_catalog(upgrade.seen, upgrade.subscription)
    await _offer(reader, upgrade, options, report, timeouts)
    waiting = _waiting_elsewhere(upgrade.seen, upgrade.subscription, goal)
    if waiting is not None:
        # OLM does not resolve another version while that one waits for approval.
        report(f"deleting {explanation.subject(waiting)}")
        await reader.delete(waiting)
    report(f"continuing to {goal}")
    hop = _Hop(package=plan.package, namespace=plan.namespace, before=plan.before, target=goal)
    found = await _go(reader, hop, report=report, timeouts=timeouts)
    if found.is_ready and old is not None:
        await reader.delete(old)
    hops = (goal,) if found.is_ready else ()
    return Upgraded(package=plan.package, before=plan.before, hops=hops, explanation=found)


def _waiting_elsewhere(seen: ClusterState, subscription: Manifest, goal: str) -> Manifest | None:
    """Return the Subscription's unapproved InstallPlan if it is for another version."""
    plan = seen.plan(kinds.plan_name(subscription))
    is_waiting = plan is not None and plan in cluster_wait.waiting_plans(seen)
    return plan if is_waiting and goal not in kinds.plan_csvs(plan) else None


def _find_created_catalog(seen: ClusterState, subscription: Manifest) -> Manifest | None:
    """Return the Subscription's catalog with one bundle, if olmkit created it."""
    key = kinds.subscription_key(subscription)
    found = seen.catalog(key.catalog, key.catalog_namespace)
    serves = found is not None and text(kinds.spec(found).get("address")).startswith(
        f"{key.catalog}.{key.catalog_namespace}.svc:"
    )
    return found if found is not None and serves and install_objects.is_ours(found) else None


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
    """Approve the plan for the target, and wait until only the target is installed."""
    package, namespace, target = hop.package, hop.namespace, hop.target
    before = await cluster_read.snapshot(reader, namespace, logs=False)
    is_announced = announce is None

    async def act(seen: ClusterState, explanation: Explanation) -> bool:
        nonlocal is_announced
        if (
            announce is not None
            and not is_announced
            and install_plan.find_for_csv(seen.plans, target)
        ):
            found = await upgrade_plan.preview_plan(reader, seen, target)
            unread = () if found else (f"the permissions of `{target}` cannot be read in advance",)
            subscription = seen.subscription(package)
            also = upgrade_plan.shared_plan_note(seen, subscription, target) if subscription else ()
            notes = (*unread, *also)
            announce(upgrade_plan.plan_of(before, package, hop.before, (target,), found, notes))
            is_announced = True
        if not cluster_wait.is_approval(explanation):
            return False
        has_approved = False
        for plan in cluster_wait.waiting_plans(seen):
            names = kinds.plan_csvs(plan)
            if target in names:
                manifests = await upgrade_plan.contents(reader, plan)
                await fit.require(reader, seen, manifests, replaces=hop.before, is_whole=True)
                report(f"approving {objects.name(plan)}: {', '.join(names)}")
                await cluster_wait.approve(reader, plan)
                has_approved = True
        return has_approved

    end = asyncio.get_running_loop().time() + timeouts.seconds
    found = await cluster_wait.wait_until_ready(
        reader, package, namespace, report=report, target=target, act=act, timeouts=timeouts
    )
    if not found.is_ready:
        return found
    return await upgrade_wait.wait_until_complete(
        reader, package, namespace, target, found=found, timeouts=timeouts, end=end
    )


async def _offer(
    reader: ClusterObjects,
    upgrade: BundleUpgrade,
    options: UpgradeOptions,
    report: Report,
    timeouts: Timeouts,
) -> None:
    """Create a catalog that offers the bundle, and change the Subscription to use it."""
    served = upgrade.served
    for manifest in install_objects.served_objects(served):
        await reader.apply(manifest)
    await install.wait_until_served(reader, served, report, timeouts)
    catalog = SubscribedCatalog(
        name=served.name,
        namespace=options.namespace,
        address=served.address,
        secrets=options.secrets,
    )
    await reader.apply(install_objects.catalog_source(catalog, served.package))
    await install.adopt(reader, served)
    await reader.merge(upgrade.subscription, {"spec": upgrade.spec})


async def _change_channel(
    reader: ClusterObjects,
    subscription: Manifest,
    seen: ClusterState,
    plan: UpgradePlan,
    options: UpgradeOptions,
    *,
    report: Report,
) -> None:
    """Change the channel of the Subscription.

    OLM does not choose a version of the new channel while another one waits for approval.
    """
    old = kinds.subscription_key(subscription).channel
    report(f"channel: {old or 'default'} → {options.channel}")
    await reader.merge(subscription, {"spec": upgrade_plan.channel_change(subscription, options)})
    waiting = _waiting_elsewhere(seen, subscription, plan.hops[0] if plan.hops else plan.before)
    if waiting is not None:
        report(f"deleting {explanation.subject(waiting)}")
        await reader.delete(waiting)


async def _change_catalog(
    reader: ClusterObjects,
    subscription: Manifest,
    seen: ClusterState,
    reference: str,
    *,
    pinned: str,
    report: Report,
    timeouts: Timeouts,
) -> None:
    """Change the image or address of the Subscription's catalog, and wait until OLM reads it.

    If the image has the same tag with new contents, `pinned`, its pod is replaced.
    """
    catalog = upgrade_plan.require_created_source(seen, subscription)
    field = upgrade_plan.source_field(catalog)
    name, place = objects.name(catalog), objects.namespace(catalog)
    if kinds.spec(catalog).get(field) != reference:
        report(f"catalog `{name}`: {kinds.spec(catalog).get(field)} → {reference}")
        await reader.merge(catalog, {"spec": {field: reference}})
    elif field == "image" and upgrade_plan.is_outdated(seen, catalog, pinned):
        report(f"catalog `{name}`: replacing its pod, which runs an older `{reference}`")
        for pod in seen.pods_of(place, {kinds.CATALOG_LABEL: name}):
            await reader.delete(pod)
    else:
        return
    end = asyncio.get_running_loop().time() + timeouts.seconds
    while asyncio.get_running_loop().time() < end:
        found = await reader.find(kinds.CATALOG_SOURCE, name, place)
        pods = await reader.list(("v1", "Pod"), place, labels=f"{kinds.CATALOG_LABEL}={name}")
        if upgrade_wait.is_read(found, pods, field, reference):
            return
        await asyncio.sleep(timeouts.interval)
