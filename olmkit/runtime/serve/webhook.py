"""The webhook server that the API server calls for admission and conversion, over TLS.

Each webhook has its own path. A request that cannot be parsed gets an HTTP error with the reason
(400, 405, 413, 415); a valid review gets status 200, also if the verdict is a refusal. The
certificate is where OLM and the scaffolds mount it, and is reloaded while the server runs. The
server supports HTTP/1.1 only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.network.http_server import HttpServer
from olmkit.edges.network.server_library import web
from olmkit.kube.objects import Manifest
from olmkit.runtime.metrics import Registry
from olmkit.runtime.serve import certificates, webhook_admission
from olmkit.runtime.serve.certificates import Reloader
from olmkit.runtime.serve.probes import Check, CheckFailed
from olmkit.runtime.serve.webhook_admission import BadReview, Handler
from olmkit.runtime.serve.webhook_conversion import Conversions

_LOG = logging.getLogger(__name__)

PORT = 9443
CONVERT = "/convert"
MAX_BODY = 7 << 20
_PATIENCE = 30.0  # the maximum timeout of the API server
_HANDSHAKE = 5.0
_OUT_OF_TIME = (9, 10)  # OpenSSL's error codes: not yet valid, expired
_LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """The paths of a certificate and its key."""

    folder: Path
    certificate: str = "tls.crt"
    key: str = "tls.key"

    @property
    def paths(self) -> tuple[Path, Path]:
        """Return the paths of the certificate and of its key."""
        return self.folder / self.certificate, self.folder / self.key

    @property
    def exist(self) -> bool:
        """Return whether both files exist."""
        return all(path.is_file() for path in self.paths)


def default_files(environment: Mapping[str, str]) -> CertificateFiles:
    """Return the default paths, where OLM and the scaffolds mount the certificate.

    The temporary folder is found without writing to it, since it may be read-only in a pod.
    """
    temporary = environment.get("TMPDIR") or "/tmp"  # noqa: S108 - only read, and mounted
    return CertificateFiles(folder=Path(temporary, "k8s-webhook-server", "serving-certs"))


class WebhookServer:
    """A runnable that serves admission and conversion reviews; ready when it listens.

    Add it to the group `WEBHOOKS` of a manager: caches may need its conversions. With the file
    `client_ca`, clients must present a certificate signed by this CA. Raises `ConfigurationError`
    if the files are not a certificate and its key.
    """

    name = "webhooks"

    def __init__(
        self,
        address: tuple[str | None, int],
        files: CertificateFiles,
        *,
        registry: Registry,
        client_ca: Path | None = None,
    ) -> None:
        self._files = files
        self._tls = certificates.context(*files.paths)
        self._tls.set_alpn_protocols(["http/1.1"])
        if client_ca is not None:
            _require_clients(self._tls, client_ca)
        self._reloader = Reloader(self._tls, *files.paths, registry=registry)
        self._metrics = _Metrics(registry)
        self._application = web.Application(client_max_size=MAX_BODY)
        self._paths: set[str] = set()
        self._http = HttpServer(self.name, self._application, address, tls=self._tls)

    @property
    def port(self) -> int:
        """Return the port; only valid once the server listens."""
        return self._http.port

    def add(self, path: str, *handlers: Handler) -> None:
        """Register admission handlers for `path`; raise `ValueError` if the path is in use."""
        failed = self._metrics.panics.inc

        async def judge(review: Any) -> Manifest:
            return await webhook_admission.answer(review, handlers, failed)

        self._route(path, judge)

    def add_conversions(self, conversions: Conversions, path: str = CONVERT) -> None:
        """Register conversions for `path`; raise `ValueError` if the path is in use."""
        failed = self._metrics.conversion_panics.inc

        async def convert(review: Any) -> Manifest:
            return conversions.answer(review, failed)

        self._route(path, convert)

    async def run(self) -> None:
        """Serve until cancelled."""
        reloading = asyncio.create_task(self._reloader.run())
        try:
            await self._http.run()
        finally:
            reloading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reloading

    async def wait_until_ready(self) -> None:
        """Wait until the server accepts connections."""
        await self._http.wait_until_ready()

    def check_certificate(self) -> bool:
        """Reload changed certificate files now, before the next periodic check."""
        return self._reloader.check()

    def started(self) -> Check:
        """Return a readiness check that passes if a TLS handshake with the server succeeds.

        An expired or not yet valid certificate fails the check: the API server would reject it.
        """

        async def check() -> None:
            if not self.port:
                raise CheckFailed("the webhook server is not listening yet")
            try:
                async with asyncio.timeout(_HANDSHAKE):
                    _, writer = await asyncio.open_connection(
                        self._http.host or "localhost",
                        self.port,
                        ssl=_ourselves(self._files.paths[0]),
                    )
                    writer.close()
            except ssl.SSLCertVerificationError as error:
                if error.verify_code in _OUT_OF_TIME:
                    raise CheckFailed(
                        f"the webhook certificate is not valid now: {error.verify_message}"
                    ) from error
            except (OSError, TimeoutError) as error:
                raise CheckFailed(f"the webhook server does not answer: {error}") from error

        return check

    def _route(self, path: str, reply: Callable[[Any], Awaitable[Manifest]]) -> None:
        if not path.startswith("/"):
            raise ValueError(f"a webhook's path starts with `/`: `{path}`")
        if path in self._paths:
            raise ValueError(f"a webhook at {path} already exists")
        self._paths.add(path)
        series = self._metrics.of(path)

        async def handle(request: web.Request) -> web.Response:
            loop = asyncio.get_running_loop()
            began = loop.time()
            series.in_flight.inc()
            code = 500
            try:
                response = await _reply(request, reply)
                code = response.status
            finally:
                series.in_flight.dec()
                series.seconds.observe(loop.time() - began)
                series.requests.labels(path, str(code)).inc()
            return response

        self._application.router.add_post(path, handle)


async def _reply(request: web.Request, reply: Callable[[Any], Awaitable[Manifest]]) -> web.Response:
    try:
        async with asyncio.timeout(_PATIENCE):
            answer = await reply(await _body(request))
    except BadReview as error:
        _LOG.warning("no review", extra={"path": request.path, "error": str(error)})
        refusal = web.Response(status=error.status, text=f"{error}\n")
        if not request.content.is_eof():
            refusal.force_close()  # the rest of the body is not read, so no request can follow
        return refusal
    except TimeoutError:
        _LOG.error("webhook timed out", extra={"path": request.path})
        return web.Response(status=504, text=f"no response within {_PATIENCE:g} s\n")
    return web.Response(body=msgspec.json.encode(answer), content_type="application/json")


async def _body(request: web.Request) -> Any:
    """Return the JSON value of the request's body; raise `BadReview` if it is invalid."""
    if request.content_type != "application/json":
        raise BadReview("the content type is not `application/json`", 415)
    try:
        data = await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise BadReview(f"the body is larger than {MAX_BODY} bytes", 413) from error
    except (web.RequestPayloadError, ConnectionError) as error:
        raise BadReview("the body does not match its headers, or is incomplete") from error
    if not data:
        raise BadReview("the body is empty")
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadReview(f"the body is not JSON: {error}") from error


