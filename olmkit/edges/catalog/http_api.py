"""Serves catalogs over HTTP, as OLM v1 reads them from catalogd.

`/catalogs/NAME/api/v1/all` gives all blobs, one a line; `…/metas` those that a query
requests. Answers have a strong `ETag` that depends on the content alone, so that several
servers of one catalog agree. Requests that come before the catalog is read are held.

Where catalogd is silent, RFC 9110 decides: conditional requests (13), ranges (14).
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from olmkit.base import names
from olmkit.catalog.serve import metas as metas_
from olmkit.catalog.serve.metas import BadQueryError, LineIndex, Metas, Span

Read = Callable[[int, int], bytes | memoryview]

# More requests at once than any cluster makes; beyond that, clients get 503.
MAX_REQUESTS: Final = 1000
MAX_REQUESTS_OF_ONE: Final = 500
_CONTENT_TYPE: Final = "application/jsonl"
_CHUNK: Final = 256 * 1024
_SMALLEST_PACKED: Final = 1400  # bytes; a smaller answer is one packet in any case
_HOLD: Final = 120.0  # seconds for which a request waits for the catalog
_STALLED: Final = 60.0  # seconds in which a client takes a piece
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, eq=False, slots=True)
class _Served:
    """One catalog as it is answered from; `modified`, in seconds, is when it was taken over."""

    metas: Metas
    read: Read
    index: LineIndex
    modified: int


@dataclass(frozen=True, slots=True)
class _Body:
    """What an answer sends: pieces of the file, packed on the way or not."""

    spans: Sequence[Span]
    pack: bool = False

    @property
    def length(self) -> int:
        return sum(span.length for span in self.spans)


class CatalogApi:
    """The application; `answer_from` says what each catalog is answered from."""

    def __init__(self, catalogs: Sequence[str]) -> None:
        self._catalogs: dict[str, _Served | None] = dict.fromkeys(catalogs)
        self._changed = asyncio.Event()
        self._requests: Counter[str] = Counter()
        self.lost = asyncio.Event()
        self.application = web.Application(middlewares=[self._bounded])
        self.application.on_response_prepare.append(_hide_server)
        add = self.application.router.add_get
        add("/catalogs/{name}/api/v1/all", self._all)
        add("/catalogs/{name}/api/v1/metas", self._metas)
        add("/healthz", self._alive)
        add("/readyz", self._ready)

    def answer_from(self, name: str, metas: Metas, read: Read) -> None:
        """Answer from now on for the catalog `name`; requests under way end as they began."""
        index = LineIndex(metas)
        self._catalogs[name] = _Served(metas, read, index, modified=int(time.time()))
        self.lost.clear()
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        return None not in self._catalogs.values()

    async def _alive(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _ready(self, _request: web.Request) -> web.Response:
        if not self.is_ready:
            raise web.HTTPServiceUnavailable(text="the catalog is still being read")
        return web.Response(text="ok")

    async def _all(self, request: web.Request) -> web.StreamResponse:
        served = await self._served(request)
        whole = [Span(0, served.metas.length)]
        if _takes_gzip(request) and "Range" not in request.headers:
            packed = Span(served.metas.length, served.metas.packed)
            if served.metas.length >= _SMALLEST_PACKED:
                return await self._answer(request, served, _Body([packed]), encoding="gzip")
        part = _range(request, served)
        if part is None:
            return await self._answer(request, served, _Body(whole), ranges=True)
        return await self._answer(request, served, _Body([part]), part=part, ranges=True)

    async def _metas(self, request: web.Request) -> web.StreamResponse:
        served = await self._served(request)
        try:
            query = metas_.parse_query(list(request.query.items()))
        except BadQueryError:
            raise web.HTTPBadRequest from None
        body = _Body(served.index.select(query))
        if body.length >= _SMALLEST_PACKED and _takes_gzip(request):
            packed = _Body(body.spans, pack=True)
            return await self._answer(request, served, packed, encoding="gzip")
        return await self._answer(request, served, body)

    async def _served(self, request: web.Request) -> _Served:
        name = request.match_info["name"]
        if not names.is_subdomain(name):
            raise web.HTTPBadRequest(
                text="invalid catalog name: it must be a DNS subdomain (RFC 1123)"
            )
        if name not in self._catalogs:
            raise web.HTTPNotFound
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HOLD):
                while self._catalogs[name] is None:
                    await self._changed.wait()
        served = self._catalogs[name]
        if served is None:
            raise web.HTTPServiceUnavailable(text="the catalog is still being read")
        return served

    async def _answer(
        self,
        request: web.Request,
        served: _Served,
        body: _Body,
        *,
        encoding: str = "",
        part: Span | None = None,
        ranges: bool = False,
    ) -> web.StreamResponse:
        tag = f'"{served.metas.digest[:32]}{"-" if encoding else ""}{encoding}"'
        headers = {
            "ETag": tag,
            "Last-Modified": email.utils.formatdate(served.modified, usegmt=True),
            "Vary": "Accept-Encoding",
        }
        status = _condition(request, tag, served.modified)
        if status != 200:
            return web.Response(status=status, headers=headers if status == 304 else None)
        headers["Content-Type"] = _CONTENT_TYPE
        if encoding:
            headers["Content-Encoding"] = encoding
        if ranges:
            headers["Accept-Ranges"] = "bytes"
        if part is not None:
            end = part.offset + part.length - 1
            headers["Content-Range"] = f"bytes {part.offset}-{end}/{served.metas.length}"
        response = web.StreamResponse(status=200 if part is None else 206, headers=headers)
        if not body.pack:
            response.content_length = body.length
        await response.prepare(request)
        if request.method != "HEAD":
            await self._send(response, served, body)
        return response

    async def _send(self, response: web.StreamResponse, served: _Served, body: _Body) -> None:
        packer = zlib.compressobj(6, wbits=31) if body.pack else None
        try:
            for span in body.spans:
                for offset in range(span.offset, span.offset + span.length, _CHUNK):
                    length = min(_CHUNK, span.offset + span.length - offset)
                    data = bytes(served.read(offset, length))
                    if packer is not None:
                        data = packer.compress(data)
                    await _write(response, data)
            if packer is not None:
                await _write(response, packer.flush())
            await response.write_eof()
        except OSError as error:
            if not isinstance(error, ConnectionError | TimeoutError):
                self.lost.set()  # the file under the catalog was changed or cannot be read
            # The length was announced, so a client sees that the answer is not whole.
            response.force_close()
            raise

    @web.middleware
    async def _bounded(self, request: web.Request, handler: Any) -> web.StreamResponse:
        client = request.remote or ""
        probe = request.path in ("/healthz", "/readyz")
        if not probe and (
            self._requests.total() >= MAX_REQUESTS or self._requests[client] >= MAX_REQUESTS_OF_ONE
        ):
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "1"})
        self._requests[client] += not probe
        try:
            response: web.StreamResponse = await handler(request)
            return response
        finally:
            self._requests[client] -= not probe
            if not self._requests[client]:
                del self._requests[client]


async def _hide_server(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)  # it names releases of Python and of the library


async def _write(response: web.StreamResponse, data: bytes) -> None:
    if data:
        async with asyncio.timeout(_STALLED):
            await response.write(data)


def _takes_gzip(request: web.Request) -> bool:
    """Whether the client takes gzip (RFC 9110, 12.5.3)."""
    weights: dict[str, str] = {}
    for part in ",".join(request.headers.getall("Accept-Encoding", [])).split(","):
        coding, _, parameters = part.partition(";")
        weights[coding.strip().lower()] = parameters.replace(" ", "").lower()
    weight = weights.get("gzip", weights.get("*"))
    return weight is not None and re.fullmatch(r"q=0(\.0*)?", weight) is None


def _range(request: web.Request, served: _Served) -> Span | None:
    """The part that is requested; None for the whole, several parts, or a form that is not known.

    Raises `HTTPRequestRangeNotSatisfiable`.
    """
    given = request.headers.get("Range", "")
    found = _RANGE.fullmatch(given.replace(" ", ""))
    condition = request.headers.get("If-Range")
    if found is None or found[0] == "bytes=-":
        return None
    if condition is not None and condition not in (
        f'"{served.metas.digest[:32]}"',
        email.utils.formatdate(served.modified, usegmt=True),
    ):
        return None
    size = served.metas.length
    first, last = found[1], found[2]
    if first:
        start, end = int(first), min(int(last), size - 1) if last else size - 1
        if last and int(last) < int(first):
            return None
    else:
        start, end = max(size - int(last), 0), size - 1
    if start >= size or start > end:
        raise web.HTTPRequestRangeNotSatisfiable(headers={"Content-Range": f"bytes */{size}"})
    return Span(start, end - start + 1)


def _condition(request: web.Request, tag: str, modified: int) -> int:
    """200, 304 or 412, in the order of RFC 9110, 13.2.2."""
    headers = request.headers
    if (wanted := headers.get("If-Match")) is not None:
        if not _names(wanted, tag, weak=False):
            return 412
    elif _is_before(headers, "If-Unmodified-Since", modified):
        return 412
    if (known := headers.get("If-None-Match")) is not None:
        return 304 if _names(known, tag, weak=True) else 200
    since = _seconds(headers, "If-Modified-Since")
    return 304 if since is not None and modified <= since else 200


def _names(given: str, tag: str, *, weak: bool) -> bool:
    if given.strip() == "*":
        return True
    tags = (one.strip() for one in given.split(","))
    return any((one.removeprefix("W/") if weak else one) == tag for one in tags)


def _is_before(headers: Mapping[str, str], name: str, modified: int) -> bool:
    until = _seconds(headers, name)
    return until is not None and modified > until


def _seconds(headers: Mapping[str, str], name: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(headers.get(name, "")).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
