"""Copy images from one store to another, with several parallel transfers.

Pieces that the target already has are not sent again, pieces in another repository of the same
registry are mounted, and the rest is streamed in chunks. Parts are copied before the manifests that
name them, so that a target never has an incomplete image.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.oci import store
from olmkit.oci.content import Descriptor, Digest
from olmkit.oci.store import ImageStore, Mounting


class TransferOutcome(StrEnum):
    """How a piece arrived in the target, or that it is not needed there: an external layer."""

    SENT = "sent"
    MOUNTED = "mounted"
    PRESENT = "already there"
    EXTERNAL = "stays at its URL"


@dataclass(frozen=True, slots=True)
class TransferStep:
    """One piece, and how it arrived in the target."""

    descriptor: Descriptor
    outcome: TransferOutcome


Report = Callable[[TransferStep], None]

# As many as Docker uploads at once; with more, registries only respond with 429.
_JOBS = 5


def silent(_: TransferStep) -> None:
    """Report nothing."""


async def copy(
    source: ImageStore,
    target: ImageStore,
    root: Descriptor,
    *,
    tag: str | None = None,
    jobs: int = _JOBS,
    report: Report = silent,
) -> None:
    """Copy `root` and all its parts to `target`, with the name `tag`.

    Raises `InputError` if `root` is not an image.
    """
    if not root.is_manifest:
        raise InputError(f"`{root.digest}` is not an image: its media type is `{root.media_type}`")
    if await target.exists(root):
        report(TransferStep(root, TransferOutcome.PRESENT))
    else:
        limit = asyncio.Semaphore(jobs)
        arrived: set[Digest] = set()

        async def carry(descriptor: Descriptor) -> None:
            async with limit:
                outcome = await _carry(source, target, descriptor, arrived)
            if outcome in (TransferOutcome.SENT, TransferOutcome.MOUNTED):
                arrived.add(descriptor.digest)
            report(TransferStep(descriptor, outcome))

        for level in await store.levels(source, root):
            await run_all(carry(descriptor) for descriptor in level)
    if tag is not None:
        await target.tag(root, tag)


async def _carry(
    source: ImageStore, target: ImageStore, descriptor: Descriptor, arrived: Set[Digest]
) -> TransferOutcome:
    # A manifest that names a new piece cannot exist in the target: no check is needed.
    if arrived.isdisjoint(await _parts(source, descriptor)) and await target.exists(descriptor):
        return TransferOutcome.PRESENT
    if descriptor.is_external and not await source.exists(descriptor):
        return TransferOutcome.EXTERNAL
    if isinstance(target, Mounting) and await target.mount(descriptor, source):
        return TransferOutcome.MOUNTED
    with store.add_place(source):
        await target.push(descriptor, lambda offset: source.fetch(descriptor, offset))
    return TransferOutcome.SENT


async def _parts(source: ImageStore, descriptor: Descriptor) -> list[Digest]:
    """Return the descriptors in a manifest; none for a blob."""
    if not descriptor.is_manifest:
        return []
    manifest = await store.read_manifest(source, descriptor)
    return [part.digest for part in manifest.references]


async def run_all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run everything in `work` concurrently; the first error cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for item in work:
                group.create_task(item)
    except BaseExceptionGroup as errors:
        first = _first(errors)
        raise first from first.__cause__


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error to report: our own errors first, because they have messages."""
    flat = list(_flatten(errors))
    return next((error for error in flat if isinstance(error, OlmkitError)), flat[0])


def _flatten(errors: BaseExceptionGroup[BaseException]) -> Iterable[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flatten(error)
        else:
            yield error
