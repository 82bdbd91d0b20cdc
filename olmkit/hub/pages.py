"""What the pages of the hub show, as values.

Texts are raw (Markdown, YAML, messages of publishers): who renders a page escapes, cleans and
limits them. Each `href`, `icon` and `*_href` is relative to the first page and percent-encoded;
a folder ends with a slash. None or an empty value means that the catalog does not state it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """One value of a fact: `url` is of the publisher and not checked, `href` of the hub."""

    text: str
    url: str = ""
    href: str = ""
    note: str = ""


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
    """A package in the list, as its default channel's head describes it.

    `facets` are the names of facets and the values of this package; `v1`: whether OLM v1 may
    install it, as far as the catalog tells. `catalog` is empty when the site has one catalog.
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
    alternative_name: str = ""
    keywords: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


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
class ListPage:
    """The first page. `tiles` are in their static order: deprecated last, then by name."""

    tiles: tuple[Tile, ...]
    facets: tuple[Facet, ...]
    has_deprecated: bool
    notices: tuple[str, ...] = ()


# One version of an operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A line of a menu of channels or versions."""

    label: str
    href: str
    current: bool = False


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

    `command` applies `yaml` as it stands; `refusal` are the reasons why there is none.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """How to install, use and remove one version."""

    pickers: tuple[Picker, ...] = ()
    variants: tuple[Variant, ...] = ()
    notes: tuple[str, ...] = ()
    first_object: str = ""
    publisher_text: str = ""
    removal: str = ""
    removal_text: str = ""


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
    """An API that the version provides, with its examples."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """What the version requires, in words, and the packages of the site that provide it."""

    text: str
    providers: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """One permission in words; `reason` why it stands out."""

    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What one service account may do; `raw` are the rules as YAML."""

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
        """Whether a digest names the image."""
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
    """What changes from the version that this one follows."""

    label: str
    groups: tuple[CompareGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """`what` is `Package x`, `Channel x` or `Version x`."""

    what: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Newer:
    """The head of a channel that has an older version, too."""

    channel: str
    version: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPage:
    """One bundle: at `p/PKG/BUNDLE/`, and the head of the default channel at `p/PKG/` as well.

    `permissions` is None when the catalog does not carry them. `folder` is the name of the
    package in paths.
    """

    package: str
    folder: str
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
    channels: tuple[Choice, ...]
    versions_of_channel: tuple[Choice, ...]
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
    hops: tuple[Hops, ...]
    graph_href: str
    compare: Compare | None
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


# APIs


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersion:
    label: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A package that provides a kind; `version` is that of the shown bundle."""

    display_name: str
    href: str
    version: str
    channels: tuple[str, ...]
    api_versions: tuple[ApiVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPage:
    """Who provides a kind."""

    group: str
    kind: str
    providers: tuple[Provider, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a schema. `anchor` is `spec.replicas`; `limits` are its constraints in words."""

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
    """The schema of one version of a CRD. `note` says why fields are missing."""

    group: str
    version: str
    kind: str
    kind_href: str
    badges: tuple[Badge, ...]
    description: str
    columns: tuple[str, ...]
    note: str
    fields: tuple[Field, ...]


# The rest


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
    catalogs: tuple[AboutCatalog, ...]
    report: tuple[ReportItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """A page that could not be made, or is not there; `details` is printed as it is."""

    title: str
    text: str
    details: str = ""


Page = ListPage | OperatorPage | GraphPage | KindPage | CrdPage | AboutPage | ErrorPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All pages of a hub.

    `pages`: path of a folder (`""`, `p/x/`) or of a file (`404.html`) → page. `files`: path →
    bytes of icons. `data`: path → value of a JSON file.
    """

    title: str
    pages: Mapping[str, Page]
    files: Mapping[str, bytes]
    data: Mapping[str, Any]
