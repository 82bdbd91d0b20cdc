"""Read the current digest of a reference."""

from __future__ import annotations

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.oci import reference as references
from olmkit.oci.reference import Reference


async def pin(text: str, access: Access) -> str:
    """Return a reference in a registry with its digest instead of a tag. Raises `OlmkitError`.

    With a digest, the registry is not asked.
    """
    reference = references.parse_image(text)
    if not isinstance(reference, Reference):
        raise ConfigurationError(f"`{text}` is not an image in a registry")
    return f"{reference.name}@{reference.digest or await read_digest(text, access)}"


async def read_digest(text: str, access: Access) -> str:
    """Return the digest of an image or its index. Raises `OlmkitError`."""
    reference = references.parse_image(text)
    async with transports.open_store(reference, access) as store:
        return str((await store.resolve(transports.selector(reference))).digest)
