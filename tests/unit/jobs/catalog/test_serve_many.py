"""Several catalogs in one process, TLS on both protocols, metrics."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import grpc.aio
import pytest

from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.base.protobuf import string
from olmkit.edges.network import certificate_files
from olmkit.jobs.catalog.serving import serve
from olmkit.jobs.catalog.serving.settings import Offer, ServeSettings, Serving, TlsSettings
from olmkit.runtime.serve import self_signed

LIST = "/api.Registry/ListPackages"


def catalog(folder: Path, package: str, version: str = "1.0.0") -> Path:
    folder.mkdir(exist_ok=True)
    name = f"{package}.v{version}"
    (folder / "catalog.yaml").write_text(f"""\
---
schema: olm.package
name: {package}
defaultChannel: stable
---
schema: olm.channel
package: {package}
name: stable
entries: [{{name: {name}}}]
---
schema: olm.bundle
package: {package}
name: {name}
image: registry.example/{package}:1
properties: [{{type: olm.package, value: {{packageName: {package}, version: {version}}}}}]
""")
    return folder


@contextlib.asynccontextmanager
async def serving(
    *offers: Offer, failed: asyncio.Queue[OlmkitError] | None = None, **settings: Any
) -> AsyncIterator[tuple[list[Serving], asyncio.Queue[Serving]]]:
    """A running server: the announcement of each catalog, and later messages."""
    announced: asyncio.Queue[Serving] = asyncio.Queue()
    stop = asyncio.Event()
    running = asyncio.create_task(
        serve.serve(
            offers,
            ServeSettings(host="127.0.0.1", port=0, **settings),
            ready=announced.put_nowait,
            failed=failed.put_nowait if failed else lambda _: None,
            stop=stop,
        )
    )
    async with asyncio.timeout(60):
        found = [await announced.get() for _ in offers]
        try:
            yield sorted(found, key=lambda one: [o.name for o in offers].index(one.name)), announced
        finally:
            stop.set()
            await running


async def get(url: str, tls: ssl.SSLContext | bool = True) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, ssl=tls) as answer:
        return answer.status, await answer.text()


def refused(offers: list[Offer], words: str, **given: Any) -> None:
    settings = ServeSettings(host="127.0.0.1", port=0, **given)
    with pytest.raises(ConfigurationError, match=words):
        asyncio.run(serve.serve(offers, settings, ready=print, stop=asyncio.Event()))


async def packages(channel: grpc.aio.Channel) -> list[bytes]:
    return [one[2:] async for one in channel.unary_stream(LIST)(b"")]


def test_each_catalog_has_a_grpc_port_and_all_share_the_http_port(tmp_path: Path) -> None:
    offers = [
        Offer(reference=str(catalog(tmp_path / name, name)), name=f"{name}s")
        for name in ("cog", "gear")
    ]

    async def scenario() -> None:
        async with serving(*offers, http_port=0, cache_folder=tmp_path / "cache") as (found, _):
            assert len({one.port for one in found}) == 2
            assert len({one.http_port for one in found}) == 1
            for one, name in zip(found, ("cog", "gear"), strict=True):
                async with grpc.aio.insecure_channel(f"127.0.0.1:{one.port}") as channel:
                    assert await packages(channel) == [name.encode()]
                base = f"http://127.0.0.1:{one.http_port}"
                path = f"{base}/catalogs/{name}s/api/v1/metas?schema=olm.package"
                assert f'"name":"{name}"' in (await get(path))[1]
                assert (await get(f"{base}/catalogs/{name}/api/v1/all"))[0] == 404
        async with serving(*offers, http_port=0, cache_folder=tmp_path / "cache") as (again, _):
            assert [one.cached for one in again] == [True, True]

    asyncio.run(scenario())


def test_numbered_ports_are_consecutive() -> None:
    settings = ServeSettings(port=50051)
    assert [settings.port_of(number) for number in range(3)] == [50051, 50052, 50053]
    assert ServeSettings(port=0).port_of(2) == 0


@pytest.mark.parametrize(
    ("names", "words"), [(("a", "a"), "two catalogs are called `a`"), (("A", "b"), "cannot be")]
)
def test_invalid_names_are_refused_before_a_port_is_opened(
    tmp_path: Path, names: tuple[str, ...], words: str
) -> None:
    refused([Offer(reference=str(tmp_path), name=name) for name in names], words)


def test_a_change_of_one_catalog_does_not_affect_the_other(tmp_path: Path) -> None:
    folders = [catalog(tmp_path / name, name) for name in ("cog", "gear")]
    offers = [Offer(reference=str(folder), name=folder.name) for folder in folders]

    async def scenario() -> str:
        failed: asyncio.Queue[OlmkitError] = asyncio.Queue()
        async with serving(*offers, failed=failed, http_port=0, metrics_port=0, reload=0.05) as (
            found,
            announced,
        ):
            catalog(folders[0], "cog", "2.0.0")
            changed = await announced.get()
            assert (changed.name, changed.port) == ("cog", found[0].port)
            assert changed.digest != found[0].digest
            (folders[1] / "catalog.yaml").write_text("schema: [")
            assert "is not valid" in str(await failed.get())
            async with grpc.aio.insecure_channel(f"127.0.0.1:{found[1].port}") as channel:
                assert await packages(channel) == [b"gear"]
            assert (found[0].digest in (await get(_metrics(found[0])))[1]) is False
            return (await get(_metrics(found[0])))[1]

    text = asyncio.run(scenario())
    assert 'olmkit_catalog_reloads_total{catalog="cog",result="success"} 1.0' in text
    assert 'olmkit_catalog_reloads_total{catalog="gear",result="error"} 1.0' in text
    assert 'olmkit_catalog_reloads_total{catalog="gear",result="success"} 0.0' in text


def _metrics(found: Serving, scheme: str = "http") -> str:
    return f"{scheme}://127.0.0.1:{found.metrics_port}/metrics"


def test_metrics_have_the_usual_names(tmp_path: Path) -> None:
    offer = Offer(reference=str(catalog(tmp_path / "cog", "cog")), name="shop")

    async def scenario() -> tuple[str, Serving]:
        async with serving(offer, http_port=0, metrics_port=0) as ([found], _):
            async with grpc.aio.insecure_channel(f"127.0.0.1:{found.port}") as channel:
                assert await packages(channel) == [b"cog"]
                with pytest.raises(grpc.aio.AioRpcError):
                    await channel.unary_unary("/api.Registry/GetPackage")(string(1, "zork"))
                health = channel.unary_unary("/grpc.health.v1.Health/Check")
                await health(b"")
                watching = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
                await watching.read()
                base = f"http://127.0.0.1:{found.http_port}/catalogs"
                for path in ("shop/api/v1/all", "zork/api/v1/all", "a/b", "shop/api/v1/metas?x=1"):
                    await get(f"{base}/{path}")
                text = (await get(_metrics(found)))[1]
                watching.cancel()
            return text, found

    text, found = asyncio.run(scenario())
    lines = text.splitlines()

    def value(series: str) -> float:
        (line,) = [one for one in lines if one.startswith(series + " ")]
        return float(line.rpartition(" ")[2])

    def handled(method: str, service: str, kind: str, code: str) -> float:
        labels = {
            "grpc_type": kind,
            "grpc_service": service,
            "grpc_method": method,
            "grpc_code": code,
            "catalog": "shop",
        }
        matching = [
            line
            for line in lines
            if line.startswith("grpc_server_handled_total{")
            and all(f'{name}="{text}"' in line for name, text in labels.items())
        ]
        return float(matching[0].rpartition(" ")[2]) if matching else 0.0

    assert handled("ListPackages", "api.Registry", "server_stream", "OK") == 1
    assert handled("GetPackage", "api.Registry", "unary", "Unknown") == 1
    assert handled("Check", "grpc.health.v1.Health", "unary", "OK") == 1
    assert handled("Watch", "grpc.health.v1.Health", "server_stream", "OK") == 0
    assert value('olmkit_catalog_open_calls{catalog="shop",protocol="grpc"}') == 1
    assert value('catalogd_http_request_duration_seconds_count{catalog="shop",code="200"}') == 1
    assert value('catalogd_http_request_duration_seconds_count{catalog="shop",code="400"}') == 1
    # Unknown names of catalogs do not create a time series each.
    assert value('catalogd_http_request_duration_seconds_count{catalog="",code="404"}') == 2
    assert value(f'olmkit_catalog_info{{catalog="shop",digest="{found.digest}"}}') == 1
    assert value('olmkit_catalog_bundles{catalog="shop"}') == 1
    assert value('olmkit_catalog_loaded_timestamp_seconds{catalog="shop"}') > 1.7e9
    assert value("process_resident_memory_bytes") > 0


def test_metrics_are_on_the_http_port_if_it_is_the_same(tmp_path: Path, free_port: int) -> None:
    offer = Offer(reference=str(catalog(tmp_path / "cog", "cog")), name="shop")

    async def scenario() -> None:
        async with serving(offer, http_port=free_port, metrics_port=free_port) as ([found], _):
            assert found.metrics_port == found.http_port == free_port
            assert "olmkit_catalog_info" in (await get(_metrics(found)))[1]
        async with serving(offer, http_port=0) as ([found], _):
            assert found.metrics_port == 0
            url = f"http://127.0.0.1:{found.http_port}/metrics"
            assert (await get(url))[0] == 404

    asyncio.run(scenario())


@pytest.fixture
def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def pair(folder: Path) -> tuple[TlsSettings, bytes]:
    certificate, key = self_signed.make()
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    files = TlsSettings(certificate=folder / "tls.crt", key=folder / "tls.key", over_grpc=True)
    return files, certificate


async def _over_tls(port: int, ca: bytes) -> list[bytes]:
    credentials = grpc.ssl_channel_credentials(ca)
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.secure_channel(f"localhost:{port}", credentials, options) as channel:
        async with asyncio.timeout(20):
            return await packages(channel)


async def _fails_over_tls(port: int, ca: bytes) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await _over_tls(port, ca)
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE


def test_both_protocols_use_the_certificate_and_its_renewal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate_files, "_LOOK", 0.05)
    offer = Offer(reference=str(catalog(tmp_path / "cog", "cog")), name="shop")
    tls, first = pair(tmp_path)

    async def scenario() -> None:
        async with serving(offer, http_port=0, metrics_port=0, tls=tls) as ([found], _):
            url = f"https://localhost:{found.http_port}/catalogs/shop/api/v1/all"

            async def http(ca: bytes) -> int:
                return (await get(url, ssl.create_default_context(cadata=ca.decode())))[0]

            assert await http(first) == 200
            assert await _over_tls(found.port, first) == [b"cog"]
            assert (
                "olmkit_catalog_info"
                in (
                    await get(
                        f"https://localhost:{found.metrics_port}/metrics",
                        ssl.create_default_context(cadata=first.decode()),
                    )
                )[1]
            )
            # Half of a pair is not used.
            _, second = pair(tmp_path)
            good = (tmp_path / "tls.key").read_bytes()
            (tmp_path / "tls.key").write_bytes(self_signed.make()[1])
            await asyncio.sleep(0.3)
            assert await _over_tls(found.port, first) == [b"cog"]
            assert await http(first) == 200
            (tmp_path / "tls.key").write_bytes(good)
            await asyncio.sleep(0.3)
            assert await _over_tls(found.port, second) == [b"cog"]
            assert await http(second) == 200
            await _fails_over_tls(found.port, first)
            with pytest.raises(aiohttp.ClientError):
                await http(first)

    asyncio.run(scenario())


def test_files_that_are_not_a_pair_are_refused(tmp_path: Path) -> None:
    offer = Offer(reference=str(catalog(tmp_path / "cog", "cog")), name="shop")
    tls, _ = pair(tmp_path)
    (tmp_path / "tls.key").write_text("no key")

    refused([offer], "are not a certificate and its key", tls=tls)
