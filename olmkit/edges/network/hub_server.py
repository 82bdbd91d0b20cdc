"""Serves the pages of a hub over HTTP.

A path is looked up among the pages, and never used as a file name. Pages are rendered at their
first request, one at a time, and the last ones are cached. Responses have a strong `ETag` of their
bytes and a content security policy; the policy of icons blocks all active content.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import ipaddress
import mimetypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote

from olmkit.edges.network.server_library import web

Render = Callable[[], bytes]
Find = Callable[[str], Render | None]

_MAX_TARGET: Final = 4096  # characters of path and query
_SMALLEST_PACKED: Final = 1400
_KEPT: Final = 1000  # number of responses, which limits the memory
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".xml": "application/atom+xml; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
}
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class _Answer:
    """A file; `packed` is compressed with gzip."""

    data: bytes
    packed: bytes | None
    tag: str


@dataclass(slots=True)
class HubApi:
    """The application. `policy` is the content security policy of pages, `image_policy` of icons.

    `moved` gives the path of a page under an old path, or None.
    """

    policy: str
    image_policy: str
    moved: Callable[[str], str | None] = lambda _: None
    is_local: bool = True
    application: web.Application = field(init=False)
    _find: Find = field(init=False, default=lambda _: None)
    _kept: dict[str, _Answer] = field(init=False, default_factory=dict)
    _one: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.application = web.Application()
        self.application.on_response_prepare.append(_hide_server)
        self.application.router.add_route("*", "/{path:.*}", self._answer)

    def answer_from(self, find: Find) -> None:
        """Serve the files of `find` from now on: path → function that returns bytes, or None."""
        self._find = find
        self._kept = {}

    async def _find_answer(self, path: str) -> _Answer | None:
        """Return the response for a path, rendered in a thread unless it is cached."""
        if path in self._kept:
            return self._kept[path]
        async with self._one:
            kept = self._kept
            if path in kept:
                return kept[path]
            found = await asyncio.to_thread(_answer_of, self._find, path)
            if found is not None:
                if len(kept) >= _KEPT:
                    del kept[next(iter(kept))]
                kept[path] = found  # not `self._kept`: the content may have changed meanwhile
            return found

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            return self._text(405, "only GET and HEAD", {"Allow": "GET, HEAD"})
        if len(request.raw_path) > _MAX_TARGET:
            return self._text(414, f"the address is longer than {_MAX_TARGET} characters")
        if self.is_local and not _is_local(request.headers.get("Host", "")):
            return self._text(403, "this server answers only under the names of this machine")
        # The path as sent: the library has decoded it once, and a name may contain a `%`.
        path = unquote(request.raw_path.partition("?")[0].removeprefix("/"))
        if not path or path.endswith("/"):
            path += "index.html"
        found = await self._find_answer(path)
        if found is not None:
            return self._file(request, path, found)
        if await self._find_answer(f"{path}/index.html") is not None:
            return self._redirect(f"{path}/")
        target = self.moved(path.removesuffix("index.html"))
        if target is not None:
            return self._redirect(target)
        missing = await self._find_answer("404.html")
        if missing is None:
            return self._text(404, "not found")
        return self._file(request, "404.html", missing, status=404)

    def _file(
        self, request: web.Request, path: str, found: _Answer, status: int = 200
    ) -> web.Response:
        data = found.data
        ending = path[path.rfind(".") :]
        kind = _TYPES.get(ending) or mimetypes.guess_type(path)[0] or "application/octet-stream"
        is_image = path.startswith("icons/") or ending == ".svg"
        headers = {
            **_HEADERS,
            "Content-Type": kind,
            "Content-Security-Policy": self.image_policy if is_image else self._page_policy,
            "ETag": found.tag,
            "Vary": "Accept-Encoding",
        }
        if ending == ".json":
            headers["Access-Control-Allow-Origin"] = "*"
        if status == 200 and _has_tag(request.headers.get("If-None-Match", ""), found.tag):
            return web.Response(status=304, headers=headers)
        if found.packed is not None and _takes_gzip(request.headers.get("Accept-Encoding", "")):
            headers["Content-Encoding"] = "gzip"
            data = found.packed
        return web.Response(status=status, body=data, headers=headers)

    @property
    def _page_policy(self) -> str:
        return f"{self.policy}; frame-ancestors 'none'"

    def _redirect(self, path: str) -> web.Response:
        # Only one leading slash: two would name a host.
        address, mark, query = path.lstrip("/").partition("?")
        where = f"/{quote(address)}{mark}{quote(query, safe='=&%')}"
        return web.Response(status=301, headers={**_HEADERS, "Location": where})

    def _text(
        self, status: int, message: str, headers: Mapping[str, str] | None = None
    ) -> web.Response:
        return web.Response(
            status=status, text=message + "\n", headers={**_HEADERS, **(headers or {})}
        )


def _answer_of(find: Find, path: str) -> _Answer | None:
    make = find(path)
    if make is None:
        return None
    data = make()
    tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    packed = gzip.compress(data, 6, mtime=0) if len(data) >= _SMALLEST_PACKED else None
    return _Answer(data=data, packed=packed, tag=tag)


async def _hide_server(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.pop("Server", None)


def _has_tag(sent: str, tag: str) -> bool:
    listed = {one.strip().removeprefix("W/") for one in sent.split(",")}
    return "*" in listed or tag in listed


def _takes_gzip(sent: str) -> bool:
    for one in sent.lower().split(","):
        name, _, weight = one.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _is_local(host: str) -> bool:
    """Return whether the name is of this machine. Another name may be of a malicious site."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    name = name.removeprefix("[").removesuffix("]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
