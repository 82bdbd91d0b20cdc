"""All pages of a hub, made of catalogs.

A package whose pages cannot be made gets one page that says why; the others do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from olmkit.base.diagnostics import OlmkitError
from olmkit.catalog.graph import links
from olmkit.catalog.model import Bundle, Catalog, Package
from olmkit.hub import (
    apis,
    icons,
    installs,
    operators,
    paths,
    records,
    schemas,
    stated,
    upgrades,
)
from olmkit.hub.installs import Where
from olmkit.hub.operators import Providers, Shared
from olmkit.hub.pages import (
    AboutCatalog,
    AboutPage,
    ApiVersion,
    ErrorPage,
    Facet,
    FacetValue,
    GraphPage,
    KindPage,
    Link,
    ListPage,
    Page,
    Provider,
    ReportItem,
    Site,
    TextFact,
    Tile,
)
from olmkit.hub.records import Record
from olmkit.kube import objects
from olmkit.kube.objects import GVK

SCHEMA_VERSION: Final = 1
_KEPT: Final = 8  # bundles that are kept, since the next ones replace them
_FACETS: Final = (
    ("category", "Category"),
    ("provider", "Provider"),
    ("capability", "Capability level"),
    ("channel", "Channel"),
    ("mode", "Install mode"),
    ("olm", "OLM"),
    ("feature", "Features"),
    ("arch", "Architecture"),
    ("catalog", "Catalog"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A catalog of the site: how the pages call it, what was read, and what could not be read.

    `digest` is that of the image or of the files; empty if it is not known.
    """

    name: str
    catalog: Catalog
    where: Where
    digest: str = ""
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class _Made:
    pages: dict[str, Page] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    tiles: list[Tile] = field(default_factory=list)
    report: list[ReportItem] = field(default_factory=list)
    kinds: dict[tuple[str, str], list[Provider]] = field(default_factory=dict)


def of_catalogs(sources: Sequence[Source], *, title: str) -> Site:
    """The pages. With several catalogs, those of each are below `c/NAME/`."""
    made = _Made()
    many = len(sources) > 1
    providers = _providers(sources, many=many)
    for source in sources:
        base = _base(source, many=many)
        for fault in source.faults:
            made.report.append(ReportItem(kind="failed", text=f"{source.name}: {fault}"))
        for _, package in sorted(source.catalog.packages.items()):
            _add(made, package, source, base, providers, many=many)
    made.tiles.sort(key=lambda one: (one.deprecated, stated.sort_key(one.display_name), one.href))
    tiles = tuple(made.tiles)
    made.pages[""] = ListPage(
        tiles=tiles,
        facets=tuple(_facets(tiles)),
        has_deprecated=any(one.deprecated for one in tiles),
        notices=tuple(one.text for one in made.report if one.kind == "failed"),
    )
    made.pages["about/"] = AboutPage(
        catalogs=tuple(_about(source) for source in sources), report=tuple(made.report)
    )
    made.pages["404.html"] = ErrorPage(
        title="Page not found",
        text="The catalog may not contain this operator or version any more.",
    )
    for (group, kind), found in sorted(made.kinds.items()):
        path = paths.kind(group, kind)
        made.pages[path] = KindPage(group=group, kind=kind, providers=tuple(found))
    made.data["index.json"] = {
        "schema_version": SCHEMA_VERSION,
        "packages": [_indexed(one) for one in tiles],
    }
    return Site(title=title, pages=made.pages, files=made.files, data=made.data)


def _base(source: Source, *, many: bool) -> str:
    return f"c/{paths.folder(source.name)}/" if many else ""


def _add(
    made: _Made, package: Package, source: Source, base: str, providers: Providers, *, many: bool
) -> None:
    """Add the pages of a package, or the one that says what is wrong with it."""
    own = _Made()
    path = paths.package(base, package.name)
    try:
        _add_package(own, package, source, base, providers, many=many)
    except Exception as error:  # data of any shape: it costs this package only
        words = (
            error.message if isinstance(error, OlmkitError) else f"{type(error).__name__}: {error}"
        )
        text = f"The pages of package {package.name} could not be made."
        made.pages[path] = ErrorPage(title=package.name, text=text, details=words[:2000])
        made.report.append(
            ReportItem(kind="failed", text=f"{source.name}: package {package.name}: {words[:500]}")
        )
        made.tiles.append(_bare_tile(package, source, path, many=many))
        return
    made.pages.update(own.pages)
    made.files.update(own.files)
    made.data.update(own.data)
    made.tiles += own.tiles
    made.report += own.report
    for key, found in own.kinds.items():
        made.kinds.setdefault(key, []).extend(found)


