"""The pages of a kind: its providers, and the schema of its CRD."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.hub.pages.page_parts import Badge


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
