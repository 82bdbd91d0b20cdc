"""Plan which objects an uninstall deletes and which stay.

They are found through the Subscription and its CSV. Without these, they are found through OLM's
annotations on CRDs and its Operator object, so that leftovers of an earlier run can be removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import operands
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.operands import Operands
from olmkit.jobs.cluster.operator_removal import NothingToRemoveError
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v0 import leftovers
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.installs import explain

_ALONGSIDE = "operatorframework.io/installed-alongside-"


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallOptions:
    """Options of an uninstall. `keep_ours`: keep olmkit's CatalogSource and OperatorGroup.

    `remove_finalizers`: remove finalizers of operators and OLM from objects that are not deleted.
    """

    namespace: str
    package: str
    delete_crds: bool = False
    delete_operands: bool = False
    remove_finalizers: bool = False
    keep_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallPlan:
    """The objects to delete, step by step, and those that stay, with the reasons.

    `options` have the package, also if the user passed a Subscription. `sources` are the operator's
    CSVs and InstallPlans found so far, which name the objects that OLM creates. `shared_plans` also
    install other operators and stay, without the label of this one. The objects of `unread` CRDs
    are deleted too, but cannot be listed because their conversion fails.
    """

    options: UninstallOptions
    operands: tuple[Manifest, ...] = ()
    subscriptions: tuple[Manifest, ...] = ()
    plans: tuple[Manifest, ...] = ()
    shared_plans: tuple[Manifest, ...] = ()
    csvs: tuple[Manifest, ...] = ()
    leftovers: tuple[Manifest, ...] = ()
    ours: tuple[Manifest, ...] = ()
    crds: tuple[Manifest, ...] = ()
    operators: tuple[Manifest, ...] = ()
    sources: tuple[Manifest, ...] = ()
    unattended: tuple[Manifest, ...] = ()
    unread: tuple[Manifest, ...] = ()
    stays: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[Manifest, ...]:
        """Return all objects to delete, in order."""
        return (*self.operands, *(one for step in self.steps for one in step))

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Describe the objects that are deleted but cannot be listed before."""
        return operands.describe_unlisted(self.unread)

    @property
    def steps(self) -> tuple[tuple[Manifest, ...], ...]:
        """Return the steps after the operands, each finished before the next."""
        return (*self.operator, *self.definitions)

    @property
    def operator(self) -> tuple[tuple[Manifest, ...], ...]:
        """Return the steps that delete the operator."""
        return (self.subscriptions, self.plans, self.csvs, self.leftovers, self.ours)

    @property
    def definitions(self) -> tuple[tuple[Manifest, ...], ...]:
        """Return the last steps: the CRDs, and OLM's Operator object."""
        return (self.crds, self.operators)


async def plan(
    reader: ClusterObjects,
    options: UninstallOptions,
    *,
    report: Report = cluster_wait.silent,
    timeouts: Timeouts | None = None,
) -> UninstallPlan:
    """Return the objects to delete; nothing is written.

    It also finds leftovers of an operator without a Subscription and without a CSV. Raises
    `InputError` if there are no objects of the package, or if deleting the CRDs would delete
    operands that the options do not include.
    """
    await cluster_read.require_olm(reader)
    seen = await cluster_read.snapshot(reader, options.namespace, logs=False)
    seconds = (timeouts or Timeouts()).seconds
    made = await removal(reader, options, seen, report=report, seconds=seconds)
    orphans = await leftovers.find_orphans(reader, seen, made.options.package)
    made = replace(made, leftovers=(*made.leftovers, *orphans))
    if not made.subscriptions and not made.csvs:
        more = await leftovers.find_for_operator(reader, options.package, options.namespace)
        made = replace(made, leftovers=(*made.leftovers, *more))
        if not made.all and not made.unread:
            await cluster_read.require_not_of_v1(
                reader, seen, options.package, command="olmkit uninstall"
            )
            raise _nothing_to_delete(seen, options, made)
    if options.delete_crds and made.unattended:
        raise InputError(
            _count(made.unattended, "exists", "exist") + " and would be deleted with the CRDs",
            hint="pass `--delete-operands` too, or delete them first",
            cause="operands-exist",
        )
    namespace = await cluster_read.created_namespace_note(reader, options.namespace)
    return replace(made, stays=(*made.stays, *namespace))


def _nothing_to_delete(
    seen: ClusterState, options: UninstallOptions, plan: UninstallPlan
) -> InputError:
    """Return the error that there is nothing to delete; `plan` has the objects that stay."""
    said = explain(seen, options.package)
    if plan.stays:
        what = "; ".join(plan.stays)
        hint = "" if options.delete_crds else "`--delete-crds --delete-operands` removes that too"
        message = f"{said.message}; an earlier install left {what}"
        return InputError(message, hint=hint, cause=said.cause)
    if "`-n`" in said.hint:
        return InputError(said.message, hint=said.hint, cause=said.cause)
    return NothingToRemoveError(said.message, cause=said.cause)


