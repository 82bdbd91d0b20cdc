"""Served pages: safe headers, old URLs, changes while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.cli import main
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.hub import serve, sources
from olmkit.jobs.hub.serve import ServeOptions, Serving

ROOT = Path(__file__).resolve().parents[4]
NOTICE = "The catalog changed and cannot be read"


class Server:
    """A running hub, and its messages."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[Serving] = asyncio.Queue()
        self.errors: asyncio.Queue[OlmkitError] = asyncio.Queue()
        self.address = ""


@contextlib.asynccontextmanager
async def served(
    *references: str, reload: float = 0.1, bundle: Path | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    server = Server()
    stop = asyncio.Event()
    options = ServeOptions(host=host, port=0, reload=reload, bundle=bundle)
    running = asyncio.ensure_future(
        serve.serve(
            references,
            options,
            Access(),
            ready=server.said.put_nowait,
            failed=server.errors.put_nowait,
            stop=stop,
        )
    )
    try:
        first = asyncio.ensure_future(server.said.get())
        await asyncio.wait((first, running), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            first.cancel()
            running.result()
        server.address = first.result().address
        yield server
    finally:
        stop.set()
        await asyncio.wait([running], timeout=20)


def test_pages_have_safe_headers_and_tags() -> None:
    async def run() -> None:
        async with served(str(ROOT / "catalog")) as server, aiohttp.ClientSession() as client:
            async with client.get(f"{server.address}p/memcached-operator/") as answer:
                assert answer.status == 200
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "frame-ancestors 'none'" in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                tag = answer.headers["ETag"]
            sent = {"If-None-Match": tag}
            async with client.get(f"{server.address}p/memcached-operator/", headers=sent) as again:
                assert again.status == 304
            async with client.head(server.address) as head:
                assert head.status == 200
                assert int(head.headers["Content-Length"]) > 0
            async with client.post(server.address) as post:
                assert post.status == 405
            async with client.get(f"{server.address}no/such/page") as missing:
                assert missing.status == 404
            other = {"Host": "attacker.example"}
            async with client.get(server.address, headers=other) as rebound:
                assert rebound.status == 403

    asyncio.run(run())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("operator/memcached-operator", "/p/memcached-operator/"),
        ("operator/memcached-operator/", "/p/memcached-operator/"),
        ("operator/memcached-operator/gone", "/p/memcached-operator/"),
        (
            "operator/memcached-operator/alpha/memcached-operator.v0.0.1",
            "/p/memcached-operator/memcached-operator.v0.0.1/",
        ),
        ("p/memcached-operator", "/p/memcached-operator/"),
    ],
)
def test_old_urls_redirect_to_the_pages(old: str, new: str) -> None:
    async def run() -> None:
        async with (
            served(str(ROOT / "catalog")) as server,
            aiohttp.ClientSession() as client,
            client.get(f"{server.address}{old}", allow_redirects=False) as answer,
        ):
            assert answer.status == 301
            assert answer.headers["Location"] == new

    asyncio.run(run())


def test_icons_have_a_policy_that_allows_no_code() -> None:
    async def run() -> None:
        async with served(str(ROOT / "catalog")) as server, aiohttp.ClientSession() as client:
            async with client.get(f"{server.address}index.json") as answer:
                assert answer.headers["Access-Control-Allow-Origin"] == "*"
                icon = (await answer.json())["packages"][0]["icon"]
            async with client.get(f"{server.address}{icon}") as answer:
                assert answer.content_type == "image/svg+xml"
                assert "sandbox" in answer.headers["Content-Security-Policy"]

    asyncio.run(run())


