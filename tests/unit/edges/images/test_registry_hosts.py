"""Requests to other hosts after redirects of a registry or of a host that it names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.edges.images.registries.auth import Authenticator
from olmkit.edges.images.registries.client import RegistryStore
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.images.registries.endpoint import RegistryEndpoint
from olmkit.edges.network.web import Web, WebOptions
from olmkit.oci import store
from olmkit.oci.content import Descriptor, MediaType
from olmkit.oci.reference import Reference
from olmkit.oci.store import RegistryError
from olmkit.testing.loopback import serving

T = TypeVar("T")
OPTIONS = WebOptions(attempts=1)
USER = RegistryCredentials(username="tester", password="secret")
BLOB = Descriptor.of(b"some content", "application/octet-stream")
MANIFEST = Descriptor.of(b"{}", MediaType.OCI_MANIFEST)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@dataclass
class Host:
    """A server that records requests; `answers` maps a method and the end of a path."""

    answers: dict[tuple[str, str], Callable[[Any], Any]] = field(default_factory=dict)
    heard: list[tuple[str, str, str | None]] = field(default_factory=list)

    async def __call__(self, request: Any) -> Any:
        from aiohttp import web

        await request.read()
        self.heard.append((request.method, request.path_qs, request.headers.get("Authorization")))
        for (method, path), answer in self.answers.items():
            if request.method == method and request.path.endswith(path):
                return answer(request)
        return web.Response()


def response(status: int, **headers: str) -> Callable[[Any], Any]:
    def answer(_: Any) -> Any:
        from aiohttp import web

        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return web.Response(status=status, headers=named)

    return answer


def token_registry(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Require a password for `inner`."""

    def answer(request: Any) -> Any:
        if "Authorization" not in request.headers:
            return response(401, WWW_Authenticate='Basic realm="own"')(request)
        return inner(request)

    return answer


def trial(
    registry: Host, other: Host, work: Callable[[RegistryStore, Web], Awaitable[T]], prepare: Any
) -> T:
    """Return the outcome of `work` with a registry that can redirect to the other host."""

    async def run_it() -> T:
        async with serving(other) as elsewhere, serving(registry) as host, Web(OPTIONS) as web:
            prepare(elsewhere, host)
            reference = Reference.parse(f"{host}/a/b")
            return await work(RegistryStore(web, reference, credentials=USER), web)

    return run(run_it())


def no_secret_at(host: Host) -> bool:
    return all(authorization is None for _, _, authorization in host.heard)


@pytest.mark.parametrize("scheme", ["Basic", "Bearer"])
def test_storage_that_asks_for_a_password_gets_none(scheme: str) -> None:
    registry, storage = Host(), Host()

    def prepare(elsewhere: str, _: str) -> None:
        realm = f'{scheme} realm="http://{elsewhere}/token",service="s"'
        registry.answers["GET", "/v2/"] = token_registry(response(200))
        registry.answers["GET", str(BLOB.digest)] = token_registry(
            response(307, Location=f"http://{elsewhere}/data")
        )
        storage.answers["GET", "/data"] = response(401, WWW_Authenticate=realm)

    async def read(target: RegistryStore, _: Web) -> bytes:
        return await store.read(target, BLOB)

    with pytest.raises(RegistryError, match=r"/data`, which it names, answers with status 401"):
        trial(registry, storage, read, prepare)
    assert [path for _, path, _ in storage.heard] == ["/data"]
    assert no_secret_at(storage)


def test_a_redirect_of_the_first_request_does_not_change_the_credentials() -> None:
    registry, other = Host(), Host()

    def prepare(elsewhere: str, _: str) -> None:
        realm = f'Bearer realm="http://{elsewhere}/token",service="s"'
        registry.answers["GET", "/v2/"] = response(307, Location=f"http://{elsewhere}/v2/")
        other.answers["GET", "/v2/"] = response(401, WWW_Authenticate=realm)

    async def resolve(target: RegistryStore, _: Web) -> Descriptor:
        return await target.resolve("v1")

    with pytest.raises(RegistryError, match="which requests credentials"):
        trial(registry, other, resolve, prepare)
    assert [path for _, path, _ in other.heard] == ["/v2/"]


