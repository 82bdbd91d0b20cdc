"""Resolve what OLM would install from catalogs, without a cluster.

Each requested or installed package has a Subscription.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.names import similar_package
from olmkit.base.versions import Version
from olmkit.catalog import cluster_version
from olmkit.catalog.blobs import properties
from olmkit.catalog.cluster_version import ClusterVersion, Limit
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import UpgradeQuery
from olmkit.catalog.model import Bundle, Catalog, Package
from olmkit.catalog.selection import Selection
from olmkit.olm import kinds
from olmkit.olm.resolver import catalog_entries
from olmkit.olm.resolver import reasons as resolver_reasons
from olmkit.olm.resolver import solve as resolver
from olmkit.olm.resolver import v1 as resolver_v1
from olmkit.olm.resolver.reasons import RejectedBundle
from olmkit.olm.resolver.resolution import (
    CatalogEntries,
    CatalogKey,
    Installed,
    ResolverInput,
    ResolverProperty,
    Subscription,
)
from olmkit.olm.resolver.solve import Answer, SolvedInstall, Unsatisfiable
from olmkit.olm.resolver.v1 import ChosenBundle, ClusterCatalog
from olmkit.olm.v1 import version_range

_NAMESPACE = "operators"
_MAX_ROUNDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The possible results of OLM v0; several if it is not deterministic.

    `rounds` are the successive results until nothing changes, if each round has one result;
    `goes_round` if they never end. `rejected` are candidates that no result contains; `conflict`
    has the contradicting facts if nothing can be installed.
    """

    answers: tuple[Answer, ...]
    rounds: tuple[SolvedInstall, ...] = ()
    goes_round: bool = False
    rejected: tuple[RejectedBundle, ...] = ()
    conflict: tuple[str, ...] = ()


