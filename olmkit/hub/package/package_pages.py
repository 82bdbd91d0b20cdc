"""All files of one package: its pages, icon and JSON, one after the other.

A version whose page cannot be rendered gets an error page; the others do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.catalog.graph import drawing, links, picture
from olmkit.catalog.model import Bundle, Package
from olmkit.hub import feeds, icons, paths, records
from olmkit.hub.feeds import Entry, Feed
from olmkit.hub.looks import badge
from olmkit.hub.package import (
    apis,
    comparison,
    fact_box,
    installs,
    menus,
    schemas,
    stated,
    upgrades,
)
from olmkit.hub.package import version_page as operators
from olmkit.hub.package.comparison import Facts
from olmkit.hub.package.installs import Where
from olmkit.hub.package.version_page import Providers, Shared, compare, contents
from olmkit.hub.pages.kind_pages import ApiVersion, CrdPage, Provider
from olmkit.hub.pages.list_page import Tile
from olmkit.hub.pages.page_parts import Link
from olmkit.hub.pages.site_pages import ErrorPage, Page, ReportItem
from olmkit.hub.pages.version_pages import ComparePage, GraphPage, VersionChoice
from olmkit.hub.records import Record
from olmkit.kube import objects
from olmkit.kube.objects import GVK

SCHEMA_VERSION: Final = 1
_EMPTY: Final = "This package has no bundle in the catalog."
_KEPT: Final = 8  # number of kept bundles, since the next ones replace them


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The data of a package on the pages of the whole site; `failure`: why it is incomplete."""

    tile: Tile
    notes: tuple[ReportItem, ...] = ()
    failure: str = ""
    kinds: Mapping[tuple[str, str], Provider]


class Data(NamedTuple):
    """The value of a JSON file."""

    value: Any


class Part(NamedTuple):
    """A page, a file, a value or a feed at a path.

    `failure` explains why it is an error page.
    """

    path: str
    content: Page | bytes | Data | Feed
    failure: str = ""


def summary(wanted: PackageInput) -> Summary:
    """Return the data for lists and pages of kinds, from the package page's bundle."""
    package = wanted.package
    shown = upgrades.shown_bundle(package)
    if shown is None:
        text = f"{wanted.catalog}: package {package.name} has no bundle"
        note = ReportItem(kind="note", text=text)
        return Summary(tile=_bare_tile(wanted), notes=(note,), kinds={})
    try:
        record = records.read_record(shown)
        shared = _shared_data(wanted, record)
        return Summary(tile=_tile(record, shared, wanted), kinds=_kinds(record, shared, wanted))
    except Exception as error:  # data of any shape: an error affects only this package
        failure = failure_page(wanted, error).failure
        return Summary(tile=_bare_tile(wanted), kinds={}, failure=failure)


def parts(wanted: PackageInput, known: Container[str] = ()) -> Iterator[Part]:
    """Yield all files of the package, without those of CRDs that are `known`.

    For a failed page, there is an error page with a `failure`.
    """
    package = wanted.package
    if upgrades.shown_bundle(package) is None:
        yield Part(wanted.path, ErrorPage(title=package.name, text=_EMPTY))
        return
    try:
        pages = PackagePages(wanted, known)
    except Exception as error:  # data of any shape: an error affects only this package
        yield failure_page(wanted, error)
        return
    yield from pages.icon()
    yield from pages.versions()
    yield from pages.histories()
    yield from pages.overview()


def failure_page(wanted: PackageInput, error: Exception) -> Part:
    """Return the page of a package that cannot be rendered."""
    name = wanted.package.name
    return _failure_part(wanted.path, name, f"{wanted.catalog}: package {name}", error)


