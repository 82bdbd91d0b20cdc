"""A package, and the data of the site that its pages need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.catalog.model import Package
from olmkit.hub import icons, paths, records
from olmkit.hub.package import apis, menus, stated, upgrades
from olmkit.hub.package.installs import Where
from olmkit.hub.package.version_page import Providers, Shared
from olmkit.hub.records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageInput:
    """A package, and the data of the site that its pages need.

    `base` is empty or the folder of its catalog; `many`: the site has several catalogs. `unread`:
    bundles whose images could not be read, and why. `lifecycle` has the support periods of
    versions.
    """

    package: Package
    catalog: str
    where: Where
    base: str
    many: bool
    providers: Providers
    unread: Mapping[str, str] = field(default_factory=dict)
    lifecycle: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Return the page of the package."""
        return paths.package(self.base, self.package.name)


def shared_data(package_input: PackageInput, first: Record, *, is_whole: bool = False) -> Shared:
    """Return the common data of the package's pages; upgrades only if `is_whole`."""
    package = package_input.package
    fields = records.package_fields(package)
    icon = icons.package_icon(fields, first.csv)
    members = upgrades.members(package)
    return Shared(
        package=package,
        base=package_input.base,
        fields=fields,
        icon=icon[0] if icon is not None else None,
        members=members,
        rows=upgrades.rows(package, package_input.base) if is_whole else (),
        hops=upgrades.hops(package, package_input.base) if is_whole else (),
        where=package_input.where,
        providers=package_input.providers,
        unread=package_input.unread,
        lifecycle=package_input.lifecycle,
        kinds=frozenset(one.href for one in apis.describe_apis(first, stated.Examples())),
        menus=menus.build_menus(package, package_input.base, members) if is_whole else None,
    )
