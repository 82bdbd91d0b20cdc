"""Serve catalogs from their caches or their files.

A catalog that `opm serve` rejects is rejected with findings. A changed catalog replaces the old one
at once; running calls continue with the old one. The registry API has no field for the catalog's
name, so each catalog has its own gRPC port. Over HTTP, all are on one port, with the name in the
path.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import importlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olmkit.base.diagnostics import OlmkitError
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.jobs.catalog.serving import prepared_catalogs
from olmkit.jobs.catalog.serving.prepared_catalogs import Prepared, default_name
from olmkit.jobs.catalog.serving.settings import (
    CatalogChangedError,
    Offer,
    ServeSettings,
    Serving,
    check_offers,
)

if TYPE_CHECKING:
    from olmkit.edges.catalog.http_api import CatalogApi
    from olmkit.edges.catalog.metrics import CatalogMetrics
    from olmkit.edges.catalog.server import CatalogServer
    from olmkit.edges.images.access_settings import Access
    from olmkit.edges.network.certificate_files import CertificateRenewals
    from olmkit.edges.network.http_server import HttpServer

# Parameters of glibc's `mallopt`. A block is as large as clients' default message limit.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT_PIECE = 4 * 1024 * 1024
_KEPT = 8 * 1024 * 1024
# Seconds. OLM keeps what it has read of a catalog for 30 minutes, or until it has to reconnect.
_CONNECTION_AGE = 60.0


async def serve(
    catalogs: str | Sequence[Offer],
    settings: ServeSettings | None = None,
    *,
    access: Access | None = None,
    ready: Callable[[Serving], None],
    failed: Callable[[OlmkitError], None] = lambda _: None,
    stop: asyncio.Event,
) -> None:
    """Serve catalogs in folders or images until `stop` is set.

    Listens at once, and calls `ready` when a catalog is served. With `settings.reload`, it checks
    for changes, serves the new catalog and calls `ready` again; for an invalid changed catalog it
    calls `failed` and continues with the old one. Raises `InputError` for a catalog that is invalid
    at the start, `RemoteError` if an address or an image is not available, and `ConfigurationError`
    for contradictory settings.
    """
    from olmkit.edges.images.transports import Access

    settings = settings or ServeSettings()
    if isinstance(catalogs, str):
        catalogs = [Offer(reference=catalogs, name=default_name(catalogs) or "catalog")]
    check_offers(catalogs)
    access = access or Access()
    # Preparing two at the same time would need the memory of both.
    turn = asyncio.Lock()
    async with _open_servers(catalogs, settings) as services:
        work = [
            asyncio.ensure_future(
                _answer(
                    service,
                    _Source(service.offer, settings, catalogs, access, turn),
                    settings.reload,
                    ready,
                    failed,
                )
            )
            for service in services
        ]
        stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((*work, stopping), return_when=asyncio.FIRST_COMPLETED)
            for done in work:
                if done.done():
                    done.result()
        finally:
            for one in (*work, stopping):
                one.cancel()


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a catalog and its cache folder."""

    offer: Offer
    settings: ServeSettings
    offers: Sequence[Offer]
    access: Access
    turn: asyncio.Lock

    async def prepared(self) -> Prepared:
        async with self.turn:
            return await prepared_catalogs.read(
                self.offer.reference,
                self.settings.cache_of(self.offer, self.offers),
                self.access,
                with_lines=self.settings.http_port is not None,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Service:
    """The servers of one catalog, whose content can be replaced at once."""

    offer: Offer
    server: CatalogServer
    host: str
    port: int
    api: CatalogApi | None
    http_port: int
    metrics: CatalogMetrics | None
    metrics_port: int

    def answer_from(self, prepared: Prepared) -> Serving:
        store = prepared.store
        registry = RegistryApi(store.index, store.read)
        self.server.answer_from(registry, store.check)
        if self.api is not None and prepared.lines is not None:
            lines = prepared.lines
            self.api.answer_from(self.offer.name, lines.index, lines.read, lines)
        serving = Serving(
            name=self.offer.name,
            host=self.host,
            port=self.port,
            http_port=self.http_port,
            metrics_port=self.metrics_port,
            packages=registry.package_count,
            bundles=registry.bundle_count,
            digest=store.key.hex(),
            cached=prepared.cached,
            kept=prepared.kept,
            findings=prepared.findings,
        )
        if self.metrics is not None:
            self.metrics.loaded(
                serving.name,
                digest=serving.digest,
                packages=serving.packages,
                bundles=serving.bundles,
            )
        return serving

    def reloaded(self, *, success: bool) -> None:
        if self.metrics is not None:
            self.metrics.reloaded(self.offer.name, success=success)

    async def wait_until_lost(self) -> None:
        """Wait until a file of the catalog was changed or cannot be read."""
        waiting = [asyncio.ensure_future(self.server.lost.wait())]
        if self.api is not None:
            waiting.append(asyncio.ensure_future(self.api.lost(self.offer.name).wait()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()


@contextlib.asynccontextmanager
async def _open_servers(
    offers: Sequence[Offer], settings: ServeSettings
) -> AsyncIterator[list[_Service]]:
    edge = _grpc_edge()
    metrics = None if settings.metrics_port is None else _new_metrics()
    tls = _certificate_files(settings)
    grpc_tls = tls if settings.tls is not None and settings.tls.over_grpc else None
    async with contextlib.AsyncExitStack() as stack:
        servers = []
        for number, offer in enumerate(offers):
            server: CatalogServer = edge.CatalogServer(
                None if metrics is None else metrics.of(offer.name),
                connection_age=_CONNECTION_AGE if settings.reload else None,
            )
            stack.push_async_callback(server.stop)
            port = await server.start(settings.host, settings.port_of(number), grpc_tls)
            servers.append((offer, server, port))
        api, http_port, metrics_port = await _listen_over_http(
            stack, [offer.name for offer in offers], settings, metrics
        )
        yield [
            _Service(
                offer=offer,
                server=server,
                host=settings.host,
                port=port,
                api=api,
                http_port=http_port,
                metrics=metrics,
                metrics_port=metrics_port,
            )
            for offer, server, port in servers
        ]


async def _listen_over_http(
    stack: contextlib.AsyncExitStack,
    names: list[str],
    settings: ServeSettings,
    metrics: CatalogMetrics | None,
) -> tuple[CatalogApi | None, int, int]:
    """Return the HTTP API and the ports of the API and of metrics; 0 if not served."""
    api = None
    http_port = 0
    if settings.http_port is None and metrics is None:
        return None, 0, 0
    # Imported when needed: gRPC alone does without the HTTP library.
    from olmkit.edges.catalog.http_api import CatalogApi
    from olmkit.edges.network import metrics_page

    if settings.http_port is not None:
        api = CatalogApi(names, None if metrics is None else metrics.requests_of())
        # Fixed ports are equal, or both are 0 and each gets a free port.
        shared = settings.http_port and settings.http_port == settings.metrics_port
        if shared and metrics is not None:
            metrics_page.add(api.application, metrics.expose)
        http_port = await _listen(
            stack, "the catalog server", api.application, settings.http_port, settings
        )
        if shared:
            return api, http_port, http_port
    if metrics is None or settings.metrics_port is None:
        return api, http_port, 0
    application = metrics_page.application(metrics.expose)
    port = await _listen(stack, "the metrics server", application, settings.metrics_port, settings)
    return api, http_port, port


async def _listen(
    stack: contextlib.AsyncExitStack,
    what: str,
    application: Any,
    port: int,
    settings: ServeSettings,
) -> int:
    """Serve an application until the stack is closed; return its port."""
    from olmkit.edges.network import certificate_files, http_server

    tls = None
    if settings.tls is not None:
        tls = certificate_files.tls_context(settings.tls.certificate, settings.tls.key)
    listener: HttpServer = http_server.HttpServer(
        what, application, (settings.host or None, port), tls=tls
    )
    tasks = [asyncio.ensure_future(listener.run())]
    files = _certificate_files(settings)
    if tls is not None and files is not None:
        tasks.append(asyncio.ensure_future(certificate_files.keep_current(tls, files)))

    async def end() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    stack.push_async_callback(end)
    await listener.wait_until_ready()
    if tasks[0].done():
        tasks[0].result()
    return listener.port


def _certificate_files(settings: ServeSettings) -> CertificateRenewals | None:
    if settings.tls is None:
        return None
    from olmkit.edges.network import certificate_files
    from olmkit.edges.network.certificate_files import CertificateRenewals

    # Raises an error for an invalid pair before any server listens.
    certificate_files.tls_context(settings.tls.certificate, settings.tls.key)
    return CertificateRenewals(settings.tls.certificate, settings.tls.key)


async def _answer(
    service: _Service,
    source: _Source,
    reload: float | None,
    ready: Callable[[Serving], None],
    failed: Callable[[OlmkitError], None],
) -> None:
    """Serve the catalog and its later states until cancelled."""
    from olmkit.jobs.catalog.serving import changes

    reference, access = source.offer.reference, source.access
    known = await changes.state(reference, access) if reload else ""
    try:
        ready(service.answer_from(await source.prepared()))
    except CatalogChangedError:
        if not reload:
            raise
        known = ""  # it is read again when it is stable
    while True:
        waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(service.wait_until_lost())]
        if reload:
            changed = changes.wait_for_change(reference, known, reload, access)
            waiting.append(asyncio.ensure_future(changed))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            is_lost = waiting[0].done()
            known = known if is_lost else waiting[1].result()
        finally:
            for one in waiting:
                one.cancel()
        try:
            serving = service.answer_from(await source.prepared())
        except CatalogChangedError:
            if not reload:
                raise
            known = ""
        except OlmkitError as error:
            service.reloaded(success=False)
            if is_lost:
                raise  # there is no catalog to serve
            failed(error)
        else:
            service.reloaded(success=True)
            if not is_lost:
                ready(serving)


def keep_freed_memory() -> None:
    """Make the C library keep the few megabytes of memory that each response needs.

    Otherwise it returns them to the kernel after every large response, and getting them again takes
    a sixth of the time of the next one. This affects the whole process, so use it only in programs
    that serve catalogs.
    """
    with contextlib.suppress(OSError, AttributeError):  # a C library without this function
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _KEPT_PIECE)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT)


def _grpc_edge() -> Any:
    # Imported when needed: the gRPC library is an extra, and takes a tenth of a second.
    return importlib.import_module("olmkit.edges.catalog.server")


def _new_metrics() -> CatalogMetrics:
    metrics: CatalogMetrics = importlib.import_module(
        "olmkit.edges.catalog.metrics"
    ).CatalogMetrics()
    return metrics