async def removal(
    reader: ClusterObjects,
    options: UninstallOptions,
    seen: ClusterState,
    *,
    sources: tuple[Manifest, ...] = (),
    report: Report = cluster_wait.silent,
    seconds: float = 0.0,
) -> UninstallPlan:
    """Return the operator's objects, including those that earlier `sources` created."""
    subscription = seen.subscription(options.package)
    csvs = _csvs(seen, options.package, subscription)
    if subscription is not None:
        options = replace(options, package=kinds.subscription_key(subscription).package)
    sources = _sources(sources, seen, options.package, csvs)
    made = [one for one in sources if objects.kind(one) == kinds.CSV[1]]
    plans = [one for one in sources if objects.kind(one) == kinds.INSTALL_PLAN[1]]
    crds, shared = await _crds(reader, options, seen, made)
    listing = await _operands(reader, options, crds, report, seconds)
    unattended = () if options.delete_operands else listing.found
    unread = tuple(one.crd for one in listing.unread)
    if unread and (options.delete_operands or options.delete_crds):
        _check_unread(options, listing.unread[0])
    operators = await _operators(reader, options)
    has_crds = bool(crds) or kinds.CRD[1] in kinds.component_kinds(operators)
    keeps = bool(shared) or (has_crds and not options.delete_crds)
    return UninstallPlan(
        options=options,
        operands=listing.found if options.delete_operands else (),
        unattended=unattended,
        subscriptions=(subscription,) if subscription else (),
        plans=tuple(_find_unfinished_plans(seen, options.package, csvs)),
        shared_plans=tuple(_find_shared_plans(seen, options.package, subscription, csvs)),
        csvs=tuple(csvs),
        leftovers=(
            *await leftovers.find_for_csvs(
                reader, options.namespace, _names(sources, options.package), plans
            ),
            *await leftovers.leases(reader, options.namespace, made),
        ),
        ours=() if options.keep_ours else tuple(_ours(seen, options.package, subscription, csvs)),
        crds=tuple(crds) if options.delete_crds and not unattended else (),
        operators=() if operators is None or keeps else (operators,),
        sources=sources,
        unread=unread if options.delete_crds and options.delete_operands else (),
        stays=(
            *_stays(options, crds, shared, listing, operators if keeps else None),
            *_dependencies(seen, subscription),
            *_find_dependent_operators(seen, options.package, csvs),
            *_find_waiting_plans(seen, subscription),
            *(
                ()
                if options.keep_ours
                else _find_used_catalogs(seen, options.package, subscription)
            ),
        ),
    )


def _stays(
    options: UninstallOptions,
    crds: list[Manifest],
    shared: dict[str, str],
    listing: Operands,
    operators: Manifest | None,
) -> Iterator[str]:
    """Yield a line for each kind of object that stays, with the reason."""
    if listing.found and not options.delete_operands:
        yield f"{_count(listing.found)}, which no operator manages now"
    if listing.unread and not options.delete_operands:
        names = ", ".join(objects.name(one.crd) for one in listing.unread)
        yield f"the objects of {names}, which cannot be listed: {listing.unread[0].error.message}"
    if crds and not options.delete_crds:
        yield f"the CRDs {', '.join(objects.name(crd) for crd in crds)}"
    for name, owner in shared.items():
        yield f"the CRD {name} with its objects: {owner} needs it"
    if operators is not None:
        yield f"the Operator {objects.name(operators)}: OLM keeps it as long as a CRD exists"


def _find_dependent_operators(
    seen: ClusterState, package: str, csvs: list[Manifest]
) -> Iterator[str]:
    """Return the operators of the namespace whose dependency is removed."""
    for csv in seen.own_csvs():
        if csv not in csvs and package in kinds.required_packages(csv):
            yield f"the {explanation.subject(csv)}, which needs {package}: OLM may install it again"


def _find_waiting_plans(seen: ClusterState, subscription: Manifest | None) -> Iterator[str]:
    """Return the InstallPlans for several operators whose approval would install this one again."""
    chosen = text(kinds.status(subscription or {}).get("currentCSV"))
    for plan in cluster_wait.waiting_plans(seen):
        names = kinds.plan_csvs(plan)
        if chosen in names and len(names) > 1:
            others = ", ".join(name for name in names if name != chosen)
            yield (
                f"the {explanation.subject(plan)} for {others}, which waits for approval and would "
                f"install {chosen} too: delete it, and OLM creates another without {chosen}"
            )


