"""Making the file that a catalog is answered from.

The catalog is checked first, as the field's own server does: what that refuses is
refused here, all faults at once and with their places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from olmkit.base.diagnostics import Diagnostic, InputError, has_errors
from olmkit.base.tree import Tree
from olmkit.catalog import fbc, model, registry_build
from olmkit.catalog.model import Catalog
from olmkit.edges import catalog_cache
from olmkit.edges.catalog_cache import Store, Writer
from olmkit.rules import engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An open file, whether it stands in the cache folder, and what is odd in the catalog."""

    store: Store
    kept: bool
    findings: tuple[Diagnostic, ...]


def build(tree: Tree, cache_folder: Path | None) -> Made:
    """Check the catalog in `tree` and write the file that it is answered from.

    Raises `InputError` for a catalog that is not valid.
    """
    findings: list[Diagnostic] = []
    blobs = list(fbc.load(tree, report=findings.append))
    catalog = model.of_blobs(blobs)
    findings += _check(catalog)
    _refuse(findings)
    key = catalog_cache.key_of(tree)
    with catalog_cache.new_file(cache_folder) as file:
        writer = Writer(file.stream, key)
        index, unservable = registry_build.build(catalog, blobs, writer.append)
        findings += unservable
        _refuse(findings)
        writer.finish(index)
        store = catalog_cache.open_written(file.stream, key)
    return Made(store=store, kept=file.kept, findings=tuple(findings))


def _check(catalog: Catalog) -> Iterable[Diagnostic]:
    chosen = engine.choose(engine.profile("operator-sdk"), subject=engine.CATALOG)
    return engine.run(catalog, chosen)


def _refuse(findings: list[Diagnostic]) -> None:
    if not has_errors(findings):
        return
    findings.sort(key=Diagnostic.sort_key)
    raise InputError("the catalog is not valid, so it is not served", diagnostics=findings)