class _Series:
    def __init__(self, metrics: _Metrics, path: str) -> None:
        self.requests = metrics.requests
        self.seconds = metrics.seconds.labels(path)
        self.in_flight = metrics.in_flight.labels(path)
        for code in ("200", "500"):  # created at the start, so that rates work
            self.requests.labels(path, code)


class _Metrics:
    """The metrics of webhooks, by path."""

    def __init__(self, registry: Registry) -> None:
        self.requests = registry.counter(
            "controller_runtime_webhook_requests_total",
            "Total number of admission requests by HTTP status code",
            ("webhook", "code"),
        )
        self.seconds = registry.histogram(
            "controller_runtime_webhook_latency_seconds",
            "Latency of processing admission requests",
            ("webhook",),
            _LATENCY_BUCKETS,
        )
        self.in_flight = registry.gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Current number of admission requests being served",
            ("webhook",),
        )
        self.panics = registry.counter(
            "controller_runtime_webhook_panics_total", "Total number of webhook panics"
        )
        self.conversion_panics = registry.counter(
            "controller_runtime_conversion_webhook_panics_total",
            "Total number of conversion webhook panics",
        )

    def of(self, path: str) -> _Series:
        return _Series(self, path)


def _require_clients(tls: ssl.SSLContext, authority: Path) -> None:
    try:
        tls.load_verify_locations(authority)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"`{authority}` does not contain a CA certificate: {error}"
        ) from error
    tls.verify_mode = ssl.CERT_REQUIRED


def _ourselves(certificate: Path) -> ssl.SSLContext:
    """Return a TLS context that checks only the validity period of the certificate.

    The file may already contain a newer certificate than the server uses, so the signer is not
    checked.
    """
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        tls.load_verify_locations(certificate)
    except (OSError, ssl.SSLError):  # the file is being renewed
        tls.verify_mode = ssl.CERT_NONE
    return tls
