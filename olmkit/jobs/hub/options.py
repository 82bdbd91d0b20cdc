"""How clusters know the catalogs of a hub. Imported without the libraries of the pages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BundleImages(StrEnum):
    """Of which bundles the images are pulled, where the catalog has no manifests."""

    NONE = "none"
    HEADS = "heads"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How clusters know the catalog: for one catalog only, except for the namespace.

    `bundles`: what is pulled to show more than the catalogs have.
    """

    catalog_name: str = ""
    catalog_namespace: str = ""
    catalog_image: str = ""
    bundles: BundleImages = BundleImages.NONE
