"""Serving a catalog: made ready from its cache or from its files, then answered from.

A catalog that the field's own server refuses is refused here, with findings. A change of
the catalog is taken over as a whole: calls that began before it end with what they began with.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import importlib
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, OlmkitError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.serve.metas import Metas
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.catalog.serve.registry_index import Index
from olmkit.edges import paths
from olmkit.edges.catalog import cache as catalog_cache
from olmkit.edges.catalog.cache import METAS, REGISTRY, Store
from olmkit.edges.folder import Folder
from olmkit.oci import reference as references
from olmkit.oci.reference import Reference

if TYPE_CHECKING:
    from olmkit.edges.catalog.http_api import CatalogApi
    from olmkit.edges.catalog.server import CatalogServer
    from olmkit.edges.images.access_settings import Access

T = TypeVar("T")

# A file may hold the whole catalog of a distribution.
MAX_CATALOG_FILE = 512 * 1024 * 1024
# Numbers of glibc's `mallopt`. A piece is as large as a message that clients take by default.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT_PIECE = 4 * 1024 * 1024
_KEPT = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Where OLM v1 finds the catalog: `/catalogs/NAME` on a port, over TLS with a certificate."""

    name: str
    port: int
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A catalog that is ready to answer.

    `cached`: it was taken from the cache; `kept`: a cache of it is in the cache folder.
    `http_port` is 0 when nothing is served over HTTP.
    """

    host: str
    port: int
    http_port: int
    packages: int
    bundles: int
    cached: bool
    kept: bool
    findings: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a catalog is answered from: over gRPC, and over HTTP when that is wanted."""

    store: Store[Index]
    lines: Store[Metas] | None = None
    cached: bool
    kept: bool
    findings: tuple[Diagnostic, ...] = ()


