"""The page of one version of an operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from olmkit.base.diagnostics import OlmkitError
from olmkit.base.json import text as json_text
from olmkit.base.tree import Tree
from olmkit.bundle import layout, model
from olmkit.bundle.changes import difference
from olmkit.bundle.changes.change import BundleChange
from olmkit.bundle.summary import summary as summaries
from olmkit.bundle.summary.summary import BundleSummary
from olmkit.catalog.blobs import properties
from olmkit.catalog.model import Bundle, Channel, Entry, Package
from olmkit.hub import paths
from olmkit.hub.looks import markdown
from olmkit.hub.looks.text import shortened
from olmkit.hub.package import (
    apis,
    comparison,
    fact_box,
    installs,
    menus,
    permissions,
    stated,
    upgrades,
)
from olmkit.hub.package.installs import Where
from olmkit.hub.pages.instructions import Install
from olmkit.hub.pages.operator_page import (
    Compare,
    CompareGroup,
    CompareItem,
    Dependency,
    Deprecation,
    Image,
    Menus,
    Newer,
    OperatorPage,
)
from olmkit.hub.pages.page_parts import Badge, Link
from olmkit.hub.pages.version_pages import Hops, VersionRow
from olmkit.hub.records import Record
from olmkit.kube.objects import GVK, mapping, text

_SUMMARY: Final = 200  # characters
_SEARCHED: Final = 6000  # maximum characters of a description that the search uses
_HOPS: Final = 60  # versions from which an operator page shows the upgrades; the graph shows all
_NO_EDGE: Final = "no-upgrade-edge"
_FEW: Final = 6  # number of rows of a table that are always shown
_NEAR: Final = 30  # rows of the table of versions on each side of the shown version
_NONE: Final[Mapping[GVK, Link]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """The providers on the whole site, by kind and by package, and the dependents of a package."""

    kinds: Mapping[GVK, tuple[Link, ...]]
    packages: Mapping[str, tuple[Link, ...]]
    dependents: Mapping[str, tuple[Link, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A version for comparison; without `bundle` and `summary` if it has no readable CSV."""

    record: Record
    bundle: model.Bundle | None
    summary: BundleSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The common data of all pages of a package."""

    package: Package
    base: str
    fields: Mapping[str, Any]
    icon: str | None
    members: Mapping[str, tuple[Channel, ...]]
    rows: tuple[VersionRow, ...]
    hops: tuple[Hops, ...]
    where: Where
    providers: Providers
    unread: Mapping[str, str] = field(default_factory=dict)
    lifecycle: Mapping[str, Any] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    menus: Menus | None = None

    def has_page_of(self, group: str, kind: str) -> bool:
        """Return whether a kind has a page: those of the shown version or another one."""
        is_stated = (group, kind) in upgrades.bundles_by_kind(self.package)
        return is_stated or paths.kind(group, kind) in self.kinds


def page(
    record: Record,
    changes: Compare | None,
    shared: Shared,
    *,
    is_first: bool,
    same: Mapping[GVK, Link] = _NONE,
) -> OperatorPage:
    """Return the page of a bundle with its `changes` from the replaced one.

    `is_first`: it is the page of the package. `same` are pages of other versions with the same
    contents of an API.
    """
    package = shared.package
    bundle = record.bundle
    of = shared.members.get(bundle.name, ())
    default, _ = upgrades.default_channel(package)
    channel = next((one for one in of if one is default), of[0] if of else None)
    head = upgrades.head(channel) if channel is not None else None
    examples = stated.examples(record)
    capability, level = stated.capability(record)
    provider, url = stated.provider(record)
    return OperatorPage(
        package=package.name,
        package_href=paths.package(shared.base, package.name),
        bundle=bundle.name,
        href=paths.bundle(shared.base, package.name, bundle.name),
        display_name=stated.display_name(record, package.name),
        version=record.version,
        icon=shared.icon,
        provider=provider,
        provider_url=url,
        summary=summary(record, shared.fields),
        description=text(record.spec.get("description")) or text(shared.fields.get("description")),
        badges=tuple(_badges(record, package)),
        deprecations=tuple(_deprecations(bundle, package, of)),
        notices=tuple(_notices(record, shared, channel)),
        newer=_newer(bundle, channel, shared),
        good=_good(bundle, channel, shared),
        channel=channel.name if channel is not None else "",
        menus=shared.menus,
        install=_install(record, shared, channel, head),
        apis=tuple(
            one if shared.has_page_of(one.group, one.kind) else replace(one, href="")
            for one in apis.describe_apis(record, examples, same)
        ),
        examples_error=examples.error,
        examples_raw=examples.raw,
        dependencies=tuple(_dependencies(record, shared.providers)),
        dependents=shared.providers.dependents.get(package.name, ()),
        permissions=permissions.list_permissions(record),
        permissions_of_olm=permissions.OF_OLM,
        images=tuple(_images(record)),
        versions=_rows(shared, bundle.name, channel, head),
        version_count=len(shared.rows),
        hops=shared.hops[:_HOPS] if is_first else (),
        graph_href=paths.graph(shared.base, package.name),
        compare=changes,
        compare_href=paths.compare(shared.base, package.name),
        capability=capability,
        capability_level=level,
        facts=tuple(fact_box.list_facts(record, shared.lifecycle)),
    )


def _install(
    record: Record, shared: Shared, channel: Channel | None, head: Entry | None
) -> Install:
    """Return the instructions, with the choice of OLM v1 if no channel is requested."""
    name = shared.package.name
    found = installs.build_instructions(
        record, name, channel, head.name if head else "", shared.where
    )
    default, _ = upgrades.default_channel(shared.package)
    first = upgrades.first_of_v1(shared.package)
    is_shown = found.is_head and channel is default and bool(found.templates)
    if not is_shown or first is None or first.name == record.bundle.name:
        return found
    note = (
        f"If no channel is requested, OLM v1 installs `{first.version}` instead: the highest "
        "version of all channels."
    )
    return replace(found, notes=(*found.notes, note))


def summary(record: Record, fields: Mapping[str, Any]) -> str:
    """Return a summary line: the annotation, else the start of the description."""
    written = record.annotations.get("description", "").strip()
    if written:
        return shortened(written, _SUMMARY)
    for body in (text(record.spec.get("description")), text(fields.get("description"))):
        plain = markdown.plain(body[:4000]) if body.strip() else ""
        if plain:
            return shortened(plain, _SUMMARY)
    return ""


def search_text(record: Record, fields: Mapping[str, Any]) -> str:
    """Return the beginning of the description without markup, for the search."""
    body = text(record.spec.get("description")) or text(fields.get("description"))
    return shortened(markdown.plain(body[:_SEARCHED]), _SEARCHED) if body.strip() else ""


def _badges(record: Record, package: Package) -> Iterator[Badge]:
    if package.deprecation is not None or upgrades.is_deprecated(record.bundle):
        yield Badge(label="deprecated", kind="warn")
    if installs.refusal_of_v1(record):
        yield Badge(label="needs OLM v0")
    if record.annotations.get("certified", "").strip().lower() == "true":
        yield Badge(label="certified", kind="good")
    if text(record.spec.get("maturity")).lower() == "deprecated":
        yield Badge(label="maturity: deprecated", kind="warn")
    if record.annotations.get("operators.operatorframework.io/operator-type") == "non-standalone":
        yield Badge(label="not for use on its own")


def _deprecations(bundle: Bundle, package: Package, of: Sequence[Channel]) -> Iterator[Deprecation]:
    if package.deprecation is not None:
        yield Deprecation(what=f"Package {package.name}", message=package.deprecation)
    for channel in of:
        if channel.deprecation is not None:
            yield Deprecation(
                what=f"Channel {channel.name}", message=channel.deprecation, channel=channel.name
            )
    if bundle.deprecation is not None:
        yield Deprecation(
            what=f"Version {bundle.version or bundle.name}", message=bundle.deprecation
        )


def _notices(record: Record, shared: Shared, channel: Channel | None) -> Iterator[str]:
    _, note = upgrades.default_channel(shared.package)
    if note:
        yield note
    if channel is not None:
        found = upgrades.head_note(channel)
        if found:
            yield found
    if len(record.bundle.properties.identities) != 1 or record.bundle.version is None:
        yield "The version of this bundle cannot be read."
    if record.bundle.name in shared.unread:
        yield f"The bundle image could not be read: {shared.unread[record.bundle.name]}."
    elif not record.spec.get("displayName") and not record.has_manifests:
        yield (
            "This catalog does not contain the description of this version, which is in the "
            "bundle image."
        )


def _newer(bundle: Bundle, channel: Channel | None, shared: Shared) -> Newer | None:
    head = upgrades.head(channel) if channel is not None else None
    if channel is None or head is None or head.bundle is None or head.name == bundle.name:
        return None
    return Newer(
        channel=channel.name,
        version=str(head.bundle.version or head.name),
        href=menus.href(shared.package, shared.base, head.name, channel),
    )


def _good(bundle: Bundle, channel: Channel | None, shared: Shared) -> Newer | None:
    """Return the newest version that is not deprecated: in the channel, else in another one."""
    if not upgrades.is_deprecated(bundle):
        return None
    others = (one for one in upgrades.channels(shared.package) if one.deprecation is None)
    for one in (*((channel,) if channel is not None else ()), *others):
        for found in upgrades.bundles(shared.package):
            if found.name in one.entries and not upgrades.is_deprecated(found):
                return Newer(
                    channel=one.name,
                    version=str(found.version or found.name),
                    href=menus.href(shared.package, shared.base, found.name, one),
                )
    return None


def _rows(
    shared: Shared, name: str, channel: Channel | None, head: Entry | None
) -> tuple[VersionRow, ...]:
    """Return the rows of the table: around a head, or this version and the heads."""
    if channel is None or head is None or head.name == name or len(shared.rows) <= _FEW:
        return _nearby_rows(shared.rows, name)
    heads = {one.name for one in map(upgrades.head, shared.members[name]) if one is not None}
    kept = tuple(one for one in shared.rows if one.bundle == name or one.bundle in heads)
    return _nearby_rows(kept, name)


def _nearby_rows(rows: Sequence[VersionRow], name: str) -> tuple[VersionRow, ...]:
    """Return the rows around a version: the graph page has all, and pages stay small."""
    place = next((index for index, row in enumerate(rows) if row.bundle == name), 0)
    first = max(0, min(place - _NEAR, len(rows) - 2 * _NEAR - 1))
    return tuple(
        VersionRow(
            label=row.label,
            bundle=row.bundle,
            href=row.href,
            channels=row.channels,
            edges=row.edges,
            badges=row.badges,
            deprecation=row.deprecation,
            current=row.bundle == name,
        )
        for row in rows[first : first + 2 * _NEAR + 1]
    )


def _dependencies(record: Record, providers: Providers) -> Iterator[Dependency]:
    found = record.bundle.properties
    for other in found.required_packages:
        yield Dependency(
            text=f"package {other.package}, version {other.version_range}",
            providers=providers.packages.get(other.package, ()),
        )
    required = dict.fromkeys(
        (
            *found.required,
            *(apis.gvk(one, is_service=service) for one, service in record.owned("required")),
        )
    )
    for kind in required:
        yield Dependency(
            text=f"API {kind.kind} {kind.group}/{kind.version}",
            providers=providers.kinds.get(kind, ()),
        )
    for one in found.others:
        if one.type == properties.CONSTRAINT:
            value = mapping(one.value)
            words = text(value.get("failureMessage")) or shortened(
                json_text.compact(value).decode(), 300
            )
            yield Dependency(text=f"constraint: {words}")


def _images(record: Record) -> Iterator[Image]:
    seen: set[str] = set()
    if record.bundle.image:
        seen.add(record.bundle.image)
        yield Image(reference=record.bundle.image, name="bundle")
    for one in record.bundle.related_images:
        if one.image and one.image not in seen:
            seen.add(one.image)
            yield Image(reference=one.image, name=one.name)


# Differences


def contents(record: Record) -> Contents:
    try:
        found = _bundle(record)
        return Contents(record=record, bundle=found, summary=summaries.summarize(found))
    except OlmkitError:
        return Contents(record=record, bundle=None, summary=None)


def compare(before: Contents, after: Contents) -> Compare | None:
    """Return the differences like `bundle diff`; None if the catalog lacks the data."""
    if before.record.has_manifests != after.record.has_manifests:
        return None
    if before.bundle is None or after.bundle is None:
        return None
    try:
        found = difference.compare_bundles(before.bundle, after.bundle)
    except OlmkitError:
        return None
    groups: dict[str, list[CompareItem]] = {}
    for change in found.changes:
        if change.rule == _NO_EDGE:
            continue  # the channel has the edge
        groups.setdefault(comparison.title(change.area), []).append(_item(change))
    return Compare(
        label=before.record.version or before.record.bundle.name,
        groups=tuple(
            CompareGroup(title=title, items=tuple(items)) for title, items in groups.items()
        ),
    )


def _item(change: BundleChange) -> CompareItem:
    kind = ""
    for words, name in (("removed", "removed"), ("gains", "gained"), ("added", "added")):
        if words in change.rule or words in change.message:
            kind = name
            break
    return CompareItem(text=change.message, kind=kind)


def _bundle(record: Record) -> model.Bundle:
    """Return the bundle as if it were on disk, built from the data in the catalog."""
    files = {
        f"manifests/{number:04}.json": json_text.compact(one)
        for number, one in enumerate(record.manifests)
    }
    notes = {
        model.MEDIA_TYPE: "registry+v1",
        model.MANIFESTS: "manifests/",
        model.METADATA: "metadata/",
        model.PACKAGE: record.bundle.package,
    }
    files["metadata/annotations.yaml"] = json_text.compact({"annotations": notes})
    return layout.read(Tree(files))
