"""Build the store file from which a catalog is served.

The catalog is validated first, as in `opm serve`, with all errors at once and their places. Files
are read in chunks and blobs one at a time, so that a catalog of any size needs little memory.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from olmkit.base import diagnostics as judgement
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.tree import Tree
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc, outline_reader
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.outline import BlobPlace, FilePlace
from olmkit.catalog.serve import metas, registry_build
from olmkit.catalog.serve.metas import Metas
from olmkit.catalog.serve.registry_index import Index
from olmkit.edges.catalog import cache as catalog_cache
from olmkit.edges.catalog.cache import METAS, REGISTRY, Store, Writer
from olmkit.jobs.catalog.serving.settings import CatalogChangedError
from olmkit.rules import engine

_GZIP: Final = 31  # window bits of zlib that select the gzip format, here without a timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltStore:
    """An open store file, whether it is in the cache folder, and warnings about the catalog."""

    store: Store[Index]
    kept: bool
    findings: tuple[Diagnostic, ...]


def build(reference: str, tree: Tree, cache_folder: Path | None) -> BuiltStore:
    """Check the catalog in `tree` and write its store file.

    Raises `InputError` for an invalid catalog, with findings whose paths start with `reference`,
    and `CatalogChangedError`.
    """
    key = catalog_cache.key_of(tree)
    with _detect_change(reference, tree, key):
        return _build(reference, tree, key, cache_folder)


def _build(reference: str, tree: Tree, key: bytes, cache_folder: Path | None) -> BuiltStore:
    findings: list[Diagnostic] = []
    faults: list[Diagnostic] = []
    catalog = model.build(
        outline_reader.load(tree, report=findings.append, faults=faults, keep=True)
    )
    # Rules would report unreadable blobs too. Only those rules count whose
    # violations make `opm` reject a catalog.
    findings += faults or engine.run(
        catalog, engine.choose(engine.profile("operator-sdk"), subject=engine.CATALOG)
    )
    _refuse(reference, findings)

    def content(place: BlobPlace, schema: str) -> Blob:
        if isinstance(place, Blob):
            return place
        assert isinstance(place, FilePlace)  # noqa: S101 - the reader makes no others
        data = tree.part(place.path, place.start, place.end)
        return Blob(schema=schema, package="", name="", data=data)

    with catalog_cache.new_file(cache_folder, REGISTRY.file_name) as file:
        writer = Writer(file.stream, key, REGISTRY)
        index, unservable = registry_build.build(catalog, content, writer.append)
        findings += unservable
        _refuse(reference, findings)
        writer.finish(index)
        if catalog_cache.key_of(tree) != key:
            raise CatalogChangedError(reference)
        store = catalog_cache.open_written(file.stream, key, REGISTRY)
    return BuiltStore(
        store=store, kept=file.kept, findings=judgement.prefix_paths(reference, _sort(findings))
    )


def build_metas(reference: str, tree: Tree, cache_folder: Path | None) -> Store[Metas]:
    """Write the lines of the valid catalog in `tree` that OLM v1 reads."""
    key = catalog_cache.key_of(tree)
    packer = zlib.compressobj(6, wbits=_GZIP)

    def pack(piece: bytes) -> bytes:
        return packer.compress(piece) if piece else packer.flush()

    with (
        _detect_change(reference, tree, key),
        catalog_cache.new_file(cache_folder, METAS.file_name) as file,
    ):
        writer = Writer(file.stream, key, METAS)
        writer.finish(metas.build(fbc.load(tree), writer.append, pack))
        if catalog_cache.key_of(tree) != key:
            raise CatalogChangedError(reference)
        return catalog_cache.open_written(file.stream, key, METAS)


@contextlib.contextmanager
def _detect_change(reference: str, tree: Tree, key: bytes) -> Iterator[None]:
    """Raise `CatalogChangedError` instead of any error if the files have changed since `key`.

    Blobs are read from known positions, where a changed file has other bytes.
    """
    try:
        yield
    except CatalogChangedError:
        raise
    except Exception as error:
        try:
            is_changed = catalog_cache.key_of(tree) != key
        except OSError:
            is_changed = True
        if is_changed:
            raise CatalogChangedError(reference) from error
        raise


def _refuse(reference: str, findings: list[Diagnostic]) -> None:
    if judgement.has_errors(findings):
        raise InputError(
            f"the catalog `{reference}` is not valid, so it is not served",
            diagnostics=judgement.prefix_paths(reference, _sort(findings)),
        )


def _sort(findings: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(findings, key=Diagnostic.sort_key)
