"""Certificates for servers of a process: from files that are renewed, or made at start.

The self-signed one has an elliptic-curve key (P-256) and is written with the
standard library alone, since an operator's image should not carry a
cryptography library for a certificate that nobody verifies. It signs once, for
a key that lives as long as the process: speed and timing do not matter here.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import hashlib
import logging
import os
import secrets
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError
from olmkit.runtime.metrics import Registry

_LOG = logging.getLogger(__name__)

# NIST P-256, FIPS 186-4 D.1.2.3
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_EC_PUBLIC_KEY = "1.2.840.10045.2.1"
_P256 = "1.2.840.10045.3.1.7"
_ECDSA_SHA256 = "1.2.840.10045.4.3.2"
_COMMON_NAME = "2.5.4.3"
_ALT_NAME = "2.5.29.17"
_LOOK = 10.0
_LIFETIME = datetime.timedelta(days=365)

Point = tuple[int, int] | None


def context(certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """A server's TLS context from two files, or from a certificate made now."""
    made = _fresh()
    if certificate is None or key is None:
        with _as_files(*self_signed()) as (cert_file, key_file):
            made.load_cert_chain(cert_file, key_file)
        return made
    try:
        made.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"`{certificate}` and `{key}` are no certificate and its key: {error}"
        ) from error
    return made


class Reloader:
    """Puts renewed files into a context that is in use; new connections get them.

    Kubernetes swaps a symbolic link, so contents are compared. A pair that does not fit
    together leaves the old one in place.
    """

    name = "certificate reloader"

    def __init__(
        self,
        tls: ssl.SSLContext,
        certificate: Path,
        key: Path,
        *,
        registry: Registry | None = None,
    ) -> None:
        self._tls = tls
        self._files = (certificate, key)
        pair = self._pair()
        self._seen = b"" if pair is None else _digest(pair)
        registry = registry or Registry()
        self._read = registry.counter(
            "certwatcher_read_certificate_total", "Total number of certificate reads"
        ).child()
        self._unread = registry.counter(
            "certwatcher_read_certificate_errors_total",
            "Total number of certificate read errors",
        ).child()

    async def run(self) -> None:
        """Look every ten seconds until cancelled."""
        while True:
            await asyncio.sleep(_LOOK)
            self.check()

    def check(self) -> bool:
        """Whether something new was loaded; a pair that was refused is not tried again."""
        pair = self._pair()
        if pair is None or _digest(pair) == self._seen:
            return False
        self._seen = _digest(pair)
        self._read.inc()
        try:
            # The bytes that were looked at, since the files may change in between; a broken
            # pair must not reach the real context, which would take half of it.
            with _as_files(*pair) as files:
                _fresh().load_cert_chain(*files)
                self._tls.load_cert_chain(*files)
        except (OSError, ssl.SSLError) as error:
            self._unread.inc()
            _LOG.error("certificate not loaded", extra={"error": str(error)})
            return False
        _LOG.info("certificate renewed", extra={"file": str(self._files[0])})
        return True

    def _pair(self) -> tuple[bytes, bytes] | None:
        try:
            return self._files[0].read_bytes(), self._files[1].read_bytes()
        except OSError:
            return None


def _digest(pair: tuple[bytes, bytes]) -> bytes:
    return hashlib.sha256(b"\0".join(pair)).digest()


