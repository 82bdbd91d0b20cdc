"""How clusters know the catalogs of a hub. Imported without the libraries of the pages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How clusters know the catalog: for one catalog only, except for the namespace."""

    catalog_name: str = ""
    catalog_namespace: str = ""
    catalog_image: str = ""
