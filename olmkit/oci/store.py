"""The interface of image stores, which registries and layouts implement.

An `ImageStore` is one repository: content by digest, and names for some of it. Content is
transferred in chunks and checked against its descriptor, so that nothing must fit in memory and no
wrong content is stored. Concurrent transfers are in `olmkit.edges.images.transfer`; the required
order is defined here.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.streams import closing
from olmkit.oci.content import (
    MAX_CONFIG_SIZE,
    MAX_INDEX_ENTRIES,
    MAX_MANIFEST_SIZE,
    Descriptor,
    Digest,
    ImageConfig,
    ImageIndex,
    ImageManifest,
    Platform,
    parse_manifest,
)
from olmkit.oci.image import Image, MultiPlatformImage, contents

Opener = Callable[[int], AsyncIterator[bytes]]
"""Restarts content from a byte offset, so that an interrupted transfer can continue."""

_CHUNK = 256 * 1024
_MAX_DEPTH = 4  # in practice, indexes are not nested this deeply
# The references of all manifests of an image, including repetitions; 50 platforms with 100 layers
# are 5,000.
MAX_REFERENCES = 100_000


@dataclass(eq=False)
class RegistryError(RemoteError):
    """A registry refused a request, or returned content that is not usable.

    `url` contains no secrets; `retry_after` is the number of seconds to wait before a retry.
    """

    status: int = 0
    codes: tuple[str, ...] = ()
    url: str = ""
    retry_after: float = 0.0


@dataclass(eq=False)
class ContentError(RegistryError):
    """Content does not match the digest or size of its descriptor."""


class ImageStore(Protocol):
    """One repository of content and names."""

    async def exists(self, descriptor: Descriptor) -> bool:
        """Return whether the content exists."""
        ...

    def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        """Return the content from `offset`, unchecked: see `check_content` and `read`."""
        ...

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        """Store the content; the content that it refers to must already exist."""
        ...

    async def resolve(self, selector: str) -> Descriptor:
        """Return the descriptor of a tag or digest."""
        ...

    async def tag(self, descriptor: Descriptor, tag: str) -> None:
        """Let `tag` refer to an existing image."""
        ...

    async def tags(self) -> tuple[str, ...]:
        """Return all tags, sorted."""
        ...


@runtime_checkable
class Mounting(Protocol):
    """A store that can mount content from another repository."""

    async def mount(self, descriptor: Descriptor, source: ImageStore) -> bool:
        """Return whether the content is now here, mounted from `source`."""
        ...


class MemoryStore:
    """A store in memory, on top of `base`."""

    def __init__(
        self,
        blobs: Mapping[Digest, bytes] | None = None,
        tags: Mapping[str, Descriptor] | None = None,
        base: ImageStore | None = None,
    ) -> None:
        self.blobs = dict(blobs or {})
        self.names = dict(tags or {})
        self._base = base
        self._types: dict[Digest, str] = {}

    @staticmethod
    def of(image: Image | MultiPlatformImage, base: ImageStore | None = None) -> MemoryStore:
        """Return a store with the parts of `image` in memory, on top of the store with the rest."""
        store = MemoryStore(base=base)
        for descriptor, data in contents(image):
            store.blobs[descriptor.digest] = data
            store._types[descriptor.digest] = descriptor.media_type
        return store

    async def exists(self, descriptor: Descriptor) -> bool:
        if descriptor.digest in self.blobs:
            return True
        return self._base is not None and await self._base.exists(descriptor)

    async def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        data = self.blobs.get(descriptor.digest)
        if data is not None:
            async for chunk in chunks(data)(offset):
                yield chunk
        elif self._base is not None:
            async with closing(self._base.fetch(descriptor, offset)) as content:
                async for chunk in content:
                    yield chunk
        else:
            raise _missing(descriptor)

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        self.blobs[descriptor.digest] = b"".join(
            [chunk async for chunk in check_content(descriptor, content(0))]
        )
        self._types[descriptor.digest] = descriptor.media_type

    async def resolve(self, selector: str) -> Descriptor:
        if (named := self.names.get(selector)) is not None:
            return named
        if ":" in selector:
            digest = Digest.parse(selector)
            if (data := self.blobs.get(digest)) is not None:
                kind = self._types.get(digest) or parse_manifest(data).media_type
                return Descriptor(media_type=kind, digest=digest, size=len(data))
        if self._base is not None:
            return await self._base.resolve(selector)
        raise ConfigurationError(f"there is no image `{selector}`")

    async def tag(self, descriptor: Descriptor, tag: str) -> None:
        self.names[tag] = descriptor

    async def tags(self) -> tuple[str, ...]:
        return tuple(sorted(self.names))


def chunks(data: bytes) -> Opener:
    """Yield bytes in memory as content."""

    async def opened(offset: int) -> AsyncIterator[bytes]:
        view = memoryview(data)
        for start in range(offset, len(data), _CHUNK):
            yield bytes(view[start : start + _CHUNK])

    return opened


async def fetch_checked(store: ImageStore, descriptor: Descriptor) -> AsyncIterator[bytes]:
    """Yield checked content of a store; a `ContentError` names the repository."""
    with add_place(store):
        async with closing(check_content(descriptor, store.fetch(descriptor))) as content:
            async for chunk in content:
                yield chunk


@contextmanager
def add_place(source: ImageStore) -> Iterator[None]:
    """Add the `place` of the store, if it has one, to the message of a `ContentError`."""
    try:
        yield
    except ContentError as error:
        place = getattr(source, "place", "")
        if place:
            error.message = f"`{place}`: {error.message}"
        raise


async def check_content(
    descriptor: Descriptor, content: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """Yield `content`; raise `ContentError` at its end, or as soon as it is too long."""
    running = hashlib.new(descriptor.digest.algorithm)
    size = 0
    async with closing(content):
        async for chunk in content:
            size += len(chunk)
            if size > descriptor.size:
                raise ContentError(
                    f"content `{descriptor.digest}` is larger than its {descriptor.size} bytes"
                )
            running.update(chunk)
            yield chunk
    if size < descriptor.size:
        raise ContentError(
            f"content `{descriptor.digest}` ended after {size} of its {descriptor.size} bytes",
            temporary=True,
        )
    if running.hexdigest() != descriptor.digest.encoded:
        raise ContentError(
            f"content `{descriptor.digest}` has another digest: "
            f"`{descriptor.digest.algorithm}:{running.hexdigest()}`"
        )


async def read(
    store: ImageStore, descriptor: Descriptor, *, limit: int = MAX_MANIFEST_SIZE
) -> bytes:
    """Read small content as a whole, checked; `InputError` if it is larger than `limit` bytes."""
    if descriptor.size > limit:
        raise InputError(
            f"`{descriptor.digest}` is {descriptor.size / 1e6:.1f} MB; the limit is "
            f"{limit / 1e6:.0f} MB"
        )
    return b"".join([chunk async for chunk in fetch_checked(store, descriptor)])


async def read_manifest(store: ImageStore, descriptor: Descriptor) -> ImageManifest | ImageIndex:
    """Return the manifest or index of a descriptor. Raises `InputError` if it is malformed."""
    return parse_manifest(await read(store, descriptor), descriptor.media_type)


async def require_layers(store: ImageStore, image: Image) -> None:
    """Raise `InputError` for a layer that is only at URLs, which are not read."""
    for layer in image.manifest.layers:
        if layer.is_external and not await store.exists(layer):
            raise InputError(
                f"layer {layer.digest} is not distributed with the image: its media type is "
                f"`{layer.media_type}`, and its content is at the `urls` of the image manifest",
                hint="build the image on a base without such layers",
            )


async def pull(
    store: ImageStore, selector: str, platform: Platform, *, any_platform: bool = False
) -> Image:
    """Return the image for `selector`, and of several that for `platform`; no layers are read.

    With `any_platform`, the first one is used if there is none for `platform`: for images with only
    data. Raises `InputError` if there is none for `platform`, and `RemoteError` of the store.
    """
    descriptor = await store.resolve(selector)
    for _ in range(_MAX_DEPTH):
        data = await read(store, descriptor)
        manifest = parse_manifest(data, descriptor.media_type)
        if isinstance(manifest, ImageManifest):
            config_data = await read(store, manifest.config, limit=MAX_CONFIG_SIZE)
            return Image(
                manifest=manifest,
                manifest_data=data,
                config=ImageConfig.parse(config_data),
                config_data=config_data,
            )
        selected = manifest.select(platform)
        if selected is None and any_platform:
            selected = next((entry for entry in manifest.manifests if entry.is_manifest), None)
        if selected is None:
            offered = ", ".join(
                sorted({str(entry.platform) for entry in manifest.manifests if entry.platform})
            )
            raise InputError(
                f"image `{selector}` is not for `{platform}`",
                hint=f"it is for {offered}" if offered else "it does not name a platform",
            )
        descriptor = selected
    raise InputError(f"image `{selector}` is an index with more than {_MAX_DEPTH} levels")


async def levels(store: ImageStore, *roots: Descriptor) -> tuple[tuple[Descriptor, ...], ...]:
    """Return all parts of `roots` in levels: each can be stored after the levels before it.

    Duplicate parts are returned once; within a level, the order does not matter. Raises
    `InputError` if the manifests together name more than `MAX_REFERENCES` parts.
    """
    found: dict[Digest, tuple[int, Descriptor]] = {}
    named = 0
    for root in roots:
        named = await _walk(store, root, _MAX_DEPTH, found, named)
    heights = sorted({height for height, _ in found.values()})
    return tuple(
        tuple(descriptor for height, descriptor in found.values() if height == level)
        for level in heights
    )


async def _walk(
    store: ImageStore,
    descriptor: Descriptor,
    depth: int,
    found: dict[Digest, tuple[int, Descriptor]],
    named: int,
) -> int:
    """Add `descriptor` and its parts to `found`, with their heights above the blobs.

    `named` is the number of parts that manifests have named so far; the result is the new number.
    """
    if descriptor.digest in found:
        return named
    height = 0
    parts: tuple[Descriptor, ...] = ()
    if descriptor.is_manifest and depth >= 0:
        parts = (await read_manifest(store, descriptor)).references
        named += len(parts)
    if len(found) > 4 * MAX_INDEX_ENTRIES or depth < 0 or named > MAX_REFERENCES:
        raise InputError(f"image `{descriptor.digest}` has more parts than an image can have")
    for part in parts:
        named = await _walk(store, part, depth - 1, found, named)
        height = max(height, 1 + found[part.digest][0])
    found[descriptor.digest] = (height, replace(descriptor, annotations={}))
    return named


def _missing(descriptor: Descriptor) -> RegistryError:
    return RegistryError(f"content `{descriptor.digest}` is missing", status=404)
