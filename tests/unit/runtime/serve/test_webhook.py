"""The webhook server over real connections."""

from __future__ import annotations

import asyncio
import datetime
import io
import json
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.objects import GVK
from olmkit.runtime.metrics import Registry
from olmkit.runtime.serve import self_signed, webhook
from olmkit.runtime.serve.probes import CheckFailed
from olmkit.runtime.serve.webhook import CertificateFiles, WebhookServer
from olmkit.runtime.serve.webhook_admission import AdmissionRequest, Denied, Verdict
from olmkit.runtime.serve.webhook_conversion import Conversions, Spoke

PATH = "/validate-cache-example-com-v1-cache"


def files(folder: Path) -> CertificateFiles:
    certificate, key = self_signed.make()
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    return CertificateFiles(folder=folder)


def trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "tls.crt"))


async def judge(request: AdmissionRequest) -> Verdict:
    if request.name == "bad":
        raise Denied("bad name", warnings=["careful"])
    if request.name == "broken":
        raise RuntimeError("oops")
    return Verdict()


def review(name: str = "good") -> Any:
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": "CREATE", "name": name, "object": {"spec": {}}},
    }


@asynccontextmanager
async def serving(
    folder: Path, registry: Registry | None = None, client_ca: Path | None = None
) -> AsyncIterator[WebhookServer]:
    server = WebhookServer(
        ("127.0.0.1", 0), files(folder), registry=registry or Registry(), client_ca=client_ca
    )
    server.add(PATH, judge)
    conversions = Conversions()
    conversions.add(
        GVK(group="g", version="v1", kind="K"),
        Spoke(version="v2", to_hub=lambda one: one, from_hub=lambda one: one | {"spec": 2}),
    )
    server.add_conversions(conversions)
    running = asyncio.create_task(server.run())
    await server.wait_until_ready()
    try:
        yield server
    finally:
        running.cancel()
        await asyncio.wait([running])


async def post(
    server: WebhookServer,
    folder: Path,
    body: Any,
    *,
    path: str = PATH,
    content_type: str = "application/json",
    encoding: str = "identity",
    method: str = "POST",
) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            method,
            f"https://localhost:{server.port}{path}",
            data=io.BytesIO(data),
            headers={"Content-Type": content_type, "Content-Encoding": encoding},
            ssl=trusting(folder),
        ) as answer,
    ):
        text = await answer.text()
        is_json = answer.content_type == "application/json"
        return answer.status, json.loads(text) if is_json else text


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await work()

    asyncio.run(bounded())


