"""The server part of the HTTP library; see `http_library`, which must import aiohttp first."""

from __future__ import annotations

from olmkit.edges.network import http_library  # noqa: F401 - see above

# isort: split
from aiohttp import http_exceptions, web

__all__ = ["http_exceptions", "web"]
