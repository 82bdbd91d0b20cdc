"""Keys that sign images: ECDSA on P-256, in the files of OpenSSL and of cosign.

cosign encrypts a private key with a password: scrypt derives the key of an XSalsa20-Poly1305 box
(NaCl's secretbox) with PKCS #8 data. Key files are read only in this module, and messages contain
no part of a private key. The libraries belong to the extra `sign`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges import disk

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

Password = Callable[[], str]
"""Returns the password of a key; called only if the key has one."""

_MAX_FILE: Final = 64 * 1024
_COSIGN: Final = re.compile(
    rb"-----BEGIN ENCRYPTED (?:SIGSTORE|COSIGN) PRIVATE KEY-----"
    rb"([A-Za-z0-9+/=\s]+)-----END ENCRYPTED"
)
# 128 * N * r bytes: cosign uses 64 MB of memory, and a file must not require much more.
_MAX_SCRYPT: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that verifies signatures."""

    _key: ec.EllipticCurvePublicKey = field(repr=False)

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Return whether `signature` was created for the bytes `signed` with the private key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            self._key.verify(signature, signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key that signs."""

    _key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def public(self) -> PublicKey:
        return PublicKey(self._key.public_key())

    def sign(self, data: bytes) -> bytes:
        """Return the signature in DER form, deterministic (RFC 6979) if OpenSSL supports it."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            return self._key.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        except UnsupportedAlgorithm:
            return self._key.sign(data, ec.ECDSA(hashes.SHA256()))


def read_public(path: Path) -> PublicKey:
    """Return the public key of a PEM file.

    Raises `InputError` for a private key, and for what is not a public key on P-256.
    """
    serialization, unsupported = _library()
    data = disk.read_file(path, limit=_MAX_FILE)
    if b"PRIVATE KEY" in data:
        raise InputError(
            f"`{path}` is a private key",
            hint="pass the public key; `openssl pkey -in KEY -pubout` or cosign writes it",
        )
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, TypeError, unsupported):
        raise _not_a_key(path, "public") from None
    return PublicKey(_require_p256(key, path))


def read_private(path: Path, password: Password) -> PrivateKey:
    """Return the private key of a PEM file, or raise `InputError`."""
    serialization, unsupported = _library()
    data = disk.read_file(path, limit=_MAX_FILE)
    found = _COSIGN.search(data)
    try:
        if found is not None:
            der = _decrypt(path, found[1], password)
            key = serialization.load_der_private_key(der, None)
        elif b"ENCRYPTED" in data:
            key = serialization.load_pem_private_key(data, password().encode() or b"\0")
        else:
            key = serialization.load_pem_private_key(data, None)
    except (InputError, ConfigurationError):
        raise
    except ValueError:
        # With a wrong password, about one key in 200 still has valid padding, and OpenSSL then
        # reports invalid key data. Both mean the same to the user.
        if found is None and b"ENCRYPTED" in data:
            raise _wrong_password(path) from None
        raise _not_a_key(path, "private") from None
    except (TypeError, unsupported):
        raise _not_a_key(path, "private") from None
    return PrivateKey(_require_p256(key, path))


def _decrypt(path: Path, body: bytes, password: Password) -> bytes:
    """Return the PKCS #8 form of a key that cosign encrypted."""
    try:
        from nacl.exceptions import CryptoError
        from nacl.secret import SecretBox
    except ImportError:
        raise _missing_extra() from None
    try:
        value: Any = json.loads(base64.b64decode(body))
        cost, block, parallel = (int(value["kdf"]["params"][name]) for name in ("N", "r", "p"))
        salt, nonce, box = (
            base64.b64decode(text)
            for text in (value["kdf"]["salt"], value["cipher"]["nonce"], value["ciphertext"])
        )
        names = (value["kdf"]["name"], value["cipher"]["name"])
    except (ValueError, KeyError, TypeError, binascii.Error, RecursionError):
        raise _not_a_key(path, "private") from None
    if names != ("scrypt", "nacl/secretbox") or len(nonce) != SecretBox.NONCE_SIZE:
        raise InputError(f"`{path}` is encrypted in a way that cosign does not use")
    memory = 128 * cost * block
    if not (cost > 1 and block > 0 and 0 < parallel <= 16 and memory <= _MAX_SCRYPT):
        raise InputError(f"`{path}` requests more than {_MAX_SCRYPT >> 20} MB to decrypt it")
    secret = hashlib.scrypt(
        password().encode(),
        salt=salt,
        n=cost,
        r=block,
        p=parallel,
        maxmem=memory + 1024 * 1024 * parallel,
        dklen=SecretBox.KEY_SIZE,
    )
    try:
        return bytes(SecretBox(secret).decrypt(box, nonce))
    except CryptoError:
        raise _wrong_password(path) from None


def _require_p256(key: object, path: Path) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    ours = ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey
    if not isinstance(key, ours) or not isinstance(key.curve, ec.SECP256R1):
        raise InputError(
            f"`{path}` is not an ECDSA key on the curve P-256",
            hint="create one: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`, "
            "or `cosign generate-key-pair`",
        )
    return key


def _library() -> tuple[Any, type[Exception]]:
    """Return the key parser, and its error for unknown keys."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise _missing_extra() from None
    return serialization, UnsupportedAlgorithm


def _missing_extra() -> ConfigurationError:
    return ConfigurationError(
        "signatures need the extra `sign`", hint='install it with `pip install "olmkit[sign]"`'
    )


def _not_a_key(path: Path, kind: str) -> InputError:
    return InputError(
        f"`{path}` does not hold a {kind} key in PEM form",
        hint="keys of OpenSSL and of cosign are read",
    )


def _wrong_password(path: Path) -> InputError:
    return InputError(
        f"the password does not open `{path}`",
        hint="set `COSIGN_PASSWORD` to the password of the key, if the file is whole",
    )