def test_reviews_are_always_answered_with_200(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry()

    async def work() -> None:
        async with serving(tmp_path, registry) as server:
            status, good = await post(
                server, tmp_path, review(), content_type="application/json; charset=utf-8"
            )
            assert (status, good["response"]) == (
                200,
                {"uid": "u", "allowed": True, "status": {"code": 200}},
            )
            status, bad = await post(server, tmp_path, review("bad"))
            assert (status, bad["response"]["status"]["message"]) == (200, "bad name")
            assert bad["response"]["warnings"] == ["careful"]
            status, broken = await post(server, tmp_path, review("broken"))
            assert (status, broken["response"]["status"]["code"]) == (200, 500)

    run(work)
    text = registry.render()
    assert f'controller_runtime_webhook_requests_total{{code="200",webhook="{PATH}"}} 3.0\n' in text
    assert f'controller_runtime_webhook_latency_seconds_count{{webhook="{PATH}"}} 3.0\n' in text
    assert f'controller_runtime_webhook_requests_in_flight{{webhook="{PATH}"}} 0.0\n' in text
    assert "controller_runtime_webhook_panics_total 1.0\n" in text
    assert "oops" in caplog.text


def test_conversions_have_a_path(tmp_path: Path) -> None:
    asked = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {
            "uid": "r",
            "desiredAPIVersion": "g/v2",
            "objects": [{"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "k"}}],
        },
    }

    async def work() -> None:
        async with serving(tmp_path) as server:
            status, answer = await post(server, tmp_path, asked, path=webhook.CONVERT)
            assert status == 200
            (found,) = answer["response"]["convertedObjects"]
            assert (found["apiVersion"], found["spec"]) == ("g/v2", 2)

    run(work)


@pytest.mark.parametrize(
    ("body", "content_type", "status", "words"),
    [
        (b"", "application/json", 400, "the body is empty"),
        (b"{", "application/json", 400, "the body is not JSON"),
        (b"\xff", "application/json", 400, "the body is not JSON"),
        (b"[" * 100_000, "application/json", 400, "the body is not JSON"),
        ({"kind": "Pod"}, "application/json", 400, "the body is not an AdmissionReview"),
        (review(), "text/plain", 415, "the content type is not `application/json`"),
        (b" " * (webhook.MAX_BODY + 1), "application/json", 413, "the body is larger than"),
    ],
    ids=["empty", "cut", "not utf-8", "deep", "no review", "text", "too large"],
)
def test_an_invalid_request_gets_a_plain_error(
    tmp_path: Path, body: Any, content_type: str, status: int, words: str
) -> None:
    async def work() -> None:
        async with serving(tmp_path) as server:
            found = await post(server, tmp_path, body, content_type=content_type)
            assert found[0] == status
            assert words in found[1]

    run(work)


def test_a_body_that_is_not_read_ends_the_connection(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as server:
            reader, writer = await asyncio.open_connection(
                "localhost", server.port, ssl=trusting(tmp_path)
            )
            head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {webhook.MAX_BODY * 2}\r\n\r\n".encode())
            writer.write(b" " * (webhook.MAX_BODY + 1))
            answer = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert b"Connection: close" in answer

    run(work)


def test_a_body_that_contradicts_its_headers_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with serving(tmp_path) as server:
            found = await post(server, tmp_path, b"no gzip at all", encoding="gzip")
            assert found == (400, "the body does not match its headers, or is incomplete\n")
            _, writer = await asyncio.open_connection(
                "localhost", server.port, ssl=trusting(tmp_path)
            )
            head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            await writer.drain()
            writer.close()
            while sum(one.getMessage() == "no review" for one in caplog.records) < 2:  # noqa: ASYNC110 - in the log
                await asyncio.sleep(0.01)

    run(work)
    assert "Error handling request" not in caplog.text


@pytest.mark.parametrize(("method", "path", "status"), [("GET", PATH, 405), ("POST", "/x", 404)])
def test_other_methods_and_paths_are_refused(
    tmp_path: Path, method: str, path: str, status: int
) -> None:
    async def work() -> None:
        async with serving(tmp_path) as server:
            found, _ = await post(server, tmp_path, review(), method=method, path=path)
            assert found == status

    run(work)


def test_old_versions_of_tls_are_refused(tmp_path: Path) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.verify_mode = ssl.CERT_NONE

    async def work() -> None:
        async with serving(tmp_path) as server:
            with pytest.warns(DeprecationWarning, match="TLSv1_1"):
                old.maximum_version = ssl.TLSVersion.TLSv1_1
            with pytest.raises(OSError, match=r"(?i)ssl|version"):
                await asyncio.open_connection("127.0.0.1", server.port, ssl=old)

    run(work)


def test_only_http_1_1_is_offered(tmp_path: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    tls.set_alpn_protocols(["h2", "http/1.1"])

    async def work() -> None:
        async with serving(tmp_path) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls)
            assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
            writer.close()

    run(work)


def test_a_renewed_certificate_is_used_for_new_connections_of_the_same_listener(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with serving(tmp_path) as server:
            port = server.port
            old = trusting(tmp_path)
            files(tmp_path)
            assert server.check_certificate()
            assert await post(server, tmp_path, review()) is not None
            assert server.port == port
            with pytest.raises(ssl.SSLCertVerificationError):
                await asyncio.open_connection("localhost", port, ssl=old)

    run(work)


def test_a_client_without_a_required_certificate_is_refused(tmp_path: Path) -> None:
    ca = tmp_path / "ca"
    ca.mkdir()
    files(ca)

    async def work() -> None:
        async with serving(tmp_path, client_ca=ca / "tls.crt") as server:
            with pytest.raises(aiohttp.ClientError):
                await post(server, tmp_path, review())

    run(work)


def test_an_authority_that_is_not_a_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("no certificate")
    with pytest.raises(ConfigurationError, match="does not contain a CA certificate"):
        WebhookServer(
            ("127.0.0.1", 0), files(tmp_path), registry=Registry(), client_ca=tmp_path / "ca"
        )


def test_the_check_passes_once_the_server_listens(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as server:
            await server.started()()
            stopped = server.started()
        with pytest.raises(CheckFailed, match="does not answer"):
            await stopped()

    run(work)
    fresh = WebhookServer(("127.0.0.1", 0), files(tmp_path), registry=Registry())
    with pytest.raises(CheckFailed, match="is not listening yet"):
        run(fresh.started())


def test_an_expired_certificate_is_reported_as_not_ready(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as server:
            lifetime = datetime.timedelta(minutes=-1)
            certificate, key = self_signed.make(lifetime=lifetime)
            (tmp_path / "tls.crt").write_bytes(certificate)
            await server.started()()  # the server still uses another one
            (tmp_path / "tls.key").write_bytes(key)
            assert server.check_certificate()
            with pytest.raises(CheckFailed, match="not valid now: certificate has expired"):
                await server.started()()
            (tmp_path / "tls.crt").unlink()
            await server.started()()

    run(work)


def test_a_handler_that_never_ends_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhook, "_PATIENCE", 0.01)
    caplog.set_level(logging.ERROR)

    async def slow(_: AdmissionRequest) -> Verdict:
        await asyncio.Event().wait()
        raise AssertionError

    async def work() -> None:
        async with serving(tmp_path) as server:
            server_2 = WebhookServer(("127.0.0.1", 0), files(tmp_path), registry=Registry())
            server_2.add("/slow", slow)
            running = asyncio.create_task(server_2.run())
            await server_2.wait_until_ready()
            status, text = await post(server_2, tmp_path, review(), path="/slow")
            assert (status, text) == (504, "no response within 0.01 s\n")
            running.cancel()
            await asyncio.wait([running])
            assert server.port

    run(work)


def test_paths_are_unique_and_begin_with_a_slash(tmp_path: Path) -> None:
    server = WebhookServer(("127.0.0.1", 0), files(tmp_path), registry=Registry())
    server.add(PATH, judge)
    with pytest.raises(ValueError, match="already"):
        server.add(PATH, judge)
    with pytest.raises(ValueError, match="starts with"):
        server.add("mutate", judge)


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "/tmp/k8s-webhook-server/serving-certs"),  # noqa: S108 - only read
        ({"TMPDIR": "/var/t"}, "/var/t/k8s-webhook-server/serving-certs"),
    ],
)
def test_the_certificate_is_read_where_olm_mounts_it(
    environment: dict[str, str], folder: str
) -> None:
    found = webhook.default_files(environment)
    assert [str(path) for path in found.paths] == [f"{folder}/tls.crt", f"{folder}/tls.key"]
    assert not CertificateFiles(folder=Path("/nowhere")).exist
