"""Import the HTTP library without loading the CA certificates of the system.

aiohttp creates two TLS contexts when it is imported, and reads all CA certificates of the system
for each: a fifth of its import time, and 2 MB. Most processes do not need them: their registry is
on loopback, their API server has its own CA, or they only serve. So the contexts read the CA
certificates at their first connection; code that uses aiohttp's defaults in the same process has
the same trust as before.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from typing import Any

__all__ = ["aiohttp"]


class _Later(ssl.SSLContext):
    """A TLS context that loads the system's CA certificates on first use."""

    def wrap_bio(self, *given: Any, **named: Any) -> ssl.SSLObject:
        _read(self)
        return self.wrap_bio(*given, **named)

    def wrap_socket(self, *given: Any, **named: Any) -> ssl.SSLSocket:
        _read(self)
        return self.wrap_socket(*given, **named)

    def get_ca_certs(self, *given: Any, **named: Any) -> Any:
        _read(self)
        return self.get_ca_certs(*given, **named)

    def cert_store_stats(self) -> dict[str, int]:
        _read(self)
        return self.cert_store_stats()


def _read(context: ssl.SSLContext) -> None:
    # It is an ordinary context from now on.
    context.__class__ = ssl.SSLContext
    context.load_default_certs()


@contextlib.contextmanager
def _later() -> Iterator[None]:
    """Let contexts load the system's CA certificates later, for the duration of the block."""
    load = ssl.SSLContext.load_default_certs

    def defer(context: ssl.SSLContext, _purpose: object = None) -> None:
        if type(context) is ssl.SSLContext:
            context.__class__ = _Later

    # One of the two is inherited from a C class, so it is covered and later restored.
    ssl.SSLContext.load_default_certs = defer  # type: ignore[method-assign, assignment]
    ssl.SSLContext.set_default_verify_paths = defer  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ssl.SSLContext.load_default_certs = load  # type: ignore[method-assign]
        del ssl.SSLContext.set_default_verify_paths


# If another library, such as truststore, has set its own class there, that class decides.
with _later() if ssl.SSLContext.__module__ == "ssl" else contextlib.nullcontext():
    import aiohttp
