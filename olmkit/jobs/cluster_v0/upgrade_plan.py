"""Plan an upgrade: the versions on the path, and the changes.

The path starts with OLM's own choice, if there is one; the following hops are read from the
catalog. Data that cannot be read are reported in a note and do not stop the upgrade.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.versions import Version
from olmkit.catalog.graph import upgrades
from olmkit.catalog.model import Catalog as Model
from olmkit.catalog.model import Channel
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import conflicts, offered
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster_v0 import fit, install_choice
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import install_objects, install_plan, kinds, preview
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.installs import explain
from olmkit.olm.kinds import SubscriptionKey
from olmkit.olm.preview import Preview
from olmkit.olm.resolver import report as resolver_report


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeOptions:
    """The options of an upgrade.

    `to` is a version or the name of a CSV; `channel` replaces the channel of the Subscription, and
    `catalog` the image or address of the catalog; `retry`: remove the objects of a failed
    InstallPlan first.
    """

    namespace: str
    package: str = ""
    to: str = ""
    channel: str = ""
    bundle: str = ""
    catalog: str = ""
    catalog_server: str = install_choice.CATALOG_SERVER
    secrets: tuple[str, ...] = ()
    retry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePlan:
    """The path of an upgrade from `before`; without hops if there is no newer version.

    `brings` is the preview of the last hop, `has` that of the installed CSV. `is_known`: the
    catalog was read, so that all hops are known; `pinned` is its pinned image. `absent` is a note
    that the catalog does not have the installed version, `ailing` one that it does not run. `left`
    is the CSV that OLM has chosen in the channel before the change, if the new channel does not
    lead to it.
    """

    package: str
    namespace: str
    before: str
    hops: tuple[str, ...]
    targets: tuple[str, ...]
    brings: Preview | None = field(repr=False)
    has: Preview | None = field(repr=False)
    notes: tuple[str, ...] = ()
    is_known: bool = False
    pinned: str = ""
    absent: tuple[str, ...] = ()
    ailing: tuple[str, ...] = ()
    left: str = ""


async def plan(reader: ClusterObjects, options: UpgradeOptions, access: Access) -> UpgradePlan:
    """Return the path of an upgrade, as far as it is known; nothing is written.

    Raises `InputError` if the operator is not installed, if there is no upgrade path to `to`, or if
    the cluster would reject the first version on the path.
    """
    await cluster_read.require_olm(reader)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    present = await require_installed(reader, seen, options.package)
    subscription = present | {"spec": {**kinds.spec(present), **channel_change(present, options)}}
    key = kinds.subscription_key(subscription)
    before = seen.installed(subscription)
    chosen = text(kinds.status(subscription).get("currentCSV"))
    # What OLM has chosen in another channel does not count.
    is_chosen = chosen not in ("", before) and not channel_change(present, options)
    pending: tuple[str, ...] = (chosen,) if is_chosen else ()
    brings = await preview_plan(reader, seen, chosen) if pending else None
    also = shared_plan_note(seen, subscription, chosen) if pending else ()
    source = _source(seen, subscription, options)
    try:
        shelf = await _read(source, access)
    except OlmkitError as error:
        if options.catalog and not kinds.spec(source).get("address"):
            raise  # the upgrade itself would stop here too
        note = f"the catalog cannot be read from here, so later hops are not known: {error.message}"
        if kinds.spec(subscription).get("installPlanApproval") != "Manual":
            note += "; approval is automatic, so OLM installs them unchecked"
        ailing = await _health_note(reader, seen, key.package, before)
        known = plan_of(seen, key.package, before, pending, brings, (*ailing, *also, note))
        return replace(known, ailing=ailing)
    if options.catalog and not shelf.address:
        catalog_job.require_servable(options.catalog, shelf.catalog)
    channel = _channel(shelf.catalog, key)
    hops = _hops(channel, seen, key, before, pending, options.to)
    moves = _channel_note(present, key)
    notes: tuple[str, ...] = ()
    if hops and hops[-1] in channel.entries:
        last = await _bundle(shelf, key.package, channel, hops[-1], access)
        brings = last.preview or (brings if hops == pending else None)
        notes = cluster_bundle.unread_notes(last) if brings is None else ()
        if len(hops) > 1:
            notes += await _unfit(reader, seen, last, before)
    if hops and not pending:  # a waiting InstallPlan is checked before its approval
        first = await _bundle(shelf, key.package, channel, hops[0], access)
        notes += tuple(one for one in cluster_bundle.unread_notes(first) if one not in notes)
        notes += await unresolved(seen, subscription, hops[0], shelf.catalog, access)
        is_changed = source != source_of(seen, present) or channel_change(present, options)
        try:
            await fit.require(reader, seen, first.manifests, replaces=before)
        except InputError as error:
            is_offered = before and not is_changed
            raise (as_olm_approves(error, subscription) if is_offered else error) from None
        notes += await fit.notes(reader, seen, first.manifests, before)
    absent = () if hops or not before else _absence_note(channel, key, before)
    ailing = await _health_note(reader, seen, key.package, before)
    notes = (*moves, *ailing, *also, *notes, *absent)
    made = plan_of(seen, key.package, before, hops, brings, notes)
    left = chosen if chosen not in (before, *hops) else ""
    return replace(
        made, is_known=True, pinned=shelf.pinned, absent=absent, ailing=ailing, left=left
    )


def channel_change(subscription: Manifest, options: UpgradeOptions) -> dict[str, str]:
    """Return what a change of the channel changes in the `spec` of a Subscription."""
    present = kinds.subscription_key(subscription).channel
    return {"channel": options.channel} if options.channel not in ("", present) else {}


def _channel_note(present: Manifest, key: SubscriptionKey) -> tuple[str, ...]:
    """Return a note that the Subscription changes to the channel of `key`."""
    old = kinds.subscription_key(present).channel
    before = f" from `{old}`" if old else ""
    return (f"the channel changes{before} to `{key.channel}`",) if key.channel != old else ()


def _absence_note(channel: Channel, key: SubscriptionKey, before: str) -> tuple[str, ...]:
    """Return a note that the catalog does not have the installed version, from which it upgrades.

    The catalog may be older than the installed version.
    """
    if before in channel.entries:
        return ()
    newest = upgrades.newest(upgrades.order(channel))
    head = f", whose newest version is `{newest.name}`" if newest else ""
    note = (
        f"channel `{channel.name}` of the catalog `{key.catalog_namespace}/{key.catalog}`{head}, "
        f"has neither `{before}` nor an upgrade from it"
    )
    return (note,)


async def _health_note(
    reader: ClusterObjects, seen: ClusterState, package: str, before: str
) -> tuple[str, ...]:
    """Return a note that the installed version does not run, since an upgrade may not repair it."""
    if not before or explain(seen, package, target=before).is_ready:
        return ()
    found = explain(await cluster_read.add_details(reader, seen), package, target=before)
    return () if found.is_ready else (f"`{before}` itself is not ready: {found.message}",)


async def unresolved(
    seen: ClusterState, subscription: Manifest, csv: str, catalog: Model, access: Access
) -> tuple[str, ...]:
    """Return a note that OLM may be unable to choose a version; raise `InputError` if certain.

    `subscription` replaces the existing one, whose channel or catalog may differ.
    """
    name = objects.name(subscription)
    others = (one for one in seen.subscriptions if objects.name(one) != name)
    seen = replace(seen, subscriptions=(subscription, *others))
    found = await conflicts.of_upgrade(seen, subscription, csv, catalog, access)
    if not found.facts:
        return ()
    reason = resolver_report.join_sentences(found.facts)
    if found.unread and not found.is_unreadable:
        names = ", ".join(f"`{one.namespace}/{one.name}`" for one in found.unread)
        return (f"{reason}; other catalogs may change that, but cannot be read from here: {names}",)
    raise InputError(
        f"OLM cannot upgrade to `{csv}` in namespace `{seen.namespace}`: {reason}",
        hint=conflicts.hint(found),
        cause="resolution-failed",
    )


async def _unfit(
    reader: ClusterObjects, seen: ClusterState, last: cluster_bundle.ChosenVersion, before: str
) -> tuple[str, ...]:
    """Return a note that the last version does not fit the current cluster, which may change."""
    try:
        await fit.require(reader, seen, last.manifests, replaces=before)
    except InputError as error:
        return (f"`{last.csv}` does not fit the cluster as it is now: {error.message}",)
    return ()


def shared_plan_note(seen: ClusterState, subscription: Manifest, chosen: str) -> tuple[str, ...]:
    """Return a note on what else the InstallPlan that waits for approval installs."""
    made = seen.plan(kinds.plan_name(subscription))
    others = [name for name in kinds.plan_csvs(made or {}) if name != chosen]
    if kinds.phase(made) != "RequiresApproval" or not others or made is None:
        return ()
    listed = ", ".join(f"`{name}`" for name in others)
    return (f"approving the InstallPlan `{objects.name(made)}` also installs {listed}",)


def as_olm_approves(error: InputError, subscription: Manifest) -> InputError:
    """Return the error for an offered version, which OLM may still approve automatically."""
    if kinds.spec(subscription).get("installPlanApproval") == "Manual":
        return error
    name, namespace = objects.name(subscription), objects.namespace(subscription)
    patch = '{"spec":{"installPlanApproval":"Manual"}}'
    warning = (
        "approval is automatic, so OLM may install that version without confirmation: "
        f"`kubectl patch subscription {name} -n {namespace} --type merge -p '{patch}'` prevents it"
    )
    return InputError(error.message, hint="; ".join(filter(None, (error.hint, warning))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CatalogSourceContent:
    """A catalog that was read from an image or from an address."""

    catalog: Model
    pinned: str = ""
    address: str = ""


async def _read(source: Manifest, access: Access) -> _CatalogSourceContent:
    address, image = (text(kinds.spec(source).get(key)) for key in ("address", "image"))
    if address:
        return _CatalogSourceContent(catalog=await offered.read_address(address), address=address)
    if not image:
        raise InputError("it names neither an image nor an address")
    found = await cluster_bundle.read_catalog(image, access)
    return _CatalogSourceContent(catalog=found.catalog, pinned=found.pinned)


async def _bundle(
    shelf: _CatalogSourceContent, package: str, channel: Channel, csv: str, access: Access
) -> cluster_bundle.ChosenVersion:
    """Return a preview of a bundle of the catalog, if it can be read."""
    if shelf.address:
        found = await cluster_bundle.choose_from_server(
            shelf.address, package, access, channel=channel.name, name=csv
        )
        if found is not None:
            return found
    return await cluster_bundle.choose(
        shelf.catalog, package, access, channel=channel.name, version=csv
    )


def _source(seen: ClusterState, subscription: Manifest, options: UpgradeOptions) -> Manifest:
    """Return the CatalogSource of the Subscription, with the requested changes."""
    if options.catalog:
        found = require_created_source(seen, subscription)
        return {**found, "spec": {**kinds.spec(found), source_field(found): options.catalog}}
    return source_of(seen, subscription) or {}


def source_of(seen: ClusterState, subscription: Manifest) -> Manifest | None:
    """Return the CatalogSource that a Subscription names."""
    key = kinds.subscription_key(subscription)
    return seen.catalog(key.catalog, key.catalog_namespace)


def source_field(source: Manifest) -> str:
    """Return the field of a CatalogSource that locates the catalog; an address takes precedence."""
    return "address" if kinds.spec(source).get("address") else "image"


def is_outdated(seen: ClusterState, source: Manifest | None, pinned: str) -> bool:
    """Return whether the pods of a catalog run an older image than its tag refers to."""
    wanted = pinned.rpartition("@")[2]
    if source is None or not wanted:
        return False
    labels = {kinds.CATALOG_LABEL: objects.name(source)}
    running = {
        text(objects.mapping(one).get("imageID")).rpartition("@")[2]
        for pod in seen.pods_of(objects.namespace(source), labels)
        for part in ("initContainerStatuses", "containerStatuses")
        for one in objects.sequence(kinds.status(pod).get(part))
    }
    return any(running) and wanted not in running


def poll_interval(source: Manifest | None) -> str:
    """Return the interval in which OLM polls the catalog's image; empty if it does not."""
    strategy = objects.mapping(kinds.spec(source).get("updateStrategy"))
    return text(objects.mapping(strategy.get("registryPoll")).get("interval"))


