"""Read the current digest of a reference."""

from __future__ import annotations

from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.oci import reference as references


async def read_digest(text: str, access: Access) -> str:
    """Return the digest of an image or its index. Raises `OlmkitError`."""
    reference = references.parse_image(text)
    async with transports.open_store(reference, access) as store:
        return str((await store.resolve(transports.selector(reference))).digest)
