"""An HTTP server that shows what a process is doing: `/debug/tasks` and `/debug/profile`.

It listens only on loopback addresses, since requests need no token; use `kubectl port-forward` to
reach it. The server rejects host names other than those of loopback, so that a web page cannot read
it through DNS rebinding.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.network.http_server import HttpServer
from olmkit.edges.network.server_library import web
from olmkit.runtime import dump
from olmkit.runtime.manager import Manager

_MOST = 60.0  # maximum seconds of a profile
_USUAL = "5"


def server(address: tuple[str | None, int], manager: Manager) -> HttpServer:
    """Return the server, not started; raise `ConfigurationError` if the address is not loopback."""
    host = address[0]
    if not _is_loopback(host or ""):
        raise ConfigurationError(
            f"cannot serve debugging on `{host or ''}:{address[1]}`: it must be a loopback address",
            hint="use `127.0.0.1:6060`, and `kubectl port-forward` to reach it",
        )
    profiling = asyncio.Lock()

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if not _is_loopback(_name(request.headers.get("Host", ""))):
            return web.Response(status=403, text="use the host name `localhost`\n")
        return await handler(request)

    async def tasks(_: web.Request) -> web.Response:
        return web.Response(text=dump.render(asyncio.get_running_loop(), [manager]))

    async def profile(request: web.Request) -> web.Response:
        seconds = _seconds(request.query.get("seconds", _USUAL))
        if seconds is None:
            return web.Response(status=400, text=f"`seconds` is a number up to {_MOST:g}\n")
        if profiling.locked():
            return web.Response(status=409, text="another profile is being taken\n")
        async with profiling:
            with dump.Profile() as taken:
                await asyncio.sleep(seconds)
        return web.Response(text=taken.folded())

    application = web.Application(middlewares=[guard])
    application.router.add_get("/debug/tasks", tasks)
    application.router.add_get("/debug/profile", profile)
    return HttpServer("debug", application, address)


def _seconds(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 < found <= _MOST else None


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
