"""What images are made of: digests, descriptors, image manifests, indexes, configs.

Values and their JSON, as the OCI image specification 1.1 and Docker's image
manifest version 2 schema 2 write them. What comes from a registry or a file is
not trusted: sizes and depth are bounded, and every fault is an `InputError`
that names the field.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from olmkit.base.diagnostics import InputError

# Lengths of the hexadecimal part, by algorithm: the registered ones of the image specification.
_HEX_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_SYNTAX = re.compile(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
_HEX = re.compile(r"[a-f0-9]+")


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """The name of some bytes: `sha256:` and their hash in lower-case hexadecimal."""

    algorithm: str
    encoded: str

    @staticmethod
    def parse(text: str) -> Digest:
        """`algorithm:hex` as a digest; `InputError` with the words of the field's own library."""
        algorithm, colon, encoded = text.partition(":")
        if not algorithm or not colon or not encoded:
            raise InputError("invalid checksum digest format")
        length = _HEX_LENGTHS.get(algorithm)
        if length is None:
            if _SYNTAX.fullmatch(text):
                raise InputError("unsupported digest algorithm")
            raise InputError("invalid checksum digest format")
        if len(encoded.encode()) != length:
            raise InputError("invalid checksum digest length")
        if not _HEX.fullmatch(encoded):
            raise InputError("invalid checksum digest format")
        return Digest(algorithm, encoded)

    @staticmethod
    def of(data: bytes) -> Digest:
        """The SHA-256 digest of `data`."""
        return Digest("sha256", hashlib.sha256(data).hexdigest())

    def matches(self, data: bytes) -> bool:
        return hashlib.new(self.algorithm, data).hexdigest() == self.encoded

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.encoded}"
