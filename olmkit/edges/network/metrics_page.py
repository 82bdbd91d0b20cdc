"""The page `/metrics`, which Prometheus reads."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Final

from olmkit.edges.network.server_library import web

Expose = Callable[[str], tuple[bytes, str]]
"""`Accept` header → body and content type."""

PATH: Final = "/metrics"
_COMPRESSED = 1400  # bytes; within one packet, compression has no benefit


def add(application: web.Application, expose: Expose) -> None:
    """Add the page to an application."""

    async def scrape(request: web.Request) -> web.Response:
        body, content_type = expose(request.headers.get("Accept", ""))
        headers = {"Content-Type": content_type}
        if len(body) > _COMPRESSED and "gzip" in request.headers.get("Accept-Encoding", ""):
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, 5, mtime=0)
        return web.Response(body=body, headers=headers)

    application.router.add_get(PATH, scrape)


def application(expose: Expose) -> web.Application:
    """Return an application with only this page."""
    made = web.Application()
    add(made, expose)
    return made
