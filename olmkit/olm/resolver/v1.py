"""Resolve a ClusterExtension like OLM v1: one bundle of one catalog, or an error.

There is no solver: every catalog offers its best bundle, bundles that are not deprecated are
preferred, and the catalog with the highest priority wins, if it is the only one. Dependencies of
the bundle are checked last, and are an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.catalog.blobs import properties
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import UpgradeQuery
from olmkit.catalog.model import Bundle, Catalog

_UNSUPPORTED = (properties.GVK_REQUIRED, properties.PACKAGE_REQUIRED, properties.CONSTRAINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCatalog:
    """A ClusterCatalog to choose from; `trouble` explains why it cannot be read."""

    name: str
    priority: int = 0
    catalog: Catalog = field(repr=False)
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenBundle:
    """The bundle that OLM v1 chooses, and its catalog."""

    catalog: str
    bundle: Bundle


def resolve(
    catalogs: Iterable[ClusterCatalog], package: str, query: UpgradeQuery, *, version: str = ""
) -> ChosenBundle:
    """Return the bundle that OLM v1 chooses; `version` is the range as written.

    Raises `InputError` with OLM's message if there is none, if several catalogs offer one, or if it
    has dependencies.
    """
    before = ""
    if query.installed is not None and query.installed.version is not None:
        before = (
            "error upgrading from currently installed version "
            f'"{query.installed.version.version.without_build}": '
        )
    found = _offers(catalogs, package, query)
    if not found:
        raise InputError(
            f"{before}no bundles found for {_describe_request(package, query, version)}"
        )
    top = _highest_priority(found)
    if len(top) > 1:
        names = " ".join(sorted(choice.catalog for _, choice in found))
        raise InputError(
            f"{before}found bundles for {_describe_request(package, query, version)} in multiple "
            f"catalogs with the same priority [{names}]",
            hint="give one a higher priority with `--priority NAME=N`, or pass one catalog only",
        )
    require_alone(top[0].bundle)
    return top[0]


def rivals(
    catalogs: Iterable[ClusterCatalog], package: str, query: UpgradeQuery
) -> tuple[ChosenBundle, ...]:
    """Return the offers of the highest priority; OLM v1 accepts exactly one.

    Raises `InputError` for a catalog that cannot be read.
    """
    return _highest_priority(_offers(catalogs, package, query))


def _highest_priority(found: list[tuple[int, ChosenBundle]]) -> tuple[ChosenBundle, ...]:
    best = max((priority for priority, _ in found), default=0)
    return tuple(choice for priority, choice in found if priority == best)


def _offers(
    catalogs: Iterable[ClusterCatalog], package: str, query: UpgradeQuery
) -> list[tuple[int, ChosenBundle]]:
    found: list[tuple[int, ChosenBundle]] = []
    for catalog in catalogs:
        if catalog.trouble:
            raise InputError(
                f'error walking catalogs: error getting package "{package}" from catalog '
                f'"{catalog.name}": {catalog.trouble}'
            )
        existing = catalog.catalog.packages.get(package)
        offers = upgrades.offers_of_v1(existing, query) if existing else ()
        if offers:
            found.append((catalog.priority, ChosenBundle(catalog=catalog.name, bundle=offers[0])))
    sound = [one for one in found if one[1].bundle.deprecation is None]
    return sound or found


def _describe_request(package: str, query: UpgradeQuery, version: str) -> str:
    words = f'package "{package}"'
    if version:
        words += f' matching version "{version}"'
    if query.channels:
        words += f" in channels [{' '.join(query.channels)}]"
    return words


def require_alone(bundle: Bundle) -> None:
    """Raise `InputError` with OLM's message if the bundle has dependencies."""
    type_ = next((type_ for type_, _ in bundle.properties if type_ in _UNSUPPORTED), None)
    if type_ is not None:
        raise InputError(
            f'validating bundle "{bundle.name}": bundle "{bundle.name}" has a dependency '
            f'declared via property "{type_}" which is currently not supported',
            hint="OLM v1 installs no dependencies: publish a bundle without them",
            cause="dependencies-not-supported",
        )
