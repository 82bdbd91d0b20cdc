"""A server on loopback that receives JSON values from local processes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.network.http_server import HttpServer
from olmkit.edges.network.server_library import web

_LOG = logging.getLogger(__name__)
_LARGEST = 64 * 1024  # bytes of a value


class JsonInbox:
    """A runnable that calls `take` with the value of each `POST` to `path`.

    For a `ValueError` of `take`, the response is 400 with its message. If another process uses the
    port, a warning is logged and nothing is received.
    """

    def __init__(self, name: str, port: int, path: str, handle: Callable[[Any], None]) -> None:
        self._take = handle
        application = web.Application(client_max_size=_LARGEST)
        application.router.add_post(path, self._answer)
        self._server = HttpServer(name, application, ("127.0.0.1", port))

    @property
    def port(self) -> int:
        """Return the port; 0 before it listens, or if it cannot."""
        return self._server.port

    async def run(self) -> None:
        """Serve until cancelled."""
        try:
            await self._server.run()
        except ConfigurationError as error:
            _LOG.warning("nothing is taken", extra={"error": error.message})

    async def wait_until_ready(self) -> None:
        """Return when it listens, or cannot listen."""
        await self._server.wait_until_ready()

    async def _answer(self, request: web.Request) -> web.Response:
        try:
            self._take(json.loads(await request.read()))
        except (ValueError, RecursionError) as error:
            return web.json_response({"message": str(error)}, status=400)
        return web.json_response({})