def self_signed(
    names: tuple[str, ...] = ("localhost",), addresses: tuple[bytes, ...] = (b"\x7f\0\0\x01",)
) -> tuple[bytes, bytes]:
    """A certificate and its key as PEM, for names and IP addresses (as bytes)."""
    private = secrets.randbelow(_N - 1) + 1
    public = _encoded(_times(private, _G))
    now = datetime.datetime.now(datetime.UTC)
    algorithm = _sequence(_oid(_ECDSA_SHA256))
    name = _sequence(_tlv(0x31, _sequence(_oid(_COMMON_NAME), _tlv(0x0C, names[0].encode()))))
    alternatives = _sequence(
        *(_tlv(0x82, one.encode()) for one in names), *(_tlv(0x87, one) for one in addresses)
    )
    body = _sequence(
        _tlv(0xA0, _integer(2)),  # version 3
        _integer(secrets.randbits(126) + 1),
        algorithm,
        name,
        _sequence(_time(now - datetime.timedelta(hours=1)), _time(now + _LIFETIME)),
        name,
        _sequence(_sequence(_oid(_EC_PUBLIC_KEY), _oid(_P256)), _bits(public)),
        _tlv(0xA3, _sequence(_sequence(_oid(_ALT_NAME), _tlv(0x04, alternatives)))),
    )
    certificate = _sequence(body, algorithm, _bits(_signature(private, body)))
    key = _sequence(
        _integer(1),
        _tlv(0x04, private.to_bytes(32, "big")),
        _tlv(0xA0, _oid(_P256)),
        _tlv(0xA1, _bits(public)),
    )
    return _pem("CERTIFICATE", certificate), _pem("EC PRIVATE KEY", key)


def _fresh() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


@contextlib.contextmanager
def _as_files(certificate: bytes, key: bytes) -> Iterator[tuple[str, str]]:
    """Paths for a moment: in memory where that can be, since a pod's disk may be read-only."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "tls.crt"), Path(folder, "tls.key")
            paths[0].write_bytes(certificate)
            paths[1].touch(mode=0o600)
            paths[1].write_bytes(key)
            yield str(paths[0]), str(paths[1])
        return
    descriptors = [os.memfd_create(name) for name in ("tls.crt", "tls.key")]
    try:
        for descriptor, data in zip(descriptors, (certificate, key), strict=True):
            os.write(descriptor, data)
        yield f"/proc/self/fd/{descriptors[0]}", f"/proc/self/fd/{descriptors[1]}"
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _signature(private: int, message: bytes) -> bytes:
    """ECDSA with SHA-256, FIPS 186-4 section 6.4."""
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    while True:
        nonce = secrets.randbelow(_N - 1) + 1
        point = _times(nonce, _G)
        r = point[0] % _N if point else 0
        s = pow(nonce, -1, _N) * (digest + r * private) % _N
        if r and s:
            return _sequence(_integer(r), _integer(s))


def _times(factor: int, point: Point) -> Point:
    result: Point = None
    while factor:
        if factor & 1:
            result = _plus(result, point)
        point = _plus(point, point)
        factor >>= 1
    return result


def _plus(left: Point, right: Point) -> Point:
    if left is None or right is None:
        return left or right
    if left[0] == right[0]:
        if (left[1] + right[1]) % _P == 0:
            return None
        slope = (3 * left[0] * left[0] - 3) * pow(2 * left[1], -1, _P)
    else:
        slope = (right[1] - left[1]) * pow(right[0] - left[0], -1, _P)
    x = (slope * slope - left[0] - right[0]) % _P
    return x, (slope * (left[0] - x) - left[1]) % _P


def _encoded(point: Point) -> bytes:
    x, y = point or (0, 0)
    return b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")


# DER, ITU-T X.690


def _tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _sequence(*parts: bytes) -> bytes:
    return _tlv(0x30, b"".join(parts))


def _integer(value: int) -> bytes:
    return _tlv(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _bits(content: bytes) -> bytes:
    return _tlv(0x03, b"\0" + content)


def _time(moment: datetime.datetime) -> bytes:
    if moment.year < 2050:  # RFC 5280, 4.1.2.5
        return _tlv(0x17, moment.strftime("%y%m%d%H%M%SZ").encode())
    return _tlv(0x18, moment.strftime("%Y%m%d%H%M%SZ").encode())


def _oid(dotted: str) -> bytes:
    first, second, *rest = map(int, dotted.split("."))
    content = bytearray()
    for number in (40 * first + second, *rest):
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        content += bytes(reversed(digits))
    return _tlv(0x06, bytes(content))


def _pem(label: str, der: bytes) -> bytes:
    text = base64.encodebytes(der).replace(b"\n", b"")
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    edge = label.encode()
    return b"\n".join(
        [b"-----BEGIN " + edge + b"-----", *lines, b"-----END " + edge + b"-----", b""]
    )