class PackagePages:
    """The files of a package in groups that can be rendered independently.

    Raises any error if the shown bundle cannot be read, and `InputError` if there is none.
    """

    def __init__(self, wanted: PackageInput, known: Container[str] = ()) -> None:
        shown = upgrades.shown_bundle(wanted.package)
        if shown is None:
            raise InputError(_EMPTY.rstrip("."))
        self._wanted = wanted
        self._shown = shown
        self._first = records.read_record(shown)
        self._shared = _shared_data(wanted, self._first, is_whole=True)
        self._versions = _Versions(wanted, self._shared, known)
        self._name = stated.display_name(self._first, wanted.package.name)

    def icon(self) -> Iterator[Part]:
        found = icons.package_icon(self._shared.fields, self._first.csv)
        if found is not None:
            yield Part(*found)

    def versions(self) -> Iterator[Part]:
        """Yield the pages of all versions with their own data, the newest first."""
        for bundle in upgrades.bundles(self._wanted.package):
            yield from self.version(bundle)

    def version(self, bundle: Bundle) -> Iterator[Part]:
        """Return the page of a version with its own data, or the package page for the shown one."""
        wanted, package = self._wanted, self._wanted.package
        path = paths.bundle(wanted.base, package.name, bundle.name)
        try:
            yield from self._versions.parts(bundle)
        except Exception as error:
            where = f"{wanted.catalog}: package {package.name}, bundle {bundle.name}"
            yield _failure_part(path, bundle.name, where, error)
            if bundle is self._shown:
                yield Part(wanted.path, _failure_part(path, package.name, where, error).content)

    def histories(self) -> Iterator[Part]:
        """Yield the comparison and the feed of the `versions` that were rendered before."""
        yield from _comparison(self._versions.compared, self._shared, self._name)
        feed = Feed(name=self._name, entries=tuple(self._versions.entries))
        yield Part(f"{self._wanted.path}{feeds.FILE}", feed)

    def overview(self) -> Iterator[Part]:
        """Yield the graph of upgrades, the badge, the menus and the data of the package."""
        wanted, package = self._wanted, self._wanted.package
        graph = paths.graph(wanted.base, package.name)
        page = GraphPage(
            name=package.name,
            display_name=self._name,
            href=wanted.path,
            package=package,
            versions=self._shared.rows,
            hops=self._shared.hops,
            graph_href=graph,
            channels=tuple(one.name for one in upgrades.channels(package)),
        )
        yield Part(graph, page)
        yield from _pictures(wanted, self._first)
        if self._shared.menus is not None:
            script = menus.script(self._shared.menus).encode("utf-8", "replace")
            yield Part(self._shared.menus.file, script)
        yield Part(f"{wanted.path}package.json", Data(_package_data(package, self._first)))


def _pictures(wanted: PackageInput, first: Record) -> Iterator[Part]:
    """Yield the whole upgrade graph in each format, and the badge."""
    package = wanted.package
    graph = paths.graph(wanted.base, package.name)
    for name, text in (
        ("graph.svg", picture.svg([package])),
        ("graph.mmd", drawing.mermaid([package])),
        ("graph.dot", drawing.dot([package])),
    ):
        yield Part(f"{graph}{name}", text.encode("utf-8", "replace"))
    yield Part(f"{wanted.path}badge.svg", badge.svg(package.name, first.version).encode())


def _failure_part(path: str, title: str, where: str, error: Exception) -> Part:
    words = error.message if isinstance(error, OlmkitError) else f"{type(error).__name__}: {error}"
    page = ErrorPage(
        title=title, text=f"This page of {title} could not be made.", details=words[:2000]
    )
    return Part(path, page, f"{where}: {words[:500]}")


