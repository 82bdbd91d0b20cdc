"""A small web server on loopback for one test: every answer is one function's."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def serving(handler: Callable[[Any], Any]) -> AsyncIterator[str]:
    """Its `host:port`; `handler` takes a request and gives a response, both of aiohttp."""
    called = handler if inspect.iscoroutinefunction(handler) else handler.__call__
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", called)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
