"""Making the file that a catalog is answered from.

The catalog is checked first, as the field's own server does: what that refuses is
refused here, all faults at once and with their places. Files are read in pieces
and blobs one at a time, so that a catalog of any size is made ready in little memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from olmkit.base import diagnostics as judgement
from olmkit.base.diagnostics import Diagnostic, InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog import model
from olmkit.catalog.blobs import outline_reader
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.outline import FilePlace, Place
from olmkit.catalog.serve import registry_build
from olmkit.edges.catalog import cache as catalog_cache
from olmkit.edges.catalog.cache import Store, Writer
from olmkit.rules import engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An open file, whether it is in the cache folder, and what is odd in the catalog."""

    store: Store
    kept: bool
    findings: tuple[Diagnostic, ...]


def build(reference: str, tree: Tree, cache_folder: Path | None) -> Made:
    """Check the catalog in `tree` and write the file that it is answered from.

    Raises `InputError` for a catalog that is not valid, with findings that name files as the
    user does who says `reference`.
    """
    key = catalog_cache.key_of(tree)
    findings: list[Diagnostic] = []
    faults: list[Diagnostic] = []
    catalog = model.build(
        outline_reader.load(tree, report=findings.append, faults=faults, keep=True)
    )
    # What could not be read would be missed by the rules, too. Only those rules count whose
    # breach makes the field's own tools refuse a catalog.
    findings += faults or engine.run(
        catalog, engine.choose(engine.profile("operator-sdk"), subject=engine.CATALOG)
    )
    _refuse(reference, findings)

    def content(place: Place, schema: str) -> Blob:
        if isinstance(place, Blob):
            return place
        assert isinstance(place, FilePlace)  # noqa: S101 - the reader makes no others
        data = tree.part(place.path, place.start, place.end)
        return Blob(schema=schema, package="", name="", data=data)

    with catalog_cache.new_file(cache_folder) as file:
        writer = Writer(file.stream, key)
        index, unservable = registry_build.build(catalog, content, writer.append)
        findings += unservable
        _refuse(reference, findings)
        writer.finish(index)
        if catalog_cache.key_of(tree) != key:
            raise RemoteError(
                f"the catalog `{reference}` changed while it was read",
                hint="start again when nobody writes to it",
                temporary=True,
            )
        store = catalog_cache.open_written(file.stream, key)
    return Made(store=store, kept=file.kept, findings=judgement.below(reference, _sorted(findings)))


def _refuse(reference: str, findings: list[Diagnostic]) -> None:
    if judgement.has_errors(findings):
        raise InputError(
            f"the catalog `{reference}` is not valid, so it is not served",
            diagnostics=judgement.below(reference, _sorted(findings)),
        )


def _sorted(findings: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(findings, key=Diagnostic.sort_key)
