"""Servers that run with a manager."""

from __future__ import annotations

import asyncio
import logging

import aiohttp
import pytest
from aiohttp import web

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.network import http_server
from olmkit.edges.network.http_server import HttpServer


def _requests(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return the log records of requests, without the line about the start."""
    ours = [one for one in caplog.records if one.name.startswith("olmkit.")]
    return [one for one in ours if one.getMessage() != "serves"]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("0", None),
        ("", None),
        (":8081", (None, 8081)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:8081", ("::1", 8081)),
        ("localhost:1", ("localhost", 1)),
    ],
)
def test_an_address_has_the_usual_format(text: str, parsed: tuple[str | None, int] | None) -> None:
    assert http_server.parse_address(text) == parsed


@pytest.mark.parametrize("text", ["8081", ":", ":x", ":65536", "a:-1", ":²"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not an address"):
        http_server.parse_address(text)


def test_a_server_answers_until_it_is_cancelled() -> None:
    async def work() -> None:
        server = HttpServer("probes", web.Application(), ("127.0.0.1", 0))
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{server.port}/") as answer:
                assert answer.status == 404
            running.cancel()
            await asyncio.wait([running])
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get(f"http://127.0.0.1:{server.port}/")

    asyncio.run(work())


@pytest.mark.parametrize(
    "sent", [b"GET /\x00 HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 20_000]
)
def test_a_request_that_is_not_http_is_refused_without_a_traceback(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def work() -> None:
        server = HttpServer("probes", web.Application(), ("127.0.0.1", 0))
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        assert (await reader.read()).startswith(b"HTTP/1.0 400 ")
        writer.close()
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(work())
    [record] = _requests(caplog)
    assert (record.levelname, record.exc_info) == ("DEBUG", None)
    assert record.getMessage().startswith("refused a malformed request: ")
    assert len(record.getMessage()) < 160


def test_a_body_that_contradicts_its_headers_is_not_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The library reads the rest of a body after the answer."""
    caplog.set_level(logging.DEBUG)

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=405)

    async def scenario() -> bytes:
        application = web.Application()
        application.router.add_route("*", "/", answer)
        server = HttpServer("it", application, ("127.0.0.1", 0))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.run())
            await server.wait_until_ready()
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(
                b"POST / HTTP/1.1\r\nHost: x\r\n"
                b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"
            )
            answered = await reader.read()
            writer.close()
            task.cancel()
        return answered

    assert asyncio.run(scenario()).startswith(b"HTTP/1.1 405")
    [record] = _requests(caplog)
    assert record.levelname == "DEBUG"
    assert record.getMessage().startswith("refused a malformed request: ")


def test_an_answer_that_is_not_read_is_not_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def send(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(100):
            await answer.write(b"x" * 1_000_000)
        return answer

    async def work() -> None:
        application = web.Application()
        application.router.add_get("/", send)
        server = HttpServer("probes", application, ("127.0.0.1", 0))
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readexactly(1000)
        writer.transport.abort()
        for _ in range(100):
            if _requests(caplog):
                break
            await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(work())
    assert [one.levelname for one in _requests(caplog)] == ["DEBUG"]


def test_a_failing_handler_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(_: web.Request) -> web.Response:
        raise ValueError("a fault")

    async def work() -> None:
        application = web.Application()
        application.router.add_get("/", fail)
        server = HttpServer("probes", application, ("127.0.0.1", 0))
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{server.port}/") as answer,
        ):
            assert answer.status == 500
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(work())
    [record] = _requests(caplog)
    assert record.levelname == "ERROR"
    assert record.exc_info is not None


def test_a_port_in_use_is_an_error_with_a_hint() -> None:
    async def work() -> None:
        first = HttpServer("first", web.Application(), ("127.0.0.1", 0))
        running = asyncio.create_task(first.run())
        await first.wait_until_ready()
        second = HttpServer("second", web.Application(), ("127.0.0.1", first.port))
        with pytest.raises(ConfigurationError, match="second cannot listen on"):
            await second.run()
        await second.wait_until_ready()
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(work())


def test_a_connection_without_a_complete_header_is_closed_and_others_stay_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "_HEAD", 1.0)

    async def check() -> None:
        server = HttpServer("probes", web.Application(), ("127.0.0.1", 0))
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        silent = await asyncio.open_connection("127.0.0.1", server.port)
        partial = await asyncio.open_connection("127.0.0.1", server.port)
        partial[1].write(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        used = await asyncio.open_connection("127.0.0.1", server.port)
        used[1].write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        async with asyncio.timeout(60):
            assert await silent[0].read() == b""
            assert await partial[0].read() == b""
        assert b"404" in await used[0].readline()
        used[1].write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await used[0].read()).count(b"HTTP/1.1 404") == 1
        for _, writer in (silent, partial, used):
            writer.close()
            await writer.wait_closed()
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(check())
