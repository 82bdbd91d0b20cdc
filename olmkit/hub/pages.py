"""The data of the hub's pages, as values.

Texts are raw (Markdown, YAML, messages of publishers): rendering escapes, cleans and limits them.
Each `href`, `icon` and `*_href` is relative to the first page and percent-encoded; a folder ends
with a slash. None or an empty value means that the catalog does not state it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from olmkit.catalog.model import Package


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """A short mark. `kind` is empty, `warn`, `good`, `accent` or `version`."""

    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link to another page of the hub."""

    label: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One value of a fact: `url` is from the publisher and not checked, `href` is in the hub.

    `begin` and `end` are dates between which it applies.
    """

    text: str
    url: str = ""
    href: str = ""
    note: str = ""
    begin: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A row of the box of facts; without items, it is not stated."""

    label: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFact:
    label: str
    text: str


# The list of operators


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A package in the list, based on its default channel's head.

    `facets` are the names of facets and the values of this package; `v1`: whether OLM v1 may
    install it, according to the catalog. `catalog` is empty if the site has one catalog.
    """

    href: str
    name: str
    display_name: str
    provider: str
    summary: str
    version: str
    icon: str | None
    deprecated: bool
    catalog: str
    capability: str
    v1: bool
    facets: tuple[tuple[str, tuple[str, ...]], ...]
    words: str = ""
    alternative_name: str = ""
    keywords: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    created: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    value: str
    label: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A filter of the list; the most frequent values first."""

    name: str
    title: str
    values: tuple[FacetValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """A change since an earlier build: `kind` is added, updated, deprecated or removed.

    `before` is the version of the earlier build, `time` is that of the build that found the change.
    """

    kind: str
    name: str
    catalog: str = ""
    display_name: str = ""
    href: str = ""
    version: str = ""
    before: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """The first page. `tiles` are in static order: deprecated last, then by name.

    `changed`: the places of tiles among the changes since an earlier build; None without one.
    """

    tiles: tuple[Tile, ...]
    facets: tuple[Facet, ...]
    has_deprecated: bool
    notices: tuple[str, ...] = ()
    changed: Mapping[str, int] | None = None


# One version of an operator


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelChoice:
    """A channel in the menu of a package; `href` leads to its `head`, a bundle of `version`."""

    name: str
    label: str
    href: str
    head: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChoice:
    """A version in a menu; `channels` are places in the menu of channels."""

    label: str
    bundle: str
    href: str
    channels: tuple[int, ...] = ()
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Menus:
    """The menus of channels and versions; the pages of a package share them as a script, `file`.

    Without a script, the table of versions and the page of the graph have the same links.
    """

    file: str
    channels: tuple[ChannelChoice, ...]
    versions: tuple[VersionChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerChoice:
    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """A choice between variants of the instructions: `olm`, `platform` or `mode`."""

    name: str
    title: str
    choices: tuple[PickerChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Instructions for one choice of each picker; an empty field fits each choice.

    `command` applies `yaml` unchanged; `refusal` are the reasons why there is none.
    `namespace` is that of the installation, which a reader may change.
    """

    olm: str = ""
    platform: str = ""
    mode: str = ""
    title: str
    text: str = ""
    notes: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    yaml: str = ""
    command: str = ""
    olmkit: str = ""
    after: str = ""
    removal: str = ""
    namespace: str = ""


STAND_INS: Final = (
    "stand-in.of-the-bundle",
    "0.0.0-stand-in.of-the-version",
    "stand-in-of-the-package",
    "stand-in-of-the-channel",
)
"""Placeholders for the names of bundle, version, package, channel: plain in YAML, shell, HTML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """How to install, use and remove one version.

    The manifests name `channel`, and `bundle` unless it is the head of that channel. `templates`
    are the variants with `written` for the names of bundle, version, package and channel:
    `STAND_INS`, so that many versions and packages share them, or the names themselves if they are
    not plain.
    """

    pickers: tuple[Picker, ...] = ()
    templates: tuple[Variant, ...] = ()
    written: tuple[str, str, str, str] = ("", "", "", "")
    notes: tuple[str, ...] = ()
    first_object: str = ""
    publisher_text: str = ""
    removal_text: str = ""
    package: str = ""
    channel: str = ""
    bundle: str = ""
    version: str = ""
    is_head: bool = True

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Return the instructions with the actual names."""
        return tuple(
            replace(
                one,
                yaml=self.named(one.yaml),
                command=self.named(one.command),
                olmkit=self.named(one.olmkit),
                after=self.named(one.after),
                removal=self.named(one.removal),
                namespace=self.named(one.namespace),
            )
            for one in self.templates
        )

    def named(self, text: str) -> str:
        """Return a text of `templates` with the actual names."""
        names = (self.bundle, self.version, self.package, self.channel)
        for written, name in zip(self.written, names, strict=True):
            if written and written != name:
                text = text.replace(written, name)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    name: str
    yaml: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A field that the CSV describes; `widget` is the short name of its form element."""

    path: str
    display_name: str = ""
    description: str = ""
    widget: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """An API that the version provides, with its examples.

    With `same_as`, it is the same in another version, whose page has its description, fields and
    examples; they are empty here.
    """

    name: str
    group: str
    version: str
    kind: str
    display_name: str
    description: str
    href: str
    schema_href: str = ""
    resources: tuple[str, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()
    examples: tuple[Example, ...] = ()
    internal: bool = False
    same_as: Link | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A requirement of the version as text, and the packages of the site that provide it."""

    text: str
    providers: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """One permission as text; `reason` explains why it is highlighted."""

    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """The permissions of one service account; `raw` are the rules as YAML."""

    account: str
    notable: tuple[Permission, ...] = ()
    others: tuple[Permission, ...] = ()
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    reference: str
    name: str = ""

    @property
    def pinned(self) -> bool:
        """Return whether the image has a digest."""
        return "@" in self.reference


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """A row of the table of versions; `href` is empty for an entry without a bundle."""

    label: str
    bundle: str
    href: str
    channels: tuple[str, ...]
    edges: tuple[str, ...] = ()
    badges: tuple[Badge, ...] = ()
    deprecation: str | None = None
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    label: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hops:
    """The upgrades of OLM v0 from one version, in order; `v1` is the next step of OLM v1."""

    label: str
    text: str
    steps: tuple[Step, ...] = ()
    v1: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareItem:
    """One difference; `kind` is `gained`, `removed`, `changed` or empty."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareGroup:
    title: str
    items: tuple[CompareItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """The changes from the version that this one follows."""

    label: str
    groups: tuple[CompareGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """`what` is `Package x`, `Channel x` or `Version x`; `channel` is the name of a channel."""

    what: str
    message: str
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newer:
    """Another version of a channel, to which the page refers."""

    channel: str
    version: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPage:
    """One bundle: at `p/PKG/BUNDLE/`, and the head of the default channel also at `p/PKG/`.

    `newer` is the head of the shown channel if the bundle is not; `good` is the newest version that
    is not deprecated, if the bundle is. `permissions` is None if the catalog does not contain them.
    `package_href` is the page of the package.
    """

    package: str
    package_href: str
    bundle: str
    href: str
    display_name: str
    version: str
    icon: str | None
    provider: str
    provider_url: str
    summary: str
    description: str
    badges: tuple[Badge, ...]
    deprecations: tuple[Deprecation, ...]
    notices: tuple[str, ...]
    newer: Newer | None
    good: Newer | None
    channel: str
    menus: Menus | None
    install: Install
    apis: tuple[Api, ...]
    examples_error: str
    examples_raw: str
    dependencies: tuple[Dependency, ...]
    dependents: tuple[Link, ...]
    permissions: tuple[Permissions, ...] | None
    permissions_of_olm: str
    images: tuple[Image, ...]
    versions: tuple[VersionRow, ...]
    version_count: int
    hops: tuple[Hops, ...]
    graph_href: str
    compare: Compare | None
    compare_href: str
    capability: str
    capability_level: int | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPage:
    """All versions of a package: picture and table."""

    name: str
    display_name: str
    href: str
    package: Package
    versions: tuple[VersionRow, ...]
    hops: tuple[Hops, ...]
    graph_href: str
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """The comparison of any two versions, which the page's script computes from `facts`, a file.

    `versions` has the newest first. `before` is the bundle that is initially compared with the
    newest one.
    """

    name: str
    display_name: str
    href: str
    facts: str
    versions: tuple[VersionChoice, ...]
    before: str
    without_fields: bool = False


# APIs


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersion:
    label: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A package that provides a kind: `version` is the shown one, else the newest provider.

    `others` describes the versions that provide it, if there are several.
    """

    display_name: str
    href: str
    version: str
    channels: tuple[str, ...]
    api_versions: tuple[ApiVersion, ...]
    others: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPage:
    """The packages that provide a kind."""

    group: str
    kind: str
    providers: tuple[Provider, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a schema. `anchor` is `spec.replicas`; `limits` describes its constraints."""

    name: str
    anchor: str
    type: str
    required: bool = False
    description: str = ""
    limits: tuple[str, ...] = ()
    link: str = ""
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdPage:
    """The schema of one version of a CRD. `note` explains why fields are missing."""

    group: str
    version: str
    kind: str
    kind_href: str
    badges: tuple[Badge, ...]
    description: str
    columns: tuple[str, ...]
    note: str
    fields: tuple[Field, ...]


# Other pages


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutCatalog:
    name: str
    facts: tuple[TextFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportItem:
    """A line of the build report; `kind` is `failed` or `note`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutPage:
    """The sources of the pages; `time` of the build and `news` since an earlier one, if known."""

    catalogs: tuple[AboutCatalog, ...]
    report: tuple[ReportItem, ...]
    news: tuple[News, ...] | None = None
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """A page that could not be rendered, or does not exist; `details` is printed unchanged."""

    title: str
    text: str
    details: str = ""


Page = (
    ListPage | OperatorPage | GraphPage | ComparePage | KindPage | CrdPage | AboutPage | ErrorPage
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All pages of a hub.

    `pages`: path of a folder (`""`, `p/x/`) or of a file (`404.html`) → page. `files`: path →
    bytes of icons, pictures and feeds. `data`: path → value of a JSON file.
    """

    title: str
    pages: Mapping[str, Page]
    files: Mapping[str, bytes]
    data: Mapping[str, Any]
