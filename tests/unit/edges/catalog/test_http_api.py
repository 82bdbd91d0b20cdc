"""OLM v1's HTTP API: answers, conditions, ranges, compression, limits."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import aiohttp
import pytest
from aiohttp import web

from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.serve import metas
from olmkit.edges.catalog import http_api
from olmkit.edges.catalog.http_api import CatalogApi
from olmkit.edges.network.http_server import HttpServer

VALUES = [{"schema": "olm.package", "name": "cog"}] + [
    {"schema": "note", "package": "cog", "name": f"n{number}", "text": "x" * 100}
    for number in range(30)
]
LINES = b"".join(Blob.of(value).raw for value in VALUES)
URL = "/catalogs/shop/api/v1/"


def fill(api: CatalogApi, values: list[dict[str, str]] = VALUES) -> None:
    stored = bytearray()
    packer = zlib.compressobj(wbits=31)

    def append(piece: bytes) -> int:
        stored.extend(piece)
        return 0

    built = metas.build(
        (Blob.of(value) for value in values),
        append,
        lambda piece: packer.compress(piece) if piece else packer.flush(),
    )
    api.answer_from("shop", built, lambda offset, length: bytes(stored[offset : offset + length]))


Client = Callable[..., Awaitable[tuple[int, Mapping[str, str], bytes]]]


def with_server(
    story: Callable[[CatalogApi, Client], Awaitable[None]], *, filled: bool = True
) -> None:
    async def scenario() -> None:
        api = CatalogApi(["shop"])
        if filled:
            fill(api)
        server = HttpServer("catalogs", api.application, ("127.0.0.1", 0))

        async def port(_: web.Request) -> web.Response:
            return web.Response(text=str(server.port))

        api.application.router.add_get("/port", port)
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        async with aiohttp.ClientSession(
            f"http://127.0.0.1:{server.port}", auto_decompress=False
        ) as session:

            async def client(
                path: str, *, method: str = "GET", **headers: str
            ) -> tuple[int, Mapping[str, str], bytes]:
                sent = {name.replace("_", "-"): text for name, text in headers.items()}
                sent.setdefault("Accept-Encoding", "identity")
                url = path if path.startswith("/") else URL + path
                async with session.request(method, url, headers=sent) as response:
                    return response.status, response.headers, await response.read()

            await story(api, client)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(scenario())


def test_all_blobs_and_those_of_a_query_are_returned() -> None:
    async def story(_: CatalogApi, client: Client) -> None:
        status, headers, body = await client("all")
        assert (status, body) == (200, LINES)
        assert headers["Content-Type"] == "application/jsonl"
        assert "Server" not in headers
        assert (await client("metas"))[2] == LINES
        assert (await client("metas?schema=olm.package&name=cog"))[2] == Blob.of(VALUES[0]).raw
        assert (await client("metas?package=&name=n3"))[2] == Blob.of(VALUES[4]).raw
        status, headers, body = await client("metas?name=zork")
        assert (status, body, headers["Content-Length"]) == (200, b"", "0")

    with_server(story)


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("metas?color=red", "GET", 400),
        ("/catalogs/other/api/v1/all", "GET", 404),
        ("/catalogs/Bad_Name/api/v1/all", "GET", 400),
        ("/catalogs/shop/api/v1/graphql", "GET", 404),
        ("/", "GET", 404),
        ("all", "POST", 405),
        ("metas", "DELETE", 405),
    ],
)
def test_unknown_paths_and_methods_are_refused(path: str, method: str, status: int) -> None:
    async def story(_: CatalogApi, client: Client) -> None:
        assert (await client(path, method=method))[0] == status

    with_server(story)


def test_head_has_the_headers_of_get() -> None:
    async def story(_: CatalogApi, client: Client) -> None:
        for path in ("all", "metas?name=n3"):
            got, head = await client(path), await client(path, method="HEAD")
            assert head[2] == b""
            for name in ("ETag", "Last-Modified", "Content-Length", "Content-Type"):
                assert got[1][name] == head[1][name]

    with_server(story)


def test_conditional_requests_are_answered() -> None:
    async def story(api: CatalogApi, client: Client) -> None:
        _, headers, _ = await client("all")
        tag, date = headers["ETag"], headers["Last-Modified"]
        old = "Thu, 01 Jan 1970 00:00:00 GMT"
        for sent, status in (
            ({"If_None_Match": tag}, 304),
            ({"If_None_Match": f'"a", W/{tag}'}, 304),
            ({"If_None_Match": "*"}, 304),
            ({"If_None_Match": '"a" , *'}, 304),
            ({"If_None_Match": ""}, 200),
            ({"If_None_Match": '"a"'}, 200),
            ({"If_None_Match": '"a"', "If_Modified_Since": date}, 200),
            ({"If_Modified_Since": date}, 304),
            ({"If_Modified_Since": old}, 200),
            ({"If_Modified_Since": "soon"}, 200),
            ({"If_Modified_Since": "Sat Jan  2 00:00:00 2100"}, 304),
            ({"If_Modified_Since": "Sunday, 01-Jan-68 00:00:00 GMT"}, 304),
            ({"If_Modified_Since": "Fri, 01 Jan 2100 00:00:00 +0000"}, 200),
            ({"If_Modified_Since": "Fri, 32 Jan 2100 00:00:00 GMT"}, 200),
            ({"If_Match": tag}, 200),
            ({"If_Match": f"W/{tag}"}, 412),
            ({"If_Match": '"a"'}, 412),
            ({"If_Match": '*, "a"'}, 200),
            ({"If_Match": ""}, 200),
            ({"If_Match": '"a"', "Range": "bytes=999999-"}, 412),
            ({"If_None_Match": tag, "Range": "bytes=999999-"}, 304),
            ({"If_Unmodified_Since": old}, 412),
            ({"If_Unmodified_Since": date}, 200),
        ):
            for path in ("all", "metas?name=n3"):
                got, _, body = await client(path, **sent)
                assert got == status, sent
                assert status == 200 or body == b""
        fill(api, VALUES[:3])
        assert (await client("all", If_None_Match=tag))[0] == 200

    with_server(story)


def test_the_tag_only_depends_on_content_and_encoding() -> None:
    async def story(api: CatalogApi, client: Client) -> None:
        first = (await client("all"))[1]["ETag"]
        packed = (await client("all", Accept_Encoding="gzip"))[1]["ETag"]
        assert first != packed
        fill(api)
        assert (await client("all"))[1]["ETag"] == first

    with_server(story)


def test_large_answers_are_compressed_for_clients_that_accept_it() -> None:
    async def story(_: CatalogApi, client: Client) -> None:
        for path in ("all", "metas?package=cog"):
            plain = (await client(path))[2]
            for accepted in ("gzip", "br, GZIP;q=0.5", "*"):
                _, headers, body = await client(path, Accept_Encoding=accepted)
                assert headers["Content-Encoding"] == "gzip"
                assert headers["Vary"] == "Accept-Encoding"
                assert gzip.decompress(body) == plain
                assert len(body) < len(plain)
            for accepted in ("", "br", "gzip;q=0", "gzip; q=0.00, *", "gzip;q=x"):
                _, headers, body = await client(path, Accept_Encoding=accepted)
                assert "Content-Encoding" not in headers
                assert body == plain
        _, headers, _ = await client("metas?name=n3", Accept_Encoding="gzip")
        assert "Content-Encoding" not in headers

    with_server(story)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ("bytes=0-9", slice(0, 10)),
        ("bytes=5-", slice(5, None)),
        ("bytes=-7", slice(-7, None)),
        ("bytes=-99999999", slice(0, None)),
        ("bytes=3-99999999", slice(3, None)),
        ("bytes=3-99999999999999999999", slice(3, None)),
        ("Bytes= 5-", slice(5, None)),
    ],
)
def test_one_range_is_answered(given: str, part: slice) -> None:
    async def story(_: CatalogApi, client: Client) -> None:
        status, headers, body = await client("all", Range=given, Accept_Encoding="gzip")
        assert (status, body) == (206, LINES[part])
        start = len(LINES) - len(LINES[part]) if given != "bytes=0-9" else 0
        end = start + len(body) - 1
        assert headers["Content-Range"] == f"bytes {start}-{end}/{len(LINES)}"

    with_server(story)


def test_other_ranges_are_ignored_or_refused() -> None:
    async def story(_: CatalogApi, client: Client) -> None:
        for given in (
            "bytes=0-1,3-4",
            "lines=0-1",
            "bytes=9-3",
            "bytes=-",
            "bytes=x-",
            "bytes =0-1",
        ):
            assert (await client("all", Range=given))[::2] == (200, LINES)
        status, headers, _ = await client("all", Range=f"bytes={len(LINES)}-")
        assert (status, headers["Content-Range"]) == (416, f"bytes */{len(LINES)}")
        assert (await client("all", Range="bytes=-0"))[0] == 416
        tag = (await client("all"))[1]["ETag"]
        assert (await client("all", Range="bytes=0-0", If_Range=tag))[0] == 206
        assert (await client("all", Range="bytes=0-0", If_Range='"a"'))[0] == 200

    with_server(story)


def test_requests_are_held_until_the_catalog_is_read() -> None:
    async def story(api: CatalogApi, client: Client) -> None:
        assert (await client("/healthz"))[0] == 200
        assert (await client("/readyz"))[0] == 503
        waiting = asyncio.create_task(asyncio.wait_for(client("all"), 10))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        fill(api)
        assert (await waiting)[2] == LINES
        assert (await client("/readyz"))[0] == 200

    with_server(story, filled=False)


def test_a_client_has_a_limit_and_probes_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_api, "MAX_REQUESTS_OF_ONE", 2)

    async def story(api: CatalogApi, client: Client) -> None:
        waiting = [asyncio.create_task(client("all")) for _ in range(2)]
        await asyncio.sleep(0.1)
        status, headers, _ = await client("all")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert (await client("/healthz"))[0] == 200
        fill(api)
        assert [one[0] for one in await asyncio.gather(*waiting)] == [200, 200]
        assert (await client("all"))[0] == 200

    with_server(story, filled=False)


@dataclass(eq=False)
class OnDisk:
    """Lines in a file after a header of 7 bytes; the check number `checks` + 1 raises `fault`."""

    path: Path
    checks: int = 1_000
    start: int = 7

    def __post_init__(self) -> None:
        self.path.write_bytes(b"header\n" + LARGE.raw)
        self.stream: BinaryIO = self.path.open("rb")

    def check(self) -> None:
        self.checks -= 1
        if self.checks < 0:
            raise OSError("changed")

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self.stream.fileno(), length, self.start + offset)


LARGE = Blob.of({"schema": "note", "text": "".join(map(str, range(1_000_000)))})


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[Callable[..., OnDisk]]:
    with contextlib.ExitStack() as stack:

        def create(name: str = "lines", checks: int = 1_000) -> OnDisk:
            file = OnDisk(tmp_path / name, checks)
            stack.callback(file.stream.close)
            return file

        yield create


def serve_large(api: CatalogApi, file: OnDisk) -> None:
    api.answer_from("shop", metas.build([LARGE], lambda _: 0, bytes), file.read, file)


def test_a_large_answer_is_copied_from_the_file(on_disk: Callable[..., OnDisk]) -> None:
    async def story(api: CatalogApi, client: Client) -> None:
        serve_large(api, on_disk())
        answers = await asyncio.gather(*(client("all") for _ in range(5)))
        assert all(body == LARGE.raw for _, _, body in answers)
        assert (await client("metas?schema=note"))[2] == LARGE.raw
        status, _, body = await client("all", Range="bytes=1000-2000000")
        assert (status, body) == (206, LARGE.raw[1000:2000001])
        status, headers, body = await client("all", method="HEAD")
        assert (status, body, headers["Content-Length"]) == (200, b"", str(len(LARGE.raw)))

    with_server(story)


def test_a_file_that_changes_while_it_is_copied_ends_the_answer(
    on_disk: Callable[..., OnDisk],
) -> None:
    async def story(api: CatalogApi, client: Client) -> None:
        serve_large(api, on_disk(checks=2))
        with pytest.raises(aiohttp.ClientError):
            await client("all")
        assert api.lost("shop").is_set()
        file = on_disk("short")
        serve_large(api, file)
        os.truncate(file.path, 2_000_000)
        with pytest.raises(aiohttp.ClientError):
            await client("all")
        assert api.lost("shop").is_set()

    with_server(story)


def test_clients_that_disconnect_or_stall_do_not_affect_others(
    on_disk: Callable[..., OnDisk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_api, "_STALLED", 3.0)

    async def story(api: CatalogApi, client: Client) -> None:
        serve_large(api, on_disk())
        port = int((await client("/port"))[2])
        head = f"GET {URL}all HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n\r\n".encode()
        leaving, stalled = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in (leaving, stalled):
            writer.write(head)
            await reader.readline()
        leaving[1].transport.abort()
        assert (await client("all"))[2] == LARGE.raw
        await asyncio.sleep(4)  # The server has closed the connection at this point.
        assert len(await stalled[0].read()) < len(LARGE.raw)
        assert not api.lost("shop").is_set()
        stalled[1].close()
        assert (await client("all"))[2] == LARGE.raw

    with_server(story)


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_file_that_cannot_be_read_ends_the_answer_and_is_reported(size: int) -> None:
    async def story(api: CatalogApi, client: Client) -> None:
        def broken(_offset: int, _length: int) -> bytes:
            raise OSError("changed")

        blob = Blob.of({"schema": "note", "text": "x" * size})
        api.answer_from("shop", metas.build([blob], lambda _: 0, bytes), broken)
        if size == 10:  # Nothing was sent, so the client can get the status to try again.
            status, headers, _ = await client("all")
            assert (status, headers["Retry-After"]) == (503, "1")
        else:
            with pytest.raises(aiohttp.ClientError):
                await client("all")
        assert api.lost("shop").is_set()
        fill(api)
        assert not api.lost("shop").is_set()

    with_server(story)