def _shared_data(wanted: PackageInput, first: Record, *, is_whole: bool = False) -> Shared:
    """Return the common data of the package's pages; upgrades only if `is_whole`."""
    package = wanted.package
    fields = records.package_fields(package)
    icon = icons.package_icon(fields, first.csv)
    members = upgrades.members(package)
    return Shared(
        package=package,
        base=wanted.base,
        fields=fields,
        icon=icon[0] if icon is not None else None,
        members=members,
        rows=upgrades.rows(package, wanted.base) if is_whole else (),
        hops=upgrades.hops(package, wanted.base) if is_whole else (),
        where=wanted.where,
        providers=wanted.providers,
        unread=wanted.unread,
        lifecycle=wanted.lifecycle,
        kinds=frozenset(one.href for one in apis.describe_apis(first, stated.Examples())),
        menus=menus.build_menus(package, wanted.base, members) if is_whole else None,
    )


class _Versions:
    """Creates the files of versions, from the newest to the oldest."""

    def __init__(self, wanted: PackageInput, shared: Shared, known: Container[str]) -> None:
        self.compared = Facts()
        self.entries: list[Entry] = []
        self._wanted = wanted
        self._shared = shared
        self._known = known
        self._record = lru_cache(maxsize=_KEPT)(records.read_record)
        self._read = lru_cache(maxsize=_KEPT)(lambda one: contents(self._record(one)))
        self._same = _SameApis(wanted, self._record)
        # Only of the last version: the fields of many versions would fill the memory.
        self._crds: dict[str, CrdPage] = {}

    def parts(self, bundle: Bundle) -> Iterator[Part]:
        shared = self._shared
        found = self._read(bundle)
        record = found.record
        replaced = _find_replaced(bundle, shared)
        changes = compare(self._read(replaced), found) if replaced is not None else None
        same = self._same.of(bundle)
        page = operators.page(record, changes, shared, is_first=False, same=same)
        yield Part(page.href, page)
        yield Part(f"{page.href}bundle.json", Data(_bundle_data(record, shared)))
        self.entries.append(self._entry(record, page.href))
        self._crds = dict(self._crd_pages(record))
        for path, crd in self._crds.items():
            if path not in self._known:
                yield Part(path, crd)
        of = (channel.name for channel in shared.members.get(bundle.name, ()))
        compared = comparison.facts(record, found.summary, of, self._crds.get)
        self.compared.add(bundle.name, compared)
        if bundle is upgrades.shown_bundle(shared.package):
            first = operators.page(record, changes, shared, is_first=True)
            yield Part(self._wanted.path, first)

    def _entry(self, record: Record, href: str) -> Entry:
        bundle, package = record.bundle, self._shared.package
        of = [channel.name for channel in self._shared.members.get(bundle.name, ())]
        words = [f"In channel {name}." for name in of] or ["In no channel."]
        if upgrades.is_deprecated(bundle):
            words.append("Deprecated.")
        return Entry(
            title=f"{stated.display_name(record, package.name)} {record.version}".strip(),
            href=href,
            identity=(self._wanted.catalog, package.name, bundle.name),
            created=record.annotations.get("createdAt", ""),
            summary=" ".join(words),
        )

    def _crd_pages(self, record: Record) -> Iterator[tuple[str, CrdPage]]:
        for crd in record.crds.values():
            digest = schemas.digest(crd)
            for version, _ in schemas.versions(crd):
                path = paths.crd(digest, version)
                if path in self._crds:
                    yield path, self._crds[path]
            for path, page in schemas.pages(crd, self._crds):
                has_page = self._shared.has_page_of(page.group, page.kind)
                yield path, page if has_page else replace(page, kind_href="")


