"""Registries with arbitrary answers: each answer has a result or an error of olmkit.

A server on loopback writes raw answers, most of them almost correct, with headers,
challenges and bodies that no library would write. Credentials are only for this registry:
another server listens, and answers refer to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from olmkit.base.diagnostics import OlmkitError
from olmkit.base.tree import Tree
from olmkit.edges.images.registries.client import RegistryStore
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.network.web import Web, WebOptions
from olmkit.oci import image, layer, store
from olmkit.oci.content import Descriptor, MediaType, Platform
from olmkit.oci.image import Image
from olmkit.oci.reference import Reference

OPTIONS = WebOptions(
    attempts=2, first_wait=0.0, longest_wait=0.0, read_timeout=3.0, longest_retry_after=0.0
)
USER = RegistryCredentials(username="tester", password="hunter2hunter2")
IMAGE = image.data_image(
    layer.write(Tree({"manifests/a.yaml": b"a: 1\n"})),
    {},
    created_by="test",
    platforms=[Platform(os="linux", architecture="amd64")],
)
assert isinstance(IMAGE, Image)
BLOB = Descriptor.of(b"some content", "application/octet-stream")
DIGITS = "9" * 5000
NUMBERS = ("0", "-1", "1e9", "inf", "nan", DIGITS, "٣", "", " 7 ", "0x10", "7-", "1_0")
PLACES = (
    "http://{other}/x",
    "http://{other}@{host}/x",
    "http://{host}:70000/x",
    "http://{host}/x",
    "http://h:{digits}/",
    "http://[::1",
    "http://[zz]/",
    "http://",
    "//",
    "///x",
    "?",
    "/x\xff\xfe",
    "/x y",
    "http://127.0.0.1.evil.invalid/x",
    "https://{other}/x",
    "ftp://{other}/",
    "file:///etc/passwd",
    "javascript:x",
    "\\\\{other}\\x",
    "/" + "a" * 7000,
    "..",
    "",
    "http://xn--a/",
    "http://\xe9.invalid/",
    "http://{other}:0/x",
)
BODIES = (
    b"",
    b"{",
    b"null",
    b"[]",
    b"7",
    b'"x"',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"tags":[7]}',
    b'{"tags":{"a":1}}',
    b'{"tags":"abc"}',
    b'{"tags":["\\ud800"]}',
    b'{"errors":7}',
    b'{"errors":[7,{"code":[]}]}',
    b'{"errors":[{"code":"DENIED","message":"\\u001b[31m"}]}',
    b'{"token":7}',
    b'{"token":"\\u0000"}',
    b'{"token":"a\\r\\nb: c"}',
    b'{"token":"' + b"x" * 200_000 + b'"}',
    b'{"access_token":null,"token":""}',
    b"\xff\xfe\x00",
    b'{"schemaVersion":2,"manifests":[{}]}',
    b'{"schemaVersion":2,"mediaType":7}',
    b'{"schemaVersion":1}',
    b'{"schemaVersion":2,"config":{"size":1e400},"layers":[]}',
    b'{"schemaVersion":2,"config":{"size":' + DIGITS.encode() + b'},"layers":[]}',
)
SCHEMES = (
    'Bearer realm="{place}",service="s"',
    'Bearer realm="{place}",service="s",scope="aws repository:a/b:pull,push * :"',
    'Basic realm="x"',
    "Bearer",
    "Bearer realm=",
    'Bearer realm="',
    'Bearer realm="{place}',
    'Bearer realm="{place}",scope="' + "x " * 2000 + '"',
    "Negotiate",
    "Basic, Bearer, Basic",
    'Bearer realm="{place}",service="\xff\\"\\',
)
STATUSES = (100, 101, 199, 200, 201, 202, 204, 206, 301, 302, 303, 307, 308, 400, 401, 403, 404)
STATUSES += (405, 410, 416, 418, 429, 500, 501, 503, 599, 600, 999)


@dataclass
class Hostile:
    """The registry of one trial; the same seed has the same answers."""

    source: random.Random
    host: str = ""
    other: str = ""
    answers: int = 0
    elsewhere: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError):
            head = (await _head(reader)).decode("latin-1")
            self.answers += 1
            method, path, _ = head.split(" ", 2)
            writer.write(self.answer(method, path, "authorization:" in head.lower()))
            await writer.drain()
        writer.close()

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The other host, which records misdirected requests and also asks for a password."""
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError):
            self.elsewhere.append(await _head(reader))
            self.answers += 1
            writer.write(self.hostile(realm="planted"))
            await writer.drain()
        writer.close()

    def answer(self, method: str, path: str, known: bool) -> bytes:
        if self.source.random() < 0.35:
            return self.hostile()
        if path.startswith("/token"):
            return _format(200, {}, b'{"token":"t"}')
        if not known and self.source.random() < 0.5:
            realm = f'Bearer realm="http://{self.host}/token",service="s"'
            return _format(401, {"WWW-Authenticate": realm}, b"")
        return self.right(method, path)

    def right(self, method: str, path: str) -> bytes:
        """Return the answer of a registry, with a header that can be unusual."""
        assert isinstance(IMAGE, Image)
        status, headers, body = 200, {}, b""
        if "/uploads/" in path:
            status = 201 if method == "PUT" else 202
            headers = {"Location": "/v2/a/b/blobs/uploads/1", "Range": "0-3"}
        elif path.endswith("/tags/list"):
            body = b'{"tags":["v1"]}'
        elif "/manifests/" in path and method == "PUT":
            status = 201
        elif "/manifests/" in path:
            headers = {"Content-Type": MediaType.OCI_MANIFEST}
            body = IMAGE.manifest_data
        elif "/blobs/" in path:
            body = b"some content"
        if self.source.random() < 0.5:
            headers.update([self.strange_header()])
        return _format(status, headers, b"" if method == "HEAD" else body)

    def hostile(self, realm: str = "realm") -> bytes:
        """Return any answer; `realm` is a path on the other host that can be a token server."""
        kind = self.source.random()
        if kind < 0.05:
            return self.source.randbytes(self.source.randrange(300))
        if kind < 0.1:
            return b"HTTP/1.1 200 OK\r\n" + self.source.randbytes(50) + b"\r\n\r\n"
        headers = dict(self.strange_header(realm) for _ in range(self.source.randrange(4)))
        # Answers that lead to another host are the interesting ones.
        status = self.source.choice((401, 307, 202, *self.source.sample(STATUSES, 4)))
        if status == 401 and self.source.random() < 0.8:
            headers["WWW-Authenticate"] = self.challenge(realm)
        if status in (202, 301, 302, 303, 307, 308) and self.source.random() < 0.9:
            headers["Location"] = self.place()
        return _format(status, headers, self.source.choice(BODIES))

    def strange_header(self, realm: str = "realm") -> tuple[str, str]:
        choose = self.source.choice
        made: dict[str, Callable[[], str]] = {
            "Location": self.place,
            "WWW-Authenticate": lambda: self.challenge(realm),
            "Link": lambda: choose(
                ('<{}>; rel="next"', "<{}>;rel=next", "{}", '<{}; rel="next"')
            ).format(self.place()),
            "Range": lambda: choose(("", "0-", "bytes=0-", "-")) + choose(NUMBERS),
            "OCI-Chunk-Min-Length": lambda: choose(NUMBERS),
            "Content-Length": lambda: choose(NUMBERS),
            "Retry-After": lambda: choose((*NUMBERS, "Fri, 31 Dec 99999 23:59:59 GMT")),
            "Docker-Content-Digest": lambda: choose(
                ("", "sha256:", "sha256:" + "0" * 64, "x:\xff")
            ),
            "Content-Type": lambda: choose(("", "\xff", MediaType.OCI_INDEX, "a" * 5000, ";;;")),
            "Transfer-Encoding": lambda: choose(("chunked", "gzip", "\xff")),
            "Content-Encoding": lambda: choose(("gzip", "br", "x")),
            "Content-Range": lambda: f"bytes {choose(NUMBERS)}-{choose(NUMBERS)}/{choose(NUMBERS)}",
        }
        name = choose(sorted(made))
        return name, made[name]()

    def place(self) -> str:
        text = PLACES[0] if self.source.random() < 0.4 else self.source.choice(PLACES)
        for key, value in (("host", self.host), ("other", self.other), ("digits", DIGITS)):
            text = text.replace(f"{{{key}}}", value)
        return text

    def challenge(self, realm: str) -> str:
        place = f"http://{self.other}/x" if self.source.random() < 0.3 else self.place()
        return self.source.choice(SCHEMES).replace("{place}", place.replace("/x", f"/{realm}"))


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Read the header of a request; raise `ValueError` if it begins with TLS."""
    first = await reader.readexactly(1)
    if first == b"\x16":
        raise ValueError
    return first + await reader.readuntil(b"\r\n\r\n")


def _format(status: int, headers: dict[str, str], body: bytes) -> bytes:
    """Format an answer as bytes; its length is correct unless a header has another."""
    named = {"Content-Length": str(len(body)), "Connection": "close", **headers}
    lines = [f"HTTP/1.1 {status} Word", *(f"{key}: {value}" for key, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


Work = Callable[[RegistryStore, Web], Awaitable[object]]


async def pull(target: RegistryStore, _: Web) -> object:
    return await store.pull(target, "v1", Platform(os="linux", architecture="amd64"))


async def mount(target: RegistryStore, web: Web) -> object:
    neighbour = Reference.parse(f"{target.reference.registry}/c/d")
    return await target.mount(BLOB, RegistryStore(web, neighbour))


async def push_manifest(target: RegistryStore, _: Web) -> object:
    assert isinstance(IMAGE, Image)
    await target.push(IMAGE.descriptor, store.chunks(IMAGE.manifest_data))
    return await target.tag(IMAGE.descriptor, "v1")


async def tag(target: RegistryStore, _: Web) -> object:
    assert isinstance(IMAGE, Image)
    return await target.tag(IMAGE.descriptor, "v1")


WORKS: tuple[Work, ...] = (
    pull,
    mount,
    push_manifest,
    tag,
    lambda target, _: target.tags(),
    lambda target, _: target.referrers(BLOB.digest),
    lambda target, _: target.exists(BLOB),
    lambda target, _: store.read(target, BLOB),
    lambda target, _: target.push(BLOB, store.chunks(b"some content")),
    lambda target, _: target.resolve(str(BLOB.digest)),
)


@contextlib.asynccontextmanager
async def listening(serve: Callable[..., Awaitable[None]]) -> AsyncIterator[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def trials(count: int, first_seed: int) -> Hostile:
    """Run so many trials with a hostile registry, each with its own client."""
    hostile = Hostile(random.Random(0))
    async with listening(hostile.serve) as hostile.host, listening(hostile.listen) as hostile.other:
        seed = first_seed
        while hostile.answers < count:
            hostile.source = random.Random(seed)
            await trial(hostile, seed)
            seed += 1
    return hostile


async def trial(hostile: Hostile, seed: int) -> None:
    reference = Reference.parse(f"{hostile.host}/a/b")
    work = WORKS[seed % len(WORKS)]
    before = len(hostile.elsewhere)
    async with Web(OPTIONS, source=random.Random(seed)) as web:
        target = RegistryStore(web, reference, credentials=USER, chunk_size=seed % 3 * 4 or 1000)
        try:
            async with asyncio.timeout(20):
                await work(target, web)
        except OlmkitError as error:
            said = error.message + error.hint
            assert said.isprintable(), f"seed {seed}: {said!r}"
            assert len(said) < 3000, f"seed {seed}: {said!r}"
            assert USER.password not in said, f"seed {seed}: {said!r}"
            assert "inf" not in said.split(), f"seed {seed}: {said!r}"
        except Exception as error:
            raise AssertionError(f"seed {seed} ends with {error!r}") from error
    # The token server that the registry names can be there, and can redirect within its host.
    heard = hostile.elsewhere[before:]
    first = next((i for i, one in enumerate(heard) if b"authorization" in one.lower()), None)
    assert first is None or heard[first].startswith(b"GET /realm?"), f"seed {seed}: {heard}"


@pytest.mark.parametrize(
    ("count", "first_seed"),
    [(2_000, 0), pytest.param(10_000, 1_000_000, marks=pytest.mark.e2e)],
    ids=["two-thousand", "ten-thousand"],
)
def test_every_answer_of_a_registry_has_a_result_or_an_error_of_olmkit(
    count: int, first_seed: int
) -> None:
    hostile = asyncio.run(trials(count, first_seed))
    assert hostile.answers >= count
    assert len(hostile.elsewhere) > count / 100
