"""Keys of cosign and of OpenSSL, and errors for keys that cannot be used."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from olmkit.base.diagnostics import InputError
from olmkit.edges.images import signing_keys

# A key pair of cosign 2.6.5 that protects nothing; its password is `secret`.
COSIGN_BODY = """\
eyJrZGYiOnsibmFtZSI6InNjcnlwdCIsInBhcmFtcyI6eyJOIjo2NTUzNiwiciI6
OCwicCI6MX0sInNhbHQiOiJsUjVkNVQrYzJtVnY4c3JUU2ZLOTBKdlBhYXhMY053
c1VuejFEWEZIQTdvPSJ9LCJjaXBoZXIiOnsibmFtZSI6Im5hY2wvc2VjcmV0Ym94
Iiwibm9uY2UiOiJ5MS82eXlFU01CS0NadlhSLzFhR29DVGgrcU5RRXY5VCJ9LCJj
aXBoZXJ0ZXh0IjoiUnpDMElrY2lFN2VnVHB0ZnlMSzBOMTFKY2x5ZXJta2ZGK3lj
VHoyNXNuNGJIVGYvU1BPTENrTFd5YVBlZG5DSDcvczNwMC9qdnZVWkIyNWZsN1Fj
NTZwMkQ5KzF0dHlHbXZQZHNPNm4yR1FPQStMUjN1OUxJL2NXRk9GYXBpdjhKbzBi
K0NQekRIaWVjOEd2VGdCU1J4UVcvQjJPUE1LN3dxRTg3WG9hanBuaytiakhaczFq
L21KL1hyYjNqdUczS3hnNEYzaityZ1NJb2c9PSJ9
"""
COSIGN_PUBLIC = """\
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEOpSw09m8yPRwAt0S2kgvRqKPhM6D
38Lg3AbLsZidf0+icOKszT+Zfd6h05+UKOwxXO0tsE3GWJ2kVjbiMJfWqw==
-----END PUBLIC KEY-----
"""


def pem(body: str, kind: str = "SIGSTORE") -> str:
    label = f"ENCRYPTED {kind} PRIVATE KEY"
    return f"-----BEGIN {label}-----\n{body}-----END {label}-----\n"


def written(folder: Path, text: str | bytes, name: str = "key") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def never() -> str:
    raise AssertionError("the key has no password")


@pytest.mark.parametrize("kind", ["SIGSTORE", "COSIGN"])
def test_a_key_of_cosign_is_decrypted_with_its_password(tmp_path: Path, kind: str) -> None:
    key = signing_keys.read_private(written(tmp_path, pem(COSIGN_BODY, kind)), lambda: "secret")
    public = signing_keys.read_public(written(tmp_path, COSIGN_PUBLIC, "public"))

    signature = key.sign(b"text")

    assert public.verifies(signature, b"text")
    assert not public.verifies(signature, b"other")
    assert not public.verifies(b"no signature", b"text")
    assert key.sign(b"text") == signature, "the same text has the same signature"


@pytest.mark.parametrize(
    ("form", "password"),
    [
        (serialization.PrivateFormat.PKCS8, ""),
        (serialization.PrivateFormat.TraditionalOpenSSL, ""),
        (serialization.PrivateFormat.PKCS8, "tea"),
    ],
)
def test_keys_of_openssl_are_read(
    tmp_path: Path, form: serialization.PrivateFormat, password: str
) -> None:
    made = ec.generate_private_key(ec.SECP256R1())
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        encryption = serialization.BestAvailableEncryption(password.encode())
    path = written(tmp_path, made.private_bytes(serialization.Encoding.PEM, form, encryption))

    key = signing_keys.read_private(path, (lambda: password) if password else never)

    assert key.public.verifies(key.sign(b"text"), b"text")


def test_a_wrong_password_is_reported_without_the_key(tmp_path: Path) -> None:
    made = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"tea"),
    )
    for text in (pem(COSIGN_BODY), made):
        with pytest.raises(InputError, match="the password does not open") as caught:
            signing_keys.read_private(written(tmp_path, text), lambda: "coffee")
        assert "coffee" not in str(caught.value)


# Decrypted with the password `coffee102`, this key has padding that looks right.
ENCRYPTED_BY_OPENSSL = """\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIH0MF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBCY+RmDMN1rU0BCoB8h
Zvw3AgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQsHupNL281NMwi8B5
JSTTjASBkCOmkBKRIvRi4Ew3laQIMAJls3oNot65SgWU6NbE40PDTBzAQEb0Rf23
RqRXg/gAXdEOXDfacvzdjtTeqBpxCEE5Wjgs8trtW1VeUTNW3Eifh5if6gBsy1ba
95VzSPmG/6Ju7wnHE/2zLYWQCQVb8+pN8udGFnX6x4aUkn5oly47g+oG5RcCpzBY
HTocWWdsIQ==
-----END ENCRYPTED PRIVATE KEY-----
"""


@pytest.mark.parametrize("password", ["coffee", "coffee102", ""])
def test_a_wrong_password_is_reported_even_if_the_padding_is_valid(
    tmp_path: Path, password: str
) -> None:
    path = written(tmp_path, ENCRYPTED_BY_OPENSSL)
    assert signing_keys.read_private(path, lambda: "tea")

    with pytest.raises(InputError, match="the password does not open"):
        signing_keys.read_private(path, lambda: password)


def changed(**parameters: int) -> str:
    value = json.loads(base64.b64decode(COSIGN_BODY))
    value["kdf"]["params"].update(parameters)
    return pem(base64.b64encode(json.dumps(value).encode()).decode() + "\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not hold a private key"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "does not hold"),
        (pem("AAAA\n"), "does not hold a private key"),
        (pem(base64.b64encode(b"[]").decode() + "\n"), "does not hold a private key"),
        (changed(N=1 << 30), "more than 256 MB"),
        (changed(p=1 << 20), "more than 256 MB"),
        (changed(N=65535), "does not hold a private key"),
    ],
)
def test_a_file_that_is_not_a_private_key_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        signing_keys.read_private(written(tmp_path, text), lambda: "secret")


def test_other_kinds_of_keys_are_refused_with_the_required_kind(tmp_path: Path) -> None:
    for made in (ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate()):
        private = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        public = made.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        with pytest.raises(InputError, match="not an ECDSA key on the curve P-256"):
            signing_keys.read_private(written(tmp_path, private), never)
        with pytest.raises(InputError, match="not an ECDSA key on the curve P-256"):
            signing_keys.read_public(written(tmp_path, public))


def test_a_private_key_in_place_of_the_public_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a private key"):
        signing_keys.read_public(written(tmp_path, pem(COSIGN_BODY)))
    with pytest.raises(InputError, match="does not hold a public key"):
        signing_keys.read_public(written(tmp_path, "x"))
