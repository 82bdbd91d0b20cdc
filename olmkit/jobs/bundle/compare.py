"""Compare two bundles from folders, images, layouts or archives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from olmkit.bundle.changes import difference
from olmkit.bundle.changes.change import GENERATIONS, BundleDifference
from olmkit.jobs.bundle import read as bundle_read

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


async def compare(
    old: str, new: str, access: Access, *, olm: Iterable[str] = GENERATIONS
) -> BundleDifference:
    """Return the differences between two bundles, for the given generations of OLM.

    Raises `InputError` if one of them is not a bundle, or has no ClusterServiceVersion.
    """
    before, after = await asyncio.gather(
        bundle_read.read(old, access), bundle_read.read(new, access)
    )
    return difference.compare_bundles(before, after, olm=olm)
