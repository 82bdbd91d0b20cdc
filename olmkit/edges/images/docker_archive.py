"""Archives of `docker save`: read as a store, and written for `docker load`.

Such an archive has no image manifest, only a list of files. The corresponding image manifest is
created, in the OCI form, with the unchanged layers of the archive. Newer engines also write an OCI
layout into the archive; it is preferred, because its digests are those of the registry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.streams import closing
from olmkit.edges.disk import disk_error
from olmkit.edges.images.layout import Archive, LayoutReader, temporary
from olmkit.oci import layer as layers_
from olmkit.oci import store as stores
from olmkit.oci.content import (
    MAX_CONFIG_SIZE,
    MAX_LAYERS,
    MAX_MANIFEST_SIZE,
    Descriptor,
    Digest,
    ImageConfig,
    ImageManifest,
    MediaType,
)
from olmkit.oci.image import Image
from olmkit.oci.reference import Reference
from olmkit.oci.store import ImageStore, Opener

_LIST = "manifest.json"
_CHUNK = 1024 * 1024
_MAX_IMAGES = 1000
_CONTAINERD_NAME = "io.containerd.image.name"
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


def open_archive(path: Path) -> ImageStore:
    """Return the images of an archive that `docker save` has written."""
    archive = Archive(path)
    if "oci-layout" in archive.names and "index.json" in archive.names:
        return _NamedEntry(archive, str(path))
    return DockerArchive(archive, str(path))


class _NamedEntry(LayoutReader):
    """An OCI layout by Docker, whose names are in an annotation of containerd's."""

    def read_entries(self) -> tuple[tuple[str, Descriptor], ...]:
        return tuple(
            (entry.annotations.get(_CONTAINERD_NAME) or name, entry)
            for name, entry in super().read_entries()
        )


