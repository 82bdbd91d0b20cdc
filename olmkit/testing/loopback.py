"""A web server on loopback for one test, with one function as its handler."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def serving(handler: Callable[[Any], Any]) -> AsyncIterator[str]:
    """Serve within the block, and yield `host:port`; `handler` returns aiohttp responses."""
    # aiohttp needs a coroutine function, which an object with `__call__` is not.
    called: Any = handler
    if not inspect.iscoroutinefunction(handler):
        called = getattr(handler, "__call__")  # noqa: B004, B009 - the bound method itself
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
