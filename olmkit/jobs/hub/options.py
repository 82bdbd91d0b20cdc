"""Options about the sources of a hub. Importing it does not load the libraries of the pages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BundleImages(StrEnum):
    """Which bundle images are pulled if the catalog has no manifests."""

    NONE = "none"
    HEADS = "heads"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The catalog's name and image in clusters: for one catalog only, except for the namespace.

    `bundles`: which bundle images are pulled for more details.
    """

    catalog_name: str = ""
    catalog_namespace: str = ""
    catalog_image: str = ""
    bundles: BundleImages = BundleImages.NONE
