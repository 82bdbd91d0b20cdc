"""Referrers of an image: signatures, attestations, SBOMs.

There are two ways to find them. By the OCI distribution specification 1.1, such a manifest names
its `subject`, and the referrers API lists it; for a registry without that API, the list is under a
tag (https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md, "Referrers Tag
Schema"). cosign uses tags with the image's digest
(https://github.com/sigstore/cosign/blob/v2.6.0/specs/SIGNATURE_SPEC.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from olmkit.oci.content import Descriptor, Digest, ImageIndex, ImageManifest, MediaType
from olmkit.oci.store import ImageStore

SIGNATURE: Final = ".sig"
COSIGN_SUFFIXES: Final = (SIGNATURE, ".att", ".sbom")
# Signatures of years are some tens; one image never has more than this.
MAX_REFERRERS: Final = 1000


@dataclass(frozen=True, slots=True)
class Referrer:
    """A referrer of an image; `tag` is empty if it was found by its subject."""

    descriptor: Descriptor
    tag: str = ""


@runtime_checkable
class Referring(Protocol):
    """A store that can list referrers."""

    async def referrers(self, subject: Digest) -> tuple[Descriptor, ...]:
        """Return the manifests whose subject is `subject`."""
        ...

    async def tagged(self, tag: str) -> Descriptor | None:
        """Return the content of a tag, if it exists."""
        ...

    async def attach(self, descriptor: Descriptor) -> None:
        """Make a stored manifest available by its subject."""
        ...


class ReferringStore(ImageStore, Referring, Protocol):
    """A store of images that can list their referrers."""


def list_tag(subject: Digest) -> str:
    """Return the tag of the referrers list in a registry without the referrers API."""
    return f"{subject.algorithm[:32]}-{subject.encoded[:64]}"


def cosign_tag(subject: Digest, suffix: str) -> str:
    """Return cosign's tag for signatures (`.sig`) or other data of an image."""
    return f"{subject.algorithm}-{subject.encoded}{suffix}"


def entry(manifest: ImageManifest | ImageIndex, descriptor: Descriptor) -> Descriptor:
    """Return the entry of a manifest in a list of referrers, with type and annotations."""
    kind = manifest.artifact_type
    if not kind and isinstance(manifest, ImageManifest):
        kind = manifest.config.media_type
    return Descriptor(
        media_type=descriptor.media_type,
        digest=descriptor.digest,
        size=descriptor.size,
        annotations=manifest.annotations,
        artifact_type=kind,
    )


def with_entry(found: ImageIndex | None, added: Descriptor) -> ImageIndex:
    """Return the list of referrers with one more entry, unless it is already listed."""
    entries = found.manifests if found is not None else ()
    if any(one.digest == added.digest for one in entries):
        entries = tuple(added if one.digest == added.digest else one for one in entries)
    else:
        entries = (*entries, added)
    annotations = found.annotations if found is not None else {}
    return ImageIndex(media_type=MediaType.OCI_INDEX, manifests=entries, annotations=annotations)