def _channel(catalog: Model, key: SubscriptionKey) -> Channel:
    """Return the channel that a Subscription follows; raise `InputError` if it does not exist."""
    place = f"the catalog `{key.catalog_namespace}/{key.catalog}`"
    package = catalog.packages.get(key.package)
    if package is None:
        raise InputError(
            f"{place} does not have the package `{key.package}`, so it offers no upgrade",
            hint="publish a catalog that has the package, or let the Subscription name another one",
            cause="no-such-package",
        )
    name = key.channel or package.default_channel
    if name not in package.channels:
        existing = ", ".join(f"`{one}`" for one in sorted(package.channels))
        raise InputError(
            f"package `{package.name}` of {place} has no channel `{name}`",
            hint=f"it has {existing}: choose one with `--channel`",
            cause="no-such-channel",
        )
    return package.channels[name]


def _hops(
    channel: Channel,
    seen: ClusterState,
    key: SubscriptionKey,
    before: str,
    pending: tuple[str, ...],
    goal: str,
) -> tuple[str, ...]:
    """Return the hop that OLM has chosen and the following hops, up to the goal.

    Raises `InputError` if the goal is not reached.
    """
    if goal and is_goal(before, goal):
        return ()
    hops, start = pending, pending[-1] if pending else before
    if not is_goal(start, goal):
        hops += _offered_hops(channel, start, seen)
    if not goal:
        return hops
    for number, hop in enumerate(hops, 1):
        if is_goal(hop, goal):
            return hops[:number]
    raise no_path_error(before, goal, end=hops[-1] if hops else before, key=key)