def test_a_refusal_of_another_host_does_not_mean_that_the_login_is_wrong() -> None:
    registry, storage = Host(), Host()

    def prepare(elsewhere: str, _: str) -> None:
        registry.answers["GET", str(BLOB.digest)] = response(
            307, Location=f"http://{elsewhere}/data"
        )
        storage.answers["GET", "/data"] = response(403)

    async def read(target: RegistryStore, _: Web) -> bytes:
        return await store.read(target, BLOB)

    with pytest.raises(RegistryError, match="answers with status 403"):
        trial(registry, storage, read, prepare)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_writes_are_not_redirected_to_another_host(method: str) -> None:
    registry, other = Host(), Host()

    def prepare(elsewhere: str, _: str) -> None:
        answer = response(307, Location=f"http://{elsewhere}/x")
        registry.answers["POST", "/uploads/"] = answer
        registry.answers["PUT", f"/manifests/{MANIFEST.digest}"] = answer

    async def push(target: RegistryStore, _: Web) -> None:
        if method == "POST":
            await target.push(BLOB, store.chunks(b"some content"))
        else:
            await target.push(MANIFEST, store.chunks(b"{}"))

    with pytest.raises(RegistryError, match="status 307"):
        trial(registry, other, push, prepare)
    assert other.heard == []


def test_an_upload_to_another_host_has_no_password() -> None:
    registry, other = Host(), Host()

    def prepare(elsewhere: str, _: str) -> None:
        registry.answers["GET", "/v2/"] = token_registry(response(200))
        registry.answers["POST", "/uploads/"] = token_registry(
            response(202, Location=f"http://{elsewhere}/up?a=b")
        )
        other.answers["PUT", "/up"] = response(201)

    async def push(target: RegistryStore, _: Web) -> None:
        await target.push(BLOB, store.chunks(b"some content"))

    trial(registry, other, push, prepare)
    assert [method for method, _, _ in other.heard] == ["PUT"]
    assert no_secret_at(other)


def test_the_host_of_an_upload_does_not_choose_the_path_in_the_registry() -> None:
    registry, other = Host(), Host()

    def prepare(elsewhere: str, host: str) -> None:
        registry.answers["GET", "/v2/"] = token_registry(response(200))
        registry.answers["POST", "/uploads/"] = token_registry(
            response(202, Location=f"http://{elsewhere}/up")
        )
        other.answers["PATCH", "/up"] = response(
            202, Location=f"http://{host}/v2/a/b/manifests/latest"
        )

    async def push(target: RegistryStore, web: Web) -> None:
        small = RegistryStore(web, target.reference, credentials=USER, chunk_size=4)
        await small.push(BLOB, store.chunks(b"some content"))

    with pytest.raises(RegistryError, match="names another host for the upload"):
        trial(registry, other, push, prepare)
    assert {method for method, _, _ in registry.heard} == {"GET", "POST"}


def test_an_upload_without_a_location_is_reported() -> None:
    registry = Host({("POST", "/uploads/"): response(202)})

    async def push(target: RegistryStore, _: Web) -> None:
        await target.push(BLOB, store.chunks(b"some content"))

    with pytest.raises(RegistryError, match="does not say where to send the content"):
        trial(registry, Host(), push, lambda *_: None)


def test_a_server_without_the_api_is_not_a_missing_repository() -> None:
    registry = Host({("GET", "/v2/"): response(404)})

    async def resolve(target: RegistryStore, _: Web) -> Descriptor:
        return await target.resolve("v1")

    with pytest.raises(RegistryError, match="answers with status 404") as caught:
        trial(registry, Host(), resolve, lambda *_: None)
    assert caught.value.hint == "check the address: nothing there has the API of a registry"


@pytest.mark.parametrize(
    ("challenge", "message"),
    [
        (None, "refuses access and names no way to log in"),
        ('Digest realm="x"', "refuses access and accepts only `digest`"),
    ],
)
def test_an_impossible_login_is_not_a_wrong_password(challenge: str | None, message: str) -> None:
    named = {"WWW_Authenticate": challenge} if challenge is not None else {}
    answer = response(401, **named)
    registry = Host({("GET", "/v2/"): answer, ("GET", "/v1"): answer})

    async def resolve(target: RegistryStore, _: Web) -> Descriptor:
        return await target.resolve("v1")

    with pytest.raises(RegistryError, match=message):
        trial(registry, Host(), resolve, lambda *_: None)


@pytest.mark.parametrize("secret", [USER.password, USER.basic.removeprefix("Basic "), "a-token"])
def test_a_refusal_that_repeats_a_secret_is_shown_without_it(secret: str) -> None:
    registry = Host()

    def prepare(_: str, host: str) -> None:
        realm = f'Bearer realm="http://{host}/token"'

        def refused(request: Any) -> Any:
            from aiohttp import web

            if "Authorization" not in request.headers:
                return response(401, WWW_Authenticate=realm)(request)
            words = "x" * 295 + f" {secret}, wrong"
            return web.json_response({"errors": [{"code": "X", "message": words}]}, status=400)

        def token(_: Any) -> Any:
            from aiohttp import web

            return web.json_response({"token": "a-token"})

        registry.answers["GET", "/v1"] = refused
        registry.answers["GET", "/token"] = token

    async def resolve(target: RegistryStore, _: Web) -> Descriptor:
        return await target.resolve("v1")

    with pytest.raises(RegistryError, match="answers with status 400: xxx") as caught:
        trial(registry, Host(), resolve, prepare)
    assert secret[:4] not in caught.value.message


