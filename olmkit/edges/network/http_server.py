"""HTTP servers that run in the background: probes, metrics, webhooks, catalogs.

An address has the usual form: `:8081` listens on all
interfaces, `127.0.0.1:8081` on one, `[::1]:8081` on an IPv6 one, port 0 picks a
free one, and `0` alone turns the server off.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.network.server_library import http_exceptions, web

_LOG = logging.getLogger(__name__)
_MAX_HEADER = 1 << 20
# Go's client closes an idle connection after 90 s: if the server closed it first, a request that is
# just being sent would fail.
_IDLE = 95.0
_CLOSING = 5.0  # for running requests
# A new connection must send a whole head within this time; controller-runtime's servers have the
# same limit.
_HEAD = 32.0
_SWEEP = 4.0
_MAX_LOGGED = 120  # characters of client input


class _FaultsOfClients(logging.Filter):
    """Logs invalid and incomplete requests on one line, at debug level.

    aiohttp logs each with a traceback, so that any client could fill the log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        match error:
            case http_exceptions.HttpProcessingError():
                text = " ".join(error.message.split())[:_MAX_LOGGED]
                _LOG.debug("refused a malformed request: %s", text)
            case web.RequestPayloadError():  # read to its end after the response
                text = " ".join(str(error).split())[:_MAX_LOGGED]
                _LOG.debug("refused a malformed request: %s", text)
            case ConnectionError():
                _LOG.debug("a client closed the connection before the end of the answer")
            case _:
                return True
        return False


_REQUESTS = logging.getLogger(f"{__name__}.requests")
_REQUESTS.addFilter(_FaultsOfClients())


def parse_address(text: str) -> tuple[str | None, int] | None:
    """Return host (None: all interfaces) and port; None if the address turns serving off.

    Raises `ConfigurationError` for anything except `HOST:PORT`, `:PORT`, `0` and an empty string.
    """
    if text in ("0", ""):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigurationError(
            f"`{text}` is not an address to listen on",
            hint="write `:8081`, `127.0.0.1:8081` or `0`",
        )
    return host.removeprefix("[").removesuffix("]") or None, int(port)


class HttpServer:
    """A runnable that serves one application; ready when it listens."""

    def __init__(
        self,
        name: str,
        application: web.Application,
        address: tuple[str | None, int],
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.name = name
        self.host = address[0]
        self.port = 0
        self._application = application
        self._address = address
        self._tls = tls
        self._ready = asyncio.Event()
        self._heard: set[Any] = set()  # connections that have received a request
        application.middlewares.append(self._hear)

    @web.middleware
    async def _hear(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._heard.add(request.protocol)
        return await handler(request)

    async def run(self) -> None:
        """Serve until cancelled."""
        runner = web.AppRunner(
            self._application,
            access_log=None,
            logger=_REQUESTS,
            shutdown_timeout=_CLOSING,
            max_field_size=_MAX_HEADER,
            keepalive_timeout=_IDLE,
        )
        await runner.setup()
        try:
            host, port = self._address
            try:
                await web.TCPSite(runner, host, port, ssl_context=self._tls).start()
            except OSError as error:
                raise ConfigurationError(
                    f"{self.name} cannot listen on `{host or ''}:{port}`: {error.strerror}",
                    hint="another process may use the port",
                ) from error
            self.port = int(runner.addresses[0][1])
            self._ready.set()
            where = f"{host or ''}:{self.port}"
            _LOG.info("serves", extra={"server": self.name, "address": where})
            await self._close_stalled(runner)
        finally:
            self._ready.set()  # the waiting task gets the error of `run`
            await runner.cleanup()

    async def _close_stalled(self, runner: web.AppRunner) -> None:
        """Close connections that send no request, until cancelled.

        The library closes idle connections after a request, but not before the first one.
        """
        since: dict[Any, float] = {}
        while True:
            await asyncio.sleep(min(_SWEEP, _HEAD / 2))
            now = asyncio.get_running_loop().time()
            connections = runner.server.connections if runner.server else []
            since = {one: since.get(one, now) for one in connections}
            self._heard &= since.keys()
            for connection, first in since.items():
                if now - first >= _HEAD and connection not in self._heard:
                    connection.force_close()

    async def wait_until_ready(self) -> None:
        await self._ready.wait()
