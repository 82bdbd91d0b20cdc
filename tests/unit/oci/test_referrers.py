"""The names and lists of manifests that refer to an image."""

from __future__ import annotations

from olmkit.oci import referrers
from olmkit.oci.content import Descriptor, Digest, ImageIndex, ImageManifest, MediaType

SUBJECT = Digest("sha256", "a" * 64)
CONFIG = Descriptor.of(b"{}", "application/vnd.example.sbom")


def test_tags_are_those_of_the_specification_and_of_cosign() -> None:
    assert referrers.list_tag(SUBJECT) == f"sha256-{'a' * 64}"
    assert referrers.list_tag(Digest("sha512", "b" * 128)) == f"sha512-{'b' * 64}"
    assert referrers.cosign_tag(SUBJECT, ".sig") == f"sha256-{'a' * 64}.sig"


def test_the_type_of_a_referrer_is_its_own_or_that_of_its_config() -> None:
    manifest = ImageManifest(media_type=MediaType.OCI_MANIFEST, config=CONFIG, layers=())
    typed = ImageManifest(
        media_type=MediaType.OCI_MANIFEST, config=CONFIG, layers=(), artifact_type="x/y"
    )
    descriptor = Descriptor.of(b"m", MediaType.OCI_MANIFEST)

    assert referrers.entry(manifest, descriptor).artifact_type == CONFIG.media_type
    assert referrers.entry(typed, descriptor).artifact_type == "x/y"


def test_a_list_has_each_referrer_once_and_keeps_the_others() -> None:
    one, two = (Descriptor.of(data, MediaType.OCI_MANIFEST) for data in (b"1", b"2"))

    found = referrers.with_entry(referrers.with_entry(None, one), two)

    assert found == ImageIndex(media_type=MediaType.OCI_INDEX, manifests=(one, two))
    assert referrers.with_entry(found, one) == found