class _SameApis:
    """The place of an API's contents: on the page of the newest version that has them."""

    def __init__(self, wanted: PackageInput, read: Callable[[Bundle], Record]) -> None:
        self._wanted = wanted
        self._read = read
        self._listed = upgrades.bundles(wanted.package)
        self._next = 0  # the index of the newest version that has not been checked
        self._found: dict[str, tuple[Bundle, Link]] = {}
        self._contents: dict[str, Mapping[GVK, str]] = {}

    def of(self, bundle: Bundle) -> Mapping[GVK, Link]:
        """Return the APIs of a version that are the same in a newer one, and their places."""
        while bundle.name not in self._contents:
            self._add(self._listed[self._next])
            self._next += 1
        links_ = {kind: self._found[one] for kind, one in self._contents[bundle.name].items()}
        return {kind: link for kind, (of, link) in links_.items() if of is not bundle}

    def _add(self, bundle: Bundle) -> None:
        try:
            record = self._read(bundle)
            found = apis.contents(record, stated.examples(record))
        except Exception:  # the page of the version reports it
            found = {}
        self._contents[bundle.name] = found
        path = paths.bundle(self._wanted.base, bundle.package, bundle.name)
        for kind, contents_ in found.items():
            link = Link(
                label=str(bundle.version or bundle.name),
                href=f"{path}#{apis.anchor(kind.kind, kind.version)}",
            )
            self._found.setdefault(contents_, (bundle, link))


def _comparison(found: Facts, shared: Shared, display_name: str) -> Iterator[Part]:
    """Yield the page that compares versions, if there are two, and its facts."""
    package, base = shared.package, shared.base
    listed = upgrades.bundles(package)
    if len(listed) < 2:
        return
    path = paths.compare(base, package.name)
    file = f"{path}facts.js"
    yield Part(file, comparison.script(found.data()).encode("utf-8", "replace"))
    newest = upgrades.shown_bundle(package) or listed[0]
    before = _find_replaced(newest, shared) or next(one for one in listed if one is not newest)
    page = ComparePage(
        name=package.name,
        display_name=display_name,
        href=paths.package(base, package.name),
        facts=file,
        versions=tuple(
            VersionChoice(
                label=str(one.version or one.name),
                bundle=one.name,
                href=paths.bundle(base, package.name, one.name),
                current=one is newest,
            )
            for one in listed
        ),
        before=before.name,
        without_fields=found.without_fields,
    )
    yield Part(path, page)


def _find_replaced(bundle: Bundle, shared: Shared) -> Bundle | None:
    """Return the replaced bundle, from the first channel that has it."""
    for channel in shared.members.get(bundle.name, ()):
        found = shared.package.bundles.get(channel.entries[bundle.name].replaces)
        if found is not None:
            return found
    return None


def _kinds(
    record: Record, shared: Shared, wanted: PackageInput
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
            href=wanted.path if is_shown else paths.bundle(wanted.base, package.name, newest.name),
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


# The list


def _tile(record: Record, shared: Shared, wanted: PackageInput) -> Tile:
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
        "catalog": (wanted.catalog,) if wanted.many else (),
    }
    return Tile(
        href=wanted.path,
        name=package.name,
        display_name=stated.display_name(record, package.name),
        provider=provider,
        summary=operators.summary(record, shared.fields),
        version=record.version,
        icon=shared.icon,
        deprecated=package.deprecation is not None or upgrades.is_deprecated(record.bundle),
        catalog=wanted.catalog if wanted.many else "",
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


def _bare_tile(wanted: PackageInput) -> Tile:
    package = wanted.package
    return Tile(
        href=wanted.path,
        name=package.name,
        display_name=package.name,
        provider="",
        summary="",
        version="",
        icon=None,
        deprecated=package.deprecation is not None,
        catalog=wanted.catalog if wanted.many else "",
        capability="",
        v1=False,
        facets=(("catalog", (wanted.catalog,)),) if wanted.many else (),
    )


# JSON


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
                    for entry in links.sort_by_version(channel.entries)
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
        "installModes": list(fact_box.modes(record)),
        "olmV1Refusal": list(installs.refusal_of_v1(record)),
        "relatedImages": [{"name": one.name, "image": one.image} for one in bundle.related_images],
        "provided": [kind._asdict() for kind in apis.kinds(record)],
        "objects": sorted(f"{objects.kind(one)}/{objects.name(one)}" for one in record.manifests)
        if record.has_manifests
        else None,
    }
