"""Install an operator through OLM v0: plan, create objects, and wait.

`plan` reads the cluster and writes nothing; it raises an error if OLM would silently do nothing.
`carry_out` creates the missing objects, approves the first InstallPlan if approval is manual, and
waits. If the install fails, the created objects are removed on request.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v0 import (
    earlier_catalog,
    fit,
    install_choice,
    one_group,
    prediction,
    uninstall,
    upgrade_plan,
)
from olmkit.jobs.cluster_v0.install_choice import InstallChoice, InstallOptions
from olmkit.jobs.cluster_v0.prediction import InstallDependency
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation, groups, namespaces
from olmkit.olm.explain.explanation import Diagnosis, Explanation, Readiness
from olmkit.olm.explain.workloads import pods
from olmkit.olm.install_objects import InstallRequest, Mode, ServedCatalog
from olmkit.olm.preview import Preview

# Longer than a pull of that image over a slow connection, much shorter than the whole time limit.
_SERVED = 120.0
# short, since a user who has interrupted a command waits for it
_TAKEN_BACK = Timeouts(seconds=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The objects to create, in order. `csv` is empty if only OLM knows its choice.

    `neighbors`: the packages that Subscriptions of the namespace already request. `waits`: OLM
    waits for the approval of the InstallPlan, because of this request or of a neighbor.
    """

    request: InstallRequest
    objects: tuple[Manifest, ...] = field(repr=False)
    targets: tuple[str, ...] = ()
    csv: str = ""
    preview: Preview | None = None
    notes: tuple[str, ...] = ()
    served: ServedCatalog | None = field(default=None, repr=False)
    dependencies: tuple[InstallDependency, ...] = ()
    neighbors: tuple[str, ...] = ()
    waits: bool = False


async def plan(reader: ClusterObjects, options: InstallOptions, access: Access) -> Plan:
    """Plan the objects to create; nothing is written.

    Raises `InputError` if OLM would not install the operator, `ConfigurationError` for invalid
    usage, and `ClusterError`.
    """
    install_choice.check(options)
    await cluster_read.require_olm(reader)
    here = await cluster_read.snapshot(reader, options.namespace, logs=False)
    _refuse_ending(here)
    choice = await install_choice.choose(reader, options, access, here)
    _refuse_second(here, choice.package, options)
    _refuse_orphans(here, choice)
    await _refuse_twin(reader, here, choice)
    manual = options.manual or bool(options.version)
    request = InstallRequest(
        package=choice.package,
        namespace=options.namespace,
        catalog=choice.catalog,
        channel=choice.channel,
        starting_csv=choice.csv if options.version else "",
        manual=manual,
    )
    dependencies, notes = await prediction.predict(here, choice, request, access)
    supported = choice.preview.modes if choice.preview else ()
    mode, targets = _mode(here, options, _common(supported, dependencies))
    group = (
        install_objects.operator_group(options.namespace, choice.package, mode) if mode else None
    )
    await fit.require(reader, here, choice.manifests, group=group)
    absent = groups.find_absent_targets(here)
    notes = [*choice.notes, *notes, *((absent.message,) if absent is not None else ())]
    names = [options.namespace, *(mode.namespaces if mode else ())]
    made = [
        install_objects.namespace(name)
        for name in dict.fromkeys(names)
        if await reader.find(kinds.NAMESPACE, name) is None
    ]
    holding = _holding(here)
    notes += _describe_approval(options, choice.package, holding)
    if choice.served is not None:
        made += install_objects.served_objects(choice.served)
    made += install_objects.subscription_objects(request, mode)
    return Plan(
        request=request,
        objects=tuple(made),
        targets=targets,
        csv=choice.csv,
        preview=choice.preview,
        notes=tuple(notes),
        served=choice.served,
        dependencies=dependencies,
        neighbors=tuple(kinds.subscription_key(one).package for one in here.subscriptions),
        waits=manual or bool(holding),
    )


def _refuse_ending(state: ClusterState) -> None:
    """Raise `InputError` if the namespace is being deleted."""
    ending = namespaces.explain_namespace(next(iter(state.namespaces), None))
    if ending is not None:
        raise InputError(ending.message, hint=ending.hint, cause=ending.cause)