def test_a_change_is_served_and_an_invalid_one_keeps_the_pages(tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    shutil.copytree(ROOT / "catalog", folder)
    (file,) = folder.rglob("catalog.yaml")
    text = file.read_text()

    async def run() -> None:
        async with served(str(folder)) as server, aiohttp.ClientSession() as client:
            file.write_text(text.replace("memcached-operator", "cached-operator"))
            await asyncio.wait_for(server.said.get(), 30)
            async with client.get(f"{server.address}p/cached-operator/") as answer:
                assert answer.status == 200
                assert NOTICE not in await answer.text()
            revision = await _text(client, f"{server.address}revision.txt")
            file.write_text("")
            await asyncio.wait_for(server.errors.get(), 30)
            async with client.get(f"{server.address}p/cached-operator/") as answer:
                assert answer.status == 200
                assert NOTICE in await answer.text()
            assert revision != await _text(client, f"{server.address}revision.txt")
            file.write_text(text)
            await asyncio.wait_for(server.said.get(), 30)
            assert NOTICE not in await _text(client, f"{server.address}p/memcached-operator/")

    asyncio.run(run())


async def _text(client: aiohttp.ClientSession, address: str) -> str:
    async with client.get(address) as answer:
        assert answer.status == 200
        return await answer.text()


def test_pages_for_other_machines_do_not_poll_for_changes() -> None:
    async def run() -> None:
        async with served(str(ROOT / "catalog"), host="0.0.0.0") as server:  # noqa: S104
            address = server.address.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
            async with aiohttp.ClientSession() as client:
                assert "live.js" not in await _text(client, address)
                async with client.get(f"{address}revision.txt") as answer:
                    assert answer.status == 404
        async with (
            served(str(ROOT / "catalog")) as server,
            aiohttp.ClientSession() as client,
        ):
            assert "static/live.js" in await _text(client, server.address)
            assert "revision.txt" in await _text(client, f"{server.address}static/live.js")

    asyncio.run(run())


def test_a_change_while_the_catalog_is_read_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "catalog"
    shutil.copytree(ROOT / "catalog", folder)
    (file,) = folder.rglob("catalog.yaml")
    text = file.read_text()
    read = sources.read

    async def read_before_a_change(*words: Any, **more: Any) -> Any:
        found = await read(*words, **more)
        file.write_text(text.replace("memcached-operator", "cached-operator"))
        return found

    monkeypatch.setattr(sources, "read", read_before_a_change)

    async def run() -> None:
        async with served(str(folder)) as server, aiohttp.ClientSession() as client:
            await asyncio.wait_for(server.said.get(), 30)
            async with client.get(f"{server.address}p/cached-operator/") as answer:
                assert answer.status == 200

    asyncio.run(run())


def test_a_bundle_is_previewed_while_it_changes(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(ROOT / "bundle" / "0.0.2", folder)
    (csv,) = folder.rglob("*clusterserviceversion.yaml")
    text = csv.read_text()

    async def run() -> None:
        async with served(bundle=folder) as server, aiohttp.ClientSession() as client:
            async with client.get(f"{server.address}p/memcached-operator/") as answer:
                assert answer.status == 200
            changed = text.replace("displayName: Memcached Operator", "displayName: New Name")
            assert changed != text
            csv.write_text(changed)
            await asyncio.wait_for(server.said.get(), 30)
            async with client.get(f"{server.address}p/memcached-operator/") as answer:
                assert "New Name" in await answer.text()

    asyncio.run(run())


def test_a_port_in_use_is_an_error() -> None:
    async def run() -> None:
        async with served(str(ROOT / "catalog")) as server:
            port = int(server.address.rstrip("/").rpartition(":")[2])
            with pytest.raises(ConfigurationError, match="cannot listen"):
                await serve.serve(
                    [str(ROOT / "catalog")],
                    ServeOptions(port=port),
                    Access(),
                    ready=lambda _: None,
                    failed=lambda _: None,
                    stop=asyncio.Event(),
                )

    asyncio.run(run())


def test_a_catalog_or_a_bundle_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["hub", "serve"]) != 0
    assert "name a catalog" in capsys.readouterr().err
