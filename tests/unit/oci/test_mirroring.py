"""The targets of images in a mirror, and their names there."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.oci import mirroring
from olmkit.oci.content import Digest
from olmkit.oci.mirroring import MirrorRegistry
from olmkit.oci.reference import LayoutReference, Reference

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("mirror.example.com", MirrorRegistry(registry="mirror.example.com")),
        ("localhost:5000/", MirrorRegistry(registry="localhost:5000")),
        ("m.example/a/b", MirrorRegistry(registry="m.example", prefix="a/b")),
        ("oci:usb", LayoutReference("usb")),
    ],
)
def test_a_target_is_a_registry_or_a_directory(text: str, target: object) -> None:
    assert mirroring.parse_target(text) == target


@pytest.mark.parametrize(
    "text",
    ["", "usb", "a/b", "m.example/a:v1", f"m.example/a@{DIGEST}", "oci:usb:v1", "M.example/A"],
)
def test_other_targets_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a target for a mirror"):
        mirroring.parse_target(text)


def test_an_image_keeps_its_repository_below_the_prefix() -> None:
    source = Reference.parse(f"quay.io/a/b@{DIGEST}")

    assert str(MirrorRegistry(registry="m.example").place(source)) == f"m.example/a/b@{DIGEST}"
    moved = MirrorRegistry(registry="m.example", prefix="x/y").place(source)
    assert str(moved) == f"m.example/x/y/a/b@{DIGEST}"


def test_a_name_that_becomes_too_long_is_refused() -> None:
    source = Reference.parse(f"quay.io/{'a' * 200}")
    with pytest.raises(InputError, match="longer than the 255 characters"):
        MirrorRegistry(registry="m.example", prefix="b" * 60).place(source)


def test_images_of_a_catalog_are_read_once_and_by_digest_if_they_have_one() -> None:
    found = mirroring.parse_images(
        ["nginx", "docker.io/library/nginx:latest", f"quay.io/a/b:v1@{DIGEST}"]
    )

    assert [str(one) for one in found] == [
        "docker.io/library/nginx:latest",
        f"quay.io/a/b@{DIGEST}",
    ]


def test_all_invalid_references_are_reported() -> None:
    with pytest.raises(InputError, match=r"`quay.io/A`.*; `two words`"):
        mirroring.parse_images(["quay.io/A", "quay.io/b", "two words"])


def test_two_images_with_one_tag_in_the_mirror_are_refused() -> None:
    target = MirrorRegistry(registry="m.example")
    one, two = Reference.parse("quay.io/a/b:v1"), Reference.parse("ghcr.io/a/b:v1")

    with pytest.raises(ConfigurationError, match=r"would both be `m.example/a/b:v1`"):
        mirroring.check_tags([one, two], target)
    mirroring.check_tags([one, Reference.parse("ghcr.io/a/b:v2")], target)


def test_names_in_a_layout_are_those_of_the_registry() -> None:
    for text in ("quay.io/a/b:v1", f"localhost:5000/a@{DIGEST}"):
        reference = mirroring.parse_layout_name(text)
        assert reference is not None
        assert mirroring.layout_name(reference) == text
    assert mirroring.parse_layout_name("memcached-operator-bundle:v0.1.0") is None


def test_tags_of_signatures_are_distinguished_from_tags_of_images() -> None:
    hexadecimal = "a" * 64
    assert mirroring.is_referrer_tag(f"sha256-{hexadecimal}")
    assert mirroring.is_referrer_tag(f"sha256-{hexadecimal}.sig")
    assert not mirroring.is_referrer_tag("v1.sig")
    assert not mirroring.is_referrer_tag(mirroring.keeping_tag(Digest.parse(DIGEST)))


def test_repositories_are_listed_by_the_form_of_their_references() -> None:
    target = MirrorRegistry(registry="m.example")
    sources = [Reference.parse(text) for text in (f"quay.io/a@{DIGEST}", "quay.io/b:v1")]

    found = mirroring.repositories((source, target.place(source)) for source in sources)

    assert found.by_digest == {"quay.io/a": "m.example/a"}
    assert found.by_tag == {"quay.io/b": "m.example/b"}