def _refuse_second(state: ClusterState, package: str, options: InstallOptions) -> None:
    """Raise `InputError` if a Subscription of the namespace requests the package already."""
    subscription = state.subscription(package)
    if subscription is not None:
        namespace = options.namespace
        hint = (
            f"run `olmkit why {package} -n {namespace}` to see its state, "
            f"or `olmkit upgrade {package} -n {namespace}` to upgrade it"
        )
        installed = state.installed(subscription)
        if options.version and not upgrade_plan.is_goal(installed, options.version):
            to = shlex.quote(options.version)
            channel = f" --channel {shlex.quote(options.channel)}" if options.channel else ""
            command = f"olmkit upgrade {package} -n {namespace} --to {to}"
            hint = f"to change its version, run `{command}{channel}`"
        raise InputError(
            f"`{package}` is already requested in namespace `{namespace}`",
            hint=hint,
            cause="already-installed",
        )


def _describe_approval(
    options: InstallOptions, package: str, holding: Sequence[str]
) -> Iterator[str]:
    """Yield notes about an approval that the user did not request, now or later."""
    if options.version and not options.manual:
        yield (
            "approval is manual, since with automatic approval OLM would immediately upgrade "
            "to the newest version"
        )
    if holding and not (options.manual or options.version):
        listed = ", ".join(f"`{name}`" for name in holding)
        yield (
            f"namespace `{options.namespace}` has Subscriptions with manual approval, so OLM also "
            f"waits for the approval of later upgrades of `{package}`: {listed}"
        )


def _holding(state: ClusterState) -> list[str]:
    """Return the Subscriptions that make OLM wait for an approval in the whole namespace."""
    return [
        objects.name(one)
        for one in state.subscriptions
        if kinds.spec(one).get("installPlanApproval") == "Manual"
    ]


async def carry_out(
    reader: ClusterObjects,
    plan: Plan,
    *,
    report: Report,
    timeouts: Timeouts,
    created: list[Manifest],
    undone: Report | None = None,
    added: cluster_read.Added | None = None,
) -> Explanation:
    """Create the objects and wait; `created` always lists the objects created so far.

    If the operator does not become ready, they are removed and reported to `undone`; without
    `undone`, they stay. `added` is that of `until_ready`.
    """
    work = _create_and_wait(
        reader, plan, report=report, timeouts=timeouts, created=created, added=added
    )
    return await cluster_write.attempt(
        work, lambda undone: take_back(reader, created, report=undone), undone=undone
    )


async def _create_and_wait(
    reader: ClusterObjects,
    plan: Plan,
    *,
    report: Report,
    timeouts: Timeouts,
    created: list[Manifest],
    added: cluster_read.Added | None,
) -> Explanation:
    for manifest in plan.objects:
        if objects.kind(manifest) == "CatalogSource" and plan.served is not None:
            await wait_until_served(reader, plan.served, report, timeouts)
        if objects.kind(manifest) == kinds.CATALOG_SOURCE[1]:
            await earlier_catalog.wait_for_pods(reader, manifest, report, timeouts)
        if objects.kind(manifest) == kinds.SUBSCRIPTION[1]:
            await earlier_catalog.wait_until_connected(reader, created, timeouts)
        await cluster_write.create(reader, manifest, created=created, report=report)
    if plan.served is not None:
        await adopt(reader, plan.served)
    request = plan.request
    refused = set[str]()

    async def act(seen: ClusterState, found: Explanation) -> bool:
        await one_group.settle(reader, seen, created, report)
        if not (plan.waits and cluster_wait.is_approval(found)):
            return False
        return await _approve(reader, plan, seen, report, refused)

    found = await cluster_wait.wait_until_ready(
        reader,
        request.package,
        request.namespace,
        report=report,
        target=plan.csv if request.manual else "",
        act=act,
        timeouts=timeouts,
        added=added,
    )
    if found.cause != "not-installed":
        return found
    created[:] = await cluster_read.find_existing(reader, created)
    return Explanation(
        readiness=Readiness.BLOCKED,
        cause="subscription-deleted",
        message=f"the Subscription of `{request.package}` was deleted during the installation",
        hint="another client may have uninstalled the operator at the same time: install it again",
    )