def _add_package(
    made: _Made, package: Package, source: Source, base: str, providers: Providers, *, many: bool
) -> None:
    path = paths.package(base, package.name)
    shown = upgrades.shown(package)
    if shown is None:
        made.pages[path] = ErrorPage(
            title=package.name, text="This package has no bundle in the catalog."
        )
        made.tiles.append(_bare_tile(package, source, path, many=many))
        made.report.append(
            ReportItem(kind="note", text=f"{source.name}: package {package.name} has no bundle")
        )
        return
    fields = records.package_fields(package)
    first = records.of_bundle(shown)
    icon = icons.of_package(fields, first.csv)
    if icon is not None:
        made.files[icon[0]] = icon[1]
    shared = Shared(
        package=package,
        base=base,
        fields=fields,
        icon=icon[0] if icon is not None else None,
        members=upgrades.members(package),
        rows=upgrades.rows(package, base),
        hops=upgrades.hops(package, base),
        where=source.where,
        providers=providers,
    )
    read = lru_cache(maxsize=_KEPT)(records.of_bundle)
    for bundle in reversed(upgrades.bundles(package)):
        record = read(bundle)
        replaced = _before(bundle, shared)
        before = read(replaced) if replaced is not None else None
        page = operators.page(record, before, shared, is_first=False)
        made.pages[page.href] = page
        made.data[f"{page.href}bundle.json"] = _bundle_data(record, shared)
        for crd in record.crds.values():
            made.pages.update(schemas.pages(crd, made.pages))
        if bundle is shown:
            made.pages[path] = operators.page(record, before, shared, is_first=True)
            _add_kinds(made, record, shared, path)
    made.tiles.append(_tile(first, shared, source, path, many=many))
    made.pages[paths.graph(base, package.name)] = GraphPage(
        name=package.name,
        display_name=stated.display_name(first, package.name),
        href=path,
        package=package,
        versions=shared.rows,
        hops=shared.hops,
        graph_href=paths.graph(base, package.name),
    )
    made.data[f"{path}package.json"] = _package_data(package, first)


def _before(bundle: Bundle, shared: Shared) -> Bundle | None:
    """What the bundle replaces, in the first of its channels that knows it."""
    for channel in shared.members.get(bundle.name, ()):
        found = shared.package.bundles.get(channel.entries[bundle.name].replaces)
        if found is not None:
            return found
    return None


def _add_kinds(made: _Made, record: Record, shared: Shared, path: str) -> None:
    by_kind: dict[tuple[str, str], list[ApiVersion]] = {}
    crds = {
        (found.group, found.kind, found.version): found.schema_href
        for found in apis.of_record(record, stated.Examples())
    }
    for kind in dict.fromkeys((*apis.kinds(record), *(GVK(g, v, k) for g, k, v in crds))):
        href = crds.get((kind.group, kind.kind, kind.version), "")
        by_kind.setdefault((kind.group, kind.kind), []).append(
            ApiVersion(label=kind.version, href=href)
        )
    of = shared.members.get(record.bundle.name, ())
    for key, versions in by_kind.items():
        made.kinds.setdefault(key, []).append(
            Provider(
                display_name=stated.display_name(record, shared.package.name),
                href=path,
                version=record.version,
                channels=tuple(channel.name for channel in of),
                api_versions=tuple(versions),
            )
        )


# The list


def _tile(record: Record, shared: Shared, source: Source, path: str, *, many: bool) -> Tile:
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
        "mode": operators.modes(record),
        "olm": ("v0", "v1") if is_v1 else ("v0",),
        "feature": tuple(features),
        "arch": stated.platforms(record, "arch") or ("amd64",),
        "catalog": (source.name,) if many else (),
    }
    return Tile(
        href=path,
        name=package.name,
        display_name=stated.display_name(record, package.name),
        provider=provider,
        summary=operators.summary(record, shared.fields),
        version=record.version,
        icon=shared.icon,
        deprecated=package.deprecation is not None or upgrades.is_deprecated(record.bundle),
        catalog=source.name if many else "",
        capability=capability,
        v1=is_v1,
        facets=tuple((name, values) for name, values in facets.items() if values),
        alternative_name=record.annotations.get("artifacthub.io/alternativeName", ""),
        keywords=stated.keywords(record),
        kinds=tuple(dict.fromkeys(kind.kind for kind in apis.kinds(record))),
        categories=categories,
        channels=channels,
    )


def _bare_tile(package: Package, source: Source, path: str, *, many: bool) -> Tile:
    return Tile(
        href=path,
        name=package.name,
        display_name=package.name,
        provider="",
        summary="",
        version="",
        icon=None,
        deprecated=package.deprecation is not None,
        catalog=source.name if many else "",
        capability="",
        v1=False,
        facets=(("catalog", (source.name,)),) if many else (),
    )


