"""Check whether a changed catalog leaves an installed version without an upgrade."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from olmkit.base import diagnostics as judgement
from olmkit.base.diagnostics import InputError
from olmkit.catalog.blobs import properties
from olmkit.catalog.graph import upgrades
from olmkit.catalog.model import Catalog, Channel
from olmkit.jobs.catalog.catalogs import ValidateOptions
from olmkit.jobs.catalog.upgrades.resolve import refusals_of_v1
from olmkit.jobs.validation import ValidationResult
from olmkit.olm.resolver import catalog_entries, reasons
from olmkit.olm.resolver.resolution import CatalogEntries, CatalogKey, ResolverInput, Subscription
from olmkit.olm.resolver.surroundings import Surroundings
from olmkit.rules import engine
from olmkit.rules.releases import BlockedUpgrade, CatalogRelease, InstallConflict

_KEY = CatalogKey("catalog", "operators")


def check(
    reference: str,
    catalog: Catalog,
    old: Catalog | None,
    options: ValidateOptions,
    *,
    blocked: tuple[BlockedUpgrade, ...] = (),
    is_v1: bool = False,
) -> ValidationResult:
    """Return the findings of rules about a catalog, compared with the `old` one.

    `reference` is the source of the catalog. `blocked`: the upgrades that CRDs block, from
    `crd_upgrades`. `is_v1`: also report bundles that OLM v1 does not install. Raises
    `ConfigurationError` for an unknown rule.
    """
    rules = engine.choose(
        engine.profile(options.profile),
        select=options.select,
        ignore=options.ignore,
        subject=engine.RELEASE,
    )
    release = CatalogRelease(
        catalog,
        old,
        conflicts=MappingProxyType(_conflicts(catalog)),
        blocked=blocked,
        refused=MappingProxyType(_refused(catalog) if is_v1 else {}),
    )
    found = engine.run(release, rules)
    return ValidationResult(
        reference=reference, diagnostics=judgement.prefix_paths(reference, found)
    )


def _refused(catalog: Catalog) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the bundles of channels that OLM v1 does not install, and the reasons."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for package in catalog.packages.values():
        offered = {name for channel in package.channels.values() for name in channel.entries}
        for name, bundle in package.bundles.items():
            if name in offered and (reasons := refusals_of_v1(bundle)):
                found[package.name, name] = reasons
    return found


def _conflicts(catalog: Catalog) -> Mapping[tuple[str, str], InstallConflict]:
    """Return the channel heads with requirements that OLM v0 cannot meet from this catalog."""
    needy = [
        (channel, head)
        for package in catalog.packages.values()
        for channel in package.channels.values()
        if (head := _head(channel)) and _has_needs(catalog, channel, head)
    ]
    if not needy:
        return {}
    near = Surroundings(catalog_entries.catalog_entries(catalog, _KEY))
    found: dict[tuple[str, str], InstallConflict] = {}
    for channel, head in needy:
        request = Subscription(
            name=channel.package,
            package=channel.package,
            channel=channel.name,
            catalog=_KEY,
            starting_csv=head,
        )
        inputs = ResolverInput(
            namespace=_KEY.namespace,
            global_namespace=_KEY.namespace,
            sources=(CatalogEntries(key=_KEY, entries=near.of(channel.package)),),
            subscriptions=(request,),
        )
        facts = tuple(
            one for one in reasons.unsatisfiable(inputs) if not one.startswith("Subscription `")
        )
        if facts:
            found[channel.package, channel.name] = InstallConflict(head, facts)
    return found


def _head(channel: Channel) -> str:
    """Return the entry that OLM v0 installs first; empty if the channel has no single head."""
    try:
        newest = upgrades.newest(upgrades.order(channel))
    except InputError:
        return ""
    return newest.name if newest is not None else ""


def _has_needs(catalog: Catalog, channel: Channel, head: str) -> bool:
    bundle = catalog.packages[channel.package].bundles.get(head)
    return bundle is not None and any(
        type_ in properties.REQUIREMENTS for type_, _ in bundle.properties
    )
