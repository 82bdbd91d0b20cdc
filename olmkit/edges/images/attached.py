"""Find and copy the signatures, attestations and SBOMs of an image.

They are found for an image, for the image of each platform, and for found attachments. A store that
does not support them, such as a Docker archive, has none and gets none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from olmkit.base.diagnostics import InputError
from olmkit.edges.images import transfer
from olmkit.edges.images.transfer import Report, silent
from olmkit.oci import referrers, store
from olmkit.oci.content import Descriptor, Digest
from olmkit.oci.referrers import COSIGN_SUFFIXES, MAX_REFERRERS, Referrer, Referring
from olmkit.oci.store import ImageStore

# A signature of a signature of an attestation is deeper than in practice.
_MAX_DEPTH: Final = 4
_AT_ONCE: Final = 5  # as many requests as in a transfer


async def find(source: ImageStore, root: Descriptor) -> tuple[Referrer, ...]:
    """Return all manifests that refer to `root`, in an order in which they can be stored.

    Raises `InputError` if there are more than a thousand.
    """
    if not isinstance(source, Referring):
        return ()
    found: dict[tuple[Digest, str], Referrer] = {}
    level = [root]
    for _ in range(_MAX_DEPTH):
        lists = await _read_attachments(source, await _manifests(source, level))
        new = {
            (one.descriptor.digest, one.tag): one
            for one in (one for part in lists for one in part)
            if (one.descriptor.digest, one.tag) not in found
        }
        found |= new
        if len(found) > MAX_REFERRERS:
            raise InputError(
                f"more than {MAX_REFERRERS} signatures and other manifests refer to image "
                f"`{root.digest}`",
                hint="pass `--no-referrers` to copy the image without them",
            )
        level = [one.descriptor for one in new.values()]
        if not level:
            break
    return tuple(found.values())


async def copy(
    source: ImageStore, target: ImageStore, root: Descriptor, *, report: Report = silent
) -> tuple[Referrer, ...]:
    """Copy all manifests that refer to `root`, which is already in `target`; return them."""
    if not isinstance(target, Referring):
        return ()
    found = await find(source, root)
    for one in found:
        await transfer.copy(source, target, one.descriptor, tag=one.tag or None, report=report)
        if not one.tag:
            await target.attach(one.descriptor)
    return found


async def _read_attachments(source: Referring, subjects: list[Digest]) -> list[list[Referrer]]:
    """Return the referrers of each of `subjects`, in order."""
    limit = asyncio.Semaphore(_AT_ONCE)
    found: dict[Digest, list[Referrer]] = {}

    async def ask(subject: Digest) -> None:
        async with limit:
            found[subject] = await _read_attached(source, subject)

    await transfer.run_all(map(ask, subjects))
    return [found[subject] for subject in subjects]


async def _read_attached(source: Referring, subject: Digest) -> list[Referrer]:
    """Return the referrers of `subject` itself."""
    tags = [referrers.cosign_tag(subject, suffix) for suffix in COSIGN_SUFFIXES]
    named = [(await source.tagged(tag), tag) for tag in tags]
    listed = await source.referrers(subject)
    return [
        *(Referrer(descriptor, tag) for descriptor, tag in named if descriptor is not None),
        # Types that are not image manifests are from drafts of the specification.
        *(Referrer(descriptor) for descriptor in listed if descriptor.is_manifest),
    ]


async def _manifests(source: ImageStore, roots: Iterable[Descriptor]) -> list[Digest]:
    """Return the digests of all manifests in `roots`, each once."""
    levels = await store.levels(source, *roots)
    return [part.digest for level in reversed(levels) for part in level if part.is_manifest]
