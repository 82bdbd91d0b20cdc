"""Remove an operator that OLM installed, in the order that leaves nothing behind.

First the operands, while the operator can still clean up after them; then the Subscription
and its unfinished InstallPlan, so that OLM installs nothing anew; then the CSV; then what
olmkit made for it; last the CRDs, when that is wanted. What is gone is asked back from the API,
and what OLM was about to make meanwhile is deleted when it comes.
"""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass, replace

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster import write as cluster_write
from olmkit.jobs.cluster.read import if_allowed
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster.write import Removed
from olmkit.jobs.cluster_v0 import leftovers
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.installs import explain


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallOptions:
    """`keep_ours`: the CatalogSource and the OperatorGroup that olmkit made stay."""

    namespace: str
    package: str
    delete_crds: bool = False
    delete_operands: bool = False
    keep_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallPlan:
    """What would be deleted, step by step, and what stays with a word on why.

    `options` name the package itself, also where a Subscription was named. `sources` are the
    CSVs and InstallPlans of the operator seen so far: they name what OLM makes.
    """

    options: UninstallOptions
    operands: tuple[Manifest, ...] = ()
    subscriptions: tuple[Manifest, ...] = ()
    plans: tuple[Manifest, ...] = ()
    csvs: tuple[Manifest, ...] = ()
    leftovers: tuple[Manifest, ...] = ()
    ours: tuple[Manifest, ...] = ()
    crds: tuple[Manifest, ...] = ()
    operators: tuple[Manifest, ...] = ()
    sources: tuple[Manifest, ...] = ()
    unattended: tuple[Manifest, ...] = ()
    stays: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[Manifest, ...]:
        """Everything that goes, in order."""
        return (*self.operands, *(one for step in self.steps for one in step))

    @property
    def steps(self) -> tuple[tuple[Manifest, ...], ...]:
        """What goes at once after the operands, each step gone before the next."""
        return (
            *(self.subscriptions, self.plans, self.csvs, self.leftovers),
            *(self.ours, self.crds, self.operators),
        )


async def plan(
    reader: ClusterObjects, options: UninstallOptions, *, report: Report = cluster_wait.silent
) -> UninstallPlan:
    """What would be deleted; nothing is written.

    Raises `InputError` when nothing of the package is there, or when deleting the CRDs would
    delete objects that nobody spoke of.
    """
    await cluster_read.require_olm(reader)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    made = await _removal(reader, options, seen, report=report)
    if not made.subscriptions and not made.csvs:
        said = explain(seen, options.package)
        raise InputError(said.message, hint=said.hint if "`-n`" in said.hint else "")
    if options.delete_crds and made.unattended:
        raise InputError(
            f"{len(made.unattended)} objects of its APIs are there and would go with the CRDs",
            hint="say `--delete-operands` too, or delete them first",
        )
    return made


