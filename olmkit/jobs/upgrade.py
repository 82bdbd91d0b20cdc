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

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.versions import InvalidVersionError, Version
from olmkit.catalog import graph
from olmkit.edges.access import Access
from olmkit.edges.objects import ClusterObjects
from olmkit.jobs import cluster_bundle, cluster_read, cluster_wait, install
from olmkit.jobs.cluster_bundle import Named
from olmkit.jobs.cluster_wait import Patience, Report
from olmkit.kube import objects
from olmkit.kube.api import Forbidden
from olmkit.kube.objects import Manifest, text
from olmkit.olm import bundle_catalog, install_plan, kinds, preview, wanted
from olmkit.olm.explain import explain
from olmkit.olm.explanation import Explanation, Standing
from olmkit.olm.preview import Preview
from olmkit.olm.snapshot import Snapshot
from olmkit.olm.wanted import Catalog, Served

# A catalog that has changed is read anew within this, and a newer version is planned.
_SETTLES = 15.0
_SETTLES_WITH_GOAL = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeOptions:
    """What to take where.

    `to` is a version or the name of a CSV; `catalog` replaces the image or address of the catalog.
    """

    namespace: str
    package: str = ""
    to: str = ""
    bundle: str = ""
    catalog: str = ""
    catalog_server: str = install.CATALOG_SERVER
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What an upgrade goes through, from `before`; no hops when there is nothing newer.

    `brings` is what the last hop brings, `has` what the installed CSV does.
    """

    package: str
    namespace: str
    before: str
    hops: tuple[str, ...]
    targets: tuple[str, ...]
    brings: Preview | None = field(repr=False)
    has: Preview | None = field(repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleUpgrade:
    """The bundle, what it finds, and the one hop to it."""

    named: Named
    seen: Snapshot = field(repr=False)
    subscription: Manifest = field(repr=False)
    way: Way


Announce = Callable[[Way], None]


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
    patience: Patience,
) -> Upgraded:
    """Go on to the newest version that is offered, or to `to`.

    Each hop is announced before its InstallPlan is approved, or as soon as OLM has made it.
    Raises `InputError` when nothing is installed, or when there is no way to `to`.
    """
    await cluster_read.require_olm(reader)
    package, goal = options.package, options.to
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    subscription = _require(seen, package)
    before = text(kinds.status(subscription).get("installedCSV"))
    if options.catalog:
        await _change_catalog(reader, subscription, seen, options.catalog, access, report)
    hops: list[str] = []
    clock = asyncio.get_running_loop().time
    deadline = clock() + patience.seconds

    def rest() -> Patience:
        return replace(patience, seconds=max(1.0, deadline - clock()))

    while True:
        current = hops[-1] if hops else before
        upcoming = await _next(reader, package, options, goal, current, report)
        if not upcoming:
            break
        report(f"going on to {upcoming}")
        found = await _hop(reader, package, options.namespace, upcoming, report, rest(), announce)
        if not found.is_ready:
            return Upgraded(package=package, before=before, hops=tuple(hops), explanation=found)
        hops.append(upcoming)
        if _is_goal(upcoming, goal):
            break
    reached = hops[-1] if hops else before
    if goal and not _is_goal(reached, goal):
        seen = await cluster_read.snapshot(reader, options.namespace)
        found = explain(seen, package, target=goal)
        if found.standing is not Standing.WAITING:
            return Upgraded(package=package, before=before, hops=tuple(hops), explanation=found)
        raise _no_way(reached, goal)
    explanation = await cluster_wait.until_ready(
        reader, package, options.namespace, report=report, patience=rest()
    )
    return Upgraded(package=package, before=before, hops=tuple(hops), explanation=explanation)


async def plan(reader: ClusterObjects, options: UpgradeOptions, access: Access) -> Way:
    """The way that an upgrade would take, as far as it can be known; nothing is written.

    Raises `InputError` when nothing is installed, or when there is no way to `to`.
    """
    await cluster_read.require_olm(reader)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    subscription = _require(seen, options.package)
    state, wish = kinds.status(subscription), kinds.wish(subscription)
    before, chosen = text(state.get("installedCSV")), text(state.get("currentCSV"))
    hops: tuple[str, ...] = (chosen,) if chosen not in ("", before) else ()
    if options.catalog:
        _own_source(seen, subscription)
    source = seen.catalog(wish.catalog, wish.catalog_namespace)
    image = text(kinds.spec(source).get("image")) if source else ""
    if image and options.catalog:
        image = options.catalog
    has = seen.csv(before)
    brings = await _planned(reader, seen, chosen) if hops else None
    try:
        if not image:
            raise InputError("it is named by an address, not by an image")
        catalog = (await cluster_bundle.read_catalog(image, access)).catalog
    except OlmkitError as error:
        if image and options.catalog:  # the upgrade itself would stop here too
            raise
        note = f"the catalog cannot be read from here, so later hops are not known: {error.message}"
        return _way(seen, options.package, before, hops, brings, has, (note,))
    package = catalog.chosen(wish.package)[0]
    channel = package.channels.get(wish.channel or package.default_channel)
    if channel is None:
        raise InputError(f"package `{package.name}` has no channel `{wish.channel}`")
    start = hops[-1] if hops else before
    if not _is_goal(start, options.to):
        hops += graph.way(channel, start, _version(seen.csv(start)))
    if options.to and not _is_goal(before, options.to):
        reached = next((n for n, hop in enumerate(hops, 1) if _is_goal(hop, options.to)), 0)
        if not reached:
            raise _no_way(hops[-1] if hops else before, options.to)
        hops = hops[:reached]
    elif options.to:
        hops = ()
    notes: tuple[str, ...] = ()
    if hops and hops[-1] in channel.entries:
        last = await cluster_bundle.choose(
            catalog, package.name, access, channel=channel.name, version=hops[-1]
        )
        brings = last.preview or (brings if hops == (chosen,) else None)
        notes = (last.note,) if last.note and brings is None else ()
    return _way(seen, options.package, before, hops, brings, has, notes)


async def plan_bundle(
    reader: ClusterObjects, options: UpgradeOptions, access: Access
) -> BundleUpgrade:
    """What going on to a bundle means; nothing is written.

    Raises `InputError` when nothing of its package is installed, or the bundle itself is.
    """
    await cluster_read.require_olm(reader)
    named = await cluster_bundle.read_bundle(options.bundle, access)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    subscription = _require(seen, named.rendered.package)
    installed = text(kinds.status(subscription).get("installedCSV"))
    if installed == named.rendered.name:
        raise InputError(f"`{installed}` is installed already")
    package, goal, has = named.rendered.package, named.rendered.name, seen.csv(installed)
    way = _way(seen, package, installed, (goal,), named.preview, has, ())
    return BundleUpgrade(named=named, seen=seen, subscription=subscription, way=way)


async def to_bundle(
    reader: ClusterObjects,
    made: BundleUpgrade,
    options: UpgradeOptions,
    *,
    report: Report,
    patience: Patience,
) -> Upgraded:
    """Go on to a bundle, which is one hop away since its catalog says so."""
    package, goal = made.named.rendered.package, made.named.rendered.name
    old = _own_catalog(made.seen, made.subscription)
    await _offer(reader, made, options, report, patience)
    report(f"going on to {goal}")
    found = await _hop(reader, package, options.namespace, goal, report, patience)
    if found.is_ready and old is not None:
        await reader.delete(old)
    hops = (goal,) if found.is_ready else ()
    return Upgraded(package=package, before=made.way.before, hops=hops, explanation=found)


def _own_catalog(seen: Snapshot, subscription: Manifest) -> Manifest | None:
    """The catalog of one bundle that the Subscription has taken from, if olmkit made it."""
    wish = kinds.wish(subscription)
    found = seen.catalog(wish.catalog, wish.catalog_namespace)
    serves = found is not None and text(kinds.spec(found).get("address")).startswith(
        f"{wish.catalog}.{wish.catalog_namespace}.svc:"
    )
    return found if found is not None and serves and wanted.is_ours(found) else None


def _require(seen: Snapshot, package: str) -> Manifest:
    subscription = seen.subscription(package)
    if subscription is None:
        explanation = explain(seen, package)
        raise InputError(explanation.message, hint=explanation.hint)
    return subscription


async def _next(
    reader: ClusterObjects,
    package: str,
    options: UpgradeOptions,
    goal: str,
    current: str,
    report: Report,
) -> str:
    """The CSV that OLM goes to next, or nothing when it has settled on `current`."""
    clock = asyncio.get_running_loop().time
    end = clock() + (_SETTLES_WITH_GOAL if goal else _SETTLES)
    has_said = False
    while True:
        seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
        subscription = _require(seen, package)
        chosen = text(kinds.status(subscription).get("currentCSV"))
        if chosen and chosen != current:
            return chosen
        if clock() >= end or _is_goal(current, goal):
            return ""
        if not has_said:
            report(f"waiting for OLM to choose a version after `{current}`")
            has_said = True
        await asyncio.sleep(0.7)


async def _hop(
    reader: ClusterObjects,
    package: str,
    namespace: str,
    target: str,
    report: Report,
    patience: Patience,
    announce: Announce | None = None,
) -> Explanation:
    """Approve the plan that leads to `target`, and wait until it alone is there."""
    before = await cluster_read.snapshot(reader, namespace, logs=False)
    installed = text(kinds.status(_require(before, package)).get("installedCSV"))
    is_announced = announce is None

    async def act(seen: Snapshot, explanation: Explanation) -> None:
        nonlocal is_announced
        if announce is not None and not is_announced and install_plan.of_csv(seen.plans, target):
            found = await _planned(reader, seen, target)
            has = before.csv(installed)
            notes = () if found else (f"the permissions of `{target}` cannot be read beforehand",)
            announce(_way(seen, package, installed, (target,), found, has, notes))
            is_announced = True
        if not cluster_wait.is_approval(explanation):
            return
        for plan in cluster_wait.waiting_plans(seen):
            names = kinds.plan_csvs(plan)
            if target in names:
                report(f"approving {objects.name(plan)}: {', '.join(names)}")
                await cluster_wait.approve(reader, plan)

    found = await cluster_wait.until_ready(
        reader, package, namespace, report=report, target=target, act=act, patience=patience
    )
    if not found.is_ready:
        return found
    end = asyncio.get_running_loop().time() + patience.seconds
    while asyncio.get_running_loop().time() < end:
        seen = await cluster_read.snapshot(reader, namespace, logs=False)
        if not any(kinds.phase(csv) in ("Replacing", "Deleting") for csv in seen.own_csvs()):
            break
        await asyncio.sleep(patience.interval)
    return found


async def _offer(
    reader: ClusterObjects,
    made: BundleUpgrade,
    options: UpgradeOptions,
    report: Report,
    patience: Patience,
) -> None:
    """Let a catalog of our own offer the bundle, and the Subscription take from it."""
    named, package = made.named, made.named.rendered.package
    wish = kinds.wish(made.subscription)
    channel = wish.channel or named.channel
    served = Served(
        namespace=options.namespace,
        package=package,
        blobs=bundle_catalog.blobs(named.rendered, channel, replaces=made.way.before),
        image=options.catalog_server,
        secrets=options.secrets,
    )
    for manifest in wanted.served_objects(served):
        await reader.apply(manifest)
    await install.until_served(reader, served, report, patience)
    catalog = Catalog(
        name=served.name,
        namespace=options.namespace,
        address=served.address,
        secrets=options.secrets,
    )
    await reader.apply(wanted.catalog_source(catalog, package))
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
    seen: Snapshot,
    reference: str,
    access: Access,
    report: Report,
) -> None:
    """Let the Subscription's catalog be another image."""
    catalog = _own_source(seen, subscription)
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