def _offered_hops(channel: Channel, start: str, seen: ClusterState) -> tuple[str, ...]:
    if not start:
        first = upgrades.newest(upgrades.order(channel))
        return (first.name,) if first else ()
    installed = upgrades.start_of(
        channel.entries, start, Version.read(text(kinds.spec(seen.csv(start)).get("version")))
    )
    return tuple(hop.entry.name for hop in upgrades.upgrade_path(channel, installed).hops)


async def require_installed(reader: ClusterObjects, seen: ClusterState, package: str) -> Manifest:
    """Return the Subscription, or raise `InputError` that says where the package is."""
    if seen.subscription(package) is None:
        await cluster_read.require_not_of_v1(reader, seen, package, command="olmkit upgrade")
    return require_subscription(seen, package)


def require_subscription(seen: ClusterState, package: str) -> Manifest:
    """Return the Subscription of the package, or raise `InputError` with the reason."""
    subscription = seen.subscription(package)
    if subscription is None:
        explanation = explain(seen, package)
        raise InputError(explanation.message, hint=explanation.hint, cause=explanation.cause)
    return subscription


def require_created_source(seen: ClusterState, subscription: Manifest) -> Manifest:
    """Return the Subscription's CatalogSource, or raise `InputError` if not created by olmkit."""
    key = kinds.subscription_key(subscription)
    catalog = seen.catalog(key.catalog, key.catalog_namespace)
    if catalog is None:
        raise InputError(f"the CatalogSource `{key.catalog}` is gone", cause="no-such-catalog")
    if not install_objects.is_ours(catalog):
        raise InputError(
            f"the CatalogSource `{key.catalog}` was not created by olmkit, so olmkit does "
            f"not change it",
            hint="publish the new catalog under the image it names",
        )
    return catalog


