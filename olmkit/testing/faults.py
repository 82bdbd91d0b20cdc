"""A proxy in front of a server on loopback that injects faults.

It responds with 429 and 500, breaks connections before and within bodies, and delays responses,
with a rate and a random source that the test sets; or it injects exactly the faults that a test
sets for the next requests.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

_CHUNK = 16 * 1024


class Fault(StrEnum):
    """A fault that the proxy injects into a request."""

    TOO_MANY = "429"
    ERROR = "500"
    CUT_BEFORE = "cut before it arrives"
    CUT_REQUEST = "cut within the request"
    CUT_ANSWER = "cut within the answer"
    CUT_AFTER = "cut after the server has done it"
    SLOW = "slow"


ALL_FAULTS: tuple[Fault, ...] = tuple(Fault)
"""Every fault, the default of a `FaultProxy`."""


@dataclass(kw_only=True)
class FaultProxy:
    """An asynchronous context manager that forwards requests to `upstream`."""

    upstream: str  # http://host:port
    rate: float = 0.0
    faults: Sequence[Fault] = ALL_FAULTS
    source: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311
    retry_after: str = "0"
    # Takes precedence over the random source if it returns a value.
    plan: Callable[[str, str], Fault | int | None] | None = None  # an int: respond with this status
    seen: list[tuple[str, str, Fault | int | None]] = field(default_factory=list)
    port: int = 0
    _runner: web.AppRunner | None = field(default=None, init=False)
    _client: aiohttp.ClientSession | None = field(default=None, init=False)

    @property
    def host(self) -> str:
        """Return `HOST:PORT` of the proxy."""
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession(auto_decompress=False)
        application = web.Application(client_max_size=1 << 40)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._client is not None:
            await self._client.close()

    def _choose(self, request: web.Request) -> Fault | int | None:
        fault = self.plan(request.method, request.path_qs) if self.plan is not None else None
        if fault is None and self.rate and self.source.random() < self.rate:
            fault = self.source.choice(self.faults)
        self.seen.append((request.method, request.path_qs, fault))
        return fault

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        fault = self._choose(request)
        if isinstance(fault, int):
            return web.Response(status=fault)
        match fault:
            case Fault.TOO_MANY:
                return web.Response(status=429, headers={"Retry-After": self.retry_after})
            case Fault.ERROR:
                return web.Response(status=500, text="this is a fault made for a test")
            case Fault.CUT_BEFORE:
                return _cut(request)
            case Fault.CUT_REQUEST:
                await request.content.read(_CHUNK)
                return _cut(request)
            case _:
                return await self._pass(request, fault)

    async def _pass(self, request: web.Request, fault: Fault | None) -> web.StreamResponse:
        assert self._client is not None  # noqa: S101 - made on entering
        body = request.content.iter_chunked(_CHUNK) if request.can_read_body else None
        headers = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in ("connection", "transfer-encoding")
        }
        try:
            async with self._client.request(
                request.method,
                URL(self.upstream + request.path_qs, encoded=True),
                headers=headers,
                data=body,
                allow_redirects=False,
            ) as answer:
                if fault is Fault.CUT_AFTER:
                    await answer.read()
                    return _cut(request)
                return await self._answer(request, answer, fault)
        except aiohttp.ClientError:
            return _cut(request)

    async def _answer(
        self, request: web.Request, answer: aiohttp.ClientResponse, fault: Fault | None
    ) -> web.StreamResponse:
        headers = {
            name: value
            for name, value in answer.headers.items()
            if name.lower() not in ("connection", "transfer-encoding")
        }
        reply = web.StreamResponse(status=answer.status, headers=headers)
        await reply.prepare(request)
        sent = 0
        async for chunk in answer.content.iter_chunked(_CHUNK):
            if fault is Fault.CUT_ANSWER:
                await reply.write(chunk[: len(chunk) // 2])
                return _cut(request)
            if fault is Fault.SLOW and sent < 3:
                await asyncio.sleep(0.02)
            sent += 1
            await reply.write(chunk)
        if fault is Fault.CUT_ANSWER:
            return _cut(request)
        await reply.write_eof()
        return reply


def _cut(request: web.Request) -> web.Response:
    """Abort the connection without closing it properly."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