async def serve(
    reference: str,
    *,
    host: str = "",
    port: int = 50051,
    http: HttpSettings | None = None,
    reload: float | None = None,
    cache_folder: Path | None = None,
    access: Access | None = None,
    ready: Callable[[Serving], None],
    failed: Callable[[OlmkitError], None] = lambda _: None,
    stop: asyncio.Event,
) -> None:
    """Serve the catalog in a folder or an image until `stop` is set.

    Listens at once on all addresses, or on that of `host`, and calls `ready` when the catalog
    answers. With `reload`, looks every so many seconds for a change of the catalog and takes it
    over, then calls `ready` again; a catalog that is not valid is given to `failed`, and the old
    one is served on. Raises `InputError` for a catalog that is not valid at the start,
    `RemoteError` when the address or the image cannot be had.
    """
    from olmkit.edges.images.transports import Access

    access = access or Access()
    async with _listening(host, port, http) as service:
        source = _Source(reference, cache_folder, access, with_lines=http is not None)
        stopping = asyncio.ensure_future(stop.wait())
        work = asyncio.ensure_future(_answer(service, source, reload, ready, failed))
        try:
            await asyncio.wait((work, stopping), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            stopping.cancel()
            work.cancel()


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the catalog comes from, and where its cache is kept."""

    reference: str
    cache_folder: Path | None
    access: Access
    with_lines: bool

    async def prepared(self) -> Prepared:
        return await _prepared(
            self.reference, self.cache_folder, self.access, with_lines=self.with_lines
        )


class _Service:
    """The servers of one catalog, which change to another content at once."""

    def __init__(self, server: CatalogServer, host: str, port: int) -> None:
        self._server = server
        self._host = host
        self._port = port
        self._http: HttpSettings | None = None
        self._api: CatalogApi | None = None

    def add_http(self, api: CatalogApi, settings: HttpSettings) -> None:
        self._api, self._http = api, settings

    def answer_from(self, prepared: Prepared) -> Serving:
        store = prepared.store
        registry = RegistryApi(store.index, store.read)
        self._server.answer_from(registry, store.check)
        if self._api is not None and self._http is not None and prepared.lines is not None:
            self._api.answer_from(self._http.name, prepared.lines.index, prepared.lines.read)
        return Serving(
            host=self._host,
            port=self._port,
            http_port=self._http.port if self._http else 0,
            packages=registry.package_count,
            bundles=registry.bundle_count,
            cached=prepared.cached,
            kept=prepared.kept,
            findings=prepared.findings,
        )

    async def wait_until_lost(self) -> None:
        """Wait until a file under the catalog was changed or cannot be read."""
        waiting = [asyncio.ensure_future(self._server.lost.wait())]
        if self._api is not None:
            waiting.append(asyncio.ensure_future(self._api.lost.wait()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()


@contextlib.asynccontextmanager
async def _listening(host: str, port: int, http: HttpSettings | None) -> AsyncIterator[_Service]:
    server = _new_server()
    bound = await server.start(host, port)
    try:
        service = _Service(server, host, bound)
        if http is None:
            yield service
            return
        async with _listening_over_http(host, http) as (api, http_port):
            service.add_http(api, replace(http, port=http_port))
            yield service
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def _listening_over_http(
    host: str, settings: HttpSettings
) -> AsyncIterator[tuple[CatalogApi, int]]:
    from olmkit.edges import http_server
    from olmkit.edges.catalog.http_api import CatalogApi

    api = CatalogApi([settings.name])
    tls = None
    if settings.certificate is not None and settings.key is not None:
        tls = http_server.tls_context(settings.certificate, settings.key)
    listener = http_server.HttpServer(
        "the catalog server", api.application, (host or None, settings.port), tls=tls
    )
    running = asyncio.ensure_future(listener.run())
    try:
        await listener.wait_until_ready()
        if running.done():
            running.result()
        yield api, listener.port
    finally:
        running.cancel()
        await asyncio.wait([running])


async def _answer(
    service: _Service,
    source: _Source,
    reload: float | None,
    ready: Callable[[Serving], None],
    failed: Callable[[OlmkitError], None],
) -> None:
    """Answer from the catalog, and from what it is later, until cancelled."""
    from olmkit.jobs.catalog import serve_changes

    known = await serve_changes.state(source.reference, source.access) if reload else ""
    ready(service.answer_from(await source.prepared()))
    while True:
        waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(service.wait_until_lost())]
        if reload:
            changed = serve_changes.wait_for_change(source.reference, known, reload, source.access)
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
        except OlmkitError as error:
            if is_lost:
                raise  # there is nothing to answer from
            failed(error)
        else:
            if not is_lost:
                ready(serving)


async def fill_cache(
    reference: str,
    cache_folder: Path,
    *,
    access: Access | None = None,
    with_lines: bool = False,
) -> Prepared:
    """Make the cache of a catalog, for a server that starts later; `with_lines` for HTTP, too.

    Raises `RemoteError` when it cannot be kept in `cache_folder`.
    """
    prepared = await _prepared(reference, cache_folder, access, with_lines=with_lines)
    if not prepared.kept:
        raise RemoteError(
            f"the cache cannot be kept in `{cache_folder}`",
            hint="the folder must be writable, and no other process may be writing there",
        )
    return prepared


def prepare(
    reference: str, tree: Tree, cache_folder: Path | None, with_lines: bool = False
) -> Prepared:
    """Open the cache of the catalog in `tree`; make it when it is missing or not right.

    Raises `InputError` for a catalog that is not valid.
    """
    key = catalog_cache.key_of(tree) if cache_folder is not None else b""
    store = cache_folder and catalog_cache.open_cached(cache_folder, key, REGISTRY)
    lines = None
    if with_lines and cache_folder is not None:
        lines = catalog_cache.open_cached(cache_folder, key, METAS)
    if store and (lines or not with_lines):
        return Prepared(store=store, lines=lines, cached=True, kept=True)
    # Imported when needed: with a cache, no reader of YAML is loaded.
    from olmkit.jobs.catalog import serve_build

    made = serve_build.build(reference, tree, cache_folder)
    if with_lines:
        lines = serve_build.build_metas(reference, tree, cache_folder)
    gc.collect()
    return Prepared(
        store=made.store, lines=lines, cached=False, kept=made.kept, findings=made.findings
    )


async def _prepared(
    reference: str, cache_folder: Path | None, access: Access | None, *, with_lines: bool
) -> Prepared:
    tree = _folder(reference, cache_folder)
    if tree is None:
        from olmkit.edges.images import transports

        found = await transports.read_catalog_tree(reference, access or transports.Access())
        tree = found.tree
    return await _in_thread(prepare, reference, tree, cache_folder, with_lines)


def default_name(reference: str) -> str:
    """What a catalog is called that has no name: its folder, or the last part of its repository.

    `quay.io/example/catalog:v1` → `catalog`; empty when the reference does not have one.
    """
    path = Path(reference)
    if paths.exists(path):
        return paths.resolved(path).name
    source = references.parse_source(reference)
    return source.repository.rpartition("/")[2] if isinstance(source, Reference) else ""


def keep_freed_memory() -> None:
    """Tell the C library to keep the few megabytes that each answer needs.

    Else it gives them back to the kernel after every large answer, and a sixth of the time of
    the next goes into having them again. This holds for the whole process, so it is for programs
    whose work is serving.
    """
    with contextlib.suppress(OSError, AttributeError):  # a C library that has no such thing
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _KEPT_PIECE)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT)


def _folder(reference: str, cache_folder: Path | None) -> Tree | None:
    path = Path(reference)
    if not paths.exists(path):
        return None
    if cache_folder is not None and paths.is_within(cache_folder, path):
        raise ConfigurationError(
            f"the cache folder `{cache_folder}` is inside the catalog",
            hint="all files there count as catalog files; name a folder outside",
        )
    return Folder(path, file_limit=MAX_CATALOG_FILE)


def _new_server() -> CatalogServer:
    # Imported when needed: the gRPC library is an extra, and takes a tenth of a second.
    edge = importlib.import_module("olmkit.edges.catalog.server")
    server: CatalogServer = edge.CatalogServer()
    return server


def _in_thread(work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """Run `work` in a thread that is left behind when the program ends before it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        # The loop is closed when nothing waited for the end.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def run() -> None:
        try:
            result = work(*arguments)
        except BaseException as error:
            tell(None, error)
        else:
            tell(result, None)

    threading.Thread(target=run, daemon=True, name="olmkit-prepare").start()
    return future
