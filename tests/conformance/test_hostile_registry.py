"""Whole commands with a registry on loopback whose answers no registry should have.

Each ends within seconds, with exit code 1, 2 or 3 and one line that names the registry, and sends
the credentials of the registry to no other server.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from olmkit.cli import main
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.testing import BUILT_IN, ApiServer

PASSWORD = "hunter2hunter2"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OLM = "operators.coreos.com"
RESOURCES = (
    *BUILT_IN,
    *(
        Resource(gvk=GVK(OLM, version, kind), plural=f"{kind.lower()}s", namespaced=True)
        for version, kind in (
            *(("v1alpha1", "Subscription"), ("v1alpha1", "InstallPlan"), ("v1", "OperatorGroup")),
            *(("v1alpha1", "ClusterServiceVersion"), ("v1alpha1", "CatalogSource")),
        )
    ),
)
LONGEST = 30.0  # seconds for one command, on a busy machine


@dataclass
class Hostile:
    """A registry that gives one response to all requests, and another server that records them."""

    answer: Callable[[Hostile, str, str], bytes]
    is_endless: bool = False
    host: str = ""
    other: str = ""
    cluster: ApiServer = field(default_factory=lambda: ApiServer.of(RESOURCES))
    requests: int = 0
    elsewhere: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests += 1
            method, path, _ = head.decode("latin-1").split(" ", 2)
            writer.write(self.answer(self, method, path))
            await writer.drain()
            while self.is_endless and method != "HEAD":
                writer.write(b"[" * 65536)
                await writer.drain()
        writer.close()

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            self.elsewhere.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(_format(401, {"WWW-Authenticate": 'Basic realm="x"'}))
            await writer.drain()
        writer.close()


def _format(status: int, headers: dict[str, str], body: bytes = b"") -> bytes:
    named = {"Content-Length": str(len(body)), "Connection": "close"} | headers
    lines = [f"HTTP/1.1 {status} Word", *(f"{key}: {value}" for key, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _loop(_: Hostile, __: str, path: str) -> bytes:
    return _format(307, {"Location": path})


def _growing_loop(_: Hostile, __: str, path: str) -> bytes:
    return _format(307, {"Location": f"{path}/x"})


def _redirect(hostile: Hostile, _: str, path: str) -> bytes:
    return _format(307, {"Location": f"http://{hostile.other}{path}"})


def _realm_elsewhere(hostile: Hostile, _: str, __: str) -> bytes:
    challenge = f'Bearer realm="http://{hostile.other}/realm",service="s"'
    return _format(401, {"WWW-Authenticate": challenge})


def _two_realms(hostile: Hostile, _: str, path: str) -> bytes:
    """The realm is that of this registry, and leads to the other server."""
    if path.startswith("/token"):
        return _format(307, {"Location": f"http://{hostile.other}/planted"})
    challenge = f'Bearer realm="http://{hostile.host}/token",service="s"'
    return _format(401, {"WWW-Authenticate": challenge})


def _endless(_: Hostile, __: str, ___: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {MANIFEST}\r\n\r\n".encode()


def _huge_head(_: Hostile, __: str, ___: str) -> bytes:
    return _format(200, {"Docker-Content-Digest": "a" * 2_000_000})


def _many_heads(_: Hostile, __: str, ___: str) -> bytes:
    return _format(200, {f"X-{number}": "a" * 100 for number in range(20_000)})


def _wrong_digest(_: Hostile, method: str, __: str) -> bytes:
    body = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": {
        "mediaType": "application/vnd.oci.image.config.v1+json", "size": 2,
        "digest": "sha256:" + "0" * 64}, "layers": []}).encode()  # fmt: skip
    headers = {
        "Content-Type": MANIFEST,
        "Docker-Content-Digest": "sha256:" + "1" * 64,
        "Content-Length": str(len(body)),
    }
    return _format(200, headers, b"" if method == "HEAD" else body)


def _retry_after(after: str) -> Callable[[Hostile, str, str], bytes]:
    return lambda *_: _format(429, {"Retry-After": after})


def _nonsense(_: Hostile, __: str, ___: str) -> bytes:
    return b"\x00\xff" * 500


def _escape(_: Hostile, __: str, ___: str) -> bytes:
    words = b'{"errors":[{"code":"DENIED","message":"\\u001b[31m\\nerror: all is well"}]}'
    return _format(403, {}, words)


ANSWERS = {
    "redirect-loop": _loop,
    "growing-redirects": _growing_loop,
    "redirect-elsewhere": _redirect,
    "realm-elsewhere": _realm_elsewhere,
    "realm-that-redirects": _two_realms,
    "endless-body": _endless,
    "huge-header": _huge_head,
    "many-headers": _many_heads,
    "wrong-digest": _wrong_digest,
    "retry-after-inf": _retry_after("inf"),
    "retry-after-years": _retry_after("1000000000"),
    "retry-after-digits": _retry_after("9" * 5000),
    "no-http": _nonsense,
    "escape-sequences": _escape,
}
CLUSTER = ("--kubeconfig", "{folder}/kubeconfig", "-n", "default", "--timeout", "2s")
COMMANDS = {
    "catalog-render": ("catalog", "render", "{image}"),
    "catalog-validate": ("catalog", "validate", "{image}"),
    "catalog-check": ("catalog", "check", "{image}"),
    "catalog-list": ("catalog", "list", "packages", "{image}"),
    "bundle-validate": ("bundle", "validate", "{image}"),
    "image-inspect": ("image", "inspect", "{image}"),
    "image-copy": ("image", "copy", "{image}", "oci:{folder}/copy"),
    "install-bundle": ("install", "--bundle", "{image}", *CLUSTER),
    "install-catalog": ("install", "some", "--catalog", "{image}", *CLUSTER),
}


@contextlib.asynccontextmanager
async def _listening(serve: Callable[..., object]) -> AsyncIterator[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)  # type: ignore[arg-type]
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@contextlib.contextmanager
def running(hostile: Hostile) -> Iterator[None]:
    """Both servers, in a separate thread: each command has its event loop."""
    is_up, loop = threading.Event(), asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        async with _listening(hostile.serve) as hostile.host, hostile.cluster.serving():
            async with _listening(hostile.listen) as hostile.other:
                is_up.set()
                await end.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert is_up.wait(10)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(60)
        loop.close()


# Retried answers take some seconds each, so one command tests them all.
SLOW = ("redirect-loop", "growing-redirects", "huge-header", "many-headers", "no-http",
        "retry-after-inf", "retry-after-digits")  # fmt: skip
CASES = [
    (command, name)
    for name in ANSWERS
    for command in COMMANDS
    if name not in SLOW or command == "catalog-render"
]


@pytest.mark.parametrize(("command", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_a_command_ends_with_one_error(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = Hostile(ANSWERS[name], is_endless=name == "endless-body")
    with running(hostile):
        token = base64.b64encode(f"tester:{PASSWORD}".encode()).decode()
        authfile = tmp_path / "auth.json"
        authfile.write_text(json.dumps({"auths": {hostile.host: {"auth": token}}}))
        (tmp_path / "kubeconfig").write_text(json.dumps({
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": hostile.cluster.url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }))  # fmt: skip
        image = f"{hostile.host}/a/b:v1"
        words = [one.format(image=image, folder=tmp_path) for one in COMMANDS[command]]
        begin = time.monotonic()
        code = main.run([*words, "--plain-http", "--authfile", str(authfile)])
        took = time.monotonic() - begin

    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert code in (1, 2, 3), said
    assert took < LONGEST
    assert 0 < hostile.requests < 100
    # The nodes may be able to read a registry that this machine cannot, so a catalog is written.
    assert hostile.cluster.writes() == [] or command == "install-catalog"
    start = "note: the catalog cannot be read" if command == "install-catalog" else "error"
    errors = [line for line in printed.err.splitlines() if line.startswith(start)]
    assert len(errors) == 1, said
    assert hostile.host in errors[0] or hostile.other in errors[0], said
    assert len(said) < 3000
    assert "Traceback" not in said
    assert "\x1b" not in said
    assert PASSWORD not in said
    assert token not in said
    index = tmp_path / "copy/index.json"  # blobs can remain for the next run
    assert not index.exists() or json.loads(index.read_text())["manifests"] == []
    for head in hostile.elsewhere:  # the realm that the registry itself names gets them
        assert b"authorization:" not in head.lower() or head.startswith(b"GET /realm?"), head
