"""The pages about all versions of a package: the graph of upgrades and the comparison."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.catalog.model import Package
from olmkit.hub.pages.page_parts import Badge


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChoice:
    """A version in a menu; `channels` are places in the menu of channels."""

    label: str
    bundle: str
    href: str
    channels: tuple[int, ...] = ()
    current: bool = False


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
