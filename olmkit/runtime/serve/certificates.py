"""TLS for the servers of a process: reloaded certificate files, or a self-signed one."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.network import certificate_files
from olmkit.edges.network.certificate_files import (
    CertificateRenewals,
    Pair,
    fresh_tls_context,
    tls_context,
)
from olmkit.runtime.metrics import Registry
from olmkit.runtime.serve import self_signed

_LOG = logging.getLogger(__name__)

_LOOK = 10.0


def context(certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """Return a server's TLS context from two files, or with a new self-signed certificate."""
    if certificate is not None and key is not None:
        return tls_context(certificate, key)
    made = fresh_tls_context()
    certificate_files.load(made, Pair(*self_signed.make_apart()))
    return made


class Reloader:
    """Loads renewed files into a TLS context that is in use; new connections use them.

    If the certificate and the key do not match, the old pair stays in use.
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
        self._files = CertificateRenewals(certificate, key)
        registry = registry or Registry()
        self._read = registry.counter(
            "certwatcher_read_certificate_total", "Total number of certificate reads"
        )
        self._unread = registry.counter(
            "certwatcher_read_certificate_errors_total",
            "Total number of certificate read errors",
        )

    async def run(self) -> None:
        """Check the files every ten seconds until cancelled."""
        while True:
            await asyncio.sleep(_LOOK)
            self.check()

    def check(self) -> bool:
        """Load changed files, each rejected pair only once; return whether they were loaded."""
        try:
            pair = self._files.renewed()
            if pair is None:
                return False
            certificate_files.load(self._tls, pair)
        except ConfigurationError as error:
            self._read.inc()
            self._unread.inc()
            _LOG.error("cannot load the certificate", extra={"error": str(error)})
            return False
        self._read.inc()
        _LOG.info("certificate renewed", extra={"file": str(self._files.certificate)})
        return True
