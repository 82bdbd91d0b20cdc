"""The first page: the list of operators, its filters and news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