def _own_source(seen: Snapshot, subscription: Manifest) -> Manifest:
    """The CatalogSource of the Subscription; raises `InputError` unless olmkit made it."""
    wish = kinds.wish(subscription)
    catalog = seen.catalog(wish.catalog, wish.catalog_namespace)
    if catalog is None:
        raise InputError(f"the CatalogSource `{wish.catalog}` is gone")
    if not wanted.is_ours(catalog):
        raise InputError(
            f"the CatalogSource `{wish.catalog}` was not made by olmkit, which leaves it alone",
            hint="publish the new catalog under the image it names",
        )
    return catalog


async def _planned(reader: ClusterObjects, seen: Snapshot, csv: str) -> Preview | None:
    """What the InstallPlan brings that leads to a CSV, where it can be read."""
    made = install_plan.of_csv(seen.plans, csv)
    found = install_plan.step(made, csv) if made else {}
    if found.get("kind") == "ConfigMap":
        place = text(found.get("namespace"))
        try:
            config = await reader.find(("v1", "ConfigMap"), text(found.get("name")), place)
        except Forbidden:
            config = None
        found = install_plan.unpacked(config, csv) if config else {}
    return preview.of_csv(found) if found else None


def _way(
    seen: Snapshot,
    package: str,
    before: str,
    hops: tuple[str, ...],
    brings: Preview | None,
    has: Manifest | None,
    notes: tuple[str, ...],
) -> Way:
    return Way(
        package=package,
        namespace=seen.namespace,
        before=before,
        hops=hops,
        targets=kinds.target_namespaces(seen.groups[0]) if seen.groups else (),
        brings=brings,
        has=preview.of_csv(has) if has else None,
        notes=notes,
    )


def _version(csv: Manifest | None) -> Version | None:
    try:
        return Version.parse(text(kinds.spec(csv).get("version"))) if csv else None
    except InvalidVersionError:
        return None


def _no_way(reached: str, goal: str) -> InputError:
    return InputError(
        f"no way leads from `{reached}` to `{goal}`: the catalog offers no next version",
        hint="`olmkit catalog graph` shows what replaces what",
    )


def _is_goal(csv: str, goal: str) -> bool:
    """Whether a CSV is the one that was named, or is named by its version as is the custom."""
    if not goal:
        return False
    return csv == goal or csv.endswith(f".v{goal}") or csv.partition(".")[2] == goal
