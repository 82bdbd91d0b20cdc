"""Signing and verifying images in their registries."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.edges.images import targets
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.signing_keys import PrivateKey
from olmkit.jobs.image import copy as copy_job
from olmkit.jobs.image import signatures as job
from olmkit.oci import image, layer, referrers
from olmkit.oci import reference as references
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

T = TypeVar("T")
ACCESS = Access(environment={})
ONE, TWO = (PrivateKey(ec.generate_private_key(ec.SECP256R1())) for _ in range(2))


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def pushed(reference: str, content: str = "1") -> str:
    made = image.data_image(layer.write(Tree({"a": content.encode()})), {}, created_by="test")
    parsed = references.parse_image(reference)
    run(targets.send(MemoryStore.of(made), made.descriptor, parsed, ACCESS))
    return reference


def reason(reference: str, key: PrivateKey, **annotations: str) -> str:
    (found,) = run(job.verify([reference], [key.public], ACCESS, annotations=annotations))
    assert found.is_valid == (not found.reason)
    return found.reason


def test_a_signed_image_is_only_valid_for_its_key_and_annotations(
    registry: RegistryServer,
) -> None:
    name = pushed(f"{registry.host}/sign/one:v1")
    assert reason(name, ONE) == "the image has no signature"

    first = run(job.sign(name, ONE, ACCESS, annotations={"release": "stable"}))
    again = run(job.sign(first.reference, ONE, ACCESS, annotations={"release": "stable"}))

    assert (first.is_new, again.is_new) == (True, False)
    assert reason(name, ONE) == ""
    assert reason(first.reference, ONE, release="stable") == ""
    assert reason(name, ONE, release="beta") == "no signature has the requested annotations"
    assert reason(name, TWO) == "no signature was made with the key"


def test_an_image_can_have_signatures_of_several_keys(tmp_path: Path) -> None:
    name = pushed(f"oci:{tmp_path}/oci:v1")
    for key in (ONE, TWO):
        assert run(job.sign(name, key, ACCESS)).is_new

    assert reason(name, ONE) == reason(name, TWO) == ""


def test_a_signature_that_was_copied_to_another_image_does_not_count(tmp_path: Path) -> None:
    name, other = pushed(f"oci:{tmp_path}/oci:v1"), pushed(f"oci:{tmp_path}/oci:v2", "2")
    signed = run(job.sign(name, ONE, ACCESS))
    target = referrers.cosign_tag(
        references.Digest.parse(run(copy_job.inspect(other, ACCESS)).digest), ".sig"
    )
    run(
        copy_job.copy(
            f"oci:{tmp_path}/oci:{signed.signature}", f"oci:{tmp_path}/oci:{target}", ACCESS
        )
    )

    assert reason(other, ONE) == "the signature is for another image"


def test_an_unreadable_image_does_not_hide_the_others(tmp_path: Path) -> None:
    name = pushed(f"oci:{tmp_path}/oci:v1")
    run(job.sign(name, ONE, ACCESS))

    bad, good = run(job.verify([f"oci:{tmp_path}/oci:v9", name], [ONE.public], ACCESS))

    assert bad.error is not None
    assert "has no image `v9`" in bad.reason
    assert good.is_valid


def test_an_archive_cannot_be_signed(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot hold a signature"):
        run(job.sign(f"oci-archive:{tmp_path}/x.tar", ONE, ACCESS))
