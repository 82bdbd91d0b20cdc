"""Serves catalogs over HTTP, as OLM v1 reads them from catalogd.

`/catalogs/NAME/api/v1/all` gives all blobs, one per line; `…/metas` those that a query requests.
Responses have a strong `ETag` that depends only on the content, so that several servers of one
catalog agree. Requests before the catalog is read are held.

For behavior that catalogd does not define, RFC 9110 decides: conditional requests (13), ranges
(14).

Stored data that is sent unchanged is copied from the file to the socket by the kernel, except over
TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

from olmkit.base import names
from olmkit.catalog.serve import metas as metas_
from olmkit.catalog.serve.metas import BadQueryError, LineIndex, Metas, Span
from olmkit.edges.network import metrics_page
from olmkit.edges.network.server_library import web

Read = Callable[[int, int], bytes | memoryview]

# More concurrent requests than in any cluster; beyond that, clients get 503.
MAX_REQUESTS: Final = 1000
MAX_REQUESTS_OF_ONE: Final = 500
_CONTENT_TYPE: Final = "application/jsonl"
_CHUNK: Final = 256 * 1024
_SMALLEST_PACKED: Final = 1400  # bytes; a smaller response needs one packet in any case
_HOLD: Final = 120.0  # seconds for which a request waits for the catalog
_STALLED: Final = 60.0  # seconds in which a client must receive a piece
# A piece that the kernel copies: larger ones for a fast client, because each costs a turn of the
# event loop.
_LARGEST_PIECE: Final = 4 * 1024 * 1024
_QUICK: Final = 1.0  # seconds
_SMALL: Final = 64 * 1024  # bytes; a smaller response is one write, together with its head
_PLAIN: Final = ("/healthz", "/readyz", metrics_page.PATH)
_CLIENT_LEFT: Final = 499  # as in nginx; no response has it
_RANGE: Final = re.compile(
    r"bytes=[ \t]*([0-9]{0,40})[ \t]*-[ \t]*([0-9]{0,40})[ \t]*", re.IGNORECASE
)
# Other parameters than a weight are ignored; a weight of 0, or an invalid one, means refusal.
_WEIGHT: Final = re.compile(r"q=(?!0(\.0*)?$)[0-9]+(\.[0-9]*)?|(?!q=).*")
# The three forms of a date (RFC 9110, 5.6.7).
_DATE: Final = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
    r"|[MTWFS][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT"
    r"|(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
)


class LineFile(Protocol):
    """The file of the lines, from which the kernel can copy; the lines start at `start`."""

    @property
    def stream(self) -> BinaryIO: ...

    @property
    def start(self) -> int: ...

    def check(self) -> None:
        """Raise `OSError` if it has been changed."""


@dataclass(frozen=True, eq=False, slots=True)
class _ServedCatalog:
    """One served catalog; `modified`, in seconds, is the time of its activation."""

    metas: Metas
    read: Read
    file: LineFile | None
    index: LineIndex
    modified: int
    lost: asyncio.Event  # set when the file of the lines was changed or cannot be read


@dataclass(frozen=True, slots=True)
class _Body:
    """The body of a response: pieces of the file, compressed while sending or not."""

    spans: Sequence[Span]
    pack: bool = False

    @property
    def length(self) -> int:
        return sum(span.length for span in self.spans)


class RequestObserver(Protocol):
    """Receives requests; `catalog` is empty for a path without a catalog."""

    def started(self, catalog: str) -> None:
        """Record that a request was received."""

    def handled(self, catalog: str, status: int, seconds: float) -> None:
        """Record that a request ended; 499 if the client disconnected before that."""


class CatalogApi:
    """The application; `answer_from` sets the source of each catalog."""

    def __init__(self, catalogs: Sequence[str], observer: RequestObserver | None = None) -> None:
        self._observer = observer
        self._lost = {name: asyncio.Event() for name in catalogs}
        self._catalogs: dict[str, _ServedCatalog | None] = dict.fromkeys(catalogs)
        self._changed = asyncio.Event()
        self._requests: Counter[str] = Counter()
        middlewares = (
            [self._limit_requests] if observer is None else [self._observe, self._limit_requests]
        )
        self.application = web.Application(middlewares=middlewares)
        self.application.on_response_prepare.append(_hide_server)
        add = self.application.router.add_get
        add("/catalogs/{name}/api/v1/all", self._all)
        add("/catalogs/{name}/api/v1/metas", self._metas)
        add("/healthz", self._alive)
        add("/readyz", self._ready)

    def answer_from(
        self, name: str, metas: Metas, read: Read, file: LineFile | None = None
    ) -> None:
        """Serve the catalog `name` from now on; running requests continue with the old one.

        `file` is the file that `read` uses; without it, every response is read.
        """
        index = LineIndex(metas)
        self._catalogs[name] = _ServedCatalog(
            metas, read, file, index, modified=int(time.time()), lost=self._lost[name]
        )
        self._lost[name].clear()
        self._changed.set()
        self._changed = asyncio.Event()

    def lost(self, name: str) -> asyncio.Event:
        """Return the event that is set if the file of the catalog was changed or cannot be read."""
        return self._lost[name]

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
        served = await self._find_served(request)
        whole = [Span(0, served.metas.length)]
        if _takes_gzip(request) and "Range" not in request.headers:
            packed = Span(served.metas.length, served.metas.packed)
            if served.metas.length >= _SMALLEST_PACKED:
                return await self._answer(request, served, _Body([packed]), encoding="gzip")
        try:
            part = _range(request, served)
        except web.HTTPRequestRangeNotSatisfiable:
            if _condition(request, _tag(served), served.modified) == 200:  # conditions come first
                raise
            part = None
        if part is None:
            return await self._answer(request, served, _Body(whole), ranges=True)
        return await self._answer(request, served, _Body([part]), part=part, ranges=True)

    async def _metas(self, request: web.Request) -> web.StreamResponse:
        try:  # before the catalog is looked up, like catalogd
            query = metas_.parse_query(list(request.query.items()))
        except BadQueryError:
            raise web.HTTPBadRequest from None
        served = await self._find_served(request)
        body = _Body(served.index.select(query))
        if body.length >= _SMALLEST_PACKED and _takes_gzip(request):
            packed = _Body(body.spans, pack=True)
            return await self._answer(request, served, packed, encoding="gzip")
        return await self._answer(request, served, body)

    async def _find_served(self, request: web.Request) -> _ServedCatalog:
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
        served: _ServedCatalog,
        body: _Body,
        *,
        encoding: str = "",
        part: Span | None = None,
        ranges: bool = False,
    ) -> web.StreamResponse:
        tag = _tag(served, encoding)
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
        status = 200 if part is None else 206
        if request.method != "HEAD" and body.length <= _SMALL and not body.pack:
            return web.Response(status=status, headers=headers, body=_read_spans(served, body))
        response = web.StreamResponse(status=status, headers=headers)
        if not body.pack:
            response.content_length = body.length
        await response.prepare(request)
        if request.method == "HEAD":
            return response
        try:
            await _send(request, response, served, body)
            await response.write_eof()
        except OSError as error:
            # The length was announced, so a client detects that the response is incomplete.
            response.force_close()
            if not isinstance(error, ConnectionError | TimeoutError):
                served.lost.set()
            raise
        return response

    @web.middleware
    async def _observe(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path in _PLAIN or self._observer is None:
            plain: web.StreamResponse = await handler(request)
            return plain
        # Not any name from a client: each would be a permanent series.
        name = request.match_info.get("name", "")
        catalog = name if name in self._catalogs else ""
        self._observer.started(catalog)
        begin = time.perf_counter()
        status = _CLIENT_LEFT
        try:
            response: web.StreamResponse = await handler(request)
            status = response.status
            return response
        except web.HTTPException as error:
            status = error.status
            raise
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            status = 500
            raise
        finally:
            self._observer.handled(catalog, status, time.perf_counter() - begin)

    @web.middleware
    async def _limit_requests(self, request: web.Request, handler: Any) -> web.StreamResponse:
        client = request.remote or ""
        probe = request.path in _PLAIN
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


def _tag(served: _ServedCatalog, encoding: str = "") -> str:
    return f'"{served.metas.digest[:32]}{"-" if encoding else ""}{encoding}"'


async def _hide_server(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)  # it shows releases of Python and of the library


def _read_spans(served: _ServedCatalog, body: _Body) -> bytes:
    try:
        return b"".join(bytes(served.read(*span)) for span in body.spans)
    except OSError:
        served.lost.set()
        raise web.HTTPServiceUnavailable(
            text="the catalog is read again", headers={"Retry-After": "1"}
        ) from None


async def _send(
    request: web.Request, response: web.StreamResponse, served: _ServedCatalog, body: _Body
) -> None:
    if body.pack:
        await _send_packed(response, served, body.spans)
        return
    transport = request.transport
    # A TLS transport must see all bytes, and pieces between other lines are small.
    direct = served.file is not None and len(body.spans) == 1
    if transport is not None and direct and transport.get_extra_info("sslcontext") is None:
        await _copy(transport, served, body.spans[0])
        return
    for span in body.spans:
        for offset, length in _pieces(span):
            await _write(response, bytes(served.read(offset, length)))


async def _send_packed(
    response: web.StreamResponse, served: _ServedCatalog, spans: Sequence[Span]
) -> None:
    packer = zlib.compressobj(6, wbits=31)
    for span in spans:
        for offset, length in _pieces(span):
            await _write(response, packer.compress(served.read(offset, length)))
    await _write(response, packer.flush())


def _pieces(span: Span) -> Iterator[Span]:
    end = span.offset + span.length
    return (Span(at, min(_CHUNK, end - at)) for at in range(span.offset, end, _CHUNK))


async def _copy(transport: asyncio.Transport, served: _ServedCatalog, span: Span) -> None:
    """Let the kernel copy from the file; raises `OSError` if that was changed."""
    assert served.file is not None  # noqa: S101 - the caller looked
    loop = asyncio.get_running_loop()
    at, end, piece = span.offset, span.offset + span.length, _CHUNK
    while at < end:
        if transport.is_closing():  # the loop would raise an error without a type
            raise ConnectionResetError("the client left")
        served.file.check()
        length = min(piece, end - at)
        begin = loop.time()
        async with asyncio.timeout(_STALLED):
            sent = await loop.sendfile(
                transport, served.file.stream, served.file.start + at, length, fallback=False
            )
        if sent != length:
            raise OSError("the file of the catalog is shorter than it was")
        at += length
        quick = loop.time() - begin < _QUICK
        piece = min(2 * piece, _LARGEST_PIECE) if quick else _CHUNK


async def _write(response: web.StreamResponse, data: bytes) -> None:
    if data:
        async with asyncio.timeout(_STALLED):
            await response.write(data)


def _takes_gzip(request: web.Request) -> bool:
    """Return whether the client accepts gzip (RFC 9110, 12.5.3)."""
    weights: dict[str, str] = {}
    for part in ",".join(request.headers.getall("Accept-Encoding", [])).split(","):
        coding, _, parameters = part.partition(";")
        weights[coding.strip().lower()] = parameters.replace(" ", "").lower()
    weight = weights.get("gzip", weights.get("*"))
    return weight is not None and _WEIGHT.fullmatch(weight) is not None


def _range(request: web.Request, served: _ServedCatalog) -> Span | None:
    """Return the requested range; None for the whole, several ranges or an unknown form.

    Raises `HTTPRequestRangeNotSatisfiable`.
    """
    given = request.headers.get("Range", "")
    found = _RANGE.fullmatch(given)
    condition = request.headers.get("If-Range")
    if found is None or not (found[1] or found[2]):
        return None
    if condition and condition not in (
        _tag(served),
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
    """Return 200, 304 or 412, in the order of RFC 9110, 13.2.2."""
    headers = request.headers
    if wanted := headers.get("If-Match"):
        if not _names(wanted, tag, weak=False):
            return 412
    elif _is_before(headers, "If-Unmodified-Since", modified):
        return 412
    if known := headers.get("If-None-Match"):
        return 304 if _names(known, tag, weak=True) else 200
    since = _seconds(headers, "If-Modified-Since")
    return 304 if since is not None and modified <= since else 200


def _names(given: str, tag: str, *, weak: bool) -> bool:
    tags = (one.strip() for one in given.split(","))
    return any(one == "*" or (one.removeprefix("W/") if weak else one) == tag for one in tags)


def _is_before(headers: Mapping[str, str], name: str, modified: int) -> bool:
    until = _seconds(headers, name)
    return until is not None and modified > until


def _seconds(headers: Mapping[str, str], name: str) -> float | None:
    text = headers.get(name, "").strip()
    if _DATE.fullmatch(text) is None:  # it is ignored
        return None
    try:
        zone = "" if text.endswith("GMT") else " GMT"
        return email.utils.parsedate_to_datetime(text + zone).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