def _count(found: tuple[Manifest, ...], one: str = "", several: str = "") -> str:
    """Format the number of operands, with a verb."""
    noun, verb = ("object", one) if len(found) == 1 else ("objects", several)
    return f"{len(found)} {noun} of its APIs {verb}".rstrip()


def _dependencies(seen: ClusterState, subscription: Manifest | None) -> Iterator[str]:
    """Yield the operators that OLM installed as dependencies of this one only."""
    others = [one for one in seen.subscriptions if one is not subscription]
    if subscription is None or not all(map(kinds.is_dependency, others)):
        return
    for package in sorted(kinds.subscription_key(one).package for one in others):
        yield (
            f"the operator {package}, which OLM installed as a dependency: "
            f"`olmkit uninstall {package} -n {seen.namespace}` removes it"
        )


def _check_unread(options: UninstallOptions, unread: operands.UnreadableOperands) -> None:
    """Raise an error for operands that cannot be listed, unless CRDs and operands are deleted."""
    if options.delete_crds and options.delete_operands:
        return
    other = "--delete-operands" if options.delete_crds else "--delete-crds"
    raise InputError(
        f"the objects of {objects.name(unread.crd)} cannot be listed: {unread.error.message}",
        hint=f"pass `{other}` too, which removes the CRD and its objects without a conversion; or "
        "pass neither option, which keeps both",
        cause="operands-not-readable",
    )


async def _crds(
    reader: ClusterObjects, options: UninstallOptions, seen: ClusterState, csvs: list[Manifest]
) -> tuple[list[Manifest], dict[str, str]]:
    """Return the existing CRDs, and those that other operators need: name → CSV.

    If the user may not read CRDs and does not delete them, only their names are known.
    """
    names = dict.fromkeys(name for csv in csvs for name in kinds.owned_crds(csv))
    label = kinds.operator_label(options.package, options.namespace)
    noted = await or_default(reader.list(kinds.CRD, labels=label), ())
    if not names and not noted:
        # OLM removes its label with its `Operator`, but the annotation of the first install stays.
        every = await or_default(reader.list(kinds.CRD), ())
        noted = tuple(one for one in every if _is_noted(one, options))
    names |= dict.fromkeys(objects.name(one) for one in noted)
    own = {objects.name(one) for one in csvs}
    shared: dict[str, str] = {}
    for csv in await or_default(reader.list(kinds.CSV), seen.csvs):
        place = objects.namespace(csv)
        if kinds.is_copy(csv) or (place == options.namespace and objects.name(csv) in own):
            continue
        for name in (*kinds.owned_crds(csv), *kinds.required_crds(csv)):
            if name in names:
                shared[name] = explanation.subject(csv)
    found = []
    for name in names:
        if name in shared:
            continue
        question = reader.find(kinds.CRD, name)
        named: Manifest = {"metadata": {"name": name}}
        found.append(await (question if options.delete_crds else or_default(question, named)))
    return [crd for crd in found if crd is not None], shared


def _is_noted(crd: Manifest, options: UninstallOptions) -> bool:
    """Return whether a CRD's annotations name a CSV of the package."""
    for key, value in objects.annotations_of(crd).items():
        place, _, csv = value.partition("/")
        if not key.startswith(_ALONGSIDE) or place != options.namespace:
            continue
        if kinds.package_named_in(csv) == options.package:
            return True
    return False


async def _operands(
    reader: ClusterObjects,
    options: UninstallOptions,
    crds: list[Manifest],
    report: Report,
    seconds: float,
) -> Operands:
    if options.delete_crds or options.delete_operands:
        return await operands.list_operands(reader, crds, report=report, seconds=seconds)
    # They stay and are only counted, so do not wait for a webhook that does not respond.
    return await or_default(operands.list_operands(reader, crds, seconds=0.0), Operands())


async def _operators(reader: ClusterObjects, options: UninstallOptions) -> Manifest | None:
    """Return OLM's Operator object, which exists as long as it refers to a CRD."""
    name = kinds.operator_name(options.package, options.namespace)
    return await or_default(reader.find(kinds.OPERATOR, name), None)


def _sources(
    before: tuple[Manifest, ...], seen: ClusterState, package: str, csvs: list[Manifest]
) -> tuple[Manifest, ...]:
    """Return the last state of the CSVs, and of the InstallPlans for the package."""
    known = {(objects.kind(one), objects.name(one)): one for one in (*before, *csvs)}
    names = {name for kind, name in known if kind == kinds.CSV[1]}
    for plan in seen.plans:
        installs = kinds.plan_csvs(plan)
        if any(name in names or kinds.package_named_in(name) == package for name in installs):
            known[objects.kind(plan), objects.name(plan)] = plan
    return tuple(known.values())


