"""The digests of a bundle's images, from a file or from registries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.bundle.generation import images
from olmkit.bundle.generation.findings import refusal
from olmkit.edges import disk
from olmkit.edges.images import transports
from olmkit.edges.images.transports import Access
from olmkit.jobs.bundle.bundle_input import MAX_INPUT_SIZE
from olmkit.oci.content import Digest
from olmkit.oci.reference import Reference


async def pins(
    names: Sequence[str], *, known: Path | None, ask: bool, access: Access
) -> dict[str, str]:
    """Return the pinned reference of each image, from a file or else from registries.

    Registries are queried only if `ask` is set. Raises `InputError` if the digest of an image is
    not found.
    """
    found = known_digests(known, names) if known else {}
    left = [name for name in names if name not in found]
    if left and not ask:
        raise InputError(
            f"`{known}` has no digest for `{left[0]}`",
            "add it, or pass `--image-digests` to read it from the registry",
        )
    return found | (await resolve_digests(left, access) if left else {})


def known_digests(path: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the pinned references that a file has for images in `names`.

    The file is a YAML or JSON mapping from images to digests or to pinned references. Raises
    `InputError` if it is not.
    """
    document = documents.load(disk.read_file(path, limit=MAX_INPUT_SIZE), str(path))
    if not isinstance(document.value, Mapping):
        raise refusal(
            f"`{path}` contains no digests",
            at=document.at(),
            hint="write `registry/name:tag: sha256:…`, one image per line",
        )
    pinned: dict[str, str] = {}
    for name in names:
        if name not in document.value:
            continue
        digest = str(document.value[name]).rpartition("@")[2]
        try:
            Digest.parse(digest)
        except InputError as error:
            raise refusal(error.message, at=document.at(name)) from None
        pinned[name] = f"{images.without_tag(name)}@{digest}"
    return pinned


async def resolve_digests(names: Sequence[str], access: Access) -> dict[str, str]:
    """Return the pinned reference of each image, with the digest from its registry."""
    # imported here, since only this needs the large HTTP client
    import asyncio

    from olmkit.edges.network.web import Web

    references = [Reference.parse(name) for name in names]
    async with Web(transports.web_options(access)) as web:

        async def resolve(name: str, reference: Reference) -> str:
            async with transports.open_store(reference, access, web=web) as store:
                descriptor = await store.resolve(transports.selector(reference))
            return f"{images.without_tag(name)}@{descriptor.digest}"

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(resolve(name, reference))
                    for name, reference in zip(names, references, strict=True)
                ]
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
    return {name: task.result() for name, task in zip(names, tasks, strict=True)}
