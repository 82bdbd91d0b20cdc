"""Immutable images, built from scratch or from another image.

An `Image` has its image manifest and config as stored, and the bytes of the layers that were built
here; the others are in the source of the image. An `MultiPlatformImage` is one image for each of
several platforms. Equal input gives equal digests: times are arguments, never read from a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from olmkit.base.diagnostics import InputError
from olmkit.oci.content import (
    Descriptor,
    Digest,
    ImageConfig,
    ImageIndex,
    ImageManifest,
    MediaType,
    Platform,
)
from olmkit.oci.layer import Layer

# The platforms of OLM's own images, which its pods tolerate.
OLM_PLATFORMS = tuple(
    Platform(os="linux", architecture=name) for name in ("amd64", "arm64", "ppc64le", "s390x")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image for one platform; `blobs` has the layers that were built here."""

    manifest: ImageManifest
    manifest_data: bytes = field(repr=False)
    config: ImageConfig
    config_data: bytes = field(repr=False)
    blobs: Mapping[Digest, bytes] = field(default_factory=dict, repr=False, hash=False)

    @property
    def descriptor(self) -> Descriptor:
        return replace(
            Descriptor.of(self.manifest_data, self.manifest.media_type),
            platform=self.config.platform,
        )

    @property
    def digest(self) -> Digest:
        return Digest.of(self.manifest_data)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiPlatformImage:
    """One image for each of several platforms, under one digest."""

    index: ImageIndex
    index_data: bytes = field(repr=False)
    images: tuple[Image, ...]

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor.of(self.index_data, self.index.media_type)

    @property
    def digest(self) -> Digest:
        return Digest.of(self.index_data)


def scratch(platform: Platform, *, created: int = 0) -> Image:
    """Return an image without layers; `created` is its time of creation in Unix seconds."""
    config: dict[str, Any] = {
        "created": _time(created),
        "architecture": platform.architecture,
        **({"variant": platform.variant} if platform.variant else {}),
        "os": platform.os,
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": []},
        "history": [],
    }
    return _assemble(config, (), {}, {}, MediaType.OCI_MANIFEST, MediaType.OCI_CONFIG)


def born(image: Image, *, created: int) -> Image:
    """Return `image` with another creation time, in Unix seconds, as a base for another image."""
    return _assemble(
        {**image.config.value, "created": _time(created)},
        image.manifest.layers,
        image.blobs,
        {},
        image.manifest.media_type,
        image.manifest.config.media_type,
    )


def append(image: Image, layer: Layer, *, created_by: str, created: int = 0) -> Image:
    """Return `image` with one more layer on top."""
    value = image.config.value
    descriptor = layer.descriptor
    if image.manifest.media_type == MediaType.DOCKER_MANIFEST:
        # The bytes are equal; only the names differ, and an image must not mix the two.
        descriptor = replace(descriptor, media_type=_docker_layer(descriptor.media_type))
    config = {
        **value,
        "rootfs": {
            "type": "layers",
            "diff_ids": [*map(str, image.config.diff_ids), str(layer.diff_id)],
        },
        "history": [
            *(value.get("history") or ()),
            {"created": _time(created), "created_by": created_by},
        ],
    }
    return _assemble(
        config,
        (*image.manifest.layers, descriptor),
        {**image.blobs, descriptor.digest: layer.data},
        image.manifest.annotations,
        image.manifest.media_type,
        image.manifest.config.media_type,
    )


def relayer(image: Image, stored: Sequence[Layer]) -> Image:
    """Return `image` with the same layers stored differently, such as compressed.

    Raises `InputError` if the uncompressed content of `stored` is not that of its layers.
    """
    if [part.diff_id for part in stored] != list(image.config.diff_ids):
        raise InputError("the layers of the image are not those that its config names")
    manifest = replace(image.manifest, layers=tuple(part.descriptor for part in stored))
    return replace(
        image,
        manifest=manifest,
        manifest_data=manifest.format(),
        blobs={part.descriptor.digest: part.data for part in stored},
    )


