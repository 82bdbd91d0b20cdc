"""Explain from the visible catalogs why OLM v0 cannot resolve a namespace.

OLM's own message names the constraints, but not the bundles that would meet them. The catalogs show
these, if they can be read from this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from olmkit.base.diagnostics import OlmkitError
from olmkit.catalog.model import Catalog
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import offered
from olmkit.jobs.cluster.offered import BundlePackages
from olmkit.jobs.cluster.read import Added
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import forms
from olmkit.olm.resolver import cluster_input, reasons, solve
from olmkit.olm.resolver.resolution import CatalogKey, ResolverInput, Subscription
from olmkit.olm.resolver.solve import InstallStep, SolvedInstall

_UNSATISFIABLE = "ConstraintsNotSatisfiable"


def added(access: Access) -> Added:
    """Add to a state what only catalogs contain: the packages of bundle images, and conflicts."""
    packages, catalogs = BundlePackages(access), VisibleCatalogs(access)

    async def add(seen: ClusterState) -> ClusterState:
        return await catalogs.added(await packages.added(seen))

    return add


class VisibleCatalogs:
    """The catalogs that are visible in a namespace; each is read once, when needed."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._read: dict[str, Catalog | None] = {}

    async def added(self, seen: ClusterState) -> ClusterState:
        """Return the state with `conflict` if OLM cannot resolve the namespace."""
        if not any(map(_is_unsatisfiable, seen.subscriptions)):
            return seen
        found, unread = await self.of(seen)
        inputs = cluster_input.build_input(seen, found)
        # A value in one catalog that OLM cannot read is not corrected by another catalog.
        facts = reasons.unreadable(inputs) if unread else reasons.unsatisfiable(inputs)
        return replace(seen, conflict=facts) if facts else seen

    async def of(
        self, seen: ClusterState, also: Iterable[CatalogKey] = ()
    ) -> tuple[Mapping[CatalogKey, Catalog], tuple[CatalogKey, ...]]:
        """Return the catalogs that could be read, and the keys of the others."""
        found: dict[CatalogKey, Catalog] = {}
        unread: list[CatalogKey] = []
        for source in cluster_input.visible(seen, also):
            key = CatalogKey(objects.name(source), objects.namespace(source))
            catalog = await self._one(source)
            if catalog is None:
                unread.append(key)
            else:
                found[key] = catalog
        if not _sees_all(seen, also):
            unread.append(CatalogKey("*", cluster_input.global_namespace(seen, also)))
        return found, tuple(unread)

    async def _one(self, source: Manifest) -> Catalog | None:
        spec = kinds.spec(source)
        place = text(spec.get("address")) or text(spec.get("image"))
        if place not in self._read:
            try:
                self._read[place] = await offered.read(source, self._access)
            except OlmkitError:
                self._read[place] = None
        return self._read[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenConflict:
    """The predicted result of a new Subscription.

    `facts`: why it cannot be resolved; empty if it can. `unread`: the catalogs that could
    not be read. `also`: the other operators that OLM installs for it, each with its catalog.
    `is_unreadable`: the facts are about bundle values that OLM cannot read.
    """

    facts: tuple[str, ...] = ()
    unread: tuple[CatalogKey, ...] = ()
    also: tuple[tuple[InstallStep, Catalog], ...] = ()
    is_unreadable: bool = False


def hint(found: ForeseenConflict) -> str:
    """Return what to do about the facts of a request that OLM cannot resolve."""
    if found.is_unreadable:
        return (
            "correct the bundle, and publish the catalog again: until then, OLM resolves no "
            "Subscription that might select it"
        )
    return (
        "add a catalog that offers what is missing, choose another channel or version, or use "
        "another namespace"
    )


async def check_request(
    seen: ClusterState,
    request: Subscription,
    catalog: Catalog,
    access: Access,
) -> ForeseenConflict:
    """Return whether a new Subscription to this catalog can be resolved, and what it also installs.

    Other catalogs are read only if this one is not enough, or if something has requirements: OLM
    then looks for providers in all of them, and stops at one that it cannot parse. An unreadable
    catalog might offer what is missing.
    """
    own = {request.catalog: catalog}
    seen = _with_recorded(seen)
    alone = cluster_input.build_input(seen, own, [request])
    is_enough = not reasons.unsatisfiable(alone)
    if is_enough and not reasons.has_requirements(alone):
        return ForeseenConflict(also=_also(alone, own, request))
    found, unread = await VisibleCatalogs(access).of(seen, [request.catalog])
    catalogs = {**found, **own}
    inputs = cluster_input.build_input(seen, catalogs, [request])
    unparsed = reasons.unreadable(inputs)
    if is_enough and not unparsed:
        return ForeseenConflict(also=_also(alone, own, request))
    facts = unparsed or reasons.unsatisfiable(inputs)
    return ForeseenConflict(
        facts=facts,
        unread=tuple(one for one in unread if one != request.catalog),
        is_unreadable=bool(unparsed),
        also=() if facts else _also(inputs, catalogs, request),
    )


async def of_upgrade(
    seen: ClusterState, subscription: Manifest, csv: str, catalog: Catalog, access: Access
) -> ForeseenConflict:
    """Return whether a Subscription can get the next version that this catalog offers.

    Other catalogs are read only if this one is not enough, or if something has requirements.
    """
    name, key = objects.name(subscription), cluster_input.key_of(subscription)
    seen = _with_recorded(seen)
    alone = cluster_input.build_input(seen, {key: catalog})
    is_enough = not reasons.against(alone, name, csv)
    if is_enough and not reasons.has_requirements(alone):
        return ForeseenConflict()
    found, unread = await VisibleCatalogs(access).of(seen, [key])
    inputs = cluster_input.build_input(seen, {**found, key: catalog})
    unparsed = reasons.unreadable(inputs)
    if is_enough and not unparsed:
        return ForeseenConflict()
    return ForeseenConflict(
        facts=reasons.against(inputs, name, csv),
        unread=tuple(one for one in unread if one != key),
        is_unreadable=bool(unparsed),
    )


def _with_recorded(seen: ClusterState) -> ClusterState:
    """Return the state after OLM has recorded in each Subscription which CSV it has installed.

    OLM does so some seconds after the CSV has succeeded; until then, the CSV would be one that no
    Subscription upgrades.
    """

    def record(one: Manifest) -> Manifest:
        return {**one, "status": {**kinds.status(one), "installedCSV": seen.installed(one)}}

    return replace(seen, subscriptions=tuple(map(record, seen.subscriptions)))


def _also(
    inputs: ResolverInput, catalogs: Mapping[CatalogKey, Catalog], request: Subscription
) -> tuple[tuple[InstallStep, Catalog], ...]:
    """Return the operators that are installed for a dependency, if OLM has no choice."""
    answers = solve.resolve(inputs)
    if len(answers) != 1 or not isinstance(answers[0], SolvedInstall):
        return ()
    known = {request.package} | {one.package for one in inputs.subscriptions}
    return tuple(
        (step, catalogs[step.catalog])
        for step in answers[0].steps
        if step.package not in known and step.catalog in catalogs
    )


def _sees_all(seen: ClusterState, also: Iterable[CatalogKey] = ()) -> bool:
    """Return whether all catalogs that are visible in the namespace are known."""
    places = (seen.namespace, cluster_input.global_namespace(seen, also))
    return all(map(seen.lists_catalogs, places))


def _is_unsatisfiable(subscription: Manifest) -> bool:
    failed = kinds.condition(subscription, "ResolutionFailed")
    return failed is not None and (
        failed.get("reason") == _UNSATISFIABLE
        or forms.UNREAD.search(text(failed.get("message"))) is not None
    )
