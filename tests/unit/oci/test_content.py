"""Digests, platforms, image manifests: parsed strictly, written reproducibly."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.oci.content import (
    MAX_MANIFEST_SIZE,
    Descriptor,
    Digest,
    ImageConfig,
    ImageIndex,
    ImageManifest,
    MediaType,
    Platform,
    parse_manifest,
)

DIGEST = Digest.of(b"x")
CONFIG = {"mediaType": MediaType.OCI_CONFIG, "digest": str(DIGEST), "size": 1}
AMD64 = Platform(os="linux", architecture="amd64")


def manifest(**changes: Any) -> bytes:
    value = {
        "schemaVersion": 2,
        "mediaType": MediaType.OCI_MANIFEST,
        "config": CONFIG,
        "layers": [CONFIG],
    }
    value |= changes
    return json.dumps({k: v for k, v in value.items() if v is not None}).encode()


def test_the_digest_of_bytes_only_matches_them() -> None:
    assert str(Digest.of(b"")) == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    assert Digest.of(b"a").matches(b"a")
    assert not Digest.of(b"a").matches(b"b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "invalid checksum digest format"),
        ("sha256:", "invalid checksum digest format"),
        (":abc", "invalid checksum digest format"),
        ("SHA256:" + "a" * 64, "invalid checksum digest format"),
        ("md5:" + "a" * 32, "unsupported digest algorithm"),
        ("sha256:abc", "invalid checksum digest length"),
        ("sha256:" + "A" * 64, "invalid checksum digest format"),
        ("sha256:../../../../etc/passwd", "invalid checksum digest length"),
    ],
)
def test_an_invalid_digest_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Digest.parse(text)


def test_a_platform_is_parsed_and_formatted() -> None:
    assert Platform.parse("linux/amd64") == AMD64
    assert str(Platform.parse("linux/arm/v7")) == "linux/arm/v7"
    for bad in ("", "linux", "linux/", "linux/a/b/c", "li nux/amd64"):
        with pytest.raises(InputError, match="is not a platform"):
            Platform.parse(bad)


def test_a_written_image_manifest_is_read_back() -> None:
    value = ImageManifest(
        media_type=MediaType.OCI_MANIFEST,
        config=Descriptor.of(b"{}", MediaType.OCI_CONFIG),
        layers=(
            Descriptor.of(b"layer", MediaType.OCI_LAYER_GZIP),
            replace(Descriptor.of(b"far", MediaType.OCI_EXTERNAL_LAYER), urls=("https://a/b", "c")),
        ),
        annotations={"b": "2", "a": "1"},
        artifact_type="application/example",
        subject=Descriptor.of(b"subject", MediaType.OCI_MANIFEST),
    )
    assert parse_manifest(value.format()) == value
    assert value.format() == value.format()
    assert list(json.loads(value.format())["annotations"]) == ["a", "b"]


def test_a_written_index_is_read_back() -> None:
    value = ImageIndex(
        media_type=MediaType.OCI_INDEX,
        manifests=(
            Descriptor(
                media_type=MediaType.OCI_MANIFEST,
                digest=DIGEST,
                size=1,
                platform=Platform(os="linux", architecture="arm", variant="v7", os_version="1"),
                annotations={"a": "1"},
            ),
        ),
    )
    assert parse_manifest(value.format()) == value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b" " * (MAX_MANIFEST_SIZE + 1), "the limit is"),
        (b"{}", "`schemaVersion` is not 2"),
        (manifest(schemaVersion=1), "schema 1 of Docker"),
        (manifest(manifests=[]), "an image and an index at once"),
        (manifest(mediaType="application/pdf"), "it was served as"),
        (manifest(mediaType=MediaType.DOCKER_MANIFEST), "it was served as"),
        (manifest(mediaType=7), "`mediaType` is not a string"),
        (manifest(config=None), "`config` is not an object"),
        (manifest(layers=None), "`layers` is not a list"),
        (manifest(layers=[CONFIG] * 1001), "has 1001 entries"),
        (manifest(layers=[7]), r"`layers\[0\]` is not an object"),
        (manifest(layers=[{**CONFIG, "size": -1}]), r"`layers\[0\]`: `size`"),
        (manifest(layers=[{**CONFIG, "size": True}]), r"`layers\[0\]`: `size`"),
        (manifest(layers=[{**CONFIG, "size": 2**63}]), r"`layers\[0\]`: `size`"),
        (manifest(layers=[{**CONFIG, "digest": "../x"}]), r"`layers\[0\]`: `digest`"),
        (manifest(layers=[{**CONFIG, "mediaType": ""}]), "`mediaType` is missing"),
        (manifest(layers=[{**CONFIG, "urls": "x"}]), r"`layers\[0\]`: `urls`"),
        (manifest(layers=[{**CONFIG, "urls": [1]}]), r"`layers\[0\]`: `urls`"),
        (manifest(annotations={"a": 1}), "`annotations` is not an object of strings"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_invalid_image_manifest_is_refused_with_the_field(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_manifest(data, MediaType.OCI_MANIFEST)


def test_an_artifact_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="not a kind of image"):
        parse_manifest(manifest(mediaType="application/pdf"))


def test_a_manifest_without_media_type_is_recognized_by_its_fields() -> None:
    assert isinstance(parse_manifest(manifest(mediaType=None)), ImageManifest)
    index = b'{"schemaVersion":2,"manifests":[]}'
    assert isinstance(parse_manifest(index), ImageIndex)
    assert isinstance(parse_manifest(manifest(mediaType=None), "text/plain"), ImageManifest)


def entry(name: str, platform: Platform | None) -> Descriptor:
    return Descriptor(
        media_type=MediaType.OCI_MANIFEST,
        digest=Digest.of(name.encode()),
        size=1,
        platform=platform,
    )


def test_an_index_selects_the_platform_or_the_entry_without_one() -> None:
    arm = Platform(os="linux", architecture="arm64")
    armv8 = Platform(os="linux", architecture="arm64", variant="v8")
    amd, v8, silent = entry("amd", AMD64), entry("v8", armv8), entry("silent", None)
    index = ImageIndex(media_type=MediaType.OCI_INDEX, manifests=(silent, v8, amd))
    assert index.select(AMD64) == amd
    assert index.select(arm) == v8
    assert index.select(Platform(os="linux", architecture="s390x")) == silent
    only = ImageIndex(media_type=MediaType.OCI_INDEX, manifests=(amd,))
    assert only.select(arm) is None


def test_a_config_keeps_unknown_fields() -> None:
    config = ImageConfig.parse(b'{"os":"linux","architecture":"amd64","odd":[1],"config":null}')
    assert config.platform == AMD64
    assert config.labels == {}
    assert config.diff_ids == ()
    assert json.loads(config.format())["odd"] == [1]


@pytest.mark.parametrize(
    "data",
    [
        b'{"config":[]}',
        b'{"config":{"Labels":{"a":1}}}',
        b'{"config":{"Labels":[]}}',
        b'{"rootfs":{"diff_ids":{}}}',
        b'{"rootfs":{"diff_ids":["x"]}}',
        b"null",
    ],
)
def test_an_invalid_config_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="image config"):
        ImageConfig.parse(data)
