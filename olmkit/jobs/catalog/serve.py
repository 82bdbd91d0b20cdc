"""Serving a catalog: made ready from its cache or from its files, then answered from.

What is served is what the catalog held at the start. A catalog that the field's
own server refuses is refused here, with findings.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.serve.registry_api import Registry
from olmkit.edges import paths
from olmkit.edges.catalog import cache as catalog_cache
from olmkit.edges.catalog.cache import Store
from olmkit.edges.folder import Folder

if TYPE_CHECKING:
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
class Serving:
    """A catalog that is ready to answer.

    `cached`: it was taken from the cache; `kept`: a cache of it is in the cache folder.
    """

    host: str
    port: int
    packages: int
    bundles: int
    cached: bool
    kept: bool
    findings: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a catalog is answered from."""

    store: Store
    cached: bool
    kept: bool
    findings: tuple[Diagnostic, ...] = ()


async def serve(
    reference: str,
    *,
    host: str = "",
    port: int = 50051,
    cache_folder: Path | None = None,
    access: Access | None = None,
    ready: Callable[[Serving], None],
    stop: asyncio.Event,
) -> None:
    """Serve the catalog in a folder or an image until `stop` is set.

    Listens at once on all addresses, or on that of `host`, and calls `ready` when the catalog
    answers. Raises `InputError` for a catalog that is not valid, `RemoteError` when the address
    or the image cannot be had.
    """
    server = _new_server()
    bound = await server.start(host, port)
    store: Store | None = None
    stopping = asyncio.ensure_future(stop.wait())
    preparing = asyncio.ensure_future(_prepared(reference, cache_folder, access))
    try:
        await asyncio.wait((preparing, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not preparing.done():
            return
        prepared = preparing.result()
        store = prepared.store
        registry = Registry(store.index, store.read)
        server.answer_from(registry, store.check)
        ready(
            Serving(
                host=host,
                port=bound,
                packages=registry.package_count,
                bundles=registry.bundle_count,
                cached=prepared.cached,
                kept=prepared.kept,
                findings=prepared.findings,
            )
        )
        while not stopping.done():
            lost = asyncio.ensure_future(server.lost.wait())
            await asyncio.wait((lost, stopping), return_when=asyncio.FIRST_COMPLETED)
            lost.cancel()
            if server.lost.is_set() and not stopping.done():
                store = await _rebuilt(store, server, reference, cache_folder, access)
    finally:
        stopping.cancel()
        preparing.cancel()
        await server.stop()
        if store is not None:
            store.close()


async def _rebuilt(
    store: Store,
    server: CatalogServer,
    reference: str,
    cache_folder: Path | None,
    access: Access | None,
) -> Store:
    """Answer from a new file, since the old one was cut or cannot be read."""
    made = (await _prepared(reference, cache_folder, access)).store
    store.close()
    server.answer_from(Registry(made.index, made.read), made.check)
    return made


async def fill_cache(
    reference: str, cache_folder: Path, *, access: Access | None = None
) -> Prepared:
    """Make the cache of a catalog, for a server that starts later.

    Raises `RemoteError` when it cannot be kept in `cache_folder`.
    """
    prepared = await _prepared(reference, cache_folder, access)
    prepared.store.close()
    if not prepared.kept:
        raise RemoteError(
            f"the cache cannot be kept in `{cache_folder}`",
            hint="the folder must be writable, and no other process may be writing there",
        )
    return prepared


def prepare(reference: str, tree: Tree, cache_folder: Path | None) -> Prepared:
    """Open the cache of the catalog in `tree`; make it when it is not there or not right.

    Raises `InputError` for a catalog that is not valid.
    """
    if cache_folder is not None:
        store = catalog_cache.open_cached(cache_folder, catalog_cache.key_of(tree))
        if store is not None:
            return Prepared(store=store, cached=True, kept=True)
    # Imported when needed: with a cache, no reader of YAML is loaded.
    from olmkit.jobs.catalog import serve_build

    made = serve_build.build(reference, tree, cache_folder)
    gc.collect()
    return Prepared(store=made.store, cached=False, kept=made.kept, findings=made.findings)


async def _prepared(reference: str, cache_folder: Path | None, access: Access | None) -> Prepared:
    tree = _folder(reference, cache_folder)
    if tree is None:
        from olmkit.edges.images import transports

        found = await transports.read_catalog_tree(reference, access or transports.Access())
        tree = found.tree
    return await _in_thread(prepare, reference, tree, cache_folder)


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
            f"the cache folder `{cache_folder}` lies inside the catalog",
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
        # The loop is closed when nobody waited for the end.
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
