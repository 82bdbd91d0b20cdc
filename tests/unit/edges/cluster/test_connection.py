"""Certificates of API servers: errors have plain messages without secrets."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.credentials import NoCredentials, TokenCredentials
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Unreachable

_DAY = datetime.timedelta(days=1)


def _pair(*, days: int = 2, name: str = "localhost") -> tuple[bytes, bytes]:
    """Create a self-signed certificate that expires after `days`, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 5 * _DAY)
        .not_valid_after(now + days * _DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return made.public_bytes(serialization.Encoding.PEM), private


@asynccontextmanager
async def _serving(
    folder: Path, pair: tuple[bytes, bytes], *, clients: bytes | None = None
) -> AsyncIterator[int]:
    (folder / "pair").write_bytes(b"".join(pair))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pair")
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.decode())

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"major": "1"})

    application = web.Application()
    application.router.add_get("/version", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _ask(folder: Path, server: tuple[bytes, bytes], **config: object) -> None:
    clients = config.pop("clients", None)
    assert clients is None or isinstance(clients, bytes)

    async def scenario() -> None:
        async with _serving(folder, server, clients=clients) as port:
            given = {"ca": server[0], "server_name": "localhost"} | config
            made = ClusterConfig(server=f"https://127.0.0.1:{port}", **given)  # type: ignore[arg-type]
            async with HttpCluster(made) as cluster:
                assert await cluster.version() == {"major": "1"}

    asyncio.run(scenario())


def test_a_valid_certificate_is_trusted(tmp_path: Path) -> None:
    _ask(tmp_path, _pair())


@pytest.mark.parametrize(
    ("days", "name", "words"),
    [
        (-1, "localhost", "certificate has expired"),
        (2, "elsewhere", "Hostname mismatch"),
    ],
    ids=["expired", "other name"],
)
def test_an_invalid_certificate_of_the_server_is_reported(
    tmp_path: Path, days: int, name: str, words: str
) -> None:
    with pytest.raises(Unreachable) as raised:
        _ask(tmp_path, _pair(days=days, name=name))
    assert "its certificate cannot be trusted" in str(raised.value)
    assert words in str(raised.value)
    assert not raised.value.temporary, "waiting does not fix it"


def test_an_unknown_authority_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="self-signed certificate"):
        _ask(tmp_path, _pair(), ca=_pair()[0])


def test_an_authority_that_is_renewed_in_its_file_is_trusted(tmp_path: Path) -> None:
    """As in a pod when the cluster's authority is replaced."""
    old, new = _pair(), _pair()
    file = tmp_path / "ca.crt"
    file.write_bytes(old[0])

    async def scenario() -> None:
        async with _serving(tmp_path, new) as port:
            made = ClusterConfig(
                server=f"https://127.0.0.1:{port}",
                server_name="localhost",
                ca=old[0],
                ca_file=file,
            )
            async with HttpCluster(made) as cluster:
                for content in (None, b"", None):
                    if content is not None:
                        file.write_bytes(content)
                    with pytest.raises(Unreachable, match="cannot be trusted"):
                        await cluster.version()
                file.write_bytes(new[0])
                assert await cluster.version() == {"major": "1"}

    asyncio.run(scenario())


def test_insecure_trusts_anything(tmp_path: Path) -> None:
    _ask(tmp_path, _pair(days=-1), insecure=True)


class _Rotating(NoCredentials):
    """Return another client certificate each time, as an exec plug-in can."""

    def __init__(self, *pairs: tuple[bytes, bytes]) -> None:
        self._pairs = list(pairs)

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._pairs.pop(0) if len(self._pairs) > 1 else self._pairs[0]


def test_a_new_client_certificate_is_used_from_the_next_request(tmp_path: Path) -> None:
    server, first, second = _pair(), _pair(name="one"), _pair(name="two")

    async def scenario() -> None:
        clients = first[0] + second[0]
        async with _serving(tmp_path, server, clients=clients) as port:
            config = ClusterConfig(
                server=f"https://127.0.0.1:{port}",
                ca=server[0],
                server_name="localhost",
                credentials=_Rotating(first, second),
            )
            async with HttpCluster(config) as cluster:
                found = await asyncio.gather(*(cluster.version() for _ in range(3)))
                assert len(found) == 3
                assert await cluster.version() == {"major": "1"}

    asyncio.run(scenario())


def _refused(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, **config: object) -> str:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    async def scenario() -> None:
        made = ClusterConfig(server="http://192.0.2.1:1", name="k", **config)  # type: ignore[arg-type]
        async with HttpCluster(made) as cluster:
            await cluster.version()

    with pytest.raises(ConfigurationError) as raised:
        asyncio.run(scenario())
    return raised.value.message


def test_a_secret_that_no_header_can_contain_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    token = TokenCredentials("one\ntwo")
    words = _refused({}, monkeypatch, credentials=token)
    assert words == "the value of `Authorization` cannot be sent in an HTTP header"
    words = _refused({}, monkeypatch, headers=(("Impersonate-User", "a\r\nX: y"),))
    assert "Impersonate-User" in words


def test_a_proxy_of_another_kind_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    words = _refused({"http_proxy": "socks5://192.0.2.2:1080", "no_proxy": ""}, monkeypatch)
    assert words == "the proxy for the API server does not answer with HTTP"


def test_the_password_of_a_proxy_that_refuses_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        writer.close()

    async def scenario() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
            port = proxy.sockets[0].getsockname()[1]
            monkeypatch.setenv("https_proxy", f"http://user:hunter2@127.0.0.1:{port}")
            made = ClusterConfig(server="https://api.example.com", name="k")
            async with HttpCluster(made) as cluster:
                await cluster.version()

    with pytest.raises(
        Unreachable, match=r"Proxy Authentication Required \(status 407\)"
    ) as raised:
        asyncio.run(scenario())
    assert "hunter2" not in "".join(traceback.format_exception(raised.value))
