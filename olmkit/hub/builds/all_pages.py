"""All pages of a hub for catalogs: those of the packages, and those that list them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from olmkit.catalog.blobs import outline, wire
from olmkit.catalog.model import Catalog
from olmkit.hub import feeds, news, paths
from olmkit.hub.feeds import Feed
from olmkit.hub.news import Moment
from olmkit.hub.package import fact_box, package_pages, package_summary, stated, upgrades
from olmkit.hub.package.installs import Where
from olmkit.hub.package.package_input import PackageInput
from olmkit.hub.package.package_json import SCHEMA_VERSION
from olmkit.hub.package.package_parts import Data, Part
from olmkit.hub.package.package_summary import Summary
from olmkit.hub.package.version_page import Providers
from olmkit.hub.pages.kind_pages import KindPage, Provider
from olmkit.hub.pages.list_page import Facet, FacetValue, ListPage, News, Tile
from olmkit.hub.pages.page_parts import Link, TextFact
from olmkit.hub.pages.site_pages import AboutCatalog, AboutPage, ErrorPage, Page, ReportItem, Site
from olmkit.kube.objects import GVK

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
_UNKNOWN: Final = Moment()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A catalog of the site: its name on pages, its content, and errors.

    `digest` is that of the image or of the files; empty if unknown. `unread`: package and name of
    bundles whose requested images could not be read, and why.
    """

    name: str
    catalog: Catalog
    where: Where
    digest: str = ""
    faults: tuple[str, ...] = ()
    unread: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def failures(self) -> tuple[str, ...]:
        """Return descriptions of everything that could not be read."""
        images = (
            f"{self.name}: image of {name}: {message}"
            for (_, name), message in sorted(self.unread.items())
        )
        return (*(f"{self.name}: {fault}" for fault in self.faults), *images)


def packages(sources: Sequence[Source]) -> Iterator[PackageInput]:
    """Yield the packages of all catalogs, in the order in which their pages are created."""
    many = len(sources) > 1
    providers = _providers(sources, many=many)
    for source in sources:
        lifecycles = _lifecycles(source.catalog)
        for _, package in sorted(source.catalog.packages.items()):
            yield PackageInput(
                package=package,
                catalog=source.name,
                where=source.where,
                base=_base(source, many=many),
                many=many,
                providers=providers,
                unread={
                    name: message
                    for (of, name), message in source.unread.items()
                    if of == package.name
                },
                lifecycle=lifecycles.get(package.name, {}),
            )


def rest(
    sources: Sequence[Source],
    summaries: Sequence[Summary],
    failures: Sequence[str],
    moment: Moment = _UNKNOWN,
) -> Iterator[Part]:
    """Yield the list, the pages of kinds and other pages that do not belong to a package.

    `failures` describe the pages of packages that could not be created.
    """
    report = [
        *(_failure(one) for source in sources for one in source.failures),
        *(_failure(one) for one in failures),
        *(note for one in summaries for note in one.notes),
        *(note for source in sources for note in _unknown_deprecations(source)),
    ]
    tiles = tuple(sorted((one.tile for one in summaries), key=_place))
    changes = news.since(moment, tiles)
    yield Part(
        "",
        ListPage(
            tiles=tiles,
            facets=tuple(_facets(tiles)),
            has_deprecated=any(one.deprecated for one in tiles),
            notices=tuple(one.text for one in report if one.kind == "failed"),
            changed=None if changes is None else _changed_pages(changes),
        ),
    )
    about = tuple(_about(source) for source in sources)
    yield Part(
        "about/",
        AboutPage(catalogs=about, report=tuple(report), news=changes, time=moment.time),
    )
    missing = ErrorPage(
        title="Page not found",
        text="The catalog may no longer contain this operator or version.",
    )
    yield Part("404.html", missing)
    yield from _kinds(summaries)
    listed = [_index_entry(one) for one in tiles]
    index: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "packages": listed}
    if changes is not None:
        index["changes"] = news.data(changes)
    yield Part("index.json", Data(index))


def build_site(sources: Sequence[Source], *, title: str) -> Site:
    """Return all pages at once. With several catalogs, those of each are below `c/NAME/`."""
    pages: dict[str, Page] = {}
    found: dict[str, bytes] = {}
    data: dict[str, Any] = {}

    def add(part: Part) -> None:
        match part.content:
            case bytes():
                found[part.path] = part.content
            case Data():
                data[part.path] = part.content.value
            case Feed():
                found[part.path] = feeds.package_feed(part.path, title, part.content)
            case _:
                pages[part.path] = part.content

    summaries, failures = [], []
    for wanted in packages(sources):
        summaries.append(package_summary.summary(wanted))
        for part in package_pages.parts(wanted, pages):
            add(part)
            if part.failure:
                failures.append(part.failure)
    for part in rest(sources, summaries, failures):
        add(part)
    return Site(title=title, pages=pages, files=found, data=data)


def _place(tile: Tile) -> tuple[bool, str, str]:
    return tile.deprecated, stated.sort_key(tile.display_name), tile.href


def _changed_pages(changes: Sequence[News]) -> Mapping[str, int]:
    """Return the pages of packages, and the places of their last changes."""
    found: dict[str, int] = {}
    for place, one in enumerate(changes):
        if one.href:
            found.setdefault(one.href, place)
    return found


def _failure(text: str) -> ReportItem:
    return ReportItem(kind="failed", text=text)


def _kinds(summaries: Sequence[Summary]) -> Iterator[Part]:
    found: dict[tuple[str, str], list[Provider]] = {}
    for one in summaries:
        for key, provider in one.kinds.items():
            found.setdefault(key, []).append(provider)
    for (group, kind), providers in sorted(found.items()):
        page = KindPage(group=group, kind=kind, providers=tuple(providers))
        yield Part(paths.kind(group, kind), page)


def _lifecycles(catalog: Catalog) -> Mapping[str, Mapping[str, Any]]:
    """Return the blobs with the support periods of packages' versions, by package."""
    return {
        one.package: outline.blob_at(one.place).value
        for one in catalog.outlines.customs
        if one.schema == fact_box.LIFECYCLES
    }


def _unknown_deprecations(source: Source) -> Iterator[ReportItem]:
    """Yield the number of deprecations without a subject, which OLM ignores."""
    packages = source.catalog.packages
    number = 0
    for blob in source.catalog.outlines.deprecations:
        package = packages.get(blob.package)
        for entry in blob.entries:
            known: Mapping[str, Any] = {}
            if package is not None:
                known = {
                    wire.PACKAGE: {"": package},
                    wire.CHANNEL: package.channels,
                    wire.BUNDLE: package.bundles,
                }.get(entry.schema, {})
            number += entry.name not in known
    if number:
        words = "1 deprecation names" if number == 1 else f"{number} deprecations name"
        text = f"{source.name}: {words} a package, channel or bundle that the catalog does not have"
        yield ReportItem(kind="note", text=text)


def _base(source: Source, *, many: bool) -> str:
    return f"c/{paths.folder(source.name)}/" if many else ""


# The list


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


# Providers


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
            shown = upgrades.shown_bundle(package)
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


def _index_entry(tile: Tile) -> Mapping[str, Any]:
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
