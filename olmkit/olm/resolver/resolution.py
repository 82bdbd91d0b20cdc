"""The input of a resolution: the catalogs, installed operators and Subscriptions of a namespace.

A resolution covers one namespace, with all of its Subscriptions. An entry is a bundle in a channel;
an installed CSV is an entry too, in a separate catalog (`@existing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from olmkit.base.versions import Version, VersionRange
from olmkit.catalog.blobs import properties
from olmkit.kube.objects import GVK

EXISTING = "@existing"


class ResolutionError(Exception):
    """The namespace cannot be resolved; `kind` is the kind of error.

    Such errors affect every Subscription, including unrelated ones. `message` is OLM's; `fact`
    names the bundle and the value if OLM does not.
    """

    def __init__(self, kind: str, message: str, fact: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.fact = fact or message


class ResolverProperty(NamedTuple):
    """A property of a bundle: its type, and its value as in JSON."""

    type: str
    value: Any


class CatalogKey(NamedTuple):
    """Name and namespace of a CatalogSource."""

    name: str
    namespace: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResolverEntry:
    """A bundle in a channel, or an installed CSV."""

    catalog: CatalogKey
    package: str
    channel: str
    name: str
    is_default: bool = False
    version: Version | None = None
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: VersionRange | None = None
    properties: tuple[ResolverProperty, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.catalog.name}/{self.catalog.namespace}/{self.channel}/{self.name}"

    @property
    def is_installed(self) -> bool:
        return self.catalog.name == EXISTING

    def values(self, type_: str) -> list[Mapping[str, Any]]:
        """Return the values of the properties of a type, if they are objects."""
        return [
            one.value
            for one in self.properties
            if one.type == type_ and isinstance(one.value, Mapping)
        ]

    @property
    def apis(self) -> list[GVK]:
        """Return the provided APIs; duplicates are kept."""
        return [api_of(value) for value in self.values(properties.GVK)]

    @property
    def packages(self) -> list[str]:
        """Return the packages that the properties name."""
        return [str(value.get("packageName", "")) for value in self.values(properties.PACKAGE)]

    @property
    def is_deprecated(self) -> bool:
        return any(one.type == properties.DEPRECATED for one in self.properties)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntries:
    """A CatalogSource with its entries; `trouble` explains why it cannot be read."""

    key: CatalogKey
    priority: int = 0
    entries: tuple[ResolverEntry, ...] = field(default=(), repr=False)
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A CSV of the namespace, without copies.

    `properties` is None if the CSV has no annotation with them; they are then derived from its
    APIs. `trouble` explains why the annotation cannot be read.
    """

    name: str
    version: Version | None = None
    phase: str = "Succeeded"
    replaces: str = ""
    properties: tuple[ResolverProperty, ...] | None = None
    trouble: str = ""
    provided: tuple[GVK, ...] = ()
    required: tuple[GVK, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A Subscription; without a channel, any channel matches."""

    name: str
    package: str
    channel: str = ""
    catalog: CatalogKey
    starting_csv: str = ""
    installed_csv: str = ""
    current_csv: str = ""
    is_manual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverInput:
    """The whole input of one resolution."""

    namespace: str
    global_namespace: str
    sources: Sequence[CatalogEntries]
    installed: Sequence[Installed] = ()
    subscriptions: Sequence[Subscription] = ()
    groups: int = 1
    excludes_global: bool = False
    fails_forward: bool = False

    @property
    def scope(self) -> tuple[str, ...]:
        """Return the namespaces whose catalogs count, the preferred one first."""
        if self.excludes_global or self.namespace == self.global_namespace:
            return (self.namespace,)
        return (self.namespace, self.global_namespace)


def api_of(value: Mapping[str, Any]) -> GVK:
    """Return the GVK in the value of a property such as `olm.gvk`."""
    return GVK(*(str(value.get(key, "")) for key in ("group", "version", "kind")))
