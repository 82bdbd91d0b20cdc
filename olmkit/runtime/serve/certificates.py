"""TLS for servers of a process: from files that are renewed, or from a pair made at start."""

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

from olmkit.edges.http_server import fresh_tls_context, tls_context
from olmkit.runtime.metrics import Registry
from olmkit.runtime.serve import self_signed

_LOG = logging.getLogger(__name__)

_LOOK = 10.0
_NONE = ""  # without a password, the library would ask for one at the terminal


def context(certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """A server's TLS context from two files, or from a certificate made now."""
    if certificate is not None and key is not None:
        return tls_context(certificate, key)
    made = fresh_tls_context()
    with _as_files(*self_signed.make_apart()) as (cert_file, key_file):
        made.load_cert_chain(cert_file, key_file, password=_NONE)
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
        )
        self._unread = registry.counter(
            "certwatcher_read_certificate_errors_total",
            "Total number of certificate read errors",
        )

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
                fresh_tls_context().load_cert_chain(*files, password=_NONE)
                self._tls.load_cert_chain(*files, password=_NONE)
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
