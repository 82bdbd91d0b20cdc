"""The client of registries with a real docker-registry on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import subprocess
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.registries.client import RegistryStore
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.images.transfer import TransferOutcome, TransferStep
from olmkit.edges.network.web import Web, WebOptions
from olmkit.oci import image, layer, store
from olmkit.oci.content import Descriptor, Digest, MediaType, Platform
from olmkit.oci.image import MultiPlatformImage
from olmkit.oci.reference import Reference
from olmkit.oci.store import ContentError, MemoryStore, RegistryError
from olmkit.testing.faults import Fault, FaultProxy
from olmkit.testing.loopback import serving
from olmkit.testing.registry import RegistryServer, free_port

T = TypeVar("T")
LAYER = layer.write(Tree({"manifests/a.yaml": b"a: 1\n", "metadata/b.yaml": b"b: 1\n"}))
IMAGE = image.data_image(LAYER, {"k": "v"}, created_by="test")
BLOB = random.Random(1).randbytes(300_000)
QUICK = WebOptions(first_wait=0.01, longest_wait=0.05, attempts=4)

# `secret`, hashed by `htpasswd -nbBC 5`.
USERS = {"tester": "$2y$05$hPy5QSEVEARTonm7ymJ9LeOhlGVL9sx5nYGT8.NLBHL2c/q3FZmM."}


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@asynccontextmanager
async def opened(
    host: str, repository: str, options: WebOptions = QUICK, **settings: Any
) -> AsyncIterator[RegistryStore]:
    reference = Reference.parse(f"{host}/{repository}")
    async with Web(options, source=random.Random(0)) as web:
        yield RegistryStore(web, reference, **settings)


async def pushed(target: RegistryStore, tag: str | None = "v1") -> list[TransferStep]:
    assert isinstance(IMAGE, MultiPlatformImage)
    steps: list[TransferStep] = []
    await transfer.copy(
        MemoryStore.of(IMAGE), target, IMAGE.descriptor, tag=tag, report=steps.append
    )
    return steps


def test_a_pushed_image_is_pulled_unchanged(registry: RegistryServer) -> None:
    async def check() -> None:
        async with opened(registry.host, "push/whole") as target:
            first, second = await pushed(target), await pushed(target)
            assert {step.outcome for step in first} == {TransferOutcome.SENT}
            assert [step.outcome for step in second] == [TransferOutcome.PRESENT]
            root = await target.resolve("v1")
            assert root == IMAGE.descriptor
            assert await target.resolve(str(root.digest)) == root
            assert await target.tags() == ("v1",)
            await target.tag(root, "v2")
            assert await target.tags() == ("v1", "v2")
            found = await store.pull(target, "v2", Platform(os="linux", architecture="arm64"))
            assert found.config.labels == {"k": "v"}
            assert await store.read(target, found.manifest.layers[0]) == LAYER.data

    run(check())


def test_the_push_of_a_new_image_has_no_unnecessary_requests(registry: RegistryServer) -> None:
    asked: list[tuple[str, str]] = []

    def note(method: str, path: str) -> None:
        if "/manifests/" in path:
            asked.append((method, path.rpartition("/")[2]))

    async def check() -> None:
        async with FaultProxy(upstream=f"http://{registry.host}", plan=note) as proxy:
            async with opened(proxy.host, "push/few") as target:
                await pushed(target)
            assert [path for method, path in asked if method == "HEAD"] == [str(IMAGE.digest)]
            assert asked[-1] == ("PUT", "v1")
            asked.clear()
            async with opened(proxy.host, "push/few") as target:
                await pushed(target)
            assert asked == [("HEAD", str(IMAGE.digest)), ("HEAD", "v1")]

    run(check())


def test_skopeo_reads_a_pushed_image(
    registry: RegistryServer, tmp_path: Path, skopeo: Callable[..., bytes]
) -> None:
    async def push() -> None:
        async with opened(registry.host, "push/skopeo") as target:
            await pushed(target)

    run(push())
    name = f"docker://{registry.host}/push/skopeo:v1"
    told = json.loads(skopeo("inspect", "--tls-verify=false", name))
    assert told["Digest"] == str(IMAGE.digest)
    assert told["Labels"] == {"k": "v"}
    skopeo("copy", "--all", "--src-tls-verify=false", name, f"oci:{tmp_path}/copy:v1")
    index = json.loads((tmp_path / "copy" / "index.json").read_bytes())
    assert index["manifests"][0]["digest"] == str(IMAGE.digest)


def test_a_blob_of_another_repository_is_mounted_and_not_sent(registry: RegistryServer) -> None:
    async def check() -> None:
        descriptor = Descriptor.of(BLOB, "application/octet-stream")
        async with Web(QUICK) as web:
            one = RegistryStore(web, Reference.parse(f"{registry.host}/mount/one"))
            two = RegistryStore(web, Reference.parse(f"{registry.host}/mount/two"))
            await one.push(descriptor, store.chunks(BLOB))
            assert not await two.exists(descriptor)
            assert await two.mount(descriptor, one)
            assert await two.exists(descriptor)
            missing = Descriptor.of(b"nowhere", "application/octet-stream")
            assert not await two.mount(missing, one)
            assert not await two.mount(descriptor, MemoryStore())

    run(check())


@pytest.mark.parametrize("size", [0, 1, 99_999, 100_000, 100_001, 300_000])
def test_a_blob_is_pushed_in_chunks_and_fetched(registry: RegistryServer, size: int) -> None:
    async def check() -> None:
        data = BLOB[:size]
        descriptor = Descriptor.of(data, "application/octet-stream")
        async with opened(registry.host, f"chunks/s{size}", chunk_size=100_000) as target:
            await target.push(descriptor, store.chunks(data))
            assert await store.read(target, descriptor) == data
            tail = b"".join([chunk async for chunk in target.fetch(descriptor, size // 2)])
            assert tail == data[size // 2 :]

    run(check())


def test_a_registry_without_chunks_gets_the_whole_blob(registry: RegistryServer) -> None:
    async def check() -> None:
        def plan(method: str, _: str) -> int | None:
            return 405 if method == "PATCH" else None

        descriptor = Descriptor.of(BLOB, "application/octet-stream")
        async with FaultProxy(upstream=f"http://{registry.host}", plan=plan) as proxy:
            async with opened(proxy.host, "chunks/none", chunk_size=100_000) as target:
                await target.push(descriptor, store.chunks(BLOB))
                assert await target.exists(descriptor)

    run(check())


@pytest.mark.parametrize("fault", [*Fault])
@pytest.mark.parametrize("method", ["HEAD", "POST", "PATCH", "PUT", "GET"])
def test_a_single_failure_does_not_fail_the_push(
    registry: RegistryServer, method: str, fault: Fault
) -> None:
    """The push succeeds after one failure of any kind, and the result is complete."""

    async def check() -> None:
        left = [method]

        def plan(asked: str, _: str) -> Fault | None:
            if asked in left:
                left.remove(asked)
                return fault
            return None

        name = f"fault/{method.lower()}-{fault.name.lower()}"
        descriptor = Descriptor.of(BLOB, "application/octet-stream")
        async with FaultProxy(upstream=f"http://{registry.host}", plan=plan) as proxy:
            async with opened(proxy.host, name, chunk_size=100_000) as target:
                await target.push(descriptor, store.chunks(BLOB))
                await pushed(target)
                assert await store.read(target, descriptor, limit=len(BLOB)) == BLOB
            assert not left
        async with opened(registry.host, name) as target:
            assert (await target.resolve("v1")).digest == IMAGE.digest

    run(check())


def test_an_upload_continues_after_the_chunks_that_arrived(registry: RegistryServer) -> None:
    async def check() -> None:
        patches: list[str] = []

        def plan(method: str, _: str) -> Fault | None:
            if method != "PATCH":
                return None
            patches.append(method)
            return Fault.TOO_MANY if len(patches) == 3 else None

        descriptor = Descriptor.of(BLOB, "application/octet-stream")
        async with FaultProxy(upstream=f"http://{registry.host}", plan=plan) as proxy:
            async with opened(proxy.host, "resume/chunks", chunk_size=50_000) as target:
                await target.push(descriptor, store.chunks(BLOB))
            # Six chunks, one of them twice: chunks that had arrived were not sent again.
            assert len(patches) == 7
            assert [method for method, _, _ in proxy.seen].count("POST") == 1

    run(check())


def test_chunks_grow_on_a_fast_connection(registry: RegistryServer) -> None:
    async def check() -> None:
        data = bytes(34 * 1024 * 1024)
        descriptor = Descriptor.of(data, "application/octet-stream")
        async with FaultProxy(upstream=f"http://{registry.host}") as proxy:
            async with opened(proxy.host, "growing", chunk_size=16 * 1024 * 1024) as target:
                await target.push(descriptor, store.chunks(data))
                assert await target.exists(descriptor)
            asked = [method for method, _, _ in proxy.seen]
            assert 2 <= asked.count("PATCH") <= 3, "three on a slow connection"

    run(check())


def test_a_download_continues_where_it_was_interrupted(registry: RegistryServer) -> None:
    async def check() -> None:
        cuts: list[str] = []

        def plan(method: str, path: str) -> Fault | None:
            if method == "GET" and "/blobs/" in path and len(cuts) < 2:
                cuts.append(path)
                return Fault.CUT_ANSWER
            return None

        descriptor = Descriptor.of(BLOB, "application/octet-stream")
        async with opened(registry.host, "resume/download") as target:
            await target.push(descriptor, store.chunks(BLOB))
        async with FaultProxy(upstream=f"http://{registry.host}", plan=plan) as proxy:
            async with opened(proxy.host, "resume/download") as target:
                assert await store.read(target, descriptor, limit=len(BLOB)) == BLOB
        assert len(cuts) == 2

    run(check())


def test_a_resumed_download_is_complete_if_the_registry_ignores_range() -> None:
    async def check() -> None:
        server = _NoRanges(BLOB, cut=len(BLOB) // 2)
        async with serving(server) as host, opened(host, "a/b") as target:
            descriptor = Descriptor.of(BLOB, "application/octet-stream")
            assert await store.read(target, descriptor, limit=len(BLOB)) == BLOB
        assert server.ranges == [None, f"bytes={len(BLOB) // 2}-"]

    run(check())


class _NoRanges:
    """A registry that truncates its first answer, and always sends the whole blob with 200."""

    def __init__(self, blob: bytes, *, cut: int) -> None:
        self._blob, self._cut = blob, cut
        self.ranges: list[str | None] = []

    async def __call__(self, request: Any) -> Any:
        from aiohttp import web

        if request.path == "/v2/":
            return web.Response()
        self.ranges.append(request.headers.get("Range"))
        reply = web.StreamResponse()
        reply.content_length = len(self._blob)
        await reply.prepare(request)
        if len(self.ranges) > 1:
            await reply.write(self._blob)
            return reply
        await reply.write(self._blob[: self._cut])
        await asyncio.sleep(0.1)  # The client reads what was sent.
        request.transport.close()
        return reply


def test_a_server_that_sends_one_byte_at_a_time_does_not_get_a_request_for_each() -> None:
    async def check() -> None:
        asked: list[str | None] = []

        async def answer(request: Any) -> Any:
            from aiohttp import web

            if request.path == "/v2/":
                return web.Response()
            asked.append(request.headers.get("Range"))
            reply = web.StreamResponse(status=206)
            reply.content_length = 1000
            await reply.prepare(request)
            await reply.write(b"x")
            await asyncio.sleep(0.05)
            request.transport.close()
            return reply

        descriptor = Descriptor.of(bytes(1000), "application/octet-stream")
        async with serving(answer) as host, opened(host, "a/b") as target:
            with pytest.raises(RemoteError, match="was interrupted"):
                await store.read(target, descriptor)
        assert 2 <= len(asked) <= 10

    run(check())


@pytest.mark.parametrize("wanted", ["text/html", "text/plain"])
def test_a_web_page_is_not_an_image(wanted: str, tmp_path: Path) -> None:
    async def check() -> None:
        async def answer(_: Any) -> Any:
            from aiohttp import web

            return web.Response(text="<html>log in</html>", content_type=wanted)

        async with serving(answer) as host, opened(host, "a/b") as source:
            with pytest.raises(RegistryError, match=f"returns `{wanted}` instead of an image"):
                await source.resolve("v1")
            page = Descriptor.of(b"<html>", wanted)
            with pytest.raises(InputError, match=f"its media type is `{wanted}`"):
                await transfer.copy(source, Layout(tmp_path / "layout"), page)
        assert not (tmp_path / "layout").exists()

    run(check())


@pytest.mark.parametrize("served", ["", "application/json", "APPLICATION/VND.OCI.IMAGE.INDEX"])
def test_an_image_without_its_media_type_is_detected_by_its_fields(served: str) -> None:
    data = b'{"schemaVersion":2,"mediaType":"%s","manifests":[]}' % MediaType.OCI_INDEX.encode()

    async def check() -> None:
        async def answer(_: Any) -> Any:
            from aiohttp import web

            return web.Response(body=data, headers={"Content-Type": served})

        async with serving(answer) as host, opened(host, "a/b") as source:
            assert (await source.resolve("v1")).media_type == MediaType.OCI_INDEX

    run(check())


def test_content_that_is_too_long_leaves_no_open_connection(tmp_path: Path) -> None:
    descriptor = Descriptor.of(b"short", "application/octet-stream")
    opened_here: list[Any] = []

    async def check() -> None:
        async def answer(_: Any) -> Any:
            from aiohttp import web

            return web.Response(body=b"short and much longer" * 100_000)

        async with serving(answer) as host, opened(host, "a/b") as source:

            def content(offset: int) -> AsyncIterator[bytes]:
                opened_here.append(source.fetch(descriptor, offset))
                return opened_here[-1]  # type: ignore[no-any-return]

            with pytest.raises(RegistryError, match="is larger than its 5 bytes"):
                await Layout(tmp_path / "layout").push(descriptor, content)
            assert [one.ag_frame for one in opened_here] == [None]  # closed

    run(check())


def test_many_pushes_over_an_unreliable_connection_succeed_or_report_why(
    registry: RegistryServer,
) -> None:
    async def check() -> None:
        told = 0
        source = random.Random(7)
        async with FaultProxy(upstream=f"http://{registry.host}", rate=0.2, source=source) as proxy:
            for number in range(30):
                name = f"bad-line/n{number}"
                try:
                    async with opened(proxy.host, name) as target:
                        await pushed(target)
                except RemoteError:
                    told += 1
                    continue
                async with opened(registry.host, name) as target:
                    for level in await store.levels(target, await target.resolve("v1")):
                        for descriptor in level:
                            await store.read(target, descriptor)
        assert told < 15

    run(check())


def test_wrong_content_is_refused_before_it_is_stored(registry: RegistryServer) -> None:
    async def check() -> None:
        wrong = Descriptor(
            media_type="application/octet-stream", digest=Digest.of(b"right"), size=5
        )
        async with opened(registry.host, "wrong/push") as target:
            with pytest.raises(ContentError, match="has another digest"):
                await target.push(wrong, store.chunks(b"wrong"))
            assert not await target.exists(wrong)

    run(check())


def test_a_damaged_blob_in_the_registry_is_detected(
    registry: RegistryServer,
) -> None:
    async def check() -> None:
        data = b"damaged " * 100
        descriptor = Descriptor.of(data, "application/octet-stream")
        async with opened(registry.host, "wrong/pull") as target:
            await target.push(descriptor, store.chunks(data))
            folder = registry.storage / "docker/registry/v2/blobs/sha256"
            path = folder / descriptor.digest.encoded[:2] / descriptor.digest.encoded / "data"
            path.write_bytes(data[:-1] + b"!")
            with pytest.raises(ContentError, match="has another digest"):
                await store.read(target, descriptor)

    run(check())


def test_a_missing_image_is_reported_with_its_name(registry: RegistryServer) -> None:
    async def check() -> None:
        async with opened(registry.host, "missing/here") as target:
            with pytest.raises(RegistryError, match="has no image `missing/here:v9`") as caught:
                await target.resolve("v9")
        assert caught.value.status == 404

    run(check())


def test_a_refused_connection_is_finally_reported(registry: RegistryServer) -> None:
    del registry

    async def check() -> None:
        host = f"127.0.0.1:{free_port()}"
        async with opened(host, "a/b") as target:
            with pytest.raises(RemoteError, match=f"cannot reach `{host}`: connection refused"):
                await target.resolve("v1")

    run(check())


def test_a_manifest_of_100_megabytes_is_not_read() -> None:
    async def check() -> None:
        async with serving(_GiantManifest()) as host, opened(host, "a/b") as target:
            with pytest.raises(InputError, match=r"is 100\.0 MB; the limit"):
                await target.resolve("v1")
            with pytest.raises(RemoteError, match="is larger than"):
                await target.resolve("endless")

    run(check())


class _GiantManifest:
    """A registry that answers every manifest with zeros."""

    async def __call__(self, request: Any) -> Any:
        from aiohttp import web

        if request.path == "/v2/":
            return web.Response()
        reply = web.StreamResponse(headers={"Content-Type": MediaType.OCI_MANIFEST})
        if not request.path.endswith("endless"):
            reply.content_length = 100_000_000
        await reply.prepare(request)
        try:
            while True:
                await reply.write(bytes(1 << 20))
        except (ConnectionError, AssertionError):
            return reply


# --- credentials


@pytest.fixture(scope="module")
def token_registry(
    tmp_path_factory: pytest.TempPathFactory, registry: RegistryServer
) -> Iterator[RegistryServer]:
    del registry  # The fixture skips the test if there is no program.
    with RegistryServer(folder=tmp_path_factory.mktemp("guarded"), users=USERS) as server:
        yield server


def test_the_right_password_is_accepted_and_others_are_reported_with_the_reason(
    token_registry: RegistryServer,
) -> None:
    async def check() -> None:
        right = RegistryCredentials(username="tester", password="secret")
        async with opened(token_registry.host, "a/b", credentials=right) as target:
            await pushed(target)
        wrong = RegistryCredentials(username="tester", password="hunter2hunter2")
        async with opened(token_registry.host, "a/b", credentials=wrong) as target:
            with pytest.raises(RegistryError, match="does not accept the credentials") as caught:
                await target.resolve("v1")
        assert "hunter2" not in repr(caught.value) + str(caught.value) + repr(wrong)
        assert caught.value.status == 401
        assert not caught.value.temporary
        async with opened(token_registry.host, "a/b") as target:
            with pytest.raises(RegistryError, match="requires credentials") as caught:
                await target.resolve("v1")
        assert "docker login" in caught.value.hint

    run(check())


class _TokenRegistry:
    """A registry with a token server whose first token soon expires."""

    def __init__(self, password: str = "secret") -> None:
        self.password = password
        self.issued: list[str] = []
        self.asked: list[str] = []
        self.host = ""
        self.realm = "/token"

    async def __call__(self, request: Any) -> Any:
        import aiohttp
        from aiohttp import web

        if request.path == "/token":
            self.asked.append(request.query.get("scope", ""))
            basic = aiohttp.BasicAuth.decode(request.headers.get("Authorization", "Basic Og=="))
            if basic.password != self.password:
                return web.json_response({"details": "no"}, status=401)
            self.issued.append(f"token-{len(self.issued)}")
            return web.json_response({"token": self.issued[-1], "expires_in": 60})
        valid = f"Bearer {self.issued[-1]}" if len(self.issued) > 1 else "none"
        if request.headers.get("Authorization") != valid:
            challenge = f'Bearer realm="http://{request.host}{self.realm}",service="tests"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        if request.path == "/v2/":
            return web.Response()
        return web.Response(body=IMAGE.index_data, content_type=MediaType.OCI_INDEX)  # type: ignore[union-attr]


def test_an_expired_token_is_replaced_once() -> None:
    async def check() -> None:
        server = _TokenRegistry()
        right = RegistryCredentials(username="tester", password="secret")
        async with serving(server) as host, opened(host, "a/b", credentials=right) as target:
            assert (await target.resolve("v1")).digest == IMAGE.digest
        assert server.issued == ["token-0", "token-1"]
        assert set(server.asked) == {"repository:a/b:pull"}

    run(check())


def test_a_token_server_that_refuses_the_user_is_reported_without_secrets() -> None:
    async def check() -> None:
        wrong = RegistryCredentials(username="tester", password="hunter2hunter2")
        async with serving(_TokenRegistry()) as host:
            async with opened(host, "a/b", credentials=wrong) as target:
                with pytest.raises(RegistryError, match="does not accept") as caught:
                    await target.resolve("v1")
        assert "hunter2" not in str(caught.value) + caught.value.hint

    run(check())


def test_credentials_are_not_sent_after_a_redirect_to_another_host() -> None:
    async def check() -> None:
        from aiohttp import web

        heard: list[str | None] = []

        async def other(request: Any) -> Any:
            heard.append(request.headers.get("Authorization"))
            return web.Response(body=BLOB)

        async with serving(other) as elsewhere:

            async def first(request: Any) -> Any:
                if "Authorization" not in request.headers:
                    return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
                if "/blobs/" in request.path:
                    location = f"http://{elsewhere}/data?signature=hunter2"
                    return web.Response(status=307, headers={"Location": location})
                return web.Response()

            credentials = RegistryCredentials(username="tester", password="secret")
            async with serving(first) as host:
                async with opened(host, "a/b", credentials=credentials) as target:
                    descriptor = Descriptor.of(BLOB, "application/octet-stream")
                    assert await store.read(target, descriptor) == BLOB
        assert heard == [None]

    run(check())


@pytest.mark.parametrize("status", [405, 501])
def test_a_registry_without_head_gets_a_get_request(registry: RegistryServer, status: int) -> None:
    def no_head(method: str, _: str) -> int | None:
        return status if method == "HEAD" else None

    async def check() -> None:
        async with FaultProxy(upstream=f"http://{registry.host}", plan=no_head) as proxy:
            async with opened(proxy.host, f"head/less{status}") as target:
                await pushed(target)
                steps = await pushed(target)
                assert {step.outcome for step in steps} == {TransferOutcome.PRESENT}
                blob = LAYER.descriptor
                assert await target.exists(blob)
                assert not await target.exists(Descriptor.of(b"none", "text/plain"))
                assert (await target.resolve("v1")).digest == IMAGE.digest
            # HEAD is tried once and then not again.
            assert [method for method, _, _ in proxy.seen].count("HEAD") == 1

    run(check())


@pytest.mark.parametrize("says_digest", [True, False])
def test_a_registry_whose_head_response_has_no_length_is_read(
    registry: RegistryServer, says_digest: bool
) -> None:
    """Answers HEAD without Content-Length and without Docker-Content-Digest."""
    import aiohttp
    from aiohttp import web

    async def check() -> None:
        async with opened(registry.host, f"head/length-{int(says_digest)}") as target:
            await pushed(target)

        async def handle(request: Any) -> Any:
            address = f"http://{registry.host}{request.path_qs}"
            accept = {"Accept": request.headers.get("Accept", "*/*")}
            async with (
                aiohttp.ClientSession() as session,
                session.request(request.method, address, headers=accept) as answer,
            ):
                data = await answer.read()
                hidden = {"Content-Length"} | (set() if says_digest else {"Docker-Content-Digest"})
                kept = {key: value for key, value in answer.headers.items() if key not in hidden}
                found = web.StreamResponse(status=answer.status, headers=kept)
                found.enable_chunked_encoding()
                await found.prepare(request)
                if request.method != "HEAD":
                    await found.write(data)
                return found

        async with (
            serving(handle) as host,
            opened(host, f"head/length-{int(says_digest)}") as target,
        ):
            assert (await target.resolve("v1")) == IMAGE.descriptor
            assert await target.exists(LAYER.descriptor)
            assert not await target.exists(Descriptor.of(b"none", "text/plain"))
            copy = MemoryStore()
            await transfer.copy(target, copy, IMAGE.descriptor, tag="v1")
            assert await copy.exists(LAYER.descriptor)

    run(check())


# --- TLS


@pytest.fixture(scope="module")
def certificate(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += [
        "-days",
        "2",
        "-subj",
        "/CN=tests",
        "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:registry.example.com",
    ]
    words += ["-keyout", str(folder / "key"), "-out", str(folder / "cert")]
    done = subprocess.run(["openssl", *words], capture_output=True, check=False)
    if done.returncode:
        missing("openssl cannot make a certificate: run scripts/system-packages")
    return folder / "cert", folder / "key"


def test_an_unknown_authority_is_refused_and_a_given_one_is_trusted(
    tmp_path: Path, certificate: tuple[Path, Path], registry: RegistryServer
) -> None:
    del registry

    async def check(server: RegistryServer) -> None:
        async with opened(server.host, "a/b") as target:
            with pytest.raises(RemoteError, match="cannot trust the certificate") as caught:
                await target.resolve("v1")
        assert "--ca-file" in caught.value.hint
        trusting = replace(QUICK, ca_file=str(certificate[0]))
        async with opened(server.host, "a/b", trusting) as target:
            await pushed(target)
        careless = replace(QUICK, skip_tls_verify=True)
        async with opened(server.host, "a/b", careless) as target:
            assert (await target.resolve("v1")).digest == IMAGE.digest

    with RegistryServer(folder=tmp_path / "tls", certificate=certificate) as server:
        run(check(server))


@asynccontextmanager
async def tunnel(port: int, user: str) -> AsyncIterator[str]:
    """A proxy that connects `user` to `port` of this machine for any requested host."""
    wanted = b"Proxy-Authorization: Basic " + base64.b64encode(user.encode())

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if wanted not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        other = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(carry(reader, other[1]), carry(other[0], writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def test_a_registry_is_reached_through_a_proxy(
    tmp_path: Path, certificate: tuple[Path, Path], registry: RegistryServer
) -> None:
    del registry
    trusting = replace(QUICK, ca_file=str(certificate[0]))

    async def check(server: RegistryServer) -> None:
        port = int(server.host.rpartition(":")[2])
        async with tunnel(port, "tester:hunter2") as proxy:
            through = replace(trusting, environment={"https_proxy": f"tester:hunter2@{proxy}"})
            async with opened("registry.example.com", "a/b", through) as target:
                await pushed(target)
                assert await target.resolve("v1") == IMAGE.descriptor
            stranger = replace(trusting, environment={"https_proxy": f"tester:swordfish@{proxy}"})
            async with opened("registry.example.com", "a/b", stranger) as target:
                with pytest.raises(RemoteError, match="through the proxy") as caught:
                    await target.resolve("v1")
        told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
        assert "https_proxy" in told
        assert "swordfish" not in told

    with RegistryServer(folder=tmp_path / "proxied", certificate=certificate) as server:
        run(check(server))


@pytest.mark.parametrize("prefix", ["", "target-"])
def test_a_server_without_tls_is_distinguished_from_one_with_it(prefix: str) -> None:
    async def check() -> None:
        async def plain(_: Any) -> Any:
            from aiohttp import web

            return web.Response()

        options = replace(QUICK, option_prefix=prefix)
        async with serving(plain) as host, Web(options) as web:
            with pytest.raises(RemoteError, match="TLS handshake failed") as caught:
                async with web.send("GET", f"https://{host}/"):
                    pass
        assert f"`--{prefix}plain-http`" in caught.value.hint

    run(check())


def test_retries_end(registry: RegistryServer) -> None:
    async def check() -> None:
        async with FaultProxy(
            upstream=f"http://{registry.host}", rate=1.0, faults=[Fault.TOO_MANY]
        ) as proxy:
            async with opened(proxy.host, "a/b") as target:
                with pytest.raises(RegistryError, match="status 429") as caught:
                    await target.resolve("v1")
            assert caught.value.temporary
            assert len(proxy.seen) == QUICK.attempts

    run(check())


def test_a_download_does_not_wait_for_a_day_either(registry: RegistryServer) -> None:
    async def check() -> None:
        proxy = FaultProxy(
            upstream=f"http://{registry.host}",
            retry_after="9" * 5000,
            plan=lambda _, path: Fault.TOO_MANY if "/blobs/" in path else None,
        )
        async with proxy, opened(proxy.host, "day/a") as target:
            with pytest.raises(RegistryError, match="status 429") as caught:
                await store.read(target, LAYER.descriptor)
        assert caught.value.hint == "try again tomorrow"

    run(check())


def test_a_long_retry_after_is_reported_without_waiting(registry: RegistryServer) -> None:
    async def check() -> None:
        async with FaultProxy(
            upstream=f"http://{registry.host}",
            rate=1.0,
            faults=[Fault.TOO_MANY],
            retry_after="3600",
        ) as proxy:
            async with opened(proxy.host, "a/b") as target:
                with pytest.raises(RegistryError) as caught:
                    await target.resolve("v1")
            assert "try again in 3600 seconds" in caught.value.hint
            assert len(proxy.seen) == 1

    run(check())
