"""Servers that send a byte now and then, or stop reading: the client ends in time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import cast

import pytest

from olmkit.edges.network.pace import Pace, TooSlow
from olmkit.edges.network.web import SlowError, Web, WebOptions

IMPATIENT = WebOptions(read_timeout=1.0, connect_timeout=0.5, attempts=1)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def drips(first: bytes, drop: bytes) -> Serve:
    """An answer that begins with `first` and continues with a `drop` every 50 ms."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(first)
            while True:
                writer.write(drop)
                await writer.drain()
                await asyncio.sleep(0.05)

    return serve


async def deaf(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never reads."""
    transport = writer.transport
    assert isinstance(transport, asyncio.ReadTransport)
    transport.pause_reading()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(60)
    writer.close()


async def exchange(serve: Serve, method: str, body: AsyncIterator[bytes] | None = None) -> bytes:
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        writers.append(writer)
        await serve(reader, writer)

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with asyncio.timeout(20), Web(IMPATIENT) as client:
            async with client.send(method, f"http://127.0.0.1:{port}/", body=body) as reply:
                return b"".join([chunk async for chunk in reply.chunks()])
    finally:
        # Python 3.11 leaves accepted connections open.
        server.close()
        for writer in writers:
            writer.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        (drips(HEAD, b"x"), "sends less than 1 kB per second"),
        (drips(b"HTTP/1.1 200 OK\r\nX: ", b"x"), "does not answer in time"),
        (drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "does not answer in time"),
        (
            drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
            "does not answer in time",
        ),
    ],
    ids=["body", "head", "informational", "chunk-extension"],
)
def test_an_answer_that_never_ends_is_an_error(serve: Serve, message: str) -> None:
    with pytest.raises(SlowError, match=message):
        asyncio.run(exchange(serve, "GET"))


def test_a_server_that_stops_reading_is_an_error_and_the_source_is_closed() -> None:
    closed = []

    async def content() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 500
        finally:
            closed.append(True)

    with pytest.raises(SlowError, match="does not answer in time"):
        asyncio.run(exchange(deaf, "PUT", content()))
    assert closed == [True]


def test_time_in_which_the_receiver_is_busy_does_not_count() -> None:
    async def check() -> None:
        pace = Pace(0.2)

        async def piece() -> bytes:
            return b"x"

        for _ in range(4):
            assert await pace.take(piece()) == b"x"
            await asyncio.sleep(0.1)

    asyncio.run(check())


def test_a_slow_connection_is_not_an_error() -> None:
    async def check() -> None:
        pace = Pace(1.0)

        async def piece(size: int) -> bytes:
            await asyncio.sleep(0.1)
            return bytes(size)

        for _ in range(15):
            await pace.take(piece(2000))
        for _ in range(25):
            await pace.take(piece(10))

    with pytest.raises(TooSlow):
        asyncio.run(check())
