"""Images as values: additions are in config and image manifest, and digests are stable."""

from __future__ import annotations

import json

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.oci import image, layer
from olmkit.oci.content import (
    Digest,
    ImageConfig,
    ImageManifest,
    MediaType,
    Platform,
    parse_manifest,
)
from olmkit.oci.image import Image, MultiPlatformImage

AMD64 = Platform(os="linux", architecture="amd64")
LAYER = layer.write(Tree({"manifests/a.yaml": b"a: 1\n"}))


def test_an_appended_layer_is_in_config_and_image_manifest() -> None:
    made = image.append(image.scratch(AMD64), LAYER, created_by="olmkit bundle build", created=1)
    config = json.loads(made.config_data)
    assert config["rootfs"] == {"type": "layers", "diff_ids": [str(LAYER.diff_id)]}
    assert config["created"] == "1970-01-01T00:00:00Z"
    assert config["history"] == [
        {"created": "1970-01-01T00:00:01Z", "created_by": "olmkit bundle build"}
    ]
    manifest = parse_manifest(made.manifest_data)
    assert isinstance(manifest, ImageManifest)
    assert manifest.layers == (LAYER.descriptor,)
    assert manifest.config.digest == Digest.of(made.config_data)
    assert made.blobs == {LAYER.descriptor.digest: LAYER.data}


def test_labels_are_sorted_and_existing_ones_are_kept() -> None:
    made = image.label(
        image.label(image.scratch(AMD64), {"b": "1", "z": "1"}), {"a": "2", "b": "2"}
    )
    assert list(made.config.labels.items()) == [("a", "2"), ("b", "2"), ("z", "1")]


def test_options_and_annotations_are_added() -> None:
    made = image.configure(image.scratch(AMD64), {"User": "1001", "Entrypoint": ["/bin/x"]})
    made = image.annotate(made, {"org.opencontainers.image.title": "x"})
    assert made.config.run_options == {"Entrypoint": ["/bin/x"], "User": "1001"}
    assert b"org.opencontainers.image.title" in made.manifest_data
    assert made.digest == Digest.of(made.manifest_data)


def test_a_layer_on_a_docker_image_has_the_docker_media_type() -> None:
    base = image.scratch(AMD64)
    manifest = ImageManifest(
        media_type=MediaType.DOCKER_MANIFEST, config=base.manifest.config, layers=()
    )
    docker = Image(
        manifest=manifest,
        manifest_data=manifest.format(),
        config=base.config,
        config_data=base.config_data,
    )
    made = image.append(docker, LAYER, created_by="test")
    assert made.manifest.media_type == MediaType.DOCKER_MANIFEST
    assert made.manifest.layers[0].media_type == MediaType.DOCKER_LAYER_GZIP
    assert made.manifest.layers[0].digest == LAYER.descriptor.digest


def test_unknown_fields_of_a_config_are_kept() -> None:
    base = image.scratch(AMD64)
    odd = Image(
        manifest=base.manifest,
        manifest_data=base.manifest_data,
        config=ImageConfig({**base.config.value, "odd": 1}),
        config_data=b"",
    )
    assert json.loads(image.append(odd, LAYER, created_by="test").config_data)["odd"] == 1


def test_a_data_image_is_an_index_whose_images_share_the_layer() -> None:
    made = image.data_image(LAYER, {"k": "v"}, created_by="test")
    assert isinstance(made, MultiPlatformImage)
    assert [str(entry.platform) for entry in made.index.manifests] == [
        "linux/amd64",
        "linux/arm64",
        "linux/ppc64le",
        "linux/s390x",
    ]
    assert {part.manifest.layers for part in made.images} == {(LAYER.descriptor,)}
    assert all(part.config.labels == {"k": "v"} for part in made.images)
    kinds = [descriptor.media_type for descriptor, _ in image.contents(made)]
    assert kinds[-1] == MediaType.OCI_INDEX


def test_a_data_image_for_one_platform_is_an_image() -> None:
    made = image.data_image(LAYER, {}, created_by="test", platforms=[AMD64])
    assert isinstance(made, Image)
    assert made.config.platform == AMD64


def test_digests_do_not_change() -> None:
    """The digests below are those of the bytes that every machine and every Python must write."""
    made = image.data_image(LAYER, {"k": "é"}, created_by="test")
    assert str(made.digest) == DIGEST


DIGEST = "sha256:120fe2ca1fae9129921e512953cbd3ede7ea8975282df3630dae11b50c1897a3"


def test_two_images_for_one_platform_are_refused() -> None:
    with pytest.raises(InputError, match="same platform"):
        image.index([image.scratch(AMD64), image.scratch(AMD64)])


def test_a_label_that_is_not_a_string_is_refused() -> None:
    with pytest.raises(InputError, match="not valid Unicode"):
        image.label(image.scratch(AMD64), {"a": "\ud800"})
