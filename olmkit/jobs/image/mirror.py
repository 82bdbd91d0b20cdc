"""Copy many images to a mirror registry, to a folder, or from a folder.

Several images are copied concurrently. Images that are already in the mirror are skipped, so that a
second run continues where the first one ended. A failed image does not stop the others; but after
several consecutive failures no further copies start, since the mirror itself probably has a
problem.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from olmkit.base.diagnostics import ConfigurationError, OlmkitError, RemoteError
from olmkit.edges.images import attached, transfer, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.image_folder import ImageFolder
from olmkit.edges.images.transfer import TransferOutcome, TransferStep
from olmkit.oci import mirroring
from olmkit.oci.content import Digest
from olmkit.oci.image import Image, MultiPlatformImage
from olmkit.oci.mirroring import MirrorTarget
from olmkit.oci.reference import LayoutReference, Reference
from olmkit.oci.store import ImageStore, MemoryStore

if TYPE_CHECKING:
    from olmkit.edges.network.web import Web

DEFAULT_JOBS: Final = 4
# A single failure may be an error in the catalog; this many in a row are not.
_MAX_FAILED_IN_A_ROW: Final = 10
_SHOWN: Final = 5
_CAME: Final = frozenset({TransferOutcome.SENT, TransferOutcome.MOUNTED})


class Arrival(StrEnum):
    """Whether an image was copied, or was already in the mirror."""

    COPIED = "copied"
    PRESENT = "present"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorItem:
    """An image to copy, from the registry in its name, or `image`, which was built here."""

    source: Reference
    target: Reference
    image: Image | MultiPlatformImage | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredImage:
    """An image in the mirror. `sent` is the number of copied bytes."""

    source: str
    target: str
    digest: str = ""
    arrival: Arrival = Arrival.PLANNED
    referrers: int = 0
    sent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorResult:
    """The images in the order of the items; `failed`: source → reason."""

    images: tuple[MirroredImage, ...]
    failed: tuple[tuple[str, OlmkitError], ...] = ()
    not_begun: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorOptions:
    """The options of a copy; `jobs` is the number of concurrent images."""

    jobs: int = DEFAULT_JOBS
    with_referrers: bool = True


Say = Callable[[MirroredImage], None]


class MirrorEnd(Protocol):
    """The source or the target of a mirror run."""

    def opened(self, reference: Reference) -> contextlib.AbstractAsyncContextManager[ImageStore]:
        """Return the repository of an image."""
        ...


@dataclass(frozen=True, slots=True)
class RegistrySide:
    """Registries as source or target, with their credentials and shared connections."""

    access: Access
    web: Web
    write: bool = False

    @contextlib.asynccontextmanager
    async def opened(self, reference: Reference) -> AsyncIterator[ImageStore]:
        async with transports.open_store(
            reference, self.access, web=self.web, write=self.write
        ) as store:
            yield store


@dataclass(frozen=True, slots=True)
class FolderSide:
    """A folder with the images of many repositories."""

    folder: ImageFolder

    @contextlib.asynccontextmanager
    async def opened(self, reference: Reference) -> AsyncIterator[ImageStore]:
        yield self.folder.repository(reference.name)


def items_for(sources: Sequence[Reference], target: MirrorTarget) -> tuple[MirrorItem, ...]:
    """Return the target of each image, or raise `ConfigurationError` if two have the same tag."""
    if isinstance(target, LayoutReference):
        return tuple(MirrorItem(source=source, target=source) for source in sources)
    mirroring.check_tags(sources, target)
    return tuple(MirrorItem(source=source, target=target.place(source)) for source in sources)


def open_folder(reference: LayoutReference) -> ImageFolder:
    """Open the folder of a mirror, which may be new."""
    return ImageFolder(transports.local_path(reference.folder))


@contextlib.asynccontextmanager
async def open_side(
    target: MirrorTarget | None, access: Access, *, write: bool = False
) -> AsyncIterator[MirrorEnd]:
    """Open a source or target; None for the registries in the names of images."""
    if isinstance(target, LayoutReference):
        folder = open_folder(target)
        try:
            yield FolderSide(folder)
        finally:
            await folder.close()
        return
    from olmkit.edges.network.web import Web

    async with Web(transports.web_options(access)) as web:
        yield RegistrySide(access, web, write=write)


async def mirror(
    items: Sequence[MirrorItem],
    source: MirrorEnd,
    target: MirrorEnd,
    options: MirrorOptions,
    say: Say = lambda _: None,
) -> MirrorResult:
    """Copy all `items`. Errors of individual images are in the result."""
    work = _Work(source, target, options, say)
    limit = asyncio.Semaphore(options.jobs)

    async def one(item: MirrorItem) -> None:
        async with limit:
            await work.attempt(item)

    await transfer.run_all(map(one, items))
    return work.result(items)


class _Work:
    """One run: the copied and the failed images so far."""

    def __init__(
        self, source: MirrorEnd, target: MirrorEnd, options: MirrorOptions, say: Say
    ) -> None:
        self._source = source
        self._target = target
        self._options = options
        self._say = say
        self._done: dict[Reference, MirroredImage] = {}
        self._failed: dict[Reference, OlmkitError] = {}
        self._in_a_row = 0

    async def attempt(self, item: MirrorItem) -> None:
        if self._in_a_row >= _MAX_FAILED_IN_A_ROW:
            return
        try:
            made = await self._copy(item)
        except ConfigurationError:
            raise
        except OlmkitError as error:
            self._failed[item.source] = error
            self._in_a_row += 1
            return
        self._in_a_row = 0
        self._done[item.source] = made
        self._say(made)

    def result(self, items: Sequence[MirrorItem]) -> MirrorResult:
        names = [item.source for item in items]
        return MirrorResult(
            images=tuple(self._done[name] for name in names if name in self._done),
            failed=tuple((str(name), self._failed[name]) for name in names if name in self._failed),
            not_begun=sum(name not in self._done and name not in self._failed for name in names),
        )

    async def _copy(self, item: MirrorItem) -> MirroredImage:
        steps: list[TransferStep] = []
        async with contextlib.AsyncExitStack() as stack:
            if item.image is not None:
                origin: ImageStore = MemoryStore.of(item.image)
                root = item.image.descriptor
            else:
                origin = await stack.enter_async_context(self._source.opened(item.source))
                root = await origin.resolve(transports.selector(item.source))
            mirror_ = await stack.enter_async_context(self._target.opened(item.target))
            await transfer.copy(
                origin, mirror_, root, tag=self._tag(item, root.digest), report=steps.append
            )
            if item.target.digest is not None and isinstance(self._target, FolderSide):
                await self._target.folder.add(mirroring.layout_name(item.target), root)
            found = (
                await attached.copy(origin, mirror_, root, report=steps.append)
                if self._options.with_referrers
                else ()
            )
        sent = [step.descriptor.size for step in steps if step.outcome in _CAME]
        return MirroredImage(
            source=str(item.source),
            target=str(item.target),
            digest=str(root.digest),
            arrival=Arrival.COPIED if sent else Arrival.PRESENT,
            referrers=len(found),
            sent=sum(sent),
        )

    def _tag(self, item: MirrorItem, digest: Digest) -> str | None:
        """Return the tag in the mirror; for a pinned image in a folder, the digest."""
        if item.target.digest is None:
            return item.target.tag
        return None if isinstance(self._target, FolderSide) else mirroring.keeping_tag(digest)


def failure(result: MirrorResult) -> RemoteError:
    """Return an error for the failed images, which lists each reason once."""
    reasons: dict[str, list[str]] = {}
    for source, error in result.failed:
        reasons.setdefault(error.message, []).append(source)
    parts = []
    for message, sources in list(reasons.items())[:_SHOWN]:
        names = ", ".join(f"`{source}`" for source in sources[:_SHOWN])
        more = f" and {len(sources) - _SHOWN} more" if len(sources) > _SHOWN else ""
        parts.append(f"{names}{more}: {message}")
    if len(reasons) > _SHOWN:
        parts.append(f"and {len(reasons) - _SHOWN} more reasons")
    total = len(result.failed) + result.not_begun
    noun = "image is" if total == 1 else "images are"
    errors = [error for _, error in result.failed]
    hint = next((error.hint for error in errors if error.hint), "")
    again = "run the command again to copy the rest"
    return RemoteError(
        f"{total} {noun} not in the mirror: {'; '.join(parts)}",
        hint=f"{hint}; {again}" if hint else again,
        temporary=any(getattr(error, "temporary", False) for error in errors),
    )