def _facets(tiles: Sequence[Tile]) -> Iterator[Facet]:
    for name, title in _FACETS:
        counts: dict[str, int] = {}
        labels: dict[str, str] = {}
        for tile in tiles:
            for value in dict(tile.facets).get(name, ()):
                counts[value] = counts.get(value, 0) + 1
                shown = stated.provider_group(tile.provider) if name == "provider" else value
                labels.setdefault(value, shown)
        ordered = sorted(counts, key=lambda one: (-counts[one], one))
        if ordered:
            values = (FacetValue(value=v, label=labels[v], count=counts[v]) for v in ordered)
            yield Facet(name=name, title=title, values=tuple(values))


def _about(source: Source) -> AboutCatalog:
    packages = source.catalog.packages.values()
    facts = [
        TextFact(label="Packages", text=str(len(packages))),
        TextFact(label="Channels", text=str(sum(len(one.channels) for one in packages))),
        TextFact(label="Bundles", text=str(sum(len(one.bundles) for one in packages))),
    ]
    if source.digest:
        facts.insert(0, TextFact(label="Digest", text=source.digest))
    return AboutCatalog(name=source.name, facts=tuple(facts))


# Who provides what


def _providers(sources: Sequence[Source], *, many: bool) -> Providers:
    kinds: dict[GVK, dict[Link, None]] = {}
    packages: dict[str, dict[Link, None]] = {}
    dependents: dict[str, dict[Link, None]] = {}
    required: list[tuple[Link, str, GVK | str]] = []
    for source in sources:
        for name, package in sorted(source.catalog.packages.items()):
            href = paths.package(_base(source, many=many), name)
            link = Link(label=f"{name} ({source.name})" if many else name, href=href)
            packages.setdefault(name, {})[link] = None
            shown = upgrades.shown(package)
            if shown is None:
                continue
            for kind in shown.properties.provided:
                kinds.setdefault(kind, {})[link] = None
            required += [(link, name, one.package) for one in shown.properties.required_packages]
            required += [(link, name, kind) for kind in shown.properties.required]
    for link, _, wanted in required:
        if isinstance(wanted, str):
            dependents.setdefault(wanted, {})[link] = None
            continue
        for provider in kinds.get(wanted, {}):
            target = provider.label.partition(" (")[0]
            dependents.setdefault(target, {})[link] = None
    return Providers(
        kinds={key: tuple(found) for key, found in kinds.items()},
        packages={key: tuple(found) for key, found in packages.items()},
        dependents={key: tuple(found) for key, found in dependents.items()},
    )


# JSON


def _indexed(tile: Tile) -> Mapping[str, Any]:
    found = {
        "name": tile.name,
        "href": tile.href,
        "displayName": tile.display_name,
        "provider": tile.provider,
        "version": tile.version,
        "summary": tile.summary,
        "alternativeName": tile.alternative_name,
        "keywords": list(tile.keywords),
        "kinds": list(tile.kinds),
        "categories": list(tile.categories),
        "channels": list(tile.channels),
        "capability": tile.capability,
        "deprecated": tile.deprecated,
        "v1": tile.v1,
        "icon": tile.icon or "",
        "catalog": tile.catalog,
    }
    kept = ("name", "href", "deprecated", "v1")
    return {key: value for key, value in found.items() if value or key in kept}


def _package_data(package: Package, first: Record) -> Mapping[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "package": package.name,
        "displayName": stated.display_name(first, package.name),
        "defaultChannel": package.default_channel,
        "shownBundle": first.bundle.name,
        "deprecation": package.deprecation,
        "channels": [
            {
                "name": channel.name,
                "heads": list(links.heads(channel)),
                "deprecation": channel.deprecation,
                "entries": [
                    {
                        "name": entry.name,
                        "version": str(entry.bundle.version)
                        if entry.bundle is not None and entry.bundle.version is not None
                        else None,
                        "replaces": entry.replaces,
                        "skips": list(entry.skips),
                        "skipRange": entry.skip_range,
                        "deprecation": entry.bundle.deprecation if entry.bundle else None,
                    }
                    for entry in links.by_descending_version(channel.entries)
                ],
            }
            for channel in upgrades.channels(package)
        ],
    }


def _bundle_data(record: Record, shared: Shared) -> Mapping[str, Any]:
    bundle = record.bundle
    return {
        "schema_version": SCHEMA_VERSION,
        "package": bundle.package,
        "bundle": bundle.name,
        "version": record.version,
        "image": bundle.image,
        "channels": [channel.name for channel in shared.members.get(bundle.name, ())],
        "deprecation": bundle.deprecation,
        "installModes": list(operators.modes(record)),
        "olmV1Refusal": list(installs.refusal_of_v1(record)),
        "relatedImages": [{"name": one.name, "image": one.image} for one in bundle.related_images],
        "provided": [kind._asdict() for kind in apis.kinds(record)],
        "objects": sorted(f"{objects.kind(one)}/{objects.name(one)}" for one in record.manifests)
        if record.has_manifests
        else None,
    }