async def contents(reader: ClusterObjects, made: Manifest) -> list[Manifest]:
    """Return the manifests that an InstallPlan applies, as far as they can be read."""
    found, configs = install_plan.contents(made)
    for place, name in sorted(configs):
        config = await cluster_read.or_default(reader.find(("v1", "ConfigMap"), name, place), None)
        found += install_plan.files(config) if config else ()
    return found


async def preview_plan(reader: ClusterObjects, seen: ClusterState, csv: str) -> Preview | None:
    """Return a preview of the InstallPlan for a CSV, if it can be read."""
    made = install_plan.find_for_csv(seen.plans, csv)
    found = install_plan.step(made, csv) if made else {}
    if found.get("kind") == "ConfigMap":
        place = text(found.get("namespace"))
        question = reader.find(("v1", "ConfigMap"), text(found.get("name")), place)
        config = await cluster_read.or_default(question, None)
        found = install_plan.find_unpacked_csv(config, csv) if config else {}
    return preview.preview_csv(found) if found else None


def plan_of(
    seen: ClusterState,
    package: str,
    before: str,
    hops: tuple[str, ...],
    brings: Preview | None,
    notes: tuple[str, ...] = (),
) -> UpgradePlan:
    """Return the plan from an installed CSV, with its current contents."""
    has = seen.csv(before)
    return UpgradePlan(
        package=package,
        namespace=seen.namespace,
        before=before,
        hops=hops,
        targets=kinds.target_namespaces(seen.groups[0]) if seen.groups else (),
        brings=brings,
        has=preview.preview_csv(has) if has else None,
        notes=notes,
    )


def no_path_error(start: str, goal: str, *, end: str, key: SubscriptionKey) -> InputError:
    """Return the error for a path from `start` that ends before `goal`, a CSV or a version."""
    place = f"catalogsource:{key.catalog_namespace}/{key.catalog}"
    hint = f"run `olmkit catalog graph {place} {key.package}` to see the upgrade edges"
    old, new = (Version.read(one.rpartition(".v")[2].removeprefix("v")) for one in (end, goal))
    if old is not None and new is not None and new < old:
        hint = "OLM does not downgrade: uninstall the operator, and install it with `--version`"
    why = "the catalog offers no next version" if start == end else f"it ends at `{end}`"
    return InputError(
        f"no upgrade path leads from `{start}` to `{goal}`: {why}", hint=hint, cause="no-way"
    )


def is_goal(csv: str, goal: str) -> bool:
    """Return whether a CSV has the given name or, by convention, version."""
    if not goal:
        return False
    return csv == goal or csv.endswith(f".v{goal}") or csv.partition(".")[2] == goal