async def _approve(
    reader: ClusterObjects, plan: Plan, seen: ClusterState, report: Report, refused: set[str]
) -> bool:
    """Approve the newest waiting InstallPlan if it has the requested version and no neighbor's.

    `refused` are the refusals that were reported. Returns whether a plan was approved.
    """
    has_approved = False
    for waiting in cluster_wait.waiting_plans(seen)[-1:]:
        names = kinds.plan_csvs(waiting)
        if plan.csv and plan.csv not in names:
            continue
        if others := _of_neighbors(plan, seen, names):
            words = f"not approving {objects.name(waiting)}: it also installs {others}"
            if words not in refused:
                report(words)
            refused.add(words)
            continue
        manifests = await upgrade_plan.contents(reader, waiting)
        await fit.require(reader, seen, manifests, is_whole=True)
        report(f"approving {objects.name(waiting)}: {', '.join(names)}")
        await cluster_wait.approve(reader, waiting)
        has_approved = True
    return has_approved


def _of_neighbors(plan: Plan, seen: ClusterState, names: Sequence[str]) -> str:
    """Return the CSVs of an InstallPlan that upgrade operators of other Subscriptions."""
    chosen = {
        text(kinds.status(one).get("currentCSV"))
        for one in seen.subscriptions
        if kinds.subscription_key(one).package in plan.neighbors
    }
    return ", ".join(name for name in names if name in chosen)


async def take_back(
    reader: ClusterObjects,
    created: list[Manifest],
    *,
    report: Report,
    timeouts: Timeouts = _TAKEN_BACK,
) -> None:
    """Delete the objects of this run, the newest first, and those that OLM created for them."""

    async def delete(manifest: Manifest) -> None:
        if objects.kind(manifest) != kinds.SUBSCRIPTION[1]:
            await reader.delete(manifest)
            return
        done = await uninstall.undo(reader, manifest, report=report, timeouts=timeouts)
        for one in done.left:
            report(f"still exists: {explanation.subject(one)}")

    await cluster_write.take_back(created, delete, report=report)


async def wait_until_served(
    reader: ClusterObjects, served: ServedCatalog, report: Report, timeouts: Timeouts
) -> None:
    """Wait for the Pod of the catalog, since OLM retries late after a failed connection.

    Raises `RemoteError` if the Pod does not become ready in time.
    """
    name = served.name

    async def look() -> Diagnosis | None:
        seen = await cluster_read.snapshot(reader, served.namespace)
        pod = next((one for one in seen.pods if objects.name(one) == name), None)
        if pod is not None:
            return pods.explain_pod(seen, pod)
        words = f"the Pod `{name}` is gone"
        return Diagnosis(cause="pod-not-ready", message=words, readiness=Readiness.WAITING)

    report(f"serving the bundle as a catalog from Pod `{name}`")
    seconds = min(timeouts.seconds, _SERVED)
    found = await cluster_wait.wait_until_healthy(
        look,
        f"the Pod `{name}` serves it",
        report=report,
        timeouts=replace(timeouts, seconds=seconds),
    )
    if not found.is_ready:
        raise RemoteError(
            f"the catalog cannot be served: {found.message}",
            hint="name an image that has `opm`, and that the cluster can pull, "
            "with `--catalog-server`",
            cause="catalog-not-ready",
        )


async def adopt(reader: ClusterObjects, served: ServedCatalog) -> None:
    """Make the CatalogSource the owner of its server, so that they are deleted together."""
    catalog = await reader.find(kinds.CATALOG_SOURCE, served.name, served.namespace)
    if catalog is None:
        return
    owner = {
        "apiVersion": kinds.V1ALPHA1,
        "kind": kinds.CATALOG_SOURCE[1],
        "name": served.name,
        "uid": objects.metadata(catalog)["uid"],
    }
    for manifest in install_objects.served_objects(served):
        await reader.merge(manifest, {"metadata": {"ownerReferences": [owner]}})


