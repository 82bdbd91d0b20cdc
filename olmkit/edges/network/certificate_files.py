"""A certificate and its key in files that may be replaced while a server uses them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from olmkit.base.diagnostics import ConfigurationError

_LOG = logging.getLogger(__name__)
_LOOK = 10.0
_NONE = ""  # without a password, the library would prompt for one in the terminal


class Pair(NamedTuple):
    """A certificate with its chain, and its key, in PEM form."""

    certificate: bytes
    key: bytes


class CertificateRenewals:
    """Detects changes of the files.

    Kubernetes swaps a symbolic link, so contents are compared.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self.certificate = certificate
        self.key = key
        pair = self.read()
        self._seen = b"" if pair is None else _digest(pair)

    def read(self) -> Pair | None:
        """Return the current content of the files; None if one cannot be read."""
        try:
            return Pair(self.certificate.read_bytes(), self.key.read_bytes())
        except OSError:
            return None

    def renewed(self) -> Pair | None:
        """Return the content if it differs from the last one and is valid.

        Raises `ConfigurationError` for an invalid pair, only once.
        """
        pair = self.read()
        if pair is None or _digest(pair) == self._seen:
            return None
        self._seen = _digest(pair)
        load(fresh_tls_context(), pair)
        return pair


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS context of a server from files in PEM form.

    Raises `ConfigurationError` if they are not a certificate and its key.
    """
    made = fresh_tls_context()
    try:
        made.load_cert_chain(certificate, key, password=_NONE)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"`{certificate}` and `{key}` are not a certificate and its key: {error}"
        ) from error
    return made


def fresh_tls_context() -> ssl.SSLContext:
    """Return a server's TLS context that has no certificate yet."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


def load(tls: ssl.SSLContext, pair: Pair) -> None:
    """Load the pair into a context; new connections get it.

    Raises `ConfigurationError` for a pair that does not match. Try it on a fresh context first: a
    context in use would keep one half of it.
    """
    try:
        with _as_files(pair) as files:
            tls.load_cert_chain(*files, password=_NONE)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(str(error)) from error


async def keep_current(tls: ssl.SSLContext, files: CertificateRenewals) -> None:
    """Load renewed files into a context that is in use, until cancelled.

    A pair that does not match is logged, and the old one stays in use.
    """
    while True:
        await asyncio.sleep(_LOOK)
        try:
            pair = await asyncio.to_thread(files.renewed)
            if pair is not None:
                load(tls, pair)
        except ConfigurationError as error:
            _LOG.error("certificate `%s` not loaded: %s", files.certificate, error)


@contextlib.contextmanager
def _as_files(pair: Pair) -> Iterator[tuple[str, str]]:
    """Write the pair to temporary files: in memory if possible, as a disk may be read-only."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "tls.crt"), Path(folder, "tls.key")
            paths[0].write_bytes(pair.certificate)
            paths[1].touch(mode=0o600)
            paths[1].write_bytes(pair.key)
            yield str(paths[0]), str(paths[1])
        return
    descriptors = [os.memfd_create(name) for name in ("tls.crt", "tls.key")]
    try:
        for descriptor, data in zip(descriptors, pair, strict=True):
            os.write(descriptor, data)
        yield f"/proc/self/fd/{descriptors[0]}", f"/proc/self/fd/{descriptors[1]}"
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _digest(pair: Pair) -> bytes:
    return hashlib.sha256(b"\0".join(pair)).digest()
