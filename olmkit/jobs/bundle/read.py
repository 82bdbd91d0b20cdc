"""Read one bundle from a folder, an image, a layout or an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmkit.bundle import layout
from olmkit.bundle.model import Bundle
from olmkit.bundle.summary import summary
from olmkit.bundle.summary.summary import BundleSummary

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


async def read(reference: str, access: Access) -> Bundle:
    """Return the bundle that `reference` names."""
    from olmkit.edges.images import transports

    found = await transports.read_bundle_tree(reference, access)
    return layout.read(found.tree, reference)


async def summarize(reference: str, access: Access) -> BundleSummary:
    """Return the contents of a bundle. Raises `InputError` if it has no ClusterServiceVersion."""
    return summary.summarize(await read(reference, access))