def label(image: Image, labels: Mapping[str, str]) -> Image:
    """Return `image` with additional `labels`."""
    return configure(image, {"Labels": dict(sorted({**image.config.labels, **labels}.items()))})


def label_all(
    image: Image | MultiPlatformImage, labels: Mapping[str, str]
) -> Image | MultiPlatformImage:
    """Return `image` with additional `labels` on each of its platforms."""
    if isinstance(image, Image):
        return label(image, labels)
    return index([label(one, labels) for one in image.images])


def configure(image: Image, options: Mapping[str, Any]) -> Image:
    """Return `image` with some run options replaced: `Entrypoint`, `User`, `Env` and so on.

    None removes one.
    """
    merged = {**image.config.run_options, **options}
    config = {
        **image.config.value,
        "config": {key: value for key, value in sorted(merged.items()) if value is not None},
    }
    return _assemble(
        config,
        image.manifest.layers,
        image.blobs,
        image.manifest.annotations,
        image.manifest.media_type,
        image.manifest.config.media_type,
    )


def annotate(image: Image, annotations: Mapping[str, str]) -> Image:
    """Return `image` with additional `annotations` in its image manifest."""
    manifest = replace(image.manifest, annotations={**image.manifest.annotations, **annotations})
    return replace(image, manifest=manifest, manifest_data=manifest.format())


def index(images: Sequence[Image]) -> MultiPlatformImage:
    """Return `images`, each for another platform, as one image.

    Raises `InputError` if two of them have the same platform.
    """
    platforms = [image.config.platform for image in images]
    if len(set(platforms)) != len(platforms):
        raise InputError("two images of one index are for the same platform")
    value = ImageIndex(
        media_type=MediaType.OCI_INDEX, manifests=tuple(image.descriptor for image in images)
    )
    return MultiPlatformImage(index=value, index_data=value.format(), images=tuple(images))


def data_image(
    layer: Layer,
    labels: Mapping[str, str],
    *,
    created_by: str,
    platforms: Sequence[Platform] = OLM_PLATFORMS,
    created: int = 0,
) -> Image | MultiPlatformImage:
    """Return an image with only files, which is the same for every platform.

    For one platform it is an image, for several an index of images that share the layer: runtimes
    look for their own platform even if nothing is executed.
    """
    images = [
        label(
            append(
                scratch(platform, created=created), layer, created_by=created_by, created=created
            ),
            labels,
        )
        for platform in platforms
    ]
    return images[0] if len(images) == 1 else index(images)


def contents(image: Image | MultiPlatformImage) -> Iterator[tuple[Descriptor, bytes]]:
    """Yield all parts of `image` that are in memory, in an order in which they can be stored."""
    if isinstance(image, MultiPlatformImage):
        for part in image.images:
            yield from contents(part)
        yield image.descriptor, image.index_data
        return
    for layer in image.manifest.layers:
        if (data := image.blobs.get(layer.digest)) is not None:
            yield layer, data
    yield image.manifest.config, image.config_data
    yield image.descriptor, image.manifest_data


def _assemble(
    config_value: Mapping[str, Any],
    layers: tuple[Descriptor, ...],
    blobs: Mapping[Digest, bytes],
    annotations: Mapping[str, str],
    manifest_type: str,
    config_type: str,
) -> Image:
    config = ImageConfig(config_value)
    config_data = config.format()
    manifest = ImageManifest(
        media_type=manifest_type,
        config=Descriptor.of(config_data, config_type),
        layers=layers,
        annotations=annotations,
    )
    return Image(
        manifest=manifest,
        manifest_data=manifest.format(),
        config=config,
        config_data=config_data,
        blobs=blobs,
    )


def _docker_layer(media_type: str) -> str:
    match media_type:
        case MediaType.OCI_LAYER_GZIP:
            return MediaType.DOCKER_LAYER_GZIP
        case MediaType.OCI_LAYER_ZSTD:
            return MediaType.DOCKER_LAYER_ZSTD
        case MediaType.OCI_LAYER:
            return MediaType.DOCKER_LAYER
        case _:
            return media_type


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
