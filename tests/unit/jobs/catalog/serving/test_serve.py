"""Serving a catalog: its cache, its validation, its end."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import grpc.aio
import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError, RemoteError
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.cli import main
from olmkit.edges.catalog.cache import REGISTRY
from olmkit.edges.folder import Folder
from olmkit.jobs.catalog.serving import prepared_catalogs, serve
from olmkit.jobs.catalog.serving.prepared_catalogs import Prepared
from olmkit.jobs.catalog.serving.settings import Offer, ServeSettings, Serving

CATALOG = """\
---
schema: olm.package
name: cog
defaultChannel: stable
---
schema: olm.channel
package: cog
name: stable
entries:
  - name: cog.v1.0.0
---
schema: olm.bundle
package: cog
name: cog.v1.0.0
image: registry.example/cog:1
properties:
  - type: olm.package
    value:
      packageName: cog
      version: 1.0.0
"""

FILE_NAME = REGISTRY.file_name


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "cog.yaml").write_text(CATALOG)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def on_loopback(**given: Any) -> ServeSettings:
    return ServeSettings(host="127.0.0.1", port=0, **given)


def prepare(folder: Path, cache: Path | None) -> Prepared:
    return prepared_catalogs.prepare(str(folder), Folder(folder), cache)


def names(prepared: Prepared) -> list[bytes]:
    """Return the answers of the prepared catalog, and close it."""
    found = list(RegistryApi(prepared.store.index, prepared.store.read).list_packages())
    prepared.store.close()
    return [message[2:] for message in found]


def test_the_first_start_writes_the_cache_and_the_second_reads_it(
    catalog: Path, cache: Path
) -> None:
    first = prepare(catalog, cache)
    assert (first.cached, first.kept, names(first)) == (False, True, [b"cog"])
    second = prepare(catalog, cache)
    assert (second.cached, second.kept, names(second)) == (True, True, [b"cog"])


def test_without_a_cache_directory_no_file_is_kept(catalog: Path) -> None:
    prepared = prepare(catalog, None)
    assert (prepared.cached, prepared.kept, names(prepared)) == (False, False, [b"cog"])


def test_a_changed_catalog_is_read_again(catalog: Path, cache: Path) -> None:
    names(prepare(catalog, cache))
    (catalog / "cog.yaml").write_text(CATALOG.replace("cog", "axle"))
    changed = prepare(catalog, cache)
    assert (changed.cached, names(changed)) == (False, [b"axle"])
    (catalog / ".indexignore").write_text("cog.yaml\n")
    ignored = prepare(catalog, cache)
    assert (ignored.cached, names(ignored)) == (False, [])


def test_a_reverted_catalog_is_also_read_again(catalog: Path, cache: Path) -> None:
    names(prepare(catalog, cache))
    (catalog / "cog.yaml").write_text(CATALOG.replace("cog", "axle"))
    names(prepare(catalog, cache))
    (catalog / "cog.yaml").write_text(CATALOG)
    assert names(prepare(catalog, cache)) == [b"cog"]


def test_a_damaged_cache_is_rebuilt(catalog: Path, cache: Path) -> None:
    names(prepare(catalog, cache))
    file = cache / FILE_NAME
    data = bytearray(file.read_bytes())
    data[-40] ^= 1
    file.write_bytes(data)
    again = prepare(catalog, cache)
    assert (again.cached, names(again)) == (False, [b"cog"])
    assert prepare(catalog, cache).cached


def test_two_catalogs_in_one_cache_directory_do_not_affect_each_other(
    catalog: Path, cache: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "axle.yaml").write_text(CATALOG.replace("cog", "axle"))
    first = prepare(catalog, cache)
    second = prepare(other, cache)
    assert names(first) == [b"cog"]
    assert names(second) == [b"axle"]


def test_an_invalid_catalog_is_refused_with_all_errors_and_leaves_no_cache(
    catalog: Path, cache: Path
) -> None:
    broken = CATALOG.replace("defaultChannel: stable", "defaultChannel: none")
    (catalog / "cog.yaml").write_text(broken.replace("version: 1.0.0", "version: one"))
    with pytest.raises(InputError) as error:
        prepare(catalog, cache)
    assert len(error.value.diagnostics) >= 2
    assert all(found.at is not None for found in error.value.diagnostics)
    assert not cache.exists()


def test_a_catalog_that_cannot_be_served_leaves_no_cache_either(catalog: Path, cache: Path) -> None:
    (catalog / "note.yaml").write_text("schema: my note\n")
    with pytest.raises(InputError) as error:
        prepare(catalog, cache)
    assert [found.rule for found in error.value.diagnostics] == ["SRV002"]
    assert list(cache.iterdir()) == []


def test_a_missing_directory_is_invalid_usage(tmp_path: Path, cache: Path) -> None:
    for folder in (None, cache):
        with pytest.raises(ConfigurationError, match="does not exist"):
            prepare(tmp_path / "none", folder)


def test_an_empty_directory_is_an_empty_catalog(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert names(prepare(tmp_path / "empty", None)) == []


def test_a_cache_that_cannot_be_written_is_only_an_error_if_it_is_the_only_result(
    catalog: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    nowhere = tmp_path / "file" / "cache"
    assert names(prepare(catalog, nowhere)) == [b"cog"]
    with pytest.raises(RemoteError, match="cannot be stored"):
        asyncio.run(prepared_catalogs.fill_cache(str(catalog), nowhere))


def test_a_cache_inside_the_catalog_is_invalid_usage(catalog: Path) -> None:
    with pytest.raises(ConfigurationError, match="is inside the catalog"):
        asyncio.run(prepared_catalogs.fill_cache(str(catalog), catalog / "cache"))
    assert [path.name for path in catalog.iterdir()] == ["cog.yaml"]


def test_filling_the_cache_makes_the_next_start_fast(catalog: Path, cache: Path) -> None:
    assert not asyncio.run(prepared_catalogs.fill_cache(str(catalog), cache)).cached
    assert asyncio.run(prepared_catalogs.fill_cache(str(catalog), cache)).cached


def test_it_serves_from_ready_to_stop(catalog: Path, cache: Path) -> None:
    async def scenario() -> list[Serving]:
        told: list[Serving] = []
        stop = asyncio.Event()
        ready = asyncio.Event()

        def tell(serving: Serving) -> None:
            told.append(serving)
            ready.set()

        serving = asyncio.create_task(
            serve.serve(str(catalog), on_loopback(cache_folder=cache), ready=tell, stop=stop)
        )
        await asyncio.wait_for(ready.wait(), 30)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{told[0].port}") as channel:
            call = channel.unary_stream("/api.Registry/ListPackages")(b"")
            assert [message async for message in call] == [b"\x0a\x03cog"]
        stop.set()
        await asyncio.wait_for(serving, 30)
        return told

    (told,) = asyncio.run(scenario())
    assert (told.packages, told.bundles, told.cached, told.kept) == (1, 1, False, True)


def test_an_invalid_catalog_frees_the_port(catalog: Path) -> None:
    (catalog / "cog.yaml").write_text("schema: olm.package\n")

    async def scenario() -> None:
        with pytest.raises(InputError):
            await serve.serve(str(catalog), on_loopback(), ready=print, stop=asyncio.Event())

    asyncio.run(scenario())


def test_a_stop_before_the_catalog_is_loaded_ends_it(catalog: Path) -> None:
    async def scenario() -> None:
        stop = asyncio.Event()
        stop.set()
        await asyncio.wait_for(serve.serve(str(catalog), on_loopback(), ready=print, stop=stop), 30)

    asyncio.run(scenario())


def test_an_image_is_served_like_its_directory(catalog: Path, cache: Path, tmp_path: Path) -> None:
    image = f"oci:{tmp_path / 'layout'}:v1"
    assert main.run(["catalog", "build", str(catalog), "-t", image, "-q"]) == 0
    first = asyncio.run(prepared_catalogs.fill_cache(image, cache))
    again = asyncio.run(prepared_catalogs.fill_cache(str(catalog), cache))
    assert (first.cached, again.cached) == (False, True)


def test_saving_memory_does_not_change_the_result() -> None:
    serve.keep_freed_memory()


def test_a_cache_that_is_truncated_while_it_is_served_is_rebuilt(
    catalog: Path, cache: Path
) -> None:
    async def scenario() -> list[bytes]:
        serving: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        running = asyncio.create_task(
            serve.serve(
                str(catalog),
                on_loopback(cache_folder=cache),
                ready=serving.set_result,
                stop=stop,
            )
        )
        async with grpc.aio.insecure_channel(f"127.0.0.1:{(await serving).port}") as channel:
            bundles = channel.unary_stream("/api.Registry/ListBundles")
            before = [bundle async for bundle in bundles(b"")]
            with (cache / FILE_NAME).open("r+b") as file:
                file.truncate(100)
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                [bundle async for bundle in bundles(b"")]
            assert raised.value.code() == grpc.StatusCode.INTERNAL
            # Held until the file exists again, then answered.
            after = [bundle async for bundle in bundles(b"")]
            health = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert await health(b"") == b"\x08\x01"
            with (cache / FILE_NAME).open("r+b") as file:
                file.write(bytes(100))
            assert await health(b"") == b"\x08\x02"  # detected by the probe alone
            assert [bundle async for bundle in bundles(b"")] == before
        stop.set()
        await running
        assert before == after
        return after

    assert len(asyncio.run(scenario())) == 1


async def _get(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


def test_a_changed_catalog_is_served_over_both_protocols(catalog: Path, cache: Path) -> None:
    async def scenario() -> None:
        announced: asyncio.Queue[Serving] = asyncio.Queue()
        failed: asyncio.Queue[OlmkitError] = asyncio.Queue()
        stop = asyncio.Event()
        running = asyncio.create_task(
            serve.serve(
                [Offer(reference=str(catalog), name="shop")],
                on_loopback(http_port=0, reload=0.05, cache_folder=cache),
                ready=announced.put_nowait,
                failed=failed.put_nowait,
                stop=stop,
            )
        )
        first = await announced.get()
        path = "/catalogs/shop/api/v1/metas?schema=olm.bundle"
        assert '"name":"cog.v1.0.0"' in (await _get(first.http_port, path))[1]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{first.port}") as channel:
            bundles = channel.unary_stream("/api.Registry/ListBundles")
            file = catalog / "cog.yaml"
            file.write_text("schema: [")
            assert "is not valid" in str(await failed.get())
            assert b"cog.v1.0.0" in b"".join([one async for one in bundles(b"")])
            file.write_text(CATALOG.replace("1.0.0", "1.2.0"))
            second = await announced.get()
            assert (second.port, second.http_port) == (first.port, first.http_port)
            assert b"cog.v1.2.0" in b"".join([one async for one in bundles(b"")])
            assert '"name":"cog.v1.2.0"' in (await _get(first.http_port, path))[1]
        stop.set()
        await running

    asyncio.run(scenario())


def test_a_call_that_began_before_a_change_ends_with_the_old_catalog(catalog: Path) -> None:
    old, new = prepare(catalog, None), prepare(catalog, None)
    registry = RegistryApi(old.store.index, old.store.read)
    answers = registry.list_bundles()
    del old, registry
    gc.collect()
    assert b"cog.v1.0.0" in next(iter(answers))
    new.store.close()


def test_the_cache_has_the_data_for_http_on_request(catalog: Path, cache: Path) -> None:
    prepared_catalogs.prepare(str(catalog), Folder(catalog), cache)
    first = prepared_catalogs.prepare(str(catalog), Folder(catalog), cache, with_lines=True)
    again = prepared_catalogs.prepare(str(catalog), Folder(catalog), cache, with_lines=True)
    assert (first.cached, again.cached) == (False, True)
    assert again.lines is not None
    assert first.lines is not None
    assert again.lines.index == first.lines.index


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("quay.io/example/catalog:v1", "catalog"),
        ("localhost:5000/shop@sha256:" + "0" * 64, "shop"),
        ("oci:somewhere", ""),
        ("catalogsource:olm/shop", "shop"),
        ("clustercatalog:shelf", "shelf"),
    ],
)
def test_a_catalog_in_an_image_has_a_name(reference: str, name: str) -> None:
    assert prepared_catalogs.default_name(reference) == name


def test_a_catalog_in_a_directory_has_a_name(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(catalog)
    assert prepared_catalogs.default_name(".") == "catalog"
