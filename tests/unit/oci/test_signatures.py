"""The signed payload and its storage, compared with cosign 2.6 and 3.1."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.oci import signatures
from olmkit.oci.content import Descriptor, Digest

DIGEST = Digest.parse("sha256:c0fbbc67eab5b149fdec2a3797d8319d428b9f1616a8871119581122c12b778a")
# Written by cosign 2.6.5, byte for byte.
PAYLOAD = (
    b'{"critical":{"identity":{"docker-reference":"127.0.0.1:48749/a/b"},"image":'
    b'{"docker-manifest-digest":"sha256:c0fbbc67eab5b149fdec2a3797d8319d428b9f1616a8871119581122c12'
    b'b778a"},"type":"cosign container image signature"},"optional":null}'
)
CONFIG = Digest.parse("sha256:27ff19ffa0f5f56d6809c2991ac31b9820a02d35528ba88b4019874618162d08")
STATEMENT = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"digest": {"sha256": DIGEST.encoded}, "annotations": {"a": "b"}}],
    "predicateType": "https://sigstore.dev/cosign/sign/v1",
    "predicate": {},
}


def bundle(statement: Any = STATEMENT, **changes: Any) -> bytes:
    envelope = {
        "payload": base64.b64encode(json.dumps(statement).encode()).decode(),
        "payloadType": "application/vnd.in-toto+json",
        "signatures": [{"sig": base64.b64encode(b"signature").decode()}],
    }
    return json.dumps({"dsseEnvelope": {**envelope, **changes}}).encode()


def test_the_signed_payload_is_that_of_cosign() -> None:
    assert signatures.payload("127.0.0.1:48749/a/b", DIGEST, {}) == PAYLOAD
    marked = signatures.payload("r.example/a", DIGEST, {"b": "2", "a": "1"})
    assert marked.endswith(b',"optional":{"a":"1","b":"2"}}')


def test_the_manifest_is_that_of_cosign() -> None:
    made, config = signatures.manifest(None, signatures.layer(PAYLOAD, b"x"))

    assert made.config.digest == CONFIG
    assert Digest.of(config) == CONFIG
    assert made.layers[0].media_type == signatures.SIMPLE_SIGNING
    both, _ = signatures.manifest(made, signatures.layer(b"{}", b"y"))
    assert len(both.layers) == 2
    assert both.layers[0] == made.layers[0]


def test_a_layer_names_its_image() -> None:
    found = signatures.read_layer(signatures.layer(PAYLOAD, b"x"), PAYLOAD)

    assert (found.signed, found.signature) == (PAYLOAD, b"x")
    assert found.claims.fits(DIGEST, {})
    assert not found.claims.fits(DIGEST, {"a": "1"})
    assert not found.claims.fits(Digest.of(b"other"), {})


def test_a_bundle_names_its_image() -> None:
    (found,) = signatures.read_bundle(bundle())

    assert found.signed.startswith(b"DSSEv1 28 application/vnd.in-toto+json ")
    assert found.claims.fits(DIGEST, {"a": "b"})


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[]",
        b"{}",
        bundle({**STATEMENT, "predicateType": "https://slsa.dev/provenance/v1"}),
        bundle(payloadType="text/plain"),
        bundle(signatures=[]),
        bundle(signatures=[{"sig": "?"}]),
        bundle([]),
    ],
)
def test_another_object_than_the_signature_of_an_image_is_refused(text: bytes) -> None:
    with pytest.raises(InputError):
        signatures.read_bundle(text)


@pytest.mark.parametrize("text", [b"{", b"{}", PAYLOAD.replace(b"cosign container", b"other")])
def test_a_payload_about_another_image_is_refused(text: bytes) -> None:
    with pytest.raises(InputError):
        signatures.read_layer(signatures.layer(text, b"x"), text)


def test_a_signature_that_is_not_base64_is_refused() -> None:
    wrong = replace(Descriptor.of(PAYLOAD, "x"), annotations={signatures.ANNOTATION: "?"})
    with pytest.raises(InputError, match="not base64"):
        signatures.read_layer(wrong, PAYLOAD)