class DockerArchive:
    """A read-only `ImageStore` over the older form of the archive."""

    def __init__(self, archive: Archive, shown: str) -> None:
        self._archive = archive
        self._shown = shown
        self._small: dict[Digest, bytes] = {}
        self._layers: dict[Digest, str] = {}
        self._hashed: dict[tuple[int, int], Descriptor] = {}  # by position: names may repeat
        self._listed = [(_names(entry), entry) for entry in self._read_list()]

    async def exists(self, descriptor: Descriptor) -> bool:
        return descriptor.digest in self._small or descriptor.digest in self._layers

    async def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        if (data := self._small.get(descriptor.digest)) is not None:
            yield data[offset:]
            return
        with self._open(self._layers[descriptor.digest]) as stream:
            for chunk in _chunks(stream, offset):
                yield chunk

    async def push(self, descriptor: Descriptor, content: Opener) -> None:  # noqa: ARG002
        raise self._read_only()

    async def tag(self, descriptor: Descriptor, tag: str) -> None:  # noqa: ARG002
        raise self._read_only()

    async def tags(self) -> tuple[str, ...]:
        return tuple(sorted({name for names, _ in self._listed for name in names}))

    async def resolve(self, selector: str) -> Descriptor:
        if not selector and len(self._listed) == 1:
            return self._read_image(self._listed[0][1])
        wanted = _normalize(selector)
        for names, entry in self._listed:
            if wanted in map(_normalize, names):
                return self._read_image(entry)
        if ":" in selector:  # a digest is known after an image was read
            for _, entry in self._listed:
                self._small.clear()
                found = self._read_image(entry)
                if selector == str(found.digest):
                    return found
        if selector:
            message = f"archive `{self._shown}` has no image `{selector}`"
        else:
            message = f"archive `{self._shown}` has {len(self._listed)} images"
        names = await self.tags()
        hint = f"it has {', '.join(f'`{name}`' for name in names[:20])}" if names else ""
        raise ConfigurationError(message, hint=hint)

    def _read_list(self) -> list[dict[str, Any]]:
        data = self._read(_LIST, MAX_MANIFEST_SIZE)
        try:
            value = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            value = None
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise InputError(f"`{self._shown}`: `{_LIST}` is not a list of images")
        if len(value) > _MAX_IMAGES:
            raise InputError(
                f"`{self._shown}`: `{_LIST}` has {len(value)} images, more than {_MAX_IMAGES}"
            )
        return value

    def _read_image(self, entry: dict[str, Any]) -> Descriptor:
        config, layers = entry.get("Config"), entry.get("Layers")
        if not isinstance(config, str) or not _texts(layers):
            raise InputError(f"`{self._shown}`: `{_LIST}` names no config or no layers")
        if (count := len(layers or ())) > MAX_LAYERS:
            raise InputError(
                f"`{self._shown}`: an image has {count} layers, more than {MAX_LAYERS}"
            )
        data = self._read(config, MAX_CONFIG_SIZE)
        ImageConfig.parse(data)
        manifest = ImageManifest(
            media_type=MediaType.OCI_MANIFEST,
            config=self._keep(data, MediaType.OCI_CONFIG),
            layers=tuple(self._layer(name) for name in layers or ()),
        )
        return self._keep(manifest.format(), MediaType.OCI_MANIFEST)

    def _layer(self, name: str) -> Descriptor:
        place = self._archive.place(name)
        if place is not None and (known := self._hashed.get(place)) is not None:
            return known
        found = self._hash(name)
        if place is not None:
            self._hashed[place] = found
        return found

    def _hash(self, name: str) -> Descriptor:
        with self._open(name) as stream:
            start = stream.read(4)
            running = hashlib.sha256()
            size = 0
            for chunk in _chunks(stream, 0):
                running.update(chunk)
                size += len(chunk)
        digest = Digest("sha256", running.hexdigest())
        self._layers[digest] = name
        kind = MediaType.OCI_LAYER
        if start.startswith(_COMPRESSED[0]):
            kind = MediaType.OCI_LAYER_GZIP
        elif start.startswith(_COMPRESSED[1]):
            kind = MediaType.OCI_LAYER_ZSTD
        return Descriptor(media_type=kind, digest=digest, size=size)

    def _keep(self, data: bytes, media_type: str) -> Descriptor:
        descriptor = Descriptor.of(data, media_type)
        self._small[descriptor.digest] = data
        return descriptor

    def _read(self, name: str, limit: int) -> bytes:
        with self._open(name) as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise InputError(
                f"`{self._shown}`: `{name}` is larger than the limit of {limit / 1e6:.0f} MB"
            )
        return data

    def _open(self, name: str) -> BinaryIO:
        stream = self._archive.open(name)
        if stream is None:
            raise InputError(
                f"`{self._shown}` is not an archive of `docker save`: it lacks `{name[:100]}`"
            )
        return stream

    def _read_only(self) -> ConfigurationError:
        return ConfigurationError(f"`{self._shown}` is read-only")


async def write(source: ImageStore, image: Image, names: Sequence[Reference], path: Path) -> None:
    """Write `image`, whose layers are in `source`, as an archive for `docker load`."""
    config = f"{image.manifest.config.digest.encoded}.json"
    layers = [f"{layer.digest.encoded}.tar" for layer in image.manifest.layers]
    await stores.require_layers(source, image)
    listed = [{"Config": config, "RepoTags": [str(name) for name in names], "Layers": layers}]
    try:
        with temporary(path) as stream:
            _add(stream, config, image.config_data)
            for layer, name in dict(zip(image.manifest.layers, layers, strict=True)).items():
                stream.write(layers_.header(name, size=layer.size))
                async with closing(stores.fetch_checked(source, layer)) as chunks:
                    async for chunk in chunks:
                        stream.write(chunk)
                stream.write(layers_.padding(layer.size))
            _add(stream, _LIST, json.dumps(listed, separators=(",", ":")).encode())
            stream.write(layers_.END)
    except OSError as error:
        raise disk_error(path, error) from error


def _add(stream: BinaryIO, name: str, data: bytes) -> None:
    stream.write(layers_.header(name, size=len(data)) + data + layers_.padding(len(data)))


def _chunks(stream: BinaryIO, offset: int) -> Iterator[bytes]:
    stream.seek(offset)
    while chunk := stream.read(_CHUNK):
        yield chunk


def _names(entry: dict[str, Any]) -> tuple[str, ...]:
    names = entry.get("RepoTags")
    return tuple(names or ()) if _texts(names) else ()


def _texts(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _normalize(name: str) -> str:
    try:
        return str(Reference.parse(name).tagged())
    except ConfigurationError:
        return name
