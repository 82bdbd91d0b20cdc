"""The page of one version of an operator."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.hub.pages.instructions import Install
from olmkit.hub.pages.page_parts import Badge, Fact, Link
from olmkit.hub.pages.version_pages import Hops, VersionChoice, VersionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelChoice:
    """A channel in the menu of a package; `href` leads to its `head`, a bundle of `version`."""

    name: str
    label: str
    href: str
    head: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Menus:
    """The menus of channels and versions; the pages of a package share them as a script, `file`.

    Without a script, the table of versions and the page of the graph have the same links.
    """

    file: str
    channels: tuple[ChannelChoice, ...]
    versions: tuple[VersionChoice, ...]


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
