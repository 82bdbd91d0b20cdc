"""Registries whose lists do not end, and token servers that never finish an answer."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

import pytest
from aiohttp import web

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.registries import lists as registry_lists
from olmkit.edges.images.registries.client import RegistryStore
from olmkit.edges.network.web import Web, WebOptions
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.oci.content import Digest, MediaType
from olmkit.oci.reference import Reference
from olmkit.oci.store import RegistryError
from olmkit.testing.loopback import serving

T = TypeVar("T")
ONCE = WebOptions(attempts=1)
IMPATIENT = WebOptions(read_timeout=0.5, attempts=1)
SUBJECT = Digest.of(b"subject")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def run(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(120):
            return await work

    return asyncio.run(limited())


def ask(
    handler: Handler, work: Callable[[RegistryStore], Awaitable[T]], options: WebOptions = ONCE
) -> T:
    async def asked() -> T:
        async with serving(handler) as host, Web(options) as client:
            return await work(RegistryStore(client, Reference.parse(f"{host}/a/b")))

    return run(asked())


def listing(links: Iterator[str], tags: Callable[[int], list[str]]) -> tuple[Handler, list[str]]:
    """A registry whose pages continue at the next of `links`; it records the requests."""
    heard: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        heard.append(request.path_qs)
        if request.path.endswith("/v2/"):
            return web.Response()
        link = {"Link": f'<{next(links)}>; rel="next"'}
        if "referrers" in request.path:
            empty = {"schemaVersion": 2, "mediaType": MediaType.OCI_INDEX, "manifests": []}
            return web.json_response(empty, headers=link, content_type=MediaType.OCI_INDEX)
        return web.json_response({"tags": tags(len(heard))}, headers=link)

    return handler, heard


async def tags(registry: RegistryStore) -> object:
    return await registry.tags()


async def referrers(registry: RegistryStore) -> object:
    return await registry.referrers(SUBJECT)


@pytest.mark.parametrize("work", [tags, referrers])
@pytest.mark.parametrize(
    ("links", "most"),
    [
        (lambda: itertools.repeat("/v2/a/b/tags/list?n=1"), 4),
        (lambda: itertools.cycle(["/v2/a/b/tags/list?n=1", "/v2/a/b/tags/list?n=2"]), 5),
        (lambda: (f"/v2/a/b/tags/list?n={i}" for i in itertools.count()), 20),
    ],
    ids=["itself", "two", "counting"],
)
def test_a_list_that_repeats_itself_ends_with_an_error(
    work: Callable[[RegistryStore], Awaitable[object]],
    links: Callable[[], Iterator[str]],
    most: int,
) -> None:
    named = "referrers" if work is referrers else "tags/list"
    targets = (one.replace("tags/list", f"referrers/{SUBJECT}") if named == "referrers" else one
               for one in links())  # fmt: skip
    handler, heard = listing(targets, lambda _: ["v1"])
    with pytest.raises(RegistryError, match="never ends its list of"):
        ask(handler, work)
    assert len(heard) <= most


def test_growing_pages_end_with_an_error_at_the_limit() -> None:
    handler, _ = listing(
        (f"/v2/a/b/tags/list?n={i}" for i in itertools.count()),
        lambda page: [f"v{page}-{i}" for i in range(min(2**page, 100_000))],
    )
    with pytest.raises(RegistryError, match="lists more than 500000 tags"):
        ask(handler, tags)
    handler, _ = listing(itertools.repeat(""), lambda _: ["x" * 129])
    with pytest.raises(RegistryError, match="a tag of more than 128 characters"):
        ask(handler, tags)


def test_all_pages_together_have_a_time_limit() -> None:
    async def page(url: str) -> tuple[Sequence[str], str]:
        await asyncio.sleep(0.05)
        return [url], f"{url}x"

    with pytest.raises(RegistryError, match=r"more than 1 seconds for its list of tags"):
        run(registry_lists.read_all("/", page, host="h", what="tags", most=10_000, seconds=1))


def test_pages_without_new_names_are_read_up_to_a_limit() -> None:
    async def page(url: str) -> tuple[Sequence[str], str]:
        number = int(url)
        return ([f"v{number}"] if number in (0, 12) else []), str(number + 1) if number < 20 else ""

    found = run(registry_lists.read_all("0", page, host="h", what="tags", most=10))
    assert found == ["v0", "v12"]
    assert run(registry_lists.read_all("", page, host="h", what="tags", most=10)) == []


@pytest.mark.parametrize("drop", [b"", b" ", b"x"], ids=["silent", "spaces", "letters"])
def test_a_slow_token_server_ends_with_an_error(drop: bytes) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path != "/token":
            realm = f'Bearer realm="http://{request.host}/token",service="s"'
            return web.Response(status=401, headers={"WWW-Authenticate": realm})
        response = web.StreamResponse()
        response.content_length = 1_000_000
        await response.prepare(request)
        for _ in range(300):
            await response.write(drop) if drop else None
            await asyncio.sleep(0.05)
        return response

    with pytest.raises(OlmkitError, match=r"does not answer in time|less than 1 kB per second"):
        ask(handler, tags, IMPATIENT)


async def page_for_people(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>", content_type="text/html")


async def redirects_to_itself(request: web.Request) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect(request.path_qs)


async def asks_again(request: web.Request) -> web.StreamResponse:
    if request.path == "/token":
        return web.json_response({"token": "t"})
    realm = f'Bearer realm="http://{request.host}/token",service="s"'
    return web.Response(status=401, headers={"WWW-Authenticate": realm})


async def index_of_itself(request: web.Request) -> web.StreamResponse:
    if request.path.endswith("/v2/"):
        return web.Response()
    part = {"mediaType": MediaType.OCI_INDEX, "digest": str(SUBJECT), "size": 7,
            "platform": {"os": "linux", "architecture": "amd64"}}  # fmt: skip
    body = {"schemaVersion": 2, "mediaType": MediaType.OCI_INDEX, "manifests": [part]}
    return web.json_response(body, content_type=MediaType.OCI_INDEX)


async def numbers(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b"[" * 100_000, content_type=MediaType.OCI_MANIFEST)


@pytest.mark.parametrize("read", [cluster_bundle.read_bundle, cluster_bundle.read_catalog])
@pytest.mark.parametrize(
    "handler", [page_for_people, redirects_to_itself, asks_again, index_of_itself, numbers]
)
def test_commands_end_with_an_error_at_a_hostile_registry(handler: Handler, read: Any) -> None:
    """The functions with which `install`, `upgrade` and the catalog commands read images."""

    async def read_it() -> None:
        async with serving(handler) as host:
            await read(f"{host}/a/b:v1", Access(plain_http=True))

    with pytest.raises(OlmkitError) as raised:
        run(read_it())
    assert raised.value.message.isprintable()