def _names(sources: tuple[Manifest, ...], package: str) -> set[str]:
    """Return the names of the CSVs, including those that plans will create."""
    names = {objects.name(one) for one in sources if objects.kind(one) == kinds.CSV[1]}
    planned = {name for one in sources for name in kinds.plan_csvs(one)}
    return names | {name for name in planned if kinds.package_named_in(name) == package}


def _csvs(seen: ClusterState, package: str, subscription: Manifest | None) -> list[Manifest]:
    """Return the CSVs of the operator: those of the Subscription, and those they replace."""
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


def _find_unfinished_plans(
    seen: ClusterState, package: str, csvs: list[Manifest]
) -> list[Manifest]:
    """Return the unfinished InstallPlans that install nothing else.

    OLM would create the CSV again if it is deleted before its plan is complete.
    """
    names = {objects.name(csv) for csv in csvs}
    return [
        plan
        for plan in seen.plans
        if kinds.phase(plan) != "Complete"
        and kinds.plan_csvs(plan)
        and all(
            name in names or kinds.package_named_in(name) == package
            for name in kinds.plan_csvs(plan)
        )
    ]


def _find_shared_plans(
    seen: ClusterState, package: str, subscription: Manifest | None, csvs: list[Manifest]
) -> list[Manifest]:
    """Return the InstallPlans with the operator's label that stay: they belong to others too.

    They also install others, or another Subscription of the namespace owns them. OLM recreates the
    `Operator` as long as any object has its label.
    """
    label = kinds.operator_label(package, seen.namespace)
    names = {objects.name(csv) for csv in csvs}
    others = {
        objects.metadata(one).get("uid") for one in seen.subscriptions if one is not subscription
    }
    going = _find_unfinished_plans(seen, package, csvs)
    return [
        plan
        for plan in seen.plans
        if label in objects.labels_of(plan)
        and plan not in going
        and (
            any(
                name not in names and kinds.package_named_in(name) != package
                for name in kinds.plan_csvs(plan)
            )
            or any(owner.get("uid") in others for owner in _owners(plan))
        )
    ]


def _owners(manifest: Manifest) -> list[Mapping[str, Any]]:
    return [mapping(one) for one in sequence(objects.metadata(manifest).get("ownerReferences"))]


def _ours(
    seen: ClusterState, package: str, subscription: Manifest | None, csvs: list[Manifest]
) -> list[Manifest]:
    """Return the objects that olmkit created only for this package."""
    others = [one for one in seen.subscriptions if one is not subscription]
    found = [
        catalog
        for catalog in _find_created_catalogs(seen, package, subscription)
        if not _users(seen, catalog, subscription)
    ]
    rest = [csv for csv in seen.own_csvs() if csv not in csvs]
    if not others and not rest:
        found += [group for group in seen.groups if install_objects.is_ours(group)]
    elif len(seen.groups) > 1:  # OLM accepts only one, so that of this package is not used
        found += [group for group in seen.groups if _is_made_for(group, package)]
    return found


def _find_created_catalogs(
    seen: ClusterState, package: str, subscription: Manifest | None
) -> Iterator[Manifest]:
    """Return olmkit's catalogs in the namespace, created for this package or its dependencies."""
    for catalog in seen.catalogs:
        if objects.namespace(catalog) != seen.namespace or not install_objects.is_ours(catalog):
            continue
        if _is_made_for(catalog, package) or _takes_from(subscription, catalog):
            yield catalog


def _users(seen: ClusterState, catalog: Manifest, subscription: Manifest | None) -> list[Manifest]:
    """Return the other Subscriptions that use the catalog."""
    others = (one for one in seen.subscriptions if one is not subscription)
    return [one for one in (*others, *seen.elsewhere) if _takes_from(one, catalog)]


def _takes_from(subscription: Manifest | None, catalog: Manifest) -> bool:
    if subscription is None:
        return False
    key = kinds.subscription_key(subscription)
    place = (objects.name(catalog), objects.namespace(catalog))
    return (key.catalog, key.catalog_namespace) == place


def _find_used_catalogs(
    seen: ClusterState, package: str, subscription: Manifest | None
) -> Iterator[str]:
    """Return olmkit's catalogs for the package that other Subscriptions use."""
    if subscription is None:
        return
    for catalog in _find_created_catalogs(seen, package, subscription):
        users = sorted(map(explanation.subject, _users(seen, catalog, subscription)))
        if users and _is_made_for(catalog, package):
            use = "uses" if len(users) == 1 else "use"
            yield f"the {explanation.subject(catalog)}: {', '.join(users)} {use} it"


def _is_made_for(manifest: Manifest, package: str) -> bool:
    label = objects.labels_of(manifest).get(install_objects.PART_OF)
    return install_objects.is_ours(manifest) and label == package
