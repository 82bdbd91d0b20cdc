"""The parts of images: digests, descriptors, image manifests, indexes, configs.

Values and their JSON, as the OCI image specification 1.1 and Docker's image manifest version 2
schema 2 write them. Data from a registry or a file is untrusted: sizes and depth are limited, and
every error is an `InputError` that names the field. Written JSON has its keys in the order of the
specification and no spaces, so that equal values have equal digests.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from olmkit.base.diagnostics import InputError

# The size that a registry must accept at least, and docker-registry accepts at most.
MAX_MANIFEST_SIZE = 4 * 1024 * 1024
# Configs contain the history and labels of all layers; real ones are below 100 kB.
MAX_CONFIG_SIZE = 8 * 1024 * 1024
MAX_LAYERS = 1000  # overlayfs supports 500; more is an attack or a mistake
MAX_INDEX_ENTRIES = 5000
# A mirror of a whole public catalog lists some 20,000 images and signatures, 300 bytes each.
MAX_LAYOUT_INDEX_SIZE = 64 * 1024 * 1024
MAX_LAYOUT_ENTRIES = 200_000

# Lengths of the hexadecimal part, by algorithm: those registered in the image specification.
_HEX_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_SYNTAX = re.compile(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
_HEX = re.compile(r"[a-f0-9]+")
_PLATFORM_PART = re.compile(r"[A-Za-z0-9_.-]+")


class MediaType(StrEnum):
    """The media types that olmkit knows by name; others are kept as text."""

    OCI_INDEX = "application/vnd.oci.image.index.v1+json"
    OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
    OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
    OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"
    OCI_LAYER_GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"
    OCI_LAYER_ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
    DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
    DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
    DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
    DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar"
    DOCKER_LAYER_GZIP = "application/vnd.docker.image.rootfs.diff.tar.gzip"
    DOCKER_LAYER_ZSTD = "application/vnd.docker.image.rootfs.diff.tar.zstd"
    DOCKER_EXTERNAL_LAYER = "application/vnd.docker.image.rootfs.foreign.diff.tar"
    DOCKER_EXTERNAL_LAYER_GZIP = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
    OCI_EXTERNAL_LAYER = "application/vnd.oci.image.layer.nondistributable.v1.tar"
    OCI_EXTERNAL_LAYER_GZIP = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
    OCI_EXTERNAL_LAYER_ZSTD = "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"


INDEX_TYPES = frozenset({MediaType.OCI_INDEX, MediaType.DOCKER_INDEX})
MANIFEST_TYPES = frozenset({MediaType.OCI_MANIFEST, MediaType.DOCKER_MANIFEST})
# Layers that need not be in registries, because a license forbids their distribution (OCI image
# specification, "Non-Distributable Layers").
_EXTERNAL_TYPES = frozenset(
    {
        MediaType.DOCKER_EXTERNAL_LAYER,
        MediaType.DOCKER_EXTERNAL_LAYER_GZIP,
        MediaType.OCI_EXTERNAL_LAYER,
        MediaType.OCI_EXTERNAL_LAYER_GZIP,
        MediaType.OCI_EXTERNAL_LAYER_ZSTD,
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A digest: `sha256:` and the hash in lower-case hexadecimal."""

    algorithm: str
    encoded: str

    @staticmethod
    def parse(text: str) -> Digest:
        """Parse `algorithm:hex`, or raise `InputError` with the message of Go's library."""
        algorithm, colon, encoded = text.partition(":")
        if not algorithm or not colon or not encoded:
            raise InputError("invalid checksum digest format")
        length = _HEX_LENGTHS.get(algorithm)
        if length is None:
            if _SYNTAX.fullmatch(text):
                raise InputError("unsupported digest algorithm")
            raise InputError("invalid checksum digest format")
        if len(encoded.encode("utf-8", "surrogatepass")) != length:
            raise InputError("invalid checksum digest length")
        if not _HEX.fullmatch(encoded):
            raise InputError("invalid checksum digest format")
        return Digest(algorithm, encoded)

    @staticmethod
    def of(data: bytes) -> Digest:
        """Return the SHA-256 digest of `data`."""
        return Digest("sha256", hashlib.sha256(data).hexdigest())

    def matches(self, data: bytes) -> bool:
        return hashlib.new(self.algorithm, data).hexdigest() == self.encoded

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.encoded}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Platform:
    """The platform of an image: `os/architecture[/variant]`."""

    os: str
    architecture: str
    variant: str = ""
    os_version: str = ""

    @staticmethod
    def parse(text: str) -> Platform:
        parts = text.split("/")
        if len(parts) not in (2, 3) or not all(_PLATFORM_PART.fullmatch(part) for part in parts):
            raise InputError(
                f"`{text}` is not a platform", hint="a platform is written `linux/amd64`"
            )
        return Platform(
            os=parts[0], architecture=parts[1], variant=parts[2] if len(parts) > 2 else ""
        )

    def runs(self, other: Platform) -> bool:
        """Return whether this platform runs images for `other`; an empty variant runs any."""
        return (
            self.os == other.os
            and self.architecture == other.architecture
            and (not self.variant or not other.variant or self.variant == other.variant)
        )

    def __str__(self) -> str:
        return f"{self.os}/{self.architecture}" + (f"/{self.variant}" if self.variant else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A descriptor: media type, size and digest of content.

    `urls`: other sources of the bytes, which are not used.
    """

    media_type: str
    digest: Digest
    size: int
    urls: tuple[str, ...] = ()
    platform: Platform | None = None
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    artifact_type: str = ""

    @staticmethod
    def of(data: bytes, media_type: str) -> Descriptor:
        return Descriptor(media_type=media_type, digest=Digest.of(data), size=len(data))

    @property
    def is_index(self) -> bool:
        return self.media_type in INDEX_TYPES

    @property
    def is_manifest(self) -> bool:
        """Return whether a registry stores it as a manifest: image manifests and indexes."""
        return self.media_type in MANIFEST_TYPES or self.is_index

    @property
    def is_external(self) -> bool:
        """Return whether it is a layer at its `urls` that need not be in a registry."""
        return bool(self.urls) and self.media_type in _EXTERNAL_TYPES


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageManifest:
    """One image for one platform: its config and its layers, lowest first."""

    media_type: str
    config: Descriptor
    layers: tuple[Descriptor, ...]
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    artifact_type: str = ""
    subject: Descriptor | None = None

    @property
    def references(self) -> tuple[Descriptor, ...]:
        return (self.config, *self.layers)

    def format(self) -> bytes:
        return _encode(
            {
                "schemaVersion": 2,
                "mediaType": self.media_type,
                **({"artifactType": self.artifact_type} if self.artifact_type else {}),
                "config": _format_descriptor(self.config),
                "layers": [_format_descriptor(layer) for layer in self.layers],
                **({"subject": _format_descriptor(self.subject)} if self.subject else {}),
                **_format_annotations(self.annotations),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageIndex:
    """Several images under one name, usually one for each platform."""

    media_type: str
    manifests: tuple[Descriptor, ...]
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    artifact_type: str = ""
    subject: Descriptor | None = None

    @property
    def references(self) -> tuple[Descriptor, ...]:
        return self.manifests

    def select(self, platform: Platform) -> Descriptor | None:
        """Return the image for `platform`, or the first one without a platform."""
        exact = [m for m in self.manifests if m.platform == platform]
        close = [m for m in self.manifests if m.platform and platform.runs(m.platform)]
        silent = [m for m in self.manifests if m.platform is None and m.is_manifest]
        return next(iter([*exact, *close, *silent]), None)

    def format(self) -> bytes:
        return _encode(
            {
                "schemaVersion": 2,
                "mediaType": self.media_type,
                **({"artifactType": self.artifact_type} if self.artifact_type else {}),
                "manifests": [_format_descriptor(manifest) for manifest in self.manifests],
                **({"subject": _format_descriptor(self.subject)} if self.subject else {}),
                **_format_annotations(self.annotations),
            }
        )


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """The config of an image, with the digests of its unpacked layers; `value` has all fields."""

    value: Mapping[str, Any] = field(hash=False)

    @staticmethod
    def parse(data: bytes) -> ImageConfig:
        value = _decode(data, "image config", MAX_CONFIG_SIZE)
        config = value.get("config")
        if config is not None and not isinstance(config, dict):
            raise InputError("image config: `config` is not an object")
        result = ImageConfig(value)
        _strings(config or {}, "Labels", "image config: `config.Labels`")
        _ = result.diff_ids
        return result

    @property
    def platform(self) -> Platform:
        os, architecture, variant = (
            value if isinstance(value := self.value.get(key), str) else ""
            for key in ("os", "architecture", "variant")
        )
        return Platform(os=os, architecture=architecture, variant=variant)

    @property
    def labels(self) -> Mapping[str, str]:
        return _strings(self.run_options, "Labels", "image config: `config.Labels`")

    @property
    def run_options(self) -> Mapping[str, Any]:
        """Return the `config` object: entry point, command, user, environment, labels."""
        config = self.value.get("config")
        return config if isinstance(config, dict) else {}

    @property
    def diff_ids(self) -> tuple[Digest, ...]:
        """Return the digests of the uncompressed layers, lowest first."""
        rootfs = self.value.get("rootfs")
        found = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
        if found is None:
            return ()
        if not isinstance(found, list):
            raise InputError("image config: `rootfs.diff_ids` is not a list")
        return tuple(_digest(text, "image config: `rootfs.diff_ids`") for text in found)

    def format(self) -> bytes:
        return _encode(self.value)


def parse_manifest(data: bytes, media_type: str = "") -> ImageManifest | ImageIndex:
    """Parse an image manifest or an index, by its `media_type` or its content.

    A text that is both, or contains another type than `media_type`, is refused: two readers could
    treat it as two different images. Raises `InputError` for these, for the schema 1 of Docker, and
    for more entries than the limits allow.
    """
    value = _decode(data, "image manifest", MAX_MANIFEST_SIZE)
    said = value.get("mediaType", "")
    if not isinstance(said, str):
        raise InputError("image manifest: `mediaType` is not a string")
    if media_type in INDEX_TYPES | MANIFEST_TYPES and said and said != media_type:
        raise InputError(f"image manifest: it was served as `{media_type}` but declares `{said}`")
    if value.get("schemaVersion") == 1:
        raise InputError(
            "image manifest: schema 1 of Docker is not supported",
            hint="push the image again with a current tool, for example `skopeo copy`",
        )
    if value.get("schemaVersion") != 2:
        raise InputError("image manifest: `schemaVersion` is not 2")
    if "manifests" in value and ("layers" in value or "config" in value):
        raise InputError("image manifest: it is an image and an index at once")
    kind = said or (media_type if media_type in INDEX_TYPES | MANIFEST_TYPES else "")
    if not kind:
        kind = MediaType.OCI_INDEX if "manifests" in value else MediaType.OCI_MANIFEST
    if kind in INDEX_TYPES:
        return ImageIndex(
            media_type=kind,
            manifests=_descriptors(value, "manifests", MAX_INDEX_ENTRIES),
            annotations=_strings(value, "annotations", "image manifest: `annotations`"),
            artifact_type=_text(value, "artifactType"),
            subject=_subject(value),
        )
    if kind not in MANIFEST_TYPES:
        raise InputError(f"image manifest: `{kind}` is not a kind of image that olmkit knows")
    return ImageManifest(
        media_type=kind,
        config=_parse_descriptor(value.get("config"), "image manifest: `config`"),
        layers=_descriptors(value, "layers", MAX_LAYERS),
        annotations=_strings(value, "annotations", "image manifest: `annotations`"),
        artifact_type=_text(value, "artifactType"),
        subject=_subject(value),
    )


def parse_layout_index(data: bytes) -> ImageIndex:
    """Return the `index.json` of a layout, which may list many more images than an image has parts.

    Raises `InputError` for another type, another version and more entries than the limit.
    """
    value = _decode(data, "image index", MAX_LAYOUT_INDEX_SIZE)
    if value.get("mediaType", MediaType.OCI_INDEX) != MediaType.OCI_INDEX or "layers" in value:
        raise InputError("it is not an image index")
    if value.get("schemaVersion") != 2:
        raise InputError("image index: `schemaVersion` is not 2")
    return ImageIndex(
        media_type=MediaType.OCI_INDEX,
        manifests=_descriptors(value, "manifests", MAX_LAYOUT_ENTRIES),
        annotations=_strings(value, "annotations", "image index: `annotations`"),
    )


def _decode(data: bytes, noun: str, limit: int) -> dict[str, Any]:
    if len(data) > limit:
        raise InputError(
            f"{noun}: it is {len(data) / 1e6:.1f} MB; the limit is {limit / 1e6:.0f} MB"
        )
    import msgspec  # names of images, for which this module is mostly needed, are not JSON

    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{noun}: it is not JSON: {reason}") from None
    if not isinstance(value, dict):
        raise InputError(f"{noun}: it is not a JSON object")
    return value


def _encode(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise InputError("a label or annotation of the image is not valid Unicode") from None


def _descriptors(value: Mapping[str, Any], key: str, limit: int) -> tuple[Descriptor, ...]:
    found = value.get(key)
    if not isinstance(found, list):
        raise InputError(f"image manifest: `{key}` is not a list")
    if len(found) > limit:
        raise InputError(f"image manifest: `{key}` has {len(found)} entries, more than {limit}")
    return tuple(
        _parse_descriptor(item, f"image manifest: `{key}[{index}]`")
        for index, item in enumerate(found)
    )


def _subject(value: Mapping[str, Any]) -> Descriptor | None:
    found = value.get("subject")
    return None if found is None else _parse_descriptor(found, "image manifest: `subject`")


def _parse_descriptor(value: Any, where: str) -> Descriptor:
    if not isinstance(value, dict):
        raise InputError(f"{where} is not an object")
    size = value.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**63:
        raise InputError(f"{where}: `size` is not a number of bytes")
    media_type = value.get("mediaType")
    if not isinstance(media_type, str) or not media_type:
        raise InputError(f"{where}: `mediaType` is missing")
    platform = value.get("platform")
    return Descriptor(
        media_type=media_type,
        digest=_digest(value.get("digest"), f"{where}: `digest`"),
        size=size,
        urls=_urls(value.get("urls"), f"{where}: `urls`"),
        platform=_parse_platform(platform) if isinstance(platform, dict) else None,
        annotations=_strings(value, "annotations", f"{where}: `annotations`"),
        artifact_type=_text(value, "artifactType"),
    )


def _urls(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not _all_text(value):
        raise InputError(f"{where} is not a list of strings")
    return tuple(value)


def _parse_platform(value: Mapping[str, Any]) -> Platform:
    return Platform(
        os=_text(value, "os"),
        architecture=_text(value, "architecture"),
        variant=_text(value, "variant"),
        os_version=_text(value, "os.version"),
    )


def _digest(value: Any, where: str) -> Digest:
    try:
        return Digest.parse(value if isinstance(value, str) else "")
    except InputError as error:
        raise InputError(f"{where}: {error.message}") from None


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _strings(value: Mapping[str, Any], key: str, where: str) -> Mapping[str, str]:
    found = value.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict) or not _all_text(found.values()):
        raise InputError(f"{where} is not an object of strings")
    return found


def _all_text(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _format_descriptor(descriptor: Descriptor) -> dict[str, Any]:
    value: dict[str, Any] = {
        "mediaType": descriptor.media_type,
        "digest": str(descriptor.digest),
        "size": descriptor.size,
        **({"urls": [*descriptor.urls]} if descriptor.urls else {}),
        **_format_annotations(descriptor.annotations),
    }
    if descriptor.artifact_type:
        value["artifactType"] = descriptor.artifact_type
    if descriptor.platform is not None:
        platform = descriptor.platform
        value["platform"] = {
            "architecture": platform.architecture,
            "os": platform.os,
            **({"os.version": platform.os_version} if platform.os_version else {}),
            **({"variant": platform.variant} if platform.variant else {}),
        }
    return value


def _format_annotations(annotations: Mapping[str, str]) -> dict[str, Any]:
    return {"annotations": dict(sorted(annotations.items()))} if annotations else {}
