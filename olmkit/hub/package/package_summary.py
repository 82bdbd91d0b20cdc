"""The data of a package on the pages of the whole site: its tile and the kinds that it provides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from olmkit.catalog.model import Bundle
from olmkit.hub import paths, records
from olmkit.hub.package import apis, fact_box, installs, stated, upgrades
from olmkit.hub.package import version_page as operators
from olmkit.hub.package.package_input import PackageInput, shared_data
from olmkit.hub.package.package_parts import failure_page
from olmkit.hub.package.version_page import Shared
from olmkit.hub.pages.kind_pages import ApiVersion, Provider
from olmkit.hub.pages.list_page import Tile
from olmkit.hub.pages.site_pages import ReportItem
from olmkit.hub.records import Record
from olmkit.kube.objects import GVK


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The data of a package on the pages of the whole site; `failure`: why it is incomplete."""

    tile: Tile
    notes: tuple[ReportItem, ...] = ()
    failure: str = ""
    kinds: Mapping[tuple[str, str], Provider]


def summary(package_input: PackageInput) -> Summary:
    """Return the data for lists and pages of kinds, from the package page's bundle."""
    package = package_input.package
    shown = upgrades.shown_bundle(package)
    if shown is None:
        text = f"{package_input.catalog}: package {package.name} has no bundle"
        note = ReportItem(kind="note", text=text)
        return Summary(tile=_bare_tile(package_input), notes=(note,), kinds={})
    try:
        record = records.read_record(shown)
        shared = shared_data(package_input, record)
        return Summary(
            tile=_tile(record, shared, package_input), kinds=_kinds(record, shared, package_input)
        )
    except Exception as error:  # data of any shape: an error affects only this package
        failure = failure_page(package_input, error).failure
        return Summary(tile=_bare_tile(package_input), kinds={}, failure=failure)


def _kinds(
    record: Record, shared: Shared, package_input: PackageInput
) -> Mapping[tuple[str, str], Provider]:
    """Return the provided kinds of all versions; the shown version takes precedence."""
    package = shared.package
    by_kind: dict[tuple[str, str], list[ApiVersion]] = {}
    crds = {
        (found.group, found.kind, found.version): found.schema_href
        for found in apis.describe_apis(record, stated.Examples())
    }
    for kind in dict.fromkeys((*apis.kinds(record), *(GVK(g, v, k) for g, k, v in crds))):
        href = crds.get((kind.group, kind.kind, kind.version), "")
        by_kind.setdefault((kind.group, kind.kind), []).append(
            ApiVersion(label=kind.version, href=href)
        )

    def provider(key: tuple[str, str]) -> Provider:
        of = upgrades.bundles_by_kind(package).get(key, ())
        is_shown = key in by_kind
        newest = record.bundle if is_shown else of[0]
        versions = dict.fromkeys(
            kind.version for kind in newest.properties.provided if (kind.group, kind.kind) == key
        )
        return Provider(
            display_name=stated.display_name(record, package.name),
            href=package_input.path
            if is_shown
            else paths.bundle(package_input.base, package.name, newest.name),
            version=str(newest.version or newest.name),
            channels=tuple(one.name for one in shared.members.get(newest.name, ())),
            api_versions=tuple(
                by_kind[key] if is_shown else (ApiVersion(label=one) for one in versions)
            ),
            others=_list_versions(of),
        )

    keys = dict.fromkeys((*by_kind, *upgrades.bundles_by_kind(package)))
    return {key: provider(key) for key in keys}


def _list_versions(of: Sequence[Bundle]) -> str:
    """Describe the versions that provide a kind; `of` has the newest first."""
    if len(of) < 2:
        return ""
    first, last = (str(one.version or one.name) for one in (of[-1], of[0]))
    return f"{len(of)} versions from {first} to {last}"


def _tile(record: Record, shared: Shared, package_input: PackageInput) -> Tile:
    package = shared.package
    provider, _ = stated.provider(record)
    capability, level = stated.capability(record)
    is_v1 = not installs.refusal_of_v1(record)
    channels = tuple(channel.name for channel in upgrades.channels(package))
    categories = stated.categories(record)
    features = [name for name, value in stated.features(record).items() if value]
    facets = {
        "category": categories,
        "provider": (stated.provider_group(provider).casefold(),) if provider else (),
        "capability": (capability,) if level else (),
        "channel": channels,
        "mode": fact_box.modes(record),
        "olm": ("v0", "v1") if is_v1 else ("v0",),
        "feature": tuple(features),
        "arch": stated.platforms(record, "arch") or ("amd64",),
        "catalog": (package_input.catalog,) if package_input.many else (),
    }
    return Tile(
        href=package_input.path,
        name=package.name,
        display_name=stated.display_name(record, package.name),
        provider=provider,
        summary=operators.summary(record, shared.fields),
        version=record.version,
        icon=shared.icon,
        deprecated=package.deprecation is not None or upgrades.is_deprecated(record.bundle),
        catalog=package_input.catalog if package_input.many else "",
        capability=capability,
        v1=is_v1,
        facets=tuple((name, values) for name, values in facets.items() if values),
        words=operators.search_text(record, shared.fields),
        alternative_name=record.annotations.get("artifacthub.io/alternativeName", ""),
        keywords=stated.keywords(record),
        kinds=tuple(dict.fromkeys(kind.kind for kind in apis.kinds(record))),
        categories=categories,
        channels=channels,
        created=record.annotations.get("createdAt", ""),
    )


def _bare_tile(package_input: PackageInput) -> Tile:
    package = package_input.package
    return Tile(
        href=package_input.path,
        name=package.name,
        display_name=package.name,
        provider="",
        summary="",
        version="",
        icon=None,
        deprecated=package.deprecation is not None,
        catalog=package_input.catalog if package_input.many else "",
        capability="",
        v1=False,
        facets=(("catalog", (package_input.catalog,)),) if package_input.many else (),
    )