def _common(supported: tuple[str, ...], also: tuple[InstallDependency, ...]) -> tuple[str, ...]:
    """Return the install modes that all dependencies support: they share one OperatorGroup.

    Returns those of the operator itself if there are no dependencies.
    """
    common = supported
    for one in also:
        if one.preview is not None:
            common = tuple(mode for mode in common if mode in one.preview.modes)
    return common or supported


async def _refuse_twin(reader: ClusterObjects, state: ClusterState, choice: InstallChoice) -> None:
    """Raise `InputError` if the namespace has a copied CSV with this name: OLM would do nothing.

    OLM copies CSVs to a new namespace immediately, before it installs operators.
    """
    place = kinds.copy_source(state.copy(choice.csv))
    if place and await reader.find(kinds.CSV, choice.csv, place) is None:
        place = ""
    if choice.csv and not place:
        named = f"metadata.name={choice.csv}"
        twins = await or_default(reader.list(kinds.CSV, fields=named), ())
        for_all = bool(twins) and await _copies_for_all(reader)
        others = (one for one in twins if _is_copied_to(one, state.namespace, for_all=for_all))
        place = min(map(objects.namespace, others), default="")
    if place:
        raise InputError(
            f"`{choice.csv}` is installed in namespace `{place}`, and watches namespace "
            f"`{state.namespace}` from there",
            hint=f"`olmkit uninstall {choice.package} -n {place}` removes it",
            cause="api-owned-elsewhere",
        )


def _is_copied_to(csv: Manifest, namespace: str, *, for_all: bool) -> bool:
    """Return whether OLM copies the CSV to the namespace, which its OperatorGroup selects.

    `for_all`: also if the group selects all namespaces.
    """
    if kinds.is_copy(csv) or objects.namespace(csv) == namespace:
        return False
    targets = kinds.csv_targets(csv)
    return ("" in targets and for_all) or namespace in targets


async def _copies_for_all(reader: ClusterObjects) -> bool:
    """Return whether OLM copies CSVs of operators that watch all namespaces."""
    config = await or_default(reader.find(kinds.OLM_CONFIG, "cluster"), None)
    return mapping(kinds.spec(config).get("features")).get("disableCopiedCSVs") is not True


def _refuse_orphans(state: ClusterState, choice: InstallChoice) -> None:
    """Raise `InputError` for a CSV without a Subscription: it blocks a new one."""
    label = kinds.operator_label(choice.package, state.namespace)
    for csv in state.own_csvs():
        if objects.name(csv) == choice.csv or label in objects.labels_of(csv):
            raise InputError(
                f"the ClusterServiceVersion `{objects.name(csv)}` exists without a Subscription, "
                "so OLM would not install the operator",
                hint=f"`olmkit uninstall {choice.package} -n {state.namespace}` removes it",
                cause="csv-without-subscription",
            )


def _mode(
    state: ClusterState, options: InstallOptions, supported: tuple[str, ...]
) -> tuple[Mode | None, tuple[str, ...]]:
    """Return the OperatorGroup to create, if any, and the watched namespaces."""
    requested = Mode.parse(options.mode) if options.mode else None
    if len(state.groups) > 1:
        names = ", ".join(f"`{objects.name(group)}`" for group in state.groups)
        raise InputError(
            f"namespace `{state.namespace}` has several OperatorGroups, so OLM installs nothing "
            f"in it: {names}",
            hint="delete all but one, or use another namespace",
            cause="several-operator-groups",
        )
    selecting = groups.explain_groups(state) if state.groups else None
    if selecting is not None:
        raise InputError(selecting.message, hint=selecting.hint, cause=selecting.cause)
    absent = groups.find_absent_targets(state)
    if absent is not None and absent.is_all:
        raise InputError(
            f"the operator would watch nothing: {absent.message}",
            hint=absent.hint,
            cause="target-namespace-missing",
        )
    if state.groups:
        install_objects.check_group(state.groups[0], supported, requested)
        return None, kinds.target_namespaces(state.groups[0])
    mode = install_objects.choose_mode(supported, state.namespace, requested)
    return mode, mode.targets(state.namespace) or ("",)
