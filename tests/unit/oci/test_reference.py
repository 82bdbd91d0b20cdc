"""The Docker reference grammar, and the references of images that users can type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.base.diagnostics import ConfigurationError
from olmkit.oci.content import Digest
from olmkit.oci.reference import (
    AnyReference,
    ArchiveReference,
    DockerArchiveReference,
    EngineReference,
    FolderReference,
    InvalidReferenceError,
    LayoutReference,
    Reference,
    parse_image,
    parse_source,
)

HEX = "a" * 64
DIGEST = Digest("sha256", HEX)


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("ubuntu", "docker.io/library/ubuntu"),
        ("ubuntu:22.04", "docker.io/library/ubuntu:22.04"),
        ("acme/tool", "docker.io/acme/tool"),
        ("index.docker.io/ubuntu", "docker.io/library/ubuntu"),
        ("localhost/tool", "localhost/tool"),
        ("localhost:5000/tool:1", "localhost:5000/tool:1"),
        ("Registry.Example.com/z", "Registry.Example.com/z"),
        ("registry.example.com:5000/a/b/c:v1.0_x-y", "registry.example.com:5000/a/b/c:v1.0_x-y"),
        (f"quay.io/a/b@sha256:{HEX}", f"quay.io/a/b@sha256:{HEX}"),
        (f"quay.io/a/b:tag@sha256:{HEX}", f"quay.io/a/b:tag@sha256:{HEX}"),
        ("quay.io/a__b/c--d/e.f_g", "quay.io/a__b/c--d/e.f_g"),
        ("quay.io/a:" + "t" * 128, "quay.io/a:" + "t" * 128),
        ("[::1]:5000/tool:1", "[::1]:5000/tool:1"),
        ("a_b.c/d", "a_b.c/d"),
        (HEX[:63], "docker.io/library/" + HEX[:63]),
    ],
)
def test_a_reference_is_normalized(text: str, formatted: str) -> None:
    assert str(Reference.parse(text)) == formatted


FORMAT = "invalid reference format"
LOWER = "invalid reference format: repository name must be lowercase"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", FORMAT),
        (" ", FORMAT),
        ("Bad Image", LOWER),
        ("Registry.Example.com/Z", LOWER),
        ("registry.example.com/Cog:1", LOWER),
        ("registry.example.com/cog/", FORMAT),
        ("registry.example.com/cog: 1", FORMAT),
        ("registry.example.com/cog:1\n", FORMAT),
        ("registry.example.com/a..b:1", FORMAT),
        ("registry.example.com/a___b:1", FORMAT),
        ("registry.example.com/-a", FORMAT),
        ("-registry.example.com/a", FORMAT),
        ("registry.example.com//a", FORMAT),
        ("registry.example.com:x/a", FORMAT),
        ("https://registry.example.com/cog:1", FORMAT),
        ("docker://registry.example.com/cog:1", FORMAT),
        ("registry.example.com/cog@sha256:abc", FORMAT),
        ("registry.example.com/cog:" + "t" * 129, FORMAT),
        ("registry.example.com/cögs", FORMAT),
        ("A_B.c/d", "repository name must be lowercase"),
        (HEX, f"invalid repository name ({HEX}), cannot specify 64-byte hexadecimal strings"),
        (f"quay.io/a@md5:{HEX}", "unsupported digest algorithm"),
        (f"quay.io/a@sha256:{HEX}a", "invalid checksum digest length"),
        (f"quay.io/a@sha256:{HEX.upper()}", "invalid checksum digest format"),
        ("quay.io/" + "a" * 248, "repository name must not be more than 255 characters"),
    ],
)
def test_an_invalid_reference_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidReferenceError) as caught:
        Reference.parse(text)
    assert caught.value.reason == reason
    assert caught.value.hint
    assert isinstance(caught.value, ConfigurationError)


def test_hostile_text_is_refused_fast_and_shortened() -> None:
    for text in ("a" * 100_000 + "!", "a-" * 50_000, "a.b" * 30_000 + "/!", "x\x1b[31m" * 100):
        with pytest.raises(InvalidReferenceError) as caught:
            Reference.parse(text)
        assert len(caught.value.message) < 500
        assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "is_loopback"),
    [
        ("localhost/a", True),
        ("localhost:5000/a", True),
        ("registry.localhost/a", True),
        ("127.0.0.1:5000/a", True),
        ("127.9.8.7/a", True),
        ("[::1]:5000/a", True),
        ("127.0.0.1.example.com/a", False),
        ("10.0.0.1/a", False),
        ("quay.io/localhost", False),
    ],
)
def test_loopback_registries_are_recognized(text: str, is_loopback: bool) -> None:
    assert Reference.parse(text).is_loopback is is_loopback


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("oci:dist/oci", LayoutReference("dist/oci")),
        ("oci:dist/oci:quay.io/a/b:v1", LayoutReference("dist/oci", "quay.io/a/b:v1")),
        (f"oci:dist/oci@{DIGEST}", LayoutReference("dist/oci", None, DIGEST)),
        (f"oci:d:v1@{DIGEST}", LayoutReference("d", "v1", DIGEST)),
        ("oci-archive:x.tar", ArchiveReference("x.tar")),
        ("oci-archive:x.tar:v1", ArchiveReference("x.tar", "v1")),
        ("docker-archive:x.tar", DockerArchiveReference("x.tar")),
        (
            "docker-archive:x.tar:quay.io/a:1",
            DockerArchiveReference("x.tar", Reference.parse("quay.io/a:1")),
        ),
        ("docker-daemon:a:1", EngineReference(Reference.parse("docker.io/library/a:1"))),
        ("./bundle", FolderReference("./bundle")),
        ("/tmp/bundle", FolderReference("/tmp/bundle")),  # noqa: S108
        ("bundle/", FolderReference("bundle/")),
        (".", FolderReference(".")),
        ("quay.io/a/b:1", Reference.parse("quay.io/a/b:1")),
        ("quay.io/a/b", Reference.parse("quay.io/a/b:latest")),
        ("localhost:5000/b", Reference.parse("localhost:5000/b:latest")),
    ],
)
def test_a_source_is_recognized_by_its_form(text: str, source: AnyReference) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text",
    ["oci:", "oci::tag", "oci-archive:", "docker-archive:", "docker-daemon:A B", "oci:a:b c", ""],
)
def test_an_invalid_source_is_refused(text: str) -> None:
    with pytest.raises(InvalidReferenceError):
        parse_source(text)


def test_a_name_without_registry_is_refused_because_it_can_be_a_mistyped_directory() -> None:
    with pytest.raises(InvalidReferenceError) as caught:
        parse_source("bundel")
    assert "neither a folder nor an image reference" in caught.value.message
    assert "docker.io/library/bundel:latest" in caught.value.hint


def test_a_directory_is_not_an_image() -> None:
    with pytest.raises(InvalidReferenceError, match="it is a folder"):
        parse_image("./bundle")


def test_a_pinned_reference_has_the_digest_and_no_tag() -> None:
    assert str(Reference.parse("quay.io/a:1").pinned(DIGEST)) == f"quay.io/a@{DIGEST}"
    assert str(LayoutReference("d", "v1").pinned(DIGEST)) == f"oci:d@{DIGEST}"


@pytest.mark.property
@given(
    st.from_regex(r"[a-z0-9]{1,8}\.[a-z]{2,5}(:[0-9]{1,5})?", fullmatch=True),
    st.from_regex(r"[a-z0-9]+([._-][a-z0-9]+){0,2}(/[a-z0-9]+){0,2}", fullmatch=True),
    st.none() | st.from_regex(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,20}", fullmatch=True),
    st.none() | st.just(DIGEST),
)
def test_parsing_a_formatted_reference_is_the_identity(
    registry: str, repository: str, tag: str | None, digest: Digest | None
) -> None:
    reference = Reference(registry=registry, repository=repository, tag=tag, digest=digest)
    assert Reference.parse(str(reference)) == reference or len(reference.name) > 255


@pytest.mark.property
@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        source = parse_source(text)
    except InvalidReferenceError:
        return
    assert str(source)
