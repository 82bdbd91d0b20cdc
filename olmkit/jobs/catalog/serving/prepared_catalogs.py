"""Prepare a catalog for serving, from its cache or its files."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, OlmkitError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.serve.metas import Metas
from olmkit.catalog.serve.registry_index import Index
from olmkit.edges import paths
from olmkit.edges.catalog import cache as catalog_cache
from olmkit.edges.catalog.cache import METAS, REGISTRY, Store
from olmkit.jobs.catalog import local
from olmkit.jobs.catalog.serving.settings import CatalogChangedError
from olmkit.oci import reference as references
from olmkit.oci.reference import Reference

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The stores of a catalog for gRPC and, if requested, HTTP."""

    store: Store[Index]
    lines: Store[Metas] | None = None
    cached: bool
    kept: bool
    findings: tuple[Diagnostic, ...] = ()


async def fill_cache(
    reference: str,
    cache_folder: Path,
    *,
    access: Access | None = None,
    with_lines: bool = False,
) -> Prepared:
    """Build the cache of a catalog for a later server; with `with_lines`, also for HTTP.

    Raises `RemoteError` if it cannot be stored in `cache_folder`.
    """
    prepared = await read(reference, cache_folder, access, with_lines=with_lines)
    if not prepared.kept:
        raise RemoteError(
            f"the cache cannot be stored in `{cache_folder}`",
            hint="the folder must be writable, and no other process may be writing there",
        )
    return prepared


def prepare(
    reference: str, tree: Tree, cache_folder: Path | None, with_lines: bool = False
) -> Prepared:
    """Open the cache of the catalog in `tree`; build it if it is missing or invalid.

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
    from olmkit.jobs.catalog.serving import stores

    made = stores.build(reference, tree, cache_folder)
    if with_lines:
        lines = stores.build_metas(reference, tree, cache_folder)
        if lines.key != made.store.key:  # the two protocols would have different contents
            raise CatalogChangedError(reference)
    gc.collect()
    return Prepared(
        store=made.store, lines=lines, cached=False, kept=made.kept, findings=made.findings
    )


async def read(
    reference: str, cache_folder: Path | None, access: Access | None, *, with_lines: bool
) -> Prepared:
    """Prepare the catalog in a folder or an image in a thread."""
    tree = _folder(reference, cache_folder)
    if tree is None:
        from olmkit.edges.images import transports
        from olmkit.jobs.catalog import catalogs

        found = (await catalogs.pull([reference], access or transports.Access()))[reference]
        if isinstance(found, OlmkitError):
            raise found
        tree = found
    return await _run_in_thread(prepare, reference, tree, cache_folder, with_lines)


def default_name(reference: str) -> str:
    """Return the default name of a catalog: its folder, or the end of its repository.

    `quay.io/example/catalog:v1` → `catalog`; empty if the reference does not have one.
    """
    path = Path(reference)
    if paths.exists(path):
        return paths.resolve(path).name
    if reference.startswith(("catalogsource:", "clustercatalog:")):
        return reference.partition(":")[2].rpartition("/")[2]
    source = references.parse_source(reference)
    return source.repository.rpartition("/")[2] if isinstance(source, Reference) else ""


def _folder(reference: str, cache_folder: Path | None) -> Tree | None:
    path = Path(reference)
    if not paths.exists(path):
        return None
    if cache_folder is not None and paths.is_within(cache_folder, path):
        raise ConfigurationError(
            f"the cache folder `{cache_folder}` is inside the catalog",
            hint="all files there count as catalog files; use a folder outside of the catalog",
        )
    return local.tree(path)


def _run_in_thread(work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """Run `work` in a thread that does not delay the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def report_result(result: T | None, error: BaseException | None) -> None:
        # The loop may already be closed.
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
            report_result(None, error)
        else:
            report_result(result, None)

    threading.Thread(target=run, daemon=True, name="olmkit-prepare").start()
    return future
