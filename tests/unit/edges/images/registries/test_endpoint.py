"""How registries are contacted, and the errors for their refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.images.registries.endpoint import RegistryEndpoint, RegistryRequest
from olmkit.edges.network.web import Web, WebOptions
from olmkit.oci import store
from olmkit.oci.content import Descriptor
from olmkit.oci.reference import Reference
from olmkit.oci.store import RegistryError
from olmkit.testing.loopback import serving

T = TypeVar("T")
OPTIONS = WebOptions(attempts=1)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def refusal(
    handler: Callable[[Any], Any], credentials: RegistryCredentials | None = None
) -> RegistryError:
    """Return the error for an answer of `handler` to a request for tags."""
    async with serving(handler) as host, Web(OPTIONS) as web:
        endpoint = RegistryEndpoint(web, Reference.parse(f"{host}/a/b"), credentials)
        request = RegistryRequest(method="GET", url=await endpoint.url("tags/list"), headers={})
        async with endpoint.send(request) as reply:
            return await endpoint.refusal(reply, "list the tags of")


def answering(status: int, body: Any) -> Callable[[Any], Any]:
    async def handler(request: Any) -> Any:
        from aiohttp import web

        if request.path == "/v2/":
            return web.Response()
        if isinstance(body, bytes):
            return web.Response(status=status, body=body)
        return web.json_response(body, status=status)

    return handler


@pytest.mark.parametrize(
    ("status", "body", "words", "codes", "temporary"),
    [
        (
            404,
            {"errors": [{"code": "NAME_UNKNOWN", "message": "no such name", "detail": "hunter2"}]},
            "status 404: no such name",
            ("NAME_UNKNOWN",),
            False,
        ),
        (500, b"<html>hunter2", "status 500", (), True),
        (429, {"errors": "many"}, "status 429", (), True),
        (413, b"", "status 413", (), False),
        (400, {"errors": [{"message": "a\x1b[31mb"}]}, "status 400: a[31mb", (), False),
        (403, {"errors": []}, "requires credentials", (), False),
        (405, {"errors": [{"code": "DENIED"}]}, "requires credentials", ("DENIED",), False),
    ],
)
def test_a_refusal_has_the_message_and_no_details(
    status: int, body: Any, words: str, codes: tuple[str, ...], temporary: bool
) -> None:
    error = run(refusal(answering(status, body)))
    assert words in error.message
    assert error.codes == codes
    assert error.temporary is temporary
    assert "hunter2" not in error.message + error.hint


def test_a_refusal_for_an_authenticated_user_differs() -> None:
    error = run(refusal(answering(403, b""), RegistryCredentials(username="u", password="p")))
    assert "does not allow this" in error.message


def test_credentials_are_only_sent_to_the_registry() -> None:
    async def check() -> None:
        from aiohttp import web as server

        heard: dict[str, str | None] = {}

        async def handler(request: Any) -> Any:
            heard[request.path] = request.headers.get("Authorization")
            if "Authorization" not in request.headers:
                return server.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
            return server.Response()

        credentials = RegistryCredentials(username="u", password="p")
        async with serving(handler) as host, serving(handler) as other, Web(OPTIONS) as web:
            endpoint = RegistryEndpoint(web, Reference.parse(f"{host}/a/b"), credentials)
            await endpoint.url("x")
            for name in (host, other):
                request = RegistryRequest(method="GET", url=f"http://{name}/{name}", headers={})
                async with endpoint.send(request):
                    pass
            assert heard[f"/{host}"] == credentials.basic
            assert heard[f"/{other}"] is None

    run(check())


def test_a_server_that_is_not_a_registry_is_reported() -> None:
    async def check(handler: Callable[[Any], Any]) -> None:
        async with serving(handler) as host, Web(OPTIONS) as web:
            await RegistryEndpoint(web, Reference.parse(f"{host}/a/b"), None).url("x")

    async def other(_: Any) -> Any:
        from aiohttp import web

        return web.Response(status=418)

    with pytest.raises(RemoteError, match=r"cannot reach registry .* status 418"):
        run(check(other))


def test_a_part_of_content_is_sent_from_its_offset() -> None:
    async def check() -> bytes:
        descriptor = Descriptor.of(b"abcdef", "text/plain")
        request = RegistryRequest(
            method="PATCH",
            url="",
            headers={},
            content=(store.chunks(b"abcdef"), descriptor, 2, 4),
        )
        opened = request.opened()
        assert opened is not None
        assert not isinstance(opened, bytes)
        return b"".join([chunk async for chunk in opened])

    assert run(check()) == b"cd"