def resolve(
    catalogs: Mapping[str, Catalog], requests: Sequence[Selection], installed: Sequence[str] = ()
) -> Resolution:
    """Resolve a namespace with these Subscriptions and installed CSVs, as OLM v0 does.

    Raises `InputError` for a package or version that no catalog has.
    """
    inputs = _inputs(catalogs, requests, installed)
    answers = resolver.resolve(inputs)
    rounds: list[SolvedInstall] = []
    seen: set[frozenset[str]] = set()
    now, found = inputs, answers
    goes_round = False
    while len(found) == 1 and isinstance(found[0], SolvedInstall) and found[0].moves:
        rounds.append(found[0])
        now = resolver.apply_result(now, found[0])
        state = frozenset(one.name for one in now.installed)
        if state in seen or len(rounds) >= _MAX_ROUNDS:
            goes_round = True
            break
        seen.add(state)
        found = resolver.resolve(now)
    return Resolution(
        answers=answers,
        rounds=tuple(rounds),
        goes_round=goes_round,
        rejected=() if goes_round else resolver_reasons.find_rejected(now),
        conflict=resolver_reasons.unsatisfiable(inputs)
        if any(isinstance(one, Unsatisfiable) for one in answers)
        else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionSettings:
    """Other inputs of OLM v1: the priorities of catalogs, and the upgrade policy.

    `is_free`: `upgradeConstraintPolicy: SelfCertified`, which allows any version.
    """

    priorities: Mapping[str, int] = field(default_factory=dict)
    is_free: bool = False


def refusals_of_v1(bundle: Bundle) -> tuple[str, ...]:
    """Return the reasons in the catalog why OLM v1 does not install a bundle, as sentences."""
    from olmkit.hub import records  # OLM v0 does not need these modules
    from olmkit.hub.package import installs

    return installs.refusal_of_v1(records.read_record(bundle))


def resolve_v1(
    catalogs: Mapping[str, Catalog],
    request: Selection,
    installed: Sequence[str] = (),
    settings: ExtensionSettings | None = None,
) -> ChosenBundle:
    """Resolve a ClusterExtension as OLM v1 does; the request may name several channels.

    Raises `InputError` if no bundle matches, and `ConfigurationError` for the priority of a missing
    catalog.
    """
    settings = settings or ExtensionSettings()
    for name in settings.priorities:
        if name not in catalogs:
            raise ConfigurationError(f"`--priority` names catalog `{name}`, which does not exist")
    offered = [
        ClusterCatalog(name=name, catalog=catalog, priority=settings.priorities.get(name, 0))
        for name, catalog in catalogs.items()
    ]
    there = (_find_installed(catalogs, name) for name in installed)
    starts = [
        upgrades.start_of({}, csv.name, csv.version)
        for package, csv in there
        if package == request.package
    ]
    query = UpgradeQuery(
        channels=channels_of(request),
        range=version_range.parse(request.version) if request.version else None,
        installed=starts[0] if starts else None,
        is_free=settings.is_free,
    )
    try:
        return resolver_v1.resolve(offered, request.package, query, version=request.version)
    except InputError as error:
        error.hint = error.hint or _hint(offered, request, query)
        raise


def channels_of(request: Selection) -> tuple[str, ...]:
    """Return the channels of an OLM v1 request, or raise `ConfigurationError` for an empty one."""
    names = tuple(request.channel.split(",")) if request.channel else ()
    if not all(names):
        raise ConfigurationError(
            f"`{request.channel}` names an empty channel", hint="write `PACKAGE:CHANNEL,CHANNEL`"
        )
    return names


def unknown_channels(catalogs: Mapping[str, Catalog], request: Selection) -> tuple[str, ...]:
    """Return the requested channels that no catalog has, which OLM v1 does not report."""
    packages = [one.packages[request.package] for one in catalogs.values()
                if request.package in one.packages]  # fmt: skip
    known = {name for package in packages for name in package.channels}
    return tuple(name for name in channels_of(request) if name not in known)


def _hint(offered: Sequence[ClusterCatalog], request: Selection, query: UpgradeQuery) -> str:
    """Return a hint for a request for which OLM v1 finds no bundle."""
    catalogs = {one.name: one.catalog for one in offered}
    having = [one.packages[request.package] for one in catalogs.values()
              if request.package in one.packages]  # fmt: skip
    if not having:
        known = sorted({name for one in catalogs.values() for name in one.packages})
        near = similar_package(request.package, known)
        return f"did you mean `{near}`?" if near else (
            "run `olmkit catalog list packages` with the catalog to see its packages"
        )  # fmt: skip
    unknown = unknown_channels(catalogs, request)
    if unknown:
        names = sorted({name for package in having for name in package.channels})
        return f"`{request.package}` has the channels {', '.join(f'`{one}`' for one in names)}"
    free = replace(query, is_free=True)
    if query.installed and not query.is_free and resolver_v1.rivals(offered, request.package, free):
        return (
            "run `olmkit catalog path` with `--olm v1` to see the upgrades one by one, or pass "
            "`--self-certified` to allow any version"
        )
    return "run `olmkit catalog list bundles` with the catalog to see its versions and channels"


def limits(
    catalogs: Mapping[str, Catalog], found: Resolution, cluster: ClusterVersion
) -> tuple[Limit, ...]:
    """Return the bundles of all results and rounds that do not support the cluster version."""
    results = (*(one for one in found.answers if isinstance(one, SolvedInstall)), *found.rounds)
    chosen = dict.fromkeys(
        (step.catalog.name, step.package, step.csv) for one in results for step in one.steps
    )
    bundles = (catalogs[name].packages[package].bundles.get(csv) for name, package, csv in chosen)
    return tuple(
        limit
        for one in bundles
        if one is not None
        for limit in cluster_version.limits(one, cluster)
    )


def _inputs(
    catalogs: Mapping[str, Catalog], requests: Sequence[Selection], installed: Sequence[str]
) -> ResolverInput:
    there = {name: _find_installed(catalogs, name) for name in installed}
    subscriptions = [_subscription(catalogs, request, there) for request in requests]
    asked = {request.package for request in requests}
    subscriptions += [
        _subscription(catalogs, Selection(package=package), there)
        for package in dict.fromkeys(package for package, _ in there.values())
        if package not in asked
    ]
    keys = {name: CatalogKey(name, _NAMESPACE) for name in catalogs}
    return ResolverInput(
        namespace=_NAMESPACE,
        global_namespace=_NAMESPACE,
        sources=[
            CatalogEntries(
                key=keys[name],
                priority=-number,
                entries=tuple(catalog_entries.catalog_entries(catalog, keys[name])),
            )
            for number, (name, catalog) in enumerate(catalogs.items())
        ],
        installed=[csv for _, csv in there.values()],
        subscriptions=subscriptions,
    )


def _find_installed(catalogs: Mapping[str, Catalog], name: str) -> tuple[str, Installed]:
    """Return the package and the CSV of this name; without a package if no catalog has it."""
    for catalog in catalogs.values():
        for package in catalog.packages.values():
            bundle = package.bundles.get(name)
            if bundle is not None:
                return package.name, Installed(
                    name=name,
                    version=catalog_entries.version_of(bundle),
                    properties=catalog_entries.bundle_properties(bundle),
                )
    named = kinds.package_named_in(name)
    version = Version.read(name.partition(".v")[2])
    value = {"packageName": named, "version": str(version or "")}
    listed = (ResolverProperty(properties.PACKAGE, value),)
    return named, Installed(name=name, version=version, properties=listed)


def _subscription(
    catalogs: Mapping[str, Catalog], request: Selection, there: Mapping[str, tuple[str, Installed]]
) -> Subscription:
    name, package = _package(catalogs, request)
    if "," in request.channel:
        raise ConfigurationError(
            f"a Subscription has one channel, and `{request.channel}` names several",
            hint="name one channel, or pass `--olm v1`",
        )
    own = [csv.name for found, csv in there.values() if found == package.name]
    installed = own[0] if own else ""
    return Subscription(
        name=package.name,
        package=package.name,
        channel=request.channel or package.default_channel,
        catalog=CatalogKey(name, _NAMESPACE),
        starting_csv=_find_starting_bundle(package, request.version) if request.version else "",
        installed_csv=installed,
        current_csv=installed,
    )


def _package(catalogs: Mapping[str, Catalog], request: Selection) -> tuple[str, Package]:
    """Return the first catalog that has the package, and the package."""
    for name, catalog in catalogs.items():
        if request.package in catalog.packages:
            return name, catalog.packages[request.package]
    for catalog in catalogs.values():
        catalog.chosen(request.package)
    raise InputError(f"no catalog has package `{request.package}`")


def _find_starting_bundle(package: Package, version: str) -> str:
    """Return the bundle with this name or version, or raise `InputError`."""
    found = package.bundle(version)
    if found is None:
        raise InputError(
            f"package `{package.name}` has no version `{version}`",
            hint="a Subscription starts at one version; ranges need `--olm v1`",
        )
    return found.name