def test_a_challenge_in_a_second_header_is_answered() -> None:
    def both(request: Any) -> Any:
        from aiohttp import web

        if "Authorization" in request.headers:
            return web.Response()
        reply = web.Response(status=401, headers={"WWW-Authenticate": "Negotiate"})
        reply.headers.add("WWW-Authenticate", 'Basic realm="own"')
        return reply

    registry = Host({("GET", "/v2/"): both, ("HEAD", str(BLOB.digest)): both})

    async def look(target: RegistryStore, _: Web) -> bool:
        return await target.exists(BLOB)

    assert trial(registry, Host(), look, lambda *_: None)


def test_an_unnecessary_upload_is_not_cancelled_at_another_host() -> None:
    registry, other = Host(), Host()

    def prepare(elsewhere: str, _: str) -> None:
        registry.answers["POST", "/uploads/"] = response(202, Location=f"http://{elsewhere}/x")

    async def mount(target: RegistryStore, web: Web) -> bool:
        neighbour = Reference.parse(f"{target.reference.registry}/c/d")
        return await target.mount(BLOB, RegistryStore(web, neighbour))

    assert trial(registry, other, mount, prepare) is False
    assert other.heard == []


def test_a_list_that_continues_on_another_host_is_an_error_and_not_a_short_list() -> None:
    registry, other = Host(), Host()

    def prepare(elsewhere: str, _: str) -> None:
        def page(_: Any) -> Any:
            from aiohttp import web

            link = f'<http://{elsewhere}/next>; rel="next"'
            return web.json_response({"tags": ["a"]}, headers={"Link": link})

        registry.answers["GET", "/tags/list"] = page

    async def tags(target: RegistryStore, _: Web) -> tuple[str, ...]:
        return await target.tags()

    with pytest.raises(RegistryError, match="continues its list on another host"):
        trial(registry, other, tags, prepare)
    assert other.heard == []


def test_content_of_an_encrypted_registry_is_not_sent_unencrypted() -> None:
    class Connected(RegistryEndpoint):
        async def _connect(self) -> str:
            return "https://registry.example.com"

    class Answer:
        location = "http://upload.example.com/x"
        full_url = "https://registry.example.com/v2/a/b/blobs/uploads/"

        def is_from(self, _: str) -> bool:
            return True

    async def check(location: str) -> str:
        async with Web(OPTIONS) as web:
            endpoint = Connected(web, Reference.parse("registry.example.com/a/b"), None)
            await endpoint.url("x")
            answer = Answer()
            answer.location = location
            return endpoint.upload_url(answer)  # type: ignore[arg-type]

    with pytest.raises(RegistryError, match="requests the content unencrypted"):
        run(check("http://upload.example.com/x"))
    # A registry behind a proxy may not know that it is encrypted.
    own = run(check("http://registry.example.com/x"))
    assert own == "https://registry.example.com/x"


@pytest.mark.parametrize(
    ("realm", "plain_http", "sent"),
    [
        ("http://127.evil.example/token", False, False),
        ("http://127.0.0.1.evil.example/token", False, False),
        ("http://localhost.evil.example/token", False, False),
        ("http://tokens.example.com/token", True, False),
        ("http://registry.example.com:5001/token", True, True),
        ("http://registry.example.com:5001/token", False, False),
        ("http://127.0.0.2/token", False, True),
        ("http://[::1]/token", False, True),
        ("http://localhost/token", False, True),
    ],
)
def test_an_unencrypted_password_is_only_sent_to_this_machine_or_to_the_named_host(
    realm: str, plain_http: bool, sent: bool
) -> None:
    class Closed(Web):
        def send(self, *_: Any, **__: Any) -> Any:
            raise RemoteError("it would be sent")

    class Answer:
        def listed(self, _: str) -> str:
            return f'Bearer realm="{realm}",service="s"'

    async def check() -> None:
        web = Closed(WebOptions(plain_http=plain_http))
        reference = Reference.parse("registry.example.com:5000/a/b")
        authenticator = Authenticator(web, reference, USER)
        authenticator.challenged(Answer())  # type: ignore[arg-type]
        await authenticator.header("repository:a/b:pull")

    with pytest.raises(RemoteError, match="would be sent" if sent else "unencrypted"):
        run(check())