async def carry_out(
    reader: ClusterObjects, made: UninstallPlan, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete it step by step, each step gone before the next.

    OLM may be making more of it at that moment: a CSV of a plan that is gone by now, its
    list of what belongs to the operator, the roles of an OperatorGroup. So it is looked
    for until nothing has come for a while.
    """
    gone: list[Manifest] = []
    groups = [one for one in made.ours if objects.kind(one) == kinds.OPERATOR_GROUP[1]]
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    quiet = timeouts.settled if _is_settled(made) else timeouts.believed
    since, late = clock(), made
    while late.all or clock() - since < quiet:
        if late.all:
            done = await cluster_write.delete(
                reader, late.steps, operands=late.operands, report=report, timeouts=timeouts
            )
            gone += done.gone
            if done.left:
                return replace(done, gone=tuple(gone))
            since = clock()
        await asyncio.sleep(timeouts.interval)
        look = functools.partial(_late, reader, late, groups)
        late = await cluster_wait.patiently(look, report, end)
        if late.subscriptions or clock() >= end:
            break  # who makes a Subscription again wants it
    return Removed(gone=tuple(gone), left=late.subscriptions or late.all)


def _is_settled(made: UninstallPlan) -> bool:
    """Whether OLM has nothing left to do: what it has chosen is installed."""
    states = [kinds.status(one) for one in made.subscriptions]
    return not made.plans and all(
        one.get("installedCSV") and one.get("installedCSV") == one.get("currentCSV")
        for one in states
    )


async def undo(
    reader: ClusterObjects, subscription: Manifest, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete a Subscription, and what OLM has made because of it; CRDs stay."""
    options = UninstallOptions(
        namespace=objects.namespace(subscription),
        package=kinds.subscription_key(subscription).package,
        keep_ours=True,
    )
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    made = await _removal(reader, options, seen, report=report)
    return await carry_out(reader, made, report=report, timeouts=timeouts)


async def _late(
    reader: ClusterObjects, before: UninstallPlan, groups: list[Manifest]
) -> UninstallPlan:
    """What is there of an operator that has been removed."""
    seen = await cluster_read.snapshot(reader, before.options.namespace, logs=False)
    found = await _removal(reader, before.options, seen, sources=before.sources)
    roles = await leftovers.of_groups(reader, groups)
    return replace(found, leftovers=(*found.leftovers, *roles))


async def _removal(
    reader: ClusterObjects,
    options: UninstallOptions,
    seen: ClusterState,
    *,
    sources: tuple[Manifest, ...] = (),
    report: Report = cluster_wait.silent,
) -> UninstallPlan:
    """What is seen of the operator, also of what the `sources` from before have made."""
    subscription = seen.subscription(options.package)
    csvs = _csvs(seen, options.package, subscription)
    if subscription is not None:
        options = replace(options, package=kinds.subscription_key(subscription).package)
    sources = _sources(sources, seen, options.package, csvs)
    made = [one for one in sources if objects.kind(one) == kinds.CSV[1]]
    plans = [one for one in sources if objects.kind(one) == kinds.INSTALL_PLAN[1]]
    crds = await _crds(reader, options, made)
    operands = await _operands(reader, options, crds, report)
    unattended = () if options.delete_operands else tuple(operands)
    stays = []
    if unattended:
        stays.append(f"{len(operands)} objects of its APIs, which nobody looks after any more")
    if crds and not options.delete_crds:
        stays.append(f"the CRDs {', '.join(objects.name(crd) for crd in crds)}")
    return UninstallPlan(
        options=options,
        operands=tuple(operands) if options.delete_operands else (),
        unattended=unattended,
        subscriptions=(subscription,) if subscription else (),
        plans=tuple(_unfinished(seen, csvs)),
        csvs=tuple(csvs),
        leftovers=tuple(
            await leftovers.of_csvs(
                reader, options.namespace, _names(sources, options.package), plans
            )
        ),
        ours=() if options.keep_ours else tuple(_ours(seen, options.package, subscription, csvs)),
        crds=tuple(crds) if options.delete_crds and not unattended else (),
        operators=await _operators(reader, options, crds),
        sources=sources,
        stays=tuple(stays),
    )


async def _crds(
    reader: ClusterObjects, options: UninstallOptions, csvs: list[Manifest]
) -> list[Manifest]:
    """The CRDs that are there; for who may not read them and leaves them, no more than names."""
    names = dict.fromkeys(name for csv in csvs for name in kinds.owned_crds(csv))
    found = []
    for name in names:
        question = reader.find(kinds.CRD, name)
        named: Manifest = {"metadata": {"name": name}}
        found.append(await (question if options.delete_crds else if_allowed(question, named)))
    return [crd for crd in found if crd is not None]


async def _operands(
    reader: ClusterObjects, options: UninstallOptions, crds: list[Manifest], report: Report
) -> list[Manifest]:
    question = cluster_wait.operands(reader, crds, report=report)
    if options.delete_crds or options.delete_operands:
        return await question
    return await if_allowed(question, [])


async def _operators(
    reader: ClusterObjects, options: UninstallOptions, crds: list[Manifest]
) -> tuple[Manifest, ...]:
    """OLM's list of what belongs to the operator, which it keeps as long as a CRD is on it."""
    name = kinds.operator_name(options.package, options.namespace)
    found = await if_allowed(reader.find(kinds.OPERATOR, name), None)
    keeps = not options.delete_crds and (crds or kinds.CRD[1] in kinds.component_kinds(found))
    return () if found is None or keeps else (found,)


def _sources(
    before: tuple[Manifest, ...], seen: ClusterState, package: str, csvs: list[Manifest]
) -> tuple[Manifest, ...]:
    """The CSVs, and the InstallPlans that install any of the package, each as last seen."""
    known = {(objects.kind(one), objects.name(one)): one for one in (*before, *csvs)}
    names = {name for kind, name in known if kind == kinds.CSV[1]}
    for plan in seen.plans:
        installs = kinds.plan_csvs(plan)
        if any(name in names or kinds.package_named_in(name) == package for name in installs):
            known[objects.kind(plan), objects.name(plan)] = plan
    return tuple(known.values())


def _names(sources: tuple[Manifest, ...], package: str) -> set[str]:
    """The names of the CSVs, also of those that plans are about to make."""
    names = {objects.name(one) for one in sources if objects.kind(one) == kinds.CSV[1]}
    planned = {name for one in sources for name in kinds.plan_csvs(one)}
    return names | {name for name in planned if kinds.package_named_in(name) == package}


def _csvs(seen: ClusterState, package: str, subscription: Manifest | None) -> list[Manifest]:
    """The CSVs of the operator: what the Subscription names, and what those replace."""
    names: list[str] = []
    if subscription is not None:
        status = kinds.status(subscription)
        names += [text(status.get("installedCSV")), text(status.get("currentCSV"))]
        package = kinds.subscription_key(subscription).package
    label = kinds.operator_label(package, seen.namespace)
    found = [
        csv
        for csv in seen.own_csvs()
        if objects.name(csv) in names or label in objects.labels_of(csv)
    ]
    chain = {text(kinds.spec(csv).get("replaces")) for csv in found}
    found += [csv for csv in seen.own_csvs() if objects.name(csv) in chain and csv not in found]
    if subscription is None:
        own = [csv for csv in seen.own_csvs() if kinds.package(csv) == package]
        found += [csv for csv in own if csv not in found]
    return found


def _unfinished(seen: ClusterState, csvs: list[Manifest]) -> list[Manifest]:
    """The InstallPlans that OLM still works on, and that install nothing of others.

    It would make the CSV once more, when that is deleted before its plan is done.
    """
    names = {objects.name(csv) for csv in csvs}
    return [
        plan
        for plan in seen.plans
        if kinds.phase(plan) != "Complete"
        and kinds.plan_csvs(plan)
        and names.issuperset(kinds.plan_csvs(plan))
    ]


def _ours(
    seen: ClusterState, package: str, subscription: Manifest | None, csvs: list[Manifest]
) -> list[Manifest]:
    """What olmkit made for this package and nobody else uses."""
    others = [one for one in seen.subscriptions if one is not subscription]
    found: list[Manifest] = []
    for catalog in seen.catalogs:
        used = any(
            kinds.subscription_key(other).catalog == objects.name(catalog)
            and kinds.subscription_key(other).catalog_namespace == objects.namespace(catalog)
            for other in (*others, *seen.elsewhere)
        )
        if (
            objects.namespace(catalog) == seen.namespace
            and install_objects.is_ours(catalog)
            and objects.labels_of(catalog).get(install_objects.PART_OF) == package
            and not used
        ):
            found.append(catalog)
    rest = [csv for csv in seen.own_csvs() if csv not in csvs]
    if not others and not rest:
        found += [group for group in seen.groups if install_objects.is_ours(group)]
    return found
