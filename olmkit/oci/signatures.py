"""Signatures of images in cosign's format.

A signature signs a short text, the payload, which contains the digest of the image. It is a layer
of an image manifest under the tag `sha256-….sig`; the signature of the text is an annotation of
that layer (https://github.com/sigstore/cosign/blob/v2.6.0/specs/SIGNATURE_SPEC.md). Since release
3, cosign writes a bundle instead: a manifest whose subject is the image, with a signed in-toto
statement in one layer (https://github.com/sigstore/protobuf-specs,
https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md). This module does not handle
keys.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from olmkit.base.diagnostics import InputError
from olmkit.oci.content import Descriptor, Digest, ImageManifest, MediaType

SIMPLE_SIGNING: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
ANNOTATION: Final = "dev.cosignproject.cosign/signature"
BUNDLE: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"
MAX_PAYLOAD: Final = 1024 * 1024
MAX_SIGNATURES: Final = 200  # in one manifest; a weekly key rotation reaches this in four years

_TYPE: Final = "cosign container image signature"
_STATEMENT: Final = "application/vnd.in-toto+json"
_PREDICATE: Final = "https://sigstore.dev/cosign/sign/v1"
# The config that go-containerregistry writes for such an image.
_NO_TIME: Final = "0001-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class SignedText:
    """The signed payload, its signature, and its decoded content."""

    signed: bytes
    signature: bytes
    claims: Claims


@dataclass(frozen=True, slots=True)
class Claims:
    """The content of a signature: an image, and annotations of the signer."""

    digest: str
    annotations: Mapping[str, str]

    def fits(self, digest: Digest, annotations: Mapping[str, str]) -> bool:
        """Return whether it is about this image, and has at least these annotations."""
        return self.digest == str(digest) and annotations.items() <= self.annotations.items()


def payload(name: str, digest: Digest, annotations: Mapping[str, str]) -> bytes:
    """Return the text to sign for the image `digest` of the repository `name`."""
    value = {
        "critical": {
            "identity": {"docker-reference": name},
            "image": {"docker-manifest-digest": str(digest)},
            "type": _TYPE,
        },
        "optional": dict(sorted(annotations.items())) or None,
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def layer(text: bytes, signature: bytes) -> Descriptor:
    """Return the layer with a payload and its signature."""
    return replace(
        Descriptor.of(text, SIMPLE_SIGNING),
        annotations={ANNOTATION: base64.b64encode(signature).decode()},
    )


def manifest(found: ImageManifest | None, added: Descriptor) -> tuple[ImageManifest, bytes]:
    """Return the manifest with one more signature, and its config.

    Raises `InputError` beyond `MAX_SIGNATURES`.
    """
    layers = (*(found.layers if found is not None else ()), added)
    if len(layers) > MAX_SIGNATURES:
        raise InputError(f"the image has more than {MAX_SIGNATURES} signatures")
    config = {
        "architecture": "",
        "created": _NO_TIME,
        "history": [{"created": _NO_TIME} for _ in layers],
        "os": "",
        "rootfs": {"type": "layers", "diff_ids": [str(one.digest) for one in layers]},
        "config": {},
    }
    data = json.dumps(config, separators=(",", ":")).encode()
    made = ImageManifest(
        media_type=MediaType.OCI_MANIFEST,
        config=Descriptor.of(data, MediaType.OCI_CONFIG),
        layers=layers,
        annotations=found.annotations if found is not None else {},
    )
    return made, data


def read_layer(descriptor: Descriptor, text: bytes) -> SignedText:
    """Return the signature of a layer. Raises `InputError` if it is malformed."""
    signature = _decode(descriptor.annotations.get(ANNOTATION, ""))
    value = _object(text)
    critical = _mapping(value.get("critical"))
    digest = _mapping(critical.get("image")).get("docker-manifest-digest")
    if critical.get("type") != _TYPE or not isinstance(digest, str):
        raise InputError("the signed text is not about an image")
    return SignedText(text, signature, Claims(digest, _texts(value.get("optional"))))


def read_bundle(text: bytes) -> tuple[SignedText, ...]:
    """Return the signatures of a bundle, one for each digest that its statement names.

    Raises `InputError` if it is malformed, or a statement about something else.
    """
    envelope = _mapping(_object(text).get("dsseEnvelope"))
    statement = _decode(envelope.get("payload"))
    kind = envelope.get("payloadType")
    listed = envelope.get("signatures")
    if kind != _STATEMENT or not isinstance(listed, list) or len(listed) != 1:
        raise InputError("the bundle does not hold one signed statement")
    signature = _decode(_mapping(listed[0]).get("sig"))
    value = _object(statement)
    subjects = value.get("subject")
    if value.get("predicateType") != _PREDICATE or not isinstance(subjects, list):
        raise InputError("the statement is not a signature of an image")
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(statement), statement)
    return tuple(
        SignedText(
            signed,
            signature,
            Claims(
                f"sha256:{_mapping(subject.get('digest')).get('sha256', '')}",
                _texts(subject.get("annotations")),
            ),
        )
        for subject in map(_mapping, subjects[:MAX_SIGNATURES])
    )


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("the signed text is not JSON") from None
    if not isinstance(value, dict):
        raise InputError("the signed text is not a JSON object")
    return value


def _decode(value: object) -> bytes:
    try:
        return base64.b64decode(value if isinstance(value, str) else "", validate=True)
    except (binascii.Error, ValueError):
        raise InputError("the signature is not base64") from None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> Mapping[str, str]:
    return {key: item for key, item in _mapping(value).items() if isinstance(item, str)}
